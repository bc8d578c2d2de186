"""Program flow that compilers rarely make."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import warm_python
from machine import State, encode, run
from memory_support import BY_NAME
from support import LoadKernel

import wave_runtime
from wave_runtime import _C


def s_mov(register: int, value: int) -> list[int]:
    return encode(BY_NAME["s_mov_b32"], SDST=register, SSRC0=128 + value)


def test_call_and_return() -> None:
    """The called code lies behind the next instruction and a branch over it."""
    words = encode(BY_NAME["s_call_b64"], SDST=10, SIMM16=2)
    words += s_mov(20, 1) + encode(BY_NAME["s_branch"], SIMM16=2)
    words += s_mov(21, 2) + encode(BY_NAME["s_setpc_b64"], SSRC0=10)
    assert run(words, State(1)).s[0, 20:22].tolist() == [1, 2]


def test_a_branch_into_a_literal() -> None:
    """The literal is an instruction, too. Then the wave goes back to the one that it is the literal of."""
    (hidden,) = s_mov(21, 5)
    words = encode(BY_NAME["s_branch"], SIMM16=1)
    words += encode(BY_NAME["s_mov_b32"], hidden, SDST=20, SSRC0=255)
    words += encode(BY_NAME["s_cbranch_scc1"], SIMM16=3)
    words += encode(BY_NAME["s_cmp_eq_u32"], SSRC0=21, SSRC1=128 + 5)
    words += encode(BY_NAME["s_branch"], SIMM16=-5 & 0xFFFF)
    words += s_mov(22, 6) + s_mov(23, 7)
    assert run(words, State(1)).s[0, 20:24].tolist() == [hidden, 5, 0, 7]
    instructions = _C.emulator_statistics()["instructions"]
    run([], State(1))  # as many s_nop as instructions ran
    assert instructions == _C.emulator_statistics()["instructions"]


def test_a_jump_into_a_literal() -> None:
    (hidden,) = s_mov(21, 5)
    words = encode(BY_NAME["s_getpc_b64"], SDST=10)
    words += encode(BY_NAME["s_add_u32"], SDST=10, SSRC0=10, SSRC1=128 + 12) + encode(BY_NAME["s_setpc_b64"], SSRC0=10)
    words += encode(BY_NAME["s_mov_b32"], hidden, SDST=20, SSRC0=255)
    assert run(words, State(1)).s[0, 20:22].tolist() == [0, 5]


@pytest.mark.parametrize("writable", [False, True])
def test_code_is_not_written(writable: bool) -> None:
    """Not even where the code object asks for it: an instruction is what it was when it was translated."""
    words = encode(BY_NAME["s_getpc_b64"], SDST=10)
    words += encode(BY_NAME["global_store_dword"], ADDR=8, DATA=20, SADDR=10)
    with pytest.raises(wave_runtime.KernelFault, match=r"into the code object's data, .*: code stays as it was loaded"):
        run(words, State(1), writable_code=writable)


def test_a_debugger_never_takes_a_branch() -> None:
    for name in ("sys", "user", "sys_or_user", "sys_and_user"):
        words = encode(BY_NAME[f"s_cbranch_cdbg{name}"], SIMM16=1) + s_mov(20, 1)
        assert run(words, State(1)).s[0, 20] == 1


# Forks. The stack's registers follow from MODE.CSP, which is 0 at first: s0 to s3, then s4 to s7.

CSP = 29  # the lowest bit of MODE.CSP
CONDITION, TARGET, DEPTH = 20, 22, 26  # scalar registers; the join goes on at depth 0


def v_mov(register: int, value: int) -> list[int]:
    return encode(BY_NAME["v_mov_b32_e32"], VDST=register, SRC0=128 + value)


def run_fork(fork: list[int], condition: int) -> State:
    """Lanes of the condition get v1 = 2, the others v1 = 1; then all of them together v2 = 3."""
    join = encode(BY_NAME["s_cbranch_join"], SSRC0=DEPTH)
    untaken = v_mov(1, 1) + encode(BY_NAME["s_branch"], SIMM16=1)
    words = fork + untaken + v_mov(1, 2) + join + v_mov(2, 3)
    state = State(1)
    state.exec[0] = 0xFFFF, 0
    state.s[0, CONDITION : CONDITION + 2] = condition & 0xFFFFFFFF, condition >> 32
    return run(words, state)


@pytest.mark.parametrize("condition", [0, 0xFFFF, 0xFF, 3, 0xFFF0, 0xFFFFFFFF0003])
@pytest.mark.parametrize("name", ["s_cbranch_i_fork", "s_cbranch_g_fork"])
def test_fork_and_join(name: str, condition: int) -> None:
    if name == "s_cbranch_i_fork":
        fork = encode(BY_NAME[name], SDST=CONDITION, SIMM16=2)
    else:  # the target is 12 bytes behind the address that s_getpc_b64 gives
        fork = encode(BY_NAME["s_getpc_b64"], SDST=TARGET)
        fork += encode(BY_NAME["s_add_u32"], SDST=TARGET, SSRC0=TARGET, SSRC1=128 + 20)
        fork += encode(BY_NAME["s_addc_u32"], SDST=TARGET + 1, SSRC0=TARGET + 1, SSRC1=128)
        fork += encode(BY_NAME[name], SSRC0=CONDITION, SSRC1=TARGET)
    after = run_fork(fork, condition)
    assert after.v[0, 1, :16].tolist() == [2 if condition >> lane & 1 else 1 for lane in range(16)]
    assert not after.v[0, 1, 16:].any()
    assert after.mode[0] >> CSP == 0
    # The larger part goes last, and EXEC is what it had: the program that joins sets EXEC itself.
    taken = condition & 0xFFFF
    last = 0xFFFF if taken in (0, 0xFFFF) else taken if taken.bit_count() > 8 else 0xFFFF ^ taken
    assert after.exec[0].tolist() == [last, 0]


def test_join_without_fork() -> None:
    state = State(1)
    state.s[0, DEPTH] = 1
    with pytest.raises(wave_runtime.KernelFault, match="a join without a fork"):
        run(encode(BY_NAME["s_cbranch_join"], SSRC0=DEPTH), state)


@pytest.mark.parametrize("depth", [1, 6, 7])
def test_depth_of_forks(depth: int) -> None:
    """Each level has four registers of its own; MODE.CSP counts up to seven."""
    state = State(1)
    state.exec[0], state.s[0, 40] = (3, 0), 1
    state.mode[0] |= depth << CSP
    fork = encode(BY_NAME["s_cbranch_i_fork"], SDST=40, SIMM16=0)
    if depth == 7:
        with pytest.raises(wave_runtime.KernelFault, match="more than 7 forks"):
            run(fork, state)
    else:
        after = run(fork, state)
        assert after.s[0, 4 * depth : 4 * depth + 2].tolist() == [2, 0]
        assert after.mode[0] >> CSP == depth + 1


# What a wave asks others for, and how it ends otherwise than by its own will.


def stop(name: str, immediate: int) -> None:
    run(encode(BY_NAME[name], SIMM16=immediate), State(1))


@pytest.mark.parametrize(
    ("name", "immediate", "message"),
    [
        ("s_trap", 2, "the kernel has aborted: a trap"),
        ("s_trap", 7, "trap 7, for which there is no handler"),
        ("s_sethalt", 1, "the wave halts"),
        ("s_sendmsghalt", 1, "the wave halts"),
        ("s_sendmsg", 9, r"sendmsg\(MSG_GS_ALLOC_REQ\), which nobody takes here"),
    ],
)
def test_what_cannot_go_on(name: str, immediate: int, message: str) -> None:
    with pytest.raises(wave_runtime.KernelFault, match=message):
        stop(name, immediate)


@pytest.mark.parametrize(
    ("name", "immediate"), [("s_trap", 3), ("s_sethalt", 0), ("s_sendmsg", 1), ("s_setprio", 3), ("s_setkill", 0)]
)
def test_what_has_no_effect(name: str, immediate: int) -> None:
    """A trap to a debugger that is not there, an interrupt that nobody waits for."""
    words = encode(BY_NAME[name], SIMM16=immediate) + s_mov(20, 1)
    assert run(words, State(1)).s[0, 20] == 1


def test_kill_ends_the_wave() -> None:
    after = run(encode(BY_NAME["s_setkill"], SIMM16=1), State(1))
    assert not after.mode.any(), "nothing must be stored"


def test_a_failed_assert_in_hip(language: LoadKernel) -> None:
    kernel = language("check_sum", "*i32 const, i32")
    kernel(torch.ones(64, dtype=torch.int32), 64, grid=1, block=64)
    with pytest.raises(wave_runtime.KernelFault, match="the kernel has aborted"):
        kernel(torch.ones(64, dtype=torch.int32), 63, grid=1, block=64)


# Hardware registers.


def hardware_register(number: int, low: int = 0, size: int = 32) -> list[int]:
    return encode(BY_NAME["s_getreg_b32"], SDST=20, SIMM16=number | low << 6 | size - 1 << 11)


def test_status() -> None:
    state = State(4)
    state.scc[:] = [0, 1, 0, 1]
    state.exec[2], state.vcc[3] = 0, (5, 0)
    bits = run(hardware_register(2), state).s[:, 20]
    assert [(int(value) & 1, value >> 9 & 1, value >> 10 & 1) for value in bits] == [
        (0, 0, 1),
        (1, 0, 1),
        (0, 1, 1),
        (1, 0, 0),
    ]


def test_dies_take_workgroups_in_turn() -> None:
    assert run(hardware_register(20, 0, 4), State(19)).s[:, 20].tolist() == [n % 8 for n in range(19)]


def test_engines_take_workgroups_in_turn() -> None:
    """Of eight dies with four shader engines each; an engine's compute units follow each other."""
    ids = run(hardware_register(4), State(200)).s[:, 20]
    assert (ids >> 13 & 7).tolist() == [n // 8 % 4 for n in range(200)]
    assert (ids >> 8 & 15).tolist() == [n // 32 for n in range(200)]


def test_apertures() -> None:
    """As src_shared_base and src_private_base have them."""
    sources = encode(BY_NAME["s_mov_b64"], SDST=22, SSRC0=235) + encode(BY_NAME["s_mov_b64"], SDST=24, SSRC0=237)
    after = run(hardware_register(15) + sources, State(1)).s[0]
    assert int(after[20]) == int(after[25]) >> 16 | int(after[23]) & 0xFFFF0000


@pytest.mark.parametrize(
    "source", [235, 236, 237, 238], ids=["shared_base", "shared_limit", "private_base", "private_limit"]
)
def test_apertures_as_vector_sources(source: int) -> None:
    words = encode(BY_NAME["s_mov_b64"], SDST=22, SSRC0=source)
    words += encode(BY_NAME["v_mov_b64_e32"], VDST=20, SRC0=source)
    words += encode(BY_NAME["v_lshl_add_u64"], VDST=24, SRC0=source, SRC1=128, SRC2=128)
    after = run(words, State(1))
    for row in (20, 24):
        assert (after.v[0, row : row + 2, 63] == after.s[0, 22:24]).all()
    assert after.s[0, 23] != 0


def test_waves_know_where_they_run(probe: LoadKernel) -> None:
    out = torch.full((32, 16, 2), -1, dtype=torch.int32)
    probe("hardware_ids", "*i32, i64, i32, i32")(out, 0, 0, 0, grid=32, block=1024)
    ids = out.tolist()
    for group in range(32):
        waves = [(hw_id & 15, hw_id >> 4 & 3) for hw_id, _ in ids[group]]
        assert len(set(waves)) == 16, "a wave slot of a SIMD for each wave"
        assert len({hw_id >> 8 for hw_id, _ in ids[group]}) == 1, "on one compute unit"
    assert len({(ids[group][0][1], ids[group][0][0] >> 8) for group in range(32)}) == 32, "each on another one"


# A kernel that goes on in another function by a branch on VCC, or ends in itself.
ELSEWHERE = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
{functions}
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel kernel
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  {more}
.end_amdhsa_kernel
"""
KERNEL = """
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  {load} s[2:3], s[0:1], 0x0
  v_mov_b32_e32 v0, 0
  v_mov_b32_e32 v1, 1
  s_mov_b32 vcc_lo, {low}
  s_mov_b32 vcc_hi, {high}
  s_waitcnt lgkmcnt(0)
  {branch} other
  global_store_{dword} v0, v1, s[2:3]
  s_endpgm
"""
OTHER = """
.p2align 8
.type other,@function
other:
  v_mov_b32_e32 v1, 2
  global_store_{dword} v0, v1, s[2:3]
  s_endpgm
"""
TARGETS = {  # lanes, what loads and stores are called, more of the descriptor
    "gfx942": (64, "s_load_dwordx2", "dword", ".amdhsa_accum_offset 4"),
    "gfx1100": (32, "s_load_b64", "b32", ".amdhsa_wavefront_size32 1"),
}


@pytest.mark.needs("clang")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("branch", ["s_cbranch_vccz", "s_cbranch_vccnz"])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (4, 0), (0, 4)])
def test_branches_on_vcc_into_another_function(target: str, branch: str, low: int, high: int) -> None:
    """Which lies before the kernel or behind it. Waves of 32 lanes have the low half of VCC alone."""
    lanes, load, dword, more = TARGETS[target]
    is_zero = low == 0 and (high == 0 or lanes == 32)
    for functions in (KERNEL + OTHER, OTHER + KERNEL):
        text = functions.format(load=load, low=low, high=high, branch=branch, dword=dword)
        source = ELSEWHERE.format(target=target, functions=text, more=more)
        module = wave_runtime.compile(source, language="asm", target=target, signature={"kernel": "*i32"})
        out = torch.zeros(1, dtype=torch.int32)
        module["kernel"](out, grid=1, block=lanes)
        assert out.item() == (2 if is_zero == (branch == "s_cbranch_vccz") else 1)


# A kernel that goes on in the function behind it by ending.
ENDLESS = """
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  s_nop 1
.size kernel, . - kernel
.type other,@function
other:
  {first}
  s_endpgm
"""


def endless(target: str, first: str) -> str:
    return ELSEWHERE.format(target=target, functions=ENDLESS.format(first=first), more=TARGETS[target][3])


@pytest.mark.needs("clang")
@pytest.mark.parametrize("target", TARGETS)
def test_a_function_without_an_end_is_told_once(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks on is told of the next function's first instruction when the wave is there, and not before, too."""
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(tmp_path / "trace"))
    source = endless(target, "s_mov_b32 s2, 5")
    module = wave_runtime.compile(source, language="asm", target=target, signature={"kernel": "*i32"})
    module["kernel"](torch.zeros(1, dtype=torch.int32), grid=1, block=1)
    statistics = _C.emulator_statistics()
    assert statistics["instructions"] == 3
    assert statistics["names"] == {"s_nop": 1, "s_mov_b32": 1, "s_endpgm": 1}
    lines = [line.split("  ", 1)[1] for line in (tmp_path / "trace").read_text().splitlines()]
    assert lines == ["kernel+0x0  s_nop 1", "other+0x0  s_mov_b32 s2, 5  # s2 = 0x00000005", "other+0x4  s_endpgm"]


@pytest.mark.needs("clang")
@pytest.mark.parametrize("target", TARGETS)
def test_a_trace_of_a_function_that_is_no_code(target: str, tmp_path: Path) -> None:
    """In a process of its own, which must not crash."""
    code = f"""
import torch, wave_runtime
source = {endless(target, ".long 0xffffffff")!r}
module = wave_runtime.compile(source, language="asm", target={target!r}, signature={{"kernel": "*i32"}})
try:
    module["kernel"](torch.zeros(1, dtype=torch.int32), grid=1, block=1)
except wave_runtime.KernelFault as fault:
    print(fault)
"""
    done = warm_python.run("-c", code, env={**os.environ, "WAVE_RUNTIME_TRACE": str(tmp_path / "trace")})
    assert done.returncode == 0, done.stderr
    assert f"an instruction that {target} does not have\n  at other+0x0: .long 0xffffffff" in done.stdout
    assert (tmp_path / "trace").read_text().endswith("other+0x0  .long 0xffffffff\n")


# A kernel that goes to each second dword of ever so many instructions, from where it runs to their end: there are as
# many others, which have the first ones as their literals.
BETWEEN = """
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  s_getpc_b64 s[4:5]
here:
  s_add_u32 s4, s4, pairs + 4 - here
  s_addc_u32 s5, s5, 0
  s_mov_b32 s6, 0
  s_setpc_b64 s[4:5]
back:
  s_add_u32 s4, s4, 8
  s_addc_u32 s5, s5, 0
  s_add_u32 s6, s6, 1
  s_cmp_lt_u32 s6, {count}
  s_cbranch_scc1 again
  s_endpgm
again:
  s_setpc_b64 s[4:5]
pairs:
.rept {count} + 1
.long 0xbe8800ff, 0xbe8a00ff
.endr
.long 0xbe8800ff
  s_branch back
"""


@pytest.mark.needs("clang")
def test_jumps_between_instructions_take_little_memory() -> None:
    """Where there is not much: what a kernel is translated to is a multiple of its code, however it goes through it."""
    functions = BETWEEN.format(count=4000)
    source = ELSEWHERE.format(target="gfx942", functions=functions, more=TARGETS["gfx942"][3])
    code = f"""
import resource, torch, wave_runtime
module = wave_runtime.compile({source!r}, language="asm", target="gfx942", signature={{"kernel": "*i32"}})
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (256 << 20), now + (256 << 20)))
module["kernel"](torch.zeros(1, dtype=torch.int32), grid=1, block=1)
print(wave_runtime._C.emulator_statistics()["instructions"])
"""
    done = warm_python.run("-c", code, env={**os.environ, "WAVE_RUNTIME_STATS": "1"})
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 5 + sum(range(2, 4002)) + 7 * 4000


# A kernel that goes to code of which the file has no bytes.
NOTHING = """
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, nothing@rel32@lo+4
  s_addc_u32 s5, s5, nothing@rel32@hi+12
  s_setpc_b64 s[4:5]
.section .nothing,"ax",@nobits
.p2align 8
nothing:
  .zero 4096
.text
"""


@pytest.mark.needs("clang")
def test_what_the_file_has_no_bytes_for_is_no_code() -> None:
    source = ELSEWHERE.format(target="gfx942", functions=NOTHING, more=TARGETS["gfx942"][3])
    module = wave_runtime.compile(source, language="asm", target="gfx942", signature={"kernel": "*i32"})
    with pytest.raises(wave_runtime.KernelFault, match="which is not in the code object's code"):
        module["kernel"](torch.zeros(1, dtype=torch.int32), grid=1, block=1)


# A kernel whose waves store in the same dword, in a file that has as many functions as a large library.
RACING = """
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_movk_i32 s6, 1000
  v_mov_b32_e32 v1, 0
  s_waitcnt lgkmcnt(0)
again:
  v_add_u32_e32 v0, 1, v0
  global_store_dword v1, v0, s[4:5]
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 again
  s_endpgm
.altmacro
.macro function number
.type other\\number,@function
other\\number:
.endm
.set count, 0
.rept 100000
function %count
.set count, count + 1
.endr
  s_endpgm
"""


@pytest.mark.needs("clang")
def test_races_in_a_file_of_many_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lane's race is told within the time limit: nobody looks for its function among all of them."""
    source = ELSEWHERE.format(target="gfx942", functions=RACING, more=TARGETS["gfx942"][3])
    module = wave_runtime.compile(source, language="asm", target="gfx942", signature={"kernel": "*i32"})
    monkeypatch.setenv("WAVE_RUNTIME_TIME_LIMIT", "20")
    with wave_runtime.sanitize("races") as report:
        module["kernel"](torch.zeros(1, dtype=torch.int32), grid=2, block=256)
    assert {finding.kind for finding in report.findings} == {"global-race"}
