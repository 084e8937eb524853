"""The table of targets against the assembler, and availability expressions."""

import isa_oracle as oracle
import pytest

from pyptx._assemble.ptxas import version as assembler_version
from pyptx._isa.differences import COMPLETE, TARGETS_EARLIER, reason
from pyptx._target import PTX_FOR_TARGET, PTX_VERSIONS, TARGETS, PtxVersion, Target, targets_of


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_the_first_version_of_a_target(target):
    if target not in oracle.known_targets():
        # An assembler of an older release; it must be one that cannot know the version either.
        assert target.version > oracle.newest()
        return
    assert oracle.alone(oracle.stub(""), target.version, target)
    before = [v for v in oracle.VERSIONS if v < target.version][-1:]
    earlier = [v for v in before if oracle.alone(oracle.stub(""), v, target)]
    assert earlier == (before if reason(str(target), TARGETS_EARLIER, assembler_version()) else [])


def test_the_assembler_knows_no_other_target():
    numbers = {t.sm for t in TARGETS}
    others = [Target(sm, suffix) for sm in range(75, 140) for suffix in ("", "a", "f")]
    others = [t for t in others if t not in PTX_FOR_TARGET]
    tried = [t for t in others if t.sm in numbers or t.suffix == ""]
    found = [str(t) for t in tried if oracle.alone(oracle.stub(""), oracle.newest(), t)]
    assert found == []


def test_the_versions_are_those_that_the_assembler_knows():
    newest = oracle.newest()
    tried = [
        PtxVersion(major, minor) for major in range(6, newest.major + 1) for minor in range(10)
    ]
    found = [v for v in tried if oracle.alone(oracle.stub(""), v, TARGETS[0])]
    assert found == [v for v in PTX_VERSIONS if v <= newest]
    assert PTX_VERSIONS[-1] == COMPLETE


def names(expression):
    return " ".join(str(t) for t in TARGETS if t in targets_of(expression))


@pytest.mark.parametrize(
    ("expression", "covered"),
    [
        ("sm_90a", "sm_90a"),
        ("sm_103f", "sm_103a sm_103f sm_107a sm_107f"),
        ("sm_120f", "sm_120a sm_120f sm_121a sm_121f"),
        ("sm_120f sm_90a", "sm_90a sm_120a sm_120f sm_121a sm_121f"),
        ("sm_121", "sm_121 sm_121a sm_121f"),
    ],
)
def test_what_an_expression_covers(expression, covered):
    assert names(expression) == covered


def test_no_expression_is_everything():
    assert targets_of("") == frozenset(TARGETS)


def test_unknown_targets_are_named():
    with pytest.raises(ValueError) as error:
        Target.parse("sm_91")
    assert str(error.value) == f"unknown target 'sm_91'; known: {' '.join(map(str, TARGETS))}"


def test_versions_compare_by_number():
    assert PtxVersion.parse("8.7") < PtxVersion.parse("9.0") < PtxVersion.parse("10.0")
