"""Operator: what a call does, and what the dispatcher runs for it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from wave_runtime import _C, _torch
from wave_runtime._inductor import functionalize, lower_call
from wave_runtime._op import _sharding
from wave_runtime._op._autocast import cast
from wave_runtime._op._autograd import (
    Backward,
    SetupContext,
    backward_of,
    check_differentiable,
    has_tangent,
    make_rule,
    no_derivative,
    requires_grad,
)
from wave_runtime._op._fingerprint import hash_of
from wave_runtime._op._schema import Parameters, check_function, schema_of, split_name, tensors_in
from wave_runtime._op._vmap import VmapRule, leading_batch
from wave_runtime._tracing import is_exporting, on_stand_ins

AUTOCAST_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}

_operators: dict[str, Operator] = {}


def dispatch(self: Operator, *args: Any, **kwargs: Any) -> Any:
    """A call that PyTorch must see: dynamo finds this function as ``Operator.__call__`` and traces it."""
    if is_exporting() or (
        self.inline and torch.compiler.is_compiling() and not self._is_to_differentiate(args, kwargs)
    ):
        return self._inline(args, kwargs)
    return self.overload(*args, **kwargs, fingerprint=self.fingerprint)


@_C.called_by_slot
class Operator(_C.OperatorBase):
    """An operator defined by :func:`define_op`. Calling it computes its results.

    A call runs the body at once if PyTorch need not see an operator: if there is no mode, no tracer, no functorch
    transform, no tensor subclass, no gradient and no autocast rule. Under ``torch.export``, and with ``inline=True``
    under ``torch.compile``, the body is traced. Otherwise the call goes to ``overload``.

    Attributes:
        name: ``"namespace::name"``.
        overload: the operator as PyTorch knows it, ``torch.ops.namespace.name.default``. You may call it, too.
        body: the function that was decorated.
        inline: whether compilers trace the body instead of the operator.
        fingerprint: a hash of the kernels, the body and the rules. In compilers' graphs it is an argument, so that
            their caches never use what was compiled from another definition. Callers leave it out.
    """

    __call__ = dispatch
    _makes_what_is_declared = False

    def __init__(
        self,
        name: str,
        body: Callable[..., Any],
        *,
        mutates: Sequence[str] = (),
        inline: bool = False,
        kernels: Sequence[_C.Kernel] = (),
    ) -> None:
        check_function(f"operator '{name}'", body)
        super().__init__(body, dispatch)
        self._returns_new = True
        functools.update_wrapper(self, body)
        namespace, short_name = split_name(name)
        self.name = name
        self.body = body
        self.inline = inline
        self._mutates = frozenset(mutates)
        self._parameters = Parameters(body)
        self._vmap: VmapRule | None = None
        self._autocast: torch.dtype | None = None
        self._has_sharding = False
        self._definition: dict[str, object] = {"body": body, "kernels": tuple(kernels)}  # what the fingerprint covers
        schema = schema_of(body, mutates)
        if name in _operators:  # a module that is imported again, a cell that runs again
            _operators[name]._withdraw()
        self._library: Any = make_library(namespace)
        self._library.define(short_name + schema, tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides))
        self.overload: _torch.OpOverload = getattr(getattr(torch.ops, namespace), short_name).default
        kinds = [str(item.type) for item in _torch.schema(self.overload).returns]
        results = len(kinds) if set(kinds) <= {"Tensor"} else -1  # lists, numbers and others are not looked at
        self._watch_body(self._parameters.positional, self._mutates, results)
        numbers = {item.name for item in _torch.schema(self.overload).arguments if "Tensor" not in str(item.type)}
        _torch.watch_numbers(self.overload, numbers - {"fingerprint"}, self._check_number)
        self._has_derivative = False
        self._autograd = make_rule(name, self.overload, no_derivative(name), None)
        self._register(short_name)
        _torch.set_rule(self.overload, _torch.FunctionalTensorMode, self._functionalize)
        call = _C.operator_inductor_call(self, self.overload, from_start)
        _torch.set_inductor_call(self.overload, call, checks_results=not self._makes_what_is_declared)
        _operators[name] = self

    def _register(self, short_name: str) -> None:
        """Tell the dispatcher what to run for each of its keys."""
        implement = functools.partial(self._library.impl, short_name)
        implement(self._run, "CompositeExplicitAutograd")
        torch.library.register_fake(self.name, self._run_fake, lib=self._library)
        implement(self._run_traced, "Tracer")
        implement(self._run_vmap, "FuncTorchBatched", with_keyset=True)
        self._register_autograd(short_name)

    def _register_autograd(self, short_name: str) -> None:
        self._library.impl(short_name, self._run_autograd, "Autograd", with_keyset=True)
        if self._mutates:
            self._library.impl(short_name, self._mark_written, "ADInplaceOrView", with_keyset=True)

    def _withdraw(self) -> None:
        """Take back what the dispatcher was told."""
        _torch.take_back(self._library)

    def _run(self, *args: Any, fingerprint: str = "", **kwargs: Any) -> Any:
        result = self._run_body(args, kwargs)
        self._check_aliases(*args, *kwargs.values(), result)
        return from_start(result)

    def _run_fake(self, *args: Any, fingerprint: str = "", **kwargs: Any) -> Any:
        fingerprint = fingerprint or self._add_fingerprint()
        with on_stand_ins():
            return self._run(*args, fingerprint=fingerprint, **kwargs)

    def _functionalize(self, mode: Any, *args: Any, fingerprint: str = "", **kwargs: Any) -> Any:
        kwargs["fingerprint"] = fingerprint or self._add_fingerprint()
        if self._mutates:
            return functionalize(mode, self.overload, args, kwargs)
        lower_call(self.overload)
        return _torch.run_in_mode(mode, self.overload, args, kwargs)

    def _add_fingerprint(self) -> str:
        """The fingerprint, for a call of ``torch.ops.namespace.name``, and for the graph that traces it.

        As a default value in the schema it would not reach any graph: torch leaves out arguments that equal theirs.
        """
        _torch.complete_traced_call(self.overload, "fingerprint", self.fingerprint)
        return self.fingerprint

    def _run_autograd(self, keys: Any, *args: Any, fingerprint: str = "", **kwargs: Any) -> Any:
        arguments = (*args, *kwargs.values())
        kwargs["fingerprint"] = fingerprint or self._add_fingerprint()
        try:
            if requires_grad(arguments) and self._is_differentiable():
                return self._differentiate(*args, **kwargs)
            if requires_grad(arguments) or _torch.in_forward_mode():
                check_differentiable(self.name, arguments)
            return _torch.below_autograd(self.overload, keys, args, kwargs)
        except NotImplementedError:
            if not self._has_sharding:
                _sharding.check_has_rule(self.name, arguments)
            raise

    def _is_differentiable(self) -> bool:
        """Whether a call is recorded for a derivative.

        In a backward pass every call is. An operator without a derivative raises only where that pass is differentiated
        in turn, which few programs do.
        """
        return self._has_derivative or (_torch.in_backward() and not self._mutates)

    def _is_to_differentiate(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """For compilers that trace a call: whether autograd wants the derivative that was given."""
        tensors = tensors_in([*args, *kwargs.values()])
        return self._has_derivative and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)

    def _check_number(self, name: str, value: Any) -> None:
        """Raise RuntimeError where the dispatcher would make a number of a tensor, and lose its gradient."""
        if requires_grad([value]) or any(map(has_tangent, tensors_in(value))):
            raise RuntimeError(
                f"operator '{self.name}', argument '{name}': a tensor that has a derivative is given for a number, "
                "which has none: give the parameter the type Tensor, or pass tensor.item()"
            )

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """For compilers that trace a call: run the body as the dispatcher would."""
        for device_type in AUTOCAST_KEYS:
            if self._autocast is not None and torch.is_autocast_enabled(device_type):
                args, kwargs = self._parameters.bind(args, kwargs)
                given = self._cast(device_type, args, kwargs)
                with torch.autocast(device_type, enabled=False):
                    return self.body(**given)
        return self.body(*args, **kwargs)

    def _cast(self, device_type: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, as autocast on a device wants them."""
        assert self._autocast is not None
        given = self._parameters.named(args, kwargs)
        for name in given:
            if name not in self._mutates:
                given[name] = cast(given[name], device_type, self._autocast)
        return given

    def _differentiate(self, *args: Any, fingerprint: str, **kwargs: Any) -> Any:
        for name, value in kwargs.items():
            if self._has_derivative and requires_grad([value]):
                raise RuntimeError(
                    f"operator '{self.name}', argument '{name}': the tensor requires grad, but is keyword-only, and a "
                    "backward returns gradients of the others only: let it be given by place, or pass tensor.detach()"
                )
        return self._autograd(*self._parameters.complete(args, kwargs), fingerprint)

    def _mark_written(self, keys: Any, *args: Any, **kwargs: Any) -> Any:
        given = self._parameters.named(args, kwargs)
        torch.autograd.graph.increment_version(tensors_in([given.get(name) for name in self._mutates]))
        return _torch.below_writes(self.overload, keys, args, kwargs)

    def _run_autocast(self, device_type: str, keys: Any, *args: Any, fingerprint: str = "", **kwargs: Any) -> Any:
        given = self._cast(device_type, args, kwargs)
        with _torch.without_key(AUTOCAST_KEYS[device_type]):
            return self.overload(**given, fingerprint=fingerprint or self._add_fingerprint())

    def _run_vmap(self, keys: Any, *args: Any, fingerprint: str = "", **kwargs: Any) -> Any:
        if self._vmap is None:
            raise RuntimeError(
                f"operator '{self.name}' has no rule for torch.vmap: give it one with register_vmap(), or call it in a "
                "loop over the batch"
            )
        if any(isinstance(value, torch.Tensor) for value in kwargs.values()):
            raise RuntimeError(f"operator '{self.name}': torch.vmap takes no keyword-only tensors")
        overload = functools.partial(self.overload, fingerprint=fingerprint or self._add_fingerprint())
        return _torch.run_vmap_rule(self._vmap, overload, args, kwargs)

    def _run_traced(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"operator '{self.name}': torch.jit.trace is not supported; use torch.compile or torch.export"
        )

    def _compute_fingerprint(self) -> str:
        return hash_of(self._definition)

    def _set_rule(self, kind: str, rule: object) -> None:
        self._definition[kind] = rule
        del self.fingerprint

    def register_autograd(self, backward: Backward, /, *, setup_context: SetupContext | None = None) -> None:
        """Give the operator a derivative, as ``torch.library.register_autograd`` does.

        Args:
            backward: ``backward(ctx, *grads)`` returns a gradient for each input.
            setup_context: ``setup_context(ctx, inputs, output)`` saves what backward needs. If the operator has
                keyword-only arguments, it gets ``keyword_only_inputs`` before ``output``.

        Raises:
            ValueError: the operator writes an argument.
        """
        if self._mutates:
            raise ValueError(
                f"operator '{self.name}' writes to {', '.join(sorted(self._mutates))}: a derivative needs an operator "
                "that returns its results instead"
            )
        check_function(f"operator '{self.name}', register_autograd()", backward)
        if setup_context is not None:
            check_function(f"operator '{self.name}', setup_context=", setup_context)
        self._set_rule("autograd", (backward, setup_context))
        self._has_derivative = True
        self._autograd = make_rule(self.name, self.overload, backward, setup_context)

    def register_backward(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Give the operator a derivative that is computed from its inputs, all of which are saved.

        Args:
            function: ``function(*grads, *inputs)`` returns the gradients of the inputs in order, None for an input that
                has none. Those at the end may be left out. For a double backward, the operators that it calls need
                derivatives, too.

        Raises:
            ValueError: the operator writes an argument.
        """
        check_function(f"operator '{self.name}', register_backward()", function)
        backward, setup_context = backward_of(function)
        self.register_autograd(backward, setup_context=setup_context)
        self._set_rule("autograd", function)
        return function

    def register_autocast(self, dtype: torch.dtype, /) -> None:
        """Have ``torch.autocast`` cast the operator's inputs to ``dtype``. Without this rule it changes nothing.

        It casts floating-point tensors on the device that autocast is on for, except f64 tensors and those that the
        operator writes.
        """
        if not isinstance(dtype, torch.dtype):
            raise TypeError(
                f"operator '{self.name}', register_autocast(): expected a dtype, given {type(dtype).__name__}"
            )
        if not dtype.is_floating_point:
            raise ValueError(
                f"operator '{self.name}', register_autocast(): expected a floating-point dtype, given {dtype}"
            )
        if self._autocast is None:
            for device_type, key in AUTOCAST_KEYS.items():
                function = functools.partial(self._run_autocast, device_type)
                self._library.impl(self.name.split("::")[1], function, key, with_keyset=True)
        self._autocast = dtype
        self._has_autocast = True
        self._set_rule("autocast", dtype)

    def register_vmap(self, function: VmapRule | None = None, /) -> VmapRule | None:
        """Give the operator a rule for ``torch.vmap``, as ``torch.library.register_vmap`` does.

        Args:
            function: ``function(info, in_dims, *args, **kwargs)`` returns the result and its batch dimension. Without a
                function, the operator is called once, with the batch as one more dimension in front of every tensor.
                That suits bodies that take such tensors, for instance those of kernels with a batch dimension in their
                grid. Tensors that are not part of the batch are repeated.

        Raises:
            ValueError: there is no function, and the operator writes an argument.
        """
        if function is None and self._mutates:
            raise ValueError(
                f"operator '{self.name}' writes to {', '.join(sorted(self._mutates))}: register_vmap() needs a function"
            )
        if function is not None:
            check_function(f"operator '{self.name}', register_vmap()", function)
        self._vmap = function or leading_batch(self)
        self._set_rule("vmap", function or "leading batch")
        return function

    def register_sharding(self, rule: _sharding.Rule, /) -> _sharding.Rule:
        """Say how tensors may be spread over devices, so that the operator takes DTensors.

        Args:
            rule: a function that is called with the operator's inputs; tensors have a shape and placements, but no
                data. It returns a list of the ways in which each device along a dimension of the mesh can compute its
                part alone. A way is a pair of lists: the placements of the results, and of the inputs, with None for an
                input that is not a tensor. DTensor takes the way that needs the least communication. In one of the ways
                all tensors should be replicated.

        Raises:
            ValueError: the operator takes lists of tensors.
            NotImplementedError: the operator has no results, and torch is 2.10, which cannot do that.
        """
        check_function(f"operator '{self.name}', register_sharding()", rule)
        _sharding.register(self.name, self.overload, rule)
        self._has_sharding = True
        self._set_rule("sharding", rule)
        return rule

    def __reduce__(self) -> tuple[Callable[[str], Operator], tuple[str]]:
        return find, (self.name,)

    def __repr__(self) -> str:
        return f"<wave_runtime.Operator {_torch.schema(self.overload)}>"


def _refuse_script(self: Operator) -> None:
    raise RuntimeError(f"operator '{self.name}': torch.jit.script is not supported; use torch.compile or torch.export")


_torch.set_script_rule(Operator, _refuse_script)


def from_start(result: Any) -> Any:
    """A result, or several, each of which begins at the start of its storage: compilers count on it.

    A view of a part of what the body made is copied, with its strides. Torch (2.13) would write to another place where
    something writes a view of it.
    """
    if isinstance(result, (tuple, list)):
        return type(result)(map(from_start, result))
    is_strided = isinstance(result, torch.Tensor) and result.layout is torch.strided
    if not is_strided or _torch.starts_storage(result):
        return result
    last = sum((size - 1) * stride for size, stride in zip(result.shape, result.stride(), strict=True))
    size = torch.sym_max(last + 1, 0)  # type: ignore[no-untyped-call]
    part = result.as_strided((size,), (1,), result.storage_offset())
    return part.clone().as_strided(result.shape, result.stride(), 0)


def make_library(namespace: str) -> Any:
    """A library, which holds registrations. It is typed as Any, since torch annotates none of its methods."""
    return torch.library.Library(namespace, "FRAGMENT")  # type: ignore[no-untyped-call]


def find(name: str) -> Operator:
    """The operator of this name, which copies and pickles of it are. Raises RuntimeError where there is none."""
    if name not in _operators:
        raise RuntimeError(f"no operator '{name}' in this process: import the module that defines it first")
    return _operators[name]
