"""PTX to cubin through NVIDIA's assembler, without a GPU, and the SASS back."""

from pyptx._assemble.cubin import Cubin, Message, by_entry
from pyptx._assemble.ptxas import (
    NO_LINES,
    NVDISASM,
    PTXAS,
    Lines,
    SassInstruction,
    Tool,
    assemble,
    find,
    sass,
    version,
)

__all__ = [
    "NO_LINES",
    "NVDISASM",
    "PTXAS",
    "Cubin",
    "Lines",
    "Message",
    "SassInstruction",
    "Tool",
    "assemble",
    "by_entry",
    "find",
    "sass",
    "version",
]
