"""The result file of a submission, field by field as the released scorer writes it, worked out here in plain NumPy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from suites.mind.mind_data import write_published
from suites.mind.released import at_720p, images_txt, label, relative_errors, ssim
from support.films import write
from support.task_context import QuietContext
from worldgauge.core.errors import SubjectError
from worldgauge.core.image import Frames
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.models import models
from worldgauge.perception.colmap import write_images_txt
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.format.files import IMAGES
from worldgauge.suites.mind.suite import Mind
from worldgauge.suites.mind.tasks import clip_of

pytestmark = pytest.mark.usefixtures("compared_small")

SIZE, FRAMES, SUBMITTED, SCORED, JUDGED = (32, 18), 195, 120, 100, 97
CLIP = "1st_data/mem_test/data-25"
STATISTICS = ("count", "rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("published")
    return write_published(root, clips=1, frames=FRAMES, size=SIZE, perspectives=("1st",))


def noisy(frames: Frames, seed: int) -> Frames:
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 1, frames.shape) * rng.uniform(4, 40, (len(frames), 1, 1, 1))
    return np.asarray((frames + noise.round().astype(int)).clip(0, 255), np.uint8)


def pair_results(x: Frames, y: Frames) -> dict[str, Any]:
    """Errors of pairs of frames as the release lists them, without LPIPS."""
    sides = [(at_720p(a, 72, 128), at_720p(b, 72, 128)) for a, b in zip(x, y, strict=True)]
    mse = [float(((a - b) ** 2).mean()) for a, b in sides]
    lists = {"mse": mse, "psnr": [float(-10 * np.log10(one)) for one in mse], "ssim": [ssim(a, b) for a, b in sides]}
    means = {f"avg_{name}": float(np.mean(values)) for name, values in lists.items()}
    return {"length": len(mse), **lists, **means}


def action_results(truth: NDArray[Any], generated: NDArray[Any], labels: list[str]) -> dict[str, Any]:
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


def submit(data: Path, root: Path) -> tuple[Path, Path, dict[str, Any]]:
    """A submission as the README of the release orders it, its poses, and what the release writes of it."""
    model = root / "videos" / "wan"
    clip = clip_of(next(task for task in Mind().tasks(data) if task.id == CLIP))
    real = Clip.open(mind.video_path(clip))[clip.mark_time :].to_array()
    shown = noisy(real[:SUBMITTED].astype(int), 4)
    (model / CLIP).mkdir(parents=True)
    write(model / CLIP / "video.mp4", shown, "lossless")

    poses = mind.load(clip).poses[clip.mark_time : clip.mark_time + JUDGED].copy()
    rng = np.random.default_rng(9)
    poses[:, :3, :3] = poses[:, :3, :3] @ Rotation.from_rotvec(rng.normal(0, 0.01, (JUDGED, 3))).as_matrix()
    poses[:, :3, 3] = 0.7 * poses[:, :3, 3] + rng.normal(0, 0.003, (JUDGED, 3))
    (root / "poses" / "wan" / CLIP).parent.mkdir(parents=True)
    write_images_txt(root / "poses" / "wan" / f"{CLIP}.txt", poses)

    folder = model / "1st_data/mirror_test/scene_a"
    folder.mkdir(parents=True)
    walls = np.random.default_rng(6).integers(0, 256, (48, 18, 32, 3), np.uint8)
    results = []
    for number, count in ((1, 48), (2, 47), (10, 46)):
        write(folder / f"path-{number}.mp4", walls[:count], "lossless")
        result: dict[str, Any] = {"video_name": f"path-{number}.mp4", "error": None}
        result |= {"mark_time": count // 2, "sample_frames": count}
        if count % 2:
            result["error"] = "frame count is not an even number!"
        else:
            result["gsc"] = pair_results(walls[: count // 2], walls[count // 2 : count][::-1])
        results.append(result)

    labels = [label(row) for row in mind.keys_of(clip)[clip.mark_time :][: JUDGED - 1].tolist()]
    head = {"perspective": "1st_data", "error": None}
    entries = [
        {
            "path": "data-25",
            "test_type": "mem_test",
            **head,
            "mark_time": clip.mark_time,
            "total_time": FRAMES,
            "sample_frames": SUBMITTED,
            "lcm": pair_results(shown[:SCORED], real[:SCORED]),
            "action": action_results(images_txt(clip.folder / IMAGES), poses, labels),
        },
        {
            "path": "scene_a",
            "test_type": "mirror_test",
            **head,
            "videos": [result["video_name"] for result in results],
            "video_results": results,
        },
    ]
    return root / "videos", root / "poses", {"data": entries, "video_max_time": None}


def equal(found: Any, wanted: Any, place: str = "") -> None:
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


def exported(data: Path, root: Path, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What we write of a submission, and what the release does. All in this process, where frames are made small."""
    videos, poses, wanted = submit(data, root)
    given = {"perspectives": "1st", "poses": f"precomputed?folder={poses}", **settings}
    suite = Mind(**given, **Mind(**given).submission_settings(videos, data))
    model = models.get("videos")(name="wan", **suite.submissions(videos)["wan"])
    scores: list[Score] = []
    failures: list[Failure] = []
    for number, task in enumerate(suite.tasks(data)):
        context = QuietContext(root / "records" / str(number))
        context.directory.mkdir(parents=True)
        try:
            scores += suite.score(suite.perform(task, model, context), context)
        except SubjectError as error:
            failures.append(Failure(task.id, task.group, str(error)))
    suite.export(scores, failures, root / "result.json")
    return json.loads((root / "result.json").read_text()), wanted


def test_every_field_is_the_one_that_the_release_writes(data: Path, tmp_path: Path) -> None:
    found, wanted = exported(data, tmp_path, parity="released")
    missing = found.pop("missing")
    equal(found, wanted)
    assert "1st_data/action_space_test/data-0-1.0x-200" in missing, "a task without a video is told, by a key of ours"
    assert {name.rpartition("/")[2] for name in missing if "scene_a" in name} == {f"path-{n}" for n in range(3, 10)}


def test_the_groups_of_a_file_are_the_released_ones_whatever_tables_show(data: Path, tmp_path: Path) -> None:
    settings = {"action_rows": "before", "truth_poses": "released", "tests": "mem"}
    found, wanted = exported(data, tmp_path, **settings)
    (clip,) = found["data"]
    assert Mind(**settings).settings["action_groups"] == "keys"
    equal(clip["action"], wanted["data"][0]["action"])
    assert clip["sample_frames"] == SUBMITTED
