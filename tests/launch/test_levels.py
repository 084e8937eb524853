"""Levels of `jax.vmap` without JAX: a call with levels, run in the emulator, against loops."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pyptx import SpecError, Tile, kernel
from pyptx._launch.layout import has_free_axis
from pyptx._runtime import numpy as emulated
from pyptx._source import UNKNOWN
from pyptx._trace.core.batch import Batch
from pyptx.types import f32

_spec = importlib.util.spec_from_file_location(
    "launch_kernels", Path(__file__).parent / "kernels.py"
)
kernels = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kernels)

RANDOM = np.random.default_rng(0)


def array(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def prepared(kernel, *arrays):
    return kernel._prepare(arrays, {}, by_reference=True, location=UNKNOWN)


def run(call, *arrays):
    done = emulated.emulate(call, arrays, sanitize=True)
    assert done.report.findings == (), done.report.message
    assert [o.shape for o in done.outputs] == [*call.output_shapes([a.shape for a in arrays])]
    return done.outputs


def looped(kernel, levels, arrays):
    """The kernel once for each element of the levels, outermost first."""
    if not levels:
        found = kernel(*arrays)
        return found if isinstance(found, tuple) else (found,)
    size = next(a.shape[0] for a, mapped in zip(arrays, levels[0], strict=True) if mapped)
    each = [
        looped(
            kernel, levels[1:], [a[i] if m else a for a, m in zip(arrays, levels[0], strict=True)]
        )
        for i in range(size)
    ]
    return tuple(map(np.stack, zip(*each, strict=True)))


def batched(call, levels):
    for mapped in reversed(levels):
        call = call.batched(mapped)
    return call


def whole(levels, sizes, arrays_shape):
    """Arrays with the axes of the levels in front."""
    return [
        array(*(n for n, mapped in zip(sizes, levels, strict=True) if mapped[i]), *shape)
        for i, shape in enumerate(arrays_shape)
    ]


X_ONLY, W_ONLY, BOTH = (True, False), (False, True), (True, True)
CASES = {
    "folded": ((X_ONLY,), (4,), "grid=a0.0 a0.1 *,1,1"),
    "folded twice": ((X_ONLY, X_ONLY), (4, 2), "grid=a0.0 a0.1 * a0.2 *,1,1"),
    "weights": ((W_ONLY,), (4,), "grid=a0.0,1,a1.0"),
    "both": ((BOTH,), (4,), "grid=a0.1,1,a0.0"),
    "both twice": ((BOTH, BOTH), (4, 2), "grid=a0.2,1,a0.0 a0.1 *"),
    "weights of folded": ((W_ONLY, X_ONLY), (4, 3), "grid=a0.0 a0.1 *,1,a1.0"),
    "rows of weights": ((X_ONLY, W_ONLY), (4, 3), "grid=a0.1,1,a0.0 a1.0 *"),
    "three": ((W_ONLY, BOTH, X_ONLY), (2, 3, 4), "grid=a0.1 a0.2 *,1,a1.0 a0.0 *"),
    "mixed": ((X_ONLY, W_ONLY, BOTH), (2, 3, 4), "grid=a0.2,1,a0.0 a1.0 * a0.1 *"),
    "none": ((BOTH,), (0,), "grid=a0.1,1,a0.0"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_levels(case):
    levels, sizes, grid = case
    one = array(3, 40), array(40)
    call = batched(prepared(kernels.scale, *one), levels)
    assert call.levels == levels
    assert grid in str(call.plan)
    arrays = whole(levels, sizes, [a.shape for a in one])
    (found,) = run(call, *arrays)
    if 0 in sizes:
        assert found.shape == (0, 3, 40)
        return
    (expected,) = looped(kernels.scale, levels, arrays)
    np.testing.assert_array_equal(found, expected)


def test_one_call_serves_every_size():
    calls = [prepared(kernels.scale, array(n, 40), array(40)) for n in (1, 2, 0)]
    assert len(set(map(id, calls))) == 1
    again = prepared(kernels.scale, array(3, 2, 40), array(40))
    assert again != calls[0]
    call = calls[0].batched(X_ONLY)
    for shape in ((2, 3, 40), (5, 1, 40)):
        x, w = array(*shape), array(40)
        np.testing.assert_array_equal(run(call, x, w)[0], x * w)


def test_any_number_of_leading_axes():
    for lead in ((), (3,), (2, 3), (2, 0, 3)):
        x, w = array(*lead, 40), array(40)
        call = prepared(kernels.scale, x, w)
        np.testing.assert_array_equal(run(call, x, w)[0], x * w)
        np.testing.assert_array_equal(kernels.scale(x, w), x * w)


def test_what_a_batched_kernel_is():
    """A stride for each tensor and level, and sizes of the inner levels, after the tensors."""
    call = batched(prepared(kernels.scale, array(3, 40), array(40)), (X_ONLY, BOTH, W_ONLY))
    assert str(call.plan) == (
        "inputs=[? ? ? 40],[? ? 40];outputs=[? ? ? ? 40]\n"
        "kernel=scale;grid=a0.2,1,a0.0 a0.1 * a1.1 *;block=32,1,1;cluster=1,1,1;shared=0;"
        "params=a0,a1,r0,i64:a0.2,i64:a0.1,i64:a1.1,"
        "i64:160 a0.1 * a0.2 *,i64:160 a0.1 * a1.1 * a0.2 *,"
        "i64:160 a0.2 *,i64:160 a1.1 *,i64:160 a1.1 * a0.2 *,i64:160,i64:160 a0.2 *;complete=r0"
    )


def test_a_folded_call_is_the_same_kernel():
    call = prepared(kernels.scale, array(3, 40), array(40))
    assert call.batched(X_ONLY).code == call.code
    assert call.batched(BOTH).code != call.code
    assert call.batched(X_ONLY) != call
    assert call.batched(X_ONLY) == call.batched(X_ONLY)
    assert hash(call.batched(X_ONLY)) == hash(call.batched(X_ONLY))


def test_sums_and_scalars_take_an_axis():
    x = array(4, 3, 40)
    call = prepared(kernels.total, x[0])
    assert "zeros=r0" in str(call.plan)
    call = call.batched((True,))
    np.testing.assert_allclose(run(call, x)[0], x.sum(1), rtol=1e-6)
    np.testing.assert_array_equal(run(call, x[:, :0])[0], np.zeros((4, 40)))


def test_a_sum_of_nothing_is_zeros():
    np.testing.assert_array_equal(kernels.total(array(0, 40)), np.zeros(40, np.float32))
    assert "zeros" not in str(prepared(kernels.rows, *gradient_inputs()).plan)


def gradient_inputs(*lead, columns=40):
    rows = lead or (4,)
    return array(*rows, columns), array(*rows), array(*rows, columns), array(columns)


def test_axes_that_may_be_split():
    call = prepared(kernels.scale, array(2, 3, 40), array(40)).batched(BOTH).batched(X_ONLY)
    rows = ("vmap.0", "vmap.1", "B.0", "B.1", 40)
    assert [tensor.axes for tensor in call.inputs] == [rows, ("vmap.1", 40)]
    assert [(tensor.axes, tensor.sums) for tensor in call.outputs] == [(rows, ())]
    gradient = prepared(kernels.rows, *gradient_inputs(2, 3))
    assert [tensor.sums for tensor in gradient.outputs] == [(), ("B.0", "B.1")]
    total = prepared(kernels.total, array(2, 40))
    assert [(tensor.axes, tensor.sums) for tensor in total.outputs] == [((40,), ("B",))]


def test_what_can_be_batched():
    call = prepared(kernels.scale, array(3, 40), array(40))
    assert call.batchable(X_ONLY, [(70000, 3, 40), (40,)])
    assert call.batchable(W_ONLY, [(3, 40), (65535, 40)])
    assert not call.batchable(W_ONLY, [(3, 40), (65536, 40)])
    inner = call.batched(BOTH)
    assert inner.batchable(BOTH, [(255, 257, 3, 40), (255, 257, 40)])
    assert not inner.batchable(BOTH, [(256, 257, 3, 40), (256, 257, 40)])
    assert call.batched(X_ONLY).batchable(W_ONLY, [(70000, 3, 40), (2, 40)])


def test_a_grid_that_a_fold_makes_too_large():
    call = prepared(kernels.add, array(4, 20), array())  # rows are counted along y
    assert call.batchable(X_ONLY, [(16383, 4, 20), ()])
    assert not call.batchable(X_ONLY, [(16384, 4, 20), ()])


@pytest.mark.parametrize("levels", [(BOTH,), (X_ONLY, BOTH)], ids=str)
def test_scalars_and_memory_in_place(levels):
    sizes = (3, 2)[-len(levels) :]
    x, term = whole(levels, sizes, [(4, 20), ()])
    call = batched(prepared(kernels.add, array(4, 20), array()), levels)
    assert call.aliases == ((0, 0),)
    (found,) = run(call, x, term)
    np.testing.assert_array_equal(found, x + term[..., None, None])


def test_memory_in_place_is_mapped():
    call = prepared(kernels.add, array(4, 20), array())
    with pytest.raises(ValueError, match=r"^X shares an output's memory: map it$"):
        call.batched(W_ONLY)


def ptx_of(batch):
    return kernels.scale._specialise(
        {"N": 8}, {}, kernels.scale.module(N=8).target, by_reference=True, batch=batch
    ).written.ptx


def body(text):
    return [line.strip() for line in text[text.index("{\n") :].splitlines() if ";" in line]


def test_the_text_of_a_batched_kernel():
    """An index, then a load and a `mad` for each tensor that has the level."""
    plain, one = ptx_of(None), ptx_of(Batch("z", ((False, True, True),)))
    assert one.count(".param .u64 ") == plain.count(".param .u64 ") + 2
    lines = [line for line in body(one) if not line.startswith(".reg")]
    assert lines[1:3] == ["mov.u32 %u0, %ctaid.z;", "cvt.u64.u32 %ud1, %u0;"]
    assert lines[3:13] == [
        "ld.param.u64 %ud2, [X];",
        "cvta.to.global.u64 %ud3, %ud2;",
        "ld.param.u64 %ud4, [W];",
        "cvta.to.global.u64 %ud5, %ud4;",
        "ld.param.u64 %ud6, [W_stride_0];",
        "mad.lo.u64 %ud7, %ud1, %ud6, %ud5;",
        "ld.param.u64 %ud8, [Y];",
        "cvta.to.global.u64 %ud9, %ud8;",
        "ld.param.u64 %ud10, [Y_stride_0];",
        "mad.lo.u64 %ud11, %ud1, %ud10, %ud9;",
    ]
    assert len(body(one)) == len(body(plain)) + 6
    assert "ctaid.z" not in plain


def test_several_levels_are_counted_apart():
    two = ptx_of(Batch("y", ((True, False, True), (False, True, True))))
    lines = body(two)
    start = lines.index("mov.u32 %u0, %ctaid.y;")
    assert lines[start : start + 8] == [
        "mov.u32 %u0, %ctaid.y;",
        "ld.param.u64 %ud1, [batch_1_size];",
        "cvt.u32.u64 %u1, %ud1;",
        "rem.u32 %u2, %u0, %u1;",
        "div.u32 %u3, %u0, %u1;",
        "cvt.u64.u32 %ud2, %u2;",
        "cvt.u64.u32 %ud3, %u3;",
        "ld.param.u64 %ud4, [X];",
    ]


def test_a_call_is_the_same_in_every_process():
    """Its identity is made of content, so that caches and exported programs agree on it."""
    program = f"""
import runpy, numpy
space = runpy.run_path({_spec.origin!r})
call = space["rows"]._prepare(
    [numpy.zeros(s, "float32") for s in ((4, 8), (4,), (4, 8), (8,))], {{}},
    by_reference=True, location=None)
print(call.batched((True, True, True, False)).identity)
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = prepared(kernels.rows, *gradient_inputs(9, columns=8)).batched((True, True, True, False))
    assert found == {here.identity + "\n"}


@pytest.mark.parametrize(
    ("options", "grid"),
    [
        ({"grid": (2, 1, 1)}, "grid=2,1,a0.0;"),
        ({"grid": (1, 1, 3)}, "grid=1,a0.0,3;"),
        ({"grid": (2, 1, 2), "cluster": (1, 1, 2)}, "grid=2,a0.0,2;"),
        ({"grid": (2, 1, 1), "cluster": (2, 1, 1)}, "grid=2,1,a0.0;"),
        ({"grid": lambda N: (N, N // 8, 1)}, "grid=8,1,a0.0;"),
        ({"grid": lambda N: (1, N, N)}, None),
        ({"grid": (1, 2, 2)}, None),
    ],
    ids=["x", "z", "cluster-z", "cluster-x", "x-y", "y-z", "none"],
)
def test_the_axis_that_a_batch_takes(options, grid):
    k = kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), **options)(_nothing)
    call = prepared(k, array(8))
    assert has_free_axis(call.description) == (grid is not None)
    assert call.batchable((True,), [(5, 8)]) == (grid is not None)
    if grid is None:
        with pytest.raises(SpecError, match=r"^_nothing has no free axis of the grid to batch"):
            call.batched((True,))
    else:
        assert grid in str(call.batched((True,)).plan)


def _nothing(X, Y):
    pass


@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_a_star_folds_whatever_it_stands_for(lead):
    call = prepared(kernels.scale, array(*lead, 40), array(40)).batched(X_ONLY)
    x, w = array(5, *lead, 40), array(40)
    assert len(call.code) == 1
    assert call.code == prepared(kernels.scale, x, w).code
    np.testing.assert_array_equal(run(call, x, w)[0], x * w)
