"""Collecting target scenarios: published layout, the same bytes for any number of workers, kill -9 at any moment."""

import errno
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.video import Clip
from worldgauge.engine.collect import Collected, collect, count, open_collection, world_seed_of
from worldgauge.engine.collection import Made
from worldgauge.suites.target import collection as target
from worldgauge.suites.target.format.read import discover
from worldgauge.suites.target.format.scenario import path_of_poses
from worldgauge.suites.target.walks import TargetWalkFailedError, record_target_walk
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.walking.floor import Landmark

SMALL = {"scenes": 2, "per_scene": 1, "size": (64, 36)}
NAMES = ["sample_000_custom_segment_000_249", "sample_001_custom_segment_000_249"]
SCRIPT = """
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    collect("target", Path(sys.argv[1]), scenes=2, per_scene=1, size=(64, 36), workers=2)
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    root = tmp_path_factory.mktemp("collected")
    return root, collect("target", root, **SMALL)


def test_a_folder_a_scenario_outdoors_and_indoors_by_turns(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    assert (result.items, result.frames, result.failures) == (2, 500, ())
    scenarios = discover(root)
    assert [one.id for one in scenarios] == NAMES
    assert [one.world.name for one in scenarios if one.world] == ["voxel", "indoor"]
    for one in scenarios:
        assert (one.fault, one.warnings) == (None, ())
        assert one.scene == one.id[:10]
        assert (len(one.path_xy), one.history_rows, one.dt, one.split) == (250, 50, 0.04, "benchmark")
        assert one.target_text == one.wordings[one.label]
        assert one.video is not None
        clip = Clip.open(one.video)
        assert (len(clip), clip.width, clip.height, clip.fps) == (250, 64, 36, 25)


def test_paths_are_those_of_the_poses_and_pictures_those_of_the_world(collected: tuple[Path, Collected]) -> None:
    from worldgauge.core.image import read_png

    for one in discover(collected[0]):
        assert one.world is not None
        assert one.poses is not None
        assert one.camera is not None
        np.testing.assert_allclose(one.path_xy, path_of_poses(one.poses, 50), atol=1e-6)
        focal = 32 / np.tan(np.radians(40))
        assert (one.camera.fx, one.camera.fy) == pytest.approx((focal, focal))
        world = open_world(one.world)
        assert one.target in world.landmarks  # type: ignore[attr-defined]
        for path, row in ((one.first_frame, 0), (one.current_frame, 50)):
            assert path is not None
            np.testing.assert_array_equal(read_png(path), world.view(one.poses[row], one.camera).rgb)


def test_the_manifest_says_how_and_where(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert manifest["format"] == "target"
    assert manifest["settings"]["places"] == ["outdoors", "indoors"]
    assert manifest["settings"]["discarded"] == dict(result.discarded)
    assert manifest["worlds"]["sample_000"]["params"]["seed"] == world_seed_of(42, 0)
    assert manifest["worlds"]["sample_001"]["world"] == "indoor"
    assert manifest["camera"] == {"horizontal_fov_deg": 80.0, "heights_m": {"indoors": 0.6, "outdoors": 1.2}}
    rows = (root / "im_ex_test_only.csv").read_text().split()
    assert [row.split(",")[0] for row in rows] == ["name", *NAMES]


def test_any_number_of_workers_gives_the_same_files(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    root, result = collected
    seen = []
    parallel = collect("target", tmp_path, **SMALL, workers=2, progress=seen.append)
    assert contents(tmp_path) == contents(root)
    assert (parallel.frames, parallel.discarded) == (result.frames, result.discarded)
    assert [(step.done, step.total) for step in seen] == [(1, 2), (2, 2)]


def test_a_second_call_renders_nothing_and_changes_nothing(
    collected: tuple[Path, Collected], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, result = collected
    before = contents(root)
    monkeypatch.setattr(target, "write_scenario", lambda *a, **k: pytest.fail("written again"))
    assert collect("target", root, **SMALL) == result
    assert contents(root) == before


@pytest.mark.slow
@pytest.mark.parametrize("sight", [".*.part", "sample_*"])
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(
    collected: tuple[Path, Collected], tmp_path: Path, sight: str
) -> None:
    """Kill -9 as soon as a scenario is begun, or as soon as one is done and the other is not."""
    root, _ = collected
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, sight)
    assert len(contents(out)) < len(contents(root))
    collect("target", out, **SMALL)
    assert contents(out) == contents(root)


def test_more_can_be_collected_into_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, worlds and labels of what was there stay."""
    monkeypatch.setattr(target, "render", _black)
    one = {"scenes": 1, "per_scene": 1, "size": (16, 16)}
    collect("target", tmp_path, **one)
    before = contents(tmp_path)
    labels = (tmp_path / "im_ex_test_only.csv").read_text()
    result = collect("target", tmp_path, **{**one, "per_scene": 2})
    assert result.items == 2
    after = contents(tmp_path)
    changed = {name for name in before if after[name] != before[name]}
    assert changed <= {"worldgauge.json", "im_ex_test_only.csv"}
    assert (tmp_path / "im_ex_test_only.csv").read_text().startswith(labels)
    assert [one.id for one in discover(tmp_path)] == [NAMES[0], "sample_000_custom_segment_250_499"]
    assert len({one.category for one in discover(tmp_path)}) == 2


def test_another_seed_size_or_place_is_refused_in_the_same_folder(collected: tuple[Path, Collected]) -> None:
    root, _ = collected
    for change in ({"seed": 1}, {"size": (32, 18)}, {"places": ("indoors",)}, {"fov_deg": 70}, {"fps": 10}):
        with pytest.raises(RunError, match=next(iter(change))):
            collect("target", root, **{**SMALL, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"scenes": 0},
        {"per_scene": 0},
        {"places": ()},
        {"places": ("indoors", "indoors")},
        {"places": ("underwater",)},
        {"seed": -1},
        {"size": (0, 9)},
        {"size": (65, 36)},
        {"size": (64, 35)},
        {"fov_deg": 180},
        {"fps": 0},
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(change))):
        collect("target", tmp_path, **{**SMALL, **change})  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_scenario_that_fails_is_reported_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(world, rng, *, place, **options):
        if place == "outdoors":
            raise target.TargetWalkFailedError("no walk here", ["length out of range"] * 3)
        return record(world, rng, place=place, **options)

    record = target.record_target_walk
    monkeypatch.setattr(target, "record_target_walk", nowhere)
    monkeypatch.setattr(target, "render", _black)
    result = collect("target", tmp_path, **{**SMALL, "size": (16, 16)})
    assert result.items == 1
    assert result.failures == (f"{NAMES[0]}: no walk here",)
    assert result.discarded["length out of range"] >= 3
    assert [one.id for one in discover(tmp_path)] == NAMES[1:]


def test_a_full_disk_ends_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args, **facts):
        raise DataError("cannot be written") from OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(target, "write_scenario", full)
    with pytest.raises(RunError, match="make room, then start the same command again"):
        collect("target", tmp_path, **SMALL)


def test_a_folder_with_other_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "worldgauge.json").write_text(json.dumps({"format": "loopnav", "settings": {}}))
    with pytest.raises(RunError, match="holds other data"):
        collect("target", tmp_path, **SMALL)
    (tmp_path / "worldgauge.json").write_text("{")
    with pytest.raises(DataError, match="repair the manifest"):
        collect("target", tmp_path, **SMALL)
    (tmp_path / "worldgauge.json").write_text(json.dumps({"format": "target"}))
    with pytest.raises(DataError, match="'settings' or 'worlds' is missing"):
        collect("target", tmp_path, **SMALL)


def test_counting_says_what_is_there(collected: tuple[Path, Collected], monkeypatch: pytest.MonkeyPatch) -> None:
    root, _ = collected
    monkeypatch.setattr(Voxel, "__init__", lambda *a, **k: pytest.fail("a world was built"))
    settings = {**SMALL, "places": ["outdoors", "indoors"], "seed": 42}
    assert count("target", root, **settings) == (2, 2)
    assert count("target", root, **{**settings, "scenes": 3, "per_scene": 2}) == (6, 2)


def _black(world, poses, camera, progress, device):
    """Frames of nothing: what is tested is the driver."""
    for _ in poses:
        yield np.zeros((camera.height, camera.width, 3), np.uint8)


def test_only_categories_with_a_wording_are_targets() -> None:
    names = ["wall", "floor", "ceiling", "structure", "sofa", "table", "furniture"]
    room = SimpleNamespace(landmarks=[Landmark(name, n + 1, (0, 0, 0), (1, 1, 1)) for n, name in enumerate(names)])
    orders = [target._categories(room, [1, 2], number) for number in range(6)]
    assert {tuple(sorted(order)) for order in orders} == {("sofa", "table")}
    assert {order[0] for order in orders} == {"sofa", "table"}


def test_categories_that_are_left_out_are_named_in_one_line(tmp_path: Path) -> None:
    collection = open_collection("target", tmp_path, SMALL)
    made = {"a": Made(facts={"left_out": ["wall", "floor"]}), "b": Made(facts={"left_out": ["wall"]})}
    assert collection.notes(made) == ("categories without a wording, which are no targets: floor, wall",)
    many = {"a": Made(facts={"left_out": [f"thing {n:03d}" for n in range(200)]})}
    (note,) = collection.notes(many)
    assert len(note) < 400
    assert note.endswith("and 180 more")
    assert not collection.notes({"a": Made(facts={"left_out": []}), "b": Made()})


def test_a_room_without_targets_says_so() -> None:
    room = SimpleNamespace(landmarks=[Landmark("wall", 1, (0, 0, 0), (1, 1, 1))])
    with pytest.raises(TargetWalkFailedError, match="nothing in it can be a target; its categories: wall"):
        record_target_walk(room, np.random.default_rng(0), place="indoors")
