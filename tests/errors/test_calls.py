"""Unknown names, keywords and functions of others: only pyptx's errors leave a kernel."""

import inspect
import itertools
import math
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import CallError, LanguageError, LanguageWarning, SpecError, Tile, kernel, ptx, reg, smem
from pyptx.errors import UnknownNameError
from pyptx.types import f32, u32

from .cases import Collection

traced = Collection()
called = Collection()

X = np.zeros(4, np.float32)
SAME = {"in_specs": (Tile("N", f32),), "out_specs": (Tile("N", f32),)}


# ---- names ---------------------------------------------------------------------------------------


@traced(
    UnknownNameError,
    """
    here: reg has no scaler
        reg.scaler(f32)
      nearest: scalar
      names: array from_ mma_frag scalar undefined wgmma_frag
    """,
)
def a_misspelled_function():
    reg.scaler(f32)


@traced(
    UnknownNameError,
    """
    here: ptx.warp has no reduce_summ
        ptx.warp.reduce_summ(reg.scalar(f32, init=1))
      nearest: reduce_sum reduce_min reduce_max
      names: broadcast exclusive_scan inclusive_scan reduce reduce_max reduce_min reduce_sum
    """,
)
def a_misspelled_function_of_a_warp():
    ptx.warp.reduce_summ(reg.scalar(f32, init=1))


@traced(
    LanguageError,
    """
    here: ptx.bar (_Barrier) has no wait
        ptx.bar.wait()
      names: arrive sync
    """,
)
def a_method_that_an_object_lacks():
    ptx.bar.wait()


def test_a_name_that_a_module_lacks_can_be_asked_for():
    @kernel
    def body():
        assert not hasattr(smem, "nothing")
        try:
            _ = reg.nothing
        except AttributeError:
            reg.scalar(f32, init=1)

    assert "mov.f32" in body.ptx()


def test_errors_of_the_users_own_objects_stay_what_they_are():
    @kernel
    def body():
        _ = "text".nothing

    with pytest.raises(AttributeError, match="'str' object has no attribute 'nothing'"):
        body.ptx()


# ---- keywords ------------------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: reg.scalar() has no keyword value
        reg.scalar(f32, value=1)
      takes: reg.scalar(dtype, init=None, name=None)
    """,
)
def an_unknown_keyword():
    reg.scalar(f32, value=1)


@traced(
    LanguageError,
    """
    here: reg.scalar() missing 1 required positional argument: 'dtype'
        reg.scalar()
      takes: reg.scalar(dtype, init=None, name=None)
    """,
)
def too_few_arguments():
    reg.scalar()


@traced(
    LanguageError,
    """
    here: ptx.warp.reduce_sum() has no keyword lanes
        ptx.warp.reduce_sum(reg.scalar(f32, init=1), lanes=8)
      takes: ptx.warp.reduce_sum(value, *, width=32, redux=False)
    """,
)
def an_unknown_keyword_of_a_module_inside():
    ptx.warp.reduce_sum(reg.scalar(f32, init=1), lanes=8)


@traced(
    LanguageError,
    """
    here: an instruction has no keyword ftz
        ptx.inst.add.rn.f32(1.0, 2.0, ftz=True)
      takes: ptx.inst.add.rn.f32(*operands, pred=None)
      help: modifiers are attributes: ptx.inst.add.rn.ftz.f32
    """,
)
def a_keyword_of_an_instruction():
    ptx.inst.add.rn.f32(1.0, 2.0, ftz=True)


@called(
    SpecError,
    """
    here: Tile() has no keyword tma_boxes
        Tile("N", f32, tma_boxes=(64,))
      nearest: tma_box
      takes: Tile(*dims_and_dtype, sum_over=None, accumulate=None, partial=False, init=None, \
layout=None, tma_box=None, \
tma_element_strides=None, tma_l2_promotion=L2Promotion.NONE, \
tma_oob_fill=OobFill.ZEROS, tma_im2col=None)
    """,
)
def an_unknown_keyword_of_a_tile():
    Tile("N", f32, tma_boxes=(64,))


@called(
    SpecError,
    """
    here: cooperative='no' is not True or False
        kernel(cooperative="no")(lambda: None)
      help: cooperative=True
    """,
)
def a_word_for_a_flag():
    kernel(cooperative="no")(lambda: None)


# ---- functions of others -------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python's math cannot take it
        math.exp(reg.scalar(f32, init=1))
      help: ptx.math.exp(r), ptx.math.sqrt(r) and the like are made of instructions
    """,
)
def a_function_of_math():
    math.exp(reg.scalar(f32, init=1))


@traced(
    LanguageError,
    """
    here: a register is no array, so NumPy's functions do not take it
        np.exp(reg.scalar(f32, init=1))
      help: ptx.math.exp(r), ptx.math.sqrt(r) and the like are made of instructions
    """,
)
def a_function_of_numpy():
    np.exp(reg.scalar(f32, init=1))


@traced(
    LanguageError,
    """
    here: a register is no array, so JAX's functions do not take it
        jnp.exp(reg.scalar(f32, init=1))
      help: ptx.math.exp(r), ptx.math.sqrt(r) and the like are made of instructions
    """,
)
def a_function_of_jax():
    jnp.exp(reg.scalar(f32, init=1))


# ---- special registers without () ----------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: ptx.special.tid.x is used without (), so it is no operand yet
        ptx.special.tid.x + 1
      help: ptx.special.tid.x()
    """,
)
def a_special_register_in_a_sum():
    ptx.special.tid.x + 1


@traced(
    LanguageError,
    """
    here: ptx.special.tid.x is used without (), so it is no operand yet
        reg.scalar(u32, init=ptx.special.tid.x)
      help: ptx.special.tid.x()
    """,
)
def a_special_register_as_an_operand():
    reg.scalar(u32, init=ptx.special.tid.x)


@traced(
    LanguageError,
    """
    here: ptx.special.tid is used without (), so it is no operand yet
        if ptx.special.tid == 0:
      help: ptx.special.tid.x()
    """,
)
def a_special_register_compared_by_python():
    if ptx.special.tid == 0:
        ptx.ret()


# ---- kernels in kernels --------------------------------------------------------------------------


@kernel(**SAME)
def inner(X, Y):
    pass


@called(
    LanguageError,
    """
    here: inner is a kernel, and a kernel cannot be called in the body of a kernel
        inner(X)
      help: a plain Python function that both call is inlined into each
      help: @ptx.func makes a device function, which ptx.call(f, ...) calls
      help: @pyptx.sequence applies kernels one after the other
    """,
)
def a_kernel_in_a_kernel():
    @kernel(**SAME)
    def outer(X, Y):
        inner(X)

    outer.ptx(N=4)


@called(
    LanguageError,
    """
    here: itself is a kernel, and a kernel cannot be called in the body of a kernel
        itself(np.zeros(4, np.float32))
      help: a plain Python function that both call is inlined into each
      help: @ptx.func makes a device function, which ptx.call(f, ...) calls
      help: @pyptx.sequence applies kernels one after the other
    """,
)
def a_kernel_that_calls_itself():
    @kernel(**SAME)
    def itself(X, Y):
        itself(np.zeros(4, np.float32))

    itself(np.zeros(4, np.float32))


@called(
    LanguageError,
    """
    here: itself is a kernel, and a kernel cannot be called in the body of a kernel
        itself.ptx(N=4)
      help: a plain Python function that both call is inlined into each
      help: @ptx.func makes a device function, which ptx.call(f, ...) calls
      help: @pyptx.sequence applies kernels one after the other
    """,
)
def a_kernel_that_looks_at_itself():
    @kernel(**SAME)
    def itself(X, Y):
        itself.ptx(N=4)

    itself.ptx(N=4)


@called(
    CallError,
    """
    here: the compile-time keyword n of times is a value of JAX; it is part of the kernel and must \
be known when it is built
        jax.checkpoint(times)(X, n=2)
      help: a Python or NumPy number: times(..., n=2)
      help: under a transformation: lambda x: times(x, n=2)
    """,
)
def a_compile_time_keyword_that_jax_has_traced():
    @kernel(**SAME)
    def times(X, Y, *, n):
        Y[0] = X[0] * n

    jax.checkpoint(times)(X, n=2)


# ---- unrolled loops ------------------------------------------------------------------------------


def _adding(count):
    @kernel
    def body():
        x = reg.scalar(f32, init=0)
        for _ in range(count):
            x += 1.0

    return body


def test_a_loop_that_python_unrolls_far_is_warned_of():
    with pytest.warns(LanguageWarning) as caught:
        _adding(20_001).ptx()
    first = inspect.getsourcelines(_adding)[1]
    (warning,) = caught
    assert (warning.filename, warning.lineno) == (__file__, first + 4)
    assert re.sub(r"\S+py:\d+", "here", str(warning.message)) == (
        "Python unrolls this: more than 20000 instructions come from one line\n"
        "  from: here: x += 1.0\n"
        "  help: for i in ptx.range_(n): ...   is a loop of the kernel"
    )


def test_the_warning_comes_while_the_loop_is_unrolled():
    rounds = itertools.count()  # a list would be looked through for what holds x, round by round

    @kernel
    def body():
        x, y = reg.scalar(f32, init=0), reg.scalar(f32, init=0)
        for _ in range(60_000):
            next(rounds)
            x += 1.0
            y *= 2.0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LanguageWarning, match="Python unrolls this: more than 20000"):
            body.ptx()
    assert 20_000 <= next(rounds) < 20_300


def test_a_loop_that_python_unrolls_less_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _adding(20_000).ptx()


@traced.parametrize()
def test_the_whole_message_while_tracing(wrong):
    wrong.check(lambda: kernel(wrong.program).ptx())


@called.parametrize()
def test_the_whole_message_of_a_call(wrong):
    wrong.check(wrong.program)
