"""A folder against a named set: what differs, what is missing, what to do; and the card beside it."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from worldgauge.core.errors import DataError, MissingExtraError, RunError, UnknownNameError, UsageError
from worldgauge.core.io import digest_of_file
from worldgauge.engine import sets
from worldgauge.engine.collect import collect
from worldgauge.engine.collection import MANIFEST
from worldgauge.engine.sets import DEFINITION, NamedSet, SetPart, open_set, read_set
from worldgauge.tools import data_sets as making
from worldgauge.tools.data_sets import (
    check_set,
    content_of,
    differing_versions,
    find_data,
    freeze,
    make_set,
    planned,
    suites_of,
    suites_without_part,
    versions_here,
)

OPTIONS = {"structures": 1, "stimuli": 0, "commonsense": 1, "size_px": 64, "seed": 42}


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> NamedSet:
    """A set of one build, frozen from a folder that was collected by hand."""
    root = tmp_path_factory.mktemp("frozen")
    collect("mineanybuild", root / "mineanybuild", **OPTIONS)
    return freeze(define(root / "toy"), root)


def define(folder: Path) -> Path:
    """The definition of a set of one part that is not frozen."""
    folder.mkdir()
    suites = {"mineanybuild": {"options": OPTIONS}}
    content = {"name": "worldgauge-toy", "version": 2, "title": "A toy", "suites": suites}
    (folder / DEFINITION).write_text(json.dumps(content))
    return folder


def test_what_is_half_made_is_not_frozen(tmp_path: Path) -> None:
    collect("mineanybuild", tmp_path / "mineanybuild", **OPTIONS)
    (tmp_path / "mineanybuild/data/images/own/oak_hut.png").unlink()
    definition = define(tmp_path / "toy")
    with pytest.raises(UsageError, match=r"mineanybuild: 1 of 2 things are made; make the others first"):
        freeze(definition, tmp_path)
    assert not (definition / "mineanybuild.json").exists()
    assert not read_set(definition).is_frozen


@pytest.fixture
def made(frozen: NamedSet, tmp_path: Path) -> Path:
    make_set(frozen, tmp_path / "set")
    return tmp_path / "set"


def test_another_folder_gets_the_same_digests(frozen: NamedSet, tmp_path: Path) -> None:
    assert planned(frozen, tmp_path / "set")[0]["done"] == 0
    found = make_set(frozen, tmp_path / "set")
    assert found.check.ok
    assert found.check.whole == ["mineanybuild"]
    assert found.check.compared == len(frozen.parts[0].files)
    plan = {"suite": "mineanybuild", "items": 2, "done": 2, "minutes": None, "frozen": True}
    assert planned(frozen, tmp_path / "set")[0] == plan


def test_a_changed_file_is_named_with_what_to_do(frozen: NamedSet, made: Path) -> None:
    picture = next((made / "mineanybuild").rglob("*.png"))
    picture.write_bytes(picture.read_bytes() + b"\0")
    found = check_set(frozen, made)
    assert not found.ok
    assert found.differing == [picture.relative_to(made).as_posix()]
    assert "so it is the file or the processor" in found.advice
    older = replace(frozen, made_with={**frozen.made_with, "numpy": "1.0"})
    assert f"numpy 1.0 (here {versions_here()['numpy']})" in check_set(older, made).advice
    assert "data pull" in found.advice
    assert "too many" not in found.advice
    (made / "mineanybuild" / "more.png").write_bytes(b"")
    assert "remove the files that differ and those that are too many" in check_set(frozen, made).advice
    (made / "mineanybuild" / "more.png").unlink()
    packed = replace(frozen, made_with={**frozen.made_with, "zlib": "1.3.1.zlib-ng"})
    assert f"zlib 1.3.1.zlib-ng (here {zlib.ZLIB_RUNTIME_VERSION})" in check_set(packed, made).advice


def test_a_frozen_set_tells_all_that_its_bytes_depend_on(frozen: NamedSet, made: Path) -> None:
    assert {"machine", "python", "zlib", "numpy", "numba", "av", "scipy", "mujoco-core"} <= frozen.made_with.keys()
    assert not differing_versions(frozen)
    # A set that was frozen before these were noted does not claim them.
    older = replace(frozen, made_with={"numpy": versions_here()["numpy"]})
    picture = next((made / "mineanybuild").rglob("*.png"))
    picture.write_bytes(picture.read_bytes() + b"\0")
    assert "what is here (numpy), so" in check_set(older, made).advice


def test_missing_and_further_files_are_told(frozen: NamedSet, made: Path) -> None:
    picture = next((made / "mineanybuild").rglob("*.png"))
    name = picture.relative_to(made).as_posix()
    picture.rename(picture.with_name("more.png"))
    found = check_set(frozen, made)
    assert found.missing == [name]
    assert [Path(one).name for one in found.extra] == ["more.png"]
    assert "remove what is too many, and make what is missing" in found.advice
    picture.with_name("more.png").unlink()
    assert "make what is missing: worldgauge data make toy" in check_set(frozen, made).advice
    assert make_set(frozen, made).check.ok


def test_a_set_that_was_stopped_is_not_said_to_differ(frozen: NamedSet, made: Path, tmp_path: Path) -> None:
    def stop(suite: str, step: object) -> None:
        raise KeyboardInterrupt

    root = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        make_set(frozen, root, progress=stop)
    manifest = root / "mineanybuild" / MANIFEST
    manifest.write_text(json.dumps(json.loads(manifest.read_text())))  # where a suite has worlds, it grows with them
    found = check_set(frozen, root)
    assert found.unfinished == [("mineanybuild", 1, 2)]
    assert not found.ok
    assert not found.differing
    assert found.advice.startswith("make what is missing")
    # A finished file that was changed is found all the same.
    picture = next((root / "mineanybuild" / "data").rglob("*.png"))
    picture.write_bytes(b"x")
    assert check_set(frozen, root).differing == [picture.relative_to(root).as_posix()]


def test_the_card_is_beside_it_and_logs_and_hidden_files_are_no_part(frozen: NamedSet, made: Path) -> None:
    (made / "mineanybuild" / "logs").mkdir()
    (made / "mineanybuild" / "logs" / "worker.txt").write_text("x")
    (made / "mineanybuild" / ".part").write_text("x")
    assert check_set(frozen, made).ok
    text = (made / "README.md").read_text()
    assert yaml.safe_load(text.split("---")[1])["license"] == "apache-2.0"
    assert "worldgauge-toy, version 2" in text
    assert "SPDX-License-Identifier: Apache-2.0" in (made / "LICENSE").read_text()
    assert f"| {len(frozen.parts[0].tasks)} | {len(frozen.parts[0].files)} |" in text


def test_a_part_that_is_not_frozen_is_not_called_whole(frozen: NamedSet, made: Path, tmp_path: Path) -> None:
    found = check_set(replace(frozen, parts=(SetPart("mineanybuild", OPTIONS),)), made)
    assert found.open == ["mineanybuild"]
    assert not found.whole
    with pytest.raises(DataError, match="holds no part of worldgauge-toy"):
        check_set(frozen, tmp_path)


SMALLEST = {
    "loopnav": {"settlements": 1, "ranges": [5], "types": ["ABA"]},
    "mind": {"mem": 0, "action_space": 0, "mirror": 1},
    "mineanybuild": {"structures": 1, "stimuli": 0, "commonsense": 1},
}
"""Options that ask for a few items of the small set: what an item holds does not depend on the number of others."""


@pytest.mark.parametrize("suite", SMALLEST)
def test_items_of_the_small_set_come_out_as_they_were_frozen(suite: str, tmp_path: Path) -> None:
    part = open_set("mini").part(suite)
    if open_set("mini").made_with.get("machine") != versions_here()["machine"]:
        pytest.skip("another kind of processor")
    collect(suite, tmp_path, **{**part.options, **SMALLEST[suite]})
    items = {
        path.relative_to(tmp_path).as_posix(): digest_of_file(path)
        for path in content_of(tmp_path)
        if path.suffix in (".png", ".mp4", ".avi")
    }
    assert items
    assert {name: part.files.get(name) for name in items} == items


def test_workers_are_asked_for_code_that_rounds_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "mine")

    def noting(suite: str, *args: object, **options: object) -> object:
        seen.append((os.environ["OPENBLAS_CORETYPE"], os.environ["NPY_DISABLE_CPU_FEATURES"], options["on"]))
        raise RunError("enough")

    monkeypatch.setattr(making, "collect", noting)
    with pytest.raises(RunError, match="enough"):
        make_set(open_set("mini"), tmp_path)
    assert seen == [("Haswell", "mine", "local")]  # and so a single worker is a child, which reads them, too
    assert "OPENBLAS_CORETYPE" not in os.environ


@pytest.mark.slow
def test_the_small_set_comes_out_as_it_was_frozen(tmp_path: Path) -> None:
    small = open_set("small")
    found = make_set(small, tmp_path, workers=2)
    assert found.check.ok, found.check.to_dict()
    assert set(found.check.whole) == {part.suite for part in small.parts if part.is_frozen}


def test_a_missing_extra_is_told_before_the_first_part_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(advice: str) -> None:
        raise MissingExtraError("manipulation", "manipulation")

    monkeypatch.setattr("worldgauge.suites.worldinworld.manipulation.episodes.check_engine", lacks)
    with pytest.raises(MissingExtraError):
        make_set(open_set("1"), tmp_path)
    assert not (tmp_path / "loopnav").exists()
    assert not list(tmp_path.rglob("*.mp4"))


def test_data_are_found_by_the_name_of_a_set_and_made_if_missing(
    frozen: NamedSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sets, "named_sets", lambda: {frozen.name: frozen})
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    folder = find_data("toy", "mineanybuild")
    assert folder == tmp_path / "cache/sets/worldgauge-toy-2/mineanybuild"
    assert check_set(frozen, folder.parent).whole == ["mineanybuild"]
    assert f"making mineanybuild of worldgauge-toy in {folder.parent}" in capsys.readouterr().err
    assert find_data("worldgauge-toy", "mineanybuild") == folder  # not made again
    assert "making" not in capsys.readouterr().err
    next(folder.rglob("*.png")).unlink()
    assert find_data("toy", "mineanybuild") == folder
    assert check_set(frozen, folder.parent).whole == ["mineanybuild"]
    with pytest.raises(UnknownNameError, match="part of worldgauge-toy"):
        find_data("toy", "loopnav")


def test_a_folder_comes_before_a_set_of_its_name(
    frozen: NamedSet, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "named_sets", lambda: {frozen.name: frozen})
    monkeypatch.chdir(tmp_path)
    made.rename(tmp_path / "toy")
    assert find_data("toy", "mineanybuild") == Path("toy/mineanybuild")  # the folder of a set holds those of suites
    assert find_data(Path("toy/mineanybuild"), "mineanybuild") == Path("toy/mineanybuild")
    assert find_data("toy", "loopnav") == Path("toy")
    with pytest.raises(UsageError, match=r"absent: no such folder, and no benchmark set"):
        find_data("absent", "mineanybuild")
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    with pytest.raises(UsageError, match=r"WORLDGAUGE_CACHE is off"):
        find_data("worldgauge-toy", "mineanybuild")


def test_a_frozen_part_states_its_size(frozen: NamedSet) -> None:
    part = frozen.parts[0]
    assert part.tasks_count == len(part.tasks) == 7
    assert 1 < part.clusters <= part.tasks_count
    assert part.megabytes > 0


def test_a_set_has_the_suites_that_it_defines() -> None:
    assert suites_of("doom") == ["loopnav"]
    assert len(suites_of("worldgauge-small")) == 5


def test_a_set_says_which_suites_it_lacks(tmp_path: Path) -> None:
    assert "mind" in suites_without_part("doom")
    assert suites_without_part("worldgauge-small") == ["unseen"]
    assert suites_without_part(tmp_path) == suites_without_part("no-such-set") == []
