"""Memory on a thread's stack."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

STACK = {"T": "u32 u64", "ptx": "7.3"}

FORMS = chapter(
    "Stack Manipulation Instructions",
    instruction(
        "stacksave", "stack-manipulation-instructions-stacksave", "The stack pointer.",
        row("stacksave.T  out d:T", **STACK),
    ),
    instruction(
        "stackrestore", "stack-manipulation-instructions-stackrestore",
        "Set the stack pointer, and so free what was allocated since it was saved.",
        row("stackrestore.T  a:T!", **STACK),
    ),
    instruction(
        "alloca", "stack-manipulation-instructions-alloca",
        "Allocate bytes on the stack; the result is an address in local memory.",
        row("alloca.T  out ptr:T, size:T, #immAlign:u32(1 2 4 8 16 32 64 128)?", **STACK),
    ),
)
