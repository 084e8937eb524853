"""Prints a digest of the PTX of the kernels that its arguments name, in that order."""

import hashlib
import sys

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, f64, pred, s32, u16, u32

OPTIONS = {
    "in_specs": (Tile("B", "N", f32), Tile("N", f32)),
    "out_specs": (Tile("B", "N", f32),),
    "block": 512,
    "maxnreg": 64,
    "minnctapersm": 1,
}


@kernel(**OPTIONS)
def one(X, W, Y):
    x, w, y = ptx.global_ptrs(X, W, Y)
    tile = smem.alloc(f32, (4, 4))
    i = reg.from_(ptx.special.tid.x(), u32)
    for _ in ptx.range_(i, 10):
        with ptx.if_(i == 3):
            tile[i, 2] = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
        with ptx.else_():
            ptx.warp.reduce_sum(i)
    ptx.inst.st.global_.f32(ptx.addr(y), tile[1, 1] * ptx.inst.ld.global_.f32(ptx.addr(w)))


@kernel(**OPTIONS)
def two(X, W, Y):
    for dtype in (u16, u32, s32, f32, f64):
        reg.array(dtype, 3)
    values = {pred: reg.scalar(pred), f32: reg.scalar(f32, init=1.0)}
    smem.alloc(f64, 20000)[3] = reg.from_(1.0, f64)
    ptx.raw("{ .reg .f32 t; L: add.f32 t, x, 1.0; bra.uni L; }", x=values[f32])


@kernel
def three():
    with ptx.loop():
        ptx.break_(pred=reg.from_(ptx.special.laneid(), u32) == 3)


for name in sys.argv[1:]:
    dims = {} if name == "three" else {"B": 4, "N": 512}
    text = globals()[name].ptx(**dims)
    print(name, hashlib.sha256(text.encode()).hexdigest())
