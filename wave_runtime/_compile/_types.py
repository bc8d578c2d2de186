"""The C types of kernels' parameters, read from the debug information of LLVM's textual IR."""

from __future__ import annotations

import re

_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(\w*)\((.*)\)$", re.MULTILINE)
_TUPLE = re.compile(r"^!(\d+) = !\{(.*)\}$", re.MULTILINE)
_KERNEL = re.compile(r"^define .*\bamdgpu_kernel void @(?:\"([^\"]+)\"|([\w.$]+))\(.*!dbg !(\d+)", re.MULTILINE)
_FIELD = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|!(\d+)|([\w| ]+))')
VECTOR = re.compile(r"^(?:Vector|HIP_vector_type)<(.+), \d+[uU]?>$")

# Structs that hold one number, or several of one type.
NUMBERS = {
    "__half": "f16",
    "__half2": "f16",
    "__hip_bfloat16": "bf16",
    "__hip_bfloat162": "bf16",
    "hip_bfloat16": "bf16",
    "__hip_fp8_e4m3": "f8e4m3fn",
    "__hip_fp8_e5m2": "f8e5m2",
    "__hip_fp8_e4m3_fnuz": "f8e4m3fnuz",
    "__hip_fp8_e5m2_fnuz": "f8e5m2fnuz",
}
BYTES = {"f16": 2, "bf16": 2, "f8e4m3fn": 1, "f8e5m2": 1, "f8e4m3fnuz": 1, "f8e5m2fnuz": 1}
C_NAMES = {
    "signed char": "i8",
    "char": "i8",
    "unsigned char": "u8",
    "short": "i16",
    "unsigned short": "u16",
    "int": "i32",
    "unsigned int": "u32",
    "long": "i64",
    "unsigned long": "u64",
    "long long": "i64",
    "unsigned long long": "u64",
    "float": "f32",
    "double": "f64",
    "_Float16": "f16",
    "__bf16": "bf16",
}
_THROUGH = {"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type"}
_POINTERS = {"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"}


class _Metadata:
    """The nodes of a module's metadata."""

    def __init__(self, text: str) -> None:
        self._nodes = {int(number): (kind, body) for number, kind, body in _NODE.findall(text)}
        self._tuples = {int(number): body for number, body in _TUPLE.findall(text)}

    def fields(self, number: int) -> dict[str, str]:
        """A node's fields; references are numbers as text."""
        kind, body = self._nodes.get(number, ("", ""))
        found = {name: quoted or reference or word for name, quoted, reference, word in _FIELD.findall(body)}
        return {"": kind, **found}

    def items(self, number: int) -> list[int | None]:
        """A list's items."""
        parts = self._tuples.get(number, "").split(", ")
        return [int(part[1:]) if part.startswith("!") else None for part in parts if part]

    def parameter_names(self) -> dict[tuple[int, int], str]:
        """By function and position, which counts from 1."""
        variables = [self.fields(number) for number, (kind, _) in self._nodes.items() if kind == "DILocalVariable"]
        return {(int(v["scope"]), int(v["arg"])): v["name"] for v in variables if "arg" in v and v.get("name")}

    def parameter(self, number: int | None) -> str:
        """A parameter's type as signatures write it."""
        node, _ = self._resolve(number)
        if node.get("tag") not in _POINTERS:
            return self._scalar(node)
        target, is_const = self._resolve(_number(node.get("baseType")))
        return f"*{self._element(target)}{' const' if is_const else ''}"

    def _element(self, target: dict[str, str]) -> str:
        """What a pointer points to; of vectors and arrays their elements, of other structs and pointers "void"."""
        name = target.get("name", "")
        if (vector := VECTOR.match(name)) and vector[1] in C_NAMES:
            return C_NAMES[vector[1]]
        if name in NUMBERS:
            return NUMBERS[name]
        if target.get("tag") == "DW_TAG_array_type":
            return self._element(self._resolve(_number(target.get("baseType")))[0])
        text = self._scalar(target)
        return "void" if text.startswith("bytes") else text

    def _resolve(self, number: int | None) -> tuple[dict[str, str], bool]:
        """A type without names and qualifiers, and whether it is const."""
        is_const = False
        node: dict[str, str] = {} if number is None else self.fields(number)
        while node.get("tag") in _THROUGH:
            is_const |= node["tag"] == "DW_TAG_const_type"
            base = _number(node.get("baseType"))
            node = {} if base is None else self.fields(base)
        return node, is_const

    def _scalar(self, node: dict[str, str]) -> str:
        size = int(node.get("size", "0")) // 8
        if node.get("") == "DIBasicType":
            return _basic(node, size)
        name = node.get("name", "")
        if node.get("tag") == "DW_TAG_enumeration_type":
            return self._scalar(self._resolve(_number(node.get("baseType")))[0])
        if name in NUMBERS:
            number = NUMBERS[name]
            return number if size in (0, BYTES[number]) else f"bytes[{size}]"
        if not node or node.get("tag") in _POINTERS:
            return "void" if not node else "bytes[8]"
        return f"bytes[{size}]"


def _number(reference: str | None) -> int | None:
    return int(reference) if reference and reference.isdigit() else None


def _basic(node: dict[str, str], size: int) -> str:
    encoding = node.get("encoding", "")
    if encoding == "DW_ATE_boolean":
        return "bool"
    if encoding == "DW_ATE_float":
        return "bf16" if "bf16" in node.get("name", "") else f"f{8 * size}"
    return f"{'u' if 'unsigned' in encoding or encoding == 'DW_ATE_UTF' else 'i'}{8 * size}"


def signatures(ir: str) -> tuple[dict[str, str], dict[str, str]]:
    """The kernels of a module that was compiled with debug information.

    Returns:
        Signatures by symbol, "a: *f32 const, n: i32"; and symbols by the name in the source, "scale" or "scale<float>",
        where only one kernel has it.
    """
    metadata = _Metadata(ir)
    named = metadata.parameter_names()
    types, symbols = {}, {}
    ambiguous = set()
    for quoted, plain, program in _KERNEL.findall(ir):
        symbol = quoted or plain
        node = metadata.fields(int(program))
        routine = metadata.fields(int(node["type"]))
        parameters = metadata.items(int(routine["types"]))[1:]
        texts = []
        for index, type in enumerate(parameters):
            name = named.get((int(program), index + 1))
            text = metadata.parameter(type)
            texts.append(f"{name}: {text}" if name else text)
        types[symbol] = ", ".join(texts)
        if node["name"] in symbols:
            ambiguous.add(node["name"])
        symbols[node["name"]] = symbol
    return types, {name: symbol for name, symbol in symbols.items() if name not in ambiguous and name != symbol}
