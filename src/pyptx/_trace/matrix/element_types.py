"""Whether the registers of a fragment hold what `mma` or `wgmma` is told to read.

A register of `f16x2`, `bf16x2` or `f32` says so itself. Elements of other types are in registers of
b32, so `reg.mma_frag`, `ptx.mma.load_a` and `load_b` keep what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx import _verify as verify
from pyptx._ir import Instruction
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.core.context import Trace
from pyptx._trace.core.values import Reg
from pyptx.errors import LanguageError
from pyptx.types import DType, b32, bf16, bf16x2, e4m3, e5m2, f16, f16x2, f32, f64, s8, tf32, u8

_PACKED: Final = {f16x2: f16, bf16x2: bf16}
_MEANT: Final = (f16, bf16, f32, tf32, f64, e4m3, e5m2, s8, u8)
"""The types that mean one thing to `mma`; b8 and b16, and integers of other widths, are bits."""


def remember(registers: Sequence[Reg], dtype: DType, *, loaded: bool = False) -> None:
    """Keep what b32 registers hold: `loaded` by the last instruction, or as they are declared."""
    for each in registers:
        if each.dtype is b32 and dtype in _MEANT:
            trace = each.trace
            trace.fragments[each.register] = dtype, len(trace.body) if loaded else None


def check_elements(trace: Trace, name: str, held: Sequence[Register], wanted: DType | str) -> None:
    """Raises LanguageError where `name`= of a product holds elements of another type."""
    for register in held:
        dtype = _PACKED.get(register.dtype, register.dtype)
        if register in trace.fragments:
            dtype, since = trace.fragments[register]
            if not _fits(dtype, str(wanted)) and _is_changed(trace, register, since):
                continue
        if not _fits(dtype, str(wanted)):
            raise LanguageError(
                f"{name}= holds .{dtype}, and dtype_{name} is .{wanted}",
                location=caller(),
                notes=_cures(name, dtype),
            )


def _fits(dtype: DType, wanted: str) -> bool:
    if dtype not in _MEANT:
        return True
    if dtype in (f32, tf32) and wanted in ("f32", "tf32"):
        return True
    return dtype.name == wanted or (dtype in (s8, u8) and wanted in ("s4", "u4", "b1"))


def _is_changed(trace: Trace, register: Register, since: int | None) -> bool:
    """Whether an instruction after the load writes the register: `r ^= 0x80808080` makes s8 u8."""
    return since is not None and any(
        register in verify.reads_and_writes(each)[1]
        for each in trace.body[since:]
        if isinstance(each, Instruction)
    )


def _cures(name: str, dtype: DType) -> tuple[tuple[str, str], ...]:
    if name in "cd":
        return (("help", f"dtype_{name}={'f32' if dtype is tf32 else dtype}"),)
    return (
        ("help", f"dtype_{name}={'tf32' if dtype is f32 else dtype}"),
        ("help", "tile.view(dtype) is the same shared memory as elements of another type"),
    )
