"""Checks, coordinates, and what a set resolves."""

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from suites.worldinworld.closedloop_data import SCENE, home_episodes, make_closedloop_data, make_published_data
from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.paired_tests import paired_difference
from worldgauge.suites.worldinworld.format.check import check, episodes_wanted, resolvable_points
from worldgauge.suites.worldinworld.format.load import episode_formats
from worldgauge.suites.worldinworld.format.rows import (
    as_stored,
    habitat_camera,
    habitat_point,
    habitat_rotation,
    habitat_stance,
    our_point,
    our_stance,
    our_yaw,
)
from worldgauge.suites.worldinworld.navigation.format import write_navigation
from worldgauge.suites.worldinworld.questions.format import write_questions
from worldgauge.suites.worldinworld.recognition.format import write_recognition
from worldgauge.worlds.walking.primitives import Primitive, Stance, world_trajectory


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_closedloop_data(tmp_path_factory.mktemp("worldinworld"))


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
    assert (navigation.means["steps"].n, navigation.means["steps"].mean) == (3, 61.0)
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
    (told,) = [note for note in table.notes if "detectable" in note]
    assert told.startswith(
        f"minimum detectable difference of two models: navigation {found:.0f} points (episodes: 12, "
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


HABITAT = [case for case in cases("wiw_camera", "cases") if case.values[0]["kind"] == "habitat_pose"]


@pytest.mark.parametrize("case", HABITAT)
def test_walks_are_those_of_the_simulator(case: dict[str, Any]) -> None:
    start = our_stance(case["start_position"], case["start_rotation_wxyz"])
    steps = [Primitive[name.upper()] for name in case["actions"]]
    path = world_trajectory(
        steps, (start.x, start.y, math.degrees(start.yaw)), step_m=case["step_m"], turn_deg=case["turn_deg"]
    )[1:]
    assert len(path) == len(case["expected"])
    for (x, y, phi), expected in zip(path, case["expected"], strict=True):
        position, rotation = habitat_stance(Stance(x, y, math.radians(phi), start.z))
        np.testing.assert_allclose(position, expected["position"], atol=1e-5)
        np.testing.assert_allclose(rotation, expected["rotation_wxyz"], atol=1e-5)


def test_by_hand() -> None:
    assert our_stance([0.0, 0.5, -2.0], [1.0, 0.0, 0.0, 0.0]) == Stance(2.0, 0.0, 0.0, 0.5), "-z is ahead"
    half = math.sqrt(0.5)
    stance = our_stance([-1.0, 0.0, 0.0], [half, 0.0, half, 0.0])
    assert stance.y == 1.0, "-x is left"
    assert stance.yaw == pytest.approx(math.pi / 2), "turns to the left are positive"
    assert our_yaw([-half, 0.0, -half, 0.0]) == pytest.approx(math.pi / 2), "both signs are one rotation"
    assert our_yaw([2.0, 0.0, 0.0, 0.0]) == 0.0, "of any length"


def test_there_and_back() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        stance = Stance(*rng.uniform(-5, 5, 2).tolist(), float(rng.uniform(-math.pi, math.pi)), 1.25)
        again = our_stance(*habitat_stance(stance))
        np.testing.assert_allclose(again, stance, atol=1e-12)
    points = rng.normal(size=(7, 3))
    np.testing.assert_array_equal(habitat_point(our_point(points)), points)


def test_what_is_stored_comes_back_to_the_bit() -> None:
    rng = np.random.default_rng(2)
    yaws = [*rng.uniform(-10, 10, 500), math.pi, -math.pi, math.nextafter(-math.pi, 0), 0.0, -1e-12, 3.1415926536]
    for yaw in yaws:
        stance = as_stored(Stance(*rng.normal(size=2).tolist(), float(yaw)))
        assert (as_stored(stance), as_stored(our_stance(*habitat_stance(stance)))) == (stance, stance)
        assert -math.pi <= stance.yaw < math.pi
        assert abs(math.remainder(stance.yaw - yaw, math.tau)) < 1e-9


def test_cameras_against_another_library() -> None:
    rng = np.random.default_rng(3)
    axes = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # of the simulator, in ours
    for _ in range(20):
        pose = pose_from_yaw_pitch(rng.normal(size=3), rng.uniform(-4, 4), rng.uniform(-1.5, 1.5))
        position, (w, x, y, z) = habitat_camera(pose)
        np.testing.assert_allclose(axes @ position, pose[:3, 3], atol=1e-12)
        # The simulator's camera has y up and looks along -z.
        theirs = axes.T @ pose[:3, :3] @ np.diag([1.0, -1.0, -1.0])
        np.testing.assert_allclose(Rotation.from_quat([x, y, z, w]).as_matrix(), theirs, atol=1e-12)
    level = Stance(1.0, 2.0, 0.7).eye()
    np.testing.assert_allclose(habitat_camera(level)[1], habitat_rotation(0.7), atol=1e-12)


@pytest.mark.parametrize("rotation", [[0.0] * 4, [0.7, 0.7, 0.0, 0.0], [math.nan, 0, 0, 0], [0.0, 0.0, 0.0, 1.0]])
def test_tilted_and_empty_rotations(rotation: list[float]) -> None:
    with pytest.raises(ShapeError, match="no turn about the vertical"):
        our_yaw(rotation)
    with pytest.raises(ShapeError, match="shape"):
        our_yaw([1.0, 0.0])


def test_a_scene_an_episode_is_the_formula_of_independent_pairs():
    # (1.984 + 0.845) x 100 x sqrt((0.2 - 0.1^2) / 99), with Student's quantiles of 99 degrees of freedom
    assert resolvable_points(range(100), 0.2) == pytest.approx(12.4, abs=0.05)
    assert resolvable_points(range(400), 0.2) == pytest.approx(280.2 * math.sqrt(0.19 / 400), rel=0.02)


def test_four_times_the_episodes_or_a_quarter_of_the_discordance_resolve_half() -> None:
    once = resolvable_points([n % 20 for n in range(100)], 0.2)
    assert once is not None
    assert resolvable_points([n % 20 for n in range(400)], 0.2) == pytest.approx(once / 2, rel=0.12)
    assert resolvable_points([n % 20 for n in range(100)], 0.05) == pytest.approx(once / 2, rel=0.15)


def test_the_paired_test_finds_such_a_difference_in_four_of_five_runs() -> None:
    scenes, discordance = [n % 20 for n in range(100)], 0.3
    points = resolvable_points(scenes, discordance)
    assert points is not None
    rng, found, runs = np.random.default_rng(5), 0, 120
    up = (discordance + points / 100) / 2
    for _ in range(runs):
        drawn = 100.0 * rng.choice([1, -1, 0], 100, p=[up, discordance - up, 1 - discordance])
        one = {str(n): float(value) for n, value in enumerate(drawn)}
        told = paired_difference(
            one, dict.fromkeys(one, 0.0), cluster={str(n): str(scene) for n, scene in enumerate(scenes)}
        )
        found += told.p is not None and told.p < 0.05
    assert 0.65 < found / runs < 0.95


def test_one_scene_tells_nothing_and_a_handful_next_to_nothing() -> None:
    assert resolvable_points([], 0.2) is None
    assert resolvable_points([1] * 50, 0.2) is None
    assert resolvable_points([1, 1, 2, 2], 0.9) == 100.0


@pytest.mark.parametrize("discordance", [0.18, 0.24])
@pytest.mark.parametrize("homes", [20, 100])
def test_the_number_of_episodes_that_is_told_resolves_what_is_wanted(discordance: float, homes: int) -> None:
    resolves = resolvable_points([n % homes for n in range(100)], discordance)
    wanted = episodes_wanted(100, resolves)
    assert wanted is not None
    homes = homes * wanted // 100
    assert resolvable_points([n % homes for n in range(wanted)], discordance) == pytest.approx(10, abs=0.6)


def test_who_resolves_enough_or_is_not_known_is_told_no_number() -> None:
    assert episodes_wanted(100, 20.0) == 400, "by hand: half the difference takes four times as many"
    assert episodes_wanted(101, 20.0) == 410
    assert episodes_wanted(100, 10.0) is episodes_wanted(100, None) is None
