"""Python's own errors at a line of a kernel's body, as errors of the language.

A name that `ptx`, `reg`, `smem` or a register does not have, a keyword that a function does not
take, a function of NumPy on a register: Python raises AttributeError and TypeError for these, which
a body may catch as usual. One that leaves the body becomes a LanguageError here.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Final, NoReturn

from pyptx._calls import call_error, nearest
from pyptx._cures import of_other_languages
from pyptx._source import SourceLocation, caller, is_users, raised_by_user
from pyptx._trace.core import refusals
from pyptx._trace.core.refusals import EXTREMES, FUNCTIONS
from pyptx._tracebacks import boundary
from pyptx.errors import LanguageError, UnknownNameError
from pyptx.types import u32

_PACKAGE: Final = "pyptx"
_LANGUAGE: Final = ("ptx", "reg", "smem")
_CALL: Final = re.compile(r"(?P<name>[\w.<>]+)\(\) (?P<what>(got |missing |takes ).*)")
_KEYWORD: Final = re.compile(r"unexpected keyword argument '(\w+)'")
_VALUES: Final = "pyptx._trace.core.values"
_MEMORY: Final = r"'(Tensor|Variable|SharedTile|Part)'"
NO_ARITHMETIC: Final = "memory has no arithmetic: a thread loads an element and computes with that"
NO_ARITHMETIC_OF_ARRAYS: Final = (
    "an array of registers has no arithmetic: a thread computes with each of them"
)
_REFUSED: Final = (
    (
        re.compile(rf"(unsupported|bad) operand type.*{_MEMORY}|not supported between.*{_MEMORY}"),
        NO_ARITHMETIC,
        "Y[i] = X[i] + W[i]   for each index i that the thread has",
    ),
    (
        re.compile(r"unsupported operand type\(s\) for @=?: .*'(Reg|Special|Not|RegArray)'"),
        "`@` has no instruction for registers: a thread multiplies numbers, and a warp matrices",
        "a * b, or ptx.mma.sync(...) of the fragments of two matrices",
    ),
    (
        re.compile(r"(unsupported|bad) operand type.*'RegArray'|not supported between.*'RegArray'"),
        NO_ARITHMETIC_OF_ARRAYS,
        "[v + 1.0 for v in a], or for i in range(len(a)): a[i] += 1.0",
    ),
    (
        re.compile(r"(unsupported|bad) operand type.*'Not'|not supported between.*'Not'"),
        "a predicate has no arithmetic: it holds or does not",
        "predicates have `&`, `|`, `^` and `~`; a number is ptx.inst.selp.s32(1, 0, p)",
    ),
    (
        re.compile(r"operand type\(s\) for divmod\(\).*'(Reg|Special|Pred)'"),
        "divmod has no instruction",
        "r // n and r % n",
    ),
    (
        re.compile(r"'(Reg|Special|Pred)' object (is not subscriptable|does not support item)"),
        "a register has no elements",
        "x = reg.array(f32, 4) has registers x[0] to x[3]; smem.alloc(f32, 4) is indexed by one",
    ),
    (
        re.compile(r"'DType' object is not callable"),
        "a type is not called: an instruction converts",
        "ptx.inst.cvt.rn.f32.u32(r), or reg.scalar(f32, init=1.0) for a number",
    ),
    (
        re.compile(r"'(Reg|Special|Pred)' object is not callable"),
        "a register is not called",
        "i = ptx.special.tid.x() is the register, so write i",
    ),
    (
        re.compile(rf"{_MEMORY} object cannot be interpreted as an integer"),
        "a tensor is no number: its sizes are its shape",
        "range(X.shape[0]), or ptx.range_(X.shape[0])",
    ),
    (
        re.compile(rf"object of type {_MEMORY} has no len"),
        "a tensor has no len(): its sizes are its shape",
        "X.shape[0]",
    ),
    (
        re.compile(r"type (Reg|Special) doesn't define __(round|trunc|floor|ceil)__"),
        "a register has no value while the kernel is traced, so Python cannot round it",
        "ptx.inst.cvt.rni.f32.f32(r) rounds to even, .rmi down, .rpi up and .rzi towards zero",
    ),
    (
        re.compile(r"unsupported format string passed to (Reg|Pred|Special|Tensor)\.__format__"),
        "a register has no value while the kernel is traced, so Python cannot format it",
        'ptx.printf("%d\\n", r)   prints when the kernel runs',
    ),
)
"""Messages of Python about our objects, what they mean, and what to write."""
_ELEMENT: Final = re.compile(r"only integers, slices .* are valid indices")
"""What NumPy and JAX say of an index that is none of their own."""
_UFUNC: Final = "does not support ufuncs"
_EXTREME: Final = re.compile(r"\.f?(?:max|min)(?:imum)?\(")


def explained(error: Exception, namespaces: Sequence[object]) -> LanguageError | None:
    """What an error of Python in a body means, None where it has nothing to do with us.

    `namespaces` are where the functions of the language are found: `ptx`, `reg`, `smem`.
    """
    if isinstance(error, TypeError) and _VALUES in str(error) and "jax" in sys.modules:
        where = _users_line(error.__traceback__)
        return where and LanguageError(
            "a register is no array, so JAX's functions do not take it",
            location=where,
            notes=(FUNCTIONS,),
        )
    if isinstance(error, IndexError) and _ELEMENT.search(str(error)):
        where = _users_line(error.__traceback__)
        return where and refusals.choice_by_register("an index in a register", u32).at(where)
    where = raised_by_user(error.__traceback__)
    if where is None:
        return None
    if isinstance(error, AttributeError) and str(error) == "__delitem__":
        return LanguageError(
            "an element of memory cannot be deleted",
            location=where,
            notes=(("help", "Y[i] = 0 stores a number"),),
        )
    if isinstance(error, AttributeError) and _is_ours(error.obj):
        return _no_name(error.obj, error.name or "such name", where)
    if not isinstance(error, TypeError):
        return None
    if _UFUNC in str(error):
        return LanguageError(
            "a register is no array, so NumPy's functions do not take it",
            location=where,
            notes=(("help", EXTREMES) if _EXTREME.search(where.text) else FUNCTIONS,),
        )
    if refused := _refused(str(error)):
        problem, help_ = refused
        return LanguageError(problem, location=where, notes=(("help", help_),))
    if found := _CALL.fullmatch(str(error)):
        if found["name"] == "Spelling.__call__":
            return _wrong_instruction(found["what"], where)
        return _wrong_call(found["name"], found["what"], where, namespaces)
    return None


def _refused(text: str) -> tuple[str, str] | None:
    """What an operation of Python means for our objects, and what to write; None for others."""
    for pattern, problem, help_ in _REFUSED:
        if pattern.search(text):
            return problem, help_
    return None


def unknown_name(
    called: str, module: str, names_of: Callable[[object], list[str]] | None = None
) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module that users write as `called`: the error for other names."""

    @boundary
    def missing(name: str) -> NoReturn:
        if name.startswith("__"):  # Python asks for these
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        owner = sys.modules[module]
        names = (names_of or public_names)(owner)
        body = called.partition(".")[0] in _LANGUAGE
        near = (body and of_other_languages(name)) or nearest(name, names)
        notes = (*near, ("names", " ".join(names)))
        package = hasattr(owner, "__path__") and name.isidentifier()
        if package and importlib.util.find_spec(f"{module}.{name}"):
            notes = (("help", f"import {module}.{name}"),)
        error = UnknownNameError(f"{called} has no {name}", location=caller(), notes=notes)
        error.name, error.obj = name, owner
        raise error

    return missing


def hash_of(self: object) -> int:
    """The hash of a register, for this package. Raises LanguageError where a user's line asks.

    A dict or a set would find the register, where the line means its value.
    """
    if is_users(sys._getframe(1)):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        raise LanguageError(
            "a register has no value while the kernel is traced, so it is no key of a dict or set",
            location=caller(),
            notes=(
                ("help", "ptx.where(r == 0, a, b) chooses by the value"),
                ("help", 'ptx.const(f32, name="table", init=[a, b])[r] is an element of a table'),
                ("help", "id(r) is a key that stands for the register itself"),
            ),
        )
    return object.__hash__(self)


def _is_ours(value: object) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else type(value).__module__
    return name.split(".")[0] == _PACKAGE


def _no_name(owner: object, name: str, where: SourceLocation) -> LanguageError:
    written = re.search(rf"([\w.]+)\.{re.escape(name)}\b", where.text)
    if isinstance(owner, ModuleType):
        called = written[1] if written else owner.__name__.rpartition(".")[2]
    else:
        called = f"{written[1]} ({type(owner).__name__})" if written else repr(owner)
    names = public_names(owner)
    return LanguageError(
        f"{called} has no {name}",
        location=where,
        notes=(
            *(of_other_languages(name) or nearest(name, names)),
            ("names", " ".join(names)),
        ),
    )


def public_names(owner: object) -> list[str]:
    """The names that a user may write after `owner.`."""
    if not isinstance(owner, ModuleType):
        return [name for name in dir(owner) if not name.startswith("_")]
    listed: Sequence[str] | None = getattr(owner, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and inspect.isroutine(value)
        and value.__module__ == owner.__name__
    )


def _users_line(traceback: TracebackType | None) -> SourceLocation | None:
    """The innermost line of the user, whatever that line has called."""
    found: SourceLocation | None = None
    while traceback is not None:
        if is_users(traceback.tb_frame):
            found = SourceLocation(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _wrong_instruction(what: str, where: SourceLocation) -> LanguageError:
    keyword = _KEYWORD.search(what)
    return LanguageError(
        f"an instruction has no keyword {keyword[1]}" if keyword else f"an instruction {what}",
        location=where,
        notes=(
            ("takes", "ptx.inst.add.rn.f32(*operands, pred=None)"),
            ("help", "modifiers are attributes: ptx.inst.add.rn.ftz.f32"),
        ),
    )


def _wrong_call(
    name: str, what: str, where: SourceLocation, namespaces: Sequence[object]
) -> LanguageError | None:
    """A call that Python could not bind: the nearest keyword and the signature."""
    found = {id(each): (path, each) for path, each in _functions(namespaces, name)}
    named = [(path, each) for path, each in found.values() if path in where.text]
    for path, function in named or found.values():
        return call_error(LanguageError, path, function, what, where)
    return None


def _functions(
    namespaces: Sequence[object], name: str
) -> Iterator[tuple[str, Callable[..., object]]]:
    """The functions of the language with this qualified name, each with how a user writes it."""
    pending = [(str(getattr(n, "__name__", "")).rpartition(".")[2], n) for n in namespaces]
    for prefix, owner in pending:
        for each in public_names(owner):
            value = getattr(owner, each)
            if isinstance(value, ModuleType):
                pending.append((f"{prefix}.{each}", value))
            elif callable(value) and getattr(value, "__qualname__", "") == name:
                yield f"{prefix}.{each}", value
            elif not callable(value) and _is_ours(value) and prefix.count(".") == 0:
                pending.append((f"{prefix}.{each}", value))
