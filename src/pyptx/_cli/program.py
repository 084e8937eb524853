"""The user's file: its kernels, and the sizes that the command line gives them."""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyptx._kernel import Kernel, KernelSequence, Operation
from pyptx._source import caller
from pyptx.errors import CallError, PtxError, SpecError

Sizes = Mapping[str, Any]

NOT_LITERAL: Final = (ValueError, SyntaxError, TypeError, RecursionError, MemoryError)
"""What Python raises for text that is no literal, or one that is nested too deeply."""


def require_file(path: Path, what: str = "") -> None:
    """Raises PtxError where there is no such file, with `what` before it."""
    try:
        found = path.is_file()
    except OSError as error:
        raise PtxError(f"{what}{path} cannot be read: {error.strerror}") from None
    if not found:
        raise PtxError(f"{what}there is no file {path}")


@dataclass(frozen=True, slots=True)
class Program:
    """What `FILE` or `FILE:KERNEL` on the command line names."""

    path: Path
    kernel: str | None

    @staticmethod
    def parse(text: str) -> Program:
        """Raises PtxError for a file that is not there."""
        file, mark, kernel = text.partition(".py:")
        path = Path(file + mark.rstrip(":"))
        require_file(path)
        return Program(path, kernel or None)

    def kernels(self) -> list[Kernel]:
        """The kernel that is named, otherwise every kernel of the file. Raises PtxError for none.

        A sequence is refused: it has no code of its own.
        """
        found = self.operations()
        kernels = [each for each in found if isinstance(each, Kernel)]
        if self.kernel is not None and not kernels:
            raise PtxError(
                f"{self.kernel} is a sequence, which has no code of its own",
                notes=(
                    ("help", "name one of its kernels"),
                    ("help", f'pyptx run "{self.path}:{self.kernel}" --dim ... runs all of it'),
                ),
            )
        if not kernels:
            raise self._without()
        return kernels

    def operations(self) -> list[Kernel | KernelSequence]:
        """The kernel or sequence that is named, otherwise all of the file. Raises PtxError.

        The file is executed as an import would, so a program's `if __name__ == "__main__":` part
        does not run.
        """
        names = self.execute("pyptx_program")
        if self.kernel is not None:
            return [named_kernel(self.kernel, names)]
        kinds = (Kernel, KernelSequence)
        found = [value for value in names.values() if isinstance(value, kinds)]
        if not found:
            raise self._without()
        return list(dict.fromkeys(found))

    def _without(self) -> PtxError:
        return PtxError(
            f"{self.path} has no kernel at its top level",
            notes=(("help", f'name a call that makes one: "{self.path}:build(16, 512)"'),),
        )

    def execute(self, name: str) -> dict[str, Any]:
        """Run the file with this `__name__`; its names."""
        with importable(self.path.parent):
            return runpy.run_path(str(self.path), run_name=name)


@contextmanager
def importable(folder: Path) -> Generator[None]:
    """Modules beside the file can be imported, as when Python runs it."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.resolve()))


def named_kernel(expression: str, names: Mapping[str, Any]) -> Kernel | KernelSequence:
    """A kernel or sequence by its name, or by a call with literal arguments. Raises PtxError."""
    try:
        value: object = _evaluate(ast.parse(expression, mode="eval").body, names)
    except NOT_LITERAL as error:
        raise PtxError(
            f"{expression!r} is neither a name nor a call with plain values: {error}",
            notes=(("help", 'FILE:rms_norm or "FILE:build(16, 512, eps=1e-5)"'),),
        ) from None
    if not isinstance(value, (Kernel, KernelSequence)):
        raise PtxError(f"{expression} is no kernel but {type(value).__name__}")
    return value


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> object:
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"the file has no {node.id}")
        return names[node.id]
    if isinstance(node, ast.Call):
        positional = [ast.literal_eval(argument) for argument in node.args]
        keywords = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        function: Any = _evaluate(node.func, names)
        return function(*positional, **keywords)
    raise ValueError("write a name, or a name and arguments in parentheses")


def parse_sizes(texts: Sequence[str]) -> dict[str, Any]:
    """`N=8192` to dimensions and compile-time keywords. Raises CallError."""
    sizes: dict[str, Any] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name.isidentifier():
            raise CallError(f"--dim {text} is not NAME=VALUE", notes=(("help", "--dim N=8192"),))
        try:
            sizes[name] = ast.literal_eval(value)
        except NOT_LITERAL:
            sizes[name] = value
    return sizes


def dimensions(kernel: Operation) -> tuple[str, ...]:
    """The named dimensions of the kernel's tensors."""
    return kernel.dimension_names


def require_sizes(kernel: Operation, sizes: Sizes) -> None:
    """Raises SpecError that says which `--dim` are missing, CallError for what is no size."""
    wrong = {n: sizes[n] for n in dimensions(kernel) if n in sizes and not _is_size(sizes[n])}
    for name, value in wrong.items():
        raise CallError(
            f"--dim {name}={value}: the size of a dimension is a whole number, 0 or more",
            notes=(("help", f"--dim {name}=1024"),),
        )
    missing = [name for name in dimensions(kernel) if name not in sizes]
    if missing:
        options = " ".join(f"--dim {name}=..." for name in missing)
        raise SpecError(
            f"{kernel.name} needs a size for {', '.join(missing)}", notes=(("help", options),)
        )


def sizes_of_each(kernels: Sequence[Operation], sizes: Sizes) -> list[dict[str, Any]]:
    """For each kernel those of the sizes that it has. One that no kernel has is left for all."""
    return of_each([{*dimensions(kernel), *_keywords(kernel)} for kernel in kernels], sizes)


def of_each(names: Sequence[Collection[str]], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each group of names those that are given, with each that is in no group."""
    known = set[str]().union(*names)
    return [{n: v for n, v in given.items() if n in own or n not in known} for own in names]


def _keywords(kernel: Operation) -> Collection[str]:
    return kernel._constants  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _is_size(value: object) -> bool:
    return type(value) is int and value >= 0


def shapes(kernel: Operation, sizes: Sizes) -> list[tuple[int, ...]]:
    """The shapes of the kernel's inputs for these sizes."""
    known = {n: s for n, s in sizes.items() if isinstance(s, int)}
    keywords = kernel._keyword_sizes(sizes, caller())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    known = {**keywords, **known}
    return [spec.shape(known) for spec in kernel.in_specs]
