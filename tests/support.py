"""Names that several tests share."""

from __future__ import annotations

import importlib.util
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

import wave_runtime

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "kernels"
PROBES = ROOT / "tests" / "emulator" / "kernels"

# What the sanitizer finds in correct kernels, and rightly: padded rows of a mixture of experts are all stored to one
# row that nobody reads, and tanh takes an exponential for infinity where it is too large.
KNOWN_FINDINGS = ["races:global-race moe_gemm", "numbers:infinity activation"]

STANDARD_HEADER = re.compile(r"^#include <(\w+)>$", re.MULTILINE)

LoadKernel = Callable[..., wave_runtime.Kernel]


class Watch(TorchDispatchMode):
    """Lists the operators that are called in it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


def first_or_long(values: Iterable[object], count: int) -> list[object]:
    """The values of a test's parameter; those after the first ones are long: more of a kind, for `make test-all`."""
    return [
        value if number < count else pytest.param(value, marks=pytest.mark.long) for number, value in enumerate(values)
    ]


def load_tool(name: str) -> ModuleType:
    """A program of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def build_cpp(tmp_path_factory: pytest.TempPathFactory, name: str, sources: list[str], *options: str) -> Path:
    """Compile C++ sources, given as patterns from the root, into a program."""
    program = tmp_path_factory.mktemp(name) / name
    files = [path for pattern in sources for path in sorted(ROOT.glob(pattern))]
    # With lines for the sanitizers' reports: what else debuggers know takes longer to write than the code.
    command = ["g++", "-std=c++20", "-g1", "-O0", "-Wall", "-Wextra", "-Werror", "-Icsrc", *options]
    if len(files) > 8:  # whose standard headers take a quarter of the time
        texts = [path.read_text() for path in (*files, *(ROOT / "csrc").glob("*/*.h"))]
        counts = Counter(header for text in texts for header in STANDARD_HEADER.findall(text))
        header = program.parent / "standard.h"
        header.write_text("".join(f"#include <{name}>\n" for name, count in counts.items() if count > 4))
        subprocess.run([*command, "-x", "c++-header", header, "-o", f"{header}.gch"], cwd=ROOT, check=True)
        command += ["-include", str(header)]
    subprocess.run([*command, *files, "-ldl", "-o", program], cwd=ROOT, check=True)
    return program


def bundle(*entries: tuple[str, bytes]) -> bytes:
    """A clang offload bundle: an empty host entry, then these. Entries are aligned to 4096 bytes, as HIP's are."""
    named = [
        ("host-x86_64-unknown-linux-gnu-", b""),
        *((f"hipv4-amdgcn-amd-amdhsa--{name}", data) for name, data in entries),
    ]
    header_size = 32 + sum(24 + len(name) for name, _ in named)
    offset = -(-header_size // 4096) * 4096
    header, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(named)), b""
    for name, data in named:
        header += struct.pack("<QQQ", offset + len(body), len(data), len(name)) + name.encode()
        body += data + bytes(-len(data) % 4096)
    return header + bytes(offset - header_size) + body


def elf(**sections: bytes) -> bytes:
    """An ELF file for gfx942 of these sections: elf(debug_line=...) has .debug_line."""
    contents = {f".{name}".encode(): data for name, data in sections.items()}
    names = b"\0" + b"\0".join(contents) + b"\0"
    contents[b""] = names  # the section of names, which has none itself
    body, headers = b"", bytes(64)
    for name, data in contents.items():
        kind = 1 if name else 3
        headers += struct.pack(
            "<IIQQQQIIQQ", names.index(name + b"\0"), kind, 0, 0, 64 + len(body), len(data), 0, 0, 1, 0
        )
        body += data
    head = b"\x7fELF\x02\x01\x01\x40\x03" + bytes(7)
    count = len(contents) + 1
    head += struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, 64 + len(body), 0x54C, 64, 56, 0, 64, count, count - 1)
    return head + body + headers
