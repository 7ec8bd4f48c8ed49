"""What is said of a folder of demonstrations."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from suites.closedloop.training_data import demonstrations_data as fx
from worldgauge.core.errors import DataError
from worldgauge.engine.collection import Finding, Spread
from worldgauge.suites.closedloop.training_data.demonstration import write_demonstration, write_index
from worldgauge.suites.closedloop.training_data.demonstrations import check


def test_a_good_folder_has_counts_and_nothing_to_say(tmp_path: Path) -> None:
    fx.written(tmp_path, depth=True)
    fx.written(tmp_path, 1, fx.SEED + 1, depth=True)
    write_index(tmp_path)
    report = check(tmp_path, decode=True)
    assert report.findings == ()
    assert (report.n_trajectories, report.n_valid, report.n_frames) == (2, 2, 14)
    assert report.discarded == {"it has no plan": 2}
    (row,) = report.rows
    assert (row.task, row.demonstrations, row.variations, row.discarded) == ("push_buttons", 2, 1, 2)
    assert (row.frames, row.sub_goals) == (Spread(2, 7.0, 0.0), Spread(2, 2.0, 0.0))
    assert report.to_dict()["rows"][0]["seconds"]["mean"] == pytest.approx(1.05)


def test_what_is_tested_on_is_an_error(tmp_path: Path) -> None:
    fx.written(tmp_path, seed=999_999)
    write_index(tmp_path)
    (found,) = check(tmp_path).findings
    assert found.severity == "error"
    assert found.text.startswith(
        "1 with a seed of the split 'test', which is evaluated on (first: push_buttons/000000)"
    )


def test_an_index_that_is_missing_or_of_other_data(tmp_path: Path) -> None:
    fx.written(tmp_path)
    (found,) = check(tmp_path).findings
    assert (found.severity, found.text[:14]) == ("warning", "no index.json:")
    write_index(tmp_path)
    fx.written(tmp_path, 1, fx.SEED + 1)
    assert check(tmp_path).findings == (
        Finding("error", "index.json lists 1 demonstrations, 2 are here; write it again"),
    )
    (tmp_path / "index.json").write_text("{}")
    assert "write the index again" in check(tmp_path).findings[0].text


def test_the_same_table_twice(tmp_path: Path) -> None:
    fx.written(tmp_path)
    fx.written(tmp_path, 1)
    write_index(tmp_path)
    assert check(tmp_path).findings == (Finding("warning", "1 show a table that another one shows"),)


def test_what_no_expert_does(tmp_path: Path) -> None:
    rows = fx.steps()
    rows[-1] = rows[-1]._replace(progress=0.5)
    write_demonstration(tmp_path, fx.FACTS, fx.shots(), rows)
    rows = fx.steps()
    rows[4] = rows[4]._replace(pose=rows[3].pose)
    write_demonstration(tmp_path, replace(fx.FACTS, number=1, seed=fx.SEED + 1), fx.shots(), rows)
    write_index(tmp_path)
    said = [(one.severity, one.text) for one in check(tmp_path).findings]
    assert said == [
        ("warning", "1 demonstration, odd (first: push_buttons/000000): ends with 50% of the task done"),
        ("warning", "1 demonstration, odd (first: push_buttons/000001): sub-goal 0: the hand stops 10.0 cm short"),
    ]


def test_files_that_were_changed_are_found_by_their_digest(tmp_path: Path) -> None:
    folder = fx.written(tmp_path)
    write_index(tmp_path)
    text = (folder / "steps.jsonl").read_text()
    (folder / "steps.jsonl").write_text(text.replace("0.78", "0.79"))
    assert check(tmp_path).findings == ()
    (found,) = check(tmp_path, decode=True).findings
    assert (
        found.text
        == "1 demonstration, not usable (first: push_buttons/000000): steps.jsonl: was changed since it was written; "
        "collect it again"
    )


def test_depth_that_is_gone_is_found_when_all_is_read(tmp_path: Path) -> None:
    folder = fx.written(tmp_path, depth=True)
    write_index(tmp_path)
    (folder / "depth.npz").unlink()
    assert "depth.npz: cannot be read" in check(tmp_path, decode=True).findings[0].text


def test_an_empty_folder_and_none(tmp_path: Path) -> None:
    (found, *_) = check(tmp_path).findings
    assert (found.severity, found.text[:23]) == ("error", "holds no demonstration:")
    shutil.rmtree(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        check(tmp_path)
