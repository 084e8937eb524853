"""Special registers against the assembler, and the names the manual gives them."""

from itertools import pairwise

import isa_oracle as oracle
import pytest

from pyptx._isa.check import bind
from pyptx._isa.opcode_path import walk
from pyptx._isa.special import SPECIAL
from pyptx._isa.table import opcodes
from pyptx._operands import Register, SpecialRegister
from pyptx._target import Target
from pyptx.types import u64

MEASURED_ON = tuple(map(Target.parse, ("sm_75", "sm_80", "sm_90", "sm_120")))


def read(entry):
    text = oracle.line(
        f"mov.{entry.dtype}", (Register(0, entry.dtype), SpecialRegister(entry.name, entry.dtype))
    )
    if entry.name.startswith("perctamemory"):  # of a kernel with the directive for it
        text = text.replace(") {", ") .minperctamemory 16 {", 1)
    return text


def turning_points():
    """The versions at which something appears, and those just before."""
    claims = {entry.availability.ptx for entry in SPECIAL.values()}
    return {v for pair in pairwise(oracle.VERSIONS) if pair[1] in claims for v in pair}


def disagreements(targets, versions=oracle.VERSIONS):
    wrong = []
    for target in targets:
        for version in (v for v in versions if target.version <= v <= oracle.newest()):
            verdicts = oracle.verdicts([read(e) for e in SPECIAL.values()], version, target)
            for entry, verdict in zip(SPECIAL.values(), verdicts, strict=True):
                where = entry.availability
                claimed = target in where.targets and version >= where.ptx
                if claimed != (verdict is None):
                    wrong.append(f"%{entry.name} {target} {version} claimed {claimed}")
    return wrong


def test_each_is_readable_exactly_where_it_is_claimed():
    versions = sorted({*turning_points(), oracle.newest()})
    assert disagreements(MEASURED_ON, versions) == []


@pytest.mark.sweep
def test_each_is_readable_exactly_where_it_is_claimed_on_every_target():
    assert disagreements(oracle.known_targets()) == []


@pytest.mark.parametrize(
    "name",
    ["pm8", "envreg32", "tid.v", "reserved_smem_offset_2", "lanemask", "clock_lo", "ntid.x.x"],
)
def test_neighbours_do_not_exist(name):
    assert name not in SPECIAL
    entry = SpecialRegister(name, SPECIAL["laneid"].dtype)
    assert not oracle.alone(read(entry), oracle.newest(), Target.parse("sm_90"))


def test_how_many_there_are():
    families = {name.split(".")[0] for name in SPECIAL}
    assert len(families) == 39 + 2 * 8 + 32
    assert [n for n in SPECIAL if n.startswith("tid")] == ["tid.x", "tid.y", "tid.z", "tid.w"]
    assert SPECIAL["pm3_64"].dtype is u64


def test_mov_takes_one_of_its_width():
    state = walk(opcodes(), "mov", ("u32",))
    tid = SPECIAL["tid.x"].operand
    register = Register(0, SPECIAL["tid.x"].dtype)
    assert bind(state, (register, tid)).operands == (register, tid)
