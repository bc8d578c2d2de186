"""A program that writes a kernel in FlyDSL, as for a GPU: test_flydsl.py runs it where one is emulated."""

from __future__ import annotations

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch

THREADS = 64


@flyc.kernel
def add_twice(a: fx.Tensor, b: fx.Tensor, out: fx.Tensor, copy: fx.TiledCopy):
    """out = a + 2 b, four elements for each work-item; those beyond the end are masked."""
    size = out.shape.unpack()
    tile = copy.tile_mn
    mine = copy.get_slice(fx.thread_idx.x)

    def part(tensor):
        return mine.partition_S(fx.flat_divide(tensor, tile)[None, None, fx.block_idx.x, 0])

    places = part(fx.make_view((0, 0), fx.make_identity_layout(size)))[(0, None), None, None]
    inside = fx.make_fragment_like(places, dtype=fx.Boolean)
    for i in fx.range_constexpr(fx.size(inside.shape).unpack()):
        inside[i] = fx.elem_less(places[i], size)
    atom = fx.make_copy_atom(fx.UniversalCopy128b(), fx.Float32)
    sources = [part(a), part(b)]
    registers = [fx.make_fragment_like(source) for source in sources]
    for source, register in zip(sources, registers, strict=True):
        fx.copy(atom, source, register, pred=inside)
    registers[0].store(registers[0].load() + registers[1].load() + registers[1].load())
    fx.copy(atom, registers[0], part(out), pred=inside)


@flyc.jit
def launch(a: fx.Tensor, b: fx.Tensor, out: fx.Tensor, stream: fx.Stream):
    """Launch it, with a workgroup for each THREADS rows."""
    copy = fx.make_tiled_copy_tv(
        fx.make_copy_atom(fx.UniversalCopy128b(), fx.Float32),
        fx.make_ordered_layout((THREADS, 1), order=(1, 0)),
        fx.make_ordered_layout((1, 4), order=(0, 1)),
    )
    rows, _ = out.shape.unpack()
    grid = ((rows + THREADS - 1) // THREADS, 1, 1)
    add_twice(a, b, out, copy).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


def main() -> None:
    """Run it on rows that are no multiple of a workgroup's."""
    a, b = (torch.randn(150, 4, device="cuda") for _ in range(2))
    out = torch.zeros(150, 4, device="cuda")
    launch(a, b, out, stream=torch.cuda.Stream())
    torch.cuda.synchronize()
    torch.testing.assert_close(out, a + 2 * b)
    print("right on", torch.cuda.get_device_properties(0).gcnArchName)


main()
