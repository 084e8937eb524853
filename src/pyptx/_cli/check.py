"""`pyptx check`: everything that can be known without running."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx._cli.console import show_table
from pyptx._cli.program import Sizes, require_sizes, sizes_of_each
from pyptx._kernel import Kernel


def check_kernels(kernels: Sequence[Kernel], sizes: Sizes, arch: str | None) -> None:
    """Trace, check and assemble each kernel, for the sizes that it has; raises the first error."""
    each = zip(kernels, sizes_of_each(kernels, sizes), strict=True)
    columns = ("kernel", "target", "PTX", "registers>", "spilled>", "warnings")
    show_table("", columns, [check_kernel(kernel, own, arch) for kernel, own in each])


def check_kernel(kernel: Kernel, sizes: Sizes, arch: str | None) -> tuple[str, ...]:
    """The row of one kernel. Raises what is wrong with it."""
    require_sizes(kernel, sizes)
    module = kernel.module(arch=arch, **sizes)
    cubin = kernel.cubin(arch=arch, **sizes)
    spilled = cubin.spill_stores + cubin.spill_loads
    warnings = "; ".join(message.text for message in cubin.warnings) or "none"
    version, registers = str(module.version), str(cubin.registers)
    return (kernel.name, cubin.target, version, registers, str(spilled), warnings)
