"""The tables of docs/language.md, from the operators' table and the public names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import reference

from pyptx._trace.core.operators import OPERATORS, UNARY

PAGE: Final = Path(__file__).parents[1] / "docs" / "language.md"
_KINDS: Final = (
    ("8-bit", None),
    ("16- and 32-bit integers", "int"),
    ("64-bit integers", "int64"),
    ("f32, f64", "float"),
    ("f16, bf16", "float"),
    ("f16x2, bf16x2", "packed"),
    ("predicates", "pred"),
)


def operators() -> str:
    """What each operator appends, by the type of its operands."""
    rows = ["| operator | result |" + "".join(f" {name} |" for name, _ in _KINDS[1:])]
    rows.append("|---|---|" + "---|" * (len(_KINDS) - 1))
    for symbol, table in OPERATORS.items():
        shown = symbol.replace("|", "\\|")
        rows.append(f"| `a {shown} b` | {_result(symbol)} |" + _cells(table))
    for opcode, shown in (("neg", "-a"), ("abs", "abs(a)"), ("not", "~a")):
        rows.append(f"| `{shown}` | type of `a` |" + _cells(UNARY[opcode]))
    return "\n".join(rows)


def _result(symbol: str) -> str:
    if symbol in ("<", "<=", ">", ">=", "==", "!="):
        return "predicate"
    wide = "type of the operands; of 16- and 32-bit integers twice as wide"
    return wide if symbol == "*" else "type of the operands"


def _cells(table: dict[str, str]) -> str:
    cells: list[str] = []
    for name, kind in _KINDS[1:]:
        choices = {"f32, f64": ("f32", "float"), "64-bit integers": ("int64", "int")}
        found = next((table[k] for k in choices.get(name, (kind,)) if k in table), None)
        cells.append(f" `{found}` |" if found else " error |")
    return "".join(cells)


def names() -> str:
    """Every public name of `ptx`, `reg` and `smem`, with the first paragraph about it."""
    parts: list[str] = []
    for page in reference.pages():
        if page.name.split("_")[0] not in ("reg", "smem", "ptx"):
            continue
        parts += [f"### {page.title}", "", "| name | what it does |", "|---|---|"]
        for name in page.names:
            said = reference.documentation(name)
            paragraph = " ".join(said.partition("\n\n")[0].split())
            link = f"[`{name.public}`](reference/{page.name}.md#{name.public})"
            parts.append(f"| {link} | {_with_count(paragraph, said)} |")
        parts.append("")
    return "\n".join(parts)


_COUNT: Final = re.compile(
    r"\b(One|Two|Three|Four|Five|Six|No|\d+|as many)\b (\w+ )?(`|instruction)", re.IGNORECASE
)


def _with_count(paragraph: str, said: str) -> str:
    """The paragraph, and the sentence that counts instructions where it is further down."""
    if not _COUNT.search(paragraph):
        parts = (" ".join(part.split()) for part in said.split("\n\n"))
        sentences = [s for part in parts for s in re.split(r"(?<=\.) (?=[A-Z0-9`])", part)]
        paragraph = " ".join((paragraph, *[s for s in sentences if _COUNT.search(s)][:1]))
    return re.sub(r"(?<!\\)\|", r"\\|", paragraph)


SECTIONS: Final = {"operators": operators, "names": names}


def written(text: str) -> str:
    """The page's text with its tables made anew."""
    for name, make in SECTIONS.items():
        begin, end = f"<!-- {name}: begin (make pages) -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{make()}\n{end}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
