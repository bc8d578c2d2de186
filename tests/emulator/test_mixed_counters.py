"""FLAT loads among others: on RDNA a counter counts down in the order of all that it counts, on CDNA FLAT has none."""

from __future__ import annotations

import pytest

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")
RDNA, CDNA = ("gfx1030", "gfx1100", "gfx1201"), ("gfx90a", "gfx942")
DONE = 63  # of a wait: does not count

# Loads of v50, v51 and so on, how many of them vector memory and LDS may have left behind, and which are ready then on
# RDNA. On CDNA none is, but of LDS alone.
CASES = [
    ("flat flat", 1, 1, "50"),
    ("flat flat flat", 2, 2, "50"),
    ("flat flat", 1, DONE, ""),
    ("flat flat", DONE, 1, ""),
    ("global flat", 1, DONE, "50"),
    ("global flat flat", 2, DONE, "50"),
    ("global flat flat", 1, 1, "50 51"),
    ("flat global", 1, 0, "50"),
    ("lds flat flat", DONE, 2, "50"),
    ("lds flat lds", DONE, 1, "50"),
    ("flat lds", 0, 1, "50"),
    ("flat lds global", 1, 1, "50"),
]


def text_of(target: str, loads: str, memory: int, lds: int, read: int) -> str:
    """Assembly: the loads, the wait, and who reads one of the registers."""
    width = "dword" if target in ("gfx1030", *CDNA) else "b32"
    ds_load = "ds_read_b32" if width == "dword" else "ds_load_b32"
    load = {"flat": f"flat_load_{width} v{{}}, v[40:41]", "global": f"global_load_{width} v{{}}, v[40:41], off"}
    load["lds"] = f"{ds_load} v{{}}, v42"
    lines = ["s_mov_b64 exec, 0"] if target in CDNA else ["s_mov_b32 exec_lo, 0"]
    lines += [load[kind].format(50 + i) for i, kind in enumerate(loads.split())]
    if target == "gfx1201":
        lines += [f"s_wait_loadcnt {memory}"] * (memory != DONE) + [f"s_wait_dscnt {lds}"] * (lds != DONE)
    else:
        counts = [f"vmcnt({memory})"] * (memory != DONE) + [f"lgkmcnt({lds})"] * (lds != DONE)
        lines.append(f"s_waitcnt {' '.join(counts)}")
    return "\\n".join([*lines, f"flat_store_{width} v[40:41], v{read}"])


def name_of(case: int, read: int) -> str:
    return f"case_{case}_{read}"


@pytest.mark.parametrize("target", [*RDNA, *CDNA])
def test_what_is_ready_behind_a_wait(target: str) -> None:
    reads = {(i, 50 + k): case for i, case in enumerate(CASES) for k in range(len(case[0].split()))}
    clobbered = ", ".join(f'"v{i}"' for i in range(40, 60))
    source = "".join(
        f'extern "C" __attribute__((global)) void {name_of(i, read)}() {{\n'
        f'  asm volatile("{text_of(target, *case[:3], read)}" ::: {clobbered}, "memory");\n}}\n'
        for (i, read), case in reads.items()
    )
    module = wave_runtime.compile(source, target=target, language="hip", options=["-nogpulib", "-nogpuinc"])
    for (i, read), (loads, memory, lds, ready) in reads.items():
        with wave_runtime.sanitize("waits") as report:
            module[name_of(i, read)](grid=1, block=32, device="cpu")
        is_ready = str(read) in ready.split() and (target in RDNA or loads == "lds flat lds")
        found = [finding.kind for finding in report.findings]
        assert found == ([] if is_ready else ["missing-wait"]), f"v{read} of {loads} behind {memory}, {lds}"
