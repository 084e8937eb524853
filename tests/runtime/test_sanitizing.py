"""`pyptx.sanitize`: what a missing barrier does, wherever the kernel runs; and its clean twin."""

import inspect
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pyptx
from pyptx import CallError, EmulationError, Tile, kernel, ptx, reg, sequence, smem
from pyptx._runtime import sanitizing
from pyptx.types import f32, u32


def _reversing(*, barrier):
    @kernel(
        in_specs=(Tile("B", 256, f32),),
        out_specs=(Tile("B", 256, f32),),
        grid=lambda B: B,
        block=256,
        parallel=("B",),
    )
    def reverse(X, Y):
        tile = smem.alloc(f32, 256)
        b, i = (reg.from_(s.x(), u32) for s in (ptx.special.ctaid, ptx.special.tid))
        tile[i] = X[b, i]
        if barrier:
            ptx.bar.sync(0)
        Y[b, i] = tile[255 - i]

    return reverse


RACY, CLEAN = _reversing(barrier=False), _reversing(barrier=True)
STORE = inspect.getsourcelines(_reversing)[1] + 11
MESSAGE = f"""\
kernel reverse: 1 finding
{__file__}:{STORE}: race in shared memory: stores 4 bytes of shared memory: no barrier orders the two
    tile[i] = X[b, i]
  instruction: 14: st.shared.f32 [%r11], %r9
  thread: CTA (0, 0, 0), thread (128, 0, 0), warp 4 lane 0
  address: 0x600, byte 512 of a variable (1024 bytes)
  other: CTA (0, 0, 0), thread (127, 0, 0), warp 3 lane 31, loads at {__file__}:{STORE + 3}, \
instruction 18: ld.shared.f32 %r15, [%r14]
  count: 256; this is the first"""  # noqa: E501


def _x(rows=1):
    return np.arange(rows * 256, dtype=np.float32).reshape(rows, 256)


def _jitted(reverse):
    """A program that was compiled, and has run, before anything is sanitized."""
    f = jax.jit(lambda x: reverse(x) + 1)
    f(jnp.asarray(_x())).block_until_ready()
    return lambda: f(jnp.asarray(_x()))


def _gradient(reverse):
    @jax.custom_vjp
    def plain(x):
        return x[:, ::-1]

    plain.defvjp(lambda x: (plain(x), None), lambda _, g: (reverse(g),))
    return lambda: jax.jit(jax.grad(lambda x: plain(x).sum()))(jnp.asarray(_x()))


def _sequence(reverse):
    @sequence(in_specs=(Tile("B", 256, f32),), out_specs=(Tile("B", 256, f32),), parallel=("B",))
    def both(x):
        return reverse(CLEAN(x))

    return lambda: jax.jit(both)(jnp.asarray(_x()))


def _thread(reverse):
    f = jax.jit(reverse)

    def run():
        thread = threading.Thread(target=lambda: f(jnp.asarray(_x())).block_until_ready())
        thread.start()
        thread.join()

    return run


def _sharded(reverse):
    mesh = jax.make_mesh((4,), ("d",))
    f = jax.jit(reverse)
    x = jax.device_put(_x(4), jax.NamedSharding(mesh, jax.P("d")))
    return lambda: f(x)


WAYS = {
    "NumPy": lambda reverse: lambda: reverse(_x()),
    "eager": lambda reverse: lambda: reverse(jnp.asarray(_x())),
    "jit": _jitted,
    "vmap": lambda reverse: lambda: jax.vmap(reverse)(jnp.asarray(_x(3))[:, None]),
    "gradient": _gradient,
    "sequence": _sequence,
    "thread": _thread,
    "sharded": _sharded,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_barrier_is_found(way):
    run = WAYS[way](RACY)
    with pytest.raises(EmulationError) as caught, pyptx.sanitize() as sanitized:
        run()
    (finding,) = caught.value.findings
    assert finding.kind == "shared-race"
    assert (finding.site.location.file, finding.site.location.line) == (__file__, STORE)
    assert sanitized.findings == caught.value.findings
    assert sanitized.launches == {"sequence": 2, "sharded": 4}.get(way, 1)


@pytest.mark.parametrize("way", WAYS)
def test_its_clean_twin_passes(way):
    run = WAYS[way](CLEAN)
    with pyptx.sanitize() as sanitized:
        run()
    assert sanitized.launches > 0
    assert sanitized.findings == ()


@pytest.mark.parametrize("way", ["NumPy", "jit"])
def test_the_whole_message(way):
    run = WAYS[way](RACY)
    with pytest.raises(EmulationError) as caught, pyptx.sanitize():
        run()
    assert str(caught.value) == MESSAGE


def test_findings_of_several_launches_are_said_once():
    run = _jitted(RACY)
    with pytest.raises(EmulationError) as caught, pyptx.sanitize() as sanitized:
        for _ in range(3):
            run()
    assert str(caught.value) == MESSAGE + "\n  launches: 3 with these findings"
    assert sanitized.launches == 3


def test_more_launches_than_are_kept_are_counted():
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 1_010, lambda _, x: RACY(x), x))
    with pytest.raises(EmulationError) as caught, pyptx.sanitize() as sanitized:
        f(jnp.asarray(_x()))
    assert str(caught.value) == (
        f"{MESSAGE}\n  launches: 1000 with these findings\n"
        "10 more launches have findings, which were not kept"
    )
    assert sanitized.launches == 1_010
    with pyptx.sanitize():
        _jitted(CLEAN)()


def test_nothing_is_checked_before_and_after_it():
    run = _jitted(RACY)
    with pyptx.sanitize() as sanitized:
        pass
    run().block_until_ready()
    assert sanitized.launches == 0
    assert sanitizing.observers() == ()


def test_blocks_nest():
    run = _jitted(RACY)
    with pytest.raises(EmulationError), pyptx.sanitize() as outer:
        _jitted(CLEAN)()
        with pytest.raises(EmulationError), pyptx.sanitize() as inner:
            run()
    assert inner.launches == 1
    assert outer.launches == 3  # the clean program has run twice


def test_an_error_of_the_block_passes_with_the_findings():
    run = _jitted(RACY)
    with pytest.raises(AssertionError, match="the values are wrong") as caught, pyptx.sanitize():
        run()
        raise AssertionError("the values are wrong")
    assert caught.value.__notes__ == [f"pyptx.sanitize() found:\n{MESSAGE}"]


@kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128)
def beyond(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    i = reg.from_(ptx.special.tid.x(), u32)
    value = ptx.inst.ld.global_.f32(ptx.addr(x + (i + 1) * 4))
    ptx.inst.st.global_.f32(ptx.addr(y + i * 4), value)


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
def test_a_launch_that_cannot_go_on_ends_the_block(convert):
    with pytest.raises(EmulationError) as caught, pyptx.sanitize():
        jax.block_until_ready(beyond(convert(np.ones(128, np.float32))))
        raise AssertionError("not reached")
    assert [finding.kind for finding in caught.value.findings] == ["out-of-bounds"]
    assert str(caught.value).startswith(
        f"kernel beyond: 1 finding; the launch was stopped\n{__file__}"
    )


def test_the_traceback_has_no_frame_of_ours():
    with pytest.raises(EmulationError) as caught, pyptx.sanitize():
        RACY(_x())
    assert {entry.path.name for entry in caught.traceback} == {"test_sanitizing.py"}


def test_it_cannot_be_entered_where_jax_traces():
    def inside(x):
        with pyptx.sanitize():
            return RACY(x)

    line = inspect.getsourcelines(inside)[1] + 1
    with pytest.raises(CallError) as caught:
        jax.jit(inside)(_x())
    assert str(caught.value) == (
        f"{__file__}:{line}: pyptx.sanitize() is entered in a function that JAX traces, and "
        "nothing runs there\n"
        "    with pyptx.sanitize():\n"
        "  help: with pyptx.sanitize(): f(x)   around the call of the jitted function"
    )
    assert sanitizing.observers() == ()
