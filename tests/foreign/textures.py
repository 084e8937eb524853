"""What a texture gives at a coordinate, as the CUDA C++ Programming Guide has it, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

HEAD = ".version 8.1\n.target sm_80\n.address_size 64\n"


@dataclass(frozen=True)
class Sampler:
    """`values` are [z, y, x, channel]; with fewer axes the first are 1. `modes` begin with x."""

    values: np.ndarray
    modes: tuple[str, ...] = ("clamp",) * 3
    linear: bool = False
    normalized: bool = False
    border: tuple[float, ...] = (0.0,) * 4

    def at(self, x: float, y: float = 0.5, z: float = 0.5) -> np.ndarray:
        """The texel, or what is between texels. Axes without a coordinate are of one texel."""
        sizes = self.values.shape[2::-1]
        taps = [
            self.along(float(c), n, mode) if n > 1 or axis == 0 else [(0, 1.0)]
            for axis, (c, n, mode) in enumerate(zip((x, y, z), sizes, self.modes, strict=True))
        ]
        total = np.zeros(self.values.shape[3])
        for (i, a), (j, b), (k, c) in product(*taps):
            if a * b * c:
                total = total + a * b * c * self.texel(i, j, k)
        return total

    def texel(self, *place: int | None) -> np.ndarray:
        if None in place:
            return np.array(self.border[: self.values.shape[3]])
        return self.values[place[::-1]].astype(float)

    def along(self, x: float, size: int, mode: str) -> list[tuple[int | None, float]]:
        """The indices along an axis, None outside of a border, and their weights."""
        if self.normalized:
            if mode == "wrap":
                x = x - np.floor(x)
            if mode == "mirror":
                x = x - np.floor(x) if np.floor(x) % 2 == 0 else 1 - (x - np.floor(x))
            x = x * size
        if not self.linear:
            return [(index(int(np.floor(x)), size, mode), 1.0)]
        whole = np.floor(x - 0.5)
        weight = round((x - 0.5 - whole) * 256 + 1e-9) / 256
        first = int(whole)
        return [(index(first, size, mode), 1 - weight), (index(first + 1, size, mode), weight)]


def index(i: int, size: int, mode: str) -> int | None:
    if mode == "border" and not 0 <= i < size:
        return None
    return i % size if mode == "wrap" else min(max(i, 0), size - 1)


def fetching(spelling: str, coordinates: str, count: int, *, kind: str = "f") -> str:
    """PTX: thread i reads `count` words from row i of `at`, and writes four words of a texel.

    `coordinates` names them as {c0} to {c3}; results are registers %f or %r.
    """
    names = {f"c{i}": f"%c{i}" for i in range(4)} | {f"r{i}": f"%q{i}" for i in range(4)}
    loads = "\n".join(
        f"ld.global.b32 %w{i}, [%rd4+{4 * i}];\nmov.b32 %c{i}, %w{i};\nmov.b32 %q{i}, %w{i};"
        for i in range(count)
    )
    results = ", ".join(f"%{kind}{i}" for i in range(1, 5))
    return f"""{HEAD}
.visible .entry fetch(.param .u64 fetch_tex, .param .u64 fetch_at, .param .u64 fetch_out)
{{
.reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b32 %w<4>; .reg .f32 %c<4>; .reg .b32 %q<4>;
.reg .b64 %rd<8>; .reg .b16 %h<8>; .reg .pred %p<4>;
ld.param.u64 %rd1, [fetch_tex];
ld.param.u64 %rd2, [fetch_at];
ld.param.u64 %rd3, [fetch_out];
mov.u32 %r7, %tid.x;
mul.wide.u32 %rd5, %r7, {4 * count};
add.u64 %rd4, %rd2, %rd5;
{loads}
{spelling} {{{results}}}, [%rd1, {{{coordinates.format(**names)}}}];
mul.wide.u32 %rd6, %r7, 16;
add.u64 %rd7, %rd3, %rd6;
st.global.v4.b32 [%rd7], {{{results}}};
ret;
}}
"""
