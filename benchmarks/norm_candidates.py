"""Everything that computes RMS normalization here, on the same tensors: pyptx and its peers.

A peer's forward is its call without derivatives. A peer's backward in PyTorch is autograd's
backward of one forward call made before. XLA's backward is the jitted vjp of (g, x, weight), which
computes the reciprocal root again: faster than handing it what a jitted forward would save.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import jax
import jax.numpy as jnp
import torch
from norm_cases import (
    BACKWARD,
    COMPILE,
    EAGER,
    FORWARD,
    LIGER,
    NATIVE,
    OURS,
    QUACK,
    TRITON,
    XLA,
    Operation,
    Shape,
)
from norm_check import invvar

EPS: Final = 1e-5
DTYPES: Final = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
OPERATION: Final = "pyptx.ops"
NEEDS: Final = {TRITON: "triton", LIGER: "liger_kernel", QUACK: "quack"}
"""Packages of peers that may be missing."""
FULL_TUNING: Final = "max-autotune-no-cudagraphs"

Call = Callable[[], Any]
Variants = Mapping[str, Call]


@dataclass(frozen=True, slots=True)
class Tensors:
    """Random tensors of one shape, and JAX's view of the same memory."""

    x: Any
    w: Any
    g: Any
    invvar: Any
    target: Any

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """x, weight, g and invvar as JAX arrays that share the tensors' memory."""
        x, w, g, r = (jax.dlpack.from_dlpack(t) for t in (self.x, self.w, self.g, self.invvar))
        return x, w, g, r


def random_tensors(shape: Shape, device: str = "cuda", seed: int = 0) -> Tensors:
    """Normally distributed x, weight and g; the copy's target is not set."""
    generator = torch.Generator(device).manual_seed(seed)
    how: Any = {"generator": generator, "device": device, "dtype": DTYPES[shape.dtype]}
    x, g = (torch.randn(shape.rows, shape.columns, **how) for _ in range(2))
    w = torch.randn(shape.columns, **how)
    return Tensors(x, w, g, invvar(x, EPS), torch.empty_like(x))


def as_tensor(array: Any) -> Any:
    """A result of either framework as a PyTorch tensor, without a copy."""
    return array if isinstance(array, torch.Tensor) else torch.from_dlpack(array)


def copying(tensors: Tensors) -> Call:
    """The copy of x. Raises ValueError where it does not copy."""
    tensors.target.copy_(tensors.x)
    if not torch.equal(tensors.target, tensors.x):
        raise ValueError("the copy is wrong")
    return lambda: tensors.target.copy_(tensors.x)


# ---- pyptx ---------------------------------------------------------------------------------------


def ours(tensors: Tensors, direction: str) -> Variants:
    """The product, jitted: y alone forward; both gradients of a given invvar backward."""
    module = importlib.import_module(OPERATION)
    return jitted({FORWARD: module.rms_norm, BACKWARD: module.rms_norm_bwd}[direction],
                  tensors, direction)  # fmt: skip


def given(tensors: Tensors, operation: Operation) -> Variants:
    """A variant named on the command line, jitted."""
    return jitted(load_function(operation), tensors, operation.direction)


def load_function(operation: Operation) -> Callable[..., Any]:
    """The function, from a module or from a file ending in .py."""
    module = (
        module_of_file(Path(operation.module))
        if operation.module.endswith(".py")
        else importlib.import_module(operation.module)
    )
    return getattr(module, operation.function)


def module_of_file(path: Path) -> ModuleType:
    """A Python file as a module, loaded once."""
    name = f"operation_{path.resolve()}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def jitted(function: Callable[..., Any], tensors: Tensors, direction: str) -> Variants:
    """A function of JAX arrays under jit, called and waited for."""
    x, w, g, r = tensors.arrays
    if direction == FORWARD:
        run, arguments = jax.jit(lambda x, w: function(x, w, EPS)), (x, w)
    else:
        run, arguments = jax.jit(lambda g, r, x, w: function(g, r, x, w, EPS)), (g, r, x, w)
    return {"": lambda: jax.block_until_ready(run(*arguments))}


# ---- XLA -----------------------------------------------------------------------------------------


def jnp_rms_norm(x: Any, w: Any, eps: float = EPS) -> Any:
    """The formula in jax.numpy, in f32, rounded once at the end."""
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + eps)
    return (wide * scale * w.astype(jnp.float32)).astype(w.dtype)


def xla(tensors: Tensors, direction: str) -> Variants:
    """The formula compiled by XLA alone, or its vjp."""

    def vjp(g: Any, _r: Any, x: Any, w: Any, _eps: float) -> Any:
        return jax.vjp(jnp_rms_norm, x, w)[1](g)

    return jitted({FORWARD: jnp_rms_norm, BACKWARD: vjp}[direction], tensors, direction)


# ---- PyTorch -------------------------------------------------------------------------------------


def torch_rms_norm(x: Any, w: Any) -> Any:
    """The formula in PyTorch, in f32, rounded once at the end."""
    wide = x.float()
    scale = torch.rsqrt((wide * wide).mean(-1, keepdim=True) + EPS)
    return (wide * scale * w.float()).to(w.dtype)


def five_operations(x: Any, w: Any) -> Any:
    """The formula in PyTorch, in x's dtype throughout."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * w


def native(x: Any, w: Any) -> Any:
    """PyTorch's own operation."""
    return torch.nn.functional.rms_norm(x, w.shape, w, EPS)


def in_torch(
    function: Callable[[Any, Any], Any], tensors: Tensors, direction: str
) -> dict[str, Call]:
    """The function without derivatives, or autograd's backward of it."""
    if direction == FORWARD:

        def call() -> Any:
            with torch.no_grad():
                return function(tensors.x, tensors.w)

        return {"": call}
    x, w = (tensor.detach().requires_grad_() for tensor in (tensors.x, tensors.w))
    y = function(x, w)
    return {"": lambda: torch.autograd.grad(y, (x, w), tensors.g, retain_graph=True)}


def compiled(mode: str) -> Callable[[Tensors, str], Variants]:
    """torch.compile in a mode, for these shapes alone.

    PyTorch gives up on a function that it has compiled for too many shapes, so somebody has to
    forget them after each; and a backward whose buffers are donated cannot be called twice.
    """

    def build(tensors: Tensors, direction: str) -> Variants:
        config: Any = importlib.import_module("torch._functorch.config")
        config.donated_buffer = False
        function: Any = torch.compile(torch_rms_norm, dynamic=False, fullgraph=True, mode=mode)
        return in_torch(function, tensors, direction)

    return build


def forget_compiled() -> None:
    """Let torch.compile begin anew, where it was used."""
    if "torch._dynamo" in sys.modules:
        torch.compiler.reset()


def triton_rows(tensors: Tensors, _direction: str) -> Variants:
    """Our own Triton kernel; forward only."""
    from norm_triton import row_kernels

    return row_kernels(tensors.x, tensors.w, EPS)


def liger(tensors: Tensors, direction: str) -> Variants:
    """Liger's function, which leaves g as it is."""
    function: Any = importlib.import_module("liger_kernel.ops.rms_norm").LigerRMSNormFunction
    offset, casting_mode, in_place = 0.0, "llama", False
    return in_torch(
        lambda x, w: function.apply(x, w, EPS, offset, casting_mode, in_place), tensors, direction
    )


def quack(tensors: Tensors, direction: str) -> Variants:
    """quack's function."""
    operation: Any = importlib.import_module("quack").rmsnorm
    return in_torch(lambda x, w: operation(x, w, eps=EPS), tensors, direction)


def peers(mode: str = FULL_TUNING) -> dict[str, Callable[[Tensors, str], Variants]]:
    """How each peer is built for tensors and a direction."""
    return {
        NATIVE: lambda t, d: in_torch(native, t, d),
        COMPILE: compiled(mode),
        TRITON: triton_rows,
        XLA: xla,
        EAGER: lambda t, d: in_torch(five_operations, t, d),
        LIGER: liger,
        QUACK: quack,
    }


FORWARD_ONLY: Final = (TRITON, EAGER)


def absent() -> dict[str, str]:
    """Peers whose packages are not installed, and which those are."""
    return {
        peer: package
        for peer, package in NEEDS.items()
        if importlib.util.find_spec(package) is None
    }


def builders(
    names: tuple[str, ...], operations: tuple[Operation, ...], direction: str, mode: str
) -> dict[str, Callable[[Tensors], Variants]]:
    """What is timed in a direction: the named candidates that exist, then the given variants."""
    known = {OURS: ours, **peers(mode)}
    missing = absent()
    chosen: dict[str, Callable[[Tensors], Variants]] = {
        name: lambda tensors, build=known[name]: build(tensors, direction)
        for name in names
        if name not in missing and not (direction == BACKWARD and name in FORWARD_ONLY)
    }
    for operation in operations:
        if operation.direction == direction:
            chosen[operation.name] = lambda tensors, o=operation: given(tensors, o)
    return chosen
