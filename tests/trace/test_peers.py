"""Shared memory of other CTAs of the cluster by index: instructions, results, and races."""

import numpy as np
import pytest

from pyptx import LanguageError, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32

ROTATED = {
    "in_specs": (Tile(4, 64, f32),),
    "out_specs": (Tile(4, 64, f32),),
    "grid": 4,
    "block": 64,
    "cluster": 4,
    "arch": "sm_90a",
}
X = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)


def test_an_index_of_a_peer_costs_what_one_of_the_tile_costs(traced):
    def body():
        tile = smem.alloc(f32, (4, 8), name="tile")
        i = reg.from_(1, u32)
        other = tile.peer(2)
        assert repr(other) == "<shared memory of a peer, of (4, 8) .f32>"
        other[0, 3] = 1.0
        other[i, 2]
        other[3][i] = other[0, 0]
        ptx.inst.ld.shared__cluster.f32(reg.scalar(f32), ptx.addr(other, 4))

    found = traced(body)
    assert found.instructions == [
        "mov.u32 %u0, 1",
        "mapa.shared::cluster.u32 %u1, tile, 2",
        "mov.f32 %f0, 0f3F800000",
        "st.shared::cluster.f32 [%u1+12], %f0",
        "mad.lo.u32 %u2, %u0, 32, %u1",
        "ld.shared::cluster.f32 %f1, [%u2+8]",
        "ld.shared::cluster.f32 %f2, [%u1]",
        "mad.lo.u32 %u3, %u0, 4, %u1",
        "st.shared::cluster.f32 [%u3+96], %f2",
        "ld.shared::cluster.f32 %f3, [%u1+4]",
    ]
    found.assemble()


def test_a_part_of_a_tile_has_peers_too(traced):
    def body():
        tile = smem.alloc(f32, (4, 8), name="tile")
        tile[1].peer(3)[2]
        tile[reg.from_(2, u32)].peer(reg.from_(0, u32))[5]

    assert traced(body).instructions == [
        "mapa.shared::cluster.u32 %u0, tile, 3",
        "ld.shared::cluster.f32 %f0, [%u0+40]",
        "mov.u32 %u1, 2",
        "mov.u32 %u2, tile",
        "mad.lo.u32 %u3, %u1, 32, %u2",
        "mov.u32 %u4, 0",
        "mapa.shared::cluster.u32 %u5, %u3, %u4",
        "ld.shared::cluster.f32 %f1, [%u5+20]",
    ]


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
def test_what_a_peer_reads_and_writes(write, ordered):
    """Row r of Y is row r + 1 of X; without the barriers of the cluster it is a race."""

    @kernel(**ROTATED)
    def rotate(X, Y):
        tile = smem.alloc(f32, (2, 64))
        i, r = reg.from_(ptx.special.tid.x(), u32), ptx.cluster.rank()
        if write:
            ptx.cluster.sync()  # a CTA has shared memory once it has started
            tile.peer((r + 3) & 3)[1, i] = X[r, i]
        else:
            tile[1, i] = X[r, i]
        if ordered:
            ptx.cluster.sync()
        Y[r, i] = tile[1, i] if write else tile.peer((r + 1) & 3)[1, i]
        ptx.cluster.sync()

    found = rotate.emulate(X)
    if ordered:
        found.report.check()
        np.testing.assert_array_equal(found.outputs[0], np.roll(X, -1, 0))
    else:
        assert "shared-race" in {each.kind for each in found.report.findings}


def test_a_swizzled_peer():
    @kernel(**ROTATED)
    def rotate(X, Y):
        tile = smem.alloc(f32, (8, 32), swizzle="128B")
        i, r = reg.from_(ptx.special.tid.x(), u32), ptx.cluster.rank()
        tile[(i >> 5) + 3, i & 31] = X[r, i]
        ptx.cluster.sync()
        Y[r, i] = tile.peer((r + 1) & 3)[(i >> 5) + 3, i & 31]
        ptx.cluster.sync()

    found = rotate.emulate(X)
    found.report.check()
    np.testing.assert_array_equal(found.outputs[0], np.roll(X, -1, 0))


def test_what_is_no_peer():
    def wrong(body):
        with pytest.raises(LanguageError) as caught:
            kernel(block=32, cluster=2, arch="sm_90a")(body).ptx()
        return caught.value.problem, caught.value.notes

    def twice():
        smem.alloc(f32, 4).peer(1).peer(0)

    assert wrong(twice) == (
        "this is shared memory of a peer already",
        (("help", "tile.peer(rank), of the CTA's own tile"),),
    )

    def outside():
        smem.alloc(bf16, 4).peer(1)[4]

    assert wrong(outside) == (
        "index 4 is outside shared memory of shape (4,)",
        (("legal", "0 to 3"),),
    )
