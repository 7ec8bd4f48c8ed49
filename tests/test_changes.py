"""Changes of `benchmarks.changes` do what they say, violations are counted right, and the page shows what is stored."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import _changes_page as page
from benchmarks import changes
from benchmarks._harmless import HARMLESS, Changed
from benchmarks._real import REAL, SHOWN_ONLY, Wrong

from worldgauge.core.episode import Episode
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, checked_rollout
from worldgauge.metrics import metrics
from worldgauge.worlds import open_world

LENGTH = 30
TINTED = (106, 100, 92)
GREY = {"tint": TINTED, "contrast": (115,) * 3, "brighter": (125,) * 3, "gamma": (91,) * 3, "drift": TINTED}
"""What becomes of the colour (100, 100, 100); drift: at its end. Other changes leave it, except noise."""


@pytest.fixture(scope="module")
def request_of_walk(walk: tuple[Episode, int]) -> RolloutRequest:
    episode, start = walk
    part = slice(start, start + LENGTH)
    poses, truth = episode.poses[part], episode.clip[part]
    actions, context = episode.actions[start - 1 : start - 1 + LENGTH], episode.context(0, start)
    given = {"poses": poses, "world": episode.world, "truth": truth, "truth_poses": poses}
    return RolloutRequest(context, LENGTH, 0, actions=actions, **given)


@pytest.fixture(scope="module")
def shown(request_of_walk: RolloutRequest) -> dict[str, Frames]:
    """The frames of every change."""
    models = {name: Changed(name) for name in ("none", *HARMLESS)} | {name: Wrong(name) for name in REAL | SHOWN_ONLY}
    return {name: np.concatenate(list(checked_rollout(model, request_of_walk))) for name, model in models.items()}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_harmless_changes_do_to_grey(name: str) -> None:
    video = np.full((20, 32, 48, 3), 100, np.uint8)
    changed = HARMLESS[name](video, 0)
    assert changed.shape == video.shape
    if name.startswith("noise"):
        assert (changed - 100.0).std() == pytest.approx(float(name.split()[1]), rel=0.05)
        assert abs((changed - 100.0).mean()) < 0.2
    else:
        assert np.abs(changed[-1].astype(int) - GREY.get(name, (100,) * 3)).max() <= (2 if name == "H.264" else 0)
    assert name != "drift" or (changed[0] == 100).all()


def test_what_harmless_changes_do_to_detail() -> None:
    ramp = np.broadcast_to(np.arange(0, 240, 10, np.uint8)[None, None, :, None], (2, 24, 24, 3))
    assert (HARMLESS["shift"](ramp, 0)[:, :, 2:] == ramp[:, :, 2:] - 5).all(), "half a pixel"
    squares = np.broadcast_to((np.indices((24, 24)).sum(0) % 2 * 200).astype(np.uint8)[None, ..., None], (2, 24, 24, 3))
    assert (HARMLESS["half size"](squares, 0) == 100).all()
    assert np.ptp(HARMLESS["blur"](squares, 0)[:, 6:-6, 6:-6]) < 40


def test_a_tint_is_hardly_visible(shown: dict[str, Frames]) -> None:
    ssim = metrics.get("ssim_table")
    values = [ssim(a, b) for a, b in zip(shown["none"], shown["tint"], strict=True)]
    assert np.mean(values) > 0.99


def test_real_changes(request_of_walk: RolloutRequest, shown: dict[str, Frames]) -> None:
    truth, context = shown["none"], request_of_walk.context.clip.to_array()
    second = round(request_of_walk.context.clip.fps)
    assert (shown["frozen"] == context[-1]).all()
    assert (shown["mirrored"][:, :, ::-1] == truth).all()
    assert (shown["1 s late"] == np.concatenate([context[-second:], truth])[:LENGTH]).all()
    assert len(np.unique(shown["flat paint"].reshape(-1, 3), axis=0)) == 2
    assert np.abs(shown["mean frame"] - context.mean(0)).max() <= 0.5
    assert request_of_walk.world is not None
    world, camera = open_world(request_of_walk.world), request_of_walk.context.camera
    pose = request_of_walk.poses[3].copy()
    pose[:3, 3] += 2 * pose[:3, 0]
    assert np.abs(shown["2 m aside"][3].astype(int) - world.view(pose, camera).rgb).mean() < 0.5

    def error(name: str) -> float:
        return float(np.square(shown[name].astype(float) - truth).mean())

    assert error("tint") < error("a third of objects gone") < error("no objects")
    assert error("tint") < error("turned 15°") < error("turned 30°")
    assert all(error("tint") < error(name) for name in REAL)


def test_violations_by_hand() -> None:
    """Each change has two tasks: 0.9 of tint ties with frozen, blur has no value, and a small turn is not counted."""
    one = {changes.TRUTH: [1.0, 1.0], "tint": [0.8, 1.0], "blur": [None, None], "drift": [1.0, None]}
    one |= {"frozen": [0.9, 0.9], "mirrored": [0.2, 0.1], "turned 15°": [1.0, 1.0]}
    found = changes.summarise("SSIM", one)
    assert found.wrong == [("tint", "frozen"), ("blur", "frozen"), ("blur", "mirrored")]
    assert found.pairs == 6
    assert found.wrong_share == 7 / 12, "once tint, four times blur, twice drift, which has no second value"
    assert found.moved["tint"] == pytest.approx(-0.1)
    assert changes.summarise("MSE", one).wrong == [
        *(("tint", "frozen"), ("tint", "mirrored"), ("blur", "frozen"), ("blur", "mirrored")),
        *(("drift", "frozen"), ("drift", "mirrored")),
    ]


def test_share_of_the_gain() -> None:
    success = {changes.NONE: [0.0, 1.0], changes.TRUTH: [1.0, 1.0], "tint": [0.0, 1.0], "blur": [1.0, 1.0]}
    rows = changes.table(changes.Values(["a", "b"], {"success": success})).splitlines()
    assert [row.split("|")[-2].strip() for row in rows[2:]] == ["0 %", "100 %", "0 %", "100 %"]


def test_stored_values_come_back(tmp_path: Path) -> None:
    found = {"mind": changes.Values(["a", "b"], {"MSE": {changes.TRUTH: [0.0, None], "turned 30°": [0.25, 1e-5]}})}
    changes.store(found, tmp_path / "values.json")
    assert changes.load(tmp_path / "values.json") == found


def test_the_page_shows_what_is_stored() -> None:
    found = changes.load()
    for path in (page.PAGE, page.DETAILS):
        text = path.read_text("utf-8")
        assert "<!-- end -->" in text
        assert page.filled(text, found) == text
    assert page.chart(changes.summaries(found)) + "\n" == page.CHART.read_text("utf-8")
    assert page.STRIP.stat().st_size < 200_000
