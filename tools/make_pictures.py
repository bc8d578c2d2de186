"""Makes the pictures of docs/: ``python tools/make_pictures.py [NAME...]``, with Chromium for those of pages.

layers.png     the folders of csrc/ and who may include whom, from tests/test_layout.py
sanitize.png   the sanitizer's report of docs/tutorial.md, as a terminal shows it
profile.png    the top of the page of the profile there
demo.png       what `make demo` draws on the CPU
"""

from __future__ import annotations

import ast
import html
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"

STYLE = """
body { margin: 0; font: 15px/1.4 system-ui, sans-serif; background: #fff; color: #222; }
.terminal { background: #1d1f24; color: #d8dbe2; padding: 18px; font: 13px/1.5 monospace; white-space: pre-wrap; }
.terminal b { color: #ff8a80; } .terminal i { color: #82b1ff; font-style: normal; }
.layers { padding: 16px; width: 720px; }
.row { display: flex; gap: 8px; margin-bottom: 8px; }
.box { flex: 1; border: 1px solid #7986cb; border-radius: 6px; background: #e8eaf6; padding: 8px 10px; }
.box b { font-family: monospace; } .box span { display: block; font-size: 12px; color: #455; }
.torch { background: #fff3e0; border-color: #ffb74d; }
"""
# What is drawn above what, and in which words; the rows must fit the layout that the tests enforce.
ROWS = (
    (("wave_runtime", "what users import"),),
    (("python", "the binding"), ("c_api", "wave_runtime.h"), ("hip_emulator", "HIP's interface")),
    (("op", "operators, tensors"),),
    (("launch", "kernels, arguments, submit"),),
    (("driver/hip", "AMD GPUs"), ("driver/cuda", "NVIDIA GPUs"), ("driver/emulator", "CPU tensors")),
    (("driver", "what a driver does"), ("emulator", "AMD's instructions on the CPU")),
    (("code_object", "files: kernels, signatures, targets"), ("emulator/isa", "tables of instructions")),
    (("base", "errors, locks, the environment"),),
)


def main() -> None:
    """Make the pictures that the command line names, else all."""
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name](PICTURES / f"{name}.png")
        print(PICTURES / f"{name}.png")


def layers(path: Path) -> None:
    """Boxes in rows: a folder includes those of rows below its own. Raises AssertionError where the tests say else."""
    text = (ROOT / "tests" / "test_layout.py").read_text()
    (found,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MAY_INCLUDE"
    )
    may_include: dict[str, set[str]] = eval(ast.unparse(found), {"set": set})
    row_of = {name: number for number, row in enumerate(ROWS) for name, _ in row}
    assert set(may_include) == set(row_of) - {"wave_runtime"}
    for name, others in may_include.items():
        # The emulator's tables stand beside what the emulator needs.
        wrong = [other for other in others if row_of[other] <= row_of[name]]
        assert not wrong, f"{name} includes {wrong}, which are not drawn below it"
    rows = "".join(f'<div class="row">{"".join(_box(*cell) for cell in row)}</div>' for row in ROWS)
    _screenshot(f'<div class="layers">{rows}</div>', path, 752, 560)


def _box(name: str, words: str) -> str:
    kind = "box torch" if name in ("op", "python", "wave_runtime") else "box"
    return f'<div class="{kind}"><b>{name}</b><span>{words}</span></div>'


def sanitize(path: Path) -> None:
    """The report that the tutorial's program prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = _tutorial(Path(folder), "with wave_runtime.profile()")
        command = [sys.executable, str(program)]
        told = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True, cwd=folder)
    report = told.stdout.split("\n", 1)[1].replace(f"{program.parent}/", "").strip()
    report = report.replace(f"{folder}/", "")
    marked = re.sub(r"(\berror:|\[[a-z]+:[a-z-]+\])", r"<b>\1</b>", html.escape(report))
    marked = re.sub(r"(&#x27;\w+&#x27;|\w+\[\d+(?:, \d+)*\] of [^\n]*)", r"<i>\1</i>", marked)
    lines = sum(1 + len(line) // 118 for line in report.splitlines())
    _screenshot(
        f'<style>body {{ background: #1d1f24 }}</style><div class="terminal">$ python tutorial.py\n{marked}</div>',
        path,
        1000,
        36 + 20 * (lines + 1),
    )


def profile(path: Path) -> None:
    """The page that the tutorial's program saves."""
    with tempfile.TemporaryDirectory() as folder:
        program = _tutorial(Path(folder), "@wave_runtime.define_op")
        subprocess.run([sys.executable, program], env=_environment(), capture_output=True, check=True, cwd=folder)
        page = Path(folder, "build", "rms_norm.html")
        page.write_text(page.read_text().replace(f"{folder}/", ""))
        _screenshot_of(page, path, 1100, 950)


def demo(path: Path) -> None:
    """Errors and times of the kernels in the tree."""
    program = ROOT / "examples" / "transformer.py"
    command = [sys.executable, str(program), "--device", "cpu", "--picture", str(path)]
    subprocess.run(command, cwd=ROOT, env=_environment(), check=True)
    picture = Image.open(path)
    picture.resize((picture.width * 2 // 3, picture.height * 2 // 3)).quantize(32).save(path, optimize=True)


def _tutorial(folder: Path, until: str) -> Path:
    """The program of the tutorial up to a line, without the lines that raise."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "tutorial.md").read_text(), re.MULTILINE | re.DOTALL)
    text = "".join(blocks).partition(until)[0]
    text = re.sub(r"^\S.*  # \w+Error: .*$", "", text, flags=re.MULTILINE)
    program = folder / "tutorial.py"
    program.write_text(text)
    return program


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _screenshot(body: str, path: Path, width: int, height: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>{body}')
        _screenshot_of(page, path, width, height)


def _screenshot_of(page: Path, path: Path, width: int, height: int) -> None:
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={width},{height}", f"--screenshot={path}", f"file://{page}"]
    subprocess.run(command, capture_output=True, check=True, timeout=120)


MAKERS: dict[str, Callable[[Path], None]] = {"layers": layers, "sanitize": sanitize, "profile": profile, "demo": demo}

if __name__ == "__main__":
    main()
