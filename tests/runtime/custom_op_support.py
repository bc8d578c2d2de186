"""An operator that the tests of CustomOp share."""

from __future__ import annotations

from typing import Any

from runtime_support import ADD_SIGNATURE, blocks
from support import EXAMPLES

from wave_runtime.compat.op_reg import (
    ALL_CUSTOM_OP_REGS,
    CustomOp,
    KernelBuilder,
    KernelLaunch,
    KernelSelection,
    def_library,
)

BASICS = EXAMPLES / "binaries" / "basics.hsaco"
LIBRARY = def_library("test_custom_op")


def add_launch() -> KernelLaunch:
    return KernelLaunch(
        BASICS,
        "vector_add",
        signature=ADD_SIGNATURE,
        arguments=lambda a, b, c: (a, b, c, a.numel()),
        grid=blocks,
        block=256,
    )


class Counted(CustomOp):
    """Adds, and counts what is asked of it."""

    signature = "add@UNIQUE@(Tensor a, Tensor b) -> Tensor"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.selected = self.generated = 0

    def select(self, sel: KernelSelection) -> None:
        self.selected += 1
        a = sel.arg_tensor(0)
        sel.arg_tensor(1)
        sel.return_new_tensor(list(a.t.shape), a.t.dtype)

    def generate(self, ksel: KernelSelection, kb: KernelBuilder) -> KernelLaunch:
        self.generated += 1
        return add_launch()


def registered(kind: type[CustomOp], **options: Any) -> tuple[Any, CustomOp]:
    """The callable, and the instance that it belongs to."""
    op = CustomOp.register(kind, library=LIBRARY, **options)
    return op, ALL_CUSTOM_OP_REGS[f"{LIBRARY.ns}.{op.__name__}"]
