"""What of the user's Python keeps values: lists, dicts, objects, variables of functions.

A run-time block is traced once, so a change that Python makes to any of them in it is a change for
all threads and rounds. `holders` finds them from a name; `slots` judges what changed.
"""

from __future__ import annotations

import dis
import warnings
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, cycle, islice
from operator import is_not
from types import CellType, CodeType, FunctionType, GeneratorType, MethodType
from typing import Final, Protocol, TypeAlias, cast

from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.users import is_users
from pyptx._trace.core.values import Reg, Value, is_same

PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))
_NO_HOLDERS: Final = (*PLAIN, Value, RegArray)
"""What holds nothing, or registers that the language itself follows."""
_DEPTH: Final = 3
_LARGEST: Final = 4096
"""Elements of a list or dict that is looked into: larger ones are tables of constants."""
_ABSENT: Final = object()
_POSITION: Final = object()
_ITERATORS: Final = frozenset(
    {
        *map(type, (iter([]), iter(()), iter({}), iter(range(0)), reversed([]), iter(""))),
        *(enumerate, filter, map, zip, chain, cycle, islice, GeneratorType),
    }
)
"""Iterators whose position can be read; one that counts may only number names."""
_CODES: Final = 512
_NUMBERS: Final = (bool, int, float)
_FEW: Final = 256
"""Elements of an array of numbers that is looked into."""

_Held: TypeAlias = "list[object] | dict[object, object]"


@dataclass(frozen=True, slots=True)
class Slot:
    """An element, attribute or variable that a block gave another value; `name` leads to it."""

    name: str
    spelled: str
    old: object
    new: object
    iterator: bool = False
    """Whether it is the position of an iterator."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A list, dict, object or function, and what it held when the block began."""

    holder: object
    held: _Held
    name: str
    spelled: str
    read: Callable[[object], _Held]

    def replaced(self) -> Iterator[Slot]:
        """The elements that hold something else now; what was added or removed is none."""
        now = self.read(self.holder)
        if isinstance(self.held, list):
            if not any(map(is_not, self.held, now)):
                return
            pairs = enumerate(zip(self.held, now, strict=False))
            for i, (old, new) in pairs:
                if not (is_same(new, old) or _is_same_number(old, new)):
                    yield Slot(self.name, f"{self.spelled}[{i}]", old, new)
            return
        elements = cast("dict[object, object]", now)
        if _POSITION in self.held:
            if elements[_POSITION] != self.held[_POSITION]:
                yield Slot(self.name, self.spelled, None, None, iterator=True)
            return
        is_dict = isinstance(self.holder, dict)
        for key, old in self.held.items():
            new = elements.get(key, old)
            if not is_same(new, old):
                yield Slot(self.name, self.spell(key, is_dict), old, new)

    def kept(self, values: Container[int]) -> Iterator[tuple[str, object]]:
        """The elements that are the same object as before, of those with these identities."""
        now = self.read(self.holder)
        if isinstance(self.held, list):
            for i, (old, new) in enumerate(zip(self.held, now, strict=False)):
                if new is old and id(old) in values:
                    yield f"{self.spelled}[{i}]", old
            return
        elements, is_dict = cast("dict[object, object]", now), isinstance(self.holder, dict)
        for key, old in self.held.items():
            if id(old) in values and elements.get(key) is old:
                yield self.spell(key, is_dict), old

    def spell(self, key: object, is_dict: bool) -> str:
        """An element as the user writes it."""
        if is_dict:
            return f"{self.spelled}[{key!r}]"
        if isinstance(self.holder, FunctionType) and key not in vars(self.holder):
            return str(key)  # a variable, as the function writes it
        return f"{self.spelled}.{key}"

    def renewed(self) -> Iterator[tuple[object, object]]:
        """The registers that an in-place operator wrote, as the objects of before and of now."""
        now = self.read(self.holder)
        if isinstance(self.held, list):
            pairs = list(zip(self.held, now, strict=False))
        else:
            elements = cast("dict[object, object]", now)
            pairs = [(old, elements.get(key)) for key, old in self.held.items()]
        yield from ((a, b) for a, b in pairs if a is not b and is_same(a, b))

    def added(self) -> list[object]:
        """Elements of a list or set, or registers as keys of a dict, that are there only now."""
        return _others(self._elements(self.read(self.holder)), self._elements(self.held))

    def removed(self) -> list[object]:
        """Those that were there only before."""
        return _others(self._elements(self.held), self._elements(self.read(self.holder)))

    def resized(self) -> Slot | None:
        """The length of a list or set to which only numbers were added, or only numbers removed."""
        if self.read is not _sequence:
            return None
        others = [*self.added(), *self.removed()]
        old, new = len(self.held), len(self.read(self.holder))
        if old == new or not all(isinstance(each, _NUMBERS) for each in others):
            return None
        return Slot(self.name, f"len({self.spelled})", old, new)

    def shrunk(self) -> Slot | None:
        """The length of a list or set that has fewer elements than before."""
        old, new = len(self.held), len(self.read(self.holder))
        if self.read is not _sequence or new >= old:
            return None
        return Slot(self.name, f"len({self.spelled})", old, new)

    def _elements(self, held: _Held) -> list[object]:
        if isinstance(held, list):
            return held
        return [value for key, value in held.items() if isinstance(key, Value)]


def _is_same_number(old: object, new: object) -> bool:
    """Whether equal numbers: those of an array are new objects each time."""
    return type(old) is type(new) and isinstance(old, _NUMBERS) and old == new


def _others(these: list[object], those: list[object]) -> list[object]:
    if len(these) == len(those) and not any(map(is_not, these, those)):
        return []
    known = set(map(_identity, those))
    return [each for each in these if _identity(each) not in known]


def _identity(value: object) -> int:
    """What two objects of one register have in common."""
    return id(value.register if isinstance(value, Reg) else value)


def holders(value: object, name: str) -> list[Holder]:
    """What can hold registers under a name of the user."""
    found: list[Holder] = []
    if not isinstance(value, _NO_HOLDERS):
        _find(value, name, name, _DEPTH, found)
    return found


def global_names(code: CodeType, known: Mapping[str, object]) -> Iterator[str]:
    """Variables of the module that a function binds, or that are the user's and that it names."""
    for name in _stored_globals(code):
        if name in known:
            yield name
    for name in code.co_names:
        value = known.get(name)
        if value is not None and is_users(value) and not isinstance(value, type):
            yield name


@lru_cache(maxsize=_CODES)
def _stored_globals(code: CodeType) -> tuple[str, ...]:
    """The variables of its module that a function binds: `global n; n = ...`."""
    return tuple(
        each.argval for each in dis.get_instructions(code) if each.opname == "STORE_GLOBAL"
    )


class _Kind(Protocol):
    @property
    def kind(self) -> str: ...


class _Array(Protocol):
    """NumPy's array of Python objects or of numbers: NumPy is not imported for it."""

    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> _Kind: ...
    def ravel(self) -> _Array: ...
    def tolist(self) -> list[object]: ...


def _find(value: object, name: str, spelled: str, depth: int, found: list[Holder]) -> None:
    """Append what can hold registers in a value that is not plain, and in what it holds."""
    if isinstance(value, tuple):
        inside = _numbered(cast("tuple[object, ...]", value), spelled)
    else:
        holder = _holder(value, name, spelled)
        if holder is None:
            return
        found.append(holder)
        inside = _inside(holder)
    if depth > 1:
        for each, where in inside:
            _find(each, name, where, depth - 1, found)


def _holder(value: object, name: str, spelled: str) -> Holder | None:
    read = _reader(value)
    if read is None:
        return None
    held = read(value)
    return Holder(value, held, name, spelled, read) if len(held) <= _LARGEST else None


def _inside(holder: Holder) -> Iterator[tuple[object, str]]:
    """What it held that can hold something in turn, and how the user writes that."""
    if isinstance(holder.held, list):
        yield from _numbered(holder.held, holder.spelled)
        return
    is_dict = isinstance(holder.holder, dict)
    for key, each in holder.held.items():
        if not isinstance(each, _NO_HOLDERS):
            yield each, holder.spell(key, is_dict)


def _numbered(values: Iterable[object], spelled: str) -> Iterator[tuple[object, str]]:
    for i, each in enumerate(values):
        if not isinstance(each, _NO_HOLDERS):
            yield each, f"{spelled}[{i}]"


def _reader(value: object) -> Callable[[object], _Held] | None:
    """What reads the elements of a value of the user; None where it can hold nothing of his."""
    if isinstance(value, (list, set, deque)):
        return _sequence
    if isinstance(value, dict):
        return _mapping
    if isinstance(value, FunctionType):
        return _function if is_users(value) else None
    if isinstance(value, MethodType):
        return _method if is_users(value) else None
    if isinstance(value, type):
        return _class if is_users(value) else None
    if type(value) in _ITERATORS:
        return _iterator
    if type(value).__module__ == "numpy" and hasattr(value, "flat"):
        array = cast("_Array", value)
        return _array if array.dtype.kind in "Obiuf" and array.size <= _FEW else None
    return _attributes if is_users(value) else None


def _sequence(value: object) -> list[object]:
    return list(cast("list[object]", value))


def _mapping(value: object) -> dict[object, object]:
    return dict(cast("dict[object, object]", value))


def _array(value: object) -> list[object]:
    return cast("_Array", value).ravel().tolist()


def _function(value: object) -> dict[object, object]:
    """Attributes, defaults that hold something, and the variables of functions around it."""
    function = cast("FunctionType", value)
    found: dict[object, object] = {**vars(function)}
    cells = cast("tuple[CellType, ...]", function.__closure__ or ())
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    for name in _stored_globals(function.__code__):
        if name in function.__globals__:
            found[name] = function.__globals__[name]
    for i, default in enumerate(cast("tuple[object, ...]", function.__defaults__ or ())):
        found[f"{function.__name__}.__defaults__[{i}]"] = default
    for name, default in (function.__kwdefaults__ or {}).items():
        found[f"{function.__name__}.__kwdefaults__[{name!r}]"] = default
    return found


def _iterator(value: object) -> dict[object, object]:
    return {_POSITION: _position(value, _DEPTH)}


def _position(value: object, depth: int) -> object:
    """What is another value once an iterator has given an element."""
    if isinstance(value, GeneratorType):
        generator = cast("GeneratorType[object, None, None]", value)
        if generator.gi_running:  # it has made the block itself, and gives its rounds
            return None
        frame = generator.gi_frame
        return frame and (frame.f_lasti, tuple(map(id, frame.f_locals.values())))
    if isinstance(value, (list, tuple, str)):
        return len(cast("list[object]", value))
    if isinstance(value, int) or depth == 0 or type(value) not in _ITERATORS:
        return value if isinstance(value, int) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of itertools, from Python 3.12 on
        try:
            _, inner, *state = cast("tuple[object, ...]", value.__reduce__())
        except TypeError:  # Python 3.14 has none for itertools
            return None
    parts = (*cast("tuple[object, ...]", inner), *state)
    return tuple(_position(each, depth - 1) for each in parts)


def _method(value: object) -> dict[object, object]:
    return {"__self__": cast("MethodType", value).__self__}


def _class(value: object) -> dict[object, object]:
    """What a class of the user holds: its functions are not looked into."""
    held: dict[str, object] = dict(vars(cast("type", value)))
    return {k: v for k, v in held.items() if k[:2] != "__" and not callable(v)}


def _attributes(value: object) -> dict[object, object]:
    found: dict[object, object] = {}
    for kind in type(value).__mro__[:-1]:
        names = cast("str | tuple[str, ...]", kind.__dict__.get("__slots__", ()))
        for slot in (names,) if isinstance(names, str) else names:
            held = getattr(value, slot, _ABSENT)
            if held is not _ABSENT:
                found[slot] = held
    if hasattr(value, "__dict__"):
        found.update(vars(value))
    return found
