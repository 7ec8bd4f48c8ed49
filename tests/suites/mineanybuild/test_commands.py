"""The build suite from the command line, as people use it: collect, check, run, vote, report, structure, curate."""

import json
from pathlib import Path

import pytest

from support.commands import Done, command
from worldgauge.suites.mineanybuild.generate.structures import structures
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import read_structure, write_nbt, write_schem
from worldgauge.worlds.blocks.table import complete

COLLECT = "collect mineanybuild --out d --structures 2 --stimuli 0 --commonsense 1 --size 64"


def cli(folder: Path, *arguments: str) -> Done:
    return command(folder, *arguments, columns=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set d, and runs of three agents in runs."""
    root = tmp_path_factory.mktemp("cli_build")
    done = cli(root, *COLLECT.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("d: structures, figures and rooms: 3, pictures: 4\n")
    assert "next: worldgauge run mineanybuild --data d --agent reader --out runs/first" in done.stdout
    agents = ["--agent", "truth", "--agent", "solid-box", "--agent", "empty", "--no-baselines"]
    done = cli(root, "run", "mineanybuild", "--data", "d", *agents, "--out", "runs", "--json")
    assert done.returncode == 0, done.stderr
    return root


def test_a_dry_run_counts_and_writes_nothing(folder: Path, tmp_path: Path) -> None:
    assert cli(folder, *COLLECT.split(), "--dry-run").stdout == (
        "structures, figures and rooms: 3 expected, 3 already done; in d\n"
        "Power: 3 clusters cannot order models. A test needs 6.\n"
    )
    planned = cli(tmp_path, "collect", "mineanybuild", "--out", "d", "--dry-run", "--json")
    assert json.loads(planned.stdout)["expected"] == 66 + 48 + 50
    assert not list(tmp_path.iterdir())


def test_the_data_are_checked(folder: Path) -> None:
    done = cli(folder, "check", "mineanybuild", "--data", "d", "--decode")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith("d: tasks: 13 of 13 valid")


def test_a_run_is_reported_and_resumed(folder: Path) -> None:
    words = ["run", "mineanybuild", "--data", "d", "--out", "runs", "--no-baselines"]
    again = cli(folder, *words, "--agent", "truth", "--json", "-v")
    assert json.loads(again.stdout)["counts"]["scored"] == 13
    assert " done" not in again.stderr, "nothing is asked again"
    done = cli(folder, "report", "runs", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text()
    assert "Claude-3.7-Sonnet" in page
    assert "data-turn" in page
    noted = cli(folder, *words, "--agent", "empty")
    assert "note: " in noted.stderr
    assert "Task_Spatial_Reasoning.json" in noted.stderr


def test_a_vote_is_held(folder: Path) -> None:
    done = cli(folder, "mineanybuild", "vote", "runs", "--out", "votes.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["label"]: row["cells"] for row in json.loads(done.stdout)["table"]["rows"]}
    assert rows["truth"][2]["mean"] > rows["solid-box"][2]["mean"]
    assert rows["empty"][0]["mean"] == 0.0
    header, *ballots = [json.loads(line) for line in (folder / "votes.jsonl").read_text().splitlines()]
    assert (header["rounds"], header["settings"]["critic_digest"]) == (3, "rules@2")
    assert len(ballots) == 6
    assert ballots[0]["absent"] == ["empty"]
    page = cli(folder, "report", "runs", "--votes", "votes.jsonl", "--out", "voted.html", "--videos", "0")
    assert page.returncode == 0, page.stderr
    assert "Creativity with votes" in (folder / "voted.html").read_text()
    less = cli(folder, "report", "runs/truth", "--votes", "votes.jsonl", "--out", "less.html")
    assert "holds votes on empty, solid-box, not among the runs" in less.stderr
    assert "cannot be read as votes" in cli(folder, "report", "runs", "--votes", "voted.html").stderr
    one = cli(folder, "mineanybuild", "vote", "runs/truth")
    assert one.returncode == 2
    assert "no two of these runs share a task of creativity" in one.stderr


def test_scores_are_made_again_with_other_weights(folder: Path, tmp_path: Path) -> None:
    done = cli(folder, "score", "runs", "--set", "weights=released", "--json")
    assert done.returncode == 0, done.stderr
    kept = ["--set", "chat_recording=kept", "--set", "chat_prices=1,2", "--set", "chat_budget=1"]
    capped = cli(folder, "score", "runs", "--set", "weights=released", *kept, "--json")
    assert capped.returncode == 0, "how a critic is reached, and its cap, are no questions to the agent"
    done = cli(folder, "score", "runs", "--set", "most=8x8x8")
    assert done.returncode == 2
    assert "changes what is asked" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "run mineanybuild --data d --model truth",
            "mineanybuild evaluates agents: name them with --agent, not --model",
        ),
        ("run loopnav --data d --agent truth", "loopnav evaluates models: name them with --model"),
        ("run mineanybuild --data d", "name an agent with --agent"),
        ("run mineanybuild --data d --agent raeder", "Did you mean 'reader'?"),
        ("run mineanybuild --data d --agent chat", "model"),
        ("run mineanybuild --data d --agent reader --set critic=rulse", "Did you mean 'rules'?"),
        ("run mineanybuild --data nowhere --agent reader", "nowhere"),
        ("collect mineanybuild --out e --views sideways", "must be one of yaw, full, got 'sideways'"),
        ("collect mineanybuild --out d --structures 1 --stimuli 0", "collect into another folder"),
        ("mineanybuild structure d", "d"),
        ("mineanybuild curate nowhere --out e", "nowhere"),
        ("mineanybuild curate . --out e --waive few_block", "Did you mean 'few_blocks'?"),
        ("mineanybuild curate . --out e --recording r", "--recording goes with --chat"),
        ("mineanybuild vote nowhere", "nowhere"),
    ],
)
def test_a_wrong_option_is_one_line(folder: Path, arguments: str, said: str) -> None:
    done = cli(folder, *arguments.split())
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_structure_is_looked_at_and_written_again(tmp_path: Path) -> None:
    made = next(structures(5))
    write_schem(tmp_path / "hut.schem", made.blueprint)
    told = json.loads(cli(tmp_path, "mineanybuild", "structure", "hut.schem", "--out", "hut.nbt", "--json").stdout)
    assert (told["format"], told["blocks"]) == ("schem", made.blueprint.blocks)
    full = Blueprint(made.blueprint.cells, tuple(map(complete, made.blueprint.materials)))
    assert read_structure(tmp_path / "hut.nbt").blueprint == full, "a schematic has all states"
    shown = cli(tmp_path, "mineanybuild", "structure", "hut.nbt", "--out", "hut.png")
    assert f"{made.blueprint.blocks} blocks" in shown.stdout
    assert (tmp_path / "hut.png").read_bytes().startswith(b"\x89PNG")
    odd = cli(tmp_path, "mineanybuild", "structure", "hut.nbt", "--out", "hut.obj")
    assert odd.returncode == 2
    assert ".nbt, .schem, .png" in odd.stderr
    (tmp_path / "bad.nbt").write_bytes(b"\x1f\x8bgarbage")
    bad = cli(tmp_path, "mineanybuild", "structure", "bad.nbt")
    assert bad.returncode == 2
    assert "bad.nbt" in bad.stderr


def test_a_folder_of_files_becomes_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for number, made in enumerate(structures(5, 2)):
        write_nbt(tmp_path / "files" / f"build_{number}.nbt", made.blueprint)
    write_nbt(tmp_path / "files" / "copy.nbt", next(structures(5)).blueprint)
    write_nbt(tmp_path / "files" / "tiny.nbt", Blueprint.of([[[1]]], ["stone"]))
    done = cli(tmp_path, "mineanybuild", "curate", "files", "--out", "mine", "--size", "64")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mine: 2 structures accepted, 12 tasks\n")
    assert "duplicate copy: of build_0" in done.stdout
    assert "rejected tiny" in done.stdout
    checked = cli(tmp_path, "check", "mineanybuild", "--data", "mine", "--json")
    assert json.loads(checked.stdout)["n_valid"] == 12


def test_what_there_is_is_listed(tmp_path: Path) -> None:
    listed = json.loads(cli(tmp_path, "list", "agents", "--json").stdout)["agents"]
    assert {"truth", "random", "reader", "chat"} <= {one["name"] for one in listed}
    assert "rules" in cli(tmp_path, "list", "critics").stdout
