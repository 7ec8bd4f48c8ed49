"""Settings that let policies look with networks: what they need, what they change, and how their absence is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.standins import ColourDetector, standing_in
from support.task_context import QuietContext
from worldgauge.cli.main import main
from worldgauge.core.errors import UsageError
from worldgauge.engine.options import given_fields
from worldgauge.engine.suite.contract import Record
from worldgauge.models import models
from worldgauge.suites.closedloop.questions import landmarks as detecting
from worldgauge.suites.closedloop.suite import ClosedLoop
from worldgauge.suites.closedloop.task import Settings, closed_loop_tasks, settings_type, task_names
from worldgauge.weights import AbsentWeightsError

SMALL = {"view_px": 48, "panorama_px": 128, "decisions": 4}


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))


def test_defaults_need_no_network() -> None:
    settings = Settings.of({})
    assert (settings.landmarks, settings.tracker, settings.networks_digest) == ("exact", "geometry", None)
    assert not any(settings.networks(task) for task in settings.asked)
    ClosedLoop().prepare([], lambda what, done, of: None)


def test_each_is_of_its_task() -> None:
    both = Settings.of({"protocol": "published", "landmarks": "detected", "tracker": "sam2"})
    assert {task: both.networks(task) for task in both.asked} == {
        "recognition": ("sam2",),
        "navigation": (),
        "questions": ("grounding-dino", "sam2"),
        "manipulation": (),
    }
    assert Settings.of({"task": "navigation", "reviser": "lpips"}).networks("navigation") == ("lpips-alex",)
    assert Settings.of({"task": "navigation", "reviser": "lpips", "lpips": "lpips-vgg"}).networks("navigation") == (
        "lpips-vgg",
    )
    served = {"task": "navigation", "reviser": "lpips", "lpips": "http://localhost:1"}
    assert Settings.of(served).networks("navigation") == ()
    with pytest.raises(UsageError, match="'tracker' must be one of geometry, sam2"):
        Settings.of({"tracker": "sam3"})
    with pytest.raises(UsageError, match="'landmarks' must be one of exact, detected"):
        Settings.of({"landmarks": "sam2"})


@pytest.mark.parametrize(
    ("setting", "wrong", "near"),
    [("proposer", "heuristics", "heuristic"), ("reviser", "oracel", "oracle"), ("judge", "rule", "rules")],
)
def test_an_unknown_policy_names_its_setting(setting: str, wrong: str, near: str) -> None:
    words = f"closedloop setting '{setting}': no {setting} '{wrong}'. Did you mean '{near}'"
    with pytest.raises(UsageError, match=words):
        Settings.of({"task": "navigation", setting: wrong})


def test_weights_that_policies_look_with_are_part_of_what_is_asked() -> None:
    for options in ({"protocol": "published", "landmarks": "detected"}, {"tracker": "sam2"}):
        suite = ClosedLoop(**options)
        assert suite.settings["networks_digest"] is not None
        assert "networks_digest" not in suite.scoring_settings
        assert "lpips" in suite.scoring_settings, "no policy looks with that one"
        aside: Any = {**options, "task": "navigation"}
        assert "networks_digest" in ClosedLoop(**aside).scoring_settings
        assert ClosedLoop(**aside).settings["networks_digest"] is None


def test_detected_landmarks_need_a_proposer_that_names_some() -> None:
    with pytest.raises(UsageError, match=r"landmarks=detected: the proposer 'rooms' names no landmarks; set proposer="):
        Settings.of({"landmarks": "detected"})


def test_policies_are_told() -> None:
    settings = Settings.of({"protocol": "published", "landmarks": "detected", "tracker": "sam2"})
    for task, own in (("recognition", {"tracker": "sam2"}), ("questions", {"landmarks": "detected"})):
        options = closed_loop_tasks.get(task).kit(settings).options
        assert {name: options[name] for name in ("landmarks", "tracker") if name in options} == own


def test_what_policies_of_a_task_are_told_are_settings() -> None:
    names = {field.name for field in given_fields(settings_type())}
    for task in task_names():
        kind = closed_loop_tasks.get(task)
        assert {*kind.policy_options.values(), *kind.noted_settings, *kind.scoring_settings} <= names


def test_a_setting_of_a_task_that_is_not_asked_is_noted(episodes: Path) -> None:
    aside = ClosedLoop(task="navigation", tracker="sam2", expert_wrong=0.5, goal_check="every_step")
    assert aside.missing_data(episodes) == [
        "the setting 'tracker' changes nothing: it is for recognition, of which no episode is asked",
        "the setting 'expert_wrong' changes nothing: it is for manipulation, of which no episode is asked",
    ]
    assert ClosedLoop(task="navigation", parity="released").missing_data(episodes) == []
    assert ClosedLoop().missing_data(episodes) == []


def test_absent_weights_are_told_before_anything_is_asked(episodes: Path) -> None:
    for task, options, name in (
        ("questions", {"landmarks": "detected", "proposer": "landmarks"}, "grounding-dino"),
        ("recognition", {"tracker": "sam2"}, "sam2"),
        ("navigation", {"reviser": "lpips"}, "lpips-alex"),
    ):
        suite = ClosedLoop(task=task, **options)
        with pytest.raises(AbsentWeightsError, match=f"worldgauge weights pull {name}"):
            suite.prepare(list(suite.tasks(episodes)), lambda what, done, of: None)


def test_on_the_command_line_that_is_one_line_and_code_2(
    episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "closedloop", "--data", str(episodes), "--model", "freeze", "--out", str(tmp_path / "run")]
    monkeypatch.setattr("sys.argv", ["worldgauge", *words, "--set", "task=recognition", "--set", "tracker=sam2"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1].endswith("weights 'sam2' are not here: worldgauge weights pull sam2")
    assert not any("Traceback" in line for line in said)


def test_an_episode_goes_by_what_was_detected(episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that see nothing leave only where the floor goes on; every view of a decision is shown to them."""
    blind = ColourDetector({})
    monkeypatch.setattr(detecting, "network", lambda name: standing_in(blind))

    def acted(name: str, **settings: Any) -> Record:
        suite = ClosedLoop(**SMALL, task="questions", protocol="published", **settings)
        (folder := tmp_path / name).mkdir()
        return suite.perform(next(iter(suite.tasks(episodes))), models.get("none")(), QuietContext(folder))

    exact, detected = acted("a"), acted("b", landmarks="detected")
    assert blind.asked >= 4
    assert blind.asked % 4 == 0
    assert detected.facts["decisions"] > 0
    assert exact.facts["end"]


PAPER = {
    "recognition": (10, 2, 4, "heuristic", "recogniser"),
    "navigation": (20, 3, 5, "heuristic", "similarity"),
    "questions": (250, 3, 13, "landmarks", "scripted-answerer"),
    "manipulation": (15, 5, 5, "scripted", "similarity"),
}


@pytest.mark.parametrize("task", PAPER)
@pytest.mark.parametrize("given", [{"protocol": "published"}, {"parity": "released"}])
def test_the_published_protocol_has_the_paper_s_numbers(task: str, given: dict[str, Any]) -> None:
    own = Settings.of(given).of_task(task)
    assert (own.decisions, own.candidates, own.length, own.proposer, own.reviser) == PAPER[task]


def test_options_win_over_the_published_protocol() -> None:
    own = Settings.of({"protocol": "published", "candidates": 10, "task": "navigation"}).of_task("navigation")
    assert (own.decisions, own.candidates, own.length, own.proposer) == (20, 10, 5, "heuristic")


def test_navigation_departs_from_the_paper_by_default() -> None:
    own = Settings.of({}).of_task("navigation")
    assert own.candidates >= 8
    assert (own.proposer, own.reviser) == ("fan", "nearness")


def test_recognition_departs_from_the_paper_by_default() -> None:
    own, paper = Settings.of({}).of_task("recognition"), Settings.of({"protocol": "published"}).of_task("recognition")
    assert (own.decisions, own.proposer, own.reviser) == (1, "around", "clearest")
    assert (own.clip, paper.clip) == (0, 13), "only the paper's clips are filled up beyond the plan"
