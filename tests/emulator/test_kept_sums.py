"""Exact sums keep their bits at every SIMD level: hashes of what each instruction made of given registers.

matrix_model.py says whether sums are right, for few values; here are many, which have been held against it. Run as a
program, in exact mode, this file prints the hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import machine
import numpy as np
import numpy.typing as npt
import pytest
import warm_python
from machine import LANES, State
from requirements import does_not_apply
from simd_levels import LACKS, LEVELS, at

from wave_runtime import _C

Codes = npt.NDArray[np.uint32]
Instruction = Mapping[str, Any]

HASHES = Path(__file__).with_name("kept_sums.json")
WAVES, TRIALS = 24, 2
# Bits of the exponent and of the significand.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "fp8": (4, 3), "bf8": (5, 2), "xf32": (8, 23), "f32": (8, 23)}


def instructions() -> dict[str, tuple[str, Instruction]]:
    """Those of which add_exactly() is the sum, and a processor of each. gfx950's own FP8 is another type."""
    kinds = {"gfx950": {"F16", "Bf16"}, "gfx942": {"F16", "Bf16", "Fp8", "Bf8", "Xf32"}}
    found: dict[str, tuple[str, Instruction]] = {}
    for processor, has in kinds.items():
        for row in _C.isa_rows(processor):
            if row["matrix"] and row["matrix"]["a"] in has and str(row["mnemonic"]).startswith("v_mfma_"):
                found[str(row["mnemonic"])] = processor, row
    return found


def random_rows(random: np.random.RandomState, kind: str, registers: int) -> Codes:
    """Registers [wave, register, lane] of values that lie otherwise in each wave."""
    exponent_bits, bits = FORMATS[kind]
    width, bias = 1 + exponent_bits + bits, (1 << exponent_bits - 1) - 1
    shape = (WAVES, LANES, registers * 32 // width)
    top = 2 * bias + 1  # of infinities and NaNs
    usual = np.maximum(bias + 1 - random.geometric(0.5, shape), 0)
    any_finite = random.randint(0, top, shape)
    kinds = [
        usual,
        random.randint(0, top + 1, shape),
        any_finite,
        bias + random.randint(-3, 4, shape),  # whose sums cancel
        np.clip(bias + random.randint(-20, 20, shape), 0, top - 1),
        random.randint(0, 4, shape),  # denormals, and products that are
        np.clip(bias // 2 + random.randint(-12, 6, shape), 0, top - 1),  # of f32: products become denormals
        np.clip(bias + bias // 2 + random.randint(-8, 8, shape), 0, top - 1),  # and here infinities
        np.where(random.random_sample(shape) < 0.01, top, usual),
        np.where(random.random_sample(shape) < 0.05, any_finite, usual),
        any_finite,
        usual,
    ]
    exponent = np.stack([kinds[wave % len(kinds)][wave] for wave in range(WAVES)])
    significand = random.randint(0, 1 << bits, shape)
    significand[3::4] &= ~((1 << max(bits - 3, 0)) - 1)
    sign = random.randint(0, 2, shape)
    codes = sign << width - 1 | exponent << bits | significand
    wave = np.arange(WAVES)[:, None, None]
    codes[
        (random.random_sample(shape) < 0.3) & (wave % 3 == 1) | (random.random_sample(shape) < 0.9) & (wave == 11)
    ] = 0
    dwords: Codes = np.ascontiguousarray(codes.astype(f"u{width // 8}")).view(np.uint32)
    rows: Codes = dwords.transpose(0, 2, 1)
    return rows


def hash_of(processor: str, row: Instruction) -> str:
    product = row["matrix"]
    a, b = (str(product[side]).lower() for side in "ab")
    inputs = product["m"] * product["k"] * product["blocks"] // LANES * (1 + sum(FORMATS[a])) // 32
    outputs = product["m"] * product["n"] * product["blocks"] // LANES
    kept = hashlib.sha256()
    for trial in range(TRIALS):
        random, state = np.random.RandomState(trial), State(WAVES)  # whose numbers no version of numpy changes
        state.v[:, :inputs] = random_rows(random, a, inputs)
        state.v[:, 8 : 8 + inputs] = random_rows(random, b, inputs)
        state.v[:, 16 : 16 + outputs] = random_rows(random, "f32", outputs)[random.permutation(WAVES)]
        fields = {"CBSZ": 1, "ABID": 1, "BLGP": 5} if trial and product["blocks"] > 1 else {}
        words = machine.encode(row, SRC0=256, SRC1=256 + 8, SRC2=256 + 16, VDST=16, **fields)
        after = machine.run(words, state, processor=processor)
        result = np.ascontiguousarray(after.v[:, 16 : 16 + outputs])
        result[np.isnan(result.view(np.float32))] = 0x7FC00000
        kept.update(result.tobytes())
    return kept.hexdigest()[:16]


@pytest.mark.parametrize("level", LEVELS)
def test_sums_keep_their_bits(level: str) -> None:
    environment = {**at(level), "WAVE_RUNTIME_MFMA": "exact", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = warm_python.run(__file__, env=environment)
    if LACKS in done.stderr:
        does_not_apply(f"this processor lacks {level}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(HASHES.read_text())


if __name__ == "__main__":
    print(json.dumps({name: hash_of(*found) for name, found in sorted(instructions().items())}, indent=1))
