"""Kernels with atomic operations on LDS: a histogram, a minimum over waves, and additions to rows chosen by index.

The DSL's atomics need an allocation of LDS, so each kernel is one workgroup's.
"""

from functools import partial

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE

from ._rows import WAVE, Builders, Built, M, N

I, J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)  # noqa: E741


def lds_histogram(count: int, bins: int) -> Built:
    """How often each of the numbers below ``bins`` occurs among ``count``."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=WAVE, waves_per_block=(1, 1, 1), vector_shapes={N: count, M: bins}),
        tkw.WorkgroupConstraint(N, N, 0),
        tkw.WorkgroupConstraint(M, M, 1),
        tkw.WaveConstraint(N, N),
        tkw.WaveConstraint(M, M),
    ]
    bin_of = tkw.IndexMapping(
        num_iterators=1,
        inputs={M: tkw.IndexMapping.dynamic_val(0)},
        outputs={M: I},
        dynamic_val_mappings={M: I},
    )

    @tkw.wave(constraints)
    def lds_histogram(
        values: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, tkl.i32], counts: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32]
    ) -> None:
        value = tkw.read(values, elements_per_thread=1)
        bins = tkw.allocate(shape=(M,), distributed_shape=(M,), dtype=tkl.i32)
        tkw.write(tkl.Register[M, tkl.i32](0), bins)
        one = tkl.Register[M, tkl.i32](1)
        tkw.atomic_add(one, bins, mapping=bin_of, mapping_dynamic_vals=(value,), elements_per_thread=1)
        tkw.write(tkw.read(bins), counts)

    return lds_histogram, {"subs": {N: count, M: bins}, "minimize_shared_allocs": False}


def column_min(waves: int) -> Built:
    """Each row of B is the minimum of A's rows, one of each wave."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=WAVE, vector_shapes={M: 1, N: WAVE}),
        tkw.WorkgroupConstraint(M, waves, 1),
        tkw.WorkgroupConstraint(N, WAVE, 0),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, WAVE),
    ]
    from_shared = tkw.IndexMapping(num_iterators=2, inputs={M: 0 * I, N: J}, outputs={M: I, N: J})
    to_shared = tkw.IndexMapping(num_iterators=2, inputs={M: I, N: J}, outputs={M: 0 * I, N: J})

    @tkw.wave(constraints)
    def column_min(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32]
    ) -> None:
        least = tkw.allocate(
            shape=(M, N), distributed_shape=(1, WAVE), dtype=tkl.i32, address_space=SHARED_ADDRESS_SPACE
        )
        tkw.write(tkl.Register[M, N, tkl.i32](2**31 - 1), least, mapping=to_shared)
        tkw.shared_memory_barrier()
        tkw.atomic_min(tkw.read(a), least, mapping=from_shared)
        tkw.write(tkw.read(least, mapping=from_shared), b)

    return column_min, {"subs": {M: waves, N: WAVE}, "minimize_shared_allocs": False}


def scatter_add(rows: int, columns: int) -> Built:
    """B[index[i, j], j] += a[i, j], as Tensor.scatter_add."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=WAVE, waves_per_block=(1, 1, 1), vector_shapes={M: WAVE, N: columns}),
        tkw.WorkgroupConstraint(M, rows, 0),
        tkw.WorkgroupConstraint(N, columns, 1),
        tkw.WaveConstraint(M, rows),
        tkw.WaveConstraint(N, columns),
    ]
    same = tkw.IndexMapping(num_iterators=2, inputs={M: I, N: J}, outputs={M: I, N: J})

    @tkw.wave(constraints)
    def scatter_add(
        a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
        index: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        x = tkw.read(a, elements_per_thread=columns)
        rows_of = tkw.read(index, elements_per_thread=columns)
        sums = tkw.allocate((M, N), (rows, columns), tkl.f32, SHARED_ADDRESS_SPACE)
        tkw.write(tkl.Register[M, N, tkl.f32](0.0), sums, elements_per_thread=columns)
        tkw.scatter_add(x, rows_of, dim=0, memory=sums, mapping=same, elements_per_thread=columns)
        done = tkw.read(sums, elements_per_thread=columns, mapping=same)
        tkw.write(done, b, elements_per_thread=columns, mapping=same)

    return scatter_add, {"subs": {M: rows, N: columns}, "minimize_shared_allocs": False}


KERNELS: Builders = {
    "lds_histogram_64x4": partial(lds_histogram, 64, 4),
    "column_min_i32_4x64": partial(column_min, 4),
    "scatter_add_f32_64x4": partial(scatter_add, 64, 4),
}
