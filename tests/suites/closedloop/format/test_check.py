"""What `check` counts and finds in closed-loop data."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suites.closedloop.closedloop_data import SCENE, home_episodes, make_closedloop_data, make_published_data
from worldgauge.suites.closedloop.format.check import check
from worldgauge.suites.closedloop.format.load import episode_formats
from worldgauge.suites.closedloop.navigation.format import write_navigation
from worldgauge.suites.closedloop.questions.format import write_questions
from worldgauge.suites.closedloop.recognition.format import write_recognition
from worldgauge.worlds.walking.primitives import Stance


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_closedloop_data(tmp_path_factory.mktemp("closedloop"))


@pytest.fixture
def data(original: Path, tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return Path(shutil.copytree(original, tmp_path / "data"))


def texts(root: Path, severity: str, *, decode: bool = False) -> list[str]:
    return [one.text for one in check(root, decode=decode).findings if one.severity == severity]


@pytest.mark.parametrize("decode", [False, True])
def test_good_data(original: Path, decode: bool) -> None:
    report = check(original, decode=decode)
    assert report.findings == ()
    assert (report.n_episodes, report.n_valid, report.n_frames) == (9, 9, 3)
    assert report.tallies["difficulties"] == {"0": 1, "1": 1, "2": 1}
    assert report.tallies["labels"] == {"chair": 3}
    assert report.tallies["categories"] == {"attribute recognition": 3}
    recognition, navigation, questions = report.rows
    assert (recognition.kind, recognition.published, recognition.scenes, recognition.known) == (
        "recognition",
        551,
        1,
        1,
    )
    assert {row.resolves for row in report.rows} == {None}, "one home cannot tell models apart"
    assert navigation.means["steps"] is not None
    assert (navigation.means["steps"].n, navigation.means["steps"].mean) == (3, 61.0)
    assert questions.means["reference_m"] is not None
    assert questions.means["reference_m"].mean == 6.0
    assert recognition.means["steps"] is recognition.means["reference_m"] is None
    facts = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert not {"tallies", "means"} & {*facts, *facts["rows"][0]}, "names of before stand at the top"
    assert (facts["labels"], facts["rows"][1]["steps"]["mean"]) == ({"chair": 3}, 61.0)


def test_what_a_run_of_them_can_tell_apart_is_told(data: Path) -> None:
    _, navigation, questions = home_episodes(12)
    spread = [replace(one, scene=f"home-{n % 4}") for n, one in enumerate(navigation)]
    write_navigation(data, spread, {one.id: np.zeros((36, 64, 3), np.uint8) for one in spread})
    write_questions(data, [replace(one, scene=f"home-{n % 4}") for n, one in enumerate(questions)])
    report = check(data)
    found, of_questions = (
        next(row.resolves for row in report.rows if row.kind == kind) for kind in ("navigation", "questions")
    )
    assert found is not None
    assert of_questions is not None
    table = report.report().table
    assert table is not None
    (told,) = [note for note in table.notes if "told apart" in note]
    assert told.startswith(
        f"two models can be told apart that differ by: navigation {found:.0f} points (episodes: 12, "
    )
    assert f"questions {of_questions:.0f} points (episodes: 12, scenes: 4; " in told
    assert re.search(r"scenes: 4; \d+0 would tell 10\)", told), "and how many episodes would tell ten points"
    kinds = {"recognition", "navigation", "questions", "manipulation"}
    assert kinds <= {one.kind for one in episode_formats() if one.discordance}, "all have shares of their own"


def test_published_data_can_be_read_and_not_be_run(tmp_path: Path) -> None:
    report = check(make_published_data(tmp_path))
    assert report.n_valid == 9
    assert not [one for one in report.findings if one.severity == "error"]
    warnings = [one.text for one in report.findings if one.severity == "warning"]
    assert len(warnings) == 2, "one an agreement"
    assert "Matterport3D" in warnings[0]
    assert all("worldgauge world add" in text for text in warnings)
    infos = [one.text for one in report.findings if one.severity == "info"]
    assert len(infos) == 2
    assert "3 of 3 questions have no reference length" in infos[0]


def test_odd_pairs(data: Path) -> None:
    _, navigation, _ = home_episodes(3)
    near = replace(navigation[0], goal=navigation[0].start.turned(1.0))
    short = replace(
        navigation[1], goal=Stance(navigation[1].start.x + 3.0, navigation[1].start.y, 0.0), step_to_goal=12
    )
    enough = replace(short, id="0009", step_to_goal=13)
    images = {one: np.zeros((4, 8, 3), np.uint8) for one in ("0000", "0001", "0009")}
    write_navigation(data, [near, short, enough], images)
    assert texts(data, "warning") == [
        "1 episode, odd (first: 0000): the start is 0.00 m from the goal, within its radius: nothing is to be done",
        "1 episode, odd (first: 0001): 12 steps cannot lead over 3.00 m to the goal",
    ]


def test_images_that_are_none(data: Path) -> None:
    _, navigation, _ = home_episodes(2)
    image = np.random.default_rng(0).integers(0, 255, (36, 64, 3), dtype=np.uint8)
    write_navigation(data, navigation, {navigation[0].id: image, navigation[1].id: image[:, :20].copy()})
    assert texts(data, "error") == [
        "1 episode, not usable (first: 0001): the goal image is 20x36, which cannot be a panorama"
    ]


def test_worlds_are_built_and_stood_in_when_asked(data: Path) -> None:
    recognition, _, _ = home_episodes(3)
    write_recognition(data, [replace(recognition[0], start=Stance(-50.0, 0.0, 0.0)), *recognition[1:]])
    assert texts(data, "error") == []
    assert texts(data, "error", decode=True) == [
        "1 episode, cannot be entered (first: 0): the start at (-50.00, 0.00) is no place to stand"
    ]
    manifest = json.loads((data / "worldgauge.json").read_text())
    manifest["worlds"][SCENE]["digest"] = "0" * 64
    (data / "worldgauge.json").write_text(json.dumps(manifest))
    (error,) = texts(data, "error", decode=True)
    assert "no longer has the cells" in error
    assert "9 episodes" in error
