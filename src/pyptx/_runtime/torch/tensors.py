"""Tensors of PyTorch as NumPy's arrays of the same memory, and their types by NumPy's names."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes  # noqa: F401  # NumPy learns bfloat16 and the 8-bit floats from it  # pyright: ignore[reportUnusedImport]
import numpy as np
import torch

from pyptx.errors import CallError
from pyptx.types import BY_NUMPY

NUMPY_NAMES: Final[dict[Any, str]] = {
    getattr(torch, name): name for name in BY_NUMPY if hasattr(torch, name)
}
"""NumPy's name of each type of PyTorch that kernels take: the two call them the same."""

DTYPES: Final[dict[str, Any]] = {name: dtype for dtype, name in NUMPY_NAMES.items()}

# What NumPy has no type of its own for is seen as integers of the same size on the way.
_FOREIGN: Final = frozenset(
    name for name in DTYPES if np.dtype(name).kind == "V" or "float8" in name
)


@dataclass(frozen=True, slots=True)
class Described:
    """What an operation reads of a tensor: its shape, and NumPy's name of its type."""

    shape: tuple[Any, ...]
    dtype: str


def dtype_name(dtype: Any) -> str:
    """NumPy's name of a type; PyTorch's where NumPy has none, for a message."""
    return NUMPY_NAMES.get(dtype) or str(dtype).removeprefix("torch.")


def as_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """The tensor, which is on the CPU, as an array of the same memory, where it has one."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    return np.asarray(_Memory(plain)).view(np.dtype(dtype_name(plain.dtype)))


class _Memory:
    """The memory of a tensor for NumPy. After `Tensor.numpy()` it could not be resized any more."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor  # which NumPy keeps with the array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        tensor = self.tensor
        size = tensor.element_size()
        return {
            "version": 3,
            "shape": tuple(tensor.shape),
            "strides": tuple(step * size for step in tensor.stride()),
            "typestr": f"<u{size}",
            "data": (tensor.data_ptr(), False),
        }


def as_tensor(array: np.ndarray[Any, Any]) -> Any:
    """A tensor of the array's memory."""
    name = array.dtype.name
    if name in _FOREIGN:
        bits = array.view(np.dtype(f"u{array.itemsize}"))
        return torch.from_numpy(bits).view(DTYPES[name])
    return torch.from_numpy(array)


def check_strides(tensors: Sequence[Any], names: Sequence[str], kernel: str) -> None:
    """Raises CallError for a tensor whose elements are not one after the other, row by row."""
    for tensor, name in zip(tensors, names, strict=True):
        if tensor.layout != torch.strided:
            layout = str(tensor.layout).removeprefix("torch.")
            raise CallError(
                f"{name} is a {layout} tensor, and kernel {kernel} reads every element",
                notes=(("help", f"pass {name}.to_dense()"),),
            )
        if not tensor.is_contiguous():
            wanted = torch.empty(tensor.shape, device="meta").stride()
            raise CallError(
                f"{name} has strides {tuple(tensor.stride())}, and kernel {kernel} reads a tensor "
                f"of shape {tuple(tensor.shape)} with strides {tuple(wanted)}",
                notes=(("help", f"pass {name}.contiguous(), which copies it"),),
            )


def device_of(tensors: Sequence[Any], names: Sequence[str]) -> Any:
    """The device that all of them are on. Raises CallError where two are not on one."""
    device = tensors[0].device
    for tensor, name in zip(tensors, names, strict=True):
        if tensor.device != device:
            raise CallError(
                f"{names[0]} is on {device} and {name} on {tensor.device}",
                notes=(("help", f"pass {name}.to({names[0]}.device)"),),
            )
    return device
