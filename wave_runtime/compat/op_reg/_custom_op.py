"""CustomOp: an operator whose kernels are generated when they are needed."""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch

from wave_runtime import _torch
from wave_runtime._fork import Lock
from wave_runtime._inductor import keep_order
from wave_runtime.compat.op_reg._builder import KernelBuilder
from wave_runtime.compat.op_reg._generated import Launch, run
from wave_runtime.compat.op_reg._selection import EagerKernelSelection, KernelSelection


def def_library(ns: str) -> torch.library.Library:
    """The library for operators in a namespace. There is one in a process; the same one is returned again."""
    return _library(ns, "DEF")


def _library(ns: str, kind: str) -> torch.library.Library:
    return torch.library.Library(ns, kind)  # type: ignore[no-untyped-call]


# A fragment, because wave_lang.runtime.op_reg, which may be imported as well, defines the namespace.
WAVE_LIBRARY = _library("wave_lang", "FRAGMENT")

ALL_CUSTOM_OP_REGS: dict[str, CustomOp] = {}  # by "namespace.name"
_counters: dict[tuple[str, str], int] = {}  # of names with @UNIQUE@
_lock = Lock()


class CustomOp(ABC):
    """An operator of PyTorch whose kernels are generated. Decorate a subclass with :meth:`register`.

        @CustomOp.register
        class scale(CustomOp):
            signature = "scale(Tensor a, float factor) -> Tensor"

            def select(self, ksel):
                a = ksel.arg_tensor(0)
                ksel.attr_float(1)
                ksel.return_new_tensor(a.t.shape, a.t.dtype)

            def generate(self, ksel, kb):
                return KernelLaunch(
                    SOURCE, "scale", defines={"FACTOR": ksel.arg_descs[1].v},
                    arguments=lambda a, factor, b: (a, b, a.numel()),
                    grid=lambda a, factor, b: cdiv(a.numel(), 256), block=256,
                )

        b = scale(a, 2.0)

    Attributes:
        name: the operator's name, without the namespace.
        library: the library that it is in.
        op: ``torch.ops.namespace.name``.
    """

    @staticmethod
    def register(
        op_class: type[CustomOp] | None = None,
        *,
        library: torch.library.Library = WAVE_LIBRARY,
        dispatch_key: str | Sequence[str] | None = None,
        register_meta: bool = True,
        register_impl: bool = True,
    ) -> Callable[..., Any]:
        """Make an operator of a class. The class is replaced by ``torch.ops.namespace.name``.

        Args:
            op_class: the class; without it the result is a decorator.
            library: to define it in.
            dispatch_key: for which tensors the kernels are; by default "CPU" and "CUDA", which is ROCm's, too.
            register_meta: whether :meth:`select` says what the results are, for compilers and meta tensors.
            register_impl: whether kernels are generated.

        Raises:
            ValueError: the text is not a valid signature.
            RuntimeError: the library has an operator of this name.
        """
        options: dict[str, Any] = {
            "library": library,
            "dispatch_key": dispatch_key,
            "register_meta": register_meta,
            "register_impl": register_impl,
        }
        if op_class is None:
            return functools.partial(CustomOp.register, **options)
        op: Callable[..., Any] = op_class(**options).op
        return op

    def __init__(
        self,
        *,
        library: torch.library.Library,
        dispatch_key: str | Sequence[str] | None,
        register_meta: bool,
        register_impl: bool,
    ) -> None:
        self.library = library
        self.name = _define(library, self.signature)
        self.cache_key_base = f"{library.ns}.{library.kind}::{self.name}"
        self.op = getattr(getattr(torch.ops, library.ns), self.name)
        self._schema = _torch.schema(self.op.default)
        self._returned_arguments = [_argument_of(item, self._schema) for item in self._schema.returns]
        implement: Any = functools.partial(library.impl, self.name)
        if register_meta:
            implement(self._run_meta, "Meta")
        if register_impl:
            keys = [dispatch_key] if isinstance(dispatch_key, str) else dispatch_key or ["CPU", "CUDA"]
            for key in keys:
                implement(self._run, key)
        if any(_torch.is_written(argument) for argument in self._schema.arguments):
            implement(self._mark_written, "ADInplaceOrView", with_keyset=True)
        keep_order(self.op.default)
        ALL_CUSTOM_OP_REGS[f"{library.ns}.{self.name}"] = self

    @property
    @abstractmethod
    def signature(self) -> str:
        """The schema: ``"name(Tensor a, int n=1) -> Tensor"``. ``@UNIQUE@`` in the name becomes a number."""

    @property
    def single_dispatch(self) -> bool:
        """Whether IREE is to make one dispatch of a function in MLIR."""
        return False

    @abstractmethod
    def select(self, sel: KernelSelection) -> None:
        """Declare all arguments and the results. Called at every call, also with compilers' stand-ins for tensors."""

    def eager_execute(self, *args: Any) -> Any:
        """Compute the results without a kernel, or return NotImplemented, as this does. Compilers do not call it."""
        return NotImplemented

    @abstractmethod
    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> Launch | None:
        """Make the kernel of a selection. It is called once for all calls with the same ``spec_key`` and target.

        Args:
            ksel: what ``select`` declared at the first of these calls. Rely only on what is in ``spec_key``, which they
                share.
            kb: ``kb.device`` and ``kb.target`` say where it will run.

        Returns:
            A function that is called with all arguments, None for tensors that were not given, and with the results,
            contiguous and not initialised, which it writes: a :class:`KernelLaunch`, or any that launches kernels. Or
            a ``Launchable``, called with the tensors and integers that are no attributes, which makes the results.
            Nothing, if it has written a function in MLIR with ``kb``, which ended with ``kb.yield_results(...)``.
        """

    def _complete(self, args: Sequence[Any], keywords: dict[str, Any]) -> list[Any]:
        """One value for each parameter: the dispatcher leaves out those at the end that have their defaults."""
        left = self._schema.arguments[len(args) :]
        return [*args, *(keywords.get(item.name, item.default_value) for item in left)]

    def _returned(self, args: Sequence[Any], results: Sequence[Any]) -> Any:
        """What the operator returns: the results, and arguments where the signature says so."""
        new = iter(results)
        values = tuple(next(new) if index is None else args[index] for index in self._returned_arguments)
        return values[0] if len(values) == 1 else values or None

    def _run_meta(self, *args: Any, **keywords: Any) -> Any:
        given = self._complete(args, keywords)
        selection = EagerKernelSelection(self, given)
        self.select(selection)
        return self._returned(given, [desc.generate_meta() for desc in selection.result_descs])

    def _run(self, *args: Any, **keywords: Any) -> Any:
        given = self._complete(args, keywords)
        result = self.eager_execute(*given)
        if result is not NotImplemented:
            return result
        selection = EagerKernelSelection(self, given)
        self.select(selection)
        return self._returned(given, run(selection))

    def _mark_written(self, keys: Any, *args: Any, **keywords: Any) -> Any:
        given = zip(self._schema.arguments, self._complete(args, keywords), strict=True)
        torch.autograd.graph.increment_version([value for argument, value in given if _torch.is_written(argument)])
        return _torch.below_writes(self.op.default, keys, args, keywords)


def _argument_of(returned: Any, schema: Any) -> int | None:
    """The index of the argument that a return of a schema is; None where it is new."""
    if returned.alias_info is None:
        return None
    aliases = [item.alias_info and item.alias_info.before_set for item in schema.arguments]
    return aliases.index(returned.alias_info.before_set)


def _define(library: torch.library.Library, signature: str) -> str:
    """Define an operator, and return its name."""
    match = re.match(r"^([^(]+)(\(.+)$", signature)
    if match is None:
        raise ValueError(f"Expected signature of form `name(...) -> type. Got: {signature}")
    name, rest = match[1], match[2]
    with _lock:
        if "@UNIQUE@" in name:
            number = _counters[library.ns, name] = _counters.get((library.ns, name), 0) + 1
            name = name.replace("@UNIQUE@", str(number))
        if hasattr(getattr(torch.ops, library.ns), name):
            raise RuntimeError(f"Duplicate wave custom op registration: library={library.ns}, name={name}")
        library.define(name + rest, tags=(torch.Tag.pt2_compliant_tag,))  # type: ignore[no-untyped-call]
    return name
