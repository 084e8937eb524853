"""Wrong reductions, scans and broadcasts: the message says what is legal and how to write it."""

from pyptx import IsaError, LanguageError, kernel, ptx, reg
from pyptx.types import b32, f32, f64, pred, s32, u8, u16, u32

from .cases import Collection

wrong = Collection()


@wrong(
    LanguageError,
    """
    here: the function of ptx.cta.reduce writes a register that it is given
        a += b
      help: make a new one: `return a + b`, not `a += b`
    """,
)
def a_function_that_writes_what_it_is_given():
    def add(a, b):
        a += b
        return a

    ptx.cta.reduce(reg.scalar(f32, init=0.0), add)


@wrong(
    LanguageError,
    """
    here: the function of ptx.warp.reduce gives a .u64 register; it takes two .u32 registers and gives one
        ptx.warp.reduce(reg.scalar(u32, init=1), lambda a, b: a * b)
      help: lambda a, b: ptx.inst.max.s32(a, b)
    """,
)
def a_function_that_widens():
    ptx.warp.reduce(reg.scalar(u32, init=1), lambda a, b: a * b)


@wrong(
    LanguageError,
    """
    here: the function of ptx.warp.inclusive_scan gives None; it takes two .u32 registers and gives one
        ptx.warp.inclusive_scan(reg.scalar(u32, init=1), lambda a, b: None)
      help: lambda a, b: ptx.inst.max.s32(a, b)
    """,
)
def a_function_that_gives_nothing():
    ptx.warp.inclusive_scan(reg.scalar(u32, init=1), lambda a, b: None)


@wrong(
    LanguageError,
    """
    here: ptx.cta.inclusive_scan takes a function of two registers, not 'product'
        ptx.cta.inclusive_scan(reg.scalar(u32, init=1), "product")
      legal: "sum" "max" "min", lambda a, b: a * b
    """,
)
def a_function_that_has_no_such_name():
    ptx.cta.inclusive_scan(reg.scalar(u32, init=1), "product")


@wrong(
    LanguageError,
    """
    here: ptx.cta.exclusive_scan of a function needs the identity, which the first value gets
        ptx.cta.exclusive_scan(reg.scalar(f32, init=1), lambda a, b: a * b)
      help: identity=1 for a product: what changes no value
    """,
)
def an_exclusive_scan_without_an_identity():
    ptx.cta.exclusive_scan(reg.scalar(f32, init=1), lambda a, b: a * b)


@wrong(
    LanguageError,
    """
    here: ptx.cta.reduce_max has no instruction for .b32
        ptx.cta.reduce_max(reg.scalar(b32, init=0))
      legal: u32 s32 u64 s64 f16 bf16 f32 f64 f16x2 bf16x2
    """,
)
def the_maximum_of_bits():
    ptx.cta.reduce_max(reg.scalar(b32, init=0))


@wrong(
    LanguageError,
    """
    here: ptx.warp.reduce_sum has no instruction for .u16
        ptx.warp.reduce_sum(reg.scalar(u16, init=0))
      legal: u32 s32 u64 s64 f16 bf16 f32 f64 f16x2 bf16x2
    """,
)
def the_sum_of_16_bits():
    ptx.warp.reduce_sum(reg.scalar(u16, init=0))


@wrong(
    LanguageError,
    """
    here: ptx.cta.broadcast cannot move .pred from lane to lane
        ptx.cta.broadcast(reg.scalar(pred, init=0))
      legal: registers of 16, 32 and 64 bits
    """,
)
def a_broadcast_of_a_predicate():
    ptx.cta.broadcast(reg.scalar(pred, init=0))


@wrong(
    LanguageError,
    """
    here: ptx.warp.reduce cannot move .u8 from lane to lane
        ptx.warp.reduce(reg.scalar(u8), lambda a, b: a)
      legal: registers of 16, 32 and 64 bits
    """,
)
def a_function_of_bytes():
    ptx.warp.reduce(reg.scalar(u8), lambda a, b: a)


@wrong(
    LanguageError,
    """
    here: ptx.cta.broadcast takes the number of a thread, not 96
        ptx.cta.broadcast(reg.scalar(f32, init=1), 96)
      legal: 0 to 95, or a 32-bit register
    """,
    block=96,
)
def a_thread_that_is_not_there():
    ptx.cta.broadcast(reg.scalar(f32, init=1), 96)


@wrong(
    LanguageError,
    """
    here: ptx.warp.broadcast takes the number of a lane, not -1
        ptx.warp.broadcast(reg.scalar(f32, init=1), -1)
      legal: 0 to 31, or a 32-bit register
    """,
)
def a_lane_that_is_not_there():
    ptx.warp.broadcast(reg.scalar(f32, init=1), -1)


@wrong(
    LanguageError,
    """
    here: ptx.cluster.reduce_sum takes a register that it writes, not 3
        ptx.cluster.reduce_sum(3)
    """,
    cluster=2,
)
def the_sum_of_a_number():
    ptx.cluster.reduce_sum(3)


@wrong(
    LanguageError,
    """
    here: ptx.warp.exclusive_scan takes a register that it reads, not 'x'
        ptx.warp.exclusive_scan("x")
    """,
)
def the_scan_of_text():
    ptx.warp.exclusive_scan("x")


@wrong(
    LanguageError,
    """
    here: ptx.warp.reduce_sum of .f64 over 32 lanes is not one redux.sync
        ptx.warp.reduce_sum(reg.scalar(f64, init=0), redux=True)
      legal: u32 and s32, width=32
      help: leave redux= out
    """,
)
def redux_of_floats():
    ptx.warp.reduce_sum(reg.scalar(f64, init=0), redux=True)


@wrong(
    IsaError,
    """
    here: sm_75 does not have redux.sync.min.s32
        ptx.warp.reduce_min(reg.scalar(s32, init=0), redux=True)
      targets that do: sm_80 and later
    """,
    arch="sm_75",
)
def redux_before_ampere():
    ptx.warp.reduce_min(reg.scalar(s32, init=0), redux=True)


@wrong(
    LanguageError,
    """
    here: ptx.cta.reduce_sum needs the number of threads of the CTA, which nothing says here
        ptx.cta.reduce_sum(reg.scalar(f32, init=0.0))
      help: kernel(block=128) says it; a device function does not know it
    """,
)
def a_reduction_in_a_device_function():
    @ptx.func
    def total():
        ptx.cta.reduce_sum(reg.scalar(f32, init=0.0))

    ptx.call(total)


@wrong(
    LanguageError,
    """
    here: ptx.cta.broadcast needs the number of threads of the CTA, which nothing says here
        ptx.cta.broadcast(reg.scalar(f32, init=0.0))
      help: kernel(block=128) says it; a device function does not know it
    """,
    block=1,
)
def a_broadcast_in_a_kernel_that_is_launched_by_hand():
    ptx.cta.broadcast(reg.scalar(f32, init=0.0))


@wrong(
    LanguageError,
    """
    here: width=64 is not a number of lanes that a scan has
        ptx.warp.inclusive_scan(reg.scalar(u32, init=0), width=64)
      legal: 2 4 8 16 32
    """,
)
def a_scan_over_two_warps():
    ptx.warp.inclusive_scan(reg.scalar(u32, init=0), width=64)


@wrong.parametrize()
def test_the_whole_message(wrong):
    options = {"arch": "sm_90a", "block": 64, **wrong.options}
    wrong.check(lambda: kernel(**options)(wrong.program).ptx())
