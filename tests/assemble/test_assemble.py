"""PTX to cubin: resources, errors at Python lines, options, tools that are missing."""

import stat
from pathlib import Path

import pytest

from pyptx import _assemble as assemble
from pyptx._assemble import cubin as cubin_module
from pyptx._assemble.cubin import Message
from pyptx._source import SourceLocation
from pyptx._target import TARGETS, Target
from pyptx._text import parse
from pyptx.errors import AssembleError

SCALE = """\
.version 7.8
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.reg .f32 %f<4>;
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.u64 %rd1, %rd1, %rd3;
	add.u64 %rd2, %rd2, %rd3;
	ld.global.f32 %f1, [%rd1];
	mul.f32 %f2, %f1, %f1;
	add.f32 %f3, %f2, %f1;
	st.global.f32 [%rd2], %f3;
	ret;
}
"""
MEMORY = """\
.version 7.8
.target sm_75
.address_size 64
.visible .entry memory(.param .u64 x)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.shared .align 16 .b8 tile[1024];
	.local .align 8 .b8 own[128];
	ld.param.u64 %rd1, [x];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	mov.u64 %rd2, own;
	add.u64 %rd2, %rd2, %rd3;
	st.local.u32 [%rd2], %r1;
	st.shared.u32 [tile], %r1;
	bar.sync 0;
	ld.local.u32 %r2, [own+8];
	ld.shared.u32 %r3, [tile+4];
	add.u32 %r2, %r2, %r3;
	st.global.u32 [%rd1], %r2;
	ret;
}
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "cache"))


def test_resources_of_a_kernel():
    found = assemble.assemble(SCALE, "sm_90a")
    assert (found.kernel, found.target, found.code[:4]) == ("scale", "sm_90a", b"\x7fELF")
    assert 4 <= found.registers <= 32
    assert (found.stack, found.shared, found.barriers) == (0, 0, 0)
    assert (found.spill_stores, found.spill_loads) == (0, 0)
    assert found.constant >= 16, "two addresses"
    assert found.assembler == assemble.version()
    assert found.assembler_major == 13
    assert "Compile time" not in found.log


def test_memory_of_a_kernel():
    found = assemble.assemble(MEMORY, Target(90, "a"))
    assert (found.stack, found.shared, found.barriers) == (128, 1024, 1)


def test_spills_are_counted():
    chains = "".join(f"\tld.global.f32 %g{i}, [%rd1+{4 * i}];\n" for i in range(120))
    chains += "\tbar.sync 0;\n"
    chains += "".join(f"\tst.global.f32 [%rd2+{4 * i}], %g{119 - i};\n" for i in range(120))
    ptx = SCALE.replace("\tret;", f"\t.reg .f32 %g<120>;\n{chains}\tret;")
    ptx = ptx.replace("y)\n{", "y)\n.maxnreg 32\n{")
    found = assemble.assemble(ptx, "sm_90a")
    assert found.registers <= 32
    assert found.spill_stores > 0
    assert found.spill_loads > 0


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_every_target_is_assembled(target):
    ptx = SCALE.replace("sm_75", str(target)).replace(
        "7.8", str(max(target.version, TARGETS[6].version))
    )
    found = assemble.assemble(ptx, target)
    assert found.target == str(target)


def test_the_code_depends_on_its_input_alone(tmp_path, monkeypatch):
    first = assemble.assemble(SCALE, "sm_90a")
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert assemble.assemble(SCALE, "sm_90a") == first


def test_contraction_is_off_unless_asked_for():
    text = {
        contract: " ".join(
            i.text for i in assemble.sass(assemble.assemble(SCALE, "sm_90a", contract=contract))
        )
        for contract in (False, True)
    }
    assert "FMUL" in text[False]
    assert "FADD" in text[False]
    assert "FFMA" not in text[False]
    assert "FFMA" in text[True]


def test_flags_reach_the_assembler():
    found = assemble.assemble(SCALE, "sm_90a", flags=["-maxrregcount", "8"])
    assert found.warnings == (
        Message(
            "warning",
            0,
            "For profile sm_90a adjusting per thread register count of 8 to lower bound of 24",
        ),
    )


def test_sass_has_python_lines():
    here = SourceLocation(__file__, 7)
    lines = {16: here}
    with_lines = assemble.assemble(SCALE, "sm_90a", line_info=True)
    found = assemble.sass(with_lines, lines)
    multiplications = [i for i in found if i.text.startswith("FMUL")]
    assert [(i.ptx_line, i.location) for i in multiplications] == [(16, here)]
    assert found[0].offset == 0
    assert [i.offset for i in found] == [16 * n for n in range(len(found))]
    without = assemble.sass(assemble.assemble(SCALE, "sm_90a"), lines)
    assert {(i.ptx_line, i.location) for i in without} == {(0, None)}


def test_rejection_is_shown_at_the_python_line(tmp_path):
    source = tmp_path / "model.py"
    source.write_text("y = x\ny = ptx.inst.mul.u32(x, x)\n")
    ptx = SCALE.replace("mul.f32 %f2", "mul.u32 %f2").replace("\tret;", "\trex;")
    with pytest.raises(AssembleError) as caught:
        assemble.assemble(ptx, "sm_90a", lines={16: SourceLocation(str(source), 2)})
    assert str(caught.value) == (
        f"{source}:2: ptxas rejected the kernel: Unexpected instruction types specified for 'mul'\n"
        "    y = ptx.inst.mul.u32(x, x)\n"
        "  PTX: line 16: mul.u32 %f2, %f1, %f1;\n"
        "  target: sm_90a\n"
        "  also: PTX line 19: Not a name of any known instruction: 'rex'"
    )


def test_rejection_of_a_whole_module():
    with pytest.raises(AssembleError) as caught:
        assemble.assemble(SCALE.replace("sm_75", "sm_90"), "sm_80")
    assert str(caught.value) == (
        "ptxas failed: SM version specified by .target is higher than default SM version assumed\n"
        "  target: sm_80"
    )


def test_unknown_target():
    with pytest.raises(AssembleError) as caught:
        assemble.assemble(SCALE, "sm_90b")
    assert str(caught.value).startswith("unknown target 'sm_90b'; known: sm_75 sm_80 ")


def test_one_kernel_at_a_time():
    second = SCALE[SCALE.index(".visible") :].replace("scale", "other")
    with pytest.raises(AssembleError) as caught:
        assemble.assemble(SCALE + second, "sm_90a")
    assert str(caught.value) == "the module has 2 kernels; one is assembled at a time"


def test_missing_assembler_names_the_package(monkeypatch):
    monkeypatch.setattr("cuda.pathfinder.find_nvidia_binary_utility", lambda _: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("PYPTX_PTXAS", raising=False)
    with pytest.raises(AssembleError) as caught:
        assemble.assemble(SCALE, "sm_90a")
    assert str(caught.value) == (
        "no ptxas: assembling needs NVIDIA's nvidia-cuda-nvcc\n"
        "  help: pip install nvidia-cuda-nvcc, or set PYPTX_PTXAS"
    )


def test_macos_has_no_assembler(monkeypatch):
    monkeypatch.setattr("cuda.pathfinder.find_nvidia_binary_utility", lambda _: None)
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("PYPTX_PTXAS", raising=False)
    with pytest.raises(AssembleError) as caught:
        assemble.assemble(SCALE, "sm_90a")
    assert str(caught.value) == (
        "no ptxas: NVIDIA has no ptxas for macOS\n"
        "  help: the emulator runs the kernel without it; assemble on Linux or Windows"
    )


def test_named_assembler(monkeypatch, tmp_path):
    real = assemble.find(assemble.PTXAS)
    own = tmp_path / "own-ptxas"
    own.write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
    monkeypatch.setenv("PYPTX_PTXAS", str(own))
    with pytest.raises(AssembleError) as caught:
        assemble.find(assemble.PTXAS)
    assert str(caught.value) == f"PYPTX_PTXAS names {str(own)!r}, which is not a program"
    own.chmod(own.stat().st_mode | stat.S_IXUSR)
    assert assemble.find(assemble.PTXAS) == own
    assert assemble.assemble(SCALE, "sm_90a").kernel == "scale"


def test_an_assembler_that_fails_without_a_word(monkeypatch, tmp_path):
    own = tmp_path / "ptxas"
    own.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "release 13.0, V13.0.1" || exit 7\n')
    own.chmod(0o755)
    monkeypatch.setenv("PYPTX_PTXAS", str(own))
    with pytest.raises(AssembleError) as caught:
        assemble.assemble(SCALE, "sm_90a")
    assert str(caught.value) == "ptxas failed: exit status 7\n  target: sm_90a"


def test_messages_are_read_once():
    log = (
        "ptxas kernel.ptx, line 8; error   : Special register argument not allowed\n"
        "ptxas kernel.ptx, line 8; error   : Special register argument not allowed\n"
        "ptxas warning : Too many maxnreg specified for entry sh, will be ignored\n"
        "ptxas fatal   : Ptx assembly aborted due to errors"
    )
    assert cubin_module.messages(log) == (
        Message("error", 8, "Special register argument not allowed"),
        Message("warning", 0, "Too many maxnreg specified for entry sh, will be ignored"),
        Message("fatal", 0, "Ptx assembly aborted due to errors"),
    )


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assemble.assemble(SCALE, "sm_90a")
    assert not list(Path(tmp_path).glob("pyptx-*"))


def test_kernels_assembled_together_have_the_sizes_that_each_has_alone():
    file = Path(__file__).parents[1] / "text" / "corpus" / "nvcc" / "everyday.sm_90a.ptx"
    text = file.read_text()
    module = parse(text, str(file))
    names = [kernel.name for kernel in module.kernels]
    together = assemble.assemble(text, "sm_90a", entries=names)
    each = assemble.by_entry(together, dict.fromkeys(names, range(0)), {})
    assert each is not None
    assert list(each) == names
    for name, cubin in each.items():
        alone = assemble.assemble(text, "sm_90a", entries=[name])
        sizes = (
            "kernel",
            "registers",
            "barriers",
            "stack",
            "spill_stores",
            "spill_loads",
            "shared",
        )
        assert cubin.kernel == name
        assert [getattr(cubin, s) for s in sizes] == [getattr(alone, s) for s in sizes]
