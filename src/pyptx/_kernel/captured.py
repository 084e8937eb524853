"""What a kernel's function reads from outside of itself: it is traced anew where that has changed.

A function is traced once for its sizes and keywords. Variables of its module, of the functions
around it and of the helpers that it calls are no part of its arguments, and Python's programs
change them: a cell of a notebook is run again, a constant is set to another number. So what the
function could read is remembered when it is traced, and compared at each call.
"""

from __future__ import annotations

import dis
import sys
from array import array
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache, partial
from operator import is_not, itemgetter
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final, TypeAlias, cast

from pyptx._trace.control.function import Func
from pyptx._trace.core.users import FRAMEWORKS, is_users
from pyptx._trace.core.values import Value

_PLAIN: Final = (bool, int, float, complex, str, bytes)
_LARGEST: Final = 4096
"""Elements of a list, dict or array that is compared: larger ones are tables of constants."""
_DEPTH: Final = 16
"""Levels of containers and objects that hold each other which are followed."""
_CODES: Final = 1024
_GLOBAL: Final = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_FREE: Final = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
_ATTRIBUTE: Final = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_BY_NAME: Final = frozenset(("getattr", "hasattr", "vars", "globals", "attrgetter", "__dict__"))
"""Names of code that reads variables whose names are strings."""
_MAPPINGS: Final = (dict, UserDict, ChainMap, MappingProxyType)
_SEQUENCES: Final = (list, tuple, set, frozenset, deque, UserList)
_Cached: Final = type(lru_cache(len))
_NOT_CALLED: Final = frozenset(
    f"__{name}__" for name in ("init", "new", "post_init", "repr", "str", "eq", "hash", "reduce")
)
"""Methods by which Python makes, shows and compares objects; the others may be operators."""
_ABSENT: Final = object()

_Path: TypeAlias = "tuple[str, ...]"
_Read: TypeAlias = "Callable[[], tuple[object, ...]]"


class Captured:
    """The variables outside of a function that it can read, and their values."""

    __slots__ = ("_held", "_reads")

    def __init__(self, function: object, constants: Iterable[object] = ()) -> None:
        """As they are now; `constants` are compile-time values, such as functions, that it takes.

        Functions that these variables hold, and operations, count with what they read in turn.
        """
        walk = _Walk()
        for each in (function, *constants):
            walk.value(each, _DEPTH)
        walk.by_name()
        walk.attributes()
        self._reads: tuple[_Read, ...] = tuple(walk.reads())
        self._held: list[tuple[object, ...]] = [read() for read in self._reads]

    def __bool__(self) -> bool:
        return bool(self._reads)

    def changed(self) -> bool:
        """Whether one of them is another value now."""
        held = self._held
        for i, read in enumerate(self._reads):
            try:
                now = read()
            except (KeyError, ValueError, RuntimeError):  # a variable that is gone, an empty cell,
                return True  # a dict that another thread is changing
            before = held[i]
            if len(now) != len(before):
                return True
            if any(map(is_not, now, before)):
                if not all(map(_is_equal, before, now)):
                    return True
                held[i] = now
        return False


class _Walk:
    """Finds what is read, each variable once."""

    def __init__(self) -> None:
        self._seen: dict[int, object] = {}
        self._names: dict[int, tuple[Mapping[str, object], dict[str, None]]] = {}
        # Names that were looked for there and not found: one that is bound later is found first.
        self._absent: dict[int, tuple[Mapping[str, object], set[str]]] = {}
        self._classes: dict[int, Mapping[str, object]] = {}
        self._cells: dict[int, CellType] = {}
        self._contents: list[_Read] = []
        # Objects, and the names in all code: of an object only attributes that some code names
        # count, so that a count of calls in it does not.
        self._objects: list[tuple[object, int]] = []
        self._named: set[str] = set()
        # What `getattr` and the like may read: the functions, what their variables hold, and the
        # strings in their code.
        self._functions: list[FunctionType] = []
        self._followed: list[object] = []
        self._strings: set[str] = set()
        self._ids: set[int] = set()

    def reads(self) -> Iterator[_Read]:
        """Functions that give the values, as they are when they are called."""
        for variables, names in self._names.values():
            yield _reader(variables, tuple(names))
        if self._cells:
            cells = tuple(self._cells.values())
            yield lambda: tuple([cell.cell_contents for cell in cells])
        if self._functions:
            functions = tuple(self._functions)
            yield lambda: tuple(
                [
                    part
                    for each in functions
                    for part in (each.__code__, each.__defaults__, each.__kwdefaults__)
                ]
            )
        for variables, absent in self._absent.values():
            if absent:
                yield _absence_reader(variables, frozenset(absent))
        yield from self._contents

    def by_name(self) -> None:
        """What code reads by `getattr`, `vars` or `globals`, as far as the names stand in it."""
        if not self._named.isdisjoint(_BY_NAME):
            self._named |= self._strings
            for value in self._followed:  # which grows
                for name in sorted(self._named):
                    self._follow_one(value, name)
        if "globals" in self._named:
            for function in self._functions:
                variables = function.__globals__
                for name in sorted(self._strings & variables.keys()):
                    if not _is_public(name, variables[name]):
                        self._name(variables, name)
                        self._follow(variables[name], ())

    def attributes(self) -> None:
        """Those of the objects and classes that were found, and of what they hold in turn."""
        seen: set[int] = set()
        named: set[str] = set()
        waiting: dict[str, list[tuple[object, int]]] = {}  # by attributes that no code names yet
        first = 0
        while True:
            new = self._named - named
            found = [(*each, name) for name in new for each in waiting.pop(name, ())]
            named |= new
            for each, depth in self._objects[first:]:
                if id(each) in seen:
                    continue
                seen.add(id(each))
                for name, always in _attributes_of(each):
                    if always or name in named:
                        found.append((each, depth, name))
                    else:
                        waiting.setdefault(name, []).append((each, depth))
            first = len(self._objects)
            if not found:
                break
            for each, depth, name in found:
                self._attribute(each, name, depth)
        for each, _ in self._objects:
            variables = self._variables_of(each)
            if variables is not None:
                self._no_names(variables, named - variables.keys())

    def _attribute(self, value: object, name: str, depth: int) -> None:
        variables = self._variables_of(value)
        if variables is None or name not in variables:  # in a slot
            self._contents.append(lambda: (getattr(value, name, _ABSENT),))
            self.value(getattr(value, name, None), depth - 1)
            return
        self._name(variables, name)
        held = variables[name]
        method = _method(held) if isinstance(value, type) else None
        if method is None:
            self.value(held, depth - 1)
        else:
            self.value(method, depth)

    def _variables_of(self, value: object) -> Mapping[str, object] | None:
        """What a module, a class or an object itself has, always the same mapping."""
        if isinstance(value, type):
            return self._classes.setdefault(id(value), vars(value))
        return _dict_of(value)

    def value(self, value: object, depth: int) -> None:
        """What a value holds that may change, and what it reads when it is called."""
        if depth == 0 or isinstance(value, (*_PLAIN, Value, BuiltinFunctionType)):
            return
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, FunctionType):
            self._function(value)
        elif (parts := _parts_of(value)) is not None:
            for each in parts:
                self.value(each, depth)
        elif isinstance(value, ModuleType):
            if not _is_library(value.__name__):
                self._objects.append((value, depth))
        elif isinstance(value, type):
            self._class(value, depth)
        elif isinstance(value, (ContextVar, *_SEQUENCES, *_MAPPINGS)):
            self._container(value, depth)
        elif isinstance(value, (array, bytearray)) or _is_array(value):
            self._array(value)
        elif is_users(value):
            self._instance(value, depth)

    def _function(self, function: FunctionType) -> None:
        module = function.__module__ or ""
        ours = module.partition(".")[0] == "pyptx"
        # What `exec` runs without a name counts as "builtins", whose own functions are no such.
        if not ours and module not in ("", "builtins") and _is_library(module):
            return
        for each in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.value(each, _DEPTH)
        code = function.__code__
        variables = {} if ours else function.__globals__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        if not ours:
            self._named.update(_names(code))
            self._strings.update(_strings(code))
            self._functions.append(function)
            for module in _imported(code, function.__globals__.get("__package__")):
                self.value(module, _DEPTH)
        for name, *attributes in _paths(code):
            if name in cells:
                cell = cells[name]
                found = _contents(cell)
                if not ours:
                    self._cells[id(cell)] = cell
            elif name in variables:
                found = variables[name]
                if not _is_public(name, found):
                    self._name(variables, name)
            else:
                if not ours:
                    self._no_names(variables, (name,))
                continue
            if found is not _ABSENT:
                self._follow(found, attributes)

    def _follow(self, value: object, attributes: Iterable[str]) -> None:
        """A variable's value, and the attributes of it that the code names."""
        self._found(value)
        for name in attributes:
            found = self._follow_one(value, name)
            if found is _ABSENT:
                return
            value = found

    def _follow_one(self, value: object, name: str) -> object:
        variables = self._holder(value, name)
        if variables is None:
            return _ABSENT
        self._name(variables, name)
        self._found(variables[name])
        return variables[name]

    def _found(self, value: object) -> None:
        if not isinstance(value, _PLAIN) and id(value) not in self._ids:
            self._ids.add(id(value))
            self._followed.append(value)
        if not isinstance(value, ModuleType):  # of which code names attributes
            self.value(value, _DEPTH)

    def _holder(self, value: object, name: str) -> Mapping[str, object] | None:
        """Where the attribute of a module, a class or an object is kept; None for others."""
        places: list[object]
        if isinstance(value, ModuleType):
            if _is_library(value.__name__):
                return None
            places = [value]
        elif is_users(value):
            classes = value.__mro__ if isinstance(value, type) else (value, *type(value).__mro__)
            places = [each for each in classes if is_users(each)]
        else:
            return None
        for each in places:
            variables = self._variables_of(each)
            if variables is not None and name in variables:
                return variables
            if variables is not None:
                self._no_names(variables, (name,))
        return None

    def _no_names(self, variables: Mapping[str, object], names: Iterable[str]) -> None:
        self._absent.setdefault(id(variables), (variables, set()))[1].update(names)

    def _name(self, variables: Mapping[str, object], name: str) -> None:
        if not isinstance(variables[name], ModuleType):
            self._names.setdefault(id(variables), (variables, {}))[1][name] = None

    def _class(self, cls: type, depth: int) -> None:
        """A class that code may call: its methods, and how its objects begin."""
        for each in cls.__mro__:
            if not _is_library(each.__module__):
                self._objects.append((each, depth))
                for name in ("__init__", "__post_init__"):
                    self.value(_method(vars(each).get(name)), depth)

    def _container(self, values: Any, depth: int) -> None:
        if isinstance(values, ContextVar):
            variable = cast("ContextVar[object]", values)
            self._contents.append(lambda: (variable.get(_ABSENT),))
            self.value(variable.get(_ABSENT), depth - 1)
            return
        if len(values) > _LARGEST:
            return
        if isinstance(values, _MAPPINGS):
            elements = cast("Mapping[object, object]", values)
            self._contents.append(lambda: (*elements, *elements.values()))
            inner = tuple(elements.values())
        else:
            inner = tuple(values)
            if not isinstance(values, (tuple, frozenset)):
                self._contents.append(lambda: tuple(values))
        for each in inner:
            self.value(each, depth - 1)

    def _array(self, values: Any) -> None:
        if isinstance(values, (array, bytearray)):
            if len(cast("bytearray", values)) <= _LARGEST:
                self._contents.append(lambda: (bytes(cast("bytearray", values)),))
        elif values.size <= _LARGEST:
            self._contents.append(lambda: (values.shape, str(values.dtype), values.tobytes()))

    def _instance(self, value: object, depth: int) -> None:
        if not _is_library(type(value).__module__):
            classes = (cls for cls in type(value).__mro__ if not _is_library(cls.__module__))
            self._objects += ((each, depth) for each in (value, *classes))


def _reader(variables: Mapping[str, object], names: tuple[str, ...]) -> _Read:
    get = cast("Callable[[object], Any]", itemgetter(*names))
    if len(names) == 1:
        return lambda: (get(variables),)
    return lambda: get(variables)


def _parts_of(value: object) -> tuple[object, ...] | None:
    """What a method, a partial function, a device function or an operation calls."""
    if isinstance(value, Func):
        return (value.body,)
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, partial):
        made = cast("partial[object]", value)
        return made.func, *made.args, *made.keywords.values()
    if isinstance(value, _Cached):
        return (value.__wrapped__,)
    return (getattr(value, "_function", None),) if _is_operation(value) else None


def _absence_reader(variables: Mapping[str, object], names: frozenset[str]) -> _Read:
    """Whether none of the names is bound."""
    keys = variables.keys()
    return lambda: (keys.isdisjoint(names),)


def _imported(code: CodeType, package: object) -> Iterator[ModuleType]:
    """The modules that code imports when it runs, and those that hold them."""
    for name in _import_names(code):
        for whole in (name, f"{package}.{name}" if name else package):
            parts = str(whole).split(".")
            for count in range(1, len(parts) + 1):
                module = sys.modules.get(".".join(parts[:count]))
                if module is not None:
                    yield module


@lru_cache(maxsize=_CODES)
def _import_names(code: CodeType) -> tuple[str, ...]:
    own = (each.argval for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME")
    inner = (_import_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return (*own, *(name for names in inner for name in names))


@lru_cache(maxsize=_CODES)
def _paths(code: CodeType) -> tuple[_Path, ...]:
    """The variables that code reads from outside, each with the attributes that follow: `a.b.c`."""
    found: dict[_Path, None] = {}
    path: _Path = ()
    for each in dis.get_instructions(code):
        if each.opname in _ATTRIBUTE and path:
            path = (*path, str(each.argval))
            continue
        if path:
            found[path] = None
        path = (str(each.argval),) if each.opname in _GLOBAL or each.opname in _FREE else ()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.update(dict.fromkeys(_paths(constant)))
    return tuple(found)


@lru_cache(maxsize=_CODES)
def _names(code: CodeType) -> frozenset[str]:
    """The names in code, those of attributes among them."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(code.co_names).union(*inner)


@lru_cache(maxsize=_CODES)
def _strings(code: CodeType) -> frozenset[str]:
    """The strings in code that may be names, also those in tuples of constants."""
    found: set[str] = set()
    pending: list[object] = [*code.co_consts]
    while pending:
        each = pending.pop()
        if isinstance(each, str) and each.isidentifier():
            found.add(each)
        elif isinstance(each, (tuple, frozenset)):
            pending += cast("tuple[object, ...]", each)
        elif isinstance(each, CodeType):
            found |= _strings(each)
    return frozenset(found)


def _attributes_of(value: object) -> Iterator[tuple[str, bool]]:
    """Attributes that an object, a class or a module itself has, and whether operators call them.

    Those that none calls count where some code names them.
    """
    if isinstance(value, type):
        for name, each in vars(value).items():
            if _method(each) is not None:
                yield name, name.startswith("__") and name not in _NOT_CALLED
            elif not isinstance(each, (MemberDescriptorType, GetSetDescriptorType)):
                yield name, False
        return
    own: Iterable[str] = _dict_of(value) or ()
    slots = (name for cls in type(value).__mro__ for name in _slots(cls))
    yield from ((name, False) for name in dict.fromkeys((*own, *slots)))


def _method(value: object) -> FunctionType | None:
    """The function of a method, whatever kind it is, or of a property."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, (staticmethod, classmethod)):
        value = cast("staticmethod[..., object]", value).__func__
    return value if isinstance(value, FunctionType) else None


def _dict_of(value: object) -> dict[str, object] | None:
    """What a module or an object has of its own; `hasattr` would call a `__getattr__`."""
    try:
        return cast("dict[str, object]", object.__getattribute__(value, "__dict__"))
    except AttributeError:
        return None


def _slots(cls: type) -> tuple[str, ...]:
    names = cast("str | tuple[str, ...]", vars(cls).get("__slots__", ()))
    return (names,) if isinstance(names, str) else tuple(names)


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return _ABSENT


def _is_equal(old: object, new: object) -> bool:
    """Whether one value or equal constants; NaN is NaN, and 0.0 is not -0.0."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, tuple):
        olds, news = cast("tuple[object, ...]", old), cast("tuple[object, ...]", new)
        return len(olds) == len(news) and all(map(_is_equal, olds, news))
    if _is_array(old):
        one, other = cast("Any", old), cast("Any", new)
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        return one.tobytes() == other.tobytes()
    return isinstance(old, _PLAIN) and repr(old) == repr(new)


def _is_public(name: str, value: object) -> bool:
    """Whether a name of the package under the name that it has there, which no program changes."""
    for module in ("pyptx", "pyptx.types"):
        if vars(sys.modules[module]).get(name, _ABSENT) is value:
            return True
    return False


def _is_operation(value: object) -> bool:
    return type(value).__module__.startswith("pyptx._kernel.")


def _is_array(value: object) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "tobytes")


@lru_cache(maxsize=_CODES)
def _is_library(module: str | None) -> bool:
    """Whether a module is Python's or a framework's: their variables are not the program's."""
    package = (module or "builtins").partition(".")[0]
    return package in sys.stdlib_module_names or package in FRAMEWORKS
