"""The operator of PyTorch that a call is where it is not run at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyptx._launch.call import Call
from pyptx._runtime.torch import execution


def apply(call: Call, tensors: Sequence[Any]) -> tuple[Any, ...]:
    return execution.execute(call, tensors)
