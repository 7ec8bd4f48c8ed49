"""The default decoder, on the textured test rooms."""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core import geometry
from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import read_png
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.collect import collect
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, as_json, open_decoder, sfm
from worldgauge.perception.decoders._reconstruction import Election, Model
from worldgauge.perception.decoders.crosscheck import align_path
from worldgauge.perception.decoders.klt import KltVo
from worldgauge.perception.decoders.poses import ground_path
from worldgauge.suites.targetbench.format.read import load, scenarios_folder
from worldgauge.suites.targetbench.format.scenario import truth_clip
from worldgauge.worlds.indoor.textured_rooms import CLIPS, RoomClip, room_clip

FEW = 13
"""Frames of the quick tests: a walk of 8 s."""


@cache
def seen(name: str, frames: int = FEW) -> RoomClip:
    return room_clip(name, frames=frames)


def request_of(name: str, frames: int = FEW, **fields: Any) -> DecodeRequest:
    room = seen(name, frames)
    given = {"hfov_deg": 80.0, **fields}
    video = given.pop("video", None) or Clip.from_array(room.frames, room.fps)
    return DecodeRequest(video, room.history_frame, room.anchor_distance_m, **given)


def errors_m(path: DecodedPath, poses: FloatArray) -> tuple[float, float]:
    """Root mean square distance after similarity alignment, and distance of the last points as they are; metres."""
    truth = ground_path(poses[path.frame_indices], None, None)
    aligned = align_path(path.positions, truth.positions).apply(path.positions)
    return float(np.sqrt(((aligned - truth.positions) ** 2).sum(1).mean())), float(
        np.linalg.norm(path.xy[-1] - truth.xy[-1])
    )


@pytest.fixture(autouse=True)
def no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing is left in the folder for temporary files, and nothing is printed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("worldgauge-")] == []
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


@pytest.fixture(scope="module")
def turned() -> DecodedPath:
    return open_decoder("sfm-global").decode(request_of("turn"))


def test_a_walk_round_a_corner_is_found_with_the_same_bytes(turned: DecodedPath) -> None:
    assert turned.status == "ok", turned.reason
    shape_m, end_m = errors_m(turned, seen("turn").poses)
    assert shape_m <= 0.02
    assert end_m <= 0.10
    assert turned.xy.shape == (9, 2)
    assert turned.registered.all()
    assert turned.frame_indices.tolist() == [0, 1, 3, 4, 6, 7, 9, 10, 12]
    assert turned.focal_px == pytest.approx(seen("turn").camera.fx, rel=0.03)
    assert turned.diagnostics["turn_deg"] == pytest.approx(90, abs=2)
    np.testing.assert_allclose(turned.rotations[0], np.eye(3), atol=1e-12)
    import cv2

    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        again = open_decoder("sfm-global").decode(request_of("turn"))
    finally:
        cv2.setNumThreads(threads)
    assert json.dumps(as_json(again)) == json.dumps(as_json(turned))


@pytest.mark.slow
def test_the_size_of_the_pictures_does_not_matter(turned: DecodedPath) -> None:
    half = request_of("turn", video=Clip.from_array(seen("turn").frames, seen("turn").fps).resized(480, 270))
    path = open_decoder("sfm-global").decode(half)
    assert path.status == "ok", path.reason
    assert errors_m(path, seen("turn").poses)[1] <= 0.15
    assert path.focal_px == pytest.approx(turned.focal_px * 0.75, rel=0.05)


@pytest.mark.slow
def test_twice_the_distance_of_the_anchor_is_twice_the_path(turned: DecodedPath) -> None:
    request = request_of("turn")
    path = open_decoder("sfm-global").decode(replace(request, anchor_distance_m=2 * request.anchor_distance_m))
    np.testing.assert_allclose(path.xy, 2 * turned.xy, atol=1e-9)


def test_cameras_that_stand_still_or_have_no_anchor() -> None:
    path = open_decoder("sfm-global").decode(replace(request_of("turn"), anchor=None))
    assert (path.status, path.xy, path.scale) == ("no_scale", None, None)
    truth = ground_path(seen("turn").poses[path.frame_indices], None, None).positions
    assert np.abs(align_path(path.positions, truth).apply(path.positions) - truth).max() < 0.05
    path = open_decoder("sfm-global").decode(request_of("still"))
    assert path.status == "stationary"
    np.testing.assert_array_equal(path.xy, np.zeros((9, 2)))
    assert path.diagnostics["displacement_px"] < 0.2


@pytest.mark.parametrize("distance", [0.0, pytest.param(None, marks=pytest.mark.slow)])
def test_an_anchor_at_no_distance_gives_no_scale(distance: float | None) -> None:
    request = replace(request_of("turn"), anchor_distance_m=distance)
    path = open_decoder("sfm-global", cross_check="never").decode(request)
    assert len(path.diagnostics["attempts"]) == 1
    assert (path.status, path.xy, path.scale) == ("no_scale", None, None)
    assert "apart" in path.reason or "not known" in path.reason


@pytest.mark.slow
def test_a_scale_that_makes_the_walker_fly_is_refused() -> None:
    request = replace(request_of("turn"), anchor_distance_m=9.0, max_speed_m_s=3.0)
    path = open_decoder("sfm-global", fallback=False, retry_frames=17).decode(request)
    assert (path.status, path.xy) == ("failed", None)
    assert "m/s" in path.reason


def doubtful(placed: int, step: float, lead: float = 0.5) -> DecodedPath:
    """What becomes of a model with the anchor and the first `placed` of 33 frames, `step` metres apart."""
    request = replace(request_of("turn", video=Clip.from_array(np.zeros((33, 9, 16, 3), np.uint8), 4.0)))
    request = replace(request, anchor_distance_m=1.0, max_speed_m_s=3.0)
    poses = np.tile(np.eye(4), (1 + 33, 1, 1))
    poses[0, 2, 3] = -1.0
    poses[1:, 2, 3] = step * np.arange(33)
    # Frames after a gap are placed, too: 60 % and more of them in all.
    known = {i: pose for i, pose in enumerate(poses) if i <= placed or i > 14}
    model = Model(known, 400.0, 0.5, 100.0, 1000, anchor_likeness=0.6, anchor_lead=lead)
    looked_at, scored = np.arange(33), np.arange(0, 33, 4)
    pictures = sfm._Pictures(looked_at, [np.zeros((360, 640), np.uint8)], np.zeros((360, 640), np.uint8), None, 1.0)
    return sfm._path(request, pictures, Election(model, True, 0.0, 2), looked_at, scored)


@pytest.mark.parametrize(
    ("placed", "status", "said"),
    [
        (1, "failed", "only 1 frame from the start was placed"),
        (2, "failed", "only 2 frames from the start were placed"),
        (3, "failed", "only 3 frames from the start were placed"),
        (5, "partial", "5 from the start"),
        (33, "ok", ""),
    ],
)
def test_a_start_alone_is_no_stillness(placed: int, status: str, said: str) -> None:
    path = doubtful(placed, 0.5)
    assert path.status == status
    assert said in path.reason
    assert (path.xy is None) == (status == "failed")


def test_models_without_a_sound_size() -> None:
    path = doubtful(33, 0.5, lead=0.001)
    assert (path.status, path.xy) == ("no_scale", None)
    assert "two places" in path.reason
    path = doubtful(33, 1.0)
    assert (path.status, path.xy) == ("failed", None)
    assert "4.0 m/s" in path.reason


def path_of(scale: float = 1.0, bend: float = 0.0, **quality: Any) -> DecodedPath:
    """A path of 4 m, `scale` times as long, that goes `bend` m aside and back."""
    at = np.linspace(0, 1, 9)
    xyz = scale * np.stack([bend * np.sin(3 * at), np.zeros(9), 4 * at], -1)
    given = {"positions": xyz, "xy": xyz[:, [0, 2]], "frame_indices": np.arange(9), "scale": 0.5}
    return DecodedPath("ok", "sfm-global", registered=np.ones(17, bool), diagnostics=quality, **given)


NO_PATH = DecodedPath("failed", "klt-vo", "the first frame was not placed")


@pytest.mark.parametrize(
    ("own", "second", "status"),
    [
        (path_of(), path_of(), "ok"),
        (path_of(starts=4), path_of(), "ok"),
        (path_of(), NO_PATH, "ok"),  # sure by itself, as of a video too sparse for `klt-vo`
        (path_of(starts=4), NO_PATH, "no_scale"),
        (path_of(starts_difference=0.02), NO_PATH, "no_scale"),
        (path_of(anchor_likeness=0.2), NO_PATH, "no_scale"),
        (path_of(1 / 300), path_of(), "no_scale"),
        (path_of(9.0), path_of(), "no_scale"),
        (path_of(1.2), path_of(), "no_scale"),
        (path_of(1.05), path_of(), "ok"),
        (path_of(bend=3.0), path_of(), "failed"),
        (path_of(starts=3), replace(path_of(), status="no_scale", xy=None), "no_scale"),
    ],
)
def test_a_path_that_nothing_confirms_is_never_ok(
    own: DecodedPath, second: DecodedPath, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sfm.SfmGlobal, "_attempt", lambda *_: own)
    monkeypatch.setattr(sfm, "fall_back", lambda *_: second)
    path = open_decoder("sfm-global").decode(request_of("turn"))
    assert (path.status, path.xy is None) == (status, status != "ok"), path.reason
    assert (path.positions is None) == (status == "failed")
    if status == "no_scale":
        np.testing.assert_allclose(path.positions, own.positions / 0.5)


@pytest.mark.parametrize(
    "quality", [{"starts": 3}, {"points_per_frame": 20.0}, {"anchor_likeness": 0.2}, {"reprojection_px": 0.6}, {}]
)
def test_a_doubtful_path_that_is_compared_with_nothing_has_no_scale(
    quality: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sfm.SfmGlobal, "_attempt", lambda *_: path_of(**quality))
    path = open_decoder("sfm-global", cross_check="never", fallback=False).decode(request_of("turn"))
    assert path.status == ("no_scale" if quality else "ok")


@pytest.mark.parametrize(("error_px", "status"), [(0.9, "ok"), (1.1, "no_scale")])
def test_errors_count_in_pixels_of_a_small_video(error_px: float, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sfm.SfmGlobal, "_attempt", lambda *_: path_of(reprojection_px=error_px))
    small = Clip.from_array(seen("turn").frames[:, ::2, ::2], 1.5)
    request = request_of("turn", video=small)
    assert open_decoder("sfm-global", cross_check="never", fallback=False).decode(request).status == status


@pytest.mark.parametrize(("starts", "likeness", "status"), [(4, 0.5, "ok"), (4, 0.2, "no_scale"), (2, 0.5, "no_scale")])
def test_the_second_decoder_alone_needs_a_clear_anchor_and_no_contradiction(
    starts: int, likeness: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sfm.SfmGlobal, "_attempt", lambda *_: path_of(9.0, starts=starts))
    monkeypatch.setattr(sfm, "fall_back", lambda *_: path_of(anchor_likeness=likeness))
    monkeypatch.setattr(KltVo, "confirmed", lambda _, path, request: path)
    path = open_decoder("sfm-global").decode(request_of("turn"))
    assert path.status == status
    assert path.diagnostics["decoder_used"] == ("klt-vo" if status == "ok" else "sfm-global")


@pytest.mark.parametrize(
    "wrong",
    [{"anchor": room_clip("turn", frames=2, seed=9).history_frame}, {"anchor_xy": np.array([0.0, 1.0])}],
    ids=["of another place", "in another direction"],
)
@pytest.mark.slow
def test_an_anchor_elsewhere_is_never_a_scale(wrong: dict[str, Any]) -> None:
    path = open_decoder("sfm-global", retry_frames=17).decode(replace(request_of("curve"), **wrong))
    assert path.status in ("no_scale", "failed"), path.scale


@pytest.mark.parametrize(("other", "kept"), [("stationary", "partial"), ("ok", "ok"), ("partial", "partial")])
def test_a_part_of_a_path_is_not_given_up_for_stillness(other: str, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = DecodedPath("partial", "sfm-global", "12 of 17 frames were placed", xy=np.ones((5, 2)))
    monkeypatch.setattr(sfm.SfmGlobal, "_attempt", lambda *_: own)
    second = DecodedPath(other, "klt-vo", xy=np.zeros((9, 2)), diagnostics={"anchor_likeness": 0.6})
    monkeypatch.setattr(sfm, "fall_back", lambda *_: second)
    monkeypatch.setattr(KltVo, "confirmed", lambda _, path, request: path)
    path = open_decoder("sfm-global", cross_check="never").decode(request_of("turn"))
    assert path.status == kept
    assert path.diagnostics["decoder_used"] == ("klt-vo" if other == "ok" else "sfm-global")


@pytest.mark.slow
@pytest.mark.parametrize("tint", [(1.0, 1.0, 1.0), (1.06, 1.0, 0.92)])
def test_an_anchor_that_sees_little_of_the_video_gives_no_wrong_scale(
    tint: tuple[float, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Through a door: every model finds the path, and the matches of the anchor fit a place 4.4 m away."""
    data = tmp_path_factory.mktemp("data")
    collect("targetbench", data, scenes=4, per_scene=1, size=(256, 144), fps=12)
    (folder,) = scenarios_folder(data).glob("sample_003*")
    scenario = load(folder)
    video = truth_clip(scenario).picked(range(0, 96, 2), 6.0)
    frames = np.clip(np.stack(list(video)) * tint, 0, 255).round().astype(np.uint8)
    assert scenario.first_frame is not None
    request = DecodeRequest(
        Clip.from_array(frames, 6.0), read_png(scenario.first_frame), scenario.anchor_distance_m, hfov_deg=80.0
    )
    path = open_decoder("sfm-global").decode(request)
    if path.xy is not None:
        end_m = np.linalg.norm(path.xy[-1] - scenario.future_xy[2 * path.frame_indices[-1]])
        assert end_m < 0.1 * geometry.length(scenario.future_xy)


@pytest.mark.slow
def test_turning_in_place_is_no_stillness() -> None:
    path = open_decoder("sfm-global").decode(request_of("spin"))
    assert path.status == "stationary", "the camera moves less than the anchor is away"
    assert abs(path.diagnostics["turn_deg"]) == pytest.approx(80, abs=2)


@pytest.mark.slow
def test_a_cut_leaves_what_came_before_it() -> None:
    other = room_clip("turn", frames=FEW, seed=5).frames
    frames = np.concatenate([seen("curve").frames[:8], other[8:]])
    path = open_decoder("sfm-global", fallback=False, retry_frames=17).decode(
        request_of("curve", video=Clip.from_array(frames, 1.5))
    )
    assert (path.status, path.frame_indices.tolist()) == ("partial", [0, 1, 3, 4, 6, 7])
    assert errors_m(path, seen("curve").poses)[1] < 0.1
    assert "from the start" in path.reason


@pytest.mark.parametrize("length", [1, 2, pytest.param(3, marks=pytest.mark.slow), 5])
def test_short_videos_have_a_status(length: int) -> None:
    frames = seen("turn").frames[:length]
    path = open_decoder("sfm-global", fallback=False).decode(request_of("turn", video=Clip.from_array(frames, 1.5)))
    assert path.status == "stationary" if length == 1 else path.status in ("ok", "failed", "no_scale")
    if path.xy is not None:
        assert path.xy.shape == (length, 2)


def test_videos_without_a_walk() -> None:
    rng = np.random.default_rng(0)
    empty, grey = np.zeros((0, 90, 160, 3), np.uint8), np.full((5, 90, 160, 3), 128, np.uint8)
    noise = rng.integers(0, 255, (5, 90, 160, 3), dtype=np.uint8)
    decoder = open_decoder("sfm-global")
    for frames in (empty, grey, noise):
        path = decoder.decode(DecodeRequest(Clip.from_array(frames, 10.0), None, None))
        assert (path.status, path.xy) == ("failed", None)
        assert path.reason
        assert "\n" not in path.reason
    frames = np.repeat(seen("turn").frames[:1], 20, axis=0)
    path = open_decoder("sfm-global").decode(request_of("turn", video=Clip.from_array(frames, 1.5)))
    assert path.status == "stationary"
    np.testing.assert_array_equal(path.xy, np.zeros((9, 2)))


@pytest.mark.slow
def test_the_second_decoder_is_asked_when_that_is_wanted(turned: DecodedPath) -> None:
    # Points are followed from frame to frame, so these lie closer together.
    path = open_decoder("sfm-global", cross_check="always").decode(request_of("curve", 33))
    assert path.diagnostics["decoder_used"] == "sfm-global"
    assert path.diagnostics["cross_check"] == "agrees", path.diagnostics
    assert path.diagnostics["disagreement"] < 0.1


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycolmap", None)
    with pytest.raises(MissingExtraError, match=r'pip install --editable "\.\[sfm\]"'):
        open_decoder("sfm-global")


def test_settings_are_checked_and_told() -> None:
    told = open_decoder("sfm-global?frames=21&cross_check=never").settings
    assert (told["frames"], told["cross_check"], told["retry_frames"]) == (21, "never", 33)
    assert told["pycolmap"]
    json.dumps(dict(told), allow_nan=False)
    with pytest.raises(UsageError, match="cross_check"):
        open_decoder("sfm-global", cross_check="sometimes")
    with pytest.raises(UsageError, match="frames"):
        open_decoder("sfm-global", frames=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIPS)
def test_all_rooms_from_compressed_video(name: str, tmp_path: Path) -> None:
    """The acceptance bar of Target-Bench's decoder here: 2 cm in shape, 10 cm at the end, 2 cm where nothing moves."""
    room = seen(name, 97)
    with Writer(tmp_path / "room.mp4", fps=room.fps, kind="viewable") as out:
        out.write(room.frames)
    path = open_decoder("sfm-global").decode(request_of(name, 97, video=Clip.open(tmp_path / "room.mp4")))
    if name in ("still", "spin"):
        assert path.status == "stationary"
        assert np.linalg.norm(path.xy, axis=1).max() <= 0.02
        return
    assert path.status == "ok", path.reason
    assert path.diagnostics["decoder_used"] == "sfm-global"
    shape_m, end_m = errors_m(path, room.poses)
    assert shape_m <= 0.02
    assert end_m <= 0.10
