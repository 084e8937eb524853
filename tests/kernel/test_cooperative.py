"""Cooperative grids: all CTAs are resident, so they may wait for each other."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pyptx
from pyptx import Tile, kernel, ptx, reg
from pyptx._source import UNKNOWN
from pyptx.types import f32, u32

_path = Path(__file__).parents[1] / "launch/cooperative.py"
_spec = importlib.util.spec_from_file_location("launch_cooperative", _path)
waiting = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(waiting)

X = waiting.X


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", [None, 5])
def test_ctas_wait_for_each_other(threads, seed):
    done = waiting.rotated.emulate(X, waiting.zeros(), threads=threads, seed=seed)
    done.report.check()
    np.testing.assert_array_equal(done.outputs[0], waiting.expected(X))
    assert done.outputs[2].tolist() == [1] * waiting.CTAS


def test_the_plan_says_so():
    def prepared(k):
        return k._prepare((X, waiting.zeros()), {}, by_reference=True, location=UNKNOWN)

    call, other = prepared(waiting.rotated), prepared(kernel(**waiting.OPTIONS)(waiting.rotate))
    assert str(call.plan).endswith(";cooperative=1")
    assert "cooperative" not in str(other.plan)
    assert call != other


def test_jax_maps_it_one_element_at_a_time():
    """More elements on one grid would be more CTAs than a device may hold."""
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    y, _, _ = jax.jit(waiting.rotated)(X, waiting.zeros())
    np.testing.assert_array_equal(y, waiting.expected(X))
    several = np.stack([X, X[::-1], X * 2])
    mapped = jax.jit(jax.vmap(waiting.rotated))
    y, _, flags = mapped(several, waiting.zeros(3))
    np.testing.assert_array_equal(y, waiting.expected(several))
    assert np.asarray(flags).tolist() == [[1] * waiting.CTAS] * 3
    lowered = mapped.lower(several, waiting.zeros(3)).as_text()
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

    @kernel(
        in_specs=(Tile("N", u32),),
        out_specs=(Tile("N", u32),),
        grid=ctas,
        cooperative=True,
        arch="sm_90a",
    )
    def nothing(X, Y):
        pass

    def prepare(k):
        return k._prepare((np.zeros(1, np.uint32),), {}, by_reference=False, location=UNKNOWN)

    if fits:
        assert f"grid={ctas},1,1;" in str(prepare(nothing).plan)
        return
    with pytest.raises(pyptx.SpecError, match=r"holds more than 4608 at once"):
        prepare(nothing)
