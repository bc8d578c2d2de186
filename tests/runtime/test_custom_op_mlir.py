"""CustomOp whose kernels are functions in MLIR, which IREE compiles for the CPU; and how builders are used alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from custom_op_support import registered

from wave_runtime.compat.op_reg import (
    CustomOp,
    FreeFuncKernelBuilder,
    KernelBuilder,
    KernelSelection,
    TensorArg,
    _generated,
)
from wave_runtime.compat.op_reg._selection import EagerKernelSelection
from wave_runtime.compat.op_reg.impl_helper import JinjaTemplateLoader, StrFormatTemplateLoader, call_function

pytestmark = pytest.mark.needs("iree")


class Identity(CustomOp):
    signature = "identity@UNIQUE@(Tensor a) -> Tensor"

    def select(self, sel: KernelSelection) -> None:
        sel.return_tensor(sel.arg_tensor(0).t)

    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> None:
        kb.yield_results(kb.arg_bindings[0])


class Sum(CustomOp):
    """a + b + n * c, of whatever is given."""

    signature = "sum@UNIQUE@(Tensor a, Tensor[] b, int n=1, Tensor? c=None, str how='add') -> Tensor"

    def select(self, sel: KernelSelection) -> None:
        a = sel.arg_tensor(0)
        terms = sel.arg_tensor_list(1)
        sel.arg_int(2)
        c = sel.arg_optional_tensor(3)
        sel.attr_str(4)
        terms.spec_dims = [list(t.shape) for t in terms.ts]
        for desc in (a, *([] if c is None else [c]), sel.return_new_tensor(list(a.t.shape), a.t.dtype)):
            desc.specialize_all_dims()

    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> None:
        from iree.compiler.dialects import arith, tensor
        from iree.compiler.ir import IntegerType

        total, terms, n = (kb.arg_value(index) for index in range(3))
        for term in terms:
            total = arith.addi(total, term)
        if ksel.arg_descs[3].maybe_tensor_value is not None:
            factor = arith.trunci(IntegerType.get_signless(32), n)
            factors = tensor.FromElementsOp(total.type, [factor] * 4).result
            total = arith.addi(total, arith.muli(kb.arg_value(3), factors))
        kb.yield_results(total)


def test_registration_dispatch_and_cache() -> None:
    op, _ = registered(Identity)
    before = _generated.kernel_count()
    assert op(torch.empty(1, 3, device="meta")).shape == (1, 3)
    assert _generated.kernel_count() == before
    for tensor, kernels in (
        (torch.tensor([[1, 2, 3]], dtype=torch.int32), 1),
        (torch.tensor([[1, 2, 3, 4]], dtype=torch.int32), 1),
        (torch.tensor([[1, 2, 3]], dtype=torch.int16), 2),
        (torch.tensor([1, 2, 3], dtype=torch.int16), 3),
        (torch.randn(6, 4)[::2].bfloat16(), 4),
    ):
        result = op(tensor)
        assert torch.equal(result, tensor)
        assert result.data_ptr() != tensor.data_ptr()
        assert _generated.kernel_count() == before + kernels


def test_compiled_and_exported() -> None:
    op, _ = registered(Identity)
    a = torch.randn(5)
    assert torch.equal(torch.compile(lambda a: op(a) + 1, fullgraph=True, backend="aot_eager")(a), a + 1)

    class Model(torch.nn.Module):
        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return op(a) + 1

    assert torch.equal(torch.export.export(Model(), (a,)).module()(a), a + 1)
    torch.library.opcheck(op.default, (a,))


def test_lists_optional_arguments_and_integers() -> None:
    op, _ = registered(Sum)
    a, b, c = (torch.randint(0, 100, (4,), dtype=torch.int32) for _ in range(3))
    assert torch.equal(op(a, [b, c]), a + b + c)
    assert torch.equal(op(a, [b], 3, c), a + b + 3 * c)
    assert torch.equal(op(a, [b], 5, c), a + b + 5 * c)


@pytest.mark.parametrize("is_contiguous", [True, False])
def test_in_place(is_contiguous: bool) -> None:
    class swap(Identity):
        signature = "swap@UNIQUE@(Tensor(a!) a, Tensor(b!) b) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            a = sel.arg_tensor(0, inplace_tied=True)
            sel.arg_tensor(1, inplace_tied=True)
            sel.return_tensor(a.t)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> None:
            a, b = kb.arg_bindings
            kb.yield_results(a, b, a)  # results first, then what is written, in the order in which it was declared

    op, _ = registered(swap)
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    if not is_contiguous:
        a = a.T.contiguous().T
    old_a, old_b, versions = a.clone(), b.clone(), (a._version, b._version)
    result = op(a, b)
    assert torch.equal(result, old_a)
    assert torch.equal(a, old_b)
    assert torch.equal(b, old_a)
    assert a._version > versions[0]
    assert b._version > versions[1]


def test_single_dispatch() -> None:
    class fused(Identity):
        single_dispatch = True

    op, _ = registered(fused)
    assert torch.equal(op(torch.ones(3)), torch.ones(3))


class Declared(CustomOp):
    signature = "declared@UNIQUE@(Tensor a, Tensor? b, int n, str s, Tensor[] ts) -> (Tensor, Tensor)"

    def select(self, sel: KernelSelection) -> None:
        sel.arg_tensor(0).specialize_dims(0, -1)
        sel.arg_optional_tensor(1)
        sel.arg_int(2)
        sel.attr_str(3)
        sel.arg_tensor_list(4)
        sel.return_new_tensor([2, 3], torch.float16).specialize_all_dims()
        sel.return_tensor(torch.empty(4))

    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> None:
        raise NotImplementedError


def selection() -> EagerKernelSelection:
    _, op = registered(Declared)
    a, b = torch.empty(2, 5, 3), torch.empty(4, dtype=torch.int8)
    found = EagerKernelSelection(op, [a, None, 7, "text", [a, b]])
    op.select(found)
    return found


def test_free_function() -> None:
    builder = FreeFuncKernelBuilder.create_module(selection(), func_name="f")
    kinds = "(tensor<2x?x3xf32>, i64, tensor<?x?x?xf32>, tensor<?xi8>) -> (tensor<2x3xf16>, tensor<?xf32>)"
    assert str(builder.symbol_table["f"].attributes["function_type"].value) == kinds
    assert builder.arg_value(0) == builder.arg_bindings[0]
    assert len(builder.arg_value(3)) == 2
    with pytest.raises(AssertionError, match=r"Out of range access to kernel arg. Expected 0..4. Got 4"):
        builder.arg_value(4)
    with pytest.raises(AssertionError, match="No `Value` is available for arg 2"):
        builder.arg_value(2)
    with pytest.raises(AssertionError, match="Mismatched yielded results and declared\\+inplace: Expected=2, Got=1"):
        builder.yield_results(builder.arg_value(0))


def test_free_function_of_a_context() -> None:
    from iree.compiler.ir import Context, Location

    context = Context()
    _, op = registered(Identity)
    found = EagerKernelSelection(op, [torch.empty(3)])
    op.select(found)
    builder = FreeFuncKernelBuilder.create_module(found, context=context, is_public=False)
    assert builder.context == context
    with builder.ip, Location.unknown(context):
        assert "value = 5 : index" in str(builder.constant_index(5).owner)
    builder.yield_results(builder.arg_value(0))
    assert f"func.func private @{op.name}(%arg0: tensor<?xf32>)" in str(builder.module_op)
    with pytest.raises(AssertionError, match="yield_results has already been called"):
        builder.yield_results(builder.arg_value(0))


def test_nothing_is_yielded() -> None:
    class silent(Identity):
        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> None:
            pass

    op, _ = registered(silent)
    with pytest.raises(
        AssertionError, match=r"generate\(\) of 'identity\d+' returned no launch, and called no kb.yield"
    ):
        op(torch.ones(3))


TEMPLATE = """
module {{
  util.func private @double_{name}(%a: {type}) -> {type} {{
    %0 = util.call @helper(%a) : ({type}) -> {type}
    util.return %0 : {type}
  }}
  util.func private @helper(%a: {type}) -> {type} {{
    %0 = arith.{operation} %a, %a : {type}
    util.return %0 : {type}
  }}
}}
"""


@pytest.mark.parametrize("loader", ["str", "jinja"])
def test_templates(loader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them, whose private functions bear the same name."""
    folder = tmp_path / f"templates_of_{loader}"
    (folder / "templates").mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    text = TEMPLATE
    if loader == "jinja":
        for name in ("name", "type", "operation"):
            text = text.replace(f"{{{name}}}", f"<<{name}>>")
        text = text.replace("{{", "{").replace("}}", "}").replace("<<", "{{ ").replace(">>", " }}")
    (folder / "templates" / "double.mlir").write_text(text)
    (folder / "templates" / "wrong.mlir").write_text("\nTHIS IS NONE")
    templates: Any = (
        StrFormatTemplateLoader(f"{folder.name}.ops") if loader == "str" else JinjaTemplateLoader(folder.name)
    )

    class calls(Identity):
        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> None:
            if ksel.arg_descs[0].maybe_tensor_value.dtype == torch.int8:
                templates.inline_template_function(kb, "wrong", "f")
            value = kb.arg_value(0)
            for name, operation in (("add", "addf"), ("multiply", "mulf"), ("add", "addf")):
                function = templates.inline_template_function(
                    kb, "double", f"double_{name}", name=name, type=value.type, operation=operation
                )
                (value,) = call_function(function, value)
            kb.yield_results(value)

    op, _ = registered(calls)
    a = torch.randn(10)
    assert torch.equal(op(a), 2 * (2 * a) ** 2)
    with pytest.raises(
        RuntimeError, match=r"Error parsing generated op template:\n(.|\n)*error:(.|\n)* 2: THIS IS NONE"
    ):
        op(torch.ones(3, dtype=torch.int8))


def test_a_dtype_that_mlir_lacks() -> None:
    with pytest.raises(KeyError, match=r"MLIR has no type for torch.float4_e2m1fn_x2"):
        _ = TensorArg(torch.empty(1, dtype=torch.float4_e2m1fn_x2)).mlir_type_asm
