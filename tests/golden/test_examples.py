"""The PTX of the examples, byte for byte. `make goldens` writes the files anew."""

import importlib.util
from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

ROOT = Path(__file__).parents[2]
KERNELS = {
    "axpy": ("examples/first_kernel.py", lambda m: m.axpy.ptx(N=1000)),
    "rms_norm_4x512": ("examples/hopper/rms_norm.py", lambda m: m.build(4, 512).ptx()),
    "rms_norm_2048x8192": ("examples/hopper/rms_norm.py", lambda m: m.build(2048, 8192).ptx()),
    "transpose": ("examples/transpose.py", lambda m: m.transpose.ptx(M=50, N=33)),
    "softmax": ("examples/softmax.py", lambda m: m.softmax.ptx(N=1000)),
    "layer_norm": ("examples/layer_norm.py", lambda m: m.build(1024).ptx()),
    "swiglu": ("examples/swiglu.py", lambda m: m.swiglu.ptx(N=5000)),
    "matmul_mma_sync": ("examples/matmul_mma_sync.py", lambda m: m.build(128, 64).ptx()),
    "grouped_matmul": ("examples/grouped_matmul.py", lambda m: m.build(4, 64, 64).ptx(M=100)),
    "matmul_steps": (
        "examples/hopper/matmul_steps.py",
        lambda m: m.build_persistent(512, 512, 128, ctas=3).ptx(),
    ),
    "attention": ("examples/attention.py", lambda m: m.build(128).ptx(T=64)),
}


class Ptx(SingleFileSnapshotExtension):
    """One readable file for each kernel."""

    file_extension = "ptx"
    _write_mode = WriteMode.TEXT


def load(path):
    spec = importlib.util.spec_from_file_location("golden_example", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", KERNELS)
def test_it_is_the_golden_text(name, snapshot):
    path, text = KERNELS[name]
    assert text(load(path)) == snapshot(extension_class=Ptx)


def test_other_kernels_before_it_change_nothing():
    first, second = load("examples/hopper/rms_norm.py"), load("examples/hopper/rms_norm.py")
    alone = first.build(4, 512).ptx()
    load("examples/first_kernel.py").axpy.ptx(N=3)
    second.build(8, 1024).ptx()
    assert second.build(4, 512).ptx() == alone
