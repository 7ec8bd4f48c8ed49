"""The suite as the released scorer works: its result file field by field, and switch by switch, in plain NumPy."""

import json
import sys
from contextlib import closing

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from suites.mind.mind_data import write_published
from suites.mind.released import at_720p, images_txt, label, relative_errors, ssim
from support.films import write
from support.places import TESTS
from support.task_context import Given, QuietContext
from worldgauge.core.errors import ModelError
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Failure
from worldgauge.metrics.frame_pairs import prepared
from worldgauge.metrics.lpips_fvd import dino_mse
from worldgauge.models import models
from worldgauge.perception.colmap import write_images_txt
from worldgauge.perception.loading import open_perception
from worldgauge.suites.mind.format.files import IMAGES
from worldgauge.suites.mind.format.read import keys_of, load, video_path
from worldgauge.suites.mind.suite import Mind
from worldgauge.suites.mind.tasks import clip_of

SIZE, FRAMES, SUBMITTED, SCORED, JUDGED = (32, 18), 195, 120, 100, 97
STATISTICS = ("count", "rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("published")
    return write_published(root, clips=1, frames=FRAMES, size=SIZE, perspectives=("1st",))


def noisy(frames, seed):
    """The frames with noise that differs from frame to frame."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 1, frames.shape) * rng.uniform(4, 40, (len(frames), 1, 1, 1))
    return np.asarray((frames + noise.round().astype(int)).clip(0, 255), np.uint8)


def pair_results(x, y):
    """Errors of pairs of frames as the release lists them, without LPIPS."""
    sides = [(at_720p(a, 72, 128), at_720p(b, 72, 128)) for a, b in zip(x, y, strict=True)]
    mse = [float(((a - b) ** 2).mean()) for a, b in sides]
    lists = {"mse": mse, "psnr": [float(-10 * np.log10(one)) for one in mse], "ssim": [ssim(a, b) for a, b in sides]}
    means = {f"avg_{name}": float(np.mean(values)) for name, values in lists.items()}
    return {"length": len(mse), **lists, **means}


def action_results(truth, generated, labels):
    """Statistics by label, and by the released groups: looking alone is of the group `other`."""
    trans, rot = relative_errors(truth, generated)
    names = np.array(labels)
    walking = np.isin(names, ("forward", "backward", "left", "right"))
    chosen = {"__overall__": np.ones(len(names), bool), "translation": walking, "other": ~walking}
    chosen |= {f"act:{name}": names == name for name in set(labels)}
    values = {
        group: (int(mask.sum()), trans[mask].mean(), np.median(trans[mask]), rot[mask].mean(), np.median(rot[mask]))
        for group, mask in chosen.items()
        if mask.any()
    }
    return {group: dict(zip(STATISTICS, map(float, five), strict=True)) for group, five in values.items()}


def walked(clip):
    """A path that follows the true one badly: at another speed, turned by some degrees from frame to frame."""
    poses = load(clip).poses[clip.mark_time : clip.mark_time + JUDGED].copy()
    rng = np.random.default_rng(9)
    poses[:, :3, :3] = poses[:, :3, :3] @ Rotation.from_rotvec(rng.normal(0, 0.01, (JUDGED, 3))).as_matrix()
    poses[:, :3, 3] = 0.7 * poses[:, :3, 3] + rng.normal(0, 0.003, (JUDGED, 3))
    return poses


def submit(data, root):
    """A submission as the README of the release orders it, its poses, and what the release writes of it."""
    model = root / "videos" / "wan"
    clip = clip_of(next(task for task in Mind().tasks(data) if task.id == MEM))
    real = Clip.open(video_path(clip))[clip.mark_time :].to_array()
    shown = noisy(real[:SUBMITTED].astype(int), 4)
    (model / MEM).mkdir(parents=True)
    write(model / MEM / "video.mp4", shown, "lossless")

    poses = walked(clip)
    (root / "poses" / "wan" / MEM).parent.mkdir(parents=True)
    write_images_txt(root / "poses" / "wan" / f"{MEM}.txt", poses)

    folder = model / "1st_data/mirror_test/scene_a"
    folder.mkdir(parents=True)
    walls = np.random.default_rng(6).integers(0, 256, (48, 18, 32, 3), np.uint8)
    results = []
    for number, count in ((1, 48), (2, 47), (10, 46)):
        write(folder / f"path-{number}.mp4", walls[:count], "lossless")
        result = {"video_name": f"path-{number}.mp4", "error": None}
        result |= {"mark_time": count // 2, "sample_frames": count}
        if count % 2:
            result["error"] = "frame count is not an even number!"
        else:
            result["gsc"] = pair_results(walls[: count // 2], walls[count // 2 : count][::-1])
        results.append(result)

    labels = [label(row) for row in keys_of(clip)[clip.mark_time :][: JUDGED - 1].tolist()]
    head = {"perspective": "1st_data", "error": None}
    memory = {
        **{"path": "data-25", "test_type": "mem_test", **head},
        **{"mark_time": clip.mark_time, "total_time": FRAMES, "sample_frames": SUBMITTED},
        "lcm": pair_results(shown[:SCORED], real[:SCORED]),
        "action": action_results(images_txt(clip.folder / IMAGES), poses, labels),
    }
    videos = [result["video_name"] for result in results]
    paths = {"path": "scene_a", "test_type": "mirror_test", **head, "videos": videos, "video_results": results}
    entries = [memory, paths]
    return root / "videos", root / "poses", {"data": entries, "video_max_time": None}


def equal(found, wanted, place=""):
    """Same keys and texts, same numbers to the rounding of single precision."""
    if isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted), place
        for key, value in wanted.items():
            equal(found[key], value, f"{place}/{key}")
    elif isinstance(wanted, list) and wanted and not isinstance(wanted[0], float):
        assert len(found) == len(wanted), place
        for i, value in enumerate(wanted):
            equal(found[i], value, f"{place}[{i}]")
    elif isinstance(wanted, (float, list)):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5, err_msg=place)
    else:
        assert found == wanted, place


def exported(data, root, **settings):
    """What we write of a submission, and what the release does. All in this process, where frames are made small."""
    videos, poses, wanted = submit(data, root)
    given = {"perspectives": "1st", "poses": f"precomputed?folder={poses}", **settings}
    suite = Mind(**given, **Mind(**given).submission_settings(videos, data))
    model = models.get("videos")(name="wan", **suite.submissions(videos)["wan"])
    scores = []
    failures = []
    for number, task in enumerate(suite.tasks(data)):
        context = QuietContext(root / "records" / str(number))
        context.directory.mkdir(parents=True)
        try:
            scores += suite.score(suite.perform(task, model, context), context)
        except ModelError as error:
            failures.append(Failure(task.id, task.group, str(error)))
    suite.export(scores, failures, root / "result.json")
    return json.loads((root / "result.json").read_text()), wanted


@pytest.mark.usefixtures("compared_small")
def test_every_field_is_the_one_that_the_release_writes(data, tmp_path):
    found, wanted = exported(data, tmp_path, parity="released")
    missing = found.pop("missing")
    equal(found, wanted)
    assert "1st_data/action_space_test/data-0-1.0x-200" in missing, "a task without a video is told, by a key of ours"
    assert {name.rpartition("/")[2] for name in missing if "scene_a" in name} == {f"path-{n}" for n in range(3, 10)}


@pytest.mark.usefixtures("compared_small")
def test_the_groups_of_a_file_are_the_released_ones_whatever_tables_show(data, tmp_path):
    settings = {"action_rows": "before", "truth_poses": "released", "tests": "mem"}
    found, wanted = exported(data, tmp_path, **settings)
    (clip,) = found["data"]
    assert Mind(**settings).settings["action_groups"] == "keys"
    equal(clip["action"], wanted["data"][0]["action"])
    assert clip["sample_frames"] == SUBMITTED


ASKED, RELEASED = 130, 100
MEM = "1st_data/mem_test/data-25"
SERVER = TESTS / "support" / "perception_server.py"


@pytest.fixture(scope="module")
def tasks(data):
    return {task.id: task for task in Mind().tasks(data)}


@pytest.fixture(scope="module")
def shown(tasks):
    clip = clip_of(tasks[MEM])
    return noisy(load(clip).clip[clip.mark_time :].to_array().astype(int), 4)


@pytest.fixture(scope="module")
def record(tasks, shown, tmp_path_factory):
    return perform(tasks[MEM], shown, tmp_path_factory.mktemp("memory"))


def perform(task, frames, folder, **settings):
    return Mind(**settings).perform(task, Given(frames), QuietContext(folder))


def scored(record, **settings):
    suite = Mind(**{"poses": "exact", **settings})
    return {s.metric: s for s in suite.score(record, QuietContext(record.directory))}


def recorded(folder, poses, without=()):
    """Poses of the video of `record`, as an estimator leaves them, without those of some frames."""
    path = folder / "given" / f"{MEM}.txt"
    path.parent.mkdir(parents=True)
    kept = [k for k in range(len(poses)) if k not in without]
    write_images_txt(path, poses[kept], names=[f"frame_{k:05d}.png" for k in kept])
    return f"precomputed?folder={folder}"


@pytest.mark.usefixtures("compared_small")
def test_the_window_leaves_out_what_was_read_last(record):
    ours, released = scored(record), scored(record, window="released")
    for metric in ("lcm/mse_720p", "lcm/psnr_720p", "lcm/ssim_720p"):
        assert (ours[metric].n, released[metric].n) == (ASKED, RELEASED)
        assert released[metric].series == ours[metric].series[:RELEASED]
    assert released["lcm/mse_720p"].facts["frames_asked"] == RELEASED


@pytest.mark.parametrize(("rule", "least", "most"), [("once", -2.2, 2.7), ("twice", -2.12, -1.78)])
def test_the_network_of_dino_sees_nearly_black_as_released(tasks, shown, tmp_path, rule, least, most):
    record = perform(tasks[MEM], shown, tmp_path, horizon=4)
    address = f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Dino"
    found = scored(record, horizon=4, dino=address, dino_input=rule)["lcm/dino_mse"]
    clip = clip_of(tasks[MEM])
    sides = (shown[:4], load(clip).clip[clip.mark_time : clip.mark_time + 4])
    with closing(open_perception(address, "dino", parity="released" if rule == "twice" else None)) as network:
        one, other = (network.tokens(np.stack([prepared(frame) for frame in side])) for side in sides)
    assert least < one[:, 0, 0].min() < one[:, 0, 1].max() < most
    assert (one[:, 0, 1].max() > 0) == (rule == "once")
    expected = [dino_mse(a, b) for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose([value for _, value in found.series], expected, rtol=1e-5)


@pytest.mark.usefixtures("compared_small")
@pytest.mark.parametrize(("nan", "steps"), [("drop", 29 - 2), ("raise", None)])
def test_a_pose_that_is_not_known(tasks, shown, tmp_path, nan, steps):
    record = perform(tasks[MEM], shown, tmp_path, horizon=30)
    source = recorded(tmp_path / "poses", walked(clip_of(tasks[MEM])), without=(12,))
    score = scored(record, horizon=30, poses=source, nan_poses=nan)["lcm/rpe_trans"]
    if steps is None:
        assert score.value is None
        assert "pose 12 is not finite" in str(score.reason)
    else:
        assert (score.n, score.facts["dropped"]) == (steps, {"poses": 1, "steps": 2, "outliers": 0})


@pytest.mark.slow
def test_frame_pairs_of_the_first_hundred_at_their_full_size(record, tasks, shown):
    found = scored(record, parity="released")
    clip = clip_of(tasks[MEM])
    real = load(clip).clip[clip.mark_time :].to_array()
    mse = [float(((at_720p(shown[k]) - at_720p(real[k])) ** 2).mean()) for k in range(RELEASED)]
    for metric, expected in (("mse", mse), ("psnr", [10 * np.log10(1 / one) for one in mse])):
        score = found[f"lcm/{metric}_720p"]
        np.testing.assert_allclose([value for _, value in score.series], expected, rtol=1e-4)
        assert score.value == pytest.approx(np.mean(expected), rel=1e-5)
    for k in (0, 37, 99):
        expected = ssim(at_720p(shown[k]), at_720p(real[k]))
        assert found["lcm/ssim_720p"].series[k][1] == pytest.approx(expected, abs=2e-5)
