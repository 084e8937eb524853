"""From a call to an XLA custom call, chosen by what the program around it is for.

| the program is for | and the call becomes |
|---|---|
| one device, or inside `shard_map` over all axes of a mesh | the handler's custom call |
| several devices | one that XLA's partitioner replaces by the handler's (`partition`) |

Inside `shard_map` over some axes of a mesh the partitioner sees the other axes only, and not which
devices they stand for, so a sum stays whole there: every device along those axes computes all of
it.
"""

# JAX's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import core
from jax.interpreters import mlir

from pyptx._launch.call import Call
from pyptx._launch.description import TensorSpec
from pyptx._runtime import targets
from pyptx._runtime.assembling import assembled, assembler_of
from pyptx._runtime.jax import partition, registration
from pyptx._tracebacks import boundary


@boundary
def lower_cuda(ctx: Any, *operands: Any, call: Call) -> Any:
    """The rule for CUDA: the call carries the assembled kernels, a cubin for each target."""
    chosen = targets.lowering_targets(call.arch, _cuda_capabilities)
    call = call.lowered_for(chosen)

    def code(call: Call) -> dict[str, Any]:
        cubins = assembled(call.code, chosen)
        steps = {
            str(i): {name: np.frombuffer(cubin.code, np.uint8) for name, cubin in step.items()}
            for i, step in enumerate(cubins)
        }
        assembler = assembler_of(cubins)
        return {"cubins": steps, "assembler": np.int64(assembler)}

    return _lower(registration.CUDA_TARGET, code, ctx, operands, call)


@boundary
def lower_cpu(ctx: Any, *operands: Any, call: Call) -> Any:
    """The rule for CPU: the call carries the emulator's programs."""
    call = call.lowered_for(targets.emulated())

    def code(call: Call) -> dict[str, Any]:
        images = {str(i): np.frombuffer(code.image(), np.uint8) for i, code in enumerate(call.code)}
        several = _device_count(ctx.module_context.axis_context) > 1
        return {"images": images, **({"several_devices": True} if several else {})}

    return _lower(registration.CPU_TARGET, code, ctx, operands, call)


def _device_count(context: Any) -> int:
    if isinstance(context, mlir.SPMDAxisContext):
        return context.mesh.size
    return context.num_devices if isinstance(context, mlir.ShardingContext) else 1


def _cuda_capabilities() -> list[str]:
    """Compute capabilities of the CUDA devices that this process sees; none is no error."""
    try:
        devices = jax.devices("cuda")
    except RuntimeError:
        return []
    return [device.compute_capability for device in devices]


def _lower(
    target: str,
    code: Callable[[Call], dict[str, Any]],
    ctx: Any,
    operands: Sequence[Any],
    call: Call,
) -> Any:
    """`code` gives the handler's attributes with the code of a call.

    The partitioner sets the shapes of each device after this, so only other programs are of fixed
    shapes here, and can leave out the steps that these never launch.
    """

    def attributes(call: Call) -> dict[str, Any]:
        return {"plan": str(call.plan), **code(call)}

    # Without operands there is nothing that is split, and Shardy has no rule for that.
    if not operands or not _partitioned(ctx.module_context.axis_context):
        launched = call.launched_for([aval.shape for aval in ctx.avals_in])
        return _custom_call(target, attributes(launched), ctx, operands, call)
    return partition.lower(ctx, operands, _configuration(target, attributes, ctx, call))


def _partitioned(context: Any) -> bool:
    """Whether XLA's partitioner will see the program with whole tensors."""
    if isinstance(context, mlir.SPMDAxisContext):
        free = set(context.mesh.axis_names) - set(context.manual_axes)
        return any(context.mesh.shape[name] > 1 for name in free)
    return _device_count(context) > 1


def _custom_call(
    target: str, attributes: dict[str, Any], ctx: Any, operands: Sequence[Any], call: Call
) -> Any:
    """The handler's custom call. Scratch buffers are further results of it, which are dropped."""
    shapes = call.scratch_shapes([aval.shape for aval in ctx.avals_in])
    scratch = [
        core.ShapedArray(shape, np.dtype(tensor.dtype))
        for tensor, shape in zip(call.scratch, shapes, strict=True)
    ]
    emit = jax.ffi.ffi_lowering(target, operand_output_aliases=dict(call.aliases))
    results = emit(ctx.replace(avals_out=[*ctx.avals_out, *scratch]), *operands, **attributes)
    return results[: len(call.outputs)]


def _configuration(
    target: str, attributes: Callable[[Call], dict[str, Any]], ctx: Any, call: Call
) -> partition.Configuration:
    entries = {name: mlir.ir_attribute(value) for name, value in attributes(call).items()}
    inside = isinstance(ctx.module_context.axis_context, mlir.SPMDAxisContext)
    partial = None if inside else call.partial
    sums = sorted({name for output in call.outputs for name in output.sums})
    return partition.Configuration(
        target,
        str(mlir.ir.DictAttr.get(entries)),
        tuple(map(_tensor, call.inputs)),
        tuple(map(_tensor, call.outputs)),
        tuple(map(_tensor, call.scratch)),
        call.aliases,
        whole=(*call.whole, *(sums if inside else ())),
        strides=call.plan.strides,
        partial=partial and _configuration(target, attributes, ctx, partial),
    )


def _tensor(tensor: TensorSpec) -> partition.Tensor:
    element = str(mlir.dtype_to_ir_type(np.dtype(tensor.dtype)))
    return partition.Tensor(element, tensor.axes, tensor.sums)
