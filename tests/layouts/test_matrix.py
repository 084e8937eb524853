"""Multiplicands against the manual's canonical layouts, evaluated as it writes them.

The model below knows nothing of panels: it reads a CuTe layout's shape and strides, with what a
descriptor has for LBO and SBO, and swizzles the address that comes out.
"""

import itertools

import pytest

from pyptx._layouts import Swizzle
from pyptx._layouts.matrix import LayoutError, Major, MatrixLayout, Multiplicand

MODES = {Swizzle.NONE: 1, Swizzle.B32: 2, Swizzle.B64: 4, Swizzle.B128: 8}


def canonical(matrix, mn, k):
    """The byte of an element from an instruction's start address, before it is swizzled.

    PTX ISA, "Canonical Layouts": rows of the table as (extents, strides) of M or N, and of K, in
    elements, T of which are 16 bytes.
    """
    t = 16 // matrix.layout.element_bytes
    s = MODES[matrix.layout.swizzle]
    lbo, sbo = (
        b // matrix.layout.element_bytes for b in (matrix.leading_bytes, matrix.stride_bytes)
    )
    if matrix.major is Major.K:
        rows = ((8, s * t), (None, sbo))
        along = ((t, 1), (None, lbo if s == 1 else t))
    elif s == 1:
        rows = ((t, 1), (1, t), (None, sbo))
        along = ((8, t), (None, lbo))
    else:
        rows = ((t, 1), (s, t), (None, lbo))
        along = ((8, s * t), (None, sbo))
    return (mode(rows, mn) + mode(along, k)) * matrix.layout.element_bytes


def mode(parts, index):
    total = 0
    for extent, stride in parts:
        index, here = (0, index) if extent is None else divmod(index, extent)
        total += here * stride
    return total


def swizzled(address, bits):
    """CuTe's Swizzle<bits, 4, 3>."""
    return address ^ (address >> 3 & (1 << bits) - 1 << 4)


def matrices():
    for swizzle, bytes_, major in itertools.product(Swizzle, (1, 2, 4), Major):
        for rows, span_count in ((64, 1), (32, 3)):
            columns = max(swizzle.span, 32) * span_count // bytes_
            yield Multiplicand(MatrixLayout(rows, columns, bytes_, swizzle), major)


MATRICES = list(matrices())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("matrix", MATRICES, ids=str)
def test_an_instruction_finds_each_element_where_it_is_stored(matrix):
    layout = matrix.layout
    for k in range(0, matrix.k, matrix.k_step):
        start = matrix.advance(k=k)
        for mn, inside in itertools.product(range(matrix.mn), range(matrix.k_step)):
            row, column = (mn, k + inside) if matrix.major is Major.K else (k + inside, mn)
            read = swizzled(start + canonical(matrix, mn, inside), layout.swizzle.value)
            assert read == layout.offset(row, column)


@pytest.mark.parametrize("matrix", MATRICES, ids=str)
def test_an_instruction_may_begin_at_a_later_row_or_column(matrix):
    for mn in range(0, matrix.mn, matrix.mn_step):
        start = matrix.advance(mn=mn)
        assert start == mn * matrix.mn_bytes
        first = (mn, 0) if matrix.major is Major.K else (0, mn)
        read = swizzled(start + canonical(matrix, 0, 0), matrix.layout.swizzle.value)
        assert read == matrix.layout.offset(*first)


@pytest.mark.parametrize("matrix", MATRICES, ids=str)
def test_every_byte_has_one_place(matrix):
    layout = matrix.layout
    places = {layout.offset(r, c) for r in range(layout.rows) for c in range(layout.columns)}
    assert places == set(range(0, layout.bytes, layout.element_bytes))


def test_a_panel_is_what_a_tensor_copy_of_its_width_writes():
    """A box of 64 by 64 bf16 values with a 128-byte swizzle, the second behind the first."""
    layout = MatrixLayout(64, 128, 2, Swizzle.B128)
    for box, row, column in itertools.product(range(2), range(64), range(64)):
        written = box * 64 * 128 + swizzled(row * 128 + column * 2, 3)
        assert layout.offset(row, box * 64 + column) == written


EXAMPLES = (  # the manual's: swizzle, major, element bytes, m and k of one copy, LBO, SBO
    (Swizzle.NONE, Major.K, 4, (16, 16), 256, 128),
    (Swizzle.B32, Major.K, 4, (16, 8), 16, 256),
    (Swizzle.B32, Major.MN, 2, (16, 16), 512, 256),
    (Swizzle.B128, Major.K, 2, (64, 64), 16, 1024),
    (Swizzle.B64, Major.MN, 2, (16, 64), 1024, 512),
)


@pytest.mark.parametrize(("swizzle", "major", "size", "shape", "leading", "stride"), EXAMPLES)
def test_strides_of_known_layouts(swizzle, major, size, shape, leading, stride):
    matrix = Multiplicand(MatrixLayout(*shape, size, swizzle), major)
    assert (matrix.leading_bytes, matrix.stride_bytes) == (leading, stride)


def test_the_widest_swizzle_divides_a_row():
    spans = {n: MatrixLayout.widest(8, n, 1).swizzle.span for n in (16, 32, 48, 64, 96, 128, 384)}
    assert spans == {16: 16, 32: 32, 48: 16, 64: 64, 96: 32, 128: 128, 384: 128}


@pytest.mark.parametrize(
    ("make", "message", "legal"),
    [
        (
            lambda: MatrixLayout(12, 64, 2),
            "a matrix of 12 rows: a swizzle's atom has 8",
            "a multiple of 8",
        ),
        (
            lambda: MatrixLayout(8, 48, 2, Swizzle.B64),
            "rows of 96 bytes do not divide into panels of 64 bytes (Swizzle.B64)",
            "Swizzle.NONE Swizzle.B32",
        ),
        (
            lambda: MatrixLayout.widest(8, 3, 2),
            "rows of 6 bytes do not divide into panels of 16 bytes (Swizzle.NONE)",
            "rows of a multiple of 16 bytes",
        ),
        (
            lambda: Multiplicand(MatrixLayout(8, 64, 2)).advance(k=8),
            "an instruction cannot begin at k=8 of 64",
            "multiples of 16 below 64",
        ),
        (
            lambda: Multiplicand(MatrixLayout(16, 64, 2, Swizzle.B64), Major.MN).advance(mn=16),
            "an instruction cannot begin at mn=16 of 64",
            "multiples of 32 below 64",
        ),
    ],
)
def test_what_breaks_a_rule_is_an_error(make, message, legal):
    with pytest.raises(LayoutError) as caught:
        make()
    assert (str(caught.value), caught.value.legal) == (message, legal)
