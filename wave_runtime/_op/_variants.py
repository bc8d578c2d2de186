"""Several launches that compute the same, of which a call makes the best: by a rule, or by measuring."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._compile import CompileError
from wave_runtime._environment import flag
from wave_runtime._op import _tuning
from wave_runtime._op._fingerprint import hash_of
from wave_runtime._op._schema import check_function, tensors_in

Launch = Callable[..., Any]

_MOST_PROPERTIES = 4096  # beyond so many a variant forgets them; the classes stay

log = logging.getLogger("wave_runtime.variants")


def trace(self: Variants, *args: Any, **kwargs: Any) -> Any:
    """A call that is traced, or on tensors without data: dynamo finds this function as ``Variants.__call__``."""
    launch = self.launches[self._candidates(args, kwargs)[0]] if self._rule is None else self._by_rule(args, kwargs)
    return launch(*args, **kwargs)


@_C.called_by_slot
class Variants(_C.OperatorBase):
    """A function that makes one of several launches, made by :func:`variants` or :func:`autotune`.

    A call passes its arguments to the launch, and returns what the launch returns.

    Attributes:
        launches: the launches to choose from.
    """

    __call__ = trace

    def __init__(
        self,
        launches: tuple[Launch, ...],
        rule: Callable[..., int] | None,
        key: Callable[..., object] | None,
        is_pruned: Callable[..., bool] | None = None,
    ) -> None:
        super().__init__(self._run if rule is None else self._run_by_rule, trace)
        self.launches = launches
        self._rule = rule
        self._key = key
        self._is_pruned = is_pruned  # is_pruned(index, *args)
        self._best: dict[object, Launch] = {}  # by the arguments' properties, as they are
        self._of_class: dict[tuple[str, str], Launch] = {}  # by kind of device and class of arguments
        self._broken: dict[int, CompileError] = {}  # by index
        # For the fingerprint of operators.
        self._definition = {"launches": launches, "rule": rule, "key": key, "prune": is_pruned}

    def __reduce__(self) -> str | tuple[Any, ...]:
        """What a decorator made is pickled by its name, as functions are, and is its own copy."""
        made_by_decorator: str | None = vars(self).get("__qualname__")
        return made_by_decorator or (Variants, (self.launches, self._rule, self._key, self._is_pruned))

    def _run_by_rule(self, *args: Any, **kwargs: Any) -> Any:
        return self._by_rule(args, kwargs)(*args, **kwargs)

    def _by_rule(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launch:
        """The launch that the rule chooses."""
        assert self._rule is not None
        index = self._rule(*args, **kwargs)
        try:
            return self.launches[index]
        except (IndexError, TypeError):
            of = f"{len(self.launches)} launches"
            raise ValueError(f"variants: expected the rule to return an index of {of}, it returned {index!r}") from None

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        of = _properties if self._key is None else _all_properties
        properties = (*map(of, args), *kwargs, *map(of, kwargs.values()))
        best = self._best.get(properties)
        if best is None:
            best = self._find(args, kwargs)
            if best is None:
                best = self._best_known(args, kwargs)
            else:
                if len(self._best) >= _MOST_PROPERTIES:
                    self._best.clear()
                self._best[properties] = best
        return best(*args, **kwargs)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launch | None:
        """The fastest for a class of arguments, from the cache or by measuring; None where neither is possible now."""
        device, of_class = self._class_of(args, kwargs)
        if (best := self._of_class.get(of_class)) is not None:
            return best
        indices = self._candidates(args, kwargs)
        entries = self._entries(indices, *of_class)
        times = {index: entry.read() for index, entry in entries.items()}
        if None in times.values():
            if not _may_measure(device):
                return None
            times = self._measured(times, entries, args, kwargs, device)
        best = self._of_class[of_class] = self._fastest(times)
        return best

    def _candidates(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """The indices of the launches that are not pruned. Raises ValueError where all are."""
        indices = range(len(self.launches))
        if self._is_pruned is None:
            return list(indices)
        left = [index for index in indices if not self._is_pruned(index, *args, **kwargs)]
        if not left:
            raise ValueError(f"autotune: prune= leaves none of the {len(indices)} configurations for these arguments")
        return left

    def _best_known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launch:
        """The fastest of those whose times are known, else the first."""
        _, of_class = self._class_of(args, kwargs)
        entries = self._entries(self._candidates(args, kwargs), *of_class)
        return self._fastest({index: entry.read() for index, entry in entries.items()})

    def _fastest(self, times: Mapping[int, float | None]) -> Launch:
        known = [(time, index) for index, time in times.items() if time is not None]
        return self.launches[min(known)[1] if known else min(times)]

    def _class_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[torch.device, tuple[str, str]]:
        """A call's device, and its kind and the class of the arguments."""
        tensors = tensors_in(_tuning.with_tensors([*args, *kwargs.values()]))
        device = next((tensor.device for tensor in tensors), torch.device("cpu"))
        return device, (_tuning.device_text(device), repr((self._key or _tuning.shape_class)(*args, **kwargs)))

    def _entries(self, indices: Sequence[int], kind: str, of_class: str) -> dict[int, _tuning.Entry]:
        """Where the launches' times are kept, by index. This walks the code of these launches."""
        named = ((index, self.launches[index]) for index in indices)
        return {index: _tuning.Entry(kind, of_class, _name(launch), hash_of(launch)) for index, launch in named}

    def _measured(
        self,
        known: Mapping[int, float | None],
        entries: Mapping[int, _tuning.Entry],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        device: torch.device,
    ) -> dict[int, float | None]:
        """The times of launches. One that fails has none: what failed now may work in another process."""
        times, errors = dict(known), []
        for index, entry in entries.items():
            if times[index] is not None:
                continue
            try:
                if index in self._broken:
                    raise self._broken[index]
                time = _tuning.measure(self.launches[index], args, kwargs, device)
            except _C.KernelFault:
                raise
            except (ValueError, RuntimeError) as error:
                errors.append(error)
                self._report(index, entry, error)
                continue
            times[index] = time
            entry.write(time)
            log.info("%s, %s, %s: %g ms", entry.launch, entry.device, entry.key, time)
        if len(errors) == len(entries):
            raise errors[0]
        return times

    def _report(self, index: int, entry: _tuning.Entry, error: Exception) -> None:
        """Say that a launch is left out. A ValueError says that it is not for such arguments, which is no trouble."""
        log.info("%s, %s, %s: %s", entry.launch, entry.device, entry.key, error)
        if isinstance(error, ValueError) or index in self._broken:
            return
        if isinstance(error, CompileError):  # it would fail again with other arguments
            self._broken[index] = error
        warnings.warn(
            f"variants: in this process '{entry.launch}' is left out for {entry.key} on {entry.device}: "
            f"{type(error).__name__}: {error}",
            RuntimeWarning,
            stacklevel=5,
        )


def variants(
    *launches: Launch, rule: Callable[..., int] | None = None, key: Callable[..., object] | None = None
) -> Variants:
    """Make one function of several launches, which chooses between them by a rule or by measuring.

        launch = wave_runtime.variants(launch_64, launch_128)  # the fastest, measured once for each class of shapes
        launch = wave_runtime.variants(launch_64, launch_128, rule=lambda a, b, c: a.shape[0] > 4096)

    Without a rule, the first call with arguments of a class measures all launches, on copies of the tensors. The times
    are kept for later processes, in the folder ``WAVE_RUNTIME_CACHE_DIR`` (by default ``~/.cache/wave_runtime``): for
    each launch with its kernels and code, each kind of device, and each class.

    A launch that raises ValueError is not for such arguments, and is left out for the class. One that raises
    RuntimeError, because memory is short or a source does not compile, is left out with a RuntimeWarning, and later
    processes try it again.

    Nothing is measured while a CUDA graph is captured, and with ``WAVE_RUNTIME_AUTOTUNE=0``. Then the fastest of those
    launches whose times are known is made, or the first. Where a compiler traces the call, it is the first in any case.

    Args:
        launches: functions that take the same arguments.
        rule: ``rule(*args)`` returns the index of the launch to make. It may not look at the values of tensors.
        key: ``key(*args)`` names the class of the arguments; one choice serves a class. By default the class is made of
            the dtypes, of whether tensors are contiguous, and of sizes and ints rounded up to powers of two. Floats do
            not count.

    Raises:
        ValueError: there are no launches, or both a rule and a key; at a call, the rule returns no index of a launch.
        TypeError: a launch, the rule or the key is no function.
    """
    if not launches:
        raise ValueError("variants: expected at least one launch")
    if rule is not None and key is not None:
        raise ValueError("variants: a rule needs no key=: nothing is measured")
    for index, launch in enumerate(launches):
        check_function(f"variants: launch {index}", launch)
    _check_choosers("variants", rule=rule, key=key)
    return Variants(launches, rule, key)


def autotune(
    configs: Iterable[Mapping[str, object]],
    *,
    prune: Callable[..., bool] | None = None,
    key: Callable[..., object] | None = None,
) -> Callable[[Launch], Variants]:
    """Make :func:`variants` of one function and several configurations, each of which is passed to it as keywords.

        @wave_runtime.autotune([{"block": 64}, {"block": 256}, {"block": 1024}], prune=lambda config, a, b: ...)
        def launch(a, b, *, block): ...

    It measures as ``variants`` does. A configuration that fails is reported, left out in this process, and tried again
    in the next.

    Args:
        configs: the keywords of each configuration. Callers do not pass them.
        prune: ``prune(config, *args)`` returns whether to leave out a configuration for these arguments. It must return
            the same for all arguments of a class.
        key: names the class of the arguments, as for ``variants``.

    Raises:
        ValueError: there are no configurations; at a call, all of them are pruned.
        TypeError: a configuration is no dict; what is decorated, ``prune`` or ``key`` is no function.
    """
    _check_choosers("autotune", prune=prune, key=key)
    known = []
    for config in configs:
        if not isinstance(config, Mapping):
            raise TypeError(f'autotune: expected dicts of keywords, as in {{"block": 64}}, given {config!r}')
        known.append(dict(config))

    def make(function: Launch) -> Variants:
        check_function("autotune", function)
        if not known:
            raise ValueError("autotune: expected at least one configuration")
        is_pruned = None if prune is None else lambda index, *args, **kwargs: prune(known[index], *args, **kwargs)
        launches = tuple(functools.partial(function, **config) for config in known)
        made = Variants(launches, None, key, is_pruned)
        functools.update_wrapper(made, function)
        return made

    return make


def _check_choosers(name: str, **functions: object) -> None:
    for option, function in functions.items():
        if function is not None:
            check_function(f"{name}: {option}=", function)


def _all_properties(value: Any) -> object:
    """What a caller's key may depend on, in a form that costs little to make and to compare."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.shape, value.stride(), value.device
    if isinstance(value, (list, tuple)):
        return tuple(map(_all_properties, value))
    tensor = _tuning.tensor_of(value)
    return value if tensor is None else _all_properties(tensor)


def _properties(value: Any) -> object:
    """The same for the classes that are made without a key, in which floats do not count."""
    if isinstance(value, float):
        return float
    return tuple(map(_properties, value)) if isinstance(value, (list, tuple)) else _all_properties(value)


def _may_measure(device: torch.device) -> bool:
    is_captured = device.type == "cuda" and torch.cuda.is_current_stream_capturing()
    return not is_captured and flag("WAVE_RUNTIME_AUTOTUNE", True)


def _name(launch: Launch) -> str:
    if isinstance(launch, functools.partial):
        given = [*map(repr, launch.args), *(f"{name}={value!r}" for name, value in launch.keywords.items())]
        return f"{_name(launch.func)}({', '.join(given)})"
    return getattr(launch, "__qualname__", repr(type(launch)))
