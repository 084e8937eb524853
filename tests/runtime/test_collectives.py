"""pyptx.collectives on the texts that XLA writes for CPU and CUDA."""

import pytest

import pyptx

SENT = """
  %all-reduce = f32[20]{0} all-reduce(%x), channel_id=1, replica_groups={{0,1}}, to_apply=%add
  %ar = (f32[2]{0}, bf16[3]{0}) all-reduce(%x, %y), metadata={op_name="all-reduce(psum)"}
  %ag-start = (f32[4]{0}, f32[8]{0}) all-gather-start(%all-reduce), dimensions={0}
  %ag-done = f32[8]{0} all-gather-done(%ag-start)
  %permute = f32[8]{0} collective-permute-start(%ag-done), source_target_pairs={{0,1}}
  %permute.1 = f32[8]{0} collective-permute-done(%permute)
  %scatter = f32[4]{0} reduce-scatter(%ag-done), dimensions={0}
  %other = f32[4]{0} ragged-all-to-all(%ag-done, %x)
  ROOT %tuple = (f32[4]{0}) tuple(%scatter, %all-to-all)
"""


class Program:
    def __init__(self, text):
        self.text = text

    def as_text(self):
        return self.text


def test_each_is_counted_once():
    assert pyptx.collectives(Program(SENT)) == {
        "all-gather": 1,
        "all-reduce": 2,
        "collective-permute": 1,
        "reduce-scatter": 1,
    }
    assert pyptx.collectives(Program("ROOT %add = f32[4]{0} add(%x, %all-reduce)")) == {}


def test_of_programs(devices):
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(devices, ("data",))
    rows, whole = (NamedSharding(mesh, P(*spec)) for spec in (("data",), ()))
    x = jax.device_put(jnp.ones((8, 8)), rows)

    def sent(f, **options):
        return pyptx.collectives(jax.jit(f, **options).lower(x).compile())

    assert sent(lambda x: x * 2) == {}
    assert sent(lambda x: x.sum(0)) == {"all-reduce": 1}
    assert sent(lambda x: x * 2, out_shardings=whole) == {"all-gather": 1}
    local = jax.shard_map(
        lambda x: jax.lax.all_to_all(x, "data", 1, 1),
        mesh=mesh,
        in_specs=P("data"),
        out_specs=P("data"),
    )
    assert sent(local) == {"all-to-all": 1}
