"""Ctrl-C in JAX programs on the CPU, where Python waits for XLA and runs no signal handler."""

import json

import pytest

pytest.importorskip("jax", reason="JAX is an optional dependency")

SOON = 2.0
"""Seconds: it takes some milliseconds where nothing else runs."""

START = """
import json, os, signal, threading, time
import jax, jax.numpy as jnp
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import u32

@kernel(in_specs=(Tile(64, u32),), out_specs=(Tile(64, u32),), grid=(8, 1, 1), block=64)
def endless(X, Y):
    count = reg.scalar(u32, init=0)
    with ptx.loop():
        count += 1

@kernel(in_specs=(Tile(64, u32),), out_specs=(Tile(64, u32),), grid=1, block=64)
def same(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    ptx.inst.st.global_.u32(ptx.addr(y + at), ptx.inst.ld.global_.u32(ptx.addr(x + at)))

x = jnp.zeros(64, jnp.uint32)
seen = []

def interrupted(run):
    sent = []
    def send():
        time.sleep(1.0)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        jax.block_until_ready(run(x))
        seen.append(("nothing", 0))
    except BaseException as error:
        seen.append((type(error).__name__, time.perf_counter() - sent[0], str(error)))
    thread.join()
"""


def test_compiled_and_eager(copied, tmp_path):
    """An endless kernel, and a program of a million short ones; then the next program runs."""
    program = f"""{START}
interrupted(jax.jit(endless).lower(x).compile())
interrupted(endless)
million = jax.jit(lambda x: jax.lax.scan(lambda c, _: (same(c), None), x, None, length=10**6)[0])
interrupted(million.lower(x).compile())
assert (same(x) == x).all()
assert (jax.jit(same)(x) == x).all()
print(json.dumps(seen))
"""
    seen = json.loads(copied(program, tmp_path))
    assert [name for name, *_ in seen] == ["KeyboardInterrupt"] * 3
    assert all(seconds < SOON for _, seconds, _ in seen), seen


def test_a_handler_of_the_program(copied, tmp_path):
    """It runs once XLA returns; the launch has ended with an error that says why."""
    program = f"""{START}
handled = []
signal.signal(signal.SIGINT, lambda *_: handled.append(1))
compiled = jax.jit(endless).lower(x).compile()  # the signal is for the launch
interrupted(compiled)
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupted(compiled)
assert handled == [1]
print(json.dumps(seen))
"""
    first, second = json.loads(copied(program, tmp_path))
    assert first[0] == "JaxRuntimeError"
    assert "pyptx: kernel endless: the emulation was interrupted by SIGINT" in first[2]
    assert second[0] == "KeyboardInterrupt"
    assert max(first[1], second[1]) < SOON


def test_the_budget_of_compiled_programs(copied, tmp_path):
    program = f"""{START}
for variable, value in (("PYPTX_EMULATOR_SECONDS", "1"), ("PYPTX_EMULATOR_INSTRUCTIONS", "1000")):
    os.environ[variable] = value
    try:
        jax.block_until_ready(jax.jit(lambda x: endless(x))(x))
    except jax.errors.JaxRuntimeError as error:
        seen.append(str(error))
print(json.dumps(seen))
"""
    for told, wanted in zip(
        json.loads(copied(program, tmp_path)),
        ("it has run for 1 seconds", "its warps have run 1000 instructions"),
        strict=True,
    ):
        assert f"the launch takes too long: {wanted}" in told
