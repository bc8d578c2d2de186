"""Waves of 64 lanes on RDNA: what crosses from one half of the wave to the other, beside NumPy."""

from __future__ import annotations

import numpy
import pytest
from support import first_or_long

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

LANES, BLOCK = 64, 192
TARGETS = first_or_long(["gfx1030", "gfx1100", "gfx1201", "gfx942", "gfx1151"], 3)
WIDTHS = [2, 4, 8, 16, 32, 64]
DELTAS = [1, 5, 31, 32, 40, 63]
TYPES = {"double": "f8", "char": "i1", "short": "i2", "int": "i4"}

OTHERS = """
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void reductions(const int* in, long* out) {
  const int i = threadIdx.x, lane = __lane_id(), x = in[i];
  const auto wave = cg::tiled_partition<64>(cg::this_thread_block());
  out[i] = cg::reduce(wave, x, cg::plus<int>());
  out[192 + i] = cg::inclusive_scan(wave, x, cg::plus<int>());
  out[2 * 192 + i] = wave.shfl_xor(x, 32);
  out[3 * 192 + i] = __match_any_sync(~0ull, x);
  out[4 * 192 + i] = wave.match_any(x);
  out[5 * 192 + i] = __reduce_add_sync(~0ull, x);
  int same;
  out[6 * 192 + i] = __match_all_sync(~0ull, lane == 63 ? x : in[63 - lane & 31], &same) + same;
  if (x & 1) {
    const auto some = cg::coalesced_threads();
    out[7 * 192 + i] = cg::reduce(some, i, cg::plus<int>());
    out[8 * 192 + i] = some.shfl(i, some.size() - 1);
  }
}
__global__ void some(const int* in, int* out) {
  const int i = threadIdx.x, lane = __lane_id(), x = in[i];
  if (lane % 3 == 0) out[i] = __shfl(x, 63 - lane);  // 63 - 3 k
  if (lane == 5 || lane == 44) out[192 + i] = __shfl(x, 49 - lane);
}
"""

Array = numpy.ndarray
LANE = numpy.arange(BLOCK) % LANES
FIRST = numpy.arange(BLOCK) - LANE


def compile(source: str, target: str) -> wave_runtime.Module:
    options = [] if target.startswith("gfx9") else ["-mwavefrontsize64"]
    return wave_runtime.compile(source, target=target, options=options, cache=False)


def shuffles() -> dict[str, Array]:
    """Calls, and which lane of the wave each lane has its value of."""
    sources: dict[str, Array] = {"__shfl(x, 7 * lane + 3)": (7 * LANE + 3) % LANES}
    for width in WIDTHS:
        begin = LANE & ~(width - 1)
        sources[f"__shfl(x, 63 - lane, {width})"] = begin | ((63 - LANE) & (width - 1))
        for delta in DELTAS:
            up, down, other = LANE - delta, LANE + delta, LANE ^ delta
            end = LANE | (width - 1)
            sources[f"__shfl_up(x, {delta}, {width})"] = numpy.where(up < begin, LANE, up)
            sources[f"__shfl_down(x, {delta}, {width})"] = numpy.where(down > end, LANE, down)
            sources[f"__shfl_xor(x, {delta}, {width})"] = numpy.where(other > end, LANE, other)
    return sources


def source_of_shuffles(name: str) -> str:
    stores = "\n".join(f"out[{k} * {BLOCK} + i] = {call};" for k, call in enumerate(shuffles()))
    return f"""__global__ void shuffles(const {name}* in, {name}* out) {{
      const int i = threadIdx.x, lane = __lane_id();
      const {name} x = in[i];
      {stores}
    }}"""


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def module(target: str) -> wave_runtime.Module:
    """With shuffles of the first type."""
    return compile(f"{OTHERS}{source_of_shuffles(next(iter(TYPES)))}", target)


@pytest.mark.parametrize("name", first_or_long(TYPES, 1))
def test_shuffles(module: wave_runtime.Module, target: str, name: str) -> None:
    calls = shuffles()
    x = numpy.random.default_rng(3).integers(-100, 100, BLOCK).astype(TYPES[name])
    out = numpy.zeros((len(calls), BLOCK), x.dtype)
    program = module if name == next(iter(TYPES)) else compile(source_of_shuffles(name), target)
    program["shuffles"](x, out.reshape(-1), grid=1, block=BLOCK)
    for got, (call, lanes) in zip(out, calls.items(), strict=True):
        assert numpy.array_equal(got, x[FIRST + lanes]), call


def test_some_lanes_are_not_active(module: wave_runtime.Module) -> None:
    """Each lane that runs takes the value of another one that does, of the half across, too."""
    x = numpy.random.default_rng(4).integers(-1000, 1000, BLOCK, "i4")
    out = numpy.full((2, BLOCK), -1, "i4")
    module["some"](x, out.reshape(-1), grid=1, block=BLOCK)
    expected = numpy.full_like(out, -1)
    expected[0] = numpy.where(LANE % 3 == 0, x[FIRST + 63 - LANE], -1)
    pair = (LANE == 5) | (LANE == 44)
    expected[1, pair] = x[(FIRST + 49 - LANE)[pair]]
    assert numpy.array_equal(out, expected)


def test_reductions_and_matches(module: wave_runtime.Module) -> None:
    x = numpy.random.default_rng(5).integers(0, 5, BLOCK, "i4")
    out = numpy.zeros((9, BLOCK), "i8")
    module["reductions"](x, out.reshape(-1), grid=1, block=BLOCK)
    waves, odd = x.reshape(-1, LANES), (x & 1).reshape(-1, LANES) == 1
    bits = numpy.uint64(1) << numpy.arange(LANES, dtype="u8")
    same = ((waves[:, :, None] == waves[:, None, :]) * bits).sum(-1, dtype="u8").astype("i8").reshape(-1)
    total = numpy.repeat(waves.sum(1), LANES)
    i = numpy.arange(BLOCK).reshape(-1, LANES)
    assert numpy.array_equal(out[0], total)
    assert numpy.array_equal(out[1], waves.cumsum(1).reshape(-1))
    assert numpy.array_equal(out[2], x[numpy.arange(BLOCK) ^ 32])
    assert numpy.array_equal(out[3], same)
    assert numpy.array_equal(out[4], same)
    assert numpy.array_equal(out[5], total)
    assert (out[6] == 0).all()
    assert numpy.array_equal(out[7], numpy.where(odd, (i * odd).sum(1, keepdims=True), 0).reshape(-1))
    assert numpy.array_equal(out[8], numpy.where(odd, (i * odd).max(1, keepdims=True), 0).reshape(-1))
