"""Finished operations: kernels with derivatives, batching and sharding; no use of private API."""

from pyptx.ops._rms import rms_norm as rms_norm
from pyptx.ops._rms import rms_norm_bwd as rms_norm_bwd
from pyptx.ops._rms import rms_norm_fwd as rms_norm_fwd
