"""The performance-tuning and cluster directives of a kernel, and the strings of `.pragma`.

Source: PTX ISA, "Performance-Tuning Directives", "Cluster Dimension Directives", "Miscellaneous
Directives" and "Descriptions of .pragma Strings".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pyptx._isa.model import EVERYWHERE, Availability
from pyptx._target import TARGETS, PtxVersion, Target
from pyptx.device import CLUSTER_LIMIT, CTA_THREADS, THREAD_REGISTERS
from pyptx.errors import IsaError

_MANY: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class DirectiveSpec:
    """One directive of a kernel.

    `counts` is how many values it may have, `values` what each may be, `product` the largest
    product of them. `needs` and `excludes` name directives of the same kernel.
    """

    name: str
    section: str
    summary: str
    counts: range = range(1)
    values: range = range(1, _MANY)
    product: int = _MANY
    availability: Availability = EVERYWHERE
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PragmaSpec:
    """A string of `.pragma`; `argument` is the manual's word for the value that follows it."""

    name: str
    section: str
    summary: str
    argument: str = ""
    availability: Availability = EVERYWHERE


_ONE: Final = range(1, 2)
_UP_TO_THREE: Final = range(1, 4)
_CLUSTERS: Final = Availability("sm_90", PtxVersion(7, 8))

DIRECTIVES: Final[Mapping[str, DirectiveSpec]] = {
    spec.name: spec
    for spec in (
        DirectiveSpec(
            "maxnreg",
            "performance-tuning-directives-maxnreg",
            "The most registers a thread may use.",
            _ONE,
            range(1, THREAD_REGISTERS + 1),
        ),
        DirectiveSpec(
            "maxntid",
            "performance-tuning-directives-maxntid",
            "The most threads of a CTA, by dimension.",
            _UP_TO_THREE,
            range(1, CTA_THREADS + 1),
            CTA_THREADS,
            excludes=("reqntid",),
        ),
        DirectiveSpec(
            "reqntid",
            "performance-tuning-directives-reqntid",
            "The exact number of threads of a CTA, by dimension.",
            _UP_TO_THREE,
            range(1, CTA_THREADS + 1),
            CTA_THREADS,
            excludes=("maxntid",),
        ),
        DirectiveSpec(
            "minnctapersm",
            "performance-tuning-directives-minnctapersm",
            "The fewest CTAs that must fit on an SM together.",
            _ONE,
        ),
        DirectiveSpec(
            "minperctamemory",
            "performance-tuning-directives-minperctamemory",
            "The fewest bytes of global memory that each CTA has to itself.",
            _ONE,
            availability=Availability("sm_80", PtxVersion(9, 4)),
        ),
        DirectiveSpec(
            "reqnctapercluster",
            "cluster-dimension-directives-reqnctapercluster",
            "The exact number of CTAs of a cluster, by dimension.",
            _UP_TO_THREE,
            range(1, CLUSTER_LIMIT + 1),
            CLUSTER_LIMIT,
            _CLUSTERS,
            excludes=("maxclusterrank",),
        ),
        DirectiveSpec(
            "explicitcluster",
            "cluster-dimension-directives-explicitcluster",
            "The launch must name the size of the cluster.",
            availability=_CLUSTERS,
        ),
        DirectiveSpec(
            "maxclusterrank",
            "cluster-dimension-directives-maxclusterrank",
            "The most CTAs of a cluster.",
            _ONE,
            range(1, CLUSTER_LIMIT + 1),
            availability=_CLUSTERS,
            excludes=("reqnctapercluster",),
        ),
        DirectiveSpec(
            "blocksareclusters",
            "miscellaneous-directives-blocksareclusters",
            "The grid of a launch counts clusters and not CTAs.",
            availability=Availability("sm_90", PtxVersion(9, 0)),
            needs=("reqntid", "reqnctapercluster"),
        ),
    )
}
"""Every directive that a kernel may have before its body, by name without the dot."""

PRAGMAS: Final[Mapping[str, PragmaSpec]] = {
    spec.name: spec
    for spec in (
        PragmaSpec(
            "nounroll",
            "pragma-strings-nounroll",
            "Do not unroll the loops that follow.",
        ),
        PragmaSpec(
            "used_bytes_mask",
            "pragma-strings-used-bytes-mask",
            "Which bytes of the load that follows are used.",
            "mask",
            Availability("", PtxVersion(8, 3)),
        ),
        PragmaSpec(
            "enable_smem_spilling",
            "pragma-strings-enable-smem-spilling",
            "Registers may be spilled to shared memory.",
            availability=Availability("", PtxVersion(9, 0)),
        ),
        PragmaSpec(
            "frequency",
            "pragma-strings-frequency",
            "How often the basic block is executed.",
            "n",
            Availability("", PtxVersion(9, 0)),
        ),
    )
}
"""Every string of `.pragma` that is described for a kernel, by its first word."""


def check(
    directives: Iterable[tuple[str, tuple[int, ...]]],
    target: Target | None = None,
    version: PtxVersion | None = None,
) -> PtxVersion:
    """Check the directives of one kernel; the PTX version that they need.

    A target or version of None is not checked. Raises IsaError for an unknown or repeated
    directive, a wrong count or value, a combination that the manual forbids, and a target or
    version without it.
    """
    given = list(directives)
    names = [name for name, _ in given]
    needed = EVERYWHERE.ptx
    for name, values in given:
        spec = _known(name)
        if names.count(name) > 1:
            raise IsaError(f".{name} stands twice")
        _check_values(spec, values)
        _check_company(spec, names)
        _check_availability(spec, target, version)
        needed = max(needed, spec.availability.ptx)
    return needed


def _known(name: str) -> DirectiveSpec:
    if name not in DIRECTIVES:
        known = " ".join(f".{n}" for n in DIRECTIVES)
        raise IsaError(f"a kernel has no directive .{name}", notes=(("directives", known),))
    return DIRECTIVES[name]


def _check_values(spec: DirectiveSpec, values: tuple[int, ...]) -> None:
    low, high = spec.counts.start, spec.counts.stop - 1
    if len(values) not in spec.counts:
        wanted = f"{low}" if low == high else f"{low} to {high}"
        noun = "value" if wanted == "1" else "values"
        raise IsaError(f".{spec.name} takes {wanted} {noun}, not {len(values)}")
    legal = f"{spec.values.start} to {spec.values.stop - 1}"
    for value in values:
        if value not in spec.values:
            raise IsaError(f".{spec.name} {value} is out of range", notes=(("legal", legal),))
    if math.prod(values) > spec.product:
        shape = " x ".join(map(str, values))
        raise IsaError(
            f".{spec.name} of {shape} is {math.prod(values)}, which is too many",
            notes=(("at most", str(spec.product)),),
        )


def _check_company(spec: DirectiveSpec, names: list[str]) -> None:
    for other in spec.needs:
        if other not in names:
            raise IsaError(f".{spec.name} needs .{other} beside it")
    for other in spec.excludes:
        if other in names:
            raise IsaError(f".{spec.name} and .{other} cannot stand together")


def _check_availability(
    spec: DirectiveSpec, target: Target | None, version: PtxVersion | None
) -> None:
    available = spec.availability
    if target is not None and target.current not in available.targets:
        having = " ".join(str(t) for t in TARGETS if t in available.targets)
        raise IsaError(f"{target} does not have .{spec.name}", notes=(("targets that do", having),))
    if version is not None and version < available.ptx:
        raise IsaError(
            f"PTX {version} does not have .{spec.name}",
            notes=(("first in", f"PTX {available.ptx}"),),
        )
