"""Which targets a kernel with `arch="auto"` is assembled for."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Final

from pyptx._calls import binding
from pyptx._source import caller
from pyptx._target import PTX_FOR_TARGET, TARGETS, Target
from pyptx.errors import DeviceError, SpecError

VARIABLE: Final = "PYPTX_TARGET"
DEFAULT: Final = Target(90, "a")
"""What "auto" means to the emulator where nothing names a target: it has no device to ask."""

_named: ContextVar[tuple[Target, ...]] = ContextVar("pyptx_target", default=())

hooks: Final[list[Callable[[str], AbstractContextManager[None]]]] = []
"""Entered with the names by `target`: runtimes with caches of their own separate them by it."""


@binding(SpecError, "pyptx.target")
def target(*names: str) -> AbstractContextManager[None]:
    """A context manager: inside it, kernels with `arch="auto"` are assembled for these targets.

    Use it where there is no device, or to override the targets of the devices. A program contains
    the code for every named target and runs on any of them. Raises SpecError for an unknown target.

        with pyptx.target("sm_90a", "sm_100a"):
            exported = jax.export.export(jax.jit(f), platforms=["cuda"], ...)(x)
    """
    if not names:
        raise SpecError(
            "pyptx.target() names no target", notes=(("help", 'pyptx.target("sm_90a")'),)
        )
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SpecError(
                f"pyptx.target takes names of targets, not {name!r}",
                location=caller(),
                notes=(("help", 'pyptx.target("sm_90a")'),),
            )
    return _naming(parse(" ".join(names), "pyptx.target"))


@contextmanager
def _naming(targets: tuple[Target, ...]) -> Generator[None]:
    if "jax" in sys.modules:
        importlib.import_module("pyptx._runtime.jax.runtime")  # adds its hook
    token = _named.set(targets)
    try:
        with ExitStack() as stack:
            for hook in hooks:
                stack.enter_context(hook(" ".join(map(str, targets))))
            yield
    finally:
        _named.reset(token)


def named() -> Target | None:
    """The first of those `chosen`, if there is one."""
    found = chosen()
    return found[0] if found else None


in_context: Final = _named.get
"""The targets of the innermost `target(...)`, empty without one: what a device is asked over."""


def chosen() -> tuple[Target, ...]:
    """The targets of the innermost `target(...)`, else of $PYPTX_TARGET; empty without either."""
    if found := _named.get():
        return found
    text = os.environ.get(VARIABLE)
    return parse(text, VARIABLE) if text else ()


def emulated() -> tuple[Target, ...]:
    """What the emulator runs kernels with `arch="auto"` as; empty where nothing names a target."""
    found = named()
    return () if found is None else (found,)


def parse(text: str, source: str) -> tuple[Target, ...]:
    """Targets from names with spaces or commas between, each once. Raises SpecError."""
    try:
        return tuple(dict.fromkeys(map(Target.parse, text.replace(",", " ").split())))
    except ValueError as error:
        raise SpecError(f"{source}: {error}") from None


def lowering_targets(arch: str, capabilities: Callable[[], Sequence[str]]) -> tuple[Target, ...]:
    """The targets to assemble for: the kernel's own; with "auto" those of `target(...)`, else of
    the devices present (`capabilities` lists theirs, "9.0"), else of $PYPTX_TARGET.

    Raises DeviceError where nothing says it.
    """
    if arch != "auto":
        return parse(arch, "arch=")
    if found := _named.get():
        return found
    if present := tuple(dict.fromkeys(map(for_capability, capabilities()))):
        return present
    if text := os.environ.get(VARIABLE):
        return parse(text, VARIABLE)
    raise DeviceError(
        'a kernel with arch="auto" is lowered for CUDA, and no GPU is here to take the target from',
        notes=(("help", f"lower it {_example()}, or set {VARIABLE}, or give the kernel arch="),),
    )


def for_capability(capability: str) -> Target:
    """The target that uses everything a device of this compute capability ("9.0") has.

    Raises DeviceError for a device older or newer than the targets known here.
    """
    major, _, minor = capability.partition(".")
    sm = int(major) * 10 + int(minor or 0)
    for candidate in (Target(sm, "a"), Target(sm)):
        if candidate in PTX_FOR_TARGET:
            return candidate
    known = " ".join(map(str, TARGETS))
    raise DeviceError(
        f"no known target for a device of compute capability {capability}",
        notes=(("known", known), ("help", f"lower it {_example()}")),
    )


def _example() -> str:
    return 'inside `with pyptx.target("sm_90a"):`'
