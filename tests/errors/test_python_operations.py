"""What Python does with numbers and lists, done to registers and memory: what to write instead."""

import copy

from pyptx import LanguageError, Tile, kernel
from pyptx.types import f32

from .cases import Collection

wrong = Collection()


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        total = X + X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_sum_of_tensors(X):
    total = X + X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        twice = 2 * X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_product_of_a_number_and_a_tensor(X):
    twice = 2 * X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        less = -X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_negated_tensor(X):
    less = -X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        smaller = X < X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def tensors_compared(X):
    smaller = X < X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        product = X @ X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_matrix_product_of_tensors(X):
    product = X @ X


@wrong(
    LanguageError,
    """
    here: a tensor has no len(): its sizes are its shape
        size = len(X)
      help: X.shape[0]
    """,
)
def the_length_of_a_tensor(X):
    size = len(X)


@wrong(
    LanguageError,
    """
    here: a tensor is no number: its sizes are its shape
        rounds = range(X)
      help: range(X.shape[0]), or ptx.range_(X.shape[0])
    """,
)
def a_range_of_a_tensor(X):
    rounds = range(X)


@wrong(
    LanguageError,
    """
    here: an element of memory cannot be deleted
        del X[0]
      help: Y[i] = 0 stores a number
    """,
)
def a_deleted_element(X):
    del X[0]


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot round it
        whole = round(X[0])
      help: ptx.inst.cvt.rni.f32.f32(r) rounds to even, .rmi down, .rpi up and .rzi towards zero
    """,
)
def a_register_rounded(X):
    whole = round(X[0])


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot format it
        said = f"{X[0]:.3f}"
      help: ptx.printf("%d\\n", r)   prints when the kernel runs
    """,
)
def a_register_formatted(X):
    said = f"{X[0]:.3f}"


@wrong(
    LanguageError,
    """
    here: divmod has no instruction
        pair = divmod(X[0], 3)
      help: r // n and r % n
    """,
)
def divmod_of_a_register(X):
    pair = divmod(X[0], 3)


@wrong(
    LanguageError,
    """
    here: a register has no elements
        element = X[0][1]
      help: x = reg.array(f32, 4) has registers x[0] to x[3]; smem.alloc(f32, 4) is indexed by one
    """,
)
def an_element_of_a_register(X):
    element = X[0][1]


@wrong(
    LanguageError,
    """
    here: a register has no elements
        X[0][1] = 2.0
      help: x = reg.array(f32, 4) has registers x[0] to x[3]; smem.alloc(f32, 4) is indexed by one
    """,
)
def an_element_of_a_register_that_is_set(X):
    X[0][1] = 2.0


@wrong(
    LanguageError,
    """
    here: a register is not called
        value = X[0]()
      help: i = ptx.special.tid.x() is the register, so write i
    """,
)
def a_register_that_is_called(X):
    value = X[0]()


@wrong(
    LanguageError,
    """
    here: a copy by Python's copy module would be the same register
        value = copy.deepcopy([X[0]])
      help: reg.from_(r, f32) is a copy, another register
    """,
)
def a_copied_list_of_registers(X):
    value = copy.deepcopy([X[0]])


@wrong(
    LanguageError,
    """
    here: a copy by Python's copy module would be the same register
        value = copy.copy(X[0])
      help: reg.from_(r, f32) is a copy, another register
    """,
)
def a_copied_register(X):
    value = copy.copy(X[0])


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(
        lambda: kernel(in_specs=(Tile(8, f32),), out_specs=(), block=32)(wrong.program).ptx()
    )


def test_the_same_mistakes_with_objects_of_python_stay_those_of_python():
    def body():
        for mistake in (
            lambda: None + 1,
            lambda: len(3),
            lambda: object()[0],
            lambda: divmod("a", 1),
        ):
            try:
                mistake()
            except TypeError as error:
                assert type(error) is TypeError

    kernel(in_specs=(), out_specs=(), block=32)(body).ptx()
