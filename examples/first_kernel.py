"""A first kernel: y = a * x + y on vectors, one thread per element.

Runs on any machine: NumPy arrays go to the emulator, JAX arrays to their device, which is the
emulator again where there is no GPU. Run it: python examples/first_kernel.py
"""

from __future__ import annotations

import importlib.util

import numpy as np

from pyptx import Scalar, Tile, kernel, ptx, reg
from pyptx.types import f32, u32

THREADS = 128


@kernel(
    in_specs=(Scalar(f32), Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: ptx.cdiv(N, THREADS),
    block=THREADS,
    arch="auto",
)
def axpy(a, X, Y, Z):
    x, y, z = ptx.global_ptrs(X, Y, Z)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    thread = reg.from_(ptx.special.tid.x(), u32)
    i = ptx.inst.mad.lo.u32(cta, THREADS, thread)  # this thread's element
    with ptx.if_(i < X.shape[0]):  # the last CTA may reach beyond the end
        offset = i * 4  # in bytes, 64 bits wide
        value = ptx.inst.ld.global_.f32(ptx.addr(x + offset))
        addend = ptx.inst.ld.global_.f32(ptx.addr(y + offset))
        ptx.inst.st.global_.f32(ptx.addr(z + offset), ptx.inst.fma.rn.f32(a, value, addend))


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1000), np.float32)
    expected = (2.5 * x.astype(np.float64) + y).astype(np.float32)

    z = axpy(2.5, x, y)
    np.testing.assert_array_equal(z, expected)
    print(f"NumPy arrays: z[:3] = {z[:3]}, as expected")

    if importlib.util.find_spec("jax"):
        with_jax(x, y, expected)


def with_jax(x: np.ndarray, y: np.ndarray, expected: np.ndarray) -> None:
    """The same call inside a compiled JAX program."""
    import jax

    program = jax.jit(lambda x, y: axpy(2.5, x, y) * 2)
    z = program(jax.numpy.asarray(x), jax.numpy.asarray(y))
    np.testing.assert_array_equal(z, expected * 2)
    place = next(iter(z.devices())).device_kind
    print(f"under jax.jit on {place}: z[:3] = {np.asarray(z[:3])}, as expected")


if __name__ == "__main__":
    main()
