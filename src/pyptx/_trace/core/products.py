"""Registers that are 64 bits wide because a product of 32 bits is a term of what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from pyptx._ir import Instruction, Statement
from pyptx._operands import Register, registers_of

Notes: TypeAlias = tuple[tuple[str, str], ...]

_NARROWS: Final = re.compile(r"ptx\.inst\.cvt\.[us](?:8|16|32)\.[us]64\(r\)")


def product_notes(body: Sequence[Statement], registers: Iterable[object]) -> Notes:
    """Which `*` made the first of these registers 64 bits wide, and how to write one of 32.

    To cut such a register at its end is not the same: a `>>` has moved upper bits down by then.
    """
    for register in registers:
        if isinstance(register, Register) and register.dtype.bits == 64:
            made = _product(body, register)
            if made is not None:
                dtype = made.modifiers[-1]
                return (
                    ("64 bits since", made.location.quoted),
                    ("help", f"`*` of .{dtype} has 64 bits: ptx.inst.mul.lo.{dtype}(a, b) has 32"),
                )
    return ()


def with_product(body: Sequence[Statement], notes: Notes, registers: Iterable[object]) -> Notes:
    """The notes of an error of types, after the product where one of them narrows 64 bits."""
    if not any(_NARROWS.search(text) for _, text in notes):
        return notes
    product = product_notes(body, registers)
    if not product:
        return notes
    cut = "or cut the wide result at the end: "
    return (*product, *((label, text.replace("convert it: ", cut)) for label, text in notes))


def _product(body: Sequence[Statement], register: Register) -> Instruction | None:
    """The last `mul.wide` of 32 bits whose result is a term of what a register holds."""
    terms = {register}
    for statement in reversed(body):
        if not isinstance(statement, Instruction) or not statement.operands:
            continue
        result, *sources = statement.operands
        if result not in terms:
            continue
        if statement.form.opcode == "mul" and statement.modifiers in _WIDE:
            return statement
        read = (each for source in sources for each in registers_of(source))
        terms.update(each for each in read if each.dtype.bits == 64)
    return None


_WIDE: Final = (("wide", "u32"), ("wide", "s32"))
