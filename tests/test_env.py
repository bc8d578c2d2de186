"""``python -m wave_runtime env``: in processes of their own, since it opens drivers."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
import torch
import warm_python
from support import EXAMPLES

import wave_emulator
import wave_runtime
from wave_runtime import _env

HIP_EMULATOR = str(wave_emulator.library("wave_hip_emulator"))


def env(*options: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _env.VARIABLES}
    done = warm_python.run("-m", "wave_runtime", "env", *options, env={**environment, **variables})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def described(**variables: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(env("--json", **variables))
    return result


def test_versions_and_the_emulator() -> None:
    found = described()
    assert found["versions"]["wave_runtime"] == wave_runtime.__version__
    assert found["versions"]["torch"] == torch.__version__
    assert found["used"]["cpu"] == "emulator"
    assert set(found["drivers"]) == {"hip", "cuda", "emulator"}
    emulator = found["drivers"]["emulator"]
    assert emulator["error"] is None
    assert [device["target"] for device in emulator["devices"]] == ["gfx942"]
    assert found["loaded"] == []
    assert [(name, item["available"]) for name, item in found["experimental"].items()] == [
        ("intel", torch.xpu.is_available()),
        ("apple", torch.mps.is_available()),
    ]
    assert found["variables"] == {}


def test_a_variable_that_nothing_reads() -> None:
    """Of a name that is misspelt, the one that may be meant is told."""
    assert described(WAVE_RUNTIME_SANATIZE="memory")["unknown"]["WAVE_RUNTIME_SANATIZE"] == "memory"
    text = env(WAVE_RUNTIME_SANATIZE="memory", WAVE_RUNTIME_QQQQQQQQQQQQ="1", WAVE_RUNTIME_SYNC="1")
    assert "\n  WAVE_RUNTIME_SANATIZE=memory  nothing reads it: is WAVE_RUNTIME_SANITIZE meant?\n" in text
    assert "\n  WAVE_RUNTIME_QQQQQQQQQQQQ=1  nothing reads it\n" in text
    assert "\n  WAVE_RUNTIME_SYNC=1\n" in text


def test_why_a_driver_is_not_available() -> None:
    """With the paths that were tried."""
    missing = "/nonexistent/libhip.so"
    error = described(WAVE_RUNTIME_LIBHIP=missing)["drivers"]["hip"]["error"]
    assert missing in error
    assert "No such file" in error
    text = env(WAVE_RUNTIME_LIBHIP=missing)
    assert re.search(rf"(?m)^  hip +not available: .*{missing}", text, re.DOTALL)
    assert f"WAVE_RUNTIME_LIBHIP={missing}" in text
    assert re.search(r"(?m)^experimental: has never run .*\n  intel +SYCL.*\n  apple +Metal", text)


@pytest.mark.parametrize("library", [None, "/nonexistent/libhip.so"])
def test_cpu_tensors_for_a_hip_library_that_does_not_work(library: str | None) -> None:
    """The launch says which kernel, which file, and what to do."""
    file = str(EXAMPLES / "binaries" / "basics.hsaco")
    code = (
        "import torch, wave_runtime\n"
        f"kernel = wave_runtime.load({file!r})['vector_add']\n"
        "kernel(*[torch.ones(1)] * 2, torch.ones(1), 1, grid=1, block=64)\n"
    )
    if library is None and described()["drivers"]["hip"]["error"] is None:
        return  # there is an AMD GPU
    variables = {"WAVE_RUNTIME_CPU_DRIVER": "hip"} | ({} if library is None else {"WAVE_RUNTIME_LIBHIP": library})
    done = warm_python.run("-c", code, env={**os.environ, **variables})
    assert done.returncode == 1
    error = done.stderr.partition("RuntimeError: ")[2]
    assert error.startswith("kernel 'vector_add' on cpu (hip): ")
    assert (library or "libamdhip64") in error
    assert "because WAVE_RUNTIME_CPU_DRIVER=hip: unset it" in error
    assert "`python -m wave_emulator library`" in error


def test_hip_on_the_emulator() -> None:
    variables = {"WAVE_RUNTIME_LIBHIP": HIP_EMULATOR, "WAVE_RUNTIME_CPU_DRIVER": "hip"}
    found = described(**variables)
    assert found["drivers"]["hip"]["error"] is None
    assert re.fullmatch(re.escape(HIP_EMULATOR) + r", HIP [5-9]\.\d\d?\.\d{1,5}", found["drivers"]["hip"]["library"])
    assert found["drivers"]["hip"]["devices"][0]["target"].startswith("gfx942")
    assert found["used"]["cpu"] == "hip"
    assert found["variables"] == variables
    text = env(**variables)
    assert f"  hip        {HIP_EMULATOR}" in text
    assert "CPU tensors are launched by hip, GPU tensors by " in text


@pytest.mark.gpu
@pytest.mark.needs("cuda")
def test_nvidia() -> None:
    cuda = described()["drivers"]["cuda"]
    assert cuda["error"] is None
    assert "libcuda" in cuda["library"]
    assert len(cuda["devices"]) == torch.cuda.device_count()
    major, minor = torch.cuda.get_device_capability(0)
    assert cuda["devices"][0]["target"] == f"sm_{major}{minor}"
    assert cuda["devices"][0]["name"] == torch.cuda.get_device_name(0)


def test_what_is_loaded() -> None:
    item = {"device": "cpu", "driver": "emulator", "target": "gfx942", "sha256": "0" * 64, "kernels": ("k",)}
    assert "cpu (emulator)  gfx942  0000000000000000  ('k',)" in _env.render({**_env.describe(), "loaded": [item]})
