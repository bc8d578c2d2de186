"""define_op of a kernel and expressions: what is computed, allocated and launched, and the errors."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from operators_support import BINARIES, declare_add, vector_add
from support import LoadKernel
from torch import Tensor

import wave_runtime
from wave_runtime import cdiv

BLOCKS: dict[str, Any] = {"grid": lambda a: cdiv(a.numel(), 256), "block": 256}
COUNT: dict[str, Any] = {"n": lambda a: a.numel()}

add = declare_add("wave_test::declared_add")
add_out = wave_runtime.define_op("wave_test::declared_add_out", vector_add, arguments=COUNT, **BLOCKS)


def test_result_and_schema() -> None:
    for shape in ((500,), (20, 30), (), (2, 3, 4)):
        a, b = torch.randn(shape), torch.randn(shape)
        for result in (add(a, b), add(a, b=b), add.overload(a, b)):
            assert torch.equal(result, a + b)
    assert isinstance(add, wave_runtime.Operator)
    assert str(add.overload._schema) == 'wave_test::declared_add(Tensor a, Tensor b, *, str fingerprint="") -> Tensor'
    torch.library.opcheck(add.overload, (a, b))


def test_written_inputs() -> None:
    schema = 'wave_test::declared_add_out(Tensor a, Tensor b, Tensor(a2!) c, *, str fingerprint="") -> ()'
    assert str(add_out.overload._schema) == schema
    a, b, c = torch.randn(500), torch.randn(500), torch.zeros(500)
    for version, call in enumerate((add_out, add_out.overload), start=1):
        c.detach().zero_()
        before = c._version
        assert call(a, b, c) is None
        assert torch.equal(c, a + b), version
        assert c._version == before + 1
    torch.library.opcheck(add_out.overload, (a, b, c))
    with pytest.raises(
        ValueError, match=r"operator 'wave_test::declared_add_out': .* shares memory with argument 0 'a'"
    ):
        add_out(c, b, c)


EXPRESSIONS: list[Callable[[Any, int, float], Any]] = [
    lambda a, n, x: a.shape[0] + a.shape[-1] * 3 - 1,
    lambda a, n, x: (7 - n) // 4 + 20,
    lambda a, n, x: (n - 7) % 4 + 1 % n,
    lambda a, n, x: -(-a.numel() // n),
    lambda a, n, x: cdiv(a.size(1), 16) * a.stride(0),
    lambda a, n, x: torch.sym_max(a.size()[0], torch.sym_min(n, 1000)) + torch.sym_max(3, n),
    lambda a, n, x: a.shape[1] ** 2 + 2 * len(a.shape) + a.element_size() + a.ndim + a.dim(),
    lambda a, n, x: n**3 if a.dtype == torch.float32 else n,
    lambda a, n, x: sum(a.shape) + 100 // n,
]


@pytest.mark.parametrize("index", range(len(EXPRESSIONS)))
def test_integers_come_out_as_in_python(index: int, language: LoadKernel) -> None:
    """A result's size shows what an expression gives. The grid is empty, so that nothing is launched."""
    kernel = language("argument_types", "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, a: *f32 const")
    zeros = {f"arg{i}": 0 for i in range(1, 13) if i not in (5, 12)}
    size = wave_runtime.define_op(
        "wave_test::size_of_expression",
        kernel,
        outputs={"arg0": lambda a, arg5, arg12: a.new_empty(EXPRESSIONS[index](a, arg5, arg12), dtype=torch.uint8)},
        arguments=zeros,
        grid=0,
        block=1,
    )
    for shape, n in (((5, 7), 3), ((64, 1), 64), ((300, 41), 7)):
        a = torch.zeros(shape)
        assert size(n, 0.5, a).shape == (EXPRESSIONS[index](a, n, 0.5),)


def test_scalars_and_computed_arguments_of_every_type(language: LoadKernel) -> None:
    names = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "flag", "half", "single", "twice"]
    types = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool", "f16", "f32", "f64"]
    scalars = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
    store = wave_runtime.define_op(
        "wave_test::store_arguments",
        language("argument_types", f"out: *u8, {scalars}, x: *f32 const"),
        outputs={"out": lambda x: x.new_zeros(104, dtype=torch.uint8)},
        arguments={
            "i8": lambda x: -x.shape[0],
            "u16": 65535,
            "i64": lambda x: x.numel() - (1 << 40),
            "half": lambda x: 1 / x.shape[0],
            "single": lambda x: x.shape[1] ** -0.5,
            "twice": lambda x, i32: (x.shape[1] + 0.5) * i32 - 2.0 ** x.shape[0],
        },
        grid=1,
        block=1,
    )
    schema = '(SymInt u8, SymInt i16, SymInt i32, SymInt u32, SymInt u64, SymInt flag, Tensor x, *, str fingerprint="")'
    assert schema in str(store.overload._schema)
    x = torch.zeros(3, 7)
    expected = struct.pack(
        "<b7xB7xh6xH6xi4xI4xqQ?7xe6xf4xd",
        *(-3, 200, -300, 65535, -70000, 1 << 31, 21 - (1 << 40), 1 << 62, True),
        *(1 / 3, 7**-0.5, 7.5 * -70000 - 8),
    )
    assert bytes(store(200, -300, -70000, 1 << 31, 1 << 62, True, x)[:96].tolist()) == expected
    with pytest.raises(
        ValueError, match=r"operator 'wave_test::store_arguments': .* argument 2 'u8': expected u8, .* given -1"
    ):
        store(-1, 0, 0, 0, 0, False, x)


def test_defaults(language: LoadKernel) -> None:
    scalars = "i8, i8, i16, i16, i32, i32, i64, i64, bool, f16"
    op = wave_runtime.define_op(
        "wave_test::defaults",
        language("argument_types", f"x: *u8, {scalars}, single: f32, twice: f64, n: i64"),
        arguments={f"arg{index}": 0 for index in range(1, 11)},
        defaults={"twice": 0.25, "n": 5},
        grid=1,
        block=1,
    )
    schema = (
        'wave_test::defaults(Tensor(a0!) x, float single, float twice=0.25, SymInt n=5, *, str fingerprint="") -> ()'
    )
    assert str(op.overload._schema) == schema
    for args, keywords, expected in (
        ((1.5,), {}, (1.5, 0.25, 5)),
        ((1.5,), {"n": 7}, (1.5, 0.25, 7)),
        ((2, 0.5), {"n": -7}, (2.0, 0.5, -7)),
    ):
        x = torch.zeros(104, dtype=torch.uint8)
        op(x, *args, **keywords)
        assert struct.unpack("<f4xdq", bytes(x[80:].tolist())) == expected


def test_specialised_by_rank_and_dtype() -> None:
    seen: list[tuple[int, torch.dtype]] = []

    def rows(a: Any) -> Any:
        seen.append((a.ndim, a.dtype))
        return a.new_empty(a.shape[:-1] if a.ndim > 1 else 1, dtype=torch.float32)

    kernel = wave_runtime.load(BINARIES / "row_sum_f32_256.hsaco", signature="a: *f32 const, b: *f32, m: i64")
    total = wave_runtime.define_op(
        "wave_test::row_sum",
        kernel["reduce_rows"],
        outputs={"b": rows},
        arguments={"m": lambda a: a.numel() // a.shape[-1]},
        grid=lambda a: (1, a.numel() // a.shape[-1]),
    )
    for shape in ((256,), (32, 256), (4, 8, 256), (64, 256)):
        a = torch.ones(shape)
        torch.testing.assert_close(total(a), torch.full(shape[:-1] or (1,), 256.0))
    assert seen == [(1, torch.float32), (2, torch.float32), (3, torch.float32)]


def test_empty_tensors_launch_nothing() -> None:
    for shape in ((0,), (3, 0)):
        a = torch.empty(shape)
        assert add(a, a).shape == shape


def test_several_results() -> None:
    kernel = wave_runtime.load(
        BINARIES / "topk_f16_64x2.hsaco", signature="a: *f16 const, values: *f16, indices: *i32, m: i64"
    )
    topk = wave_runtime.define_op(
        "wave_test::topk",
        kernel["topk"],
        outputs={
            "indices": lambda a: a.new_empty(a.shape[0], 2, dtype=torch.int32),
            "values": lambda a: a.new_empty((a.shape[0], 2)),
        },
        arguments={"m": lambda a: a.shape[0]},
        grid=lambda a: (1, a.shape[0]),
    )
    assert str(topk.overload._schema).endswith("-> (Tensor, Tensor)")
    a = torch.argsort(torch.rand(5, 64), dim=1).half()
    values, indices = topk(a)
    expected = a.topk(2, dim=1)
    assert torch.equal(values, expected.values)
    assert torch.equal(indices, expected.indices.int())
    torch.library.opcheck(topk.overload, (a,))


def test_zeros() -> None:
    kernel = wave_runtime.load(BINARIES / "basics.hsaco", signature={"histogram": "v: *u8 const, c: *i32, n: i32"})
    count = wave_runtime.define_op(
        "wave_test::histogram",
        kernel["histogram"],
        outputs={"c": lambda v: v.new_zeros(256, dtype=torch.int32)},
        arguments={"n": lambda v: v.numel()},
        grid=lambda v: cdiv(v.numel(), 256),
        block=256,
    )
    values = torch.randint(256, (1000,), dtype=torch.uint8)
    assert torch.equal(count(values), values.bincount(minlength=256).int())


def test_calls_run_no_python() -> None:
    a, b = torch.randn(500), torch.randn(500)
    frames: list[str] = []

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call" and "wave_runtime" in frame.f_code.co_filename:
            frames.append(frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name)

    add.overload(a, b)
    sys.setprofile(note)
    try:
        add.overload(a, b)
    finally:
        sys.setprofile(None)
    assert frames == []


def test_derivatives() -> None:
    op = declare_add("wave_test::declared_derivative")
    a, b = torch.randn(100, requires_grad=True), torch.randn(100)
    message = "operator 'wave_test::declared_derivative': a tensor requires grad, but the operator has no derivative"
    for call in (op, torch.compile(op, fullgraph=True, backend="aot_eager")):
        with pytest.raises(Exception, match=message):
            call(a, b)
    op.register_backward(lambda grad, a, b: (grad, grad))
    for call in (op, torch.compile(op, fullgraph=True, backend="aot_eager")):
        (gradient,) = torch.autograd.grad((call(a, b) * 3).sum(), a)
        assert torch.equal(gradient, torch.full((100,), 3.0))
    with torch.no_grad():
        assert not op(a, b).requires_grad


def test_other_rules() -> None:
    op = declare_add("wave_test::declared_rules")
    a, b = torch.randn(4, 100), torch.randn(4, 100)
    with pytest.raises(RuntimeError, match=r"operator 'wave_test::declared_rules' has no rule for torch\.vmap"):
        torch.vmap(op)(a, b)
    op.register_vmap(lambda info, in_dims, a, b: (op(a, b), 0))
    assert torch.equal(torch.vmap(op)(a, b), a + b)
    op.register_autocast(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(op(a.bfloat16(), b), a.bfloat16().float() + b)


def test_defined_again(recwarn: pytest.WarningsRecorder) -> None:
    ops = [
        wave_runtime.define_op(
            "wave_test::declared_again", vector_add, outputs={"c": output}, arguments=COUNT, **BLOCKS
        )
        for output in (lambda a: a.new_zeros(a.shape), lambda a: a.new_zeros(*a.shape, 2))
    ]
    a = torch.randn(6)
    assert torch.ops.wave_test.declared_again(a, a).shape == (6, 2)
    assert ops[0].fingerprint != ops[1].fingerprint

    @wave_runtime.define_op("wave_test::declared_again")
    def decorated(a: Tensor) -> Tensor:
        return a + 1

    assert torch.equal(torch.ops.wave_test.declared_again(a), a + 1)


def call_errors() -> list[Any]:
    a = torch.randn(8)
    return [
        ((a,), RuntimeError, r"wave_test::declared_add\(\) is missing value for argument 'b'"),
        ((a, 3), RuntimeError, r"declared_add\(\) Expected a value of type 'Tensor' for argument 'b'"),
        (
            (a, a.double()),
            TypeError,
            r"operator 'wave_test::declared_add': kernel 'vector_add', argument 1 'b': expected",
        ),
        (
            (a, a.view(2, 4).T),
            ValueError,
            r"'wave_test::declared_add': .* argument 1 'b': expected a contiguous tensor",
        ),
        ((a, a.to("meta")), ValueError, r"tensors on different devices"),
    ]


@pytest.mark.parametrize("index", range(len(call_errors())))
def test_wrong_calls(index: int) -> None:
    args, kind, message = call_errors()[index]
    with pytest.raises(kind, match=message):
        add(*args)


EXPRESSION_ERRORS: list[tuple[str, Any, str]] = [
    ("outputs", {"c": lambda a: a.new_empty(a.shape[0] - 100)}, "argument 2 'c': size 0 comes out as -92"),
    ("outputs", {"c": lambda a: a.new_empty(a.shape[1])}, "output 'c': tuple index out of range"),
    ("outputs", {"c": lambda a: a.new_empty(8, dtype=torch.half)}, "writes \\*f32, but .* of dtype float16"),
    ("outputs", {"c": lambda a: torch.empty_like(a)}, "output 'c': expressions cannot use empty_like"),
    ("outputs", {"c": lambda a: a.new_empty(a.shape[0] / 2)}, "output 'c': expected an int, given a float"),
    ("outputs", {"c": lambda a: a.shape}, "output 'c': expected a tensor made by"),
    ("outputs", {"c": lambda a: a.clone()}, "output 'c': expressions know no .clone of a tensor"),
    ("grid", lambda a: 1 if a.shape[0] > 5 else 2, "grid: an expression needs the value of a size"),
    ("grid", lambda a: max(a.shape[0], 5), "grid: an expression needs the value of a size"),
    ("grid", lambda a: 1 // (a.shape[0] - 8), "an expression divides by zero"),
    ("grid", lambda a: (1, 1, 1, a.shape[0]), "grid: expected 1 to 3 numbers, given 4"),
    ("grid", lambda a: "1", "grid: expected a number, given str"),
    ("grid", lambda a: -a.shape[0], "grid"),
    ("shared_memory", lambda a: (1, 2), "shared_memory: expected 1 to 1 numbers"),
    ("arguments", {"n": lambda a: a.numel() << 40}, "argument 'n'"),
    (
        "arguments",
        {"n": lambda a: a.numel() * (1 << 40)},
        "argument 3 'n': expected i32, an integer from .* given 8796093022208",
    ),
    ("arguments", {"n": lambda a: 1.5}, "argument 'n': expected an int, given a float"),
]


@pytest.mark.parametrize("index", range(len(EXPRESSION_ERRORS)))
def test_wrong_expressions(index: int) -> None:
    option, value, message = EXPRESSION_ERRORS[index]
    options: dict[str, Any] = {"outputs": {"c": lambda a: a.new_empty(a.shape)}, "arguments": COUNT, **BLOCKS}
    op = wave_runtime.define_op("wave_test::wrong_expression", vector_add, **{**options, option: value})
    a = torch.randn(8)
    with pytest.raises((TypeError, ValueError), match=f"operator 'wave_test::wrong_expression'.*{message}"):
        op(a, a)


ONE_GRID = {"grid": 1, "arguments": {"n": 1}}
DECLARATION_ERRORS: list[tuple[dict[str, Any], str]] = [
    (
        {"outputs": {"d": lambda a: a}},
        r"outputs= names \['d'\], but the kernel's parameters are \['a', 'b', 'c', 'n'\]",
    ),
    ({"outputs": {"a": lambda b: b}, **ONE_GRID}, r"argument 0 'a' \(\*f32 const\) is no result"),
    ({"outputs": {"c": lambda q: q}}, r"an expression names \['q'\], but the operator's inputs are \['a', 'b'\]"),
    ({"arguments": {"c": 1}}, "argument 2 'c' is a pointer"),
    ({"arguments": {}, "outputs": {"n": lambda a: a}}, "argument 3 'n' .* is no result"),
    ({"arguments": {}, "defaults": {"a": 1}}, r"defaults= must be of the last inputs, .* given \['a'\]"),
    ({"defaults": {"n": 1}}, "defaults= must be of the last inputs"),
    ({"block": None}, "block= is missing"),
    ({"grid": None}, r"grid= is missing \(it counts workgroups\)"),
    ({"outputs": ["c"]}, r"outputs= must be a dict from names of the kernel's parameters, \['a', .*\], given list"),
    ({"clusters": 1}, "unexpected keyword 'clusters'"),
    # What is no function is known without a call.
    ({"outputs": {"c": 5}}, "operator 'wave_test::wrong', output 'c': expected a function, given int"),
    ({"arguments": {"n": "4"}}, "operator 'wave_test::wrong', argument 'n': expected a number, given str"),
    ({"arguments": {"n": 1.5}}, "operator 'wave_test::wrong', argument 'n': expected an int, given a float"),
    ({"grid": "1"}, "operator 'wave_test::wrong', grid: expected a number, given str"),
    ({"block": (64, 1, 1, 1)}, "operator 'wave_test::wrong', block: expected 1 to 3 numbers, given 4"),
    ({"shared_memory": None}, "operator 'wave_test::wrong', shared_memory: expected a number, given NoneType"),
    ({"outputs": {"c": lambda a: a}, "defaults": {"b": 1}}, "default of 'b': a tensor has none"),
    ({"arguments": {}, "defaults": {"n": 1.5}}, "default of 'n': expected an int, given a float"),
]


@pytest.mark.parametrize("index", range(len(DECLARATION_ERRORS)))
def test_wrong_declarations(index: int) -> None:
    options, message = DECLARATION_ERRORS[index]
    with pytest.raises((TypeError, ValueError), match=message):
        wave_runtime.define_op("wave_test::wrong", vector_add, **{"arguments": COUNT, **BLOCKS, **options})


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(TypeError, match=r"operator 'wave_test::wrong': expected a kernel, .* given str"):
        wave_runtime.define_op("wave_test::wrong", "vector_add", **BLOCKS)  # type: ignore[call-overload]


def test_what_is_written_must_be_known() -> None:
    kernel = wave_runtime.load(BINARIES / "basics.hsaco")["vector_add"]
    with pytest.raises(RuntimeError, match="cannot be used as an operator: its binary does not say which pointers"):
        wave_runtime.define_op("wave_test::unknown_writes", kernel, grid=1, block=1)
