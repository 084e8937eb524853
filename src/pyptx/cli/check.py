"""`pyptx check`: everything that can be known without running."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx.cli.console import show, table
from pyptx.cli.program import Sizes, require_sizes
from pyptx.kernel import Kernel


def check_kernels(kernels: Sequence[Kernel], sizes: Sizes, arch: str | None) -> None:
    """Trace, check and assemble each kernel; raises the first error."""
    made = table("", ("kernel", "target", "PTX", "registers>", "spilled>", "warnings"))
    for kernel in kernels:
        require_sizes(kernel, sizes)
        module = kernel.module(**sizes)
        cubin = kernel.cubin(arch=arch, **sizes)
        spilled = cubin.spill_stores + cubin.spill_loads
        warnings = "; ".join(message.text for message in cubin.warnings) or "none"
        made.add_row(
            kernel.name,
            cubin.target,
            str(module.version),
            str(cubin.registers),
            str(spilled),
            warnings,
        )
    show(made)
