"""The typing stubs against the table: fresh, and each the same automaton as the namespace."""

import ast
import keyword
import os
import random
import subprocess
import sys
import time

import pytest

from pyptx._isa import stub, table
from pyptx._isa.check import patterns
from pyptx._isa.opcode_path import ptx_name, python_name, walk
from pyptx._isa.sample import sample
from pyptx._isa.special import SPECIAL
from pyptx._isa.table import CHAPTERS, forms

PER_FORM = 8


@pytest.mark.parametrize("path", stub.FILES, ids=lambda path: path.name)
def test_the_stubs_are_those_of_the_table(path):
    fresh = path.read_text() == stub.FILES[path]()  # no diff of ten thousand lines
    assert fresh, f"{path.name} is not that of the table: `make stub`, or `{stub.COMMAND}`"


def test_the_text_is_the_same_in_every_process():
    done = subprocess.run(
        [sys.executable, "-c", "from pyptx._isa import stub; print(stub.text(), end='')"],
        env=os.environ | {"PYTHONHASHSEED": "1234"},
        capture_output=True,
        text=True,
        check=True,
    )
    same = done.stdout == stub.text()
    assert same


@pytest.fixture(scope="module")
def classes():
    """Each class of the stub: its attributes with their classes, and its calls."""
    found = {}
    for node in ast.parse(stub.text()).body:
        if isinstance(node, ast.ClassDef):
            attributes = {
                each.target.id: each.annotation.id
                for each in node.body
                if isinstance(each, ast.AnnAssign)
            }
            calls = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found[node.name] = attributes, calls
    return found


def counts(call):
    """How many operands a call of the stub takes."""
    most = len(call.args.posonlyargs or call.args.args) - 1
    return range(max(most - len(call.args.defaults), 0), most + 1)


def spellings(size):
    generator = random.Random(size)
    for form in forms():
        for modifiers in sample(form, size, generator):
            yield form.opcode, modifiers


def place(classes, opcode, modifiers):
    """The class of a spelling, None where the stub does not have it."""
    name = "Instructions"
    for part in (opcode, *modifiers):
        name = classes[name][0].get(python_name(part))
        if name is None:
            return None
    return name


def test_every_spelling_is_there_with_every_number_of_operands(classes):
    checked = 0
    for opcode, modifiers in spellings(PER_FORM):
        name = place(classes, opcode, modifiers)
        assert name, (opcode, modifiers)
        state = walk(table.spellings(), opcode, modifiers)
        wanted = {n for p in patterns(state) for n in range(p.least, len(p.given) + 1)}
        assert {n for call in classes[name][1] for n in counts(call)} == wanted, state.spelling
        checked += 1
    assert checked > 4000


def test_nothing_is_offered_that_leads_nowhere(classes):
    """From any state of the stub, walking on at random ends at a spelling of the table."""
    generator = random.Random(0)
    for opcode, modifiers in spellings(2):
        rest = list(modifiers[: generator.randint(0, len(modifiers))])
        name = place(classes, opcode, rest)
        while not classes[name][1] or (classes[name][0] and generator.random() < 0.5):
            modifier = generator.choice(list(classes[name][0]))
            name = classes[name][0][modifier]
            state = walk(table.spellings(), opcode, rest)
            rest.append({python_name(m): m for m in state.next}[modifier])
        assert walk(table.spellings(), opcode, rest).forms, (opcode, rest)


def test_what_no_row_has_is_not_there(classes):
    """One modifier exchanged for another: the stub has it exactly where the table has."""
    generator = random.Random(1)
    pool = sorted({o.name for form in forms() for slot in form.slots for o in slot.options})
    without = 0
    for opcode, modifiers in spellings(2):
        if modifiers:
            changed = list(modifiers)
            changed[generator.randrange(len(changed))] = generator.choice(pool)
            name = place(classes, opcode, changed)
            state = table.spellings()[opcode]
            for modifier in changed:
                state = state and state.next.get(modifier)
            has = bool(state and state.forms)
            assert bool(name and classes[name][1]) == has, (opcode, changed)
            without += not has
    assert without > 1000


def test_every_special_register_is_there():
    tree = ast.parse(stub.special_text())
    methods = {
        f"{node.name}.{each.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.FunctionDef)
    }
    wanted = {f"_{name}" if "." in name else f"Specials.{name}" for name in SPECIAL}
    assert methods == wanted


def test_every_name_can_be_written_in_python_and_read_back():
    names = {o.name for form in forms() for slot in form.slots for o in slot.options}
    for name in names | set(table.spellings()):
        written = python_name(name)
        assert written.isidentifier()
        assert not keyword.iskeyword(written)
        assert ptx_name(written) == name


def test_states_are_shared(classes):
    """What may follow is written once: a class for each state would be hundreds of thousands."""
    assert len(classes) < 3000
    assert len(stub.text()) < 600_000


def test_rows_are_read_when_the_namespace_is_first_used():
    program = (
        "import sys, pyptx; rows = lambda: {m for m in sys.modules if 'pyptx._isa.f' in m};"
        "a = rows(); pyptx.ptx.inst.fma; print(len(a), len(rows()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before < 4
    assert after > len(CHAPTERS)


@pytest.mark.timing
def test_the_first_use_of_the_namespace_takes_little_beside_the_import():
    """The rows are read in a fraction of what `import numpy` and the rest of pyptx take."""
    program = (
        "import time; a = time.perf_counter(); import pyptx; b = time.perf_counter(); "
        "pyptx.ptx.inst.fma.rn.f32; c = time.perf_counter(); print(b - a, c - b)"
    )
    best = float("inf")
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        imported, first = map(float, done.stdout.split())
        best = min(best, first / imported)
    assert best < 0.6, f"the first use takes {best:.2f} of the import of pyptx"


def test_the_stub_is_written_in_seconds():
    begin = time.process_time()
    stub.text()
    assert time.process_time() - begin < 30
