"""Losses, products and models whose tensors are split over two processes."""

import copy
from functools import partial

import pytest
import torch
import two_processes
from two_processes import COUNT


def vocabulary(rank):
    """The classes of a loss are split: one all-reduce, and none for the gradient."""
    import torch.nn.functional as F
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    import pyptx.torch as ours

    mesh = two_processes.mesh()
    for shape in ((6, 40), (6, 41), (3, 10, 4), (40,)):
        classes = shape[min(1, len(shape) - 1)]
        x = torch.randn(shape, dtype=torch.float64)
        labels = torch.randint(0, classes, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())
        labels = torch.where(torch.arange(labels.numel()).view(labels.shape) == 1, -100, labels)
        weight = torch.rand(classes, dtype=torch.float64)
        target = distribute_tensor(labels, mesh, [Replicate()])
        for options in ({}, {"reduction": "none"}, {"label_smoothing": 0.1}, {"weight": weight}):
            given = {
                name: distribute_tensor(each, mesh, [Replicate()]) if name == "weight" else each
                for name, each in options.items()
            }
            split = distribute_tensor(x, mesh, [Shard(min(1, x.ndim - 1))]).requires_grad_()
            with CommDebugMode() as seen:
                loss = ours.cross_entropy(split, target, **given)
                loss.sum().backward()
            if classes % COUNT == 0:  # PyTorch 2.11 gathers gradients of uneven parts
                assert seen.get_total_counts() == 1
                assert split.grad.placements == split.placements
            assert loss.placements == (Replicate(),)
            leaf = x.clone().requires_grad_()
            wanted = F.cross_entropy(leaf, labels, **options)
            wanted.sum().backward()
            torch.testing.assert_close(loss.full_tensor(), wanted)
            torch.testing.assert_close(split.grad.full_tensor(), leaf.grad)
    _vocabulary_beyond_numbers(mesh)
    _vocabulary_refusals(mesh)


def _vocabulary_beyond_numbers(mesh):
    """Ignored rows of NaN, columns that one process has none of, no class, and second order."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    import pyptx.torch as ours

    x = torch.randn(5, 8, dtype=torch.float64)
    x[0, 1], x[1, 7], x[2, :4] = torch.nan, torch.inf, -torch.inf
    labels = torch.tensor([-100, -100, 6, 9, 0])
    found: list[list[torch.Tensor]] = [[], []]
    for results, placed in zip(found, (False, True), strict=True):
        leaf, target = x.clone(), labels
        if placed:
            leaf = distribute_tensor(leaf, mesh, [Shard(1)])
            target = distribute_tensor(labels, mesh, [Replicate()])
        leaf.requires_grad_()
        loss = ours.cross_entropy(leaf, target, reduction="none", z_loss=0.1)
        (first,) = torch.autograd.grad(loss.sum(), leaf, create_graph=True)
        results.extend((loss, first))
        if not torch.__version__.startswith("2.11."):  # which has no derivative of to_local's
            results.extend(torch.autograd.grad(first[4:].sin().sum(), leaf))
    for i, (one, other) in enumerate(zip(*found, strict=True)):
        rows = slice(5) if i < 2 else slice(4, 5)
        torch.testing.assert_close(other.full_tensor()[rows], one[rows], equal_nan=True)
        assert not torch.isnan(one[4]).any()


def _vocabulary_refusals(mesh):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    import pyptx
    import pyptx.torch as ours

    x, labels = torch.randn(4, 8), torch.zeros(4, dtype=torch.int64)
    split = distribute_tensor(x, mesh, [Shard(1)])
    target = distribute_tensor(labels, mesh, [Replicate()])
    few = distribute_tensor(x[:, :1].contiguous(), mesh, [Shard(1)])
    for given, message, way in (
        (
            (split, labels),
            "input is a DTensor and target a torch.Tensor",
            "distribute_tensor(target, input.device_mesh)",
        ),
        (
            (split, split),
            "the classes of input are sharded, and target has probabilities",
            "input.redistribute(placements=[Replicate()])",
        ),
        (
            (split, target, torch.ones(8), None, -100, None, "mean", 0.1),
            "the classes of input are sharded, and weight is given with label_smoothing",
            "input.redistribute(placements=[Replicate()])",
        ),
        (
            (few, target),
            "input has 1 classes, split over 2 processes, of which some have none",
            "input.redistribute(placements=[Replicate()])",
        ),
    ):
        with pytest.raises(pyptx.CallError) as raised:
            ours.cross_entropy(*given)
        first, _, last = str(raised.value).splitlines()
        assert first.partition(": ")[2] == message
        assert last == f"  help: {way}"


def products(rank):
    """Parts whose rows are no multiple of 16 bytes, of every dimension that may be split."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    import pyptx.torch as ours

    mesh = two_processes.mesh()
    rows, columns, whole = Shard(0), Shard(1), Replicate()
    a, b, g = torch.randn(5, 7), torch.randn(7, 6), torch.randn(5, 6)
    close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)
    for of_a, of_b in ((rows, whole), (whole, columns), (columns, rows), (columns, whole)):
        for operation in (ours.matmul, lambda a, b: ours.linear(a, b.t())):
            x = distribute_tensor(a, mesh, [of_a]).requires_grad_()
            y = distribute_tensor(b, mesh, [of_b]).requires_grad_()
            with CommDebugMode() as seen:
                found = operation(x, y)
            assert seen.get_total_counts() == 0
            close(found.full_tensor(), a @ b)
            placed = [whole if found.placements[0].is_partial() else found.placements[0]]
            found.backward(distribute_tensor(g, mesh, placed))
            close(x.grad.full_tensor(), g @ b.t())
            close(y.grad.full_tensor(), a.t() @ g)
    narrow = [
        distribute_tensor(each.bfloat16(), mesh, [at]) for each, at in ((a, columns), (b, rows))
    ]
    found = ours.matmul(*narrow)  # whose sums are rounded when they are added up
    assert found.placements == (whole,)
    exact = (a.bfloat16().double() @ b.bfloat16().double()).bfloat16()
    torch.testing.assert_close(found.full_tensor(), exact)
    ends = torch.tensor([2, 2, 4], dtype=torch.int32)
    x = distribute_tensor(a, mesh, [whole]).requires_grad_()
    y = distribute_tensor(torch.stack([b, b, 2 * b]), mesh, [Shard(2)]).requires_grad_()
    found = ours.grouped_mm(x, y, offs=distribute_tensor(ends, mesh, [whole]))
    assert found.placements == (columns,)
    scale = torch.tensor([1.0, 1.0, 2.0, 2.0, 0.0])[:, None]
    close(found.full_tensor(), scale * (a @ b))
    found.backward(distribute_tensor(g, mesh, [columns]))
    close(x.grad.full_tensor(), scale * (g @ b.t()))
    close(y.grad.full_tensor()[2], a[2:4].t() @ g[2:4])


def sums(rank):
    """Parts of sums are f32 until they are added up, by a reduce-scatter if that is asked for."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    import pyptx.torch as ours

    mesh = two_processes.mesh()
    rows, columns, whole = Shard(0), Shard(1), Replicate()
    # Both parts are beyond what bfloat16 keeps of them, and their sum is not.
    a = torch.cat([torch.ones(8, 32), -torch.ones(8, 32)], 1).bfloat16()
    b = (64 + torch.randn(64, 6)).bfloat16()
    exact = a.double() @ b.double()
    parts = [(a[:, k : k + 32].float() @ b[k : k + 32].float()).bfloat16() for k in (0, 32)]
    assert (parts[0].double() + parts[1].double() - exact).abs().max() > 0.1 * exact.abs().max()
    x, y = distribute_tensor(a, mesh, [columns]), distribute_tensor(b, mesh, [rows])

    def sent(seen):
        return {
            str(name).rpartition(".")[2]: count for name, count in seen.get_comm_counts().items()
        }

    for operation in (ours.matmul, lambda a, b, **o: ours.linear(a, b.t(), **o)):
        with CommDebugMode() as seen:
            found = operation(x, y)
        assert sent(seen) == {"all_reduce": 1}
        assert found.placements == (whole,)
        torch.testing.assert_close(found.full_tensor(), exact.bfloat16())
        with CommDebugMode() as seen:
            found = operation(x, y, out_dtype=torch.float32)
            assert found.placements[0].is_partial()
            found = found.redistribute(placements=[rows]).bfloat16()
        assert sent(seen) == {"reduce_scatter_tensor": 1}
        assert (found.placements, found.dtype) == ((rows,), torch.bfloat16)
        torch.testing.assert_close(found.full_tensor(), exact.bfloat16())
    # So is the gradient of a weight that all have.
    weight = distribute_tensor(b[:, :4].clone(), mesh, [whole]).requires_grad_()
    x, g = torch.randn(8, 64).bfloat16(), torch.randn(8, 4).bfloat16()
    split, of_rows = (distribute_tensor(each, mesh, [rows]) for each in (x, g))
    found = ours.matmul(split, weight)
    with CommDebugMode() as seen:
        found.backward(of_rows)
    assert sent(seen) == {"all_reduce": 1}
    torch.testing.assert_close(weight.grad.full_tensor(), (x.double().t() @ g.double()).bfloat16())


def sequences(rank):
    """Sequences of (batch, sequence, K) that are split are not gathered, nor are gradients."""
    import torch.nn.functional as F
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    import pyptx.torch as ours

    mesh = two_processes.mesh()

    def layer(f):
        return lambda x, v, w, b, r: f(x, v, b, activation="gelu", residual=r)

    def layer_of_torch(x, v, w, b, r):
        return F.gelu(F.linear(x, v, b)) + r

    operations = (
        (lambda x, v, w, b, r: ours.matmul(x, v.t()), lambda x, v, w, b, r: x @ v.t()),
        (layer(ours.linear), layer_of_torch),
        (
            lambda x, v, w, b, r: ours.gated_matmul(x, v.t(), w.t()),
            lambda x, v, w, b, r: F.silu(x @ v.t()) * (x @ w.t()),
        ),
    )
    close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)
    for length in (4, 5):
        split, whole = Shard(1), Replicate()
        shapes = (2, length, 16), (12, 16), (12, 16), (12,), (2, length, 12)
        given, g = [torch.randn(shape) for shape in shapes], torch.randn(2, length, 12)
        for ours_of, theirs in operations:
            placed = [
                distribute_tensor(each, mesh, [at]).requires_grad_()
                for each, at in zip(given, (split, whole, whole, whole, split), strict=True)
            ]
            leaves = [each.clone().requires_grad_() for each in given]
            of_result = distribute_tensor(g, mesh, [split])
            with CommDebugMode() as seen:
                found = ours_of(*placed)
                if length % COUNT == 0:
                    found.backward(of_result)
            if length % COUNT == 0:
                assert seen.get_total_counts() == 0
                assert found.placements == (split,)
            else:  # uneven parts are gathered
                found.backward(of_result)
            wanted = theirs(*leaves)
            wanted.backward(g)
            close(found.full_tensor(), wanted)
            for one, other in zip(placed, leaves, strict=True):
                assert (one.grad is None) == (other.grad is None)
                if one.grad is not None:
                    close(one.grad.full_tensor(), other.grad)
    # A residual that is placed otherwise is placed as the sequence first.
    x, residual = (distribute_tensor(torch.ones(2, 4, 16), mesh, [at]) for at in (split, whole))
    weight = distribute_tensor(torch.eye(16), mesh, [whole])
    found = ours.linear(x, weight, residual=residual)
    assert found.placements == (split,)
    close(found.full_tensor(), torch.full((2, 4, 16), 2.0))
    # So is one that is split where the input is not: its rows would be in another order.
    x, r = torch.randn(2, 4, 16), torch.randn(2, 4, 16)
    residual = distribute_tensor(r, mesh, [split])
    for at in (whole, Shard(0)):
        found = ours.linear(distribute_tensor(x, mesh, [at]), weight, residual=residual)
        close(found.full_tensor(), x + r)


def gathers(rank):
    """Dimensions that are split so that processes cannot flatten their own parts are gathered."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    import pyptx.torch as ours

    mesh, whole = two_processes.mesh(), Replicate()
    close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)

    def half(total):
        return total * 0.5

    operations = (
        (ours.matmul, torch.matmul),
        (lambda x, w: ours.linear(x, w.mT), torch.matmul),
        (lambda x, w: ours.tensordot(x, w, 1), torch.matmul),
        (lambda x, w: ours.fused_matmul(x, w, half, reference=half), lambda x, w: half(x @ w)),
    )
    for lead, axis in (((3, 4), 0), ((2, 5), 1), ((1, 5), 0), ((2, 3, 4), 1)):
        split = Shard(axis)
        x, g = torch.randn(*lead, 16), torch.randn(*lead, 12)
        shared, own = torch.randn(16, 12), torch.randn(*lead, 16, 12)
        given = [(*pair, x, shared, whole, g) for pair in operations]
        many, of_many = torch.randn(*lead, 6, 16), torch.randn(*lead, 6, 12)
        given.append((ours.matmul, torch.matmul, many, own, split, of_many))
        for ours_of, theirs, a, b, of_b, gradient in given:
            one = distribute_tensor(a, mesh, [split]).requires_grad_()
            other = distribute_tensor(b, mesh, [of_b]).requires_grad_()
            leaves = [each.clone().requires_grad_() for each in (a, b)]
            found, wanted = ours_of(one, other), theirs(*leaves)
            close(found.full_tensor(), wanted)
            found.backward(distribute_tensor(gradient, mesh, [split]))
            wanted.backward(gradient)
            for each, leaf in zip((one, other), leaves, strict=True):
                close(each.grad.full_tensor(), leaf.grad)
            assert one.grad.placements == (split,)
    x = distribute_tensor(torch.ones(3, 4, 16), mesh, [whole])
    weight = distribute_tensor(torch.eye(16), mesh, [whole]).requires_grad_()
    found = ours.matmul(x, weight)
    x.add_(1)  # which is seen through the shape that a product gives it
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.sum().backward()


def addresses(rank):
    """Parts that begin between vectors, or whose elements are not one after the other."""
    import torch.nn.functional as F
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    import pyptx.torch as ours

    mesh = two_processes.mesh()
    for offset in (0, 1, 3):
        x = torch.randn(6 * 24 + 3)[offset : offset + 6 * 24].view(6, 24)
        split = DTensor.from_local(x[rank * 3 : rank * 3 + 3], mesh, [Shard(0)])
        for found, wanted in (
            (ours.rms_norm(split, (24,), eps=1e-5), F.rms_norm(x, (24,), eps=1e-5)),
            (ours.silu(split), F.silu(x)),
            (ours.swiglu(split), F.silu(x[:, :12]) * x[:, 12:]),
            (ours.matmul(split, distribute_tensor(x.t(), mesh, [Replicate()])), x @ x.t()),
        ):
            torch.testing.assert_close(found.full_tensor(), wanted, rtol=1e-4, atol=1e-4)
    x = torch.randn(6, 8, 32)
    whole, split = (distribute_tensor(x, mesh, [at]) for at in (Replicate(), Shard(1)))
    for first, second in ((whole, split), (split, whole)):
        found = ours.swiglu(first, second)
        assert found.placements == (Shard(1),)
        torch.testing.assert_close(found.full_tensor(), F.silu(x) * x)
    turned = DTensor.from_local(torch.randn(3, 32, 8).transpose(1, 2), mesh, [Shard(0)])
    torch.testing.assert_close(ours.silu(turned).to_local(), F.silu(turned.to_local()))


def models(rank):
    """Modules in a model that is parallel over tensors, and in one whose parameters are split."""
    import torch.nn.functional as F
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    import pyptx.torch as ours

    mesh = two_processes.mesh()
    model = torch.nn.Sequential(ours.RMSNorm(16), ours.LayerNorm(16), torch.nn.Linear(16, 20))
    x, labels = torch.randn(2, 4, 16), torch.randint(0, 20, (8,))
    wanted = model(x)
    loss = F.cross_entropy(wanted.flatten(0, 1), labels)
    gradients = torch.autograd.grad(loss, [*model.parameters()])
    last = ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)
    plan = {"0": SequenceParallel(), "1": SequenceParallel(), "2": last}
    parallel = parallelize_module(copy.deepcopy(model), mesh, plan)
    found = parallel(DTensor.from_local(x[:, 2 * rank : 2 * rank + 2], mesh, [Shard(1)]))
    target = distribute_tensor(labels, mesh, [Replicate()])
    total = ours.cross_entropy(found.flatten(0, 1), target)
    torch.testing.assert_close(total.full_tensor(), loss)
    total.backward()
    for one, other in zip(parallel.parameters(), gradients, strict=True):
        torch.testing.assert_close(one.grad.full_tensor(), other, rtol=1e-4, atol=1e-5)
    fully_shard(model, mesh=mesh)
    found = model(x)
    torch.testing.assert_close(found, wanted)
    F.cross_entropy(found.flatten(0, 1), labels).backward()
    for one, other in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(one.grad.full_tensor(), other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "test", [vocabulary, products, sums, sequences, gathers, addresses, models]
)
def test_two_processes(test):
    two_processes.run(test)
