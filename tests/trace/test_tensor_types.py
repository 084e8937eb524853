"""Accesses of a tensor that mean its elements or their bits, and are legal."""

import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, e4m3, f16, f16x2, f32, s8, s32, u32

INSTRUCTIONS = {
    "its own type": (f32, lambda p: ptx.inst.ld.global_.v4.f32(p)),
    "bits of one element": (f32, lambda p: ptx.inst.ld.global_.b32(p)),
    "bits of several elements": (bf16, lambda p: ptx.inst.ld.global_.v4.b32(p)),
    "unsigned integers of several elements": (bf16, lambda p: ptx.inst.ld.global_.v4.u32(p)),
    "a half as PTX had it": (f16, lambda p: ptx.inst.ld.global_.u16(p)),
    "a byte of a float": (e4m3, lambda p: ptx.inst.ld.global_.u8(reg.scalar(u32), p)),
    "the other sign of a whole register": (s32, lambda p: ptx.inst.ld.global_.u32(p)),
    "bytes with their sign": (s8, lambda p: ptx.inst.ld.global_.s8(reg.scalar(s32), p)),
    "a packed sum": (
        f16,
        lambda p: ptx.inst.red.global_.add.noftz.f16x2(p, reg.scalar(f16x2, init=0)),
    ),
    "a sum": (f32, lambda p: ptx.inst.atom.global_.add.f32(p, 1.0)),
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_legal(name):
    dtype, instruction = INSTRUCTIONS[name]

    def body(X, Y):
        (x,) = ptx.global_ptrs(X)
        instruction(ptx.addr(x + 16))

    specs = {"in_specs": (Tile(64, dtype),), "out_specs": (Tile(64, dtype),)}
    assert kernel(**specs, arch="sm_90a")(body).ptx()


def test_an_address_of_either_of_two_tensors_is_of_neither_type():
    def body(X, H, Y):
        x, h = ptx.global_ptrs(X, H)
        tid = reg.from_(ptx.special.tid.x(), u32)
        either = ptx.inst.selp.u64(x, h, tid < 16)
        ptx.inst.ld.global_.f32(ptx.addr(either))

    specs = {"in_specs": (Tile(64, f32), Tile(64, bf16)), "out_specs": (Tile(64, f32),)}
    assert kernel(**specs)(body).ptx()


def test_an_address_that_was_loaded_is_of_no_tensor():
    def body(X, Y):
        (x,) = ptx.global_ptrs(X)
        far = ptx.inst.ld.global_.b64(ptx.addr(x))
        ptx.inst.ld.global_.f64(ptx.addr(far))

    assert kernel(in_specs=(Tile(64, f32),), out_specs=(Tile(64, f32),))(body).ptx()
