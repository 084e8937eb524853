"""What becomes of a sum of products before it is an element of D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from typing import Any, Final, Literal, TypeAlias

from pyptx import LanguageError, Reg, ptx
from pyptx._source import SourceLocation
from pyptx.types import DType, f16, f32

Activation: TypeAlias = Literal["relu", "silu", "gelu", "gelu_tanh"]
ACTIVATIONS: Final[dict[str, Callable[[Reg], Reg]]] = {
    "relu": lambda x: ptx.inst.max.NaN.f32(x, 0.0),
    "silu": ptx.math.silu,
    "gelu": ptx.math.gelu,
    "gelu_tanh": ptx.math.gelu_tanh,
}
"""By their names in `jax.nn`, and `gelu_tanh` for `gelu` with `approximate=True`."""
KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class Epilogue:
    """A function of f32 registers: a sum of A B, and elements of further arrays at its place.

    function   `function(sum, *of_rows, *of_columns, *of_elements)` gives the element of D, or a
               tuple of it and those of further results. With `paired`, two sums come first
    rows       types of arrays that have a number for each row of D
    columns    types of arrays that have one for each column
    elements   types of arrays of D's shape
    results    types of further results, all of D's shape
    paired     whether two matrices B are multiplied by A
    amax       whether the function also gives, as the last of its tuple, the number whose largest
               absolute value in each row of D is a result, f32 as its bits, u32
    linear     whether every result is a multiple of its sum, so that parts of a sum may be
               multiplied before they are added up
    """

    function: Callable[..., Any]
    rows: tuple[DType, ...] = ()
    columns: tuple[DType, ...] = ()
    elements: tuple[DType, ...] = ()
    results: tuple[DType, ...] = ()
    paired: bool = False
    linear: bool = False
    amax: bool = False

    @property
    def operands(self) -> tuple[DType, ...]:
        """Types of all further arrays."""
        return (*self.rows, *self.columns, *self.elements)

    @property
    def factors(self) -> int:
        """Matrices that A is multiplied by."""
        return 2 if self.paired else 1

    def values(self, sums: Sequence[Reg], operands: Sequence[Reg]) -> list[Reg]:
        """The elements of D and of further results, and the number for `amax`.

        Raises LanguageError for other values, and for a function of other parameters.
        """
        try:
            found = self.function(*sums, *operands)
        except TypeError:
            self._check_parameters(len(sums) + len(operands))
            raise
        several: tuple[Any, ...] = found if isinstance(found, tuple) else (found,)  # pyright: ignore[reportUnknownVariableType]
        wanted = 1 + len(self.results) + self.amax
        if len(several) == wanted and all(isinstance(v, Reg) and v.dtype is f32 for v in several):
            return list(several)
        name = getattr(self.function, "__name__", "the epilogue")
        raise LanguageError(
            f"{name} gave {found!r}; an epilogue gives {_counted(wanted)}",
            location=begin(self.function),
            notes=(("help", "ptx.to_f32(value) widens; return d or return d, more"),),
        )

    def _check_parameters(self, count: int) -> None:
        """Raises LanguageError for a function that does not take so many registers."""
        try:
            parameters = signature(self.function)
        except (TypeError, ValueError):
            return  # a function that is not written in Python
        try:
            parameters.bind(*range(count))
        except TypeError:
            name = getattr(self.function, "__name__", "the epilogue")
            groups = (
                ("of rows", self.rows), ("of columns", self.columns), ("of elements", self.elements)
            )  # fmt: skip
            sums = "one sum" if self.factors == 1 else "two sums"
            given = [f"{len(types)} {kind}" for kind, types in groups if types]
            raise LanguageError(
                f"{name}{parameters} cannot take its registers: {', '.join((sums, *given))}",
                location=begin(self.function),
                notes=(("legal", "epilogue(*sums, *of_rows, *of_columns, *of_elements)"),),
            ) from None


def begin(function: Callable[..., Any]) -> SourceLocation | None:
    """The line of a function's `def`."""
    code = getattr(function, "__code__", None)
    return None if code is None else SourceLocation(code.co_filename, code.co_firstlineno)


def _counted(count: int) -> str:
    return "one f32 register" if count == 1 else f"a tuple of {count} f32 registers"


def _scaled(total: Reg, row: Reg, column: Reg) -> Reg:
    return ptx.inst.mul.rn.f32(ptx.inst.mul.rn.f32(total, row), column)


SCALED: Final = Epilogue(_scaled, rows=(f32,), columns=(f32,), linear=True)
"""The sum times a number of its row and one of its column."""


@dataclass(frozen=True, slots=True)
class Layer:
    """activation(sum * of_row * of_column + bias) + residual: each part may be left out.

    With `paired`, activation(sum) * other sum, each with the numbers of its own columns. With
    `quantized`, D is that times a number of its row; `amax` is of what it was before.
    """

    scaled: bool = False
    bias: DType | None = None
    activation: Activation | None = None
    residual: DType | None = None
    paired: bool = False
    quantized: bool = False
    amax: bool = False

    def __call__(self, total: Reg, *others: Reg) -> Reg | tuple[Reg, Reg]:
        """The element of D, and what it was before it was multiplied for its type."""
        left = list(others)
        other = left.pop(0) if self.paired else None
        row = left.pop(0) if self.scaled else None
        last = left.pop(0) if self.quantized else None
        if row is not None:
            total = _scaled(total, row, left.pop(0))
            other = None if other is None else _scaled(other, row, left.pop(0))
        if self.bias is not None:
            total = ptx.inst.add.rn.f32(total, left.pop(0))
        if self.activation is not None:
            total = ACTIVATIONS[self.activation](total)
        if other is not None:
            total = ptx.inst.mul.rn.f32(total, other)
        if self.residual is not None:
            total = ptx.inst.add.rn.f32(total, left.pop(0))
        element = total if last is None else ptx.inst.mul.rn.f32(total, last)
        return (element, total) if self.amax else element

    @property
    def epilogue(self) -> Epilogue:
        """Its arrays, in the order: rows' numbers and those of D's, columns' numbers of each
        matrix B, bias, residual."""
        scales = (f32,) if self.scaled else ()
        return Epilogue(
            self,
            rows=(*scales, *_one(f32 if self.quantized else None)),
            columns=(*scales * (2 if self.paired else 1), *_one(self.bias)),
            elements=_one(self.residual),
            paired=self.paired,
            linear=replace(self, scaled=False) == Layer(),
            amax=self.amax,
        )


def _one(dtype: DType | None) -> tuple[DType, ...]:
    return () if dtype is None else (dtype,)


def kept_type(out: DType) -> DType:
    """The type that sums are kept in for the derivative of a result of this type.

    f32 beside f16: a sum may be beyond the range of f16 where the result is not.
    """
    return f32 if out is f16 else out


def cotangent_type(results: Sequence[DType], factor: DType, *, bounded: bool) -> DType:
    """What the cotangents of sums are rounded to before they are multiplied by factors of a type.

    The type of the results, if it is one of 16 bits and the factors have no more. f32 where they
    may be beyond the range of f16, unless they are `bounded`.
    """
    (first, *others) = results
    beyond = first is f16 and not bounded
    same = all(dtype is first for dtype in others)
    return f32 if beyond or factor is f32 or not same else first


@lru_cache(KEPT)
def with_sums(epilogue: Epilogue, dtype: DType) -> Epilogue:
    """The same with the sums as further results, which its derivative is computed from."""

    def keeping(*registers: Reg) -> tuple[Reg, ...]:
        sums, operands = registers[: epilogue.factors], registers[epilogue.factors :]
        return (*epilogue.values(sums, operands), *sums)

    keeping.__name__ = getattr(epilogue.function, "__name__", "keeping")
    results = (*epilogue.results, *(dtype,) * epilogue.factors)
    return replace(epilogue, function=keeping, results=results)
