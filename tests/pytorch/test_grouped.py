"""`pyptx.torch.grouped_mm` against products of each group in float64."""

import pytest
import torch
from refusals import refusal
from torch.autograd import gradcheck, gradgradcheck

import pyptx.torch as ours

TOLERANCES = {torch.bfloat16: 2e-2, torch.float16: 3e-3, torch.float32: 1e-4}
LENGTHS = [[3, 0, 5, 1], [9], [0, 0], [130, 7], [1, 1, 1, 1, 1]]


def made(dtype, *shape):
    return torch.randn(*shape).to(dtype).requires_grad_()


def ends(lengths):
    return torch.cumsum(torch.tensor(lengths), 0).to(torch.int32)


def of_rows(a, b, lengths):
    parts = torch.split(a[: sum(lengths)].double(), lengths)
    found = [part @ one.double() for part, one in zip(parts, b, strict=True)]
    rest = a.new_zeros((a.shape[0] - sum(lengths), b.shape[-1]), dtype=torch.float64)
    return torch.cat([*found, rest])


def along_k(a, b, lengths):
    pairs = zip(torch.split(a, [*lengths], 1), torch.split(b, [*lengths]), strict=True)
    return torch.stack([one.double() @ other.double() for one, other in pairs])


def check(found, wanted, tensors, tolerance):
    close = torch.testing.assert_close
    scale = max(1.0, float(wanted.detach().abs().max()))
    close(found.double(), wanted, rtol=0, atol=tolerance * scale)
    g = torch.randn_like(found)
    pairs = torch.autograd.grad(found, tensors, g), torch.autograd.grad(wanted, tensors, g.double())
    for one, other, tensor in zip(*pairs, tensors, strict=True):
        assert one.dtype is tensor.dtype
        largest = float(other.abs().max()) if other.numel() else 0.0
        close(one, other, rtol=0, atol=2 * tolerance * max(1.0, largest))


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_groups_of_rows(transposed, lengths, dtype):
    a = made(dtype, sum(lengths) + 2, 24)
    b = made(dtype, len(lengths), 17, 24) if transposed else made(dtype, len(lengths), 24, 17)
    one = b.mT if transposed else b
    found = ours.grouped_mm(a, one, offs=ends(lengths))
    assert found.dtype is dtype
    check(found, of_rows(a, one, lengths), [a, b], TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_groups_along_k(transposed, lengths, dtype):
    k = sum(lengths)
    a = made(dtype, k, 9) if transposed else made(dtype, 9, k)
    b = made(dtype, k, 20)
    one = a.t() if transposed else a
    found = ours.grouped_mm(one, b, offs=ends(lengths), out_dtype=torch.float32)
    check(found, along_k(one, b, lengths), [a, b], TOLERANCES[dtype])


def test_compiled_and_under_autocast():
    b, lengths = torch.randn(3, 16, 24), [2, 4, 1]
    compiled = torch.compile(ours.grouped_mm, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (7, 12):
        a = torch.randn(rows, 16, requires_grad=True)
        offs = ends(lengths)
        check(compiled(a, b, offs=offs), of_rows(a, b, lengths), [a], 1e-4)
    with torch.autocast("cpu", torch.bfloat16):
        assert ours.grouped_mm(a, b, offs=offs).dtype is torch.bfloat16


def test_derivatives_of_both_orders():
    offs = ends([2, 0, 3])
    tolerance = {"eps": 1e-1, "atol": 1e-3, "rtol": 1e-3}  # it is linear in each
    for shapes in (((5, 4), (3, 4, 2)), ((4, 5), (5, 2))):
        a, b = (torch.randn(shape, requires_grad=True) for shape in shapes)
        assert gradcheck(lambda a, b: ours.grouped_mm(a, b, offs=offs), [a, b], **tolerance)
        assert gradgradcheck(lambda a, b: ours.grouped_mm(a, b, offs=offs), [a, b], **tolerance)


def test_what_is_refused():
    a, b, offs = torch.randn(5, 8), torch.randn(3, 8, 16), ends([2, 2, 1])
    assert refusal(ours.grouped_mm, a, b.mT, offs=offs) == (
        "mat_a has shape (5, 8) and mat_b (3, 16, 8)\n"
        "  legal: (M, K) and (G, K, N), or (M, K) and (K, N) for groups along K\n"
        "  help: pyptx.torch.matmul multiplies two batches of matrices"
    )
    assert refusal(ours.grouped_mm, a, b.half(), offs=offs) == (
        "mat_a has elements of type float32 and mat_b of float16; grouped_mm takes one type\n"
        "  help: mat_b.to(mat_a.dtype)"
    )
    assert refusal(ours.grouped_mm, a, b) == (
        "offs is NoneType, and must be a vector of int32\n"
        "  help: offs = torch.cumsum(lengths, 0, dtype=torch.int32)"
    )
    assert refusal(ours.grouped_mm, a, b, offs=offs.long()) == (
        "offs is int64 of shape (3,), and must be a vector of int32\n"
        "  help: offs = torch.cumsum(lengths, 0, dtype=torch.int32)"
    )
    assert refusal(ours.grouped_mm, a, b, offs=offs[:2]) == (
        "offs has 2 elements, and mat_b 3 matrices\n  legal: an end for each matrix"
    )
    assert refusal(ours.grouped_mm, a, b, offs=offs, bias=torch.ones(16)) == (
        "bias is given, and grouped_mm adds none\n  help: grouped_mm(...) + bias[group_of_each_row]"
    )
    many = torch.arange(1, 2050, dtype=torch.int32)
    assert refusal(ours.grouped_mm, a.t(), torch.randn(5, 2), offs=many) == (
        "offs has 2049 groups, and grouped_mm takes 2048"
    )
