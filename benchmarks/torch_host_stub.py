"""Host time of calls in PyTorch on a machine without a GPU: `python benchmarks/torch_host_stub.py`.

The driver is a stub that launches nothing (stub_cuda.c, compiled by cc), and tensors on the CPU are
taken for tensors of a GPU. So everything of a call is timed but the driver and the allocator of a
GPU's memory; PyTorch's own operators compute, so they are no comparison here. For finding where
time goes, and not for the results: those are torch_host's, on a GPU.
"""

# PyTorch is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportPrivateUsage=false
# ruff: noqa: SLF001

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import torch

SOURCE: Final = Path(__file__).with_name("stub_cuda.c")
ROWS: Final = 8
COLUMNS: Final = 1024
EPS: Final = 1e-5
CALLS: Final = 2000
ROUNDS: Final = 7


def main() -> None:
    """Time every kind of call, the fastest of several rounds each."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libcuda.so.1"
        flags = ["-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
        subprocess.run(["cc", *flags, str(SOURCE), "-o", str(library)], check=True)
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    use_the_cpu()
    for name, run in functions().items():
        run()
        run()
        best = min(timeit.repeat(run, number=CALLS, repeat=ROUNDS)) / CALLS
        print(f"{best * 1e6:8.2f} us  {name}")


def use_the_cpu() -> None:
    """Take tensors on the CPU for tensors of the stub's device."""
    from pyptx._runtime.torch import execution, fast  # after the stub is loaded

    made: Any = execution.Launcher.__init__

    def on_the_cpu(self: Any, ready: Any, shapes: Sequence[Any], index: int) -> None:
        made(self, ready, shapes, index)
        self._device = torch.device("cpu")

    for module, name, value in (
        (execution.Launcher, "__init__", on_the_cpu),
        (execution, "_raw_stream", lambda index: 0 * index),
        (execution, "_check", lambda call, tensors: torch.device("cuda", 0)),  # noqa: ARG005
        (fast, "allocate", torch._C._dynamo.guards._empty_strided_cpu),
        (torch.cuda, "get_device_capability", lambda device=0: (9, 0 * device)),
        (torch.Tensor, "get_device", lambda self: 0),  # noqa: ARG005
    ):
        setattr(module, name, value)


def functions() -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    import pyptx.torch as ours
    from pyptx.ops._rms_norm import RmsNorm
    from pyptx.ops.rowwise import plan
    from pyptx.types import bf16

    shape = (COLUMNS,)
    x, w = torch.randn(ROWS, COLUMNS).bfloat16(), torch.randn(COLUMNS).bfloat16()
    kernel: Any = plan.operation(RmsNorm(COLUMNS, bf16, bf16, EPS), shape)
    leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
    one = torch.ones((), requires_grad=True)

    def norm(x: Any, w: Any) -> Any:
        return ours.rms_norm(x, shape, w, EPS)

    compiled: Any = torch.compile(norm, fullgraph=True)
    nothing: Any = torch.compile(lambda x: x.view(COLUMNS, ROWS), fullgraph=True)
    return {
        "a kernel by hand": lambda: kernel(x, w),
        "rms_norm": lambda: norm(x, w),
        "rms_norm without weight": lambda: ours.rms_norm(x, shape, eps=EPS),
        "swiglu": lambda: ours.swiglu(x, leaf.detach()),
        "rms_norm, kept for a gradient": lambda: norm(leaf, weight),
        "rms_norm, with its gradient": lambda: torch.autograd.grad(
            norm(leaf, weight), (leaf, weight), x
        ),
        "a product with its gradient, by PyTorch": lambda: torch.autograd.grad(one * one, one),
        "rms_norm, compiled": lambda: compiled(x, w),
        "a view, compiled": lambda: nothing(x),
        "an allocation of the result": lambda: torch.empty_like(x),
    }


if __name__ == "__main__":
    main()
