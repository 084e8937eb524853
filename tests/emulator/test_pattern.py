"""A matrix that does not begin where its swizzle's pattern does: found when the product runs."""

import ml_dtypes
import numpy as np
import pytest

from pyptx import EmulationError, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32


def product(skew: int, base_offset: int):
    """A kernel whose A begins `skew` bytes after a multiple of 1024, known in a register only."""

    @kernel(in_specs=(Tile(8, bf16),), out_specs=(Tile(128, f32),), block=128, arch="sm_90a")
    def multiply(X, Y):
        memory = smem.alloc(bf16, 16384, align=1024)
        tid = reg.from_(ptx.special.tid.x(), u32)
        for k in range(128):
            memory[tid + 128 * k] = X[0]
        ptx.inst.fence.proxy.async_.shared__cta()
        ptx.bar.sync()
        here = reg.from_(memory, u32) + skew
        a = ptx.wgmma.make_descriptor(
            here,
            leading_byte_offset=16,
            stride_byte_offset=1024,
            swizzle="128B",
            base_offset=base_offset,
        )
        sums = reg.array(f32, 4)
        for each in sums:
            each.set(0.0)
        ptx.wgmma.fence()
        ptx.wgmma.mma_async(
            shape=(64, 8, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=sums, a=a, b=a
        )
        ptx.wgmma.commit_group()
        ptx.wgmma.wait_group(0)
        Y[tid] = sums[0]

    return multiply


X = np.ones(8, ml_dtypes.bfloat16)


@pytest.mark.parametrize(("skew", "base_offset"), [(0, 0), (32, 0), (96, 0), (1024, 0), (256, 2)])
def test_a_matrix_that_begins_with_the_pattern(skew, base_offset):
    done = product(skew, base_offset).emulate(X, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0] == 16).all()


@pytest.mark.parametrize(("skew", "base_offset", "line"), [(128, 0, 1), (640, 0, 5), (0, 3, 0)])
def test_a_matrix_that_begins_inside_of_it(skew, base_offset, line):
    with pytest.raises(EmulationError) as caught:
        product(skew, base_offset).emulate(X).report.check()
    assert (
        f"a matrix begins {128 * line} bytes into its swizzle's pattern of 1024 bytes, and its "
        f"descriptor has base offset {base_offset}: align it to the pattern, or give base offset "
        f"{line}"
    ) in str(caught.value)
