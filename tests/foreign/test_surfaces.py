"""Surfaces of foreign kernels in the emulator, held to NumPy, and findings of wrong accesses."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import In, Out, SpecError, Surface, Texture, Tile, from_ptx
from pyptx import types as t

from .textures import HEAD

THREADS = 64
SHAPES = {
    "1d": (8,), "2d": (4, 8), "3d": (3, 4, 8), "a1d": (3, 8), "a2d": (3, 4, 8),
}  # fmt: skip
KINDS = {"a1d": "1d_layered", "a2d": "2d_layered"}
ORDER = {  # of a row of coordinates x, y, z
    "1d": (0,), "2d": (0, 1), "3d": (0, 1, 2, 2), "a1d": (2, 0), "a2d": (2, 0, 1, 1),
}  # fmt: skip
BITS = {"b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64}
WIDTHS = [("", b, 1) for b in BITS] + [
    (f"v{n}", b, n) for b in ("b8", "b16", "b32") for n in (2, 4)
] + [("v2", "b64", 2)]  # fmt: skip


def text(body, geometry):
    """Thread i has coordinates x, y, z of row i of the second parameter in registers."""
    coordinates = ", ".join(f"%c{i}" for i in ORDER[geometry])
    return f"""{HEAD}
.visible .entry surf(.param .u64 surf_s, .param .u64 surf_at, .param .u64 surf_y)
{{
.reg .b32 %r<8>; .reg .b32 %c<4>; .reg .b64 %d<8>; .reg .b16 %h<8>; .reg .b64 %rd<12>;
ld.param.u64 %rd1, [surf_s];
ld.param.u64 %rd2, [surf_at];
ld.param.u64 %rd3, [surf_y];
mov.u32 %r7, %tid.x;
mul.wide.u32 %rd4, %r7, 12;
add.u64 %rd5, %rd2, %rd4;
ld.global.u32 %c0, [%rd5];
ld.global.u32 %c1, [%rd5+4];
ld.global.u32 %c2, [%rd5+8];
mul.wide.u32 %rd6, %r7, 16;
add.u64 %rd7, %rd3, %rd6;
{body.replace("[surf]", f"[%rd1, {{{coordinates}}}]")}
ret;
}}
"""


def registers(bits, count):
    """Registers for elements of such a type."""
    kind = {"b8": "h", "b16": "h", "b32": "r", "b64": "d"}[bits]
    return f"{{{', '.join(f'%{kind}{i}' for i in range(1, count + 1))}}}"


def places(geometry, bytes_, texel, *, beyond):
    """Coordinates of accesses of so many bytes, some of them outside, and which are."""
    shape = (1, 1, *SHAPES[geometry])
    x, y, z = shape[-1], shape[-2], shape[-3]
    if geometry == "a1d":
        y, z = 1, shape[-2]
    steps = x * texel // bytes_
    random = np.random.default_rng(11)
    low = 0 if geometry.startswith("a") or not beyond else -2
    high = 2 if beyond else 0
    at = np.stack(
        [
            random.integers(-2 if beyond else 0, steps + high, THREADS) * bytes_,
            random.integers(low if y > 1 else 0, y + (high if y > 1 else 0), THREADS),
            random.integers(low if z > 1 else 0, z + (high if z > 1 else 0), THREADS),
        ],
        axis=1,
    )
    most = np.array([x * texel - bytes_, y - 1, z - 1])
    outside = ((at < 0) | (at > most)).any(axis=1)
    return at.astype(np.int32), np.clip(at, 0, most), outside


def surface(geometry, of, **options):
    return Surface(of, kind=KINDS.get(geometry), **options)


TEXELS = {1: (t.u8, 1), 2: (t.u8, 2), 4: (t.u16, 2), 8: (t.f32, 2), 16: (t.u32, 4)}


def tile(geometry, texel):
    """A Tile of texels of so many bytes, and how many elements one has."""
    dtype, channels = TEXELS[texel]
    return Tile(*SHAPES[geometry], *([channels] * (channels > 1)), dtype), channels


def bytes_at(values, at, count, geometry):
    """The bytes of a surface that accesses have."""
    size = (
        values.itemsize * values.shape[-1]
        if values.ndim > len(SHAPES[geometry])
        else values.itemsize
    )
    width, height = SHAPES[geometry][-1], 1
    if geometry in ("2d", "3d", "a2d"):
        height = SHAPES[geometry][-2]
    start = (at[:, 2] * height + at[:, 1]) * width * size + at[:, 0]
    return start[:, None] + np.arange(count)


@pytest.mark.parametrize("outside", ["trap", "clamp", "zero"])
@pytest.mark.parametrize(("vector", "bits", "count"), WIDTHS)
@pytest.mark.parametrize("geometry", SHAPES)
def test_loads(geometry, vector, bits, count, outside):
    element = np.dtype(BITS[bits]).itemsize
    size = element * count
    spec, channels = tile(geometry, size)
    at, clamped, beyond = places(geometry, size, size, beyond=outside != "trap")
    loaded, dot = registers(bits, count), f".{vector}" if vector else ""
    held = loaded if count > 1 else loaded.strip("{}")
    body = f"suld.b.{geometry}{dot}.{bits}.{outside} {loaded}, [surf];\n"
    body += f"st.global{dot}.{bits} [%rd7], {held};"
    made = from_ptx(
        text(body, geometry),
        in_specs=(spec, Tile(THREADS, 3, t.s32)),
        out_specs=(Tile(THREADS, 16, t.u8, partial=True),),
        params=(surface(geometry, In(0), channels=channels), In(1), Out(0)),
        grid=1,
        block=THREADS,
    )
    shape = (*SHAPES[geometry], *([channels] * (channels > 1)))
    raw = np.random.default_rng(1).integers(0, 256, int(np.prod(SHAPES[geometry])) * size, np.uint8)
    values = raw.view(spec.dtype.numpy).reshape(shape)
    done = made.emulate(values, at, sanitize=True)
    assert done.report.findings == (), done.report
    wanted = raw[bytes_at(values, clamped, size, geometry)]
    if outside == "zero":
        wanted[beyond] = 0
    np.testing.assert_array_equal(done.outputs[0][:, :size], wanted)


@pytest.mark.parametrize("outside", ["trap", "clamp", "zero"])
@pytest.mark.parametrize(("vector", "bits", "count"), WIDTHS)
@pytest.mark.parametrize("geometry", SHAPES)
def test_stores(geometry, vector, bits, count, outside):
    """Each of one thread stores the place's own bytes; of .zero, stores outside are left out."""
    element = np.dtype(BITS[bits]).itemsize
    size = element * count
    spec, channels = tile(geometry, size)
    at, clamped, beyond = places(geometry, size, size, beyond=outside != "trap")
    shape = (*SHAPES[geometry], *([channels] * (channels > 1)))
    values = np.zeros(shape, spec.dtype.numpy)
    where = bytes_at(values, clamped, size, geometry)
    _, first = np.unique(where[:, 0], return_index=True)  # threads of one place would race
    other = np.setdiff1d(np.arange(THREADS), first)
    given = np.random.default_rng(2).integers(0, 256, (THREADS, 16), np.uint8)
    dot = f".{vector}" if vector else ""
    stored = registers(bits, count)
    body = f"""ld.global.u32 %r6, [%rd7+12];
.reg .pred %p1;
setp.ne.u32 %p1, %r6, 0;
ld.global{dot}.{bits} {stored if count > 1 else stored.strip("{}")}, [%rd7];
@%p1 sust.b.{geometry}{dot}.{bits}.{outside} [surf], {stored};"""
    if size == 16:  # the flag lies where the bytes are
        body = body.replace("[%rd7+12]", "[%rd7]")
    flags = np.ones(THREADS, np.uint32)
    flags[other] = 0
    given.view(np.uint32)[:, 0 if size == 16 else 3] = flags * (
        given.view(np.uint32)[:, 0] | 1 if size == 16 else 1
    )
    made = from_ptx(
        text(body, geometry),
        in_specs=(Tile(THREADS, 3, t.s32), Tile(THREADS, 16, t.u8)),
        out_specs=(Tile(*spec.dims, spec.dtype, init=0),),
        params=(surface(geometry, Out(0), channels=channels), In(0), In(1)),
        grid=1,
        block=THREADS,
    )
    done = made.emulate(at, given, sanitize=True)
    assert done.report.findings == (), done.report
    wanted = np.zeros(values.nbytes, np.uint8)
    for thread in first:
        if outside != "zero" or not beyond[thread]:
            wanted[where[thread]] = given[thread, :size]
    np.testing.assert_array_equal(done.outputs[0].reshape(-1).view(np.uint8), wanted)


def test_an_access_wider_than_a_texel_of_a_row_that_it_does_not_divide():
    """Five texels of a byte each: rows begin anywhere, and accesses of four bytes at byte 0."""
    values = np.arange(20, dtype=np.uint8).reshape(4, 5)
    at = np.zeros((THREADS, 3), np.int32)
    at[:, 1] = np.arange(THREADS) % 4
    body = "suld.b.2d.b32.trap {%r1}, [surf];\nst.global.u32 [%rd7], %r1;"
    made = from_ptx(
        text(body, "2d"),
        in_specs=(Tile(4, 5, t.u8), Tile(THREADS, 3, t.s32)),
        out_specs=(Tile(THREADS, 16, t.u8, partial=True),),
        params=(Surface(In(0)), In(1), Out(0)),
        grid=1,
        block=THREADS,
    )
    done = made.emulate(values, at, sanitize=True)
    assert done.report.findings == (), done.report
    np.testing.assert_array_equal(done.outputs[0][:, :4], values[at[:, 1], :4])


UPDATES = [
    ("add", "u32", np.add), ("add", "s32", np.add), ("add", "u64", np.add),
    ("min", "u32", np.minimum), ("max", "s32", np.maximum), ("max", "s64", np.maximum),
    ("and", "b32", np.bitwise_and), ("or", "b32", np.bitwise_or),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "kind", "update"), UPDATES)
def test_reductions(operation, kind, update):
    """All threads of a place change it, one after the other."""
    dtype = np.dtype(kind.replace("b", "u").replace("u", "uint").replace("s", "int"))
    size = dtype.itemsize
    random = np.random.default_rng(5)
    x = random.integers(0, 8, THREADS)
    at = np.stack([x * size, random.integers(0, 4, THREADS), np.zeros(THREADS, int)], 1)
    info = np.iinfo(dtype)
    values = random.integers(info.min, info.max, (THREADS, 16 // size), dtype, endpoint=True)
    held = random.integers(info.min, info.max, (4, 8), dtype, endpoint=True)
    data = "%d1" if size == 8 else "%r1"
    body = f"ld.global.b{8 * size} {data}, [%rd7];\n"
    body += f"sured.b.{operation}.2d.{kind}.trap [surf], {data};"
    words = (4, 8) if size == 4 else (4, 8, 2)
    made = from_ptx(
        text(body, "2d"),
        in_specs=(
            Tile(*words, t.u32), Tile(THREADS, 3, t.s32), Tile(THREADS, 16, t.u8),
        ),
        out_specs=(Tile(*words, t.u32),),
        input_output_aliases={0: 0},
        params=(Surface(Out(0), channels=size // 4), In(1), In(2)),
        grid=1,
        block=THREADS,
    )  # fmt: skip
    wanted = held.copy()
    with np.errstate(over="ignore"):
        for (_, row, _), column, value in zip(at, x, values[:, 0], strict=True):
            wanted[row, column] = update(wanted[row, column], value)
    done = made.emulate(
        held.view(np.uint32).reshape(words), at.astype(np.int32), values.view(np.uint8),
        sanitize=True,
    )  # fmt: skip
    assert done.report.findings == (), done.report
    np.testing.assert_array_equal(done.outputs[0].reshape(-1).view(dtype), wanted.reshape(-1))


def test_what_is_asked_of_a_surface():
    names = {
        "width": 8, "height": 4, "depth": 3, "channel_data_type": 0x10DE, "channel_order": 0x10B2,
        "array_size": 1,
    }  # fmt: skip
    asked = "\n".join(
        f"suq.{name}.b32 %r1, [%rd1];\nst.global.u32 [%rd3+{4 * i}], %r1;"
        for i, name in enumerate(names)
    )
    made = from_ptx(
        text(asked, "3d"),
        in_specs=(Tile(3, 4, 8, 2, t.f32), Tile(1, 3, t.s32)),
        out_specs=(Tile(8, t.u32, partial=True),),
        params=(Surface(In(0), channels=2), In(1), Out(0)),
        grid=1,
        block=1,
    )
    found = made(np.zeros((3, 4, 8, 2), np.float32), np.zeros((1, 3), np.int32))
    assert found[: len(names)].tolist() == list(names.values())


# ---- findings ------------------------------------------------------------------------------------


def report(body, *, x=0, y=0, param=None, sanitize=False):
    made = from_ptx(
        text(body, "2d"),
        in_specs=(Tile(4, 8, t.f32), Tile(1, 3, t.s32)),
        out_specs=(Tile(4, 8, t.f32), Tile(4, t.u32, init=0)),
        input_output_aliases={0: 0},
        params=(param or Surface(Out(0)), In(1), Out(1)),
        grid=1,
        block=1,
    )
    at = np.array([[x, y, 0]], np.int32)
    return made.emulate(np.zeros((4, 8), np.float32), at, sanitize=sanitize).report


LOAD = "suld.b.2d.b32.trap {%r1}, [surf];"
STORE = "sust.b.2d.b32.trap [surf], {%r7};"


@pytest.mark.parametrize("body", [LOAD, STORE])
@pytest.mark.parametrize(
    ("x", "y", "note"),
    [
        (32, 0, "the surface does not have bytes 32 to 35 of a row of 32, row 0 of 4"),
        (-4, 1, "the surface does not have bytes -4 to -1 of a row of 32, row 1 of 4"),
        (28, 4, "the surface does not have bytes 28 to 31 of a row of 32, row 4 of 4"),
        (28, 3, None),
    ],
)
def test_outside_it_traps(body, x, y, note):
    found = report(body, x=x, y=y)
    if note is None:
        assert found.findings == ()
        return
    (finding,) = found.findings
    assert (finding.kind, finding.note) == ("out-of-bounds", note)
    line = text(body, "2d").split(body[:4])[1].partition("\n")[0]
    assert finding.site.location.text == body[:4] + line


def test_the_first_coordinate_counts_bytes():
    (finding,) = report(LOAD, x=6).findings
    assert (finding.kind, finding.note) == (
        "misaligned",
        "the first coordinate counts bytes, and 6 is no multiple of 4",
    )
    assert report(LOAD, x=8).findings == ()


def test_a_texture_is_no_surface():
    (finding,) = report(LOAD, param=Texture(In(0))).findings
    assert (finding.kind, finding.note) == (
        "bad-texture",
        "the handle is of a texture, and the instruction takes a surface",
    )


@pytest.mark.parametrize("planted", [True, False])
def test_what_the_launch_stores_its_loads_may_not_see(planted):
    body = f"{STORE}\n{LOAD}" if planted else f"{LOAD}\n{STORE}"
    found = report(body, sanitize=True).findings
    if not planted:
        assert found == ()
        return
    assert [finding.kind for finding in found] == ["non-coherent-load"]
    assert found[0].note == (
        "textures and surfaces may give the value from before the kernel's store; the next kernel "
        "reads the stored one"
    )


RACE = """and.b32 %r1, %r7, MASK;
shl.b32 %c0, %r1, 2;
sust.b.2d.b32.trap [surf], {%r7};"""


@pytest.mark.parametrize("planted", [True, False])
def test_stores_of_two_warps_race(planted):
    made = from_ptx(
        text(RACE.replace("MASK", "31" if planted else "63"), "2d"),
        in_specs=(Tile(64, 3, t.s32),),
        out_specs=(Tile(1, 64, t.u32, init=0), Tile(4, t.u32, init=0)),
        params=(Surface(Out(0)), In(0), Out(1)),
        grid=1,
        block=64,
    )
    found = made.emulate(np.zeros((64, 3), np.int32), sanitize=True).report.findings
    assert [finding.kind for finding in found] == (["global-race"] if planted else [])


def test_bytes_next_to_each_other_are_places_of_their_own():
    """Warps that store bytes between those of others do not race."""
    body = RACE.replace("MASK", "31").replace("shl.b32 %c0, %r1, 2;", "").replace(".b32.", ".b8.")
    body = body.replace("{%r7}", "{%h1}").replace("and.b32", "cvt.u16.u32 %h1, %r7;\nand.b32")
    place = "shl.b32 %r1, %r1, 1;\nshr.u32 %r2, %r7, 5;\nadd.u32 %c0, %r1, %r2;\nsust"
    body = body.replace("sust", place)
    made = from_ptx(
        text(body, "2d"),
        in_specs=(Tile(64, 3, t.s32),),
        out_specs=(Tile(1, 64, t.u8), Tile(4, t.u32, init=0)),
        params=(Surface(Out(0)), In(0), Out(1)),
        grid=1,
        block=64,
    )
    done = made.emulate(np.zeros((64, 3), np.int32), sanitize=True)
    assert done.report.findings == ()
    thread = np.arange(64).reshape(2, 32).T.reshape(1, 64)
    np.testing.assert_array_equal(done.outputs[0], thread)


def test_uninitialised_elements():
    made = from_ptx(
        text(f"{LOAD}\nst.global.u32 [%rd7], %r1;", "2d"),
        in_specs=(Tile(1, 3, t.s32),),
        out_specs=(Tile(4, 8, t.f32, partial=True), Tile(4, t.u32, partial=True)),
        params=(Surface(Out(0)), In(0), Out(1)),
        grid=1,
        block=1,
    )
    found = made.emulate(np.zeros((1, 3), np.int32), sanitize=True).report.findings
    assert [finding.kind for finding in found] == ["uninitialised-memory"]


def test_a_store_to_an_input():
    made = from_ptx(
        text(STORE, "2d"),
        in_specs=(Tile(4, 8, t.f32), Tile(1, 3, t.s32)),
        out_specs=(Tile(4, t.u32, init=0),),
        params=(Surface(In(0)), In(1), Out(0)),
        grid=1,
        block=1,
    )
    done = made.emulate(np.zeros((4, 8), np.float32), np.zeros((1, 3), np.int32))
    assert [finding.kind for finding in done.report.findings] == ["read-only"]


def test_cubemaps_are_no_surfaces():
    with pytest.raises(SpecError) as caught:
        from_ptx(
            text(STORE, "2d"),
            in_specs=(Tile(6, 8, 8, t.f32), Tile(1, 3, t.s32)),
            out_specs=(Tile(4, t.u32),),
            params=(Surface(In(0), kind="cubemap"), In(1), Out(0)),
            grid=1,
            block=1,
        )
    assert "Surface(In(index=0), ...) has kind='cubemap'" in str(caught.value)
    assert str(caught.value).endswith("  legal: 1d 2d 3d 1d_layered 2d_layered")
