"""What the arrays of a kernel are, by themselves: `from pyptx.specs import Tile, Layout`."""

from pyptx._layouts import Layout
from pyptx._spec import Scalar, Tile

__all__ = ["Layout", "Scalar", "Tile"]
