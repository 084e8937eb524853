"""Ready-made operations for JAX: kernels with derivatives, batching and sharding.

JAX is imported when an operation is first used. The formulas and kernels, which `pyptx.torch`
shares, import neither JAX nor PyTorch.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyptx.ops._add_norm_jax import add_layer_norm as add_layer_norm
    from pyptx.ops._add_norm_jax import add_rms_norm as add_rms_norm
    from pyptx.ops._cross_entropy_jax import cross_entropy as cross_entropy
    from pyptx.ops._dot_general_jax import dot_general as dot_general
    from pyptx.ops._dot_general_jax import ragged_dot as ragged_dot
    from pyptx.ops._gates_jax import geglu as geglu
    from pyptx.ops._gates_jax import gelu as gelu
    from pyptx.ops._gates_jax import reglu as reglu
    from pyptx.ops._gates_jax import relu as relu
    from pyptx.ops._gates_jax import silu as silu
    from pyptx.ops._gates_jax import swiglu as swiglu
    from pyptx.ops._group_norm_jax import group_norm as group_norm
    from pyptx.ops._group_norm_jax import instance_norm as instance_norm
    from pyptx.ops._layer_norm_jax import layer_norm as layer_norm
    from pyptx.ops._matmul_jax import fused_matmul as fused_matmul
    from pyptx.ops._matmul_jax import gated_matmul as gated_matmul
    from pyptx.ops._matmul_jax import matmul as matmul
    from pyptx.ops._quantize_jax import layer_norm_quantized as layer_norm_quantized
    from pyptx.ops._quantize_jax import quantize as quantize
    from pyptx.ops._quantize_jax import rms_norm_quantized as rms_norm_quantized
    from pyptx.ops._rms_norm_jax import rms_norm as rms_norm
    from pyptx.ops._rms_norm_jax import rms_norm_bwd as rms_norm_bwd
    from pyptx.ops._rms_norm_jax import rms_norm_fwd as rms_norm_fwd
    from pyptx.ops._rope_jax import rope as rope
    from pyptx.ops._softmax_jax import log_softmax as log_softmax
    from pyptx.ops._softmax_jax import softmax as softmax
    from pyptx.ops._top_k_jax import argmax as argmax
    from pyptx.ops._top_k_jax import top_k as top_k

__all__ = [
    "add_layer_norm",
    "add_rms_norm",
    "argmax",
    "cross_entropy",
    "dot_general",
    "fused_matmul",
    "gated_matmul",
    "geglu",
    "gelu",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "layer_norm_quantized",
    "log_softmax",
    "matmul",
    "quantize",
    "ragged_dot",
    "reglu",
    "relu",
    "rms_norm",
    "rms_norm_bwd",
    "rms_norm_fwd",
    "rms_norm_quantized",
    "rope",
    "silu",
    "softmax",
    "swiglu",
    "top_k",
]

_MODULES: Final = {
    "_add_norm_jax": ("add_layer_norm", "add_rms_norm"),
    "_cross_entropy_jax": ("cross_entropy",),
    "_dot_general_jax": ("dot_general", "ragged_dot"),
    "_gates_jax": ("geglu", "gelu", "reglu", "relu", "silu", "swiglu"),
    "_group_norm_jax": ("group_norm", "instance_norm"),
    "_layer_norm_jax": ("layer_norm",),
    "_matmul_jax": ("fused_matmul", "gated_matmul", "matmul"),
    "_quantize_jax": ("layer_norm_quantized", "quantize", "rms_norm_quantized"),
    "_rms_norm_jax": ("rms_norm", "rms_norm_bwd", "rms_norm_fwd"),
    "_rope_jax": ("rope",),
    "_softmax_jax": ("log_softmax", "softmax"),
    "_top_k_jax": ("argmax", "top_k"),
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
