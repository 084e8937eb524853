"""Cases of findings about lanes that exchange values, and about threads that exchange flags, for `test_findings`."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from .findings import Case

# Warp 1 fills the tile and sets a flag, for which lane 0 of warp 0 waits. The others get its answer, %r7.
TOLD = """.shared flag 4 4
setp.ge.u32 %p4, %r1, 32
setp.eq.u32 %p1, %r1, 0
setp.eq.u32 %p3, %r1, 32
mov.u32 %r7, 0
@%p1 st.shared.u32 [flag], 0
bar.sync 0
@!%p4 bra consumer
st.shared.u32 [%r6-128], %r1
bar.warp.sync -1
@%p3 st.release.cta.shared.u32 [flag], 1
exit
consumer:
@!%p1 bra told
spin:
ld.acquire.cta.shared.u32 %r7, [flag]
setp.ne.u32 %p2, %r7, 1
@%p2 bra spin
told:
BUG
ld.shared.u32 %r9, [%r6]
st.global.u32 [%rd5], %r9"""
# All lanes load one place and store one value to it.
UNIFORM = """setp.eq.u32 %p1, %r1, 0
@%p1 st.shared.u32 [tile], 5
bar.sync 0
ld.shared.u32 %r7, [tile]
BUG
@VALUE
st.shared.u32 [tile], %r8"""

EXCHANGES = {
    "a shuffle from a lane that has acquired nothing": Case(
        "shared-race", TOLD,
        "shfl.sync.idx.b32 %r8, %r7, 1, 31, -1", "shfl.sync.idx.b32 %r8, %r7, 0, 31, -1",
        at="ld.shared.u32 %r9", other="st.shared.u32 [%r6-128]",
    ),
    "a shuffle that brings the answer to half of the lanes": Case(
        "shared-race", TOLD,
        "shfl.sync.bfly.b32 %r8, %r7, 16, 31, -1", "redux.sync.max.u32 %r8, %r7, -1",
        at="ld.shared.u32 %r9", other="st.shared.u32 [%r6-128]",
    ),
    "an election, which brings no answer": Case(
        "shared-race", TOLD,
        "elect.sync %r8|%p2, -1", "vote.sync.any.pred %p5, %p1, -1",
        at="ld.shared.u32 %r9", other="st.shared.u32 [%r6-128]",
    ),
    "a match of others": Case(
        "shared-race", TOLD,
        "activemask.b32 %r8", "match.any.sync.b32 %r8, %r7, -1",
        at="ld.shared.u32 %r9", other="st.shared.u32 [%r6-128]",
    ),
    "lanes that read after a shuffle what others have stored": Case(
        "shared-race",
        "st.shared.u32 [%r6], %r1\nBUG\nxor.b32 %r8, %r6, 4\nld.shared.u32 %r9, [%r8]",
        "shfl.sync.idx.b32 %r7, %r1, 0, 31, -1", "bar.warp.sync -1", at="ld.shared.u32 %r9", other="st.shared",
    ),
    "lanes that overwrite after a shuffle what others have read": Case(
        "shared-race",
        "st.shared.u32 [%r6], %r1\nbar.warp.sync -1\nxor.b32 %r8, %r6, 4\nld.shared.u32 %r9, [%r8]\nBUG\n"
        "st.shared.u32 [%r6], %r9",
        "shfl.sync.idx.b32 %r7, %r1, 0, 31, -1", "bar.warp.sync -1", at="st.shared.u32 [%r6], %r9", other="ld.shared",
    ),
    "one place that lanes load and store without having been together": Case(
        "shared-race", UNIFORM.replace("@VALUE", "mov.u32 %r8, 6"),
        "nanosleep.u32 1", "shfl.sync.bfly.b32 %r9, %r7, 1, 31, -1",
        at="st.shared.u32 [tile], %r8", other="ld.shared", block=32,
    ),
    "one place that lanes of two warps load and store": Case(
        "shared-race", UNIFORM.replace("@VALUE", "shfl.sync.bfly.b32 %r9, %r7, 1, 31, -1\n@%p1 mov.u32 %r8, 6\nmov.u32 %r8, 6\nsetp.ge.u32 %p2, %r1, 32\n@%p2 exit"),
        "bar.warp.sync -1", "bar.sync 0", at="st.shared.u32 [tile], %r8", other="ld.shared",
    ),
}  # fmt: skip
