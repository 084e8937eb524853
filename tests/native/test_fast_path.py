"""The fast path of Python, with tensors of a framework that is only DLPack's exchange API."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

MOCK = Path(__file__).parents[1] / "runtime/handlers/mock_cuda.cc"
PROGRAM = """
    import ctypes, gc, sys

    driver = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
    driver.mock_log.restype = ctypes.c_char_p
    driver.mock_enter(0)
    driver.mock_set(b"parameters", 2)

    from pyptx._native import launcher

    class Description(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
            ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
            ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
        ]

    class Tensor:
        requires_grad = negated = False

        def is_neg(self):
            return self.negated

        def __init__(self, address, *shape, strides=None, bits=32, offset=0):
            self.address, self.rank, self.bits, self.offset = address, len(shape), bits, offset
            self.shape = (ctypes.c_int64 * len(shape))(*shape)
            self.strides = strides and (ctypes.c_int64 * len(shape))(*strides)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Description))
    def from_object(tensor, found):
        one = found[0]
        one.data, one.device_type, one.device, one.rank = tensor.address, 2, 0, tensor.rank
        one.code, one.bits, one.lanes, one.offset = 2, tensor.bits, 1, tensor.offset
        one.shape = ctypes.cast(tensor.shape, ctypes.POINTER(ctypes.c_int64))
        one.strides = ctypes.cast(tensor.strides, ctypes.POINTER(ctypes.c_int64))
        return 0

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    def current_stream(kind, device, stream):
        stream[0] = 0x77
        return 0

    table = (ctypes.c_void_p * 7)(
        1, None, None, None, None, ctypes.cast(from_object, ctypes.c_void_p),
        ctypes.cast(current_stream, ctypes.c_void_p),
    )
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(ctypes.addressof(table), b"dlpack_exchange_api", None)

    missed, modes, level, grad = object(), [], {"level": -1}, [False]
    def fail(status):
        raise launcher.NativeCall.failure(status)
    settings = (
        (Tensor,), capsule, ((lambda: len(modes), 0),), level, "level", -1, lambda: grad[0],
        "requires_grad", "is_neg", True, missed, fail,
    )
    call, path = launcher.fast_path(settings)
    plan = (
        "inputs=[? 4];outputs=[? 4]\\n"
        "kernel=one;grid=a0.0,1,1;block=32,1,1;cluster=1,1,1;shared=0;params=a0,r0"
    )
    native = launcher.NativeCall(plan, ({"sm_90a": b"\\x7fELF and more"},), 13, (4,))
    made = []
    def allocate(*arguments):
        made.append(arguments)
        return Tensor(0x9000, 3, 4)
    x = Tensor(0x1000, 3, 4)
    known = (native, native.handle, 0, 16, (0,), ((allocate, ("a", 1)),), 1, (3, 4, 3, 4))
    assert call(x, 7) is missed
    assert launcher.remember(path, (x, 7), known)
    assert launcher.remember(path, (x, 7), known)            # it is already
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libcuda.so.1"
    command = ["g++", "-std=c++17", "-O0", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*command, str(MOCK), "-o", str(library)], check=True)

    def inner(body: str) -> list[str]:
        program = folder / "program.py"
        program.write_text(textwrap.dedent(PROGRAM) + textwrap.dedent(body))
        done = subprocess.run(
            [sys.executable, str(program), str(library)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return inner


def test_a_known_call_allocates_and_launches(run):
    lines = run(
        """
        y = call(Tensor(0x2000, 3, 4, offset=32), 7)
        assert type(y) is Tensor and y.address == 0x9000 and made == [("a", 1)]
        print([line for line in driver.mock_log().decode().splitlines() if "grid" in line][-1])
        """
    )
    assert lines == [
        "one image= and context=0 grid=3,1,1 block=32,1,1 shared=0 stream=119 8224 36864"
    ]


def test_values_on_the_host_have_their_addresses(run):
    lines = run(
        """
        value = ctypes.c_int64(77)
        at = -ctypes.addressof(value)
        plan = plan.replace("[? 4];outputs", "[? 4],[];outputs").replace("a0,r0", "v1,a0")
        native = launcher.NativeCall(plan, ({"sm_90a": b"\\x7fELF and more"},), 13, (4,))
        assert launcher.remember(
            path, (Tensor(0x1000, 2, 4), 7.5),
            ((native, value), native.handle, 0, 16, (0, at), ((allocate, ()),), 1, (2, 4, 2, 4)),
        )
        del value
        gc.collect()
        assert call(Tensor(0x1000, 2, 4), 7.5) is not missed
        assert call(Tensor(0x1000, 2, 4), 7.0) is missed
        print([line for line in driver.mock_log().decode().splitlines() if "grid" in line][-1])
        """
    )
    assert lines == ["one image= and context=0 grid=2,1,1 block=32,1,1 shared=0 stream=119 77 4096"]


def test_what_is_not_known_is_missed(run):
    run(
        """
        for given in (
            (), (x,), (x, 8), (x, 7.0), (x, None), (x, x), (x, 7, 7), (Tensor(0x1000, 4, 3), 7),
            (Tensor(0x1000, 3, 4, 1), 7), (Tensor(0x1000, 3, 4, bits=16), 7),
            (Tensor(0x1000, 3, 4, strides=(1, 3)), 7), (Tensor(0x1008, 3, 4), 7),
            (Tensor(0x1000, 3, 4, offset=4), 7), ([x], 7), (x,) * 40,
        ):
            assert call(*given) is missed, given
        assert call(Tensor(0x1000, 3, 4, strides=(4, 1)), 7) is not missed
        modes.append(1)
        assert call(x, 7) is missed
        modes.clear()
        level["level"] = 0
        assert call(x, 7) is missed
        level["level"] = -1
        x.requires_grad = True
        assert call(x, 7) is not missed
        grad[0] = True
        assert call(x, 7) is missed
        x.requires_grad = False
        x.negated = True
        assert call(x, 7) is missed
        x.negated = False
        assert call(x, 7) is not missed
        driver.mock_enter(1)
        assert call(x, 7) is missed
        driver.mock_leave()
        assert len(made) == 3
        """
    )


def test_what_cannot_be_known_is_refused(run):
    run(
        """
        other = Tensor(0x1000, 5, 4)
        kept, handle = native, native.handle
        results = ((allocate, ()),)
        for wrong in (
            (kept, handle, 0, 16, (0,), results, 1, (5, 4, 5)),              # sizes
            (kept, handle, 0, 16, (0,), results, 1, (5, 5, 5, 5)),           # not the plan's
            (kept, handle, 0, 16, (), results, 1, (5, 4, 5, 4)),             # inputs
            (kept, handle, 0, 16, (1,), results, 1, (5, 4, 5, 4)),           # no tensor
            (kept, handle, 0, 16, (9,), results, 1, (5, 4, 5, 4)),           # no argument
            (kept, handle, 0, 16, (0,), (), 0, (5, 4, 5, 4)),                # results
            (kept, handle),
        ):
            assert not launcher.remember(path, (other, 1), wrong), wrong
            assert call(other, 1) is missed
        assert not launcher.remember(path, (1,), known)
        assert launcher.remember(
            path, (other, 1), (kept, handle, 0, 16, (0,), results, 1, (5, 4, 5, 4))
        )
        assert call(other, 1) is not missed
        """
    )


def test_errors_and_what_is_kept_alive(run):
    lines = run(
        """
        driver.mock_set(b"fail cuLaunchKernelEx", 701)
        try:
            call(x, 7)
        except Exception as error:
            print(type(error).__name__, str(error).partition(":")[0])
        driver.mock_set(b"fail cuLaunchKernelEx", 0)
        def nothing(*arguments):
            raise MemoryError("none left")
        y = Tensor(0x1000, 6, 4)
        assert launcher.remember(
            path, (y, 7), (native, native.handle, 0, 16, (0,), ((nothing, ()),), 1, (6, 4, 6, 4))
        )
        try:
            call(y, 7)
        except MemoryError as error:
            print(error)
        kept = launcher.NativeCall(plan, ({"sm_90a": b"\\x7fELF and more"},), 13, (4,))
        del native, known
        gc.collect()
        assert call(x, 7) is not missed          # what is known keeps its call
        before = sys.getrefcount(x), sys.getrefcount(missed), sys.getrefcount(allocate)
        for _ in range(500):
            call(x, 7), call(x, 8)
        after = sys.getrefcount(x), sys.getrefcount(missed), sys.getrefcount(allocate)
        assert before == after, (before, after)
        for rows in range(10, 1110):             # of so many the first are forgotten
            z, sizes = Tensor(0x1000, rows, 4), (rows, 4, rows, 4)
            known = (kept, kept.handle, 0, 16, (0,), ((allocate, ()),), 1, sizes)
            assert launcher.remember(path, (z, 7), known)
        assert call(z, 7) is not missed and call(x, 7) is missed
        del call, path
        gc.collect()
        """
    )
    assert lines == ["DeviceError kernel one", "none left"]
