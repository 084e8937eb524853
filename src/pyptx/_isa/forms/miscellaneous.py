"""Instructions of no other chapter."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

FORMS = chapter(
    "Miscellaneous Instructions",
    instruction(
        "brkpt", "miscellaneous-instructions-brkpt", "Stop at a breakpoint.",
        row("brkpt"),
    ),
    instruction(
        "nanosleep", "miscellaneous-instructions-nanosleep", "Sleep for about so many nanoseconds.",
        row("nanosleep.u32  t:u32"),
    ),
    instruction(
        "pmevent", "miscellaneous-instructions-pmevent", "Trigger performance monitor events.",
        row("pmevent  #a:u32(0..15)"),
        row("pmevent.mask  #a:u32(0..65535)"),
    ),
    instruction(
        "setmaxnreg", "miscellaneous-instructions-setmaxnreg",
        "Give registers back, or wait for more of them, in a warpgroup.",
        row("setmaxnreg.action.sync.aligned.u32  #n:u32(24..256:8)", action="inc dec",
            sm="sm_90a sm_100f sm_110f sm_120f", ptx="8.0"),
    ),
    instruction(
        "trap", "miscellaneous-instructions-trap", "Abort the kernel.",
        row("trap"),
    ),
)
