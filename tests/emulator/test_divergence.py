"""Random control flow: whatever way lanes take, each thread computes what it would alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from .harness import device, output, run

MASK = 0xFFFFFFFF
VARIABLES = 4
STEP = "add xor mul"

Thread = list[int]


class Left(Exception):
    """The thread has executed `exit`."""


@dataclass
class Program:
    """PTX lines and, beside them, the same as a function of one thread's variables."""

    generator: random.Random
    lines: list[str] = field(default_factory=list)
    labels: int = 0
    predicates: int = 0
    counters: int = 0

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def predicate(self) -> str:
        self.predicates += 1
        return f"%p{self.predicates}"

    def block(self, depth: int) -> Callable[[Thread], None]:
        parts = [self.statement(depth) for _ in range(self.generator.randint(1, 4))]

        def execute(thread: Thread) -> None:
            for part in parts:
                part(thread)

        return execute

    def statement(self, depth: int) -> Callable[[Thread], None]:
        kinds = [self.step, self.step]
        if depth > 0:
            kinds += [self.branch, self.loop, self.leave, self.guarded]
        return self.generator.choice(kinds)(depth)

    def step(self, _: int) -> Callable[[Thread], None]:
        g = self.generator
        d, a, b, k = (
            g.randrange(VARIABLES),
            g.randrange(VARIABLES),
            g.randrange(VARIABLES),
            g.randrange(99),
        )
        operation = g.choice(STEP.split())
        if operation == "mul":
            self.lines.append(f"mad.lo.u32 %r{d}, %r{a}, {k}, %r{b}")
            return lambda t: t.__setitem__(d, (t[a] * k + t[b]) & MASK)
        if operation == "add":
            self.lines.append(f"add.u32 %r{d}, %r{a}, %r{b}")
            return lambda t: t.__setitem__(d, (t[a] + t[b]) & MASK)
        self.lines.append(f"xor.b32 %r{d}, %r{a}, {k}")
        return lambda t: t.__setitem__(d, t[a] ^ k)

    def test(self) -> tuple[str, Callable[[Thread], bool]]:
        """A predicate that about half of the threads fulfil."""
        a, bit, name = (
            self.generator.randrange(VARIABLES),
            self.generator.randrange(6),
            self.predicate(),
        )
        self.lines += [
            f"and.b32 %r90, %r{a}, {1 << bit}",
            f"setp.ne.u32 {name}, %r90, 0",
        ]
        return name, lambda t: bool(t[a] >> bit & 1)

    def branch(self, depth: int) -> Callable[[Thread], None]:
        name, holds = self.test()
        other, join = self.label(), self.label()
        self.lines.append(f"@!{name} bra {other}")
        then = self.block(depth - 1)
        self.lines += [f"bra {join}", f"{other}:"]
        otherwise = self.block(depth - 1)
        self.lines.append(f"{join}:")
        return lambda t: then(t) if holds(t) else otherwise(t)

    def guarded(self, _: int) -> Callable[[Thread], None]:
        name, holds = self.test()
        d, k = self.generator.randrange(VARIABLES), self.generator.randrange(99)
        self.lines.append(f"@{name} add.u32 %r{d}, %r{d}, {k}")
        return lambda t: t.__setitem__(d, (t[d] + k) & MASK) if holds(t) else None

    def loop(self, depth: int) -> Callable[[Thread], None]:
        self.counters += 1
        counter, name, head = f"%r{100 + self.counters}", self.predicate(), self.label()
        a, most = self.generator.randrange(VARIABLES), self.generator.choice((1, 3, 7))
        self.lines += [f"and.b32 {counter}, %r{a}, {most}", f"{head}:"]
        body = self.block(depth - 1)
        self.lines += [
            f"sub.s32 {counter}, {counter}, 1",
            f"setp.ge.s32 {name}, {counter}, 0",
            f"@{name} bra {head}",
        ]

        def execute(thread: Thread) -> None:
            for _ in range((thread[a] & most) + 1):
                body(thread)

        return execute

    def leave(self, _: int) -> Callable[[Thread], None]:
        if self.generator.random() < 0.7:
            return self.step(0)
        name, holds = self.test()
        stay = self.label()
        self.lines += [
            f"and.b32 %r91, %r{VARIABLES - 1}, 3",
            "setp.ne.u32 %p900, %r91, 1",
            f"@%p900 bra {stay}",
            f"@{name} exit",
            f"{stay}:",
        ]

        def execute(thread: Thread) -> None:
            if thread[VARIABLES - 1] & 3 == 1 and holds(thread):
                raise Left

        return execute


HEAD = """
.param u64 X
.param u64 Y
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r92, %ctaid.x
mov.u32 %r93, %ntid.x
mov.u32 %r94, %tid.x
mad.lo.u32 %r94, %r92, %r93, %r94
mul.wide.u32 %rd3, %r94, 16
add.u64 %rd1, %rd1, %rd3
add.u64 %rd2, %rd2, %rd3
ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1]
"""
TAIL = "\nst.global.v4.u32 [%rd2], {%r0, %r1, %r2, %r3}\n"
BLOCK, CTAS = 72, 2


@pytest.mark.parametrize("seed", range(60))
def test_each_thread_computes_what_it_would_alone(seed: int):
    program = Program(random.Random(seed))
    execute = program.block(3)
    x = np.random.default_rng(seed).integers(0, 1 << 32, (BLOCK * CTAS, VARIABLES), np.uint32)
    expected = np.full_like(x, 0xA5A5A5A5)
    for thread in range(BLOCK * CTAS):
        values = x[thread].tolist()
        try:
            execute(values)
        except Left:
            continue
        expected[thread] = values
    text = HEAD + "\n".join(program.lines) + TAIL
    for order in (None, seed):
        y = output(x.shape, np.uint32)
        run(text, [device(x)], [y], grid=CTAS, block=BLOCK, sanitize=True, seed=order).check()
        assert np.array_equal(y, expected)
