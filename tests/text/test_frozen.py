"""Objects made by the quick constructors are those that the classes' own make."""

import copy
import dataclasses
import pickle

import pytest

from pyptx.frozen import constructor
from pyptx.ir import Guard, Instruction
from pyptx.operands import Register
from pyptx.source import SourceLocation
from pyptx.types import b32, pred

REGISTER = (7, b32)
LOCATION = ("kernel.ptx", 12)
INSTRUCTION = (None, ("f32",), (Register(1, b32),), Guard(Register(2, pred)), None, (), None)


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
