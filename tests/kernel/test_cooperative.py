"""Cooperative grids: all CTAs are resident, so they may wait for each other."""

import numpy as np
import pytest

import pyptx
from pyptx import Tile, kernel, ptx, reg
from pyptx.source import UNKNOWN
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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", [None, 5])
def test_ctas_wait_for_each_other(threads, seed):
    done = rotated.emulate(X, zeros(), threads=threads, seed=seed)
    done.report.check()
    np.testing.assert_array_equal(done.outputs[0], expected(X))
    assert done.outputs[2].tolist() == [1] * CTAS


def test_the_plan_says_so():
    def prepared(k):
        return k._prepare((X, zeros()), {}, by_reference=True, location=UNKNOWN)

    call, other = prepared(rotated), prepared(kernel(**OPTIONS)(rotate))
    assert str(call.plan).endswith(";cooperative=1")
    assert "cooperative" not in str(other.plan)
    assert call != other


def test_jax_maps_it_one_element_at_a_time():
    """More elements on one grid would be more CTAs than a device may hold."""
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    y, _, _ = jax.jit(rotated)(X, zeros())
    np.testing.assert_array_equal(y, expected(X))
    several = np.stack([X, X[::-1], X * 2])
    mapped = jax.jit(jax.vmap(rotated))
    y, _, flags = mapped(several, zeros(3))
    np.testing.assert_array_equal(y, expected(several))
    assert np.asarray(flags).tolist() == [[1] * CTAS] * 3
    lowered = mapped.lower(several, zeros(3)).as_text()
    assert "stablehlo.while" in lowered


def test_elements_of_a_parallel_dimension_share_a_grid():
    """A grid of a fixed size takes any number of rows, so jax.vmap makes one launch of them."""
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    rows = Tile("B", 32, f32)

    @kernel(in_specs=(rows,), out_specs=(rows,), parallel=("B",), block=32, cooperative=True)
    def negated(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        for row in ptx.range_(ptx.inst.cvt.u32.u64(X.shape[0])):
            at = (row * 32 + tid) * 4
            ptx.inst.st.global_.f32(ptx.addr(py + at), -ptx.inst.ld.global_.f32(ptx.addr(px + at)))

    x = X[: 6 * 32].reshape(2, 3, 32)
    mapped = jax.jit(jax.vmap(negated))
    np.testing.assert_array_equal(mapped(x), -x)
    lowered = mapped.lower(x).as_text()
    assert "stablehlo.while" not in lowered
    assert lowered.count("stablehlo.custom_call @pyptx_cpu") == 1


@pytest.mark.parametrize(("ctas", "fits"), [(4608, True), (4609, False)])
def test_grids_that_some_device_may_hold(ctas, fits):
    """The largest chip of compute capability 9.0 has 144 SMs, each of at most 32 CTAs."""

    @kernel(in_specs=(Tile("N", u32),), out_specs=(Tile("N", u32),), grid=ctas, cooperative=True)
    def nothing(X, Y):
        pass

    def prepare(k):
        return k._prepare((np.zeros(1, np.uint32),), {}, by_reference=False, location=UNKNOWN)

    if fits:
        assert f"grid={ctas},1,1;" in str(prepare(nothing).plan)
        return
    with pytest.raises(pyptx.SpecError, match=r"holds more than 4608 at once"):
        prepare(nothing)
