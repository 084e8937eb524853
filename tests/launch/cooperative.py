"""A kernel whose CTAs wait for each other, and what it computes in NumPy."""

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

CTAS = 112
X = np.random.default_rng(3).standard_normal(CTAS * 32).astype(np.float32)


def rotate(X, Zeros, Y, Sent, Flags):
    """Y is X + 1 of the next CTA, which sends it through memory."""
    px, _, py, ps, pf = ptx.global_ptrs(X, Zeros, Y, Sent, Flags)
    tid, cta = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
    at = (cta * 32 + tid) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(ps + at), x + 1.0)
    ptx.bar.sync(0)
    with ptx.if_(tid == 0):
        ptx.inst.fence.acq_rel.gpu()
        ptx.inst.st.relaxed.gpu.global_.u32(ptx.addr(pf + cta * 4), reg.scalar(u32, init=1))
        for other in ptx.range_(CTAS):
            with ptx.loop():
                flag = ptx.inst.ld.relaxed.gpu.global_.u32(ptx.addr(pf + other * 4))
                ptx.break_(pred=flag != 0)
        ptx.inst.fence.acq_rel.gpu()
    ptx.bar.sync(0)
    following = ptx.inst.rem.u32(cta + 1, CTAS)
    y = ptx.inst.ld.global_.f32(ptx.addr(ps + (following * 32 + tid) * 4))
    ptx.inst.st.global_.f32(ptx.addr(py + at), y)


N, FLAGS = Tile(CTAS * 32, f32), Tile(CTAS, u32)
OPTIONS = {
    "in_specs": (N, FLAGS),
    "out_specs": (N, N, FLAGS),
    "input_output_aliases": {1: 2},
    "grid": CTAS,
    "block": 32,
}
rotated = kernel(**OPTIONS, cooperative=True)(rotate)


def expected(x):
    return np.roll(x, -32, axis=-1) + np.float32(1)


def zeros(*lead):
    return np.zeros((*lead, CTAS), np.uint32)
