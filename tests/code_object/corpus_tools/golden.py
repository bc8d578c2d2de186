"""What LLVM's tools say of the corpus: the truth that the tests compare with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from . import tools
from .tools import ElfEditor

# Processors that LLVM 19 cannot disassemble for, and one with the same kernel descriptors.
STAND_INS = {"gfx950": 0x54C, "gfx9_4_generic": 0x54C}


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!str", lambda loader, node: loader.construct_scalar(node))


def _readobj(path: Path, *options: str) -> dict[str, Any]:
    report = json.loads(tools.run(tools.READOBJ, "--elf-output-style=JSON", *options, path))
    return dict(report[0])


def _metadata(report: dict[str, Any]) -> Any:
    for section in report.get("NoteSections", []):
        for note in section["NoteSection"]["Notes"]:
            if "AMDGPU Metadata" in note:
                # LLVM also prints what its verifier does not like, such as a missing amdhsa.target.
                return yaml.load(note["AMDGPU Metadata"].removeprefix("Invalid AMDGPU Metadata\n"), _Loader)
    return None


def _symbols(report: dict[str, Any]) -> list[list[Any]]:
    """Name, address, size, type of the defined symbols with a name."""
    found = {}
    for table in ("DynamicSymbols", "Symbols"):
        for item in report.get(table, []):
            symbol = item["Symbol"]
            name, section = symbol["Name"]["Name"], symbol["Section"]["Name"]
            if name and section not in ("Undefined", "Absolute") and symbol["Type"]["Name"] not in ("File", "Section"):
                found[name, symbol["Value"]] = [name, symbol["Value"], symbol["Size"], symbol["Type"]["Name"]]
    return list(found.values())


def _segments(report: dict[str, Any]) -> list[list[int]]:
    loads = [
        item["ProgramHeader"] for item in report["ProgramHeaders"] if item["ProgramHeader"]["Type"]["Name"] == "PT_LOAD"
    ]
    return [[s["VirtualAddress"], s["Offset"], s["FileSize"], s["MemSize"], s["Flags"]["Value"]] for s in loads]


def _relocations(report: dict[str, Any]) -> list[list[Any]]:
    return [
        [
            r["Relocation"]["Offset"],
            r["Relocation"]["Type"]["Name"],
            r["Relocation"]["Symbol"]["Name"],
            r["Relocation"]["Addend"],
        ]
        for section in report.get("Relocations", [])
        for r in section["Relocs"]
    ]


def _for_objdump(path: Path, symbols: list[list[Any]]) -> bytes:
    """A copy that LLVM 19 can disassemble.

    It has other flags where LLVM 19 does not know the processor, and lacks the SGPR counts that clang 19 writes for
    gfx10 and later although its disassembler refuses descriptors that have them.
    """
    editor = ElfEditor(path.read_bytes())
    for part, flags in STAND_INS.items():
        if part in path.name:
            editor.flags(flags)
    if any(part in path.name for part in ("gfx10", "gfx11", "gfx12")):
        section = editor.section(".rodata")
        for name, address, _, _ in symbols:
            if name.endswith(".kd"):
                at = address - editor.get("Q", section + 16) + editor.get("Q", section + 24) + 48
                editor.put("I", at, editor.get("I", at) & ~0x3C0)
    return editor.bytes()


def _descriptors(path: Path, symbols: list[list[Any]], work: Path) -> dict[str, dict[str, int]]:
    """The directives that would make each kernel descriptor again."""
    work.write_bytes(_for_objdump(path, symbols))
    result: dict[str, dict[str, int]] = {}
    mode = ["--mattr=+wavefrontsize64"] if "wave64" in path.name else []  # which the ELF header does not say
    for line in tools.run(tools.OBJDUMP, "-D", "-j", ".rodata", *mode, work).splitlines():
        words = line.split()
        if words[:1] == [".amdhsa_kernel"]:
            directives = result.setdefault(words[1], {})
        elif len(words) == 2 and words[0].startswith(".amdhsa_"):
            directives[words[0].removeprefix(".amdhsa_")] = int(words[1], 0)
    work.unlink(missing_ok=True)
    return result


def describe(path: Path, work: Path) -> dict[str, Any]:
    report = _readobj(path, "--file-headers", "--notes", "--symbols", "--dyn-symbols", "--program-headers", "--relocs")
    header = report["ElfHeader"]
    golden = {
        "flags": header["Flags"]["Value"],
        "flag_names": [flag["Name"] for flag in header["Flags"]["Flags"]],
        "abi_version": header["Ident"]["ABIVersion"],
        "segments": _segments(report),
        "symbols": _symbols(report),
        "relocations": _relocations(report),
        "metadata": _metadata(report),
    }
    if header["SectionHeaderCount"] not in ("0", 0):
        golden["descriptors"] = _descriptors(path, golden["symbols"], work)
    return golden


PROCESSORS = {
    64: [
        "gfx900",
        "gfx902",
        "gfx904",
        "gfx906",
        "gfx908",
        "gfx909",
        "gfx90a",
        "gfx90c",
        "gfx940",
        "gfx941",
        "gfx942",
        "gfx9-generic",
    ],
    32: [
        "gfx1010",
        "gfx1011",
        "gfx1012",
        "gfx1013",
        "gfx1030",
        "gfx1031",
        "gfx1032",
        "gfx1033",
        "gfx1034",
        "gfx1035",
        "gfx1036",
        "gfx1100",
        "gfx1101",
        "gfx1102",
        "gfx1103",
        "gfx1150",
        "gfx1151",
        "gfx1152",
        "gfx1200",
        "gfx1201",
        "gfx10-1-generic",
        "gfx10-3-generic",
        "gfx11-generic",
        "gfx12-generic",
    ],
}
VGPRS = [8, 24, 25, 32, 33, 40, 48, 49, 64, 65, 73, 84, 96, 97, 121, 128, 129, 144, 168, 192, 193, 217, 241, 256]
SGPRS = [16, 60, 74, 82, 90, 94, 100]
ACCUMULATION = [(64, 1), (64, 64), (128, 60), (128, 128), (256, 256)]


def _registers_source(processor: str, wavefront: int) -> str:
    """One kernel for each count of registers; each names its last register and so uses all."""
    uses = [f"v{count - 1}" for count in VGPRS] + [f"s{count - 1}" for count in SGPRS]
    if processor in ("gfx908", "gfx90a", "gfx940", "gfx941", "gfx942"):
        uses += [f'v{vgprs - 1}", "a{agprs - 1}' for vgprs, agprs in ACCUMULATION]
    return "".join(
        f'extern "C" __attribute__((global, amdgpu_flat_work_group_size({wavefront}, {wavefront}))) void k{i}() '
        f'{{ asm volatile("; use" ::: "{use}"); }}\n'
        for i, use in enumerate(uses)
    )


def _occupancies(processor: str, wavefront: int, native: bool, folder: Path) -> list[list[int]]:
    """compute_pgm_rsrc1, compute_pgm_rsrc3, SGPRs and waves of a SIMD, for each kernel."""
    source, code = folder / "registers.tmp.hip", folder / "registers.tmp"
    source.write_text(_registers_source(processor, wavefront))
    options = [] if native else ["-mwavefrontsize64"]
    command = [
        tools.CLANG,
        "-x",
        "hip",
        "-O1",
        "--offload-device-only",
        "--no-gpu-bundle-output",
        "-nogpulib",
        "-nogpuinc",
        f"--offload-arch={processor}",
        *(["-mcode-object-version=6"] if "generic" in processor else []),
        *options,
        source,
    ]
    tools.run(*command, "-S", "-o", code)
    text = code.read_text()
    waves = [int(n) for n in re.findall(r"^; Occupancy: (\d+)", text, re.M)]
    sgprs = [int(n) for n in re.findall(r"^; (?:Total)?NumSgprs: (\d+)", text, re.M)]
    tools.run(*command, "-o", code)
    editor = ElfEditor(code.read_bytes())
    at = editor.contents(".rodata")
    code.unlink()
    source.unlink()
    return [
        [editor.get("I", at + 64 * i + 48), editor.get("I", at + 64 * i + 44), sgprs[i], count]
        for i, count in enumerate(waves)
    ]


def occupancies(folder: Path) -> dict[str, dict[str, list[list[int]]]]:
    """LLVM's occupancy of kernels with many counts of registers, by processor and wavefront size."""
    result: dict[str, dict[str, list[list[int]]]] = {}
    for native, processors in PROCESSORS.items():
        for processor in processors:
            sizes = [64] if native == 64 else [32, 64]
            result[processor] = {str(size): _occupancies(processor, size, size == native, folder) for size in sizes}
    return result


def machine_numbers(folder: Path) -> dict[str, int]:
    """e_flags that LLVM writes for each processor when no feature is fixed."""
    result = {}
    for processor in [*OLDER, *(name for names in PROCESSORS.values() for name in names)]:
        output = folder / "flags.tmp"
        version = 6 if "generic" in processor else 4
        tools.run(
            tools.MC,
            "-triple=amdgcn-amd-amdhsa",
            f"-mcpu={processor}",
            f"--amdhsa-code-object-version={version}",
            "-filetype=obj",
            "-o",
            output,
            "/dev/null",
        )
        result[processor] = ElfEditor(output.read_bytes()).get("I", 48)
        output.unlink()
    return result


OLDER = [
    "gfx600",
    "gfx601",
    "gfx602",
    "gfx700",
    "gfx701",
    "gfx702",
    "gfx703",
    "gfx704",
    "gfx705",
    "gfx801",
    "gfx802",
    "gfx803",
    "gfx805",
    "gfx810",
]
