"""What the site has beyond the files of docs/: the reference, the examples, the changelog."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import reference  # noqa: E402

SOURCES = ("examples/**/*.py", "benchmarks/*.py", "src/pyptx/ops/**/*.py")
DEEPER = re.compile(r"\]\(\.\./\.\./([^)#]+)\)")
OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)(#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """Fill the places of the tutorial and of the reference in the navigation."""
    for section in config.nav:
        ((title, items),) = section.items()
        if title == "Tutorial":
            found = (ROOT / "docs" / "tutorial").glob("*.md")
            chapters = sorted(found, key=lambda path: (path.name != "README.md", path.name))
            section[title] = [f"tutorial/{chapter.name}" for chapter in chapters] + items
        elif title == "API reference":
            named = [{page.title: f"reference/{page.name}.md"} for page in reference.pages()]
            section[title] = [*named, {"pyptx.types": "reference/types.md"}]
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Add the generated pages. A public name without a docstring fails the build."""
    missing = reference.undocumented()
    if missing:
        raise PluginError(f"public names without a docstring: {', '.join(missing)}")
    generated = {f"reference/{name}": text for name, text in reference.markdown().items()}
    generated["changelog.md"] = (ROOT / "CHANGELOG.md").read_text()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            at = path.relative_to(ROOT).as_posix()
            generated[f"examples/{at}.md"] = f"# {at}\n\n```python\n{path.read_text()}```\n"
    for at, text in generated.items():
        files.append(File.generated(config, at, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Point links that leave docs/ to the pages made of what they name."""

    def inside(match: re.Match[str]) -> str:
        target, part = match[1], match[2] or ""
        if target == "README.md":
            return f"](index.md{part})"
        if files.get_file_from_path(f"examples/{target}.md"):
            return f"](examples/{target}.md)"
        return match[0]

    def inside_deeper(match: re.Match[str]) -> str:
        found = files.get_file_from_path(f"examples/{match[1]}.md")
        return f"](../examples/{match[1]}.md)" if found else match[0]

    if "/" in page.file.src_uri:
        return DEEPER.sub(inside_deeper, markdown)
    return OUTSIDE.sub(inside, markdown)
