"""Atomics on outputs that nothing has set, which would add to what the memory held."""

import numpy as np
import pytest

from pyptx import LanguageError, Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, s32, u32, u64

from .cases import Collection

wrong = Collection()

X = np.ones(32, np.float32)


def _thread():
    return reg.from_(ptx.special.tid.x(), u32)


@wrong(
    LanguageError,
    """
    here: red.global.add.f32 of Y, an output that nothing sets before: it is combined with what the memory held
        ptx.inst.red.global_.add.f32(Y.address(0), X[_thread()])
      help: Tile(1, f32, init=0)   sets it
      help: or store to Y, and let a barrier order the store before this
    """,
)
def a_sum(X, Y):
    ptx.inst.red.global_.add.f32(Y.address(0), X[_thread()])


@wrong(
    LanguageError,
    """
    here: atom.global.max.s32 of Y, an output that nothing sets before: it is combined with what the memory held
        ptx.inst.atom.global_.max.s32(ptx.addr(y + 4 * 0), 3)
      help: Tile(1, s32, init=...)   sets it
      help: or store to Y, and let a barrier order the store before this
    """,
    out_specs=(Tile(1, s32),),
)
def a_maximum_at_a_computed_address(X, Y):
    _, y = ptx.global_ptrs(X, Y)
    ptx.inst.atom.global_.max.s32(ptx.addr(y + 4 * 0), 3)


@wrong(
    LanguageError,
    """
    here: red.global.add.f32 of Y, an output that nothing sets before: it is combined with what the memory held
        ptx.inst.red.global_.add.f32(Y.address(0), X[i])
      help: Tile(1, f32, init=0)   sets it
      help: or store to Y, and let a barrier order the store before this
    """,
    out_specs=(Tile(1, f32), Tile(32, f32)),
)
def a_sum_beside_an_output_that_is_stored(X, Y, Z):
    i = _thread()
    Z[i] = X[i]
    ptx.inst.red.global_.add.f32(Y.address(0), X[i])


@wrong(
    LanguageError,
    """
    here: cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group of Y, an output that nothing sets before: it is combined with what the memory held
        ptx.cp.async_.bulk.tensor_1d.reduce("add", dst=Y.tma_desc((32,)), src=tile, coord=[0])
      help: Tile(32, f32, init=0)   sets it
      help: or store to Y, and let a barrier order the store before this
    """,
    out_specs=(Tile(32, f32),),
    arch="sm_90a",
)
def a_reduction_by_a_tensor_copy(X, Y):
    tile, i = smem.alloc(f32, 32, align=128), _thread()
    tile[i] = X[i]
    ptx.fence.proxy_async("shared::cta")
    ptx.bar.sync()
    with ptx.if_(i == 0):
        ptx.cp.async_.bulk.tensor_1d.reduce("add", dst=Y.tma_desc((32,)), src=tile, coord=[0])
        ptx.cp.async_.bulk.commit_group()
        ptx.cp.async_.bulk.wait_group(0)


@wrong(
    LanguageError,
    """
    here: red.global.add.f32 of Y, an output that nothing sets before: it is combined with what the memory held
        ptx.inst.red.global_.add.f32(Y.address(0), X[_thread()])
      help: Tile(4, f32, init=0)   sets it
      help: or store to Y, and let a barrier order the store before this
    """,
    out_specs=(Tile(4, f32, partial=True),),
)
def a_part_of_an_output(X, Y):
    ptx.inst.red.global_.add.f32(Y.address(0), X[_thread()])


@wrong.parametrize()
def test_message(wrong):
    options = {"in_specs": (Tile(32, f32),), "out_specs": (Tile(1, f32),), "block": 32}
    wrong.check(lambda: kernel(**options | wrong.options)(wrong.program)(X))


def _sum(*outs, **options):
    return kernel(in_specs=(Tile(32, f32),), out_specs=outs, block=32, **options)


def test_an_output_with_init():
    k = _sum(Tile(1, f32, init=0))(a_sum)
    assert [k(X).item() for _ in range(3)] == [32, 32, 32]


def test_an_output_that_a_thread_stores_first():
    @_sum(Tile(1, f32))
    def k(X, Y):
        i = _thread()
        with ptx.if_(i == 0):
            Y[0] = 1.0
        ptx.bar.sync()
        ptx.inst.red.global_.add.f32(Y.address(0), X[i])

    assert [k(X).item() for _ in range(2)] == [33, 33]


def test_an_output_that_an_exchange_sets():
    @_sum(Tile(1, f32))
    def k(X, Y):
        i = _thread()
        with ptx.if_(i == 0):
            ptx.inst.atom.global_.exch.b32(Y.address(0), 0)
        ptx.bar.sync()
        ptx.inst.red.global_.add.f32(Y.address(0), X[i])

    assert [k(X).item() for _ in range(2)] == [32, 32]


def test_an_output_that_has_the_memory_of_an_input():
    @_sum(Tile(32, f32), input_output_aliases={0: 0})
    def k(X, Y):
        ptx.inst.red.global_.add.f32(Y.address(_thread()), 1.0)

    assert k(X.copy()).tolist() == [2.0] * 32


def test_an_input_that_is_scratch():
    """Only outputs are uninitialised."""

    @_sum(Tile(32, f32))
    def k(X, Y):
        i = _thread()
        ptx.inst.red.global_.add.f32(X.address(0), 1.0)
        Y[i] = 1.0

    assert "red.global" in k.ptx()


def test_a_store_by_a_function():
    @ptx.func
    def clear():
        y = ptx.param_register(u64)
        ptx.inst.st.global_.f32(ptx.addr(y), 0.0)

    @_sum(Tile(1, f32))
    def k(X, Y):
        _, y = ptx.global_ptrs(X, Y)
        with ptx.if_(_thread() == 0):
            ptx.call(clear, [y])
        ptx.bar.sync()
        ptx.inst.red.global_.add.f32(ptx.addr(y), 1.0)

    assert k(X).item() == 32


def test_a_tensor_copy_that_stores_first():
    @_sum(Tile(32, f32), arch="sm_90a")
    def k(X, Y):
        tile, i, y = smem.alloc(f32, 32, align=128), _thread(), Y.tma_desc((32,), layout=Layout.ROW)
        tile[i] = X[i]
        ptx.fence.proxy_async("shared::cta")
        ptx.bar.sync()
        with ptx.if_(i == 0):
            for way in ("store", "reduce"):
                copy = ptx.cp.async_.bulk.tensor_1d
                given = {"dst": y, "src": tile, "coord": [0]}
                copy.store(**given) if way == "store" else copy.reduce("add", **given)
                ptx.cp.async_.bulk.commit_group()
                ptx.cp.async_.bulk.wait_group(0)

    assert np.array_equal(k(X), X * 2)


@pytest.mark.parametrize("mode", ["call", "emulate"])
def test_equal_calls(mode):
    """The planted bug gave 32, 64, 96."""
    k = _sum(Tile(1, f32))(a_sum)
    with pytest.raises(LanguageError, match="nothing sets before"):
        k(X) if mode == "call" else k.emulate(X)
