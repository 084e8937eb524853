"""Elements of global tensors that do not exist, or of another type: each with its whole message."""

import numpy as np
import pytest

from pyptx import IsaError, LanguageError, Tile, kernel, ptx, reg
from pyptx.types import bf16, e4m3, f16, f32, f64, s8, u8, u16, u32

from .cases import Collection

wrong = Collection()
SPECS = {
    "in_specs": (Tile(4, 64, f32), Tile("B", 6, bf16)),
    "out_specs": (Tile("B", 4, 64, f32),),
    "parallel": ("B",),
    "grid": lambda B: B,
}


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


@wrong(
    LanguageError,
    """
    here: X has 2 dimensions, and 1 index is given
        X[1]
      help: X[i, j]
    """,
)
def too_few_indices(X, H, Y):
    X[1]


@wrong(
    LanguageError,
    """
    here: Y has 3 dimensions, and 4 indices are given
        Y[0, 1, 2, thread()] = 0.0
      help: Y[i, j, k]
    """,
)
def too_many_indices(X, H, Y):
    Y[0, 1, 2, thread()] = 0.0


@wrong(
    LanguageError,
    """
    here: index 64 is outside dimension 1 of X, whose shape is (4, 64)
        X[thread(), 64]
      legal: 0 to 63
    """,
)
def an_int_beyond_the_shape(X, H, Y):
    X[thread(), 64]


@wrong(
    LanguageError,
    """
    here: index -1 is outside dimension 0 of X, whose shape is (4, 64)
        X[-1, 0]
      legal: 0 to 3
    """,
)
def a_negative_int(X, H, Y):
    X[-1, 0]


@wrong(
    LanguageError,
    """
    here: index -1 is outside dimension 0 of H, whose shape is (?, 6)
        H[-1, 0]
      legal: 0 and more
    """,
)
def a_negative_int_of_a_run_time_dimension(X, H, Y):
    H[-1, 0]


@wrong(
    LanguageError,
    """
    here: an index of X is an int or an integer register, not slice(0, 4, None)
        X[0, 0:4]
      help: X.load(..., vector=4) loads four neighbours
    """,
)
def a_slice(X, H, Y):
    X[0, 0:4]


@wrong(
    LanguageError,
    """
    here: an index of X is an int or an integer register, not 1.5
        X[0, 1.5]
    """,
)
def a_float_index(X, H, Y):
    X[0, 1.5]


@wrong(
    LanguageError,
    """
    here: an index of X is a 32- or 64-bit integer, not .f32
        X[0, reg.scalar(f32, init=1.0)]
      help: convert it: ptx.inst.cvt.rzi.u32.f32(r)
    """,
)
def a_register_of_floats_as_an_index(X, H, Y):
    X[0, reg.scalar(f32, init=1.0)]


@wrong(
    LanguageError,
    """
    here: an index of X is a 32- or 64-bit integer, not .u16
        X[0, reg.scalar(u16, init=1)]
      help: convert it: ptx.inst.cvt.u32.u16(r)
    """,
)
def a_register_of_16_bits_as_an_index(X, H, Y):
    X[0, reg.scalar(u16, init=1)]


@wrong(
    LanguageError,
    """
    here: Y holds .f32, and the value is .f64
        Y[0, 0, thread()] = reg.scalar(f64, init=1.0)
      help: convert it: ptx.inst.cvt.rn.f32.f64(r)
    """,
)
def a_value_of_another_type(X, H, Y):
    Y[0, 0, thread()] = reg.scalar(f64, init=1.0)


@wrong(
    LanguageError,
    """
    here: Y holds .f32, and the value is .bf16
        Y[0, 0, thread()] = H[0, 0]
      help: convert it: ptx.inst.cvt.f32.bf16(r)
    """,
)
def a_value_that_needs_rounding(X, H, Y):
    Y[0, 0, thread()] = H[0, 0]


@wrong(
    LanguageError,
    """
    here: Y holds .f32, and the value is .u32
        Y[0, 0, thread()] = thread()
      help: convert it: ptx.inst.cvt.rn.f32.u32(r)
    """,
)
def an_integer_as_a_float(X, H, Y):
    Y[0, 0, thread()] = thread()


@wrong(
    LanguageError,
    """
    here: a vector of X has 1, 2, 4 or 8 values, not 3
        X.load(0, 0, vector=3)
    """,
)
def a_vector_of_three(X, H, Y):
    X.load(0, 0, vector=3)


@wrong(
    LanguageError,
    """
    here: 16 bytes of X begin at a multiple of 16 bytes, not at 8 bytes from the first element
        X.load(0, 2, vector=4)
      help: load or store fewer values at once
    """,
)
def a_vector_that_is_not_aligned(X, H, Y):
    X.load(0, 2, vector=4)


@wrong(
    LanguageError,
    """
    here: 8 bytes of H begin at a multiple of 8 bytes, not at rows of 12 bytes
        H.load(thread(), 0, vector=4)
      help: load or store fewer values at once
    """,
)
def a_vector_in_rows_that_are_not_aligned(X, H, Y):
    H.load(thread(), 0, vector=4)


@wrong(
    LanguageError,
    """
    here: X holds .f32, not .f16
        X.load(0, 0, dtype=f16)
      legal: f32 f32x2
    """,
)
def a_type_that_is_not_packed_of_it(X, H, Y):
    X.load(0, 0, dtype=f16)


@wrong(
    IsaError,
    """
    here: st.global has no modifier .nc here
        Y.store(0, 0, 0, 1.0, cache="nc")
      legal here: .L1::evict_first .L1::evict_last .L1::evict_normal .L1::evict_unchanged .L1::no_allocate .L2::cache_hint .L2::evict_first .L2::evict_last .L2::evict_normal .b128 .b16 .b32 .b64 .b8 .cg .cs .f32 .f64 .s16 .s32 .s64 .s8 .u16 .u32 .u64 .u8 .v2 .v4 .v8 .wb .wt
    """,
)
def a_cache_operator_that_stores_lack(X, H, Y):
    Y.store(0, 0, 0, 1.0, cache="nc")


@wrong(
    LanguageError,
    """
    here: X is a tensor in global memory, which is not iterable
        for value in X:
      help: for i in ptx.range_(n): ... X[i]
    """,
)
def a_loop_over_a_tensor(X, H, Y):
    for value in X:
        Y[0, 0, 0] = value


@wrong(
    LanguageError,
    """
    here: what advance() leaves is unpacked at once, before the next instruction
        stage, phase = left
      help: stage, phase = state.advance()
    """,
)
def unpacking_what_advance_left_too_late(X, H, Y):
    left = ptx.pipeline(3).advance()
    thread()
    stage, phase = left


@wrong(
    LanguageError,
    """
    here: X.at(...) holds .f32, and the value is .u32
        X.at(1, 2)[0, 0] = thread()
      help: convert it: ptx.inst.cvt.rn.f32.u32(r)
    """,
)
def a_value_of_another_type_in_a_part(X, H, Y):
    X.at(1, 2)[0, 0] = thread()


@wrong(
    LanguageError,
    """
    here: X.at(...) is a tensor, not an operand
        ptx.addr(X.at(1, 2))
      help: X.at(...).address(0, 0) is the address of its first element
    """,
)
def a_part_as_an_operand(X, H, Y):
    ptx.addr(X.at(1, 2))


@wrong(
    LanguageError,
    """
    here: X.at(...) is a tensor in global memory, which is not iterable
        list(X.at(1, 2))
      help: for i in ptx.range_(n): ... X.at(...)[i]
    """,
)
def the_elements_of_a_part(X, H, Y):
    list(X.at(1, 2))


SUMS = {"shape": (16, 8, 16), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "dtype_c": f32}


@wrong(
    LanguageError,
    """
    here: a register is needed here, not a list of 2
        ptx.mma.sync(d=d, a=[H.load(0, 0, vector=2)] * 4, b=[d[0]] * 2, c=d, **SUMS)
      help: [*a, *b] joins lists of registers
    """,
)
def lists_as_a_fragment(X, H, Y):
    d = reg.mma_frag("d", shape=(16, 8, 16), dtype=f32)
    ptx.mma.sync(d=d, a=[H.load(0, 0, vector=2)] * 4, b=[d[0]] * 2, c=d, **SUMS)


@wrong(
    LanguageError,
    """
    here: a register is needed here, not 1 of type int
        ptx.mma.sync(d=d, a=[1] * 4, b=[d[0]] * 2, c=d, **SUMS)
    """,
)
def numbers_as_a_fragment(X, H, Y):
    d = reg.mma_frag("d", shape=(16, 8, 16), dtype=f32)
    ptx.mma.sync(d=d, a=[1] * 4, b=[d[0]] * 2, c=d, **SUMS)


@wrong(
    LanguageError,
    """
    here: weights is in constant memory, which a kernel cannot write
        ptx.const(f32, name="weights", init=[1.0])[0] = 2.0
      help: ptx.global_(...) is a variable that kernels write
    """,
)
def a_store_to_constant_memory(X, H, Y):
    ptx.const(f32, name="weights", init=[1.0])[0] = 2.0


@wrong(
    LanguageError,
    """
    here: index 4 is outside dimension 0 of mine, whose shape is (4,)
        ptx.local(f32, 4, name="mine")[4]
      legal: 0 to 3
    """,
)
def an_element_beyond_local_memory(X, H, Y):
    ptx.local(f32, 4, name="mine")[4]


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(lambda: kernel(**SPECS)(wrong.program).ptx())


def storing(value, dtype):
    @kernel(in_specs=(), out_specs=(Tile(32, dtype),), block=32)
    def store(Y):
        i = ptx.special.tid.x()
        Y[i] = i if value is None else value

    return store


@pytest.mark.parametrize(
    ("value", "dtype", "said"),
    [
        (300, u8, "Y holds .u8: 300 is out of range for .u8 (0 to 255)"),
        (-1, u8, "Y holds .u8: -1 is out of range for .u8 (0 to 255)"),
        (1.5, s8, "Y holds .s8: 1.5 is not an integer, and .s8 is a type of integers"),
        (0.3, e4m3, "Y holds .e4m3: 0.3 is not exact in .e4m3"),
        (None, f32, "Y holds .f32, and the value is .u32"),
    ],
)
def test_a_number_or_special_register_that_an_element_cannot_hold(value, dtype, said):
    with pytest.raises(LanguageError) as caught:
        storing(value, dtype).ptx()
    assert caught.value.problem == said
    assert caught.value.location.text == "Y[i] = i if value is None else value"


@pytest.mark.parametrize(("value", "dtype"), [(200, u8), (-5, s8), (1.5, e4m3), (None, u32)])
def test_a_number_of_8_bits_is_stored(value, dtype):
    done = storing(value, dtype).emulate(sanitize=True)
    wanted = np.arange(32) if value is None else np.full(32, value)
    np.testing.assert_array_equal(done.outputs[0].astype(np.float32), wanted)
    assert not done.report.findings
