"""How a call is split over devices, against the definition, device by device."""

import itertools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

from pyptx._runtime.jax import stablehlo  # noqa: E402
from pyptx._runtime.jax.shardings import Sum, Tiling, assign  # noqa: E402

MESH = {"a": 2, "b": 3, "c": 2}
PLACES = np.stack(np.unravel_index(np.arange(12), tuple(MESH.values())), axis=1)


def tiling(*spec):
    """The sharding of a tensor whose axes are split over these axes of the mesh: "", "a", "ca"."""
    columns, parts = [], []
    for names in spec:
        column, count = np.zeros(12, np.int64), 1
        for name in names:
            column = column * MESH[name] + PLACES[:, list(MESH).index(name)]
            count *= MESH[name]
        columns.append(column)
        parts.append(count)
    return Tiling(tuple(parts), np.stack(columns, axis=1) if spec else PLACES[:, :0])


def split(*operands, results=(), **options):
    """The assignment for tensors given as (axes, shape, spec)."""
    given = (
        [(axes, shape, tiling(*spec)) for axes, shape, spec in tensors]
        for tensors in (operands, results)
    )
    return assign(*given, **options)


SPECS = ["", "a", "b", "c", "ab", "ba", "ac", "ca", "bc", "cba", "abc"]
# An axis of a mesh splits one axis of a tensor.
PAIRS = [(r, c) for r, c in itertools.product(SPECS, SPECS) if not set(r) & set(c)]


@pytest.mark.parametrize(("rows", "columns"), PAIRS)
def test_parts_and_sums(rows, columns):
    """Adding up what one device of each part computes gives the sum; every set has all parts."""
    shape = (24, 12)
    found = split((("B", "C"), shape, (rows, columns)))
    value = np.arange(shape[0] * shape[1]).reshape(shape)
    part_shape = found.tiling(("B", "C")).shape(shape)
    holders = found.tiling(("B", "C")).holders()
    parts = {}
    for place in np.ndindex(*holders.shape[:2]):
        begin = [p * n for p, n in zip(place, part_shape, strict=True)]
        for device in holders[place]:
            assert tuple(tiling(rows, columns).coordinates[device]) == place
            parts[device] = value[
                begin[0] : begin[0] + part_shape[0], begin[1] : begin[1] + part_shape[1]
            ]
    assert sorted(parts) == list(range(12))
    for factors, axis in (("B", 0), ("C", 1)):
        groups = found.sum_groups((factors,))
        assert sorted(groups.flat) == list(range(12))
        kept = found.tiling(("C" if factors == "B" else "B",)).holders()
        whole = value.sum(axis)
        step = len(whole) // kept.shape[0]
        for group in groups:
            (place,) = {int(np.argwhere(kept == device)[0][0]) for device in group}
            total = sum(parts[device].sum(axis) for device in group)
            np.testing.assert_array_equal(total, whole[place * step : (place + 1) * step])
    for group in found.sum_groups(("B", "C")):
        assert sum(parts[device].sum() for device in group) == value.sum()


def partial_products(found, terms):
    """What each device has of a sum over K of terms (K, M, N): its own part of all three."""
    whole = ("K", "M", "N")
    tiling = found.tiling(whole)
    step = tiling.shape(terms.shape)
    held = []
    for place in tiling.coordinates:
        own = tuple(slice(p * n, p * n + n) for p, n in zip(place, step, strict=True))
        held.append(terms[own].sum(0))
    return held


def add_up(added, held):
    """What the devices have after the collectives of a Sum."""
    for axis, groups in added.scatters:
        kept = list(held)
        assert sorted(groups.flat) == list(range(12))
        for group in groups:
            total = sum(held[device] for device in group)
            parts = np.split(total, len(group), axis)
            for device, part in zip(group, parts, strict=True):
                kept[device] = part
        held = kept
    kept = list(held)
    assert sorted(added.groups.flat) == list(range(12))
    for group in added.groups:
        for device in group:
            kept[device] = sum(held[other] for other in group)
    return kept


@pytest.mark.parametrize("of_k", ["", "a", "b", "ab", "ca", "abc"])
@pytest.mark.parametrize(("rows", "columns"), PAIRS)
def test_each_device_gets_its_part_of_a_sum(of_k, rows, columns):
    """Whatever K is split over and whatever parts of the result are wanted."""
    terms = np.arange(12 * 24 * 12).reshape(12, 24, 12)
    wanted = tiling(rows, columns)
    result = ("M", "N"), (24, 12), (rows, columns)
    found = split((("M", "K"), (24, 12), ("", of_k)), results=[result])
    added = found.added(("K",), ("M", "N"), (24, 12), wanted)
    held = add_up(added, partial_products(found, terms))
    step = added.tiling.shape((24, 12))
    for device, (place, part) in enumerate(zip(added.tiling.coordinates, held, strict=True)):
        own = tuple(slice(p * n, p * n + n) for p, n in zip(place, step, strict=True))
        np.testing.assert_array_equal(part, terms.sum(0)[own])
        # What it has contains what it is to have.
        for size, n, p, count, at in zip(
            (24, 12), step, place, wanted.parts, wanted.coordinates[device], strict=True
        ):
            assert p * n <= at * (size // count) < (p + 1) * n
    if len(of_k) == 1 and of_k in (rows, columns):
        assert len(added.scatters) == 1
        assert added.groups.shape[1] == 1
        assert wanted.gives(added.tiling)
    if not of_k:
        assert not added.is_sent


def test_sums_that_are_scattered():
    def added(of_k, rows, columns="", shape=(24, 12)):
        result = ("M", "N"), shape, (rows, columns)
        factor = ("M", "K"), (shape[0], 12), ("", of_k)
        found = split(factor, results=[result]).added(
            ("K",), ("M", "N"), shape, tiling(rows, columns)
        )
        return [axis for axis, _ in found.scatters], found.groups.shape[1], found.tiling.parts

    assert added("a", "a") == ([0], 1, (2, 1))
    assert added("a", "", "a") == ([1], 1, (1, 2))
    assert added("ab", "a") == ([0], 3, (2, 1)), "the other parts are added up after that"
    assert added("ab", "a", "b") == ([0, 1], 1, (2, 3))
    assert added("ab", "ba") == ([0], 1, (6, 1))
    assert added("a", "ba") == ([0], 1, (6, 1)), "rows are split over b first"
    assert added("a", "ab") == ([0], 1, (2, 1)), "XLA cuts these over b"
    assert added("a", "a", shape=(25, 12)) == ([], 2, (1, 1)), "25 rows do not make two parts"
    assert added("a", "b") == ([], 2, (3, 1))
    assert added("", "a") == ([], 1, (2, 1))


def test_the_first_tensor_that_splits_a_factor_decides():
    found = split((("B", 8), (24, 8), ("", "")), (("B",), (24,), ("b",)), (("B",), (24,), ("a",)))
    assert found.parts == {"B": 3}
    np.testing.assert_array_equal(found.coordinates["B"], PLACES[:, 1])


def test_a_result_decides_between_operands():
    a, b = (("M", "K"), (24, 12), ("a", "")), (("K", "N"), (12, 24), ("", "a"))
    shape = ("M", "N"), (24, 24)
    assert split(a, b).parts == {"M": 2}
    assert split(a, b, results=[(*shape, ("a", ""))]).parts == {"M": 2}
    assert split(a, b, results=[(*shape, ("", "a"))]).parts == {"N": 2}
    assert split(a, b, results=[(*shape, ("b", "c"))]).parts == {"M": 2, "N": 2}
    assert split(a, b, results=[(*shape, ("b", "a"))]).parts == {"N": 2, "M": 3}
    of_k, rows = (("M", "K"), (24, 12), ("", "a")), (("M",), (24,), ("a",))
    assert split(of_k, results=[(*shape, ("a", ""))]).parts == {"K": 2}, "a sum is scattered"
    given = {"results": [(*shape, ("a", ""))], "sums": ["K"]}
    assert split(of_k, rows, **given).parts == {"K": 2}, "few numbers do not decide"
    assert split(of_k, a, **given).parts == {"M": 2}


def test_what_a_tensor_needs_no_change_for():
    found = split((("B", 8), (24, 8), ("a", "")), (("B",), (24,), ("b",)))
    assert tiling("a", "").gives(found.tiling(("B", 8)))
    assert tiling("", "").gives(found.tiling((8, "C")))
    assert not tiling("b").gives(found.tiling(("B",)))
    assert not tiling("").gives(found.tiling(("B",))), "it has to be split"
    assert not tiling("a").gives(found.tiling((8,))), "it has to be whole"
    assert not tiling("ab").gives(found.tiling(("B",)))


def test_what_is_not_split():
    assert split(((8, "B"), (8, 24), ("a", ""))).parts == {}, "no factor"
    assert split((("B",), (25,), ("b",))).parts == {}, "25 rows do not make three parts"
    assert split((("B",), (24,), ("b",)), whole=("B",)).parts == {}
    # The second axis is split by what has split the first, in part or altogether.
    assert split((("B",), (24,), ("ab",)), (("C",), (24,), ("b",))).parts == {"B": 6}
    assert split((("B",), (24,), ("b",)), (("C",), (24,), ("ab",))).parts == {"B": 3, "C": 2}
    assert split((("B",), (24,), ("a",)), (("C",), (24,), ("ab",))).parts == {"B": 2}
    assert split((("B",), (24,), ("ab",)), (("C",), (24,), ("c",))).parts == {"B": 6, "C": 2}
    # A later tensor decides where an earlier one cannot be followed.
    assert split((("B",), (10,), ("b",)), (("B",), (10,), ("a",))).parts == {"B": 2}


def test_rules():
    rule = stablehlo.sharding_rule(
        [("B", 5), (5,), ("B", 5), (5,)], [(16, 5), (5,), (16, 5), (5,)], 2
    )
    assert rule == (
        "#sdy.op_sharding_rule<([i, j], [k])->([i, l], [m]) {i=16, j=5, k=5, l=5, m=5} "
        "need_replication={j, k, l, m}, custom>"
    )
    assert stablehlo.sharding_rule([("B",), ("B",)], [(4,), (4,)], 1) == (
        "#sdy.op_sharding_rule<([i])->([i]) {i=4}, custom>"
    )
    assert stablehlo.sharding_rule([("B",), ("B",)], [(4,), (4,)], 1, whole=("B",)) == (
        "#sdy.op_sharding_rule<([i])->([i]) {i=4} need_replication={i}, custom>"
    )
    many = stablehlo.sharding_rule([tuple(f"f{i}" for i in range(20)), ()], [(2,) * 20, ()], 1)
    assert "x, y, z, z_1, z_2]" in many


def test_rules_are_read_by_shardy():
    from jax.interpreters import mlir

    axes = [tuple(f"f{i}" for i in range(20)), ("f19", 3), (), ("f3",)]
    shapes = [(2,) * 20, (2, 3), (), (2,)]
    rule = stablehlo.sharding_rule(axes, shapes, 3, whole=("f3",))
    with mlir.make_ir_context():
        assert str(mlir.ir.Attribute.parse(rule)) == rule


def test_the_program_of_one_device():
    from jax.interpreters import mlir

    text = stablehlo.local_program(
        "handler",
        '{plan = "a;b"}',
        [("f32", (4, 8)), ("ui32", ())],
        [("f32", (4, 8)), ("bf16", (8,))],
        scratch=[("f32", (4,))],
        aliases=[(0, 0)],
        sums=[
            Sum(((1, np.array([[1, 0], [3, 2]])),), np.array([[0, 2], [1, 3]]), tiling()),
            Sum((), np.array([[0, 2], [1, 3]]), tiling()),
        ],
        elements=["bf16", "bf16"],
    )
    with mlir.make_ir_context():
        module = mlir.ir.Module.parse(text)
        assert module.operation.verify()
        printed = str(module)
    assert "@handler(%arg0, %arg1)" in printed
    assert printed.count("all_reduce") == 2
    assert printed.count("reduce_scatter") == 1
    assert printed.count("dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>") == 2
    assert "dense<[[1, 0], [3, 2]]> : tensor<2x2xi64>" in printed
    assert "scatter_dimension = 1" in printed
    assert [f"handle = {i}," in printed for i in (1, 2, 3, 4)] == [True] * 3 + [False]
    assert "output_tuple_indices = [0], operand_index = 0" in printed
    assert "(tensor<4x4xf32>) -> tensor<4x4xbf16>" in printed
    assert "-> (tensor<4x4xbf16>, tensor<8xbf16>)" in printed
