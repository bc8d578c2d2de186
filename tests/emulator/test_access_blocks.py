"""Races in memory that lanes access side by side, which is noted for many lanes at once: still to the lane."""

from __future__ import annotations

import pytest
import torch

import wave_runtime

SOURCE = """
template <class T>
__device__ void copy(T* out, T* in, int* sum, int other) {
  const int item = threadIdx.x, group = blockIdx.x;
  out[64 * group + item] = in[64 * group + item];
  if (group == 1 && item == 37) *sum = reinterpret_cast<unsigned char*>(out + other)[0];
}
struct alignas(16) Four { int parts[4]; };
#define KERNEL(name, T) \\
  extern "C" __global__ void name(unsigned char* out, unsigned char* in, int* sum, int other) {  \\
    copy((T*)out, (T*)in, sum, other);                                                          \\
  }
KERNEL(of_1, char)
KERNEL(of_2, short)
KERNEL(of_4, int)
KERNEL(of_8, long)
KERNEL(of_16, Four)
"""


@pytest.fixture(scope="module")
def module() -> wave_runtime.Module:
    return wave_runtime.compile(SOURCE, target="gfx942", language="hip")


@pytest.mark.needs("clang")
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("begin", [0, 20])
def test_a_race_names_both_lanes(
    module: wave_runtime.Module, size: int, begin: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a row that begins with a block of the shadow, and of one that does not."""
    monkeypatch.setenv("WAVE_RUNTIME_DETERMINISTIC", "1")
    begin = begin // size * size
    around = torch.zeros(128 * size + 256, dtype=torch.uint8)
    first = -around.data_ptr() % 64 + begin
    out = around[first : first + 128 * size]
    filled = torch.randint(1, 255, (128 * size,), dtype=torch.uint8)
    for other, lane in ((21, 21), (63, 63), (0, 0)):
        out.zero_()
        with wave_runtime.sanitize("races") as report:
            module[f"of_{size}"](out, filled, torch.zeros(1, dtype=torch.int32), other, grid=2, block=64)
        (finding,) = report.findings
        assert finding.other is not None
        assert (finding.at.workgroup[0], finding.at.lane) == (1, 37)
        assert (finding.other.workgroup[0], finding.other.lane) == (0, lane)
        assert finding.count == 1
    with wave_runtime.sanitize("races", fail=True):
        module[f"of_{size}"](out, filled, torch.zeros(1, dtype=torch.int32), 64 + 37, grid=2, block=64)
