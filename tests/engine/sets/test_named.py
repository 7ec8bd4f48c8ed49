"""Named sets: their definitions, which set a run is of, and what a table says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from worldgauge.core.errors import UnknownNameError
from worldgauge.engine.collect import open_collection
from worldgauge.engine.sets import NamedSet, SetPart, data_notes, membership, named_sets, open_set, set_cells
from worldgauge.engine.suite.contract import Task

FINGERPRINTS = {f"t{n}": f"{n:064x}"[::-1] for n in range(3)}
SET = NamedSet(
    "worldgauge-toy",
    4,
    "A toy",
    (SetPart("spin", {"seed": 1}, {"a": "0" * 64}, {name: print_[:16] for name, print_ in FINGERPRINTS.items()}),),
)


def task(name: str, fingerprint: str) -> Task:
    return Task("spin", name, {}, fingerprint)


ALL = [task(name, fingerprint) for name, fingerprint in FINGERPRINTS.items()]


@pytest.mark.parametrize("name", named_sets())
def test_every_set_has_all_suites_with_options_that_their_collections_take(name, tmp_path) -> None:
    named = open_set(name)
    every = {"loopnav", "mind", "targetbench", "worldinworld", "mineanybuild"}
    assert {part.suite for part in named.parts} == ({"loopnav"} if name == "worldgauge-doom" else every)
    for part in named.parts:
        assert part.options["seed"] == 42
        assert open_collection(part.suite, tmp_path / part.suite, part.options).expected() > 0


def test_a_set_goes_by_its_short_name_too() -> None:
    assert open_set("mini") is open_set("worldgauge-mini")


def test_an_unknown_set_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'mini'"):
        open_set("mni")


@pytest.mark.parametrize("name", named_sets())
def test_every_part_states_its_size_and_frozen_ones_their_tasks(name: str) -> None:
    named = open_set(name)
    assert named.version == 2
    for part in named.parts:
        assert part.tasks_count >= part.clusters >= 4
        assert part.megabytes > 0
        assert len(part.tasks) == (part.tasks_count if part.is_frozen else 0)
        assert part.baselines_file is None or part.baselines_file.stat().st_size < 1e6
    assert not any(part.is_frozen for part in named.parts) or "numpy" in named.made_with


def test_a_baseline_with_scores_of_some_tasks_counts_as_a_part() -> None:
    part = SetPart("glow", {}, tasks_count=8, baselines=("dim", "lit"))
    assert part.to_compute(["dim", "lit", "new"]) == 1.0
    assert replace(part, baseline_tasks=2).to_compute(["dim", "new"]) == 1.75
    assert SetPart("glow", {}).to_compute([]) == 0.0


def test_the_set_that_ranks_models_is_small_and_has_clusters() -> None:
    small = open_set("small")
    assert small.is_frozen
    assert min(part.clusters for part in small.parts) >= 16
    assert sum(part.megabytes for part in small.parts) < 300


def test_the_smallest_set_comes_first() -> None:
    assert [*named_sets()] == ["worldgauge-mini", "worldgauge-doom", "worldgauge-small", "worldgauge-1"]


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        (ALL, (3, 3)),
        (ALL[:1], (1, 3)),
        ([], None),
        ([*ALL, task("other", "0")], None),
        ([task("t1", "f" * 64)], None),
        ([task("t1", FINGERPRINTS["t1"] + "+settings")], (1, 3)),
    ],
    ids=["whole", "part", "no task", "a task more", "other data", "a suffix of settings"],
)
def test_a_run_is_of_the_set_that_has_all_its_tasks(tasks, expected) -> None:
    found = membership("spin", tasks, [SET])
    assert found == (
        None if expected is None else {"name": "worldgauge-toy", "version": 4, "tasks": expected[0], "of": expected[1]}
    )
    assert membership("another", tasks, [SET]) is None


def test_tables_say_which_set_version_and_subset() -> None:
    whole = {"set": membership("spin", ALL, [SET])}
    part = {"set": membership("spin", ALL[:2], [SET])}
    assert data_notes({"a": whole, "b": whole}) == ["Data: worldgauge-toy, version 4, all 3 tasks."]
    assert data_notes({"a": part}) == ["Data: worldgauge-toy, version 4, a part of it: 2 of 3 tasks."]
    assert data_notes({"a": whole, "b": {}}) == [
        "Data: worldgauge-toy, version 4, all 3 tasks for a; no named set for b."
    ]
    assert data_notes({"a": {}}) == []


def test_data_of_a_part_that_is_not_frozen_say_so(tmp_path) -> None:
    toy = NamedSet("worldgauge-toy", 4, "A toy", (SetPart("spin", {"seed": 1}),))
    (tmp_path / "worldgauge.json").write_text('{"settings": {"seed": 1, "size": 3}}')
    found = membership("spin", ALL, [toy], tmp_path)
    assert found == {"name": "worldgauge-toy", "version": 4, "tasks": 3, "of": None}
    assert data_notes({"a": {"set": found}}) == ["Data: worldgauge-toy, version 4, not frozen: 3 tasks."]
    assert set_cells({"set": found}) == ("worldgauge-toy", "4", "not frozen: 3 tasks")
    (tmp_path / "worldgauge.json").write_text('{"settings": {"seed": 2}}')
    assert membership("spin", ALL, [toy], tmp_path) is None
    assert membership("spin", ALL, [toy]) is None
