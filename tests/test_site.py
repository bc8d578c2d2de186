"""The documentation as a site: it has every page, and each of its links leads somewhere within it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from support import ROOT

pytestmark = pytest.mark.needs("mkdocs")


class Page(HTMLParser):
    """What a page links to, and what in it can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_there_and_in_the_menu(site: Path) -> None:
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    expected = written - {"README.html"} | {"index.html", "pages.html", "changelog.html", "contributing.html"}
    assert {path.relative_to(site).as_posix() for path in site.rglob("*.html")} == expected | {"404.html"}
    assert expected <= set(Page(site / "index.html").links) | {"index.html"}


def test_links_lead_somewhere(site: Path) -> None:
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for link in page.links:
            if "://" in link or link.startswith("data:"):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / unquote(name)).resolve() if name else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path.name}: {link}"
            assert not anchor or target not in pages or unquote(anchor) in pages[target].ids, f"{path.name}: {link}"


def test_lists_and_tables_are_none_of_a_paragraph(site: Path) -> None:
    """The site's Markdown wants four spaces before what is within a list, and GitHub's does not."""
    for path in site.rglob("*.html"):
        text = re.sub(r"<pre.*?</pre>", "", path.read_text(), flags=re.DOTALL)
        assert not re.search(r"<p>(?:(?!</p>).)*\n\s*(?:- |\| )", text, re.DOTALL), path.name


def test_a_wrong_link_is_an_error(tmp_path: Path) -> None:
    for name in ("docs", "tools", "examples", "csrc", "wave_emulator/include", "tests/cpp"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    page = tmp_path / "docs" / "kernels.md"
    page.write_text(page.read_text() + "\n[nowhere](gpu.md#nowhere)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "does not contain an anchor" in done.stderr
