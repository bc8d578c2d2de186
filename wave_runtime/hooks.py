"""Functions that are called before and after each launch of the process, on every device.

    with wave_runtime.hooks.launch_hook(enter=lambda event: print(event.kernel, event.grid)):
        model(x)

Without hooks a launch costs nothing more. C++ code adds its own with wave::add_hook (csrc/launch/hooks.h).
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

from wave_runtime import _C

__all__ = ["LaunchEvent", "LaunchHook", "launch_hook"]


class LaunchEvent(NamedTuple):
    """A launch, as hooks see it.

    Attributes:
        kernel: the kernel's name.
        handle: the kernel's handle.
        device: where it is launched: "cuda:0", "cpu".
        grid: how many workgroups, along x, y and z.
        block: how many work-items a workgroup has, along x, y and z.
        shared_memory: bytes of dynamic shared memory (LDS).
        stream: the driver's handle of the stream; 0 for the default stream.
        arguments: one for each parameter: ints, floats, addresses for pointers, bytes for structs.
    """

    kernel: str
    handle: str
    device: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    stream: int
    arguments: tuple[int | float | bytes, ...]


Hook = Callable[[LaunchEvent], object]


class LaunchHook:
    """A hook that is in place until :meth:`remove` is called or the ``with`` block ends."""

    def __init__(self, enter: Hook | None, exit: Hook | None) -> None:
        self._id: int | None = _C.add_hook(enter, exit)

    def remove(self) -> None:
        """Take the hook away. A launch that is under way on another thread may still call it."""
        if self._id is not None:
            _C.remove_hook(self._id)
            self._id = None

    def __enter__(self) -> LaunchHook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()


def launch_hook(*, enter: Hook | None = None, exit: Hook | None = None) -> LaunchHook:
    """Add functions that are called around each launch.

    Args:
        enter: called with a :class:`LaunchEvent` before the launch. If it raises, nothing is launched.
        exit: called with an equal event when the launch is enqueued, or on CPU tensors when it is done. It is not
            called if the launch fails.
    """
    for name, hook in (("enter", enter), ("exit", exit)):
        if hook is not None and not callable(hook):
            raise TypeError(f"launch_hook: {name}= must be a function of a LaunchEvent, given {type(hook).__name__}")
    return LaunchHook(enter, exit)
