"""Wave kernels as kernels of this package."""

from __future__ import annotations

import linecache
import typing
from collections.abc import Sequence
from typing import Any, NoReturn

import torch

from wave_runtime import _C
from wave_runtime._module import Module
from wave_runtime._op import Operator, define_op
from wave_runtime.wave_lang._cpu import enable_cpu
from wave_runtime.wave_lang._source import Buffer, Code, Parameter, Scalar, grid_expressions

# wave-lang's names of types, in lower case, that signatures have, too. Tensors of others are passed as they are.
TYPES = {
    *("i8", "i16", "i32", "i64", "bool", "f16", "bf16", "f32", "f64"),
    *("f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"),
}


class WaveFunction:
    """A compiled Wave kernel that is called with the arguments of its Wave function. Made by :func:`from_wave`.

    A call checks the tensors' shapes, dtypes and strides, works out the dynamic dimensions and the grid, and launches.
    Compilers trace it. Shapes that do not fit raise ValueError.

    Attributes:
        kernel: the kernel, whose call takes tensors, scalars, dynamic dimensions and ``grid=``.
        parameters: the names of the Wave function's parameters.
        writes: the names of the parameters that the kernel writes.
        dynamic_dims: the names of the sizes that it takes as arguments.
        source: the Python code of a call.
    """

    def __init__(self, kernel: _C.Kernel, code: Code, order: Sequence[str]) -> None:
        self.kernel = kernel
        self.parameters = tuple(parameter.name for parameter in code.parameters)
        self.writes = tuple(buffer.name for buffer in code.buffers if buffer.is_written)
        self.dynamic_dims = tuple(map(str, code.dynamic))
        self.source = code.launch(order)
        self._code = code
        self._order = order
        self._launch = _compile(self.source, code.name, kernel)
        self._definition = self._launch  # what fingerprints of operators cover

    def __call__(self, *args: Any) -> None:
        """Launch on the tensors' device, as ``kernel(...)`` does."""
        self._launch(*args)

    @property
    def code(self) -> bytes:
        """The code object. Written to a file, it can be loaded by ``wave_runtime.load`` where there is no compiler."""
        return bytes(_C.embedded_code(self.kernel.handle).numpy())

    def define_op(self, name: str, *, inline: bool = False) -> Operator:
        """Make an operator that takes what the kernel reads, and returns what it writes as new tensors.

        The results are not initialised: what the kernel does not write of them is undefined.

        Args:
            name: ``"namespace::name"``.
            inline: whether ``torch.compile`` traces the launch instead of one operator.

        Raises:
            ValueError: the results' shapes do not follow from the inputs', torch lacks their dtype, or the kernel reads
                what it writes, too: write a function that prepares it, and decorate that with
                ``wave_runtime.define_op``.
        """
        try:
            self._check_results()
            source = self._code.functional(self._order)
        except ValueError as error:
            raise ValueError(
                f"{error}: write a function that makes the results, calls the kernel and returns them, and decorate "
                "that with wave_runtime.define_op"
            ) from None
        return define_op(name, inline=inline, kernels=[self.kernel])(_compile(source, self._code.name, self.kernel))

    def _check_results(self) -> None:
        arguments = [item for item in self.kernel.info["kernarg"]["arguments"] if item["kind"] == "global_buffer"]
        access = dict(zip(self._order, (item["access"] for item in arguments), strict=True))
        for buffer in self._code.buffers:
            if buffer.is_written and (access[buffer.name] != "write_only" or buffer.dtype is None):
                what = "of a dtype that torch lacks" if buffer.dtype is None else "read, too"
                raise ValueError(f"Wave kernel '{self._code.name}': '{buffer.name}', which it writes, is {what}")

    def __repr__(self) -> str:
        return f"<wave_runtime.wave_lang.WaveFunction {self._code.name}({', '.join(self.parameters)})>"


def from_wave(kernel: Any, options: Any = None) -> WaveFunction:
    """Make a function that launches a Wave kernel. The kernel may be compiled already, or is compiled here.

        gemm = wave_runtime.from_wave(gemm_in_wave, WaveCompileOptions(subs=..., dynamic_symbols=[M, N, K]))
        gemm(a, b, c)
        matmul = gemm.define_op("mylib::matmul")
        c = matmul(a, b)

    Args:
        kernel: what ``wave_compile`` returned, or a function decorated with ``tkw.wave``.
        options: ``WaveCompileOptions`` for such a function. Its ``wave_runtime`` is set to True.

    Raises:
        TypeError: ``kernel`` is neither, or ``options`` do not go with it.
        ValueError: it was not compiled with ``wave_runtime=True``, runs on several devices, has debug outputs, or was
            taken from wave-lang's cache, which does not keep its types: pass the function and options.
    """
    from wave_lang.kernel.wave.compile import WaveKernel, wave_compile
    from wave_lang.kernel.wave.wave import LaunchableWave

    function = None
    if isinstance(kernel, LaunchableWave):
        if options is None:
            raise TypeError("from_wave: a function that is not compiled yet needs options=WaveCompileOptions(...)")
        options.wave_runtime = True
        with enable_cpu():
            function, kernel = kernel, wave_compile(options, kernel)
    elif not isinstance(kernel, WaveKernel) or options is not None:
        given = type(kernel).__name__ + ("" if options is None else " and options")
        raise TypeError(
            f"from_wave: expected what wave_compile returns, or a @tkw.wave function and options, given {given}"
        )
    settings = kernel.options
    name = settings.kernel_launch_info.func_name or "kernel"
    if kernel.gpu_func is None or settings.num_devices > 1 or kernel.debug_outputs:
        why = "it was not compiled with wave_runtime=True" if kernel.gpu_func is None else "it has debug outputs"
        raise ValueError(f"Wave kernel '{name}': {'it runs on several devices' if settings.num_devices > 1 else why}")
    parameters, types = _parameters(name, kernel, function)
    code = Code(
        name,
        parameters,
        {symbol: int(value) for symbol, value in dict(settings.subs).items() if _is_size(value)},
        settings.dynamic_symbols,
        grid_expressions(settings.kernel_launch_info.grid_str),
    )
    inputs = [buffer.name for buffer in code.buffers if _usage(kernel, code.buffers.index(buffer)) == "INPUT"]
    order = [*inputs, *(buffer.name for buffer in code.buffers if buffer.name not in inputs)]
    written = {buffer.name for buffer in code.buffers if buffer.is_written}
    signature = [f"{item}: *{types[item]}{'' if item in written else ' const'}" for item in order]
    signature += [f"{scalar.name}: {types[scalar.name]}" for scalar in code.scalars]
    signature += [f"{code.variable(symbol)}: i64" for symbol in settings.dynamic_symbols]
    module = Module(_C.raw_codes(kernel.gpu_func), ", ".join(signature), None, "contiguous", False)
    return WaveFunction(module[name], code, order)


def _parameters(name: str, compiled: Any, function: Any) -> tuple[list[Parameter], dict[str, str]]:
    """The Wave function's parameters, and the types of their values as signatures name them; "" for those they lack."""
    hints: dict[str, Any]
    if function is not None:
        hints = typing.get_type_hints(function._f)
        hints.pop("return", None)
    elif getattr(compiled.options, "kernel_sig", None) is not None:
        bindings = compiled.options.kernel_sig.bindings
        hints = {item.name: item.kernel_buffer_type or item.scalar_type for item in bindings}
        hints = {key: hint for key, hint in hints.items() if hint is not None}
    else:
        raise ValueError(
            f"Wave kernel '{name}' came from wave-lang's cache, which does not keep its types: "
            "pass from_wave(function, options) instead of what wave_compile returns"
        )
    if function is None and compiled.bound_scalar_symbols:
        raise ValueError(f"Wave kernel '{name}' has bound scalars: pass from_wave(function, options)")
    symbols = {str(symbol): symbol for symbol in compiled.bound_scalar_symbols}
    changed = _changed_by_atomics(compiled.get_trace() or function._trace())
    parameters: list[Parameter] = []
    types: dict[str, str] = {}
    buffers = 0
    for key, hint in hints.items():
        kind = str(hint.dtype).lower()
        types[key] = kind if kind in TYPES else ""
        if hasattr(hint, "address_space"):
            is_written = _usage(compiled, buffers) != "INPUT" or key in changed
            parameters.append(Buffer(key, tuple(hint.symbolic_shape), _torch_dtype(hint.dtype), is_written))
            buffers += 1
        else:
            parameters.append(Scalar(key, kind in ("f32", "f16", "bf16", "f64"), symbols.get(key)))
    return parameters, types


def _usage(compiled: Any, index: int) -> str:
    """ "INPUT" or "OUTPUT"."""
    usage: str = compiled.options.kernel_usages[index].name
    return usage


def _changed_by_atomics(trace: Any) -> set[str]:
    """The parameters that atomic operations change: wave-lang calls those inputs that nothing else writes."""
    from wave_lang.kernel.ops.wave_ops import AtomicOp, Placeholder, ScatterAdd, get_custom

    names = set()
    for operation in map(get_custom, trace.walk()):
        if isinstance(operation, (AtomicOp, ScatterAdd)):
            memory = get_custom(operation.rhs if isinstance(operation, AtomicOp) else operation.memory)
            if isinstance(memory, Placeholder):
                names.add(memory._name)
    return names


def _is_size(value: Any) -> bool:
    try:
        return bool(int(value) == value)
    except (TypeError, ValueError):
        return False


def _torch_dtype(wave_dtype: Any) -> torch.dtype | None:
    from wave_lang.kernel.wave.utils.general_utils import WAVE_DTYPE_TO_TORCH

    dtype: torch.dtype | None = WAVE_DTYPE_TO_TORCH.get(wave_dtype)
    return dtype


def _compile(source: str, name: str, kernel: _C.Kernel) -> Any:
    """The function that a text defines, which tracebacks and torch.compile can read."""

    def refuse(argument: str, names: str, expected: tuple[int, ...] | None, given: torch.Tensor) -> NoReturn:
        shape = "" if expected is None else f" = {list(expected)}"
        raise ValueError(
            f"Wave kernel '{name}', '{argument}': expected shape {names}{shape}, given {list(given.shape)}"
        )

    file = f"<from_wave {kernel.handle} {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace: dict[str, Any] = {"launch": kernel, "refuse": refuse}  # no __name__, which dynamo would import
    namespace |= {"torch": torch, "Tensor": torch.Tensor}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]
