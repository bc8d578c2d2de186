"""What serves those who come from other libraries, under the names that they know.

=============  =======================================================  ===================
``pyhip``      PyHIP: kernels of a file, compiled again as it changes   docs/pyhip.md
``launchable`` wave_lang.runtime's Launchable, and programs of IREE's   docs/launchable.md
``op_reg``     wave_lang.runtime.op_reg: operators that generate        docs/launchable.md
``vendors``    one kernel for every vendor; a launch in one call        docs/vendors.md
=============  =======================================================  ===================

Each is imported when it is first asked for. The six names of upstream's ``wave_runtime`` are in that module
itself.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from wave_runtime.compat import launchable, op_reg, pyhip, vendors

__all__ = ["launchable", "op_reg", "pyhip", "vendors"]


def __getattr__(name: str) -> _Any:
    if name in __all__:
        return _import_module(f"wave_runtime.compat.{name}")
    raise AttributeError(f"module 'wave_runtime.compat' has no attribute '{name}'")
