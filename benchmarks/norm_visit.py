"""One shape: every candidate is built, checked against float64, and timed in the same minute."""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from chrome_trace import Activity, busy, span
from measure import CONSOLE, Result, Summary, reason, turns
from norm_candidates import (
    EPS,
    Call,
    Tensors,
    as_tensor,
    builders,
    copying,
    forget_compiled,
    random_tensors,
)
from norm_cases import (
    COPY,
    FORWARD,
    OURS,
    Operation,
    Options,
    Shape,
    measurement_name,
    parse_operation,
    summaries,
)
from norm_check import OTHERS, OWN, Tolerance, backward_error, forward_error

Key = tuple[str, str, str]
"""Direction, candidate, variant."""
Timer = Callable[[Mapping[Key, Call], int], Mapping[Key, list[list[Activity]]]]
"""Device activities of each call of every candidate, called so many times."""
WARM: Final = 2
NAME_LENGTH: Final = 60


@dataclass(frozen=True, slots=True)
class Visit:
    """What is asked of one shape."""

    shape: Shape
    names: tuple[str, ...]
    directions: tuple[str, ...]
    operations: tuple[Operation, ...]
    mode: str
    """torch.compile's."""
    calls: int

    def candidates(self) -> dict[tuple[str, str], Callable[[Tensors], Mapping[str, Call]]]:
        """How each is built, by direction and name."""
        return {
            (direction, name): build
            for direction in self.directions
            for name, build in builders(
                self.names, self.operations, direction, self.mode
            ).items()
        }  # fmt: skip

    def own(self, name: str) -> bool:
        """Whether a candidate is the product or a variant of it."""
        return name == OURS or any(name == operation.name for operation in self.operations)

    def known(self, names: Iterable[str]) -> bool:
        """Whether everything that it measures is among the names."""
        every = set(names)
        return all(measurement_name(self.shape, d, n) in every for d, n in self.candidates())


@dataclass(frozen=True, slots=True)
class Found:
    """Measurements of one visit, and why others were not made, by their names."""

    measurements: list[Summary]
    failed: dict[str, str]


def visit(wanted: Visit, timer: Timer, device: str = "cuda") -> Found:
    """Build, check and time. A candidate that fails or is wrong is not timed and says why."""
    tensors = random_tensors(wanted.shape, device)
    calls: dict[Key, Call] = {(FORWARD, COPY, ""): copying(tensors)}
    errors: dict[tuple[str, str], float] = {}
    failed: dict[str, str] = {}
    for (direction, name), build in wanted.candidates().items():
        try:
            variants = build(tensors)
            tolerance = OWN if wanted.own(name) else OTHERS
            errors[direction, name] = max(
                checked(call(), tensors, direction, tolerance) for call in variants.values()
            )
        except Exception as error:  # noqa: BLE001, peers fail in their own ways
            failed[measurement_name(wanted.shape, direction, name)] = reason(error)
            continue
        calls |= {(direction, name, variant): call for variant, call in variants.items()}
    activities = timer(calls, wanted.calls)
    readings = {key: [busy(call) for call in found] for key, found in activities.items()}
    notes = {key[:2]: facts(found, own=wanted.own(key[1])) for key, found in activities.items()}
    for key, error in errors.items():
        notes[key]["error"] = float(f"{error:.2g}")
    return Found(summaries(wanted.shape, readings, notes), failed)


def facts(calls: list[list[Activity]], *, own: bool) -> dict[str, object]:
    """How many kernels a call launches; of our own also which, and the time that includes gaps."""
    last = calls[-1]
    if not own:
        return {"kernels": len(last)}
    parts = "; ".join(f"{a.name[:NAME_LENGTH]}: {a.duration:.2f} us" for a in last)
    whole = round(statistics.median(span(call) for call in calls), 3)
    return {"kernels": len(last), "with gaps": whole, "parts": parts}


def checked(result: Any, tensors: Tensors, direction: str, tolerance: Tolerance) -> float:
    """The largest difference to float64 over what is allowed. Raises ValueError beyond 1."""
    t = tensors
    if direction == FORWARD:
        error = forward_error(as_tensor(result), t.x, t.w, eps=EPS, tolerance=tolerance)
    else:
        dx, dw = (as_tensor(array) for array in result)
        error = backward_error((dx, dw), t.g, t.x, t.w, eps=EPS, tolerance=tolerance)
    if not error <= 1:  # NaN fails too
        raise ValueError(f"wrong: {error:.3g} times the difference that is allowed")
    return error


def on_device() -> Timer:
    """Times calls by CUPTI, in rounds that each start with another candidate."""
    from device_time import Flush, flushed_sequence

    flush = Flush()

    def timer(calls: Mapping[Key, Call], rounds: int) -> Mapping[Key, list[list[Activity]]]:
        for call in calls.values():
            for _ in range(WARM):
                call()
        order = list(turns(tuple(calls), rounds))
        found: dict[Key, list[list[Activity]]] = {key: [] for key in calls}
        measured = flushed_sequence([calls[key] for key in order], flush)
        for key, activities in zip(order, measured, strict=True):
            found[key].append(activities)
        return found

    return timer


def free() -> None:
    """Give back what the last shape took. XLA keeps its own pool, which the next shape uses."""
    forget_compiled()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def operations(options: Options) -> tuple[Operation, ...]:
    """The variants that the command line names."""
    return tuple(parse_operation(text) for text in options.ops)


def run(
    result: Result,
    visits: Iterable[Visit],
    options: Options,
    timer: Timer,
    *,
    judge: Callable[[Result], None] = lambda _: None,
    device: str = "cuda",
) -> None:
    """Make the visits until the budget ends, saving after each; `judge` sets the bars.

    What the budget left out is in the settings as `left`, what failed as `failed`.
    """
    if options.known is not None:
        result.adopt(options.known)
    failed: dict[str, str] = dict((options.known or {}).get("settings", {}).get("failed", {}))
    left: list[str] = []
    result.settings |= {"failed": failed, "left": left}
    begin = time.monotonic()
    for wanted in visits:
        if options.resume and wanted.known({m.name for m in result.measurements} | {*failed}):
            continue
        if options.budget is not None and time.monotonic() - begin > options.budget:
            left.append(f"{wanted.shape.title}: {', '.join(wanted.names)}")
            continue
        _one(result, wanted, failed, timer, device)
        judge(result)
        if options.out is not None:
            result.write(options.out)
    judge(result)
    if left:
        CONSOLE.print(f"the budget of {options.budget:.0f} s left out {len(left)} visits; "
                      "--resume continues")  # fmt: skip


def _one(result: Result, wanted: Visit, failed: dict[str, str], timer: Timer, device: str) -> None:
    begin = time.monotonic()
    try:
        found = visit(wanted, timer, device)
    except Exception as error:  # noqa: BLE001, the other shapes are still to be measured
        found = Found([], {
            measurement_name(wanted.shape, d, n): reason(error) for d, n in wanted.candidates()
        })  # fmt: skip
    free()
    for measured in found.measurements:
        result.put(measured)
        failed.pop(measured.name, None)
    for name in found.failed:
        result.measurements = [m for m in result.measurements if m.name != name]
    failed |= found.failed
    taken = time.monotonic() - begin
    CONSOLE.print(f"{wanted.shape.title}: {len(found.measurements)} measurements, {taken:.1f} s")
    for name, why in found.failed.items():
        CONSOLE.print(f"  {name}: {why}", markup=False)
