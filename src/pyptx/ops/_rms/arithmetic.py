"""The arithmetic of a norm, in f32 or f64, and sums over the threads that share a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyptx import Reg, SharedTile, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops._rms.elements import PIECE, Group, instruction, power_of_two
from pyptx.types import DType, f32, u32


class Arithmetic:
    """Instructions of one floating-point type; every operation rounds to nearest even."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.add = instruction(f"add.rn.{dtype.name}")
        self.mul = instruction(f"mul.rn.{dtype.name}")
        self.fma = instruction(f"fma.rn.{dtype.name}")
        self.neg = instruction(f"neg.{dtype.name}")
        self.mov = instruction(f"mov.{dtype.name}")
        self.load = instruction(f"ld.shared.{dtype.name}")
        self.store = instruction(f"st.shared.{dtype.name}")

    def zero(self) -> Reg:
        return reg.scalar(self.dtype, init=0.0)

    def inverse_root(self, mean: Reg) -> Reg:
        """1 / sqrt(mean): within 2**-22.9 in f32, correctly rounded steps in f64."""
        if self.dtype is f32:
            return ptx.inst.rsqrt.approx.f32(mean)
        return ptx.inst.div.rn.f64(1.0, ptx.inst.sqrt.rn.f64(mean))

    def products(self, pairs: Iterable[tuple[Reg, Reg]], chains: int = 4) -> Reg:
        """The sum of products, in several chains so that additions need not wait for another."""
        sums = [self.zero() for _ in range(chains)]
        for i, (a, b) in enumerate(pairs):
            self.fma(sums[i % chains], a, b, sums[i % chains])
        return self.total(sums)

    def total(self, values: Sequence[Reg]) -> Reg:
        """The sum of registers, as a tree."""
        level = list(values)
        while len(level) > 1:
            odd = level[-1:] if len(level) % 2 else []
            level = [self.add(level[i - 1], level[i]) for i in range(1, len(level), 2)] + odd
        return level[0]


class Forward:
    """y = x * r * w, where r = 1 / sqrt(mean(x * x) + eps)."""

    def __init__(self, arithmetic: Arithmetic, columns: int, eps: float) -> None:
        self._a = arithmetic
        self._columns = columns
        self._eps = eps

    def invvar(self, squares: Reg) -> Reg:
        """r of a row whose squares have that sum."""
        return self._a.inverse_root(self._a.fma(squares, 1.0 / self._columns, self._eps))

    def result(self, x: Reg, w: Reg, r: Reg) -> Reg:
        return self._a.mul(self._a.mul(x, r), w)


class Backward:
    """dx = r (g w - x r**2 mean(g w x)), and the sum over the rows of g x r.

    No power of r is formed on its own: r**3 leaves the range of f32 long before r does.
    """

    def __init__(self, arithmetic: Arithmetic, columns: int) -> None:
        self._a = arithmetic
        self._columns = columns

    def coefficient(self, r: Reg, products: Reg) -> Reg:
        """-r**2 mean(g w x) of a row whose g w x have that sum."""
        mean = self._a.mul(products, 1.0 / self._columns)
        return self._a.neg(self._a.mul(r, self._a.mul(r, mean)))

    def result(self, x: Reg, g: Reg, w: Reg, r: Reg, coefficient: Reg) -> Reg:
        return self._a.mul(r, self._a.fma(coefficient, x, self._a.mul(g, w)))

    def accumulate(self, sum_: Reg, x: Reg, g: Reg, r: Reg) -> None:
        """Add this row's g x r."""
        self._a.fma(sum_, g, self._a.mul(x, r), sum_)


def address(tile: SharedTile) -> Reg:
    """The address of shared memory in a register, u32."""
    return reg.from_(tile, u32)


def store_warp_sum(a: Arithmetic, value: Reg, lane: Reg, slots: Reg) -> None:
    """Add up a warp and put the sum at `slots + warp`; `lane` counts the threads of the team."""
    ptx.warp.reduce_sum(value)
    with ptx.if_((lane & (WARP - 1)) == 0):
        a.store(ptx.addr(ptx.inst.mad.lo.u32(lane >> 5, a.dtype.bytes, slots)), value)


def load_warp_sums(a: Arithmetic, lane: Reg, slots: Reg, warps: int) -> Reg:
    """The sum of what `warps` warps have put at `slots`, in every lane of the calling warp."""
    width = power_of_two(warps)
    index = lane & (width - 1)
    place = ptx.addr(ptx.inst.mad.lo.u32(index, a.dtype.bytes, slots))
    value = a.zero()
    a.load(value, place, pred=None if width == warps else index < warps)
    if width > 1:
        ptx.warp.reduce_sum(value, width=width)
    return value


def team_sum(a: Arithmetic, value: Reg, lane: Reg, threads: int) -> Reg:
    """The sum over all threads of a CTA, in each of them. One barrier; call it once a kernel."""
    warps = threads // WARP
    if warps == 1:
        return ptx.warp.reduce_sum(value)
    slots = address(smem.alloc(a.dtype, warps, align=PIECE))
    store_warp_sum(a, value, lane, slots)
    ptx.bar.sync(0)
    if warps in (2, 4, 8):  # so few that a thread has read them all before shuffles would end
        return a.total(Group(a.dtype, warps, a.dtype).load("shared", slots))
    return load_warp_sums(a, lane, slots, warps)
