"""Graphs of torch.cuda while a GPU is emulated: what a capture records, and makes again at each replay.

As on a GPU nothing runs during a capture. Operators of torch are seen by a mode for the capturing thread, which gives
the program tensors for their results and leaves them undefined; launches of kernels are given to it by the place that
all of them come to (csrc/op/recording.h). A replay runs both in their order, on the same storages.

What a program cannot do on a GPU during a capture, because it would have to wait, is an error here, too.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from wave_runtime import _C, _torch
from wave_runtime._emulate import _tensors
from wave_runtime._emulate._gpu import hip_library
from wave_runtime._emulate._patches import Patches
from wave_runtime._emulate._tensors import ON_GPU, PLAIN

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_capturing", "refuse_to_wait"]

Step = Callable[[], object]


class _Thread(threading.local):
    recorder: Recorder | None = None


_thread = _Thread()
_under_way: list[CUDAGraph] = []  # as on a GPU one capture at a time, in the process
_pools = itertools.count(1)


def _refuse_launches_by_hip(refused: bool) -> None:
    """Have launches of this thread that go to the emulator's HIP library be errors: they would not be recorded."""
    if (hip := hip_library()) is not None:
        hip.waveThreadRefuseLaunches(int(refused))


def is_capturing() -> bool:
    """Whether this thread captures a graph."""
    return _thread.recorder is not None


def not_permitted(what: str) -> RuntimeError:
    """The error for what would have to wait for results that there are not."""
    return RuntimeError(
        f"{what}: operation not permitted when stream is capturing: while a graph is captured nothing runs, so that "
        "nothing can be waited for or read; do it before or after the capture"
    )


def refuse_to_wait(what: str) -> None:
    """Raise RuntimeError where this thread captures."""
    if is_capturing():
        raise not_permitted(what)


def _tensors_in(values: object) -> list[torch.Tensor]:
    return [value for value in _torch.tree_flatten(values)[0] if isinstance(value, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    """What tensors that share memory have in common."""
    return _torch.identity_of(tensor.untyped_storage())


def _apart(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, without a part in autograd: neither its graph nor the counts of changes."""
    return tensor.data if type(tensor) in PLAIN else tensor


def _layout(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def _is_written(info: Any) -> bool:
    return info is not None and info.is_write


class Recorder(_torch.TorchDispatchMode):  # type: ignore[misc]
    """Records what the thread that enters it asks for.

    Attributes:
        steps: what a replay does.
        failed: why the capture cannot be replayed, once it cannot.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.failed: str | None = None
        # Storages whose contents there are at replays only. A step holds each of them, so that no other takes its name.
        self._pending: set[int] = set()
        self._stand_ins = _torch.FakeTensorMode()

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Record an operator."""
        keywords = dict(kwargs or {})
        given = _tensors_in((args, keywords))
        if any(type(tensor) not in PLAIN for tensor in given):
            return NotImplemented  # a subclass says what its operators are in terms of plain tensors
        if torch.is_inference_mode_enabled() and _torch.is_composite(func):
            with self:  # elsewhere autograd takes it apart before a mode sees it
                return func.decompose(*args, **keywords)
        with _suspended():
            try:
                return self._record(func, args, keywords, given)
            except Exception as error:
                self.failed = str(error)
                raise

    def add_launch(self, launch: _C.RecordedLaunch) -> None:
        """Record a launch."""
        self.steps.append(launch)
        self._pending.update(map(_storage, launch.tensors))

    def is_undefined(self, tensor: torch.Tensor) -> bool:
        """Whether a program must not look at what a tensor holds: it is the GPU's, or is computed by a replay."""
        storage = tensor.untyped_storage()
        return hasattr(storage, ON_GPU) or _torch.identity_of(storage) in self._pending

    def refuse_to_read(self, tensor: torch.Tensor, name: str = "cpu") -> None:
        """Raise RuntimeError where the capturing thread looks at what there is at replays only."""
        if _thread.recorder is self and type(tensor) in PLAIN and self.is_undefined(tensor):
            raise not_permitted(f"Tensor.{name}")

    def _record(self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any], given: list[torch.Tensor]) -> Any:
        returns = _torch.schema_of(func).returns
        if returns and all(info.alias_info is not None and not info.alias_info.is_write for info in returns):
            results = func(*args, **keywords)  # a view, which reads nothing; or a copy, where no view would do
        else:
            try:
                results = self._without_data(func, args, keywords, given)
            except _torch.DEPENDS_ON_DATA:
                if any(map(self.is_undefined, given)):
                    raise not_permitted(str(func)) from None
                return func(*args, **keywords)  # of a tensor of the host, as far as anybody knows
        made = self._made(results, given)
        is_write = any(_is_written(info.alias_info) for info in _torch.schema_of(func).arguments)
        if is_write or (made and not _makes_undefined(func)):
            self._add(func, args, keywords, results, made)
        return results

    def _without_data(
        self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any], given: list[torch.Tensor]
    ) -> Any:
        """The results of an operator, with nothing in them; those that are arguments, themselves."""
        try:
            stand_ins, results = _tried(func, args, keywords, self._stand_in, self._stand_ins)
        except _torch.DEPENDS_ON_DATA:
            raise
        except Exception:  # torch does not know the shapes without running it; or it is a mistake, which that words
            stand_ins, results = _tried(func, args, keywords, torch.clone, nullcontext())
        else:
            if any(_layout(stand_in) != _layout(real) for stand_in, real in zip(stand_ins, given, strict=True)):
                return func(*args, **keywords)  # changes sizes or strides, as out= does where it has to
        known = {id(stand_in): real for stand_in, real in zip(stand_ins, given, strict=True)}
        return _torch.tree_map_only(torch.Tensor, lambda result: _real(result, known), results)

    def _stand_in(self, tensor: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self._stand_ins.from_tensor(tensor.data)
        return made

    def _made(self, results: Any, given: list[torch.Tensor]) -> list[torch.Tensor]:
        """Those results that are not views of arguments."""
        storages = set(map(_storage, given))
        return [result for result in _tensors_in(results) if _storage(result) not in storages]

    def _add(
        self, func: Any, args: tuple[Any, ...], keywords: dict[str, Any], results: Any, made: list[torch.Tensor]
    ) -> None:
        held_args, held_keywords = _torch.tree_map_only(torch.Tensor, _apart, (args, keywords))
        places = [index for index, result in enumerate(_tensors_in(results)) if any(result is item for item in made)]
        into = [_apart(result) for result in made]

        def run() -> None:
            found = _tensors_in(func(*held_args, **held_keywords))
            for index, target in zip(places, into, strict=True):
                target.copy_(found[index])

        self.steps.append(run)
        self._pending.update(map(_storage, made))
        for info, value in _arguments(func, args, keywords):
            if _is_written(info):
                self._pending.update(map(_storage, _tensors_in(value)))


def _arguments(func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """What the schema says of each argument's memory, and its value."""
    for index, argument in enumerate(_torch.schema_of(func).arguments):
        if index < len(args):
            yield argument.alias_info, args[index]
        elif argument.name in keywords:
            yield argument.alias_info, keywords[argument.name]


def _makes_undefined(func: Any) -> bool:
    """Whether results are not initialised, so that a replay has nothing to do."""
    return _torch.schema_of(func).name in (
        *("aten::empty", "aten::empty_like", "aten::empty_strided", "aten::empty_permuted"),
        *("aten::new_empty", "aten::new_empty_strided"),
    )


def _tried(
    func: Any,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    stand_in: Callable[[torch.Tensor], torch.Tensor],
    mode: AbstractContextManager[Any],
) -> tuple[list[torch.Tensor], Any]:
    """An operator run on tensors that stand for its arguments: these, and its results."""
    made: list[torch.Tensor] = []

    def make(tensor: torch.Tensor) -> torch.Tensor:
        made.append(stand_in(tensor))
        return made[-1]

    args, keywords = _torch.tree_map_only(torch.Tensor, make, (args, keywords))
    with mode:
        return made, func(*args, **keywords)


def _real(result: torch.Tensor, known: dict[int, torch.Tensor]) -> torch.Tensor:
    """What a program gets for the result of an operator that was tried."""
    if id(result) in known:
        return known[id(result)]
    if not isinstance(result, _torch.FakeTensor):
        return result
    return torch.empty_strided(result.shape, result.stride(), dtype=result.dtype)


class _suspended:
    """A context in which launches are made rather than recorded, as parts of an operator."""

    def __enter__(self) -> None:
        self._recorder, _thread.recorder = _thread.recorder, None
        _C.record_launches(None)

    def __exit__(self, *error: object) -> None:
        _thread.recorder = self._recorder
        if self._recorder is not None:
            _C.record_launches(self._recorder.add_launch)


class CUDAGraph:
    """torch.cuda.CUDAGraph. Holds what was recorded, and all memory that it needs."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._steps: list[Step] | None = None
        self._recorder: Recorder | None = None
        self._patches = Patches()
        self._pool: object = None

    def capture_begin(self, pool: object = None, capture_error_mode: str = "global", **options: object) -> None:
        """Begin to record what this thread does. Raises RuntimeError where it captures already."""
        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        if _under_way:
            raise RuntimeError("a graph is being captured already: one at a time")
        self._pool = graph_pool_handle() if pool is None else pool
        self._steps = None
        _under_way.append(self)
        recorder = self._recorder = Recorder()
        self._begin_refusing(recorder)
        self._eager = _torch.eager_only()
        self._eager.__enter__()
        recorder.__enter__()
        _thread.recorder = recorder
        _C.record_launches(recorder.add_launch)
        _refuse_launches_by_hip(True)

    def _begin_refusing(self, recorder: Recorder) -> None:
        """Have what reads memory past the dispatcher be an error, where there is nothing to read."""
        self._patches.set(_tensors, "before_copying_back", recorder.refuse_to_read)
        for name in ("tolist", "numpy", "__array__", "__dlpack__"):
            self._patches.set(torch.Tensor, name, _refusing(recorder, name, getattr(torch.Tensor, name)))

    def capture_end(self) -> None:
        """End it. Raises RuntimeError where this thread has not begun it."""
        recorder = self._recorder
        if recorder is None or recorder is not _thread.recorder:
            raise RuntimeError("capture_end() without capture_begin() on this thread")
        self._recorder = _thread.recorder = None
        _refuse_launches_by_hip(False)
        _C.record_launches(None)
        recorder.__exit__(None, None, None)
        self._eager.__exit__(None, None, None)
        self._patches.undo()
        _under_way.clear()
        if recorder.failed is None:
            self._steps = recorder.steps
        elif sys.exc_info()[0] is None:  # else that one is on its way
            raise RuntimeError(f"the capture failed and was ended by an earlier error: {recorder.failed}")

    def instantiate(self) -> None:
        """Nothing is left to do."""
        self._captured()

    def replay(self) -> None:
        """Do again what was recorded."""
        steps = self._captured()
        refuse_to_wait("replay() of a graph")
        with torch.no_grad():
            for step in steps:
                step()

    def reset(self) -> None:
        """Forget what was recorded."""
        self._steps = None

    def pool(self) -> object:
        """A name for its memory."""
        self._captured()
        return self._pool

    def enable_debug_mode(self) -> None:
        """There is none."""

    def _captured(self) -> list[Step]:
        if self._steps is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        return self._steps

    def _refuse(self, *args: object) -> Any:
        raise NotImplementedError(
            "a graph that is emulated is no graph of HIP: there is no handle, and nothing to dump"
        )

    debug_dump = raw_cuda_graph = raw_cuda_graph_exec = get_graph_data = _refuse


def _refusing(recorder: Recorder, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def read(self: torch.Tensor, *args: Any, **options: Any) -> Any:
        recorder.refuse_to_read(self, name)
        return original(self, *args, **options)

    return read


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory, which graphs do not share."""
    return 0, next(_pools)


class graph:
    """torch.cuda.graph: a context whose launches and operators become a graph."""

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: object = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        **options: object,
    ) -> None:
        from wave_runtime._emulate import _cuda  # which imports this module

        self.cuda_graph = cuda_graph
        self.pool = pool
        self.capture_stream = _cuda.Stream() if stream is None else stream
        self.capture_error_mode = capture_error_mode
        self._stream = _cuda.stream(self.capture_stream)

    def __enter__(self) -> None:
        self._stream.__enter__()
        self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)

    def __exit__(self, *error: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        finally:
            self._stream.__exit__(*error)
