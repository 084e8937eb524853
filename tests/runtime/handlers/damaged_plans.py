"""Gives the handlers plans that somebody has damaged: `damaged_plans.py FOLDER ROUNDS`.

FOLDER holds call_frame.so, and receives `current`, the plan that is being read. Every plan has to
be refused with a message, or to be evaluated and, on the CPU, run. Prints how many were, as JSON.
The plans are the same in every run.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx._native import loader
from pyptx._source import UNKNOWN
from pyptx.types import f32, u32

INSTANTIATE, EXECUTE = 0, 3
ROWS = 6
DIMENSIONS = (ROWS, 8)
MOST_CTAS = 64
"""Plans of larger grids are evaluated and not run."""
CAPACITY = 1 << 16

HUGE = (*(str(2**n - k) for n in (31, 32, 63, 64) for k in (0, 1)), "-1", "9" * 40, "0" * 50)
SEPARATORS = (*"\n;=,|: .[]areivb", "map:")

folder = Path(sys.argv[1])
frames = ctypes.CDLL(str(folder / "call_frame.so"))
frames.site_new.restype = ctypes.c_void_p
handlers = loader.ffi_library()


@kernel(
    in_specs=(Tile("B", 8, f32),),
    out_specs=(Tile("B", 8, f32, partial=True),),
    grid=lambda B: (B, 1, 1),
    block=32,
    parallel=("B",),
)
def doubled(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    rows, _ = X.shape
    at = reg.from_(ptx.special.ctaid.x(), u32) * 32
    with ptx.if_(rows > 0):
        value = ptx.inst.ld.global_.f32(ptx.addr(x + at))
        ptx.inst.st.global_.f32(ptx.addr(y + at), value * 2.0)


call = doubled._prepare(  # pyright: ignore[reportPrivateUsage]
    (np.zeros(DIMENSIONS, np.float32),), {}, by_reference=True, location=UNKNOWN
)
IMAGE: bytes = call.code[0].image()
SEEDS = (
    str(call.plan),
    str(call.plan).replace("grid=", "when=a0.0;zeros=r0;cooperative=1;grid="),
    str(call.plan) + ";complete=r0;init=r0:0000803f",
    (
        "inputs=[? 8];outputs=[? 8]\n"
        "kernel=doubled;grid=a0.0 2 cdiv,1,1;block=32,1,1;cluster=1,1,1;shared=a0.0 16 *;"
        "params=a0,r0,i64:a0.0,i8:1 2 +,b8:0000803f00000000\n"
        "kernel=doubled;grid=a0.0 1 + 1 -,1,1;block=32,1,1;cluster=2,1,1;shared=0;"
        "params=e0,r0,i64:6"
    ),
    (
        "inputs=[? 8];outputs=[? 8]\n"
        "kernel=doubled;grid=a0.0,1,1;block=32,1,1;cluster=1,1,1;shared=0;"
        "params=map:a0:X:f32:a0.0|8:32|8:64|8:1|1:0:0:0:0,map:a0:X:f32:a0.0|8:32:16|4:2|1:0:0:0:1"
    ),
    (
        "inputs=[? 8];outputs=[? 8]\n"
        "kernel=doubled;grid=a0.0,1,1;block=32,1,1;cluster=1,1,1;shared=0;"
        "params=map:a0:X:f32:a0.0|5|7|16:2240|448|64:40|8:1|2|3|1:0:1:0:0:-1|-2:0|1"
    ),
)


def duplicated(plan: str, draw: random.Random) -> str:
    """A field of a line once more, or many times."""
    lines = plan.split("\n")
    at = draw.randrange(len(lines))
    field = draw.choice(lines[at].split(";"))
    return "\n".join(
        (*lines[:at], lines[at] + f";{field}" * draw.choice((1, 32, 100)), *lines[at + 1 :])
    )


def repeated(plan: str, draw: random.Random) -> str:
    """A token, a line or a list once more, or many times."""
    parts = re.split(r"([\n;,| ])", plan)
    at = draw.randrange(0, len(parts), 2)
    mark = draw.choice(("\n", ";", ",", "|", " "))
    return "".join((*parts[:at], (parts[at] + mark) * draw.choice((1, 31, 33, 70)), *parts[at:]))


def truncated(plan: str, draw: random.Random) -> str:
    return plan[: draw.randrange(len(plan))]


def flipped(plan: str, draw: random.Random) -> str:
    """Some bits of some characters."""
    changed = bytearray(plan.encode("latin-1"))
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return changed.decode("latin-1")


def replaced(plan: str, pattern: str, words: Sequence[str], draw: random.Random) -> str:
    """One of what the pattern finds is another of these words."""
    places = list(re.finditer(pattern, plan))
    if not places:
        return plan
    place = draw.choice(places)
    return plan[: place.start()] + draw.choice(words) + plan[place.end() :]


def huge(plan: str, draw: random.Random) -> str:
    return replaced(plan, r"\d+", HUGE, draw)


def near(plan: str, draw: random.Random) -> str:
    """Another small number, or another operator: most of these plans can be evaluated."""
    if draw.random() < 0.7:
        return replaced(plan, r"\d+", "0123456789", draw)
    return replaced(plan, r"(?<= )(\+|-|cdiv|min)", ("+", "-", "*", "//", "cdiv", "max"), draw)


def punctuated(plan: str, draw: random.Random) -> str:
    at = draw.randrange(len(plan))
    return plan[:at] + draw.choice(SEPARATORS) + plan[at + draw.randrange(3) :]


def spliced(plan: str, draw: random.Random) -> str:
    other = draw.choice(SEEDS)
    return plan[: draw.randrange(len(plan))] + other[draw.randrange(len(other)) :]


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    duplicated,
    repeated,
    truncated,
    flipped,
    huge,
    near,
    punctuated,
    spliced,
)


def mutants(rounds: int) -> Iterator[str]:
    draw = random.Random(2026)
    for _ in range(rounds):
        plan = draw.choice(SEEDS)
        for _ in range(draw.choice((1, 1, 2, 3))):
            mutate = near if draw.random() < 0.4 else draw.choice(MUTATIONS)
            plan = mutate(plan, draw) or "x"
        yield plan


def evaluated(plan: bytes) -> tuple[bool, str]:
    """Whether the reader takes a plan, and the launches or what is wrong."""
    ranks = (ctypes.c_int32 * 2)(2, 2)
    dims = (ctypes.c_int64 * 4)(*DIMENSIONS, *DIMENSIONS)
    out = ctypes.create_string_buffer(CAPACITY)
    good = handlers.pyptx_plan_evaluate(plan, ranks, 1, 1, dims, out, ctypes.c_size_t(CAPACITY))
    return bool(good), out.value.decode(errors="replace")


def staged(plan: bytes, *, execute: bool) -> str:
    """What the CPU's handlers say of a call with this plan, "" if they take it."""
    site = ctypes.c_void_p(frames.site_new())
    frames.site_string(site, b"plan", plan, ctypes.c_size_t(len(plan)))
    for step in range(plan.count(b"\n")):
        name = str(step).encode()
        frames.site_entry(site, b"images", name, IMAGE, ctypes.c_size_t(len(IMAGE)))
    arrays = [np.ones(DIMENSIONS, np.float32) for _ in range(2)]
    dims = (ctypes.c_int64 * 2)(*DIMENSIONS)
    for output, array in enumerate(arrays):
        data = ctypes.c_void_p(array.ctypes.data)
        frames.site_buffer(site, output, data, ctypes.c_int64(2), dims)
    out = ctypes.create_string_buffer(CAPACITY)
    stages = [(INSTANTIATE, handlers.pyptx_cpu_instantiate)]
    if execute:
        stages.append((EXECUTE, handlers.pyptx_cpu_execute))
    for stage, handler in stages:
        good = frames.site_run(
            site, handler, stage, ctypes.c_ssize_t(0), 0, out, ctypes.c_size_t(CAPACITY)
        )
        assert bool(good) == (out.value == b""), plan
        if not good:
            break
    frames.site_delete(site)
    return out.value.decode(errors="replace")


def grids(launches: str) -> list[int]:
    """The numbers of CTAs of evaluated launches; a grid out of range is an error of the reader."""
    counts: list[int] = []
    for x, y, z in re.findall(r";grid=(-?\d+),(-?\d+),(-?\d+);", launches):
        assert 0 <= int(x) < 2**31, launches
        assert 0 <= int(y) < 2**16, launches
        assert 0 <= int(z) < 2**16, launches
        counts.append(int(x) * int(y) * int(z))
    return counts


def main() -> None:
    current = os.open(folder / "current", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    seen: Counter[str] = Counter()
    for plan in (*SEEDS, *mutants(int(sys.argv[2]))):
        text = plan.encode("latin-1")
        os.ftruncate(current, 0)
        os.pwrite(current, text, 0)
        good, told = evaluated(text.partition(b"\0")[0])
        assert told, plan
        execute = good and b"\0" not in text and all(n <= MOST_CTAS for n in grids(told))
        said = staged(text, execute=execute)
        assert not said or said.startswith(("pyptx: kernel ", "kernel ")), (plan, said)
        seen["evaluated" if good else "refused"] += 1
        seen["ran" if execute and not said else "did not run"] += 1
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
