"""Operators of one kernel that are declared: ``define_op(name, kernel, outputs=..., grid=...)``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from wave_runtime import _C, _torch
from wave_runtime._op import _expressions
from wave_runtime._op._operator import Operator, dispatch, make_library
from wave_runtime._op._schema import check_function

_NONE: Mapping[str, Any] = MappingProxyType({})
AUTOGRAD = "wave_autograd"  # the namespace of operators that run what Python does for autograd


class Expression(NamedTuple):
    """A value, or a function of inputs."""

    value: Any
    names: tuple[str, ...]

    def __call__(self, inputs: Mapping[str, Any]) -> Any:
        """The value for these inputs."""
        return self.value(**{name: inputs[name] for name in self.names}) if callable(self.value) else self.value


class Declaration:
    """What the parameters of a kernel are to an operator, and the expressions."""

    def __init__(
        self,
        name: str,
        kernel: _C.Kernel,
        *,
        grid: Any = None,
        outputs: Mapping[str, Callable[..., Any]] = _NONE,
        arguments: Mapping[str, Any] = _NONE,
        defaults: Mapping[str, int | float] = _NONE,
        block: Any = None,
        shared_memory: Any = 0,
        **attributes: Any,
    ) -> None:
        self.name = name
        self.kernel = kernel
        self.attributes = attributes
        self.parameters = parameter_names(kernel)
        self._check_names(outputs=outputs, arguments=arguments, defaults=defaults)
        self.defaults = dict(defaults)
        self.inputs = [name for name in self.parameters if name not in outputs and name not in arguments]
        self.kinds = dict(zip(self.parameters, kernel._plan, strict=True))
        if not any(self.kinds[name] in ("input", "output") for name in self.inputs):
            raise ValueError(
                f"operator '{name}': no tensor among its inputs {self.inputs}, to say on which device to run"
            )
        if grid is None:
            raise TypeError(f"operator '{name}': grid= is missing (it counts workgroups)")
        if block is None and kernel.block is None:
            raise TypeError(f"operator '{name}': block= is missing: the binary fixes no workgroup size")
        self._order_defaults()
        # In the order in which the kernel has them, and C++ wants them.
        self.outputs = {key: self._expression(outputs[key]) for key in self.parameters if key in outputs}
        self.arguments = {key: self._expression(arguments[key]) for key in self.parameters if key in arguments}
        self.geometry = {
            "grid": self._expression(grid),
            "block": self._expression(kernel.block if block is None else block),
            "shared_memory": self._expression(shared_memory),
        }
        self._check_constants()

    def _check_names(self, **options: Mapping[str, Any]) -> None:
        for option, given in options.items():
            if not isinstance(given, Mapping):
                raise TypeError(
                    f"operator '{self.name}': {option}= must be a dict from names of the kernel's parameters, "
                    f"{list(self.parameters)}, given {type(given).__name__}"
                )
            if unknown := sorted(set(given) - set(self.parameters)):
                raise ValueError(
                    f"operator '{self.name}': {option}= names {unknown}, but the kernel's parameters are "
                    f"{list(self.parameters)}"
                )
        if twice := sorted(set(options["outputs"]) & set(options["arguments"])):
            raise ValueError(f"operator '{self.name}': {twice} are in outputs= and in arguments=")
        if "bytes" in self.kernel._plan:
            raise ValueError(f"operator '{self.name}': the kernel takes a struct (bytes[N]), which operators cannot")

    def _order_defaults(self) -> None:
        """Check what Python demands of functions: no parameter without a default comes after one with a default."""
        with_default = [name in self.defaults for name in self.inputs]
        if with_default != sorted(with_default) or any(name not in self.inputs for name in self.defaults):
            raise ValueError(
                f"operator '{self.name}': defaults= must be of the last inputs, which are {self.inputs}, given "
                f"{list(self.defaults)}"
            )

    def _expression(self, value: Any) -> Expression:
        names = tuple(inspect.signature(value).parameters) if callable(value) else ()
        if unknown := [name for name in names if name not in self.inputs]:
            raise ValueError(
                f"operator '{self.name}': an expression names {unknown}, but the operator's inputs are {self.inputs}"
            )
        return Expression(value, names)

    def _check_constants(self) -> None:
        """Raise now what the first call would raise of those expressions that are no functions."""
        for name, expression in self.outputs.items():
            check_function(f"operator '{self.name}', output '{name}'", expression.value)
        for name, expression in self.arguments.items():
            if not callable(expression.value):
                self._argument(name, expression, {})
        for name, expression in self.geometry.items():
            if not callable(expression.value):
                self._extents(name, expression, {})
        for name, value in self.defaults.items():
            with self._naming(f"default of '{name}'"):
                if self.kinds[name] in ("input", "output"):
                    raise TypeError("a tensor has none")
                _number(value, self.kinds[name] == "float")

    @property
    def mutates(self) -> tuple[str, ...]:
        """The inputs that the kernel writes."""
        return tuple(name for name in self.inputs if self.kinds[name] == "output")

    def signature(self) -> inspect.Signature:
        """The operator's signature, with types."""
        types = {"input": torch.Tensor, "output": torch.Tensor, "float": float}
        results = len(self.outputs)
        returned: Any = None if not results else torch.Tensor if results == 1 else tuple[(torch.Tensor,) * results]  # type: ignore[misc]
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    annotation=types.get(self.kinds[name], int),
                    default=self.defaults.get(name, inspect.Parameter.empty),
                )
                for name in self.inputs
            ],
            return_annotation=returned,
        )

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """What the operator does, in Python, which compilers trace."""
        inputs = {**self.defaults, **dict(zip(self.inputs, args, strict=False)), **kwargs}
        results = {name: expression(inputs) for name, expression in self.outputs.items()}
        computed = {name: expression(inputs) for name, expression in self.arguments.items()}
        values = {**inputs, **results, **computed}
        geometry = {name: expression(inputs) for name, expression in self.geometry.items()}
        self.kernel(*(values[name] for name in self.parameters), **geometry, **self.attributes)
        return next(iter(results.values())) if len(results) == 1 else tuple(results.values()) or None

    def specialize(self, kinds: Sequence[tuple[int, torch.dtype]]) -> tuple[list[_expressions.Instruction], list[Any]]:
        """The instructions for inputs with tensors of these ranks and dtypes, and what the results are."""
        inputs = self._stand_ins(kinds)
        code: list[_expressions.Instruction] = []
        results = []
        for name, expression in self.outputs.items():
            with self._naming(f"output '{name}'"):
                made = expression(inputs)
                if not isinstance(made, _expressions.NewTensor):
                    raise TypeError("expected a tensor made by a.new_empty() or a.new_zeros() of an input a")
                for size in made.sizes:
                    code.extend(_number(size))
                results.append((len(made.sizes), made.dtype, made.zeroed))
        for name, expression in self.arguments.items():
            code.extend(self._argument(name, expression, inputs))
        for name, expression in self.geometry.items():
            code.extend(self._extents(name, expression, inputs))
        return code, results

    def _argument(
        self, name: str, expression: Expression, inputs: Mapping[str, Any]
    ) -> tuple[_expressions.Instruction, ...]:
        """The instructions that compute an argument."""
        with self._naming(f"argument '{name}'"):
            return _number(expression(inputs), self.kinds[name] == "float")

    def _extents(self, name: str, expression: Expression, inputs: Mapping[str, Any]) -> list[_expressions.Instruction]:
        """Those that compute the grid, the block or the shared memory."""
        with self._naming(name):
            value = expression(inputs)
            extents = value if isinstance(value, (tuple, list)) else (value,)
            wanted = 1 if name == "shared_memory" else 3
            if not 1 <= len(extents) <= wanted:
                raise ValueError(f"expected 1 to {wanted} numbers, given {len(extents)}")
            return [step for extent in (*extents, *(1,) * (wanted - len(extents))) for step in _number(extent)]

    def _stand_ins(self, kinds: Sequence[tuple[int, torch.dtype]]) -> dict[str, Any]:
        tensors = iter(kinds)
        return {
            name: _expressions.Tensor(index, *next(tensors))
            if self.kinds[name] in ("input", "output")
            else _expressions.scalar(index, is_real=self.kinds[name] == "float")
            for index, name in enumerate(self.inputs)
        }

    @contextmanager
    def _naming(self, what: str) -> Iterator[None]:
        """Add the names of operator and expression to what an expression raises."""
        try:
            yield
        except Exception as error:
            kind = type(error) if isinstance(error, (TypeError, ValueError)) else ValueError
            raise kind(f"operator '{self.name}', {what}: {error}") from error

    def declare(self, fallback: Callable[..., Any]) -> _C.DeclaredCall:
        """Tell C++ what it needs to know, and return the call that runs no Python."""
        index = {name: i for i, name in enumerate(self.parameters)}
        return _C.declare(
            self.name,
            self.kernel,
            inputs=[index[name] for name in self.inputs],
            results=[index[name] for name in self.outputs],
            computed=[index[name] for name in self.arguments],
            names=self.inputs,
            defaults=self.defaults,
            options=dict(self.attributes),
            specialize=self.specialize,
            fallback=fallback,
        )


def _number(value: Any, is_real: bool = False) -> tuple[_expressions.Instruction, ...]:
    """The instructions that compute an int, or a float. Raises TypeError where the value is neither."""
    number = _expressions.Number.of(value)
    if number.is_real and not is_real:
        raise TypeError("expected an int, given a float")
    return number.to_real().code if is_real else number.code


def parameter_names(kernel: _C.Kernel) -> tuple[str, ...]:
    """The parameters' names in the signature; arg0, arg1, ... where there is no name, or it occurs twice."""
    names = kernel._names
    return tuple(
        name if name.isidentifier() and names.count(name) == 1 else f"arg{index}" for index, name in enumerate(names)
    )


@_C.called_by_slot
class DeclaredOperator(Operator):
    """An operator whose calls run no Python: on plain tensors from call to launch, else from the dispatcher on."""

    # Contiguous results, whose sizes a compiler is told by the same expressions that make them.
    _makes_what_is_declared = True

    def __init__(self, declaration: Declaration, *, inline: bool) -> None:
        self._call = declaration.declare(functools.partial(dispatch, self))

        def body(*args: Any, **kwargs: Any) -> Any:
            return declaration.run(*args, **kwargs)

        body.__name__ = declaration.name.rpartition("::")[2]
        body.__signature__ = declaration.signature()  # type: ignore[attr-defined]
        super().__init__(
            declaration.name, body, mutates=declaration.mutates, inline=inline, kernels=(declaration.kernel,)
        )
        _C.OperatorBase.__init__(self, self._call, dispatch)
        self._definition["declaration"] = (
            declaration.outputs,
            declaration.arguments,
            declaration.geometry,
            declaration.defaults,
            declaration.attributes,
        )

    def _register_autograd(self, short_name: str) -> None:
        # C++ asks whether autograd has a part in a call: Python need not run where it has none.
        autograd_name = self.name.replace("::", "_")
        self._autograd_library = make_library(AUTOGRAD)
        self._autograd_library.define(autograd_name + str(_torch.schema(self.overload)).removeprefix(self.name))
        self._autograd_library.impl(autograd_name, self._run_autograd, "Autograd", with_keyset=True)
        self._call.implement(f"{AUTOGRAD}::{autograd_name}")

    def _withdraw(self) -> None:
        self._call.withdraw()
        _torch.take_back(self._autograd_library)
        super()._withdraw()
