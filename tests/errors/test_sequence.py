"""Wrong parallel dimensions, sums, batches and sequences: what is legal and how to write it."""

import ml_dtypes
import numpy as np
import pytest

from pyptx import CallError, LanguageError, Scalar, SpecError, Tile, kernel, ptx, reg, sequence
from pyptx._source import UNKNOWN
from pyptx.types import bf16, f16, f32, s8, u32

from .cases import Collection

wrong = Collection()

X, W = np.zeros((4, 8), np.float32), np.zeros(8, np.float32)
ROWS = {"in_specs": (Tile("B", "N", f32),), "out_specs": (Tile("B", "N", f32),)}
IN_B = {"in_specs": (Tile("B", "N", f32), Tile("N", f32))}


def _empty(X, Y):
    pass


def _scale(X, W, Y):
    pass


@kernel(in_specs=ROWS["in_specs"], out_specs=(Tile("B", "N", f32, partial=True),), parallel=("B",))
def copy(X, Y):
    pass


@kernel(**ROWS)
def fixed(X, Y):
    pass


@kernel(in_specs=(Tile("N", f32), Scalar(f32)), out_specs=(Tile("N", f32),))
def times(X, factor, Y):
    pass


SUM = Tile("N", bf16, sum_over="B", accumulate=f32)
BF16_ROWS = {"in_specs": (Tile("B", "N", bf16),), "parallel": ("B",)}


@kernel(**BF16_ROWS, out_specs=(SUM,))
def summed(X, Y):
    pass


@kernel(**BF16_ROWS, out_specs=(Tile("N", bf16, sum_over="B"),))
def summed_in_bf16(X, Y):
    pass


@kernel(in_specs=(Tile("N", bf16),), out_specs=(Tile("N", bf16),))
def copy_bf16(X, Y):
    pass


def bf16_rows():
    return np.zeros((4, 8), ml_dtypes.bfloat16)


# ---- specs ---------------------------------------------------------------------------------------


@wrong(
    SpecError,
    """
    here: the dimension "*N" is not the first of its Tile; only the first has a star
        Tile("B", "*N", f32)
      help: Tile("*B", "N", f32)
    """,
)
def a_star_that_is_not_first():
    Tile("B", "*N", f32)


@wrong(
    SpecError,
    """
    here: the dimension name '*' is not a Python identifier
        Tile("*", f32)
    """,
)
def a_star_without_a_name():
    Tile("*", f32)


@wrong(
    SpecError,
    """
    here: sum_over=3 is not one dimension name or several
        Tile("N", f32, sum_over=3)
      help: Tile("N", f32, sum_over="B")
    """,
)
def a_sum_over_a_number():
    Tile("N", f32, sum_over=3)


@wrong(
    SpecError,
    """
    here: the Tile has the dimension "B" and is a sum over it; it can only be one
        Tile("*B", "N", f32, sum_over=("C", "B"))
      help: leave sum_over="B" out, or the dimension
    """,
)
def a_sum_over_its_own_dimension():
    Tile("*B", "N", f32, sum_over=("C", "B"))


@wrong(
    SpecError,
    """
    here: accumulate=f32 stands without sum_over=, and only a sum over parallel dimensions is added up across devices
        Tile("B", "N", bf16, accumulate=f32)
      help: Tile("N", bf16, sum_over="B", accumulate=f32)
    """,
)
def accumulating_what_is_no_sum():
    Tile("B", "N", bf16, accumulate=f32)


@wrong(
    SpecError,
    """
    here: accumulate=bf16 is no type that holds every f32
        Tile("N", f32, sum_over="B", accumulate=bf16)
      legal: f32 f64
    """,
)
def accumulating_in_a_narrower_type():
    Tile("N", f32, sum_over="B", accumulate=bf16)


@wrong(
    SpecError,
    """
    here: accumulate=f16 is no type that holds every bf16
        Tile("N", bf16, sum_over="B", accumulate=f16)
      legal: bf16 f32 f64
    """,
)
def accumulating_in_a_type_of_the_same_width():
    Tile("N", bf16, sum_over="B", accumulate=f16)


@wrong(
    SpecError,
    """
    here: accumulate='f32' is no type that holds every s8
        Tile("N", s8, sum_over="B", accumulate="f32")
      legal: s8 s16 s32 s64
    """,
)
def accumulating_in_no_type():
    Tile("N", s8, sum_over="B", accumulate="f32")


@wrong(
    SpecError,
    """
    here: parts does the same for Y of type bf16 and of type f32; with accumulate=f32 it is traced for both
        @kernel(**BF16_ROWS, out_specs=(SUM,))
      help: convert the sum to Y.dtype before it is stored
    """,
)
def a_body_that_does_not_look_at_the_type():
    @kernel(**BF16_ROWS, out_specs=(SUM,))
    def parts(X, Y):
        ptx.inst.st.global_.b16(ptx.addr(*ptx.global_ptrs(Y)), 0x3F80)

    call = parts._prepare((bf16_rows(),), {}, by_reference=True, location=UNKNOWN)
    hash(call)


@wrong(
    SpecError,
    """
    here: "*B" of Tile("*B", "N", f32) stands for any number of axes, so scale needs it parallel
        kernel(in_specs=(Tile("*B", "N", f32),), out_specs=(Tile("*B", "N", f32),))(scale)
      help: parallel=('B',)
    """,
)
def a_star_that_is_not_parallel():
    def scale(X, Y):
        pass

    kernel(in_specs=(Tile("*B", "N", f32),), out_specs=(Tile("*B", "N", f32),))(scale)


@wrong(
    SpecError,
    """
    here: the dimension "B" has a star in Tile("*B", "N", f32) and none in Tile("B", f32)
        kernel(in_specs=(Tile("*B", "N", f32), Tile("B", f32)), out_specs=(), parallel=("B",))(_empty)
      help: write "*B" in both, or "B"
    """,
)
def a_star_in_one_tile_and_none_in_another():
    kernel(in_specs=(Tile("*B", "N", f32), Tile("B", f32)), out_specs=(), parallel=("B",))(_empty)


@wrong(
    SpecError,
    """
    here: the output Tile("N", f32) of _scale lacks the parallel dimension "B": what is written there must be a sum over it
        kernel(**IN_B, out_specs=(Tile("N", f32),), parallel=("B",))(_scale)
      help: Tile("N", f32, sum_over="B")
    """,
)
def an_output_without_the_parallel_dimension():
    kernel(**IN_B, out_specs=(Tile("N", f32),), parallel=("B",))(_scale)


@wrong(
    SpecError,
    """
    here: the output Tile(3, f32, sum_over="N") of _scale lacks the parallel dimension "B": what is written there must be a sum over it
        kernel(**IN_B, out_specs=(Tile(3, f32, sum_over="N"),), parallel=("B", "N"))(_scale)
      help: Tile(3, f32, sum_over=("N", "B"))
    """,
)
def an_output_that_is_a_sum_over_one_of_two():
    kernel(**IN_B, out_specs=(Tile(3, f32, sum_over="N"),), parallel=("B", "N"))(_scale)


@wrong(
    SpecError,
    """
    here: Tile("N", f32, sum_over="B") is a sum over "B", which is no parallel dimension of _scale
        kernel(**IN_B, out_specs=(Tile("N", f32, sum_over="B"),))(_scale)
      parallel: none
    """,
)
def a_sum_over_a_dimension_that_is_not_parallel():
    kernel(**IN_B, out_specs=(Tile("N", f32, sum_over="B"),))(_scale)


@wrong(
    SpecError,
    """
    here: Tile("N", f32, sum_over="B") is among the inputs; only an output is a sum
        kernel(in_specs=(Tile("N", f32, sum_over="B"),), out_specs=(Tile("N", f32),))(_empty)
    """,
)
def an_input_that_is_a_sum():
    kernel(in_specs=(Tile("N", f32, sum_over="B"),), out_specs=(Tile("N", f32),))(_empty)


@wrong(
    SpecError,
    """
    here: input 0 is Tile("N", f32) and output 0 is Tile("N", f32, sum_over="B"): tensors that share a buffer need one spec
        kernel(in_specs=(Tile("N", f32), Tile("B", f32)), out_specs=(Tile("N", f32, sum_over="B"),),
    """,
)
def a_sum_in_the_memory_of_an_input():
    kernel(in_specs=(Tile("N", f32), Tile("B", f32)), out_specs=(Tile("N", f32, sum_over="B"),),
           parallel=("B",), input_output_aliases={0: 0})(_scale)  # fmt: skip


@wrong(
    CallError,
    """
    here: X has rank 1 and Tile("*B", 2, "N", f32) has at least rank 2
        k(W)
      spec: X: Tile("*B", 2, "N", f32)
      shape: X: (8,)
    """,
)
def too_few_axes_for_a_star():
    tile = Tile("*B", 2, "N", f32)
    k = kernel(in_specs=(tile,), out_specs=(tile,), parallel=("B",))(_empty)
    k(W)


@wrong(
    CallError,
    """
    here: the dimension "*B" is (2, 4) in X (leading axes) and (8,) in W (leading axes)
        k(np.zeros((2, 4, 8), np.float32), W)
      spec: W: Tile("*B", f32)
      shape: W: (8,)
    """,
)
def leading_axes_of_another_shape():
    specs = (Tile("*B", "N", f32), Tile("*B", f32))
    k = kernel(in_specs=specs, out_specs=specs[:1], parallel=("B",))(_scale)
    k(np.zeros((2, 4, 8), np.float32), W)


@wrong(
    SpecError,
    """
    here: early has programmatic_stream_serialization=True and never waits for the kernel before it, so it may read what is not yet written
        @kernel(programmatic_stream_serialization=True)
      help: ptx.inst.griddepcontrol.wait() before the first access to global memory
    """,
)
def a_kernel_that_starts_early_and_does_not_wait():
    @kernel(programmatic_stream_serialization=True)
    def early():
        pass

    early.ptx()


# ---- batches -------------------------------------------------------------------------------------


def batched(function, **options):
    """A kernel whose input is mapped by one level of jax.vmap."""
    k = kernel(**ROWS, **options)(function)
    call = k._prepare((X,), {}, by_reference=True, location=UNKNOWN)
    return call.batched((True,))


@wrong(
    LanguageError,
    """
    here: %ctaid.z counts the elements of jax.vmap here: this kernel is batched along the z axis of its grid
        reg.from_(ptx.special.ctaid.z(), u32)
      help: an axis that grid= leaves at 1 is free for jax.vmap; do not read it
      help: jax.lax.map runs a kernel once per element
    """,
)
def the_axis_of_a_batch():
    def body(X, Y):
        reg.from_(ptx.special.ctaid.z(), u32)

    batched(body)


@wrong(
    LanguageError,
    """
    here: %nctaid.y counts the elements of jax.vmap here: this kernel is batched along the y axis of its grid
        ptx.raw(".reg .u32 n; mov.u32 n, %nctaid.y;")
      help: an axis that grid= leaves at 1 is free for jax.vmap; do not read it
      help: jax.lax.map runs a kernel once per element
    """,
)
def the_axis_of_a_batch_as_text():
    def body(X, Y):
        reg.from_(ptx.special.ctaid.z(), u32)
        ptx.raw(".reg .u32 n; mov.u32 n, %nctaid.y;")

    batched(body, grid=(1, 1, 2))


@wrong(
    LanguageError,
    """
    here: the parameter X is the address of a whole batch under jax.vmap
        ptx.raw(".reg .u64 p; ld.param.u64 p, [X];")
      help: p, = ptx.global_ptrs(X) gives the element's address
    """,
)
def the_parameter_of_a_batched_tensor():
    def body(X, Y):
        ptx.raw(".reg .u64 p; ld.param.u64 p, [X];")

    batched(body)


@wrong(
    SpecError,
    """
    full has no free axis of the grid to batch: one with one CTA and a cluster of one in y or z
    """,
)
def no_free_axis():
    def full(X, Y):
        pass

    batched(full, grid=lambda B, N: (1, N, B))


@wrong(
    SpecError,
    """
    waiting is cooperative, and with more elements the device might not hold its whole grid at once: it runs for one element at a time
    """,
)
def a_cooperative_grid_of_a_batch():
    def waiting(X, Y):
        pass

    batched(waiting, cooperative=True)


# ---- sequences -----------------------------------------------------------------------------------


@wrong(
    SpecError,
    """
    here: two takes 2 arrays (x, y), and has 1 in_specs
        @sequence(**ROWS)
      help: a sequence takes its inputs, and returns its outputs
    """,
)
def a_sequence_with_its_outputs_as_parameters():
    @sequence(**ROWS)
    def two(x, y):
        pass


@wrong(
    SpecError,
    """
    here: 3 is no function, so it cannot be the body of a sequence
        sequence(**ROWS)(3)
      help: @sequence(...) stands before def name(tensors): ...
    """,
)
def a_sequence_of_a_number():
    sequence(**ROWS)(3)


@wrong(
    SpecError,
    """
    here: the output Tile("N", f32) of two lacks the parallel dimension "B": what is written there must be a sum over it
        @sequence(**IN_B, out_specs=(Tile("N", f32),), parallel=("B",))
      help: Tile("N", f32, sum_over="B")
    """,
)
def a_sequence_with_an_output_that_is_no_sum():
    @sequence(**IN_B, out_specs=(Tile("N", f32),), parallel=("B",))
    def two(x, w):
        pass


@wrong(
    CallError,
    """
    here: W has rank 2 and Tile("N", f32) has rank 1
        return k(x, x)
      spec: W: Tile("N", f32)
      shape: W: (B, 8)
    """,
)
def a_step_that_gets_a_wrong_shape():
    k = kernel(**IN_B, out_specs=(Tile("B", "N", f32),), parallel=("B",))(_scale)

    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return k(x, x)

    two(X)


@wrong(
    CallError,
    """
    here: dimension 0 of X is B and must be 4
        return k(x)
      spec: X: Tile(4, "N", f32)
      shape: X: (B, 8)
    """,
)
def a_step_that_needs_one_size_of_a_parallel_dimension():
    k = kernel(in_specs=(Tile(4, "N", f32),), out_specs=(Tile(4, "N", f32),))(_empty)

    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return k(x)

    two(X)


@wrong(
    CallError,
    """
    here: X has elements of type float32 and Tile("B", "N", bf16) takes bfloat16
        return half(x)
      help: convert it: X.astype('bfloat16')
    """,
)
def a_step_that_gets_a_wrong_type():
    tile = Tile("B", "N", bf16)
    half = kernel(in_specs=(tile,), out_specs=(tile,), parallel=("B",))(_empty)

    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return half(x)

    two(X)


@wrong(
    CallError,
    """
    here: the dimension "B" of fixed is the parallel dimension "B" of two, which has no size before the launch
        return fixed(copy(x))
      help: declare parallel=('B',) there too
    """,
)
def a_step_that_has_the_dimension_fixed():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return fixed(copy(x))

    two(X)


@wrong(
    CallError,
    """
    here: X is a numpy.ndarray; in the sequence two, copy takes the arrays of the sequence and results of its kernels
        return copy(X)
      help: make it an input of the sequence, or a compile-time keyword
    """,
)
def a_step_on_an_array():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return copy(X)

    two(X)


@wrong(
    CallError,
    """
    here: X is an array of the sequence first, which has ended
        return copy(kept[0])
    """,
)
def a_step_on_an_array_of_another_sequence():
    kept = []

    @sequence(**ROWS, parallel=("B",))
    def first(x):
        kept.append(x)
        return copy(x)

    @sequence(**ROWS, parallel=("B",))
    def second(x):
        return copy(kept[0])

    first(X)
    second(X)


@wrong(
    CallError,
    """
    here: factor is a result, and a Scalar(f32) is an input of the sequence
        return times(w, one(w))
      help: load it from a tensor: Tile(f32)
    """,
)
def a_result_as_a_scalar():
    one = kernel(in_specs=(Tile("N", f32),), out_specs=(Tile(f32),))(_empty)

    @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
    def two(w):
        return times(w, one(w))

    two(W)


@wrong(
    CallError,
    """
    here: in_place writes X in place, and x is an input of the sequence two
        return in_place(x)
      help: copy it by a kernel of the sequence first
    """,
)
def a_step_that_writes_in_place():
    @kernel(**ROWS, parallel=("B",), input_output_aliases={0: 0})
    def in_place(X, Y):
        pass

    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return in_place(x)

    two(X)


@wrong(
    CallError,
    """
    here: other is for sm_100a, and the kernels before it in two are for auto
        return other(copy(x))
      help: give the kernels of a sequence one arch=
    """,
)
def steps_of_two_architectures():
    @kernel(**ROWS, parallel=("B",), arch="sm_100a")
    def other(X, Y):
        pass

    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return other(copy(x))

    two(X)


@wrong(
    CallError,
    """
    here: copy is emulated in the body of the sequence two; it applies kernels to its arrays
        return copy.emulate(x)
    """,
)
def a_step_that_is_emulated():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return copy.emulate(x)

    two(X)


@wrong(
    CallError,
    """
    here: copy has no compile-time keyword eps
        return copy(x, eps=1)
      legal: none
    """,
)
def a_step_with_a_wrong_keyword():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return copy(x, eps=1)

    two(X)


@wrong(
    CallError,
    """
    here: two has no compile-time keyword eps
        two(X, eps=1)
      legal: none
    """,
)
def a_sequence_with_a_wrong_keyword():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return copy(x)

    two(X, eps=1)


@wrong(
    SpecError,
    """
    here: two returns 2 results and has 1 out_specs
        @sequence(**ROWS, parallel=("B",))
    """,
)
def a_sequence_with_too_many_results():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return copy(x), copy(x)

    two(X)


@wrong(
    SpecError,
    """
    here: two returns its input x as output 0; outputs are results of its kernels
        @sequence(**ROWS, parallel=("B",))
    """,
)
def a_sequence_that_returns_an_input():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        copy(x)
        return x

    two(X)


@wrong(
    SpecError,
    """
    here: two returns None as output 0; outputs are results of its kernels
        @sequence(**ROWS, parallel=("B",))
    """,
)
def a_sequence_that_returns_nothing():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        copy(x)

    two(X)


@wrong(
    SpecError,
    """
    here: two returns Y a second time as output 1; outputs are results of its kernels
        @sequence(in_specs=ROWS["in_specs"], out_specs=2 * ROWS["out_specs"], parallel=("B",))
    """,
)
def a_sequence_that_returns_a_result_twice():
    @sequence(in_specs=ROWS["in_specs"], out_specs=2 * ROWS["out_specs"], parallel=("B",))
    def two(x):
        y = copy(x)
        return y, y

    two(X)


@wrong(
    SpecError,
    """
    here: output 0 of two is Y of shape (B, 8) and type f32, and its spec is Tile("N", f32, sum_over="B"), here (8,)
        @sequence(in_specs=ROWS["in_specs"], out_specs=(Tile("N", f32, sum_over="B"),), parallel=("B",))
    """,
)
def a_sequence_that_returns_another_shape():
    @sequence(in_specs=ROWS["in_specs"], out_specs=(Tile("N", f32, sum_over="B"),), parallel=("B",))
    def two(x):
        return copy(x)

    two(X)


@wrong(
    SpecError,
    """
    here: output 0 of two is Y, whose parts its kernel writes as bf16, and its spec is Tile("N", bf16, sum_over="B", accumulate=f32), which adds them up as f32
        @sequence(**BF16_ROWS, out_specs=(SUM,))
      help: give the Tiles of both the same accumulate=
    """,
)
def a_sequence_that_accumulates_what_its_kernel_rounds():
    @sequence(**BF16_ROWS, out_specs=(SUM,))
    def two(x):
        return summed_in_bf16(x)

    two(bf16_rows())


@wrong(
    SpecError,
    """
    here: output 0 of two is Y, whose parts its kernel writes as f32, and its spec is Tile("N", bf16, sum_over="B"), which adds them up as bf16
        @sequence(**BF16_ROWS, out_specs=(Tile("N", bf16, sum_over="B"),))
      help: give the Tiles of both the same accumulate=
    """,
)
def a_sequence_that_rounds_what_its_kernel_accumulates():
    @sequence(**BF16_ROWS, out_specs=(Tile("N", bf16, sum_over="B"),))
    def two(x):
        return summed(x)

    two(bf16_rows())


@wrong(
    SpecError,
    """
    here: Y is accumulated in f32 across devices, and copy_bf16 reads it as bf16 before that
        @sequence(**BF16_ROWS, out_specs=(SUM,))
      help: apply copy_bf16 outside of the sequence
    """,
)
def a_sequence_that_reads_what_it_accumulates():
    @sequence(**BF16_ROWS, out_specs=(SUM,))
    def two(x):
        y = summed(x)
        copy_bf16(y)
        return y

    two(bf16_rows())


@wrong(
    CallError,
    """
    here: x has no values while the sequence two is traced; only kernels can be applied to it
        return copy(x * 2)
    """,
)
def arithmetic_in_a_sequence():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return copy(x * 2)

    two(X)


@wrong(
    CallError,
    """
    here: x has no values while the sequence two is traced; only kernels can be applied to it
        return copy(np.exp(x))
    """,
)
def numpy_in_a_sequence():
    @sequence(**ROWS, parallel=("B",))
    def two(x):
        return copy(np.exp(x))

    two(X)


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(wrong.program)


def test_no_error_stands_behind_another():
    """What was tried first, to be fast, is not part of what the user reads."""
    for call in (lambda: copy(W), lambda: copy([1.0]), lambda: copy(X, eps=[])):
        with pytest.raises(CallError) as caught:
            call()
        assert caught.value.__context__ is None


def test_symbolic_sizes_need_a_parallel_dimension():
    jax = pytest.importorskip("jax", reason="symbolic sizes are JAX's")
    (b,) = jax.export.symbolic_shape("b")
    x = jax.ShapeDtypeStruct((b, 8), np.float32)
    with pytest.raises(CallError) as caught:
        jax.export.export(jax.jit(fixed), platforms=["cpu"])(x)
    assert caught.value.problem == (
        'the dimension "B" of fixed has the symbolic size b, and only parallel and dynamic dimensions '
        "have a size that is not known"
    )
    assert caught.value.notes == (("help", "dynamic=('B',)"),)
