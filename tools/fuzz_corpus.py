"""Writes tests/fuzz/corpus from what pyptx itself writes: `.venv/bin/python tools/fuzz_corpus.py`.

Plans and program images are those of the examples, small ones. Files whose names begin with
"found-" are inputs that a fuzz target once failed on; they stay as they are.
"""

from __future__ import annotations

import hashlib
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.launch.test_reading import PLANS  # noqa: E402

from pyptx._assemble import Cubin, Message, ptxas  # noqa: E402  # behind the path of the tests
from pyptx._emulator.tensor_map import encode_map  # noqa: E402
from pyptx._launch.reading import read  # noqa: E402
from pyptx._layouts.tensor_map import row_major_strides  # noqa: E402
from pyptx._runtime import numpy as runtime  # noqa: E402

CORPUS = ROOT / "tests/fuzz/corpus"
EXAMPLES = (
    "first_kernel", "layer_norm", "softmax", "swiglu", "transpose", "hopper/rms_norm",
    "hopper/matmul", "blackwell/matmul", "blackwell/matmul_pair",
)  # fmt: skip
BASE = 0x7F0000000000


def recorded() -> tuple[dict[str, str], dict[str, bytes]]:
    """The plans and the images of the calls that the examples make, by the name of the example."""
    plans: dict[str, str] = {}
    images: dict[str, bytes] = {}
    emulate = runtime.emulate

    def recording(call: Any, arrays: Any, **options: Any) -> Any:
        lowered = call.lowered_for(runtime.targets.emulated())
        plans.setdefault(name, str(lowered.plan))
        images.setdefault(name, lowered.code[0].image())
        return emulate(call, arrays, **options)

    runtime.emulate = recording
    for example in EXAMPLES:
        name = example.replace("/", "-")
        sys.argv = [example]
        runpy.run_path(str(ROOT / f"examples/{example}.py"), run_name="__main__")
    runtime.emulate = emulate
    return plans, images


def tensor_maps(plans: list[str]) -> Iterator[bytes]:
    """The maps among the arguments of these plans, of tensors of 64 elements an axis."""
    for plan in plans:
        for step in read(plan).steps:
            for argument in step.arguments:
                described = getattr(argument, "map", None)
                if described is not None:
                    sizes = (64,) * described.rank
                    strides = row_major_strides(sizes, described.dtype.bytes)
                    yield encode_map(described, BASE, sizes, strides)


def cubin() -> Cubin:
    warning = Message("warning", 3, "a message")
    numbers = dict.fromkeys(("barriers", "stack", "spill_stores", "spill_loads", "shared"), 0)
    return Cubin(
        kernel="k", target="sm_90a", code=b"\x7fELF" + bytes(12), registers=8, constant=544,
        assembler="13.5.37", messages=(warning,), log="ptxas info    : 0 bytes gmem", **numbers,
    )  # fmt: skip


def write(target: str, files: dict[str, bytes]) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if not old.name.startswith("found-"):
            old.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def main() -> None:
    plans, images = recorded()
    plans |= {f"written-{n}": text for n, text in enumerate(PLANS)}
    write("plan", {name: text.encode() for name, text in plans.items()})
    write("image", images)
    maps = {hashlib.sha256(data).hexdigest()[:8]: data for data in tensor_maps([*plans.values()])}
    write("tensor_map", maps)
    entry = ptxas._encode(cubin())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    write("cache", {"entry": entry, "stored": hashlib.sha256(entry).digest() + entry})


if __name__ == "__main__":
    main()
