"""Swizzles against the tables of the PTX manual, "Swizzling Modes"."""

import numpy as np
import pytest

from pyptx._layouts import Swizzle

# Which 16-byte chunk stands at each place of the first lines of a pattern.
TABLES = {
    Swizzle.B32: ["01234567", "10325476"],
    Swizzle.B64: ["01234567", "10325476", "23016745", "32107654"],
    Swizzle.B128: [
        "01234567",
        "10325476",
        "23016745",
        "32107654",
        "45670123",
        "54761032",
        "67452301",
        "76543210",
    ],
}


@pytest.mark.parametrize("mode", TABLES, ids=lambda mode: mode.name)
def test_the_chunks_of_a_line_stand_where_the_manual_s_table_has_them(mode):
    table = TABLES[mode]
    assert mode.atom_bytes == 128 * len(table)
    for line in range(3 * len(table)):
        row = table[line % len(table)]
        for chunk in range(8):
            place = row.index(str(chunk))
            assert mode.apply(128 * line + 16 * chunk + 5) == 128 * line + 16 * place + 5


@pytest.mark.parametrize("mode", Swizzle, ids=lambda mode: mode.name)
def test_a_swizzle_undoes_itself_inside_its_span_and_repeats_after_its_atom(mode):
    offsets = np.arange(4096)
    moved = mode.apply(offsets)
    assert (mode.apply(moved) == offsets).all()
    assert (moved // mode.span == offsets // mode.span).all()
    assert (moved[mode.atom_bytes :] == moved[: -mode.atom_bytes] + mode.atom_bytes).all()
    shorter = mode.atom_bytes // 2
    repeats_sooner = (moved[shorter:] == moved[:-shorter] + shorter).all()
    assert repeats_sooner == (mode is Swizzle.NONE)


def test_a_swizzle_is_found_by_its_span():
    assert [Swizzle.of_span(mode.span) for mode in Swizzle] == list(Swizzle)
    with pytest.raises(ValueError) as caught:
        Swizzle.of_span(48)
    assert str(caught.value) == (
        "a span of 48 bytes: spans are 16 (no swizzle), 32, 64 and 128 bytes"
    )
