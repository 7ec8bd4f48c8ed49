"""The checker: statistics of a sound set, and one finding for each thing that is wrong with a spoilt one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.build_fixture import make_published, published_rows, small_set, write_rows
from worldgauge.core.errors import DataError
from worldgauge.suites.mineanybuild import format as build
from worldgauge.suites.mineanybuild.format_statistics import BuildStatistics, check


def texts(report: BuildStatistics, severity: str) -> list[str]:
    return [finding.text for finding in report.findings if finding.severity == severity]


def test_statistics_of_the_published_form(tmp_path: Path) -> None:
    report = check(make_published(tmp_path), decode=True)
    assert (report.n_tasks, report.n_valid, report.n_architectures) == (12, 12, 2)
    assert report.n_frames == 7, "two references, four sheets, one room"
    assert report.types == {"houses": 1, "untyped": 1}
    assert report.answers == {"B": 1, "D": 1, "False": 1, "True": 1}
    rows = {row.kind: row for row in report.rows}
    assert list(rows) == ["planning", "understanding", "creativity", "reasoning", "commonsense"]
    planning = rows["planning"]
    assert (planning.tasks, planning.usable, planning.published, planning.architectures) == (3, 3, 946, 2)
    assert (planning.easy, planning.medium, planning.hard) == (1, 2, 0)
    assert planning.words.mean == pytest.approx((4 + 3 + 3) / 3)
    assert rows["creativity"].images is not None
    assert rows["creativity"].images.mean == 0
    assert texts(report, "error") == []
    assert json.loads(json.dumps(report.report().facts))["rows"][0]["kind"] == "planning"


def test_a_sound_set_of_ours_has_no_findings_but_missing_kinds(tmp_path: Path) -> None:
    builds, tasks = small_set(3)
    right = [replace(one, difficulty=None) for one in builds]
    build.write(tmp_path, right, [replace(task, difficulty=None) for task in tasks])
    for one in builds:
        build.write_image(tmp_path, str(one.image), np.zeros((4, 4, 3), np.uint8))
    report = check(tmp_path)
    assert texts(report, "error") + texts(report, "warning") == []
    absent = [
        f"task/Task_Spatial_{kind}.json is not there: no tasks of its kind" for kind in ("Reasoning", "Commonsense")
    ]
    assert texts(report, "info") == absent


def spoilt(root: Path, file: str, row: int, **changes: Any) -> BuildStatistics:
    files = published_rows()
    files[file][row] |= changes
    return check(write_rows(root, files))


ARCHITECTURES, PLANNING = "data/architectures.json", "task/Task_Spatial_Planning.json"


@pytest.mark.parametrize(
    ("file", "row", "changes", "severity", "text"),
    [
        (PLANNING, 0, {"instruction": None}, "error", "1 task, not usable (first: TSK_SP_00001_0)"),
        (ARCHITECTURES, 1, {"blueprint": []}, "error", "1 task, not usable (first: TSK_SU_20007)"),
        (ARCHITECTURES, 1, {"blueprint": []}, "warning", "1 architecture, not usable (first: AR_20007"),
        (ARCHITECTURES, 0, {"difficulty_factor": 3.9}, "warning", "states the difficulty factor 3.9"),
        (ARCHITECTURES, 1, {"blueprint": [[[1, -1]], [[1, -1]], [[2, -1]]]}, "warning", "has air all along a side"),
        (ARCHITECTURES, 0, {"type": "castles"}, "warning", "none of the published 22"),
        (ARCHITECTURES, 0, {"3d_info": {"width": 3, "height": 3, "depth": 4}}, "warning", "state another size"),
        (ARCHITECTURES, 1, {"block_materials": ["Oak Fence (North)", "lantern"]}, "warning", "does not know"),
        (PLANNING, 0, {"block_materials": ["oak_planks"]}, "warning", "so no answer can be right"),
        (PLANNING, 0, {"block_materials": ["glass", "oak_planks", "torch"]}, "warning", "in another order or number"),
        (PLANNING, 0, {"instruction": "word " * 151}, "info", "has 151 words"),
        (PLANNING, 0, {"image": "/data/images/none.png"}, "error", "a picture cannot be shown (first: TSK_SP_00001_0)"),
    ],
)
def test_each_finding(tmp_path: Path, file: str, row: int, changes: dict[str, Any], severity: str, text: str) -> None:
    found = texts(spoilt(tmp_path, file, row, **changes), severity)
    assert any(text in one for one in found), found


def test_a_task_without_a_reference_picture_is_odd(tmp_path: Path) -> None:
    files = published_rows()
    files[ARCHITECTURES][1]["image"] = None
    files["task/Task_Spatial_Understanding.json"][0]["image"] = None
    assert any("has no reference picture" in text for text in texts(check(write_rows(tmp_path, files)), "warning"))


def test_damaged_pictures_are_found_when_decoded(tmp_path: Path) -> None:
    make_published(tmp_path)
    path = tmp_path / "data/images/grabcraft/example_hut.png"
    whole = bytearray(path.read_bytes())
    whole[45:60] = bytes(15)
    path.write_bytes(bytes(whole))
    assert texts(check(tmp_path), "error") == []
    (text,) = texts(check(tmp_path, decode=True), "error")
    assert "damaged" in text
    assert str(tmp_path) not in text


def test_answers_that_are_uneven_are_told(tmp_path: Path) -> None:
    builds, tasks = small_set(1)
    question = build.BuildTask("", "reasoning", "same", "Which?", options_image="images/x.png", answer="A")
    even = [replace(question, id=f"TSK_SR_1_{i:04d}", answer="ABCD"[i % 4]) for i in range(40)]
    uneven = [replace(one, answer="A") if i % 8 == 1 else one for i, one in enumerate(even)]
    for name, questions, many in (("even", even, 0), ("uneven", uneven, 1)):
        build.write(tmp_path / name, builds, [*tasks, *questions])
        found = [text for text in texts(check(tmp_path / name), "info") if "have the answer" in text]
        assert len(found) == many
    assert found == ["15 of 40 questions of kind 'same' have the answer A"]


def test_no_data_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give the folder with data and task"):
        check(tmp_path)
