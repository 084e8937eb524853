"""What `@kernel` is given, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from pyptx._cures import cure
from pyptx._grid import Grid, known_sizes, resolve_grid, texts_of
from pyptx._ir import Directive
from pyptx._isa import directives as isa_directives
from pyptx._isa.directives import DIRECTIVES
from pyptx._launch.plan import check_block, check_cluster
from pyptx._near import near_names
from pyptx._source import SourceLocation
from pyptx._target import PTX_VERSIONS, PtxVersion, Target
from pyptx._trace.core.values import integer
from pyptx.device import CTA_REGISTERS, THREAD_REGISTERS, Triple
from pyptx.errors import PtxError, SpecError

Sizes: TypeAlias = "int | Sequence[int]"
Block: TypeAlias = "int | str | Sequence[int | str] | Callable[..., object]"
"""Up to three sizes, which may be text, or a function of what they depend on."""

# Up to so many threads, 255 registers each fit the register file. Beyond, the assembler must know
# the size of the CTA, or a launch can fail; below it is not told: it would spill for occupancy.
_ANY_REGISTERS: Final = CTA_REGISTERS // (THREAD_REGISTERS + 1)


@dataclass(frozen=True, slots=True)
class Options:
    """What the decorator was given, checked: launch sizes, target and directives."""

    grid: Grid
    block: Triple
    cluster: Triple
    shared: int | None
    arch: Target | None
    version: PtxVersion | None
    directives: tuple[Directive, ...]
    contract: bool
    parallel: tuple[str, ...]
    aliases: tuple[tuple[int, int], ...]
    cooperative: bool
    programmatic_stream_serialization: bool
    dynamic: tuple[str, ...] = ()
    late: Late | None = None

    def at(self, sizes: Mapping[str, Any]) -> Options:
        """The options where dimensions and compile-time keywords are these. Raises SpecError."""
        return self if self.late is None else self.late.options(self, sizes)


@dataclass(frozen=True, slots=True)
class Late:
    """Sizes of a launch that depend on dimensions and compile-time keywords, as they were given.

    `directives` are those that the decorator was given, and `known` its other options.
    """

    block: Block
    cluster: Block
    directives: Mapping[str, object]
    known: Sequence[str]
    where: SourceLocation

    def options(self, options: Options, sizes: Mapping[str, Any]) -> Options:
        """The options with the launch sizes, and the directives that these call for."""
        try:
            block, cluster = (
                known_sizes(f"{what}=", given, sizes)
                for what, given in (("block", self.block), ("cluster", self.cluster))
            )
        except SpecError as error:
            raise error if error.location else error.at(self.where) from None
        found = replace(
            options,
            block=checked(check_block, triple("block", block, self.where), self.where),
            cluster=checked(check_cluster, triple("cluster", cluster, self.where), self.where),
            late=None,
        )
        given = directives_of(found, self.directives, self.known, self.where)
        return replace(found, directives=given)


def with_launch(options: Options, late: Late) -> Options:
    """The options with the sizes of CTAs and clusters, now or, where these name something, later.

    Raises SpecError.
    """
    if any(callable(sizes) or texts_of(sizes) for sizes in (late.block, late.cluster)):
        for name in late.directives:
            _check_option(name, late.known, late.where)
        return replace(options, late=late)
    return late.options(options, {})


def listed_directives(given: Mapping[str, object], where: SourceLocation) -> Mapping[str, object]:
    """The directives, those of `raw_directives=[("maxnreg", (64,))]` under their names.

    `extern_smem=True` is dropped: `smem.base()` declares the memory. Raises SpecError.
    """
    found = dict(given)
    extern = found.pop("extern_smem", False)
    if not isinstance(extern, bool):
        raise SpecError(
            f"extern_smem={extern!r} names the dynamic shared memory, which the body does",
            location=where,
            notes=(("help", f"smem.base({extern!r})"),),
        )
    raw = found.pop("raw_directives", ())
    pairs = cast("Sequence[object]", raw) if isinstance(raw, (tuple, list)) else (raw,)
    for pair in pairs:
        listed = cast("Sequence[object]", pair) if isinstance(pair, (tuple, list)) else ()
        name, values = listed if len(listed) == 2 else (None, None)
        if not isinstance(name, str) or not isinstance(values, (tuple, list)):
            raise SpecError(
                f"raw_directives={raw!r} is not a list of names with their values",
                location=where,
                notes=(("help", 'maxnreg=64, or raw_directives=[("maxnreg", (64,))]'),),
            )
        if name in found:
            raise SpecError(f"the directive {name} is given twice", location=where)
        found[name] = tuple(cast("Sequence[object]", values)) or True
    return found


def directives_of(
    options: Options, given: Mapping[str, object], known: Sequence[str], where: SourceLocation
) -> tuple[Directive, ...]:
    """The directives that were asked for, and those that the launch sizes call for.

    `known` are the other options of the decorator, for the message about a name that is neither.
    """
    found = {
        name: _values(name, value, where) for name, value in given.items() if value is not False
    }
    if math.prod(options.block) > _ANY_REGISTERS and not {"reqntid", "maxntid"} & found.keys():
        found["maxntid"] = options.block
    if options.cluster != (1, 1, 1):
        found.setdefault("reqnctapercluster", options.cluster)
    for name in found:
        _check_option(name, known, where)
    for name, sizes in (("reqntid", options.block), ("reqnctapercluster", options.cluster)):
        wanted = (*found.get(name, sizes), 1, 1)[:3]
        if wanted != sizes:
            what = "block" if name == "reqntid" else "cluster"
            raise SpecError(
                f"{name}={wanted} is not the {what}, which is {sizes}",
                location=where,
                notes=(("help", f"leave it out, or write {name}={sizes}"),),
            )
    try:
        isa_directives.check(found.items())
    except PtxError as error:
        raise SpecError(error.problem, location=where, notes=error.notes) from None
    if "maxntid" in found:
        _check_most(found["maxntid"], options.block, where)
    return tuple(Directive(name, values) for name, values in found.items())


def _check_most(
    values: tuple[int, ...], block: tuple[int, int, int], where: SourceLocation
) -> None:
    """The driver refuses a launch of more threads than the product of `maxntid`."""
    most, threads = math.prod(values), math.prod(block)
    if threads > most:
        raise SpecError(
            f"maxntid={(*values, 1, 1)[:3]} is at most {most} threads, and the block {block} has "
            f"{threads}",
            location=where,
            notes=(("help", f"leave it out, or write maxntid={block}"),),
        )


def triple(what: str, sizes: object, where: SourceLocation) -> tuple[int, int, int]:
    """One to three sizes, filled up with ones."""
    listed = cast("Sequence[object]", sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    found = [integer(size) for size in listed]
    whole = [size for size in found if size is not None]
    if len(whole) != len(found) or not 1 <= len(whole) <= 3:
        raise SpecError(
            f"{what}={sizes!r} is not one to three sizes",
            location=where,
            notes=(("help", f"{what}=(128, 1, 1)"),),
        )
    x, y, z = (*whole, 1, 1)[:3]
    return x, y, z


def checked(
    check: Callable[[tuple[int, int, int]], None],
    sizes: tuple[int, int, int],
    where: SourceLocation,
) -> tuple[int, int, int]:
    try:
        check(sizes)
    except SpecError as error:
        raise error.at(where) from None
    return sizes


def launch_grid(grid: Grid, where: SourceLocation) -> Grid:
    """What `grid=` is, checked as far as that goes before there are dimensions."""
    if not callable(grid) and not texts_of(grid):
        try:
            resolve_grid(grid, {})
        except SpecError as error:
            raise error.at(where) from None
    return grid


def flag(name: str, value: object, where: SourceLocation) -> bool:
    """An option that is True or False. Raises SpecError for anything else."""
    if isinstance(value, bool):
        return value
    raise SpecError(
        f"{name}={value!r} is not True or False", location=where, notes=(("help", f"{name}=True"),)
    )


def byte_count(size: object, where: SourceLocation) -> int:
    found = integer(size)
    if found is None or found < 0:
        raise SpecError(f"smem={size!r} is not a number of bytes", location=where)
    return found


def dimension_names(
    names: object, where: SourceLocation, option: str = "parallel"
) -> tuple[str, ...]:
    """What `parallel=` or `dynamic=` names."""
    found = tuple(cast("Sequence[object]", names)) if isinstance(names, (tuple, list)) else None
    if found is None or not all(isinstance(name, str) for name in found):
        raise SpecError(
            f"{option}={names!r} is not a sequence of dimension names",
            location=where,
            notes=(("help", f'{option}=("B",)'),),
        )
    return cast("tuple[str, ...]", found)


def alias_pairs(aliases: object, where: SourceLocation) -> tuple[tuple[int, int], ...]:
    if aliases is None:
        return ()
    if isinstance(aliases, Mapping):
        pairs = [
            (integer(i), integer(o)) for i, o in cast("Mapping[object, object]", aliases).items()
        ]
        whole = [(i, o) for i, o in pairs if i is not None and o is not None]
        if len(whole) == len(pairs):
            return tuple(sorted(whole))
    raise SpecError(
        f"input_output_aliases={aliases!r} is not a dictionary of positions",
        location=where,
        notes=(("help", "input_output_aliases={0: 0}"),),
    )


def _values(name: str, value: object, where: SourceLocation) -> tuple[int, ...]:
    """The values of a directive; True is one without."""
    if value is True:
        return ()
    listed = cast("Sequence[object]", value) if isinstance(value, (tuple, list)) else (value,)
    found = [integer(each) for each in listed]
    whole = tuple(each for each in found if each is not None)
    if name in DIRECTIVES and len(whole) != len(found):
        raise SpecError(f"{name}={value!r} is not one integer or several", location=where)
    return whole


def _check_option(name: str, options: Sequence[str], where: SourceLocation) -> None:
    if name not in DIRECTIVES:
        near = near_names(name, [*options, *DIRECTIVES], 1)
        raise SpecError(
            f"kernel() has no option {name}",
            location=where,
            notes=(
                *(cure(name) or ((("nearest", near[0]),) if near else ())),
                ("options", " ".join(options)),
                ("directives", " ".join(DIRECTIVES)),
            ),
        )


def parse_target(arch: object, where: SourceLocation) -> Target:
    try:
        return Target.parse(str(arch))
    except ValueError as error:
        raise SpecError(str(error), location=where) from None


def parse_version(version: object, where: SourceLocation) -> PtxVersion | None:
    match version:
        case None:
            return None
        # A NumPy array of rank 0 counts as a sequence and has no length.
        case tuple((int(major), int(minor))) | list((int(major), int(minor))):
            return _known_version(PtxVersion(major, minor), where)
        case str() if re.fullmatch(r"\d+\.\d+", version):
            return _known_version(PtxVersion.parse(version), where)
        case _:
            raise SpecError(
                f"version={version!r} is not a PTX version",
                location=where,
                notes=(("help", "version=(8, 7)"),),
            )


def _known_version(version: PtxVersion, where: SourceLocation) -> PtxVersion:
    """The version, unless no assembler knows it. Older ones are refused with the target."""
    if version > PTX_VERSIONS[0] and version not in PTX_VERSIONS:
        raise SpecError(
            f"there is no PTX {version}",
            location=where,
            notes=(("known", " ".join(map(str, PTX_VERSIONS))),),
        )
    return version
