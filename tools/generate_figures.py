"""Writes the figures of docs/ from what benchmarks and campaigns wrote: ``python tools/generate_figures.py``.

Each file of benchmarks/results/ is the source of a table, which stands in its page between two comments:

    <!-- figures: NAME -->
    <!-- end of figures -->

It imports nothing of the package. A test tells when a page is not current. A table without a file stays as it is: of
those that need a GPU, one run there writes the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"
INDEX = DOCS / "figures.md"
END = "<!-- end of figures -->"

# What the folders of AITER have, which its files do not say.
AITER = {
    "bf16gemm": "products of bf16",
    "f4gemm": "products of FP4 with scales of 32",
    "fmha_v3_bwd": "flash attention's backward passes, bf16 and f16",
    "fmha_v3_fwd": "flash attention, bf16 and FP8, causal or not, sequences of a batch or one behind the other",
    "fmha_v4_fwd": "flash attention of i8, FP8, FP6 and FP4",
    "fmoe": "mixtures of experts of bf16, FP8, i8 and FP4, with scales of rows or blocks, SiLU or GELU",
    "fmoe_2stages": "their first product, FP8 and i8",
    "fp8gemm_blockscale": "products of FP8 with scales of 128",
    "i8gemm": "products of i8 with a scale for each row",
    "mla": "latent attention, bf16 and FP8, by persistent workgroups or not",
    "mla_v4": "latent attention, FP8 and bf16",
    "pa": "paged attention, f16, bf16, FP8 and i8, by persistent workgroups or not",
    "topk_per_row_decode": "the largest of long rows",
    "topk_per_row_prefill": "the same",
    "topksoftmax": "the largest of the softmax of rows, and which",
    "(no folder)": "older mixtures of experts and paged attention, products, reductions on several GPUs",
}
MODES = ("eager", "torch.compile", "reduce-overhead", "CUDA graph", "AOTInductor in C++")
GROUPS = ("floor", "probe", "ours", "peer")


@dataclass(frozen=True)
class Figure:
    """A table of a page, and the file that it is made from.

    Attributes:
        name: of the file, without its suffix.
        what: it shows.
        page: the file in docs/ that has it.
        command: what writes the file.
        text: makes the table of what the file has.
        on: what else that takes.
    """

    name: str
    what: str
    page: str
    command: str
    text: Callable[[Any], str]
    on: str = ""

    @property
    def results(self) -> Any:
        """What the file has, or None where nobody has written one."""
        file = RESULTS / f"{self.name}.json"
        return json.loads(file.read_text()) if file.exists() else None


def pages() -> dict[Path, str]:
    """The pages with figures, as they should be."""
    found = {}
    for name in dict.fromkeys([INDEX.name, *(figure.page for figure in FIGURES)]):
        text = (DOCS / name).read_text()
        for figure in FIGURES:
            if figure.page == name and figure.results is not None:
                text = filled(text, figure.name, figure.text(figure.results))
        found[DOCS / name] = text
    found[INDEX] = filled(found[INDEX], "all", index())
    return found


def filled(page: str, name: str, text: str) -> str:
    """A page with another text between the comments of a name. Raises ValueError where it does not have them once."""
    block = re.compile(rf"(<!-- figures: {name} -->\n).*?({END})", re.DOTALL)
    if len(block.findall(page)) != 1:
        raise ValueError(f"expected one block '<!-- figures: {name} -->' with its '{END}'")
    return block.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)


def index() -> str:
    """Which figures there are, and what writes them."""
    rows = []
    for figure in FIGURES:
        where = "below" if figure.page == INDEX.name else f"[{figure.page}]({figure.page})"
        rows.append((figure.what, where, f"`{figure.command}`{figure.on}", _date(figure.results)))
    return table(("figures", "where", "written by", "on"), rows)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """In Markdown."""
    head = list(head)
    return "\n".join(
        "".join(f"| {cell} " if cell else "| " for cell in row) + "|" for row in (head, ["---"] * len(head), *rows)
    )


def compiling(found: Any) -> str:
    """Of benchmarks/bench_compile.py."""
    names = {
        "first": "compiled, the first of all, whose headers are kept for those behind it",
        "another": "compiled behind it",
        "kept": "kept, in a process that does not know it",
        "known": "known to the process",
    }
    rows = [(what, f"{found['ms'][name]:.2f}") for name, what in names.items()]
    return f"{_machine(found['machine'])}\n\n{table(('', 'milliseconds'), rows)}"


def sycl(found: Any) -> str:
    """Of benchmarks/bench_sycl.py."""
    names = {
        "first ever": "the first launch of all, for which what calls SYCL is compiled",
        "first": "the first of a process",
        "first, kept by SYCL": "the same with `SYCL_CACHE_PERSISTENT=1`, when the kernel is kept",
        "launch": "each that follows",
        "on the emulator": "each of the same kernel in HIP, on the emulator",
    }
    rows = [(what, _time(found["us"][name] / 1e3)) for name, what in names.items()]
    return f"{_machine(found['machine'])}\n\n{table(('1,000 elements', 'time'), rows)}"


def random_kernels(found: Any) -> str:
    """Of tests/emulator/test_random_kernels.py."""
    rows = [
        (
            name,
            str(of["programs"]),
            str(of["not compiled"]),
            ", ".join(map(str, of["different"])) or "none",
            str(of["first seed"]),
            of["clang"].split(" (")[0],
            of["date"],
        )
        for name, of in found.items()
    ]
    head = ("for", "programs", "not compiled", "seeds that differ", "first seed", "compiler", "on")
    return table(head, rows)


def triton(found: Any) -> str:
    """Of benchmarks/bench_triton.py."""
    emulated, interpreted = found["milliseconds"]["emulate"], found["milliseconds"]["interpret"]
    rows = [
        (name, _time(emulated[name]), _time(time), f"{time / emulated[name]:.0f}") for name, time in interpreted.items()
    ]
    whole, python, ours = (emulated[f"in Python: {name}"] for name in LAUNCH)
    return (
        f"{_machine(found['machine'])}\n\n{table(('', 'emulator', 'interpreter', 'ratio'), rows)}\n\n"
        f"A launch of one program of 64 elements takes {_time(whole)}: {_time(python)} of it in Triton's own Python, "
        f"{_time(ours)} in the emulator."
    )


def emulating(found: Any) -> str:
    """Of benchmarks/bench_emulator.py: the kernels, the goals, and what else it measures."""
    rows = [
        (
            f"`{of['kernel']}`",
            "x".join(map(str, of["size"])),
            f"{of['instructions']:,}",
            f"{of['one_core_ms']:.2f}",
            f"{of['all_cores_ms']:.2f}",
            f"{of['rate']:.1f}",
            _optional(of["goal"], 0),
            _optional(of["gflops"], 1),
            _optional(of["host_ms"], 2),
        )
        for of in found["results"]
    ]
    head = ("kernel", "size", "instructions", "one core, ms", f"{found['threads']} cores, ms", "million/s", "goal")
    goals = [
        (
            goal["name"],
            f"{goal['value']:.4g}",
            f"{'at least' if goal['at_least'] else 'at most'} {goal['goal']:.3g}",
            "yes" if goal["is_met"] else "no",
        )
        for goal in found["goals"]
    ]
    parts = found["equal_parts_times"]
    slowest = f", and {parts:.1f} times where each has an equal part of multiplications" if parts is not None else ""
    return (
        f"{_machine(found['machine'])}\n\n{table((*head, 'GFLOP/s', 'host, ms'), rows)}\n\n"
        f"{table(('goal', 'measured', 'is to be', 'met'), goals)}\n\n"
        f"`torch.mm` of 256x256x256 in f32 does {found['torch_mm_gflops']:.0f} GFLOP/s on one core; of 1024x1024x1024 "
        f"{found['threads']} cores are {found['torch_mm_times']:.1f} times as fast as one{slowest}. A code object "
        f"with 12 KB of code takes {found['memory']['code_object_bytes'] / 1e3:.0f} KB, a launch of `matmul_tiled` at "
        f"most {found['memory']['peak_of_launch_bytes'] / 1e6:.1f} MB besides its tensors."
    )


def suite(found: Any) -> str:
    """Of tools/record_suite.py: what came of the tests of another project, a column for each run."""
    runs = found["runs"].values()
    machines = dict.fromkeys(_machine(run["machine"]) for run in runs)
    commits = ", ".join(dict.fromkeys(run["commit"] for run in runs))
    kinds = dict.fromkeys(kind for run in runs for kind in run["counts"])
    rows = [(kind, *(f"{run['counts'][kind]:,}" if kind in run["counts"] else "" for run in runs)) for kind in kinds]
    return (
        f"[{found['repository']}](https://github.com/{found['repository']}) at {commits}. {' '.join(machines)}\n\n"
        f"{table(('', *found['runs']), rows)}"
    )


def mathematics(found: Any) -> str:
    """Of tools/measure_math.py: functions that are not exact."""
    rows = [
        (
            f"`{name}`{'*' * of['is_ours']}",
            f"{of['arguments']:,}",
            *(cell for kind in ("f32", "f64") for cell in (f"{of[kind]['allowed']:g}", f"{of[kind]['largest']:.3f}")),
        )
        for name, of in sorted(found["functions"].items())
        if of["f64"]["allowed"]
    ]
    head = ("function", "arguments", "f32: allowed", "largest found", "f64: allowed", "largest found")
    return f"{_machine(found['machine'])} For {found['target']}.\n\n{table(head, rows)}"


GPU = ", on an NVIDIA GPU"
LAUNCH = ("a launch", "of it Triton's", "of it the emulator's")


def sanitizing(found: Any) -> str:
    """Of benchmarks/bench_sanitize.py."""
    tools = [name for name in next(iter(found["ratios"].values())) if name != "plain"]
    rows = [
        (f"`{kernel}`", f"{ratios['plain']:.1f}", *(f"{ratios[tool]:.1f}" for tool in tools))
        for kernel, ratios in found["ratios"].items()
    ]
    head = ("kernel", "without, ms", *(f"`{tool}`" for tool in tools))
    return f"{_machine(found['machine'])}\n\n{table(head, rows)}"


def aiter(found: Any) -> str:
    """Of tests/aiter/campaign.py."""
    of: dict[str, dict[str, Any]] = {processor: {} for processor in ("gfx942", "gfx950")}
    for name, tally in found["folders"].items():
        processor, folder = name.split("/")
        of[processor][folder] = tally
    sums = {
        processor: [sum(tally[key] for tally in folders.values()) for key in ("files", "complete", "instructions")]
        for processor, folders in of.items()
    }

    def cell(processor: str, folder: str) -> str:
        tally = of[processor].get(folder)
        if not tally:
            return ""
        mistaken = sum(tally["mistaken"].values())
        differ = tally["launched"] - tally["agree"] - mistaken
        counts = f"{tally['files']}, {tally['agree']}, {mistaken}, {tally['files'] - tally['launched']}"
        return f"{counts}; {differ} differ" if differ else counts

    rows: list[tuple[str, ...]] = [
        (f"`{folder}`", what, cell("gfx942", folder), cell("gfx950", folder)) for folder, what in AITER.items()
    ]
    mistakes: dict[str, dict[str, int]] = {}
    for processor, folders in of.items():
        for tally in folders.values():
            for what, count in tally["mistaken"].items():
                by = mistakes.setdefault(what, {})
                by[processor] = by.get(processor, 0) + count
    wrong = [(what, *(str(by.get(processor, "")) for processor in of)) for what, by in sorted(mistakes.items())]
    counted = (
        f"for {processor} the emulator runs every instruction of {complete:,} of the {files:,} code objects, "
        f"{instructions / 1e6:.1f} million in all"
        for processor, (files, complete, instructions) in sums.items()
        if files
    )
    head = ("folder", "what", "gfx942: code objects, agree with torch, are mistaken, are not launched", "gfx950")
    text = f"On {found['date']}, at AITER's commit {found['commit'][:8]}: {'; '.join(counted)}.\n\n{table(head, rows)}"
    return f"{text}\n\n{table(('the kernel', *of), wrong)}"


def fuzzing(found: Any) -> str:
    """Of tools/fuzz.py: the sum of all runs of each target."""
    rows = []
    for name in dict.fromkeys(run["target"] for run in found):
        runs = [run for run in found if run["target"] == name]
        seconds, executions, findings = (sum(run[key] for run in runs) for key in ("seconds", "executions", "findings"))
        dates = dict.fromkeys((min(run["date"] for run in runs), max(run["date"] for run in runs)))
        rows.append((name, f"{seconds / 60:.0f}", f"{executions:,}", str(findings), " to ".join(dates)))
    return table(("inputs", "minutes", "tried", "findings", "on"), rows)


def wheels(found: Any) -> str:
    """Of tools/check_wheel.py."""
    rows = [(of["python"], of["torch"], of["tests"], of["date"]) for of in found.values()]
    return table(("Python", "torch", "tests", "on"), rows)


def wheel_sizes(found: Any) -> str:
    """Of tools/make_wheel.py."""
    rows = [(of["wheel"].split("-")[0], f"{of['bytes'] / 1e6:.1f}", ", ".join(of["torch"])) for of in found["wheels"]]
    total = sum(of["bytes"] for of in found["wheels"])
    return f"On {found['date']}:\n\n{table(('wheel', 'MB', 'torch'), [*rows, ('both', f'{total / 1e6:.1f}', '')])}"


def hip_tests(found: Any) -> str:
    """Of benchmarks/run_hip_tests.py: cases by folder, and their sum."""
    kinds = ("pass", "fail", "refused", "too long", "skipped", "disabled")
    counts = {folder: [of["counts"].get(kind, 0) for kind in kinds] for folder, of in sorted(found["folders"].items())}
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    rows = [(folder, *map(str, row)) for folder, row in counts.items()]
    machine, again = found["machine"], found.get("again")
    later = f" {again['cases']} of them were run again on {again['date']}: {again['which']}." if again else ""
    return (
        f"{_machine(machine)} Cases of ROCm/hip-tests at {found['commit'][:8]}, on {machine['devices']} emulated "
        f"devices, {machine['target']}.{later}\n\n{table(('folder', *kinds), rows)}"
    )


def rocm_tests(found: Any) -> str:
    """Of benchmarks/run_rocm_tests.py: tests by package and processor, and their sum."""
    kinds = ("pass", "fail", "too long", "skipped")
    rows, total = [], [0] * len(kinds)
    for package, processors in sorted(found["packages"].items()):
        for processor, of in sorted(processors.items()):
            counts = [of["counts"].get(kind, 0) for kind in kinds]
            total = [one + other for one, other in zip(total, counts, strict=True)]
            rows.append((package, processor, f"{of['there']:,}", *map(str, counts)))
    heads = ("package", "processor", "tests", *kinds)
    machine = found["machine"]
    return (
        f"{_machine(machine)} At most {machine['sample']} of each group, of which each may be silent for "
        f"{machine['limit']} seconds.\n\n{table(heads, [*rows, ('all', '', '', *map(str, total))])}"
    )


def launching(found: Any) -> str:
    """Of benchmarks/bench_launch.py: ratios to the C loop, a column for each setting."""
    settings = list(dict.fromkeys(_setting(row) for row in found["rows"]))
    ratios = {(row["launcher"], _setting(row)): row["ratio"] for row in found["rows"]}
    names = dict.fromkeys(row["launcher"] for group in GROUPS for row in found["rows"] if row["group"] == group)
    rows = [(f"`{name}`", *(_ratio(ratios.get((name, setting))) for setting in settings)) for name in names]
    floors = {
        setting: min(
            row["microseconds"] for row in found["rows"] if row["group"] == "floor" and _setting(row) == setting
        )
        for setting in settings
    }
    times = ", ".join(f"{time:.1f} us with {setting}" for setting, time in floors.items())
    return (
        f"{_machine(found['machine'])} The C loop takes {times}; the figures are ratios to that of one thread or of "
        f"several.\n\n{table(('', *settings), rows)}"
    )


def modelling(found: Any) -> str:
    """Of benchmarks/bench_model.py: ratios to the C loop, a column for each way to run the model."""
    ratios = {tuple(row["launcher"].split(": ", 1)): row["ratio"] for row in found["rows"] if ": " in row["launcher"]}
    (floor,) = {min(row["microseconds"] for row in found["rows"] if row["group"] == "floor")}
    ways = sorted({way for _, way in ratios}, key=lambda way: ratios.get(("eager", way), 0))
    rows = [(f"`{way}`", *(_ratio(ratios.get((mode, way))) for mode in MODES)) for way in ways]
    return f"{_machine(found['machine'])} The C loop takes {floor:.1f} us.\n\n{table(('', *MODES), rows)}"


def _setting(row: Any) -> str:
    setting = row["setting"]
    threads = f", on {setting['threads']} threads" if setting["threads"] > 1 else ""
    return f"{setting['arguments']} arguments{threads}"


def _ratio(value: float | None) -> str:
    return _optional(value, 2)


def _optional(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _time(milliseconds: float) -> str:
    if milliseconds < 1:
        return f"{milliseconds * 1e3:.0f} us"
    return f"{milliseconds:.1f} ms" if milliseconds < 100 else f"{milliseconds:,.0f} ms"


def _machine(parts: dict[str, str]) -> str:
    """On which machine, as far as that is known: of some campaigns it was not written down."""
    gpu = f"{parts['gpu']}, CUDA {parts['cuda']}, driver {parts['driver']}; " if "gpu" in parts else ""
    first = ", before which this had precedence (real-time scheduling)" if "scheduling" in parts else ""
    busy = (
        f" The machine had other work (load average {parts['load']}){first}." if float(parts.get("load", 0)) > 1 else ""
    )
    cores = f" with {parts['cores']} cores" if "cores" in parts else ""
    versions = {"Python": "python", "torch": "torch", "triton": "triton"}
    others = "".join(f", {name} {parts[key]}" for name, key in versions.items() if key in parts)
    return f"On {parts['date']}: {gpu}{parts['cpu']}{cores}{others}.{busy}"


def _date(results: Any) -> str:
    if results is None:
        return "no file yet"
    if "machine" in results:
        return str(results["machine"]["date"])
    if "date" in results:
        return str(results["date"])
    runs = results.get("runs", results).values() if isinstance(results, dict) else results
    return str(max(run.get("machine", run)["date"] for run in runs))


FIGURES = (
    Figure("compile", "a call of `compile()`", "figures.md", "make figures", compiling),
    Figure("sycl", "Intel's code on CPU tensors", "vendors.md", "make figures", sycl),
    Figure("random_kernels", "random kernels against the host", "figures.md", "make campaign-random", random_kernels),
    Figure("fuzz", "hours of fuzzing", "figures.md", "make campaign-fuzz", fuzzing),
    Figure("aiter", "AITER's hand-written kernels", "emulator.md", "make campaign-aiter", aiter),
    Figure("hip_tests", "HIP's own tests", "figures.md", "make campaign-hip-tests", hip_tests),
    Figure("rocm_tests", "ROCm's libraries' tests", "figures.md", "make campaign-rocm-tests", rocm_tests),
    Figure("hecbench", "HeCBench's programs", "hip_emulator.md", "make campaign-hecbench", suite),
    Figure("flydsl_tests", "FlyDSL's tests", "hip_emulator.md", "make test-flydsl RECORD=1", suite),
    Figure("pyhip_tests", "PyHIP's tests", "pyhip.md", "make test-pyhip RECORD=1", suite),
    Figure("tinygrad_tests", "tinygrad's tests", "tinygrad.md", "make test-tinygrad RECORD=1", suite),
    Figure("triton_tests", "Triton's tests", "triton.md", "make test-triton RECORD=1", suite),
    Figure("inductor_tests", "Inductor's tests", "emulate.md", "make test-inductor RECORD=1", suite),
    Figure("wave_lang_tests", "wave-lang's tests", "upstream.md", "make test-wave-lang RECORD=1", suite),
    Figure("wave_lang_next_tests", "those after 3.9.1", "upstream.md", "make test-wave-lang RECORD=1", suite),
    Figure("wheel_sizes", "the wheels' sizes", "figures.md", "make wheels", wheel_sizes),
    Figure("wheels", "the wheels in empty environments", "figures.md", "make wheels", wheels),
    Figure("emulator", "the emulator's speed", "emulator.md", "make figures", emulating),
    Figure("emulator_16_cores", "the same with 16 cores", "emulator.md", "make figures", emulating, ", on 16 cores"),
    Figure("triton", "Triton's interpreter", "triton.md", "make figures", triton),
    Figure("math", "errors of mathematical functions", "math.md", "make figures", mathematics),
    Figure("sanitize", "what each tool of the sanitizer costs", "sanitize.md", "make figures", sanitizing),
    Figure("launch", "what a launch costs", "gpu.md", "make figures", launching, GPU),
    Figure("model", "a model of many launches", "operators.md", "make figures", modelling, GPU),
)

if __name__ == "__main__":
    for path, text in pages().items():
        if path.read_text() != text:
            path.write_text(text)
            print(path)
