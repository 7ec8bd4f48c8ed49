"""What an evaluation costs, and which tasks fit a budget."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from worldgauge.core.errors import UsageError
from worldgauge.core.model import ModelSpec
from worldgauge.engine.open_suite import list_tasks, open_suite, spread_tasks
from worldgauge.engine.sets import SetPart
from worldgauge.engine.suite.contract import Task
from worldgauge.tools.check_model import ModelReport
from worldgauge.tools.model_trial import ModelSpeed
from worldgauge.tools.plan import (
    BYTES_PER_PIXEL,
    PAGE_S,
    PILOT_TASKS,
    START_S,
    Meter,
    SuiteCost,
    TaskCost,
    by_kind,
    choose_tasks,
    declared_suite,
    fitting_horizon,
    fitting_tasks,
    lengths_s,
    measure_suite,
    relative_lengths,
    run_pilot,
    speed_at,
)

SPEEDS = {"100x100": ModelSpeed(0.1, 1.0), "200x100": ModelSpeed(0.3, 3.0)}


def report(speeds: dict[str, ModelSpeed] = SPEEDS, **spec: object) -> ModelReport:
    return ModelReport("m", (), 0.0, ModelSpec("m", **spec).told, {"source": "./m.py:M", "inputs": []}, speeds)  # type: ignore[arg-type]


def cost(suite: str, frames: float, *, tasks: int = 24, clusters: int = 12, baselines: float = 0.0) -> SuiteCost:
    """A suite whose tasks have so many frames, for one model."""
    listed = [Task(suite, f"t{n}", {}, "", cluster=str(n % clusters)) for n in range(tasks)]
    costs = {"m": TaskCost({"100x100": frames}, {"100x100": 1.0}, 0.5)}
    return SuiteCost(open_suite(suite, {}), None, listed, costs, {"m": report()}, baselines, 0.5)


def test_a_task_costs_its_frames_its_questions_and_its_scoring() -> None:
    spent = TaskCost({"100x100": 50.0}, {"100x100": 2.0}, 4.0)
    assert spent.model_s(SPEEDS) == pytest.approx(50 * 0.1 + 2 * 1.0)
    (plan,) = choose_tasks([replace(cost("targetbench", 10, tasks=6), costs={"m": spent})], None)
    assert plan.seconds == pytest.approx(START_S + PAGE_S + 6 * (50 * 0.1 + 2 * 1.0 + 4.0))


@pytest.mark.parametrize(("size", "frame_s"), [("150x100", 0.2), ("100x150", 0.2), ("10x10", 0.1), ("999x999", 0.3)])
def test_a_speed_between_two_sizes_is_in_proportion_to_the_pixels(size: str, frame_s: float) -> None:
    assert speed_at(SPEEDS, size).frame_s == pytest.approx(frame_s)


def test_without_a_budget_all_tasks_are_chosen() -> None:
    (plan,) = choose_tasks([cost("targetbench", 10)], None)
    assert (plan.tasks, plan.of, plan.clusters, plan.frames) == (24, 24, 12, 240)
    assert plan.seconds == pytest.approx(START_S + PAGE_S + 24 * (10 * 0.1 + 1.0 + 0.5))
    assert plan.gpu_s == 0


def test_gpu_hours_are_those_of_models_that_declare_gpus() -> None:
    plain = cost("targetbench", 10)
    (plan,) = choose_tasks([replace(plain, reports={"m": replace(report(), gpus=2.0)})], None)
    assert plan.gpu_s == pytest.approx(2 * 24 * (10 * 0.1 + 1.0))


def test_workers_share_the_tasks() -> None:
    one, two = (choose_tasks([cost("targetbench", 10)], None, workers)[0].seconds for workers in (1, 2))
    assert one - START_S - PAGE_S == pytest.approx(2 * (two - START_S - PAGE_S))


def test_a_budget_keeps_its_promise_and_balances_what_can_be_detected() -> None:
    costs = [cost("targetbench", 10), cost("worldinworld", 100)]
    plans = choose_tasks(costs, 300)
    assert sum(plan.seconds for plan in plans) <= 300
    assert all(plan.clusters >= 6 for plan in plans)
    effects = [plan.effect for plan in plans]
    assert max(effects) < 1.6 * min(effects)  # type: ignore[type-var, operator]
    assert all(plan.tasks < plan.of for plan in plans if plan.suite == "worldinworld")


def test_a_larger_budget_never_detects_less() -> None:
    costs = [cost("targetbench", 10), cost("worldinworld", 100)]
    worst = [max(plan.effect for plan in choose_tasks(costs, budget)) for budget in (250, 400, 800)]  # type: ignore[type-var]
    assert worst == sorted(worst, reverse=True)


def test_a_suite_that_does_not_fit_is_left_out_with_the_budget_that_it_needs() -> None:
    cheap, costly = choose_tasks([cost("targetbench", 10), cost("worldinworld", 1000)], 120)
    assert cheap.tasks >= 6
    assert (costly.tasks, costly.reason) == (0, "6 clusters need about 11 min of the budget")


def test_a_budget_that_fits_no_suite_is_an_error_that_says_how_much_is_needed() -> None:
    with pytest.raises(UsageError, match="the cheapest needs about 5 min"):
        choose_tasks([cost("worldinworld", 1000), cost("targetbench", 400)], 60)


def test_a_budget_is_not_blamed_if_no_suite_fits() -> None:
    unfit = replace(cost("targetbench", 10), costs={"m": TaskCost(asked=0.0, skipped="it makes 9 frames")})
    (plan,) = choose_tasks([unfit], 600)
    assert (plan.tasks, plan.reason) == (0, "it makes 9 frames")


def test_stored_scores_of_baselines_cost_nothing() -> None:
    without, with_baselines = (
        choose_tasks([cost("targetbench", 10, baselines=count)], None)[0] for count in (0.0, 4.0)
    )
    assert with_baselines.seconds > without.seconds + 24 * 4 * 0.5


def test_a_set_that_is_not_made_is_planned_from_its_own_facts() -> None:
    part = SetPart("targetbench", {"size": (100, 100)}, tasks_count=24, clusters=12, frames=240, task_s=0.5)
    declared = declared_suite(part, {"m": report()}, baselines=0)
    same = replace(cost("targetbench", 10), megabytes=10 * 100 * 100 * BYTES_PER_PIXEL / 1e6)
    assert choose_tasks([declared], None) == choose_tasks([same], None)


def test_what_a_task_costs_is_measured_with_the_spec_of_the_model(walks: Path) -> None:
    reports = {"any": report(), "chunks": report(lengths="80n+1", frame_size=(64, 36)), "short": report(lengths=[46])}
    found = measure_suite("loopnav", walks, reports, baselines=0, settings={})
    any_, chunks, short = found.costs["any"], found.costs["chunks"], found.costs["short"]
    ((size, frames),) = any_.frames.items()
    assert (size, any_.asked, any_.scoring_s > 0) == ("160x90", 1.0, True)
    assert 60 < frames < 120
    assert chunks.frames == {"64x36": 120.0}  # it makes whole chunks: one of two loops needs two
    assert (short.asked, short.frames) == (0.0, {})
    assert "makes 46 frames" in short.skipped
    assert fitting_horizon(found) == pytest.approx(2.25)  # 45 frames at 20 frames per second
    assert found.reason == ""


def test_a_suite_that_fits_no_model_says_why(walks: Path) -> None:
    found = measure_suite("loopnav", walks, {"short": report(lengths=[9])}, baselines=0, settings={})
    assert fitting_horizon(found) is None  # less than a second says nothing
    (plan,) = choose_tasks([found], None)
    assert plan.tasks == 0
    assert "makes 9 frames" in plan.reason


def test_tasks_that_are_too_long_for_a_model_are_not_chosen(walks: Path) -> None:
    suite = open_suite("loopnav", {})
    tasks = list_tasks(suite, walks)
    seconds = lengths_s(suite, tasks)
    shortest = min(seconds, key=seconds.__getitem__)
    last = 1 + math.ceil(seconds[shortest] * 16)
    free: dict[str, object] = {"lengths": None, "fps": None}
    for longest, fitting in ((last, True), (last - 1, False)):
        specs = [{"lengths": f"1n+1 to {longest}", "fps": 16}, free]
        found = {task.id for task in fitting_tasks(suite, tasks, seconds, specs)}
        assert (shortest in found) is fitting

    assert fitting_tasks(suite, tasks, seconds, [free]) == tasks
    assert fitting_tasks(suite, tasks, {}, specs) == tasks, "of unknown length"
    assert list_tasks(suite, walks, only=[shortest]) == [task for task in tasks if task.id == shortest]


def test_scoring_that_depends_on_what_a_video_shows_is_not_measured(
    walks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = measure_suite("loopnav", walks, {"m": report()}, baselines=0, settings={})
    assert plain.costs["m"].scoring_s > 0
    assert plain.spread is None, "these data are of no benchmark set"
    monkeypatch.setattr("worldgauge.suites.loopnav.suite.LoopNav.scoring_s", 300.0)
    monkeypatch.setattr("worldgauge.suites.loopnav.suite.LoopNav.score", None)  # which would fail
    told = measure_suite("loopnav", walks, {"m": report()}, baselines=0, settings={}).costs["m"].scoring_s
    assert 300.0 < told < 300.0 + plain.costs["m"].scoring_s


def test_a_video_of_the_stand_in_moves_because_still_ones_cost_less(
    walks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def megabytes() -> float:
        return run_pilot("loopnav", Meter(ModelSpec("m").told), walks, {}, PILOT_TASKS, scoring=True).megabytes

    moving = megabytes()
    monkeypatch.setattr("worldgauge.tools.plan.TURN_PX", 0)
    assert moving > 1.2 * megabytes()


def test_fixed_lengths_count_whole_rollouts(walks: Path) -> None:
    part = SetPart("loopnav", {"size": (100, 100)}, tasks_count=24, clusters=12, frames=24 * 90, fps=20, task_s=0.5)
    fixed = report(lengths=[81], fps=16, frame_size=(64, 36))
    declared = declared_suite(part, {"m": fixed}, baselines=0)
    assert declared.costs["m"].frames == {"64x36": 80.0}, "72 frames at 16 per second"
    (plan,) = choose_tasks([declared], None)
    assert plan.frames == 24 * 80
    stepwise = replace(part, suite="worldinworld", fps=0.0, requests=240)
    (plan,) = choose_tasks([declared_suite(stepwise, {"m": fixed}, baselines=0)], None)
    assert plan.frames == 240 * 80, "nine frames are asked for, and 80 are generated"

    suite = open_suite("loopnav", {})
    tasks = list_tasks(suite, walks)
    longest = math.ceil(max(lengths_s(suite, tasks).values()) * 16) + 1
    measured = measure_suite("loopnav", walks, {"m": report(lengths=[longest], fps=16)}, baselines=0, settings={})
    (plan,) = choose_tasks([measured], None)
    assert plan.frames == plan.rollouts * (longest - 1), "however long the task is"


def test_tasks_of_unknown_length_cost_what_the_measured_one_of_their_kind_does() -> None:
    tasks = [Task("s", f"{kind}{n}", {}, "", {"task": kind}) for kind in ("near", "far", "new") for n in range(2)]
    found = by_kind(tasks, {"near0": 1.0, "far1": 3.0})
    assert found == {"near0": 1.0, "near1": 1.0, "far0": 3.0, "far1": 3.0, "new0": 2.0, "new1": 2.0}
    assert by_kind(tasks, {}) == {}


def test_a_plan_holds_the_disk_space_of_videos_that_move(walks: Path) -> None:
    suite, tasks = open_suite("loopnav", {}), list_tasks(open_suite("loopnav", {}), walks)
    found = measure_suite("loopnav", walks, {"m": report()}, baselines=0, settings={})
    pixels = suite.episode(tasks[0])[0].clip.width * suite.episode(tasks[0])[0].clip.height
    frames = sum(found.costs["m"].frames.values())
    assert found.megabytes == pytest.approx(frames * pixels * BYTES_PER_PIXEL / 1e6, rel=0.01)


@pytest.mark.parametrize("settings", [{}, {"horizon": 20}, {"horizon_s": 0.5}], ids=str)
def test_lengths_are_those_that_a_model_is_given(clips: Path, settings: dict[str, Any]) -> None:
    """Paths out and back have one recorded frame."""
    suite = open_suite("mind", settings)
    tasks = list_tasks(suite, clips)
    one_of_each = {task.group["test"]: task for task in tasks if task.skip is None}
    assert one_of_each.keys() == {"mem", "mirror"}
    meter = Meter(ModelSpec("m").told)
    run_pilot("mind", meter, clips, settings, 2, [task.id for task in one_of_each.values()], scoring=True)
    seconds = lengths_s(suite, tasks)
    assert sum(meter.frames.values()) == sum(
        round(seconds[task.id] * max(suite.rates(task))) for task in one_of_each.values()
    )


def test_a_difference_is_in_the_unit_of_the_headline_if_the_set_says_how_much_clusters_differ() -> None:
    known = choose_tasks([replace(cost("targetbench", 10), spread=0.2)], None)[0]
    unknown = choose_tasks([cost("targetbench", 10)], None)[0]
    assert known.difference == pytest.approx(0.2 * (known.effect or 0))
    assert unknown.difference is None


def test_longer_tasks_cost_more_than_those_that_were_measured() -> None:
    plain = cost("targetbench", 10)
    twice = {task.id: 2.0 for task in plain.tasks}
    (plan,) = choose_tasks([replace(plain, costs={"m": replace(plain.costs["m"], lengths=twice)})], None)
    assert plan.frames == 2 * 240
    assert plan.seconds == pytest.approx(START_S + PAGE_S + 2 * 24 * (10 * 0.1 + 1.0 + 0.5))


def test_lengths_are_in_those_of_the_pilot(walks: Path) -> None:
    suite = open_suite("loopnav", {})
    tasks = list_tasks(suite, walks)
    lengths = relative_lengths(suite, tasks, lengths_s(suite, tasks))
    pilot = [lengths[task.id] for task in spread_tasks(suite, tasks, PILOT_TASKS)]
    assert sum(pilot) == pytest.approx(len(pilot))
    assert lengths.keys() == {task.id for task in tasks}
    assert lengths_s(open_suite("worldinworld", {}), tasks) == {}
    assert relative_lengths(suite, tasks, {}) == {}


def test_a_recording_that_is_damaged_has_no_length(walks: Path, tmp_path: Path) -> None:
    suite = open_suite("loopnav", {})
    shutil.copytree(walks, tmp_path / "walks")
    tasks = list_tasks(suite, tmp_path / "walks")
    (tmp_path / "walks" / f"{tasks[0].id}.avi").unlink()
    assert lengths_s(suite, tasks).keys() == {task.id for task in tasks[1:]}
