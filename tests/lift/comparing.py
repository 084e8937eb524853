"""Programs that are lifted, run, and compared with what they were lifted from."""

import dataclasses
import re
import subprocess
import tempfile
from functools import cache

from pyptx import Kernel
from pyptx._assemble import ptxas
from pyptx._ir import Function, Instruction, Module, Place
from pyptx._lift import lift
from pyptx._operands import CallTargets, FunctionName, Label, Targets
from pyptx._text import normal_form, write
from pyptx._text.names import operands_of


def kernels(module: Module, file: str = "") -> dict[str, Kernel]:
    """The kernels of the program that is lifted from a module, by their names."""
    return kernels_of(lift(module, file), file)


def kernels_of(program: str, file: str = "") -> dict[str, Kernel]:
    """The kernels of a program, by their names."""
    names = {"__name__": "lifted"}
    exec(compile(program, f"<lifted from {file}>", "exec"), names)
    return {k.name: k for k in names.values() if isinstance(k, Kernel)}


def alone(module: Module, traced: Module) -> Module:
    """A module with no more than one of its kernels and what that needs, in the traced order.

    The order of variables decides where the assembler puts them, and `debug` makes it leave out
    every optimization.
    """
    (wanted,) = traced.kernels
    kernel = next(k for k in module.kernels if k.name == wanted.name)
    variables = {v.name: v for v in module.variables}
    functions = {f.name: f for f in module.functions}
    assert set(reached(module, kernel)) == {f.name for f in traced.functions}
    return dataclasses.replace(
        module,
        kernels=(kernel,),
        variables=tuple(variables[v.name] for v in traced.variables),
        functions=tuple(functions[f.name] for f in traced.functions),
        options=tuple(o for o in module.options if o != "debug"),
    )


def reached(module: Module, kernel) -> list[str]:
    """The functions that a kernel names, directly or through others and through variables."""
    functions = {f.name: f for f in module.functions}
    variables = {v.name: v for v in module.variables}
    found: dict[str, None] = {}
    work = [kernel]
    while work:
        body = work.pop()
        names = [o.name for o in operands_of(body) if isinstance(o, FunctionName)]
        for operand in operands_of(body):
            if isinstance(operand, CallTargets):
                names += [f.name for f in operand.functions]
        for variable in body.variables:
            initial = variables.get(variable.name, variable).addresses
            names += [i.of for i in initial if i.of in functions]
        for name in names:
            if name not in found:
                found[name] = None
                work.append(functions[name])
    return list(found)


def machine_code(module: Module, folder) -> dict[str, list[str]]:
    """The instructions of each kernel and function, labels numbered in the order of their names."""
    (folder / "file.ptx").write_text(write(module).ptx)
    target = str(module.target)
    command = [ptxas.find(ptxas.PTXAS), f"-arch={target}", "file.ptx", "-o", "file.cubin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return disassembled((folder / "file.cubin").read_bytes())


@cache
def disassembled(cubin: bytes) -> dict[str, list[str]]:
    """The same for the same bytes, which a program that is lifted rightly mostly has."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [ptxas.find(ptxas.NVDISASM), "-c", file.name]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, list[str]] = {}
    for part in re.split(r"\n\s*\.section\s+", listing):
        name = part.partition(",")[0].strip()
        if name.startswith(".text."):
            found[name.removeprefix(".text.")] = instructions(part)
    # Code ends, or loops for ever.
    assert all(any(re.search("EXIT|RET|BRA", line) for line in code) for code in found.values())
    return found


def instructions(section: str) -> list[str]:
    labels: dict[str, str] = {}
    numbered = re.sub(r"\.L_x_\d+", lambda m: labels.setdefault(m[0], f".L_{len(labels)}"), section)
    return [
        " ".join(line.split())
        for line in numbered.splitlines()
        if re.match(r"\s*(/\*[0-9a-f]{4}\*/|\.L_)", line)
    ]


def one_label_for_each_place(module: Module) -> Module:
    """The module with no label that nothing branches to, and one where several stand together."""
    module = normal_form(module)
    kernels = tuple(map(_one_label, module.kernels))
    functions = tuple(map(_one_label, module.functions))
    return normal_form(dataclasses.replace(module, kernels=kernels, functions=functions))


def _one_label(function: Function):
    named: set[Label] = set()
    for operand in operands_of(function):
        if isinstance(operand, Label):
            named.add(operand)
        elif isinstance(operand, Targets):
            named.update(operand.labels)
    same: dict[Label, Label] = {}
    body = []
    for statement in function.body or ():
        if not isinstance(statement, Place):
            body.append(statement)
        elif statement.label in named:
            if body and isinstance(body[-1], Place):
                same[statement.label] = body[-1].label
            else:
                same[statement.label] = statement.label
                body.append(statement)
    moved = [_moved(s, same) if isinstance(s, Instruction) else s for s in body]
    return dataclasses.replace(function, body=None if function.body is None else tuple(moved))


def _moved(instruction: Instruction, same: dict[Label, Label]) -> Instruction:
    operands = []
    for operand in instruction.operands:
        if isinstance(operand, Label):
            operands.append(same[operand])
        elif isinstance(operand, Targets):
            operands.append(Targets(tuple(same[label] for label in operand.labels)))
        else:
            operands.append(operand)
    return dataclasses.replace(instruction, operands=tuple(operands))
