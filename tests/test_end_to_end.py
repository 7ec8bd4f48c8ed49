"""The main job on real input: collect, run the references, score, compare; and the same over damaged recordings."""

import json
import shutil
from pathlib import Path

import pytest

import worldgauge
from worldgauge.engine.collect import collect
from worldgauge.engine.result import RunResult

SUBJECTS = ("truth", "memory", "forgetful", "freeze", "noise")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two villages x ABA, ABCA x ranges 5, 8, at a quarter of the published width."""
    root = tmp_path_factory.mktemp("villages")
    done = collect("loopnav", root, settlements=2, ranges=(5, 8), per_combination=1, seed=42, size=(160, 90))
    assert done.items == 8
    assert not done.failures
    return root


@pytest.fixture(scope="module")
def result(data: Path, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    out = tmp_path_factory.mktemp("runs")
    return worldgauge.run("loopnav", model=list(SUBJECTS), data=data, out=out, workers=2)


@pytest.mark.slow
def test_everything_is_scored(result: RunResult) -> None:
    assert result.ok
    assert result.counts.expected == result.counts.scored == 8 * len(SUBJECTS)
    frame = result.frame
    assert set(frame.model) == set(SUBJECTS)
    assert frame[(frame.metric == "sgcs")].value.notna().all()


@pytest.mark.slow
def test_references_stand_in_order(result: RunResult) -> None:
    """Two villages are too few for intervals."""
    means = result.frame.groupby(["metric", "model"]).value.mean()
    for metric in ("sgcs_chance_corrected", "sgcs"):
        assert means[metric, "truth"] == pytest.approx(1.0, abs=1e-12)
        assert 1 > means[metric, "memory"] > means[metric, "forgetful"] + 0.2
    assert means["sgcs", "forgetful"] > means["sgcs", "noise"] + 0.1


@pytest.mark.slow
def test_forgetful_is_as_sharp_as_the_truth_and_wrong(result: RunResult) -> None:
    means = result.frame.groupby(["metric", "model"]).value.mean()
    assert 0.8 < means["sharpness", "forgetful"] / means["sharpness", "truth"] < 1.25
    assert means["sgcs_chance_corrected", "forgetful"] < 0.4 < means["sgcs_chance_corrected", "memory"]


@pytest.mark.slow
def test_tables_are_by_type_and_range_with_counts(result: RunResult) -> None:
    table = result.table()[0]
    assert table.columns == ("ABA 5", "ABA 8", "ABCA 5", "ABCA 8", "all")
    assert all([cell.n for cell in row.cells] == [2, 2, 2, 2, 8] for row in table.rows)
    assert any("6 clusters" in note for note in table.notes), table.notes


@pytest.fixture(scope="module")
def damaged(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same set with one video cut in half, one emptied, and one record list shorter than its video."""
    root = tmp_path_factory.mktemp("damaged") / "data"
    shutil.copytree(data, root, ignore=shutil.ignore_patterns(".worldgauge-index.json"))
    cut, empty, short = sorted(root.rglob("*.avi"))[:3]
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    empty.write_bytes(b"")
    records = json.loads(short.with_suffix(".json").read_text())
    short.with_suffix(".json").write_text(json.dumps(records[:-5]))
    return root


def test_damaged_recordings_are_named_and_the_run_goes_on(damaged: Path, tmp_path: Path) -> None:
    result = worldgauge.run("loopnav", model="freeze", data=damaged, out=tmp_path)
    assert result.counts.expected == 8
    assert result.counts.scored == 5
    assert not result.ok, "a recording that cannot be read is a failure, not a choice"
    assert len(result.failures) == 3
    for failure in result.failures:
        assert failure.error
        assert "\n" not in failure.error
    words = " ".join(str(failure.error) for failure in result.failures)
    assert "frames" in words
    assert "video" in words or ".avi" in words
