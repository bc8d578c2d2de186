"""Functions in MLIR from template files, for CustomOp.generate.

_templates = StrFormatTemplateLoader(__name__)

def generate(self, ksel, kb):
    add = _templates.inline_template_function(kb, "add", "add_f32", element_type="f32")  # templates/add.mlir
    kb.yield_results(*call_function(add, *kb.arg_bindings))
"""

from __future__ import annotations

import itertools
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import resources
from typing import Any

from wave_runtime.compat.launchable._errors import require
from wave_runtime.compat.op_reg._builder import KernelBuilder

__all__ = ["JinjaTemplateLoader", "StrFormatTemplateLoader", "TemplateLoader", "call_function"]


class TemplateLoader(ABC):
    """Makes modules of templates."""

    @abstractmethod
    def load_template(self, kb: KernelBuilder, name: str, /, **kwargs: Any) -> Any:
        """The module that a template is with these values, as an ``iree.compiler.ir.Operation``."""

    def _parse_module_asm(self, kb: KernelBuilder, asm: str) -> Any:
        ir = require("iree.compiler.ir")
        try:
            return ir.Operation.parse(asm, context=kb.context)
        except ir.MLIRError as error:
            numbered = "\n".join(f"{number:>11}: {line}" for number, line in enumerate(asm.splitlines(), 1))
            raise RuntimeError(
                f"Error parsing generated op template:\n{textwrap.indent(str(error), '  ')}\n{numbered}"
            ) from None

    def inline_template_function(self, kb: KernelBuilder, template_file: str, function_name: str, **kwargs: Any) -> Any:
        """Put what a template has into the module that is being written, and return one of its functions.

        A module that has the function already is left as it is.

        Raises:
            RuntimeError: the template is no MLIR; with its lines.
            KeyError: it has no such function.
        """
        if function_name not in kb.symbol_table:
            _merge(self.load_template(kb, template_file, **kwargs), kb)
        return kb.symbol_table[function_name]


class StrFormatTemplateLoader(TemplateLoader):
    """Files in a folder of a package, for ``str.format``.

    Args:
        package_name: a module of the package: its ``__name__``.
        package_path: the folder, beside that module.
        suffix: of the files.
    """

    def __init__(self, package_name: str, package_path: str = "templates", *, suffix: str = ".mlir") -> None:
        self.parent_package_name = package_name.rpartition(".")[0]
        self.package_path = package_path
        self.suffix = suffix

    def load_template(self, kb: KernelBuilder, name: str, /, **kwargs: Any) -> Any:
        """The file with the values in it, parsed."""
        file = resources.files(self.parent_package_name) / self.package_path / f"{name}{self.suffix}"
        return self._parse_module_asm(kb, file.read_text().format(**kwargs))


class JinjaTemplateLoader(TemplateLoader):
    """Files in a folder of a package, for Jinja. Arguments are those of :class:`StrFormatTemplateLoader`.

    Raises:
        ModuleNotFoundError: jinja2 is not installed.
    """

    def __init__(self, package_name: str, package_path: str = "templates", *, suffix: str = ".mlir") -> None:
        try:
            from jinja2 import Environment, PackageLoader
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("Cannot use JinjaTemplateLoader if jinja2 is not installed") from error
        self.env = Environment(loader=PackageLoader(package_name, package_path))
        self.suffix = suffix

    def load_template(self, kb: KernelBuilder, name: str, /, **kwargs: Any) -> Any:
        """The file with the values in it, parsed."""
        return self._parse_module_asm(kb, self.env.get_template(f"{name}{self.suffix}").render(**kwargs))


def call_function(target_function: Any, *operands: Any) -> Sequence[Any]:
    """Call a ``util.func`` or ``func.func`` where the function that is being written goes on; returns the results."""
    ir = require("iree.compiler.ir")
    name = ir.StringAttr(target_function.attributes["sym_name"]).value
    kind = ir.FunctionType(ir.TypeAttr(target_function.attributes["function_type"]).value)
    dialect = target_function.operation.name.partition(".")[0]
    call = ir.Operation.create(
        f"{dialect}.call",
        results=kind.results,
        operands=operands,
        attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
    )
    results: Sequence[Any] = call.results
    return results


def _merge(module: Any, kb: KernelBuilder) -> None:
    """Move a module's operations into the one that is being written, those under another name whose own is taken."""
    symbols = require("iree.compiler.ir").SymbolTable
    operations = list(module.regions[0].blocks[0])
    for operation in operations:
        name = symbols.get_symbol_name(operation).value
        if name in kb.symbol_table:
            candidates = (f"{name}_{number}" for number in itertools.count())
            other = next(candidate for candidate in candidates if candidate not in kb.symbol_table)
            symbols.replace_all_symbol_uses(name, other, module)
            symbols.set_symbol_name(operation, other)
    for operation in operations:  # only now that all of them call each other by their new names
        kb.module_body.append(operation.detach_from_parent())
        kb.symbol_table.insert(operation)
