"""Files of kernels with the host code that launches them: compile() leaves it out."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import torch
from requirements import hip_headers
from support import ROOT

import wave_runtime

HEADERS = ROOT / "wave_emulator" / "device"

PROGRAM = """
#include <hip/hip_runtime.h>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#define CHECK(call)                                                                       \\
  do {                                                                                    \\
    const hipError_t error = call;                                                        \\
    if (error != hipSuccess) {                                                            \\
      std::cerr << hipGetErrorString(error) << " at " << __FILE__ << ":" << __LINE__ << "\\n"; \\
      exit(EXIT_FAILURE);                                                                 \\
    }                                                                                     \\
  } while (false)

__constant__ float factor;

__global__ void scale(float* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= factor;
}

template <class T>
__global__ void fill(T* a, T value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = value;
}

struct Free {
  void operator()(float* memory) const { (void)hipFree(memory); }
};

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<float> host(n, 1.0f);
  float *device = nullptr, two = 2, milliseconds = 0;
  hipDeviceProp_t properties{};
  CHECK(hipGetDeviceProperties(&properties, 0));
  printf("%s with %d compute units\\n", properties.gcnArchName, properties.multiProcessorCount);
  CHECK(hipMalloc(&device, n * sizeof(float)));
  const std::unique_ptr<float, Free> owner(device);
  hipStream_t stream;
  hipEvent_t begin, end;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreate(&end));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factor), &two, sizeof(two)));
  CHECK(hipMemcpyAsync(device, host.data(), n * sizeof(float), hipMemcpyHostToDevice, stream));
  CHECK(hipEventRecord(begin, stream));
  const dim3 grid((n + 63) / 64), block(64);
  fill<<<grid, block, 0, stream>>>(device, 3.0f, n);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(fill<double>), grid, block, 0, stream, nullptr, 1.0, 0);
  scale<<<(n + 63) / 64, 64>>>(device, n);
  CHECK(hipGetLastError());
  CHECK(hipEventRecord(end, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  CHECK(hipMemcpy(host.data(), device, n * sizeof(float), hipMemcpyDeviceToHost));
  const float4 some = make_float4(host[0], 0, 0, min(n, 3));
  double most = std::fabs(some.x);
  for (const float value : host) most = std::max<double>(most, fabs(value));
  memset(host.data(), 0, n * sizeof(float));
  int blocks = 0;
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 64, 0));
  return most == 6 ? EXIT_SUCCESS : EXIT_FAILURE;
}
"""


def cuda(text: str) -> str:
    """The program as one for NVIDIA GPUs."""
    text = re.sub(
        r"hipLaunchKernelGGL\(HIP_KERNEL_NAME\((.*?)\), grid, block, 0, stream, ", r"\1<<<grid, block>>>(", text
    )
    text = text.replace("#include <hip/hip_runtime.h>", "#include <cuda_runtime.h>").replace("gcnArchName", "name")
    text = text.replace("hipDeviceProp_t", "cudaDeviceProp").replace("HIP_SYMBOL(factor)", "factor")
    return re.sub(r"\bhip([A-Z])", r"cuda\1", text)


def runs(module: wave_runtime.Module) -> None:
    assert len(module.kernels) == 3
    assert module["fill<double>"].signature == "a: *f64, value: f64, n: i32"
    a = torch.zeros(100)
    module["fill<float>"](a, 3.0, 100, grid=2, block=64)
    module.symbol("factor", dtype=torch.float32).fill_(2)
    module["scale"](a, 100, grid=2, block=64)
    assert (a == 6).all()


@pytest.mark.each_value
@pytest.mark.parametrize(
    "clang", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("clang-19", "clang-22")]
)
@pytest.mark.parametrize("suffix", [".hip", ".cpp", ".cu"])
def test_it_is_left_out(clang: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", clang)
    path = tmp_path / f"program{suffix}"
    path.write_text(cuda(PROGRAM) if suffix == ".cu" else PROGRAM)
    runs(wave_runtime.compile(path, target="gfx942", cache=False))


@pytest.mark.needs("clang")
def test_device_code_cannot_call_the_host() -> None:
    with pytest.raises(wave_runtime.CompileError, match=r"hipDeviceSynchronize(.|\n)*call to __host__ function"):
        wave_runtime.compile("__global__ void k() { hipDeviceSynchronize(); }")


def test_all_functions_are_declared() -> None:
    """Those that the library over the emulator has, but for the few that do not return an error."""
    tables = [ROOT / "csrc" / "hip_emulator" / name for name in ("functions.inc", "refused.inc")]
    tables.append(ROOT / "csrc" / "driver" / "hip" / "hip_symbols.inc")
    there = {name for table in tables for name in re.findall(r"^[A-Z_]+\(hip(\w+)", table.read_text(), re.MULTILINE)}
    declared = set(re.findall(r"WAVE_HOST\((\w+)\)", (HEADERS / "wave_device" / "host_functions.h").read_text()))
    others = (HEADERS / "wave_device" / "host.h").read_text()
    assert len(there) > 400
    assert [name for name in sorted(there - declared) if f" hip{name}(" not in others and name not in NO_ERROR] == []


# Functions for profilers, with results of their own.
NO_ERROR = {
    "ApiName",
    "KernelNameRef",
    "KernelNameRefByPtr",
    "GetStreamDeviceId",
    "DrvGetErrorName",
    "DrvGetErrorString",
}


@pytest.mark.needs("clang", "hip-headers")
def test_numbers_are_those_of_hip(tmp_path: Path) -> None:
    """Kernels may read them, too."""
    text = re.sub(r"//.*", "", (HEADERS / "wave_device" / "host.h").read_text())
    names = [
        name
        for body in re.findall(r"^enum \w+ \{(.*?)\};", text, re.DOTALL | re.MULTILINE)
        for name in re.findall(r"\bhip\w+", body)
    ]
    names += re.findall(r"^#define (hip\w+) (?:0x)?\d+$", text, re.MULTILINE)
    assert len(names) > 200
    stores = "\n".join(f"out[{i}] = static_cast<unsigned>({name});" for i, name in enumerate(names))
    ours = torch.zeros(len(names), dtype=torch.int64)
    wave_runtime.compile(f"__global__ void k(long* out) {{ {stores} }}")["k"](ours, grid=1, block=1)
    headers = hip_headers("hip/hip_deprecated.h")[-1]  # which those before 6 lack, whose numbers are others
    there = " ".join(path.read_text(errors="replace") for path in (headers / "hip").glob("*.h"))
    there = re.sub(r"//[^\n]*|/\*.*?\*/", "", there, flags=re.DOTALL)
    known = [name for name in names if re.search(rf"\b{name}\b", there)]
    prints = "\n".join(f'std::printf("{name} %u\\n", static_cast<unsigned>({name}));' for name in known)
    source = tmp_path / "numbers.cpp"
    source.write_text(f"#include <cstdio>\n#include <hip/hip_runtime_api.h>\nint main() {{ {prints} }}\n")
    command = ["g++", "-w", "-D__HIP_PLATFORM_AMD__", "-D__HIP_PLATFORM_HCC__", f"-I{headers}", source, "-o"]
    subprocess.run([*map(str, command), str(tmp_path / "numbers")], check=True)
    lines = subprocess.run([tmp_path / "numbers"], check=True, capture_output=True, text=True).stdout.splitlines()
    theirs = {name: int(number) for name, number in map(str.split, lines)}
    own = dict(zip(names, ours.tolist(), strict=True))
    assert len(theirs) > 180
    assert {name: number for name, number in theirs.items() if own[name] != number} == {}
