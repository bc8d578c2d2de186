"""PyHIP's contract, line by line: its README, then what its callers rely on, then what is to be better than there.

Everything runs on CPU tensors; tests/gpu/test_source_module_cuda.py has an NVIDIA GPU's part.
"""

from __future__ import annotations

import copy as copy_module
import gc
import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
import torch
import warm_python
from support import ROOT
from torch._dynamo.testing import CompileCounter

import wave_runtime
from wave_runtime.__main__ import main
from wave_runtime.compat import pyhip

pytestmark = pytest.mark.usefixtures("clang", "few_headers")

MLA = """
#include <hip/hip_runtime.h>
#include "mla.h"
#ifndef BIAS
#define BIAS 0
#endif
__global__ void test_kernel(const float* q, const float* k, float* v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = FACTOR * q[i] + k[i] + BIAS;
}
__global__ void fill(int* out, unsigned value, unsigned long large, float x) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = value + int(large >> 32) + int(x);
  __syncthreads();
  out[threadIdx.x + gridDim.y * 0] = shared[threadIdx.x];
}
template <class T> __global__ void set(T* out, T value) { out[threadIdx.x] = value; }
template __global__ void set<float>(float*, float);
template __global__ void set<int>(int*, int);
"""

# The README's example; what it leaves open stands before it.
README = """
import torch
from wave_runtime import pyhip

@pyhip.module("mla.cpp")
def test_kernel(q, k, v, n, sm): ...

from_cpp = test_kernel

@pyhip.module("mla-copy.s")
def test_kernel(q, k, v, n, sm): ...

n = 1000
q, k = torch.randn(n), torch.randn(n)
gridDim_x, gridDim_y, gridDim_z, blockDim_x, blockDim_y, blockDim_z = 4, 1, 1, 256, 1, 1
for test_kernel, factor in ((from_cpp, 3), (test_kernel, 4)):
    v = torch.zeros(n)
    test_kernel([gridDim_x, gridDim_y, gridDim_z],    # grid dimensions
                [blockDim_x, blockDim_y, blockDim_z], # block dimensions
                q.data_ptr(),
                k.data_ptr(),
                v.data_ptr(),
                n             # normal argument
                )
    torch.testing.assert_close(v, factor * q + k)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with mla.cpp."""
    (tmp_path / "mla.cpp").write_text(MLA)
    (tmp_path / "mla.h").write_text("#define FACTOR 3.0f\n")
    return tmp_path


@pytest.fixture
def kernels(folder: Path) -> pyhip.SourceModule:
    return pyhip.module(folder / "mla.cpp")


def operands(n: int = 1000) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(n), torch.randn(n), torch.zeros(n)


def check(kernel: pyhip.SourceKernel, factor: float = 3, bias: float = 0, **options: object) -> None:
    q, k, v = operands()
    kernel([4], [256], q, k, v, 1000, **options)
    torch.testing.assert_close(v, factor * q + k + bias)


def edit(assembly: Path, copy: Path) -> None:
    """What a person does who tries another instruction: 3 * q becomes 4 * q."""
    text = assembly.read_text()
    assert text.count("0x40400000") == 1
    copy.write_text(text.replace("0x40400000", "0x40800000"))


def test_readme(folder: Path) -> None:
    """As it stands, but for the import: from C++, and from a copy of its assembly that was edited."""
    assert main(["compile", str(folder / "mla.cpp"), "-o", str(folder / "mla.s")]) == 0
    edit(folder / "mla.s", folder / "mla-copy.s")
    (folder / "program.py").write_text(README)
    done = warm_python.run(folder / "program.py")
    assert done.returncode == 0, done.stderr


def test_the_name_is_the_stub_s(folder: Path) -> None:
    @pyhip.module(folder / "mla.cpp")
    def test_kernel(q, k, v, n):  # type: ignore[no-untyped-def]
        """Adds."""
        raise AssertionError("a stub is never called")

    assert (test_kernel.__name__, test_kernel.__doc__) == ("test_kernel", "Adds.")
    check(test_kernel)


def test_plain_form(kernels: pyhip.SourceModule) -> None:
    check(kernels.test_kernel)
    assert kernels.test_kernel is kernels["test_kernel"]
    out = torch.zeros(5)
    kernels["set<float>"]([1], [5], out, 2.5)
    assert out.tolist() == [2.5] * 5
    with pytest.raises(KeyError, match="no kernel 'missing' in the code object; its kernels are"):
        kernels.missing([1], [1])


def test_relative_to_the_caller(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the process works; what is typed, and not in a file, is relative to where it works."""
    other = folder / "elsewhere"
    other.mkdir()
    monkeypatch.chdir(other)
    (folder / "user.py").write_text("import wave_runtime\nkernel = wave_runtime.module('mla.cpp').test_kernel\n")
    monkeypatch.syspath_prepend(folder)
    import user  # type: ignore[import-not-found]

    check(user.kernel)
    monkeypatch.chdir(folder)
    names: dict[str, pyhip.SourceKernel] = {"wave_runtime": wave_runtime}  # type: ignore[dict-item]
    exec("kernel = wave_runtime.module('mla.cpp').test_kernel", names)
    check(names["kernel"])


def test_grid_and_block_are_padded_and_stay_as_they_are(kernels: pyhip.SourceModule) -> None:
    q, k, v = operands()
    for grid, block in (([4], [256]), ([4, 1], [256, 1]), ([4, 1, 1], [256, 1, 1]), ((4,), 256)):
        before = list(grid), block if isinstance(block, int) else list(block)
        v.zero_()
        kernels.test_kernel(grid, block, q, k, v, 1000)
        torch.testing.assert_close(v, 3 * q + k)
        assert (list(grid), block) == before
    with pytest.raises(ValueError, match="grid"):
        kernels.test_kernel([4, 1, 1, 1], [256], q, k, v, 1000)


def test_tensors_addresses_and_numbers(kernels: pyhip.SourceModule) -> None:
    """unsigned, unsigned long, float; a CPU tensor's address as well as the tensor."""
    for pointer in (lambda out: out, lambda out: out.data_ptr()):
        out = torch.zeros(64, dtype=torch.int32)
        kernels.fill([1], [64], pointer(out), 2**32 - 5, 7 << 32, 1.5, sharedMemBytes=256)
        assert out.tolist() == [-5 + 7 + 1] * 64
    q, k, v = operands()
    kernels.test_kernel([4], [256], q.data_ptr(), k, v, 1000)
    torch.testing.assert_close(v, 3 * q + k)


def test_no_pointer_at_all(tmp_path: Path) -> None:
    """It runs where a kernel of the source would by default."""
    source = tmp_path / "poke.cpp"
    source.write_text(
        '#include <hip/hip_runtime.h>\nextern "C" __global__ void poke(long at) { *reinterpret_cast<int*>(at) = 1; }\n'
    )
    with pytest.raises(wave_runtime.KernelFault, match="kernel 'poke' on the gfx942 emulator: a store of 4 bytes"):
        pyhip.module(str(source))["poke"](1, 1, 4096)


def test_arguments_are_checked(kernels: pyhip.SourceModule) -> None:
    """PyHIP keeps what the call before has left where one is missing, and cuts what is too large."""
    q, k, v = operands()
    kernel = kernels.test_kernel
    kernel([4], [256], q, k, v, 1000)
    for arguments in ((q, k, v), (q, k, v, 1000, 1)):
        with pytest.raises(TypeError, match=rf"takes 4 arguments .*n: i32\), given {len(arguments)}"):
            kernel([4], [256], *arguments)
    with pytest.raises(TypeError, match=r"argument 3 'n': expected i32, given the float 0.5"):
        kernel([4], [256], q.data_ptr(), k.data_ptr(), v.data_ptr(), 0.5)
    with pytest.raises(ValueError, match=r"argument 3 'n': expected i32, an integer from .*, given 1099511627776"):
        kernel([4], [256], q, k, v, 1 << 40)
    with pytest.raises(TypeError, match=r"argument 1 'k': expected a tensor for .*f32.*, given one of dtype float64"):
        kernel([4], [256], q, k.double(), v, 1000)
    with pytest.raises(wave_runtime.KernelFault, match="at a null pointer plus 64 bytes\n"):
        kernel([4], [256], 64, k, v, 1000)
    with pytest.raises(TypeError, match=r"no keyword sharedmem=: there are sharedMemBytes= and force_occupancy="):
        kernel([4], [256], q, k, v, 1000, sharedmem=1)


def test_capital_keywords_are_macros(kernels: pyhip.SourceModule) -> None:
    for bias in (0, 5, True, "7"):
        check(kernels.test_kernel, bias=int(bias), BIAS=bias)
    check(kernels.test_kernel)
    assert kernels.test_kernel.on("cpu", BIAS=5) is not kernels.test_kernel.on("cpu")


def test_options_are_the_compiler_s(folder: Path) -> None:
    (folder / "std.cpp").write_text(
        "#if __cplusplus < 202002L\n#error old\n#endif\n"
        'extern "C" __global__ void answer(int* out) { *out = ANSWER + MORE; }\n'
    )
    for options in ("-DANSWER=40 '-DMORE=(1 + 1)'", ["-DANSWER=41", "-DMORE=1"]):
        out = torch.zeros(1, dtype=torch.int32)
        pyhip.module(folder / "std.cpp", options).answer([1], [1], out)
        assert out.item() == 42


def test_force_occupancy(kernels: pyhip.SourceModule, tmp_path: Path) -> None:
    """So many workgroups take all of the LDS: what the kernel has itself counts, and another fits no more."""
    kernel = kernels.fill.on("cpu")
    out = torch.zeros(64, dtype=torch.int32)
    shares: list[int] = []
    with wave_runtime.hooks.launch_hook(enter=lambda launch: shares.append(launch.shared_memory)):
        for workgroups in (1, 2, 3, 5):
            kernels.fill([1], [64], out, 1, 0, 0.0, force_occupancy=workgroups)
        kernels.fill([1], [64], out.data_ptr(), 1, 0, 0.0, force_occupancy=5, sharedMemBytes=32768)
    assert shares == [65536, 32768, 21504, 12800, 32768]
    assert [kernel.occupancy("cpu", block=64, shared_memory=share) for share in shares[:4]] == [1, 2, 3, 5]
    with pytest.raises(ValueError, match="force_occupancy must be at least 1, given -1"):
        kernels.fill([1], [64], out, 1, 0, 0.0, force_occupancy=-1)
    source = tmp_path / "static.cpp"
    source.write_text(
        'extern "C" __global__ void f(int* p) { __shared__ volatile int s[1024]; s[*p] = 1; *p = s[*p]; }'
    )
    static = pyhip.module(source).f
    static([1], [1], torch.zeros(1, dtype=torch.int32), force_occupancy=4)
    resources = static.on("cpu").resources("cpu")
    assert (resources["shared_memory"], resources["max_shared_memory"]) == (4096, 65536)
    assert static.on("cpu").occupancy("cpu", block=64, shared_memory=65536 // 4 - 4096) == 4


def test_a_changed_source_is_rebuilt(folder: Path, kernels: pyhip.SourceModule) -> None:
    """Also when the change is too quick for the file system's clock, and back again."""
    check(kernels.test_kernel)
    kernel = kernels.test_kernel.on("cpu")
    for factor in (4, 5, 3):
        (folder / "mla.h").write_text(f"#define FACTOR {factor}.0f\n")
        check(kernels.test_kernel, factor)
    assert kernels.test_kernel.on("cpu") == kernel
    (folder / "mla.cpp").write_text(MLA.replace("+ BIAS", "+ 10"))
    check(kernels.test_kernel, bias=10)
    (folder / "mla.cpp").write_text("broken")
    for _ in range(2):
        with pytest.raises(wave_runtime.CompileError, match=r"mla\.cpp does not compile for gfx942"):
            check(kernels.test_kernel)
    (folder / "mla.cpp").write_text(MLA)
    check(kernels.test_kernel)


def test_nothing_is_read_that_did_not_change(
    folder: Path, kernels: pyhip.SourceModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call looks at the times of files only, once they are old enough to tell."""
    for name in ("mla.cpp", "mla.h"):
        monkeypatch.setattr("wave_runtime._cache._RACE_NS", 0)
        assert (folder / name).exists()
    check(kernels.test_kernel)
    check(kernels.test_kernel)
    monkeypatch.setattr("wave_runtime._cache._digest_of", lambda path: pytest.fail(f"{path} is read"))
    check(kernels.test_kernel)


def test_edited_assembly_is_a_source_of_its_own(folder: Path) -> None:
    """It keeps names and types; the C++ beside it is not looked at. A changed copy is assembled again."""
    assert main(["compile", str(folder / "mla.cpp"), "-o", str(folder / "mla.s")]) == 0
    (folder / "mla.cpp").write_text("broken")
    kernels = pyhip.module(folder / "mla.s")
    assert kernels.test_kernel.on("cpu").signature == "q: *f32 const, k: *f32 const, v: *f32, n: i32"
    check(kernels.test_kernel)
    edit(folder / "mla.s", folder / "mla.s")
    check(kernels.test_kernel, factor=4)


def test_an_edited_kernel_may_take_other_arguments(folder: Path) -> None:
    """Its symbol still says the old ones: then the metadata is what counts."""
    assert main(["compile", str(folder / "mla.cpp"), "-o", str(folder / "mla.s")]) == 0
    text = (folder / "mla.s").read_text()
    lines = text[text.index("amdhsa.kernels:") :]
    (argument,) = re.findall(r" +- \.name: +(?:!str )?n\n +\.offset: +24\n +\.size: +4\n", lines)
    (folder / "mla.s").write_text(text.replace(argument, argument.replace("4\n", "8\n").replace("248", "24"), 1))
    signature = pyhip.module(folder / "mla.s").test_kernel.on("cpu").signature
    assert signature == "q: *, k: *, v: *, n: b64"


def test_binaries(folder: Path) -> None:
    """.co and whatever else load() takes; they take no macros, and are loaded again when they change."""
    for suffix in ("co", "hsaco", "anything"):
        path = folder / f"mla.{suffix}"
        path.write_bytes(wave_runtime.compile(folder / "mla.cpp").images["gfx942"])
        check(pyhip.module(path).test_kernel)
        q, k, v = operands()
        pyhip.module(path).test_kernel([4], [256], q.data_ptr(), k.data_ptr(), v.data_ptr(), 1000)
        torch.testing.assert_close(v, 3 * q + k)
    kernel = pyhip.module(path).test_kernel
    check(kernel)
    with pytest.raises(TypeError, match=r"mla\.anything is compiled: it is too late for BIAS"):
        check(kernel, BIAS=1)
    (folder / "mla.h").write_text("#define FACTOR 9.0f\n")
    path.write_bytes(wave_runtime.compile(folder / "mla.cpp").images["gfx942"])
    check(kernel, factor=9)


def test_threads(kernels: pyhip.SourceModule) -> None:
    """PyHIP packs the arguments of all threads into one struct."""
    failures: list[BaseException] = []

    def work(bias: int) -> None:
        try:
            for _ in range(20):
                check(kernels.test_kernel, bias=bias % 3, BIAS=bias % 3)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(bias,)) for bias in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_models(kernels: pyhip.SourceModule, folder: Path, backend: str) -> None:
    """Without a graph break; once an ordinary call has rebuilt the kernel, compiled code takes the new one."""
    torch._dynamo.reset()

    def model(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        v = torch.empty_like(q)
        kernels.test_kernel([-(-q.numel() // 256)], [256], q + 1, k, v, q.numel(), force_occupancy=2)
        w = torch.empty_like(q)
        kernels.test_kernel([4], [256], v, k, w, q.numel(), BIAS=2)
        return w * 2

    compiled = torch.compile(model, fullgraph=True, backend=backend)
    q, k, _ = operands()
    torch.testing.assert_close(compiled(q, k), 2 * (3 * (3 * (q + 1) + k) + k + 2))
    if backend == "aot_eager":
        (folder / "mla.h").write_text("#define FACTOR 1.0f\n")
        check(kernels.test_kernel, factor=1)
        check(kernels.test_kernel, factor=1, bias=2, BIAS=2)
        torch.testing.assert_close(compiled(q, k), 2 * ((q + 1) + k + k + 2))


def test_sizes_do_not_recompile(kernels: pyhip.SourceModule) -> None:
    torch._dynamo.reset()

    def model(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        v = torch.empty_like(q)
        kernels.test_kernel([-(-q.numel() // 256)], [256], q, k, v, q.numel())
        return v

    counter = CompileCounter()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=counter)
    for n in (1000, 37, 4096):
        q, k, _ = operands(n)
        torch.testing.assert_close(compiled(q, k), 3 * q + k)
    assert counter.frame_count == 1


def test_export(kernels: pyhip.SourceModule) -> None:
    class Model(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
            v = torch.empty_like(q)
            kernels.test_kernel([4], [256], q, k, v, 1000)
            return v

    q, k, _ = operands()
    program = torch.export.export(Model(), (q, k))
    torch.testing.assert_close(program.module()(q, k), 3 * q + k)


def test_copies(kernels: pyhip.SourceModule) -> None:
    """Models that hold them are copied and pickled."""
    for copy in (copy_module.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        check(copy(kernels.test_kernel))
        check(copy(kernels).test_kernel)


def test_meta_tensors(kernels: pyhip.SourceModule) -> None:
    """A launch on tensors without data does nothing but check them."""
    q, k, v = (tensor.to("meta") for tensor in operands())
    gc.collect()  # what earlier tests loaded goes now, not in between
    before = wave_runtime.loaded()
    kernels.test_kernel([4], [256], q, k, v, 1000)
    assert wave_runtime.loaded() == before
    assert (q._version, v._version) == (0, 1)
    with pytest.raises(TypeError, match=r"for \*f32, given one of dtype float64"):
        kernels.test_kernel([4], [256], q, k, v.double(), 1000)
    with pytest.raises(ValueError, match="tensors on different devices"):
        kernels.test_kernel([4], [256], q, k, torch.zeros(1000), 1000)


def test_nothing_lies_about(folder: Path, cache: Path) -> None:
    """No lock or output beside the sources or where the process works; the cache is compile()'s."""
    code = textwrap.dedent("""
        import torch, wave_runtime
        out = torch.zeros(1)
        wave_runtime.module("mla.cpp")["set<float>"]([1], [1], out, 4.0)
        assert out.item() == 4
    """)
    (folder / "program.py").write_text(code)
    work = folder / "work"
    work.mkdir()
    before = sorted(folder.iterdir())
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, folder / "program.py"], env=environment, cwd=work, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert list(work.iterdir()) == []
    assert sorted(folder.iterdir()) == sorted([*before, cache])
