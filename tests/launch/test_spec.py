"""Tiles, scalars, expressions over dimensions, and how arrays bind them; every message whole."""

import numpy as np
import pytest

from pyptx._agreement import check_outputs, check_parallel
from pyptx._binding import bind, check_dtypes
from pyptx._dims import Symbol, cdiv, maximum, minimum, rpn
from pyptx._grid import resolve_grid
from pyptx._source import SourceLocation
from pyptx._spec import Scalar, Tile
from pyptx.errors import CallError, SpecError
from pyptx.types import b32, bf16, f32, f64, s8, s32

B, N = Symbol("B"), Symbol("N")
HELP = "\n  help: compute with it (+ - * // ptx.cdiv min max); it has no value before the launch"


def message(error, call, *args):
    """What an error says, without the line that it shows: that is here."""
    with pytest.raises(error) as caught:
        call(*args)
    found = caught.value
    here = found.location is not None and found.location.file == __file__
    return error(found.problem, notes=found.notes).render() if here else str(found)


def test_tile():
    tile = Tile("B", 4, "N", f32)
    assert (tile.dims, tile.dtype, tile.names) == (("B", 4, "N"), f32, ("B", "N"))
    assert repr(tile) == 'Tile("B", 4, "N", f32)'
    assert tile == Tile("B", 4, "N", f32)
    assert hash(tile) == hash(Tile("B", 4, "N", f32))
    assert tile.shape({"B": 2, "N": 3}) == (2, 4, 3)
    assert Tile(f32).shape({}) == ()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((4, 4), 'Tile(4, 4) does not end with a type\n  help: Tile("B", "N", f32)'),
        ((), 'Tile() does not end with a type\n  help: Tile("B", "N", f32)'),
        ((-1, f32), "a dimension of a Tile is a size or a name, not -1"),
        ((B, f32), "a dimension of a Tile is a size or a name, not B"),
        ((True, f32), "True is no size: sizes are integers and dimensions"),
        ((2.0, f32), "2.0 is no size: sizes are integers and dimensions"),
        (
            ("B-", f32),
            (
                "'B-' is neither a name nor an expression of names\n"
                "  legal: names, integers, + - * // ( ), cdiv(a, b), min(a, b, ...), "
                "max(a, b, ...)\n"
                '  help: "N", "N//2", "cdiv(N, 4)"'
            ),
        ),
        ((4, b32), "arrays have no type b32; the elements of a tensor need one"),
    ],
)
def test_wrong_tiles(arguments, problem):
    assert message(SpecError, Tile, *arguments) == problem


def test_wrong_scalars():
    assert (
        message(SpecError, Scalar, b32)
        == "arrays have no type b32; the elements of a tensor need one"
    )
    assert message(SpecError, Scalar, "f32") == "'f32' is no type; types are in pyptx.types"


def test_a_star_is_any_number_of_axes():
    tile, weight = Tile("*B", "N", f32), Tile("N", f32)
    assert (tile.dims, tile.names, tile.starred) == (("*B", "N"), ("B", "N"), "B")
    assert (weight.starred, Scalar(f32).starred, Tile(f32).starred) == (None, None, None)
    assert repr(tile) == 'Tile("*B", "N", f32)'
    for lead in ((), (3,), (2, 3), (0,)):
        bound = bind((tile, weight), [(*lead, 8), (8,)])
        assert bound == {"B": lead, "N": 8}
        assert tile.shape(bound) == (*lead, 8)
    assert bind((Tile("*B", f32),), [()]) == {"B": ()}


def test_sums():
    assert Tile("N", f32).sum_over == () == Scalar(f32).sum_over
    one, two = Tile("N", f32, sum_over="B"), Tile(3, f32, sum_over=["B", "C"])
    assert (one.sum_over, two.sum_over) == (("B",), ("B", "C"))
    assert repr(one) == 'Tile("N", f32, sum_over="B")'
    assert repr(two) == 'Tile(3, f32, sum_over=("B", "C"))'
    assert one != Tile("N", f32)


def test_sums_that_are_accumulated_in_another_type():
    tile = Tile("N", bf16, sum_over="B", accumulate=f32)
    assert (tile.dtype, tile.accumulate) == (bf16, f32)
    assert repr(tile) == 'Tile("N", bf16, sum_over="B", accumulate=f32)'
    assert tile.part == Tile("N", f32, sum_over="B")
    plain = Tile("N", bf16, sum_over="B")
    assert tile != plain
    assert (plain.accumulate, plain.part) == (None, plain)
    assert Tile("N", f32, sum_over="B", accumulate=f32) == Tile("N", f32, sum_over="B")
    assert Tile("N", s8, sum_over="B", accumulate=s32).part.dtype is s32
    scalar = Scalar(f32)
    assert (scalar.accumulate, scalar.part) == (None, scalar)
    parallel = ("B", "C")
    rows = Tile("B", "C", "N", bf16)
    assert message(SpecError, check_parallel, (rows,), (tile,), parallel, "k").endswith(
        'help: Tile("N", bf16, sum_over=("B", "C"), accumulate=f32)'
    )


def test_parallel_dimensions():
    rows, weight = Tile("*B", "N", f32), Tile("N", f32)
    check_parallel((rows, weight), (rows, Tile("N", f32, sum_over="B")), ("B",), "k")
    check_parallel((weight,), (weight,), (), "k")
    help_ = 'Tile("N", f32, sum_over="B")'
    assert message(SpecError, check_parallel, (rows,), (weight,), ("B",), "k") == (
        'the output Tile("N", f32) of k lacks the parallel dimension "B": what is written there '
        f"must be a sum over it\n  help: {help_}"
    )


def test_missing_dimension():
    assert message(SpecError, Tile("B", "N", f32).shape, {"B": 1}) == (
        'Tile("B", "N", f32) needs the dimension N\n  dimensions: B'
    )


def test_bind():
    specs = (Tile("B", "N", f32), Tile("N", bf16), Tile(2, f32), Scalar(f32))
    assert bind(specs, [(4, 512), (512,), (2,), ()]) == {"B": 4, "N": 512}
    assert bind((), []) == {}
    assert bind((Tile("N", "N", f32),), [(3, 3)]) == {"N": 3}
    assert bind((Tile("B", f32),), [(0,)]) == {"B": 0}


WHERE = SourceLocation("model.py", 12)


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        (
            [(4, 512), (500,)],
            (
                'the dimension "N" is 512 in X (axis 1) and 500 in W (axis 0)\n'
                '  spec: W: Tile("N", f32)\n  shape: W: (500,)'
            ),
        ),
        (
            [(4,), (4,)],
            (
                'X has rank 1 and Tile("B", "N", f32) has rank 2\n'
                '  spec: X: Tile("B", "N", f32)\n  shape: X: (4,)'
            ),
        ),
        ([(4, 512)], "the kernel takes 2 arrays (X, W) and got 1"),
    ],
)
def test_arrays_that_do_not_fit(shapes, problem):
    specs = (Tile("B", "N", f32), Tile("N", f32))
    assert message(CallError, bind, specs, shapes, ("X", "W"), WHERE) == f"model.py:12: {problem}"


def test_a_fixed_size_that_does_not_fit():
    assert message(CallError, bind, (Tile(16, f32),), [(8,)]) == (
        "dimension 0 of input 0 is 8 and must be 16\n"
        "  spec: input 0: Tile(16, f32)\n  shape: input 0: (8,)"
    )


def test_element_types():
    check_dtypes((Tile("N", f32), Scalar(s32)), ["float32", "int32"])
    assert message(CallError, check_dtypes, (Tile("N", bf16),), ["float64"], ("X",), WHERE) == (
        'model.py:12: X has elements of type float64 and Tile("N", bf16) takes bfloat16\n'
        "  help: convert it: X.astype('bfloat16')"
    )


def test_outputs():
    check_outputs((Tile("B", "N", f32),), (Tile("N", 3, f32),))
    assert message(SpecError, check_outputs, (Tile("B", f32),), (Tile("M", f64),)) == (
        'the dimension "M" of the output Tile("M", f64) is in no input\n  dimensions: B'
    )
    assert message(SpecError, check_outputs, (), (Scalar(f32),)) == (
        "Scalar(f32) is among the outputs; a kernel writes tensors: Tile(f32)"
    )


def test_expressions():
    places = {"B": "a0.0", "N": "a0.1"}
    cases = {
        "7": cdiv(13, 2),
        "a0.0 4 cdiv": cdiv(B, 4),
        "a0.0 a0.1 * 3 +": B * N + 3,
        "3 a0.0 -": 3 - B,
        "a0.0 1 - 2 //": (B - 1) // 2,
        "8 a0.0 //": 8 // B,
        "2 a0.0 *": 2 * B,
        "2 a0.0 +": 2 + B,
        "a0.0 a0.1 min 3 min": minimum(B, N, 3),
        "a0.0 1 max": maximum(B, 1),
        "a0.0": minimum(B),
    }
    assert {rpn(extent, places): None for extent in cases.values()} == dict.fromkeys(cases)
    assert str(minimum(cdiv(B, 4), N * 2 - 1)) == "min(cdiv(B, 4), ((N * 2) - 1))"
    assert message(SpecError, rpn, Symbol("Q"), places) == (
        "the dimension Q is in no tensor\n  dimensions: B, N"
    )


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (bool, "bool()"),
        (int, "int()"),
        (range, "an index or range()"),
        (lambda d: d == 4, "=="),
        (lambda d: d != 4, "!="),
        (lambda d: bool(d < 4), "<"),
        (lambda d: bool(d > 4), ">"),
        (lambda d: bool(d <= 4), "<="),
        (lambda d: d >= 4 or d, ">="),
        (lambda d: min(d, 4), ">"),
        (lambda d: d in (4, 5), "=="),
        (lambda d: [1, 2][d], "an index or range()"),
    ],
)
def test_a_run_time_dimension_has_no_value(use, name):
    problem = message(SpecError, use, B * 2)
    assert problem == f"{name} of the run-time dimension (B * 2){HELP}"


def test_true_division():
    problem = (
        "/ of the run-time dimension B\n  help: sizes are integers: write // or ptx.cdiv(a, b)"
    )
    assert message(SpecError, lambda: B / 2) == problem
    assert message(SpecError, lambda: 2 / B) == problem


def test_wrong_arithmetic():
    zero = "{} {} 0: an expression over dimensions divides by zero"
    assert message(SpecError, cdiv, B, 0) == zero.format("B", "cdiv")
    assert message(SpecError, cdiv, 5, 0) == zero.format("5", "cdiv")
    assert message(SpecError, lambda: B // 0) == zero.format("B", "//")
    assert (
        message(SpecError, lambda: B + 1.5) == "1.5 is no size: sizes are integers and dimensions"
    )


def test_grids():
    assert resolve_grid((4, 2), {}) == (4, 2, 1)
    for one in (np.int64(4), np.array(4), (np.int32(4), np.uint8(1))):
        assert resolve_grid(one, {}) == (4, 1, 1)
    assert resolve_grid(lambda B: np.int64(B), {"B": 3}) == (3, 1, 1)
    assert resolve_grid(lambda B, N: (B, cdiv(N, 128)), {"B": 3, "N": 300}) == (3, 3, 1)
    assert resolve_grid(lambda B: B, {"B": 3, "N": 300}) == (3, 1, 1)
    assert resolve_grid(lambda B, scale=2: (B * scale,), {"B": 3}) == (6, 1, 1)
    grid = resolve_grid(lambda B, N: (min(B, N), max(B, 2), 1), {"B": B, "N": 300})
    assert [rpn(size, {"B": "a0.0"}) for size in grid] == ["a0.0 300 min", "a0.0 2 max", "1"]


@pytest.mark.parametrize(
    ("grid", "problem"),
    [
        (lambda M: (M,), "grid= asks for the dimension M\n  dimensions: B, N"),
        ((1, 2, 3, 4), "grid= gives (1, 2, 3, 4); a grid is one to three sizes (x, y, z)"),
        ((), "grid= gives (); a grid is one to three sizes (x, y, z)"),
        ("4", "'4' names no dimension\n  help: write 4"),
        ({4}, "grid= gives {4}; a grid is one to three sizes (x, y, z)"),
        (lambda B: None, "grid= gives None; a grid is one to three sizes (x, y, z)"),
        (lambda B: (B - 9, 1), "grid= gives (-5, 1, 1); a size is not negative"),
        (lambda B: (B / 2, 1), "2.0 is no size: sizes are integers and dimensions"),
    ],
)
def test_wrong_grids(grid, problem):
    assert message(SpecError, resolve_grid, grid, {"B": 4, "N": 300}) == problem
