"""The name that pip has for this package, and why no other distribution may share its folder.

The package index has another project called pyptx, which imports as `pyptx` too. Installed into one
folder, the files of the two replace one another, and what runs then is neither.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

NAME: Final = "pyptx-lang"
_OTHER: Final = ("pyptx-", ".dist-info")


def refuse_another(folder: Path) -> None:
    """Raise ImportError if pip has installed the distribution `pyptx` into `folder` too.

    It reads the names in the folder and nothing else: `importlib.metadata` would take longer to
    import than all of pyptx's own checks.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208  half the time of Path.iterdir
    except OSError:  # in an archive
        return
    start, end = _OTHER
    found = next((name for name in names if name.startswith(start) and name.endswith(end)), None)
    if found is None:
        return
    version = found.removeprefix(start).removesuffix(end)
    raise ImportError(
        f"{folder} holds two packages that import as pyptx: {NAME}, which this is, and the "
        f"distribution pyptx {version}, another project; the files of one have replaced files "
        f"of the other\n"
        f"  help: pip uninstall pyptx {NAME}, then install the one that you want again"
    )


refuse_another(Path(__file__).parent.parent)
