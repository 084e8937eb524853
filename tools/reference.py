"""The public names of pyptx, by the page of the API reference that describes them.

The site makes its reference pages from these, and tests/docs holds every name to a docstring.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final, cast

import pyptx
from pyptx.types import DTYPES, DType

TOP: Final = {
    "kernels": (
        "Kernels",
        "The functions and classes that make and describe kernels, and kernels themselves.",
        """kernel Kernel Tile Scalar sequence cond KernelSequence from_ptx ForeignKernel In Out
        Texture Surface target lowered_for collectives export_safety_checks sanitize""",
    ),
    "values": (
        "Values in a kernel's body",
        "The types of the values in a kernel's body. `reg`, `smem` and `ptx` make them.",
        """Reg Pred Tensor Struct SharedTile Mbarrier Mbarriers TensorMapReg Layout Im2col
        L2Promotion OobFill""",
    ),
    "errors": (
        "Errors",
        "All errors of pyptx. A message has the line, what is wrong, what is legal and a fix.",
        """PtxError IsaError LanguageError SpecError CallError AssembleError EmulationError
        DeviceError LanguageWarning""",
    ),
}
"""The names of `pyptx` itself: page, its title, its first sentence, the names in their order."""

MODULES: Final = (
    ("reg", "pyptx._trace.reg", "reg"),
    ("smem", "pyptx._trace.memory.smem", "smem"),
    ("ptx", "pyptx._trace.ptx", "ptx"),
    ("layouts", "pyptx.layouts", "pyptx.layouts"),
    ("ops", "pyptx.ops", "pyptx.ops"),
)
"""Pages of one module each: page, module, the name that users have for it."""

TORCH: Final = Path(pyptx.__file__).parent / "torch/__init__.py"
"""The module whose page is made from its text: importing it needs PyTorch."""

RESULTS: Final = {
    "pyptx._emulator": ("Emulation", "Report", "Finding", "Site", "Waiting", "LineStatistics",
                       "InstructionStatistics"),
    "pyptx._assemble": ("Cubin", "Message", "SassInstruction"),
}  # fmt: skip
"""Classes whose objects `k.emulate`, `k.cubin` and `k.sass` give."""


@dataclass(frozen=True, slots=True)
class Name:
    """A public name: `ptx.if_`, where its definition is, and the object."""

    public: str
    defined: str
    value: object


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the reference."""

    name: str
    title: str
    about: str
    names: tuple[Name, ...]


@cache
def pages() -> tuple[Page, ...]:
    """Every page with its names, in the order of the site."""
    made = [
        Page(page, title, about, tuple(_name(pyptx, f"pyptx.{n}", n) for n in names.split()))
        for page, (title, about, names) in TOP.items()
    ]
    results = tuple(
        _name(importlib.import_module(module), f"{module}.{n}", n)
        for module, names in RESULTS.items()
        for n in names
    )
    about = "The classes of the objects that `k.emulate`, `k.cubin` and `k.sass` return."
    made.insert(1, Page("results", "Results", about, results))
    for page, module, called in MODULES:
        made += _module_pages(page, importlib.import_module(module), called)
    return (*made, _torch_page())


class Read:
    """A definition that was read: all that its page needs is its docstring."""

    def __init__(self, documentation: str) -> None:
        self.__doc__ = documentation

    def __call__(self) -> None:
        """Nothing: documentation asks only whether it can be called."""


def _torch_page() -> Page:
    """The page of `pyptx.torch`: the names that it imports, with their definitions' docstrings."""
    tree = ast.parse(TORCH.read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = tuple(
        Name(f"pyptx.torch.{alias.asname}", f"{node.module}.{alias.name}", _read(node, alias.name))
        for node in imports
        for alias in node.names
        if alias.asname and not alias.asname.startswith("_")
    )
    return Page("torch", "pyptx.torch", ast.get_docstring(tree) or "", names)


def _read(node: ast.ImportFrom, name: str) -> Read:
    file = TORCH.with_name(str(node.module).rpartition(".")[2]).with_suffix(".py")
    kinds = (ast.FunctionDef, ast.ClassDef)
    body = ast.parse(file.read_text()).body
    found = next(each for each in body if isinstance(each, kinds) and each.name == name)
    return Read(ast.get_docstring(found) or "")


def _module_pages(page: str, module: ModuleType, called: str) -> Iterator[Page]:
    """The page of a module, then a page of each module that is one of its names."""
    public = public_names(module)
    inner = [n for n in public if inspect.ismodule(getattr(module, n))]
    own = tuple(_name(module, f"{called}.{n}", n) for n in public if n not in inner)
    yield Page(page, called, inspect.getdoc(module) or "", own)
    for n in inner:
        yield from _module_pages(f"{page}_{n.rstrip('_')}", getattr(module, n), f"{called}.{n}")


def public_names(module: ModuleType) -> list[str]:
    """`__all__`, or what the module defines without a leading underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    found = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    inside = f"{module.__name__}."
    return sorted(
        n
        for n, v in found.items()
        if not inspect.ismodule(v)
        and (
            getattr(v, "__module__", None) == module.__name__
            or getattr(v, "__module__", "").startswith(inside)
        )
    )


def top_names() -> list[str]:
    """The names of `pyptx` that are no modules: what the table above has to have."""
    return sorted(
        n for n, v in vars(pyptx).items() if not n.startswith("_") and not inspect.ismodule(v)
    )


def _name(module: ModuleType, public: str, attribute: str) -> Name:
    value = getattr(module, attribute)
    if inspect.isclass(value) or inspect.isfunction(value):
        return Name(public, f"{value.__module__}.{value.__qualname__}", value)
    if isinstance(value, str) or _literal_doc(module, attribute):
        holder = _holder(module, attribute)
        return Name(public, f"{holder.__name__}.{attribute}", value)
    kind = cast("type[object]", type(value))
    return Name(public, f"{kind.__module__}.{kind.__qualname__}", value)


def _holder(module: ModuleType, attribute: str) -> ModuleType:
    """The module that assigns a name; `pyptx` only passes it on."""
    value = getattr(module, attribute)
    inside = (m for name, m in sorted(sys.modules.items()) if name.startswith("pyptx."))
    for other in inside:
        if vars(other).get(attribute) is value and _literal_doc(other, attribute):
            return other
    return module


def documentation(name: Name) -> str:
    """What is written about a name, empty where nothing is."""
    module, _, attribute = name.defined.rpartition(".")
    holder = sys.modules.get(module)
    if holder is not None and (said := _literal_doc(holder, attribute)):
        return said
    if isinstance(name.value, str):
        return ""
    own = name.value if callable(name.value) else type(name.value)
    said = getattr(own, "__doc__", None) or ""
    # A dataclass without a docstring has its signature there, which says nothing.
    return "" if said.startswith(f"{getattr(own, '__name__', '')}(") else inspect.cleandoc(said)


@cache
def _literal_docs(module: ModuleType) -> dict[str, str]:
    """The strings below the assignments of a module."""
    file = getattr(module, "__file__", None)
    body = ast.parse(Path(file).read_text()).body if file else []
    found: dict[str, str] = {}
    for statement, after in itertools.pairwise(body):
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        else:
            continue
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr):
            value = after.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[target.id] = inspect.cleandoc(value.value)
    return found


def _literal_doc(module: ModuleType, attribute: str) -> str:
    return _literal_docs(module).get(attribute, "")


def undocumented() -> list[str]:
    """The public names, and the public members of public classes, without a docstring."""
    missing: list[str] = []
    for page in pages():
        for name in page.names:
            if not documentation(name):
                missing.append(name.public)
            if inspect.isclass(name.value):
                missing += [f"{name.public}.{n}" for n in _bare_members(name.value)]
    return list(dict.fromkeys(missing))


def _bare_members(cls: type) -> Iterator[str]:
    for name, value in vars(cls).items():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(function) and not function.__doc__:
            yield name


# ---- pages as Markdown ---------------------------------------------------------------------------


def markdown() -> dict[str, str]:
    """The text of every page by its file's name, for mkdocstrings to fill in."""
    shown: dict[str, tuple[str, str]] = {}
    texts: dict[str, str] = {}
    for page in pages():
        parts = [f"# {page.title}", page.about]
        parts += [_entry(page.name, name, shown) for name in page.names]
        texts[f"{page.name}.md"] = "\n\n".join(parts) + "\n"
    texts["types.md"] = _types()
    return texts


def _entry(page: str, name: Name, shown: dict[str, tuple[str, str]]) -> str:
    """A directive, or where the same object has another name."""
    before = shown.get(name.defined)
    if before is not None:
        other, where = before
        return f"{_heading(name.public)}\n\nThe same as [`{other}`]({where}.md#{other})."
    shown[name.defined] = (name.public, page)
    # The public name is the heading; the anchor above it is what links name.
    options = f"    options:\n      heading: {name.public}\n      heading_level: 2\n"
    anchor = f'<a id="{name.public}"></a>'
    return f"{anchor}\n\n::: {name.defined}\n{options}      toc_label: {name.public}"


def _heading(public: str) -> str:
    return f"## `{public}` {{ #{public} }}"


def _types() -> str:
    rows = ["| type | bits | kind | declared as | NumPy |", "|---|---:|---|---|---|"]
    for dtype in DTYPES.values():
        numpy = f"`{dtype.numpy}`" if dtype.numpy else ""
        row = (f"`{dtype.name}`", str(dtype.bits), dtype.kind.value, f"`.{dtype.storage}`", numpy)
        rows.append(f"| {' | '.join(row)} |")
    parts = [
        "# pyptx.types",
        "The PTX data types, objects and not strings: `from pyptx.types import f32, u32`.",
        "\n".join(rows),
        "## `DType` { #pyptx.types.DType }\n\n::: " + f"{DType.__module__}.DType",
        "## `Kind` { #pyptx.types.Kind }\n\n::: pyptx.types.Kind",
        "## `from_name` { #pyptx.types.from_name }\n\n::: pyptx.types.from_name",
    ]
    return "\n\n".join(parts) + "\n"
