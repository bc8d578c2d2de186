"""The campaign over AITER's kernels, on folders that look like a checkout and have one of our own code objects."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import campaign
import launches
import pytest
import torch
from support import EXAMPLES, load_tool


def test_coverage_is_counted_by_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "hsa/gfx942/examples"
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLES / "binaries/basics.hsaco", folder / "basics.co")
    assert campaign.main([str(tmp_path)]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "| examples |" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["gfx942", "examples", "1", "1"]
    assert int(cells[4].replace(",", "")) > 100


def test_counts_are_written_for_the_figures(tmp_path: Path) -> None:
    folder = tmp_path / "hsa/gfx950/examples"
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLES / "binaries/basics.hsaco", folder / "basics.co")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "a checkout"], check=True)
    file = tmp_path / "aiter.json"
    assert campaign.main([str(tmp_path), "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    assert found["folders"]["gfx950/examples"]["files"] == 1
    expected = ": for gfx950 the emulator runs every instruction of 1 of the 1 code objects, "
    assert expected in load_tool("generate_figures").aiter(found)


def test_a_launch_that_fails_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder's list names a kernel that its code object has not."""
    folder = tmp_path / "hsa/gfx942/i8gemm"
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLES / "binaries/basics.hsaco", folder / "basics.co")
    (folder / "i8gemm.csv").write_text("tile_m,tile_n,bpreshuffle,knl_name,co_name\n16,128,1,absent,basics.co\n")
    assert campaign.main([str(tmp_path), "--launches"]) == 1
    assert "gfx942/i8gemm: basics.co: " in capsys.readouterr().out


def test_a_folder_without_code_objects_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        campaign.main([str(tmp_path)])
    assert "has no code objects for gfx942 or gfx950" in capsys.readouterr().err


def test_tiles_of_16_rows_and_16_bytes() -> None:
    matrix = torch.arange(32 * 32, dtype=torch.int32).to(torch.int16).view(torch.bfloat16).view(32, 32)
    tiles = launches.shuffled(matrix, "1").view(torch.int16).flatten()
    assert tiles[:16].tolist() == [*range(8), *range(32, 40)]  # 16 bytes of each of 16 rows
    assert tiles[16 * 8] == 8  # then the next 16 bytes of the same rows
    assert launches.shuffled(matrix, "0") is matrix
