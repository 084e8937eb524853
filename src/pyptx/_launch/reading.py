"""Plans from their text: `read(str(plan)) == plan`."""

from __future__ import annotations

import re
from collections.abc import Collection
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
from pyptx._layouts.tensor_map import DATA_TYPES
from pyptx.device import BLOCK_LIMITS, CLUSTER_LIMIT, Triple

_ADDRESSES: Final = {"a": InputAddress, "r": OutputAddress, "e": EarlierResult}
_DIMENSION: Final = re.compile(r"[ar][0-9]{1,9}\.[0-9]{1,9}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
_LIMIT: Final = 32
"""Values that an expression holds at once, as the reader of programs (plan.cc) has it."""
_LAYOUTS: Final = {(each.interleave.value, each.driver_swizzle): each for each in Layout}
_CLUSTER: Final = (CLUSTER_LIMIT, CLUSTER_LIMIT, CLUSTER_LIMIT)
_BITS: Final = (8, 16, 32, 64)
_ALIGNMENTS: Final = (1, 2, 4, 8, 16, 32, 64, 128)


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
    for step in plan.steps:
        _check(plan, step)
    return plan


def _check(plan: Plan, step: Step) -> None:
    """Raise ValueError where a step names what the plan's buffers do not have."""
    expressions = [*step.grid, step.shared, *([] if step.when is None else [step.when])]
    results = [*step.zeros, *step.complete, *(result for result, _ in step.init)]
    for argument in step.arguments:
        match argument:
            case MapArgument():
                expressions += [*argument.sizes, *argument.strides]
                _check_address(plan, argument.buffer)
            case Integer():
                expressions.append(argument.expression)
            case InputValue():
                if plan.inputs[argument.index : argument.index + 1] != ((),):
                    raise ValueError(f"input {argument.index} is no scalar")
            case Bytes():
                pass
            case _:
                _check_address(plan, argument)
    for result in results:
        _check_address(plan, OutputAddress(result))
    for expression in expressions:
        for token in filter(_DIMENSION.fullmatch, expression.split(" ")):
            index, _, axis = token[1:].partition(".")
            shapes = plan.inputs if token[0] == "a" else plan.outputs
            if int(index) >= len(shapes) or int(axis) >= len(shapes[int(index)]):
                raise ValueError(f"no buffer has the dimension {token}")


def _check_address(plan: Plan, address: Address) -> None:
    buffers = plan.inputs if isinstance(address, InputAddress) else plan.outputs
    if not 0 <= address.index < len(buffers):
        raise ValueError(f"there is no buffer {address}")


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
        _triple(fields["block"], BLOCK_LIMITS),
        tuple(map(_argument, _list(fields["params"]))),
        _triple(fields["cluster"], _CLUSTER),
        _expression(fields["shared"]),
        zeros=tuple(map(_result, _list(fields.get("zeros", "")))),
        complete=tuple(map(_result, _list(fields.get("complete", "")))),
        init=tuple((_result(result), bytes.fromhex(value)) for result, _, value in init),
        cooperative=fields.get("cooperative") == "1",
        programmatic_stream_serialization=fields.get("programmatic_stream_serialization") == "1",
        when=_expression(fields["when"]) if "when" in fields else None,
    )


def _triple(text: str, limits: Triple) -> Triple:
    x, y, z = map(int, text.split(","))
    if not all(1 <= size <= limit for size, limit in zip((x, y, z), limits, strict=True)):
        raise ValueError(f"bad triple {text!r}")
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
        elif _DIMENSION.fullmatch(token) or _is_number(token):
            depth += 1
        else:
            raise ValueError(f"bad token {token!r}")
        if not 1 <= depth <= _LIMIT:
            raise ValueError(f"bad expression {text!r}")
    if depth != 1:
        raise ValueError(f"bad expression {text!r}")
    return text


def _is_number(text: str) -> bool:
    """Whether it is an integer of 64 bits, which is what launchers compute with."""
    return _NUMBER.fullmatch(text) is not None and -(1 << 63) <= int(text) < 1 << 63


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
        return Integer(_expression(value), _one_of(head[1:], _BITS))
    if colon and head.startswith("b"):
        return Bytes(bytes.fromhex(value), _one_of(head[1:], _ALIGNMENTS))
    if text.startswith("v"):
        return InputValue(int(text[1:]))
    return _address(text)


def _one_of(text: str, numbers: Collection[int]) -> int:
    if (number := int(text)) not in numbers:
        raise ValueError(f"bad number {text!r}")
    return number


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("|")))


def _map(text: str) -> MapArgument:
    buffer, name, dtype, sizes, strides, box, steps, *modes = text.split(":")
    interleave, swizzle, promotion, fill, *corners = modes
    layout = _LAYOUTS.get((int(interleave), int(swizzle)))
    if layout is None or dtype not in DATA_TYPES:
        raise ValueError(f"bad tensor map {text!r}")
    spans = _numbers(box)
    im2col = None
    if corners:
        lower, upper = map(_numbers, corners)
        pixels, channels = spans
        im2col = Im2col(lower=lower, upper=upper, pixels=pixels, channels=channels)
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
    if (len(expressions), len(rows)) != (described.rank, described.rank - 1):
        raise ValueError(f"bad axes of the tensor map {text!r}")
    return MapArgument(_address(buffer), name, described, expressions, rows)
