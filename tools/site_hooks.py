"""Makes the pages of the repository those of a site: mkdocs calls these functions (mkdocs.yml).

The README is the front page, the index of docs/ the order of the others. Links are written for readers of the
repository: those that leave docs/ lead to a page of the site where there is one, else to a copy of the file.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
INDEX = "docs/README.md"

# Pages that lie elsewhere in the repository, or would be another page's name in a site.
MOVED = {
    "README.md": "index.md",
    INDEX: "pages.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}

_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\| \[[\w./]+\]\(([\w./]+)\) \|")


def on_config(config: Any) -> Any:
    """Read the order of the pages from their index: a section for each heading."""
    sections: list[dict[str, list[dict[str, str]]]] = []
    pages: list[dict[str, str]] = []
    for line in (ROOT / INDEX).read_text().splitlines():
        if line.startswith("## "):
            pages = []
            sections.append({line.removeprefix("## "): pages})
        elif row := _ROW.match(line):
            source = posixpath.normpath(posixpath.join("docs", row[1]))
            pages.append({_title(ROOT / source): _page(source)})
    filled = [section for section in sections if any(section.values())]
    config.nav = [{"Wave Runtime": "index.md"}, {"All pages": "pages.md"}, *filled, {"Changelog": "changelog.md"}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what lies outside of docs/: pages, and the files that pages link to."""
    readme = files.get_file_from_path("README.md")
    assert readme is not None
    files.remove(readme)
    sources = {f"docs/{file.src_uri}" for file in files.documentation_pages()} | set(MOVED)
    linked: set[str] = set()
    for source in sorted(source for source in sources if source.endswith(".md")):
        text, found = _rewritten((ROOT / source).read_text(), source)
        linked |= found
        if source in MOVED:
            files.append(File.generated(config, MOVED[source], content=text))
    for path in sorted(linked - sources):
        if path.startswith("docs/"):
            continue  # a picture, which is there
        files.append(File.generated(config, f"files/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite the links of a page of docs/. The others' are already."""
    return markdown if page.file.generated_by else _rewritten(markdown, f"docs/{page.file.src_uri}")[0]


def _title(path: Path) -> str:
    """A page's first heading."""
    return path.read_text().split("\n", 1)[0].removeprefix("# ")


def _page(source: str) -> str:
    """Where a file of the repository lies in the site."""
    return MOVED.get(source) or (source.removeprefix("docs/") if source.startswith("docs/") else f"files/{source}")


def _rewritten(text: str, source: str) -> tuple[str, set[str]]:
    """A page's text with links as they are in the site, and the files of the repository that it links to."""
    found = set()

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        if "://" in match[1] or not target:
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        found.add(file)
        path = posixpath.relpath(_page(file), posixpath.dirname(_page(source)) or ".")
        return f"]({path}{'#' if anchor else ''}{anchor})"

    parts = [part if part.startswith("`") else _LINK.sub(link, part) for part in _CODE.split(text)]
    return "".join(parts), found
