"""`pyptx.torch.fused_matmul`: a function of registers in a product, against PyTorch in float64."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from test_fused import TOLERANCES, check, close

import pyptx.torch as ours
from pyptx import CallError, ptx


def capped(total, cap):
    return cap * ptx.math.tanh(total / cap)


def capped_by_torch(total, cap):
    return cap * torch.tanh(total / cap)


def scaled(total, row, column, other):
    return total * row * column + other


def gate_and_both(one, other):
    return one * ptx.math.sigmoid(one) * other, one


def gate_and_both_by_torch(one, other):
    return F.silu(one) * other, one


def scaled_twice(total):
    return total * 2.0, total * 3.0


def capped_once(total):
    return torch.tanh(total)


def made(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(shape) * scale).to(dtype).requires_grad_()


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("lead", [(7,), (2, 3), ()], ids=str)
def test_numbers_of_rows_columns_and_elements(lead, dtype):
    x, w = made(*lead, 24, dtype=dtype), made(24, 17, dtype=dtype, scale=0.2)
    row, column = made(*lead), made(17, dtype=torch.float16)
    other = made(*lead, 17, dtype=torch.bfloat16)
    run = partial(ours.fused_matmul, reference=scaled)
    found = run(x, w, scaled, rows=[row], columns=(column,), elements=(other,))
    wide = [each.double() for each in (x, w, row, column, other)]
    wanted = (wide[0] @ wide[1]) * wide[2][..., None] * wide[3] + wide[4]
    assert found.dtype is dtype
    check(found, wanted, [x, w, row, column, other], 5 * TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_two_matrices_and_a_further_result(dtype):
    x = made(9, 40, dtype=dtype)
    gate, up = (made(40, 24, dtype=dtype, scale=0.15) for _ in range(2))
    d, one = ours.fused_matmul(
        x, (gate, up), gate_and_both, further=[dtype], reference=gate_and_both_by_torch
    )
    wide = [each.double() for each in (x, gate, up)]
    sums = wide[0] @ wide[1], wide[0] @ wide[2]
    wanted = F.silu(sums[0]) * sums[1], sums[0]
    tensors = [x, gate, up]
    loss = (d.double() * 2).sum() + (one.double() * 3).sum()
    exact = (wanted[0] * 2).sum() + (wanted[1] * 3).sum()
    for found, right in zip((d, one), wanted, strict=True):
        assert found.dtype is dtype
        close(found, right, TOLERANCES[dtype])
    pairs = torch.autograd.grad(loss, tensors), torch.autograd.grad(exact, tensors)
    for found, right in zip(*pairs, strict=True):
        close(found, right, 16 * TOLERANCES[dtype])


def test_the_type_of_a_result_and_a_matrix_that_is_transposed():
    x, w = made(5, 16, dtype=torch.bfloat16), made(12, 16, dtype=torch.bfloat16)
    cap = torch.full((12,), 3.0)
    found = ours.fused_matmul(x, w.t(), capped, columns=(cap,), out_dtype=torch.float32)
    assert found.dtype is torch.float32
    close(found, 3 * torch.tanh(x.double() @ w.double().t() / 3), 1e-4)


def test_compiled_for_any_number_of_rows():
    w, cap = torch.randn(24, 16), torch.rand(16) + 1

    def program(x, w, cap):
        run = partial(ours.fused_matmul, columns=(cap,), reference=capped_by_torch)
        return run(x * 2, w, capped) + 1

    compiled = torch.compile(program, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (4, 9):
        x = torch.randn(rows, 24, requires_grad=True)
        wide = [each.double() for each in (x * 2, w, cap)]
        wanted = capped_by_torch(wide[0] @ wide[1], wide[2]) + 1
        check(compiled(x, w, cap), wanted, [x], 1e-3)


def test_second_derivatives():
    x, w = made(4, 8), made(8, 8)
    cap = made(8).detach().abs() + 1

    def of(product):
        (dx,) = torch.autograd.grad(product.square().sum(), x, create_graph=True)
        return torch.autograd.grad(dx.square().sum(), w)[0]

    mine = of(ours.fused_matmul(x, w, capped, columns=(cap,), reference=capped_by_torch))
    close(mine, of(capped_by_torch(x @ w, cap)), 1e-3)


def test_another_number_of_rows_makes_no_other_kernel():
    traced = []

    def halved(total):
        traced.append(1)
        return total * 0.5

    def run(rows):
        x = torch.randn(rows, 16)
        close(ours.fused_matmul(x, w, halved), 0.5 * (x.double() @ w.double()), 1e-4)
        return len(traced)

    w = torch.randn(16, 16)
    first = run(3)
    assert 0 < first == run(5) == run(8)


def test_what_is_refused():
    x, w = torch.randn(5, 8), torch.randn(8, 16)
    run = partial(refusal, ours.fused_matmul)
    half = lambda total: total * 0.5  # shown in no message
    assert run(x, w, None) == (
        "epilogue is None, and no function\n"
        "  help: fused_matmul(input, other, lambda total: total * 0.5)"
    )
    assert run(x, (w, w, w), half) == (
        "other is a tuple of 3\n  legal: one matrix, or two in a tuple"
    )
    assert run(x, (w, w[:, :8]), half) == (
        "the matrices of other have shapes (8, 16) and (8, 8); they have one"
    )
    assert run(x, w.t(), half) == (
        "input has shape (5, 8) and other (16, 8); input's last dimension is other's first\n"
        "  legal: (..., K) and (K, N)"
    )
    assert run(x, w, half, rows=torch.ones(5)) == (
        "rows is a Tensor; fused_matmul takes a tuple\n  help: rows=(rows,)"
    )
    assert run(x, w, half, columns=[torch.ones(5)]) == (
        "columns[0] has shape (5,) and must have (16,)"
    )
    assert run(x, w.half(), half) == (
        "input has elements of type float32 and other of float16; fused_matmul takes one type\n"
        "  help: other.to(input.dtype)"
    )


def test_gradients_without_a_reference_are_refused():
    x, w = made(5, 8), torch.randn(8, 16)
    found = ours.fused_matmul(x, w, capped, columns=(torch.ones(16),))
    with pytest.raises(CallError) as caught:
        found.sum().backward()
    line = capped.__code__.co_firstlineno
    assert str(caught.value) == (
        f"{__file__}:{line}: this epilogue has no gradient: fused_matmul was not given reference=\n"
        "    def capped(total, cap):\n"
        "  help: reference= is the same function on tensors"
    )


def test_a_reference_of_other_results_is_refused():
    x, w = made(5, 8), torch.randn(8, 16)
    found = ours.fused_matmul(x, w, scaled_twice, further=[torch.float32], reference=capped_once)
    with pytest.raises(CallError) as caught:
        found[0].sum().backward()
    line = capped_once.__code__.co_firstlineno
    assert str(caught.value) == (
        f"{__file__}:{line}: reference gives 1 of 2 results\n"
        "    def capped_once(total):\n"
        "  help: reference= is the same function on tensors"
    )
