"""Protocol `replan` in a textured room: the drive, what ends it, what it is compared with, and who cannot take part."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.task_context import QuietContext
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, WorldModel
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.models import models
from worldgauge.models.references.truth import Render
from worldgauge.perception.decoders import DecodedPath
from worldgauge.suites.target.format.read import discover
from worldgauge.suites.target.replan import ANCHOR_M, ARRIVED_M, STRIDE_M, Leg, Trail, leg_of
from worldgauge.suites.target.suite import Target
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan

DRIVE = {"decoder": "exact", "protocol": "replan", "fps": 2, "asks": 6}


class Veering(Render):
    """Sees the plan that it is lent, and imagines something else: each video bends the more the longer it is."""

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        return super().rollout(self._bent(request))

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        return super().camera_path(self._bent(request))

    def _bent(self, request: RolloutRequest) -> RolloutRequest:
        assert request.poses is not None
        start = request.context.poses[-1]
        apart = request.poses[:, :3, 3] - start[:3, 3]
        angle = 0.12 * np.hypot(apart[:, 0], apart[:, 1])
        turned = np.stack(
            [
                np.cos(angle) * apart[:, 0] - np.sin(angle) * apart[:, 1],
                np.sin(angle) * apart[:, 0] + np.cos(angle) * apart[:, 1],
                apart[:, 2],
            ],
            axis=1,
        )
        poses = request.poses.copy()
        poses[:, :3, 3] = start[:3, 3] + turned
        return replace(request, poses=poses)


def drive_along(model: WorldModel, task: Task, folder: Path, **settings: object) -> tuple[Record, dict[str, Score]]:
    folder.mkdir(parents=True, exist_ok=True)
    suite = Target(**{**DRIVE, **settings})
    record = suite.perform(task, model, QuietContext(folder))
    return record, {score.metric: score for score in suite.score(record, QuietContext(folder))}


@pytest.fixture(scope="module")
def task(scenarios: Path) -> Task:
    """The straight walk, in which the walker's place before the target is the end of the true path."""
    return list(Target(**DRIVE).tasks(scenarios))[1]


@pytest.fixture(scope="module")
def rendered(task: Task, tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, dict[str, Score]]:
    return drive_along(Render(), task, tmp_path_factory.mktemp("render"))


def test_a_perfect_model_on_a_walkers_plans_arrives_and_stops(rendered: tuple[Record, dict[str, Score]]) -> None:
    record, scores = rendered
    assert scores["drive/reached"].value == 1
    assert scores["drive/contacts"].value == 0
    asks = record.facts["asks"]
    assert 4 < len(asks) <= 6, "4.3 m in strides of 1 m, and once more to say that it is there"
    assert all(ask["status"] in ("ok", "stationary") for ask in asks)
    driven = np.array(record.facts["driven"])
    steps = np.hypot(*np.diff(driven, axis=0).T)
    assert 0.09 < steps.max() < 0.11, "at the speed of the history, 0.54 m/s, five rows a second"
    assert scores["path/overall"].facts["profile"] == "aligned"
    assert scores["path/overall"].facts["diagnostics"]["plans"] == [ask["status"] for ask in asks]


def test_the_record_is_the_drive_and_nothing_else(rendered: tuple[Record, dict[str, Score]]) -> None:
    record, _ = rendered
    assert sorted(path.name for path in record.directory.iterdir()) == ["rollout.mp4"]
    assert record.facts["frames_generated"] == len(record.facts["driven"])
    json.dumps(dict(record.facts), allow_nan=False)


def test_scoring_again_gives_the_same_scores(rendered: tuple[Record, dict[str, Score]]) -> None:
    record, scores = rendered
    again = Target(**DRIVE).score(record, QuietContext(record.directory))
    assert {score.metric: score for score in again} == scores


def test_looking_again_mends_a_plan_that_veers(task: Task, tmp_path: Path) -> None:
    _, scores = drive_along(Veering(), task, tmp_path)
    end = scores["drive/end_distance"]
    assert end.value is not None
    assert end.value < 0.6 * end.facts["once"]


def test_a_model_that_stays_is_asked_once(task: Task, tmp_path: Path) -> None:
    record, scores = drive_along(models.get("freeze")(), task, tmp_path)
    assert len(record.facts["asks"]) == 1
    assert len(record.facts["driven"]) == 1
    assert scores["drive/reached"].value == 0
    assert scores["path/fde"].value == pytest.approx(scores["drive/end_distance"].value, abs=1e-6)


def test_a_model_without_a_single_plan_has_failed_not_stayed(task: Task, tmp_path: Path) -> None:
    class Lost(Render):
        """Does not know where its camera is."""

        def camera_path(self, request: RolloutRequest) -> FloatArray | None:
            return None if "." in request.task else super().camera_path(request)

        def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
            return (request.context.clip[-1][None] for _ in range(request.horizon))

    record, scores = drive_along(Lost(), task, tmp_path, asks=2)
    assert [ask["status"] for ask in record.facts["asks"]] == ["failed", "failed"]
    assert scores["drive/reached"].value is None
    assert scores["path/overall"].value is None
    assert "no plan in 2 videos" in (scores["path/overall"].reason or "")


def test_a_wall_is_a_contact(task: Task, tmp_path: Path) -> None:
    class Wild(Render):
        """Sets off to the side, into the wall."""

        spec = ModelSpec("wild", control="text", inputs=frozenset({"world"}))

        def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
            return (request.context.clip[-1][None] for _ in range(request.horizon))

        def camera_path(self, request: RolloutRequest) -> FloatArray | None:
            start = request.context.poses[-1][:3, 3]
            way = start + np.linspace(0, 12, request.horizon)[:, None] * np.array([1.0, 0.0, 0.0])
            return pose_from_yaw_pitch(way, 0.0)

    record, scores = drive_along(Wild(), task, tmp_path, asks=12)
    contacts = scores["drive/contacts"]
    assert contacts.value is not None
    assert contacts.value >= 1
    assert contacts.facts["once"] == 1
    floor = floor_of(task)
    assert floor.clearance_at(np.array(record.facts["driven"])).min() > 0.1


def test_who_cannot_be_asked_again(task: Task, tmp_path: Path, scenarios: Path) -> None:
    suite = Target(**DRIVE)
    with pytest.raises(NotApplicableError, match="one video a scenario"):
        suite.perform(task, models.get("truth")(), QuietContext(tmp_path))
    with pytest.raises(NotApplicableError, match="recorded path has one start"):
        Target(**DRIVE, planner="recorded").perform(task, Render(), QuietContext(tmp_path))
    with pytest.raises(NotApplicableError, match="does not tell where its camera is"):
        suite.perform(task, models.get("noise")(), QuietContext(tmp_path))


def test_published_data_cannot_be_driven_in(scenarios: Path, tmp_path: Path) -> None:
    import shutil

    data = tmp_path / "data"
    shutil.copytree(scenarios, data)
    for side_car in data.rglob("*_world.json"):
        side_car.unlink()
    suite = Target(**DRIVE)
    with pytest.raises(NotApplicableError, match="needs embedded data"):
        suite.perform(next(iter(suite.tasks(data))), models.get("freeze")(), QuietContext(tmp_path))


@pytest.mark.parametrize(
    "bad", [{"protocol": "twice"}, {"asks": 0}, {"asks": 1.5}, {"protocol": "replan", "horizon_s": 6}]
)
def test_settings_that_cannot_be_meant(bad: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(bad))):
        Target(**bad)


def test_what_decodes_on_the_way_is_part_of_the_record() -> None:
    assert "decoder" in Target(protocol="once").scoring_settings
    assert "decoder" not in Target(protocol="replan").scoring_settings
    assert "profile" in Target(protocol="replan").scoring_settings


def test_the_table_holds_both_ways_of_driving(rendered: tuple[Record, dict[str, Score]]) -> None:
    _, scores = rendered
    table = Target(**DRIVE).summarize({"render": list(scores.values())}, {"render": "reference"}, {})[1]
    assert table.title == "Re-planning against the first plan alone, decoder exact"
    assert [row.label for row in table.rows] == ["render, re-planning", "render, first plan alone"]
    assert table.rows[0].cells[0].mean == 1
    assert table.rows[1].cells[-1].mean == 1, "one question"


class TestLeg:
    def test_the_beginning_is_as_long_as_asked_for(self) -> None:
        leg = Leg(np.array([[0.0, 0.0], [0.6, 0.0], [0.6, 0.8]]), np.array([0.0, 0.0, 1.0]))
        part = leg.beginning(1.0)
        assert part.length == pytest.approx(1.0)
        np.testing.assert_allclose(part.xy[-1], [0.6, 0.4])
        assert part.heading[-1] == pytest.approx(0.5)
        assert leg.beginning(9.0) is leg

    def test_a_turn_leads_somewhere_a_wobble_does_not(self) -> None:
        still = np.zeros((3, 2))
        assert Leg(still, np.array([0.0, 0.02, 0.01])).leads_nowhere
        assert not Leg(still, np.array([0.0, 0.3, 0.6])).leads_nowhere
        assert not Leg(np.array([[0.0, 0.0], [ARRIVED_M * 2, 0.0]]), np.zeros(2)).leads_nowhere

    def test_a_path_is_placed_where_the_camera_is(self) -> None:
        """Ahead is along the camera, right is to its right: worked by hand for a camera that looks along -x."""
        pose = pose_from_yaw_pitch([3.0, 4.0, 0.5], np.pi)
        turn_right = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
        path = DecodedPath(
            "ok", "x", xy=np.array([[0.0, 0.0], [0.5, 2.0]]), rotations=np.stack([np.eye(3), turn_right])
        )
        leg = leg_of(path, pose)
        np.testing.assert_allclose(leg.xy, [[3.0, 4.0], [1.0, 4.5]], atol=1e-9)
        np.testing.assert_allclose(leg.heading, [np.pi, np.pi / 2], atol=1e-9)


class TestTrail:
    def test_the_next_question_has_the_robot_at_its_origin(self, task: Task, scenarios: Path, tmp_path: Path) -> None:
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

    def test_a_turn_in_place_takes_its_time(self, task: Task, scenarios: Path) -> None:
        trail = Trail(discover(scenarios)[1], floor_of(task))
        here = trail.pose[:2, 3].copy()
        trail.go(here[None], np.pi)
        assert len(trail.seen) > 5
        np.testing.assert_allclose(trail.driven_xy, np.repeat(here[None], len(trail.seen), 0), atol=1e-9)


def floor_of(task: Task) -> FloorPlan:
    scenario = discover(Path(task.sample["source"]))[1]
    assert scenario.world is not None
    floor = getattr(open_world(scenario.world), "floor")  # noqa: B009
    assert isinstance(floor, FloorPlan)
    return floor
