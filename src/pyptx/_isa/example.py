"""An example for each instruction: a kernel that has it, from the table or written by hand.

What an operand needs before it, a register, memory, a label, follows from its row. Where the
instruction needs more to make sense, `isa.written` has the lines.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyptx._isa.model import PARTS, Form, OperandSpec, Option
from pyptx._isa.opcode_path import python_spelling
from pyptx._isa.operand_types import length_of, type_of
from pyptx._isa.sample import least
from pyptx._isa.written import CLUSTERS, THREADS, WRITTEN
from pyptx._target import TARGETS, Target
from pyptx.types import DTYPES, DType, Kind

PREFERRED: Final = ("sm_90a", "sm_100a", "sm_120a", "sm_80")
_SPACES: Final = ("global", "shared", "shared::cta", "generic", "shared::cluster")
"""State spaces that an example prefers, in this order."""


@dataclass(frozen=True, slots=True)
class Example:
    """A kernel as Python text, for a target, and the form and modifiers that it shows."""

    form: Form
    modifiers: tuple[str, ...]
    target: Target
    lines: tuple[str, ...]

    @property
    def uses_memory(self) -> bool:
        """Whether its kernel takes and gives an array of u32."""
        return any(re.search(r"\b[xyXY]\b", line) for line in self.lines)

    @property
    def spelling(self) -> str:
        """The instruction that it shows, as in PTX."""
        return ".".join((self.form.opcode, *self.modifiers))

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return next((n for start, n in THREADS.items() if self.spelling.startswith(start)), 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that its kernel takes, and of the one that it gives."""
        return (32, 32) if any("tma_desc" in line for line in self.lines) else (1024,)

    @property
    def text(self) -> str:
        """The program: imports and the kernel `example`."""
        sizes = ", ".join(map(str, self.shape))
        specs = f"(Tile({sizes}, u32),)" if self.uses_memory else "()"
        outputs = f"(Tile({sizes}, u32, partial=True),)" if self.uses_memory else "()"
        launch = "grid=2, cluster=2, " if self.spelling.startswith(CLUSTERS) else ""
        head = f"@kernel(in_specs={specs}, out_specs={outputs}, {launch}block={self.threads}, "
        body = list(self.lines)
        if any(re.search(r"\b[xy]\b", line) for line in self.lines):
            body.insert(0, "x, y = ptx.global_ptrs(X, Y)")
        parameters = "X, Y" if self.uses_memory else ""
        kernel = [
            f'{head}arch="{self.target}")',
            f"def example({parameters}):",
            *(f"    {line}" for line in body),
        ]
        return "\n".join((*self._imports("\n".join(kernel)), "", "", *kernel, ""))

    def _imports(self, text: str) -> Iterator[str]:
        names = [
            n for n in ("Tile", "kernel", "ptx", "reg", "smem") if re.search(rf"\b{n}\b", text)
        ]
        yield f"from pyptx import {', '.join(names)}"
        plain = re.sub(r"ptx\.inst[\w.]*", "", text)
        types = [name for name in DTYPES if re.search(rf"(?<![\w.]){name}\b", plain)]
        if types:
            yield f"from pyptx.types import {', '.join(sorted(types))}"


def example(forms: tuple[Form, ...]) -> Example:
    """An example for the rows of an opcode in one section of the manual."""
    written = WRITTEN.get(forms[0].section, ())
    shown = _written(forms, "\n".join(written))
    if shown is not None:
        return Example(*shown, target(*shown), written)
    form, modifiers = forms[0], _plainest(forms[0])
    return Example(form, modifiers, target(form, modifiers), _generated(form, modifiers))


def target(form: Form, modifiers: tuple[str, ...]) -> Target:
    """The target to show a spelling for: one of `PREFERRED`, or the first that has it."""
    options = (form.assign(modifiers) or {}).values()
    sets = [form.availability.targets, *(o.availability.targets for o in options)]
    have = frozenset[Target].intersection(*sets)
    preferred = [Target.parse(name) for name in PREFERRED]
    return next(t for t in (*preferred, *TARGETS) if t in have)


def _written(forms: tuple[Form, ...], text: str) -> tuple[Form, tuple[str, ...]] | None:
    """The first of the forms that lines have, with its modifiers."""
    for form in forms:
        for spelling in re.findall(rf"ptx\.inst\.{form.opcode}\b[\w.]*", text):
            modifiers = _modifiers(form, spelling)
            if modifiers is not None:
                return form, modifiers
    return None


def _modifiers(form: Form, written: str) -> tuple[str, ...] | None:
    """The modifiers of a Python spelling where they are a form's."""
    by_name = {
        python_spelling(o.name).removeprefix("ptx.inst."): o.name
        for slot in form.slots
        for o in slot.options
    }
    parts = written.split(".")[3:]
    if any(part not in by_name for part in parts):
        return None
    modifiers = tuple(by_name[part] for part in parts)
    chosen = form.assign(modifiers)
    return modifiers if chosen is not None and form.allows(chosen) else None


def _plainest(form: Form) -> tuple[str, ...]:
    """The fewest modifiers, in a state space where an example can have memory."""
    for slot in form.slots:
        for space in _SPACES:
            if slot.name in ("space", "ss") and slot.option(space):
                return least(form, space, slot.name)
    return least(form)


# ---- from the row -------------------------------------------------------------------------------


def _generated(form: Form, modifiers: tuple[str, ...]) -> tuple[str, ...]:
    chosen = form.assign(modifiers) or {}
    lines: list[str] = []
    given: list[str] = []
    result = ""
    specs = [o for o in form.operands if o.when is None or o.when in chosen]
    for position, spec in enumerate(s for s in specs if not s.optional):
        if position == 0 and spec.access == "out":
            result = "" if spec.kind == "sink" else f"{name_of(spec)} = "
            if spec.second != "required" and not spec.partial:
                continue
            result = ""
        given.append(_prepared(form, spec, chosen, lines))
    call = f"{result}{python_spelling('.'.join((form.opcode, *modifiers)))}"
    lines.append(f"{call}({', '.join(given)})")
    return tuple(lines)


def name_of(spec: OperandSpec) -> str:
    """What a variable for an operand is called."""
    taken = keyword.iskeyword(spec.name) or spec.name in ("x", "y", "ptx", "reg", "smem")
    return f"{spec.name}_" if taken else spec.name


def _prepared(form: Form, spec: OperandSpec, chosen: dict[str, Option], lines: list[str]) -> str:
    """Append what makes an operand; what it is called."""
    name = name_of(spec)
    if spec.kind == "immediate" or spec.legal is not None:
        return str(_least_legal(spec))
    if spec.kind == "address":
        return _address(form, spec, chosen, lines)
    if spec.kind == "fabric":
        lines.append(f"{name} = {_set(DTYPES['u32'])}")
        offsets = [_prepared(form, each, chosen, lines) for each in spec.inner]
        return f"ptx.fabric_handle({', '.join((name, *offsets))})"
    if spec.partial or spec.minus == "required":
        lines.append(f"{name} = {_set(type_of(spec, chosen))}")
        part = f'ptx.part({name}, "{PARTS[spec.parts][0]}")' if spec.partial else name
        return f"ptx.minus({part})" if spec.minus == "required" else part
    if spec.kind == "tensor":
        inside = (_prepared(form, each, chosen, lines) for each in spec.inner if not each.optional)
        between = "".join(f"{each}, " for each in inside)
        coordinates = ["0"] * length_of(spec, chosen)
        lines.append(f"{name} = reg.scalar(u64, init=0)")
        zero = "0" if type_of(spec, chosen).is_integer else "zero"
        if zero == "zero":
            lines.append("zero = reg.scalar(f32, init=0)")
        position = ", ".join(zero if c == "0" else c for c in coordinates)
        return f"ptx.addr({name}, {between}[{position}])"
    if spec.kind in ("label", "labels"):
        lines.append(f"{name} = ptx.label()")
        return name if spec.kind == "label" else f"[{name}]"
    if spec.second == "required":
        length = length_of(spec, chosen)
        first = _new(type_of(spec, chosen))
        first = f"[{first} for _ in range({length})]" if length > 1 or spec.braces else first
        lines.append(f"{name} = ptx.pair({first}, reg.scalar(pred))")
        return name
    dtype = type_of(spec, chosen)
    if spec.braces or length_of(spec, chosen) > 1:
        lines.append(f"{name} = [{_set(dtype)} for _ in range({length_of(spec, chosen)})]")
    elif spec.name == "membermask":
        return "0xFFFFFFFF"
    else:
        lines.append(f"{name} = {_set(dtype, len(lines) + 1, wider=spec.wider)}")
    return name


def _least_legal(spec: OperandSpec) -> int:
    if not spec.legal:
        return 0
    return spec.legal[0] if isinstance(spec.legal, range) else min(spec.legal)


def _new(dtype: DType) -> str:
    return f"reg.scalar({dtype})"


def _set(dtype: DType, value: int = 1, *, wider: bool = False) -> str:
    """A register that holds something."""
    if dtype.kind is Kind.PREDICATE:
        return "reg.scalar(u32, init=1) == 1"
    if dtype.bits == 8 and wider:
        return f"reg.scalar({dtype.name[0]}16, init={value})"
    if dtype.bits == 8:  # a register that no constant is moved to
        return "ptx.inst.cvt.u8.u16(reg.scalar(u16, init=1))"
    if dtype.bits == 128:
        return "ptx.inst.mov.b128([reg.scalar(b64, init=0), reg.scalar(b64, init=0)])"
    if dtype.kind is Kind.PACKED and dtype.name not in ("f16x2", "bf16x2"):
        return f"reg.scalar(b{max(dtype.bits, 16)}, init=1)"
    if (dtype.is_float and dtype.bits < 16) or dtype.name == "tf32":
        return f"reg.scalar(b{max(dtype.bits, 16)}, init=1)"
    floats = dtype.is_float or dtype.is_packed
    return f"reg.scalar({dtype}, init={value}{'.5' if floats else ''})"


_READS: Final = frozenset(("ld", "ldu", "prefetch", "prefetchu", "isspacep"))


def _address(form: Form, spec: OperandSpec, chosen: dict[str, Option], lines: list[str]) -> str:
    named = (chosen[s].name if s in chosen else s for s in spec.spaces)
    space = next(iter(named)).partition("::")[0]
    name = name_of(spec)
    if space == "shared":
        if name.startswith("mbar"):
            lines.append(f"{name} = smem.mbarrier()")
            lines.append(f"{name}.init(1)")
        else:
            lines.append(f"{name} = smem.alloc(b64, 128, align=128)")
        return name
    if space == "tmem":
        lines.append(f"{name} = reg.scalar(b32, init=0)")
        return f"ptx.addr({name})"
    if space == "handle":
        lines.append(f"{name} = reg.scalar(u64, init=0)")
        return f"ptx.addr({name})"
    if space == "local":
        return "ptx.addr(0)"
    return f"ptx.addr({'x' if form.opcode in _READS or name == 'src' else 'y'})"
