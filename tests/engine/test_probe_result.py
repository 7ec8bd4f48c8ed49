"""Rows for experiment trackers, written to each tracker that is installed and read back."""

from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.image import read_png
from worldgauge.engine.probe import ProbeResult, ProbeValue, summarize_scores
from worldgauge.engine.suite.contract import Score

RESULT = ProbeResult(
    "echo",
    40,
    {
        "psnr": ProbeValue(20.5, 19.0, 22.0, 8),
        "lone": ProbeValue(1.0, None, None, 1),
        "none": ProbeValue(None, None, None, 0, "no"),
    },
    {"odd/1": "model 'm' raised"},
    np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3),
    12.5,
)
ROWS = {
    "echo/psnr": 20.5,
    "echo/psnr/low": 19.0,
    "echo/psnr/high": 22.0,
    "echo/psnr/n": 8,
    "echo/lone": 1.0,
    "echo/lone/n": 1,
    "echo/seconds": 12.5,
    "echo/missing": 1,
}


def test_rows_leave_out_what_is_missing() -> None:
    assert RESULT.rows() == ROWS


def test_values_are_means_over_tasks_with_intervals_in_bounds() -> None:
    scores = [Score(f"t{n}", "lcm/ssim_720p", value) for n, value in enumerate([0.88, 0.95, 0.97, 1.0])]
    scores += [Score("t4", "lcm/ssim_720p", None, reason="gone"), Score("t0", "unregistered", 3.0)]
    values = summarize_scores(scores)
    assert list(values) == ["lcm/ssim_720p", "unregistered"]
    ssim = values["lcm/ssim_720p"]
    assert (ssim.mean, ssim.n, ssim.high, ssim.reason) == (pytest.approx(0.95), 4, 1.0, None)
    assert values["unregistered"] == ProbeValue(3.0, None, None, 1)
    assert summarize_scores([Score("t2", "psnr", None, reason="gone")])["psnr"].reason == "gone"


def test_tensorboard_reads_back_what_was_written(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        RESULT.to_tensorboard(writer)
    events = accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert set(events.Tags()["scalars"]) == set(ROWS)
    for name, value in ROWS.items():
        assert [(event.step, event.value) for event in events.Scalars(name)] == [(40, pytest.approx(value))]
    (picture,) = events.Images("echo/strip")
    assert (picture.step, picture.height, picture.width) == (40, 4, 6)
    (text,) = events.Tensors("echo/missing/text_summary")
    assert b"- odd/1: model 'm' raised" in text.tensor_proto.string_val[0]


def test_trackio_reads_back_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    trackio = pytest.importorskip("trackio")
    run = trackio.init(project="probe", name="first")
    RESULT.to_trackio(run)
    trackio.finish()
    storage = pytest.importorskip("trackio.sqlite_storage").SQLiteStorage
    (logged,) = storage.get_logs("probe", "first")
    assert {name: logged[name] for name in ROWS} == ROWS
    assert logged["step"] == 40
    picture = read_png(tmp_path / "media" / logged["echo/strip"]["file_path"])
    assert np.array_equal(picture, RESULT.strip)
