"""The launcher of runtimes with streams of their own, with a driver that remembers calls."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

MOCK = Path(__file__).parents[1] / "runtime/handlers/mock_cuda.cc"
PLAN = (
    "inputs=[? 4],[];outputs=[? 4],[2]\n"
    "kernel=first;grid=a0.0,1,1;block=32,1,1;cluster=1,1,1;shared=0;params=a0,v1,r0,i64:a0.0;"
    "init=r1:0000803f\n"
    "kernel=second;grid=1,1,1;block=64,1,1;cluster=2,1,1;shared=16;params=e0,r1"
).replace("grid=1,1,1;block=64", "grid=2,1,1;block=64")

PROGRAM = """
    import ctypes, struct, sys, threading

    driver = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
    driver.mock_log.restype = ctypes.c_char_p

    from pyptx._native.launcher import NativeCall, counters
    from pyptx.errors import CallError, DeviceError, PtxError

    PLAN = {plan!r}
    CUBIN = b"\\x7fELF and more"

    def call(plan=PLAN, cubins=({{"sm_90a": CUBIN}}, {{"sm_90": CUBIN}})):
        return NativeCall(plan, cubins, 13, (4, 4))

    def words(rows=3, columns=4):
        value = ctypes.c_float(2.0)
        filled = (ctypes.c_float * 2)()
        keep.extend((value, filled))
        addresses = (0x1000, ctypes.addressof(value), 0x2000, ctypes.addressof(filled))
        return struct.pack("=4Q5q", *addresses, rows, columns, rows, 4, 2)

    def launch(native, given, device=0, stream=0x77):
        return native.launch(native.handle, device, stream, given)

    def message(make):
        try:
            make()
        except PtxError as error:
            return f"{{type(error).__name__}}: {{error}}"
        return "nothing"

    keep = []
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libcuda.so.1"
    command = ["g++", "-std=c++17", "-O0", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*command, str(MOCK), "-o", str(library)], check=True)
    return library


@pytest.fixture
def run(driver):
    def inner(body: str) -> str:
        program = textwrap.dedent(PROGRAM).format(plan=PLAN) + textwrap.dedent(body)
        done = subprocess.run(
            [sys.executable, "-c", program, str(driver)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return inner


def test_steps_are_launched_in_order_on_the_stream_of_the_device(run):
    printed = run(
        """
        native = call()
        assert launch(native, words(), device=2) == 0
        assert launch(native, words(rows=5), device=2) == 0
        print(driver.mock_log().decode())
        print(counters(), driver.mock_depth())
        """
    )
    first = "first image= and context=2 grid={0},1,1 block=32,1,1 shared=0 stream=119"
    second = (
        "second image= and context=2 grid=2,1,1 block=64,1,1 shared=16 stream=119 attribute4=2,1,1"
    )
    filled = "cuMemsetD32Async value=1065353216 rows=2 stream=119"
    lines = [line for line in printed.splitlines() if line and not line.startswith("attribute")]
    assert lines == [
        *(filled, first.format(3), second),
        *(filled, first.format(5), second),
        "(1, 4) 0",
    ]


def test_what_is_wrong_is_said(run):
    printed = run(
        """
        native = call()
        assert launch(native, words(columns=5)) == 1
        print(NativeCall.failure(1))
        driver.mock_set(b"fail cuLaunchKernelEx", 701)
        assert launch(native, words()) == 3
        print(type(NativeCall.failure(3)).__name__, NativeCall.failure(3))
        driver.mock_set(b"fail cuLaunchKernelEx", 0)
        assert launch(native, words()) == 0
        print(message(lambda: call(plan=PLAN.replace("grid=a0.0", "grid=a7.0"))))
        print(message(lambda: call(cubins=({"sm_90a": CUBIN}, {}))))
        print(message(lambda: call(cubins=({"sm_90a": b"no"}, {"sm_90": CUBIN}))))
        print(message(lambda: call(cubins=({"sm_90a": CUBIN}, {"sm_90": CUBIN}, {"sm_90": CUBIN}))))
        """
    )
    resources = (
        "DeviceError kernel first: cuLaunchKernelEx failed with "
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): the kernel needs more registers or shared "
        "memory than the device has for so many threads"
    )
    assert printed.splitlines() == [
        "kernel first, second: input 0 has shape (3, 5); the kernel was made for (?, 4)",
        resources,
        "CallError: kernel first, second: its plan names a dimension that no buffer has",
        "CallError: kernel first, second: the call has no code for it",
        "CallError: kernel first, second: 'sm_90a' is not a cubin for a target",
        "CallError: kernel first, second: the call has code for a step that its plan lacks",
    ]


def test_threads_launch_one_call(run):
    printed = run(
        """
        native = call()
        def work():
            for rows in range(1, 200):
                assert launch(native, words(rows=rows), device=rows % 3) == 0
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(counters())
        """
    )
    assert printed == "(3, 1592)\n"


def test_without_a_driver_it_is_said():
    program = textwrap.dedent(PROGRAM).format(plan=PLAN).replace(
        "driver = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
        "driver.mock_log.restype = ctypes.c_char_p\n",
        "",
    ) + textwrap.dedent(
        """
        native = call()
        assert launch(native, words()) == 2
        print(str(NativeCall.failure(2)).partition(" driver")[0])
        """
    )
    try:
        import ctypes

        ctypes.CDLL("libcuda.so.1")
        pytest.skip("this machine has an NVIDIA driver")
    except OSError:
        pass
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "kernel first, second: no NVIDIA\n"
