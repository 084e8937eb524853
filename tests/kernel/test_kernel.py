"""`@kernel`: parameters, dimensions, compile-time values, directives, versions, sizes."""

import re
import threading

import numpy as np
import pytest

import pyptx
from pyptx import Scalar, Tile, kernel, ptx, reg, smem
from pyptx._ir import Instruction
from pyptx._trace.core.values import Reg
from pyptx.errors import SpecError
from pyptx.types import bf16, f16, f32, f64, pred, s64, u8, u32, u64

ROWS = {"in_specs": (Tile("B", "N", f32), Tile("N", f32)), "out_specs": (Tile("B", "N", f32),)}


def lines_of(text: str) -> list[str]:
    body = text[text.index("{\n") + 2 : text.rindex("}")]
    return [line.strip().removesuffix(";") for line in body.splitlines()]


def test_what_a_body_sees():
    seen = []

    @kernel(**ROWS, block=32)
    def scale(X, W, Y, *, eps=1e-6, unit=4):
        seen.append((X.name, X.shape, X.dtype, X.rank, Y.shape, eps, unit))

    scale.ptx(B=4, N=8)
    scale.ptx(B=4, N=16, unit=2)
    assert seen == [
        ("X", (4, 8), f32, 2, (4, 8), 1e-6, 4),
        ("X", (4, 16), f32, 2, (4, 16), 1e-6, 2),
    ]


def test_the_object_that_a_user_holds():
    @kernel(**ROWS)
    def scale(X, W, Y):
        """Scale rows."""

    assert (scale.name, scale.__name__, scale.__doc__) == ("scale", "scale", "Scale rows.")
    assert repr(scale) == "<pyptx kernel scale of X, W, Y>"
    assert scale.in_specs == ROWS["in_specs"]
    assert scale.out_specs == ROWS["out_specs"]
    assert (scale.grid, scale.block, scale.cluster) == ((1, 1, 1), (1, 1, 1), (1, 1, 1))
    assert (scale.arch, kernel(arch="sm_90a")(lambda: None).arch) == ("auto", "sm_90a")
    assert scale.module(B=1, N=8).kernels[0].name == "scale"


def test_a_specialisation_is_traced_once():
    count = 0

    @kernel(**ROWS)
    def scale(X, W, Y, *, eps=0.0):
        nonlocal count
        count += 1
        reg.scalar(f32, init=eps)

    first = scale.ptx(B=1, N=8)
    assert scale.ptx(N=8, B=1) == first
    assert count == 1
    scale.ptx(B=2, N=8)
    assert count == 2


def test_compile_time_values_that_compare_equal_are_not_the_same():
    @kernel
    def k(*, value, more=()):
        reg.scalar(f32, init=value if type(value) is not bool else 7.0)

    written = {repr(v): lines_of(k.ptx(value=v))[1] for v in (0.0, -0.0, 1, 1.0, True)}
    assert written == {
        "0.0": "mov.f32 %f0, 0f00000000",
        "-0.0": "mov.f32 %f0, 0f80000000",
        "1": "mov.f32 %f0, 0f3F800000",
        "1.0": "mov.f32 %f0, 0f3F800000",
        "True": "mov.f32 %f0, 0f40E00000",
    }
    assert k.ptx(value=0.0, more=(0.0,)) is not k.ptx(value=0.0, more=(-0.0,))


def test_global_pointers_are_two_instructions_each():
    @kernel(**ROWS)
    def scale(X, W, Y):
        x, y = ptx.global_ptrs(X, Y)
        assert (x.dtype, y.dtype) == (u64, u64)

    assert lines_of(scale.ptx(B=1, N=8)) == [
        ".reg .u64 %ud<4>",
        "ld.param.u64 %ud0, [X]",
        "cvta.to.global.u64 %ud1, %ud0",
        "ld.param.u64 %ud2, [Y]",
        "cvta.to.global.u64 %ud3, %ud2",
        "ret",
    ]


def test_scalars_are_registers_loaded_from_parameters():
    @kernel(
        in_specs=(Scalar(f32), Scalar(bf16), Scalar(s64), Scalar(u8), Tile(4, f32)),
        out_specs=(Tile(4, f32),),
    )
    def k(a, b, c, d, X, Y):
        assert [v.dtype for v in (a, b, c, d)] == [f32, bf16, s64, u8]
        assert all(isinstance(v, Reg) for v in (a, b, c, d))

    text = k.ptx()
    assert re.findall(r"\.param (.*?) (\w+)", text) == [
        (".f32", "a"),
        (".b16", "b"),
        (".s64", "c"),
        (".u8", "d"),
        (".u64", "X"),
        (".u64", "Y"),
    ]
    assert lines_of(text)[-5:-1] == [
        "ld.param.f32 %f0, [a]",
        "ld.param.b16 %h0, [b]",
        "ld.param.s64 %sd0, [c]",
        "ld.param.u8 %ub0, [d]",
    ]
    assert k.cubin().kernel == "k"


def test_a_run_time_dimension_is_a_register_of_64_bits():
    """One text serves every size; the other dimensions stay ints."""

    @kernel(**ROWS, grid=lambda B, N: (ptx.cdiv(B, 4), 1, 1), parallel=("B",))
    def scale(X, W, Y):
        rows, columns = X.shape
        assert (rows.dtype, columns) == (u64, 8)
        assert Y.shape[0] is rows
        row = reg.from_(ptx.special.ctaid.x(), u32) * 4
        with ptx.if_(row < rows):
            ptx.global_ptrs(X)
        for i in ptx.range_(row, rows):
            assert i.dtype is u64

    text = scale.ptx(N=8)
    assert scale.ptx(N=8, B=3) == text
    assert scale.ptx(N=8, B=5) == text
    assert ".param .u64 B_size" in text
    assert "ld.param.u64 %ud0, [B_size]" in text
    assert scale.cubin(N=8).kernel == "scale"


def test_a_bare_kernel():
    @kernel
    def touch(A, B):
        p, q = ptx.global_ptrs(A, B)
        ptx.inst.st.global_.u64(ptx.addr(p), q)
        assert A.shape == ()

    text = touch.ptx()
    assert ".visible .entry touch(\n    .param .u64 A,\n    .param .u64 B\n)" in text
    assert touch.cubin().kernel == "touch"


def test_kernels_without_parameters_and_lambdas():
    text = kernel(lambda: None).ptx()
    assert text == (
        ".version 8.0\n.target sm_90a\n.address_size 64\n\n"
        ".visible .entry lambda()\n{\n    ret;\n}\n"
    )
    scale = kernel(**ROWS)(lambda X, W, Y: None)
    assert scale.name == "lambda"
    assert scale.cubin(B=1, N=1).kernel == "lambda"


def test_names_that_ptx_cannot_have():
    def _():
        pass

    def größe():  # noqa: PLC2401 - that is the point
        pass

    def add(add, WARP_SZ, dynamic_shared):
        ptx.global_ptrs(add, WARP_SZ, dynamic_shared)
        smem.alloc(f32, 20000)[3]
        smem.alloc(f32, 1, name="add")

    assert kernel(_).name == "kernel"
    assert kernel(größe).name == "gr__e"
    text = kernel(add).ptx()
    assert re.findall(r"\.param \.u64 (\w+)", text) == ["add", "add_param_1", "add_param_2"]
    for each in (_, größe, add):
        kernel(each).cubin()


def test_methods_are_kernels_too():
    class Maker:
        width = 4

        def body(self, X):
            for _ in range(self.width):
                ptx.global_ptrs(X)

    assert kernel(Maker().body).ptx().count("cvta") == 4


@pytest.mark.parametrize(
    ("options", "directives"),
    [
        ({}, []),
        ({"block": 256}, []),
        ({"block": (512, 1, 1)}, [".maxntid 512, 1, 1"]),
        ({"block": (32, 16, 1)}, [".maxntid 32, 16, 1"]),
        ({"block": 512, "reqntid": (512, 1, 1)}, [".reqntid 512, 1, 1"]),
        ({"block": 128, "maxntid": 256}, [".maxntid 256"]),
        ({"block": 128, "maxntid": (16, 8)}, [".maxntid 16, 8"]),
        ({"maxnreg": 64, "minnctapersm": 2, "block": 512},
         [".maxnreg 64", ".minnctapersm 2", ".maxntid 512, 1, 1"]),
        ({"cluster": 2}, [".reqnctapercluster 2, 1, 1"]),
        ({"cluster": (2, 2), "explicitcluster": True},
         [".explicitcluster", ".reqnctapercluster 2, 2, 1"]),
        ({"explicitcluster": False}, []),
    ],
    ids=str,
)  # fmt: skip
def test_directives(options, directives):
    k = kernel(**options)(lambda: None)
    text = k.ptx()
    found = text[text.index(")") + 2 : text.index("{")].splitlines()
    assert found == directives
    k.cubin()


def test_a_name_in_ptx():
    k = kernel(name="a$b")(lambda: None)
    assert k.name == "a$b"
    assert ".visible .entry a$b(" in k.ptx()
    assert k.cubin().kernel == "a$b"


@pytest.mark.parametrize("name", ["", "1st", "a b", "%r", "$L0", "WARP_SZ", 3])
def test_a_name_that_ptx_cannot_have(name):
    with pytest.raises(SpecError) as caught:
        kernel(name=name)(lambda: None)
    assert caught.value.problem == f"name={name!r} cannot be the name of a kernel in PTX"
    assert caught.value.notes == (
        ("legal", "letters, digits, _ and $, of which no digit begins it"),
    )


def elect():
    ptx.inst.elect.sync(ptx.pair(ptx.sink, reg.scalar(pred)), 0xFFFFFFFF)


def wide_load():
    ptx.inst.ld.global_.v8.f32(ptx.addr(reg.from_(0, u64)))


@pytest.mark.parametrize(
    ("arch", "body", "version"),
    [
        ("sm_75", lambda: None, "6.3"),
        ("sm_80", lambda: None, "7.0"),
        ("sm_90", lambda: None, "7.8"),
        ("sm_90", elect, "8.0"),
        ("sm_90a", lambda: None, "8.0"),
        ("sm_100", lambda: None, "8.6"),
        ("sm_100a", wide_load, "8.8"),
        ("sm_90", lambda: reg.from_(ptx.special.aggr_smem_size(), u32) and None, "8.1"),
    ],
)
def test_the_version_is_the_lowest_that_suffices(arch, body, version):
    if body.__name__ == "<lambda>" and version == "8.1":

        def body():
            reg.from_(ptx.special.aggr_smem_size(), u32)

    k = kernel(arch=arch)(body)
    assert k.ptx().splitlines()[:2] == [f".version {version}", f".target {arch}"]
    k.cubin()


@pytest.mark.parametrize("version", [(8, 5), "8.5"])
def test_the_version_can_be_named(version):
    assert kernel(version=version)(lambda: None).ptx().startswith(".version 8.5\n")


def test_another_target_for_a_cubin():
    @kernel(arch="sm_90a")
    def k():
        pass

    assert k.cubin(arch="sm_80").target == "sm_80"
    assert k.cubin().target == "sm_90a"


def test_auto_takes_the_named_target():
    k = kernel(arch="auto")(lambda: None)
    with pyptx.target("sm_80"):
        assert ".target sm_80" in k.ptx()
    assert ".target sm_90a" in k.ptx()


def test_shared_memory_that_is_asked_for_beyond_the_allocations():
    @kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), smem=4096, block=4)
    def copy(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        tile = smem.alloc(f32, 4)
        i = reg.from_(ptx.special.tid.x(), u32)
        tile[i] = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
        ptx.inst.st.global_.f32(ptx.addr(y + i * 4), tile[i])
        total = reg.from_(ptx.special.dynamic_smem_size(), u32)
        with ptx.if_(total != 4096 - 16):
            ptx.inst.trap()

    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(copy(x), x)


def test_every_instruction_has_the_line_that_asked_for_it():
    first = test_every_instruction_has_the_line_that_asked_for_it.__code__.co_firstlineno

    @kernel
    def k(X):
        (x,) = ptx.global_ptrs(X)
        i = reg.scalar(u32, init=0)
        with ptx.if_(i == 0):
            i += 1
        with ptx.else_():
            i += 2
        for _ in ptx.range_(4):
            ptx.raw("add.u32 i, i, 1;", i=i)
        ptx.warp.reduce_sum(i)
        ptx.inst.st.global_.u32(
            ptx.addr(x),
            i,
        )

    found = [
        (s.spelling, s.location.line - first)
        for s in k.module().kernels[0].body
        if isinstance(s, Instruction)
    ]
    assert {s.location.file for s in k.module().kernels[0].body if isinstance(s, Instruction)} == {
        __file__
    }
    assert found[:13] == [
        ("ld.param.u64", 5),
        ("cvta.to.global.u64", 5),
        ("mov.u32", 6),
        ("setp.eq.u32", 7),
        ("bra", 7),
        ("add.u32", 8),
        ("bra", 9),
        ("add.u32", 10),
        ("mov.s32", 11),
        ("add.u32", 12),
        ("add.s32", 11),
        ("setp.lt.s32", 11),
        ("bra", 11),
    ]
    assert {line for _, line in found[13:23]} == {13}
    assert found[23:] == [("st.global.u32", 14), ("ret", 3)]


def test_lines_hold_loc_and_the_plain_text_holds_no_path():
    @kernel
    def k():
        reg.scalar(f64, init=1.0)

    plain, located = k.ptx(), k.ptx(lines=True)
    assert ".loc" not in plain
    assert "test_kernel" not in plain
    assert f'.file 1 "{__file__}"' in located
    assert len(re.findall(r"\.loc 1 \d+ 0", located)) == 2
    without = [line for line in located.splitlines() if ".loc" not in line and ".file" not in line]
    assert without == plain.splitlines()
    from pyptx._assemble import assemble

    assert assemble(located, "sm_90a", line_info=True).kernel == "k"


def test_a_failed_trace_leaves_the_kernel_as_it_was():
    @kernel
    def k(*, broken):
        x = reg.scalar(f16, init=1.0)
        with ptx.if_(reg.scalar(u32, init=0) == 0):
            if broken:
                ptx.inst.add.f16(x, x, 1.0)

    good = k.ptx(broken=False)
    with pytest.raises(pyptx.IsaError):
        k.ptx(broken=True)
    with pytest.raises(pyptx.LanguageError, match="outside a kernel"):
        reg.scalar(f32)
    assert k.ptx(broken=0) == good


def test_threads_trace_at_the_same_time():
    start = threading.Barrier(4)
    texts: dict[int, str] = {}

    def trace(number: int) -> None:
        def body():
            start.wait(10)
            for _ in range(200):
                reg.scalar(u32, init=number)

        texts[number] = kernel(body).ptx()

    workers = [threading.Thread(target=trace, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number, text in texts.items():
        assert text.count(f", {number};") == 200
