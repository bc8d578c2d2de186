"""How the kernels in the folders of AITER's hsa/ are launched, and what torch computes instead.

Arguments, grids and the order of elements are those of AITER's launchers (csrc/py_itfs_cu/asm_*.cu, csrc/cpp_itfs), of
its shuffle functions (aiter/ops/shuffle.py) and of its tests (op_tests).
"""

from __future__ import annotations

from itertools import chain

from attention import attention, tolerance_of_attention
from backward import backward
from beside import beside
from choices import choice, decoded_choices, prefilled_choices
from experts import all_experts
from first_stage import first_stage
from fp4_experts import fp4_experts
from latent import latent
from launches import cases
from paged import paged
from products import bf16_product, fp4_product, fp8_product, i8_product
from scaled_attention import all_quantized

FAMILIES = {
    "(no folder)": beside,
    "bf16gemm": cases(bf16_product),
    "f4gemm": cases(fp4_product),
    "fmha_v3_bwd": backward,
    "fmha_v3_fwd": cases(attention, tolerance_of_attention),
    "fmha_v4_fwd": all_quantized,
    "fmoe": lambda folder: chain(all_experts(folder), fp4_experts(folder)),
    "fmoe_2stages": cases(first_stage, lambda row: 2**-4 if "blockscale" in row["list"] else 2**-7),  # to FP8
    "fp8gemm_blockscale": cases(fp8_product),
    "i8gemm": cases(i8_product),
    "mla": latent,
    "pa": paged,
    "topk_per_row_decode": decoded_choices,
    "topk_per_row_prefill": prefilled_choices,
    "topksoftmax": cases(choice, lambda row: 1e-5),
}
