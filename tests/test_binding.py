"""The binding: what it needs of Python and torch, and how its functions take arguments."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import warm_python
from support import ROOT

import wave_runtime
from wave_runtime import _C, _abi

BINDING = Path(_C.__file__ or "")


def undefined() -> set[str]:
    command = ["nm", "-D", "--undefined-only", BINDING]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines}


def test_keeps_to_the_stable_abi() -> None:
    """Of Python it needs nothing but what is stable since 3.10, so that it runs on all later versions."""
    command = [sys.executable, "-m", "abi3audit", "--strict", "--assume-minimum-abi3", "3.10", BINDING]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(name.startswith("PyType_FromSpec") for name in undefined()), "there is something to audit"


def test_lies_with_the_release_of_torch_that_it_is_for() -> None:
    major, minor, *_ = torch.__version__.split(".")
    assert BINDING.parent.name == f"torch_{major}_{minor}"
    assert f"{major}.{minor}" in _abi.built()
    assert _abi.folder() == BINDING.parent


def test_sources_see_python_in_one_place() -> None:
    """All of Python's API is seen by the file alone that compares torch's headers, and that makes no code."""
    includes = re.compile(r"^#include <(Python\.h|pybind11\S*|torch/csrc/autograd/python_variable\.h)>", re.MULTILINE)
    files = [path for path in (ROOT / "csrc").rglob("*.*") if includes.search(path.read_text())]
    assert sorted(path.name for path in files) == ["layout.cpp", "python_api.h"]


def test_functions_say_what_they_take() -> None:
    assert str(inspect.signature(_C.code_objects)) == "(data, target=None)"
    assert str(inspect.signature(_C.isa_fields)) == "(processor='gfx942')"
    assert str(inspect.signature(_C.Kernel.launch_raw)) == (
        "(self, /, arguments, *, memory=(), reads=(), device=None, process_memory=False, **keywords)"
    )
    assert (_C.code_objects.__doc__ or "").startswith("Those in a file")


DATA = b"not a code object"


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        ((), {}, TypeError, r"code_objects\(\): the argument 'data' is missing"),
        ((DATA, None, 1), {}, TypeError, r"code_objects\(\) takes at most 2 positional arguments, given 3"),
        ((DATA,), {"data": DATA}, TypeError, r"code_objects\(\) got two values for 'data'"),
        ((DATA,), {"other": 1}, TypeError, r"code_objects\(\) got an unexpected keyword 'other'"),
        (("text",), {}, TypeError, r"code_objects\(\): data: expected bytes, given str"),
        ((DATA, 942), {}, TypeError, r"code_objects\(\): target: expected a str, given int"),
        ((DATA,), {"target": "gfx0x"}, ValueError, "gfx0x"),
    ],
)
def test_wrong_arguments(
    arguments: tuple[object, ...], keywords: dict[str, object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        _C.code_objects(*arguments, **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-1, ValueError, "workgroup_size: -1 is out of range"),
        (1 << 32, ValueError, "workgroup_size: 4294967296 does not fit in 32 bits"),
        (1.5, TypeError, "workgroup_size: expected an int, given float"),
        (None, TypeError, "workgroup_size: expected an int, given None"),
    ],
)
def test_integers_must_fit(value: object, error: type[Exception], text: str) -> None:
    data = (ROOT / "examples/kernels/binaries/basics.hsaco").read_bytes()
    with pytest.raises(error, match=re.escape(f"occupancy(): {text}")):
        _C.occupancy(data, None, "vector_add", value, 0)  # type: ignore[arg-type]


def test_keyword_only_arguments(vector_add: wave_runtime.Kernel) -> None:
    with pytest.raises(TypeError, match=r"launch_raw\(\) takes at most 1 positional arguments, given 2"):
        vector_add.launch_raw(b"", [])  # type: ignore[misc, call-arg]


def test_types_that_only_python_makes() -> None:
    with pytest.raises(TypeError, match=r"cannot create 'wave_runtime\.Kernel' instances"):
        _C.Kernel()
    with pytest.raises(TypeError, match="cannot create"):
        _C.Sanitizer()


def test_a_call_goes_past_python(vector_add: wave_runtime.Kernel) -> None:
    """Compilers find a __call__ in Python; no other call goes there."""
    called = []

    def trace(frame: object, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)  # type: ignore[attr-defined]

    a, c = torch.ones(64), torch.zeros(64)
    vector_add(a, a, c, 64, grid=1, block=256)
    sys.setprofile(trace)
    try:
        vector_add(a, a, c, 64, grid=1, block=256)
    finally:
        sys.setprofile(None)
    assert called == []
    assert inspect.isfunction(type(vector_add).__call__)


def test_an_operators_call_goes_past_python() -> None:
    @wave_runtime.define_op("binding_test::double")
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    called = []

    def trace(frame: object, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)  # type: ignore[attr-defined]

    double(torch.ones(1))
    sys.setprofile(trace)
    try:
        double(torch.ones(1))
    finally:
        sys.setprofile(None)
    assert called == ["double"]
    assert inspect.isfunction(type(double).__call__)
    assert (type(double).__name__, type(double).__module__) == ("Operator", "wave_runtime._op._operator")
    assert pickle.loads(pickle.dumps(double)) is double


HOOK = """
import torch, wave_runtime
kernel = wave_runtime.load({file!r}, signature={{"vector_add": "*f32 const, *f32 const, *f32, i32"}})["vector_add"]
class Odd(Exception):
    pass
def hook(event):
    raise Odd("from a hook")
wave_runtime.hooks.launch_hook(enter=hook).__enter__()
a, c = torch.ones(64), torch.zeros(64)
for launch in (lambda: kernel(a, a, c, 64, grid=1, block=256),
               lambda: torch.ops.wave.launch(kernel.handle, [a, a], [c], [64], [], [1], [256])):
    try:
        launch()
    except Odd as error:
        print(error, error.__traceback__ is not None)
"""


def test_errors_of_python_come_out_of_operators_as_they_are() -> None:
    """What Python raises below torch's dispatcher is no RuntimeError with its text."""
    code = HOOK.format(file=str(ROOT / "examples/kernels/binaries/basics.hsaco"))
    path = str(Path(wave_runtime.__file__).parent.parent)
    done = warm_python.run("-c", code, env={**os.environ, "PYTHONPATH": path})
    assert done.stdout == "from a hook True\n" * 2, done.stderr
