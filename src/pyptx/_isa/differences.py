"""Where the manual and the assembler differ, and what the table does about it.

The manual wins where the assembler is laxer: what it takes silently today it may refuse, or give a
meaning, tomorrow. Each entry has its reason; the proof of the table against the assembler reads
them, so that a new difference shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pyptx._target import PtxVersion

COMPLETE: Final = PtxVersion(9, 5)
"""The PTX version up to which the rows are complete for their chapters.

The manual of 9.4 is the newest one that is published. What the assembler takes of 9.5 beyond it is
in `LAXER`.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """Spellings, as a pattern for the whole of one, and why they differ.

    `release` is that of the assembler where only one differs, such as "13.0". `ignored` is a
    pattern for the modifiers that the assembler takes and ignores: one of them may be there beside
    what is right without it, and nothing else is explained by it.
    """

    spelling: str
    reason: str
    release: str = ""
    ignored: str = ""

    def covers(self, spelling: str, assembler: str = "") -> bool:
        ours = not self.release or assembler.startswith(f"{self.release}.")
        return ours and re.fullmatch(self.spelling, spelling) is not None


_MULTIPLIED: Final = (
    r"(?<=\.)(b1|b4|[su][248]|s32|b?f16|bf16x2|tf32|f32|f64|e2m1|e2m3|e3m2|e4m3|e5m2)\b"
)
"""A type of matrices of a warp."""

LAXER: Final = (
    Difference(
        r"tensormap\.replace\..*\balloc_(small|same|large)\b.*",
        "a modifier of PTX 9.5, whose manual is not published",
        ignored=r"alloc_(small|same|large)",
    ),
    Difference(
        r"fabric\.submit\.commit_group", "a modifier of PTX 9.5, whose manual is not published"
    ),
    Difference(
        r".*\.(finite|infinite|number|notanumber|normal|subnormal)\b.*",
        "the properties of testp are taken on every instruction and ignored",
        ignored=r"finite|infinite|number|notanumber|normal|subnormal",
    ),
    Difference(
        r".*\.(global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype"
        r"|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode)\b.*",
        "the fields of tensormap.replace are taken on every instruction and ignored",
        ignored=r"global_address|rank|box_dim|global_(dim|stride)|element_stride|elemtype|interleave_layout|swizzle_(mode|atomicity)|fill_mode",
    ),
    Difference(
        r".*\.acc::f(16|32)\b.*",
        "the precisions of multimem.ld_reduce are taken on every instruction and ignored",
        ignored=r"acc::f(16|32)",
    ),
    Difference(
        r".*\.b(8x16|6x16_p32|4x16_p64)\b.*",
        "the formats of ldmatrix are taken on every instruction and ignored",
        ignored=r"b(8x16|6x16_p32|4x16_p64)",
    ),
    Difference(
        r".*\.(tex|sampler|surf)ref\b.*",
        "the kinds of istypep are taken on every instruction and ignored",
        ignored=r"(tex|sampler|surf)ref",
    ),
    Difference(
        r".*\.b2\b.*",
        "the index of spcompress is taken on most instructions and ignored",
        ignored=r"b2",
    ),
    Difference(
        r"prefetch\.(?=.*\bL2::evict_)(?=.*\bvalid_addr\b).*",
        "a prefetch into L1 beside an eviction priority in L2",
    ),
    Difference(
        r"applypriority\.async\.bulk\.tensor\.(?![1-5]d).*",
        "tensors of rows that are gathered have two dimensions, which may be left out",
    ),
    Difference(r"setmaxnreg\..*\.s32", "the manual has .u32 only"),
    Difference(
        r"fabric\.try_(?!.*\brelaxed\.sys\b).*",
        "the memory order or the scope may be left out; the manual requires .relaxed.sys",
    ),
    Difference(
        r"fabric\.try_pullred\..*\.acc::f32\.(e4m3|e5m2)\b.*",
        "sums of 8-bit types in f32, which the manual has in f16",
    ),
    Difference(
        r"(multimem\.)?cp\.(reduce\.)?async\.bulk\..*\.(weak|relaxed|cta|cluster|gpu|sys)\b.*",
        "a memory order or scope is taken on bulk copies and ignored",
        ignored=r"weak|relaxed|cta|cluster|gpu|sys",
    ),
    Difference(
        r"(multimem\.)?cp\.async\.bulk\.(?!.*\brelaxed\b).*\bb128\b.*",
        "a type without .relaxed beside it",
    ),
    Difference(
        r"(st|red)\.async\.(?!.*\brelease\b).*\b(gpu|sys)\b.*", "a scope without .release beside it"
    ),
    Difference(r"red\.async\..*\.s64", "the manual adds .s64 at .release only"),
    Difference(
        r"red\.async\.(?=.*\brelease\b)(?=.*\b(min|max|and|or|xor|inc|dec)\b).*",
        "the manual has .add only",
    ),
    Difference(
        r"multimem\.red\..*\b(min|max)\..*(f16|bf16)(x2)?",
        "the manual has .add only for floating point",
    ),
    Difference(
        r"st\..*\bparam\b.*", "the parameters of calls, which rows of their own have, for files"
    ),
    Difference(r"testp\.f(32|64)", "testp is taken without a property; the manual requires one"),
    Difference(
        r".*\.pred\b.*",
        "a further .pred beside the instruction's type is taken and ignored",
        ignored=r"pred",
    ),
    Difference(
        r"(addc|subc|madc\.(lo|hi))(\.cc)?\.[us]16",
        "carry-in of 16-bit integers; the manual has 32 and 64 bits",
    ),
    Difference(r"(addc|subc)(?=.*\.sat\b).*\.s32.*", "saturation with a carry-in"),
    Difference(r"madc\.hi\.sat\.s32", "saturation with a carry-in"),
    Difference(
        r"mov\.(?=.*\bv[24]\b).*", "copies of vectors, and of %tid whole, as PTX 1 had them"
    ),
    Difference(
        r"cvt\.(bf16\.f16|f16\.bf16)",
        "conversion between the 16-bit formats without the rounding that a loss of precision needs",
    ),
    Difference(
        r"(ld|ldu|st)\.(?=.*\bv8\b)(?=.*\b[bus](8|16)\b).*",
        "vectors of eight bytes or 16-bit elements; the manual has .v8 for 32-bit types only",
    ),
    Difference(
        r"(ld|cp\.async)\..*\bL1::32B\b.*",
        "a prefetch size of prefetch is taken on loads and copies; the manual has sizes in L2 only",
    ),
    Difference(
        r"(ld|st)\.(?=.*\b(volatile|c[agsv]|lu|wb|wt)\b)(?=.*\bL[12]::(evict|no_allocate)).*",
        "an eviction priority beside .volatile or a cache operator; the manual has either",
    ),
    Difference(
        r"prefetch\.L2::evict_(normal|last)",
        "an eviction priority on a generic address; the manual has .global only",
    ),
    Difference(
        r"fence\.(?=.*\b(proxy|mbarrier_init|sync_restrict|async)\b).*",
        "modifiers of one restricted or proxy fence are taken and ignored on another",
        ignored=r".*",
    ),
    Difference(
        r"(bar|barrier)\..*\b(any|all|uni)\b.*",
        "modes of vote are taken and ignored",
        ignored=r"any|all|uni",
    ),
    Difference(
        r"wgmma\.mma_async\.(?!.*\baligned\b).*",
        "the manual requires .aligned; the assembler does for f16, bf16 and tf32 only",
    ),
    Difference(r"wgmma\.(fence|(commit|wait)_group)\.sync", "the manual requires .aligned"),
    Difference(
        rf"wmma\.(?=.*\b(load|store)\b)(?=(.*{_MULTIPLIED}){{2}}).*",
        "the type of other matrices is taken on loads and stores and ignored",
        ignored=r"[bsueft].*",
    ),
    Difference(
        r"wmma\.(?=.*\b(load|store)\b)(?=.*\bm8n8k(32|128)\b).*\.f32\b.*",
        "sums in f32 of 4-bit and single-bit matrices, which the manual has in s32",
    ),
    Difference(
        r"(mma|wmma|wgmma)\..*\bv[248]\b.*",
        "the lengths of vectors are taken and ignored",
        ignored=r"v[248]",
    ),
    Difference(
        r"sust\.p\.(?=.*\b(wb|cg|cs|wt)\b).*",
        "a cache operator on formatted stores; the manual has it for sust.b only",
    ),
    Difference(r"movmatrix\..*", "any further modifier is taken and ignored", ignored=r".*"),
    Difference(
        r"(ldmatrix|stmatrix)\..*\b(row|col)\b.*",
        "layouts of mma are taken on ldmatrix and ignored",
        ignored=r"row|col",
    ),
    Difference(
        rf"mma\.(?=(.*{_MULTIPLIED}){{5}}).*",
        "a further type beside those of the four matrices is taken and ignored",
        ignored=r"[bsueft].*",
    ),
    Difference(
        r"mma\.(?!.*\bblock_scale\b)(?=.*\be(4m3|5m2)\b)(?=.*\bkind::(?!f8f6f4\b)).*",
        "kinds of tcgen05.mma, and of scaled matrices, are taken beside 8-bit types and ignored",
        ignored=r"kind::.*",
    ),
    Difference(
        r"mma\.(?=.*\bm16n8k16\b).*\bkind::f8f6f4\b.*",
        ".kind::f8f6f4 is taken on m16n8k16 and ignored",
        ignored=r"kind::f8f6f4",
    ),
    Difference(
        r"mma\.(?=.*\bsp::ordered_metadata\b)(?!.*\bkind::)(?=.*\bf16\b)(?=.*\be(4m3|5m2)\b).*",
        "f16 sums of sparse 8-bit matrices without .kind::f8f6f4, which the manual requires",
    ),
    Difference(
        r"mma\.(?=.*\b[su]4\b)(?=.*\b(and|or|xor)\b).*",
        "an operation on single bits, and a sum of it, are taken beside 4-bit types and ignored",
        ignored=r"and|or|xor|popc|safeadd",
    ),
    Difference(r"clmad\.(lo|hi)\.s64", "the manual has .u64 only"),
    Difference(
        r"fma\.(?=.*\b(rz|rm|rp)\b)(?=.*\bbf16(x2)?\b).*",
        "bf16 arithmetic with a rounding other than .rn, which the manual does not have",
    ),
    Difference(
        r"rcp(?=.*\.ftz\b)(?=.*\.r[nzmp]\b)(?=.*\.f64\b).*",
        "correctly rounded f64 with .ftz; the manual has .ftz for .approx only",
    ),
    Difference(
        r"(mapa|getctarank)(\.shared::cluster)?\.s(32|64)",
        "a signed address type; the manual has .u32 and .u64",
    ),
    Difference(
        r"(shfl|vote|match|redux|bar)\.(?=.*\bsync\b).*\bno_membermask_overlap\b.*",
        ".no_membermask_overlap, a word that the manual does not have",
    ),
    Difference(
        r"txq\..*\bmemory_layout\b.*", "a query of suq; the manual has it for surfaces only"
    ),
    Difference(
        r"(ldmatrix|stmatrix)\..*\bx(8|16|32|64|128)\b.*",
        "the numbers of tcgen05.ld; the manual has up to four matrices",
    ),
    Difference(
        r"prefetch\.(?=.*\bvalid_addr\b)(?=.*\b(L1|L2|tensormap)\b(?!::)).*",
        "a further level, or a tensor map, beside .L1::32B.valid_addr",
    ),
    Difference(
        r"createpolicy\.range\.(?=.*\bglobal\b)(?=.*\bfabric\b).*", "two state spaces at once"
    ),
    Difference(r"(suld|sust|sured)\..*\b[45]d\b.*", "surfaces have up to three dimensions"),
    Difference(r"sust\..*\bv8\b.*", "the manual has up to four elements"),
    Difference(
        r"(barrier\.cluster|fabric)\.(.*\.)?wait::(ld|st)\b.*",
        "the waits of tcgen05 are taken as .wait",
    ),
    Difference(r"fma\.(?=.*\boob\b)(?=.*\bsat\b).*", "saturation beside .oob"),
    Difference(r"fma\.(?=.*\boob\b)(?=.*\br[zmp]\b).*", "a rounding other than .rn beside .oob"),
    Difference(
        r"applypriority\.async\.bulk\.tensor\.(?=.*\b(scatter4|im2col_no_offs)\b).*",
        "the modes of stores, which the manual has not",
    ),
    Difference(
        r"applypriority\.async\.bulk\.tensor\.(?=.*\bgather4\b)(?!.*\b2d\b).*",
        "tensors of rows that are gathered have two dimensions",
    ),
    Difference(
        r"st\.async\.(?!.*\brelease\b)(?!.*\bmbarrier::).*",
        "neither .release nor an mbarrier, of which the manual requires one",
    ),
    Difference(
        r"st\.async\.(?=.*\bmbarrier::)(?=.*((?<!:)\bcluster\b|\bshared\b(?!::cluster)|\b[bus](8|16)\b)).*",
        "a scope, the CTA's own memory, or elements of 8 or 16 bits beside an mbarrier",
    ),
    Difference(
        r"ld\.(?=.*\bproxy::readonly\b)(?=.*\b(v[248]|nc)\b).*",
        "vectors, and .nc, beside .proxy::readonly; the manual has single elements without",
    ),
    Difference(
        r"(tex|tld4)\..*\buni\b.*",
        "a mode of branches and votes is taken and ignored",
        ignored=r"uni",
    ),
    Difference(r"tex\..*\b[45]d\b.*", "textures have up to three dimensions"),
    Difference(
        r"cvt\.(?=.*\bpzo\b)(?=.*\b(r[mp]|ftz)\b).*\bb?f16\.(.*\.)?f32\b.*",
        "a rounding other than .rn and .rz, or .ftz, beside .pzo",
    ),
    Difference(
        r"cvt\..*\be2m1p4x4\b.*", "a type of add and fma, to which the manual converts nothing"
    ),
    Difference(
        r"mbarrier\.check_layout\.(?=.*(?<!:)\b(cta|cluster|gpu|sys)\b).*",
        "a scope is taken and ignored",
        ignored=r"cta|cluster|gpu|sys",
    ),
    Difference(
        r"mbarrier\.check_layout\.(?=.*\bshared\b(?!::)).*",
        "a short name of .shared::cta, which the manual has on other operations of mbarriers",
    ),
    Difference(
        r"wgmma\.mma_async\..*\b(row|col)\b.*",
        "layouts of mma are taken and ignored",
        ignored=r"row|col",
    ),
    Difference(
        r"tcgen05\.(?=.*\b(ld|st|cp)\b).*\b(row|col)\b.*",
        "layouts of mma are taken and ignored",
        ignored=r"row|col",
    ),
    Difference(
        r"tcgen05\.(?=.*\bdecompress::lut::b\b).*\bscale_vec::1X\b.*",
        "the other name of .block32, which the manual does not have beside a table of elements",
    ),
    Difference(
        r"tcgen05\.commit\..*\bsync_restrict::shared::(cta|cluster)\b.*",
        "the restrictions of fences are taken and ignored",
        ignored=r"sync_restrict::.*",
    ),
    Difference(
        r"(add|sub|mul|fma)\.(?=.*\bftz\b)(?=.*\bf32x2\.f32x2\b).*",
        "denormals flushed in pairs of two types",
    ),
    Difference(
        r"cp\.(reduce\.)?async\.bulk\.(?=.*\bbulk_group\b)(?=.*\bmbarrier::report::).*",
        "the report of an mbarrier on copies that complete on none",
    ),
    Difference(
        r"cp\.async\.bulk\.(wait|commit)_group\..*\bsync_restrict\b.*",
        "the restriction of a fence is taken and ignored",
        ignored=r"sync_restrict::.*",
    ),
    Difference(r"wgmma\.fence::.*", "the fences of tcgen05 are taken as .fence"),
)
"""What the assembler takes and the manual does not have; the table leaves it out."""

STRICTER: Final = (
    Difference(
        r"membar\.proxy\.async\.(global|shared::cta|shared::cluster)",
        "the manual gives membar.proxy the kinds of fence.proxy; the assembler takes no space",
    ),
    Difference(
        r"cvta(\.to)?\.\w+\.u32",
        "addresses of 32 bits need .address_size 32, which the targets of the table do not have",
    ),
    Difference(
        r"(shfl|vote)\.(?!sync).*",
        "without .sync these are gone from PTX 6.4 on for sm_70 and later",
    ),
    Difference(
        r"st\.async(\.weak)?(\.shared::cluster)?(\.v[24])?\.[busf](32|64)",
        "the manual lets .mbarrier::complete_tx::bytes be left out; the assembler does not",
    ),
    Difference(
        r"multimem\.red\.(relaxed|release|cta|cluster|gpu|sys)\.(global\.)?(?!cta|cluster|gpu|sys)\w+\..*",
        "the manual gives order and scope each a default; the assembler wants both or neither",
    ),
    Difference(
        r"ld\.proxy::readonly(\.global)?\.b128",
        "the manual has .proxy::readonly with every type of ld; the assembler not with .b128",
    ),
    Difference(
        r"cvt\.rs(\.relu)?(\.satfinite)?\.pzo\..*",
        "the manual has .pzo with random rounding too; the assembler does not",
    ),
    Difference(r"\.maxnctapersm", "deprecated since PTX 2.0; .minnctapersm replaces it"),
)
"""What the manual has and the assembler refuses for every target of the table."""

WIDER: Final = (
    Difference(
        r"cvt\.rn(\.satfinite)?(\.relu)?\.(e4m3x2|e5m2x2)\.f(32|16x2)"
        r"|cvt\.rn(\.relu)?\.f16x2\.(e4m3x2|e5m2x2)",
        "sm_90 has 8-bit floats from PTX 7.8 on and sm_89 from 8.1 on; a form has one version, so "
        "8.1 is claimed for both",
    ),
    Difference(
        r"cp\.async\.c[ag]\.shared::cta\..*",
        "the manual has ::cta from PTX 7.8 on; the assembler wherever it has cp.async",
    ),
    Difference(
        r"(multimem\.)?cp\.(reduce\.)?async\.bulk\.(weak|relaxed)\..*",
        "the manual has memory orders for sm_90a, sm_100f and sm_110f only",
    ),
    Difference(
        r"mma\..*\bkind::f8f6f4\.f(16|32)\.e[45]m[23]\.e[45]m[23]\..*",
        "the manual has .kind::f8f6f4 for sm_120 and its family; the assembler also for sm_100 and "
        "sm_110 where both types have 8 bits",
    ),
    Difference(
        r"fabric\.try_(get|put|red)\..*\bL2::cache_hint\b.*",
        "the manual has cache hints from PTX 9.4 on; the assembler from 9.3 on",
    ),
    Difference(
        r"fence\.(acquire|release)\.(cta|cluster|gpu|sys)",
        "the manual has them from PTX 8.6 on for sm_90; this assembler wherever it has fence",
        release="13.0",
    ),
    Difference(
        r"cvt\.rn\.satfinite(\.relu)?\.(e2m1x2|e2m3x2|e3m2x2)\.f16x2",
        "the manual has them from PTX 9.1 on; this assembler has e2m1x2 from 8.6 on",
        release="13.0",
    ),
)
"""Where the assembler takes a spelling for targets or versions that the manual does not give it."""

REFUSED: Final = (
    Difference(
        r"tcgen05\.mma\.(sp\.)?cta_group::[12]\.kind::mxf(4|8f6f4)\.block_scale(\.collector.*)?",
        "without the size of a scale's vector this assembler has them from PTX 8.8 on",
        release="13.0",
    ),
    Difference(
        r"membar\.proxy\.async",
        "the manual has it from PTX 8.0 on, and later assemblers take it",
        release="13.0",
    ),
)
"""What one assembler refuses though the manual and others have it."""


@dataclass(frozen=True, slots=True)
class Absence:
    """What the manual has and the table lacks: an instruction of it, where it exists, and why."""

    instruction: str
    target: str
    reason: str


ABSENT: Final = (
    Absence(
        "vmad.s32.s32.s32 %r0, -%r1, -%r2, -%r3",
        "sm_75",
        "the product is not negated, and the manual has one negation or the other",
    ),
    Absence(
        "vadd.s32.s32.s32 %r0, %r1, %r2, %r3",
        "sm_75",
        "a third source without a second operation; the manual has it with a part of %r0 only",
    ),
    Absence(
        "tex.level.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, %d1, {%f4, %f5}], %f6",
        "sm_75",
        "a sampler beside a level of detail: the assembler takes it in some types only, and beside "
        "arrays and cubes in none",
    ),
    Absence(
        "fabric.wait.sync_restrict::reads 1",
        "sm_100a",
        "a number of groups, which the manual does not have yet: they came with PTX 9.5's "
        "fabric.submit.commit_group",
    ),
)
"""What is left out of the table, each with an instruction that the assembler takes."""

TARGETS_EARLIER: Final = (
    Difference(
        r"sm_88", "the manual has it from PTX 9.0 on; this assembler from 7.3 on", release="13.0"
    ),
)
"""Targets that some assembler takes with a PTX version before the manual's."""


def reason(spelling: str, differences: tuple[Difference, ...], assembler: str = "") -> str | None:
    """Why a spelling differs with an assembler of a version, None where it is not known to."""
    return next((d.reason for d in differences if d.covers(spelling, assembler)), None)
