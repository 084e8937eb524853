"""Every public callable of pyptx with wrong arguments: it takes them, or raises pyptx's errors."""

import inspect
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import pyptx
from pyptx import (
    Im2col,
    In,
    Out,
    PtxError,
    Scalar,
    Struct,
    Surface,
    Texture,
    Tile,
    device,
    from_ptx,
    kernel,
    ptx,
    sequence,
)
from pyptx._target import Target
from pyptx.ops import rms_norm, rms_norm_bwd, rms_norm_fwd
from pyptx.types import f32

X = np.ones(8, np.float32)
WRONG = ["x", object(), -1, None, np.ones(3), 1.5, [], {}, lambda: None]
SPECS = {"in_specs": (Tile("B", f32),), "out_specs": (Tile("B", f32),)}


@kernel(**SPECS, parallel=("B",), grid=lambda B: B)
def copy(X, Y, *, scale=1):
    i = ptx.special.ctaid.x()
    with ptx.if_(ptx.special.tid.x() == 0):
        Y[i] = X[i] * (1.0 if scale is None else 2.0)


@kernel(in_specs=(Scalar(f32), Tile("B", f32)), out_specs=(Tile("B", f32),), grid=lambda B: B)
def scaled(a, X, Y):
    i = ptx.special.ctaid.x()
    Y[i] = X[i] * a


@sequence(**SPECS, parallel=("B",))
def twice(x, *, scale=1):
    return copy(copy(x, scale=scale))


FOREIGN = copy.ptx()


def _foreign(source=FOREIGN, **options):
    given = {
        **SPECS,
        "grid": lambda B: B,
        "block": 1,
        "params": (In(0), Out(0), "B"),
        "parallel": ("B",),
    }
    return from_ptx(source, **{**given, **options})


def _makes(*arguments, **options):
    """A kernel of these options is made, traced, and run on arrays."""
    made = kernel(*arguments, **{**SPECS, "grid": lambda B: B, **options})
    made = made if isinstance(made, pyptx.Kernel) else made(lambda X, Y: None)
    made.ptx(B=8)
    made.emulate(X)


def _sequence(*arguments, **options):
    sequence(*arguments, **{**SPECS, **options})(lambda x: copy(x))(X)


def _from_ptx(*arguments, **options):
    from_ptx(*arguments, **options).emulate(X)


def _tile(*dims, **options):
    _makes(in_specs=(Tile(*dims, **options),))


def _target(*names, **keywords):
    with pyptx.target(*names, **keywords):
        copy.ptx()


def _conditional(*arguments, **keywords):
    sequence(**SPECS, parallel=("B",))(lambda x: pyptx.cond(*arguments, x, **keywords))(X)


def _lowered_for(*arguments, **keywords):
    def body(x):
        pyptx.lowered_for(*arguments, **keywords)
        return copy(x)

    sequence(**SPECS)(body)(X)


def _param(make):
    return lambda *arguments, **keywords: _foreign(params=(make(*arguments, **keywords), Out(0), 8))


def _im2col(*arguments, **keywords):
    Tile("N", "H", "W", 64, f32, tma_im2col=Im2col(*arguments, **keywords))


EMULATE = {
    "sanitize": True, "threads": 1, "max_instructions": 10_000, "max_launch_instructions": 10_000,
    "max_seconds": 10.0, "seed": 1, "statistics": True, "completion": "late",
}  # fmt: skip
MAPPED = {
    "sum_over": None, "accumulate": None, "partial": False, "init": None, "layout": None,
    "tma_box": (8,), "tma_element_strides": (1,), "tma_l2_promotion": pyptx.L2Promotion.NONE,
    "tma_oob_fill": pyptx.OobFill.ZEROS, "tma_im2col": None,
}  # fmt: skip
KERNEL = {
    "name": "k", **SPECS, "grid": 1, "block": 32, "cluster": 1, "smem": 64, "arch": "sm_90a",
    "version": "8.6", "contract": False, "parallel": ("B",), "input_output_aliases": {0: 0},
    "cooperative": False, "programmatic_stream_serialization": False, "maxnreg": 32,
}  # fmt: skip
FILE = {
    **SPECS, "grid": 1, "block": 32, "entry": "copy", "params": (In(0), Out(0), "B"), "cluster": 1,
    "smem": 64, "arch": "sm_90a", "contract": False, "parallel": ("B",),
    "input_output_aliases": {}, "cooperative": False, "programmatic_stream_serialization": False,
    "lines": "ptx",
}  # fmt: skip
LOOK = {"B": 8, "scale": 1}

CALLS = {
    "kernel": (_makes, (), KERNEL),
    "kernel, bare": (kernel, (lambda: None,), {}),
    "kernel(...)": (kernel(), (lambda: None,), {}),
    "sequence": (_sequence, (), {**SPECS, "parallel": ("B",)}),
    "sequence(...)": (sequence(**SPECS), (lambda x: x,), {}),
    "from_ptx": (_from_ptx, (FOREIGN,), FILE),
    "from_ptx, a path": (from_ptx, (Path("missing.ptx"),), FILE),
    "Tile": (_tile, ("B", f32), MAPPED),
    "Scalar": (Scalar, (f32,), {}),
    "In": (_param(In), (0,), {}),
    "Out": (_param(Out), (0,), {}),
    "Struct": (_param(Struct), ({0: In(0)},), {}),
    "Texture": (_param(Texture), (In(0), "2d"), {}),
    "Surface": (_param(Surface), (In(0), "2d"), {}),
    "Im2col": (_im2col, ((0,), (0,), 64, 8), {}),
    "target": (_target, ("sm_90a", "sm_100a"), {}),
    "sanitize": (pyptx.sanitize, (), {}),
    "cond": (_conditional, (lambda B: B < 4, copy, twice), {}),
    "lowered_for": (_lowered_for, (), {}),
    "collectives": (pyptx.collectives, ("x",), {}),
    "export_safety_checks": (pyptx.export_safety_checks, (), {}),
    "device.of": (device.of, (Target.parse("sm_90a"),), {}),
    "device.common": (device.common, ((Target.parse("sm_90a"),),), {}),
    "rms_norm": (rms_norm, (X, X), {"eps": 1e-5}),
    "rms_norm_fwd": (rms_norm_fwd, (X, X), {"eps": 1e-5}),
    "rms_norm_bwd": (rms_norm_bwd, (jnp.asarray(X), jnp.float32(1), X, X), {"eps": 1e-5}),
    "scalar": (scaled, (1.0, X), {}),
    "scalar, JAX": (scaled, (1.0, jnp.asarray(X)), {}),
    "scalar, emulate": (scaled.emulate, (1.0, X), EMULATE),
}  # fmt: skip
for what, operation in (("k", copy), ("s", twice), ("f", _foreign())):
    constants = {} if what == "f" else {"scale": 1}
    CALLS |= {
        f"{what}": (operation, (X,), constants),
        f"{what}, JAX": (operation, (jnp.asarray(X),), constants),
        f"{what}.emulate": (operation.emulate, (X,), {**EMULATE, **constants}),
        f"{what}.check_parallel": (operation.check_parallel, (X,), constants),
    }
    if what != "s":
        look = {"B": 8, **constants}
        CALLS |= {
            f"{what}.ptx": (operation.ptx, (), {"lines": False, **look}),
            f"{what}.module": (operation.module, (), look),
            f"{what}.cubin": (operation.cubin, (), {"arch": "sm_90a", "line_info": False, **look}),
            # Any constant is another kernel, each of which would be taken apart.
            f"{what}.sass": (operation.sass, (), {"arch": "sm_90a", "B": 8}),
        }


def _attempts(positional, named):
    """Argument lists with one wrong argument each, then lists of a wrong length."""
    for wrong in WRONG:
        for i in range(len(positional)):
            yield (*positional[:i], wrong, *positional[i + 1 :]), named
        for name in named:
            yield positional, {**named, name: wrong}
        yield (*positional, wrong), named
    yield (), {}
    yield positional[:-1], named
    yield positional * 9 + (1,) * 9, named
    yield positional, {**named, "no_such_keyword": 1}


def _shown(positional, named):
    return f"{positional}"[:80], {k: repr(v)[:40] for k, v in named.items()}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_only_errors_of_pyptx_leave(name):
    call, positional, named = CALLS[name]
    found = {}
    for arguments, keywords in _attempts(positional, named):
        try:
            call(*arguments, **keywords)
        except PtxError:
            pass
        except Exception as error:  # noqa: BLE001  # these are what the test looks for
            problem = f"{type(error).__name__}: {error}"
            found.setdefault(problem, _shown(arguments, keywords))
    assert not found


NOT_CALLED = {
    # What the language makes: a body gets them, and nobody calls their classes.
    "ForeignKernel", "Kernel", "KernelSequence", "Mbarrier", "Mbarriers", "Pred", "Reg",
    "SharedTile", "Tensor", "TensorMapReg",
    # Enumerations, whose members are named.
    "L2Promotion", "Layout", "OobFill",
    # Raised, not called.
    "AssembleError", "CallError", "DeviceError", "EmulationError", "IsaError", "LanguageError",
    "LanguageWarning", "PtxError", "SpecError",
}  # fmt: skip


def test_every_public_callable_is_tried():
    public = {n for n, v in vars(pyptx).items() if not n.startswith("_") and callable(v)}
    assert public - NOT_CALLED == {name for name in CALLS if hasattr(pyptx, name)}
    for what, owner in (("k", pyptx.Kernel), ("s", pyptx.KernelSequence)):
        methods = {
            n for n in dir(owner) if not n.startswith("_") and inspect.isfunction(getattr(owner, n))
        }
        assert methods == {name[2:] for name in CALLS if name.startswith(f"{what}.")}


def _message(call, *arguments, **keywords):
    with pytest.raises(PtxError) as caught:
        call(*arguments, **keywords)
    lines = str(caught.value).replace(f"{caught.value.location}: ", "here: ").splitlines()
    return "\n".join([lines[0], *lines[2:]])  # without the source line


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "here: seed='x' is not a whole number from 0 to 2**64 - 1\n  help: seed=1",
            lambda: copy.emulate(X, seed="x"),
        ),
        (
            "here: sanitize='x' is not True or False\n  help: sanitize=True",
            lambda: copy.emulate(X, sanitize="x"),
        ),
        (
            "here: max_seconds=-1 is not a positive number of seconds\n  help: max_seconds=10",
            lambda: copy.emulate(X, max_seconds=-1),
        ),
        (
            ("here: completion='soon' is not one of 'eager', 'late', 'reversed', 'random'\n"
            '  help: completion="late"'),
            lambda: copy.emulate(X, completion="soon"),
        ),
        ("here: copy takes 1 arrays (X), not 2", lambda: copy(1, 2)),
        (
            "here: Scalar() missing 1 required positional argument: 'dtype'\n  takes: Scalar(dtype)",
            lambda: Scalar(),
        ),
        (
            ("here: k.ptx() takes 0 positional arguments and is given 1\n"
            "  takes: k.ptx(*, lines=False, arch=None, **dims_and_constants)"),
            lambda: copy.ptx("x"),
        ),
        (
            ("here: k.sass() takes 0 positional arguments and is given 1\n"
            "  takes: k.sass(*, arch=None, **dims_and_constants)"),
            lambda: copy.sass(1),
        ),
        (
            "here: lines='x' is not True or False\n  help: lines=True",
            lambda: copy.ptx(lines="x"),
        ),
        (
            "here: grid= gives 1.5; a grid is one to three sizes (x, y, z)",
            lambda: kernel(grid=1.5),
        ),
        (
            ("here: pyptx.target takes names of targets, not 5\n"
            '  help: pyptx.target("sm_90a")'),
            lambda: pyptx.target(5),
        ),
        (
            ("here: entry=5 is not the name of an entry\n  entries: copy\n"
            '  help: entry="copy"'),
            lambda: _foreign(entry=5),
        ),
        (
            ("here: pyptx.sanitize() takes 0 positional arguments and is given 1\n"
            "  takes: pyptx.sanitize(*, schedules=1)"),
            lambda: pyptx.sanitize("x"),
        ),
        (
            ("here: cond chooses between kernels and sequences, and 5 is neither\n"
            "  help: cond(lambda B: B <= 16, one, other, x)"),
            lambda: _conditional(lambda B: B < 4, 5, copy),
        ),
        (
            ("here: 'x' is not a target, nor a tuple of targets\n"
            "  help: pyptx.device.common(pyptx.lowered_for()) in a sequence"),
            lambda: device.of("x"),
        ),
        (
            ("here: reg has no foo\n"
            "  names: array from_ mma_frag scalar undefined wgmma_frag"),
            lambda: pyptx.reg.foo,
        ),
        (
            "here: smem has no aloc\n  nearest: alloc",
            lambda: pyptx.smem.aloc,
        ),
        ("here: pyptx has no kernl\n  nearest: kernel Kernel", lambda: pyptx.kernl),
        ("here: ptx has no rnge_\n  nearest: range_ ring", lambda: ptx.rnge_.foo),
        ("here: ptx.warp has no reduce_summ\n  nearest: reduce_sum reduce_min reduce_max", lambda: ptx.warp.reduce_summ),
        ("here: pyptx.types has no f33\n  nearest: f32", lambda: pyptx.types.f33),
    ],
)  # fmt: skip
def test_the_message(message, call):
    found = _message(call)
    names = "\n  names: "
    assert (found if names in message else found.partition(names)[0]) == message


def test_a_missing_name_is_no_attribute():
    assert not hasattr(pyptx, "kernl")
    assert getattr(ptx, "rnge_", None) is None
    with pytest.raises(ImportError, match="cannot import name 'kernl' from 'pyptx'"):
        exec("from pyptx import kernl")  # what users write
