"""mbarriers, clusters, fences and elected lanes: exactly the instructions that are promised."""

import inspect

import pytest

from pyptx._trace import ptx, reg
from pyptx._trace.collectives import cluster
from pyptx._trace.memory import fence, mbarrier, smem
from pyptx.types import b64, f32, pred, u32, u64


def test_a_single_mbarrier_has_the_operations_itself(traced):
    def body():
        bar = smem.mbarrier(name="bar")
        bar.init(1)
        bar.expect_tx(512)
        state = bar.arrive_expect_tx(1024)
        other = bar.arrive()
        bar.arrive(2)
        bar.arrive_drop()
        bar.arrive_drop(3)
        done = bar.test_wait(0)
        later = bar.try_wait(reg.from_(1, u32), cluster=True)
        bar.test_wait(0, relaxed=True)
        bar.inval()
        return [value.dtype for value in (state, other, done, later)]

    found = traced(body)
    assert found.instructions == [
        "mbarrier.init.shared.b64 [bar], 1",
        "mbarrier.expect_tx.shared.b64 [bar], 512",
        "mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 1024",
        "mbarrier.arrive.shared.b64 %rd1, [bar]",
        "mbarrier.arrive.shared.b64 %rd2, [bar], 2",
        "mbarrier.arrive_drop.shared.b64 %rd3, [bar]",
        "mbarrier.arrive_drop.shared.b64 %rd4, [bar], 3",
        "mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0",
        "mov.u32 %u0, 1",
        "mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [bar], %u0",
        "mbarrier.test_wait.parity.relaxed.cta.shared.b64 %p2, [bar], 0",
        "mbarrier.inval.shared.b64 [bar]",
    ]
    assert found.result == [b64, b64, pred, pred]
    assert ".shared .align 8 .b8 bar[8];" in found.text
    found.assemble()


def test_waiting_is_a_loop_of_two_instructions(traced):
    def body():
        bars = smem.mbarrier(2, name="bars")
        bars[0].wait(0)
        bars[1].wait(reg.from_(1, u32), cluster=True)
        bars[1].wait(1, cluster=True, relaxed=True)

    found = traced(body)
    assert found.body == [
        "$L0:",
        "mbarrier.try_wait.parity.shared.b64 %p0, [bars], 0;",
        "@!%p0 bra $L0;",
        "mov.u32 %u0, 1;",
        "$L1:",
        "mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [bars+8], %u0;",
        "@!%p1 bra $L1;",
        "$L2:",
        "mbarrier.try_wait.parity.relaxed.cluster.shared.b64 %p2, [bars+8], 1;",
        "@!%p2 bra $L2;",
        "ret;",
    ]
    found.assemble()


def test_several_mbarriers(traced):
    """`init` makes all; an index in a register costs a `mov` and a `mad`."""

    def body():
        bars = smem.mbarrier(3, name="bars")
        bars.init(32)
        stage = reg.from_(1, u32)
        slot = bars[stage]
        slot.arrive()
        slot.wait(1)
        bars[ptx.special.laneid()].arrive()
        ptx.inst.mbarrier.inval.shared.b64(bars[2])
        ptx.inst.mbarrier.inval.shared.b64(bars)
        return len(bars), [bar.offset for bar in bars]

    found = traced(body)
    assert found.instructions == [
        "mbarrier.init.shared.b64 [bars], 32",
        "mbarrier.init.shared.b64 [bars+8], 32",
        "mbarrier.init.shared.b64 [bars+16], 32",
        "mov.u32 %u0, 1",
        "mov.u32 %u1, bars",
        "mad.lo.u32 %u2, %u0, 8, %u1",
        "mbarrier.arrive.shared.b64 %rd0, [%u2]",
        "mbarrier.try_wait.parity.shared.b64 %p0, [%u2], 1",
        "@!%p0 bra $L0",
        "mov.u32 %u3, bars",
        "mov.u32 %u4, %laneid",
        "mad.lo.u32 %u5, %u4, 8, %u3",
        "mbarrier.arrive.shared.b64 %rd1, [%u5]",
        "mbarrier.inval.shared.b64 [bars+16]",
        "mbarrier.inval.shared.b64 [bars]",
    ]
    assert found.result == (3, [0, 8, 16])
    found.assemble()


def test_operations_take_a_predicate(traced):
    def body():
        bar = smem.mbarrier(name="bar")
        leader = ptx.elect()
        bar.init(1, pred=leader)
        bar.expect_tx(16, pred=leader)
        bar.arrive_expect_tx(16, pred=leader)
        bar.arrive(pred=~leader)
        bar.arrive_drop(pred=leader)
        bar.inval(pred=leader)
        return leader.dtype

    found = traced(body)
    assert found.instructions == [
        "elect.sync _|%p0, 4294967295",
        "@%p0 mbarrier.init.shared.b64 [bar], 1",
        "@%p0 mbarrier.expect_tx.shared.b64 [bar], 16",
        "@%p0 mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 16",
        "@!%p0 mbarrier.arrive.shared.b64 %rd1, [bar]",
        "@%p0 mbarrier.arrive_drop.shared.b64 %rd2, [bar]",
        "@%p0 mbarrier.inval.shared.b64 [bar]",
    ]
    assert found.result is pred
    found.assemble()


def test_early_targets_have_the_oldest_forms(traced):
    def body():
        bar = smem.mbarrier()
        bar.init(1)
        bar.arrive()
        bar.test_wait(0)

    assert traced(body, "sm_80").assemble("sm_80")


def test_the_cluster(traced):
    def body():
        ptx.cluster.arrive()
        ptx.cluster.arrive(relaxed=True, aligned=True)
        ptx.cluster.wait()
        ptx.cluster.sync()
        ptx.cluster.sync(aligned=True)
        return ptx.cluster.rank().dtype, ptx.cluster.size().dtype

    found = traced(body)
    assert found.instructions == [
        "barrier.cluster.arrive",
        "barrier.cluster.arrive.relaxed.aligned",
        "barrier.cluster.wait",
        "barrier.cluster.arrive",
        "barrier.cluster.wait",
        "barrier.cluster.arrive.aligned",
        "barrier.cluster.wait.aligned",
        "mov.u32 %u0, %cluster_ctarank",
        "mov.u32 %u1, %cluster_nctarank",
    ]
    assert found.result == (u32, u32)
    found.assemble()


def test_addresses_in_other_ctas(traced):
    """One `mapa` for everything but a register with an offset."""

    def body():
        tile = smem.alloc(f32, (4, 8), name="tile")
        bars = smem.mbarrier(2, name="bars")
        r = reg.from_(1, u32)
        ptx.cluster.map_shared_rank(tile, 0)
        ptx.cluster.map_shared_rank(tile.address(1, 2), r)
        remote = ptx.cluster.map_shared_rank(bars[1], r)
        ptx.inst.mbarrier.arrive.release.cluster.shared__cluster.b64(remote)
        ptx.cluster.map_shared_rank(r, ptx.cluster.rank())
        ptx.cluster.map_shared_rank(ptx.addr(r), 1)
        ptx.cluster.map_shared_rank(ptx.addr(r, 16), 1)
        ptx.inst.st.shared__cluster.f32(ptx.addr(remote, 4), reg.scalar(f32, init=1.0))

    found = traced(body)
    assert found.instructions == [
        "mov.u32 %u0, 1",
        "mapa.shared::cluster.u32 %u1, tile, 0",
        "mapa.shared::cluster.u32 %u2, tile+40, %u0",
        "mapa.shared::cluster.u32 %u3, bars+8, %u0",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u3]",
        "mov.u32 %u4, %cluster_ctarank",
        "mapa.shared::cluster.u32 %u5, %u0, %u4",
        "mapa.shared::cluster.u32 %u6, %u0, 1",
        "add.u32 %u7, %u0, 16",
        "mapa.shared::cluster.u32 %u8, %u7, 1",
        "mov.f32 %f0, 0f3F800000",
        "st.shared::cluster.f32 [%u3+4], %f0",
    ]
    found.assemble()


def test_arriving_in_another_cta(traced):
    def body():
        bars = smem.mbarrier(2, name="bars")
        ptx.cluster.arrive_remote(bars[1], 0)
        ptx.cluster.arrive_remote(bars, ptx.cluster.rank(), 2)
        ptx.cluster.arrive_remote(bars, 1, relaxed=True)
        bars[1].arrive_remote(1, relaxed=True)

    found = traced(body)
    assert found.instructions == [
        "mapa.shared::cluster.u32 %u0, bars+8, 0",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u0]",
        "mov.u32 %u1, %cluster_ctarank",
        "mapa.shared::cluster.u32 %u2, bars, %u1",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u2], 2",
        "mapa.shared::cluster.u32 %u3, bars, 1",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%u3]",
        "mapa.shared::cluster.u32 %u4, bars+8, 1",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%u4]",
    ]
    found.assemble()


def test_mbarriers_at_any_address(traced):
    def body():
        memory, bars = smem.alloc(b64, 4, name="memory"), smem.mbarrier(2, name="bars")
        place = reg.from_(0, u32)
        ptx.mbarrier.init(memory.address(1), 1)
        ptx.mbarrier.init(memory, 1)
        ptx.mbarrier.expect_tx(bars[1], 16)
        ptx.mbarrier.arrive_expect_tx(place, 32)
        ptx.mbarrier.arrive(ptx.addr(place, 8))
        ptx.mbarrier.arrive(place, 2)
        ptx.mbarrier.at(place).test_wait(1)
        ptx.mbarrier.try_wait(place, 1)
        ptx.mbarrier.wait(place, 0)
        ptx.mbarrier.inval(bars)
        ptx.mbarrier.at(place).arrive_drop()

    found = traced(body)
    assert found.instructions[1:] == [
        "mbarrier.init.shared.b64 [memory+8], 1",
        "mbarrier.init.shared.b64 [memory], 1",
        "mbarrier.expect_tx.shared.b64 [bars+8], 16",
        "mbarrier.arrive.expect_tx.shared.b64 %rd0, [%u0], 32",
        "mbarrier.arrive.shared.b64 %rd1, [%u0+8]",
        "mbarrier.arrive.shared.b64 %rd2, [%u0], 2",
        "mbarrier.test_wait.parity.shared.b64 %p0, [%u0], 1",
        "mbarrier.try_wait.parity.shared.b64 %p1, [%u0], 1",
        "mbarrier.try_wait.parity.shared.b64 %p2, [%u0], 0",
        "@!%p2 bra $L0",
        "mbarrier.inval.shared.b64 [bars]",
        "mbarrier.arrive_drop.shared.b64 %rd3, [%u0]",
    ]
    found.assemble()


def test_registers_of_a_warpgroup(traced):
    def body():
        ptx.setmaxnreg(232)
        ptx.setmaxnreg(40, inc=False)

    assert traced(body).instructions == [
        "setmaxnreg.inc.sync.aligned.u32 232",
        "setmaxnreg.dec.sync.aligned.u32 40",
    ]


def test_fences(traced):
    def body():
        ptx.fence.proxy_async()
        ptx.fence.proxy_async("shared::cta")
        ptx.fence.proxy_async("global")
        ptx.fence.mbarrier_init()

    found = traced(body)
    assert found.instructions == [
        "fence.proxy.async",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async.global",
        "fence.mbarrier_init.release.cluster",
    ]
    found.assemble()


def test_bulk_copies_of_shared_memory(traced):
    """Tiles and mbarriers are operands as they are; `_` may be left out and a predicate given."""

    def body():
        tile = smem.alloc(f32, (2, 64), align=128, name="tile")
        bar = smem.mbarrier(name="bar")
        source = reg.scalar(u64, init=0)
        leader = ptx.elect(0xFF)
        load = ptx.inst.cp.async_.bulk.shared__cluster.global_.mbarrier__complete_tx__bytes
        load(tile.address(1, 0), source, 256, bar, pred=leader)
        load(ptx.addr(tile, 16), ptx.addr(source, 32), reg.from_(16, u32), bar)
        tensor = ptx.inst.cp.async_.bulk.tensor._2d
        tensor.shared__cluster.global_.mbarrier__complete_tx__bytes(
            tile, ptx.addr(source, [0, reg.from_(3, u32)]), bar
        )
        tensor.global_.shared__cta.bulk_group(ptx.addr(source, (-1, 2)), tile)
        ptx.inst.cp.async_.bulk.commit_group()
        ptx.inst.cp.async_.bulk.wait_group.read(0)

    found = traced(body)
    assert found.instructions[1:] == [
        "elect.sync _|%p0, 255",
        (
            "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [tile+256], [%ud0], 256, [bar]"
        ),
        "mov.u32 %u0, 16",
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [tile+16], [%ud0+32], %u0, [bar]"
        ),
        "mov.u32 %u1, 3",
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [tile], [%ud0, {0, %u1}], [bar]"
        ),
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%ud0, {-1, 2}], [tile]",
        "cp.async.bulk.commit_group",
        "cp.async.bulk.wait_group.read 0",
    ]
    found.assemble()


def test_tensor_positions_and_mbarriers_as_text(traced):
    def body():
        source, x = reg.scalar(u64, init=0), reg.from_(0, u32)
        tile, bar = smem.alloc(f32, 64, align=128, name="tile"), smem.mbarrier(name="bar")
        ptx.raw("mbarrier.arrive.shared::cluster.b64 _, [b];", b=bar)
        ptx.raw(
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {x, -4}], [t];",
            map=source, x=x, t=tile,
        )  # fmt: skip

    found = traced(body)
    assert found.instructions[2:] == [
        "mbarrier.arrive.shared::cluster.b64 _, [bar]",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%ud0, {%u0, -4}], [tile]",
    ]
    found.assemble()


def helpers():
    for module in (cluster, fence, mbarrier):
        yield from (
            f
            for name, f in vars(module).items()
            if inspect.isfunction(f) and f.__module__ == module.__name__ and name[0] != "_"
            if f not in (mbarrier.at, mbarrier.array, fence.checked_scope)
            if not name.startswith("reduce")  # counted in test_collectives.py
        )
    for of in (mbarrier.Mbarrier, mbarrier.Mbarriers, mbarrier.MbarrierArray):
        yield from (f for name, f in vars(of).items() if inspect.isfunction(f) and name[0] != "_")
    yield ptx.elect


@pytest.mark.parametrize("helper", list(helpers()), ids=lambda f: f.__qualname__)
def test_every_helper_says_what_it_appends(helper):
    text = " ".join(helper.__doc__.split())
    assert "One `" in text or "Two instructions" in text
