"""One small kernel for each spelling of the ISA that the emulator runs, and the values it runs on.

The same kernels run in the emulator and on a GPU. Each thread loads its operands from a buffer,
executes the instruction once and stores every result, so the outputs show all bits. values.py makes
the inputs.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import values

from pyptx._ir import Kernel, Module
from pyptx._isa import available, opcode_path, operand_types
from pyptx._isa.given import Number, Raw
from pyptx._isa.model import Form, OperandSpec, Option, Slot
from pyptx._isa.sample import sample
from pyptx._isa.special import SPECIAL
from pyptx._isa.table import forms, opcodes
from pyptx._operands import Address, Negated, Pair, Parameter, Register, Symbol, Variable
from pyptx._target import PtxVersion, Target
from pyptx._trace.core.context import Trace, tracing
from pyptx.types import DType, b32, pred, u32, u64

TARGET = Target(90, "a")
VERSION = PtxVersion(8, 6)
THREADS = 256
CTAS = 4
CASES = THREADS * CTAS
SLOT = 32
"""Bytes of input for each operand and of output for each result, by thread."""
OPERANDS = 5
INPUT_BYTES = CASES * SLOT * OPERANDS
OUTPUT_BYTES = CASES * SLOT * 4
FULL_WARP = 0xFFFFFFFF
PER_FORM = 24
"""Spellings of a form that are tried, every option at least once."""
SETTLED = PtxVersion(9, 3)
"""Options that later versions add to a form change neither its cases nor their names."""

# Opcodes without an effect on registers or memory, or whose effect depends on timing or addresses.
NO_VALUE = {
    "activemask": "depends on which lanes the scheduler keeps together",
    "applypriority": "a hint without a result",
    "bar": "tested by whole kernels",
    "barrier": "tested by whole kernels",
    "bra": "tested by whole kernels",
    "brkpt": "stops the program",
    "brx": "tested by whole kernels",
    "createpolicy": "an opaque value",
    "cvta": "addresses differ",
    "discard": "a hint without a result",
    "exit": "tested by whole kernels",
    "elect": "any lane may be elected",
    "fence": "tested by whole kernels",
    "getctarank": "addresses differ",
    "griddepcontrol": "needs a second grid",
    "isspacep": "addresses differ",
    "ldu": "one value for all lanes: tested by whole kernels",
    "mapa": "addresses differ",
    "membar": "tested by whole kernels",
    "nanosleep": "takes time",
    "pmevent": "no result",
    "prefetch": "a hint without a result",
    "prefetchu": "a hint without a result",
    "ret": "tested by whole kernels",
    "setmaxnreg": "has no effect on values",
    "trap": "stops the program",
}
NO_VALUE_CHAPTERS = {
    "Data Movement and Conversion Instructions: Asynchronous Copy": "tested by whole kernels",
    "Data Movement and Conversion Instructions: Tensor Copy": "needs tensor maps",
    "Data Movement and Conversion Instructions: multimem": "needs several GPUs",
    "Texture Instructions and Surface Instructions": "not emulated",
    "Video Instructions": "not emulated",
    "Stack Manipulation Instructions": "not emulated",
    "Parallel Synchronization and Communication Instructions: mbarrier": "tested by whole kernels",
    "Warp Level Matrix Multiply-Accumulate Instructions": "not emulated",
    "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions": "not emulated",
    "TensorCore 5th Generation Instructions": "not emulated",
}
_MEMORY = ("ld", "st", "atom", "red")
_SETS_CARRY = "cc"
_USES_CARRY = ("addc", "subc", "madc")


@dataclass(frozen=True)
class Case:
    """A spelling with one kernel that executes it."""

    name: str
    spelling: str
    form: Form
    kernel: Kernel
    result_bytes: int
    """Bytes of results of a thread, at the start of its first output slot."""
    memory: bool
    """Whether the last output slot of a thread is memory that the instruction worked on."""

    def results(self, output: np.ndarray) -> bytes:
        """The part of the output buffer that the kernel wrote."""
        slots = output.reshape(4, CASES, SLOT)
        values = slots[0, :, : self.result_bytes].tobytes()
        return values + (slots[3].tobytes() if self.memory else b"")

    @property
    def module(self) -> Module:
        return Module(VERSION, TARGET, (self.kernel,))


CONSTANT = ("mov.pred  d, value",)
"""Forms that read constants alone: there are no values to try, and test_coverage.py runs them."""


@cache
def cases() -> tuple[Case, ...]:
    """Every spelling that sm_90a has and that shows its effect in values, in the table's order."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    seen: set[tuple[str, int]] = set()
    for form in forms():
        if form.opcode in NO_VALUE or form.chapter in NO_VALUE_CHAPTERS or form.syntax in CONSTANT:
            continue
        settled = _settled(form)
        generator = random.Random(settled.syntax)
        for modifiers in sample(settled, PER_FORM, generator):
            spelling = ".".join((form.opcode, *modifiers))
            targets, version = available.availability(form, modifiers)
            key = spelling, id(form)
            if TARGET not in targets or version > VERSION or key in seen:
                continue
            seen.add(key)
            built = _build(form, modifiers, spelling)
            if built is not None:
                yield built


def _settled(form: Form) -> Form:
    """The form without what came after SETTLED, so that a growing table keeps the record."""
    if form.availability.ptx > SETTLED:
        return form
    slots = tuple(s for slot in form.slots if (s := _settled_slot(slot)) is not None)
    gone = {s.name for s in form.slots} - {s.name for s in slots}
    operands = tuple(replace(o, written=o.plainly) for o in form.operands if o.when not in gone)
    return replace(form, slots=slots, operands=operands)


def _settled_slot(slot: Slot) -> Slot | None:
    """None where no option is left; where one is left of several, the slot is named after it."""
    options = tuple(o for o in slot.options if o.availability.ptx <= SETTLED)
    if len(options) == len(slot.options):
        return slot
    name = options[0].name if len(options) == 1 else slot.name
    return replace(slot, name=name, options=options) if options else None


def inputs(case: Case) -> np.ndarray:
    """The input buffer of a case, uint8: for each operand, SLOT bytes for each thread."""
    generator = np.random.default_rng(zlib.crc32(case.spelling.encode()))
    chosen = case.form.assign(tuple(case.spelling.split(".")[1:])) or {}
    specs = [s for s in case.form.operands if _is_loaded(case.form, s, chosen)]
    operands = [(spec.name, _type(spec, chosen)) for spec in specs]
    if case.memory and operands:  # memory holds values of the type that meets them
        operands.insert(0, ("memory", operands[0][1]))
    operands.append(("carry", u32))  # where there is one
    made = values.fill(case.form.opcode, operands[:OPERANDS], CASES, SLOT, generator)
    data = np.zeros((OPERANDS, CASES, SLOT), np.uint8)
    data[: len(made)] = made
    return data.reshape(-1)


def _is_loaded(form: Form, spec: OperandSpec, chosen: dict[str, Option]) -> bool:
    """Whether an operand's value comes from the input buffer."""
    if spec.when is not None and spec.when not in chosen:
        return False
    if spec.kind != "value" or spec.access == "out" or spec.name in ("membermask", "policy"):
        return False
    return not spec.optional or spec.second is not None or form.opcode in ("set", "setp")


# ---- building one kernel -------------------------------------------------------------------------


def _type(spec: OperandSpec, chosen: dict[str, Option]) -> DType:
    return operand_types.type_of(spec, chosen)


class _Builder:
    """Loads operands from the input buffer and stores results to the output buffer."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.results = 0
        self.loads = 0
        source = Parameter(0, u64, "input", tensor=True)
        target = Parameter(1, u64, "output", tensor=True)
        trace.parameters += [source, target]
        self.thread = self._thread()
        self.input = self._pointer(source)
        self.output = self._pointer(target)

    def _thread(self) -> Register:
        trace = self.trace

        tid, cta, flat = (trace.register(u32) for _ in range(3))
        trace.write("mov.u32", tid, SPECIAL["tid.x"].operand)
        trace.write("mov.u32", cta, SPECIAL["ctaid.x"].operand)
        trace.write("mad.lo.u32", flat, cta, Number(THREADS), tid)
        return flat

    def _pointer(self, parameter: Parameter) -> Register:
        trace = self.trace
        generic, base, offset, here = (trace.register(u64) for _ in range(4))
        trace.write("ld.param.u64", generic, Address(parameter))
        trace.write("cvta.to.global.u64", base, generic)
        trace.write("mul.wide.u32", offset, self.thread, Number(SLOT))
        trace.write("add.u64", here, base, offset)
        return here

    def load(self, dtype: DType, length: int) -> list[Register]:
        """The next input operand, in registers."""
        at = self.loads * CASES * SLOT
        self.loads += 1
        return [self._load(dtype, at + i * max(dtype.bits // 8, 1)) for i in range(length)]

    def _load(self, dtype: DType, offset: int) -> Register:
        trace = self.trace
        if dtype is pred:
            word, found = trace.register(u32), trace.register(pred)
            trace.write("ld.global.u8", word, Address(self.input, offset))
            low = trace.register(u32)
            trace.write("and.b32", low, word, Number(1))
            trace.write("setp.ne.u32", found, low, Number(0))
            return found
        register = trace.register(dtype)
        trace.write(f"ld.global.b{dtype.bits}", register, Address(self.input, offset))
        return register

    def store(self, register: Register) -> None:
        """A result to the next output slot."""
        trace = self.trace
        at = self.results
        if register.dtype is pred:
            word = trace.register(u32)
            trace.write("selp.u32", word, Number(1), Number(0), register)
            register = word
        bits = register.dtype.bits
        at = -(-at // (bits // 8)) * (bits // 8)
        place = Address(self.output, (at // SLOT) * CASES * SLOT + at % SLOT)
        trace.write(f"st.global.b{bits}", place, register)
        self.results = at + bits // 8


def _build(form: Form, modifiers: tuple[str, ...], spelling: str) -> Case | None:
    trace = Trace(TARGET)
    chosen = form.assign(modifiers)
    assert chosen is not None
    with tracing(trace):
        builder = _Builder(trace)
        memory = _memory(builder, form, chosen) if form.opcode in _MEMORY else None
        if form.opcode in _MEMORY and memory is None:
            return None
        raw = _operands(builder, form, chosen, memory)
        if raw is None:
            return None
        if form.opcode in _USES_CARRY:
            _make_carry(builder)
        state = opcode_path.walk(opcodes(), form.opcode, modifiers)
        before = len(trace.body)
        trace.emit(state, raw, fresh=False)
        bound = trace.body[before]
        if bound.form is not form:  # another form of the same spelling takes these operands
            return None
        for operand in raw:
            for register in _destinations(form, chosen, raw, operand):
                builder.store(register)
        if _SETS_CARRY in modifiers:
            carry = trace.register(u32)
            trace.write("addc.u32", carry, Number(0), Number(0))
            builder.store(carry)
        if memory is not None:
            _store_memory(builder, memory)
        name = f"k_{zlib.crc32((spelling + _settled(form).syntax).encode()):08x}"
        kernel = trace.finish(name)
    return Case(name, spelling, form, kernel, builder.results, memory is not None)


def _destinations(
    form: Form, chosen: dict[str, Option], raw: list[Raw], operand: Raw
) -> list[Register]:
    specs = [s for s in form.operands if s.when is None or s.when in chosen]
    spec = specs[next(i for i, r in enumerate(raw) if r is operand)]
    if spec.access == "in" or spec.kind != "value":
        return []
    if isinstance(operand, Pair):
        return [r for r in (operand.first, operand.second) if isinstance(r, Register)]
    if isinstance(operand, tuple):
        return [r for r in operand if isinstance(r, Register)]
    return [operand] if isinstance(operand, Register) else []


def _operands(
    builder: _Builder, form: Form, chosen: dict[str, Option], memory: Address | None
) -> list[Raw] | None:
    raw: list[Raw] = []
    for spec in form.operands:
        if spec.when is not None and spec.when not in chosen:
            continue
        if spec.kind == "address":
            assert memory is not None
            raw.append(memory)
            continue
        if spec.optional and spec.second is None and form.opcode not in ("set", "setp"):
            continue
        operand = _value(builder, form, spec, chosen)
        if operand is None:
            return None
        raw.append(operand)
    return raw


def _value(
    builder: _Builder, form: Form, spec: OperandSpec, chosen: dict[str, Option]
) -> Raw | None:
    if spec.kind == "label":
        return None
    dtype = _type(spec, chosen)
    length = operand_types.length_of(spec, chosen)
    if spec.name == "membermask":
        return Number(FULL_WARP)
    if spec.name == "policy":
        policy = builder.trace.register(dtype)
        builder.trace.write("createpolicy.fractional.L2::evict_first.b64", policy, Number(1.0))
        return policy
    if spec.kind == "immediate":
        legal = sorted(spec.legal) if spec.legal is not None else [0x96, 1, 7]
        return Number(legal[zlib.crc32(form.syntax.encode()) % len(legal)])
    if spec.access == "out":
        made = tuple(builder.trace.register(dtype) for _ in range(length))
        if spec.second is not None:
            return Pair(made[0], builder.trace.register(pred))
        return made if length > 1 else made[0]
    loaded = builder.load(dtype, length)
    if spec.negatable and "xor" in form.syntax:
        return Negated(loaded[0])
    return tuple(loaded) if length > 1 else loaded[0]


def _make_carry(builder: _Builder) -> None:
    """CC.CF from the sum of two inputs, different from lane to lane."""
    low = builder.trace.register(b32)
    (value,) = builder.load(b32, 1)
    builder.trace.write("add.cc.u32", low, value, value)


def _memory(builder: _Builder, form: Form, chosen: dict[str, Option]) -> Address | None:
    """Memory of one thread in the form's space, filled from the input."""
    (spec,) = [s for s in form.operands if s.kind == "address"]
    option = chosen.get(spec.spaces[0])
    space = (option.name if option else spec.spaces[0]).split("::")[0]
    trace = builder.trace
    words = builder.load(b32, SLOT // 4)
    if "nc" in chosen:  # memory that nothing writes while the kernel runs
        return Address(builder.input)
    if space in ("global", "generic"):
        # The last quarter of the output is the memory, so that the host sees it.
        base: Register = builder.output
        offset = 3 * CASES * SLOT
        if space == "generic":
            base = trace.register(u64)
            trace.write("cvta.global.u64", base, builder.output)
        for i, word in enumerate(words):
            trace.write("st.global.b32", Address(builder.output, offset + 4 * i), word)
        return Address(base, offset)
    if space not in ("shared", "local"):
        return None
    per_thread = SLOT if space == "shared" else 0
    variable: Variable = trace.variable(space, SLOT * (THREADS if per_thread else 1), 128, "memory")
    base = trace.register(u32)

    start, local = trace.register(u32), trace.register(u32)
    trace.write("mov.u32", start, Symbol(variable))
    trace.write("and.b32", local, builder.thread, Number(THREADS - 1))
    trace.write("mad.lo.u32", base, local, Number(per_thread), start)
    for i, word in enumerate(words):
        trace.write(f"st.{space}.b32", Address(base, 4 * i), word)
    return Address(base)


def _store_memory(builder: _Builder, memory: Address) -> None:
    """What the instruction left in shared or local memory, to the last quarter of the output."""
    trace = builder.trace
    assert isinstance(memory.base, Register)
    if memory.base.dtype is not u32:
        return
    space = trace.variables[-1].space
    for i in range(SLOT // 4):
        word = trace.register(b32)
        trace.write(f"ld.{space}.b32", word, Address(memory.base, 4 * i))
        trace.write("st.global.b32", Address(builder.output, 3 * CASES * SLOT + 4 * i), word)
