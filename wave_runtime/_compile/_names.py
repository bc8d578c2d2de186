"""What the symbols of C++ kernels say: their names in the source, and the types of their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from wave_runtime import _C
from wave_runtime._compile._types import BYTES, C_NAMES, NUMBERS, VECTOR
from wave_runtime._spelling import split, unqualified

_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict)\b")
_SIZES = {"bool": 1, **{name: int(name[1:]) // 8 for name in C_NAMES.values() if name != "bf16"}, **BYTES}


def of_image(image: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """of_symbols() of the kernels of a code object or a cubin."""
    return of_symbols(_C.CodeObject(image).describe()["kernels"])


def of_symbols(kernels: Iterable[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """The kernels of a code object whose metadata has no types, as those of compilers have none.

    Args:
        kernels: as ``_C.CodeObject.describe`` gives them.

    Returns:
        Signatures by symbol, of those that fit the metadata: an edited kernel may take other arguments than its symbol
        says. And symbols by the name in the source, where only one kernel has it.
    """
    kernels = list(kernels)
    types: dict[str, str] = {}
    symbols: dict[str, str] = {}
    ambiguous: set[str] = {kernel["name"] for kernel in kernels}  # of another one, that is not mangled
    for kernel in kernels:
        symbol = kernel["name"]
        text = _C.demangle(symbol)
        if text is None or not text.endswith(")"):
            continue
        head, parameters = split(text)
        name = unqualified(head)
        ambiguous.update({name} & symbols.keys())
        symbols[name] = symbol
        signature = [_parameter(parameter) for parameter in parameters]
        if None not in signature and _fits(signature, kernel["arguments"]):
            types[symbol] = ", ".join(map(str, signature))
    return types, {name: symbol for name, symbol in symbols.items() if name not in ambiguous}


def _parameter(text: str) -> str | None:
    """A type as signatures write it; None: it is of a struct, a function, or unknown."""
    if not text.endswith(("*", "&")):
        name = text.strip()
        return C_NAMES.get(name) or NUMBERS.get(name) or ("bool" if name == "bool" else None)
    target = text[:-1].strip()
    is_const = target.endswith(("const", "const volatile"))
    name = _QUALIFIERS.sub("", target).strip()
    if (vector := VECTOR.match(name)) is not None:
        name = vector[1]
    element = C_NAMES.get(name) or NUMBERS.get(name) or ("bool" if name == "bool" else "void")
    return f"*{element}{' const' if is_const else ''}"


def _fits(signature: Iterable[str | None], arguments: list[dict[str, Any]] | None) -> bool:
    if arguments is None:
        return True
    given = [argument["size"] for argument in arguments if not argument["is_hidden"]]
    wanted = [8 if text is None or text.startswith("*") else _SIZES[text] for text in signature]
    return given == wanted
