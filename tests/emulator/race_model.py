"""Random accesses of memory and of LDS, and which are races: by the byte, with everything that was ever accessed."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

LANES, ROW = 64, 68
# The table of kernels/accesses.hip.
NOTHING, LOAD, STORE, ADD, LDS, BARRIER, RELEASE, ACQUIRE = 0, 1, 6, 11, 11, 30, 31, 32
SIZES = (1, 2, 4, 8, 16)
BYTES, LDS_BYTES = 8192, 1024


@dataclass
class Row:
    """What a wave does at once: an access, its value or its flag, and each lane's first byte, or -1."""

    access: int
    value: int = 0
    flag: int = 0
    begins: list[int] = field(default_factory=lambda: [-1] * LANES)

    def words(self) -> list[int]:
        return [self.access, self.value, self.flag, 0, *self.begins]

    @property
    def is_lds(self) -> bool:
        return LDS < self.access <= LDS + ADD

    @property
    def kind(self) -> int:
        """LOAD, STORE or ADD, of either memory."""
        kind = self.access - LDS * self.is_lds
        return ADD if kind == ADD else STORE if kind >= STORE else LOAD

    @property
    def size(self) -> int:
        return 4 if self.kind == ADD else SIZES[self.access - LDS * self.is_lds - self.kind]


Program = list[list[list[Row]]]  # of each workgroup, and each of its waves


@dataclass(frozen=True)
class Access:
    """Of a byte."""

    wave: int  # of the launch
    number: int  # among the rows of the wave
    code: int  # the row's
    kind: int
    mask: int  # of the bytes of its dword that one lane accesses
    changes: bool  # of a store: the byte gets another value
    is_own: bool = False  # of a load of LDS: of what the wave has written itself


def begins_of(draw: random.Random, size: int, end: int, is_aligned: bool) -> list[int]:
    """Where lanes begin: side by side, in rows, at one place, apart or at random; some of them not at all."""
    pattern = draw.choice(["run", "run", "run", "rows", "same", "apart", "random"])
    step = size if is_aligned else draw.choice([1, 2, 4, 16, size])
    base = draw.randrange(0, draw.choice([64, 256, end // 2]))  # most meet others
    if draw.random() < 0.6:
        base = base // 64 * 64
    most = end - size
    places = {
        "run": lambda lane: base + lane * size,
        "rows": lambda lane: base + lane % 16 * size + lane // 16 * 256,
        "same": lambda _: base,
        "apart": lambda lane: base + lane * (size + 4),
        "random": lambda _: draw.randrange(0, end),
    }
    begins = [min(places[pattern](lane), most) // step * step for lane in range(LANES)]
    first, last = sorted(draw.sample(range(LANES + 1), 2)) if draw.random() < 0.4 else (0, LANES)
    return [begin if first <= lane < last else -1 for lane, begin in enumerate(begins)]


def random_row(draw: random.Random, value: int) -> Row:
    """An access of either memory. A value is a row's own, so that each store changes what is there."""
    is_lds = draw.random() < 0.35
    kind = draw.choice([LOAD, LOAD, STORE, STORE, ADD])
    index = 0 if kind == ADD else draw.choice([0, 1, 2, 2, 2, 3, 4])
    size = 4 if kind == ADD else SIZES[index]
    begins = begins_of(draw, size, LDS_BYTES if is_lds else BYTES, is_lds or kind == ADD)
    return Row(kind + index + LDS * is_lds, value, 0, begins)


def random_program(draw: random.Random) -> Program:
    """Of a few workgroups, whose waves meet at barriers, and which tell later ones by flags what they have done."""
    groups, waves = draw.choice([(1, 2), (1, 4), (2, 1), (2, 2), (3, 2), (6, 1)])
    rounds = draw.randint(1, 3)
    value = 0
    program: Program = []
    for group in range(groups):
        program.append([[] for _ in range(waves)])
        for step in range(rounds):
            for wave in program[-1]:
                if group > 0 and draw.random() < 0.5:
                    wave.append(Row(ACQUIRE, flag=draw.randrange(group)))
                for _ in range(draw.randint(0, 2)):
                    value += 1
                    wave.append(random_row(draw, value))
                if step + 1 < rounds:
                    wave.append(Row(BARRIER))
        if draw.random() < 0.7:
            draw.choice(program[-1]).append(Row(RELEASE, flag=group))
    return program


def small_row(draw: random.Random, value: int, is_lds: bool, place: int) -> Row:
    """An access of some of the eight bytes of a place, by one lane or by some; or of the 64 bytes that they lie in."""
    kind = draw.choice([LOAD, LOAD, STORE, STORE, STORE, ADD])
    index = 0 if kind == ADD else draw.choice([0, 0, 1, 1, 2, 2, 3])
    size = 4 if kind == ADD else SIZES[index]
    row = Row(kind + index + LDS * is_lds, value)
    if draw.random() < 0.2:
        row.begins = [place // 64 * 64 + lane * size if lane * size < 64 else -1 for lane in range(LANES)]
        return row
    begin = place + draw.randrange(9 - size)
    if is_lds or kind == ADD:
        begin = begin // size * size
    lanes = draw.sample(range(LANES), draw.choice([1, 1, 2, 8]))
    row.begins = [begin if lane in lanes else -1 for lane in range(LANES)]
    return row


def small_program(draw: random.Random) -> Program:
    """Of a few accesses of the same eight bytes: each race of it is by itself, and is found or is not."""
    groups, waves = draw.choice([(1, 2), (1, 3), (2, 1), (3, 1), (2, 2)])
    is_lds = groups == 1 and draw.random() < 0.5
    place = draw.choice([0, 4, 24, 56, 64, 1012])
    program: Program = [[[] for _ in range(waves)] for _ in range(groups)]
    for value in range(1, draw.choice([2, 3, 3, 4, 5]) + 1):
        draw.choice(draw.choice(program)).append(small_row(draw, value, is_lds, place))
    for group, rows_of_waves in enumerate(program):
        if waves > 1 and draw.random() < 0.4:
            for rows in rows_of_waves:
                rows.insert(draw.randint(0, len(rows)), Row(BARRIER))
        if groups > 1 and draw.random() < 0.5:
            draw.choice(rows_of_waves).append(Row(RELEASE, flag=group))
        if group > 0 and draw.random() < 0.5:
            draw.choice(rows_of_waves).insert(0, Row(ACQUIRE, flag=draw.randrange(group)))
    return program


def counting_program(draw: random.Random) -> Program:
    """Of three or four workgroups that count in a dword, the last of which stores there what may be a part of it.

    Whoever counts later knows of some of those before, but need not know of those before these.
    """
    groups, place = draw.choice([3, 3, 4]), draw.choice([0, 24, 1012])
    program: Program = []
    for group in range(groups):
        row = Row(ADD if group + 1 < groups else STORE + draw.randrange(3), group)
        row.begins[draw.randrange(LANES)] = place
        known = [Row(ACQUIRE, flag=other) for other in range(group) if draw.random() < 0.6]
        program.append([[*known, row, *[Row(RELEASE, flag=group)] * draw.choice([0, 1, 1, 1])]])
    return program


def crowded_program(draw: random.Random) -> Program:
    """Of three to eight waves, each of which accesses the same eight bytes of LDS once or twice."""
    waves = draw.choice([3, 3, 4, 5, 8])
    place = draw.choice([0, 24, 1012])
    program: Program = [[[] for _ in range(waves)]]
    for value in range(1, waves + draw.randint(1, 3)):
        rows = program[0][value - 1 if value <= waves else draw.randrange(waves)]
        rows.append(small_row(draw, value, True, place))
    if draw.random() < 0.4:
        for rows in program[0]:
            rows.insert(draw.randint(0, len(rows)), Row(BARRIER))
    return program


def lds_program(draw: random.Random) -> Program:
    """Of a few accesses of the same eight bytes of LDS, some of which store what is there already."""
    waves = draw.choice([2, 2, 3, 3, 4])
    program: Program = [[[] for _ in range(waves)]]
    place = draw.choice([0, 24, 1012])
    for _ in range(draw.choice([2, 3, 3, 4, 5])):
        kind = draw.choice([LOAD, STORE, STORE, ADD, ADD])
        index = 0 if kind == ADD else draw.choice([0, 1, 2, 2, 3])
        size = 4 if kind == ADD else SIZES[index]
        row = Row(kind + index + LDS, draw.randint(1, 2))
        row.begins[draw.randrange(LANES)] = place + draw.randrange(0, 9 - size, size)
        draw.choice(program[0]).extend([*[Row(NOTHING)] * draw.choice([0, 1, 4]), row])
    if draw.random() < 0.4:
        for rows in program[0]:
            rows.insert(draw.randint(0, len(rows)), Row(BARRIER))
    return program


def between_barriers(rows: list[Row]) -> list[list[Row]]:
    """A wave's rows, in parts."""
    parts: list[list[Row]] = [[]]
    for row in rows:
        if row.access == BARRIER:
            parts.append([])
        elif row.access != NOTHING:
            parts[-1].append(row)
    return parts


Order = list[list[int]]  # from barrier to barrier which wave takes a turn, and carries out a row


def orders(program: Program) -> Iterator[Order]:
    """In which the waves of a single workgroup may carry out their rows."""
    (waves,) = program
    parts = itertools.zip_longest(*(between_barriers(rows) for rows in waves), fillvalue=[])
    turns = [[wave for wave, rows in enumerate(part) for _ in rows] for part in parts]
    return map(list, itertools.product(*(map(list, sorted(set(itertools.permutations(some)))) for some in turns)))


Pair = tuple[int, int]  # the accesses of a race, by their codes, the lesser one first: waves take turns


@dataclass
class Races:
    """What is to be found of a program, in one of the memories."""

    may: set[Pair] = field(default_factory=set)
    must: set[frozenset[Pair]] = field(default_factory=set)  # one pair, at least, of each set


class Model:
    """What happens before what, of a program whose workgroups run one after the other.

    With the order of the rows it tells, too, which stores to LDS change something, and who reads what it has written.
    """

    def __init__(self, program: Program, *, has_flags: bool = True, order: Order | None = None) -> None:
        self.waves = len(program[0])
        self.has_flags = has_flags
        self.order = order
        self.bytes: dict[tuple[bool, int, int], list[tuple[Access, dict[int, int]]]] = defaultdict(list)
        self.flags: dict[int, dict[int, int]] = {}
        self.lds: dict[tuple[int, int], tuple[int, set[int]]] = {}  # a byte's value, and the waves that have written it
        for group, rows_of_waves in enumerate(program):
            self._run(group, rows_of_waves)

    def _run(self, group: int, rows_of_waves: list[list[Row]]) -> None:
        clocks: list[dict[int, int]] = [{} for _ in rows_of_waves]
        number = 0
        parts = [between_barriers(rows) for rows in rows_of_waves]
        for step in range(max(map(len, parts))):
            rows = [iter(part[step]) if step < len(part) else iter([]) for part in parts]
            turns = [i for i, part in enumerate(parts) if step < len(part) for _ in part[step]]
            for i in turns if self.order is None else self.order[step]:
                number += 1
                self._carry_out(group, group * self.waves + i, number, next(rows[i]), clocks[i])
            met: dict[int, int] = {group * self.waves + i: number for i in range(len(parts))}
            for clock in clocks:
                join(met, clock)
            clocks = [dict(met) for _ in clocks]

    def _carry_out(self, group: int, wave: int, number: int, row: Row, clock: dict[int, int]) -> None:
        if row.access == RELEASE:
            self.flags[row.flag] = {**clock, wave: number}
        elif row.access == ACQUIRE:
            join(clock, self.flags.get(row.flag, {}) if self.has_flags else {})
        else:
            for begin in {begin for begin in row.begins if begin >= 0}:
                for byte in range(begin, begin + row.size):
                    low = max(begin, byte // 4 * 4)
                    mask = sum(1 << i % 4 for i in range(low, min(begin + row.size, byte // 4 * 4 + 4)))
                    changes, is_own = self._meet(group, byte, wave, row)
                    access = Access(wave, number, row.access, row.kind, mask, changes, is_own)
                    self.bytes[row.is_lds, group if row.is_lds else 0, byte].append((access, dict(clock)))

    def _meet(self, group: int, byte: int, wave: int, row: Row) -> tuple[bool, bool]:
        """Whether an access changes a byte, and whether its wave has written what is there."""
        if self.order is None or not row.is_lds:
            return row.kind != LOAD, False
        value, writers = self.lds.get((group, byte), (-1, set()))
        if row.kind == LOAD:
            return False, wave in writers
        changes = row.kind == ADD or row.value != value
        self.lds[group, byte] = value if row.kind == ADD else row.value, {wave} if changes else writers | {wave}
        return changes, False

    def races(self, is_lds: bool) -> Races:
        """What may be found, and what must."""
        races = Races()
        dwords: dict[tuple[int, int], set[tuple[int, int, int]]] = defaultdict(set)
        for (of_lds, group, byte), accesses in self.bytes.items():
            if of_lds == is_lds:
                dwords[group, byte // 4] |= {(access.wave, access.kind, access.mask) for access, _ in accesses}
        for (of_lds, group, byte), accesses in self.bytes.items():
            if of_lds != is_lds:
                continue
            pairs = pairs_of(accesses)
            races.may |= {pair_of(one, other) for one, other in pairs}
            all_of_byte = [access for access, _ in accesses]
            sure = [pair for pair in pairs if not self._is_left_out(pair, all_of_byte, is_lds)]
            if not is_kept(dwords[group, byte // 4], is_lds):
                continue
            for one, other in sure:
                # A wave's later access of the byte stands for an earlier one.
                same = [pair for pair in sure if is_behind(pair, one, other) or is_behind(pair, other, one)]
                races.must.add(frozenset(pair_of(*pair) for pair in same))
        return races

    def _is_left_out(self, pair: tuple[Access, Access], accesses: list[Access], is_lds: bool) -> bool:
        """Loops of compare-and-swap begin with a plain load; in LDS a wave reads what it has written itself."""
        is_load_and_add = {pair[0].kind, pair[1].kind} == {LOAD, ADD}
        if not is_lds:
            return is_load_and_add
        load = pair[0] if pair[0].kind == LOAD else pair[1]
        if is_load_and_add and any(is_own_add_behind(access, load) for access in accesses):
            return True
        if self.order is not None:
            return pair[1].is_own
        writers = {access.wave for access in accesses if access.kind != LOAD}
        return any(access.kind == LOAD and access.wave in writers for access in pair)


def pairs_of(accesses: list[tuple[Access, dict[int, int]]]) -> list[tuple[Access, Access]]:
    """Those of a byte that are races: the earlier and the later ones."""
    return [
        (earlier, later)
        for i, (later, clock) in enumerate(accesses)
        for earlier, _ in accesses[:i]
        if later.wave != earlier.wave
        and clock.get(earlier.wave, 0) < earlier.number
        and {later.kind, earlier.kind} not in ({LOAD}, {ADD})
        and (later.changes or (later.kind == LOAD and earlier.changes))
    ]


def is_own_add_behind(access: Access, load: Access) -> bool:
    return access.kind == ADD and access.wave == load.wave and access.number > load.number


def pair_of(one: Access, other: Access) -> Pair:
    return min(one.code, other.code), max(one.code, other.code)


def is_behind(pair: tuple[Access, Access], one: Access, other: Access) -> bool:
    """Whether it is one access with another, or with a later one of that one's wave."""
    return any(a == one and b.wave == other.wave and b.number >= other.number for a, b in (pair, pair[::-1]))


def is_kept(accesses: set[tuple[int, int, int]], is_lds: bool) -> bool:
    """Whether all accesses of a dword are surely known. Those of LDS are; of the launch's memory the last four are."""
    return is_lds or len(accesses) <= 4


def join(clock: dict[int, int], other: dict[int, int]) -> None:
    for wave, number in other.items():
        clock[wave] = max(clock.get(wave, 0), number)
