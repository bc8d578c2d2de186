"""Writes the headers that set a user's macros aside while the headers for kernels are read.

    python tools/generate_names_set_aside.py [--output FOLDER]

compile() includes these headers before a source, so ``-DN=4`` would change what they call N. Macros cannot be made in a
loop, so there is a line for each name that the headers use and that is a user's to define: all but the reserved ones.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

DEVICE = Path(__file__).resolve().parent.parent / "wave_emulator" / "device"
BEGIN, END = "set_macros_aside.h", "bring_macros_back.h"
_PASTED = "host_functions.h"  # its names have hip before them
# What comments, texts and directives have; a text may go on behind a backslash.
_SKIPPED = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\#\s*include[^\n]*""", re.DOTALL)
_DIRECTIVE = re.compile(r"^\s*#\s*(?:define\s+(\w+)|\w+)", re.MULTILINE)
_NUMBER = re.compile(r"\b\d[\w.']*(?:[+-]\d+)?")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
# Those of implementations, of HIP and CUDA, and of these headers' own macros.
_RESERVED = re.compile(r"__|_[A-Z]|hip[A-Z]|cuda[A-Z]|HIP|WAVE_")
_KEYWORDS = (
    "alignas alignof and asm auto bitand bitor bool break case catch char class compl const const_cast constexpr "
    "continue decltype default defined delete do double else enum explicit extern false float for friend goto if "
    "inline int long mutable namespace new noexcept not nullptr operator or private protected public register "
    "reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this throw "
    "true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor"
)
# Of <new>, which the headers include: that of clang and those of the libraries.
_NEW = (
    "align_val_t bad_alloc bad_array_new_length bad_exception destroying_delete destroying_delete_t exception "
    "get_new_handler launder new_handler nothrow nothrow_t nullptr_t ptr ptrdiff_t set_new_handler size size_t what"
)
_HEADER = "// {what} tools/generate_names_set_aside.py writes it.\n// clang-format off\n"


def names() -> list[str]:
    """What the headers call things, in the order of the alphabet, one-letter names first."""
    used = set(_NEW.split())
    defined: set[str] = set()
    for path in DEVICE.rglob("*.h"):
        if path.name in (BEGIN, END, _PASTED):
            continue
        text = _SKIPPED.sub(" ", path.read_text("utf-8"))
        defined.update(name for name in _DIRECTIVE.findall(text) if name)
        used.update(_NAME.findall(_NUMBER.sub(" ", _DIRECTIVE.sub(r"\1", text))))
    letters = {chr(code + offset) for code in range(26) for offset in (65, 97)}
    own = {name for name in used - defined - set(_KEYWORDS.split()) if not _RESERVED.match(name)}
    return sorted(own | letters, key=lambda name: (len(name) > 1, name))


def texts() -> dict[str, str]:
    """The two headers."""
    begin = _HEADER.format(what="Behind this no macro of a user changes what a header of ours means, until")
    begin = begin.replace("until tools", f"until\n// {END} is included.\n// tools")
    end = _HEADER.format(what="The macros of a user are again what they were.")
    for name in names():
        begin += f'#pragma push_macro("{name}")\n#undef {name}\n'
        end += f'#pragma pop_macro("{name}")\n'
    return {BEGIN: begin, END: end}


def main() -> None:
    """Writes both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=DEVICE / "wave_device")
    folder = parser.parse_args().output
    for name, text in texts().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
