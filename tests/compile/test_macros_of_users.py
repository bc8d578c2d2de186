"""Macros of a user, by each way that there is: whatever their names are, the headers are what they were."""

from __future__ import annotations

import string
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support import ROOT

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

HEADERS = [
    "hip_runtime",
    "hip_fp16",
    "hip_bf16",
    "hip_bfloat16",
    "hip_fp8",
    "hip_complex",
    "hip_cooperative_groups",
    "hip_math_constants",
]
INCLUDES = "".join(f"#include <hip/{name}.h>\n" for name in HEADERS)
LETTERS = [*string.ascii_letters, "_"]
_TEXT = (
    "BLOCK SIZE TILE WIDTH HEIGHT LANES WAVES BITS TYPE VALUE COUNT MAX MIN ROUND SCALE block size tile width height "
    "lanes waves bits type value count max min scale name index first last result other sum lane rank mask grid thread "
    "threads device host global shared constant Size Type Value Kind Lanes Block Grid Vector Op Function Result Other "
    "kind bytes words left right error string source index_t abs pow log exp sin half float4x4 x_size"
)
WORDS = _TEXT.split()
# None of the names is in here but N and p.
SOURCE = """
extern "C" __global__ void __launch_bounds__(64, 1) store(int* p) {
  __shared__ int once;
  once = N;
  p[__lane_id()] = once;
}"""


def stored(source: str, **how: object) -> int:
    out = torch.zeros(32, dtype=torch.int32)
    wave_runtime.compile(source, **how)["store"](out, grid=1, block=32)  # type: ignore[arg-type]
    assert (out == out[0]).all()
    return int(out[0])


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_all_at_once(target: str) -> None:
    """In the options, before any header is read."""
    names = [name for name in [*LETTERS, *WORDS] if name != "p"]
    defines: dict[str, object] = dict.fromkeys(names, "4 +")
    defines["N"] = 7
    assert stored(INCLUDES + SOURCE, defines=defines, target=target) == 7


WAYS = {
    "options": lambda source, numbers: {"source": source, "options": [f"-D{name}={n}" for name, n in numbers.items()]},
    "defines": lambda source, numbers: {"source": source, "defines": numbers},
    "source": lambda source, numbers: {
        "source": "".join(f"#define {name} {n}\n" for name, n in numbers.items()) + source
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way(way: str) -> None:
    numbers = {name: 1 << bit for bit, name in enumerate(["N", "n", "T", "x", "SIZE", "value", "min"])}
    source = INCLUDES + SOURCE.replace("N", " | ".join(numbers))
    assert stored(**WAYS[way](source, numbers)) == 127


@pytest.mark.parametrize("header", HEADERS)
def test_before_each_header(header: str) -> None:
    lines = "".join(f"#define {name} (1 /\n" for name in [*LETTERS, *WORDS] if name not in ("N", "p"))
    assert stored(f"{lines}#define N 8\n#include <hip/{header}.h>\n{SOURCE}") == 8


def test_for_both_vendors() -> None:
    lines = "".join(f"#define {name} (1 /\n" for name in [*LETTERS, *WORDS] if name not in ("N", "p"))
    includes = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cuda_fp16.h>\n"
    defines: dict[str, object] = {"N": 9, "T": 1}
    assert stored(f"{lines.replace('#define T (1 /', '')}{includes}{SOURCE}", defines=defines) == 9


def test_a_macro_is_what_it_was_behind_the_headers() -> None:
    """What hides a function of the headers, too; what is no macro becomes none."""
    source = f"""
    #define min(a, b) ((a) * (b))
    {INCLUDES}
    #ifdef value
    #error value is no macro
    #endif
    extern "C" __global__ void store(int* p) {{ p[threadIdx.x] = min(3, 5) + max(3, 5); }}"""
    assert stored(source) == 20


def test_the_names_are_those_that_the_generator_finds(tmp_path: Path) -> None:
    tool = ROOT / "tools/generate_names_set_aside.py"
    subprocess.run([sys.executable, tool, "--output", tmp_path], check=True)
    for made in tmp_path.iterdir():
        assert made.read_text() == (ROOT / "wave_emulator/device/wave_device" / made.name).read_text(), f"run {tool}"
    assert len(list(tmp_path.iterdir())) == 2
