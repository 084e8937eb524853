"""What a compiled JAX program sends between devices."""

# JAX's annotations are partial, and a compiled program is Any here.
from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from pyptx._calls import binding
from pyptx._source import caller
from pyptx.errors import CallError

COLLECTIVES: Final = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-permute",
    "reduce-scatter",
)
# An instruction is `%name = type opcode(operands), ...`; asynchronous ones have a start and a done.
_INSTRUCTION: Final = re.compile(rf" ({'|'.join(COLLECTIVES)})(?:-start)?\(")


@binding(CallError, "pyptx.collectives")
def collectives(compiled: Any) -> dict[str, int]:
    """The collectives of a compiled program: a dictionary from XLA's names to their numbers.

    `compiled` is the result of `jax.jit(f).lower(...).compile()`. The names are all-gather,
    all-reduce, all-to-all, collective-permute and reduce-scatter. Names that do not occur are left
    out, so a program without communication gives {}. An asynchronous collective counts once, and so
    does one in a loop.

        step = jax.jit(f).lower(x, w).compile()
        assert pyptx.collectives(step) == {"all-reduce": 1}
    """
    text: Any = getattr(compiled, "as_text", None)
    if not callable(text) or not isinstance(read := text(), str):
        raise CallError(
            f"pyptx.collectives takes a compiled program, not {compiled!r}",
            location=caller(),
            notes=(("help", "pyptx.collectives(jax.jit(f).lower(x).compile())"),),
        )
    found = Counter[str](_INSTRUCTION.findall(read))
    return {name: found[name] for name in COLLECTIVES if name in found}
