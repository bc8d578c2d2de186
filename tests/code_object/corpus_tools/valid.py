"""The files of the corpus that must parse."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from . import tools
from .assembly import Kernel, argument, assemble, document, pointer, source
from .tools import ElfEditor, msgpack

# name: clang's --offload-arch, code object version, further options
COMPILED = {
    "clang_v4_gfx906.co": ("gfx906", 4, []),
    "clang_v5_gfx908.co": ("gfx908", 5, []),
    "clang_v4_gfx90a.co": ("gfx90a", 4, []),
    "clang_v5_gfx90a_xnack_on.co": ("gfx90a:xnack+", 5, []),
    "clang_v5_gfx90a_xnack_off.co": ("gfx90a:sramecc+:xnack-", 5, []),
    "clang_v4_gfx942.co": ("gfx942", 4, []),
    "clang_v5_gfx942.co": ("gfx942", 5, []),
    "clang_v6_gfx942.co": ("gfx942", 6, []),
    "clang_v5_gfx1030_cumode.co": ("gfx1030", 5, ["-mcumode"]),
    "clang_v5_gfx1100.co": ("gfx1100", 5, []),
    "clang_v5_gfx1100_wave64.co": ("gfx1100", 5, ["-mwavefrontsize64"]),
    "clang_v6_gfx1201.co": ("gfx1201", 6, []),
    "clang_v6_gfx11_generic.co": ("gfx11-generic", 6, []),
}

MACHINE_GFX950, MACHINE_GFX9_4_GENERIC = 0x4F, 0x5F


def compile_hip(sources: Path, folder: Path) -> None:
    for name, (target, version, options) in COMPILED.items():
        tools.run(
            tools.CLANG,
            "-x",
            "hip",
            "-O2",
            "--offload-device-only",
            "--no-gpu-bundle-output",
            "-nogpulib",
            "-nogpuinc",
            "-fuse-cuid=none",
            f"--offload-arch={target}",
            f"-mcode-object-version={version}",
            *options,
            sources / "kernels.hip",
            "-o",
            folder / name,
        )


def _kernel(name: str = "kernel", **more: object) -> Kernel:
    arguments = [pointer("x", 0, actual_access="read_only"), pointer("y", 8, access="write_only"), argument("n", 16, 4)]
    return Kernel(name, arguments, 24, **more)  # type: ignore[arg-type]


def _write(
    folder: Path,
    name: str,
    target: str,
    kernels: list[Kernel],
    version: int = 5,
    stated: str | None = "",
    extra: str = "",
) -> None:
    """`stated` is amdhsa.target: the target itself by default, None for none."""
    metadata = msgpack(document(target if stated == "" else stated, kernels))
    assemble(source(target, kernels, version, metadata, extra), target, folder / name, version)


def assemble_shapes(folder: Path) -> None:
    """What hand-written kernels do with their metadata."""
    hidden = [
        argument("", 24 + 8 * i, 8, kind)
        for i, kind in enumerate(
            ["hidden_global_offset_x", "hidden_multigrid_sync_arg", "hidden_none", "hidden_not_known_yet", "novelty"]
        )
    ]
    cases: dict[str, Kernel] = {
        "args_pad": Kernel("k", [pointer("x", 0), argument("pad", 8, 4), argument("pad", 12, 4), pointer("y", 16)], 24),
        "args_none": Kernel("k", None, 48),
        "args_empty": Kernel("k", [], 0),
        "args_repeated_names": Kernel("k", [pointer("ptr", 0), pointer("ptr", 8), argument("n", 16, 4)], 24),
        "args_pointer_pairs": Kernel("k", [argument("lo", 0, 4), argument("hi", 4, 4), argument("n", 8, 4)], 12),
        "args_hidden_unknown": Kernel("k", [pointer("x", 0), pointer("y", 8), argument("n", 16, 4), *hidden], 64),
        "kernarg_larger": Kernel("k", [pointer("x", 0), argument("n", 8, 4)], 512),
        "kernarg_smaller": Kernel("k", [pointer("x", 0), argument("n", 8, 4)], 8),
        "descriptor_kernarg_zero": _kernel(directives={"kernarg_size": 0}),
        "descriptor_fields": _kernel(
            directives=DIRECTIVES,
            metadata={
                ".reqd_workgroup_size": [64, 2, 1],
                ".uniform_work_group_size": 1,
                ".uses_dynamic_stack": True,
                ".agpr_count": 4,
                ".sgpr_spill_count": 1,
                ".vgpr_spill_count": 2,
                ".kind": "normal",
                ".language": "Assembler",
                ".private_segment_fixed_size": 40,
                ".group_segment_fixed_size": 1024,
            },
        ),
    }
    for name, kernel in cases.items():
        _write(folder, f"asm_{name}.co", "gfx942", [kernel])
    _write(folder, "asm_target_none.co", "gfx942:xnack-", [_kernel()], stated=None)
    _write(folder, "asm_several.co", "gfx90a:sramecc-", [_kernel("first"), _kernel("second"), Kernel("third", None, 0)])
    _write(folder, "asm_local_symbols.co", "gfx906", [_kernel(linkage="local")], version=4)
    _write(folder, "asm_v3_gfx906.co", "gfx906:sramecc-:xnack-", [_kernel()], version=3, stated=None)
    _write(folder, "asm_v3_gfx908_xnack_on.co", "gfx908:sramecc+:xnack+", [_kernel()], version=3, stated=None)


DIRECTIVES = {
    "next_free_vgpr": 100,
    "accum_offset": 64,
    "next_free_sgpr": 90,
    "tg_split": 1,
    "group_segment_fixed_size": 1024,
    "private_segment_fixed_size": 40,
    "kernarg_size": 24,
    "float_round_mode_32": 1,
    "float_round_mode_16_64": 2,
    "float_denorm_mode_32": 0,
    "float_denorm_mode_16_64": 1,
    "dx10_clamp": 0,
    "ieee_mode": 0,
    "fp16_overflow": 1,
    "enable_private_segment": 1,
    "system_sgpr_workgroup_id_x": 0,
    "system_sgpr_workgroup_id_y": 1,
    "system_sgpr_workgroup_id_z": 1,
    "system_sgpr_workgroup_info": 1,
    "system_vgpr_workitem_id": 2,
    "exception_fp_ieee_invalid_op": 1,
    "exception_fp_ieee_inexact": 1,
    "exception_int_div_zero": 1,
    "user_sgpr_dispatch_ptr": 1,
    "user_sgpr_queue_ptr": 1,
    "user_sgpr_kernarg_segment_ptr": 1,
    "user_sgpr_dispatch_id": 1,
    "user_sgpr_private_segment_size": 1,
    "user_sgpr_kernarg_preload_length": 3,
    "user_sgpr_kernarg_preload_offset": 1,
    "uses_dynamic_stack": 1,
}

GLOBALS = """
.data
.globl table
.type table,@object
.p2align 3
table:
  .quad kernel
  .quad .Lhere
  .quad missing
.Lhere:
  .quad 0
.size table, 32
.weak maybe
.data
  .quad maybe
"""


def assemble_special(folder: Path) -> None:
    """Files that differ in their ELF structure."""
    _write(folder, "asm_relocations.co", "gfx942", [_kernel()], extra=GLOBALS)
    assemble(source("gfx942", [_kernel(), _kernel("other")], 5, None), "gfx942", folder / "asm_metadata_none.co")
    assemble(source("gfx1100", [_kernel()], 5, None), "gfx1100", folder / "asm_metadata_none_gfx1100.co")

    without_sections = folder / "asm_sections_none.co"
    without_sections.write_bytes((folder / "asm_relocations.co").read_bytes())
    tools.run(tools.OBJCOPY, "--strip-sections", without_sections)

    # Processors that LLVM 19 cannot compile for.
    for processor, flags in (
        ("gfx950", 0x500 | MACHINE_GFX950),
        ("gfx9-4-generic", 1 << 24 | 0x500 | MACHINE_GFX9_4_GENERIC),
    ):
        name = f"asm_v6_{processor.replace('-', '_')}.co"
        _write(folder, name, "gfx942", [_kernel()], version=6, stated=processor)
        (folder / name).write_bytes(ElfEditor((folder / name).read_bytes()).flags(flags).bytes())


def _bundle(folder: Path, output: str, entries: dict[str, str], *options: str) -> None:
    host = folder / "host.tmp"
    host.write_bytes(b"")
    inputs = [("host-x86_64-unknown-linux", host), *((target, folder / name) for target, name in entries.items())]
    tools.run(
        tools.BUNDLER,
        "-type=o",
        "-bundle-align=8",
        f"-targets={','.join(target for target, _ in inputs)}",
        *(f"-input={path}" for _, path in inputs),
        f"-output={folder / output}",
        *options,
    )
    host.unlink()


def raw_bundle(entries: list[tuple[str, bytes]], align: int = 8) -> bytes:
    """An offload bundle, for what the bundler does not write."""
    names = b""
    at = 32 + sum(24 + len(name) for name, _ in entries)
    body = b""
    for name, data in entries:
        padding = -(at + len(body)) % align
        body += bytes(padding)
        names += struct.pack("<QQQ", at + len(body), len(data), len(name)) + name.encode()
        body += data
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)) + names + body


def compressed(version: int, method: int, payload: bytes, size: int) -> bytes:
    """A compressed bundle of one of the three versions. The hash (of the content) is left 0."""
    head = b"CCOB" + struct.pack("<HH", version, method)
    if version == 1:
        return head + struct.pack("<IQ", size, 0) + payload
    if version == 2:
        return head + struct.pack("<IIQ", 24 + len(payload), size, 0) + payload
    return head + struct.pack("<QQQ", 32 + len(payload), size, 0) + payload


def bundle(folder: Path) -> None:
    prefix = "hipv4-amdgcn-amd-amdhsa--"
    two = {f"{prefix}gfx90a:xnack+": "clang_v5_gfx90a_xnack_on.co", f"{prefix}gfx942": "asm_args_pad.co"}
    _bundle(folder, "bundle_plain.hipfb", two)
    _bundle(folder, "bundle_zstd_v2.hipfb", two, "-compress")
    plain = (folder / "bundle_plain.hipfb").read_bytes()
    zstd = (folder / "bundle_zstd_v2.hipfb").read_bytes()[24:]
    deflated = zlib.compress(plain, 9)
    (folder / "bundle_zstd_v1.hipfb").write_bytes(compressed(1, 1, zstd, len(plain)))
    (folder / "bundle_zstd_v3.hipfb").write_bytes(compressed(3, 1, zstd, len(plain)))
    (folder / "bundle_zlib_v2.hipfb").write_bytes(compressed(2, 0, deflated, len(plain)))

    def read(name: str) -> bytes:
        return (folder / name).read_bytes()

    # Several that run on one device: the most specific wins.
    (folder / "bundle_choice.hipfb").write_bytes(
        raw_bundle(
            [
                ("host-x86_64-unknown-linux-gnu-", b""),
                (f"{prefix}gfx9-4-generic", read("asm_v6_gfx9_4_generic.co")),
                (f"{prefix}gfx942", read("asm_args_pad.co")),
                (f"{prefix}gfx942:xnack-", read("asm_target_none.co")),
                ("hip-amdgcn-amd-amdhsa-gfx906", read("asm_v3_gfx906.co")),
                (f"{prefix}gfx9999", b"for a processor of the future"),
                ("hip-spirv64-amd-amdhsa--amdgcnspirv", b"\x03\x02\x23\x07"),
            ]
        )
    )


def host_objects(sources: Path, folder: Path) -> None:
    """A library of two translation units, one of them compressed, and an object made by clang itself."""
    first = raw_bundle(
        [
            ("host-x86_64-unknown-linux--", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx942", (folder / "asm_args_pad.co").read_bytes()),
        ]
    )
    second = (folder / "bundle_zstd_v2.hipfb").read_bytes()
    section = folder / "fatbin.tmp"
    section.write_bytes(first + bytes(-len(first) % 4096) + second + bytes(64))
    host_object, library = folder / "host.o", folder / "host_library.elf"
    tools.run(
        tools.CLANG,
        "-target",
        "x86_64-linux-gnu",
        "-x",
        "assembler",
        "-c",
        "-o",
        host_object,
        "-",
        input_text=".text\nret\n.data\n.p2align 3\n.Lhere:\n.quad .Lhere\n",
    )
    tools.run(
        tools.OBJCOPY,
        f"--add-section=.hip_fatbin={section}",
        "--set-section-flags=.hip_fatbin=alloc,readonly",
        host_object,
    )
    # Relative relocations without addends: what they are packed into must not matter for a host library.
    tools.run(tools.LLD, "-shared", "--build-id=none", "--pack-dyn-relocs=relr", host_object, "-o", library)
    host_object.unlink()
    section.unlink()

    tools.run(
        tools.CLANG,
        "-x",
        "hip",
        "-target",
        "x86_64-linux-gnu",
        "--offload-arch=gfx1100",
        "-nogpulib",
        "-nogpuinc",
        "-fuse-cuid=none",
        "-O2",
        "-Xarch_host",
        "-O0",
        "--offload-compress",
        "-c",
        sources / "host.hip",
        "-o",
        folder / "host_object.elf",
    )


def make(sources: Path, folder: Path) -> None:
    compile_hip(sources, folder)
    assemble_shapes(folder)
    assemble_special(folder)
    bundle(folder)
    host_objects(sources, folder)
