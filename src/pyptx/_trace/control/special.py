"""`ptx.special`: an attribute path is a special register, a call makes it an operand of `mov`."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from pyptx._isa.special import SPECIAL
from pyptx._near import near_names
from pyptx._operands import SpecialRegister
from pyptx._source import caller
from pyptx._trace.core.context import current
from pyptx._trace.core.values import Special
from pyptx.errors import LanguageError


class Specials:
    """`ptx.special`: every special register; `ptx.special.tid.x()` is an operand for `mov`."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Specials:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._prefix}.{name}" if self._prefix else name
        if path not in SPECIAL and not _components(path):
            raise _no_component(self._prefix, name) if self._prefix else _no_special(name)
        return Specials(path)

    def _not_called(self, *_: object) -> NoReturn:
        example = self._prefix if self._prefix in SPECIAL else f"{self._prefix}.x"
        raise LanguageError(
            f"ptx.special.{self._prefix} is used without (), so it is no operand yet",
            location=caller(),
            notes=(("help", f"ptx.special.{example}()"),),
        )

    __ptx_operand__ = __bool__ = __int__ = __index__ = __float__ = __iter__ = _not_called
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _not_called
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _not_called
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = _not_called
    __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = __abs__ = _not_called
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _not_called  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    __hash__ = object.__hash__
    __array_ufunc__ = None

    def __call__(self) -> Special:
        entry = SPECIAL.get(self._prefix)
        if entry is None:
            raise LanguageError(
                f"%{self._prefix} has the components {_components(self._prefix)}",
                location=caller(),
                notes=(("help", f"ptx.special.{self._prefix}.x()"),),
            )
        current(f"ptx.special.{self._prefix}")
        return Special(SpecialRegister(self._prefix, entry.dtype))

    def __repr__(self) -> str:
        return f"ptx.special.{self._prefix}".rstrip(".")

    def __dir__(self) -> list[str]:
        return sorted(SPECIAL)


def _components(name: str) -> str:
    return " ".join(k.removeprefix(f"{name}.") for k in SPECIAL if k.startswith(f"{name}."))


def _no_component(name: str, component: str) -> LanguageError:
    components = _components(name)
    has = f"the components {components}" if components else "no components"
    example = f".{components[0]}()" if components else "()"
    return LanguageError(
        f"%{name} has {has}, and {component} is none",
        location=caller(),
        notes=(("help", f"ptx.special.{name}{example}"),),
    )


def _no_special(name: str) -> LanguageError:
    near = near_names(name, SPECIAL)
    known = dict.fromkeys(re.sub(r"(envreg|pm|_offset_)\d+", r"\1<n>", k) for k in SPECIAL)
    return LanguageError(
        f"PTX has no special register %{name}",
        location=caller(),
        notes=(
            *((("nearest", " ".join(f"ptx.special.{n}()" for n in near)),) if near else ()),
            ("special registers", " ".join(dict.fromkeys(k.split(".")[0] for k in known))),
        ),
    )


special: Final = Specials()
