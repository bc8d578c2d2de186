"""What the HIP library answers where arguments are null, or just inside or outside of what they may be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from support import ROOT

import wave_emulator

FUNCTIONS = {
    name: [parameter for parameter in parameters.split(",") if parameter.strip()]
    for name, parameters in re.findall(
        r"^FUNCTION\((\w+),\s*\((.*?)\)\)",
        re.sub(r"//.*", "", (ROOT / "csrc" / "hip_emulator" / "functions.inc").read_text()),
        re.MULTILINE | re.DOTALL,
    )
}

# Reads one call a line: the function, and its arguments, of which a string is a buffer that starts with these bytes.
PROGRAM = """
import ctypes, json, sys
hip = ctypes.CDLL(sys.argv[1])
for line in sys.stdin:
    name, arguments = json.loads(line)
    rooms = [ctypes.create_string_buffer(argument.encode("latin-1"), 4096) if isinstance(argument, str) else None
             for argument in arguments]
    given = [ctypes.c_void_p(argument) if room is None else room for argument, room in zip(arguments, rooms)]
    given += [ctypes.c_void_p(0)] * (16 - len(given))
    print(json.dumps([getattr(hip, name)(*given), [room and room.raw[:64].hex() for room in rooms]]), flush=True)
"""

Call = tuple[str, list[Any]]


def answers(calls: list[Call], **variables: str) -> list[tuple[int, list[str | None]]]:
    """The error of each call, all of them in one process, and what its buffers begin with then."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, str(wave_emulator.library("wave_hip_emulator"))],
        env={**os.environ, "WAVE_RUNTIME_EMULATOR_DEVICES": "2", **variables},
        input="".join(json.dumps(call) + "\n" for call in calls),
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(found) == len(calls), f"{calls[len(found)]} ends the process: {done.stderr}"
    return found


# Which functions' errors are others than hipErrorInvalidValue where all arguments are zero. What waits for nothing,
# moves no bytes or frees no memory succeeds, but for hipFreeAsync, as in AMD's runtime; a null stream is the default
# one.
ZEROS = {
    0: "hipDeviceReset hipDeviceSynchronize hipCtxSetCurrent hipDevicePrimaryCtxRelease hipFree hipHostFree hipMemcpy "
    "hipMemcpyAsync hipMemcpyHtoD hipMemcpyDtoH hipMemcpyDtoD hipMemcpyHtoDAsync hipMemcpyDtoHAsync "
    "hipMemcpyDtoDAsync hipMemset hipMemsetAsync hipMemsetD8 hipMemsetD8Async hipMemsetD16 hipMemsetD16Async "
    "hipMemsetD32 hipMemsetD32Async hipDeviceGetStreamPriorityRange hipStreamQuery hipCtxSynchronize "
    "hipCtxSetCacheConfig hipCtxSetSharedMemConfig hipDevicePrimaryCtxReset hipDevicePrimaryCtxSetFlags "
    "hipSetDeviceFlags hipDeviceSetCacheConfig hipDeviceSetSharedMemConfig hipDeviceSetLimit hipFreeHost hipMemcpy2D "
    "hipMemcpy2DAsync hipMemcpyWithStream hipMemcpyPeer hipMemcpyPeerAsync hipMemset2D hipMemset2DAsync hipMemset3D "
    "hipMemset3DAsync hipMemsetD2D8 hipMemsetD2D8Async hipMemsetD2D16 hipMemsetD2D16Async hipMemsetD2D32 "
    "hipMemsetD2D32Async hipDeviceGraphMemTrim hipConfigureCall",
    21: "hipMemcpyToSymbol hipMemcpyFromSymbol hipMemcpyToSymbolAsync hipMemcpyFromSymbolAsync",  # the direction
    98: "hipLaunchKernel hipLaunchCooperativeKernel hipExtLaunchKernel hipLaunchByPtr hipFuncSetAttribute "
    "hipFuncSetCacheConfig hipFuncSetSharedMemConfig",
    101: "hipDeviceEnablePeerAccess",
    201: "hipCtxDestroy hipCtxPushCurrent hipCtxPopCurrent hipCtxEnablePeerAccess hipCtxDisablePeerAccess",
    400: "hipStreamDestroy hipStreamWaitEvent hipEventRecord hipEventSynchronize hipEventQuery hipEventDestroy "
    "hipEventRecordWithFlags hipArrayGetInfo hipMemcpy2DToArray hipMemcpy2DToArrayAsync hipMemcpy2DFromArray "
    "hipMemcpy2DFromArrayAsync hipMemcpy2DArrayToArray hipMemcpyToArray hipMemcpyFromArray hipLibraryUnload "
    "hipHccModuleLaunchKernel hipExtModuleLaunchKernel",
    401: "hipStreamUpdateCaptureDependencies",
    500: "hipMemGetAddressRange",
    705: "hipDeviceDisablePeerAccess",
    900: "hipStreamBeginCapture",
}
ZERO_ERRORS = {name: error for error, names in ZEROS.items() for name in names.split()}
OF_BEFORE = {"hipGetLastError", "hipPeekAtLastError", "hipExtGetLastError"}  # what other calls have left


def is_result(parameter: str) -> bool:
    """Whether it says where a result goes: to the caller's memory, which is no text and no bytes."""
    return re.fullmatch(r"(?!const )(?!void ?\* ?\w+$)(?!char)[\w: ]+?\*+ ?\w+", parameter.strip()) is not None


def test_all_arguments_are_zero() -> None:
    names = [name for name in FUNCTIONS if name.startswith("hip") and name not in OF_BEFORE]
    # What is submitted to the null stream ends first: else hipStreamQuery may say that it is not ready.
    found = answers([(each, []) for name in names for each in ("hipDeviceSynchronize", name)])[1::2]
    assert {name: error for name, (error, _) in zip(names, found, strict=True) if error != 1} == ZERO_ERRORS


NOT_ALL_ARE_NEEDED = {
    "__hipPopCallConfiguration", "hipStreamGetCaptureInfo", "hipStreamGetCaptureInfo_v2", "hipLinkCreate"
}  # fmt: skip
# Those that look at another argument first, or need none of them.
ONE_IS_NULL = {
    "hipDeviceGetStreamPriorityRange": 0,
    "hipMemGetAddressRange": 500,
    "hipArrayGetInfo": 400,
    "hipHccModuleLaunchKernel": 400,
    "hipExtModuleLaunchKernel": 400,
}


def test_one_of_several_results_is_null() -> None:
    calls: list[Call] = []
    for name, parameters in FUNCTIONS.items():
        results = [place for place, parameter in enumerate(parameters) if is_result(parameter)]
        if len(results) < 2 or name in NOT_ALL_ARE_NEEDED:
            continue
        for null in results:
            calls.append((name, ["" if at in results and at != null else 0 for at in range(len(parameters))]))
    assert len(calls) > 40
    for (name, arguments), (error, _) in zip(calls, answers(calls), strict=True):
        assert error == ONE_IS_NULL.get(name, 1), (name, arguments)


# Pointers that are needed all, a result and what it is made of: their places, and how many arguments there are.
NEEDED = {
    "hipModuleLoadData": ((0, 1), 2),
    "hipModuleLoadDataEx": ((0, 1), 5),
    "hipModuleLoadFatBinary": ((0, 1), 2),
    "hipModuleLoad": ((0, 1), 2),
    "hipLibraryLoadData": ((0, 1), 8),
    "hipLibraryLoadFromFile": ((0, 1), 8),
    "hipGetProcAddress": ((0, 1), 5),
    "hipHostGetFlags": ((0, 1), 2),
    "hipPointerGetAttributes": ((0, 1), 2),
    "hipDrvPointerGetAttributes": ((1, 2), 4),
    "hipDeviceGetByPCIBusId": ((0, 1), 2),
    "hipChooseDevice": ((0, 1), 2),
    "hipMemPoolCreate": ((0, 1), 2),
    "hipMemPoolGetAccess": ((0, 2), 3),
}


def test_one_of_several_pointers_is_null() -> None:
    calls: list[Call] = []
    for name, (places, count) in NEEDED.items():
        calls += [(name, [0 if at == null else "" for at in range(count)]) for null in places]
    assert [(call, error) for call, (error, _) in zip(calls, answers(calls), strict=True) if error != 1] == []


HUGE = (1 << 64) - 1
# What is taken first, then what is refused, which is hipErrorInvalidValue unless it says otherwise.
LIMITS: dict[str, tuple[list[list[Any]], list[list[Any]], int]] = {
    "hipSetDeviceFlags": ([[0], [1], [2], [4], [0x18]], [[3], [5], [6], [7], [0x20]], 1),
    "hipDeviceSetSharedMemConfig": ([[0], [1], [2]], [[3], [-1]], 1),
    "hipDeviceSetLimit": ([[0, 5], [1, 5], [2, 5]], [[64, 5], [-1, 5]], 1),
    "hipDeviceGetLimit": ([["", 0], ["", 1], ["", 2]], [["", 64], ["", -1]], 215),
    "hipStreamCreateWithFlags": ([["", 0], ["", 1]], [["", 2]], 1),
    "hipExtMallocWithFlags": ([["", 8, 0], ["", 8, 2], ["", 64, 4]], [["", 8, 5], ["", 16, 2], ["", 4, 2]], 1),
    "hipHostMalloc": (
        [["", 8, 0], ["", 8, 7], ["", 8, 0x40000000], ["", 8, 0x80000000], ["", 8, 0x30000000]],
        [["", 8, 8], ["", 8, 0xC0000000], ["", 8, 0x08000000]],
        1,
    ),
    "hipMallocManaged": ([["", 8, 1], ["", 8, 2]], [["", 8, 0], ["", 8, 3], ["", 0, 1]], 1),
    "hipMemAllocPitch": (
        [["", "", 12, 3, 4], ["", "", 12, 3, 8], ["", "", 12, 3, 16]],
        [["", "", 12, 3, 1], ["", "", 12, 3, 5], ["", "", 12, 3, 32], ["", "", 0, 3, 4], ["", "", 12, 0, 4]],
        1,
    ),
    "hipMallocPitch": ([["", "", 12, 3], ["", "", 512, 1]], [["", "", HUGE, 1]], 1),
    "hipDeviceEnablePeerAccess": ([[1, 0]], [[1, 1]], 1),
    "hipDeviceCanAccessPeer": ([["", 0, 1], ["", 1, 1]], [["", 0, 2], ["", 2, 0], ["", -1, 0]], 101),
    "hipDeviceGetP2PAttribute": ([["", 0, 0, 1], ["", 3, 1, 0]], [["", -1, 0, 1], ["", 4, 0, 1]], 1),
    "hipExtGetLinkTypeAndHopCount": ([[0, 1, "", ""], [1, 0, "", ""]], [[1, 1, "", ""], [-1, 0, "", ""]], 1),
    "hipDeviceGetPCIBusId": ([["", 13, 0], ["", 1, 1]], [["", 0, 0], ["", -1, 0]], 1),
    "hipDeviceGetByPCIBusId": (
        [["", "0000:00:00.0"], ["", "0:1:0.0"]],
        [["", "0000:02:00.0"], ["", "0001:00:00.0"], ["", "0000:00:01.0"], ["", "no bus"]],
        1,
    ),
    "hipDeviceGetName": ([["", 13, 0], ["", 1, 1]], [["", 0, 0], ["", -1, 0]], 1),
    "hipDeviceGet": ([["", 0], ["", 1]], [["", 2], ["", -1]], 101),
    "hipDevicePrimaryCtxReset": ([[0], [1]], [[2], [-1]], 101),
    "hipDevicePrimaryCtxRelease": ([[0], [1]], [[2], [-1]], 101),
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_that_is_taken_and_the_first_that_is_refused(name: str) -> None:
    taken, refused, error = LIMITS[name]
    found = [error for error, _ in answers([(name, arguments) for arguments in taken + refused])]
    assert found == [0] * len(taken) + [error] * len(refused)


# What is asked for, and what a result begins with then: its place among the arguments, and its bytes.
RESULTS: list[tuple[str, list[Any], int, bytes]] = [
    ("hipDeviceGetPCIBusId", ["", 13, 1], 0, b"0000:01:00.0\0"),
    ("hipDeviceGetPCIBusId", ["", 6, 1], 0, b"0000:\0\0"),
    ("hipDeviceGetByPCIBusId", ["", "0000:01:00.0"], 0, b"\1\0\0\0"),
    ("hipDeviceGetUuid", ["", 1], 0, b"emulator-1\0\0\0\0\0\0"),
    ("hipDeviceGetSharedMemConfig", [""], 0, b"\1\0\0\0"),
    ("hipDeviceGetCacheConfig", ["x"], 0, b"\0\0\0\0"),
    ("hipCtxGetCacheConfig", ["x"], 0, b"\0\0\0\0"),
    ("hipCtxGetSharedMemConfig", [""], 0, b"\1\0\0\0"),
    ("hipDeviceCanAccessPeer", ["", 0, 1], 0, b"\1\0\0\0"),
    ("hipDeviceCanAccessPeer", ["x", 1, 1], 0, b"\0\0\0\0"),
    ("hipDeviceGetP2PAttribute", ["x", 0, 0, 1], 0, b"\0\0\0\0"),
    ("hipDeviceGetP2PAttribute", ["", 1, 0, 1], 0, b"\1\0\0\0"),
    ("hipDeviceGetP2PAttribute", ["", 2, 0, 1], 0, b"\1\0\0\0"),
    ("hipDeviceGetP2PAttribute", ["x", 3, 0, 1], 0, b"\0\0\0\0"),
    ("hipExtGetLinkTypeAndHopCount", [0, 1, "", ""], 2, b"\4\0\0\0"),
    ("hipExtGetLinkTypeAndHopCount", [0, 1, "", ""], 3, b"\1\0\0\0"),
    ("hipDevicePrimaryCtxGetState", [1, "x", ""], 1, b"\0\0\0\0"),
    ("hipDevicePrimaryCtxGetState", [1, "", "x"], 2, b"\1\0\0\0"),
    ("hipChooseDevice", ["x", ""], 0, b"\0\0\0\0"),
    ("hipDeviceComputeCapability", ["", "", 0], 0, b"\x09\0\0\0"),
    ("hipDeviceComputeCapability", ["", "", 0], 1, b"\x04\0\0\0"),
]


@pytest.mark.parametrize(("name", "arguments", "place", "expected"), RESULTS)
def test_results(name: str, arguments: list[Any], place: int, expected: bytes) -> None:
    ((error, rooms),) = answers([(name, arguments)])
    assert error == 0
    assert rooms[place][: 2 * len(expected)] == expected.hex()


@pytest.mark.parametrize(("target", "units"), [("gfx942", 304), ("gfx1201", 32), ("gfx1100", 48)])
def test_a_stream_has_all_units(target: str, units: int) -> None:
    """A bit for each, in words of 32 bits; what is behind the last word stays."""
    words = (units + 31) // 32
    calls: list[Call] = [("hipExtStreamGetCUMask", [0, count, "x" * 64]) for count in (words, words - 1)]
    (error, rooms), (refused, _) = answers(calls, WAVE_RUNTIME_EMULATOR_PROCESSOR=target)
    assert (error, refused) == (0, 1)
    assert rooms[2] == (((1 << units) - 1).to_bytes(4 * words, "little") + b"x" * (64 - 4 * words)).hex()
