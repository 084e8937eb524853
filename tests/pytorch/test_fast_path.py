"""The native fast path: which calls it takes, what it launches for them, and what it leaves.

A process has a driver that launches nothing and writes down what it is told; tensors on the CPU are
taken for tensors of a GPU there.
"""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

MOCK = Path(__file__).parents[1] / "runtime/handlers/mock_cuda.cc"
OUT_OF_RESOURCES = (
    "cuLaunchKernelEx failed with CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): the kernel needs more "
    "registers or shared memory than the device has for so many threads"
)
START = """
    import ctypes, sys
    driver = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
    driver.mock_log.restype = ctypes.c_char_p
    for device in (0, 0):
        driver.mock_enter(device)

    import torch
    import pyptx, pyptx.torch as ours
    from pyptx import Tile, kernel, ptx
    from pyptx._native import launcher
    from pyptx._runtime.shortcut import MISSED
    from pyptx._runtime.torch import execution, fast
    from pyptx.types import f32

    fast.allocate = torch._C._dynamo.guards._empty_strided_cpu
    made = execution.Launcher.__init__
    def on_the_cpu(self, ready, shapes, index):
        made(self, ready, shapes, index)
        self._device = torch.device("cpu")
    execution.Launcher.__init__ = on_the_cpu
    execution._raw_stream = lambda index: 0
    execution._check = lambda call, tensors: torch.device("cuda", 0)
    torch.cuda.get_device_capability = lambda device=0: (9, 0)
    torch.Tensor.get_device = lambda self: 0

    def launches():
        return [line for line in driver.mock_log().decode().splitlines() if " grid=" in line]

    def taken(call):
        '''What a call launched, and whether the fast path did.'''
        before, slow = len(launches()), []
        slowly = execution.Launcher.__call__
        execution.Launcher.__call__ = lambda self, given: slow.append(1) or slowly(self, given)
        try:
            call()
        finally:
            execution.Launcher.__call__ = slowly
        return len(launches()) - before, "slow" if slow else "fast"

    @kernel(
        in_specs=(Tile("*B", 128, f32), Tile(128, f32)),
        out_specs=(Tile("*B", 128, f32),),
        grid=lambda B: (B, 1, 1), block=128, arch="auto", parallel=("B",),
    )
    def scale(X, W, Y):
        X.load(0, 0, vector=4)  # accesses of 16 bytes, which is what addresses must be multiples of

    x, w = torch.randn(5, 128), torch.randn(128)

    def made_known(x, w):
        for _ in range(2):  # the second call is the first that does nothing but launch
            scale(x, w)
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    library = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    command = ["g++", "-std=c++17", "-O0", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*command, str(MOCK), "-o", str(library)], check=True)
    return library


@pytest.fixture
def run(driver, tmp_path):
    def inner(body):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(START) + textwrap.dedent(body))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(program), str(driver)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return inner


def test_a_known_call_is_launched_with_the_tensors_addresses(run):
    assert run(
        """
        assert taken(lambda: scale(x, w)) == (1, "slow")
        made_known(x, w)
        driver.mock_set(b"parameters", 3)
        for rows in (5, 5):
            other = torch.randn(rows, 128)
            y = scale(other, w)
            *_, a, b, c = launches()[-1].split()
            addresses = [int(a), int(b), int(c)]
            assert addresses == [t.data_ptr() for t in (other, w, y)]
            assert y.shape == (rows, 128) and y.is_contiguous() and type(y) is torch.Tensor
        assert taken(lambda: scale(other, w)) == (1, "fast")
        print(launches()[-1].partition(" image")[0])
        """
    ) == ["scale"]


def test_what_more_than_a_launch_is_left_to_python(run):
    run(
        """
        from torch._subclasses import FakeTensorMode
        from torch.autograd import forward_ad

        made_known(x, w)
        path = scale._shortcut.call
        assert path(x, w) is not MISSED
        assert path(torch.randn(6, 128), w) is MISSED              # another shape
        assert path(torch.randn(1, 5, 128), w) is MISSED
        assert path(x.double(), w.double()) is MISSED              # another type
        assert path(x.int(), w) is MISSED                          # as wide, and another type
        assert path(torch.randn(128, 5).t(), w) is MISSED          # strides
        assert path(torch.randn(5 * 128 + 1)[1:].view(5, 128), w) is MISSED  # begins between words
        assert path(x) is MISSED and path(x, w, w) is MISSED and path(x, None) is MISSED
        assert path(x, w.numpy()) is MISSED
        class Own(torch.Tensor): pass
        assert path(x.as_subclass(Own), w) is MISSED
        assert path(x, torch.nn.Parameter(w, requires_grad=False)) is not MISSED
        leaf = x.clone().requires_grad_()
        assert path(leaf, w) is MISSED
        with torch.no_grad():
            assert path(leaf, w) is not MISSED
        with torch.inference_mode():
            assert path(x, w) is not MISSED
        with pyptx.target("sm_90a"):
            assert path(x, w) is MISSED
        with FakeTensorMode():
            assert path(x, w) is MISSED
        with forward_ad.dual_level():
            assert path(x, w) is MISSED
        seen = []
        torch.func.vmap(lambda x: seen.append(path(x, w)) or x)(torch.randn(3, 5, 128))
        assert seen == [MISSED]
        driver.mock_enter(1)                                       # another device is current
        assert path(x, w) is MISSED
        driver.mock_leave()
        assert path(x, w) is not MISSED
        """
    )


def test_a_view_that_pytorch_negates_is_copied(run):
    assert run(
        """
        made_known(x, w)
        driver.mock_set(b"parameters", 3)
        negated = torch._neg_view(x)
        assert negated.data_ptr() == x.data_ptr() and negated.is_contiguous()
        copies = []
        resolve = torch.Tensor.resolve_neg
        torch.Tensor.resolve_neg = lambda self: copies.append(resolve(self)) or copies[-1]
        for _ in range(3):
            assert taken(lambda: scale(negated, w)) == (1, "slow")
            assert torch.equal(copies[-1], -x) and not copies[-1].is_neg()
            assert int(launches()[-1].split()[-3]) == copies[-1].data_ptr() != x.data_ptr()
        assert taken(lambda: scale(x, w)) == (1, "fast")

        @kernel(
            in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=32, arch="auto",
            input_output_aliases={0: 0},
        )
        def update(X, Y):
            X.load(0, vector=4)

        driver.mock_set(b"parameters", 0)
        assert update(w) is w
        try:
            update(torch._neg_view(w))
        except pyptx.CallError as error:
            print(str(error).partition(": ")[2].replace("  ", ""))
        """
    ) == [
        "X is updated in place, and PyTorch negates this view when it is read",
        "update(torch._neg_view(w))",
        "help: update a copy of it, X.resolve_neg()",
    ]


def test_an_operation_is_known_by_its_other_arguments(run):
    run(
        """
        x, w = torch.randn(5, 256), torch.randn(256)
        norm = lambda *given: taken(lambda: ours.rms_norm(*given))
        assert norm(x, (256,), w, 1e-5) == (1, "slow")
        assert norm(x, (256,), w, 1e-5) == (1, "fast")
        assert norm(x, x.shape[-1:], w, 1e-5) == (1, "slow")       # of another class
        assert norm(x, x.shape[-1:], w, 1e-5) == (1, "fast")
        assert norm(x, (256,), w, 1e-6) == (1, "slow")             # another kernel
        assert norm(x, (256,), w, 1e-6) == (1, "fast")
        names = [line.partition(" ")[0] for line in launches()]
        assert len(set(names[:4])) == 1
        ones = lambda: taken(lambda: ours.rms_norm(x, (256,)))     # its weight is kept
        assert ones() == (1, "slow") and ones() == (1, "fast")
        driver.mock_set(b"parameters", 3)
        ours.rms_norm(x, (256,))
        assert launches()[-1].split()[-3] == str(x.data_ptr())
        kept = [int(word) for word in launches()[-1].split()[-3:]]
        assert torch.equal(fast._lasting[next(iter(fast._lasting))], torch.ones(256))
        assert fast._lasting[next(iter(fast._lasting))].data_ptr() in kept
        a, b = torch.randn(7, 64), torch.randn(7, 64)
        assert taken(lambda: ours.swiglu(a, b)) == (1, "slow")
        assert taken(lambda: ours.swiglu(a, b)) == (1, "fast")  # whose kernel has short rows
        assert ours.swiglu(a, b).shape == (7, 64)
        assert taken(lambda: ours.swiglu(a, a)) == (1, "fast")
        assert taken(lambda: ours.softmax(a, 0)) == (1, "slow")    # copies
        assert taken(lambda: ours.softmax(a, 0)) == (1, "slow")
        """
    )


def test_numbers_are_part_of_what_is_known(run):
    assert run(
        """
        import struct
        from pyptx import Scalar
        from pyptx.types import s32

        @kernel(
            in_specs=(Scalar(s32), Tile("*B", 128, f32), Scalar(f32)),
            out_specs=(Tile("*B", 128, f32),),
            grid=lambda B: (B, 1, 1), block=128, arch="auto", parallel=("B",),
        )
        def shift(n, X, a, Y):
            X.load(0, 0, vector=4)

        driver.mock_set(b"parameters", 1)
        def given():
            bits = int(launches()[-1].split()[-1])
            return bits % 2**32

        assert taken(lambda: shift(3, x, 2.0)) == (1, "slow") and given() == 3
        assert taken(lambda: shift(3, x, 2.0)) == (1, "fast") and given() == 3
        assert taken(lambda: shift(4, x, 2.0)) == (1, "slow") and given() == 4
        assert taken(lambda: shift(4, x, 2.0)) == (1, "fast") and given() == 4
        assert taken(lambda: shift(3, x, 2.5)) == (1, "slow")
        assert taken(lambda: shift(3, x, 2)) == (1, "slow")        # an int is not a float
        assert taken(lambda: shift(3, x, 2.0)) == (1, "fast") and given() == 3
        for zero in (0.0, -0.0):                                   # which are equal
            for _ in range(2):
                assert taken(lambda: shift(3, x, zero)) == (1, "slow")
        for n in range(100):
            shift(n, x, 2.0)
        assert taken(lambda: shift(99, x, 2.0)) == (1, "slow")     # not every number is kept
        assert taken(lambda: shift(3, x, 2.0)) == (1, "fast") and given() == 3
        leaf = x.clone().requires_grad_()
        shift(3, leaf, 2.0)
        print("done")
        """
    ) == ["done"]


def test_autocast_is_asked_where_it_matters(run):
    run(
        """
        for autocast in (False, True):
            path = fast.make(autocast=autocast)
            with fast.watched() as watch:
                y = ours.rms_norm(torch.randn(3 + autocast, 64), (64,), torch.randn(64), 1e-5)
            launched = watch.launches[0]
            given = tuple(launched.operands)
            assert path.remember(given, watch, y)
            assert path.call(*given) is not MISSED
            with torch.autocast("cpu", torch.bfloat16):
                assert (path.call(*given) is MISSED) == autocast
            assert not path.remember((given[0], given[0]), watch, y)   # which is which is not said
            assert not path.remember((*given, object()), watch, y)
            assert not path.remember(given, watch, y.clone())
            watch.launches.append(launched)
            assert not path.remember(given, watch, y)
        """
    )


def test_a_compiled_program_and_a_gradient_use_it(run):
    run(
        """
        x, w = torch.randn(5, 256), torch.randn(256)
        compiled = torch.compile(
            lambda x: ours.rms_norm(x, (256,), w, 1e-5), fullgraph=True, backend="aot_eager"
        )
        compiled(x)
        assert taken(lambda: compiled(x)) == (1, "fast")
        leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
        step = lambda: ours.rms_norm(leaf, (256,), weight, 1e-5).sum().backward()
        step(), step()
        count, how = taken(step)
        assert how == "fast" and count >= 2, (count, how)
        # What is kept for a gradient is no part of what is known without one.
        x, w = torch.randn(6, 64, requires_grad=True), torch.randn(64)
        for _ in range(3):
            ours.rms_norm(x, (64,), w, 1e-5)
        kept = launches()[-1]
        with torch.no_grad():
            for _ in range(3):
                ours.rms_norm(x, (64,), w, 1e-5)
        assert kept.startswith("rms_norm_invvar") and launches()[-1].startswith("rms_norm_sub")
        """
    )


def test_a_launch_that_fails_is_an_error_and_the_next_one_works(run):
    assert run(
        """
        made_known(x, w)
        driver.mock_set(b"fail cuLaunchKernelEx", 701)
        try:
            scale(x, w)
        except pyptx.DeviceError as error:
            print(error)
        driver.mock_set(b"fail cuLaunchKernelEx", 0)
        assert taken(lambda: scale(x, w)) == (1, "fast")
        def no_memory(*given):
            raise torch.OutOfMemoryError("none left")
        fast.allocate = no_memory
        big = torch.randn(9, 128)
        made_known(big, w)                  # with what allocates
        try:
            scale(big, w)
        except torch.OutOfMemoryError as error:
            print(error)
        """
    ) == [
        f"kernel scale: {OUT_OF_RESOURCES}",
        "none left",
    ]


def test_references_are_given_back_and_threads_share_it(run):
    run(
        """
        import sys, threading, weakref
        made_known(x, w)
        before = sys.getrefcount(x), sys.getrefcount(None), sys.getrefcount(MISSED)
        for _ in range(1000):
            scale(x, w)
            scale._shortcut.call(x, None)
        after = sys.getrefcount(x), sys.getrefcount(None), sys.getrefcount(MISSED)
        assert all(abs(a - b) < 50 for a, b in zip(before, after)), (before, after)
        y = weakref.ref(scale(x, w))
        assert y() is None
        count = len(launches())
        def work(rows):
            driver.mock_enter(0)
            x = torch.randn(rows, 128)
            for _ in range(300):
                assert scale(x, w).shape == (rows, 128)
        threads = [threading.Thread(target=work, args=(rows,)) for rows in (3, 4, 5)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(launches()) - count == 900
        """
    )


def test_what_a_kernel_reads_from_outside_is_compared_first(run):
    run(
        """
        factor = 1.0

        @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128, arch="sm_90a")
        def scaled(X, Y):
            Y[ptx.special.tid.x()] = X[ptx.special.tid.x()] * factor

        x = torch.randn(128)
        for _ in range(2):
            scaled(x)
        assert taken(lambda: scaled(x)) == (1, "fast")
        factor = 2.0
        assert taken(lambda: scaled(x)) == (1, "slow")
        scaled(x)
        assert taken(lambda: scaled(x)) == (1, "fast")
        factor = float("2.0")
        assert taken(lambda: scaled(x)) == (1, "fast")
        """
    )
