"""Kernels with textures and surfaces as nvcc compiles them (textures.cu beside the PTX)."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import In, Out, Surface, Texture, Tile, from_ptx, ptx
from pyptx.types import f32, s32, u8

FILE = Path(__file__).parents[1] / "text/corpus/nvcc/textures.sm_80.ptx"


def ran(kernel, *arrays):
    done = kernel.emulate(*arrays, sanitize=True)
    assert done.report.findings == (), done.report
    return done.outputs[0]


@pytest.mark.parametrize(
    ("cosine", "sine", "turns"), [(1, 0, 0), (0, 1, 1), (-1, 0, 2), (0, -1, 3)]
)
def test_a_picture_is_turned(cosine, sine, turns):
    """By right angles, so that every texel is met at its centre."""
    kernel = from_ptx(
        FILE,
        entry="turn",
        in_specs=(Tile("H", "W", f32),),
        out_specs=(Tile("H", "W", f32),),
        params=(
            Texture(In(0), filter_mode="linear", address_mode="border", normalized_coords=True),
            Out(0), "W", "H", float(cosine), float(sine),
        ),
        grid=lambda H, W: (ptx.cdiv(W, 32), H),
        block=32,
    )  # fmt: skip
    picture = np.random.default_rng(1).random((64, 64), np.float32)
    np.testing.assert_array_equal(ran(kernel, picture), np.rot90(picture, turns))


def test_colours_in_surfaces():
    kernel = from_ptx(
        FILE,
        entry="inverted",
        in_specs=(Tile("H", "W", 4, u8),),
        out_specs=(Tile("H", "W", 4, u8),),
        params=(Surface(In(0), channels=4), Surface(Out(0), channels=4), "W"),
        grid=lambda H, W: (ptx.cdiv(W, 32), H),
        block=32,
    )
    picture = np.random.default_rng(2).integers(0, 256, (7, 40, 4), np.uint8)
    wanted = 255 - picture
    wanted[..., 3] = picture[..., 3]
    np.testing.assert_array_equal(ran(kernel, picture), wanted)
    np.testing.assert_array_equal(kernel(picture), wanted)


def table_kernel():
    return from_ptx(
        FILE,
        entry="looked_up",
        in_specs=(Tile("T", 2, f32), Tile("N", s32)),
        out_specs=(Tile("N", 2, f32),),
        params=(Texture(In(0), kind="linear", channels=2), In(1), Out(0), "N"),
        grid=lambda T, N: ptx.cdiv(N, 64),
        block=64,
        parallel=("N",),
    )


def test_a_table_in_linear_memory():
    random = np.random.default_rng(3)
    table, indices = random.random((50, 2), np.float32), random.integers(0, 50, 100, np.int32)
    np.testing.assert_array_equal(ran(table_kernel(), table, indices), table[indices])


@pytest.mark.parametrize(("mode", "padding"), [("clamp", "edge"), ("border", "constant")])
def test_a_volume(mode, padding):
    kernel = from_ptx(
        FILE,
        entry="around",
        in_specs=(Tile("D", "H", "W", f32),),
        out_specs=(Tile("D", "H", "W", f32),),
        params=(Texture(In(0), address_mode=mode), Out(0), "W", "H"),
        grid=lambda D, H, W: (H, D),
        block=16,
    )
    volume = np.random.default_rng(4).integers(0, 100, (5, 6, 16)).astype(np.float32)
    padded = np.pad(volume, 1, padding)
    wanted = sum(
        padded[k : k + 5, j : j + 6, i : i + 16]
        for k in range(3) for j in range(3) for i in range(3)
    )  # fmt: skip
    np.testing.assert_array_equal(ran(kernel, volume), wanted)


def test_levels_of_vmap():
    """Of the indices alone one launch takes all, of tables too each element is a launch."""
    kernel = table_kernel()
    random = np.random.default_rng(3)
    tables = random.random((3, 50, 2), np.float32)
    indices = random.integers(0, 50, (3, 100), np.int32)
    found = jax.vmap(kernel, in_axes=(None, 0))(jnp.asarray(tables[0]), indices)
    np.testing.assert_array_equal(found, tables[0][indices])
    found = jax.vmap(kernel)(jnp.asarray(tables), indices)
    np.testing.assert_array_equal(found, [t[i] for t, i in zip(tables, indices, strict=True)])
