"""The steps to a fast product: values, what they move, and what is found without their waits."""

import ast
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from pyptx._trace.memory.pipeline import Ring

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "hopper" / "matmul_steps.py"
PAGE = ROOT / "docs" / "tutorial" / "11_fast_product.md"
POLICIES = ["eager", "late", "reversed", "random"]
MULTIPLES = {
    "naive": (16, 16, 1),
    "tiled": (64, 64, 32),
    "tensor_cores": (128, 128, 64),
    "ring": (128, 128, 64),
    "two_groups": (128, 256, 64),
    "tma_stores": (128, 256, 64),
    "persistent": (128, 256, 64),
}
STAGED = ["ring", "two_groups", "tma_stores", "persistent"]
BOXES = ["tma_stores", "persistent"]


@pytest.fixture
def steps():
    """A module of its own for each test, which may plant something in it."""
    spec = importlib.util.spec_from_file_location("matmul_steps", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(steps, name, m, n, k, **options):
    if name in STAGED:
        options.setdefault("stages", 2)
    if name == "persistent":
        options.setdefault("ctas", 1)
    return getattr(steps, f"build_{name}")(m, n, k, **options)


def run(steps, name, m=256, n=256, k=320, completion="late", **options):
    """What was found, and how large the error is where nothing was."""
    a, b = steps.random(m, k, 2), steps.random(n, k, 3)
    built = build(steps, name, m, n, k, **options)
    done = built.emulate(a, b, sanitize=True, completion=completion)
    kinds = {finding.kind for finding in done.report.findings}
    return kinds, None if kinds else steps.largest_error(done.outputs[0], a, b)


def test_all_steps_are_tested(steps):
    assert [made.__name__ for made in steps.STEPS.values()] == [f"build_{n}" for n in MULTIPLES]


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("completion", POLICIES)
@pytest.mark.parametrize("name", MULTIPLES)
def test_values(steps, name, completion):
    kinds, error = run(steps, name, completion=completion)
    assert not kinds
    assert error <= 1


@pytest.mark.parametrize("name", MULTIPLES)
def test_one_tile_of_the_least_depth(steps, name):
    kinds, error = run(steps, name, *MULTIPLES[name])
    assert not kinds
    assert error <= 1


@pytest.mark.sampled(24)
@pytest.mark.parametrize("ctas", [1, 3, 4, 132])
@pytest.mark.parametrize("m, n", [(128, 768), (1280, 256), (1408, 512)])
def test_every_tile_of_bands_is_made_once(steps, m, n, ctas):
    """Bands of eight rows of tiles, the last of them with two or three."""
    kinds, error = run(steps, "persistent", m, n, 64, ctas=ctas)
    assert not kinds
    assert error <= 1


@pytest.mark.parametrize("wrong", [0, 1, 2])
@pytest.mark.parametrize("name", MULTIPLES)
def test_other_sizes_are_refused(steps, name, wrong):
    for size in (0, MULTIPLES[name][wrong] + 1):
        sizes = [512, 512, 512]
        sizes[wrong] = size
        if size and not size % MULTIPLES[name][wrong]:  # every k, in the first step
            continue
        shown, units = (" x ".join(map(str, each)) for each in (sizes, MULTIPLES[name]))
        with pytest.raises(ValueError, match=f"^{shown} are no multiples of {units}$"):
            build(steps, name, *sizes)


def test_the_error_is_measured(steps):
    """Results that are off by less than a hundredth are off by more than is allowed."""
    a, b = steps.random(64, 256, 0), steps.random(64, 256, 1)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert steps.largest_error(exact, a, b) == 0
    assert steps.largest_error(1.008 * exact, a, b) > 1


# ---- what they cost ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MULTIPLES)
def test_registers(steps, name):
    cubin = getattr(steps, f"build_{name}")(4096, 4096, 4096).cubin()
    assert cubin.stack == cubin.spill_stores == cubin.spill_loads == 0
    most = {"tensor_cores": 160, "ring": 160}.get(name, 64 if name in ("naive", "tiled") else 168)
    assert cubin.registers <= most


@pytest.mark.parametrize("name", [n for n in MULTIPLES if n not in ("naive", "tiled")])
def test_products_are_asynchronous(steps, name):
    """Only the last of a stage has a scoreboard; descriptors are in uniform registers."""
    built = getattr(steps, f"build_{name}")(4096, 4096, 4096)
    text = [i.text for i in built.sass()]
    products = [i for i in text if "HGMMA" in i]
    assert len(products) == (8 if name in ("tensor_cores", "ring") else 4)
    assert ["gsb0" in i for i in products] == [False] * (len(products) - 1) + [True]
    assert sum("R2UR" in i for i in text) <= 8


def sectors(steps, name):
    a, b = steps.random(256, 320, 0), steps.random(256, 320, 1)
    report = build(steps, name, 256, 256, 320).emulate(a, b).report
    return {line.location.text: line.counts for line in report.lines if line.counts.requests}


def test_each_step_moves_less(steps):
    moved = {name: sum(c.sectors for c in sectors(steps, name).values()) for name in MULTIPLES}
    assert moved["tensor_cores"] == moved["ring"]
    assert moved["tma_stores"] == moved["persistent"]
    once = [moved[n] for n in ("naive", "tiled", "ring", "two_groups", "tma_stores")]
    assert once == sorted(set(once), reverse=True)


@pytest.mark.parametrize("name", [n for n in MULTIPLES if n != "naive"])
def test_no_bank_conflicts(steps, name):
    for counts in sectors(steps, name).values():
        assert counts.wavefronts == counts.ideal_wavefronts


# ---- what is found -------------------------------------------------------------------------------


def in_tracing(monkeypatch, part, name, instead=lambda *_, **__: None):
    monkeypatch.setattr(part, name, instead)


@pytest.mark.sampled(24, each=("name", "completion"))
@pytest.mark.parametrize("completion", POLICIES)
@pytest.mark.parametrize("name", STAGED)
def test_a_stage_that_is_not_empty(steps, monkeypatch, name, completion):
    in_tracing(monkeypatch, Ring, "acquire", lambda self, state: self.full[state.stage])
    kinds, _ = run(steps, name, completion=completion)
    assert kinds & {"shared-race", "bad-mbarrier"}  # which counts the bytes of two fillings


@pytest.mark.sampled(24, each=("name", "completion"))
@pytest.mark.parametrize("name", ["tensor_cores", *STAGED])
@pytest.mark.parametrize("completion", POLICIES)
def test_products_that_are_not_waited_for(steps, monkeypatch, name, completion):
    in_tracing(monkeypatch, steps.ptx.wgmma, "wait_group")
    kinds, _ = run(steps, name, completion=completion)
    assert {"shared-race", "register-race"} <= kinds


@pytest.mark.parametrize("name", ["ring", "two_groups"])
def test_a_stage_that_is_released_early(steps, monkeypatch, name):
    """Before the products that read it are complete: only the last wait is left."""
    wait = steps.ptx.wgmma.wait_group
    in_tracing(monkeypatch, steps.ptx.wgmma, "wait_group", lambda n: None if n else wait(n))
    assert run(steps, name)[0] == {"shared-race"}


@pytest.mark.parametrize("name", BOXES)
def test_a_box_without_the_fence_between_proxies(steps, monkeypatch, name):
    in_tracing(monkeypatch, steps.ptx.fence, "proxy_async")
    assert run(steps, name)[0] == {"proxy-race"}


@pytest.mark.parametrize("name", BOXES)
def test_a_box_that_is_written_again_too_early(steps, monkeypatch, name):
    in_tracing(monkeypatch, steps.ptx.cp.async_.bulk, "wait_group")
    kinds, _ = run(steps, name)
    assert "shared-race" in kinds


def test_states_that_begin_again_with_each_tile(steps, monkeypatch):
    """Five stages of a ring of two: the second tile begins at stage 1 and in another phase."""
    produce = steps.produce

    def from_the_start(ring, state, *rest):
        produce(ring, ring.producer(), *rest)

    monkeypatch.setattr(steps, "produce", from_the_start)
    assert run(steps, "persistent")[0]


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_has_the_kernels_of_the_example():
    example = EXAMPLE.read_text()
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    own = {"check", "released_early", "bytes_for_1024", "fetched"}
    shown = {}
    for block in blocks:
        for node in ast.parse(block).body:
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                lines = block.splitlines()[first - 1 : node.end_lineno]
                shown[node.name] = "\n".join(lines) + "\n"
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                assert ast.unparse(node) in example
    assert own < set(shown)
    functions = {n.name for n in ast.parse(example).body if isinstance(n, ast.FunctionDef)}
    assert set(shown) - own == functions - {"random", "largest_error", "main"}
    for name in set(shown) - own:
        assert shown[name] in example, name
