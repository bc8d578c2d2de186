"""What clang 22 makes of every atomic operation, order and scope: no tool finds anything where the order is right.

Where a release or an acquire is left out, or its scope is too small, the race of the data is found.
"""

from __future__ import annotations

import pytest
import torch
from memory_orders import SIGNATURE, Order, Trial, compiled, compiled_for, orders
from support import first_or_long
from waits import without

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")


def launch(image: bytes, order: Order, trial: Trial) -> list[wave_runtime.Finding]:
    """Two waves. All tools look, and the second wave reads what the first one has stored."""
    kernel = wave_runtime.load(image, signature={order.name: SIGNATURE})[order.name]
    data, flag, out = (torch.zeros(64, dtype=torch.int32) for _ in range(3))
    waves = 2 // trial.groups
    with wave_runtime.sanitize() as report:
        kernel(data, flag, out, waves, grid=trial.groups, block=waves * trial.lanes)
    assert out[: trial.lanes].tolist() == [7] * trial.lanes, order
    return report.findings


def is_right(order: Order, trial: Trial) -> bool:
    return order.releases and order.acquires and order.reaches(trial)


def must_be_found(order: Order, trial: Trial) -> bool:
    """Whether the processor needs what an order lacks."""
    if trial.data_in_lds:  # which is read in order, once the flag has been waited for
        return not (order.releases and order.reaches(trial))
    is_in_order = trial.groups == 1 and trial.mode == "cu"  # by the compute unit's cache
    return not is_in_order and not is_right(order, trial)


TRIALS = [
    Trial("gfx1201", "wgp", 32, 2),
    Trial("gfx1100", "cu", 32, 1),
    Trial("gfx1030", "wgp", 64, 1, data_in_lds=True),
    Trial("gfx1201", "cu", 64, 1, flag_in_lds=True),
    *(Trial(target, "wgp", 64, 2) for target in ("gfx1030", "gfx1100", "gfx1201")),
    *(Trial(target, "cu", 32, 2) for target in ("gfx1030", "gfx1100", "gfx1201")),
    *(Trial(target, "wgp", 32, 1) for target in ("gfx1030", "gfx1100", "gfx1201")),
    *(Trial(target, "cu", 64, 1) for target in ("gfx1030", "gfx1100", "gfx1201")),
    *(Trial(target, mode, 32, 1, data_in_lds=True) for target in ("gfx1100", "gfx1201") for mode in ("wgp", "cu")),
    *(Trial(target, mode, 32, 1, flag_in_lds=True) for target in ("gfx1030", "gfx1100") for mode in ("wgp", "cu")),
    Trial("gfx1201", "wgp", 32, 1, data_in_lds=True, flag_in_lds=True),
    *(Trial(target, "cu", 64, groups) for target in ("gfx90a", "gfx942", "gfx950") for groups in (1, 2)),
    *(Trial(target, "cu", 64, 1, data_in_lds=True) for target in ("gfx90a", "gfx942")),
    Trial("gfx942", "wgp", 64, 1),
]


@pytest.mark.parametrize("trial", first_or_long(TRIALS, 4))
@pytest.mark.parametrize("scopes", first_or_long([("WORKGROUP", "AGENT"), ("WAVEFRONT", "SYSTEM")], 1))
def test_a_flag_tells_what_has_been_stored(trial: Trial, scopes: tuple[str, ...]) -> None:
    tried = list(orders(scopes))
    image = compiled(tried, trial)
    alarms, missed = {}, []
    for order in tried:
        found = launch(image, order, trial)
        # In LDS an atomic that modifies is one beside the plain store that it waits for.
        is_told_apart = not trial.flag_in_lds or order.wait_by != "and"
        if is_right(order, trial) and found and is_told_apart:
            alarms[order.name] = str(found[0])
        if must_be_found(order, trial) and not any(finding.tool == "races" for finding in found):
            missed.append(order.name)
    assert alarms == {}
    assert missed == []


# What a wave waits for before it raises the flag; what the other invalidates behind it, once the flag has come.
NEEDED = {
    "gfx1030": ("s_waitcnt_vscnt", "buffer_gl0_inv", "buffer_gl1_inv", "s_waitcnt vmcnt"),
    "gfx1100": ("s_waitcnt_vscnt", "buffer_gl0_inv", "buffer_gl1_inv", "s_waitcnt vmcnt"),
    "gfx1201": ("s_wait_storecnt", "global_inv", "s_wait_loadcnt"),
}
# Of two caches: buffer_gl1_inv, buffer_gl0_inv.
INVALIDATIONS = {
    "gfx1030": (bytes.fromhex("0000c8e100000000"), bytes.fromhex("0000c4e100000000")),
    "gfx1100": (bytes.fromhex("0000b0e000000000"), bytes.fromhex("0000ace000000000")),
}
OF_AGENT = Order("store", "RELEASE", "load", "ACQUIRE", "AGENT")
OF_GROUP = Order("store", "RELEASE", "load", "ACQUIRE", "WORKGROUP")


@pytest.mark.parametrize("mode", ["wgp", "cu"])
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("target", NEEDED)
def test_each_instruction_that_orders_is_missed(target: str, lanes: int, mode: str) -> None:
    for order, groups in ((OF_AGENT, 2), *([(OF_GROUP, 1)] if mode == "wgp" else [])):
        trial = Trial(target, mode, lanes, groups)
        image = compiled([order], trial)
        assert launch(image, order, trial) == []
        for name in NEEDED[target]:
            if name == "buffer_gl1_inv" and groups == 1:
                continue
            assert any(launch(changed, order, trial) for changed, _ in without(image, order.name, name)), name


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100"])
def test_caches_that_are_invalidated_from_inside_out(target: str) -> None:
    """As LLVM 15 and 16 did it: the compute unit's own cache may take from the next one what is stale there yet."""
    trial = Trial(target, "wgp", 64, 2)
    image = compiled([OF_AGENT], trial)
    outer, own = INVALIDATIONS[target]
    assert outer + own in image
    [found] = launch(image.replace(outer + own, own + outer), OF_AGENT, trial)
    assert "buffer_gl0_inv is missing behind the invalidation of outer caches" in found.message


# Dekker's: each wave says that it wants to, and then goes on if the other one does not.
TRIES = """
extern "C" __attribute__((global)) void tries(int* wants, int* sum, int* entered, int waves) {
  const int item = __builtin_amdgcn_workitem_id_x(), lane = item % WAVE;
  const int wave = __builtin_amdgcn_readfirstlane(item) / WAVE + waves * __builtin_amdgcn_workgroup_id_x();
  int count = 0;
  for (int i = 0; i < 24; ++i) {
    __hip_atomic_store(&wants[64 * wave], 1, __ATOMIC_RELAXED, SCOPE);
    FENCE(__ATOMIC_SEQ_CST);
    if (__hip_atomic_load(&wants[64 * (1 - wave)], __ATOMIC_RELAXED, SCOPE) == 0) {
      FENCE(__ATOMIC_ACQUIRE);
      sum[lane] += 1;
      ++count;
    }
    FENCE(__ATOMIC_RELEASE);
    __hip_atomic_store(&wants[64 * wave], 0, __ATOMIC_RELAXED, SCOPE);
    for (int j = 0; j <= wave; ++j) __builtin_amdgcn_s_sleep(1);
  }
  entered[64 * wave + lane] = count;
}
"""


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("mode", "lanes", "scope", "groups"),
    [("wgp", 32, "agent", 2), ("cu", 64, "agent", 2), ("wgp", 64, "workgroup", 1)],
)
def test_one_of_two_waves_goes_on(
    target: str, mode: str, lanes: int, scope: str, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_TIME_LIMIT", "60")
    for has_fences in (True, False):
        trial = Trial(target, mode, lanes, groups)
        fence = f'__builtin_amdgcn_fence(order, "{scope}")' if has_fences else ""
        options = [f"-DSCOPE=__HIP_MEMORY_SCOPE_{scope.upper()}", f"-DFENCE(order)={fence}"]
        image = compiled_for(trial, TRIES, options)
        kernel = wave_runtime.load(image, signature={"tries": "a: *i32, b: *i32, c: *i32, d: i32"})["tries"]
        wants, total, entered = (torch.zeros(128, dtype=torch.int32) for _ in range(3))
        with wave_runtime.sanitize() as report:
            kernel(wants, total, entered, 2 // groups, grid=groups, block=2 // groups * lanes)
        first, second = entered[:lanes], entered[64 : 64 + lanes]
        assert torch.equal(total[:lanes], first + second)
        if has_fences:
            assert report.findings == []
        elif first.any() and second.any():
            assert report.findings != []
