"""Kernels for Triton to compile: a softmax, a matrix product with a pipeline, atomic sums."""

# pyright: basic
import triton
import triton.language as tl


@triton.jit
def softmax(out, given, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(given + row * stride + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def product(a, b, c, k, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, STEP)
    left = a + rows[:, None] * k + inner[None, :]
    right = b + columns[None, :] * k + inner[:, None]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for _ in range(0, k, STEP):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += STEP
        right += STEP
    tl.store(c + rows[:, None] * k + columns[None, :], total.to(tl.float16))


@triton.jit
def histogram(given, counts, sums, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(given + at, mask=mask, other=0)
    tl.atomic_add(counts + (x & 63), 1, mask=mask)
    tl.atomic_max(counts + 64, tl.max(x, axis=0))
    tl.atomic_add(sums + tl.program_id(0), tl.sum(x.to(tl.float32), axis=0))


KERNELS = {
    softmax: (
        {"out": "*fp32", "given": "*fp32", "stride": "i32", "columns": "i32"},
        {"BLOCK": 512},
    ),
    product: ({"a": "*fp16", "b": "*fp16", "c": "*fp16", "k": "i32"}, {"BLOCK": 64, "STEP": 32}),
    histogram: ({"given": "*i32", "counts": "*i32", "sums": "*fp32", "n": "i32"}, {"BLOCK": 256}),
}
"""Each with the types of its arguments and its constants."""
