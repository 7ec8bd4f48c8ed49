"""Studies end to end on two episodes: runs are made once, gone on with, and shared."""

from pathlib import Path

import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge_lab import closedloop as studies
from worldgauge_lab.closedloop import run_study, write_study

SMALL = {"view_px": 32, "panorama_px": 64, "decisions": 1, "task": "navigation"}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(autouse=True)
def two_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ratio is a run of its own, and starts a worker."""
    monkeypatch.setattr(studies, "RATIOS", (0.0, 1.0))


def test_more_calls_are_counted_and_a_second_run_asks_nobody(episodes: Path, out: Path) -> None:
    told = run_study("calls", data=episodes, out=out, models=["freeze"], settings=SMALL)
    calls = [point.measure.mean for point in told.points if point.measure is not None]
    assert calls[0] == 0.0
    assert calls[-1] > 0
    assert calls == sorted(calls)
    assert {point.success.n for point in told.points} == {2}
    journals = sorted(out.rglob("journal.jsonl"))
    assert len(journals) == 2
    before = [path.read_bytes() for path in journals]
    steps = []
    again = run_study("calls", data=episodes, out=out, models=["freeze"], settings=SMALL, progress=steps.append)
    assert [path.read_bytes() for path in journals] == before
    assert (again.points, again.words) == (told.points, told.words)


def test_the_page_of_a_list_and_of_lines(episodes: Path, out: Path) -> None:
    lines = run_study("calls", data=episodes, out=out, models=["freeze"], settings=SMALL)
    page = write_study(lines, out / "calls.html", "worldgauge study calls").read_text()
    assert "Do more calls of the world model help?" in page
    assert 'class="band"' in page
    assert "rollouts an episode" in page
    assert page.count('<th scope="row"') == 2
    views = run_study("context", data=episodes, out=out, models=["freeze"], settings=SMALL)
    listed = write_study(views, out / "context.html").read_text()
    assert "freeze front" in listed
    assert "freeze panorama" in listed
    assert "proof of equality" in listed


def test_what_cannot_be_meant_is_one_line(episodes: Path, out: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'quality'"):
        run_study("qualty", data=episodes, out=out)
    with pytest.raises(UsageError, match="sweeps the setting 'tts_ratio'"):
        run_study("calls", data=episodes, out=out, settings={"tts_ratio": 0.5})
    with pytest.raises(UsageError, match="two of its rows"):
        run_study("context", data=episodes, out=out, models=["warp", "warp"])
    with pytest.raises(UsageError, match="study calls has no baselines to leave out"):
        run_study("calls", data=episodes, out=out, models=["freeze"], baselines=False)
    with pytest.raises(UsageError, match="compares nothing; give --model"):
        run_study("quality", data=episodes, out=out, baselines=False)
