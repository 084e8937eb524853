"""Which kernels a norm is made of: by the length of its rows when it is compiled.

A new number of rows needs no new kernel: where a few rows want other kernels than many, a norm
has both, and each launch chooses. The sizes are what was fastest on an H200
(benchmarks/results/norm_*): short rows share a warp, a row that fits a CTA several times over is
loaded at once, and longer rows are split over as many CTAs as keep two or three of them on chip.

Each way says what it needs of a device (`needs` in its file); a device that does not allow it gets
the next one. The last of them, chunks, every device allows. Numbers of CTAs follow the SMs of the
device; the other sizes were measured on no other device than an H200.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeAlias

from pyptx import CallError, Kernel, KernelSequence, Tile, cond, device, lowered_for, sequence
from pyptx._target import Target
from pyptx.device import KIB, WARP
from pyptx.ops._rms import chunks, few, lanes, rows, strips, teams, twice
from pyptx.ops._rms.columns import column_sums
from pyptx.ops._rms.elements import power_of_two, rounded_up
from pyptx.ops._rms.geometry import Rows
from pyptx.ops._rms.gradient import FEW
from pyptx.types import DType, f32

Operation: TypeAlias = "Kernel | KernelSequence"

_EVERYWHERE: Final = ("bf16", "createpolicy", "cp.async")
"""Features of all devices that there are kernels for."""

_BESIDE: Final = 1 * KIB
"""Bytes of shared memory that are left for what is allocated beside rows and weights."""

_TWICE: Final = 4096 * KIB
"""Bytes of x that are quicker read twice, forward; twice as many backward.

The second time they are in the L2 cache.
"""

_SOON: Final = 32 * KIB * KIB
"""Bytes of x that are read so soon that beginning and end take a good part of the time."""

_LITTLE: Final = 8 * KIB * KIB
"""Bytes of x, of 16 bits, so few that rows are better off spread over more CTAs."""

_ROW: Final = 4096
"""Groups of a row that leaves room for other CTAs beside its own."""

_GRID: Final = 128
"""CTAs of a team that is larger than a cluster."""

_LINES: Final = 32
"""Units of a row that is worth cutting at lines."""

_STAGES: Final = 4
"""Rows that a CTA of a cluster holds; more would delay the first ones."""


@cache
def forward(what: Rows, eps: float, *, invvar: bool) -> Operation:
    """x[*B, N], w[N] to y[*B, N], and r[*B] with `invvar`."""
    operation = _forward_of_many(what, eps, invvar=invvar)
    if what.groups > _ROW:
        operation = _forward_of_some(what, eps, operation, invvar=invvar)
    for parts, most in _together(what).items():
        operation = _either(most, _forward_by_parts(what, eps, parts, invvar=invvar), operation)
    return operation


def _forward_of_some(what: Rows, eps: float, operation: Operation, *, invvar: bool) -> Operation:
    """By chunks, few long rows; by `operation`, more of them."""
    size = _size(what)
    if size > _TWICE:
        return operation
    # Of a few long rows there are more chunks than CTAs that could share a row.
    most, shape = _TWICE // size, _strips(what, backward=False)
    if what.x.bytes == 2 and shape is not None and not shape.grid:
        most = min(most, max(3, _TWICE // 4 // size))
    by_chunks = _chunked_forward(what, eps, invvar=invvar, each=2)
    return _either(most, by_chunks, operation)


def _forward_of_many(what: Rows, eps: float, *, invvar: bool) -> Operation:
    """The kernels that keep a whole device busy."""
    # With more than three groups for each thread, a row is better off with a CTA of its own.
    if _short(what) and what.divided().groups <= (3 if what.aligned else 2) * WARP:
        one = what.divided().groups <= WARP
        most = 32 if _plain(what) and one else None

        def by_lanes(accesses: int, threads: int) -> Kernel:
            shape = replace(_teams(what, accesses), threads=threads)
            return lanes.forward(what, eps, shape, invvar=invvar, maxnreg=most)

        many = by_lanes(4 if one else 1, 128)
        if not one or what.x.bytes > 2:
            return many
        size = _size(what)
        some = _either(2 * _LITTLE // size, by_lanes(4, 256), many)
        return _either(_LITTLE // size, by_lanes(2, 256), some)
    if what.columns * max(what.x.bytes, what.weight.bytes) <= 128 * KIB:
        by_rows = _forward_by_rows(what, eps, invvar=invvar)
        if by_rows is not None:
            return by_rows
    shape = _strips(what, backward=False)
    if shape is None:
        return _chunked_forward(what, eps, invvar=invvar)
    norm = strips.forward(what, eps, shape, invvar=invvar)
    return _grid_forward(what, shape, norm) if shape.grid else norm


@cache
def backward(what: Rows, result: DType) -> KernelSequence:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and dw[N] of type `result`."""
    found = _backward_of_many(what, result)
    for most, fewer in (_backward_of_some(what, result), _backward_of_few(what, result)):
        if fewer is not None:
            found = _either_backward(most, fewer, found)
    return found


def _backward_of_some(what: Rows, result: DType) -> tuple[int, Operation | None]:
    """Rows over twice as many CTAs, which leave half as many partial sums of dw.

    And for how many rows it is quicker; None for none.
    """
    parts = 1
    if not _by_teams(what):
        strip = _strips(what, backward=True)
        parts = 16 if strip is None else strip.parts
    if what.x.bytes > 2 or what.groups <= 512 or parts > 4:
        return 0, None
    shape = _clusters(what, 2 * parts, backward=True)
    if shape is None:
        return 0, None
    gradient = strips.backward(what, shape)
    most = _LITTLE // _size(what)
    return most, _backward(what, gradient, shape.teams, 1, result)


def _backward_of_few(what: Rows, result: DType) -> tuple[int, Operation | None]:
    """What needs no partial sums of dw, and for how many rows it is quicker; None for none."""
    shape = _few(what.divided())
    if shape is not None:
        return shape.together, few.backward(what.divided(), shape, result)
    size = _size(what)
    most = min(twice.MOST if what.x.bytes == 2 else twice.MOST // 2, 2 * _TWICE // size)
    # Short rows get here only where there are no clusters, and then the other kernels are as quick.
    if most == 0 or not what.aligned or _short(what):
        return 0, None
    return most, twice.backward(what, twice.Shape(128, 4 if most >= 4 else 2), result)


def _backward_of_many(what: Rows, result: DType) -> KernelSequence:
    """The kernels that keep a whole device busy."""
    if _short(what) and what.divided().groups <= (2 if what.x.bytes == 2 else 4) * WARP:
        team = _teams(what, accesses=3)
        most = 128 if _plain(what) and what.divided().groups <= WARP else None
        ctas = 2 * what.device.multiprocessors
        gradient: Operation = lanes.backward(what, team, ctas=ctas, maxnreg=most)
        return _backward(what.divided(), gradient, ctas, team.rows, result)
    cut = _in_lines(what, _team_threads(what), backward=True)
    shape = _resident(cut) if _by_teams(what) else None
    if shape is not None:
        gradient = teams.backward(cut, shape)
        return _backward(cut, gradient, shape.ctas, shape.beside(cut), result)
    strip = _strips(what, backward=True)
    if strip is None:
        return _chunked_backward(what, result)
    norm = strips.backward(what, strip)
    gradient = _grid_backward(what, strip, norm) if strip.grid else norm
    return _backward(what, gradient, strip.teams, 1, result)


# ---- the operation: a choice for each list of targets --------------------------------------------


@cache
def norm(what: Rows, eps: float, *, invvar: bool) -> KernelSequence:
    """x[*B, N], w[N] to y[*B, N], and r[*B] with `invvar`, on whatever it is lowered for."""

    @sequence(
        in_specs=what.forward_inputs,
        out_specs=what.forward_outputs(invvar=invvar),
        parallel=("B",),
    )
    def rms_norm(x: Any, w: Any) -> Any:
        return forward(_on_targets(what), eps, invvar=invvar)(x, w)

    return rms_norm


@cache
def gradients(what: Rows, result: DType) -> KernelSequence:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and dw[N] of type `result`, likewise."""
    dw = Tile(*what.shape, result, sum_over="B", accumulate=what.compute)

    @sequence(in_specs=what.backward_inputs, out_specs=(what.tensor(what.x), dw), parallel=("B",))
    def rms_norm_backward(g: Any, r: Any, x: Any, w: Any) -> tuple[Any, ...]:
        return backward(_on_targets(what), result)(g, r, x, w)

    return rms_norm_backward


def check(targets: Iterable[Target]) -> None:
    """Raises CallError for a target that no kernel of the norm can be assembled for."""
    for target in targets:
        if not device.of(target).has(*_EVERYWHERE):
            raise CallError(
                f"rms_norm has no kernels for {target}",
                notes=(
                    ("legal", "sm_80 and later: bf16 and the cache policies of loads are theirs"),
                ),
            )


def _on_targets(what: Rows) -> Rows:
    targets = lowered_for()
    check(targets)
    return replace(what, device=device.common(targets))


# ---- sizes ---------------------------------------------------------------------------------------


def _plain(what: Rows) -> bool:
    """Whether groups are 16 bytes of x and of w, in f32, so that few registers hold them."""
    return what.compute is f32 and what.x.bytes == what.weight.bytes


def _short(what: Rows) -> bool:
    """Whether part of a warp takes a row, each thread four accesses at most."""
    return what.divided().groups <= 4 * WARP and _size(what) <= 2 * KIB


def _teams(what: Rows, accesses: int) -> lanes.Teams:
    groups = what.divided().groups
    count = min(WARP, power_of_two(groups))
    return lanes.Teams(count, max(1, accesses // -(-groups // count)), 256)


def _threads(groups: int, each: int) -> int:
    """As many threads, in whole warps, as take so many groups with `each` of them at most."""
    return rounded_up(-(-groups // each), WARP)


def _row(what: Rows) -> tuple[int, bool, int | None]:
    """Threads of a CTA, whether it keeps the row in registers, and how many of those it has."""
    groups = what.groups
    regular = groups == power_of_two(groups)
    if groups > _ROW:
        return 1024, False, None
    if groups > 2048 and (regular or not _plain(what)):
        return 256, False, 80 if _plain(what) else None
    if groups > (512 if what.x.bytes == 2 else 2048 if regular else 1024):
        return 128, False, None
    if regular:
        return min(512, max(WARP, groups // 2)), True, None
    # Of other numbers three each leave fewer threads without a group than a power of two would.
    threads = max(2 * WARP, _threads(groups, 3))
    lines = replace(what, lines=True)
    if not what.aligned and what.columns >= _LINES * lines.unit:
        threads = max(2 * lines.unit, threads)  # for the ends of rows that are cut at lines
    return threads, True, None


def _at_most(rows: int) -> Callable[[Any], Any]:
    """Whether there are so few rows; a lambda by itself has no types."""
    return lambda B: rows >= B


def _few(what: Rows) -> few.Shape | None:
    """A cluster in which each thread has one group of eight rows, or of four longer ones."""
    groups = what.groups
    parts = min(16, max(2, power_of_two(-(-groups // 128))), max(2, what.device.cluster))
    threads = _threads(groups, parts)
    shape = few.Shape(parts, threads, 8 if what.xs.words + what.ws.words <= 8 else 4)
    return shape if threads <= 256 and what.device.allows(few.needs(shape)) else None


def _in_lines(what: Rows, threads: int, *, backward: bool = False) -> Rows:
    """The rows cut at lines, if they are many lines long and threads enough for their ends.

    Forward, 16-bit rows of whole groups are not: so many ends, element by element, cost more.
    """
    if what.aligned and what.x.bytes == 2 and not backward:
        return what
    lines = replace(what, lines=True)
    return lines if what.columns >= _LINES * lines.unit and threads >= 2 * lines.unit else what


def _team_threads(what: Rows) -> int:
    """Threads of a team; where rows have ends, two of them have registers for 512.

    Otherwise a thread has two groups, if it holds the sums of both in registers twice.
    """
    groups = what.groups
    threads = power_of_two(groups)
    if _plain(what) and what.aligned:
        if groups > 512 and groups != threads:
            # Fewer threads without a group, and room for a second team where sums take few bytes.
            most = 256 if what.x.bytes > 2 and groups <= 768 else 512
            return _threads(groups, -(-groups // most))
        threads //= 2
    most = 256 if groups <= 512 and not what.aligned else 512
    return min(most, max(WARP, threads))


def _size(what: Rows) -> int:
    """Bytes of x in a row."""
    return what.columns * what.x.bytes


def _read(what: Rows) -> int:
    """Bytes of x and g in a row."""
    return what.columns * (what.x.bytes + what.weight.bytes)


def _by_teams(what: Rows) -> bool:
    """Whether a CTA holds rows of a gradient and all sums of their columns."""
    # Without ends, clusters of two are quicker than CTAs that hold but three rows.
    fits = _read(what) <= (60 if what.aligned else 66) * KIB
    most = 576 if _plain(what) and what.aligned else 512
    return fits and what.columns * what.compute.bytes <= most * FEW


def _resident(what: Rows) -> teams.Shape | None:
    """Teams that fit a CTA, and three rows for each: more of them would only delay the first.

    None where not even one team with one row fits.
    """
    threads = _team_threads(what)
    sums = -(-what.groups // threads) * what.group * what.compute.bytes
    most = 1 if sums > FEW else min(8, 512 // threads)
    ctas = _aligned(max(what.device.multiprocessors, what.alignments), what)
    for count in range(most, 0, -1):
        room = _room(what) - (count - 1) * threads * (sums + what.compute.bytes)
        stages = min(3, room // (count * (_read(what) + 256)))
        shape = teams.Shape(ctas, count, threads, stages)
        if stages > 0 and what.device.allows(teams.needs(what, shape)):
            return shape
    return None


def _room(what: Rows) -> int:
    """Bytes of a CTA's shared memory for rows and weights."""
    return what.device.cta_shared - _BESIDE


def _strips(what: Rows, *, backward: bool) -> strips.Shape | None:
    """How rows are split: into strips of 22 to 44 KiB of what is read, if clusters allow it.

    None where no team can hold three rows, or where there cannot be a team for each way in which
    rows are cut.
    """
    size = _read(what) if backward else _size(what)
    most = (42 if backward else 36) * KIB
    parts = min(16, max(2, power_of_two(-(-size // most))), max(2, what.device.cluster))
    if what.device.resident_clusters(parts) < what.alignments:
        parts //= 2
    if size // parts * 3 <= _room(what):
        return _clusters(what, parts, backward=backward)
    # Teams of a grid wait for each other's CTAs, so all of them must run at once: one team.
    return _shape(what, _GRID, 1, backward=backward) if what.aligned else None


def _clusters(what: Rows, parts: int, *, backward: bool) -> strips.Shape | None:
    """As many clusters of that many CTAs as run at once; None where they are fewer than needed."""
    count = what.device.resident_clusters(parts)
    if count < what.alignments:
        return None
    return _shape(what, parts, count, backward=backward)


def _shape(what: Rows, parts: int, count: int, *, backward: bool) -> strips.Shape | None:
    """Teams of `parts` CTAs, `count` of which run at once. None where a device has no room."""
    grid = parts == _GRID
    most = what.part(parts)
    stage = rounded_up(most * what.xs.bytes)
    if backward:
        stage += rounded_up(most * what.ws.bytes)
    weights = most * what.ws.bytes
    room = _room(what) - (0 if grid else 8 * parts * 4)
    if 3 * stage > room:
        return None
    shared = not grid and 3 * stage + weights <= room
    held = min(6 if grid else _STAGES, (room - (weights if shared else 0)) // stage)
    threads = _strip_threads(what, most) if backward and not grid else 512
    shape = strips.Shape(_aligned(count, what), parts, threads, held, 1, shared, grid)
    if grid:
        shape = _lagging(what, shape, room, backward=backward)
    return shape if what.device.allows(strips.needs(what, shape, backward=backward)) else None


def _lagging(what: Rows, shape: strips.Shape, room: int, *, backward: bool) -> strips.Shape:
    """Sums take longer through global memory: more rows are on their way, if they fit."""
    if shape.stages >= 5:
        return replace(shape, lag=shape.stages - 3)
    each = -(-what.part(shape.parts) // shape.threads)
    # In pieces of as many groups of each thread; then a stage is free as soon as one is written.
    pieces = -(-each // -(-each // 4))
    shape = replace(shape, pieces=pieces)
    held = room // strips.stage_bytes(what, shape, backward=backward)
    lag = (held - 2) // pieces - 1 if pieces > 1 else held - 3
    return replace(shape, stages=held, lag=lag)


def _strip_threads(what: Rows, groups: int) -> int:
    """Threads for that many groups of a gradient: 512, or two groups each where that fits better.

    Where rows have ends, more than 576 threads would not have registers enough.
    """
    most = 1280 if what.aligned else 1152
    if groups == power_of_two(groups) or not 512 < groups <= most:
        return 512
    return _threads(groups, 2)


def _aligned(count: int, what: Rows) -> int:
    """At most so many teams, such that all rows of each are cut alike."""
    assert count >= what.alignments
    return count // what.alignments * what.alignments


def _together(what: Rows) -> dict[int, int]:
    """Numbers of CTAs that add up a row together, and how many rows are quicker so.

    Each of them reads the whole row, but has only a part of it to write.
    """
    if what.groups <= 128 or what.groups > (2 * _ROW if _plain(what) else 2048):
        return {}
    half = what.device.multiprocessors // 2
    return ({4: half} if what.groups <= _ROW else {}) | ({8: 16} if what.groups > 1024 else {})


# ---- sequences -----------------------------------------------------------------------------------


def _forward_by_rows(what: Rows, eps: float, *, invvar: bool) -> Operation | None:
    """One CTA a row, or a few where rows are so few and long that they would end one by one.

    None where a CTA has no room for a row.
    """
    if not what.device.allows(rows.needs(what, direct=False)):
        return None

    def by_rows(threads: int, *, held: bool, **options: Any) -> Kernel:
        return _by_rows(what, eps, threads, held=held, invvar=invvar, **options)

    threads, held, most = _row(what)
    many = by_rows(threads, held=held, maxnreg=most)
    if what.groups > _ROW:
        shape = _clusters(what, 4, backward=False)
        if shape is None:
            return many
        return _either(
            4 * what.device.multiprocessors, strips.forward(what, eps, shape, invvar=invvar), many
        )
    if what.groups > (4096 if _plain(what) else 2048):
        return many  # of which the registers of a CTA would not hold a row
    size = _size(what)
    if 1024 < what.groups <= 2048 and held:
        many = _either(2 * _SOON // size, by_rows(128, held=False), many)
    # Where each CTA has a multiprocessor of its own, a copy would come too late. CTAs of short
    # rows are so many that others start while one of them waits.
    direct = by_rows(min(1024, max(WARP, power_of_two(what.groups) // 4)), held=True, direct=True)
    return _either(
        _SOON // size if what.groups <= 512 else what.device.multiprocessors, direct, many
    )


def _forward_by_parts(what: Rows, eps: float, parts: int, *, invvar: bool) -> Kernel:
    """As many CTAs a row as there are `parts`."""
    limits = (512, 128), (2048, 256), (4096, 512)
    threads = next((count for most, count in limits if what.groups <= most), 1024)
    # Without a number of registers the assembler uses few, and loads wait for others.
    most = min(255, 65536 // threads)
    return _by_rows(
        what, eps, threads, held=True, invvar=invvar, direct=True, parts=parts, maxnreg=most
    )


def _by_rows(what: Rows, eps: float, threads: int, **options: Any) -> Kernel:
    """CTAs of rows, cut at lines where that is quicker; the options are those of `rows.forward`."""
    return rows.forward(_in_lines(what, threads), eps, threads=threads, **options)


def _either(most: int, few: Operation, many: Operation) -> KernelSequence:
    """Forward, by `few` of up to `most` rows and by `many` of more."""

    @sequence(in_specs=many.in_specs, out_specs=many.out_specs, parallel=("B",))
    def rms_norm_forward(x: Any, w: Any) -> Any:
        return cond(_at_most(most), few, many, x, w)

    return rms_norm_forward


def _either_backward(most: int, few: Operation, many: Operation) -> KernelSequence:
    """Backward, by `few` of up to `most` rows and by `many` of more."""

    @sequence(in_specs=many.in_specs, out_specs=many.out_specs, parallel=("B",))
    def rms_norm_backward(g: Any, r: Any, x: Any, w: Any) -> tuple[Any, ...]:
        return cond(_at_most(most), few, many, g, r, x, w)

    return rms_norm_backward


def _backward(
    what: Rows, gradient: Operation, partials: int, rows_each: int, result: DType
) -> KernelSequence:
    """The kernel of the gradients, then the one that adds up its partial sums."""
    finish = column_sums(what, partials, rows_each, result)

    @sequence(
        in_specs=what.backward_inputs,
        out_specs=(what.tensor(what.x), finish.out_specs[0]),
        parallel=("B",),
    )
    def rms_norm_backward(g: Any, r: Any, x: Any, w: Any) -> tuple[Any, ...]:
        dx, partial = gradient(g, r, x, w)
        return dx, finish(partial, r)

    return rms_norm_backward


def _grid_forward(what: Rows, shape: strips.Shape, norm: Kernel) -> KernelSequence:
    """The norm after its mail has been cleared."""
    clear = strips.clear(what, shape)

    @sequence(in_specs=what.forward_inputs, out_specs=norm.out_specs[1:], parallel=("B",))
    def rms_norm_over_grid(x: Any, w: Any) -> tuple[Any, ...]:
        return norm(clear(x), x, w)[1:]

    return rms_norm_over_grid


def _grid_backward(what: Rows, shape: strips.Shape, gradient: Kernel) -> KernelSequence:
    """The gradients after their mail has been cleared."""
    clear = strips.clear(what, shape)

    @sequence(in_specs=what.backward_inputs, out_specs=gradient.out_specs[1:], parallel=("B",))
    def rms_norm_over_grid_backward(g: Any, r: Any, x: Any, w: Any) -> tuple[Any, ...]:
        return gradient(clear(x), g, r, x, w)[1:]

    return rms_norm_over_grid_backward


def _chunked_forward(
    what: Rows, eps: float, *, invvar: bool, each: int = chunks.EACH
) -> KernelSequence:
    squares = chunks.sums(what, gradient=False, each=each)
    norm = chunks.forward(what, eps, invvar=invvar, each=each)

    @sequence(in_specs=what.forward_inputs, out_specs=norm.out_specs, parallel=("B",))
    def rms_norm_by_chunks(x: Any, w: Any) -> Any:
        return norm(x, w, squares(x))

    return rms_norm_by_chunks


def _chunked_backward(what: Rows, result: DType) -> KernelSequence:
    # So few for rows that nothing but chunks can take; more where these are the common way.
    each = 1 if what.device.has("clusters") else 2
    count = max(8, each * what.device.multiprocessors // chunks.parts(what))
    count = _aligned(count, what)  # a group has 8 elements at most
    products = chunks.sums(what, gradient=True)
    gradient = chunks.backward(what, teams=count)
    finish = column_sums(what, count, 1, result)

    @sequence(
        in_specs=what.backward_inputs,
        out_specs=(what.tensor(what.x), finish.out_specs[0]),
        parallel=("B",),
    )
    def rms_norm_by_chunks_backward(g: Any, r: Any, x: Any, w: Any) -> tuple[Any, ...]:
        dx, partial = gradient(g, r, x, w, products(g, x, w))
        return dx, finish(partial, r)

    return rms_norm_by_chunks_backward
