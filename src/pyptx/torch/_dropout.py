"""What dropout needs of PyTorch: its rate, two seeds of each row, and the mask for a reference."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import torch

from pyptx._runtime.torch.runtime import is_distributed
from pyptx.errors import CallError
from pyptx.ops._dropout import COLUMNS, LEVELS, MULTIPLIERS, ROUNDS, STEPS, level
from pyptx.torch import _arguments as arguments

_HALF: Final = (1 << 16) - 1
_WORD: Final = (1 << 32) - 1


def checked(p: Any, operation: str) -> float:
    """The rate. Raises CallError for one that is out of range."""
    example = f"{operation}(input, residual, shape, dropout_p=0.1)"
    found = arguments.number("dropout_p", p, example)
    if level(found) >= LEVELS:
        problem = f"dropout_p is {p!r} and must be below 1, and at most 1 - 2**-16"
        raise CallError(problem, notes=(("help", example),))
    return found


def seeds(x: Any, rank: int) -> tuple[Any, Any]:
    """Two seeds of each row of x, int32, from PyTorch's generator: rows are `rank` dimensions."""
    lead = tuple(x.shape[: x.ndim - rank])
    low, high = -(2**31), 2**31
    if is_distributed((x,)):  # each process draws those of its own rows
        rows = x[(..., *([0] * rank))]
        first, second = (torch.randint_like(rows, low, high, dtype=torch.int32) for _ in range(2))
        return first, second
    both = torch.randint(low, high, (2, *lead), dtype=torch.int32, device=x.device)
    return both[0], both[1]


def kept(rate: float, seeds: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Which elements of rows of a shape are kept, as the kernels find it."""
    columns = math.prod(shape)
    key = [seed.to(torch.int64)[..., None] & _WORD for seed in seeds]
    number = torch.arange(-(-columns // COLUMNS), device=key[0].device)
    number = number.expand(*key[0].shape[:-1], number.numel())
    zero = torch.zeros_like(number)
    words = torch.stack(philox((number, zero, zero, zero), key), -1)
    halves = torch.stack((words & _HALF, words >> 16), -1)
    lead = tuple(number.shape[:-1])
    bits = halves.reshape(*lead, number.shape[-1] * COLUMNS)[..., :columns]
    return (bits >= level(rate)).reshape(*lead, *shape)


def philox(counter: Sequence[Any], key: Sequence[Any], rounds: int = ROUNDS) -> list[Any]:
    """`pyptx.ops._dropout.philox` on tensors of int64 that hold words of 32 bits."""
    words = list(counter)
    first, second = key
    for i in range(rounds):
        if i > 0:
            first, second = first + STEPS[0] & _WORD, second + STEPS[1] & _WORD
        low, high = _product(words[0], MULTIPLIERS[0])
        other_low, other_high = _product(words[2], MULTIPLIERS[1])
        words = [other_high ^ words[1] ^ first, other_low, high ^ words[3] ^ second, low]
    return words


def _product(word: Any, factor: int) -> tuple[Any, Any]:
    """The lower and upper halves of a product of 64 bits: int64 has 63 for it."""
    lower, upper = word * (factor & _HALF), word * (factor >> 16)  # of 48 bits each
    total = (lower >> 16) + upper
    return (total << 16 & _WORD) + (lower & _HALF) & _WORD, total >> 16
