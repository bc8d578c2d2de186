"""Kernels by the names that people write: of a name in C++ there are several spellings."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

from wave_runtime import _C

T = TypeVar("T")

# What compilers call a type, by what sources call it: those of C, of <cstdint>, and those of HIP's and CUDA's headers.
_ALIASES = {
    "__half": "_Float16",
    "half": "_Float16",
    "__nv_bfloat16": "__hip_bfloat16",
    "nv_bfloat16": "__hip_bfloat16",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "ptrdiff_t": "long",
    "ssize_t": "long",
    "size_t": "unsigned long",
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "ulong": "unsigned long",
}
_PAIRS = {"half2": "_Float16", "__half2": "_Float16", "__hip_bfloat162": "__hip_bfloat16"}
_VECTOR = re.compile(r"(u?)(char|short|int|longlong|long|float|double)([1-4])")
_VECTOR_CLASS = re.compile(r"(?:wave_device::Vector|HIP_vector_type)<([^<>,]+),(\d+)>")
_INTEGER_WORDS = {"signed", "unsigned", "char", "short", "int", "long"}
_TOKEN = re.compile(r"(?:\w+::)*\w+|\S")
_NUMBER = re.compile(r"(\d+)[uUlL]+")


class Spellings:
    """Finds the symbols of kernels, of a file or several, by any spelling of their names in the source."""

    def __init__(self, kernels: Collection[str], sources: Mapping[str, str]) -> None:
        self._kernels = kernels
        self._sources = sources  # symbols by the names in the source, as the compiler spells them

    def symbol(self, name: str) -> str | None:
        """The symbol of the kernel that is called so; None where no kernel is, or several are."""
        if name in self._kernels:
            return name
        return self._sources.get(name) or self._spelled.get(canonical(name))

    def by_symbol(self, options: Mapping[str, T]) -> dict[str, T]:
        """What is given by the kernels' names, by their symbols; what is none's stays as it is."""
        return {self.symbol(name) or name: value for name, value in options.items()}

    @functools.cached_property
    def _spelled(self) -> dict[str, str]:
        """The symbols by their canonical names, of those that name one kernel alone."""
        found: dict[str, set[str]] = {}
        for name, symbol in self._all():
            found.setdefault(canonical(name), set()).add(symbol)
        return {name: symbols.pop() for name, symbols in found.items() if len(symbols) == 1}

    def _all(self) -> Iterator[tuple[str, str]]:
        yield from self._sources.items()
        for symbol in self._kernels:
            text = _C.demangle(symbol)
            if text is None:
                continue
            head, _ = split(text)
            for start in (head, unqualified(head)):
                yield start, symbol
                yield start + text[len(head) :], symbol


def split(text: str) -> tuple[str, list[str]]:
    """What a demangled function is called, with its namespaces and what it returns, and its parameters' types."""
    if not text.endswith(")"):
        return text, []
    depth, ends = 0, [len(text) - 1]
    for position in range(len(text) - 1, -1, -1):
        character = text[position]
        depth += (character in ")>") - (character in "(<")
        if depth == 1 and character == ",":
            ends.append(position)
        elif depth == 0:
            ends.append(position)
            break
    edges = ends[::-1]
    parameters = [text[begin + 1 : end].strip() for begin, end in itertools.pairwise(edges)]
    return text[: edges[0]], [item for item in parameters if item]


def unqualified(head: str) -> str:
    """The name without namespaces and what it returns."""
    plain = re.sub(r"<.*>", lambda match: "_" * len(match[0]), head)
    return head[max(plain.rfind(":"), plain.rfind(" ")) + 1 :]


def canonical(name: str) -> str:
    """One spelling of all that mean the same: "fill<uint32_t, 2u>" and "fill<unsigned, 2>" are one.

    Typedefs of a source's own, and enumerators, are not known here, and stay as they are.
    """
    words: list[str] = []
    integer: list[str] = []  # the words of one type

    def add(word: str) -> None:
        if word == "const" and words and (words[-1][-1].isalnum() or words[-1][-1] in "_>"):
            words[-1] = f"const {words[-1]}"  # which stood behind the type
        elif words and words[-1] == "const":
            words[-1] = f"const {word}"
        else:
            words.append(word)

    def end_integer() -> None:
        if integer:
            add(_integer(integer))
            integer.clear()

    for token in _TOKEN.findall(name.strip().removeprefix("void ")):
        word = _ALIASES.get(token.removeprefix("std::"), token)
        if _INTEGER_WORDS.issuperset(word.split()):
            integer += word.split()
            continue
        end_integer()
        add(_one_word(word))
    end_integer()
    return _VECTOR_CLASS.sub(r"vector<\1,\2>", "".join(words))


def _integer(words: list[str]) -> str:
    """A type of integers: "unsigned" and "long unsigned int" in one form each."""
    sign = "unsigned " if "unsigned" in words else "signed " if "signed" in words and "char" in words else ""
    size = "char" if "char" in words else "short" if "short" in words else " ".join(["long"] * words.count("long"))
    return sign + (size or "int")


def _one_word(word: str) -> str:
    """A number without its suffix, a vector as what it consists of."""
    if (number := _NUMBER.fullmatch(word)) is not None:
        return number[1]
    if word in _PAIRS:
        return f"vector<{_PAIRS[word]},2>"
    if (vector := _VECTOR.fullmatch(word)) is not None:
        element = vector[2].replace("longlong", "long long")
        return f"vector<{'unsigned ' if vector[1] else ''}{element},{vector[3]}>"
    return word
