"""Wrong mbarriers, clusters and copies: the message says what is legal and how to write it."""

from pyptx import IsaError, LanguageError, kernel, ptx, reg, smem
from pyptx.types import f32, s32, u64

from .cases import Collection

wrong = Collection()


@wrong(
    LanguageError,
    """
    here: there are 2 mbarriers here: .wait is that of one
        smem.mbarrier(2).wait(0)
      help: bars[0].wait(...)
    """,
)
def an_operation_on_several_mbarriers():
    smem.mbarrier(2).wait(0)


@wrong(
    LanguageError,
    """
    here: index 2 is outside 2 mbarriers
        smem.mbarrier(2)[2]
    """,
)
def an_mbarrier_beyond_the_last():
    smem.mbarrier(2)[2]


@wrong(
    LanguageError,
    """
    here: an index of mbarriers is a 32-bit integer, not .u64
        smem.mbarrier(2)[reg.scalar(u64, init=1)]
      help: convert it: ptx.inst.cvt.u32.u64(r)
    """,
)
def an_index_of_64_bits():
    smem.mbarrier(2)[reg.scalar(u64, init=1)]


@wrong(
    LanguageError,
    """
    here: shared memory needs positive Python ints as its shape, not (0,)
        smem.mbarrier(0)
      help: smem.alloc(f32, (rows, columns)); its size is known before a launch
    """,
)
def no_mbarriers():
    smem.mbarrier(0)


@wrong(
    IsaError,
    """
    here: mbarrier.init.shared.b64: count must be 1 to 1048575, not 0
        smem.mbarrier().init(0)
      form: mbarrier.init.shared.b64  [addr], count
    """,
)
def no_arrivals():
    smem.mbarrier().init(0)


@wrong(
    IsaError,
    """
    here: mbarrier.try_wait.parity.shared.b64: phaseParity must be 0 or 1, not 2
        smem.mbarrier().wait(2)
      form: mbarrier.try_wait.parity.shared.b64  waitComplete, [addr], phaseParity, {timeHint}
    """,
)
def a_phase_instead_of_its_parity():
    smem.mbarrier().wait(2)


@wrong(
    IsaError,
    """
    here: sm_80 does not have mbarrier.try_wait.parity.shared.b64
        smem.mbarrier().wait(0)
      targets that do: sm_90 and later
    """,
    arch="sm_80",
)
def waiting_before_hopper():
    smem.mbarrier().wait(0)


@wrong(
    IsaError,
    """
    here: mbarrier.arrive.release.shared.b64: .sem needs .scope
        ptx.inst.mbarrier.arrive.release.shared.b64(smem.mbarrier())
      form: mbarrier.arrive{.sem}{.scope}{.space}.b64  _, [addr]
    """,
)
def an_order_without_its_scope():
    ptx.inst.mbarrier.arrive.release.shared.b64(smem.mbarrier())


@wrong(
    LanguageError,
    """
    here: 'shared' is no state space of fence.proxy.async
        ptx.fence.proxy_async("shared")
      legal: "global" "shared::cta" "shared::cluster"
    """,
)
def a_space_that_the_fence_does_not_have():
    ptx.fence.proxy_async("shared")


@wrong(
    LanguageError,
    """
    here: ptx.cluster.map_shared_rank takes shared memory, not a number as an address
        ptx.cluster.map_shared_rank(ptx.addr(8), 1)
    """,
)
def a_number_in_another_cta():
    ptx.cluster.map_shared_rank(ptx.addr(8), 1)


@wrong(
    IsaError,
    """
    here: mapa.shared::cluster.u32: a must be a .u32 register, not a .u64 one
        ptx.cluster.map_shared_rank(reg.scalar(u64, init=1), 1)
      help: convert it: ptx.inst.cvt.u32.u64(r)
      form: mapa.shared::cluster.u32  d, a, b
    """,
)
def a_generic_address_in_another_cta():
    ptx.cluster.map_shared_rank(reg.scalar(u64, init=1), 1)


@wrong(
    IsaError,
    """
    here: cp.async.bulk.prefetch.L2.global: size must be a multiple of 16 from 0 to 1048560, not 24
        ptx.inst.cp.async_.bulk.prefetch.L2.global_(reg.scalar(u64, init=0), 24)
      form: cp.async.bulk.prefetch.L2.global  [src], size
    """,
)
def a_size_that_is_no_multiple_of_16():
    ptx.inst.cp.async_.bulk.prefetch.L2.global_(reg.scalar(u64, init=0), 24)


@wrong(
    IsaError,
    """
    here: cp.async.bulk.global.shared::cta.bulk_group: src is misaligned: offset 8 of the shared memory is no multiple of 16
        ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group(x, tile.address(2), 16)
      help: src needs an address that is a multiple of 16
      form: cp.async.bulk.global.shared::cta.bulk_group  [dst], [src], size
    """,
)
def a_bulk_copy_from_an_odd_place():
    x, tile = reg.scalar(u64, init=0), smem.alloc(f32, 64)
    ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group(x, tile.address(2), 16)


@wrong(
    IsaError,
    """
    here: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group: src needs 128-byte alignment, and the shared memory has 16
        ptx.inst.cp.async_.bulk.tensor._2d.global_.shared__cta.bulk_group(ptx.addr(x, [0, 0]), tile)
      help: smem.alloc(..., align=128)
      form: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group  [tensorMap, tensorCoords], [src]
    """,
)
def a_tensor_copy_from_an_odd_place():
    x, tile = reg.scalar(u64, init=0), smem.alloc(f32, 64)
    ptx.inst.cp.async_.bulk.tensor._2d.global_.shared__cta.bulk_group(ptx.addr(x, [0, 0]), tile)


@wrong(
    IsaError,
    """
    here: cp.async.bulk.prefetch.tensor.2d.L2.global: tensorMap must be a tensor map with coordinates, not a .u64 register
        ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_(reg.scalar(u64, init=0))
      help: ptx.addr(tensor_map, [x, y])
      form: cp.async.bulk.prefetch.tensor.2d.L2.global  [tensorMap, tensorCoords]
    """,
)
def a_tensor_map_without_coordinates():
    ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_(reg.scalar(u64, init=0))


@wrong(
    IsaError,
    """
    here: cp.async.bulk.prefetch.tensor.2d.L2.global: tensorCoords must be a list of 2 elements, not 1
        ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_(ptx.addr(x, [0]))
      form: cp.async.bulk.prefetch.tensor.2d.L2.global  [tensorMap, tensorCoords]
    """,
)
def too_few_coordinates():
    x = reg.scalar(u64, init=0)
    ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_(ptx.addr(x, [0]))


@wrong(
    IsaError,
    """
    here: cp.async.bulk.prefetch.tensor.1d.L2.global: tensorCoords must be a .s32 register, not a .f32 one
        ptx.inst.cp.async_.bulk.prefetch.tensor._1d.L2.global_(ptx.addr(x, [c]))
      help: convert it: ptx.inst.cvt.rzi.s32.f32(r)
      form: cp.async.bulk.prefetch.tensor.1d.L2.global  [tensorMap, tensorCoords]
    """,
)
def a_coordinate_that_is_a_float():
    x, c = reg.scalar(u64, init=0), reg.scalar(f32, init=0)
    ptx.inst.cp.async_.bulk.prefetch.tensor._1d.L2.global_(ptx.addr(x, [c]))


@wrong(
    IsaError,
    """
    here: cp.async.bulk.prefetch.tensor.1d.L2.global: tensorMap must be the generic address of a tensor map in one register
        ptx.inst.cp.async_.bulk.prefetch.tensor._1d.L2.global_(ptx.addr(second, [0]))
      help: add an offset to the register, and convert a variable's address with cvta
      form: cp.async.bulk.prefetch.tensor.1d.L2.global  [tensorMap, tensorCoords]
    """,
)
def a_tensor_map_at_an_offset():
    second = ptx.addr(reg.scalar(u64, init=0), 128)
    ptx.inst.cp.async_.bulk.prefetch.tensor._1d.L2.global_(ptx.addr(second, [0]))


@wrong(
    LanguageError,
    """
    here: cp.async.bulk.prefetch.tensor.1d.L2.global reads a .s32 register that nothing has set
        ptx.inst.cp.async_.bulk.prefetch.tensor._1d.L2.global_(ptx.addr(x, [reg.scalar(s32)]))
      help: reg.scalar(s32, init=...) sets it
    """,
)
def a_coordinate_that_nothing_sets():
    x = reg.scalar(u64, init=0)
    ptx.inst.cp.async_.bulk.prefetch.tensor._1d.L2.global_(ptx.addr(x, [reg.scalar(s32)]))


@wrong(
    LanguageError,
    """
    here: a position in a tensor has 1 to 5 coordinates, not []
        ptx.addr(reg.scalar(u64, init=0), [])
      help: ptx.addr(tensor_map, [x, y])
    """,
)
def no_coordinates():
    ptx.addr(reg.scalar(u64, init=0), [])


@wrong(
    IsaError,
    """
    here: ld.global.f32: a must be an address, not a position in a tensor
        ptx.inst.ld.global_.f32(ptx.addr(reg.scalar(u64, init=0), [0, 1]))
      form: ld.global.f32  d, [a]
    """,
)
def a_load_from_a_tensor():
    ptx.inst.ld.global_.f32(ptx.addr(reg.scalar(u64, init=0), [0, 1]))


@wrong(
    IsaError,
    """
    here: mbarrier.arrive.shared::cluster.b64: the destination must be _, not a .u64 register
        ptx.inst.mbarrier.arrive.shared__cluster.b64(state, bar, 1)
      help: leave it out, or write ptx.sink
      form: mbarrier.arrive.shared::cluster.b64  _, [addr], {count}
    """,
)
def the_state_of_an_mbarrier_elsewhere():
    state, bar = reg.scalar(u64), smem.mbarrier()
    ptx.inst.mbarrier.arrive.shared__cluster.b64(state, bar, 1)


@wrong(
    LanguageError,
    """
    here: an mbarrier lies in shared memory, not at 8
        ptx.mbarrier.init(8, 1)
      help: smem.mbarrier(), or its address in a 32-bit register
    """,
)
def an_mbarrier_at_a_number():
    ptx.mbarrier.init(8, 1)


@wrong(
    IsaError,
    """
    here: setmaxnreg.inc.sync.aligned.u32: n must be a multiple of 8 from 24 to 256, not 100
        ptx.setmaxnreg(100)
      form: setmaxnreg.inc.sync.aligned.u32  n
    """,
)
def registers_that_are_no_multiple_of_8():
    ptx.setmaxnreg(100)


@wrong.parametrize()
def test_the_whole_message(wrong):
    options = {"arch": "sm_90a", **wrong.options}
    wrong.check(lambda: kernel(**options)(wrong.program).ptx())
