"""What must hold between the specs of an operation, before any array is seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyptx import _expressions as expressions
from pyptx._dims import known_names
from pyptx._spec import Scalar, Spec, Tile
from pyptx.errors import SpecError


def check_outputs(
    in_specs: Sequence[Spec], out_specs: Sequence[Spec], keywords: Iterable[str] = ()
) -> None:
    """Every named dimension of an output must be one of an input. Raises SpecError.

    So must every name in an expression. `keywords` are the compile-time keywords, which are sizes
    too. What only outputs have must be on none of the inputs.
    """
    for spec in in_specs:
        if isinstance(spec, Tile) and not spec.complete:
            raise SpecError(
                f"{spec!r} is among the inputs, and {spec.written} says how an output is written",
                notes=(("help", "give it to the Tile in out_specs that the kernel writes"),),
            )
    known = dict.fromkeys(keywords) | {name: None for spec in in_specs for name in spec.names}
    for spec in in_specs:
        for name in spec.uses:
            if name not in known:
                raise SpecError(
                    f'the dimension "{name}" of the input {spec!r} is in an expression, and no '
                    "input has it by itself",
                    notes=known_names(known),
                )
    for spec in out_specs:
        if isinstance(spec, Scalar):
            raise SpecError(
                f"{spec!r} is among the outputs; a kernel writes tensors: Tile({spec.dtype})"
            )
        for name in spec.uses:
            if name not in known:
                raise SpecError(
                    f'the dimension "{name}" of the output {spec!r} is in no input',
                    notes=known_names(known),
                )


def run_time_sizes(specs: Iterable[Spec | None], run_time: Iterable[str]) -> tuple[str, ...]:
    """The sizes that a kernel takes at each launch, as text, in the order of its parameters.

    They are the dimensions of `run_time` that the specs have, then the expressions of such.
    """
    tiles = [spec for spec in specs if spec is not None]
    used = {name for spec in tiles for name in spec.names}
    names = tuple(name for name in run_time if name in used)
    computed = dict.fromkeys(dim for spec in tiles for dim in spec.computed)
    return (*names, *(dim for dim in computed if {*expressions.names(dim)} & {*names}))


def check_dynamic(
    specs: Sequence[Spec],
    parallel: Sequence[str],
    dynamic: Sequence[str],
    keywords: Iterable[str],
    name: str,
) -> None:
    """What must hold of the dimensions whose size is a run-time value. Raises SpecError.

    A dynamic dimension is a dimension of a Tile and not parallel, neither is a compile-time
    keyword, and no expression has a parallel one: its indices would not be on their own.
    """
    known = {n for spec in specs for n in spec.names}.difference(keywords)
    for option, dims in (("parallel", parallel), ("dynamic", dynamic)):
        for dim in dims:
            if dim in keywords:
                raise SpecError(
                    f"{option}= names {dim!r}, which is a compile-time keyword of {name}",
                    notes=known_names(dict.fromkeys(sorted(known))),
                )
    for dim in dynamic:
        if dim not in known:
            raise SpecError(
                f"dynamic= names {dim!r}, which is no dimension of {name}",
                notes=known_names(dict.fromkeys(sorted(known))),
            )
        if dim in parallel:
            raise SpecError(
                f"{dim!r} of {name} is in parallel= and in dynamic=",
                notes=(
                    ("help", "parallel= alone: a run-time size, each index treated on its own"),
                    ("help", "dynamic= alone: a run-time size, and nothing more"),
                ),
            )
    for spec in specs:
        for text in spec.computed:
            for dim in expressions.names(text):
                if dim in parallel:
                    raise SpecError(
                        f'the dimension "{text}" of {spec!r} is computed from the parallel '
                        f'dimension "{dim}" of {name}, whose indices are each on their own',
                        notes=(("help", f"dynamic=({dim!r},): a run-time size, and nothing more"),),
                    )


def check_parallel(
    in_specs: Sequence[Spec], out_specs: Sequence[Spec], parallel: Sequence[str], name: str
) -> None:
    """What must hold between the specs of `name` and its parallel dimensions. Raises SpecError.

    Every parallel dimension is a dimension of a Tile, every starred one is parallel and has its
    star everywhere, and an output that lacks a parallel dimension is a sum over it.
    """
    known = {n for spec in (*in_specs, *out_specs) for n in spec.names}
    for dim in parallel:
        if dim not in known:
            raise SpecError(
                f"parallel= names {dim!r}, which is no dimension of {name}",
                notes=(("dimensions", ", ".join(sorted(known)) or "none"),),
            )
    for spec in in_specs:
        if isinstance(spec, Tile) and spec.sum_over:
            raise SpecError(f"{spec!r} is among the inputs; only an output is a sum")
    for spec in (*in_specs, *out_specs):
        _check_star(spec, (*in_specs, *out_specs), parallel, name)
    for spec in out_specs:
        if isinstance(spec, Tile):
            _check_sum(spec, parallel, name)


def _check_star(spec: Spec, specs: Sequence[Spec], parallel: Sequence[str], name: str) -> None:
    dim = spec.starred
    if dim is None:
        return
    if dim not in parallel:
        raise SpecError(
            f'"*{dim}" of {spec!r} stands for any number of axes, so {name} needs it parallel',
            notes=(("help", f"parallel={(*parallel, dim)!r}"),),
        )
    for other in specs:
        if dim in other.dims:
            raise SpecError(
                f'the dimension "{dim}" has a star in {spec!r} and none in {other!r}',
                notes=(("help", f'write "*{dim}" in both, or "{dim}"'),),
            )


def _check_sum(spec: Tile, parallel: Sequence[str], name: str) -> None:
    for dim in spec.sum_over:
        if dim not in parallel:
            raise SpecError(
                f'{spec!r} is a sum over "{dim}", which is no parallel dimension of {name}',
                notes=(("parallel", ", ".join(parallel) or "none"),),
            )
    missing = tuple(dim for dim in parallel if dim not in spec.names and dim not in spec.sum_over)
    if not missing:
        return
    sums = (*spec.sum_over, *missing)
    fixed = spec.like(spec.dtype, sum_over=sums, accumulate=spec.accumulate)
    raise SpecError(
        f'the output {spec!r} of {name} lacks the parallel dimension "{missing[0]}": '
        "what is written there must be a sum over it",
        notes=(("help", repr(fixed)),),
    )


def check_aliases(
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    aliases: Iterable[tuple[int, int]],
    name: str,
) -> None:
    """Inputs and outputs share buffers in pairs, each of one spec. Raises SpecError."""
    shared: dict[int, int] = {}
    for source, target in aliases:
        if not (0 <= source < len(in_specs) and 0 <= target < len(out_specs)):
            raise SpecError(
                f"input_output_aliases has {source}: {target}, and {name} has "
                f"{len(in_specs)} inputs and {len(out_specs)} outputs"
            )
        if _contents(in_specs[source]) != _contents(out_specs[target]):
            raise SpecError(
                f"input {source} is {in_specs[source]!r} and output {target} is "
                f"{out_specs[target]!r}: tensors that share a buffer need one spec"
            )
        other = shared.setdefault(target, source)
        if other != source:
            raise SpecError(
                f"input_output_aliases has {other}: {target} and {source}: {target}: an output "
                "shares its buffer with one input"
            )
        output = out_specs[target]
        if isinstance(output, Tile) and output.init is not None:
            raise SpecError(
                f"output {target} is {output!r} and shares its buffer with input {source}, whose "
                "values it holds before the kernel starts",
                notes=(("help", f"leave init={output.init!r} out"),),
            )


def _contents(spec: Spec) -> tuple[object, ...]:
    """What a spec says of the array itself, however a kernel reaches it."""
    return type(spec), spec.dims, spec.dtype, spec.sum_over, spec.accumulate
