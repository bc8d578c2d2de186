#!/usr/bin/env python3
"""Measures the errors of HIP's mathematical functions on the emulator, beside quadruple precision, as a table.

    PYTHONPATH=. python tools/measure_math.py [--count 1000000] [--target gfx1100] [--json FILE] [name ...]

The arguments are those of tests/compile/math_functions.py, more of them. Needs g++ with libquadmath. --json writes what
the table of docs/math.md is made from.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import wave_runtime

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/compile"), str(ROOT / "benchmarks")]

import math_functions as table  # type: ignore[import-not-found]  # noqa: E402
import measured_on  # noqa: E402

# Functions for which AMD states no bound: it is ours.
OURS = ["cyl_bessel_i0", "cyl_bessel_i1", "erfcinv", "erfinv", "j0", "j1", "normcdf", "normcdfinv", "y0", "y1"]
# Of these, which quadruple precision takes long for, a tenth of the arguments are tried.
SLOW = {*OURS, "lgamma", "tgamma"}

Array = np.ndarray[tuple[int], np.dtype[np.float64]]


def _address(column: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(column.ctypes.data)


class Measurement:
    """The kernels, and the truth."""

    def __init__(self, target: str, folder: Path) -> None:
        library = folder / "truth.so"
        command = [
            "g++",
            "-O2",
            "-shared",
            "-fPIC",
            str(ROOT / "tools/math/truth.cpp"),
            "-o",
            str(library),
            "-lquadmath",
        ]
        subprocess.run(command, check=True)
        self._truth = ctypes.CDLL(str(library))
        self._module = wave_runtime.compile(table.source(), target=target)

    def worst(
        self, function: table.Function, dtype: "np.dtype[np.floating]", count: int, seed: int
    ) -> tuple[float, list[float]]:
        """The largest error in units in the last place, and where it is."""
        columns = table.arguments(function, dtype, count, seed)
        high, low = np.empty(count), np.empty(count)
        getattr(self._truth, f"truth_{function.name}")(
            _address(columns[0]), _address(columns[-1]), _address(high), _address(low), ctypes.c_long(count)
        )
        given = [torch.from_numpy(column.astype(dtype)) for column in (columns[0], columns[-1])]
        out = torch.empty_like(given[0])
        kernel = self._module["evaluate_f32" if dtype == np.float32 else "evaluate_f64"]
        kernel(*given, out, table.FUNCTIONS.index(function), count, grid=-(-count // 256), block=256)
        result = out.numpy().astype(np.float64)
        with np.errstate(all="ignore"):
            scale = table.amplitude_of(columns[0], high) if function.is_absolute else np.abs(high)
            unit = table.unit_of(scale, dtype)
            error = np.abs((result - high) / unit - low * (table.unit_of(high, np.dtype(np.float64)) / unit))
            nearest = high.astype(dtype)
            error[~np.isfinite(nearest) & (nearest == result)] = 0
        error[np.isnan(high) & np.isnan(result)] = 0
        error[np.isnan(error)] = np.inf
        where = int(error.argmax())
        return float(error[where]), [float(column[where]) for column in columns]


def main() -> None:
    """Print a table in Markdown: what is allowed, and what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="functions by their names in double precision; default: all")
    parser.add_argument("--count", type=int, default=1_000_000, help="arguments of each function and precision")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--where", action="store_true", help="also print where the largest errors are")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there as well")
    options = parser.parse_args()
    described, found = measured_on.describe(), {}
    print("| function | f32: allowed | largest | f64: allowed | largest |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(options.target, Path(folder))
        for function in table.FUNCTIONS:
            if (options.names and function.name not in options.names) or function.name == "nextafter":
                continue
            cells, errors = [], {}
            count = options.count // 10 if function.name in SLOW else options.count
            for dtype, bound in ((np.float32, function.f32), (np.float64, function.f64)):
                error, where = measurement.worst(function, np.dtype(dtype), count, options.seed)
                errors[f"f{8 * np.dtype(dtype).itemsize}"] = {"allowed": bound, "largest": error}
                cells += [f"{bound:g}", f"{error:.3f}" + f" at {where}" * options.where]
            print(f"| {function.name} | {' | '.join(cells)} |", flush=True)
            found[function.name] = {"arguments": count, "is_ours": function.name in OURS, **errors}
    if options.json:
        report = {"machine": described, "target": options.target, "functions": found}
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
