"""The three commands at the top of the page on training run as they stand there, in small."""

import re
import shlex
from pathlib import Path

import pytest

from support.commands import command
from support.places import DOCS
from worldgauge.core.io import read_json_object

pytest.importorskip("torch")

PAGE = DOCS / "howto" / "train.md"
SMALLER = {
    "--train 64": "--train 2",
    "--mem 8": "--mem 1",
    "--frames 216": "--frames 48",
    "--size 256x144": "--size 64x36",
}
FASTER = {
    "train": '--set "size=[16, 8]" --set "channels=[8]" --set batch=2 --steps 2 --validate none --cache cache',
    "run": "--limit 1 --workers 1",
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_first_commands_of_the_page_run(tmp_path: Path) -> None:
    block = re.search(r"(?:^worldgauge .*\n)+", PAGE.read_text("utf-8"), re.MULTILINE)
    assert block is not None
    lines = [line.strip().removeprefix("worldgauge ") for line in block[0].splitlines()]
    assert [line.split()[0] for line in lines] == ["collect", "train", "run"]
    for line in lines:
        for large, small in SMALLER.items():
            line = line.replace(large, small)
        line = line.replace("--baselines", "--no-baselines")  # a row each, and minutes
        done = command(tmp_path, *shlex.split(f"{line} {FASTER.get(line.split()[0], '')}"))
        assert done.returncode == 0, f"{line}: {done.stderr}"
    assert read_json_object(tmp_path / "checkpoints" / "tiny" / "config.json")["steps_done"] == 2
    assert len(list((tmp_path / "runs" / "tiny").rglob("run.json"))) == 1
