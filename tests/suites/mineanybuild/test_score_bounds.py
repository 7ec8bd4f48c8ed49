"""Chance and ceiling of every kind: of a free critic computed, of one that asks a language model left open."""

from pathlib import Path

import pytest

from support.task_context import QuietContext
from worldgauge.core.agent import agents
from worldgauge.suites.mineanybuild.scoring import HEADLINE, SOUND, choice_bounds, random_matching
from worldgauge.suites.mineanybuild.suite import MineAnyBuild
from worldgauge.worlds.blocks.blueprint import Blueprint


def test_chance_by_hand() -> None:
    # Matching by chance worked by hand.
    # Two materials and air: a third of the four blocks within the matrix, of five in all.
    truth = Blueprint.of([[[1, 1, 1, 1, 1]]], ["stone"])
    assert random_matching(truth, ("stone", "glass"), size=(1, 1, 4)) == pytest.approx(10 * 4 / 3 / 5)
    # Two states of one block are one name: two thirds.
    doubled = Blueprint.of([[[1]]], ["oak_slab[type=top]"])
    assert random_matching(doubled, ("oak_slab[type=top]", "oak_slab[type=bottom]")) == pytest.approx(20 / 3)
    assert random_matching(Blueprint.of([[[-1]]], ["stone"]), ("stone",)) is None
    # Of choices.
    assert choice_bounds(4) == {"chance": 25.0, "ceiling": 100.0}
    assert choice_bounds(2)["chance"] == 50.0


@pytest.mark.parametrize("kind", ["planning", "understanding", "creativity", "reasoning", "commonsense"])
def test_every_kind_has_both_by_the_free_critic(builds: Path, tmp_path: Path, kind: str) -> None:
    suite = MineAnyBuild(task=kind)
    task = next(iter(suite.tasks(builds)))
    task_context = QuietContext(tmp_path, 0)
    record = suite.perform(task, agents.get("truth")(), task_context)
    found = {score.metric: score for score in suite.score(record, task_context)}
    facts = found[HEADLINE].facts
    assert 0 < facts["chance"] < facts["ceiling"] <= 100
    if kind != "creativity":
        assert facts["ceiling"] == found[HEADLINE].value == 100.0
    else:
        assert facts["ceiling"] == pytest.approx(found[HEADLINE].value)
    if kind in ("planning", "understanding", "creativity"):
        assert all(f"soundness/build_{name}" in found for name in SOUND)
        assert found["soundness/build_connected"].value == 1.0
