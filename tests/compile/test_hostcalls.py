"""What kernels ask of the host while they run: printf, assert, malloc, with the headers that stand in for HIP's."""

from __future__ import annotations

import collections
import ctypes
import functools
import os
import re
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from warm_python import WarmProcess

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

SOURCE = r"""
#include <assert.h>
#include <stdio.h>

extern "C" __global__ void any_format(const char* format, long i, double d, const char* s, int* length) {
  *length = printf(format, i, d, s);
}

extern "C" __global__ void stars(int width, int precision, double d, const char* s) {
  printf("|%*d|%-*.*f|%.*s|", width, 7, width, precision, d, precision, s);
}

enum Color { red, green = -2 };

extern "C" __global__ void types(const char* s) {
  const char local[] = "local";
  printf("%hhd %hhu %hd %hu %d %u|", (signed char)-1, (unsigned char)255, (short)-2, (unsigned short)65535, -3, ~0u);
  printf("%ld %lu %lld %llx %zu|", -4l, ~0ul, -5ll, 0xabcdefull << 24, sizeof(long));
  printf("%g %g %g|", 0.5f, (_Float16)0.25f, 1e300);
  printf("%d %d %c|", true, green, 'w');
  printf("%s %s %p %s %p|", "literal", local, (void*)16, s, nullptr);
  printf("%%d 100%% %y\n");
}

extern "C" __global__ void by_lane(const int* rounds) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  __syncthreads();
  for (int round = 0; round < *rounds; ++round) {
    if ((threadIdx.x + round) % 3 != 0) continue;
    printf("%d:%d:%d of %d in %s\n", (int)blockIdx.x, (int)threadIdx.x, round, sum, round % 2 ? "odd" : "even");
  }
}

extern "C" __global__ void checked(const int* p) { assert(p[threadIdx.x] > 3); }

extern "C" __global__ void trapped(int*) { __builtin_trap(); }

extern "C" __global__ void stack_push(long* top, int value) {
  auto* node = (long*)malloc(1 << 12 << threadIdx.x);
  node[0] = *top;
  node[1] = value + threadIdx.x;
  for (int lane = 0; lane < blockDim.x; ++lane)
    if (lane == threadIdx.x) node[0] = *top, *top = (long)node;
}
extern "C" __global__ void stack_pop(long* top, long* values) {
  for (int i = 0; *top != 0; ++i) {
    auto* node = (long*)*top;
    values[i] = node[1];
    *top = node[0];
    free(node);
  }
}
extern "C" __global__ void give_up(long* size) { *size = (long)malloc(*size); }
extern "C" __global__ void free_at(long* address) { free((void*)*address); }

extern "C" __global__ void say(const long* words) {
  words += threadIdx.x * 4;
  wave_device::hostcall(2, words[0], words[1], words[2], words[3], 0, 0, 0, 0);
}

extern "C" __global__ void request(const long* words) {
  wave_device::hostcall(words[0], words[1], words[2], 0, 0, 0, 0, 0, 0);
}

// Messages of printf that go on without an end, or that begin, one after the other.
extern "C" __global__ void never_end(const long* begins) {
  long word = 1;
  for (;;) word = wave_device::hostcall(2, *begins | word | 7 << 5, 0, 0, 0, 0, 0, 0, 0) & ~0xfful;
}

// Asks for memory to be freed, and comes to an instruction of which the wave has no registers.
extern "C" __global__ void free_and_go_on(const long* address) {
  struct Header { long next, lanes; unsigned service, control; };
  struct Buffer { Header* headers; long (*payloads)[64][8]; long doorbell, free, ready, mask; };
  auto* const buffer = ((Buffer* const __attribute__((address_space(4)))*)__builtin_amdgcn_implicitarg_ptr())[10];
  const long packet = buffer->free, at = packet & buffer->mask;
  buffer->headers[at] = {0, 1, 3, 1};
  buffer->payloads[at][0][0] = *address;
  buffer->ready = packet;
  asm volatile("s_sleep 1\n global_load_dwordx4 v[248:251], %0, off" : : "v"(address) : "memory");
}
"""


@functools.cache
def kernels(target: str = "gfx942") -> wave_runtime.Module:
    return wave_runtime.compile(SOURCE, target=target)


def characters(text: str) -> Tensor:
    return torch.tensor([*text.encode(), 0], dtype=torch.int8)


def printed(capfd: pytest.CaptureFixture[str]) -> str:
    out, err = capfd.readouterr()
    assert err == ""
    return out


LIBC = ctypes.CDLL(None)


def formatted(format: str, *values: object) -> str:
    """As C's printf does it."""
    buffer = ctypes.create_string_buffer(1 << 16)
    assert LIBC.snprintf(buffer, len(buffer), format.encode(), *values) < len(buffer)
    return buffer.value.decode()


LITERALS = st.text("ab %\n:".replace("%", ""), max_size=20) | st.just("%%")
FLAGS = st.text("-+ #0", max_size=3)
WIDTHS = st.just("") | st.integers(1, 60).map(str)
PRECISIONS = st.just("") | st.just(".") | st.integers(0, 40).map(lambda n: f".{n}")


def conversions(letters: str, length: str = "") -> st.SearchStrategy[str]:
    return st.tuples(FLAGS, WIDTHS, PRECISIONS, st.just(length), st.sampled_from(letters)).map(
        lambda parts: "%" + "".join(parts)
    )


@given(
    st.tuples(
        LITERALS, conversions("diouxX", "ll"), LITERALS, conversions("fFeEgGaA"), LITERALS, conversions("s"), LITERALS
    ).map("".join),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text("xyz\t", max_size=200),
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_conversions_are_those_of_c(
    capfd: pytest.CaptureFixture[str], format: str, integer: int, number: float, string: str
) -> None:
    length = torch.zeros(1, dtype=torch.int32)
    kernels()["any_format"](characters(format), integer, number, characters(string), length, grid=1, block=1)
    expected = formatted(format, ctypes.c_longlong(integer), ctypes.c_double(number), string.encode())
    assert printed(capfd) == expected
    assert length.item() == len(expected)


@pytest.mark.parametrize(("width", "precision"), [(0, 0), (12, 3), (-12, 1), (3, -1)])
def test_widths_and_precisions_are_arguments(capfd: pytest.CaptureFixture[str], width: int, precision: int) -> None:
    kernels()["stars"](width, precision, 2.71828, characters("string"), grid=1, block=1)
    values = (width, 7, width, precision, ctypes.c_double(2.71828), precision, b"string")
    assert printed(capfd) == formatted("|%*d|%-*.*f|%.*s|", *values)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"])
def test_types(capfd: pytest.CaptureFixture[str], target: str) -> None:
    kernels(target)["types"](characters("argument"), grid=1, block=1)
    assert printed(capfd).split("|") == [
        "-1 255 -2 65535 -3 4294967295",
        "-4 18446744073709551615 -5 abcdef000000 8",
        "0.5 0.25 1e+300",
        "1 -2 w",
        "literal local 0x10 argument (nil)",
        "%d 100% %y\n",
    ]


@pytest.mark.parametrize("format", ["%", "%5", "abc%-", "%lld %f %s %d %s", "%lld %n%s", "%ls %lf", "%Lf%s", "%s%s%s"])
def test_odd_formats_do_no_harm(capfd: pytest.CaptureFixture[str], format: str) -> None:
    """What C leaves undefined: the process lives, and the text is not longer than what it was made of."""
    length = torch.zeros(1, dtype=torch.int32)
    kernels()["any_format"](characters(format), 65, 1.5, characters("xyz"), length, grid=1, block=1)
    assert len(printed(capfd)) <= 64


def test_long_strings(capfd: pytest.CaptureFixture[str]) -> None:
    length = torch.zeros(1, dtype=torch.int32)
    for size in (0, 1, 6, 7, 8, 47, 48, 54, 55, 56, 57, 111, 112, 5000):
        string = "".join(chr(ord("a") + i % 26) for i in range(size))
        kernels()["any_format"](
            characters(string + "%.0lld%.0f%s"), 0, 0.0, characters(string), length, grid=1, block=1
        )
        assert printed(capfd) == string + "0" + string


def test_a_string_without_an_end(capfd: pytest.CaptureFixture[str]) -> None:
    length, string = torch.zeros(1, dtype=torch.int32), torch.full((1100 * 1024,), ord("a"), dtype=torch.int8)
    with pytest.raises(wave_runtime.KernelFault, match="a printf of more than 1 MiB: does a string lack its end"):
        kernels()["any_format"](characters("%lld%f%s"), 0, 0.0, string, length, grid=1, block=1)
    for format in ("%2000000lld", "%.*lld", "%lld%.2000000g", "%2$.600000g%2$.600000g"):
        with pytest.raises(wave_runtime.KernelFault, match="a printf of more than 1 MiB"):
            kernels()["any_format"](characters(format), 2000000, 0.0, characters(""), length, grid=1, block=1)


@pytest.mark.parametrize(
    ("begins", "block", "message"),
    [
        (1, 1, "has begun 128 messages of printf and ended none of them"),
        (0, 128, "printf's messages that have begun and not ended have more than 64 MiB in all"),
    ],
)
def test_messages_that_never_end(begins: int, block: int, message: str) -> None:
    """Of a wave or two: the host's memory would have to hold them all."""
    with pytest.raises(wave_runtime.KernelFault, match=message):
        kernels()["never_end"](torch.tensor([begins]), grid=1, block=block)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("threads", [1, 4])
def test_many_waves(capfd: pytest.CaptureFixture[str], target: str, threads: int) -> None:
    """Each line once and whole, and those of a work-item in their order."""
    rounds, grid, block, before = 4, 25, 200, torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        kernels(target)["by_lane"](torch.tensor([rounds], dtype=torch.int32), grid=grid, block=block)
    finally:
        torch.set_num_threads(before)
    found: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
    for line in printed(capfd).splitlines():
        match = re.fullmatch(rf"(\d+):(\d+):(\d+) of {block} in (odd|even)", line)
        assert match is not None, line
        round = int(match[3])
        assert match[4] == ("odd" if round % 2 else "even")
        found[int(match[1]), int(match[2])].append(round)
    assert found == {
        (group, item): [round for round in range(rounds) if (item + round) % 3 == 0]
        for group in range(grid)
        for item in range(block)
    }


@pytest.mark.parametrize("variable", ["WAVE_RUNTIME_DETERMINISTIC=1", "WAVE_RUNTIME_CHECK=hazards,races"])
def test_observed_launches_print(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(*variable.split("="))
    kernels()["by_lane"](torch.tensor([2], dtype=torch.int32), grid=2, block=100)
    assert len(printed(capfd).splitlines()) == 2 * 67


def test_assertions_are_in_the_fault(capfd: pytest.CaptureFixture[str]) -> None:
    values = torch.tensor([4, 5, 3, 6], dtype=torch.int32)
    kernels()["checked"](values, grid=1, block=2)
    assert capfd.readouterr() == ("", "")
    message = "void checked(const int *): Device-side assertion `p[threadIdx.x] > 3' failed."
    with pytest.raises(wave_runtime.KernelFault, match=r"the kernel has aborted: \S+:\d+: ") as raised:
        kernels()["checked"](values, grid=1, block=4)
    assert message in str(raised.value)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == err.count(message) == 1


def test_a_trap_is_no_assertion() -> None:
    with pytest.raises(wave_runtime.KernelFault, match=r"the kernel has aborted: a trap \(__builtin_trap, or"):
        kernels()["trapped"](torch.zeros(1, dtype=torch.int32), grid=1, block=1)


def test_memory_outlives_launches() -> None:
    """Blocks of 4 KiB to 256 KiB, in a list that the second launch empties."""
    top = torch.zeros(1, dtype=torch.int64)
    for _ in range(3):
        kernels()["stack_push"](top, 10, grid=1, block=7)
        kernels()["stack_push"](top, 20, grid=1, block=3)
        values = torch.zeros(10, dtype=torch.int64)
        kernels()["stack_pop"](top, values, grid=1, block=1)
        assert values.tolist() == [22, 21, 20, *range(16, 9, -1)]


def test_memory_that_is_not_to_be_had() -> None:
    size = torch.tensor([1 << 60])
    kernels()["give_up"](size, grid=1, block=1)
    assert size.item() == 0
    size.fill_(100)
    kernels()["give_up"](size, grid=1, block=1)
    assert size.item() % 4096 == 0
    kernels()["free_at"](size, grid=1, block=1)
    with pytest.raises(wave_runtime.KernelFault, match="frees memory that it did not allocate"):
        kernels()["free_at"](size, grid=1, block=1)


def test_a_request_that_is_refused_is_no_access() -> None:
    """The sanitizer leaves out accesses that are faults: not what the wave has come to meanwhile."""
    refused = pytest.raises(wave_runtime.KernelFault, match="frees memory that it did not allocate")
    with wave_runtime.sanitize("memory") as report, refused:
        kernels()["free_and_go_on"](torch.tensor([0x1234000]), grid=1, block=1)
    assert not report.findings


def test_a_heap_where_the_process_has_little_room() -> None:
    """As ulimit -v leaves it: malloc has a smaller heap, and a fault says what null pointers come of.

    Not one before malloc has returned any.
    """
    code = '''
import os, resource, torch, wave_runtime
source = """extern "C" __global__ void store(long size, long kept) {
  int* const to = (int*)malloc(size);
  *(int*)((long)to & kept) = 7;
  free(to);
}"""
kernel = wave_runtime.compile(source)["store"]
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (8 << 30), now + (8 << 30)))
kernel(1 << 20, -1, grid=1, block=64, device="cpu")
for size, kept in ((64, 0), (1 << 40, -1)):
    try:
        kernel(size, kept, grid=1, block=1, device="cpu")
    except wave_runtime.KernelFault as fault:
        print("fault:", fault)
'''
    with WarmProcess("-c", code) as process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    _, first, second = output.split("fault:")
    assert "malloc in kernels" not in first
    assert re.search(
        r"a null pointer: malloc in kernels has returned null, since its heap of (1024|2048) MiB has no more room "
        r"\(ulimit -v leaves the process no more\)\n",
        second,
    ), second


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((1, 4096, 0), r"calls a function of the host, at 0x1000 \(hostcall service 1\)"),
        ((4, 4096, 0), "the address sanitizer that the kernel was compiled with reports an access at 0x1000"),
        ((77, 0, 0), "hostcall service 77, which is none"),
        ((2, 12345 << 8, 0), "printf's message 12345, which never began"),
    ],
)
def test_requests_that_are_refused(words: tuple[int, int, int], message: str) -> None:
    with pytest.raises(wave_runtime.KernelFault, match=message):
        kernels()["request"](torch.tensor(words), grid=1, block=1)


def test_what_was_printed_before_a_refusal_is_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
    """Of the lanes of one request: the first one's message is whole, the second one's never began."""
    begins_and_ends, of_three_words, to_stdout = 3, 3 << 5, 0
    text = [int.from_bytes(b"before\n\0", "little"), 0]
    words = torch.tensor([[begins_and_ends | of_three_words, to_stdout, *text], [12345 << 8, 0, 0, 0]])
    with pytest.raises(wave_runtime.KernelFault, match="printf's message 12345, which never began"):
        kernels()["say"](words, grid=1, block=2)
    assert printed(capfd) == "before\n"


BUFFERED = r"""
using Bytes = char __attribute__((address_space(1)));

// As ROCm's device libraries have it (ockl/src/cprintf.cl).
extern "C" __device__ __attribute__((used)) Bytes* __printf_alloc(unsigned bytes) {
  using Buffer = unsigned __attribute__((address_space(1)))*;
  Buffer buffer = ((const __attribute__((address_space(4))) Buffer*)__builtin_amdgcn_implicitarg_ptr())[9];
  unsigned offset = __atomic_load_n(buffer, __ATOMIC_RELAXED);
  do {
    if (8 + offset + bytes > buffer[1]) return nullptr;
  } while (!__atomic_compare_exchange_n(buffer, &offset, offset + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return (Bytes*)buffer + 8 + offset;
}

extern "C" __global__ void buffered(const char* format, const char* s) {
  __builtin_printf("%d of %s: %.3f, %s, %lx\n", (int)threadIdx.x, "constant", 0.5 * threadIdx.x, s, 1l << 40);
  if (threadIdx.x % 2 == 0) __builtin_printf(format, 2.5f, 7);
}
"""


def test_printing_through_a_buffer(capfd: pytest.CaptureFixture[str]) -> None:
    """What clang makes of printf with -mprintf-kind=buffered; all of it comes when the launch has ended."""
    kernel = wave_runtime.compile(BUFFERED, options=["-mprintf-kind=buffered"])["buffered"]
    kernel(characters("%g by its format, %d\n"), characters("a string of its own"), grid=2, block=3)
    lines = [f"{i} of constant: {i / 2:.3f}, a string of its own, 10000000000" for i in range(3)]
    expected = 2 * (lines + 2 * ["2.5 by its format, 7"])
    assert sorted(printed(capfd).splitlines()) == sorted(expected)


def test_a_buffer_that_nobody_reads_ends_with_the_time_limit(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = f"""
import os, sys, torch, wave_runtime
kernel = wave_runtime.compile({BUFFERED!r}, options=["-mprintf-kind=buffered"])["buffered"]
text = torch.tensor([*b"text", 0], dtype=torch.int8)
sys.stdout = os.fdopen(os.dup(1), "w")
os.dup2(os.open({str(fifo)!r}, os.O_RDWR), 1)
try:
    kernel(text, text, grid=40, block=64)
except wave_runtime.KernelFault as fault:
    print(fault.kernel, fault)
"""
    with WarmProcess("-c", code, env={**os.environ, "WAVE_RUNTIME_TIME_LIMIT": "1"}) as process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output.startswith("buffered kernel 'buffered' on the gfx942 emulator: the launch ran longer than 1 seconds")


def test_much_text_in_a_buffer_takes_no_memory() -> None:
    """Small records of a long text, half a GiB where there is less memory, and as much as the time limit allows."""
    code = (
        f"source = {BUFFERED!r}"
        + """
import os, resource, torch, wave_runtime
source += 'extern "C" __global__ void prints(int*) { __builtin_printf("' + 500_000 * "a" + '"); }'
kernel = wave_runtime.compile(source, options=["-mprintf-kind=buffered"])["prints"]
none, out = torch.zeros(1, dtype=torch.int32), os.dup(1)
os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
kernel(none, grid=1, block=1)
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (256 << 20), now + (256 << 20)))
kernel(none, grid=10, block=100)
os.environ["WAVE_RUNTIME_TIME_LIMIT"] = "1"
try:
    kernel(none, grid=1000, block=100)
except wave_runtime.KernelFault as fault:
    os.write(out, str(fault).encode())
"""
    )
    with WarmProcess("-c", code) as process:
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert "the launch ran longer than 1 seconds" in output


def test_text_comes_while_the_kernel_runs(capfd: pytest.CaptureFixture[str]) -> None:
    """It is flushed at once, so that a kernel that never ends shows how far it came."""
    source = """__global__ void k(int* p) { printf("before the loop\\n"); while (atomicAdd(p, 0) == 0); }"""
    os.environ["WAVE_RUNTIME_MAX_INSTRUCTIONS"] = "100000"
    try:
        with pytest.raises(wave_runtime.KernelFault, match="more than 100000 instructions"):
            wave_runtime.compile(source)["k"](torch.zeros(1, dtype=torch.int32), grid=1, block=1)
    finally:
        del os.environ["WAVE_RUNTIME_MAX_INSTRUCTIONS"]
    assert printed(capfd) == "before the loop\n"
