"""The suite as the released scorer works: switch by switch, and one clip against sums that are written out here."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from suites.mind.mind_data import write_published
from suites.mind.released import at_720p, images_txt, label, relative_errors, ssim
from support.places import TESTS
from support.task_context import Given, QuietContext
from worldgauge.core.image import Frames
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.metrics.frame_pairs import prepared
from worldgauge.metrics.learned import dino_mse
from worldgauge.perception.colmap import write_images_txt
from worldgauge.perception.loading import open_perception
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.format.files import IMAGES
from worldgauge.suites.mind.suite import Mind
from worldgauge.suites.mind.tasks import clip_of

SIZE = (32, 18)
FRAMES, ASKED, RELEASED = 195, 130, 100
JUDGED = 97
MEM = "1st_data/mem_test/data-25"
PATH = "1st_data/mirror_test/data-0/path-1"
SERVER = TESTS / "support" / "perception_server.py"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task]:
    root = tmp_path_factory.mktemp("published")
    data = write_published(root, clips=1, frames=FRAMES, size=SIZE, perspectives=("1st",))
    return {task.id: task for task in Mind().tasks(data)}


@pytest.fixture(scope="module")
def shown(tasks: dict[str, Task]) -> Frames:
    """The recorded frames, with noise that differs from frame to frame."""
    clip = clip_of(tasks[MEM])
    real = mind.load(clip).clip[clip.mark_time :].to_array().astype(int)
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 1, real.shape) * rng.uniform(4, 40, (len(real), 1, 1, 1))
    return (real + noise.round().astype(int)).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def record(tasks: dict[str, Task], shown: Frames, tmp_path_factory: pytest.TempPathFactory) -> Record:
    return perform(tasks[MEM], shown, tmp_path_factory.mktemp("memory"))


def perform(task: Task, frames: Frames, folder: Path, **settings: Any) -> Record:
    return Mind(**settings).perform(task, Given(frames), QuietContext(folder))


def scored(record: Record, **settings: Any) -> dict[str, Score]:
    suite = Mind(**{"poses": "exact", **settings})
    return {s.metric: s for s in suite.score(record, QuietContext(record.directory))}


def recorded(folder: Path, poses: NDArray[np.float64], without: tuple[int, ...] = ()) -> str:
    """Poses of the video of `record`, as an estimator leaves them, without those of some frames."""
    path = folder / "given" / f"{MEM}.txt"
    path.parent.mkdir(parents=True)
    kept = [k for k in range(len(poses)) if k not in without]
    write_images_txt(path, poses[kept], names=[f"frame_{k:05d}.png" for k in kept])
    return f"precomputed?folder={folder}"


def walked(tasks: dict[str, Task]) -> NDArray[np.float64]:
    """A path that follows the true one badly: at another speed, turned by some degrees from frame to frame."""
    clip = clip_of(tasks[MEM])
    poses = mind.load(clip).poses[clip.mark_time : clip.mark_time + JUDGED].copy()
    rng = np.random.default_rng(9)
    poses[:, :3, :3] = poses[:, :3, :3] @ Rotation.from_rotvec(rng.normal(0, 0.01, (JUDGED, 3))).as_matrix()
    poses[:, :3, 3] = 0.7 * poses[:, :3, 3] + rng.normal(0, 0.003, (JUDGED, 3))
    return poses


@pytest.mark.usefixtures("compared_small")
def test_the_window_leaves_out_what_was_read_last(record: Record) -> None:
    ours, released = scored(record), scored(record, window="released")
    for metric in ("lcm/mse_720p", "lcm/psnr_720p", "lcm/ssim_720p"):
        assert (ours[metric].n, released[metric].n) == (ASKED, RELEASED)
        assert released[metric].series == ours[metric].series[:RELEASED]
    assert released["lcm/mse_720p"].facts["frames_asked"] == RELEASED


@pytest.mark.parametrize(("rule", "least", "most"), [("once", -2.2, 2.7), ("twice", -2.12, -1.78)])
def test_the_network_of_dino_sees_nearly_black_as_released(
    tasks: dict[str, Task], shown: Frames, tmp_path: Path, rule: str, least: float, most: float
) -> None:
    record = perform(tasks[MEM], shown, tmp_path, horizon=4)
    address = f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Dino"
    found = scored(record, horizon=4, dino=address, dino_input=rule)["lcm/dino_mse"]
    clip = clip_of(tasks[MEM])
    sides = (shown[:4], mind.load(clip).clip[clip.mark_time : clip.mark_time + 4])
    with closing(open_perception(address, "dino", parity="released" if rule == "twice" else None)) as network:  # type: ignore[arg-type]
        one, other = (network.tokens(np.stack([prepared(frame) for frame in side])) for side in sides)
    assert least < one[:, 0, 0].min() < one[:, 0, 1].max() < most
    assert (one[:, 0, 1].max() > 0) == (rule == "once")
    expected = [dino_mse(a, b) for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose([value for _, value in found.series], expected, rtol=1e-5)


@pytest.mark.usefixtures("compared_small")
@pytest.mark.parametrize(("nan", "steps"), [("drop", 29 - 2), ("raise", None)])
def test_a_pose_that_is_not_known(
    tasks: dict[str, Task], shown: Frames, tmp_path: Path, nan: str, steps: int | None
) -> None:
    record = perform(tasks[MEM], shown, tmp_path, horizon=30)
    source = recorded(tmp_path / "poses", walked(tasks), without=(12,))
    score = scored(record, horizon=30, poses=source, nan_poses=nan)["lcm/rpe_trans"]
    if steps is None:
        assert score.value is None
        assert "pose 12 is not finite" in str(score.reason)
    else:
        assert score.n == steps
        assert score.facts["dropped"] == {"poses": 1, "steps": 2, "outliers": 0}


@pytest.fixture(scope="module")
def found(record: Record, tasks: dict[str, Task], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Score]:
    source = recorded(tmp_path_factory.mktemp("poses"), walked(tasks))
    return scored(record, parity="released", poses=source)


class TestParity:
    """One clip under parity=released; numbers from what the release does, in plain NumPy."""

    @pytest.mark.slow
    def test_frame_pairs_of_the_first_hundred(
        self, found: dict[str, Score], tasks: dict[str, Task], shown: Frames
    ) -> None:
        clip = clip_of(tasks[MEM])
        real = mind.load(clip).clip[clip.mark_time :].to_array()
        mse = [float(((at_720p(shown[k]) - at_720p(real[k])) ** 2).mean()) for k in range(RELEASED)]
        psnr = [10 * np.log10(1 / one) for one in mse]
        for metric, expected in (("mse", mse), ("psnr", psnr)):
            score = found[f"lcm/{metric}_720p"]
            np.testing.assert_allclose([value for _, value in score.series], expected, rtol=1e-4)
            assert score.value == pytest.approx(np.mean(expected), rel=1e-5)
        for k in (0, 37, 99):
            assert found["lcm/ssim_720p"].series[k][1] == pytest.approx(
                ssim(at_720p(shown[k]), at_720p(real[k])), abs=2e-5
            )

    def test_steps_against_images_txt_by_the_row_before(self, found: dict[str, Score], tasks: dict[str, Task]) -> None:
        clip = clip_of(tasks[MEM])
        truth, generated = images_txt(clip.folder / IMAGES), walked(tasks)
        assert len(truth) == JUDGED
        trans, rot = relative_errors(truth, generated)
        labels = [label(row) for row in mind.keys_of(clip)[clip.mark_time : clip.mark_time + JUDGED - 1].tolist()]
        walking = {"forward", "backward", "left", "right"}
        groups = ["translation" if one in walking else "other" for one in labels]

        facts = found["lcm/rpe_trans"].facts
        assert facts["truth_poses"] == IMAGES
        assert found["lcm/rpe_trans"].value == pytest.approx(np.mean(trans), rel=1e-5)
        assert found["lcm/rpe_rot_deg"].value == pytest.approx(np.mean(rot), rel=1e-5)
        for kind, names in (("groups", groups), ("actions", labels)):
            assert set(facts[kind]) == set(names)
            for name, stats in facts[kind].items():
                chosen = np.array(names) == name
                assert stats["count"] == chosen.sum()
                assert stats["trans_mean"] == pytest.approx(trans[chosen].mean(), rel=1e-5)
                assert stats["trans_median"] == pytest.approx(np.median(trans[chosen]), rel=1e-5)
                assert stats["rot_deg_mean"] == pytest.approx(rot[chosen].mean(), rel=1e-5)
                assert stats["rot_deg_median"] == pytest.approx(np.median(rot[chosen]), rel=1e-5)

    def test_the_way_back_against_the_way_out(self, tasks: dict[str, Task], tmp_path: Path) -> None:
        frames = np.random.default_rng(6).integers(0, 256, (48, 18, 32, 3), np.uint8)
        frames[24:] = frames[23::-1] // 2 + frames[24:] // 2
        found = scored(perform(tasks[PATH], frames, tmp_path), parity="released")
        expected = [float(((at_720p(frames[k]) - at_720p(frames[47 - k])) ** 2).mean()) for k in range(24)]
        np.testing.assert_allclose([value for _, value in found["gsc_mse"].series], expected, rtol=1e-4)
        assert found["gsc_mse"].value == pytest.approx(np.mean(expected), rel=1e-5)
        assert found["gsc_psnr"].value == pytest.approx(np.mean(10 * np.log10(1 / np.array(expected))), rel=1e-5)
