"""Finished operations of JAX: kernels with derivatives, batching and sharding."""

from pyptx.ops._add_norm_jax import add_layer_norm as add_layer_norm
from pyptx.ops._add_norm_jax import add_rms_norm as add_rms_norm
from pyptx.ops._cross_entropy_jax import cross_entropy as cross_entropy
from pyptx.ops._gates_jax import geglu as geglu
from pyptx.ops._gates_jax import gelu as gelu
from pyptx.ops._gates_jax import reglu as reglu
from pyptx.ops._gates_jax import relu as relu
from pyptx.ops._gates_jax import silu as silu
from pyptx.ops._gates_jax import swiglu as swiglu
from pyptx.ops._layer_norm_jax import layer_norm as layer_norm
from pyptx.ops._matmul_jax import dot_general as dot_general
from pyptx.ops._matmul_jax import matmul as matmul
from pyptx.ops._rms import rms_norm as rms_norm
from pyptx.ops._rms import rms_norm_bwd as rms_norm_bwd
from pyptx.ops._rms import rms_norm_fwd as rms_norm_fwd
from pyptx.ops._softmax_jax import log_softmax as log_softmax
from pyptx.ops._softmax_jax import softmax as softmax
