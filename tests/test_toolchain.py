"""What stands in for ROCm's folder where HIP programs are compiled: ``python -m wave_emulator toolchain``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import wave_runtime
from wave_emulator import _toolchain
from wave_emulator.__main__ import main

PROGRAM = """
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cstdio>

__half half_of_host();

__global__ void kernel(__half* values, int* lanes) {
  *values = hrcp(*values);
  *lanes = warpSize;
}

int main() {
  __half* values;
  int* lanes;
  if (hipMallocManaged(&values, sizeof *values) != hipSuccess) return 1;
  if (hipMallocManaged(&lanes, sizeof *lanes) != hipSuccess) return 1;
  *values = half_of_host();
  kernel<<<1, 1>>>(values, lanes);
  if (hipDeviceSynchronize() != hipSuccess) return 2;
  std::printf("%g %d\\n", __half2float(*values), *lanes);
}
"""
FOR_THE_HOST = """
#include <hip/hip_fp16.h>

__half half_of_host() { return __float2half(4); }
"""


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    program, other = tmp_path / "program.hip", tmp_path / "other.cpp"
    program.write_text(PROGRAM)
    other.write_text(FOR_THE_HOST)
    return program, other


def run(*command: object, **variables: str) -> str:
    done = subprocess.run(list(map(str, command)), env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize(("processor", "lanes"), [("gfx942", 64), ("gfx1151", 32)])
@pytest.mark.parametrize("release", [19, pytest.param(22, marks=pytest.mark.needs("clang-22"))])
def test_hipcc_makes_programs(
    release: int, processor: str, lanes: int, hip_toolchain: Path, sources: tuple[Path, Path]
) -> None:
    """Which find the library themselves, and have code for the GPU at hand."""
    program = sources[0].with_suffix("")
    variables = {"CLANG": f"clang-{release}", "WAVE_RUNTIME_EMULATOR_PROCESSOR": processor}
    hipcc = hip_toolchain / "bin" / "hipcc"
    assert run(hipcc, *sources, "-Wall", "-o", program, **variables) == ""
    assert run(program, **variables) == f"0.25 {lanes}\n"


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("options", [(), ("-x", "hip"), ("-fgpu-rdc",)])
def test_hipcc_links_objects(options: tuple[str, ...], hip_toolchain: Path, sources: tuple[Path, Path]) -> None:
    """That it has compiled for several processors, and named as sources are."""
    hipcc, program = hip_toolchain / "bin" / "hipcc", sources[0].with_suffix("")
    objects = [source.with_suffix(".o") for source in sources]
    for source, file in zip(sources, objects, strict=True):
        run(hipcc, *options, "--offload-arch=gfx90a,gfx1201", "-O1", "-c", source, "-o", file)
    run(hipcc, *options[-1:] if "-x" not in options else (), "--offload-arch=gfx90a,gfx1201", *objects, "-o", program)
    for processor, lanes in (("gfx90a", 64), ("gfx1201", 32)):
        assert run(program, WAVE_RUNTIME_EMULATOR_PROCESSOR=processor) == f"0.25 {lanes}\n"


@pytest.mark.needs("hip-compiler")
def test_what_stands_behind_an_option_is_no_source(hip_toolchain: Path, sources: tuple[Path, Path]) -> None:
    hipcc, other = hip_toolchain / "bin" / "hipcc", sources[1]
    header, dependencies = other.with_name("header.cpp"), other.with_name("dependencies.cc")
    header.write_text("#define half_of_host renamed\n")
    file = other.with_name("object.hip")
    run(hipcc, "-include", header, "-MD", "-MF", dependencies, "-c", other, "-o", file)
    assert "header.cpp" in dependencies.read_text()
    assert b"renamed" in file.read_bytes()


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize(
    ("option", "target"), [("--offload-arch=native", "gfx942"), ("--amdgpu-target=gfx1100", "gfx1100")]
)
def test_hipcc_makes_code_objects(option: str, target: str, hip_toolchain: Path, sources: tuple[Path, Path]) -> None:
    """For the processor at hand, and for one that is named as ROCm's hipcc takes it, too, and clang does not."""
    file = sources[0].with_suffix(".hsaco")
    run(hip_toolchain / "bin" / "hipcc", "--genco", option, sources[0], "-o", file)
    assert wave_runtime.load(file).targets == (target,)


@pytest.mark.needs("hip-compiler")
@pytest.mark.parametrize("compiler", ["bin/hipcc", "llvm/bin/clang++"])
def test_compilers_take_what_rocprim_writes(compiler: str, hip_toolchain: Path, sources: tuple[Path, Path]) -> None:
    """That of ROCm 6.3, which is not C++ by now, to clang 19 and later: hipcc's, and CMake's."""
    source = sources[1].with_suffix(".hip")
    source.write_text(
        "struct Sort { template <class K> void keys(K) {} };\n"
        "template <class S, class K> void sort(S s, K k) { s.template keys(k); }\n"
        "void use() { sort(Sort{}, 0); }\n"
    )
    run(hip_toolchain / compiler, "-c", source, "-o", source.with_suffix(".o"))


@pytest.mark.needs("hip-compiler")
def test_hipcc_says_its_release(hip_toolchain: Path) -> None:
    """As the setup.py of some packages asks for it: HIP's, before the compiler's."""
    printed = run(hip_toolchain / "bin" / "hipcc", "--version")
    release = ".".join(_toolchain.release_of(hip_toolchain).values())
    assert printed.startswith(f"HIP version: {release}\n")
    assert "clang version 19" in printed
    assert run(hip_toolchain / "bin" / "hipcc", "-dumpversion").startswith("19.")


@pytest.mark.needs("hip-compiler")
def test_waves_of_64_lanes(hip_toolchain: Path, sources: tuple[Path, Path]) -> None:
    """By an option of clang's, which has no macro for it any more."""
    program = sources[0].with_suffix("")
    variables = {"WAVE_RUNTIME_EMULATOR_PROCESSOR": "gfx1100"}
    command = [hip_toolchain / "bin" / "hipcc", "-mwavefrontsize64", *sources, "-o", program]
    if _toolchain.library_release(hip_toolchain) == "5.7":
        with pytest.raises(AssertionError, match="not supported on the specified GPU ARCH with wavefront size 64"):
            run(*command, **variables)
        return
    run(*command, **variables)
    assert run(program, **variables) == "0.25 64\n"


BY_LANGUAGE = """
cmake_minimum_required(VERSION 3.21)
project(example LANGUAGES CXX HIP)
add_executable(program program.hip other.cpp)
set_source_files_properties(other.cpp PROPERTIES LANGUAGE HIP)
"""
BY_PACKAGE = """
cmake_minimum_required(VERSION 3.18)
project(example LANGUAGES CXX)
find_package(hip 5.0 REQUIRED)
add_executable(program program.cpp other.cpp)
target_link_libraries(program PRIVATE hip::device)
add_executable(devices devices.cpp)
target_link_libraries(devices PRIVATE hip::host)
"""
DEVICES = """
#include <hip/hip_runtime_api.h>

int main() {
  int count = 0;
  return hipGetDeviceCount(&count) == hipSuccess ? count : 0;
}
"""


@pytest.mark.needs("hip-compiler", "cmake")
@pytest.mark.parametrize("project", [BY_LANGUAGE, BY_PACKAGE], ids=["language", "package"])
def test_cmake_finds_hip(project: str, hip_toolchain: Path, sources: tuple[Path, Path]) -> None:
    """As in ROCm: a language, and a package with targets for code with kernels and without. Its GPU is that at hand."""
    folder = sources[0].parent
    (folder / "CMakeLists.txt").write_text(project)
    (folder / "devices.cpp").write_text(DEVICES)
    shutil.copy(sources[0], folder / "program.cpp")
    gpu = {"WAVE_RUNTIME_EMULATOR_PROCESSOR": "gfx1100", "WAVE_RUNTIME_EMULATOR_DEVICES": "3"}
    path = os.pathsep.join([str(hip_toolchain / "bin"), os.environ["PATH"]])
    variables = {**os.environ, **gpu, "ROCM_PATH": str(hip_toolchain), "PATH": path}
    if project == BY_PACKAGE:
        variables["CXX"] = "hipcc"
    for command in (("-S", folder, "-B", folder / "build"), ("--build", folder / "build")):
        done = subprocess.run(["cmake", *command], env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert run(folder / "build" / "program", **gpu) == "0.25 32\n"
    if project == BY_PACKAGE:
        assert subprocess.run([folder / "build" / "devices"], env={**os.environ, **gpu}).returncode == 3


@pytest.mark.needs("hip-compiler")
def test_what_programs_ask_of_a_machine_with_rocm(hip_toolchain: Path) -> None:
    programs = hip_toolchain / "bin"
    release = ".".join(_toolchain.release_of(hip_toolchain).values())
    assert run(programs / "hipconfig", "--version") == release
    assert run(programs / "hipconfig", "--rocmpath") == str(hip_toolchain)
    assert (hip_toolchain / ".info" / "version").read_text() == f"{release}\n"
    for processor, lanes in (("gfx942", 64), ("gfx1201", 32)):
        gpu = {"WAVE_RUNTIME_EMULATOR_PROCESSOR": processor}
        assert run(programs / "rocm_agent_enumerator", **gpu) == f"{processor}\n"
        assert re.fullmatch(
            rf" *Name: +{processor}\n *Wavefront Size: +{lanes}\({lanes:#x}\)\n", run(programs / "rocminfo", **gpu)
        )
    for tool in ("ld.lld", "clang-offload-bundler", "llvm-objcopy"):
        assert "19." in run(hip_toolchain / "llvm" / "bin" / tool, "--version")
    failed = subprocess.run([programs / "hipconfig", "--newest"], capture_output=True, text=True)
    assert failed.returncode == 1
    assert "--newest: this one knows --version" in failed.stderr


@pytest.mark.needs("hip-compiler")
def test_a_folder_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One for each compiler; it may be moved while it is made, since nothing in it says where it lies."""
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["toolchain", "--clang", "clang-19"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder == _toolchain.folder_in_cache("clang-19")
    assert folder != _toolchain.folder_in_cache("clang-22")
    assert [path for path in folder.rglob("*") if path.is_file() and b"/.new-" in path.read_bytes()] == []
    assert [path for path in folder.rglob("*") if not path.exists()] == []
    monkeypatch.setattr(_toolchain, "make", None)
    assert main(["toolchain", "--clang", "clang-19"]) == 0
    assert Path(capsys.readouterr().out.strip()) == folder
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.needs("hip-compiler")
def test_the_compiler_is_the_oldest_that_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whose bitcode all newer ones read."""
    monkeypatch.delenv("CLANG", raising=False)
    for version in (18, 20, 21):
        (tmp_path / f"clang-{version}").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _toolchain.compiler() == str(tmp_path / "clang-20")
    monkeypatch.setenv("CLANG", "another")
    assert _toolchain.compiler() == "another"


def fake_clang(folder: Path, version: str) -> str:
    path = folder / "fake-clang"
    path.write_text(f"#!/bin/sh\necho 'Some clang version {version}'; echo InstalledDir: {folder}\n")
    path.chmod(0o700)
    return str(path)


def errors(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["toolchain", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "toolchain"
    assert "there is no program no-clang: apt-get install clang-19 clang-tools-19 lld-19 llvm-19" in errors(
        capsys, folder, "--clang", "no-clang"
    )
    old = fake_clang(tmp_path, "18.1.8")
    assert "fake-clang is of version 18.1.8, and 19 is the oldest" in errors(capsys, folder, "--clang", old)
    other = fake_clang(tmp_path, "")
    assert "fake-clang does not say that it is clang: apt-get" in errors(capsys, folder, "--clang", other)
    monkeypatch.delenv("CLANG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no clang from 19 to 25: apt-get install clang-19" in errors(capsys, folder)
    assert not folder.exists()


def test_without_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_toolchain, "BITCODE", (str(tmp_path),))
    monkeypatch.setattr(_toolchain, "HEADERS", tmp_path / "hip")
    clang = fake_clang(tmp_path, "19.1.7")
    assert f"{tmp_path}/hip is missing: apt-get install libamdhip64-dev" in errors(
        capsys, tmp_path / "toolchain", "--clang", clang
    )
    assert "--headers: name the folder to make as well" in errors(capsys, "--headers", "a", "b", "--clang", clang)


def test_device_libraries_are_those_that_the_compiler_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest of them: none of a newer compiler. In Debian 12 they belong to none."""
    monkeypatch.setattr(_toolchain, "BITCODE", (str(tmp_path / "of_none"), str(tmp_path / "llvm-*" / "bitcode")))
    clang = fake_clang(tmp_path, "19.1.7")
    for version in (22, 17, 9, 19, 18):
        (tmp_path / f"llvm-{version}" / "bitcode").mkdir(parents=True)
    (tmp_path / "of_none").mkdir()
    assert _toolchain.device_libraries(19) == tmp_path / "llvm-19" / "bitcode"
    assert _toolchain.device_libraries(21) == tmp_path / "llvm-19" / "bitcode"
    assert _toolchain.device_libraries(8) == tmp_path / "of_none"
    for version in (17, 9, 19, 18):
        shutil.rmtree(tmp_path / f"llvm-{version}")
    (tmp_path / "of_none").rmdir()
    assert "no device libraries for clang 19 " in errors(capsys, tmp_path / "toolchain", "--clang", clang)


@pytest.mark.needs("hip-compiler")
def test_device_libraries_that_are_not_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What must be changed in them is not there."""
    monkeypatch.setattr(_toolchain, "BITCODE", (str(tmp_path),))
    language = tmp_path / _toolchain.LANGUAGE
    _toolchain.compile_for_gpus("clang-19", "void nothing(void) {}", language)
    assert "it is neither of ROCm 5.2 nor of 6.0, which are known" in errors(
        capsys, tmp_path / "toolchain", "--clang", "clang-19"
    )
    with pytest.raises(ValueError, match=r"clang-19 .* failed:\n(?s:.*)error: "):
        _toolchain.compile_for_gpus("clang-19", "int x = ;", language)
