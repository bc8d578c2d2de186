"""Programs for gfx1030, gfx1100 and gfx1201, in waves of 32 lanes and of 64 (kernels/waves.hip), beside torch."""

from __future__ import annotations

import itertools
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import rdna_machine
import torch
from random_kernels import harness
from support import first_or_long

import wave_runtime
from wave_runtime import _C

FOLDER = Path(__file__).parent
CORPUS = FOLDER.parent / "code_object/corpus"
SIGNATURES = {
    "vector_add": "*f32 const, *f32 const, *f32, i32",
    "sum_in_lds": "*f32 const, *f32, i32",
    "sum_in_waves": "*i32 const, *i32",
    "sum_in_rows": "*i32 const, *i32",
    "matmul": "*f32 const, *f32 const, *f32, i32",
    "matmul_tiled": "*f32 const, *f32 const, *f32, i32",
    "collatz": "*i32 const, *i32, i32",
    "histogram": "*i32 const, *i32, i32",
    "ids": "*i32, *i32",
    "permute_in_scratch": "*i32 const, *i32",
    "halves": "*f16 const, *f16 const, *f16, i32",
    "uniform": "*f32 const, *f32, f32, i32",
    "uniform_halves": "*f16 const, *f16, f16, i32",
    "extremes": "*f32, f32, f32",
    "functions": "*f32 const, *f32, f32",
    "quotients": "*f64 const, *f64 const, *f64",
    "chosen": "*f32 const, *f32, i32, i32",
    "matrix": "*f16 const, *f32",  # in waves of 32 alone, of those that have such products
    "halves_of_waves": "*i32 const, *i32",  # in waves of 64 alone
}
TARGETS = ("gfx1030", "gfx1100", "gfx1201")
SINCE_RDNA3 = ("gfx1100", "gfx1201")


def signatures(lanes: int, target: str) -> dict[str, str]:
    absent = {"halves_of_waves" if lanes == 32 else "matrix", *(["matrix"] if target not in SINCE_RDNA3 else [])}
    return {name: text for name, text in SIGNATURES.items() if name not in absent}


def load(lanes: int, target: str) -> wave_runtime.Module:
    return wave_runtime.load(FOLDER / f"kernels/wave{lanes}_{target}.hsaco", signature=signatures(lanes, target))


@pytest.fixture(params=list(itertools.product((32, 64), TARGETS)), ids=lambda param: f"wave{param[0]}-{param[1]}")
def kernels(request: pytest.FixtureRequest) -> wave_runtime.Module:
    return load(*request.param)


def integers(count: int, limit: int = 1000) -> torch.Tensor:
    return torch.randint(1, limit, (count,), dtype=torch.int32)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1000])
def test_vector_add(kernels: wave_runtime.Module, n: int) -> None:
    a, b, c = torch.rand(n), torch.rand(n), torch.full((n + 3,), 7.0)
    kernels["vector_add"](a, b, c, n, grid=-(-n // 256), block=256)
    assert torch.equal(c, torch.cat([a + b, torch.full((3,), 7.0)]))


def test_reductions(kernels: wave_runtime.Module) -> None:
    values = integers(1000).float()  # whose sums are exact
    sums = torch.zeros(4)
    kernels["sum_in_lds"](values, sums, 1000, grid=4, block=256)
    assert torch.equal(sums, torch.nn.functional.pad(values, (0, 24)).view(4, 256).sum(1))
    given, out = integers(192), torch.zeros(192, dtype=torch.int32)
    kernels["sum_in_waves"](given, out, grid=3, block=64)
    assert torch.equal(out.view(6, 32), given.view(6, 32).sum(1, keepdim=True).int().expand(6, 32))
    kernels["sum_in_rows"](given, out, grid=1, block=32)
    assert torch.equal(out[:32], given[:32].sum().int().expand(32))


@pytest.mark.parametrize(("name", "n"), [("matmul", 21), ("matmul_tiled", 48)])
def test_matrix_products(kernels: wave_runtime.Module, name: str, n: int) -> None:
    a, b, c = torch.rand(n, n), torch.rand(n, n), torch.zeros(n, n)
    blocks = -(-n // 16)
    kernels[name](a, b, c, n, grid=(blocks, blocks), block=(16, 16))
    torch.testing.assert_close(c, a @ b)


def test_divergence(kernels: wave_runtime.Module) -> None:
    given, out = integers(100, 10000), torch.zeros(100, dtype=torch.int32)
    kernels["collatz"](given, out, 100, grid=2, block=64)
    for start, steps in zip(given.tolist(), out.tolist(), strict=True):
        for _ in range(steps):
            start = 3 * start + 1 if start % 2 else start // 2
        assert start == 1


def test_atomics(kernels: wave_runtime.Module) -> None:
    given, bins = integers(500), torch.zeros(16, dtype=torch.int32)
    kernels["histogram"](given, bins, 500, grid=4, block=128)
    assert torch.equal(bins, torch.bincount(given & 15, minlength=16).int())


def test_ids_and_lanes(kernels: wave_runtime.Module) -> None:
    """45 work-items are two waves, of which the second has 13 lanes."""
    out, masks = torch.zeros(24, 45, dtype=torch.int32), torch.zeros(24, 2, dtype=torch.int32)
    kernels["ids"](out, masks, grid=(2, 3, 4), block=(5, 3, 3))
    wanted = [
        x | y << 4 | z << 8 | i << 12 | j << 16 | k << 20
        for k in range(4) for j in range(3) for i in range(2) for z in range(3) for y in range(3) for x in range(5)
    ]  # fmt: skip
    assert out.flatten().tolist() == wanted
    assert torch.equal(masks, torch.tensor([[-1, 2**13 - 1]], dtype=torch.int32).expand(24, 2))


def test_scratch(kernels: wave_runtime.Module) -> None:
    values, order = integers(8), torch.randperm(8).int()
    out = torch.zeros(40, 8, dtype=torch.int32)
    kernels["permute_in_scratch"](torch.cat([values, order]), out, grid=1, block=40)
    wanted = torch.empty(8, dtype=torch.int32)
    wanted[order.long()] = values
    assert torch.equal(out, wanted + torch.arange(40, dtype=torch.int32)[:, None])


def test_halves(kernels: wave_runtime.Module) -> None:
    a, b, out = torch.randn(64).half(), torch.randn(64).half(), torch.zeros(64).half()
    kernels["halves"](a, b, out, 64, grid=1, block=64)
    assert torch.equal(out, torch.where(a * b + 0.5 > 1, a - b, a + b * 3))


@pytest.mark.parametrize(("scale", "n"), [(0.75, 6), (-1.5, 3), (1e-30, 2)])
def test_what_lanes_have_alike(kernels: wave_runtime.Module, scale: float, n: int) -> None:
    given, out = torch.rand(32), torch.zeros(32)
    kernels["uniform"](given, out, scale, n, grid=1, block=32)
    total = torch.tensor(0.25) * n
    for _ in range(n):
        total = total * torch.tensor(scale) + 1.5
    assert torch.equal(out, given + (total if total > 10 else -total) + total.trunc())


@pytest.mark.parametrize(("scale", "n"), [(0.75, 6), (-1.5, 3), (6e-8, 2), (3000.0, 9)])
def test_halves_that_lanes_have_alike(kernels: wave_runtime.Module, scale: float, n: int) -> None:
    given, out = torch.rand(32).half(), torch.zeros(32).half()
    kernels["uniform_halves"](given, out, scale, n, grid=1, block=32)
    half = partial(torch.tensor, dtype=torch.float16)
    total = least = half(0.25) * half(n)
    for _ in range(n):
        total = total * half(scale) - half(1.5)
        least = total + half(0.125) if total < least else least
    chosen = total.floor() if total != least else -total
    assert torch.equal(out, given + (chosen + (torch.tensor(0.1) * least.float()).half()))


def test_functions_and_rounding(kernels: wave_runtime.Module) -> None:
    given, out, x = torch.arange(1, 33).float(), torch.zeros(64), 2.75
    kernels["functions"](given, out, x, grid=1, block=32)
    assert torch.equal(out[:32], torch.nextafter(given, torch.tensor(torch.inf)))
    wanted = x**0.5 + 1 / x + x**-0.5 + 2**x + np.log2(x)
    torch.testing.assert_close(out[32:], torch.full((32,), float(wanted)), rtol=1e-6, atol=0)


def test_minima_and_maxima_of_scalars(kernels: wave_runtime.Module) -> None:
    values = [1.5, -2.0, 0.0, -0.0, torch.inf, -torch.inf, torch.nan]
    for x, y in itertools.product(values, values):
        out, a, b = torch.zeros(4), torch.tensor(x), torch.tensor(y)
        kernels["extremes"](out, x, y, grid=1, block=32)
        zeros = x == y == 0
        expected = [torch.fmin(a, b), torch.fmax(a, b), torch.minimum(a, b), torch.maximum(a, b)]
        assert torch.equal(out.nan_to_num(7), torch.stack(expected).nan_to_num(7)), (x, y)
        if zeros:
            assert [math.copysign(1, value) for value in out] == [
                min(math.copysign(1, x), math.copysign(1, y)),
                max(math.copysign(1, x), math.copysign(1, y)),
            ] * 2


@pytest.mark.parametrize(("read", "write"), [(0, 15), (15, 0), (7, 7), (3, 12)])
def test_registers_relative_to_m0(kernels: wave_runtime.Module, read: int, write: int) -> None:
    given, out = torch.randn(16, 32), torch.zeros(16, 32)
    kernels["chosen"](given, out, read, write, grid=1, block=32)
    given[write] = given[read] + 1
    assert torch.equal(out, given)


def test_denormal_quotients_are_rounded_once(kernels: wave_runtime.Module) -> None:
    """Near the smallest normal number rounding to 53 bits leaves about half of them between two denormals."""
    rng = np.random.default_rng(0)
    a = np.ldexp(rng.uniform(1, 2, 6400), rng.integers(-1026, -1021, 6400))
    b = rng.uniform(1, 2, 6400) * rng.choice([-1, 1, 2.0**30], 6400)
    out = torch.zeros(6400, dtype=torch.float64)
    kernels["quotients"](torch.from_numpy(a), torch.from_numpy(b), out, grid=100, block=64)
    assert np.array_equal(out.numpy(), a / b)
    assert np.count_nonzero(np.abs(a / b) < 2.0**-1022) > 4000


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_not_implemented_is_named(target: str) -> None:
    word = rdna_machine.rows(target)["s_code_end"]["match"]
    with pytest.raises(wave_runtime.KernelFault, match="s_code_end is not implemented"):
        rdna_machine.run(target, [word], rdna_machine.State(1, 32))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("gfx1030", (0xF0000F08, 0x00020004)),
        ("gfx1100", (0xF0000F04, 0x00020004)),
        ("gfx1201", (0xD3C00001, 0x00000804, 0)),
    ],
)
def test_images_are_refused_by_name(target: str, words: tuple[int, ...]) -> None:
    with pytest.raises(wave_runtime.KernelFault, match="image_load is not implemented: images, of textures") as caught:
        rdna_machine.run(target, words, rdna_machine.State(1, 32))
    assert caught.value.instruction == "image_load ..."


@pytest.mark.parametrize("target", SINCE_RDNA3)
def test_matrix(target: str) -> None:
    """All rows of A and columns of B are alike, and so are the sums."""
    values, c = torch.randint(-3, 4, (32,)).half(), torch.rand(256).round()
    wanted = c + (values[:16] * values[16:]).sum() if target == "gfx1100" else c + 2 * (values[:8] * values[8:16]).sum()
    load(32, target)["matrix"](values, c, grid=1, block=32)
    assert torch.equal(c, wanted)


@pytest.mark.parametrize("target", SINCE_RDNA3)
def test_halves_of_vopd_exchange_registers(target: str) -> None:
    """Both read their sources before either writes."""
    row = rdna_machine.rows(target)["v_dual_mov_b32 :: v_dual_mov_b32"]
    bits, places = row["match"], _C.isa_fields(target)["VOPD"]
    for name, value in {"VDSTX": 2, "SRCX0": 256 + 5, "VDSTY": 5 // 2, "SRCY0": 256 + 2}.items():
        bits |= value << places[name][0]
    state = rdna_machine.State(1, 32)
    state.v[:] = np.arange(state.v.size, dtype=np.uint32).reshape(state.v.shape)
    after = rdna_machine.run(target, [bits & 0xFFFFFFFF, bits >> 32], state)
    assert np.array_equal(after.v[0, [2, 5]], state.v[0, [5, 2]])


@pytest.mark.parametrize("target", TARGETS)
def test_halves_of_waves(target: str) -> None:
    """DS_BPERMUTE reaches the other half on gfx1201 alone: GCNSubtarget.h of LLVM, supportsWaveWideBPermute."""
    given, out = integers(64), torch.zeros(7, 64, dtype=torch.int32)
    load(64, target)["halves_of_waves"](given, out, grid=1, block=64)
    swapped, odd = given.roll(32), given & 1
    wanted = [
        swapped,
        swapped if target == "gfx1201" else given,
        given[40].expand(64),
        odd.sum().int().expand(64),
        odd.cumsum(0).int() - odd,
        torch.where((torch.arange(64) % 3 == 0) & (given > 500), 1, -1).int(),
        given.sum().int().expand(64),
    ]
    for found, expected in zip(out, wanted, strict=True):
        assert torch.equal(found, expected)


def test_the_descriptor_says_how_many_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    for lanes, target in itertools.product((32, 64), TARGETS):
        test_vector_add(load(lanes, target), 100)
        found = _C.emulator_statistics()
        assert found["wave_lanes"] == lanes
        assert found["waves"] == 256 // lanes


def with_ignored_bits_set(binary: bytes, target: str) -> bytes:
    """The binary with ones wherever the hardware does not look."""
    ignored = {(row["format"], row["opcode"]): row["ignored"] for row in _C.isa_rows(target)}
    image, changed = _C.CodeObject(binary).data, bytearray(binary)
    assert image == binary
    for segment in _C.CodeObject(binary).describe()["segments"]:
        if segment["executable"]:
            at, size = segment["file_offset"], segment["file_size"] // 4 * 4
            for address, piece, _ in _C.disassemble(target, image[at : at + size]):
                if decoded := _C.decode(target, piece):
                    ones = ignored[decoded["format"], decoded["opcode"]].to_bytes(8, "little")[: len(piece)]
                    for i, byte in enumerate(ones):
                        changed[at + address + i] |= byte
    return bytes(changed)


@pytest.mark.parametrize("target", TARGETS)
def test_ignored_bits(target: str) -> None:
    """What assemblers put where no operand stands differs: LLVM 24 has the constant 0 in SRC2 of two sources."""
    binary = (FOLDER / f"kernels/wave32_{target}.hsaco").read_bytes()
    changed = with_ignored_bits_set(binary, target)
    assert changed != binary
    kernels = wave_runtime.load(changed, signature=signatures(32, target))
    test_vector_add(kernels, 33)
    test_reductions(kernels)
    test_matrix_products(kernels, "matmul_tiled", 48)
    test_divergence(kernels)
    test_atomics(kernels)
    test_ids_and_lanes(kernels)
    test_halves(kernels)


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [None, 64])
@pytest.mark.parametrize("number", first_or_long(range(2), 1))
def test_random_kernels(target: str, lanes: int | None, number: int, tmp_path: Path) -> None:
    """As in test_random_kernels.py: the same as on the host, in every bit."""
    seed = f"{target}{number}" if lanes is None else f"{target}wave{lanes}{number}"
    assert harness.check(seed, tmp_path, [["-O2"], ["-O1"]][number], target, lanes) == []
