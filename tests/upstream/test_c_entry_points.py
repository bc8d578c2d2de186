"""The C entry points of upstream's tree, called by a program in C."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import torch
from support import EXAMPLES, ROOT

from wave_runtime import _C


def test_c_program(tmp_path: Path) -> None:
    program, package = tmp_path / "entry_points", Path(_C.__file__ or "").parent
    source = ROOT / "tests" / "upstream" / "entry_points.c"
    options = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'csrc'}", "-Wl,--allow-shlib-undefined"]
    library = [f"-L{package}", "-lwave_runtime", f"-Wl,-rpath,{package}"]
    subprocess.run(["gcc", *options, source, *library, "-o", program], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(Path(torch.__file__).parent / "lib")}
    command = [program, EXAMPLES / "binaries" / "basics.hsaco"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "added\n", done.stderr
    assert "wave::ValueError" in done.stderr
    assert "is no function that load_binary() has returned" in done.stderr
