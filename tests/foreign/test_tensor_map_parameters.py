"""Parameters that are tensor maps, `const __grid_constant__ CUtensorMap` in CUDA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import In, Out, SpecError, Tile, from_ptx
from pyptx.types import f32

# y[i] = map[row, i] + from[i], of a map that is the first parameter and not the only one.
TEXT = """\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry rows(
    .param .align 64 .b8 rows_map[128],
    .param .u32 rows_row,
    .param .u64 rows_from,
    .param .u64 rows_y
)
{
    .reg .pred %p<3>;
    .reg .f32 %f<3>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    .shared .align 128 .b8 tile[128];
    .shared .align 8 .b64 full;
    mov.b64 %d0, rows_map;
    cvta.param.u64 %d1, %d0;
    ld.param.u32 %r0, [rows_row];
    ld.param.u64 %d2, [rows_from];
    ld.param.u64 %d3, [rows_y];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mov.u32 %r3, full;
    setp.ne.u32 %p0, %r1, 0;
    @%p0 bra wait;
    mbarrier.init.shared.b64 [%r3], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;
    mov.u32 %r4, 0;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r2], [%d1, {%r4, %r0}], [%r3];
wait:
    bar.sync 0;
again:
    mbarrier.try_wait.parity.shared.b64 %p1, [%r3], 0;
    @!%p1 bra again;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r2, %r5;
    ld.shared.f32 %f0, [%r6];
    mul.wide.u32 %d4, %r1, 4;
    add.u64 %d5, %d2, %d4;
    ld.global.f32 %f1, [%d5];
    add.f32 %f0, %f0, %f1;
    add.u64 %d6, %d3, %d4;
    st.global.f32 [%d6], %f0;
    ret;
}
"""
X = np.arange(320, dtype=np.float32).reshape(10, 32)
Z = np.linspace(0, 1, 32, dtype=np.float32)


def made(tile=None):
    return from_ptx(
        TEXT,
        in_specs=(tile or Tile("M", 32, f32, tma_box=(1, 32)), Tile(32, f32)),
        out_specs=(Tile(32, f32),),
        params=(In(0), 3, In(1), Out(0)),
        grid=1,
        block=32,
    )


@pytest.mark.parametrize("rows", [10, 5])
def test_a_tile_with_a_box_is_its_map(rows):
    kernel = made()
    done = kernel.emulate(X[:rows].copy(), Z, sanitize=True)
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[0], X[3] + Z)
    assert kernel.cubin().kernel == "rows"


def test_beyond_the_tensor_the_box_is_filled():
    np.testing.assert_array_equal(made()(X[:3].copy(), Z), Z)


def test_under_jax():
    kernel = made()
    np.testing.assert_array_equal(jax.jit(kernel)(X, Z), X[3] + Z)
    many = jax.vmap(kernel, in_axes=(0, None))(jnp.stack([X, 2 * X]), jnp.asarray(Z))
    np.testing.assert_array_equal(many, np.stack([X[3] + Z, 2 * X[3] + Z]))


def test_a_map_and_the_address_of_one_tensor():
    kernel = from_ptx(
        TEXT,
        in_specs=(Tile(10, 32, f32, tma_box=(1, 32)),),
        out_specs=(Tile(32, f32),),
        params=(In(0), 3, In(0), Out(0)),
        grid=1,
        block=32,
    )
    np.testing.assert_array_equal(kernel(X), X[3] + X[0])


def test_findings_name_the_tensor():
    kernel = made()
    loads = TEXT.replace("ld.global.f32 %f1, [%d5];", "ld.global.f32 %f1, [%d5+64];")
    wrong = from_ptx(
        loads,
        in_specs=kernel.in_specs,
        out_specs=kernel.out_specs,
        params=(In(0), 3, In(1), Out(0)),
        grid=1,
        block=32,
    )
    (found,) = wrong.emulate(X, Z).report.findings
    assert (found.kind, found.tensor) == ("out-of-bounds", "rows_from")


def test_a_tile_without_a_box():
    with pytest.raises(SpecError) as caught:
        made(Tile("M", 32, f32))
    assert (
        str(caught.value)
        .splitlines()[0]
        .endswith(
            'parameter 0 of rows, rows_map of type .b8[128], is given the address of Tile("M", 32, '
            "f32), which has 64 bits"
        )
    )
    assert "Tile(..., tma_box=...) makes it the Tile's tensor map" in str(caught.value)


def test_a_box_that_breaks_a_rule():
    with pytest.raises(SpecError):
        made(Tile("M", 32, f32, tma_box=(1, 512)))
