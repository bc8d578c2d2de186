"""Kernels in which a wave tells another one by a flag what it has stored, by every operation, order and scope.

Some are right by the memory model of LLVM, the others leave an order out or have one of too small a scope.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from requirements import need

SCOPES = {"WAVEFRONT": "wavefront", "WORKGROUP": "workgroup", "AGENT": "agent", "SYSTEM": ""}  # as fences name them
RELEASES = ("RELEASE", "ACQ_REL", "SEQ_CST")
ACQUIRES = ("ACQUIRE", "ACQ_REL", "SEQ_CST")
ALL = ("RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL", "SEQ_CST")

# How the flag is raised, with the orders that it is tried with. A fence that acquires waits for stores, too: in
# machine code it is one that releases.
RAISES = {
    "store": ("__hip_atomic_store(flag, 1, {order}, {scope});", ("RELAXED", "RELEASE", "SEQ_CST")),
    "exchange": ("__hip_atomic_exchange(flag, 1, {order}, {scope});", ALL),
    "add": ("if (lane == 0) __hip_atomic_fetch_add(flag, 1, {order}, {scope});", ALL),
    "swap": (
        "int down = 0; __hip_atomic_compare_exchange_strong(flag, &down, 1, {order}, __ATOMIC_RELAXED, {scope});",
        ALL,
    ),
    "fence": (
        '__builtin_amdgcn_fence({order}, "{fence}"); __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, {scope});',
        RELEASES,
    ),
    "nothing": ("__hip_atomic_store(flag, 1, __ATOMIC_RELAXED, {scope});", ("RELAXED",)),
}
# How it is waited for: each turn of a loop, and behind it.
WAITS = {
    "load": ("up = __hip_atomic_load(flag, {order}, {scope});", "", ("RELAXED", "ACQUIRE", "SEQ_CST")),
    "and": ("up = __hip_atomic_fetch_and(flag, 1, {order}, {scope});", "", ALL),
    "swap": (
        "int is = 1; up = __hip_atomic_compare_exchange_strong(flag, &is, 1, {order}, __ATOMIC_RELAXED, {scope});",
        "",
        ALL,
    ),
    "fence": (
        "up = __hip_atomic_load(flag, __ATOMIC_RELAXED, {scope});",
        '__builtin_amdgcn_fence({order}, "{fence}");',
        (*ACQUIRES, "RELEASE"),
    ),
}
PROLOGUE = """
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
#define BARRIER \\
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \\
  __builtin_amdgcn_s_barrier(); \\
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
"""
KERNEL = """
KERNEL {name}(int* data_in_memory, int* flag_in_memory, int* out, int waves) {{
  const int item = __builtin_amdgcn_workitem_id_x(), lane = item % WAVE;
  const int wave = __builtin_amdgcn_readfirstlane(item) / WAVE + waves * __builtin_amdgcn_workgroup_id_x();
  {data}
  {flag}
  if (wave == 0) {{
    data[lane] = 7;
    {raise_it}
  }} else {{
    for (int up = 0; !up;) {{ __builtin_amdgcn_s_sleep(1); {wait} }}
    {behind}
    out[lane] = data[lane];
  }}
}}
"""
PLACES = {
    "data": ("int* const data = data_in_memory;", "SHARED int data_in_lds[64]; int* const data = data_in_lds;"),
    "flag": (
        "int* const flag = flag_in_memory;",
        "SHARED int flag_in_lds; if (item == 0) flag_in_lds = 0; BARRIER; int* const flag = &flag_in_lds;",
    ),
}
SIGNATURE = "data_in_memory: *i32, flag_in_memory: *i32, out: *i32, waves: i32"


@dataclass(frozen=True)
class Trial:
    """For whom the kernels are compiled, of how many workgroups the two waves are, and where data and flag lie."""

    target: str
    mode: str  # cu or wgp
    lanes: int
    groups: int
    data_in_lds: bool = False
    flag_in_lds: bool = False

    @property
    def options(self) -> list[str]:
        if not self.target.startswith("gfx1"):
            return ["-mtgsplit"] if self.mode == "wgp" else []
        return [*(["-mcumode"] if self.mode == "cu" else []), *(["-mwavefrontsize64"] if self.lanes == 64 else [])]


@dataclass(frozen=True)
class Order:
    """A kernel: an operation and an order on either side, and the scope of both."""

    raise_by: str
    release: str
    wait_by: str
    acquire: str
    scope: str

    @property
    def name(self) -> str:
        return "_".join([self.raise_by, self.release, self.wait_by, self.acquire, self.scope])

    @property
    def releases(self) -> bool:
        return self.release in RELEASES

    @property
    def acquires(self) -> bool:
        return self.acquire in ACQUIRES

    def reaches(self, trial: Trial) -> bool:
        """Whether its scope has both waves in it."""
        return self.scope in ("AGENT", "SYSTEM") or (self.scope == "WORKGROUP" and trial.groups == 1)


def orders(scopes: tuple[str, ...] = tuple(SCOPES)) -> Iterator[Order]:
    """Each operation with each order, against an ordinary other side; and the strongest ones with each other."""
    raises = [(by, order) for by, (_, tried) in RAISES.items() for order in tried]
    waits = [(by, order) for by, (_, _, tried) in WAITS.items() for order in tried]
    for scope, one, other in itertools.product(scopes, raises, waits):
        if one == ("store", "RELEASE") or other == ("load", "ACQUIRE") or one[1] == other[1] == "SEQ_CST":
            yield Order(*one, *other, scope)


def source(all_of_them: list[Order], trial: Trial) -> str:
    text = PROLOGUE
    for order in all_of_them:
        scope = f"__HIP_MEMORY_SCOPE_{order.scope}"
        release = {"order": f"__ATOMIC_{order.release}", "scope": scope, "fence": SCOPES[order.scope]}
        acquire = {**release, "order": f"__ATOMIC_{order.acquire}"}
        wait, behind, _ = WAITS[order.wait_by]
        text += KERNEL.format(
            name=order.name,
            data=PLACES["data"][trial.data_in_lds],
            flag=PLACES["flag"][trial.flag_in_lds],
            raise_it=RAISES[order.raise_by][0].format(**release),
            wait=wait.format(**acquire),
            behind=behind.format(**acquire),
        )
    return text


def compiled(all_of_them: list[Order], trial: Trial) -> bytes:
    return compiled_for(trial, source(all_of_them, trial))


def compiled_for(trial: Trial, text: str, more: Iterable[str] = ()) -> bytes:
    hip = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O2"]
    options = [f"--offload-arch={trial.target}", f"-DWAVE={trial.lanes}", *trial.options, *more]
    command = [str(need("clang-22")), *hip, *options, "-", "-o", "-"]
    return subprocess.run(command, input=text.encode(), check=True, capture_output=True).stdout
