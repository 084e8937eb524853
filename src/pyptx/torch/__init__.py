"""Ready-made operations for PyTorch: the kernels of `pyptx.ops`, with PyTorch's signatures.

Your own kernels take tensors without this module.
"""

import importlib

try:
    importlib.import_module("torch")
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError(
        "pyptx.torch needs PyTorch, which is not installed here\n  help: pip install torch"
    ) from None

from pyptx._runtime.torch import operator as _operator  # programs that are loaded name it  # noqa: F401  # pyright: ignore[reportUnusedImport]
from pyptx.torch._add_norm import add_layer_norm as add_layer_norm
from pyptx.torch._add_norm import add_rms_norm as add_rms_norm
from pyptx.torch._differentiable import differentiable as differentiable
from pyptx.torch._fused import gated_matmul as gated_matmul
from pyptx.torch._fused import linear as linear
from pyptx.torch._fused_matmul import fused_matmul as fused_matmul
from pyptx.torch._gates import geglu as geglu
from pyptx.torch._gates import gelu as gelu
from pyptx.torch._gates import reglu as reglu
from pyptx.torch._gates import relu as relu
from pyptx.torch._gates import silu as silu
from pyptx.torch._gates import swiglu as swiglu
from pyptx.torch._group_norm import group_norm as group_norm
from pyptx.torch._group_norm import instance_norm as instance_norm
from pyptx.torch._grouped import grouped_mm as grouped_mm
from pyptx.torch._losses import cross_entropy as cross_entropy
from pyptx.torch._matmul import int_mm as int_mm
from pyptx.torch._matmul import matmul as matmul
from pyptx.torch._matmul import scaled_mm as scaled_mm
from pyptx.torch._modules import CrossEntropyLoss as CrossEntropyLoss
from pyptx.torch._modules import GroupNorm as GroupNorm
from pyptx.torch._modules import LayerNorm as LayerNorm
from pyptx.torch._modules import RMSNorm as RMSNorm
from pyptx.torch._modules import patch as patch
from pyptx.torch._modules import unpatch as unpatch
from pyptx.torch._norms import layer_norm as layer_norm
from pyptx.torch._norms import rms_norm as rms_norm
from pyptx.torch._quantize import layer_norm_quantized as layer_norm_quantized
from pyptx.torch._quantize import quantize as quantize
from pyptx.torch._quantize import rms_norm_quantized as rms_norm_quantized
from pyptx.torch._rms_norm_passes import rms_norm_bwd as rms_norm_bwd
from pyptx.torch._rms_norm_passes import rms_norm_fwd as rms_norm_fwd
from pyptx.torch._rope import rope as rope
from pyptx.torch._scaled_grouped import scaled_grouped_mm as scaled_grouped_mm
from pyptx.torch._softmax import log_softmax as log_softmax
from pyptx.torch._softmax import softmax as softmax
from pyptx.torch._tensordot import tensordot as tensordot
from pyptx.torch._top_k import argmax as argmax
from pyptx.torch._top_k import top_k as top_k
