"""`ptx.cluster`: the CTAs that run together as a cluster and reach each other's shared memory.

`kernel(cluster=(x, y, z))` says how many; names follow CUDA's cooperative groups. All need sm_90.
"""

from __future__ import annotations

from pyptx._isa.given import Number, Raw
from pyptx._isa.special import SPECIAL
from pyptx._operands import Address, Immediate, Register, Sink, Symbol
from pyptx._source import caller
from pyptx._trace.collectives import collective
from pyptx._trace.collectives.lanes import Function, Named
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Not, Reg, guard, raw
from pyptx.errors import LanguageError
from pyptx.types import u32


def rank() -> Reg:
    """The rank of this CTA in its cluster, u32. One `mov` from `%cluster_ctarank`."""
    return _special("cluster_ctarank")


def size() -> Reg:
    """The number of CTAs of the cluster, u32. One `mov` from `%cluster_nctarank`."""
    return _special("cluster_nctarank")


def _special(name: str) -> Reg:
    trace = current(f"ptx.special.{name}")
    found = Reg(trace, trace.register(u32))
    trace.write("mov.u32", found.register, SPECIAL[name].operand)
    return found


def arrive(*, relaxed: bool = False, aligned: bool = False) -> None:
    """Arrive at the barrier of the cluster, releasing unless `relaxed`.

    `aligned=True` promises that all lanes of the warp run it together. One
    `barrier.cluster.arrive`.
    """
    order = ".relaxed" if relaxed else ""
    _trace("arrive").write(f"barrier.cluster.arrive{order}{_aligned(aligned)}")


def wait(*, aligned: bool = False) -> None:
    """Wait until all threads of the cluster have arrived. One `barrier.cluster.wait`."""
    _trace("wait").write(f"barrier.cluster.wait{_aligned(aligned)}")


def sync(*, aligned: bool = False) -> None:
    """Arrive and wait: what the cluster wrote before, all of it reads after. Two instructions."""
    arrive(aligned=aligned)
    wait(aligned=aligned)


def _aligned(aligned: bool) -> str:
    return ".aligned" if aligned else ""


def map_shared_rank(address: object, rank: int | Reg) -> Reg:
    """The address of the same shared memory in the CTA with this rank: a u32 in .shared::cluster.

    `address` is shared memory, an mbarrier, an address operand or a 32-bit register. One `mapa`;
    an `add` before it for a register with an offset.
    """
    trace = _trace("map_shared_rank")
    source = _source(trace, raw(trace, address))
    mapped = Reg(trace, trace.register(u32))
    trace.write("mapa.shared::cluster.u32", mapped.register, source, raw(trace, rank))
    return mapped


map_shared_u32 = map_shared_rank
"""`map_shared_rank` by the type of what it gives."""


def arrive_remote(
    address: object,
    rank: int | Reg,
    count: int | Reg | None = None,
    *,
    relaxed: bool = False,
    pred: Reg | Not | None = None,
) -> None:
    """Arrive at the mbarrier at this address in the CTA with this rank, releasing unless `relaxed`.

    A relaxed arrival orders no store or load of this thread. It is enough where only asynchronous
    reads that have been waited for, as by `wgmma.wait_group`, come before asynchronous writes.
    `pred` is the predicate of the arrival.
    Two instructions: `mapa` and `mbarrier.arrive.release.cluster`, or from PTX 8.6 on that with
    `.relaxed`; its wait takes `cluster=True`.
    """
    trace = _trace("arrive_remote")
    remote = Address(map_shared_rank(address, rank).register)
    counts = () if count is None else (raw(trace, count),)
    order = "relaxed" if relaxed else "release"
    spelling = f"mbarrier.arrive.{order}.cluster.shared::cluster.b64"
    trace.write(spelling, Sink(), remote, *counts, guard=guard(trace, pred))


def reduce_sum(value: Reg) -> Reg:
    """Sum over all threads of the cluster, in place, in every thread: the same bits in all.

    Each CTA combines its own threads as `ptx.cta.reduce_sum` does, then thread 0 of each adds what
    all CTAs have, in the order of their ranks, through distributed shared memory. All threads wait
    twice at the barrier of the cluster, so no CTA ends while another reads from it. For a cluster
    of C CTAs, otherwise counted as in `ptx.cta`: 33 + 2 r + 3 C instructions, one less for 32
    warps; up to 32 threads 10 + 2 r + 3 C. A cluster of one CTA is `ptx.cta.reduce_sum`.
    """
    return collective.cluster_reduce("ptx.cluster.reduce_sum", value, "sum")


def reduce_max(value: Reg) -> Reg:
    """Maximum over the cluster, in place, in every thread; counts as for `reduce_sum`."""
    return collective.cluster_reduce("ptx.cluster.reduce_max", value, "max")


def reduce_min(value: Reg) -> Reg:
    """Minimum over the cluster, in place, in every thread; counts as for `reduce_sum`."""
    return collective.cluster_reduce("ptx.cluster.reduce_min", value, "min")


def reduce(value: Reg, function: Function | Named) -> Reg:
    """Combine the values of the cluster by a function, in place, in every thread.

    The function is that of `ptx.cta.reduce`: associative, commutative, of two registers. Counts
    as for `reduce_sum`; among the CTAs it is applied once less than their number.
    """
    return collective.cluster_reduce("ptx.cluster.reduce", value, function)


def _source(trace: Trace, address: Raw) -> Raw:
    if not isinstance(address, Address):
        return address
    base = address.base
    if isinstance(base, Immediate):
        raise LanguageError(
            "ptx.cluster.map_shared_rank takes shared memory, not a number as an address",
            location=caller(),
        )
    if not isinstance(base, Register):
        return Symbol(base, address.offset)
    if not address.offset:
        return base
    total = trace.register(u32)
    trace.write("add.u32", total, base, Number(address.offset))
    return total


def _trace(name: str) -> Trace:
    return current(f"ptx.cluster.{name}")
