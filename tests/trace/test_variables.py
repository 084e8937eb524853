"""Variables by index, as tensors: `v[i]`, `v.load`, `v.store` and `v.at`, in every state space."""

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.errors import LanguageError
from pyptx.types import f32, u32

TABLE = ptx.global_(f32, 64, name="table", align=16)
FACTORS = ptx.const(f32, name="factors", init=[1.0, 2.0, 3.0, 4.0], align=16)
PLAIN = ptx.global_(f32, 8, name="plain")
HERE = ptx.shared(f32, 16, name="here", align=16)
SPECS = {"in_specs": (Tile(8, f32),), "out_specs": (Tile(8, f32),)}
X = np.arange(8, dtype=np.float32) + 10


@kernel(**SPECS, grid=(1, 1, 1), block=(1, 1, 1))
def copied(X, Y, *, through: int):
    space = (TABLE, HERE, ptx.local(f32, 16, align=16))[through]
    one = reg.scalar(u32, init=1)
    space.store(4, [X[i] for i in range(4)])
    part = space.at(one)
    part[7] = X[4]
    part.store(8, X[5], pred=X[5] > 0)
    read = space.load(4, vector=4)
    for i in range(4):
        Y[i] = read[i]
    Y[4] = space[one + 7]
    Y[5] = space.load(9)
    Y[6] = FACTORS.load(0, vector=4)[3]
    Y[7] = FACTORS.at(one)[1]


@pytest.mark.parametrize("through", range(3))
def test_every_space_is_loaded_and_stored(through: int):
    done = copied.emulate(X, through=through)
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[0], [10, 11, 12, 13, 14, 15, 4, 3])


def test_a_vector_is_one_instruction():
    text = copied.ptx(through=0)
    for spelling in ("st.global.v4.f32", "ld.global.v4.f32", "ld.const.v4.f32"):
        assert text.count(spelling) == 1


CONSTANT = """here: {} is in constant memory, which a kernel cannot write
  help: ptx.global_(...) is a variable that kernels write"""
REFUSED = {
    "element": (lambda: FACTORS.__setitem__(0, 1.0), CONSTANT.format("factors")),
    "store": (lambda: FACTORS.store(0, 1.0), CONSTANT.format("factors")),
    "part": (lambda: FACTORS.at(1).store(0, 1.0), CONSTANT.format("factors.at(...)")),
    "aligned": (
        lambda: PLAIN.load(0, vector=4),
        """here: 16 bytes at once begin at a multiple of 16 bytes, and plain is aligned to 4
  help: align=16 where the variable is declared""",
    ),
    "stored": (
        lambda: PLAIN.store(0, [1.0, 2.0]),
        """here: 8 bytes at once begin at a multiple of 8 bytes, and plain is aligned to 4
  help: align=8 where the variable is declared""",
    ),
    "iterated": (
        lambda: iter(FACTORS.at(1)),
        """here: factors.at(...) is a part of a variable in constant memory, which is not iterable
  help: for i in ptx.range_(n): ... factors.at(...)[i]""",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong(case: str):
    run, message = REFUSED[case]

    @kernel(**SPECS, grid=(1, 1, 1), block=(1, 1, 1))
    def wrong(X, Y):
        run()

    with pytest.raises(LanguageError) as caught:
        wrong.ptx()
    lines = str(caught.value).replace(f"{caught.value.location}: ", "here: ").splitlines()
    assert "\n".join([lines[0], *lines[2:]]) == message
