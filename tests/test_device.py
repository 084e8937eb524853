"""What devices have: the table against the guide's, the ISA table, and the rest of the package."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

import pyptx
from pyptx import PtxError, Tile, device, kernel, ptx, reg, smem
from pyptx._target import TARGETS, Target
from pyptx.device import KIB, Needs
from pyptx.types import f64, u32

SOURCE = Path(pyptx.__file__).parent


def of(name):
    return device.of(Target.parse(name))


def test_every_target_has_a_device():
    for target in TARGETS:
        found = device.of(target)
        assert found.name == str(target)
        assert found.part
        assert found.counted_on <= found.multiprocessors <= found.largest
        assert found.warps * device.WARP == found.threads
        assert device.STATIC_SHARED <= found.cta_shared <= found.shared


# Rows of the guide's tables: resident threads and CTAs, KiB of shared memory of an SM and of a CTA.
GUIDE = {
    "sm_75": (1024, 16, 64, 64),
    "sm_80": (2048, 32, 164, 163),
    "sm_86": (1536, 16, 100, 99),
    "sm_87": (1536, 16, 164, 163),
    "sm_89": (1536, 24, 100, 99),
    "sm_90a": (2048, 32, 228, 227),
    "sm_100a": (2048, 32, 228, 227),
    "sm_103": (2048, 32, 228, 227),
    "sm_110f": (1536, 24, 228, 227),
    "sm_120a": (1536, 24, 100, 99),
    "sm_121": (1536, 24, 100, 99),
}


@pytest.mark.parametrize("name", GUIDE)
def test_limits_are_those_of_the_guide(name):
    found = of(name)
    numbers = found.threads, found.ctas, found.shared // KIB, found.cta_shared // KIB
    assert numbers == GUIDE[name]


EXAMPLES = {
    "cp.async": lambda: ptx.inst.cp.async_.wait_all(),
    "createpolicy": lambda: ptx.inst.createpolicy.fractional.L2__evict_last.b64(1.0),
    "bf16": lambda: ptx.raw("{ .reg .b16 a; mov.b16 a, 0; fma.rn.bf16 a, a, a, a; }"),
    "cvt.bf16.f64": lambda: ptx.inst.cvt.rn.bf16.f64(reg.scalar(f64, init=0.0)),
    "cvt.e4m3": lambda: ptx.inst.cvt.rn.satfinite.e4m3x2.f32(0.0, 1.0),
    "mma.e4m3": lambda: ptx.raw(
        "{ .reg .f32 d; .reg .b32 a; mov.f32 d, 0f00000000; mov.b32 a, 0; "
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{d, d, d, d}, {a, a, a, a}, {a, a}, {d, d, d, d}; }"
    ),
    "mbarrier": lambda: ptx.inst.mbarrier.init.shared.b64(smem.mbarrier(), 1),
    "mbarrier.expect_tx": lambda: ptx.inst.mbarrier.arrive.expect_tx.shared.b64(
        ptx.sink, smem.mbarrier(), 16
    ),
    "clusters": lambda: ptx.inst.barrier.cluster.arrive(),
    "cp.async.bulk": lambda: ptx.inst.cp.async_.bulk.commit_group(),
    "cp.async.bulk.tensor": lambda: ptx.raw(
        "{ .reg .b64 m; .reg .b32 i, t; mov.b64 m, 0; mov.b32 i, 0; mov.b32 t, 0; "
        "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [m, {i}], [t]; }"
    ),
    "cp.reduce.async.bulk": lambda: ptx.raw(
        "{ .reg .b64 g; .reg .b32 t; mov.b64 g, 0; mov.b32 t, 0; "
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [t], 16; }"
    ),
    "st.async": lambda: ptx.raw(
        "{ .reg .b32 a; mov.b32 a, 0; "
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [a], a, [a]; }"
    ),
    "multimem": lambda: ptx.raw(
        "{ .reg .b64 a; .reg .b32 v; mov.b64 a, 0; mov.b32 v, 0; "
        "multimem.red.relaxed.sys.global.add.u32 [a], v; }"
    ),
    "griddepcontrol": lambda: ptx.inst.griddepcontrol.wait(),
    "wgmma": lambda: ptx.inst.wgmma.fence.sync.aligned(),
    "setmaxnreg": lambda: ptx.inst.setmaxnreg.inc.sync.aligned.u32(64),
    "tcgen05": lambda: ptx.inst.tcgen05.fence__before_thread_sync(),
}
WITHOUT_INSTRUCTION = {"tensor map atomicity"}


def test_every_feature_has_an_example():
    assert EXAMPLES.keys() | WITHOUT_INSTRUCTION == device.FEATURES.keys()


@pytest.mark.parametrize("feature", EXAMPLES)
def test_features_are_those_of_the_instructions(feature):
    """A device has a feature exactly where the language takes its instruction."""
    taken = set()

    def body():
        EXAMPLES[feature]()

    for target in TARGETS:
        try:
            kernel(arch=str(target))(body).module()
        except PtxError as error:
            assert "targets that do" in str(error), error
        else:
            taken.add(target)
    assert taken == {target for target in TARGETS if device.of(target).has(feature)}


def test_a_name_that_is_no_feature():
    with pytest.raises(KeyError, match="no feature of a device: tma"):
        of("sm_90a").has("clusters", "tma")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("sm_89", {1: 142, 2: 0, 16: 0}),
        ("sm_90a", {1: 132, 2: 64, 4: 28, 8: 14, 16: 6}),  # as measured on H200s
        ("sm_120a", {2: 74, 8: 18, 16: 0}),
        ("sm_110", {8: 1, 16: 0}),
    ],
)
def test_resident_clusters(name, counts):
    assert {size: of(name).resident_clusters(size) for size in counts} == counts


@pytest.mark.parametrize(
    ("threads", "shared", "ctas"),
    [(1024, 0, 2), (33, 0, 32), (128, 0, 16), (32, 0, 32), (32, 75 * KIB, 3), (32, 227 * KIB, 1)],
)
def test_resident_ctas(threads, shared, ctas):
    assert of("sm_90").resident_ctas(threads, shared) == ctas


def test_what_several_devices_have():
    names = "sm_80", "sm_90a", "sm_120a"
    found = device.common(tuple(map(Target.parse, names)))
    assert found.name == "sm_80 sm_90a sm_120a"
    assert (found.part, found.multiprocessors, found.counted_on) == ("A100", 108, 20)
    assert (found.threads, found.ctas, found.cta_shared) == (1536, 24, 99 * KIB)
    assert found.cluster == 1
    assert found.resident_clusters(2) == 0
    assert found.features == of("sm_80").features
    both = device.common((Target.parse("sm_90a"), Target.parse("sm_120a")))
    assert both.cluster == 8
    assert {size: both.resident_clusters(size) for size in (2, 8, 16)} == {2: 64, 8: 14, 16: 0}
    assert device.common((Target.parse("sm_90a"),) * 2) == of("sm_90a")


@pytest.mark.parametrize(
    ("needs", "allowed"),
    [
        (Needs(), {"sm_80", "sm_90", "sm_120a"}),
        (Needs(("clusters", "st.async"), cluster=8), {"sm_90", "sm_120a"}),
        (Needs(("clusters",), cluster=16), {"sm_90"}),
        (Needs(shared=99 * KIB), {"sm_80", "sm_90", "sm_120a"}),
        (Needs(shared=99 * KIB + 1), {"sm_80", "sm_90"}),
        (Needs(shared=227 * KIB), {"sm_90"}),
        (Needs(shared=227 * KIB + 1), set()),
        (Needs(at_once=56), {"sm_80", "sm_90"}),
        (Needs(at_once=128), {"sm_90"}),
    ],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_needs(needs, allowed):
    assert {n for n in ("sm_80", "sm_90", "sm_120a") if of(n).allows(needs)} == allowed


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("sm_80", ["sm_80", "sm_86", "sm_87", "sm_88", "sm_89"]),
        ("sm_89", ["sm_89"]),
        ("sm_90a", ["sm_90a"]),
        ("sm_100f", ["sm_100f", "sm_103f", "sm_107f"]),
        ("sm_120", ["sm_120", "sm_121"]),
    ],
)
def test_devices_that_run_a_target(name, runs):
    assert [found.name for found in device.that_run(Target.parse(name))] == runs


def test_the_header_of_the_emulator_is_current():
    """`make device` writes it."""
    path = Path(__file__).parents[1] / "tools/device_header.py"
    tool = runpy.run_path(str(path))
    assert tool["PATH"].read_text() == tool["text"]()


@pytest.mark.parametrize(("name", "sms"), [("sm_80", 108), ("sm_90a", 132), ("sm_120", 170)])
def test_the_emulator_has_the_multiprocessors_of_its_target(name, sms):
    @kernel(out_specs=(Tile(1, u32),), in_specs=(), arch=name)
    def count(Y):
        (y,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.u32(ptx.addr(y), reg.from_(ptx.special.nsmid(), u32))

    assert count.emulate().outputs[0].tolist() == [sms]


# ---- no other file has constants of a GPU --------------------------------------------------------

# Names that stood in other files, and what they meant: limits and counts of a device.
MOVED = {
    "SHARED_LIMIT": "verify.py: KiB of a CTA; launch/plan.py: a limit of a launch's argument",
    "STATIC_SHARED_LIMIT": "ir.py: static shared memory",
    "MULTIPROCESSORS": "launch/plan.py: SMs of the largest chip",
    "MULTIPROCESSOR_CTAS": "launch/plan.py: resident CTAs",
    "MULTIPROCESSOR_THREADS": "launch/plan.py: resident threads",
    "MULTIPROCESSOR_SHARED": "launch/plan.py: shared memory of an SM",
    "CTA_RESERVED_SHARED": "launch/plan.py: shared memory that a CTA takes besides its own",
    "BLOCK_THREADS": "launch/plan.py: threads of a CTA",
    "_THREADS": "_isa/directives.py: threads of a CTA",
    "_CTAS": "_isa/directives.py: CTAs of a cluster; ops/rms/choice.py: SMs",
    "_CLUSTERS": "ops/rms/choice.py: resident clusters",
    "SHARED": "ops/rms/choice.py: shared memory of a CTA",
    "RESIDENT": "ops/rms/columns.py: resident threads of a device",
    "_ATOMICITY_SM": "trace/tensor_map.py: the first target with a feature",
}
FACTS = {name for name in vars(device) if name.isupper()} - {"FEATURES", "KIB", "TARGETS"}
# SMs, KiB and bytes of shared memory, and limits of a grid: numbers that mean nothing else.
NUMBERS = {108, 132, 142, 144, 148, 160, 163, 164, 170, 192, 227, 228}
NUMBERS |= {n * KIB for n in (48, 99, 100, 163, 164, 227, 228)} | {65535}
OTHERWISE = {
    ("_isa/constants.py", 65535),  # the largest 16-bit integer
    *(
        (f"ops/tensor_core/{name}.py", columns)  # of tiles
        for name in ("measured", "shapes")
        for columns in (144, 160, 192)
    ),
}


def constants(tree):
    """Integer literals, and products of two of them."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                yield value
            case ast.BinOp(
                left=ast.Constant(value=int(a)), op=ast.Mult(), right=ast.Constant(value=int(b))
            ):
                yield a * b


def assigned(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def found_in(path, text):
    tree = ast.parse(text)
    yield from (f"{path}: {n}" for n in constants(tree) if n in NUMBERS - allowed_in(path))
    if not path.startswith("_isa/"):  # rows, which have names of their own
        names = MOVED.keys() | FACTS
        yield from (f"{path}: {name}" for name in assigned(tree) if name in names)


def allowed_in(path):
    return {number for file, number in OTHERWISE if file == path}


def test_no_other_file_has_constants_of_a_gpu():
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    del files["device.py"]
    assert [
        line for name in sorted(files) for line in found_in(name, files[name].read_text())
    ] == []


@pytest.mark.parametrize(
    "line", ["ctas = 132", "x = 48 * 1024", "SHARED_LIMIT = big", "f(65535)", "WARP = 32"]
)
def test_such_a_constant_is_found(line):
    assert [*found_in("x.py", line)]
