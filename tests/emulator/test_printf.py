"""`vprintf`: what it prints, in which order, and what is wrong with a format or its arguments."""

import struct

import numpy as np
import pytest

from pyptx import _emulator as emulator
from pyptx import _text as text
from pyptx._emulator import Tensor
from pyptx.errors import EmulationError

from .harness import kinds

DECLARED = ".extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 values);\n"
FILE = """.version 8.7
.target sm_90a
.address_size 64
{declared}
.global .align 1 .b8 format[] = {{{format}}};
.global .align 1 .b8 word[] = {{104, 101, 105, 223, 0}};
.visible .entry kernel (.param .u64 out)
{{
    .local .align 8 .b8 values[{size}];
    .reg .b64 p, f, v;
    .reg .b32 t, r;
    .reg .pred q;
    .param .b64 format_;
    .param .b64 values_;
    .param .b32 status;
    mov.u32 t, %tid.x;
    mov.u64 v, values;
    cvta.local.u64 v, v;
{stores}
    mov.u64 f, format;
    cvta.global.u64 f, f;
    {address}
    st.param.b64 [format_], f;
    st.param.b64 [values_], v;
    {call} (status), vprintf, (format_, values_);
    ld.param.b32 r, [status];
    ld.param.u64 p, [out];
    {result}
    ret;
}}
"""
WORD = "mov.u64 p, word;\ncvta.global.u64 p, p;\nst.local.b64 [values], p;\n"


def run(format_, data=b"", *, size=0, grid=1, block=1, **changed):
    """The report of a kernel that prints the bytes of `data`, and what vprintf returned."""
    parts = {"declared": DECLARED, "stores": "", "address": "", "call": "call.uni"}
    parts["result"] = "st.global.b32 [p], r;" if grid == 1 else ""  # CTAs would race
    options = {"sanitize": True} | {k: v for k, v in changed.items() if k not in parts}
    parts |= {k: v for k, v in changed.items() if k in parts}
    raw = format_.encode() + b"\0"
    bytes_ = "".join(f"st.local.b8 [values+{i}], {b};\n" for i, b in enumerate(data))
    content = FILE.format(
        format=", ".join(map(str, raw)),
        size=max(len(data), size, 8),
        **{**parts, "stores": bytes_ + parts["stores"]},
    )
    module = text.parse(content, "printf.ptx")
    kernel = module.kernels[0]
    image = emulator.encode(kernel, module.target, module)
    out = np.full(1, 77, np.int32)
    report = emulator.run(
        image,
        [Tensor(out, "out", writable=True)],
        grid=(grid, 1, 1),
        block=(block, 1, 1),
        **options,
    )
    return report, out[0]


@pytest.mark.parametrize(
    ("format_", "layout", "values", "printed"),
    [
        ("no values, 100%%\n", "", (), "no values, 100%\n"),
        ("%d %i %u", "iiI", (-5, 7, 2**32 - 1), "-5 7 4294967295"),
        ("%x|%X|%o|%#x|%#o", "IIIII", (255, 255, 8, 255, 8), "ff|FF|10|0xff|010"),
        ("%ld %lld", "qq", (-(2**40), 2**62), "-1099511627776 4611686018427387904"),
        ("%lu %llx", "QQ", (2**64 - 1, 2**60), "18446744073709551615 1000000000000000"),
        ("%hd %hu %hx", "iii", (-65535, 65537, 0x12345), "1 1 2345"),
        ("%d %lld %d", "iqi", (1, 2, 3), "1 2 3"),
        ("[%5d] [%-5d] [%05d]", "iii", (42,) * 3, "[   42] [42   ] [00042]"),
        ("[%+d] [% d]", "ii", (42, 42), "[+42] [ 42]"),
        ("[%*d] [%*d]", "iiii", (5, 42, -5, 42), "[   42] [42   ]"),
        ("[%.3d] [%8.3d] [%.0d]", "iii", (5, 5, 0), "[005] [     005] []"),
        ("%f %.2f %9.3f", "ddd", (1.5, 2.345, -1.0), "1.500000 2.35 " + "   -1.000"),
        ("%e %E %.1e", "ddd", (12345.678, 0.0, 1e-300), "1.234568e+04 0.000000E+00 1.0e-300"),
        ("%g %G %g", "ddd", (0.0001, 1e20, 100000.0), "0.0001 1E+20 100000"),
        ("%a %A", "dd", (1.0, 0.5), "0x1p+0 0X1P-1"),
        ("%f %F %f", "ddd", (float("inf"), -float("inf"), float("nan")), "inf -INF nan"),
        ("%c%c%5c|", "iii", (72, 105, 33), "Hi    !|"),
        ("%d then %f then %c", "idi", (1, 2.0, 65), "1 then 2.000000 then A"),
        ("%p %p", "QQ", (0x1234, 0xFFFF000012345678), "0x1234 0xffff000012345678"),
    ],
)  # fmt: skip
def test_conversions(format_, layout, values, printed, capsys):
    data = struct.pack("@" + layout, *values)
    report, status = run(format_, data)
    assert report.message == ""
    assert report.printed == printed
    assert capsys.readouterr().out == printed
    assert status == len(values)


def test_texts_of_the_kernel():
    assert run("<%s>", stores=WORD)[0].printed == "<hei\N{REPLACEMENT CHARACTER}>"
    assert run("<%-6.2s>", stores=WORD)[0].printed == "<he    >"
    assert run("%s", bytes(8))[0].printed == "(null)"


def test_a_format_that_is_not_there():
    report, status = run("%d", stores="mov.u64 v, 0;", address="mov.u64 f, 0;")
    assert (report.message, report.printed, status) == ("", "", -1)


def test_the_order_is_that_of_ctas_whatever_runs_them():
    stores = "mov.u32 r, %ctaid.x;\nst.local.b32 [values], r;\nst.local.b32 [values+4], t;\n"
    wanted = "".join(f"{cta}.{thread} " for cta in range(9) for thread in range(70))
    for threads in (1, 2, 5):
        report, _ = run("%d.%d ", stores=stores, grid=9, block=70, threads=threads, sanitize=False)
        assert report.printed == wanted


def test_a_guard_chooses_who_prints():
    stores = "st.local.b32 [values], t;\nsetp.eq.u32 q, t, 33;\n"
    report, _ = run("%d;", stores=stores, call="@q call", block=40, sanitize=False)
    assert report.printed == "33;"


# ---- what is wrong -------------------------------------------------------------------------------


def note(report):
    (finding,) = report.findings
    assert (finding.kind, report.status) == ("bad-call", "stopped")
    return finding.note


@pytest.mark.parametrize("wrong", ["%y", "%-", "%hhd", "%l", "%lhd", "%.*", "%n", "%"])
def test_a_conversion_that_printf_does_not_have(wrong):
    report, _ = run(f"before {wrong}", bytes(16))
    assert note(report) == (
        f"printf has no conversion {wrong}: flags -+ #0, a width or *, .precision, h l or ll, and "
        "one of c d i o u x X p e E f F g G a A s"
    )
    assert report.printed == "before "
    assert run("before %d", bytes(16))[0].message == ""


def test_a_width_that_is_too_large():
    assert note(run("%4097d", bytes(8))[0]) == "a width or a precision of printf is more than 4096"
    data = struct.pack("ii", -4097, 1)
    assert note(run("%*d", data)[0]) == "a width or a precision of printf is more than 4096"
    assert run("%4096d", bytes(8))[0].message == ""


def test_values_that_nothing_has_set():
    assert kinds(run("%d", size=8)[0]) == ["uninitialised-memory"]
    assert kinds(run("%lld", bytes(4), size=8)[0]) == ["uninitialised-memory"]
    assert kinds(run("%d", bytes(4), size=8)[0]) == []


def test_more_conversions_than_values():
    report, _ = run("%lld " * 9, bytes(8), sanitize=False)
    assert kinds(report) == ["out-of-bounds"]


def test_a_text_at_no_address():
    report, _ = run("%s", struct.pack("Q", 64))
    assert kinds(report) == ["out-of-bounds"]


def test_a_vprintf_that_takes_something_else():
    declared = DECLARED.replace(".param .b64 values", ".param .b32 values")
    with pytest.raises(EmulationError) as caught:
        run("", declared=declared)
    assert str(caught.value) == (
        "kernel calls vprintf, and the file has no body of it; of the functions of the system, the "
        "emulator has vprintf, __assertfail, malloc, free"
    )
