"""`@sequence`: kernels in order as one operation."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pyptx
from pyptx import Scalar, SpecError, Tile, kernel, ptx, reg, sequence
from pyptx._runtime import numpy as emulated
from pyptx._source import UNKNOWN
from pyptx.types import f32, u32

_path = Path(__file__).parents[1] / "launch/kernels.py"
_spec = importlib.util.spec_from_file_location("launch_kernels", _path)
kernels = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kernels)

RANDOM = np.random.default_rng(1)


def array(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def inputs(*lead, columns=40):
    return array(*lead, columns), array(*lead), array(*lead, columns), array(columns)


def prepared(operation, *arrays, **constants):
    return operation._prepare(arrays, constants, by_reference=True, location=UNKNOWN)


def close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lead", [(), (1,), (7,), (2, 3), (0,), (2, 0, 3)], ids=str)
def test_it_is_called_like_a_kernel(lead):
    arrays = inputs(*lead)
    found = kernels.backward(*arrays)
    close(found, kernels.gradient(*arrays))


def test_what_a_user_holds():
    backward = kernels.backward
    assert isinstance(backward, pyptx.KernelSequence)
    assert repr(backward) == "<pyptx sequence backward of g, r, x, w>"
    assert (backward.name, backward.__doc__) == ("backward", "Both gradients of an RMS norm.")
    assert backward.parallel == ("B",)
    assert [spec.dims for spec in backward.out_specs] == [("*B", "N"), ("N",)]


def test_it_is_one_call_with_scratch():
    arrays = inputs(2, 3)
    call = prepared(kernels.backward, *arrays)
    assert [tensor.name for tensor in (*call.outputs, *call.scratch)] == ["DX", "DW", "Partial"]
    shapes = [a.shape for a in arrays]
    assert call.output_shapes(shapes) == ((2, 3, 40), (40,))
    assert call.scratch_shapes(shapes) == ((3, 40),)
    assert len(call.code) == 2
    rows = ("B.0", "B.1", 40)
    assert [tensor.axes for tensor in call.inputs] == [rows, rows[:2], rows, (40,)]
    assert [(tensor.axes, tensor.sums) for tensor in call.outputs] == [
        (rows, ()),
        ((40,), ("B.0", "B.1")),
    ]
    assert str(call.plan) == (
        "inputs=[? ? 40],[? ?],[? ? 40],[40];outputs=[? ? 40],[40],[3 40]\n"
        "kernel=rows;grid=3,1,1;block=32,1,1;cluster=1,1,1;shared=0;"
        "params=a0,a1,a2,a3,r0,r2,i64:a0.0 a0.1 *;complete=r0,r2\n"
        "kernel=finish;grid=1,1,1;block=32,1,1;cluster=1,1,1;shared=0;params=e2,r1;"
        "complete=r1"
    )


def test_it_is_traced_once_for_all_sizes():
    count = 0

    @sequence(
        in_specs=kernels.backward.in_specs,
        out_specs=kernels.backward.out_specs,
        parallel=("B",),
    )
    def counted(g, r, x, w):
        nonlocal count
        count += 1
        assert (g.shape, w.shape, repr(g.shape), g.dtype) == (("B", 40), (40,), "(B, 40)", f32)
        dx, partial = kernels.rows(g, r, x, w)
        assert (dx.shape, partial.shape) == (("B", 40), (3, 40))
        return dx, kernels.finish(partial)

    for rows in (4, 5, 4):
        counted(*inputs(rows))
    assert count == 1
    assert prepared(counted, *inputs(4)) == prepared(counted, *inputs(9))


def looped(levels, arrays):
    if not levels:
        return kernels.backward(*arrays)
    size = next(a.shape[0] for a, mapped in zip(arrays, levels[0], strict=True) if mapped)
    each = [
        looped(levels[1:], [a[i] if m else a for a, m in zip(arrays, levels[0], strict=True)])
        for i in range(size)
    ]
    return tuple(map(np.stack, zip(*each, strict=True)))


@pytest.mark.parametrize(
    "levels",
    [
        [(True, True, True, True)],
        [(True, True, True, False)],
        [(False, False, False, True)],
        [(True, False, False, False), (False, True, True, True)],
        [(True, True, True, False), (True, True, True, True)],
    ],
    ids=str,
)
def test_levels(levels):
    one = inputs(5)
    call = prepared(kernels.backward, *one)
    for mapped in reversed(levels):
        call = call.batched(mapped)
    arrays = [
        array(*(2 + i for i, mapped in enumerate(levels) if mapped[n]), *a.shape)
        for n, a in enumerate(one)
    ]
    done = emulated.emulate(call, arrays)
    assert done.report.findings == (), done.report.message
    close(done.outputs, looped(levels, arrays))


def test_a_step_folds_where_it_can():
    """The element-wise step takes the level into its rows, the other batches."""

    @sequence(
        in_specs=(Tile("*B", "N", f32), Tile("N", f32)),
        out_specs=(Tile("*B", "N", f32),),
        parallel=("B",),
    )
    def twice(x, w):
        y = kernels.scale(x, w)
        return kernels.scale(y, w)

    x, w = array(2, 3, 40), array(40)
    call = prepared(twice, x[0], w).batched((True, False))
    assert str(call.plan).count("grid=a0.0 a0.1 *,1,1") == 2
    np.testing.assert_array_equal(emulated.launch(call, (x, w))[0], x * w * w)
    call = prepared(twice, x[0], w).batched((False, True))
    weights = array(2, 40)
    assert str(call.plan).count("grid=a0.0,1,a1.0") == 2
    expected = x[0] * weights[:, None] * weights[:, None]
    np.testing.assert_array_equal(emulated.launch(call, (x[0], weights))[0], expected)


def test_an_axis_is_free_for_the_sizes_that_a_fold_makes():
    """A parallel dimension of the kernel is 1 in the sequence, and larger when a level folds."""

    @kernel(
        in_specs=(Tile("R", "N", f32), Tile("N", f32)),
        out_specs=(Tile("R", "N", f32),),
        grid=lambda R: (2, R, 2),
        parallel=("R",),
    )
    def rows(X, W, Y):
        pass

    @sequence(in_specs=(Tile(1, "N", f32), Tile("N", f32)), out_specs=(Tile(1, "N", f32),))
    def one(x, w):
        return rows(x, w)

    call = prepared(one, array(1, 8), array(8)).batched((True, False))
    assert "grid=2,a0.0,2;" in str(call.plan)
    assert not call.batchable((False, True), [(4, 1, 8), (3, 8)])
    with pytest.raises(SpecError, match=r"^rows has no free axis of the grid to batch"):
        call.batched((False, True))


def test_a_sequence_in_a_sequence():
    @sequence(
        in_specs=kernels.backward.in_specs,
        out_specs=(Tile("N", f32, sum_over="B"), Tile("*B", "N", f32)),
        parallel=("B",),
    )
    def outer(g, r, x, w):
        dx, dw = kernels.backward(g, r, x, w)
        return dw, kernels.scale(dx, w)

    arrays = inputs(4)
    dx, dw = kernels.gradient(*arrays)
    found = outer(*arrays)
    close(found, (dw, dx * arrays[3]))
    assert len(prepared(outer, *arrays).code) == 3


@kernel(
    in_specs=(Tile("N", f32), Scalar(f32)), out_specs=(Tile("N", f32),), grid=lambda N: (N, 1, 1)
)
def times(X, factor, Y, *, shift=0.0):
    """Y = X * factor + shift, a thread for each element."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at), x * factor + shift)


@sequence(in_specs=(Tile("N", f32), Scalar(f32), Scalar(f32)), out_specs=(Tile("N", f32),))
def chain(x, a, b, *, shift=0.0):
    return times(times(x, a, shift=shift), b)


def test_scalars_and_compile_time_values():
    x = array(8)
    two, three = np.float32(2), np.float32(3)
    np.testing.assert_array_equal(chain(x, 2.0, 3.0), x * two * three)
    np.testing.assert_array_equal(chain(x, 2.0, 3.0, shift=1.0), (x * two + 1) * three)


def test_reports_of_each_step():
    done = kernels.backward.emulate(*inputs(4))
    assert [report.kernel for report in done.reports] == ["rows", "finish"]
    assert done.report.kernel == "rows, finish"
    assert done.report.instructions == sum(report.instructions for report in done.reports)


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=32)
def past_the_end(X, Y):
    (py,) = ptx.global_ptrs(Y)
    lane = reg.from_(ptx.special.tid.x(), u32)
    ptx.inst.st.global_.f32(ptx.addr(py + lane * 8), 1.0)


def test_a_step_that_is_stopped_is_the_last():
    @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
    def two(x):
        return past_the_end(past_the_end(x))

    done = two.emulate(array(32))
    assert [report.status for report in done.reports] == ["stopped"]
    assert done.report.findings[0].kind == "out-of-bounds"


def test_a_step_cannot_write_what_it_reads():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=32)
    def writes_input(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        ptx.inst.st.global_.f32(ptx.addr(py + at), 1.0)
        ptx.inst.st.global_.f32(ptx.addr(px + at), 2.0)

    @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
    def two(x):
        return writes_input(times(x, half))

    @sequence(in_specs=(Tile("N", f32), Scalar(f32)), out_specs=(Tile("N", f32),))
    def wrong(x, half):
        return writes_input(times(x, half))

    done = wrong.emulate(array(32), 0.5)
    assert [finding.kind for finding in done.report.findings] == ["read-only"]
    assert done.report.findings[0].tensor == "Y"
    half = 0.5
    with pytest.raises(pyptx.CallError, match="factor is a float"):
        two(array(32))


def test_programmatic_stream_serialization():
    def body(X, Y):
        ptx.inst.griddepcontrol.wait()
        px, py = ptx.global_ptrs(X, Y)
        ptx.inst.st.global_.f32(ptx.addr(py), ptx.inst.ld.global_.f32(ptx.addr(px)))

    options = {"in_specs": (Tile(1, f32),), "out_specs": (Tile(1, f32),)}
    early = kernel(**options, programmatic_stream_serialization=True)(body)
    x = array(1)
    np.testing.assert_array_equal(early(x), x)
    assert str(prepared(early, x).plan).endswith(";programmatic_stream_serialization=1")
    assert "programmatic" not in str(prepared(kernel(**options)(body), x).plan)
    never = kernel(**options, programmatic_stream_serialization=True)(lambda X, Y: None)
    with pytest.raises(SpecError, match="never waits"):
        never(x)


def test_in_jax():
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    arrays = inputs(2, 3)
    expected = kernels.gradient(*arrays)
    given = [jax.numpy.asarray(a) for a in arrays]
    close(map(np.asarray, kernels.backward(*given)), expected)
    lowered = jax.jit(kernels.backward).lower(*given).as_text()
    assert lowered.count("stablehlo.custom_call @pyptx_cpu") == 1
    close(map(np.asarray, jax.jit(kernels.backward)(*given)), expected)
    np.testing.assert_allclose(chain(given[3], 2.0, 3.0), arrays[3] * 6, rtol=1e-6)
    empty = jax.jit(kernels.total)(jax.numpy.zeros((0, 40), "float32"))
    np.testing.assert_array_equal(empty, np.zeros(40))
