# ruff: noqa: E501 -- whole messages stand on their lines
"""Kernels as JAX operations on the CPU: the handler runs the emulator on XLA's buffers."""

import threading
import warnings

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

import pyptx  # noqa: E402
from pyptx import ptx, reg  # noqa: E402
from pyptx._runtime import targets  # noqa: E402
from pyptx._source import UNKNOWN  # noqa: E402
from pyptx.errors import CallError, DeviceError, SpecError  # noqa: E402
from pyptx.types import f32, u8, u32  # noqa: E402

# JAX raises the second from its C++ dispatch, once a jitted function has run before.
RUN_ERRORS = (jax.errors.JaxRuntimeError, ValueError)
X = np.random.default_rng(0).standard_normal((5, 200)).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_cpu(monkeypatch):
    monkeypatch.delenv("PYPTX_TARGET", raising=False)
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def test_eager(kernels):
    y = kernels.scale(jnp.asarray(X), 2.5)
    assert isinstance(y, jax.Array)
    np.testing.assert_array_equal(y, X * np.float32(2.5))


def test_jit_with_a_traced_scalar(kernels):
    f = jax.jit(lambda x, s: kernels.scale(kernels.scale(x, s), 0.5) + 1)
    for factor in (3.0, np.float32(-2), jnp.float32(0.1)):
        want = X * np.float32(factor) * np.float32(0.5) + 1
        np.testing.assert_array_equal(f(X, factor), want)
    traced = f._cache_size()
    f(X, 5.0)
    assert f._cache_size() == traced, "another value is no other program"


def test_two_outputs(kernels):
    w = np.arange(200, dtype=np.float32)
    for f in (kernels.both, jax.jit(kernels.both)):
        total, difference = f(jnp.asarray(X), jnp.asarray(w))
        np.testing.assert_array_equal(total, X + w)
        np.testing.assert_array_equal(difference, X - w)


def test_no_inputs(kernels):
    np.testing.assert_array_equal(kernels.iota(), np.arange(256))
    np.testing.assert_array_equal(jax.jit(lambda: kernels.iota() * 2)(), np.arange(256) * 2)


def test_no_rows(kernels):
    assert kernels.scale(jnp.zeros((0, 200), jnp.float32), 1.0).shape == (0, 200)
    assert kernels.scale(jnp.zeros((3, 0), jnp.float32), 1.0).shape == (3, 0)


def test_an_alias_keeps_the_input_that_is_not_donated(kernels):
    x = jnp.arange(128, dtype=jnp.float32)
    np.testing.assert_array_equal(kernels.increment(x), np.arange(128) + 1)
    np.testing.assert_array_equal(jax.jit(kernels.increment)(x), np.arange(128) + 1)
    np.testing.assert_array_equal(x, np.arange(128))


def test_an_alias_of_a_donated_input_is_in_place(kernels):
    f = jax.jit(kernels.increment, donate_argnums=0)
    x = jnp.arange(128, dtype=jnp.float32) * 1
    where = x.unsafe_buffer_pointer()
    y = f(x)
    np.testing.assert_array_equal(y, np.arange(128) + 1)
    assert y.unsafe_buffer_pointer() == where
    assert x.is_deleted()


def test_control_flow_and_remat(kernels):
    def body(carry, _):
        return kernels.scale(carry, 2.0), ()

    scanned = jax.jit(lambda x: jax.lax.scan(body, x, length=3)[0])
    np.testing.assert_array_equal(scanned(X), X * 8)
    np.testing.assert_array_equal(
        jax.jit(jax.checkpoint(lambda x: kernels.scale(x, 2.0)))(X), X * 2
    )
    chosen = jax.jit(lambda p, x: jax.lax.cond(p, lambda: kernels.scale(x, 2.0), lambda: x))
    np.testing.assert_array_equal(chosen(True, X), X * 2)
    np.testing.assert_array_equal(chosen(False, X), X)


def test_custom_vjp(kernels):
    @jax.custom_vjp
    def double(x):
        return kernels.scale(x, 2.0)

    double.defvjp(lambda x: (double(x), None), lambda _, g: (kernels.scale(g, 2.0),))
    gradient = jax.jit(jax.grad(lambda x: (double(x) ** 2).sum()))(X)
    np.testing.assert_allclose(gradient, X * 8, rtol=1e-6)


def test_threads(kernels):
    f = jax.jit(lambda x: kernels.scale(x, 2.0))
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((seed + 1, 200)).astype(np.float32)
        wrong.extend(seed for _ in range(10) if not np.array_equal(f(x), x * 2))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_finding_raises_and_the_process_goes_on(kernels):
    x = jnp.ones(128, jnp.float32)
    for f in (kernels.beyond, jax.jit(kernels.beyond)):
        with pytest.raises(RUN_ERRORS, match=r"kernels\.py:\d+") as caught:
            jax.block_until_ready(f(x))
        assert "beyond" in str(caught.value)
    np.testing.assert_array_equal(kernels.increment(x), np.full(128, 2, np.float32))


def test_the_environment_adds_the_sanitizer(monkeypatch):
    from pyptx import Tile, kernel, ptx
    from pyptx.types import u32

    @kernel(in_specs=(Tile(1, u32),), out_specs=(Tile(1, u32, partial=True), Tile(1, u32)))
    def uninitialised(X, Y, Z):
        _, py, pz = ptx.global_ptrs(X, Y, Z)
        ptx.inst.st.global_.u32(ptx.addr(pz), ptx.inst.ld.global_.u32(ptx.addr(py)))

    f = jax.jit(uninitialised)
    x = jnp.zeros(1, jnp.uint32)
    jax.block_until_ready(f(x))
    monkeypatch.setenv("PYPTX_EMULATOR_SANITIZE", "1")
    with pytest.raises(RUN_ERRORS, match="uninitialised memory is read") as caught:
        jax.block_until_ready(f(x))
    assert "Y[0]" in str(caught.value)


def test_a_kernel_has_no_derivative_of_its_own(kernels):
    with pytest.raises(NotImplementedError) as caught:
        jax.grad(lambda x: kernels.increment(x).sum())(jnp.ones(128, jnp.float32))
    assert str(caught.value) == (
        "kernel increment has no derivative; wrap it in jax.custom_vjp "
        "with a kernel for the gradient"
    )


def test_64_bit_outputs_need_64_bit_jax():
    from pyptx import Tile, kernel, ptx
    from pyptx.types import f64

    @kernel(in_specs=(), out_specs=(Tile(1, f64),), arch="sm_90a")
    def one(Y):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f64(ptx.addr(py), 1.0)

    with pytest.raises(CallError) as caught:
        one()
    assert caught.value.location.file == __file__
    assert str(caught.value) == (
        f"{caught.value.location}: kernel one writes float64, and JAX has 64-bit types switched off\n"
        "    one()\n"
        '  help: jax.config.update("jax_enable_x64", True)'
    )
    with jax.enable_x64(True):
        assert one().dtype == np.float64


def test_64_bit_scalars_need_64_bit_jax():
    from pyptx._runtime.jax import runtime as runtime_jax

    with pytest.raises(CallError) as caught:
        runtime_jax.scalar(1, "int64", "S")
    assert str(caught.value) == (
        "a scalar is int64, and JAX has 64-bit types switched off\n"
        '  help: jax.config.update("jax_enable_x64", True)'
    )


# ---- lowering ------------------------------------------------------------------------------------


def lowered(f, *args):
    with warnings.catch_warnings():
        return jax.jit(f).trace(*args).lower(lowering_platforms=("cuda",)).as_text()


def has_gpu():
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:
        return False


def test_a_target_is_needed_without_a_device(kernels):
    if has_gpu():
        pytest.skip("there is a GPU to take the target from")
    with pytest.raises(DeviceError) as caught:
        lowered(kernels.scale, X, 1.0)
    assert str(caught.value) == (
        'a kernel with arch="auto" is lowered for CUDA, and no GPU is here to take the target from\n'
        '  help: lower it inside `with pyptx.target("sm_90a"):`, or set PYPTX_TARGET, '
        "or give the kernel arch="
    )


def test_named_targets_and_their_caches(kernels, monkeypatch):
    f = jax.jit(kernels.scale)

    def embedded():
        text = f.trace(X, 1.0).lower(lowering_platforms=("cuda",)).as_text()
        return [t for t in ("sm_80", "sm_90a", "sm_100a") if f"{t} = dense" in text]

    with pyptx.target("sm_90a", "sm_80"):
        assert embedded() == ["sm_80", "sm_90a"]
        with pyptx.target("sm_100a"):
            assert embedded() == ["sm_100a"]
        assert embedded() == ["sm_80", "sm_90a"]
    if not has_gpu():
        monkeypatch.setenv("PYPTX_TARGET", "sm_80, sm_100a")
        assert embedded() == ["sm_80", "sm_100a"]


def test_a_fixed_arch_needs_no_target(kernels):
    text = lowered(kernels.increment, X[0, :128])
    assert "@pyptx_cuda" in text
    assert "sm_90a = dense" in text
    assert "output_operand_alias" in text


def test_wrong_target_names():
    with pytest.raises(SpecError) as caught, pyptx.target("sm_91"):
        pass
    assert str(caught.value).startswith("pyptx.target: unknown target 'sm_91'; known: sm_75 ")
    with pytest.raises(SpecError) as caught, pyptx.target():
        pass
    assert str(caught.value) == ('pyptx.target() names no target\n  help: pyptx.target("sm_90a")')


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        ("9.0", "sm_90a"),
        ("8.0", "sm_80"),
        ("10.0", "sm_100a"),
        ("12.1", "sm_121a"),
        ("7.5", "sm_75"),
    ],
)
def test_the_target_of_a_device(capability, name):
    assert str(targets.for_capability(capability)) == name


def test_an_unknown_device():
    with pytest.raises(DeviceError) as caught:
        targets.for_capability("6.1")
    assert str(caught.value).startswith("no known target for a device of compute capability 6.1\n")


def test_programs_hold_no_paths_and_do_not_depend_on_the_process(process):
    program = """
        import hashlib, jax, numpy as np, kernels
        x = np.ones((5, 200), np.float32)
        traced = jax.jit(kernels.scale).trace(x, np.float32(1))
        text = traced.lower(lowering_platforms=("cpu", "cuda")).as_text()
        assert "kernels.py" not in text and "pyptx_cpu" in text and "pyptx_cuda" in text
        print(hashlib.sha256(text.encode()).hexdigest())
    """
    seen = {process(program, PYTHONHASHSEED=seed, PYPTX_TARGET="sm_90a") for seed in ("1", "2")}
    assert len(seen) == 1


# ---- processes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(copied, tmp_path_factory):
    """Programs exported for CPU and CUDA by a copied without any device but the CPU."""
    folder = tmp_path_factory.mktemp("exported")
    program = """
        import sys, pathlib, jax, numpy as np, pyptx, kernels
        folder = pathlib.Path(sys.argv[1])
        def save(name, f, *args):
            with pyptx.target("sm_90a", "sm_100a"):
                e = jax.export.export(jax.jit(f), platforms=("cpu", "cuda"),
                                      disabled_checks=pyptx.export_safety_checks())(*args)
            (folder / name).write_bytes(e.serialize())
        x = jax.ShapeDtypeStruct((5, 200), np.float32)
        save("scale", kernels.scale, x, jax.ShapeDtypeStruct((), np.float32))
        (b,) = jax.export.symbolic_shape("b")
        save("square", kernels.square, jax.ShapeDtypeStruct((b, 128), np.float32))
        save("beyond", kernels.beyond, jax.ShapeDtypeStruct((128,), np.float32))
    """
    copied(program, folder)
    return folder


@pytest.mark.parametrize(
    "imports", ["import pyptx, jax, jax.export", "import jax, jax.export, pyptx"]
)
def test_exported_programs_run_in_another_process(process, exported, imports):
    program = f"""
        import sys, pathlib, numpy as np
        {imports}
        load = lambda name: jax.export.deserialize(
            bytearray((pathlib.Path(sys.argv[1]) / name).read_bytes()))
        x = np.arange(1000, dtype=np.float32).reshape(5, 200)
        np.testing.assert_array_equal(load("scale").call(x, np.float32(3)), x * 3)
        square = load("square")
        for rows in (1, 7):
            x = np.random.default_rng(rows).standard_normal((rows, 128)).astype(np.float32)
            np.testing.assert_array_equal(square.call(x), x * x)
        try:
            load("beyond").call(np.ones(128, np.float32))
        except jax.errors.JaxRuntimeError as error:
            print("found", "beyond" in str(error))
        print("ok")
    """
    assert process(program, exported).split() == ["found", "True", "ok"]


def test_the_persistent_cache(copied, tmp_path):
    program = """
        import sys, jax, numpy as np
        from jax._src import monitoring
        jax.config.update("jax_compilation_cache_dir", sys.argv[1])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        hits = []
        monitoring.register_event_listener(
            lambda event, **_: hits.append(event) if event.endswith("cache_hits") else None)
        from pyptx import Tile, kernel, ptx, reg
        from pyptx.types import f32, u32

        @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128)
        def add(X, Y, *, amount):
            px, py = ptx.global_ptrs(X, Y)
            at = reg.from_(ptx.special.tid.x(), u32) * 4
            x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
            ptx.inst.st.global_.f32(ptx.addr(py + at), x + amount)

        amount = float(sys.argv[2])
        x = np.arange(128, dtype=np.float32)
        y = jax.jit(lambda x: add(x, amount=amount))(x)
        np.testing.assert_array_equal(y, x + amount)
        print(len(hits))
    """
    counts = [int(copied(program, tmp_path, amount)) for amount in (1.0, 1.0, 2.0)]
    assert [count > 0 for count in counts] == [False, True, False], counts


def test_several_devices(copied):
    program = """
        import jax, jax.numpy as jnp, numpy as np, kernels
        from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
        from pyptx.errors import CallError

        devices = jax.devices()
        assert len(devices) == 4
        x = np.random.default_rng(0).standard_normal((8, 200)).astype(np.float32)
        f = jax.jit(kernels.scale)
        for device in devices:
            y = f(jax.device_put(x, device), 3.0)
            assert y.devices() == {device}
            np.testing.assert_array_equal(y, x * 3)
            y = kernels.scale(jax.device_put(x, device), jax.device_put(np.float32(2), device))
            assert y.devices() == {device}

        def refused(call):
            try:
                call()
            except CallError as error:
                line, _, message = str(error).partition(": ")
                assert line.startswith("<string>:"), line
                return message
            raise AssertionError("nothing was raised")

        for kind in (AxisType.Auto, AxisType.Explicit):
            mesh = jax.make_mesh((4,), ("data",), axis_types=(kind,))
            sharded = jax.device_put(x, NamedSharding(mesh, P("data")))
            for check in (True, False):
                for scalar in (2.0, jnp.float32(2)):
                    local = jax.shard_map(
                        lambda a: kernels.scale(a, scalar) + kernels.iota()[:1], mesh=mesh,
                        in_specs=P("data"), out_specs=P("data"), check_vma=check)
                    np.testing.assert_array_equal(jax.jit(local)(sharded), x * 2)
                    np.testing.assert_array_equal(local(sharded), x * 2)
            problem = (
                "dimension 0 of X is sharded over 'data', and kernel scale needs it whole\\n"
                "  help: call the kernel inside jax.shard_map, or replicate the array\\n"
                "  help: parallel= names dimensions that a kernel treats each index of on its own")
            assert refused(lambda: kernels.scale(sharded, 2.0)) == problem
            replicated = jax.device_put(x, NamedSharding(mesh, P()))
            np.testing.assert_array_equal(f(replicated, 2.0), x * 2)
            np.testing.assert_array_equal(kernels.scale(replicated, 2.0), x * 2)
            if kind is AxisType.Auto:
                np.testing.assert_array_equal(f(sharded, 2.0), x * 2)
            else:
                assert refused(lambda: f(sharded, 2.0)) == problem

        # What varies over the mesh stays so, or a sum over devices would count it wrong.
        mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,))
        total = jax.jit(jax.shard_map(
            lambda a: jax.lax.psum(kernels.scale(a, 2.0).sum(), "data"),
            mesh=mesh, in_specs=P("data"), out_specs=P()))
        np.testing.assert_allclose(total(x), x.sum() * 2, rtol=1e-4)
        print("ok")
    """
    assert copied(program, XLA_FLAGS="--xla_force_host_platform_device_count=4") == "ok\n"


# ---- registration --------------------------------------------------------------------------------


def test_handlers_of_a_newer_xla_are_refused(monkeypatch):
    from pyptx._runtime.jax import registration

    class Library:
        @staticmethod
        def pyptx_ffi_api_minor():
            return 99

    monkeypatch.setattr(registration.loader, "ffi_library", Library)
    monkeypatch.setattr(registration, "_registered", [])
    with pytest.raises(DeviceError) as caught:
        registration.register()
    assert str(caught.value).startswith(
        "the native library was built for XLA FFI 0.99 and this jaxlib has 0."
    )
    with pytest.warns(UserWarning, match="compiled programs with pyptx kernels will not run"):
        registration.register_with_jax()


def test_an_old_jax_is_refused(monkeypatch):
    from pyptx._runtime.jax import registration

    monkeypatch.setattr(registration, "_registered", [])
    monkeypatch.setattr(jax, "__version_info__", (0, 9, 2))
    with pytest.raises(DeviceError) as caught:
        registration.register()
    assert str(caught.value) == "jax 0.9.2 is too old for pyptx\n  help: pip install 'jax>=0.10'"


def test_importing_pyptx_does_not_import_jax(process):
    program = """
        import sys, pyptx
        assert "jax" not in sys.modules and "jaxlib" not in sys.modules
        assert any(type(f).__name__ == "_AfterImport" for f in sys.meta_path)
        import jax
        from pyptx._runtime.jax import registration
        assert registration._registered
        assert not any(type(f).__name__ == "_AfterImport" for f in sys.meta_path)
        print("ok")
    """
    assert process(program) == "ok\n"


@pytest.mark.parametrize("wanted", [False, True])
def test_profilers_see_python_lines_where_asked(kernels, monkeypatch, wanted):
    """Only $PYPTX_LINE_INFO puts paths into what a program carries."""
    monkeypatch.setenv("PYPTX_LINE_INFO", "1" if wanted else "0")
    x = jnp.asarray(X)
    arrays = [x, jnp.float32(1)]
    call = kernels.scale._prepare(arrays, {}, by_reference=True, location=UNKNOWN)
    code = call.code[0].cubin(targets.DEFAULT).code
    assert (b"kernels.py" in code) == wanted


@pytest.mark.parametrize("factor", [2.0, 2, np.float64(2)])
def test_a_number_in_a_function_that_is_checkpointed(kernels, factor):
    """JAX evaluates it with constants that are no arrays of JAX."""
    found = jax.checkpoint(lambda x: kernels.scale(x, factor))(jnp.asarray(X))
    np.testing.assert_array_equal(found, X * 2)
    np.testing.assert_array_equal(jax.checkpoint(kernels.scale)(X, factor), X * 2)
    np.testing.assert_array_equal(jax.checkpoint(lambda: kernels.scale(X, factor))(), X * 2)


def test_an_operation_with_a_number_that_is_checkpointed():
    from pyptx.ops import rms_norm

    x, w = jnp.asarray(X), jnp.ones(X.shape[-1], jnp.float32)
    found = jax.checkpoint(lambda x: rms_norm(x, w, 1e-3))(x)
    np.testing.assert_array_equal(found, rms_norm(x, w, 1e-3))
    static = jax.checkpoint(rms_norm, static_argnums=2)(x, w, 1e-3)
    np.testing.assert_array_equal(static, found)


def test_the_value_of_an_array_on_a_cpu_is_checked_as_a_numbers_is():
    big, x = jnp.asarray(2**31 - 1, jnp.int32), jnp.asarray(X)
    with pytest.raises(CallError) as caught:
        counted(x, big)
    assert (
        str(caught.value)
        .split("\n", 1)[0]
        .endswith("n is a Scalar(u8) and is given 2147483647, which is out of its range")
    )
    assert "  legal: whole numbers from 0 to 255" in str(caught.value)
    np.testing.assert_array_equal(counted(x, jnp.asarray(200, jnp.int32)), np.full_like(X, 200))
    jax.jit(counted)(x, big).block_until_ready()  # not known while it is traced


@pyptx.kernel(
    in_specs=(pyptx.Tile("N", "M", f32), pyptx.Scalar(u8)),
    out_specs=(pyptx.Tile("N", "M", f32),),
    grid=lambda N, M: (N, M),
)
def counted(x, n, Y):
    i, j = (reg.from_(s(), u32) for s in (ptx.special.ctaid.x, ptx.special.ctaid.y))
    Y[i, j] = ptx.inst.cvt.rn.f32.u8(n)
