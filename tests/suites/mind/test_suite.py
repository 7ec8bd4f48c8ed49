"""The suite on small data of the published layout: what is asked, kept and scored, and what each switch does."""

import dataclasses
import json
import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import av
import numpy as np
import pytest

from suites.mind.mind_data import write_published
from support.decodes import count_decodes
from support.films import write
from support.places import TESTS
from support.task_context import Given, QuietContext
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UsageError
from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.core.model import ModelSpec
from worldgauge.core.video import Clip, header_frames, resize
from worldgauge.engine.open_suite import clusters_of
from worldgauge.engine.result import export
from worldgauge.engine.resume import score_key, task_key
from worldgauge.engine.run import RunRequest, run, score
from worldgauge.engine.suite.contract import Failure
from worldgauge.engine.suite.decoy import judged_suite
from worldgauge.engine.videos import score_videos
from worldgauge.metrics.frame_pairs import pair_error, prepared
from worldgauge.metrics.lpips_fvd import dino_mse
from worldgauge.models import models
from worldgauge.models.baselines.truth import TruthModel
from worldgauge.perception.colmap import write_images_txt
from worldgauge.perception.loading import open_perception
from worldgauge.suites.mind.format.files import IMAGES
from worldgauge.suites.mind.format.read import keys_of, load
from worldgauge.suites.mind.format.results import results_of
from worldgauge.suites.mind.metrics.action_accuracy import labels_of
from worldgauge.suites.mind.metrics.scene_consistency import gsc_mse
from worldgauge.suites.mind.protocol import KeyQuestions, question_of, request_of
from worldgauge.suites.mind.settings import MindSettings
from worldgauge.suites.mind.suite import ActionFollowing, Mind
from worldgauge.suites.mind.tasks import clip_of
from worldgauge.worlds import caption_of

pytestmark = pytest.mark.usefixtures("compared_small")

FRAMES = 45
MEM = "1st_data/mem_test/data-25"
PATH = "1st_data/mirror_test/data-0/path-1"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_published(tmp_path_factory.mktemp("published"), clips=1, frames=FRAMES, size=(96, 54))


@pytest.fixture(scope="module")
def tasks(data):
    return {task.id: task for task in Mind().tasks(data)}


def test_the_power_of_a_data_set_is_that_of_its_memory_clips(tasks):
    counted = [task.group["test"] for task in tasks.values() if Mind().counts_in_headline(task)]
    assert counted
    assert set(counted) == {"mem"}
    assert all(Mind(tests="mirror").counts_in_headline(task) for task in tasks.values())
    assert len(clusters_of(Mind(), tasks.values())) == len(counted)


def perform(model, task, folder, **settings):
    folder.mkdir(parents=True, exist_ok=True)
    return Mind(**settings).perform(task, model, QuietContext(folder))


def scored(record, **settings):
    """By known poses, unless said: decoding has its own tests."""
    suite = Mind(**{"poses": "exact", **settings})
    return {s.metric: s for s in suite.score(record, QuietContext(record.directory))}


def finished(task, frames, folder, name="video.mp4", kind="lossless"):
    """A record of a video that somebody made."""
    (folder / task.id).mkdir(parents=True)
    write(folder / task.id / name, frames, kind)
    return perform(models.get("videos")(root=str(folder)), task, folder / "record")


def slide(positions, size=(96, 54), seed=5):
    """What a camera sees that slides along a wall."""
    width, height = size
    wall = np.random.default_rng(seed).integers(0, 256, (height // 6, width, 3), np.uint8).repeat(6, 0).repeat(3, 1)
    return np.stack([wall[:, 60 + p : 60 + p + width] for p in positions])


class Places:
    """Draws what is seen from a place as the same noise, whenever the camera is there, and the start as it was."""

    def __init__(self, fps):
        self.spec = ModelSpec("places", control="camera", fps=fps)

    def rollout(self, request):
        width, height = request.frame_size
        start = request.context.poses[-1, :3, 3]
        for place in np.linalg.norm(request.poses[:, :3, 3] - start, axis=1):
            seed = round(1e6 * place)
            noise = np.random.default_rng(seed).integers(0, 256, (1, height, width, 3), np.uint8)
            yield noise if seed else request.context.clip[-1][None]


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


OUT_AND_BACK = [*range(1, 25), *range(23, -1, -1)]


@pytest.fixture
def root(data, tmp_path):
    """A copy of the data, to be spoiled."""
    return Path(shutil.copytree(data, tmp_path / "data"))


def question_on(task, **settings):
    return question_of(clip_of(task), MindSettings.of(settings))


@pytest.mark.parametrize("name", [MEM, PATH])
def test_scoring_decodes_each_frame_once(name, tasks, tmp_path, monkeypatch, compared_small):
    record = perform(models.get("freeze")(), tasks[name], tmp_path)
    decodes = count_decodes(monkeypatch)
    scored(record)
    rollout = {index: times for (path, index), times in decodes.items() if "rollout" in path}
    assert rollout == dict.fromkeys(range(record.facts["frames_generated"]), 1)
    assert set(decodes.values()) == {1}


class TestTasks:
    def test_every_test_and_perspective_is_asked_for_in_order(self, data, tasks):
        assert len(tasks) == 2 * (1 + 1 + 10)
        assert list(tasks)[:3] == [MEM, "1st_data/action_space_test/data-0-1.0x-200", PATH]
        assert [task.id for task in Mind().tasks(data)] == list(tasks)
        json.dumps([dict(task.sample) for task in tasks.values()], allow_nan=False)
        group = tasks[PATH].group
        assert (group["test"], group["perspective"], group["path"]) == ("mirror", "first person", "w")
        one = {"tests": "mirror", "perspectives": "1st"}
        for settings, count in (({"tests": "mem"}, 2), ({"perspectives": "3rd"}, 12), (one, 10)):
            assert len(list(Mind(**settings).tasks(data))) == count

    def test_a_missing_perspective_is_absent_and_an_empty_folder_one_clear_error(self, data, tmp_path):
        with pytest.raises(DataError, match="try --data worldgauge-small"):
            list(Mind().tasks(tmp_path))
        shutil.copytree(data / "3rd_data", tmp_path / "3rd_data")
        assert {task.group["perspective"] for task in Mind().tasks(tmp_path)} == {"third person"}

    def test_a_broken_clip_is_a_task_that_fails_by_name(self, root, tmp_path):
        (root / "1st_data/test/mem_test/data-25/action.json").unlink()
        broken = {task.id: task for task in Mind().tasks(root)}
        assert len(broken) == 24
        with pytest.raises(DataError, match=r"action\.json"):
            perform(models.get("freeze")(), broken[MEM], tmp_path / "r")


def fewer_rows(rows):
    parsed = json.loads(rows.read_text())
    rows.write_text(json.dumps({**parsed, "data": parsed["data"][:-5]}))


def torn(video, first, last):
    """Zeros in a part of the file."""
    content = video.read_bytes()
    video.write_bytes(content[:first] + bytes(last - first) + content[last:])


class TestBadInput:
    """Each is one line that names the file, the others go on, and the counts add up."""

    @pytest.mark.parametrize(
        ("file", "spoil"),
        [
            slow("action.json", Path.unlink),
            ("action.json", lambda path: path.write_text("{")),
            slow("action.json", fewer_rows),
            slow("video.mp4", Path.unlink),
            slow("video.mp4", lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])),
            slow("video.mp4", lambda path: path.write_bytes(b"no video")),
            ("video.mp4", lambda path: torn(path, path.stat().st_size // 2, path.stat().st_size // 2 + 200)),
        ],
    )
    def test_a_bad_clip_fails_alone(self, root, tmp_path, file, spoil):
        spoil(root / "1st_data/test/mem_test/data-25" / file)
        settings = {"tests": "mem", "poses": "exact"}
        result = run("mind", model=models.get("freeze")(), data=root, out=tmp_path / "runs", settings=settings)
        counts = result.counts
        assert (counts.expected, counts.scored, counts.skipped, counts.failed) == (2, 1, 0, 1)
        (failure,) = result.failures
        assert failure.task == MEM
        assert file in failure.error
        assert "\n" not in failure.error

    @pytest.mark.slow
    def test_gaps_in_the_numbers_of_videos_are_failures_by_name(self, data, tmp_path):
        model = tmp_path / "videos/wan"
        for number in (1, 2, 4):
            path = model / f"1st_data/mirror_test/data-0/path-{number}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, slide(OUT_AND_BACK), "lossless")
        settings = {"tests": "mirror", "perspectives": "1st"}
        request = RunRequest("mind", data=data, out=tmp_path / "runs", settings=settings)
        result, _ = score_videos(request, model)
        assert (result.counts.expected, result.counts.scored, result.counts.failed) == (10, 3, 7)
        assert any("path-3.mp4" in failure.error for failure in result.failures)


class TestQuestion:
    def test_frames_rows_and_poses_line_up(self, tasks):
        clip = clip_of(tasks[MEM])
        question = question_of(clip, MindSettings.of({}))
        request = request_of(question, ModelSpec("m"), MindSettings.of({}))
        assert (clip.mark_time, request.horizon, len(request.context)) == (FRAMES // 3, FRAMES - FRAMES // 3, 15)
        keys = keys_of(clip)[clip.mark_time :]
        np.testing.assert_array_equal(request.actions.column("forward"), keys[:, 0] == 1)
        np.testing.assert_array_equal(request.actions.column("look_right"), keys[:, 3] == 2)
        episode = load(clip)
        np.testing.assert_array_equal(question.poses, episode.poses[clip.mark_time :])
        np.testing.assert_array_equal(question.truth[0], episode.clip[clip.mark_time])

    def test_the_caption_is_that_of_the_data(self, tasks):
        def caption(question):
            return request_of(question, ModelSpec("m"), MindSettings.of({})).caption

        question = question_on(tasks[MEM])
        world = WorldFacts("third-person", {"kind": "urban", "seed": 1})
        for told, known, expected in (
            ("A quiet street.", world, "A quiet street."),
            ("", world, caption_of(world)),
            ("", None, None),
        ):
            episode = dataclasses.replace(question.episode, world=known, facts={"caption": told})
            assert caption(dataclasses.replace(question, episode=episode)) == expected

    def test_horizon_and_context_are_cut(self, tasks):
        settings = MindSettings.of({"horizon": 7, "context": 1})
        question = question_of(clip_of(tasks[MEM]), settings)
        request = request_of(question, ModelSpec("m"), settings)
        assert (request.horizon, len(request.context)) == (7, 1)
        np.testing.assert_array_equal(request.context.clip[-1], question.episode.clip[14])

    def test_a_path_is_asked_of_its_image_alone(self, tasks):
        question = question_on(tasks[PATH])
        request = request_of(question, ModelSpec("m", control="camera"), MindSettings.of({}))
        assert (len(request.context), request.horizon) == (1, 48)
        states = np.concatenate([request.context.poses, request.poses])
        np.testing.assert_allclose(states, states[::-1], atol=1e-9)
        assert np.linalg.norm(states[24, :3, 3] - states[0, :3, 3]) == pytest.approx(2.0)

    def test_in_third_person_the_camera_swings_round_the_figure(self, tasks):
        question = question_on(tasks["3rd_data/mirror_test/data-0/path-7"])
        pivots = question.poses[:, :3, 3] + 2.5 * question.poses[:, :3, 2]
        steps = np.linalg.norm(np.diff(pivots, axis=0), axis=1)
        np.testing.assert_allclose(steps[:22], 2 / 24, atol=1e-9)

    def test_what_cannot_be_asked_is_a_skip(self, tasks):
        question = question_on(tasks[MEM])
        with pytest.raises(NotApplicableError, match="'m'"):
            request_of(question, ModelSpec("m", view="panorama"), MindSettings.of({}))

    @pytest.mark.parametrize(("fps", "resample", "missing"), [(16, "nearest", 0), (25, "blend", 1), (7, "nearest", 3)])
    def test_exact_poses_do_not_lose_by_the_rate_of_the_model(self, tasks, tmp_path, fps, resample, missing):
        """The path is compared at the times of the recording, and errors of a steady walk are those of rounding."""
        record = perform(TruthModel(fps=fps), tasks[MEM], tmp_path / "a", resample=resample)
        bridge = record.facts["bridge"]
        assert (bridge["own_fps"], bridge["fps"], bridge["resample"]) == (fps, 24, resample)
        assert (record.facts["frames_generated"], bridge["never_imagined"]) == (30 - missing, missing)
        found = scored(record)
        plain = scored(perform(TruthModel(), tasks[MEM], tmp_path / "b"))
        assert found["lcm/rpe_rot_deg"].value == pytest.approx(plain["lcm/rpe_rot_deg"].value, abs=0.2)
        assert found["lcm/rpe_trans"].value == pytest.approx(plain["lcm/rpe_trans"].value, abs=0.02)
        assert found["lcm/mse_720p"].n == 30 - missing
        assert found["lcm/mse_720p"].value > plain["lcm/mse_720p"].value == 0

    def test_a_mirrored_path_comes_back_at_another_rate(self, tasks, tmp_path):
        """48 frames at 24 a second are 32 at 16: resampled again, the way back shows the frames of the way out."""
        record = perform(Places(16), tasks[PATH], tmp_path)
        assert (record.facts["bridge"]["own_frames"], record.facts["frames_generated"]) == (32, 48)
        found = scored(record)
        assert (found["gsc_aligned_mse"].value, found["gsc_aligned_mse"].n) == (0, 24)
        assert found["gsc_aligned_mse"].facts["frames_asked"] == 48

    def test_frames_never_imagined_are_no_reason_for_a_flag(self, tasks, tmp_path):
        suite = Mind(poses="exact")
        record = perform(TruthModel(fps=7), tasks[MEM], tmp_path / "a")
        scores = suite.score(record, QuietContext(record.directory))
        tables = suite.summarize({"truth": scores}, {"truth": "baseline"}, {})
        assert [row.flag for row in tables[0].rows] == [""]


class TestMemory:
    def test_every_frame_counts_and_matches_the_metric(self, tasks, tmp_path):
        frames = slide(list(range(30)))
        found = scored(perform(Given(frames), tasks[MEM], tmp_path))
        truth = question_on(tasks[MEM]).truth
        expected = [pair_error(prepared(a), prepared(b)) for a, b in zip(frames, truth, strict=True)]
        for metric in ("mse", "psnr", "ssim"):
            score = found[f"lcm/{metric}_720p"]
            assert score.n == 30
            assert score.value == pytest.approx(np.mean([getattr(e, metric) for e in expected]))
            assert score.series[11][1] == getattr(expected[11], metric)

    def test_truth_is_perfect_and_says_so(self, tasks, tmp_path):
        found = scored(perform(models.get("truth")(), tasks[MEM], tmp_path))
        assert (found["lcm/mse_720p"].value, found["lcm/ssim_720p"].value) == (0.0, 1.0)
        assert found["lcm/psnr_720p"].value == float("inf")
        back = found["lcm/returned_detail"]
        assert (back.value, back.reason) == (None, "the world of this recording is not known")
        assert found["lcm/mse_720p"].facts["motion"] == found["lcm/mse_720p"].facts["real_motion"] > 0

    def test_of_a_hundred_frames_the_release_scores_none(self, tasks, tmp_path):
        record = perform(Given(slide(list(range(30)))), tasks[MEM], tmp_path)
        score = scored(record, window="released")["lcm/mse_720p"]
        assert score.value is None
        assert "100 * floor((30 - 1) / 100) = 0" in score.reason

    def test_a_short_video_is_scored_on_what_is_there(self, tasks, tmp_path):
        found = scored(finished(tasks[MEM], slide(list(range(12))), tmp_path))
        facts = found["lcm/mse_720p"].facts
        assert (found["lcm/mse_720p"].n, facts["frames_scored"], facts["frames_asked"]) == (12, 12, 30)

    def test_a_long_one_on_what_was_recorded(self, tasks, tmp_path):
        found = scored(finished(tasks[MEM], slide(list(range(40))), tmp_path))["lcm/mse_720p"]
        assert (found.n, found.facts["is_longer"]) == (30, True)

    def test_one_that_holds_the_context_too_is_refused(self, tasks, tmp_path):
        with pytest.raises(ModelError, match="cut off the first 15"):
            finished(tasks[MEM], slide(list(range(FRAMES))), tmp_path)

    def test_a_silent_header_is_believed_only_on_request(self, tasks, tmp_path):
        folder = tmp_path / tasks[MEM].id
        folder.mkdir(parents=True)
        # Matroska does not say how many frames it holds.
        with av.open(str(folder / "video.mkv"), "w") as out:
            stream = out.add_stream("libx264rgb", rate=24, options={"crf": "0"})
            stream.width, stream.height, stream.pix_fmt = 96, 54, "rgb24"
            for frame in slide(list(range(30))):
                out.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
            out.mux(stream.encode())
        assert header_frames(folder / "video.mkv") == 0
        record = perform(models.get("videos")(root=str(tmp_path)), tasks[MEM], tmp_path / "record")
        assert scored(record, frame_count="header")["lcm/mse_720p"].value is None
        assert scored(record)["lcm/mse_720p"].n == 30

    @pytest.mark.parametrize("size", [(48, 48), slow((64, 27))])
    def test_a_model_of_another_shape_is_held_to_all_of_the_view(self, tasks, tmp_path, size):
        """It was shown the whole view squeezed, so that is what it draws."""

        class Squeezed(Given):
            def __init__(self):
                self.spec = ModelSpec("squeezed", frame_size=size, inputs=frozenset({"truth"}))

            def rollout(self, request):
                yield request.truth.to_array()

        truth = question_on(tasks[MEM]).truth
        expected = [pair_error(prepared(resize(resize(f, *size), 96, 54)), prepared(f)).mse for f in truth]
        found = scored(perform(Squeezed(), tasks[MEM], tmp_path))["lcm/mse_720p"]
        assert found.value == pytest.approx(np.mean(expected))

    def test_another_rate_is_kept_with_the_score(self, tasks, tmp_path):
        facts = scored(finished(tasks[MEM], slide(list(range(30))), tmp_path))["lcm/mse_720p"].facts
        assert (facts["fps"], facts["recorded_fps"]) == (20, 24)

    def test_learned_metrics_say_what_is_absent(self, tasks, tmp_path):
        found = scored(perform(models.get("freeze")(), tasks[MEM], tmp_path))
        for metric in ("lpips_720p", "dino_mse", "aesthetic", "imaging"):
            score = found[f"lcm/{metric}"]
            assert score.value is None
            assert score.reason
            assert "weights" in score.reason

    @pytest.mark.parametrize("horizon", [2, 24])
    def test_motion_is_judged_on_short_horizons_too(self, tasks, tmp_path, horizon):
        found = scored(perform(models.get("freeze")(), tasks[MEM], tmp_path, horizon=horizon), horizon=horizon)
        facts = found["lcm/mse_720p"].facts
        assert facts["motion"] == 0
        assert facts["real_motion"] > 0

    def test_a_damaged_record_is_named(self, tasks, tmp_path):
        record = perform(models.get("freeze")(), tasks[MEM], tmp_path)
        write(record.directory / str(record.rollout), slide([1, 2, 3]), "lossless")
        with pytest.raises(DataError, match="3 frames where 30 were recorded"):
            scored(record)


class TestReturning:
    def test_a_perfect_return_is_zero_aligned_and_not_as_released(self, tasks, tmp_path):
        start = Clip.from_array(load(clip_of(tasks[PATH])).clip.to_array(), 24)[0]
        walk = np.stack([np.roll(start, -p, axis=1) for p in OUT_AND_BACK])
        found = scored(perform(Given(walk), tasks[PATH], tmp_path))
        assert found["gsc_aligned_mse"].value == 0
        assert found["gsc_mse"].value == pytest.approx(gsc_mse(Clip.from_array(walk, 24)))
        assert found["gsc_mse"].value > 0
        assert found["gsc_mse"].facts["moves"] is True
        assert (found["gsc_mse"].n, found["gsc_aligned_mse"].n) == (24, 24)

    def test_a_frozen_video_is_perfect_and_does_not_move(self, tasks, tmp_path):
        found = scored(perform(models.get("freeze")(), tasks[PATH], tmp_path))
        assert (found["gsc_aligned_mse"].value, found["gsc_mse"].value) == (0, 0)
        assert found["out_leg_motion"].value == 0
        assert found["gsc_mse"].facts["moves"] is False

    @pytest.mark.parametrize("count", [48, 50])
    def test_stillness_is_seen_at_any_length_and_with_an_odd_frame(self, tasks, tmp_path, count):
        start = load(clip_of(tasks[PATH])).clip[0]
        frames = np.repeat(start[None], count, axis=0)
        frames[count // 2 - 1] = slide([40])[0]
        found = scored(finished(tasks[PATH], frames, tmp_path, "../path-1.mp4"))
        assert found["gsc_mse"].value is not None
        assert found["gsc_mse"].facts["moves"] is False

    def test_without_real_clips_the_true_path_says_how_much_motion_there_is(self, clips, tmp_path):
        shutil.copytree(clips / "1st_data/test/mirror_test", tmp_path / "data/1st_data/test/mirror_test")
        task = next(iter(Mind().tasks(tmp_path / "data")))
        found = scored(perform(models.get("freeze")(), task, tmp_path / "r"))
        assert found["gsc_mse"].facts["real_motion"] > 0
        assert found["gsc_mse"].facts["moves"] is False

    @pytest.mark.parametrize(
        ("count", "aligned", "released"),
        [slow(48, True, True), (46, False, True), (49, False, False), (47, False, False)],
    )
    def test_another_length_is_no_silent_pairing(self, tasks, tmp_path, count, aligned, released):
        found = scored(finished(tasks[PATH], slide(list(range(count))), tmp_path, "../path-1.mp4"))
        assert (found["gsc_aligned_mse"].value is not None, found["gsc_mse"].value is not None) == (aligned, released)
        if not aligned:
            assert f"holds {count} frames" in str(found["gsc_aligned_mse"].reason)
        if count == 49:
            assert "begins with the start image" in str(found["gsc_aligned_mse"].reason)

    def test_a_frozen_video_of_another_shape_does_not_move_either(self, tasks, tmp_path):
        class Square(Given):
            def __init__(self):
                self.spec = ModelSpec("square", frame_size=(54, 54))

            def rollout(self, request):
                yield np.repeat(request.context.clip[-1][None], request.horizon, axis=0)

        found = scored(perform(Square(), tasks[PATH], tmp_path))
        assert (found["out_leg_motion"].value, found["gsc_aligned_mse"].value) == (0, 0)
        assert found["gsc_mse"].facts["moves"] is False

    @pytest.mark.parametrize(("count", "value"), [(22, False), (20, True), slow(42, False)])
    def test_a_lone_pair_is_an_error_only_as_released(self, tasks, tmp_path, count, value):
        record = finished(tasks[PATH], slide(list(range(count))), tmp_path, "../path-1.mp4")
        assert (scored(record, lone_frame="error")["gsc_mse"].value is not None) == value
        assert scored(record)["gsc_mse"].value is not None


@pytest.fixture(scope="module")
def record(tasks, tmp_path_factory):
    """Of the truth, one frame late."""
    return perform(models.get("late")(), tasks[MEM], tmp_path_factory.mktemp("late"))


class TestActing:
    def test_a_path_one_frame_late_is_found_out(self, record, tasks):
        found = scored(record)
        truth = question_on(tasks[MEM]).poses
        late = found["lcm/rpe_trans"]
        assert (late.facts["truth_poses"], late.n) == ("engine", len(truth) - 1)
        assert 0 < late.value < 0.01
        assert late.facts["truth_step_m"] == pytest.approx(
            np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).mean(), rel=1e-9
        )

    def test_steps_are_called_by_the_keys_that_cause_them(self, record, tasks):
        clip = clip_of(tasks[MEM])
        keys = keys_of(clip)
        for rows, first in (("after", clip.mark_time + 1), ("before", clip.mark_time)):
            facts = scored(record, action_rows=rows)["lcm/rpe_trans"].facts
            expected = {}
            for label in labels_of(keys[first : first + 29]):
                expected[label] = expected.get(label, 0) + 1
            assert {label: stats["count"] for label, stats in facts["actions"].items()} == expected

    def test_groups_by_keys_or_as_released(self, record):
        ours = scored(record)["lcm/rpe_rot_deg"].facts["groups"]
        theirs = scored(record, action_groups="released")["lcm/rpe_rot_deg"].facts["groups"]
        assert (set(ours), set(theirs)) == ({"translation", "combined"}, {"translation", "other"})

    def test_recorded_poses_are_found_by_the_name_of_the_clip(self, record, tasks, tmp_path):
        truth = question_on(tasks[MEM]).poses
        path = tmp_path / record.model / f"{MEM}.txt"
        path.parent.mkdir(parents=True)
        write_images_txt(path, truth)
        found = scored(record, poses=f"precomputed?folder={tmp_path}")["lcm/rpe_trans"]
        assert (found.reason, found.value) == (None, pytest.approx(0, abs=1e-6))

    def test_a_camera_nobody_knows_is_missing_with_the_reason(self, tasks, tmp_path):
        score = scored(perform(models.get("noise")(), tasks[MEM], tmp_path))["lcm/rpe_trans"]
        assert score.value is None
        assert "no camera path in the video" in str(score.reason)

    def test_a_still_camera_gets_the_true_step(self, tasks, tmp_path):
        score = scored(perform(models.get("freeze")(), tasks[MEM], tmp_path))["lcm/rpe_trans"]
        assert (score.value, score.facts["scale"]) == (pytest.approx(score.facts["truth_step_m"]), 0)

    def test_images_txt_stands_in_for_the_engine(self, record, tasks, data):
        score = scored(record, truth_poses="images_txt")["lcm/rpe_trans"]
        engine = scored(record)["lcm/rpe_trans"]
        assert (score.facts["truth_poses"], score.value) == (IMAGES, pytest.approx(engine.value, abs=1e-3))

    def test_without_images_txt_its_poses_are_missing(self, root, tmp_path):
        (root / "1st_data/test/mem_test/data-25" / IMAGES).unlink()
        record = perform(models.get("late")(), next(iter(Mind().tasks(root))), tmp_path / "record")
        score = scored(record, truth_poses="images_txt")["lcm/rpe_trans"]
        assert score.value is None
        assert IMAGES in str(score.reason)
        assert scored(record, truth_poses="released")["lcm/rpe_trans"].facts["truth_poses"] == "decoded by exact"

    @pytest.mark.parametrize(("reader", "why"), [("all_lines", None), ("released", "poses, 30 are needed")])
    def test_the_released_reader_loses_half_of_the_poses(self, root, tmp_path, reader, why):
        task = next(iter(Mind().tasks(root)))
        truth = question_on(task).poses
        path = root / "1st_data/test/mem_test/data-25" / IMAGES
        write_images_txt(path, truth)
        lines = [line for line in path.read_text().splitlines() if line.strip()]
        path.write_text("\n".join(lines) + "\n")
        record = perform(models.get("late")(), task, tmp_path / "record")
        score = scored(record, truth_poses="images_txt", images_reader=reader)["lcm/rpe_trans"]
        if why is None:
            engine = scored(record)["lcm/rpe_trans"]
            assert score.value == pytest.approx(engine.value, abs=1e-6)
        else:
            assert why in str(score.reason)


class TestSubmission:
    def test_finished_videos_are_scored_without_a_model(self, data, tmp_path):
        model = tmp_path / "videos" / "wan"
        for name, count in ((f"{MEM}/video.mp4", 30), (f"{PATH}.mp4", 48)):
            (model / name).parent.mkdir(parents=True, exist_ok=True)
            write(model / name, slide(list(range(count))), "lossless")
        (model / "1st_data/mem_test/data-99").mkdir()
        write(model / "1st_data/mem_test/data-99/video.mp4", slide([1, 2]), "lossless")
        settings = {"perspectives": "1st", "poses": "exact"}
        request = RunRequest("mind", data=data, out=tmp_path / "runs", settings=settings)
        result, shelf = score_videos(request, tmp_path / "videos")
        assert (set(shelf.models), shelf.unmatched) == ({"wan"}, {"wan": ("1st_data/mem_test/data-99",)})
        counts = result.counts
        assert (counts.expected, counts.scored, counts.failed, counts.skipped) == (12, 2, 10, 0)
        table = result.table()[0]
        assert (table.rows[0].cells[-1].n, table.rows[0].cells[-1].expected) == (1, 1)


class TestSubmittedPaths:
    """Paths out and back whose folders bear names of their own, as the README of the release allows."""

    SETTINGS: ClassVar[dict[str, Any]] = {"tests": "mirror", "perspectives": "1st"}

    def submission(self, root, name="scene_a1", model="wan"):
        for number in (1, 4):
            path = root / model / f"1st_data/mirror_test/{name}/path-{number}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, slide(OUT_AND_BACK, seed=number), "lossless")
        return root

    def test_as_released_every_folder_is_scored_in_place_of_the_start_images(self, data, tmp_path):
        videos = self.submission(tmp_path / "videos")
        given = {**self.SETTINGS, "mirror_set": "submission"}
        suite = Mind(**given, **Mind(**given).submission_settings(videos, data))
        tasks = list(suite.tasks(data))
        assert [task.id for task in tasks] == [f"1st_data/mirror_test/scene_a1/path-{n}" for n in range(1, 11)]
        assert tasks[3].group == {"test": "mirror", "perspective": "first person", "family": "unknown", "path": "down"}
        model = models.get("videos")(root=str(videos / "wan"))
        (tmp_path / "record").mkdir()
        record = suite.perform(tasks[3], model, QuietContext(tmp_path / "record"))
        found = {s.metric: s for s in suite.score(record, QuietContext(record.directory))}
        assert found["gsc_mse"].value == gsc_mse(Clip.from_array(slide(OUT_AND_BACK, seed=4), 24))
        assert found["gsc_aligned_mse"].reason == "the data hold no start image of this path"
        assert found["gsc_mse"].facts["moves"] is True
        with pytest.raises(ModelError, match="no video of this task"):
            suite.perform(tasks[2], model, QuietContext(tmp_path / "record"))
        with pytest.raises(NotApplicableError, match="no start image"):
            suite.perform(tasks[3], models.get("freeze")(), QuietContext(tmp_path / "record"))

    def test_data_without_start_images_are_scored_by_the_folders_of_the_submission(self, data, tmp_path):
        bare = tmp_path / "data"
        shutil.copytree(data / "1st_data/test/mem_test", bare / "1st_data/test/mem_test")
        videos = self.submission(tmp_path / "videos")
        self.submission(videos, "other", model="lan")
        request = RunRequest("mind", data=bare, out=tmp_path / "runs", settings=self.SETTINGS)
        result, shelf = score_videos(request, videos)
        assert (shelf.unmatched, shelf.elsewhere) == ({}, {})
        assert result.suite.settings["mirror_folders"] == "1st_data/other,1st_data/scene_a1"
        counts = result.counts
        assert (counts.expected, counts.scored, counts.failed, counts.skipped) == (40, 4, 16, 20)

    def test_by_default_the_start_images_of_the_data_are_asked_for(self, data, tmp_path):
        videos = self.submission(tmp_path / "videos")
        assert Mind(**self.SETTINGS).submission_settings(videos, data) == {}

    def test_a_folder_named_like_a_start_image_is_of_that_image(self, data):
        suite = Mind(**self.SETTINGS, mirror_folders="1st_data/data-0,1st_data/scene_a1")
        tasks = list(suite.tasks(data))
        assert [clip_of(task).is_submitted for task in tasks] == [False] * 10 + [True] * 10
        assert [task.id for task in tasks[:10]] == [task.id for task in Mind(**self.SETTINGS).tasks(data)]


class TestClipEnd:
    @pytest.mark.parametrize(("end", "frames"), [("rows", 30), ("total_time", 28)])
    def test_the_release_believes_total_time(self, root, tmp_path, end, frames):
        path = root / "1st_data/test/mem_test/data-25/action.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "total_time": FRAMES - 2}))
        task = next(iter(Mind(tests="mem").tasks(root)))
        record = perform(models.get("late")(), task, tmp_path / "record")
        score = scored(record, clip_end=end)["lcm/mse_720p"]
        assert (score.n, score.facts["frames_asked"], score.facts["total_time"]) == (frames, frames, FRAMES - 2)


class TestAgain:
    def test_choosing_other_tests_asks_nobody_again(self, data):
        some, all_of_them = Mind(tests="mem"), Mind()
        task = next(iter(some.tasks(data)))
        assert task_key(some, task, {}, 0) == task_key(all_of_them, task, {}, 0)
        assert task_key(some, task, {}, 0) != task_key(Mind(tests="mem", horizon=7), task, {}, 0)
        key = task_key(some, task, {}, 0)
        assert score_key(some, key) == score_key(all_of_them, key) != score_key(Mind(window="released"), key)

    def test_old_records_can_be_scored_as_released(self, data, tmp_path):
        settings = {"tests": "mem", "perspectives": "1st", "poses": "exact"}
        run("mind", model=models.get("freeze")(), data=data, out=tmp_path, settings=settings)
        result = score([tmp_path], settings={"parity": "released"})
        assert (result.suite.settings["window"], result.counts.scored) == ("released", 1)

    def test_a_folder_that_has_changed_is_seen(self, root, tmp_path):
        video = root / "1st_data/test/mem_test/data-25/video.mp4"
        content = video.read_bytes()
        video.unlink()
        task = next(iter(Mind(tests="mem").tasks(root)))
        with pytest.raises(DataError):
            clip_of(task)
        video.write_bytes(content)
        assert clip_of(next(iter(Mind(tests="mem").tasks(root)))).id == MEM


class TestExport:
    @pytest.mark.parametrize("paths", [2, slow(10)])
    def test_the_released_schema_holds_every_clip(self, data, tmp_path, paths):
        settings = {"perspectives": "1st", "poses": "exact"}
        run("mind", model="freeze", data=data, out=tmp_path / "runs", settings=settings, limit=2 + paths)
        (path,) = export([tmp_path / "runs"], tmp_path / "results")
        assert path.name == "result_freeze.json"
        content = json.loads(path.read_text())
        assert [entry["test_type"] for entry in content["data"]] == ["action_space_test", "mem_test", "mirror_test"]
        clip, mirror = content["data"][1], content["data"][2]
        assert (clip["path"], clip["perspective"], clip["mark_time"], clip["total_time"]) == (
            "data-25",
            "1st_data",
            15,
            45,
        )
        assert len(clip["lcm"]["mse"]) == clip["sample_frames"] == 30
        assert clip["lcm"]["avg_mse"] == pytest.approx(np.mean(clip["lcm"]["mse"]))
        assert clip["action"]["__overall__"]["count"] == 29
        assert [video["video_name"] for video in mirror["video_results"]] == [f"path-{n + 1}.mp4" for n in range(paths)]
        first = mirror["video_results"][0]
        assert (first["sample_frames"], first["mark_time"], first["gsc"]["avg_mse"]) == (48, 24, 0)
        assert json.loads(path.read_text())["data"]

    def test_failures_keep_their_error(self):
        lost = Failure(MEM, {"test": "mem", "perspective": "first person"}, "action.json is gone")
        (entry,) = results_of([], [lost])["data"]
        assert (entry["path"], entry["error"]) == ("data-25", "action.json is gone")

    def test_a_horizon_is_said_and_names_are_not_written_over(self, data, tmp_path):
        settings = {"tests": "mem", "perspectives": "1st", "poses": "exact", "horizon": 4}
        for name in "ab":
            run("mind", model=models.get("freeze")(), data=data, out=tmp_path / name, settings=settings)
        (path,) = export([tmp_path / "a"], tmp_path / "results")
        assert json.loads(path.read_text())["video_max_time"] == 4
        with pytest.raises(UsageError, match="'freeze'"):
            export([tmp_path / "a", tmp_path / "b"], tmp_path / "results")

    def test_suites_without_a_format_say_so(self, tmp_path, walks):
        run("loopnav", model=models.get("freeze")(), data=walks, out=tmp_path, limit=1)
        with pytest.raises(UsageError, match=r"no result format of its own; export its scores with --to csv"):
            export([tmp_path], tmp_path / "results")


class TestLearned:
    SERVER = TESTS / "support" / "perception_server.py"

    @pytest.mark.slow
    def test_a_served_network_gives_one_value_a_frame(self, tasks, tmp_path):
        record = perform(models.get("late")(), tasks[MEM], tmp_path, horizon=12)
        address = f"cmd:{sys.executable} -m worldgauge_serve {self.SERVER}:Dino"
        score = scored(record, horizon=12, dino=address)["lcm/dino_mse"]
        assert (score.n, score.facts["network"]["estimator"]) == (12, "random-dino")
        frames = question_on(tasks[MEM], horizon=12)
        late = [frames.episode.clip[14], *frames.truth[:-1]]
        with closing(open_perception(address, "dino")) as network:
            one, other = (network.tokens(np.stack([prepared(f) for f in side])) for side in (late, frames.truth))
        expected = [dino_mse(a, b) for a, b in zip(one, other, strict=True)]
        np.testing.assert_allclose([value for _, value in score.series], expected, rtol=1e-5)

    def test_a_network_that_fails_is_missing_and_the_rest_goes_on(self, tasks, tmp_path):
        server = tmp_path / "bad.py"
        server.write_text(
            "from worldgauge_serve import EstimatorSpec\n"
            "class Bad:\n"
            "    spec = EstimatorSpec('bad', kind='imaging')\n"
            "    def estimate(self, arrays, options):\n"
            "        raise RuntimeError('out of memory')\n"
        )
        record = perform(models.get("freeze")(), tasks[MEM], tmp_path / "r", horizon=4)
        address = f"cmd:{sys.executable} -m worldgauge_serve {server}:Bad"
        found = scored(record, horizon=4, imaging=address)
        assert found["lcm/imaging"].value is None
        assert "out of memory" in str(found["lcm/imaging"].reason)
        assert found["lcm/mse_720p"].n == 4


def test_what_the_data_lack_is_told(data, tmp_path):
    shutil.copytree(data / "1st_data", tmp_path / "1st_data")
    shutil.rmtree(tmp_path / "1st_data/test/mirror_test")
    lines = Mind().missing_data(tmp_path)
    assert len(lines) == 2
    assert any("3rd_data" in line for line in lines)
    assert any("mirror_test" in line for line in lines)
    assert Mind(tests="mem", perspectives="1st").missing_data(tmp_path) == ()
    assert Mind().missing_data(data) == ()


QUESTIONS = KeyQuestions()


@pytest.mark.parametrize("start", QUESTIONS.starts)
def test_the_future_walks_and_then_turns(start):
    asked = QUESTIONS.question(ModelSpec("m"), start=start, context=24, horizon=16, seed=1)
    assert (len(asked.context), asked.horizon, asked.context.clip.fps) == (24, 16, 24)
    walking, looking = asked.actions.values[:, :4].any(axis=1), asked.actions.values[:, 4:].any(axis=1)
    assert walking.any()
    assert looking.any()


@pytest.mark.parametrize(("turn", "key"), [(0.1, "look_left"), (-0.1, "look_right")])
def test_a_turn_is_a_held_key(turn, key):
    asked = QUESTIONS.question(ModelSpec("m"), start=200, context=3, horizon=4, seed=1, turn=turn)
    assert (asked.actions.column(key).tolist(), asked.actions.values.sum()) == ([1] * 4, 4)
    along = QUESTIONS.question(ModelSpec("m", control="camera"), start=200, context=3, horizon=4, seed=1, turn=turn)
    yaw, _ = yaw_pitch_from_pose(along.poses)
    assert np.degrees(np.diff(yaw)) == pytest.approx(np.sign(turn) * np.ones(3))


def test_the_walk_is_long_enough_for_every_check():
    assert QUESTIONS.frames >= max(QUESTIONS.starts) + 100


def test_models_that_cannot_remember_are_judged_by_what_they_follow():
    def kind_of(*models):
        return type(judged_suite(Mind(), [{"kind": kind, "identity": own} for kind, own in models]))

    one_image, rolls, holds = {"max_context": 1}, {"max_context": 32, "fps": 32.0}, {"max_context": 33, "fps": 32.0}
    assert kind_of(("model", one_image), ("baseline", {"max_context": None})) is ActionFollowing
    assert kind_of(("model", rolls)) is ActionFollowing, "at most the last second"
    assert kind_of(("model", holds)) is kind_of(("model", one_image), ("model", holds)) is Mind
    assert kind_of(("baseline", one_image)) is Mind, "no model is judged"
    assert kind_of(("model", {"source": "videos"})) is Mind, "nobody knows what made a finished video"


def test_tables_of_models_that_cannot_remember_begin_with_action_accuracy(data, tmp_path):
    result = run("mind", model=["freeze"], data=data, out=tmp_path, settings={"tests": "mem", "poses": "exact"})
    first, *others = [table.metric for table in ActionFollowing(**result.suite.settings).all_tables(*_scored(result))]
    usual = [table.metric for table in Mind(**result.suite.settings).all_tables(*_scored(result))]
    assert first == "lcm/rpe_trans"
    assert others == [metric for metric in usual if metric != first]


def _scored(result):
    return result.scores, result.kinds, dict.fromkeys(result.scores, ())
