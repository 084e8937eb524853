"""`pyptx doctor`: what is here, and what to do about what is missing."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import typer

import pyptx
from pyptx import _assemble as assemble
from pyptx._assemble import NVDISASM, PTXAS, Tool, cache
from pyptx._cli.console import say, show_table, size
from pyptx._native import launcher, loader
from pyptx.errors import PtxError

LEAST_TORCH: Final = (2, 9)
"""The oldest version of PyTorch that pyproject.toml has."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One row: what was found, or why not and what helps. Without `needed`, kernels still run."""

    what: str
    found: str
    help: str = ""
    needed: bool = False

    @property
    def status(self) -> str:
        return "ok" if not self.help else "missing" if self.needed else "absent"


def examine() -> None:
    """Print the table. Exits with 1 where something is missing that every kernel needs."""
    findings = [look() for look in CHECKS]
    show_table("", ("", "", ""), [(f.status, f.what, f.found) for f in findings])
    for finding in findings:
        if finding.help:
            say(f"{finding.what}: {finding.help}")
    if any(finding.help and finding.needed for finding in findings):
        raise typer.Exit(1)


def python() -> Finding:
    return Finding("Python", f"{platform.python_version()}, {sys.executable}")


def package() -> Finding:
    return Finding("pyptx", f"{pyptx.__version__}, {os.path.dirname(pyptx.__file__)}")  # noqa: PTH120


def jax() -> Finding:
    """JAX by its packages' versions: importing it would take a GPU's memory."""
    names = ("jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda12-plugin")
    versions = {name: found for name in names if (found := _version(name))}
    if "jax" not in versions:
        advice = 'pip install "jax>=0.10" to call kernels on JAX arrays; NumPy arrays work without'
        return Finding("JAX", "not installed", advice)
    return Finding("JAX", ", ".join(f"{name} {version}" for name, version in versions.items()))


def pytorch() -> Finding:
    """PyTorch by its package's version: importing it takes seconds."""
    found = _version("torch")
    if found is None:
        advice = "pip install torch to call kernels on tensors, and for pyptx.torch"
        return Finding("PyTorch", "not installed", advice)
    if tuple(map(int, found.split("+")[0].split(".")[:2])) < LEAST_TORCH:
        least = ".".join(map(str, LEAST_TORCH))
        return Finding("PyTorch", f"torch {found}", f'pip install "torch>={least}"')
    built = found.partition("+")[2]
    kind = {"": "", "cpu": ", for CPUs alone"}.get(built, f", for CUDA ({built})")
    return Finding("PyTorch", f"torch {found}{kind}")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def emulator() -> Finding:
    return _library("emulator", loader.emulator)


def handlers() -> Finding:
    return _library("XLA handlers", loader.ffi_library)


def torch_launcher() -> Finding:
    return _library("launcher", launcher.library)


def _library(what: str, load: Callable[[], object]) -> Finding:
    try:
        load()
    except PtxError as error:
        return Finding(what, error.problem, _advice(error), needed=True)
    here = next(folder for folder in loader.directories() if folder.is_dir())
    return Finding(what, str(here))


def _advice(error: PtxError) -> str:
    return "; ".join(text for label, text in error.notes if label == "help")


def ptxas() -> Finding:
    return _tool(PTXAS, "GPUs run nothing without it; the emulator does")


def nvdisasm() -> Finding:
    return _tool(NVDISASM, "k.sass() and `pyptx show --sass` need it")


def _tool(tool: Tool, purpose: str) -> Finding:
    try:
        return Finding(tool.name, f"{assemble.version(tool)}, {assemble.find(tool)}")
    except PtxError as error:
        return Finding(tool.name, error.problem, f"{_advice(error)} ({purpose})")


def gpu() -> Finding:
    """The first device, its driver, and whether that loads what the assembler makes."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Finding("GPU", "no NVIDIA driver", "kernels run in the emulator on this machine")
    version, count, device = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return Finding("GPU", "a driver but no device", "see nvidia-smi and CUDA_VISIBLE_DEVICES")
    name = ctypes.create_string_buffer(128)
    major, minor = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDeviceGetName(name, len(name), device)
    for value, attribute in ((major, 75), (minor, 76)):
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
    release = version.value // 1000
    found = (
        f"{count.value} x {name.value.decode()}, compute capability {major.value}.{minor.value}, "
        f"driver for CUDA {release}.{version.value % 1000 // 10}"
    )
    return Finding("GPU", found, _driver_advice(release))


def _driver_advice(release: int) -> str:
    try:
        assembler = assemble.version()
    except PtxError:
        return ""
    if release >= int(assembler.partition(".")[0]):
        return ""
    return f"the driver is too old for ptxas {assembler}: install a driver for that CUDA release"


def cache_folder() -> Finding:
    folder = cache.directory()
    if folder is None:
        return Finding("cache", "none", "no home directory; set PYPTX_CACHE_DIR to a folder")
    files = list(folder.glob("*")) if folder.is_dir() else []
    used = sum(file.stat().st_size for file in files)
    parent = next(path for path in (folder, *folder.parents) if path.exists())
    advice = "" if os.access(parent, os.W_OK) else "not writable; set PYPTX_CACHE_DIR to a folder"
    why = cache.problem(folder) if folder.is_dir() else ""
    if why:
        advice = f"not used, {why}; set PYPTX_CACHE_DIR to a folder of your own"
    return Finding("cache", f"{folder}, {len(files)} files, {size(used)}", advice)


CHECKS = (
    python, package, jax, pytorch, emulator, handlers, torch_launcher, ptxas, nvdisasm, gpu,
    cache_folder,
)  # fmt: skip
