"""What a case of a finding is: a kernel with a marked line, planted with a bug or clean."""

from __future__ import annotations

from dataclasses import dataclass, field

PROLOGUE = """
.param u64 X
.param u64 Y
.shared tile 1024 16
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mov.u32 %r2, %ctaid.x
mov.u32 %r3, %laneid
shl.b32 %r4, %r1, 2
mul.wide.u32 %rd3, %r1, 4
add.u64 %rd4, %rd1, %rd3
add.u64 %rd5, %rd2, %rd3
mov.u32 %r5, tile
add.u32 %r6, %r5, %r4
"""


@dataclass(frozen=True)
class Case:
    kind: str
    body: str
    bug: str
    clean: str
    at: str
    other: str | None = None
    grid: int = 1
    block: int = 64
    always: bool = False
    options: dict[str, object] = field(default_factory=dict)

    def text(self, line: str) -> str:
        return PROLOGUE + self.body.replace("BUG", line)
