"""What a kernel reads from outside by `getattr` and the like, and from other containers."""

from __future__ import annotations

import types
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pyptx import Reg, Tile, kernel, ptx, reg
from pyptx._kernel import captured
from pyptx._kernel.captured import Captured
from pyptx.types import f32, u32

X = np.ones(32, np.float32)

scale = 1.0
space = types.SimpleNamespace(scale=1.0, calls=0)
settings = types.ModuleType("settings")
vars(settings)["scale"] = 1.0
variable: ContextVar[float] = ContextVar("variable", default=1.0)
mapping = UserDict({"scale": 1.0})
values = UserList([1.0])
ring = deque([1.0])
options = {"scale": 1.0}
view = types.MappingProxyType(options)
chain = ChainMap({"other": 1.0}, options)


@dataclass
class Options:
    scale: float = 1.0
    calls: int = 0

    @property
    def double(self) -> float:
        return self.scale * 2.0


config = Options()


def named(name: str) -> float:
    return getattr(space, name)


def _two(value: Any, key: str | int = "scale") -> Callable[[], None]:
    def change() -> None:
        if isinstance(value, types.SimpleNamespace | Options | types.ModuleType):
            setattr(value, str(key), 2.0)
        elif isinstance(value, ContextVar):
            value.set(2.0)
        else:
            value[key] = 2.0

    return change


CASES: dict[str, tuple[Callable[[Reg], Reg], Callable[[], None]]] = {
    "getattr of a namespace": (lambda x: x * getattr(space, "scale"), _two(space)),  # noqa: B009
    "getattr with a default": (lambda x: x * getattr(space, "scale", 5.0), _two(space)),
    "getattr of an object": (lambda x: x * getattr(config, "scale"), _two(config)),  # noqa: B009
    "getattr of a property": (
        lambda x: x * (getattr(config, "double") / 2.0),  # noqa: B009
        _two(config),
    ),
    "getattr of a module": (lambda x: x * getattr(settings, "scale"), _two(settings)),  # noqa: B009
    "a name in a tuple": (
        lambda x: x * [getattr(space, name) for name in ("calls", "scale")][1],
        _two(space),
    ),
    "a name that is passed to a helper": (lambda x: x * named("scale"), _two(space)),
    "vars of a namespace": (lambda x: x * vars(space)["scale"], _two(space)),
    "vars of a module": (lambda x: x * vars(settings)["scale"], _two(settings)),
    "the dict of an object": (lambda x: x * config.__dict__["scale"], _two(config)),
    "globals": (lambda x: x * globals()["scale"], _two(globals())),
    "a context variable": (lambda x: x * variable.get(), _two(variable)),
    "a UserDict": (lambda x: x * mapping["scale"], _two(mapping)),
    "a UserList": (lambda x: x * values[0], _two(values, 0)),
    "a deque": (lambda x: x * ring[0], _two(ring, 0)),
    "a view of a dict": (lambda x: x * view["scale"], _two(options)),
    "a chain of dicts": (lambda x: x * chain["scale"], _two(options)),
}


@pytest.fixture(autouse=True)
def _restored() -> Any:
    yield
    for value, key in ((space, "scale"), (settings, "scale"), (config, "scale")):
        setattr(value, key, 1.0)
    globals()["scale"] = mapping["scale"] = options["scale"] = values[0] = ring[0] = 1.0
    variable.set(1.0)
    space.calls = 0


def of(body: Callable[[Reg], Reg]) -> Any:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=32)
    def scaled(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        Y[i] = body(X[i])

    return scaled


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen_at_the_next_call(name: str) -> None:
    body, change = CASES[name]
    k = of(body)
    assert (k(X) == 1.0).all()
    change()
    assert (k(X) == 2.0).all()


def test_what_did_not_change_is_not_traced_anew() -> None:
    traces = 0

    def body(x: Reg) -> Reg:
        nonlocal traces
        traces += 1
        return x * getattr(space, "scale") * variable.get() * mapping["scale"]  # noqa: B009

    k = of(body)
    k(X)
    space.calls += 1  # an attribute that no code names
    variable.set(1.0)
    mapping["scale"] = 1.0
    k(X)
    assert traces == 1


def test_modules_and_objects_that_refer_to_each_other() -> None:
    """What is followed by name has an end."""
    vars(settings).update(inner=settings, space=space)
    space.inner = settings
    k = of(lambda x: x * getattr(getattr(settings, "inner"), "space").scale)  # noqa: B009
    assert (k(X) == 1.0).all()
    space.scale = 2.0
    assert (k(X) == 2.0).all()
    del space.inner


def test_an_assert_of_pytest_leads_to_nothing_of_it() -> None:
    """It names modules of pytest, from which everything else of it can be reached by name."""

    def body(x: Reg) -> Reg:
        assert getattr(x, "dtype") is f32  # noqa: B009
        return x

    assert any(name.startswith("@") for name in body.__code__.co_names)  # pytest rewrote it
    held = [value for values in Captured(body)._held for value in values]
    modules = {type(value).__module__.partition(".")[0] for value in held}
    assert modules.isdisjoint(("_pytest", "pluggy", "pytest"))
    assert len(held) < 10


def test_each_object_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that is found names further attributes, of objects that were found before."""
    count = 30
    variables: dict[str, Any] = {"__name__": "users"}
    methods = "".join(f"    def a{i}(self): return self.a{i + 1}\n" for i in range(count))
    exec(
        f"class Linked:\n{methods}\n    a{count} = 1.0\ndef body(x): return objects[0].a0()",
        variables,
    )
    variables["objects"] = [variables["Linked"]() for _ in range(100)]
    looked: list[object] = []
    attributes = captured._attributes_of

    def noted(value: object) -> Any:
        looked.append(value)
        return attributes(value)

    monkeypatch.setattr(captured, "_attributes_of", noted)
    walk = captured._Walk()
    walk.value(variables["body"], captured._DEPTH)
    walk.attributes()
    assert {f"a{i}" for i in range(count + 1)} <= walk._named
    assert len(looked) == len(set(map(id, looked))) == 101
