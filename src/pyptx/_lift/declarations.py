"""Declarations of PTX as calls of Python: parameters, memory and variables of the module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyptx._lift.layout import Call, Expression, call, string
from pyptx._lift.spelling import literal, number
from pyptx._operands import Immediate, Initial, Parameter, Register, Variable
from pyptx.types import DType

_LISTED: Final = 64  # values of an initial value that are written as numbers; more are bytes


def parameter(declared: Parameter | Register) -> Call:
    """`ptx.param` and `ptx.returned` of a parameter, or what is passed in a register."""
    if isinstance(declared, Register):
        return call("ptx.param_register", str(declared.dtype))
    head = "ptx.returned" if declared.returned else "ptx.param"
    given: list[Expression] = [str(declared.dtype), string(declared.name)]
    if declared.length is not None:
        given.append(str(declared.length))
    named: dict[str, Expression] = {}
    if declared.align:
        named["align"] = str(declared.align)
    if declared.pointer is not None:
        named["pointer"] = string(declared.pointer.space)
        named["pointer_align"] = str(declared.pointer.align)
    if declared.opaque:
        named["opaque"] = string(declared.opaque)
    return call(head, *given, **named)


def own(variable: Variable) -> Call:
    """A variable of a body: shared and local memory, and what calls pass."""
    head = {"shared": "smem.alloc", "local": "ptx.local", "param": "ptx.argument"}[variable.space]
    count = variable.size // variable.dtype.bytes
    given: list[Expression] = [str(variable.dtype)]
    if count != 1 or variable.space == "shared":
        given.append(str(count))
    named: dict[str, Expression] = {}
    if variable.align != variable.dtype.bytes or variable.space == "shared":
        named["align"] = str(variable.align)
    named["name"] = string(variable.name)
    return call(head, *given, **named)


def of_module(variable: Variable, names: Mapping[object, str]) -> Call:
    """A variable of the module."""
    dtype = variable.dtype
    named: dict[str, Expression] = {}
    if variable.align != dtype.bytes:
        named["align"] = str(variable.align)
    named["name"] = string(variable.name)
    if variable.space == "shared" and not variable.size:
        return call("smem.extern", str(dtype), **named)
    given: list[Expression] = [str(dtype)]
    count = variable.size // dtype.bytes
    if variable.opaque:
        named["opaque"] = string(variable.opaque)
    elif count != 1:
        given.append(str(count))
    if variable.initial or variable.addresses:
        named["init"] = _initial(variable, names)
    if variable.linkage:
        named["linkage"] = string(variable.linkage)
    if variable.attributes:
        named["attributes"] = Call("", tuple(map(string, variable.attributes)))
    head = {"const": "ptx.const", "global": "ptx.global_", "shared": "ptx.shared"}[variable.space]
    return call(head, *given, **named)


def _initial(variable: Variable, names: Mapping[object, str]) -> Expression:
    dtype = variable.dtype
    data = variable.initial
    least = max((a.offset + dtype.bytes for a in variable.addresses), default=0)
    words = max(len(data), least) // dtype.bytes
    if dtype.bits == 8 and not variable.addresses:
        return _bytes(data)
    unwritten = dtype.is_float and _has_nan(data, dtype)
    if (words > _LISTED and not variable.addresses) or unwritten:
        return call("bytes.fromhex", string(data.hex()))
    data = data.ljust(words * dtype.bytes, b"\0")
    values: list[Expression] = [
        _number(data[i : i + dtype.bytes], dtype) for i in range(0, len(data), dtype.bytes)
    ]
    for address in variable.addresses:
        values[address.offset // dtype.bytes] = _address(address, names)
    return Call("", tuple(values))


def _has_nan(data: bytes, dtype: DType) -> bool:
    """Whether some float is a NaN, whose bits no number of Python names."""
    words = (data[i : i + dtype.bytes] for i in range(0, len(data), dtype.bytes))
    values = (number(Immediate(int.from_bytes(word, "little"), dtype)) for word in words)
    return any(value != value for value in values)  # noqa: PLR0124


def _bytes(data: bytes) -> Expression:
    """The bytes of a string, or of anything else."""
    if data and all(32 <= byte < 127 or byte == 10 for byte in data):
        text = data.decode().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'b"{text}"'
    return call("bytes.fromhex", string(data.hex()))


def _number(data: bytes, dtype: DType) -> str:
    bits = int.from_bytes(data, "little", signed=dtype.is_signed)
    return literal(Immediate(bits, dtype))


def _address(address: Initial, names: Mapping[object, str]) -> Expression:
    name = names[address.of]
    named: dict[str, Expression] = {}
    if address.generic:
        named["generic"] = "True"
    if address.mask:
        named["mask"] = f"0x{address.mask:X}"
    if not named and not address.addend:
        return name
    offset = [str(address.addend)] if address.addend else []
    return call("ptx.address_of", name, *offset, **named)
