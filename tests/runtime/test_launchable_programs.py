"""Launchable over programs in MLIR, on the CPU."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from wave_runtime.compat.launchable import Device, Launchable, _program, get_vm_instance, invoke_vm_function
from wave_runtime.compat.launchable._device import get_device_from_torch

pytestmark = pytest.mark.needs("iree")

CPU = torch.device("cpu")
ADD = """
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @nothing(%a: tensor<?xf32>) { return }
func.func @several(%a: tensor<?xf32>, %n: i64) -> (tensor<?xf32>, tensor<?xf32>, i64) {
  %0 = arith.addf %a, %a : tensor<?xf32>
  return %0, %a, %n : tensor<?xf32>, tensor<?xf32>, i64
}
util.func public @"main$async"(%a: tensor<?xf32>) -> tensor<?xf32> attributes {iree.abi.model = "coarse-fences"} {
  %0 = arith.addf %a, %a : tensor<?xf32>
  util.return %0 : tensor<?xf32>
}
"""


@pytest.fixture(scope="module")
def vmfb() -> bytes:
    return _program.compile_program(ADD.encode(), get_device_from_torch(CPU).compile_target_flags)


@pytest.fixture(scope="module")
def load(vmfb: bytes) -> Callable[[str], Launchable]:
    def named(entry_point: str) -> Launchable:
        from iree.runtime import VmModule

        return Launchable.from_vm_module(
            lambda device: VmModule.copy_buffer(device.vm_instance, vmfb), entry_point=entry_point
        )

    return named


def test_one_result(load: Callable[[str], Launchable]) -> None:
    add = load("main")
    a, b = torch.randn(1000), torch.randn(2000)[::2]
    assert torch.equal(add(a, b), a + b)
    assert torch.equal(add(a[:10], b[:10]), a[:10] + b[:10])
    assert torch.equal(add(torch._neg_view(a), b[:1000]), b[:1000] - a)


def test_no_result_and_several(load: Callable[[str], Launchable]) -> None:
    a = torch.randn(10)
    assert load("nothing")(a) is None
    double, same, n = load("several")(a, 7)
    assert torch.equal(double, 2 * a)
    assert torch.equal(same, a)
    assert same.data_ptr() != a.data_ptr()
    assert n == 7
    assert isinstance(load("several")(a, 7), list)


def test_asynchronous(load: Callable[[str], Launchable]) -> None:
    double = load("main$async")
    for size in (10, 1000):
        a = torch.randn(size)
        assert torch.equal(double(a), 2 * a)


@pytest.mark.parametrize("entry_point", ["main", "main$async"])
def test_threads(load: Callable[[str], Launchable], entry_point: str) -> None:
    launch = load(entry_point)
    right: list[bool] = []

    def call(seed: int) -> None:
        a = torch.full((1000,), float(seed))
        arguments = (a, a) if entry_point == "main" else (a,)
        right.extend(torch.equal(launch(*arguments), 2 * a) for _ in range(50))

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 200


def test_outputs(load: Callable[[str], Launchable]) -> None:
    """The output is the output, not the last input."""
    a, b, c = torch.randn(10), torch.randn(10), torch.zeros(10)
    expected = a + b
    assert load("main")(a, b, outputs=[c]) is c
    assert torch.equal(c, expected)
    assert torch.equal(a + b, expected)
    with pytest.raises(ValueError, match=r"the program returned \[\(\(10,\), torch.float32\)\], but outputs= has"):
        load("main")(a, b, outputs=[torch.zeros(11)])
    with pytest.raises(AssertionError, match="Outputs must be contiguous"):
        load("main")(a, b, outputs=[torch.zeros(20)[::2]])


def test_arguments_are_checked(load: Callable[[str], Launchable]) -> None:
    add, a = load("main"), torch.ones(3)
    with pytest.raises(TypeError, match="argument 1: expected a tensor, int or float, given str"):
        add(a, "b")
    with pytest.raises(RuntimeError, match=re.escape(f"Cannot invoke Launchable {add} without any Tensor args")):
        add(1)
    with pytest.raises(RuntimeError, match="Cannot launch with tensors from multiple devices: meta vs cpu"):
        add(a, a.to("meta"))
    with pytest.raises(ValueError, match="input list and function mismatch"):
        add(a)
    with pytest.raises(ValueError, match=r"the program has no function 'nobody'; it has \['main', 'nothing'"):
        load("nobody")(a)


def test_errors_leave_the_device_usable(load: Callable[[str], Launchable]) -> None:
    double = load("main$async")
    with pytest.raises(ValueError, match="shape rank mismatch; expected 1 but have 2"):
        double(torch.ones(2, 2))
    assert torch.equal(double(torch.ones(3)), torch.full((3,), 2.0))


def test_loaders() -> None:
    with pytest.raises(
        NotImplementedError, match="Could not load a target binary for device <Turbine Device: local-ta"
    ):
        Launchable(None)(torch.ones(1))
    with pytest.raises(NotImplementedError, match="Could not load a target binary for device"):
        Launchable(lambda device: None).preload(CPU)


def test_loaded_once(vmfb: bytes) -> None:
    from iree.runtime import VmModule

    calls: list[Device] = []

    def loader(device: Device) -> tuple[str, Any]:
        calls.append(device)
        return "main", VmModule.copy_buffer(device.vm_instance, vmfb)

    launch = Launchable(loader, is_async=False)
    launch.preload(CPU)
    launch._loader = None
    for _ in range(2):
        assert torch.equal(launch(torch.ones(3), torch.ones(3)), torch.full((3,), 2.0))
    assert calls == [get_device_from_torch(CPU)]


@pytest.mark.parametrize("kind", ["text", "bytes", "path", "module"])
def test_jit_compile(kind: str, tmp_path: Path) -> None:
    source: Any = {"text": ADD, "bytes": ADD.encode(), "path": tmp_path / "add.mlir"}.get(kind)
    (tmp_path / "add.mlir").write_text(ADD)
    if kind == "module":
        from iree.compiler.ir import Context, Module

        source = Module.parse(ADD, Context()).operation
    launch = Launchable.jit_compile(source, entry_point="main")
    assert torch.equal(launch(torch.ones(3), torch.ones(3)), torch.full((3,), 2.0))


PARAMETER = """
util.global private @param = #flow.parameter.named<"param"> : tensor<4xi32>
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %param = util.global.load @param : tensor<4xi32>
  %0 = arith.addi %a, %param : tensor<4xi32>
  return %0 : tensor<4xi32>
}
"""


def test_parameters() -> None:
    from iree.runtime import ParameterIndex

    index = ParameterIndex()
    index.add_splat("param", (5).to_bytes(4, "little"), 16)
    providers = [index.create_provider()]
    add = Launchable.jit_compile(PARAMETER, parameter_providers=providers, entry_point="main")
    assert add(torch.arange(4, dtype=torch.int32)).tolist() == [5, 6, 7, 8]
    with pytest.raises(ValueError, match="required module 'io_parameters' not registered"):
        Launchable.jit_compile(PARAMETER, entry_point="main").preload(CPU)


def test_jit_compile_fails() -> None:
    with pytest.raises(RuntimeError, match=r"JIT compilation failed. See diagnostics.\n(.|\n)*custom op 'nonsense'"):
        Launchable.jit_compile("nonsense").preload(CPU)


def test_file_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new" / "folder"
    with pytest.raises(ValueError, match=f"Specified cache_dir, {folder}, does not exist."):
        Launchable.from_file_cache_only(folder)
    launch = Launchable.jit_compile(ADD, entry_point="main", file_cache_dir=folder)
    kept = Launchable.from_file_cache_only(folder, entry_point="main")
    path = folder / f"{get_device_from_torch(CPU).get_type_key_hash()}.vmfb"
    text = (
        f"No vmfb found at {path}. Please try running with jit compilation enabled, or verify {folder} is the correct"
    )
    with pytest.raises(RuntimeError, match=re.escape(text)):
        kept.preload(CPU)
    launch.preload(CPU)
    assert path.is_file()
    assert torch.equal(kept(torch.ones(3), torch.ones(3)), torch.full((3,), 2.0))
    compiled: list[bytes] = []
    compile_program = _program.compile_program

    def count(source: bytes, flags: tuple[str, ...]) -> bytes:
        compiled.append(source)
        return compile_program(source, flags)

    monkeypatch.setattr(_program, "compile_program", count)
    Launchable.jit_compile(ADD, entry_point="main", file_cache_dir=folder).preload(CPU)
    assert compiled == []
    hashes = path.with_suffix(".source").read_text()
    subtract = ADD.replace("addf", "subf")
    changed = Launchable.jit_compile(subtract, entry_point="main", file_cache_dir=folder)
    assert torch.equal(changed(torch.ones(3), torch.ones(3)), torch.zeros(3))
    assert compiled == [subtract.encode()]
    path.with_suffix(".source").write_text(hashes)  # as if a process had written it between another's two files
    again = Launchable.jit_compile(ADD, entry_point="main", file_cache_dir=folder)
    assert torch.equal(again(torch.ones(3), torch.ones(3)), torch.full((3,), 2.0))


def test_invoke_vm_function(vmfb: bytes) -> None:
    from iree.runtime import HalBufferView, VmContext, VmModule, VmVariantList

    device = Device("local-task")
    module = VmModule.copy_buffer(get_vm_instance(), vmfb)
    context = VmContext(get_vm_instance(), [device.create_hal_module(), module])
    for name, is_async, count in (("main", False, 2), ("main$async", True, 1)):
        arguments, results = VmVariantList(4), VmVariantList(1)
        for _ in range(count):
            arguments.push_ref(device.import_torch_tensor(torch.ones(3)))
        times = iter([10.0, 12.5])
        taken = invoke_vm_function(
            device, is_async, context, module.lookup_function(name), arguments, results, timer=times.__next__
        )
        assert taken == 2.5
        view = results.get_variant(0).deref(HalBufferView)
        assert torch.equal(device.export_torch_tensor(view, torch.empty(3, device="meta")), torch.full((3,), 2.0))


def test_under_compile(load: Callable[[str], Launchable]) -> None:
    """The call is not traced: the graph breaks there."""
    add = load("main")
    a = torch.randn(10)
    assert torch.equal(torch.compile(lambda a: add(a, a) + 1, backend="aot_eager")(a), a + a + 1)
