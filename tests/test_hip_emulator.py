"""libwave_hip_emulator.so, used as programs use HIP: by a C++ program that knows nothing of torch, and by ctypes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import warm_python
from requirements import HIP_LIBRARY, need
from support import EXAMPLES, PROBES, ROOT, build_cpp

import wave_emulator

LIBRARY = wave_emulator.library("wave_hip_emulator")
SOURCES = sorted({*(ROOT / "tests" / "cpp").glob("hip_*_test.cpp")} - {ROOT / "tests" / "cpp" / "hip_types_test.cpp"})
TESTS = [name for path in SOURCES for name in re.findall(r"^TEST\((\w+)\)", path.read_text(), re.MULTILINE)]
TIMEOUT = 300
# Kernels that print load atomically what other workgroups store. ThreadSanitizer takes the emulator's load, which is an
# ordinary one, for a race.
PRINTING = ("printing", "assertion")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a test of the program. WAVE_RUNTIME_TEST_PROGRAM names one with the library linked in (make tsan)."""
    linked = os.environ.get("WAVE_RUNTIME_TEST_PROGRAM")
    if linked:
        program = Path(linked)
    else:
        sources = [str(path.relative_to(ROOT)) for path in SOURCES]
        program = build_cpp(tmp_path_factory, "hip", sources, "-g0", "-Itests/cpp", "-pthread")
    environment = {**os.environ, "WAVE_RUNTIME_EMULATOR_DEVICES": "2", "WAVE_RUNTIME_EMULATOR_THREADS": "3"}

    def run(test: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [program.resolve(), "-" if linked else LIBRARY, ROOT, test]
        threads = {"WAVE_RUNTIME_EMULATOR_THREADS": "1"} if linked and test in PRINTING else {}
        return subprocess.run(
            command, env=environment | threads | variables, capture_output=True, text=True, timeout=TIMEOUT
        )

    return run


@pytest.mark.parametrize("test", TESTS)
def test_program(run: Run, test: str) -> None:
    done = run(test)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tools", ["races", "waits,barriers,numbers", "uninitialized"])
def test_threads_share_what_the_sanitizer_knows(run: Run, tools: str) -> None:
    """Some tools for all launches and threads: what ThreadSanitizer should see, too."""
    done = run("workgroups_side_by_side", WAVE_RUNTIME_SANITIZE=tools)
    assert done.returncode == 0, done.stderr
    kinds = set(re.findall(r"\[([\w:-]+)\]$", done.stderr, re.MULTILINE))
    assert kinds == ({"races:lds-race"} if tools == "races" else set())


def test_the_program_fails_where_it_must(run: Run) -> None:
    assert run("no_such_test").returncode == 2


def test_fault_is_described(run: Run) -> None:
    """The first fault of the test: a store past the end of an allocation."""
    text = run("faults").stderr
    assert re.search(
        r"kernel fault: kernel 'vector_add' on the gfx942 emulator: a store of 4 bytes out of bounds", text
    )
    assert re.search(r"0 bytes past the end of the hipMalloc at 0x[0-9a-f]+, which has 2000 bytes\n", text)
    assert "at vector_add+0x80: global_store_dword" in text
    assert re.search(r"into the process's memory at 0x\w+ to 0x\w+, which the process may only read", text)
    assert re.search(r"a store of 4 bytes into the hipMalloc at 0x\w+ of 65536 bytes, which was freed", text)


def test_exact_bounds_forbid_what_lies_beside_registered_memory(run: Run) -> None:
    variables = {"WAVE_RUNTIME_EMULATOR_BOUNDS": "exact", "WAVE_RUNTIME_SANITIZE": "memory"}
    done = run("registered_memory_behind_other", **variables)
    assert done.returncode == 0, done.stderr
    told = r"a load of 4 bytes from memory that HIP did not allocate, which \S+=exact forbids \[memory:out-of-bounds\]"
    assert len(re.findall(told, done.stderr)) == 2  # each of the two loads


def test_kernels_print(run: Run) -> None:
    done = run("printing")
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * 2 * 2 * 64
    assert lines.count("pid (1, 0, 0) idx (35) value: 99.000000") == 2
    assert lines.count("pid (1, 0, 0) idx () program: 0x00000001") == 2 * 64


def test_assertions_are_described(run: Run) -> None:
    text = run("assertion").stderr
    message = "device assertion failed: 'value is too large'"
    assert re.search(rf"^{message}, in ", text, re.MULTILINE)
    assert (
        f"HIP emulator: kernel fault: kernel 'assert_kernel' on the gfx942 emulator: the kernel has aborted: {message}"
        in text
    )


def test_lost_arguments_are_reported(run: Run) -> None:
    text = run("unlisted_arguments").stderr
    assert "kernel 'load_at': the 24 bytes of arguments in extra do not arrive: HIP passes what .args" in text


LAUNCH_OF_A_FAULT = f"""
import ctypes
hip = ctypes.CDLL({str(LIBRARY)!r})
module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoad(ctypes.byref(module), {str(EXAMPLES / "binaries" / "basics.hsaco").encode()!r}) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"vector_add") == 0
arguments = [ctypes.c_void_p(64), ctypes.c_void_p(64), ctypes.c_void_p(64), ctypes.c_int(4)]
pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(argument) for argument in arguments))
print(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None), hip.hipDeviceSynchronize())
"""


@pytest.mark.parametrize(("wait", "errors"), [("0", "0 700\n"), ("1", "700 700\n")])
def test_launches_can_wait_for_their_end(wait: str, errors: str) -> None:
    environment = {**os.environ, "WAVE_RUNTIME_SYNC": wait}
    command = [sys.executable, "-c", LAUNCH_OF_A_FAULT]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == errors


def test_who_waits_for_the_end_of_an_operation_keeps_no_other_thread_waiting() -> None:
    """Here one thread's operation ends by that of the other, on another stream."""
    code = f"""
import ctypes, os, threading
hip = ctypes.CDLL({str(LIBRARY)!r})
first, second, value, results = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), []
for stream in (first, second):
    assert hip.hipStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
assert hip.hipHostMalloc(ctypes.byref(value), ctypes.c_size_t(4), 0) == 0
ctypes.c_uint32.from_address(value.value).value = 0

def wait():
    results.append(hip.hipStreamWaitValue32(first, value, 1, 1, ctypes.c_uint32(0xFFFFFFFF)))

def write():
    while hip.hipStreamQuery(first) == 0:
        pass
    results.append(hip.hipStreamWriteValue32(second, value, 1, 0))

threads = [threading.Thread(target=target, daemon=True) for target in (wait, write)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20)
print(results, flush=True)
os._exit(0)  # whoever still waits
"""
    environment = {**os.environ, "WAVE_RUNTIME_SYNC": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[0, 0]\n", done.stderr


def test_launches_wait_within_emulate() -> None:
    """torch's tensors are the CPU's there, and torch.cuda.synchronize() waits for no stream of the library."""
    done = warm_python.run("-m", "wave_runtime", "emulate", "--", sys.executable, "-c", LAUNCH_OF_A_FAULT)
    assert done.stdout == "700 700\n", done.stderr


def test_channel_formats_are_described() -> None:
    code = f"""
import ctypes
class Format(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("x", "y", "z", "w", "kind")]
hip = ctypes.CDLL({str(LIBRARY)!r})
hip.hipCreateChannelDesc.restype = Format
found = hip.hipCreateChannelDesc(32, 16, 8, 0, 2)
print(found.x, found.y, found.z, found.w, found.kind)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "32 16 8 0 2\n"


def test_what_is_no_fat_binary_registers_nothing() -> None:
    code = f"""
import ctypes
hip = ctypes.CDLL({str(LIBRARY)!r})
hip.__hipRegisterFatBinary.restype = ctypes.c_void_p
wrapper = (ctypes.c_uint64 * 3)(0x12345678)
handle = hip.__hipRegisterFatBinary(wrapper)
hip.__hipRegisterFunction(ctypes.c_void_p(handle), wrapper, b"k", b"k", -1, None, None, None, None, None)
hip.__hipRegisterVar(ctypes.c_void_p(handle), wrapper, b"v", b"v", 0, ctypes.c_size_t(4), 0, 0)
hip.hipGetErrorName.restype = ctypes.c_char_p
out = ctypes.c_void_p()
for error in hip.hipGetFuncBySymbol(ctypes.byref(out), wrapper), hip.hipGetSymbolAddress(ctypes.byref(out), wrapper):
    print(hip.hipGetErrorName(error).decode())
hip.__hipUnregisterFatBinary(ctypes.c_void_p(handle))
print(handle)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["hipErrorInvalidDeviceFunction", "hipErrorInvalidSymbol", "None"]


def test_an_image_may_lie_in_several_mappings() -> None:
    """As in a heap that has grown behind a fork. Here advice about one page splits the mapping."""
    code = f"""
import ctypes, mmap
image = open({str(EXAMPLES / "binaries" / "basics.hsaco")!r}, "rb").read()
memory = mmap.mmap(-1, 4 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.write(image)
memory.madvise(mmap.MADV_DONTDUMP, mmap.PAGESIZE, mmap.PAGESIZE)
module = ctypes.c_void_p()
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print(ctypes.CDLL({str(LIBRARY)!r}).hipModuleLoadData(ctypes.byref(module), ctypes.c_void_p(address)))
"""
    assert subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True).stdout == "0\n"


def test_needs_no_torch() -> None:
    code = f"import ctypes, sys; ctypes.CDLL({str(LIBRARY)!r}); print(open('/proc/self/maps').read())"
    maps = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "libwave_emulator.so" in maps
    assert not re.search(r"libtorch|libc10|libwave_runtime", maps)


@pytest.mark.parametrize("name", ["libamdhip64.so", "libamdhip64.so.7"])
def test_found_by_the_name_of_hip(tmp_path: Path, name: str) -> None:
    (tmp_path / "libwave_emulator.so").symlink_to(LIBRARY.with_name("libwave_emulator.so"))
    (tmp_path / name).symlink_to(LIBRARY)
    code = f"""
import ctypes
count = ctypes.c_int()
print(ctypes.CDLL("{name}").hipGetDeviceCount(ctypes.byref(count)), count.value)
"""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "WAVE_RUNTIME_EMULATOR_DEVICES": "3"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "0 3\n"


def test_other_libraries_are_not_taken_for_it(tmp_path: Path) -> None:
    """A library that is loaded already is found by its name, of which another's may be the beginning."""
    other = tmp_path / "libamdhip64_helper.so"
    subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", other], check=True)
    code = f"import ctypes, wave_runtime; ctypes.CDLL({str(other)!r}); print(wave_runtime._C.describe_driver('hip'))"
    environment = {**os.environ, "WAVE_RUNTIME_LIBHIP": str(LIBRARY), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "'error': None" in done.stdout
    assert str(LIBRARY) in done.stdout


def test_command_prints_the_path() -> None:
    command = [sys.executable, "-m", "wave_emulator", "library"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).samefile(LIBRARY)


def test_example_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "hip_emulator.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n"


def names(table: str, kinds: str = r"[A-Z_]+") -> set[str]:
    return set(re.findall(rf"^(?:{kinds})\((\w+)", (ROOT / "csrc" / table).read_text(), re.MULTILINE))


def exported(library: Path) -> dict[str, str]:
    """The functions that a library defines, and the version of each."""
    command = ["readelf", "-W", "--dyn-syms", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split()[7].split("@@") for line in lines if " FUNC " in line and " UND " not in line]
    return {name: version for name, version in symbols if not name.startswith("wave")}


def test_exports_only_hip() -> None:
    """Every function of the tables, what compiled code registers itself by, and no other name."""
    tables = names("driver/hip/hip_symbols.inc") | names("hip_emulator/functions.inc")
    tables |= names("hip_emulator/refused.inc") | names("hip_emulator/rtc_functions.inc") | {"hiprtcGetErrorString"}
    tables |= set(re.findall(r"^(?:const char\*|int) (hip\w+)\(", (ROOT / "csrc/hip_emulator/api.h").read_text(), re.M))
    per_thread = {f"{name}_spt" for name in names("hip_emulator/per_thread.inc")}
    assert len(tables) > 100
    assert len(per_thread) > 10
    registration = set(re.findall(r" \**(__hip\w+)\(", (ROOT / "csrc/hip_emulator/api.h").read_text()))
    mangled = {name for name in exported(LIBRARY) if name.startswith("_Z")}
    assert exported(LIBRARY).keys() == tables | per_thread | registration | mangled | {"hipCreateChannelDesc"}
    sources = "".join(path.read_text() for path in (ROOT / "csrc/hip_emulator").glob("api_*.cpp"))
    assert mangled == set(re.findall(r"^ *(_Z\w+)\(", sources, re.MULTILINE))


def declared(header: Path) -> set[str]:
    """The functions in a header of HIP that return an error."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.DOTALL)
    return set(re.findall(r"^\s*(?:DEPRECATED\(.*?\)\s*)?hipError_t\s+(hip\w+)\s*\([^{;]*;", text, re.MULTILINE))


# What HIP's headers declare and AMD's library does not have.
NOWHERE = {"hip_init"}


@pytest.mark.needs("hip-headers")
def test_every_function_of_hip_is_there_or_refused() -> None:
    """In the headers of each release that are found; no function is in two tables."""
    refused = names("hip_emulator/refused.inc")
    implemented = names("hip_emulator/functions.inc") | names("driver/hip/hip_symbols.inc")
    assert not refused & implemented
    for folder in need("hip-headers"):
        functions = declared(folder / "hip/hip_runtime_api.h")
        assert len(functions) > 300
        assert functions - implemented - refused - exported(LIBRARY).keys() - NOWHERE == set(), folder


def test_what_is_refused_says_why() -> None:
    rows = re.findall(r'REFUSED\((\w+), "([^"]+)"\)', (ROOT / "csrc/hip_emulator/refused.inc").read_text())
    assert len(rows) == len(names("hip_emulator/refused.inc"))
    code = (
        f"import ctypes; hip = ctypes.CDLL({str(LIBRARY)!r}); print(*(hip[name]() for name in {[r[0] for r in rows]}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"801"}
    assert done.stderr.splitlines() == [f"HIP emulator: {name}: {why}" for name, why in rows]


@pytest.mark.needs("hip-library")
def test_versions_are_those_of_amds_library() -> None:
    amds = exported(Path("/usr/lib/x86_64-linux-gnu") / HIP_LIBRARY)
    ours = exported(LIBRARY)
    common = ours.keys() & amds.keys()
    assert len(common) > 100
    assert {name: ours[name] for name in common} == {name: amds[name] for name in common}
    assert ours["hipCreateSurfaceObject"] == ours["hipDestroySurfaceObject"] == "hip_4.2"  # in 5.7; only mangled in 5.2
    assert ours["_Z23hipDestroySurfaceObjecty"] == "hip_4.2"  # in 5.0, which CuPy's wheel is linked with
    assert ours["_Z22hipCreateSurfaceObjectPyPK15hipResourceDesc"] == "hip_4.2"


def in_python(code: str, **variables: str) -> str:
    """Runs code with `hip`, the library, which has two devices; what it prints."""
    prologue = f"import ctypes, os\nhip = ctypes.CDLL({str(LIBRARY)!r})\n"
    environment = {**os.environ, "WAVE_RUNTIME_EMULATOR_DEVICES": "2", **variables}
    command = [sys.executable, "-c", prologue + code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_waiting_for_ever_is_no_access() -> None:
    """Where it is looked for, it is hipErrorLaunchFailure, not hipErrorIllegalAddress."""
    code = f"""
module, kernel, flag = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoad(ctypes.byref(module), {os.fsencode(PROBES / "mistakes_gfx942.hsaco")!r}) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"flag_never_set") == 0
assert hip.hipMalloc(ctypes.byref(flag), ctypes.c_size_t(1024)) == 0
assert hip.hipMemset(flag, 0, ctypes.c_size_t(1024)) == 0
arguments = [flag, ctypes.c_void_p(flag.value + 256), ctypes.c_int(1)]
pointers = (ctypes.c_void_p * 3)(*map(ctypes.addressof, arguments))
assert hip.hipModuleLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, None, pointers, None) == 0
print(hip.hipDeviceSynchronize())
"""
    assert in_python(code, WAVE_RUNTIME_SANITIZE="barriers") == "719\n"


@pytest.mark.parametrize(
    ("visible", "count"),
    [
        ("", "0 2"),
        ("0", "0 1"),
        ("1", "0 1"),
        ("1,0", "0 2"),
        ("1,1", "0 1"),
        ("1,2,0", "0 1"),
        ("-1", "100 0"),
        ("x", "100 0"),
    ],
)
def test_visible_devices(visible: str, count: str) -> None:
    """As with AMD's runtime, those that come after one that is not there are hidden, too."""
    code = "count = ctypes.c_int(-1); print(hip.hipGetDeviceCount(ctypes.byref(count)), count.value)"
    assert in_python(code, HIP_VISIBLE_DEVICES=visible) == f"{count}\n"
    assert in_python(f"os.environ['HIP_VISIBLE_DEVICES'] = {visible!r}; " + code) == f"{count}\n"


def test_properties_that_amds_runtime_sets_for_all_devices() -> None:
    """CuPy 14 takes the number of globalL1CacheSupported for that of the multiprocessors, and launches as many."""
    code = """
properties, value = ctypes.create_string_buffer(4096), ctypes.c_int(-1)
assert hip.hipGetDevicePropertiesR0600(properties, 0) == 0
for offset, attribute in ((628, 78), (632, 14), (636, 20), (712, 25)):
    assert hip.hipDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0
    assert int.from_bytes(properties.raw[offset : offset + 4], "little") == value.value
    print(value.value)
"""
    assert in_python(code).split() == ["1", "1", "1", "2"]


def test_what_devices_do_not_share() -> None:
    code = """
for device in range(2):
    properties, uuid, bus = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(16), ctypes.c_int(-1)
    assert hip.hipGetDevicePropertiesR0600(properties, device) == 0
    assert hip.hipDeviceGetUuid(uuid, device) == 0
    assert properties.raw[256:272] == uuid.raw
    assert hip.hipDeviceGetAttribute(ctypes.byref(bus), 67, device) == 0
    assert int.from_bytes(properties.raw[584:588], "little") == bus.value == device
    assert int.from_bytes(properties.raw[1428:1432], "little") == 0b01001011111111111
    pool = ctypes.c_void_p()
    assert hip.hipDeviceGetMemPool(ctypes.byref(pool), device) == 0
for device in (-1, 2):
    assert hip.hipDeviceGetMemPool(ctypes.byref(pool), device) == hip.hipDeviceSetMemPool(device, pool) == 1
kind, hops = ctypes.c_uint(), ctypes.c_uint()
assert hip.hipExtGetLinkTypeAndHopCount(0, 1, ctypes.byref(kind), ctypes.byref(hops)) == 0
assert (kind.value, hops.value) == (4, 1)
assert hip.hipExtGetLinkTypeAndHopCount(0, 1, None, ctypes.byref(hops)) == 1
for pair, code in (((0, 2), 101), ((2, 0), 101), ((0, 0), 1), ((2, 2), 1), ((-1, 0), 1), ((0, -1), 1)):
    assert hip.hipExtGetLinkTypeAndHopCount(*pair, ctypes.byref(kind), ctypes.byref(hops)) == code, pair
stream = ctypes.c_void_p()
assert hip.hipSetDevice(1) == hip.hipStreamCreate(ctypes.byref(stream)) == 0
assert hip.hipGetStreamDeviceId(stream) == 1
assert hip.hipStreamDestroy(stream) == 0
assert hip.hipGetStreamDeviceId(stream) == -1
"""
    in_python(code)


def test_names_of_kernels() -> None:
    code = f"""
module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoad(ctypes.byref(module), {str(EXAMPLES / "binaries" / "basics.hsaco").encode()!r}) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"vector_add") == 0
hip.hipKernelNameRef.restype = hip.hipKernelNameRefByPtr.restype = ctypes.c_char_p
assert hip.hipKernelNameRef(kernel) == b"vector_add"
assert hip.hipKernelNameRef(None) is None
assert hip.hipKernelNameRefByPtr(ctypes.byref(kernel), None) is None
"""
    in_python(code)


def test_mistakes_with_events() -> None:
    """Times of an event that keeps none are a mistake whether or not the other one has happened."""
    code = """
event, untimed, time = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
assert hip.hipEventCreate(ctypes.byref(event)) == hip.hipEventCreateWithFlags(ctypes.byref(untimed), 2) == 0
waited = ctypes.c_uint(0)
stream = ctypes.c_void_p()
assert hip.hipStreamCreate(ctypes.byref(stream)) == 0
assert hip.hipStreamWaitValue32(stream, ctypes.byref(waited), 1, 0, ctypes.c_uint(0xffffffff)) == 0
assert hip.hipEventRecord(event, stream) == 0
assert hip.hipEventElapsedTime(ctypes.byref(time), event, event) == 600
assert hip.hipEventElapsedTime(ctypes.byref(time), event, untimed) == 400
assert hip.hipEventElapsedTime(ctypes.byref(time), untimed, event) == 400
waited.value = 1
assert hip.hipStreamWaitEvent(stream, event, 2) == 1
assert hip.hipStreamWaitEvent(stream, None, 0) == hip.hipStreamWaitEvent(ctypes.c_void_p(0xffff), event, 0) == 400
assert hip.hipStreamWaitEvent(stream, event, 1) == hip.hipStreamSynchronize(stream) == 0
"""
    in_python(code)


def test_functions_that_are_refused_are_found() -> None:
    """As AMD's runtime finds them: programs that look up all that they know before they use any go on."""
    code = """
function = ctypes.c_void_p()
assert hip.hipGetProcAddress(b"hipMemMap", ctypes.byref(function), 600, ctypes.c_uint64(0), None) == 0
print(ctypes.CFUNCTYPE(ctypes.c_int)(function.value)())
"""
    assert in_python(code) == "801\n"


def test_fills_and_copies_beside_an_allocation_are_mistakes() -> None:
    code = """
memory, one = ctypes.c_void_p(), ctypes.c_size_t(1)
assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(100)) == 0
behind, before = (ctypes.c_void_p(memory.value + offset) for offset in (100, -1))
assert hip.hipMemset(behind, 0, one) == hip.hipMemset(before, 0, one) == 1
assert hip.hipMemcpy(behind, memory, one, 4) == hip.hipMemcpy(memory, behind, one, 4) == 1
assert hip.hipMemset(behind, 0, ctypes.c_size_t(0)) == 0
assert hip.hipMemset(ctypes.c_void_p(memory.value + 99), 0, one) == 0
"""
    in_python(code)
