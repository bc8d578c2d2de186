"""What CustomOp.generate makes, and what its launches are given: in place, lists, attributes, sources. No IREE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from custom_op_support import BASICS, Counted, add_launch, registered
from runtime_support import ADD_SIGNATURE, SCALE, blocks

import wave_runtime
from wave_runtime.compat.launchable import Launchable
from wave_runtime.compat.op_reg import KernelBuilder, KernelLaunch, KernelSelection


def test_eager_execute() -> None:
    class negative(Counted):
        signature = "negative(Tensor a, bool by_hand=True) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            sel.attr_int(1)
            sel.return_tensor(sel.arg_tensor(0).t)

        def eager_execute(self, a: torch.Tensor, by_hand: bool) -> Any:
            return -a if by_hand else NotImplemented

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
            self.generated += 1
            return lambda a, by_hand, b: b.copy_(a).neg_()

    op, instance = registered(negative)
    a = torch.randn(5)
    assert torch.equal(op(a), -a)
    assert instance.generated == 0
    assert torch.equal(op(a, by_hand=False), -a)
    assert instance.generated == 1


class Increment(Counted):
    """Adds to an argument, in place."""

    signature = "increment@UNIQUE@(Tensor(a!) a, Tensor b) -> ()"

    def select(self, sel: KernelSelection) -> None:
        sel.arg_tensor(0, inplace_tied=True)
        sel.arg_tensor(1)

    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
        add = add_launch()
        return lambda a, b: add(a.clone(), b, a)


@pytest.mark.parametrize("is_contiguous", [True, False])
def test_in_place(is_contiguous: bool) -> None:
    op, _ = registered(Increment)
    a, b = torch.randn(20, 30), torch.randn(20, 30)
    if not is_contiguous:
        a = a.T.contiguous().T
    expected, version = a + b, a._version
    assert op(a, b) is None
    assert torch.equal(a, expected)
    assert a._version > version  # else a backward pass would take what it saved of a before

    def model(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        op(a, b)
        return a * 2

    assert torch.equal(torch.compile(model, fullgraph=True, backend="aot_eager")(a.clone(), b), (expected + b) * 2)
    torch.library.opcheck(op.default, (a, b))


def test_in_place_and_returned() -> None:
    class increment_(Increment):
        signature = "increment_(Tensor(a!) a, Tensor b) -> Tensor(a!)"

    op, _ = registered(increment_)
    a, b = torch.randn(100), torch.randn(100)
    expected = a + b
    assert op(a, b) is a
    assert torch.equal(a, expected)


@pytest.mark.needs("clang")
def test_sources_for_attributes_and_variants() -> None:
    """HIP source, a kernel for each value of an attribute, and one for each variant that select() names."""

    class power(Counted):
        signature = "power(Tensor a, int exponent, float factor=1.0) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            a = sel.arg_tensor(0)
            exponent = sel.attr_int(1)
            sel.attr_float(2)
            sel.variant = "zero" if exponent.v == 0 else "default"
            sel.return_tensor(a.t)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> KernelLaunch:
            self.generated += 1
            exponent, factor = (desc.v for desc in ksel.arg_descs[1:])
            product = "*".join(["FACTOR", *["a[i]"] * exponent])
            assert ksel.variant == ("default" if exponent else "zero")
            return KernelLaunch(
                SCALE.replace("factor * a[i]", product),
                defines={"FACTOR": factor},
                arguments=lambda a, exponent, factor, b: (a, b, 0.0, a.numel()),
                grid=blocks,
                block=256,
            )

    op, instance = registered(power)
    a = torch.randint(-9, 9, (1000,)).float()
    for exponent, factor in ((3, 2.0), (0, 1.0), (3, 2.0)):
        expected = torch.full_like(a, factor)
        for _ in range(exponent):
            expected = expected * a
        assert torch.equal(op(a, exponent, factor), expected)
    assert instance.generated == 2


@pytest.mark.needs("clang")
@pytest.mark.parametrize("form", ["assembly", "module", "code object", "any function"])
def test_what_generate_may_return(form: str) -> None:
    source = "\n".join(["""extern "C" __global__ void one(int* a) { a[threadIdx.x] = 1; }""", ""])
    module = wave_runtime.compile(source)

    class ones(Counted):
        signature = "ones@UNIQUE@(int n, Tensor like) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            sel.return_new_tensor([sel.arg_int(0).v], sel.arg_tensor(1).t.dtype)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
            assert (kb.device, kb.target) == (torch.device("cpu"), "gfx942")
            if form == "any function":
                return lambda n, like, a: module["one"](a, grid=1, block=n)
            code: Any = {"assembly": FILL, "module": module, "code object": module.images["gfx942"]}[form]
            return KernelLaunch(
                code,
                language="asm" if form == "assembly" else None,
                signature="*i32" if form != "module" else None,
                arguments=lambda n, like, a: (a,),
                grid=1,
                block=lambda n, like, a: n,
            )

    op, _ = registered(ones)
    assert op(64, torch.empty(0, dtype=torch.int32)).tolist() == [1] * 64


FILL = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl one
.p2align 8
.type one,@function
one:
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  v_mov_b32_e32 v1, 1
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.size one, .-one
.rodata
.p2align 6
.amdhsa_kernel one
  .amdhsa_kernarg_size 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 2
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: one
    .symbol: one.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 2
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
.end_amdgpu_metadata
"""


@pytest.mark.needs("clang")
def test_default_arguments() -> None:
    """All arguments and results, those in lists one by one, without those that are missing."""

    class add_list(Counted):
        signature = "add_list(Tensor[] terms, Tensor? missing=None) -> (Tensor?, Tensor)"

        def select(self, sel: KernelSelection) -> None:
            terms = sel.arg_tensor_list(0).ts
            sel.arg_optional_tensor(1)
            sel.maybe_return_tensor(None)
            sel.return_tensor(terms[0])

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> KernelLaunch:
            source = """extern "C" __global__ void add(const float* a, const float* b, float* c) {
              c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
            }"""
            return KernelLaunch(source, grid=1, block=64)

    op, _ = registered(add_list)
    a, b = torch.randn(64), torch.randn(64)
    assert torch.equal(op([a, b])[1], a + b)


def test_a_launchable() -> None:
    """It takes tensors and integers, and makes the results."""

    class add_first(Counted):
        signature = "add_first(Tensor a, str how, Tensor b, int n) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            sel.attr_str(1)
            sel.arg_tensor(2)
            sel.arg_int(3)
            sel.return_tensor(sel.arg_tensor(0).t)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Launchable:
            return Launchable.from_code_object(
                BASICS,
                "vector_add",
                signature=ADD_SIGNATURE,
                results=lambda a, b, n: torch.zeros_like(a),
                arguments=lambda a, b, n, c: (a, b, c, n),
                grid=blocks,
                block=256,
            )

    op, _ = registered(add_first)
    assert op(torch.ones(5), "how", torch.ones(5), 3).tolist() == [2, 2, 2, 0, 0]


def test_lists_and_optional_tensors() -> None:
    class total(Counted):
        signature = "total(Tensor[] terms, Tensor? more=None, int[] signs=[]) -> (Tensor, Tensor?)"

        def select(self, sel: KernelSelection) -> None:
            terms = sel.arg_tensor_list(0)
            more = sel.arg_optional_tensor(1)
            sel.attr_list_int(2)
            sel.return_tensor(terms.ts[0])
            sel.maybe_return_tensor(None if more is None else more.t)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
            self.generated += 1

            def launch(terms: list[torch.Tensor], more: Any, signs: list[int], result: Any, doubled: Any) -> None:
                assert all(term.is_contiguous() for term in terms)
                torch.sum(torch.stack(terms), 0, out=result)
                assert (more is None) == (doubled is None)
                if more is not None:
                    torch.mul(more, 2, out=doubled)

            return launch

    op, instance = registered(total)
    a = torch.randn(4, 6)
    result, nothing = op([a, a.T.contiguous().T])
    assert torch.equal(result, a + a)
    assert nothing is None

    def model(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        total, _ = op([a, a[::2].repeat(2, 1)])
        return total, *op([a], a.view(-1), [a.size(0), 2])

    traced = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    for size in (4, 8):
        wide = torch.randn(size, 6)
        assert all(map(torch.equal, traced(wide), model(wide)))
    before = instance.generated
    result, doubled = op([a, a], a.view(-1), [1, 2])
    assert torch.equal(doubled, 2 * a.view(-1))
    assert instance.generated == before + 1
