"""Targets and PTX ISA versions, and expressions that say where something is available.

A target is `sm_90`, `sm_90a` (architecture specific) or `sm_100f` (family specific). Availability
is not a ladder: `sm_90` in an expression means that compute capability and every later one,
`sm_90a` only that target, `sm_100f` the family members at or above it (PTX ISA, ".target").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

_TARGET = re.compile(r"sm_(\d+)([af]?)")


@dataclass(frozen=True, slots=True, order=True)
class PtxVersion:
    """A PTX ISA version, `major.minor`."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @staticmethod
    def parse(text: str) -> PtxVersion:
        """`"8.7"` to a version. Raises ValueError for anything else."""
        major, _, minor = text.partition(".")
        return PtxVersion(int(major), int(minor))


@dataclass(frozen=True, slots=True)
class Target:
    """A `.target` of PTX: compute capability times ten, and the suffix "", "a" or "f"."""

    sm: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"sm_{self.sm}{self.suffix}"

    @staticmethod
    def parse(text: str) -> Target:
        """`"sm_90a"` to a target. Raises ValueError that lists the known targets."""
        match = _TARGET.fullmatch(text)
        target = Target(int(match[1]), match[2]) if match else None
        if target is None or target not in PTX_FOR_TARGET:
            known = " ".join(str(t) for t in TARGETS)
            raise ValueError(f"unknown target {text!r}; known: {known}")
        return target

    @property
    def family(self) -> int:
        """Targets with one family share `f` features: sm_100 and sm_103, sm_120 and sm_121."""
        return self.sm // 10

    @property
    def version(self) -> PtxVersion:
        """The first PTX ISA version that knows this target."""
        return _OLDER[self] if self in _OLDER else PTX_FOR_TARGET[self]

    @property
    def current(self) -> Target:
        """The target itself, or of one that the assembler makes no code for the next that it does.

        PTX for an older target is assembled for later ones, so what it may use is theirs too.
        """
        return TARGETS[0] if self in _OLDER else self

    @staticmethod
    def of_file(text: str) -> Target:
        """What a file may be for: a target of `parse`, or sm_50 to sm_72. Raises ValueError."""
        older = {str(target): target for target in _OLDER}
        return older[text] if text in older else Target.parse(text)


def _targets(table: str) -> dict[Target, PtxVersion]:
    rows = (line.split() for line in table.strip().splitlines())
    return {
        Target(int(match[1]), match[2]): PtxVersion.parse(version)
        for name, version in rows
        if (match := _TARGET.fullmatch(name))
    }


PTX_VERSIONS: Final = tuple(
    PtxVersion(major, minor)
    for major, minors in ((6, range(3, 6)), (7, range(9)), (8, range(9)), (9, range(6)))
    for minor in minors
)
"""From that of the first target on, to the one that the instruction table is complete for."""

# Source: PTX ISA, "Release Notes" and ".target"; checked against the assembler by the test suite.
PTX_FOR_TARGET: Final = _targets("""
    sm_75   6.3
    sm_80   7.0
    sm_86   7.1
    sm_87   7.4
    sm_88   9.0
    sm_89   7.8
    sm_90   7.8
    sm_90a  8.0
    sm_100  8.6
    sm_100a 8.6
    sm_100f 8.8
    sm_103  8.8
    sm_103a 8.8
    sm_103f 8.8
    sm_107  9.4
    sm_107a 9.4
    sm_107f 9.4
    sm_110  9.0
    sm_110a 9.0
    sm_110f 9.0
    sm_120  8.7
    sm_120a 8.7
    sm_120f 8.8
    sm_121  8.8
    sm_121a 8.8
    sm_121f 8.8
""")
TARGETS: Final = tuple(PTX_FOR_TARGET)
_OLDER: Final = _targets("""
    sm_50   4.0
    sm_52   4.1
    sm_53   4.2
    sm_60   5.0
    sm_61   5.0
    sm_62   5.0
    sm_70   6.0
    sm_72   6.1
""")
"""Targets that the assembler reads, and makes no code for."""


@cache
def targets_of(expression: str) -> frozenset[Target]:
    """The targets an availability expression covers, e.g. `"sm_90"` or `"sm_90a sm_100f"`.

    A plain name covers itself and everything later, `a` covers one target, `f` the later members
    of its family. An empty expression covers all targets.
    """
    if not expression:
        return frozenset(TARGETS)
    covered: set[Target] = set()
    for name in expression.split():
        match = _TARGET.fullmatch(name)
        if match is None:
            raise ValueError(f"bad target {name!r} in {expression!r}")
        covered |= {t for t in TARGETS if _covers(Target(int(match[1]), match[2]), t)}
    return frozenset(covered)


def _covers(named: Target, target: Target) -> bool:
    if named.suffix == "a":
        return target == named
    if named.suffix == "f":
        return target.suffix != "" and target.family == named.family and target.sm >= named.sm
    return target.sm >= named.sm
