"""Tiles and scalars: the shapes that a kernel is written for.

A dimension of a `Tile` is an integer or a name. A name stands for whatever the arrays of a call
have there, and means the same size everywhere in one call.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, SupportsFloat, SupportsIndex, TypeAlias, TypeVar, cast

from pyptx import _expressions as expressions
from pyptx._calls import binding, constructing
from pyptx._dims import as_extent, known_names
from pyptx._isa.constants import BadConstantError, exact_bits
from pyptx._layouts import Im2col, L2Promotion, Layout, MapError, OobFill, TensorMap
from pyptx._source import caller
from pyptx.errors import PtxError, SpecError
from pyptx.types import BY_NUMPY, DType

Shape: TypeAlias = tuple[int, ...]
Size: TypeAlias = "int | Shape"
"""What a name is bound to: a size, or the sizes of the axes of a starred dimension."""

Number: TypeAlias = "SupportsIndex | SupportsFloat"
"""A Python or NumPy number."""

_Option = TypeVar("_Option", bound=Enum)

Box: TypeAlias = "Sequence[int | str]"
"""The elements that a copy spans along each axis: numbers, names, and expressions of names."""


@dataclass(frozen=True, slots=True, init=False)
class Tile:
    """A tensor parameter of a kernel: its dimensions, then its type: `Tile("B", "N", f32)`.

    A dimension is an int, a name (a Python identifier) or an expression of names, `"N//2"` or
    `"(N+127)//128"`, with `+ - * //`, `cdiv`, `min` and `max`. A name may be a compile-time keyword
    of the kernel and has its value. A dimension of an input that is an expression is checked
    against the array, so other inputs must bind its names. The first dimension may be starred,
    `"*B"`: any number of axes, including none, which a kernel with `parallel=("B",)` sees as one
    axis, their product. `sum_over` names the parallel dimensions that an output is a sum over.

    The result of a sum with `accumulate` has the Tile's type. If several devices hold partial sums,
    these are added in the type `accumulate` and rounded after that. The kernel is traced for both
    cases: its tensor has the type `accumulate` if it writes a partial sum, and the Tile's type if
    it writes the whole sum.

    A kernel writes every element of an output, and the emulator reports the first that it does not.
    In an output with `partial=True`, elements that the kernel does not write are unspecified. In an
    output with `init=`, every element has that value before the kernel starts, so elements that the
    kernel does not write keep it, and atomics may add to it. The Tile's type must represent the
    value exactly; for a sum it must be 0.

    The remaining options are for the tensor map of the tensor, which the body gets from `tma_desc`:

    layout               the layout of a box in shared memory, `Layout.ROW` or a swizzle; it may
                         follow the type: `Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(64, 64))`
    tma_box              the size of the box along each axis, in elements, in the order of the
                         dimensions; a string is a dimension, a compile-time keyword of the kernel,
                         or an expression of these
    tma_element_strides  the step between elements along each axis, 1 to 8
    tma_l2_promotion     the smallest unit that a copy fetches into L2
    tma_oob_fill         the fill value of a load outside the tensor
    tma_im2col           an `Im2col` instead of a box, for images with the axes N, (D, (H,)) W, C

    Raises SpecError for anything else.
    """

    dims: tuple[int | str, ...]
    dtype: DType
    sum_over: tuple[str, ...]
    accumulate: DType | None
    """The type of parts of the sum; None where it is that of the tile."""
    partial: bool
    init: int | float | None
    """What every element is before the kernel starts; None where it writes all of them."""
    layout: Layout
    tma_box: tuple[int | str, ...] | None
    tma_element_strides: tuple[int, ...] | None
    tma_l2_promotion: L2Promotion
    tma_oob_fill: OobFill
    tma_im2col: Im2col | None

    @binding(SpecError, "Tile")
    def __init__(
        self,
        *dims_and_dtype: int | str | DType | Layout,
        sum_over: str | Sequence[str] | None = None,
        accumulate: DType | None = None,
        partial: bool = False,
        init: Number | None = None,
        layout: Layout | None = None,
        tma_box: Box | None = None,
        tma_element_strides: Sequence[int] | None = None,
        tma_l2_promotion: L2Promotion = L2Promotion.NONE,
        tma_oob_fill: OobFill = OobFill.ZEROS,
        tma_im2col: Im2col | None = None,
    ) -> None:
        given, layout = _layout(dims_and_dtype, _option("layout", layout, Layout))
        l2_promotion = _option("tma_l2_promotion", tma_l2_promotion, L2Promotion)
        oob_fill = _option("tma_oob_fill", tma_oob_fill, OobFill)
        im2col = _im2col(tma_im2col)
        try:
            dims, dtype = _tile(given)
            sums = _sum_over(sum_over, dims)
            accumulated = _accumulate(accumulate, dtype, sums)
            value = _init(init, dtype, sums, partial=partial)
        except SpecError as error:
            raise error.at(caller()) from None
        box = None if tma_box is None else _sequence("tma_box", tma_box)
        strides = tma_element_strides
        if strides is not None:
            strides = _whole("tma_element_strides", _sequence("tma_element_strides", strides))
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "sum_over", sums)
        object.__setattr__(self, "accumulate", accumulated)
        object.__setattr__(self, "partial", partial)
        object.__setattr__(self, "init", value)
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "tma_box", box)
        object.__setattr__(self, "tma_element_strides", strides)
        object.__setattr__(self, "tma_l2_promotion", l2_promotion or L2Promotion.NONE)
        object.__setattr__(self, "tma_oob_fill", oob_fill or OobFill.ZEROS)
        object.__setattr__(self, "tma_im2col", im2col)
        try:
            self._check_map()
        except SpecError as error:
            raise error.at(caller()) from None

    def __repr__(self) -> str:
        dims = (f'"{dim}"' if isinstance(dim, str) else str(dim) for dim in self.dims)
        written = (self.written,) if self.written else ()
        parts = (*dims, repr(self.dtype), *self._sum_over_text(), *written, *self._map_text())
        return f"Tile({', '.join(parts)})"

    def _sum_over_text(self) -> tuple[str, ...]:
        names = [f'"{name}"' for name in self.sum_over]
        sums = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return (
            *((f"sum_over={sums}",) if names else ()),
            *((f"accumulate={self.accumulate!r}",) if self.accumulate is not None else ()),
        )

    def _map_text(self) -> Iterator[str]:
        if self.layout is not Layout.ROW:
            yield f"layout={self.layout!r}"
        if self.tma_box is not None:
            yield f"tma_box={_sizes_text(self.tma_box)}"
        if self.tma_element_strides is not None:
            yield f"tma_element_strides={self.tma_element_strides!r}"
        if self.tma_l2_promotion is not L2Promotion.NONE:
            yield f"tma_l2_promotion={self.tma_l2_promotion!r}"
        if self.tma_oob_fill is not OobFill.ZEROS:
            yield f"tma_oob_fill={self.tma_oob_fill!r}"
        if self.tma_im2col is not None:
            yield f"tma_im2col={self.tma_im2col!r}"

    def _check_map(self) -> None:
        """Check what is known of the tensor map before any dimension has a size."""
        box = self.tma_box
        if self.tma_im2col is not None:
            if box is not None:
                raise SpecError("a Tile has tma_box= or tma_im2col=, not both")
            self.tensor_map({})
        if box is None:
            return
        for size in box:
            if isinstance(size, str):
                expressions.parse(size)
        if len(box) != len(self.dims):
            raise _rank_error("tma_box", box, len(self.dims))
        # Any size that breaks no rule stands for one that is not known: a line, or one element.
        line = self.layout.swizzle.span // self.dtype.bytes
        assumed = [
            size if not isinstance(size, str) else line if axis == len(box) - 1 else 1
            for axis, size in enumerate(box)
        ]
        self.tensor_map({}, assumed)

    def tensor_map(
        self,
        sizes: Mapping[str, object],
        box: Box | None = None,
        *,
        layout: Layout | None = None,
        element_strides: Sequence[int] | None = None,
        l2_promotion: L2Promotion | None = None,
        oob_fill: OobFill | None = None,
        im2col: Im2col | None = None,
        split: int | None = None,
    ) -> TensorMap:
        """The tensor map of this tile where its dimensions have these sizes.

        What is given stands for what the Tile says. Raises SpecError for a rule that is broken.
        """
        rank = len(self.dims) + (split is not None)
        if split is not None and im2col is None and (box is None or len(box) != rank):
            raise _no_box_of_groups(box, rank)
        if im2col is None and box is None:
            im2col = self.tma_im2col
        if im2col is not None:
            spans: tuple[int, ...] = (im2col.pixels, im2col.channels)
        elif box is not None:
            spans = _box_sizes(box, rank, sizes, "box")
        elif self.tma_box is not None:
            spans = _box_sizes(self.tma_box, rank, sizes, "tma_box")
        else:
            raise SpecError(
                f"{self!r} says no box, which a tensor map needs",
                notes=(("help", f"Tile(..., tma_box={(16,) * len(self.dims)!r})"),),
            )
        strides = self.tma_element_strides if element_strides is None else element_strides
        found = TensorMap(
            self.dtype,
            spans,
            (1,) * rank if strides is None else tuple(strides),
            self.layout if layout is None else layout,
            self.tma_l2_promotion if l2_promotion is None else l2_promotion,
            self.tma_oob_fill if oob_fill is None else oob_fill,
            im2col,
            split,
        )
        try:
            found.check()
        except MapError as error:
            raise SpecError(error.problem, notes=advice(error)) from None
        return found

    @classmethod
    def wgmma_a(
        cls,
        m: int | str,
        k: int | str,
        dtype: DType,
        *,
        tile_m: int | None = None,
        tile_k: int | None = None,
    ) -> Tile:
        """The left factor of `wgmma` in global memory, `(m, k)`, whose boxes are K-major.

        A box has `tile_m` rows of `tile_k` elements, or of 128 bytes where these are more, so that
        several boxes make a stage. The layout is swizzled in spans of a row: 128, 64 or 32 bytes,
        and `Layout.ROW` for 16. The sizes of a tile are those of the matrix where these are numbers
        and the others are left out. Raises SpecError.
        """
        return _multiplicand((m, k), dtype, ("tile_m", tile_m), ("tile_k", tile_k))

    @classmethod
    def wgmma_b(
        cls,
        k: int | str,
        n: int | str,
        dtype: DType,
        *,
        tile_k: int | None = None,
        tile_n: int | None = None,
    ) -> Tile:
        """The right factor of `wgmma` in global memory, `(k, n)`, whose boxes are MN-major.

        As `wgmma_a`: a box has `tile_k` rows of `tile_n` elements, or of 128 bytes. Raises
        SpecError.
        """
        return _multiplicand((k, n), dtype, ("tile_k", tile_k), ("tile_n", tile_n))

    @property
    def part(self) -> Tile:
        """The tile of one device's part of the sum."""
        return self.like(self.accumulate or self.dtype, sum_over=self.sum_over)

    @property
    def complete(self) -> bool:
        """Whether the kernel writes every element."""
        return not self.partial and self.init is None

    @property
    def written(self) -> str:
        """What it says of elements that the kernel does not write, "" where there are none."""
        if self.partial:
            return "partial=True"
        return "" if self.init is None else f"init={self.init!r}"

    def initial(self, dtype: DType) -> bytes | None:
        """The bytes of `init` in a type, None without."""
        if self.init is None:
            return None
        return exact_bits(self.init, dtype).to_bytes(dtype.bytes, "little")

    def like(
        self, dtype: DType, *, sum_over: tuple[str, ...], accumulate: DType | None = None
    ) -> Tile:
        """A Tile that differs in its type and its sum; `init` stays where that can have it."""
        return Tile(
            *self.dims,
            dtype,
            sum_over=sum_over,
            accumulate=accumulate,
            partial=self.partial,
            init=None if sum_over and self.init else self.init,
            layout=self.layout,
            tma_box=self.tma_box,
            tma_element_strides=self.tma_element_strides,
            tma_l2_promotion=self.tma_l2_promotion,
            tma_oob_fill=self.tma_oob_fill,
            tma_im2col=self.tma_im2col,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions that are names, without stars, in order, each once."""
        names = (unstarred(dim) for dim in self.dims if isinstance(dim, str))
        return tuple(dict.fromkeys(name for name in names if name.isidentifier()))

    @property
    def computed(self) -> tuple[str, ...]:
        """The dimensions that are expressions of names, in order, each once."""
        named = (unstarred(dim) for dim in self.dims if isinstance(dim, str))
        return tuple(dict.fromkeys(dim for dim in named if not dim.isidentifier()))

    @property
    def uses(self) -> tuple[str, ...]:
        """All names that its dimensions have, those in expressions among them."""
        inside = (name for dim in self.computed for name in expressions.names(dim))
        return tuple(dict.fromkeys((*self.names, *inside)))

    @property
    def starred(self) -> str | None:
        """The name of the starred dimension, if there is one."""
        first = self.dims[0] if self.dims else 0
        return first[1:] if isinstance(first, str) and first.startswith("*") else None

    def shape(self, dims: Mapping[str, Size]) -> Shape:
        """The shape where the names have these sizes. Raises SpecError for a missing one."""
        missing = [name for name in self.uses if name not in dims]
        if missing:
            raise SpecError(f"{self!r} needs the dimension {missing[0]}", notes=known_names(dims))
        sizes = [cast("Size", size_of(dim, dims)) for dim in self.dims]
        return tuple(
            axis for size in sizes for axis in (size if isinstance(size, tuple) else (size,))
        )


@constructing(SpecError)
@dataclass(frozen=True, slots=True)
class Scalar:
    """A run-time value among the inputs: a Python or NumPy number, or an array of rank 0."""

    dtype: DType

    def __post_init__(self) -> None:
        try:
            _array_dtype(self.dtype)
        except SpecError as error:
            raise error.at(caller()) from None

    def __repr__(self) -> str:
        return f"Scalar({self.dtype!r})"

    @property
    def dims(self) -> tuple[int | str, ...]:
        """The dimensions: a scalar has none."""
        return ()

    @property
    def names(self) -> tuple[str, ...]:
        """The named dimensions: none."""
        return ()

    @property
    def computed(self) -> tuple[str, ...]:
        """The dimensions that are expressions: none."""
        return ()

    @property
    def uses(self) -> tuple[str, ...]:
        """All names of its dimensions: none."""
        return ()

    @property
    def starred(self) -> None:
        """The name of the leading dimensions: none."""
        return None

    @property
    def sum_over(self) -> tuple[str, ...]:
        """The dimensions that it is a sum over: none."""
        return ()

    @property
    def accumulate(self) -> None:
        """The type that a sum is accumulated in: none."""
        return None

    @property
    def part(self) -> Scalar:
        """The spec of a part of a sum: the scalar itself."""
        return self

    def shape(self, _dims: Mapping[str, Size]) -> Shape:
        """Always ()."""
        return ()


Spec: TypeAlias = Tile | Scalar


def _multiplicand(
    dims: tuple[int | str, int | str], dtype: DType, *tiles: tuple[str, int | None]
) -> Tile:
    """A matrix whose boxes are a tile of it, as far as one swizzle reaches."""
    sizes: list[int] = []
    for dim, (option, size) in zip(dims, tiles, strict=True):
        known = size if size is not None else dim
        if isinstance(known, str):
            raise SpecError(
                f'the dimension "{known}" has no size yet, so a box needs {option}=',
                location=caller(),
                notes=(("help", f"{option}=64"),),
            )
        sizes.append(known)
    rows, columns = sizes
    line = columns * dtype.bytes
    span = next((s for s in (128, 64, 32, 16) if line % s == 0), None)
    if span is None:
        raise SpecError(
            f"{columns} elements of {dtype} are {line} bytes, no multiple of 16",
            location=caller(),
            notes=(("help", f"{tiles[1][0]}={128 // dtype.bytes}"),),
        )
    layouts = {16: Layout.ROW, 32: Layout.TMA_32B, 64: Layout.TMA_64B, 128: Layout.TMA_128B}
    return Tile(*dims, dtype, layouts[span], tma_box=(rows, span // dtype.bytes))


def _layout(
    given: Sequence[int | str | DType | Layout], named: Layout | None
) -> tuple[Sequence[int | str | DType], Layout]:
    """What stands in a Tile's parentheses before the layout, and the layout."""
    *before, last = given or (None,)
    if not isinstance(last, Layout):
        return cast("Sequence[int | str | DType]", given), named or Layout.ROW
    if named is not None and named is not last:
        raise SpecError(f"the Tile has two layouts, {last!r} and {named!r}", location=caller())
    return cast("Sequence[int | str | DType]", before), last


def _sequence(option: str, sizes: object) -> tuple[object, ...]:
    if isinstance(sizes, (tuple, list)):
        return tuple(cast("Sequence[object]", sizes))
    raise SpecError(
        f"{option}={sizes!r} is not a tuple with a size for each axis", location=caller()
    )


def _option(option: str, value: object, kind: type[_Option]) -> _Option | None:
    """What an option that is a member of an enumeration is given, None where it is left out."""
    if value is None or isinstance(value, kind):
        return value
    raise SpecError(
        f"{option}={value!r} is no {kind.__name__}",
        location=caller(),
        notes=(("legal", " ".join(f"{kind.__name__}.{name}" for name in kind.__members__)),),
    )


def _im2col(given: object) -> Im2col | None:
    """What tma_im2col= is given, with whole numbers."""
    if given is None:
        return None
    if isinstance(given, Im2col):
        lower, upper = (
            _whole(f"Im2col.{name}", _sequence(f"Im2col.{name}", corner))
            for name, corner in (("lower", given.lower), ("upper", given.upper))
        )
        channels, pixels = _whole("Im2col", (given.channels, given.pixels))
        return Im2col(lower, upper, channels, pixels)
    raise SpecError(
        f"tma_im2col={given!r} is no Im2col",
        location=caller(),
        notes=(("help", "Im2col(lower=(-1, -1), upper=(-1, -1), channels=64, pixels=128)"),),
    )


def _whole(option: str, values: tuple[object, ...]) -> tuple[int, ...]:
    """Values that are integers, Python's or NumPy's."""
    try:
        return tuple(operator.index(cast("SupportsIndex", value)) for value in values)
    except TypeError:
        raise SpecError(
            f"{option} has {values!r}, which are not whole numbers", location=caller()
        ) from None


def _sizes_text(sizes: Sequence[int | str]) -> str:
    inside = ", ".join(f'"{size}"' if isinstance(size, str) else str(size) for size in sizes)
    return f"({inside},)" if len(sizes) == 1 else f"({inside})"


def _box_sizes(box: Box, rank: int, sizes: Mapping[str, object], option: str) -> tuple[int, ...]:
    """The sizes of a box, with those of the dimensions that it names."""
    if len(box) != rank:
        raise _rank_error(option, box, rank)
    text = _sizes_text(box)
    found: list[int] = []
    for size in box:
        known = _known_size(_named_size(size, sizes) if isinstance(size, str) else size)
        if known is None:
            raise SpecError(
                f"{option}={text} needs {size!r} to be a size when the kernel is traced",
                notes=(
                    ("help", "the sizes of a box are ints; a run-time dimension has no size then"),
                ),
            )
        found.append(known)
    return tuple(found)


def _no_box_of_groups(box: Box | None, rank: int) -> SpecError:
    said = "split= needs box=" if box is None else f"box={_sizes_text(box)} has {len(box)} sizes"
    return SpecError(
        f"{said}, and the map of a tensor of rank {rank - 1} whose last axis is split has rank "
        f"{rank}",
        notes=(("help", "the axis before the last one is that of the groups: 1 for one of them"),),
    )


def _rank_error(option: str, box: Box, rank: int) -> SpecError:
    text = f"{option}={_sizes_text(box)}"
    return SpecError(f"{text} has {len(box)} sizes, and the tensor has rank {rank}")


def _named_size(text: str, sizes: Mapping[str, object]) -> object:
    """What a name or an expression is with these sizes, None where one of them has no number."""
    if text in sizes:
        return sizes[text]
    known = {name: _known_size(sizes.get(name)) for name in expressions.names(text)}
    return None if None in known.values() else expressions.size(text, known)


def _known_size(size: object) -> int | None:
    try:
        return None if isinstance(size, bool) else operator.index(cast("SupportsIndex", size))
    except (TypeError, PtxError):
        return None


def advice(error: MapError) -> tuple[tuple[str, str], ...]:
    """What to do about a broken rule, as notes of an error."""
    return (("help", error.help),) if error.help else ()


def _tile(dims_and_dtype: Sequence[object]) -> tuple[tuple[int | str, ...], DType]:
    """What stands in a Tile's parentheses, checked."""
    if not dims_and_dtype or not isinstance(dims_and_dtype[-1], DType):
        raise SpecError(
            f"Tile({', '.join(map(repr, dims_and_dtype))}) does not end with a type",
            notes=(*_of_numpy(dims_and_dtype[-1:]), ("help", 'Tile("B", "N", f32)')),
        )
    *dims, dtype = dims_and_dtype
    return tuple(_tile_dim(dim, first=i == 0) for i, dim in enumerate(dims)), _array_dtype(dtype)


def _of_numpy(last: Sequence[object]) -> tuple[tuple[str, str], ...]:
    """The type of pyptx.types that is NumPy's, as a note."""
    for each in last:
        name = getattr(each, "__name__", getattr(each, "name", each))
        if isinstance(name, str) and name in BY_NUMPY:
            found = BY_NUMPY[name]
            return (("type", f"{found!r} is {name}: from pyptx.types import {found!r}"),)
    return ()


def _sum_over(names: object, dims: Sequence[int | str]) -> tuple[str, ...]:
    """What stands after sum_over=, checked against the Tile's own dimensions."""
    if names is None:
        return ()
    given = cast("Sequence[object]", names) if isinstance(names, (tuple, list)) else (names,)
    found = tuple(dict.fromkeys(name for name in given if isinstance(name, str)))
    if len(found) != len(given) or not all(name.isidentifier() for name in found):
        raise SpecError(
            f"sum_over={names!r} is not one dimension name or several",
            notes=(("help", 'Tile("N", f32, sum_over="B")'),),
        )
    own = [unstarred(dim) for dim in dims if isinstance(dim, str)]
    for name in found:
        if name in own:
            raise SpecError(
                f'the Tile has the dimension "{name}" and is a sum over it; it can only be one',
                notes=(("help", f'leave sum_over="{name}" out, or the dimension'),),
            )
    return found


def _accumulate(accumulate: DType | None, dtype: DType, sums: Sequence[str]) -> DType | None:
    """What stands after accumulate=, None where it changes nothing."""
    if accumulate is None:
        return None
    wider = [d for d in BY_NUMPY.values() if d.kind is dtype.kind and d.bits > dtype.bits]
    if not any(accumulate is legal for legal in (dtype, *wider)):
        raise SpecError(
            f"accumulate={accumulate!r} is no type that holds every {dtype!r}",
            notes=(("legal", " ".join(map(repr, (dtype, *wider)))),),
        )
    if not sums:
        raise SpecError(
            f"accumulate={accumulate!r} stands without sum_over=, and only a sum over parallel "
            "dimensions is added up across devices",
            notes=(("help", f'Tile("N", {dtype!r}, sum_over="B", accumulate={accumulate!r})'),),
        )
    return accumulate if accumulate is not dtype else None


def _init(
    init: object, dtype: DType, sums: Sequence[str], *, partial: object
) -> int | float | None:
    """What stands after init=, checked; so is what stands after partial=."""
    if not isinstance(partial, bool):
        raise SpecError(f"partial={partial!r} is neither True nor False")
    if init is None:
        return None
    if partial:
        raise SpecError(
            f"a Tile has partial=True or init={init!r}, not both",
            notes=(("help", "with init= an element that is not written has that value"),),
        )
    try:
        exact_bits(init, dtype)
    except BadConstantError as error:
        nearest = dtype.is_float and isinstance(init, (int, float))
        module = "ml_dtypes" if str(dtype.numpy) in _ML_DTYPES else "numpy"
        help_ = (("help", f"init={module}.{dtype.numpy}({init!r}) is the nearest"),)
        raise SpecError(f"init={init!r}: {error}", notes=help_ if nearest else ()) from None
    if sums and init:
        raise SpecError(
            f'init={init!r} of a sum over "{sums[0]}" would be added once for each device that has '
            "a part of it",
            notes=(("help", "init=0, and add the rest to the sum"),),
        )
    try:
        return operator.index(cast("SupportsIndex", init))
    except TypeError:
        return float(cast("SupportsFloat", init))


_ML_DTYPES: Final = frozenset(("bfloat16", "float8_e4m3fn", "float8_e5m2"))


def unstarred(dim: str) -> str:
    """The name of a dimension that may be written with a star."""
    return dim.removeprefix("*")


def size_of(dim: int | str, sizes: Mapping[str, Any]) -> Any:
    """What a dimension of a Tile is where the names have these sizes. Raises SpecError."""
    if isinstance(dim, int):
        return dim
    name = unstarred(dim)
    return sizes[name] if name in sizes else expressions.size(name, sizes)


def _tile_dim(dim: object, *, first: bool) -> int | str:
    if isinstance(dim, str):
        if not unstarred(dim).isidentifier():
            if dim.startswith("*"):
                raise SpecError(f"the dimension name {dim!r} is not a Python identifier")
            return expressions.canonical(dim)
        if dim.startswith("*") and not first:
            raise SpecError(
                f'the dimension "{dim}" is not the first of its Tile; only the first has a star',
                notes=(("help", 'Tile("*B", "N", f32)'),),
            )
        return dim
    size = as_extent(dim)
    if not isinstance(size, int) or size < 0:
        raise SpecError(f"a dimension of a Tile is a size or a name, not {dim}")
    return size


def _array_dtype(dtype: object) -> DType:
    if not isinstance(dtype, DType):
        raise SpecError(f"{dtype!r} is no type; types are in pyptx.types")
    if dtype.numpy is None:
        raise SpecError(f"arrays have no type {dtype!r}; the elements of a tensor need one")
    return dtype
