"""Addresses of kernels: what of a module needs one, which no kernel of the language can have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyptx._ir import Function, Instruction, Kernel, Module
from pyptx._operands import CallTargets, FunctionName, Variable
from pyptx._source import SourceLocation
from pyptx.errors import LanguageError


def without_entry_addresses(module: Module) -> tuple[Module, dict[str, str]]:
    """The module without what names a kernel, and of each kernel left out the one that it names.

    Each kernel of the language is a module of its own, so it cannot name another one. A kernel is
    left out where it, a function that it calls, or a variable that it names has such an address.
    Raises LanguageError at the line of the file where no kernel is left.
    """
    entries = {kernel.name for kernel in module.kernels}
    named = {name: name for name in entries}
    things = (*module.variables, *module.functions)
    grown = True
    while grown:
        found = {t.name: named[n] for t in things for n in _names(t) if n in named}
        grown = bool(found.keys() - named.keys())
        named = found | named
    left_out = {k.name: named[n] for k in reversed(module.kernels) for n in _names(k) if n in named}
    if not left_out:
        return module, {}
    kept = tuple(kernel for kernel in module.kernels if kernel.name not in left_out)
    if not kept:
        raise _nothing_left(module, left_out)
    return replace(
        module,
        kernels=kept,
        functions=tuple(f for f in module.functions if f.name not in named),
        variables=tuple(v for v in module.variables if v.name not in named),
    ), left_out


def reached_entries(kernel: Kernel, module: Module) -> tuple[str, ...]:
    """The name of a kernel, and those of other kernels whose addresses it needs."""
    things = {t.name: t for t in (*module.variables, *module.functions, *module.kernels)}
    found: dict[str, None] = {kernel.name: None}
    work: list[Kernel | Function | Variable] = [kernel]
    while work:
        for name in _names(work.pop()):
            if name in things and name not in found:
                found[name] = None
                work.append(things[name])
    return tuple(name for name in found if isinstance(things[name], Kernel))


def _names(of: Kernel | Function | Variable) -> Iterator[str]:
    """The names of functions, kernels and variables that something needs itself."""
    if isinstance(of, Variable):
        yield from (address.of for address in of.addresses)
        return
    yield from (variable.name for variable in of.variables)
    for statement in of.body or ():
        for operand in statement.operands if isinstance(statement, Instruction) else ():
            if isinstance(operand, FunctionName):
                yield operand.name
            elif isinstance(operand, CallTargets):
                yield from (function.name for function in operand.functions)


def _nothing_left(module: Module, left_out: dict[str, str]) -> LanguageError:
    kernel = module.kernels[0]
    return LanguageError(
        f"{kernel.name} takes the address of the kernel {left_out[kernel.name]}, and each kernel "
        "of the language is a module of its own",
        location=_line(kernel, left_out[kernel.name]),
        notes=(("help", "from_ptx assembles and launches such a file as it is"),),
    )


def _line(kernel: Kernel, name: str) -> SourceLocation | None:
    for statement in kernel.body:
        if isinstance(statement, Instruction) and FunctionName(name) in statement.operands:
            return statement.location
    return None
