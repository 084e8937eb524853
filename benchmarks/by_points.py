"""Points of row-wise operations, each by many kernels: built, compared, and measured in rounds."""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
from measure import Result, Summary, start
from norm_cases import Options
from row_limits import Call, Point, ready
from sweeps import by_builder, unlimited

from pyptx import device as devices
from pyptx._target import Target
from pyptx.device import Device
from pyptx.ops.rowwise.operation import RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.sequences import Operation, of_operation
from pyptx.types import DType

Timed = Callable[..., Mapping[Any, Any]]
"""`device_time.in_rounds` with its flush."""


class PointBuilder:
    """Builds a point's kernels by `calls`, then measures them by `measured`."""

    def __init__(
        self,
        cases: Iterable[Point],
        calls: Callable[[Point], Mapping[Any, Call]],
        measured: Callable[[Point, Mapping[Any, Call], Timed], Iterable[Summary]],
    ) -> None:
        module: Any = __import__("device_time")
        self._cases = {case.title: case for case in cases}
        self._calls, self._measured = calls, measured
        self._timed = partial(module.in_rounds, flush=module.Flush())
        self._built: tuple[Point, Mapping[Any, Call]] | None = None

    def build(self, title: str) -> Mapping[str, str]:
        """Build and call every shape's kernel; all are needed."""
        case = self._cases[title]
        self._built = case, self._calls(case)
        return {}

    def measure(self) -> Sequence[Summary]:
        """Measure what was built, and give its memory back."""
        assert self._built is not None, "`build` comes first"
        case, built = self._built
        self._built = None
        return list(self._measured(case, built, self._timed))


def every(
    part: str, device: dict[str, object], options: Options, cases: Iterable[Point],
    alone: Callable[[], PointBuilder], *, calls: int,
) -> Result:  # fmt: skip
    """A part's result of all points that begin within the budget; RuntimeError if one fails."""
    result = start(part, device, calls=calls)
    by_builder(result, unlimited(options), [case.title for case in cases], part, alone)
    if result.settings["failed"]:
        raise RuntimeError(f"not measured: {result.settings['failed']}")
    return result


def device_here() -> Device:
    """What pyptx knows of this GPU."""
    torch: Any = __import__("torch")
    major, minor = torch.cuda.get_device_capability(0)
    return devices.of(Target.parse(f"sm_{major}{minor}a"))


def rows_of(op: RowOp, columns: int, on: Device) -> Rows:
    """The rows of an operation on a device."""
    return Rows((columns,), types_of(op), op.compute, device=on)


def compiled(
    op: RowOp, rows: Rows, results: tuple[DType, ...], kernel: Operation, arrays: list[Any]
) -> Call:
    """A call of a kernel, as an operation."""

    def alone(*given: Any) -> Any:  # a sequence has a function
        return kernel(*given)

    one: Any = of_operation(op, rows, results, op.name, alone)
    return partial(ready, jax.jit(one).lower(*arrays).compile(), arrays)
