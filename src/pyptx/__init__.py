"""pyptx: hand-written PTX kernels in Python: checked, assembled, launched, emulated."""

import sys as _sys
from types import ModuleType as _Module

from pyptx import _distribution as _distribution  # first: raises where another project's files are
from pyptx import device as device
from pyptx import types as types
from pyptx._kernel import ForeignKernel as ForeignKernel
from pyptx._kernel import In as In
from pyptx._kernel import Kernel as Kernel
from pyptx._kernel import KernelSequence as KernelSequence
from pyptx._kernel import Out as Out
from pyptx._kernel import Struct as Struct
from pyptx._kernel import Surface as Surface
from pyptx._kernel import Texture as Texture
from pyptx._kernel import cond as cond
from pyptx._kernel import from_ptx as from_ptx
from pyptx._kernel import kernel as kernel
from pyptx._kernel import lowered_for as lowered_for
from pyptx._kernel import sequence as sequence
from pyptx._layouts import Im2col as Im2col
from pyptx._layouts import L2Promotion as L2Promotion
from pyptx._layouts import Layout as Layout
from pyptx._layouts import OobFill as OobFill
from pyptx._runtime import collectives as collectives
from pyptx._runtime import export_safety_checks as export_safety_checks
from pyptx._runtime import register_with_jax as _register_with_jax
from pyptx._runtime import sanitize as sanitize
from pyptx._runtime import target as target
from pyptx._spec import Scalar as Scalar
from pyptx._spec import Tile as Tile
from pyptx._trace import ptx as ptx
from pyptx._trace import reg as reg
from pyptx._trace.core.mistakes import unknown_name as _unknown_name
from pyptx._trace.core.values import Pred as Pred
from pyptx._trace.core.values import Reg as Reg
from pyptx._trace.memory import smem as smem
from pyptx._trace.memory.mbarrier import Mbarrier as Mbarrier
from pyptx._trace.memory.mbarrier import Mbarriers as Mbarriers
from pyptx._trace.memory.smem import SharedTile as SharedTile
from pyptx._trace.tensors.tensor import Tensor as Tensor
from pyptx._trace.tensors.tensor_map import TensorMapReg as TensorMapReg
from pyptx.errors import AssembleError as AssembleError
from pyptx.errors import CallError as CallError
from pyptx.errors import DeviceError as DeviceError
from pyptx.errors import EmulationError as EmulationError
from pyptx.errors import IsaError as IsaError
from pyptx.errors import LanguageError as LanguageError
from pyptx.errors import LanguageWarning as LanguageWarning
from pyptx.errors import PtxError as PtxError
from pyptx.errors import SpecError as SpecError

__version__ = "0.1.0"


def _exported(module: object) -> list[str]:
    """The names of a module that users write; of modules in it, those of the language."""
    modules = (device, ptx, reg, smem, types)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (not isinstance(value, _Module) or value in modules)
    )


def __dir__() -> list[str]:
    """The public names alone."""
    return [*_exported(_sys.modules[__name__]), "__version__"]


for _name in ("pyptx", "pyptx.device", "pyptx.types"):
    vars(_sys.modules[_name])["__getattr__"] = _unknown_name(_name, _name, _exported)
for _module in (ptx, reg, smem):  # `from pyptx.smem import alloc`
    _sys.modules[f"pyptx.{_module.__name__.rpartition('.')[2]}"] = _module
_register_with_jax()  # so that a program that holds kernels runs wherever pyptx is imported
