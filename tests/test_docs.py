"""The documentation: its Python examples run, each page's in one process; links lead somewhere; nothing is left out."""

from __future__ import annotations

import functools
import inspect
import os
import re
from pathlib import Path

import pytest
import warm_python
from ranks import free_port
from requirements import need
from support import ROOT, load_tool

import wave_runtime
from wave_runtime import build, compat

NEEDS_CLANG = pytest.mark.needs("clang")

PAGES = (
    "README.md",
    "docs/autograd.md",
    pytest.param("docs/compile.md", marks=NEEDS_CLANG),
    pytest.param("docs/compile_kernel.md", marks=NEEDS_CLANG),
    pytest.param("docs/cupy.md", marks=NEEDS_CLANG),
    "docs/distributed.md",
    "docs/emulate.md",
    "docs/export.md",
    "docs/gpu.md",
    "docs/hip_emulator.md",
    pytest.param("docs/hunting.md", marks=NEEDS_CLANG),
    "docs/kernels.md",
    pytest.param("docs/launchable.md", marks=NEEDS_CLANG),
    "docs/operators.md",
    "docs/profile.md",
    "docs/sanitize.md",
    pytest.param("docs/pyhip.md", marks=NEEDS_CLANG),
    "docs/triton.md",
    pytest.param("docs/tutorial.md", marks=NEEDS_CLANG),
    "docs/upstream.md",
    pytest.param("docs/vendors.md", marks=NEEDS_CLANG),
)

# What torchrun tells a process, here the only one.
RANKS = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}


def test_every_page_with_examples_is_run() -> None:
    """docs/README.md says so."""
    names = {page if isinstance(page, str) else str(page.values[0]) for page in PAGES}
    assert {str(page) for page in ALL_PAGES if "\n```python\n" in (ROOT / page).read_text()} == names


@pytest.mark.parametrize("page", PAGES)
def test_examples(page: str, tmp_path: Path) -> None:
    """A line whose comment begins with an error's name raises it. A sanitizer's report is what the program prints:
    pages write less far past a tensor's end than to the next multiple of 64 bytes, where torch may have put another.
    """
    text = (ROOT / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for word, requirement in (("wave_lang.kernel", "wave-lang"), ("import triton", "triton"), ("inductor=", "triton")):
        if any(word in block for block in blocks):
            need(requirement)
    code = re.sub(r"^(\S.*)  # (\w+(?:Error|Fault)):.*$", expect_error, "".join(blocks), flags=re.MULTILINE)
    ranks = (
        {**RANKS, "MASTER_PORT": str(free_port())} if "init_device_mesh" in code or "init_process_group" in code else {}
    )
    environment = {
        **os.environ,
        **ranks,
        "WAVE_CACHE_ON": "0",
        "TRITON_DEFAULT_FP_FUSION": "1",
    }
    script = tmp_path / "page.py"  # a file: wave-lang reads the source of what it compiles
    script.write_text(code)
    imported = warm_python.COMPILER if re.search(r"torch\.compile\(|aoti|inductor", code) else "torch"
    done = warm_python.run(script, env=environment, imported=imported)
    assert done.returncode == 0, done.stderr
    for report in re.findall(r"^```\n([^`]*^wave_runtime\.sanitize \([^`]*)^```", text, re.MULTILINE):
        assert without_places(report) in without_places(done.stdout)


def without_places(text: str) -> str:
    """A report without files and lines, which are others in the test's program."""
    return re.sub(r"[\w./-]+\.py:\d+", "PLACE", text)


def expect_error(line: re.Match[str]) -> str:
    return (
        f"try:\n    {line[1]}\nexcept Exception as error:\n    assert type(error).__name__ == '{line[2]}', error\n"
        "else:\n    raise AssertionError('nothing was raised')"
    )


ALL_PAGES = sorted(path.relative_to(ROOT) for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))


def anchors(page: Path) -> set[str]:
    """What a page's headings are called in links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL_PAGES, ids=str)
def test_links(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]+`", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (ROOT / page).parent / name if name else ROOT / page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_index_lists_all_pages() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert set(re.findall(r"^\| \[([\w./]+)\]\(\1\) \|", index, re.MULTILINE)) == pages


def test_the_reference_is_current() -> None:
    """`python tools/generate_api.py` makes it so."""
    module = load_tool("generate_api")
    assert module.PAGE.read_text() == module.page()
    assert module.DOCS.read_text() == module.stub_docs()


@pytest.mark.parametrize("name", ["Kernel", "Kernel.bind", "Kernel.block", "Kernel.asm", "Kernel.__call__", "Sequence"])
def test_help_has_the_docstrings(name: str) -> None:
    """Also of what is written in C++."""
    found = functools.reduce(inspect.getattr_static, name.split(".")[1:], getattr(wave_runtime, name.split(".")[0]))
    assert found.__doc__
    assert found.__doc__ in (ROOT / "csrc" / "python" / "docs.inc").read_text()


def test_the_reference_has_all_public_names() -> None:
    found = set(re.findall(r"^### `(\w+)`$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    names = set(wave_runtime.__all__).union(*(getattr(compat, name).__all__ for name in compat.__all__))
    others = {"hooks", "__version__", "ALL_CUSTOM_OP_REGS", "jit", "JIT"}  # a module, constants, PyHIP's own
    assert names - found == others
    assert found - names == {
        "LaunchEvent",
        "LaunchHook",
        "launch_hook",
        "WaveFunction",
        "enable_cpu",
        "TritonFunction",
        "TritonKernel",
        "EmulatorDriver",
        *build.__all__,
    }
