"""``python -m wave_runtime selftest``: every instruction on a GPU against the emulator, and a report to send."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from wave_runtime import _C
from wave_runtime import _selftest_cases as cases
from wave_runtime._compare import on_host_driver
from wave_runtime._device import has_gpu
from wave_runtime._module import load
from wave_runtime._selftest_cases import Case, Row
from wave_runtime._version import __version__

_SIGNATURE = "*i32 const, *i32, *u8"
_NEAR_ULPS = 1
_FLOATS = {"F16": torch.float16, "F32": torch.float32, "F64": torch.float64}
_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Finding:
    """An instruction that did otherwise on the device, with the first place that differs."""

    mnemonic: str
    text: str
    seed: str
    place: str
    device: int
    emulator: int

    def __str__(self) -> str:
        return (
            f"{self.text}  [--rows {self.mnemonic}, case{self.seed}]: {self.place} is {self.device:#x} on the device, "
            f"{self.emulator:#x} on the emulator"
        )


@dataclass
class Report:
    """What a self-test found.

    Attributes:
        tried, near, differing: cases by format. Those that are near differ only in which NaN or in the last place of
            floats, which the manual leaves open in part.
        findings: the first of each instruction that differs by more.
    """

    device: str
    seed: str
    processor: str
    tried: Counter[str] = field(default_factory=Counter)
    near: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    near_instructions: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.tried.total() > 0 and not self.findings

    def __str__(self) -> str:
        lines = [
            f"wave_runtime {__version__} self-test, torch {torch.__version__}, {platform.platform()}",
            f"device: {self.device}; instructions of {self.processor}; seed {self.seed!r}",
            f"{'format':12}{'cases':>8}{'near':>8}{'differ':>8}",
        ]
        for name in [*sorted(self.tried), "all"]:
            counts = [c.total() if name == "all" else c[name] for c in (self.tried, self.near, self.differing)]
            lines.append(f"{name:12}" + "".join(f"{count:8}" for count in counts))
        if self.near_instructions:
            names = ", ".join(sorted(self.near_instructions))
            lines.append(f"near (another NaN, or one unit in the last place): {names}")
        lines += map(str, self.findings)
        lines.append("no difference" if self.passed else f"{len(self.findings)} instructions differ")
        return "\n".join(lines)


Launch = Callable[[bytes, torch.Tensor, torch.Tensor], torch.Tensor]


def _launch(device: str, driver: str | None, image: bytes, blocks: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """The blocks after a launch; ``memory`` is on the device."""
    kernel = load(image, signature=_SIGNATURE)["machine"]
    before = blocks.to(device)
    after = torch.zeros_like(before)
    with on_host_driver(driver):
        kernel(before, after, memory, grid=blocks.shape[0])
    return after.cpu()


def find_device(name: str) -> tuple[str, str | None]:
    """The torch device, and the driver of CPU tensors, that ``hip``, ``cuda`` or ``cpu`` stand for.

    ``hip`` is torch's GPU where torch is built for ROCm. Elsewhere it gives CPU tensors to the HIP library, which must
    take them, as the one over the emulator does.
    """
    if name == "cpu":
        return "cpu", "emulator"
    if name == "hip" and not (torch.version.hip and has_gpu()):
        return "cpu", "hip"
    if not has_gpu():
        raise RuntimeError("torch finds no GPU here")
    return f"cuda:{torch.cuda.current_device()}", None


def _describe(device: str, driver: str | None) -> str:
    if driver is not None:
        return f"CPU tensors, driver {driver}"
    return f"{device}, {torch.cuda.get_device_name(device)}"


def find_processor(device: str, driver: str | None) -> str:
    """That of a device as find_device says it. Raises ValueError for one of which the self-test has no instructions."""
    if driver is not None:
        described = _C.describe_driver(driver)
        if not described["devices"]:
            raise RuntimeError(f"the driver {driver} has no device: {described['error'] or 'its library finds none'}")
        processor = str(described["devices"][0]["target"])
    else:
        processor = str(getattr(torch.cuda.get_device_properties(device), "gcnArchName", "an NVIDIA GPU"))
    processor = processor.split(":")[0]
    if processor not in (*cases.PROCESSORS, *cases.SAME):
        known = f"{', '.join(cases.PROCESSORS[:-1])} and {cases.PROCESSORS[-1]}"
        raise ValueError(
            f"the self-test has instructions of {known}, and the device is {processor}: name one by --target"
        )
    return processor


def selftest(
    device: str = "hip", count: int = 2, pattern: str = "", seed: str = "", processor: str | None = None
) -> Report:
    """Run random instructions on a device and on the emulator, and compare registers, LDS and memory.

    Args:
        device: "hip", "cuda" (the same, of torch) or "cpu" (the emulator itself, for trying this).
        count: cases of each instruction and encoding.
        pattern: only mnemonics that contain it.
        seed: other seeds give other cases.
        processor: whose instructions, one of _selftest_cases.PROCESSORS; by default the device's.

    Raises:
        RuntimeError: there is no such device, or it fails.
        ValueError: it does not run the processor's code.
    """
    place, driver = find_device(device)
    found = processor or find_processor(place, driver)
    processor = cases.SAME[found][0] if found in cases.SAME else found
    if not os.environ.get("WAVE_RUNTIME_MFMA"):
        _C.sum_matrices_exactly()  # as hardware is believed to sum
    report = Report(_describe(place, driver), seed, processor)
    for batch in cases.batches(cases.rows(processor, pattern), count, seed):
        _run_batch(batch, found, place, driver, report)
    return report


def _run_batch(batch: list[tuple[Row, str]], processor: str, place: str, driver: str | None, report: Report) -> None:
    contents = torch.randint(256, (len(batch) * cases.MEMORY,), dtype=torch.uint8)
    drawn: dict[str, list[Case]] = {}
    results: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    for name, at, by in (("device", place, driver), ("emulator", "cpu", "emulator")):
        memory = contents.to(at, copy=True)
        drawn[name] = _draw_all(report.processor, batch, memory.data_ptr())
        if not drawn[name]:
            return
        blocks = torch.stack([case.block for case in drawn[name]])
        code = cases.image(report.processor, drawn[name], processor if name == "device" else "")
        after = _launch(at, by, code, blocks, memory)
        results[name] = after, memory.cpu()
    for index, case in enumerate(drawn["emulator"]):
        part = slice(index * cases.MEMORY, (index + 1) * cases.MEMORY)
        sides = [torch.cat([after[index], memory[part].view(torch.int32)]) for after, memory in results.values()]
        _judge(case, sides[0], sides[1], report)


def _draw_all(processor: str, batch: list[tuple[Row, str]], memory: int) -> list[Case]:
    found: list[Case] = []
    for row, seed in batch:
        case = cases.draw(processor, row, seed, len(found), memory)
        if case is not None:
            found.append(case)
    return found


def _judge(case: Case, device: torch.Tensor, emulator: torch.Tensor, report: Report) -> None:
    format = str(case.row["format"])
    report.tried[format] += 1
    differs = device != emulator
    differs[list(case.addresses)] = False
    if not bool(differs.any()):
        return
    name = str(case.row["mnemonic"])
    if _is_near(case, device, emulator, differs):
        report.near[format] += 1
        report.near_instructions[name] += 1
        return
    report.differing[format] += 1
    if name not in (finding.mnemonic for finding in report.findings):
        at = int(differs.nonzero()[0])
        values = (int(side[at]) & 0xFFFFFFFF for side in (device, emulator))
        report.findings.append(Finding(name, case.text, case.seed, _place(at), *values))


def _place(at: int) -> str:
    """The name of a dword of a block, or of the memory behind it."""
    if at < cases.LDS:
        names = {cases.VCC: "vcc_lo", cases.VCC + 1: "vcc_hi", cases.EXEC: "exec_lo", cases.EXEC + 1: "exec_hi"}
        names |= {cases.SCC: "scc", cases.M0: "m0", cases.MODE: "mode"}
        return names.get(at, f"s{at}")
    if at < cases.VGPRS:
        return f"LDS dword {at - cases.LDS}"
    if at >= cases.BLOCK:
        return f"memory dword {at - cases.BLOCK}"
    file, first = ("v", cases.VGPRS) if at < cases.AGPRS else ("a", cases.AGPRS)
    return f"{file}{(at - first) // cases.LANES} of lane {(at - first) % cases.LANES}"


def _is_near(case: Case, device: torch.Tensor, emulator: torch.Tensor, differs: torch.Tensor) -> bool:
    """Whether all that differs are vector registers of floats, by which NaN it is or by a unit in the last place."""
    written = next((operand for operand in case.row["operands"] if operand["written"]), None)
    float_type = _FLOATS.get(str(written["type"]).removeprefix("Packed")) if written else None
    if float_type is None or bool(differs[: cases.VGPRS].any()) or bool(differs[cases.BLOCK :].any()):
        return False
    pair = 2 if float_type is torch.float64 else 1

    def elements(block: torch.Tensor, type: torch.dtype) -> torch.Tensor:
        registers = block[cases.VGPRS : cases.BLOCK].reshape(-1, pair, cases.LANES).transpose(1, 2).contiguous()
        return registers.view(type).reshape(-1)

    bits = [elements(side, _INTEGERS[float_type.itemsize]).to(torch.int64) for side in (device, emulator)]
    values = [elements(side, float_type) for side in (device, emulator)]
    both_nan = values[0].isnan() & values[1].isnan()
    apart = (bits[0] - bits[1]).abs() <= _NEAR_ULPS
    return bool(((bits[0] == bits[1]) | both_nan | apart).all())
