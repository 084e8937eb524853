"""What a kernel shares with the module around it: parameters, memory, variables and functions."""

import numpy as np
import pytest

from pyptx import LanguageError, Tile, kernel, ptx, reg, smem
from pyptx._assemble import assemble
from pyptx._text import normal_form, parse, write
from pyptx.types import b8, b32, b64, f32, u8, u32, u64

TABLE = ptx.const(f32, name="table", init=[0.5, 1.5])
COUNT = ptx.global_(u32, name="count", init=[5])
POINTERS = ptx.global_(
    u64, 3, name="pointers", init=[COUNT, ptx.address_of(COUNT, 4, generic=True)]
)
DYNAMIC = smem.extern(b8, align=16, name="dynamic")


@ptx.func
def twice() -> None:
    result = ptx.returned(b32, "result")
    x = ptx.param(b32, "x")
    value = ptx.inst.ld.param.f32(x)
    ptx.inst.st.param.f32(result, value + value)


@ptx.func(linkage="visible", noreturn=True)
def stop() -> None:
    ptx.inst.trap()


@ptx.func
def increased() -> None:
    result = ptx.returned_register(u32)
    value = ptx.param_register(u32)
    ptx.inst.add.u32(result, value, 1)


@ptx.func(external=True)
def vprintf() -> None:
    ptx.returned(b32, "status")
    ptx.param(b64, "text")
    ptx.param(b64, "arguments")


def traced(body, **options):
    """The module of a kernel, which is what its text says, and assembles."""
    module = kernel(**options)(body).module()
    assert parse(write(module).ptx) == normal_form(module)
    assemble(write(module).ptx, module.target)
    return module


def test_parameters_of_a_kernel_that_is_launched_by_hand():
    def body():
        out = ptx.param(u64, "out", pointer="global", pointer_align=16)
        block = ptx.param(b8, "block", 24, align=8)
        where = ptx.inst.ld.param.u64(out)
        value = ptx.inst.ld.param.u32(ptx.addr(block, 4))
        ptx.inst.st.global_.u32(ptx.addr(where), value)

    module = traced(body)
    text = write(module).ptx
    assert ".param .u64 .ptr .global .align 16 out,\n" in text
    assert ".param .align 8 .b8 block[24]\n" in text
    assert "ld.param.u32 %u0, [block+4];" in text


def test_variables_of_the_module_are_those_that_something_names():
    def body():
        out = ptx.inst.ld.param.u64(ptx.param(u64, "out"))
        ptx.inst.st.global_.u64(ptx.addr(out), ptx.inst.ld.global_.u64(ptx.addr(POINTERS, 8)))
        ptx.inst.st.global_.f32(ptx.addr(out, 8), ptx.inst.ld.const.f32(ptx.addr(TABLE, 4)))
        ptx.inst.st.global_.u32(ptx.addr(out, 12), ptx.inst.mov.u32(DYNAMIC))
        ptx.inst.st.global_.u64(ptx.addr(out, 16), ptx.inst.mov.u64(ptx.address_of(COUNT, 2)))

    module = traced(body)
    assert [v.name for v in module.variables] == ["count", "pointers", "table", "dynamic"]
    text = write(module).ptx
    assert ".global .align 4 .u32 count = 5;" in text
    assert ".global .align 8 .u64 pointers[3] = {count, generic(count)+4, 0};" in text
    assert ".const .align 4 .f32 table[2] = {0f3F000000, 0f3FC00000};" in text
    assert ".extern .shared .align 16 .b8 dynamic[];" in text
    assert "mov.u64 %ud2, count+2;" in text


def test_the_address_of_a_function_is_what_mov_takes_of_it():
    def body():
        assert ptx.inst.mov.u64(ptx.address_of(twice)).dtype is u64
        ptx.inst.mov.u64(twice)

    lines = [line.split(", ")[1] for line in write(traced(body)).ptx.splitlines() if "mov." in line]
    assert lines == ["twice;", "twice;"]


def test_functions_are_traced_once_and_called():
    def body():
        out = ptx.inst.ld.param.u64(ptx.param(u64, "out"))
        x, y = ptx.argument(b32, name="x"), ptx.argument(b32)
        for _ in range(2):
            ptx.inst.st.param.f32(x, reg.scalar(f32, init=1.0))
            ptx.call(twice, [x], [y], uni=True)
            ptx.inst.st.global_.f32(ptx.addr(out), ptx.inst.ld.param.f32(y))
        number = reg.scalar(u32, init=3)
        ptx.call(increased, [number], [number])
        address = ptx.inst.mov.u64(twice)
        given = ptx.prototype([ptx.formal(b32)], [ptx.formal(b32)])
        ptx.call(address, [x], [y], through=given)
        ptx.call(address, [x], [y], through=[twice])
        ptx.call(stop, pred=number == 0)

    module = traced(body)
    assert [f.name for f in module.functions] == ["twice", "increased", "stop"]
    text = write(module).ptx
    assert "call.uni (param_1), twice, (x);" in text
    assert "call (%u0), increased, (%u0);" in text
    assert "$P0: .callprototype (.param .b32 _) _ (.param .b32 _);" in text
    assert "$C0: .calltargets twice;" in text
    assert "stop()\n.noreturn" in text


def test_a_function_of_another_module_is_only_declared():
    def body():
        text = ptx.global_(u8, name="text", init=b"%d\n\0")
        values = ptx.local(u32, 2, align=8, name="values")
        ptx.inst.st.local.u32(values, reg.scalar(u32, init=7))
        given, status = ptx.argument(b64), ptx.argument(b32)
        arguments = ptx.argument(b64)
        ptx.inst.st.param.b64(given, ptx.inst.cvta.global_.u64(text))
        ptx.inst.st.param.b64(arguments, ptx.inst.cvta.local.u64(values))
        ptx.call(vprintf, [given, arguments], [status])

    module = traced(body)
    assert [(f.name, f.body) for f in module.functions] == [("vprintf", None)]
    assert ".extern .func (.param .b32 status) vprintf(" in write(module).ptx


def test_a_function_calls_itself_and_what_it_needs_is_there():
    @ptx.func
    def down() -> None:
        n = ptx.param(u32, "n")
        value = ptx.inst.ld.param.u32(n)
        ptx.inst.red.global_.add.u32(ptx.addr(COUNT), value)
        with ptx.if_(value > 0):
            less = ptx.argument(u32)
            ptx.inst.st.param.u32(less, value - 1)
            ptx.call(down, [less])

    def body():
        n = ptx.argument(u32)
        ptx.inst.st.param.u32(n, 3)
        ptx.call(down, [n])

    module = kernel(body).module()
    assert [f.name for f in module.functions] == ["down"]
    assert [v.name for v in module.variables] == ["count"]
    assert parse(write(module).ptx) == normal_form(module)


def test_pragmas_and_options():
    def body():
        ptx.target_options("texmode_unified")
        ptx.pragma("nounroll", whole=True)
        i = reg.scalar(u32, init=9)
        with ptx.loop(pred=lambda: i > 3):
            ptx.pragma("nounroll")
            i -= 1

    text = write(traced(body)).ptx
    assert ".target sm_90a, texmode_unified\n" in text
    assert text.count('.pragma "nounroll";') == 2
    assert '    .pragma "nounroll";\n    sub.u32' in text


def test_a_kernel_with_a_table_and_local_memory_runs_in_the_emulator():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=4)
    def scaled(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        i = reg.from_(ptx.special.tid.x(), u32)
        stack = ptx.local(f32, 2, name="stack")
        ptx.inst.st.local.f32(ptx.addr(stack, 4), ptx.inst.ld.const.f32(ptx.addr(TABLE, 4)))
        value = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
        ptx.inst.st.global_.f32(
            ptx.addr(y + i * 4), value * ptx.inst.ld.local.f32(ptx.addr(stack, 4))
        )

    x = np.arange(4, dtype=np.float32)
    assert np.array_equal(scaled(x), x * 1.5)


# ---- wrong programs ------------------------------------------------------------------------------


def two_of_one_name():
    ptx.inst.mov.u64(COUNT)
    ptx.inst.mov.u64(ptx.global_(u32, name="count"))


def count():
    ptx.inst.mov.u64(COUNT)


def a_name_that_ptx_lacks():
    ptx.param(u32, "a b")


def a_parameter_twice():
    ptx.param(u32, "n")
    ptx.param(u32, "n")


def a_result_of_a_kernel():
    ptx.returned(b32, "r")


def too_many_values():
    ptx.const(u32, 2, name="c", init=[1, 2, 3])


def a_value_that_does_not_fit():
    ptx.const(u8, name="c", init=[256])


def an_address_of_a_register():
    ptx.inst.mov.u64(ptx.address_of(reg.scalar(u64, init=0)))


def a_byte_of_a_function():
    ptx.inst.mov.u64(ptx.address_of(twice, 4))


def a_call_of_no_function():
    ptx.call(print)


def an_argument_that_is_none():
    ptx.call(twice, ["x"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            two_of_one_name,
            (
                "two things of the module are called count\n"
                '    ptx.inst.mov.u64(ptx.global_(u32, name="count"))\n'
                "  help: declare it once, outside of the kernels, and name that"
            ),
        ),
        (
            count,
            (
                "two things of the module are called count\n"
                "    ptx.inst.mov.u64(COUNT)\n"
                "  help: one of them is the kernel: give it or the other another name"
            ),
        ),
        (
            a_name_that_ptx_lacks,
            (
                "'a b' cannot be a name in PTX\n"
                '    ptx.param(u32, "a b")\n'
                "  legal: letters, digits, _ and $, with no digit first"
            ),
        ),
        (a_parameter_twice, 'two parameters are called n\n    ptx.param(u32, "n")'),
        (
            a_result_of_a_kernel,
            (
                "ptx.returned is for functions, and a kernel returns nothing\n"
                '    ptx.returned(b32, "r")\n'
                "  help: @ptx.func above the function that returns it"
            ),
        ),
        (
            too_many_values,
            'init of c has 3 values, and 2 fit\n    ptx.const(u32, 2, name="c", init=[1, 2, 3])',
        ),
        (
            a_value_that_does_not_fit,
            'init: 256 is out of range for .u8 (0 to 255)\n    ptx.const(u8, name="c", init=[256])',
        ),
        (
            an_address_of_a_register,
            (
                "ptx.address_of takes shared memory, a variable, a parameter or a function, "
                "not a .u64 register\n"
                "    ptx.inst.mov.u64(ptx.address_of(reg.scalar(u64, init=0)))"
            ),
        ),
        (
            a_byte_of_a_function,
            (
                "the address of a function takes no offset, not 4\n"
                "    ptx.inst.mov.u64(ptx.address_of(twice, 4))"
            ),
        ),
        (
            a_call_of_no_function,
            (
                "ptx.call takes a function of @ptx.func or an address in a register, not "
                "<built-in function print>\n    ptx.call(print)"
            ),
        ),
        (
            an_argument_that_is_none,
            (
                "'x' cannot be passed to a function\n"
                '    ptx.call(twice, ["x"])\n'
                "  legal: ptx.argument(...), a register, an int"
            ),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_whole_message(body, message):
    with pytest.raises(LanguageError) as caught:
        kernel(body).module()
    location, _, said = str(caught.value).partition(": ")
    assert location.startswith(body.__code__.co_filename)
    assert said == message
