"""The suite as a whole: baselines come out as they must, tables add up, and what cannot be scored says why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import worldgauge as wg
from support.task_context import Given, QuietContext
from worldgauge.core.episode import Episode
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.suites.unseen import scoring, summary
from worldgauge.suites.unseen.format import SHOWN
from worldgauge.suites.unseen.suite import Unseen

MODELS = ("truth", "render", "freeze", "noise")


@pytest.fixture(scope="module")
def result(unseen_data: Path, tmp_path_factory: pytest.TempPathFactory) -> wg.Result:
    return wg.run("unseen", model=list(MODELS), data=unseen_data, out=tmp_path_factory.mktemp("unseen"))


def test_baselines_have_the_outcomes_that_they_must(result: wg.Result) -> None:
    assert result.ok
    found = {
        label: {one.facts["outcome"] for one in own if one.metric == "advanced"} for label, own in result.scores.items()
    }
    assert found == {"truth": {"advanced"}, "render": {"as left"}, "freeze": {"did not look away"}, "noise": {"other"}}


def test_outcomes_add_up_and_tables_hold_all_episodes(result: wg.Result) -> None:
    kinds = dict.fromkeys(MODELS, "baseline")
    tables = {table.metric: table for table in summary.summarize(result.scores, kinds, {})}
    for row in tables["outcomes"].rows:
        assert sum(cell.mean or 0 for cell in row.cells) == pytest.approx(100)
        assert all(cell.method == "wilson" for cell in row.cells)
    headline = tables["advanced"]
    assert headline.columns == ("cart", "level", "lamp", "all")
    assert [row.cells[-1].n for row in headline.rows] == [3] * 4
    assert headline.rows[0].label == "truth"
    assert "by_time_away" not in tables


def test_a_report_shows_outcome_and_progress(result: wg.Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "page.html")
    text = Path(page).read_text("utf-8")
    assert "did not look away" in text
    assert "A cart rolls along a rail" in text


class Wide:
    """Shows the truth through a window of another shape."""

    spec = ModelSpec("wide", inputs=frozenset({"truth"}), crop=(4, 3))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        assert request.truth is not None
        return (frame[None] for frame in request.truth)


def test_a_cropped_truth_has_advanced(unseen_data: Path, tmp_path: Path) -> None:
    suite = Unseen()
    for task in suite.tasks(unseen_data):
        record = suite.perform(task, Wide(), QuietContext(tmp_path))
        assert record.facts["crop"] == [4, 3]
        (headline, *_) = suite.score(record, QuietContext(tmp_path))
        assert (headline.value, headline.facts["fit"]) == (100.0, pytest.approx(0, abs=0.02))


def test_too_few_frames_and_too_small_ones_have_no_score(unseen_data: Path, tmp_path: Path) -> None:
    suite = Unseen()
    task = next(iter(suite.tasks(unseen_data)))
    episode, start = suite.episode(task)
    black = np.zeros((len(episode) - start, 54, 96, 3), np.uint8)
    record = suite.perform(task, Given(black), QuietContext(tmp_path))
    truth, rollout = suite.compared_clips(record)
    short = scoring.scores(record, episode, truth, rollout[:-5])
    assert {score.value for score in short} == {None}
    assert "does not look back" in str(short[0].reason)
    tiny = scoring.scores(record, episode, truth.resized(2, 2), rollout.resized(2, 2))
    assert tiny[0].value == 0 or "look alike" in str(tiny[0].reason)


def test_the_request_holds_what_was_watched_and_says_what_moves(things: dict[str, Episode]) -> None:
    for kind, episode in things.items():
        caption = str(episode.facts["caption"])
        assert {"cart": "cart", "level": "water", "lamp": "lamp"}[kind] in caption
        assert np.allclose(episode.poses[:SHOWN], episode.poses[0])
        assert np.allclose(episode.poses[-1], episode.poses[0])
        assert np.abs(episode.actions.column("camera_yaw")).max() == pytest.approx(np.pi / 32, rel=1e-5)


def test_images_only_see_the_last_frame(unseen_data: Path, tmp_path: Path) -> None:
    suite = Unseen()
    task = next(iter(suite.tasks(unseen_data)))

    class One(Given):
        def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
            assert len(request.context) == 1
            return super().rollout(request)

    model = One(np.zeros((400, 54, 96, 3), np.uint8))
    model.spec = replace(model.spec, max_context=1)
    suite.perform(task, model, QuietContext(tmp_path))
