"""The operators of PyTorch that calls are where they are not run at once.

`pyptx::launch` is any call, and `pyptx::launch_` one that updates inputs where they are; which call
it is is their last argument, a text (`programs`). So a program that has them is compiled, exported
and differentiated as others are: what they do on tensors without data, under `torch.func.vmap` and
on either device follows from the call.
"""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import torch
from torch.autograd import forward_ad

from pyptx._launch.call import Call
from pyptx._runtime import levels
from pyptx._runtime.shortcut import MISSED
from pyptx._runtime.torch import execution, fast, programs
from pyptx._runtime.torch.tensors import DTYPES, device_of
from pyptx.errors import CallError

LAUNCH: Final = "pyptx::launch"
LAUNCH_IN_PLACE: Final = "pyptx::launch_"


def apply(call: Call, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a call as an operator: fresh tensors, and the inputs that it updates.

    Raises NotImplementedError for tensors with a tangent: PyTorch would drop it.
    """
    refuse_jit_trace()
    for tensor, spec in zip(tensors, call.inputs, strict=True):
        if tensor.is_nested:
            raise CallError(
                f"{spec.name} is a nested tensor, and kernel {call.name} reads a dense one",
                notes=(("help", f"pass {spec.name}.values(), or to_padded_tensor(0.0)"),),
            )
    if forward_ad._current_level >= 0:  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        _refuse_tangents(call, tensors)
    if not call.aliases:
        return _fresh_results(call, tensors)
    by_output = {output: tensors[source] for source, output in call.aliases}
    if _transformed():
        results = _fresh_results(call, tensors)
        for output, tensor in by_output.items():
            tensor.copy_(results[output])
        return tuple(by_output.get(i, result) for i, result in enumerate(results))
    empty = _without_data(call, tensors)
    written = [by_output.get(i, result) for i, result in enumerate(empty)]
    torch.ops.pyptx.launch_(_without(call, tensors), written, programs.text(call))
    return tuple(written)


def refuse_jit_trace() -> None:
    """Raises CallError while `torch.jit.trace` traces.

    Results would be constants of its program, or calls in it that this process alone knows.
    """
    if torch._C._is_tracing():  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        raise CallError(
            "torch.jit.trace records no kernels",
            notes=(("help", "torch.export.export and torch.compile do"),),
        )


def _refuse_tangents(call: Call, tensors: Sequence[Any]) -> None:
    if any(forward_ad.unpack_dual(_unmapped(each)).tangent is not None for each in tensors):
        raise NotImplementedError(
            f"kernel {call.name} has no derivative in forward mode (jvp); derivatives in reverse "
            "mode are those of pyptx.torch.differentiable"
        )


def _unmapped(tensor: Any) -> Any:
    """What is mapped by torch.func.vmap, with all elements."""
    layers = torch._C._functorch  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    while layers.is_batchedtensor(tensor):
        tensor = layers.get_unwrapped(tensor)
    return tensor


def _fresh_results(call: Call, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a call, all of them fresh: inputs that it updates are copied."""
    return tuple(torch.ops.pyptx.launch(list(tensors), programs.text(call)))


def _transformed() -> bool:
    """Whether a transformation of torch.func comes first; they take no operator that writes."""
    return torch._C._functorch.peek_interpreter_stack() is not None  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001


def _without(call: Call, tensors: Sequence[Any]) -> list[Any]:
    """The inputs that the call only reads."""
    sources = {source for source, _ in call.aliases}
    return [tensor for i, tensor in enumerate(tensors) if i not in sources]


def _together(call: Call, inputs: Sequence[Any], written: Sequence[Any]) -> list[Any]:
    """All inputs in their order: those that are only read, and those among what is written."""
    updated = {source: written[output] for source, output in call.aliases}
    others = iter(inputs)
    return [updated[i] if i in updated else next(others) for i in range(len(inputs) + len(updated))]


# ---- what it computes ----------------------------------------------------------------------------


def custom_operator(
    name: str, schema: str, mutates: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that makes an operator of torch.library of a function on tensors with data."""

    def make(function: Callable[..., Any]) -> Any:
        return torch.library.custom_op(name, function, mutates_args=mutates, schema=schema)

    return make


_library: Final = torch.library.Library("pyptx", "FRAGMENT")
_library.define(
    "launch(Tensor[] inputs, str program) -> Tensor[]", tags=torch.Tag.pt2_compliant_tag
)


def _launch(inputs: Sequence[Any], program: str) -> list[Any]:
    """`pyptx::launch` on tensors with data.

    It is defined without `custom_op`, whose checks of every call take longer than the launch.
    """
    call = programs.call(program)
    updated = {source for source, _ in call.aliases}
    with fast.watched() as watch:
        results = _run(call, [t.clone() if i in updated else t for i, t in enumerate(inputs)])
    if program not in _paths:
        _paths[program] = fast.make(autocast=False)
    if (path := _paths[program]) is not None:
        path.remember(inputs, watch, tuple(results) if len(results) > 1 else results[0])
    return results


_paths: Final[dict[str, fast.FastPath | None]] = {}
"""The fast path of each program that was run."""


def _launch_known(inputs: Sequence[Any], program: str) -> list[Any] | None:
    """The results of a launch that is known, None for another."""
    path = _paths.get(program)
    if path is None:
        return None
    found = path.call(*inputs)
    if found is MISSED:
        return None
    return list(found) if type(found) is tuple else [found]


def _launch_with_data(inputs: Sequence[Any], program: str) -> list[Any]:
    return _launch_known(inputs, program) or _launch(inputs, program)


for _device in ("CPU", "CUDA"):
    _library.impl("launch", _launch_with_data, _device)


@custom_operator(
    LAUNCH_IN_PLACE, "(Tensor[] inputs, Tensor(a!)[] written, str program) -> ()", ("written",)
)
def _launch_in_place(inputs: Sequence[Any], written: Sequence[Any], program: str) -> None:
    """`written` are the results: inputs that are updated, and memory for the others."""
    call = programs.call(program)
    results = _run(call, _together(call, inputs, written))
    for tensor, result in zip(written, results, strict=True):
        if tensor is not result:
            tensor.copy_(result)


def _run(call: Call, tensors: Sequence[Any]) -> list[Any]:
    """A compiler may have chosen other strides than the kernels have."""
    return list(execution.execute(call, [tensor.contiguous() for tensor in tensors]))


# ---- its shapes ----------------------------------------------------------------------------------


def _without_data(call: Call, tensors: Sequence[Any]) -> list[Any]:
    device_of(tensors, [tensor.name for tensor in call.inputs])  # as tensors with data are refused
    shapes = call.output_shapes([tensor.shape for tensor in tensors])
    return [
        tensors[0].new_empty(shape, dtype=DTYPES[output.dtype])
        for output, shape in zip(call.outputs, shapes, strict=True)
    ]


@torch.library.register_fake(LAUNCH, lib=_library)
def _launch_fake(inputs: Sequence[Any], program: str) -> list[Any]:
    return _without_data(programs.call(program), inputs)


@_launch_in_place.register_fake
def _launch_in_place_fake(inputs: Sequence[Any], written: Sequence[Any], program: str) -> None:
    del inputs, written, program


# ---- its derivative ------------------------------------------------------------------------------


class _Underived(torch.autograd.Function):
    """A launch whose results have no derivative, and say so when one is asked for."""

    @staticmethod
    def forward(ctx: Any, keys: Any, program: str, *inputs: Any) -> tuple[Any, ...]:
        ctx.name = programs.call(program).name
        return tuple(_below_autograd(keys, inputs, program))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> NoReturn:
        del gradients
        raise _no_derivative(ctx.name)


def _no_derivative(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"kernel {name} has no derivative; pyptx.torch.differentiable makes an operation of it and "
        "a kernel for the gradient"
    )


def _below_autograd(keys: Any, inputs: Sequence[Any], program: str) -> list[Any]:
    with torch._C._AutoDispatchBelowAutograd():  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        rest = keys & torch._C._after_autograd_keyset  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        return torch.ops.pyptx.launch.default.redispatch(rest, list(inputs), program)


def _launch_above(keys: Any, inputs: Sequence[Any], program: str) -> list[Any]:
    """Where autograd comes to the operator: compiled programs do for every launch."""
    known = _launch_known(inputs, program)
    if known is not None:
        return known
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs):
        if torch._C._are_functorch_transforms_active():  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
            raise _no_derivative(programs.call(program).name)  # torch.func.grad, jacrev
        return list(_Underived.apply(keys, program, *inputs))
    return _below_autograd(keys, inputs, program)


_library.impl("launch", _launch_above, "Autograd", with_keyset=True)


# ---- under torch.func.vmap -----------------------------------------------------------------------


def _launch_batched(info: Any, in_dims: Any, inputs: Sequence[Any], program: str) -> Any:
    results = _batched(programs.call(program), in_dims[0], inputs, info.batch_size)
    return list(results), [0] * len(results)


torch.library.register_vmap(LAUNCH, _launch_batched, lib=_library)


def _batched(
    call: Call, dims: Sequence[int | None], tensors: Sequence[Any], size: int
) -> tuple[Any, ...]:
    """One launch for a mapped axis, which the call takes as its outermost level; fresh results.

    Where the launch cannot take so many elements it runs several times, one after the other.
    """
    # What is updated is updated for each element.
    shared = {source for source, _ in call.aliases}
    mapped = tuple(dim is not None or i in shared for i, dim in enumerate(dims))
    shapes = [
        tuple(each for axis, each in enumerate(tensor.shape) if axis != dim)
        for tensor, dim in zip(tensors, dims, strict=True)
    ]
    level = levels.level(call, mapped, shapes, size)
    mapped, width = level.mapped, level.width
    taken = [
        _in_front(tensor, dim, size) if at_level else tensor
        for tensor, dim, at_level in zip(tensors, dims, mapped, strict=True)
    ]
    if width is None:
        return _fresh_results(call.batched(mapped), taken)
    parts = [
        _part(call, mapped, taken, slice(first, first + width), whole=width > 1)
        for first in range(0, size, width)
    ]
    return tuple(torch.cat(part) for part in zip(*parts, strict=True))


def _in_front(tensor: Any, dim: int | None, size: int) -> Any:
    at = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return at.contiguous()


def _part(
    call: Call, mapped: Sequence[bool], tensors: Sequence[Any], part: slice, *, whole: bool
) -> tuple[Any, ...]:
    pairs = zip(mapped, tensors, strict=True)
    if whole:
        return _fresh_results(call.batched(mapped), [t[part] if m else t for m, t in pairs])
    results = _fresh_results(call, [t[part.start] if m else t for m, t in pairs])
    return tuple(result.unsqueeze(0) for result in results)
