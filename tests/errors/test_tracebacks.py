"""A traceback shows the user's lines: those that call pyptx, and those of a body that it calls."""

import inspect
import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pyptx
from pyptx import CallError, IsaError, LanguageError, SpecError, Tile, kernel, ptx, reg, sequence
from pyptx._tracebacks import VARIABLE
from pyptx.ops import rms_norm
from pyptx.types import f32, u32

X = np.ones(4, np.float32)
SPECS = {"in_specs": (Tile("B", f32),), "out_specs": (Tile("B", f32),)}


def helper(x):
    return ptx.inst.add.foo(x, x)


@kernel(**SPECS, parallel=("B",))
def wrong(X, Y):
    with ptx.if_(reg.scalar(u32, init=1) == 1):
        helper(X[0])


@kernel(**SPECS)
def divides(X, Y):
    1 / 0


@kernel(**SPECS)
def misspells(X, Y):
    ptx.wrap.reduce_sum(X[0])


@ptx.func
def shared() -> None:
    helper(ptx.param_register(u32))


@kernel(**SPECS)
def calls(X, Y):
    ptx.call(shared, [], [reg.scalar(u32, init=1)])


@sequence(**SPECS, parallel=("B",))
def applies(x):
    return wrong(x)


IN_THE_BODY = {
    "eager": lambda: wrong(jnp.asarray(X)),
    "NumPy": lambda: wrong(X),
    "jit": lambda: jax.jit(lambda x: wrong(x) + 1)(X),
    "jit of a kernel": lambda: jax.jit(wrong)(X),
    "vmap": lambda: jax.vmap(lambda x: wrong(x))(jnp.ones((3, 4))),
    "emulate": lambda: wrong.emulate(X),
    "check_parallel": lambda: wrong.check_parallel(X),
    "ptx": lambda: wrong.ptx(),
    "cubin": lambda: wrong.cubin(),
    "module": lambda: wrong.module(),
    "sequence": lambda: applies(X),
    "sequence in jit": lambda: jax.jit(applies)(X),
    "sequence, emulated": lambda: applies.emulate(X),
}


def _lines(error):
    """The lines of a traceback behind this test's own, and whether all are of this file."""
    entries = traceback.extract_tb(error.__traceback__)
    assert {entry.filename for entry in entries} == {__file__}
    return [entry.line for entry in entries][1:]


@pytest.mark.parametrize("way", IN_THE_BODY)
def test_an_error_of_the_body_ends_at_the_users_line(way):
    with pytest.raises(IsaError) as caught:
        IN_THE_BODY[way]()
    own = [entry for entry in _lines(caught.value) if "lambda" not in entry]
    line = inspect.getsourcelines(helper)[1] + 1
    assert own == ["helper(X[0])", "return ptx.inst.add.foo(x, x)"]
    assert str(caught.value).startswith(
        f"{__file__}:{line}: add has no modifier .foo here\n    return ptx.inst.add.foo(x, x)\n"
    )


@pytest.mark.parametrize(
    ("kind", "attempt", "lines"),
    [
        (ZeroDivisionError, lambda: divides(X), ["1 / 0"]),
        (ZeroDivisionError, lambda: jax.jit(divides)(X), ["1 / 0"]),
        (LanguageError, lambda: misspells(X), ["ptx.wrap.reduce_sum(X[0])"]),
        (IsaError, lambda: calls(X), ["helper(...)", "return ptx.inst..."]),
        (CallError, lambda: wrong(X, X), []),
        (CallError, lambda: wrong.emulate(), []),
        (CallError, lambda: rms_norm(X, X, eps="x"), []),
        (CallError, lambda: pyptx.lowered_for(), []),
        (SpecError, lambda: kernel(grid=1.5), []),
        (SpecError, lambda: kernel(**SPECS)(lambda: None), []),
        (SpecError, lambda: sequence(), []),
        (SpecError, lambda: pyptx.from_ptx("x", in_specs=(), out_specs=(), grid=1), []),
        (SpecError, lambda: Tile("B", 5), []),
        (SpecError, lambda: pyptx.Scalar(), []),
    ],
)
def test_other_errors_show_no_frame_of_ours(kind, attempt, lines):
    with pytest.raises(kind) as caught:
        attempt()
    assert len([e for e in _lines(caught.value) if "lambda" not in e]) == len(lines)


def test_a_variable_shows_all(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(IsaError) as caught:
        wrong.ptx()
    files = {entry.filename for entry in traceback.extract_tb(caught.value.__traceback__)}
    assert any(file.endswith("build.py") for file in files)


def test_an_error_of_our_own_code_shows_all(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    broken.__code__ = broken.__code__.replace(co_filename=pyptx.kernel.__code__.co_filename)
    monkeypatch.setattr(sys.modules["pyptx._kernel.entry"], "build", broken)
    with pytest.raises(RuntimeError) as caught:
        divides.ptx(B=8)
    names = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "broken"
    assert "_specialise" in names
