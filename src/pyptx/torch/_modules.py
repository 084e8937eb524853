"""Modules of PyTorch with the norms and the loss, and models whose modules are replaced by them."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import torch

from pyptx._calls import binding
from pyptx._tracebacks import boundary
from pyptx.errors import CallError
from pyptx.torch._arguments import at_call
from pyptx.torch._gates import geglu, reglu, swiglu
from pyptx.torch._group_norm import group_norm
from pyptx.torch._losses import cross_entropy
from pyptx.torch._norms import layer_norm, rms_norm


class RMSNorm(torch.nn.RMSNorm):
    """`torch.nn.RMSNorm` with the kernels of `rms_norm`; its parameters have the same names."""

    def forward(self, x: Any) -> Any:
        """The norm of a tensor that ends with `normalized_shape`."""
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)


class LayerNorm(torch.nn.LayerNorm):
    """`torch.nn.LayerNorm` with the kernels of `layer_norm` and the same parameters."""

    def forward(self, input: Any) -> Any:
        """The norm of a tensor that ends with `normalized_shape`."""
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(torch.nn.GroupNorm):
    """`torch.nn.GroupNorm` with the kernels of `group_norm` and the same parameters."""

    def forward(self, input: Any) -> Any:
        """The norm of a tensor (N, num_channels, ...)."""
        return _group_forward(self, input)


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """`torch.nn.CrossEntropyLoss` with the kernels of `cross_entropy`."""

    def forward(self, input: Any, target: Any) -> Any:
        """The loss of class indices or probabilities."""
        return _loss_forward(self, input, target)


def _group_forward(self: Any, input: Any) -> Any:
    return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


def _loss_forward(self: Any, input: Any, target: Any) -> Any:
    return cross_entropy(
        input,
        target,
        self.weight,
        ignore_index=self.ignore_index,
        reduction=self.reduction,
        label_smoothing=self.label_smoothing,
    )


def _rms_forward(self: Any, hidden_states: Any, *, widens: bool = True) -> Any:
    """Most multiply with the weight last, so that the result has the wider type of both."""
    eps = getattr(self, "variance_epsilon", getattr(self, "eps", None))
    weight = self.weight
    dtype = torch.promote_types(hidden_states.dtype, weight.dtype) if widens else None
    return rms_norm(hidden_states, weight.shape, weight, eps, out_dtype=dtype)


def _rms_of_input_forward(self: Any, hidden_states: Any) -> Any:
    return _rms_forward(self, hidden_states, widens=False)


def _rms_of_one_more_forward(self: Any, x: Any) -> Any:
    """Gemma keeps w - 1."""
    return rms_norm(x, self.weight.shape, self.weight, self.eps, offset=1.0)


def _torch_rms_forward(self: Any, x: Any) -> Any:
    return rms_norm(x, self.normalized_shape, self.weight, self.eps)


def _layer_forward(self: Any, input: Any) -> Any:
    return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


_GATES: Final[Mapping[str, Any]] = {
    "silu": swiglu,
    "swish": swiglu,
    "gelu": partial(geglu, approximate="none"),
    "gelu_pytorch_tanh": geglu,
    "gelu_new": geglu,
    "relu": reglu,
}
"""Gated activations, by the names that configurations have for the activations."""


_ACTIVATIONS: Final[Mapping[str, str]] = {
    "SiLU": "silu",
    "SiLUActivation": "silu",
    "ReLU": "relu",
    "GELUActivation": "gelu",
    "GELUTanh": "gelu_pytorch_tanh",
    "PytorchGELUTanh": "gelu_pytorch_tanh",
    "NewGELUActivation": "gelu_new",
}
"""Classes of PyTorch and transformers by the names that configurations have for them."""


def _activation(module: Any) -> str:
    """The name of what a module calls. Its configuration may name another activation."""
    called: Any = getattr(module, "act_fn", getattr(module, "activation_fn", None))
    kind: Any = torch.nn.GELU
    if isinstance(called, kind):
        return "gelu" if called.approximate == "none" else "gelu_pytorch_tanh"
    name = getattr(called, "__name__", type(called).__name__)
    return _ACTIVATIONS.get(name, name)


def _mlp_forward(self: Any, x: Any) -> Any:
    gate = _GATES[_activation(self)]
    return self.down_proj(gate(self.gate_proj(x), self.up_proj(x)))


def _mlp_of_halves_forward(self: Any, hidden_states: Any) -> Any:
    gate = _GATES[_activation(self)]
    return self.down_proj(gate(self.gate_up_proj(hidden_states)))


def _expert_forward(self: Any, hidden_states: Any) -> Any:
    gate = _GATES[_activation(self)]
    return self.w2(gate(self.w1(hidden_states), self.w3(hidden_states)))


def _takes_gate(*parts: str) -> Callable[[Any], bool]:
    """Whether a module has these parts, and an activation that there is a gate of."""

    def takes(module: Any) -> bool:
        return all(hasattr(module, part) for part in parts) and _activation(module) in _GATES

    return takes


def _takes_norm(module: Any) -> bool:
    return isinstance(getattr(module, "weight", None), torch.Tensor)


_BY_CLASS: Final[Mapping[str, tuple[Callable[..., Any], Callable[[Any], bool]]]] = {
    "RMSNorm": (_torch_rms_forward, lambda module: hasattr(module, "normalized_shape")),
    "CrossEntropyLoss": (_loss_forward, lambda module: hasattr(module, "label_smoothing")),
    "GroupNorm": (_group_forward, lambda module: hasattr(module, "num_groups")),
    "LayerNorm": (_layer_forward, lambda module: hasattr(module, "normalized_shape")),
    **{
        f"{model}RMSNorm": (_rms_forward, _takes_norm)
        for model in (
            "DeepseekV2", "DeepseekV3", "Glm", "Glm4", "Glm4Moe", "Granite", "GraniteMoe", "Llama",
            "Llama4Text", "Mistral", "Mixtral", "Olmoe", "Phi3", "Qwen2", "Qwen2Moe", "Qwen3",
            "Qwen3Moe", "SmolLM3",
        )
    },
    **{
        f"{model}RMSNorm": (_rms_of_input_forward, _takes_norm)
        for model in ("GptOss", "Olmo2", "Olmo3")
    },
    **{
        f"{model}RMSNorm": (_rms_of_one_more_forward, _takes_norm)
        for model in ("Gemma", "Gemma2", "Gemma3", "Qwen3Next")
    },
    **{
        f"{model}MLP": (_mlp_forward, _takes_gate("gate_proj", "up_proj", "down_proj"))
        for model in (
            "Cohere", "Cohere2", "DeepseekV2", "DeepseekV3", "Gemma", "Gemma2", "Gemma3", "Glm4Moe",
            "Granite", "Llama", "Llama4Text", "Mistral", "Olmo", "Olmo2", "Olmo3", "Olmoe",
            "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "Qwen3Next", "SmolLM3", "StableLm",
        )
    },
    **{
        f"{model}MLP": (_mlp_of_halves_forward, _takes_gate("gate_up_proj", "down_proj"))
        for model in ("Phi3", "Glm", "Glm4")
    },
    "MixtralBlockSparseTop2MLP": (_expert_forward, _takes_gate("w1", "w2", "w3")),
}  # fmt: skip
"""What replaces the forward method of a class, and whether it does so of this module."""


_OURS: Final = (RMSNorm, LayerNorm, GroupNorm, CrossEntropyLoss)


def _forward_of(module: Any) -> Any:
    """What the module's own `forward` calls instead of that of its class."""
    return vars(module).get("forward")


def _is_patched(module: Any) -> bool:
    forward = _forward_of(module)
    return isinstance(forward, partial) and forward.func in {f for f, _ in _BY_CLASS.values()}


@binding(CallError, "pyptx.torch.patch")
@boundary
@at_call
def patch(model: Any, *, classes: Iterable[str] | None = None) -> list[str]:
    """Make the modules of a model use these operations; returns the names of the changed modules.

    model     a `torch.nn.Module`; its parameters and everything else stay as they are
    classes   names of the classes to change; None for all supported ones: RMSNorm, LayerNorm,
              GroupNorm and CrossEntropyLoss of PyTorch, and the norms and gated MLPs of Hugging
              Face's transformers (LlamaRMSNorm, Gemma2MLP, ...)

    Patched models can be copied, pickled and compiled; `unpatch` undoes it. A module of a supported
    class with another structure is not changed, and neither is one whose `forward` another library
    has replaced. Raises CallError if `model` is not a module, and for unsupported classes.
    """
    _check_module("patch", model)
    wanted = set(_BY_CLASS) if classes is None else set(classes)
    if unknown := sorted(wanted - set(_BY_CLASS)):
        raise CallError(
            f"pyptx.torch.patch knows no class {unknown[0]}",
            notes=(("legal", " ".join(sorted(_BY_CLASS))),),
        )
    patched: list[str] = []
    for name, module in model.named_modules():
        kind = type(module).__name__
        if kind not in wanted or isinstance(module, _OURS):
            continue
        forward, takes = _BY_CLASS[kind]
        if takes(module) and (_forward_of(module) is None or _is_patched(module)):
            # Not a bound method: pickle looks that up by its name in the class.
            module.forward = partial(forward, module)
            patched.append(name)
    return patched


@binding(CallError, "pyptx.torch.unpatch")
@boundary
@at_call
def unpatch(model: Any) -> list[str]:
    """Undo `patch`: the modules of a model compute as their classes do.

    Returns the names of the changed modules. Raises CallError if `model` is not a module.
    """
    _check_module("unpatch", model)
    found = [(name, module) for name, module in model.named_modules() if _is_patched(module)]
    for _, module in found:
        del module.forward
    return [name for name, _ in found]


def _check_module(name: str, model: object) -> None:
    if not isinstance(model, torch.nn.Module):
        raise CallError(
            f"pyptx.torch.{name} takes a torch.nn.Module, not {type(model).__name__}",
            notes=(("help", f"pyptx.torch.{name}(model)"),),
        )
