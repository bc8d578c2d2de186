"""From source to kernels that run on the emulator: languages, types, names, errors, the command line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import warm_python

import wave_runtime
from wave_runtime.__main__ import main
from wave_runtime._compile import assembly

pytestmark = pytest.mark.usefixtures("clang", "few_headers")
each_clang = pytest.mark.usefixtures("each_clang")

ADD = """
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""

ASSEMBLY = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.include "store.inc"
.text
.globl fill
.p2align 8
.type fill,@function
fill:
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  v_mov_b32_e32 v1, VALUE
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  store v0, v1, s[0:1]
  s_endpgm
.size fill, .-fill
.rodata
.p2align 6
.amdhsa_kernel fill
  .amdhsa_kernarg_size 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 2
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: fill
    .symbol: fill.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 2
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .args:
      - { .name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }
.end_amdgpu_metadata
"""
STORE = ".macro store address value base\n  global_store_dword \\address, \\value, \\base\n.endm\n"

IR = """
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @answer(ptr addrspace(1) %out) {
  store i32 42, ptr addrspace(1) %out
  ret void
}
"""


def check_add(module: wave_runtime.Module) -> None:
    a, b, c = torch.randn(300), torch.randn(300), torch.empty(300)
    module["add"](a, b, c, 300, grid=2, block=256)
    assert torch.equal(c, a + b)


@each_clang
def test_hip_text() -> None:
    module = wave_runtime.compile(ADD)
    assert module.targets == ("gfx942",)
    assert module["add"].signature == "a: *f32 const, b: *f32 const, c: *f32, n: i32"
    check_add(module)
    assert wave_runtime.compile(ADD).images == module.images


@pytest.mark.each_value
@each_clang
@pytest.mark.parametrize("suffix", [".hip", ".cpp", ".cu"])
def test_hip_files(suffix: str, tmp_path: Path) -> None:
    """What they include lies beside them, or in folders that are given."""
    (tmp_path / "near.h").write_text("#pragma once\n#define NEAR 1\n")
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "far.h").write_text("#pragma once\n#define FAR 2\n")
    source = tmp_path / f"kernels{suffix}"
    source.write_text(
        '#include "near.h"\n#include <far.h>\n'
        'extern "C" __global__ void sum(int* out) { out[threadIdx.x] = NEAR + FAR + EXTRA; }\n'
    )
    module = wave_runtime.compile(source, target="gfx942", defines={"EXTRA": 4}, include_dirs=[tmp_path / "include"])
    out = torch.zeros(3, dtype=torch.int32)
    module["sum"](out, grid=1, block=3)
    assert out.tolist() == [7, 7, 7]


@each_clang
@pytest.mark.usefixtures("all_headers")
def test_types_are_those_of_the_source() -> None:
    source = """
    #include <hip/hip_fp16.h>
    #include <hip/hip_bf16.h>
    #include <hip/hip_fp8.h>
    struct Pair { float x; int y; };
    enum Mode : short { kFast };
    using Real = float;
    template <class T> struct Of { using type = T; };
    typedef _Float16 half4 __attribute__((ext_vector_type(4)));
    extern "C" __global__ void numbers(char a, unsigned char b, short c, unsigned short d, int e, unsigned f, long g,
                                       unsigned long h, bool i, __half j, float k, double l, Mode m,
                                       Of<Real>::type n) {}
    extern "C" __global__ void pointers(const float* a, float* const b, const volatile int* __restrict__ c, void* d,
                                        const void* e, const float4* f, half2* g, const __hip_bfloat16* h,
                                        __hip_fp8_e4m3_fnuz* i, const Pair* j, float** k, double (*l)[4], bool* m,
                                        half4* n, __hip_fp8_e5m2_fnuz* o, Pair (*p)[2]) {}
    extern "C" __global__ void others(Pair a, float2 b, int) {}
    """
    module = wave_runtime.compile(source)
    assert module["numbers"].signature == (
        "a: i8, b: u8, c: i16, d: u16, e: i32, f: u32, g: i64, h: u64, i: bool, j: f16, k: f32, l: f64, m: i16, n: f32"
    )
    assert module["pointers"].signature == (
        "a: *f32 const, b: *f32, c: *i32 const, d: *, e: *const, f: *f32 const, g: *f16, h: *bf16 const, "
        "i: *f8e4m3fnuz, j: *const, k: *, l: *f64, m: *bool, n: *f16, o: *f8e5m2fnuz, p: *"
    )
    assert module["others"].signature == "a: bytes[8], b: bytes[8], i32"


def test_arguments_are_checked_by_their_types() -> None:
    add = wave_runtime.compile(ADD)["add"]
    a = torch.zeros(4)
    with pytest.raises((TypeError, ValueError), match="argument 1 'b'"):
        add(a, a.double(), a.clone(), 4, grid=1, block=64)
    with pytest.raises((TypeError, ValueError), match="argument 3 'n'"):
        add(a, a, a.clone(), 4.5, grid=1, block=64)


@pytest.mark.parametrize(("source", "given"), [(None, "NoneType"), (ADD.encode(), "bytes"), ([ADD, 1], "int")])
def test_what_is_no_source(source: Any, given: str) -> None:
    with pytest.raises(TypeError, match=f"source: expected a path or a text, or a list of them, given {given}$"):
        wave_runtime.compile(source)


@each_clang
def test_names_of_the_source() -> None:
    """Without extern "C" symbols are mangled; both names find a kernel. Those that several have find none."""
    source = """
    namespace a { __global__ void only(int* p) { *p = 1; } __global__ void both(int* p) {} }
    namespace b { __global__ void both(int* p) {} }
    template <class T> __global__ void fill(T* p, T value) { p[threadIdx.x] = value; }
    template __global__ void fill<float>(float*, float);
    template __global__ void fill<int>(int*, int);
    """
    module = wave_runtime.compile(source)
    assert module["only"] is module["_ZN1a4onlyEPi"]
    assert "only" in module
    assert "both" not in module
    with pytest.raises(KeyError, match="no kernel 'both'"):
        module["both"]
    out = torch.zeros(5)
    module["fill<float>"](out, 2.5, grid=1, block=5)
    assert out.tolist() == [2.5] * 5
    assert module["fill<int>"].signature == "p: *i32, value: i32"


def test_a_signature_may_be_given() -> None:
    assert wave_runtime.compile(ADD, signature="*, *, *, i32", writes=[2])["add"].signature == (
        "a: *const, b: *const, c: *, n: i32"
    )
    mangled = ADD.replace('extern "C"', "")
    kernel = wave_runtime.compile(
        mangled, writes={"add": ["c"]}, signature={"add": "x: *f32, b: *f32, c: *f32, n: u32"}
    )
    assert kernel["add"].signature == "x: *f32 const, b: *f32 const, c: *f32, n: u32"


@each_clang
def test_assembly(tmp_path: Path) -> None:
    source = tmp_path / "fill.s"
    source.write_text(ASSEMBLY)
    (tmp_path / "store.inc").write_text(STORE)
    for value in (3, 5):
        module = wave_runtime.compile(source, defines={"VALUE": value}, signature="out: *i32")
        out = torch.zeros(64, dtype=torch.int32)
        module["fill"](out, grid=1, block=64)
        assert out.tolist() == [value] * 64


@each_clang
def test_llvm_ir(tmp_path: Path) -> None:
    module = wave_runtime.compile(IR, language="llvm", target="gfx942:sramecc+:xnack-")
    assert module.target == "gfx942:sramecc+:xnack-"
    out = torch.zeros(1, dtype=torch.int32)
    module["answer"](out, grid=1, block=1)
    assert out.item() == 42


@each_clang
def test_several_targets() -> None:
    module = wave_runtime.compile(ADD, targets=["gfx90a", "gfx942"])
    assert module.targets == ("gfx90a", "gfx942")
    assert set(module.images) == {"gfx90a", "gfx942"}
    check_add(module)


@each_clang
def test_faults_name_the_line() -> None:
    kernel = wave_runtime.compile('extern "C" __global__ void k(int* p) {\n\n  p[threadIdx.x] = 1;\n}')["k"]
    with pytest.raises(wave_runtime.KernelFault, match=r"\(source\.hip:3\)"):
        kernel(torch.zeros(8, dtype=torch.int32), grid=1, block=64)


@each_clang
def test_errors_of_texts_name_no_file_that_is_gone() -> None:
    for language, source, text in (
        ("hip", ADD + "__global__ void f() { undeclared = 1; }\n", "source.hip:6:23: error: use of undeclared"),
        ("asm", "v_no_such v0\n", "source.s:1:1: error: invalid instruction"),
    ):
        with pytest.raises(wave_runtime.CompileError) as error:
            wave_runtime.compile(source, language=language)
        message = str(error.value)
        assert f"\n{text}" in message
        command = message.partition("The command was: ")[2].split()
        assert text.partition(":")[0] in command
        temporary = [Path(word) for word in command if word.startswith(tempfile.gettempdir())]
        assert all(path.exists() for path in temporary), command  # this project may lie there


@each_clang
def test_findings_name_the_line() -> None:
    """As faults do: the code does not say where its text lay."""
    kernel = wave_runtime.compile('extern "C" __global__ void k(int* p) {\n\n  p[threadIdx.x] = 1;\n}')["k"]
    with wave_runtime.sanitize("memory") as report:
        kernel(torch.zeros(8, dtype=torch.int32), grid=1, block=64)
    (finding,) = report.findings
    assert finding.at.line == "source.hip:3"
    assert finding.text.startswith("source.hip:3: error: kernel 'k': ")


@each_clang
def test_errors_show_the_source(tmp_path: Path) -> None:
    source = tmp_path / "broken.hip"
    source.write_text(ADD + "__global__ void f() { undeclared = 1; }\n")
    with pytest.raises(wave_runtime.CompileError) as error:
        wave_runtime.compile(source)
    message = str(error.value)
    assert f"{source} does not compile for gfx942" in message
    assert f"{source}:6:23: error: use of undeclared identifier 'undeclared'" in message
    assert "__global__ void f() { undeclared = 1; }" in message
    assert "The command was: " in message
    with pytest.raises(wave_runtime.CompileError, match="gfx1 "):
        wave_runtime.compile(ADD, target="gfx1")


def test_what_cannot_be_told(tmp_path: Path) -> None:
    unknown = tmp_path / "kernel.txt"
    unknown.write_text(ADD)
    with pytest.raises(ValueError, match=r"its suffix says no language: \.hip"):
        wave_runtime.compile(unknown)
    check_add(wave_runtime.compile(unknown, language="hip"))
    with pytest.raises(ValueError, match="expected one of asm, cuda, hip, llvm, mlir"):
        wave_runtime.compile(ADD, language="fortran")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"hip is compiled for AMD's targets \(gfx942\), not sm_90"):
        wave_runtime.compile(ADD, target="sm_90")
    with pytest.raises(ValueError, match="give one of them"):
        wave_runtime.compile(ADD, target="gfx942", targets=["gfx942"])
    with pytest.raises(ValueError, match="targets= is empty"):
        wave_runtime.compile(ADD, targets=[])
    with pytest.raises(FileNotFoundError):
        wave_runtime.compile("missing.hip")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None, str], None]:
    """Has torch say that there is a GPU, of ROCm or of CUDA: what is compiled for it is not launched."""

    def pretend(hip: str | None, target: str) -> None:
        properties = SimpleNamespace(gcnArchName=target, major=9, minor=0)
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)

    return pretend


def test_the_language_decides_whose_target_is_taken(
    gpu: Callable[[str | None, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HIP on a machine with an NVIDIA GPU is for the emulator, and CUDA C++ for the GPU."""
    monkeypatch.setenv("NVCC", "/none")
    sources = {suffix: tmp_path / f"add{suffix}" for suffix in (".hip", ".cpp", ".cu")}
    for source in sources.values():
        source.write_text(ADD)
    gpu(None, "sm_90")
    for source in (sources[".hip"], sources[".cpp"], ADD):
        assert wave_runtime.compile(source).targets == ("gfx942",)
    check_add(wave_runtime.compile(sources[".hip"]))
    assert wave_runtime.compile(IR, language="llvm").targets == ("gfx942",)
    assert b"amdgcn-amd-amdhsa--gfx942" in assembly(sources[".cu"])
    with pytest.raises(wave_runtime.CompileError, match="NVCC=/none: there is no such program; name the compiler by"):
        wave_runtime.compile(sources[".cu"])
    gpu("6.4", "gfx90a:sramecc+:xnack-")
    for source in (*sources.values(), ADD):
        assert wave_runtime.compile(source).targets == ("gfx90a:sramecc+:xnack-",)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLANG", str(tmp_path / "clang"))
    with pytest.raises(
        wave_runtime.CompileError, match=r"(?s)looked for\n  .*clang\nand .*apt install clang-19 lld-19"
    ):
        wave_runtime.compile(ADD)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"options": "-O1"}, TypeError, r"options= must be a list, as in options=\['-O1'\], given str"),
        ({"include_dirs": "."}, TypeError, "include_dirs= must be a list"),
        ({"targets": "gfx942"}, TypeError, "targets= must be a list"),
        ({"defines": ["A"]}, TypeError, 'defines= must be a dict, as in {"TILE": 64, "FAST": None}, given list'),
        ({"signature": {"add": "a: *f99"}}, ValueError, "unknown type 'f99'"),
        ({"writes": {"add": [7]}}, ValueError, "writes= names argument 7"),
        ({"strides": "foo"}, ValueError, 'strides= must be "contiguous" or "any"'),
    ],
)
def test_options_of_the_wrong_kind(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wave_runtime.compile(ADD, **options)


def test_an_empty_source() -> None:
    with pytest.raises(ValueError, match="the source is empty: expected a path, or the text itself"):
        wave_runtime.compile("")


def test_a_source_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error says what makes a function one, and an instance of a template; so does the command."""
    source = tmp_path / "fill.hip"
    source.write_text("template <class T> __global__ void fill(T* y) { y[0] = 1; }")
    assert main(["compile", str(source)]) == 0
    where, advice = capsys.readouterr().out.splitlines()
    assert where == str(tmp_path / "fill.hsaco")
    assert advice.startswith("  no kernels; of a source these are its functions that are __global__, and the instances")
    module = wave_runtime.compile(source)
    expected = r"no kernel 'fill' .*; its kernels are \[\]; of a source these are .* __global__, .* template __global__"
    with pytest.raises(KeyError, match=expected):
        module["fill"]


def test_names_of_instances() -> None:
    source = "template <class T, int N> __global__ void fill(T* y) { y[0] = N; }\n__device__ int counter;\n"
    module = wave_runtime.compile(source + "template __global__ void fill<float, 2>(float*);\n")
    assert module["fill<float, 2>"] is module["fill< float,2 >"]
    assert "fill< float,2 >" in module
    assert repr(module) == "<wave_runtime.Module for gfx942: fill<float, 2>>"
    assert list(module.names_in_source().values()) == ["fill<float, 2>"]
    assert list(module.names_in_source()) == list(module)
    with pytest.raises(
        KeyError, match=r"no kernel 'fill<double, 2>' .*; its kernels are \['fill<float, .*; of a source"
    ):
        module["fill<double, 2>"]
    with pytest.raises(KeyError, match=r"no kernel 'drain' in the code object; its kernels are \['fill<float, [^;]*$"):
        module["drain"]
    with pytest.raises(ValueError, match=r"no variable 'kounter' in the module; its variables are \[counter\]"):
        module.symbol("kounter", device="cpu")


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "add.hip"
    source.write_text(ADD)
    assert main(["compile", str(source), "-D", "UNUSED=1", "-I", str(tmp_path)]) == 0
    output = tmp_path / "add.hsaco"
    assert capsys.readouterr().out.splitlines() == [
        str(output),
        "  add(a: *f32 const, b: *f32 const, c: *f32, n: i32)",
        "The file does not hold these types. Give them to load: signature={'add': 'a: *f32 const, b: *f32 const, "
        "c: *f32, n: i32'}",
    ]
    check_add(wave_runtime.load(output, signature={"add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}))
    for suffix in (".ll", ".ptx", ".txt"):
        assert main(["compile", str(source), "-o", str(tmp_path / f"add{suffix}")]) == 2
        assert "code objects are binaries, with .hsaco or .cubin; a .s file gets the asse" in capsys.readouterr().err
        assert not (tmp_path / f"add{suffix}").exists()
    source.write_text("broken")
    assert main(["compile", str(source), "-o", str(tmp_path / "none")]) == 2
    assert "does not compile" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_compiled_kernels_in_compiled_models() -> None:
    add = wave_runtime.compile(ADD)["add"]

    def twice(a: torch.Tensor) -> torch.Tensor:
        c = torch.empty_like(a)
        add(a, a, c, a.numel(), grid=-(-a.numel() // 64), block=64)
        return c

    a = torch.randn(100)
    assert torch.equal(torch.compile(twice, backend="aot_eager", fullgraph=True)(a), 2 * a)


def test_another_process_takes_what_is_kept(each_clang: str, tmp_path: Path) -> None:
    """The compiler is needed once."""
    code = f"import wave_runtime; print(wave_runtime.compile({ADD!r})['add'].signature)"
    counter = tmp_path / "count"
    wrapper = tmp_path / "clang"
    wrapper.write_text(f'#!/bin/sh\necho >>"{counter}"\nexec "{each_clang}" "$@"\n')
    wrapper.chmod(0o755)
    environment = {**os.environ, "CLANG": str(wrapper)}
    for _ in range(2):
        done = warm_python.run("-c", code, env=environment)
        assert done.stdout.strip() == "a: *f32 const, b: *f32 const, c: *f32, n: i32", done.stderr
    assert len(counter.read_text().splitlines()) == 3  # one for the headers, one for the code, one for the types


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_a_managed_variable(target: str) -> None:
    """As the host sees it, and each kernel of the module."""
    source = """__managed__ int counts[3] = {3, 4, 5};
    __global__ void run(int* out) {
      out[0] = counts[1];
      counts[1] = 9;
    }"""
    module = wave_runtime.compile(source, target=target)
    out = torch.zeros(1, dtype=torch.int32)
    for expected in (4, 9):
        module["run"](out, grid=1, block=1)
        assert out.item() == expected
    if target == "gfx942":
        assert module.symbol("counts").view(torch.int32).tolist() == [3, 9, 5]


def test_a_process_that_ignores_how_its_children_end() -> None:
    """Which programs inherit: neither is it told of the compiler's status, nor the compiler of the linker's."""
    code = f"""
import signal, torch, wave_runtime
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
source = {ADD!r}
data = torch.ones(64)
wave_runtime.compile(source, cache=False)["add"](data, data, out := torch.zeros(64), 64, grid=1, block=64)
print(out.sum().item())
try:
    wave_runtime.compile(source.replace("a[i]", "nothing"), cache=False)
except wave_runtime.CompileError as error:
    print("(exit status 1)" in str(error), "nothing" in str(error))
"""
    with warm_python.WarmProcess("-c", code) as process:
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (0, "128.0\nTrue True\n"), errors
