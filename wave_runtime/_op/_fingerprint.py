"""A hash of what makes an operator, its kernels and the code around them. It is the same in every process."""

from __future__ import annotations

import functools
import hashlib
import re
import sys
import types
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._builds import Builds, Recipe
from wave_runtime._module import Module
from wave_runtime._version import __version__

PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout)

# Packages whose code is not looked into: compilers' caches know their versions, or what they do changes no result, as
# pytest's, to which each assertion of a test's module leads.
FOREIGN = {"torch", "numpy", "triton", "wave_runtime", "pytest", "_pytest", "builtins", *sys.stdlib_module_names}
FOREIGN -= {"__main__"}


def hash_of(definition: object) -> str:
    """Hash functions and data, with all that they refer to."""
    digest = hashlib.sha256(__version__.encode())
    for part in _Walk().parts(definition):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


class _Walk:
    """Goes from an object to all that it refers to: from a function, to what the names in its code stand for."""

    def __init__(self) -> None:
        self._seen: dict[int, object] = {}  # holds the objects, so that no id is used again

    def parts(self, value: object) -> Iterator[str]:
        if isinstance(value, PLAIN):
            yield repr(value)
            return
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        yield type(value).__qualname__
        if isinstance(value, _C.Kernel):
            yield value.handle
        elif isinstance(value, (Recipe, Builds)):
            yield value.fingerprint()
        elif "_definition" in getattr(value, "__dict__", {}):  # operators, Wave kernels
            yield from self.parts(vars(value)["_definition"])
        elif isinstance(value, types.CodeType):
            yield value.co_code.hex()
            yield from self._all((*value.co_consts, *value.co_names, *value.co_varnames, *value.co_freevars))
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, (types.MethodType, functools.partial)):
            yield from self._all(_parts_of_callable(value))
        elif isinstance(value, (list, tuple)):
            yield from self._all(value)
        elif isinstance(value, (set, frozenset)):
            yield from sorted("".join(self.parts(item)) for item in value)
        elif isinstance(value, dict):
            yield from self._all([item for pair in value.items() for item in pair])
        elif isinstance(value, Enum):
            yield value.name
        elif isinstance(value, Module):
            yield from self._all([value[name] for name in value.kernels])
        elif isinstance(value, torch.Tensor):
            yield f"{value.dtype} {tuple(value.shape)}"
        elif isinstance(value, type):
            yield value.__qualname__
            if not _is_foreign(value.__module__):
                yield from self._all([item for name, item in vars(value).items() if not name.startswith("__")])
        elif _is_foreign(type(value).__module__):
            yield re.sub(r" at 0x[0-9a-f]+", "", repr(value))
        else:
            yield from self._all([vars(value)] if hasattr(value, "__dict__") else [])

    def _all(self, values: Sequence[object]) -> Iterator[str]:
        yield str(len(values))
        for value in values:
            yield from self.parts(value)

    def _function(self, function: types.FunctionType) -> Iterator[str]:
        yield function.__qualname__
        if _is_foreign(function.__module__):
            return
        yield from self._all([function.__code__, function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            try:
                yield from self.parts(cell.cell_contents)
            except ValueError:
                yield "an empty cell"
        for name in _names(function.__code__):
            if name in function.__globals__:
                yield from self._global(function.__globals__[name], function.__code__)

    def _global(self, value: object, code: types.CodeType, within: tuple[types.ModuleType, ...] = ()) -> Iterator[str]:
        """The parts of a global. Of a module they are those of what the code may take out of it."""
        if not isinstance(value, types.ModuleType):
            yield from self.parts(value)
        elif not _is_foreign(value.__name__) and value not in within:
            for name in _names(code):
                if name in vars(value):
                    yield from self._global(vars(value)[name], code, (*within, value))


def _names(code: types.CodeType) -> list[str]:
    """The names of globals and attributes in code, and in the functions within it."""
    inner = [name for const in code.co_consts if isinstance(const, types.CodeType) for name in _names(const)]
    return sorted({*code.co_names, *inner})


def _is_foreign(module: str | None) -> bool:
    return (module or "").partition(".")[0] in FOREIGN


def _parts_of_callable(value: types.MethodType | functools.partial[Any]) -> Sequence[object]:
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    return [value.__func__, value.__self__]
