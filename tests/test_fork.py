"""fork() while other threads load, launch, translate, compile and unload: children load, launch and end."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import warm_python
from support import EXAMPLES, ROOT

import wave_emulator

CSRC = ROOT / "csrc"

# What the children of all programs below do: they launch what their parent was about to load, and what it had loaded.
PROGRAM = f"""
import os, sys, threading, time
import torch, wave_runtime
torch.set_num_threads(1)
BASICS = open({str(EXAMPLES / "binaries" / "basics.hsaco")!r}, "rb").read()
SIGNATURE = {{"vector_add": "*f32 const, *f32 const, *f32, i32"}}
kept = wave_runtime.load(BASICS, signature=SIGNATURE)["vector_add"]
serial = 0

def fresh():
    # a build that nobody has loaded: other bytes behind the file
    global serial
    serial += 1
    return wave_runtime.load(BASICS + b"%d %d" % (os.getpid(), serial), signature=SIGNATURE)

def add(kernel):
    a, c = torch.ones(256), torch.zeros(256)
    kernel(a, a, c, 256, grid=1, block=256)
    assert bool((c == 2).all())

def in_child():
    add(kept)
    module = fresh()
    add(module["vector_add"])
    assert module.unload() == 1
    add(kept)

def fork(times):
    for count in range(times):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                in_child()
                status = 0
            finally:
                os._exit(status)
        end = time.monotonic() + 60
        while (done := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > end:
                os.kill(child, 9)
                print(f"child {{count}} hangs", flush=True)
                os._exit(1)
            time.sleep(0.0005)
        if done[1] != 0:
            print(f"child {{count}} failed: {{done[1]}}", flush=True)
            os._exit(1)

def beside(*works):
    # Each on a thread of its own, over and over; they begin before what follows does.
    begun = [threading.Event() for _ in works]
    def repeat(work, event):
        while True:
            work()
            event.set()
    for work, event in zip(works, begun):
        threading.Thread(target=repeat, args=(work, event), daemon=True).start()
    for event in begun:
        event.wait()
"""


def run(code: str, timeout: int = 240, **variables: str) -> None:
    program = PROGRAM + code + "\nprint('done', flush=True)\nos._exit(0)  # the other threads never end\n"
    done = warm_python.run("-c", program, env={**os.environ, **variables}, timeout=timeout)
    assert done.stdout == "done\n", done.stdout + done.stderr


def test_beside_loads_and_launches() -> None:
    """Modules are loaded, translated, launched and unloaded by two threads."""
    run("""
def load_and_launch():
    module = fresh()
    add(module["vector_add"])
    module.unload()
beside(load_and_launch, load_and_launch)
fork(60)
""")


def test_beside_launches_below_the_interpreters_lock() -> None:
    """torch.ops lets go of it before it loads a module: what another thread holds then is not the interpreter's."""
    run("""
def through_torch():
    kernel = fresh()["vector_add"]
    a, c = torch.ones(256), torch.zeros(256)
    torch.ops.wave.launch(kernel.handle, [a, a], [c], [256], [], [1], [256])
beside(through_torch, through_torch, lambda: add(kept))
fork(60)
""")


def test_while_another_thread_unloads() -> None:
    """unload() waits for a launch that takes long. A child does not."""
    run(f"""
probes = open({str(ROOT / "tests/emulator/kernels/probes.hsaco")!r}, "rb").read()
spin = wave_runtime.load(probes, signature={{"spin": "*i32, i64, i32, i32"}})
flags = torch.zeros(4, dtype=torch.int32)
threading.Thread(target=lambda: spin["spin"](flags, 0, 0, 0, grid=1, block=64), daemon=True).start()
while not wave_runtime.loaded():
    time.sleep(0.01)
time.sleep(0.5)  # until it is in the launch
threading.Thread(target=spin.unload, daemon=True).start()
time.sleep(0.5)  # until it waits
def in_child():
    add(wave_runtime.load(BASICS, signature=SIGNATURE)["vector_add"])
    assert spin.unload() == 1  # nobody uses it here
fork(5)
""")


def test_no_child_keeps_a_pipe_open() -> None:
    """The reader of a program's output does not wait for a child that was forked while the program started."""
    run("""
import subprocess
from wave_runtime._fork import start
execute = subprocess.Popen._execute_child
has_pipes, ended = threading.Event(), threading.Event()
def slowly(*arguments):
    has_pipes.set()
    time.sleep(0.5)
    execute(*arguments)
subprocess.Popen._execute_child = slowly
def read():
    assert start(["echo", "read"], stdout=subprocess.PIPE).communicate()[0] == b"read\\n"
    ended.set()
threading.Thread(target=read, daemon=True).start()
has_pipes.wait()
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
assert ended.wait(20), "the reader waits for the child"
os.kill(child, 9)
""")


@pytest.mark.needs("clang")
def test_beside_compiles(tmp_path: Path) -> None:
    """A source of the same path is compiled by a thread and by the child."""
    source = tmp_path / "kernel.hip"
    text = 'extern "C" __global__ void set(int* out, int value) {{ *out = value + {}; }}\n'
    source.write_text(text.format(0))
    run(
        f"""
from pathlib import Path
source, text = Path({str(source)!r}), {text!r}
module = wave_runtime.compat.pyhip.module(source)
turn = 0
def change():
    global turn
    turn += 1
    source.write_text(text.format(turn))
    out = torch.zeros(1, dtype=torch.int32)
    module["set"]([1], [1], out, 1)
def in_child():
    out = torch.zeros(1, dtype=torch.int32)
    module["set"]([1], [1], out, 1)
    assert out.item() > 0
change()
beside(change)
fork(6)
""",
        timeout=600,
        WAVE_RUNTIME_CACHE_DIR=str(tmp_path / "cache"),
    )


def test_fork_inside_a_launch() -> None:
    """In a hook: the launch goes on in both, and its modules stay loaded in the child."""
    run("""
import wave_runtime.hooks
children = []
def enter(event):
    if not children:
        children.append(os.fork())
hook = wave_runtime.hooks.launch_hook(enter=enter)
add(kept)
if children[0] == 0:
    add(kept)
    module = fresh()
    add(module["vector_add"])
    module.unload()
    os._exit(0)
assert os.waitpid(children[0], 0)[1] == 0
""")


def test_locks_are_safe_to_fork() -> None:
    """Every lock that outlives a launch. The HIP library refuses to work in children at all."""
    lock = re.compile(r"std::(?:recursive_|shared_)?(?:timed_)?mutex\b|std::once_flag|std::call_once|pthread_mutex_t")
    users = {
        str(p.relative_to(CSRC)) for p in CSRC.rglob("*") if p.suffix in {".h", ".cpp"} and lock.search(p.read_text())
    }
    names = (
        "dispatch.cpp",
        "dispatch.h",
        "findings.h",
        "global_shadow.h",
        "grid_sync.h",
        "hostcall.h",
        "kernel_output.h",
        "memory.h",
    )
    of_a_launch = {
        f"emulator/{name}" for name in (*names, "profile.h", "spinning.h", "undefined_pages.h", "workgroup_ranges.h")
    }
    assert {u for u in users if not u.startswith("hip_emulator/")} - of_a_launch == {
        "base/fork_safe.h",
        "base/fork_safe.cpp",
    }


def test_values_that_are_made_at_their_first_use() -> None:
    """They are made without the compiler's guards, on which a child would wait for a thread of its parent."""
    for library in ("wave_emulator", "wave_launch"):
        path = wave_emulator.library(library)
        symbols = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
        assert "wave::Lazy<" in symbols or "wave::" in symbols, "the library has been stripped"
        assert re.findall("guard variable for (wave::.*)", symbols) == []
