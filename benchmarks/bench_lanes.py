"""What vector instructions cost a lane, in waves of 32 lanes and of 64, relative to gfx942.

`python benchmarks/bench_lanes.py` compiles a kernel for each row (it needs clang 22), for gfx942, gfx1100 and gfx1201,
and runs it on one core, the processors in turn. Times are the least of several. The goal is that no row takes more than
1.2 times as long as gfx942's, for the same work-items.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

import wave_runtime

GOAL = 1.2
COPIES, TIMES, BLOCK, ROUNDS = 32, 100, 256, 9
WAVES = (("gfx942", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1201", 32), ("gfx1201", 64))


@dataclass(frozen=True)
class Row:
    """An instruction on registers d and e, which are written, and a and b: of 32 bits, or of 64 where it is wide.

    Attributes:
        text: as gfx942's assembler takes it; {vcc} is the mask.
        rdna: as that of RDNA takes it, where it differs.
    """

    name: str
    text: str
    rdna: str = ""
    wide: bool = False


ROWS = (
    Row("move", "v_mov_b32 {d}, {a}"),
    Row("move, DPP", "v_mov_b32_dpp {d}, {a} quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"),
    Row("add, f32", "v_add_f32 {d}, {a}, {b}"),
    Row("add, f32, DPP", "v_add_f32_dpp {d}, {a}, {b} row_shr:1 row_mask:0xf bank_mask:0xf"),
    Row("add, f32, with a constant", "v_add_f32 {d}, 1.0, {a}"),
    Row("multiply, f32, negated and clamped", "v_mul_f32 {d}, -{a}, |{b}| clamp"),
    Row("fused multiply-add, f32", "v_fma_f32 {d}, {a}, {b}, {d}"),
    Row("the same in 32 bits", "v_fmac_f32 {d}, {a}, {b}"),
    Row("maximum, f32", "v_max_f32 {d}, {a}, {b}", "v_max_num_f32 {d}, {a}, {b}"),
    Row("median, f32", "v_med3_f32 {d}, {a}, {b}, {a}", "v_med3_num_f32 {d}, {a}, {b}, {a}"),
    Row("class, f32", "v_cmp_class_f32 {vcc}, {a}, {b}"),
    Row("add, f16", "v_add_f16 {d}, {a}, {b}", "v_add_f16 {d}.l, {a}.l, {b}.l"),
    Row("fused multiply-add, two of f16", "v_pk_fma_f16 {d}, {a}, {b}, {d}"),
    Row("the same with halves exchanged", "v_pk_fma_f16 {d}, {a}, {b}, {a} op_sel:[1,0,0] op_sel_hi:[0,1,1]"),
    Row("fused multiply-add, f16 and f32", "v_fma_mix_f32 {d}, {a}, {b}, {a} op_sel_hi:[1,1,0]"),
    Row("fused multiply-add, f64", "v_fma_f64 {d}, {a}, {b}, {a}", wide=True),
    Row("the same with a sign", "v_fma_f64 {d}, -{a}, {b}, {a}", wide=True),
    Row("reciprocal", "v_rcp_f32 {d}, {a}"),
    Row("square root", "v_sqrt_f32 {d}, {a}"),
    Row("power of two", "v_exp_f32 {d}, {a}"),
    Row("sine", "v_sin_f32 {d}, {a}"),
    Row("to f32 of i32", "v_cvt_f32_i32 {d}, {a}"),
    Row("to f16 of f32", "v_cvt_f16_f32 {d}, {a}", "v_cvt_f16_f32 {d}.l, {a}"),
    Row("add, u32", "v_add_u32 {d}, {a}, {b}", "v_add_nc_u32 {d}, {a}, {b}"),
    Row("add, u32, with carry", "v_add_co_u32 {d}, {vcc}, {a}, {b}"),
    Row("multiply, u32", "v_mul_lo_u32 {d}, {a}, {b}"),
    Row("and", "v_and_b32 {d}, {a}, {b}"),
    Row("shift", "v_lshlrev_b32 {d}, 3, {a}"),
    Row("shift and add", "v_lshl_add_u32 {d}, {a}, 3, {b}"),
    Row("field", "v_bfe_u32 {d}, {a}, 3, 5"),
    Row("permute bytes", "v_perm_b32 {d}, {a}, {b}, {a}"),
    Row("compare, f32", "v_cmp_lt_f32 {vcc}, {a}, {b}"),
    Row("compare, u32", "v_cmp_lt_u32 {vcc}, {a}, {b}"),
    Row("select", "v_cndmask_b32 {d}, {a}, {b}, {vcc}"),
    Row("load, a dword each", "global_load_dword {d}, {at}, {p}", "global_load_b32 {d}, {at}, {p}"),
    Row("load, four dwords each", "global_load_dwordx4 {q}, {at}, {p}", "global_load_b128 {q}, {at}, {p}"),
    Row("store, a dword each", "global_store_dword {at}, {a}, {p}", "global_store_b32 {at}, {a}, {p}"),
    Row("load from LDS", "ds_read_b32 {d}, {near}", "ds_load_b32 {d}, {near}"),
    Row("store to LDS", "ds_write_b32 {near}, {a}", "ds_store_b32 {near}, {a}"),
)
OPERANDS = {"d": "%0", "e": "%1", "q": "%2", "a": "%3", "b": "%4", "at": "%5", "p": "%6", "near": "%7"}

KERNEL = """
typedef {type} value;
typedef float four __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global)) void row(float *p) {{
  __attribute__((shared)) static float lds[256];
  const unsigned lane = __builtin_amdgcn_workitem_id_x(), at = lane * 16, near = (unsigned)(unsigned long)(
      __attribute__((address_space(3))) float *)(lds + lane);
  value a = p[4 * lane], b = p[4 * lane + 1], d = a, e = b;
  four q = {{0, 0, 0, 0}};
  lds[lane] = a;
  for (int i = 0; i < {times}; ++i)
    asm volatile("{text}" : "+v"(d), "+v"(e), "+v"(q) : "v"(a), "v"(b), "v"(at), "s"(p), "v"(near) : "vcc", "memory");
  p[4 * lane] = d + e + q.x;
}}
"""


def launch(row: Row, target: str, lanes: int) -> Callable[[], None]:
    """What runs a row's kernel."""
    is_rdna = target.startswith("gfx1")
    text = row.rdna if is_rdna and row.rdna else row.text
    # clang 22 knows halves of registers for gfx1100 alone, and gfx1201 alone has maxima of numbers.
    text = text.replace("_num", "") if target == "gfx1100" else text.replace(".l", "")
    text = text.format(vcc="vcc" if lanes == 64 else "vcc_lo", **OPERANDS)
    wait = "s_wait_loadcnt_dscnt 0x0\\ns_wait_storecnt 0x0" if target == "gfx1201" else "s_waitcnt vmcnt(0) lgkmcnt(0)"
    lines = "\\n".join([*[text] * COPIES, wait])
    source = KERNEL.format(type="double" if row.wide else "float", times=TIMES, text=lines)
    options = ["-mwavefrontsize64"] if is_rdna and lanes == 64 else []
    kernel = wave_runtime.compile(source, target=target, options=options, language="hip")["row"]
    memory = torch.rand(4 * BLOCK)
    return lambda: kernel(memory, grid=1, block=BLOCK)


def measure(row: Row) -> dict[str, float]:
    """Nanoseconds that an instruction takes for 64 work-items, by processor and wave."""
    runs = {f"{target}, {lanes}": launch(row, target, lanes) for target, lanes in WAVES}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    return {name: seconds * 1e9 / (COPIES * TIMES * BLOCK / 64) for name, seconds in least.items()}


def main() -> None:
    """Measure all rows, or some, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = [f"{target}, {lanes}" for target, lanes in WAVES]
    print(f"{'ns for 64 work-items; others relative':40}" + "".join(f"{name:>14}" for name in names))
    found, missed = {}, []
    for row in ROWS:
        if arguments.rows not in row.name:
            continue
        times = measure(row)
        first = times[names[0]]
        ratios = {name: times[name] / first for name in names[1:]}
        found[row.name] = {"ns": first, **ratios}
        missed += [f"{row.name} ({name}: {ratio:.2f})" for name, ratio in ratios.items() if ratio > GOAL]
        print(f"{row.name:40}{first:14.2f}" + "".join(f"{ratio:14.2f}" for ratio in ratios.values()), flush=True)
    print(f"goal: at most {GOAL} of gfx942's: {'missed by ' + '; '.join(missed) if missed else 'met'}")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
