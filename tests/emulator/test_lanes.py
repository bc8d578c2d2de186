"""The sanitizer's tool for lanes: what asks waves of 32 lanes for those of 64, and what only counts modulo 32."""

from __future__ import annotations

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("clang")

SOURCE = """
#define KERNEL extern "C" __global__ void
inline __device__ int scalar(int value) {
  asm volatile("" : "+s"(value));
  return value;
}

KERNEL shuffled(const int* numbers, int* out) {
  out[threadIdx.x] = __builtin_amdgcn_ds_bpermute(4 * numbers[threadIdx.x], threadIdx.x);
}
KERNEL sent(const int* numbers, int* out) {
  out[threadIdx.x] = __builtin_amdgcn_ds_permute(4 * numbers[threadIdx.x], threadIdx.x);
}
KERNEL by_first(const int* numbers, int* out) {
  if (threadIdx.x == 0) out[0] = __builtin_amdgcn_ds_bpermute(4 * numbers[0], threadIdx.x);
}
KERNEL read(const int* numbers, int* out) {
  out[threadIdx.x] = __builtin_amdgcn_readlane(threadIdx.x, scalar(numbers[0]));
}
KERNEL written(const int* numbers, int* out) {
  int value = threadIdx.x;
  asm volatile("v_writelane_b32 %0, 7, %1" : "+v"(value) : "s"(scalar(numbers[0])));
  out[threadIdx.x] = value;
}
#if defined(__GFX12__)
KERNEL also_disabled(const int* numbers, int* out) {
  int result, address = 4 * numbers[threadIdx.x];
  asm volatile("ds_bpermute_fi_b32 %0, %1, %2\\ns_wait_dscnt 0" : "=v"(result) : "v"(address), "v"(threadIdx.x));
  out[threadIdx.x] = result;
}
#endif
"""
EXCHANGES, OF_ONE_LANE = ("shuffled", "sent"), ("read", "written")
RDNA = ("gfx1030", "gfx1100", "gfx1201")


def findings(kernel: str, numbers: torch.Tensor, target: str, *options: str, tool: str = "lanes") -> list[str]:
    """What is found in a workgroup of as many work-items as there are numbers of lanes."""
    module = wave_runtime.compile(SOURCE, target=target, language="hip", options=list(options))
    with wave_runtime.sanitize(tool) as report:
        module[kernel](numbers.int(), torch.zeros(len(numbers), dtype=torch.int32), grid=1, block=len(numbers))
    assert all((finding.tool, finding.kind) == ("lanes", "beyond-wave") for finding in report.findings)
    return [finding.message for finding in report.findings]


@pytest.mark.parametrize("target", RDNA)
@pytest.mark.parametrize("kernel", EXCHANGES)
def test_exchanges_with_lanes_that_are_not_there(kernel: str, target: str) -> None:
    lanes = torch.arange(32)
    for numbers in (lanes ^ 32, lanes + 32, torch.full((32,), 63)):
        (message,) = findings(kernel, numbers, target)
        assert (
            f"the first one lane {numbers[0]} of a wave of 32 lanes, which is taken for lane {numbers[0] % 32}: "
            in message
        )


@pytest.mark.parametrize("target", RDNA)
@pytest.mark.parametrize("kernel", OF_ONE_LANE)
def test_lanes_that_are_not_there(kernel: str, target: str) -> None:
    for number in (32, 63):
        (message,) = findings(kernel, torch.full((32,), number), target)
        assert f"names lane {number} of a wave of 32 lanes, which is taken for lane {number % 32}: " in message


def test_disabled_lanes_that_are_not_there() -> None:
    (message,) = findings("also_disabled", torch.arange(32) + 32, "gfx1201")
    assert "the first one lane 32" in message


@pytest.mark.parametrize("kernel", EXCHANGES)
@pytest.mark.parametrize(
    "numbers",
    [torch.arange(32) + 31, torch.arange(32) - 1, torch.arange(32) - 32, torch.arange(32) + 64],
    ids=["up", "down", "below", "far"],
)
def test_rotations_count_on_the_modulo(kernel: str, numbers: torch.Tensor) -> None:
    assert findings(kernel, numbers, "gfx1100") == []


@pytest.mark.parametrize("number", [0, 31, 64, -1, 2**31 - 1])
@pytest.mark.parametrize("kernel", OF_ONE_LANE)
def test_lanes_of_the_wave_and_numbers_that_are_of_none(kernel: str, number: int) -> None:
    assert findings(kernel, torch.full((32,), number), "gfx1100") == []


def test_one_lane_may_rotate() -> None:
    assert findings("by_first", torch.full((32,), 40), "gfx1100") == []


@pytest.mark.parametrize("kernel", EXCHANGES)
def test_numbers_of_work_items_are_numbers_of_lanes(kernel: str) -> None:
    """Of the second wave they are from 32 to 63, and of the fourth where they are counted modulo 64."""
    assert findings(kernel, torch.arange(128) % 64 ^ 1, "gfx1100") == []
    assert len(findings(kernel, torch.arange(128) % 64 ^ 32, "gfx1100")) == 1


@pytest.mark.parametrize("kernel", [*EXCHANGES, *OF_ONE_LANE])
def test_waves_of_64_lanes_have_them(kernel: str) -> None:
    numbers = torch.full((64,), 63)
    assert findings(kernel, numbers, "gfx942") == []
    assert findings(kernel, numbers, "gfx1100", "-mwavefrontsize64") == []


def test_beside_all_other_tools() -> None:
    assert len(findings("shuffled", torch.arange(32) ^ 32, "gfx1100", tool="all")) == 1
