"""Finished operations: kernels with derivatives, batching and sharding, made with the public API."""

from pyptx.ops.rms import rms_norm as rms_norm
from pyptx.ops.rms import rms_norm_bwd as rms_norm_bwd
from pyptx.ops.rms import rms_norm_fwd as rms_norm_fwd
