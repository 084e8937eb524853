"""The command line: look at kernels, run programs in the emulator, ask what is installed."""

from pyptx._cli.app import main

__all__ = ["main"]
