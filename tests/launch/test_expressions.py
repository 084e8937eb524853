"""Sizes that are text: what they mean, and every message whole."""

import pytest

from pyptx import _expressions as expressions
from pyptx._dims import Symbol, rpn
from pyptx.errors import SpecError

LEGAL = (
    "\n  legal: names, integers, + - * // ( ), cdiv(a, b), min(a, b, ...), max(a, b, ...)"
    '\n  help: "N", "N//2", "cdiv(N, 4)"'
)


@pytest.mark.parametrize(
    ("text", "sizes", "value"),
    [
        ("N", {"N": 7}, 7),
        ("N//2", {"N": 7}, 3),
        ("(N+127)//128", {"N": 129}, 2),
        ("2*N + 1", {"N": 7}, 15),
        ("N - M", {"N": 7, "M": 7}, 0),
        ("-N + M", {"N": 3, "M": 7}, 4),
        ("cdiv(N, BM) * BM", {"N": 65, "BM": 64}, 128),
        ("min(N, M, 5)", {"N": 7, "M": 6}, 5),
        ("max(N, M)", {"N": 7, "M": 6}, 7),
        (" N // 2 ", {"N": 8}, 4),
        ("in_", {"in_": 4}, 4),
    ],
)
def test_what_a_text_is(text, sizes, value):
    assert expressions.size(text, sizes) == value
    symbols = {name: Symbol(name) for name in sizes}
    kept = expressions.size(text, symbols)
    assert expressions.size(str(kept), sizes) == value  # what a plan calls it means the same
    assert set(expressions.names(text)) == set(sizes)


def test_the_text_that_is_compared():
    assert expressions.canonical("(N+127)//128") == "(N + 127) // 128"
    assert expressions.canonical("((N))//2") == "N // 2"
    assert rpn(expressions.parse("cdiv(N, 4) - 1"), {"N": "a0.1"}) == "a0.1 4 cdiv 1 -"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is neither a name nor an expression of names" + LEGAL),
        ("N//", "'N//' is neither a name nor an expression of names" + LEGAL),
        ("N ** 2", "'N ** 2' is neither a name nor an expression of names" + LEGAL),
        (
            "2 * N[0]",
            "'2 * N[0]' is neither a name nor an expression of names: N[0] is none" + LEGAL,
        ),
        ("N * 2.5", "'N * 2.5' is neither a name nor an expression of names: 2.5 is none" + LEGAL),
        (
            "N * True",
            "'N * True' is neither a name nor an expression of names: True is none" + LEGAL,
        ),
        ("cdiv(N)", "'cdiv(N)' is neither a name nor an expression of names" + LEGAL),
        ("min()", "'min()' is neither a name nor an expression of names" + LEGAL),
        ("exp(N)", "'exp(N)' is neither a name nor an expression of names" + LEGAL),
        (
            "N / 2",
            "'N / 2' is neither a name nor an expression of names"
            + LEGAL.replace(
                '"N", "N//2", "cdiv(N, 4)"', "sizes are integers: write // or cdiv(a, b)"
            ),
        ),
        ("2 + 3", "'2 + 3' names no dimension\n  help: write 5"),
        ("N // 0", "N // 0: an expression over dimensions divides by zero"),
    ],
)
def test_texts_that_are_none(text, problem):
    with pytest.raises(SpecError) as caught:
        expressions.parse(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "sizes", "problem"),
    [
        ("N - 4", {"N": 2}, "the size N - 4 is -2 where N = 2; a size is not negative"),
        (
            "N // M",
            {"N": 2, "M": 0},
            "the size N // M: 2 // 0: an expression over dimensions divides by zero",
        ),
        (
            "N * N",
            {"N": 2**40},
            "the size N * N: 1099511627776 * 1099511627776 does not fit 64 bits",
        ),
    ],
)
def test_sizes_that_are_none(text, sizes, problem):
    with pytest.raises(SpecError) as caught:
        expressions.size(text, sizes)
    assert str(caught.value) == problem
