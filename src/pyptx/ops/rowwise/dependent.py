"""Programmatic dependent launch, for devices that have it: a kernel starts as the one before ends.

Without it a kernel starts when the one before has ended, and there is nothing to say or wait for.
"""

from __future__ import annotations

from typing import Final

from pyptx import ptx
from pyptx.ops.rowwise.partition import Rows

_FEATURE: Final = "griddepcontrol"


def launch_dependents(rows: Rows) -> None:
    """The kernel after this one may start. One instruction, or none."""
    if rows.device.has(_FEATURE):
        ptx.inst.griddepcontrol.launch_dependents()


def wait(rows: Rows) -> None:
    """What the kernel before this one has written is there. One instruction, or none."""
    if rows.device.has(_FEATURE):
        ptx.inst.griddepcontrol.wait()


def starts_early(rows: Rows) -> bool:
    """Whether a kernel that waits for the one before it is launched programmatically."""
    return rows.device.has(_FEATURE)
