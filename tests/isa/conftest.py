"""The proof of the ISA table against the assembler uses the same code as the tools' sweep."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
