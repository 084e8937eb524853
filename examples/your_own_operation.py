"""RMS normalization as an operation of JAX: differentiable, batched, sharded.

docs/your_own_operation.md builds this file step by step. Run it on whatever devices there are:
python examples/your_own_operation.py
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jax.test_util import check_grads

import pyptx
from pyptx import Tile, kernel, ptx, reg, sequence, smem
from pyptx.types import bf16, f16, f32, u32

THREADS = 128
PARTS = 132  # one CTA for each SM of an H200


def load(pointer, index, dtype):
    """Element `index` of the tensor at `pointer`, as f32."""
    address = ptx.addr(pointer + index * dtype.bytes)
    if dtype is f32:
        return ptx.inst.ld.global_.f32(address)
    value = ptx.inst.ld.global_.b16(reg.scalar(dtype), address)
    return getattr(ptx.inst.cvt.f32, dtype.name)(value)


def store(pointer, index, dtype, value):
    """Element `index` of the tensor at `pointer` becomes `value`, an f32, rounded to `dtype`."""
    address = ptx.addr(pointer + index * dtype.bytes)
    if dtype is f32:
        ptx.inst.st.global_.f32(address, value)
    else:
        rounded = getattr(ptx.inst.cvt.rn, dtype.name).f32(value)
        ptx.inst.st.global_.b16(address, rounded)


def cta_sum(value, thread):
    """The sum of `value` over the threads of the CTA, in each of them."""
    warps = THREADS // 32
    parts = smem.alloc(f32, warps)
    ptx.warp.reduce_sum(value)
    ptx.bar.sync(0)  # everyone has read what a call before this left in parts
    with ptx.if_(thread & 31 == 0):
        parts[thread >> 5] = value
    ptx.bar.sync(0)
    return sum((parts[i] for i in range(1, warps)), start=parts[0])


@functools.cache
def forward(x_type, w_type):
    @kernel(
        in_specs=(Tile("*B", "N", x_type), Tile("N", w_type)),
        out_specs=(Tile("*B", "N", w_type), Tile("*B", f32)),
        grid=lambda B: (B, 1, 1),
        block=THREADS,
        arch="auto",
        parallel=("B",),
    )
    def rms_norm_forward(X, W, Y, R, *, eps):
        """R = rsqrt(mean(X * X) + eps) of each row, and Y = X * R * W."""
        x, w, y, r = ptx.global_ptrs(X, W, Y, R)
        columns = X.shape[-1]
        row = reg.from_(ptx.special.ctaid.x(), u32)
        thread = reg.from_(ptx.special.tid.x(), u32)
        x += row * (columns * x_type.bytes)
        y += row * (columns * w_type.bytes)

        squares = reg.scalar(f32, init=0.0)
        for i in ptx.range_(thread, columns, THREADS):
            value = load(x, i, x_type)
            ptx.inst.fma.rn.f32(squares, value, value, squares)
        mean = cta_sum(squares, thread) * (1 / columns)
        scale = ptx.inst.rsqrt.approx.f32(mean + eps)

        for i in ptx.range_(thread, columns, THREADS):
            store(y, i, w_type, load(x, i, x_type) * scale * load(w, i, w_type))
        with ptx.if_(thread == 0):
            store(r, row, f32, scale)

    return rms_norm_forward


@functools.cache
def backward_rows(x_type, w_type):
    @kernel(
        in_specs=(
            Tile("*B", "N", w_type),
            Tile("*B", "N", x_type),
            Tile("N", w_type),
            Tile("*B", f32),
        ),
        out_specs=(Tile("*B", "N", x_type), Tile(PARTS, "N", f32, sum_over="B")),
        grid=PARTS,
        block=THREADS,
        arch="auto",
        parallel=("B",),
    )
    def rms_norm_backward_rows(G, X, W, R, DX, Part):
        """DX = R * (G * W - X * R * R * mean(G * W * X)) of each row; the CTA with number p takes
        rows p, p + PARTS, ..., and Part[p] is the sum of its G * X * R."""
        g, x, w, r, dx, part = ptx.global_ptrs(G, X, W, R, DX, Part)
        rows, columns = X.shape  # a 64-bit register and an int
        cta = ptx.inst.cvt.u64.u32(reg.from_(ptx.special.ctaid.x(), u32))
        thread = reg.from_(ptx.special.tid.x(), u32)
        part += cta * (columns * 4)  # a thread has the same columns in all rows

        for i in ptx.range_(thread, columns, THREADS):
            store(part, i, f32, reg.scalar(f32, init=0.0))
        for row in ptx.range_(cta, rows, PARTS):
            first = row * columns
            scale = load(r, row, f32)
            dot = reg.scalar(f32, init=0.0)
            for i in ptx.range_(thread, columns, THREADS):
                gw = load(g, first + i, w_type) * load(w, i, w_type)
                ptx.inst.fma.rn.f32(dot, gw, load(x, first + i, x_type), dot)
            mean = cta_sum(dot, thread) * (1 / columns)
            for i in ptx.range_(thread, columns, THREADS):
                gradient = load(g, first + i, w_type)
                unit = load(x, first + i, x_type) * scale  # Y without the weight
                down = unit * scale * mean
                store(dx, first + i, x_type, (gradient * load(w, i, w_type) - down) * scale)
                store(part, i, f32, load(part, i, f32) + gradient * unit)

    return rms_norm_backward_rows


@kernel(
    in_specs=(Tile("P", "N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: ptx.cdiv(N, THREADS),
    block=THREADS,
    arch="auto",
)
def add_parts(Part, Sum):
    """Sum[i] = Part[0, i] + Part[1, i] + ..., a thread for each column."""
    part, total = ptx.global_ptrs(Part, Sum)
    parts, columns = Part.shape
    thread = reg.from_(ptx.special.tid.x(), u32)
    i = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), THREADS, thread)
    with ptx.if_(i < columns):
        value = reg.scalar(f32, init=0.0)
        for p in ptx.range_(parts):
            value += load(part, p * columns + i, f32)
        store(total, i, f32, value)


@functools.cache
def backward(x_type, w_type):
    rows = backward_rows(x_type, w_type)

    @sequence(
        in_specs=rows.in_specs,
        out_specs=(Tile("*B", "N", x_type), Tile("N", f32, sum_over="B")),
        parallel=("B",),
    )
    def rms_norm_backward(g, x, w, r):
        dx, part = rows(g, x, w, r)
        return dx, add_parts(part)

    return rms_norm_backward


TYPES = {dtype.numpy: dtype for dtype in (bf16, f16, f32)}


def types(x, weight):
    """The element types of both, as kernels name them."""
    names = x.dtype.name, weight.dtype.name
    for name in names:
        if name not in TYPES:
            raise TypeError(f"rms_norm takes {', '.join(TYPES)}, and got {name}")
    return tuple(TYPES[name] for name in names)


def rows(x, weight):
    """x as a JAX array, with the axes that weight has too as one."""
    leading = x.ndim - weight.ndim
    if leading < 0 or x.shape[leading:] != weight.shape:
        raise ValueError(f"x of shape {x.shape} does not end with weight's {weight.shape}")
    return jnp.asarray(x).reshape(*x.shape[:leading], weight.size)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def rms_norm(x, weight, eps=1e-5):
    """x * rsqrt(mean(x * x) + eps) * weight, over the trailing axes, which weight has too."""
    return rms_norm_fwd(x, weight, eps)[0]


def rms_norm_fwd(x, weight, eps):
    y, r = forward(*types(x, weight))(rows(x, weight), jnp.ravel(weight), eps=eps)
    return y.reshape(x.shape), (x, weight, r)


def rms_norm_bwd(_eps, saved, g):
    x, weight, r = saved
    run = backward(*types(x, weight))
    dx, dw = run(rows(g, weight), rows(x, weight), jnp.ravel(weight), r)
    dw = sum_over_shards(dw, weight)
    return dx.reshape(x.shape), dw.reshape(weight.shape).astype(weight.dtype)


def sum_over_shards(gradient, weight):
    """Inside jax.shard_map: the sum over the devices that share `weight`."""
    axes = varying(gradient) - varying(weight)
    return jax.lax.psum(gradient, tuple(sorted(axes))) if axes else gradient


def varying(array):
    """The axes of the mesh along which a value inside jax.shard_map may differ."""
    return jax.typeof(array).manual_axis_type.varying


rms_norm.defvjp(rms_norm_fwd, rms_norm_bwd)


def reference(x, weight, eps=1e-5):
    """The same in jax.numpy."""
    axes = tuple(range(x.ndim - weight.ndim, x.ndim))
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, axes, keepdims=True) + eps)
    return (wide * scale * weight.astype(jnp.float32)).astype(weight.dtype)


def main():
    devices = jax.devices()
    x, c = jax.random.normal(jax.random.key(0), (2, 2 * len(devices), 3, 200))
    weight = 1 + 0.1 * jax.random.normal(jax.random.key(1), (200,))

    np.testing.assert_allclose(jax.jit(rms_norm)(x, weight), reference(x, weight), rtol=1e-5)
    check_grads(rms_norm, (x, weight), order=1, modes=["rev"], eps=1e-2)
    print(f"under jax.jit on {devices[0].device_kind}: values and gradients as expected")

    mesh = Mesh(np.array(devices), ("data",))
    x, c = (jax.device_put(a, NamedSharding(mesh, P("data"))) for a in (x, c))
    weight = jax.device_put(weight, NamedSharding(mesh, P()))
    gradient = jax.grad(lambda x, w: jnp.vdot(rms_norm(x, w), c), argnums=(0, 1))
    program = jax.jit(gradient).lower(x, weight).compile()
    for found, wanted in zip(program(x, weight), gradient(x, weight), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    print(f"devices: {len(devices)}, collectives of the gradient: {pyptx.collectives(program)}")


if __name__ == "__main__":
    main()
