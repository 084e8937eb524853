"""What is written on a tensor in global memory: `X[i, j]`, `X.load`, `X.store`, and parts of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NoReturn, SupportsIndex, cast, overload

from pyptx._isa.given import Raw
from pyptx._operands import Address
from pyptx._source import caller
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.elements import Elements
from pyptx._trace.core.mistakes import NO_ARITHMETIC
from pyptx._trace.core.numbers import is_number
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Not, Reg, Value
from pyptx.errors import LanguageError
from pyptx.types import DType


def refuse_value(other: object) -> None:
    """Raise LanguageError where memory is compared with a register or a number.

    Elements have no values while the kernel is traced; `==` of two tiles says whether they are one.
    """
    if isinstance(other, Value | Not) or is_number(other):
        raise LanguageError(
            NO_ARITHMETIC,
            location=caller(),
            notes=(("help", "p = X[i] == 0   for an index i that the thread has"),),
        )


class Indexed(ABC):
    """Elements by index: a tensor of the kernel, a variable, or a part of one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        refuse_value(other)
        return self is other

    __hash__ = object.__hash__

    @abstractmethod
    def _elements(self, what: str) -> Elements:
        """How elements are addressed. Raises LanguageError, for `what`, outside of the trace."""

    def __getitem__(self, indices: object) -> Reg:
        """`X[i, j]`: the element at these indices, in a new register of the Tile's type.

        One `ld.global`, and the arithmetic of `address`. An index is an int or an integer register,
        and there is one for each dimension. Raises LanguageError for an int outside of the shape.
        """
        found = self._elements("X[i]").load(current("an element"), _listed(indices))
        assert isinstance(found, Reg)
        return found

    def __setitem__(self, indices: object, value: object) -> None:
        """`Y[i, j] = v`: store a register of the Tile's type, or a number, to an element.

        One `st.global`, and the arithmetic of `address`; one `mov` more for a number.
        """
        self._elements("X[i] = v").store(current("an element"), _listed(indices), value)

    @overload
    def load(
        self,
        *indices: SupportsIndex | Value,
        vector: None = None,
        dtype: DType | None = None,
        cache: str = "",
        pred: Reg | Not | None = None,
        other: object = None,
    ) -> Reg: ...
    @overload
    def load(
        self,
        *indices: SupportsIndex | Value,
        vector: int,
        dtype: DType | None = None,
        cache: str = "",
        pred: Reg | Not | None = None,
        other: object = None,
    ) -> RegArray: ...
    def load(
        self,
        *indices: SupportsIndex | Value,
        vector: int | None = None,
        dtype: DType | None = None,
        cache: str = "",
        pred: Reg | Not | None = None,
        other: object = None,
    ) -> Reg | RegArray:
        """The element at these indices, or `vector` values from it on along the last axis.

        One `ld.global`, and the arithmetic of `address`.

        vector  2, 4 (8 on sm_100 and later): a RegArray of as many; the rows have to be aligned
        dtype   a packed type of the elements: `vector=4, dtype=bf16x2` are eight of bf16
        cache   what PTX has after `.global`: "nc", "cs", "nc.L1::no_allocate"
        pred    only threads where it holds load; the others have `other`, one `mov` each, or
                registers without a value
        """
        return self._elements("X.load").load(
            current("an element"),
            indices,
            vector=vector,
            dtype=dtype,
            cache=cache,
            pred=pred,
            other=other,
        )

    def store(
        self,
        *indices_and_values: object,
        dtype: DType | None = None,
        cache: str = "",
        pred: Reg | Not | None = None,
    ) -> None:
        """`Y.store(i, j, value)`: store a value, or a list of 2, 4 (8) along the last axis.

        One `st.global`, and the arithmetic of `address`; one `mov` more for each number. `dtype`,
        `cache` and `pred` are those of `load`.
        """
        *indices, values = indices_and_values or ((),)
        self._elements("X.store").store(
            current("an element"), indices, values, dtype=dtype, cache=cache, pred=pred
        )

    def address(self, *indices: SupportsIndex | Value) -> Address:
        """The address operand of an element, for any instruction that takes one in `.global`.

        At most two instructions for each index in a register: `mul.wide` and `add`, or one `mad.lo`
        of inner indices, or `cvt` and `mad.lo` where the size of an inner dimension is known only
        at a launch. One more, `mov`, for a special register. A kernel that names elements of a
        tensor begins with two instructions that load its address.
        """
        return self._elements("X.address").address(current("an element"), indices)

    def at(self, *indices: SupportsIndex | Value) -> Part:
        """What begins at an element: `X.at(i, j)[0, 4]` is `X[i, j + 4]`.

        The arithmetic of `address` now, and one `add` for an offset; then known indices cost none.
        PTX's integers wrap around, so `j + 4` has to be added in 32 bits and multiplied anew, and
        `4` alone is an offset of the address.
        """
        trace = current("an element")
        return Part(trace, self._elements("X.at").at(trace, indices))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Part(Indexed):
    """A tensor from an element on. Known indices are distances: any int, also a negative one."""

    trace: Trace
    elements: Elements

    def __repr__(self) -> str:
        return self.elements.name

    @property
    def _noun(self) -> str:
        return "a tensor" if self.elements.space == "global" else "a part of a variable"

    def _elements(self, what: str) -> Elements:
        if current(what) is not self.trace:
            raise LanguageError(
                f"{self.elements.name} belongs to another kernel, or to another trace of this one",
                location=caller(),
            )
        return self.elements

    def __iter__(self) -> NoReturn:
        raise LanguageError(
            f"{self} is {self._noun} in {self.elements.memory}, which is not iterable",
            location=caller(),
            notes=(("help", f"for i in ptx.range_(n): ... {self}[i]"),),
        )

    def __ptx_operand__(self, trace: Trace) -> Raw:
        del trace
        zeros = ", ".join("0" for _ in self.elements.shape)
        raise LanguageError(
            f"{self} is {self._noun}, not an operand",
            location=caller(),
            notes=(("help", f"{self}.address({zeros}) is the address of its first element"),),
        )


def _listed(indices: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", indices) if isinstance(indices, tuple) else (indices,)
