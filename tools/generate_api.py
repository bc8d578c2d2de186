"""Writes docs/api.md, the reference of all public names, from the docstrings: ``python tools/generate_api.py``.

The stub's docstrings go into csrc/python/docs.inc, too, so that help() has them. It reads the sources and imports
nothing, so it needs no build. A test tells when a file is not current.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "api.md"
STUB = ROOT / "wave_runtime" / "_C.pyi"
DOCS = ROOT / "csrc" / "python" / "docs.inc"  # what help() says

# The page's parts: a title, the module, the page that introduces it, and the names; without names those in its __all__.
LOADING = ("load", "compile", "Module", "Kernel", "BoundLaunch", "sequence", "Sequence", "CompileError", "KernelFault")
OPERATORS = ("define_op", "Operator", "variants", "autotune", "Variants", "cdiv", "from_wave", "from_triton")
EMULATING = ("emulate", "Emulation")
SANITIZING = ("sanitize", "Sanitation", "SanitizeError", "Finding")
LOOKING = ("compare", "Comparison", "do_bench", "profile", "Profile", "loaded", "Loaded")
UPSTREAM = ("load_hip_functions", "load_binary", "KernelLaunchInfo", "Int32Vector", "Int64Vector", "launch")
PARTS = (
    ("Kernels", "wave_runtime", "kernels.md", LOADING),
    ("Operators", "wave_runtime", "operators.md", OPERATORS),
    ("Looking at launches", "wave_runtime", "kernels.md", LOOKING),
    ("A GPU, emulated", "wave_runtime", "emulate.md", EMULATING),
    ("Mistakes of kernels", "wave_runtime", "sanitize.md", SANITIZING),
    ("Triton kernels: wave_runtime.triton", "wave_runtime.triton", "triton.md", ()),
    ("Kernels in packages: wave_runtime.build", "wave_runtime.build", "packages.md", ()),
    ("Hooks: wave_runtime.hooks", "wave_runtime.hooks", "gpu.md", ()),
    ("Upstream's names", "wave_runtime", "upstream.md", UPSTREAM),
    ("Wave kernels: wave_runtime.wave_lang", "wave_runtime.wave_lang", "upstream.md", ()),
    ("wave_runtime.compat.launchable", "wave_runtime.compat.launchable", "launchable.md", ()),
    ("wave_runtime.compat.op_reg", "wave_runtime.compat.op_reg", "launchable.md", ()),
    ("wave_runtime.compat.pyhip", "wave_runtime.compat.pyhip", "pyhip.md", ("module", "SourceModule", "SourceKernel")),
    ("wave_runtime.compat.vendors", "wave_runtime.compat.vendors", "vendors.md", ()),
)
HEADER = """# API reference

All public names, from their docstrings. The pages that explain by examples are in the [index](README.md).
`python tools/generate_api.py` writes this page.

"""
WIDTH = 100  # of a signature on one line

Function = ast.FunctionDef | ast.AsyncFunctionDef
SECTIONS = ("Args", "Attributes", "Raises", "Returns")
TITLES = {"Args:": "Arguments:"}


class Found(NamedTuple):
    """A definition, and the module that it is in."""

    node: ast.stmt
    module: str


def parsed(module: str) -> ast.Module:
    """A module of the package, or the stub of its extension."""
    path = ROOT.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py", path.with_suffix(".pyi"))
    return ast.parse(next(file for file in files if file.exists()).read_text())


def definition(module: str, name: str) -> Found:
    """Where a name is defined: in the module, or in the one that it is imported from."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return Found(node, module)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return Found(node, module)
        if isinstance(node, ast.ImportFrom):
            for item in node.names:
                if (item.asname or item.name) == name:
                    return definition(node.module or "", item.name)
    raise KeyError(f"{module} has no {name}")


def exported(module: str) -> list[str]:
    """What a module lists in __all__."""
    node = definition(module, "__all__").node
    assert isinstance(node, ast.Assign)
    names: list[str] = ast.literal_eval(node.value)
    return names


def paragraphs(text: str) -> list[str]:
    """The parts between empty lines; code, which is indented, may have such lines in it."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        if found and is_code(block) and is_code(found[-1]):
            found[-1] += f"\n\n{block}"
        else:
            found.append(block)
    return found


def is_code(block: str) -> bool:
    """Whether a paragraph is indented."""
    return all(line.startswith("    ") or not line for line in block.splitlines())


def markdown(docstring: str) -> str:
    """A docstring in Google's form as Markdown."""
    plain = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", docstring).replace("``", "`")
    blocks: list[str] = []
    for block in paragraphs(plain):
        title, _, rest = block.partition("\n")
        if title.rstrip(":") in SECTIONS and title.endswith(":"):
            text = items(textwrap.dedent(rest), is_list=title != "Returns:")
            blocks.append(f"**{TITLES.get(title, title)}**\n\n{text}")
        elif is_code(block):
            blocks.append(f"```\n{textwrap.dedent(block)}\n```")
        else:
            blocks.append(block)
    return "\n\n".join(blocks)


def items(text: str, *, is_list: bool) -> str:
    """Lines ``name: what it is``, each with what is indented below it, as a list."""
    if not is_list:
        return " ".join(text.split())
    entries = re.split(r"\n(?=\S)", text)
    pairs = [" ".join(entry.split()).partition(": ") for entry in entries]
    return "\n".join(f"- `{name}`: {rest}" if rest else f"- {name}" for name, _, rest in pairs)


def signature(node: Function, name: str) -> str:
    """``name(a: int) -> str``, without self and cls; a parameter a line where that is long."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    if plain and plain[0].arg in ("self", "cls"):
        (arguments.posonlyargs or arguments.args).pop(0)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    text = ", ".join(map(spaced, separated(ast.unparse(arguments))))
    if len(name) + len(text) + len(returns) <= WIDTH:
        return f"{name}({text}){returns}"
    return f"{name}(\n" + "".join(f"    {item},\n" for item in separated(text)) + f"){returns}"


def spaced(parameter: str) -> str:
    """A parameter as people write it: ``n: int = 1``."""
    return re.sub(r"^(\w+: [^=]*[^=!<>])=(?!=)", r"\1 = ", parameter)


def separated(arguments: str) -> list[str]:
    """The text of arguments at the commas that are in no brackets and no string."""
    parts = [""]
    depth, quote = 0, ""
    for character in arguments:
        if quote or character in "'\"":
            quote = "" if character == quote else quote or character
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def decorators(node: Function) -> set[str]:
    """The names of a function's decorators."""
    return {ast.unparse(item).split(".")[-1] for item in node.decorator_list}


def function(node: Function, name: str, level: int) -> Iterator[str]:
    """A function, method or property."""
    if decorators(node) & {"property", "cached_property"}:
        returns = f": {ast.unparse(node.returns)}" if node.returns is not None else ""
        yield f"{'#' * level} `{name}{returns}`"
    else:
        yield f"{'#' * level} `{name}`"
        yield f"```\n{signature(node, name.rpartition('.')[2])}\n```"
    if text := ast.get_docstring(node):
        yield markdown(text)


def members(node: ast.ClassDef) -> list[Function]:
    """Public methods and properties with a docstring, and what calling an object, or an item of it, does."""
    special = ("__call__", "__getitem__", "__setitem__")
    functions = [item for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))]
    public = [item for item in functions if not item.name.startswith("_") or item.name in special]
    return [item for item in public if ast.get_docstring(item) and not decorators(item) & {"setter", "deleter"}]


def entry(module: str, name: str) -> Iterator[str]:
    """What the page says of a name."""
    found = definition(module, name)
    if isinstance(found.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        documented = [
            node
            for node in parsed(found.module).body
            if isinstance(node, ast.FunctionDef) and node.name == name and ast.get_docstring(node)
        ]
        yield from function(documented[-1], name, 3)
        return
    yield f"### `{name}`"
    if not isinstance(found.node, ast.ClassDef):
        return
    if bases := [ast.unparse(base) for base in found.node.bases if not ast.unparse(base).startswith("_")]:
        yield f"A class, based on {', '.join(f'`{base}`' for base in bases)}."
    if text := ast.get_docstring(found.node):
        yield markdown(text)
    for item in members(found.node):
        yield from function(item, f"{name}.{item.name}", 4)


def page() -> str:
    """The whole page."""
    blocks = []
    for title, module, introduction, names in PARTS:
        blocks.append(f"## {title}")
        if module != "wave_runtime" and (text := ast.get_docstring(parsed(module))):
            blocks.append(text.partition("\n")[0].replace("``", "`"))
        blocks.append(f"Explained in [{introduction}]({introduction}).")
        for name in names or [name for name in exported(module) if not name.isupper()]:
            blocks += entry(module, name)
    return HEADER + "\n\n".join(blocks) + "\n"


def stub_docs() -> str:
    """The docstrings of the stub's types and functions, for C++: a line of an array for each."""
    lines = [f"// Made by tools/generate_api.py of {STUB.relative_to(ROOT)}."]
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            named: list[tuple[str, ast.ClassDef | Function]] = [(node.name, node)]
            if isinstance(node, ast.ClassDef):
                named += [(f"{node.name}.{item.name}", item) for item in members(node)]
            for name, item in named:
                if docstring := ast.get_docstring(item):
                    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", docstring).replace("``", "`")
                    lines.append(f'{{"{name}", R"doc({text})doc"}},')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    DOCS.write_text(stub_docs())
