"""Directives of a kernel: the checks, and the assembler's word on them."""

import isa_oracle as oracle
import pytest

from pyptx._isa.directives import DIRECTIVES, PRAGMAS, check
from pyptx._target import TARGETS, PtxVersion, Target
from pyptx.errors import IsaError

SM90 = Target.parse("sm_90")
ALONE = {
    "blocksareclusters": ".reqntid 64 .reqnctapercluster 2 .blocksareclusters",
}


def kernel(text):
    return f".entry kernel() {text} {{ ret; }}"


def written(spec, value=None, count=None):
    values = [str(value or spec.values[0])] * (spec.counts[0] if count is None else count)
    return ALONE.get(spec.name, f".{spec.name} {', '.join(values)}")


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100f"])
def test_the_assembler_takes_each_where_it_is_claimed_and_nowhere_else(target):
    target = Target.parse(target)
    lines = [kernel(written(spec)) for spec in DIRECTIVES.values()]
    wrong = []
    for version in (v for v in oracle.VERSIONS if target.version <= v <= oracle.newest()):
        for spec, verdict in zip(
            DIRECTIVES.values(), oracle.verdicts(lines, version, target), strict=True
        ):
            claimed = target in spec.availability.targets and version >= spec.availability.ptx
            if claimed != (verdict is None):
                wrong.append(f"{version} .{spec.name} claimed {claimed}")
    assert wrong == []


@pytest.mark.parametrize("name", [n for n, s in DIRECTIVES.items() if s.counts.stop > 1])
def test_the_assembler_takes_every_count_and_the_largest_value(name):
    spec = DIRECTIVES[name]
    lines = [kernel(written(spec, count=count)) for count in spec.counts]
    lines.append(kernel(written(spec, value=min(spec.values[-1], 4096))))
    assert oracle.verdicts(lines, oracle.newest(), SM90) == [None] * len(lines)
    beyond = kernel(written(spec, count=spec.counts.stop))
    assert not oracle.alone(beyond, oracle.newest(), SM90)


@pytest.mark.parametrize(
    "pair", [("maxntid 64", "reqntid 64"), ("reqnctapercluster 2", "maxclusterrank 4")]
)
def test_the_assembler_refuses_what_excludes_each_other(pair):
    text = " ".join(f".{each}" for each in pair)
    assert not oracle.alone(kernel(text), oracle.newest(), SM90)


@pytest.mark.parametrize("name", PRAGMAS)
def test_the_assembler_takes_each_pragma(name):
    spec = PRAGMAS[name]
    text = f"{name} 0xf" if spec.argument else name
    version = oracle.newest()
    assert spec.availability.ptx <= version
    assert oracle.alone(f'.entry kernel() {{ .pragma "{text}"; ret; }}', version, SM90)


def test_versions_add_up():
    assert check([("maxnreg", (64,)), ("maxntid", (256, 1, 1))]) == PtxVersion(1, 0)
    assert check([("maxntid", (256,)), ("explicitcluster", ())]) == PtxVersion(7, 8)
    together = [("reqntid", (64,)), ("reqnctapercluster", (2,)), ("blocksareclusters", ())]
    assert check(together, SM90, PtxVersion(9, 0)) == PtxVersion(9, 0)
    assert check([]) == PtxVersion(1, 0)


KNOWN = " ".join(f".{name}" for name in DIRECTIVES)
CLUSTERED = " ".join(str(t) for t in TARGETS if t.sm >= 90)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("maxntids", (1,))], f"a kernel has no directive .maxntids\n  directives: {KNOWN}"),
        ([("maxnreg", (1,)), ("maxnreg", (1,))], ".maxnreg stands twice"),
        ([("maxnreg", ())], ".maxnreg takes 1 value, not 0"),
        ([("maxntid", (1, 1, 1, 1))], ".maxntid takes 1 to 3 values, not 4"),
        ([("explicitcluster", (1,))], ".explicitcluster takes 0 values, not 1"),
        ([("maxnreg", (256,))], ".maxnreg 256 is out of range\n  legal: 1 to 255"),
        ([("reqntid", (0,))], ".reqntid 0 is out of range\n  legal: 1 to 1024"),
        (
            [("maxntid", (64, 32))],
            ".maxntid of 64 x 32 is 2048, which is too many\n  at most: 1024",
        ),
        (
            [("reqnctapercluster", (4, 4, 2))],
            ".reqnctapercluster of 4 x 4 x 2 is 32, which is too many\n  at most: 16",
        ),
        ([("blocksareclusters", ())], ".blocksareclusters needs .reqntid beside it"),
        (
            [("maxntid", (64,)), ("reqntid", (64,))],
            ".maxntid and .reqntid cannot stand together",
        ),
    ],
)
def test_wrong_directives(given, message):
    with pytest.raises(IsaError) as error:
        check(given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("target", "version", "message"),
    [
        (
            Target.parse("sm_80"),
            None,
            f"sm_80 does not have .explicitcluster\n  targets that do: {CLUSTERED}",
        ),
        (
            SM90,
            PtxVersion(7, 7),
            "PTX 7.7 does not have .explicitcluster\n  first in: PTX 7.8",
        ),
    ],
)
def test_directives_that_are_not_there(target, version, message):
    with pytest.raises(IsaError) as error:
        check([("explicitcluster", ())], target, version)
    assert str(error.value) == message
