"""`reg.array`: registers that are one value of Python, and one operand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn, cast, overload

from pyptx._source import caller
from pyptx._trace.core import aliases, refusals
from pyptx._trace.core.mistakes import NO_ARITHMETIC_OF_ARRAYS
from pyptx._trace.core.numbers import is_number
from pyptx._trace.core.values import (
    Not,
    Operand,
    Reg,
    Several,
    Value,
    integer,
    is_same,
    left_behind,
    move,
)
from pyptx.errors import LanguageError
from pyptx.types import DType


class RegArray(Several):
    """`n` registers of one type; `a[i]` is a register, `a[i] = v` one `mov`."""

    def __init__(self, registers: Sequence[Reg]) -> None:
        self._cells = tuple([each] for each in registers)

    def __repr__(self) -> str:
        return f"<{len(self)} registers .{self.dtype}>"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RegArray | Value | Not | list | tuple) or is_number(other):
            raise LanguageError(
                NO_ARITHMETIC_OF_ARRAYS,
                location=caller(),
                notes=(("help", "p = a[i] == 0   for each i in range(len(a))"),),
            )
        return NotImplemented

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise refusals.no_truth("an array of registers")

    @property
    def dtype(self) -> DType:
        return self._cells[0][0].dtype

    @property
    def count(self) -> int:
        return len(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Reg]:
        return (each for (each,) in self._cells)

    @overload
    def __getitem__(self, index: int) -> Reg: ...
    @overload
    def __getitem__(self, index: slice) -> RegArray: ...
    def __getitem__(self, index: int | slice) -> Reg | RegArray:
        if isinstance(index, slice):
            part = RegArray(())
            part._cells = self._cells[index]  # the same elements, as a part of NumPy's array has
            return part
        return self._cells[self._index(index)][0]

    def __setitem__(self, index: int, value: Operand) -> None:
        cell = self._cells[self._index(index)]
        if is_same(cell[0], value):  # `a[i] += v` has already written the register
            cell[0] = cast("Reg", value)
        else:
            told = aliases.warn_of_element(cell[0], value, cell[0].dtype)
            move(cell[0], value)
            cell[0] = left_behind(cell[0], "`=`", told=told)

    def _index(self, index: object) -> int:
        if isinstance(index, Value):
            raise LanguageError(
                "registers cannot be indexed by a register",
                location=caller(),
                notes=(("help", "keep the array in shared memory (smem.alloc) to index it"),),
            )
        if isinstance(index, slice):
            raise LanguageError(
                "the registers of an array are written one by one",
                location=caller(),
                notes=(("help", "for i in range(2): a[i] = values[i]"),),
            )
        position = integer(index)
        if position is None or not -len(self) <= position < len(self):
            what = f"index {index!r} is outside an array of {len(self)} registers"
            raise LanguageError(what, location=caller())
        return position
