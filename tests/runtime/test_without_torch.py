"""PyTorch is imported when it is used, and by nothing else; without it one error says so."""

import subprocess
import sys
import textwrap

WITHOUT = """
    import sys
    sys.modules["torch"] = None  # as if it were not installed
"""


def printed(program):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_imports_it():
    program = """
        import sys
        import numpy as np
        import pyptx, pyptx.ops
        from pyptx import Tile, kernel, ptx, reg
        from pyptx.ops._rms_norm import RmsNorm
        from pyptx.ops.rowwise import plan
        from pyptx.types import f32, u32

        @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
        def plus_one(X, Y):
            i = reg.from_(ptx.special.tid.x(), u32)
            Y[i] = X[i] + 1.0

        x = np.zeros(32, np.float32)
        assert (plus_one(x) == 1).all()
        norm = plan.operation(RmsNorm(32, f32, f32, 1e-5), (32,))
        norm(x[None], x)
        print({"torch", "jax"} & set(sys.modules))
    """
    assert printed(program) == "set()\n"


def test_its_absence_is_one_error():
    program = (
        WITHOUT
        + """
    try:
        import pyptx.torch
    except ImportError as error:
        print(error)
    """
    )
    assert printed(program) == (
        "pyptx.torch needs PyTorch, which is not installed here\n  help: pip install torch\n"
    )


def test_kernels_run_without_it():
    program = (
        WITHOUT
        + """
    import numpy as np
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
    def plus_one(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        Y[i] = X[i] + 1.0

    x = np.zeros(32, np.float32)
    print(plus_one(x).sum(), plus_one.emulate(x).report.status)
    """
    )
    assert printed(program) == "32.0 ok\n"
