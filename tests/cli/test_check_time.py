"""What `check` of a large file costs beside the assembler, in processor time and in memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyptx._text import parse

COMPILED = Path(__file__).parents[1] / "text" / "corpus" / "nvcc" / "everyday.sm_90a.ptx"
MOST = 1.5
"""Times the assembler's processor time."""
HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .f32 %f<200>;\n.reg .b64 %rd<4>;\n"
MEASURE = """
import resource, sys
from pyptx._cli import main
try:
    main()
finally:
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""


def entry(name: str, instructions: int, declared: str = "") -> str:
    lines = [f"mov.f32 %f{i}, 0f3F800000;" for i in range(200)]
    for i in range(instructions):
        a, b, c = i % 200, (7 * i + 3) % 200, (13 * i + 5) % 200
        lines.append(
            f"ld.global.f32 %f{a}, [%rd1+{4 * (i % 1000)}];"
            if i % 4 == 0
            else f"st.global.f32 [%rd1+{4 * (i % 997)}], %f{a};"
            if i % 4 == 3
            else f"fma.rn.f32 %f{a}, %f{b}, %f{c}, %f{3 * i % 200};"
        )
    body = "\n".join((REGISTERS, declared, "ld.param.u64 %rd1, [p];", *lines, "ret;"))
    return f".visible .entry {name}(.param .u64 p)\n{{\n{body}\n}}\n"


def copies(count: int) -> str:
    """A file of nvcc's that has everything in it so many times."""
    text = COMPILED.read_text()
    module = parse(text)
    named = (*module.kernels, *module.variables, *(f for f in module.functions if f.body))
    name = re.compile(rf"(?<![\w$.%])({'|'.join(re.escape(n.name) for n in named)})(?![\w$])")
    head, mark, rest = text.partition(".address_size 64")
    return head + mark + "".join(name.sub(rf"\1_{i}", rest) for i in range(count))


def measured(file: Path, folder: Path) -> tuple[float, float, int]:
    """Seconds of `check` and of the assembler that it runs, and the most kilobytes of the two."""
    environment = os.environ | {
        "PYPTX_CACHE_DIR": str(folder / "cache"),
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),  # as an installed package is
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, "-c", MEASURE, "check"]
    small = folder / "small.ptx"
    small.write_text(HEAD + entry("k", 1))
    for each in (small, file):
        done = subprocess.run(
            [*command, str(each)], env=environment, capture_output=True, text=True, check=True
        )
    (own, kept), (assembler, most) = (map(float, line.split()) for line in done.stderr.splitlines())
    return own, assembler, int(max(kept, most))


@pytest.mark.timing
@pytest.mark.parametrize(
    "text",
    [
        HEAD + entry("k", 40000),
        copies(40),
        HEAD + entry("k", 40000, ".reg .b32 %r<2000000000>;"),
    ],
    ids=["one kernel", "240 kernels", "two billion registers"],
)
def test_the_time_of_check_is_the_assemblers_and_half_of_it(text: str, tmp_path: Path):
    file = tmp_path / "large.ptx"
    file.write_text(text)
    own, assembler, kilobytes = measured(file, tmp_path)
    assert own + assembler < MOST * assembler
    assert kilobytes < 1 << 20
