"""Kernels in the Wave DSL, which need wave-lang, and in HIP.

Each module has KERNELS: the name of a binary -> a function that makes the kernel and its compile options.
"""
