"""Dimensions that are computed, compile-time keywords as sizes, and run-time dimensions that are
not parallel: under NumPy, in the emulator, and under every transformation of JAX."""

import numpy as np
import pytest

import pyptx
from pyptx import CallError, SpecError, Tile, kernel, ptx, reg, sequence, smem
from pyptx.types import f32, s32, u32

RNG = np.random.default_rng(7)


def thread():
    """The number of the thread in the grid's x axis, 64 bits."""
    block = reg.from_(ptx.special.ctaid.x(), u32)
    size = reg.from_(ptx.special.ntid.x(), u32)
    number = ptx.inst.mad.lo.u32(block, size, reg.from_(ptx.special.tid.x(), u32))
    return ptx.inst.cvt.u64.u32(number)


def make_pairs(**options):
    @kernel(
        in_specs=(Tile("B", "N", f32), Tile("N//2", f32)),
        out_specs=(Tile("B", "N//2", f32),),
        grid=("B", "cdiv(N, 64)"),
        block=32,
        **options,
    )
    def pairs(X, W, Y):
        """Y[b, i] = (X[b, 2 i] + X[b, 2 i + 1]) W[i]."""
        traced.append(X.shape)
        b = ptx.special.ctaid.x()
        chunk = reg.from_(ptx.special.ctaid.y(), u32)
        i = ptx.inst.mad.lo.u32(chunk, 32, reg.from_(ptx.special.tid.x(), u32))
        i = ptx.inst.cvt.u64.u32(i)
        with ptx.if_(i < Y.shape[1]):
            Y[b, i] = (X[b, 2 * i] + X[b, 2 * i + 1]) * W[i]

    traced = []
    return pairs, traced


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid="cdiv(N, 32)",
    block=32,
    dynamic=("N",),
)
def reverse(X, Y):
    """Y[i] = X[N - 1 - i]: no index is on its own."""
    i = thread()
    with ptx.if_(i < X.shape[0]):
        Y[i] = X[X.shape[0] - 1 - i]


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("cdiv(N, BM)", "BM", f32, init=-1.0),),
    grid=("cdiv(N, BM)",),
    block=("BM",),
)
def rows(X, Y, *, BM=32):
    """X in rows of BM; what is beyond X stays -1."""
    i = thread()
    with ptx.if_(i < X.shape[0]):
        Y[ptx.special.ctaid.x(), ptx.special.tid.x()] = X[i]


def paired(x, w):
    half = x.shape[-1] // 2
    return (x[..., : 2 * half : 2] + x[..., 1 : 2 * half : 2]) * w


def arrays(*lead, n):
    return (
        RNG.standard_normal((*lead, n)).astype(np.float32),
        RNG.standard_normal(n // 2).astype(np.float32),
    )


# ---- NumPy and the emulator ----------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 7, 64, 129])
@pytest.mark.parametrize("options", [{}, {"parallel": ("B",)}, {"dynamic": ("N",)}])
def test_a_computed_dimension(n, options):
    pairs, _ = make_pairs(**options)
    x, w = arrays(3, n=n)
    found = pairs.emulate(x, w)
    found.report.check()
    np.testing.assert_array_equal(found.outputs[0], paired(x, w))
    np.testing.assert_array_equal(pairs(x, w), paired(x, w))


def test_a_new_size_of_a_dynamic_dimension_compiles_nothing():
    pairs, traced = make_pairs(dynamic=("N",), parallel=("B",))
    for n in (10, 11, 64, 1000):
        x, w = arrays(2, n=n)
        np.testing.assert_array_equal(pairs(x, w), paired(x, w))
    assert len(traced) == 1
    fixed, traced = make_pairs(parallel=("B",))
    for n in (10, 11, 64):
        fixed(*arrays(2, n=n))
    assert len(traced) == 3


def test_a_computed_size_is_an_argument_of_the_launch():
    pairs, _ = make_pairs(dynamic=("N",))
    text = pairs.ptx(B=1)
    assert "N_size" in text
    assert "computed_1_size" in text
    assert "div" not in text  # the host divides


def test_compile_time_keywords_are_sizes():
    x = RNG.standard_normal(100).astype(np.float32)
    for bm in (32, 64, 128):
        found = rows.emulate(x, BM=bm)
        found.report.check()
        wanted = np.full(-(-100 // bm) * bm, -1, np.float32)
        wanted[:100] = x
        np.testing.assert_array_equal(found.outputs[0], wanted.reshape(-1, bm))
    assert rows(x).shape == (4, 32)
    assert (rows.grid, rows.block, rows.cluster) == (("cdiv(N, BM)",), ("BM",), (1, 1, 1))


def test_a_keyword_is_a_check_of_an_input():
    @kernel(in_specs=(Tile("N", "BM", f32),), out_specs=(Tile("N", f32),), grid="N", block="BM")
    def first(X, Y, *, BM):
        n = ptx.special.ctaid.x()
        Y[n] = X[n, 0]

    x = RNG.standard_normal((3, 32)).astype(np.float32)
    np.testing.assert_array_equal(first(x, BM=32), x[:, 0])
    with pytest.raises(CallError) as caught:
        first(x, BM=64)
    assert caught.value.problem == (
        "dimension 1 of X is 32 and must be 64, the compile-time keyword BM"
    )
    with pytest.raises(CallError) as caught:
        first(x)
    assert caught.value.problem == "first needs the compile-time keyword BM"
    with pytest.raises(CallError) as caught:
        first(x, BM=2.5)
    assert (caught.value.problem, caught.value.notes) == (
        "the compile-time keyword BM of first is 2.5, and a Tile has it as a size",
        (("legal", "an integer that is not negative"),),
    )


@pytest.mark.parametrize(
    "sizes",
    [
        {"block": "threads", "cluster": ("parts",), "grid": "parts"},
        {"block": ("threads", 1), "cluster": "parts", "grid": ("parts",)},
        {
            "block": lambda threads: threads,
            "cluster": lambda parts: (parts, 1),
            "grid": lambda N, parts: (parts * N // N, 1),
        },
    ],
)
def test_sizes_of_a_launch_from_keywords(sizes):
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), arch="sm_90a", **sizes)
    def copy(X, Y, *, threads, parts):
        for i in ptx.range_(thread(), X.shape[0], threads * parts):
            Y[i] = X[i]

    x = RNG.standard_normal(300).astype(np.float32)
    for threads, parts in ((32, 1), (64, 2), (1024, 4)):
        np.testing.assert_array_equal(copy(x, threads=threads, parts=parts), x)
        text = copy.ptx(N=300, threads=threads, parts=parts)
        assert (f".reqnctapercluster {parts}, 1, 1" in text) == (parts > 1)
        assert (f".maxntid {threads}" in text) == (threads > 256)


def test_an_output_without_elements():
    x = np.ones((2, 1), np.float32)
    pairs, _ = make_pairs()
    assert pairs(x, np.ones(0, np.float32)).shape == (2, 0)


def test_a_keyword_without_a_value():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block="T")
    def copy(X, Y, *, T):
        Y[ptx.special.tid.x()] = X[ptx.special.tid.x()]

    x = np.ones(3, np.float32)
    assert problem(lambda: copy(x), CallError) == (
        "copy needs the compile-time keyword T\n  help: copy(..., T=...)"
    )
    np.testing.assert_array_equal(copy(x, T=3), x)


def test_a_keyword_may_have_the_name_of_a_dimension():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid="N", block=32)
    def moved(X, Y, *, N=4):
        Y[ptx.special.ctaid.x()] = X[ptx.special.ctaid.x()] + N

    np.testing.assert_array_equal(moved(np.zeros(4, np.float32)), [4] * 4)
    np.testing.assert_array_equal(moved(np.zeros(2, np.float32), N=2), [2] * 2)


@kernel(
    in_specs=(Tile("N", f32), Tile("N//2", f32)),
    out_specs=(Tile("N//2", f32),),
    input_output_aliases={1: 0},
    dynamic=("N",),
    grid="cdiv(N, 64)",
    block=32,
)
def add_even(X, A, Y):
    """A + X[::2], in place."""
    i = thread()
    with ptx.if_(i < Y.shape[0]):
        Y[i] = Y[i] + X[2 * i]


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("2*N", f32, init=3.0),),
    dynamic=("N",),
    grid="cdiv(N, 32)",
    block=32,
)
def spread(X, Y):
    """X at the even indices, 3 at the odd ones."""
    i = thread()
    with ptx.if_(i < X.shape[0]):
        Y[2 * i] = X[i]


def test_a_computed_tensor_in_place():
    x, a = np.arange(9, dtype=np.float32), np.ones(4, np.float32)
    np.testing.assert_array_equal(add_even(x, a), 1 + x[:8:2])


@pytest.mark.parametrize("n", [0, 1, 5, 100])
def test_init_of_a_computed_tensor(n):
    x = np.arange(n, dtype=np.float32)
    found = spread.emulate(x)
    found.report.check()
    np.testing.assert_array_equal(found.outputs[0][::2], x)
    np.testing.assert_array_equal(found.outputs[0][1::2], np.full(n, 3, np.float32))


def test_leading_axes_and_a_sum_with_a_computed_dimension():
    @kernel(
        in_specs=(Tile("*B", "N", f32),),
        out_specs=(Tile("*B", "N//2", f32), Tile("N//2", f32, sum_over="B")),
        block=1,
        parallel=("B",),
    )
    def halves(X, Y, Sum):
        for i in range(X.shape[1] // 2):
            total = reg.scalar(f32, init=0.0)
            for b in ptx.range_(ptx.inst.cvt.u32.u64(X.shape[0])):
                value = X[b, 2 * i] + X[b, 2 * i + 1]
                Y[b, i] = value
                total += value
            Sum[i] = total

    x = RNG.integers(0, 9, (2, 3, 6)).astype(np.float32)
    found, total = halves(x)
    np.testing.assert_array_equal(found, x[..., ::2] + x[..., 1::2])
    np.testing.assert_array_equal(total, found.sum((0, 1)))
    halves.check_parallel(x)


def test_a_kernel_from_a_file_takes_computed_sizes():
    foreign = pyptx.from_ptx(
        spread.ptx(),
        in_specs=spread.in_specs,
        out_specs=spread.out_specs,
        params=(pyptx.In(0), pyptx.Out(0), "N", "2*N"),
        grid="cdiv(N, 32)",
        block=32,
    )
    x = np.arange(33, dtype=np.float32)
    np.testing.assert_array_equal(foreign(x), spread(x))


def test_cond_over_a_dynamic_dimension():
    @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("2*N", f32, init=3.0),), dynamic=("N",))
    def either(x):
        return pyptx.cond(lambda N: N <= 4, spread, spread, x)

    for n in (3, 9):
        assert either(np.ones(n, np.float32)).shape == (2 * n,)


@pytest.mark.parametrize("m", [3, 8, 17])
def test_a_tensor_map_of_a_computed_tensor(m):
    @kernel(
        in_specs=(Tile("M", 64, f32, tma_box=(8, 64)),),
        out_specs=(Tile("8*cdiv(M, 8)", 64, f32, tma_box=(8, 64)),),
        dynamic=("M",),
        grid="cdiv(M, 8)",
        block=32,
        arch="sm_90a",
    )
    def padded(X, Y):
        tile, bar = smem.alloc(f32, (8, 64), align=128), smem.mbarrier()
        first = reg.from_(ptx.special.tid.x(), u32) == 0
        bar.init(1, pred=first)
        ptx.fence.mbarrier_init()
        ptx.bar.sync(0)
        row = ptx.inst.mul.lo.s32(reg.from_(ptx.special.ctaid.x(), s32), 8)
        with ptx.if_(first):
            bar.arrive_expect_tx(tile.bytes)
            ptx.cp.async_.bulk.tensor_2d(dst=tile, src=X.tma_desc(), coord=[0, row], mbar=bar)
        bar.wait(0)
        with ptx.if_(first):
            ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc(), src=tile, coord=[0, row])
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0)

    x = RNG.standard_normal((m, 64)).astype(np.float32)
    found = padded.emulate(x)
    found.report.check()
    wanted = np.zeros((-(-m // 8) * 8, 64), np.float32)
    wanted[:m] = x
    np.testing.assert_array_equal(found.outputs[0], wanted)


# ---- errors --------------------------------------------------------------------------------------


def problem(call, error):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.location.file == __file__
    return error(caught.value.problem, notes=caught.value.notes).render()


def test_a_computed_input_that_does_not_fit():
    pairs, _ = make_pairs()
    x, w = arrays(2, n=10)
    assert problem(lambda: pairs(x, w[:4]), CallError) == (
        "dimension 0 of W is 4 and must be N // 2 = 5, where N = 10\n"
        '  spec: W: Tile("N // 2", f32)\n'
        "  shape: W: (4,)"
    )


def test_an_output_that_would_be_negative():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N - 4", f32),), dynamic=("N",))
    def shorter(X, Y):
        pass

    for _ in range(2):
        assert problem(lambda: shorter(np.ones(3, np.float32)), CallError) == (
            "the size N - 4 is -1 where N = 3; a size is not negative"
        )


def _wrong(**options):
    specs = {"in_specs": (Tile("N", f32),), "out_specs": (Tile("N", f32),)} | options

    def nothing(X, Y, *, BM=32, threads=32):
        pass

    return lambda: kernel(**specs)(nothing)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (
            _wrong(out_specs=(Tile("M//2", f32),)),
            (
                'the dimension "M" of the output Tile("M // 2", f32) is in no input\n'
                "  dimensions: BM, threads, N"
            ),
        ),
        (
            _wrong(in_specs=(Tile("2*M", f32),)),
            (
                'the dimension "M" of the input Tile("2 * M", f32) is in an expression, and no '
                "input has it by itself\n  dimensions: BM, threads"
            ),
        ),
        (
            _wrong(grid="N//BN"),
            (
                "grid='N//BN' of nothing names BN, which is neither a dimension nor a compile-time "
                "keyword\n  nearest: N\n  dimensions: N\n  keywords: BM, threads"
            ),
        ),
        (
            _wrong(block=("thread",)),
            (
                "block='thread' of nothing names thread, which is neither a dimension nor a "
                "compile-time keyword\n  nearest: threads\n  dimensions: N\n  keywords: BM, threads"
            ),
        ),
        (
            _wrong(parallel=("BM",)),
            "parallel= names 'BM', which is a compile-time keyword of nothing\n  dimensions: N",
        ),
        (
            _wrong(dynamic=("M",)),
            "dynamic= names 'M', which is no dimension of nothing\n  dimensions: N",
        ),
        (
            _wrong(dynamic=("N",), parallel=("N",)),
            (
                "'N' of nothing is in parallel= and in dynamic=\n"
                "  help: parallel= alone: a run-time size, each index treated on its own\n"
                "  help: dynamic= alone: a run-time size, and nothing more"
            ),
        ),
        (
            _wrong(dynamic="N"),
            "dynamic='N' is not a sequence of dimension names\n  help: dynamic=(\"B\",)",
        ),
        (
            _wrong(out_specs=(Tile("N//2", f32),), parallel=("N",)),
            (
                'the dimension "N // 2" of Tile("N // 2", f32) is computed from the parallel '
                'dimension "N" of nothing, whose indices are each on their own\n'
                "  help: dynamic=('N',): a run-time size, and nothing more"
            ),
        ),
    ],
)
def test_what_does_not_fit_together(make, wanted):
    assert problem(make, SpecError) == wanted


def test_a_block_of_a_dimension_without_a_size():
    wrong = _wrong(block="N", dynamic=("N",))()
    assert problem(lambda: wrong.ptx(), SpecError) == (
        "block= is N, which has no size before the launch\n"
        "  help: compute it from compile-time keywords and other dimensions"
    )
    wrong = _wrong(block="BM")()
    assert problem(lambda: wrong.ptx(N=3, BM=2.5), SpecError) == (
        "block= has BM as a size, and it is 2.5\n  legal: a size is an integer"
    )
    assert problem(lambda: wrong.ptx(N=3, BM=2048), SpecError) == (
        "block dimension x is 2048; the range is 1 to 1024"
    )


# ---- sequences -----------------------------------------------------------------------------------


@sequence(
    in_specs=(Tile("N", f32),), out_specs=(Tile("N//2//2", f32),), dynamic=("N",), parallel=()
)
def quarters(x):
    return halve(halve(reverse(x)))


@kernel(
    in_specs=(Tile("M", f32),),
    out_specs=(Tile("M//2", f32),),
    grid="cdiv(M, 64)",
    block=32,
    dynamic=("M",),
)
def halve(X, Y):
    i = thread()
    with ptx.if_(i < Y.shape[0]):
        Y[i] = X[2 * i] + X[2 * i + 1]


def quartered(x):
    for _ in range(2):
        half = len(x) // 2
        x = x[: 2 * half : 2] + x[1 : 2 * half : 2]
    return x


def test_a_sequence_computes_with_computed_dimensions():
    for n in (4, 9, 100, 1001):
        x = RNG.standard_normal(n).astype(np.float32)
        found = quarters.emulate(x)
        found.report.check()
        np.testing.assert_array_equal(found.outputs[0], quartered(x[::-1]))


def test_a_parallel_dimension_of_a_sequence_is_not_dynamic_in_a_kernel():
    @sequence(in_specs=(Tile("B", f32),), out_specs=(Tile("B", f32),), parallel=("B",))
    def wrong(x):
        return reverse(x)

    assert problem(lambda: wrong(np.ones(4, np.float32)), CallError) == (
        'the dimension "N" of reverse is the parallel dimension "B" of wrong, and reverse has '
        "it as dynamic: its indices may depend on each other\n"
        "  help: declare parallel=('N',) there too"
    )


def test_a_run_time_dimension_of_a_sequence_has_no_size_in_a_kernel():
    fixed = kernel(in_specs=(Tile("K", f32),), out_specs=(Tile("K", f32),))(lambda X, Y: None)

    @sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N//2", f32),), dynamic=("N",))
    def wrong(x):
        return fixed(halve(x))

    assert problem(lambda: wrong(np.ones(4, np.float32)), CallError) == (
        'the dimension "K" of lambda is the computed dimension "(N // 2)" of wrong, which '
        "has no size before the launch\n  help: declare dynamic=('K',) there too"
    )


# ---- JAX -----------------------------------------------------------------------------------------


@pytest.fixture
def jax(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")
    return pytest.importorskip("jax", reason="JAX is an optional dependency")


@pytest.mark.parametrize("options", [{}, {"parallel": ("B",)}, {"dynamic": ("N",)}])
def test_jit_and_vmap(jax, options):
    pairs, _ = make_pairs(**options)
    x, w = map(jax.numpy.asarray, arrays(4, 3, n=70))
    np.testing.assert_array_equal(jax.jit(pairs)(x[0], w), paired(x[0], w))
    for wrap in (lambda f: f, jax.jit):
        found = wrap(jax.vmap(pairs, (0, None)))(x, w)
        np.testing.assert_array_equal(found, paired(x, w))
        found = wrap(jax.vmap(pairs, (None, 0)))(x[0], jax.numpy.stack([w, 2 * w]))
        np.testing.assert_array_equal(found, np.stack([paired(x[0], w), paired(x[0], 2 * w)]))


def test_a_dynamic_dimension_is_not_folded(jax):
    x = RNG.standard_normal((5, 40)).astype(np.float32)
    np.testing.assert_array_equal(jax.vmap(reverse)(x), x[:, ::-1])
    np.testing.assert_array_equal(jax.jit(jax.vmap(jax.vmap(reverse)))(x[None]), x[None, :, ::-1])
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(quarters))(x), np.stack([quartered(row[::-1]) for row in x])
    )


def test_what_a_program_for_cuda_carries(jax):
    (n,) = jax.export.symbolic_shape("n")
    checks = pyptx.export_safety_checks()
    with pyptx.target("sm_90a"):
        export = jax.export.export(jax.jit(spread), platforms=["cuda"], disabled_checks=checks)
        text = export(jax.ShapeDtypeStruct((n,), np.float32)).mlir_module()
    assert "inputs=[?];outputs=[?]" in text
    assert "grid=a0.0 32 cdiv,1,1;" in text
    assert "params=a0,r0,i64:a0.0,i64:2 a0.0 *;init=r0:00004040" in text


def test_in_place_and_init_under_jax(jax):
    x, a = jax.numpy.arange(9.0), jax.numpy.ones(4)
    np.testing.assert_array_equal(jax.jit(add_even)(x, a), 1 + x[:8:2])
    two = jax.vmap(add_even)(jax.numpy.stack([x, 2 * x]), jax.numpy.stack([a, a]))
    np.testing.assert_array_equal(two, np.stack([1 + x[:8:2], 1 + 2 * x[:8:2]]))
    np.testing.assert_array_equal(jax.jit(spread)(x), spread(np.asarray(x)))


@pytest.mark.parametrize("rows_", [1, 3])
def test_symbolic_sizes(jax, rows_):
    pairs, _ = make_pairs(dynamic=("N",), parallel=("B",))
    b, n = jax.export.symbolic_shape("b, n")
    shapes = [jax.ShapeDtypeStruct(s, np.float32) for s in ((b, n), (n // 2,))]
    checks = pyptx.export_safety_checks()
    exported = jax.export.export(jax.jit(pairs), platforms=["cpu"], disabled_checks=checks)(*shapes)
    assert str(exported.out_avals[0].shape) == "(b, floordiv(n, 2))"
    loaded = jax.export.deserialize(exported.serialize())
    for size in (6, 33):
        x, w = arrays(rows_, n=size)
        np.testing.assert_array_equal(loaded.call(x, w), paired(x, w))


def test_a_minimum_of_symbolic_sizes_is_an_error(jax):
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("min(N, 8)", f32),), dynamic=("N",))
    def some(X, Y):
        pass

    (n,) = jax.export.symbolic_shape("n")
    export = jax.export.export(jax.jit(some), platforms=["cpu"])
    with pytest.raises(CallError) as caught:
        export(jax.ShapeDtypeStruct((n,), np.float32))
    assert (caught.value.problem, caught.value.notes) == (
        "the size min(N, 8): min of sizes that are symbolic, n and 8",
        (("help", "export it for known sizes, or with an expression of + - * // cdiv"),),
    )


def test_shardings(jax, devices):
    from jax.sharding import AxisType, Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    pairs, _ = make_pairs(dynamic=("N",), parallel=("B",))
    x, w = arrays(8, n=40)

    def put(mesh, array, *spec):
        return jax.device_put(array, NamedSharding(mesh, P(*spec)))

    mesh = Mesh(np.reshape(devices, (4, 2)), ("data", "model"), (AxisType.Auto,) * 2)
    split = put(mesh, x, "data"), put(mesh, w)
    compiled = jax.jit(pairs).lower(*split).compile()
    assert not pyptx.collectives(compiled)
    np.testing.assert_array_equal(compiled(*split), paired(x, w))
    # A dynamic dimension is gathered, a parallel one is not.
    split = put(mesh, x, "data", "model"), put(mesh, w, "model")
    np.testing.assert_array_equal(jax.jit(pairs)(*split), paired(x, w))
    one = put(mesh, x[0], "data")
    np.testing.assert_array_equal(jax.jit(reverse)(one), x[0, ::-1])
    np.testing.assert_array_equal(jax.jit(quarters)(one), quartered(x[0, ::-1]))
    with pytest.raises(CallError) as caught:
        reverse(one)
    assert caught.value.problem == (
        "dimension 0 of X is sharded over 'data', and kernel reverse needs it whole"
    )
    explicit = Mesh(np.reshape(devices, (4, 2)), ("data", "model"), (AxisType.Explicit,) * 2)
    with pytest.raises(CallError) as caught:
        jax.jit(reverse)(put(explicit, x[0], "data"))
    assert caught.value.problem == (
        "dimension 0 of X is sharded over 'data', and kernel reverse needs it whole"
    )


def test_shardings_of_a_sequence_whose_scratch_is_computed(jax, devices):
    from jax.sharding import AxisType, Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    @kernel(
        in_specs=(Tile("B", "N", f32),),
        out_specs=(Tile("B", "N//2", f32),),
        grid=("B", "cdiv(N, 64)"),
        block=32,
        parallel=("B",),
        dynamic=("N",),
    )
    def pair(X, Y):
        b = ptx.special.ctaid.x()
        i = ptx.special.tid.x() + reg.from_(ptx.special.ctaid.y(), u32) * reg.scalar(u32, 32)
        with ptx.if_(i < Y.shape[1]):
            Y[b, i] = X[b, 2 * i] + X[b, 2 * i + 1]

    @sequence(
        in_specs=(Tile("B", "N", f32),),
        out_specs=(Tile("B", "N//2//2", f32),),
        parallel=("B",),
        dynamic=("N",),
    )
    def twice(x):
        return pair(pair(x))

    mesh = Mesh(np.asarray(devices), ("data",), (AxisType.Auto,))
    x = RNG.standard_normal((16, 41)).astype(np.float32)
    wanted = np.stack([quartered(row) for row in x])
    np.testing.assert_array_equal(twice(x), wanted)
    split = jax.device_put(x, NamedSharding(mesh, P("data")))
    compiled = jax.jit(twice).lower(split).compile()
    assert not pyptx.collectives(compiled)
    np.testing.assert_array_equal(compiled(split), wanted)
