"""Control flow."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

FORMS = chapter(
    "Control Flow Instructions",
    instruction(
        "bra", "control-flow-instructions-bra", "Branch to a label.",
        row("bra{.uni}  target:label"),
    ),
    instruction(
        "brx", "control-flow-instructions-brx-idx", "Branch to one label of a list.",
        row("brx.idx{.uni}  index:u32!, targets:labels"),
    ),
    instruction(
        "ret", "control-flow-instructions-ret", "Return; in a kernel the thread ends.",
        row("ret{.uni}"),
    ),
    instruction(
        "exit", "control-flow-instructions-exit", "End the thread.",
        row("exit"),
    ),
)
