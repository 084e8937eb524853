"""Every row of docs/from_upstream.md, tried: what it says to write is traced, and runs if it can.

A snippet is the body of a kernel of the arrays X and Y; `ROWS` has one or more for each row.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from pyptx.smem import alloc as imported_alloc

import pyptx
import pyptx.specs
from pyptx import CallError, LanguageError, Layout, Scalar, SpecError, Tile, kernel, ptx, reg, smem
from pyptx._cures import CURES
from pyptx.types import b8, b32, bf16, f32, pred, s32, s64, u32, u64

PAGE = Path(__file__).parents[2] / "docs" / "from_upstream.md"
CELLS = re.compile(r"^\| (.*?) \| (.*?) \|$", re.MULTILINE)


def rows():
    return [there for there, _ in CELLS.findall(PAGE.read_text()) if there not in ("there", "---")]


def traced(body, arch="sm_90a", **options):
    """The PTX of a kernel whose body takes X and Y of 64 floats, assembled."""

    def snippet(X, Y):
        body(X, Y)

    specs = {"in_specs": (Tile(64, f32),), "out_specs": (Tile(64, f32, partial=True),)}
    made = kernel(**{**specs, "block": 128, "arch": arch, **options})(snippet)
    made.cubin()
    return made.ptx()


def the_same_names(X, Y):
    for name in ("kernel", "Tile", "Layout", "reg", "smem", "ptx"):
        assert hasattr(pyptx, name)


def modules(X, Y):
    assert pyptx.specs.Tile is Tile
    assert pyptx.specs.Layout is Layout
    assert imported_alloc is smem.alloc
    imported_alloc(f32, 4)[0] = 1.0


def options(X, Y):
    def body(X, Y):
        smem.store(u32, smem.base(), 1)

    text = traced(body, raw_directives=[("maxnreg", (64,))], extern_smem=True, smem=4096)
    assert ".maxnreg 64" in text
    assert ".extern .shared .align 128 .b8 global_smem[];" in text
    assert ".reqntid 128, 1, 1" in traced(the_same_names, reqntid=(128, 1, 1))


def params(X, Y):
    @kernel(in_specs=(Scalar(u32),), out_specs=(Tile(1, u32),))
    def number(n, Y):
        Y[0] = n

    np.testing.assert_array_equal(number(np.uint32(7)), [7])


def by_hand(X, Y):
    @kernel(block=32)
    def launched():
        ptx.param(u32, "n")

    assert ".param .u32 n" in launched.ptx()


def sizes(X, Y):
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N//2", f32, init=2.0),), dynamic=("N",))
    def half(X, Y):
        assert not isinstance(X.shape[0], int)

    np.testing.assert_array_equal(half(np.ones(5, np.float32)), [2, 2])


def differentiable(X, Y):
    assert pytest.importorskip("jax").custom_vjp


def arch(X, Y):
    assert kernel(lambda: None).arch == "auto"


def functions(X, Y):
    def twice(a):
        return a + a

    assert twice(reg.scalar(u32, 1)).dtype is u32
    assert ptx.func(name="doubled")(lambda: None) is not None


def boxes(X, Y):
    a = Tile.wgmma_a("M", "K", bf16, tile_m=64, tile_k=64)
    b = Tile.wgmma_b("K", "N", bf16, tile_k=64, tile_n=64)
    assert (a.tma_box, b.tma_box) == ((64, 64), (64, 64))
    assert Tile("M", "K", bf16, tma_box=(64, 64)).tma_box == (64, 64)


def ranks(X, Y):
    assert Tile("G", "M", 64, bf16, Layout.TMA_128B, tma_box=(1, 64, 64)).tma_box == (1, 64, 64)


def copies(X, Y):
    @kernel(
        in_specs=(Tile(2, 8, 64, f32, tma_box=(1, 8, 64)),),
        out_specs=(Tile(2, 8, 64, f32),),
        arch="sm_90a",
        block=32,
        grid=2,
    )
    def copy(X, Y):
        tile, bar = smem.alloc(f32, (8, 64), align=128), smem.mbarrier()
        first = ptx.inst.setp.eq.u32(reg.from_(ptx.special.tid.x(), u32), 0)
        bar.init(1, pred=first)
        ptx.fence.mbarrier_init()
        ptx.bar.sync(0)
        at = reg.from_(ptx.special.ctaid.x(), s32)
        with ptx.if_(first):
            ptx.mbarrier.arrive_expect_tx(bar, tile.bytes)
            ptx.cp.async_.bulk.tensor_3d(dst=tile, src=X.tma_desc(), coord=[0, 0, at], mbar=bar)
        bar.wait(0)
        with ptx.if_(first):
            ptx.cp.async_.bulk.tensor_3d.store(
                dst=Y.tma_desc((1, 8, 64)), src=tile, coord=[0, 0, at]
            )
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0)

    x = np.random.default_rng(0).standard_normal((2, 8, 64)).astype(np.float32)
    found = copy.emulate(x)
    found.report.check()
    np.testing.assert_array_equal(found.outputs[0], x)


def registers(X, Y):
    assert reg.scalar(f32).dtype is f32
    assert len(reg.array(f32, 3)) == 3


def extremes(X, Y):
    a, b = reg.from_(3, s32), reg.from_(-4, s32)
    for found in (a.max(b), a.min(7), X[0].max(0.5)):
        assert found.dtype in (s32, f32)


def base(X, Y):
    smem.store(f32, ptx.addr(smem.base(), 64), 1.0)
    assert smem.extern(b8, name="bytes_of_mine") is not None


def stages(X, Y):
    tile = smem.alloc(f32, (3, 4, 8))
    assert tile[reg.from_(1, u32)].shape == (4, 8)
    assert tile[0].shape == (4, 8)


def names(X, Y):
    tile = smem.alloc(f32, 4, name="mine")
    ptx.inst.st.shared.f32(ptx.addr(tile.name, 4), X[0])
    assert reg.from_(tile.name, u32).dtype is u32


def instructions(X, Y):
    ptx.inst.add.rn.f32(X[0], X[1])


def specials(X, Y):
    for name in ("tid.x", "%laneid", "clock64", "%ctaid.z"):
        reg.from_(ptx.sreg(name), u64 if "64" in name else u32)
    reg.from_(ptx.ctaid_x(), u32)
    reg.from_(ptx.ctaid_y(), u32)


def kloop(X, Y):
    @kernel(in_specs=(Tile("N", s32),), out_specs=(Tile(3, s32),), dynamic=("N",))
    def sums(X, Y):
        n = ptx.inst.cvt.u32.u64(X.shape[0])
        for place, (total, unroll) in enumerate(((n, 1), (n, 4), (3, 2))):
            found = reg.scalar(s32, init=0)
            ptx.kloop(total, unroll=unroll, body=lambda k, found=found: found.set(found + X[k]))
            Y[place] = found

    for n in (3, 4, 7, 8):
        x = np.arange(1, n + 1, dtype=np.int32)
        np.testing.assert_array_equal(sums(x), [x.sum(), x.sum(), 6])


def loops(X, Y):
    i = reg.scalar(u32, init=0)
    with ptx.loop():
        i += 1
        ptx.break_(pred=i >= 4)


def variables(X, Y):
    memory = ptx.local(f32, 4)
    memory[0] = X[0]
    table = ptx.const(f32, name="table", init=[1.0, 2.0])
    total = ptx.global_(f32, name="total")
    total[0] = table[1] + memory[0]
    smem.alloc(f32, 4)[0] = table[0]


def pointers(X, Y):
    (p,) = ptx.global_ptrs(X)
    ptx.inst.cvta.to.global_.u64(reg.from_(p, u64))


def sets(X, Y):
    bar = smem.mbarrier(2)
    ptx.mbarrier.init(bar, 1)
    ptx.fence.mbarrier_init()
    ptx.cluster.sync()
    ptx.mbarrier.arrive(bar[0])
    ptx.mbarrier.wait(bar[0], 0)
    ptx.fence.proxy_async()
    ptx.warp.reduce_sum(X[0])


def predicates(X, Y):
    p = reg.from_(ptx.special.tid.x(), u32) < 64
    ptx.bar.sync(1, 64, pred=p)
    ptx.named_barrier(2, count=64).sync(pred=p)
    bar = smem.mbarrier()
    bar.arrive(pred=p)
    ptx.mbarrier.arrive_expect_tx(bar, 16, pred=~p)
    bar.arrive_remote(0, pred=p)
    ptx.cluster.arrive_remote(bar, 0, pred=p)


def matrices(X, Y):
    tile = smem.alloc(bf16, (16, 16))
    a = ptx.ldmatrix(src=tile, layout="m8n8.x4")
    ptx.stmatrix(smem=tile, regs=a, layout="m8n8.x4", trans=True)
    ptx.stmatrix(smem=tile, regs=a, layout="x4")


def descriptors(X, Y):
    tile = smem.wgmma_tile(bf16, (64, 64))
    known = ptx.wgmma.descriptor(tile, k=16)
    masked = ptx.wgmma.masked_descriptor(reg.from_(tile, u32), byte_offset=32)
    out = ptx.global_ptrs(Y)[0]
    ptx.inst.st.global_.u64(ptx.addr(out), known)
    ptx.inst.st.global_.u64(ptx.addr(out, 8), masked)


def tensor_memory(X, Y):
    def body(X, Y):
        slot = smem.alloc(u32, 1)
        ptx.tcgen05.alloc(slot, 32)
        address = reg.scalar(u32)
        ptx.inst.ld.shared.u32(address, ptx.addr(slot))
        a, idesc = reg.from_(0, u64), reg.from_(0, u32)
        p = reg.scalar(pred)
        ptx.inst.setp.eq.u32(p, address, 0)
        ptx.tcgen05.mma(address, a, a, idesc, kind="f16", pred_operand=p)
        ptx.tcgen05.mma(address, a, a, idesc, kind="f16", enable_input_d=p, scale_input_d=2)
        ptx.tcgen05.ld(reg.array(b32, 1), address, shape="32x32b", count=1)
        ptx.tcgen05.dealloc(address, 32)

    assert "mov.b32" in traced(body, arch="sm_100a")


def epilogue(X, Y):
    packed = ptx.inst.cvt.rn.bf16x2.f32(X[0], X[1])
    assert packed.dtype.bits == 32


def lines(X, Y):
    assert ".loc" in kernel(block=32)(lambda: ptx.ret()).ptx(lines=True)


def lifted(X, Y):
    """The Python of a kernel's PTX traces to that PTX."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.ptx"
        path.write_text(traced(the_same_names))
        command = [sys.executable, "-m", "pyptx", "python", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = {}
    exec(done.stdout, found)
    assert "def snippet(" in done.stdout


ROWS = {
    "`kernel`, `Tile`, `Layout`, `reg`, `smem`, `ptx`": [the_same_names],
    "`pyptx.specs`, `from pyptx.smem import ...`": [modules],
    "`kernel(raw_directives=, extern_smem=True, reqntid=)`": [options],
    "`kernel(raw_params=)`": [params, by_hand],
    "a kernel for each size of an array": [sizes],
    "`differentiable_kernel`": [differentiable],
    "`detect_arch()`": [arch],
    "`intrinsic`": [functions],
    "`Tile.wgmma_a`, `Tile.wgmma_b`": [boxes],
    "`Tile(tma_rank=, tma_padding=)`": [ranks],
    "`X.tma_desc()`": [copies],
    "`reg.alloc`, `reg.alloc_array`": [registers],
    "`r.max(v)`": [extremes],
    "`smem.base()`": [base],
    "`tile[stage]`, `tile[0]`": [stages],
    "`tile.name`": [names],
    "`ptx.inst.*`": [instructions],
    "`ptx.sreg(name)`, `ptx.ctaid_x()`": [specials],
    "`ptx.kloop(total, unroll=, body=)`": [kloop],
    "`ptx.loop(label, pred=)`": [loops],
    "`ptx.var(...)`": [variables],
    "`ptx.cvta.to_global`": [pointers],
    "`ptx.mbarrier`, `ptx.cluster`, `ptx.fence`, `ptx.warp`": [sets],
    "`ptx.cp.async_.bulk.tensor_Nd`": [copies],
    "`ptx.bar.sync(pred=)`, `pred=` of arrivals": [predicates],
    '`ptx.ldmatrix(layout="m8n8.x4")`': [matrices],
    "`ptx.cp.async_.bulk.tensor.tile_Nd`, `ptx.tma.load_3d`": [copies],
    "`ptx.wgmma.masked_descriptor`": [descriptors],
    "`ptx.tcgen05.mma(pred_operand=)`": [tensor_memory],
    "`ptx.tcgen05.mma(scale_d=, scale_c=)`": [tensor_memory],
    "an address in Tensor Memory in a u32 register": [tensor_memory],
    "`ptx.stmatrix_x4_trans_f32_bf16`": [epilogue, matrices],
    "`ptx.file_`, `ptx.loc`, `ptx.expr`": [lines],
    "the transpiler, `python -m pyptx.codegen`": [lifted],
}
OF_THEIR_OWN = (options, params, by_hand, sizes, copies, kloop, tensor_memory, lines, lifted)


def test_every_row_is_tried():
    assert rows() == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row(row):
    for snippet in ROWS[row]:
        if snippet in OF_THEIR_OWN:
            snippet(None, None)
        else:
            traced(snippet)


def test_a_masked_descriptor_is_that_of_the_tile():
    @kernel(in_specs=(), out_specs=(Tile(2, u64),), arch="sm_90a")
    def both(Y):
        tile = smem.wgmma_tile(bf16, (64, 64))
        Y[0] = ptx.wgmma.descriptor(tile, k=16)
        Y[1] = ptx.wgmma.masked_descriptor(reg.from_(tile, u32), byte_offset=32, mask=0x3FFFF)

    known, masked = both.emulate().outputs[0]
    fixed = ~np.uint64(0xFFFF << 16)  # the leading offset has no meaning with a swizzle
    assert known & fixed == masked & fixed


@pytest.mark.parametrize("second", [True, False])
def test_a_predicate_of_a_barrier(second):
    """Each half of the CTA meets at a barrier of its own; without one, its reads are a race."""

    @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128, arch="sm_90a")
    def swap(X, Y):
        tile, i = smem.alloc(f32, 128), reg.from_(ptx.special.tid.x(), u32)
        tile[i] = X[i]
        low = i < 64
        ptx.bar.sync(1, 64, pred=low)
        if second:
            ptx.named_barrier(2, count=64).sync(pred=~low)
        Y[i] = tile[i ^ 63]

    x = np.arange(128, dtype=np.float32)
    found = swap.emulate(x)
    if second:
        found.report.check()
        np.testing.assert_array_equal(found.outputs[0], x.reshape(2, 64)[:, ::-1].reshape(-1))
    else:
        assert [each.kind for each in found.report.findings] == ["shared-race"]


def test_what_means_something_else_here():
    @kernel(in_specs=(Tile(2, s32),), out_specs=(Tile(4, s64),))
    def arithmetic(X, Y):
        a, b = X[0], X[1]
        assert (a * b).dtype is s64
        kept = reg.from_(a, s32)
        kept *= b
        assert kept.dtype is s32
        for place, value in enumerate((a * b, kept, b >> 1, ~a)):
            Y[place] = value if value.dtype is s64 else ptx.inst.cvt.s64.s32(value)

    a, b = 2**30, -8
    wanted = [a * b, 0, -4, ~a]
    np.testing.assert_array_equal(arithmetic(np.array([a, b], np.int32)), wanted)

    @kernel(in_specs=(Tile(2, s32),), out_specs=(Tile(2, s32),))
    def chosen(X, Y):
        if X[0]:
            Y[0] = 1

    with pytest.raises(LanguageError):
        chosen.ptx()
    for wrong in (np.zeros(2, np.float32), np.zeros((2, 1), np.int32), np.zeros(3, np.int32)):
        with pytest.raises(CallError):
            chosen(wrong)


CURED = [
    (lambda: ptx.tma, "ptx has no tma", "tma"),
    (lambda: ptx.var, "ptx has no var", "var"),
    (lambda: ptx.pipe, "ptx has no pipe", "pipe"),
    (lambda: reg.alloc, "reg has no alloc", "alloc"),
    (lambda: reg.alloc_array, "reg has no alloc_array", "alloc_array"),
    (
        lambda: ptx.kloop(3, body=print, loop_label="k"),
        "ptx.kloop() has no keyword loop_label",
        None,
    ),
]


@pytest.mark.parametrize(("body", "problem", "name"), CURED)
def test_an_unknown_name_has_its_cure(body, problem, name):
    with pytest.raises(LanguageError) as caught:
        kernel(block=32)(lambda: body() and None).ptx()
    assert caught.value.problem == problem
    assert caught.value.notes[0] == ("instead", CURES[name or "loop_label"])


def test_an_unknown_option_has_its_cure():
    with pytest.raises(SpecError) as caught:
        kernel(raw_params=[("u32", "n")])
    assert caught.value.problem == "kernel() has no option raw_params"
    assert caught.value.notes[0] == ("instead", CURES["raw_params"])
    with pytest.raises(SpecError) as caught:
        Tile("M", f32, tma_rank=3)
    assert caught.value.problem == "Tile() has no keyword tma_rank"
    assert caught.value.notes[0] == ("instead", CURES["tma_rank"])
    with pytest.raises(SpecError) as caught:
        kernel(extern_smem="mine")
    assert (caught.value.problem, caught.value.notes) == (
        "extern_smem='mine' names the dynamic shared memory, which the body does",
        (("help", "smem.base('mine')"),),
    )
    with pytest.raises(SpecError) as caught:
        kernel(raw_directives=["maxnreg"])
    assert (caught.value.problem, caught.value.notes) == (
        "raw_directives=['maxnreg'] is not a list of names with their values",
        (("help", 'maxnreg=64, or raw_directives=[("maxnreg", (64,))]'),),
    )
    with pytest.raises(SpecError) as caught:
        kernel(maxnreg=32, raw_directives=[("maxnreg", (64,))])
    assert caught.value.problem == "the directive maxnreg is given twice"
    with pytest.raises(CallError):
        kernel(in_specs=(), out_specs=(Tile(1, f32, init=0),))(lambda Y: None)(raw_params=1)
