"""Structures that are passed by value, given by their fields."""

import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import In, Out, Scalar, SpecError, Struct, Tile, from_ptx, ptx
from pyptx.types import f32

# struct Pair { float *to; int n; const float *from; float factor; };
# void axpy(Pair p, int most): to[i] += factor * from[i], loaded as nvcc loads it.
AXPY = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(
    .param .align 8 .b8 axpy_p[32],
    .param .u32 axpy_most
)
{
    .reg .pred %p<3>;
    .reg .f32 %f<5>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<9>;
    ld.param.u32 %r2, [axpy_most];
    LOADS
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r6;
    @%p1 bra $L__BB0_2;
    setp.ge.s32 %p2, %r1, %r2;
    @%p2 bra $L__BB0_2;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.s32 %rd5, %r1, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd7];
    ld.global.f32 %f3, [%rd6];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd6], %f4;
$L__BB0_2:
    ret;
}
"""
APART = """ld.param.u64 %rd1, [axpy_p];
    ld.param.u32 %r6, [axpy_p+8];
    ld.param.u64 %rd2, [axpy_p+16];
    ld.param.f32 %f1, [axpy_p+24];"""
# The size and what fills the space behind it as a vector; the addresses with it.
VECTOR = """ld.param.u64 %rd1, [axpy_p];
    ld.param.v2.u32 {%r6, %r0}, [axpy_p+8];
    ld.param.u64 %rd2, [axpy_p+16];
    ld.param.f32 %f1, [axpy_p+24];"""
FIELDS = {0: Out(0), 8: "N", 16: In(1), 24: In(0)}
SPECS = {
    "in_specs": (Scalar(f32), Tile("N", f32), Tile("N", f32)),
    "out_specs": (Tile("N", f32),),
    "input_output_aliases": {2: 0},
    "params": (Struct(FIELDS), "N"),
    "grid": lambda N: ptx.cdiv(N, 128),
    "block": 128,
    "parallel": ("N",),
}


def made(loads=APART, **changes):
    return from_ptx(AXPY.replace("LOADS", loads), **{**SPECS, **changes})


def arrays(n=300):
    x = np.arange(n, dtype=np.float32)
    return x, np.full(n, 5, np.float32)


@pytest.mark.parametrize("loads", [APART, VECTOR], ids=["apart", "vectors"])
def test_fields_are_tensors_scalars_and_sizes(loads):
    x, y = arrays()
    run = made(loads, params=(Struct({**FIELDS, 12: 0}), "N"))
    np.testing.assert_array_equal(run(2.0, x, y), 2 * x + 5)
    assert not run.emulate(np.float32(2), x, y, sanitize=True).report.findings
    assert run.cubin().kernel == "axpy"


def test_fields_are_constants_and_functions():
    x, y = arrays()
    fields = {**FIELDS, 8: lambda N: N - 10, 24: 0.5}
    run = made(
        in_specs=SPECS["in_specs"][1:],
        input_output_aliases={1: 0},
        params=(Struct({**fields, 16: In(0)}), 290),
    )
    expected = np.where(np.arange(300) < 290, 0.5 * x + 5, 5)
    np.testing.assert_array_equal(run(x, y), expected)


def test_bytes_of_several_fields():
    text = AXPY.replace("LOADS", APART).replace("[axpy_p+24]", "[axpy_p+12]")
    x, y = arrays(64)
    data = struct.pack("<if", 60, 4.0)
    run = from_ptx(
        text,
        **{
            **SPECS,
            "in_specs": SPECS["in_specs"][1:],
            "input_output_aliases": {1: 0},
            "params": (Struct({0: Out(0), 8: data, 16: In(0)}), "N"),
        },
    )
    np.testing.assert_array_equal(run(x, y), np.where(np.arange(64) < 60, 4 * x + 5, 5))


def test_under_jax():
    x, y = arrays()
    run = made()
    np.testing.assert_array_equal(jax.jit(run)(2.0, jnp.asarray(x), jnp.asarray(y)), 2 * x + 5)
    batched = jax.vmap(run, in_axes=(0, None, None))(
        jnp.array([1.0, 3.0]), jnp.asarray(x), jnp.asarray(y)
    )
    np.testing.assert_array_equal(batched, np.stack([x + 5, 3 * x + 5]))


def test_a_field_that_nothing_loads_costs_nothing():
    x, y = arrays()
    run = made(params=(Struct({**FIELDS, 28: 7, 12: "N"}), "N"))
    np.testing.assert_array_equal(run(2.0, x, y), 2 * x + 5)


def problem(loads=APART, **changes):
    with pytest.raises(SpecError) as caught:
        made(loads, **changes)
    return str(caught.value)


def test_what_is_wrong_is_said_of_its_line():
    name = made().file
    missing = {k: v for k, v in FIELDS.items() if k != 8}
    assert problem(params=(Struct(missing), "N")) == (
        f"{name}:15: ld.param.u32 loads bytes 8 to 11 of axpy_p, and no field is given that has "
        "them\n    ld.param.u32 %r6, [axpy_p+8];\n"
        "  fields: 0 to 7, 16 to 23, 24 to 27\n  help: Struct({8: ...})"
    )
    outside = problem(params=(Struct({**FIELDS, 32: 1}), "N"))
    assert "axpy_p of axpy has 32 bytes, and a field of it is given at 32\n" in outside
    assert "a field of it is given at 'n'\n" in problem(params=(Struct({"n": 1}), "N"))
    taken = APART.replace("ld.param.u64 %rd1, [axpy_p];", "mov.b64 %rd1, axpy_p;")
    assert (
        problem(taken)
        .splitlines()[0]
        .endswith(
            ":14: mov.b64 does something else with axpy_p than to load it, so its fields cannot be "
            "given one by one"
        )
    )
    narrow = APART.replace("ld.param.u64 %rd1", "ld.param.f32 %f1")
    assert "is given the address of Tile(" in problem(narrow)


def test_a_structure_without_fields_is_shown_both_ways():
    said = problem(params=(3, "N"))
    assert "  help: give its bytes in params=: struct.pack(...), 32 of them\n" in said
    assert '  help: or its fields, by their offsets: Struct({0: In(0), 8: "N"})\n' in said
