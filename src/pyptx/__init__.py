"""pyptx: PTX kernels written by hand in Python: checked, assembled, run from JAX, emulated."""

from pyptx import device as device
from pyptx import types as types
from pyptx.errors import AssembleError as AssembleError
from pyptx.errors import CallError as CallError
from pyptx.errors import DeviceError as DeviceError
from pyptx.errors import EmulationError as EmulationError
from pyptx.errors import IsaError as IsaError
from pyptx.errors import LanguageError as LanguageError
from pyptx.errors import LanguageWarning as LanguageWarning
from pyptx.errors import PtxError as PtxError
from pyptx.errors import SpecError as SpecError
from pyptx.kernel import ForeignKernel as ForeignKernel
from pyptx.kernel import In as In
from pyptx.kernel import Kernel as Kernel
from pyptx.kernel import KernelSequence as KernelSequence
from pyptx.kernel import Out as Out
from pyptx.kernel import Struct as Struct
from pyptx.kernel import cond as cond
from pyptx.kernel import from_ptx as from_ptx
from pyptx.kernel import kernel as kernel
from pyptx.kernel import lowered_for as lowered_for
from pyptx.kernel import sequence as sequence
from pyptx.layouts import Im2col as Im2col
from pyptx.layouts import L2Promotion as L2Promotion
from pyptx.layouts import Layout as Layout
from pyptx.layouts import OobFill as OobFill
from pyptx.runtime import collectives as collectives
from pyptx.runtime import export_safety_checks as export_safety_checks
from pyptx.runtime import register_with_jax as _register_with_jax
from pyptx.runtime import target as target
from pyptx.spec import Scalar as Scalar
from pyptx.spec import Tile as Tile
from pyptx.trace import ptx as ptx
from pyptx.trace import reg as reg
from pyptx.trace import smem as smem
from pyptx.trace.mbarrier import Mbarrier as Mbarrier
from pyptx.trace.mbarrier import Mbarriers as Mbarriers
from pyptx.trace.smem import SharedTile as SharedTile
from pyptx.trace.tensor import Tensor as Tensor
from pyptx.trace.tensor_map import TensorMapReg as TensorMapReg
from pyptx.trace.values import Pred as Pred
from pyptx.trace.values import Reg as Reg

__version__ = "0.1.0"

_register_with_jax()  # so that a program that holds kernels runs wherever pyptx is imported
