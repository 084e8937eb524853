"""The axis of the grid that `jax.vmap` takes, and what it adds to the addresses of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The special registers that count CTAs; those of clusters count the same where one has one CTA.
_COUNTING: Final = ("ctaid", "nctaid", "clusterid", "nclusterid")


@dataclass(frozen=True, slots=True)
class Batch:
    """Which grid axis ("x", "y" or "z") counts the elements of a batch.

    `masks` has a row for each level of the batch, outermost first: which of the kernel's tensors,
    in the order of its parameters, have its axis. The outermost level varies slowest along the
    grid axis.
    """

    axis: str
    masks: tuple[tuple[bool, ...], ...]

    def takes(self, special: str) -> bool:
        """Whether a special register speaks of the axis, which the body then cannot read."""
        name, _, axis = special.partition(".")
        return axis == self.axis and name in _COUNTING
