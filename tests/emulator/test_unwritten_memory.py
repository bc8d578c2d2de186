"""The sanitizer's tool for what nobody wrote, of memory: what torch allocates is undefined until it is written."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from typing import Any

import mistakes
import numpy as np
import pytest
import torch
from support import PROBES

import wave_runtime

SOURCE = (PROBES / "unwritten.hip").read_text().splitlines()
LINES = {mark[1]: number for number, line in enumerate(SOURCE, 1) if (mark := re.search(r"// (\w+)$", line))}
SIGNATURES = {
    "copy": "in: *i32 const, out: *i32",
    "copy_bytes": "in: *u8 const, out: *u8",
    "copy_by_lds": "in: *i32 const, out: *i32",
    "fill_every_other": "out: *i32",
    "fill_below": "out: *i32, n: i32",
    "add_below": "in: *i32 const, out: *i32, n: i32",
    "add": "in: *i32 const, out: *i32",
    "add_bytes": "in: *u8 const, out: *u8",
    "add_four": "in: *i32 const, out: *i32",
    "add_by_lds": "in: *i32 const, out: *i32",
    "branch": "in: *i32 const, out: *i32",
    "choose_lanes": "in: *i32 const, out: *i32",
    "look_up": "in: *i32 const, table: *i32 const, out: *i32",
    "count": "counts: *i32",
    "add_at": "tables: *i64 const, out: *i32",
}
USES = ("add", "add_four", "add_by_lds", "branch", "choose_lanes", "look_up", "count")


def launch(name: str, *arguments: Any, target: str = "gfx942", grid: int = 1) -> None:
    module = wave_runtime.load(PROBES / f"unwritten_{target}.hsaco", signature=SIGNATURES)
    module[name](*arguments, grid=grid, block=64)


def use(name: str, what: torch.Tensor, target: str = "gfx942") -> None:
    out = torch.zeros(256, dtype=torch.int32)
    others = {"look_up": [torch.zeros(64, dtype=torch.int32), out], "count": []}
    launch(name, what, *others.get(name, [out]), target=target)


def empty(count: int = 256, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.empty(count, dtype=dtype)


def found(report: Any) -> list[tuple[Any, ...]]:
    return [(finding.kernel, finding.tensor.parameter, finding.tensor.index) for finding in report.findings]


@pytest.mark.parametrize("target", mistakes.TARGETS)
@pytest.mark.parametrize("name", USES)
def test_a_use_is_found(name: str, target: str) -> None:
    """In its line, and nothing else; the tensor and the element are named."""
    with wave_runtime.sanitize() as report:
        what = empty()
        use(name, what, target)
    (finding,) = report.findings
    assert (finding.tool, finding.kind, finding.kernel) == ("uninitialized", "global", name)
    assert finding.at.line.endswith(f"unwritten.hip:{LINES[name]}")
    assert finding.tensor is not None
    assert finding.tensor.variable == "what"
    assert finding.tensor.index == ((63,) if name == "add_by_lds" and finding.at.lane == 0 else (0,))
    assert finding.address == what.data_ptr() + 4 * finding.tensor.index[0]


@pytest.mark.parametrize("target", mistakes.TARGETS)
@pytest.mark.parametrize("name", USES)
def test_what_was_written_is_none(name: str, target: str) -> None:
    with wave_runtime.sanitize(fail=True):
        what = empty()
        launch("copy", torch.zeros(256, dtype=torch.int32), what, target=target, grid=4)
        use(name, what, target)


def test_a_finding_names_the_load() -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        launch("add", empty(64).view(4, 16), torch.zeros(64, dtype=torch.int32))
    (finding,) = report.findings
    assert finding.other is not None
    assert finding.other.instruction.startswith("global_load_dword")
    assert finding.tensor is not None
    assert (finding.tensor.shape, finding.tensor.index) == ((4, 16), (0, 0))
    assert finding.message == (
        "a computed value that is stored depends on memory, 0 bytes from the beginning of argument 0 'in' "
        "(int32 [4, 16]), that nobody has written"
    )


# --- which tensors ---

MAKERS: dict[str, Callable[[], torch.Tensor]] = {
    "empty": empty,
    "empty_like": lambda: torch.empty_like(torch.ones(256, dtype=torch.int32)),
    "empty_strided": lambda: torch.empty_strided((16, 16), (16, 1), dtype=torch.int32),
    "new_empty": lambda: torch.ones(1, dtype=torch.int32).new_empty(256),
    "resize_": lambda: torch.ones(0, dtype=torch.int32).resize_(256),
    "legacy": lambda: torch.IntTensor(256),
    "clone": lambda: empty().clone(),
    "compiled": torch.compile(empty, backend="eager"),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_torch_allocates(maker: str) -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        launch("add", MAKERS[maker](), torch.zeros(64, dtype=torch.int32))
    assert found(report) == [("add", "in", report.findings[0].tensor.index)]


def test_of_another_thread() -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        made: list[torch.Tensor] = []
        thread = threading.Thread(target=lambda: made.append(empty()))
        thread.start()
        thread.join()
        launch("add", made[0], torch.zeros(64, dtype=torch.int32))
    assert len(report.findings) == 1


def test_within_emulate() -> None:
    with wave_runtime.emulate("gfx942"), wave_runtime.sanitize("uninitialized") as report:
        launch("add", torch.empty(64, dtype=torch.int32, device="cuda"), torch.zeros(64, dtype=torch.int32))
    assert len(report.findings) == 1


def test_what_was_there_before_is_defined() -> None:
    what = empty()
    with wave_runtime.sanitize("uninitialized", fail=True):
        use("add", what)
    with wave_runtime.sanitize("uninitialized"):
        what = empty()
    with wave_runtime.sanitize("uninitialized", fail=True):
        use("add", what)


# --- who may write ---


def by_numpy(what: torch.Tensor) -> None:
    what.numpy()[:] = 1


def by_address(what: torch.Tensor) -> None:
    ctypes.memset(what.data_ptr(), 1, what.nbytes)


def by_dlpack(what: torch.Tensor) -> None:
    np.from_dlpack(what.detach())
    torch.from_dlpack(what).fill_(3)


def by_storage(what: torch.Tensor) -> None:
    what.untyped_storage().copy_(torch.ones_like(what).untyped_storage())


def by_unwatched_launch(what: torch.Tensor) -> None:
    with wave_runtime.sanitize("waits"):
        launch("copy", torch.ones(256, dtype=torch.int32), what, grid=4)


WRITERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "fill": lambda what: what.fill_(1),
    "zero": lambda what: what.zero_(),
    "elements": lambda what: [what.__setitem__(i, i) for i in range(256)],
    "out": lambda what: torch.arange(256, dtype=torch.int32, out=what),
    "random": lambda what: what.random_(),
    "view": lambda what: what.view(torch.float32).view(16, 16).t().copy_(torch.rand(16, 16)),
    "inference": torch.inference_mode()(lambda what: what.add_(what, alpha=0).fill_(2)),
    "numpy": by_numpy,
    "address": by_address,
    "dlpack": by_dlpack,
    "storage": by_storage,
    "unwatched": by_unwatched_launch,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_whoever_writes(writer: str) -> None:
    with wave_runtime.sanitize("uninitialized", fail=True):
        what = empty()
        WRITERS[writer](what)
        use("add_four", what)


def test_memory_that_is_allocated_again() -> None:
    """What was undefined there is forgotten, and what is new is undefined."""
    with wave_runtime.sanitize("uninitialized") as report:
        for _ in range(20):
            what = empty()
            launch("fill_every_other", what)
            del what
            use("add_four", torch.ones(256, dtype=torch.int32))
        assert report.findings == []
        use("add", empty())
    assert len(report.findings) == 1


# --- what is followed ---


def test_a_part_that_was_not_written() -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        what = empty(64)
        launch("fill_below", what, 61)
        launch("add", what, torch.zeros(64, dtype=torch.int32))
    assert found(report) == [("add", "in", (61,))]
    assert report.findings[0].count == 3


def test_every_other_element() -> None:
    """Finer than the host's writes are told."""
    with wave_runtime.sanitize("uninitialized") as report:
        what = empty(128)
        launch("fill_every_other", what)
        launch("add_below", what, empty(64), 1)
        assert report.findings == []
        launch("add_below", what, empty(64), 2)
    assert found(report) == [("add_below", "in", (1,))]


def test_the_host_writes_beside() -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        what = empty(128)
        launch("fill_every_other", what)
        what[1:64:2] = 5
        use("add", what[:64])
        assert report.findings == []
        use("add", what[64:])
    assert found(report) == [("add", "in", (1,))]


@pytest.mark.parametrize("how", ["copy", "copy_by_lds"])
@pytest.mark.parametrize("target", mistakes.TARGETS)
def test_a_copy_is_followed(how: str, target: str) -> None:
    """Also into memory that was there before, and through several launches."""
    first, second = torch.zeros(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    with wave_runtime.sanitize() as report:
        launch(how, empty(64), first, target=target)
        launch(how, first, second, target=target)
        assert report.findings == []
        launch("add", second, torch.zeros(64, dtype=torch.int32), target=target)
        assert found(report) == [("add", "in", (0,))]
        second.fill_(1)
        use("add_four", torch.cat([second] * 4), target)
        launch("add", second, torch.zeros(64, dtype=torch.int32), target=target)
    assert len(report.findings) == 1


def test_a_copy_of_bytes() -> None:
    first = torch.zeros(64, dtype=torch.uint8)
    with wave_runtime.sanitize("uninitialized") as report:
        launch("copy_bytes", empty(64, torch.uint8), first)
        launch("add_bytes", first, torch.zeros(64, dtype=torch.uint8))
    assert found(report) == [("add_bytes", "in", (0,))]


def test_lanes_that_discard_it() -> None:
    with wave_runtime.sanitize(fail=True):
        what = empty(64)
        launch("fill_below", what, 10)
        launch("add_below", what, torch.zeros(64, dtype=torch.int32), 10)


def test_one_mistake_is_told_once() -> None:
    """What a launch has made of undefined memory counts as defined behind it; within it every workgroup tells."""
    with wave_runtime.sanitize("uninitialized") as report:
        counts = empty(16)
        launch("count", counts, grid=4)
        assert (len(report.findings), report.findings[0].count) == (1, 256)
        launch("count", counts)
        assert report.findings[0].count == 256


def test_one_element() -> None:
    """A tensor may be smaller than what the contents are told by."""
    out = torch.zeros(64, dtype=torch.int32)
    with wave_runtime.sanitize("uninitialized") as report:
        launch("branch", torch.tensor([3], dtype=torch.int32), out)
        what = empty(1)
        what[0] = 3
        launch("branch", what, out)
        assert report.findings == []
        launch("branch", empty(1), out)
    assert found(report) == [("branch", "in", (0,))]


@pytest.mark.parametrize("size", [65, 66, 67])
def test_last_bytes_may_equal_the_pattern(size: int) -> None:
    """Fewer than four bytes behind the last granule are too few to tell: any byte is the pattern's once in 256."""
    pattern = torch.tensor([0xFFF3FFE6FFA5FFD3 - 2**64]).view(torch.uint8)
    with wave_runtime.sanitize("uninitialized", fail=True):
        what = empty(size, torch.uint8)
        what[:64] = 1
        what[64:] = pattern[: size - 64]
        launch("add_bytes", what[-64:], torch.zeros(64, dtype=torch.uint8))


def test_last_four_bytes_are_told() -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        what = empty(68, torch.uint8)
        what[:64] = 1
        launch("add_bytes", what[-64:], torch.zeros(64, dtype=torch.uint8))
    assert found(report) == [("add_bytes", "in", (60,))]


def test_what_lies_past_the_end_reads_as_zero() -> None:
    """Though it is somebody else's memory that nobody has written."""
    with wave_runtime.sanitize("uninitialized", fail=True):
        around = empty(1024)
        around[:62] = 1
        part = torch.ones(0, dtype=torch.int32).set_(around.untyped_storage()[: 62 * 4])
        assert part.data_ptr() == around.data_ptr()
        with pytest.warns(RuntimeWarning, match="what lies outside reads as zero"):
            launch("add", part, torch.zeros(64, dtype=torch.int32))


def test_memory_behind_pointers() -> None:
    """Of launches that were not given the tensor."""
    with wave_runtime.sanitize("uninitialized") as report:
        good, bad = torch.ones(64, dtype=torch.int32), empty(64)
        tables = torch.tensor([good.data_ptr(), bad.data_ptr()])
        module = wave_runtime.load(PROBES / "unwritten_gfx942.hsaco", signature=SIGNATURES)
        out = torch.zeros(64, dtype=torch.int32)
        module["add_at"]._launch_addresses(tables, out, grid=1, block=64, process_memory=True)
    (finding,) = report.findings
    assert finding.address == bad.data_ptr() + 4


def test_a_stale_pointer() -> None:
    """The memory tool keeps what was freed from being allocated again."""
    module = wave_runtime.load(PROBES / "unwritten_gfx942.hsaco", signature=SIGNATURES)
    out = torch.zeros(64, dtype=torch.int32)

    def run(stale: bool, process_memory: bool) -> Any:
        with wave_runtime.sanitize("memory") as report:
            good, bad = torch.ones(1 << 16, dtype=torch.int32), torch.ones(1 << 16, dtype=torch.int32)
            middle = 1 << 17  # bytes: far from what else there is
            tables = torch.tensor([good.data_ptr() + middle, bad.data_ptr() + middle])
            if stale:
                del bad
            if process_memory:
                module["add_at"]._launch_addresses(tables, out, grid=1, block=64, process_memory=True)
            else:
                others = [good] if stale else [good, bad]
                arguments = tables.data_ptr().to_bytes(8, "little") + out.data_ptr().to_bytes(8, "little")
                module["add_at"].launch_raw(arguments, memory=[tables, out, *others], grid=1, block=64)
        return report.findings

    for process_memory in (True, False):
        assert run(False, process_memory) == []
        (finding,) = run(True, process_memory)
        assert (finding.tool, finding.kind) == ("memory", "use-after-free")
        assert "from a tensor's memory of 262144 bytes, which was freed" in finding.message
        assert finding.count == 32
        assert finding.tensor is None


def test_what_others_write_during_a_launch_is_defined() -> None:
    """In a page that the launch reads: its kernel waits until they have set a flag there."""
    module = wave_runtime.load(
        PROBES / "mistakes_gfx942.hsaco", signature={"flag_never_set": "flag: *i32, out: *i32, is_wrong: i32"}
    )
    out = torch.zeros(128, dtype=torch.int32)
    with wave_runtime.sanitize("uninitialized") as report:
        memory = torch.empty(256, dtype=torch.int32)
        memory[0] = 0
        kernel = module["flag_never_set"]
        waiting = threading.Thread(target=lambda: kernel(memory[:1], out, 1, grid=2, block=64))
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        memory[64:128] = 7
        memory[0] = 1
        waiting.join()
        launch("add", memory[64:128], torch.empty(64, dtype=torch.int32))
        assert report.findings == []
        launch("add", memory[128:192], torch.empty(64, dtype=torch.int32))
    assert len(report.findings) == 1
