"""Makes the NVIDIA binaries in this folder, and golden.json with what cuobjdump says of them.

    python tests/code_object/nvidia/make.py --cuda BIN --old-ptxas PTXAS

BIN is the folder bin of a CUDA 13 toolkit: ptxas, fatbinary, nvcc and cuobjdump; by default the tools on the PATH.
PTXAS is that of CUDA 12, which writes the older layout of cubins (EI_ABIVERSION 7). Both come as wheels from PyPI, too:
nvidia-cuda-nvcc with nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime and nvidia-cuda-cuobjdump; and
nvidia-cuda-nvcc-cu12. No GPU is needed. The outputs are committed, so that tests need none of this.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

# name: source, processor, whether the older ptxas compiles it
CUBINS = {
    "sm_80.cubin": ("kernels.ptx", "sm_80", False),
    "sm_90.cubin": ("kernels.ptx", "sm_90", False),
    "sm_90a.cubin": ("kernels.ptx", "sm_90a", False),
    "sm_100f.cubin": ("cluster.ptx", "sm_100f", False),
    "sm_120a.cubin": ("cluster.ptx", "sm_120a", False),
    "cluster_sm_90.cubin": ("cluster.ptx", "sm_90", False),
    "abi7_sm_80.cubin": ("kernels.ptx", "sm_80", True),
    "abi7_sm_90a.cubin": ("kernels.ptx", "sm_90a", True),
}
FATBIN_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
FATBINS = {"none.fatbin": "none", "lz4.fatbin": "speed", "zstd.fatbin": "size"}


def run(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def ptx_for(source: str, processor: str, folder: Path) -> Path:
    """The source for another processor, and for the version of the ISA that knows it."""
    text = (FOLDER / source).read_text()
    text = re.sub(r"\.target sm_\w+", f".target {processor}", text)
    path = folder / f"{processor}.{source}"
    path.write_text(text.replace(".version 8.0", ".version 8.8"))
    return path


def resources(cuobjdump: str, cubin: Path) -> dict[str, dict[str, int]]:
    """Of each kernel what ``cuobjdump -res-usage`` prints."""
    found = re.findall(
        r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", run(cuobjdump, "-res-usage", cubin)
    )
    return {
        name: dict(zip(("registers", "stack", "shared", "local"), map(int, numbers), strict=True))
        for name, *numbers in found
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", type=Path)
    parser.add_argument("--old-ptxas", type=Path, required=True)
    options = parser.parse_args()

    def tool(name: str) -> str:
        path = shutil.which(name) if options.cuda is None else str(options.cuda / name)
        if path is None:
            parser.error(f"no {name} on the PATH: give --cuda")
        return path

    golden = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        for name, (source, processor, is_old) in CUBINS.items():
            ptxas = options.old_ptxas if is_old else tool("ptxas")
            run(ptxas, f"-arch={processor}", ptx_for(source, processor, work), "-o", FOLDER / name)
            (line,) = re.findall(r"^.*\bsm=\w+.*$", run(tool("cuobjdump"), "-elf", FOLDER / name), re.M)
            golden[name] = {
                "abi": int(re.search(r"abi=(\d+)", line, re.I)[1]),  # type: ignore[index]
                "sm": re.search(r"sm=(\w+)", line)[1],  # type: ignore[index]
                "kernels": resources(tool("cuobjdump"), FOLDER / name),
            }
        ptx = ptx_for("cluster.ptx", "sm_90", work)
        images = [
            f"--image3=kind=elf,sm=80,file={FOLDER / 'sm_80.cubin'}",
            f"--image3=kind=elf,sm=90a,file={FOLDER / 'sm_90a.cubin'}",
            f"--image3=kind=ptx,sm=90,file={ptx}",
        ]
        for name, mode in FATBINS.items():
            output = FOLDER / name
            run(tool("fatbinary"), "-64", f"--create={output}", "--compress-all", f"--compress-mode={mode}", *images)
        codes = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]
        for name, more in (("host.o", "-rdc=false"), ("host_relocatable.o", "-rdc=true")):
            run(tool("nvcc"), "-c", more, *codes, FOLDER / "vector_add.cu", "-o", work / name)
            # Only the sections that are read: the others hold what nvcc adds to the host's code.
            run("objcopy", *(f"-j{section}" for section in FATBIN_SECTIONS), work / name, FOLDER / name)
    (FOLDER / "golden.json").write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
