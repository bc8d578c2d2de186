"""Random graphs of the HIP library on the emulator, beside a model of what their launches do to memory: a part of
test_hip_api_sequences.py."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hip_sequences import EVENT_WITHOUT_TIME, INVALID_VALUE, SUCCESS, HipSequences, Memory, Stream
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, multiple, rule

UPDATE_FAILURE = 910
COPY_DEFAULT = 4
HostFunction = ctypes.CFUNCTYPE(None, c_void_p)


# --- what nodes do ---


class FillParameters(ctypes.Structure):
    _fields_ = [
        ("to", c_void_p),
        ("element", c_uint),
        ("height", c_size_t),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("width", c_size_t),
    ]


class KernelParameters(ctypes.Structure):
    _fields_ = [
        ("block", c_uint * 3),
        ("extra", c_void_p),
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("arguments", ctypes.POINTER(c_void_p)),
        ("shared", c_uint),
    ]


class HostParameters(ctypes.Structure):
    _fields_ = [("function", c_void_p), ("data", c_void_p)]


@HostFunction
def count_up(pointer: int) -> None:
    """A function of the host: one more, modulo 256."""
    byte = c_ubyte.from_address(pointer)
    byte.value = (byte.value + 1) % 256


@dataclass(frozen=True)
class Work:
    """A fill of rows, a copy, a launch of vector_add, or a call of count_up. Of its memory the first is written."""

    kind: str
    memories: tuple[Memory, ...]
    at: int = 0
    begin: int = 0  # in what is copied
    width: int = 0  # elements, or bytes of a copy
    height: int = 1
    pitch: int = 0
    element: int = 1
    value: int = 0
    is_enabled: bool = True

    def conflicts(self, other: Work) -> bool:
        return self.memories[0] in other.memories or other.memories[0] in self.memories

    def apply(self) -> None:
        to = self.memories[0].content
        if not self.is_enabled:
            return
        if self.kind == "fill":
            row = np.full(self.width, self.value, np.uint32).astype(f"u{self.element}").view(np.uint8)
            for begin in range(self.at, self.at + self.pitch * self.height, self.pitch):
                to[begin : begin + len(row)] = row
        elif self.kind == "copy":
            to[self.at : self.at + self.width] = self.memories[1].content[self.begin : self.begin + self.width]
        elif self.kind == "add":
            first, second = (memory.content[: 4 * self.width].view(np.float32) for memory in self.memories[1:])
            with np.errstate(all="ignore"):
                to[: 4 * self.width] = (first + second).view(np.uint8)
        else:
            to[self.at] = (int(to[self.at]) + 1) % 256

    def fill_parameters(self) -> FillParameters:
        pointer = self.memories[0].pointer + self.at
        return FillParameters(pointer, self.element, self.height, self.pitch, self.value, self.width)

    def copied(self) -> tuple[Any, ...]:
        to, source = (memory.pointer for memory in self.memories)
        return c_void_p(to + self.at), c_void_p(source + self.begin), c_size_t(self.width), COPY_DEFAULT

    def arguments(self) -> list[Any]:
        to, first, second = (c_void_p(memory.pointer) for memory in self.memories)
        return [first, second, to, c_int(self.width)]

    def grid(self) -> list[int]:
        return [-(-self.width // 64), 1, 1]

    def counted(self) -> c_void_p:
        return c_void_p(self.memories[0].pointer + self.at)


def pointers_to(values: list[Any]) -> Any:
    return (c_void_p * len(values))(*map(ctypes.addressof, values))


def draw_values(data: st.DataObject, work: Work) -> Work:
    """Other parameters, of the same memory."""
    sizes = [len(memory.content) for memory in work.memories]
    if work.kind == "count":
        return replace(work, at=data.draw(st.integers(0, sizes[0] - 1), "at"))
    if work.kind == "add":
        return replace(work, width=data.draw(st.integers(1, min(sizes) // 4), "count"))
    if work.kind == "copy":
        width = data.draw(st.integers(1, min(sizes)), "width")
        at, begin = (data.draw(st.integers(0, size - width), "at") for size in sizes)
        return replace(work, width=width, at=at, begin=begin)
    element = data.draw(st.sampled_from([size for size in (1, 2, 4) if size <= sizes[0]]), "element")
    width = data.draw(st.integers(1, sizes[0] // element), "width")
    pitch = width * element + data.draw(st.integers(0, 16), "between rows") * element
    height = data.draw(st.integers(1, (sizes[0] - width * element) // pitch + 1), "height")
    room = sizes[0] - pitch * (height - 1) - width * element
    at = data.draw(st.integers(0, room // element), "at") * element
    value = data.draw(st.integers(0, (1 << 8 * element) - 1), "value")
    return replace(work, at=at, width=width, height=height, pitch=pitch, element=element, value=value)


def draw_work(data: st.DataObject, memories: list[Memory]) -> Work:
    kind = data.draw(st.sampled_from(["fill", "copy", "add", "count"]), "kind")
    chosen = st.sampled_from(memories)
    to = data.draw(chosen, "memory")
    others = [data.draw(chosen, "another") for _ in range({"copy": 1, "add": 2}.get(kind, 0))]
    is_small = kind == "add" and any(len(memory.content) < 4 for memory in (to, *others))
    if to in others or is_small or (kind == "count" and not to.is_host):
        return draw_values(data, Work("fill", (to,)))
    return draw_values(data, Work(kind, (to, *others)))


@dataclass(frozen=True)
class Recipe:
    """How a graph is made: as nodes in some order, or by a capture of several streams; and which works come before
    which. Works that conflict are ordered always."""

    before: tuple[frozenset[int], ...]
    order: tuple[int, ...] | None  # in which nodes are added
    streams: tuple[int, ...]  # of each work, in a capture


def draw_recipe(data: st.DataObject, works: list[Work]) -> Recipe:
    before = tuple(
        frozenset(
            earlier for earlier in range(i) if work.conflicts(works[earlier]) or data.draw(st.booleans(), "ordered")
        )
        for i, work in enumerate(works)
    )
    order = data.draw(st.none() | st.permutations(range(len(works))), "order")
    streams = tuple(data.draw(st.integers(0, 2), "stream") for _ in works)
    return Recipe(before, None if order is None else tuple(order), streams)


@dataclass(eq=False)
class Source:
    """A graph: nodes[i] is that of works[i]. Those of a child, or of a launch that was captured, come first and have no
    nodes of their own here."""

    handle: int
    recipe: Recipe
    nodes: list[int]
    works: list[Work]
    inner: list[Work] = field(default_factory=list)
    is_destroyed: bool = False


@dataclass(eq=False)
class Graph:
    """A graph that is ready, and what a launch of it does."""

    handle: int
    source: Source
    works: list[Work]

    def all(self) -> list[Work]:
        return [*self.source.inner, *self.works]


class GraphSequences(HipSequences):
    memories, streams = HipSequences.memories, HipSequences.streams
    graphs = Bundle("graphs")

    # How works become nodes.

    def add_node(self, graph: int, work: Work, dependencies: list[int]) -> int:
        behind = c_void_p(graph), (c_void_p * len(dependencies))(*dependencies), c_size_t(len(dependencies))
        if work.kind == "copy":
            return self.new("hipGraphAddMemcpyNode1D", *behind, *work.copied())
        names = {"fill": "hipGraphAddMemsetNode", "add": "hipGraphAddKernelNode", "count": "hipGraphAddHostNode"}
        return self.with_parameters(work, lambda parameters: self.new(names[work.kind], *behind, parameters))

    def set_node(self, of: tuple[Any, ...], work: Work) -> None:
        """Of a graph (its node), or of one that is ready (it, and the node)."""
        names = {"fill": "MemsetNodeSetParams", "add": "KernelNodeSetParams", "count": "HostNodeSetParams"}
        name = "hipGraphExec" if len(of) == 2 else "hipGraph"
        if work.kind == "copy":
            self.call(f"{name}MemcpyNodeSetParams1D", *of, *work.copied())
            return
        self.with_parameters(work, lambda parameters: self.call(name + names[work.kind], *of, parameters))

    def with_parameters(self, work: Work, use: Callable[[Any], Any]) -> Any:
        if work.kind == "fill":
            return use(byref(work.fill_parameters()))
        if work.kind == "count":
            return use(byref(HostParameters(ctypes.cast(count_up, c_void_p), work.counted())))
        values = work.arguments()
        block, grid = (c_uint * 3)(64, 1, 1), (c_uint * 3)(*work.grid())
        parameters = KernelParameters(block, None, self.function, grid, pointers_to(values), 0)
        result = use(byref(parameters))
        for value in values:
            value.value = 0  # arguments are read before the call returns
        return result

    def enqueue(self, work: Work, stream: Any) -> None:
        if work.kind == "copy":
            self.call("hipMemcpyAsync", *work.copied(), stream)
        elif work.kind == "count":
            self.call("hipLaunchHostFunc", stream, count_up, work.counted())
        elif work.kind == "add":
            arguments = pointers_to(values := work.arguments())
            self.call("hipModuleLaunchKernel", self.function, *work.grid(), 64, 1, 1, 0, stream, arguments, None)
            values[-1].value = 0
        elif work.element == 1:
            pointer, width, height = c_void_p(work.memories[0].pointer + work.at), work.width, work.height
            pitch = c_size_t(work.pitch)
            self.call("hipMemset2DAsync", pointer, pitch, work.value, c_size_t(width), c_size_t(height), stream)
        else:
            pointer, elements = c_void_p(work.memories[0].pointer + work.at), c_size_t(work.width)
            value = ctypes.c_ushort(work.value) if work.element == 2 else c_uint(work.value)
            self.call(f"hipMemsetD{8 * work.element}Async", pointer, value, elements, stream)

    def build(self, recipe: Recipe, works: list[Work], child: Source | None = None) -> Source:
        if recipe.order is None:
            return self.captured(recipe, works)
        graph = self.new("hipGraphCreate", c_uint(0))
        inner = [*child.inner, *child.works] if child else []
        first = (
            [self.new("hipGraphAddChildGraphNode", c_void_p(graph), None, c_size_t(0), c_void_p(child.handle))]
            if child
            else []
        )
        nodes = {i: self.add_node(graph, works[i], first) for i in recipe.order}
        edges = [(nodes[earlier], nodes[i]) for i, before in enumerate(recipe.before) for earlier in before]
        if edges:
            sides = [(c_void_p * len(edges))(*side) for side in zip(*edges, strict=True)]
            self.call("hipGraphAddDependencies", c_void_p(graph), *sides, c_size_t(len(edges)))
        return Source(graph, recipe, [nodes[i] for i in range(len(works))], works, inner)

    def captured(self, recipe: Recipe, works: list[Work], launched: Graph | None = None) -> Source:
        streams = [c_void_p(self.new("hipStreamCreateWithFlags", c_uint(1))) for _ in range(3)]
        events: list[c_void_p] = []

        def record(stream: c_void_p) -> c_void_p:
            events.append(c_void_p(self.new("hipEventCreateWithFlags", c_uint(EVENT_WITHOUT_TIME))))
            self.call("hipEventRecord", events[-1], stream)
            return events[-1]

        self.call("hipStreamBeginCapture", streams[0], 0)
        if launched:
            self.call("hipGraphLaunch", c_void_p(launched.handle), streams[0])
        fork = record(streams[0])
        for stream in streams[1:]:
            self.call("hipStreamWaitEvent", stream, fork, c_uint(0))
        done: list[c_void_p] = []
        for work, before, number in zip(works, recipe.before, recipe.streams, strict=True):
            for earlier in before:
                self.call("hipStreamWaitEvent", streams[number], done[earlier], c_uint(0))
            self.enqueue(work, streams[number])
            done.append(record(streams[number]))
        for stream in streams[1:]:
            self.call("hipStreamWaitEvent", streams[0], record(stream), c_uint(0))
        graph = self.new_captured(streams[0])
        for event in events:
            self.call("hipEventDestroy", event)
        for stream in streams:
            self.call("hipStreamDestroy", stream)
        skipped = 1 if launched else 0
        nodes = (c_void_p * (len(works) + 9))()
        count = c_size_t(len(nodes))
        self.call("hipGraphGetNodes", c_void_p(graph), nodes, byref(count))
        assert count.value == len(works) + skipped
        return Source(graph, recipe, list(nodes)[skipped : count.value], works, launched.all() if launched else [])

    def new_captured(self, stream: c_void_p) -> int:
        graph = c_void_p()
        self.call("hipStreamEndCapture", stream, byref(graph))
        assert graph.value is not None
        return graph.value

    def make_ready(self, source: Source) -> Graph:
        handle = self.new("hipGraphInstantiate", c_void_p(source.handle), None, None, c_size_t(0))
        self.made.append(("hipGraphExecDestroy", handle))
        return Graph(handle, source, list(source.works))

    # The rules.

    def draw_works(self, data: st.DataObject) -> tuple[list[Work], Recipe] | None:
        if not self.alive:
            return None
        works = [draw_work(data, self.alive) for _ in range(data.draw(st.integers(1, 6), "works"))]
        recipe = draw_recipe(data, works)
        if recipe.order is None:  # there are no functions for such fills
            works = [replace(w, height=1, pitch=w.width * w.element) if w.element > 1 else w for w in works]
        return works, recipe

    def keep(self, source: Source) -> Graph:
        self.made.append(("hipGraphDestroy", source.handle))
        return self.make_ready(source)

    @rule(target=graphs, data=st.data())
    def make_graph(self, data: st.DataObject) -> Any:
        drawn = self.draw_works(data)
        if drawn is None:
            return multiple()
        works, recipe = drawn
        return self.keep(self.build(recipe, works))

    @rule(target=graphs, inner=graphs, data=st.data())
    def nest(self, inner: Graph, data: st.DataObject) -> Any:
        """Works behind a child, or behind a launch that is captured with what has changed of it."""
        drawn = self.draw_works(data)
        if drawn is None or len(inner.all()) > 20:
            return multiple()
        works, recipe = drawn
        if recipe.order is None:
            return self.keep(self.captured(recipe, works, inner))
        if inner.source.is_destroyed:
            return multiple()
        return self.keep(self.build(recipe, works, inner.source))

    @rule(target=graphs, graph=graphs)
    def make_ready_again(self, graph: Graph) -> Any:
        return multiple() if graph.source.is_destroyed else self.make_ready(graph.source)

    @rule(target=graphs, graph=graphs)
    def clone(self, graph: Graph) -> Any:
        source = graph.source
        if source.is_destroyed:
            return multiple()
        handle = self.new("hipGraphClone", c_void_p(source.handle))
        nodes = [self.new("hipGraphNodeFindInClone", c_void_p(node), c_void_p(handle)) for node in source.nodes]
        return self.keep(replace(source, handle=handle, nodes=nodes, works=list(source.works)))

    @rule(graph=graphs)
    def destroy_source(self, graph: Graph) -> None:
        """What is ready stays so, and its nodes keep their names."""
        wanted = INVALID_VALUE if graph.source.is_destroyed else SUCCESS
        self.call("hipGraphDestroy", c_void_p(graph.source.handle), wanted=wanted)
        if not graph.source.is_destroyed:
            self.made.remove(("hipGraphDestroy", graph.source.handle))
        graph.source.is_destroyed = True

    @rule(graph=graphs, stream=streams, times=st.integers(1, 3))
    def launch_graph(self, graph: Graph, stream: Stream, times: int = 1) -> None:
        used = {id(memory): memory for work in graph.all() for memory in work.memories}
        if stream.is_destroyed or any(memory.is_freed for memory in used.values()):
            return
        for memory in used.values():
            self.order(memory, stream)
        for _ in range(times):
            self.call("hipGraphLaunch", c_void_p(graph.handle), c_void_p(stream.handle))
            for work in graph.all():
                work.apply()

    # What changes a graph, and launches it then.

    def can_change(self, work: Work) -> bool:
        return not any(memory.is_freed for memory in work.memories)

    @rule(graph=graphs, stream=streams, data=st.data())
    def change_node(self, graph: Graph, stream: Stream, data: st.DataObject) -> None:
        """Of the graph that is ready, or of the one that it was made of: one does not change the other."""
        i = data.draw(st.integers(0, len(graph.works) - 1), "node")
        is_ready = graph.source.is_destroyed or data.draw(st.booleans(), "of what is ready")
        works = graph.works if is_ready else graph.source.works
        if not self.can_change(works[i]):
            return
        works[i] = draw_values(data, works[i])
        node = c_void_p(graph.source.nodes[i])
        self.set_node((c_void_p(graph.handle), node) if is_ready else (node,), works[i])
        self.launch_graph(graph, stream)

    @rule(graph=graphs, stream=streams, data=st.data(), is_enabled=st.booleans())
    def enable_node(self, graph: Graph, stream: Stream, data: st.DataObject, is_enabled: bool) -> None:
        i = data.draw(st.integers(0, len(graph.works) - 1), "node")
        work = graph.works[i]
        can = not graph.source.is_destroyed and work.kind != "count"
        of = c_void_p(graph.handle), c_void_p(graph.source.nodes[i])
        self.call("hipGraphNodeSetEnabled", *of, c_uint(is_enabled), wanted=SUCCESS if can else INVALID_VALUE)
        if can:
            graph.works[i] = replace(work, is_enabled=is_enabled)
            found = c_uint(7)
            self.call("hipGraphNodeGetEnabled", *of, byref(found))
            assert found.value == is_enabled
        self.launch_graph(graph, stream)

    @rule(graph=graphs, stream=streams, data=st.data())
    def update(self, graph: Graph, stream: Stream, data: st.DataObject) -> None:
        """By a graph that is made in the same way, with other parameters; and not by one of other nodes."""
        if graph.source.inner or not all(map(self.can_change, graph.works)):
            return
        if data.draw(st.booleans(), "of which a part is disabled"):
            self.enable_node(graph, stream, data, is_enabled=False)
        recipe = graph.source.recipe
        works = [draw_values(data, work) for work in graph.works]
        if recipe.order is None:
            works = [replace(w, height=1, pitch=w.width * w.element) if w.element > 1 else w for w in works]
        is_other = data.draw(st.booleans(), "by another")
        source = self.build(recipe, works)
        node, result = c_void_p(), c_int(7)
        if is_other:
            self.new("hipGraphAddEmptyNode", c_void_p(source.handle), None, c_size_t(0))
        arguments = c_void_p(graph.handle), c_void_p(source.handle), byref(node), byref(result)
        self.call("hipGraphExecUpdate", *arguments, wanted=UPDATE_FAILURE if is_other else SUCCESS)
        assert result.value == (2 if is_other else 0)
        self.call("hipGraphDestroy", c_void_p(source.handle))
        if not is_other:
            graph.works = works
        self.launch_graph(graph, stream)

    @rule(graph=consumes(graphs))
    def destroy_graph(self, graph: Graph) -> None:
        """Its launches go on."""
        self.call("hipGraphExecDestroy", c_void_p(graph.handle))
        self.call("hipGraphLaunch", c_void_p(graph.handle), None, wanted=INVALID_VALUE)
        self.made.remove(("hipGraphExecDestroy", graph.handle))
