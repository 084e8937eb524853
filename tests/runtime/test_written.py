"""What an output holds where no thread writes it: a finding, an initial value, on every runtime."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import Tile, kernel, ptx, reg, sequence  # noqa: E402
from pyptx.errors import EmulationError, SpecError  # noqa: E402
from pyptx.types import bf16, f32, f64, u8, u16, u32, u64  # noqa: E402

HELP = (
    "  help: a larger grid, or a wider guard, writes them; in out_specs, Tile(..., partial=True) "
    "leaves them unspecified\n"
    "        and Tile(..., init=0) gives every element that value before the kernel starts"
)
RUN_ERRORS = (jax.errors.JaxRuntimeError,)


@pytest.fixture(autouse=True)
def _on_cpu(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def here(text):
    """The first line of this file with a text: its place, and the line."""
    lines = Path(__file__).read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if text in line)
    return f"{__file__}:{number}", lines[number - 1].strip()


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


def cta():
    return reg.from_(ptx.special.ctaid.x(), u32)


# ---- the finding ---------------------------------------------------------------------------------


@kernel(in_specs=(Tile("B", 64, f32),), out_specs=(Tile("B", 64, f32),), grid=lambda B: B, block=32)
def first_half(A, C):
    a, c = ptx.global_ptrs(A, C)
    at = (cta() * 64 + ptx.inst.cvt.u64.u32(thread())) * 4
    ptx.inst.st.global_.f32(ptx.addr(c + at), ptx.inst.ld.global_.f32(ptx.addr(a + at)))


def test_a_compiled_program_says_it_too():
    x = np.ones((3, 64), np.float32)
    messages = []
    with pytest.raises(EmulationError) as caught:
        first_half(x)
    messages.append(str(caught.value))
    for call in (first_half, jax.jit(first_half)):
        with pytest.raises(RUN_ERRORS) as caught:
            jax.block_until_ready(call(jnp.asarray(x)))
        messages.append(str(caught.value).removeprefix("INTERNAL: "))
    place, line = here('@kernel(in_specs=(Tile("B", 64, f32),)')
    missing = "96 of 192 elements never written, first C[0, 32]"
    assert set(messages) == {
        f"kernel first_half: 1 finding\n{place}: C: {missing}\n    {line}\n{HELP}"
    }
    assert len(messages) == 3


def test_elements_of_a_batch_are_counted_together():
    with pytest.raises(
        RUN_ERRORS, match=r"C: 192 of 384 elements never written, first C\[0, 0, 32\]"
    ):
        jax.block_until_ready(jax.vmap(first_half)(jnp.ones((2, 3, 64), jnp.float32)))


def copy_of(*, rows=None, **options):
    """A kernel that copies the first `rows` rows of four columns."""

    @kernel(
        in_specs=(Tile("B", 4, f32),), out_specs=(Tile("B", 4, f32, **options),),
        grid=lambda B: B if rows is None else min(B, rows), block=4, parallel=("B",),
    )  # fmt: skip
    def copies(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = (cta() * 4 + ptx.inst.cvt.u64.u32(thread())) * 4
        ptx.inst.st.global_.f32(ptx.addr(y + at), ptx.inst.ld.global_.f32(ptx.addr(x + at)))

    return copies


WHOLE, TWO, TWO_OF_SOME = copy_of(), copy_of(rows=2), copy_of(rows=2, partial=True)
TWO_AND_SEVENS = copy_of(rows=2, init=7)
B4 = {"in_specs": (Tile("B", 4, f32),), "out_specs": (Tile("B", 4, f32),), "parallel": ("B",)}


def test_scratch_of_a_sequence_is_looked_at():
    def applied(first, second):
        @sequence(**B4)
        def twice(X):
            return second(first(X))

        return twice

    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    assert np.array_equal(applied(WHOLE, WHOLE)(x), x)
    for run in (lambda f: f(x), lambda f: jax.block_until_ready(jax.jit(f)(jnp.asarray(x)))):
        for wrong in (applied(TWO, WHOLE), applied(WHOLE, TWO)):
            with pytest.raises((EmulationError, *RUN_ERRORS)) as caught:
                run(wrong)
            assert "kernel copies: 1 finding" in str(caught.value)
            assert ": Y: 12 of 20 elements never written, first Y[2, 0]\n" in str(caught.value)
        assert np.array_equal(run(applied(TWO_OF_SOME, TWO_OF_SOME))[:2], x[:2])
        seven = np.concatenate([x[:2], np.full((3, 4), 7, np.float32)])
        assert np.array_equal(run(applied(TWO_AND_SEVENS, WHOLE)), seven)
        assert np.array_equal(run(applied(WHOLE, TWO_AND_SEVENS)), seven)


def test_the_branch_that_runs_is_looked_at():
    @sequence(**B4)
    def either(X):
        return pyptx.cond(lambda B: B <= 2, TWO, TWO_AND_SEVENS, X)

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    seven = np.concatenate([x[:2], np.full((1, 4), 7, np.float32)])
    for call in (either, lambda x: jax.jit(either)(jnp.asarray(x))):
        assert np.array_equal(call(x), seven)
        assert np.array_equal(call(x[:2]), x[:2])

    @sequence(**B4)
    def other(X):
        return pyptx.cond(lambda B: B > 2, TWO, TWO_AND_SEVENS, X)

    with pytest.raises(EmulationError, match="Y: 4 of 12 elements never written"):
        other(x)
    with pytest.raises(RUN_ERRORS, match="Y: 4 of 12 elements never written"):
        jax.block_until_ready(jax.jit(other)(jnp.asarray(x)))
    assert np.array_equal(other(x[:1]), x[:1])


def test_what_is_updated_in_place_may_keep_its_values():
    @kernel(
        in_specs=(Tile("B", 4, f32),), out_specs=(Tile("B", 4, f32),), grid=1, block=4,
        parallel=("B",), input_output_aliases={0: 0},
    )  # fmt: skip
    def first_row(X, Y):
        (y,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f32(ptx.addr(y + thread() * 4), 9.0)

    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    wanted = [[9, 9, 9, 9], [4, 5, 6, 7]]
    assert first_row(x).tolist() == jax.jit(first_row)(jnp.asarray(x)).tolist() == wanted

    @sequence(**B4)
    def in_steps(X):
        return first_row(WHOLE(X))

    assert in_steps(x).tolist() == jax.jit(in_steps)(jnp.asarray(x)).tolist() == wanted


# ---- initial values ------------------------------------------------------------------------------

VALUES = {
    "u8": (u8, 255), "u16": (u16, 258), "u32": (u32, 2**32 - 1), "f32": (f32, -1.5),
    "bf16": (bf16, 0.0078125), "-0": (f32, -0.0), "inf": (f32, float("inf")),
    "nan": (bf16, float("nan")), "u64": (u64, 0x0102030405060708), "f64": (f64, 1e-300),
    "repeated": (u64, 0x100000001),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_every_type_has_its_value(name):
    dtype, value = VALUES[name]

    @kernel(in_specs=(Tile("N", u8),), out_specs=(Tile("N", dtype, init=value),))
    def fills(X, Y):
        pass

    numpy = np.dtype(dtype.numpy)
    wanted = np.full(5, value, numpy)
    x = np.zeros(5, np.uint8)
    assert fills(x).tobytes() == wanted.tobytes()
    with jax.enable_x64(True):
        found = jax.jit(fills)(jnp.asarray(x))
        assert np.asarray(found).tobytes() == wanted.tobytes()


@kernel(
    in_specs=(Tile("B", 4, f32),), out_specs=(Tile(4, f32, sum_over="B", init=0),),
    grid=lambda B: B, block=4, parallel=("B",),
)  # fmt: skip
def column_sums(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    i = thread()
    at = (cta() * 4 + ptx.inst.cvt.u64.u32(i)) * 4
    value = ptx.inst.ld.global_.f32(ptx.addr(x + at))
    ptx.inst.red.global_.add.f32(ptx.addr(y + i * 4), value)


X = np.random.default_rng(0).integers(0, 100, (16, 4)).astype(np.float32)


def test_atomics_add_to_it():
    for call in (column_sums, lambda x: jax.jit(column_sums)(jnp.asarray(x))):
        for rows in (16, 1, 0):
            assert np.array_equal(call(X[:rows]), X[:rows].sum(0)), rows
    assert column_sums.emulate(X).report.message == ""


def test_each_element_of_a_batch_has_its_own():
    x = X.reshape(2, 8, 4)
    assert np.array_equal(jax.vmap(column_sums)(x), x.sum(1))
    nested = jax.jit(jax.vmap(jax.vmap(column_sums, in_axes=1), in_axes=1))
    assert np.array_equal(nested(X.reshape(4, 2, 2, 4)), X.reshape(4, 2, 2, 4).sum(0))


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_each_device_has_its_own(devices, kind):
    mesh = Mesh(np.reshape(devices, 8), ("d",), (kind,))
    x = jax.device_put(X, NamedSharding(mesh, P("d", None)))
    with jax.set_mesh(mesh):
        assert np.array_equal(jax.jit(column_sums)(x), X.sum(0))


def test_it_is_exported():
    (rows,) = jax.export.symbolic_shape("rows")
    exported = jax.export.export(
        jax.jit(column_sums), disabled_checks=pyptx.export_safety_checks()
    )(jax.ShapeDtypeStruct((rows, 4), np.float32))
    again = jax.export.deserialize(exported.serialize(vjp_order=0))
    for count in (1, 5):
        assert np.array_equal(again.call(X[:count]), X[:count].sum(0))


# ---- a grid without CTAs -------------------------------------------------------------------------


def totals(**options):
    @kernel(
        in_specs=(Tile("B", 4, f32),), out_specs=(Tile(4, f32, sum_over="B"), Tile("B", 4, f32)),
        grid=lambda B: 0 * B, block=4, parallel=("B",),
    )  # fmt: skip
    def nothing(X, Y, Z):
        pass

    return nothing


NOTHING = totals()


def test_an_empty_grid_leaves_no_output_unwritten():
    """Zeros in a sum; an error at the call for elements that would have no value."""
    for call in (NOTHING, lambda x: jax.jit(NOTHING)(jnp.asarray(x))):
        total, rows = call(X[:0])
        assert (total.tolist(), rows.shape) == ([0, 0, 0, 0], (0, 4))
    messages = []
    for array in (X, jnp.asarray(X)):
        with pytest.raises(SpecError) as caught:
            NOTHING(array)
        messages.append((str(caught.value), caught.value.location.line))
    for message, line in messages:
        assert message == (
            f"{__file__}:{line}: the grid (0, 1, 1) launches nothing, and output 1 of shape "
            "(16, 4) would never be written\n"
            "    NOTHING(array)\n"
            "  help: Tile(..., init=0) in out_specs gives every element that value"
        )


def test_an_empty_grid_of_a_program_with_symbolic_sizes():
    (rows,) = jax.export.symbolic_shape("rows")
    exported = jax.export.export(jax.jit(NOTHING), disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((rows, 4), np.float32)
    )
    with pytest.raises(RUN_ERRORS) as caught:
        jax.block_until_ready(exported.call(X))
    assert (
        "pyptx: kernel nothing: the grid (0, 1, 1) launches nothing, and output 1 of shape "
        "(16, 4) would never be written"
    ) in str(caught.value)


def test_an_empty_grid_leaves_initial_values():
    @kernel(
        in_specs=(Tile("B", 4, f32),), out_specs=(Tile(3, bf16, init=2), Tile(2, u8, partial=True)),
        grid=lambda B: B,
    )  # fmt: skip
    def fills(X, Y, Z):
        pass

    for call in (fills, lambda x: jax.jit(fills)(jnp.asarray(x))):
        filled, unspecified = call(X[:0])
        assert np.array_equal(filled, np.full(3, 2, ml_dtypes.bfloat16))
        assert unspecified.shape == (2,)


# ---- another process -----------------------------------------------------------------------------


def test_an_exported_program_names_the_output(copied, tmp_path):
    """Where the kernel's Python is not known, the finding has the name that the image has."""
    exported = jax.export.export(jax.jit(first_half), disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((3, 64), np.float32)
    )
    (tmp_path / "program").write_bytes(exported.serialize(vjp_order=0))
    printed = copied(
        """
        import pathlib, sys, jax, numpy as np, pyptx
        program = jax.export.deserialize(pathlib.Path(sys.argv[1]).read_bytes())
        try:
            jax.block_until_ready(program.call(np.ones((3, 64), np.float32)))
        except jax.errors.JaxRuntimeError as error:
            print(error)
        """,
        tmp_path / "program",
    )
    assert printed.removeprefix("INTERNAL: ").rstrip() == (
        f"kernel first_half: 1 finding\nC: 96 of 192 elements never written, first C[0, 32]\n{HELP}"
    )
