"""Grid, block and shared memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import wave_runtime

GEMM = Path(__file__).parent.parent / "examples/kernels/binaries/gemm_f16_16x16x16_256x256x256.hsaco"


@pytest.mark.parametrize(
    ("grid", "block"),
    [(2, 64), ((2,), (64,)), ([2, 1], [64, 1]), ((2, 1, 1), (64, 1, 1)), (np.int64(2), np.array([64, 1]))],
)
def test_forms(vector_add: wave_runtime.Kernel, grid: object, block: object) -> None:
    c = torch.zeros(200)
    vector_add(torch.ones(200), torch.ones(200), c, 200, grid=grid, block=block)
    assert c.tolist() == [2.0] * 128 + [0.0] * 72


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"block": 64}, TypeError, r"grid= is missing \(it counts workgroups\)"),
        ({"grid": 1}, TypeError, r"block= is missing: the binary fixes no workgroup size \(at most 1024 work-items\)"),
        ({"grid": 0, "block": 64}, ValueError, r"grid \(0, 1, 1\) has an extent below 1: .*at least one workgroup"),
        ({"grid": (1, -1), "block": 64}, ValueError, r"grid \(1, -1, 1\) has an extent below 1"),
        ({"grid": 1, "block": (64, 0)}, ValueError, r"block \(64, 0, 1\) has an extent below 1"),
        ({"grid": (1, 1, 1, 1), "block": 64}, ValueError, "grid must be an int or 1 to 3 ints, given 4"),
        ({"grid": (), "block": 64}, ValueError, "grid must be an int or 1 to 3 ints, given 0"),
        ({"grid": 1.5, "block": 64}, TypeError, "grid: expected an int, given float"),
        ({"grid": "1", "block": 64}, TypeError, "grid: expected an int, given str"),
        ({"grid": 2**70, "block": 64}, ValueError, "grid: 1180591620717411303424 does not fit in 64 bits"),
        ({"grid": 1, "block": 1025}, ValueError, r"block \(1025, 1, 1\) has more than the 1024 work-items"),
        ({"grid": 1, "block": (32, 33)}, ValueError, r"block \(32, 33, 1\) has more than the 1024 work-items"),
        ({"grid": 1, "block": (2**62, 2**62)}, ValueError, "has more than the 1024 work-items"),
        ({"grid": 2**24, "block": 256}, ValueError, r"is 2\^32 or more work-items in x"),
        ({"grid": (1, 2**32), "block": 1}, ValueError, r"is 2\^32 or more work-items in y"),
        ({"grid": 1, "block": 64, "shared_memory": -1}, ValueError, "shared_memory -1 is negative"),
        ({"grid": 1, "block": 64, "shared_memory": 65537}, ValueError, "more than the 65536 bytes that gfx942 has"),
    ],
)
def test_limits(
    vector_add: wave_runtime.Kernel, keywords: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"kernel 'vector_add': {message}|kernel 'vector_add'.*{message}"):
        vector_add(torch.ones(1), torch.ones(1), torch.ones(1), 1, **keywords)


def test_required_workgroup_size() -> None:
    kernel = wave_runtime.load(GEMM)["gemm"]
    a, c = torch.zeros(256, 256, dtype=torch.float16), torch.zeros(256, 256)
    message = r"block \(256, 1, 1\) given, but the kernel was compiled for \(128, 2, 1\)"
    with pytest.raises(ValueError, match=message):
        kernel(a, a, c, grid=(4, 4), block=256)
    kernel(a, a, c, grid=(4, 4), block=(128, 2))
    with pytest.raises(
        ValueError, match=r"9216 bytes of its own shared memory .LDS. and shared_memory=57000 are more than the 65536"
    ):
        kernel(a, a, c, grid=(4, 4), shared_memory=57000)
