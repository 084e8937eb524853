"""Names like one that is not known, for messages."""

from __future__ import annotations

from collections.abc import Iterable


def near_names(name: str, names: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """The names most like this one, the most alike first; `cutoff` is 1 for the same name alone."""
    from difflib import get_close_matches  # noqa: PLC0415 (imported where there is an error)

    return get_close_matches(name, list(names), n=count, cutoff=cutoff)
