"""The published layout: what comes back of the archive's spelling, and of what was written."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.build_fixture import HUT, HUT_CELLS, LAMP, make_published, published_rows, small_set, write_rows
from support.folders import contents
from worldgauge.core.errors import DataError, UsageError
from worldgauge.suites.mineanybuild import format as build
from worldgauge.suites.mineanybuild.format_reader import fingerprint_of, load
from worldgauge.worlds.blocks.blueprint import Blueprint, difficulty_factor


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return make_published(tmp_path / "archive")


def test_the_archive_is_read_whatever_its_spelling(published: Path) -> None:
    data = load(published)
    assert data.faults == ()
    assert [len(data.tasks[kind]) for kind in build.KINDS] == [3, 1, 3, 4, 1]
    hut, lamp = data.architectures[HUT], data.architectures[LAMP]
    assert hut.blueprint == Blueprint.of(HUT_CELLS, ["oak_planks", "glass", "torch"])
    assert (hut.image, hut.biome) == ("images/grabcraft/example_hut.png", None)
    assert hut.image_urls == ("https://example.org/1.png",)
    assert (lamp.source, lamp.type, lamp.blueprint.size) == ("Reakon", None, (1, 3, 1))
    assert [task.variant for task in data.tasks["planning"]] == ["detailed", "simple", "simple"]
    assert [task.variant for task in data.tasks["reasoning"]] == ["same", "different", "judge", "judge"]
    assert [task.answer for task in data.tasks["reasoning"]] == ["B", "D", "True", "False"]
    assert data.tasks["reasoning"][2].options == ("images/stimuli/MR1/N_1.png",), "put together from characters"
    assert data.tasks["reasoning"][3].options == ("images/stimuli/MR1/RX_1.png",), "a text is a list of one"
    (asked,) = data.tasks["commonsense"]
    assert (asked.images, asked.env) == (("images/commonsense/SC_0001_IMG_0.jpg",), "bedroom")
    assert asked.captions == ("the bedroom from the door",)
    assert data.tasks["creativity"][0].images == (), "creativity has no picture"
    assert len(data.warnings) == 2
    assert any("'Ture'" in text and text.startswith("1 reasoning task ") for text in data.warnings)


def test_absent_and_null_are_alike(tmp_path: Path) -> None:
    files = published_rows()
    sparse = {name: [{k: v for k, v in row.items() if v is not None} for row in rows] for name, rows in files.items()}
    one = load(write_rows(tmp_path / "nulls", files))
    other = load(write_rows(tmp_path / "absent", sparse))
    assert one.tasks == other.tasks
    plain = [{id: replace(a, blueprint=None) for id, a in data.architectures.items()} for data in (one, other)]
    assert plain[0] == plain[1]


def test_what_was_read_can_be_written_and_read_again(published: Path, tmp_path: Path) -> None:
    data = load(published)
    out = tmp_path / "again"
    build.write(out, data.architectures.values(), [task for tasks in data.tasks.values() for task in tasks])
    again = load(out)
    assert again.tasks == data.tasks
    assert again.architectures == data.architectures
    assert (again.faults, again.warnings) == ((), ()), "repaired for good"


def test_published_keys_and_prefixes_are_written(tmp_path: Path) -> None:
    builds, tasks = small_set(1)
    build.write(tmp_path, builds, tasks)
    (row,) = json.loads((tmp_path / "data/architectures.json").read_text())
    assert row["3d_info"] == {"width": 4, "height": 3, "depth": 3}
    assert row["image"] == "./images/own/block_1.png"
    (planning,) = json.loads((tmp_path / "task/Task_Spatial_Planning.json").read_text())
    assert planning["image"] == "/data/images/own/block_1.png"
    expected = {"id", "instruction", "AR_id", "block_materials", "difficulty_factor", "image", "image_desp"}
    assert set(planning) == expected | {"options_image", "options", "metadata"}


def test_the_same_set_in_any_order_gives_the_same_bytes(tmp_path: Path) -> None:
    builds, tasks = small_set(12)
    build.write(tmp_path / "one", builds, tasks)
    build.write(tmp_path / "other", reversed(builds), reversed(tasks))
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_a_kind_that_is_no_more_leaves_no_file(tmp_path: Path) -> None:
    builds, tasks = small_set(1)
    build.write(tmp_path, builds, tasks)
    assert build.missing(tmp_path) == ["task/Task_Spatial_Reasoning.json", "task/Task_Spatial_Commonsense.json"]
    build.write(tmp_path, builds, [task for task in tasks if task.kind == "planning"])
    assert "task/Task_Creativity.json" in build.missing(tmp_path)
    assert len(load(tmp_path)) == 1


def test_two_of_one_id_are_not_written(tmp_path: Path) -> None:
    builds, tasks = small_set(1)
    with pytest.raises(DataError, match=r"id 'AR_90001_.*' is there twice among the architectures"):
        build.write(tmp_path, [*builds, *builds], tasks)
    with pytest.raises(DataError, match=r"id 'TSK_.*' is there twice among the tasks"):
        build.write(tmp_path, builds, [*tasks, tasks[0]])
    with pytest.raises(DataError, match="which is not given"):
        build.write(tmp_path, [], tasks)
    with pytest.raises(DataError, match="rename it"):
        build.write(tmp_path, builds, [replace(tasks[0], id="../x")])
    assert not list(tmp_path.iterdir()), "nothing was begun"


def test_fingerprint_changes_with_whatever_an_agent_sees_or_is_scored_against(published: Path) -> None:
    data = load(published)
    task = data.tasks["planning"][0]
    before = fingerprint_of(task, data)
    assert before == fingerprint_of(task, load(published))
    assert before != fingerprint_of(replace(task, instruction="Another."), data)
    hut = data.architectures[HUT]
    cells = hut.blueprint.cells.copy()
    cells[0, 0, 0] = 2
    changed = replace(hut, blueprint=Blueprint(cells, hut.blueprint.materials))
    assert before != fingerprint_of(task, replace(data, architectures={**data.architectures, HUT: changed}))
    path = build.image_path(published, task.images[0])
    picture = build.read_image(published, task.images[0])
    build.write_image(published, task.images[0], 255 - picture)
    assert before != fingerprint_of(task, data)
    path.unlink()
    assert fingerprint_of(task, data), "a missing picture is a fault of its task alone"


def test_identifiers_are_those_of_the_specification() -> None:
    made = build.identifier(9, 1, "houses", "example_hut", "a small hut")
    assert made == "AR_90001_4025eb7e4ff6ef93_6e9dddb447a5d026"
    nameless = build.identifier(0, 12, None, "x", "")
    assert nameless.split("_")[2] == hashlib.sha256(b"").hexdigest()[:16]
    assert build.task_id("planning", made, 1) == "TSK_SP_90001_1"
    assert build.task_id("understanding", made) == "TSK_SU_90001"
    with pytest.raises(UsageError, match="number to 9999"):
        build.identifier(9, 10_000, None, "x", "")
    with pytest.raises(UsageError, match="no id of an architecture"):
        build.task_id("planning", "hut")


def test_missing_fields_come_from_the_architecture(tmp_path: Path) -> None:
    files = published_rows()
    row: dict[str, Any] = files["task/Task_Spatial_Understanding.json"][0]
    for key in ("block_materials", "difficulty_factor", "image"):
        del row[key]
    del files["data/architectures.json"][1]["difficulty_factor"]
    data = load(write_rows(tmp_path, files))
    (task,) = data.tasks["understanding"]
    lamp = data.architectures[LAMP]
    assert task.materials == lamp.blueprint.materials
    assert task.images == ("images/assets/decoration_asset_7.png",)
    assert task.difficulty == lamp.difficulty == difficulty_factor(3, (1, 3, 1))


def test_raw_files_number_their_materials(tmp_path: Path) -> None:
    files = published_rows()
    files["data/architectures.json"][0]["block_materials"] = {"air": -1, "glass": 2, "torch": 3, "oak_planks": 1}
    data = load(write_rows(tmp_path, files))
    assert data.architectures[HUT].blueprint.materials == ("oak_planks", "glass", "torch")
