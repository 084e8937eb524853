"""`from_ptx`: what parameters are given, launches, JAX, and whole messages of errors."""

from __future__ import annotations

import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pyptx
from pyptx import In, Out, Scalar, Tile, ptx
from pyptx._text import ParseError
from pyptx.errors import AssembleError, EmulationError, SpecError
from pyptx.types import bf16, f32, u8, u32

SAXPY = """.version 8.0
.target sm_80
.address_size 64

.visible .entry saxpy(
    .param .u32 n_,
    .param .f32 a_,
    .param .u64 x_,
    .param .u64 y_
)
.maxntid 256
{
    .reg .pred p;
    .reg .b32 n, i, c, d;
    .reg .f32 a, x, y;
    .reg .b64 px, py, o;
    ld.param.u32 n, [n_];
    ld.param.f32 a, [a_];
    ld.param.u64 px, [x_];
    ld.param.u64 py, [y_];
    mov.u32 c, %ctaid.x;
    mov.u32 d, %ntid.x;
    mov.u32 i, %tid.x;
    mad.lo.s32 i, c, d, i;
    setp.ge.s32 p, i, n;
    @p ret;
    cvta.to.global.u64 px, px;
    cvta.to.global.u64 py, py;
    mul.wide.s32 o, i, 4;
    add.s64 px, px, o;
    add.s64 py, py, o;
    ld.global.f32 x, [px];
    ld.global.f32 y, [py];
    fma.rn.f32 y, a, x, y;
    st.global.f32 [py], y;
    ret;
}
"""
SPECS = {
    "in_specs": (Scalar(f32), Tile("N", f32), Tile("N", f32)),
    "out_specs": (Tile("N", f32),),
    "input_output_aliases": {2: 0},
    "params": ("N", In(0), In(1), Out(0)),
    "grid": lambda N: ptx.cdiv(N, 128),
    "block": 128,
}


def made(source=SAXPY, **changes):
    return pyptx.from_ptx(source, **{**SPECS, **changes})


def arrays(n=300):
    rng = np.random.default_rng(3)
    return rng.standard_normal((2, n)).astype(np.float32)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "saxpy.ptx"
    path.write_text(SAXPY)
    return path


def expected(a, x, y):
    """fma in double precision, rounded once."""
    return (np.float64(a) * x + y).astype(np.float32)


# ---- running -------------------------------------------------------------------------------------


def test_numpy_arrays(file):
    x, y = arrays()
    kernel = made(file)
    np.testing.assert_array_equal(kernel(2.5, x, y), expected(2.5, x, y))
    assert repr(kernel) == f"<pyptx kernel saxpy of {file}>"
    assert (kernel.name, kernel.input_names, kernel.arch) == ("saxpy", ("a_", "x_", "y_"), "auto")
    assert kernel.file == str(file)


def test_jax_arrays_and_transformations():
    x, y = map(jnp.asarray, arrays())
    kernel = made()
    want = expected(2.5, np.asarray(x), np.asarray(y))
    np.testing.assert_array_equal(kernel(jnp.float32(2.5), x, y), want)
    np.testing.assert_array_equal(jax.jit(kernel)(2.5, x, y), want)
    factors = jnp.array([0.5, 1.5, -2.0], jnp.float32)
    rows = jnp.stack([x, 2 * x, 3 * x])
    got = jax.jit(jax.vmap(kernel, in_axes=(0, 0, None)))(factors, rows, y)
    want = np.stack(
        [expected(f, np.asarray(r), np.asarray(y)) for f, r in zip(factors, rows, strict=True)]
    )
    np.testing.assert_array_equal(got, want)
    nested = jax.vmap(jax.vmap(kernel, (None, 0, None)), (0, None, None))(factors, rows, y)
    for i, factor in enumerate(factors):
        for j, row in enumerate(rows):
            want = expected(float(factor), np.asarray(row), np.asarray(y))
            np.testing.assert_array_equal(nested[i, j], want)


def test_an_exported_program_holds_the_kernel():
    x, y = map(jnp.asarray, arrays(256))
    checks = pyptx.export_safety_checks()
    exported = jax.export.export(jax.jit(made()), disabled_checks=checks)(2.5, x, y)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(2.5, x, y), expected(2.5, *arrays(256)))


def test_one_kernel_for_all_sizes_of_a_parallel_dimension():
    kernel = made(parallel=("N",))
    for n in (1, 128, 300):
        x, y = arrays(n)
        np.testing.assert_array_equal(kernel(0.5, x, y), expected(0.5, x, y))
        np.testing.assert_array_equal(jax.jit(kernel)(0.5, x, y), expected(0.5, x, y))
    assert len(kernel._codes) == 2  # the file, and with its scalar in memory


def test_devices_take_parts_of_a_parallel_dimension():
    x, y = map(jnp.asarray, arrays(1024))
    mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    parts = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    program = jax.jit(made(parallel=("N",)))
    split = program(0.5, *(jax.device_put(a, parts) for a in (x, y)))
    np.testing.assert_array_equal(split, expected(0.5, *arrays(1024)))
    assert split.sharding.is_equivalent_to(parts, 1)
    text = program.lower(0.5, *(jax.device_put(a, parts) for a in (x, y))).compile().as_text()
    assert "all-gather" not in text
    shared = jax.shard_map(
        lambda x, y: made()(0.5, x, y),
        mesh=mesh,
        in_specs=jax.sharding.PartitionSpec("i"),
        out_specs=jax.sharding.PartitionSpec("i"),
    )
    np.testing.assert_array_equal(jax.jit(shared)(x, y), expected(0.5, *arrays(1024)))


def test_steps_of_a_sequence():
    twice = made(input_output_aliases=None, in_specs=(Tile("N", f32),), params=(
        "N", 2.0, In(0), Out(0),
    ))  # fmt: skip
    assert twice.input_names == ("x_",)
    fill = pyptx.from_ptx(
        SAXPY.replace("fma.rn.f32 y, a, x, y", "mul.f32 y, a, x").replace(
            "    ld.global.f32 y, [py];\n", ""
        ),
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        params=("N", 3, In(0), Out(0)),
        grid=lambda N: ptx.cdiv(N, 128),
        block=128,
    )

    @pyptx.sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
    def both(x):
        return fill(fill(x))

    (x, _) = arrays()
    np.testing.assert_array_equal(both(x), 3 * (3 * x))
    np.testing.assert_array_equal(jax.jit(both)(x), 3 * (3 * x))


# ---- looking at it -------------------------------------------------------------------------------


def test_the_text_the_code_and_the_machine_code_are_of_the_file(file):
    kernel = made(file)
    assert kernel.ptx() == kernel.ptx(N=300) == SAXPY
    cubin = kernel.cubin(arch="sm_90a")
    assert (cubin.kernel, cubin.target) == ("saxpy", "sm_90a")
    assert kernel.cubin().target == "sm_80"
    code = kernel.sass()
    fused = next(i for i in code if i.text.startswith("FFMA"))
    assert fused.location is not None
    assert (fused.location.file, fused.location.text) == (str(file), "fma.rn.f32 y, a, x, y;")
    assert kernel.module().kernels[0].name == "saxpy"


def test_findings_are_at_lines_of_the_file(file):
    kernel = made(file, params=(lambda N: N + 1, In(0), In(1), Out(0)))
    x, y = arrays()
    (finding,) = kernel.emulate(2.0, x, y).report.findings
    assert (finding.kind, finding.tensor) == ("out-of-bounds", "x_")
    assert finding.site.location.file == str(file)
    assert finding.site.location.text == "ld.global.f32 x, [px];"
    with pytest.raises(EmulationError, match=r"saxpy\.ptx:32: out of bounds"):
        kernel(2.0, x, y)


def test_findings_at_lines_of_the_source():
    text = SAXPY.replace("    ld.global.f32 x", "    .loc 1 7 9\n    ld.global.f32 x")
    text += '.file 1 "/kernels/saxpy.cu"\n'
    kernel = made(text, params=(lambda N: N + 1, In(0), In(1), Out(0)), lines="source")
    (finding,) = kernel.emulate(2.0, *arrays()).report.findings
    assert str(finding.site.location) == "/kernels/saxpy.cu:7"


def test_a_text_without_a_file_has_its_lines_in_messages():
    kernel = made(params=(lambda N: N + 1, In(0), In(1), Out(0)))
    (finding,) = kernel.emulate(2.0, *arrays()).report.findings
    assert finding.site.location.text == "ld.global.f32 x, [px];"
    assert finding.site.location.file.startswith("<ptx ")


# ---- parameters ----------------------------------------------------------------------------------

STORE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry _Z5storePjPKv({params}, .param .u64 out)
{{
    .reg .b64 p;
    .reg .b{bits} v;
    ld.param.u64 p, [out];
    ld.param.b{bits} v, [value+{offset}];
    st.global.b{bits} [p], v;
    ret;
}}
"""


def stored(declared, param, bits, offset=0, **more):
    """The bytes that a kernel finds in its parameter."""
    text = STORE.format(params=declared, bits=bits, offset=offset)
    specs = {"in_specs": (Tile("B", "N", u8),), "out_specs": (Tile(bits // 8, u8),), **more}
    if "params" not in more:
        specs["params"] = (param, In(0), Out(0))
        text = text.replace(", .param .u64 out", ", .param .u64 unused, .param .u64 out")
    kernel = pyptx.from_ptx(text, entry="store", grid=1, block=1, **specs)
    x = np.zeros((6, 7), np.uint8)
    done = kernel(x)
    np.testing.assert_array_equal(jax.jit(kernel)(x), done)
    return done.tobytes()


@pytest.mark.parametrize(
    ("declared", "param", "bits", "value"),
    [
        (".param .u32 value", "N", 32, struct.pack("<I", 7)),
        (".param .s32 value", lambda B, N: B * N - 100, 32, struct.pack("<i", -58)),
        (".param .u64 value", lambda N, B: ptx.cdiv(N, 2) + B, 64, struct.pack("<Q", 10)),
        (".param .u16 value", 65535, 16, b"\xff\xff"),
        (".param .s16 value", -2, 16, b"\xfe\xff"),
        (".param .u8 value", True, 8, b"\x01"),
        (".param .f32 value", 0.1, 32, struct.pack("<f", 0.1)),
        (".param .f64 value", 1, 64, struct.pack("<d", 1.0)),
        (".param .b32 value", float("inf"), 32, struct.pack("<f", float("inf"))),
        (".param .b64 value", 2**64 - 1, 64, b"\xff" * 8),
    ],
)
def test_sizes_and_constants(declared, param, bits, value):
    assert stored(declared, param, bits) == value


def test_a_structure_lies_at_its_alignment():
    data = bytes(range(1, 13))
    declared = ".param .u8 before, .param .align 8 .b8 value[12]"
    text = STORE.format(params=declared, bits=32, offset=8)
    kernel = pyptx.from_ptx(
        text, in_specs=(), out_specs=(Tile(4, u8),), params=(1, data, Out(0)), grid=1, block=1
    )
    done = kernel.emulate()
    assert done.report.message == ""
    assert done.outputs[0].tobytes() == data[8:]


def test_a_size_that_its_parameter_cannot_hold():
    text = SAXPY.replace(".u32 n_", ".u8 n_").replace("ld.param.u32 n", "ld.param.u8 n")
    kernel = made(text)
    x, y = arrays()
    with pytest.raises(SpecError) as caught:
        kernel(2.0, x, y)
    assert caught.value.problem == "an integer argument of 8 bits is 300"


# ---- errors --------------------------------------------------------------------------------------


def problem(**changes):
    """The whole message, without the line of the call that this test is."""
    with pytest.raises(SpecError) as caught:
        made(**changes)
    head, *lines = str(caught.value).splitlines()
    return [head.partition(": ")[2], *(li for li in lines if "from_ptx at" not in li)]


def at(line):
    return f"{SAXPY.splitlines()[line - 1]}"


def test_too_few_parameters():
    assert problem(params=None, input_output_aliases=None)[0] != ""
    assert problem(params=("N", In(0))) == [
        "saxpy takes 4 parameters, and params= has 2",
        "    .visible .entry saxpy(",
        "  parameters: n_ .u32, a_ .f32, x_ .u64, y_ .u64",
        '  help: params= says what each is: "N", "N", In(0), In(0)',
    ]
    with pytest.raises(SpecError, match="and in_specs and out_specs are 3"):
        made(params=None)


def test_wrong_kinds():
    assert problem(params=(In(1), In(0), In(1), Out(0))) == [
        (
            "parameter 0 of saxpy, n_ of type .u32, is given the address of "
            'Tile("N", f32), which has 64 bits'
        ),
        "    .param .u32 n_,",
        "  legal: for .u32: Scalar, a dimension, a number in params=",
    ]
    assert problem(params=("N", "N", In(1), Out(0))) == [
        "parameter 1 of saxpy, a_ of type .f32, is given the size of 'N'",
        "    .param .f32 a_,",
        "  legal: an integer (.u8 to .u64, .s8 to .s64, .b8 to .b64)",
    ]
    assert problem(params=("N", In(0), In(0), Out(0)))[0] == (
        "parameter 2 of saxpy, x_ of type .u64, is given Scalar(f32)"
    )
    assert problem(params=("N", In(7), In(1), Out(0)))[:1] == [
        "parameter 1 of saxpy, a_ of type .f32, is given number 7 of in_specs, which has 3"
    ]
    assert problem(params=("M", In(0), In(1), Out(0))) == [
        "parameter 0 of saxpy, n_ of type .u32, is given 'M'",
        "    .param .u32 n_,",
        "  dimensions: N",
    ]
    assert problem(params=(2**32, In(0), In(1), Out(0)))[0] == (
        "parameter 0 of saxpy, n_ of type .u32, is given 4294967296, which 32 bits do not hold"
    )
    assert problem(params=(None, In(0), In(1), Out(0)))[0].endswith("is given None")
    assert problem(params=("N", 1e300, In(1), Out(0)))[0] == (
        "parameter 1 of saxpy, a_ of type .f32, is given 1e+300, which is out of its range"
    )


def test_an_input_that_is_no_parameter():
    assert problem(params=("N", 2.0, In(1), Out(0))) == [
        "saxpy takes no parameter that is in_specs[0]",
        "    return pyptx.from_ptx(source, **{**SPECS, **changes})",
        "  help: write In(0) where params= has it",
    ]  # fmt: skip


def test_a_structure_without_its_bytes():
    text = STORE.format(params=".param .align 8 .b8 value[12]", bits=32, offset=0)
    specs = {"in_specs": (Tile(3, u32),), "out_specs": (Tile(1, u32),), "grid": 1, "block": 1}
    with pytest.raises(SpecError) as caught:
        pyptx.from_ptx(text, params=("N", Out(0)), **specs)
    assert caught.value.problem == (
        "parameter 0 of _Z5storePjPKv, value of type .b8[12], is 12 bytes, a structure that is "
        "passed by value"
    )
    assert caught.value.notes[0] == (
        "help", "give its bytes in params=: struct.pack(...), 12 of them",
    )  # fmt: skip
    with pytest.raises(SpecError, match="is given 4 bytes and has 12"):
        pyptx.from_ptx(text, params=(bytes(4), Out(0)), **specs)


def test_which_file_and_which_entry(file, tmp_path):
    assert problem(source="saxpy.ptx") == [
        "'saxpy.ptx' is no PTX text",
        "    return pyptx.from_ptx(source, **{**SPECS, **changes})",
        "  help: from_ptx(Path('saxpy.ptx'), ...) reads a file",
    ]
    missing = tmp_path / "none.ptx"
    assert problem(source=missing)[0] == f"there is no file {missing}"
    assert problem(source=3)[0] == "from_ptx takes PTX text or a pathlib.Path, not int"
    two = SAXPY + SAXPY[SAXPY.index(".visible") :].replace("saxpy(", "other(")
    several = problem(source=two)
    assert several[0].endswith("has 2 entries, and entry= does not say which one")
    assert several[-1] == "  entries: saxpy other"
    assert problem(source=file, entry="sax")[0] == f"{file} has no entry sax"
    assert made(two, entry="other").name == "other"
    assert made(two, entry="other").cubin().kernel == "other"


def test_text_that_is_not_ptx(tmp_path):
    path = tmp_path / "wrong.ptx"
    path.write_text(SAXPY.replace("fma.rn.f32 y", "fma.rm.ru.f32 y"))
    with pytest.raises(ParseError) as caught:
        made(path)
    assert f"{path}:34:" in str(caught.value)


def test_the_file_says_how_it_is_launched():
    assert problem(block=512)[0] == "block=(512, 1, 1) is against the .maxntid 256, 1, 1 of saxpy"
    needs = "from_ptx needs block= for saxpy, at most 256 threads (.maxntid): "
    assert problem(block=None)[0] == needs + "the file does not require a size"
    required = SAXPY.replace(".maxntid 256", ".reqntid 128")
    assert made(required, block=None).block == (128, 1, 1)
    assert problem(source=required, block=64)[0] == (
        "block=(64, 1, 1) is against the .reqntid 128, 1, 1 of saxpy"
    )
    clusters = SAXPY.replace("sm_80", "sm_90").replace(".maxntid 256", ".reqnctapercluster 2")
    assert made(clusters).cluster == (2, 1, 1)
    assert problem(source=clusters, cluster=4)[0] == (
        "cluster=(4, 1, 1) is against the .reqnctapercluster 2, 1, 1 of saxpy"
    )
    explicit = clusters.replace(".reqnctapercluster 2", ".explicitcluster")
    assert problem(source=explicit)[0] == (
        "from_ptx needs cluster= for saxpy, which has .explicitcluster"
    )
    assert made(explicit, cluster=2).cluster == (2, 1, 1)
    shared = SAXPY.replace(".visible", ".extern .shared .align 16 .b8 tile[];\n.visible")
    shared = shared.replace("    ret;\n}", "    st.shared.f32 [tile], y;\n    ret;\n}")
    assert problem(source=shared)[0] == (
        "from_ptx needs smem= for saxpy: tile is dynamic shared memory"
    )
    assert made(shared, smem=lambda N: 4 * N).block == (128, 1, 1)
    assert problem(source=shared, smem=-1)[0] == "smem=-1 is not a number of bytes"


def test_the_target_of_the_file():
    hopper = SAXPY.replace("sm_80", "sm_90a")
    assert made(hopper).arch == "sm_90a"
    where = problem(source=hopper, arch="sm_100a")
    assert where[0].endswith("is for sm_90a, so it cannot be assembled for sm_100a")
    with pytest.raises(SpecError, match="is for sm_80, so it cannot be assembled for sm_75"):
        made().cubin(arch="sm_75")
    assert problem(out_specs=(Tile("N", bf16, sum_over="B", accumulate=f32),))[0].endswith(
        "has accumulate=, for which a kernel is traced in two types; PTX that is given writes one"
    )


def test_what_only_the_assembler_rejects_is_at_its_line(file):
    text = SAXPY.replace(".visible", ".func put (.reg .f32 a) { ret; }\n.visible")
    text = text.replace("    fma.rn", "    call put, (n, n);\n    fma.rn")
    file.write_text(text)
    with pytest.raises(AssembleError) as caught:
        made(file).cubin()
    line = text.splitlines().index("    call put, (n, n);") + 1
    assert str(caught.value).startswith(f"{file}:{line}: ptxas rejected the kernel: ")


def test_a_batch_where_the_kernel_reads_every_axis_runs_one_after_the_other():
    text = SAXPY.replace(
        "    setp.ge.s32 p, i, n;",
        "    mov.u32 c, %ctaid.y;\n    add.s32 i, i, c;\n    mov.u32 c, %ctaid.z;\n"
        "    add.s32 i, i, c;\n    setp.ge.s32 p, i, n;",
    )
    x, y = arrays()
    rows = np.stack([x, y, x + y])
    got = jax.vmap(made(text), in_axes=(None, 0, None))(2.0, rows, jnp.asarray(y))
    np.testing.assert_array_equal(got, expected(2.0, rows, y))
