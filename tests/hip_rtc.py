"""Programs in Python that compile kernels with hipRTC of the HIP library over the emulator, and launch them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from wave_emulator import _hip

PROLOGUE = """
import ctypes, sys
rtc = ctypes.CDLL("libhiprtc.so.6")
hip = ctypes.CDLL("libamdhip64.so.6")
program = ctypes.c_void_p()

def create(source, *headers):
    names = (ctypes.c_char_p * len(headers))(*(name for name, _ in headers))
    texts = (ctypes.c_char_p * len(headers))(*(text for _, text in headers))
    assert rtc.hiprtcCreateProgram(ctypes.byref(program), source, b"kernels.hip", len(headers), texts, names) == 0

def compile(*options):
    return rtc.hiprtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))

def log():
    size = ctypes.c_size_t()
    assert rtc.hiprtcGetProgramLogSize(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert rtc.hiprtcGetProgramLog(program, text) == 0
    return text.value.decode()

def code():
    size = ctypes.c_size_t()
    assert rtc.hiprtcGetCodeSize(program, ctypes.byref(size)) == 0
    image = ctypes.create_string_buffer(size.value)
    assert rtc.hiprtcGetCode(program, image) == 0
    return image.raw

def lowered(expression):
    name = ctypes.c_char_p()
    result = rtc.hiprtcGetLoweredName(program, expression, ctypes.byref(name))
    return name.value if result == 0 else result
"""


def run(tmp_path: Path, code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    _hip.link(tmp_path / "hip")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path / "hip"), **variables}
    command = [sys.executable, "-c", PROLOGUE + code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)
