"""Tests as wave-lang's own are: run by test_wave_lang.py with our plugin, which makes them work without a GPU."""

from typing import Any  # no annotations from __future__: the DSL reads them as objects

import pytest
import torch
import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.iree_utils import generate_iree_ref
from wave_lang.kernel.wave.utils.run_utils import get_default_arch, set_default_run_config
from wave_lang.kernel.wave.utils.torch_utils import device_randn, device_zeros

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE


def compiled(kernel: Any, subs: dict[Any, Any], **options: Any) -> Any:
    settings = WaveCompileOptions(subs=subs, canonicalize=True, **options)
    return wave_compile(set_default_run_config(settings), kernel)


def scale_and_shift(columns: int = 96) -> Any:
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: columns}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(N, columns, 0),
        tkw.WaveConstraint(M, 1),
    ]

    @tkw.wave(constraints)
    def scale_and_shift(
        a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32],
        scale: tkl.f32,  # type: ignore[valid-type]
        shift: tkl.f32,  # type: ignore[valid-type]
        b: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32],
    ) -> None:
        res = tkw.read(a) * tkw.broadcast(scale, target_shape=[M, N]) + tkw.broadcast(shift, target_shape=[M, N])
        tkw.write(res, b)

    return scale_and_shift


def matmul(block: int = 32) -> Any:
    constraints = [
        tkw.WorkgroupConstraint(M, block, 0),
        tkw.WorkgroupConstraint(N, block, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, block // 2),
        tkw.WaveConstraint(N, block // 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16),
    ]

    @tkw.wave(constraints)
    def matmul(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return matmul


def accumulate() -> Any:
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 64}),
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WaveConstraint(M, 64),
    ]

    @tkw.wave(constraints)
    def accumulate(
        a: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32],
        total: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32],
        before: tkl.Memory[M, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ) -> None:
        tkw.write(tkw.atomic_add(tkw.read(a), total), before)

    return accumulate


def test_default_arch() -> None:
    assert get_default_arch() == "gfx942"


def test_scalars_and_dynamic_dimensions() -> None:
    run = compiled(scale_and_shift(), {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}, dynamic_symbols=[M, N])
    a = torch.randn(5, 100, device="cuda")
    b = torch.zeros((5, 100)).cuda()
    run(a, 2.0, 3.0, b)
    torch.testing.assert_close(b, a * 2 + 3)


@pytest.mark.parametrize("dynamic", [False, True])
def test_matmul_and_reference(dynamic: bool) -> None:
    """Two kernels of different names in one process; references that IREE computes."""
    a, b = device_randn((70, 64), dtype=torch.float16), device_randn((33, 64), dtype=torch.float16)
    c, reference = device_zeros((70, 33), dtype=torch.float32), device_zeros((70, 33), dtype=torch.float32)
    sizes = {} if dynamic else {M: 70, N: 33, K: 64}
    options = {"dynamic_symbols": [M, N, K]} if dynamic else {}
    run = compiled(matmul(), {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, **sizes}, **options)
    run(a, b, c)
    generate_iree_ref("mmt", [a, b], [reference], run.options)
    torch.testing.assert_close(c, reference, atol=1e-3, rtol=1e-3)


def test_outputs_that_are_not_contiguous_are_refused() -> None:
    """Where wave-lang's own caller copies them, launches with the copy and forgets it."""
    run = compiled(scale_and_shift(), {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}, dynamic_symbols=[M, N])
    a = torch.randn(100, 5).T
    with pytest.raises(ValueError, match=r"tensors\[1\]: expected a contiguous tensor, given shape \[5, 100\]"):
        run(a, 2.0, 3.0, torch.zeros(100, 5).T)
    b = torch.zeros(5, 100)
    run(a, 2.0, 3.0, b)  # inputs are copied
    torch.testing.assert_close(b, a * 2 + 3)


def test_known_failure() -> None:
    """Listed by test_wave_lang.py."""
    raise AssertionError("as expected")
