"""Folders and files with any names: what was included is found in the rules for make that compilers write."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from requirements import need

import wave_runtime
from wave_runtime._compile._clang import _assembly_files
from wave_runtime._compile._unit import Unit, included

pytestmark = pytest.mark.usefixtures("few_headers")

ODD = [
    "#",
    "$",
    "\\",
    " ",
    "a b",
    "c#d",
    "e$f",
    "\\#",
    "\\$",
    "\\ ",
    "\\\\ g",
    "$$",
    "#\\h",
    "i\\j",
    "k\\\\l",
    "ü",
    "a:b",
    "%*?'",
]


def name_of(piece: str) -> str:
    return f"x{piece}y.h"


@pytest.mark.each_value
@pytest.mark.usefixtures("each_clang")
@pytest.mark.parametrize("folder", ["plain", "a b#c$d", "back\\slash \\#", os.fsdecode(b"not utf-8 \xff\xe4")])
def test_a_change_of_any_header_is_noticed(folder: str, tmp_path: Path) -> None:
    place = tmp_path / folder
    (place / "in#side").mkdir(parents=True)
    headers = [place / name_of(piece) for piece in ODD] + [place / "in#side" / name_of("#")]
    for header in headers:
        header.write_text("#define VALUE 1\n")
    source = place / "ke r#n$el\\s.hip"
    lines = [f'#include "{os.path.relpath(header, place)}"\n' for header in headers]
    kernel = 'extern "C" __global__ void k(int* p) { *p = VALUE; }\n'
    source.write_text("".join(lines) + kernel, encoding="utf-8", errors="surrogateescape")

    def value() -> float:
        out = torch.zeros(1, dtype=torch.int32)
        module = wave_runtime.compile(source)
        assert {str(header) for header in headers} <= set(module.files)
        module["k"](out, grid=1, block=1)
        return out.item()

    assert value() == 1
    headers[-1].write_text("#undef VALUE\n#define VALUE 2\n")
    assert value() == 2


def test_assembly(clang: str, tmp_path: Path) -> None:
    """Its strings have escapes of their own."""
    folder = tmp_path / 'a#b$c\\d "e'
    folder.mkdir()
    source = folder / "fill#.s"
    names = {"plain.inc": "plain.inc", 'quote"\\#$.inc': 'quote\\"\\\\#$.inc', "octal.inc": "oct\\141l.inc"}
    source.write_text("".join(f'.include "{written}"\n' for written in names.values()) + ".text\ns_endpgm\n")
    for name in names:
        (folder / name).write_text(".text\ns_nop 0\n")
    unit = Unit(source.read_bytes(), str(source), "asm", "gfx942", (), (), ())
    command = [
        clang,
        "-target",
        "amdgcn-amd-amdhsa",
        "-mcpu=gfx942",
        "-c",
        "-x",
        "assembler",
        f"-I{folder}",
        str(source),
    ]
    subprocess.run([*command, "-o", tmp_path / "image"], check=True)
    assert _assembly_files(unit, folder) == [str(folder / name) for name in names]


# A line end cannot stand in an include, and a backslash at the end is before the next name's space as if it escaped it.
PIECES = st.text(st.sampled_from("ab#$\\ :%=*?'()[]{}&;|~\t\x7fäß\udcff"), min_size=1, max_size=6)


@pytest.mark.parametrize("compiler", ["g++", "clang-19", "clang-22"])
def test_rules_of_compilers(compiler: str) -> None:
    if compiler != "g++":  # which the package is built with
        need(compiler)

    @settings(max_examples=6, deadline=None)
    @given(PIECES, st.lists(PIECES, max_size=8, unique=True))
    @example("plain", ODD)
    @example(" a #$\\", ODD)
    def check(place: str, pieces: list[str]) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / f"x{place}y"
            folder.mkdir()
            headers = [folder / name_of(piece) for piece in pieces]
            source, rule = folder / "source.cpp", Path(temporary) / "files.d"
            source.write_bytes(b"".join(b'#include "%s"\n' % os.fsencode(header.name) for header in headers))
            for header in headers:
                header.touch()
            command = [compiler, "-x", "c++", "-E", source, "-o", os.devnull, "-MMD", "-MF", rule, "-MT", "image"]
            subprocess.run(command, check=True)
            assert included(rule, source) == [str(header) for header in headers]

    check()


def test_layouts_of_rules(tmp_path: Path) -> None:
    """Targets with a space before the colon, as nvcc writes, lines that go on, other line lengths."""
    rule, source = tmp_path / "files.d", tmp_path / "source.cu"
    expected = [str(tmp_path / name) for name in ("a.h", "b c.h", "d.h")]
    for text in (
        "image.cubin : source.cu \\\n    a.h \\\n    b\\ c.h \\\n    d.h \n",
        "image.o: source.cu a.h b\\ c.h \\\n d.h\n",
        "with\\ space: source.cu a.h \\\n  b\\ c.h a.h d.h",
    ):
        rule.write_text(text)
        assert included(rule, source) == expected, text
