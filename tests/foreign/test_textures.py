"""Textures of foreign kernels in the emulator, held to NumPy, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import EmulationError, In, Out, SpecError, Struct, Texture, Tile, from_ptx
from pyptx import _emulator as emulator
from pyptx import types as t
from pyptx._text import ParseError

from .textures import HEAD, Sampler, fetching

POINTS = 64
DTYPES = {
    "u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "u32": np.uint32,
    "s32": np.int32, "f16": np.float16, "f32": np.float32,
}  # fmt: skip
GEOMETRIES = {
    "1d": ("{c0}", 1), "2d": ("{c0}, {c1}", 2), "3d": ("{c0}, {c1}, {c2}, {c2}", 3),
}  # fmt: skip


def said(error):
    """The whole message but its place, which is the line that calls from_ptx."""
    place, _, rest = str(error).partition(": ")
    problem, line, *notes = rest.split("\n")
    assert Path(place.rpartition(":")[0]).name == "test_textures.py"
    assert line == "    return from_ptx("
    return "\n".join([problem, *notes])


def drawn(shape, dtype="f32", seed=3):
    random = np.random.default_rng(seed)
    if dtype.startswith("f"):
        return random.normal(size=shape).astype(DTYPES[dtype])
    info = np.iinfo(DTYPES[dtype])
    values = random.integers(info.min, info.max, shape, DTYPES[dtype], endpoint=True)
    values.reshape(-1)[:2] = info.min, info.max
    return values


def kernel(ptx, shape, dtype, columns, texture, words=t.f32):
    return from_ptx(
        ptx,
        in_specs=(Tile(*shape, t.from_name(dtype)), Tile(POINTS, columns, t.f32)),
        out_specs=(Tile(POINTS, 4, words),),
        params=(texture, In(1), Out(0)),
        grid=1,
        block=POINTS,
    )


def fetched(made, values, at):
    done = made.emulate(values, np.ascontiguousarray(at, np.float32), sanitize=True)
    assert done.report.findings == (), done.report
    return done.outputs[0]


def points(sizes, *, normalized, seed=9):
    """Coordinates inside, on edges, at centres, and far outside."""
    random = np.random.default_rng(seed)
    at = random.uniform(-1.5, 2.5, (POINTS, len(sizes))) * sizes
    at[:8] = np.arange(8)[:, None]
    at[8:16] = np.arange(8)[:, None] + 0.5
    at[16:20] = np.array([-3e9, 3e9, -0.25, 0.25])[:, None]
    return (at / sizes if normalized else at).astype(np.float32)


# ---- sampling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("filter_mode", ["point", "linear"])
@pytest.mark.parametrize(
    ("mode", "normalized"),
    [("clamp", False), ("border", False), ("clamp", True), ("border", True), ("wrap", True),
     ("mirror", True)],
)  # fmt: skip
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_address_modes_and_filters(geometry, mode, normalized, filter_mode):
    coordinates, axes = GEOMETRIES[geometry]
    shape = (4, 5, 8)[3 - axes :]
    values = drawn(shape)
    at = points(np.array(shape[::-1]), normalized=normalized)
    if normalized and mode in ("wrap", "mirror"):
        at[16:18] = [[0.125], [-0.375]]
    texture = Texture(
        In(0), address_mode=mode, filter_mode=filter_mode, normalized_coords=normalized,
        border_color=(7.0,),
    )  # fmt: skip
    text = fetching(f"tex.{geometry}.v4.f32.f32", coordinates, axes)
    found = fetched(kernel(text, shape, "f32", axes, texture), values, at)
    sampler = Sampler(
        values.reshape((1,) * (3 - axes) + (*shape, 1)),
        (mode,) * 3, filter_mode == "linear", normalized, (7.0,),
    )  # fmt: skip
    wanted = np.array([sampler.at(*row)[0] for row in at])
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found[:, 1:], 0)  # components that it does not have


def test_each_axis_has_its_address_mode():
    values = drawn((6, 8))
    at = points(np.array([8, 6]), normalized=True)[20:]
    at = np.vstack([at, at[: POINTS - len(at)]])
    texture = Texture(In(0), address_mode=("wrap", "border"), normalized_coords=True)
    text = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
    found = fetched(kernel(text, (6, 8), "f32", 2, texture), values, at)
    sampler = Sampler(values.reshape(1, 6, 8, 1), ("wrap", "border", "clamp"), normalized=True)
    np.testing.assert_array_equal(
        found[:, 0], np.array([sampler.at(*row)[0] for row in at], np.float32)
    )


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_texels_of_every_type(dtype, channels):
    """Integers are extended to 32 bits, f16 is widened."""
    shape = (8, 8) if channels == 1 else (8, 8, channels)
    values = drawn(shape, dtype)
    at = np.random.default_rng(1).uniform(0, 8, (POINTS, 2)).astype(np.float32)
    floats = dtype.startswith("f")
    result = "f32" if floats else "s32" if dtype.startswith("s") else "u32"
    text = fetching(f"tex.2d.v4.{result}.f32", "{c0}, {c1}", 2, kind="f" if floats else "r")
    words = t.f32 if floats else t.s32
    made = kernel(text, shape, dtype, 2, Texture(In(0), channels=channels), words)
    found = fetched(made, values, at)
    i, j = at.astype(int).T
    wanted = values.reshape(8, 8, channels)[j, i]
    wide = wanted.astype(np.float32) if floats else wanted.astype(np.int64).astype(np.int32)
    np.testing.assert_array_equal(found[:, :channels], wide)


@pytest.mark.parametrize("filter_mode", ["point", "linear"])
@pytest.mark.parametrize("dtype", ["u8", "s8", "u16", "s16"])
def test_integers_as_normalized_floats(dtype, filter_mode):
    values = drawn((8, 8), dtype)
    at = points(np.array([8, 8]), normalized=False)
    texture = Texture(In(0), read_mode="normalized_float", filter_mode=filter_mode)
    text = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
    found = fetched(kernel(text, (8, 8), dtype, 2, texture), values, at)
    scaled = np.maximum(values / np.iinfo(DTYPES[dtype]).max, -1.0)
    sampler = Sampler(scaled.reshape(1, 8, 8, 1), linear=filter_mode == "linear")
    wanted = np.array([sampler.at(*row)[0] for row in at])
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6, atol=1e-7)


def test_fetches_from_linear_memory_give_zeros_beyond_it():
    """tex1Dfetch: the coordinate is an integer."""
    values = drawn((40,))
    at = np.arange(-12, POINTS - 12, dtype=np.int32).view(np.float32)[:, None]
    text = fetching("tex.1d.v4.f32.s32", "{r0}", 1)
    found = fetched(kernel(text, (40,), "f32", 1, Texture(In(0), kind="linear")), values, at)
    wanted = np.zeros(POINTS, np.float32)
    wanted[12:52] = values
    np.testing.assert_array_equal(found[:, 0], wanted)


def test_layers():
    """The first coordinate is the layer, and is clamped to those that there are."""
    values = drawn((3, 4, 8))
    at = np.column_stack(
        [np.arange(POINTS) % 5, *np.random.default_rng(2).uniform(0, (8, 4), (POINTS, 2)).T]
    ).astype(np.float32)
    layers = at[:, 0].astype(np.int32)
    given = at.copy()
    given[:, 0] = layers.view(np.float32)
    text = fetching("tex.a2d.v4.f32.f32", "{r0}, {c1}, {c2}, {c2}", 3)
    texture = Texture(In(0), kind="2d_layered")
    found = fetched(kernel(text, (3, 4, 8), "f32", 3, texture), values, given)
    i, j = at[:, 1:].astype(int).T
    np.testing.assert_array_equal(found[:, 0], values[np.minimum(layers, 2), j, i])


def test_layers_of_one_dimension():
    values = drawn((3, 8))
    at = np.random.default_rng(2).uniform(0, 8, (POINTS, 2)).astype(np.float32)
    at[:, 0] = (np.arange(POINTS, dtype=np.int32) % 3).view(np.float32)
    text = fetching("tex.a1d.v4.f32.f32", "{r0}, {c1}", 2)
    texture = Texture(In(0), kind="1d_layered", filter_mode="linear")
    found = fetched(kernel(text, (3, 8), "f32", 2, texture), values, at)
    wanted = [
        Sampler(values[i % 3].reshape(1, 1, 8, 1), linear=True).at(x)[0]
        for i, x in enumerate(at[:, 1])
    ]
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6, atol=1e-6)


# The guide's table: the face, and the coordinates there before they are divided.
FACES = {
    (0, False): lambda x, y, z: (-z, -y), (0, True): lambda x, y, z: (z, -y),
    (1, False): lambda x, y, z: (x, z), (1, True): lambda x, y, z: (x, -z),
    (2, False): lambda x, y, z: (x, -y), (2, True): lambda x, y, z: (-x, -y),
}  # fmt: skip


@pytest.mark.parametrize("layered", [False, True])
def test_cubemaps(layered):
    """A direction meets the face of its largest coordinate."""
    values = drawn((12 if layered else 6, 8, 8))
    directions = np.random.default_rng(4).normal(size=(POINTS, 3)).astype(np.float32)
    layer = np.arange(POINTS) % 2 if layered else np.zeros(POINTS, int)
    wanted = []
    for number, direction in zip(layer, directions, strict=True):
        axis = int(np.argmax(np.abs(direction)))
        negative = bool(direction[axis] < 0)
        s, down = FACES[axis, negative](*map(float, direction))
        most = abs(float(direction[axis]))
        face = values[6 * number + 2 * axis + negative]
        i, j = ((c / most + 1) / 2 * 8 for c in (s, down))
        wanted.append(face[min(int(j), 7), min(int(i), 7)])
    if layered:
        at = np.column_stack([layer.astype(np.int32).view(np.float32), directions])
        text = fetching("tex.acube.v4.f32.f32", "{r0}, {c1}, {c2}, {c3}", 4)
    else:
        at, text = directions, fetching("tex.cube.v4.f32.f32", "{c0}, {c1}, {c2}, {c2}", 3)
    texture = Texture(In(0), kind="cubemap_layered" if layered else "cubemap")
    made = kernel(text, values.shape, "f32", at.shape[1], texture)
    np.testing.assert_array_equal(fetched(made, values, at)[:, 0], wanted)


@pytest.mark.parametrize("component", "rgba")
def test_gathering_one_component_of_four_texels(component):
    """From the lower left one on, counter-clockwise."""
    values = drawn((8, 8, 4))
    at = np.random.default_rng(6).uniform(1, 7, (POINTS, 2)).astype(np.float32)
    text = fetching(f"tld4.{component}.2d.v4.f32.f32", "{c0}, {c1}", 2)
    found = fetched(kernel(text, (8, 8, 4), "f32", 2, Texture(In(0), channels=4)), values, at)
    i, j = np.floor(at - 0.5).astype(int).T
    plane = values[..., "rgba".index(component)]
    wanted = np.stack([plane[j + 1, i], plane[j + 1, i + 1], plane[j, i + 1], plane[j, i]], 1)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("spelling", "more"),
    [("tex.level", ", %c1"), ("tex.grad", ", {%c0, %c1}, {%c1, %c0}"), ("tex.base", "")],
)
def test_the_only_level(spelling, more):
    values = drawn((8, 8))
    at = np.random.default_rng(7).uniform(0, 8, (POINTS, 2)).astype(np.float32)
    text = fetching(f"{spelling}.2d.v4.f32.f32", "{c0}, {c1}", 2)
    text = text.replace("}];", f"}}]{more};")
    i, j = at.astype(int).T
    found = fetched(kernel(text, (8, 8), "f32", 2, Texture(In(0))), values, at)
    np.testing.assert_array_equal(found[:, 0], values[j, i])


def test_offsets_count_texels():
    values = drawn((8, 8))
    at = np.random.default_rng(8).uniform(0, 1, (POINTS, 2)).astype(np.float32)
    text = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
    text = text.replace("tex.2d", "mov.u32 %r5, 3;\nmov.s32 %r6, -2;\ntex.2d")
    text = text.replace("}];", "}], {%r5, %r6};")
    texture = Texture(In(0), address_mode="wrap", normalized_coords=True)
    found = fetched(kernel(text, (8, 8), "f32", 2, texture), values, at)
    i, j = (at.astype(float) * 8).astype(int).T
    np.testing.assert_array_equal(found[:, 0], values[(j - 2) % 8, (i + 3) % 8])


@pytest.mark.parametrize(("dtype", "count"), [("f16", 4), ("f16x2", 2)])
def test_halves(dtype, count):
    """Results are rounded to f16, in a register each or two in one."""
    values = drawn((8, 8, 4))
    at = np.random.default_rng(7).uniform(0, 8, (POINTS, 2)).astype(np.float32)
    kind = "h" if count == 4 else "r"
    text = fetching(f"tex.2d.v{count}.{dtype}.f32", "{c0}, {c1}", 2, kind=kind)
    if count == 4:
        packed = "".join(f"mov.b32 %r{i}, {{%h{2 * i - 1}, %h{2 * i}}};\n" for i in (1, 2))
        text = text.replace("mul.wide.u32 %rd6", packed + "mul.wide.u32 %rd6")
        text = text.replace("{%h1, %h2, %h3, %h4};\nret", "{%r1, %r2, 0, 0};\nret")
    else:
        text = text.replace("{%r1, %r2, %r3, %r4}, [%rd1", "{%r1, %r2}, [%rd1")
        text = text.replace("{%r1, %r2, %r3, %r4};", "{%r1, %r2, 0, 0};")
    found = fetched(kernel(text, (8, 8, 4), "f32", 2, Texture(In(0), channels=4)), values, at)
    i, j = at.astype(int).T
    halves = np.ascontiguousarray(found[:, :2]).view(np.float16)
    np.testing.assert_array_equal(halves, values[j, i].astype(np.float16))


def test_residency():
    """All texels are there."""
    values = drawn((8, 8))
    at = np.random.default_rng(7).uniform(0, 8, (POINTS, 2)).astype(np.float32)
    text = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
    text = text.replace("}, [%rd1", "}|%p1, [%rd1").replace(
        "mul.wide.u32 %rd6", "selp.f32 %f2, 5.0, 6.0, %p1;\nmul.wide.u32 %rd6"
    )
    text = text.replace("5.0, 6.0", "0f40A00000, 0f40C00000")
    found = fetched(kernel(text, (8, 8), "f32", 2, Texture(In(0))), values, at)
    np.testing.assert_array_equal(found[:, 1], 5)


# ---- calls ---------------------------------------------------------------------------------------


def flipped(**options):
    """y[i, j] = tex2D(t, N - j, i), whose sizes are known at the call."""
    return from_ptx(
        f"""{HEAD}
.visible .entry flip(.param .u64 flip_tex, .param .u64 flip_y, .param .u32 flip_n)
{{
.reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [flip_tex];
ld.param.u64 %rd2, [flip_y];
ld.param.u32 %r1, [flip_n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
sub.u32 %r4, %r1, %r2;
cvt.rn.f32.u32 %f1, %r4;
sub.f32 %f1, %f1, 0f3F000000;
cvt.rn.f32.u32 %f2, %r3;
tex.2d.v4.f32.f32 {{%f3, %f4, %f5, %f6}}, [%rd1, {{%f1, %f2}}];
mad.lo.u32 %r5, %r3, %r1, %r2;
mul.wide.u32 %rd3, %r5, 4;
add.u64 %rd4, %rd2, %rd3;
st.global.f32 [%rd4], %f3;
ret;
}}
""",
        in_specs=(Tile("M", "N", t.f32),),
        out_specs=(Tile("M", "N", t.f32),),
        params=(Texture(In(0), **options), Out(0), "N"),
        grid=lambda M, N: M,
        block=8,
    )


def test_sizes_are_those_of_the_call():
    for rows in (3, 5):
        values = drawn((rows, 8))
        np.testing.assert_array_equal(flipped()(values), values[:, ::-1])


def test_under_jax():
    run = flipped()
    values = drawn((2, 3, 8))
    np.testing.assert_array_equal(jax.jit(run)(values[0]), values[0, :, ::-1])
    np.testing.assert_array_equal(jax.vmap(run)(jnp.asarray(values)), values[:, :, ::-1])


def test_a_field_of_a_structure():
    values = drawn((40,))
    at = np.arange(POINTS, dtype=np.int32).view(np.float32)[:, None]
    text = fetching("tex.1d.v4.f32.s32", "{r0}", 1)
    text = text.replace(".param .u64 fetch_tex", ".param .align 8 .b8 fetch_tex[16]")
    text = text.replace("[fetch_tex];", "[fetch_tex+8];")
    given = Struct({0: 1, 8: Texture(In(0), kind="linear")})
    found = fetched(kernel(text, (40,), "f32", 1, given), values, at)
    np.testing.assert_array_equal(found[:40, 0], values)


def test_a_launch_on_a_gpu_says_that_there_are_none():
    with pytest.raises(SpecError) as caught:
        flipped()._look({}).launched()
    assert said(caught.value) == (
        "flip has textures or surfaces, which run in the emulator only: a launch makes no texture "
        "objects\n  help: call it on NumPy arrays, or on arrays of a CPU"
    )


# ---- questions -----------------------------------------------------------------------------------

ANSWERS = {
    "width": 8, "height": 4, "depth": 1, "channel_data_type": 0x10D2, "channel_order": 0x10B5,
    "normalized_coords": 1, "array_size": 1,
}  # fmt: skip


def test_what_is_asked_of_a_texture():
    asked = "\n".join(
        f"txq.{name}.b32 %r1, [%rd1];\nst.global.u32 [%rd2+{4 * i}], %r1;"
        for i, name in enumerate(ANSWERS)
    )
    text = f"""{HEAD}
.visible .entry ask(.param .u64 ask_tex, .param .u64 ask_y)
{{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;
ld.param.u64 %rd1, [ask_tex];
ld.param.u64 %rd2, [ask_y];
{asked}
istypep.texref %p1, %rd1;
selp.u32 %r1, 1, 0, %p1;
istypep.surfref %p2, %rd1;
selp.u32 %r2, 1, 0, %p2;
st.global.v2.u32 [%rd2+32], {{%r1, %r2}};
ret;
}}
"""
    made = from_ptx(
        text,
        in_specs=(Tile(4, 8, 4, t.u8),),
        out_specs=(Tile(10, t.u32, partial=True),),
        params=(
            Texture(In(0), channels=4, read_mode="normalized_float", normalized_coords=True),
            Out(0),
        ),
        grid=1,
        block=1,
    )
    found = made(np.zeros((4, 8, 4), np.uint8))
    assert dict(zip(ANSWERS, found.tolist(), strict=False)) == ANSWERS
    assert found[8:].tolist() == [1, 0]


# ---- findings ------------------------------------------------------------------------------------


def finding(text, shape=(8, 8), dtype="f32", texture=None, columns=2, words=t.f32):
    made = kernel(text, shape, dtype, columns, texture or Texture(In(0)), words)
    done = made.emulate(np.ones(shape, DTYPES[dtype]), np.ones((POINTS, columns), np.float32))
    (found,) = done.report.findings
    assert found.kind == "bad-texture"
    return found


def test_findings_name_the_line():
    text = fetching("tex.3d.v4.f32.f32", "{c0}, {c1}, {c1}, {c1}", 2)
    found = finding(text)
    lines = str(found).partition(": ")[2].splitlines()
    assert lines[0] == (
        'wrong use of a texture or surface: the texture has kind "2d", and the instruction takes '
        'kind "3d"'
    )
    assert lines[1] == "    tex.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%c0, %c1, %c1, %c1}];"


def test_integers_are_not_read_as_floats():
    text = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
    assert finding(text, dtype="u8").note == (
        "the texture gives integers, and the instruction takes floats"
    )
    text = fetching("tex.2d.v4.u32.f32", "{c0}, {c1}", 2, kind="r")
    assert finding(text).note == "the texture gives floats, and the instruction takes integers"


def test_an_address_is_no_handle():
    text = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
    assert finding(text, texture=In(0)).note == (
        "its operand is no handle of a texture of this launch: Texture(...) in params= of "
        "from_ptx gives one"
    )


def test_an_offset_out_of_range():
    text = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
    text = text.replace("}];", "}], {8, 0};")
    assert finding(text).note == "its offset 8 is not in -8 to 7"


STALE = f"""{HEAD}
.visible .entry stale(.param .u64 stale_tex, .param .u64 stale_x, .param .u64 stale_y)
{{
.reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [stale_tex];
ld.param.u64 %rd2, [stale_x];
ld.param.u64 %rd3, [stale_y];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd4, %r1, 4;
add.u64 %rd5, %rd2, %rd4;
add.u64 %rd6, %rd3, %rd4;
STORE
bar.sync 0;
tex.1d.v4.f32.s32 {{%f3, %f4, %f5, %f6}}, [%rd1, {{%r1}}];
LATE
st.global.f32 [%rd6], %f3;
ret;
}}
"""


@pytest.mark.parametrize("planted", [True, False])
def test_the_texture_cache_does_not_see_stores_of_the_launch(planted):
    """A store before the fetch, by the same thread even; a store after it is fine."""
    store = "st.global.u32 [%rd5], %r1;"
    text = STALE.replace("STORE", store if planted else "").replace(
        "LATE", "" if planted else store
    )
    made = from_ptx(
        text,
        in_specs=(Tile(32, t.f32),),
        out_specs=(Tile(32, t.f32), Tile(32, t.f32)),
        input_output_aliases={0: 0},
        params=(Texture(In(0), kind="linear"), Out(0), Out(1)),
        grid=1,
        block=32,
    )
    report = made.emulate(np.ones(32, np.float32), sanitize=True).report
    if not planted:
        assert report.findings == ()
        return
    (found,) = report.findings
    assert found.kind == "non-coherent-load"
    assert found.note == (
        "textures and surfaces may give the value from before the kernel's store; the next kernel "
        "reads the stored one"
    )
    assert found.site.location.text.startswith("tex.1d")
    assert found.other.location.text == store


# ---- errors --------------------------------------------------------------------------------------

TEXT = fetching("tex.2d.v4.f32.f32", "{c0}, {c1}", 2)
WRONG = {
    "an address mode": (
        Texture(In(0), address_mode="repeat"), (8, 8), "f32",
        "has address_mode='repeat'\n  legal: wrap clamp mirror border",
    ),
    "a mode that needs normalized coordinates": (
        Texture(In(0), address_mode="wrap"), (8, 8), "f32",
        ("has address_mode='wrap', for which coordinates count from 0 to 1\n"
         '  help: normalized_coords=True, or address_mode="clamp"'),
    ),
    "other modes than axes": (
        Texture(In(0), address_mode=("clamp",)), (8, 8), "f32",
        "has address_mode=('clamp',), and kind '2d' has 2 coordinates",
    ),
    "a border": (
        Texture(In(0), border_color="red"), (8, 8), "f32",
        "has border_color='red'\n  legal: a tuple of up to four numbers",
    ),
    "normalized coordinates": (
        Texture(In(0), normalized_coords=1), (8, 8), "f32",
        "has normalized_coords=1\n  legal: False True",
    ),
    "a filter": (
        Texture(In(0), filter_mode="cubic"), (8, 8), "f32",
        "has filter_mode='cubic'\n  legal: point linear",
    ),
    "integers between texels": (
        Texture(In(0), filter_mode="linear"), (8, 8), "u8",
        ('has filter_mode="linear", and reads u8 as integers\n'
         '  help: read_mode="normalized_float", or filter_mode="point"'),
    ),
    "wide integers between texels": (
        Texture(In(0), filter_mode="linear"), (8, 8), "s32",
        'has filter_mode="linear", and reads s32 as integers\n  help: filter_mode="point"',
    ),
    "normalized floats of floats": (
        Texture(In(0), read_mode="normalized_float"), (8, 8), "f32",
        'has read_mode="normalized_float" and texels of f32\n  legal: u8 s8 u16 s16',
    ),
    "a filter of linear memory": (
        Texture(In(0), kind="linear", filter_mode="linear"), (8,), "f32",
        ('has kind "linear", whose coordinates are integers\n'
         '  help: kind="1d" filters, and takes normalized_coords=True'),
    ),
    "a type of texels": (
        Texture(In(0)), (8, 8), "f64", "has texels of f64\n  legal: u8 s8 u16 s16 u32 s32 f16 f32",
    ),
    "a kind with other axes": (
        Texture(In(0), kind="3d"), (8, 8), "f32",
        "has kind '3d', which takes 3 dimensions, and is of Tile(8, 8, f32)",
    ),
    "axes that no kind has": (
        Texture(In(0)), (2, 2, 2, 2), "f32",
        "has kind=None\n  legal: linear 1d 2d 3d 1d_layered 2d_layered cubemap cubemap_layered",
    ),
    "channels": (
        Texture(In(0), channels=3), (8, 3), "f32", "has channels=3\n  legal: 1 2 4",
    ),
    "channels that the Tile does not have": (
        Texture(In(0), channels=4), (8, 8), "f32",
        "has channels=4, and the last dimension of Tile(8, 8, f32) is not 4",
    ),
    "faces": (
        Texture(In(0), kind="cubemap"), (5, 8, 8), "f32",
        ("has kind 'cubemap', whose dimensions are 6 faces and two equal sizes, and is of "
         "Tile(5, 8, 8, f32)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_no_texture_is(what):
    texture, shape, dtype, problem = WRONG[what]
    with pytest.raises(SpecError) as caught:
        kernel(TEXT, shape, dtype, 2, texture)
    assert said(caught.value) == f"Texture(In(index=0), ...) {problem}"


@pytest.mark.parametrize(
    ("texture", "problem"),
    [
        (Texture(Out(0)), "Texture(Out(index=0), ...) is not of In(i)"),  # pyright: ignore[reportArgumentType]
        (
            Texture(In(2)),
            "Texture(In(index=2), ...) is of a Tile, and there is no In(index=2)",
        ),
    ],
)
def test_textures_are_of_inputs(texture, problem):
    with pytest.raises(SpecError) as caught:
        kernel(TEXT, (8, 8), "f32", 2, texture)
    assert said(caught.value) == problem


def test_a_handle_has_64_bits():
    text = TEXT.replace(".param .u64 fetch_tex", ".param .u32 fetch_tex").replace(
        "ld.param.u64 %rd1", "ld.param.u32 %r1"
    )
    with pytest.raises(SpecError) as caught:
        kernel(text, (8, 8), "f32", 2, Texture(In(0)))
    assert said(caught.value) == (
        "Texture(In(index=0), ...) is a handle of 64 bits, and the parameter fetch_tex has 32"
    )


# ---- records -------------------------------------------------------------------------------------


def test_damaged_records_read_nothing_else():
    """Any options and sizes end in a finding or in elements of the tensor."""
    made = kernel(TEXT, (8, 8), "f32", 2, Texture(In(0), filter_mode="linear"))
    image = made._look({}).image
    record = bytearray(b"PTXTEX\0\1" + bytes([2, 1, 7, 1, 0, 0, 0, 1, 1, 1]) + bytes(22))
    values = emulator.device_array((8, 8), np.float32)
    values[...] = 1
    at = emulator.device_array((POINTS, 2), np.float32)
    at[...] = points(np.array([8, 8]), normalized=False)
    random = np.random.default_rng(1)
    seen = set()
    for turn in range(400):
        options, sizes = record.copy(), [8, 8, 1]
        for _ in range(turn % 4):
            options[random.integers(len(options))] = random.integers(256)
        if turn % 3 == 1:
            shift = int(random.integers(63))
            sizes[random.integers(3)] = int(random.integers(-(2**63), 2**63 - 1)) >> shift
        out = emulator.device_array((POINTS, 4), np.float32)
        arguments = [
            emulator.Value(bytes(options), 8), emulator.Tensor(values, "x"),
            *((size % 2**64).to_bytes(8, "little") for size in sizes),
            (0x50 << 56).to_bytes(8, "little"),
            emulator.Tensor(at, "at"), emulator.Tensor(out, "out", writable=True),
        ]  # fmt: skip
        report = emulator.run(image, arguments, grid=(1, 1, 1), block=(POINTS, 1, 1))
        kinds = {finding.kind for finding in report.findings}
        assert kinds <= {"bad-texture", "out-of-bounds", "misaligned"}
        if not kinds and options == record:
            np.testing.assert_array_equal(out[:, 0], 1)
        seen |= kinds or {"none"}
    assert seen >= {"bad-texture", "out-of-bounds", "none"}


# ---- references ----------------------------------------------------------------------------------

REFERENCES = Path(__file__).parents[1] / "text/corpus/references.ptx"
OBJECT = (
    "\n  help: take a texture or surface object: a parameter of type .u64, and Texture(In(0)) or "
    "Surface(Out(0)) in params= of from_ptx"
)


def referencing(content, first=None):
    return from_ptx(
        content,
        in_specs=(Tile(32, t.f32),),
        out_specs=(Tile(32, t.f32),),
        params=(first or In(0), Out(0)),
        grid=1,
        block=32,
    )


BY_VALUE = REFERENCES.read_text().replace(".param .texref ", ".param .u64 ").replace(
    "tex.1d.v4.f32.s32 {%f3, %f4, %f5, %f6}, [referenced_table, {%r1}];", "mov.f32 %f3, %f1;"
)  # fmt: skip


def test_a_kernel_that_names_references_assembles_and_does_not_run():
    made = referencing(BY_VALUE)
    assert made.cubin().kernel == "referenced"
    with pytest.raises(EmulationError) as caught:
        made.emulate(np.zeros(32, np.float32))
    assert str(caught.value) == (
        "referenced uses picture, a .texref, and a launch has nothing to bind it to" + OBJECT
    )


def test_a_reference_that_it_does_not_use():
    body = BY_VALUE.replace(
        "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [picture, {%f1, %f1}];", "mov.f32 %f2, %f1;"
    ).replace("suld.b.1d.b32.trap {%r2}, [plane, {%r1}];", "mov.u32 %r2, 1;")
    found = referencing(body)(np.zeros(32, np.float32))
    np.testing.assert_array_equal(found, 2 * np.arange(32) + 1)


def test_a_parameter_that_is_a_reference():
    with pytest.raises(SpecError) as caught:
        referencing(REFERENCES)
    assert str(caught.value).partition(": ")[2].partition("\n  from")[0] == (
        "parameter 0 of referenced, referenced_table of type .texref, is given the address of "
        "Tile(32, f32), which has 64 bits\n"
        "    .param .texref referenced_table,\n"
        "  legal: nothing: a texture or surface is a handle here, a parameter of .u64"
    )
    with pytest.raises(SpecError) as caught:
        referencing(REFERENCES, Texture(In(0)))
    assert said(caught.value) == (
        "Texture(In(index=0), ...) is a handle, and the parameter referenced_table is a .texref\n"
        "  help: .param .u64 referenced_table, and a register that loads it"
    )


def test_a_reference_of_the_other_kind():
    wrong = BY_VALUE.replace("[plane, {%r1}]", "[picture, {%r1}]")
    with pytest.raises(ParseError) as caught:
        referencing(wrong)
    assert str(caught.value).partition(": ")[2] == (
        "suld.b.1d.b32.trap: surf must be a handle in one register, without an offset, or a "
        ".surfref\n"
        "    suld.b.1d.b32.trap {%r2}, [picture, {%r1}];\n"
        "    ^\n"
        "  form: suld.b.1d.b32.trap  d, [surf, b]"
    )
