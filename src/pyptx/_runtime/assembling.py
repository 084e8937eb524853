"""The code of a call's steps for every target of a program, assembled side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyptx._assemble import Cubin
from pyptx._launch.description import Code
from pyptx._target import Target


def assembled(codes: Sequence[Code], targets: Sequence[Target]) -> list[dict[str, Cubin]]:
    """For each step its cubins by the name of the target.

    Each is a process of its own, so as many run as there are processors. Raises AssembleError, of
    the first step that has one.
    """
    pairs = [(code, target) for code in codes for target in targets]
    with ThreadPoolExecutor(min(len(pairs), os.cpu_count() or 1)) as threads:
        cubins = threads.map(_cubin, pairs)
        return [{str(target): next(cubins) for target in targets} for _ in codes]


def assembler_of(steps: Sequence[Mapping[str, Cubin]]) -> int:
    """The newest major version of the assemblers that the code of these steps is from."""
    return max(cubin.assembler_major for step in steps for cubin in step.values())


def _cubin(pair: tuple[Code, Target]) -> Cubin:
    code, target = pair
    return code.cubin(target)
