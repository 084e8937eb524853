"""The program itself: what it looks like, that tools accept it, and what it keeps."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lift.comparing import alone, kernels, machine_code, one_label_for_each_place
from tests.text.test_laws import CORPUS

from pyptx._lift import lift
from pyptx._text import parse

FOLDER = Path(__file__).parent
DOCS = Path(__file__).parents[2] / "docs"

FLOW = '''\
"""Kernels from flow.ptx, for sm_90a."""

from pyptx import kernel, ptx, reg
from pyptx.types import f32, u32, u64


@kernel(arch="sm_90a", version="8.0")
def flow() -> None:
    X = ptx.param(u64, "X")
    count = ptx.param(u32, "count")
    x = ptx.inst.ld.param.u64(X)
    n = ptx.inst.ld.param.u32(count)
    i = reg.scalar(u32, init=0)
    p = n < 4
    with ptx.if_(p):
        i += 1
    with ptx.else_():
        i -= n
    with ptx.while_(lambda: ~(i >= 100)):
        v = i & 1
        odd = v == 1
        ptx.break_(pred=odd)
        i += 2
    with ptx.loop(pred=lambda: i > 3):
        # halve it
        i >>= 1
    first = i == 0
    ptx.bra("inside", pred=first)
    ptx.label("back")
    i *= 3
    ptx.label("inside")
    i += 7
    less = i < n
    ptx.bra("back", pred=less)
    acc0, acc1, acc2, acc3 = ptx.inst.ld.global_.v4.f32(ptx.addr(x))
    f = reg.scalar(f32)
    ptx.raw("mov.f32 r0, 0f7FC00001;", r0=f)
    ptx.inst.fma.rn.f32(acc1, acc0, f, 0.1)
    ptx.inst.st.global_.v4.f32(ptx.addr(x, 16), [acc0, acc1, acc2, acc3])
    q = i != v
    with ptx.if_(q):
        ptx.inst.st.global_.u32(ptx.addr(x), i)
'''


def test_branches_become_blocks_where_the_graph_allows():
    module = parse((FOLDER / "flow.ptx").read_text(), "flow.ptx")
    assert lift(module, "flow.ptx") == FLOW
    (k,) = kernels(module).values()
    assert one_label_for_each_place(k.module()) == one_label_for_each_place(module)


BODY = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 X)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [X];
    mov.u32 %r1, %tid.x;
{}
    st.global.u32 [%rd1], %r1;
    ret;
}}
"""


def body(text: str) -> str:
    """The statements between the loads and the store, and that they mean what they meant."""
    module = parse(BODY.format(text), "k.ptx")
    program = lift(module)
    (k,) = kernels(module).values()
    k.module()
    first = "    r1 = reg.from_(ptx.special.tid.x(), u32)\n"
    last = "    ptx.inst.st.global_.u32("
    return program.partition(first)[2].partition(last)[0]


@pytest.mark.parametrize(
    ("text", "program"),
    [
        pytest.param(
            "setp.lt.u32 %p1, %r1, 3;\n @%p1 bra A;\n bra.uni B;\n A: add.u32 %r1, %r1, 1;\n B:",
            "    p1 = r1 < 3\n    with ptx.if_(p1, into=True):\n        r1 += 1\n",
            id="a branch into a body",
        ),
        pytest.param(
            "L: add.u32 %r1, %r1, 1;\n setp.lt.u32 %p1, %r1, 9;\n @%p1 bra.uni L;",
            '    ptx.label("L")\n    r1 += 1\n    p1 = r1 < 9\n'
            '    ptx.inst.bra.uni("L", pred=p1)\n',
            id="a guarded bra.uni stays",
        ),
        pytest.param(
            "L: add.u32 %r1, %r1, 1;\n setp.lt.u32 %p1, %r1, 9;\n @!%p1 bra M;\n bra L;\n M:",
            "    with ptx.loop():\n        r1 += 1\n        p1 = r1 < 9\n"
            "        ptx.break_(pred=~p1)\n",
            id="a loop with a way out",
        ),
        pytest.param(
            "L: add.u32 %r1, %r1, 1;\n setp.lt.u32 %p1, %r1, 5;\n @%p1 bra N;\n"
            " add.u32 %r1, %r1, 2;\n N: setp.lt.u32 %p2, %r1, 9;\n @%p2 bra L;",
            "    with ptx.loop(pred=lambda: r1 < 9):\n        r1 += 1\n        p1 = r1 < 5\n"
            "        ptx.continue_(pred=p1)\n        r1 += 2\n",
            id="the next round",
        ),
        pytest.param(
            "mov.u32 %r2, 5;\n T: .branchtargets A, B;\n brx.idx %r1, T;\n A: mov.u32 %r1, 1;\n"
            " B: add.u32 %r1, %r1, %r2;",
            '    r2 = reg.scalar(u32, init=5)\n    ptx.inst.brx.idx(r1, ["A", "B"])\n'
            '    ptx.label("A")\n    ptx.inst.mov.u32(r1, 1)\n    ptx.label("B")\n    r1 += r2\n',
            id="a jump table",
        ),
        pytest.param(
            'L: .pragma "nounroll";\n add.u32 %r1, %r1, 1;\n setp.lt.u32 %p1, %r1, 9;\n'
            " @%p1 bra L;",
            "    with ptx.loop(pred=lambda: r1 < 9):\n"
            '        ptx.pragma("nounroll")\n        r1 += 1\n',
            id="a pragma",
        ),
        pytest.param(
            "add.s32 %r2, %r1, -1;\n and.b32 %r3, %r1, 7;\n mul.wide.u32 %rd2, %r3, 8;\n"
            " mul.lo.s32 %r4, %r2, %r2;\n sub.s32 %r1, %r4, %r2;",
            "    r2 = ptx.inst.add.s32(r1, -1)\n    r3 = r1 & 7\n    r3 * 8\n",
            id="operators",
        ),
        pytest.param(
            "shfl.sync.bfly.b32 %r2|%p1, %r1, 16, 31, -1;\n add.u32 %r1, %r2, 4294967295;",
            "    r2 = reg.scalar(b32)\n    p1 = reg.scalar(pred)\n"
            "    ptx.inst.shfl.sync.bfly.b32(ptx.pair(r2, p1), r1, 16, 31, -1)\n"
            "    ptx.inst.add.u32(r1, r2, 0xFFFFFFFF)\n",
            id="two destinations",
        ),
    ],
)
def test_the_statements_of(text, program):
    found = body(text)
    if "r3 * 8" in program:
        program = program.replace("    r3 * 8\n", "    _ = r3 * 8\n")
        program += "    r4 = ptx.inst.mul.lo.s32(r2, r2)\n    ptx.inst.sub.s32(r1, r4, r2)\n"
    assert found == program


def test_names_that_python_cannot_have_are_changed_and_those_it_can_are_kept():
    text = BODY.format("add.u32 %r1, %r1, lambda;").replace(
        ".reg .pred %p<4>;", ".reg .pred %p<4>; .reg .u32 lambda, f32, value$1;"
    )
    text = text.replace(
        "add.u32 %r1, %r1, lambda;",
        "mov.u32 lambda, 1; mov.u32 f32, 2; mov.u32 value$1, 3;\n"
        "mad.lo.u32 %r1, lambda, f32, value$1;",
    )
    program = lift(parse(text))
    assert "lambda_ = reg.scalar(u32, init=1)" in program
    assert "ptx.inst.mad.lo.u32(r1, lambda_, f32_, value_1)" in program


NAMED = """
.version 8.0
.target sm_90a
.address_size 64
.global .align 4 .u32 class;
.global .align 4 .u32 total$;
.func $f$()
{
    st.global.u32 [class], 1;
    ret;
}
.visible .entry a$b(.param .u64 x$)
{
    .shared .align 4 .b8 lambda[8];
    .reg .u64 r;
    ld.param.u64 r, [x$];
    st.global.u64 [r], r;
    st.shared.u32 [lambda], 1;
    st.global.u32 [total$], 2;
    call $f$;
    ret;
}
.visible .entry a_b()
{
    st.global.u32 [total$], 3;
    ret;
}
.visible .entry import() { ret; }
.visible .entry sum() { ret; }
.visible .entry kernel() { ret; }
.visible .entry $1() { ret; }
"""


def test_names_that_python_cannot_have_are_those_of_the_kernel_in_ptx():
    module = parse(NAMED)
    lifted = kernels(module)
    assert list(lifted) == ["a$b", "a_b", "import", "sum", "kernel", "$1"]
    for k, kernel in zip(lifted.values(), module.kernels, strict=True):
        traced = k.module()
        assert k.name == kernel.name
        assert one_label_for_each_place(traced) == one_label_for_each_place(alone(module, traced))


def test_what_several_kernels_name_is_written_once():
    program = lift(parse(NAMED))
    assert program.count('name="total$"') == 1
    assert program.count("@ptx.func") == 1
    assert '@kernel(name="a$b", arch="sm_90a", version="8.0")\ndef a_b() -> None:' in program
    assert '@kernel(name="a_b", arch="sm_90a", version="8.0")\ndef a_b_2() -> None:' in program


def test_registers_of_a_range_that_are_used_together_are_an_array():
    text = BODY.format(
        "mov.f32 c0, 0.0; mov.f32 c1, 0.0; mov.f32 c2, 0.0; mov.f32 c3, 0.0;\n"
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {c0, c1, c2, c3}, {%r1, %r1}, {%r1}, "
        "{c0, c1, c2, c3};"
    ).replace(".reg .pred", ".reg .f32 c<4>; .reg .pred")
    program = lift(parse(text))
    assert "    c = reg.array(f32, 4)\n    c[0] = 0.0\n    c[1] = 0.0\n" in program
    assert "(c[0:4], [r1, r1], [r1], c[0:4])\n" in program


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.sweep)])
def test_tools_accept_every_program(tmp_path, step):
    # One target of each file: programs for the others are much the same.
    paths = [p for p in CORPUS if p.suffixes[:-1] in ([], [".sm_90a"], [".sm_90"])]
    for path in paths[::step]:
        module = parse(path.read_text(), path.name)
        (tmp_path / f"{path.stem.replace('.', '_')}.py").write_text(lift(module, path.name))
    ruff = [sys.executable, "-m", "ruff"]
    options = ["--isolated", "--line-length", "100", "."]
    for command in (
        ["format", "--diff"],
        ["check", "--select", "E,F,I,W,B,UP,C4", "--ignore", "E501"],
    ):
        done = subprocess.run(
            [*ruff, *command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "standard"}))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("text", "program"),
    [
        pytest.param(
            "add.u32 %r1, %r2, 1;",
            "    r2 = reg.undefined(b32)\n    ptx.inst.add.u32(r1, r2, 1)\n",
            id="read first",
        ),
        pytest.param(
            "bra B;\n A: mov.u32 %r2, 3;\n st.global.u32 [%rd1], %r2;\n ret;\n"
            " B: add.u32 %r1, %r2, 1;",
            '    ptx.bra("B")\n    r2 = reg.undefined(b32)\n    ptx.inst.mov.u32(r2, 3)\n'
            "    ptx.inst.st.global_.u32(ptx.addr(rd1), r2)\n    ptx.ret()\n"
            '    ptx.label("B")\n    ptx.inst.add.u32(r1, r2, 1)\n',
            id="set on no way to the read",
        ),
        pytest.param(
            "@%p1 mov.u32 %r1, 2;",
            "    p1 = reg.undefined(pred)\n    ptx.inst.mov.u32(r1, 2, pred=p1)\n",
            id="a guard",
        ),
        pytest.param(
            "mov.f32 c1, 0.0; mov.f32 c3, 0.0; mov.f32 c4, 0.0;"
            " st.global.v4.f32 [%rd1], {c1, c2, c3, c4};",
            "    c1 = reg.scalar(f32, init=0.0)\n"
            "    c3 = reg.scalar(f32, init=0.0)\n    c4 = reg.scalar(f32, init=0.0)\n"
            "    c2 = reg.undefined(f32)\n"
            "    ptx.inst.st.global_.v4.f32(ptx.addr(rd1), [c1, c2, c3, c4])\n",
            id="one of a range",
        ),
    ],
)
def test_registers_that_nothing_sets_before_they_are_read(text, program, tmp_path):
    whole = BODY.format(text).replace(".reg .pred", ".reg .f32 c<6>; .reg .pred")
    module = parse(whole)
    lifted = lift(module)
    first = "    r1 = reg.from_(ptx.special.tid.x(), u32)\n"
    assert lifted.partition(first)[2].startswith(program)
    (k,) = kernels(module).values()
    assert machine_code(k.module(), tmp_path) == machine_code(module, tmp_path)


def test_a_program_that_is_changed_has_other_machine_code(tmp_path):
    module = parse((FOLDER / "flow.ptx").read_text(), "flow.ptx")
    names: dict[str, object] = {}
    exec(lift(module).replace("i += 7", "i += 8"), names)
    assert machine_code(names["flow"].module(), tmp_path) != machine_code(module, tmp_path)


def test_the_document_shows_the_file_that_it_lifts():
    docs = FOLDER.parents[1] / "docs"
    page = (docs / "python_from_ptx.md").read_text()
    assert f"```\n{(docs / 'clip.ptx').read_text()}```\n" in page


def test_a_module_that_was_never_a_file_has_the_names_that_it_would_have_there():
    (first,) = kernels(parse((DOCS / "clip.ptx").read_text())).values()
    traced = first.module()
    program = lift(traced)
    assert "ud0 = ptx.inst.ld.param.u64(clip_param_0)" in program
    (again,) = kernels(traced).values()
    assert one_label_for_each_place(again.module()) == one_label_for_each_place(traced)
