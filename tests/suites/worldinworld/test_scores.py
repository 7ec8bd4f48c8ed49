"""Metrics, learned scores and tables."""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.metrics import mean_squared_error, structural_similarity

from support.places import TESTS
from support.task_context import QuietContext
from support.vectors import cases
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import Failure, Score, Table, TableRow
from worldgauge.metrics import metrics
from worldgauge.models import models
from worldgauge.suites.worldinworld import metrics as c
from worldgauge.suites.worldinworld import metrics as s
from worldgauge.suites.worldinworld.metrics import answer_spl, ranked_by_distance, spl
from worldgauge.suites.worldinworld.scoring import HEADLINE
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.suites.worldinworld.summary import summarize
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.suites.worldinworld.trace import COMPARED
from worldgauge.worlds import worlds

CLIPS = st.lists(st.lists(st.floats(0, 1), max_size=6), min_size=1, max_size=5)


@pytest.mark.parametrize(
    "case", [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "lpips_revision"]
)
def test_rankings_of_the_reference(case: dict[str, Any]) -> None:
    found = ranked_by_distance(case["distances"])
    assert found.best == case["expected"]["index"]
    assert list(found.rewards) == pytest.approx([float(reward) for reward in case["expected"]["rewards"]], abs=1e-6)


@given(CLIPS)
def test_is_the_mean_of_padded_rows(clips: list[list[float]]) -> None:
    found = ranked_by_distance(clips)
    longest = max(len(clip) for clip in clips)
    for clip, reward in zip(clips, found.rewards, strict=True):
        if clip:
            padded = np.pad(clip, (0, longest - len(clip)), mode="edge")
            assert reward == pytest.approx(1 - padded.mean())
        else:
            assert reward == -math.inf
    assert found.rewards[found.best] >= max(found.rewards) - 1e-9


@given(CLIPS)
def test_the_order_of_candidates_does_not_change_their_rewards(clips: list[list[float]]) -> None:
    assert ranked_by_distance(clips[::-1]).rewards == ranked_by_distance(clips).rewards[::-1]


def test_the_degenerate() -> None:
    assert ranked_by_distance([[], []]) == ((-math.inf, -math.inf), 0)
    assert ranked_by_distance([[0.1, 0.2, 0.3], [0.2]]).best == 0, "equal but for the last bit: the first wins"
    with pytest.raises(UsageError, match="no candidates"):
        ranked_by_distance([])
    with pytest.raises(UsageError, match="finite"):
        ranked_by_distance([[math.nan]])


LENGTH = st.floats(0, 1000)


def of_kind(kind: str) -> list[Any]:
    return [case for case in cases("wiw_metrics", "cases") if case.values[0]["kind"] == kind]


def number(value: Any) -> Any:
    """A length of a vector, where "inf" is a word."""
    return float(value) if isinstance(value, str) else value


def mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def same(found: float, expected: Any) -> None:
    assert found == pytest.approx(float(expected), abs=1e-6, nan_ok=True)


def released_answers(episodes: Sequence[tuple[int, float, float | None]]) -> tuple[float, float, float]:
    """Answer score, metres and SPL as the release computes them, scores in percent.

    A judge's failure is mark 0 and takes 25 points away; episodes without a length are left out of the latter two.

    Args:
        episodes: (mark, shortest, travelled) of every episode.
    """
    lengths = [(mark, shortest, travelled) for mark, shortest, travelled in episodes if travelled is not None]
    weighted = [(mark - 1) / 4 * 100 * (shortest / max(shortest, travelled)) for mark, shortest, travelled in lengths]
    return (
        float(np.mean([(mark - 1) / 4 * 100 for mark, _, _ in episodes])),
        float(np.mean([travelled for _, _, travelled in lengths])),
        float(np.mean(weighted)),
    )


def released_spl(episodes: Iterable[tuple[bool, float, float]]) -> tuple[float, float]:
    """Success rate and SPL as fractions, as the release computes them.

    One episode of 0 steps, or without a path, makes the whole of SPL NaN.

    Args:
        episodes: (done, shortest, travelled) of every episode.
    """
    done, shortest, travelled = (np.array(column, np.float64) for column in zip(*episodes, strict=True))
    with np.errstate(invalid="ignore"):
        return float(done.mean()), float((done * shortest / np.maximum(shortest, travelled)).mean())


@pytest.mark.parametrize("case", of_kind("spl"))
def test_path_lengths_of_the_reference(case: dict[str, Any]) -> None:
    episodes = [(e["success"], number(e["shortest"]), number(e["travelled"])) for e in case["episodes"]]
    terms, expected, released = [spl(*one) for one in episodes], case["expected"], case["released"]
    assert [term.value for term in terms] == pytest.approx([100 * v for v in expected["per_episode"]], abs=1e-6)
    same(mean([term.value for term in terms]), expected["spl_percent"])
    same(mean([s.success(done) for done, _, _ in episodes]), expected["sr_percent"])
    same(mean([s.trajectory_steps(travelled) for _, _, travelled in episodes]), expected["mean_travelled"])
    for (_, shortest, _), term in zip(episodes, terms, strict=True):
        assert ("unreachable" in term.flags) == math.isinf(shortest)
    rate, weighted = released_spl(episodes)
    same(rate, released["sr"])
    same(weighted, released["spl"])


@pytest.mark.parametrize("case", of_kind("aeqa"))
def test_answers_of_the_reference(case: dict[str, Any]) -> None:
    episodes, expected = case["episodes"], case["expected"]
    answers = [s.answer_score(e["answered"], e["score"], e["blind_score"]) for e in episodes]
    alone = [s.answer_score(e["answered"], e["score"]) for e in episodes]
    lengths = [(number(e["shortest"]), number(e["travelled"])) for e in episodes]
    weighted = [answer_spl(e["answered"], e["score"], *length) for e, length in zip(episodes, lengths, strict=True)]
    assert [term.value for term in answers] == pytest.approx(expected["per_episode_answer"])
    assert [term.value for term in weighted] == pytest.approx(expected["per_episode_spl"], abs=1e-6)
    same(mean([term.value for term in answers]), expected["answer_score"])
    same(mean([term.value for term in alone]), expected["answer_score_no_blind"])
    same(mean([term.value for term in weighted]), expected["spl_percent"])
    same(mean([travelled for _, travelled in lengths]), expected["mean_travelled"])
    assert [term.flags[0] if term.flags else None for term in answers] == expected["flags"]

    def released(blind: bool) -> tuple[float, float, float]:
        marks = [e["score"] if e["answered"] else e["blind_score"] if blind else 1 for e in episodes]
        return released_answers([(mark, *length) for mark, length in zip(marks, lengths, strict=True)])

    # The scores themselves reach the released means, with judge_failure=released.
    if case["id"] == "aeqa_judge_failure":
        failed = {"failed": s.FAILED_RELEASED}
        alone = [s.answer_score(e["answered"], e["score"], **failed) for e in episodes]
        answers = [s.answer_score(e["answered"], e["score"], e["blind_score"], **failed) for e in episodes]
        weighted = [
            answer_spl(e["answered"], e["score"], *length, **failed)
            for e, length in zip(episodes, lengths, strict=True)
        ]
        same(mean([term.value for term in alone]), case["released"]["without_blind"]["answer_score"])
        same(mean([term.value for term in answers]), case["released"]["with_blind"]["answer_score"])
        same(mean([term.value for term in weighted]), case["released"]["without_blind"]["spl"])

    for blind, name in ((False, "without_blind"), (True, "with_blind")):
        outcome = case["released"][name]
        if outcome == "ZeroDivisionError":
            with pytest.raises(ZeroDivisionError):
                released(blind)
            continue
        for found, key in zip(released(blind), ("answer_score", "mean_travelled", "spl"), strict=True):
            same(found, outcome[key])


@pytest.mark.parametrize("case", of_kind("ar"))
def test_recognition_of_the_reference(case: dict[str, Any]) -> None:
    episodes, expected = case["episodes"], case["expected"]
    right = [s.success(e["pred"] is not None and e["pred"] == e["gt"]) for e in episodes]
    steps = [s.trajectory_steps(e["actions"]) for e in episodes]
    same(mean(right), expected["sr_percent"])
    same(mean(steps), expected["mean_traj"])
    assert (len(right), len([n for n in steps if n is not None])) == (expected["n"], expected["n_with_traj"])
    same(mean(right) / 100, case["released"]["sr"])
    same(mean(steps), case["released"]["mean_traj"])


@pytest.mark.parametrize("case", of_kind("manip"))
def test_manipulation_of_the_reference(case: dict[str, Any]) -> None:
    same(mean([s.success(e["success"]) for e in case["episodes"]]), case["expected"]["sr_percent"])
    same(mean([s.trajectory_steps(e["decisions"]) for e in case["episodes"]]), case["expected"]["mean_traj"])


def test_by_hand() -> None:
    assert (spl(True, 5, 20), spl(True, 20, 5), spl(False, 5, 20)) == (s.Term(25.0), s.Term(100.0), s.Term(0.0))
    assert answer_spl(True, 4, 5, 10) == s.Term(37.5)
    assert [s.task_progress(share) for share in (0, 0.25, 1)] == [0.0, 0.25, 1.0]
    assert [s.answer_score(True, mark).value for mark in (1, 2, 3, 4, 5)] == [0, 25, 50, 75, 100]


@given(st.lists(st.tuples(st.booleans(), st.floats(0.1, 1000), LENGTH), min_size=1, max_size=9))
def test_where_nothing_is_odd_the_release_agrees(episodes: list[tuple[bool, float, float]]) -> None:
    """numpy over whole columns against one episode at a time."""
    rate, weighted = released_spl(episodes)
    assert mean([spl(*one).value for one in episodes]) == pytest.approx(100 * weighted)
    assert mean([s.success(done) for done, _, _ in episodes]) == pytest.approx(100 * rate)
    answered = [(1 + done * 4, shortest, travelled) for done, shortest, travelled in episodes]
    assert released_answers(answered)[2] == pytest.approx(100 * weighted)


@given(st.booleans(), LENGTH, LENGTH, st.floats(0.01, 100))
def test_the_unit_of_length_does_not_matter_and_a_longer_way_is_never_better(done, shortest, travelled, scale):
    value = spl(done, shortest, travelled).value
    assert 0 <= value <= s.success(done)
    assert spl(done, shortest * scale, travelled * scale).value == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert spl(done, shortest, travelled * (1 + scale)).value <= value + 1e-9
    assert answer_spl(True, 5, shortest, travelled).value == spl(True, shortest, travelled).value


def test_the_edges() -> None:
    assert spl(True, 0, 0) == s.Term(100.0), "who stands there already has taken the shortest way"
    assert (spl(True, 0, 4), spl(True, math.inf, 4)) == (s.Term(0.0), s.Term(0.0, ("unreachable",)))
    assert (spl(True, 4, math.inf), spl(True, 4, None)) == (s.Term(0.0), s.Term(0.0, ("no_length",)))
    assert spl(True, None, 4) == s.Term(None, ("no_reference",)), "missing is not zero"
    assert s.answer_score(False, None) == s.Term(0.0, ("no_answer",))
    assert s.answer_score(False, None, 0) == s.Term(0.0, ("no_answer", "judge_error"))
    assert s.answer_score(False, 5, 2) == s.Term(25.0, ("no_answer",)), "a mark of nothing is none"
    assert s.answer_score(True, 9) == s.Term(0.0, ("judge_error",))
    assert s.answer_score(True, None, 5) == s.Term(0.0, ("judge_error",)), "no fallback for a judge that failed"
    assert answer_spl(False, None, 0, 0) == s.Term(0.0, ("no_answer",))
    assert answer_spl(True, None, 4, None) == s.Term(0.0, ("judge_error", "no_length"))
    assert s.trajectory_steps(None) is None
    assert s.trajectory_steps(0) == 0.0


def test_lengths_that_cannot_be() -> None:
    for lengths in ((-1, 3), (3, -1), (math.nan, 3), (3, math.nan)):
        with pytest.raises(UsageError, match="lengths are not negative"):
            spl(True, *lengths)
    with pytest.raises(UsageError, match="-1 steps"):
        s.trajectory_steps(-1)


def test_the_release_at_the_edges() -> None:
    assert math.isnan(released_spl([(True, 0, 0), (True, 1, 1)])[1])
    with pytest.raises(ZeroDivisionError):
        released_answers([(5, 0.0, 0.0)])
    assert released_answers([(5, 4.0, math.inf)])[1:] == (math.inf, 0.0)
    assert released_answers([(5, 4.0, 8.0), (1, 4.0, None)]) == (50.0, 8.0, 50.0)


def test_the_length_of_a_walk() -> None:
    def around(a: Sequence[float], b: Sequence[float]) -> float:
        return abs(a[0] - b[0]) + abs(a[1] - b[1]) if b[0] < 9 else math.inf

    assert s.length_m([(0, 0), (3, 4), (3, 4), (3, 0)], around) == s.Term(11.0)
    assert s.length_m([(0, 0), (9, 12)], around) == s.Term(15.0, ("hop_without_path",))
    assert s.length_m([(2, 2)], around) == s.length_m(np.empty((0, 2)), around) == s.Term(0.0)


@pytest.mark.parametrize("name", ["success", "spl", "answer_score", "answer_spl"])
def test_shares_are_percent(name: str) -> None:
    assert metrics.entry(name).facts["bounds"] == (0.0, 100.0)
    assert metrics.entry(name).facts["unit"] == "%"


@pytest.mark.parametrize("share", [-0.01, 1.01, math.nan])
def test_progress_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="0 to 1"):
        s.task_progress(share)


VALUES = st.lists(st.floats(-100, 100), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def views() -> np.ndarray:
    """(4, 384, 384, 3) of a home."""
    home = worlds.get("indoor")(seed=3)
    x, y = home.floor.origin + 0.05 * np.argwhere(home.floor.clearance_m > 0.5).mean(0)
    camera = Camera.from_horizontal_fov(384, 384, 90)
    return np.stack([home.view(pose_from_yaw_pitch((x, y, 1.0), yaw), camera).rgb for yaw in (0.3, 1.9, 3.4, 5.0)])


def noisy(frames: np.ndarray, sigma: float) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, sigma, frames.shape)
    return np.clip(np.rint(frames + noise), 0, 255).astype(np.uint8)


def test_by_hand_of_controllability() -> None:
    black, grey = np.zeros((2, 384, 384, 3), np.uint8), np.full((2, 384, 384, 3), 51, np.uint8)
    grey[1] = 0
    assert c.controllability_psnr(black, grey) == pytest.approx(10 * math.log10(255**2 / (51**2 / 2)))
    c1 = (0.01 * 255) ** 2
    assert c.controllability_ssim(black, grey) == pytest.approx((c1 / (51**2 + c1) + 1) / 2, abs=1e-6)
    assert c.controllability_lpips([0.25, 0.75]) == 0.5


def test_agrees_with_scikit_image(views: np.ndarray) -> None:
    other = noisy(views, 12)
    expected = [
        structural_similarity(a, b, channel_axis=2, gaussian_weights=True, use_sample_covariance=False, data_range=255)
        for a, b in zip(views, other, strict=True)
    ]
    assert c.controllability_ssim(views, other) == pytest.approx(np.mean(expected), abs=1e-3)
    error = mean_squared_error(views, other)
    assert c.controllability_psnr(views, other) == pytest.approx(10 * math.log10(255**2 / error))


def test_controllability_is_symmetric_perfect_for_equal_frames_and_falls_with_the_error(views: np.ndarray) -> None:
    for measure, best in ((c.controllability_ssim, 1.0), (c.controllability_psnr, math.inf)):
        assert measure(views, views) == best
        found = [measure(views, noisy(views, sigma)) for sigma in (4, 12, 36)]
        assert found == sorted(found, reverse=True)
        assert measure(noisy(views, 12), views) == pytest.approx(found[1])
        assert measure(views[::-1], views) < found[0], "other places are further away than a little noise"
        order = [2, 0, 3, 1]
        assert measure(views[order], noisy(views, 12)[order]) == pytest.approx(found[1])


def test_frames_of_any_size_are_compared_at_one(views: np.ndarray) -> None:
    small = np.stack([cv2.resize(view, (192, 192), interpolation=cv2.INTER_AREA) for view in views])
    assert 0.5 < c.controllability_ssim(small, views) < 1


def test_quality_agrees_with_singular_values_of_every_patch(views: np.ndarray) -> None:
    grey = cv2.cvtColor(views[0], cv2.COLOR_RGB2GRAY).astype(float)
    down, across = np.gradient(grey)
    total = 0.0
    for y in range(0, 384, 8):
        for x in range(0, 384, 8):
            patch = slice(y, y + 8), slice(x, x + 8)
            s1, s2 = np.linalg.svd(np.column_stack([across[patch].ravel(), down[patch].ravel()]))[1]
            coherence = (s1 - s2) / (s1 + s2) if s1 > 0 else 0
            threshold = 0.001 ** (1 / 63)
            if coherence > math.sqrt((1 - threshold) / (1 + threshold)):
                total += s1 * coherence
    flat = grey - grey.mean()
    pairs = [(flat[y, x], flat[y + 48, x]) for y in range(0, 336) for x in range(384)]
    pairs += [(flat[y, x], flat[y, x + 48]) for y in range(384) for x in range(0, 336)]
    alike = np.prod(pairs, axis=1).mean() / flat.var()
    assert 0 < alike < 1
    assert c.visual_quality(views[0]) == pytest.approx(total / 48**2 * alike, rel=1e-6)


def test_blur_and_noise_both_lower_the_quality(views: np.ndarray) -> None:
    for view in views:
        clear = c.visual_quality(view)
        blurred = [c.visual_quality(cv2.GaussianBlur(view, (0, 0), sigma)) for sigma in (1, 2, 4)]
        assert [clear, *blurred] == sorted([clear, *blurred], reverse=True)
        assert c.visual_quality(noisy(view, 40)) < clear
    assert c.visual_quality(noisy(np.full((384, 384, 3), 128, np.uint8), 20)) < 1, "noise alone is no structure"


@pytest.mark.parametrize("side", [1, 2, 4, 8, 16, 32])
def test_squares_of_noise_do_not_win(views: np.ndarray, side: int) -> None:
    """The floor: of the reference `noise` 8 pixels at 384, 32 at 96."""
    rng = np.random.default_rng(side)
    worst = min(c.visual_quality(view) for view in views)
    for channels in (1, 3):
        cells = rng.integers(0, 256, (384 // side, 384 // side, channels), np.uint8)
        noise = np.broadcast_to(cells.repeat(side, 0).repeat(side, 1), (384, 384, 3))
        floor = c.visual_quality(np.ascontiguousarray(noise))
        assert floor < worst
        levels = [np.rint((1 - a) * views[0] + a * noise).astype(np.uint8) for a in (0.0, 0.25, 0.5, 0.75)]
        quality = [*map(c.visual_quality, levels), floor]
        assert quality[0] > max(quality[2:])


def test_quality_does_not_depend_on_brightness_or_on_a_quarter_turn(views: np.ndarray) -> None:
    dark = views[0] // 2
    assert c.visual_quality(dark + 100) == pytest.approx(c.visual_quality(dark))
    assert c.visual_quality(np.ascontiguousarray(np.rot90(views[0]))) == pytest.approx(c.visual_quality(views[0]))
    assert c.visual_quality(np.full((384, 384, 3), 77, np.uint8)) == 0


def test_regret_by_hand() -> None:
    assert (c.decision_regret([-3.0, -1.0, -2.0], 2), c.decision_regret([-3.0, -1.0], 1)) == (1.0, 0.0)
    assert c.decision_regret([-math.inf, -1.0], 0) == math.inf
    assert c.decision_regret([-math.inf, -math.inf], 0) == 0.0
    assert c.decision_regret([1.0, None], 0) is None
    assert c.decision_regret([1.0, 2.0], None) is None


@given(VALUES, st.data())
def test_regret_is_the_gap_to_the_best(values: list[float], data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, len(values) - 1))
    found = c.decision_regret(values, chosen)
    assert found == np.max(values) - values[chosen]
    assert c.decision_regret([value + 5 for value in values], chosen) == pytest.approx(found, abs=1e-9)
    assert c.decision_regret(values, int(np.argmax(values))) == 0


def test_what_they_refuse(views: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="n >= 1"):
        c.controllability_ssim(views, views[:-1])
    with pytest.raises(ShapeError, match="n >= 1"):
        c.controllability_psnr(views[:0], views[:0])
    with pytest.raises(ShapeError, match="uint8"):
        c.visual_quality(views[0] / 255)
    for distances in ([], [math.nan], [-0.1]):
        with pytest.raises(UsageError, match="distance"):
            c.controllability_lpips(distances)
    with pytest.raises(UsageError, match="candidate 2"):
        c.decision_regret([1.0, 2.0], 2)
    with pytest.raises(UsageError, match="-inf"):
        c.decision_regret([1.0, math.nan], 0)


SERVER = TESTS / "support" / "perception_server.py"


SMALL = {"view_px": 48, "panorama_px": 128, "decisions": 2, "task": "navigation"}


def served(name: str) -> str:
    return f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:{name}"


def acted(episodes: Path, folder: Path, model: str, **settings: Any) -> dict[str, Score]:
    suite = ClosedLoop(**SMALL, **settings)
    task = next(iter(suite.tasks(episodes)))
    folder.mkdir(parents=True)
    task_context = QuietContext(folder)
    record = suite.perform(task, models.get(model)(), task_context)
    return {score.metric: score for score in suite.score(record, task_context)}


def test_networks_look_at_the_frames_that_were_compared(episodes: Path, tmp_path: Path) -> None:
    asked = {"lpips": served("Lpips"), "imaging": served("Imaging"), "aesthetic": served("Aesthetic?layout=scores")}
    true = acted(episodes, tmp_path / "a", "oracle", **asked)
    assert true["controllability_lpips"].value == 1
    frozen = acted(episodes, tmp_path / "b", "freeze", **asked)
    assert frozen["controllability_lpips"].value < 1
    film = Clip.open(tmp_path / "b" / COMPARED).to_array()
    level = np.stack([resize(frame, 384, 384) for frame in film]).mean() / 127.5 - 1
    assert frozen["imaging"].value == pytest.approx((50 + 50 * level) / 100, abs=1e-4)
    assert frozen["imaging"].n == frozen["aesthetic"].n == len(film)
    assert frozen["imaging"].facts["network"]["estimator"] == "mean-level"


def test_without_them_they_are_missing_and_the_table_says_so(episodes: Path, tmp_path: Path) -> None:
    found = acted(episodes, tmp_path / "a", "freeze")
    for metric in ("controllability_lpips", "imaging", "aesthetic"):
        assert found[metric].value is None
    scores = {"freeze": list(found.values())}
    tables = {table.metric: table for table in ClosedLoop().summarize(scores, {"freeze": "model"}, {})}
    notes = " ".join(tables["imagination"].notes)
    assert "No 1 - LPIPS: its weights were not given: worldgauge weights pull lpips-alex" in notes
    assert "1 - LPIPS" not in tables["imagination"].columns


def test_who_looks_to_decide_is_not_a_setting_of_scoring_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    assert {"lpips", "networks_digest"} <= ClosedLoop().scoring_settings
    looking = ClosedLoop(task="navigation", reviser="lpips")
    assert not {"lpips", "networks_digest"} & looking.scoring_settings
    assert looking.settings["networks_digest"] is not None
    assert LoopSettings.of({}).networks_digest is None


def scores(task: str, values: Sequence[float | None], metric: str = HEADLINE, end: str = "budget") -> list[Score]:
    return [
        Score(
            f"{task}/{k}",
            metric,
            value,
            "%",
            reason=None if value is not None else "gone",
            group={"task": task, "difficulty": ("easy", "hard")[k % 2]},
            facts={"end": end, "flags": ["no_answer"] if task == "questions" and value == 25.0 else []},
        )
        for k, value in enumerate(values)
    ]


def tables(models: dict[str, list[Score]], failed: dict[str, list[Failure]] | None = None) -> dict[str, Table]:
    kinds = {name: "baseline" if name == "none" else "model" for name in models}
    made = summarize(models, kinds, {name: (failed or {}).get(name, []) for name in models})
    return {table.metric: table for table in made}


def row(table: Table, label: str) -> TableRow:
    return next(one for one in table.rows if one.label == label)


def test_a_rate_has_wilsons_interval_and_an_answer_score_a_bootstrap() -> None:
    made = tables({"a": scores("navigation", [100.0] * 3 + [0.0] * 7) + scores("questions", [0.0, 25.0, 100.0, 75.0])})
    navigation, questions, everything = row(made[HEADLINE], "a").cells
    assert made[HEADLINE].columns == ("navigation", "questions", "all")
    assert (navigation.mean, navigation.n) == (30.0, 10)
    # Wilson, z = 1.96: (0.3 + 0.192 -+ 1.96 sqrt(0.021 + 0.0096)) / 1.384.
    assert (navigation.low, navigation.high) == (pytest.approx(10.78, abs=0.02), pytest.approx(60.32, abs=0.02))
    assert (questions.mean, questions.n) == (50.0, 4)
    assert everything.mean == pytest.approx((300 + 200) / 14)


def test_failed_episodes_are_counted() -> None:
    failed = {"b": [Failure("navigation/7", {"task": "navigation"}, "died")]}
    made = tables({"a": scores("navigation", [0.0] * 4), "b": scores("navigation", [100.0] * 3)}, failed)
    assert row(made[HEADLINE], "b").cells[0].expected == 4
    ends = row(made["end"], "b")
    assert dict(zip(made["end"].columns, [cell.mean for cell in ends.cells], strict=True)) == {"budget": 3, "failed": 1}


def test_the_gain_is_of_the_same_episodes() -> None:
    rng = np.random.default_rng(0)
    base = [100.0 * (x < 0.2) for x in rng.random(60)]
    better = [100.0 if k % 3 == 0 else value for k, value in enumerate(base)]
    made = tables({"m": scores("navigation", better), "none": scores("navigation", base)})
    cell = row(made["gain"], "m").cells[0]
    assert (cell.mean, cell.n) == (pytest.approx(np.mean(better) - np.mean(base)), 60)
    assert cell.low > 0
    assert [one.label for one in made["gain"].rows] == ["m"]
    assert "m < 0.001" in made["gain"].notes[0]


def test_no_gain_without_the_base() -> None:
    assert "gain" not in tables({"m": scores("navigation", [0.0, 100.0])})


def test_recognition_by_difficulty_and_edge_cases_counted() -> None:
    made = tables({"m": scores("recognition", [100.0, 0.0, 100.0, 0.0]) + scores("questions", [25.0, 25.0, 100.0])})
    by = made["recognition/by_difficulty"]
    assert by.columns == ("easy", "hard")
    assert [cell.mean for cell in by.rows[0].cells] == [100.0, 0.0]
    assert made["questions/answer_score"].notes == ("m: 2 x no answer.",)


def test_missing_is_not_zero() -> None:
    steps = scores("recognition", [4.0, None], "recognition/trajectory_steps")
    made = tables({"m": [*scores("recognition", [100.0, 0.0]), *steps]})
    cell = row(made["recognition/success"], "m").cells[1]
    assert (cell.mean, cell.n, cell.expected) == (4.0, 1, 2)


def test_nothing_was_asked() -> None:
    assert summarize({"m": []}, {"m": "model"}, {"m": []}) == []


def test_only_rates_have_the_interval_of_a_rate() -> None:
    calls = scores("navigation", [0.0] * 50, "model_calls")
    made = tables({"m": [*scores("navigation", [0.0] * 50), *calls]})
    cell = row(made["cost"], "m").cells[2]
    assert (cell.mean, cell.low, cell.high) == (0.0, None, None)
    rate = row(made[HEADLINE], "m").cells[0]
    assert rate.high > 5


def test_a_model_without_a_kind_of_tasks_has_no_mean_over_all() -> None:
    made = tables(
        {
            "a": scores("navigation", [0.0] * 4) + scores("manipulation", [100.0] * 4),
            "b": scores("navigation", [100.0] * 4),
        }
    )
    table = made[HEADLINE]
    assert (row(table, "a").flag, row(table, "a").cells[-1].mean) == ("", 50.0)
    assert row(table, "b").cells[-1].mean is None
    assert [one.label for one in table.rows] == ["a", "b"]


def test_manipulation_has_rates_parts_and_gains_by_table_task() -> None:
    def of(values: Sequence[float]) -> list[Score]:
        made = scores("manipulation", values)
        kinds = ("push buttons", "stack cups")
        return [replace(one, group={"task": "manipulation", "table_task": kinds[k % 2]}) for k, one in enumerate(made)]

    made = tables({"a": of([100.0, 0.0] * 4), "none": of([0.0, 0.0] * 4)})
    assert row(made[HEADLINE], "a").cells[0].low == pytest.approx(21.5, abs=0.1), "Wilson's of 4 in 8"
    parts = row(made["manipulation/by_table_task"], "a")
    assert dict(zip(made["manipulation/by_table_task"].columns, [cell.mean for cell in parts.cells], strict=True)) == {
        "push buttons": 100.0,
        "stack cups": 0.0,
    }
    gain = row(made["manipulation/gain"], "a")
    assert ([cell.mean for cell in gain.cells], [cell.n for cell in gain.cells]) == ([100.0, 0.0], [4, 4])
    assert row(made["gain"], "a").cells[0].mean == 50.0
