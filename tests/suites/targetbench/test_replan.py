"""Protocol `replan` in a textured room: the drive, what ends it, what it is compared with, and who cannot take part."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.task_context import QuietContext
from worldgauge.core.errors import NotApplicableError, ShapeError, UsageError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.model import ModelSpec
from worldgauge.models import models
from worldgauge.models.baselines.truth import Render
from worldgauge.perception.decoders import DecodedPath
from worldgauge.suites.targetbench.format.read import discover
from worldgauge.suites.targetbench.replan import (
    ANCHOR_M,
    ARRIVED_M,
    RADIUS_M,
    STRIDE_M,
    PlannedLeg,
    Trail,
    drive_along,
    leg_of,
)
from worldgauge.suites.targetbench.suite import TargetBench
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan

DRIVE = {"decoder": "exact", "protocol": "replan", "fps": 2, "asks": 6}


class Veering(Render):
    """Sees the plan that it is lent, and imagines something else: each video bends the more the longer it is."""

    def rollout(self, request):
        return super().rollout(self._bent(request))

    def camera_path(self, request):
        return super().camera_path(self._bent(request))

    def _bent(self, request):
        start = request.context.poses[-1]
        apart = (request.poses[:, :2, 3] - start[:2, 3]) @ [1, 1j]
        turned = apart * np.exp(0.12j * np.abs(apart))
        poses = request.poses.copy()
        poses[:, :2, 3] = start[:2, 3] + np.stack([turned.real, turned.imag], 1)
        return replace(request, poses=poses)


def drive(model, task, folder, **settings):
    folder.mkdir(parents=True, exist_ok=True)
    suite = TargetBench(**{**DRIVE, **settings})
    record = suite.perform(task, model, QuietContext(folder))
    return record, {score.metric: score for score in suite.score(record, QuietContext(folder))}


@pytest.fixture(scope="module")
def task(scenarios):
    """The straight walk, in which the walker's place before the target is the end of the true path."""
    return list(TargetBench(**DRIVE).tasks(scenarios))[1]


@pytest.fixture(scope="module")
def rendered(task, tmp_path_factory):
    return drive(Render(), task, tmp_path_factory.mktemp("render"))


def test_a_perfect_model_on_a_walkers_plans_arrives_and_stops(rendered):
    record, scores = rendered
    assert (scores["drive/reached"].value, scores["drive/contacts"].value) == (1, 0)
    asks = record.facts["asks"]
    assert 4 < len(asks) <= 6, "4.3 m in strides of 1 m, and once more to say that it is there"
    assert all(ask["status"] in ("ok", "stationary") for ask in asks)
    driven = np.array(record.facts["driven"])
    steps = np.hypot(*np.diff(driven, axis=0).T)
    assert 0.09 < steps.max() < 0.11, "at the speed of the history, 0.54 m/s, five rows a second"
    assert scores["path/overall"].facts["profile"] == "aligned"
    assert scores["path/overall"].facts["diagnostics"]["plans"] == [ask["status"] for ask in asks]


def test_the_record_is_the_drive_and_nothing_else(rendered):
    record, _ = rendered
    assert sorted(path.name for path in record.directory.iterdir()) == ["rollout.mp4"]
    assert record.facts["frames_generated"] == len(record.facts["driven"])
    json.dumps(dict(record.facts), allow_nan=False)


def test_scoring_again_gives_the_same_scores(rendered):
    record, scores = rendered
    again = TargetBench(**DRIVE).score(record, QuietContext(record.directory))
    assert {score.metric: score for score in again} == scores


def test_looking_again_mends_a_plan_that_veers(task, tmp_path):
    _, scores = drive(Veering(), task, tmp_path)
    end = scores["drive/end_distance"]
    assert end.value < 0.6 * end.facts["once"]


def test_a_model_that_stays_is_asked_once(task, tmp_path):
    record, scores = drive(models.get("freeze")(), task, tmp_path)
    assert (len(record.facts["asks"]), len(record.facts["driven"]), scores["drive/reached"].value) == (1, 1, 0)
    assert scores["path/fde"].value == pytest.approx(scores["drive/end_distance"].value, abs=1e-6)


def test_a_model_without_a_single_plan_has_failed_not_stayed(task, tmp_path):
    class Lost(Render):
        """Does not know where its camera is."""

        def camera_path(self, request):
            return None if "." in request.task else super().camera_path(request)

        def rollout(self, request):
            return (request.context.clip[-1][None] for _ in range(request.horizon))

    record, scores = drive(Lost(), task, tmp_path, asks=2)
    assert [ask["status"] for ask in record.facts["asks"]] == ["failed", "failed"]
    assert (scores["drive/reached"].value, scores["path/overall"].value) == (None, None)
    assert "no plan in 2 videos" in (scores["path/overall"].reason or "")


def test_a_wall_is_a_contact(task, tmp_path):
    class Wild(Render):
        """Sets off to the side, into the wall."""

        spec = ModelSpec("wild", control="text", inputs=frozenset({"world"}))

        def rollout(self, request):
            return (request.context.clip[-1][None] for _ in range(request.horizon))

        def camera_path(self, request):
            start = request.context.poses[-1][:3, 3]
            way = start + np.linspace(0, 12, request.horizon)[:, None] * np.array([1.0, 0.0, 0.0])
            return pose_from_yaw_pitch(way, 0.0)

    record, scores = drive(Wild(), task, tmp_path, asks=12)
    contacts = scores["drive/contacts"]
    assert contacts.value >= 1
    assert contacts.facts["once"] == 1
    floor = floor_of(task)
    assert floor.clearance_at(np.array(record.facts["driven"])).min() > 0.1


def test_who_cannot_be_asked_again(task, tmp_path, scenarios):
    suite = TargetBench(**DRIVE)
    with pytest.raises(NotApplicableError, match="one video a scenario"):
        suite.perform(task, models.get("truth")(), QuietContext(tmp_path))
    with pytest.raises(NotApplicableError, match="recorded path has one start"):
        TargetBench(**DRIVE, planner="recorded").perform(task, Render(), QuietContext(tmp_path))
    with pytest.raises(NotApplicableError, match="decoder=exact is for built-in baselines"):
        suite.perform(task, models.get("noise")(), QuietContext(tmp_path))


def test_published_data_cannot_be_driven_in(scenarios, tmp_path):
    data = shutil.copytree(scenarios, tmp_path / "data")
    for side_car in data.rglob("*_world.json"):
        side_car.unlink()
    suite = TargetBench(**DRIVE)
    with pytest.raises(NotApplicableError, match="needs embedded data"):
        suite.perform(next(iter(suite.tasks(data))), models.get("freeze")(), QuietContext(tmp_path))


@pytest.mark.parametrize(
    "bad", [{"protocol": "twice"}, {"asks": 0}, {"asks": 1.5}, {"protocol": "replan", "horizon_s": 6}]
)
def test_settings_that_cannot_be_meant(bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        TargetBench(**bad)


def test_what_decodes_on_the_way_is_part_of_the_record():
    assert "decoder" in TargetBench(protocol="once").scoring_settings
    assert "decoder" not in TargetBench(protocol="replan").scoring_settings
    assert "profile" in TargetBench(protocol="replan").scoring_settings


def test_the_table_holds_both_ways_of_driving(rendered):
    _, scores = rendered
    table = TargetBench(**DRIVE).summarize({"render": list(scores.values())}, {"render": "baseline"}, {})[1]
    assert table.title == "Re-planning against the first plan alone, decoder exact"
    assert [row.label for row in table.rows] == ["render, re-planning", "render, first plan alone"]
    assert table.rows[0].cells[0].mean == 1
    assert table.rows[1].cells[-1].mean == 1, "one question"


class TestLeg:
    def test_the_beginning_is_as_long_as_asked_for(self):
        leg = PlannedLeg(np.array([[0.0, 0.0], [0.6, 0.0], [0.6, 0.8]]), np.array([0.0, 0.0, 1.0]))
        part = leg.beginning(1.0)
        assert part.length == pytest.approx(1.0)
        np.testing.assert_allclose(part.xy[-1], [0.6, 0.4])
        assert part.heading[-1] == pytest.approx(0.5)
        assert leg.beginning(9.0) is leg

    def test_a_turn_leads_somewhere_a_wobble_does_not(self):
        still = np.zeros((3, 2))
        assert PlannedLeg(still, np.array([0.0, 0.02, 0.01])).leads_nowhere
        assert not PlannedLeg(still, np.array([0.0, 0.3, 0.6])).leads_nowhere
        assert not PlannedLeg(np.array([[0.0, 0.0], [ARRIVED_M * 2, 0.0]]), np.zeros(2)).leads_nowhere

    def test_a_path_is_placed_where_the_camera_is(self):
        """Ahead is along the camera, right is to its right: worked by hand for a camera that looks along -x."""
        pose = pose_from_yaw_pitch([3.0, 4.0, 0.5], np.pi)
        turn_right = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
        xy, rotations = np.array([[0.0, 0.0], [0.5, 2.0]]), np.stack([np.eye(3), turn_right])
        leg = leg_of(DecodedPath("ok", "x", xy=xy, rotations=rotations), pose)
        np.testing.assert_allclose(leg.xy, [[3.0, 4.0], [1.0, 4.5]], atol=1e-9)
        np.testing.assert_allclose(leg.heading, [np.pi, np.pi / 2], atol=1e-9)


class TestTrail:
    def test_the_next_question_has_the_robot_at_its_origin(self, task, scenarios, tmp_path):
        scenario = discover(scenarios)[1]
        trail = Trail(scenario, floor_of(task))
        start = trail.pose[:2, 3].copy()
        ahead = trail.pose[:2, 2] / np.hypot(*trail.pose[:2, 2])
        trail.go(np.stack([start, start + STRIDE_M * ahead]), float(np.arctan2(ahead[1], ahead[0])))
        here = trail.scenario_now(tmp_path / "now")
        np.testing.assert_allclose(here.path_xy[here.history_rows], [0, 0], atol=1e-9)
        assert ANCHOR_M <= here.anchor_distance_m < ANCHOR_M + 0.3
        assert here.path_xy[0, 1] == pytest.approx(-here.anchor_distance_m, abs=0.05)
        assert len(trail.seen) == len(trail.driven_xy)

    def test_a_turn_in_place_takes_its_time(self, task, scenarios):
        trail = Trail(discover(scenarios)[1], floor_of(task))
        here = trail.pose[:2, 3].copy()
        trail.go(here[None], np.pi)
        assert len(trail.seen) > 5
        np.testing.assert_allclose(trail.driven_xy, np.repeat(here[None], len(trail.seen), 0), atol=1e-9)


def floor_of(task):
    scenario = discover(Path(task.sample["source"]))[1]
    return open_world(scenario.world).floor


@pytest.fixture
def hall():
    """10 x 4 metres of free floor with a wall across at x = 6, and a door in it at y = 1 .. 2."""
    free = np.ones((200, 80), bool)
    free[120:124] = False
    free[120:124, 20:40] = True
    return FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.05)


def test_a_free_way_is_driven_to_its_end(hall):
    way = np.array([[1.0, 2.0], [2.0, 2.0], [4.0, 3.0]])
    driven = drive_along(hall, way)
    assert not driven.contact
    np.testing.assert_array_equal(driven.xy, way)


def test_a_wall_stops_the_robot_a_radius_before_it(hall):
    driven = drive_along(hall, [[1.0, 3.0], [5.0, 3.0], [9.0, 3.0], [9.0, 1.0]])
    assert driven.contact
    assert driven.xy[2, 0] == pytest.approx(6.0 - RADIUS_M, abs=0.06)
    np.testing.assert_array_equal(driven.xy[2], driven.xy[3])


def test_the_door_lets_it_through(hall):
    assert not drive_along(hall, [[1.0, 1.5], [9.0, 1.5]]).contact


def test_a_plan_turned_about_the_middle_of_a_symmetric_hall_is_stopped_at_the_same_distance():
    free = np.zeros((120, 120), bool)
    free[20:100, 20:100] = True
    floor = FloorPlan(free, np.zeros(free.shape, np.float32), (-3.0, -3.0), 0.05)
    ends = [drive_along(floor, [[0, 0], [5 * np.cos(a), 5 * np.sin(a)]]) for a in np.arange(4) * np.pi / 2]
    assert all(end.contact for end in ends)
    np.testing.assert_allclose([np.hypot(*end.xy[-1]) for end in ends], np.hypot(*ends[0].xy[-1]), atol=0.06)


def test_outside_the_plan_nothing_is_free(hall):
    assert drive_along(hall, [[1.0, 2.0], [1.0, 9.0]]).contact


def test_a_robot_beside_a_wall_may_leave_it_but_not_go_deeper(hall):
    tight = [5.9, 3.0]
    assert not drive_along(hall, [tight, [4.0, 3.0]]).contact
    assert drive_along(hall, [tight, [6.5, 3.0]]).contact


@pytest.mark.parametrize("bad", [np.zeros((0, 2)), np.zeros((3, 3)), [[0.0, np.nan]], 1.0])
def test_what_is_no_plan_is_refused(hall, bad):
    with pytest.raises(ShapeError):
        drive_along(hall, bad)


def test_a_plan_of_one_point_goes_nowhere(hall):
    driven = drive_along(hall, [[1.0, 2.0]])
    assert (len(driven.xy), driven.contact) == (1, False)
