"""Programs that a command starts and waits for."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence


def run(program: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a program to its end, with some variables more in its environment. Ctrl-C reaches it, and it says what then.

    Returns:
        Its exit status; 128 and the signal's number where a signal ended it.

    Raises:
        OSError: there is no such program.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # inherited: then nobody is told how a child has ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = subprocess.Popen([*program], env={**os.environ, **variables})
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue
        return status if status >= 0 else 128 - status
