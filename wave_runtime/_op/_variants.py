"""Several launches that compute the same, of which a call makes the best: by a rule, or by measuring."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._op import _tuning
from wave_runtime._op._fingerprint import hash_of
from wave_runtime._op._schema import tensors_in

Launch = Callable[..., Any]

log = logging.getLogger("wave_runtime.variants")


class Variants(_C.OperatorBase):
    """Made by :func:`variants`. A call makes one of the launches, with its arguments, and returns what that returns.

    Attributes:
        launches: those to choose from.
    """

    def __init__(
        self, launches: tuple[Launch, ...], rule: Callable[..., int] | None, key: Callable[..., object] | None
    ) -> None:
        super().__init__(self._run if rule is None else self._run_by_rule, trace)
        self.launches = launches
        self._rule = rule
        self._key = key or _tuning.shape_class
        self._best: dict[object, Launch] = {}  # by the arguments' properties, as they are
        self._definition = {"launches": launches, "rule": rule, "key": key}  # for the fingerprint of operators

    def _run_by_rule(self, *args: Any, **kwargs: Any) -> Any:
        assert self._rule is not None
        return self.launches[self._rule(*args, **kwargs)](*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        properties = (*map(_properties, args), *kwargs, *map(_properties, kwargs.values()))
        best = self._best.get(properties)
        if best is None:
            best = self._find(args, kwargs)
            if best is None:
                best = self.launches[0]
            else:
                self._best[properties] = best
        return best(*args, **kwargs)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launch | None:
        """The fastest, from the cache or by measuring; None where neither is possible now."""
        device = next((tensor.device for tensor in tensors_in([*args, *kwargs.values()])), torch.device("cpu"))
        entries = [
            _tuning.Entry(_tuning.device_text(device), repr(self._key(*args, **kwargs)), _name(launch), hash_of(launch))
            for launch in self.launches
        ]
        known = [entry.read() for entry in entries]
        if None in known and not _may_measure(device):
            return None
        errors: list[Exception] = []

        def measured(launch: Launch, entry: _tuning.Entry) -> float:
            try:
                time = _tuning.measure(launch, args, kwargs, device)
            except _C.KernelFault:
                raise
            except (ValueError, RuntimeError) as error:  # not for these arguments, or too large for the device
                errors.append(error)
                time = float("inf")
            entry.write(time)
            log.info("%s, %s, %s: %g ms", entry.launch, entry.device, entry.key, time)
            return time

        trios = zip(known, self.launches, entries, strict=True)
        times = [measured(launch, entry) if time is None else time for time, launch, entry in trios]
        if len(errors) == len(entries):
            raise errors[0]
        return self.launches[times.index(min(times))]


def variants(
    *launches: Launch, rule: Callable[..., int] | None = None, key: Callable[..., object] | None = None
) -> Variants:
    """Several launches of different kernels, or of one in different ways, as one function.

        launch = wave_runtime.variants(launch_64, launch_128)  # the fastest, measured once for each class of shapes
        launch = wave_runtime.variants(launch_64, launch_128, rule=lambda a, b, c: a.shape[0] > 4096)

    Without a rule the first call with arguments of a class measures them all, on copies of the tensors, and keeps the
    times in the folder ``WAVE_RUNTIME_CACHE_DIR`` (by default ``~/.cache/wave_runtime``) for later processes: for each
    launch, its kernels and code, kind of device, and class. Those that raise ValueError or RuntimeError are left out.
    Nothing is measured while a CUDA graph is captured, and with ``WAVE_RUNTIME_AUTOTUNE=0``: a call for which
    no times are known makes the first launch then, as it does where compilers trace it.

    Args:
        launches: functions of the same arguments.
        rule: ``rule(*args)`` returns the index of the launch to make. It may look at what is known without data.
        key: ``key(*args)`` names the class of arguments that one choice serves. By default dtypes, whether tensors are
            contiguous, and sizes and ints rounded up to powers of two; floats do not count.

    Raises:
        ValueError: there are no launches, or both a rule and a key.
    """
    if not launches:
        raise ValueError("variants: expected at least one launch")
    if rule is not None and key is not None:
        raise ValueError("variants: a rule needs no key=: nothing is measured")
    return Variants(launches, rule, key)


def trace(self: Variants, *args: Any, **kwargs: Any) -> Any:
    """A call that is traced, or on tensors without data: dynamo finds this function as ``Variants.__call__``."""
    index = 0 if self._rule is None else self._rule(*args, **kwargs)
    return self.launches[index](*args, **kwargs)


def _properties(value: Any) -> object:
    """What a choice may depend on, in a form that costs little to make and to compare."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.shape, value.stride(), value.device
    return tuple(map(_properties, value)) if isinstance(value, (list, tuple)) else value


def _may_measure(device: torch.device) -> bool:
    is_captured = device.type == "cuda" and torch.cuda.is_current_stream_capturing()
    return not is_captured and os.environ.get("WAVE_RUNTIME_AUTOTUNE") != "0"


def _name(launch: Launch) -> str:
    return getattr(launch, "__qualname__", repr(type(launch)))


_C.define_call(Variants, trace)
