"""Elements of global tensors by index: what is appended, what comes out, and what it costs."""

import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from pyptx import Scalar, Tile, kernel, ptx, reg
from pyptx.types import bf16, bf16x2, e4m3, f16, f32, f64, s8, s32, u8, u32, u64


def thread(dtype=u32):
    return reg.from_(ptx.special.tid.x(), dtype)


def body_of(text: str) -> list[str]:
    lines = [line.strip().removesuffix(";") for line in text.splitlines()]
    return [
        x
        for x in lines[lines.index("{") + 1 : lines.index("}")]
        if not x.startswith((".reg", ".shared"))
    ]


def test_a_product_and_a_sum_for_an_element_and_one_load_of_the_base():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=32)
    def twice(X, Y):
        i = thread()
        with ptx.if_(i < X.shape[0] - 1):
            Y[i] = X[i] + X[i]
        Y[31] = X[0]

    assert body_of(twice.ptx(N=32)) == [
        "ld.param.u64 %ud0, [X]",
        "cvta.to.global.u64 %ud1, %ud0",
        "ld.param.u64 %ud6, [Y]",
        "cvta.to.global.u64 %ud7, %ud6",
        "mov.u32 %u0, %tid.x",
        "setp.lt.u32 %p0, %u0, 31",
        "@!%p0 bra $L0",
        "mul.wide.u32 %ud3, %u0, 4",
        "add.u64 %ud2, %ud1, %ud3",
        "ld.global.f32 %f0, [%ud2]",
        "mul.wide.u32 %ud5, %u0, 4",
        "add.u64 %ud4, %ud1, %ud5",
        "ld.global.f32 %f1, [%ud4]",
        "add.rn.f32 %f2, %f0, %f1",
        "mul.wide.u32 %ud9, %u0, 4",
        "add.u64 %ud8, %ud7, %ud9",
        "st.global.f32 [%ud8], %f2",
        "$L0:",
        "ld.global.f32 %f3, [%ud1]",
        "st.global.f32 [%ud7+124], %f3",
        "ret",
    ]


def addresses(shape, index, dtype=f32, parallel=()):
    """The instructions between the loads of the base and the store of an element."""

    @kernel(out_specs=(Tile(*shape, dtype),), block=32, parallel=parallel)
    def one(Y):
        value = reg.scalar(dtype, init=0)
        Y[index(thread(), thread(s32))] = value

    names = {n: 4 for n in shape if isinstance(n, str) and n not in parallel}
    text = body_of(one.ptx(**names))
    first = next(i for i, x in enumerate(text) if x.startswith("mov.s32"))
    return [re.sub(r"%\w+?(\d+)", r"%\1", x) for x in text[first + 1 : -1]]


def test_known_indices_go_into_the_offset():
    assert addresses((4, 8, 16), lambda i, _: (1, 2, 3)) == ["st.global.f32 [%1+652], %0"]
    assert addresses((4, 8, 16), lambda i, _: (1, i, 3)) == [
        "mul.wide.u32 %3, %0, 64",
        "add.u64 %2, %1, %3",
        "st.global.f32 [%2+524], %0",
    ]


def test_inner_indices_are_added_in_32_bits():
    assert addresses((4, 8, 16), lambda i, _: (i, i, i)) == [
        "mad.lo.u32 %1, %0, 8, %0",
        "mad.lo.u32 %2, %1, 16, %0",
        "mul.wide.u32 %3, %2, 4",
        "add.u64 %2, %1, %3",
        "st.global.f32 [%2], %0",
    ]


def test_a_signed_index_makes_the_sum_signed():
    assert addresses((4, 16), lambda i, j: (i, j)) == [
        "mad.lo.s32 %1, %0, 16, %0",
        "mul.wide.s32 %0, %1, 4",
        "add.u64 %2, %1, %0",
        "st.global.f32 [%2], %0",
    ]


def test_what_is_beyond_32_bits_is_added_in_64():
    assert addresses((2**20, 2**12, 16), lambda i, _: (i, i, i)) == [
        "mul.wide.u32 %3, %0, 262144",
        "add.u64 %2, %1, %3",
        "mad.lo.u32 %1, %0, 16, %0",
        "mul.wide.u32 %5, %1, 4",
        "add.u64 %4, %2, %5",
        "st.global.f32 [%4], %0",
    ]


def test_a_stride_beyond_32_bits():
    assert addresses((4, 2**31), lambda i, _: (i, 5)) == [
        "cvt.u64.u32 %3, %0",
        "mad.lo.u64 %2, %3, 8589934592, %1",
        "st.global.f32 [%2+20], %0",
    ]


CASES = [
    (np.float32, f32),
    (np.float64, f64),
    (np.float16, f16),
    (ml_dtypes.bfloat16, bf16),
    (np.int32, s32),
    (np.uint8, u8),
    (np.int8, s8),
    (ml_dtypes.float8_e4m3fn, e4m3),
]


@pytest.mark.parametrize(("numpy", "dtype"), CASES, ids=lambda c: getattr(c, "__name__", str(c)))
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 7), (1, 33)])
def test_a_copy_reversed_in_every_dimension(numpy, dtype, shape):
    @kernel(
        in_specs=(Tile(*shape, dtype),),
        out_specs=(Tile(*shape, dtype),),
        grid=(shape[0] if len(shape) > 1 else 1,),
        block=64,
    )
    def reverse(X, Y):
        row, i = ptx.special.ctaid.x(), thread()
        with ptx.if_(i < shape[-1]):
            for middle in range(shape[1] if len(shape) == 3 else 1):
                axes = {1: (i,), 2: (row, i), 3: (row, middle, i)}[len(shape)]
                there = tuple(e - 1 - a for e, a in zip(shape, axes, strict=True))
                Y[there] = X[axes]

    x = np.random.default_rng(1).integers(0, 100, shape).astype(numpy)
    done = reverse.emulate(x, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0].view(np.uint8) == np.ascontiguousarray(np.flip(x)).view(np.uint8)).all()


@kernel(
    in_specs=(Tile("B", "M", "N", f32),),
    out_specs=(Tile("B", "N", "M", f32),),
    parallel=("B", "M"),
    grid=lambda B, M: (B, M),
    block=32,
)
def transposed(X, Y):
    b, m = ptx.special.ctaid.x(), ptx.special.ctaid.y()
    for n in range(X.shape[2]):
        with ptx.if_(thread() == 0):
            Y[b, n, m] = X[b, m, n]


def test_sizes_that_are_known_at_a_launch_only():
    x = np.random.default_rng(2).standard_normal((3, 5, 4)).astype(np.float32)
    assert (transposed(x) == x.transpose(0, 2, 1)).all()
    text = transposed.ptx(N=4)
    assert text.count("mul.lo.u64") == 3  # of X a matrix; of Y a row and a matrix; once each


@kernel(
    in_specs=(Tile("B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("B", "N", f32),),
    parallel=("B",),
    grid=lambda B: B,
    block=64,
)
def scaled(X, W, Y):
    b, i = ptx.special.ctaid.x(), thread()
    with ptx.if_(i < X.shape[1]):
        Y[b, i] = X[b, i] * W[i]


def test_batches_have_their_own_base():
    rng = np.random.default_rng(3)
    x = jnp.asarray(rng.standard_normal((3, 4, 50)), jnp.float32)
    w = jnp.asarray(rng.standard_normal((3, 50)), jnp.float32)
    wanted = x * w[:, None]
    assert (jax.vmap(scaled)(x, w) == wanted).all()
    assert (jax.jit(jax.vmap(scaled, in_axes=(1, 0)))(x.swapaxes(0, 1), w) == wanted).all()


def test_vectors_predicates_and_cache_operators():
    @kernel(in_specs=(Tile(4, 64, bf16),), out_specs=(Tile(4, 64, bf16),), block=8)
    def doubled(X, Y):
        i = thread()
        for row in range(4):
            low = X.load(row, i * 8 if False else i << 3, vector=4, dtype=bf16x2, cache="nc")
            Y.store(row, i << 3, [v + v for v in low], dtype=bf16x2, cache="cs")

    x = np.random.default_rng(4).standard_normal((4, 64)).astype(ml_dtypes.bfloat16)
    assert (doubled(x) == x + x).all()
    text = doubled.ptx()
    assert text.count("ld.global.nc.v4.b32") == 4
    assert text.count("st.global.cs.v4.b32") == 4


def test_threads_whose_predicate_fails_have_the_other_value():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile(32, f32),), block=32)
    def padded(X, Y):
        i = thread()
        Y[i] = X.load(i, pred=i < X.shape[0], other=-1.0)

    x = np.arange(20, dtype=np.float32)
    done = padded.emulate(x, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0] == [*range(20), *[-1] * 12]).all()


def test_an_address_serves_any_instruction():
    @kernel(
        in_specs=(Tile("N", s32),),
        out_specs=(Tile(4, s32, sum_over="N", init=0),),
        parallel=("N",),
        grid=lambda N: N,
        block=32,
    )
    def counted(X, Counts):
        with ptx.if_(thread() == 0):
            ptx.inst.red.global_.add.s32(Counts.address(X[ptx.special.ctaid.x()]), 1)

    assert "red.global.add.s32 [%ud" in counted.ptx()


def test_a_64_bit_index():
    @kernel(in_specs=(Tile(4, 64, f32),), out_specs=(Tile(64, f32),), block=64)
    def third(X, Y):
        i = reg.from_(thread(), u64) if False else ptx.inst.cvt.u64.u32(thread())
        Y[i] = X[3, i]

    x = np.random.default_rng(5).standard_normal((4, 64)).astype(np.float32)
    assert (third(x) == x[3]).all()


def machine_instructions(k, **dims) -> int:
    """Instructions of the kernel's machine code, without those that fill up its end."""
    found = [each for each in k.sass(**dims) if each.text != "NOP"]
    assert found
    return len(found)


def test_no_dearer_than_addresses_by_hand():
    """Registers and instructions of machine code, within 2% of the same kernel with ptx.addr."""
    specs = {
        "in_specs": (Scalar(f32), Tile("N", f32), Tile("N", f32)),
        "out_specs": (Tile("N", f32),),
        "grid": lambda N: ptx.cdiv(N, 128),
        "block": 128,
        "arch": "sm_90a",
    }

    def place():
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        return ptx.inst.mad.lo.u32(cta, 128, thread())

    @kernel(**specs)
    def by_hand(a, X, Y, Z):
        x, y, z = ptx.global_ptrs(X, Y, Z)
        i = place()
        with ptx.if_(i < X.shape[0]):
            value = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
            addend = ptx.inst.ld.global_.f32(ptx.addr(y + i * 4))
            ptx.inst.st.global_.f32(ptx.addr(z + i * 4), ptx.inst.fma.rn.f32(a, value, addend))

    @kernel(**specs)
    def by_index(a, X, Y, Z):
        i = place()
        with ptx.if_(i < X.shape[0]):
            Z[i] = ptx.inst.fma.rn.f32(a, X[i], Y[i])

    assert by_index.cubin(N=1000).registers <= by_hand.cubin(N=1000).registers
    assert machine_instructions(by_index, N=1000) <= machine_instructions(by_hand, N=1000)


def test_an_instruction_by_its_spelling(traced):
    def body():
        x = reg.scalar(f32, init=1.0)
        y = ptx.inst["add.rn.f32"](x, 2.0)
        ptx.inst["mov.f32"](x, y)

    assert traced(body).instructions == [
        "mov.f32 %f0, 0f3F800000",
        "add.rn.f32 %f1, %f0, 0f40000000",
        "mov.f32 %f0, %f1",
    ]


# ---- variables -----------------------------------------------------------------------------------


def test_elements_of_constant_and_local_memory():
    table = ptx.const(f32, name="squares", init=[float(i * i) for i in range(32)])

    @kernel(in_specs=(Tile(32, u32),), out_specs=(Tile(32, f32),), block=32)
    def look_up(X, Y):
        i = thread()
        mine = ptx.local(f32, 4)
        mine[0] = 0.0
        mine[1] = table[X[i]]
        mine[i & 1] = table[2] + mine[1]
        Y[i] = ptx.where((i & 1) == 0, mine[0], mine[1])

    x = np.random.default_rng(6).permutation(32).astype(np.uint32)
    done = look_up.emulate(x, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0] == x.astype(np.float32) ** 2 + 4).all()
    text = look_up.ptx()
    assert text.count("mov.u64") == 2
    assert "ld.const.f32" in text
    assert "st.local.f32" in text


def test_a_variable_in_global_memory_keeps_what_a_kernel_stores():
    counters = ptx.global_(u32, 4, name="counters", init=[1, 2, 3, 4])

    @kernel(in_specs=(Tile(1, u32),), out_specs=(Tile(4, u32),), block=4)
    def count(X, Y):
        i = thread()
        counters[i] = counters[i] + X[0]
        Y[i] = counters[i]

    assert count.emulate(np.array([10], np.uint32)).outputs[0].tolist() == [11, 12, 13, 14]
