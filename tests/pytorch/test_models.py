"""Modules with the operations of `pyptx.torch`, and models whose modules are made to use them."""

import copy
import pickle
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from refusals import refusal
from torch.autograd import gradgradcheck
from torch.fx.experimental.proxy_tensor import make_fx

import pyptx.torch as ours


def test_modules_have_pytorchs_parameters():
    theirs = torch.nn.Sequential(torch.nn.RMSNorm(40), torch.nn.LayerNorm(40))
    mine = torch.nn.Sequential(ours.RMSNorm(40), ours.LayerNorm(40))
    torch.nn.init.normal_(theirs[0].weight)
    mine.load_state_dict(theirs.state_dict())
    x = torch.randn(5, 40)
    torch.testing.assert_close(mine(x), theirs(x))
    compiled = torch.compile(mine, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), theirs(x))


class LlamaRMSNorm(torch.nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        wide = hidden_states.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * wide.to(hidden_states.dtype)


class Olmo2RMSNorm(LlamaRMSNorm):
    def forward(self, hidden_states):
        return super().forward(hidden_states).to(hidden_states.dtype)


@pytest.mark.parametrize("kind", [LlamaRMSNorm, Olmo2RMSNorm])
def test_types_of_norms_are_those_of_their_classes(kind):
    """A weight of float32 makes most of them float32, as under autocast."""
    for weight, kept in (
        (torch.float32, torch.bfloat16),
        (torch.bfloat16, torch.float32),
        (torch.bfloat16, torch.bfloat16),
    ):
        model = kind(40).to(weight)
        patched = copy.deepcopy(model)
        ours.patch(patched)
        x = torch.randn(3, 40).to(kept)
        results = []
        for each in (model, patched):
            leaf = x.clone().requires_grad_()
            found = each(leaf)
            found.float().square().sum().backward()
            results.append((found, leaf.grad, each.weight.grad))
        for one, other in zip(*results, strict=True):
            assert other.dtype is one.dtype
            torch.testing.assert_close(other, one, rtol=3e-2, atol=3e-2)


class Gemma2RMSNorm(torch.nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size) / 5)
        self.eps = eps

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (wide * (1.0 + self.weight.float())).type_as(x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_weights_that_are_kept_as_w_minus_1(dtype):
    model = Gemma2RMSNorm(72)
    patched = copy.deepcopy(model)
    assert ours.patch(patched) == [""]
    x = torch.randn(2, 5, 72).to(dtype)
    tolerance = {torch.bfloat16: 1e-2, torch.float32: 1e-5}[dtype]
    close = partial(torch.testing.assert_close, rtol=tolerance, atol=tolerance)
    close(patched(x), model(x))
    close(ours.rms_norm(x, (72,), model.weight, 1e-6, offset=1), model(x))
    y, s = ours.add_rms_norm(x, x / 2, (72,), model.weight, 1e-6, offset=1)
    close(y, model(s))
    for each in (model, patched):
        each(x).float().square().sum().backward()
    torch.testing.assert_close(patched.weight.grad, model.weight.grad, rtol=1e-2, atol=1e-2)
    wide = [t.detach().double().requires_grad_() for t in (x[0, :2, :], model.weight)]
    norm = partial(ours.rms_norm, normalized_shape=(72,), eps=1e-6, offset=1.0)
    assert gradgradcheck(lambda x, w: norm(x, weight=w), wide, atol=1e-4)
    one = lambda x, w: ours.add_rms_norm(x, x, (72,), w, 1e-6, offset=1.0)[0]
    assert gradgradcheck(one, wide, atol=1e-4)
    assert refusal(ours.rms_norm, x, (72,), offset=1.0) == (
        "offset is 1.0, and weight, which it is added to, is None\n"
        "  help: rms_norm(input, shape, weight, offset=1.0)"
    )


class GatedMLP(torch.nn.Module):
    """What most models have, whose class has another name in each."""

    def __init__(self, size, activation=None):
        super().__init__()
        self.gate_proj = torch.nn.Linear(size, 2 * size, bias=False)
        self.up_proj = torch.nn.Linear(size, 2 * size, bias=False)
        self.down_proj = torch.nn.Linear(2 * size, size, bias=False)
        self.act_fn = activation or torch.nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class LlamaMLP(GatedMLP):
    pass


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = LlamaRMSNorm(size)
        self.mlp = LlamaMLP(size)
        self.last = torch.nn.LayerNorm(size)

    def forward(self, x):
        return self.last(x + self.mlp(self.norm(x)))


def test_a_model_is_patched_by_the_names_of_its_classes():
    model = Block(32)
    patched = copy.deepcopy(model)
    assert ours.patch(patched) == ["norm", "mlp", "last"]
    x = torch.randn(2, 5, 32)
    torch.testing.assert_close(patched(x), model(x))
    assert patched.state_dict().keys() == model.state_dict().keys()
    graph = make_fx(patched)(x)
    assert sum("pyptx" in str(node.target) for node in graph.graph.nodes) == 3
    model(x).square().sum().backward()
    patched(x).square().sum().backward()
    for one, other in zip(patched.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)
    some = copy.deepcopy(model)
    assert ours.patch(some, classes=["LayerNorm"]) == ["last"]
    odd = copy.deepcopy(model)
    odd.mlp.act_fn = torch.nn.Tanh()
    assert ours.patch(odd) == ["norm", "last"]


class Phi3MLP(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gate_up_proj = torch.nn.Linear(size, 4 * size, bias=False)
        self.down_proj = torch.nn.Linear(2 * size, size, bias=False)
        self.activation_fn = torch.nn.SiLU()

    def forward(self, hidden_states):
        gate, up = self.gate_up_proj(hidden_states).chunk(2, dim=-1)
        return self.down_proj(up * self.activation_fn(gate))


class Llama4TextMLP(torch.nn.Module):
    def __init__(self, size, activation=None):
        super().__init__()
        self.gate_proj = torch.nn.Linear(size, 2 * size, bias=False)
        self.up_proj = torch.nn.Linear(size, 2 * size, bias=False)
        self.down_proj = torch.nn.Linear(2 * size, size, bias=False)
        self.activation_fn = activation or torch.nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.activation_fn(self.gate_proj(x)) * self.up_proj(x))


class MixtralBlockSparseTop2MLP(torch.nn.Module):
    def __init__(self, size, activation=None):
        super().__init__()
        self.w1 = torch.nn.Linear(size, 3 * size, bias=False)
        self.w2 = torch.nn.Linear(3 * size, size, bias=False)
        self.w3 = torch.nn.Linear(size, 3 * size, bias=False)
        self.act_fn = activation or torch.nn.SiLU()

    def forward(self, hidden_states):
        return self.w2(self.act_fn(self.w1(hidden_states)) * self.w3(hidden_states))


class PytorchGELUTanh(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")


class GELUTanh(PytorchGELUTanh):
    pass


class NewGELUActivation(PytorchGELUTanh):
    pass


class GELUActivation(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)


ACTIVATIONS = (
    PytorchGELUTanh, GELUTanh, NewGELUActivation, GELUActivation, torch.nn.SiLU, torch.nn.ReLU,
    torch.nn.GELU, lambda: torch.nn.GELU("tanh"), lambda: torch.nn.functional.silu,
)  # fmt: skip
MODELS = (
    "Cohere", "Cohere2", "DeepseekV2", "DeepseekV3", "Gemma", "Gemma2", "Gemma3", "Glm4Moe",
    "Granite", "Llama", "Mistral", "Olmo", "Olmo2", "Olmo3", "Olmoe", "Qwen2", "Qwen2Moe", "Qwen3",
    "Qwen3Moe", "Qwen3Next", "SmolLM3", "StableLm",
)  # fmt: skip


def check_patched(model, x):
    """That it becomes one kernel, with the same results and gradients."""
    patched = copy.deepcopy(model)
    assert ours.patch(patched) == [""]
    graph = make_fx(patched)(x)
    assert sum("pyptx" in str(node.target) for node in graph.graph.nodes) == 1
    results = []
    for each in (model, patched):
        found = each(x)
        found.float().square().sum().backward()
        results.append([found, *(parameter.grad for parameter in each.parameters())])
    for one, other in zip(*results, strict=True):
        assert one.dtype is other.dtype
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_gated_mlps_of_many_models(model):
    kind = type(f"{model}MLP", (GatedMLP,), {})
    check_patched(kind(16, PytorchGELUTanh()), torch.randn(3, 16))


@pytest.mark.parametrize("kind", [LlamaMLP, Llama4TextMLP, MixtralBlockSparseTop2MLP])
def test_activations_of_gates(kind):
    for activation in ACTIVATIONS:
        check_patched(kind(16, activation()), torch.randn(3, 16))
    for other in (torch.nn.Tanh(), torch.nn.LeakyReLU(), lambda x: x):
        assert ours.patch(kind(16, other)) == []


def test_what_a_module_calls_counts_and_not_its_configuration():
    model = type("GemmaMLP", (GatedMLP,), {})(16, PytorchGELUTanh())
    model.config = SimpleNamespace(hidden_act="gelu")  # as Gemma's first configurations had it
    check_patched(model, torch.randn(3, 16))
    model.act_fn = torch.nn.Tanh()
    assert ours.patch(model) == []


NORMS = {
    LlamaRMSNorm: (
        "DeepseekV2", "DeepseekV3", "Glm", "Glm4", "Glm4Moe", "Granite", "GraniteMoe", "Llama4Text",
        "Mistral", "Mixtral", "Olmoe", "Phi3", "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "SmolLM3",
    ),
    Olmo2RMSNorm: ("GptOss", "Olmo3"),
    Gemma2RMSNorm: ("Gemma", "Gemma3", "Qwen3Next"),
}  # fmt: skip


@pytest.mark.parametrize("base", NORMS)
def test_norms_of_many_models(base):
    for model in NORMS[base]:
        norm = type(f"{model}RMSNorm", (base,), {})(24)
        check_patched(norm, torch.randn(3, 24, requires_grad=True))
        patched = copy.deepcopy(norm)
        ours.patch(patched)
        x = torch.randn(3, 24).bfloat16()
        assert patched(x).dtype is norm(x).dtype


def test_gates_whose_parts_are_one_layer():
    model = Phi3MLP(24)
    patched = copy.deepcopy(model)
    assert ours.patch(patched, classes=["Phi3MLP"]) == [""]
    x = torch.randn(2, 5, 24)
    torch.testing.assert_close(patched(x), model(x))
    graph = make_fx(patched)(x)
    assert sum("pyptx" in str(node.target) for node in graph.graph.nodes) == 1
    for each in (model, patched):
        each(x).square().sum().backward()
    for one, other in zip(patched.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)


def test_a_patched_model_is_copied_pickled_and_restored():
    model = Block(32)
    x = torch.randn(2, 5, 32)
    wanted = model(x)
    assert ours.patch(model) == ["norm", "mlp", "last"]
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(again(x), wanted)
        with torch.no_grad():
            again.last.weight.zero_()  # its own
        assert torch.equal(again(x), again.last.bias.expand_as(x))
        torch.testing.assert_close(model(x), wanted)
        assert ours.patch(again) == ["norm", "mlp", "last"]
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), wanted)
    assert ours.unpatch(model) == ["norm", "mlp", "last"]
    graph = make_fx(model)(x)
    assert not any("pyptx" in str(node.target) for node in graph.graph.nodes)
    assert ours.unpatch(model) == []
    model.norm.forward = lambda x: x  # by another library
    assert ours.patch(model) == ["mlp", "last"]
    assert ours.unpatch(model) == ["mlp", "last"]
    assert refusal(ours.unpatch, x) == (
        "pyptx.torch.unpatch takes a torch.nn.Module, not Tensor\n"
        "  help: pyptx.torch.unpatch(model)"
    )
