"""Every element of an output is written: what the emulator says where one is not."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.errors import EmulationError
from pyptx.types import bf16, f32, f64, u8, u16, u32, u64

HELP = (
    "  help: a larger grid, or a wider guard, writes them; in out_specs, Tile(..., partial=True) "
    "leaves them unspecified\n"
    "        and Tile(..., init=0) gives every element that value before the kernel starts"
)


def thread():
    """The number of the thread in the grid, 32 bits."""
    return ptx.inst.mad.lo.u32(
        reg.from_(ptx.special.ctaid.x(), u32),
        reg.from_(ptx.special.ntid.x(), u32),
        reg.from_(ptx.special.tid.x(), u32),
    )


def notes(report) -> list[str]:
    assert {f.kind for f in report.findings} <= {"unwritten-output"}, report.message
    return [f.note for f in report.findings]


# ---- what it says --------------------------------------------------------------------------------


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 128, block=64)
def too_small(A, B):
    a, b = ptx.global_ptrs(A, B)
    i = thread()
    ptx.inst.st.global_.f32(ptx.addr(b + i * 4), ptx.inst.ld.global_.f32(ptx.addr(a + i * 4)))


def test_a_grid_that_is_too_small():
    x = np.arange(256, dtype=np.float32)
    with pytest.raises(EmulationError) as caught:
        too_small(x)
    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "N // 128, block=64" in text)
    assert str(caught.value) == (
        "kernel too_small: 1 finding\n"
        f"{__file__}:{line}: B: 128 of 256 elements never written, first B[128]\n"
        f"    {lines[line - 1]}\n{HELP}"
    )
    for options in ({"sanitize": False}, {"sanitize": True}, {"threads": 1}, {"seed": 5}):
        done = too_small.emulate(x, **options)
        (finding,) = done.report.findings
        assert (finding.kind, finding.tensor, finding.index) == ("unwritten-output", "B", (128,))
        assert (finding.site.location.line, finding.site.instruction) == (line, None)
        assert done.report.status == "findings"
        assert np.array_equal(done.outputs[0][:128], x[:128])


@kernel(
    in_specs=(Tile(6, 50, f32),), out_specs=(Tile(6, 50, f32), Tile(6, f64), Tile(u32)),
    grid=6, block=64,
)  # fmt: skip
def rows(X, Y, Z, S, *, columns=50, last=6, scalar=True):
    x, y, z, s = ptx.global_ptrs(X, Y, Z, S)
    row, column = reg.from_(ptx.special.ctaid.x(), u32), reg.from_(ptx.special.tid.x(), u32)
    at = ptx.inst.mad.lo.u32(row, 50, column) * 4
    with ptx.if_(column < columns):
        ptx.inst.st.global_.f32(ptx.addr(y + at), ptx.inst.ld.global_.f32(ptx.addr(x + at)))
    with ptx.if_((column == 0) & (row < last)):
        ptx.inst.st.global_.f64(ptx.addr(z + row * 8), reg.scalar(f64, init=1.0))
        if scalar:
            ptx.inst.st.global_.u32(ptx.addr(s), 7, pred=row == 0)


def test_each_output_has_one_finding_with_the_index_of_the_first():
    x = np.ones((6, 50), np.float32)
    assert notes(rows.emulate(x).report) == []
    assert notes(rows.emulate(x, columns=49).report) == [
        "Y: 6 of 300 elements never written, first Y[0, 49]"
    ]
    assert notes(rows.emulate(x, columns=31, last=4, scalar=False).report) == [
        "Y: 114 of 300 elements never written, first Y[0, 31]",
        "Z: 2 of 6 elements never written, first Z[4]",
        "S: 1 of 1 element never written, first S[]",
    ]


def test_a_launch_that_is_stopped_is_not_asked():
    @kernel(in_specs=(Tile(64, u32),), out_specs=(Tile(64, u32),), grid=1, block=32)
    def outside(X, Y):
        (x,) = ptx.global_ptrs(X)
        ptx.inst.ld.global_.u32(ptx.addr(x, 256))

    found = outside.emulate(np.zeros(64, np.uint32)).report
    assert ([f.kind for f in found.findings], found.status) == (["out-of-bounds"], "stopped")


def test_an_element_of_which_a_part_is_written_is_not():
    @kernel(in_specs=(Tile(64, u8),), out_specs=(Tile(64, u32),), grid=1, block=64)
    def bytes_of(X, Y, *, whole):
        (y,) = ptx.global_ptrs(Y)
        i = thread()
        for byte in range(4):
            left_out = i == (37 if byte == 2 and not whole else 64)
            with ptx.if_(~left_out):
                ptx.inst.st.global_.b8(ptx.addr(y + i * 4, byte), reg.scalar(u16, init=1))

    x = np.zeros(64, np.uint8)
    assert notes(bytes_of.emulate(x, whole=True).report) == []
    assert notes(bytes_of.emulate(x, whole=False).report) == [
        "Y: 1 of 64 elements never written, first Y[37]"
    ]


# ---- every way to write --------------------------------------------------------------------------

COUNT = 1024


def store(y, i):
    ptx.inst.st.global_.u32(ptx.addr(y + i * 4), i)


def generic(y, i):
    ptx.inst.st.u32(ptx.addr(ptx.inst.cvta.global_.u64(y + i * 4)), i)


def backwards(y, i):
    ptx.inst.st.global_.u32(ptx.addr(y + (COUNT - 1 - i) * 4), i)


def vectors(y, i):
    with ptx.if_(i < COUNT // 4):
        ptx.inst.st.global_.v4.u32(ptx.addr(y + i * 16), [i, i, i, i])


def wide(y, i):
    with ptx.if_(i < COUNT // 2):
        ptx.inst.st.global_.u64(ptx.addr(y + i * 8), ptx.inst.cvt.u64.u32(i))


def _may_store(y, i):
    """A store that no thread runs: without one, a reduction on an output is an error."""
    ptx.inst.st.global_.u32(ptx.addr(y), i, pred=i > COUNT)


def reductions(y, i):
    _may_store(y, i)
    ptx.inst.red.global_.add.u32(ptx.addr(y + i * 4), i)


def atomics(y, i):
    ptx.inst.atom.global_.exch.b32(ptx.addr(y + i * 4), i)


def volatile(y, i):
    ptx.inst.st.volatile.global_.u32(ptx.addr(y + i * 4), i)


def bulk(y, i):
    tile = smem.alloc(u32, 64, align=128)
    tile[i & 63] = i
    ptx.inst.fence.proxy.async_.shared__cta()
    ptx.bar.sync(0)
    with ptx.if_((i & 63) == 0):
        ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group(
            ptx.addr(y + i * 4), ptx.addr(tile), 256
        )
        ptx.inst.cp.async_.bulk.commit_group()
        ptx.inst.cp.async_.bulk.wait_group(0)


def bulk_reductions(y, i):
    _may_store(y, i)
    tile = smem.alloc(u32, 64, align=128)
    tile[i & 63] = i
    ptx.inst.fence.proxy.async_.shared__cta()
    ptx.bar.sync(0)
    with ptx.if_((i & 63) == 0):
        ptx.inst.cp.reduce.async_.bulk.global_.shared__cta.bulk_group.add.u32(
            ptx.addr(y + i * 4), ptx.addr(tile), 256
        )
        ptx.inst.cp.async_.bulk.commit_group()
        ptx.inst.cp.async_.bulk.wait_group(0)


WAYS = [
    store, generic, backwards, vectors, wide, reductions, atomics, volatile, bulk, bulk_reductions,
]  # fmt: skip


def writer(way):
    @kernel(
        in_specs=(Tile(1, u32),),
        out_specs=(Tile(COUNT, u32),),
        grid=lambda: COUNT // 64,
        block=64,
    )
    def writes(X, Y, *, without=None):
        (y,) = ptx.global_ptrs(Y)
        i = thread()
        if without is None:
            way(y, i)
            return
        with ptx.if_(reg.from_(ptx.special.ctaid.x(), u32) != without):
            way(y, i)

    return writes


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("options", [{"completion": "late"}, {"seed": 1}, {"threads": 2}])
def test_every_way_to_write_counts(way, options):
    writes, x = writer(way), np.zeros(1, np.uint32)
    assert notes(writes.emulate(x, sanitize=False, **options).report) == []
    (note,) = notes(writes.emulate(x, without=0, sanitize=False, **options).report)
    count = {"vectors": 256, "wide": 128}.get(way.__name__, 64)
    first = COUNT - 64 if way is backwards else 0
    assert note == f"Y: {count} of {COUNT} elements never written, first Y[{first}]"


@kernel(
    in_specs=(Tile(20, 40, bf16, tma_box=(8, 16)),),
    out_specs=(Tile(20, 40, bf16, tma_box=(8, 16)),),
    grid=(3, 3), block=32,
)  # fmt: skip
def boxes(X, Y, *, rows=3):
    tile, bar = smem.alloc(bf16, (8, 16), align=128), smem.mbarrier()
    x, y = X.tma_desc(), Y.tma_desc()
    one = reg.from_(ptx.special.tid.x(), u32) == 0
    column = reg.from_(ptx.special.ctaid.x(), u32) * 16
    row = reg.from_(ptx.special.ctaid.y(), u32)
    at = [ptx.inst.cvt.s32.u64(column), ptx.inst.cvt.s32.u64(row * 8)]
    with ptx.if_(one):
        bar.init(1)
        ptx.fence.mbarrier_init()
        bar.arrive_expect_tx(x.bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=x, coord=at, mbar=bar)
        bar.wait(0)
        with ptx.if_(row < rows):
            ptx.cp.async_.bulk.tensor_2d.store(dst=y, src=tile, coord=at)
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0)


def test_boxes_of_a_tensor_count():
    """Boxes reach beyond the tensor, whose rows are no multiple of a granule of 16 bytes."""
    x = np.arange(20 * 40, dtype=np.float32).reshape(20, 40).astype(ml_dtypes.bfloat16)
    done = boxes.emulate(x)
    assert notes(done.report) == []
    assert np.array_equal(done.outputs[0], x)
    assert notes(boxes.emulate(x, rows=2).report) == [
        "Y: 160 of 800 elements never written, first Y[16, 0]"
    ]


def test_what_was_discarded_has_to_be_written_again():
    @kernel(in_specs=(Tile(1, u32),), out_specs=(Tile(64, u32),), grid=1, block=64)
    def discards(X, Y, *, again):
        (y,) = ptx.global_ptrs(Y)
        i = thread()
        store(y, i)
        ptx.bar.sync(0)
        ptx.inst.discard.global_.L2(ptx.addr(y, 128), 128, pred=i == 0)
        ptx.bar.sync(0)
        if again:
            store(y, i)

    x = np.zeros(1, np.uint32)
    assert notes(discards.emulate(x, again=True).report) == []
    assert notes(discards.emulate(x, again=False).report) == [
        "Y: 32 of 64 elements never written, first Y[32]"
    ]


TYPES = {1: (u8, np.uint8), 2: (u16, np.uint16), 4: (u32, np.uint32), 8: (u64, np.uint64)}


def scatter(size):
    dtype, _ = TYPES[size]
    spelled = getattr(ptx.inst.st.global_, str(dtype))

    @kernel(
        in_specs=(Tile("N", u32), Tile("M", u8)), out_specs=(Tile("M", dtype),),
        grid=lambda N: ptx.cdiv(N, 64), block=64,
    )  # fmt: skip
    def scatters(Index, M, Y):
        index, y = ptx.global_ptrs(Index, Y)
        i = thread()
        with ptx.if_(i < Index.shape[0]):
            at = ptx.inst.ld.global_.u32(ptx.addr(index + i * 4))
            value = reg.scalar(u16 if size == 1 else dtype, init=1)
            spelled(ptx.addr(y + at * size), value)

    return scatters


SCATTERS = {size: scatter(size) for size in TYPES}


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(sorted(TYPES)), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_any_pattern_is_counted(data, size, elements, seed):
    """The count and the first of what was not written, as NumPy says them."""
    draw = np.random.default_rng(seed)
    stores = data.draw(st.sampled_from([1, elements, 3 * elements, 8 * elements]))
    index = draw.integers(0, elements, stores, dtype=np.uint32)
    if data.draw(st.booleans()):
        index = np.sort(index)
    report = (
        SCATTERS[size]
        .emulate(
            index,
            np.zeros(elements, np.uint8),
            sanitize=False,
            threads=data.draw(st.integers(1, 3)),
        )
        .report
    )
    left = np.setdiff1d(np.arange(elements), index)
    many = "element" if elements == 1 else "elements"
    expected = f"Y: {left.size} of {elements} {many} never written, first Y[{left[:1]}]"
    expected = expected.replace("[[", "[").replace("]]", "]")
    assert notes(report) == ([expected] if left.size else [])


# ---- what the Tile says --------------------------------------------------------------------------


def test_a_partial_output_may_be_left_unwritten():
    @kernel(in_specs=(Tile(1, u32),), out_specs=(Tile(64, u32, partial=True),), grid=1, block=32)
    def half(X, Y):
        (y,) = ptx.global_ptrs(Y)
        store(y, thread())

    done = half.emulate(np.zeros(1, np.uint32))
    assert done.report.findings == ()
    assert np.array_equal(done.outputs[0][:32], np.arange(32))


def test_an_initial_value_is_there_before_the_kernel():
    @kernel(
        in_specs=(Tile(1, u32),), out_specs=(Tile(64, u32, init=5), Tile(3, bf16, init=-0.5)),
        grid=2, block=32,
    )  # fmt: skip
    def adds(X, Y, Z):
        (y,) = ptx.global_ptrs(Y)
        i = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.red.global_.add.u32(ptx.addr(y + i * 4), i)

    done = adds.emulate(np.zeros(1, np.uint32))
    assert done.report.message == ""
    assert done.outputs[0].tolist() == [5 + 2 * i for i in range(32)] + [5] * 32
    assert done.outputs[1].tolist() == [-0.5] * 3
