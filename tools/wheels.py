"""Builds wheels that install without a compiler: `make wheel`.

One for each processor, by Zig's Clang, which links against any version of glibc. What a wheel asks
of a system is read from its libraries: one that asks for more than its name says is not kept.

`--cross` builds the emulator alone for systems that the wheels are not for, and keeps nothing.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from typing import Final

import ninja

ROOT: Final = pathlib.Path(__file__).parents[1]
ZIG: Final = pathlib.Path(sysconfig.get_path("platlib")) / "ziglang/zig"
GLIBC: Final = "2.28"  # the oldest that the wheels of jaxlib and NumPy ask for
SYSTEMS: Final = {
    "Windows": "x86_64-windows-gnu",
    "macOS": "aarch64-macos",
    "macOS on x86-64": "x86_64-macos",
}


@dataclass(frozen=True)
class Wheel:
    """A processor that a wheel is for."""

    processor: str

    @property
    def target(self) -> str:
        """Zig's name of it."""
        return f"{self.processor}-linux-gnu.{GLIBC}"

    @property
    def platform(self) -> str:
        """The platform tag, PEP 600."""
        return f"manylinux_{GLIBC.replace('.', '_')}_{self.processor}"


WHEELS: Final = {name: Wheel(name) for name in ("x86_64", "aarch64")}


def build(wheel: Wheel, into: pathlib.Path) -> pathlib.Path:
    """A wheel in the folder `into`, with its name checked against its libraries."""
    defines = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "tools/zig.cmake",
        "PYPTX_ZIG": ZIG,
        "PYPTX_ZIG_TARGET": wheel.target,
    }
    settings = [f"cmake.define.{name}={value}" for name, value in defines.items()]
    settings += [f"build-dir=build/wheel-{wheel.processor}", "install.strip=false"]
    with tempfile.TemporaryDirectory() as folder:
        options = [option for setting in settings for option in ("-C", setting)]
        _python("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, *options, str(ROOT))
        (built,) = pathlib.Path(folder).glob("*.whl")
        # The build names the machine that it ran on.
        tags = ("--python-tag", "py3", "--abi-tag", "none", "--platform-tag", wheel.platform)
        _python("wheel", "tags", "--remove", *tags, str(built))
        (named,) = pathlib.Path(folder).glob("*.whl")
        problem = unfit(wheel, named)
        if problem:
            raise SystemExit(f"{named.name}: {problem}")
        into.mkdir(parents=True, exist_ok=True)
        return pathlib.Path(named.replace(into / named.name))


def unfit(wheel: Wheel, path: pathlib.Path) -> str | None:
    """Why the wheel does not run on all systems of its tag; None if it does."""
    shown = _python("auditwheel", "show", str(path))
    consistent = re.search(r'following platform tag:\s*"([^"]+)"', shown)
    if consistent is None:
        return f"auditwheel finds no platform tag:\n{shown}"
    pattern = rf"manylinux_(\d+)_(\d+)_{wheel.processor}"
    asked = re.fullmatch(pattern, consistent[1])
    if asked is None or (int(asked[1]), int(asked[2])) > tuple(map(int, GLIBC.split("."))):
        return f"its libraries ask for {consistent[1]}:\n{shown}"
    return None


def cross(system: str) -> None:
    """Compile and link the emulator for another system."""
    folder = ROOT / "build" / f"cross-{SYSTEMS[system]}"
    _python(
        "cmake", "-S", str(ROOT / "src/pyptx/_native"), "-B", str(folder), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={ninja.BIN_DIR}/ninja",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'tools/zig.cmake'}", f"-DPYPTX_ZIG={ZIG}",
        f"-DPYPTX_ZIG_TARGET={SYSTEMS[system]}", "-DPYPTX_FFI=OFF",
    )  # fmt: skip
    _python("cmake", "--build", str(folder))
    (library,) = folder.glob("libpyptx_emulator_base.d*l*[bl]")
    print(f"{system}: {library.relative_to(ROOT)}, {library.stat().st_size >> 10} KiB")


def _python(*arguments: str) -> str:
    """What a module of this Python prints; SystemExit with all it printed where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{' '.join(arguments[:2])} failed")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("processors", nargs="*", help=f"of {', '.join(WHEELS)}; all if none")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--cross", action="store_true", help="the emulator for other systems")
    given = parser.parse_args()
    if not ZIG.exists():
        parser.error(f"no {ZIG}: pip install -e '.[wheels]'")
    if given.cross:
        for system in SYSTEMS:
            cross(system)
        return
    unknown = set(given.processors) - set(WHEELS)
    if unknown:
        parser.error(f"no wheel for {', '.join(sorted(unknown))}: of {', '.join(WHEELS)}")
    for processor in given.processors or WHEELS:
        print(build(WHEELS[processor], given.into))


if __name__ == "__main__":
    main()
