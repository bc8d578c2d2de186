"""Importing the package: what it must do and what it must not."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import warm_python
from requirements import absent

import wave_emulator
import wave_runtime
from wave_runtime import compat

PACKAGE = Path(wave_runtime.__file__).parent


def python(code: str, path: Path = PACKAGE.parent) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(path)}, cwd="/", timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def with_torch(code: str) -> str:
    """What a program prints that imports torch first."""
    done = warm_python.run("-c", code, cwd=Path("/"))
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
            r"was built for torch (2\.\d+)[\d., ]*, and torch 2.99.1\+cu1 is .* torch==\1\.\*",
        ),
        ("import pathlib; pathlib.Path.glob = lambda *_: []", "is not built here: build it by `pip install"),
        ("sys._is_gil_enabled = lambda: False", "does not support free-threaded Python: use a build"),
    ],
    ids=["another torch", "not built", "free-threaded"],
)
def test_libraries_must_fit_the_torch(before: str, error: str) -> None:
    """What is not built says so, too; nothing is loaded."""
    assert re.match(rf"wave_runtime {error}.* False$", with_torch(REFUSED.format(before=before)))


OTHER_TORCH = """
import sys, warnings, torch
class Loaded:  # the libraries, which are of the torch that is here
    def find_spec(self, name, *_):
        if name == "wave_runtime._torch":
            torch.__version__ = {version!r}
sys.meta_path.insert(0, Loaded())
{before}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        import wave_runtime
    except ImportError as error:
        print(error)
print(*(warning.message for warning in caught if "wave_runtime" in str(warning.message)))
"""


@pytest.mark.parametrize(
    ("version", "before", "text"),
    [
        ("2.9.1", "", r"supports torch 2\.10 to 2\.\d\d, and torch 2\.9\.1 is installed"),
        (
            "2.12.0",
            "import torch._functorch.utils as utils\n"
            "del torch._C._any_requires_grad, utils.enable_single_level_autograd_function",
            r"Torch 2\.12\.0, which is installed, lacks torch\._functorch\.utils\.enable_single_level_autograd_function"
            r", which is for derivatives of operators; and torch\._C\._any_requires_grad, which is for operators w",
        ),
        ("2.99.0", "", r"is made for torch 2\.10 to 2\.\d\d; torch 2\.99\.0, which is installed, is newer"),
        ("2.10.0+rocm7", "", "^$"),
    ],
    ids=["too old", "a name is gone", "newer", "supported"],
)
def test_torch_must_be_supported(version: str, before: str, text: str) -> None:
    assert re.search(text, with_torch(OTHER_TORCH.format(version=version, before=before)))


def test_supported_releases_are_stated() -> None:
    first, last = wave_runtime._torch.SUPPORTED
    readme = (PACKAGE.parent / "README.md").read_text()
    assert f"torch {first} to {last}" in readme
    assert f'"torch>={first}"' in (PACKAGE.parent / "setup.py").read_text()


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
    assert with_torch(RELOADS.format(before=before)) == "wave.launch.default"


def test_does_not_import_what_few_need() -> None:
    names = ("torch._dynamo", "wave_runtime.compat", "wave_runtime.op_reg", "wave_runtime.pyhip", "iree")
    assert with_torch(f"import wave_runtime, sys; print([name for name in {names} if name in sys.modules])") == "[]"


def test_links_no_gpu_library() -> None:
    libraries = [*PACKAGE.glob("torch_*/*.so"), *map(wave_emulator.library, wave_emulator.LIBRARIES)]
    assert len(libraries) >= 5
    for name in libraries:
        needed = subprocess.run(["readelf", "-d", name], capture_output=True, text=True, check=True).stdout
        for library in ("amdhip", "libcuda", "cudart", "hsa-runtime"):
            assert library not in needed, (name, library)


def test_wins_over_upstreams_module(tmp_path: Path) -> None:
    """The wave-lang wheel installs a module wave_runtime*.so beside packages: the package must be found first."""
    upstream = list(Path(sysconfig.get_paths()["platlib"]).glob("wave_runtime.*.so"))
    if not upstream:
        absent("wave-lang")
    (tmp_path / "wave_runtime").symlink_to(PACKAGE)
    (tmp_path / "wave_emulator").symlink_to(Path(wave_emulator.__file__).parent)
    (tmp_path / upstream[0].name).symlink_to(upstream[0])
    code = "import wave_runtime; print(wave_runtime.load.__module__)"
    assert python(code, tmp_path) == "wave_runtime._module"


CORE = [
    "BoundLaunch",
    "Comparison",
    "CompileError",
    "Emulation",
    "Finding",
    "Kernel",
    "KernelFault",
    "Loaded",
    "Module",
    "Operator",
    "Profile",
    "Sanitation",
    "SanitizeError",
    "Sequence",
    "Variants",
    "__version__",
    "autotune",
    "cdiv",
    "compare",
    "compile",
    "define_op",
    "do_bench",
    "emulate",
    "from_triton",
    "from_wave",
    "hooks",
    "load",
    "loaded",
    "profile",
    "sanitize",
    "sequence",
    "variants",
]
UPSTREAM = ["Int32Vector", "Int64Vector", "KernelLaunchInfo", "launch", "load_binary", "load_hip_functions"]


def test_public_names() -> None:
    """A name is added here on purpose. dir() has no others, but what was imported meanwhile."""
    assert sorted(wave_runtime.__all__) == sorted(CORE + UPSTREAM)
    shown = with_torch("import wave_runtime; print([name for name in dir(wave_runtime) if not name.startswith('_')])")
    assert sorted(ast.literal_eval(shown)) == sorted(set(CORE + UPSTREAM) - {"__version__"})


COMPAT = {
    "launchable": [
        "Device",
        "DeviceState",
        "Launchable",
        "MismatchedDeviceSetClearError",
        "NoCurrentDeviceError",
        "UnsupportedTorchDeviceError",
        "get_vm_instance",
        "invoke_vm_function",
    ],
    "op_reg": [
        "ALL_CUSTOM_OP_REGS",
        "ArgDescriptor",
        "AttrArg",
        "CustomOp",
        "EmptyOptionalTensorArg",
        "FreeFuncKernelBuilder",
        "IntArg",
        "KernelBuilder",
        "KernelLaunch",
        "KernelSelection",
        "TensorArg",
        "TensorListArg",
        "def_library",
    ],
    "pyhip": ["JIT", "SourceKernel", "SourceModule", "jit", "module"],
    "vendors": ["LaunchError", "PortableKernel", "kernel", "launch_kernel"],
}


def test_public_names_for_other_libraries_users() -> None:
    assert {name: sorted(getattr(compat, name).__all__) for name in compat.__all__} == COMPAT
    for name in set(wave_runtime._ELSEWHERE):
        assert getattr(wave_runtime, name) is getattr(getattr(compat, wave_runtime._ELSEWHERE[name]), name)
    with pytest.raises(AttributeError, match="module 'wave_runtime' has no attribute 'lunch'"):
        wave_runtime.lunch  # noqa: B018


PROMISED = {
    "import wave_runtime.pyhip as found": "pyhip",
    "from wave_runtime import pyhip as found": "pyhip",
    "import wave_runtime; found = wave_runtime.pyhip": "pyhip",
    "from wave_runtime.pyhip import module; import wave_runtime.pyhip as found": "pyhip",
    "import wave_runtime.op_reg as found": "op_reg",
    "from wave_runtime import op_reg as found": "op_reg",
    "import wave_runtime; found = wave_runtime.op_reg": "op_reg",
    "import wave_runtime.op_reg.impl_helper as found": "op_reg.impl_helper",
    "from wave_runtime.op_reg import CustomOp, impl_helper as found": "op_reg.impl_helper",
}


def test_promised_paths_are_the_same_modules() -> None:
    """Each in a process of its own, since what was imported before would help: children of one that has torch."""
    program = f"""
import os, sys, torch, wave_runtime
for line, name in {list(PROMISED.items())}:
    child = os.fork()
    if child == 0:
        exec(line)
        same = __import__("importlib").import_module("wave_runtime.compat." + name)
        copies = [key for key in sys.modules if key.endswith("._custom_op") or key.endswith(".op_reg._builder")]
        os._exit(0 if found is same and not any(key.startswith("wave_runtime.op_reg") for key in copies) else 1)
    print(name if os.waitpid(child, 0)[1] == 0 else "wrong: " + line)
"""
    assert with_torch(program).splitlines() == list(PROMISED.values())
