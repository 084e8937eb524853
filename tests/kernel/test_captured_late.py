"""What a kernel reads from outside: names that are bound later, and values behind classes, imports,
device functions and many levels of containers."""

from __future__ import annotations

import functools
import sys
import types
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pyptx import Reg, Tile, kernel, ptx, reg, sequence
from pyptx.types import f32, u32

X = np.ones(32, np.float32)
inst, special, tid = ptx.inst, ptx.special, ptx.special.tid
Case = tuple[Callable[[Reg], Reg], Callable[[], object]]
CASES: list[Callable[[], Case]] = []


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Makes the body of a kernel that multiplies by 1.0, and a change after which it is 2.0."""
    CASES.append(make)
    return make


def fresh() -> Any:
    """A class of its own for each case, with a base that has the attributes."""

    class Base:
        scale = 1.0

        def of_class(self, x: Reg) -> Reg:
            return x * self.scale

        @classmethod
        def by_class(cls, x: Reg) -> Reg:
            return x * cls.scale

        @property
        def own(self) -> float:
            return self.scale

        def factor(self) -> float:
            return 1.0

    class Derived(Base):
        pass

    return Derived


@case
def an_object_s_attribute_over_its_class_s() -> Case:
    it = fresh()()
    return lambda x: x * it.scale, lambda: setattr(it, "scale", 2.0)


@case
def the_same_read_by_a_method() -> Case:
    it = fresh()()
    return lambda x: it.of_class(x), lambda: setattr(it, "scale", 2.0)


@case
def an_attribute_of_a_class_read_by_a_method() -> Case:
    of = fresh()
    it = of()
    return lambda x: it.of_class(x), lambda: setattr(of.__mro__[1], "scale", 2.0)


@case
def the_same_of_an_object_made_in_the_kernel() -> Case:
    of = fresh()
    return lambda x: of().of_class(x), lambda: setattr(of.__mro__[1], "scale", 2.0)


@case
def the_same_by_a_class_method() -> Case:
    of = fresh()
    return lambda x: of.by_class(x), lambda: setattr(of, "scale", 2.0)


@case
def the_same_by_a_property() -> Case:
    of = fresh()
    it = of()
    return lambda x: x * it.own, lambda: setattr(of, "scale", 2.0)


@case
def a_method_of_a_derived_class_over_its_base_s() -> Case:
    of = fresh()
    it = of()
    return lambda x: x * it.factor(), lambda: setattr(of, "factor", lambda _: 2.0)


@case
def a_function_of_an_object_over_a_method() -> Case:
    it = fresh()()
    return lambda x: x * it.factor(), lambda: setattr(it, "factor", lambda: 2.0)


@case
def a_method_that_is_replaced() -> Case:
    of = fresh()
    it = of()
    return lambda x: x * it.factor(), lambda: setattr(of.__mro__[1], "factor", lambda _: 2.0)


@case
def an_attribute_with_a_default() -> Case:
    space = types.SimpleNamespace()
    return lambda x: x * getattr(space, "late", 1.0), lambda: setattr(space, "late", 2.0)


@case
def whether_there_is_an_attribute() -> Case:
    space = types.SimpleNamespace()
    return (
        lambda x: x * (2.0 if hasattr(space, "late") else 1.0),
        lambda: setattr(space, "late", None),
    )


@case
def an_attribute_of_a_module_that_is_missing() -> Case:
    module = types.ModuleType("settings")

    def body(x: Reg) -> Reg:
        try:
            return x * module.late
        except AttributeError:
            return x * 1.0

    return body, lambda: setattr(module, "late", 2.0)


def program(text: str, name: str = "users") -> dict[str, Any]:
    """The variables of a user's module, which are not in `sys.modules`."""
    variables: dict[str, Any] = {"__name__": name}
    exec(text, variables)
    return variables


@case
def a_variable_that_hides_a_builtin() -> Case:
    variables = program("def body(x): return x * float(max(0, 1))")
    return variables["body"], lambda: variables.update(max=lambda *_: 2)


@case
def a_variable_that_is_missing() -> Case:
    text = "def body(x):\n    try: return x * late\n    except NameError: return x * 1.0"
    variables = program(text)
    return variables["body"], lambda: variables.update(late=2.0)


@case
def a_module_that_an_object_holds() -> Case:
    module = types.ModuleType("helpers")
    exec("scale = 1.0\ndef apply(x): return x * scale", vars(module))

    class Held:
        def __init__(self) -> None:
            self.module = module

        def run(self, x: Reg) -> Reg:
            return self.module.apply(x)

    it = Held()
    return it.run, lambda: setattr(module, "scale", 2.0)


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    """A user's package with a module, which the bodies below import."""
    package, module = types.ModuleType("users_package"), types.ModuleType("users_package.inner")
    vars(package).update(inner=module, __path__=[])
    vars(module)["scale"] = 1.0
    sys.modules |= {"users_package": package, "users_package.inner": module}
    yield
    del sys.modules["users_package"], sys.modules["users_package.inner"]


IMPORTS = {
    "as": "import users_package.inner as m; return x * m.scale",
    "from": "from users_package.inner import scale; return x * scale",
    "from the package": "from users_package import inner; return x * inner.scale",
    "whole": "import users_package.inner; return x * users_package.inner.scale",
    "relative": "from .inner import scale; return x * scale",
    "relative, of the package": "from . import inner; return x * inner.scale",
    "in a function inside": (
        "def f():\n        from .inner import scale; return scale\n    return x * f()"
    ),
}


@pytest.mark.parametrize("how", IMPORTS)
def test_imports_in_the_body(how: str) -> None:
    variables: dict[str, Any] = {"__name__": "users_package.other", "__package__": "users_package"}
    exec(f"def body(x):\n    {IMPORTS[how]}", variables)
    k = of(variables["body"])
    assert (k(X) == 1.0).all()
    vars(sys.modules["users_package.inner"])["scale"] = 2.0
    assert (k(X) == 2.0).all()


@case
def many_levels_of_dicts() -> Case:
    inner = {"scale": 1.0}
    outer: Any = inner
    for _ in range(9):
        outer = {"in": outer}

    def body(x: Reg) -> Reg:
        it = outer
        while "in" in it:
            it = it["in"]
        return x * it["scale"]

    return body, lambda: inner.update(scale=2.0)


@case
def a_chain_of_objects() -> Case:
    class Node:
        def __init__(self, child: Node | None) -> None:
            self.child, self.scale = child, 1.0

        def total(self) -> float:
            return self.scale if self.child is None else self.child.total()

    last = root = Node(None)
    for _ in range(9):
        root = Node(root)
    return lambda x: x * root.total(), lambda: setattr(last, "scale", 2.0)


@case
def an_element_of_an_array_of_python() -> Case:
    values = array("d", [0.0, 1.0])
    return lambda x: x * values[1], lambda: values.__setitem__(1, 2.0)


@case
def a_byte() -> Case:
    values = bytearray(b"\0\1")
    return lambda x: x * float(values[1]), lambda: values.__setitem__(1, 2)


@case
def a_function_whose_results_are_kept() -> Case:
    values = [1.0]

    @functools.cache
    def scale() -> float:
        return values[0]

    def change() -> None:
        values[0] = 2.0
        scale.cache_clear()

    return lambda x: x * scale(), change


def helper(x: Reg, by: float = 1.0) -> Reg:
    return x * by


def _copy_of(function: Any) -> Any:
    return types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )


@case
def a_default_of_a_helper() -> Case:
    it = _copy_of(helper)
    return lambda x: it(x), lambda: setattr(it, "__defaults__", (2.0,))


@case
def the_code_of_a_helper() -> Case:
    """As IPython's autoreload replaces it."""
    it = _copy_of(helper)

    def other(x: Reg, by: float = 1.0) -> Reg:
        return x * (by + 1.0)

    return lambda x: it(x), lambda: setattr(it, "__code__", other.__code__)


@case
def what_a_device_function_reads() -> Case:
    held = [1.0]

    @ptx.func
    def by_held() -> None:
        result, x = ptx.returned_register(f32), ptx.param_register(f32)
        result.set(x * held[0])

    def body(x: Reg) -> Reg:
        result = reg.scalar(f32)
        ptx.call(by_held, [x], [result])
        return result

    return body, lambda: held.__setitem__(0, 2.0)


@case
def what_a_helper_of_a_device_function_reads() -> Case:
    variables = program("scale = 1.0\ndef by(x): return x * scale")

    @ptx.func
    def by_held() -> None:
        result, x = ptx.returned_register(f32), ptx.param_register(f32)
        result.set(variables["by"](x))

    def body(x: Reg) -> Reg:
        result = reg.scalar(f32)
        ptx.call(by_held, [x], [result])
        return result

    return body, lambda: variables.update(scale=2.0)


def of(body: Callable[[Reg], Reg]) -> Any:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=32)
    def scaled(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        Y[i] = body(X[i])

    return scaled


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_a_change_is_seen_at_the_next_call(make: Callable[[], Case]) -> None:
    body, change = make()
    traces = 0

    def counted(x: Reg) -> Reg:
        nonlocal traces
        traces += 1
        return body(x)

    k = of(counted)
    assert (k(X) == 1.0).all()
    k(X)
    assert traces == 1
    change()
    assert (k(X) == 2.0).all()
    k(X)
    assert traces == 2


def test_a_sequence_sees_it_too() -> None:
    of_class = fresh()
    it = of_class()
    one = of(lambda x: x * 2.0)

    @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
    def both(x):
        return one(one(x)) if it.scale == 1.0 else one(x)

    assert (both(X) == 4.0).all()
    it.scale = 2.0
    assert (both(X) == 2.0).all()


def test_an_attribute_that_no_code_names_is_no_change() -> None:
    it = fresh()()
    traces = 0

    def body(x: Reg) -> Reg:
        nonlocal traces
        traces += 1
        return x * it.scale

    k = of(body)
    k(X)
    it.calls = 1
    k(X)
    assert traces == 1


class Strange:
    """Its `__getattr__` has no AttributeError."""

    scale = 2.0

    def __getattr__(self, name: str) -> float:
        raise KeyError(name)


class StrangeSlots(Strange):
    __slots__ = ()


@pytest.mark.parametrize("it", [Strange(), StrangeSlots()], ids=["dict", "slots"])
def test_objects_with_attributes_of_their_own_making(it: Any) -> None:
    assert (of(lambda x: x * it.scale)(X) == 2.0).all()


def test_tables_of_instructions_in_variables() -> None:
    """`ptx.inst`, `ptx.special` and a special register, in variables of the module, a closure, an
    object and a keyword."""
    space = types.SimpleNamespace(inst=ptx.inst, held=[ptx.special])
    closed = ptx.inst

    @kernel(in_specs=(), out_specs=(Tile(32, u32),), grid=1, block=32)
    def added(Y, *, table=None):
        t = inst.add.u32(reg.from_(special.tid.x(), u32), reg.from_(tid.y(), u32))
        t = closed.add.u32(space.inst.add.u32(t, 1), reg.from_(space.held[0].tid.z(), u32))
        Y[reg.from_(tid.x(), u32)] = t if table is None else table.add.u32(t, 1)

    assert np.asarray(added())[:3].tolist() == [1, 2, 3]
    assert np.asarray(added(table=ptx.inst))[:3].tolist() == [2, 3, 4]
