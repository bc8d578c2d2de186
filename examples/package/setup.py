"""Compiles the package's kernels into its wheel; the rest stands in pyproject.toml."""

from setuptools import setup

from wave_runtime import build

kernels = build.Kernels(
    "scaled.kernels", ["csrc/kernels.hip"], targets=["gfx942", "gfx1100"], options={"include_dirs": ["csrc"]}
)
setup(cmdclass=build.commands(kernels))
