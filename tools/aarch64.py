"""Runs Python for ARM in QEMU, with pyptx of this checkout and the libraries of the wheel for ARM.

    python tools/aarch64.py -m pytest tests/semantics

The first run unpacks Debian's Python for ARM and the packages that tests need into build/aarch64;
it needs `apt-get`, `dpkg-deb` and `qemu-aarch64-static`, and changes nothing outside that folder.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile
from typing import Final

ROOT: Final = pathlib.Path(__file__).parents[1]
HOME: Final = ROOT / "build/aarch64"
QEMU: Final = "qemu-aarch64-static"
PYTHON: Final = "3.11"
PACKAGES: Final = (
    "numpy", "ml_dtypes", "jax", "jaxlib", "scipy", "opt_einsum", "flatbuffers", "cuda-pathfinder",
    "typer", "rich", "click", "annotated-doc", "shellingham", "markdown-it-py", "mdurl", "pygments",
    "pytest", "iniconfig", "pluggy", "packaging", "hypothesis", "sortedcontainers", "mpmath",
    "typing_extensions",
)  # fmt: skip
PLATFORMS: Final = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64")


def python() -> pathlib.Path:
    """Debian's interpreter for ARM, unpacked."""
    root, state = HOME / "root", HOME / "apt"
    interpreter = root / f"usr/bin/python{PYTHON}"
    if interpreter.exists():
        return interpreter
    for folder in (root, state / "lists/partial", state / "cache/archives/partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Debug::NoLocking": "1",
    }
    apt = ["apt-get", "--quiet", *(f"--option={name}={value}" for name, value in options.items())]
    subprocess.run([*apt, "update"], check=True)
    wanted = (f"python{PYTHON}", "libstdc++6")
    download = ("install", "--yes", "--no-install-recommends", "--download-only")
    subprocess.run([*apt, *download, *wanted], check=True)
    for package in (state / "cache/archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
    return interpreter


def packages() -> pathlib.Path:
    """What the tests import, for ARM, in the versions of this environment."""
    site = HOME / "site"
    if site.exists():
        return site
    short = PYTHON.replace(".", "")
    system = ["--python-version", PYTHON, "--implementation", "cp", "--abi", f"cp{short}"]
    system += [word for platform in PLATFORMS for word in ("--platform", platform)]
    pinned = [f"{name}=={importlib.metadata.version(name)}" for name in PACKAGES]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    partly = HOME / "site.partly"
    shutil.rmtree(partly, ignore_errors=True)
    subprocess.run([*pip, "--target", partly, *system, *pinned], check=True)
    return partly.rename(site)


def libraries() -> pathlib.Path:
    """Those of the wheel that was built last."""
    wheels = sorted((ROOT / "dist").glob("pyptx_lang-*_aarch64.whl"))
    if not wheels:
        raise SystemExit("no wheel for ARM in dist: make wheel")
    folder = HOME / "lib"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheels[-1]) as wheel:
        for name in wheel.namelist():
            if name.startswith("pyptx/_native/lib/"):
                (folder / pathlib.Path(name).name).write_bytes(wheel.read(name))
    return folder


def main() -> None:
    if shutil.which(QEMU) is None:
        raise SystemExit(f"no {QEMU}: apt-get install qemu-user-static")
    interpreter, site, native = python(), packages(), libraries()
    environment = os.environ | {
        "PYTHONPATH": f"{site}:{ROOT / 'src'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYPTX_NATIVE_DIR": str(native),
        "JAX_PLATFORMS": "cpu",
    }
    command = [QEMU, "-L", str(HOME / "root"), str(interpreter), *sys.argv[1:]]
    os.execvpe(QEMU, command, environment)


if __name__ == "__main__":
    main()
