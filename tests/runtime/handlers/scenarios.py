# ruff: noqa: E501 -- whole messages stand on their lines
"""Programs that drive the CUDA handlers through a hand-made XLA and a driver that only remembers.

`scenarios.py FOLDER NAME...`, where FOLDER holds the two libraries, runs each in a process of its own,
because a process opens one driver: a fork, which has everything imported. The scenario `no_driver` must
be the only one. It prints a JSON object: for
each name the exit status and all that it printed, of which the last line is "ok".
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from pyptx._native import loader

LONGEST = 120
"""Seconds that a scenario may take."""

INSTANTIATE, PREPARE, EXECUTE = 0, 1, 3
PLAN = (
    "inputs=[? 8];outputs=[? 8]\n"
    "kernel=k;grid=a0.0 2 cdiv,1,1;block=128,1,1;cluster=1,1,1;shared=a0.0 16 *;"
    "params=a0,r0,i64:a0.0"
)
# Two steps: the second starts early and reads what the first wrote.
STEPS = (
    "inputs=[? 8];outputs=[? 8],[? 8]\n"
    "kernel=k;grid=a0.0 2 cdiv,1,1;block=128,1,1;cluster=1,1,1;shared=0;params=a0,r1;zeros=r1\n"
    "kernel=last;grid=a0.0 1 +,1,1;block=32,1,1;cluster=2,1,1;shared=0;params=e1,r0;"
    "programmatic_stream_serialization=1"
)
# Two maps of the input, one of the output, between the addresses and a size.
MAPS = (
    "inputs=[? 8];outputs=[? 8]\n"
    "kernel=k;grid=a0.0,1,1;block=128,1,1;cluster=1,1,1;shared=0;"
    "params=a0,map:a0:X:f32:a0.0|8:32:64|8:1|1:0:1:2:0,i64:a0.0,"
    "map:a0:X:f32:a0.0|8:32:16|4:2|1:0:0:0:1,map:r0:Y:bf16:r0.0|16:32:8|8:1|1:0:0:0:0"
)
# Images of the input, and a box whose swizzle moves 64 bytes as a whole.
IMAGES = (
    "inputs=[? 8];outputs=[? 8]\n"
    "kernel=k;grid=a0.0,1,1;block=128,1,1;cluster=1,1,1;shared=0;"
    "params=map:a0:X:f32:a0.0|5|7|16:2240|448|64:40|8:1|2|3|1:0:1:0:0:-1|-2:0|1,"
    "map:a0:X:f32:a0.0|5|7|16:2240|448|64:1|1|4|32:1|1|1|1:0:6:0:0"
)
CODE = {"sm_90a": b"\x7fELF-90a"}

folder = Path(sys.argv[1])
mock = ctypes.CDLL(str(folder / "libcuda.so.1")) if sys.argv[2] != "no_driver" else None
frames = ctypes.CDLL(str(folder / "call_frame.so"))
frames.site_new.restype = ctypes.c_void_p
handlers = loader.ffi_library()
if mock is not None:
    mock.mock_log.restype = ctypes.c_char_p


def setting(name: str, value: int) -> None:
    assert mock is not None
    mock.mock_set(name.encode(), value)


def calls(name: str) -> int:
    assert mock is not None
    return mock.mock_calls(name.encode())


def log() -> list[str]:
    assert mock is not None
    return mock.mock_log().decode().splitlines()


def launches() -> list[str]:
    return [line for line in log() if not line.startswith(("attribute", "memset", "cuMemset"))]


class Site:
    """A call site of a compiled program with one input and `outputs` outputs of shape (rows, 8).

    `code` holds the cubins of each step.
    """

    def __init__(
        self,
        plan: str = PLAN,
        code: dict[str, bytes] | list[dict[str, bytes]] = CODE,
        rows: int = 6,
        assembler: int = 13,
        outputs: int = 1,
    ) -> None:
        self.site = ctypes.c_void_p(frames.site_new())
        self.buffers = [ctypes.create_string_buffer(b"x" * 1024) for _ in range(1 + outputs)]
        text = plan.encode()
        frames.site_string(self.site, b"plan", text, ctypes.c_size_t(len(text)))
        frames.site_integer(self.site, b"assembler", ctypes.c_int64(assembler))
        for step, cubins in enumerate(code if isinstance(code, list) else [code]):
            for name, data in cubins.items():
                size = ctypes.c_size_t(len(data))
                frames.site_entry(self.site, b"cubins/%d" % step, name.encode(), data, size)
            if not cubins:
                frames.site_entry(self.site, b"cubins/%d" % step, b"", None, ctypes.c_size_t(0))
        for index, data in enumerate(self.buffers):
            dims = (ctypes.c_int64 * 2)(rows, 8)
            frames.site_buffer(self.site, min(index, 1), data, ctypes.c_int64(2), dims)

    @property
    def addresses(self) -> list[int]:
        return [ctypes.addressof(buffer) for buffer in self.buffers]

    def run(self, stage: int, stream: int = 0, ordinal: int = 0) -> str:
        """Runs a stage and returns the error, "" for success."""
        name = {INSTANTIATE: "instantiate", PREPARE: "prepare", EXECUTE: "execute"}[stage]
        handler = getattr(handlers, f"pyptx_cuda_{name}")
        out = ctypes.create_string_buffer(4096)
        good = frames.site_run(
            self.site, handler, stage, ctypes.c_ssize_t(stream), ordinal, out, ctypes.c_size_t(4096)
        )
        assert bool(good) == (out.value == b"")
        return out.value.decode()

    def ready(self) -> Site:
        assert self.run(INSTANTIATE) == ""
        return self


class Current:
    """A device's context, current on this thread."""

    def __init__(self, device: int = 0) -> None:
        self.device = device

    def __enter__(self) -> None:
        assert mock is not None
        mock.mock_enter(self.device)

    def __exit__(self, *_: object) -> None:
        assert mock is not None
        mock.mock_leave()


def metadata() -> None:
    """The state's type is registered once, and only execute may be recorded into a CUDA graph."""
    seen = {}
    for stage in ("execute", "prepare", "instantiate", "execute"):
        out = (ctypes.c_int64 * 3)()
        assert frames.handler_metadata(getattr(handlers, f"pyptx_cuda_{stage}"), out)
        seen[stage] = tuple(out)
    assert seen["execute"][1] == 1 and seen["prepare"][1] == 0, seen
    assert {value[0] for value in seen.values()} == {handlers.pyptx_ffi_api_minor()}
    assert seen["instantiate"][2] == 1 and frames.types_registered() == 1, seen


def launch() -> None:
    """Prepare loads, execute launches with the values of the plan, and nothing else."""
    setting("parameters", 3)
    site = Site().ready()
    with Current():
        assert site.run(PREPARE) == ""
        assert calls("cuModuleLoadData") == 1 and calls("cuLaunchKernelEx") == 0
        assert frames.streams_asked() == 0
        before = {name: calls(name) for name in ("cuModuleLoadData", "cuModuleGetFunction")}
        assert site.run(EXECUTE, stream=77) == ""
        assert site.run(EXECUTE, stream=78) == ""
    assert before == {name: calls(name) for name in before}
    x, y = site.addresses
    expected = "k image=-90a context=0 grid=3,1,1 block=128,1,1 shared=96 stream={} {} {} 6"
    assert launches() == [expected.format(stream, x, y) for stream in (77, 78)], log()
    assert "attribute 8=231424" in log(), log()


def contexts() -> None:
    """One load per context for all call sites with the same code, also from many threads."""
    sites = [Site().ready() for _ in range(3)]

    def work(device: int) -> None:
        with Current(device):
            for site in sites:
                assert site.run(PREPARE, ordinal=device) == ""
                assert site.run(EXECUTE, ordinal=device) == ""

    threads = [threading.Thread(target=work, args=(device % 2,)) for device in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls("cuModuleLoadData") == 2, calls("cuModuleLoadData")
    assert len(launches()) == 24
    assert {line.split()[2] for line in launches()} == {"context=0", "context=1"}
    other = Site(code={"sm_90a": b"\x7fELF-new"}).ready()
    with Current():
        assert other.run(EXECUTE) == ""
    assert calls("cuModuleLoadData") == 3


def no_context() -> None:
    """Without a current context the device's primary context is used and left as it was."""
    site = Site().ready()
    assert site.run(PREPARE, ordinal=1) == "" and site.run(EXECUTE, ordinal=1) == ""
    assert mock is not None and mock.mock_depth() == 0
    assert calls("cuDevicePrimaryCtxRetain") == 1
    assert launches()[0].split()[2] == "context=1"


def picks_target() -> None:
    """The cubin that suits the device best; an error where none does."""
    code = {
        name: b"\x7fELF" + name[3:].rjust(4).encode()
        for name in ("sm_80", "sm_90", "sm_90a", "sm_100f")
    }
    site = Site(code=code).ready()
    wanted = {0: (90, " 90a"), 1: (86, "  80"), 2: (103, "100f")}
    for device, (sm, image) in wanted.items():
        setting(f"sm {device}", sm)
        with Current(device):
            assert site.run(EXECUTE, ordinal=device) == ""
        assert f"image={image} context={device}" in launches()[-1], launches()
    for device, sm in {3: 75, 4: 120}.items():
        setting(f"sm {device}", sm)
        with Current(device):
            assert site.run(PREPARE, ordinal=device) == (
                f"pyptx: kernel k: the device has compute capability {sm // 10}.{sm % 10} and the program "
                "holds code for sm_100f sm_80 sm_90 sm_90a only; lower it again with pyptx.target(...) "
                "naming a target of that device"
            )


def empty_grid() -> None:
    """A grid with a zero launches nothing and touches no driver."""
    site = Site(rows=0).ready()
    with Current():
        assert site.run(EXECUTE) == ""
    assert launches() == [] and calls("cuModuleLoadData") == 0


def steps() -> None:
    """The steps of a call are launched in order on one stream, each with its own code."""
    setting("parameters", 2)
    last = {"sm_90a": b"\x7fELF-zzz", "sm_100a": b"\x7fELF100"}
    site = Site(STEPS, [CODE, last], rows=5, outputs=2).ready()
    with Current():
        assert site.run(PREPARE) == ""
        assert calls("cuModuleLoadData") == 2 and calls("cuLaunchKernelEx") == 0
        assert site.run(EXECUTE, stream=7) == ""
    assert calls("cuModuleLoadData") == 2
    x, y, scratch = site.addresses
    assert launches() == [
        f"k image=-90a context=0 grid=3,1,1 block=128,1,1 shared=0 stream=7 {x} {scratch}",
        (
            "last image=-zzz context=0 grid=6,1,1 block=32,1,1 shared=0 stream=7 attribute4=2,1,1 "
            f"attribute6=1,0,0 {scratch} {y}"
        ),
    ], log()
    assert calls("cuMemsetD8Async") == 0
    same = Site(STEPS.replace("last", "k"), [CODE, CODE], outputs=2).ready()
    with Current():
        assert same.run(PREPARE) == ""
    assert calls("cuModuleLoadData") == 2


def zeros() -> None:
    """Sums over an empty grid are zeros, written on the stream; the other steps run."""
    plan = STEPS.replace("a0.0 2 cdiv", "a0.0 5 -")
    site = Site(plan, [CODE, CODE], rows=5, outputs=2).ready()
    with Current():
        assert site.run(EXECUTE, stream=9) == ""
    assert log()[0] == "memset value=0 bytes=160 stream=9", log()
    assert [line.split()[0] for line in launches()] == ["last"], log()
    assert site.buffers[2].raw[:161] == bytes(160) + b"x"
    assert site.buffers[1].raw[:2] == b"xx"
    with Current():
        empty = Site(STEPS.replace("1 +", "2 *"), [CODE, CODE], rows=0, outputs=2).ready()
        assert empty.run(EXECUTE) == ""
        assert calls("cuMemsetD8Async") == 1  # nothing to fill
        setting("fail cuMemsetD8Async", 1)
        problem = "cuMemsetD8Async failed with CUDA_ERROR_INVALID_VALUE (1), invalid argument"
        assert site.run(EXECUTE) == f"pyptx: kernel k: {problem}"


def initial_values() -> None:
    """Outputs are filled on the stream before the launch, by the widest memset that has to be."""
    cases = {
        "00": "memset value=0 bytes=160",
        "0707": "memset value=7 bytes=160",
        "0102": "cuMemsetD16Async value=513 rows=80",
        "0000803f": "cuMemsetD32Async value=1065353216 rows=40",
        "0102010201020102": "cuMemsetD16Async value=513 rows=80",
        "0000803f0000803f": "cuMemsetD32Async value=1065353216 rows=40",
        "0102030405060708": "cuMemsetD2D32Async value=67305985 rows=20",
    }
    for value, call in cases.items():
        before = len(log())
        site = Site(f"{PLAN};complete=r0;init=r0:{value}", rows=5).ready()
        with Current():
            assert site.run(EXECUTE, stream=9) == ""
        assert f"{call} stream=9" in log()[before:], log()
        wanted = bytes.fromhex(value)
        assert site.buffers[1].raw[:161] == wanted * (160 // len(wanted)) + b"x"
    assert [line.split()[0] for line in launches()] == ["k"] * len(cases)
    halves = [line for line in log() if "D2D32" in line]
    assert halves == [
        "cuMemsetD2D32Async value=67305985 rows=20 stream=9",
        "cuMemsetD2D32Async value=134678021 rows=20 stream=9",
    ]
    with Current():
        empty = Site(f"{PLAN.replace('2 cdiv', '0 *')};init=r0:05", rows=5).ready()
        assert empty.run(EXECUTE) == "" and empty.buffers[1].raw[:161] == b"\5" * 160 + b"x"
        unwritten = Site(f"{PLAN.replace('2 cdiv', '0 *')};complete=r0", rows=5).ready()
        assert unwritten.run(EXECUTE) == (
            "pyptx: kernel k: the grid (0, 1, 1) launches nothing, and output 0 of shape (5, 8) "
            "would never be written"
        )
        assert Site(f"{PLAN};init=r0:01", rows=0).ready().run(EXECUTE) == ""
        for call, value in (("cuMemsetD16Async", "0102"), ("cuMemsetD2D32Async", "01" * 7 + "02")):
            setting(f"fail {call}", 1)
            assert Site(f"{PLAN};init=r0:{value}").ready().run(EXECUTE) == (
                f"pyptx: kernel k: {call} failed with CUDA_ERROR_INVALID_VALUE (1), invalid argument"
            )


def cluster() -> None:
    plan = PLAN.replace("cluster=1,1,1", "cluster=16,1,1").replace("a0.0 2 cdiv", "a0.0 16 *")
    site = Site(plan).ready()
    with Current():
        assert site.run(EXECUTE) == ""
    assert "attribute4=16,1,1" in launches()[0] and "attribute 14=1" in log(), log()
    site = Site(plan.replace("16 *", "2 *")).ready()
    with Current():
        assert site.run(EXECUTE) == (
            "pyptx: kernel k: grid dimension x is 12, not a multiple of the cluster's 16"
        )


def cooperative() -> None:
    """CUDA's attribute is set; a grid that the device cannot hold is said with what it needs."""
    plan = PLAN + ";cooperative=1"
    site = Site(plan).ready()
    failed = (
        "pyptx: kernel k: cuLaunchKernelEx failed with CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720): "
        "the cooperative grid has {} CTAs, and the device holds {} at once, each of 128 threads with "
        "168 registers and {} bytes of shared memory"
    )
    with Current():
        assert site.run(EXECUTE) == ""
        assert "attribute2=1,0,0" in launches()[0] and "attribute4" not in launches()[0], log()
        setting("fail cuLaunchKernelEx", 720)
        assert site.run(EXECUTE) == failed.format(3, 1056, 1120)
        large = Site(plan.replace("a0.0 16 *", "231424").replace("a0.0 2 cdiv", "400")).ready()
        assert large.run(EXECUTE) == failed.format(400, 132, 232448)
        clustered = plan.replace("cluster=1,1,1", "cluster=2,2,1").replace("2 cdiv,1", "2 *,200")
        assert Site(clustered).ready().run(EXECUTE) == failed.format(2400, 120, 1120)
        setting("fail cuOccupancyMaxActiveClusters", 1)
        assert Site(clustered).ready().run(EXECUTE) == failed.format(2400, "fewer", 1120)
        setting("fail cuOccupancyMaxActiveBlocksPerMultiprocessor", 1)
        assert site.run(EXECUTE) == failed.format(3, "fewer", 1120)


def errors() -> None:
    """Errors of calls and of the driver, each with the kernel's name and what to do."""
    head = "pyptx: kernel k: "
    cases = {
        PLAN.replace(
            "a0.0 2 cdiv,1", "1,a0.0 20000 *"
        ): "grid dimension y is 120000; the range is 0 to 65535",
        PLAN.replace(
            "a0.0 2 cdiv", "a0.0 7 -"
        ): "grid dimension x is -1; the range is 0 to 2147483647",
        PLAN.replace("a0.0 2 cdiv", "1 a0.0 6 - //"): "the grid divides by zero",
        PLAN.replace("i64:a0.0", f"i64:a0.0 {2**62} *"): "an integer argument does not fit 64 bits",
        PLAN.replace("inputs=[? 8]", "inputs=[? 9]"): (
            "input 0 has shape (6, 8); the kernel was made for (?, 9)"
        ),
        PLAN.replace("outputs=[? 8]", "outputs=[? 8],[1]"): "it takes 2 outputs and got 1",
    }
    both = Site(STEPS.replace("inputs=[? 8]", "inputs=[? 9]"), [CODE, CODE], outputs=2).ready()
    assert both.run(EXECUTE) == (
        "pyptx: kernel k, last: input 0 has shape (6, 8); the kernel was made for (?, 9)"
    )
    with Current():
        for plan, problem in cases.items():
            assert Site(plan).ready().run(EXECUTE) == head + problem, (
                plan,
                Site(plan).ready().run(EXECUTE),
            )
        site = Site().ready()
        setting("fail cuLaunchKernelEx", 701)
        assert site.run(EXECUTE) == head + (
            "cuLaunchKernelEx failed with CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): the kernel needs more "
            "registers or shared memory than the device has for so many threads"
        )
        setting("fail cuLaunchKernelEx", 1)
        assert site.run(EXECUTE) == head + (
            "cuLaunchKernelEx failed with CUDA_ERROR_INVALID_VALUE (1), invalid argument: the device does "
            "not take this grid, block, cluster or amount of shared memory"
        )
        setting("fail cuLaunchKernelEx", 999)
        assert site.run(EXECUTE) == head + "cuLaunchKernelEx failed with an unknown error (999)"
        setting("fail cuLaunchKernelEx", 0)
        assert site.run(EXECUTE) == ""
    assert len(launches()) == 1


def tensor_maps() -> None:
    """Maps are encoded at each launch from its buffers, and passed by value in their places."""
    setting("parameters", 5)
    site = Site(MAPS).ready()
    x, y = site.addresses
    with Current():
        assert site.run(PREPARE) == "" and calls("cuTensorMapEncodeTiled") == 0
        assert site.run(EXECUTE) == ""
    assert [line for line in log() if line.startswith("map")] == [
        f"map aligned=1 type=7 address={x} sizes=8,6 strides=32 box=8,64 steps=1,1 modes=0,1,2,0",
        f"map aligned=1 type=7 address={x} sizes=8,6 strides=32 box=4,16 steps=1,2 modes=0,0,0,1",
        f"map aligned=1 type=9 address={y} sizes=16,6 strides=32 box=8,8 steps=1,1 modes=0,0,0,0",
    ], log()
    assert launches()[-1].endswith(f"stream=0 {x} 1 6 2 3"), launches()
    with Current():
        assert site.run(EXECUTE) == ""
    assert launches()[-1].endswith(f"stream=0 {x} 4 6 5 6"), launches()
    setting("fail cuTensorMapEncodeTiled", 1)
    with Current():
        assert site.run(EXECUTE) == (
            "pyptx: kernel k: the tensor map of X: cuTensorMapEncodeTiled failed with CUDA_ERROR_INVALID_VALUE (1), invalid argument: the device does not take this box, layout or tensor"
        )


def maps_of_images() -> None:
    """Corners go to the driver as its axes count, and swizzles by its numbers."""
    setting("parameters", 2)
    site = Site(IMAGES).ready()
    x = site.addresses[0]
    with Current():
        assert site.run(EXECUTE) == ""
    found = [line for line in log() if line.startswith(("map", "im2col"))]
    tensor = f"type=7 address={x} sizes=16,7,5,6 strides=64,448,2240"
    assert found == [
        f"im2col {tensor} lower=-2,-1 upper=1,0 channels=8 pixels=40 steps=1,3,2,1 modes=0,1,0,0",
        f"map aligned=1 {tensor} box=32,4,1,1 steps=1,1,1,1 modes=0,6,0,0",
    ], log()
    setting("fail cuTensorMapEncodeIm2col", 1)
    with Current():
        assert site.run(EXECUTE) == (
            "pyptx: kernel k: the tensor map of X: cuTensorMapEncodeIm2col failed with CUDA_ERROR_INVALID_VALUE (1), invalid argument: the device does not take this bounding box, layout or tensor"
        )
    far = Site(IMAGES.replace("-1|-2", "-1|-200")).run(INSTANTIATE)
    assert far.endswith(
        "the tensor map of X: a corner of its bounding box is -200, too far away"
    ), far


def tensors_without_maps() -> None:
    """What breaks a rule is said before the driver is asked; an empty grid encodes nothing."""
    wide = MAPS.replace("bf16:r0.0|16:32", "bf16:r0.0|16:36")
    with Current():
        assert Site(wide).ready().run(EXECUTE) == (
            "pyptx: kernel k: the tensor map of Y: the stride of axis 0 is 36 bytes; it must be a multiple of 16 below 2**40"
        )
        none = MAPS.replace("f32:a0.0|8", "f32:a0.0 a0.0 -|8")
        assert Site(none).ready().run(EXECUTE) == (
            "pyptx: kernel k: the tensor map of X: axis 0 has size 0; the range is 1 to 2**32"
        )
        assert Site(none.replace("grid=a0.0", "grid=0")).ready().run(EXECUTE) == ""
    assert calls("cuTensorMapEncodeTiled") == 0 and calls("cuLaunchKernelEx") == 0


def old_driver() -> None:
    setting("driver", 12040)
    setting("fail cuModuleLoadData", 200)
    site = Site().ready()
    with Current():
        assert site.run(PREPARE) == (
            "pyptx: kernel k: cuModuleLoadData failed with CUDA_ERROR_INVALID_IMAGE (200): the device cannot "
            "load this cubin; the driver supports CUDA 12.4 and the kernel was assembled by CUDA 13: the "
            "driver is too old, or install nvidia-cuda-nvcc of the driver's version"
        )
        setting("fail cuModuleLoadData", 0)
        assert site.run(PREPARE) == ""


def no_driver() -> None:
    site = Site().ready()
    problem = site.run(EXECUTE)
    assert problem.startswith("pyptx: kernel k: no NVIDIA driver: libcuda.so.1: "), problem


def bad_attributes() -> None:
    """A damaged program is refused when it is loaded."""
    cases = {
        PLAN.replace("kernel=k;", ""): "?: its plan lacks the field 'kernel'",
        PLAN.replace("kernel=k;", "kernel=;"): "?: its plan lacks the kernel's name",
        PLAN.replace(";params=a0,r0,i64:a0.0", ""): "k: its plan lacks the field 'params'",
        PLAN.replace("outputs=[? 8]", "inputs=[? 8]"): (
            "k: its plan has the field 'inputs' twice in one line"
        ),
        PLAN + ";shared=1" * 32: "k: its plan has the field 'shared' twice in one line",
        PLAN.replace("a0.0 2 cdiv", "1 " * 33 + "+ " * 31 + "+"): (
            "k: the expression '"
            + "1 " * 33
            + "+ " * 31
            + "+' in its plan is nested deeper than 32"
        ),
        PLAN.replace("128,1,1", "128,1,65"): "k: bad triple '128,1,65' in its plan",
        PLAN.replace("cluster=1,1,1", "cluster=17,1,1"): "k: bad triple '17,1,1' in its plan",
        PLAN.replace("i64:a0.0", "b256:00"): "k: bad parameter 'b256:00' in its plan",
        PLAN.replace("i64:a0.0", ",".join(["i64:1"] * 4094)): (
            "k: its plan has more than the 32764 bytes of arguments that a launch takes"
        ),
        PLAN.replace("params=a0", "params=v0"): (
            "k: its plan passes input 0 by value, which is no scalar"
        ),
        PLAN.replace("a0.0 2 cdiv", "a0.0 2 pow"): "k: bad token 'pow' in its plan",
        PLAN.replace("a0.0 2 cdiv", "a0.0 cdiv"): "k: bad expression 'a0.0 cdiv' in its plan",
        PLAN.replace("a0.0 2 cdiv", "a0.7"): "k: its plan names a dimension that no buffer has",
        PLAN.replace("params=a0", "params=a9"): "k: its plan names a buffer that does not exist",
        PLAN.replace("params=a0", "params=q0"): "k: bad parameter 'q0' in its plan",
        PLAN.replace("inputs=[? 8]", "inputs=[? 8],[]").replace("params=a0", "params=v1"): (
            "k: a scalar by value would need its value on the host; on a GPU scalars are passed by address"
        ),
        PLAN.replace("128,1,1", "128,0,1"): "k: bad triple '128,0,1' in its plan",
        PLAN.replace("[? 8]", "[? x]"): "k: bad shape '[? x]' in its plan",
        PLAN + ";color=red": "k: unknown field 'color' in its plan",
        PLAN.partition("\n")[0]: "?: its plan has no steps",
        PLAN + ";zeros=r1": "k: its plan names a buffer that does not exist",
        PLAN + ";complete=r1": "k: its plan names a buffer that does not exist",
        PLAN + ";complete=a0": "k: bad output 'a0' in its plan",
        PLAN + ";init=r1:00": "k: its plan names a buffer that does not exist",
        PLAN + ";init=r0": "k: bad initial value 'r0' in its plan",
        PLAN + ";init=r0:": "k: bad initial value 'r0:' in its plan",
        PLAN + ";init=r0:0": "k: bad initial value 'r0:0' in its plan",
        PLAN + ";init=r0:000000": "k: bad initial value 'r0:000000' in its plan",
        PLAN + ";init=r0:0g": "k: bad initial value 'r0:0g' in its plan",
        PLAN.replace("params=a0", "params=e1"): "k: its plan names a buffer that does not exist",
    }
    for plan, problem in cases.items():
        assert Site(plan).run(INSTANTIATE) == "pyptx: kernel " + problem, Site(plan).run(
            INSTANTIATE
        )
    assert Site(code={"sm_90a": b"PK"}).run(INSTANTIATE) == (
        "pyptx: kernel k: 'sm_90a' is not a cubin for a target"
    )
    assert Site(code={"gfx9": b"\x7fELF"}).run(INSTANTIATE) == (
        "pyptx: kernel k: 'gfx9' is not a cubin for a target"
    )
    assert Site(code={}).run(INSTANTIATE) == "pyptx: kernel k: the call has no code for it"
    assert Site(code=[]).run(INSTANTIATE) == (
        "pyptx: kernel k: the call has no attribute 'cubins' or 'assembler'"
    )
    assert Site(STEPS, [CODE]).run(INSTANTIATE) == (
        "pyptx: kernel last: the call has no code for it"
    )


SCENARIOS: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        metadata,
        launch,
        contexts,
        no_context,
        picks_target,
        empty_grid,
        steps,
        zeros,
        initial_values,
        cluster,
        cooperative,
        errors,
        tensor_maps,
        maps_of_images,
        tensors_without_maps,
        old_driver,
        no_driver,
        bad_attributes,
    )
}


def apart(name: str) -> tuple[int, str]:
    """Run a scenario in a fork of this process: its exit status, and what it printed."""
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            signal.alarm(LONGEST)
            status = 1
            try:
                SCENARIOS[name]()
                print("ok")
                status = 0
            except BaseException:  # noqa: BLE001 (the child ends here whatever it was)
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        printed.seek(0)
        return os.waitstatus_to_exitcode(status), printed.read().decode()


if __name__ == "__main__":
    print(json.dumps({name: apart(name) for name in sys.argv[2:]}))
