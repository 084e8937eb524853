"""Kernels in programs for several devices: XLA's partitioner asks here how to split a call.

In such a program a call is a custom call to TARGET, which no device runs. Its configuration carries
everything that the partitioner's callback needs, so it also partitions in another process: in one
that loaded an exported program, or one that finds the program in the persistent cache. The
callback chooses how to split the call (`shardings`) and gives XLA a small program for one device: a
custom call to the handler, and a sum over devices for each output that is one: a reduce-scatter
where these want different parts of the sum, and an all-reduce where they want the same. Where it
adds up parts of a sum with `accumulate=`, the handler writes these in that type, and the sum is
rounded. XLA reshards the operands and results where they are not split that way.
"""

# JAX's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import jax
import numpy as np
from jax.interpreters import mlir

from pyptx import _expressions as expressions
from pyptx._launch import plan
from pyptx._runtime.jax import private, stablehlo
from pyptx._runtime.jax.private import HloSharding, SubgroupType
from pyptx._runtime.jax.shardings import Assignment, Axes, Split, Sum, Tiling, assign

TARGET: Final = "pyptx_partition"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A buffer of a call: StableHLO's name of its element type, and its axes.

    An axis is a size, or the name of a factor; `sums` names the factors that a result is a sum
    over.
    """

    element: str
    axes: Axes
    sums: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the custom call carries: the handler's target and attributes, and the buffers.

    `attributes` is the text of an MLIR dictionary. `aliases` are pairs (input, output). The factors
    in `whole` are not split. `strides` are those of tensor maps (`Plan.strides`), which have to
    hold on each device. `partial` is the same call with sums in the types to add up in, where these
    are others.
    """

    target: str
    attributes: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    scratch: tuple[Tensor, ...] = ()
    aliases: tuple[tuple[int, int], ...] = ()
    whole: tuple[str, ...] = ()
    strides: tuple[tuple[str, int], ...] = ()
    partial: Configuration | None = None

    def encode(self) -> str:
        """The text of it; that of equal calls is equal in every process."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def decode(text: bytes) -> Configuration:
        return _configuration(json.loads(text))


def _configuration(found: dict[str, Any]) -> Configuration:
    partial = found["partial"]
    return Configuration(
        found["target"],
        found["attributes"],
        *(_tensors(found[name]) for name in ("inputs", "outputs", "scratch")),
        aliases=tuple((source, target) for source, target in found["aliases"]),
        whole=tuple(found["whole"]),
        # Programs that were exported by earlier versions have none.
        strides=tuple((expression, unit) for expression, unit in found.get("strides", ())),
        partial=None if partial is None else _configuration(partial),
    )


def _tensors(found: list[dict[str, Any]]) -> tuple[Tensor, ...]:
    return tuple(Tensor(t["element"], tuple(t["axes"]), tuple(t["sums"])) for t in found)


def lower(ctx: Any, operands: Sequence[Any], call: Configuration) -> Any:
    """The custom call that XLA's partitioner will ask about."""
    avals = (*ctx.avals_in, *ctx.avals_out)
    # A rule states the sizes of its factors, and a factor has no size 0.
    ruled = all(isinstance(size, int) and size > 0 for aval in avals for size in aval.shape)
    attributes: dict[str, Any] = {}
    if ruled:
        shapes = [aval.shape for aval in avals]
        axes = [tensor.axes for tensor in (*call.inputs, *call.outputs)]
        rule = stablehlo.sharding_rule(axes, shapes, len(operands), call.whole)
        attributes["sdy.sharding_rule"] = mlir.ir.Attribute.parse(rule)
    emit = jax.ffi.ffi_lowering(
        TARGET,
        api_version=2,
        backend_config=call.encode(),
        skip_ffi_layout_processing=True,
        extra_attributes=attributes,
    )
    return emit(ctx, *operands)


# ---- callbacks -----------------------------------------------------------------------------------


def register() -> None:
    """Make the callbacks known to XLA; programs with calls are compiled afterwards."""
    private.register_partitioner(TARGET, _propagate, _partition, _infer)


def _propagate(user_sharding: Any, _shape: Any, _configuration: bytes) -> Any:
    """What users of the results ask for is as good as anything: `_partition` decides."""
    return user_sharding


def _infer(arg_shapes: Any, arg_shardings: Any, result_shape: Any, configuration: bytes) -> Any:
    """The results' shardings, where XLA propagates them and not Shardy."""
    call = Configuration.decode(configuration)
    results = result_shape.tuple_shapes() if result_shape.is_tuple() else [result_shape]
    shapes = [shape.dimensions() for shape in (*arg_shapes, *results)]
    found = _assigned(
        call, _tilings(call.inputs, shapes[: len(call.inputs)], arg_shardings), shapes
    )
    return _packed(result_shape, [_sharding(found.tiling(t.axes)) for t in call.outputs])


def _partition(
    arg_shapes: Any,
    arg_shardings: Any,
    result_shape: Any,
    result_sharding: Any,
    configuration: bytes,
) -> tuple[bytes, list[Any], Any]:
    """The program of one device, and the shardings of its operands and results."""
    call = Configuration.decode(configuration)
    tensors = (*call.inputs, *call.outputs)
    several = result_shape.is_tuple()
    results = result_shape.tuple_shapes() if several else [result_shape]
    shapes = [shape.dimensions() for shape in (*arg_shapes, *results)]
    given = [*arg_shardings, *(result_sharding.tuple_elements() if several else [result_sharding])]
    split = _tilings(tensors, shapes, given)
    found = _assigned(call, split, shapes)
    parts = [found.tiling(t.axes).shape(s) for t, s in zip(tensors, shapes, strict=True)]
    count = len(call.inputs)
    sums = [
        found.added(tensor.sums, axes, shape, tiling)
        for tensor, (axes, shape, tiling) in zip(call.outputs, split[count:], strict=True)
    ]
    run = _run(call, sums)
    program = stablehlo.local_program(
        run.target,
        run.attributes,
        [(t.element, shape) for t, shape in zip(call.inputs, parts[:count], strict=True)],
        [(t.element, shape) for t, shape in zip(run.outputs, parts[count:], strict=True)],
        aliases=run.aliases,
        scratch=_scratch(run, parts[:count]),
        sums=sums,
        elements=[tensor.element for tensor in call.outputs],
    )
    made = [*(found.tiling(t.axes) for t in call.inputs), *(each.tiling for each in sums)]
    wanted = [
        # XLA compares shardings by how they are written.
        sharding if tiling.gives(own) and _is_plain(sharding) else _sharding(own)
        for sharding, (_, _, tiling), own in zip(given, split, made, strict=True)
    ]
    return program.encode(), wanted[:count], _packed(result_shape, wanted[count:])


def _assigned(
    call: Configuration,
    split: Sequence[Split],
    shapes: Sequence[Sequence[int]],
) -> Assignment:
    """How the call is split, such that the strides of tensor maps are what the hardware takes.

    A factor is whole where its parts would break that: XLA gathers it. `shapes` are those of all
    inputs, then of all outputs.
    """
    whole, count = list(call.whole), len(call.inputs)
    sums = {name for tensor in call.outputs for name in tensor.sums}
    while True:
        found = assign(split[:count], split[count:], sums=sums, whole=whole)
        more = _misaligned(call, found, shapes)
        if not more:
            return found
        whole += more


def _misaligned(
    call: Configuration, found: Assignment, shapes: Sequence[Sequence[int]]
) -> list[str]:
    """The split factors of strides that are no multiple of their unit on one device."""
    tensors, count = (*call.inputs, *call.outputs), len(call.inputs)
    parts = [found.tiling(t.axes).shape(s) for t, s in zip(tensors, shapes, strict=True)]
    wrong: list[str] = []
    for expression, unit in call.strides:
        if plan.evaluate(expression, parts[:count], parts[count:]) % unit:
            axes = (
                (call.inputs if kind == "a" else call.outputs)[index].axes[axis]
                for kind, index, axis in plan.sizes_of(expression)
            )
            wrong += [axis for axis in axes if isinstance(axis, str) and axis in found.parts]
    return wrong


def _run(call: Configuration, sums: Sequence[Sum]) -> Configuration:
    """What the devices run: `partial` where one of its sums is added up over devices."""
    if call.partial is None:
        return call
    outputs = zip(call.outputs, call.partial.outputs, sums, strict=True)
    added = (each.is_sent for whole, part, each in outputs if whole != part)
    return call.partial if any(added) else call


def _tilings(
    tensors: Sequence[Tensor], shapes: Sequence[Sequence[int]], shardings: Sequence[Any]
) -> list[Split]:
    """What `assign` takes. A sharding is None where XLA has none yet."""
    devices = max((s.num_devices() for s in shardings if s is not None and s.is_tiled()), default=1)
    return [
        (tensor.axes, shape, _tiling(sharding, len(shape), devices))
        for tensor, shape, sharding in zip(tensors, shapes, shardings, strict=True)
    ]


def _tiling(sharding: Any, rank: int, devices: int) -> Tiling:
    """XLA's sharding of a tensor as a table; its dimensions beyond `rank` are of copies."""
    if sharding is None or not sharding.is_tiled():
        return Tiling((1,) * rank, np.zeros((devices, rank), np.int64))
    parts: list[int] = sharding.tile_assignment_dimensions()
    assigned = np.asarray(sharding.tile_assignment_devices(), np.int64)
    places = np.stack(np.unravel_index(np.argsort(assigned), parts), axis=1)
    return Tiling(tuple(parts[:rank]), places[:, :rank])


def _is_plain(sharding: Any) -> bool:
    """Whether a sharding is that of parts or of copies, and not a state that XLA passes through."""
    return sharding is not None and (sharding.is_tiled() or sharding.is_replicated())


def _sharding(tiling: Tiling) -> Any:
    """A sharding in XLA's form."""
    if set(tiling.parts) <= {1}:
        return HloSharding.replicate()
    return HloSharding.subgroup_with_device_ordering(tiling.holders(), [SubgroupType.REPLICATED])


def _scratch(call: Configuration, inputs: Sequence[Sequence[int]]) -> list[stablehlo.Shaped]:
    """The scratch buffers of a device whose inputs have these shapes; their factors are theirs."""
    sizes = {
        axis: size
        for tensor, shape in zip(call.inputs, inputs, strict=True)
        for axis, size in zip(tensor.axes, shape, strict=True)
        if isinstance(axis, str)
    }
    return [
        (tensor.element, [expressions.axis_size(axis, sizes) for axis in tensor.axes])
        for tensor in call.scratch
    ]


def _packed(shape: Any, shardings: Sequence[Any]) -> Any:
    return HloSharding.tuple_sharding(shape, shardings) if shape.is_tuple() else shardings[0]
