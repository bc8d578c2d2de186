"""Times of launches on GPUs, by the driver's events."""

from __future__ import annotations

import threading
from typing import Any

import torch

from wave_runtime import hooks
from wave_runtime._fork import Lock
from wave_runtime._profile._counts import GpuLaunch


class Timer:
    """Puts an event before and behind each launch on a GPU from now on."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._noted: list[tuple[hooks.LaunchEvent, Any, Any]] = []
        self._begun = threading.local()
        self._hook = hooks.launch_hook(enter=self._enter, exit=self._exit)

    def stop(self) -> None:
        """Note no more."""
        self._hook.remove()

    def launches(self) -> list[GpuLaunch]:
        """Those that were noted. Waits for them."""
        with self._lock:
            noted = list(self._noted)
        found = []
        for event, begin, end in noted:
            if end is not None:
                end.synchronize()
            time = None if end is None else begin.elapsed_time(end)
            found.append(GpuLaunch(event.kernel, event.device, event.grid, event.block, time))
        return found

    def _enter(self, event: hooks.LaunchEvent) -> None:
        self._begun.event = _recorded(event) if event.device.startswith("cuda") else None

    def _exit(self, event: hooks.LaunchEvent) -> None:
        if not event.device.startswith("cuda"):
            return
        begin = self._begun.event
        with self._lock:
            self._noted.append((event, begin, None if begin is None else _recorded(event)))


def _recorded(event: hooks.LaunchEvent) -> Any:
    """An event on a launch's stream, now; None where the stream is captured, whose work has no time yet."""
    device = torch.device(event.device)
    with torch.cuda.device(device):
        stream = torch.cuda.ExternalStream(event.stream) if event.stream else torch.cuda.default_stream(device)  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            if torch.cuda.is_current_stream_capturing():
                return None
            mark = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            mark.record(stream)
            return mark
