"""The data of tasks are those of their fingerprint, or none, however often the folder changes below a process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of_file, digest_of_folder
from worldgauge.engine.suite.contract import Task, TaskData, cached_by_task
from worldgauge.worlds import open_world, worlds


def data(reads: list[Path]) -> TaskData[tuple[Path, str]]:
    """Each file is a task; an item holds what `read` took from the file, which the fingerprint leaves to the digest."""

    def read(folder: Path, _: str) -> dict[str, tuple[Path, str]]:
        reads.append(folder)
        return {path.name: (path, path.read_text()) for path in folder.iterdir()}

    return TaskData(read, lambda one: digest_of_file(one[0]), lambda one: (one[0], None))


def planned(folder: Path, name: str = "a") -> Task:
    return Task("x", name, {"source": str(folder)}, digest_of_file(folder / name))


def replaced(path: Path, text: str) -> None:
    """Another content of the same size and the same time of change."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_folder_is_read_once_while_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    reads: list[Path] = []
    find, task = data(reads), planned(tmp_path)
    assert [find(task)[1] for _ in range(3)] == ["one"] * 3
    assert reads == [tmp_path]
    planner = data(reads)
    planner.hold(str(tmp_path), {"a": find(task)})
    assert planner(task)[1] == "one"
    assert reads == [tmp_path], "the process that plans a task does not read it again"


def test_data_collected_again_are_found_and_old_tasks_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    find = data([])
    for text in ("one", "two", "six"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "a").write_text(text)
        task = planned(folder)
        assert find(task)[1] == text
    replaced(folder / "a", "ten")
    with pytest.raises(DataError, match="'a' changed after the run was planned; run again"):
        find(task)
    assert find(planned(folder))[1] == "ten"
    (folder / "b").write_text("new")
    assert find(planned(folder, "b"))[1] == "new"
    (folder / "a").unlink()
    with pytest.raises(DataError, match="'a' is gone"):
        find(Task("x", "a", {"source": str(folder)}, "0" * 64))


def test_digests_follow_files_of_equal_size_and_time(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    before, whole = digest_of_file(file), digest_of_folder(tmp_path)
    replaced(file, "two")
    assert digest_of_file(file) != before
    assert digest_of_folder(tmp_path) != whole
    file.rename(tmp_path / "b")
    replaced(tmp_path / "b", "one")
    assert digest_of_file(tmp_path / "b") == before
    assert digest_of_folder(tmp_path) != whole


def test_results_are_cached_by_fingerprint_sample_and_arguments(tmp_path: Path) -> None:
    made = []

    @cached_by_task(maxsize=4)
    def size(task: Task, scale: int, *, unseen: int = 0) -> int:
        made.append((task.fingerprint, scale))
        return scale

    one, other = Task("x", "a", {"source": "d"}, "f1"), Task("x", "a", {"source": "d"}, "f2")
    moved = Task("x", "a", {"source": "e"}, "f1")
    for task in (one, one, other, other, moved):
        assert size(task, 2, unseen=len(made)) == 2
    size(one, 3)
    assert made == [("f1", 2), ("f2", 2), ("f1", 2), ("f1", 3)]


@pytest.mark.parametrize("name", [name for name in worlds.names() if worlds.entry(name).facts.get("files")])
def test_a_world_without_a_digest_is_built_again_when_its_file_changes(name: str, tmp_path: Path) -> None:
    facts = worlds.get(name)(**worlds.entry(name).facts["example"]).facts
    params = dict(facts.params)
    for file in worlds.entry(name).facts["files"]:
        params[file] = shutil.copy(str(params[file]), tmp_path)
    plain = type(facts)(facts.name, params)
    first = open_world(plain)
    assert open_world(plain) is first
    os.utime(params[file])
    assert open_world(plain) is not first
