"""Trials at the table: what the expert can do, by turns of variations, the same bytes whatever happens."""

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.folders import contents
from worldgauge.core.errors import MissingExtraError, RunError
from worldgauge.engine.collect import collect, count
from worldgauge.suites.closedloop.format.check import check
from worldgauge.suites.closedloop.format.load import load
from worldgauge.suites.closedloop.manipulation import episodes as sampler
from worldgauge.worlds.tabletop import Tabletop, carried_out, engine
from worldgauge.worlds.tabletop.contract import SEEDS

NONE = {"recognition": 0, "navigation": 0, "questions": 0}


@pytest.fixture(autouse=True)
def only_buttons(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table task is enough for what is tested here."""
    monkeypatch.setattr(sampler, "TABLE_TASKS", ("push_buttons",))


def test_trials_are_of_their_split_and_can_be_done(tmp_path: Path) -> None:
    result = collect("closedloop", tmp_path, **NONE, manipulation=4, split="val")
    assert (result.items, result.failures) == (4, ())
    data = load(tmp_path)
    assert [one.variation for one in data.episodes["manipulation"]] == [0, 1, 2, 3]
    for one in data.episodes["manipulation"]:
        facts = data.scenes[one.scene]
        assert facts is not None
        assert facts.params["seed"] in SEEDS["val"]
        table = Tabletop(**facts.params)
        done = carried_out(table)
        assert (done.solved, len(done.poses)) == (True, one.reference_poses)
        assert table.task.instruction == one.instruction
    assert not check(tmp_path, decode=True).findings


def test_more_are_added_to_those_that_are_there_and_the_bytes_are_those_of_one_go(tmp_path: Path) -> None:
    collect("closedloop", tmp_path / "a", **NONE, manipulation=2)
    first = load(tmp_path / "a").episodes["manipulation"]
    collect("closedloop", tmp_path / "a", **NONE, manipulation=3)
    collect("closedloop", tmp_path / "b", **NONE, manipulation=3)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert load(tmp_path / "a").episodes["manipulation"][:2] == first
    assert count("closedloop", tmp_path / "a", **NONE, manipulation=3) == (3, 3)
    with pytest.raises(RunError, match="has 3 manipulation, not 2"):
        collect("closedloop", tmp_path / "a", **NONE, manipulation=2)


def test_what_the_expert_cannot_do_is_discarded_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def second_only(table: Tabletop) -> Any:
        tried.append(table.facts.params["seed"])
        done = carried_out(table)
        return done if len(tried) % 2 == 0 else replace(done, reason="it slipped")

    monkeypatch.setattr(sampler, "carried_out", second_only)
    result = collect("closedloop", tmp_path, **NONE, manipulation=2)
    assert dict(result.discarded) == {"the expert cannot do it": 2}
    assert len(set(tried)) == 4
    assert len(load(tmp_path).episodes["manipulation"]) == 2


def test_too_few_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "TRIES", 1)
    real = sampler.carried_out
    monkeypatch.setattr(
        sampler,
        "carried_out",
        lambda table: replace(real(table), reason="no" if table.facts.params["variation"] else None),
    )
    result = collect("closedloop", tmp_path, **NONE, manipulation=2)
    assert result.failures == ("table-push_buttons: only 1 of 2 found",)
    assert [one.id for one in load(tmp_path).episodes["manipulation"]] == ["push_buttons-000"]


def test_without_the_extra_it_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    engine.mujoco.cache_clear()
    with pytest.raises(MissingExtraError, match=r"--manipulation 0.*worldgauge\[manipulation\]"):
        collect("closedloop", tmp_path, **NONE, manipulation=2)
    assert not list(tmp_path.iterdir())


def test_the_splits_share_no_seed() -> None:
    starts = sorted((own.start, own.stop) for own in SEEDS.values())
    assert all(one[1] <= other[0] for one, other in pairwise(starts))
