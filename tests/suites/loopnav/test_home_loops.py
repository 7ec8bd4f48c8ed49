"""Loops in homes: the same files for any workers, frames that are drawn again exactly, checked and scored."""

import json
from pathlib import Path

import numpy as np
import pytest

from support.folders import contents
from worldgauge.core.actions import WALK_STEP_M
from worldgauge.core.errors import RunError, UsageError
from worldgauge.engine.collect import Collected, collect
from worldgauge.engine.run import run
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav.collection import LoopNavCollection
from worldgauge.suites.loopnav.format import worlds_of
from worldgauge.suites.loopnav.scenes import OTHER_CATEGORIES
from worldgauge.worlds import open_world

SMALL = {"world": "indoor", "settlements": 2, "ranges": (4,), "per_combination": 1, "size": (48, 27), "seed": 5}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    root = tmp_path_factory.mktemp("homes")
    return root, collect("loopnav", root, **SMALL)


def test_each_settlement_is_a_home_named_in_the_manifest(homes: tuple[Path, Collected]) -> None:
    root, result = homes
    assert (result.items, result.failures) == (4, ())
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert manifest["settings"]["world"] == "indoor"
    assert {name: row["world"] for name, row in manifest["locations"].items()} == {
        "indoor_1": "indoor",
        "indoor_2": "indoor",
    }
    assert len({row["params"]["seed"] for row in manifest["locations"].values()}) == 2


def test_any_number_of_workers_gives_the_same_files(homes: tuple[Path, Collected], tmp_path: Path) -> None:
    root, _ = homes
    collect("loopnav", tmp_path, **SMALL, workers=2)
    names = {name for name in contents(root) if not name.startswith(".")}
    assert {name: contents(tmp_path)[name] for name in names} == {name: contents(root)[name] for name in names}


def test_recorded_poses_draw_the_recorded_frames_and_actions_lead_along_them(homes: tuple[Path, Collected]) -> None:
    root, _ = homes
    worlds = worlds_of(root)
    for trajectory in loopnav.discover(root):
        assert trajectory.invalid is None
        episode = loopnav.load(trajectory, worlds[trajectory.location])
        assert episode.world is not None
        world = open_world(episode.world)
        for t in (0, len(episode) // 2, len(episode) - 1):
            view = world.view(episode.poses[t], episode.camera)
            assert np.abs(view.rgb.astype(int) - episode.clip[t]).mean() < 8  # the video's JPEG
            assert view.depth.min() > 0.1
        steps = np.linalg.norm(np.diff(episode.poses[:, :2, 3], axis=0), axis=1)
        np.testing.assert_allclose(steps, WALK_STEP_M * episode.actions.values[:, 0], atol=2e-3)


def test_the_check_finds_closed_loops_with_a_whole_look_around(homes: tuple[Path, Collected]) -> None:
    found = LoopNavCollection.check(homes[0], decode=True)
    assert (found.ok, found.n_valid, found.n_items) == (True, 4, 4)
    assert not [finding for finding in found.findings if "turn" in finding.text or "direction" in finding.text]


def test_references_are_scored_and_scene_scores_say_why_they_are_missing(
    homes: tuple[Path, Collected], tmp_path: Path
) -> None:
    result = run("loopnav", model=["truth", "memory", "freeze"], data=homes[0], out=tmp_path, limit=1)
    assert result.counts.failed == 0
    by_name = {name: {score.metric: score for score in scores} for name, scores in result.scores.items()}
    assert by_name["truth"]["mse"].value == 0.0 < by_name["memory"]["mse"].value < by_name["freeze"]["mse"].value
    for name in ("sgcs", "loop_closure", "segmenter_accuracy"):
        assert (by_name["truth"][name].value, by_name["truth"][name].reason) == (None, OTHER_CATEGORIES)
    assert 0.3 < by_name["truth"]["coverage"].value <= 1.0
    refused = run(
        "loopnav", model="truth", data=homes[0], out=tmp_path / "exact", limit=1, settings={"segmenter": "exact"}
    )
    assert refused.counts.scored == 0


def test_the_world_of_a_collection_stays(homes: tuple[Path, Collected], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="world indoor, not room"):
        collect("loopnav", homes[0], **{**SMALL, "world": "room"})
    with pytest.raises(UsageError, match="'tabletop' is not one that can be walked in; these can: indoor"):
        collect("loopnav", tmp_path, **{**SMALL, "world": "tabletop"})
    assert not list(tmp_path.iterdir())


def test_a_range_that_no_room_has_is_told(tmp_path: Path) -> None:
    result = collect("loopnav", tmp_path, **{**SMALL, "settlements": 1, "types": ("ABA",), "ranges": (50,)})
    assert result.items == 0
    assert "no ABA loop of radius 50 in world 'indoor'" in result.failures[0]
    assert result.discarded == {"no place to go": 7}
