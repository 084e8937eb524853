"""Sequences that choose their kernels by target, and bodies that ask what they are traced for."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pyptx
from pyptx import CallError, LanguageError, Tile, device, kernel, ptx, reg, sequence, smem
from pyptx._launch.call import AUTO
from pyptx._target import Target
from pyptx.types import f32, u32

SPECS = {"in_specs": (Tile("*B", f32),), "out_specs": (Tile("*B", f32),), "parallel": ("B",)}
X = np.arange(6, dtype=np.float32)


def adding(name, number, before=lambda: None, **options):
    """A kernel with that name, which adds a number to each element."""

    def body(X, Y):
        before()
        x, y = ptx.global_ptrs(X, Y)
        place = reg.from_(ptx.special.ctaid.x(), u32) * 4
        value = ptx.inst.ld.global_.f32(ptx.addr(x + place))
        ptx.inst.st.global_.f32(ptx.addr(y + place), value + float(number))

    return kernel(name=name, grid=lambda B: (B, 1, 1), arch=AUTO, **SPECS, **options)(body)


plain = adding("plain", 1)
early = adding("early", 2, lambda: ptx.inst.griddepcontrol.wait())


@sequence(**SPECS)
def chosen(x):
    found = device.common(pyptx.lowered_for())
    return (early if found.has("griddepcontrol") else plain)(x)


@sequence(**SPECS)
def twice(x):
    """One that chooses, in one that does not ask itself."""
    return chosen(chosen(x))


@pytest.mark.parametrize(
    ("names", "added"),
    [((), 2), (("sm_90a",), 2), (("sm_80",), 1), (("sm_120",), 2), (("sm_89", "sm_90a"), 1)],
)
@pytest.mark.parametrize(("operation", "times"), [(chosen, 1), (twice, 2)])
def test_the_emulator_runs_what_the_named_target_has(operation, times, names, added):
    """With several named, the first; with none, sm_90a."""

    def run():
        np.testing.assert_array_equal(operation(X), X + times * added)
        done = operation.emulate(X)
        np.testing.assert_array_equal(done.outputs[0], X + times * added)
        return [report.kernel for report in done.reports]

    expected = ["early" if added == 2 else "plain"] * times
    if not names:
        assert run() == expected
        return
    with pyptx.target(*names):
        assert run() == expected
    np.testing.assert_array_equal(operation(X), X + times * 2)


def test_the_variable_names_the_target_too(monkeypatch):
    monkeypatch.setenv("PYPTX_TARGET", "sm_86, sm_90a")
    np.testing.assert_array_equal(chosen(X), X + 1)


def test_a_fixed_arch_is_not_changed():
    fixed = kernel(arch="sm_90a", grid=lambda B: (B, 1, 1), **SPECS)(early._function)
    call = fixed._prepare([X], {}, by_reference=False, location=None)
    assert call.lowered_for((Target(80),)) is call
    with pyptx.target("sm_80"):
        np.testing.assert_array_equal(fixed(X), X + 2)


def test_one_call_for_each_list_of_targets():
    call = chosen._prepare([X], {}, by_reference=True, location=None)
    old, new = Target(80), Target(90, "a")
    assert call.lowered_for(()) is call
    assert call.lowered_for((old,)) is call.lowered_for((old,))
    assert [step.kernel for step in call.lowered_for((new, old)).plan.steps] == ["plain"]
    assert [step.kernel for step in call.lowered_for((new,)).plan.steps] == ["early"]
    wide = call.batched((True,)).lowered_for((old,))
    assert wide.levels == ((True,),)
    assert [step.kernel for step in wide.plan.steps] == ["plain"]


def test_sequences_that_choose_are_not_mistaken_for_each_other():
    """On sm_90a both launch the same, and on sm_80 they do not."""
    other = sequence(**SPECS)(lambda x: (pyptx.lowered_for(), early(x))[1])
    never = sequence(**SPECS)(lambda x: early(x))
    again = sequence(**SPECS)(lambda x: early(x))
    calls = [
        operation._prepare([X], {}, by_reference=True, location=None)
        for operation in (chosen, other, never, again)
    ]
    assert calls[0].plan == calls[1].plan
    assert calls[0] != calls[1]
    assert calls[2] == calls[3]


def test_outside_of_a_sequence():
    with pytest.raises(CallError) as caught:
        pyptx.lowered_for()
    assert (
        str(caught.value)
        .splitlines()[0]
        .endswith("lowered_for tells the targets of a sequence, and none is being traced")
    )
    assert caught.value.notes == (("help", "@sequence(...)\ndef f(x): ... pyptx.lowered_for()"),)


# ---- bodies --------------------------------------------------------------------------------------


def test_a_body_asks_for_its_target():
    seen = []
    asking = adding("asking", 0, lambda: seen.append(str(ptx.target())))
    with pyptx.target("sm_86"):
        assert ".target sm_86" in asking.ptx()
        asking(X)
    assert asking.cubin(arch="sm_120a").target == "sm_120a"
    assert seen == ["sm_86", "sm_90a", "sm_120a"]  # a call is checked as sm_90a first


def test_a_target_outside_of_a_kernel():
    with pytest.raises(LanguageError) as caught:
        ptx.target()
    assert "ptx.target" in caught.value.problem


def test_shared_memory_that_depends_on_the_target():
    """A launch has as much dynamic memory as the code of any of its targets wants."""

    def allocate():
        smem.alloc(u32, 15000 if ptx.target().sm < 90 else 20000)[0] = 1

    kept = adding("kept", 0, allocate)
    call = kept._prepare([X], {}, by_reference=True, location=None)
    for names, size in (("sm_80", 60000), ("sm_90", 80000), ("sm_80 sm_90", 80000)):
        targets = tuple(map(Target.parse, names.split()))
        assert call.lowered_for(targets).plan.steps[0].shared == str(size)


# ---- JAX -----------------------------------------------------------------------------------------


def launched(traced):
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    return re.findall(r"kernel=(\w+)", text), sorted(set(re.findall(r"(sm_\w+) = dense", text)))


def test_a_program_has_the_kernels_of_its_targets():
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    for f, x in (
        (jax.jit(lambda x: chosen(x)), X),
        (jax.jit(jax.vmap(lambda x: chosen(x))), X.reshape(2, 3)),
    ):
        with pyptx.target("sm_80"):
            assert launched(f.trace(x)) == (["plain"], ["sm_80"])
            np.testing.assert_array_equal(f(x), x + 1)
        with pyptx.target("sm_90a"):
            assert launched(f.trace(x)) == (["early"], ["sm_90a"])
        with pyptx.target("sm_90a", "sm_80"):
            assert launched(f.trace(x)) == (["plain"], ["sm_80", "sm_90a"])
        np.testing.assert_array_equal(f(x), x + 2)
        traced = f.trace(x)  # what it is lowered for is known later than what is traced
        with pyptx.target("sm_89"):
            assert launched(traced) == (["plain"], ["sm_89"])


def test_devices_that_add_up_a_sum_take_the_kernels_of_the_target():
    """The call of a device's part of a sum is made for the same targets."""
    pytest.importorskip("jax", reason="JAX is an optional dependency")
    call = summed._prepare([X], {}, by_reference=True, location=None)
    for target, name in ((Target(80), "total"), (Target(90, "a"), "total_early")):
        found = call.lowered_for((target,))
        assert [step.kernel for step in found.plan.steps] == [name]
        assert found.partial is not None
        assert [step.kernel for step in found.partial.plan.steps] == [name]
        assert found.partial.outputs[0].dtype == "float64"


def total(name, before=lambda: None):
    def body(X, Y):
        before()
        x, y = ptx.global_ptrs(X, Y)
        value = ptx.inst.ld.global_.f32(ptx.addr(x))
        if Y.dtype is f32:
            ptx.inst.st.global_.f32(ptx.addr(y), value)
        else:
            ptx.inst.st.global_.f64(ptx.addr(y), ptx.inst.cvt.f64.f32(value))

    return kernel(
        name=name,
        in_specs=SPECS["in_specs"],
        out_specs=(Tile(1, f32, sum_over="B", accumulate=pyptx.types.f64),),
        arch=AUTO,
        parallel=("B",),
    )(body)


later, sooner = total("total"), total("total_early", lambda: ptx.inst.griddepcontrol.wait())


@sequence(in_specs=SPECS["in_specs"], out_specs=later.out_specs, parallel=("B",))
def summed(x):
    return (sooner if device.common(pyptx.lowered_for()).has("clusters") else later)(x)
