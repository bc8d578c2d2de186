"""The instructions that move data between lanes or between registers that other registers choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .operands import raw_source

if TYPE_CHECKING:
    from .evaluate import Instruction


def read_lane(instruction: Instruction, lane: int) -> None:
    source, destination = instruction.read_operands[0], instruction.written[0]
    value = raw_source(instruction.wave, source, instruction.place(source), instruction.literal, lane)
    instruction.wave.set_scalar(instruction.place(destination).number, value)


def read_first_lane(instruction: Instruction) -> None:
    """Lane 0 where no lane is active."""
    mask = instruction.exec
    read_lane(instruction, (mask & -mask).bit_length() - 1 if mask else 0)


def scalar_source(instruction: Instruction, position: int) -> int:
    operand = instruction.read_operands[position]
    return raw_source(instruction.wave, operand, instruction.place(operand), instruction.literal, 0)


def write_lane(instruction: Instruction) -> None:
    """Whether or not the lane is active."""
    at = instruction.place(instruction.written[0])
    value, lane = scalar_source(instruction, 1), scalar_source(instruction, 2) & 63
    instruction.wave.set_vectors("v", at.number, 1, lane, value)


def move_relative(instruction: Instruction, *, source_moves: bool) -> None:
    """s_movrels and s_movreld: M0 is added to the number of the source's or the destination's register."""
    wave, destination, source = instruction.wave, instruction.written[0], instruction.read_operands[0]
    offset, dwords = int(wave.state.m0[wave.index]), destination["dwords"]
    to = instruction.place(destination).number
    if source_moves:
        wave.set_scalars(to, dwords, wave.scalars(instruction.place(source).number + offset, dwords))
    else:
        wave.set_scalars(to + offset, dwords, scalar_source(instruction, 0))


RULES: dict[str, Callable[[Instruction], None]] = {
    "s_movrels_b32": lambda instruction: move_relative(instruction, source_moves=True),
    "s_movrels_b64": lambda instruction: move_relative(instruction, source_moves=True),
    "s_movreld_b32": lambda instruction: move_relative(instruction, source_moves=False),
    "s_movreld_b64": lambda instruction: move_relative(instruction, source_moves=False),
    "v_readfirstlane_b32": read_first_lane,
    "v_readlane_b32": lambda instruction: read_lane(instruction, scalar_source(instruction, 1) & 63),
    "v_writelane_b32": write_lane,
}
