"""Every spelling of the arithmetic chapters that the emulator runs, and inputs to try it on.

A `Case` names an instruction, its operands and how exact the emulator is; `inputs` makes operand
values from the boundaries of each type and random bits. Neither knows the model or the emulator, so
that the same cases run on a GPU.

Operands are written as types: `f32` a source, `=f32` a destination, `u8@32` a type in a wider
register, `u32:shift` a source whose values are chosen for a purpose, `#33` a constant, `=pred|pred`
a pair of destinations, `!pred` a negated predicate, `{b16 b16}` a vector, `cc` and `=cc` the carry
flag going in and coming out, `-u32.h1` a part of a register that is negated.
"""

from __future__ import annotations

import itertools
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

INT: Final = "u16,u32,u64,s16,s32,s64"
RND: Final = "rn,rz,rm,rp"
FLOAT_CMP: Final = "eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan"
INT_CMP: Final = "eq,ne,lt,le,gt,ge"
EXACT: Final = ("exact", "")
CHAPTERS: Final = (
    "Integer Arithmetic Instructions",
    "Extended-Precision Integer Arithmetic Instructions",
    "Floating-Point Instructions",
    "Mixed Precision Floating-Point Instructions",
    "Half Precision Floating-Point Instructions",
    "Comparison and Selection Instructions",
    "Half Precision Comparison Instructions",
    "Logic and Shift Instructions",
)
"""The manual's chapters of arithmetic. mov, prmt and cvt of another one are here too."""


@dataclass(frozen=True)
class Case:
    """One spelling. `exactness` is ("exact", "") or ("approx", bound as the manual gives it).

    `sm` is the first target that has it, by compute capability.
    """

    spelling: str
    operands: tuple[str, ...]
    exactness: tuple[str, str] = EXACT
    sm: int = 75

    @property
    def sources(self) -> tuple[str, ...]:
        """Types of the values that go in, in order."""
        return tuple(
            t for o in self.operands if not o.startswith("=") for t in elements(o) if t[0] != "#"
        )

    @property
    def destinations(self) -> tuple[str, ...]:
        """Types of the values that come out, in order."""
        return tuple(t for o in self.operands if o.startswith("=") for t in elements(o[1:]))

    def __str__(self) -> str:
        return " ".join((self.spelling, *self.operands))


def elements(operand: str) -> list[str]:
    """The types in one operand: several for a pair or a vector."""
    return [t.partition(".")[0] for t in operand.strip("{}!-").replace("|", " ").split()]


def expand(pattern: str) -> Iterator[str]:
    """`add.[rn,rz]?.[f32,f64]`: every choice; with a question mark also none, dot included."""
    parts: list[list[str]] = []
    for choice, optional, text in re.findall(r"\.\[([^\]]*)\](\?)?|([^\[]+?(?=\.\[|$))", pattern):
        if text:
            parts.append([text])
        else:
            parts.append([f".{c}" for c in choice.split(",")] + ([""] if optional else []))
    for combination in itertools.product(*parts):
        yield "".join(combination)


def cases(
    pattern: str, operands: str, exactness: tuple[str, str] = EXACT, sm: int = 75
) -> list[Case]:
    """Cases of a pattern. `T` in an operand is the last modifier, `W` the integer twice as wide."""
    found: list[Case] = []
    for spelling in expand(pattern):
        last = spelling.rsplit(".", 1)[1]
        wide = last[0] + str(2 * int(last[1:])) if last[1:].isdigit() else last
        names = {"T": last, "W": wide}
        written = tuple(
            re.sub(r"\b[TW]\b", lambda m, names=names: names[m[0]], o)
            for o in re.findall(r"=?\{[^}]*\}|\S+", operands)
        )
        found.append(Case(spelling, written, exactness, sm))
    return found


def integer_cases() -> list[Case]:
    return [
        *cases(f"add.[{INT}]", "=T T T"),
        *cases(f"sub.[{INT}]", "=T T T"),
        *cases("add.[u16x2,s16x2]", "=T T T", sm=90),
        *cases("add.sat.[s32,u32]", "=T T T"),
        *cases("add.sat.[u16x2,s16x2]", "=T T T", sm=100),
        *(c for op in ("add", "sub") for c in cases(f"{op}.[sat]?.[u8x4,s8x4]", "=T T T", sm=100)),
        *(
            c
            for op in ("min", "max")
            for c in cases(f"{op}.[u8x4,s8x4,relu.s8x4]", "=T T T", sm=100)
        ),
        *cases("neg.s8x4", "=T T", sm=100),
        *cases("clmad.[lo,hi].u64", "=T T T T", sm=80),
        *cases("sub.sat.s32", "=T T T"),
        *cases(f"mul.[lo,hi].[{INT}]", "=T T T"),
        *cases("mul.wide.[u16,s16,u32,s32]", "=W T T"),
        *cases(f"mad.[lo,hi].[{INT}]", "=T T T T"),
        *cases("mad.wide.[u16,s16,u32,s32]", "=W T T W"),
        *cases("mad.hi.sat.s32", "=T T T T"),
        *cases("mul24.[lo,hi].[u32,s32]", "=T T T"),
        *cases("mad24.[lo,hi].[u32,s32]", "=T T T T"),
        *cases("mad24.hi.sat.s32", "=T T T T"),
        *cases(f"sad.[{INT}]", "=T T T T"),
        *cases(f"div.[{INT}]", "=T T T"),
        *cases(f"rem.[{INT}]", "=T T T"),
        *cases("abs.[s16,s32,s64]", "=T T"),
        *cases("neg.[s16,s32,s64]", "=T T"),
        *cases(f"min.[{INT}]", "=T T T"),
        *cases(f"max.[{INT}]", "=T T T"),
        *cases("min.[relu]?.s16x2", "=T T T", sm=90),
        *cases("max.[relu]?.s16x2", "=T T T", sm=90),
        *cases("min.u16x2", "=T T T", sm=90),
        *cases("max.u16x2", "=T T T", sm=90),
        *cases("min.relu.s32", "=T T T", sm=90),
        *cases("max.relu.s32", "=T T T", sm=90),
        *cases("popc.[b32,b64]", "=u32 T"),
        *cases("clz.[b32,b64]", "=u32 T"),
        *cases("bfind.[shiftamt]?.[u32,u64,s32,s64]", "=u32 T"),
        *cases("fns.b32", "=b32 b32 u32:bit s32:count"),
        *cases("brev.[b32,b64]", "=T T"),
        *cases("bfe.[u32,u64,s32,s64]", "=T T u32:field u32:field"),
        *cases("bfi.[b32,b64]", "=T T T u32:field u32:field"),
        *cases("szext.[clamp,wrap].[u32,s32]", "=T T u32:shift"),
        *cases("bmsk.[clamp,wrap].b32", "=b32 u32:shift u32:shift"),
        *cases("dp4a.[u32,s32].[u32,s32]", "=b32 b32 b32 b32"),
        *cases("dp2a.[lo,hi].[u32,s32].[u32,s32]", "=b32 b32 b32 b32"),
    ]


def extended_cases() -> list[Case]:
    types = "u32,s32,u64,s64"
    return [
        *cases(f"add.cc.[{types}]", "=T =cc T T"),
        *cases(f"addc.[{types}]", "=T T T cc"),
        *cases(f"addc.cc.[{types}]", "=T =cc T T cc"),
        *cases(f"sub.cc.[{types}]", "=T =cc T T"),
        *cases(f"subc.[{types}]", "=T T T cc"),
        *cases(f"subc.cc.[{types}]", "=T =cc T T cc"),
        *cases(f"mad.[lo,hi].cc.[{types}]", "=T =cc T T T"),
        *cases(f"madc.[lo,hi].[{types}]", "=T T T T cc"),
        *cases(f"madc.[lo,hi].cc.[{types}]", "=T =cc T T T cc"),
    ]


def approx(bound: str) -> tuple[str, str]:
    return ("approx", bound)


def float_cases() -> list[Case]:
    return [
        *cases("testp.[finite,infinite,number,notanumber,normal,subnormal].[f32,f64]", "=pred T"),
        *cases("copysign.[f32,f64]", "=T T T"),
        *(c for op in ("add", "sub", "mul") for c in two_operand(op)),
        *cases(f"fma.[{RND}].[ftz]?.[sat]?.f32", "=T T T T"),
        *cases(f"fma.[{RND}].[ftz]?.f32x2", "=T T T T", sm=100),
        *cases(f"fma.[{RND}].f64", "=T T T T"),
        *cases(f"mad.[{RND}].[ftz]?.[sat]?.f32", "=T T T T"),
        *cases(f"mad.[{RND}].f64", "=T T T T"),
        *cases("div.approx.[ftz]?.f32", "=T T T", approx("2 ulp for 2^-126 <= |b| <= 2^126")),
        *cases("div.full.[ftz]?.f32", "=T T T", approx("2 ulp")),
        *cases(f"div.[{RND}].[ftz]?.f32", "=T T T"),
        *cases(f"div.[{RND}].f64", "=T T T"),
        *(c for op in ("abs", "neg") for c in cases(f"{op}.[ftz]?.f32", "=T T")),
        *cases("abs.f64", "=T T"),
        *cases("neg.f64", "=T T"),
        *(c for op in ("min", "max") for c in float_extremum(op)),
        *cases("rcp.approx.[ftz]?.f32", "=T T", approx("1 ulp")),
        *cases(f"rcp.[{RND}].[ftz]?.f32", "=T T"),
        *cases(f"rcp.[{RND}].f64", "=T T"),
        *cases("rcp.approx.ftz.f64", "=T T", approx("relative 2^-20")),
        *cases("sqrt.approx.[ftz]?.f32", "=T T", approx("relative 2^-23")),
        *cases(f"sqrt.[{RND}].[ftz]?.f32", "=T T"),
        *cases(f"sqrt.[{RND}].f64", "=T T"),
        *cases("rsqrt.approx.[ftz]?.f32", "=T T", approx("relative 2^-22.9")),
        *cases("rsqrt.approx.f64", "=T T", approx("relative 2^-52")),
        *cases("rsqrt.approx.ftz.f64", "=T T", approx("relative 2^-20")),
        *cases("sin.approx.[ftz]?.f32", "=T T", approx("absolute 2^-20.5 of the truncated angle")),
        *cases("cos.approx.[ftz]?.f32", "=T T", approx("absolute 2^-20.5 of the truncated angle")),
        *cases(
            "lg2.approx.[ftz]?.f32", "=T T",
            approx("absolute 2^-22 for 0.5 < a < 2, else relative 2^-22"),
        ),
        *cases("ex2.approx.[ftz]?.f32", "=T T", approx("2 ulp")),
        *cases("tanh.approx.f32", "=T T", approx("relative 2^-11")),
        *cases(f"add.[{RND}]?.[sat]?.f32.[f16,bf16]", "=f32 T f32", sm=100),
        *cases(f"sub.[{RND}]?.[sat]?.f32.[f16,bf16]", "=f32 T f32", sm=100),
        *cases(f"fma.[{RND}].[sat]?.f32.[f16,bf16]", "=f32 T T f32", sm=100),
    ]  # fmt: skip


def two_operand(op: str) -> list[Case]:
    return [
        *cases(f"{op}.[{RND}]?.[ftz]?.[sat]?.f32", "=T T T"),
        *cases(f"{op}.[{RND}]?.[ftz]?.f32x2", "=T T T", sm=100),
        *cases(f"{op}.[{RND}]?.f64", "=T T T"),
    ]


def float_extremum(op: str) -> list[Case]:
    return [
        *cases(f"{op}.[ftz]?.[NaN]?.[xorsign.abs]?.f32", "=T T T"),
        *cases(f"{op}.[ftz]?.[NaN]?.[abs]?.f32", "=T T T T", sm=100),
        *cases(f"{op}.f64", "=T T T"),
    ]


def half_cases() -> list[Case]:
    half, brain = "f16,f16x2", "bf16,bf16x2"
    found: list[Case] = []
    for op in ("add", "sub", "mul"):
        found += cases(f"{op}.[rn]?.[ftz]?.[sat]?.[{half}]", "=T T T")
        found += cases(f"{op}.[rn]?.[{brain}]", "=T T T", sm=90)
    for op in ("neg", "abs"):
        found += cases(f"{op}.[ftz]?.[{half}]", "=T T")
        found += cases(f"{op}.[{brain}]", "=T T", sm=80)
    for op in ("min", "max"):
        found += cases(f"{op}.[ftz]?.[NaN]?.[xorsign.abs]?.[{half}]", "=T T T", sm=80)
        found += cases(f"{op}.[NaN]?.[xorsign.abs]?.[{brain}]", "=T T T", sm=80)
    return [
        *found,
        *cases(f"fma.rn.[ftz]?.[sat]?.[{half}]", "=T T T T"),
        *cases(f"fma.rn.[ftz]?.relu.[{half}]", "=T T T T", sm=80),
        *cases(f"fma.rn.[relu]?.[{brain}]", "=T T T T", sm=80),
        *cases(f"fma.rn.oob.[relu]?.[{half},{brain}]", "=T T T T", sm=90),
        *cases("tanh.approx.[f16,f16x2]", "=T T", approx("absolute 2^-10.987")),
        *cases("tanh.approx.[bf16,bf16x2]", "=T T", approx("absolute 2^-8"), sm=90),
        *cases("ex2.approx.[f16,f16x2]", "=T T", approx("relative 2^-9.9")),
        *cases("ex2.approx.ftz.[bf16,bf16x2]", "=T T", approx("relative 2^-7"), sm=90),
    ]


def compare_cases() -> list[Case]:
    joined = "and,or,xor"
    plain = [
        ("eq,ne", "", "b16,b32,b64"),
        (INT_CMP, "", "s16,s32,s64"),
        (f"{INT_CMP},lo,ls,hi,hs", "", "u16,u32,u64"),
        (FLOAT_CMP, "ftz", "f32"),
        (FLOAT_CMP, "", "f64"),
    ]
    half = [(FLOAT_CMP, "ftz", "f16", 53), (FLOAT_CMP, "", "bf16", 90)]
    found: list[Case] = []
    for names, ftz, types in plain:
        flush = f".[{ftz}]?" if ftz else ""
        found += cases(f"setp.[{names}]{flush}.[{types}]", "=pred T T")
        found += cases(f"setp.[{names}]{flush}.[{types}]", "=pred|pred T T")
        found += cases(f"setp.[{names}].[{joined}]{flush}.[{types}]", "=pred T T pred")
        found += cases(f"setp.[{names}].[{joined}]{flush}.[{types}]", "=pred|pred T T !pred")
        for result in ("u32", "s32", "f32"):
            found += cases(f"set.[{names}]{flush}.{result}.[{types}]", f"={result} T T")
            found += cases(
                f"set.[{names}].[{joined}]{flush}.{result}.[{types}]", f"={result} T T pred"
            )
        for result, sm in (("f16", 53), ("bf16", 90)):
            found += cases(f"set.[{names}]{flush}.{result}.[{types}]", f"={result} T T", sm=sm)
            found += cases(
                f"set.[{names}].[{joined}]{flush}.{result}.[{types}]", f"={result} T T !pred", sm=sm
            )
    for names, ftz, type_, sm in half:
        flush = f".[{ftz}]?" if ftz else ""
        found += cases(f"setp.[{names}]{flush}.{type_}", "=pred T T", sm=sm)
        found += cases(f"setp.[{names}].[{joined}]{flush}.{type_}", "=pred T T pred", sm=sm)
        found += cases(f"setp.[{names}]{flush}.{type_}x2", "=pred|pred T T", sm=sm)
        found += cases(f"setp.[{names}].[{joined}]{flush}.{type_}x2", "=pred|pred T T !pred", sm=sm)
        for result in (type_, "u16", "s16", "u32", "s32"):
            found += cases(f"set.[{names}]{flush}.{result}.{type_}", f"={result} T T", sm=sm)
            found += cases(
                f"set.[{names}].[{joined}]{flush}.{result}.{type_}", f"={result} T T pred", sm=sm
            )
        for result in (f"{type_}x2", "u32", "s32"):
            found += cases(f"set.[{names}]{flush}.{result}.{type_}x2", f"={result} T T", sm=sm)
            found += cases(
                f"set.[{names}].[{joined}]{flush}.{result}.{type_}x2", f"={result} T T !pred", sm=sm
            )
    found += cases(f"set.[{FLOAT_CMP}].bf16.f16", "=bf16 f16 f16", sm=90)
    found += cases(f"set.[{FLOAT_CMP}].[{joined}].bf16.f16", "=bf16 f16 f16 pred", sm=90)
    scalar = "b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64"
    found += cases(f"selp.[{scalar}]", "=T T T pred")
    for type_ in scalar.split(","):
        found += cases(f"slct.{type_}.s32", f"={type_} {type_} {type_} s32")
        found += cases(f"slct.[ftz]?.{type_}.f32", f"={type_} {type_} {type_} f32")
    return found


def logic_cases() -> list[Case]:
    bits = "b16,b32,b64"
    tables = (0x00, 0x01, 0x17, 0x3C, 0x80, 0x96, 0xAA, 0xCA, 0xCC, 0xE8, 0xF0, 0xFF)
    found = [
        *(c for op in ("and", "or", "xor") for c in cases(f"{op}.[pred,{bits}]", "=T T T")),
        *cases("and.pred", "=pred pred !pred"),
        *cases(f"not.[pred,{bits}]", "=T T"),
        *cases(f"cnot.[{bits}]", "=T T"),
        *cases("shf.[l,r].[clamp,wrap].b32", "=T T T u32:shift"),
        *cases(f"shl.[{bits}]", "=T T u32:shift"),
        *cases(f"shr.[{bits},{INT}]", "=T T u32:shift"),
    ]
    for table in tables:
        found += cases("lop3.b32", f"=b32 b32 b32 b32 #{table}")
        found += cases("lop3.[or,and].b32", f"=b32|pred b32 b32 b32 #{table} pred")
    return found


def move_cases() -> list[Case]:
    scalar = "pred,b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64,b128"
    found = [*cases(f"mov.[{scalar}]", "=T T")]
    for whole, part, count in (
        ("b16", "b8", 2), ("b32", "b16", 2), ("b32", "b8", 4), ("b64", "b32", 2), ("b64", "b16", 4),
        ("b128", "b64", 2), ("b128", "b32", 4),
    ):  # fmt: skip
        vector = "{" + " ".join([part] * count) + "}"
        found.append(Case(f"mov.{whole}", (f"={whole}", vector)))
        found.append(Case(f"mov.{whole}", (f"={vector}", whole)))
    found += cases("prmt.b32", "=b32 b32 b32 b32")
    found += cases("prmt.b32.[f4e,b4e,rc8,ecl,ecr,rc16]", "=b32 b32 b32 b32")
    return found


def conversion_cases() -> list[Case]:
    integers = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
    found: list[Case] = []
    for to, source in itertools.product(integers, integers):
        found += cases(f"cvt.[sat]?.{to}.{source}", f"={registered(to)} {registered(source)}")
    for to, source in itertools.product(("u8", "s8", "u16", "s16", "u32", "s32"), integers):
        found.append(Case(f"cvt.{to}.{source}", (f"={to}@64", f"{source}@64")))
    for to in integers:
        place = registered(to)
        found += cases(f"cvt.[rni,rzi,rmi,rpi].[ftz]?.[sat]?.{to}.f32", f"={place} f32")
        found += cases(f"cvt.[rni,rzi,rmi,rpi].[sat]?.{to}.[f16,f64]", f"={place} T")
        found += cases(f"cvt.[{RND}].[ftz]?.[sat]?.f32.{to}", f"=f32 {place}")
        for narrow in ("f16", "f64"):
            found += cases(f"cvt.[{RND}].[sat]?.{narrow}.{to}", f"={narrow} {place}")
        found += cases(f"cvt.[rni,rzi,rmi,rpi].{to}.bf16", f"={place} bf16", sm=90)
        found += cases(f"cvt.[{RND}].bf16.{to}", f"=bf16 {place}", sm=90)
    return found + float_conversions() + packed_conversions()


def float_conversions() -> list[Case]:
    found = [
        *cases("cvt.[rni,rzi,rmi,rpi]?.[ftz]?.[sat]?.f32.f32", "=T T"),
        *cases("cvt.[rni,rzi,rmi,rpi]?.[sat]?.f64.f64", "=T T"),
        *cases("cvt.[rni,rzi,rmi,rpi]?.[sat]?.f16.f16", "=T T"),
        *cases("cvt.[rni,rzi,rmi,rpi]?.bf16.bf16", "=T T", sm=90),
        *cases("cvt.[ftz]?.[sat]?.f64.f32", "=f64 f32"),
        *cases("cvt.[ftz]?.[sat]?.f32.f16", "=f32 f16"),
        *cases("cvt.[sat]?.f64.f16", "=f64 f16"),
        *cases("cvt.f32.bf16", "=f32 bf16", sm=80),
        *cases("cvt.ftz.f32.bf16", "=f32 bf16", sm=90),
        *cases(f"cvt.[{RND}].[ftz]?.f32.bf16", "=f32 bf16", sm=90),
        *cases(f"cvt.[{RND}]?.f64.bf16", "=f64 bf16", sm=90),
        *cases(f"cvt.[{RND}].f16.bf16", "=f16 bf16", sm=90),
        *cases(f"cvt.[{RND}].bf16.f16", "=bf16 f16", sm=90),
        *cases(f"cvt.[{RND}].[ftz]?.[sat]?.f32.f64", "=f32 f64"),
        *cases(f"cvt.[{RND}].[sat]?.f16.f64", "=f16 f64"),
        *cases(f"cvt.[{RND}].bf16.f64", "=bf16 f64", sm=90),
        *cases(f"cvt.[{RND}].[ftz]?.[sat]?.f16.f32", "=f16 f32"),
        *cases(f"cvt.[{RND}].[ftz]?.bf16.f32", "=bf16 f32", sm=90),
    ]
    for to in ("f16", "bf16"):
        for order in ("relu", "satfinite", "relu.satfinite", "satfinite.relu"):
            found += cases(f"cvt.[rn,rz].{order}.{to}.f32", f"={to} f32", sm=80)
    found += cases("cvt.rna.[satfinite]?.tf32.f32", "=b32 f32", sm=80)
    found += cases("cvt.[rn,rz].[relu]?.tf32.f32", "=b32 f32", sm=90)
    for order in ("satfinite", "relu.satfinite", "satfinite.relu"):
        found += cases(f"cvt.[rn,rz].{order}.tf32.f32", "=b32 f32", sm=100)
    return list(dict.fromkeys(found))


def packed_conversions() -> list[Case]:
    found: list[Case] = []
    for to in ("f16x2", "bf16x2"):
        for order in ("", ".relu", ".satfinite", ".relu.satfinite", ".satfinite.relu"):
            found += cases(f"cvt.[rn,rz]{order}.{to}.f32", f"={to} f32 f32", sm=80)
    for to, sm in (
        ("e4m3x2", 89),
        ("e5m2x2", 89),
        ("e2m3x2", 100),
        ("e3m2x2", 100),
        ("e2m1x2", 100),
    ):
        place = "b8" if to == "e2m1x2" else "b16"
        for order in ("satfinite", "satfinite.relu", "relu.satfinite"):
            found += cases(f"cvt.rn.{order}.{to}.f32", f"={place} f32 f32", sm=sm)
            found += cases(f"cvt.rn.{order}.{to}.f16x2", f"={place} f16x2", sm=sm)
            found += cases(f"cvt.rn.{order}.{to}.bf16x2", f"={place} bf16x2", sm=100)
        found += cases(f"cvt.rn.[relu]?.f16x2.{to}", f"=b32 {place}", sm=sm)
        found += cases(f"cvt.rn.[satfinite]?.[relu]?.bf16x2.{to}", f"=b32 {place}", sm=100)
    found += cases("cvt.[rz,rp].[satfinite]?.ue8m0x2.f32", "=b16 f32 f32", sm=100)
    found += cases("cvt.[rz,rp].[satfinite]?.ue8m0x2.bf16x2", "=b16 bf16x2", sm=100)
    found += cases("cvt.rn.bf16x2.ue8m0x2", "=b32 b16", sm=100)
    found += cases("cvt.pack.sat.[u16,s16].s32", "=b32 s32 s32")
    found += cases("cvt.pack.sat.[u8,s8,u4,s4,u2,s2].s32.b32", "=b32 s32 s32 b32")
    return found


def registered(type_: str) -> str:
    """An 8-bit integer stands in a register of at least 16 bits."""
    return f"{type_}@16" if type_.endswith("8") else type_


CASES: Final[tuple[Case, ...]] = tuple(
    dict.fromkeys(
        integer_cases() + extended_cases() + float_cases() + half_cases() + compare_cases()
        + logic_cases() + move_cases() + conversion_cases()
    )
)  # fmt: skip

STOCHASTIC: Final = (
    "which of the random bits belong to which element is given in figures only, and no Hopper has "
    "the instruction to compare with"
)
SCALED: Final = "new in PTX ISA 9.1, on no machine that this project has met yet"
RUBIN: Final = "of sm_107 alone, which no machine has that this project has met yet"
TWO: Final = "scaled::n2::ue8m0"
ONE: Final = "scaled::n1::ue8m0"
SMALL: Final = "e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2"
EITHER: Final = "f16x2,bf16x2"
FROM: Final = "f32,f16x2,bf16x2"
REFUSED: Final = (
    ("cvt.rs.[relu]?.[satfinite]?.[f16x2,bf16x2].f32", STOCHASTIC),
    ("cvt.rs.[relu]?.satfinite.[e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4].f32", STOCHASTIC),
    (f"cvt.rn.[satfinite]?.[relu]?.{TWO}.bf16x2.[{SMALL}]", SCALED),
    (f"cvt.rn.satfinite.[relu]?.[{TWO}]?.s2f6x2.[f32,bf16x2]", SCALED),
    (f"cvt.rn.[satfinite]?.[relu]?.[{TWO}]?.bf16x2.s2f6x2", SCALED),
    *((f"{op}.[{RND}]?.f32x2.[{EITHER}].f32x2", RUBIN) for op in ("add", "sub")),
    (f"fma.[{RND}].f32x2.[{EITHER}].f32x2.f32x2", RUBIN),
    *((f"{op}.rz.ftz.f16x2.f32x2.f32x2", RUBIN) for op in ("add", "sub", "mul")),
    *((f"{op}.rz.bf16x2.f32x2.f32x2", RUBIN) for op in ("add", "sub", "mul")),
    ("mul.bf16x2.bf16x2.f16x2", RUBIN),
    ("mul.f16x2.f16x2.bf16x2", RUBIN),
    (f"set.[{INT_CMP}].[u8x4,s8x4,u16x2,s16x2]", RUBIN),
    ("set.[lo,ls,hi,hs].[u8x4,u16x2]", RUBIN),
    ("cvt.[rn,rz].[relu]?.[satfinite]?.pzo.[f16,bf16,f16x2,bf16x2].f32", RUBIN),
    ("cvt.[rn,rz].[satfinite]?.[relu]?.pzo.tf32.f32", RUBIN),
    (f"cvt.rn.satfinite.[relu]?.[pzo]?.{ONE}.[{SMALL}].[{FROM}]", RUBIN),
    (f"cvt.rn.satfinite.[relu]?.pzo.[{SMALL}].[{FROM}]", RUBIN),
    (f"cvt.rz.satfinite.[relu]?.[pzo]?.[{ONE}]?.[{SMALL}].[{FROM}]", RUBIN),
    (f"cvt.rz.satfinite.[relu]?.[{TWO}]?.s2f6x2.[f32,bf16x2]", RUBIN),
    (f"cvt.[rn,rz,rp].[satfinite]?.ue5m3x2.[{FROM}]", RUBIN),
    (f"cvt.[rn,rz].[satfinite]?.{ONE}.ue5m3x2.[{FROM}]", RUBIN),
    ("cvt.rn.f16x2.ue5m3x2", RUBIN),
    (f"cvt.rn.[satfinite]?.[{TWO}]?.bf16x2.ue5m3x2", RUBIN),
)
NOT_EMULATED: Final[dict[str, str]] = {
    spelling: reason for pattern, reason in REFUSED for spelling in expand(pattern)
}
"""Spellings of these chapters that the emulator refuses, with the reason."""


# ---- inputs --------------------------------------------------------------------------------------

FORMATS: Final = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def float_boundaries(exponent: int, fraction: int) -> list[int]:
    """Zeros, subnormals, normals at the ends and around one, ties, infinities, NaN; both signs."""
    top, one = (1 << exponent) - 1, (1 << exponent - 1) - 1
    low = 1 << fraction
    half = low >> 1
    magnitudes = {
        0, 1, 2, 3, half, low - 2, low - 1, low, low + 1, low + half, 2 * low - 1, 2 * low, 3 * low,
        (top << fraction) - 1, (top << fraction) - 2,
        (top - 1) << fraction, (top - 1) << fraction | half,
        top << fraction, top << fraction | 1, top << fraction | half, top << fraction | low - 1,
        top << fraction | half | 1,
        *((one + k) << fraction | tail for k in (-2, -1, 0, 1, 2, 3, fraction, fraction + 1, 15)
          for tail in (0, 1, half, half - 1, low - 1) if one + k < top),
        one << fraction | half | 1, (one - fraction) << fraction, (one - fraction - 1) << fraction |
        1, (one + one // 2) << fraction, (one - one // 2) << fraction | half,
    }  # fmt: skip
    if fraction < 23:
        magnitudes.add(0x7FF7)  # out of bounds
    if fraction == 23:  # where values of 16 bits, integers and functions have their edges
        for value in (
            0x477FE000,
            0x477FEFFF,
            0x477FF000,
            0x33000000,
            0x33000001,
            0x38800000,
            0x387FC000,
            0x38000000,
            0x4EFFFFFF,
            0x4F000000,
            0x4F7FFFFF,
            0x4F800000,
            0x5F000000,
            0x5F7FFFFF,
            0x437F8000,
            0x43000000,
            0x42FF0000,
            0x3F008000,
            0x3F801000,
            0x3F803000,
            0x3F80F000,
            0x7F7FFFFF,
            0x7F7F8000,
            0x7F7F7FFF,
            0x7E800000,
            0x7E800001,
            0x43E00000,
            0x43E80000,
            0x43D80000,
            0x3F490FDB,
            0x40490FDB,
            0x40C90FDB,
            0x42C8F5C3,
            0x3C000000,
            0x3B000000,
            0x40C00000,
            0x40E00000,
            0x41E00000,
            0x3D800000,
            0x43160000,
            0x43170000,
            0x42FC0000,
        ):
            magnitudes.add(value)
    if fraction == 52:
        for value in (
            0x41DFFFFFFFC00000,
            0x41E0000000000000,
            0x41EFFFFFFFE00000,
            0x43E0000000000000,
            0x43DFFFFFFFFFFFFF,
            0x43EFFFFFFFFFFFFF,
            0x43F0000000000000,
            0x47EFFFFFE0000000,
            0x47EFFFFFEFFFFFFF,
            0x47EFFFFFF0000000,
            0x3690000000000000,
            0x3690000000000001,
            0x36A0000000000000,
            0x380FFFFFE0000000,
            0x380FFFFFF0000000,
            0x3FF0000010000000,
            0x3FF0000030000000,
            0x40EFFC0000000000,
            0x40EFFDFFFFFFFFFF,
            0x40EFFE0000000000,
            0x7FDFFFFF00000000,
            0x000FFFFF80000000,
            0x4060000000000000,
            0x40DFFFC000000000,
        ):
            magnitudes.add(value)
    sign = 1 << exponent + fraction
    return sorted({m | s for m in magnitudes for s in (0, sign)})


def integer_boundaries(bits: int) -> list[int]:
    full = (1 << bits) - 1
    powers = {1 << k for k in range(bits)}
    near = {p + d for p in powers for d in (-1, 0, 1)}
    others = {0, full, full - 1, 5, 10, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA}
    return sorted({v & full for v in near | {-v for v in near} | others})


def boundaries(type_: str) -> list[int]:
    """Values of a type where instructions change their ways."""
    type_, _, purpose = type_.partition(":")
    type_, _, place = type_.partition("@")
    if purpose == "shift":
        return [*range(36), 63, 64, 65, 127, 128, 255, 256, 0x80000000, 0xFFFFFFFF, 0x100 + 5]
    if purpose == "field":  # the manual restricts positions and lengths to 0..255
        return [0, 1, 2, 5, 8, 15, 16, 30, 31, 32, 33, 48, 62, 63, 64, 65, 128, 200, 254, 255]
    if purpose == "bit":
        return list(range(32))
    if purpose == "count":
        return [k & 0xFFFFFFFF for k in range(-34, 35)] + [0x80000000, 0x7FFFFFFF]
    if type_ in ("pred", "cc"):
        return [0, 1]
    if type_ in FORMATS:
        return float_boundaries(*FORMATS[type_])
    if type_.endswith("x2") and type_[:-2] in FORMATS:
        return []
    if type_[-2:] in ("x2", "x4"):
        bits = width(type_[:-2])
        return integer_boundaries(32) + [
            a | b << bits | (b << 3 * bits) + (a << 2 * bits) & 0xFFFF0000
            for a in integer_boundaries(bits)[::5]
            for b in (0, 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1)
        ]
    return integer_boundaries(int(place or type_.lstrip("busf")))


def width(type_: str) -> int:
    """Bits of the register that holds an operand of the type."""
    type_, _, place = type_.partition(":")[0].partition("@")
    if place:
        return int(place)
    if type_ in ("pred", "cc"):
        return 1
    if type_[-2:] in ("x2", "x4"):
        return int(type_[-1]) * width(type_[:-2])
    return int(type_.lstrip("busf"))


def values(type_: str, source: random.Random) -> Iterator[int]:
    """Endless values of a type: boundaries more often than random bits."""
    bits = width(type_)
    if type_ in ("f16x2", "bf16x2", "f32x2"):
        part = type_[:-2]
        one = values(part, source)
        while True:
            yield next(one) | next(one) << (bits // 2)
    pool = boundaries(type_)
    purposeful = ":" in type_
    fresh = list(pool)
    source.shuffle(fresh)
    yield from fresh
    while True:
        if purposeful or source.random() < 0.6:
            yield source.choice(pool)
        else:
            yield source.getrandbits(bits)


def near_misses(type_: str, rows: list[list[int]], source: random.Random) -> None:
    """Make operands of arithmetic meet: equal, opposite and close magnitudes, in some rows."""
    bits = width(type_)
    for row in rows:
        if len(row) < 2 or source.random() > 0.2:
            continue
        k = source.randrange(1, len(row))
        change = source.choice((0, 1 << (bits - 1), 1, 3, 1 << (bits // 2)))
        row[k] = row[0] ^ change


def several_nans(type_: str, rows: list[list[int]], source: random.Random) -> None:
    """Make operands NaN, told apart by their payloads and signs, in some rows."""
    exponent, fraction = FORMATS[type_]
    top = (1 << exponent) - 1 << fraction
    for row in rows:
        if source.random() > 0.1:
            continue
        for k in range(len(row)):
            if source.random() < 0.7:
                payload = source.randrange(1, 1 << fraction)
                row[k] = source.getrandbits(1) << exponent + fraction | top | payload


def near_the_least(type_: str, rows: list[list[int]], source: random.Random) -> None:
    """Make products, quotients and sums of them meet the least normal value, in some rows."""
    exponent, fraction = FORMATS[type_]
    low, one = 1 << fraction, (1 << exponent - 1) - 1 << fraction
    for row in rows:
        if len(row) < 2 or source.random() > 0.2:
            continue
        pair = [source.choice((one, one, low)), low]
        source.shuffle(pair)
        pair += [source.choice((0, low, 1, 2))] * (len(row) - 2)
        row[:] = [
            max(v + source.randrange(-2, 3), 0) | source.getrandbits(1) << exponent + fraction
            for v in pair
        ]


def inputs(case: Case, count: int) -> list[tuple[int, ...]]:
    """`count` rows of operand values, the same in every process."""
    source = random.Random(zlib.crc32(str(case).encode()))
    types = case.sources
    columns = [values(t, source) for t in types]
    rows = [[next(c) for c in columns] for _ in range(count)]
    same = [t for t in types if t == types[0]]
    if len(same) > 1 and types[0] not in ("pred", "cc"):
        head = [row[: len(same)] for row in rows]
        near_misses(types[0], head, source)
        if types[0] in FORMATS:
            if "ftz" in case.spelling:
                near_the_least(types[0], head, source)
            several_nans(types[0], head, source)
        rows = [h + row[len(same) :] for h, row in zip(head, rows, strict=True)]
    return [tuple(row) for row in rows]


def exhaustive(case: Case) -> list[tuple[int, ...]] | None:
    """Every value of the only source, where it has at most 16 bits; None for other cases."""
    if len(case.sources) != 1 or width(case.sources[0]) > 16:
        return None
    return [(value,) for value in range(1 << width(case.sources[0]))]
