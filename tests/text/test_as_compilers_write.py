"""What compilers write, read as the assembler reads it: each text is taken by both or by neither.

The texts are written by hand, in the manner of nvcc, Triton, Numba and Clang.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.lift.comparing import kernels, machine_code

from pyptx import In, Out, Tile, from_ptx
from pyptx._assemble import ptxas
from pyptx._text import ParseError, normal_form, parse, write
from pyptx._verify import unset_reads
from pyptx.types import f16, u32

HEAD = ".version {version}\n.target {target}\n.address_size 64\n"


def text(body, before="", target="sm_80", version="8.0", parameters=".param .u64 x"):
    head = HEAD.format(version=version, target=target)
    return f"{head}{before}\n.visible .entry k({parameters})\n{{\n{body}\nret;\n}}\n"


WGMMA = """
.reg .f32 f<4>; .reg .b64 a, b; .reg .pred p;
mov.b64 a, 0; mov.b64 b, 0; setp.eq.u64 p, a, b;
mov.f32 f0, 0f00000000; mov.f32 f1, 0f00000000; mov.f32 f2, 0f00000000; mov.f32 f3, 0f00000000;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, a, b, SCALE, 1, 1, 0, 0;
"""
NAMES = """
.reg .b64 %x;
ld.param.u64 %x, [x];
DECLARED
mov.b16 a0, 1; mov.b16 a1, 2; mov.b32 a, {a0, a1}; st.global.b32 [%x], a;
"""
TWICE = ".reg .b32 r; mov.b32 r, 0;"
TENSOR_MEMORY = """
.reg .DTYPE t; .reg .b32 r<2>; mov.b32 t, 0;
tcgen05.ld.sync.aligned.32x32b.x2.b32 {r0, r1}, [t+4];
tcgen05.wait::ld.sync.aligned;
tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {r0};
"""
SPECIAL = ".reg .b64 d; .reg .b32 r; .reg .b16 h; .reg .f32 f; "


def wgmma(scale):
    return text(WGMMA.replace("SCALE", scale), target="sm_90a")


def names(declared):
    return text(NAMES.replace("DECLARED", declared))


def tensor_memory(dtype):
    body = TENSOR_MEMORY.replace("DTYPE", dtype)
    return text(body, target="sm_100a", version="8.7")


TAKEN = {
    "wgmma, scale-d 1": wgmma("1"),
    "wgmma, scale-d 0": wgmma("0"),
    "wgmma, scale-d !p": wgmma("!p"),
    "wgmma, scale-d p": wgmma("p"),
    "a before a<2>": names(".reg .b32 a; .reg .f16 a<2>;"),
    "a after a<2>": names(".reg .f16 a<2>;\n.reg .b32 a;"),
    "on lines of their own": names(".reg .b32 \ta;\n.reg .f16 \ta<2>;\n"),
    "cvt of a special register": text(f"{SPECIAL}cvt.u64.u32 d, %tid.x;"),
    "cvt to a narrow one": text(f"{SPECIAL}cvt.u16.u32 h, %laneid;"),
    "cvt of a wide one": text(f"{SPECIAL}cvt.u32.u64 r, %clock64;"),
    "tensor memory, b32": tensor_memory("b32"),
    "tensor memory, u32": tensor_memory("u32"),
    "tensor memory, s32": tensor_memory("s32"),
    "a call without parentheses": text(
        ".reg .b64 r; call (r), f;", ".func (.reg .b64 r) f() { mov.b64 r, 4; ret; }"
    ),
    "a kernel declared first": text(
        ".reg .b64 r; mov.b64 r, table;",
        ".visible .entry c(.param .u64 x);\n.global .align 8 .u64 table[1] = {c};\n"
        ".visible .entry c(.param .u64 x) { ret; }",
    ),
}
REFUSED = {
    "wgmma, scale-d 2": wgmma("2"),
    "wgmma, scale-d -1": wgmma("-1"),
    "wgmma, scale-d 1.0": wgmma("1.0"),
    "a twice": names(".reg .b32 a; .reg .f16 a<2>; .reg .b32 a;"),
    "a<2> twice": names(".reg .b32 a; .reg .f16 a<2>; .reg .f16 a<2>;"),
    "a1 of a<2>": names(".reg .b32 a; .reg .f16 a<2>; .reg .b16 a1;"),
    "a1 of a<2>, in lines": names(".reg .b32 a;\n.reg .f16 a<2>;\n.reg .b16 a1;\n"),
    "cvt of a special register to a float": text(f"{SPECIAL}cvt.rn.f32.u32 f, %tid.x;"),
    "add of a special register": text(f"{SPECIAL}add.u32 r, %tid.x, 1;"),
    "tensor memory, f32": tensor_memory("f32"),
    "tensor memory, b64": tensor_memory("b64").replace("mov.b32 t", "mov.b64 t"),
}


def assembles(source, folder):
    (folder / "k.ptx").write_text(source)
    target = source.split(".target ")[1].split()[0].rstrip(",")
    command = [ptxas.find(ptxas.PTXAS), f"-arch={target}", "k.ptx", "-o", "k.cubin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("name", TAKEN)
def test_what_the_assembler_takes_is_read_and_written(name, tmp_path):
    source = TAKEN[name]
    assert assembles(source, tmp_path)
    module = parse(source)
    written = write(module).ptx
    assert parse(written) == normal_form(module)
    assert assembles(written, tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_assembler_refuses_is_an_error(name, tmp_path):
    assert not assembles(REFUSED[name], tmp_path)
    with pytest.raises(ParseError):
        parse(REFUSED[name])


@pytest.mark.parametrize("scale", ["1", "0", "!p"])
def test_what_is_lifted_of_a_constant_scale_d_has_its_machine_code(scale, tmp_path):
    module = parse(wgmma(scale))
    (k,) = kernels(module).values()
    assert machine_code(k.module(), tmp_path) == machine_code(module, tmp_path)


UNSET = """
.reg .f32 f<4>; .reg .b64 a, b; .reg .pred p, q, r, s; .reg .b32 w;
mov.b64 a, 0; mov.b64 b, 0; mov.b32 w, 1;
setp.ne.u32 p, 0, 0; setp.ne.u32 q|r, 0, 0; setp.ne.u32 s, 3, 3; SET
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, a, b, SCALE, 1, 1, 0, 0;
"""


@pytest.mark.parametrize(
    ("scale", "more", "reads"),
    [
        ("0", "", 0), ("1", "", 4), ("p", "", 0), ("!p", "", 4), ("s", "", 0), ("r", "", 4),
        ("p", "setp.ne.u32 p, w, 0;", 4), ("p", "setp.ne.u32 p, 1, 0;", 4),
    ],
)  # fmt: skip
def test_sums_are_read_unless_a_constant_says_that_they_are_not(scale, more, reads):
    body = UNSET.replace("SCALE", scale).replace("SET", more)
    (kernel,) = parse(text(body, target="sm_90a")).kernels
    assert len([*unset_reads(kernel)]) == reads


def test_registers_that_share_a_name_with_a_range_are_apart(tmp_path):
    module = parse(names(".reg .b32 a; .reg .f16 a<2>;"))
    assert module.kernels[0].written.registers == ("%x", "a0", "a1", "a")


PRODUCT = Path(__file__).parent / "corpus" / "triton" / "product.sm_90a.ptx"


@pytest.mark.parametrize(("scale", "right"), [("1", True), ("0", False), ("!%p2", False)])
def test_a_product_with_a_constant_scale_d(scale, right):
    text = PRODUCT.read_text()
    assert text.count("%p2, 1, 1, 0, 0;") == 2
    run = from_ptx(
        text.replace("%p2, 1, 1, 0, 0;", f"{scale}, 1, 1, 0, 0;"),
        in_specs=(Tile("M", 64, f16), Tile(64, 64, f16)),
        out_specs=(Tile("M", 64, f16),),
        params=(In(0), In(1), Out(0), 64, In(0), In(0)),
        grid=lambda M: (M // 64, 1, 1),
        smem=65536,
    )
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
    found = np.array_equal(run(a, b), a.astype(float) @ b.astype(float).T)
    assert found is right


def test_special_registers_are_converted():
    run = from_ptx(
        text(
            ".reg .b64 d, e; .reg .b16 h; .reg .b32 r; ld.param.u64 d, [x];"
            "cvt.u64.u32 e, %tid.x; mad.lo.u64 d, e, 4, d; cvt.u16.u32 h, %laneid;"
            "cvt.u32.u16 r, h; st.global.u32 [d], r;"
        ),
        in_specs=(),
        out_specs=(Tile(64, u32),),
        grid=1,
        block=64,
    )
    np.testing.assert_array_equal(run.emulate().outputs[0], np.arange(64) % 32)
