"""Held-out rollouts: scores against scikit-image and the definitions, and who is asked what."""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.metrics import structural_similarity
from typer.testing import CliRunner

from support.coverage_data import FACTS
from support.places import TESTS
from worldgauge.cli.main import app
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.metrics._registry import metrics
from worldgauge.metrics.lpips_fvd import fvd
from worldgauge.models import models
from worldgauge.suites import suites
from worldgauge.worlds.walking.primitives import Primitive as P
from worldgauge.worlds.walking.primitives import Stance, poses_of
from worldgauge_train.coverage_trajectory import TrajectoryStep, read_trajectory, write_index, write_trajectory
from worldgauge_train.study_heldout import FRAMES, NAME, HeldOutWalks, heldout_study, over_all_frames, psnr_released
from worldgauge_train.study_run import StudyRequest

SERVER = f"cmd:{sys.executable} -m worldgauge_serve {TESTS / 'support' / 'perception_server.py'}"
SIZE = (32, 20)
HOMES = ("home-val-0000", "home-val-0001")


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    """Other tests list what is registered."""
    yield
    suites._entries.pop(NAME)
    for name in ("psnr_released", "ssim_released", "lpips_released"):
        metrics._entries.pop(name)


def write(root: Path, scene: str, number: int, frames: int = 17) -> None:
    """A walk whose pictures drift."""
    rng = np.random.default_rng([number, len(scene), int(scene[-1])])
    actions = [P.STOP, *(P(int(one)) for one in rng.integers(1, 4, frames - 1))]
    poses = poses_of(actions, Stance(0.0, 0.0, 0.0).eye(1.0))
    steps = [TrajectoryStep(action, pose, False, 0) for action, pose in zip(actions, poses, strict=True)]
    wide = rng.integers(0, 256, (SIZE[1], SIZE[0] + frames, 3), np.uint8)
    depth = np.full(SIZE[::-1], 2.0, np.float32)
    views = ((np.ascontiguousarray(wide[:, k : k + SIZE[0]]), depth) for k in range(frames))
    write_trajectory(root, scene, number, views, steps, FACTS)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("coverage")
    for number, scene in enumerate((*HOMES, HOMES[1])):
        write(root, scene, number // 2)
    write_index(root, "val")
    return root


@pytest.fixture(scope="module")
def told(homes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    out = tmp_path_factory.mktemp("studies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLDGAUGE_CONFIG", str(out / "config"))
        words = ["study", "heldout", "worldinworld", "--data", str(homes), "--out", str(out), "--clips", "4"]
        words += ["--model", "freeze?view=panorama", "--beside", "oracle?view=panorama", "--json"]
        done = CliRunner().invoke(app, [*words, "--set", f"lpips={SERVER}:Lpips", "--set", f"fvd={SERVER}:Video"])
    assert done.exit_code == 0, done.output
    assert "worldgauge study heldout worldinworld --data" in (out / "heldout.html").read_text()
    found: dict[str, object] = json.loads(done.stdout)
    return found


def clips_of(homes: Path) -> list[NDArray[np.uint8]]:
    starts = [(Path(task.sample["folder"]), task.sample["start"]) for task in HeldOutWalks(clips=4).tasks(homes)]
    return [read_trajectory(folder).frames[start : start + FRAMES].to_array() for folder, start in starts]


def rows_of(told: dict[str, object]) -> dict[str, dict[str, float]]:
    """Means by metric and row."""
    tables = {table["metric"].rpartition("/")[2]: table["rows"] for table in told["tables"]}  # type: ignore[attr-defined]
    return {name: {row["label"]: row["cells"][0]["mean"] for row in rows} for name, rows in tables.items()}


def test_a_frozen_picture_scores_what_the_definitions_give(homes: Path, told: dict[str, object]) -> None:
    found = {name: rows["freeze"] for name, rows in rows_of(told).items()}
    clips = [clip.astype(np.float64) / 255 for clip in clips_of(homes)]
    errors = np.array([[np.mean((frame - clip[0]) ** 2) for frame in clip] for clip in clips])
    assert found["psnr"] == pytest.approx(np.mean(-10 * np.log10(errors[:, 1:].mean(1))))
    with np.errstate(divide="ignore"):
        rates = np.where(errors < 1e-10, 100.0, 20 * np.log10(1 / np.sqrt(errors)))
    assert found["psnr_released"] == pytest.approx(rates.mean())
    likeness = np.array(
        [
            [
                structural_similarity(
                    *pair, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=1, channel_axis=2
                )
                for pair in ((frame, clip[0]) for frame in clip)
            ]
            for clip in clips
        ]
    )
    assert found["ssim_table"] == pytest.approx(likeness[:, 1:].mean(), abs=1e-6)
    assert found["ssim_released"] == pytest.approx(likeness.mean(), abs=1e-6)
    # The stand-in of LPIPS is the mean difference of frames from -1 to 1.
    far = np.array([[2 * np.abs(frame - clip[0]).mean() for frame in clip] for clip in clips])
    assert found["lpips"] == pytest.approx(far[:, 1:].mean(), rel=1e-5)
    assert found["lpips_released"] == pytest.approx(far.mean(), rel=1e-5)


def test_the_truth_is_perfect_and_fvd_of_few_clips_is_said_to_be_none(told: dict[str, object]) -> None:
    rows = rows_of(told)
    truth = {name: own["oracle"] for name, own in rows.items()}
    assert truth.pop("psnr") is None  # infinite
    assert truth == {
        "ssim_table": 1.0,
        "lpips": 0.0,
        "detail": pytest.approx(1.0),
        "psnr_released": 100.0,
        "ssim_released": 1.0,
        "lpips_released": 0.0,
        "fvd": pytest.approx(0.0, abs=1e-6),
    }
    table = told["tables"][-1]  # type: ignore[index]
    assert table["notes"] == ["FVD of 4 clips is meaningless; give 200 or more."]
    assert table["rows"][0]["cells"][0]["mean"] > 1e-3
    assert table["rows"][0]["cells"][0]["clusters"] == len(HOMES)


def test_fvd_is_of_whole_clips(homes: Path, told: dict[str, object]) -> None:
    from support.perception_server import Video
    from worldgauge.perception.networks.i3d import i3d_input

    def feature(clip: NDArray[np.uint8]) -> NDArray[np.float64]:
        (found,) = Video().estimate({"video": i3d_input(clip)[None]}, {})[0]["features"]
        return np.asarray(found)

    clips = clips_of(homes)
    frozen = [np.repeat(clip[:1], FRAMES, 0) for clip in clips]
    expected = fvd([feature(clip) for clip in frozen], [feature(clip) for clip in clips])
    assert rows_of(told)["fvd"]["freeze"] == pytest.approx(expected, rel=1e-4)


def test_clips_are_spread_over_homes_and_fewer_are_among_more(homes: Path) -> None:
    few, many = (list(HeldOutWalks(clips=count).tasks(homes)) for count in (4, 99))
    assert [task.cluster for task in few] == [*HOMES] * 2
    assert [task.id for task in many][: len(few)] == [task.id for task in few]
    assert len({task.id for task in many}) == len(many) == 3 * (17 - FRAMES + 1)
    assert list(HeldOutWalks(clips=4, clip_seed=1).tasks(homes)) != few
    for task in many:
        episode, start = HeldOutWalks().episode(task)
        assert (len(episode), start, len(episode.actions)) == (FRAMES, 1, FRAMES - 1)


def test_what_is_not_held_out_or_not_a_panorama_is_refused(homes: Path, tmp_path: Path) -> None:
    write(tmp_path / "train", "home-train-0000", 0)
    write_index(tmp_path / "train", "train")
    with pytest.raises(UsageError, match="--split val makes others"):
        list(HeldOutWalks().tasks(tmp_path / "train"))
    write(tmp_path / "short", HOMES[0], 0, frames=FRAMES - 1)
    write_index(tmp_path / "short", "val")
    assert not list(HeldOutWalks().tasks(tmp_path / "short"))
    with pytest.raises(UsageError, match="takes worldinworld"):
        heldout_study(StudyRequest("mind", homes, tmp_path), ["freeze"], 4)
    task = next(HeldOutWalks().tasks(homes))
    with pytest.raises(NotApplicableError, match="'freeze' draws perspective views"):
        HeldOutWalks().perform(task, models.get("freeze")(), None)  # type: ignore[arg-type]


def test_released_means_by_hand() -> None:
    assert psnr_released([0.0, 650.25]) == pytest.approx((100 + 20) / 2)  # an error of a hundredth of 255 squared
    assert psnr_released([650.25, 0.0]) == psnr_released([0.0, 650.25])
    assert psnr_released([0.0, 0.99e-10 * 255**2]) == 100
    assert psnr_released([1.01e-10 * 255**2]) < 100
    assert psnr_released([255.0**2]) == 0
    assert over_all_frames([1.0, 0.5]) == 0.75
    assert math.isclose(over_all_frames([0.1] * 14), 0.1)
