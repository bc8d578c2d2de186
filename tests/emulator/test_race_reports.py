"""What the sanitizer says of races in global memory: which stores change something, and which workgroup is named."""

from __future__ import annotations

import functools

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("hip-compiler")


@functools.cache
def compiled(body: str, dtype: torch.dtype) -> wave_runtime.Kernel:
    names = {torch.int64: "long long", torch.int32: "int", torch.int16: "short", torch.uint8: "unsigned char"}
    source = f"__global__ void run({names[dtype]}* out, int* flag) {{ {body} }}"
    return wave_runtime.compile(source, target="gfx942", options=["-O1"])["run"]


def findings(
    body: str, dtype: torch.dtype, grid: tuple[int, int, int], flag: int = 0, tool: str = "races"
) -> list[wave_runtime.Finding]:
    """Of a kernel that has `out`, which counts to 64, and `flag`; a work-item in each workgroup."""
    out = torch.arange(64).to(dtype)
    with wave_runtime.sanitize(tool) as report:
        compiled(body, dtype)(out, torch.tensor([flag], dtype=torch.int32), grid=grid, block=1)
    return report.findings


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.uint8])
def test_stores_of_what_is_there_already(dtype: torch.dtype) -> None:
    """Whatever lies beside it, they change nothing; one that changes the highest bits alone does."""
    bit = 8 * torch.empty(0, dtype=dtype).element_size() - 3
    body = f"out[5] = 5 | (long long)(flag[0] * (blockIdx.x + 1)) << {bit};"
    assert findings(body, dtype, (2, 1, 1)) == []
    (finding,) = findings(body, dtype, (2, 1, 1), flag=1)
    assert finding.kind == "global-race"


@pytest.mark.parametrize("grid", [(3, 1, 1), (1, 3, 1), (1, 1, 3)])
def test_workgroups_of_a_race_are_named(grid: tuple[int, int, int]) -> None:
    """By their places in the grid, in the message as in the finding: those after the first one."""
    body = "const int number = blockIdx.x + blockIdx.y + blockIdx.z; if (number > 0) out[5] = 40 + number;"
    (finding,) = findings(body, torch.int32, grid)
    second, third = (tuple(place * (size - 1) // 2 for size in grid) for place in (1, 2))
    assert finding.other is not None
    assert {finding.at.workgroup, finding.other.workgroup} == {second, third}
    assert str(second) in finding.message or str(third) in finding.message


def test_the_first_workgroup_is_named_though_it_comes_last() -> None:
    """It waits until the other has made the same mistake."""
    body = """
    if (blockIdx.x == 0) while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0);
    out[64 + blockIdx.x] = 1;
    __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);"""
    (finding,) = findings(body, torch.int32, (2, 1, 1), tool="memory")
    assert (finding.at.workgroup, finding.count) == ((0, 0, 0), 2)
