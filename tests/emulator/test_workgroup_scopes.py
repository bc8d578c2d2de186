"""Atomics of the workgroup's scope: a flag of one wave for another, which may read then what was stored before."""

from __future__ import annotations

import functools
import subprocess

import pytest
import torch
from requirements import need

import wave_runtime
from wave_runtime import Finding

SOURCE = """
extern "C" __attribute__((global)) void tell(int* data, int* flag, int* out, int waves) {
  const int item = __builtin_amdgcn_workitem_id_x(), lane = item % WAVE;
  const int wave = __builtin_amdgcn_readfirstlane(item) / WAVE + waves * __builtin_amdgcn_workgroup_id_x();
  if (wave == 0) {
    data[lane] = 7;
    FENCE;
    __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, SCOPE);
  } else {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, LOADS) == 0) __builtin_amdgcn_s_sleep(1);
    out[lane] = data[lane];
  }
}
"""
LANES = {"gfx942": 64, "gfx950": 64, "gfx1201": 32}  # others: test_memory_orders.py


@functools.cache
def compiled(target: str, scope: str, fence: str) -> bytes:
    options = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O2"]
    options += [
        f"--offload-arch={target}",
        f"-DWAVE={LANES[target]}",
        f"-DSCOPE=__HIP_MEMORY_SCOPE_{scope}",
        f"-DFENCE={fence}",
        "-DLOADS=" + ("__HIP_MEMORY_SCOPE_AGENT" if fence else "SCOPE"),
    ]
    command = [str(need("clang-22")), *options, "-", "-o", "-"]
    return subprocess.run(command, input=SOURCE.encode(), check=True, capture_output=True).stdout


def findings(target: str, scope: str, groups: int, fence: str = "") -> list[Finding]:
    """Of two waves, in one workgroup or in two."""
    signature = {"tell": "data: *i32, flag: *i32, out: *i32, waves: i32"}
    kernel = wave_runtime.load(compiled(target, scope, fence), signature=signature)["tell"]
    data, flag, out = (torch.zeros(64, dtype=torch.int32) for _ in range(3))
    waves = 2 // groups
    with wave_runtime.sanitize("races") as report:
        kernel(data, flag, out, waves, grid=groups, block=waves * LANES[target])
    assert out[: LANES[target]].tolist() == [7] * LANES[target]
    return report.findings


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", LANES)
@pytest.mark.parametrize("scope", ["WORKGROUP", "AGENT"])
def test_in_one_workgroup_both_scopes_are_enough(target: str, scope: str) -> None:
    assert findings(target, scope, groups=1) == []


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", LANES)
def test_between_workgroups_it_takes_the_scope_of_the_agent(target: str) -> None:
    """The flag is a race of its own then, and does not order what it stands for."""
    assert findings(target, "AGENT", groups=2) == []
    # A fence of the agent brings the data to memory, and yet nobody else may know the flag.
    for fence in ("", '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent")'):
        found = findings(target, "WORKGROUP", groups=2, fence=fence)
        assert {finding.tensor.parameter for finding in found if finding.tensor} == {"data", "flag"}
