"""Root mean square normalization: kernels for rows of every length, and the JAX operation."""

from pyptx.ops._rms.operation import rms_norm as rms_norm
from pyptx.ops._rms.operation import rms_norm_bwd as rms_norm_bwd
from pyptx.ops._rms.operation import rms_norm_fwd as rms_norm_fwd
