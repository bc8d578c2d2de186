"""Names that several tests share."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import wave_runtime

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "kernels"
PROBES = ROOT / "tests" / "emulator" / "kernels"

LoadKernel = Callable[..., wave_runtime.Kernel]


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
