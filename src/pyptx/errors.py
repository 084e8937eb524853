"""The shape of every error: where, what is wrong, what is legal there, how to write it."""

from __future__ import annotations

from typing import Self

from pyptx._source import UNKNOWN, SourceLocation


class PtxError(Exception):
    """Base of all pyptx errors.

    `problem` is one sentence. `location` is the user's line. `notes` are labelled lines such as
    ("legal here", ".rn .rz .rm .rp") or ("help", "ptx.inst.fma.rn.f32(...)").
    """

    def __init__(
        self,
        problem: str,
        *,
        location: SourceLocation | None = None,
        notes: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.problem = problem
        self.location = None if location == UNKNOWN else location
        self.notes = notes
        super().__init__(self.render())

    def at(self, location: SourceLocation) -> Self:
        """The same error at a line, for layers that do not know where the user is."""
        return type(self)(self.problem, location=location, notes=self.notes)

    def render(self) -> str:
        """The whole message: location and problem, the source line, then the labelled notes."""
        head = f"{self.location}: {self.problem}" if self.location else self.problem
        lines = [head]
        if self.location and self.location.text:
            lines.append(f"    {self.location.text}")
        lines += [f"  {label}: {text}" for label, text in self.notes]
        return "\n".join(lines)


class IsaError(PtxError):
    """An instruction that PTX does not have: spelling, modifiers, operands, target or version."""


class LanguageError(PtxError):
    """A wrong use of the language around instructions: registers, control flow, shared memory."""


class UnknownNameError(LanguageError, AttributeError):
    """A name that pyptx, or a part of its language, does not have."""


class SpecError(PtxError):
    """A kernel with specs, a grid, a block or dimensions that contradict each other."""


class CallError(PtxError):
    """A call with arrays that do not match the kernel: count, rank, shape or dtype."""


class AssembleError(PtxError):
    """The assembler is missing or rejected the PTX."""


class EmulationError(PtxError):
    """The emulated kernel made a mistake; `findings` has each one (emulator.Finding)."""

    findings: tuple[object, ...] = ()


class DeviceError(PtxError):
    """No usable GPU, driver or native library."""


class LanguageWarning(UserWarning):
    """A line of a kernel that is legal but seldom intended."""


class SharedVariableWarning(UserWarning):
    """A kernel of `from_ptx` has a copy of its own of a variable that it would share in CUDA."""
