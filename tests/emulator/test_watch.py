"""Who touches a range of memory: every way to load and store, with the lanes that did."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, smem
from pyptx._runtime import numpy as runtime
from pyptx.types import f32

from .test_written import WAYS, bulk, bulk_reductions, thread, vectors, wide, writer


def visits(operation, arrays, watch, *, sanitize=True, **constants):
    """Of each region, who stores and who loads: (CTA, warp, lanes)."""
    call, operands = operation._bind(runtime, arrays, constants, operation._location)
    done = runtime.emulate(call, operands, sanitize=sanitize, watch=watch)
    # Atomics add to what nothing has stored.
    assert {f.kind for f in done.report.findings} <= {"uninitialised-memory"}, done.report.message
    return [(v.watch, v.cta, v.warp, v.lanes, v.store) for v in done.report.visits]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_store_is_seen(way):
    """Element 200 is stored by CTA 3, warp 0, lane 8, where every thread stores its own."""
    if way is bulk or way is bulk_reductions:
        expected = (3, 0, 1)  # the thread that copies
    elif way is vectors:
        expected = (0, 1, 1 << 18)
    elif way is wide:
        expected = (1, 1, 1 << 4)
    elif way.__name__ == "backwards":
        expected = (12, 1, 1 << 23)
    else:
        expected = (3, 0, 1 << 8)
    found = visits(writer(way), [np.zeros(1, np.uint32)], [(True, 0, 800, 4)], sanitize=1)
    assert [visit[1:4] for visit in found if visit[4]] == [expected]


@kernel(in_specs=(Tile(64, f32), Tile(1, f32)), out_specs=(Tile(64, f32),), block=64)
def loads(X, W, Y):
    x, w, y = ptx.global_ptrs(X, W, Y)
    i = thread()
    tile, bar = smem.alloc(f32, 64, align=128), smem.mbarrier()
    with ptx.if_(i == 0):
        bar.init(1)
        ptx.fence.mbarrier_init()
        bar.arrive_expect_tx(256)
        ptx.inst.cp.async_.bulk.shared__cta.global_.mbarrier__complete_tx__bytes(
            ptx.addr(tile), ptx.addr(x), 256, ptx.addr(bar)
        )
    ptx.bar.sync(0)
    bar.wait(0)
    every = ptx.inst.ld.global_.f32(ptx.addr(w))
    own = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
    ptx.inst.st.global_.f32(ptx.addr(y + i * 4), own + every + tile[i])


def test_every_load_is_seen():
    """A copy of the tensor, a load of all lanes from one place, and one of neighbours."""
    arrays = [np.ones(64, np.float32), np.ones(1, np.float32)]
    watch = [(False, 0, 160, 4), (False, 1, 0, 4), (False, 0, 0, 256)]
    found = visits(loads, arrays, watch)
    every = 0xFFFFFFFF
    assert found == [
        (0, 0, 0, 1, False),
        (0, 0, 1, 1 << 8, False),
        (1, 0, 0, every, False),
        (1, 0, 1, every, False),
        (2, 0, 0, 1, False),
        (2, 0, 0, every, False),
        (2, 0, 1, every, False),
    ]
    assert visits(loads, arrays, watch, sanitize=False) == []
    assert visits(loads, arrays, []) == []
