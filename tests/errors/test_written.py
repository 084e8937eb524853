"""What a Tile says of unwritten elements, said wrongly."""

import numpy as np
import pytest

from pyptx import SpecError, Tile, kernel, ptx, reg, sequence
from pyptx.types import bf16, e4m3, f16, f32, pred, s8, u8, u32

from .cases import Collection

wrong = Collection()


@wrong(SpecError, """
    here: partial=1 is neither True nor False
        Tile("N", f32, partial=1)
    """)  # fmt: skip
def partial_that_is_no_bool():
    Tile("N", f32, partial=1)


@wrong(SpecError, """
    here: a Tile has partial=True or init=0, not both
        Tile("N", f32, partial=True, init=0)
      help: with init= an element that is not written has that value
    """)  # fmt: skip
def both():
    Tile("N", f32, partial=True, init=0)


@wrong(SpecError, """
    here: init=0.1: 0.1 is not exact in .f32
        Tile("N", f32, init=0.1)
      help: init=numpy.float32(0.1) is the nearest
    """)  # fmt: skip
def a_value_that_is_not_exact():
    Tile("N", f32, init=0.1)


@wrong(SpecError, """
    here: init=257: 257 is not exact in .bf16
        Tile("N", bf16, init=257)
      help: init=ml_dtypes.bfloat16(257) is the nearest
    """)  # fmt: skip
def an_integer_that_is_not_exact():
    Tile("N", bf16, init=257)


@wrong(SpecError, """
    here: init=0.5: 0.5 is not an integer, and .u32 is a type of integers
        Tile("N", u32, init=0.5)
    """)  # fmt: skip
def a_float_of_an_integer_type():
    Tile("N", u32, init=0.5)


@wrong(SpecError, """
    here: init=-1: -1 is out of range for .u8 (0 to 255)
        Tile("N", u8, init=-1)
    """)  # fmt: skip
def a_value_out_of_range():
    Tile("N", u8, init=-1)


@wrong(SpecError, """
    here: init='0': '0' is no number
        Tile("N", f32, init="0")
    """)  # fmt: skip
def a_value_that_is_text():
    Tile("N", f32, init="0")


@wrong(SpecError, """
    here: init=True: True is no number
        Tile("N", u32, init=True)
    """)  # fmt: skip
def a_bool():
    Tile("N", u32, init=True)


@wrong(SpecError, """
    here: init=array([1]): array([1]) is no number
        Tile("N", u32, init=np.array([1]))
    """)  # fmt: skip
def an_array():
    Tile("N", u32, init=np.array([1]))


@wrong(SpecError, """
    here: init=1.0 of a sum over "B" would be added once for each device that has a part of it
        Tile("N", f32, sum_over="B", init=1.0)
      help: init=0, and add the rest to the sum
    """)  # fmt: skip
def a_sum_that_begins_with_one():
    Tile("N", f32, sum_over="B", init=1.0)


@wrong(SpecError, """
    here: Tile("N", f32, init=0) is among the inputs, and init=0 says how an output is written
        @kernel(in_specs=(Tile("N", f32, init=0),), out_specs=(Tile("N", f32),))
      help: give it to the Tile in out_specs that the kernel writes
    """)  # fmt: skip
def an_input_with_init():
    @kernel(in_specs=(Tile("N", f32, init=0),), out_specs=(Tile("N", f32),))
    def copy(X, Y):
        pass


@wrong(SpecError, """
    here: Tile("N", f32, partial=True) is among the inputs, and partial=True says how an output is written
        @sequence(in_specs=(Tile("N", f32, partial=True),), out_specs=(Tile("N", f32),))
      help: give it to the Tile in out_specs that the kernel writes
    """)  # fmt: skip
def a_partial_input():
    @sequence(in_specs=(Tile("N", f32, partial=True),), out_specs=(Tile("N", f32),))
    def copy(x):
        return x


@wrong(SpecError, """
    here: output 0 is Tile("N", f32, init=0) and shares its buffer with input 0, whose values it holds before the kernel starts
        @kernel(
      help: leave init=0 out
    """)  # fmt: skip
def an_initial_value_of_an_output_in_place():
    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32, init=0),),
        input_output_aliases={0: 0},
    )
    def add(X, Y):
        pass


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N)
def ones(X, Y):
    (y,) = ptx.global_ptrs(Y)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 4
    ptx.inst.st.global_.f32(ptx.addr(y + at), 1.0)


@wrong(SpecError, """
    here: output 0 of twice is Y, and its spec is Tile("N", f32, init=0): init=0 is of the kernel that writes it, whose Tile does not say so
        @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32, init=0),))
      help: init=0 in the out_specs of that kernel
    """)  # fmt: skip
def an_initial_value_that_no_kernel_of_a_sequence_has():
    @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32, init=0),))
    def twice(x):
        return ones(ones(x))

    twice(np.zeros(3, np.float32))


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(wrong.program)


# ---- what is right -------------------------------------------------------------------------------


def test_a_sequence_may_repeat_what_its_kernel_says():
    specs = {"in_specs": (Tile("N", f32),), "out_specs": (Tile("N", f32, init=2),)}

    @kernel(**specs)
    def twos(X, Y):
        pass

    @sequence(**specs)
    def in_steps(x):
        return twos(ones(x))

    assert in_steps(np.zeros(3, np.float32)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("dtype", "value", "bits"),
    [
        (f32, 0, "00000000"),
        (f32, -0.0, "00000080"),
        (f32, np.float32(0.1), "cdcccc3d"),
        (f32, 2**24, "0000804b"),
        (f32, 1e-45 * 0 + 2.0**-149, "01000000"),
        (f16, 65504, "ff7b"),
        (f16, float("-inf"), "00fc"),
        (bf16, 1, "803f"),
        (e4m3, 448, "7e"),
        (e4m3, float("nan"), "7f"),
        (u8, np.uint8(255), "ff"),
        (s8, -1, "ff"),
        (pred, True, "01"),
    ],
)
def test_the_bytes_of_a_value(dtype, value, bits):
    tile = Tile("N", dtype, init=value)
    assert tile.initial(dtype).hex() == bits
    assert np.frombuffer(bytes.fromhex(bits), dtype.numpy)[0] == value or value != value
    assert repr(tile) == f'Tile("N", {dtype}, init={tile.init!r})'


@pytest.mark.parametrize(
    ("dtype", "step"),
    [
        (e4m3, 1),
        *((dtype, 31) for dtype in (f16, bf16)),
        *(pytest.param(dtype, 1, marks=pytest.mark.sweep) for dtype in (f16, bf16)),
    ],
)
def test_every_number_of_a_type_is_exact_in_it(dtype, step):
    """And what lies between two neighbours is not."""
    numpy = np.dtype(dtype.numpy)
    codes = np.arange(1 << dtype.bits, dtype=f"u{numpy.itemsize}")
    with np.errstate(invalid="ignore"):  # NaNs that signal
        values = codes.view(numpy).astype(np.float64)
    for code, value in zip(codes[::step].tolist(), values[::step].tolist(), strict=True):
        if value == value:
            found = Tile("N", dtype, init=value).initial(dtype)
            assert int.from_bytes(found, "little") == code
    finite = np.unique(values[np.isfinite(values)])
    between = (finite[1:] + finite[:-1]) / 2
    for value in [*between[:: max(1, between.size // 200)].tolist(), finite[-1] * 1.5]:
        with pytest.raises(SpecError, match="is not exact in"):
            Tile("N", dtype, init=value)
