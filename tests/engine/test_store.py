"""Files are whole or absent; JSON is strict; names from outside become safe folder names or nothing."""

import errno
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldgauge.core.errors import ModelError, RunError, UsageError
from worldgauge.core.io import dumps, loads
from worldgauge.engine import store
from worldgauge.engine.store import (
    RunFolder,
    atomic_write,
    check_file_slugs,
    explain_full_disk,
    file_slug,
    read_record,
    record_key,
    scores_key,
    write_error,
    write_record,
    write_scores,
)
from worldgauge.engine.suite.contract import Record, Score, Task

TASK = Task("s", "a/b", {"x": 1}, "f", {"kind": "odd"})
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_json_comes_back_as_it_was_with_infinities(value: Any) -> None:
    text = dumps(value)
    assert loads(text) == value
    assert "\n" not in text
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_infinities_are_stored_by_name() -> None:
    assert dumps(math.inf) == '{"special": "+inf", "value": null}'
    assert loads(dumps({"a": [-math.inf]})) == {"a": [-math.inf]}
    assert math.isnan(loads(dumps(math.nan)))
    assert loads('{"value": null, "special": "else"}') == {"value": None, "special": "else"}


def test_numpy_numbers_are_numbers_and_other_things_are_refused_by_place() -> None:
    assert dumps({"b": np.float32(0.5), "a": np.int64(3), "c": (np.bool_(True),)}) == '{"a": 3, "b": 0.5, "c": [true]}'
    with pytest.raises(UsageError, match=r"value\.facts\[1\] is a Path|value\.facts\[1\] is a PosixPath"):
        dumps({"facts": [1, Path("x")]})
    with pytest.raises(UsageError, match="key 3"):
        dumps({3: 1})
    with pytest.raises(UsageError, match="ndarray"):
        dumps(np.zeros(2))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "{'a': 1}", "[1,]", ""])
def test_what_is_not_strict_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own message is shown with the file's name
        loads(text)


def test_names_become_folders() -> None:
    assert file_slug("ABA/plains_village_1/5/01-01_00.x") == "ABA__plains_village_1__5__01-01_00.x"
    long = file_slug("a" * 300)
    assert len(long) <= 200
    assert long != file_slug("a" * 301)


@pytest.mark.parametrize(
    "name", ["", "..", "a/../b", "/etc", "a//b", ".hidden", "a/.b", "a b", "a\\b", "é", "a\0", "a\n"]
)
def test_names_that_could_leave_the_folder_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no usable name"):
        file_slug(name)


@given(st.text(alphabet="ab./_-A\0é ", max_size=30))
def test_no_name_leaves_the_folder(name: str) -> None:
    try:
        made = file_slug(name)
    except UsageError:
        return
    assert "/" not in made
    assert not made.startswith(".")
    assert (Path("/base") / made).resolve().parent == Path("/base")


@pytest.mark.parametrize("names", [["a/b", "a__b"], ["a", "a"], ["Abc", "aBC"]])
def test_names_that_would_share_a_folder_are_refused(names: list[str]) -> None:
    with pytest.raises(UsageError, match=r"share one folder|comes twice"):
        check_file_slugs(names)


def test_atomic_write_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    atomic_write(path, "one")
    atomic_write(path, b"two")
    atomic_write(path, iter([b"th", b"ree"]))
    assert path.read_text() == "three"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_one_clear_line(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    atomic_write(path, "old")

    def fail(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def parts() -> Any:
        yield b"new"
        if step == "write":
            fail()

    if step != "write":
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(RunError, match=r"the disk is full .*make room, then start the same command again"):
        atomic_write(path, parts())
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "run").create()


def test_records_appear_whole_and_give_way_whole(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    for text in ("one", "two"):
        prepared = folder.prepare()
        (prepared / "rollout").write_text(text)
        (prepared / ".part-x").write_text("left by a killed worker")
        (prepared / ".rollout.mp4.part").write_text("left by a killed worker")
        folder.commit(prepared, "a/b")
    assert [p.name for p in folder.records.iterdir()] == ["a__b"]
    assert [p.name for p in folder.record("a/b").iterdir()] == ["rollout"]
    assert (folder.record("a/b") / "rollout").read_text() == "two"


def test_what_a_kill_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.create()
    (folder.prepare() / "x").write_text("half")
    (tmp_path / ".part-y").write_text("half")
    (tmp_path / ".mine").write_text("keep")
    folder.clean()
    assert sorted(p.name for p in tmp_path.rglob("*")) == [".mine", "records"]


@pytest.mark.parametrize(
    ("facts", "series"),
    [
        ({}, ()),
        ({}, ((0, 0.1), (5, -2.5e-07), (10, 3.0))),
        ({}, ((0, None), (5, math.inf), (7, -math.inf), (9, 1.0))),
        ({"series": [[1, 2.0]], "model": "s"}, ((0, 1.0),)),
        ({"said": 'a "series": [[0, 1]], "model": "b"'}, ((3, 4.0),)),
    ],
)
def test_a_series_is_read_when_it_is_looked_at(
    facts: dict[str, Any], series: tuple[tuple[int, float | None], ...], tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path)
    folder.record("a/b").mkdir(parents=True)
    score = Score("a/b", "m", 1.0, series=series, facts=facts)
    write_scores([score], "me", folder.record("a/b"), key="s")
    folder.assemble(["a/b"])
    [(_, stored)] = folder.scores()
    loose = folder.scores_path.read_text().replace(", ", ",")
    folder.scores_path.write_text(loose)
    [(_, plain)] = folder.scores()
    assert isinstance(plain.series, tuple)
    for found in (stored, plain):
        assert (len(found.series), tuple(found.series), bool(found.series)) == (len(series), series, bool(series))
        assert found.series[-1:] == series[-1:]
    assert (stored.facts, stored.series) == (facts, plain.series)


def test_scores_that_are_told_alike_share_nothing_that_can_be_changed(tmp_path: Path) -> None:
    found = []
    for name in ("one", "other"):
        folder = RunFolder(tmp_path / name)
        folder.record("a/b").mkdir(parents=True)
        told = Score("a/b", "m", 1.0, series=((0, 1.0),), facts={"n": 3}, group={"kind": "odd"})
        write_scores([told], name, folder.record("a/b"), key="s")
        folder.assemble(["a/b"])
        found += [score for _, score in folder.scores()]
    one, other = found
    one.facts["n"] = one.group["kind"] = "changed"  # type: ignore[index]
    assert (other.facts, other.group) == ({"n": 3}, {"kind": "odd"})


def test_records_and_scores_come_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.create()
    record = Record(TASK, "me", folder.record("a/b"), {"best": math.inf}, "rollout.mp4")
    record.directory.mkdir()
    write_record(record, record.directory, key="k")
    assert read_record(record.directory, TASK, "k") == record
    assert record_key(record.directory) == "k"
    scores = [
        Score("a/b", "z", -math.inf, group={"kind": "odd"}, series=((0, math.inf), (2, None))),
        Score("a/b", "a", None, reason="none"),
    ]
    assert scores_key(record.directory) is None
    write_scores(scores, "me", record.directory, key="s")
    assert json.loads((record.directory / "scores.json").read_text())["scores"][0]["metric"] == "a"
    assert scores_key(record.directory) == "s"
    folder.assemble(["a/b"])
    assert list(folder.scores()) == [("me", scores[1]), ("me", scores[0])]
    write_scores([], "me", record.directory)
    folder.assemble(["a/b"])
    assert list(folder.scores()) == []
    with pytest.raises(RunError, match="other data"):
        read_record(record.directory, Task("s", "a/b", {}, "other"), "k")
    with pytest.raises(RunError, match="other data"):
        read_record(record.directory, TASK, "other")
    with pytest.raises(RunError, match="no readable record"):
        read_record(tmp_path, TASK, "k")


@pytest.mark.parametrize("name", ["../../secret.mp4", "/etc/passwd", "..", "", "a/b.mp4", "a\\b", ".hidden", "a\0"])
def test_a_record_cannot_point_elsewhere(tmp_path: Path, name: str) -> None:
    write_record(Record(TASK, "me", tmp_path, {}, name), tmp_path, key="k")
    with pytest.raises(RunError, match="not the name of a file in that folder"):
        read_record(tmp_path, TASK, "k")


@pytest.mark.parametrize("change", [{"task": 3}, {"facts": None}, {"rollout": 7}, {"model": []}, {"key": None}])
def test_a_damaged_record_is_one_clear_line(tmp_path: Path, change: dict[str, Any]) -> None:
    write_record(Record(TASK, "me", tmp_path), tmp_path, key="k")
    path = tmp_path / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(RunError, match=f"no usable '{next(iter(change))}'"):
        read_record(tmp_path, TASK, "k")
    path.write_text("[]")
    with pytest.raises(RunError, match="no usable"):
        read_record(tmp_path, TASK, "k")


@pytest.mark.parametrize("text", ["", "[", "[\n{}\n]\n", '{"key": 3, "scores": [', '{"scores": [\n]}'])
def test_scores_without_a_key_are_nobodys(tmp_path: Path, text: str) -> None:
    (tmp_path / "scores.json").write_text(text)
    assert scores_key(tmp_path) is None


def test_a_full_disk_is_found_behind_other_errors_but_not_behind_the_models() -> None:
    def behind(kind: type[Exception]) -> Exception:
        error = kind("made of it")
        error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
        return error

    assert explain_full_disk(behind(RunError)) == "made of it; make room, then start the same command again"
    assert explain_full_disk(behind(ModelError)) is None
    assert explain_full_disk(OSError(errno.EROFS, "Read-only file system")) is None
    assert "cannot be written (Read-only" in str(write_error(OSError(errno.EROFS, "Read-only file system"), Path("x")))


def test_run_json_of_another_schema_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(RunError, match="not a run folder"):
        folder.facts()
    folder.facts_path.write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        folder.facts()
    folder.facts_path.write_text(f'{{"schema": {store.SCHEMA + 1}}}')
    with pytest.raises(RunError, match="not of schema"):
        folder.facts()


def test_files_with_the_former_names_are_read(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    facts = {"schema": store.SCHEMA, "suite": "target", "source": "d", "data_fingerprint": "f", "settings": {}}
    facts |= {"task_keys": {}, "seed": 0, "suite_version": 1}
    model = {"name": "me", "kind": "reference", "model": "freeze", "inputs": [], "identity": {"source": "freeze"}}
    folder.facts_path.write_text(dumps({**facts, "subject": model}))
    read = folder.facts()
    assert (read["suite"], read["model"]["kind"], read["model"]["address"]) == ("targetbench", "baseline", "freeze")
    assert "subject" not in read

    record = {"key": "k", "suite": "closedloop", "task": "a", "fingerprint": "f", "subject": "me", "rollout": None}
    record |= {"sample": {}, "group": {}, "facts": {}}
    entry = store.read_record_entry(dumps(record).encode(), "r")
    assert (entry["suite"], entry["model"]) == ("worldinworld", "me")

    score = Score("a", "m", 1.0, series=((0, 1.5), (1, None)))
    folder.record("a").mkdir(parents=True)
    write_scores([score], "me", folder.record("a"), key="s")
    folder.assemble(["a"])
    line = json.loads(folder.scores_path.read_text())
    line["subject"] = line.pop("model")
    folder.scores_path.write_text(json.dumps(line, sort_keys=True) + "\n")
    [(name, found)] = folder.scores()
    assert (name, tuple(found.series)) == ("me", score.series)
    assert not isinstance(found.series, tuple), "the series is read when it is needed"


def test_what_the_system_refuses_while_records_are_made_is_one_line(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    prepared = folder.prepare()
    for act in (
        lambda: folder.commit(prepared / "gone", "t/1"),
        lambda: (shutil.rmtree(folder.records), folder.prepare()),
    ):
        with pytest.raises(RunError, match="cannot be written") as caught:
            act()
        assert "\n" not in str(caught.value)


def test_a_folder_that_holds_something_else_is_not_written_to(tmp_path: Path) -> None:
    foreign = tmp_path / "photos"
    (foreign / "records").mkdir(parents=True)
    (foreign / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(RunError, match="of no run; give another --out"):
        RunFolder(foreign).create()
    assert sorted(path.name for path in foreign.rglob("*")) == ["holiday.jpg", "records"]
    for kind in ("empty", "hidden", "begun", "run"):
        place = tmp_path / kind
        place.mkdir()
        if kind == "hidden":
            (place / ".DS_Store").write_bytes(b"")
        elif kind != "empty":
            (place / "records").mkdir()
        if kind == "run":
            (place / "journal.jsonl").write_bytes(b"")
            (place / "notes.txt").write_bytes(b"")
        RunFolder(place).create()
