"""Everyday words find instructions; what is no instruction is said to be elsewhere."""

import pytest

from pyptx._isa.search import find
from pyptx.errors import IsaError


@pytest.mark.parametrize(
    ("words", "first", "every"),
    [
        ("shuffle", "shfl", {"shfl"}),
        ("fast exp", "ex2", {"ex2"}),
        ("atomic add float", "atom", {"atom", "red", "multimem"}),
        ("fast log", "lg2", {"lg2"}),
        ("atomic cas", "atom", {"atom"}),
    ],
)
def test_everyday_words_find_instructions(words, first, every):
    found = find(words.split(), None, None).forms
    assert found[0].opcode == first
    assert {form.opcode for form in found} == every


def test_atomic_add_float_finds_forms_that_add_floats():
    for form in find(["atomic", "add", "float"], None, None).forms:
        options = {option.name for slot in form.slots for option in slot.options}
        assert "add" in options
        assert options & {"f32", "f64"}


def test_words_of_ptx_mean_what_they_did():
    assert {form.opcode for form in find(["ex2"], None, None).forms} == {"ex2"}
    assert {form.opcode for form in find(["shfl.sync"], None, None).forms} == {"shfl"}


def test_calls_are_found_as_files_have_them():
    forms = find(["call"], None, None).forms
    assert [form.syntax for form in forms] == [
        "call{.uni}  func",
        "call{.uni}  func, params",
        "call{.uni}  ret, func, params",
        "call{.uni}  fptr, flist",
        "call{.uni}  fptr, params, flist",
        "call{.uni}  ret, fptr, params, flist",
    ]
    assert find(["call.uni"], None, None).modifiers == ("uni",)


@pytest.mark.parametrize("words", ["fast exp", "atomic add float", "shuffle", " call  "])
def test_words_in_one_argument_are_words(words):
    assert find([words], None, None) == find(words.split(), None, None)


def test_an_unknown_word_next_to_an_everyday_one_is_the_one_that_is_named():
    with pytest.raises(IsaError) as caught:
        find(["exp", "foo"], None, None)
    assert str(caught.value) == "no instruction matches exp foo\n  nearest to foo: nothing"
