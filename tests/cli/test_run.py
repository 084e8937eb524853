"""`run`: programs and kernels in the emulator with all checks."""

import re

import numpy as np

REVERSE = """
    import numpy as np
    from pyptx import Tile, kernel, ptx, reg, smem
    from pyptx.types import f32, u32

    @kernel(in_specs=(Tile(256, f32),), out_specs=(Tile(256, f32),), block=256)
    def reverse(X, Y):
        tile = smem.alloc(f32, 256)
        x, y = ptx.global_ptrs(X, Y)
        i = reg.from_(ptx.special.tid.x(), u32)
        tile[i] = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
        {barrier}
        ptx.inst.st.global_.f32(ptx.addr(y + i * 4), tile[255 - i])

    if __name__ == "__main__":
        {body}
    """
RACY = REVERSE.format(barrier="pass", body="print(reverse(np.arange(256, dtype=np.float32))[:2])")
CLEAN = RACY.replace("        pass\n", "        ptx.bar.sync(0)\n")
JITTED = CLEAN.replace(
    "print(reverse(np.arange(256, dtype=np.float32))[:2])",
    "import jax; f = jax.jit(lambda x: reverse(x) + 1)\n"
    "        for _ in range(3): print(f(jax.numpy.arange(256.0))[0], type(f).__name__)",
)


def test_a_program_with_a_race_is_stopped_and_explained(process, program):
    file = program(RACY)
    done = process("run", file)
    assert done.status == 1
    assert done.err == ""
    assert f"{file}:10: race in shared memory" in done.out
    assert f"loads at {file}:12" in done.out
    assert "[255. 254.]" not in done.out


def test_its_clean_twin_runs_to_the_end(process, program):
    done = process("run", program(CLEAN))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("[255. 254.]\nreverse: no findings\n")


def test_memory_is_counted_per_python_line(process, program):
    rows = process("run", program(CLEAN)).out
    load = re.search(r"(?m)^program.py:10 +(\S.*?) {2,}(\d+) +32 +32 +1 +8 +1", rows)
    assert load, rows
    assert load[1].startswith("tile[i] = ptx.inst.ld.global_.f32(")


def test_a_jitted_program_is_seen_call_by_call(process, program):
    done = process("run", program(JITTED))
    assert (done.status, done.err) == (0, "")
    assert done.out.count("256.0") == 3
    assert done.out.count("reverse: no findings") == 1
    single = process("run", program(CLEAN)).out
    executed = [int(m.replace(",", "")) for m in re.findall(r"(?m)^([\d,]+) warp-inst", done.out)]
    once = [int(m.replace(",", "")) for m in re.findall(r"(?m)^([\d,]+) warp-inst", single)]
    assert executed == [3 * once[0]]


def test_a_kernel_is_run_on_random_arrays(pyptx):
    done = pyptx("run", "examples/first_kernel.py", "--dim", "N=999")
    assert done.status == 0
    assert done.out.startswith("axpy: no findings\n")
    assert "first_kernel.py:" in done.out


def test_arrays_that_do_not_fit_into_memory(pyptx):
    for size, said in (("9" * 13, "Unable to allocate .*"), ("9" * 30, "Maximum allowed .*")):
        done = pyptx("run", "examples/first_kernel.py", "--dim", f"N={size}")
        assert (done.status, done.out) == (1, "")
        assert re.fullmatch(f"error: there is no array for \\w of axpy: {said}\n", done.err)


def test_a_kernel_that_reads_beyond_its_input(pyptx, program):
    file = program("""
        from pyptx import Tile, kernel, ptx, reg
        from pyptx.types import f32, u32

        @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=128)
        def copy(X, Y):
            x, y = ptx.global_ptrs(X, Y)
            i = reg.from_(ptx.special.tid.x(), u32)
            value = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
            ptx.inst.st.global_.f32(ptx.addr(y + i * 4), value)
        """)
    assert pyptx("run", file, "--dim", "N=128").status == 0
    done = pyptx("run", file, "--dim", "N=127")
    assert done.status == 1
    assert f"{file}:8: " in done.out
    assert "warp 3 lane 31" in done.out


def test_a_program_without_a_kernel(process, program):
    file = program("print('hello')")
    done = process("run", file)
    assert done.out == f"hello\n{file} called no kernel\n"
    assert done.status == 0


def test_an_error_at_a_call_is_a_message(process, program):
    file = program(CLEAN.replace("np.arange(256,", "np.arange(255,"))
    done = process("run", file)
    assert done.status == 1
    assert done.err.startswith(f"error: {file}:15: dimension 0 of X is 255 and must be 256\n")


def test_a_sequence_shows_a_report_for_each_kernel(process, program):
    twice = CLEAN.replace(
        "    if __name__",
        """    from pyptx import sequence

    @kernel(in_specs=(Tile(256, f32),), out_specs=(Tile(256, f32),), grid=256)
    def negate(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.ctaid.x(), u32) * 4
        ptx.inst.st.global_.f32(ptx.addr(y + at), -ptx.inst.ld.global_.f32(ptx.addr(x + at)))

    @sequence(in_specs=(Tile(256, f32),), out_specs=(Tile(256, f32),))
    def both(x):
        return negate(reverse(x))

    if __name__""",
    ).replace("print(reverse(", "print(both(")
    done = process("run", program(twice))
    assert (done.status, done.err) == (0, "")
    assert "[-255. -254.]" in done.out
    assert [line for line in done.out.splitlines() if "no findings" in line] == [
        "reverse: no findings",
        "negate: no findings",
    ]


def test_an_error_of_the_program_shows_its_lines_alone(process, program):
    body = "reverse(np.arange(256, dtype=np.float32)); {}['missing']"
    file = program(REVERSE.format(barrier="ptx.bar.sync(0)", body=body))
    done = process("run", file)
    assert done.status == 1
    assert done.err == (
        "Traceback (most recent call last):\n"
        f'  File "{file}", line 15, in <module>\n'
        f"    {body}\n" + " " * (4 + body.index("{}")) + "~~^^^^^^^^^^^\nKeyError: 'missing'\n"
    )


TRANSFORMED = """
        import jax
        import jax.numpy as jnp
        from pyptx.ops import rms_norm
        x, w = jnp.arange(256.0), jnp.ones(256)
        print(jax.vmap(reverse)(jnp.stack([x, x]))[1, 0])
        print(jax.checkpoint(lambda x: reverse(x) * 2)(x)[0])
        print(jax.eval_shape(reverse, x).shape)
        print(jax.jit(jax.grad(lambda x: jax.checkpoint(rms_norm)(x, w).sum()))(x).shape)
        print(jax.lax.scan(lambda c, _: (reverse(c), None), x, None, length=3)[0][0])
"""
COMPILED = """
        import jax
        import jax.numpy as jnp
        x = jnp.arange(256.0)
        print(jax.jit(lambda x: reverse(x) + 1).lower(x).compile()(x)[0])
"""


def test_transformations_of_jax_run_in_the_emulator(process, program):
    done = process("run", program(REVERSE.format(barrier="ptx.bar.sync(0)", body=TRANSFORMED)))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("255.0\n510.0\n(256,)\n(256,)\n255.0\n")
    assert "\nreverse: no findings\n" in done.out
    assert "\nrms_norm_gradient_one_cluster: no findings\n" in done.out


def test_a_race_below_a_transformation_is_explained(process, program):
    file = program(REVERSE.format(barrier="pass", body=TRANSFORMED))
    done = process("run", file)
    assert (done.status, done.err) == (1, "")
    assert f"{file}:10: race in shared memory" in done.out
    assert "510.0" not in done.out


def test_a_program_that_it_compiles_itself_is_checked(process, program):
    done = process("run", program(REVERSE.format(barrier="ptx.bar.sync(0)", body=COMPILED)))
    assert (done.status, done.err) == (0, "")
    assert done.out == "256.0\ncompiled programs, launches 1: no findings\n"
    file = program(REVERSE.format(barrier="pass", body=COMPILED))
    done = process("run", file)
    assert (done.status, done.err) == (1, "")
    assert f"compiled programs, launches 1: 1 finding\n{file}:10: race in shared memory" in done.out


SEQUENCE = """
    from pyptx import sequence

    @sequence(in_specs=(Tile(256, f32),), out_specs=(Tile(256, f32),))
    def twice(x):
        return reverse(reverse(x))
"""


def test_a_sequence_is_run_on_random_arrays(process, program):
    source = REVERSE.format(barrier="ptx.bar.sync(0)", body="pass") + SEQUENCE
    done = process("run", program(source) + ":twice")
    assert (done.status, done.err) == (0, "")
    assert done.out.count("reverse: no findings\n") == 2
    assert process("run", program(source.replace("ptx.bar.sync(0)", "pass")) + ":twice").status == 1


def test_a_sequence_has_no_code_to_show(process, program):
    file = program(REVERSE.format(barrier="pass", body="pass") + SEQUENCE)
    done = process("show", f"{file}:twice")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: twice is a sequence, which has no code of its own\n"
        "  help: name one of its kernels\n"
        f'  help: pyptx run "{file}:twice" --dim ... runs all of it\n'
    )


GATHER = """
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    @kernel(in_specs=(Tile("N", u32), Tile("M", f32)), out_specs=(Tile("N", f32),), block="N")
    def gather(I, X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        Y[i] = X[I[i]]
    """


def test_indices_are_random_below_a_dimension_or_come_from_a_file(pyptx, program, tmp_path):
    run = ("run", program(GATHER) + ":gather", "--dim", "N=32", "--dim", "M=64")
    done = pyptx(*run)
    assert done.status == 1
    hint = "gather ran on random integers from 0 to 99 for I; --input I=LOW:HIGH gives other ones\n"
    assert done.out.endswith(hint)
    numbers = tmp_path / "indices.npy"
    for values in ("0:M", "0:64", str(numbers)):
        np.save(numbers, np.arange(32, dtype=np.uint32))
        done = pyptx(*run, "--input", f"I={values}")
        assert (done.status, done.err) == (0, "")
        assert "gather: no findings" in done.out
        assert "random integers" not in done.out
    assert pyptx(*run, "--input", "I=0:2000").status == 1


def test_inputs_that_are_none(pyptx, program):
    run = ("run", program(GATHER) + ":gather", "--dim", "N=32", "--dim", "M=64", "--input")
    assert pyptx(*run, "J=0:M").err == "error: gather has no input J\n  inputs: I X\n"
    forms = (
        "  help: --input I=0:32 for random numbers from 0 to 31, --input I=0:M with a dimension, "
        "--input I=indices.npy\n"
    )
    assert pyptx(*run, "I").err == f"error: --input I is not NAME=LOW:HIGH\n{forms}"
    assert pyptx(*run, "I=0:K").err.startswith("error: --input I=0:K: invalid literal")
    assert pyptx(*run, "I=5").err.endswith(forms)
