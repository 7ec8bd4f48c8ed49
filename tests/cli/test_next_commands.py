"""What stands after "next:" works as it is pasted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from support.commands import Done, command
from worldgauge.cli import show
from worldgauge.cli.main import app
from worldgauge.core.agent import agents
from worldgauge.engine.collection import collections
from worldgauge.engine.suite.base import suites
from worldgauge.models import models

RUNNABLE = [entry.name for entry in collections if collections.get(entry.name).first_subject]


def parsed(line: str) -> dict[str, Any]:
    """The values of a command line, as the command would get them."""
    program, *words = shlex.split(line)
    assert program == "worldgauge"
    group: Any = typer.main.get_command(app)
    context = group.make_context("worldgauge", words, resilient_parsing=True)
    name, found, rest = group.resolve_command(context, words)
    return dict(found.make_context(name, rest, parent=context).params)


def next_of(done: Done) -> str:
    """The command that an output ends with."""
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("next: ")]
    return line.removeprefix("next: ")


@pytest.mark.parametrize("name", RUNNABLE)
def test_the_first_run_of_a_collection_is_one_the_command_line_reads(name: str) -> None:
    found = parsed(show.first_run(collections.get(name), Path("my data")))
    # Whether a path is one already depends on the version of typer; the command gets one in any case.
    assert (found["suite"], Path(found["data"]), Path(found["out"])) == (name, Path("my data"), Path("runs/first"))
    asks_agents = suites.get(name).subject_kind == "agent"
    named, other = (found["agent"], found["model"]) if asks_agents else (found["model"], found["agent"])
    assert not other, "a suite takes one kind of subject"
    for one in named:
        (agents if asks_agents else models).get(one)


def test_an_unknown_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        parsed("worldgauge run loopnav --data data --modle freeze")


SMALL = {
    "loopnav": ["--settlements", "2", "--ranges", "5", "--per-combination", "1", "--size", "48x27"],
    "build": ["--structures", "3", "--stimuli", "1", "--commonsense", "2", "--size", "64"],
}


@pytest.mark.parametrize("name", SMALL)
def test_from_collecting_to_a_page_by_pasting(name: str, tmp_path: Path) -> None:
    line = next_of(command(tmp_path, "collect", name, "--out", "my data", *SMALL[name]))
    for expected in ("run", "report"):
        assert shlex.split(line)[1] == expected
        done = command(tmp_path, *shlex.split(line)[1:])
        if expected == "run":
            line = next_of(done)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "first" / "report.html").exists()
