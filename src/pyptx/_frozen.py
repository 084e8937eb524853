"""Makes many frozen objects in little time: a large kernel is hundreds of thousands of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final, TypeVar

T = TypeVar("T")

_MANY: Final = 50_000
"""New objects that are worth more than a look at their number."""


def constructor(kind: Callable[..., T]) -> Callable[..., T]:
    """A constructor of a frozen dataclass with slots that takes a third of the time.

    It takes all fields that `__init__` takes, in order. A frozen class sets each field through
    `object.__setattr__`; here an object of a class with the same slots that is not frozen sets
    them, and then it becomes one of the frozen class, which the interpreter allows for classes
    whose slots are the same.
    """
    assert isinstance(kind, type)
    every = fields(kind)  # pyright: ignore[reportArgumentType]
    names = [field.name for field in every if field.init]
    others = {field.name: field.default for field in every if not field.init}
    opened = type(f"_Open{kind.__name__}", (), {"__slots__": tuple(f.name for f in every)})
    body = "".join(f"    made.{name} = {name}\n" for name in names)
    body += "".join(f"    made.{name} = others[{name!r}]\n" for name in others)
    source = (
        f"def make({', '.join(names)}):\n    made = new(opened)\n{body}"
        "    made.__class__ = kind\n    return made\n"
    )
    scope: dict[str, Any] = {
        "new": object.__new__, "opened": opened, "kind": kind, "others": others,
    }  # fmt: skip
    exec(source, scope)  # noqa: S102 (the names of fields, as in dataclasses themselves)
    return scope["make"]


@contextmanager
def uncollected() -> Generator[None]:
    """Without garbage collection, where almost all that is made is kept.

    Collections would look through it again and again; they take a quarter of the time of a parse.
    The first one behind it would look through all of it once more, so what is there is old at the
    end: to freeze and to unfreeze is to move it there, whatever its number. To count what someone
    else has frozen is not: it is done for many new objects only.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            new, *_ = gc.get_count()
            if new > _MANY and not gc.get_freeze_count():  # what someone else froze stays so
                gc.freeze()
                gc.unfreeze()
            gc.enable()
