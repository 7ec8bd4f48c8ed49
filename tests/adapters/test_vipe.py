"""ViPE: the clip that it is shown, what it is asked, and from a served process to a path."""

import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest
from adapters.vipe import SLAM, Vipe, write_clip, write_x264

from adapters import vipe
from support.served import MODELS, PYTHON
from support.upstream import ROOT, isolated
from worldgauge.core.video import Clip
from worldgauge.perception import pose_track
from worldgauge.perception.decoders import DecodeRequest
from worldgauge.perception.decoders.served import ServedDecoder
from worldgauge.perception.pose_track import recover_poses

IsTheWalk = Callable[..., None]


class Pipeline:
    """Gives `rows`; keeps where the clip was."""

    identity = {"version": "0"}  # noqa: RUF012

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.clips: list[tuple[Path, int]] = []
        self.seeds: list[int] = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def poses(self, clip: Path, folder: Path) -> np.ndarray:
        self.clips.append((clip, clip.stat().st_size))
        return np.tile(np.array([1.0, 2, 3, 0, 0, 0, 1]), (1, self.rows, 1))


def test_a_clip_of_30_frames_a_second(tmp_path: Path) -> None:
    colours = np.array([(200, 40, 40), (40, 200, 40), (40, 40, 200)], np.uint8)
    write_clip(tmp_path / "a.mp4", np.broadcast_to(colours[:, None, None], (3, 48, 64, 3)))
    video = cv2.VideoCapture(str(tmp_path / "a.mp4"))
    assert video.get(cv2.CAP_PROP_FPS) == 30
    seen = [video.read()[1] for _ in range(3)]
    assert not video.read()[0], "as many frames as were given"
    assert seen[0].shape == (48, 64, 3)
    for frame, colour in zip(seen, colours, strict=True):
        np.testing.assert_allclose(frame.mean((0, 1))[::-1], colour, atol=6)


@pytest.mark.parametrize(("size", "kept"), [((48, 64), (48, 64)), ((47, 63), (48, 64))])
def test_a_clip_as_mind_has_it(size: tuple[int, int], kept: tuple[int, int], tmp_path: Path) -> None:
    """H.264 by x264, quality 18, at the video's own rate and size; odd sides repeat their last row and column."""
    ramp = np.broadcast_to(np.linspace(0, 240, size[1]).astype(np.uint8)[None, :, None], (*size, 3))
    frames = np.stack([ramp, ramp // 2, np.full((*size, 3), (200, 40, 40), np.uint8)])
    write_x264(tmp_path / "a.mp4", frames, 23.976)
    assert b"crf=18.0" in (tmp_path / "a.mp4").read_bytes(), "x264 writes down what it was asked"
    video = cv2.VideoCapture(str(tmp_path / "a.mp4"))
    assert video.get(cv2.CAP_PROP_FPS) == pytest.approx(23.976, abs=1e-3)
    assert int(video.get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little") in (b"h264", b"avc1")
    seen = [video.read()[1] for _ in range(3)]
    assert not video.read()[0], "as many frames as were given"
    assert seen[0].shape == (*kept, 3)
    for frame, given in zip(seen, frames, strict=True):
        error = np.abs(frame[: size[0], : size[1], ::-1].astype(int) - given)
        assert error.mean() < 3


def test_x264_needs_pyav_and_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ImportError, match=r"clip=x264 writes H\.264 with PyAV, which is not here .*: pip install av"):
        Vipe(clip="x264", backend=Pipeline(1))
    assert Vipe(backend=Pipeline(1)).spec.settings["clip"] == "mp4v", "nothing else needs it"


def test_another_clip_is_refused() -> None:
    with pytest.raises(ValueError, match="vipe: clip is 'gif'; give 'mp4v' or 'x264'"):
        Vipe(clip="gif", backend=Pipeline(1))


@pytest.mark.parametrize("count", [97, 12])
def test_mind_shows_it_every_frame(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first 97 frames of a video, or all of fewer, and a pose of each; not the nine of Target-Bench."""
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    levels = np.linspace(20, 212, count).astype(np.uint8)
    video = Clip.from_array(np.broadcast_to(levels[:, None, None, None], (count, 36, 64, 3)), 24.0)
    at = f"cmd:{PYTHON} -m worldgauge_serve {MODELS / 'decoders.py'}:Vipe?clip=x264"
    with closing(pose_track._opened(at)):
        track = recover_poses(video, at, content="")
    pose_track._opened.cache_clear()
    assert (track.status, track.reason) == ("ok", "")
    assert track.frames.tolist() == list(range(count))
    assert track.poses is not None
    ahead = (levels.astype(float) - levels[0]) / 255
    np.testing.assert_allclose(track.poses[:, 2, 3], ahead, atol=0.02)
    np.testing.assert_allclose(track.poses[:, :3, :3], np.tile(np.eye(3), (count, 1, 1)), atol=1e-6)


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="OpenCV cannot write"):
        write_clip(tmp_path / "nowhere" / "a.mp4", np.zeros((1, 48, 64, 3), np.uint8))


def test_one_row_a_frame_and_nothing_left_behind() -> None:
    pipeline = Pipeline(9)
    frames = np.zeros((9, 48, 64, 3), np.uint8)
    arrays, facts = Vipe(backend=pipeline).estimate({"frames": frames}, {"seed": 8})
    assert arrays["poses"].shape == (9, 7)
    assert facts == {}
    ((clip, size),) = pipeline.clips
    assert size > 0
    assert not clip.parent.exists()
    assert pipeline.seeds == [8]
    with pytest.raises(ValueError, match="ViPE gave 9 poses of 8 frames"):
        Vipe(backend=pipeline).estimate({"frames": frames[1:]}, {})


def test_declares_itself() -> None:
    spec = Vipe(backend=Pipeline(1)).spec
    assert (spec.name, spec.kind, spec.layout) == ("vipe", "decoder", "vipe")
    assert spec.settings == {"pipeline": "published", "clip": "mp4v", "version": "0"}
    assert Vipe.needs == {"gpus": 1}


def test_from_a_served_process_to_a_path(brightening: DecodeRequest, is_the_walk: IsTheWalk) -> None:
    at = f"cmd:{PYTHON} -m worldgauge_serve {MODELS / 'decoders.py'}:Vipe"
    with closing(ServedDecoder(at)) as decoder:
        path = decoder.decode(brightening)
    is_the_walk(path, 1 / 255, tolerance=0.02)  # metres as it says, of a clip with losses
    assert (path.scale, path.anchor_estimated) == (1.0, None)


def test_says_what_is_not_installed() -> None:
    with isolated(), pytest.raises(ImportError, match=r"vipe cannot import '(torch|vipe)' .* give root=CLONE"):
        Vipe()


@pytest.mark.parametrize(("pipeline", "clip"), [("published", "mp4v"), ("no_vda", "mp4v"), ("default", "x264")])
def test_drives_the_repository(
    pipeline: str, clip: str, tmp_path: Path, brightening: DecodeRequest, is_the_walk: IsTheWalk
) -> None:
    pytest.importorskip("torch", reason="the repository's poses are torch")
    shutil.copy(vipe.__file__, tmp_path)  # beside it, `import vipe` must find the repository all the same
    settings = f"root={ROOT / 'vipe'}&pipeline={pipeline}&clip={clip}&cache={tmp_path}"
    at = f"cmd:sh -c 'cd {tmp_path} && exec {PYTHON} -m worldgauge_serve \"vipe.py:Vipe?{settings}\"'"
    with closing(ServedDecoder(at)) as decoder:
        path = decoder.decode(brightening)
        assert decoder.settings["settings"] == {"pipeline": pipeline, "clip": clip, "version": "0.1.0"}
    is_the_walk(path, 1 / 255, tolerance=0.02)


def test_what_the_pipeline_is_asked() -> None:
    pytest.importorskip("torch", reason="the repository's poses are torch")
    with isolated():
        model = Vipe(root=str(ROOT / "vipe"))
        model.estimate({"frames": np.zeros((2, 48, 64, 3), np.uint8)}, {})
        init, slam, post, output = model._backend._modules["vipe.pipeline.default"].DefaultAnnotationPipeline.made[-1]
    assert dict(slam) == dict(SLAM)
    assert (slam.keyframe_depth, slam.height, slam.width, slam.ba.dense_disp_alpha) == (
        "metric3d-small",
        384,
        512,
        0.01,
    )
    assert (init.camera_type, init.instance, post.depth_align_model) == ("pinhole", None, None)
    assert not output.save_artifacts


@pytest.mark.parametrize(("clip", "rate"), [("mp4v", 30), ("x264", 24)])
def test_at_which_rate_the_pipeline_sees_it(clip: str, rate: float, tmp_path: Path) -> None:
    """ViPE looks for what moves every two seconds of its clip, so the rate counts."""
    pytest.importorskip("torch", reason="the repository's poses are torch")
    with isolated():
        model = Vipe("default", clip, root=str(ROOT / "vipe"))
        model.estimate({"frames": np.zeros((2, 48, 64, 3), np.uint8)}, {"fps": 24.0})
        assert model._backend._modules["vipe.pipeline.default"].DefaultAnnotationPipeline.rates[-1] == rate
