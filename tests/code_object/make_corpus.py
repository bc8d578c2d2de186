"""Makes the corpus that the tests of csrc/code_object and its fuzz target use, and what LLVM says of it.

    python tests/code_object/make_corpus.py

Needs clang, lld, llvm-mc, llvm-objcopy, llvm-readobj, llvm-objdump and clang-offload-bundler of LLVM 19, llvm-mc 14 for
code object v3 (newer ones do not write it) and PyYAML. Its outputs are committed, so that tests need none of them:

- corpus/: files that must parse (clang_*, asm_*, bundle_*, host_*) and files that must be refused (bad_*, other_*);
- golden/llvm.json: headers, symbols, metadata and kernel descriptors of the former by llvm-readobj and llvm-objdump;
- golden/errors.json: what the errors of the latter say; where a file is another one with a few bytes changed, those;
- golden/occupancy.json: LLVM's occupancy of kernels with many counts of registers, on every processor it knows;
- golden/machines.json: the e_flags that LLVM writes for every processor.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from corpus_tools import damaged, golden, valid  # noqa: E402


def write_json(name: str, value: object) -> None:
    lines = json.dumps(value, indent=1, sort_keys=True)
    if isinstance(value, dict):  # one line for each entry, so that differences can be read
        lines = (
            "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(item)}" for key, item in sorted(value.items())) + "\n}"
        )
    (FOLDER / "golden" / name).write_text(lines + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        valid.make(FOLDER / "sources", made)
        work = made / "work.tmp"
        truths = {path.name: golden.describe(path, work) for path in sorted(made.glob("*.co"))}
        errors = damaged.make(made)
        occupancies, machines = golden.occupancies(made), golden.machine_numbers(made)

        corpus = FOLDER / "corpus"
        shutil.rmtree(corpus, ignore_errors=True)
        corpus.mkdir()
        (FOLDER / "golden").mkdir(exist_ok=True)
        for path in sorted(made.iterdir()):
            shutil.copyfile(path, corpus / path.name)
    write_json("llvm.json", truths)
    write_json("errors.json", errors)
    write_json("occupancy.json", occupancies)
    write_json("machines.json", machines)


if __name__ == "__main__":
    main()
