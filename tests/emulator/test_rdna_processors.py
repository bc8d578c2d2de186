"""Code for RDNA2, for the processors that are like another one but for some figures, and what RDNA3.5 adds to RDNA3."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import rdna_machine
import torch

import wave_runtime
from wave_runtime import _C

# Those that have another's instructions.
SAME = {
    **dict.fromkeys(("gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"), "gfx1030"),
    **dict.fromkeys(("gfx1101", "gfx1102", "gfx1103"), "gfx1100"),
    **dict.fromkeys(("gfx1151", "gfx1152", "gfx1153"), "gfx1150"),
    "gfx1200": "gfx1201",
}
PROCESSORS = ("gfx1030", "gfx1150", *SAME)
SOURCE = r"""
// What all lanes have alike is computed by the scalar unit where it has floats.
extern "C" __global__ void scaled(const float* a, float* out, float scale, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float factor = 1.0f;
  for (int k = 0; k < n % 7; ++k) factor = factor * scale - 0.25f;
  if (i < n) out[i] = a[i] * (factor < 0 ? -factor : factor + 1);
}
"""


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize(("processor", "lanes"), list(itertools.product(PROCESSORS, (32, 64))))
def test_compiled_code(processor: str, lanes: int) -> None:
    options = ["-mwavefrontsize64", "-ffp-contract=off"] if lanes == 64 else ["-ffp-contract=off"]
    kernel = wave_runtime.compile(SOURCE, target=processor, language="hip", options=options)["scaled"]
    a, out, n = torch.randn(100), torch.zeros(100), 97
    kernel(a, out, 1.5, n, grid=2, block=64)
    factor = torch.tensor(1.0)
    for _ in range(n % 7):
        factor = factor * 1.5 - 0.25
    wanted = torch.zeros(100)
    wanted[:n] = a[:n] * (-factor if factor < 0 else factor + 1)
    assert torch.equal(out, wanted)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_each_is_a_device(processor: str) -> None:
    with wave_runtime.emulate(processor):
        assert torch.cuda.get_device_properties(0).gcnArchName == processor
    figures = _C.emulator_processors()[processor]
    assert (figures["code"], figures["lanes"]) == (processor, 32)


def test_processors_that_share_a_table() -> None:
    for processor, other in SAME.items():
        assert _C.implemented_instructions(processor) == _C.implemented_instructions(other)
    more = set(_C.implemented_instructions("gfx1150")) - set(_C.implemented_instructions("gfx1100"))
    assert all(name.startswith("s_") and name.endswith(("f16", "f32", "i32", "u32")) for name in more)


def scalar(processor: str, name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The scalar result of two u32 for each wave."""
    state = rdna_machine.State(len(a), 32)
    state.s[:, 4], state.s[:, 5] = a, b
    word = int(rdna_machine.rows(processor)[name]["match"]) | 6 << 16 | 5 << 8 | 4
    return rdna_machine.run(processor, [word], state).s[:, 6]


@pytest.mark.parametrize("processor", ["gfx1150", "gfx1201"])
def test_pairs_of_halves_are_rounded_towards_zero(processor: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(300) * 2.0 ** rng.integers(-28, 18, 300) for _ in range(2))
    a[:4], b[:4] = [np.inf, -np.inf, 65519.0, -1e30], [6e-8, -5e-8, 0.0, -0.0]
    bits = [x.astype(np.float32).view(np.uint32) for x in (a, b)]
    found = scalar(processor, "s_cvt_pk_rtz_f16_f32", *bits)
    for value, half in zip(bits, (found & 0xFFFF, found >> 16), strict=True):
        exact, got = value.view(np.float32), half.astype(np.uint16).view(np.float16)
        with np.errstate(over="ignore"):
            nearest = exact.astype(np.float16)
        away = np.abs(nearest.astype(np.float64)) > np.abs(exact)
        wanted = np.where(away, np.nextafter(nearest, np.float16(0)), nearest)
        assert np.array_equal(got.view(np.uint16), wanted.view(np.uint16))


@pytest.mark.parametrize("processor", ["gfx1150", "gfx1201"])
@pytest.mark.parametrize("mode", [0x30, 0x70, 0xB0, 0xF0])
def test_pairs_of_halves_have_the_denormals_of_mode(processor: str, mode: int) -> None:
    """As v_cvt_pk_rtz_f16_f32 and s_cvt_f16_f32."""
    state = rdna_machine.State(1, 32)
    state.mode[:] = mode
    state.s[0, 4:6] = np.array([2.0**-20, -(2.0**-14)], np.float32).view(np.uint32)
    word = int(rdna_machine.rows(processor)["s_cvt_pk_rtz_f16_f32"]["match"]) | 6 << 16 | 5 << 8 | 4
    assert rdna_machine.run(processor, [word], state).s[0, 6] == (0x84000010 if mode & 0x80 else 0x84000000)


def test_extremes_of_rdna35_know_signaling_nans() -> None:
    """With MODE.IEEE, as v_min_f32 of RDNA3: a signaling NaN becomes a quiet one, and a quiet one gives way."""
    one, two, quiet, signaling = 0x3F800000, 0x40000000, 0x7FC00001, 0x7F800001
    a = np.array([one, two, quiet, one, signaling, one, 0x80000000], dtype=np.uint32)
    b = np.array([two, one, one, quiet, one, signaling, 0], dtype=np.uint32)
    least = [one, one, one, one, signaling | 0x400000, signaling | 0x400000, 0x80000000]
    most = [two, two, one, one, signaling | 0x400000, signaling | 0x400000, 0]
    assert scalar("gfx1150", "s_min_f32", a, b).tolist() == least
    assert scalar("gfx1150", "s_max_f32", a, b).tolist() == most
    halves = [np.array(x, dtype=np.uint32) for x in ([0x3C00, 0x7C01, 0x7E00], [0x4000, 0x3C00, 0x4000])]
    assert scalar("gfx1150", "s_min_f16", *halves).tolist() == [0x3C00, 0x7E01, 0x4000]
    assert scalar("gfx1150", "s_max_f16", *halves).tolist() == [0x4000, 0x7E01, 0x4000]
