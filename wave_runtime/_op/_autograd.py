"""Derivatives of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from wave_runtime import _torch
from wave_runtime._op import _sharding
from wave_runtime._op._schema import tensors_in

Backward = Callable[..., Any]
SetupContext = Callable[..., None]

# Arguments as autograd.Function wants them: tensors in lists would be no inputs to it.
Layout = tuple[type | None, int]


def flatten(values: Iterable[Any]) -> tuple[list[Any], list[Layout]]:
    """The values with lists replaced by their items, and the layouts with which :func:`unflatten` undoes that."""
    flat: list[Any] = []
    layouts: list[Layout] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            flat.extend(value)
            layouts.append((type(value), len(value)))
        else:
            flat.append(value)
            layouts.append((None, 1))
    return flat, layouts


def unflatten(flat: Sequence[Any], layouts: Sequence[Layout]) -> tuple[Any, ...]:
    """The values that were flattened."""
    values = []
    start = 0
    for kind, count in layouts:
        values.append(flat[start] if kind is None else kind(flat[start : start + count]))
        start += count
    return tuple(values)


class Call:
    """A call of an operator on its way through autograd.Function."""

    def __init__(
        self, overload: _torch.OpOverload, arguments: Sequence[Any], keywords: dict[str, Any], fingerprint: str
    ) -> None:
        self.overload = overload
        self.keywords = keywords
        self.fingerprint = fingerprint
        self.flat, self.layouts = flatten(arguments)
        self.result_layout: list[Layout] = []

    def run(self, flat: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """Call the operator below autograd, and return its results, those in lists included, as one tuple."""
        with _torch.below_autograd_in_forward():
            arguments = unflatten(flat, self.layouts)
            result = self.overload(*arguments, **self.keywords, fingerprint=self.fingerprint)
        results, self.result_layout = flatten(result if isinstance(result, tuple) else (result,))
        return tuple(results)


def make_rule(
    name: str, overload: _torch.OpOverload, backward: Backward, setup_context: SetupContext | None
) -> Callable[..., Any]:
    """What the dispatcher runs for the key Autograd. The user's functions do not see the fingerprint."""

    def setup(ctx: Any, call: Call, flat: Sequence[Any], output: tuple[torch.Tensor, ...]) -> None:
        ctx.call = call
        ctx.places = [_sharding.place_of(result) for result in output]
        if setup_context is not None:
            keywords = {"keyword_only_inputs": call.keywords} if call.keywords else {}
            setup_context(ctx, unflatten(flat, call.layouts), output=one_or_all(call, output), **keywords)

    def run_backward(ctx: Any, *flat: torch.Tensor) -> tuple[Any, ...]:
        needed, layouts = ctx.needs_input_grad, ctx.call.layouts
        ctx.needs_input_grad = unflatten(needed[1:], layouts)
        try:
            of_results = _sharding.with_places(flat, ctx.places)
            result = backward(ctx, *unflatten(of_results, ctx.call.result_layout))
        finally:
            ctx.needs_input_grad = needed
        is_list_of_all = isinstance(result, list) and layouts and layouts[0][0] is None
        gradients = tuple(result) if isinstance(result, tuple) or is_list_of_all else (result,)
        if len(gradients) > len(layouts):
            raise ValueError(
                f"operator '{name}': its backward returned {len(gradients)} gradients, but it has {len(layouts)} inputs"
            )
        gradients += (None,) * (len(layouts) - len(gradients))
        for argument, grad, layout in zip(_torch.schema(overload).arguments, gradients, layouts, strict=False):
            check_form(f"operator '{name}': its backward", argument.name, grad, layout)
        of_lists = zip(gradients, layouts, strict=True)
        flat_gradients, _ = flatten([None] * n if grad is None and kind else grad for grad, (kind, n) in of_lists)
        return None, *flat_gradients

    # A call is at one of functorch's levels by now, and this is a function of that level alone. An ordinary
    # autograd.Function would begin with all levels anew.
    class Rule(_torch.SingleLevelFunction):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, call: Call, *flat: Any) -> tuple[torch.Tensor, ...]:
            output = call.run(flat)
            setup(ctx, call, flat, output)
            return output

        backward = staticmethod(run_backward)

    def rule(arguments: Sequence[Any], keywords: dict[str, Any], fingerprint: str) -> Any:
        call = Call(overload, arguments, keywords, fingerprint)
        with _torch.enable_single_level():
            results: tuple[torch.Tensor, ...] = Rule.apply(call, *call.flat)
        return one_or_all(call, results)

    return rule


def check_form(backward: str, argument: str, grad: Any, layout: Layout) -> None:
    """Raise ValueError where a gradient has another form than the input: flattened, it would go to others."""
    kind, count = layout
    if kind is None:
        if isinstance(grad, (list, tuple)):
            raise ValueError(f"{backward} returned for '{argument}' a list of gradients, but it is no list")
    elif isinstance(grad, (list, tuple)):
        if len(grad) != count:
            raise ValueError(f"{backward} returned {len(grad)} gradients for '{argument}', a list of {count}")
    elif grad is not None:
        raise ValueError(
            f"{backward} returned for '{argument}', a list of {count}, the gradient of a tensor: return a list or None"
        )


def one_or_all(call: Call, flat: tuple[torch.Tensor, ...]) -> Any:
    """The operator's result as it returned it."""
    results = unflatten(flat, call.result_layout)
    return results[0] if len(results) == 1 else results


def backward_of(function: Callable[..., Any]) -> tuple[Backward, SetupContext]:
    """``function(*grads, *inputs)`` as the two functions of register_autograd. It gets all inputs as they were."""

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        flat, ctx.input_layout = flatten(inputs)
        ctx.save_for_backward(*(value if isinstance(value, torch.Tensor) else None for value in flat))
        ctx.others = [None if isinstance(value, torch.Tensor) else value for value in flat]

    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
        inputs = [other if tensor is None else tensor for tensor, other in pairs]
        return function(*grads, *unflatten(inputs, ctx.input_layout))

    return backward, setup_context


def no_derivative(name: str) -> Backward:
    """The backward of an operator without one, for calls in another operator's backward."""

    def backward(ctx: Any, *grads: torch.Tensor) -> None:
        raise RuntimeError(
            f"operator '{name}', which a backward calls, has no derivative, which double backward needs. Give it one "
            "with register_backward() or register_autograd()"
        )

    return backward


def requires_grad(arguments: Sequence[Any]) -> bool:
    """Whether autograd wants a derivative of a call with these arguments."""
    return torch.is_grad_enabled() and bool(_torch.any_requires_grad(*arguments))


def check_differentiable(name: str, arguments: Sequence[Any]) -> None:
    """Raise RuntimeError where a call without a derivative would cut the autograd graph."""
    tensors = tensors_in(list(arguments))
    if requires_grad(arguments):
        problem = (
            "a tensor requires grad, but the operator has no derivative. Give it one with register_backward() or "
            "register_autograd()"
        )
    elif any(has_tangent(tensor) for tensor in tensors):
        problem = "a tensor carries a forward-mode tangent, and operators have reverse-mode derivatives only. Use those"
    else:
        return
    if not is_lowering(tensors):
        raise RuntimeError(f"operator '{name}': {problem}, call it under torch.no_grad(), or pass tensor.detach()")


def has_tangent(tensor: torch.Tensor) -> bool:
    """Whether it is a dual number of forward-mode differentiation."""
    return forward_ad.unpack_dual(tensor).tangent is not None  # type: ignore[no-untyped-call]


def is_lowering(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether a compiler that has traced autograd already runs operators on its stand-ins."""
    return not _torch.is_functionalizing() and all(isinstance(tensor, _torch.FakeTensor) for tensor in tensors)
