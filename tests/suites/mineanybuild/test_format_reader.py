"""Rows and files that are not what they should be: each a fault or an error that names file, row and field."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.build_fixture import HUT, LAMP, published_rows, small_set, write_rows
from worldgauge.core.errors import DataError
from worldgauge.suites.mineanybuild import format as build
from worldgauge.suites.mineanybuild.format_reader import load

ARCHITECTURES = "data/architectures.json"
PLANNING, REASONING = "task/Task_Spatial_Planning.json", "task/Task_Spatial_Reasoning.json"
Spoil = Callable[[dict[str, Any]], Any]


def spoilt(root: Path, name: str, spoil: Spoil, row: int = 0) -> build.BuildSet:
    files = published_rows()
    spoil(files[name][row])
    return load(write_rows(root, files))


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda row: row.pop("instruction"), "field 'instruction' is missing"),
        (lambda row: row.update(instruction=" "), "field 'instruction' is ' '; give a text"),
        (lambda row: row.update(AR_id="AR_1"), "the architecture 'AR_1' is not in data/architectures.json"),
        (lambda row: row.update(image="/etc/../../passwd"), "is no name of a picture"),
        (lambda row: row.update(image=["/data/images/x.png", 3]), "field 'image[1]' is 3; give a text"),
        (lambda row: row.update(difficulty_factor="easy"), "field 'difficulty_factor' is 'easy'; give a number"),
        (lambda row: row.update(block_materials={"a": 1, "b": 3}), "must number its 2 materials from 1 on"),
        (lambda row: row.update(block_materials="oak"), "give a list of at most 4096 names"),
        (lambda row: row.update(id="a/b"), "the name 'a/b' needs letters"),
    ],
)
def test_a_task_that_cannot_be_used_is_a_fault_and_the_others_stay(tmp_path: Path, spoil: Spoil, text: str) -> None:
    data = spoilt(tmp_path, PLANNING, spoil)
    (fault,) = data.faults
    assert fault.kind == "planning"
    assert fault.text.startswith(f"{PLANNING}: row 0: ")
    assert text in fault.text
    assert "\n" not in fault.text
    assert fault.id in ("TSK_SP_00001_0", "row-0")
    assert [task.id for task in data.tasks["planning"]] == ["TSK_SP_00001_1", "TSK_SP_20007_1"]


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda row: row.update(answer="E"), "field 'answer' is 'E'; give A, B, C or D"),
        (lambda row: row.update(answer=None), "field 'answer' is None"),
        (lambda row: row.update(answer="True"), "which a question of kind 'same' cannot have"),
        (lambda row: row.update(options_image=None), "field 'options_image' is null"),
    ],
)
def test_questions_without_a_right_answer_are_faults(tmp_path: Path, spoil: Spoil, text: str) -> None:
    data = spoilt(tmp_path, REASONING, spoil)
    (fault,) = data.faults
    assert (fault.kind, fault.id) == ("reasoning", "TSK_SR_1_0001")
    assert text in fault.text


@pytest.mark.parametrize(
    ("blueprint", "text"),
    [
        ([[[1, 1], [1]]], "row [0][1] has not 2 cells"),
        ([[[1]], [[1], [1]]], "layer [1] has not 1 rows"),
        ([[1, 2]], "1 to 512 cells"),
        ([], "1 to 512 layers"),
        (None, "1 to 512 layers"),
        ([[["1"]]], "cell [0][0][0] is '1'; give a whole number"),
        ([[[1, 1.0]]], "cell [0][0][1] is 1.0"),
        ([[[True]]], "cell [0][0][0] is True"),
        ([[[10**30]]], "beyond 64 bits"),
        ([[[-1, -1]]], "holds no block"),
        ([[[0] * 513]], "1 to 512 cells"),
        ([[[["x" * 1000]]]], "cell [0][0][0] is ['xxx"),
    ],
)
def test_a_broken_matrix_loses_its_architecture_and_the_tasks_on_it(tmp_path: Path, blueprint: Any, text: str) -> None:
    data = spoilt(tmp_path, ARCHITECTURES, lambda row: row.update(blueprint=blueprint))
    own, *others = data.faults
    assert (own.kind, own.id) == ("architecture", HUT)
    assert text in own.text
    assert [fault.id for fault in others] == ["TSK_SP_00001_0", "TSK_SP_00001_1"]
    assert all("cannot be used" in fault.text for fault in others)
    assert list(data.architectures) == [LAMP]
    assert len(data.tasks["creativity"]) == 3, "creativity is asked without a truth"
    assert any("asked without" in text for text in data.warnings)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"image_desp": ["one", "two"]}, "field 'image_desp' has 2 captions for 1 images"),
        ({"image": None, "image_desp": None}, "field 'image' names no picture of the room"),
        ({"answer": ""}, "field 'answer' is ''; give a text"),
    ],
)
def test_rooms_without_what_is_asked_about_are_faults(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    data = spoilt(tmp_path, "task/Task_Spatial_Commonsense.json", lambda row: row.update(changes))
    (fault,) = data.faults
    assert (fault.kind, fault.id) == ("commonsense", "TSK_SC_0001")
    assert text in fault.text


def test_numbers_that_no_material_has_become_air_with_a_warning(tmp_path: Path) -> None:
    def spoil(row: dict[str, Any]) -> None:
        row["blueprint"][0][0][:2] = [0, 99]

    data = spoilt(tmp_path, ARCHITECTURES, spoil)
    assert data.architectures[HUT].blueprint.cells[0, 0, :3].tolist() == [-1, -1, 1]
    assert any("which become air" in text for text in data.warnings)


def test_an_id_that_is_there_twice_is_used_once(tmp_path: Path) -> None:
    files = published_rows()
    files[PLANNING].append(copy.deepcopy(files[PLANNING][0]))
    data = load(write_rows(tmp_path, files))
    (fault,) = data.faults
    assert (fault.kind, fault.id) == ("planning", "row-3")
    assert "twice" in fault.text


def test_rows_that_cannot_be_used_have_ids_of_their_own(tmp_path: Path) -> None:
    """Two refused rows of one id, and a good one behind them, are three tasks."""
    files = published_rows()
    rows = files["task/Task_Spatial_Planning.json"]
    rows[:0] = [{**rows[0], "instruction": None}, {**rows[0], "instruction": 3}, {**rows[1], "id": "odd", "image": 4}]
    rows.append({"id": "odd"})
    data = load(write_rows(tmp_path, files))
    assert [fault.id for fault in data.faults] == ["row-0", "row-1", "odd", "row-6"]
    assert [task.id for task in data.tasks["planning"]] == [row["id"] for row in rows[3:6]]


def test_ids_of_another_form_are_used_with_a_warning(tmp_path: Path) -> None:
    files = published_rows()
    files[PLANNING][0]["id"] = "hut-1"
    files[REASONING][1]["id"] = "question-1"
    files[REASONING][3]["id"] = "question-2"
    data = load(write_rows(tmp_path, files))
    assert data.faults == ()
    assert data.tasks["planning"][0].variant == "detailed"
    assert [task.variant for task in data.tasks["reasoning"]] == ["same", "same", "judge", "judge"]
    assert sum("id" in text or "end in" in text for text in data.warnings) == 2


@pytest.mark.parametrize("content", ["{}", "[1, ", "[NaN]", "[" * 100_000, "\udce4"])
def test_a_file_that_is_no_list_is_an_error(tmp_path: Path, content: str) -> None:
    write_rows(tmp_path, published_rows())
    (tmp_path / PLANNING).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match="Task_Spatial_Planning"):
        load(tmp_path)


def test_files_and_folders_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="give the folder with data and task"):
        load(tmp_path)
    root = write_rows(tmp_path / "in", published_rows())
    (root / PLANNING).write_text('[1, null, "x", []]')
    assert [fault.id for fault in load(root).faults] == ["row-0", "row-1", "row-2", "row-3"]
    (tmp_path / "outside.json").write_text("[]")
    (root / PLANNING).unlink()
    (root / PLANNING).symlink_to(tmp_path / "outside.json")
    with pytest.raises(DataError, match="leads out of"):
        load(root)
    monkeypatch.setattr(build, "MAX_JSON_BYTES", 100)
    with pytest.raises(DataError, match="passes the limit of 100 bytes"):
        load(root)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_field_holds_the_set_loads_and_is_counted(tmp_path: Path, data: st.DataObject) -> None:
    files = published_rows()
    name = data.draw(st.sampled_from(sorted(files)))
    row = data.draw(st.sampled_from(files[name]))
    row[data.draw(st.sampled_from(sorted(row)))] = data.draw(VALUES)
    for file, rows in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(json.dumps(rows))
    found = load(tmp_path)
    tasks = sum(len(rows) for file, rows in files.items() if file.startswith("task"))
    lost = sum(fault.kind != "architecture" for fault in found.faults)
    assert len(found) + lost == tasks, "no task is dropped in silence"
    assert all("\n" not in fault.text and len(fault.text) < 400 for fault in found.faults)
    build.write(tmp_path / "again", found.architectures.values(), [t for ts in found.tasks.values() for t in ts])
    assert load(tmp_path / "again").tasks == found.tasks


def test_small_set_is_sound(tmp_path: Path) -> None:
    build.write(tmp_path, *small_set())
    assert load(tmp_path).faults == ()
