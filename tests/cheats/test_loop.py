"""Models without foresight in the closed loop: none of them makes a claim, and the oracle's success does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from benchmarks.foresight import act_out, ends

from cheats.loop_models import ConfidentZoom, GoalGhost, GoalThief, MirrorZoom, PreferredLook, ZoomAtWalls
from worldgauge.core.model import WorldModel
from worldgauge.core.paired_tests import paired_difference
from worldgauge.engine.collect import collect
from worldgauge.engine.suite.contract import Score
from worldgauge.report.compare import ReportVerdict, verdict_of_kinds
from worldgauge.report.evidence import ComparedRun, Evidence
from worldgauge.report.wording import Vocabulary
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.suites.worldinworld.trial_questions import StepQuestions

HEADLINE = "task/success"
RATES = {"none": 0.1, "freeze": 0.1, "noise": 0.1, "zoom": 0.4}
"""Success of the floors, as in navigation."""
CHEATS = {
    "navigation": ["ZoomAtWalls", "GoalThief", "GoalThief?which=longest", "GoalThief?which=third", "GoalGhost"],
    "recognition": ["PreferredLook", "PreferredLook?which=longest", "ConfidentZoom", "MirrorZoom"],
}


def run_of(name: str, kind: str, rates: Mapping[str, float]) -> ComparedRun:
    """A run of 96 episodes per kind of task in 24 homes. Models succeed in the same episodes first."""
    scores = []
    for task, rate in rates.items():
        order = np.random.default_rng(3).permutation(96)
        for number in range(96):
            value = 100.0 * (order[number] < rate * 96)
            id = f"{task}/{number}"
            scores.append(
                Score(id, HEADLINE, value, group={"task": task}, better="higher", cluster=f"{task}-{number // 4}")
            )
    facts = {"settings": {}, "source": "data", "seed": 0, "model": {"address": name}}
    return ComparedRun(name, name, name, kind, (), None, facts, Path(name), tuple(scores), (), {})  # type: ignore[arg-type]


def say(rates: Mapping[str, float], *, without: str = "") -> ReportVerdict:
    kinds = tuple(rates)
    floors = [
        # A zoom follows the steps of a walker: it is not asked at tables.
        run_of(name, "baseline", {kind: rate for kind in kinds if (name, kind) != ("zoom", "manipulation")})
        for name, rate in RATES.items()
        if name != without
    ]
    evidence = Evidence("worldinworld", {}, (run_of("mine", "model", rates), *floors))
    words, suite = Vocabulary.of(ClosedLoop()), ClosedLoop
    found = verdict_of_kinds(
        evidence, HEADLINE, suite.claims, bounds=(0.0, 100.0), floor=suite.floor_baselines, flags={}, words=words
    )
    assert found is not None
    return found


def test_a_model_must_beat_zoom_and_not_only_none() -> None:
    assert say({"navigation": 0.8}).headline.startswith("mine helps an agent find places, better than baselines")
    assert say({"navigation": 0.42}).headline.startswith("Nothing shows that mine helps an agent find places")
    missing = say({"navigation": 0.8}, without="zoom")
    assert missing.headline.startswith("Nothing shows")
    assert "No claim is made without the baselines zoom." in missing.support


def test_a_claim_is_made_per_task_and_zoom_is_no_floor_at_tables() -> None:
    said = say({"navigation": 0.3, "manipulation": 0.7})
    assert said.headline.startswith("mine helps an agent use an arm, better than")


@pytest.mark.parametrize(
    "model",
    [ZoomAtWalls(), GoalThief(), GoalGhost(), PreferredLook(), ConfidentZoom(), MirrorZoom()],
    ids=lambda model: model.spec.name,
)
def test_a_cheat_draws_as_many_frames_as_a_plan_has(model: WorldModel) -> None:
    request = StepQuestions().question(model.spec, start=60, horizon=4, seed=1)
    film = np.concatenate(list(model.rollout(request)))
    assert film.shape == (4, *request.context.clip[-1].shape)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("task", "view_px"), [("navigation", 64), ("recognition", 96)])
def test_every_floor_and_cheat_is_worse_than_the_oracle(tmp_path: Path, task: str, view_px: int) -> None:
    counts = {"recognition": 0, "navigation": 0, "questions": 0, "manipulation": 0, task: 48}
    collect("worldinworld", tmp_path / "data", scenes=16, size=(256, 144), **counts)
    settings = LoopSettings.of({"task": task, "view_px": view_px, "panorama_px": 256})
    models = ["none", "oracle", "zoom", *(f"tests/cheats/loop_models.py:{name}" for name in CHEATS[task])]
    act_out(tmp_path / "data", settings, models, 1, tmp_path / "ends.jsonl")
    found = ends(tmp_path / "ends.jsonl")
    clusters = {task: line["cluster"] for (task, _), line in found.items()}
    of = {name: {task: line["success"] for (task, model), line in found.items() if model == name} for name in models}
    for name in models:
        if name != "oracle":
            lead = paired_difference(of["oracle"], of[name], cluster=clusters)
            assert lead.interval is not None
            assert lead.interval.low > 0, name
