"""Pixel metrics in batches on a device against the processor's kernels; here the device is torch's own processor."""

import logging
import math
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from benchmarks import gpu_scores as benchmark

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")

from support.task_context import QuietContext  # noqa: E402
from worldgauge.core.errors import ShapeError, UsageError  # noqa: E402
from worldgauge.core.image import Image  # noqa: E402
from worldgauge.core.video import resize  # noqa: E402
from worldgauge.engine import run as engine  # noqa: E402
from worldgauge.engine.suite.base import Suite  # noqa: E402
from worldgauge.engine.suite.contract import Record, Task  # noqa: E402
from worldgauge.metrics import tensors  # noqa: E402
from worldgauge.metrics.frame_pairs import grid_of, pair_error, prepared, prepared_pair  # noqa: E402
from worldgauge.metrics.psnr_ssim import mse, psnr, ssim_320x180, ssim_table  # noqa: E402
from worldgauge.models import models  # noqa: E402
from worldgauge.perception import score_device as module  # noqa: E402
from worldgauge.perception.instances import CATEGORIES  # noqa: E402
from worldgauge.perception.score_device import Means, ScoreDevice, check_score_device, score_device  # noqa: E402
from worldgauge.perception.segment import LabelImages  # noqa: E402
from worldgauge.suites.loopnav.suite import LoopNav  # noqa: E402
from worldgauge.suites.mind import scoring  # noqa: E402
from worldgauge.suites.mind.suite import Mind  # noqa: E402

TOLERANCE = 1e-5
RATES = ("ours", "decoded_before", "own_size", "own_size_reference", "label_images", "reference", "reference_all_cores")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(scope="module")
def device() -> ScoreDevice:
    return ScoreDevice(DEVICE)


def pictures(size: tuple[int, int], seed: int) -> list[Image]:
    """A textured picture, and what models make of it: equal, a level off, shifted, blurred, brighter; noise; black."""
    rng, (width, height) = np.random.default_rng(seed), size
    coarse = rng.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=np.uint8)
    one = cv2.resize(coarse, size, interpolation=cv2.INTER_CUBIC)
    one[: height // 3] = 200  # sky: SSIM's own floor
    near = one.copy()
    near[rng.random(one.shape) < 0.01] ^= 1
    brighter = np.clip(one.astype(np.int16) + 20, 0, 255).astype(np.uint8)
    noise = rng.integers(0, 256, one.shape, dtype=np.uint8)
    return [one, one.copy(), near, np.roll(one, 3, 1), cv2.GaussianBlur(one, (0, 0), 4), brighter, noise, one * 0]


def close(found: float, wanted: float) -> bool:
    """To 1e-5 of the value, or of 1 where that is larger; infinite only where the other is."""
    return found == wanted or abs(found - wanted) <= TOLERANCE * max(1.0, abs(wanted))


@pytest.mark.parametrize(
    ("size", "other", "seen"),
    [
        ((320, 180), (320, 180), (0, 1, 2, 7)),
        ((1280, 720), (1280, 720), (2, 6)),
        ((333, 251), (320, 180), (3,)),
        ((96, 54), (1920, 1080), (4, 5)),
    ],
)
def test_errors_at_720p(
    device: ScoreDevice, size: tuple[int, int], other: tuple[int, int], seen: tuple[int, ...]
) -> None:
    first, second = pictures(size, 1), pictures(size, 1)
    pairs = [(first[0], resize(second[number], *other)) for number in seen]
    for (x, y), found in zip(pairs, device.pair_errors(pairs), strict=True):
        wanted = pair_error(*prepared_pair(x, y))
        assert all(map(close, found, wanted)), (found, wanted)
        if np.array_equal(x, y):
            assert found == (0.0, math.inf, 1.0)


@pytest.mark.parametrize("size", [(320, 180), (640, 360), (960, 540), (200, 120), (333, 251), (64, 36)])
def test_pixel_scores(device: ScoreDevice, size: tuple[int, int]) -> None:
    pairs = list(pairwise(pictures(size, 2)))
    for (got, want), found in zip(pairs, device.pixel_scores(pairs), strict=True):
        assert (found["mse"], found["psnr"]) == (mse(got, want), psnr(got, want))
        for name, function in (("ssim_table", ssim_table), ("ssim_320x180", ssim_320x180)):
            assert close(found[name], function(got, want)), (name, found[name], function(got, want))


def test_the_true_frame_keeps_its_pixels_at_the_common_size(device: ScoreDevice) -> None:
    want = pictures((640, 360), 2)[6]
    for size in ((64, 36), (160, 90), (640, 360)):
        got = resize(want, *size)
        for means in (Means(), Means(device=device)):
            (found,) = means.pixels_of([(got, want)])
            assert (found["ssim_table"], found["mse"], found["psnr"]) == (1, 0, math.inf)
            assert close(found["ssim_320x180"], ssim_320x180(got, want))
            assert (found["ssim_320x180"] == 1) == (size == (640, 360))


@pytest.mark.parametrize("size", [(96, 54), (320, 180), (77, 200)])
def test_frames_are_prepared_alike(size: tuple[int, int]) -> None:
    frame = pictures(size, 3)[6]
    shown = tensors.fitted(torch.from_numpy(frame[None]), *grid_of(*frame.shape[:2]), (1280, 720))
    assert np.abs(shown[0].permute(1, 2, 0).numpy() - prepared(frame)).max() <= 2e-7


@pytest.mark.parametrize("size", [(320, 180), (640, 360), (96, 54), (101, 67), (160, 90), (400, 54)])
def test_frames_are_resized_alike(size: tuple[int, int]) -> None:
    frame = pictures((320, 180), 4)[6]
    found = tensors.resized(torch.from_numpy(frame[None]), *size)[0].numpy()
    apart = np.abs(found.astype(int) - resize(frame, *size))
    assert apart.max() <= 1
    assert (apart > 0).mean() < 3e-3, "sums that lie half way between two levels"


def test_scenes_of_label_images(device: ScoreDevice) -> None:
    rng = np.random.default_rng(5)
    labels = []
    for most in (1, 40, 65535):
        blocks = rng.integers(0, [len(CATEGORIES) + 1, most], (9, 16, 2)).repeat(10, 0).repeat(10, 1)
        labels.append(LabelImages(*np.ascontiguousarray(np.moveaxis(blocks, 2, 0)).astype(np.uint16)))
    labels.append(LabelImages(*np.zeros((2, 90, 160), np.uint16)))
    for one, found in zip(labels, device.scenes(labels), strict=True):
        wanted = one.scene()
        assert list(found) == list(wanted)
        for name, instances in wanted.items():
            assert all(np.array_equal(a, b) for a, b in zip(found[name], instances, strict=True))
    with pytest.raises(ShapeError, match="holds index 11"):
        device.scenes([LabelImages(*np.full((2, 9, 16), 11, np.uint16))])


@pytest.mark.parametrize("threads", [1, 3])
def test_means_give_the_same_on_a_device_and_without(
    device: ScoreDevice, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = list(pairwise(pictures((160, 90), 6)[:4]))
    monkeypatch.setattr(module, "PIXELS_AT_ONCE", 2 * 1280 * 720)
    plain = Means().errors_of(pairs)
    assert Means().errors_of(pairs, [prepared_pair(*pair) for pair in pairs]) == plain
    many = Means(threads)
    assert list(many.each(many.errors_of, pairs)) == plain
    many = Means(threads, device)
    found = list(many.each(many.errors_of, iter(pairs), at_once=2))
    assert len(found) == len(plain)
    assert all(map(close, *pair) for pair in zip(found, plain, strict=True))


def test_no_pair_and_odd_frames(device: ScoreDevice) -> None:
    assert device.pair_errors([]) == device.pixel_scores([]) == device.scenes([]) == []
    frame = np.zeros((20, 20, 3), np.uint8)
    with pytest.raises(ShapeError, match="of one size"):
        device.pair_errors([(frame, frame), (frame[:9], frame)])
    with pytest.raises(ShapeError, match="11 pixels a side"):
        device.pixel_scores([(frame[:9], frame[:9])])


def test_a_batch_without_room_is_halved_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    device, asked = ScoreDevice(DEVICE), []

    def small(pairs: list[tuple[Image, Image]]) -> object:
        asked.append(len(pairs))
        if len(pairs) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return whole(pairs)

    whole = device._pixel_scores
    monkeypatch.setattr(device, "_pixel_scores", small)
    pairs = list(pairwise(pictures((32, 18), 7)))
    with caplog.at_level(logging.WARNING):
        found = device.pixel_scores(pairs)
    assert (found, asked) == (ScoreDevice(DEVICE).pixel_scores(pairs), [7, 3, 1, 1, 1, 1, 1, 1, 1])
    assert [record.getMessage() for record in caplog.records] == [
        f"device '{DEVICE}' has no room for {n} times a pair of frames: half of it now" for n in (7, 3)
    ]


def test_no_room_for_one_pair_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(pairs: object) -> object:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    device = ScoreDevice(DEVICE)
    monkeypatch.setattr(device, "_pair_errors", full)
    with pytest.raises(UsageError, match="no room for a single pair of frames; use fewer --workers"):
        device.pair_errors(list(pairwise(pictures((32, 18), 8))))
    monkeypatch.setattr(device, "_scenes", full)
    with pytest.raises(UsageError, match="no room for a single label image; use fewer --workers"):
        device.scenes([LabelImages(*np.zeros((2, 9, 16), np.uint16))])


def test_what_the_option_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert score_device(None) is None
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match=r"device 'cuda' is not here; torch sees cpu only \(a GPU needs its driver"):
        ScoreDevice("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UsageError, match="device 'cuda:2' is not here; torch sees cpu, cuda:0, cuda:1"):
        ScoreDevice("cuda:2")
    with pytest.raises(UsageError, match="device 'cuda:x' is not here"):
        check_score_device("cuda:x")
    check_score_device("cuda:1")
    assert module.pairs_at_once(1280, 720) == 8


def test_scores_of_a_loop_are_those_of_the_processor(device: ScoreDevice, tasks: list[Task], tmp_path: Path) -> None:
    suite, context = LoopNav(), QuietContext(tmp_path)
    record = suite.perform(tasks[0], models.get("drift")(step_m=0.05), context)
    assert_alike(suite, record, context, device)


@pytest.mark.parametrize("part", ["mem_test", "mirror_test"])
def test_scores_of_clips_are_those_of_the_processor(
    device: ScoreDevice, part: str, clips: Path, tmp_path: Path, compared_small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SIZE", (128, 72))
    suite, context = Mind(), QuietContext(tmp_path)
    task = next(task for task in suite.tasks(clips) if f"/{part}/" in task.id)
    record = suite.perform(task, models.get("drift")(step_m=0.05), context)
    assert_alike(suite, record, context, device)


def test_frames_that_wait_for_networks_are_few(
    device: ScoreDevice, clips: Path, tmp_path: Path, compared_small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each holds 22 MB of prepared frames, so a device gets them one by one, and in batches where no network looks."""
    monkeypatch.setattr(module, "SIZE", (128, 72))
    suite, context = Mind(), QuietContext(tmp_path)
    task = next(task for task in suite.tasks(clips) if "/mem_test/" in task.id)
    record = suite.perform(task, models.get("drift")(step_m=0.05), context)
    context.means, sizes = Means(2, device), []
    whole = device.pair_errors
    monkeypatch.setattr(device, "pair_errors", lambda pairs: (sizes.append(len(pairs)), whole(pairs))[1])
    suite.score(record, context)
    assert max(sizes) > 1
    sizes.clear()
    monkeypatch.setattr(scoring.LearnedScores, "is_looking", True)
    monkeypatch.setattr(scoring.LearnedScores, "see", lambda self, index, x, y: seen.append(x.nbytes + y.nbytes))
    seen: list[int] = []
    suite.score(record, context)
    assert (set(sizes), len(seen)) == ({1}, len(sizes))


def assert_alike(suite: Suite, record: Record, context: QuietContext, device: ScoreDevice) -> None:
    """Scores and the values of single frames agree; with several threads they are the same to the last bit."""
    plain = suite.score(record, context)
    context.means = Means(3)
    assert suite.score(record, context) == plain
    context.means = Means(2, device)
    given = suite.score(record, context)
    assert [one.metric for one in given] == [one.metric for one in plain]
    assert sum(one.value is not None for one in plain) > 5
    for one, other in zip(given, plain, strict=True):
        assert (one.value is None) == (other.value is None)
        for (place, found), (where, wanted) in zip(
            [(0, one.value), *one.series], [(0, other.value), *other.series], strict=True
        ):
            assert place == where
            assert found == wanted or close(float(str(found)), float(str(wanted))), one.metric


def test_a_worker_scores_on_the_device_that_it_is_told(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_checked_device", lambda name, on: name)  # the option's "cpu" is no device
    found = []
    for name in (None, "cpu"):
        out = tmp_path / str(name)
        settings = {"tests": "mem", "horizon": 2}
        made = engine.run(
            "mind", model="drift?step_m=0.05", data=clips, out=out, settings=settings, limit=1, score_device=name
        )
        assert made.ok
        frame = made.frame.set_index("metric").value.dropna()
        found.append({metric: float(value) for metric, value in frame.items()})
    plain, given = found
    assert plain.keys() == given.keys()
    assert all(close(given[metric], value) for metric, value in plain.items())
    assert given["lcm/ssim_720p"] != plain["lcm/ssim_720p"], "torch's last digits are others"


@pytest.mark.slow
def test_the_benchmark_measures_on_the_processor_too_and_says_that_it_did() -> None:
    found = benchmark.run(device="cpu", size=(32, 18), frames=4, seconds=0.05)
    assert found["device"] == "CPU"
    assert min(found[name] for name in RATES) > 0
    assert found["utilisation"] is None, "a processor is no GPU"
    assert found["met"] is False
    assert "not here" in benchmark.run(device="cuda:99")["not_run"]
