"""`ptx.cta`: reductions, scans and broadcasts over all threads of a CTA.

All threads of the CTA take part. Where some do not reach a call, in `ptx.if_` or after
`ptx.ret(pred=)`, the others wait forever or combine values that were never written. `block=` of
the kernel gives the number of threads along one, two or three axes; they are numbered with x
fastest, then y, then z. A CTA of up to 32 threads uses only shuffles. A larger one waits at
`bar.sync 0` twice in each call, and uses 8 (2 W + 1) bytes of shared memory for all calls together,
where W is the number of warps. Calls may therefore follow each other and may be in loops, and what
threads write to shared memory before a call, all threads may read after it.

A *function* is one of two registers that appends instructions and returns a new register of their
type; it writes neither of the two. It is associative.

The docstrings count instructions for 32-bit and packed types and T threads along x. More than that:

- T beyond 32 and no multiple of 32: 3, the lanes of the last warp.
- Threads along two axes, T beyond 32: 2. Along three: 4. That is the thread's number.
- 64-bit types: 3 for each shuffle. 16-bit types: 2 for each shuffle.
- A function of f instructions instead of "sum", "max" or "min": f - 1 each time that it is applied,
  and a `mov` wherever a guard keeps lanes from taking its result.
"""

from __future__ import annotations

from pyptx._trace.collectives import collective
from pyptx._trace.collectives.lanes import Function, Named
from pyptx._trace.core.values import Reg


def reduce_sum(value: Reg) -> Reg:
    """Sum over the CTA, in place, in every thread: the same bits in all of them.

    With r the base-2 logarithm of the number of warps, rounded up: 28 + 2 r instructions, one less
    for 32 warps. Of these, 5 + r are shuffles. Up to 32 threads, with r that of T: 2 r, and two
    more (one of them a shuffle) where T is not a power of two.
    """
    return collective.reduce("ptx.cta.reduce_sum", value, "sum")


def reduce_max(value: Reg) -> Reg:
    """Maximum over the CTA, in place, in every thread; instruction counts as for `reduce_sum`."""
    return collective.reduce("ptx.cta.reduce_max", value, "max")


def reduce_min(value: Reg) -> Reg:
    """Minimum over the CTA, in place, in every thread; instruction counts as for `reduce_sum`."""
    return collective.reduce("ptx.cta.reduce_min", value, "min")


def reduce(value: Reg, function: Function | Named) -> Reg:
    """Combine the values of the CTA by a function, in place, in every thread.

    The function is associative and commutative: the order of its two values is not defined. It
    needs no identity, as only threads of the CTA take part. For a function that is not commutative,
    use `inclusive_scan` and `broadcast` of the last thread. Instruction counts as for `reduce_sum`;
    the function is applied 5 + r times, with a guard in the warp where T is no multiple of 32, and
    among the warps where their number is no power of two. Up to 32 threads, where T is a power of
    two beyond 1, one `mov` more.
    """
    return collective.reduce("ptx.cta.reduce", value, function)


def inclusive_scan(value: Reg, function: Function | Named = "sum") -> Reg:
    """The inclusive scan over the threads, in a new register; `value` does not change.

    The function's first argument comes from lower threads, so it need not be commutative. With s
    the base-2 logarithm of the number of warps less one, rounded up: 30 + 2 s instructions, in
    5 + s shuffles; a function is applied once more than that, and all but that once with a guard
    (then it has a `mov` too). Up to 32 threads, r the logarithm of T: 2 r + 1.
    """
    return collective.scanned("ptx.cta.inclusive_scan", value, function, exclusive=False)


def exclusive_scan(
    value: Reg, function: Function | Named = "sum", *, identity: object = None
) -> Reg:
    """The exclusive scan over the threads, in a new register; `value` does not change.

    The first thread gets `identity`, a number or a register: by default 0 for "sum", the least
    value of the type for "max", the greatest for "min"; a function has no default. It changes no
    value that it is combined with. Three instructions more than `inclusive_scan`, one of them a
    shuffle.
    """
    return collective.scanned(
        "ptx.cta.exclusive_scan", value, function, exclusive=True, identity=identity
    )


def broadcast(value: Reg, thread: int | Reg = 0) -> Reg:
    """The value of one thread in every thread, in a new register; `value` is kept.

    `thread` is an int, or a 32-bit register that is the same in all threads. Six instructions, in
    no shuffle; up to 32 threads one shuffle.
    """
    return collective.broadcast("ptx.cta.broadcast", value, thread)
