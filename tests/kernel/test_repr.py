"""Every public object prints as one line that says what it is."""

import numpy as np

from pyptx import Scalar, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32

FOUND: dict[str, str] = {}


@kernel(in_specs=(Tile("N", 32, f32), Scalar(u32)), out_specs=(Tile("N", 32, f32),), block=32)
def shows(X, s, Y):
    tile, bars = smem.alloc(f32, (4, 8)), smem.mbarrier(2, name="full")
    values = reg.array(f32, 4)
    here = {
        "tensor": X,
        "shared memory": tile,
        "a part of it": tile[1],
        "swizzled": smem.alloc(bf16, (8, 64), swizzle="128B"),
        "mbarriers": bars,
        "mbarrier": bars[1],
        "array": values,
        "register": s,
        "negation": ~(s == 1),
        "pipeline": ptx.pipeline(3),
        "ring": ptx.ring(2),
        "special register": ptx.special.tid.x(),
        "special registers": ptx.special.tid,
        "instructions": ptx.inst,
        "spelling": ptx.inst.add.rn.f32,
    }
    FOUND.update({name: repr(value) for name, value in here.items()})
    i = reg.from_(ptx.special.tid.x(), u32)
    for row in range(X.shape[0]):
        Y[row, i] = X[row, i]


def test_every_object_is_one_line():
    x = np.zeros((2, 32), np.float32)
    done = shows.emulate(x, np.uint32(1))
    assert FOUND == {
        "tensor": "<tensor X of (2, 32) .f32>",
        "shared memory": "<shared memory of (4, 8) .f32>",
        "a part of it": "<shared memory of (8,) .f32>",
        "swizzled": "<shared memory of (8, 64) .bf16, swizzle B128>",
        "mbarriers": "<2 mbarriers of full>",
        "mbarrier": "<mbarrier at byte 8 of full>",
        "array": "<4 registers .f32>",
        "register": "<register 0 .u32>",
        "negation": "<not <register 5 .pred>>",
        "pipeline": "PipelineState(n_stages=3, stage=<register 6 .u32>, phase=<register 7 .u32>)",
        "ring": "<ring of 2 stages>",
        "special register": "<%tid.x>",
        "special registers": "ptx.special.tid",
        "instructions": "ptx.inst",
        "spelling": "ptx.inst.add.rn.f32",
    }
    assert repr(done.report).startswith("<report of shows: no findings, ")
    assert repr(done) == f"<emulation: outputs (2, 32) float32; {done.report!r}>"
