"""A fuzz target in Python under atheris, which has libFuzzer.

`python -m tests.fuzz.campaign TARGET OPTION... FOLDER...`: libFuzzer's options, and its inputs.
"""

from __future__ import annotations

import gc
import importlib
import sys
from types import FunctionType
from typing import Any

from tests.fuzz.readers import TARGETS

WATCHED = ("pyptx._text", "pyptx._launch", "pyptx._layouts", "pyptx._assemble", "json")
"""The modules whose coverage guides the choice of inputs: to instrument all takes a minute."""


def main() -> None:
    # An extra of its own: only `make fuzz` needs it.
    atheris: Any = importlib.import_module("atheris")
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and (found.__module__ or "").startswith(WATCHED):
            atheris.instrument_func(found)
    read = TARGETS[sys.argv[1]]

    def one(data: bytes) -> None:
        read(data)

    atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
