"""Python from PTX: the pyptx program that traces to a module."""

from pyptx._lift.module import lift

__all__ = ["lift"]
