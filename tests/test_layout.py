"""The layers of csrc/: who may include whom, and what stays out of those below torch; what is in one place only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

TESTS = Path(__file__).parent
CSRC = TESTS.parent / "csrc"

# Folder -> the folders that its files may include, besides their own.
MAY_INCLUDE = {
    "base": set(),
    "code_object": {"base"},
    "emulator": {"base", "code_object", "emulator/isa"},
    "emulator/isa": {"base"},
    "driver": {"base", "code_object"},
    "driver/cuda": {"base", "code_object", "driver"},
    "driver/emulator": {"base", "code_object", "driver", "emulator"},
    "driver/hip": {"base", "code_object", "driver"},
    "c_api": {"base", "code_object", "driver", "launch"},
    "hip_emulator": {"base", "code_object", "emulator", "driver/hip"},
    "launch": {"base", "code_object", "driver"},
    "op": {"base", "code_object", "driver", "launch"},
    "python": {"base", "code_object", "driver", "launch", "op", "emulator", "emulator/isa"},
}
MAY_SEE_TORCH = {"op", "python"}


def files() -> list[Path]:
    return sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".cpp", ".inl"})


def folder(path: Path) -> str:
    return str(path.parent.relative_to(CSRC))


def test_includes_follow_the_layers() -> None:
    wrong = []
    for path in files():
        own = folder(path)
        for include in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            target = str(Path(include).parent)
            if target != own and target not in MAY_INCLUDE[own]:
                wrong.append(f"{path.relative_to(CSRC)} includes {include}")
            if not (CSRC / include).exists():
                wrong.append(f"{path.relative_to(CSRC)} includes {include}, which does not exist")
    assert wrong == []


def test_torch_and_python_stay_at_the_top() -> None:
    outside = re.compile(r"^#include <(torch|ATen|c10|pybind11|Python\.h)", re.MULTILINE)
    wrong = [str(p) for p in files() if folder(p) not in MAY_SEE_TORCH and outside.search(p.read_text())]
    assert wrong == []


def test_libraries_are_opened_in_one_place() -> None:
    users = [str(p.relative_to(CSRC)) for p in files() if re.search(r"\bdlopen\(", p.read_text())]
    assert users == ["base/dynamic_library.cpp"]


# Who reads the names of instructions, besides the disassembler, and what for. What an instruction is or does is in its
# row (tools/isa/properties.py).
READ_NAMES = {
    "bindings.cpp": "binds rows to bodies, and says which are not implemented",
    "isa/isa.h": "has them",
    "isa/table.cpp": "takes the suffix of the encoding off",
    "profile.cpp": "counts by name",
}
COMPARE_NAMES = {"bindings.cpp", "isa/table.cpp"}


def test_names_of_instructions_decide_nothing() -> None:
    emulator = CSRC / "emulator"
    texts = {
        str(path.relative_to(emulator)): path.read_text()
        for path in files()
        if emulator in path.parents and not path.name.startswith("disassemble")
    }
    reads = {name for name, text in texts.items() if re.search(r"\bmnemonic\b|\bbase_name\(", text)}
    assert reads == set(READ_NAMES)
    compares = re.compile(r"\.(starts_with|ends_with|contains|r?find|substr|compare)\(|[!=]= *\"")
    assert {name for name in reads if compares.search(texts[name])} == COMPARE_NAMES


def test_generations_are_compared_by_the_tables_alone() -> None:
    """In what they differ is in isa/features.h, which all else asks."""
    tables = CSRC / "emulator" / "isa"
    compared = re.compile(r"([=!]=|[<>]=?) *(isa::)?Generation::|switch \(.*generation\b")
    assert any(compared.search(path.read_text()) for path in tables.iterdir())
    assert [path for path in files() if tables not in path.parents and compared.search(path.read_text())] == []


# Types of one name in several namespaces, and why.
SHARED_NAMES = {
    "Error": "what is thrown; CUresult and hipError_t",
    "Field": "bits of an instruction; in upstream_types.cpp the place of a value in upstream's structure",
    "Format": "of instructions; of files with code",
    "Module": "what the emulator has loaded; CUmodule and hipModule_t",
    "Place": "of an operand; of a launch",
}
# Each names types as its interface does, and no file uses both.
INTERFACES = {"wave::cuda", "wave::hip"}

NOT_CODE = re.compile(r"""//.*|^#(?:.*\\\n)*.*|(?<!extern )"(?:\\.|[^"\\\n])*"|'\\?.'""", re.MULTILINE)
NAMESPACE = re.compile(r'(?:namespace ?([\w:]*)|extern "C")$')
TYPE = re.compile(
    r"(?:template <.*> )?(?:struct|class|union|enum(?: class)?) (?:alignas\(\d+\) )?(\w+)(?: final)?(?: : .*)?$"
)
ALIAS = re.compile(r"(?:template <.*> )?using (\w+) =")


def statements(source: str) -> Iterator[tuple[str, str, str]]:
    """What stands outside of types and functions, and the enumerators of plain enums: namespace, text and what ends it.

    An unnamed namespace's name ends with "::".
    """
    scopes: list[str | None] = []  # None: of anything but a namespace
    before = ""
    for statement, end in re.findall(r"([^{};]*)([{};])", NOT_CODE.sub(" ", source)):
        text = " ".join(statement.split())
        is_body = scopes[-1:] == [None] and re.match(r"enum (?!class\b)", before) is not None
        if None not in scopes[:-1] and (is_body or None not in scopes):
            namespace = "::".join(scope for scope in scopes if scope is not None and scope != "C")
            yield namespace, text, "enumerators" if is_body else end
        if end == "{":
            opened = NAMESPACE.match(text)
            scopes.append(None if opened is None else "C" if opened[1] is None else opened[1])
        elif end == "}":
            scopes.pop()
        before = text
    assert scopes == []


def types(source: str) -> Iterator[tuple[str, str]]:
    """The types that a file defines outside of others: namespace and name."""
    for namespace, text, end in statements(source):
        if defined := (TYPE if end == "{" else ALIAS).match(text):
            yield namespace, defined[1]


def test_a_type_has_its_name_for_itself() -> None:
    """Types in unnamed namespaces of several files may share one, where no other type of that namespace has it."""
    places: dict[str, set[tuple[str, str]]] = {}
    for path in files():
        for namespace, name in types(path.read_text()):
            where = "an interface" if namespace in INTERFACES else namespace
            places.setdefault(name, set()).add((where, "" if where == "an interface" else str(path)))
    shared = {}
    for name, found in places.items():
        namespaces = {namespace.removesuffix("::") for namespace, _ in found}
        is_local = all(namespace.endswith("::") for namespace, _ in found)
        if len(namespaces) > 1 or (len(found) > 1 and not is_local):
            shared[name] = sorted(found)
    assert set(shared) == set(SHARED_NAMES), {name: shared[name] for name in shared.keys() - SHARED_NAMES.keys()}


def test_types_are_found() -> None:
    source = """
#define OPEN {
namespace wave {
using Number = int;  // struct InComment {
struct Declared;
namespace detail {
template <class T>
struct alignas(64) Row : Base<T> { struct Nested { char brace = '{'; }; using Inner = int; };
}
namespace {
enum class Kind : uint8_t { First };
void function() { struct Local {}; }
struct Row::Part {};
}  // namespace
extern "C" { union Both { int a; }; }
const char* text = "class Quoted {";
}  // namespace wave
"""
    assert list(types(source)) == [
        ("wave", "Number"),
        ("wave::detail", "Row"),
        ("wave::", "Kind"),
        ("wave", "Both"),
    ]


BEFORE_NAMES = re.compile(r"\[\[.*?\]\]|alignas\(\w+\)|^template <.*?> (?=\w)")
NO_VALUES = re.compile(r"(?:namespace|struct|class|union|enum|using|return|static_assert)\b")


def declarations(source: str) -> Iterator[tuple[str, str]]:
    """What a file declares outside of types and functions: types, enumerators, constants, functions, by namespace."""
    yield from types(source)
    for namespace, text, end in statements(source):
        if end == "enumerators":
            yield from ((namespace, name) for name in re.findall(r"(?:^|, )(\w+)", text))
        elif not NO_VALUES.match(declared := BEFORE_NAMES.sub("", text).strip()):
            if name := re.match(r"[^=(]*[ *&](\w+)(?:\[[^\]]*\])* ?(?:[=(]|$)", declared):
                yield namespace, name[1]
            yield from ((namespace, name) for name in re.findall(r", (k[A-Z]\w*) =", declared))


def hidden(source: str, visible: dict[str, set[str]]) -> set[str]:
    """The names that a file has for itself, and headers in a namespace around it; `visible` has those of each."""
    found = set()
    for namespace, name in declarations(source):
        parts = namespace.removesuffix("::").split("::")
        around = {"::".join(parts[: level + 1]) for level in range(len(parts))}
        around |= {"wave::hip_emulator"} if namespace == "wave::hip::" else set()
        # `using hip_emulator::f;` adds to its overloads.
        if namespace.endswith("::") and f"::{name};" not in source:
            found |= {name for each in around if name in visible.get(each, set())}
    return found


# These add to the overloads of a function, for arguments of their own types.
OVERLOADS = {
    ("code_object/target.cpp", "append"),
    ("emulator/findings.cpp", "fault_of"),
    ("emulator/isa/decode.cpp", "is_legal"),
    ("hip_emulator/api_memory.cpp", "copy_later"),
    ("hip_emulator/api_memory.cpp", "copy_now"),
    ("hip_emulator/api_pool.cpp", "size_of"),
    ("python/kernel_object.cpp", "occupancy"),
    ("python/kernel_object.cpp", "preload"),
    ("python/operator_object.cpp", "place_of"),
}


def test_what_a_file_has_for_itself_hides_nothing() -> None:
    """Sources are compiled several as one: what one has in a namespace of its own, those behind it find, too."""
    visible: dict[str, dict[str, set[str]]] = {of: {} for of in MAY_INCLUDE}
    for path in files():
        for namespace, name in declarations(path.read_text()) if path.suffix == ".h" else ():
            for of in [of for of, others in MAY_INCLUDE.items() if folder(path) in {of, *others}]:
                visible[of].setdefault(namespace, set()).add(name)
    assert "kDpp" in visible["emulator"]["wave::isa"]
    assert {"find_queue", "runtime"} <= visible["hip_emulator"]["wave::hip_emulator"]
    found = {
        (str(path.relative_to(CSRC)), name)
        for path in files()
        if path.suffix == ".cpp" and not path.name.startswith("exec_")  # those are compiled alone
        for name in hidden(path.read_text(), visible[folder(path)])
    }
    assert found == OVERLOADS, "give new ones other names"


def test_hidden_names_are_found() -> None:
    source = """namespace wave::emulator {
namespace {
constexpr u32 kA = 1, kB = 2, kB2 = 3;
enum : u8 { kC, kD = 3 };
struct E {};
int f(int x) {
  return x;
}
template <class T>
[[gnu::noinline]] T* i(T x);
using hip::g;
int g();
const Variable& j = at_load("J");
}
int h();
}
"""
    everything = {"kA", "kB", "kB2", "kC", "kD", "E", "f", "g", "h", "i", "j"}
    for namespace in ("wave::emulator", "wave"):
        assert hidden(source, {namespace: everything}) == everything - {"g", "h"}
    assert hidden(source, {"wave::isa": everything}) == set()


def test_specialized_variables_of_headers_are_inline() -> None:
    """Else clang gives one name to each file's own, and links none of them (CWG issue 2387); GCC does not mind."""
    ours = [path for path in files() if path.suffix in {".h", ".inl"}]
    specialized = {
        path.name: re.findall(r"^template <>\n(.*constexpr [^(]*?) = ", path.read_text(), re.MULTILINE) for path in ours
    }
    assert any(specialized.values())
    wrong = {
        name: found for name, all_ in specialized.items() if (found := [v for v in all_ if not v.startswith("inline ")])
    }
    assert wrong == {}


# What makes a launch, and who may do it.
LAUNCHING = {
    # The last for occupancy().
    r"\bcheck_geometry\(": {"launch/geometry.h", "launch/submit.h", "python/kernel_object.cpp"},
    r"[.>]launch\(\{": {"launch/enqueue.h"},
    r"\bpack\(call\.packer\)|\.pack\(packer\)": {"launch/submit.h", "python/bound_launch.cpp"},
    r"\bcheck_differentiable\(": {"op/call.cpp", "op/call.h", "op/kernel_operator.cpp"},
    r"\bHostLaunch host\b": {"c_api/launch.cpp", "op/call.cpp"},
    r"\bPyLong_As": {"python/numbers.cpp", "python/numbers.h"},
}


def test_launches_are_checked_in_one_place() -> None:
    """Launchers read, and submit() does the rest: see docs/architecture.md."""
    texts = {str(path.relative_to(CSRC)): path.read_text() for path in files()}
    for pattern, expected in LAUNCHING.items():
        found = {name for name, text in texts.items() if re.search(pattern, text)}
        assert {name for name in found if not name.startswith("hip_emulator/")} == expected, pattern


def test_files_that_tests_import_have_names_of_their_own() -> None:
    """Those beside tests, and in the folders that conftest.py names, are imported by these names in one process."""
    root = TESTS.parent
    folders = {path.parent for path in TESTS.rglob("test_*.py")}
    folders |= {root / "benchmarks", root / "examples", root / "examples" / "kernels"}
    names = [path.name for folder in folders for path in folder.glob("*.py") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))


SKIPPING = re.compile(r"(.*\.)?(skip(if|_test|Test|If|Unless)?|importorskip|SkipTest)")


def names(source: str) -> Iterator[str]:
    """Of what a file's own code reaches or calls, which the programs that it writes are no part of."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute | ast.Name):
            yield ast.unparse(node)


def test_tests_are_skipped_in_one_place() -> None:
    """Where WAVE_RUNTIME_REQUIRE is heeded."""
    users = [
        str(path.relative_to(TESTS))
        for path in sorted(TESTS.rglob("*.py"))
        if any(SKIPPING.fullmatch(name) for name in names(path.read_text()))
    ]
    assert users == ["requirements.py"]


# What torch has beside its public interface that looks public, or is asked of objects rather than modules.
OF_OBJECTS = {"python_key_table", "py_impl", "redispatch", "_destroy", "_op_dispatcher", "_schema", "_fw_grad"}


def private_names_of_torch(source: str) -> Iterator[str]:
    """What is imported from torch, or reached in it, that begins with an underscore."""
    modules: set[str] = {"torch"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("torch.") and "._" in name.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            names = [f"{node.module}.{name.name}" for name in node.names]
            modules.update(name.asname or name.name for name in node.names)
            yield from (name for name in names if "._" in name)
        elif isinstance(node, ast.Attribute):
            parts = ast.unparse(node).split(".")
            is_private = parts[0] in modules and node.attr.startswith("_") and not node.attr.startswith("__")
            if is_private or node.attr in OF_OBJECTS - {"_schema" if parts[-2:-1] == ["self"] else ""}:
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(r"torch\._\w", node.value):
            yield node.value


def test_private_names_of_torch_are_in_one_place() -> None:
    """So that one module says what is missing where torch has changed."""
    package = TESTS.parent / "wave_runtime"
    found = {
        str(path.relative_to(package)): names
        for path in sorted(package.rglob("*.py"))
        if (names := sorted(set(private_names_of_torch(path.read_text()))))
    }
    assert list(found) == ["_torch.py"], {name: names for name, names in found.items() if name != "_torch.py"}


def test_private_names_are_found() -> None:
    source = """
import torch, torch._dynamo, torch.utils.data
from torch._ops import OpOverload
from torch.autograd import forward_ad
from wave_runtime import _torch
sys.modules["torch._inductor"], _torch.schema(op), torch.__version__, torch.library.Library
torch._C._any_requires_grad, forward_ad._current_level, op._schema, self._schema, op.redispatch
"""
    assert sorted(set(private_names_of_torch(source))) == [
        "forward_ad._current_level",
        "op._schema",
        "op.redispatch",
        "torch._C",
        "torch._C._any_requires_grad",
        "torch._dynamo",
        "torch._inductor",
        "torch._ops.OpOverload",
    ]


def imported(module: str, modules: dict[str, Path]) -> set[str]:
    """The modules of the package that a module imports when it is imported itself, not later in a function."""
    found = set()
    for node in ast.parse(modules[module].read_text()).body:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{name.name}" for name in node.names}
            found |= {name if name in modules or name == "wave_runtime._C" else node.module for name in names}
    return found & set(modules) - {module}


def test_imports_have_no_circle() -> None:
    root = TESTS.parent
    modules = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (root / "wave_runtime").rglob("*.py")
    }
    graph = {module: imported(module, modules) for module in modules}
    assert "wave_runtime._abi" in graph["wave_runtime._torch"]
    TopologicalSorter(graph).prepare()  # raises CycleError, which has the circle


def test_no_folder_of_tests_is_taken_for_a_package() -> None:
    """Where a package is not installed, importing it would give the folder of this name beside the tests."""
    imported = set()
    for path in [*TESTS.rglob("*.py"), *(TESTS.parent / "wave_runtime").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
                imported.add(node.module.split(".")[0])
    assert "triton" in imported
    own = {path.name for path in (TESTS.parent / "tools").iterdir()}  # packages that are always there
    assert (imported - own) & {path.name for path in TESTS.iterdir() if path.is_dir()} == set()
