"""Studies: which arms they compare, and what they say of made-up scores whose answer is known."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import spearmanr

from worldgauge.core.errors import UsageError
from worldgauge.core.paired_tests import holm, paired_difference
from worldgauge.engine.suite.contract import Score
from worldgauge.suites.worldinworld.navigation.task import NavigationTask
from worldgauge_lab.closedloop import STUDIES, ClosedLoopRequest, ClosedLoopStudy, _styles, conclude, draw

N = 30


def scores(success: Sequence[float], measure: str | None, value: float | None) -> list[Score]:
    made = []
    for k, one in enumerate(success):
        task, group = f"navigation/{k}", {"task": "navigation"}
        made.append(Score(task, "task/success", one, "%", group=group, facts={"end": "budget"}))
        if measure is not None:
            reason = None if value is not None else "nothing was imagined"
            made.append(Score(task, measure, value, group=group, reason=reason))
    return made


def rate(share: float) -> list[float]:
    return [100.0 if k < round(share * N) else 0.0 for k in range(N)]


def found(name: str, rates: dict[str, float], measures: dict[str, float | None]) -> object:
    study = STUDIES[name]
    arms = study.arms(ClosedLoopRequest())
    own = {arm.label: scores(rate(rates[arm.label]), study.measure, measures.get(arm.label)) for arm in arms}
    return conclude(study, arms, own, {})


def test_arms_have_labels_of_their_own_and_bases_that_are_there() -> None:
    for study in STUDIES.values():
        arms = study.arms(ClosedLoopRequest())
        labels = [arm.label for arm in arms]
        assert len(set(labels)) == len(labels) > 2
        assert {arm.base for arm in arms if arm.base} <= set(labels)
        assert any(arm.base is None for arm in arms)


def test_the_arms_that_the_user_adds() -> None:
    calls = STUDIES["calls"].arms(ClosedLoopRequest(models=("warp",), candidates=(2, 5)))
    assert [arm.settings for arm in calls if "candidates" in arm.settings] == [{"candidates": 2}, {"candidates": 5}]
    assert {arm.model for arm in calls} == {"warp"}
    assert not any("iterations" in arm.settings for arm in calls)
    for reviser in ("iterative", "resample"):
        swept = STUDIES["calls"].arms(ClosedLoopRequest(models=("warp",), settings={"reviser": reviser}))
        own = [arm for arm in swept if "iterations" in arm.settings]
        assert [arm.settings["iterations"] for arm in own] == [2, 3, 4, 6, 8]
        assert {(arm.family, arm.base) for arm in own} == {("warp, T", "warp at 0")}
    revisers = [
        arm.settings["reviser"] for arm in STUDIES["revision"].arms(ClosedLoopRequest(settings={"chat": "m@http://x"}))
    ]
    assert revisers == ["none", "random", "similarity", "oracle", "chat"]
    with_an_arm = STUDIES["revision"].arms(ClosedLoopRequest(settings={"task": "manipulation"}))
    assert {arm.settings["task"] for arm in with_an_arm} == {"manipulation"}
    both = STUDIES["context"].arms(ClosedLoopRequest(models=("degraded?level=0.5",)))
    assert [arm.model for arm in both] == ["degraded?level=0.5&view=perspective", "degraded?level=0.5&view=panorama"]
    with pytest.raises(UsageError, match="navigation"):
        STUDIES["revision"].arms(ClosedLoopRequest(settings={"task": "questions"}))
    alone = STUDIES["quality"].arms(ClosedLoopRequest(models=("freeze", "warp"), baselines=False))
    assert [arm.model for arm in alone] == ["freeze", "warp", "none"]


def test_a_tie_that_is_there_is_found_and_one_that_is_not_is_not_claimed() -> None:
    labels = [arm.label for arm in STUDIES["controllability"].arms(ClosedLoopRequest()) if arm.base]
    order = {label: k / len(labels) for k, label in enumerate(labels)}
    tied = found("controllability", {**order, "none": 0.0}, order)
    assert tied.correlation.spearman == pytest.approx(1.0)
    assert "models with more of it succeed more" in tied.words[0]
    assert tied.correlation.n == len(labels), "none has no measure and is no point"
    mixed = dict(zip(labels, np.random.default_rng(1).permutation(len(labels)), strict=True))
    loose = found("controllability", {**order, "none": 0.0}, {label: float(v) for label, v in mixed.items()})
    assert "neither be concluded nor ruled out" in loose.words[0]


def test_the_study_of_quality_adds_the_leaderboard() -> None:
    labels = [arm.label for arm in STUDIES["quality"].arms(ClosedLoopRequest())]
    told = found("quality", dict.fromkeys(labels, 0.5), {label: k / 9 for k, label in enumerate(labels)})
    (board,) = [one for one in told.tables if one.title.startswith("Leaderboard")]
    rates, values = zip(*((row.cells[0].mean, row.cells[1].mean) for row in board.rows), strict=True)
    (said,) = [words for words in told.words if "16 models of World-In-World's leaderboard" in words]
    assert f"Spearman's r {spearmanr(values, rates).statistic:.2f} " in said
    assert "neither be concluded nor ruled out" in said
    others = found("controllability", dict.fromkeys(labels, 0.5), {})
    assert not [one for one in others.tables if one.title.startswith("Leaderboard")]


def test_success_over_noise_tells_where_half_of_the_gain_is_lost_and_what_a_model_is_worth() -> None:
    study = STUDIES["noise"]
    arms = study.arms(ClosedLoopRequest(models=("warp", "oracle"), settings={"task": "navigation"}))
    assert [arm.noise for arm in arms if arm.noise is not None] == [0.0, *NavigationTask.noise_levels]
    everywhere = {arm.noise for arm in study.arms(ClosedLoopRequest())}
    assert everywhere > {arm.noise for arm in arms}, "levels of all tasks"
    assert [arm.label for arm in arms].count("oracle") == 1
    share = {"none": 0.1, "oracle": 0.9, "warp": 0.75, "degraded 0.05": 0.7, "degraded 0.1": 0.3}
    own = {arm.label: scores(rate(share.get(arm.label, 0.1)), None, None) for arm in arms}
    told = conclude(study, arms, own, {})
    half, worth = told.words[:2]
    assert half == "Navigation: half of the oracle's gain is left between the noise levels 0.05 and 0.1."
    assert worth == "warp does as well as the oracle between the noise levels 0 and 0.05."
    assert {point.arm.label: point.by_task["navigation"].mean for point in told.points}["oracle"] == pytest.approx(90.0)
    drawn = draw(told, _styles(told))
    assert drawn.startswith("<svg")
    assert drawn.count('class="band"') == 3, "of the sweep, of warp and of none"
    assert len(drawn) < 150_000


def test_gains_are_paired_tests_against_the_base_corrected_together() -> None:
    rates = {"none": 0.2, "random": 0.2, "similarity": 0.5, "oracle": 0.9}
    told = found("revision", rates, {})
    values = {label: {f"navigation/{k}": v for k, v in enumerate(rate(share))} for label, share in rates.items()}
    plain = {label: paired_difference(values[label], values["none"]) for label in ("random", "similarity", "oracle")}
    corrected = holm([plain[gain.label].p for gain in told.gains])
    assert [gain.p for gain in told.gains] == corrected
    assert [gain.difference.mean for gain in told.gains] == pytest.approx([0.0, 30.0, 70.0])
    assert told.words[0].startswith("Told apart as better")
    assert "oracle than none (+70.0 points)" in told.words[0]
    assert "No significant difference from base: random" in told.words[1]
    table = told.tables[0]
    assert [row.cells[0].mean for row in table.rows] == pytest.approx([20.0, 20.0, 50.0, 90.0])
    assert {cell.n for row in table.rows for cell in row.cells[:1]} == {N}
    assert table.rows[3].cells[-1].low > 0


def test_a_study_without_scores_is_one_line() -> None:
    study: ClosedLoopStudy = STUDIES["context"]
    with pytest.raises(UsageError, match="no episode was scored"):
        conclude(study, study.arms(ClosedLoopRequest()), {arm.label: [] for arm in study.arms(ClosedLoopRequest())}, {})
