"""Trials at the table, and their file."""

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.folders import contents
from worldgauge.core.errors import DataError, MissingExtraError, RunError
from worldgauge.engine.collect import collect, count
from worldgauge.suites.worldinworld.format.check import check
from worldgauge.suites.worldinworld.format.load import MANIFEST_FORMAT, load
from worldgauge.suites.worldinworld.manipulation import episodes as sampler
from worldgauge.suites.worldinworld.manipulation.episodes import ManipulationEpisode, write_manipulation
from worldgauge.worlds.tabletop import Tabletop, carried_out, engine
from worldgauge.worlds.tabletop.contract import SEEDS

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


NONE = {"recognition": 0, "navigation": 0, "questions": 0}


@pytest.fixture(autouse=True)
def only_buttons(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table task is enough for what is tested here."""
    monkeypatch.setattr(sampler, "TABLE_TASKS", ("push_buttons",))


def test_trials_are_of_their_split_and_can_be_done(tmp_path: Path) -> None:
    result = collect("worldinworld", tmp_path, **NONE, manipulation=4, split="val")
    assert (result.items, result.failures) == (4, ())
    data = load(tmp_path)
    assert [one.variation for one in data.episodes["manipulation"]] == [0, 1, 2, 3]
    for one in data.episodes["manipulation"]:
        facts = data.scenes[one.scene]
        assert facts.params["seed"] in SEEDS["val"]
        table = Tabletop(**facts.params)
        done = carried_out(table)
        assert (done.solved, len(done.poses)) == (True, one.reference_poses)
        assert table.task.instruction == one.instruction
    assert not check(tmp_path, decode=True).findings


def test_more_are_added_to_those_that_are_there_and_the_bytes_are_those_of_one_go(tmp_path: Path) -> None:
    collect("worldinworld", tmp_path / "a", **NONE, manipulation=2)
    first = load(tmp_path / "a").episodes["manipulation"]
    collect("worldinworld", tmp_path / "a", **NONE, manipulation=3)
    collect("worldinworld", tmp_path / "b", **NONE, manipulation=3)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert load(tmp_path / "a").episodes["manipulation"][:2] == first
    assert count("worldinworld", tmp_path / "a", **NONE, manipulation=3) == (3, 3)
    with pytest.raises(RunError, match="has 3 manipulation, not 2"):
        collect("worldinworld", tmp_path / "a", **NONE, manipulation=2)


def test_what_the_expert_cannot_do_is_discarded_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def second_only(table: Tabletop) -> Any:
        tried.append(table.facts.params["seed"])
        done = carried_out(table)
        return done if len(tried) % 2 == 0 else replace(done, reason="it slipped")

    monkeypatch.setattr(sampler, "carried_out", second_only)
    result = collect("worldinworld", tmp_path, **NONE, manipulation=2)
    assert (dict(result.discarded), len(set(tried))) == ({"the expert cannot do it": 2}, 4)
    assert len(load(tmp_path).episodes["manipulation"]) == 2


def test_too_few_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "TRIES", 1)
    real = sampler.carried_out
    monkeypatch.setattr(
        sampler,
        "carried_out",
        lambda table: replace(real(table), reason="no" if table.facts.params["variation"] else None),
    )
    result = collect("worldinworld", tmp_path, **NONE, manipulation=2)
    assert result.failures == ("table-push_buttons: only 1 of 2 found",)
    assert [one.id for one in load(tmp_path).episodes["manipulation"]] == ["push_buttons-000"]


def test_without_the_extra_it_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    engine.mujoco.cache_clear()
    with pytest.raises(MissingExtraError, match=r"--manipulation 0.*\.\[manipulation\]"):
        collect("worldinworld", tmp_path, **NONE, manipulation=2)
    assert not list(tmp_path.iterdir())


def test_the_splits_share_no_seed() -> None:
    starts = sorted((own.start, own.stop) for own in SEEDS.values())
    assert all(one[1] <= other[0] for one, other in pairwise(starts))
