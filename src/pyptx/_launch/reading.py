"""Plans from their text: `read(str(plan)) == plan`."""

from __future__ import annotations

import re
from typing import Final

from pyptx import types
from pyptx._dims import OPERATORS
from pyptx._launch.plan import (
    Address,
    Argument,
    Bytes,
    EarlierResult,
    InputAddress,
    InputValue,
    Integer,
    MapArgument,
    OutputAddress,
    Plan,
    PlanShape,
    Step,
)
from pyptx._layouts import Im2col, L2Promotion, Layout, OobFill, TensorMap
from pyptx.device import Triple

_ADDRESSES: Final = {"a": InputAddress, "r": OutputAddress, "e": EarlierResult}
_DIMENSION: Final = re.compile(r"[ar]\d+\.\d+")
_NUMBER: Final = re.compile(r"-?\d+")
_LIMIT: Final = 32
"""Values that an expression holds at once, as the reader of programs (plan.cc) has it."""


def read(text: str) -> Plan:
    """The plan of a text. Raises ValueError for what is none."""
    first, *lines = text.split("\n")
    shapes = _fields(first, {"inputs", "outputs"})
    if not lines:
        raise ValueError("a plan without steps")
    plan = Plan(
        tuple(map(_shape, _list(shapes["inputs"]))),
        tuple(map(_shape, _list(shapes["outputs"]))),
        tuple(map(_step, lines)),
    )
    if str(plan) != text:
        raise ValueError("a plan that is written otherwise")
    return plan


def _fields(line: str, required: set[str]) -> dict[str, str]:
    pairs = [field.partition("=") for field in line.split(";")]
    found = {name: value for name, _, value in pairs}
    if len(found) != len(pairs) or not required <= set(found):
        raise ValueError(f"bad fields in {line[:80]!r}")
    return found


def _list(text: str) -> list[str]:
    return text.split(",") if text else []


def _shape(text: str) -> PlanShape:
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"bad shape {text!r}")
    return tuple(None if size == "?" else int(size) for size in text[1:-1].split())


def _step(line: str) -> Step:
    fields = _fields(line, {"kernel", "grid", "block", "cluster", "shared", "params"})
    x, y, z = map(_expression, _list(fields["grid"]))
    init = [each.partition(":") for each in _list(fields.get("init", ""))]
    return Step(
        fields["kernel"],
        (x, y, z),
        _triple(fields["block"]),
        tuple(map(_argument, _list(fields["params"]))),
        _triple(fields["cluster"]),
        _expression(fields["shared"]),
        zeros=tuple(map(_result, _list(fields.get("zeros", "")))),
        complete=tuple(map(_result, _list(fields.get("complete", "")))),
        init=tuple((_result(result), bytes.fromhex(value)) for result, _, value in init),
        cooperative=fields.get("cooperative") == "1",
        programmatic_stream_serialization=fields.get("programmatic_stream_serialization") == "1",
        when=_expression(fields["when"]) if "when" in fields else None,
    )


def _triple(text: str) -> Triple:
    x, y, z = map(int, text.split(","))
    return x, y, z


def _result(text: str) -> int:
    if not text.startswith("r"):
        raise ValueError(f"bad output {text!r}")
    return int(text[1:])


def _expression(text: str) -> str:
    """An expression that leaves one value, and holds no more than the launchers do."""
    depth = 0
    for token in text.split(" "):
        if token in OPERATORS:
            depth -= 1
        elif _DIMENSION.fullmatch(token) or _NUMBER.fullmatch(token):
            depth += 1
        else:
            raise ValueError(f"bad token {token!r}")
        if not 1 <= depth <= _LIMIT:
            raise ValueError(f"bad expression {text!r}")
    if depth != 1:
        raise ValueError(f"bad expression {text!r}")
    return text


def _address(text: str) -> Address:
    kind = _ADDRESSES.get(text[:1])
    if kind is None:
        raise ValueError(f"bad address {text!r}")
    return kind(int(text[1:]))


def _argument(text: str) -> Argument:
    if text.startswith("map:"):
        return _map(text.removeprefix("map:"))
    head, colon, value = text.partition(":")
    if colon and head.startswith("i"):
        return Integer(_expression(value), int(head[1:]))
    if colon and head.startswith("b"):
        return Bytes(bytes.fromhex(value), int(head[1:]))
    if text.startswith("v"):
        return InputValue(int(text[1:]))
    return _address(text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("|")))


def _map(text: str) -> MapArgument:
    buffer, name, dtype, sizes, strides, box, steps, *modes = text.split(":")
    interleave, swizzle, promotion, fill, *corners = modes
    layout = next(
        each
        for each in Layout
        if (each.interleave.value, each.driver_swizzle) == (int(interleave), int(swizzle))
    )
    spans = _numbers(box)
    im2col = None
    if corners:
        lower, upper = map(_numbers, corners)
        im2col = Im2col(lower=lower, upper=upper, pixels=spans[0], channels=spans[1])
    described = TensorMap(
        types.from_name(dtype),
        spans,
        _numbers(steps),
        layout,
        L2Promotion(int(promotion)),
        OobFill(int(fill)),
        im2col,
    )
    described.check()
    expressions = tuple(map(_expression, sizes.split("|")))
    rows = tuple(map(_expression, strides.split("|"))) if strides else ()
    return MapArgument(_address(buffer), name, described, expressions, rows)
