"""define_op in eager mode: the schema, what a call runs, and the errors."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from operators_support import add, add_out, launch_add, vector_add
from support import Watch
from torch import Tensor
from torch._inductor.utils import fresh_cache

import wave_runtime


def test_result_and_schema() -> None:
    a, b = torch.randn(500), torch.randn(500)
    assert torch.equal(add(a, b), a + b)
    assert torch.equal(add(a, b=b), a + b)
    assert torch.equal(torch.ops.wave_test.add(a, b), a + b)
    assert add.overload is torch.ops.wave_test.add.default
    assert add.name == "wave_test::add"
    assert str(add.overload._schema) == 'wave_test::add(Tensor a, Tensor b, *, str fingerprint="") -> Tensor'
    schema = 'wave_test::add_out(Tensor a, Tensor b, *, Tensor(a2!) out, str fingerprint="") -> ()'
    assert str(add_out.overload._schema) == schema
    assert add.__doc__ == "A + B."


def test_scalars_and_lists() -> None:
    @wave_runtime.define_op("wave_test::sum_of")
    def sum_of(tensors: list[Tensor], times: int = 1, scale: float = 0.5, negate: bool = False) -> list[Tensor]:
        total = tensors[0] * (-scale if negate else scale)
        for tensor in tensors[1:] * times:
            out = torch.empty_like(total)
            launch_add(total, tensor, out)
            total = out
        return [total, total + 1]

    a, b = torch.randn(300), torch.randn(300)
    for call in (sum_of, lambda *args, **keywords: sum_of.overload(*args, **keywords)):
        torch.testing.assert_close(call([a, b])[0], a / 2 + b)
        torch.testing.assert_close(call([a, b], 2, 1.0)[1], a + b + b + 1)
        torch.testing.assert_close(call([a, b], negate=True)[0], b - a / 2)


def test_plain_calls_do_not_reach_the_dispatcher(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = torch.randn(500), torch.randn(500)
    weight = torch.nn.Parameter(b)
    calls: list[str] = []
    monkeypatch.setattr(add, "overload", lambda *args, fingerprint: calls.append(fingerprint))
    add(a, b)
    with torch.no_grad():
        add(a, weight)
    with torch.inference_mode():
        add(a, b)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        add(a, b)
    assert calls == []
    add(a, weight)
    assert calls == [add.fingerprint]


def test_modes_see_the_operator() -> None:
    a, b = torch.randn(500), torch.randn(500)
    with Watch() as watch:
        result = add(a, b)
    assert watch.seen == ["wave_test.add.default"]
    assert torch.equal(result, a + b)


@pytest.mark.parametrize("reach", ["straight", "operator"])
def test_writes_are_told_to_autograd(reach: str) -> None:
    a, b, out = torch.randn(500), torch.randn(500), torch.zeros(500)
    version = out._version
    if reach == "straight":
        add_out(a, b, out=out)
    else:
        add_out.overload(a, b, out=out)
    assert torch.equal(out, a + b)
    assert out._version > version
    assert (a._version, b._version) == (0, 0)


def test_a_tensor_given_twice_once_to_be_written_raises_before_the_launch() -> None:
    a, b = torch.randn(500), torch.randn(500)
    before = a.clone()
    with pytest.raises(ValueError, match="shares memory with argument"):
        add_out(a, b, out=a)
    with pytest.raises(ValueError, match="shares memory with argument"):
        add_out.overload(a, b, out=a)
    assert torch.equal(a, before)


def nothing(a: Tensor) -> Tensor:
    a.clone()  # the return is forgotten
    return None  # type: ignore[return-value]


def a_pair(a: Tensor) -> Tensor:
    return a.clone(), a.clone()  # type: ignore[return-value]


def one_of_two(a: Tensor) -> tuple[Tensor, Tensor]:
    return a.clone()  # type: ignore[return-value]


def a_triple(a: Tensor) -> tuple[Tensor, Tensor]:
    return a.clone(), a.clone(), a.clone()  # type: ignore[return-value]


def something(a: Tensor) -> None:
    return a.clone()  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (nothing, "expected a tensor, as its type hints say, its body returned None"),
        (a_pair, "expected a tensor, as its type hints say, its body returned tuple of 2"),
        (one_of_two, "expected a tuple of 2 tensors, as its type hints say, its body returned (?:Fake)?Tensor"),
        (a_triple, "expected a tuple of 2 tensors, as its type hints say, its body returned tuple of 3"),
        (something, "expected nothing, as its type hints say, its body returned (?:Fake)?Tensor"),
    ],
)
def test_results_that_are_not_as_declared_raise(body: Callable[..., Any], error: str) -> None:
    op = wave_runtime.define_op(f"wave_test::returns_{body.__name__}")(body)
    for call in (op, op.overload, torch.compile(lambda a: op(a), backend="eager")):
        with pytest.raises(Exception, match=rf"operator 'wave_test::returns_{body.__name__}': {error}: change"):
            call(torch.zeros(4))


def test_a_result_that_shares_memory_with_an_argument_raises() -> None:
    @wave_runtime.define_op("wave_test::shares")
    def shares(a: Tensor) -> Tensor:
        return a[1:]

    message = "operator 'wave_test::shares' returned a tensor that shares memory with an argument"
    with pytest.raises(ValueError, match=message):
        shares(torch.zeros(4))
    with pytest.raises(ValueError, match=message):
        shares.overload(torch.zeros(4))
    with pytest.raises(ValueError, match=message):
        shares(torch.zeros(4, device="meta"))


@pytest.mark.parametrize("results", ["same", "view"])
def test_results_that_share_memory_raise(results: str) -> None:
    """Compiled code would change one of them where eager mode changes both."""

    @wave_runtime.define_op("wave_test::results_share")
    def results_share(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        c = torch.empty_like(a)
        launch_add(a, b, c)
        return c, a + 1, c if results == "same" else c[:2]

    a, b = torch.zeros(4), torch.zeros(4)
    message = "operator 'wave_test::results_share' returned results 0 and 2, which share memory.*return a clone"
    for call in (results_share, results_share.overload, torch.compile(results_share, backend="aot_eager")):
        with pytest.raises(Exception, match=message):
            call(a, b)
    with pytest.raises(ValueError, match=message):
        results_share(a.to("meta"), b.to("meta"))


def test_results_in_lists_that_share_memory_raise() -> None:
    @wave_runtime.define_op("wave_test::lists_share")
    def lists_share(a: Tensor) -> tuple[Tensor, list[Tensor]]:
        c = a + 1
        return c, [a + 2, c]

    with pytest.raises(ValueError, match=r"returned results 0 and 1\[1\], which share memory"):
        lists_share(torch.zeros(4))


def test_results_may_be_views_of_new_tensors() -> None:
    @wave_runtime.define_op("wave_test::view")
    def view(a: Tensor, b: Tensor) -> Tensor:
        c = a.new_empty(a.numel() + 8)
        launch_add(a, b, c[4:-4])
        return c[4:-4].view(a.shape[0], -1)

    a, b = torch.randn(20, 25), torch.randn(20, 25)
    assert torch.equal(view(a, b), a + b)
    torch.library.opcheck(view.overload, (a, b))


def test_without_data() -> None:
    a = torch.empty(500, device="meta")
    assert add(a, a).shape == (500,)
    with pytest.raises(ValueError, match="different devices"):
        add(a, torch.zeros(500))


def test_other_devices_and_dtypes() -> None:
    with pytest.raises(TypeError, match=r"kernel 'vector_add', argument 0 .*float64"):
        add(torch.zeros(4, dtype=torch.float64), torch.zeros(4))


def test_jit_trace_raises() -> None:
    with pytest.raises(RuntimeError, match=r"operator 'wave_test::add': torch\.jit\.trace is not supported"):
        torch.jit.trace(add, (torch.zeros(4), torch.zeros(4)), check_trace=False)


def test_copies_and_pickles_are_the_operator() -> None:
    assert copy.deepcopy(add) is add
    assert pickle.loads(pickle.dumps(add)) is add


def define_again(value: float) -> wave_runtime.Operator:
    @wave_runtime.define_op("wave_test::again")
    def again(a: Tensor) -> Tensor:
        return a + value

    return again


def test_defining_again_replaces() -> None:
    first, second = define_again(1.0), define_again(2.0)
    assert first.fingerprint != second.fingerprint
    assert second.overload(torch.zeros(1)).item() == 2
    with Watch():
        assert second(torch.zeros(1)).item() == 2


def test_what_was_replaced_takes_nothing_with_it() -> None:
    """Torch forgot the operator that has the name now, with all that had been said of it, when the first one ended."""
    first = define_again(1.0)
    ended = weakref.ref(first)
    second = define_again(2.0)
    del first
    gc.collect()
    assert ended() is None
    assert torch.ops.wave_test.again.default is second.overload
    with fresh_cache():
        compiled = torch.compile(lambda a: second(a) * 2, fullgraph=True)
        assert compiled(torch.zeros(1)).item() == 4


@pytest.mark.parametrize("name", ["add", "::add", "wave_test::", "wave test::add", "a::b::c"])
def test_names(name: str) -> None:
    with pytest.raises(ValueError, match=f'expected a name "namespace::name", given "{name}"'):
        wave_runtime.define_op(name)(lambda: None)


def test_a_decorator_without_a_name() -> None:
    with pytest.raises(TypeError, match=r'define_op: expected a name "namespace::name", given function: @define_op\('):

        @wave_runtime.define_op  # type: ignore[call-overload, untyped-decorator]
        def unnamed(a: Tensor) -> Tensor:
            return a.clone()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mutates": "a"}, "mutates= must be a list, given str"),
        ({"kernels": vector_add}, "kernels= must be a list, given Kernel"),
        ({"kernels": [5]}, "kernels= must be a list of kernels, given one of int"),
        ({"mutates": [5]}, "mutates= must be a list of names of parameters, given one of int"),
        ({"mutate": ["a"]}, "unexpected keyword 'mutate'; that of a function takes mutates=, inline= and kernels="),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"operator 'wave_test::wrong'.* {message}"):
        wave_runtime.define_op("wave_test::wrong", **options)


@pytest.mark.parametrize(
    ("register", "what"),
    [
        ("register_autograd", "a function"),
        ("register_backward", "a function"),
        ("register_vmap", "a function"),
        ("register_sharding", "a function"),
        ("register_autocast", "a dtype"),
    ],
)
def test_what_is_no_rule_is_refused(register: str, what: str) -> None:
    @wave_runtime.define_op("wave_test::no_rule")
    def op(a: Tensor) -> Tensor:
        return a.clone()

    message = rf"operator 'wave_test::no_rule', {register}\(\): expected {what}, given int"
    with pytest.raises(TypeError, match=message):
        getattr(op, register)(5)
    with pytest.raises(
        TypeError, match="operator 'wave_test::no_rule', setup_context=: expected a function, given int"
    ):
        op.register_autograd(print, setup_context=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"register_autocast\(\): expected a floating-point dtype, given torch.int32"):
        op.register_autocast(torch.int32)
    with pytest.raises(TypeError, match="operator 'wave_test::no_rule': expected a function, given int"):
        wave_runtime.define_op("wave_test::no_rule")(5)  # type: ignore[arg-type]


def test_definitions_that_no_schema_can_be_made_of() -> None:
    with pytest.raises(ValueError, match="Parameter a must have a type annotation"):

        @wave_runtime.define_op("wave_test::bad")
        def untyped(a) -> Tensor:  # type: ignore[no-untyped-def]
            return a

    with pytest.raises(ValueError, match=r"mutates= names \['b'\], but the parameters are \['a'\]"):

        @wave_runtime.define_op("wave_test::bad", mutates=["b"])
        def other(a: Tensor) -> None:
            pass


@pytest.mark.parametrize("name", ["aten::relu", "aten::add", "prims::add"])
def test_namespaces_of_torch_stay_its_own(name: str) -> None:
    """What torch has there refuses a second definition, or takes it for an overload of its own, which calls reach."""
    namespace = name.partition("::")[0]
    with pytest.raises(ValueError, match=f"define_op: '{name}': the namespace '{namespace}' is torch's own"):

        @wave_runtime.define_op(name)
        def copied(a: Tensor) -> Tensor:
            return a.clone()


def define_increment(name: str, mutates: tuple[str, ...] = ()) -> wave_runtime.Operator:
    """An operator whose kernel writes its argument ``b``."""

    @wave_runtime.define_op(name, mutates=mutates)
    def increment(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        launch_add(a, a, c)
        launch_add(a, c, b)
        return c

    return increment


def test_an_input_that_a_kernel_writes_must_be_declared() -> None:
    a, b = torch.ones(300), torch.zeros(300)
    message = (
        r"operator 'wave_test::undeclared' was given 'b', which kernel 'vector_add' as argument 2 'c' writes, but "
        r"mutates= does not name it.*pass mutates=\[\"b\"\]"
    )
    undeclared = define_increment("wave_test::undeclared")
    for call in (undeclared, torch.ops.wave_test.undeclared, lambda a, b: undeclared(a, b=b)):
        with pytest.raises(ValueError, match=message):
            call(a, b)
    with pytest.raises(ValueError, match=message):
        undeclared(a, torch.zeros(400)[100:])
    with pytest.raises(RuntimeError, match="but mutates= does not name it"):  # in torch's words, around ours
        torch.compile(lambda a, b: undeclared(a, b * 2), fullgraph=True)(a, b)
    assert torch.equal(b, torch.zeros(300)), "nothing ran"

    declared = define_increment("wave_test::undeclared", mutates=("b",))
    assert torch.equal(declared(a, b), 2 * a)
    assert torch.equal(b, 3 * a)


def test_an_undeclared_write_in_an_operator_within() -> None:
    inner = define_increment("wave_test::declared_inner", mutates=("b",))

    @wave_runtime.define_op("wave_test::outer")
    def outer(tensors: list[Tensor]) -> Tensor:
        return inner(tensors[0], tensors[1])

    with pytest.raises(ValueError, match="operator 'wave_test::outer' was given 'tensors', which kernel"):
        outer([torch.ones(300), torch.zeros(300)])
    a = torch.ones(300)
    launch_add(a, a, a.clone())  # no operator's body runs any more


def test_views_of_a_tensor_that_is_declared() -> None:
    both = torch.cat([torch.ones(300), torch.zeros(300)])
    declared = define_increment("wave_test::views", mutates=("b",))
    declared(both[:300], both[300:])
    assert torch.equal(both[300:], torch.full((300,), 3.0))
