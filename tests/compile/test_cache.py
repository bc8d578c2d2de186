"""What is compiled is kept, found again, and built anew exactly when it must be."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import multiprocessing
import multiprocessing.process
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT

import wave_runtime
import wave_runtime._cache as cache_module
import wave_runtime._compile as implementation
from wave_runtime._cache import Cache, size_limit
from wave_runtime._compile import _clang
from wave_runtime._compile._unit import Compiled, Program, Unit

pytestmark = pytest.mark.usefixtures("few_headers")


class Builds:
    """Counts compilers' runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        compile_unit = _clang.compile_unit

        def counted(unit: Unit, program: Program, folder: Path) -> Compiled:
            self.count += 1
            return compile_unit(unit, program, folder)

        monkeypatch.setattr(_clang, "compile_unit", counted)

    def of(self, source: Path, **options: object) -> int:
        """How often a call compiles, in a process that knows what earlier ones gave."""
        before = self.count
        wave_runtime.compile(source, **options)  # type: ignore[arg-type]
        return self.count - before

    def of_another_process(self, source: Path, **options: object) -> int:
        """The same in one that does not."""
        implementation._known.clear()
        return self.of(source, **options)


@pytest.fixture
def builds(clang: str, monkeypatch: pytest.MonkeyPatch) -> Builds:
    return Builds(monkeypatch)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "inner.h").write_text("#define VALUE 1\n")
    (tmp_path / "outer.h").write_text('#include "inner.h"\n')
    file = tmp_path / "with space.hip"
    file.write_text('#include "outer.h"\nextern "C" __global__ void k(int* p) { *p = VALUE; }\n')
    return file


def test_once(builds: Builds, source: Path) -> None:
    assert [builds.of(source) for _ in range(3)] == [1, 0, 0]
    assert builds.of_another_process(source) == 0


def test_changes(builds: Builds, source: Path) -> None:
    """Of the source, of a header that a header includes, of options; what was before is still there."""
    builds.of(source)
    header, text = source.parent / "inner.h", source.read_text()
    for find in (builds.of, builds.of_another_process):
        header.write_text(f"#define VALUE {len(find.__name__)}\n")
        assert [find(source), find(source)] == [1, 0]
        header.write_text("#define VALUE 1\n")
        assert find(source) == 0
    source.write_text(text + "// another\n")
    assert [builds.of(source), builds.of(source)] == [1, 0]
    for options in ({"options": ["-O1"]}, {"defines": {"A": 1}}, {"target": "gfx90a"}, {"include_dirs": ["/tmp"]}):
        assert [builds.of(source, **options), builds.of_another_process(source, **options)] == [1, 0], options


def test_a_touched_file_is_the_same(builds: Builds, source: Path) -> None:
    builds.of(source)
    os.utime(source.parent / "inner.h")
    os.utime(source)
    assert builds.of_another_process(source) == 0


def test_old_files_are_not_read_again(
    builds: Builds, source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files whose last change is some time ago are known by their times and inodes."""
    monkeypatch.setattr(cache_module, "_RACE_NS", -1)
    builds.of(source)
    monkeypatch.setattr(cache_module, "_digest_of", lambda path: pytest.fail(f"{path} was read"))
    assert builds.of_another_process(source) == 0


def test_another_compiler(builds: Builds, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = tmp_path / "clang"
    wrapper.write_text(f'#!/bin/sh\nexec "{_clang.find().path}" "$@"\n')
    wrapper.chmod(0o755)
    builds.of(source)
    monkeypatch.setenv("CLANG", str(wrapper))
    assert [builds.of(source), builds.of(source)] == [1, 0]
    wrapper.write_text(wrapper.read_text() + "# updated\n")
    assert [builds.of(source), builds.of(source)] == [1, 0]


def test_variables_that_compilers_read(
    builds: Builds, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that names folders of headers."""
    source.write_text(source.read_text().replace('"outer.h"', "<outer.h>"))
    for value in (1, 2):
        (tmp_path / str(value)).mkdir()
        (tmp_path / str(value) / "outer.h").write_text(f"#define VALUE {value}\n")
        monkeypatch.setenv("CPATH", str(tmp_path / str(value)))
        assert [builds.of(source), builds.of(source), builds.of_another_process(source)] == [1, 0, 0]
    monkeypatch.setenv("CPATH", str(tmp_path / "1"))
    assert builds.of(source) == 0
    monkeypatch.setenv("UNRELATED", "1")
    assert builds.of(source) == 0


def test_links_to_one_launcher_are_other_compilers(tmp_path: Path) -> None:
    """As those of ccache, which runs the compiler whose name they have."""
    (tmp_path / "launcher").write_text("")
    for name in ("clang-19", "clang-22"):
        (tmp_path / name).symlink_to("launcher")
    one, other = (Program.at(str(tmp_path / name)).identity for name in ("clang-19", "clang-22"))
    assert one != other


def test_headers_of_another_installation(
    builds: Builds, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose files may differ, though those of the first are as they were."""
    builds.of(source)
    shutil.copytree(_clang._HEADERS, tmp_path / "device")
    monkeypatch.setattr(_clang, "_HEADERS", tmp_path / "device")
    assert [builds.of(source), builds.of(source)] == [1, 0]


def test_without(builds: Builds, source: Path, cache: Path) -> None:
    assert [builds.of(source, cache=False) for _ in range(2)] == [1, 1]
    assert not cache.exists()


def results(cache: Path) -> list[Path]:
    return [path for path in (cache / "results").rglob("*") if path.is_file()]


# What stands in a manifest that nobody can have written so.
MANIFESTS = {
    "cut": '[{"files": 3}, 7',
    "nothing": "",
    "number": "7",
    "numbers": "[7, null]",
    "texts": '["files", []]',
    "types": '[{"files": 3, "result": 4}, {"files": [[1, 2, 3]], "result": null}]',
    "file": '[{"files": [[7, [1, 2, 3, 4], ""], ["/x", "y", "z"]], "result": "RESULT"}]',
    "no path": '[{"files": [["/\\u0000", null, ""]], "result": "RESULT"}]',
    "no text": '[{"files": [["/\\ud800", null, ""]], "result": "RESULT"}]',
    "elsewhere": '[{"files": [], "result": "../../../etc/passwd"}]',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "gone"])
def test_damage(builds: Builds, source: Path, cache: Path, damage: str) -> None:
    builds.of(source)
    (result,) = results(cache)
    data = result.read_bytes()
    if damage == "gone":
        result.unlink()
    else:
        result.write_bytes({"cut": data[:-1], "flipped": data[:-1] + bytes([data[-1] ^ 1]), "empty": b""}[damage])
    assert [builds.of_another_process(source) for _ in range(2)] == [1, 0]
    assert results(cache)[0].read_bytes() == data


def store_with(folder: Path, manifest: bytes) -> list[bool]:
    """Whether the first and the second process build, where there is this manifest."""
    request, built = "ab" * 32, []

    def build() -> tuple[bytes, Sequence[str]]:
        built.append(True)
        return b"contents", [__file__]

    path = folder / "requests" / "ab" / f"{request}.json"
    cache_module.write_atomically(path, manifest)
    for count in (1, 2):
        assert Cache(folder).get(request, build, bytes).value == b"contents"
        built.extend([False] * (count - len(built)))
    return built


@pytest.mark.parametrize("damage", MANIFESTS)
def test_damaged_manifests(damage: str, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"contents").hexdigest()
    cache_module.write_atomically(tmp_path / "results" / digest[:2] / digest, b"contents")
    assert store_with(tmp_path, MANIFESTS[damage].replace("RESULT", digest).encode()) == [True, False]


def anything() -> st.SearchStrategy[object]:
    """JSON that looks a little like a manifest."""
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["a" * 64, __file__])
    keys = st.sampled_from(["files", "result"]) | st.text(max_size=3)
    return st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=12)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.binary(max_size=100), anything().map(lambda value: json.dumps(value).encode())))
def test_any_manifest_is_read_or_replaced(manifest: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert store_with(Path(folder), manifest) == [True, False]


@pytest.mark.parametrize("contents", [b"", b"\x02\0\0\0{}", b"\x04\0\0\0null", b"\xff\xff\xff\xff", b"\x28\0\0\0"])
def test_results_of_another_making(contents: bytes, builds: Builds, source: Path, cache: Path) -> None:
    """They bear the hash that the manifest has, but are nothing that a compiler gave."""
    builds.of(source)
    (manifest,) = (cache / "requests").rglob("*.json")
    (variant,) = json.loads(manifest.read_bytes())
    variant["result"] = hashlib.sha256(contents).hexdigest()
    cache_module.write_atomically(cache / "results" / variant["result"][:2] / variant["result"], contents)
    manifest.write_text(json.dumps([variant]))
    assert [builds.of_another_process(source) for _ in range(2)] == [1, 0]


def test_failures_are_not_kept(builds: Builds, source: Path) -> None:
    text = source.read_text()
    source.write_text("broken")
    for _ in range(2):
        with pytest.raises(wave_runtime.CompileError):
            builds.of(source)
    assert builds.count == 2
    source.write_text(text)
    assert builds.of(source) == 1


def test_only_the_owner_may_read(builds: Builds, source: Path, cache: Path) -> None:
    builds.of(source)
    assert cache.stat().st_mode & 0o777 == 0o700
    for path in results(cache):
        assert path.stat().st_mode & 0o777 == 0o600


def test_others_may_not_write(builds: Builds, source: Path, cache: Path) -> None:
    """Who can write there can have us run code."""
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others than you can write"):
        assert builds.of(source) == 1
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("exists", [False, True])
def test_nothing_is_for_others_whatever_the_umask(
    builds: Builds, source: Path, cache: Path, exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cache if exists else cache / "inner"
    if exists:
        cache.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(folder))
        assert builds.of(source) == 1
    finally:
        os.umask(before)
    made = [path for path in cache.rglob("*") if path != folder]
    assert len(made) > 4
    assert {str(path): f"{path.stat().st_mode & 0o077:o}" for path in made} == {str(path): "0" for path in made}
    assert builds.of_another_process(source) == 0


def test_others_may_not_write_below(builds: Builds, source: Path, cache: Path) -> None:
    builds.of(source)
    (result,) = results(cache)
    result.parent.chmod(0o777)
    assert builds.of_another_process(source) == 1
    result.parent.chmod(0o700)
    assert builds.of_another_process(source) == 0
    (cache / "results").chmod(0o770)
    with pytest.warns(RuntimeWarning, match=r"others than you can write to .*results .*mode 770"):
        assert builds.of_another_process(source) == 1


def test_a_folder_that_cannot_be_written(
    builds: Builds, source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is used, what is not is compiled."""
    builds.of(source)
    everything = sorted(cache.rglob("*"))
    code = f"import wave_runtime; print(wave_runtime.compile({str(source)!r}, defines={{'A': 1}}).kernels)"
    for path in (*everything, cache):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        if os.access(cache, os.W_OK):  # root may write anywhere: a file in place of the folder is as good
            monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(source))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.stdout.strip() == "('k',)", done.stderr
        monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(cache))
        assert builds.of_another_process(source) == 0
    finally:
        for path in (cache, *everything):
            path.chmod(0o700)


def test_a_folder_that_cannot_be_made(builds: Builds, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", "/proc/none")
    with pytest.warns(
        RuntimeWarning, match="are not kept: cannot make the folder /proc/none: .* WAVE_RUNTIME_CACHE_DI"
    ):
        assert builds.of(source) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert builds.of_another_process(source) == 1  # it is said once


def test_a_user_without_a_home(builds: Builds, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container's user may be, whom no file of the container names."""

    def unknown(uid: int) -> NoReturn:
        raise KeyError(uid)

    for name in ("WAVE_RUNTIME_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.warns(RuntimeWarning, match="are not kept: cannot make the folder .* WAVE_RUNTIME_CACHE_DIR"):
        assert builds.of(source) == 1


def test_the_least_recently_used_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Cache(tmp_path / "store")

    def get(name: str) -> bool:
        """Whether it has to be built."""
        built = []

        def build() -> tuple[bytes, Sequence[str]]:
            built.append(name)
            return name.encode() * 100_000, ()

        store.get(name * 64, build, bytes)
        time.sleep(0.01)  # so that times differ
        return bool(built)

    monkeypatch.setenv("WAVE_RUNTIME_CACHE_SIZE", "350K")
    assert [get(name) for name in "abc"] == [True] * 3
    assert not get("a")
    assert get("d")  # in place of b
    assert [get(name) for name in "acd"] == [False] * 3
    assert get("b")
    assert sum(path.stat().st_size for path in results(tmp_path / "store")) <= 350 << 10


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, size in {"": 1 << 30, "5": 5, "2k": 2048, "3M": 3 << 20, "4G": 4 << 30}.items():
        monkeypatch.setenv("WAVE_RUNTIME_CACHE_SIZE", text)
        assert size_limit() == size
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_SIZE", "much")
    with pytest.raises(ValueError, match="WAVE_RUNTIME_CACHE_SIZE=much: expected a number of bytes"):
        size_limit()


def test_a_lock_that_is_held_for_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_LOCK_SECONDS", 0.1)
    lock = tmp_path / "store" / "locks" / "r"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("process 7 of elsewhere")
        file.flush()
        with pytest.raises(TimeoutError, match="process 7 of elsewhere has been compiling the same"):
            Cache(tmp_path / "store").get("r", lambda: (b"", ()), bytes)


def child(source: Path, log: Path) -> multiprocessing.process.BaseProcess:
    """A process of a group of its own that compiles."""

    def run() -> None:
        os.setsid()
        compile_unit = _clang.compile_unit

        def logged(unit: Unit, program: Program, folder: Path) -> Compiled:
            with log.open("a") as file:
                file.write("x")
            return compile_unit(unit, program, folder)

        _clang.compile_unit = logged
        assert wave_runtime.compile(source).kernels == ("k",)

    return multiprocessing.get_context("fork").Process(target=run)


@pytest.mark.usefixtures("clang")
def test_eight_processes_build_once(source: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = [child(source, log) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    assert log.read_text() == "x"


@pytest.mark.usefixtures("clang")
def test_killed_at_any_moment(source: Path, tmp_path: Path) -> None:
    """Processes are killed with all that they started; whoever comes next gets sound kernels, and no lock stays."""
    seconds = random.Random(0)
    for _ in range(30):
        source.write_text(source.read_text() + "// another\n")
        process = child(source, tmp_path / "log")
        process.start()
        time.sleep(seconds.uniform(0.01, 0.25))
        with contextlib.suppress(ProcessLookupError):  # it has been faster
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        if seconds.random() < 0.3:
            assert wave_runtime.compile(source).kernels == ("k",)
    assert wave_runtime.compile(source).kernels == ("k",)


@pytest.mark.usefixtures("clang")
def test_any_thread_may_compile(source: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        modules = list(pool.map(lambda _: wave_runtime.compile(source), range(8)))
    assert {module.kernels for module in modules} == {("k",)}
