"""What a body appends, without the rest of a kernel around it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from pyptx import _assemble as assemble
from pyptx._ir import Directive, Instruction, Kernel, Module
from pyptx._target import Target
from pyptx._text import Names, instruction_text, write
from pyptx._trace.core.context import Trace, tracing
from pyptx._trace.core.names import root

_DECLARATION = re.compile(r"\s*\.(reg|shared|local) ")


@dataclass
class Traced:
    """A traced body: what it returned, its kernel, and its PTX."""

    result: object
    kernel: Kernel
    module: Module

    @property
    def instructions(self) -> list[str]:
        """The text of each instruction but the last `ret`."""
        names = Names(self.kernel)
        found = [s for s in self.kernel.body if isinstance(s, Instruction)]
        return [instruction_text(i, names).removesuffix(";") for i in found[:-1]]

    @property
    def body(self) -> list[str]:
        """The lines between the braces without declarations, labels included."""
        text = write(self.module).ptx
        lines = text[text.index("{\n") + 2 : text.rindex("}")].splitlines()
        return [line.strip() for line in lines if not _DECLARATION.match(line)]

    @property
    def text(self) -> str:
        return write(self.module).ptx

    def named(self, **registers: object) -> list[str]:
        """The instructions with the given names for registers."""
        names = Names(self.kernel)
        lines = self.instructions
        for name, value in registers.items():
            ptx = names.registers[value.register.index]
            lines = [re.sub(rf"{re.escape(ptx)}(?!\w)", name, line) for line in lines]
        return lines

    def assemble(self, target: str = "sm_90a") -> assemble.Cubin:
        return assemble.assemble(self.text, target)


Tracer = Callable[..., Traced]


@root  # as in the package: what calls the body is no part of the kernel
def trace_body(
    body: Callable[[], object],
    target: str = "sm_90a",
    version: object = None,
    directives: tuple[Directive, ...] = (),
) -> Traced:
    trace = Trace(Target.parse(target), version)
    with tracing(trace):
        result = body()
        kernel = replace(trace.finish("k"), directives=directives)
    needed = version or max(trace.needed, trace.target.version)
    return Traced(result, kernel, Module(needed, trace.target, (kernel,)))


@pytest.fixture(scope="session")
def traced() -> Tracer:
    """`traced(body)` runs a function as the body of a kernel that is not verified."""
    return trace_body
