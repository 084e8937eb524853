"""The row reader, the model's own checks, and what follows from the rows."""

import random
from functools import partial

import pytest

from pyptx._isa.automaton import build
from pyptx._isa.available import availability
from pyptx._isa.check import bind
from pyptx._isa.model import Availability
from pyptx._isa.opcode_path import walk
from pyptx._isa.sample import combinations, least, render, sample, spellings
from pyptx._isa.syntax import instruction, row
from pyptx._isa.table import forms, opcodes
from pyptx._operands import Address, Register, Sink, TensorAddress, Vector
from pyptx._target import PtxVersion, Target, targets_of
from pyptx.types import DTYPES

SEED = 4

# ---- the reader ---------------------------------------------------------------------------------


def test_a_row_is_read_whole():
    form = row(
        "ld{.weak}.space{.hint}{.vec}.T"
        "  out d*vec:T>|_, [a:space], policy:b64@hint, c:u32(0..64:32)?",
        space="global shared@sm_90,7.8",
        hint="hint@,7.4",
        vec="v2 v4",
        T="b32 f32",
        ptx="7.0",
        sm="sm_80",
        rules="hint: space=global; !vec: T=b32; hint: vec?=v2",
    )
    assert form.opcode == "ld"
    assert form.syntax == "ld{.weak}.space{.hint}{.vec}.T  d, [a], policy, {c}"
    assert [(s.name, s.required) for s in form.slots] == [
        ("weak", False),
        ("space", True),
        ("hint", False),
        ("vec", False),
        ("T", True),
    ]
    d, a, policy, c = form.operands
    assert (d.access, d.length, d.type, d.wider, d.accepts) == ("out", "vec", "T", True, {"sink"})
    assert (a.kind, a.spaces) == ("address", ("space",))
    assert (policy.type, policy.when) == ("b64", "hint")
    assert (c.optional, c.legal) == (True, range(0, 65, 32))
    assert form.rules == (("hint", "space=global"), ("!vec", "T=b32"), ("hint", "vec?=v2"))
    assert form.slots[1].options[1].availability == Availability("sm_90", PtxVersion(7, 8))
    assert form.slots[2].options[0].availability == Availability("", PtxVersion(7, 4))


def test_addresses_say_how_they_are_aligned_and_where_they_may_stand():
    form = row(
        "x.space  [a:shared::cta%16], [b:space!], [c:global|generic%8]@space", space="global"
    )
    a, b, c = form.operands
    assert form.syntax == "x.space  [a], [b], [c]"
    assert [o.kind for o in form.operands] == ["address"] * 3
    assert (a.spaces, a.align, a.accepts) == (("shared::cta",), 16, {"variable"})
    assert (b.spaces, b.align, b.accepts) == (("space",), 0, frozenset())
    assert (c.spaces, c.align, c.when) == (("global", "generic"), 8, "space")


def test_a_position_in_a_tensor_is_one_operand():
    form = row("x.dim  [map:generic, {c}*dim:s32], {offsets}*dim-2:u16, _", dim="3d 5d")
    position, info, sink = form.operands
    assert form.syntax == "x.dim  [map, c], offsets, _"
    assert (position.kind, position.type, position.length) == ("tensor", "s32", "dim")
    assert (info.kind, info.length, info.braces) == ("value", "dim-2", True)
    assert (sink.kind, sink.access) == ("sink", "out")
    for dim, coordinates, offsets in (("3d", 3, 1), ("5d", 5, 3)):
        (map_and_coordinates, vector, thrown), *_ = render(form, (dim,))
        assert isinstance(map_and_coordinates, TensorAddress)
        assert len(map_and_coordinates.coordinates.elements) == coordinates
        assert isinstance(vector, Vector)
        assert len(vector.elements) == offsets
        assert isinstance(thrown, Sink)


def test_a_length_is_reckoned_from_a_modifier():
    form = row(
        "x.shape.num.cta_group  out d*shape/2:f32, a*num*4:b32, {b}*num:b32, c*cta_group*4:b32",
        shape="m64n8k16 m64n128k16",
        num="x1 x32",
        cta_group="cta_group::1 cta_group::2",
    )
    for modifiers, expected in (
        (("m64n8k16", "x1", "cta_group::1"), [4, 4, 1, 4]),
        (("m64n128k16", "x32", "cta_group::2"), [64, 128, 32, 8]),
    ):
        operands = render(form, modifiers)[0]
        assert [len(o.elements) for o in operands] == expected


def test_the_first_coordinate_may_have_a_type_of_its_own():
    form = row("x.ctype  [tex:generic, c*4:u32+ctype]", ctype="s32 f32")
    (position,) = form.operands
    assert (position.first, position.type, position.length) == ("u32", "ctype", 4)
    (operand,) = render(form, ("f32",))[0]
    dtypes = [e.dtype.name for e in operand.coordinates.elements]
    assert dtypes == ["u32", "f32", "f32", "f32"]


def test_addresses_in_tensor_memory_and_handles_are_registers():
    form = row("x  [d:tmem!], [tex:handle!]")
    (d, tex), *others = render(form, ())
    assert (d.base.dtype.name, tex.base.dtype.name) == ("b32", "u64")
    assert others == [(Address(d.base, 16), tex)]


def test_a_destination_is_thrown_away_only_where_there_is_no_other():
    """With `d, [a]` and `_, [a]` among the rows, leaving the destination out makes a register."""
    kept, thrown = row("x.b64  out d:b64, [a:shared]"), row("x.b64  _, [a:shared]")
    bar = Address(Register(0, DTYPES["u32"]))
    fresh = partial(Register, 1)
    both = bind(build((thrown, kept))["x"].next["b64"], [bar], fresh)
    assert (both.form, both.made) == (kept, Register(1, DTYPES["b64"]))
    alone = bind(build((thrown,))["x"].next["b64"], [bar], fresh)
    assert (alone.operands, alone.made) == ((Sink(), bar), None)


def test_rules_are_implications():
    form = row("x{.a}{.b}.T", T="u32 s32", rules="a: b; b: T=u32; T=s32: !a")
    allowed = {".".join(m) for m in spellings(form)}
    assert allowed == {"u32", "s32", "b.u32", "a.b.u32"}


def test_a_rule_may_allow_absence():
    form = row("x{.space}{.hint}", space="global shared", rules="hint: space?=global")
    assert set(spellings(form)) == {
        (),
        ("hint",),
        ("global",),
        ("global", "hint"),
        ("shared",),
    }


@pytest.mark.parametrize(
    ("syntax", "arguments", "problem"),
    [
        ("add..u32  out d:u32", {}, "cannot read the modifiers of 'add..u32  out d:u32'"),
        ("add.T  d u32", {"T": "u32"}, "cannot read the operand 'd u32'"),
        ("add.u32  out d:u32", {"T": "u32"}, "'add.u32  out d:u32' has no slot ['T']"),
        ("add.T  out d:T", {"T": "u32 u32"}, "slot T has no options or one twice"),
        ("add.T  out d:T", {"T": ""}, "slot T has no options or one twice"),
        ("add.u32  out d:u33", {}, "add.u32  d: operand d has unknown type u33"),
        ("add.u32  out d*vec:u32", {}, "add.u32  d: operand d has unknown length vec"),
        ("ld.u32  [a:space]", {}, "ld.u32  [a]: operand a has unknown space {'space'}"),
        ("ld.u32  [a:mem::cta]", {}, "ld.u32  [a]: operand a has unknown space {'mem::cta'}"),
        ("ld.u32  [a:shared%x]", {}, "cannot read the operand '[a:shared%x]'"),
        ("x  [m:generic, {c}*dim:s32]", {}, "x  [m, c]: operand m has unknown length dim"),
        ("x.u32  {d:u32", {}, "cannot read the operand '{d:u32'"),
        ("ld.u32  a:u32@hint", {}, "ld.u32  a: operand a is tied to unknown slot hint"),
        (
            "add.u32  a:u32?, b:u32",
            {},
            "add.u32  {a}, b: an optional operand stands before a required one",
        ),
        ("add.u32  a:u32", {"rules": "sat: u32"}, "add.u32  a: rule names no slot: sat"),
        (
            "add.T  a:T",
            {"T": "u32 s32", "rules": "T=f32: T=u32"},
            "add.T  a: rule names no option of T: {'f32'}",
        ),
        ("add.u32  a:u32", {"sm": "sm90"}, "bad target 'sm90' in 'sm90'"),
        ("add.T  a:T", {"T": "u32@hopper"}, "bad target 'hopper' in 'hopper'"),
        ("add.u32  a:u32", {"ptx": "new"}, "invalid literal for int() with base 10: 'new'"),
    ],
)
def test_bad_rows_raise(syntax, arguments, problem):
    with pytest.raises(ValueError) as error:
        row(syntax, **arguments)
    assert str(error.value) == problem


def test_rows_stand_under_their_opcode():
    with pytest.raises(ValueError) as error:
        instruction("add", "section", "Adds.", row("sub.u32  out d:u32, a:u32, b:u32"))
    assert str(error.value) == "add has rows of another opcode: ['sub.u32  d, a, b']"


# ---- the table ----------------------------------------------------------------------------------


def test_every_form_says_where_it_stands_in_the_manual():
    for form in forms():
        assert form.chapter, form.syntax
        assert form.section.endswith(tuple("abcdefghijklmnopqrstuvwxyz0123456789")), form.syntax
        assert form.summary.endswith("."), form.syntax
        assert len(form.summary) < 130, form.syntax


def test_every_form_exists_somewhere():
    for form in forms():
        targets, _ = availability(form, least(form))
        assert targets, form.syntax


def test_every_option_can_be_used():
    for form in forms():
        for slot in form.slots:
            for option in slot.options:
                modifiers = least(form, option.name, slot.name)
                chosen = form.assign(modifiers)
                assert chosen is not None
                assert chosen[slot.name] == option, f"{form.syntax} .{option.name}"


def test_versions_before_the_oldest_target_are_left_out():
    """They could not be measured; the oldest target needs a later version in any case."""
    oldest = min(t.version for t in targets_of(""))
    for form in forms():
        parts = [form.availability, *(o.availability for s in form.slots for o in s.options)]
        for part in parts:
            assert part.ptx == PtxVersion(1, 0) or part.ptx > oldest, form.syntax
            assert part.sm != str(Target.parse("sm_75")), form.syntax


@pytest.mark.sampled(8)
@pytest.mark.parametrize("opcode", opcodes())
def test_every_spelling_is_unambiguous_and_binds_to_its_form(opcode):
    """For each form, spelling and operand list: the automaton reaches the form, binding chooses it
    and keeps the operands as they are."""
    generator = random.Random(SEED)
    for form in (f for f in forms() if f.opcode == opcode):
        for number, modifiers in enumerate(sample(form, 30, generator)):
            state = walk(opcodes(), opcode, modifiers)
            assert form in [f for f, _ in state.forms]
            lists = render(form, modifiers)
            for operands in lists if number < 3 else [generator.choice(lists)]:
                bound = bind(state, operands)
                written = f"{state.spelling} {operands}"
                assert bound.form is form, f"{written} is taken for {bound.form.syntax}"
                assert bound.operands == operands, written


def test_an_ambiguous_table_is_noticed():
    """The control of the test above: two rows for one instruction."""
    first = row("add.T  out d:T, a:T, b:T", T="u32 s32")
    second = row("add.u32  out d:u32, a:u32, b:u32")
    state = build((first, second))["add"].next["u32"]
    taken = {bind(state, render(f, ("u32",))[0]).form for f in (first, second)}
    assert len(taken) == 1


# ---- samples ------------------------------------------------------------------------------------


def test_samples_are_whole_where_they_can_be():
    form = row("x{.a}.T", T="u32 s32 u64")
    assert combinations(form) == 6
    assert len(sample(form, 6, random.Random(0))) == 6


def test_samples_use_every_option():
    for form in forms():
        used = set()
        for modifiers in sample(form, 10, random.Random(SEED)):
            chosen = form.assign(modifiers)
            assert chosen is not None
            assert form.allows(chosen), modifiers
            used |= {(slot, option.name) for slot, option in chosen.items()}
        assert used == {(s.name, o.name) for s in form.slots for o in s.options}, form.syntax


def test_samples_are_the_same_every_time():
    ld = next(f for f in forms() if f.opcode == "ld")
    first, second = (sample(ld, 200, random.Random(SEED)) for _ in range(2))
    assert first == second


def test_no_spelling_of_an_impossible_option():
    form = row("x{.a}{.b}", rules="a: !a")
    with pytest.raises(ValueError) as error:
        least(form, "a", "a")
    assert str(error.value) == "x{.a}{.b}: no spelling has .a"


def test_modifiers_of_another_form_have_no_operands():
    form = row("add.u32  out d:u32, a:u32, b:u32")
    with pytest.raises(ValueError) as error:
        render(form, ("f32",))
    assert str(error.value) == "add.u32  d, a, b has no spelling f32"


def test_every_type_is_used():
    used = {o.name for f in forms() for s in f.slots for o in s.options} & DTYPES.keys()
    used |= {o.type.removeprefix("wide(").removesuffix(")") for f in forms() for o in f.operands}
    assert DTYPES.keys() - used == set()
