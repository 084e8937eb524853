"""`ptx.mma.sync` and `ptx.wgmma.mma_async` compare what registers hold with the given types."""

import pytest

from pyptx import LanguageError, kernel, ptx, reg, smem
from pyptx.types import b8, b16, b32, bf16, bf16x2, e4m3, e5m2, f16, f32, s8, s32, tf32, u8, u16

from .cases import Collection

wrong = Collection()

SHAPE = (16, 8, 16)


def _product(kinds, a, b, d, shape=SHAPE):
    kind_d, kind_a, kind_b = kinds
    types = {"dtype_d": kind_d, "dtype_a": kind_a, "dtype_b": kind_b, "dtype_c": kind_d}
    ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)


def _sums(dtype=f32, shape=SHAPE):
    made = reg.mma_frag("d", shape=shape, dtype=dtype)
    for each in made:
        each.set(0)
    return made


def _loaded(dtype, other=None):
    """A and B of 32 bytes of K, from tiles of these types."""
    a, b = (smem.alloc(kind, (16, 128 // kind.bits * 2)) for kind in (dtype, other or dtype))
    return ptx.mma.load_a(a), ptx.mma.load_b(b)[:2]


@wrong(
    LanguageError,
    """
    here: a= holds .bf16, and dtype_a is .f16
        ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)
      help: dtype_a=bf16
      help: tile.view(dtype) is the same shared memory as elements of another type
    """,
)
def bf16_read_as_f16():
    _product((f32, f16, f16), *_loaded(bf16), _sums())


@wrong(
    LanguageError,
    """
    here: b= holds .f16, and dtype_b is .bf16
        ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)
      help: dtype_b=f16
      help: tile.view(dtype) is the same shared memory as elements of another type
    """,
)
def one_multiplicand_of_another_type():
    _product((f32, bf16, bf16), *_loaded(bf16, f16), _sums())


@wrong(
    LanguageError,
    """
    here: a= holds .bf16, and dtype_a is .f16
        ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)
      help: dtype_a=bf16
      help: tile.view(dtype) is the same shared memory as elements of another type
    """,
)
def registers_of_a_declared_type():
    made = [reg.mma_frag(name, shape=SHAPE, dtype=bf16) for name in "ab"]
    _product((f32, f16, f16), *made, _sums())


@wrong(
    LanguageError,
    """
    here: a= holds .e4m3, and dtype_a is .e5m2
        ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)
      help: dtype_a=e4m3
      help: tile.view(dtype) is the same shared memory as elements of another type
    """,
    arch="sm_89",
)
def one_type_of_8_bits_read_as_another():
    _product((f32, e5m2, e5m2), *_loaded(e4m3), _sums(), (16, 8, 32))


@wrong(
    LanguageError,
    """
    here: b= holds .s8, and dtype_b is .u8
        ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)
      help: dtype_b=s8
      help: tile.view(dtype) is the same shared memory as elements of another type
    """,
)
def signed_read_as_unsigned():
    shape = (16, 8, 32)
    made = [reg.mma_frag(name, shape=shape, dtype=kind) for name, kind in (("a", u8), ("b", s8))]
    _product((s32, u8, u8), *made, _sums(s32, shape), shape)


@wrong(
    LanguageError,
    """
    here: a= holds .f32, and dtype_a is .f16
        ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)
      help: dtype_a=tf32
      help: tile.view(dtype) is the same shared memory as elements of another type
    """,
)
def elements_of_twice_the_width():
    _product((f32, f16, f16), *_loaded(f32), _sums())


@wrong(
    LanguageError,
    """
    here: d= holds .bf16, and dtype_d is .f16
        ptx.mma.sync(shape=shape, d=d, a=a, b=b, c=d, **types)
      help: dtype_d=bf16
    """,
)
def accumulators_of_another_type():
    _product((f16, f16, f16), *_loaded(f16), reg.array(bf16x2, 2))


def _warpgroups(kind):
    types = {"dtype_d": f32, "dtype_a": kind, "dtype_b": kind}
    b, d = smem.wgmma_tile(kind, (64, 16)), reg.wgmma_frag(n=64, dtype=f32)
    a = reg.array(bf16x2, 4)
    for each in (*a, *d):
        each.set(0)
    ptx.wgmma.mma_async(shape=(64, 64, 16), d=d, a=a, b=b, scale_d=True, **types)


@wrong(
    LanguageError,
    """
    here: a= holds .bf16, and dtype_a is .f16
        ptx.wgmma.mma_async(shape=(64, 64, 16), d=d, a=a, b=b, scale_d=True, **types)
      help: dtype_a=bf16
      help: tile.view(dtype) is the same shared memory as elements of another type
    """,
    arch="sm_90a",
    block=128,
)
def a_warpgroups_registers_of_another_type():
    _warpgroups(f16)


def test_registers_of_a_warpgroup():
    @kernel(block=128, arch="sm_90a")
    def k():
        _warpgroups(bf16)

    assert "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16" in k.ptx()


@wrong.parametrize()
def test_message(wrong):
    k = kernel(**{"block": 32, "arch": "sm_80"} | wrong.options)(wrong.program)
    wrong.check(k.ptx)


@pytest.mark.parametrize(
    ("held", "kinds", "shape"),
    [
        (bf16, (f32, bf16, bf16), SHAPE),
        (f16, (f16, f16, f16), SHAPE),
        (b16, (f32, bf16, bf16), SHAPE),
        (u16, (f32, bf16, bf16), SHAPE),
        (f32, (f32, tf32, tf32), (16, 8, 8)),
        (tf32, (f32, tf32, tf32), (16, 8, 8)),
        (b32, (f32, tf32, tf32), (16, 8, 8)),
        (b8, (f32, e4m3, e5m2), (16, 8, 32)),
        (e4m3, (f32, e4m3, e4m3), (16, 8, 32)),
        (s8, (s32, s8, s8), (16, 8, 32)),
        (u8, (s32, "s4", "u4"), (16, 8, 64)),
    ],
)
def test_the_type_of_the_tile(held, kinds, shape):
    """The twin without the mistake: types that agree, and memory of bits alone."""

    @kernel(block=32, arch="sm_89")
    def k():
        _product(kinds, *_loaded(held), _sums(kinds[0], shape), shape)

    assert "mma.sync.aligned" in k.ptx()


def test_a_view_is_the_cure():
    @kernel(block=32, arch="sm_80")
    def k():
        a, b = (smem.alloc(bf16, (16, 16)).view(f16) for _ in range(2))
        _product((f32, f16, f16), ptx.mma.load_a(a), ptx.mma.load_b(b)[:2], _sums())

    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in k.ptx()


def test_registers_that_were_changed_after_the_load():
    """`xor` of the highest bit makes s8 the u8 that is larger by 128."""

    @kernel(block=32, arch="sm_80")
    def k():
        a, b = _loaded(s8)
        for each in a:
            each ^= 0x80808080  # noqa: PLW2901 -- the register is written, no name
        shape = (16, 8, 32)
        _product((s32, u8, s8), a, b, _sums(s32, shape), shape)

    assert "s32.u8.s8.s32" in k.ptx()
