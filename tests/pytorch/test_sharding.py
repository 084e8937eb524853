"""Tensors split over two processes: nothing is exchanged that the kernels do not need."""

import pytest
import torch
import two_processes
from two_processes import COUNT


def kernels(rank):
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode
    from torch_kernels import product, scale, total, twice

    import pyptx

    mesh = two_processes.mesh()
    x, w = torch.randn(5, 200), torch.randn(200)
    rows = distribute_tensor(x, mesh, [Shard(0)])
    weight = distribute_tensor(w, mesh, [Replicate()])
    for operation, wanted in ((product, x * w), (twice, x * w * w)):
        with CommDebugMode() as seen:
            found = operation(rows, weight)
        assert seen.get_total_counts() == 0
        assert found.placements == (Shard(0),)
        assert found.shape == (5, 200)
        assert torch.equal(found.full_tensor(), wanted)
    few = distribute_tensor(x[:, :32].contiguous(), mesh, [Shard(0)])
    with CommDebugMode() as seen:
        sums = total(few)
    assert seen.get_total_counts() == 0
    assert sums.placements == (Partial(),)
    torch.testing.assert_close(sums.full_tensor(), x[:, :32].sum(0))
    whole = distribute_tensor(x, mesh, [Replicate()])
    assert product(whole, weight).placements == (Replicate(),)

    def refused(call, *tensors):
        with pytest.raises(pyptx.CallError) as raised:
            call(*tensors)
        return str(raised.value)

    columns = distribute_tensor(x, mesh, [Shard(1)])
    said = refused(product, columns, weight)
    assert "dimension 1 of X is sharded over 'rows', and kernel product needs it whole" in said
    assert "X is a DTensor and W a torch.Tensor" in refused(product, rows, w)
    assert "dimension 0 of X is sharded over 'rows'" in refused(scale, rows, 2.0)


def gradients(rank):
    import torch.nn.functional as F
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    import pyptx.torch as ours

    mesh = two_processes.mesh()
    for dtype in (torch.float32, torch.bfloat16):
        x, w = torch.randn(6, 40, dtype=dtype), torch.randn(40, dtype=dtype)
        g = torch.randn(6, 40, dtype=dtype)
        one = [t.clone().double().requires_grad_() for t in (x, w)]
        F.rms_norm(one[0], (40,), one[1], 1e-5).backward(g.double())
        rows = distribute_tensor(x, mesh, [Shard(0)]).requires_grad_()
        weight = distribute_tensor(w, mesh, [Replicate()]).requires_grad_()
        y = ours.rms_norm(rows, (40,), weight, 1e-5)
        y.backward(distribute_tensor(g, mesh, [Shard(0)]))
        tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype is torch.bfloat16 else {}
        torch.testing.assert_close(rows.grad.full_tensor(), one[0].grad.to(dtype), **tolerance)
        torch.testing.assert_close(weight.grad.full_tensor(), one[1].grad.to(dtype), **tolerance)
    x = torch.randn(4, 8, 32)
    split = distribute_tensor(x, mesh, [Shard(1)])
    for found, wanted in (
        (ours.softmax(split, -1), F.softmax(x, -1)),
        (ours.layer_norm(split, (32,)), F.layer_norm(x, (32,))),
        (ours.rms_norm(split, (32,)), F.rms_norm(x, (32,))),
        (ours.swiglu(split, split), F.silu(x) * x),
    ):
        assert found.placements == (Shard(1),)
        torch.testing.assert_close(found.full_tensor(), wanted)


def operations(rank):
    import torch.nn.functional as F
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    import pyptx.torch as ours

    mesh = two_processes.mesh()

    def rows(tensor):
        return distribute_tensor(tensor, mesh, [Shard(0)])

    def whole(tensor):
        return distribute_tensor(tensor, mesh, [Replicate()])

    x, r, w = torch.randn(6, 40), torch.randn(6, 40), torch.randn(40)
    labels, b = torch.randint(0, 40, (6,)), torch.randn(40, 16)
    q, positions = torch.randn(6, 2, 16), torch.arange(6)
    split = [rows(each) for each in (x, r, labels, q, positions)]
    scale, factor = whole(w), whole(b)
    with CommDebugMode() as seen:
        found = [
            ours.cross_entropy(split[0], split[2], reduction="none"),
            *ours.add_rms_norm(split[0], split[1], (40,), scale, 1e-5),
            *ours.rope(split[3], split[3], split[4]),
            *ours.top_k(split[0], 3),
            ours.matmul(split[0], factor),
            ours.softmax(split[0], -1, scale=0.5),
            *ours.quantize(split[0], torch.int8, scale=0.1),
            *ours.rms_norm_quantized(split[0], 40, scale, torch.int8, 1e-5),
        ]
    assert seen.get_total_counts() == 0
    turned = ours.rope(q, q, positions)
    wanted = [
        F.cross_entropy(x, labels, reduction="none"),
        F.rms_norm(x + r, (40,), w, 1e-5), x + r,
        *turned, *torch.topk(x, 3), x @ b, F.softmax(0.5 * x, -1),
        *ours.quantize(x, torch.int8, scale=0.1),
        *ours.rms_norm_quantized(x, 40, w, torch.int8, 1e-5),
    ]  # fmt: skip
    for one, other in zip(found, wanted, strict=True):
        assert one.placements == (Shard(0),)
        torch.testing.assert_close(one.full_tensor(), other, rtol=1e-4, atol=1e-4)
    # A gradient of what all have is a sum over the processes.
    leaf = whole(b).requires_grad_()
    g = torch.randn(6, 16)
    ours.matmul(split[0], leaf).backward(rows(g))
    torch.testing.assert_close(leaf.grad.full_tensor(), x.t() @ g, rtol=1e-4, atol=1e-4)


def dropout(rank):
    """Rows have masks of their own in each process, and the gradient has those of the result."""
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    import pyptx.torch as ours

    mesh = two_processes.mesh()
    x, r = torch.randn(2 * COUNT, 640), torch.randn(2 * COUNT, 640)
    split, other = (distribute_tensor(each, mesh, [Shard(0)]) for each in (x, r))
    split.requires_grad_()
    torch.manual_seed(rank)  # PyTorch numbers the random bits of a DTensor on GPUs only
    with CommDebugMode() as seen:
        y, s = ours.add_rms_norm(split, other, (640,), eps=1e-5, dropout_p=0.5)
        (dx,) = torch.autograd.grad(s.sum().to_local(), split)
    assert seen.get_total_counts() == 0
    assert (y.placements, s.placements, dx.placements) == ((Shard(0),),) * 3
    keeps, total = dx.full_tensor() != 0, s.full_tensor()
    torch.testing.assert_close(total, torch.where(keeps, 2 * x, 0) + r)
    rows = {tuple(row) for row in keeps.tolist()}
    assert len(rows) == 2 * COUNT
    assert 0.4 < keeps.double().mean() < 0.6


@pytest.mark.parametrize("test", [kernels, gradients, operations, dropout])
def test_two_processes(test):
    two_processes.run(test)
