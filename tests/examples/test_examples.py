"""Every example is a program that runs here and checks itself, and its kernels are right."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pyptx._trace.memory.pipeline import Ring

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rms_norm():
    return load(ROOT / "examples" / "hopper" / "rms_norm.py")


MATMULS = {
    "blackwell/matmul.py": ("n=100 is no multiple of 128", 100, 128, 130),
    "blackwell/matmul_pair.py": ("n=128 is no multiple of 256", 128, 256, 258),
    "hopper/matmul.py": ("n=128 is no multiple of 256", 128, 256, 300),
}
"""What a product refuses, the n that it refuses, one that it takes, and an m beside its tiles."""


def matmul_of(name):
    return load(ROOT / "examples" / name)


@pytest.fixture(scope="module")
def matmul():
    return matmul_of("blackwell/matmul.py")


@pytest.fixture(scope="module")
def hopper_matmul():
    return matmul_of("hopper/matmul.py")


@pytest.fixture(scope="module")
def matmul_pair():
    return matmul_of("blackwell/matmul_pair.py")


@pytest.mark.sweep
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: str(p.relative_to(ROOT)))
def test_it_runs_as_a_process_of_its_own(path, tmp_path):
    command = [sys.executable, "-W", "error", str(path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "under jax.jit on cpu" in done.stdout


ENVIRONMENT = os.environ | {"JAX_PLATFORMS": "cpu"}


@pytest.fixture(scope="module")
def importer(forking):
    with forking("import jax, numpy, pyptx.ops", "-W", "error") as started:
        yield started


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: str(p.relative_to(ROOT)))
def test_it_runs_and_checks_itself(path, importer, tmp_path):
    done = importer.run([str(path)], tmp_path, {"JAX_PLATFORMS": "cpu"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "under jax.jit on cpu" in done.stdout


@pytest.mark.parametrize("rows, columns", [(1, 128), (3, 384), (2, 4096), (5, 8192), (0, 128)])
@pytest.mark.parametrize("threads", [None, 32])
def test_rms_norm_at_other_sizes(rms_norm, rows, columns, threads):
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, columns), np.float32)
    w = rng.standard_normal(columns, np.float32)
    done = rms_norm.build(rows, columns, threads=threads).emulate(x, w)
    done.report.check()
    if rows:
        error = rms_norm.largest_error(done.outputs[0], rms_norm.reference(x, w))
        assert error < 1e-5


def test_rms_norm_takes_its_eps(rms_norm):
    x, w = np.full((1, 128), 1e-3, np.float32), np.ones(128, np.float32)
    (result,) = rms_norm.build(1, 128, eps=1.0).emulate(x, w).outputs
    np.testing.assert_allclose(result, 1e-3 / np.sqrt(1 + 1e-6), rtol=1e-5)


def test_rms_norm_is_coalesced_and_free_of_bank_conflicts(rms_norm):
    x, w = np.ones((2, 2048), np.float32), np.ones(2048, np.float32)
    lines = rms_norm.build(2, 2048).emulate(x, w).report.lines
    assert sum(line.counts.sectors for line in lines) == 2 * 3 * 2048 * 4 // 32
    for line in lines:
        assert line.counts.sectors == line.counts.ideal_sectors
        assert line.counts.wavefronts == line.counts.ideal_wavefronts


def test_rms_norm_keeps_the_row_in_registers(rms_norm):
    cubin = rms_norm.build(2048, 8192).cubin()
    assert cubin.stack == cubin.spill_stores == cubin.spill_loads == 0
    text = rms_norm.build(2048, 8192).ptx()
    assert len(re.findall(r"ld\.global\.v4\.f32", text)) == 2 * 4
    assert not re.findall(r"ld\.global\.f32", text)


def test_rms_norm_refuses_what_it_cannot_do(rms_norm):
    with pytest.raises(ValueError, match=r"^1000 columns are not a multiple of 128$"):
        rms_norm.build(2, 1000)


POLICIES = ["eager", "late", "reversed", "random"]


@pytest.mark.sampled(24, each=("name", "completion", "k", "stages"))
@pytest.mark.parametrize("completion", POLICIES)
@pytest.mark.parametrize("beside, k, stages", [(True, 192, 2), (False, 64, 1)])
@pytest.mark.parametrize("name", MATMULS)
def test_matmul_at_any_time_of_completion(name, beside, k, stages, completion):
    example, (_, _, n, m) = matmul_of(name), MATMULS[name]
    a, b = example.random(m if beside else 1, k, 2), example.random(n, k, 3)
    done = example.build(n, k, stages).emulate(a, b, completion=completion)
    done.report.check()
    assert example.largest_error(done.outputs[0], a, b) <= 1


@pytest.mark.parametrize("name", MATMULS)
def test_matmul_needs_no_registers_in_memory(name):
    assert matmul_of(name).build(4096, 4096).cubin().spill_stores == 0


@pytest.mark.parametrize("name", MATMULS)
def test_matmul_refuses_what_it_cannot_do(name):
    refused, n, _, _ = MATMULS[name]
    with pytest.raises(ValueError, match=f"^{refused}, or k=64 none of 64$"):
        matmul_of(name).build(n, 64)


def test_matmul_has_to_wait_for_a_stage(matmul, monkeypatch):
    """The copy that fills a stage again, while what it had is multiplied."""
    monkeypatch.setattr(Ring, "acquire", lambda self, state: self.full[state.stage])
    a, b = matmul.random(128, 192, 2), matmul.random(128, 192, 3)
    done = matmul.build(128, 192, stages=2).emulate(a, b, completion="eager")
    assert {finding.kind for finding in done.report.findings} == {"shared-race"}


@pytest.mark.parametrize("completion", POLICIES)
def test_matmul_by_pairs_has_to_wait_for_a_stage(matmul_pair, monkeypatch, completion):
    """Copies that fill the stages of both CTAs again, while what they had is multiplied."""
    monkeypatch.setattr(Ring, "acquire", lambda self, state: self.full[state.stage])
    a, b = matmul_pair.random(256, 192, 2), matmul_pair.random(256, 192, 3)
    done = matmul_pair.build(256, 192, stages=2).emulate(a, b, completion=completion)
    assert "shared-race" in {finding.kind for finding in done.report.findings}


def sync_once(monkeypatch, ptx):
    sync, calls = ptx.cluster.sync, []

    def first_alone():
        calls.append(1)
        if len(calls) == 1:
            sync()

    monkeypatch.setattr(ptx.cluster, "sync", first_alone)


def wait_at_the_end(monkeypatch, ptx):
    wait = ptx.wgmma.wait_group
    monkeypatch.setattr(ptx.wgmma, "wait_group", lambda n: None if n else wait(n))


def no_fence(monkeypatch, ptx):
    monkeypatch.setattr(ptx.wgmma, "fence", lambda: None)


@pytest.mark.parametrize("completion", POLICIES)
@pytest.mark.parametrize("plant, kinds", [
    (sync_once, {"early-exit", "out-of-bounds"}),  # the CTA may have exited, or has
    (wait_at_the_end, {"shared-race"}),
    (no_fence, {"register-race"}),
])  # fmt: skip
def test_hopper_matmul_needs_what_it_has(hopper_matmul, monkeypatch, plant, kinds, completion):
    plant(monkeypatch, hopper_matmul.ptx)
    a, b = hopper_matmul.random(256, 192, 2), hopper_matmul.random(256, 192, 3)
    done = hopper_matmul.build(256, 192, stages=2).emulate(a, b, completion=completion)
    found = {finding.kind for finding in done.report.findings}
    assert len(found) == 1
    assert found <= kinds


def test_hopper_matmul_multiplies_without_a_wait_and_without_registers_in_memory(hopper_matmul):
    built = hopper_matmul.build(4096, 4096)
    assert (built.cubin().registers, built.cubin().spill_stores) == (168, 0)
    multiplications = [i.text for i in built.sass() if "HGMMA" in i.text]
    assert len(multiplications) == 4
    assert ["gsb0" in text for text in multiplications] == [False, False, False, True]
