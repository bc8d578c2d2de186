"""What torch.compile and torch.export are asked while they trace."""

from __future__ import annotations

import torch

from wave_runtime._torch import constant_result


@constant_result
def is_exporting() -> bool:
    """Whether torch.export traces.

    Where torch before 2.12 traces ``torch.compiler.is_exporting``, the answer is always yes: hence this function.
    """
    return torch.compiler.is_exporting()
