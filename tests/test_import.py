"""Importing the package: what it must do and what it must not."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from requirements import absent

import wave_runtime

PACKAGE = Path(wave_runtime.__file__).parent


def python(code: str, path: Path = PACKAGE.parent) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(path)}, cwd="/", timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_ok() -> None:
    assert python("import wave_runtime; print('Wave Runtime OK')") == "Wave Runtime OK"


REFUSED = """
import sys, torch
{before}
try:
    import wave_runtime
except ImportError as error:
    print(error, "wave_runtime._C" in sys.modules)
"""


@pytest.mark.parametrize(
    ("before", "error"),
    [
        (
            "torch.__version__ = '2.99.1+cu1'",
            r"was built for torch (2\.\d+)\S*, and torch 2.99.1\+cu1 is .* torch==\1\.\*",
        ),
        ("sys.modules['wave_runtime._built_for'] = None", "is not built here: run `make build` in its sources"),
    ],
    ids=["another torch", "not built"],
)
def test_libraries_must_fit_the_torch(before: str, error: str) -> None:
    """What is not built says so, too; nothing is loaded."""
    assert re.match(rf"wave_runtime {error}.* False$", python(REFUSED.format(before=before)))


RELOADS = """
import importlib, sys, torch, wave_runtime
{before}
importlib.reload(wave_runtime)
for name in [name for name in sys.modules if name.startswith("wave_runtime") and name != "wave_runtime._C"]:
    del sys.modules[name]
import wave_runtime
import torch._dynamo
print(torch.ops.wave.launch.default)
"""


@pytest.mark.parametrize("before", ["", "import torch._dynamo"])
def test_again_and_reloaded(before: str) -> None:
    assert python(RELOADS.format(before=before)) == "wave.launch.default"


def test_does_not_import_what_few_need() -> None:
    names = ("torch._dynamo", "wave_runtime._runtime", "wave_runtime.op_reg", "iree")
    assert python(f"import wave_runtime, sys; print([name for name in {names} if name in sys.modules])") == "[]"


def test_links_no_gpu_library() -> None:
    for name in PACKAGE.glob("*.so"):
        needed = subprocess.run(["readelf", "-d", name], capture_output=True, text=True, check=True).stdout
        for library in ("amdhip", "libcuda", "cudart", "hsa-runtime"):
            assert library not in needed, (name, library)


def test_wins_over_upstreams_module(tmp_path: Path) -> None:
    """The wave-lang wheel installs a module wave_runtime*.so beside packages: the package must be found first."""
    upstream = list(Path(sysconfig.get_paths()["platlib"]).glob("wave_runtime.*.so"))
    if not upstream:
        absent("wave-lang")
    (tmp_path / "wave_runtime").symlink_to(PACKAGE)
    (tmp_path / upstream[0].name).symlink_to(upstream[0])
    code = "import wave_runtime; print(wave_runtime.load.__module__)"
    assert python(code, tmp_path) == "wave_runtime._module"


def test_public_names() -> None:
    assert sorted(wave_runtime.__all__) == [
        "BoundLaunch",
        "Comparison",
        "CompileError",
        "Device",
        "DeviceState",
        "Int32Vector",
        "Int64Vector",
        "Kernel",
        "KernelFault",
        "KernelLaunchInfo",
        "LaunchError",
        "Launchable",
        "Loaded",
        "Module",
        "Operator",
        "PortableKernel",
        "Sequence",
        "SourceKernel",
        "SourceModule",
        "Variants",
        "__version__",
        "cdiv",
        "compare",
        "compile",
        "define_op",
        "from_wave",
        "get_vm_instance",
        "hooks",
        "invoke_vm_function",
        "kernel",
        "launch",
        "launch_kernel",
        "load",
        "load_binary",
        "load_hip_functions",
        "loaded",
        "module",
        "op_reg",
        "sequence",
        "variants",
    ]
