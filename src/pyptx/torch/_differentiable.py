"""Operations with derivatives: a pair of functions of kernels, and a rule for higher orders."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false, reportPrivateUsage=false

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, Final

import torch

from pyptx._calls import binding
from pyptx._runtime import dynamo
from pyptx._runtime.torch.runtime import PLAIN, has_gradient, is_distributed, runs_at_once
from pyptx._tracebacks import boundary
from pyptx.errors import CallError
from pyptx.torch._arguments import at_call

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False, slots=True)
class _Rule:
    """The functions of an operation. `reference` computes the same in PyTorch's own operators."""

    name: str
    function: Function
    forward: Function
    backward: Function
    reference: Function | None
    contiguous: bool

    def taken(self, gradients: Sequence[Any]) -> list[Any]:
        """The gradients of results as `backward` takes them."""
        return [each.contiguous() for each in gradients] if self.contiguous else list(gradients)


@binding(CallError, "pyptx.torch.differentiable")
@boundary
@at_call
def differentiable(
    function: Function,
    forward: Function,
    backward: Function,
    *,
    reference: Function | None = None,
    contiguous: bool = True,
) -> Any:
    """Make an operation on tensors with a gradient computed by kernels, as `jax.custom_vjp` does.

    function    function(*tensors): the result, or a tuple of results; called if no gradient is
                needed
    forward     forward(*tensors): the results, and a tuple of the tensors that the gradient needs
    backward    backward(saved, *gradients): the gradient of each tensor, or None; `gradients` are
                those of the results, contiguous, and zeros for a result that was not used
    reference   reference(*tensors): the results computed with PyTorch's operators, for derivatives
                of higher order; without it there are none
    contiguous  False: `gradients` have the strides that PyTorch gives them

    The operation takes only tensors. It works in `torch.compile`, `torch.export`,
    `torch.utils.checkpoint` and `torch.func`. Raises CallError for an argument that is not a
    function.

        normalize = pyptx.torch.differentiable(norm, norm_forward, norm_backward)
        normalize(x, weight).sum().backward()
    """
    functions = {"function": function, "forward": forward, "backward": backward}
    for name, each in functions.items():
        if not callable(each):
            raise CallError(
                f"{name} is {each!r}, and no function",
                notes=(("help", "pyptx.torch.differentiable(function, forward, backward)"),),
            )
    name = getattr(function, "__name__", None) or getattr(function, "name", "operation")
    return Differentiable(_Rule(str(name), function, forward, backward, reference, contiguous))


class Differentiable:
    """What `differentiable` makes: it is called on tensors."""

    def __init__(self, rule: _Rule) -> None:
        self._rule = rule
        self._key = dynamo.register(rule.name, self)
        update_wrapper(self, rule.function, assigned=("__name__", "__qualname__", "__doc__"))

    def __call__(self, *tensors: Any) -> Any:
        if dynamo.traces() and dynamo.allow():
            return dynamo.apply(self._key, *tensors)
        return self.run(*tensors)

    def __deepcopy__(self, memo: dict[int, Any]) -> Differentiable:
        """Itself, as with a function: a module that has an operation can be copied."""
        return self

    def run(self, *tensors: Any) -> Any:
        """The same where Dynamo does not follow."""
        if torch.is_grad_enabled():
            for tensor in tensors:
                if tensor is not None and has_gradient(tensor):
                    if runs_at_once(()) and all(type(each) in _PLAIN for each in tensors):
                        return _apply_eagerly(self._rule, *tensors)
                    return _differentiated(self._rule, tensors)
        return self._rule.function(*tensors)


_PLAIN: Final = PLAIN | {type(None)}
"""What is differentiated in the quick way. Other classes of tensors may trace, or be split."""


class _Layout:
    """How the results of one application go together; filled in as it runs."""

    __slots__ = ("extra", "given", "places", "results", "single")

    def __init__(self) -> None:
        self.results = 0
        self.single = False
        self.places: tuple[tuple[bool, int], ...] = ()
        """For each saved tensor whether it is an operand, and which operand or output it is."""
        self.given: tuple[bool, ...] = ()
        """For each operand whether it has a gradient."""
        self.extra = 0


def _differentiated(rule: _Rule, tensors: Sequence[Any]) -> Any:
    layout = _Layout()
    outputs = _Operation.apply(rule, layout, *tensors)
    return outputs[0] if layout.single else tuple(outputs[: layout.results])


def _tuple(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


class _Eager(torch.autograd.Function):
    """The operation where no transformation of torch.func is: those need `setup_context`.

    What is saved need not be a result then, and PyTorch binds no arguments to a signature.
    """

    @staticmethod
    def forward(ctx: Any, rule: _Rule, *tensors: Any) -> Any:
        found, saved = rule.forward(*tensors)
        ctx.rule, ctx.count = rule, len(tensors)
        ctx.save_for_backward(*tensors, *saved)
        return tuple(found) if isinstance(found, list) else found

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        rule, count, kept = ctx.rule, ctx.count, ctx.saved_tensors
        taken = rule.taken(gradients)
        return None, *_differentiable_gradients(rule, kept[:count], kept[count:], taken)


# The method of Function in Python only looks for transformations, and binds arguments.
_apply_eagerly: Final[Any] = super(torch.autograd.function._SingleLevelFunction, _Eager).apply  # noqa: SLF001


def _differentiable_gradients(
    rule: _Rule, tensors: Sequence[Any], saved: Sequence[Any], gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """The gradients of the operands, with a derivative where one is asked for."""
    if not torch.is_grad_enabled():
        return _gradients(rule, len(tensors), saved, gradients)
    there = _Layout()
    counts = len(tensors), len(gradients)
    following = iter(_Gradient.apply(rule, there, *counts, *tensors, *gradients, *saved))
    return tuple(next(following) if given else None for given in there.given)


class _Operation(torch.autograd.Function):
    """The results, and after them what was saved that is no operand."""

    generate_vmap_rule: Final = True

    @staticmethod
    def forward(rule: _Rule, layout: _Layout, *tensors: Any) -> Any:
        found, saved = rule.forward(*tensors)
        results = tuple(_viewed(each, tensors) for each in _tuple(found))
        layout.single = not isinstance(found, (tuple, list))
        layout.results = len(results)
        outputs = list(results)
        places: list[tuple[bool, int]] = []
        for each in saved:
            operand = next((i for i, tensor in enumerate(tensors) if tensor is each), None)
            if operand is not None:
                places.append((True, operand))
                continue
            output = next((i for i, tensor in enumerate(outputs) if tensor is each), None)
            if output is None:
                output = len(outputs)
                outputs.append(each)
            places.append((False, output))
        layout.places = tuple(places)
        layout.extra = len(outputs) - len(results)
        return tuple(outputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        rule, layout, *tensors = inputs
        ctx.rule, ctx.layout, ctx.count = rule, layout, len(tensors)
        ctx.present = tuple(tensor is not None for tensor in tensors)
        ctx.split = [_split_of(each) for each in output[: layout.results]]
        ctx.mark_non_differentiable(*output[layout.results :])
        saved = [tensors[i] if operand else output[i] for operand, i in layout.places]
        ctx.save_for_backward(*(tensor for tensor in tensors if tensor is not None), *saved)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        rule, layout = ctx.rule, ctx.layout
        kept = ctx.saved_tensors
        present = sum(ctx.present)
        left = iter(kept[:present])
        tensors = [next(left) if there else None for there in ctx.present]
        saved = kept[present:]
        given = map(_split_as, gradients[: layout.results], ctx.split)
        taken = rule.taken(tuple(given))
        return None, None, *_differentiable_gradients(rule, tensors, saved, taken)


def _viewed(result: Any, inputs: Sequence[Any]) -> Any:
    """A result that is one of the inputs as a view of it: an input that is saved may be none."""
    return result.view_as(result) if any(result is each for each in inputs) else result


def _split_of(tensor: Any) -> tuple[Any, Any] | None:
    """How a DTensor is split over processes: its mesh and placements."""
    return (tensor.device_mesh, tensor.placements) if is_distributed((tensor,)) else None


def _split_as(gradient: Any, split: tuple[Any, Any] | None) -> Any:
    """A result's gradient, split as the result is: PyTorch's zeros for an unused one are not."""
    if split is None or is_distributed((gradient,)):
        return gradient
    tensors = importlib.import_module("torch.distributed.tensor")
    return tensors.distribute_tensor(gradient, *split, src_data_rank=None)


def _gradients(
    rule: _Rule, count: int, saved: Sequence[Any], gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """The gradients of the operands. Raises CallError where they are fewer or more."""
    found = _tuple(rule.backward(tuple(saved), *gradients))
    if len(found) != count:
        raise CallError(
            f"the backward function of {rule.name} returns {len(found)} gradients, and the "
            f"operation takes {count} tensors",
            notes=(("help", "None for a tensor that has no gradient"),),
        )
    return found


class _Gradient(torch.autograd.Function):
    """The gradients of the operands, and their derivative by the rule of `reference`."""

    generate_vmap_rule: Final = True

    @staticmethod
    def forward(rule: _Rule, layout: _Layout, count: int, results: int, *given: Any) -> Any:
        found = _gradients(rule, count, given[count + results :], given[count : count + results])
        layout.given = tuple(each is not None for each in found)
        return tuple(_viewed(each, given) for each in found if each is not None)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        del output
        ctx.rule, ctx.layout, ctx.count, ctx.results, *given = inputs
        primals = given[: ctx.count + ctx.results]
        ctx.present = tuple(each is not None for each in primals)
        ctx.others = len(given) - len(primals)
        ctx.save_for_backward(*(each for each in primals if each is not None))

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        if ctx.rule.reference is None:
            raise NotImplementedError(
                f"{ctx.rule.name} has no derivative of second order; "
                "pyptx.torch.differentiable(..., reference=) makes one of a function of PyTorch's "
                "own operators"
            )
        left = iter(ctx.saved_tensors)
        primals = [next(left) if there else None for there in ctx.present]
        places = _places(primals)
        gradients = partial(_reference_gradients, ctx.rule, ctx.count, ctx.layout.given)
        _, pull = torch.func.vjp(_of_floats(gradients, primals), *(primals[i] for i in places))
        found: list[Any] = [None] * len(primals)
        for i, cotangent in zip(places, pull(tuple(cotangents)), strict=True):
            found[i] = cotangent
        return (None, None, None, None, *found, *([None] * ctx.others))


def _places(tensors: Sequence[Any]) -> list[int]:
    """Which of them may have a derivative: the others are integers, or None."""
    return [i for i, each in enumerate(tensors) if each is not None and each.is_floating_point()]


def _of_floats(function: Function, tensors: Sequence[Any]) -> Function:
    """A function of those tensors that may have a derivative."""
    places = _places(tensors)

    def of_floats(*some: Any) -> Any:
        operands = list(tensors)
        for i, tensor in zip(places, some, strict=True):
            operands[i] = tensor
        return function(*operands)

    return of_floats


def _reference_gradients(
    rule: _Rule, count: int, given: Sequence[bool], *primals: Any
) -> tuple[Any, ...]:
    """What `backward` computes, by the rules of PyTorch's own operators."""
    tensors, gradients = primals[:count], primals[count:]
    places = _places(tensors)
    assert rule.reference is not None
    reference = rule.reference

    def results(*operands: Any) -> tuple[Any, ...]:
        return _tuple(reference(*operands))

    _, pull = torch.func.vjp(_of_floats(results, tensors), *(tensors[i] for i in places))
    by_place = dict(zip(places, pull(tuple(gradients)), strict=True))
    return tuple(by_place[i] for i, has in enumerate(given) if has)
