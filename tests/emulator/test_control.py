"""Program flow that compilers rarely make."""

from __future__ import annotations

from machine import State, encode, run
from memory_support import BY_NAME


def s_mov(register: int, value: int) -> list[int]:
    return encode(BY_NAME["s_mov_b32"], SDST=register, SSRC0=128 + value)


def test_call_and_return() -> None:
    """The called code lies behind the next instruction and a branch over it."""
    words = encode(BY_NAME["s_call_b64"], SDST=10, SIMM16=2)
    words += s_mov(20, 1) + encode(BY_NAME["s_branch"], SIMM16=2)
    words += s_mov(21, 2) + encode(BY_NAME["s_setpc_b64"], SSRC0=10)
    assert run(words, State(1)).s[0, 20:22].tolist() == [1, 2]


def test_a_debugger_never_takes_a_branch() -> None:
    for name in ("sys", "user", "sys_or_user", "sys_and_user"):
        words = encode(BY_NAME[f"s_cbranch_cdbg{name}"], SIMM16=1) + s_mov(20, 1)
        assert run(words, State(1)).s[0, 20] == 1
