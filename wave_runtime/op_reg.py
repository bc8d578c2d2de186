"""``wave_runtime.compat.op_reg``, the same module, under the path that docs/launchable.md promises."""

import sys
from typing import TYPE_CHECKING

from wave_runtime.compat import op_reg
from wave_runtime.compat.op_reg import impl_helper

if TYPE_CHECKING:
    from wave_runtime.compat.op_reg import *  # noqa: F403

sys.modules[__name__] = op_reg
sys.modules[f"{__name__}.impl_helper"] = impl_helper  # else importing it would make a second one
