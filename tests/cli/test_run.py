"""`run`: programs and kernels in the emulator with all checks."""

import re

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
