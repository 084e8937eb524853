"""Matrices of 8 by 8 values of 16 bits between shared memory and the registers of a warp.

Which element a thread gets is `layouts.fragments.ldmatrix`. Source: PTX ISA, "ldmatrix",
"stmatrix", "movmatrix".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._layouts import fragments
from pyptx._source import caller
from pyptx._trace.core.context import current
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Reg, own, raw
from pyptx._trace.matrix.fragments import FragmentArray
from pyptx.errors import LanguageError
from pyptx.types import b32

_NUMBERS: Final = {"x1": 1, "x2": 2, "x4": 4}


def ldmatrix(
    *,
    src: object,
    dst: RegArray | Sequence[Reg] | None = None,
    layout: str = "x4",
    trans: bool = False,
) -> RegArray | Sequence[Reg]:
    """Load one, two or four matrices ("x1", "x2", "x4"); the registers, new b32 ones without `dst`.

    "m8n8.x4", as PTX writes it with the shape, is "x4".

    `src` is the address of a row of 16 bytes, at a multiple of 16, in each lane: lanes 0 to 7 have
    those of the first matrix, 8 to 15 of the second, and so on. Lane l gets values 2 * (l % 4) and
    the next of row l / 4; with `trans` of column l / 4. One `ldmatrix`.
    """
    trace = current("ptx.ldmatrix")
    number = _number(layout)
    layout = f"x{number}"
    if dst is None:
        held = fragments.ldmatrix(number, trans=trans)
        dst = FragmentArray([Reg(trace, trace.register(b32)) for _ in range(number)], held)
    registers = tuple(own(trace, register) for register in dst)
    trace.write(f"ldmatrix{_modifiers(layout, trans)}", registers, raw(trace, src))
    return dst


def stmatrix(
    *, smem: object, regs: RegArray | Sequence[Reg], layout: str = "x4", trans: bool = False
) -> None:
    """Store one, two or four matrices, as `ldmatrix` loads them. One `stmatrix` (sm_90).

    `smem` is the address of a row in each lane, `regs` as many 32-bit registers as matrices.
    """
    trace = current("ptx.stmatrix")
    layout = f"x{_number(layout)}"
    registers = tuple(own(trace, register) for register in regs)
    trace.write(f"stmatrix{_modifiers(layout, trans)}", raw(trace, smem), registers)


def movmatrix(source: Reg) -> Reg:
    """The transpose of a matrix of 8 by 8 that the warp holds; a new register.

    One `movmatrix`.
    """
    trace = current("ptx.movmatrix")
    result = Reg(trace, trace.register(source.dtype))
    trace.write("movmatrix.sync.aligned.m8n8.trans.b16", result.register, own(trace, source))
    return result


def _modifiers(layout: str, trans: bool) -> str:
    return f".sync.aligned.m8n8.{layout}{'.trans' if trans else ''}.shared.b16"


def _number(layout: str) -> int:
    layout = layout.removeprefix("m8n8.") if isinstance(layout, str) else layout  # pyright: ignore[reportUnnecessaryIsInstance]
    if layout not in _NUMBERS:
        raise LanguageError(
            f"layout={layout!r} is no number of matrices",
            location=caller(),
            notes=(("legal", '"x1" "x2" "x4"'),),
        )
    return _NUMBERS[layout]
