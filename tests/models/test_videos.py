"""A folder of finished videos is a model: what it plays, what it refuses, and when it is another model."""

import os
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from PIL import Image as Pillow

from support.films import scene, write
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.model import HoldsVideos, RolloutRequest, checked_rollout
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.run import run
from worldgauge.engine.suite.contract import Task
from worldgauge.models import models
from worldgauge.models.videos import Videos, videos_in
from worldgauge.suites.loopnav.tasks import episode_of

TASK = "ABA/village_0/5/walk"
HORIZON = 12


def request(
    task: str = TASK, *, horizon: int = HORIZON, fps: float = 20.0, size: tuple[int, int] = (64, 48)
) -> RolloutRequest:
    width, height = size
    clip = Clip.from_array(np.zeros((1, height, width, 3), np.uint8), fps)
    camera = Camera.from_vertical_fov(width, height, 75)
    context = Context(clip, np.eye(4)[None], Actions(LOOP_WALK, np.zeros((0, 4), np.float32)), camera)
    future = Actions(LOOP_WALK, np.zeros((horizon, 4), np.float32))
    return RolloutRequest(context, horizon, seed=0, actions=future, task=task)


def put(root: Path, frames: np.ndarray, name: str = f"{TASK}.mp4", kind: str = "lossless") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, frames, kind)


def played(model: Videos, asked: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, asked)))


def test_plays_the_video_of_the_task_which_may_have_a_folder_of_its_own(tmp_path: Path) -> None:
    frames = scene(HORIZON)
    put(tmp_path / "one", frames)
    put(tmp_path / "one", scene(HORIZON)[::-1], "other.avi", "mjpg")
    model = models.get("videos")(root=str(tmp_path / "one"), name="wan")
    assert model.spec.name == "wan"
    np.testing.assert_array_equal(played(model, request()), frames)
    put(tmp_path / "two", frames, f"{TASK}/video.mp4")
    put(tmp_path / "two", frames, "video.mp4")
    assert sorted(videos_in(tmp_path / "two")) == [TASK, "video"]
    np.testing.assert_array_equal(played(Videos(str(tmp_path / "two")), request()), frames)


@pytest.mark.parametrize("suffix", ["mp4", "avi", "mkv", "webm", "mov", "MP4"])
def test_every_suffix_is_found(tmp_path: Path, suffix: str) -> None:
    plain = put(tmp_path / "made", scene(HORIZON), "a.mp4")
    (tmp_path / "root").mkdir()
    plain.rename(tmp_path / "root" / f"v1.2.{suffix}")
    assert len(played(Videos(str(tmp_path / "root")), request("v1.2"))) == HORIZON


@pytest.mark.parametrize(
    ("container", "codec", "pixels"),
    [("mp4", "libx264", "yuv420p"), ("webm", "libvpx-vp9", "yuv420p"), ("matroska", "libx264", "yuv444p")],
)
def test_videos_of_other_tools_are_no_damage(tmp_path: Path, container: str, codec: str, pixels: str) -> None:
    """B frames, and a container that keeps time in milliseconds."""
    path = tmp_path / {"matroska": "a.mkv"}.get(container, f"a.{container}")
    with av.open(str(path), "w", format=container) as out:
        stream = out.add_stream(codec, rate=Fraction(24000, 1001))
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixels
        for frame in scene(HORIZON):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        out.mux(stream.encode(None))
    assert len(played(Videos(str(tmp_path)), request("a", fps=24000 / 1001))) == HORIZON
    assert len(played(Videos(str(tmp_path)), request("a", fps=24.0))) == HORIZON


def test_videos_of_opencv_are_no_damage(tmp_path: Path) -> None:
    out = cv2.VideoWriter(str(tmp_path / "a.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 20.0, (64, 48))
    for frame in scene(HORIZON):
        out.write(frame[..., ::-1])
    out.release()
    shown = played(Videos(str(tmp_path)), request("a"))
    assert np.abs(shown.astype(int) - scene(HORIZON)).mean() < 12


def variable(path: Path, steps_ms: list[int]) -> Path:
    """A GIF-like MKV of the scene whose frames last for `steps_ms`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("ffv1", rate=20)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "bgr0"
        stream.codec_context.time_base = stream.time_base = Fraction(1, 1000)
        for n, frame in enumerate(scene(len(steps_ms))):
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24").reformat(format="bgr0")
            picture.pts, picture.time_base = sum(steps_ms[:n]), Fraction(1, 1000)
            out.mux(stream.encode(picture))
        out.mux(stream.encode(None))
    return path


def test_a_variable_rate_is_resampled_to_what_is_asked(tmp_path: Path) -> None:
    """Never one by one at the average rate, unless the user says so."""
    variable(tmp_path / f"{TASK}.mkv", [50, 50, 150, 50, 100, 50, 50, 50])
    shown = [0, 1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 7]
    with pytest.raises(ModelError, match="holds 11 frames, 12 are needed"):
        played(Videos(str(tmp_path)), request())
    played_back = played(Videos(str(tmp_path)), request(horizon=11))
    np.testing.assert_array_equal(played_back, scene(8)[shown[:11]])
    np.testing.assert_array_equal(played(Videos(str(tmp_path), fps="ignore"), request(horizon=8)), scene(8))
    np.testing.assert_array_equal(
        played(Videos(str(tmp_path), fps=10), request(horizon=6, fps=10.0)), scene(8)[[0, 2, 2, 4, 5, 7]]
    )


def test_a_folder_of_images_is_a_video_where_the_rate_is_given(tmp_path: Path) -> None:
    for name in (TASK, "v1.2", "alone/video", "clip/beside"):
        (tmp_path / name).mkdir(parents=True)
        for n, frame in enumerate(scene(HORIZON)):
            cv2.imwrite(str(tmp_path / name / f"{n}.png"), frame[..., ::-1])
    put(tmp_path, scene(HORIZON), "clip/beside/video.mp4")
    cv2.imwrite(str(tmp_path / "overview.png"), scene(1)[0])
    assert videos_in(tmp_path) == {
        TASK: [tmp_path / TASK],
        "v1.2": [tmp_path / "v1.2"],
        "alone": [tmp_path / "alone/video"],
        "clip/beside": [tmp_path / "clip/beside/video.mp4"],
    }
    for task in (TASK, "v1.2", "alone"):
        for fps in (20, "ignore"):
            shown = played(Videos(str(tmp_path), fps=fps), request(task))  # type: ignore[arg-type]
            np.testing.assert_array_equal(shown, scene(HORIZON))
        with pytest.raises(DataError, match="a folder of images states no frame rate; give it, such as score --video"):
            played(Videos(str(tmp_path)), request(task))
    model = Videos(str(tmp_path), fps=20)
    changed = tmp_path / TASK / "3.png"
    changed.write_bytes(changed.read_bytes()[:99])
    with pytest.raises(ModelError, match="changed since the run began"):
        played(model, request())
    with pytest.raises((ModelError, DataError), match=r"3\.png"):
        played(Videos(str(tmp_path), fps=20), request())
    (tmp_path / TASK / "4.png").unlink()
    (tmp_path / TASK / "4.png").symlink_to(tmp_path.parent / "4.png")
    (tmp_path.parent / "4.png").write_bytes(changed.read_bytes())
    with pytest.raises(UsageError, match=r"4\.png is a link that leads out of"):
        Videos(str(tmp_path))


def test_gif_and_m4v_are_found(tmp_path: Path) -> None:
    put(tmp_path, scene(HORIZON), "a.mp4").rename(tmp_path / "a.m4v")
    pictures = [Pillow.fromarray(frame) for frame in scene(HORIZON)]
    pictures[0].save(tmp_path / "b.gif", save_all=True, append_images=pictures[1:], duration=50)
    for task in ("a", "b"):
        shown = played(Videos(str(tmp_path)), request(task))
        assert np.abs(shown.astype(int) - scene(HORIZON)).mean() < 3


def test_what_does_not_fit_the_request_is_refused_or_resized(tmp_path: Path) -> None:
    frames = scene(HORIZON)
    put(tmp_path, frames)
    model = Videos(str(tmp_path))
    expected = Clip.from_array(frames, 20.0).resized(32, 24).to_array()
    np.testing.assert_array_equal(played(model, request(size=(32, 24))), expected)
    says = r"no video of this task: expected .*/ABA/other\.mp4 or .*/ABA/other/video\.mp4 \(or \.avi, \.mkv"
    with pytest.raises(ModelError, match=says):
        played(model, request("ABA/other"))
    with pytest.raises(NotApplicableError, match="names no task"):
        played(model, request(""))
    with pytest.raises(ModelError, match="runs at 20 frames/s, and 16 were asked for; give fps=20"):
        played(model, request(fps=16.0))
    np.testing.assert_array_equal(played(Videos(str(tmp_path), fps="ignore"), request(fps=16.0)), frames)
    # Rates may part by less than half a frame.
    for fps in (20.8, 19.3):
        assert len(played(model, request(fps=fps))) == HORIZON
    for fps in (20.9, 19.2):
        with pytest.raises(ModelError, match="were asked for"):
            played(model, request(fps=fps))
    put(tmp_path, frames, f"{TASK}.avi", "mjpg")
    with pytest.raises(ModelError, match=r"two videos of one task: .*walk\.avi and .*walk\.mp4"):
        played(Videos(str(tmp_path)), request())


@pytest.mark.parametrize(
    "task", ["../outside", "ABA/../../outside", "{root}/outside", "./inside", "inside/", "\0", "a\nb", "~/x"]
)
def test_a_task_id_leads_nowhere_but_into_the_folder(tmp_path: Path, task: str) -> None:
    put(tmp_path, scene(HORIZON), "outside.mp4")
    put(tmp_path, scene(HORIZON), "root/inside.mp4")
    with pytest.raises(ModelError, match="no video of this task"):
        played(Videos(str(tmp_path / "root")), request(task.format(root=tmp_path)))


def test_links_may_lead_within_the_folder_only(tmp_path: Path) -> None:
    inside = put(tmp_path, scene(HORIZON), "root/inside.mp4")
    outside = put(tmp_path, scene(HORIZON), "outside.mp4")
    (tmp_path / "root" / "again.mp4").symlink_to(inside)
    (tmp_path / "root" / "gone.mp4").symlink_to(tmp_path / "nowhere")
    (tmp_path / "root" / "folder").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "root")
    model = Videos(str(tmp_path / "link"))
    assert len(played(model, request("again"))) == HORIZON
    for task in ("gone", "folder/outside"):
        with pytest.raises(ModelError, match="no video of this task"):
            played(model, request(task))
    (tmp_path / "root" / "escape.mp4").symlink_to(outside)
    with pytest.raises(UsageError, match=r"escape\.mp4 is a link that leads out of"):
        Videos(str(tmp_path / "root"))


def test_too_short_is_an_error_and_too_long_may_be_cut(tmp_path: Path) -> None:
    put(tmp_path / "short", scene(HORIZON - 1))
    for longer in ("error", "cut"):
        with pytest.raises(ModelError, match="holds 11 frames, 12 are needed"):
            played(Videos(str(tmp_path / "short"), longer=longer), request())
    frames = scene(HORIZON + 3)
    put(tmp_path / "long", frames)
    with pytest.raises(ModelError, match=r"holds 15 frames, 12 are needed; .*longer=cut"):
        played(Videos(str(tmp_path / "long")), request())
    np.testing.assert_array_equal(played(Videos(str(tmp_path / "long"), longer="cut"), request()), frames[:HORIZON])


def test_a_suite_that_takes_any_video_gets_the_file_itself(tmp_path: Path) -> None:
    """Whatever its length and rate; everything else is held to the same rules."""
    path = put(tmp_path, scene(HORIZON - 5))
    model = Videos(str(tmp_path))
    assert isinstance(model, HoldsVideos)
    assert model.video_of(TASK) == path
    with pytest.raises(ModelError, match="7 frames, 12 are needed"):
        played(model, request())
    for task, error in (("ABA/other", ModelError), ("../outside", ModelError), ("", NotApplicableError)):
        with pytest.raises(error):
            model.video_of(task)
    put(tmp_path, scene(HORIZON), f"{TASK}.avi", "mjpg")
    with pytest.raises(ModelError, match="two videos of one task"):
        Videos(str(tmp_path)).video_of(TASK)
    os.utime(path, ns=(0, 0))
    with pytest.raises(ModelError, match="changed since the run began"):
        model.video_of(TASK)


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (None, ModelError, r"walk\.mp4: .*; write this video again"),
        (b"", DataError, "not a readable video"),
        (b"no video at all" * 50, DataError, "not a readable video"),
    ],
)
def test_a_damaged_file_is_neither_played_nor_handed_out(tmp_path: Path, content, error, says) -> None:
    path = put(tmp_path, scene(HORIZON))
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 1500] = bytes(1500)
    path.write_bytes(data if content is None else content)
    with pytest.raises(error, match=says):
        played(Videos(str(tmp_path)), request())
    with pytest.raises((ModelError, DataError), match=r"walk\.mp4"):
        Videos(str(tmp_path)).video_of(TASK)


def test_a_video_cut_in_half_says_so(tmp_path: Path) -> None:
    for name, kind in ((f"{TASK}.mp4", "lossless"), ("half.avi", "mjpg")):
        path = put(tmp_path, scene(HORIZON), name, kind)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises((ModelError, DataError), match=path.name):
            played(Videos(str(tmp_path)), request(name.rpartition(".")[0]))


def test_a_video_that_changes_under_the_run_is_not_played(tmp_path: Path) -> None:
    path = put(tmp_path, scene(HORIZON))
    model = Videos(str(tmp_path))
    os.utime(path, ns=(0, 0))
    with pytest.raises(ModelError, match="changed since the run began"):
        played(model, request())
    path.unlink()
    with pytest.raises(ModelError, match="changed since the run began"):
        played(model, request())


def test_identity_is_the_contents_and_not_the_place(tmp_path: Path) -> None:
    def identity(folder: str) -> object:
        return resolve_model(f"videos?root={tmp_path / folder}").identity

    for folder in ("one", "two", "bytes", "name", "more"):
        put(tmp_path, scene(HORIZON), f"{folder}/a/b.mp4")
    put(tmp_path, scene(HORIZON)[::-1].copy(), "bytes/a/b.mp4")
    (tmp_path / "name" / "a" / "b.mp4").rename(tmp_path / "name" / "b.mp4")
    put(tmp_path, scene(HORIZON), "more/c.mp4")
    (tmp_path / "two" / "notes.txt").write_text("no video")
    assert identity("one") == identity("two")
    assert len({str(identity(folder)) for folder in ("one", "bytes", "name", "more")}) == 4
    assert Videos(str(tmp_path / "one"), longer="cut").spec != Videos(str(tmp_path / "one")).spec


def test_what_cannot_be_a_folder_of_videos(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        videos_in(tmp_path / "absent")
    (tmp_path / "notes.txt").write_text("no video")
    with pytest.raises(UsageError, match="is no folder; give root=FOLDER"):
        Videos(str(tmp_path / "absent"))
    with pytest.raises(UsageError, match="holds no video; expected <id of the task>"):
        Videos(str(tmp_path))
    path = put(tmp_path, scene(HORIZON))
    (tmp_path / "empty.webm").write_bytes(b"")
    assert videos_in(tmp_path) == {TASK: [path], "empty": [tmp_path / "empty.webm"]}, "listing opens nothing"
    with pytest.raises(UsageError, match="longer is 'loop'; give error or cut"):
        Videos(str(tmp_path), longer="loop")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="control is 'keys'"):
        Videos(str(tmp_path), control="keys")  # type: ignore[arg-type]


def test_the_recorded_future_scores_as_the_truth(walks: Path, tasks: list[Task], tmp_path: Path) -> None:
    """Through the engine and its worker: perfect where there is a video, failed and counted where there is none."""
    episode, start = episode_of(tasks[0])
    path = tmp_path / "root" / f"{tasks[0].id}.mp4"
    path.parent.mkdir(parents=True)
    with Writer(path, fps=episode.clip.fps, kind="lossless") as out:
        out.write(episode.clip[start:].to_array())
    result = run("loopnav", model=f"videos?root={tmp_path / 'root'}", data=walks, out=tmp_path / "runs")
    assert str(result.counts) == "2 expected = 1 scored + 0 skipped + 1 failed"
    frame = result.frame
    values = frame[(frame.task == tasks[0].id) & (frame.metric == "mse")].value
    assert values.tolist() == [0.0]
    assert "no video of this task" in str(result.failures)
