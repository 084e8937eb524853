"""Two names of one register: an operator that writes it changes both."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import repeat
from operator import is_
from types import FrameType
from typing import Any, Final, Protocol, cast

from pyptx import _bytecode as bytecode
from pyptx._source import SourceLocation, users_frames
from pyptx._trace.core.users import is_users
from pyptx.errors import LanguageError, LanguageWarning
from pyptx.types import DType

_REPORTED_BY: Final = "pyptx"
_TWICE: Final = 2


class Writable(Protocol):
    """A register, which knows this module."""

    trace: Any


def warn(
    register: object, symbol: str, dtype: DType, containers: tuple[type, ...] = (list, tuple, dict)
) -> bool:
    """Warn where the caller has another name for `register`, which it reads after this line.

    `j = i` gives one register two names, so `j += 1` changes i, unlike a number of Python. Whether
    something was said.
    """
    frame = next(users_frames(), None)
    if frame is None:
        return False
    names = _names(frame, register)
    written = bytecode.assigned(frame.f_code, frame.f_lasti)
    said = False
    if len(names) > 1 or (names and written is None):
        said = _warn(frame, names, f"{symbol}=", dtype)
    if written is None:  # `acc[0] += v`
        said |= _warn_of_elements(frame, register, symbol, dtype)
        return _warn_of_copied_lists(frame, register, symbol) or said
    said |= _warn_of_containers(frame, register, symbol, dtype, containers)
    return _warn_of_returned(frame, register, written, symbol) or said


def warn_of_set(register: object, dtype: DType) -> None:
    """The same of `i.set(v)`, where one of the names was made from the other, by `j = i`.

    A name that a loop gives to one register after another is meant to write them.
    """
    frame = next(users_frames(), None)
    if frame is None:
        return
    names = _names(frame, register)
    if len(names) < _TWICE:
        return
    set_by = bytecode.receiver(frame.f_code, frame.f_lasti, "set")
    if set_by in names:
        others = (name for name in names if name != set_by)
        copies = [name for name in others if bytecode.copied(frame.f_code, name, set_by)]
        _warn(frame, copies, ".set()", dtype)


def warn_of_element(register: Writable, value: object, dtype: DType) -> bool:
    """The same of `a[i] = v`, which writes the register that `t = a[i]` has given a name.

    Raises LanguageError where v is the element that `a[0], a[1] = a[1], a[0]` has just written.
    """
    frame = next(users_frames(), None)
    if frame is None:
        return False
    code = frame.f_code
    names = [n for n in _names(frame, register) if bytecode.from_element(code, n)]
    said = _warn(frame, names, "=", dtype)
    stored: list[tuple[int, object, int]] = register.trace.stored
    here = id(frame), register, frame.f_lasti
    if stored and not (
        stored[-1][0] == here[0] and bytecode.unpacks(code, stored[-1][2], frame.f_lasti)
    ):
        stored.clear()  # it was another assignment
    if any(written is value for _, written, _ in stored):
        raise LanguageError(
            "this stores a register that the assignment to an element before has written",
            location=SourceLocation(code.co_filename, frame.f_lineno),
            notes=(
                ("why", "a[i] = v is a mov: elements are written one after the other"),
                ("help", f"t = reg.from_(a[i], {dtype}) before both is a copy to store"),
            ),
        )
    stored.append(here)
    return said


def warn_of_result(register: object, called: str, dtype: DType) -> bool:
    """The same of `s = ptx.warp.reduce_sum(v)`, which writes v and returns it."""
    frame = next(users_frames(), None)
    if frame is None:
        return False
    said = False
    code, here = frame.f_code, frame.f_lasti
    names, written = _names(frame, register), bytecode.assigned(code, here)
    if written is None or not written.isidentifier():  # `ptx.warp.reduce_max(m)` after `m = v`
        pairs = [(n, m) for n in names for m in names if n < m and bytecode.copied(code, n, m)]
        names = [n for n, m in pairs if bytecode.next_read(code, here, m) is not None]
    for name in names:
        read = None if name == written else bytecode.next_read(code, here, name)
        if read is not None:
            what = f"{called} writes the register that {name} names too, and {name} is read later"
            said = _say(
                frame, what, read, f"reg.from_({name}, {dtype}) is a copy, another register"
            )
    return said


def _names(frame: FrameType, register: object) -> list[str]:
    named = (name for name, value in frame.f_locals.items() if value is register)
    return [name for name in named if name.isidentifier()]  # others are a test framework's


def _warn_of_containers(
    frame: FrameType,
    register: object,
    symbol: str,
    dtype: DType,
    containers: tuple[type, ...],
) -> bool:
    """Warn of `total = v[0]; total += x` and `sums.append(s); s += x`, where v, sums are read."""
    said = False
    code = frame.f_code
    written = bytecode.assigned(code, frame.f_lasti)
    for name, value in frame.f_locals.items():
        if written is None or name == written or not isinstance(value, containers):
            continue
        held = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]
        if not any(map(is_, cast("Iterable[object]", held), repeat(register))):
            continue
        if not (bytecode.from_element(code, written) or bytecode.appended(code, name, written)):
            continue
        read = bytecode.next_read(code, frame.f_lasti, name)
        if read is not None:
            what = (
                f"`{symbol}=` writes a register that is an element of {name} too, and {name} is "
                "read later"
            )
            said = _say(
                frame, what, read, f"reg.from_({written}, {dtype}) is a copy, another register"
            )
    return said


def _warn_of_copied_lists(frame: FrameType, register: object, symbol: str) -> bool:
    """Warn of `b = list(a); b[0] += x`, where both are read: their elements are the same."""
    said = False
    held = [
        (name, cast("list[object]", value))
        for name, value in frame.f_locals.items()
        if isinstance(value, list) and any(map(is_, cast("list[object]", value), repeat(register)))
    ]
    for i, (name, one) in enumerate(held):
        for other_name, other in held[i + 1 :]:
            if one is other or len(one) != len(other) or not all(map(is_, one, other)):
                continue
            reads = [bytecode.next_read(frame.f_code, frame.f_lasti, n) for n in (name, other_name)]
            if None not in reads:
                what = (
                    f"`{symbol}=` writes a register that is an element of both {name} and "
                    f"{other_name}"
                )
                cure = f"{other_name} = [reg.from_(v, v.dtype) for v in {name}] has copies"
                said = _say(frame, what, cast("int", reads[0]), cure)
    return said


def _warn_of_returned(frame: FrameType, register: object, written: str, symbol: str) -> bool:
    """Warn of `w = f(v)`, where f writes its parameter and returns it, and v is read later."""
    said = False
    code, outer = frame.f_code, frame.f_back
    if not (bytecode.is_parameter(code, written) and bytecode.returned(code, written)):
        return False
    if outer is None or outer not in users_frames():
        return False
    bound = bytecode.assigned(outer.f_code, outer.f_lasti)
    for name in _names(outer, register) if bound is not None else ():
        read = None if name == bound else bytecode.next_read(outer.f_code, outer.f_lasti, name)
        if read is not None:
            what = (
                f"`{symbol}=` writes the parameter {written}, which {code.co_name} returns: "
                f"{bound} and {name} are one register, and {name} is read later"
            )
            reads = SourceLocation(outer.f_code.co_filename, read)
            cure = f"{written} = {written} {symbol} x makes a new register"
            said = _report(SourceLocation(code.co_filename, frame.f_lineno), what, reads, cure)
    return said


def _warn(frame: FrameType, names: list[str], symbol: str, dtype: DType) -> bool:
    said = False
    code, here = frame.f_code, frame.f_lasti
    written = bytecode.assigned(code, here)
    for name in names:
        read = None if name == written else bytecode.next_read(code, here, name)
        if read is None:
            continue
        said = _say(
            frame,
            f"`{symbol}` writes the register that {name} names too, and {name} is read later",
            read,
            f"reg.from_({name}, {dtype}) is a copy, another register",
        )
    return said


def _warn_of_elements(frame: FrameType, register: object, symbol: str, dtype: DType) -> bool:
    """Warn where a list, dict or object that is read later has the register more than once."""
    said = False
    for name, value in frame.f_locals.items():
        elements = _elements(value)
        if sum(map(is_, elements.values(), repeat(register))) < _TWICE:
            continue
        read = bytecode.next_read(frame.f_code, frame.f_lasti, name)
        if read is None:
            continue
        first, second, *_ = (key for key, each in elements.items() if each is register)
        spelled = "{}.{}" if hasattr(value, "__dict__") else "{}[{!r}]"
        first, second = (spelled.format(name, key) for key in (first, second))
        said = _say(
            frame,
            f"`{symbol}=` writes one register that is both {first} and {second}",
            read,
            f"reg.scalar({dtype}) for each element, or reg.from_({first}, {dtype}) for a copy",
        )
    return said


def _elements(value: object) -> dict[object, object]:
    if isinstance(value, list):
        return dict(enumerate(cast("list[object]", value)))
    if isinstance(value, dict):
        return cast("dict[object, object]", value)
    if hasattr(value, "__dict__") and is_users(value) and not callable(value):
        return {**vars(value)}
    return {}


def _say(frame: FrameType, what: str, read: int, cure: str) -> bool:
    file = frame.f_code.co_filename
    return _report(SourceLocation(file, frame.f_lineno), what, SourceLocation(file, read), cure)


def _report(where: SourceLocation, what: str, reads: SourceLocation, cure: str) -> bool:
    message = LanguageError(  # warnings put the line before it
        what, notes=(("read", reads.quoted), ("help", cure))
    )
    warnings.warn_explicit(
        str(message), LanguageWarning, where.file, where.line, module=_REPORTED_BY
    )
    return True
