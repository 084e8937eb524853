"""One specialised kernel, ready to run: what a runtime takes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from pyptx.assemble import Cubin
from pyptx.launch.plan import Plan
from pyptx.spec import Shape
from pyptx.target import Target

AUTO = "auto"
"""The `arch` of a kernel that is assembled for whatever it will run on."""


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that a kernel writes; `dtype` is NumPy's name of its type, `name` for findings."""

    shape: Shape
    dtype: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A kernel with its sizes fixed, comparable and hashable by content.

    `digest` stands for everything that `cubin` and `image` are made from: the PTX (of the default
    target where `arch` is "auto") and the assembler's options, but no Python lines. Two calls that
    compare equal give the same code for every target, so JAX's caches share their programs. The
    two providers serve lowering in the process that traced the kernel, and never a run: a compiled
    program carries their results.

    `inputs` names the input tensors for messages. `aliases` holds (input, output) pairs that share
    memory.
    """

    arch: str
    digest: str
    plan: Plan
    inputs: tuple[str, ...]
    outputs: tuple[Output, ...]
    aliases: tuple[tuple[int, int], ...] = ()
    cubin: Callable[[Target], Cubin] = field(compare=False, repr=False, kw_only=True)
    """The kernel assembled for a target. Raises AssembleError."""
    image: Callable[[], bytes] = field(compare=False, repr=False, kw_only=True)
    """The emulator's program image (docs/architecture.md). Raises EmulationError."""

    @property
    def name(self) -> str:
        """The kernel's PTX name."""
        return self.plan.kernel


def digest(*parts: str | bytes) -> str:
    """SHA-256 of the parts, each counted with its length, as hexadecimal text."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()
