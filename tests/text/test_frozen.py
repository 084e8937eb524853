"""Objects made by the quick constructors are those that the classes' own make."""

import copy
import dataclasses
import gc
import pickle

import pytest

from pyptx._frozen import constructor, uncollected
from pyptx._ir import Guard, Instruction
from pyptx._operands import Register
from pyptx._source import SourceLocation
from pyptx.types import b32, pred

REGISTER = (7, b32)
LOCATION = ("kernel.ptx", 12)
INSTRUCTION = (None, ("f32",), (Register(1, b32),), Guard(Register(2, pred)), None, (), None, ())


@pytest.mark.parametrize(
    ("kind", "values"),
    [(Register, REGISTER), (SourceLocation, LOCATION), (Instruction, INSTRUCTION)],
)
def test_what_is_made_is_what_the_class_makes(kind, values):
    made, other = constructor(kind)(*values), kind(*values)
    assert type(made) is kind
    assert made == other
    assert hash(made) == hash(other)
    assert repr(made) == repr(other)
    assert copy.copy(made) == other
    assert dataclasses.replace(made) == other
    name = dataclasses.fields(kind)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, name, 1)


def test_they_are_pickled():
    made = constructor(Register)(*REGISTER)
    assert pickle.loads(pickle.dumps(made)) == made


def test_all_fields_are_needed():
    with pytest.raises(TypeError):
        constructor(Instruction)(None)


@pytest.fixture(scope="module", autouse=True)
def frozen_again():
    """What pytest keeps of all tests is frozen behind these as it was before."""
    yield
    gc.freeze()


@pytest.fixture
def unfrozen():
    gc.unfreeze()  # what the tests of other files left


def is_young(found):
    return any(each is found for each in gc.get_objects(generation=0))


@pytest.mark.usefixtures("unfrozen")
def test_what_is_made_without_collection_is_old_at_once():
    with uncollected():
        assert not gc.isenabled()
        made = [[] for _ in range(60_000)]
        assert is_young(made)
    assert gc.isenabled()
    assert not is_young(made)
    assert gc.get_freeze_count() == 0


def test_a_program_without_collection_stays_without():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("size", [0, 60_000])
def test_what_a_program_has_frozen_stays_frozen(size):
    gc.freeze()
    try:
        with uncollected():
            made = [[] for _ in range(size)]
        assert gc.get_freeze_count() > 0
        assert len(made) == size
    finally:
        gc.unfreeze()


def test_what_is_frozen_is_not_counted_for_a_few_objects(monkeypatch):
    """To count a million frozen objects takes milliseconds, as long as some kernels' tracing."""
    monkeypatch.setattr(gc, "get_freeze_count", lambda: pytest.fail("counted"))
    with uncollected():
        pass
    assert gc.isenabled()
