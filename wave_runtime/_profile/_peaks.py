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


# Operations of matrix instructions that a compute unit does in a cycle, dense, by the type of their elements: AMD's
# white papers of CDNA 2, 3 and 4. Those of RDNA follow from the peaks on the product pages of the RX 7900 XTX and the
# RX 9070 XT. With compute units and clock they give the peaks on the data sheets and pages of their families' devices.
_CDNA2 = {"f64": 256, "f32": 256, "f16": 1024, "bf16": 1024, "i8": 1024}
_CDNA3 = {"f64": 256, "f32": 256, "xf32": 1024, "f16": 2048, "bf16": 2048, "f8": 4096, "i8": 4096}
_CDNA4 = {"f64": 128, "f32": 256, "f16": 4096, "bf16": 4096, "f8": 8192, "i8": 8192}
_CDNA4["f8f6f4"] = 16384  # of 4 and 6 bits
_RDNA3 = {"f16": 512, "bf16": 512, "i8": 512, "i4": 1024}
_RDNA4 = {"f16": 1024, "bf16": 1024, "f8": 2048, "i8": 2048, "i4": 4096}

# Name, where the memory's figure stands, gigabytes a second, and operations.
_DEVICES: dict[str, tuple[str, str, float, dict[str, int]]] = {
    "gfx9-generic": ("Radeon Instinct MI50", "AMD Radeon Instinct MI50 product page", 1024, {}),
    "gfx90a": ("Instinct MI210", "AMD Instinct MI210 data sheet", 1638.4, _CDNA2),
    "gfx942": ("Instinct MI300X", "AMD Instinct MI300X data sheet", 5300, _CDNA3),
    "gfx950": ("Instinct MI355X", "AMD Instinct MI355X data sheet", 8000, _CDNA4),
    "gfx1030": ("Radeon RX 6900 XT", "AMD Radeon RX 6900 XT product page", 512, {}),
    "gfx1031": ("Radeon RX 6700 XT", "AMD Radeon RX 6700 XT product page", 384, {}),
    "gfx1032": ("Radeon RX 6600 XT", "AMD Radeon RX 6600 XT product page", 256, {}),
    "gfx1033": ("Steam Deck", "Valve's Steam Deck specifications: LPDDR5-5500, 128 bits", 88, {}),
    "gfx1034": ("Radeon RX 6500 XT", "AMD Radeon RX 6500 XT product page", 144, {}),
    "gfx1035": ("Radeon 680M", "AMD Ryzen 9 6900HX product page: LPDDR5-6400, 128 bits", 102.4, {}),
    "gfx1036": ("Radeon Graphics", "AMD Ryzen 9 7950X product page: DDR5-5200, 128 bits", 83.2, {}),
    "gfx1100": ("Radeon RX 7900 XTX", "AMD Radeon RX 7900 XTX product page", 960, _RDNA3),
    "gfx1101": ("Radeon RX 7800 XT", "AMD Radeon RX 7800 XT product page", 624, _RDNA3),
    "gfx1102": ("Radeon RX 7600", "AMD Radeon RX 7600 product page", 288, _RDNA3),
    "gfx1103": ("Radeon 780M", "AMD Ryzen 7 7840U product page: LPDDR5X-7500, 128 bits", 120, _RDNA3),
    "gfx1150": ("Radeon 890M", "AMD Ryzen AI 9 HX 370 product page: LPDDR5X-8000, 128 bits", 128, _RDNA3),
    "gfx1151": ("Radeon 8060S", "AMD Ryzen AI Max+ 395 product page: LPDDR5X-8000, 256 bits", 256, _RDNA3),
    "gfx1152": ("Radeon 860M", "AMD Ryzen AI 7 350 product page: LPDDR5X-8000, 128 bits", 128, _RDNA3),
    "gfx1153": ("Radeon 820M", "AMD Ryzen AI 5 330 product page: LPDDR5X-8000, 128 bits", 128, _RDNA3),
    "gfx1200": ("Radeon RX 9060 XT", "AMD Radeon RX 9060 XT product page", 320, _RDNA4),
    "gfx1201": ("Radeon RX 9070 XT", "AMD Radeon RX 9070 XT product page", 640, _RDNA4),
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


@dataclass(frozen=True)
class _Units:
    """A device's compute units."""

    count: int
    clock: float  # cycles a second, at the most
    is_rdna: bool

    @staticmethod
    def of(processor: str) -> _Units | None:
        """Those of the processor's device; None where it is not known."""
        device = _C.emulator_processors(generic=True).get(processor)
        if device is None:
            return None
        # A multiprocessor of RDNA is a workgroup processor of two compute units.
        is_rdna = device["lanes"] == 32
        return _Units(device["multiprocessors"] * (2 if is_rdna else 1), device["clock"] * 1e3, is_rdna)

    @property
    def a_second(self) -> float:
        """Cycles of all of them."""
        return self.count * self.clock

    def __str__(self) -> str:
        return f"{self.count} compute units at {self.clock / 1e9:.2f} GHz"


def peaks_of(processor: str) -> Peaks | None:
    """The figures of a processor's device; None where they are not known."""
    units = _Units.of(processor)
    if units is None or processor not in _DEVICES:
        return None
    device, source, memory, matrix = _DEVICES[processor]
    return Peaks(device, source, memory * 1e9, {name: each * units.a_second for name, each in matrix.items()})


def _vector_bound(kernel: KernelProfile, units: _Units) -> Bound:
    """That of the vector ALU."""
    lanes, note = _LANES_IN_A_CYCLE, ""
    passes = kernel.kinds.get("vector ALU", 0) * kernel.wave_lanes / lanes
    if units.is_rdna and kernel.wave_lanes == 64:
        passes /= 2
        if processor_of(kernel).startswith("gfx10"):
            note = ", if half of each wave is disabled and skipped"
        else:
            lanes *= 2
    return Bound("vector ALU", passes / units.a_second, f"{lanes} lanes a cycle{note}, {units}")


def bounds(kernel: KernelProfile) -> list[Bound]:
    """How long each pipe of the device is busy, the busiest first; empty for a processor that is not known."""
    processor = processor_of(kernel)
    units = _Units.of(processor)
    if units is None:
        return []
    found = [
        _vector_bound(kernel, units),
        Bound("LDS", kernel.lds_cycles / units.a_second, f"one access of all banks a cycle, {units}"),
    ]
    peaks = peaks_of(processor)
    if peaks is not None:
        found.append(Bound("memory", kernel.touched / peaks.memory, f"{peaks.memory / 1e12:g} TB/s, {peaks.source}"))
        known = {
            name: count / peaks.matrix[name] for name, count in kernel.matrix_operations.items() if name in peaks.matrix
        }
        if known:
            rates = ", ".join(f"{peaks.matrix[name] / 1e12:.4g} T{name}/s" for name in known)
            found.append(Bound("matrix", sum(known.values()), f"{rates}, {units}"))
    return sorted((bound for bound in found if bound.seconds > 0), key=lambda bound: -bound.seconds)
