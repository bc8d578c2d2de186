"""The schema of an operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

# Where torch has operators of its own, to which a definition would add an overload that calls may reach instead.
OF_TORCH = ("aten", "prim", "prims", "quantized")


def split_name(name: str) -> tuple[str, str]:
    """The two parts of ``"mylib::gemm"``. Raises ValueError where the name has another form."""
    namespace, colons, short_name = name.partition("::")
    if not (colons and namespace.isidentifier() and short_name.isidentifier()):
        raise ValueError(f'define_op: expected a name "namespace::name", given "{name}"')
    if namespace in OF_TORCH:
        raise ValueError(f"define_op: '{name}': the namespace '{namespace}' is torch's own: choose another")
    return namespace, short_name


def check_function(what: str, value: object) -> None:
    """Raise TypeError where a value cannot be called."""
    if not callable(value):
        raise TypeError(f"{what}: expected a function, given {type(value).__name__}")


def schema_of(body: Callable[..., Any], mutates: Sequence[str]) -> str:
    """The schema without the name: the body's type hints, and the fingerprint, which users leave out."""
    parameters = inspect.signature(body).parameters
    if unknown := [name for name in mutates if name not in parameters]:
        raise ValueError(f"define_op: mutates= names {unknown}, but the parameters are {list(parameters)}")
    schema: str = torch.library.infer_schema(body, mutates_args=mutates)
    arguments, _, results = schema.rpartition(") -> ")
    has_keywords = any(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())
    before = ("" if arguments == "(" else ", ") + ("" if has_keywords else "*, ")
    return f'{arguments}{before}str fingerprint="") -> {results}'


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensor that a value is, or those that it lists."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


class Parameters:
    """The parameters of an operator's body, which its schema has in the same order."""

    def __init__(self, body: Callable[..., Any]) -> None:
        self._signature = inspect.signature(body)
        parameters = self._signature.parameters.values()
        self._positional = {p.name: p.default for p in parameters if p.kind is not p.KEYWORD_ONLY}
        self._keyword_only = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        self._defaults = tuple(self._positional.values())
        self.positional = tuple(self._positional)

    def complete(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that the dispatcher passes with those that it leaves out: they equal their defaults."""
        return args + self._defaults[len(args) :], self._keyword_only | keywords

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as the dispatcher passes them: by keyword those that are keyword-only."""
        given = self._signature.bind(*args, **keywords)
        return given.args, given.kwargs

    def named(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """The arguments that the dispatcher passes, by name."""
        return dict(zip(self._positional, args, strict=False)) | keywords
