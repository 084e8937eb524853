"""Kernels as JAX operations: one primitive, opaque until it is lowered to an XLA custom call.

On CUDA the call carries the assembled kernel, on CPU the emulator's program; both carry the plan,
and nothing in them refers to this process. Works with jax 0.10 and 0.11.
"""

# JAX's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, export
from jax._src import config as jax_config
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla
from jax.sharding import NamedSharding, PartitionSpec

from pyptx.errors import CallError
from pyptx.launch.call import Call
from pyptx.runtime import registration, targets

scalars_by_value: Final = False
"""Scalars live in device memory, and reading them on the host would wait for the device."""

pyptx_launch_p: Final[Any] = Primitive("pyptx_launch")
"""Launches a kernel. Its only parameter, `call`, is a Call: hashable by content."""
pyptx_launch_p.multiple_results = True
pyptx_launch_p.def_impl(partial(xla.apply_primitive, pyptx_launch_p))


def launch(call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Run `call` on JAX arrays, tracers among them.

    Shapes and types have been checked. Raises CallError for a sharding that the kernel cannot take.
    """
    registration.register()
    for output in call.outputs:
        _check_x64(output.dtype, f"kernel {call.name} writes {output.dtype}")
    for tensor, array in zip(call.inputs, arrays, strict=True):
        _check_sharding(call, tensor.name, array)
    return tuple(pyptx_launch_p.bind(*_equally_varying(arrays), call=call))


def scalar(value: object, dtype: str) -> Any:
    """A run-time scalar as an operand: an array of rank 0."""
    _check_x64(dtype, f"a scalar is {dtype}")
    return jnp.asarray(value, dtype=dtype)


def _check_x64(dtype: str, what: str) -> None:
    """JAX would silently take the 32-bit type, and the kernel writes or reads 64 bits."""
    if np.dtype(dtype).itemsize == 8 and not jax.config.jax_enable_x64:
        raise CallError(
            f"{what}, and JAX has 64-bit types switched off",
            notes=(("help", 'jax.config.update("jax_enable_x64", True)'),),
        )


def _check_sharding(call: Call, name: str, operand: Any) -> None:
    """A kernel sees whole tensors; where JAX shows that a dimension is split, say so."""
    aval = jax.typeof(operand)
    spec: Sequence[Any] = aval.sharding.spec
    if not isinstance(operand, core.Tracer):
        sharding = operand.sharding
        if sharding.num_devices == 1 or sharding.is_fully_replicated:
            return
        spec = getattr(sharding, "spec", (str(sharding),))
    for axis, mesh_axes in enumerate(spec):
        if mesh_axes is not None:
            raise CallError(
                f"dimension {axis} of {name} is sharded over {mesh_axes!r}, and kernel {call.name} "
                "needs it whole",
                notes=(("help", "call the kernel inside jax.shard_map, or replicate the array"),),
            )


def _equally_varying(operands: Sequence[Any]) -> Sequence[Any]:
    """Inside shard_map every operand varies over the axes that any of them varies over."""
    axes = _varying([jax.typeof(operand) for operand in operands])
    if not axes:
        return operands
    return [_vary(operand, axes) for operand in operands]


def _vary(operand: Any, axes: frozenset[str]) -> Any:
    missing = axes - jax.typeof(operand).manual_axis_type.varying
    return jax.lax.pcast(operand, tuple(sorted(missing)), to="varying") if missing else operand


def _varying(avals: Sequence[Any]) -> frozenset[str]:
    return frozenset[str]().union(*(aval.manual_axis_type.varying for aval in avals))


@pyptx_launch_p.def_abstract_eval
def _abstract(*avals: Any, call: Call) -> list[Any]:
    meshes = (*(aval.sharding.mesh for aval in avals), jax.sharding.get_abstract_mesh())
    mesh = next((mesh for mesh in meshes if not mesh.empty), None)
    typing: dict[str, Any] = {}
    if mesh is not None:
        typing["sharding"] = NamedSharding(mesh, PartitionSpec())
        typing["manual_axis_type"] = jax.sharding.ManualAxisType(varying=_varying(avals))
    shapes = call.output_shapes([aval.shape for aval in avals])
    return [
        core.ShapedArray(shape, np.dtype(output.dtype), **typing)
        for output, shape in zip(call.outputs, shapes, strict=True)
    ]


def _lower_cuda(ctx: Any, *operands: Any, call: Call) -> Any:
    chosen = targets.lowering_targets(call.arch, _cuda_capabilities)
    cubins = [{str(target): code.cubin(target) for target in chosen} for code in call.code]
    assembler = max(cubin.assembler_major for step in cubins for cubin in step.values())
    code = {
        str(i): {name: np.frombuffer(cubin.code, np.uint8) for name, cubin in step.items()}
        for i, step in enumerate(cubins)
    }
    return _custom_call(
        registration.CUDA_TARGET, ctx, operands, call, cubins=code, assembler=np.int64(assembler)
    )


def _lower_cpu(ctx: Any, *operands: Any, call: Call) -> Any:
    images = {str(i): np.frombuffer(code.image(), np.uint8) for i, code in enumerate(call.code)}
    return _custom_call(registration.CPU_TARGET, ctx, operands, call, images=images)


def _custom_call(
    name: str, ctx: Any, operands: Sequence[Any], call: Call, **attributes: Any
) -> Any:
    """The custom call with the scratch buffers as further results, which are dropped."""
    shapes = call.scratch_shapes([aval.shape for aval in ctx.avals_in])
    scratch = [
        core.ShapedArray(shape, np.dtype(tensor.dtype))
        for tensor, shape in zip(call.scratch, shapes, strict=True)
    ]
    lower = jax.ffi.ffi_lowering(name, operand_output_aliases=dict(call.aliases))
    whole = ctx.replace(avals_out=[*ctx.avals_out, *scratch])
    return lower(whole, *operands, plan=str(call.plan), **attributes)[: len(call.outputs)]


def _cuda_capabilities() -> list[str]:
    """Compute capabilities of the CUDA devices that this process sees; none is no error."""
    try:
        devices = jax.devices("cuda")
    except RuntimeError:
        return []
    return [device.compute_capability for device in devices]


mlir.register_lowering(pyptx_launch_p, _lower_cuda, platform="cuda")
mlir.register_lowering(pyptx_launch_p, _lower_cpu, platform="cpu")


def _no_batching(args: Any, dims: Any, *, call: Call) -> NoReturn:
    raise NotImplementedError(
        f"kernel {call.name} is under jax.vmap, which kernels do not support yet; "
        "jax.lax.map runs it once per element"
    )


def _no_derivative(primals: Any, tangents: Any, *, call: Call) -> NoReturn:
    raise NotImplementedError(
        f"kernel {call.name} has no derivative; wrap it in jax.custom_vjp "
        "with a kernel for the gradient"
    )


batching.primitive_batchers[pyptx_launch_p] = _no_batching
ad.primitive_jvps[pyptx_launch_p] = _no_derivative


def safety_checks() -> list[Any]:
    """What jax.export must be told to allow kernels in an exported program."""
    names = (registration.CUDA_TARGET, registration.CPU_TARGET)
    return [export.DisabledSafetyCheck.custom_call(name) for name in names]


# Lowering depends on pyptx.target, so the names take part in the keys of JAX's caches.
_targets_state: Final[Any] = jax_config.string_or_object_state(
    "pyptx_lowering_targets",
    None,
    "The targets that pyptx.target(...) names.",
    include_in_jit_key=True,
    include_in_trace_context=True,
)


def _separate_caches(names: str) -> AbstractContextManager[None]:
    return _targets_state(names)


targets.hooks.append(_separate_caches)
