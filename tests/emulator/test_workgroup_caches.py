"""Waves of a workgroup on two compute units: RDNA but in CU mode, CDNA with -mtgsplit.

Each unit has a cache of its own, so that a barrier alone is not enough.
"""

from __future__ import annotations

import functools
import subprocess

import mistakes
import pytest
from requirements import need
from support import PROBES
from waits import without

import wave_runtime

RDNA = ("gfx1030", "gfx1100", "gfx1201")
# What orders memory between waves in clang's code, which starts with the release of what they have stored.
WITHIN_GROUP = {
    "gfx1030": ("s_waitcnt_vscnt", "buffer_gl0_inv"),
    "gfx1100": ("s_waitcnt_vscnt", "buffer_gl0_inv"),
    "gfx1201": ("s_wait_storecnt", "global_inv"),
}
BETWEEN_GROUPS = {
    "gfx1030": ("buffer_gl0_inv", "buffer_gl1_inv"),
    "gfx1100": ("buffer_gl0_inv", "buffer_gl1_inv"),
    "gfx1201": ("global_inv",),
}


@functools.cache
def compiled(target: str, option: str) -> bytes:
    """The kernels as the folder's build.py builds them, with an option."""
    hip = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"]
    command = [str(need("clang-22")), *hip, f"--offload-arch={target}", "-O1", option, str(mistakes.SOURCE), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def races(kernel: str, is_wrong: bool, target: str, image: bytes | None = None) -> list[str]:
    """What is found of a kernel: the findings' messages."""
    with wave_runtime.sanitize("races") as report:
        mistakes.launch(kernel, is_wrong, target, image)
    assert all(finding.kind == "global-race" for finding in report.findings)
    return [finding.message for finding in report.findings]


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", RDNA)
@pytest.mark.parametrize("kernel", mistakes.TWO_CACHES)
def test_in_cu_mode_a_barrier_is_enough(kernel: str, target: str) -> None:
    assert races(kernel, True, target)
    assert not races(kernel, True, target, compiled(target, "-mcumode"))


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", ["gfx942", "gfx90a"])
@pytest.mark.parametrize("kernel", mistakes.TWO_CACHES)
def test_split_workgroups_of_cdna(kernel: str, target: str) -> None:
    image = compiled(target, "-mtgsplit")
    assert races(kernel, True, target, image)
    assert not races(kernel, False, target, image)


@pytest.mark.parametrize(
    ("target", "missing"),
    [
        ("gfx1030", "buffer_gl0_inv is missing behind the barrier between them"),
        ("gfx1100", "buffer_gl0_inv is missing behind the barrier between them"),
        ("gfx1201", "global_inv scope:SCOPE_SE is missing behind the barrier between them"),
    ],
)
def test_what_is_missing_is_said(target: str, missing: str) -> None:
    assert missing in races("barrier_without_acquire", True, target)[0]
    assert (
        "a barrier, with waits before it, is missing between them" in races("barrier_without_release", True, target)[0]
    )


@pytest.mark.parametrize("target", RDNA)
@pytest.mark.parametrize(
    ("kernel", "names"), [("barrier_without_release", WITHIN_GROUP), ("flag_without_fence", BETWEEN_GROUPS)]
)
def test_what_a_compiled_kernel_has_for_order_is_missed(
    kernel: str, names: dict[str, tuple[str, ...]], target: str
) -> None:
    """Each of the instructions that a correct kernel needs, one at a time."""
    data = (PROBES / f"mistakes_{target}.hsaco").read_bytes()
    assert not races(kernel, False, target)
    found = {
        name: [races(kernel, False, target, image) for image, _ in without(data, kernel, name)]
        for name in names[target]
    }
    for name, messages in found.items():
        assert any(messages), f"{kernel} without {name}"
