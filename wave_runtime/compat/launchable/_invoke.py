"""Functions of IREE's VM, invoked in the order of a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wave_runtime.compat.launchable._device import Device
from wave_runtime.compat.launchable._errors import require


def _no_timer() -> float:
    return 0.0


def invoke_vm_function(
    device: Device,
    is_async: bool,
    vm_context: Any,
    vm_function: Any,
    arg_list: Any,
    ret_list: Any,
    *,
    timer: Callable[[], float] = _no_timer,
) -> float:
    """Invoke a function of a program, whose results ``ret_list`` then holds. Nobody checks that it is for the device.

    Args:
        device: what the program was loaded for.
        is_async: whether the function takes two fences behind its arguments: to wait for, and to signal. They are
            appended to ``arg_list``.
        vm_context, vm_function, arg_list, ret_list: of ``iree.runtime``.
        timer: asked before and after.

    Returns:
        What the timer says that it took. Where ``device.sync`` the results are there, else they will be in the order of
        torch's stream.
    """
    if not is_async:
        if device.sync:
            device._wait_for_torch()
        start = timer()
        vm_context.invoke(vm_function, arg_list, ret_list)
        return timer() - start
    fence = require("iree.runtime").HalFence
    device.setup_iree_action()
    if device.sync:
        timeline, now = device._main_timeline, device._main_timepoint
        wait, signal = fence.create_at(timeline, now - 1), fence.create_at(timeline, now)
    else:
        wait, signal = fence(0), fence(0)
    arg_list.push_ref(wait)
    arg_list.push_ref(signal)
    start = timer()
    try:
        vm_context.invoke(vm_function, arg_list, ret_list)
    except BaseException:
        signal.signal()  # else whatever comes after it would wait for ever
        raise
    finally:
        device.finalize_iree_action(None)
    return timer() - start
