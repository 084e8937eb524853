"""What GPUs have, by target: the one place of facts about devices.

Sources: CUDA C++ Programming Guide, "Compute Capabilities" (features, and the two tables of
technical specifications), for limits of a CTA, an SM and a grid; NVIDIA's data sheets and the white
papers of the architectures for the SMs of products, which the guide does not list. Where a number
was measured or estimated instead, the comment at it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, reduce
from typing import Final, TypeAlias

from pyptx._calls import binding
from pyptx._source import caller
from pyptx._target import TARGETS, Target, targets_of
from pyptx.errors import SpecError

Triple: TypeAlias = tuple[int, int, int]

KIB: Final = 1024

# ---- the same on every device --------------------------------------------------------------------

WARP: Final = 32
GRID_LIMITS: Final[Triple] = (2**31 - 1, 65535, 65535)
BLOCK_LIMITS: Final[Triple] = (1024, 1024, 64)
CTA_THREADS: Final = 1024
THREAD_REGISTERS: Final = 255
CTA_REGISTERS: Final = 64 * KIB
"""32-bit registers of a CTA at most, which are all of an SM."""
STATIC_SHARED: Final = 48 * KIB
"""Bytes of shared memory that a kernel may declare statically; more of it is dynamic."""
CLUSTER_LIMIT: Final = 16
"""CTAs of the largest cluster that any device takes."""
PORTABLE_CLUSTER: Final = 8
"""CTAs of a cluster that every device with clusters takes."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a way to compute needs of a device, so that choices can take the first it allows.

    features   names of `FEATURES`
    shared     bytes of shared memory of a CTA
    cluster    CTAs of a cluster
    at_once    CTAs that have to run at the same time, one on each SM
    """

    features: tuple[str, ...] = ()
    shared: int = 0
    cluster: int = 1
    at_once: int = 0


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU of a target, or what all GPUs of several targets have; sizes are in bytes.

    multiprocessors    of `part`, the product that choices are made for; others have more or fewer
    counted_on         SMs that a launch may count on: of the smallest product
    largest            SMs of the largest chip
    threads, ctas      at most resident on an SM
    shared             shared memory of an SM
    cta_shared         the most shared memory that a CTA has (`opt-in`)
    reserved_shared    shared memory of an SM that each CTA takes besides its own
    cluster            CTAs of the largest cluster, 1 where there are none; beyond 8 the launch
                       allows it explicitly (CUDA's non-portable cluster size)
    measured           clusters of a size that run at once, for sizes where that was measured
    features           names of `FEATURES`
    """

    name: str
    part: str
    multiprocessors: int
    counted_on: int
    largest: int
    threads: int
    ctas: int
    shared: int
    cta_shared: int
    reserved_shared: int
    cluster: int
    measured: tuple[tuple[int, int], ...] = ()
    features: frozenset[str] = frozenset()

    @property
    def warps(self) -> int:
        """Warps at most resident on an SM."""
        return self.threads // WARP

    def has(self, *features: str) -> bool:
        """Whether it has all of these features. Raises KeyError for a name that is none."""
        unknown = set(features) - FEATURES.keys()
        if unknown:
            raise KeyError(f"no feature of a device: {' '.join(sorted(unknown))}")
        return self.features.issuperset(features)

    def allows(self, needs: Needs) -> bool:
        """Whether it has all that a way to compute needs."""
        return (
            self.has(*needs.features)
            and needs.shared <= self.cta_shared
            and needs.cluster <= self.cluster
            and needs.at_once <= self.counted_on
        )

    def resident_clusters(self, size: int) -> int:
        """Clusters of `size` CTAs, one on each SM, that run at once; 0 where it takes none.

        A cluster lies in one GPC, whose numbers of SMs differ from chip to chip, so there are fewer
        than SMs divided by CTAs. Where none was measured it is an estimate: seven eighths of that.
        """
        if size > self.cluster:
            return 0
        if size == 1:
            return self.multiprocessors
        found = dict(self.measured).get(size)
        return max(1, self.multiprocessors // size * 7 // 8) if found is None else found

    def resident_ctas(self, threads: int, shared: int) -> int:
        """CTAs at once on an SM, of so many threads and bytes of shared memory each."""
        return min(
            self.ctas,
            self.threads // (-(-threads // WARP) * WARP),
            self.shared // (shared + self.reserved_shared),
        )


FEATURES: Final[Mapping[str, str]] = {
    "cp.async": "sm_80",
    "createpolicy": "sm_80",
    "bf16": "sm_80",
    "cvt.bf16.f64": "sm_90",
    "cvt.e4m3": "sm_89",
    "mma.e4m3": "sm_89",
    "mbarrier": "sm_80",
    "mbarrier.expect_tx": "sm_90",
    "clusters": "sm_90",
    "cp.async.bulk": "sm_90",
    "cp.async.bulk.tensor": "sm_90",
    "cp.reduce.async.bulk": "sm_90",
    "st.async": "sm_90",
    "multimem": "sm_90",
    "griddepcontrol": "sm_90",
    "wgmma": "sm_90a",
    "setmaxnreg": "sm_90a sm_100f sm_103f sm_107f sm_110f sm_120f",
    "tensor map atomicity": "sm_100",
    "tcgen05": "sm_100f sm_103f sm_107f sm_110f",
}
"""What only some devices have, by the name of its instruction, and the targets that have it.

"clusters" are groups of CTAs that share their shared memory; "griddepcontrol" is programmatic
dependent launch; "cp.async.bulk" and "cp.async.bulk.tensor" are the Tensor Memory Accelerator;
"cvt.e4m3" is `cvt` to 8-bit floats, and "mma.e4m3" `mma` of them;
"tensor map atomicity" are swizzles of tensor maps that move more than 16 bytes.
"""

# Threads and CTAs of an SM, KiB of shared memory of an SM, KiB that it keeps for each CTA, CTAs of
# a cluster; then SMs: of a part, of the smallest product, of the largest chip; and the part.
#
# Of 9.0 the smallest is that of the SXM and NVL products: choices for it are those of an H200. An
# H100 PCIe has 114 SMs and an H20 has 78; they refuse a cooperative launch that counts on more.
#
# The guide has no row for 8.8 and 10.7: they are taken to be as 8.7 with the shared memory of 8.6,
# and as 10.3. That CTAs of 11.0 and 12.x form no cluster beyond 8 is the guide's default.
_TABLE: Final = """
    sm_75   1024 16  64 0  1    40  14  72  Tesla T4
    sm_80   2048 32 164 1  1   108  56 128  A100
    sm_86   1536 16 100 1  1    84  16  84  RTX A6000
    sm_87   1536 16 164 1  1    16   8  16  Jetson AGX Orin
    sm_88   1536 16 100 1  1    16   8  16  no product
    sm_89   1536 24 100 1  1   142  20 144  L40S
    sm_90   2048 32 228 1 16   132 132 144  H200
    sm_100  2048 32 228 1 16   148 148 160  B200
    sm_103  2048 32 228 1 16   148 148 160  B300
    sm_107  2048 32 228 1 16   148 148 160  no product
    sm_110  1536 24 228 1  8    20  12  20  Jetson Thor
    sm_120  1536 24 100 1  8   170  20 192  GeForce RTX 5090
    sm_121  1536 24 100 1  8    48  48  48  GB10
"""

_MEASURED: Final = {
    90: (
        *((2, 64), (3, 37), (4, 28), (5, 21), (6, 16), (7, 14), (8, 14), (9, 8)),
        *((size, 6) for size in range(10, 17)),
    )
}
"""Clusters that ran at once on H200s, whichever of its SMs a chip had. Of sizes that are no power
of two it is what one chip had (`cuOccupancyMaxActiveClusters`: 39, 22, 17, 15, 9 and 7) less as
many as it had beyond other chips."""


@binding(SpecError, "device.of")
def of(target: Target) -> Device:
    """The device of a target: that of its compute capability, with the features of its suffix.

    Raises SpecError for what is no Target, such as `pyptx.lowered_for()` gives.
    """
    if not isinstance(target, Target):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _no_target(target)
    return _of(target)


@cache
def _of(target: Target) -> Device:
    current = target.current
    features = frozenset(name for name, where in FEATURES.items() if current in targets_of(where))
    return replace(_DEVICES[current.sm], name=str(target), features=features)


@binding(SpecError, "device.common")
def common(targets: tuple[Target, ...]) -> Device:
    """What the devices of all these targets have: the smallest of each number.

    Raises SpecError for what is no tuple of Targets, and for none.
    """
    if not isinstance(targets, tuple) or not targets:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _no_target(targets)
    for target in targets:
        of(target)
    return _common(targets)


@lru_cache(maxsize=256)  # combinations of targets are many; a process uses a few
def _common(targets: tuple[Target, ...]) -> Device:
    return reduce(_both, dict.fromkeys(map(of, targets)))


def _no_target(given: object) -> SpecError:
    return SpecError(
        f"{given!r} is not a target, nor a tuple of targets",
        location=caller(),
        notes=(("help", "pyptx.device.common(pyptx.lowered_for()) in a sequence"),),
    )


def that_run(target: Target) -> Iterable[Device]:
    """The devices that run code assembled for a target.

    Code for a plain target runs on later compute capabilities of the same major number too, that
    with the suffix "f" within the family, that with "a" on no other (PTX ISA, ".target").
    """
    if target.suffix == "a":
        return (of(target),)
    return tuple(
        of(other)
        for other in TARGETS
        if other.suffix == target.suffix
        and other.sm // 10 == target.sm // 10
        and other.sm >= target.sm
    )


def _both(one: Device, other: Device) -> Device:
    smaller = one if one.multiprocessors <= other.multiprocessors else other
    sizes = {size for device in (one, other) for size, _ in device.measured}
    return Device(
        name=f"{one.name} {other.name}",
        part=smaller.part,
        multiprocessors=smaller.multiprocessors,
        counted_on=min(one.counted_on, other.counted_on),
        largest=min(one.largest, other.largest),
        threads=min(one.threads, other.threads),
        ctas=min(one.ctas, other.ctas),
        shared=min(one.shared, other.shared),
        cta_shared=min(one.cta_shared, other.cta_shared),
        reserved_shared=max(one.reserved_shared, other.reserved_shared),
        cluster=min(one.cluster, other.cluster),
        measured=tuple(
            (size, min(one.resident_clusters(size), other.resident_clusters(size)))
            for size in sorted(sizes)
        ),
        features=one.features & other.features,
    )


def _devices(table: str) -> dict[int, Device]:
    found: dict[int, Device] = {}
    for line in table.strip().splitlines():
        name, *numbers, part = line.split(None, 9)
        threads, ctas, shared, reserved, cluster, *sms = map(int, numbers)
        sm = Target.parse(name).sm
        found[sm] = Device(
            name=name,
            part=part,
            multiprocessors=sms[0],
            counted_on=sms[1],
            largest=sms[2],
            threads=threads,
            ctas=ctas,
            shared=shared * KIB,
            cta_shared=(shared - reserved) * KIB,
            reserved_shared=reserved * KIB,
            cluster=cluster,
            measured=_MEASURED.get(sm, ()),
        )
    return found


_DEVICES: Final = _devices(_TABLE)
