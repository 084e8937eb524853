"""Whether an operation treats every index of its parallel dimensions on its own.

Nothing is inferred from the instructions: the emulator runs the operation on changed arrays, and
what comes out is compared.

others    the values of some indices change, and the results of all others keep every bit. Indices
          are told apart by the bits of their numbers, so that 2 log2(B) runs try every pair
order     the values change places along B, and so do the results
parts     the results of B[:k] and of B[k:] are those of B, and sums of the parts those of sums

Order and size may choose another order of additions, so these are compared within rounding. What
depends on others is looked for once more, with the emulator's watches on the elements: which
threads read the one and write the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyptx._emulator import Emulation, Finding, Report, Site, Visit
from pyptx._source import SourceLocation
from pyptx._spec import Spec, Tile, unstarred
from pyptx.errors import CallError, PtxError

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = tuple[Array, ...]
Run: TypeAlias = Callable[..., Emulation]
"""Emulates the operation on arrays, with options of the emulator."""

_SEEDS: Final = (1, 2, 3)
_PARTS: Final = 8
_STEPS: Final = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "e4m3": 3, "e5m2": 2}
"""Bits of the fraction."""

Region: TypeAlias = tuple[bool, int, int, int]
"""Bytes of a tensor: whether it is an output, its number, where they begin, how many they are."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked: the specs and names of its tensors, where it is, and how it is run."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Tile, ...]
    location: SourceLocation
    run: Run


def check(subject: Subject, dims: Sequence[str], arrays: Arrays, where: SourceLocation) -> None:
    """Raise EmulationError where a dimension is not parallel; CallError where nothing can tell."""
    checks = [_Check(subject, dim, arrays) for dim in dims]
    if all(each.size < 2 for each in checks):
        raise CallError(
            f"{subject.name} is called on {', '.join(f'{c.dim} = {c.size}' for c in checks)}, and "
            "one index has no others to depend on",
            location=where,
            notes=(("help", "give arrays with several indices of each parallel dimension"),),
        )
    subject.run(arrays, sanitize=False).report.check()
    found = [finding for each in checks if each.size > 1 for finding in each.findings(where)]
    if found:
        count = f"{len(found)} finding{'s' if len(found) > 1 else ''}"
        message = "\n".join((f"{subject.name} is not parallel: {count}", *map(str, found)))
        Report(subject.name, "findings", message, tuple(found)).check()


# ---- one dimension -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Along:
    """Where a dimension is in an array: its first axis, and the sizes of its axes."""

    axis: int
    sizes: tuple[int, ...]

    def flat(self, array: Array) -> Array:
        """The array with one axis for the dimension."""
        end = self.axis + len(self.sizes)
        return array.reshape(*array.shape[: self.axis], -1, *array.shape[end:])

    def name(self, index: int) -> str:
        """An index of it, as in a subscript and after an equals sign."""
        every = np.unravel_index(index, self.sizes) if self.sizes else ()
        return ", ".join(map(str, map(int, every)))

    def subscript(self, index: int) -> str:
        """All elements that an index has."""
        return "[" + ", ".join([":"] * self.axis + [self.name(index)]) + "]"


def _along(spec: Spec, shape: Sequence[int], dim: str) -> _Along | None:
    for position, each in enumerate(spec.dims):
        if isinstance(each, str) and unstarred(each) == dim:
            more = len(shape) - len(spec.dims) if spec.starred is not None else 0
            if each.startswith("*"):
                return _Along(0, tuple(shape[: more + 1]))
            return _Along(position + more, (shape[position + more],))
    return None


@dataclass(frozen=True, slots=True)
class _Element:
    """An element of an output, and the index of the dimension that it belongs to."""

    output: int
    index: tuple[int, ...]
    of: int


class _Check:
    """What is tried for one dimension."""

    def __init__(self, subject: Subject, dim: str, arrays: Arrays) -> None:
        self.subject = subject
        self.dim = dim
        self.arrays = arrays
        specs = zip(subject.in_specs, arrays, strict=True)
        self.inputs = [_along(spec, array.shape, dim) for spec, array in specs]
        sizes = next(along.sizes for along in self.inputs if along is not None)
        self.sizes = sizes
        self.size = math.prod(sizes)
        self.tensors = [i for i, along in enumerate(self.inputs) if along is not None]

    def findings(self, where: SourceLocation) -> Iterator[Finding]:
        """The first thing that is wrong, if anything is. Raises CallError for equal values."""
        base = self.run(self.arrays)
        assert base is not None  # it has just run
        self.base = base
        shapes = [output.shape for output in base]
        specs = zip(self.subject.out_specs, shapes, strict=True)
        self.outputs = [_along(spec, shape, self.dim) for spec, shape in specs]
        found = self._changed_arrays(where)
        self.changed = self.arrays if found is None else found
        wrong = self._others() or self._order() or self._parts()
        if wrong is not None:
            yield wrong

    def run(self, arrays: Sequence[Array], **options: Any) -> Arrays | None:
        """The outputs; None where the operation does not run on these values or sizes."""
        try:
            done = self.subject.run(arrays, sanitize=False, **options)
        except PtxError:
            return None
        return None if done.report.findings else done.outputs

    # ---- values of other indices -----------------------------------------------------------------

    def _changed_arrays(self, where: SourceLocation) -> Arrays | None:
        """Other values for every index, on which the operation runs: those of another, scaled."""
        for scaled in (True, False):
            changed = self._moved(scaled=scaled)
            if self.run(changed) is not None:
                break
        else:
            return None
        pairs = zip(changed, self.arrays, strict=True)
        if all(np.array_equal(_bytes(new), _bytes(old)) for new, old in pairs):
            names = ", ".join(self.subject.inputs[i] for i in self.tensors)
            raise CallError(
                f"{names} of {self.subject.name} has the same values for every index of "
                f'"{self.dim}", which tell nothing apart',
                location=where,
                notes=(("help", "give random values"),),
            )
        return changed

    def _moved(self, *, scaled: bool) -> Arrays:
        draw = np.random.default_rng(self.size)
        order = (np.arange(self.size) + draw.integers(1, self.size)) % self.size
        moved = list(self.arrays)
        for i in self.tensors:
            along = self.inputs[i]
            assert along is not None
            rows = np.take(along.flat(self.arrays[i]), order, axis=along.axis)
            if scaled and _is_float(rows.dtype):
                with np.errstate(all="ignore"):
                    factor = draw.uniform(0.5, 1.5, rows.shape)
                    rows = (rows.astype(np.float64) * factor).astype(rows.dtype)
            moved[i] = rows.reshape(self.arrays[i].shape)
        return tuple(moved)

    def _mixed(self, indices: Array, tensors: Sequence[int]) -> Arrays:
        """The arrays with changed values for these indices of these tensors."""
        mixed = list(self.arrays)
        for i in tensors:
            along = self.inputs[i]
            assert along is not None
            rows = along.flat(self.arrays[i]).copy()
            at = (*(slice(None),) * along.axis, indices)
            rows[at] = along.flat(self.changed[i])[at]
            mixed[i] = rows.reshape(self.arrays[i].shape)
        return tuple(mixed)

    def _others(self) -> Finding | None:
        """Results of some indices that change with the values of others."""
        numbers = np.arange(self.size)
        for bit in range((self.size - 1).bit_length()):
            for value in (0, 1):
                some = numbers[(numbers >> bit & 1) == value]
                outputs = self.run(self._mixed(some, self.tensors))
                if outputs is None:
                    continue
                element = self._difference(outputs, np.setdiff1d(numbers, some))
                if element is not None and self._repeats(element):
                    return self._describe_other(element, some)
        return None

    def _difference(self, outputs: Arrays, indices: Array) -> _Element | None:
        """The first element of these indices that is not what it was."""
        for number, (along, old, new) in enumerate(
            zip(self.outputs, self.base, outputs, strict=True)
        ):
            if along is None:
                continue
            same = _same_bits(along.flat(old), along.flat(new))
            keep = np.zeros(self.size, bool)
            keep[indices] = True
            wrong = ~same & keep.reshape(-1, *(1,) * (same.ndim - 1 - along.axis))
            if wrong.any():
                return self._element(number, along, wrong)
        return None

    def _element(self, number: int, along: _Along, wrong: Array) -> _Element:
        """The first element where `wrong`, whose dimension is one axis, is true."""
        flat = tuple(map(int, np.argwhere(wrong)[0]))
        of = flat[along.axis]
        where = tuple(map(int, np.unravel_index(of, along.sizes))) if along.sizes else ()
        index = (*flat[: along.axis], *where, *flat[along.axis + 1 :])
        return _Element(number, index, of)

    def _repeats(self, element: _Element) -> bool:
        """Whether the element is the same in every schedule, so that a change means something."""
        at = element.output, element.index
        kept = self.base[at[0]][at[1]].tobytes()
        for seed in _SEEDS:
            outputs = self.run(self.arrays, seed=seed)
            if outputs is None or outputs[at[0]][at[1]].tobytes() != kept:
                return False
        return True

    def _describe_other(self, element: _Element, some: Array) -> Finding:
        """The index and the tensor that the element depends on, by halves."""

        def value(indices: Array, tensors: Sequence[int]) -> object:
            outputs = self.run(self._mixed(indices, tensors))
            kept = self.base[element.output][element.index]
            found = kept if outputs is None else outputs[element.output][element.index]
            return None if found.tobytes() == kept.tobytes() else found

        while len(some) > 1:
            half = some[: len(some) // 2]
            some = half if value(half, self.tensors) is not None else some[len(some) // 2 :]
        tensors = [i for i in self.tensors if value(some, [i]) is not None] or self.tensors
        other = value(some, tensors[:1])
        source, along = int(some[0]), self.inputs[tensors[0]]
        assert along is not None
        name = f"{self.subject.inputs[tensors[0]]}{along.subscript(source)}"
        kept = self.base[element.output][element.index]
        shown = self._shown(element)
        if other is None:  # several together
            problem = f'{shown} depends on other indices of "{self.dim}"'
            return self._finding(problem, element, "", self._writers(element))
        return self._dependence(
            element, tensors[0], source, name, f"is {kept}, and {other} with other values in {name}"
        )

    # ---- order and size --------------------------------------------------------------------------

    def _order(self) -> Finding | None:
        """Results that depend on where along the dimension their values are."""
        order = (np.arange(self.size) + 1) % self.size
        outputs = self.run(self._taken(order))
        if outputs is None:
            return None
        for number, along in enumerate(self.outputs):
            old, new = self.base[number], outputs[number]
            if along is None:
                if (both := self._totals(number, [old], [new])) is not None:
                    return self._sum_finding(
                        number,
                        f"is {both[0]}, and {both[1]} with the values in another order "
                        f'along "{self.dim}"',
                    )
                continue
            moved = np.take(along.flat(old), order, axis=along.axis)
            wrong = self._beyond_rounding(moved, along.flat(new), number)
            if wrong.any():
                element = self._element(number, along, wrong)
                at = tuple(map(int, np.argwhere(wrong)[0]))
                before = along.name(int(order[element.of]))
                detail = (
                    f"is {along.flat(new)[at]} with the values that give {moved[at]} at "
                    f"{self.dim} = {self._numbered(before)}"
                )
                problem = f'{self._shown(element)} depends on its place along "{self.dim}"'
                return self._finding(problem, element, detail, self._writers(element))
        return None

    def _parts(self) -> Finding | None:
        """Results that depend on how many indices there are, and sums that are none."""
        ends = np.unique(np.linspace(1, self.size - 1, _PARTS).astype(int))
        for end in map(int, ends):
            parts = [self.run(self._taken(part)) for part in np.split(np.arange(self.size), [end])]
            first, second = parts
            if first is None or second is None:  # no size that it runs on
                continue
            for number, along in enumerate(self.outputs):
                pair = [first[number], second[number]]
                found = self._part(number, along, pair, end)
                if found is not None:
                    return found
        return None

    def _part(
        self, number: int, along: _Along | None, parts: list[Array], end: int
    ) -> Finding | None:
        base = self.base[number]
        sizes = f"{self.dim}[:{end}] and {self.dim}[{end}:]"
        if along is None:
            both = self._totals(number, [base], parts)
            if both is None:
                return None
            return self._sum_finding(
                number, f"is {both[0]}, and those of {sizes} add up to {both[1]}"
            )
        joined = np.concatenate(parts, axis=along.axis)
        flat = along.flat(base)
        wrong = self._beyond_rounding(flat, joined, number)
        if not wrong.any():
            return None
        element = self._element(number, along, wrong)
        at = tuple(map(int, np.argwhere(wrong)[0]))
        detail = f"is {flat[at]}, and {joined[at]} where {sizes} are computed apart"
        problem = f'{self._shown(element)} depends on other indices of "{self.dim}" or their number'
        return self._finding(problem, element, detail, self._writers(element))

    def _taken(self, indices: Array) -> Arrays:
        """The arrays with these indices alone, on one axis where their number is another."""
        taken = list(self.arrays)
        for i in self.tensors:
            along = self.inputs[i]
            assert along is not None
            rows = np.take(along.flat(self.arrays[i]), indices, axis=along.axis)
            same = len(indices) == self.size
            taken[i] = np.ascontiguousarray(rows.reshape(self.arrays[i].shape) if same else rows)
        return tuple(taken)

    def _totals(
        self, number: int, old: Sequence[Array], new: Sequence[Array]
    ) -> tuple[object, object] | None:
        """The first sums of a sum's parts that differ beyond rounding.

        Parts of a sum may stand on axes of their own, whose sizes are numbers in the Tile.
        """
        spec = self.subject.out_specs[number]
        axes = tuple(i for i, dim in enumerate(spec.dims) if isinstance(dim, int))
        wide = np.float64 if _is_float(old[0].dtype) else np.dtype(object)

        def total(arrays: Sequence[Array]) -> tuple[Array, Array]:
            sums = [np.asarray(a).astype(wide).sum(axes) for a in arrays]
            sizes = [np.abs(np.asarray(a).astype(wide)).sum(axes) for a in arrays]
            return np.asarray(sum(sums)), np.asarray(sum(sizes))

        (one, size), (other, _) = total(old), total(new)
        if wide is np.float64:
            wrong = _apart(one, other, self._tolerance() * size + self._floor(number))
        else:
            wrong = (one != other) & (self._floor(number) < 1)
        if not wrong.any():
            return None
        at = tuple(map(int, np.argwhere(wrong)[0]))
        return one[at], other[at]

    # ---- rounding --------------------------------------------------------------------------------

    def _tolerance(self) -> float:
        """The root of the coarsest step between numbers of a type that the operation has."""
        specs = (*self.subject.in_specs, *self.subject.out_specs)
        return max(
            (2.0 ** -(_STEPS[s.dtype.name] / 2) for s in specs if s.dtype.is_float), default=0.0
        )

    def _floor(self, number: int) -> float:
        """A difference that says nothing: rounding of what cancels; of integers, one, if any."""
        tolerance = self._tolerance()
        if not _is_float(self.base[number].dtype):
            return float(tolerance > 0)
        return 256 * tolerance**2 * max((_largest(array) for array in self.arrays), default=0.0)

    def _beyond_rounding(self, old: Array, new: Array, number: int) -> Array:
        floor = self._floor(number)
        if not _is_float(old.dtype):
            exact = old != new
            if not floor or old.dtype == np.bool_:
                return exact
            return np.abs(old.astype(object) - new.astype(object)).astype(float) > floor
        limit = self._tolerance() * max(_largest(old), _largest(new)) + floor
        return _apart(old.astype(np.float64), new.astype(np.float64), limit)

    # ---- what is said ----------------------------------------------------------------------------

    def _numbered(self, name: str) -> str:
        return f"({name})" if len(self.sizes) != 1 else name

    def _shown(self, element: _Element) -> str:
        name = self.subject.outputs[element.output]
        return f"{name}[{', '.join(map(str, element.index))}]"

    def _sum_finding(self, number: int, detail: str) -> Finding:
        name = self.subject.outputs[number]
        problem = f'{name} is no sum over "{self.dim}"'
        at = (0,) * self.base[number].ndim
        writers = self._writers(_Element(number, at, 0)) if self.base[number].size else []
        return self._finding(problem, None, f"{name} {detail}", writers)

    def _dependence(
        self, element: _Element, tensor: int, source: int, name: str, detail: str
    ) -> Finding:
        """Names the threads that read the one and write the other, where there are some."""
        watch = [*self._rows(tensor, source), self._region(element)]
        steps = self._watched(watch)
        last = len(watch) - 1
        reads = [(s, v) for s, v in steps if v.watch != last and not v.store]
        writes = [(s, v) for s, v in steps if v.watch == last and v.store]
        together = _together(reads, writes)
        if not together:
            problem = f"{self._shown(element)} depends on {name}"
            return self._finding(problem, element, detail, writes)
        of = _along_name(self.outputs[element.output], element.of)
        problem = f"{name} is read by the threads of {self.dim} = {self._numbered(of)}"
        return self._finding(problem, element, detail, writes, together)

    def _rows(self, tensor: int, index: int) -> list[Region]:
        """The bytes of an index of an input, in as many pieces as they have."""
        along, array = self.inputs[tensor], self.arrays[tensor]
        assert along is not None
        flat = along.flat(array)
        piece = math.prod(flat.shape[along.axis + 1 :]) * array.itemsize
        pieces = range(math.prod(flat.shape[: along.axis]))
        return [(False, tensor, (p * self.size + index) * piece, piece) for p in pieces]

    def _region(self, element: _Element) -> Region:
        output = self.base[element.output]
        start = int(np.ravel_multi_index(element.index, output.shape)) if output.ndim else 0
        return True, element.output, start * output.itemsize, output.itemsize

    def _watched(self, watch: Sequence[Region]) -> list[tuple[Report, Visit]]:
        done = self.subject.run(self.arrays, sanitize=True, watch=watch)
        return [(report, visit) for report in done.reports for visit in report.visits]

    def _writers(self, element: _Element) -> list[tuple[Report, Visit]]:
        return [(s, v) for s, v in self._watched([self._region(element)]) if v.store]

    def _finding(
        self,
        problem: str,
        element: _Element | None,
        detail: str,
        writes: Sequence[tuple[Report, Visit]],
        reads: Sequence[tuple[Report, Visit]] = (),
    ) -> Finding:
        writer = _site(*writes[-1]) if writes else None
        reader = _site(*reads[0]) if reads else None
        place = (reader or writer or Site()).location or self.subject.location
        lines = [f"{place}: {problem}"]
        if place.text:
            lines.append(f"    {place.text}")
        if detail:
            lines.append(f"  result: {self._shown(element)} {detail}" if element else f"  {detail}")
        if reader is not None and writer is not None and writer.location is not None:
            lines.append(f"  written: {writer.location}: {writer.location.text}")
        also = dict.fromkeys(site.location for site in (_site(*r) for r in reads[1:]))
        lines.extend(f"  also read: {at}: {at.text}" for at in also if at not in (None, place))
        lines.append(
            f'  help: leave "{self.dim}" out of parallel=, or compute what an index of it has from '
            "that index alone"
        )
        return Finding(
            kind="not-parallel",
            text="\n".join(lines),
            count=1,
            site=reader or writer or Site(location=self.subject.location),
            other=writer if reader is not None else None,
            note=problem,
            space="global",
            tensor=None if element is None else self.subject.outputs[element.output],
            index=None if element is None else element.index,
        )


def _along_name(along: _Along | None, index: int) -> str:
    return along.name(index) if along is not None else str(index)


def _together(
    reads: Sequence[tuple[Report, Visit]], writes: Sequence[tuple[Report, Visit]]
) -> list[tuple[Report, Visit]]:
    """The reads by threads that also write; where none do, by their warps, then by their CTAs."""

    def same(level: int, read: Visit, write: Visit) -> bool:
        return (
            read.cta == write.cta
            and (level > 1 or read.warp == write.warp)
            and (level > 0 or read.lanes & write.lanes != 0)
        )

    for level in range(3):
        found = [
            (step, read)
            for step, read in reads
            if any(step is other and same(level, read, write) for other, write in writes)
        ]
        if found:
            return found
    return []


def _site(report: Report, visit: Visit) -> Site:
    known = visit.instruction < len(report.locations)
    return Site(
        instruction=visit.instruction,
        location=report.locations[visit.instruction] if known else None,
        warp=visit.warp,
        lane=(visit.lanes & -visit.lanes).bit_length() - 1,
        store=visit.store,
    )


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind not in "iub"


def _bytes(array: Array) -> Array:
    """The bytes of each element."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _same_bits(old: Array, new: Array) -> Array:
    kind = f"u{old.itemsize}"
    return np.ascontiguousarray(old).view(kind) == np.ascontiguousarray(new).view(kind)


def _largest(array: Array) -> float:
    """The largest finite size of an element, 0 for none."""
    if not array.size:
        return 0.0
    sizes = np.abs(array.astype(np.float64))
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))


def _apart(old: Array, new: Array, limit: object) -> Array:
    """Where numbers differ by more than a limit; NaNs are alike, and so are equal infinities."""
    with np.errstate(invalid="ignore"):
        close = (old == new) | (np.isnan(old) & np.isnan(new))
        return ~(close | (np.abs(old - new) <= limit))
