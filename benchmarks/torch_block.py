"""A training step of one transformer block in PyTorch: forward, loss and backward, compiled.

The block is a Llama's: RMS norm, attention with rotary positions, a norm of the sum, a SwiGLU MLP,
then logits and their cross entropy; queries, keys and values have a matrix each, as in Hugging
Face's model. The same block, with the same parameters, in several ways: with PyTorch's operators,
with those of `pyptx.torch`, the same with its matrix products too, and with Liger's where it is
installed. Attention is PyTorch's in all of them, and so are matrix products where not said.

Beside the time of a step, what the device spends in it on matrix products, on attention, and on
everything else: the last is what row-wise operations can save.
"""

# PyTorch is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownLambdaType=false

from __future__ import annotations

import importlib
import importlib.util
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from types import FunctionType
from typing import Any, Final

import torch
import torch.nn.functional as F  # noqa: N812
from block_sizes import FULL, Sizes
from device_time import profile
from measure import Bar, Result, no_collection, show, start, summarise
from torch._inductor.compile_fx import compile_fx

import pyptx.torch

OURS: Final = "pyptx.torch with its products, compiled"
THEIRS: Final = "PyTorch, compiled"
EPS: Final = 1e-5
ROUNDS: Final = 20
STEPS: Final = 10
PROFILES: Final = 4
MOST: Final = 30
"""Kernels of each kind that the results name."""
NAME: Final = 80
"""Letters of their names."""
LARGEST_DIFFERENCE: Final = 0.02
"""Of gradients in bf16: other orders of roundings change them by 0.7 % on an H200."""
LEAST_SAVED: Final = 0.05
"""Of a step's time, by the bar."""


@dataclass(frozen=True, slots=True)
class Operations:
    """What the ways differ in."""

    rms_norm: Callable[..., Any]
    add_rms_norm: Callable[..., Any]
    rope: Callable[..., Any]
    swiglu: Callable[..., Any]
    cross_entropy: Callable[..., Any]
    linear: Callable[..., Any] = F.linear
    gated: Callable[..., Any] | None = None
    """The first half of the MLP by one call, of x and the weights of gate and up."""
    one_graph: bool = True
    """Whether torch.compile takes all of it as one graph."""


def measure(device: dict[str, object], sizes: Sizes = FULL, rounds: int = ROUNDS) -> Result:
    """Check that losses and gradients agree, then time the ways in turns."""
    result = start(
        "torch_block", device, tokens=sizes.tokens, width=sizes.width, hidden=sizes.hidden,
        heads=sizes.heads, vocabulary=sizes.vocabulary, dtype="bf16", steps=STEPS, rounds=rounds,
        counted="wall-clock time of forward and backward, of several steps and one wait",
    )  # fmt: skip
    ids, labels = inputs(sizes, "cuda")
    models = {
        f"{name}, compiled": block(sizes, operations, "cuda", torch.bfloat16)
        for name, operations in ways().items()
    }
    steps = {name: step(model, ids, labels) for name, model in models.items()}
    losses = compared(models, steps)
    taken: dict[str, list[float]] = {name: [] for name in steps}
    with no_collection():
        for _ in range(rounds):
            for name, run in steps.items():
                taken[name].append(milliseconds(run))
    # Once more: steps that leave something wrong behind would have been timed with wrong data, and
    # a GPU at its limit of power multiplies zeros faster.
    losses = compared(models, steps)
    result.measurements = [
        summarise(name, "ms", times, loss=losses[name]) for name, times in taken.items()
    ]
    for name, run in steps.items():
        for part, each in parts(run).items():
            longest = sorted(each.kernels.items(), key=lambda item: -item[1])[:MOST]
            kernels = {kernel[:NAME]: round(us, 1) for kernel, us in longest}
            result.put(summarise(f"{name}: {part}", "us", each.times, kernels=kernels))
    saved = 1 - result.median(OURS) / result.median(THEIRS)
    name = "part of the step's time saved by pyptx's operations, products included"
    result.bars = [Bar(name, saved, LEAST_SAVED, "", at_least=True)]
    return result


def compared(models: dict[str, Block], steps: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The losses of all ways after a step; raises where one or a gradient is not PyTorch's."""
    losses = {name: float(run()) for name, run in steps.items()}
    for name, model in models.items():
        torch.testing.assert_close(losses[name], losses[THEIRS], rtol=2e-3, atol=2e-3, msg=name)
        apart = difference(model, models[THEIRS])
        if not apart < LARGEST_DIFFERENCE:
            raise RuntimeError(f"gradients of {name} are {apart:.1%} off those of {THEIRS}")
    return losses


def difference(model: Block, other: Block) -> float:
    """How far the gradient of a parameter is from that of another model, over its length; the
    largest of all, NaN if one is."""
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    found = ((a.grad.float(), b.grad.float()) for a, b in pairs)
    return float(torch.stack([(a - b).norm() / b.norm() for a, b in found]).max())


def inputs(sizes: Sizes, device: str) -> tuple[Any, Any]:
    """Tokens, and the ones that follow."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, sizes.vocabulary, (1, sizes.tokens + 1), generator=generator)
    return ids[:, :-1].to(device), ids[:, 1:].to(device)


def step(
    model: Block, ids: Any, labels: Any, *, compiled: bool = True, backend: Any = compile_fx
) -> Callable[[], Any]:
    """Forward and backward, with fresh gradients; gives the loss.

    Raises RuntimeError where a compiled step of one graph has not run that graph.
    """
    runs = 0

    def counted(graph: Any, inputs: Any, **more: Any) -> Any:
        made = backend(graph, inputs, **more)

        def call(*given: Any) -> Any:
            nonlocal runs
            runs += 1
            return made(*given)

        return call

    whole = model.operations.one_graph
    forward = torch.compile(model, fullgraph=whole, backend=counted) if compiled else model

    def run() -> Any:
        before = runs
        model.zero_grad(set_to_none=True)
        loss = forward(ids, labels)
        if compiled and whole and runs != before + 1:
            raise RuntimeError(f"a step ran {runs - before} graphs")
        loss.backward()
        return loss.detach()

    return run


def milliseconds(run: Callable[[], Any]) -> float:
    """Of one of several steps, after as many that bring the clocks to where this load keeps them.

    A way that leaves the GPU idle at times would give the next one a cooler GPU otherwise.
    """
    several(run)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    several(run)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / STEPS * 1e3


def several(run: Callable[[], Any]) -> None:
    """Steps that follow one another."""
    for _ in range(STEPS):
        run()


# ---- where its time goes ------------------------------------------------------------------------

KINDS: Final = {
    "everything else": re.compile(r"^triton_"),
    "attention": re.compile(r"flash|fmha|attention", re.IGNORECASE),
    "matrix products": re.compile(r"gemm|nvjet|matmul|cublas|splitK|cutlass", re.IGNORECASE),
}
"""What names of kernels say, the first that fits; names of Inductor's kernels list operators that
they are fused with. A name that none fits is of everything else."""


@dataclass(slots=True)
class Part:
    """Microseconds of a step that a kind takes in each profile, and the mean of each kernel."""

    times: list[float] = field(default_factory=list)
    kernels: dict[str, float] = field(default_factory=dict[str, float])


def parts(run: Callable[[], Any]) -> dict[str, Part]:
    """What each kind of kernel takes of the device, in several profiles.

    Steps follow one another, as when they are timed: under load the clocks are lower than in a step
    by itself.
    """
    found = {kind: Part() for kind in KINDS}
    for _ in range(PROFILES):
        activities = profile(partial(several, run)).activities
        for kind, part in found.items():
            own = [a for a in activities if kind_of(a.name) == kind]
            part.times.append(sum(a.duration for a in own) / STEPS)
            for a in own:
                before = part.kernels.get(a.name, 0.0)
                part.kernels[a.name] = before + a.duration / STEPS / PROFILES
    return found


def kind_of(kernel: str) -> str:
    """The kind of a kernel of this name."""
    return next((kind for kind, told in KINDS.items() if told.search(kernel)), "everything else")


# ---- the block -----------------------------------------------------------------------------------


class Block(torch.nn.Module):
    """Embedding, one block, and the loss of its logits."""

    def __init__(self, sizes: Sizes, operations: Operations) -> None:
        super().__init__()
        linear = torch.nn.Linear
        self.sizes, self.operations = sizes, operations
        self.embedding = torch.nn.Embedding(sizes.vocabulary, sizes.width)
        self.first = torch.nn.Parameter(torch.ones(sizes.width))
        self.second = torch.nn.Parameter(torch.ones(sizes.width))
        self.last = torch.nn.Parameter(torch.ones(sizes.width))
        self.q, self.k, self.v = (linear(sizes.width, sizes.width, bias=False) for _ in range(3))
        self.out = linear(sizes.width, sizes.width, bias=False)
        self.gate = linear(sizes.width, sizes.hidden, bias=False)
        self.up = linear(sizes.width, sizes.hidden, bias=False)
        self.down = linear(sizes.hidden, sizes.width, bias=False)
        self.logits = linear(sizes.width, sizes.vocabulary, bias=False)

    def forward(self, ids: Any, labels: Any) -> Any:
        """The mean loss of the tokens that follow."""
        op, width = self.operations, (self.sizes.width,)
        x = self.embedding(ids)
        attended = self.attention(op.rms_norm(x, width, self.first, EPS))
        y, x = op.add_rms_norm(attended, x, width, self.second, EPS)
        x = x + op.linear(self.gates(y), self.down.weight)
        logits = op.linear(op.rms_norm(x, width, self.last, EPS), self.logits.weight)
        return op.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def gates(self, x: Any) -> Any:
        """The first half of the MLP."""
        op, gate, up = self.operations, self.gate.weight, self.up.weight
        if op.gated is not None:
            return op.gated(x, gate, up)
        return op.swiglu(op.linear(x, gate), op.linear(x, up))

    def attention(self, x: Any) -> Any:
        """Causal attention of all heads."""
        heads, size, linear = self.sizes.heads, self.sizes.head, self.operations.linear
        q, k, v = (
            linear(x, each.weight).unflatten(-1, (heads, size)) for each in (self.q, self.k, self.v)
        )
        positions = torch.arange(x.shape[1], device=x.device, dtype=torch.int32)
        q, k = self.operations.rope(q, k, positions)
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return linear(found.transpose(1, 2).flatten(-2), self.out.weight)


def block(sizes: Sizes, operations: Operations, device: str, dtype: Any) -> Block:
    """With the same parameters for all ways.

    Each has code of its own. torch.compile keeps what it made of a function by its code, and the
    part of a graph that breaks, up to the break, would be taken for the same part of all others,
    which then run without being compiled.
    """
    torch.manual_seed(0)
    functions = {
        name: FunctionType(each.__code__.replace(), each.__globals__, name)
        for name, each in vars(Block).items()
        if isinstance(each, FunctionType) and name != "__init__"
    }
    own = type("Block", (Block,), functions)
    return own(sizes, operations).to(device=device, dtype=dtype)


# ---- the ways ------------------------------------------------------------------------------------


def ways() -> dict[str, Operations]:
    """Those that can be measured here, by name."""
    theirs = Operations(F.rms_norm, add_rms_norm, rope, swiglu, F.cross_entropy)
    ours = Operations(
        pyptx.torch.rms_norm, pyptx.torch.add_rms_norm, pyptx.torch.rope, pyptx.torch.swiglu,
        pyptx.torch.cross_entropy,
    )  # fmt: skip
    products = replace(ours, linear=pyptx.torch.linear)
    found = {
        "PyTorch": theirs,
        "pyptx.torch": ours,
        "pyptx.torch with its products": products,
        "pyptx.torch with its products, gated": replace(products, gated=gated),
    }
    if importlib.util.find_spec("liger_kernel") is not None:
        found["Liger"] = liger()
    return found


def add_rms_norm(x: Any, residual: Any, shape: Any, weight: Any, eps: float) -> tuple[Any, Any]:
    """The norm of a sum, and the sum."""
    total = x + residual
    return F.rms_norm(total, shape, weight, eps), total


def swiglu(gate: Any, up: Any) -> Any:
    """The gate of the MLP."""
    return F.silu(gate) * up


def gated(x: Any, gate: Any, up: Any) -> Any:
    """Both products and the gate in one kernel."""
    return pyptx.torch.gated_matmul(x, gate.t(), up.t())


def rope(q: Any, k: Any, positions: Any) -> tuple[Any, Any]:
    """Rotary positions, as Llama's model has them."""
    cosine, sine = (each[..., None, :].to(q.dtype) for each in angles(positions, q.shape[-1]))

    def turned(x: Any) -> Any:
        one, other = x.chunk(2, -1)
        return x * cosine + torch.cat((-other, one), -1) * sine

    return turned(q), turned(k)


def angles(positions: Any, size: int) -> tuple[Any, Any]:
    """Cosines and sines for both halves of a head."""
    powers = torch.arange(0, size, 2, device=positions.device, dtype=torch.float32) / size
    turns = positions.float()[:, None] * 10000.0**-powers
    both = torch.cat((turns, turns), -1)
    return both.cos(), both.sin()


def liger() -> Operations:
    """Liger's functions: rotary positions and gates by torch.compile, with its Triton kernels.

    Compiled, its norms have set the weights to zero by the second step (0.8.5, PyTorch 2.11), so
    they are called as they are.
    """
    functional: Any = importlib.import_module("liger_kernel.transformers.functional")

    def norm(x: Any, shape: Any, weight: Any, eps: float) -> Any:
        del shape
        return functional.liger_rms_norm(x, weight, eps)

    def add_norm(x: Any, residual: Any, shape: Any, weight: Any, eps: float) -> tuple[Any, Any]:
        del shape
        return functional.liger_fused_add_rms_norm(x, residual, weight, eps)

    def turn(q: Any, k: Any, positions: Any) -> tuple[Any, Any]:
        cosine, sine = (each[None].to(q.dtype) for each in angles(positions, q.shape[-1]))
        q, k = (each.transpose(1, 2) for each in (q, k))
        q, k = functional.liger_rope(q, k, cosine, sine)
        return q.transpose(1, 2), k.transpose(1, 2)

    # It branches on the labels, which torch.compile cannot trace.
    loss = torch.compiler.disable(functional.liger_cross_entropy)
    norm, add_norm = torch.compiler.disable(norm), torch.compiler.disable(add_norm)
    return Operations(norm, add_norm, turn, functional.liger_swiglu, loss, one_graph=False)


def report(result: Result) -> None:
    """The table."""
    show(result)
