"""CustomOp whose kernels are code objects and sources: eager, compiled, exported. No IREE."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from runtime_support import ADD_SIGNATURE, SCALE, blocks, needs_clang
from support import EXAMPLES, ROOT

import wave_runtime
from wave_runtime.op_reg import CustomOp, KernelBuilder, KernelLaunch, KernelSelection, def_library

BASICS = EXAMPLES / "binaries" / "basics.hsaco"
LIBRARY = def_library("test_custom_op")
ASSEMBLY = (ROOT / "tests" / "emulator" / "kernels" / "probes.s").read_text()


def add_launch() -> KernelLaunch:
    return KernelLaunch(
        BASICS,
        "vector_add",
        signature=ADD_SIGNATURE,
        arguments=lambda a, b, c: (a, b, c, a.numel()),
        grid=blocks,
        block=256,
    )


class Counted(CustomOp):
    """Adds, and counts what is asked of it."""

    signature = "add@UNIQUE@(Tensor a, Tensor b) -> Tensor"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.selected = self.generated = 0

    def select(self, sel: KernelSelection) -> None:
        self.selected += 1
        a = sel.arg_tensor(0)
        sel.arg_tensor(1)
        sel.return_new_tensor(list(a.t.shape), a.t.dtype)

    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> KernelLaunch:
        self.generated += 1
        return add_launch()


def registered(kind: type[CustomOp], **options: Any) -> tuple[Any, CustomOp]:
    """The callable, and the instance that it belongs to."""
    op = CustomOp.register(kind, library=LIBRARY, **options)
    from wave_runtime.op_reg import ALL_CUSTOM_OP_REGS

    return op, ALL_CUSTOM_OP_REGS[f"{LIBRARY.ns}.{op.__name__}"]


def test_default_library() -> None:
    @CustomOp.register
    class add_by_default(Counted):
        signature = "add_by_default(Tensor a, Tensor b) -> Tensor"

    assert add_by_default is torch.ops.wave_lang.add_by_default
    a, b = torch.randn(1000), torch.randn(1000)
    assert torch.equal(add_by_default(a, b), a + b)


def test_beside_wave_lang() -> None:
    """wave-lang's own module of this name defines the namespace of the default library, too, before or after."""
    pytest.importorskip("wave_lang.runtime.op_reg")
    code = "import wave_lang.runtime.op_reg, wave_runtime.op_reg"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_select_at_each_call_and_generate_on_a_miss() -> None:
    op, instance = registered(Counted)
    meta = op(torch.empty(3, 4, device="meta"), torch.empty(3, 4, device="meta"))
    assert (meta.device.type, meta.shape) == ("meta", (3, 4))
    assert (instance.selected, instance.generated) == (1, 0)
    for size in (1000, 1000, 77):
        a, b = torch.randn(size), torch.randn(size)
        assert torch.equal(op(a, b), a + b)
    assert (instance.selected, instance.generated) == (4, 1)
    op(torch.ones(2, 3), torch.ones(2, 3))  # another rank
    assert (instance.selected, instance.generated) == (5, 2)


def test_kernels_are_generated_once_among_threads() -> None:
    op, instance = registered(Counted)
    a, b = torch.randn(1000), torch.randn(1000)
    results: list[torch.Tensor] = []
    threads = [threading.Thread(target=lambda: results.append(op(a, b))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert instance.generated == 1
    assert all(torch.equal(result, a + b) for result in results)
    assert len(results) == 8


def test_registered_on_cpu_cuda_and_meta() -> None:
    op, _ = registered(Counted)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    name = f"{LIBRARY.ns}::{op.__name__}"
    assert [has(name, key) for key in ("CPU", "CUDA", "Meta", "XPU")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"dispatch_key": "CPU"}, ["CPU", "Meta"]),
        ({"dispatch_key": ["CPU", "XPU"]}, ["CPU", "XPU", "Meta"]),
        ({"register_meta": False}, ["CPU", "CUDA"]),
        ({"register_impl": False}, ["Meta"]),
    ],
)
def test_what_is_registered(options: dict[str, Any], keys: list[str]) -> None:
    op, _ = registered(Counted, **options)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    name = f"{LIBRARY.ns}::{op.__name__}"
    assert [key for key in ("CPU", "CUDA", "XPU", "Meta") if has(name, key)] == keys


def test_decorator_with_parentheses() -> None:
    @CustomOp.register(library=LIBRARY)
    class add(Counted):
        pass

    assert callable(add)
    assert not isinstance(add, type)
    assert torch.equal(add(torch.ones(5), torch.ones(5)), torch.full((5,), 2.0))


def test_unique_names() -> None:
    first, second = (registered(Counted)[0].__name__ for _ in range(2))
    number = int(first.removeprefix("add"))
    assert second == f"add{number + 1}"


def test_errors_of_registration() -> None:
    class twice(Counted):
        signature = "twice(Tensor a, Tensor b) -> Tensor"

    registered(twice)
    with pytest.raises(RuntimeError, match="Duplicate wave custom op registration: library=test_custom_op, name=twice"):
        registered(twice)

    class no_signature(Counted):
        signature = "no_signature"

    with pytest.raises(ValueError, match=r"Expected signature of form `name\(...\) -> type. Got: no_signature"):
        registered(no_signature)


def test_compiled() -> None:
    op, instance = registered(Counted)

    def model(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return op(op(a, b), b)  # nothing that needs a C++ compiler

    for backend, dynamic in (("inductor", False), ("aot_eager", True)):
        compiled = torch.compile(model, fullgraph=True, dynamic=dynamic, backend=backend)
        for size in (100, 200) if dynamic else (100,):
            a, b = torch.randn(size), torch.randn(size)
            assert torch.equal(compiled(a, b), model(a, b))
        torch._dynamo.reset()
    assert instance.generated == 1


def test_exported() -> None:
    op, _ = registered(Counted)

    class Model(torch.nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return op(a, b) + 1

    size = torch.export.Dim("size", min=2)
    a, b = torch.randn(100), torch.randn(100)
    program = torch.export.export(Model(), (a, b), dynamic_shapes=({0: size}, {0: size}))
    assert op.default in [node.target for node in program.graph.nodes]
    a, b = torch.randn(300), torch.randn(300)
    assert torch.equal(program.module()(a, b), a + b + 1)


def test_opcheck() -> None:
    op, _ = registered(Counted)
    torch.library.opcheck(op.default, (torch.randn(10, 3), torch.randn(3, 10).T))


def test_derivative() -> None:
    """The operator is one of PyTorch's, and takes a derivative as any."""
    op, _ = registered(Counted)
    torch.library.register_autograd(f"{LIBRARY.ns}::{op.__name__}", lambda ctx, grad: (grad, 3 * grad), lib=LIBRARY)
    a, b = torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
    op(a, b).sum().backward()
    assert b.grad is not None
    assert torch.equal(b.grad, torch.full((5,), 3.0))


def test_tensors_of_several_devices() -> None:
    op, _ = registered(Counted, dispatch_key=["CPU", "Meta"], register_meta=False)
    with pytest.raises(RuntimeError, match="Cannot launch with tensors from multiple devices: meta vs cpu"):
        op(torch.ones(5), torch.ones(5, device="meta"))


def test_an_argument_that_is_not_declared() -> None:
    class forgets(Counted):
        signature = "forgets(Tensor a, Tensor b, int n=1) -> Tensor"

    op, _ = registered(forgets)
    with pytest.raises(
        AssertionError, match=r"Uninitialized argument descriptor: select\(\) of 'forgets' declares no "
    ):
        op(torch.ones(5), torch.ones(5))


def test_eager_execute() -> None:
    class negative(Counted):
        signature = "negative(Tensor a, bool by_hand=True) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            sel.attr_int(1)
            sel.return_tensor(sel.arg_tensor(0).t)

        def eager_execute(self, a: torch.Tensor, by_hand: bool) -> Any:
            return -a if by_hand else NotImplemented

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
            self.generated += 1
            return lambda a, by_hand, b: b.copy_(a).neg_()

    op, instance = registered(negative)
    a = torch.randn(5)
    assert torch.equal(op(a), -a)
    assert instance.generated == 0
    assert torch.equal(op(a, by_hand=False), -a)
    assert instance.generated == 1


class Increment(Counted):
    """Adds to an argument, in place."""

    signature = "increment@UNIQUE@(Tensor(a!) a, Tensor b) -> ()"

    def select(self, sel: KernelSelection) -> None:
        sel.arg_tensor(0, inplace_tied=True)
        sel.arg_tensor(1)

    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
        add = add_launch()
        return lambda a, b: add(a.clone(), b, a)


@pytest.mark.parametrize("is_contiguous", [True, False])
def test_in_place(is_contiguous: bool) -> None:
    op, _ = registered(Increment)
    a, b = torch.randn(20, 30), torch.randn(20, 30)
    if not is_contiguous:
        a = a.T.contiguous().T
    expected, version = a + b, a._version
    assert op(a, b) is None
    assert torch.equal(a, expected)
    assert a._version > version  # else a backward pass would take what it saved of a before

    def model(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        op(a, b)
        return a * 2

    assert torch.equal(torch.compile(model, fullgraph=True, backend="aot_eager")(a.clone(), b), (expected + b) * 2)
    torch.library.opcheck(op.default, (a, b))


def test_in_place_and_returned() -> None:
    class increment_(Increment):
        signature = "increment_(Tensor(a!) a, Tensor b) -> Tensor(a!)"

    op, _ = registered(increment_)
    a, b = torch.randn(100), torch.randn(100)
    expected = a + b
    assert op(a, b) is a
    assert torch.equal(a, expected)


@needs_clang
def test_sources_for_attributes_and_variants() -> None:
    """HIP source, a kernel for each value of an attribute, and one for each variant that select() names."""

    class power(Counted):
        signature = "power(Tensor a, int exponent, float factor=1.0) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            a = sel.arg_tensor(0)
            exponent = sel.attr_int(1)
            sel.attr_float(2)
            sel.variant = "zero" if exponent.v == 0 else "default"
            sel.return_tensor(a.t)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> KernelLaunch:
            self.generated += 1
            exponent, factor = (desc.v for desc in ksel.arg_descs[1:])
            product = "*".join(["FACTOR", *["a[i]"] * exponent])
            assert ksel.variant == ("default" if exponent else "zero")
            return KernelLaunch(
                SCALE.replace("factor * a[i]", product),
                defines={"FACTOR": factor},
                arguments=lambda a, exponent, factor, b: (a, b, 0.0, a.numel()),
                grid=blocks,
                block=256,
            )

    op, instance = registered(power)
    a = torch.randint(-9, 9, (1000,)).float()
    for exponent, factor in ((3, 2.0), (0, 1.0), (3, 2.0)):
        expected = torch.full_like(a, factor)
        for _ in range(exponent):
            expected = expected * a
        assert torch.equal(op(a, exponent, factor), expected)
    assert instance.generated == 2


@needs_clang
@pytest.mark.parametrize("form", ["assembly", "module", "code object", "any function"])
def test_what_generate_may_return(form: str) -> None:
    source = "\n".join(["""extern "C" __global__ void one(int* a) { a[threadIdx.x] = 1; }""", ""])
    module = wave_runtime.compile(source)

    class ones(Counted):
        signature = "ones@UNIQUE@(int n, Tensor like) -> Tensor"

        def select(self, sel: KernelSelection) -> None:
            sel.return_new_tensor([sel.arg_int(0).v], sel.arg_tensor(1).t.dtype)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
            assert (kb.device, kb.target) == (torch.device("cpu"), "gfx942")
            if form == "any function":
                return lambda n, like, a: module["one"](a, grid=1, block=n)
            code: Any = {"assembly": FILL, "module": module, "code object": module.images["gfx942"]}[form]
            return KernelLaunch(
                code,
                language="asm" if form == "assembly" else None,
                signature="*i32" if form != "module" else None,
                arguments=lambda n, like, a: (a,),
                grid=1,
                block=lambda n, like, a: n,
            )

    op, _ = registered(ones)
    assert op(64, torch.empty(0, dtype=torch.int32)).tolist() == [1] * 64


FILL = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl one
.p2align 8
.type one,@function
one:
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  v_mov_b32_e32 v1, 1
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.size one, .-one
.rodata
.p2align 6
.amdhsa_kernel one
  .amdhsa_kernarg_size 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 2
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: one
    .symbol: one.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 2
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
.end_amdgpu_metadata
"""


def test_lists_and_optional_tensors() -> None:
    class total(Counted):
        signature = "total(Tensor[] terms, Tensor? more=None, int[] signs=[]) -> (Tensor, Tensor?)"

        def select(self, sel: KernelSelection) -> None:
            terms = sel.arg_tensor_list(0)
            more = sel.arg_optional_tensor(1)
            sel.attr_list_int(2)
            sel.return_tensor(terms.ts[0])
            sel.maybe_return_tensor(None if more is None else more.t)

        def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Callable[..., None]:
            self.generated += 1

            def launch(terms: list[torch.Tensor], more: Any, signs: list[int], result: Any, doubled: Any) -> None:
                assert all(term.is_contiguous() for term in terms)
                torch.sum(torch.stack(terms), 0, out=result)
                assert (more is None) == (doubled is None)
                if more is not None:
                    torch.mul(more, 2, out=doubled)

            return launch

    op, instance = registered(total)
    a = torch.randn(4, 6)
    result, nothing = op([a, a.T.contiguous().T])
    assert torch.equal(result, a + a)
    assert nothing is None
    result, doubled = op([a, a], a.view(-1), [1, 2])
    assert torch.equal(doubled, 2 * a.view(-1))
    assert instance.generated == 2


def test_without_iree() -> None:
    """Kernels need none of it; MLIR says what to install."""
    code = """
import sys
sys.modules["iree"] = None
import torch, wave_runtime
from test_custom_op import Counted, registered
op, _ = registered(Counted)
assert torch.equal(op(torch.ones(5), torch.ones(5)), torch.full((5,), 2.0))
Counted.generate = lambda self, ksel, kb: kb.yield_results(kb.arg_value(0))
op, _ = registered(Counted)
for call, package in [
    (lambda: op(torch.ones(5), torch.ones(5)), "compiler"),
    (lambda: wave_runtime.Launchable.jit_compile("module {}").preload(torch.device("cpu")), "runtime"),
    (lambda: wave_runtime.Device("local-task"), "runtime"),
    (lambda: wave_runtime.get_vm_instance(), "runtime"),
]:
    try:
        call()
    except ModuleNotFoundError as error:
        assert f"pip install iree-base-{package}" in str(error), error
    else:
        raise AssertionError
"""
    paths = [ROOT, ROOT / "tests", ROOT / "tests" / "runtime"]
    environment = {"PYTHONPATH": ":".join(map(str, paths))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
