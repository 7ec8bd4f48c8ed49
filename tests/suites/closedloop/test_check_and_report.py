"""`worldgauge collect closedloop` and `check closedloop` as people use them."""

import json
from pathlib import Path

from support.commands import Done, command

COLLECT = ["collect", "closedloop", "--out", "d", "--recognition", "2", "--navigation", "2", "--questions", "1"]
COLLECT += ["--manipulation", "2"]
SMALL = [*COLLECT, "--scenes", "2", "--split", "train", "--seed", "7", "--size", "64x36"]


def cli(folder: Path, *arguments: str) -> Done:
    return command(folder, *arguments, columns=120)


def test_collect_then_check(tmp_path: Path) -> None:
    assert cli(tmp_path, "collect", "closedloop", "--out", "d", "--dry-run").stdout == (
        "episodes: 1079 expected, 0 already done; in d\n"
        "Power: 320 clusters can order 50 or more models that differ by 2 standard deviations.\n"
    )
    done = cli(tmp_path, *SMALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("d: episodes: 7, frames: 2\n")
    assert "next: worldgauge run closedloop --data d" in done.stdout
    assert "[7/7] " in done.stderr
    planned = json.loads(cli(tmp_path, *SMALL, "--dry-run", "--json").stdout)
    assert (planned["expected"], planned["done_already"]) == (7, 7)
    assert planned["settings"]["split"] == "train"
    again = json.loads(cli(tmp_path, *SMALL, "--json").stdout)
    assert (again["ok"], again["items"]) == (True, 7)

    checked = cli(tmp_path, "check", "closedloop", "--data", "d", "--decode")
    assert checked.returncode == 0, checked.stdout
    # The table comes first; sentences below it may break at the same words.
    lines = [words for words in map(str.split, checked.stdout.splitlines()) if words]
    rows = {words[0]: words[1:] for words in reversed(lines)}
    assert rows["recognition"][:5] == ["2", "551", "2", "2", "2"]
    assert rows["navigation"][:5] == ["2", "144", "2", "2", "2"]
    assert rows["questions"][:5] == ["1", "184", "1", "1", "1"]
    assert rows["manipulation"][:5] == ["2", "200", "2", "2", "2"]
    assert "by difficulty: " in checked.stdout
    assert checked.stdout.splitlines()[-1] == "d: episodes: 7 of 7 valid; frames: 2; usable"
    told = json.loads(cli(tmp_path, "check", "closedloop", "--data", "d", "--json").stdout)
    assert (told["ok"], told["n_episodes"], len(told["rows"])) == (True, 7, 4)


def test_an_option_out_of_range_is_one_line(tmp_path: Path) -> None:
    for change, said in (
        (["--split", "tets"], "closedloop option 'split' must be one of train, val, test, got 'tets'"),
        (["--size", "64"], "--size takes whole numbers"),
        (["--scenes", "0"], "closedloop option 'scenes' must be a whole number from 1 to 1000, or names, got 0"),
    ):
        done = cli(tmp_path, *COLLECT, *change)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
