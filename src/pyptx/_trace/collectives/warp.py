"""`ptx.warp`: reductions, scans and broadcasts over the 32 lanes of a warp.

All lanes of the warp take part. A *function* is one of two registers that appends instructions and
returns a new register of their type; it writes neither of the two.
"""

from __future__ import annotations

from typing import Final

from pyptx._source import caller
from pyptx._trace.collectives.lanes import (
    FULL,
    Function,
    Named,
    combination,
    copied,
    fold,
    given_back,
    lane_operand,
    put,
    scan,
    shift,
    shuffle,
    shuffled,
    taken,
)
from pyptx._trace.core.context import current
from pyptx._trace.core.values import Reg, own
from pyptx.errors import LanguageError

_REDUX: Final = {"sum": "add", "max": "max", "min": "min"}


def reduce_sum(value: Reg, *, width: int = 32, redux: bool = False) -> Reg:
    """Sum over the warp, in place, in every lane; over each `width` neighbours where that is less.

    32-bit and packed types: 10 instructions, five `shfl.sync.bfly` and five `add`. 64-bit types:
    25, as each round moves two halves (unpack, two shuffles, pack, add). 16-bit floats: 20. All 32
    lanes take part. `width` is a power of two up to 32; each halving saves a round.

    With `redux` one `redux.sync` instead (sm_80): u32 and s32, over all 32 lanes.
    """
    return _reduce("reduce_sum", "sum", value, width, redux=redux)


def reduce_max(value: Reg, *, width: int = 32, redux: bool = False) -> Reg:
    """Maximum over the warp, in place, in every lane; instruction counts as for `reduce_sum`."""
    return _reduce("reduce_max", "max", value, width, redux=redux)


def reduce_min(value: Reg, *, width: int = 32, redux: bool = False) -> Reg:
    """Minimum over the warp, in place, in every lane; instruction counts as for `reduce_sum`."""
    return _reduce("reduce_min", "min", value, width, redux=redux)


def reduce(value: Reg, function: Function | Named, *, width: int = 32) -> Reg:
    """Combine the warp's values by a function of two registers, in place, in every lane.

    The function is associative and commutative: which of two lanes comes first is left open. For
    one that is not commutative, `inclusive_scan` and `broadcast` of the last lane.

    With a function of f instructions, 32-bit types: 5 (1 + f) + 1. 64-bit types: 5 (4 + f) + 1.
    16-bit types: 5 (3 + f) + 1. Each halving of `width` saves a round of the five. "sum", "max"
    and "min" are `reduce_sum` and the like.
    """
    return _reduce("reduce", function, value, width)


def _reduce(
    name: str, function: Function | str, value: Reg, width: int, *, redux: bool = False
) -> Reg:
    what = f"ptx.warp.{name}"
    trace = current(what)
    register = own(trace, taken(what, value))
    how = combination(what, value, function)
    _check_width(width, "a reduction")
    if redux:
        _check_redux(what, value, width)
        trace.write(f"redux.sync.{_REDUX[str(function)]}.{value.dtype}", register, register, FULL)
        return given_back(what, value)
    put(trace, register, fold(trace, how, register, width))
    return given_back(what, value)


def _check_width(width: object, what: str) -> None:
    if width not in (32, 16, 8, 4, 2):
        raise LanguageError(
            f"width={width!r} is not a number of lanes that {what} has",
            location=caller(),
            notes=(("legal", "2 4 8 16 32"),),
        )


def _check_redux(what: str, value: Reg, width: int) -> None:
    if value.dtype.name not in ("u32", "s32") or width != 32:
        raise LanguageError(
            f"{what} of .{value.dtype} over {width} lanes is not one redux.sync",
            location=caller(),
            notes=(("legal", "u32 and s32, width=32"), ("help", "leave redux= out")),
        )


def inclusive_scan(value: Reg, function: Function | Named = "sum", *, width: int = 32) -> Reg:
    """The inclusive scan over the lanes, in a new register; `value` does not change.

    The function is associative, and its first argument comes from lower lanes. 32-bit and packed
    types: 11 instructions (a `mov`, five `shfl.sync.up`, five `add` with a guard); 64-bit types:
    26; 16-bit: 21. A function of f instructions adds five times f, as each round moves what it
    gives. Segments of `width` lanes are scanned apart; each halving saves a round.
    """
    trace = current("ptx.warp.inclusive_scan")
    register = own(trace, taken("ptx.warp.inclusive_scan", value, "reads"))
    how = combination("ptx.warp.inclusive_scan", value, function)
    _check_width(width, "a scan")
    result = copied(trace, value.dtype, register)
    scan(trace, how, result, width, segment=width)
    return Reg(trace, result)


def exclusive_scan(
    value: Reg,
    function: Function | Named = "sum",
    *,
    identity: object = None,
    width: int = 32,
) -> Reg:
    """The exclusive scan over the lanes, in a new register; `value` does not change.

    The first lane gets `identity`, a number or a register: by default 0 for "sum", the least value
    of the type for "max", the greatest for "min"; a function has no default. As many instructions
    as `inclusive_scan`, and three more for 32 bits (`mov`, shuffle, `mov`), six for 64, five for
    16.
    """
    trace = current("ptx.warp.exclusive_scan")
    register = own(trace, taken("ptx.warp.exclusive_scan", value, "reads"))
    how = combination("ptx.warp.exclusive_scan", value, function)
    _check_width(width, "a scan")
    first = how.identity(identity)
    result = copied(trace, value.dtype, register)
    scan(trace, how, result, width, segment=width)
    return Reg(trace, shift(trace, result, first, segment=width))


def broadcast(value: Reg, lane: int | Reg = 0) -> Reg:
    """The value of one lane in every lane, in a new register; `value` is kept.

    `lane` is an int, or a 32-bit register that is the same in all lanes. 32 bits: one
    `shfl.sync.idx`. 64 bits: 4 instructions. 16 bits: 3.
    """
    what = "ptx.warp.broadcast"
    trace = current(what)
    register = own(trace, taken(what, value, "reads"))
    shuffled(what, value)
    other, _ = shuffle(trace, "idx", register, lane_operand(what, "lane", lane, 32))
    return Reg(trace, other)
