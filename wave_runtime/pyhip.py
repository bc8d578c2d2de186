"""``wave_runtime.compat.pyhip``, the same module, under the path that docs/pyhip.md promises."""

import sys
from typing import TYPE_CHECKING

from wave_runtime.compat import pyhip

if TYPE_CHECKING:
    from wave_runtime.compat.pyhip import JIT as JIT
    from wave_runtime.compat.pyhip import jit as jit
    from wave_runtime.compat.pyhip import module as module

sys.modules[__name__] = pyhip
