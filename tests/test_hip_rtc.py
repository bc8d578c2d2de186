"""hipRTC of the HIP library over the emulator: what a program compiles while it runs, it launches."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hip_rtc import run
from requirements import hip_headers
from support import ROOT

pytestmark = pytest.mark.needs("clang")


def test_what_is_compiled_runs(tmp_path: Path) -> None:
    """A template by its expression, a header of the program's own, a macro, and a variable's name."""
    done = run(
        tmp_path,
        """
create(b'''
#include "scale.h"
__device__ int answer = 42;
template <class T> __global__ void fill(T* to) { to[threadIdx.x] = SCALE * OFFSET + T(threadIdx.x); }
''', (b"scale.h", b"#define SCALE 10\\n"))
assert lowered(b"fill<float>") == 9  # not before the compilation
for expression in (b"fill<float>", b"fill<int>", b"answer", b"&answer", b" &fill<int>"):
    assert rtc.hiprtcAddNameExpression(program, expression) == 0
assert compile(b"-DOFFSET=2") == 0, log()
assert rtc.hiprtcAddNameExpression(program, b"fill<char>") == 8
assert lowered(b"fill<char>") == 10
assert lowered(b"answer") == lowered(b"&answer") == b"answer"
assert lowered(b" &fill<int>") == lowered(b"fill<int>")
module, kernel, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoadData(ctypes.byref(module), code()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, lowered(b"fill<float>")) == 0
assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(256), 0) == 0
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(data))
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, None, parameters, None) == 0
assert hip.hipDeviceSynchronize() == 0
print(list((ctypes.c_float * 4).from_address(data.value)))
assert rtc.hiprtcDestroyProgram(ctypes.byref(program)) == 0
assert rtc.hiprtcCompileProgram(ctypes.c_void_p(16), 0, None) == 4
""",
    )
    assert done.stdout == "[20.0, 21.0, 22.0, 23.0]\n", done.stderr


def test_small_types_need_no_header(tmp_path: Path) -> None:
    """hipRTC has them built in, and an option that says what ptrdiff_t is."""
    done = run(
        tmp_path,
        """
create(b'''
extern "C" __global__ void kernel(__half* to, hip_bfloat16* other) { *to = __float2half(1.5f); }
using Difference = __PTRDIFF_TYPE__;
static_assert(__is_same(Difference, DIFFERENCE));
''')
print(compile(b"-DDIFFERENCE=long"), log())
print(compile(b"-DDIFFERENCE=long long", b"-D__HIPRTC_PTRDIFF_T_IS_LONG_LONG__=1"), log())
""",
    )
    assert done.stdout == "0 \n0 \n", done.stderr


def test_a_source_can_tell_hiprtc(tmp_path: Path) -> None:
    """By the macro that hipRTC defines: rocFFT leaves its operators of streams out by it. Lines count as before."""
    done = run(
        tmp_path,
        """
create(b'#ifndef __HIPCC_RTC__\\n#error hipcc\\n#endif\\nstatic_assert(__LINE__ == 4 && __HIPCC_RTC__);')
print(compile(), log())
""",
    )
    assert done.stdout == "0 \n", done.stderr


def test_headers_of_another_rocm(tmp_path: Path) -> None:
    """ROCM_PATH names one whose compiler is elsewhere, as with Debian's packages: there the device libraries are among
    clang's own files. clang would look for them in ROCM_PATH alone."""
    bitcode = tmp_path / "clang" / "amdgcn" / "bitcode"
    bitcode.mkdir(parents=True)
    header = tmp_path / "usr" / "include" / "hip" / "hip_runtime.h"
    header.parent.mkdir(parents=True)
    header.touch()
    clang = tmp_path / "some-clang"
    clang.write_text(
        f'#!/bin/sh\ntest "$1" = -print-resource-dir && echo {tmp_path}/clang && exit\necho "$@"\nexit 1\n'
    )
    clang.chmod(0o700)
    code = 'create(b""); print(compile()); print(log())'
    done = run(tmp_path, code, CLANG=str(clang), ROCM_PATH=str(tmp_path / "usr"))
    assert f" --rocm-device-lib-path={bitcode} -idirafter {tmp_path}/usr/include " in done.stdout, done
    assert "-nogpulib" not in done.stdout
    (tmp_path / "usr" / "amdgcn" / "bitcode").mkdir(parents=True)
    done = run(tmp_path, code, CLANG=str(clang), ROCM_PATH=str(tmp_path / "usr"))
    assert f" --rocm-path={tmp_path}/usr " in done.stdout, done


def test_without_any_of_rocm(tmp_path: Path) -> None:
    """clang's headers for C++ in kernels, which it leaves out where it finds no HIP of some release."""
    done = run(
        tmp_path,
        """
create(b'extern "C" __global__ void kernel(int* to, char* room) { *to = *new (room) int(7); }')
print(compile(), log())
""",
        ROCM_PATH=str(tmp_path),
    )
    assert done.stdout == "0 \n", done.stderr


@pytest.mark.parametrize("target", ["gfx1100", "gfx11-generic"])
def test_an_option_names_another_target(tmp_path: Path, target: str) -> None:
    code = f"""
create(b"extern \\"C\\" __global__ void nothing() {{}}")
assert compile(b"--gpu-architecture={target}") == 0, log()
module = ctypes.c_void_p()
print(hip.hipModuleLoadData(ctypes.byref(module), code()))
"""
    assert run(tmp_path, code).stdout == "209\n"
    assert run(tmp_path, code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx1100").stdout == "0\n"


def test_errors_are_in_the_log(tmp_path: Path) -> None:
    done = run(tmp_path, 'create(b"__global__ void wrong() { int x = y; }"); print(compile()); print(log())')
    assert re.match(r"6\n\S*kernels.hip:1:\d+: error: use of undeclared identifier 'y'", done.stdout), done
    done = run(tmp_path, 'create(b""); print(compile())', CLANG="no-such-clang")
    assert (done.stdout, "there is no clang" in done.stderr) == ("6\n", True)


def test_bitcode_is_made_on_request(tmp_path: Path) -> None:
    done = run(tmp_path, 'create(b""); print(rtc.hiprtcGetBitcodeSize(program, ctypes.byref(ctypes.c_size_t())))')
    assert (done.stdout, "where -fgpu-rdc is an option" in done.stderr) == ("4\n", True)


def test_signatures_agree_with_the_header(tmp_path: Path) -> None:
    source = tmp_path / "rtc.cpp"
    source.write_text("""
#include <hip/hiprtc.h>
using RtcResult = hiprtcResult;
using RtcProgramHandle = hiprtcProgram;
#ifdef HAS_LINKER
using LinkState = hiprtcLinkState;
using JitOption = hiprtcJIT_option;
using JitInput = hiprtcJITInputType;
#endif
extern "C" {
#define RTC(name, parameters) RtcResult name parameters;
#include "rtc_functions.inc"
}
""")
    for folder in hip_headers("hip/hiprtc.h"):
        table = (ROOT / "csrc/hip_emulator/rtc_functions.inc").read_text()
        text = (folder / "hip/hiprtc.h").read_text()
        common = [line for line in table.splitlines() if line.startswith("//") or re.split(r"[(,]", line)[1] in text]
        (tmp_path / "rtc_functions.inc").write_text("\n".join(common))
        command = ["g++", "-fsyntax-only", "-D__HIP_PLATFORM_AMD__", f"-I{folder}", f"-I{tmp_path}", source]
        if "hiprtcLinkState" in text:
            command.append("-DHAS_LINKER")
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.needs("hip-compiler")
def test_headers_are_those_of_a_toolchain(hip_toolchain: Path, tmp_path: Path) -> None:
    """Where ROCM_PATH names one, with the types that AMD's hipRTC knows without headers."""
    code = """
create(b"__global__ void k(float* to, __half a, hip_bfloat16 b, hipFloatComplex c) { *to = float(a) + b + c.y; }")
result = compile()
print(result, log() if result else code().count(b"_Z1kPf"))
"""
    done = run(tmp_path, code, ROCM_PATH=str(hip_toolchain), CLANG="")
    assert done.stdout.startswith("0 "), done.stdout + done.stderr
    assert int(done.stdout.split()[1]) > 0


@pytest.mark.parametrize("how", ["ignored", "waited for by another"])
def test_compilers_of_a_process_that_is_not_told_how_children_end(how: str, tmp_path: Path) -> None:
    """It ignores SIGCHLD, which a compiler would inherit, or has a thread that waits for whatever child ends."""
    done = run(
        tmp_path,
        """
import os, signal, threading, time
def reap():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.001)
if sys.argv[-1] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
else:
    threading.Thread(target=reap, daemon=True).start()
create(b'extern "C" __global__ void k(int* to) { *to = 42; }')
print(compile(), code()[:4])
create(b'extern "C" __global__ void k(int* to) { *to = nothing; }')
print(compile(), "nothing" in log())
""",
        how,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0 b'\\x7fELF'", "6 True"]
