"""What a kernel reads from outside of its function: a change is a new trace at the next call."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import Reg, Tile, kernel, ptx, reg, sequence
from pyptx.types import bf16, f32, u32

X = np.ones(32, np.float32)
SPECS: dict[str, Any] = {"in_specs": (Tile("N", f32),), "out_specs": (Tile("N", f32),)}
LAUNCH: dict[str, Any] = {**SPECS, "grid": 1, "block": 32}

scale = 1.0
factors = [1.0, 1.0]
table = np.ones(32, np.float32)
options = {"scale": 1.0}
settings = types.ModuleType("settings")
vars(settings)["scale"] = 1.0


class Config:
    scale = 1.0


@dataclass
class Options:
    scale: float = 1.0
    calls: int = 0


class Slotted:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 1.0


config = Options()
slotted = Slotted()


def helper(x: Reg) -> Reg:
    return x * 1.0


def nested(x: Reg) -> Reg:
    return helper(x)


def twice(x: Reg) -> Reg:
    return x * 2.0


def _global() -> None:
    globals()["scale"] = 2.0


def _helper() -> None:
    globals()["helper"] = twice


def _element() -> None:
    factors[1] = 2.0


def _append() -> None:
    factors.append(2.0)


def _key() -> None:
    options["scale"] = 2.0


def _array() -> None:
    table[:] = 2.0


def _class() -> None:
    Config.scale = 2.0


def _object() -> None:
    config.scale = 2.0


def _slot() -> None:
    slotted.scale = 2.0


def _module() -> None:
    vars(settings)["scale"] = 2.0


CASES: dict[str, tuple[Callable[[Reg], Reg], Callable[[], None]]] = {
    "a variable of the module": (lambda x: x * scale, _global),
    "a helper": (lambda x: helper(x), _helper),
    "a helper of a helper": (nested, _helper),
    "an element of a list": (lambda x: x * factors[1], _element),
    "a list that grows": (lambda x: x * factors[-1], _append),
    "an element of a dict": (lambda x: x * options["scale"], _key),
    "an array": (lambda x: x * float(table[3]), _array),
    "an attribute of a class": (lambda x: x * Config.scale, _class),
    "an attribute of an object": (lambda x: x * config.scale, _object),
    "an attribute in a slot": (lambda x: x * slotted.scale, _slot),
    "an attribute of a module": (lambda x: x * vars(settings)["scale"] * settings.scale, _module),
}


@pytest.fixture(autouse=True)
def _restored() -> Any:
    kept = helper
    yield
    globals().update(scale=1.0, helper=kept)
    factors[:] = [1.0, 1.0]
    table[:] = 1.0
    options["scale"] = Config.scale = config.scale = slotted.scale = 1.0
    vars(settings)["scale"] = 1.0
    config.calls = 0


def of(body: Callable[[Reg], Reg]) -> Any:
    @kernel(**LAUNCH)
    def scaled(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        with ptx.if_(i < X.shape[0]):
            Y[i] = body(X[i])

    return scaled


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen_at_the_next_call(name: str) -> None:
    body, change = CASES[name]
    k = of(body)
    assert (k(X) == 1.0).all()
    change()
    expected = 4.0 if "of a module" in name else 2.0
    assert (k(X) == expected).all()
    assert (k.emulate(X).outputs[0] == expected).all()
    assert (np.asarray(k(jnp.asarray(X))) == expected).all()


@pytest.mark.parametrize("name", CASES)
def test_the_text_follows(name: str) -> None:
    body, change = CASES[name]
    k = of(body)
    before = k.ptx(N=32)
    assert k.module(N=32) is k.module(N=32)
    change()
    assert k.ptx(N=32) != before


def test_a_variable_of_the_function_around_it() -> None:
    factor = 1.0

    @kernel(**LAUNCH)
    def scaled(X, Y):
        Y[ptx.special.tid.x()] = X[ptx.special.tid.x()] * factor

    assert (scaled(X) == 1.0).all()
    factor = 3.0
    assert (scaled(X) == 3.0).all()


def test_a_type() -> None:
    dtype = f32

    @kernel(**LAUNCH)
    def rounded(X, Y):
        i = ptx.special.tid.x()
        (value,) = ptx.to_f32(ptx.from_f32(X[i], dtype=dtype)) if dtype is bf16 else (X[i],)
        Y[i] = value

    x = np.full(32, 1.001, np.float32)
    assert (rounded(x) == x).all()
    dtype = bf16
    assert (rounded(x) == 1.0).all()


def test_what_compile_time_values_read() -> None:
    @kernel(**LAUNCH)
    def applied(X, Y, *, function):
        Y[ptx.special.tid.x()] = function(X[ptx.special.tid.x()])

    def by_scale(x: Reg) -> Reg:
        return x * scale

    def by_factor(x: Reg, factor: list[float]) -> Reg:
        return x * factor[0]

    factor = [1.0]
    bound = functools.partial(by_factor, factor=factor)
    assert (applied(X, function=by_scale) == 1.0).all()
    assert (applied(X, function=bound) == 1.0).all()
    _global()
    factor[0] = 5.0
    assert (applied(X, function=by_scale) == 2.0).all()
    assert (applied(X, function=bound) == 5.0).all()


def test_methods_and_what_their_objects_hold() -> None:
    class Scale:
        def __init__(self) -> None:
            self.inner = Options()

        def __call__(self, x: Reg) -> Reg:
            return self.apply(x)

        def apply(self, x: Reg) -> Reg:
            return x * self.inner.scale

    operation = Scale()
    by_object, by_method = of(operation), of(operation.apply)
    assert (by_object(X) == 1.0).all()
    assert (by_method(X) == 1.0).all()
    operation.inner.scale = 2.0
    assert (by_object(X) == 2.0).all()
    assert (by_method(X) == 2.0).all()
    operation.inner = Options(scale=3.0)
    assert (by_object(X) == 3.0).all()
    assert (by_method(X) == 3.0).all()


def test_kernels_of_a_sequence() -> None:
    one = of(CASES["a helper of a helper"][0])

    @sequence(**SPECS)
    def both(x):
        return one(one(x)) if scale == 1.0 else one(x)

    assert (both(X) == 1.0).all()
    _helper()
    assert (both(X) == 4.0).all()
    _global()
    assert (both(X) == 2.0).all()


def test_jit_keeps_what_it_was_traced_with() -> None:
    k = of(CASES["a variable of the module"][0])
    x = jnp.asarray(X)
    k(x)  # what JAX needs for kernels is imported

    compiled = jax.jit(lambda x: k(x))
    assert (np.asarray(compiled(x)) == 1.0).all()
    _global()
    assert (np.asarray(compiled(x)) == 1.0).all()  # JAX's rule for variables of Python
    assert (np.asarray(jax.jit(lambda x: k(x))(x)) == 2.0).all()
    assert (np.asarray(k(x)) == 2.0).all()


def test_what_did_not_change_is_not_traced_anew() -> None:
    traces = 0

    def body(x: Reg) -> Reg:
        nonlocal traces
        traces += 1
        return helper(x) * scale * config.scale * float(table[0]) * factors[0]

    k = of(body)
    k(X)
    k(X)
    config.calls += 1  # an attribute that no code of the kernel names
    globals()["scale"] = float("1.0")  # an equal number
    table[0] = 1.0
    factors[:] = [1.0, 1.0]
    k(X)
    assert traces == 1
    k.emulate(X)
    assert traces == 1
    _global()
    k(X)
    assert traces == 2
    k(np.ones(7, np.float32))
    assert traces == 3
    k(X)
    assert traces == 3
