"""Scores of surfaces that came back into view: a walker turns away from a place, and back to it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.engine.suite.returned import curve_table, returned_scores
from worldgauge.worlds import open_world

FPS, START = 4.0, 12
PLAINS = {"kind": "plains", "seed": 1, "size": (160, 160, 56)}
WORLDS = {"first person": WorldFacts("voxel", PLAINS), "third person": WorldFacts("third-person", PLAINS)}


def turn_away_and_back(world: WorldFacts) -> Episode:
    """2 s ahead, 1 s turned away; then, to be imagined, 1 s turned away and 1 s ahead again."""
    return looking(world, [0.0] * 8 + [np.pi] * 8 + [0.0] * 4, FPS)


def looking(world: WorldFacts, yaw: list[float], fps: float) -> Episode:
    """Somebody who stands at one place and looks in these directions."""
    seen, camera = open_world(world), Camera.from_vertical_fov(96, 54, 60)
    poses = np.stack([pose_from_yaw_pitch((80, 80, 40), one, -0.6) for one in yaw])
    views = {one: seen.view(pose, camera).rgb for one, pose in dict(zip(yaw, poses, strict=True)).items()}
    clip = Clip.from_array(np.stack([views[one] for one in yaw]), fps)
    actions = Actions(LOOP_WALK, np.zeros((len(poses) - 1, len(LOOP_WALK)), np.float32))
    return Episode("turn", clip, poses, actions, camera, world)


def scores_of(episode: Episode, rollout: Clip, folder: Path, name: str) -> dict[str, Score]:
    record = Record(Task("own", f"turn/{name}", {}, name), "model", folder, {"crop": None})
    truth = episode.clip[START:]
    return {score.metric: score for score in returned_scores(record, episode, START, truth, rollout)}


@pytest.mark.parametrize("view", WORLDS)
def test_only_the_place_that_comes_back_counts(view: str, tmp_path: Path) -> None:
    episode = turn_away_and_back(WORLDS[view])
    frames = episode.clip[START:].to_array()
    perfect = scores_of(episode, Clip.from_array(frames, FPS), tmp_path, view)
    assert perfect["returned_mse"].value == 0
    assert perfect["returned_detail"].value == pytest.approx(1)
    other = frames.copy()
    other[:4] = 255 - other[:4]  # while it is turned away, which nobody needs to remember
    assert scores_of(episode, Clip.from_array(other, FPS), tmp_path, view)["returned_mse"].value == 0
    other[4:] = other[:4]  # and what it shows instead of the place
    forgotten = scores_of(episode, Clip.from_array(other, FPS), tmp_path, view)
    assert forgotten["returned_mse"].value > 100
    assert forgotten["returned_detail"].value < 0.3
    # Ahead was last seen at 1.75 s, and is seen again at 4 s.
    filled = [one for one in forgotten["returned_mse"].facts["by_time_away"] if one["pixels"]]
    assert [(one["low_s"], one["high_s"]) for one in filled] == [(2.0, 5.0)]


@pytest.mark.parametrize(
    ("away_s", "span"),
    [
        *[(1.5, (1.0, 2.0)), (3, (2.0, 5.0)), (7, (5.0, 10.0)), (15, (10.0, 20.0)), (30, (20.0, 40.0))],
        *[(59, (40.0, 60.0)), (60, (60.0, None)), (75, (60.0, None))],
    ],
)
def test_the_curve_goes_from_a_second_to_a_minute(
    away_s: float, span: tuple[float, float | None], tmp_path: Path
) -> None:
    fps = 2.0 if away_s < 2 else 1.0
    yaw = [0.0] * 4 + [np.pi] * (round(away_s * fps) - 1) + [0.0]  # in view again `away_s` after frame 3
    episode, start = looking(WORLDS["first person"], yaw, fps), 4 + round(fps)
    truth = episode.clip[start:]
    frames = truth.to_array().copy()
    frames[-1] = 255 - frames[-1]
    record = Record(Task("own", f"away/{away_s}", {}, str(away_s)), "model", tmp_path, {"crop": None})
    for rollout, right in ((truth, True), (Clip.from_array(frames, fps), False)):
        scores = {one.metric: one for one in returned_scores(record, episode, start, truth, rollout)}
        for score in scores.values():
            (filled,) = (one for one in score.facts["by_time_away"] if one["pixels"])
            assert (filled["low_s"], filled["high_s"]) == span
        assert (scores["returned_mse"].value == 0) == right
        assert (scores["returned_detail"].value > 0.999) == right


@pytest.mark.parametrize("turned", [0.0, 0.2])
def test_what_the_last_second_shows_takes_no_memory(turned: float, tmp_path: Path) -> None:
    behind = [np.pi] * 8 + [0.0] * 4 + [np.pi] * 8
    counted = []
    for yaw in (behind, [*behind, *[turned] * 4]):
        episode = looking(WORLDS["first person"], yaw, FPS)
        scores = scores_of(episode, episode.clip[START:], tmp_path, f"recent/{len(yaw)}/{turned}")
        counted.append(scores["returned_mse"].facts["pixels"])
    assert 0 < counted[0] <= counted[1] < 1.01 * counted[0]


def test_what_is_not_known_or_not_there_is_missing(tmp_path: Path) -> None:
    episode = turn_away_and_back(WORLDS["first person"])
    rollout = episode.clip[START:]
    unknown = scores_of(replace(episode, world=None), rollout, tmp_path, "unknown")
    assert {score.reason for score in unknown.values()} == {"the world of this recording is not known"}
    early = scores_of(episode, rollout[:3], tmp_path, "first person")
    assert {score.reason for score in early.values()} == {"nothing came back into view"}


def test_the_curve_is_a_table_of_the_times_that_occur(tmp_path: Path) -> None:
    episode = turn_away_and_back(WORLDS["first person"])
    scores = {"model": list(scores_of(episode, episode.clip[START:], tmp_path, "first person").values())}
    table = curve_table("returned_detail", "Detail", scores, {"model": "model"})
    assert table is not None
    assert table.columns == ("2 to 5 s",)
    assert table.rows[0].cells[0].mean == pytest.approx(1)
    none = scores_of(replace(episode, world=None), episode.clip[START:], tmp_path, "unknown")
    assert curve_table("returned_detail", "Detail", {"model": list(none.values())}, {"model": "model"}) is None
