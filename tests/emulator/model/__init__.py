"""A slow, obvious model of gfx942's scalar and vector arithmetic, independent of the emulator.

It follows AMD's "AMD Instinct MI300 Instruction Set Architecture" document, in exact numbers. An instruction is a typed
function (rules.py) in one of the tables scalar, integer, compare, conversion, floating, transcendental and lanes.
operands.py and evaluate.py know encodings: constants, modifiers, SDWA, DPP, OP_SEL. draw.py makes random cases.
"""

from .evaluate import RULES, evaluate, is_modelled

__all__ = ["RULES", "evaluate", "is_modelled"]
