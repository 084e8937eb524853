"""Any control flow becomes blocks and branches that are traced to the same instructions."""

import ast
import dataclasses
import inspect
import random
import tempfile
import types
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.lift.comparing import alone, kernels, kernels_of, machine_code, one_label_for_each_place
from tests.lift.programs import FILE, HEAD, STORES, files, graph, structured

from pyptx._ir import Function, Instruction, Kernel, Module
from pyptx._lift import body, flow, lift
from pyptx._operands import Register
from pyptx._text import parse
from pyptx._verify import verify
from pyptx.errors import LanguageError


def with_plain_branches(module: Module) -> Module:
    """The module with `bra` for `bra.uni` without a guard, which mean the same."""

    def changed(function):
        statements = tuple(map(plain, function.body))
        return dataclasses.replace(function, body=statements)

    def plain(statement):
        if not isinstance(statement, Instruction) or statement.spelling != "bra.uni":
            return statement
        kept = statement.guard is not None or statement.pragmas
        return statement if kept else dataclasses.replace(statement, modifiers=())

    return dataclasses.replace(
        module,
        kernels=tuple(map(changed, module.kernels)),
        functions=tuple(map(changed, module.functions)),
    )


@cache
def read(text: str) -> tuple[Module, Module] | None:
    """The module of a file, and what it is compared as; None for one that the language refuses."""
    module = parse(text, "generated.ptx")
    try:
        verify(module)
    except LanguageError:
        return None
    return module, one_label_for_each_place(with_plain_branches(module))


def entered(program: str) -> bool:
    """Whether a branch by hand leads from outside of a block to a label in it."""
    labels: dict[str, tuple[int, ...]] = {}
    branches: list[tuple[str, tuple[int, ...]]] = []

    def visit(node: ast.AST, inside: tuple[int, ...]) -> None:
        if isinstance(node, ast.FunctionDef):
            labels.clear()
            branches.clear()
        if isinstance(node, ast.With):
            inside = (*inside, node.lineno)
        if isinstance(node, ast.Call):
            head, names = ast.unparse(node.func), strings(node)
            if head == "ptx.label":
                labels[names[0]] = inside
            elif head.startswith(("ptx.bra", "ptx.inst.br")):
                branches.extend((name, inside) for name in names)
        for child in ast.iter_child_nodes(node):
            visit(child, inside)
        if isinstance(node, ast.FunctionDef):
            found.extend(inside[: len(labels[name])] != labels[name] for name, inside in branches)

    found: list[bool] = []
    visit(ast.parse(program), ())
    return any(found)


def strings(node: ast.AST) -> list[str]:
    constants = (n for n in ast.walk(node) if isinstance(n, ast.Constant))
    return [n.value for n in constants if isinstance(n.value, str)]


def holds(text: str) -> bool:
    """The law: what is lifted traces to the file, has its comments, and no block is entered."""
    found = read(text)
    if found is None:
        return True
    module, wanted = found
    program = lift(module)
    (kernel,) = kernels_of(program).values()
    traced = kernel.module()
    if not traced.functions:
        wanted = dataclasses.replace(wanted, functions=())
    again = one_label_for_each_place(with_plain_branches(traced))
    noted = program.count("# a note") == text.count("// a note")
    return again == wanted and noted and not entered(program)


@settings(max_examples=80, derandomize=True, database=None, deadline=None)
@given(files)
def test_what_is_lifted_is_traced_to_the_same_instructions(text):
    assert holds(text), lift(parse(text))


@pytest.mark.sweep
@settings(max_examples=5000, deadline=None)
@given(files)
def test_what_is_lifted_is_traced_to_the_same_instructions_every_time(text):
    assert holds(text), lift(parse(text))


@pytest.mark.sweep
@settings(max_examples=200, deadline=None)
@given(files)
def test_what_is_lifted_has_the_same_machine_code(text):
    found = read(text)
    if found is not None:
        (kernel,) = kernels(found[0]).values()
        traced = kernel.module()
        with tempfile.TemporaryDirectory() as folder:
            codes = [machine_code(m, Path(folder)) for m in (traced, alone(found[0], traced))]
        assert codes[0] == codes[1]


# ---- the law can fail ----------------------------------------------------------------------------

# A branch over the rest of an `if`, out of a loop that nothing else leaves.
OUT_OF_A_REST = """\
again: @k0 bra rest;
add.u32 r0, r0, 1;
bra far;
rest: xor.b32 r1, r1, r0;
setp.ne.u32 k1, r1, 7;
@k1 bra again;
add.u32 r2, r2, 1;
add.u32 r2, r2, r0;
far:
"""


@dataclasses.dataclass
class Lifted:
    """A program that was lifted, and of each of its bodies the blocks and what they are from."""

    program: str
    flows: list[tuple[Kernel | Function, Callable[[int, Register], bool], tuple[flow.Node, ...]]]


@pytest.fixture(scope="module")
def lifted() -> dict[str, Lifted]:
    """Files that were generated, the same ones in every run, as they are lifted."""
    rng = random.Random(5)
    texts = [graph(rng.randbytes(rng.randint(12, 40))) for _ in range(350)]
    texts += [structured(rng.randbytes(rng.randint(0, 50)), rng.randbytes(8)) for _ in range(40)]
    texts.append(FILE.format(kernel=f"{HEAD}{OUT_OF_A_REST}{STORES}ret;\n", function="ret;\n"))
    found: dict[str, Lifted] = {}

    class Kept(flow.Flow):
        def __init__(self, function, tested) -> None:
            super().__init__(function, tested)
            found[text].flows.append((function, tested, self.nodes))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "Flow", Kept)
        for text in texts:
            module = read(text)
            if module is not None:
                found[text] = Lifted("", [])
                found[text].program = lift(module[0])
    return found


PARTS = [
    "with ptx.if_(k",
    "with ptx.if_(~q",
    "into=True",
    "with ptx.else_():",
    "with ptx.loop():",
    "with ptx.loop(pred=lambda: r0 < ",
    "with ptx.loop(pred=lambda: ~(r0 < ",
    "with ptx.loop(pred=k",
    "with ptx.loop(pred=lambda: q",
    "with ptx.while_(lambda: r0 < ",
    "with ptx.while_(lambda: ~(r0 < ",
    "ptx.break_()",
    "ptx.break_(pred=",
    "ptx.continue_()",
    "ptx.continue_(pred=",
    "ptx.bra(",
    "ptx.inst.bra.uni(",
    "ptx.inst.brx.idx(r0, [",
    "ptx.pragma(",
    "ptx.call(other, [r2], [r1])",
    "    ptx.ret()\n",
]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_the_language_is_generated(part, lifted):
    assert any(part in each.program for each in lifted.values())


MISTAKES = [
    pytest.param(
        "start < target <= back\n",
        "False\n",
        id="a loop that is entered in the middle",
    ),
    pytest.param(
        "if start < target <= back",
        "if start < target < back",
        id="a loop that is entered at its last branch",
    ),
    pytest.param(
        ("if guard is None:\n            return True\n        return any("),
        ("if guard is None:\n            return True\n        return True or any("),
        id="a loop whose predicate nothing sets",
    ),
    pytest.param(
        "_Round(end, back + 1)",
        "_Round(start, back + 1)",
        id="the next round of a loop is its start",
    ),
    pytest.param(
        "_Round(end, back + 1)",
        "_Round(end, back)",
        id="a loop is left at its last branch",
    ),
    pytest.param(
        "and back not in self._reached:",
        ":",
        id="a branch to the last branch of a loop, behind its comparison",
    ),
    pytest.param(
        "or leaves in self._reached\n",
        "",
        id="a branch behind the comparison of a while",
    ),
    pytest.param(
        "self._targets.get(leaves) != back + 1",
        "self._targets.get(leaves) is None",
        id="a while that is left elsewhere",
    ),
    pytest.param(
        ("or self.instructions[back].guard is not None\n            or self._targets"),
        "or self._targets",
        id="a while with a condition at its end",
    ),
    pytest.param(
        "_Round(start, back + 1), depth",
        "_Round(start + 2, back + 1), depth",
        id="the next round of a while is behind its test",
    ),
    pytest.param(
        "if guarded and index + 1",
        "if index + 1",
        id="an if without a condition",
    ),
    pytest.param(
        "< target <= end and depth",
        "< target and depth",
        id="an if that ends outside of its block",
    ),
    pytest.param(
        ("self._targets[index] != index + 2\n            or over"),
        "over",
        id="a branch over more than the body, into it",
    ),
    pytest.param(
        "or around in self._reached\n",
        "",
        id="a branch between the two of an into",
    ),
    pytest.param(
        ("or self.instructions[around].guard is not None\n            or not"),
        "or not",
        id="a condition on the way around",
    ),
    pytest.param(
        "or not index + 2 < over <= end\n",
        "or not index + 2 < over\n",
        id="a way around that ends outside",
    ),
    pytest.param(
        "if self._entered(start, target, index, start):",
        "if False:",
        id="a body that is entered",
    ),
    pytest.param(
        ("and self.instructions[last].guard is None\n            and target < over <= end"),
        "and target < over <= end",
        id="a condition on the way over the rest",
    ),
    pytest.param(
        "and target < over <= end",
        "and target < over",
        id="a rest that ends outside",
    ),
    pytest.param(
        "and not self._entered(target, over, index, start)\n",
        "",
        id="a rest that is entered",
    ),
    pytest.param(
        'instruction.spelling == "bra.uni" and instruction.guard is None',
        'instruction.spelling == "bra.uni"',
        id="a guarded bra.uni",
    ),
    pytest.param(
        "if instruction.pragmas:",
        "if False:",
        id="a branch with a pragma",
    ),
]


def with_mistake(before: str, after: str) -> type[flow.Flow]:
    source = inspect.getsource(flow)
    assert source.count(before) == 1, before
    module = types.ModuleType(flow.__name__)
    exec(compile(source.replace(before, after), "flow.py", "exec"), module.__dict__)
    for node in ("Do", "Leave", "Jump", "If", "Loop", "While"):
        setattr(module, node, getattr(flow, node))
    return module.Flow


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("before", "after"), MISTAKES)
def test_a_mistake_in_a_rule_breaks_the_law(before, after, lifted, monkeypatch):
    wrong = with_mistake(before, after)
    changed = [text for text, each in lifted.items() if any(map(partial(other, wrong), each.flows))]
    monkeypatch.setattr(body, "Flow", wrong)
    assert any(map(broken, changed))


def other(wrong: type[flow.Flow], known) -> bool:
    """Whether a mistake makes other blocks of a body."""
    function, tested, nodes = known
    try:
        return wrong(function, tested).nodes != nodes
    except (IndexError, KeyError, RecursionError):
        return True


def broken(text: str) -> bool:
    try:
        return not holds(text)
    except (SyntaxError, NameError, TypeError, LanguageError, LookupError, RecursionError):
        return True  # what is lifted wrongly may be no program at all
