"""Trials at the table: written, read, checked, and every way in which a row can be wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from worldgauge.core.errors import DataError
from worldgauge.suites.closedloop.format.check import check
from worldgauge.suites.closedloop.format.load import MANIFEST_FORMAT, load
from worldgauge.suites.closedloop.manipulation.episodes import ManipulationEpisode, write_manipulation
from worldgauge.worlds.tabletop import Tabletop

TABLE = Tabletop("push_buttons", 1, 5)
TRIAL = ManipulationEpisode(
    "push_buttons-001", "push_buttons-1-5", "push_buttons", 1, TABLE.task.instruction, TABLE.task.wordings, 5
)


def make(root: Path, *trials: ManipulationEpisode, params: dict[str, Any] | None = None) -> Path:
    write_manipulation(root, trials)
    facts = TABLE.facts
    world = {"world": facts.name, "params": {**facts.params, **(params or {})}, "digest": facts.digest}
    manifest = {"format": MANIFEST_FORMAT, "version": 1, "settings": {}, "worlds": {TRIAL.scene: world}}
    (root / "worldgauge.json").write_text(json.dumps(manifest))
    return root


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    found = load(make(tmp_path, TRIAL))
    assert found.episodes["manipulation"] == (TRIAL,)
    assert (len(found), found.faults, found.notes) == (1, (), ())
    assert found.scenes[TRIAL.scene] == TABLE.facts
    assert load(tmp_path / "manipulation" / "trials.json").episodes["manipulation"] == (TRIAL,), "one file alone"


def test_check_counts_and_opens_every_table(tmp_path: Path) -> None:
    report = check(make(tmp_path, TRIAL), decode=True)
    assert (report.n_episodes, report.n_valid, report.tallies["table_tasks"]) == (1, 1, {"push_buttons": 1})
    row = report.rows[0]
    assert (row.kind, row.published, row.known) == ("manipulation", 200, 1)
    assert row.means["steps"] is not None
    assert row.means["steps"].mean == 5
    assert report.findings == ()


@pytest.mark.parametrize("change", [{"variation": 2}, {"table_task": "stack_cups"}])
def test_check_finds_a_table_of_another_task(tmp_path: Path, change: dict[str, Any]) -> None:
    for decode in (False, True):
        report = check(make(tmp_path, replace(TRIAL, **change)), decode=decode)
        assert [finding.severity for finding in report.findings] == ["error"]
        assert "is no table of" in report.findings[0].text


def test_check_finds_a_trial_with_another_instruction(tmp_path: Path) -> None:
    report = check(make(tmp_path, replace(TRIAL, instruction="do nothing")), decode=True)
    assert "the trial to do nothing" in report.findings[0].text


def test_check_finds_a_table_that_is_built_otherwise(tmp_path: Path) -> None:
    report = check(make(tmp_path, TRIAL, params={"seed": 6}), decode=True)
    assert "collect the data again" in report.findings[0].text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"variation": -1}, "variation"),
        ({"variation": True}, "variation"),
        ({"instruction": ""}, "instruction"),
        ({"instruction": "a\x00b"}, "instruction"),
        ({"table_task": "../x"}, "table_task"),
        ({"wordings": "push"}, "wordings"),
        ({"wordings": [1]}, "wordings"),
        ({"reference_poses": -1}, "reference_poses"),
        ({"scene_id": None}, "scene_id"),
        ({"episode_id": "a/b"}, "episode_id"),
    ],
)
def test_a_wrong_row_is_a_fault_that_names_its_field(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = make(tmp_path, TRIAL, replace(TRIAL, id="other")) / "manipulation" / "trials.json"
    told = json.loads(path.read_text())
    told["trials"][0] |= change
    path.write_text(json.dumps(told))
    found = load(tmp_path)
    assert [one.id for one in found.episodes["manipulation"]] == ["other"], "the others are not touched"
    assert said in found.faults[0].text
    assert found.faults[0].kind == "manipulation"


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    path = make(tmp_path, TRIAL) / "manipulation" / "trials.json"
    told = json.loads(path.read_text())
    del told["trials"][0]["instruction"]
    path.write_text(json.dumps(told))
    assert "field 'instruction' is missing" in load(tmp_path).faults[0].text


def test_two_of_one_id_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there twice"):
        write_manipulation(tmp_path, [TRIAL, TRIAL])
