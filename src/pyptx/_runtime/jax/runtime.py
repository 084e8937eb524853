"""Kernels as JAX operations: one primitive, opaque until it is lowered (`lowering`).

On CUDA the call carries the assembled kernels, on CPU the emulator's programs; both carry the plan,
and nothing in them refers to this process. Works with jax 0.10 and 0.11.
"""

# JAX's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial as apply_partially
from typing import Any, Final, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, export
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

from pyptx._binding import ARRAY_CONVERSION
from pyptx._launch.call import Call
from pyptx._runtime import levels, numpy, sanitizing, scalars, targets
from pyptx._runtime.jax import avals, lowering, partition, private, registration
from pyptx._runtime.shortcut import Shortcut
from pyptx._source import SourceLocation
from pyptx._tracebacks import boundary
from pyptx.errors import CallError

scalars_by_value: Final = False
"""Scalars live in device memory, and reading them on the host would wait for the device."""

conversion: Final = ARRAY_CONVERSION

pyptx_launch_p: Final[Any] = Primitive("pyptx_launch")
"""Launches a call. Its only parameter, `call`, is a Call: hashable by content."""
pyptx_launch_p.multiple_results = True


def launch(call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Run `call` on JAX arrays, tracers among them.

    Shapes and types have been checked. Raises CallError for a sharding that the kernel cannot take.
    """
    registration.register()
    for output in call.outputs:
        _check_x64(output.dtype, f"kernel {call.name} writes {output.dtype}")
    return tuple(pyptx_launch_p.bind(*_equally_varying(arrays), call=call))


def scalar(value: object, dtype: str, name: str) -> Any:
    """A run-time scalar as an operand: an array of rank 0.

    Of an array of JAX the value is checked where it is on a CPU, is of another type, and is no
    tracer. Otherwise only the type is: to read a value would make the host wait for the device.
    """
    if isinstance(value, jax.Array):
        scalars.check_kind(value.dtype, dtype, name)
        if value.dtype != dtype and _on_a_cpu(value):
            scalars.check(np.asarray(value), dtype, name)
    else:
        scalars.check(value, dtype, name)
    _check_x64(dtype, f"a scalar is {dtype}")
    return jnp.asarray(value, dtype=dtype)


def describe(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands have their shape and NumPy's type as they are."""
    return operands


def launch_with_scalars(
    call: Call, operands: Sequence[Any], arrays: Sequence[Any], shortcut: Shortcut
) -> tuple[Any, ...]:
    """`launch` of an operation with scalars."""
    del arrays, shortcut
    return launch(call, operands)


def remembered(
    call: Call, operands: Sequence[Any], shortcut: Shortcut
) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What launches the call on other arrays of the same classes, shapes and types."""
    del operands, shortcut
    return apply_partially(launch, call)


def _on_a_cpu(array: jax.Array) -> bool:
    """Whether the host can read an array where it is."""
    if isinstance(array, core.Tracer) or not array.is_fully_addressable:
        return False
    return all(device.platform == "cpu" for device in array.devices())


def _check_x64(dtype: str, what: str) -> None:
    """JAX would silently take the 32-bit type, and the kernel writes or reads 64 bits."""
    if np.dtype(dtype).itemsize == 8 and not jax.config.jax_enable_x64:
        raise CallError(
            f"{what}, and JAX has 64-bit types switched off",
            notes=(("help", 'jax.config.update("jax_enable_x64", True)'),),
        )


def _equally_varying(operands: Sequence[Any]) -> Sequence[Any]:
    """Inside shard_map every operand varies over the axes that any of them varies over."""
    axes = avals.varying([jax.typeof(operand) for operand in operands])
    if not axes:
        return operands
    return [_vary(operand, axes) for operand in operands]


def _vary(operand: Any, axes: frozenset[str]) -> Any:
    missing = axes - jax.typeof(operand).manual_axis_type.varying
    return jax.lax.pcast(operand, tuple(sorted(missing)), to="varying") if missing else operand


# ---- the primitive -------------------------------------------------------------------------------


@pyptx_launch_p.def_impl
def _run(*arrays: Any, call: Call) -> Any:
    avals.check_whole(call, arrays)
    if any(observer.statistics for observer in sanitizing.observers()):
        return list(map(jnp.asarray, numpy.launch(call, list(map(np.asarray, arrays)))))
    return xla.apply_primitive(pyptx_launch_p, *arrays, call=call)


@pyptx_launch_p.def_abstract_eval
def _abstract(*operands: Any, call: Call) -> list[Any]:
    return avals.output_avals(call, operands)


mlir.register_lowering(pyptx_launch_p, lowering.lower_cuda, platform="cuda")
mlir.register_lowering(pyptx_launch_p, lowering.lower_cpu, platform="cpu")


@boundary
def _batch(operands: Sequence[Any], dims: Sequence[int | None], *, call: Call) -> Any:
    """One launch for a mapped axis, which the call takes as its outermost level.

    Where the launch cannot take so many elements it runs several times, one after the other.
    """
    size = next(x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not None)
    # What is updated in place is updated for each element.
    shared = {source for source, _ in call.aliases}
    mapped = tuple(d is not None or i in shared for i, d in enumerate(dims))
    shapes = [
        x.shape if d is None else (*x.shape[:d], *x.shape[d + 1 :])
        for x, d in zip(operands, dims, strict=True)
    ]
    level = levels.level(call, mapped, shapes, size)
    taken = [
        _in_front(operand, dim, size) if at_level else operand
        for operand, dim, at_level in zip(operands, dims, level.mapped, strict=True)
    ]
    if level.width is None:
        results = pyptx_launch_p.bind(*taken, call=call.batched(level.mapped))
    else:
        results = _one_after_the_other(call, level.mapped, taken, level.width)
    return results, [0] * len(results)


def _in_front(operand: Any, dim: int | None, size: int) -> Any:
    if dim is None:
        return jnp.broadcast_to(operand, (size, *operand.shape))
    return jnp.moveaxis(operand, dim, 0)


def _one_after_the_other(
    call: Call, mapped: Sequence[bool], operands: Sequence[Any], width: int
) -> Any:
    """jax.lax.map over the mapped axis, `width` elements at a time."""

    def one(elements: Sequence[Any]) -> Any:
        following = iter(elements)
        return pyptx_launch_p.bind(
            *(next(following) if m else x for m, x in zip(mapped, operands, strict=True)), call=call
        )

    elements = [x for m, x in zip(mapped, operands, strict=True) if m]
    return jax.lax.map(one, elements, batch_size=width if width > 1 else None)


@boundary
def _no_derivative(primals: Any, tangents: Any, *, call: Call) -> NoReturn:
    raise NotImplementedError(
        f"kernel {call.name} has no derivative; wrap it in jax.custom_vjp "
        "with a kernel for the gradient"
    )


batching.primitive_batchers[pyptx_launch_p] = _batch
ad.primitive_jvps[pyptx_launch_p] = _no_derivative


# ---- for `pyptx.sanitize` ------------------------------------------------------------------------


def refuse_tracing(what: str, where: SourceLocation) -> None:
    """Raises CallError where JAX traces a function: nothing runs there."""
    if not private.runs_eagerly():
        raise CallError(
            f"{what} is entered in a function that JAX traces, and nothing runs there",
            location=where,
            notes=(("help", f"with {what}: f(x)   around the call of the jitted function"),),
        )


def wait() -> None:
    """Until the programs that this thread has dispatched to CPUs have ended, well or not.

    XLA runs the programs of one thread, and those of one device, in turn, so one that does nothing
    on every device ends after them. Programs whose results are alive have ended too, whoever
    dispatched them.
    """
    if "cpu" not in private.started_backends():
        return
    devices = jax.local_devices(backend="cpu")
    mesh = jax.sharding.Mesh(np.asarray(devices), ("devices",))
    each = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("devices"))
    for where in {each, devices[0]}:
        zeros = np.zeros(len(devices), np.float32)
        jax.block_until_ready(_nothing(jax.device_put(zeros, where)))
    for array in jax.live_arrays("cpu"):
        with contextlib.suppress(RuntimeError):  # what failed, or was donated meanwhile
            array.block_until_ready()


@jax.jit
def _nothing(x: Any) -> Any:
    return x + 1


# ---- what JAX is told ----------------------------------------------------------------------------


def safety_checks() -> list[Any]:
    """What jax.export must be told to allow kernels in an exported program."""
    names = (registration.CUDA_TARGET, registration.CPU_TARGET, partition.TARGET)
    return [export.DisabledSafetyCheck.custom_call(name) for name in names]


_targets_state: Final[Any] = private.cache_key_state(
    "pyptx_lowering_targets", None, "The targets that pyptx.target(...) names."
)


def _separate_caches(names: str) -> AbstractContextManager[None]:
    return _targets_state(names)


targets.hooks.append(_separate_caches)
