"""Wrong kernels and calls: the message says what is legal and how to write it."""

import numpy as np
import pytest

from pyptx import (
    AssembleError,
    CallError,
    LanguageError,
    Scalar,
    SpecError,
    Tile,
    kernel,
    ptx,
    reg,
    smem,
)
from pyptx.types import b32, f32, f64, u8, u32

from .cases import Collection

wrong = Collection()


OF = {"in_specs": (Tile("B", "N", f32), Tile("N", f32)), "out_specs": (Tile("B", "N", f32),)}
ALIKE = {"in_specs": (Tile("N", f32), Tile("N", f32)), "out_specs": (Tile("N", f32),)}
SAME = {"in_specs": (Tile("N", f32),), "out_specs": (Tile("N", f32),)}
X, W = np.zeros((4, 8), np.float32), np.zeros(8, np.float32)


def _scale(X, W, Y):
    pass


@wrong(
    SpecError,
    """
    here: lambda takes 2 tensors (X, W), and has 2 in_specs and 1 out_specs
        kernel(**OF)(lambda X, W: None)
    """,
)
def too_few_tensors_in_the_signature():
    kernel(**OF)(lambda X, W: None)


@wrong(
    SpecError,
    """
    here: copy takes 2 tensors (X, Y), and has 1 in_specs and 0 out_specs
        @kernel(in_specs=(Tile("N", f32),), out_specs=())
    """,
)
def too_many_tensors_in_the_signature():
    @kernel(in_specs=(Tile("N", f32),), out_specs=())
    def copy(X, Y):
        pass


@wrong(
    SpecError,
    """
    here: copy takes *tensors; each tensor of a kernel has a name of its own
        @kernel(**OF)
    """,
)
def starred_tensors():
    @kernel(**OF)
    def copy(*tensors):
        pass


@wrong(
    SpecError,
    """
    here: scale gives eps a default, and positional parameters are tensors
        @kernel(**OF)
      help: compile-time values follow a star: def scale(..., *, eps=1e-06)
    """,
)
def a_positional_parameter_with_a_default():
    @kernel(**OF)
    def scale(X, W, Y, eps=1e-6):
        pass


@wrong(
    AssembleError,
    """
    PYPTX_PTXAS names '/nowhere/ptxas', which is not a program
    """,
    environment={"PYPTX_PTXAS": "/nowhere/ptxas"},
)
def no_assembler():
    kernel(_scale).cubin()


@wrong(
    SpecError,
    """
    here: Tile('B', 'N') does not end with a type
        Tile("B", "N")
      help: Tile("B", "N", f32)
    """,
)
def a_tile_without_a_type():
    Tile("B", "N")


@wrong(
    SpecError,
    """
    here: Tile('B', <class 'numpy.float32'>) does not end with a type
        Tile("B", np.float32)
      type: f32 is float32: from pyptx.types import f32
      help: Tile("B", "N", f32)
    """,
)
def a_tile_of_a_numpy_type():
    Tile("B", np.float32)


@wrong(
    SpecError,
    """
    here: arrays have no type b32; the elements of a tensor need one
        Tile("B", b32)
    """,
)
def a_tile_of_a_type_that_arrays_do_not_have():
    Tile("B", b32)


@wrong(
    SpecError,
    """
    here: 'two words' is neither a name nor an expression of names
        Tile("two words", f32)
      legal: names, integers, + - * // ( ), cdiv(a, b), min(a, b, ...), max(a, b, ...)
      help: "N", "N//2", "cdiv(N, 4)"
    """,
)
def a_tile_with_a_bad_name():
    Tile("two words", f32)


@wrong(
    SpecError,
    """
    here: 2.5 is no size: sizes are integers and dimensions
        Tile(2.5, f32)
    """,
)
def a_tile_with_a_float_size():
    Tile(2.5, f32)


@wrong(
    SpecError,
    """
    here: a dimension of a Tile is a size or a name, not -1
        Tile(-1, f32)
    """,
)
def a_tile_with_a_negative_size():
    Tile(-1, f32)


@wrong(
    SpecError,
    """
    here: the dimension "M" of the output Tile("M", f32) is in no input
        kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("M", f32),))(lambda X, Y: None)
      dimensions: N
    """,
)
def an_output_with_a_dimension_of_no_input():
    kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("M", f32),))(lambda X, Y: None)


@wrong(
    SpecError,
    """
    here: Scalar(f32) is among the outputs; a kernel writes tensors: Tile(f32)
        kernel(in_specs=(Tile("N", f32),), out_specs=(Scalar(f32),))(lambda X, Y: None)
    """,
)
def a_scalar_as_an_output():
    kernel(in_specs=(Tile("N", f32),), out_specs=(Scalar(f32),))(lambda X, Y: None)


@wrong(
    SpecError,
    """
    here: in_specs=(f32,) is not a tuple of Tiles
        kernel(in_specs=(f32,), out_specs=(Tile(4, f32),))(lambda X, Y: None)
      help: in_specs=(Tile("B", "N", f32),)
    """,
)
def specs_that_are_no_tiles():
    kernel(in_specs=(f32,), out_specs=(Tile(4, f32),))(lambda X, Y: None)


@wrong(
    SpecError,
    """
    here: in_specs=Tile("N", f32) is not a tuple of Tiles
        kernel(in_specs=Tile("N", f32), out_specs=Tile("N", f32))(lambda X, Y: None)
      help: in_specs=(Tile("B", "N", f32),)
    """,
)
def a_single_tile_that_is_no_sequence():
    kernel(in_specs=Tile("N", f32), out_specs=Tile("N", f32))(lambda X, Y: None)


@wrong(
    SpecError,
    """
    here: unknown target 'sm_91'; known: sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f
        kernel(**OF, arch="sm_91")(_scale)
    """,
)
def an_unknown_target():
    kernel(**OF, arch="sm_91")(_scale)


@wrong(
    SpecError,
    """
    here: unknown target '90'; known: sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f
        kernel(**OF, arch=90)(_scale)
    """,
)
def a_target_that_is_no_string():
    kernel(**OF, arch=90)(_scale)


@wrong(
    SpecError,
    """
    here: version='latest' is not a PTX version
        kernel(**OF, version="latest")(_scale)
      help: version=(8, 7)
    """,
)
def a_version_that_is_none_of_ptx():
    kernel(**OF, version="latest")(_scale)


@wrong(
    SpecError,
    """
    here: there is no PTX 99.9
        kernel(**OF, version="99.9")(_scale)
      known: 6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0 9.1 9.2 9.3 9.4 9.5
    """,
)
def a_version_that_is_not_there_yet():
    kernel(**OF, version="99.9")(_scale)


@wrong(
    SpecError,
    """
    here: there is no PTX 8.9
        kernel(**OF, version=(8, 9))(_scale)
      known: 6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0 9.1 9.2 9.3 9.4 9.5
    """,
)
def a_version_between_two_of_ptx():
    kernel(**OF, version=(8, 9))(_scale)


@wrong(
    SpecError,
    """
    here: PTX 7.8 does not know sm_90a
        kernel(**OF, version=(7, 8))(_scale).ptx(B=1, N=8)
      first in: PTX 8.0
    """,
)
def a_version_older_than_the_target():
    kernel(**OF, version=(7, 8))(_scale).ptx(B=1, N=8)


@wrong(
    SpecError,
    """
    here: the cooperative grid (300, 1, 1) has 300 CTAs, and no device that runs sm_90a holds more than 144 at once, each of 1024 threads and 131072 bytes of shared memory
        @kernel(grid=lambda N: N, block=1024, cooperative=True, arch="sm_90a", **SAME)
      help: a grid of one CTA for each SM fits; let each do more of the work
    """,
)
def a_cooperative_grid_that_no_device_holds():
    @kernel(grid=lambda N: N, block=1024, cooperative=True, arch="sm_90a", **SAME)
    def large(X, Y):
        smem.alloc(f32, 32768)

    large(np.zeros(300, np.float32))


@wrong(
    SpecError,
    """
    here: kernel() has no option blok
        kernel(**OF, blok=128)(_scale)
      nearest: block
      options: name in_specs out_specs grid block cluster smem arch version contract parallel dynamic input_output_aliases cooperative programmatic_stream_serialization
      directives: maxnreg maxntid reqntid minnctapersm minperctamemory reqnctapercluster explicitcluster maxclusterrank blocksareclusters
    """,
)
def an_unknown_option():
    kernel(**OF, blok=128)(_scale)


@wrong(
    SpecError,
    """
    here: '128' names no dimension
        kernel(**OF, block="128")(_scale)
      help: write 128
    """,
)
def a_block_of_strings():
    kernel(**OF, block="128")(_scale)


@wrong(
    SpecError,
    """
    here: block=(1, 1, 1, 1) is not one to three sizes
        kernel(**OF, block=(1, 1, 1, 1))(_scale)
      help: block=(128, 1, 1)
    """,
)
def a_block_of_four_dimensions():
    kernel(**OF, block=(1, 1, 1, 1))(_scale)


@wrong(
    SpecError,
    """
    here: block (1024, 2, 1) has 2048 threads; a CTA has at most 1024
        kernel(**OF, block=(1024, 2, 1))(_scale)
    """,
)
def too_many_threads():
    kernel(**OF, block=(1024, 2, 1))(_scale)


@wrong(
    SpecError,
    """
    here: block dimension x is 0; the range is 1 to 1024
        kernel(**OF, block=0)(_scale)
    """,
)
def a_block_without_threads():
    kernel(**OF, block=0)(_scale)


@wrong(
    SpecError,
    """
    here: block dimension z is 65; the range is 1 to 64
        kernel(**OF, block=(1, 1, 65))(_scale)
    """,
)
def a_block_that_is_too_deep():
    kernel(**OF, block=(1, 1, 65))(_scale)


@wrong(
    SpecError,
    """
    here: cluster (32, 1, 1) has 32 CTAs; a cluster has 1 to 16, and more than 8 only where the device allows it
        kernel(**OF, cluster=(32, 1, 1))(_scale)
    """,
)
def a_cluster_that_is_too_big():
    kernel(**OF, cluster=(32, 1, 1))(_scale)


@wrong(
    SpecError,
    """
    here: sm_80 does not have .reqnctapercluster
        kernel(**OF, cluster=2, arch="sm_80")(_scale).ptx(B=2, N=8)
      targets that do: sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f
    """,
)
def a_cluster_on_a_target_without():
    kernel(**OF, cluster=2, arch="sm_80")(_scale).ptx(B=2, N=8)


@wrong(
    SpecError,
    """
    here: grid dimension x is 1, not a multiple of the cluster's 3
        kernel(**OF, cluster=3)(_scale).emulate(X, W)
    """,
)
def a_grid_that_is_no_multiple_of_the_cluster():
    kernel(**OF, cluster=3)(_scale).emulate(X, W)


@wrong(
    SpecError,
    """
    here: .maxnreg 0 is out of range
        kernel(**OF, maxnreg=0)(_scale)
      legal: 1 to 255
    """,
)
def too_few_registers_for_a_directive():
    kernel(**OF, maxnreg=0)(_scale)


@wrong(
    SpecError,
    """
    here: reqntid=(32, 1, 1) is not the block, which is (1, 1, 1)
        kernel(**OF, reqntid=(32, 1, 1, 1))(_scale)
      help: leave it out, or write reqntid=(1, 1, 1)
    """,
)
def a_directive_with_too_many_values():
    kernel(**OF, reqntid=(32, 1, 1, 1))(_scale)


@wrong(
    SpecError,
    """
    here: maxnreg='64' is not one integer or several
        kernel(**OF, maxnreg="64")(_scale)
    """,
)
def a_directive_that_is_a_string():
    kernel(**OF, maxnreg="64")(_scale)


@wrong(
    SpecError,
    """
    here: reqntid=(32, 1, 1) is not the block, which is (1, 1, 1)
        kernel(**OF, reqntid=(32, 1, 1), maxntid=(32, 1, 1))(_scale)
      help: leave it out, or write reqntid=(1, 1, 1)
    """,
)
def two_directives_that_exclude_each_other():
    kernel(**OF, reqntid=(32, 1, 1), maxntid=(32, 1, 1))(_scale)


@wrong(
    SpecError,
    """
    here: reqntid=(64, 1, 1) is not the block, which is (1, 1, 1)
        kernel(**OF, reqntid=(64, 1, 1))(_scale)
      help: leave it out, or write reqntid=(1, 1, 1)
    """,
)
def reqntid_that_is_not_the_block():
    kernel(**OF, reqntid=(64, 1, 1))(_scale)


@wrong(
    SpecError,
    """
    here: maxntid=(16, 1, 1) is at most 16 threads, and the block (32, 1, 1) has 32
        kernel(**OF, block=32, maxntid=16)(_scale)
      help: leave it out, or write maxntid=(32, 1, 1)
    """,
)
def maxntid_that_is_less_than_the_block():
    kernel(**OF, block=32, maxntid=16)(_scale)


@wrong(
    SpecError,
    """
    here: maxntid=(4, 4, 1) is at most 16 threads, and the block (8, 4, 1) has 32
        kernel(**OF, block=(8, 4), maxntid=(4, 4, 1))(_scale)
      help: leave it out, or write maxntid=(8, 4, 1)
    """,
)
def maxntid_of_several_dimensions_that_is_less_than_the_block():
    kernel(**OF, block=(8, 4), maxntid=(4, 4, 1))(_scale)


@wrong(
    SpecError,
    """
    here: maxntid=(64, 1, 1) is at most 64 threads, and the block (128, 1, 1) has 128
        @kernel(**SAME, block="N", maxntid=64)
      help: leave it out, or write maxntid=(128, 1, 1)
    """,
)
def maxntid_that_is_less_than_a_block_of_the_sizes():
    @kernel(**SAME, block="N", maxntid=64)
    def k(X, Y):
        pass

    k.ptx(N=64)
    k.ptx(N=128)


@wrong(
    SpecError,
    """
    here: smem='all' is not a number of bytes
        kernel(**OF, smem="all")(_scale)
    """,
)
def shared_memory_of_no_number():
    kernel(**OF, smem="all")(_scale)


@wrong(
    SpecError,
    """
    here: smem=16 is less than the 256 bytes that k allocates
        @kernel(smem=16)
      help: leave smem= out: it is inferred from the allocations
    """,
)
def less_shared_memory_than_is_allocated():
    @kernel(smem=16)
    def k():
        smem.alloc(f32, 64)

    k.ptx()


@wrong(
    SpecError,
    """
    here: parallel= names 'M', which is no dimension of _scale
        kernel(**OF, parallel=("M",))(_scale)
      dimensions: B, N
    """,
)
def a_parallel_dimension_that_does_not_exist():
    kernel(**OF, parallel=("M",))(_scale)


@wrong(
    SpecError,
    """
    here: parallel='B' is not a sequence of dimension names
        kernel(**OF, parallel="B")(_scale)
      help: parallel=("B",)
    """,
)
def a_parallel_name_that_is_no_sequence():
    kernel(**OF, parallel="B")(_scale)


@wrong(
    SpecError,
    """
    here: input_output_aliases has 0: 1, and _scale has 2 inputs and 1 outputs
        kernel(**OF, input_output_aliases={0: 1})(_scale)
    """,
)
def an_alias_out_of_range():
    kernel(**OF, input_output_aliases={0: 1})(_scale)


@wrong(
    SpecError,
    """
    here: input 1 is Tile("N", f32) and output 0 is Tile("B", "N", f32): tensors that share a buffer need one spec
        kernel(**OF, input_output_aliases={1: 0})(_scale)
    """,
)
def an_alias_of_another_shape():
    kernel(**OF, input_output_aliases={1: 0})(_scale)


@wrong(
    SpecError,
    """
    here: input_output_aliases has 0: 0 and 1: 0: an output shares its buffer with one input
        kernel(**ALIKE, input_output_aliases={0: 0, 1: 0})(_scale)
    """,
)
def two_inputs_that_share_the_buffer_of_one_output():
    kernel(**ALIKE, input_output_aliases={0: 0, 1: 0})(_scale)


@wrong(
    SpecError,
    """
    here: _scale needs the dimensions B, N
        kernel(**OF)(_scale).ptx()
      help: _scale.ptx(B=..., N=...)
    """,
)
def missing_dimensions():
    kernel(**OF)(_scale).ptx()


@wrong(
    SpecError,
    """
    here: _scale needs the dimension N
        kernel(**OF)(_scale).ptx(B=4)
      help: _scale.ptx(N=...)
    """,
)
def one_missing_dimension():
    kernel(**OF)(_scale).ptx(B=4)


@wrong(
    SpecError,
    """
    here: _scale has no dimension or keyword M
        kernel(**OF)(_scale).ptx(B=4, N=8, M=3)
      legal: B N
    """,
)
def an_unknown_dimension():
    kernel(**OF)(_scale).ptx(B=4, N=8, M=3)


@wrong(
    SpecError,
    """
    here: the dimension N is a size, not 8.0
        kernel(**OF)(_scale).ptx(B=4, N=8.0)
      help: N=1024
    """,
)
def a_dimension_that_is_a_float():
    kernel(**OF)(_scale).ptx(B=4, N=8.0)


@wrong(
    SpecError,
    """
    here: the dimension N is a size, not -8
        kernel(**OF)(_scale).ptx(B=4, N=-8)
      help: N=1024
    """,
)
def a_negative_dimension():
    kernel(**OF)(_scale).ptx(B=4, N=-8)


@wrong(
    SpecError,
    """
    here: unknown target 'sm_1000'; known: sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f
        kernel(**OF)(_scale).cubin(arch="sm_1000", B=4, N=8)
    """,
)
def an_unknown_target_of_a_cubin():
    kernel(**OF)(_scale).cubin(arch="sm_1000", B=4, N=8)


@wrong(
    SpecError,
    """
    here: k has no in_specs and out_specs, so it cannot be called on arrays
        k(X)
      help: @kernel(in_specs=(Tile(...),), out_specs=(Tile(...),), ...)
    """,
)
def a_kernel_without_specs_called():
    @kernel
    def k():
        pass

    k(X)


@wrong(
    SpecError,
    """
    here: k has no in_specs and out_specs, so it cannot be emulated on arrays
        k.emulate(X)
      help: @kernel(in_specs=(Tile(...),), out_specs=(Tile(...),), ...)
    """,
)
def a_kernel_without_specs_emulated():
    @kernel
    def k():
        pass

    k.emulate(X)


@wrong(
    CallError,
    """
    here: _scale takes 2 arrays (X, W), not 1
        kernel(**OF)(_scale)(X)
    """,
)
def too_few_arrays():
    kernel(**OF)(_scale)(X)


@wrong(
    CallError,
    """
    here: X has rank 1 and Tile("B", "N", f32) has rank 2
        kernel(**OF)(_scale)(X[0], W)
      spec: X: Tile("B", "N", f32)
      shape: X: (8,)
    """,
)
def an_array_of_the_wrong_rank():
    kernel(**OF)(_scale)(X[0], W)


@wrong(
    CallError,
    """
    here: the dimension "N" is 8 in X (axis 1) and 4 in W (axis 0)
        kernel(**OF)(_scale)(X, W[:4])
      spec: W: Tile("N", f32)
      shape: W: (4,)
    """,
)
def an_array_of_another_size():
    kernel(**OF)(_scale)(X, W[:4])


@wrong(
    CallError,
    """
    here: dimension 0 of X is 8 and must be 16
        kernel(in_specs=(Tile(16, f32),), out_specs=(Tile(16, f32),))(lambda X, Y: None)(W)
      spec: X: Tile(16, f32)
      shape: X: (8,)
    """,
)
def an_array_of_a_size_that_is_fixed():
    kernel(in_specs=(Tile(16, f32),), out_specs=(Tile(16, f32),))(lambda X, Y: None)(W)


@wrong(
    CallError,
    """
    here: X has elements of type float64 and Tile("B", "N", f32) takes float32
        kernel(**OF)(_scale)(X.astype(np.float64), W)
      help: convert it: X.astype('float32')
    """,
)
def an_array_of_another_type():
    kernel(**OF)(_scale)(X.astype(np.float64), W)


@wrong(
    CallError,
    """
    here: X is a list; kernels take arrays of JAX and NumPy, and tensors of PyTorch
        kernel(**OF)(_scale)(X.tolist(), W)
      help: numpy.asarray(X), jax.numpy.asarray(X) or torch.as_tensor(X)
    """,
)
def a_list_instead_of_an_array():
    kernel(**OF)(_scale)(X.tolist(), W)


@wrong(
    CallError,
    """
    here: W is a NoneType; kernels take arrays of JAX and NumPy, and tensors of PyTorch
        kernel(**OF)(_scale)(X, None)
      help: numpy.asarray(W), jax.numpy.asarray(W) or torch.as_tensor(W)
    """,
)
def none_instead_of_an_array():
    kernel(**OF)(_scale)(X, None)


@wrong(
    CallError,
    """
    here: _scale has no compile-time keyword eps
        kernel(**OF)(_scale)(X, W, eps=1e-6)
      legal: none
    """,
)
def an_unknown_keyword_at_a_call():
    kernel(**OF)(_scale)(X, W, eps=1e-6)


@wrong(
    CallError,
    """
    here: k needs the compile-time keyword eps
        k.ptx(B=4, N=8)
      help: k(..., eps=...)
    """,
)
def a_missing_compile_time_keyword():
    @kernel(**OF)
    def k(X, W, Y, *, eps):
        pass

    k.ptx(B=4, N=8)


@wrong(
    CallError,
    """
    here: the compile-time keyword sizes of k must be hashable, and list is not
        k.ptx(B=4, N=8, sizes=[1, 2])
    """,
)
def a_compile_time_keyword_that_cannot_be_hashed():
    @kernel(**OF)
    def k(X, W, Y, *, sizes=()):
        pass

    k.ptx(B=4, N=8, sizes=[1, 2])


@wrong(
    SpecError,
    """
    here: N=8 is no multiple of 128
        raise SpecError(f"N={X.shape[1]} is no multiple of 128")
    """,
)
def an_n_that_the_body_refuses_in_its_own_words():
    @kernel(**OF)
    def k(X, W, Y):
        if X.shape[1] % 128:
            raise SpecError(f"N={X.shape[1]} is no multiple of 128")

    k.ptx(B=4, N=8)


@wrong(
    SpecError,
    """
    here: grid= asks for the dimension M
        kernel(**OF, grid=lambda M: (M, 1, 1))(_scale).emulate(X, W)
      dimensions: B, N
    """,
)
def a_grid_that_asks_for_an_unknown_dimension():
    kernel(**OF, grid=lambda M: (M, 1, 1))(_scale).emulate(X, W)


@wrong(
    SpecError,
    """
    here: grid= gives {'B'}; a grid is one to three sizes (x, y, z)
        kernel(**OF, grid=lambda B, N: {"B"})(_scale).emulate(X, W)
    """,
)
def a_grid_that_gives_no_sizes():
    kernel(**OF, grid=lambda B, N: {"B"})(_scale).emulate(X, W)


@wrong(
    SpecError,
    """
    here: 2.0 is no size: sizes are integers and dimensions
        kernel(**OF, grid=lambda B, N: (B / 2, 1, 1))(_scale).emulate(X, W)
    """,
)
def a_grid_of_floats():
    kernel(**OF, grid=lambda B, N: (B / 2, 1, 1))(_scale).emulate(X, W)


@wrong(
    SpecError,
    """
    here: grid dimension y is 65536; the range is 0 to 65535
        kernel(**OF, grid=(1, 65536, 1))(_scale).emulate(X, W)
    """,
)
def a_grid_out_of_range():
    kernel(**OF, grid=(1, 65536, 1))(_scale).emulate(X, W)


@wrong(
    SpecError,
    """
    here: grid= gives (-1, 1, 1); a size is not negative
        kernel(**OF, grid=lambda B, N: (B - 5, 1, 1))(_scale).emulate(X, W)
    """,
)
def a_negative_grid():
    kernel(**OF, grid=lambda B, N: (B - 5, 1, 1))(_scale).emulate(X, W)


@wrong(
    SpecError,
    """
    here: grid= gives None; a grid is one to three sizes (x, y, z)
        kernel(**OF, grid=None)(_scale).emulate(X, W)
    """,
)
def a_grid_that_is_none():
    kernel(**OF, grid=None)(_scale).emulate(X, W)


@wrong(
    LanguageError,
    """
    here: the dimension B is known only at a launch and has no value while the kernel is traced, so it is not a Python number
        for _ in range(X.shape[0]):
      help: for i in ptx.range_(stop): ...   loops over a bound in a register
    """,
)
def a_run_time_dimension_as_an_int():
    @kernel(**OF, parallel=("B",))
    def k(X, W, Y):
        for _ in range(X.shape[0]):
            pass

    k.ptx(N=8)


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        if X.shape[0] > 3:
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def a_run_time_dimension_as_a_condition():
    @kernel(**OF, parallel=("B",))
    def k(X, W, Y):
        if X.shape[0] > 3:
            pass

    k.ptx(N=8)


@wrong(
    LanguageError,
    """
    here: the dimension B is known only at a launch and has no value while the kernel is traced, so it is not a Python number
        int(X.shape[0])
      help: the register is an integer, .u64: leave int() out
    """,
)
def a_run_time_dimension_as_an_integer():
    @kernel(**OF, parallel=("B",))
    def k(X, W, Y):
        int(X.shape[0])

    k.ptx(N=8)


@wrong(
    LanguageError,
    """
    here: reg.scalar is used outside a kernel
        reg.scalar(f32)
      help: call it in the body of a function decorated with @kernel
    """,
)
def the_language_outside_of_a_kernel():
    reg.scalar(f32)


@wrong(
    LanguageError,
    """
    here: ptx.inst.bar.sync is used outside a kernel
        ptx.inst.bar.sync(0)
      help: call it in the body of a function decorated with @kernel
    """,
)
def an_instruction_outside_of_a_kernel():
    ptx.inst.bar.sync(0)


@wrong(
    LanguageError,
    """
    here: ptx.if_ is used outside a kernel
        with ptx.if_(None):
      help: call it in the body of a function decorated with @kernel
    """,
)
def a_block_outside_of_a_kernel():
    with ptx.if_(None):
        pass


@wrong(
    LanguageError,
    """
    here: a register of another kernel (or of another trace of it) is used here
        kept[0] + 1
      help: make registers in the body: reg.scalar(...), reg.array(...)
    """,
)
def a_register_of_another_kernel():
    kept = []

    @kernel
    def first():
        kept.append(reg.scalar(u32, init=0))

    @kernel
    def second():
        kept[0] + 1

    first.ptx()
    second.ptx()


@wrong(
    LanguageError,
    """
    here: shared memory of another kernel is used here
        kept[0][1]
    """,
)
def shared_memory_of_another_kernel():
    kept = []

    @kernel
    def first():
        kept.append(smem.alloc(u32, 4))

    @kernel
    def second():
        kept[0][1]

    first.ptx()
    second.ptx()


@wrong(
    LanguageError,
    """
    here: X belongs to another kernel, or to another trace of this one
        ptx.global_ptrs(kept[0])
    """,
)
def a_tensor_of_another_kernel():
    kept = []

    @kernel
    def first(X):
        kept.append(X)

    @kernel
    def second(Y):
        ptx.global_ptrs(kept[0])

    first.ptx()
    second.ptx()


@wrong(
    SpecError,
    """
    here: k returns a int; results are stored to the outputs
        @kernel
    """,
)
def a_kernel_that_returns_a_value():
    @kernel
    def k():
        return 3

    k.ptx()


@wrong(
    SpecError,
    """
    here: k returns a Reg; results are stored to the outputs
        @kernel
    """,
)
def a_body_that_returns_a_register():
    @kernel
    def k():
        return reg.scalar(u32, init=0)

    k.ptx()


@wrong(
    SpecError,
    """
    here: k allocates 262160 bytes of shared memory; a CTA of sm_90a has at most 232448
        @kernel
      allocated: tile: 262144 bytes
      allocated: shared_1: 16 bytes
    """,
)
def too_much_shared_memory():
    @kernel
    def k():
        smem.alloc(f32, (64, 1024), name="tile")
        smem.alloc(f64, 2)

    k.ptx()


@wrong(
    SpecError,
    """
    here: smem=1048576 is more than the 232448 bytes that a CTA of sm_90a has
        kernel(smem=2**20)(lambda: None).ptx()
    """,
)
def too_much_shared_memory_asked_for():
    kernel(smem=2**20)(lambda: None).ptx()


@wrong(
    SpecError,
    """
    here: k allocates 65537 bytes of shared memory; a CTA of sm_75 has at most 65536
        @kernel(arch="sm_75")
      allocated: shared_0: 65537 bytes
    """,
)
def too_much_shared_memory_for_an_older_target():
    @kernel(arch="sm_75")
    def k():
        smem.alloc(u8, 65537)

    k.ptx()


@wrong(
    SpecError,
    """
    here: k is a generator or a coroutine, so it cannot be the body of a kernel
        @kernel
      help: @kernel(...) stands before def name(tensors): ...
    """,
)
def a_kernel_that_is_a_coroutine():
    @kernel
    async def k():
        pass

    k.ptx()


@wrong(
    SpecError,
    """
    here: k is a generator or a coroutine, so it cannot be the body of a kernel
        @kernel
      help: @kernel(...) stands before def name(tensors): ...
    """,
)
def a_kernel_that_yields():
    @kernel
    def k():
        yield reg.scalar(u32, init=0)

    k.ptx()


@wrong(
    SpecError,
    """
    here: 3 is no function, so it cannot be the body of a kernel
        kernel(3)
      help: @kernel(...) stands before def name(tensors): ...
    """,
)
def a_kernel_of_something_else():
    kernel(3)


@wrong(
    LanguageError,
    """
    here: inner is a kernel, and a kernel cannot be called in the body of a kernel
        inner()
      help: a plain Python function that both call is inlined into each
      help: @ptx.func makes a device function, which ptx.call(f, ...) calls
      help: @pyptx.sequence applies kernels one after the other
    """,
)
def a_kernel_that_calls_a_kernel():
    @kernel
    def inner():
        ptx.ret()

    @kernel
    def outer():
        inner()

    outer.ptx()


@wrong.parametrize()
def test_the_whole_message(wrong, monkeypatch):
    for name, value in wrong.options.get("environment", {}).items():
        monkeypatch.setenv(name, value)
    wrong.check(wrong.program)


def test_what_only_the_assembler_refuses_is_shown_at_its_python_line():
    @kernel(arch="sm_90a")
    def k():
        reg.scalar(f32, init=1.0)
        ptx.inst.createpolicy.fractional.L2__evict_last.b64(2.0)

    with pytest.raises(AssembleError) as caught:
        k.cubin()
    line = k.module().kernels[0].body[1].location
    assert caught.value.location == line
    assert line.text == "ptx.inst.createpolicy.fractional.L2__evict_last.b64(2.0)"
    head, source, *notes = str(caught.value).splitlines()
    assert head.startswith(f"{line}: ptxas rejected the kernel: ")
    assert source.strip() == line.text
    assert [note.strip().split(":")[0] for note in notes] == ["PTX", "target"]


def test_an_error_of_the_body_itself_says_what_was_traced():
    @kernel(**OF)
    def scale(X, W, Y, *, unit=128):
        if X.shape[1] % unit:
            raise ValueError("N is no multiple of the unit")

    with pytest.raises(ValueError, match="N is no multiple of the unit") as caught:
        scale(X, W)
    assert caught.value.__notes__ == ["while scale was traced for sm_90a B=4, N=8, unit=128"]
