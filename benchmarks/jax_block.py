"""Each operation of `pyptx.ops` in the training step of a transformer block, on one and two GPUs.

The block is that of `jax_block_model`, jitted, with its state donated. Its ways are jax.numpy's
operations alone, each operation of pyptx in place of its own, and several of them. Each way has its
losses of the first steps beside those of jax.numpy, the time of a step, and what devices exchange.

On one GPU a step has one sequence. Where there are two GPUs, it runs in two further forms: with a
sequence on each (data parallel), and with one sequence and half of the MLP and of the vocabulary on
each (tensor parallel): the columns of `gate`, `up` and `logits`, and the rows of `down`. Shardings
of the arguments of a plain `jax.jit` are all that says so; the cross entropy of pyptx is called in
`jax.shard_map` where columns are split.

Two curves differ by rounding, and training increases the difference. How much that may be is
measured with jax.numpy alone: with f32 activations, with the roundings that the types say, of which
XLA leaves some out, with norms and gates that are rounded twice, and with products whose sums have
another order, as those of other kernels have. A curve of pyptx may be as far
from exact training as these are from one another, and so may jax.numpy's: twice the largest
distance is the bound.
"""

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import dataclasses
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Final

import jax
import numpy as np
from block_sizes import FULL, Sizes
from jax import numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jax_block_model import (
    Operations,
    State,
    initial,
    rounded_twice,
    shapes,
    step,
    summed_in_halves,
)
from measure import (
    CONSOLE,
    Bar,
    Result,
    Summary,
    no_collection,
    number,
    show,
    start,
    summarise,
    turns,
)
from norm_cases import Options

from pyptx import ops

THEIRS: Final = "jax.numpy"
ROWWISE: Final = "all row-wise operations"
PRODUCTS: Final = "all operations with gated_matmul"
BATCHES: Final = 6
UNLIMITED: Final = Options()
APART: Final = 2.0
"""Times what other roundings change in jax.numpy's curve."""
STRICT: Final[dict[str, str | bool]] = {"xla_allow_excess_precision": False}
"""For XLA: each result is rounded to its type, also inside a fusion."""

SPLIT: Final = {
    "gate": P(None, "model"), "up": P(None, "model"), "down": P("model"), "logits": P(None, "model")
}  # fmt: skip
"""How parameters are sharded in the tensor parallel form; others are on every device."""


@dataclass(frozen=True, slots=True)
class Form:
    """Over how many devices a step is sharded, and how."""

    name: str
    axis: str
    devices: int = 2

    def mesh(self, devices: Sequence[Any]) -> Mesh:
        return Mesh(np.array(devices[: self.devices]), (self.axis,), axis_types=(AxisType.Auto,))

    @property
    def sequences(self) -> int:
        """How many a step has."""
        return self.devices if self.axis == "data" else 1

    @property
    def tokens(self) -> P:
        return P("data") if self.axis == "data" else P()

    def of_parameter(self, name: str) -> P:
        return SPLIT.get(name, P()) if self.axis == "model" else P()


FORMS: Final = (
    Form("1 GPU", "data", 1),
    Form("2 GPUs, data parallel", "data"),
    Form("2 GPUs, tensor parallel", "model"),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    curve: int = 30
    """Steps whose losses are compared."""
    rounds: int = 10
    steps: int = 3
    forms: tuple[Form, ...] = FORMS
    ways: tuple[str, ...] = ()
    """All where none is named."""


# ---- the ways ------------------------------------------------------------------------------------


def ways(mesh: Mesh) -> dict[str, Operations]:
    """The operations of each way, by name."""
    loss = ops.cross_entropy if mesh.axis_names == ("data",) else split_cross_entropy(mesh)
    rowwise: dict[str, Callable[..., Any]] = {
        "rms_norm": ops.rms_norm,
        "add_rms_norm": ops.add_rms_norm,
        "rope": ops.rope,
        "softmax": ops.softmax,
        "swiglu": ops.swiglu,
        "cross_entropy": loss,
    }
    products = {"matmul": ops.matmul, "gated_matmul": ops.gated_matmul}
    theirs = Operations()
    alone = {
        f"{name} of pyptx": dataclasses.replace(theirs, **{name: operation})
        for name, operation in (rowwise | products).items()
    }
    all_rows = dataclasses.replace(theirs, **rowwise)
    return {
        THEIRS: theirs,
        **alone,
        ROWWISE: all_rows,
        "all operations with matmul": dataclasses.replace(all_rows, matmul=ops.matmul),
        PRODUCTS: dataclasses.replace(all_rows, **products),
    }


def split_cross_entropy(mesh: Mesh) -> Callable[..., Any]:
    """The loss of logits whose columns are sharded, with one exchange of a few numbers a row."""
    columns = P(None, None, "model")
    return jax.shard_map(
        partial(ops.cross_entropy, axis_name="model"),
        mesh=mesh, in_specs=(columns, P()), out_specs=P(),
    )  # fmt: skip


# ---- a form --------------------------------------------------------------------------------------


class Training:
    """One form on its devices: its programs, its first state and its data."""

    def __init__(self, form: Form, devices: Sequence[Any], sizes: Sizes, dtype: Any) -> None:
        self.sizes, self.mesh = sizes, form.mesh(devices)
        everywhere = NamedSharding(self.mesh, P())
        of = {name: NamedSharding(self.mesh, form.of_parameter(name)) for name in shapes(sizes)}
        self.shardings = {"parameters": of, "mean": of, "square": of}, everywhere
        self.begin = jax.jit(partial(initial, sizes, dtype), out_shardings=self.shardings[0])
        rng = np.random.default_rng(0)
        shape = form.sequences, sizes.tokens + 1
        self.batches = [
            jax.device_put(
                rng.integers(0, sizes.vocabulary, shape).astype(np.int32),
                NamedSharding(self.mesh, form.tokens),
            )
            for _ in range(BATCHES)
        ]

    def program(self, operations: Operations, options: dict[str, str | bool] | None = None) -> Any:
        """The compiled step of a way, to which the state is donated; `options` are XLA's."""
        jitted = jax.jit(
            partial(step, operations, self.sizes.heads),
            out_shardings=self.shardings, donate_argnums=0,
        )  # fmt: skip

        def placed(array: Any, sharding: Any) -> Any:
            return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)

        state = jax.tree.map(placed, jax.eval_shape(self.begin), self.shardings[0])
        return jitted.lower(state, self.batches[0]).compile(options)

    def run(self, program: Any, state: State, count: int) -> tuple[State, list[Any]]:
        """Steps that feed one another, and their losses."""
        losses: list[Any] = []
        for i in range(count):
            state, loss = program(state, self.batches[i % BATCHES])
            losses.append(loss)
        return state, losses

    def curve(self, program: Any, count: int) -> list[float]:
        """The losses of the first steps. Raises ValueError if one is not finite."""
        losses = [float(loss) for loss in self.run(program, self.begin(), count)[1]]
        if not np.isfinite(losses).all():
            raise ValueError(f"losses are {losses}")
        return losses


def difference(losses: Sequence[float], wanted: Sequence[float]) -> float:
    """The largest relative difference of two curves."""
    return float(max(abs(np.asarray(losses) / np.asarray(wanted) - 1)))


_EXCHANGE: Final = re.compile(
    r" (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(([^)]*)\)"
)


def exchanged(program: Any) -> dict[str, int]:
    """How many arrays of a compiled program each kind of collective exchanges.

    XLA combines collectives of several arrays into one as their sizes and types allow, so their
    arrays are counted, which `pyptx.collectives` does not.
    """
    found = Counter[str]()
    for kind, operands in _EXCHANGE.findall(program.as_text()):
        found[kind] += operands.count("%")
    return dict(sorted(found.items()))


def beyond(found: Mapping[str, int], theirs: Mapping[str, int]) -> int:
    """How many more arrays are exchanged."""
    return sum(max(0, count - theirs.get(kind, 0)) for kind, count in found.items())


# ---- measuring -----------------------------------------------------------------------------------


def measure(
    device: dict[str, object],
    options: Options = UNLIMITED,
    sizes: Sizes = FULL,
    scale: Scale = Scale(),
    devices: Sequence[Any] = (),
) -> Result:
    """Every form that these devices allow, the GPUs unless others are given.

    With `options.resume` the forms that there are already are left out, and none is begun after
    `options.budget` seconds.
    """
    begun = time.monotonic()
    found = devices or jax.devices("gpu")
    result = start(
        "jax_block", device, **dataclasses.asdict(sizes), dtype="bf16", devices=len(found),
        curve=scale.curve, batches=BATCHES, steps=scale.steps, rounds=scale.rounds,
        counted="wall-clock time of steps that feed one another, with donated states",
    )  # fmt: skip
    if options.known is not None:
        result.adopt(options.known)
    for form in scale.forms:
        known = options.resume and any(m.notes["form"] == form.name for m in result.measurements)
        late = options.budget is not None and time.monotonic() - begun > options.budget
        if known or late or form.devices > len(found):
            continue
        _measure(result, form, Training(form, found, sizes, jnp.bfloat16), scale)
        if options.out is not None:
            result.write(options.out)
    result.bars = [bar for form in scale.forms for bar in bars(result, form)]
    return result


def _measure(result: Result, form: Form, training: Training, scale: Scale) -> None:
    """The curves of all ways, then their times in turns."""
    programs: dict[str, Any] = {}
    curves: dict[str, list[float]] = {}
    for name, operations in ways(training.mesh).items():
        if name in scale.ways or not scale.ways:
            programs[name] = training.program(operations)
            curves[name] = training.curve(programs[name], scale.curve)
    others = [training.curve(other, scale.curve) for other in roundings(training)]
    bound = APART * max(difference(*pair) for pair in combinations([curves[THEIRS], *others], 2))
    taken = in_turns(training, programs, scale)
    theirs = exchanged(programs[THEIRS])
    for name, program in programs.items():
        found = exchanged(program)
        result.put(summarise(
            f"{form.name}: {name}", "ms", taken[name], form=form.name, way=name,
            apart=difference(curves[name], curves[THEIRS]), bound=bound, exchanged=found,
            beyond=beyond(found, theirs), gib=gib(program), losses=curves[name],
        ))  # fmt: skip


def roundings(training: Training) -> Iterator[Any]:
    """jax.numpy's step with other roundings."""
    yield training.program(Operations(wide=True))
    yield training.program(Operations(), STRICT)
    yield training.program(rounded_twice())
    yield training.program(summed_in_halves())


def in_turns(training: Training, programs: dict[str, Any], scale: Scale) -> dict[str, list[float]]:
    """Milliseconds of a step of each program. All train the same parameters."""
    taken: dict[str, list[float]] = {name: [] for name in programs}
    state = training.begin()
    with no_collection():
        for name in turns(tuple(programs), scale.rounds):
            state, losses = training.run(programs[name], state, 1)  # it warms up
            jax.block_until_ready(losses)
            begin = time.perf_counter()
            state, losses = training.run(programs[name], state, scale.steps)
            jax.block_until_ready((state, losses))
            taken[name].append((time.perf_counter() - begin) / scale.steps * 1e3)
            if not np.isfinite(float(losses[-1])):
                raise ValueError(f"the loss of {name} is not finite")
    return taken


def gib(program: Any) -> float:
    """Memory that a device has for a program's intermediate results."""
    return round(program.memory_analysis().temp_size_in_bytes / 2**30, 3)


def bars(result: Result, form: Form) -> list[Bar]:
    """Of one form that was measured: losses, the time of a step and what is exchanged."""
    notes: list[Mapping[str, Any]] = [
        m.notes for m in result.measurements if m.notes["form"] == form.name
    ]
    if not notes:
        return []
    name = form.name
    apart = max(note["apart"] for note in notes)
    share = result.median(f"{name}: {ROWWISE}") / result.median(f"{name}: {THEIRS}")
    most = max(note["beyond"] for note in notes)
    more = [Bar(f"{name}: arrays exchanged beyond {THEIRS}'s", most, 0, "")]
    return [
        Bar(f"{name}: largest relative difference of losses", apart, notes[0]["bound"], ""),
        Bar(f"{name}: time of a step with {ROWWISE}, {THEIRS}'s = 1", share, 1, ""),
        *(more if form.devices > 1 else ()),
    ]


def report(result: Result) -> None:
    """The table, and what each way exchanges."""

    def last(m: Summary) -> str:
        losses: Any = m.notes["losses"]
        return number(losses[-1])

    show(result, {
        "last loss": last, "losses apart": lambda m: f"{m.notes['apart']:.1e}",
        "GiB": lambda m: m.notes["gib"],
    })  # fmt: skip
    for m in result.measurements:
        if m.notes["exchanged"]:
            CONSOLE.print(f"{m.name} exchanges {m.notes['exchanged']}")
