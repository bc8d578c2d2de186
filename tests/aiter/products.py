"""Matrix products: csrc/py_itfs_cu/asm_gemm_*.cu and asm_a8w8_blockscale_bpreshuffle.cu."""

from __future__ import annotations

import torch
from launches import Launch, Row, shuffled


def shuffled_scales(scales: torch.Tensor) -> torch.Tensor:
    """[m, k / 32], m padded to 256 and k to 8 * 32, in the order that shuffle_scale gives them."""
    m, n = scales.shape
    padded = torch.full((-(-m // 256) * 256, -(-n // 8) * 8), 127, dtype=torch.uint8)
    padded[:m, :n] = scales
    rows, columns = padded.shape
    return padded.view(rows // 32, 2, 16, columns // 8, 2, 4).permute(0, 3, 5, 2, 4, 1).reshape(rows, columns)


def bf16_product(row: Row) -> Launch:
    """asm_gemm_a16w16.cu: A [m, k] times B [n, k] transposed. Some kernels divide k among workgroups."""
    m, n, k, split = int(row["tileM"]), int(row["tileN"]), 256, 1 + int(row["splitK"])
    a, b, d = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16(), torch.zeros(m, n, dtype=torch.bfloat16)
    semaphores = torch.zeros(1024, dtype=torch.int32)
    strides = [2 * n, 0, 2 * n, 0, 2 * k, 0, 2 * k, 0]  # of D, C, A, B in bytes
    arguments = [d, 0, a, shuffled(b, row["bPreshuffle"]), 1.0, 0.0, *strides, m, n, k, split, 1, 0, 0, semaphores]
    return Launch(arguments, (1, 1, split), (d,), a.float() @ b.float().T, (semaphores,))


def i8_product(row: Row) -> Launch:
    """asm_gemm_a8w8.cu: with a scale for each row of A and each of B."""
    m, n, k = int(row["tile_m"]), int(row["tile_n"]), 256
    a, b = (torch.randint(-128, 128, (rows, k), dtype=torch.int8) for rows in (m, n))
    a_scales, b_scales, bias = torch.rand(m, 1), torch.rand(1, n), torch.randn(1, n)
    c = torch.zeros(m, n, dtype=torch.bfloat16)
    arguments = [c, a, shuffled(b, row["bpreshuffle"]), a_scales, b_scales, bias, m, n, k, k, k, 2 * n, 1]
    return Launch(arguments, (1, 1, 1), (c,), a.float() @ b.float().T * a_scales * b_scales + bias)


def fp8_product(row: Row) -> Launch:
    """asm_a8w8_blockscale_bpreshuffle.cu: with a scale for 128 of a row of A, and for 128 x 128 of B."""
    dtype = torch.float8_e4m3fnuz if row["processor"] == "gfx942" else torch.float8_e4m3fn
    m, n, k = int(row["tile_m"]), int(row["tile_n"]), 512
    a, b = (torch.randn(rows, k).to(dtype) for rows in (m, n))
    a_scales, b_scales, c = torch.rand(m, k // 128), torch.rand(n // 128, k // 128), torch.zeros(m, n).bfloat16()
    arguments = [c, a, shuffled(b, row["bpreshuffle"]), a_scales.T.contiguous(), b_scales, torch.zeros(n)]
    arguments += [m, n, k, k, k, 2 * n, 1, m, n // 128, k // 128]
    x = a.float() * a_scales.repeat_interleave(128, 1)
    y = b.float() * b_scales.repeat_interleave(128, 0).repeat_interleave(128, 1)
    return Launch(arguments, (1, 1, 1), (c,), x @ y.T)


FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def fp4_product(row: Row) -> Launch:
    """asm_gemm_a4w4.cu: with a scale for 32 of each row of A and B."""
    m, n, k = int(row["tile_M"]), int(row["tile_N"]), 512
    codes = [torch.randint(256, (rows, k // 2), dtype=torch.uint8) for rows in (m, n)]
    scales = [torch.randint(124, 131, (rows, k // 32), dtype=torch.uint8) for rows in (m, n)]
    x, y = (
        FP4[torch.stack([code & 15, code >> 4], -1).flatten(1).int()]
        * torch.exp2(scale.float() - 127).repeat_interleave(32, 1)
        for code, scale in zip(codes, scales, strict=True)
    )
    d, (a_scales, b_scales) = torch.zeros(m, n).bfloat16(), map(shuffled_scales, scales)
    arguments = [d, 0, codes[0], shuffled(codes[1], row["bpreshuffle"]), 1.0, 0.0, 0, 0, n, 0, k, 0, k, 0, m, n, k]
    arguments += [a_scales, b_scales, a_scales.shape[1], 0, b_scales.shape[1], 0, 0]
    return Launch(arguments, (1, 1, 1), (d,), x @ y.T)
