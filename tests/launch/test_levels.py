"""Levels of `jax.vmap` without JAX: a call with levels, run in the emulator, against loops."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pyptx.launch.call import Factors
from pyptx.runtime import numpy as emulated
from pyptx.source import UNKNOWN

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
        "i64:160 a0.2 *,i64:160 a1.1 *,i64:160 a1.1 * a0.2 *,i64:160,i64:160 a0.2 *"
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


def test_factors():
    call = prepared(kernels.scale, array(2, 3, 40), array(40)).batched(BOTH).batched(X_ONLY)
    assert call.factors() == Factors(
        (("vmap.0", "vmap.1", "B.0", "B.1", None), ("vmap.1", None)),
        (("vmap.0", "vmap.1", "B.0", "B.1", None),),
        ((),),
    )
    assert prepared(kernels.rows, *gradient_inputs(2, 3)).factors().sums == ((), ("B.0", "B.1"))
    assert prepared(kernels.total, array(2, 40)).factors() == Factors(
        (("B", None),), ((None,),), (("B",),)
    )


def test_what_can_be_batched():
    call = prepared(kernels.scale, array(3, 40), array(40))
    assert call.batchable(X_ONLY, [(70000, 3, 40), (40,)])
    assert call.batchable(W_ONLY, [(3, 40), (65535, 40)])
    assert not call.batchable(W_ONLY, [(3, 40), (65536, 40)])
    inner = call.batched(BOTH)
    assert inner.batchable(BOTH, [(255, 257, 3, 40), (255, 257, 40)])
    assert not inner.batchable(BOTH, [(256, 257, 3, 40), (256, 257, 40)])
    assert call.batched(X_ONLY).batchable(W_ONLY, [(70000, 3, 40), (2, 40)])
