"""Matrices of a warp in the emulator: fragments, products, transposes, and what a sanitizer finds.

The kernels are those that run on GPUs in tests/gpu/test_idioms.py.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pyptx import EmulationError, Tile, kernel, ptx, reg, smem
from pyptx._layouts import fragments
from pyptx.types import DTYPES, f16, f32, s32, u16, u32

from . import tensor_sums

_path = Path(__file__).parents[1] / "trace/idioms.py"
_spec = importlib.util.spec_from_file_location("trace_idioms", _path)
idioms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(idioms)


@pytest.mark.parametrize("product", idioms.warp_products(), ids=lambda p: p.name)
def test_products_of_whole_numbers(product):
    a, b = product.inputs()
    done = product.kernel().emulate(a, b, sanitize=True)
    assert not done.report.findings
    found = product.outcome(done.outputs[0])
    np.testing.assert_array_equal(found, product.expected(a, b))


@pytest.mark.parametrize("trans", [False, True])
def test_matrices_are_loaded_and_stored(trans):
    x = np.arange(256, dtype=np.uint16).reshape(16, 16)
    done = idioms.transpose_by_stmatrix(trans).emulate(x, sanitize=True)
    assert not done.report.findings
    np.testing.assert_array_equal(done.outputs[0], x.T if trans else x)


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_each_lane_gets_the_elements_of_its_fragment(number, trans):
    @kernel(
        in_specs=(Tile(8 * number, 8, u16),), out_specs=(Tile(32, number, u32),), block=32,
        arch="sm_90a",
    )  # fmt: skip
    def load(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        lane = reg.from_(ptx.special.laneid(), u32)
        tile = smem.alloc(f16, (8 * number, 8))
        idioms.fill(tile, x, lane, 32)
        ptx.bar.sync()
        row = lane & (8 * number - 1)
        held = ptx.ldmatrix(src=tile.address(row, 0), layout=f"x{number}", trans=trans)
        for i, register in enumerate(held):
            ptx.inst.st.global_.b32(ptx.addr(y + lane * (4 * number), 4 * i), register)

    x = np.arange(64 * number, dtype=np.uint16).reshape(8 * number, 8)
    done = load.emulate(x, sanitize=True)
    assert not done.report.findings
    held = fragments.ldmatrix(number, trans=trans)
    beside = x.reshape(number, 8, 8).transpose(1, 0, 2).reshape(8, 8 * number)
    for lane in range(32):
        for i in range(number):
            pair = [(beside if trans else x)[at] for at in held.coordinates(lane, i)]
            assert done.outputs[0][lane, i] == int(pair[0]) | int(pair[1]) << 16


def test_a_matrix_is_transposed_in_registers():
    @kernel(in_specs=(Tile(32, u32),), out_specs=(Tile(32, u32),), block=32)
    def transpose(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.laneid(), u32) * 4
        held = ptx.inst.ld.global_.u32(ptx.addr(x + at))
        ptx.inst.st.global_.u32(ptx.addr(y + at), ptx.movmatrix(held))

    x = np.arange(64, dtype=np.uint16).reshape(8, 8)
    done = transpose.emulate(x.view(np.uint32).reshape(-1), sanitize=True)
    np.testing.assert_array_equal(done.outputs[0].view(np.uint16).reshape(8, 8), x.T)


def multiply(dtype, out, k, *, satfinite=False):
    """D = A * B + C, 16 by 8, of one instruction; fragments come and go by `holders`."""
    types = fragments.mma(16, 8, k, bits=DTYPES[dtype].bits)
    counts = types.a.registers, types.b.registers, types.d.registers
    saturating = ".satfinite" if satfinite else ""
    spelling = f"m16n8k{k}.row.col{saturating}.{out}.{dtype}.{dtype}.{out}"

    @kernel(
        in_specs=tuple(Tile(count, 32, u32) for count in counts),
        out_specs=(Tile(counts[2], 32, u32),),
        block=32,
        arch="sm_90a",
    )
    def product(A, B, C, D):
        pointers = ptx.global_ptrs(A, B, C, D)
        at = reg.from_(ptx.special.laneid(), u32) * 4
        kind = {"f32": f32, "s32": s32}[out]
        held = [reg.array(t, n) for t, n in zip((u32, u32, kind), counts, strict=True)]
        for pointer, registers in zip(pointers, held, strict=False):
            for i, register in enumerate(registers):
                ptx.inst.ld.global_.b32(register, ptx.addr(pointer + at, 128 * i))
        instruction = ptx.inst.mma.sync.aligned
        for part in spelling.split("."):
            instruction = getattr(instruction, part)
        a, b, c = held
        instruction(c, a, b, c)
        for i, register in enumerate(c):
            ptx.inst.st.global_.b32(ptx.addr(pointers[3] + at, 128 * i), register)

    return product, types


def spread(fragment, matrix, dtype):
    """A matrix as the registers of a warp: (register, lane) of 32 bits."""
    bits = idioms.bits(matrix, dtype).astype(np.uint64)
    registers = np.zeros((fragment.registers, 32), np.uint64)
    for where, (lane, register, place) in fragment.holders().items():
        registers[register, lane] |= bits[where] << np.uint64(place * DTYPES[dtype].bits)
    return registers.astype(np.uint32)


def collected(fragment, registers, dtype):
    found = np.zeros((fragment.rows, fragment.columns))
    for where, (lane, register, _) in fragment.holders().items():
        found[where] = idioms.values(registers[register : register + 1, lane], dtype)[0]
    return found


@pytest.mark.parametrize(
    ("dtype", "k"), [("f16", 8), ("f16", 16), ("bf16", 16), ("tf32", 4), ("tf32", 8), ("e4m3", 16)]
)
def test_sums_are_those_of_tensor_cores(dtype, k):
    product, types = multiply(dtype, "f32", k)
    random = np.random.default_rng(k)
    a, b = random.normal(size=(16, k)), random.normal(size=(k, 8))
    c = random.normal(size=(16, 8)).astype(np.float32)
    a, b = (idioms.values(idioms.bits(m, dtype), dtype) for m in (a, b))
    if dtype == "tf32":  # the lowest 13 bits are not looked at
        a, b = (m.astype(np.float32) for m in (a, b))
        cut = [(m.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(float) for m in (a, b)]
    else:
        cut = [a, b]
    how = tensor_sums.model("mma", 90, dtype)
    bits = tensor_sums.add(how, (dtype, dtype, "f32"), *cut, c.astype(float))
    expected = bits.astype(np.uint32).view(np.float32)
    done = product.emulate(
        spread(types.a, a, dtype), spread(types.b, b, dtype), spread(types.d, c, "f32")
    )
    np.testing.assert_array_equal(collected(types.d, done.outputs[0], "f32"), expected)


@pytest.mark.parametrize(("satfinite", "expected"), [(False, -(2**31) + 126), (True, 2**31 - 1)])
def test_integers_wrap_or_saturate(satfinite, expected):
    product, types = multiply("s8", "s32", 16, satfinite=satfinite)
    a, b = np.zeros((16, 16)), np.zeros((16, 8))
    a[0, 0], b[0, 0] = 127, 1
    c = np.full((16, 8), 2**31 - 1)
    done = product.emulate(
        spread(types.a, a, "s8"), spread(types.b, b, "s8"), spread(types.d, c, "s32")
    )
    found = collected(types.d, done.outputs[0], "s32")
    assert found[0, 0] == expected
    assert found[1, 1] == 2**31 - 1


def row_of_a_matrix(rows, *, active=32):
    """ldmatrix of one matrix in memory for so many rows, by so many lanes."""

    @kernel(in_specs=(), out_specs=(Tile(32, u32),), block=32, arch="sm_90a")
    def load(Y):
        (y,) = ptx.global_ptrs(Y)
        lane = reg.from_(ptx.special.laneid(), u32)
        tile = smem.alloc(u32, rows * 4, align=16)
        for i in ptx.range_(lane, rows * 4, 32):
            tile[i] = 7
        ptx.bar.sync()
        address = ptx.inst.mad.lo.u32(lane & 7, 16, reg.from_(tile, u32))
        with ptx.if_(lane < active):
            held = ptx.ldmatrix(src=ptx.addr(address), layout="x1")
            ptx.inst.st.global_.b32(ptx.addr(y + lane * 4), held[0])

    return load.emulate(sanitize=True).report


def test_a_whole_matrix_is_no_finding():
    assert not row_of_a_matrix(8).findings


def test_a_row_outside_of_shared_memory_is_found():
    with pytest.raises(EmulationError, match=r"out of bounds: loads 16 bytes of shared memory"):
        row_of_a_matrix(4).check()


def test_a_part_of_a_warp_is_found():
    with pytest.raises(EmulationError, match=r"only lanes 0x0000ffff of the warp reach it"):
        row_of_a_matrix(8, active=16).check()
