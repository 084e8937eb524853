"""Registers that are never live together share a place in the emulator, which nothing may show.

Random programs with branches, loops and guards, whose lanes go different ways, are compared with NumPy.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from .harness import output, run

LANES = 32
OPERATIONS = {
    "add.u32": lambda a, b: a + b,
    "xor.b32": lambda a, b: a ^ b,
    "mul.lo.u32": lambda a, b: a * b,
    "sub.u32": lambda a, b: a - b,
}


@dataclass
class Program:
    """The text of a program, and at once what each lane's registers hold when it has run."""

    draw: random.Random
    lines: list[str] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    count: int = 0

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"%{prefix}{self.count}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def block(self, defined: list[str], depth: int) -> tuple[list[str], list[tuple]]:
        """Registers that are defined behind it, and its steps for the interpreter."""
        defined, steps = list(defined), []
        for _ in range(self.draw.randint(3, 9)):
            kinds = ["new", "new", "new", "old", "guarded", "wide"]
            kinds += ["if", "loop"] if depth < 3 else []
            steps.append(getattr(self, "add_" + self.draw.choice(kinds))(defined, depth))
        return defined, steps

    def operation(self, to: str, defined: list[str], guard: str = "") -> tuple:
        name = self.draw.choice(list(OPERATIONS))
        a, b = self.draw.choice(defined), self.draw.choice(defined)
        self.emit(f"{guard}{name} {to}, {a}, {b}")
        return ("set", to, name, a, b)

    def add_new(self, defined: list[str], depth: int) -> tuple:
        to = self.new("r")
        step = self.operation(to, defined)
        defined.append(to)
        return step

    def add_old(self, defined: list[str], depth: int) -> tuple:
        return self.operation(self.draw.choice(defined), defined)

    def condition(self, defined: list[str]) -> tuple[str, str, str]:
        p, a, b = self.new("p"), self.draw.choice(defined), self.draw.choice(defined)
        self.emit(f"setp.lt.u32 {p}, {a}, {b}")
        return p, a, b

    def add_guarded(self, defined: list[str], depth: int) -> tuple:
        p, a, b = self.condition(defined)
        return ("if", a, b, [self.operation(self.draw.choice(defined), defined, f"@{p} ")], [])

    def add_wide(self, defined: list[str], depth: int) -> tuple:
        wide, shifted, to = self.new("rd"), self.new("rd"), self.new("r")
        a, b = self.draw.choice(defined), self.draw.choice(defined)
        self.emit(f"mul.wide.u32 {wide}, {a}, {b}")
        self.emit(f"shr.u64 {shifted}, {wide}, 11")
        self.emit(f"cvt.u32.u64 {to}, {shifted}")
        defined.append(to)
        return ("wide", to, a, b)

    def add_if(self, defined: list[str], depth: int) -> tuple:
        p, a, b = self.condition(defined)
        number = self.count
        self.emit(f"@!{p} bra else{number}")
        _, then = self.block(defined, depth + 1)
        both = self.new("r")
        then.append(self.operation(both, defined))
        self.emit(f"bra end{number}")
        self.emit(f"else{number}:")
        _, other = self.block(defined, depth + 1)
        other.append(self.operation(both, defined))
        self.emit(f"end{number}:")
        defined.append(both)
        return ("if", a, b, then, other)

    def add_loop(self, defined: list[str], depth: int) -> tuple:
        left, p = self.new("r"), self.new("p")
        number = self.count
        self.emit(f"and.b32 {left}, {defined[0]}, 3")
        self.emit(f"loop{number}:")
        inside, body = self.block(defined, depth + 1)
        self.emit(f"setp.ne.u32 {p}, {left}, 0")
        self.emit(f"sub.u32 {left}, {left}, 1")
        self.emit(f"@{p} bra loop{number}")
        defined += self.draw.sample(inside[len(defined) :], k=min(2, len(inside) - len(defined)))
        return ("loop", defined[0], body)

    def interpret(self, steps: list[tuple], mask: np.ndarray) -> None:
        values = self.values
        for step in steps:
            match step:
                case ("set", to, name, a, b):
                    self.assign(to, OPERATIONS[name](values[a], values[b]), mask)
                case ("wide", to, a, b):
                    product = values[a].astype(np.uint64) * values[b]
                    self.assign(to, (product >> np.uint64(11)).astype(np.uint32), mask)
                case ("if", a, b, then, other):
                    taken = values[a] < values[b]
                    self.interpret(then, mask & taken)
                    self.interpret(other, mask & ~taken)
                case ("loop", first, body):
                    left, running = values[first] & np.uint32(3), mask
                    while True:
                        self.interpret(body, running)
                        running = running & (left != 0)
                        left = left - running.astype(np.uint32)
                        if not running.any():
                            break

    def assign(self, to: str, value: np.ndarray, mask: np.ndarray) -> None:
        self.values[to] = np.where(mask, value, self.values.get(to, np.uint32(0)))


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(80))
@pytest.mark.parametrize("order", [None, 1])
def test_random_programs(seed: int, order: int | None):
    program = Program(random.Random(seed))
    for line in (
        ".param u64 Y", "ld.param.u64 %rd0, [Y]", "mov.u32 %r0, %tid.x", "mul.wide.u32 %rd999999, %r0, 4",
        "add.u64 %rd0, %rd0, %rd999999",
    ):  # fmt: skip
        program.emit(line)
    program.values["%r0"] = np.arange(LANES, dtype=np.uint32)
    with np.errstate(over="ignore"):
        defined, steps = program.block(["%r0"], 0)
        program.interpret(steps, np.ones(LANES, bool))
        expected = np.zeros(LANES, np.uint32)
        program.emit("mov.u32 %r999999, 0")
        for register in defined:
            program.emit(f"mad.lo.u32 %r999999, %r999999, 31, {register}")
            expected = expected * np.uint32(31) + program.values[register]
    program.emit("st.global.u32 [%rd0], %r999999")
    y = output(LANES, np.uint32)
    report = run("\n".join(program.lines), [], [y], sanitize=True, seed=order)
    report.check()
    assert y.tolist() == expected.tolist()


def test_a_lane_that_does_not_execute_a_shuffle_gives_what_it_had():
    """It is undefined in PTX; so is what a wrong program shows, and it is the same as ever."""
    text = """
    .param u64 Y
    ld.param.u64 %rd0, [Y]
    mov.u32 %r0, %tid.x
    mul.wide.u32 %rd1, %r0, 4
    add.u64 %rd0, %rd0, %rd1
    add.u32 %r1, %r0, 100
    setp.eq.u32 %p1, %r0, 1
    @%p1 bra apart
    shfl.sync.idx.b32 %r2, %r1, 1, 31, -1
    st.global.u32 [%rd0], %r2
    bra done
    apart:
    add.u32 %r3, %r0, 1
    add.u32 %r4, %r3, 1
    add.u32 %r5, %r4, 1
    add.u32 %r6, %r5, %r4
    add.u32 %r7, %r6, %r5
    st.global.u32 [%rd0], %r7
    done:
    """
    y = output(LANES, np.uint32)
    run(text, [], [y])
    assert y.tolist() == [11 if lane == 1 else 101 for lane in range(LANES)]


@pytest.mark.parametrize("time", ["clock", "globaltimer_lo"])
def test_a_wait_for_a_time_ends(time: str):
    """Between two readings nothing else changes, and what was read is not live when the loop goes back."""
    text = f"""
    .param u64 Y
    ld.param.u64 %rd0, [Y]
    mov.u32 %r0, %{time}
    add.u32 %r0, %r0, 100000
    again:
    mov.u32 %r1, %{time}
    setp.lt.u32 %p1, %r1, %r0
    mov.u32 %r2, 7
    add.u32 %r3, %r2, 1
    st.global.u32 [%rd0], %r3
    @%p1 bra again
    """
    waiting = text.replace("st.global.u32 [%rd0], %r3\n", "")
    for each in (text, waiting):
        report = run(each, [], [output(1, np.uint32)], block=1)
        report.check()
        assert report.instructions > 1000
