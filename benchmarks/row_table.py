"""Row-wise operations of `pyptx.ops` and their gradients, and everything else that computes them.

Device time of a call is the union of the intervals in which a kernel, copy or fill of it runs
(CUPTI); before every call the L2 cache is flushed; data are random; every result is compared with
float64 before it is timed. `copy` is PyTorch's `dst.copy_(src)` of one array per element; the share
of an operation is of the time that the arrays which it must move would take at that copy's speed.
A gradient of pyptx is its kernels with what forward keeps; of PyTorch autograd's backward of one
forward call made before; of XLA the jitted vjp, which computes again what it needs.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportPrivateUsage=false, reportUntypedBaseClass=false

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import torch
from measure import CONSOLE, Result, Summary, reason, show, start, summarise
from norm_cases import CONDITIONS, Options
from norm_visit import Timer, free, on_device

from pyptx.ops import _add_norm_jax, _cross_entropy_jax, _gates_jax, _layer_norm_jax, _softmax_jax

Call = Callable[[], Any]
CALLS: Final = 20
EPS: Final = 1e-5
DTYPES: Final = {"bf16": torch.bfloat16, "f32": torch.float32}
UNLIMITED: Final = Options()
MODE: Final = "max-autotune-no-cudagraphs"
"""Of torch.compile."""
FORWARD: Final = "forward"
BACKWARD: Final = "backward"
COPY: Final = "copy"


@dataclass(frozen=True, slots=True)
class Operation:
    """How an operation is called here and elsewhere.

    `arrays` arrays per element and `columns` per column are its arguments. `kept` is what forward
    gives to the gradient, `gradient` the kernels of it, from what is kept and the cotangent.
    """

    name: str
    ours: Callable[..., Any]
    kept: Callable[..., Any]
    gradient: Callable[..., Any]
    torch: Callable[..., Any]
    jax: Callable[..., Any]
    moved: Mapping[str, int]
    """Arrays per element that have to move."""
    arrays: int = 1
    columns: int = 0
    labels: int = 0
    """Integers per row, each a column, that are the last arguments."""
    reduces: bool = False
    """Whether a result is one number for each row, in f32."""
    results: int = 1
    """Results per element, each with a cotangent."""
    peers: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    """The same of other packages, as functions of PyTorch's tensors."""


def _layer_norm_kept(x: Any, w: Any, b: Any) -> Any:
    what = _layer_norm_jax.checked(x, w, b, EPS, _layer_norm_jax.call_site())
    return (x, *_layer_norm_jax.kept(what, x, w, b)[1:], w, b)


def _layer_norm_gradient(g: Any, *kept: Any) -> Any:
    x, mean, r, w, b = kept
    what = _layer_norm_jax.checked(x, w, b, EPS, _layer_norm_jax.call_site())
    return _layer_norm_jax.gradient(what, x, g, mean, r, w, b)


def _jnp_layer_norm(x: Any, w: Any, b: Any) -> Any:
    wide = x.astype(jnp.float32)
    away = wide - wide.mean(-1, keepdims=True)
    y = away * jax.lax.rsqrt((away * away).mean(-1, keepdims=True) + EPS)
    return (y * w.astype(jnp.float32) + b.astype(jnp.float32)).astype(x.dtype)


def _jnp_swiglu(a: Any, b: Any) -> Any:
    return (jax.nn.silu(a.astype(jnp.float32)) * b.astype(jnp.float32)).astype(a.dtype)


def _cross_entropy_what(x: Any, labels: Any) -> Any:
    where = _cross_entropy_jax.call_site()
    return _cross_entropy_jax.checked(x, labels, None, 0.0, 0.0, where)


def _cross_entropy_kept(x: Any, labels: Any) -> Any:
    found = _cross_entropy_jax.kept(_cross_entropy_what(x, labels), x, labels)
    return (x, labels, *found[1:])


def _cross_entropy_gradient(g: Any, x: Any, labels: Any, *kept: Any) -> Any:
    return _cross_entropy_jax.gradient(_cross_entropy_what(x, labels), x, labels, *kept, g)[:1]


def _jnp_cross_entropy(x: Any, labels: Any) -> Any:
    wide = x.astype(jnp.float32)
    of_label = jnp.take_along_axis(wide, labels[:, None], -1)[:, 0]
    return jax.nn.logsumexp(wide, -1) - of_label


def _torch_cross_entropy(x: Any, labels: Any) -> Any:
    wide = x if x.dtype is torch.float64 else x.float()
    return torch.nn.functional.cross_entropy(wide, labels.long(), reduction="none")


def _quack_cross_entropy(x: Any, labels: Any) -> Any:
    return importlib.import_module("quack").cross_entropy(x, labels.long(), reduction="none")


class _QuackLayerNorm(torch.autograd.Function):
    """quack's two functions, which take weights in f32 alone."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any, b: Any) -> Any:
        module: Any = importlib.import_module("quack.rmsnorm")
        y, r, mean = module.layernorm_fwd(
            x, _wide(w), _wide(b), EPS, return_rstd=True, return_mean=True
        )
        ctx.save_for_backward(x, w, r, mean)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        module: Any = importlib.import_module("quack.rmsnorm")
        x, w, r, mean = ctx.saved_tensors
        dx, dw, db = module.layernorm_bwd(x, _wide(w), gradients[0], r, mean)
        return dx, dw.to(w.dtype), db.to(w.dtype)


@lru_cache(8)
def _wide(tensor: Any) -> Any:
    """The same in f32, made once: what is timed is quack's kernels."""
    return tensor.float()


def _quack_layer_norm(x: Any, w: Any, b: Any) -> Any:
    return _QuackLayerNorm.apply(x, w, b)


def _quack_softmax(x: Any) -> Any:
    return importlib.import_module("quack").softmax(x)


def _liger(name: str) -> Callable[..., Any]:
    """One of Liger's functions."""

    def call(*tensors: Any, **options: Any) -> Any:
        module: Any = importlib.import_module("liger_kernel.transformers.functional")
        return getattr(module, f"liger_{name}")(*tensors, **options)

    return call


def _liger_layer_norm(x: Any, w: Any, b: Any) -> Any:
    return _liger("layer_norm")(x, w, b, EPS)


def _liger_cross_entropy(x: Any, labels: Any) -> Any:
    # Its forward writes the gradient over its argument.
    return _liger("cross_entropy")(x.clone(), labels.long(), reduction="none")


def _softmax_gradient(g: Any, y: Any) -> Any:
    what = _softmax_jax.checked("softmax", y, -1, 1.0, False, _softmax_jax.call_site())
    return _softmax_jax.gradient(what, y, g, None)


def _add_rms_norm_what(x: Any, residual: Any, w: Any) -> Any:
    where = _add_norm_jax.call_site()
    return _add_norm_jax.checked("add_rms_norm", x, residual, w, None, EPS, where)


def _add_rms_norm_kept(x: Any, residual: Any, w: Any) -> Any:
    found = _add_norm_jax.kept(_add_rms_norm_what(x, residual, w), x, residual, w, None, ())
    return (*found[1:], w)


def _add_rms_norm_gradient(g: Any, s: Any, r: Any, w: Any) -> Any:
    gy, gs = g
    what = _add_rms_norm_what(s, s, w)
    dx, _, dw, _ = _add_norm_jax.gradient(what, s, gy, (r,), gs, w, None, ())
    # The same array is the gradient of both: as two results of a program, it would be copied.
    return dx, None, dw


def _jnp_add_rms_norm(x: Any, residual: Any, w: Any) -> Any:
    s = x + residual
    wide = s.astype(jnp.float32)
    r = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + EPS)
    return (wide * r * w.astype(jnp.float32)).astype(w.dtype), s


def _torch_add_rms_norm(x: Any, residual: Any, w: Any) -> Any:
    s = x + residual
    return torch.nn.functional.rms_norm(s, w.shape, w, EPS), s


def _quack_add_rms_norm(x: Any, residual: Any, w: Any) -> Any:
    return importlib.import_module("quack").rmsnorm(x, w, residual=residual, eps=EPS, prenorm=True)


def _liger_add_rms_norm(x: Any, residual: Any, w: Any) -> Any:
    module: Any = importlib.import_module("liger_kernel.ops.fused_add_rms_norm")
    return module.LigerFusedAddRMSNormFunction.apply(x, residual, w, EPS, 0.0, "llama", False)


OPERATIONS: Final = {
    "layer_norm": Operation(
        "layer_norm", lambda x, w, b: _layer_norm_jax.layer_norm(x, w, b, EPS), _layer_norm_kept,
        _layer_norm_gradient,
        lambda x, w, b: torch.nn.functional.layer_norm(x, w.shape, w, b, EPS), _jnp_layer_norm,
        {FORWARD: 2, BACKWARD: 3}, columns=2,
        peers={"quack": _quack_layer_norm, "Liger": _liger_layer_norm},
    ),
    "softmax": Operation(
        "softmax", _softmax_jax.softmax, lambda x: (_softmax_jax.softmax(x),),
        _softmax_gradient,
        lambda x: torch.softmax(x, -1),
        lambda x: jax.nn.softmax(x.astype(jnp.float32)).astype(x.dtype),
        {FORWARD: 2, BACKWARD: 3},
        peers={"quack": _quack_softmax, "Liger": _liger("softmax")},
    ),
    "swiglu": Operation(
        "swiglu", _gates_jax.swiglu, lambda a, b: (a, b),
        lambda g, a, b: _gates_jax.gradient("silu", a, b, g),
        lambda a, b: torch.nn.functional.silu(a) * b, _jnp_swiglu,
        {FORWARD: 3, BACKWARD: 5}, arrays=2, peers={"Liger": _liger("swiglu")},
    ),
    "add_rms_norm": Operation(
        "add_rms_norm", lambda x, r, w: _add_norm_jax.add_rms_norm(x, r, w, EPS),
        _add_rms_norm_kept, _add_rms_norm_gradient, _torch_add_rms_norm, _jnp_add_rms_norm,
        {FORWARD: 4, BACKWARD: 4}, arrays=2, columns=1, results=2,
        peers={"quack": _quack_add_rms_norm, "Liger": _liger_add_rms_norm},
    ),
    "cross_entropy": Operation(
        "cross_entropy", _cross_entropy_jax.cross_entropy, _cross_entropy_kept,
        _cross_entropy_gradient, _torch_cross_entropy, _jnp_cross_entropy,
        {FORWARD: 1, BACKWARD: 2}, labels=1, reduces=True,
        peers={"quack": _quack_cross_entropy, "Liger": _liger_cross_entropy},
    ),
}  # fmt: skip
SHAPES: Final = {
    "layer_norm": ("32768x4096:bf16", "8192x8192:f32", "4096x32768:bf16", "16384x2304:bf16",
                   "65536x128:bf16", "8x8192:bf16"),
    "softmax": ("32768x4096:bf16", "8192x8192:f32", "4096x32768:bf16", "8192x131072:bf16",
                "16384x1000:f32", "65536x128:bf16"),
    "add_rms_norm": ("32768x4096:bf16", "16384x8192:bf16", "4096x2304:bf16", "64x8192:bf16"),
    "cross_entropy": ("8192x32768:bf16", "8192x128256:bf16", "4096x151936:bf16", "4096x262144:bf16",
                      "32768x4096:f32"),
    "swiglu": ("16384x14336:bf16", "8192x11008:bf16", "4096x28672:bf16", "16x14336:bf16"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """An operation at a shape."""

    operation: Operation
    rows: int
    columns: int
    dtype: str

    @property
    def title(self) -> str:
        return f"{self.operation.name} {self.rows} x {self.columns} {self.dtype}"


def named(options: Options) -> tuple[str, ...]:
    """The operations that are asked for; all where none is."""
    if unknown := set(options.operations) - set(SHAPES):
        raise SystemExit(f"{', '.join(sorted(unknown))}: operations are {', '.join(SHAPES)}")
    return tuple(name for name in SHAPES if not options.operations or name in options.operations)


def cases(options: Options = UNLIMITED) -> list[Case]:
    """All of them, or those of some operations."""
    found: list[Case] = []
    for name in named(options):
        for shape in SHAPES[name]:
            size, dtype = shape.split(":")
            rows, columns = map(int, size.split("x"))
            found.append(Case(OPERATIONS[name], rows, columns, dtype))
    return found


def measure(device: dict[str, object], options: Options = UNLIMITED) -> Result:
    """Every case that begins within the budget, forward and backward, with its peers."""
    budget = options.budget
    result = start("row_table", device, calls=CALLS, eps=EPS, **CONDITIONS)
    result.settings["failed"] = failed = {}
    timer, begin = on_device(), time.monotonic()
    for case in cases(options):
        if budget is not None and time.monotonic() - begin > budget:
            failed[case.title] = "the budget ended"
            continue
        found, why = visit(case, timer)
        for each in found:
            result.put(each)
        failed |= why
        CONSOLE.print(f"{case.title}: {time.monotonic() - begin:.0f} s")
    return result


def visit(case: Case, timer: Timer) -> tuple[list[Summary], dict[str, str]]:
    """Measure a case; why some candidates were not measured, by their names."""
    calls, failed = candidates(case)
    found = list(timed(case, calls, timer, CALLS))
    del calls
    free()
    return found, failed


def timed(
    case: Case, calls: Mapping[tuple[str, str], Call], timer: Timer, count: int
) -> Iterator[Summary]:
    """The device time of each candidate, called so many times."""
    found = timer({(*key, ""): call for key, call in calls.items()}, count)
    from chrome_trace import busy

    copy = statistics.median(map(busy, found[FORWARD, COPY, ""]))
    for (direction, name, _), each in found.items():
        moved = 2 if name == COPY else case.operation.moved[direction]
        samples = [busy(call) for call in each]
        parts = "; ".join(f"{a.name[:60]}: {a.duration:.2f}" for a in each[-1])
        yield summarise(
            f"{case.title} {direction}: {name}", "us", samples, operation=case.operation.name,
            rows=case.rows, columns=case.columns, dtype=case.dtype, direction=direction,
            candidate=name, kernels=len(each[-1]), parts=parts,
            share=round(copy * moved / 2 / statistics.median(samples), 4),
        )  # fmt: skip


def candidates(
    case: Case, mode: str = MODE, names: Collection[str] = ()
) -> tuple[dict[tuple[str, str], Call], dict[str, str]]:
    """What is to be timed, each checked; and why others are not.

    `mode` is torch.compile's; `names` are of those that are wanted, all where there is none.
    """
    op, how = case.operation, {"device": "cuda", "dtype": DTYPES[case.dtype]}
    generator = torch.Generator("cuda").manual_seed(0)
    shapes = [(case.rows, case.columns)] * op.arrays + [(case.columns,)] * op.columns
    tensors = [torch.randn(*shape, generator=generator, **how) for shape in shapes]
    tensors += [
        torch.randint(0, case.columns, (case.rows,), generator=generator, device="cuda").int()
        for _ in range(op.labels)
    ]
    shape = (case.rows,) if op.reduces else (case.rows, case.columns)
    kind = torch.float32 if op.reduces else how["dtype"]
    g = [
        torch.randn(*shape, generator=generator, device="cuda", dtype=kind)
        for _ in range(op.results)
    ]
    source, target = tensors[0], torch.empty_like(tensors[0])
    exact, exact_gradient = expected(op, tensors, g)
    calls: dict[tuple[str, str], Call] = {(FORWARD, COPY): lambda: target.copy_(source)}
    failed: dict[str, str] = {}
    for (direction, name), build in builders(op, tensors, g, mode).items():
        if names and name not in names:
            continue
        try:
            call = build()
            check(call(), exact if direction == FORWARD else exact_gradient, case.dtype)
            calls[direction, name] = call
        except Exception as error:  # noqa: BLE001, peers fail in their own ways
            failed[f"{case.title} {direction}: {name}"] = reason(error)
    return calls, failed


def builders(
    op: Operation, tensors: list[Any], g: list[Any], mode: str = MODE
) -> dict[tuple[str, str], Callable[[], Call]]:
    """How each candidate is made."""
    arrays = [jax.dlpack.from_dlpack(t) for t in tensors]
    cotangents = tuple(map(jax.dlpack.from_dlpack, g))
    cotangent: Any = cotangents if op.results > 1 else cotangents[0]

    def jitted(function: Callable[..., Any], *arguments: Any) -> Call:
        run = jax.jit(function)
        return lambda: jax.block_until_ready(run(*arguments))

    def ours_backward() -> Call:
        return jitted(op.gradient, cotangent, *jax.jit(op.kept)(*arrays))

    def xla_backward() -> Call:
        floats, labels = arrays[: op.arrays + op.columns], arrays[op.arrays + op.columns :]

        def gradient(g: Any, floats: Any, labels: Any) -> Any:
            return jax.vjp(lambda *given: op.jax(*given, *labels), *floats)[1](g)

        return jitted(gradient, cotangent, floats, labels)

    def torch_forward(function: Callable[..., Any]) -> Call:
        def call() -> Any:
            with torch.no_grad():
                return function(*tensors)

        return call

    def torch_backward(function: Callable[..., Any]) -> Call:
        given = [t.detach().requires_grad_(t.is_floating_point()) for t in tensors]
        leaves = [t for t in given if t.requires_grad]
        results = function(*given)
        results = results if isinstance(results, (tuple, list)) else (results,)
        cotangents = [each.to(y.dtype) for each, y in zip(g, results, strict=True)]
        return lambda: torch.autograd.grad(results, leaves, cotangents, retain_graph=True)

    def compiled() -> Any:
        from torch._functorch import config

        config.donated_buffer = False
        return torch.compile(op.torch, dynamic=False, fullgraph=True, mode=mode)

    peers = [
        ((direction, name), partial(build, function))
        for name, function in op.peers.items()
        for direction, build in ((FORWARD, torch_forward), (BACKWARD, torch_backward))
    ]
    return {
        (FORWARD, "pyptx"): lambda: jitted(op.ours, *arrays),
        (FORWARD, "XLA"): lambda: jitted(op.jax, *arrays),
        (FORWARD, "PyTorch"): lambda: torch_forward(op.torch),
        (FORWARD, "torch.compile"): lambda: torch_forward(compiled()),
        (BACKWARD, "pyptx"): ours_backward,
        (BACKWARD, "XLA"): xla_backward,
        (BACKWARD, "PyTorch"): lambda: torch_backward(op.torch),
        (BACKWARD, "torch.compile"): lambda: torch_backward(compiled()),
        **dict(peers),
    }


def expected(op: Operation, tensors: list[Any], g: list[Any]) -> tuple[Any, Any]:
    """The result and the gradients in float64, of the first and last rows."""
    count = min(64, g[0].shape[0])
    per_column = range(op.arrays, op.arrays + op.columns)
    rows = [t if i in per_column else t[:count] for i, t in enumerate(tensors)]
    wide = [t.double().detach().requires_grad_() if t.is_floating_point() else t for t in rows]
    y = op.torch(*wide)
    elements = wide[: op.arrays]
    results = y if isinstance(y, tuple) else (y,)
    cotangents = [each[:count].double() for each in g]
    gradients = torch.autograd.grad(results, elements, cotangents)
    return tuple(each.detach() for each in results), gradients


def check(found: Any, exact: Any, dtype: str) -> None:
    """Raises ValueError where a result per element differs by more than rounding does."""
    found = found if isinstance(found, (tuple, list)) else (found,)
    tolerance = 2e-2 if dtype == "bf16" else 2e-4
    for one, other in zip(found, exact, strict=False):
        if one is None:
            continue
        tensor = one if isinstance(one, torch.Tensor) else torch.from_dlpack(one)
        away = (tensor[: len(other)].double() - other).abs().max().item()
        scale = max(1.0, other.abs().max().item())
        if not away <= tolerance * scale:  # NaN fails too
            raise ValueError(f"wrong: {away:.3g} from float64, of {scale:.3g}")


def report(result: Result) -> None:
    """The table, with the share of the copy's speed."""
    show(result, {"of copy": lambda m: f"{m.notes['share']:.1%}"})
