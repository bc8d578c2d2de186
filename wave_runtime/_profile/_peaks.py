"""What a device can do at most, by its vendor's own figures, and how long a kernel takes for that alone.

No time is measured or simulated here: a bound says that it cannot be faster, not how fast it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wave_runtime import _C
from wave_runtime._profile._counts import KernelProfile


@dataclass(frozen=True)
class Peaks:
    """The vendor's figures of a device.

    Attributes:
        device: whose they are.
        source: where they stand.
        memory: bytes a second.
        matrix: operations a second of matrix instructions, dense, by the type of their elements.
    """

    device: str
    source: str
    memory: float
    matrix: dict[str, float] = field(default_factory=dict)


_TERA = 1e12

PEAKS = {
    "gfx90a": Peaks(
        "Instinct MI210",
        "AMD Instinct MI210 data sheet",
        1.6384 * _TERA,
        {name: value * _TERA for name, value in (("f64", 45.3), ("f32", 45.3), ("f16", 181.0), ("bf16", 181.0))}
        | {"i8": 181.0 * _TERA},
    ),
    "gfx942": Peaks(
        "Instinct MI300X",
        "AMD Instinct MI300X data sheet",
        5.3 * _TERA,
        dict.fromkeys(("f64", "f32"), 163.4 * _TERA)
        | {"xf32": 653.7 * _TERA}
        | dict.fromkeys(("f16", "bf16"), 1307.4 * _TERA)
        | dict.fromkeys(("f8", "i8"), 2614.9 * _TERA),
    ),
    "gfx950": Peaks(
        "Instinct MI355X",
        "AMD Instinct MI355X data sheet",
        8.0 * _TERA,
        {"f64": 78.6 * _TERA, "f32": 157.3 * _TERA}
        | dict.fromkeys(("f16", "bf16"), 2516.6 * _TERA)
        | dict.fromkeys(("f8", "i8"), 5033.2 * _TERA)
        | {"f8f6f4": 10066.3 * _TERA},  # of 4 and 6 bits
    ),
    "gfx1030": Peaks("Radeon RX 6900 XT", "AMD Radeon RX 6900 XT product page", 0.512 * _TERA),
    "gfx1100": Peaks(
        "Radeon RX 7900 XTX",
        "AMD Radeon RX 7900 XTX product page",
        0.96 * _TERA,
        dict.fromkeys(("f16", "bf16", "i8"), 122.8 * _TERA),
    ),
    "gfx1101": Peaks("Radeon RX 7800 XT", "AMD Radeon RX 7800 XT product page", 0.624 * _TERA),
    "gfx1102": Peaks("Radeon RX 7600", "AMD Radeon RX 7600 product page", 0.288 * _TERA),
    "gfx1150": Peaks(
        "Radeon 890M", "AMD Ryzen AI 9 HX 370 product page: two channels of LPDDR5X-8000, 128 bits", 0.128 * _TERA
    ),
    "gfx1151": Peaks("Radeon 8060S", "AMD Ryzen AI Max+ 395 product page: LPDDR5X-8000, 256 bits", 0.256 * _TERA),
    "gfx1200": Peaks("Radeon RX 9060 XT", "AMD Radeon RX 9060 XT product page", 0.32 * _TERA),
    "gfx1201": Peaks(
        "Radeon RX 9070 XT",
        "AMD Radeon RX 9070 XT product page",
        0.64 * _TERA,
        dict.fromkeys(("f16", "bf16"), 195.0 * _TERA) | dict.fromkeys(("f8", "i8"), 389.0 * _TERA),
    ),
}

# Lanes of a vector instruction that a compute unit finishes in a cycle: four SIMDs of 16 lanes (AMD's CDNA 3 white
# paper, "Compute unit"), two of 32 lanes (RDNA's). Of a wave of 64 lanes RDNA skips the half that is disabled, and
# from RDNA3 on may do both halves at once: what is certain is one pass.
_LANES_IN_A_CYCLE = 64


@dataclass(frozen=True)
class Bound:
    """Seconds that a kernel's launches take at least, for one of the things that they need."""

    pipe: str
    seconds: float
    explanation: str


def processor_of(kernel: KernelProfile) -> str:
    """The processor that ran a kernel's code: of code for a generic target, one that runs it."""
    return _C.emulated_processor(kernel.target) or kernel.target.split(":")[0]


def _vector_bound(kernel: KernelProfile, is_rdna: bool, units_a_second: float, cycles: str) -> Bound:
    """That of the vector ALU, whose compute units have so many cycles a second."""
    lanes, note = _LANES_IN_A_CYCLE, ""
    passes = kernel.kinds.get("vector ALU", 0) * kernel.wave_lanes / lanes
    if is_rdna and kernel.wave_lanes == 64:
        passes /= 2
        if processor_of(kernel).startswith("gfx10"):
            note = ", if half of each wave is disabled and skipped"
        else:
            lanes *= 2
    return Bound("vector ALU", passes / units_a_second, f"{lanes} lanes a cycle{note}, {cycles}")


def bounds(kernel: KernelProfile) -> list[Bound]:
    """How long each pipe of the device is busy, the busiest first; empty for a processor that is not known."""
    processor = processor_of(kernel)
    device = _C.emulator_processors().get(processor)
    if device is None:
        return []
    # A multiprocessor of RDNA is a workgroup processor of two compute units.
    is_rdna = device["lanes"] == 32
    units = device["multiprocessors"] * (2 if is_rdna else 1)
    clock = device["clock"] * 1e3
    cycles = f"{units} compute units at {device['clock'] / 1e6:.2f} GHz"
    found = [
        _vector_bound(kernel, is_rdna, units * clock, cycles),
        Bound("LDS", kernel.lds_cycles / units / clock, f"one access of all banks a cycle, {cycles}"),
    ]
    peaks = PEAKS.get(processor)
    if peaks is not None:
        found.append(Bound("memory", kernel.touched / peaks.memory, f"{peaks.memory / 1e12:g} TB/s, {peaks.source}"))
        known = {
            name: count / peaks.matrix[name] for name, count in kernel.matrix_operations.items() if name in peaks.matrix
        }
        if known:
            rates = ", ".join(f"{peaks.matrix[name] / 1e12:g} T{name}/s" for name in known)
            found.append(Bound("matrix", sum(known.values()), f"{rates}, {peaks.source}"))
    return sorted((bound for bound in found if bound.seconds > 0), key=lambda bound: -bound.seconds)
