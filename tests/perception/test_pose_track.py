"""One pose a frame: from known poses, from the pictures, from files; what is not placed is not made up."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from support.places import TESTS
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, relative
from worldgauge.core.video import Clip
from worldgauge.metrics.trajectory import rpe_rot_deg
from worldgauge.perception import pose_track
from worldgauge.perception.colmap import write_images_txt
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.pose_track import PoseTrack, recover_poses
from worldgauge.suites.mind.metrics.action_accuracy import ActionAccuracy, action_accuracy
from worldgauge.worlds.indoor.textured_rooms import RoomClip, room_clip

HFOV_DEG = 80.0
FRAMES = 49


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(before)


@cache
def clip_of(name: str) -> RoomClip:
    return room_clip(name, frames=FRAMES, size=(320, 180))


@cache
def seen(name: str, source: str = "klt-vo") -> PoseTrack:
    return recover_poses(video_of(clip_of(name)), source, content="", hfov_deg=HFOV_DEG)


def video_of(clip: RoomClip) -> Clip:
    return Clip.from_array(clip.frames, clip.fps)


def judged(track: PoseTrack, truth: FloatArray) -> ActionAccuracy:
    return action_accuracy(truth, track.filled(len(truth)), ["forward"] * (len(truth) - 1))


class Scripted:
    """Answers with a path that is given."""

    name = "scripted"
    version = 1
    cacheable = False
    settings: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, path: DecodedPath) -> None:
        self.path = path
        self.asked: list[DecodeRequest] = []

    def decode(self, request: DecodeRequest) -> DecodedPath:
        self.asked.append(request)
        return self.path


def scripted(monkeypatch: pytest.MonkeyPatch, path: DecodedPath) -> Scripted:
    decoder = Scripted(path)
    monkeypatch.setattr(pose_track, "_opened", lambda *_: decoder)
    return decoder


def walked(centres: FloatArray, **facts: Any) -> DecodedPath:
    """A path through `centres` (n, 3) that looks ahead all the time."""
    n = len(centres)
    path = DecodedPath(
        "no_scale",
        "scripted",
        positions=centres,
        rotations=np.tile(np.eye(3), (n, 1, 1)),
        frame_indices=np.arange(n, dtype=np.int64),
    )
    return replace(path, **facts)


def blank(n: int) -> Clip:
    return Clip.from_array(np.zeros((n, 36, 64, 3), np.uint8), 24.0)


def test_known_poses_come_back_even_if_they_leap() -> None:
    poses = np.stack([pose_from_yaw_pitch([0.1 * t, 0, 1.6], 0.02 * t, -0.1) for t in range(12)])
    track = recover_poses(blank(12), "exact", content="x", poses=poses)
    assert (track.status, track.frames.tolist()) == ("ok", list(range(12)))
    np.testing.assert_allclose(track.poses, relative(poses[0], poses), atol=1e-12)
    assert track.diagnostics["decoder"] == track.source == "exact"
    poses = np.tile(pose_from_yaw_pitch(np.zeros(3), 0.0), (12, 1, 1))
    poses[6:, 0, 3] = 50.0
    poses[:, 1, 3] = 0.01 * np.arange(12)
    assert recover_poses(blank(12), "exact", content="", poses=poses).status == "ok"


@pytest.mark.parametrize("name", ["curve", pytest.param("turn", marks=pytest.mark.slow)])
def test_every_frame_of_a_walk_is_placed(name: str) -> None:
    """A thirtieth of a step, measured; the bar is a tenth."""
    track = seen(name)
    assert (track.status, len(track.frames)) == ("ok", FRAMES)
    found = judged(track, clip_of(name).poses)
    assert found.frozen_trans_m is not None
    assert found.overall.count == FRAMES - 1
    assert found.overall.trans_mean < 0.1 * found.frozen_trans_m
    assert found.overall.rot_deg_mean < 0.05


@pytest.mark.slow
def test_frames_between_key_frames_are_seen_and_not_interpolated() -> None:
    """A jolt of one frame that no key frame shows."""
    clip = clip_of("curve")
    frames = np.array(clip.frames)
    jolted = 26
    assert jolted not in np.linspace(0, FRAMES - 1, 33).astype(int)
    frames[jolted] = np.roll(frames[jolted], 12, axis=1)
    track = recover_poses(Clip.from_array(frames, clip.fps), "klt-vo", content="", hfov_deg=HFOV_DEG)
    before = seen("curve").filled(FRAMES)
    turned = np.array([rpe_rot_deg(before[i : i + 2], track.filled(FRAMES)[i : i + 2]) or 0.0 for i in range(48)])
    assert turned[[jolted - 1, jolted]].min() > 1.0
    assert np.delete(turned, [jolted - 1, jolted]).max() < 0.1


def test_videos_without_a_path() -> None:
    still = seen("still")
    assert still.status == "stationary"
    assert (still.poses == np.eye(4)).all()
    assert len(still.poses) == FRAMES
    spin = seen("spin")
    assert spin.status == "stationary"
    assert (spin.poses[:, :3, 3] == 0).all()
    # Of 2 degrees a frame; the walker nods by 2 cm, which is taken for turning.
    assert rpe_rot_deg(clip_of("spin").poses, spin.poses) == pytest.approx(0, abs=0.3)
    noise = np.random.default_rng(0).integers(0, 256, (20, 90, 160, 3), np.uint8)
    track = recover_poses(Clip.from_array(noise, 24.0), "klt-vo", content="")
    assert (track.status, track.poses, len(track.frames)) == ("failed", None, 0)
    assert track.reason
    assert np.isnan(track.filled(20)).all()
    assert recover_poses(blank(0), "klt-vo", content="").status == "failed"
    assert recover_poses(blank(3), "exact", content="").reason.startswith(
        "exact poses are known of built-in baselines only"
    )


def test_part_of_a_track_is_judged_on_its_own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    centres = np.cumsum(np.random.default_rng(1).normal(size=(12, 3)), axis=0)
    scripted(monkeypatch, walked(centres, status="partial", reason="12 of 20 frames were placed"))
    track = recover_poses(blank(20), "scripted", content="")
    assert (track.status, track.reason, len(track.frames)) == ("partial", "12 of 20 frames were placed", 12)
    truth = np.tile(np.eye(4), (20, 1, 1))
    truth[:, 0, 3] = np.arange(20)
    found = judged(track, truth)
    assert (found.overall.count, found.n_expected, found.dropped.poses) == (11, 19, 8)


def test_interpolated_frames_are_not_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    centres = np.cumsum(np.ones((10, 3)), axis=0)
    scripted(monkeypatch, walked(centres, diagnostics={"interpolated": [3, 4]}))
    track = recover_poses(blank(10), "scripted", content="")
    assert (track.status, track.frames.tolist()) == ("partial", [0, 1, 2, 5, 6, 7, 8, 9])
    assert np.flatnonzero(np.isnan(track.filled(10)[:, 0, 0])).tolist() == [3, 4]


@pytest.mark.parametrize(("leap", "kept"), [(7, slice(7, 30)), (22, slice(0, 22))])
def test_after_a_leap_another_unit_may_hold(leap: int, kept: slice, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = np.ones((30, 3)) * [0.1, 0, 0]
    steps[leap:] *= 0.02
    steps[leap, 0] = 2.0
    scripted(monkeypatch, walked(np.cumsum(steps, axis=0)))
    track = recover_poses(blank(30), "scripted", content="")
    assert (track.status, track.frames.tolist()) == ("partial", list(range(30))[kept])
    assert "leaps" in track.reason
    np.testing.assert_allclose(track.poses[0], np.eye(4), atol=1e-12)


def test_what_fails_for_its_metres_alone_is_a_track(monkeypatch: pytest.MonkeyPatch) -> None:
    centres = np.cumsum(np.ones((9, 3)), axis=0)
    decoder = scripted(monkeypatch, walked(centres, status="failed", reason="7.1 m/s; nobody walks faster"))
    track = recover_poses(blank(9), "scripted", content="abc", name="model/1st_data/mem_test/data-25")
    assert (track.status, track.reason, len(track.frames)) == ("ok", "", 9)
    (asked,) = decoder.asked
    assert (asked.n_points, asked.anchor, asked.name, asked.content) == (
        *(9, None, "model/1st_data/mem_test/data-25", "abc"),
    )
    scripted(monkeypatch, walked(centres, rotations=None))
    assert recover_poses(blank(9), "scripted", content="").reason == "'scripted' says nothing of rotations here"


def test_is_decoded_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))
    decoder = scripted(monkeypatch, walked(np.cumsum(np.ones((9, 3)), axis=0)))
    decoder.cacheable = True
    first, again = (recover_poses(blank(9), "scripted", content="abc") for _ in range(2))
    assert len(decoder.asked) == 1
    np.testing.assert_array_equal(first.filled(9), again.filled(9))
    recover_poses(blank(9), "scripted", content="abd")
    recover_poses(blank(9), "scripted", content="")
    assert len(decoder.asked) == 3


def test_poses_from_files(tmp_path: Path) -> None:
    name = "model/1st_data/mem_test/data-25"
    poses = np.stack([pose_from_yaw_pitch([0.5 * t, 0, 0], 0.05 * t) for t in range(10)])
    file = tmp_path / f"{name}.npz"
    file.parent.mkdir(parents=True)
    np.savez(file, poses=poses)
    track = recover_poses(blank(10), f"precomputed?folder={tmp_path}", content="", name=name)
    assert (track.status, len(track.frames)) == ("ok", 10), track.reason
    np.testing.assert_allclose(track.filled(10), relative(poses[0], poses), atol=1e-12)
    lost = recover_poses(
        blank(10), f"precomputed?folder={tmp_path}", content="", name="model/1st_data/mem_test/data-26"
    )
    assert lost.status == "failed"
    assert "no poses" in lost.reason
    poses = np.stack([pose_from_yaw_pitch([0.5 * t, 0, 0], 0.05 * t) for t in range(14)])
    np.savez(tmp_path / "data-25.npz", data=poses.astype(np.float32), inds=np.arange(14))
    track = recover_poses(blank(10), f"precomputed?folder={tmp_path}", content="", name="data-25")
    assert (track.status, len(track.frames)) == ("ok", 10), track.reason
    np.testing.assert_allclose(track.filled(10), relative(poses[0], poses[:10]), atol=1e-6)


@pytest.mark.parametrize("as_file", ["{}.txt", "{}/images.txt"])
def test_poses_from_image_lists_of_colmap(as_file: str, tmp_path: Path) -> None:
    """Two frames are not in it, and it goes on beyond the video."""
    poses = np.stack([pose_from_yaw_pitch([0.5 * t, 0, 0], 0.05 * t) for t in range(14)])
    kept = [t for t in range(14) if t not in (4, 5)]
    file = tmp_path / as_file.format("model/data-25")
    file.parent.mkdir(parents=True)
    write_images_txt(file, poses[kept], [f"images/frame_{t + 200:06d}.jpg" for t in kept])
    track = recover_poses(blank(10), f"precomputed?folder={tmp_path}", content="", name="model/data-25")
    assert (track.status, track.frames.tolist()) == ("partial", [0, 1, 2, 3, 6, 7, 8, 9]), track.reason
    np.testing.assert_allclose(track.poses, relative(poses[0], poses)[track.frames], atol=1e-6)


def test_unknown_sources_suggest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'klt-vo'"):
        recover_poses(blank(3), "klt-v", content="")
    assert "klt-vo" in decoders.names()


@pytest.mark.parametrize("name", ["Vggt", "SpaTracker"])
def test_a_decoder_that_cannot_do_without_a_real_frame_is_refused(name: str) -> None:
    served = TESTS / "serving" / "served_models" / "decoders.py"
    video = Clip.from_array(np.zeros((9, 32, 48, 3), np.uint8), fps=12)
    with pytest.raises(UsageError, match=r"needs a real frame.*layout vipe"):
        recover_poses(video, f"cmd:{sys.executable} -m worldgauge_serve {served}:{name}", content="")
