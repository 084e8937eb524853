"""The norm on every target: it has kernels, they are assembled, and they are right and clean.

The diagonal of lengths, types and targets runs always, all of it in the sweep.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import pyptx
from pyptx import CallError, Tile, device, kernel, ptx, reg
from pyptx._launch.call import make_call
from pyptx._target import Target
from pyptx.ops.rowwise import cluster_sizes, plan, stages
from pyptx.ops.rowwise.strategies import cluster, cta, persistent
from pyptx.ops.rowwise.vectors import load_one, store_one
from pyptx.types import bf16, f64, u32

from .exact import BF16, EPS, F16, F32, F64, PAIRS, check_backward, check_forward, problem
from .norm import gradient_of, norm_of, result_of, rows_of
from .test_kernels import POLICIES, backward, clean, forward

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a"]
LENGTHS = [1, 7, 64, 129, 1000, 2304, 4096, 4097, 12288, 16385, 40001, 65536, 131072, 2**20]
ASSEMBLED = [100, 1025, 4096, 40000, 2**20]
SOME = [(F32, F32), (BF16, BF16), (BF16, F32), (F64, BF16), (F16, F64)]


def diagonal(lengths, pairs):
    """Every length, target and pair of types at least once; the others are for the sweep."""
    for j, pair in enumerate(pairs):
        for k, target in enumerate(TARGETS):
            for i, n in enumerate(lengths):
                often = (i + j) % len(TARGETS) == k and i % len(pairs) == j % len(lengths)
                marks = () if often else pytest.mark.sweep
                yield pytest.param(
                    n, pair, target, id=f"{n}-{pair[0]}-{pair[1]}-{target}", marks=marks
                )


def operations(given):
    row = given.weight.shape
    gradients = plan.operation(gradient_of(given), row, (result_of(given),))
    return plan.operation(norm_of(given), row), gradients


def formulas(given):
    return norm_of(given), gradient_of(given)


def launches(operation, *names):
    """The steps of a program for these targets, each with its code."""
    targets = tuple(map(Target.parse, names))
    call = make_call(operation._describe({}, {"B": 1}, {}, targets, by_reference=True))
    return list(zip(call.plan.steps, call.code, strict=True))


def check(given, target):
    """Both directions in the emulator as that target: no findings, and as close as promised."""
    norm, gradients = operations(given)
    with pyptx.target(target):
        y, r = clean(norm.emulate(given.x, given.weight))
        check_forward(given, y, r)
        dx, dw = clean(gradients.emulate(given.x, given.g, r, given.weight))
    check_backward(given, r, dx, dw.astype(given.weight.dtype))


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("n", "types", "target"), [*diagonal(LENGTHS, SOME)])
def test_values(n, types, target):
    """Of a few rows, and of so many that other kernels take them."""
    for count in (3, 20) if n <= 5000 else (2,) if n <= 2**17 else (1,):
        check(problem((count,), (n,), types, seed=n), target)


@pytest.mark.sweep
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", PAIRS, ids=str)
def test_every_pair_of_types(types, target):
    for n in (5, 128, 1025):
        check(problem((9,), (n,), types, seed=n), target)


@pytest.mark.parametrize(("n", "types", "target"), [*diagonal(ASSEMBLED, SOME)])
def test_kernels_are_assembled(n, types, target):
    """And have no more registers than a CTA's threads can, nor shared memory than the device."""
    on = device.of(Target.parse(target))
    for operation in operations(problem((0,), (n,), types)):
        for step, code in launches(operation, target):
            cubin = code.cubin(Target.parse(target))
            threads = step.block[0] * step.block[1] * step.block[2]
            assert cubin.registers * threads <= device.CTA_REGISTERS, step.kernel
            assert cubin.shared + int(step.shared) <= on.cta_shared, step.kernel


def every_length():
    """Both sides of what the choices compare, and what is far between."""
    powers = [2**i for i in range(24)]
    return sorted({n + d for n in powers for d in (-1, 0, 8)} - {0} | {3 * n for n in powers[:22]})


@pytest.mark.sweep
@pytest.mark.parametrize("target", [str(target) for target in device.TARGETS if target.sm >= 80])
@pytest.mark.parametrize("types", SOME, ids=str)
def test_every_length_has_kernels(types, target):
    for n in every_length():
        for operation in operations(problem((0,), (n,), types)):
            assert launches(operation, target)


# Lengths whose rows a grid of CTAs takes in pieces, fewer than four for each thread's groups.
PIECES = [(786432, F32, F32), (10**6, BF16, F32), (400000, F64, F64), (2**20, F64, BF16)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("n", "x", "w"), PIECES)
def test_pieces_of_long_rows_fit(n, x, w):
    """They are as many as a thread's groups allow, and what is allocated is what was said."""
    given = problem((0,), (n,), (x, w))
    what = rows_of(given)
    for op, operation in zip(formulas(given), operations(given), strict=True):
        steps = [s for s, _ in launches(operation, "sm_90a") if s.kernel.endswith("grid")]
        shape = cluster_sizes.clusters_of(op, what)
        for step in steps:
            needs = cluster.needs(op, what, shape)
            assert needs.shared - 512 <= int(step.shared) <= needs.shared
            assert shape.stages >= (shape.lag + 1) * shape.pieces


@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize(("n", "types"), [(20480, (F32, F32)), (65536, (F32, BF16))], ids=str)
def test_needs_of_clusters(n, types, target):
    """What is said of shared memory is what is allocated, and hardly more."""
    given = problem((0,), (n,), types)
    what = rows_of(given, device.of(Target.parse(target)))
    for op in formulas(given):
        shape = cluster_sizes.clusters_of(op, what)
        if shape is None:
            continue
        with pyptx.target(target):
            used = cluster.kernel_of(op, what, shape).module().kernels[0].shared.size
        assert used <= cluster.needs(op, what, shape).shared <= used + 512


# ---- which kernels -------------------------------------------------------------------------------


def names_of(n, types, *targets):
    given = problem((0,), (n,), types)
    return [
        {step.kernel.removeprefix(f"{op.name}_") for step, _ in launches(operation, *targets)}
        for op, operation in zip(formulas(given), operations(given), strict=True)
    ]


OLD = [
    (128, {"subwarp"}, {"subwarp", "column_sums"}),
    (4096, {"row"}, {"chunks", "two_pass_few", "persistent", "column_sums"}),
    (65536, {"chunks", "two_pass"}, {"chunks", "two_pass_few", "two_pass", "column_sums"}),
]


@pytest.mark.parametrize(("n", "forward_names", "backward_names"), OLD)
def test_without_clusters(n, forward_names, backward_names):
    assert names_of(n, (F32, F32), "sm_89") == [forward_names, backward_names]


def test_long_rows_of_small_shared_memory():
    """A CTA of sm_120 has no room for three strips of these; one of sm_90 has."""
    assert "cluster" in names_of(65536, (F32, F32), "sm_90")[0]
    assert "cluster" in names_of(65536, (F32, F32), "sm_120")[0]
    assert "cluster" in names_of(2**18, (F32, F32), "sm_90")[0]
    assert "cluster" not in names_of(2**18, (F32, F32), "sm_120")[0]


def test_a_cooperative_launch_counts_on_its_multiprocessors():
    """Some products of sm_120 have fewer than the 128 CTAs of a grid."""
    assert "grid" in names_of(2**20, (F32, F32), "sm_100")[0]
    assert "grid" not in names_of(2**20, (F32, F32), "sm_120")[0]


@pytest.mark.parametrize("n", [128, 4097])
def test_a_program_for_several_targets_has_what_all_of_them_allow(n):
    both = names_of(n, (F32, F32), "sm_80", "sm_90a")
    assert both == names_of(n, (F32, F32), "sm_80")
    for operation in operations(problem((0,), (n,), (F32, F32))):
        for step, code in launches(operation, "sm_80", "sm_90a"):
            assert not step.programmatic_stream_serialization
            assert code.cubin(Target(80)).target == "sm_80"
            assert code.cubin(Target(90, "a")).target == "sm_90a"


# ---- the kernels for devices without bulk copies -------------------------------------------------

AMPERE = device.of(Target(80))


@pytest.mark.sampled(24, each=("policy", "types", "held", "n"))
@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize(("n", "types"), [(520, (F32, F32)), (1003, (F16, F64))], ids=str)
def test_rows_that_threads_copy(n, types, held, policy):
    given = problem((9,), (n,), types)
    made = cta.independent(norm_of(given), rows_of(given, AMPERE), threads=64, held=held)
    assert "cp.async.cg" in made.ptx()
    assert "mbarrier" not in made.ptx()
    with pyptx.target("sm_80"):
        forward(made, given, **policy)


@pytest.mark.sampled(24, each="policy")
@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize(("stages_each", "count"), [(1, 1), (2, 4), (3, 2)])
@pytest.mark.parametrize(("n", "types"), [(512, (BF16, F32)), (263, (F32, F32))], ids=str)
def test_teams_whose_threads_copy(n, types, stages_each, count, policy):
    what = rows_of(problem((0,), (n,), types), AMPERE)
    given = problem((what.alignments * count * 4 + 1,), (n,), types)
    shape = persistent.Shape(what.alignments, count, 64, stages_each)
    made = persistent.kernel_of(gradient_of(given), what, shape)
    assert "mbarrier" not in made.ptx()
    with pyptx.target("sm_80"):
        backward(made, given, what, what.alignments, **policy)


def test_a_stage_that_is_read_too_soon_is_found(monkeypatch):
    """Without the wait for its copies: the twin of the test above, with the mistake."""
    monkeypatch.setattr(stages.ThreadRing, "wait", lambda self, stage: None)
    given = problem((9,), (512,), (F32, F32))
    shape = persistent.Shape(1, 1, 64, 2)
    made = persistent.kernel_of(gradient_of(given), rows_of(given, AMPERE), shape)
    r = np.ones(9, np.float32)
    with pyptx.target("sm_80"):
        report = made.emulate(given.x, given.g, r, given.weight).report
    assert report.findings
    assert "cp.async" in str(report.findings[0])


@pytest.mark.parametrize("target", ["sm_80", "sm_89"])
def test_f64_to_bf16_is_rounded_once(target):
    """Halfway between two bf16, and a little beside it: less than f32 holds."""
    numbers = np.random.default_rng(0).standard_normal(64).astype(BF16).astype(np.float64)
    half = 2.0 ** (np.frexp(numbers)[1] - 9)
    values = np.concatenate(
        [
            *(numbers + half * (1 + d) for d in (-(2.0**-40), 0, 2.0**-40, -(2.0**-20), 2.0**-20)),
            *(np.array(v) for v in ([0.0, -0.0, np.inf, -np.inf, np.nan],)),
            np.array([1e-40, -1e-41, 3.4e38, 3.3961e38, 1e300, -1e300, 5e-324, 9.2e-41]),
        ]
    )

    @kernel(
        in_specs=(Tile("N", f64),),
        out_specs=(Tile("N", bf16), Tile("N", f64)),
        grid=lambda N: (N, 1, 1),
        arch="auto",
    )
    def both_ways(X, Y, Z):
        x, y, z = ptx.global_ptrs(X, Y, Z)
        i = reg.from_(ptx.special.ctaid.x(), u32)
        store_one(bf16, y + i * 2, load_one(f64, f64, x + i * 8, pred=None))
        store_one(f64, z + i * 8, load_one(bf16, f64, y + i * 2, pred=None))

    def run(name):
        with pyptx.target(name):
            assert ("cvt.rn.bf16.f64" in both_ways.ptx(N=4)) == (name == "sm_90a")
            return clean(both_ways.emulate(values, sanitize=False))

    for one, other in zip(run(target), run("sm_90a"), strict=True):
        number = ~np.isnan(other)
        assert number.sum() == values.size - 1
        np.testing.assert_array_equal(np.isnan(one), ~number)
        np.testing.assert_array_equal(one[number].view(np.uint8), other[number].view(np.uint8))


# ---- in programs ---------------------------------------------------------------------------------


def test_a_device_that_is_too_old():
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    from pyptx.ops import rms_norm, rms_norm_fwd

    x, w = np.ones((2, 8), np.float32), np.ones(8, np.float32)
    traced = jax.jit(rms_norm).trace(x, w)
    with pyptx.target("sm_75"):
        for call in (
            lambda: rms_norm(x, w),
            lambda: jax.jit(rms_norm)(x, w),
            lambda: rms_norm_fwd(x, w),
            lambda: jax.grad(lambda x: rms_norm(x, w).sum())(jax.numpy.asarray(x)),
        ):
            with pytest.raises(CallError) as caught:
                call()
            where, source, *note = str(caught.value).splitlines()
            line = f"{__file__}:{call.__code__.co_firstlineno}"
            assert where == f"{line}: rms_norm has no kernels for sm_75"
            assert "rms_norm" in source
            assert note == [
                "  legal: sm_80 and later: bf16 and the cache policies of loads are theirs"
            ]
        with pytest.raises(CallError, match="rms_norm has no kernels for sm_75"):
            traced.lower(lowering_platforms=("cuda",))
    with pyptx.target("sm_90a", "sm_75"), pytest.raises(CallError, match="for sm_75"):
        rms_norm(x, w)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("names", "n"),
    [
        (("sm_80",), 4096),
        (("sm_89",), 65536),
        (("sm_120a",), 65536),
        (("sm_80", "sm_90a"), 4096),
    ],
)
def test_exported_for_a_target(names, n):
    """With the gradient: the program has the code of each target, and no other."""
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    from jax import export

    from pyptx.ops import rms_norm

    x, w = (jax.ShapeDtypeStruct(shape, "float32") for shape in ((64, n), (n,)))
    f = jax.jit(jax.grad(lambda x, w: rms_norm(x, w).sum(), (0, 1)))
    with pyptx.target(*names):
        checks = pyptx.export_safety_checks()
        text = export.export(f, platforms=["cuda"], disabled_checks=checks)(x, w).mlir_module()
    assert set(re.findall(r"(sm_\w+) = dense", text)) == set(names)
    kernels = set(re.findall(r"kernel=rms_norm_(\w+)", text))
    assert ("invvar_cluster" in kernels) == (names == ("sm_120a",))
    assert ("programmatic_stream_serialization" in text) == (names == ("sm_120a",))


def test_jax_on_a_cpu_runs_as_the_named_target():
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    from pyptx.ops import rms_norm

    given = problem((6,), (1000,), (F32, F32))
    f = jax.jit(lambda x, w: rms_norm(x, w, EPS))
    values = jax.numpy.asarray(given.x), jax.numpy.asarray(given.weight)
    plain = f(*values)
    with pyptx.target("sm_80"):
        text = f.lower(*values).as_text()
        np.testing.assert_allclose(f(*values), plain, rtol=2e-6)
    assert text != f.lower(*values).as_text()
