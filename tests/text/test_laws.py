"""Laws of text and modules, on traced kernels, and on files as compilers and people write them.

The files in the folders of corpus are what nvcc, NVRTC, Triton and Numba make of the sources beside
them; `corpus/regenerate.py` makes them again, but for those of everyday, debugged and
inline_assembly: `nvcc -ptx -arch=sm_90a` of CUDA 13.0 (that for sm_100a of 13.5), with `-lineinfo`
those named lines, with `-G` the one named debugged.
"""

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest
from tests.golden.kernels import KERNELS
from tests.golden.test_examples import load

from pyptx import types
from pyptx._assemble import ptxas
from pyptx._ir import Function, Guard, Instruction, Module, Place
from pyptx._operands import Immediate, Label, Register, Variable
from pyptx._text import normal_form, parse, write
from pyptx._verify import verify
from pyptx.errors import LanguageError

CORPUS = sorted((Path(__file__).parent / "corpus").glob("**/*.ptx"))
EXAMPLES = {
    "axpy": ("examples/first_kernel.py", lambda m: m.axpy.module(N=1000)),
    "rms_norm": ("examples/hopper/rms_norm.py", lambda m: m.build(4, 512).module()),
}


def traced():
    for name, (k, dims) in KERNELS.items():
        yield pytest.param(lambda k=k, dims=dims: k.module(**dims), id=name)
    for name, (path, module) in EXAMPLES.items():
        yield pytest.param(lambda path=path, module=module: module(load(path)), id=name)


def read(path: Path) -> Module:
    return parse(path.read_text(), path.name)


def written(module: Module) -> str:
    return write(module, lines=bool(module.debug.files)).ptx


# ---- what is written is read as it was -----------------------------------------------------------


@pytest.mark.parametrize("module", list(traced()))
def test_a_traced_module_is_read_back_in_its_normal_form(module):
    traced = module()
    assert parse(write(traced).ptx) == normal_form(traced)


@pytest.mark.parametrize("module", list(traced()))
def test_the_normal_form_has_the_same_text_and_is_its_own(module):
    traced = module()
    normal = normal_form(traced)
    assert normal_form(normal) == normal
    again = write(normal).ptx
    assert parse(again) == normal
    assert write(parse(again)).ptx == again


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_is_written_of_a_file_is_a_fixed_point(path):
    module = read(path)
    text = written(module)
    again = parse(text, path.name)
    assert written(again) == text
    assert again == normal_form(module)
    assert again.debug.files == module.debug.files


# ---- the assembler makes the same code of it -----------------------------------------------------


def sass(text: str, target: str, folder: Path) -> str:
    """The machine code of all functions of a text."""
    (folder / "file.ptx").write_text(text)
    command = [ptxas.find(ptxas.PTXAS), f"-arch={target}", "file.ptx", "-o", "file.cubin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    command = [ptxas.find(ptxas.NVDISASM), "-c", "file.cubin"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


# The assembler and the disassembler run twice for each file: for every day one target of those that
# differ most, the others in the sweep.
ASSEMBLED = frozenset(("sm_90a", "sm_90"))
ALIKE = frozenset(("counted", "reversed_rows", "features", "tensor_cores", "histogram", "softmax"))


def for_every_day(paths):
    """The paths as parameters, most of them marked for the sweep."""
    for path in paths:
        name, *target = path.name.removesuffix(".ptx").split(".")
        often = name not in ALIKE and (not target or target[-1] in ASSEMBLED)
        yield pytest.param(path, id=path.name, marks=() if often else pytest.mark.sweep)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", [*for_every_day(CORPUS)])
def test_a_file_and_what_is_written_of_it_are_one_program(path, tmp_path):
    module = read(path)
    before = sass(path.read_text(), str(module.target), tmp_path)
    after = sass(written(module), str(module.target), tmp_path)
    assert "ret" in before.lower() or "EXIT" in before
    if "debug" in module.options:
        # Without optimization the assembler keeps the registers apart in the order of their names,
        # so only what is run is the same: the opcodes, without the copies between registers.
        assert opcodes(before) == opcodes(after)
    else:
        assert after == before


def opcodes(listing: str) -> list[str]:
    found = re.findall(r"/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\d+ )?([A-Z0-9.]+)", listing)
    return sorted(set(found) - {"MOV", "NOP", "BRA"})


# ---- a module that differs does not compare equal ------------------------------------------------


def mutants(module: Module):
    """The module with one thing changed, for everything that can be."""
    kernel = module.kernels[0]

    def with_kernel(**changes):
        return dataclasses.replace(
            module, kernels=(dataclasses.replace(kernel, **changes), *module.kernels[1:])
        )

    yield dataclasses.replace(module, kernels=())
    yield dataclasses.replace(module, variables=(*module.variables, Variable(9, "global", 4, 4)))
    function = Function("f", (), (), (), (), (), None)
    yield dataclasses.replace(module, functions=(*module.functions, function))
    yield dataclasses.replace(module, pragmas=(*module.pragmas, "nounroll"))
    yield with_kernel(name="other")
    yield with_kernel(linkage="weak")
    yield with_kernel(registers=(*kernel.registers, Register(10**6, types.b32)))
    yield with_kernel(body=kernel.body[:-1])
    for index, statement in enumerate(kernel.body):
        for changed in changes_of(statement):
            yield with_kernel(body=(*kernel.body[:index], changed, *kernel.body[index + 1 :]))


def changes_of(statement):
    if isinstance(statement, Place):
        yield Place(Label(statement.label.index + 1000))
        return
    yield dataclasses.replace(statement, guard=Guard(Register(10**6, types.pred)))
    yield dataclasses.replace(statement, pragmas=(*statement.pragmas, "nounroll"))
    yield dataclasses.replace(statement, modifiers=(*statement.modifiers, "more"))
    for index, operand in enumerate(statement.operands):
        changed = None
        if isinstance(operand, Register):
            changed = Register(operand.index + 10**6, operand.dtype)
        elif isinstance(operand, Immediate):
            changed = Immediate(operand.bits ^ 1, operand.dtype)
        elif isinstance(operand, Label):
            changed = Label(operand.index + 1000)
        if changed is not None:
            operands = (*statement.operands[:index], changed, *statement.operands[index + 1 :])
            yield dataclasses.replace(statement, operands=operands)


@pytest.mark.parametrize("path", CORPUS[:4], ids=lambda path: path.name)
def test_a_changed_module_is_another_one(path):
    module = read(path)
    found = list(mutants(module))
    assert len(found) > 30
    assert all(mutant != module for mutant in found)


def test_what_takes_no_part_in_equality():
    text = (Path(__file__).parent / "corpus" / "triton_style.ptx").read_text()
    module = parse(text, "one")
    bare = "\n".join(line for line in text.splitlines() if ".loc" not in line)
    bare = re.sub(r"//.*", "", bare.partition("\t.file")[0])
    other = parse(bare, "two")
    assert other == module
    assert (other.comments, other.debug.files) == ((), ())
    assert module.debug.files == ((1, "/kernels/softmax.py"), (2, "/kernels/standard.py"))


def test_comments_and_lines_are_found():
    path = Path(__file__).parent / "corpus" / "triton_style.ptx"
    module = read(path)
    lines = path.read_text().splitlines()
    assert all(lines[c.line - 1][c.column - 1 :] == c.text for c in module.comments)
    assert len(module.comments) == sum("//" in line for line in lines)
    for statement in module.kernels[0].body:
        if isinstance(statement, Instruction):
            assert statement.location.file == "triton_style.ptx"
            assert statement.form.opcode in lines[statement.location.line - 1]
    maxima = [s for s in module.kernels[0].body if "max" in getattr(s, "spelling", "")]
    line = maxima[0].debug
    assert (line.file, line.line, line.column) == (2, 191, 40)
    assert line.inlined == "function_name $L__info_string1, inlined_at 1 9 30"


COMPILED = [path for path in CORPUS if ".section" in path.read_text()]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.name)
def test_debug_information_is_written_as_it_was_read(path):
    module = read(path)
    written = write(module, lines=True).ptx
    again = parse(written)
    assert again.debug.files == module.debug.files != ()
    assert source_lines(again) == source_lines(module)
    assert len(re.findall(r"\.loc\b", written)) == len(re.findall(r"\.loc\b", path.read_text()))
    assert sections(again) == sections(module)
    changed = parse(re.sub(r"(\.loc \d+ )\d+", r"\g<1>9999", written, count=1))
    assert source_lines(changed) != source_lines(module)


def source_lines(module):
    """What `.loc` says of each instruction."""
    bodies = [function.body or () for function in (*module.functions, *module.kernels)]
    return [[s.debug for s in body if isinstance(s, Instruction)] for body in bodies]


def sections(module):
    """What sections hold; labels of the code as how many instructions stand before them."""
    places = {}
    for function in (*module.functions, *module.kernels):
        count = 0
        for statement in function.body or ():
            if isinstance(statement, Place):
                places[function.name, statement.label] = count
            else:
                count += 1
    return [
        (s.name, [w if isinstance(w, str) else places[w.function, w.label] for w in s.content])
        for s in module.debug.sections
    ]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_the_checks_of_whole_kernels_accept_the_files(path):
    verify(read(path))


def test_the_checks_of_whole_kernels_see_the_line_of_a_file():
    text = (Path(__file__).parent / "corpus" / "functions.ptx").read_text()
    assert text.count("call (b), doubled, (a);") == 1
    with pytest.raises(LanguageError) as caught:
        verify(parse(text.replace("call (b), doubled, (a);", ""), "functions.ptx"))
    line = text.splitlines().index("        st.param.b32 [first], b;") + 1
    message = f"functions.ptx:{line}: st.param.b32 reads a .u32 register that nothing has set"
    assert str(caught.value).startswith(message)
