"""`worldgauge adapters`: single files handed out, never over another file."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import worldgauge_serve
from support.commands import command
from worldgauge.cli import models as cli_models
from worldgauge.core.errors import UnknownNameError, UsageError


def test_every_adapter_stands_alone_and_says_what_it_is() -> None:
    models = {"oasis", "mineworld", "diamond", "nwm", "lingbot", "worldmem", "worldplay", "sana_wm", "image_to_video"}
    assert models | {"vggt", "spatracker", "vipe", "diffuser_actor"} <= set(cli_models.known_adapters())
    for name, summary in cli_models.known_adapters().items():
        assert summary.endswith("."), name
        lines = cli_models.adapter_files()[name].read_text().split("\n")
        imports = [line for line in lines if line.startswith("from world")]
        assert all(line.startswith("from worldgauge_serve import") for line in imports), imports


ALONE = (
    *("nwm", "lingbot", "worldmem", "worldplay", "sana_wm", "vggt", "spatracker", "vipe", "diffuser_actor"),
    *("se3ds", "pathdreamer"),
)


def test_the_copies_run_without_the_package(tmp_path: Path) -> None:
    for name in ALONE:
        _, server = cli_models.hand_out(name, tmp_path)
        assert server.read_bytes() == Path(worldgauge_serve.__file__).read_bytes()
    code = f"import sys, {', '.join(ALONE)}; print('worldgauge' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "False", done.stderr


def test_a_changed_file_is_not_overwritten(tmp_path: Path) -> None:
    cli_models.hand_out("oasis", tmp_path)
    cli_models.hand_out("oasis", tmp_path)
    (tmp_path / "oasis.py").write_text("mine")
    with pytest.raises(UsageError, match="differs; remove it"):
        cli_models.hand_out("oasis", tmp_path)
    assert (tmp_path / "oasis.py").read_text() == "mine"


def test_unknown_names_suggest_and_the_command_lists(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'oasis'"):
        cli_models.hand_out("oasys", tmp_path)
    told = json.loads(command(tmp_path, "list", "adapters", "--json").stdout)
    assert told["adapters"] == cli_models.known_adapters()
    rows = command(tmp_path, "list", "adapters", "--csv").stdout
    assert dict(list(csv.reader(io.StringIO(rows)))[1:]) == cli_models.known_adapters()
