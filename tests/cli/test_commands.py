"""Every command has a heading and an example that it takes; help shows the options of what was chosen."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from support.commands import Done, command
from worldgauge.cli import show
from worldgauge.cli.main import COLLECT_EXAMPLE, FIRST_PAGE, app
from worldgauge.cli.renamed import COMMANDS, OPTIONS, with_new_names
from worldgauge.core.agent import agents
from worldgauge.core.errors import UsageError
from worldgauge.engine.collection import collections
from worldgauge.engine.options import given_fields
from worldgauge.engine.suite.base import suites
from worldgauge.metrics import metrics
from worldgauge.models import models

OF_NEIGHBOURS = ("worldgauge_train", "worldgauge_lab")


def leaves(group: Any, path: tuple[str, ...] = (), parent: Any = None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that is no group, with the words that name it."""
    context = type(group).context_class(group, info_name="worldgauge", parent=parent)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from leaves(command, (*path, name), context)
        else:
            yield (*path, name), command


def parsed(line: str) -> dict[str, Any]:
    """The values of a command line, as the command would get them; nothing is run."""
    program, *words = shlex.split(line)
    assert program == "worldgauge"
    found: Any = typer.main.get_command(app)
    context = None
    while hasattr(found, "get_command"):
        name = words.pop(0)
        context = type(found).context_class(found, info_name=name, parent=context)
        found = found.get_command(context, name)
        assert found is not None
    return dict(found.make_context(name, list(words), parent=context).params)


def test_an_unknown_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        parsed("worldgauge run loopnav --data data --modle freeze")


RUNNABLE = [entry.name for entry in collections if collections.get(entry.name).first_model]
LEAVES = list(leaves(typer.main.get_command(app)))
EXAMPLES = [COLLECT_EXAMPLE, *(c.epilog.removeprefix("Example: ") for _, c in LEAVES if c.epilog)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_taken_by_its_command(example: str) -> None:
    assert parsed(example)


def test_commands_are_few_and_the_first_page_is_short() -> None:
    core = [words for words, command in LEAVES if not command.callback.__module__.startswith(OF_NEIGHBOURS)]
    assert len(core) <= 43  # 40, `evaluate`, `collect unseen` and `check-world`
    group: Any = typer.main.get_command(app)
    page = [name for name, command in group.commands.items() if not command.hidden]
    assert set(page) == FIRST_PAGE
    assert len(page) <= 12


@pytest.mark.parametrize(
    ("words", "package"),
    [("train", "worldgauge-train"), ("study memory", "worldgauge-lab"), ("minecraft parity", "worldgauge-lab")],
)
@pytest.mark.parametrize("program", ["worldgauge", "python -m worldgauge"])
def test_a_command_of_a_missing_package_names_it(words: str, package: str, program: str) -> None:
    root: Any = typer.main.get_command(app)
    for group in (root, root.commands["minecraft"]):
        for name in words.split():
            if name != "minecraft":
                group.commands.pop(name, None)
    with pytest.raises(UsageError, match=f"comes with the package {package}; install it: pip install {package}"):
        root.main(words.split(), prog_name=program, standalone_mode=False)


def test_all_commands_are_listed_with_what_they_do(tmp_path: Path) -> None:
    assert "All commands: worldgauge list commands" in help_of()
    listed = json.loads(command(tmp_path, "list", "commands", "--json").stdout)["commands"]
    assert [one["name"] for one in listed] == [" ".join(words) for words, _ in LEAVES]
    assert all(one["summary"] for one in listed)


@pytest.mark.parametrize("old", COMMANDS)
def test_an_old_command_names_and_is_the_new_one(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, new = old.split(), COMMANDS[old].split()
    more = {"adapters": ["--json"], "weights adopt": ["--json", "x"]}.get(old, ["--help"])
    renamed = with_new_names([*words, *more])
    assert renamed == [*new, *(reversed(more) if old == "weights adopt" else more)]
    assert capsys.readouterr().err == f"note: 'worldgauge {old}' is now 'worldgauge {COMMANDS[old]}'\n"
    before, after = (command(tmp_path, *line, *more[::-1]) for line in (words, new))
    assert (before.returncode, before.stdout) == (after.returncode, after.stdout)
    assert before.stderr.endswith(after.stderr)


def test_old_options_work_with_a_line_that_names_the_new_ones(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["verify", "--root=x--root", "--references", "--data", "references"]
    assert with_new_names(line) == ["verify", "--content-hash=x--root", "--baselines", "--data", "references"]
    assert capsys.readouterr().err == (
        "note: '--root' is now '--content-hash'\nnote: '--references' is now '--baselines'\n"
    )
    assert with_new_names(["adapters", "oasis"]) == ["adapters", "oasis"]
    known = {option for _, one in LEAVES for each in one.params for option in (*each.opts, *each.secondary_opts)}
    assert set(OPTIONS.values()) <= known
    assert not set(OPTIONS) & known


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
    panels = [told.index(f"\n{panel}:\n") for panel in ("Measure", "Models and data", "Publish", "Tools")]
    assert panels == sorted(panels)
    first = re.findall(r"^  ([a-z-]+)  ", told[panels[0] : panels[1]], re.M)
    assert first == ["demo", "collect", "evaluate", "run", "report", "view"]


def test_every_option_of_a_collection_and_setting_of_a_suite_says_what_it_does() -> None:
    options = {entry.name: entry.load().Options for entry in collections}
    for name, declared in (*options.items(), *((entry.name, entry.load().Settings) for entry in suites)):
        for one in given_fields(declared):
            assert "option" in one.metadata, f"{name}: {one.name} is no option field"
            assert one.metadata["option"].help, f"{name}: {one.name} has no help"


def test_a_metric_of_ones_own_stands_beside_a_suites(tmp_path: Path, walks: Path) -> None:
    metric = tmp_path / "mine.py"
    metric.write_text(
        "from worldgauge.metrics import metrics\n"
        "@metrics.register('bluish', unit='1', better='higher', bounds=(0, 1), version=1, compares='frames')\n"
        "def bluish(truth, rollout):\n"
        "    return 1 - abs(float(truth[..., 2].mean()) - float(rollout[..., 2].mean())) / 255\n"
    )
    given = ["run", "loopnav", "--data", str(walks), "--out", str(tmp_path / "r")]
    given += ["--model", "truth", "--model", "freeze", "--no-baselines"]
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
def test_a_metric_without_metadata_is_refused(tmp_path: Path, walks: Path, declared: str | None, says: str) -> None:
    metric = tmp_path / f"mine_{says[-3:]}.py"
    head = "" if declared is None else f"@metrics.register('odd_{says[-3:]}', {declared})\n"
    metric.write_text(f"from worldgauge.metrics import metrics\n{head}def odd_{says[-3:]}(a, b):\n    return 0.0\n")
    given = ["run", "loopnav", "--data", str(walks), "--model", "freeze", "--out", str(tmp_path / "r")]
    with pytest.raises(UsageError, match=says):
        CliRunner().invoke(app, [*given, "--metric", f"{metric}:odd_{says[-3:]}"], catch_exceptions=False)


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
    asks_agents = suites.get(name).answerer_kind == "agent"
    named, other = (found["agent"], found["model"]) if asks_agents else (found["model"], found["agent"])
    assert not other, "a suite takes one kind of model"
    for one in named:
        (agents if asks_agents else models).get(one)


SMALL = {
    "loopnav": ["--settlements", "2", "--ranges", "5", "--per-combination", "1", "--size", "48x27"],
    "mineanybuild": ["--structures", "3", "--stimuli", "1", "--commonsense", "2", "--size", "64"],
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
