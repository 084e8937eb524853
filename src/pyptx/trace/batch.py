"""The axis of the grid that `jax.vmap` takes, and what it adds to the addresses of tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    """Which grid axis ("x", "y" or "z") counts the elements of a batch.

    `masks` has a row for each level of the batch, outermost first: which of the kernel's tensors,
    in the order of its parameters, have its axis. The outermost level varies slowest along the
    grid axis.
    """

    axis: str
    masks: tuple[tuple[bool, ...], ...]
