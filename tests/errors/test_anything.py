"""Anything at all as an argument: the language takes it or raises one of its own errors."""

import contextlib
import decimal
import fractions
import math

import ml_dtypes
import numpy as np
import pytest

from pyptx import PtxError, Scalar, Tile, kernel, ptx, reg, smem
from pyptx.types import b32, f16, f32, f64, pred, s32, u8, u32, u64


class Liar:
    """Says that it is a number and an operand, and is neither."""

    def __index__(self):
        raise TypeError("no")

    def __float__(self):
        raise ValueError("no")


VALUES = [
    None, True, "x", "", b"x", 0, 1, -1, 1.5, -0.0, 1j, 10**40, -(10**400), math.nan, math.inf,
    [], [None], [[]], (), (1,), (1, 2), (1.5, "x"), {}, {1: 2}, set(), object(), object, Liar(),
    range(3), slice(1, 2), ..., NotImplemented, lambda: 1, lambda: None, lambda *_: object(),
    np.zeros(3), np.float16(1), np.complex64(1j), np.array("x"), np.array(None), np.int8(-1),
    ml_dtypes.bfloat16(1), decimal.Decimal("1.5"), fractions.Fraction(1, 3), f32, pred, u8,
    Tile("N", f32), Scalar(f32), ptx, ptx.inst, ptx.inst.add, ptx.inst.add.u32, ptx.special.tid,
    ptx.sink,
]  # fmt: skip
"""Values of every sort; those that need a kernel are made in one, below."""


def made():
    """Values of the language."""
    p = reg.scalar(u32, init=0) == 1
    return [
        *(reg.scalar(t, init=0) for t in (u32, s32, u64, f32, f64, f16, b32)),
        p, ~p, reg.array(f32, 2), reg.array(u32, 4), ptx.special.tid.x(), ptx.special.gridid(),
        ptx.addr(reg.scalar(u64, init=0)), smem.alloc(f32, 4), smem.mbarrier(1), ptx.label(),
        ptx.pair(p, ptx.sink), smem.alloc(u32, 2).address(1),
    ]  # fmt: skip


def integer():
    return reg.scalar(u32, init=0)


def single():
    return reg.scalar(f32, init=0.0)


def enter(block):
    with block:
        pass


def run_through(numbers):
    for _ in numbers:
        pass


def assign(target, index, value):
    target[index] = value


def in_place(value):
    x = integer()
    x += value


CALLS = {
    "scalar type": reg.scalar,
    "scalar init": lambda v: reg.scalar(u32, init=v),
    "half init": lambda v: reg.scalar(f16, init=v),
    "double init": lambda v: reg.scalar(f64, init=v),
    "array type": lambda v: reg.array(v, 2),
    "array count": lambda v: reg.array(f32, v),
    "from_": lambda v: reg.from_(v, f32),
    "array index": lambda v: reg.array(f32, 2)[v],
    "array assign": lambda v: assign(reg.array(f32, 2), 0, v),
    "alloc type": lambda v: smem.alloc(v, 2),
    "alloc shape": lambda v: smem.alloc(f32, v),
    "alloc align": lambda v: smem.alloc(f32, 2, align=v),
    "alloc name": lambda v: smem.alloc(f32, 2, name=v),
    "mbarrier": smem.mbarrier,
    "shared index": lambda v: smem.alloc(f32, 4)[v],
    "shared two": lambda v: smem.alloc(f32, (4, 4))[0, v],
    "shared assign": lambda v: assign(smem.alloc(f32, 4), 0, v),
    "shared address": lambda v: smem.alloc(f32, 4).address(v),
    "destination": lambda v: ptx.inst.add.u32(v, integer(), 1),
    "source": lambda v: ptx.inst.add.u32(integer(), v),
    "float source": lambda v: ptx.inst.add.f32(v, v),
    "only": lambda v: ptx.inst.mov.u64(v),
    "vector": lambda v: ptx.inst.ld.global_.v2.f32(v, reg.scalar(u64, init=0)),
    "element": lambda v: ptx.inst.mov.b64([v, 1]),
    "address": lambda v: ptx.inst.ld.global_.f32(v),
    "pair": lambda v: ptx.inst.setp.lt.u32(v, integer(), 1),
    "guard": lambda v: ptx.inst.mov.u32(integer(), 1, pred=v),
    "label": lambda v: ptx.inst.bra(v),
    "addr base": ptx.addr,
    "addr offset": lambda v: ptx.addr(reg.scalar(u64, init=0), v),
    "global_ptrs": ptx.global_ptrs,
    "ptx.pair": lambda v: ptx.pair(v, ptx.sink),
    "place": ptx.place,
    "bra": ptx.bra,
    "bra guard": lambda v: ptx.bra(ptx.label(), pred=v),
    "ret": lambda v: ptx.ret(pred=v),
    "bar.sync": ptx.bar.sync,
    "bar.sync count": lambda v: ptx.bar.sync(0, v),
    "bar.arrive": lambda v: ptx.bar.arrive(1, v),
    "reduce_sum": ptx.warp.reduce_sum,
    "if_": lambda v: enter(ptx.if_(v)),
    "while_": lambda v: enter(ptx.while_(v)),
    "loop": lambda v: enter(ptx.loop(pred=v)),
    "range_": lambda v: run_through(ptx.range_(v)),
    "range_ start": lambda v: run_through(ptx.range_(v, 3)),
    "range_ step": lambda v: run_through(ptx.range_(0, 3, v)),
    "range_ type": lambda v: run_through(ptx.range_(0, 3, dtype=v)),
    "raw": ptx.raw,
    "raw name": lambda v: ptx.raw("mov.u32 x, 1;", x=v),
    "cdiv": lambda v: ptx.cdiv(4, v),
    "+": lambda v: integer() + v,
    "- reflected": lambda v: v - single(),
    "*": lambda v: single() * v,
    "//": lambda v: integer() // v,
    "/": lambda v: single() / v,
    "<<": lambda v: integer() << v,
    "&": lambda v: integer() & v,
    "<": lambda v: integer() < v,
    "==": lambda v: integer() == v,
    "+=": in_place,
    "predicate &": lambda v: (integer() == 0) & v,
    "not predicate &": lambda v: ~(integer() == 0) & v,
    "not predicate |": lambda v: ~(integer() == 0) | v,
    "special +": lambda v: ptx.special.tid.x() + v,
    "Tile": Tile,
    "Tile size": lambda v: Tile(v, f32),
    "Scalar": Scalar,
    "kernel": kernel,
    "in_specs": lambda v: kernel(in_specs=v)(lambda: None),
    "out_specs": lambda v: kernel(in_specs=(), out_specs=v)(lambda: None),
    "block": lambda v: kernel(block=v)(lambda: None),
    "cluster": lambda v: kernel(cluster=v)(lambda: None),
    "smem": lambda v: kernel(smem=v)(lambda: None).ptx(),
    "arch": lambda v: kernel(arch=v)(lambda: None),
    "version": lambda v: kernel(version=v)(lambda: None).ptx(),
    "parallel": lambda v: kernel(parallel=v)(lambda: None),
    "aliases": lambda v: kernel(input_output_aliases=v)(lambda: None),
    "maxnreg": lambda v: kernel(maxnreg=v)(lambda: None),
    "constant": lambda v: kernel(lambda *, value: None).ptx(value=v),
    "dimension": lambda v: kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))(
        lambda X, Y: None
    ).ptx(N=v),
}


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("name", CALLS)
def test_it_is_taken_or_refused_by_the_language(name, step):
    call = CALLS[name]
    found = {}

    def attempt(value):
        """Call in a trace of its own; what is refused must be refused in our words."""
        try:
            call(value)
        except PtxError:
            return None
        except Exception as error:  # noqa: BLE001 - these are what the test looks for
            return f"{type(error).__name__}: {error}"
        return None

    def body(pick):
        problem = attempt(pick())
        if problem:
            found[repr(pick())[:60]] = problem

    picks = [lambda v=v: v for v in VALUES]
    picks += [lambda i=i: made()[i] for i in range(18)]
    # Calls take turns with the values, so that each value is given to a third of them.
    for pick in picks[list(CALLS).index(name) % step :: step]:
        # What is taken may still make no whole kernel: a jump to nowhere, for example.
        with contextlib.suppress(PtxError):
            kernel(lambda *, pick=pick: body(pick)).module()
    assert not found
