"""`ptx.printf`: what it appends and prints, and what does not fit its format."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.errors import LanguageError
from pyptx.types import bf16, f16, f32, f64, pred, s8, s16, s32, s64, u8, u32, u64


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=2, block=2)
def printing(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    i = reg.from_(ptx.special.tid.x(), u32)
    odd = i == 1
    i += reg.from_(ptx.special.ctaid.x(), u32) << 1
    value = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
    with ptx.if_(odd):
        ptx.printf("CTA %d: x[%u] is %.1f\n", ptx.special.ctaid.x(), i, value)
    ptx.inst.st.global_.f32(ptx.addr(y + i * 4), value)


VALUES = np.array([1.5, 2.5, 3.5, 4.5], np.float32)
PRINTED = "CTA 0: x[1] is 2.5\nCTA 1: x[3] is 4.5\n"


def test_numpy_arrays(capsys):
    printing(VALUES)
    assert capsys.readouterr().out == PRINTED
    report = printing.emulate(VALUES, sanitize=True).report
    assert (report.message, report.printed) == ("", PRINTED)


def test_jax_programs_on_the_cpu(capfd):
    jax.block_until_ready(jax.jit(printing)(jnp.asarray(VALUES)))
    assert capfd.readouterr().out == PRINTED


def test_the_assembler_takes_it():
    assert printing.cubin(N=4, arch="sm_90a").kernel == "printing"


def said(body):
    """What a kernel of one thread prints."""

    @kernel(out_specs=(Tile(1, u32),), grid=1, block=1)
    def one(out):
        body()
        (where,) = ptx.global_ptrs(out)
        ptx.inst.st.global_.u32(ptx.addr(where), 1)

    one.cubin(arch="sm_90a")
    report = one.emulate(sanitize=True).report
    assert report.message == ""
    return report.printed


def test_every_type_of_a_value():
    def body():
        narrow = reg.scalar(s8), reg.scalar(u8)
        ptx.inst.cvt.s8.s32(narrow[0], reg.scalar(s32, init=-3))
        ptx.inst.cvt.u8.u32(narrow[1], reg.scalar(u32, init=200))
        ptx.printf("%d %u %d|", *narrow, reg.scalar(s16, init=-4))
        ptx.printf("%lld %llu|", reg.scalar(s64, init=-(2**40)), reg.scalar(u64, init=2**63))
        ptx.printf("%g %g %g %g|", *(reg.scalar(t, init=0.5) for t in (f16, bf16, f32, f64)))
        low, high = reg.scalar(u32, init=1) < 2, reg.scalar(pred)
        ptx.inst.setp.eq.u32(high, reg.scalar(u32, init=1), 2)
        ptx.printf("%d%d%d|", low, high, ~high)
        ptx.printf("%d %x %lld %f %c%c %p|", -1, 255, 2**40, 0.25, 72, 105, 16)
        ptx.printf("%*d %5.1f%%|%s", 4, 7, 1.25, 0)

    assert said(body) == (
        "-3 200 -4|-1099511627776 9223372036854775808|0.5 0.5 0.5 0.5|101|"
        "-1 ff 1099511627776 0.250000 Hi 0x10|   7   1.2%|(null)"
    )


def test_a_text_is_a_variable_of_the_module_once():
    word = ptx.global_(u8, name="printf_0", init=b"word\0")

    def body():
        address = reg.from_(word, u64)
        ptx.inst.cvta.global_.u64(address, address)
        for _ in range(2):
            ptx.printf("<%s>", address)
        ptx.printf("\N{GREEK SMALL LETTER PI}")

    assert said(body) == "<word><word>\N{GREEK SMALL LETTER PI}"

    @kernel
    def twice():
        for _ in range(2):
            ptx.printf("twice")
        ptx.printf("once")

    assert twice.ptx().count(".global .align 1 .b8 printf_") == 2
    assert twice.ptx().count(".extern .func") == 1


def test_the_number_of_instructions():
    @kernel
    def counted():
        ptx.printf("none")
        ptx.printf("%d %f", 1, reg.scalar(f32, init=1.0))

    lines = [line.split()[0] for line in counted.ptx().splitlines() if line.endswith(";")]
    body = lines[lines.index("mov.u64") :]
    assert body == [
        "mov.u64", "cvta.global.u64", "st.param.b64", "st.param.b64", "call",
        "mov.f32", "cvt.f64.f32", "mov.u64", "cvta.global.u64", "st.local.b32", "st.local.b64",
        "mov.u64", "cvta.local.u64", "st.param.b64", "st.param.b64", "call", "ret;",
    ]  # fmt: skip


# ---- what does not fit ---------------------------------------------------------------------------

HELP = "  help: %d is for 32 bits, %lld for 64, %f for floats, %p for addresses"


def refused(text, *values):
    """The message, without its place and line."""

    @kernel
    def wrong():
        ptx.printf(text, *(v() if callable(v) else v for v in values))

    with pytest.raises(LanguageError) as caught:
        wrong.ptx()
    place, _, message = str(caught.value).partition(": ")
    assert place.startswith(__file__)
    head, _, *notes = message.splitlines()
    return [head, *notes]


def test_formats_that_printf_does_not_have():
    legal = "  legal: %% and %[-+ #0][width or *][.precision][h l ll] with one of cdiouxXpeEfFgGaAs"
    for text, part in (
        ("a %y", "%y"),
        ("%n", "%n"),
        ("100%", "%"),
        ("%.*f", "%.*f"),
        ("%hhd", "%hhd"),
    ):
        assert refused(text, 1) == [f"printf has no conversion {part!r}", legal]
    assert refused("a\0b") == [r"the format 'a\x00b' has a zero, which is its end"]
    many = "%d" * 33
    assert refused(many, *range(33)) == [
        f"the format {many!r} takes 33 values, and printf at most 32"
    ]


def test_a_wrong_number_of_values():
    assert refused("%d %d", 1) == ["the format '%d %d' takes 2 values, not 1"]
    assert refused("%*d", 1) == ["the format '%*d' takes 2 values, not 1"]
    assert refused("100%%", 1) == ["the format '100%%' takes 0 values, not 1"]


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [
        ("%d", lambda: reg.scalar(f32, init=0.0), "an integer of 32 bits, not a .f32 register"),
        ("%d", lambda: reg.scalar(u64, init=0), "an integer of 32 bits, not a .u64 register"),
        ("%lld", lambda: reg.scalar(u32, init=0), "an integer of 64 bits, not a .u32 register"),
        ("%f", lambda: reg.scalar(u32, init=0), "a float, not a .u32 register"),
        ("%f", 1, "a float, not 1"),
        ("%d", 1.5, "an integer of 32 bits, not 1.5"),
        ("%d", 2**32, "an integer of 32 bits, not 4294967296"),
        ("%f", lambda: reg.scalar(pred), "a float, not a predicate"),
        ("%s", "text", "an address of 64 bits, not 'text'"),
        ("%p", lambda: reg.scalar(u32, init=0), "an address of 64 bits, not a .u32 register"),
    ],
)
def test_a_value_of_another_kind(text, value, problem):
    assert refused(text, value) == [f"{text} of printf takes {problem}", HELP]
