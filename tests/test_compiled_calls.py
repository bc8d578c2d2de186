"""What a call of a kernel is in compiled code: an operator of this kernel alone, or wave::launch."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import warm_python
from support import EXAMPLES, LoadKernel
from torch._dynamo.testing import CompileCounter

import wave_runtime


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def row_sum() -> wave_runtime.Kernel:
    """Sums of the 32 rows of 256 columns; its block is fixed by the binary."""
    signature = "a: *f32 const, b: *f32, m: i64"
    return wave_runtime.load(EXAMPLES / "binaries" / "row_sum_f32_256.hsaco", signature=signature)["reduce_rows"]


def launches_in(function: Callable[..., object], *args: object) -> list[str]:
    """The operators that a function becomes under torch.compile, which then runs it."""
    seen: list[str] = []

    def note(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        seen.extend(str(node.target) for node in graph.graph.nodes if str(node.target).startswith("wave"))
        return graph.forward

    torch.compile(function, fullgraph=True, backend=note)(*args)
    return seen


def test_a_call_is_an_operator_of_its_kernel(vector_add: wave_runtime.Kernel) -> None:
    a, b, out = torch.randn(500), torch.randn(500), torch.zeros(500)
    names = launches_in(lambda: vector_add(a, b, out, 500, grid=2, block=256))
    assert torch.equal(out, a + b)
    assert [re.sub("_[0-9a-f]{16}", "_HASH", name) for name in names] == ["wave_kernel.vector_add_HASH.block"]
    overload = getattr(torch.ops.wave_kernel, names[0].split(".")[1]).block
    assert str(overload._schema).split(".block", 1)[1] == (
        "(Tensor a, Tensor b, Tensor(a2!) c, SymInt n, SymInt grid_x, SymInt grid_y, SymInt grid_z, "
        "SymInt block_x, SymInt block_y, SymInt block_z, SymInt shared_memory) -> ()"
    )
    torch.library.opcheck(overload, (a, b, out, 500, 2, 1, 1, 256, 1, 1, 0))


def test_a_block_that_the_binary_fixes_is_no_argument(row_sum: wave_runtime.Kernel) -> None:
    a, out = torch.ones(32, 256), torch.zeros(32)
    for block, overload in ((None, "default"), ((64, 1, 1), "block")):
        out.zero_()
        names = launches_in(lambda: row_sum(a, out, 32, grid=(1, 32), block=block))  # noqa: B023
        assert torch.equal(out, torch.full((32,), 256.0))
        assert [name.rpartition(".")[2] for name in names] == [overload]
    assert len(getattr(torch.ops.wave_kernel, names[0].split(".")[1]).default._schema.arguments) == 6
    with pytest.raises(Exception, match=r"block \(32, 1, 1\) given, but the kernel was compiled for"):
        launches_in(lambda: row_sum(a, out, 32, grid=(1, 32), block=32))


def test_kernels_with_one_name_have_operators_of_their_own(vector_add: wave_runtime.Kernel) -> None:
    file = EXAMPLES / "binaries" / "basics.hsaco"
    other = wave_runtime.load(file, signature={"vector_add": "*f32 const, *f32 const, *f32, u32"})["vector_add"]
    a, out = torch.randn(500), torch.zeros(500)

    def both() -> None:
        vector_add(a, a, out, 500, grid=2, block=256)
        other(a, a, out, 500, grid=2, block=256)

    assert len(set(launches_in(both))) == 2


@pytest.mark.needs("clang")
@pytest.mark.parametrize(("count", "operator"), [(30, "wave_kernel.store_all_HASH.block"), (60, "wave.launch.default")])
def test_many_written_pointers(count: int, operator: str, empty_cache: Path) -> None:
    """More than there are letters for their alias sets, and more than torch's operators have arguments."""
    parameters = ", ".join(f"int* p{i}" for i in range(count))
    stores = " ".join(f"*p{i} = {i} + n;" for i in range(count))
    source = f'extern "C" __global__ void store_all({parameters}, int n) {{ {stores} }}'
    kernel = wave_runtime.compile(source, language="hip")["store_all"]
    assert kernel.writes == tuple(range(count))

    def store(outs: list[torch.Tensor]) -> list[torch.Tensor]:
        kernel(*outs, 5, grid=1, block=1)
        return [out + 1 for out in outs]

    outs = [torch.zeros(1, dtype=torch.int32) for _ in range(count)]
    names = launches_in(store, outs)
    assert [re.sub("_[0-9a-f]{16}", "_HASH", name) for name in names] == [operator]
    assert [out.item() for out in outs] == [i + 5 for i in range(count)]
    outs = [torch.zeros(1, dtype=torch.int32) for _ in range(count)]
    assert [out.item() for out in torch.compile(store, fullgraph=True)(outs)] == [i + 6 for i in range(count)]
    assert [out.item() for out in outs] == [i + 5 for i in range(count)]


@pytest.mark.needs("clang")
def test_more_arguments_than_an_operator_has(empty_cache: Path) -> None:
    def kernel(count: int) -> wave_runtime.Kernel:
        parameters = ", ".join(f"int* p{i}" for i in range(count))
        source = f'extern "C" __global__ void store({parameters}) {{ *p{count - 1} = 1; }}'
        return wave_runtime.compile(source, language="hip")["store"]

    outs = [torch.zeros(1, dtype=torch.int32) for _ in range(61)]
    kernel(61).as_operator("wave_test::store_61", block=1)(*outs, 1)
    assert outs[60].item() == 1
    with pytest.raises(
        ValueError, match=r"kernel 'store': an operator of its own would have 65 arguments .* 64 at most"
    ):
        kernel(62).as_operator("wave_test::store_62", block=1)


OPTIONS: list[dict[str, object]] = [{"cooperative": True}, {"cluster": 1}, {"priority": 0}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_that_are_rare_take_the_generic_operator(
    vector_add: wave_runtime.Kernel, options: dict[str, object]
) -> None:
    a, out = torch.randn(500), torch.zeros(500)
    seen: list[str] = []

    def note(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        seen.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return lambda *args: ()  # the emulator has no clusters

    torch.compile(lambda: vector_add(a, a, out, 500, grid=2, block=256, **options), backend=note)()
    assert seen == ["wave.launch.default"]


def test_structs_and_floats_as_tensors_take_the_generic_operator(language: LoadKernel) -> None:
    signature = "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, {}"
    numbers = (-1, 2, -3, 4, -5, 6, -7, (1 << 64) - 8, True, 0.5, 1.5)
    for kind, values, name in (
        ("bytes[8]", (2.5, b"12345678"), "wave.launch.default"),
        ("i64", (torch.tensor(2.5), 9), "wave.launch.default"),
        ("i64", (2.5, 9), "wave_kernel.argument_types_HASH.block"),
    ):
        kernel = language("argument_types", signature.format(kind))
        out, eager = torch.zeros(2, 104, dtype=torch.uint8)
        names = launches_in(lambda: kernel(out, *numbers, *values, grid=1, block=1))  # noqa: B023
        assert [re.sub("_[0-9a-f]{16}", "_HASH", found) for found in names] == [name]
        kernel(eager, *numbers, *values, grid=1, block=1)
        assert torch.equal(out, eager)
        assert out.any()


def test_numbers_of_more_than_64_bits_are_refused_while_compiling(language: LoadKernel) -> None:
    kernel = language("argument_types", "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, i64")
    out, before, behind = torch.zeros(104, dtype=torch.uint8), (-1, 2, -3, 4, -5, 6, -7), (True, 0.5, 1.5, 2.5, 9)
    with pytest.raises(Exception, match="argument 8: expected 64 bits, given 18446744073709551616"):
        launches_in(lambda: kernel(out, *before, 1 << 64, *behind, grid=1, block=1))


U64 = 'extern "C" __global__ void store(unsigned long long* out, size_t value) { *out = value; }'


@pytest.mark.needs("clang")
@pytest.mark.parametrize("value", [-1, 0, 2**63 - 1, 2**63, 2**64 - 1, 2**64])
def test_u64_is_the_same_in_compiled_code(value: int, empty_cache: Path) -> None:
    """Operators have signed integers, to which -1 is what 2**64 - 1 is."""
    kernel = wave_runtime.compile(U64, language="hip")["store"]

    def store(out: torch.Tensor) -> torch.Tensor:
        kernel(out, value, grid=1, block=1)
        return out

    for function in (store, torch.compile(store, backend="aot_eager")):
        out = torch.zeros(1, dtype=torch.uint64)
        if 0 <= value < 2**64:
            assert function(out).item() == value
        else:
            with pytest.raises(ValueError, match=f"argument 1.* (expected u64.*given )?{value}"):
                function(out)


@pytest.mark.needs("clang")
def test_u64_that_a_tensor_holds(empty_cache: Path) -> None:
    """The number is known when the compiled program runs, and is checked then."""
    kernel = wave_runtime.compile(U64, language="hip")["store"]

    def store(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        kernel(out, x.sum().item(), grid=1, block=1)
        return out

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(store, fullgraph=True, backend="aot_eager")
        out = torch.zeros(1, dtype=torch.uint64)
        assert compiled(out, torch.tensor([3, 4])).item() == 7
        with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 >= 0"):
            compiled(out, torch.tensor([3, -4]))
    assert out.item() == 7


@pytest.mark.needs("clang")
def test_messages_say_names_of_the_source_while_compiling(empty_cache: Path) -> None:
    source = "__global__ void put(float* out, int i) { out[i] = 1; }"
    put = wave_runtime.compile(source, language="hip")["put"]
    assert put.name == "_Z3putPfi"
    out = torch.zeros(1)
    for wrong in ((out,), (out, 1.5), (1.5, 1)):
        with pytest.raises(Exception, match=r"kernel 'put\(float\*, int\)'"):
            launches_in(lambda: put(*wrong, grid=1, block=1))  # noqa: B023


def test_sizes_and_geometry_do_not_recompile(vector_add: wave_runtime.Kernel) -> None:
    def add(a: torch.Tensor, out: torch.Tensor, shared_memory: int) -> None:
        n = a.shape[0]
        vector_add(a, a, out, n, grid=((n + 255) // 256, 1), block=(256, 1), shared_memory=shared_memory)

    counter = CompileCounter()
    compiled = torch.compile(add, fullgraph=True, dynamic=True, backend=counter)
    for n in (1000, 37, 4096):
        a, out = torch.randn(n), torch.zeros(n)
        compiled(a, out, n)
        assert torch.equal(out, a + a)
    assert counter.frame_count == 1


def test_wrong_geometry_is_refused_while_compiling(vector_add: wave_runtime.Kernel) -> None:
    a, out = torch.randn(500), torch.zeros(500)
    for grid, given in ((), 0), ((1, 1, 1, 1), 4):
        with pytest.raises(Exception, match=f"grid must be an int or 1 to 3 ints, given {given}"):
            launches_in(lambda: vector_add(a, a, out, 500, grid=grid, block=256))  # noqa: B023


PROGRAM = """
import json, torch, wave_runtime
kernel = wave_runtime.load({file!r}, signature={{"vector_add": "*f32 const, *f32 const, *f32, i32"}})["vector_add"]

@torch.compile(fullgraph=True)
def add(a):
    out = torch.empty_like(a)
    kernel(a, a, out, 500, grid=2, block=256)
    return out

a = torch.randn(500)
assert torch.equal(add(a), a + a)
print(json.dumps({{**torch._dynamo.utils.counters["inductor"], **torch._dynamo.utils.counters["aot_autograd"]}}))
"""


def test_a_cached_graph_of_another_process_finds_the_operator(tmp_path: Path) -> None:
    program = PROGRAM.format(file=str(EXAMPLES / "binaries" / "basics.hsaco"))
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}

    def cache_hits() -> int:
        done = warm_python.run("-c", program, env=environment, imported=warm_python.COMPILER)
        assert done.returncode == 0, done.stderr
        counters = json.loads(done.stdout)
        return int(counters.get("autograd_cache_hit", 0) + counters.get("fxgraph_cache_hit", 0))

    assert cache_hits() == 0
    assert cache_hits() > 0
