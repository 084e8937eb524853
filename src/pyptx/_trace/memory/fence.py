"""`ptx.fence`: orders memory accesses of different kinds; `ptx.inst.fence` has every form."""

from __future__ import annotations

from typing import Final

from pyptx._isa.given import Number
from pyptx._layouts.tensor_map import MAP_BYTES
from pyptx._operands import Address
from pyptx._source import caller
from pyptx._trace.core.context import current
from pyptx._trace.core.values import Reg, own
from pyptx.errors import LanguageError

__all__ = [
    "mbarrier_init",
    "proxy_async",
    "proxy_async_generic_acquire_shared_cluster",
    "proxy_async_shared_cta",
    "proxy_tensormap_acquire",
    "proxy_tensormap_release",
]

_SPACES: Final = ("global", "shared::cta", "shared::cluster")
_SCOPES: Final = ("cta", "cluster", "gpu", "sys")


def proxy_async(space: str | None = None) -> None:
    """Order ordinary accesses with those of asynchronous copies, in one state space or in all.

    For example between the stores to shared memory and the bulk copy that reads them. `space` is
    "global", "shared::cta" or "shared::cluster". One `fence.proxy.async`.
    """
    trace = current("ptx.fence.proxy_async")
    if space is not None and space not in _SPACES:
        raise LanguageError(
            f"{space!r} is no state space of fence.proxy.async",
            location=caller(),
            notes=(("legal", " ".join(f'"{s}"' for s in _SPACES)),),
        )
    trace.write(f"fence.proxy.async.{space}" if space else "fence.proxy.async")


def proxy_async_shared_cta() -> None:
    """`proxy_async("shared::cta")`. One `fence.proxy.async`."""
    proxy_async("shared::cta")


def proxy_async_generic_acquire_shared_cluster() -> None:
    """Acquire, for ordinary accesses, what asynchronous ones of the cluster did to shared memory.

    One `fence.proxy.async::generic.acquire`.
    """
    current("ptx.fence.proxy_async_generic_acquire_shared_cluster").write(
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"
    )


def proxy_tensormap_release(scope: str = "gpu") -> None:
    """Release the tensor maps that this thread has modified in global memory, for copies.

    Those who copy acquire each of them, after a barrier or flag of the same scope: "cta",
    "cluster", "gpu" or "sys". `ptx.tensormap.cp_fenceproxy` does so itself. One
    `fence.proxy.tensormap::generic.release`.
    """
    trace = current("ptx.fence.proxy_tensormap_release")
    trace.write(f"fence.proxy.tensormap::generic.release.{checked_scope(scope)}")


def proxy_tensormap_acquire(tensor_map: Reg, scope: str = "gpu") -> None:
    """Acquire the tensor map at this 64-bit address, for the copies after it.

    One `fence.proxy.tensormap::generic.acquire`.
    """
    trace = current("ptx.fence.proxy_tensormap_acquire")
    trace.write(
        f"fence.proxy.tensormap::generic.acquire.{checked_scope(scope)}",
        Address(own(trace, tensor_map)),
        Number(MAP_BYTES),
    )


def checked_scope(scope: str) -> str:
    """A scope as it is spelled. Raises LanguageError for another word."""
    if scope not in _SCOPES:
        raise LanguageError(
            f"{scope!r} is no scope",
            location=caller(),
            notes=(("legal", " ".join(f'"{s}"' for s in _SCOPES)),),
        )
    return scope


def mbarrier_init() -> None:
    """Make the mbarriers that this thread has initialised visible to the other CTAs of the cluster.

    `ptx.cluster.sync()` comes after it. One `fence.mbarrier_init.release.cluster`.
    """
    current("ptx.fence.mbarrier_init").write("fence.mbarrier_init.release.cluster")
