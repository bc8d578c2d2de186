"""Code objects written in assembly, with metadata of our own: what hand-written kernels look like."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import tools


def argument(name: str, offset: int, size: int, kind: str = "by_value", **more: Any) -> dict[str, Any]:
    return {".name": name, ".offset": offset, ".size": size, ".value_kind": kind} | {
        f".{key}": value for key, value in more.items()
    }


def pointer(name: str, offset: int, **more: Any) -> dict[str, Any]:
    return argument(name, offset, 8, "global_buffer", address_space="global", **more)


@dataclass
class Kernel:
    name: str
    arguments: list[dict[str, Any]] | None
    kernarg_size: int
    metadata: dict[str, Any] = field(default_factory=dict)
    directives: dict[str, int] = field(default_factory=dict)
    linkage: str = "globl"  # "local" keeps the symbols out of .dynsym

    def directive_lines(self, target: str) -> str:
        unified = any(name in target for name in ("gfx90a", "gfx94", "gfx950", "gfx9-4"))
        values = {"next_free_vgpr": 8, "next_free_sgpr": 16} | ({"accum_offset": 8} if unified else {})
        return "\n".join(f"  .amdhsa_{key} {value}" for key, value in (values | self.directives).items())

    def metadata_map(self) -> dict[str, Any]:
        result: dict[str, Any] = {".name": self.name, ".symbol": f"{self.name}.kd"}
        if self.arguments is not None:
            result[".args"] = self.arguments
        return (
            result
            | {
                ".kernarg_segment_size": self.kernarg_size,
                ".kernarg_segment_align": 8,
                ".group_segment_fixed_size": 0,
                ".private_segment_fixed_size": 0,
                ".wavefront_size": 64,
                ".sgpr_count": 16,
                ".vgpr_count": 8,
                ".max_flat_workgroup_size": 256,
            }
            | self.metadata
        )

    def assembly(self, target: str) -> str:
        scope = f".globl {self.name}\n.protected {self.name}\n" if self.linkage == "globl" else ""
        kd_scope = f".local {self.name}.kd\n" if self.linkage == "local" else ""
        return f"""
.text
{scope}{kd_scope}.p2align 8
.type {self.name},@function
{self.name}:
  s_endpgm
.size {self.name}, .-{self.name}
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel {self.name}
{self.directive_lines(target)}
.end_amdhsa_kernel
"""


def note(metadata: bytes) -> str:
    """A section with an NT_AMDGPU_METADATA note."""
    data = ", ".join(map(str, metadata))
    return f"""
.section .note,"a",@note
.p2align 2
.long 7, {len(metadata)}, 32
.asciz "AMDGPU"
.p2align 2
.byte {data}
.p2align 2
"""


def document(target: str | None, kernels: list[Kernel], version: tuple[int, int] = (1, 2)) -> dict[str, Any]:
    result: dict[str, Any] = {"amdhsa.version": list(version)}
    if target is not None:
        result["amdhsa.target"] = f"amdgcn-amd-amdhsa--{target}"
    return result | {"amdhsa.kernels": [kernel.metadata_map() for kernel in kernels]}


def source(target: str, kernels: list[Kernel], version: int, metadata: bytes | None, extra: str = "") -> str:
    # For v3 both come from the command line: its target ids are written in another way.
    head = (
        f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\n.amdhsa_code_object_version {version}\n' if version > 3 else ""
    )
    body = "".join(kernel.assembly(target) for kernel in kernels)
    return head + body + extra + ("" if metadata is None else note(metadata))


def assemble(text: str, target: str, output: Path, version: int = 5) -> None:
    """Assembles and links a code object."""
    processor, *features = target.split(":")
    attributes = [("+" if word[-1] == "+" else "-") + word[:-1] for word in features]
    object_file = output.with_suffix(".o")
    command = [tools.MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-filetype=obj", "-o", object_file, "-"]
    if version == 3:
        command[0] = tools.MC_FOR_V3
        command.insert(1, "--amdhsa-code-object-version=3")
    if attributes:
        command.insert(1, f"-mattr={','.join(attributes)}")
    tools.run(*command, input_text=text)
    tools.link(object_file, output)
    object_file.unlink()
