"""Compiles the sources in this folder to the PTX files beside them.

    python tests/text/corpus/regenerate.py nvcc nvrtc triton numba

Each compiler is named on its own, for they live in environments of their own: `nvcc` is CUDA's, on
the PATH; `nvrtc` needs cuda-bindings and nvidia-cuda-nvrtc and finds CUDA's headers through
CUDA_HOME; `triton` and `numba` need triton and numba-cuda. None needs a GPU. Debug information is
taken out of what Triton makes: it is most of the text, and names this folder.
"""

# pyright: basic
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NVCC = {
    "features": ("sm_80", "sm_90a", "sm_120"),
    "tensor_cores": ("sm_80", "sm_90a"),
    "textures": ("sm_80",),
    "tiles": ("sm_80",),
}
NVRTC = {"plain": ("sm_80", "sm_100a", "sm_120"), "pipeline": ("sm_90a",)}
TRITON = {"sm_80": 80, "sm_90a": 90, "sm_100a": 100, "sm_120": 120}
NUMBA = {"sm_80": (8, 0), "sm_90": (9, 0), "sm_100": (10, 0), "sm_120": (12, 0)}


def nvcc() -> None:
    for name, targets in NVCC.items():
        for target in targets:
            out = HERE / "nvcc" / f"{name}.{target}.ptx"
            command = ["nvcc", "-ptx", f"-arch={target}", "-std=c++17", f"{name}.cu", "-o", out]
            subprocess.run(command, cwd=HERE / "nvcc", check=True)


def nvrtc() -> None:
    from cuda.bindings import nvrtc as rtc

    def checked(result):
        error, *values = result
        if error != rtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(rtc.nvrtcGetErrorString(error)[1].decode())
        return values[0] if values else None

    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    headers = [f"-I{home}/include/cccl".encode(), f"-I{home}/include".encode()]
    for name, targets in NVRTC.items():
        source = (HERE / "nvrtc" / f"{name}.cu").read_bytes()
        for target in targets:
            program = checked(rtc.nvrtcCreateProgram(source, name.encode(), 0, [], []))
            options = [f"-arch={target}".encode(), b"-std=c++17", *headers]
            status = rtc.nvrtcCompileProgram(program, len(options), options)[0]
            if status != rtc.nvrtcResult.NVRTC_SUCCESS:
                log = b" " * checked(rtc.nvrtcGetProgramLogSize(program))
                checked(rtc.nvrtcGetProgramLog(program, log))
                raise RuntimeError(log.decode())
            ptx = b" " * checked(rtc.nvrtcGetPTXSize(program))
            checked(rtc.nvrtcGetPTX(program, ptx))
            text = ptx.rstrip(b"\0").decode()
            (HERE / "nvrtc" / f"{name}.{target}.ptx").write_text(text)


def triton() -> None:
    from triton import compile as compiled
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for function, (types, constants) in _sources("triton").items():
        signature = types | dict.fromkeys(constants, "constexpr")
        for target, capability in TRITON.items():
            source = ASTSource(fn=function, signature=signature, constexprs=constants)
            ptx = compiled(source, target=GPUTarget("cuda", capability, 32)).asm["ptx"]
            name = f"{function.fn.__name__}.{target}.ptx"
            (HERE / "triton" / name).write_text(without_debug(ptx))


def numba() -> None:
    from numba import cuda

    for function, signature in _sources("numba").items():
        for target, capability in NUMBA.items():
            ptx, _ = cuda.compile_ptx(function, signature.args, cc=capability)
            (HERE / "numba" / f"{function.__name__}.{target}.ptx").write_text(ptx)


def _sources(folder: str) -> dict:
    spec = importlib.util.spec_from_file_location("kernels", HERE / folder / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.KERNELS


def without_debug(ptx: str) -> str:
    """The text without its line table and its sections."""
    ptx = ptx.replace(", debug", "").partition("\t.file\t")[0]
    lines = [
        line for line in ptx.splitlines() if not re.match(r"\s*(\.loc\s|\$L__(func|tmp)\w*:)", line)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for compiler in sys.argv[1:]:
        {"nvcc": nvcc, "nvrtc": nvrtc, "triton": triton, "numba": numba}[compiler]()
