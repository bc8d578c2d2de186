"""Random kernels, in the C++ of kernel.h: the same source compiles to a code object and to functions for the host.

A kernel is a sequence of phases. In each a work-item computes with its own variables, LDS, atomics and the input;
between them are barriers and exchanges between lanes. On the host every phase is a loop over the work-items.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
VECTORS = {
    "u8x4": ("u8", 4),
    "i16x2": ("i16", 2),
    "u16x4": ("u16", 4),
    "i32x2": ("i32", 2),
    "u32x3": ("u32", 3),
    "u32x4": ("u32", 4),
    "u64x2": ("u64", 2),
    "f16x2": ("f16", 2),
    "f16x4": ("f16", 4),
    "f32x2": ("f32", 2),
    "f32x4": ("f32", 4),
    "f64x2": ("f64", 2),
}
TYPES = (*INTEGERS, *FLOATS, *VECTORS)
EXCHANGES = ("kXor", "kRotate", "kRowShift", "kRowMirror", "kSwizzle", "kFirst", "kLane", "kBallot", "kQuad")
FIELDS = ("a", "b", "c", "d", "e")

KERNELS = 4  # of a program

LITERALS = {
    # No zeros: clang 19 takes a -0.0 in a vector of f16 for 0.0.
    "f16": ("1.0f", "0.5f", "65504.0f", "6.1e-5f", "3e-6f", "-2.0f", "0.1f"),
    "f32": ("0.0f", "-0.0f", "1.0f", "-4.0f", "3.4028235e38f", "1.1754944e-38f", "1e-42f", "0.1f", "16777217.0f"),
    "f64": ("0.0", "-0.0", "1.0", "-0.5", "1.7976931348623157e308", "2.2250738585072014e-308", "5e-320", "0.1"),
}
LITERALS["bf16"] = LITERALS["f32"]
WIDTHS = {name: int(name.lstrip("iubf")) for name in (*INTEGERS, *FLOATS)}


@dataclass
class Function:
    """A device function that is not inlined."""

    name: str
    result: str
    parameters: list[str]


@dataclass
class Writer:
    """Writes expressions and statements over the variables in ``names``, which has their types."""

    rng: random.Random
    functions: list[Function] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)  # names that are not assigned to
    arrays: dict[str, str] = field(default_factory=dict)  # eight elements each
    context: bool = True  # whether there are `c`, `t` and fields
    loops: int = 0

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def literal(self, kind: str) -> str:
        if kind in FLOATS:
            return f"{kind}({self.pick(*LITERALS[kind])})"
        if self.rng.random() < 0.5:
            return f"{kind}({self.rng.randrange(-16, 65)})"
        return f"{kind}({self.rng.getrandbits(self.rng.randrange(1, 65))}ul)"

    def variable(self, kind: str) -> str:
        """A variable of this type, or of another and converted; a literal where there is neither."""
        same = [name for name, its in self.names.items() if its == kind]
        if same and self.rng.random() < 0.8:
            return self.rng.choice(same)
        elements = [(name, VECTORS[its]) for name, its in self.names.items() if its in VECTORS]
        elements = [(name, element) for name, element in elements if element[0] == kind]
        if elements and self.rng.random() < 0.5:
            name, (_, count) = self.rng.choice(elements)
            return f"{name}[{self.rng.randrange(count)}]"
        return self.literal(kind) if kind not in VECTORS else self.pick(*same) if same else self.splat(kind, 0)

    def splat(self, kind: str, depth: int) -> str:
        element, count = VECTORS[kind]
        return f"{kind}{{{', '.join(self.expression(element, depth - 1) for _ in range(count))}}}"

    def expression(self, kind: str, depth: int) -> str:
        if depth <= 0:
            return self.variable(kind)
        if kind in VECTORS:
            return self.vector(kind, depth)
        if self.rng.random() < 0.12:
            return self.common(kind, depth)
        return self.floating(kind, depth) if kind in FLOATS else self.integer(kind, depth)

    def common(self, kind: str, depth: int) -> str:
        """What every scalar type has."""
        way = self.rng.randrange(4)
        if way == 0:
            return f"({self.condition(depth - 1)} ? {self.chosen(kind, depth)} : {self.variable(kind)})"
        arrays = [name for name, its in self.arrays.items() if its == kind]
        if way == 1 and arrays:
            return f"{self.rng.choice(arrays)}[{self.expression('u32', depth - 1)} & 7]"
        functions = [function for function in self.functions if function.result == kind]
        if way == 2 and functions:
            function = self.rng.choice(functions)
            return f"{function.name}({', '.join(self.expression(its, depth - 1) for its in function.parameters)})"
        return self.loaded(kind, depth) if self.context else self.variable(kind)

    def chosen(self, kind: str, depth: int) -> str:
        """One of two. Clang 19 negates by v_cndmask_b32, but then takes a form of it that does not."""
        value = self.expression(kind, depth - 1)
        return f"differing({value})" if VECTORS.get(kind, (kind,))[0] in FLOATS else value

    def loaded(self, kind: str, depth: int) -> str:
        load = self.pick("load", "load_aligned")
        at = self.pick("t.global", "t.local * 4", self.expression("u32", depth - 1))
        if kind in FLOATS:
            return f"from_bits<{kind}>({load}<u{WIDTHS[kind]}>(c, {at}))"
        return f"{load}<{kind}>(c, {at})"

    def condition(self, depth: int) -> str:
        if self.rng.random() < 0.15:
            return f"({self.condition(depth - 1)} {self.pick('&&', '||')} {self.condition(depth - 1)})"
        kind = self.pick(*INTEGERS, *FLOATS)
        operator = self.pick("<", "<=", "==", "!=", ">", ">=")
        return f"({self.expression(kind, depth - 1)} {operator} {self.expression(kind, depth - 1)})"

    def integer(self, kind: str, depth: int) -> str:
        def other(its: str = kind) -> str:
            return self.expression(its, depth - 1)

        unary = ("ones", "leading", "trailing", "reversed", "swapped")
        binary = ("quotient", "remainder", "high_product", "add_carry", "sub_borrow", "add_saturated", "sub_saturated")
        binary = (*binary, "smaller", "larger", "distance", "dot")
        same_width = [its for its in FLOATS if WIDTHS[its] == WIDTHS[kind] and kind.startswith("u")]
        ways = [
            lambda: f"{kind}({other()} {self.pick('+', '-', '*')} {other()})",
            lambda: f"{kind}({self.combined(other(), self.pick('&', '|', '^'), other())})",
            lambda: f"{kind}({other()} {self.pick('+', '-', '*', '&')} {self.literal(kind)})",
            lambda: f"{self.pick('shift_left', 'shift_right', 'rotate')}<{kind}>({other()}, {other('u32')})",
            lambda: f"{self.pick('shift_left', 'shift_right')}<{kind}>({other()}, {self.rng.randrange(WIDTHS[kind])})",
            lambda: f"{self.pick(*binary)}<{kind}>({other()}, {other()})",
            lambda: f"{self.pick(*unary)}<{kind}>({other()})",
            lambda: f"{kind}({self.pick('-', '~')}{other()})",
            lambda: f"{kind}({other(self.pick(*INTEGERS))})",
            lambda: f"to_integer<{kind}>({other(self.pick(*FLOATS))})",
            lambda: f"{kind}({self.condition(depth - 1)})",
            lambda: f"insert<{kind}>({other()}, {other()}, {other()})",
            lambda: f"field<{kind}>({other()}, {self.rng.randrange(40)}, {self.rng.randrange(32)})",
        ]
        if same_width:
            ways.append(lambda: f"{kind}(bits({other(self.rng.choice(same_width))}))")
        if self.context:
            ways.append(lambda: f"{kind}(t.fields.{self.pick(*FIELDS)})")
            ways.append(
                lambda: f"{kind}({self.pick('t.got', 't.local', 't.global', 'kTable[' + other('u32') + ' & 15]')})"
            )
        return self.rng.choice(ways)()

    @staticmethod
    def combined(a: str, operator: str, b: str) -> str:
        """Of integers. Clang 19 takes a for a | b, in the high half, where it knows that of b to be all ones."""
        return f"differing({a}) | differing({b})" if operator == "|" else f"{a} {operator} {b}"

    def floating(self, kind: str, depth: int) -> str:
        def other(its: str = kind) -> str:
            return self.expression(its, depth - 1)

        if kind == "bf16":  # the compilers round after each operation, or not: one operation at a time
            return f"bf16({other('f32')})"
        convertible = [its for its in FLOATS if (its, kind) != ("bf16", "f16")]  # clang has no such cast
        ways = [
            lambda: f"{kind}({self.arithmetic(other(), self.pick('+', '-', '*'), other())})",
            lambda: f"{kind}({self.arithmetic(other(), self.pick('+', '-', '*'), self.literal(kind))})",
            lambda: f"{kind}({self.converted(self.rng.choice(convertible), kind, depth)})",
            lambda: f"{kind}({self.converted(self.pick(*INTEGERS), kind, depth)})",
            lambda: f"{kind}(-differing({other()}))",  # for which see chosen()
            lambda: f"magnitude({other()})",
        ]
        if kind != "f16":
            binary = ("smaller_number", "larger_number", "with_sign")
            unary = ("root", "floor_of", "ceil_of", "trunc_of", "rint_of")
            ways += [
                lambda: f"divided({other()}, {other()})",
                lambda: f"{self.pick(*binary)}({other()}, {other()})",
                lambda: f"{self.pick(*unary)}({other()})",
                lambda: f"fused({other()}, {other()}, {other()})",
                lambda: f"fused(-differing({other()}), magnitude({other()}), {other()})",
                lambda: f"scaled({other()}, {other('i32')})",
                lambda: f"from_bits<{kind}>({other('u' + str(WIDTHS[kind]))})",
            ]
        if kind == "f32":
            ways.append(lambda: f"mixed({other('f16')}, {other('f16')}, {other()})")
            ways.append(lambda: f"clamped({other()} {self.pick('+', '*')} {other()})")
        return self.rng.choice(ways)()

    @staticmethod
    def arithmetic(a: str, operator: str, b: str) -> str:
        """Of floats. Clang 19 takes (0.0 - b) * c for -b * c, whose zero has the other sign: it must not know a."""
        return f"{a} * {b}" if operator == "*" else f"differing({a}) {operator} {b}"

    def converted(self, source: str, target: str, depth: int) -> str:
        """What to convert. Of known values clang 19 makes wrong f16: it fuses the conversion with a product and + 0.0,
        knows no -0.0 in vectors, and drops the overflow of integers with few significant bits."""
        value = self.expression(source, depth - 1)
        return f"differing({value})" if target.startswith("f16") else value

    def vector(self, kind: str, depth: int) -> str:
        element, count = VECTORS[kind]

        def other() -> str:
            return self.expression(kind, depth - 1)

        def chosen() -> str:
            return self.chosen(kind, depth)

        def operation() -> str:
            if element in FLOATS:
                return f"({self.arithmetic(other(), self.pick('+', '-', '*'), other())})"
            return f"({self.combined(other(), self.pick('+', '-', '*', '&', '|', '^'), other())})"

        shuffle = ", ".join(str(self.rng.randrange(2 * count)) for _ in range(count))
        convertible = [name for name, (_, its) in VECTORS.items() if its == count and self.safe(name, kind)]
        ways = [
            operation,
            operation,
            lambda: f"{kind}(-{'differing' if element in FLOATS else ''}({other()}))",
            lambda: f"({other()} {self.pick('<', '==', '>=')} {other()} ? {chosen()} : {chosen()})",
            lambda: f"__builtin_shufflevector({other()}, {other()}, {shuffle})",
            lambda: f"__builtin_convertvector({self.converted(self.rng.choice(convertible), kind, depth)}, {kind})",
            lambda: self.splat(kind, depth),
        ]
        if element in INTEGERS:
            ways.append(lambda: f"({other()} {self.pick('<<', '>>')} ({other()} & {element}({WIDTHS[element] - 1})))")
            both = ("add_sat", "sub_sat", "min", "max")
            ways.append(lambda: f"__builtin_elementwise_{self.pick(*both)}({other()}, {other()})")
        return self.rng.choice(ways)()

    @staticmethod
    def safe(source: str, target: str) -> bool:
        """Whether every element of the one type has a conversion to the other."""
        return VECTORS[source][0] in INTEGERS or VECTORS[target][0] in FLOATS

    def statements(self, count: int, depth: int) -> Iterator[str]:
        for _ in range(count):
            yield from self.statement(depth)

    def statement(self, depth: int) -> Iterator[str]:
        way = self.rng.random()
        if depth > 0 and way < 0.15:
            yield f"if ({self.condition(2)}) {{"
            yield from self.statements(2, depth - 1)
            if self.rng.random() < 0.5:
                yield "} else {"
                yield from self.statements(2, depth - 1)
            yield "}"
        elif depth > 0 and way < 0.27:
            yield from self.loop(depth)
        elif depth > 0 and way < 0.35:
            yield f"switch ({self.expression('u32', 2)} & 3) {{"
            for case in range(3):
                yield f"case {case}:"
                yield from self.statements(1, depth - 1)
                if self.rng.random() < 0.7:
                    yield "break;"
            yield "default:"
            yield from self.statements(1, depth - 1)
            yield "}"
        elif self.context and way < 0.42:
            yield self.atomic()
        elif self.context and way < 0.47:
            name = self.pick(*FIELDS)
            yield f"t.fields.{name} = {self.expression('i64' if name in 'de' else 'i32', 3)};"
        elif self.arrays and way < 0.55:
            name, kind = self.rng.choice(list(self.arrays.items()))
            yield f"{name}[{self.expression('u32', 2)} & 7] = {self.expression(kind, 3)};"
        else:
            yield self.assignment()

    def assignment(self) -> str:
        name = self.rng.choice([name for name in self.names if name not in self.constants])
        kind = self.names[name]
        if kind in VECTORS and self.rng.random() < 0.4:
            element, count = VECTORS[kind]
            at = self.rng.randrange(count) if self.rng.random() < 0.7 else f"{self.expression('u32', 1)} % {count}"
            return f"{name}[{at}] = {self.expression(element, 3)};"
        return f"{name} = {self.expression(kind, 3)};"

    def loop(self, depth: int) -> Iterator[str]:
        counter = f"n{self.loops}"
        self.loops += 1
        limit = self.pick(str(self.rng.randrange(1, 6)), f"({self.expression('u32', 1)} & 7)")
        yield f"for (u32 {counter} = 0; {counter} < {limit}; ++{counter}) {{"
        self.names[counter] = "u32"
        self.constants.add(counter)
        yield from self.statements(2, depth - 1)
        if self.rng.random() < 0.4:
            yield f"if ({self.condition(1)}) {self.pick('break', 'continue')};"
        yield from self.statements(1, depth - 1)
        del self.names[counter]
        yield "}"

    def atomic(self) -> str:
        """One operation for each counter: different ones do not commute."""
        if self.rng.random() < 0.1:
            return "draw_ticket(c.counters);"
        operations = ("add", "or", "and", "xor", "min", "max", "multiply", "add")
        at = self.rng.randrange(len(operations))
        wide = self.rng.random() < 0.4
        kind, name = ("u64", "wide") if wide else ("u32", "narrow")
        place = f"c.counters->{name}[{at + self.pick_offset()}]"
        if self.rng.random() < 0.4:
            place = f"c.shared->{'wide' if wide else 'counters'}[{at + self.pick_offset()}]"
        return f"atomic_{operations[at]}<{kind}>(&{place}, {self.expression(kind, 2)});"

    def pick_offset(self) -> int:
        return 8 * self.rng.randrange(2)


class Kernel:
    """The source of one kernel: its item's variables, its phases, and both ways to run them."""

    def __init__(self, name: str, rng: random.Random, functions: list[Function]) -> None:
        self.name, self.rng, self.functions = name, rng, functions
        kinds = [rng.choice(TYPES) for _ in range(12)] + ["u32", "u64", "f32", "i32"]
        self.variables = {f"v{i}": kind for i, kind in enumerate(kinds)}
        self.phases = rng.randrange(2, 5)

    def lines(self) -> Iterator[str]:
        yield f"struct Item_{self.name} : Place {{"
        yield from (f"{kind} {name};" for name, kind in self.variables.items())
        yield "Fields fields;"
        yield "};"
        steps = ["first"]
        yield from self.function("first", self.initial())
        for number in range(self.phases):
            steps += [f"compute{number}", "BARRIER", f"give{number}", "BARRIER", f"take{number}"]
            steps += ["BARRIER", f"EXCHANGE{number}"]
            yield from self.function(f"compute{number}", self.computation())
            sent, shared = (self.writer().expression(kind, 2) for kind in ("u64", "u32"))
            yield from self.function(f"give{number}", [f"c.shared->values[t.local] = {sent};", f"t.share = {shared};"])
            yield from self.function(f"take{number}", [self.taken()])
        steps += ["last"]
        yield from self.function("last", self.results(), ", u64* out, u32 items")
        exchanges = [self.exchange() for _ in range(self.phases)]
        yield from self.kernel(steps, exchanges)

    def function(self, step: str, body: list[str], extra: str = "") -> Iterator[str]:
        yield f"static DEVICE void {self.name}_{step}(Item_{self.name}& t, const Context& c{extra}) {{"
        yield from body
        yield "}"

    def writer(self) -> Writer:
        return Writer(self.rng, self.functions, {f"t.{name}": kind for name, kind in self.variables.items()})

    def initial(self) -> list[str]:
        writer = Writer(self.rng)
        lines = [f"t.{name} = differing({writer.expression(kind, 2)});" for name, kind in self.variables.items()]
        return ["t.got = 0;", "t.fields = Fields{1, -2, 3, -4, 5};", "clear(c.shared, t.local);", *lines]

    def computation(self) -> list[str]:
        writer = self.writer()
        kinds = [self.rng.choice((*INTEGERS, *FLOATS)) for _ in range(2)]
        lines = [
            f"{kind} a{i}[8] = {{{writer.literal(kind)}, {writer.literal(kind)}}};" for i, kind in enumerate(kinds)
        ]
        writer.arrays = {f"a{i}": kind for i, kind in enumerate(kinds)}
        return [*lines, *writer.statements(7, 2)]

    def taken(self) -> str:
        factor, offset = self.rng.randrange(1, 64, 2), self.rng.randrange(128)
        return f"t.v13 ^= c.shared->values[(t.local * {factor} + {offset}) % kBlock] + c.shared->wide[t.local & 15];"

    def exchange(self) -> str:
        kind = self.rng.choice(EXCHANGES)
        limit = {"kRowShift": (1, 16), "kQuad": (0, 256), "kSwizzle": (0, 32)}.get(kind, (0, 64))
        return f"exchange<{kind}, {self.rng.randrange(*limit)}>"

    def outputs(self) -> list[str]:
        """What is stored of each work-item, as 64-bit numbers."""
        values = []
        for name, kind in self.variables.items():
            count = VECTORS[kind][1] if kind in VECTORS else 0
            values += [f"t.{name}[{i}]" for i in range(count)] if count else [f"t.{name}"]
        return [*values, "t.got", *(f"t.fields.{name}" for name in FIELDS), "c.shared->counters[t.local & 15]"]

    def results(self) -> list[str]:
        lines = []
        for i, value in enumerate(self.outputs()):
            kind = self.element(value)
            lines.append(f"out[{i} * items + t.global] = stored<{kind}>({value});")
        return lines

    def element(self, value: str) -> str:
        name = value.removeprefix("t.").split("[")[0]
        kind = self.variables.get(name, "u64" if "." in name or "fields" in name else "u32")
        return VECTORS[kind][0] if kind in VECTORS else kind

    def kernel(self, steps: list[str], exchanges: list[str]) -> Iterator[str]:
        item, name = f"Item_{self.name}", self.name
        last = "(t, c, out, items)"
        yield "#ifdef __AMDGCN__"
        registers = self.rng.choice(
            ("", "", "__attribute__((amdgpu_num_vgpr(40))) ", "__attribute__((amdgpu_waves_per_eu(8))) ")
        )
        yield f"KERNEL {registers}__attribute__((amdgpu_flat_work_group_size(kBlock, kBlock)))"
        yield f"void {name}(const u8* in, u64* out, Counters* counters, u32 groups) {{"
        yield "SHARED static Shared shared;"
        yield f"{item} t; t.local = THREAD; t.global = GROUP * kBlock + THREAD;"
        yield "const Context c{in, counters, &shared}; const u32 items = groups * kBlock;"
        for step in steps:
            if step == "BARRIER":
                yield step
            elif step.startswith("EXCHANGE"):
                yield f"{exchanges[int(step.removeprefix('EXCHANGE'))]}(t);"
            else:
                yield f"{name}_{step}{last if step == 'last' else '(t, c)'};"
                if step == "first":
                    yield "BARRIER"
        yield "}"
        yield "#else"
        yield f"KERNEL void {name}(const u8* in, u64* out, Counters* counters, u32 groups) {{"
        yield "const u32 items = groups * kBlock;"
        yield "for (u32 group = 0; group < groups; ++group) {"
        yield f"Shared shared; {item} all[kBlock]; const Context c{{in, counters, &shared}};"
        yield "for (u32 i = 0; i < kBlock; ++i) { all[i].local = i; all[i].global = group * kBlock + i; }"
        for step in steps:
            if step.startswith("EXCHANGE"):
                yield f"{exchanges[int(step.removeprefix('EXCHANGE'))]}(all);"
            elif step != "BARRIER":
                yield f"for ({item}& t : all) {name}_{step}{last if step == 'last' else '(t, c)'};"
        yield "}"
        yield "}"
        yield "#endif"


def device_function(name: str, rng: random.Random, earlier: list[Function]) -> tuple[Function, list[str]]:
    scalars = (*INTEGERS, "f16", "f32", "f64")
    function = Function(name, rng.choice(scalars), [rng.choice(scalars) for _ in range(rng.randrange(1, 4))])
    names = {f"p{i}": kind for i, kind in enumerate(function.parameters)} | {"r": function.result}
    writer = Writer(rng, list(earlier), names, context=False)
    parameters = ", ".join(f"{kind} p{i}" for i, kind in enumerate(function.parameters))
    lines = [f"static DEVICE NOINLINE {function.result} {name}({parameters}) {{"]
    lines += [f"{function.result} r = {writer.literal(function.result)};", *writer.statements(2, 1)]
    if rng.random() < 0.3:
        lines.append(f"if ({writer.condition(1)}) return {writer.expression(function.result, 1)};")
    return function, [*lines, f"return {writer.expression(function.result, 3)};", "}"]


def generate(seed: str, kernels: int = KERNELS) -> tuple[str, dict[str, list[str]]]:
    """The source of a program, and for each kernel what its outputs are, each one 64-bit number for each work-item."""
    rng = random.Random(seed)
    table = ", ".join(f"{rng.getrandbits(32):#x}u" for _ in range(16))
    lines = ['#include "kernel.h"', f"static DEVICE const u32 kTable[16] = {{{table}}};"]
    functions: list[Function] = []
    for i in range(3):
        function, body = device_function(f"f{i}", rng, functions)
        functions.append(function)
        lines += body
    outputs = {}
    for i in range(kernels):
        kernel = Kernel(f"k{i}", rng, functions)
        lines += kernel.lines()
        outputs[kernel.name] = kernel.outputs()
    return "\n".join(lines) + "\n", outputs
