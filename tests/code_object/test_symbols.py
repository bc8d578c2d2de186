"""Variables and kernels by their names, where several symbols have one."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest
import warm_python
from code_object_support import CodeObject, Kernel, Variable

import wave_emulator
import wave_runtime
from wave_runtime import _C

DESCRIPTORS = 256  # where the first one is
KERNELS = [Kernel(kernarg_size=8, private_size=index) for index in (4, 8)]  # a descriptor's second dword


def private_size(variables: list[Variable], name: str = "size") -> int:
    """What a variable of the module holds: it lies over the second dword of a descriptor."""
    kernels = [KERNELS[0], Kernel("other", private_size=8)]
    code = CodeObject(kernels=kernels, variables=variables).build()
    module = wave_runtime.load(code, signature=dict.fromkeys(("kernel", "other"), "*u8"))
    found = module.symbol(name, device="cpu").tolist()
    return int.from_bytes(bytes(found), "little")


FIRST, SECOND = DESCRIPTORS + 4, DESCRIPTORS + 64 + 4


def test_an_exported_variable_comes_before_local_ones() -> None:
    local, other = Variable("size", FIRST, is_local=True), Variable("size", FIRST + 8, is_local=True)
    exported = Variable("size", SECOND)
    assert private_size([local, exported]) == 8
    assert private_size([exported, local]) == 8
    assert private_size([local, other, exported]) == 8


def test_the_only_variable_may_be_local() -> None:
    assert private_size([Variable("size", SECOND, is_local=True)]) == 8


def test_one_address_is_one_variable() -> None:
    assert private_size([Variable("size", FIRST, is_local=True)] * 2) == 4


def test_several_local_variables_of_one_name() -> None:
    variables = [Variable("size", at, is_local=True) for at in (FIRST, SECOND)]
    message = "the module has 2 variables 'size', none of them exported, so that it cannot be told which is meant"
    with pytest.raises(ValueError, match=message):
        private_size(variables)


def test_functions_and_labels_are_no_variables() -> None:
    label = Variable("kernel", FIRST, size=0)
    for name in ("kernel", "label"):
        with pytest.raises(ValueError, match=f"no variable '{name}' in the module"):
            private_size([label, Variable("label", FIRST, size=0)], name)


def bundle(code: bytes) -> bytes:
    name = b"hipv4-amdgcn-amd-amdhsa--gfx942"
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, 4096, len(code), len(name)) + name
    return head.ljust(4096, b"\0") + code


def test_a_variable_of_several_translation_units() -> None:
    """Each has its own, so that one of them would be the wrong one."""
    units = [CodeObject(kernels=[Kernel(name)], variables=[Variable("size", FIRST)]).build() for name in "ab"]
    library = wave_runtime.load(b"".join(map(bundle, units)), signature=dict.fromkeys("ab", ""))
    assert library.kernels == ("a", "b")
    with pytest.raises(ValueError, match="variable 'size' is in 2 translation units of the module, each of which has"):
        library.symbol("size", device="cpu")
    with pytest.raises(ValueError, match="no variable 'sizes' in the module"):
        library.symbol("sizes", device="cpu")
    only_one = [units[0], CodeObject(kernels=[Kernel("b")]).build()]
    for files in (only_one, only_one[::-1]):
        module = wave_runtime.load(b"".join(map(bundle, files)), signature=dict.fromkeys("ab", ""))
        assert module.symbol("size", device="cpu").numel() == 4


@pytest.mark.parametrize(("size", "is_set"), [(8, True), (4, False), (0, False)])
def test_managed_variables(size: int, is_set: bool) -> None:
    """`v` becomes the address of its value, `v.managed`, if it is a pointer at all; a value may be there alone."""
    pointer = DESCRIPTORS + 24  # eight bytes that a descriptor does not use
    variables = [Variable("v.managed", FIRST), Variable("alone.managed", SECOND)]
    variables += [Variable("v", pointer, size)] if size != 0 else []
    module = wave_runtime.load(CodeObject(kernels=KERNELS[:1], variables=variables).build(), signature={"kernel": ""})
    value = module.symbol("v.managed", device="cpu")
    found = ctypes.c_uint64.from_address(value.data_ptr() - FIRST + pointer).value
    assert found == (value.data_ptr() if is_set else 0)


def test_kernels_of_descriptors_of_one_name() -> None:
    """Without metadata descriptors are found by their symbols."""
    at = DESCRIPTORS + 64
    kernels = [Kernel("first", private_size=4), Kernel("second", private_size=8)]
    twice = [Variable("k.kd", where, size=64, is_local=True) for where in (DESCRIPTORS, at)]
    with pytest.raises(ValueError, match=r"several symbols k\.kd, none of them exported: which is the kernel's\?"):
        wave_runtime.load(CodeObject(kernels=kernels, variables=twice).build())
    exported = [twice[0], Variable("k.kd", at, size=64)]
    module = wave_runtime.load(CodeObject(kernels=kernels, variables=exported).build(), signature={"k": ""})
    assert module["k"].resources("cpu")["local_memory"] == 8


def test_a_handle_of_a_name_with_an_at_sign(tmp_path: Path) -> None:
    """Symbols with versions have one. An exported program knows a kernel by its handle, and brings the code."""
    code = CodeObject(kernels=[Kernel(name, kernarg_size=8) for name in ("k", "k@v1")]).build()
    kernel = wave_runtime.load(code, signature=dict.fromkeys(("k", "k@v1"), "*u8"))["k@v1"]
    path = tmp_path / "code"
    path.write_bytes(code)
    launch = f"""
import pathlib, torch, wave_runtime
code = torch.frombuffer(bytearray(pathlib.Path({str(path)!r}).read_bytes()), dtype=torch.uint8)
torch.ops.wave.launch_embedded({kernel.handle!r}, [code], [torch.zeros(1, dtype=torch.uint8)], [], [], [1], [64])
print([kernel for item in wave_runtime.loaded() for kernel in item.kernels])
"""
    done = warm_python.run("-c", launch)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['k@v1']\n"


def test_hip_library(tmp_path: Path) -> None:
    """As AMD's, which knows the exported variables."""
    hip = ctypes.CDLL(str(wave_emulator.library("wave_hip_emulator")))
    variables = [
        Variable("size", FIRST, is_local=True),
        Variable("size", SECOND),
        *(Variable("local", at, is_local=True) for at in (FIRST, SECOND)),
    ]
    kernels = [Kernel(), Kernel("other", private_size=8)]
    path = tmp_path / "code.hsaco"
    path.write_bytes(CodeObject(kernels=kernels, variables=variables).build())
    module, address, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()

    def find(name: bytes | None) -> int:
        return int(hip.hipModuleGetGlobal(ctypes.byref(address), ctypes.byref(size), module, name))

    assert hip.hipModuleLoad(ctypes.byref(module), str(path).encode()) == 0
    assert find(b"size") == 0
    assert size.value == 4
    assert address.value is not None
    assert ctypes.c_uint32.from_address(address.value).value == 8
    assert [find(name) for name in (b"local", b"nothing", b"", None)] == [500, 500, 1, 1]
    assert hip.hipModuleGetGlobal(None, None, module, b"size") == 1
    assert hip.hipModuleUnload(module) == 0


def code_size(kernel_size: int, *others: int, entry: int = 0x200) -> int:
    """Of a kernel whose code has more names, of these sizes; those before it in the file's table and those behind."""
    names = [Variable(f"name{index}", entry, size) for index, size in enumerate(others)]
    code = CodeObject(variables=names).build()
    own = struct.pack("<BBHQQ", 0x12, 3, 1, entry, 4)
    assert code.count(own) == 1
    info = _C.CodeObject(code.replace(own, struct.pack("<BBHQQ", 0x12, 3, 1, entry, kernel_size))).describe()
    assert info["kernels"][0]["entry_address"] == entry
    return int(info["kernels"][0]["code_size"])


@pytest.mark.parametrize(
    ("own", "others", "size"),
    [
        (8, (), 8),
        (8, (4,), 8),
        (8, (12,), 8),
        (8, (4, 12), 8),
        (0, (4,), 4),
        (0, (0,), 256),  # up to the end of the code
        (0, (), 256),
        (0, (260,), 256),
        (260, (4,), 256),
    ],
)
def test_size_of_code_with_several_names(own: int, others: tuple[int, ...], size: int) -> None:
    """The kernel's own symbol says it, or another at its entry where that has no size."""
    assert code_size(own, *others) == size
