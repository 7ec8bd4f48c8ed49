"""`worldgauge study`, `worldgauge replay` and `worldgauge train-nearness` as commands."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from worldgauge.cli.main import replay
from worldgauge.core.errors import UsageError
from worldgauge.core.video import Clip
from worldgauge.suites.worldinworld.navigation.nearness import read
from worldgauge_lab.cli import COMMANDS, train_nearness

APP = typer.Typer()
STUDIES = typer.Typer()
APP.add_typer(STUDIES, name="study")
for _command in COMMANDS:
    if _command.group == "study":
        STUDIES.command(_command.name)(_command.run)
APP.command()(replay)
APP.command()(train_nearness)
SMALL = [
    word for pair in ("view_px=32", "panorama_px=64", "decisions=1", "task=navigation") for word in ("--set", pair)
]


def test_a_study_prints_its_table_and_the_runs_can_be_replayed(episodes: Path, tmp_path: Path) -> None:
    given = ["study", "context", "--data", str(episodes), "--out", str(tmp_path), "--model", "freeze", *SMALL]
    done = CliRunner().invoke(APP, [*given, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["study"] == "context"
    assert [row["label"] for row in told["tables"][0]["rows"]] == ["freeze front", "freeze panorama"]
    assert told["gains"][0]["base"] == "freeze front"
    assert told["correlation"] is None
    assert told["words"]
    page = Path(told["page"])
    assert page == tmp_path / "context.html"
    assert "--model freeze --set view_px=32" in page.read_text()

    film = tmp_path / "film.mp4"
    run = tmp_path / "runs" / "as-set" / "freeze-front"
    done = CliRunner().invoke(APP, ["replay", str(run), "navigation/0000", "--out", str(film)])
    assert done.exit_code == 0, done.output
    assert len(Clip.open(film)) >= 3


def test_what_cannot_be_meant_is_a_known_error(episodes: Path, tmp_path: Path) -> None:
    given = ["--data", str(episodes), "--out", str(tmp_path)]
    assert "Did you mean 'calls'" in CliRunner().invoke(APP, ["study", "call", *given]).output
    with pytest.raises(UsageError, match="--set takes NAME=VALUE"):
        CliRunner().invoke(APP, ["study", "calls", *given, "--set", "view_px"], catch_exceptions=False)


def test_every_study_has_a_command() -> None:
    from worldgauge_lab.closedloop import STUDIES as DEFINED

    assert [one.name for one in COMMANDS if one.group == "study"] == list(DEFINED)


def test_a_network_of_nearness_is_trained_and_told(tmp_path: Path) -> None:
    out = tmp_path / "made" / "nearness.npz"
    made = CliRunner().invoke(APP, ["train-nearness", "--homes", "1", "--out", str(out), "--json"])
    assert made.exit_code == 0, made.output
    facts = json.loads(made.stdout)
    assert facts["trained_on"]["homes"] == facts["validated_on"]["homes"] == 1
    assert read(out.read_bytes(), str(out)).facts["trained_on"] == facts["trained_on"]
