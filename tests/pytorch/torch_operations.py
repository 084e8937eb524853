"""The operations of `pyptx.torch` with PyTorch's own next to them, here and on a GPU."""

import torch
import torch.nn.functional as F

import pyptx.torch as ours

DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
SHAPE = (3, 40)


def rows(*shape, dtype=torch.float64, grad=True, device="cpu"):
    return torch.randn(*shape, dtype=dtype, requires_grad=grad, device=device)


# A name: the operation, PyTorch's own, and how many tensors of SHAPE and of its last axis it takes.
OPERATIONS = {
    "rms_norm": (
        lambda x, w: ours.rms_norm(x, x.shape[-1:], w, 1e-5),
        lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-5),
        (1, 1),
    ),
    "rms_norm without weight": (
        lambda x: ours.rms_norm(x, x.shape[-1:], eps=1e-5),
        lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5),
        (1, 0),
    ),
    "layer_norm": (
        lambda x, w, b: ours.layer_norm(x, x.shape[-1:], w, b),
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        (1, 2),
    ),
    "layer_norm with weight": (
        lambda x, w: ours.layer_norm(x, x.shape[-1:], w),
        lambda x, w: F.layer_norm(x, x.shape[-1:], w),
        (1, 1),
    ),
    "layer_norm with bias": (
        lambda x, b: ours.layer_norm(x, x.shape[-1:], None, b),
        lambda x, b: F.layer_norm(x, x.shape[-1:], None, b),
        (1, 1),
    ),
    "layer_norm without either": (
        lambda x: ours.layer_norm(x, x.shape[-1]),
        lambda x: F.layer_norm(x, x.shape[-1:]),
        (1, 0),
    ),
    "softmax": (lambda x: ours.softmax(x, -1), lambda x: F.softmax(x, -1), (1, 0)),
    "softmax of columns": (lambda x: ours.softmax(x, 0), lambda x: F.softmax(x, 0), (1, 0)),
    "log_softmax": (lambda x: ours.log_softmax(x, 1), lambda x: F.log_softmax(x, 1), (1, 0)),
    "swiglu": (lambda a, b: ours.swiglu(a, b), lambda a, b: F.silu(a) * b, (2, 0)),
    "geglu": (
        lambda a, b: ours.geglu(a, b),
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        (2, 0),
    ),
    "geglu, exact": (
        lambda a, b: ours.geglu(a, b, approximate="none"),
        lambda a, b: F.gelu(a) * b,
        (2, 0),
    ),
    "gelu, exact": (lambda x: ours.gelu(x), F.gelu, (1, 0)),
    "reglu": (lambda a, b: ours.reglu(a, b), lambda a, b: F.relu(a) * b, (2, 0)),
    "swiglu of halves": (
        lambda a, b: ours.swiglu(torch.cat([a, b], -1)),
        lambda a, b: F.silu(a) * b,
        (2, 0),
    ),
    "geglu, interleaved": (
        lambda a, b: ours.geglu(torch.stack([a, b], -1).flatten(-2), interleaved=True),
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        (2, 0),
    ),
    "silu": (lambda x: ours.silu(x), F.silu, (1, 0)),
    "gelu": (
        lambda x: ours.gelu(x, approximate="tanh"),
        lambda x: F.gelu(x, approximate="tanh"),
        (1, 0),
    ),
    "relu": (lambda x: ours.relu(x), F.relu, (1, 0)),
}


def operands(counts, shape=SHAPE, dtype=torch.float64, grad=True, device="cpu"):
    element, column = counts
    return [
        *(rows(*shape, dtype=dtype, grad=grad, device=device) for _ in range(element)),
        *(rows(shape[-1], dtype=dtype, grad=grad, device=device) for _ in range(column)),
    ]
