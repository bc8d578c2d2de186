"""Operators made of kernels: one definition, which eager mode runs straight and torch's tracers see as an operator."""

from wave_runtime._op._define import cdiv, define_op
from wave_runtime._op._operator import Operator
from wave_runtime._op._variants import Variants, autotune, variants

__all__ = ["Operator", "Variants", "autotune", "cdiv", "define_op", "variants"]
