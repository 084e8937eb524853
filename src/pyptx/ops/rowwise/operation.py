"""What a row-wise operation is: its arrays, what is reduced over a row, and what is written.

An operation is a class with formulas on registers. It does not say how rows come and go; the
strategies of this package do, and know no formula.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, Literal, TypeAlias, TypeVar

from pyptx import Reg, ptx, reg
from pyptx._source import call_site
from pyptx.errors import LanguageError, UnknownNameError
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.statistics import Statistic, Term
from pyptx.types import DType, s32

_T = TypeVar("_T")
Span: TypeAlias = Literal["row", "block"]
Per: TypeAlias = Literal["element", "column", "row", "block"]
ELEMENT: Final = "element"
COLUMN: Final = "column"
ROW: Final = "row"
BLOCK: Final = "block"

BLOCK_COLUMNS: Final = 128
"""Columns of a block; the last block of a row may have fewer."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An array of an operation; `name` is what formulas call its value.

    per      "element": one number for each element, an array of shape (rows, columns);
             "column": one for each column (columns,), the same for all rows;
             "row": one for each row (rows,);
             "block": one for each `BLOCK_COLUMNS` columns of a row, which are only written
    dtype    bf16, f16, f32 or f64; s32 too of one for each row; outputs per element e4m3, e5m2
             and s8 too
    """

    name: str
    dtype: DType
    per: Per = ELEMENT
    pad: float = 0.0
    """What elements are that a thread does not have: 0, or minus infinity."""

    def register(self, compute: DType) -> DType:
        """The type of registers that hold its values: integers are not converted."""
        return self.dtype if self.dtype is s32 else compute


@dataclass(frozen=True, slots=True)
class Pick:
    """One element of each row, loaded by its column: `row.name` of `factors`.

    of    the name of an input per element
    at    the name of an input per row, s32: the column. Where it is none of the row's, nothing is
          loaded, and the element is 0.
    """

    name: str
    of: str
    at: str


class Scalars(SimpleNamespace):
    """A number of each operand per row, by its name, and of each `Pick`."""


class Vectors:
    """A thread's vectors of several operands at one place, unpacked when a formula asks for them.

    As loaded they take fewer registers, so they may be kept like that and unpacked again. `column`
    gives the column of their first element, u32.
    """

    def __init__(
        self,
        operands: Sequence[Operand],
        unpack: Sequence[Callable[[], list[Reg]]],
        row: Scalars | None = None,
        column: Callable[[], Reg] | None = None,
    ) -> None:
        self.row = row
        """The inputs per row, where they are known."""
        self._column = column
        self._size = 1
        self._distances: dict[int, tuple[Reg, Reg]] = {}
        self._made: dict[Hashable, Any] = {}
        self._unpack = {o.name: each for o, each in zip(operands, unpack, strict=True)}
        self._unpacked: dict[str, list[Reg]] = {}

    def of(self, name: str) -> list[Reg]:
        """The elements of an operand, in registers of the type to compute with."""
        if name not in self._unpacked:
            if name not in self._unpack:
                raise UnknownNameError(
                    f"v.{name} is no input per element or column",
                    location=call_site(),
                    notes=(("names", " ".join(self._unpack)),),
                )
            self._unpacked[name] = self._unpack[name]()
        return self._unpacked[name]

    def first(self) -> Reg:
        """The column of the first element, u32; a multiple of gcd(columns, size of the vectors)."""
        assert self._column is not None, "columns are not known here"
        return self._column()

    def once(self, key: Hashable, make: Callable[[Reg, int], _T]) -> _T:
        """What `make` gives of the first column and the number of elements. Made once."""
        if key not in self._made:
            self._made[key] = make(self.first(), self._size)
        return self._made[key]

    def distance(self, column: Reg) -> Reg:
        """How many columns after the vectors' first one a column is, s32. Once for all elements."""
        if id(column) not in self._distances:  # registers that are compared are an instruction
            distance = ptx.inst.sub.s32(column, reg.from_(self.first(), s32))
            self._distances[id(column)] = column, distance
        return self._distances[id(column)][1]

    def elements(self, size: int) -> list[Values]:
        """The first `size` elements, as formulas take them."""
        self._size = size
        return [Values(self, i) for i in range(size)]


class Values:
    """An element of each operand, by its name: `v.x` is a register of the type to compute with.

    `v.row` has the inputs per row.
    """

    def __init__(self, vectors: Vectors, index: int) -> None:
        self._vectors = vectors
        self._index = index

    @property
    def column(self) -> Reg:
        """The element's column, u32."""
        return self._vectors.first() + self._index

    def of_vector(self, key: Hashable, make: Callable[[Reg, int], Sequence[_T]]) -> _T:
        """The element's entry of what `make` gives for all elements of its vector, made once.

        `make` takes the column of the first one, u32, and how many there are: neighbours. The
        column is a multiple of gcd(columns of a row, their number). `key` is one for each `make`.
        """
        return self._vectors.once(key, make)[self._index]

    @property
    def row(self) -> Scalars:
        """The inputs per row, by name."""
        if self._vectors.row is None:
            raise LanguageError(
                "v.row has no inputs per row here",
                location=call_site(),
                notes=(("help", "term_reads_row = True, if term needs them"),),
            )
        return self._vectors.row

    def is_in(self, column: Reg) -> Reg:
        """Whether the element is in a column, s32: a predicate."""
        return self._vectors.distance(column) == self._index

    def is_up_to(self, column: Reg) -> Reg:
        """Whether the element is in that column or before it: a predicate.

        The column is at least the row's length minus 2**31.
        """
        return self._vectors.distance(column) >= self._index

    def __getattr__(self, name: str) -> Reg:
        return self._vectors.of(name)[self._index]


@dataclass(frozen=True)
class RowOp(ABC):  # most operations leave some formulas out
    """A row-wise operation on rows of `columns` elements; subclasses give its formulas.

    Formulas take a `Math`, whose methods append instructions of the type to compute with, and
    `Values`: `v.x` is the element of the operand x. `row.r` is the row's number of the operand r.
    """

    columns: int

    # ---- what a subclass says --------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What kernels are called; the way of moving rows is appended."""
        raise NotImplementedError

    @property
    def compute(self) -> DType:
        """f32 or f64: what formulas compute with."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """What is read, in the order of the kernel's parameters."""
        raise NotImplementedError

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """What is written. One for each column is a sum over rows, in the type `compute`."""
        raise NotImplementedError

    @property
    def statistic(self) -> Statistic | None:
        """What is reduced over a row; None where elements need nothing of their row."""
        return None

    @property
    def is_light(self) -> bool:
        """Whether formulas take so few registers that kernels may be kept to those of the norm."""
        return False

    @property
    def term_reads_row(self) -> bool:
        """Whether `term` needs the inputs per row, as `v.row`."""
        return False

    @property
    def zeros_add_nothing(self) -> bool:
        """Whether `accumulate` adds zeros for elements of zeros in a row whose factors are made of
        zeros alone: its inputs per row, and its statistic if that is `Sums`.

        Kernels of a few rows then add a row that is not there instead of asking whether it is.
        """
        return False

    @property
    def span(self) -> Span | None:
        """Over what `measure` is reduced, between `factors` and `result`; None for nothing.

        Such an operation has no sums over rows, and `strategies.two_reductions` moves its rows.
        """
        return None

    @property
    def picks(self) -> tuple[Pick, ...]:
        """Elements that are read by their column; `factors` has them, `term` does not."""
        return ()

    def term(self, m: Math, v: Values) -> Term:
        """What an element adds to the statistic."""
        raise NotImplementedError

    def factors(self, m: Math, total: Sequence[Reg], row: Any) -> Any:
        """What all elements of a row need, once a row: from its statistic and its scalars."""
        del m, total
        return row

    def measure(self, m: Math, v: Values, f: Any) -> Reg:
        """What the largest is wanted of: a number that is not negative, or NaN."""
        raise NotImplementedError

    def measured(self, m: Math, largest: Reg, f: Any) -> Any:
        """What `result` and `row_result` take, from the largest of a row or block."""
        raise NotImplementedError

    def result(self, m: Math, v: Values, f: Any) -> tuple[Reg, ...]:
        """An element of each output per element, in order; `()` where there is no such output."""
        del m, v, f
        return ()

    def row_result(self, m: Math, f: Any) -> tuple[Reg, ...]:
        """A number for each output per row, or per block if `span` is that, in order."""
        del m, f
        return ()

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Any) -> None:
        """Add an element to the sums of its column, one register for each output per column."""
        raise NotImplementedError

    # ---- what strategies ask ---------------------------------------------------------------------

    def given(self, per: Per) -> tuple[Operand, ...]:
        """The inputs that there are one of for each element, column or row."""
        return tuple(operand for operand in self.inputs if operand.per == per)

    def written(self, per: Per) -> tuple[Operand, ...]:
        """The outputs, likewise."""
        return tuple(operand for operand in self.outputs if operand.per == per)
