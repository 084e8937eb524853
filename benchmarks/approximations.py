"""The `.approx` functions of this GPU on every input, against the emulator's results.

The emulator has the tables of an H100's unit (docs/arithmetic.md). For every function the result
counts the inputs where the GPU gives other bits, and has the largest distance in units in the last
place, with the input where it is, and the largest absolute difference of finite results. NaNs are
equal to each other. Inputs are all 2**32 patterns of f32, all 2**16 of f16 and bf16, and all upper
halves of f64.
"""

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from measure import CONSOLE, Result, Summary, show, start, summarise

from pyptx import Kernel, Scalar, Tile, kernel, ptx, reg
from pyptx.types import DTYPES, DType, bf16, f16, f32, f64, u16, u32, u64

CHUNK: Final = 2**26
"""Inputs of one launch."""
THREADS: Final = 256
HIGH: Final = 32
"""Bits of f64 that these functions read, and that they give."""
FUNCTIONS: Final = (
    *(f"{name}.approx{ftz}.f32" for name in ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos")
      for ftz in ("", ".ftz")),
    "tanh.approx.f32", "tanh.approx.f16", "tanh.approx.bf16", "ex2.approx.f16",
    "ex2.approx.ftz.bf16", "rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64",
)  # fmt: skip


INFINITY: Final = {f32: 0x7F800000, f16: 0x7C00, bf16: 0x7F80, f64: 0x7FF00000}
"""The bits of each type's infinity, of f64 the upper half."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Results of a chunk that differ: how many, the largest distance, and the input with it."""

    count: int
    largest: int
    at: int
    absolute: float


def dtype_of(spelling: str) -> DType:
    """The type of a function's argument and result."""
    return DTYPES[spelling.rpartition(".")[2]]


def inputs_of(spelling: str) -> int:
    """How many inputs there are."""
    return 2 ** min(dtype_of(spelling).bits, 32)


@lru_cache
def kernel_of(spelling: str, size: int) -> Kernel:
    """Y[i] is the result for the input with the bits `first` + i."""
    dtype = dtype_of(spelling)

    @kernel(
        in_specs=(Scalar(u32),),
        out_specs=(Tile(size, u32),),
        grid=ptx.cdiv(size, THREADS),
        block=THREADS,
        arch="auto",
    )
    def results(first: Any, Y: Any) -> None:
        block = reg.from_(ptx.special.ctaid.x(), u32)
        i = ptx.inst.mul.lo.u32(block, THREADS) + reg.from_(ptx.special.tid.x(), u32)
        function: Any = ptx.inst[spelling]
        Y[i] = _bits(function(_number(first + i, dtype)))

    return results


def _number(bits: Any, dtype: DType) -> Any:
    """The input with these bits."""
    if dtype is f64:
        return ptx.inst.mov.b64(reg.scalar(f64), ptx.inst.cvt.u64.u32(bits) << HIGH)
    if dtype.bits == u32.bits:
        return ptx.inst.mov.b32(reg.scalar(dtype), bits)
    return ptx.inst.mov.b16(reg.scalar(dtype), ptx.inst.cvt.u16.u32(bits))


def _bits(number: Any) -> Any:
    """A result as u32."""
    if number.dtype.bits == u64.bits:
        return ptx.inst.cvt.u32.u64(ptx.inst.mov.b64(reg.scalar(u64), number) >> HIGH)
    if number.dtype.bits == u32.bits:
        return ptx.inst.mov.b32(reg.scalar(u32), number)
    return ptx.inst.cvt.u32.u16(ptx.inst.mov.b16(reg.scalar(u16), number))


def chunk(spelling: str, first: int, size: int) -> tuple[Any, Any]:
    """The results for so many inputs from `first` on: this device's, and the emulator's."""
    made = kernel_of(spelling, size)
    found = jax.jit(made)(np.uint32(first))
    expected = made.emulate(np.uint32(first), sanitize=False).outputs[0]
    return found, jnp.asarray(np.asarray(expected))


@partial(jax.jit, static_argnames="infinity")
def _distances(found: Any, expected: Any, infinity: int) -> Any:
    """Of bits, in units in the last place; 0 of two NaNs."""
    sign = np.uint32(1 << infinity.bit_length())
    a, b = found & (sign - 1), expected & (sign - 1)
    same = (found & sign) == (expected & sign)
    apart = jnp.where(same, jnp.maximum(a, b) - jnp.minimum(a, b), a + b)
    # Zeros of both signs are apart too, as their bits differ.
    apart = jnp.where(~same & (a == 0) & (b == 0), jnp.uint32(1), apart)
    return jnp.where((a > infinity) & (b > infinity), jnp.uint32(0), apart)


@jax.jit
def _summed(distances: Any) -> tuple[Any, Any, Any]:
    at = jnp.argmax(distances)
    return jnp.count_nonzero(distances), distances[at], at


@partial(jax.jit, static_argnames="dtype")
def _absolute(found: Any, expected: Any, dtype: str) -> Any:
    """The largest difference of finite results of at most 32 bits."""
    kinds = {"f16": jnp.float16, "bf16": jnp.bfloat16}
    if dtype in kinds:
        halves = (each.astype(jnp.uint16) for each in (found, expected))
        a, b = (jax.lax.bitcast_convert_type(h, kinds[dtype]).astype(jnp.float32) for h in halves)
    else:
        a, b = (jax.lax.bitcast_convert_type(each, jnp.float32) for each in (found, expected))
    return jnp.max(jnp.where(jnp.isfinite(a) & jnp.isfinite(b), jnp.abs(a - b), 0))


def difference(spelling: str, first: int, size: int) -> Difference:
    """How far the results for so many inputs are apart."""
    dtype = dtype_of(spelling)
    found, expected = chunk(spelling, first, size)
    count, largest, at = map(int, _summed(_distances(found, expected, INFINITY[dtype])))
    absolute = 0.0 if dtype is f64 else float(_absolute(found, expected, str(dtype)))
    return Difference(count, largest, first + at, absolute)


def compared(spelling: str) -> Summary:
    """A function on all of its inputs."""
    inputs = inputs_of(spelling)
    size = min(CHUNK, inputs)
    found = [difference(spelling, first, size) for first in range(0, inputs, size)]
    worst = max(found, key=lambda each: each.largest)
    return summarise(
        spelling, "ulp", [float(worst.largest)], inputs=inputs,
        different=sum(each.count for each in found), at=f"{worst.at:#010x}",
        absolute=max(each.absolute for each in found),
    )  # fmt: skip


def measure(device: dict[str, object]) -> Result:
    """Every function."""
    result = start("approximations", device)
    for spelling in FUNCTIONS:
        result.put(compared(spelling))
        CONSOLE.print(spelling)
    return result


def report(result: Result) -> None:
    """The table."""
    show(result, {"different": _part, "at": _at, "absolute": _furthest})


def _at(measured: Summary) -> str:
    return str(measured.notes["at"])


def _furthest(measured: Summary) -> str:
    return f"{measured.notes['absolute']:.3g}"


def _part(measured: Summary) -> str:
    different, inputs = measured.notes["different"], measured.notes["inputs"]
    assert isinstance(different, int)
    assert isinstance(inputs, int)
    return f"{100 * different / inputs:.3f} %"
