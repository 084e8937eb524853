"""Program images: the encoder's bytes, and that a corrupt one gives an error and nothing else."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from pyptx import _emulator as emulator
from pyptx._emulator import Tensor
from pyptx._target import Target
from pyptx.errors import EmulationError

from .assembly import Assembler
from .harness import FILE, device, encode, output

TEXT = """
.param u64 X
.param u32 n
.shared tile 64 16
.const table 4 4 01020304
ld.param.u64 %rd1, [X]
mov.u32 %r1, %tid.x
mov.u32 %r2, tile
setp.lt.u32 %p1|%p2, %r1, -3
@!%p1 bra end
ld.const.u32 %r3, [table]
st.shared.v2.u32 [%r2+8], {%r3, 7}
selp.u32 %r4, %r1, %r3, !%p2
brx.idx %r1, {end, end}
shfl.sync.idx.b32 _|%p1, %r1, 0, 31, -1
end:
"""
IMAGE = encode(TEXT)


def test_the_bytes_follow_the_description():
    kernel = Assembler(FILE, 1).assemble("mov.u32 %r1, %tid.x\nend:\n@%p1 bra end\n")
    strings = [b"kernel", b"sm_90a", b"mov.u32", b"tid.x", b"bra"]
    expected = b"".join((
        b"PTXEMU\x00\x02",
        struct.pack("<I", 5), *(struct.pack("<I", len(s)) + s for s in strings),
        struct.pack("<III", 0, 90, 1),
        struct.pack("<I", 2), bytes((32, 1)),
        struct.pack("<II", 0, 0), struct.pack("<II", 0, 0), struct.pack("<III", 0, 0, 0),
        struct.pack("<I", 2),
        struct.pack("<IIBB", 2, 0xFFFFFFFF, 0, 2), struct.pack("<BIBI", 0, 0, 2, 3),
        struct.pack("<IIBB", 4, 1, 0, 1), struct.pack("<BI", 5, 1),
    ))  # fmt: skip
    assert emulator.encode(kernel, Target.parse("sm_90a")) == expected


def test_an_image_holds_no_path_and_is_the_same_for_other_lines():
    one = emulator.encode(Assembler(FILE, 1).assemble(TEXT), Target.parse("sm_90a"))
    two = emulator.encode(Assembler("/elsewhere.py", 99).assemble(TEXT), Target.parse("sm_90a"))
    assert one == two == IMAGE
    assert b"kernel_lines" not in IMAGE


def test_signed_constants_are_extended():
    image = encode("mov.s32 %r1, 1\n")
    assert emulator.unsupported(image) == {}


def create(image: bytes) -> str:
    """The error of creating a program, "" if there is none."""
    try:
        emulator.Program(image)
    except EmulationError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("size", range(0, len(IMAGE), 7))
def test_a_cut_image_is_an_error(size: int):
    assert create(IMAGE[:size]).startswith("corrupt program image: ")


def test_an_image_with_more_bytes_is_an_error():
    assert create(IMAGE + b"\0") == "corrupt program image: it ends inside indices"
    assert create(IMAGE + bytes(5)) == "corrupt program image: bytes after its end"


LOAD = encode("ld.const.u32 %r1, [%r2]\n")


def index(*, load=0, register=1, known=1, extent=4, span=1, of=0) -> bytes:
    return struct.pack("<IIIBBBQII", 1, load, register, 0, 0, known, extent, span, of)


def test_what_an_image_says_of_indices_is_checked():
    assert create(LOAD + index()) == ""
    assert create(LOAD + index(known=0, extent=0)) == ""
    wrong = "corrupt program image: "
    assert create(LOAD + index(load=1)) == wrong + "an index's instruction"
    assert create(LOAD + index(register=2)) == wrong + "register number"
    assert create(LOAD + index(known=0, extent=2)) == wrong + "an extent's register"
    assert create(LOAD + index(span=0)) == wrong + "an index"
    assert create(LOAD + index(of=99)) == wrong + "string number of what is indexed"
    assert create(LOAD + index()[:-1]).startswith(wrong)


def test_another_file_is_an_error():
    assert create(b"\x7fELF" + IMAGE) == "corrupt program image: its first bytes are not an image's"


def launch_anything(image: bytes) -> None:
    """Run what the core accepted: any findings and errors will do, but it must come back."""
    x = output(64, np.uint32)
    try:
        program = emulator.Program(image)
        arguments = [Tensor(x, "X", writable=True), bytes(max(0, program.param_bytes - 8))]
        emulator.run(
            image, arguments, grid=(2, 1, 1), block=(40, 1, 1), sanitize=True, threads=1,
            max_instructions=2000,
        )  # fmt: skip
    except EmulationError as error:
        assert str(error)


@pytest.mark.parametrize("seed", range(40))
def test_a_changed_image_runs_or_is_an_error(seed: int):
    generator = random.Random(seed)
    for _ in range(40):
        image = bytearray(IMAGE)
        for _ in range(generator.choice((1, 1, 2, 5))):
            at = generator.randrange(len(image))
            image[at] = generator.choice((0, 1, 0x7F, 0xFF, generator.randrange(256)))
        launch_anything(bytes(image))


@pytest.mark.parametrize(("at", "count"), [("strings", 8), ("end", -4)])
def test_a_huge_count_is_an_error_at_once(at: str, count: int):
    image = bytearray(IMAGE)
    image[count : count + 4 if count > 0 else None] = b"\xff\xff\xff\x7f"
    assert create(bytes(image)).startswith("corrupt program image: ")


def test_spellings_that_are_not_emulated_are_all_named():
    image = encode("mov.u32 %r1, 1\ntcgen05.unknown\nfrob.u32 %r2, %r1\nfrob.u32 %r3, %r1\n")
    assert create(image) == (
        "kernel kernel: not emulated:\n"
        f"  {FILE}:2: tcgen05.unknown  (instruction 1: tcgen05.unknown)\n"
        f"  {FILE}:3: frob.u32  (instruction 2: frob.u32 %r1, %r0)"
    )
    assert emulator.unsupported(image) == {1: "tcgen05.unknown", 2: "frob.u32"}


def test_operands_of_another_width_are_refused():
    assert emulator.unsupported(encode("add.u32 %r1, %rd1, %r2\n")) == {0: "add.u32"}
    assert emulator.unsupported(encode("ld.global.u64 %r1, [%rd1]\n")) == {0: "ld.global.u64"}
    assert emulator.unsupported(encode("ld.global.v2.u32 %r1, [%rd1]\n")) == {0: "ld.global.v2.u32"}


@pytest.mark.parametrize(("change", "problem"), [
    ({"block": (2000, 1, 1)}, "block (2000, 1, 1) must have 1 to 1024 threads, at most 64 in z"),
    ({"block": (0, 1, 1)}, "block (0, 1, 1) must have 1 to 1024 threads, at most 64 in z"),
    ({"block": (1, 1, 65)}, "block (1, 1, 65) must have 1 to 1024 threads, at most 64 in z"),
    ({"grid": (1, 65536, 1)}, "grid (1, 65536, 1) is larger than (2147483647, 65535, 65535)"),
    ({"cluster": (17, 1, 1)}, "cluster (17, 1, 1) must have 1 to 16 CTAs"),
    ({"cluster": (2, 1, 1)}, "grid (3, 1, 1) is not a multiple of cluster (2, 1, 1)"),
    ({"dynamic_shared": 300000}, "300064 bytes of shared memory are more than 232448"),
    ({"sanitize": 64}, "unknown sanitizer flags"),
])  # fmt: skip
def test_a_launch_that_is_wrong_is_an_error(change: dict[str, object], problem: str):
    image = encode(".param u64 X\n.shared tile 64 4\nmov.u32 %r1, tile\n")
    options = {"grid": (3, 1, 1), "block": (32, 1, 1), **change}
    with pytest.raises(EmulationError) as raised:
        emulator.run(image, [Tensor(output(4, np.uint32))], **options)
    assert str(raised.value) == f"kernel kernel: {problem}"


def test_missing_parameters_are_an_error():
    image = encode(".param u64 X\nld.param.u64 %rd1, [X]\n")
    with pytest.raises(EmulationError) as raised:
        emulator.run(image, [], grid=(1, 1, 1), block=(32, 1, 1))
    assert (
        str(raised.value)
        == "kernel kernel: the kernel has 8 bytes of parameters, the launch passes 0"
    )


def test_an_empty_grid_launches_nothing():
    image = encode("trap\n")
    report = emulator.run(image, [], grid=(0, 1, 1), block=(32, 1, 1))
    assert report.status == "ok"
    assert report.instructions == 0


def test_dynamic_shared_memory_follows_the_variables():
    image = encode(".shared tile 64 4\nst.shared.u32 [tile+SIZE], 1\n".replace("SIZE", "96"))
    block = (1, 1, 1)
    assert emulator.run(image, [], grid=block, block=block).status == "stopped"
    assert emulator.run(image, [], grid=block, block=block, dynamic_shared=36).status == "ok"


def test_large_variables_are_the_dynamic_memory():
    image = encode(
        ".shared tile 65536 16\nst.shared.u32 [tile+65532], 1\nst.shared.u32 [tile+END], 1\n".replace(
            "END", "65536"
        )
    )
    report = emulator.run(image, [], grid=(1, 1, 1), block=(1, 1, 1), dynamic_shared=65536)
    assert [f.site.instruction for f in report.findings] == [1]


def test_arrays_that_are_no_device_memory_are_refused():
    image = encode(".param u64 X\nld.param.u64 %rd1, [X]\nld.global.v2.u64 {%rd2, %rd3}, [%rd1]\n")
    launch = {"grid": (1, 1, 1), "block": (1, 1, 1)}
    for array in (device(np.zeros((4, 4)))[:, 1], device(np.zeros(8))[1:]):
        with pytest.raises(ValueError, match="X is not laid out as device memory is"):
            emulator.run(image, [Tensor(array, "X")], **launch)
        copy = emulator.on_device(array, image)
        assert np.array_equal(copy, array)
        assert copy is not array
        emulator.run(image, [Tensor(copy, "X")], **launch).check()
    aligned = device(np.zeros(8))[2:]
    assert emulator.on_device(aligned, image) is aligned
