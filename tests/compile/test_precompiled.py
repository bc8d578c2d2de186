"""The headers that clang has read once: sources compile as they do without, whatever has become of what is kept."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
import torch

import wave_runtime
from wave_runtime._cache import write_atomically
from wave_runtime._compile import _clang, _precompiled
from wave_runtime._compile._unit import Unit, run

# What takes something of most headers, in code that has lines of them.
SOURCE = """
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <cmath>
template <class T>
__global__ void numbers(T* out, const double* in, __half* half, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  out[i] = T(pow(in[i], 2.5)) + sinf(i) + float(half[i]) + std::abs(-1.5f);
  assert(n > 3);
  if (in[i] < 0) printf("%f\\n", in[i]);
}
template __global__ void numbers<float>(float*, const double*, __half*, int);
extern "C" __global__ void exchange(float4* row, unsigned* count) {
  row[threadIdx.x].x = __shfl(row[threadIdx.x].y, 3);
  atomicAdd(count, 2u);
  __shared__ int last;
  last = threadIdx.x;
  cooperative_groups::this_thread_block().sync();
  free(malloc(last));
}"""
SMALL = 'extern "C" __global__ void store(int* p) { p[threadIdx.x] = NUMBER; }'
OTHER = SMALL.replace("NUMBER", "8")


class Runs:
    """Counts how often clang reads the headers for later, takes what it read, and reads them for one source."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._counts = {"-emit-pch": 0, "-include-pch": 0, "-include": 0}

        def counted(unit: Unit, commands: Iterable[Sequence[str | Path]], folder: Path) -> None:
            commands = [*commands]
            for command in commands:
                for option in [option for option in self._counts if option in command][:1]:  # none where it links
                    self._counts[option] += 1
            run(unit, commands, folder)

        monkeypatch.setattr(_clang, "run", counted)
        monkeypatch.setattr(_precompiled, "run", counted)

    def of(self, source: object, **options: object) -> list[int]:
        """Those of a call."""
        before = [*self._counts.values()]
        wave_runtime.compile(source, **options)  # type: ignore[arg-type]
        return [count - earlier for count, earlier in zip(self._counts.values(), before, strict=True)]


MADE_AND_TAKEN, TAKEN, READ, FAILED_THEN_READ = [1, 2, 0], [0, 2, 0], [0, 0, 2], [0, 2, 2]


@pytest.fixture(autouse=True)
def _own_headers(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of all tests."""
    monkeypatch.setattr(_clang, "precompiled", _precompiled.precompiled)
    monkeypatch.setattr(_precompiled, "_refused", set())
    monkeypatch.setenv("CCACHE_DISABLE", "1")  # which writes the headers' paths in its own way, but not in all commands


@pytest.fixture
def runs(clang: str, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


def kept(cache: Path) -> list[Path]:
    """The files in which the headers lie."""
    return [path for path in (cache / "results").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"CPCH"]


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_code_is_what_it_is_without(each_clang: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the byte, with its lines; and so are names, types, and files that are looked at for changes."""
    runs = Runs(monkeypatch)
    assert runs.of(OTHER + "int main() {}", target=target) == MADE_AND_TAKEN
    assert runs.of(SOURCE + "int main() {}", target=target) == TAKEN
    with_it = wave_runtime.compile(SOURCE + "int main() {}", target=target)
    without = wave_runtime.compile(SOURCE + "int main() {}", target=target, cache=False)
    assert with_it.images == without.images
    assert with_it.kernels == without.kernels
    assert [str(with_it[name]) for name in with_it.kernels] == [str(without[name]) for name in without.kernels]
    assert set(with_it.files) == set(without.files)


@pytest.mark.usefixtures("few_headers")
def test_several_sources_and_cuda(runs: Runs, tmp_path: Path) -> None:
    sources = [tmp_path / "one.cu", tmp_path / "two.hip"]
    sources[0].write_text("__device__ int number() { return 7; }")
    sources[1].write_text("__device__ int number();\n" + SMALL.replace("NUMBER", "number()"))
    assert runs.of(sources) == [2, 4, 0]
    assert wave_runtime.compile(sources).images == wave_runtime.compile(sources, cache=False).images


@pytest.mark.usefixtures("few_headers")
def test_who_shares_them(runs: Runs, tmp_path: Path) -> None:
    """Sources with the same options. Macros and folders are seldom those of another source, if they are known at all.

    Commands that are shown are those that anybody can give, with all that the compiler has to say."""
    source = SMALL.replace("NUMBER", "1")
    assert runs.of(source) == MADE_AND_TAKEN
    for own in ({"target": "gfx1100"}, {"options": ["-O1"]}, {"options": ["-std=c++20", "-Wall"]}):
        assert [runs.of(source, **own), runs.of(OTHER, **own)] == [MADE_AND_TAKEN, TAKEN], own
    for own in ({"defines": {"A": 1}}, {"options": ["-DA"]}, {"include_dirs": [tmp_path]}, {"options": ["-Wp,-DA"]}):
        assert runs.of(source, **own) == READ, own
    for how in ({"verbose": True}, {"cache": False}):
        assert runs.of(OTHER + "\n", **how) == READ, how


@pytest.fixture
def headers(few_headers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, in which NUMBER is 1: the file that says so."""
    shutil.copytree(_clang._HEADERS, tmp_path / "device")
    monkeypatch.setattr(_clang, "_HEADERS", tmp_path / "device")
    file = tmp_path / "device" / "hip" / "hip_version.h"
    file.write_text(file.read_text() + "#define NUMBER 1\n")
    return file


def stored(source: str = SMALL) -> int:
    out = torch.zeros(1, dtype=torch.int32)
    wave_runtime.compile(source)["store"](out, grid=1, block=1)
    return int(out)


def test_changed_headers(runs: Runs, headers: Path) -> None:
    assert stored() == 1
    text, times = headers.read_text(), headers.stat()
    headers.write_text(text.replace("NUMBER 1", "NUMBER 2"))
    os.utime(headers, ns=(times.st_atime_ns, times.st_mtime_ns))  # of the same size and, as far as one sees, age
    assert stored() == 2
    headers.write_text(text.replace("NUMBER 1", "NUMBER 300"))
    assert stored() == 300
    headers.write_text(text)  # as when another commit is checked out and the first again
    assert stored() == 1
    assert stored(f"// another\n{SMALL}") == 1
    assert runs.of(f"// one more\n{SMALL}") == TAKEN


@pytest.mark.usefixtures("few_headers")
@pytest.mark.parametrize("damage", ["flipped", "others may write"])
def test_damage(damage: str, runs: Runs, cache: Path) -> None:
    """In other ways, too, all that is kept is damaged in test_cache.py."""
    assert runs.of(OTHER) == MADE_AND_TAKEN
    (file,) = kept(cache)
    data = file.read_bytes()
    if damage == "flipped":
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    else:
        file.parent.chmod(0o777)
    assert runs.of(OTHER + "\n") == MADE_AND_TAKEN
    file.parent.chmod(0o700)
    assert runs.of(OTHER + "\n\n") == TAKEN


@pytest.mark.usefixtures("few_headers")
@pytest.mark.parametrize("contents", [b"", b"CPCH" * 1000])
def test_what_the_compiler_does_not_take(contents: bytes, runs: Runs, cache: Path) -> None:
    """Though it bears the hash that the manifest has: the source is compiled without, and the next one at once."""
    runs.of(OTHER)
    (file,), digest = kept(cache), hashlib.sha256(contents).hexdigest()
    write_atomically(cache / "results" / digest[:2] / digest, contents)
    (manifest,) = [path for path in (cache / "requests").rglob("*.json") if file.name in path.read_text()]
    manifest.write_text(manifest.read_text().replace(file.name, digest))
    assert runs.of(OTHER + "\n") == FAILED_THEN_READ
    assert runs.of(OTHER + "\n\n") == READ


@pytest.mark.usefixtures("few_headers")
@pytest.mark.parametrize(("option", "first"), [("-emit-pch", [1, 0, 2]), ("-include-pch", [1, 2, 2])])
def test_a_compiler_that_cannot(
    option: str, first: list[int], runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = tmp_path / "clang"
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in *{option}*) exit 1; esac\nexec "{_clang.find().path}" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CLANG", str(wrapper))
    assert [runs.of(OTHER), runs.of(OTHER + "\n")] == [first, READ]


def message(source: str, **options: object) -> str:
    with pytest.raises(wave_runtime.CompileError) as caught:
        wave_runtime.compile(source, **options)  # type: ignore[arg-type]
    assert caught.value.__context__ is None, "the same messages twice, with a command that nobody can give"
    return re.sub("-ffile-prefix-map=[^=]*=", "", str(caught.value))


# What the source says, what a header declares, and what only the code generator finds.
WRONG = [
    "p[0] = unknown;",
    "__syncthreads(p, p);",
    "__shared__ int many[1 << 20]; many[*p] = 1; __syncthreads(); *p = many[p[1]];",
]


@pytest.mark.usefixtures("few_headers")
def test_messages_are_what_they_are_without(runs: Runs) -> None:
    assert runs.of(OTHER) == MADE_AND_TAKEN
    for wrong in WRONG:
        source = f'extern "C" __global__ void store(int* p) {{\n  {wrong}\n}}\n'
        text = message(source)
        assert "-include hip/hip_runtime.h" in text
        assert "pch" not in text
        assert text == message(source, cache=False)
    assert runs.of(OTHER + "\n") == TAKEN  # they are not to blame


@pytest.mark.usefixtures("few_headers")
def test_they_are_for_nobody_else(runs: Runs, cache: Path) -> None:
    before = os.umask(0)
    try:
        assert runs.of(OTHER) == MADE_AND_TAKEN
    finally:
        os.umask(before)
    assert len(kept(cache)) == 1
    assert {path.stat().st_mode & 0o077 for path in (cache, *cache.rglob("*"))} == {0}
