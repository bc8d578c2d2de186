"""What is to be compiled, what it gives, and how it fails."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from wave_runtime._cache import Cache
from wave_runtime._fork import start


class CompileError(RuntimeError):
    """A source was not compiled: the compiler rejects it, or there is no compiler.

    The message has the command and the compiler's own messages, with the lines of the source.
    """


@dataclass(frozen=True)
class Unit:
    """One source for one target, or several that are linked.

    Attributes:
        text: the source.
        path: its absolute path; None where it was given as text.
        language: "hip", "cuda", "asm", "llvm", "mlir" or "sycl".
        target: "gfx942:sramecc+", "sm_90".
        options, defines, include_dirs: for the compiler; folders are absolute.
        others: further sources, for the same target, that are linked with it.
        verbose: whether commands and all that compilers say go to stderr.
        store: where a compiler may keep what several sources share; None: nowhere.
    """

    text: bytes
    path: str | None
    language: str
    target: str
    options: tuple[str, ...]
    defines: tuple[tuple[str, str | None], ...]
    include_dirs: tuple[str, ...]
    others: tuple[Unit, ...] = ()
    verbose: bool = False
    store: Cache | None = None

    @property
    def name(self) -> str:
        """What messages call the source."""
        name = self.path or f"the {self.language} source"
        return f"{name} with {len(self.others)} more" if self.others else name

    @property
    def sources(self) -> tuple[Unit, ...]:
        """It and the others."""
        return (self, *self.others)

    def definitions(self) -> list[str]:
        """The macros as options of a C compiler."""
        return [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in self.defines]

    def refuse_others(self, advice: str) -> None:
        """Raise CompileError where there are several sources; the advice says who links them."""
        if self.others:
            raise CompileError(f"{self.name}: these sources cannot be linked into one module: {advice}")

    def in_folder(self, folder: Path, suffix: str, number: int = 0) -> Path:
        """A file with the source: its own, or one in a folder, which is named after its number among several."""
        if self.path is not None:
            return Path(self.path)
        file = folder / f"source{number or ''}{suffix}"
        file.write_bytes(self.text)
        return file


@dataclass(frozen=True)
class Compiled:
    """What a unit gave.

    Attributes:
        image: the code object or cubin.
        signatures: of its kernels, by symbol, where the compiler knows the types.
        symbols: of its kernels, by their names in the source where those are others.
        files: the paths of the files that were included.
    """

    image: bytes
    signatures: Mapping[str, str] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()

    def pack(self) -> bytes:
        """All of it as the contents of one file."""
        head = json.dumps({"signatures": dict(self.signatures), "symbols": dict(self.symbols)}).encode()
        return len(head).to_bytes(4, "little") + head + self.image

    @staticmethod
    def unpack(data: bytes) -> Compiled:
        """What pack() made the contents of. Raises ValueError where pack() has not made them."""
        end = 4 + int.from_bytes(data[:4], "little")
        try:
            head = json.loads(data[4:end])
        except RecursionError as error:
            raise ValueError(str(error)) from None
        match head:
            case {"signatures": dict(signatures), "symbols": dict(symbols)}:
                if all(isinstance(text, str) for text in (*signatures.values(), *symbols.values())):
                    return Compiled(data[end:], signatures, symbols)
        raise ValueError("no signatures and symbols")


# What else compilers read: clang (its manual and lib/Driver), hipRTC, nvcc ("NVCC Environment Variables").
_VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH"),
    *("ROCM_PATH", "HIP_PATH", "HIP_DEVICE_LIB_PATH", "HIPRTC_COMPILE_OPTIONS_APPEND"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
)


def environment() -> dict[str, str]:
    """What compilers read of this process's environment."""
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}


# The text and the others are described on their own; the rest changes nothing in the result.
_NOT_DESCRIBED = ("text", "others", "verbose", "store")


def describe(unit: Unit) -> dict[str, object]:
    """What the result depends on, but for compiler and environment, as JSON, with hashes of the texts."""
    plain = {name: value for name, value in asdict(unit).items() if name not in _NOT_DESCRIBED}
    text = hashlib.sha256(unit.text).hexdigest()
    return {**plain, "text": text, "others": [describe(other) for other in unit.others]}


@dataclass(frozen=True)
class Program:
    """A compiler.

    Attributes:
        path: of the program or library.
        identity: changes when it does.
    """

    path: str
    identity: str

    @staticmethod
    def at(path: str) -> Program:
        """The program at a path, with links followed."""
        real = os.path.realpath(path)
        stat = os.stat(real)
        # A launcher such as ccache goes by the name of the link.
        return Program(path, f"{path} {real} {stat.st_size} {stat.st_mtime_ns}")

    @staticmethod
    def named_by(variable: str) -> Program | None:
        """The program that an environment variable names, if it is set. Raises CompileError where there is none."""
        name = os.environ.get(variable)
        if not name:
            return None
        path = shutil.which(name)
        if path is None:
            raise CompileError(
                f"{variable}={name}: there is no such program; name the compiler by its path, or as PATH has it"
            )
        return Program.at(path)


def run(unit: Unit, commands: Iterable[Sequence[str | Path]], folder: Path) -> None:
    """Run commands side by side in a folder. Raises CompileError for the first that fails."""
    texts = [[str(word) for word in command] for command in commands]
    processes = [
        start(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for command in texts
    ]
    outputs = [process.communicate()[0].decode(errors="replace") for process in processes]
    if unit.verbose:
        for command, output in zip(texts, outputs, strict=True):
            print(f"{shlex.join(command)}\n{output}", end="", file=sys.stderr)
    for command, process, output in zip(texts, processes, outputs, strict=True):
        if process.returncode != 0:
            # What lies in the folder is gone when somebody reads this: a text's file has no more than a name then.
            command = [word.removeprefix(f"{folder}/") for word in command]
            raise CompileError(
                f"{unit.name} does not compile for {unit.target} (exit status {process.returncode}):\n"
                f"{output.rstrip().replace(f'{folder}/', '')}\n"
                f"The command was: {shlex.join(command)}{_advice(output)}"
            )


# Words of a rule end at spaces and line ends. A backslash before a line end continues the line.
_WORD_OF_RULE = re.compile(rb"(?:\\+[ \t]|\\(?!\n)|[^ \n\\])+")


def included(rule: Path, source: Path) -> list[str]:
    """The files of a rule for make, which compilers write with -MD; all but the source. It lies where they ran."""
    words = [_unescaped(word) for word in _WORD_OF_RULE.findall(rule.read_bytes())]
    first = next(index for index, word in enumerate(words) if word.endswith(b":")) + 1  # behind the target
    named = [os.path.normpath(os.path.join(rule.parent, os.fsdecode(word))) for word in words[first:]]
    paths = [path for name in named for path in _spellings(name)]
    return [path for path in dict.fromkeys(paths) if path != str(source)]


def _unescaped(word: bytes) -> bytes:
    """A word as compilers mean it: "\\#" (where make would see a comment behind further backslashes), "$$", and a
    backslash before a blank, with those before it doubled."""
    word = re.sub(rb"(\\+)([ \t])", lambda match: match[1][: len(match[1]) // 2] + match[2], word)
    return word.replace(b"\\#", b"#").replace(b"$$", b"$")


def _spellings(path: str) -> list[str]:
    """The files that a name in a rule stands for: where there is none of that name, those with backslashes in place of
    slashes, which is how clang writes them."""
    if os.path.exists(path):
        return [path]
    return list(_with_backslashes("/", path.lstrip("/"))) or [path]


def _with_backslashes(folder: str, rest: str) -> Iterator[str]:
    """The files below a folder that have a name once their backslashes are slashes, of which several count as one."""
    try:
        odd = [name for name in os.listdir(folder) if "\\" in name]
    except OSError:
        odd = []
    for name in (rest.split("/", 1)[0], *odd):
        path, beginning = os.path.join(folder, name), re.sub("/+", "/", name.replace("\\", "/") + "/").lstrip("/")
        if rest + "/" == beginning and os.path.exists(path):
            yield path
        elif rest.startswith(beginning) and os.path.isdir(path):
            yield from _with_backslashes(path, rest[len(beginning) :])


def _advice(output: str) -> str:
    if "lld" in output and ("not found" in output or "unable to execute" in output):
        return "\nThe linker is missing: install lld of the compiler's version (Debian: lld-19 for clang-19)"
    if "unknown target CPU" in output or "unsupported HIP gpu architecture" in output:
        return "\nThe compiler does not know the target: a newer clang may"
    return ""
