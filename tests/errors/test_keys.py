"""Registers as keys: a dict finds the register, where the program means its value."""

import numpy as np

from pyptx import LanguageError, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

from .cases import Collection

wrong = Collection()

CURES = """
      help: ptx.where(r == 0, a, b) chooses by the value
      help: ptx.const(f32, name="table", init=[a, b])[r] is an element of a table
      help: id(r) is a key that stands for the register itself
    """
HEAD = """
    here: a register has no value while the kernel is traced, so it is no key of a dict or set
        """
TABLE = {0: 10.0, 1: 20.0}


def _thread():
    return reg.from_(ptx.special.tid.x(), u32)


@wrong(LanguageError, HEAD + "reg.scalar(f32, init=TABLE.get(_thread(), 0.0))" + CURES)
def a_lookup_with_a_default():
    reg.scalar(f32, init=TABLE.get(_thread(), 0.0))


@wrong(LanguageError, HEAD + "reg.scalar(f32, init=TABLE[_thread()])" + CURES)
def a_lookup():
    reg.scalar(f32, init=TABLE[_thread()])


@wrong(LanguageError, HEAD + "found = _thread() in {0, 1}" + CURES)
def a_member_of_a_set():
    found = _thread() in {0, 1}


@wrong(LanguageError, HEAD + "found = ptx.special.tid.x() in TABLE" + CURES)
def a_special_register():
    found = ptx.special.tid.x() in TABLE


@wrong(LanguageError, HEAD + 'names = {_thread(): "i"}' + CURES)
def a_dict_of_registers():
    names = {_thread(): "i"}


@wrong.parametrize()
def test_message(wrong):
    wrong.check(kernel(block=32)(wrong.program).ptx)


def test_what_finds_by_value_or_by_register():
    """The twins: a table in constant memory, `ptx.where`, and `id` as a key."""

    @kernel(out_specs=(Tile(3, 2, f32),), block=2)
    def k(Y):
        i = _thread()
        Y[0, i] = ptx.const(f32, name="table", init=[10.0, 20.0])[i]
        Y[1, i] = ptx.where(i == 0, reg.scalar(f32, init=10.0), 20.0)
        known = {id(i): 2}
        tile = smem.alloc(f32, 2)
        tile[i] = 1.0
        Y[known[id(i)], i] = tile[i]

    assert np.array_equal(k(), [[10, 20], [10, 20], [1, 1]])


def test_a_list_that_begins_with_the_register():
    """What docs/language.md says of `in`: Python compares objects before values."""

    @kernel(block=32)
    def k():
        i = _thread()
        assert i in [i]
        assert not any(each is i for each in [_thread()])

    k.ptx()
