"""KernelSelection and its descriptors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from custom_op_support import LIBRARY, Counted, registered

from wave_runtime.compat.op_reg import (
    AttrArg,
    CustomOp,
    EmptyOptionalTensorArg,
    IntArg,
    KernelSelection,
    TensorArg,
    TensorListArg,
)
from wave_runtime.compat.op_reg._selection import EagerKernelSelection


def selection(*args: Any) -> tuple[EagerKernelSelection, CustomOp]:
    _, op = registered(Counted)
    return EagerKernelSelection(op, args), op


def test_spec_key() -> None:
    a = torch.empty(2, 3)
    found, op = selection(a, 7, "text", None, [a, a.int()], 5)
    assert found.op is op
    assert found.variant == "default"
    found.arg_tensor(0)
    found.arg_int(1)
    found.attr_str(2)
    assert found.arg_optional_tensor(3) is None
    found.arg_tensor_list(4)
    found.return_new_tensor([4, 5], torch.float16)
    found.variant = "quick"
    arguments = (
        "tensor[2:torch.float32]<[None, None]>,int<None>,attr<text>,TensorArg(None),"
        "tensor[[2, 2]:['torch.float32', 'torch.int32']]<[[None, None], [None, None]]>,None"
    )
    results = "tensor[2:torch.float16]<[None, None]>"
    assert found.spec_key == f"{LIBRARY.ns}.DEF::{op.name}::quick({arguments})->({results})"
    assert len(found.arg_descs) == 6
    assert len(found.get_provided_arg_descs()) == 5


def test_tensor() -> None:
    a = torch.empty(2, 5, 3, dtype=torch.bfloat16)
    desc = selection(a)[0].arg_tensor(0)
    assert isinstance(desc, TensorArg)
    assert desc.t is a is desc.maybe_tensor_value
    assert (desc.ir_arity, desc.is_list, desc.spec_dims) == (1, False, [None, None, None])
    assert desc.mlir_type_asm == "tensor<?x?x?xbf16>"
    desc.specialize_dims(0, -1)
    assert desc.spec_dims == [2, None, 3]
    assert desc.mlir_type_asm == "tensor<2x?x3xbf16>"
    desc.specialize_all_dims()
    assert desc.spec_dims == [2, 5, 3]
    assert desc.spec_key == "tensor[3:torch.bfloat16]<[2, 5, 3]>"
    meta = desc.generate_meta()
    assert (meta.device.type, meta.shape, meta.dtype) == ("meta", a.shape, a.dtype)
    assert TensorArg(torch.empty(())).mlir_type_asm == "tensor<f32>"


def test_results_are_contiguous() -> None:
    """Whatever the strides of the tensor that says their shape: kernels return none other."""
    assert TensorArg(torch.empty(3, 4).T).generate_meta().is_contiguous()


def test_int() -> None:
    desc = selection(7)[0].arg_int(0)
    assert isinstance(desc, IntArg)
    assert (desc.v, desc.spec_value, desc.ir_arity, desc.is_list, desc.maybe_tensor_value) == (7, None, 1, False, None)
    assert (desc.generate_meta(), desc.mlir_type_asm) == (7, "i64")
    desc.spec_value = 7
    assert desc.spec_key == "int<7>"


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("attr_str", "a"),
        ("attr_int", 1),
        ("attr_float", 1.5),
        ("attr_list_int", [1, 2]),
        ("attr_list_float", [1.5]),
        ("attr_list_bool", [True, False]),
        ("attr_list_int", []),
    ],
)
def test_attributes(method: str, value: Any) -> None:
    desc = getattr(selection(value)[0], method)(0)
    assert isinstance(desc, AttrArg)
    assert (desc.v, desc.spec_value, desc.generate_meta()) == (value, value, value)
    assert (desc.ir_arity, desc.is_list, desc.maybe_tensor_value) == (0, False, None)
    assert desc.spec_key == f"attr<{value}>"
    with pytest.raises(AssertionError, match="Cannot resolve `mlir_type_asm` for an AttrArg"):
        _ = desc.mlir_type_asm


def test_list_of_tensors() -> None:
    tensors = [torch.empty(2), torch.empty(3, 4, dtype=torch.int64)]
    desc = selection(tensors)[0].arg_tensor_list(0)
    assert isinstance(desc, TensorListArg)
    assert (desc.ir_arity, desc.is_list, desc.spec_dims) == (2, True, [[None], [None, None]])
    assert desc.mlir_type_asm == ["tensor<?xf32>", "tensor<?x?xi64>"]
    assert [meta.shape for meta in desc.generate_meta()] == [(2,), (3, 4)]
    assert desc.maybe_tensor_value == desc.ts


def test_optional_tensor() -> None:
    a = torch.empty(3)
    found, _ = selection(None, a)
    assert found.arg_optional_tensor(0) is None
    given = found.arg_optional_tensor(1)
    assert isinstance(given, TensorArg)
    empty = found.arg_descs[0]
    assert isinstance(empty, EmptyOptionalTensorArg)
    assert (empty.ir_arity, empty.is_list, empty.maybe_tensor_value, empty.generate_meta()) == (0, False, None, None)
    assert found.get_provided_arg_descs() == [given]


def test_results() -> None:
    found, _ = selection()
    assert found.generate_meta_returns() is None
    found.return_tensor(torch.empty(2))
    assert found.generate_meta_returns().shape == (2,)
    found.return_new_tensor((3, 4), torch.int8)
    found.maybe_return_tensor(None)
    first, second, third = found.generate_meta_returns()
    assert (first.shape, second.shape, second.dtype, third) == ((2,), (3, 4), torch.int8, None)


def test_in_place() -> None:
    found, _ = selection(torch.empty(1), torch.empty(2), torch.empty(3))
    third = found.arg_tensor(2, inplace_tied=True)
    found.arg_tensor(1)
    first = found.arg_tensor(0, inplace_tied=True)
    assert found.inplace_tied_arg_descs == [third, first]


@pytest.mark.parametrize(
    ("method", "value", "text"),
    [
        ("arg_tensor", 1, "Expected tensor, got <class 'int'>"),
        ("arg_optional_tensor", 1, "Expected tensor, got <class 'int'>"),
        ("arg_tensor_list", torch.empty(1), "Expected list, got <class 'torch.Tensor'>"),
        ("arg_int", 1.5, "Expected int, got <class 'float'>"),
        ("attr_str", 1, "Expected str, got <class 'int'>"),
        ("attr_int", "a", "Expected int, got <class 'str'>"),
        ("attr_float", 1, "Expected float, got <class 'int'>"),
        ("attr_list_int", 1, "Expected list, got <class 'int'>"),
        ("attr_list_int", [1.5], "Expected list of int, got element type of <class 'float'>"),
        ("attr_list_float", [1.5, 1], "Expected list of float, got element type of <class 'int'>"),
        ("attr_list_bool", [1], "Expected list of bool, got element type of <class 'int'>"),
    ],
)
def test_errors(method: str, value: Any, text: str) -> None:
    found, _ = selection(torch.empty(1), value)
    with pytest.raises(AssertionError, match=f"Argument type mismatch from Torch for 1: {text}"):
        getattr(found, method)(1)
    found.arg_tensor(0)
    for again in (found.arg_tensor, found.arg_optional_tensor):
        with pytest.raises(AssertionError, match="Already constrained argument 0"):
            again(0)


def test_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        KernelSelection(selection()[1], 1)  # type: ignore[abstract]
    with pytest.raises(TypeError, match="abstract"):
        CustomOp(library=LIBRARY, dispatch_key=None, register_meta=True, register_impl=True)  # type: ignore[abstract]
