"""What kernels and functions of one module share while they are traced."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyptx._ir import Function
from pyptx._isa.model import ANY_VERSION
from pyptx._operands import Variable
from pyptx._source import caller
from pyptx._target import PtxVersion, Target
from pyptx.errors import LanguageError

_ONCE = "declare it once, outside of the kernels, and name that"


class Declared(Protocol):
    """What becomes a variable of the module once something names it."""

    @property
    def variable(self) -> Variable: ...

    def require(self, scope: ModuleScope) -> None:
        """Bring in what the initial value names."""
        ...


class DeviceFunction(ABC):
    """A device function, which becomes one of the module once something names it."""

    name: str

    @abstractmethod
    def traced(self, scope: ModuleScope, target: Target, version: PtxVersion | None) -> Function:
        """The function; what it names is brought into the module too."""


@dataclass
class ModuleScope:
    """The variables and functions that have been named so far, by their names, and options.

    `kernel` is the kernel's name, `needed` the PTX version that the functions need.
    """

    kernel: str | None = None
    needed: PtxVersion = ANY_VERSION
    variables: dict[str, tuple[Declared, Variable]] = field(
        default_factory=dict[str, "tuple[Declared, Variable]"]
    )
    functions: dict[str, DeviceFunction] = field(default_factory=dict[str, DeviceFunction])
    options: list[str] = field(default_factory=list[str])

    def variable(self, declared: Declared) -> Variable:
        """The variable of the module. Raises LanguageError where another one has its name."""
        name = declared.variable.name
        known = self.variables.get(name)
        if known is None:
            self._free(name)
            declared.require(self)  # what an initial value names is declared above it
            made = replace(declared.variable, index=len(self.variables))
            known = self.variables[name] = declared, made
        if known[0] is not declared:
            raise _taken(name)
        return known[1]

    def function(self, function: DeviceFunction) -> None:
        """Bring a function into the module. Raises LanguageError where something has its name."""
        if function.name not in self.functions:
            self._free(function.name)
            self.functions[function.name] = function
        if self.functions[function.name] is not function:
            raise _taken(function.name)

    def _free(self, name: str) -> None:
        if name == self.kernel:
            raise _taken(name, "one of them is the kernel: give it or the other another name")
        if name in self.variables or name in self.functions:
            raise _taken(name)

    def traced(self, target: Target, version: PtxVersion | None) -> tuple[Function, ...]:
        """All functions, and those that they name, in the order in which they are named."""
        done: dict[str, Function] = {}
        while missing := [f for f in self.functions.values() if f.name not in done]:
            for function in missing:
                done[function.name] = function.traced(self, target, version)
        return tuple(sorted(done.values(), key=lambda function: function.body is not None))


def _taken(name: str, help_: str = _ONCE) -> LanguageError:
    return LanguageError(
        f"two things of the module are called {name}",
        location=caller(),
        notes=(("help", help_),),
    )
