"""How large the transformer block is that `torch_block` and `jax_block` train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of the block, and of one sequence."""

    tokens: int = 4096
    width: int = 4096
    hidden: int = 11008
    heads: int = 32
    vocabulary: int = 32000

    @property
    def head(self) -> int:
        return self.width // self.heads


FULL: Final = Sizes()
"""What is measured."""
