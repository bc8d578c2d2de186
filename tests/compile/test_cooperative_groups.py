"""Cooperative groups and the intrinsics of waves, in waves of 64 lanes and of 32, beside NumPy."""

from __future__ import annotations

import numpy
import pytest

import wave_runtime

pytestmark = pytest.mark.usefixtures("clang")

HEAD = """
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;
"""
LANES = {"gfx90a": 64, "gfx942": 64, "gfx1030": 32, "gfx1100": 32, "gfx1201": 32}
BLOCK = 192

Array = numpy.ndarray


@pytest.fixture(scope="module", params=["gfx942", "gfx1100"])
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def kernel(name: str, body: str, given: str, result: str, count: int) -> str:
    """Runs a body for each work-item: x is its number, and out has room for `count` of its results."""
    c = {"i4": "int", "f4": "float", "f8": "double", "i8": "long"}
    return f"""
    __global__ void {name}(const {c[given]}* in, {c[result]}* all) {{
      const int i = threadIdx.x;
      const auto x = in[i];
      auto* out = all + {count} * i;
      {body}
    }}"""


def blocks_of(body: str, target: str, x: Array, *, count: int = 1, head: str = HEAD) -> Array:
    """What a body gives for each number in one workgroup."""
    out = numpy.full((x.size, count), -1, "i8")
    source = head + kernel("body", body, x.dtype.str[1:], "i8", count)
    wave_runtime.compile(source, target=target)["body"](x, out, grid=1, block=x.size)
    return out[:, 0] if count == 1 else out


def ints(seed: int = 0) -> Array:
    return numpy.random.default_rng(seed).integers(-1000, 1000, BLOCK, "i4")


TILES = [1, 2, 4, 8, 16, 32, 64]
SCANS = [("i4", 32), ("f4", 4), ("f8", 32), ("i8", 4)]


@pytest.fixture(scope="module")
def of_tiles(target: str) -> wave_runtime.Module:
    """For each size of a tile what its members exchange, and for each type sums of tiles."""
    text = HEAD
    for size in TILES:
        body = f"""const auto tile = cg::tiled_partition<{size}>(cg::this_thread_block());
        out[0] = tile.thread_rank(); out[1] = tile.size(); out[2] = tile.num_threads();
        out[3] = tile.meta_group_rank(); out[4] = tile.meta_group_size();
        out[5] = tile.shfl(x, i + 3); out[6] = tile.shfl_up(x, 3); out[7] = tile.shfl_down(x, 3);
        out[8] = tile.shfl_xor(x, {size} - 1);
        out[9] = tile.any(x > 900); out[10] = tile.all(x > -900); out[11] = tile.ballot(x > 0);
        out[12] = tile.match_any(x & 3);
        int same; out[13] = tile.match_all(x > -900, same); out[14] = same;
        tile.sync(); out[15] = tile.is_valid();"""
        if size <= LANES[target]:
            text += kernel(f"tile{size}", body, "i4", "i8", 16)
    for dtype, size in SCANS:
        body = f"""const auto tile = cg::tiled_partition<{size}>(cg::this_thread_block());
        out[0] = cg::reduce(tile, x, cg::plus<decltype(x + x)>());
        out[1] = cg::reduce(tile, x, cg::less<>()); out[2] = cg::reduce(tile, x, cg::greater<>());
        out[3] = cg::inclusive_scan(tile, x); out[4] = cg::exclusive_scan(tile, x);
        out[5] = cg::inclusive_scan(tile, x, cg::greater<>());"""
        text += kernel(f"scan_{dtype}_{size}", body, dtype, dtype, 6)
    return wave_runtime.compile(text, target=target, cache=False)


@pytest.mark.parametrize("size", TILES)
def test_tiles(of_tiles: wave_runtime.Module, target: str, size: int) -> None:
    """Their ranks, and what their members exchange: from the last to the first, beyond either end, and across."""
    x = ints()
    if size > LANES[target]:
        with pytest.raises(wave_runtime.CompileError, match="at most as many lanes as a wave"):
            blocks_of(f"cg::tiled_partition<{size}>(cg::this_thread_block()); *out = x;", target, x)
        return
    out = numpy.full((x.size, 16), -1, "i8")
    of_tiles[f"tile{size}"](x, out, grid=1, block=x.size)
    tiles, i = x.reshape(-1, size), numpy.arange(BLOCK)
    rank, first = i % size, i // size * size
    bits = numpy.uint64(1) << numpy.arange(size, dtype="u8")

    def each(values: Array) -> Array:
        return numpy.repeat(values, size).astype("i8")

    def ballot(predicate: Array) -> Array:
        return (predicate * bits).sum(-1).astype("u8")

    same = (tiles > -900).all(1) | (tiles <= -900).all(1)
    everyone = numpy.bitwise_or.reduce(bits).astype("i8")
    expected = [
        rank,
        numpy.full(BLOCK, size),
        numpy.full(BLOCK, size),
        i // size,
        numpy.full(BLOCK, BLOCK // size),
        x[first + (i + 3) % size],
        numpy.where(rank >= 3, x[i - 3], x),
        numpy.where(rank + 3 < size, x[(i + 3) % BLOCK], x),
        x[i ^ (size - 1)],
        each((tiles > 900).any(1)),
        each((tiles > -900).all(1)),
        each(ballot(tiles > 0)),
        ballot((tiles[:, :, None] & 3) == (tiles[:, None, :] & 3)).ravel(),
        each(numpy.where(same, everyone, 0)),
        each(same),
        numpy.ones(BLOCK),
    ]
    for number, column in enumerate(expected):
        assert numpy.array_equal(out[:, number], column.astype("i8")), f"out[{number}]"


@pytest.mark.parametrize(("dtype", "size"), SCANS)
def test_reductions_and_scans(of_tiles: wave_runtime.Module, size: int, dtype: str) -> None:
    """Sums of integers, so that those of floats are exact."""
    x = ints().astype(dtype)
    out = numpy.full((x.size, 6), -1, dtype)
    of_tiles[f"scan_{dtype}_{size}"](x, out, grid=1, block=x.size)
    tiles = x.reshape(-1, size)
    sums = tiles.cumsum(1, dtype=dtype)
    repeated = (numpy.repeat(values, size) for values in (tiles.sum(1, dtype=dtype), tiles.min(1), tiles.max(1)))
    expected = [*repeated, sums.ravel(), (sums - tiles).ravel(), numpy.maximum.accumulate(tiles, 1).ravel()]
    for number, column in enumerate(expected):
        assert numpy.array_equal(out[:, number], column), f"out[{number}]"


def test_operations_in_the_order_of_ranks(target: str) -> None:
    """An operation whose operands do not commute: functions i -> a * i + b, one after the other."""
    x = ints() & 7
    out = blocks_of(
        """struct Step { int a, b; };
        const auto after = [](Step first, Step then) {
          return Step{int(unsigned(then.a) * first.a), int(unsigned(then.a) * first.b + then.b)};
        };
        const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
        const Step whole = cg::reduce(tile, Step{x + 2, i}, after);
        out[0] = whole.a; out[1] = whole.b;""",
        target,
        x,
        count=2,
    )
    for tile in range(0, BLOCK, 16):
        a, b = 1, 0
        for i in range(tile, tile + 16):
            a, b = (int(x[i]) + 2) * a, (int(x[i]) + 2) * b + i
        wanted = [(value + (1 << 31)) % (1 << 32) - (1 << 31) for value in (a, b)]
        assert (out[tile : tile + 16] == wanted).all()


def groups_of(x: Array, lanes: int) -> list[list[int]]:
    """The odd ones of each wave."""
    return [[i for i in range(wave, wave + lanes) if x[i] & 1] for wave in range(0, x.size, lanes)]


def test_coalesced_threads(target: str) -> None:
    x = ints(1)
    out = blocks_of(
        """if (x & 1) {
          const auto group = cg::coalesced_threads();
          out[0] = group.size(); out[1] = group.thread_rank(); out[2] = group.shfl(x, 5); out[3] = group.shfl_up(x, 2);
          out[4] = group.shfl_down(x, 2); out[5] = group.any(x == 1); out[6] = group.all(x < 1000);
          out[7] = group.ballot(x > 0); out[8] = cg::reduce(group, x, cg::bit_xor<int>());
          out[9] = cg::inclusive_scan(group, x);
          const auto part = cg::tiled_partition(group, 5);
          out[10] = part.size(); out[11] = part.thread_rank(); out[12] = part.meta_group_rank();
          out[13] = part.meta_group_size(); out[14] = cg::reduce(part, x, cg::plus<int>());
          const auto labeled = cg::labeled_partition(group, x & 6);
          out[15] = labeled.size(); out[16] = cg::reduce(labeled, x, cg::plus<int>());
          out[17] = labeled.meta_group_rank(); out[18] = labeled.meta_group_size();
          out[19] = cg::binary_partition(group, x > 0).size();
          group.sync();
        }""",
        target,
        x,
        count=20,
    )
    for members in groups_of(x, LANES[target]):
        mine, size = x[members].astype("i8"), len(members)
        labels = mine & 6
        order = list(dict.fromkeys(labels.tolist()))
        for rank, i in enumerate(members):
            part = mine[rank // 5 * 5 : rank // 5 * 5 + 5]
            expected = [
                size,
                rank,
                mine[5 % size],
                mine[rank - 2] if rank >= 2 else x[i],
                mine[rank + 2] if rank + 2 < size else x[i],
                (mine == 1).any(),
                (mine < 1000).all(),
                sum(1 << at for at, value in enumerate(mine) if value > 0),
                numpy.bitwise_xor.reduce(mine),
                mine[: rank + 1].sum(),
                len(part),
                rank % 5,
                rank // 5,
                -(-size // 5),
                part.sum(),
                (labels == labels[rank]).sum(),
                mine[labels == labels[rank]].sum(),
                order.index(int(labels[rank])),
                len(order),
                ((mine > 0) == (mine[rank] > 0)).sum(),
            ]
            assert out[i].tolist() == [int(value) for value in expected], f"lane {i}"
    assert (out[(x & 1) == 0] == -1).all()


def test_groups_of_any_kind(target: str) -> None:
    """Functions that take a thread_group, as CUDA's examples have them, and tiles of tiles and of sizes at run time."""
    head = f"""{HEAD}
    __device__ int sum(const cg::thread_group& group, int* shared, int value) {{
      const unsigned rank = group.thread_rank();
      for (int half = group.size() / 2; half > 0; half /= 2) {{
        shared[rank] = value;
        group.sync();
        if (rank < half) value += shared[rank + half];
        group.sync();
      }}
      return value;
    }}
    __device__ int add(cg::thread_block_tile<8> tile, int x) {{ return cg::reduce(tile, x, cg::plus<int>()); }}
    """
    x = ints(2)[:128]
    out = blocks_of(
        """__shared__ int shared[128];
        const auto block = cg::this_thread_block();
        out[0] = sum(block, shared, x);
        block.sync();
        const cg::thread_group tile = cg::tiled_partition(block, 16);
        out[1] = sum(tile, shared + i / 16 * 16, x);
        const auto eight = cg::tiled_partition<8>(cg::tiled_partition<32>(block));
        out[2] = eight.meta_group_rank(); out[3] = eight.meta_group_size(); out[4] = add(eight, x);
        out[5] = cg::group_size(block); out[6] = cg::thread_rank(block); out[7] = cg::is_valid(block);
        out[8] = block.group_index().x + block.thread_index().x + block.group_dim().x + block.dim_threads().y;
        cg::sync(block);
        out[9] = cg::tiled_partition(tile, 4).thread_rank();""",
        target,
        x,
        count=10,
        head=head,
    )
    i = numpy.arange(128)
    assert out[0, 0] == x.sum()
    assert out[::16, 1].tolist() == x.reshape(-1, 16).sum(1).tolist()
    assert out[:, 2].tolist() == (i % 32 // 8).tolist()
    assert (out[:, 3] == 4).all()
    assert out[:, 4].tolist() == numpy.repeat(x.reshape(-1, 8).sum(1), 8).tolist()
    assert out[:, 5:8].tolist() == [[128, rank, 1] for rank in range(128)]
    assert out[:, 8].tolist() == (i + 129).tolist()
    assert out[:, 9].tolist() == (i % 4).tolist()


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx9-4-generic", "gfx1030", "gfx1100", "gfx1201"])
def test_a_grid_waits(target: str) -> None:
    """Each round reads what other workgroups wrote in the one before, in a grid of three extents; twice, since what
    workgroups wait with is used again."""
    source = f"""{HEAD}
    __global__ void rounds(int* values, int* out, int count) {{
      const auto grid = cg::this_grid();
      const unsigned rank = grid.thread_rank(), size = grid.size();
      for (int round = 0; round < count; ++round) {{
        values[rank] = rank * (round + 1);
        grid.sync();
        if (threadIdx.x == 0) out[round * grid.num_blocks() + grid.block_rank()] = values[(rank + size / 2) % size];
        grid.sync();
      }}
      if (rank == 0) out[count * grid.num_blocks()] = grid.is_valid();
    }}
    __global__ void alone(int* out) {{ *out = cg::this_grid().is_valid(); }}"""
    module = wave_runtime.compile(source, target=target)
    grid, block, rounds = (3, 2, 2), 64, 3
    for _ in range(2):
        values, out = numpy.zeros(12 * block, "i4"), numpy.zeros(rounds * 12 + 1, "i4")
        module["rounds"](values, out, rounds, grid=grid, block=block, cooperative=True)
        first = numpy.arange(12) * block
        other = (first + 6 * block) % (12 * block)
        assert out[:-1].tolist() == [int(rank) * (number + 1) for number in range(rounds) for rank in other]
        assert out[-1] == 1
    module["alone"](out, grid=1, block=64)
    assert out[0] == 0


def test_intrinsics_of_waves(target: str) -> None:
    """Under a mask, in a branch, of several types."""
    x, lanes = ints(3), LANES[target]
    out = blocks_of(
        """out[0] = __match_any(x & 7); int same; out[1] = __match_all(x > -2000, &same); out[2] = same;
        out[3] = __match_all(x, &same); out[4] = same;
        if (x & 1) {
          const unsigned long long odd = __activemask();
          out[5] = __reduce_add_sync(odd, x); out[6] = __reduce_min_sync(odd, x); out[7] = __reduce_max_sync(odd, x);
          out[8] = __reduce_and_sync(odd, x); out[9] = __reduce_or_sync(odd, x); out[10] = __reduce_xor_sync(odd, x);
          out[11] = __match_any_sync(odd, 0.5 * (x & 2));
        }
        out[12] = __lanemask_lt(); out[13] = __lanemask_le(); out[14] = __lanemask_gt(); out[15] = __lanemask_ge();
        out[16] = __lanemask_eq();
        const unsigned long long half = i & 16 ? 0xffff0000ffff0000 : 0x0000ffff0000ffff;
        out[17] = __reduce_add_sync(half, x);
        out[18] = __syncthreads_count(x > 0); out[19] = __syncthreads_or(x == 2000);
        out[20] = __syncthreads_and(x < 1001);
        out[21] = __syncthreads_count(x > 500);""",
        target,
        x,
        count=22,
    )
    everyone = (1 << lanes) - 1

    def bits(which: Array) -> int:
        value = sum(1 << at for at, is_set in enumerate(which) if is_set)
        return value - (value >> 63 << 64)

    def signed(value: int) -> int:
        value &= everyone
        return value - (value >> 63 << 64)

    for i in range(BLOCK):
        wave = x[i // lanes * lanes :][:lanes].astype("i8")
        lane, odd = i % lanes, wave[(wave & 1) == 1]
        half = wave[(numpy.arange(lanes) & 16) == (lane & 16)]
        expected = [bits((wave & 7) == (x[i] & 7)), signed(everyone), 1, 0, 0]
        if x[i] & 1:
            expected += [odd.sum(), odd.min(), odd.max()]
            expected += [
                operation.reduce(odd) for operation in (numpy.bitwise_and, numpy.bitwise_or, numpy.bitwise_xor)
            ]
            expected += [bits(((wave & 1) == 1) & ((wave & 2) == (x[i] & 2)))]
        else:
            expected += [-1] * 7
        below = (1 << lane) - 1
        expected += [signed(mask) for mask in (below, 2 * below + 1, ~(2 * below + 1), ~below, 1 << lane)]
        expected += [half.sum(), (x > 0).sum(), 0, 1, (x > 500).sum()]
        assert out[i].tolist() == [int(value) for value in expected], f"lane {i}"


def test_names_of_cuda(target: str) -> None:
    """The same source compiles for NVIDIA GPUs: its headers have CUDA's names here, too."""
    head = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    #include <cooperative_groups/scan.h>
    namespace cg = cooperative_groups;"""
    x = ints(4)
    body = "*out = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), x, cg::plus<int>());"
    out = blocks_of(body, target, x, head=head)
    assert out.tolist() == numpy.repeat(x.reshape(-1, 32).sum(1), 32).tolist()


@pytest.mark.parametrize("target", list(LANES))
def test_they_compile_for_all_processors(target: str) -> None:
    source = f"{HEAD}__global__ void k(int* p) {{ *p = cg::reduce(cg::coalesced_threads(), *p, cg::plus<int>()); }}"
    assert wave_runtime.compile(source, target=target).target == target
