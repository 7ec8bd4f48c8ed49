"""What commands print, as text and as CSV, on terminals of any kind."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import Done
from worldgauge.cli.listing import REGISTRIES
from worldgauge.terminal.output import print_csv

SCORES = ["suite", "metric", "column", "model", "kind", "n", "clusters", "mean", "low", "high", "unit", "better"]
SCORES += ["expected", "scored", "skipped", "failed", "set", "set_version", "set_part", "flag"]
ESCAPE = "\x1b"


def rows_of(done: Done) -> list[dict[str, str]]:
    """The rows of stdout, which holds nothing but CSV."""
    reader = csv.DictReader(io.StringIO(done.stdout), strict=True)
    rows = list(reader)
    assert all(None not in row and None not in row.values() for row in rows), done.stdout
    return rows


def test_run_and_score_give_the_cells_of_all_tables_as_csv(cli: Callable[..., Done], data: Path) -> None:
    arguments = ["run", "echo", "--data", data, "--model", "enginedoubles:Steady?level=7"]
    done = cli(*arguments, "--csv")
    assert done.returncode == 0, done.stderr
    rows = rows_of(done)
    assert list(rows[0]) == SCORES
    (tables,) = [json.loads(cli(*arguments, "--json").stdout)["tables"]]
    assert len(rows) == sum(len(table["columns"]) * len(table["rows"]) for table in tables)
    cell = tables[0]["rows"][0]["cells"][0]
    told = [rows[0][name] for name in ("n", "mean", "low", "high")]
    assert told == [str(cell[name]) for name in ("n", "mean", "low", "high")]
    ends = ("expected", "scored", "skipped", "failed")
    assert [[row[end] for end in ends] for row in rows] == [["3", "2", "1", "0"]] * len(rows)
    assert [tables[0]["rows"][0][end] for end in ends] == [3, 2, 1, 0]
    assert (rows[0]["suite"], rows[0]["model"], rows[0]["kind"]) == ("echo", "steady-level-7", "model")
    assert "steady-level-7: 3 expected" in done.stderr
    assert "next: worldgauge report" in done.stderr
    assert cli("score", "runs/echo", "--csv").stdout == done.stdout


def test_labels_and_steps_name_run_folders(cli: Callable[..., Done], data: Path) -> None:
    models = "--model", "enginedoubles:Steady?level=7", "--model", "enginedoubles:Steady?level=9"
    labels = "--label", "ours", "--label", "enginedoubles:Steady?level=9=theirs"
    for step in ("100", "200"):
        done = cli("run", "echo", "--data", data, *models, *labels, "--step", step, "--json")
        names = [f"ours-{step}", f"theirs-{step}"]
        assert list(json.loads(done.stdout)["runs"]) == names, done.stderr
    folders = [data.parent / "runs" / "echo" / f"ours-{step}" for step in (100, 200)]
    facts = [json.loads((folder / "run.json").read_text()) for folder in folders]
    assert [one["step"] for one in facts] == [100, 200]
    assert facts[0]["task_keys"] == facts[1]["task_keys"]  # no answer depends on a step
    wrong = cli("run", "echo", "--data", data, *models, "--label", "a", "--label", "b", "--label", "c")
    assert (wrong.returncode, "3 labels for 2 models" in wrong.stderr) == (2, True)


def test_csv_of_a_run_without_scores_is_its_header(cli: Callable[..., Done], data: Path) -> None:
    done = cli("generate", "echo", "--data", data, "--model", "enginedoubles:Steady", "--csv")
    assert done.stdout == ",".join(SCORES) + "\n"
    assert "next: worldgauge score runs/echo" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [
        (["list", "metrics"], ["name", "summary", "origin"]),
        (["list", "weights"], ["name", "needed by", "size", "licence", "state", "folder"]),
        (["check-model", "--model", "freeze"], ["check", "verdict", "question", "measured"]),
    ],
)
def test_other_tables_as_csv(arguments: list[str], columns: list[str], cli: Callable[..., Done]) -> None:
    rows = rows_of(cli(*arguments, "--csv"))
    assert len(rows) > 3
    assert list(rows[0]) == columns


def test_a_check_gives_its_table_as_csv_and_in_json(cli: Callable[..., Done], walks: Path) -> None:
    table = json.loads(cli("check", "loopnav", "--data", walks, "--json").stdout)["table"]
    done = cli("check", "loopnav", "--data", walks, "--csv")
    assert list(csv.reader(io.StringIO(done.stdout))) == [
        [name.replace("\n", " ") for name in table["columns"]],
        *table["rows"],
    ]
    assert "usable" in done.stderr


@pytest.mark.parametrize(
    ("more", "said"), [(["--json"], "--json and --csv: give one"), (["--dry-run"], "--dry-run has no tables")]
)
def test_csv_alone(more: list[str], said: str, cli: Callable[..., Done], data: Path) -> None:
    done = cli("run", "echo", "--data", data, "--model", "enginedoubles:Steady", "--csv", *more)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


KINDS = ["suites", "collections", "models", "agents", "critics", "metrics", "worlds", "estimators", "decoders"]
KINDS += ["adapters", "weights", "commands", "data"]


@pytest.mark.parametrize("words", [["list", kind] for kind in KINDS])
def test_lists_fit_80_columns_with_every_word_whole(words: list[str], cli: Callable[..., Done]) -> None:
    lines = cli(*words, columns=80).stdout.splitlines()
    assert max(len(line) for line in lines if "worldgauge " not in line) <= 80
    told = set(" ".join(lines).split())
    for listed in json.loads(cli(*words, "--json").stdout).values():
        for one in listed if isinstance(listed, list) and words[1] in REGISTRIES else ():
            assert [word for word in (one["name"], *one["summary"].split(), one["origin"]) if word not in told] == []


@pytest.mark.parametrize("verbose", ["-v", "--verbose"])
def test_verbose_brings_back_a_line_a_task(verbose: str, cli: Callable[..., Done], data: Path) -> None:
    done = cli("run", "echo", "--data", data, "--model", "enginedoubles:Steady", verbose)
    assert len(re.findall(r"^\[[23]/3\] steady (even/0|odd/1) done$", done.stderr, re.MULTILINE)) == 2
    assert "tasks, " not in done.stderr


PLACES = [
    {"COLUMNS": "40"},
    {"COLUMNS": "40", "TERM": "dumb"},
    {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "xterm-256color"},
    {"COLUMNS": "12"},
    {},
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_run_is_told_in_any_place(place: dict[str, str], data: Path, alone: Callable[..., Done]) -> None:
    arguments = ["--model", "enginedoubles:Steady?level=7", "--model", "enginedoubles:Faulty?how=raise&on=1"]
    done = alone("run", "echo", "--data", data, *arguments, **place)
    assert done.returncode == 1, done.stderr
    for whole in ("steady-level-7", "faulty-raise-how-raise-on-1", "[7.00, 7.00]", "n=2"):
        assert whole in done.stdout
    assert "failed: model 'faulty-raise' raised ValueError at frame 2: no such latent" in done.stderr
    for text in (done.stdout, done.stderr):
        assert ESCAPE not in text
        assert "…" not in text


@pytest.mark.parametrize("place", PLACES[:2], ids=str)
def test_help_is_whole_on_a_narrow_terminal(place: dict[str, str], alone: Callable[..., Done]) -> None:
    done = alone("run", "mind", "--help", **place)
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    for option in ("--gpus-per-worker", "--retry-failed", "--dry-run", "--verbose", "--csv"):
        assert option in done.stdout


def test_no_cell_is_a_formula_of_a_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    cells = ["=HYPERLINK(1)", "+cmd|' /C calc'!A0", "-1+2", "@SUM(A1)", "\t=1", "-0.5", -0.5, "+inf", None, "a=b", "-"]
    print_csv(["a"], [[cell] for cell in cells])
    told = [row[0] for row in csv.reader(io.StringIO(capsys.readouterr().out))][1:]
    assert told[:5] == [f"'{cell}" for cell in cells[:5]]
    assert told[5:] == ["-0.5", "-0.5", "+inf", "", "a=b", "-"]
