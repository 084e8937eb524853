"""What pyptx uses of JAX and jaxlib beyond their public interface, each with its reason.

All of it is in jax 0.10 and 0.11; a new version is looked through here.
"""

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from jax._src import config as _config
from jax._src import core as _core
from jax._src import xla_bridge as _xla_bridge
from jaxlib import xla_client as _xla_client

# Shardings as XLA's partitioner states them, the arguments and results of its callbacks.
HloSharding: Final[Any] = _xla_client.HloSharding
SubgroupType: Final[Any] = _xla_client.OpSharding.Type

# Lowering depends on `pyptx.target`, and only JAX's own states take part in the keys of its caches.
cache_key_state: Final[Callable[..., Any]] = partial(
    _config.string_or_object_state, include_in_jit_key=True, include_in_trace_context=True
)

runs_eagerly: Final[Callable[[], bool]] = _core.trace_state_clean
"""Whether an operation runs now: no function is traced or transformed in this thread."""


def started_backends() -> frozenset[str]:
    """The platforms that programs can have run on so far; asking starts none."""
    if not _xla_bridge.backends_are_initialized():
        return frozenset()
    return frozenset(_xla_bridge.backends())


def register_partitioner(
    name: str,
    propagate: Callable[..., Any],
    partition: Callable[..., Any],
    infer: Callable[..., Any],
) -> None:
    """Let XLA ask these functions how to partition custom calls to `name`.

    `jax.experimental.custom_partitioning` has one such name for all its operations and tells them
    apart by a pointer, which no other process understands; programs with it are not exported and
    not found in the persistent cache.
    """
    register: Callable[..., None] = partial(
        _xla_client.register_custom_call_partitioner,
        name=name,
        prop_user_sharding=propagate,
        partition=partition,
        infer_sharding_from_operands=infer,
        can_side_effecting_have_replicated_sharding=True,
    )
    register()
    _xla_bridge.register_plugin_callbacks(register)  # CUDA's XLA is another library
