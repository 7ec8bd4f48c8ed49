"""What becomes of a rollout over time: colours as they come, and tables by stretches of time."""

from pathlib import Path

import numpy as np
import pytest

from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.engine.suite.drift import RECORDING, ColourMeter, time_tables, too_short
from worldgauge.metrics.colour import colour_change, colour_drift

FPS = 4.0


def frames(count: int, tint: float = 0.0) -> list[np.ndarray]:
    """A scene that darkens by itself; `tint` grey levels of red are added in every frame."""
    scene = np.random.default_rng(1).integers(60, 160, (18, 32, 3)).astype(float)
    made = [scene - 0.5 * k + np.array([tint * k, 0, 0]) for k in range(count)]
    return [np.clip(one, 0, 255).astype(np.uint8) for one in made]


def scores(name: str, count: int, tint: float = 0.0) -> list[Score]:
    meter = ColourMeter()
    for index, (got, want) in enumerate(zip(frames(count, tint), frames(count), strict=True)):
        meter.see(index, got, want)
    return list(meter.scores(Record(Task("own", name, {}, name), "model", Path()), FPS))


def test_colours_of_a_rollout_are_those_of_its_frames() -> None:
    drift, change = scores("a", 9, 2.0)
    got, want = frames(9, 2.0), frames(9)
    assert [value for _, value in drift.series] == pytest.approx(
        [colour_drift(*two) for two in zip(got, want, strict=True)]
    )
    assert [value for _, value in change.series] == pytest.approx([colour_change(one, got[0]) for one in got])
    assert drift.value == pytest.approx(np.mean([value for _, value in drift.series]))
    assert (drift.n, drift.facts["fps"]) == (9, FPS)
    none = ColourMeter().scores(Record(Task("own", "a", {}, "a"), "model", Path()), FPS)
    assert [one.value for one in none] == [None, None]


def test_the_truth_drifts_by_nothing_and_changes_as_the_recording_does() -> None:
    drift, change = scores("a", 9)
    assert drift.value == 0
    assert change.facts[RECORDING]["0"] == pytest.approx(np.mean([value for _, value in change.series[:8]]))


def test_tables_by_time_by_hand() -> None:
    """Two tasks at 4 frames a second: one of 3 s, one of 6 s."""
    made = {"model": scores("a", 12, 1.0) + scores("b", 24, 1.0), "truth": scores("a", 12) + scores("b", 24)}
    kinds = {"model": "model", "truth": "baseline"}
    drift, change = time_tables({"colour_drift": "Drift", "colour_change": "Change"}, made, kinds)
    assert (drift.metric, drift.title) == ("colour_drift/over_time", "Drift, over time")
    assert drift.columns == ("0 to 2 s", "2 to 5 s", "5 to 10 s")
    assert [row.label for row in drift.rows] == ["truth", "model"]
    assert [cell.mean for cell in drift.rows[0].cells] == [0, 0, 0]
    series = [[value for _, value in one.series] for one in made["model"] if one.metric == "colour_drift"]
    # Frame k is at (k + 1) / 4 s: frames 0 to 7 end with 2 s, 8 to 19 with 5 s.
    means = [np.mean([np.mean(one[:8]) for one in series]), np.mean([np.mean(one[8:20]) for one in series])]
    assert [cell.mean for cell in drift.rows[1].cells] == pytest.approx([*means, np.mean(series[1][20:])])
    assert [(cell.n, cell.expected) for cell in drift.rows[1].cells] == [(2, 2), (2, 2), (1, 1)]
    by_label = {row.label: row for row in change.rows}
    assert set(by_label) == {"model", "truth", RECORDING}
    truth, real = ([cell.mean for cell in by_label[label].cells] for label in ("truth", RECORDING))
    assert truth == pytest.approx(real)
    assert by_label[RECORDING].kind == "baseline"


def test_short_rollouts_and_missing_values_make_no_table_of_nothing() -> None:
    assert not list(time_tables({"colour_drift": "Drift"}, {"model": scores("a", 8)}, {"model": "model"}))
    assert not list(time_tables({"colour_drift": "Drift"}, {"model": []}, {"model": "model"}))
    known = scores("a", 24)
    gap = Score("a", "psnr", None, reason="none", series=((0, 1.0), (1, float("inf")), (20, None), (21, 3.0)))
    (table,) = time_tables({"psnr": "PSNR"}, {"model": [*known, gap]}, {"model": "model"})
    assert [(cell.mean, cell.n) for cell in table.rows[0].cells] == [(1.0, 1), (3.0, 1)]


def test_what_a_recording_cannot_supply() -> None:
    assert too_short(48, 48, 24.0) is None
    assert too_short(47, 48, 24.0) == "the recording ends 1.96 s after what is shown, horizon_s asks for 2 s"
