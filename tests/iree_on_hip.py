"""Runs each function of a module on IREE's HIP driver and on its CPU, and compares: ``iree_on_hip.py MLIR HIP CPU``.

The module's text is beside what iree-compile made of it for the two.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import iree.runtime
import numpy as np

TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i8": np.int8}


def arguments(parameters: str) -> list[np.ndarray]:
    """Values for a function's parameters, which are all tensors. Integers may be indices: they are small."""
    generator = np.random.default_rng(len(parameters))
    made = []
    for shape, element in re.findall(r"tensor<((?:\d+x)+)(\w+)>", parameters):
        extents = [int(extent) for extent in shape.rstrip("x").split("x")]
        floating = element.startswith("f")
        values = generator.uniform(0.5, 1.5, extents) if floating else generator.integers(0, 8, extents)
        made.append(values.astype(TYPES[element]))
    return made


def load(driver: str, path: str) -> iree.runtime.BoundModule:
    config = iree.runtime.Config(driver)
    return iree.runtime.load_vm_module(iree.runtime.VmModule.mmap(config.vm_instance, path), config)


def main() -> None:
    text, hip, cpu = sys.argv[1:]
    print(iree.runtime.get_driver("hip").query_available_devices()[0]["name"])
    modules = [load("hip", hip), load("local-sync", cpu)]
    for name, parameters in re.findall(r"^func\.func @(\w+)\((.*)\) ->", Path(text).read_text(), re.MULTILINE):
        values = arguments(parameters)
        got, expected = (module[name](*values).to_host() for module in modules)
        np.testing.assert_allclose(got, expected, rtol=1e-4, err_msg=name)
        assert np.any(got), name
        print(name)


if __name__ == "__main__":
    main()
