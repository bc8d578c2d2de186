"""Processes of Python in which torch is there already: each is forked from one that has imported it, and nothing else.

To import torch takes one and a half seconds of a processor, and its compiler two more; hundreds of tests want a process
of their own. One whose subject is the import, how Python starts, or a variable that is read then, is started with
subprocess; so is one whose subject is how Python ends, since these end once their exit functions have run.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import re
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent
REQUEST_BYTES = 1 << 18
COMPILER = "torch._inductor.compile_fx"  # which torch itself imports when something is compiled
READ_AT_START = re.compile("(OMP|MKL|LD|PYTORCH|TORCH|TORCHINDUCTOR)_(?!CACHE_DIR)")


class WarmProcess:
    """One that runs: what tests use of subprocess.Popen.

    Arguments:
        arguments: those of Python: "-c" and a program, "-m" and a module, or a file, and its arguments.
        env: its environment; by default that of this process.
        cwd: its folder.
        imported: what has been imported: torch, or its compiler.
        started: variables that are read when torch is imported.
        output: a file for what it writes, in place of pipes.
    """

    def __init__(
        self,
        *arguments: object,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        imported: str = "torch",
        started: Mapping[str, str] = types.MappingProxyType({}),
        output: IO[str] | None = None,
    ) -> None:
        environment = {**(os.environ if env is None else env), **started}
        parent, started = _parent(imported, tuple(sorted(started.items())))
        changed = {name for name, _ in environment.items() ^ started.items()}
        if late := sorted(filter(READ_AT_START.match, changed)):
            raise ValueError(f"{', '.join(late)}: too late for a process that has torch; start it with subprocess")
        request = {"arguments": [*map(str, arguments)], "environment": environment, "folder": str(cwd)}
        pipes = [] if output else [os.pipe(), os.pipe()]
        self._status, status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with status, open(os.devnull) as nothing:
            ends = [end for _, end in pipes] or [output.fileno()] * 2
            socket.send_fds(parent, [json.dumps(request).encode()], [nothing.fileno(), *ends, status.fileno()])
        for _, end in pipes:
            os.close(end)
        self._pipes = [os.fdopen(begin) for begin, _ in pipes]
        self.returncode: int | None = None
        self.pid = self._answer()

    def __enter__(self) -> WarmProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        for stream in (*self._pipes, self._status):
            stream.close()

    @property
    def stdout(self) -> IO[str]:
        """What it writes there."""
        return self._pipes[0]

    @property
    def stderr(self) -> IO[str]:
        """What it writes there."""
        return self._pipes[1]

    def _answer(self) -> int:
        answer = self._status.recv(64)
        assert answer, "the process from which others are forked has ended"
        return int(answer)

    def wait(self) -> int:
        """Its status, once it has ended."""
        if self.returncode is None:
            self.returncode = self._answer()
        return self.returncode

    def poll(self) -> int | None:
        """Its status, if it has ended."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """What it still writes to stdout and stderr. After the timeout it is killed, and TimeoutExpired raised."""
        expired = threading.Event()
        timer = threading.Timer(timeout, lambda: (expired.set(), self.kill()))
        timer.start()
        with ThreadPoolExecutor(2) as pool:
            output, errors = pool.map(lambda stream: stream.read(), self._pipes)
        self.wait()
        timer.cancel()
        if expired.is_set():
            raise subprocess.TimeoutExpired("a warm process", timeout, output, errors)
        return output, errors

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    imported: str = "torch",
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run Python to its end, with the arguments of WarmProcess."""
    with WarmProcess(*arguments, env=env, cwd=cwd, imported=imported) as process:
        output, errors = process.communicate(timeout)
    return subprocess.CompletedProcess([*map(str, arguments)], process.wait(), output, errors)


@functools.cache
def _parent(imported: str, started: tuple[tuple[str, str], ...]) -> tuple[socket.socket, dict[str, str]]:
    """Where a process takes requests that has imported a module, and its environment. It ends with this process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **dict(started)}
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(
            [sys.executable, __file__, str(its.fileno()), imported],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # whose buffer is that of a pipe
            env=environment,
        )
    atexit.register(process.wait)
    atexit.register(ours.close)  # runs before
    return ours, environment


def _children(control: socket.socket) -> list[str]:
    """Fork for each request. Returns its arguments in the child, which has its files, environment and folder."""
    running: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor that is ready when it has ended
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is control:
                message, files, _, _ = socket.recv_fds(control, REQUEST_BYTES, 4)
                if not message:  # the tests are over
                    for child, _ in running.values():
                        os.kill(child, signal.SIGKILL)
                    sys.exit()
                child = os.fork()
                if child == 0:
                    for other in (selector, control, *(status for _, status in running.values())):
                        other.close()
                    for descriptor in (*running, files[3]):
                        os.close(descriptor)
                    return _become(json.loads(message), files[:3])
                for descriptor in files[:3]:
                    os.close(descriptor)
                status, ended = socket.socket(fileno=files[3]), os.pidfd_open(child)
                status.send(str(child).encode())
                running[ended] = child, status
                selector.register(ended, selectors.EVENT_READ)
            else:
                selector.unregister(key.fd)
                child, status = running.pop(key.fd)
                with status:
                    status.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
                os.close(key.fd)


def _become(request: dict[str, object], files: list[int]) -> list[str]:
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(str(request["folder"]))
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.stdout.reconfigure(line_buffering="PYTHONUNBUFFERED" in os.environ)
    sys.path.pop(0)  # that of this file
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
    importlib.invalidate_caches()
    return request["arguments"]


def _run(option: str) -> None:
    """Run what the arguments name, as Python does."""
    if option == "-m":
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        sys.path.insert(0, "")
        program, sys.argv[0] = sys.argv[0], "-c"
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), sys.modules["__main__"].__dict__)
    else:
        sys.argv.insert(0, option)
        sys.path.insert(0, str(Path(option).resolve().parent))
        runpy.run_path(option, run_name="__main__")


_status: list[int] = []  # of a child whose program has ended


def _end() -> None:
    """End a child behind its exit functions. To take torch apart takes longer than most of them run."""
    if _status:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_status[0])


if __name__ == "__main__":
    atexit.register(_end)  # runs last: what is registered first
    gc.set_threshold(100_000)  # in its children, too, which make more objects than they leave garbage
    version = importlib.import_module("torch").version
    if not version.cuda and not version.hip:  # else its compiler opens a GPU, which is of no use to a forked process
        importlib.import_module(sys.argv[2])
    gc.collect()
    gc.freeze()  # so that no child looks at, and so copies, what it does not use
    for finalizer in list(weakref.finalize._registry):
        finalizer.atexit = False  # nor takes back each of torch's operators
    option, *sys.argv = _children(socket.socket(fileno=int(sys.argv[1])))
    try:
        _run(option)
        _status.append(0)
    except SystemExit as end:
        _status.append(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
    except Exception:
        _status.append(1)
        raise
