"""StableHLO as text: how a call is partitioned, and the program that one device runs of it.

StableHLO specification, sections "custom_call", "all_reduce" and "reduce_scatter"; the rule is
Shardy's `#sdy.op_sharding_rule`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from pyptx._runtime.jax.shardings import Axes, Integers, Sum

Shaped: TypeAlias = "tuple[str, Sequence[int]]"
"""An element type and a shape."""


def sharding_rule(
    axes: Sequence[Axes],
    shapes: Sequence[Sequence[int]],
    inputs: int,
    whole: Sequence[str] = (),
) -> str:
    """How Shardy propagates shardings through a call: along its factors and along nothing else.

    The first `inputs` tensors are operands, and factors in `whole` are not split. That a result is
    a sum is not in the rule: Shardy would add it up once more.
    """
    numbers: dict[object, int] = {}
    sizes: dict[int, int] = {}
    unsplit: list[int] = []
    tensors: list[str] = []
    for tensor, (names, shape) in enumerate(zip(axes, shapes, strict=True)):
        symbols: list[str] = []
        for axis, (name, size) in enumerate(zip(names, shape, strict=True)):
            key = name if isinstance(name, str) else (tensor, axis)
            number = numbers.setdefault(key, len(numbers))
            sizes[number] = size
            symbols.append(_symbol(number))
            if not isinstance(name, str) or (name in whole and number not in unsplit):
                unsplit.append(number)
        tensors.append(f"[{', '.join(symbols)}]")
    extents = ", ".join(f"{_symbol(number)}={size}" for number, size in sizes.items())
    kept = f" need_replication={{{', '.join(map(_symbol, sorted(unsplit)))}}}" if unsplit else ""
    return (
        f"#sdy.op_sharding_rule<({', '.join(tensors[:inputs])})->({', '.join(tensors[inputs:])}) "
        f"{{{extents}}}{kept}, custom>"
    )


def _symbol(number: int) -> str:
    """Shardy's name of a factor: i to z, then z_1, z_2 and so on."""
    return chr(ord("i") + number) if number < 18 else f"z_{number - 17}"


def local_program(
    target: str,
    attributes: str,
    inputs: Sequence[Shaped],
    outputs: Sequence[Shaped],
    *,
    scratch: Sequence[Shaped],
    aliases: Sequence[tuple[int, int]],
    sums: Sequence[Sum],
    elements: Sequence[str],
) -> str:
    """A module that calls the handler `target`, then adds up results over devices.

    `attributes` is the text of a dictionary. The handler writes `outputs` and `scratch`; `aliases`
    are pairs (input, output) of one buffer. `sums` says, for each output, how devices add it up,
    and `elements` is the element type that it is given in.
    """
    parameters = [f"%a{i}: {_type(tensor)}" for i, tensor in enumerate(inputs)]
    called, results = _custom_call(target, attributes, inputs, [*outputs, *scratch], aliases)
    lines = [called]
    returned: list[str] = []
    given: list[str] = []
    channels = count(1)
    for i, (tensor, added, element) in enumerate(zip(outputs, sums, elements, strict=True)):
        more, value, (of, shape) = _added(results[i], f"%s{i}", tensor, added, channels)
        lines += more
        given.append(_type((element, shape)))
        if of != element:
            types = f"({_type((of, shape))}) -> {given[i]}"
            lines.append(f"%c{i} = stablehlo.convert {value} : {types}")
            value = f"%c{i}"
        returned.append(value)
    lines.append(f"return {', '.join(returned)} : {', '.join(given)}")
    signature = f"@main({', '.join(parameters)}) -> ({', '.join(given)})"
    return "\n".join(("module @pyptx {", f"func.func public {signature} {{", *lines, "}", "}\n"))


def _type(tensor: Shaped) -> str:
    element, shape = tensor
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def _custom_call(
    target: str,
    attributes: str,
    inputs: Sequence[Shaped],
    results: Sequence[Shaped],
    aliases: Sequence[tuple[int, int]],
) -> tuple[str, list[str]]:
    """The statement, and the names of its results."""
    many = len(results) > 1
    aliased = (
        "#stablehlo.output_operand_alias<"
        f"output_tuple_indices = [{result if many else ''}], operand_index = {source}, "
        "operand_tuple_indices = []>"
        for source, result in aliases
    )
    properties = {
        "call_target_name": f'"{target}"',
        "api_version": "4 : i32",
        "backend_config": attributes,
        "operand_layouts": _layouts(inputs),
        "result_layouts": _layouts(results),
        "output_operand_aliases": f"[{', '.join(aliased)}]",
    }
    operands = ", ".join(f"%a{i}" for i in range(len(inputs)))
    types = f"({', '.join(map(_type, inputs))}) -> ({', '.join(map(_type, results))})"
    names = [f"%r#{i}" for i in range(len(results))] if many else ["%r"]
    defined = f"%r:{len(results)}" if many else "%r"
    statement = (
        f'{defined} = "stablehlo.custom_call"({operands}) {_dictionary(properties)} : {types}'
    )
    return statement, names


def _layouts(tensors: Sequence[Shaped]) -> str:
    """Row-major, as minor-to-major orders of the axes."""
    orders = (list(reversed(range(len(shape)))) for _, shape in tensors)
    return f"[{', '.join(f'dense<{order}> : tensor<{len(order)}xindex>' for order in orders)}]"


def _added(
    value: str, name: str, tensor: Shaped, added: Sum, channels: Iterator[int]
) -> tuple[list[str], str, Shaped]:
    """The statements that add up a result over devices, and the name and type of what they give."""
    lines: list[str] = []
    for axis, groups in added.scatters:
        element, shape = tensor
        part = [size // (groups.shape[1] if i == axis else 1) for i, size in enumerate(shape)]
        more = {"scatter_dimension": f"{axis} : i64"}
        called = f'"stablehlo.reduce_scatter"({value})'
        value, result = f"{name}_{len(lines)}", (element, part)
        sent = _collective(called, tensor, result, groups, channel=next(channels), more=more)
        lines.append(f"{value} = {sent}")
        tensor = result
    if added.groups.shape[1] > 1:
        called = f'"stablehlo.all_reduce"({value})'
        value = f"{name}_{len(lines)}"
        sent = _collective(called, tensor, tensor, added.groups, channel=next(channels), more={})
        lines.append(f"{value} = {sent}")
    return lines, value, tensor


def _collective(
    called: str,
    operand: Shaped,
    result: Shaped,
    groups: Integers,
    *,
    channel: int,
    more: Mapping[str, str],
) -> str:
    """A sum over each row of `groups`, of devices."""
    sets, devices = groups.shape
    scalar = f"tensor<{operand[0]}>"
    properties = {
        "replica_groups": f"dense<{groups.tolist()}> : tensor<{sets}x{devices}xi64>",
        # Type 1 is between devices: the numbers in the groups are then those of devices.
        "channel_handle": f"#stablehlo.channel_handle<handle = {channel}, type = 1>",
        "use_global_device_ids": "unit",
        **more,
    }
    return (
        f"{called} ({{\n^bb0(%x: {scalar}, %y: {scalar}):\n"
        f"%sum = stablehlo.add %x, %y : {scalar}\nstablehlo.return %sum : {scalar}\n}}) "
        f"{_dictionary(properties)} : ({_type(operand)}) -> {_type(result)}"
    )


def _dictionary(entries: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{name} = {value}' for name, value in entries.items())}}}"
