"""A run of a named set says so, and a bundle that claims another set or a larger part is found."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from support import glow
from worldgauge.core.errors import UsageError
from worldgauge.engine import sets
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.result import RunResult
from worldgauge.engine.sets import NamedSet, SetPart, digits_of
from worldgauge.engine.store import RunFolder
from worldgauge.tools.bundle import write_bundles
from worldgauge.tools.export import export
from worldgauge.tools.verify import verify

verifying = sys.modules["worldgauge.tools.verify"]


@pytest.fixture
def run(glow_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of all tasks of a set that is made of the same data."""
    suite = open_suite(glow.Glow.name, {})
    tasks = {task.id: digits_of(task.fingerprint) for task in list_tasks(suite, glow_data, None)}
    toy = NamedSet("worldgauge-toy", 3, "A toy", (SetPart(suite.name, {}, {"a": "0" * 64}, tasks),))
    monkeypatch.setattr(sets, "named_sets", lambda: {toy.name: toy})
    glow.make_run(tmp_path / "runs", glow.Glowing("glowing", 4), glow_data)
    return tmp_path / "runs" / "glowing"


def check_of(run: Path, out: Path) -> tuple[str, str]:
    (made,) = write_bundles([run], out)
    return next((one.status, one.told) for one in verify(made.path).checks if one.name == "set")


def change(run: Path, **fields: Any) -> None:
    facts = json.loads((run / "run.json").read_text())
    facts["set"] |= fields
    (run / "run.json").write_text(json.dumps(facts))


def test_a_run_and_its_tables_say_which_set_they_are_of(run: Path, tmp_path: Path) -> None:
    facts = json.loads((run / "run.json").read_text())
    count = facts["tasks"]
    assert facts["set"] == {"name": "worldgauge-toy", "version": 3, "tasks": count, "of": count}
    table = RunResult([RunFolder(run)], open_suite(glow.Glow.name, {})).table()[0]
    assert f"Data: worldgauge-toy, version 3, all {count} tasks." in table.notes
    assert check_of(run, tmp_path / "bundles") == ("ok", f"worldgauge-toy, version 3, all {count} tasks")


def test_rows_of_scores_say_which_set_they_are_of(run: Path, tmp_path: Path) -> None:
    files = [*export([run], tmp_path, "csv"), *export([run], tmp_path, "parquet")]
    count = json.loads((run / "run.json").read_text())["tasks"]
    for path in files:
        if path.name == "pairs.csv":  # one run has none
            continue
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=str)
        told = table[["set", "set_version", "set_part"]].drop_duplicates().to_numpy().tolist()
        assert told == [["worldgauge-toy", "3", f"all {count} tasks"]], path.name
    change(run, of=1000)
    rows = pd.read_csv(export([run], tmp_path, "csv")[1])
    assert set(rows["set_part"]) == {f"{count} of 1000 tasks"}


def test_what_is_of_no_named_set_says_so(glow_runs: Path, tmp_path: Path) -> None:
    for path in (*export([glow_runs], tmp_path, "csv"), *export([glow_runs], tmp_path, "parquet")):
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        assert table[["set", "set_version", "set_part"]].isna().all(axis=None), path.name
    (made,) = write_bundles([glow_runs / "glowing"], tmp_path)
    with pytest.raises(UsageError, match=r"give its folder with --data$"):
        verify(made.path, rescore=2)


def test_the_data_of_a_benchmark_set_are_found_by_its_name(
    run: Path, glow_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "named_sets", sets.named_sets)
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))
    (made,) = write_bundles([run], tmp_path / "bundles")
    assert not verify(made.path).rescored  # nobody asked for it
    place = tmp_path / "sets/worldgauge-toy-3/glow"
    shutil.copytree(glow_data, place)
    (place / "a").touch()
    for data in (None, Path("toy"), Path("worldgauge-toy")):
        found = verify(made.path, rescore=2, data=data)
        assert len(found.rescored) == 2
        assert found.ok
    count = len(list(open_suite(glow.Glow.name, {}).tasks(glow_data)))
    assert {one.verdict for one in found.numbers} == {f"2 of {count} tasks reproduced", "no value"}
    (place / "tasks.json").write_text('{"n": 5}')  # another data set at that place is none of it
    assert next(one.status for one in verify(made.path, rescore=2).checks if one.name == "data") == "violated"


def test_tasks_of_other_data_are_found(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (toy,) = sets.named_sets().values()
    part = toy.parts[0]
    other = SetPart(part.suite, {}, part.files, dict.fromkeys(part.tasks, "f" * 16))
    monkeypatch.setattr(sets, "named_sets", lambda: {toy.name: NamedSet(toy.name, 3, "A toy", (other,))})
    status, told = check_of(run, tmp_path / "bundles")
    assert status == "violated"
    assert "is not of it" in told


def test_a_bundle_that_claims_more_than_it_has_is_found(run: Path, tmp_path: Path) -> None:
    change(run, of=1000)
    assert check_of(run, tmp_path / "bundles")[0] == "violated"
    change(run, version=9)
    assert check_of(run, tmp_path / "others")[0] == "not looked"
