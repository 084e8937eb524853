"""The table of operators: what each appends on each type, and what type comes out."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from pyptx import LanguageWarning
from pyptx._trace import ptx, reg
from pyptx.types import DTYPES, pred

# expression | types | instructions, with T the type | type of the result
# Registers a and b are operands of that type, r is the result, t is what is made on the way.
ONE_TYPE = """
    a + b        :: u16 s16 u32 s32 u64 s64                            :: add.T r, a, b                :: T
    a + b        :: f16 bf16 f32 f64 f16x2 bf16x2                      :: add.rn.T r, a, b             :: T
    a - b        :: u16 s16 u32 s32 u64 s64                            :: sub.T r, a, b                :: T
    a - b        :: f16 bf16 f32 f64 f16x2 bf16x2                      :: sub.rn.T r, a, b             :: T
    a * b        :: u16                                                :: mul.wide.u16 r, a, b         :: u32
    a * b        :: s16                                                :: mul.wide.s16 r, a, b         :: s32
    a * b        :: u32                                                :: mul.wide.u32 r, a, b         :: u64
    a * b        :: s32                                                :: mul.wide.s32 r, a, b         :: s64
    a * b        :: u64 s64                                            :: mul.lo.T r, a, b             :: T
    a * b        :: f16 bf16 f32 f64 f16x2 bf16x2                      :: mul.rn.T r, a, b             :: T
    a // b       :: u16 s16 u32 s32 u64 s64                            :: div.T r, a, b                :: T
    a % b        :: u16 s16 u32 s32 u64 s64                            :: rem.T r, a, b                :: T
    a / b        :: f32 f64                                            :: div.rn.T r, a, b             :: T
    -a           :: u16 s16                                            :: neg.s16 r, a                 :: T
    -a           :: u32 s32                                            :: neg.s32 r, a                 :: T
    -a           :: u64 s64                                            :: neg.s64 r, a                 :: T
    -a           :: f16 bf16 f32 f64 f16x2 bf16x2                      :: neg.T r, a                   :: T
    abs(a)       :: s16 s32 s64 f16 bf16 f32 f64 f16x2 bf16x2          :: abs.T r, a                   :: T
    ~a           :: u16 s16 b16                                        :: not.b16 r, a                 :: T
    ~a           :: u32 s32 b32                                        :: not.b32 r, a                 :: T
    ~a           :: u64 s64 b64                                        :: not.b64 r, a                 :: T
    a << 3       :: u16 s16 b16                                        :: shl.b16 r, a, 3              :: T
    a << 3       :: u32 s32 b32                                        :: shl.b32 r, a, 3              :: T
    a << 3       :: u64 s64 b64                                        :: shl.b64 r, a, 3              :: T
    a >> 3       :: u16 s16 u32 s32 u64 s64                            :: shr.T r, a, 3                :: T
    a >> 3       :: b16                                                :: shr.u16 r, a, 3              :: T
    a >> 3       :: b32                                                :: shr.u32 r, a, 3              :: T
    a >> 3       :: b64                                                :: shr.u64 r, a, 3              :: T
    a & b        :: u16 s16 b16                                        :: and.b16 r, a, b              :: T
    a & b        :: u32 s32 b32                                        :: and.b32 r, a, b              :: T
    a & b        :: u64 s64 b64                                        :: and.b64 r, a, b              :: T
    a | b        :: u16 s16 b16                                        :: or.b16 r, a, b               :: T
    a | b        :: u32 s32 b32                                        :: or.b32 r, a, b               :: T
    a | b        :: u64 s64 b64                                        :: or.b64 r, a, b               :: T
    a ^ b        :: u16 s16 b16                                        :: xor.b16 r, a, b              :: T
    a ^ b        :: u32 s32 b32                                        :: xor.b32 r, a, b              :: T
    a ^ b        :: u64 s64 b64                                        :: xor.b64 r, a, b              :: T
    a < b        :: u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64           :: setp.lt.T r, a, b            :: pred
    a <= b       :: u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64           :: setp.le.T r, a, b            :: pred
    a > b        :: u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64           :: setp.gt.T r, a, b            :: pred
    a >= b       :: u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64           :: setp.ge.T r, a, b            :: pred
    a == b       :: u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64           :: setp.eq.T r, a, b            :: pred
    a != b       :: u16 s16 u32 s32 u64 s64                            :: setp.ne.T r, a, b            :: pred
    a != b       :: f16 bf16 f32 f64                                   :: setp.neu.T r, a, b           :: pred
    a & b        :: pred                                               :: and.pred r, a, b             :: T
    a | b        :: pred                                               :: or.pred r, a, b              :: T
    a ^ b        :: pred                                               :: xor.pred r, a, b             :: T
    a & ~b       :: pred                                               :: not.pred t, b; and.pred r, a, t :: T
    ~a & b       :: pred                                               :: not.pred t, a; and.pred r, t, b :: T
    ~a | ~b      :: pred                                               :: not.pred t, a; not.pred t, b; or.pred r, t, t :: T
    ~a ^ b       :: pred                                               :: not.pred t, a; xor.pred r, t, b :: T
    ~(a & b) & a :: pred                                               :: and.pred t, a, b; not.pred t, t; and.pred r, t, a :: T
    a + 7        :: u16 s16 u32 s32 u64 s64                            :: add.T r, a, 7                :: T
    7 + a        :: u16 s16 u32 s32 u64 s64                            :: add.T r, 7, a                :: T
    a - 7        :: u16 s16 u32 s32 u64 s64                            :: sub.T r, a, 7                :: T
    7 - a        :: u16 s16 u32 s32 u64 s64                            :: sub.T r, 7, a                :: T
    a + -7       :: s16 s32 s64                                        :: add.T r, a, -7               :: T
    a * 7        :: u32                                                :: mul.wide.u32 r, a, 7         :: u64
    7 * a        :: s32                                                :: mul.wide.s32 r, 7, a         :: s64
    7 // a       :: u16 s16 u32 s32 u64 s64                            :: div.T r, 7, a                :: T
    7 % a        :: u16 s16 u32 s32 u64 s64                            :: rem.T r, 7, a                :: T
    8 // a       :: u32 s32                                            :: div.T r, 8, a                :: T
    a // 7       :: u16 s16 u32 s32 u64 s64                            :: div.T r, a, 7                :: T
    a // 128     :: u16 u32 u64                                        :: shr.T r, a, 7                :: T
    a // 128     :: s16 s32 s64                                        :: div.T r, a, 128              :: T
    a // 128     :: b32                                                :: shr.u32 r, a, 7              :: T
    a // 1       :: u32                                                :: shr.u32 r, a, 0              :: T
    a % 7        :: u16 s16 u32 s32 u64 s64                            :: rem.T r, a, 7                :: T
    a % 128      :: u16                                                :: and.b16 r, a, 127            :: T
    a % 128      :: u32 b32                                            :: and.b32 r, a, 127            :: T
    a % 4294967296 :: u64                                              :: and.b64 r, a, 4294967295     :: T
    a % 128      :: s16 s32 s64                                        :: rem.T r, a, 128              :: T
    7 << a       :: u32 s32                                            :: shl.b32 r, 7, a              :: T
    7 >> a       :: u32 s32                                            :: shr.T r, 7, a                :: T
    7 & a        :: u32 s32 b32                                        :: and.b32 r, 7, a              :: T
    7 | a        :: u64 s64 b64                                        :: or.b64 r, 7, a               :: T
    7 ^ a        :: u16 s16 b16                                        :: xor.b16 r, 7, a              :: T
    a < 7        :: u16 s16 u32 s32 u64 s64                            :: setp.lt.T r, a, 7            :: pred
    7 < a        :: u16 s16 u32 s32 u64 s64                            :: setp.gt.T r, a, 7            :: pred
    7 == a       :: u16 s16 u32 s32 u64 s64                            :: setp.eq.T r, a, 7            :: pred
    a + 1.5      :: f32                                                :: add.rn.f32 r, a, 0f3FC00000  :: T
    1.5 - a      :: f32                                                :: sub.rn.f32 r, 0f3FC00000, a  :: T
    2 * a        :: f32                                                :: mul.rn.f32 r, 0f40000000, a  :: T
    1 / a        :: f32                                                :: div.rn.f32 r, 0f3F800000, a  :: T
    a + 1.5      :: f64                                                :: add.rn.f64 r, a, 0d3FF8000000000000 :: T
    1 / a        :: f64                                                :: div.rn.f64 r, 0d3FF0000000000000, a :: T
    a < 0.5      :: f32                                                :: setp.lt.f32 r, a, 0f3F000000 :: pred
    a != 0.5     :: f64                                                :: setp.neu.f64 r, a, 0d3FE0000000000000 :: pred
    a + 1.5      :: f16                                                :: mov.b16 t, 0x3E00; add.rn.f16 r, a, t :: T
    1.5 - a      :: f16                                                :: mov.b16 t, 0x3E00; sub.rn.f16 r, t, a :: T
    2 * a        :: bf16                                               :: mov.b16 t, 0x4000; mul.rn.bf16 r, t, a :: T
    a < 1.5      :: bf16                                               :: mov.b16 t, 0x3FC0; setp.lt.bf16 r, a, t :: pred
    a + 1.5      :: f16x2                                              :: mov.b32 t, 0x3E003E00; add.rn.f16x2 r, a, t :: T
    2 * a        :: bf16x2                                             :: mov.b32 t, 0x40004000; mul.rn.bf16x2 r, t, a :: T
"""

# expression | types of a and b | instructions | type of the result
TWO_TYPES = """
    a + b        :: u64 u32                                            :: cvt.u64.u32 t, b; add.u64 r, a, t :: u64
    a + b        :: u64 s32                                            :: cvt.s64.s32 t, b; add.u64 r, a, t :: u64
    a + b        :: s64 s32                                            :: cvt.s64.s32 t, b; add.s64 r, a, t :: s64
    a + b        :: s64 u32                                            :: cvt.u64.u32 t, b; add.s64 r, a, t :: s64
    a + b        :: u32 u64                                            :: cvt.u64.u32 t, a; add.u64 r, t, b :: u64
    a + b        :: s32 u64                                            :: cvt.s64.s32 t, a; add.u64 r, t, b :: u64
    a + b        :: b64 u32                                            :: cvt.u64.u32 t, b; add.u64 r, a, t :: b64
    a - b        :: u64 u32                                            :: cvt.u64.u32 t, b; sub.u64 r, a, t :: u64
    a - b        :: s64 s32                                            :: cvt.s64.s32 t, b; sub.s64 r, a, t :: s64
    a - b        :: s32 s64                                            :: cvt.s64.s32 t, a; sub.s64 r, t, b :: s64
    a + b        :: u64 s64                                            :: add.u64 r, a, b              :: u64
    a - b        :: u64 s64                                            :: sub.u64 r, a, b              :: u64
    a + b        :: b32 u32                                            :: add.u32 r, a, b              :: u32
    a + b        :: s32 b32                                            :: add.s32 r, a, b              :: s32
    a < b        :: b32 s32                                            :: setp.lt.s32 r, a, b          :: pred
    a & b        :: b64 s64                                            :: and.b64 r, a, b              :: s64
    a << b       :: u64 u32                                            :: shl.b64 r, a, b              :: u64
    a >> b       :: s64 u32                                            :: shr.s64 r, a, b              :: s64
    a >> b       :: s16 s32                                            :: shr.s16 r, a, b              :: s16
    a << b       :: b64 b32                                            :: shl.b64 r, a, b              :: b64
"""

# statement | types of a and b | instructions
IN_PLACE = """
    a += b       :: u32 u32                                            :: add.u32 a, a, b
    a += b       :: u64 u32                                            :: cvt.u64.u32 t, b; add.u64 a, a, t
    a += b       :: u64 s32                                            :: cvt.s64.s32 t, b; add.u64 a, a, t
    a += 5       :: s64 s64                                            :: add.s64 a, a, 5
    a += b       :: f32 f32                                            :: add.rn.f32 a, a, b
    a += 1.0     :: f16 f16                                            :: mov.b16 t, 0x3C00; add.rn.f16 a, a, t
    a -= b       :: s32 s32                                            :: sub.s32 a, a, b
    a -= b       :: u64 u32                                            :: cvt.u64.u32 t, b; sub.u64 a, a, t
    a *= b       :: u32 u32                                            :: mul.lo.u32 a, a, b
    a *= 3       :: s32 s32                                            :: mul.lo.s32 a, a, 3
    a *= b       :: u64 u64                                            :: mul.lo.u64 a, a, b
    a *= b       :: f64 f64                                            :: mul.rn.f64 a, a, b
    a //= b      :: s32 s32                                            :: div.s32 a, a, b
    a //= 64     :: u32 u32                                            :: shr.u32 a, a, 6
    a %= 64      :: u32 u32                                            :: and.b32 a, a, 63
    a //= 64     :: s32 s32                                            :: div.s32 a, a, 64
    a %= 3       :: u32 u32                                            :: rem.u32 a, a, 3
    a /= b       :: f32 f32                                            :: div.rn.f32 a, a, b
    a <<= 2      :: u32 u32                                            :: shl.b32 a, a, 2
    a <<= b      :: u64 u32                                            :: shl.b64 a, a, b
    a >>= 2      :: s64 s64                                            :: shr.s64 a, a, 2
    a &= 15      :: b32 b32                                            :: and.b32 a, a, 15
    a |= b       :: s16 s16                                            :: or.b16 a, a, b
    a ^= b       :: b64 b64                                            :: xor.b64 a, a, b
    a &= b       :: pred pred                                          :: and.pred a, a, b
    a |= ~b      :: pred pred                                          :: not.pred t, b; or.pred a, a, t
"""


@dataclass(frozen=True)
class Case:
    source: str
    types: tuple[str, str]
    lines: tuple[str, ...]
    result: str = ""

    def __str__(self) -> str:
        return f"{' '.join(dict.fromkeys(self.types))}: {self.source}"


def rows(table: str, *, one_type: bool) -> list[Case]:
    cases = []
    for line in table.strip().splitlines():
        source, types, lines, *result = (part.strip() for part in line.split("::"))
        pairs = [(t, t) for t in types.split()] if one_type else [tuple(types.split())]
        for pair in pairs:
            spelled = tuple(re.sub(r"\.T\b", f".{pair[0]}", each) for each in lines.split("; "))
            kind = result[0].replace("T", pair[0]) if result else ""
            cases.append(Case(source, pair, spelled, kind))
    return cases


EXPRESSIONS = [*rows(ONE_TYPE, one_type=True), *rows(TWO_TYPES, one_type=False)]
STATEMENTS = rows(IN_PLACE, one_type=False)


def run(case: Case):
    """Trace a case: the operands, the registers made on the way, and the result."""
    scope = {"a": reg.scalar(DTYPES[case.types[0]]), "b": reg.scalar(DTYPES[case.types[1]])}
    a, b = scope["a"], scope["b"]
    exec(f"r = {case.source}" if case.result else case.source, {}, scope)
    return a, b, scope.get("r", scope["a"])


def normalised(found, case: Case) -> list[str]:
    a, b, r = found.result
    names = {"a": a, "b": b} | ({"r": r} if case.result else {})
    lines = found.named(**names)
    return [re.sub(r"%[a-z]+\d+", "t", line) for line in lines]


@pytest.mark.parametrize("case", EXPRESSIONS, ids=str)
def test_expression(traced, case):
    found = traced(lambda: run(case))
    assert normalised(found, case) == list(case.lines)
    assert found.result[2].dtype is DTYPES[case.result]


@pytest.mark.parametrize("case", STATEMENTS, ids=str)
def test_in_place(traced, case):
    found = traced(lambda: run(case))
    a, _, after = found.result
    assert normalised(found, case) == list(case.lines)
    assert after.register is a.register


def test_every_case_assembles(traced):
    def body():
        for case in (*EXPRESSIONS, *STATEMENTS):
            run(case)

    found = traced(body)
    assert found.assemble("sm_90a").kernel == "k"
    assert len(found.instructions) == sum(len(c.lines) for c in (*EXPRESSIONS, *STATEMENTS))


def test_every_name_of_a_register_sees_an_in_place_change(traced):
    def body():
        a = reg.scalar(DTYPES["u32"], init=1)
        alias = a
        values = reg.array(DTYPES["u32"], 2)
        with ptx.if_(a == 0):
            a += 2
            values[0] += a
        values[1] = alias
        return a, alias, values[0], values[1]

    with pytest.warns(LanguageWarning, match="writes the register that alias names too"):
        found = traced(body)
    a, alias, first, second = found.result
    assert a.register is alias.register
    assert found.named(a=a, first=first, second=second) == [
        "mov.u32 a, 1",
        "setp.eq.u32 %p0, a, 0",
        "@!%p0 bra $L0",
        "add.u32 a, a, 2",
        "add.u32 first, first, a",
        "mov.u32 second, a",
    ]


@pytest.mark.parametrize(
    ("number", "dtype", "written"),
    [
        (np.int8(-3), "s32", "-3"),
        (np.uint64(2**64 - 1), "u64", str(2**64 - 1)),
        (np.int64(-(2**63)), "s64", str(-(2**63))),
        (np.float32(0.1), "f32", "0f3DCCCCCD"),
        (np.float64(0.1), "f64", "0d3FB999999999999A"),
        (np.float64(0.1), "f32", "0f3DCCCCCD"),
        (np.float16(0.1), "f32", "0f3DCCC000"),
        (np.int32(2), "f32", "0f40000000"),
        (np.array(7), "u32", "7"),
    ],
    ids=repr,
)
def test_numpy_numbers_stand_on_either_side(traced, number, dtype, written):
    def body():
        a = reg.scalar(DTYPES[dtype])
        return a, a + number, number + a, a < number, number < a

    found = traced(body)
    a, *_ = found.result
    operands = [line.split(" ", 1)[1].split(", ", 1)[1] for line in found.named(a=a)]
    assert operands == [f"a, {written}", f"{written}, a", f"a, {written}", f"a, {written}"]
    assert [line.split()[0] for line in found.instructions][2:] == [
        f"setp.lt.{dtype}",
        f"setp.gt.{dtype}",
    ]
    assert found.result[3].dtype is pred


def test_special_registers_are_moved_once_for_each_use(traced):
    def body():
        tid = ptx.special.tid.x()
        return tid + 1, 2 * tid, tid < ptx.special.ntid.x(), ~tid, -tid, tid >> 5

    found = traced(body)
    assert found.instructions == [
        "mov.u32 %u0, %tid.x",
        "add.u32 %u1, %u0, 1",
        "mov.u32 %u2, %tid.x",
        "mul.wide.u32 %ud0, 2, %u2",
        "mov.u32 %u3, %tid.x",
        "mov.u32 %u4, %ntid.x",
        "setp.lt.u32 %p0, %u3, %u4",
        "mov.u32 %u5, %tid.x",
        "not.b32 %u6, %u5",
        "mov.u32 %u7, %tid.x",
        "neg.s32 %u8, %u7",
        "mov.u32 %u9, %tid.x",
        "shr.u32 %u10, %u9, 5",
    ]
    found.assemble()
