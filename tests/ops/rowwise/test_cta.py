"""One CTA per row, for operations other than norms, in the emulator against NumPy float64."""

from __future__ import annotations

import pytest

import pyptx
from pyptx import device
from pyptx._target import Target
from pyptx.ops.rowwise.strategies import cta
from pyptx.types import bf16, f16, f32, f64

from .toys_cta import KINDS, Blend, Centred, Gate, Toy, clean, close, rows_of

WAYS = [
    {"held": True},
    {"held": False},
    {"held": True, "late": True},
    {"held": False, "late": True},
    {"held": True, "direct": True},
    {"held": True, "direct": True, "parts": 4},
]
ways = pytest.mark.parametrize("way", WAYS, ids=str)
A100 = device.of(Target.parse("sm_80"))


def check(op: Toy, count: int, way: dict, *, threads: int = 128, **options) -> None:
    given = op.arrays(count, seed=op.columns)
    kernel = cta.independent(op, rows_of(op, **options), threads=threads, **way)
    close(op, clean(kernel.emulate(*given)), given)


@pytest.mark.sampled(48, each=("way", "kinds"))
@ways
@pytest.mark.parametrize("kinds", KINDS, ids=lambda k: "-".join(t.name for t in k))
@pytest.mark.parametrize("n", [9, 768, 1003])
def test_two_sums_of_two_inputs(n, kinds, way):
    check(Blend(n, kinds), 5, way)


@pytest.mark.sampled(16)
@ways
@pytest.mark.parametrize("count", [1, 40])
def test_rows_cut_at_lines(count, way):
    """Ends of up to a line, in the first warps alone."""
    check(Blend(1155, KINDS[1]), count, way, threads=256, lines=True)


@pytest.mark.sampled(48, each=("way", "types"))
@ways
@pytest.mark.parametrize("types", [(f32, f32, f32), (bf16, f16, f32), (f64, bf16, f64)], ids=str)
@pytest.mark.parametrize("n", [11, 129, 2048, 2055])
def test_a_statistic_of_two_numbers(n, types, way):
    """A thread without an element says minus infinity, and adds nothing to the sum."""
    check(Centred(n, *types), 3, way)
    check(Centred(n, *types), 2, way, threads=32)


@ways
@pytest.mark.parametrize("n", [96, 515])
def test_elements_that_need_nothing_of_their_row(n, way):
    """There is no statistic: nothing is exchanged between threads."""
    op = Gate(n, bf16, f32)
    check(op, 7, way)
    kernel = cta.independent(op, rows_of(op), threads=128, **way)
    assert "shfl" not in kernel.ptx()


@pytest.mark.sampled(24, each=("way", "n"))
@ways
@pytest.mark.parametrize("n", [1024, 517])
def test_without_bulk_copies(n, way):
    """Each thread copies what it reads, on a device that has no more than that."""
    with pyptx.target("sm_80"):
        check(Blend(n, KINDS[2]), 6, way, device=A100)
        check(Centred(n, bf16, f32, f32), 6, way, device=A100)


@pytest.mark.parametrize("completion", ["eager", "late", "reversed", "random"])
def test_copies_that_arrive_in_any_order(completion):
    op = Blend(1003, KINDS[3])
    given = op.arrays(4)
    kernel = cta.independent(op, rows_of(op), threads=64, held=False)
    close(op, clean(kernel.emulate(*given, completion=completion, seed=1)), given)


@pytest.mark.sampled(32, each=("arch", "way"))
@ways
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_every_target_assembles_it(arch, way):
    what = device.of(Target.parse(arch))
    for op in (Blend(1003, KINDS[1]), Centred(4096, bf16, bf16, f32), Gate(40, f32, f16)):
        rows = rows_of(op, device=what)
        needs = cta.needs(op, rows, direct=way.get("direct", False))
        assert what.has(*needs.features)
        cubin = cta.independent(op, rows, threads=128, **way).cubin(arch=arch)
        assert cubin.spill_stores == 0
        assert cubin.shared <= max(needs.shared, 1024)


def test_what_it_needs_counts_every_input():
    """A row of each input per element, each from a line of its own, and 1 KiB."""
    op = Blend(1000, KINDS[1])
    rows = rows_of(op)
    assert rows.part(1) == 125
    needs = cta.needs(op, rows, direct=False)
    assert needs.shared == 2048 + 4000 + 1024
    assert cta.needs(op, rows, direct=True) == device.Needs()
