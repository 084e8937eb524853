"""`ptx`: what a kernel's body is written with.

`ptx.inst.*` appends exactly one instruction. Everything else that appends more says how many.
"""

from __future__ import annotations

from typing import Final

from pyptx.errors import LanguageError
from pyptx.isa.special import SPECIAL
from pyptx.operands import Address, Label, Pair, Sink, SpecialRegister
from pyptx.source import caller
from pyptx.spec import cdiv
from pyptx.trace import warp
from pyptx.trace.context import current
from pyptx.trace.flow import (
    break_,
    continue_,
    else_,
    if_,
    loop,
    place_label,
    range_,
    ret,
    while_,
)
from pyptx.trace.namespace import inst
from pyptx.trace.raw import raw
from pyptx.trace.tensor import global_pointer
from pyptx.trace.values import Not, Reg, Special, address, guard, own

__all__ = [
    "addr",
    "bar",
    "bra",
    "break_",
    "cdiv",
    "continue_",
    "else_",
    "global_ptrs",
    "if_",
    "inst",
    "label",
    "loop",
    "pair",
    "place",
    "range_",
    "raw",
    "ret",
    "sink",
    "special",
    "warp",
    "while_",
]

sink: Final = Sink()
"""`_`: a destination that is thrown away."""


def global_ptrs(*tensors: object) -> tuple[Reg, ...]:
    """The global addresses of tensors, u64 each. Two instructions a tensor: load, convert."""
    trace = current("ptx.global_ptrs")
    return tuple(global_pointer(trace, tensor) for tensor in tensors)


def addr(base: object, offset: object = 0) -> Address:
    """The address operand `[base + offset]`, the offset an int in bytes. No instruction."""
    return address(current("ptx.addr"), base, offset)


def pair(first: Reg | Sink, second: Reg | Sink) -> Pair:
    """`first|second`: two destinations in one operand, as `setp` and `shfl.sync` take them."""
    trace = current("ptx.pair")
    one, two = (own(trace, v) if isinstance(v, Reg) else v for v in (first, second))
    return Pair(one, two)


def label() -> Label:
    """A new label, for `ptx.place` and `ptx.bra`."""
    return current("ptx.label").label()


def place(target: Label) -> None:
    """Put a label here."""
    place_label(current("ptx.place"), target)


def bra(target: Label, *, pred: Reg | Not | None = None) -> None:
    """Branch to a label, in the threads where `pred` holds. One `bra`."""
    trace = current("ptx.bra")
    trace.write("bra", target, guard=guard(trace, pred))


class _Barrier:
    """`ptx.bar`: barriers of the CTA."""

    def sync(self, barrier: int | Reg = 0, count: int | Reg | None = None) -> None:
        """Wait until all threads (or `count` of them, a multiple of 32) arrive. One `bar.sync`."""
        operands = (barrier,) if count is None else (barrier, count)
        inst.bar.sync(*operands)

    def arrive(self, barrier: int | Reg, count: int | Reg) -> None:
        """Arrive without waiting. One `bar.arrive`."""
        inst.bar.arrive(barrier, count)


bar: Final = _Barrier()


class _Specials:
    """`ptx.special`: every special register; `ptx.special.tid.x()` is an operand for `mov`."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> _Specials:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._prefix}.{name}" if self._prefix else name
        if path not in SPECIAL and not any(known.startswith(f"{path}.") for known in SPECIAL):
            known = sorted({k.split(".")[0] for k in SPECIAL}) if not self._prefix else ["x y z w"]
            raise LanguageError(
                f"PTX has no special register %{path}",
                location=caller(),
                notes=(("special registers", " ".join(known)),),
            )
        return _Specials(path)

    def __call__(self) -> Special:
        entry = SPECIAL.get(self._prefix)
        if entry is None:
            raise LanguageError(
                f"%{self._prefix} has components",
                location=caller(),
                notes=(("help", f"ptx.special.{self._prefix}.x()"),),
            )
        current("ptx.special")
        return Special(SpecialRegister(self._prefix, entry.dtype))

    def __dir__(self) -> list[str]:
        return sorted(SPECIAL)


special: Final = _Specials()
