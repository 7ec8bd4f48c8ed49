"""What the tasks of each suite share, told by their ids: for runs that are older than clusters too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from worldgauge.engine.collect import collect, open_collection
from worldgauge.engine.open_suite import clusters_of, list_tasks, open_suite
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.suites.mineanybuild.format import BuildTask
from worldgauge.suites.mineanybuild.protocol import cluster_of_row


@pytest.mark.parametrize(
    ("suite", "task", "group", "cluster"),
    [
        ("loopnav", "ABA/plains_village_20/15/01-01_01-23-21", {"location": "plains_village_20"}, "plains_village_20"),
        ("loopnav", "broken", {}, "broken"),
        ("mind", "1st_data/mirror_test/data-3/path-7", {}, "1st_data/mirror_test/data-3"),
        ("mind", "3rd_data/action_space_test/data-126-0.4x-100", {}, "3rd_data/action_space_test/data-126"),
        ("mind", "1st_data/mem_test/data-25", {}, "1st_data/mem_test/data-25"),
        ("targetbench", "scene_0003_custom_segment_100_300", {}, "scene_0003"),
        ("targetbench", "a walk", {}, "a walk"),
        ("mineanybuild", "planning/TSK_SP_90001_0", {"task": "planning"}, "AR_90001"),
        ("mineanybuild", "understanding/TSK_SU_90001", {"task": "understanding"}, "AR_90001"),
        ("mineanybuild", "creativity/TSK_CR_90001_2", {"task": "creativity"}, "AR_90001"),
        ("mineanybuild", "commonsense/TSK_SC_0001", {"task": "commonsense"}, "commonsense/TSK_SC_0001"),
        ("unseen", "home-000/cart/away-02", {"location": "home-000"}, "home-000"),
        ("worldinworld", "navigation/goal-0000", {"task": "navigation"}, "navigation/goal-0000"),
    ],
)
def test_by_its_id(suite: str, task: str, group: dict[str, Any], cluster: str) -> None:
    assert suites.get(suite)().cluster_of(task, group) == cluster


def test_a_suite_that_says_nothing_has_tasks_that_stand_alone() -> None:
    class Quiet(Suite):
        name = "quiet"

    assert Quiet().cluster_of("a/b", {"location": "c"}) == "a/b"


@pytest.mark.parametrize(
    ("row", "cluster"),
    [
        (BuildTask("TSK_SP_1_0", "planning", "detailed", "", architecture="AR_1_a_b"), "AR_1_a_b"),
        (BuildTask("TSK_SR_1_0007", "reasoning", "same", "", metadata="MR12_RZ3RY2N1RX0"), "MR12"),
        (BuildTask("TSK_SC_0001", "commonsense", "", ""), ""),
    ],
)
def test_of_a_row_of_the_build_suite(row: BuildTask, cluster: str) -> None:
    assert cluster_of_row(row) == cluster


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("loopnav", {"settlements": 2, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (64, 36)}),
        ("mind", {"mem": 3, "action_space": 5, "mirror": 1, "train": 1, "frames": 24, "size": (64, 36)}),
        ("targetbench", {"scenes": 2, "per_scene": 2, "places": ("indoors",), "size": (32, 18), "fps": 2}),
        ("worldinworld", {"scenes": 2, "recognition": 3, "navigation": 1, "questions": 1, "manipulation": 2}),
        ("mineanybuild", {"structures": 2, "stimuli": 1, "commonsense": 2, "size_px": 64}),
    ],
)
def test_a_collection_knows_the_clusters_of_its_tasks(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    planned = open_collection(name, tmp_path / "data", options).clusters()
    suite = open_suite(name, {})
    made = clusters_of(suite, list_tasks(suite, Path(collect(name, tmp_path / "data", **options).root), None))
    assert sorted(Counter(planned).values()) == sorted(Counter(made).values())
