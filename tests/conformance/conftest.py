import sys
from pathlib import Path

FOLDER = Path(__file__).parent

# The modules of this folder, and the cases of tests/semantics.
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
