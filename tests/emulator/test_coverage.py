"""Which spellings of the ISA the emulator runs: all, but those listed here with the reason."""

from __future__ import annotations

import importlib.util
import random
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pyptx import _emulator as emulator
from pyptx._ir import Instruction, Kernel, Place
from pyptx._isa.model import Form
from pyptx._isa.sample import LABEL, PARAMETER, VARIABLES, render, sample
from pyptx._isa.table import forms
from pyptx._operands import Operand, Register, TensorAddress, replaced
from pyptx._target import Target

PER_FORM = 4
BATCH = 2000


class Renumber:
    """Gives the registers of many operand lists numbers of their own."""

    def __init__(self) -> None:
        self.registers: list[Register] = []
        self.seen: dict[tuple[int, Register], Register] = {}
        self.list = 0

    def all(self, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        self.list += 1
        return tuple(replaced(o, self.one) for o in operands)

    def one(self, register: Register) -> Register:
        key = (self.list, register)
        if key not in self.seen:
            self.seen[key] = replace(register, index=len(self.registers))
            self.registers.append(self.seen[key])
        return self.seen[key]


def kernel(form: Form, lists: list[tuple[tuple[str, ...], tuple[Operand, ...]]]) -> Kernel:
    renumber = Renumber()
    body = [Instruction(form, modifiers, renumber.all(operands)) for modifiers, operands in lists]
    return Kernel(
        "coverage", (PARAMETER,), tuple(VARIABLES.values()), (), tuple(renumber.registers),
        (*body, Place(LABEL)),
    )  # fmt: skip


def samples(form: Form, size: int) -> list[tuple[tuple[str, ...], tuple[Operand, ...]]]:
    """Spellings of a form, each with every kind of operand list that fits it.

    Of textures those without a sampler or a depth, with which none runs.
    """
    return [each for each in rendered(form, size) if not beyond_textures(form, each[1])]


def rendered(form: Form, size: int) -> list[tuple[tuple[str, ...], tuple[Operand, ...]]]:
    generator = random.Random(form.syntax)
    return [
        (modifiers, operands)
        for modifiers in sample(form, size, generator)
        for operands in render(form, modifiers)
    ]


def beyond_textures(form: Form, operands: tuple[Operand, ...]) -> bool:
    """Whether these are operands of a texture with a sampler of its own, or compared to a depth."""
    if form.opcode not in ("tex", "tld4"):
        return False
    sampler = any(isinstance(o, TensorAddress) and o.between for o in operands)
    return sampler or any(o.name == "f" for o in form.operands)


def refused(form: Form, size: int) -> dict[str, list[str]]:
    """Spellings of a form that do not run, each with the operand lists that were refused."""
    return refused_of(form, samples(form, size))


def refused_of(
    form: Form, lists: list[tuple[tuple[str, ...], tuple[Operand, ...]]]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for start in range(0, len(lists), BATCH):
        rest = lists[start : start + BATCH]
        while rest:
            # An error names each spelling once; what it names is taken out, so that all are found.
            image = emulator.encode(kernel(form, rest), Target.parse("sm_90a"))
            missing = emulator.unsupported(image)
            if not missing:
                break
            for index, spelling in missing.items():
                found.setdefault(spelling, []).append(repr(rest[index][1]))
            rest = [item for i, item in enumerate(rest) if i not in missing]
    return found


def arithmetic() -> dict[str, str]:
    """What the tests of the arithmetic chapters list."""
    path = Path(__file__).parents[1] / "semantics/cases.py"
    spec = importlib.util.spec_from_file_location("arithmetic_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.NOT_EMULATED


NOT_EMULATED = arithmetic()
"""Spellings that the emulator refuses, with the reason."""

WITHOUT = {
    r"mbarrier\..*\blayout::v1\b.*|mbarrier\.check_layout\..*": "there is one layout of mbarriers",
    r"mbarrier\..*\bphase_type::.*": "phases of the one layout have no types and no reports",
    r"cp\.async\.bulk\..*ignore_oob.*": "what it leaves out has no defined value",
    r"cp\.(reduce\.)?async\.bulk\..*\brelaxed\b.*": "all copies are weak",
    r"cp\.async\.bulk\..*cp_mask.*": "an instruction of sm_100",
    r"(st|red)\.async\..*\brelease\b.*": "an instruction of sm_100",
    r"st\.async\..*b128": "operands of st.async have up to 64 bits",
    r"fence\.proxy\..*fabric.*": "an instruction of sm_100",
    r"cp\.(reduce\.)?async\.bulk\..*im2col(_no_offs)?::w.*": "only figures show where halos stand",
    r"multimem\..*": "the emulator has one GPU, and so no multimem addresses",
    r"clusterlaunchcontrol\..*": "an instruction of sm_100, which the emulator's clusters lack",
    r"(ld|st)matrix\..*\b(m16n16|m8n16|m16n8)\b.*": "matrices of bytes are those of sm_100",
    r"tcgen05\.(alloc|dealloc)\.exclusive\..*": "instructions of PTX 9.4",
    r"tcgen05\.ld\.(red\.)?spcompress\..*": "instructions of sm_107",
    r"tcgen05\.cp\..*\bb4x16_p64\b.*": "only a figure shows the bits of elements of 4 bits",
    r"tcgen05\.mma\..*\bashift\b.*": "the manual leaves open which rows of A it multiplies",
    r"tcgen05\.mma\..*\bdecompress::lut::b\b.*": "of sm_107",
    r"tcgen05\.mma\..*\b(kind::ti16|collector::b::\w+)\b.*": "of sm_107",
    r"tcgen05\.commit\..*\b(sync_restrict::[\w:]+|multicast::cluster::16b)\b.*": "of PTX 9.4",
    r"tex\.(base\.)?a?2dms\..*": "there are no textures of several samples",
    r"tex\.((base|level|grad)\.)?(2d|3d|a[12]d)\..*\.s32": "tex1Dfetch alone takes integers",
    r"tex\.(level|grad)\.1d\..*\.s32": "linear memory has no levels",
    r"tld4\..\.a?cube\..*": "the manual leaves open which texels those of an edge are",
    r"txq\.(num_.*|filter_mode|addr_mode_\d|force_unnormalized_coords)\.b32": "has no numbers",
    r"txq\.level\..*": "textures have one level",
    r"istypep\.samplerref": "textures have their samplers in them",
    r"suq\.memory_layout\.b32": "tells arrays, of which the emulator has none, from linear memory",
    r"(sust|sured)\.p\..*": "the manual leaves open how a device rounds to the surface's format",
    r"(alloca|stacksave|stackrestore)\..*": "local memory is laid out before the kernel runs",
    r"(fabric|createpolicy\.range\.fabric)\..*": "the emulator has one GPU, and so no fabric",
    r"st\.bulk.*": "an instruction of sm_100 beside asynchronous stores",
    r"(add|sub|mul|fma)\..*\be[45]m[23]x4\..*": "instructions of sm_100a with small numbers",
    r".*\bmulticast::cluster::32b\b.*": "clusters of more than 16 CTAs are those of sm_107",
    r"cp\.async\.bulk\..*\bmbarrier::report::.*": "mbarriers make no reports",
    r"(applypriority\.async|cp\.async\.bulk\.prefetch\..*evict_last).*": "hints of sm_107",
    r"sp(de)?compress\..*": "instructions of sm_107",
    r".*\boverride::.*": "what sm_107 takes in place of fields of a tensor map",
    r"cp\.async\.bulk\..*\bmulticast::cluster::16b.*": "PTX 9.4's other name of multicast::cluster",
    r"fence\..*\bshared::cluster::read\b.*": "a fence of PTX 9.4 for the reads of copies alone",
    r"ld\.proxy::readonly\..*": "a proxy of PTX 9.4",
    r"prefetch\..*valid_addr": "a hint of PTX 9.4",
    r"cvt\.(sat\.)?[us]\d+\.[us]64": "of %clock64 alone, which changes, so that mov reads it",
}
"""Patterns for whole spellings that the emulator refuses too, with the reason."""


def listed(spelling: str) -> bool:
    return spelling in NOT_EMULATED or any(re.fullmatch(p, spelling) for p in WITHOUT)


def check(form: Form, per_form: int) -> None:
    sampled = {".".join((form.opcode, *m)) for m, _ in samples(form, per_form)}
    found = refused(form, per_form)
    assert set(found) == {spelling for spelling in sampled if listed(spelling)}, found


@pytest.mark.parametrize("opcode", sorted({form.opcode for form in forms()}))
def test_every_form_is_emulated_or_listed(opcode: str):
    for form in forms():
        if form.opcode == opcode:
            check(form, PER_FORM)


@pytest.mark.parametrize("opcode", ["tex", "tld4"])
def test_no_texture_has_a_sampler_of_its_own_or_a_depth(opcode: str):
    some = 0
    for form in forms():
        if form.opcode == opcode:
            lists = [each for each in rendered(form, 3) if beyond_textures(form, each[1])]
            some += len(lists)
            assert sum(map(len, refused_of(form, lists).values())) == len(lists)
    assert some > 0


@pytest.mark.sweep
@pytest.mark.parametrize("opcode", sorted({form.opcode for form in forms()}))
def test_every_spelling_is_emulated_or_listed(opcode: str):
    for form in forms():
        if form.opcode == opcode:
            check(form, 10**6)


def test_what_is_listed_exists():
    opcodes = {form.opcode for form in forms()}
    for spelling, reason in NOT_EMULATED.items():
        opcode, *modifiers = spelling.split(".")
        assert opcode in opcodes
        assert any(f.opcode == opcode and f.assign(tuple(modifiers)) for f in forms()), spelling
        assert reason
    spellings = [".".join((f.opcode, *m)) for f in forms() for m, _ in samples(f, 1)]
    for pattern, reason in WITHOUT.items():
        assert any(re.fullmatch(pattern, spelling) for spelling in spellings), pattern
        assert reason


def test_a_spelling_that_is_not_emulated_is_found():
    known = next(iter(NOT_EMULATED))
    opcode, *modifiers = known.split(".")
    (form,) = (f for f in forms() if f.opcode == opcode and f.assign(tuple(modifiers)))
    assert known in refused(form, 10**6)
