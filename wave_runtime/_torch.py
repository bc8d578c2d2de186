"""All that this package uses of torch and that torch does not promise to keep: its private names are here only.

Each was there, and meant the same, in the releases of SUPPORTED. The import fails where torch is older, or where a
name is gone, and says which one and what it was for. The parts of torch that take seconds to load (Dynamo, Inductor,
DTensor) are looked at when they are used; where they have changed, torch's own AttributeError or ImportError says so.
C++ uses private names of torch, too, which the compiler checks.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from types import CodeType
from typing import Any, NamedTuple, TypeVar

import torch
from torch._ops import OpOverload as OpOverload
from torch.autograd import forward_ad

from wave_runtime._abi import release

SUPPORTED = ("2.10", "2.15")  # of an older release the import is refused, of a newer one it warns

T = TypeVar("T", bound=Callable[..., Any])

_missing: list[str] = []


def _find(path: str, purpose: str) -> Any:
    """A private name of torch's. Where it is gone, it is noted for the error that ends the import."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError):
        _missing.append(f"{path}, which is for {purpose}")
        return object


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release(version).split("."))


def check() -> None:
    """Raise ImportError where torch is too old or lacks a name; warn where it is newer than those of SUPPORTED."""
    here, (first, last) = str(torch.__version__), SUPPORTED
    if _numbers(here) < _numbers(first):
        raise ImportError(
            f"wave_runtime supports torch {first} to {last}, and torch {here} is installed: install a newer one"
        )
    if _missing:
        raise ImportError(
            f"wave_runtime supports torch {first} to {last}. Torch {here}, which is installed, lacks "
            f"{'; and '.join(_missing)}. Install a release of torch that is supported, or a newer wave_runtime"
        )
    if _numbers(here) > _numbers(last):
        warnings.warn(
            f"wave_runtime is made for torch {first} to {last}; torch {here}, which is installed, is newer",
            RuntimeWarning,
            stacklevel=2,
        )


# --- the dispatcher ---

_after_autograd = _find("torch._C._after_autograd_keyset", "operators with derivatives")
_after_writes = _find("torch._C._after_ADInplaceOrView_keyset", "operators that write arguments")
_exclude_keys = _find("torch._C._ExcludeDispatchKeyGuard", "autocast of operators")
_zip_schema = _find("torch._library.utils.zip_schema", "operators that write arguments")
FunctionalTensorMode: Any = _find("torch._subclasses.functional_tensor.FunctionalTensorMode", "torch.compile")
_FunctionalTensor: Any = _find("torch._subclasses.functional_tensor.FunctionalTensor", "torch.compile")
_sync = _find("torch._sync", "torch.compile")
_held_by = _find("torch._from_functional_tensor", "torch.compile")


def schema(overload: OpOverload) -> Any:
    """An operator's schema, with ``arguments`` and ``returns``."""
    return overload._schema


def is_written(argument: Any) -> bool:
    """Whether a schema says of an argument that the operator writes it."""
    return argument.alias_info is not None and argument.alias_info.is_write


def with_arguments(overload: OpOverload, args: Any, keywords: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of the schema's arguments and the values of a call."""
    return iter(_zip_schema(overload._schema, args, keywords))


def watch_numbers(overload: OpOverload, names: Collection[str], check: Callable[[str, Any], None]) -> None:
    """Have a function see the tensors that Python gives an operator for numbers, each with the argument's name.

    The dispatcher makes numbers of them, so that nobody below knows that there was a tensor.
    """
    places = [(i, item.name) for i, item in enumerate(overload._schema.arguments) if item.name in names]
    if not places:
        return
    plain = {int, float, bool, type(None)}  # asking these whether they are tensors would cost a microsecond each

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **keywords: Any) -> Any:
            for index, name in places:
                value = args[index] if index < len(args) else keywords.get(name)
                if type(value) not in plain and isinstance(value, (torch.Tensor, list, tuple)):
                    check(name, value)
            return call(*args, **keywords)

        return checked

    for called in (overload, overload.overloadpacket):
        called._op = watched(called._op)


def set_rule(overload: OpOverload, mode: type, rule: Callable[..., Any]) -> None:
    """Say what an operator does in a mode, in place of what was said before: modules may be imported again."""
    overload.python_key_table.pop(mode, None)
    overload.py_impl(mode)(rule)


def run_in_mode(mode: Any, overload: OpOverload, args: Any, keywords: Any) -> Any:
    """What a mode, whose rule for an operator this is called in, does with a call without the rule.

    By way of the dispatcher, which asks tensor subclasses in their turn: DTensors within functional tensors.
    """
    with mode:
        return overload._op_dk(torch._C.DispatchKey.Python, *args, **keywords)


@functools.cache
def count_slices_from_their_base() -> None:
    """Have compilers write a view where it is, also of a tensor that begins behind the start of its storage.

    Torch 2.10 to 2.13 notes from where to where the slice reaches in the storage, and later takes that of the tensor.
    The offsets that count are those of what the functional tensors hold now: their own stay as they were when what
    they hold is replaced, as by what `a.mul_(2)` computes, which begins at the start of a storage of its own.
    """
    auto_functionalize: Any = import_module("torch._higher_order_ops.auto_functionalize")
    try_use_slice = auto_functionalize.try_use_slice
    write_view_information_to_args = auto_functionalize.write_view_information_to_args

    class Shifted(NamedTuple):
        """A tensor as though its storage began elsewhere."""

        tensor: torch.Tensor
        start: Any

        def size(self) -> Any:
            return self.tensor.size()

        def stride(self) -> Any:
            return self.tensor.stride()

        def storage_offset(self) -> Any:
            return offset(self.tensor) - self.start

    def offset(tensor: Any) -> Any:
        if isinstance(tensor, _FunctionalTensor):
            _sync(tensor)
            tensor = _held_by(tensor.elem)
        return tensor.storage_offset()

    def use_slice(base: torch.Tensor, part: torch.Tensor) -> Any:
        start = offset(base)
        return try_use_slice(Shifted(base, start), Shifted(part, start))

    def write_views(names: Any, types: Any, keywords: Any, bases: Any) -> None:
        write_view_information_to_args(names, types, keywords, bases)
        for name in names:
            value = keywords[name]
            items = enumerate(value) if isinstance(value, (list, tuple)) else [(None, value)]
            for index, tensor in items:
                key = f"_{name}_storage_offset" if index is None else f"_{name}_{index}_storage_offset"
                if key in keywords:
                    keywords[key] = offset(tensor)

    auto_functionalize.try_use_slice = use_slice
    auto_functionalize.write_view_information_to_args = write_views


@functools.cache
def copy_from_where_tensors_begin() -> None:
    """Have compilers copy a tensor that an operator writes from its first element on.

    Torch 2.13 copies from where the storage began that the tensor had when it was traced. Inductor may have put
    another in its place by then: for the clone of an input the input, which may begin anywhere in its storage.
    """
    auto_functionalize: Any = import_module("torch._higher_order_ops.auto_functionalize")
    is_contiguous: Any = import_module("torch._prims_common").is_contiguous_or_false
    clone_preserve_strides = auto_functionalize.clone_preserve_strides

    def copy(tensor: torch.Tensor) -> Any:
        if starts_storage(tensor) and is_contiguous(tensor):
            return tensor.clone()
        return clone_preserve_strides(tensor)

    auto_functionalize.clone_preserve_strides = copy


@functools.cache
def leave_out_unused_sizes() -> None:
    """Have Inductor take writes of slices whose sizes are symbolic.

    What stands for an operator that writes is traced twice, and torch 2.13 asserts that both have as many nodes. But a
    size, such as n - 1, is computed at the first time alone where torch's cache of stand-ins knows it at the second.
    """
    matcher: Any = import_module("torch._inductor.pattern_matcher")
    fwd_only = matcher.fwd_only

    @functools.wraps(fwd_only)
    def trace(*args: Any, **keywords: Any) -> Any:
        traced = fwd_only(*args, **keywords)
        for node in reversed(traced.graph.nodes):
            if node.op == "call_function" and not node.users and isinstance(node.meta.get("val"), torch.SymInt):
                traced.graph.erase_node(node)
        traced.recompile()
        return traced

    matcher.fwd_only = trace


@functools.cache
def write_inputs_in_place_last() -> None:
    """Have Inductor write an input in place only where no other value of the input follows, nor is returned besides.

    Torch 2.10 to 2.13 asks whether the input is read behind the operator, and not whether what the operator has made of
    it is read behind the input's last value, which is then the same memory. `k(b); v = b.clone(); b.mul_(10)` returns
    v times 10 so, since a clone of what nobody changes is left out; `k(a); a.copy_(a.flip(0))` reads what it wrote.
    """
    reinplace: Any = import_module("torch._inductor.fx_passes.reinplace")
    decide_all = reinplace.reinplace_inplaceable_ops_core
    written = torch.ops.higher_order.auto_functionalized_v2
    in_place = {operator.inplace_op for operator in reinplace.inplaceable_ops.values()}

    def results(node: Any, base: Any) -> Iterator[Any]:
        """What an operator makes of a tensor that it writes in place."""
        bases = node.kwargs["_all_bases"]
        first = len(node.meta["val"]) - len(bases)
        cloned = node.meta["only_clone_these_tensors"]
        places = {first + index for index, one in enumerate(bases) if one is base and index not in cloned}
        return (user for user in node.users if user.args[1] in places)

    def values_of(base: Any, node: Any) -> set[Any]:
        """All that is the memory of an input, from an operator on that writes it."""
        found: set[Any] = set()
        more = [*results(node, base)]
        while more:
            found.add(value := more.pop())
            for user in value.users:
                if user.target is written:
                    more += results(user, value)
                elif reinplace._is_view_op(user.target) or (user.target in in_place and user.args[0] is value):
                    more.append(user)
        return found

    def may_write(base: Any, node: Any, order: dict[Any, int]) -> bool:
        values = values_of(base, node)
        last = [user for user in base.users if user.target is torch.ops.aten.copy_.default and user.args[0] is base]
        end = min((order[copy] for copy in last), default=len(order))
        behind = {user for value in values for user in value.users if order[user] > end}
        return all(copy.args[1] in values for copy in last) and behind <= set(last)

    def decide(graph: Any) -> None:
        decide_all(graph)
        order = {node: index for index, node in enumerate(graph.nodes)}
        for node in order:
            cloned = node.meta.get("only_clone_these_tensors") if node.target is written else None
            if cloned is None:
                continue
            for index, base in enumerate(node.kwargs["_all_bases"]):
                is_input = base.op in ("placeholder", "get_attr")
                if is_input and index not in cloned and not may_write(base, node, order):
                    cloned = [*cloned, index]
            node.meta["only_clone_these_tensors"] = cloned

    reinplace.reinplace_inplaceable_ops_core = decide


def starts_storage(tensor: torch.Tensor) -> bool:
    """Whether it is known that a tensor begins at the start of its storage. Of symbolic offsets it is not."""
    offset = tensor.storage_offset()
    return isinstance(offset, int) and offset == 0


def below_autograd(overload: OpOverload, keys: Any, args: Any, keywords: Any) -> Any:
    """A call goes on behind autograd."""
    return overload.redispatch(keys & _after_autograd, *args, **keywords)


def below_writes(overload: OpOverload, keys: Any, args: Any, keywords: Any) -> Any:
    """A call goes on behind the key that counts tensors' versions."""
    return overload.redispatch(keys & _after_writes, *args, **keywords)


def without_key(name: str) -> Any:
    """A context in which calls pass one of the dispatcher's keys by: "AutocastCPU"."""
    return _exclude_keys(torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name)))


_signatures = _find("torch.fx.operator_schemas._SCHEMA_TO_SIGNATURE_CACHE", "operators that are defined again")


def take_back(library: Any) -> None:
    """Undo what a library has defined and registered.

    When a library is collected, torch forgets its operators once more, also one that has got the same name since then:
    so it is to have none by then.
    """
    library._destroy()
    for name in library._op_defs:
        _signatures.pop((name, ""), None)
    library._op_defs.clear()
    library._op_impls.clear()


_has_kernel = _find("torch._C._dispatch_has_kernel_for_dispatch_key", "operators where a GPU is emulated")


def has_kernel(operator: str, key: str) -> bool:
    """Whether an operator has a kernel of its own for one of the dispatcher's keys."""
    return bool(_has_kernel(operator, key))


def qualified_name(library: Any, operator: Any) -> str:
    """The name of an operator that a library registers something for, with its namespace."""
    name = operator if isinstance(operator, str) else f"{operator._schema.name}.{operator._overloadname}"
    name = name.removesuffix(".default")
    return name if "::" in name else f"{library.ns}::{name}"


def goes_with(library: Any, handle: Any) -> None:
    """Have a library's end call a handle's destroy()."""
    library._registration_handles.append(handle)


# --- autograd, functorch ---

SingleLevelFunction: Any = _find("torch.autograd.function._SingleLevelFunction", "derivatives of operators")
enable_single_level: Any = _find(
    "torch._functorch.utils.enable_single_level_autograd_function", "derivatives of operators"
)
_auto_below_autograd = _find("torch._C._AutoDispatchBelowAutograd", "derivatives of operators")
_transforms_active = _find("torch._C._are_functorch_transforms_active", "derivatives under functorch")
_set_forward_grad = _find("torch.autograd.forward_ad._set_fwd_grad_enabled", "derivatives under functorch")
_graph_task = _find("torch._C._current_graph_task_id", "derivatives of derivatives")
any_requires_grad: Any = _find("torch._C._any_requires_grad", "operators without a derivative")
_dispatch_mode = _find("torch._C._get_dispatch_mode", "telling compilers' stand-ins from other tensors")
_mode_keys = _find("torch._C._TorchDispatchModeKey", "telling compilers' stand-ins from other tensors")
_vmap_helper = _find("torch._functorch.autograd_function.custom_function_call_vmap_helper", "torch.vmap")
_interpreter = _find("torch._functorch.pyfunctorch.retrieve_current_functorch_interpreter", "torch.vmap")
_find("torch.autograd.forward_ad._current_level", "forward-mode differentiation")
FakeTensor: Any = _find("torch._subclasses.FakeTensor", "telling compilers' stand-ins from other tensors")
FakeTensorMode: Any = _find("torch._subclasses.FakeTensorMode", "graphs where a GPU is emulated")

# What an operator raises on stand-ins where its results depend on what tensors hold.
DEPENDS_ON_DATA: tuple[type[Exception], ...] = tuple(
    _find(f"torch._subclasses.fake_tensor.{name}", "graphs where a GPU is emulated")
    for name in ("DataDependentOutputException", "DynamicOutputShapeException")
)


@contextmanager
def below_autograd_in_forward() -> Iterator[None]:
    """For the forward of a ``SingleLevelFunction``: operators are called below autograd.

    Autograd switches gradients off for such a forward; functorch's further transforms want theirs there.
    """
    with _auto_below_autograd():
        if _transforms_active():
            with torch.enable_grad(), _set_forward_grad(True):
                yield
        else:
            yield


def in_backward() -> bool:
    """Whether autograd is computing gradients on this thread."""
    return bool(_graph_task() != -1)


def in_forward_mode() -> bool:
    """Whether tensors may carry tangents."""
    return bool(forward_ad._current_level >= 0)


def is_functionalizing() -> bool:
    """Whether a compiler traces autograd and writes now, rather than having done so already."""
    return _dispatch_mode(_mode_keys.FUNCTIONAL) is not None


def run_vmap_rule(rule: Callable[..., Any], overload: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """Run an operator's rule for torch.vmap at the level that functorch has come to."""
    return _vmap_helper(_interpreter(), rule, overload, *args, **keywords)


# --- Dynamo ---

_disable_dynamo = _find("torch._compile._disable_dynamo", "breaks in torch.compile's graphs")


_frames = "torch._C._dynamo.eval_frame"  # loaded with torch, unlike Dynamo
_set_strategy = _find(f"{_frames}.set_code_exec_strategy", "torch.compile where a GPU is emulated")
_Strategy = _find(f"{_frames}._FrameExecStrategy", "torch.compile where a GPU is emulated")
_Action = _find(f"{_frames}._FrameAction", "torch.compile where a GPU is emulated")


def run_as_it_is(code: CodeType) -> None:
    """Have Dynamo not compile the frames of a function, where it is called rather than traced."""
    _set_strategy(code, _Strategy(_Action.SKIP, _Action.DEFAULT))


def is_known(condition: Any) -> bool:
    """Whether a condition holds. False, too, where that is known only when the compiled program runs."""
    if not torch.compiler.is_compiling():
        return bool(condition)
    from torch.fx.experimental.symbolic_shapes import guard_or_false  # which takes long to import

    return bool(guard_or_false(condition))


def demand(condition: Any) -> None:
    """Raise RuntimeError where a condition does not hold: when the compiled program runs, if it is not known before."""
    torch._check(condition)  # type: ignore[no-untyped-call]


def constant_result(function: T) -> T:
    """Have torch.compile call a function while it traces and take what it returns as a constant.

    As torch.compiler.assume_constant_result does, which would import the compiler: that takes seconds.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def not_traced(function: T) -> T:
    """Have torch.compile break its graph at a function's calls, as torch.compiler.disable does.

    Calls import the compiler only where it is imported anyway.
    """
    disabled = _disable_dynamo(function)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return disabled(*args) if "torch._dynamo" in sys.modules else function(*args)

    return call  # type: ignore[return-value]


def complete_traced_call(overload: OpOverload, name: str, value: str) -> None:
    """Give the call that Dynamo is tracing now a keyword that the program left out.

    Dynamo adds a call of ``torch.ops.mylib.add`` to its graph, and runs the operator on stand-ins: during that the
    operator calls this. Caches keep what was compiled by the graph's text, so what is not in it is not in their keys.
    """
    dynamo: Any = sys.modules.get("torch._dynamo.symbolic_convert")
    tracer = getattr(dynamo.tls, "current_tx", None) if dynamo is not None else None
    for node in reversed(tracer.output.graph.nodes) if tracer is not None else ():
        if node.target in (overload, overload.overloadpacket):
            node.kwargs = {name: value, **node.kwargs}
            return


def is_stand_in(value: Any) -> bool:
    """Whether it is no tensor, but takes part in calls of torch, as what torch.fx.symbolic_trace passes does."""
    return not isinstance(value, torch.Tensor) and hasattr(type(value), "__torch_function__")


def set_script_rule(type: type, rule: Callable[[Any], Any]) -> None:
    """Say what torch.jit.script does with an object of a type: given to it, or met in what is scripted."""
    type.__prepare_scriptable__ = rule  # type: ignore[attr-defined]
    type._torchscript_modifier = property(rule)  # type: ignore[attr-defined]


def schema_of(overload: OpOverload) -> Any:
    """An operator's schema, which says what it writes and what its results share memory with."""
    return overload._schema


def is_composite(overload: OpOverload) -> bool:
    """Whether an operator consists of others, into which ``decompose`` takes it apart."""
    return overload._can_decompose()


def identity_of(storage: torch.UntypedStorage) -> int:
    """The same number for the same storage, as long as it lives."""
    identity: int = storage._cdata
    return identity


def eager_only() -> Any:
    """A context in which compiled functions run as they were written. Does not load the compiler."""
    return torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()


# --- Inductor ---


def inductor_lowerings(*, load: bool = False) -> Any:
    """Inductor's module of lowerings; None where it is not loaded and is not to be, which takes seconds."""
    return import_module("torch._inductor.lowering") if load else sys.modules.get("torch._inductor.lowering")


def inductor_graph() -> Any:
    """What Inductor makes of a graph at the moment."""
    from torch._inductor.virtualized import V

    return V.graph


def inductor_writes_python() -> bool:
    """Whether it makes Python of its graph, rather than C++ or another graph."""
    graph = inductor_graph()
    return not graph.cpp_wrapper and not graph.fx_wrapper


def set_inductor_call(overload: OpOverload, call: Callable[..., Any], *, checks_results: bool = True) -> None:
    """Say what the code that Inductor writes for Python calls in the operator's place, with the same arguments.

    It is found by the operator's name, as the operator would be, so that code of caches finds it in every process.
    Unless ``checks_results`` is false, that code asks of each result whether it has the sizes and strides that the
    compiler counts on.
    """
    overload.inductor_call = call  # type: ignore[attr-defined]
    overload.inductor_checks_results = checks_results  # type: ignore[attr-defined]


def has_inductor_call(overload: OpOverload) -> bool:
    """Whether that has been said of an operator."""
    return hasattr(overload, "inductor_call")


def emit_inductor_call(operations: Sequence[Any], overload: OpOverload) -> None:
    """Have Inductor's code call it for those of its operations that are calls of the operator."""
    for operation in operations:
        if getattr(operation, "op_overload", None) is overload:
            operation.python_kernel_name += ".inductor_call"
            if not overload.inductor_checks_results:
                # Since torch 2.14 the call itself is its result, if there is one.
                operation.codegen_size_asserts = operation.codegen_alignment_asserts = lambda wrapper: None
        elif isinstance(operation, import_module("torch._inductor.ir").MultiOutput):
            operation.skip_size_stride_alignment_checks = not overload.inductor_checks_results  # type: ignore[attr-defined]


class InductorParts(NamedTuple):
    """What decides for which device Inductor compiles.

    Attributes:
        settings: its settings by name. The ``default`` of one holds in all threads in which the program sets none.
        properties: the class whose ``create`` says what Inductor's kernels are told of a device.
        gpu: the class of functions by which it asks torch.cuda.
        cpu: that for CPU tensors.
        wording: the class of what its code says of devices, for CPU tensors.
        benchmarker: the object that times kernels.
        flex_attention: the function that chooses a template for it, by the tensors' device.
    """

    settings: dict[str, Any]
    properties: Any
    gpu: Any
    cpu: Any
    wording: Any
    benchmarker: Any
    flex_attention: Any


def inductor_parts() -> InductorParts:
    """Loads Inductor, which takes seconds."""
    interfaces = import_module("torch._dynamo.device_interface")
    return InductorParts(
        import_module("torch._inductor.config")._config,
        import_module("torch._inductor.runtime.hints").DeviceProperties,
        interfaces.CudaInterface,
        interfaces.CpuInterface,
        import_module("torch._inductor.codegen.cpu_device_op_overrides").CpuDeviceOpOverrides,
        import_module("torch._inductor.runtime.benchmarking").benchmarker,
        import_module("torch._inductor.kernel.flex.flex_attention").flex_attention.__wrapped__,
    )


def inductor_folder() -> str:
    """Where Inductor keeps what it compiles, where TORCHINDUCTOR_CACHE_DIR does not say so."""
    return str(import_module("torch._inductor.runtime.cache_dir_utils").default_cache_dir())


def forget_compiled() -> None:
    """Have functions that were compiled in this process be compiled anew, and Inductor look for its files again."""
    torch.compiler.reset()
    import_module("torch._inductor.utils").clear_caches()


def is_in_inductor() -> bool:
    """Whether Inductor compiles, what Dynamo has traced before. It is not loaded for this question."""
    virtualized = sys.modules.get("torch._inductor.virtualized")
    return virtualized is not None and isinstance(virtualized.V.fake_mode, FakeTensorMode)


def is_packaging() -> bool:
    """Whether AOTInductor compiles. It is not loaded for this question."""
    virtualized = sys.modules.get("torch._inductor.virtualized")
    return virtualized is not None and bool(virtualized.V.aot_compilation)


# --- wave_runtime.emulate ---

is_transformed: Any = _find("torch._C._functorch.is_functorch_wrapped_tensor", "vmap and grad where a GPU is emulated")

_device_constructors = _find("torch.utils._device._device_constructors", "emulating a GPU")
DeviceContext: Any = _find("torch.utils._device.DeviceContext", "emulating a GPU")

# Private functions of torch.cuda that torch's own Python code calls, and what they are where a GPU is emulated.
CUDA_INTERNALS: dict[str, Callable[..., Any]] = {
    "_lazy_init": lambda: None,
    "_is_in_bad_fork": lambda: False,
    "_sleep": lambda cycles: None,
}

# The same of torch._C, where torch was built without GPUs. Without the allocator Inductor makes no graphs.
C = torch._C
C_INTERNALS: dict[str, Callable[..., Any]] = {"_cuda_cudaCachingAllocator_is_enabled": lambda: False}

# The function of torch._C that launchers ask for the handle of a device's current stream.
RAW_STREAM = "_cuda_getCurrentRawStream"

# The function that Dynamo asks for a device's current stream. Since torch 2.14 it is of torch._C.
CURRENT_STREAM = "get_current_stream"


def modules_with_current_stream() -> list[Any]:
    """The modules in which it asks the one of torch._C; none where there is no such."""
    home = getattr(torch._C._dynamo, "utils", None)
    original = getattr(home, CURRENT_STREAM, None)
    if original is None:
        return []
    users = (sys.modules.get(f"torch._dynamo.{name}") for name in ("utils", "guards"))
    return [home, *(user for user in users if getattr(user, CURRENT_STREAM, None) is original)]


TorchDispatchMode: Any = _find("torch.utils._python_dispatch.TorchDispatchMode", "graphs where a GPU is emulated")
tree_flatten: Any = _find("torch.utils._pytree.tree_flatten", "graphs where a GPU is emulated")
tree_map_only: Any = _find("torch.utils._pytree.tree_map_only", "graphs where a GPU is emulated")
CAPTURABLE = "_get_capturable_supported_devices"
_find(f"torch.optim.optimizer.{CAPTURABLE}", "graphs of optimizers where a GPU is emulated")


def optimizers() -> list[Any]:
    """torch.optim's modules that ask where an optimizer can be captured."""
    modules = [module for name, module in sys.modules.items() if name.startswith("torch.optim.")]
    return [module for module in modules if hasattr(module, CAPTURABLE)]


def device_constructors() -> list[tuple[Any, str]]:
    """The functions that make tensors on the device that ``device=`` says: their modules and names.

    DeviceContext keeps a list of them, which it makes at its first use: this is to be called before they are replaced.
    """
    known = _device_constructors()
    homes = (torch, torch.fft, torch.nested, torch.sparse)
    made = [(home, name) for home in homes for name, value in vars(home).items() if callable(value) and value in known]
    return [*made, *((torch, name) for name in vars(torch) if name.endswith("_like") and not name.startswith("_"))]


def scripted_functions() -> dict[int, str]:
    """The names of operators that torch.jit.script finds by the identity of a function, which programs may add to."""
    table: dict[int, str] = torch.jit._builtins._get_builtin_table()  # type: ignore[no-untyped-call]
    return table


def forget_answers() -> None:
    """Have torch's compilers, where they are loaded, ask anew which functions torch has, and whether there is Triton.

    They keep what they are told first.
    """
    asked = sys.modules.get("torch.utils._triton")
    for function in list(vars(asked).values()) if asked else ():
        if hasattr(function, "cache_clear"):
            function.cache_clear()
    interfaces = sys.modules.get("torch._dynamo.device_interface")
    if interfaces is not None:
        interfaces.caching_worker_device_properties.clear()
    rules, functions = (sys.modules.get(f"torch._dynamo.{name}") for name in ("trace_rules", "variables.torch"))
    if rules is None or functions is None:
        return
    for cache in (
        rules.get_torch_obj_rule_map,
        functions.tracing_state_functions,
        functions.get_overridable_functions,
        functions.TorchInGraphFunctionVariable._get_handlers,
    ):
        cache.cache_clear()


# --- DTensor ---


def sharding_types() -> Any:
    """The module of DTensor's types for rules. Imports DTensor."""
    from torch.distributed.tensor import _op_schema

    return _op_schema


def sharding_propagator() -> Any:
    """What holds DTensor's rules of operators. Imports DTensor."""
    from torch.distributed.tensor import DTensor

    return DTensor._op_dispatcher.sharding_propagator


check()
