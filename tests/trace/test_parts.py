"""Parts of global tensors, X.at(i, j): one address, and offsets that cost nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import LanguageError, Tile, kernel, ptx, reg
from pyptx.types import f32, u32


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


def instructions(k, **dims):
    lines = [line.strip().removesuffix(";") for line in k.ptx(**dims).splitlines()]
    body = lines[lines.index("{") + 1 : lines.index("}")]
    return [line for line in body if not line.startswith(".reg")]


def test_one_address_and_offsets():
    @kernel(in_specs=(Tile(8, 64, f32),), out_specs=(Tile(64, f32),), block=16)
    def third(X, Y):
        x = X.at(2, thread() + 1)
        Y[0] = x[0, 0] + x[1, -1]
        Y.at(4)[3] = x.load(-2, 4)

    assert instructions(third) == [
        "ld.param.u64 %ud0, [X]",
        "cvta.to.global.u64 %ud1, %ud0",
        "ld.param.u64 %ud5, [Y]",
        "cvta.to.global.u64 %ud6, %ud5",
        "mov.u32 %u0, %tid.x",
        "add.u32 %u1, %u0, 1",
        "mul.wide.u32 %ud3, %u1, 4",
        "add.u64 %ud2, %ud1, %ud3",
        "add.s64 %ud4, %ud2, 512",
        "ld.global.f32 %f0, [%ud4]",
        "ld.global.f32 %f1, [%ud4+252]",
        "add.rn.f32 %f2, %f0, %f1",
        "st.global.f32 [%ud6], %f2",
        "ld.global.f32 %f3, [%ud4+-496]",
        "add.s64 %ud7, %ud6, 16",
        "st.global.f32 [%ud7+12], %f3",
        "ret",
    ]


@kernel(
    in_specs=(Tile("B", "M", "N", f32),),
    out_specs=(Tile("B", "M", "N", f32),),
    parallel=("B", "M"),
    grid=lambda B, M: (B, M),
    block=32,
)
def backwards(X, Y):
    """Every row from its end, by parts of parts."""
    b, m, columns = ptx.special.ctaid.x(), ptx.special.ctaid.y(), X.shape[2]
    row, end = X.at(b, m, 0), Y.at(b, 0, columns - 1)
    last = end.at(0, m, 0)  # sizes of inner axes are known at a launch only
    with ptx.if_(thread() == 0):
        for i in range(columns):
            last[0, 0, -i] = row[0, 0, i] if i < 3 else row.at(0, 0, 3)[0, 0, i - 3]


def test_parts_of_parts_and_sizes_of_a_launch():
    x = np.random.default_rng(0).standard_normal((2, 3, 7)).astype(np.float32)
    done = backwards.emulate(x, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0] == x[:, :, ::-1]).all()


def test_known_rows_before_a_part_whose_stride_a_launch_knows():
    @kernel(
        in_specs=(Tile("M", "N", f32),),
        out_specs=(Tile("M", "N", f32),),
        parallel=("M", "N"),
        grid=lambda M, N: (M, N),
        block=1,
    )
    def copied(X, Y):
        m, n = ptx.special.ctaid.x(), ptx.special.ctaid.y()
        Y.at(reg.from_(m, u32) + 1, n)[-1, 0] = X.at(reg.from_(m, u32) + 2, n)[-2, 0]

    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    done = copied.emulate(x, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0] == x).all()


def test_vmap_gives_a_part_its_own_batch():
    x = jnp.arange(4 * 2 * 3 * 5, dtype=jnp.float32).reshape(4, 2, 3, 5)
    assert (jax.jit(jax.vmap(backwards))(x) == x[..., ::-1]).all()


def test_vectors_and_predicates():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile(64, f32),), block=8)
    def padded(X, Y):
        i = thread() << 2
        x, y = X.at(i), Y.at(i)
        for j in (0, 32):
            y.store(j, x.load(j, vector=4, pred=i + j < X.shape[0], other=-1.0))

    x = np.arange(40, dtype=np.float32)
    done = padded.emulate(x, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0] == [*range(40), *[-1] * 24]).all()


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_a_distance_beyond_a_small_shape_is_for_predicates(rows):
    @kernel(in_specs=(Tile("M", "N", f32),), out_specs=(Tile("M", "N", f32),), block=8)
    def copied(X, Y):
        row = thread()
        x, y = X.at(row, 0), Y.at(row, 0)
        for i in range(0, 40, 8):
            inside = row + i < X.shape[0]
            y.store(i, 0, x.load(i, 0, pred=inside, other=0.0), pred=inside)

    x = np.random.default_rng(0).standard_normal((rows, 1)).astype(np.float32)
    done = copied.emulate(x, sanitize=True)
    assert not done.report.findings
    assert (done.outputs[0] == x).all()


def test_a_distance_that_no_predicate_excludes_is_found():
    @kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), block=4)
    def shifted(X, Y):
        i = thread()
        Y[i] = X.at(i)[1]

    done = shifted.emulate(np.zeros(4, np.float32), sanitize=True)
    assert [(f.kind, f.count) for f in done.report.findings] == [("out-of-bounds", 1)]


def test_a_part_of_another_trace():
    kept = []

    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=4)
    def one(X, Y):
        kept.append(X.at(0))
        Y[0] = kept[0][0]

    one.ptx(N=4)
    with pytest.raises(LanguageError) as caught:
        one.ptx(N=8)
    message = str(caught.value).partition(": ")[2]
    assert message == (
        "X.at(...) belongs to another kernel, or to another trace of this one\n"
        "    Y[0] = kept[0][0]"
    )
