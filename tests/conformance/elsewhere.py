"""The arithmetic that the emulator runs and no sm_90a machine does: no H200 can vouch for it.

The model of tests/semantics does, alone. test_coverage.py holds this list against the table of
forms, and the list and the record together against everything that the emulator runs.
"""

from __future__ import annotations

from typing import Final

ROUNDED: Final = "[rn,rz,rm,rp]"
SIX: Final = "[e2m1x2,e2m3x2,e3m2x2]"
BYTES: Final = "[u8x4,s8x4]"

# What the spellings need first, how many operands they have, and their pattern, as in
# tests/semantics/cases.py.
ELSEWHERE: Final = (
    ("PTX ISA 9.3", 4, "clmad.[lo,hi].u64"),
    ("sm_107a", 3, f"add.[sat]?.{BYTES}"),
    ("sm_107a", 3, f"sub.[sat]?.{BYTES}"),
    ("sm_107a", 3, "add.sat.[u32,u16x2,s16x2]"),
    ("sm_107a", 2, "neg.s8x4"),
    ("sm_107a", 3, "min.[relu]?.s8x4"),
    ("sm_107a", 3, "max.[relu]?.s8x4"),
    ("sm_107a", 3, "min.u8x4"),
    ("sm_107a", 3, "max.u8x4"),
    ("sm_100", 3, f"add.{ROUNDED}?.[ftz]?.f32x2"),
    ("sm_100", 3, f"sub.{ROUNDED}?.[ftz]?.f32x2"),
    ("sm_100", 3, f"mul.{ROUNDED}?.[ftz]?.f32x2"),
    ("sm_100", 4, f"fma.{ROUNDED}.[ftz]?.f32x2"),
    ("sm_100", 4, "min.[ftz]?.[NaN]?.[abs]?.f32"),
    ("sm_100", 4, "max.[ftz]?.[NaN]?.[abs]?.f32"),
    ("sm_100", 3, f"add.{ROUNDED}?.[sat]?.f32.[f16,bf16]"),
    ("sm_100", 3, f"sub.{ROUNDED}?.[sat]?.f32.[f16,bf16]"),
    ("sm_100", 4, f"fma.{ROUNDED}.[sat]?.f32.[f16,bf16]"),
    ("sm_100", 2, "cvt.[rn,rz].satfinite.[relu]?.tf32.f32"),
    ("sm_100a", 2, "cvt.rn.satfinite.[relu]?.[e4m3x2,e5m2x2].bf16x2"),
    ("sm_100a", 3, f"cvt.rn.satfinite.[relu]?.{SIX}.f32"),
    ("sm_100a", 2, f"cvt.rn.satfinite.[relu]?.{SIX}.[f16x2,bf16x2]"),
    ("sm_100a", 2, f"cvt.rn.[relu]?.f16x2.{SIX}"),
    ("sm_100a", 2, "cvt.rn.[satfinite]?.[relu]?.bf16x2.[e4m3x2,e5m2x2,e2m1x2,e2m3x2,e3m2x2]"),
    ("sm_100a", 3, "cvt.[rz,rp].[satfinite]?.ue8m0x2.f32"),
    ("sm_100a", 2, "cvt.[rz,rp].[satfinite]?.ue8m0x2.bf16x2"),
    ("sm_100a", 2, "cvt.rn.bf16x2.ue8m0x2"),
)
