"""KernelBuilder: what CustomOp.generate writes MLIR with."""

from __future__ import annotations

import contextlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import torch

from wave_runtime.compat.launchable._errors import require
from wave_runtime.compat.op_reg._descriptors import EmptyOptionalTensorArg
from wave_runtime.compat.op_reg._selection import KernelSelection


class KernelBuilder(ABC):
    """A function in MLIR that is being written.

    Args:
        ksel: the selection that it is for.
        arg_bindings: the function's values for the arguments that were given, a list of them for a list of tensors;
            None for those of ``ir_arity`` 0.
        ip: where the function's body goes on.
        module_body: the block of the module that it is in.
        symbol_table: of that module.
    """

    def __init__(
        self, ksel: KernelSelection, arg_bindings: list[Any], *, ip: Any, module_body: Any, symbol_table: Any
    ) -> None:
        self.ksel = ksel
        self.arg_bindings = arg_bindings
        self.ip = ip
        self.module_body = module_body
        self.context = module_body.owner.context
        self.symbol_table = symbol_table
        self.yielded = False

    def arg_value(self, index: int) -> Any:
        """The value of an argument. Raises AssertionError where there is none."""
        try:
            value = self.arg_bindings[index]
        except IndexError:
            count = len(self.arg_bindings)
            raise AssertionError(f"Out of range access to kernel arg. Expected 0..{count}. Got {index}") from None
        if value is None:
            raise AssertionError(f"No `Value` is available for arg {index}: kernel selection gave it an ir_arity of 0")
        return value

    def constant_index(self, i: int) -> Any:
        """A constant of type ``index``."""
        ir = require("iree.compiler.ir")
        index = ir.IndexType.get()
        return require("iree.compiler.dialects.arith").constant(index, ir.IntegerAttr.get(index, i))

    @abstractmethod
    def yield_results(self, *results: Any) -> None:
        """End the function: the results, then the new values of arguments that are tied in place, in their order.

        Raises:
            AssertionError: there are more or fewer, or it was called before.
        """


class FreeFuncKernelBuilder(KernelBuilder):
    """Writes a function of its own.

    Args:
        ksel: the selection that it is for.
        module_body: the block of the module to put it in.
        symbol_table: of that module.
        func_name: by default the operator's.
        is_public: whether the function is one of the module's interface.

    Raises:
        ModuleNotFoundError: iree-base-compiler is not installed.
        KeyError: MLIR has no type for a tensor.
    """

    def __init__(
        self,
        ksel: KernelSelection,
        *,
        module_body: Any,
        symbol_table: Any,
        func_name: str | None = None,
        is_public: bool = True,
    ) -> None:
        ir = require("iree.compiler.ir")
        self.module_op = module_body.owner
        with self.module_op.context, ir.Location.unknown(), ir.InsertionPoint(module_body):
            operands = [asm for desc in ksel.get_provided_arg_descs() for asm in _types(desc)]
            results = [asm for desc in (*ksel.result_descs, *ksel.inplace_tied_arg_descs) for asm in _types(desc)]
            kind = ir.FunctionType.get([*map(ir.Type.parse, operands)], [*map(ir.Type.parse, results)])
            function = require("iree.compiler.dialects.func").FuncOp(func_name or ksel.op.name, kind)
            if not is_public:
                function.attributes["sym_visibility"] = ir.StringAttr.get("private")
            block = function.add_entry_block()
            symbol_table.insert(function)
        super().__init__(
            ksel,
            _bindings(ksel, list(block.arguments)),
            ip=ir.InsertionPoint(block),
            module_body=module_body,
            symbol_table=symbol_table,
        )

    @staticmethod
    def create_module(
        ksel: KernelSelection, *, context: Any = None, func_name: str | None = None, is_public: bool = True
    ) -> FreeFuncKernelBuilder:
        """A builder of a function in a module of its own. Arguments and errors are those of the class."""
        ir = require("iree.compiler.ir")
        with context or ir.Context(), ir.Location.unknown():
            module = require("iree.compiler.dialects.builtin").ModuleOp()
            return FreeFuncKernelBuilder(
                ksel,
                module_body=module.body,
                symbol_table=ir.SymbolTable(module),
                func_name=func_name,
                is_public=is_public,
            )

    def yield_results(self, *results: Any) -> None:
        if self.yielded:
            raise AssertionError("yield_results has already been called")
        declared = [desc for desc in self.ksel.result_descs if not isinstance(desc, EmptyOptionalTensorArg)]
        expected = len(declared) + len(self.ksel.inplace_tied_arg_descs)
        if len(results) != expected:
            raise AssertionError(
                f"Mismatched yielded results and declared+inplace: Expected={expected}, Got={len(results)}"
            )
        with self.ip, require("iree.compiler.ir").Location.unknown():
            require("iree.compiler.dialects.func").ReturnOp(results)
        self.yielded = True


class EagerKernelBuilder(KernelBuilder):
    """What ``generate`` is given for a call: where the kernel will run, and a function in MLIR for those that write it.

    The function is begun when something of it is asked for, so that kernels without MLIR need no IREE; or at once where
    IREE's bindings are imported, which expect a context.

    Attributes:
        device: of the tensors.
        target: what kernels are compiled for there: "gfx942", "sm_90".
    """

    def __init__(self, ksel: KernelSelection, device: torch.device, target: str) -> None:
        self.ksel = ksel
        self.device = device
        self.target = target
        self._function: FreeFuncKernelBuilder | None = None
        self._stack = contextlib.ExitStack()

    @contextlib.contextmanager
    def generating(self) -> Iterator[None]:
        """The context in which ``generate`` runs."""
        with self._stack:
            if "iree.compiler.ir" in sys.modules:
                self._begin()
            yield

    def _begin(self) -> FreeFuncKernelBuilder:
        if self._function is None:
            self._function = FreeFuncKernelBuilder.create_module(self.ksel, func_name="main")
            self._stack.enter_context(self._function.ip)  # of the context, too
            self._stack.enter_context(require("iree.compiler.ir").Location.unknown())
        return self._function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._begin(), name)

    def yield_results(self, *results: Any) -> None:
        self._begin().yield_results(*results)

    def finish(self) -> bytes:
        """The module, whose function is now called ``main$async`` and takes two fences behind its arguments.

        Raises:
            AssertionError: nothing was yielded.
        """
        function = self._function
        if function is None or not function.yielded:
            raise AssertionError(
                f"generate() of '{self.ksel.op.name}' returned no launch, and called no kb.yield_results(...)"
            )
        ir, passes = require("iree.compiler.ir"), require("iree.compiler.passmanager")
        module = function.module_op
        passes.PassManager.parse("builtin.module(inline, torch-iree-func-conversion)", function.context).run(module)
        if self.ksel.op.single_dispatch:
            asm = '#util.preprocessing_pipeline<"iree-preprocessing-make-single-dispatch">'
            main = ir.SymbolTable(module)["main$async"]
            main.attributes["preprocessing_pipeline"] = ir.Attribute.parse(asm, function.context)
        module.verify()
        text: str = module.get_asm()
        return text.encode()


def _types(desc: Any) -> list[str]:
    """The MLIR types of a descriptor's operands."""
    if desc is None:
        raise AssertionError("Uninitialized argument descriptor")
    if desc.is_list:
        return list(desc.mlir_type_asm)
    return [desc.mlir_type_asm] if desc.ir_arity else []


def _bindings(ksel: KernelSelection, values: list[Any]) -> list[Any]:
    """The function's values, for each argument that was given."""
    bindings: list[Any] = []
    for desc in ksel.get_provided_arg_descs():
        assert desc is not None
        taken, values = values[: desc.ir_arity], values[desc.ir_arity :]
        bindings.append(taken if desc.is_list else taken[0] if taken else None)
    return bindings
