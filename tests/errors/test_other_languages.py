"""Names of CUDA C++, Triton, Numba and Warp: the error says what pyptx has for each."""

import pytest

from pyptx import LanguageError, Tile, kernel, ptx, reg, smem
from pyptx._cures import CURES, ELSEWHERE
from pyptx.types import f32, u32


@pytest.mark.parametrize("name", sorted(set(ELSEWHERE) - set(CURES) - set(dir(ptx))))
def test_a_name_of_another_language_has_its_cure(name):
    with pytest.raises(LanguageError) as caught:
        kernel(block=32)(lambda: getattr(ptx, name)).ptx()
    assert caught.value.problem == f"ptx has no {name}"
    assert caught.value.notes[0] == ("instead", ELSEWHERE[name])


def test_the_whole_message_where_a_part_of_the_language_lacks_a_name():
    def body():
        ptx.warp.shfl_down(reg.scalar(f32, init=0.0), 1)

    with pytest.raises(LanguageError) as caught:
        kernel(block=32)(body).ptx()
    where, *rest = str(caught.value).splitlines()
    assert where.endswith(": ptx.warp has no shfl_down")
    assert rest == [
        "    ptx.warp.shfl_down(reg.scalar(f32, init=0.0), 1)",
        "  instead: ptx.inst.shfl.sync.down.b32(r, n, 31, 0xffffffff)",
        "  names: broadcast exclusive_scan inclusive_scan reduce reduce_max reduce_min reduce_sum",
    ]


def test_a_name_that_only_looks_like_one_of_the_language_keeps_its_nearest():
    with pytest.raises(LanguageError) as caught:
        kernel(block=32)(lambda: smem.aloc).ptx()
    assert caught.value.notes[0] == ("nearest", "alloc")


def test_what_the_cures_say_is_the_language():
    scope = {"ptx": ptx, "reg": reg, "smem": smem, "f32": f32, "shape": 4}

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32, init=0),), block=32)
    def every(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        v = X[i]
        named = {"X": X, "Y": Y, "i": i, "v": v, "r": v, "p": i < 3, "lane": 1, "n": 2}
        named |= {"a": v, "b": v, "c": v, "values": [v]}
        for cure in dict.fromkeys(ELSEWHERE.values()):
            for part in cure.split("; ")[0].split(", or ")[:1]:
                code = part.partition(" over ")[0]
                if code.startswith("ptx.") and code.endswith(")") and "..." not in code:
                    eval(code, scope, dict(named))

    written = every.ptx()
    for spelling in ("bar.sync", "bar.warp.sync", "shfl.sync.down", "vote.sync.ballot", "fma.rn"):
        assert f"{spelling}" in written
    assert written.count("fence.acq_rel") == 2
    assert "red.global.add.f32" in written
