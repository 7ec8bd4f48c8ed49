"""Every command has a heading and an example that it takes; help shows the options of what was chosen."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from worldgauge.cli.main import COLLECT_EXAMPLE, COMMANDS, app
from worldgauge.core.errors import UsageError
from worldgauge.engine.collection import collections
from worldgauge.engine.options import given_fields
from worldgauge.engine.suite.base import suites
from worldgauge.metrics import metrics
from worldgauge.terminal import commands as suite_commands

EXAMPLES = [COLLECT_EXAMPLE, *(one.example for one in (*COMMANDS, *suite_commands.commands()) if one.example)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_taken_by_its_command(example: str) -> None:
    """Names and values of options and arguments are read; nothing is run."""
    words = shlex.split(example)[1:]
    command: Any = typer.main.get_command(app)
    context = None
    while hasattr(command, "get_command"):
        name = words.pop(0)
        context = type(command).context_class(command, info_name=name, parent=context)
        command = command.get_command(context, name)
        assert command is not None
    assert command.make_context(name, list(words), parent=context).params


@pytest.fixture(autouse=True)
def no_metric_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    metrics.names()
    monkeypatch.setattr(metrics, "_entries", dict(metrics._entries))


def help_of(*words: str) -> str:
    return CliRunner().invoke(app, [*words, "--help"], terminal_width=200).output


@pytest.mark.parametrize("name", collections.names())
def test_help_of_a_collection_shows_its_options(name: str) -> None:
    told = help_of("collect", name)
    for one in given_fields(collections.get(name).Options):
        facts = one.metadata["option"]
        assert "--" + (facts.flag or one.name).replace("_", "-") in told
        assert facts.help.split()[0] in told


@pytest.mark.parametrize("name", suites.names())
def test_help_of_run_shows_the_settings_of_the_suite(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    typer.main.get_command(app).main(["run", name, "--help"], standalone_mode=False)
    told = capsys.readouterr().out
    assert "--workers" in told
    assert f"Settings of {name}" in told
    squeezed = "".join(told.split())
    for one in given_fields(suites.get(name).Settings):
        assert one.name in squeezed


def test_what_one_does_first_is_listed_first() -> None:
    told = help_of()
    panels = [told.index(f"─ {panel} ─") for panel in ("Measure", "Models and data", "Publish", "Tools")]
    assert panels == sorted(panels)
    first = re.findall(r"^│ ([a-z-]+) ", told[panels[0] : panels[1]], re.M)
    assert first == ["demo", "collect", "run", "report", "view", "check"]


def test_every_option_of_a_collection_says_what_it_does() -> None:
    for entry in collections:
        for one in given_fields(entry.load().Options):
            assert one.metadata["option"].help, f"{entry.name}: {one.name} has no help"


def test_every_setting_of_a_suite_says_what_it_does() -> None:
    for entry in suites:
        for one in given_fields(entry.load().Settings):
            assert "option" in one.metadata, f"{entry.name}: {one.name} is no option field"
            assert one.metadata["option"].help, f"{entry.name}: {one.name} has no help"


def test_a_metric_of_ones_own_stands_beside_a_suites(tmp_path: Path, walks: Path) -> None:
    metric = tmp_path / "mine.py"
    metric.write_text(
        "from worldgauge.metrics import metrics\n"
        "@metrics.register('bluish', unit='1', better='higher', bounds=(0, 1), version=1, compares='frames')\n"
        "def bluish(truth, rollout):\n"
        "    return 1 - abs(float(truth[..., 2].mean()) - float(rollout[..., 2].mean())) / 255\n"
    )
    given = [
        "run",
        "loopnav",
        "--data",
        str(walks),
        "--model",
        "truth",
        "--model",
        "freeze",
        "--out",
        str(tmp_path / "r"),
    ]
    done = CliRunner().invoke(app, [*given, "--metric", f"{metric}:bluish", "--json"])
    assert done.exit_code == 0, done.output
    (table,) = [one for one in json.loads(done.stdout)["tables"] if one["metric"] == "bluish"]
    means = {row["label"]: row["cells"][0]["mean"] for row in table["rows"]}
    assert means["truth"] == 1.0
    assert 0.5 < means["freeze"] < 1.0
    assert table["rows"][0]["label"] == "truth"
    page = tmp_path / "r.html"
    metric.unlink()
    assert CliRunner().invoke(app, ["report", str(tmp_path / "r"), "--out", str(page)]).exit_code == 0
    assert "bluish" in page.read_text()


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("unit='1', better='higher', bounds=(0, 1), version=1", "does not say what it compares"),
        ("compares='frames', unit='1', better='higher', bounds=(0, 1)", "is registered without version"),
        (None, "registers no metric"),
    ],
)
def test_a_metric_that_does_not_say_what_it_is_is_refused(
    tmp_path: Path, walks: Path, declared: str | None, says: str
) -> None:
    metric = tmp_path / f"mine_{says[-3:]}.py"
    head = "" if declared is None else f"@metrics.register('odd_{says[-3:]}', {declared})\n"
    metric.write_text(f"from worldgauge.metrics import metrics\n{head}def odd_{says[-3:]}(a, b):\n    return 0.0\n")
    given = ["run", "loopnav", "--data", str(walks), "--model", "freeze", "--out", str(tmp_path / "r")]
    with pytest.raises(UsageError, match=says):
        CliRunner().invoke(app, [*given, "--metric", f"{metric}:odd_{says[-3:]}"], catch_exceptions=False)
