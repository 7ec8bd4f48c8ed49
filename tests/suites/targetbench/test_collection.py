"""Collecting target scenarios: published layout, the same bytes for any number of workers, kill -9 at any moment."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from support.collecting import CollectionTests
from support.folders import contents
from worldgauge.core.errors import DataError
from worldgauge.core.model import ModelSpec
from worldgauge.core.video import Clip
from worldgauge.engine.collect import collect, count, open_collection, world_seed_of
from worldgauge.engine.collection import Made
from worldgauge.suites.targetbench import collection as target
from worldgauge.suites.targetbench.format.read import discover
from worldgauge.suites.targetbench.format.scenario import fingerprint_of, path_of_poses
from worldgauge.suites.targetbench.protocol import make_question
from worldgauge.suites.targetbench.settings import TargetSettings
from worldgauge.suites.targetbench.walks import TargetWalkFailedError, record_target_walk
from worldgauge.worlds import open_world
from worldgauge.worlds.captions import caption_at
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.walking.floor import Landmark

SMALL = {"scenes": 2, "per_scene": 1, "size": (64, 36)}
NAMES = ["sample_000_custom_segment_000_249", "sample_001_custom_segment_000_249"]


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    root = tmp_path_factory.mktemp("collected")
    return root, collect("targetbench", root, **SMALL)


def test_a_folder_a_scenario_outdoors_and_indoors_by_turns(collected):
    root, result = collected
    assert (result.items, result.frames, result.failures) == (2, 500, ())
    scenarios = discover(root)
    assert [one.id for one in scenarios] == NAMES
    assert [one.world.name for one in scenarios if one.world] == ["voxel", "indoor"]
    for one in scenarios:
        assert ((one.fault, one.warnings), one.scene) == ((None, ()), one.id[:10])
        assert (len(one.path_xy), one.history_rows, one.dt, one.split) == (250, 50, 0.04, "benchmark")
        assert one.target_text == one.wordings[one.label]
        clip = Clip.open(one.video)
        assert (len(clip), clip.width, clip.height, clip.fps) == (250, 64, 36, 25)


def test_paths_are_those_of_the_poses_and_pictures_those_of_the_world(collected):
    from worldgauge.core.image import read_png

    for one in discover(collected[0]):
        assert one.world is not None
        np.testing.assert_allclose(one.path_xy, path_of_poses(one.poses, 50), atol=1e-6)
        focal = 32 / np.tan(np.radians(40))
        assert (one.camera.fx, one.camera.fy) == pytest.approx((focal, focal))
        world = open_world(one.world)
        assert one.target in world.landmarks
        for path, row in ((one.first_frame, 0), (one.current_frame, 50)):
            np.testing.assert_array_equal(read_png(path), world.view(one.poses[row], one.camera).rgb)


@pytest.mark.parametrize("horizon_s", [8.0, 6.0])
def test_the_caption_is_about_the_frame_and_the_target_is_in_the_text(collected, horizon_s):
    settings = TargetSettings.of({"horizon_s": horizon_s, "context": 3})
    for one in discover(collected[0], horizon_s):
        world = open_world(one.world)
        for shown in (1, 3):
            request = make_question(one, ModelSpec("m", control="text", max_context=shown), settings, seed=1).request
            row = round((8.0 - horizon_s) / one.dt) + 50 - (shown - 1)
            whole = discover(collected[0])[NAMES.index(one.id.partition("@")[0])]
            assert request.caption == caption_at(world, whole.poses[row], one.camera)
            assert one.target_text in request.text
            assert "Walk" not in request.caption


def test_scenarios_without_captions_keep_their_words(collected):
    (one, *_) = discover(collected[0])
    bare = replace(one, captions=())
    request = make_question(bare, ModelSpec("m"), TargetSettings.of({}), seed=1).request
    assert request.caption == one.target_text
    assert fingerprint_of(bare) != fingerprint_of(one)


def test_the_manifest_says_how_and_where(collected):
    root, result = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert (manifest["format"], manifest["settings"]["places"]) == ("target", ["outdoors", "indoors"])
    assert manifest["settings"]["discarded"] == dict(result.discarded)
    assert manifest["worlds"]["sample_000"]["params"]["seed"] == world_seed_of(42, 0)
    assert manifest["worlds"]["sample_001"]["world"] == "indoor"
    assert manifest["camera"] == {"horizontal_fov_deg": 80.0, "heights_m": {"indoors": 0.6, "outdoors": 1.2}}
    rows = (root / "im_ex_test_only.csv").read_text().split()
    assert [row.split(",")[0] for row in rows] == ["name", *NAMES]


class TestCollection(CollectionTests):
    name, small = "targetbench", SMALL
    renders, writes = (target, "write_scenario"), (target, "write_scenario")
    other = ({"seed": 1}, {"size": (32, 18)}, {"places": ("indoors",)}, {"fov_deg": 70}, {"fps": 10})
    bad = (
        *(({"scenes": 0}, ""), ({"per_scene": 0}, ""), ({"seed": -1}, ""), ({"fov_deg": 180}, ""), ({"fps": 0}, "")),
        *(({"places": places}, "") for places in ((), ("indoors", "indoors"), ("underwater",))),
        *(({"size": size}, "") for size in ((0, 9), (65, 36), (64, 35))),
    )

    @pytest.mark.slow
    @pytest.mark.parametrize("sight", [".*.part", "sample_*"])
    def test_killed_as_soon_as_a_scenario_is_begun_or_done(self, collected, tmp_path, sight):
        self.killed_and_called_again(collected, tmp_path / "out", sight)


def test_more_can_be_collected_into_the_same_folder(tmp_path, monkeypatch):
    """Names, worlds and labels of what was there stay."""
    monkeypatch.setattr(target, "render", _black)
    one = {"scenes": 1, "per_scene": 1, "size": (16, 16)}
    collect("targetbench", tmp_path, **one)
    before = contents(tmp_path)
    labels = (tmp_path / "im_ex_test_only.csv").read_text()
    result = collect("targetbench", tmp_path, **{**one, "per_scene": 2})
    assert result.items == 2
    after = contents(tmp_path)
    changed = {name for name in before if after[name] != before[name]}
    assert changed <= {"worldgauge.json", "im_ex_test_only.csv"}
    assert (tmp_path / "im_ex_test_only.csv").read_text().startswith(labels)
    assert [one.id for one in discover(tmp_path)] == [NAMES[0], "sample_000_custom_segment_250_499"]
    assert len({one.category for one in discover(tmp_path)}) == 2


def test_a_scenario_that_fails_is_reported_and_the_others_go_on(tmp_path, monkeypatch):
    def nowhere(world, rng, *, place, **options):
        if place == "outdoors":
            raise TargetWalkFailedError("no walk here", ["length out of range"] * 3)
        return record(world, rng, place=place, **options)

    record = target.walks.record_target_walk
    monkeypatch.setattr(target.walks, "record_target_walk", nowhere)
    monkeypatch.setattr(target, "render", _black)
    result = collect("targetbench", tmp_path, **{**SMALL, "size": (16, 16)})
    assert (result.items, result.failures) == (1, (f"{NAMES[0]}: no walk here",))
    assert result.discarded["length out of range"] >= 3
    assert [one.id for one in discover(tmp_path)] == NAMES[1:]


def test_a_spoilt_manifest_is_one_clear_line(tmp_path):
    for text, words in (("{", "repair the manifest"), ('{"format": "target"}', "'settings' or 'worlds' is missing")):
        (tmp_path / "worldgauge.json").write_text(text)
        with pytest.raises(DataError, match=words):
            collect("targetbench", tmp_path, **SMALL)


def test_counting_says_what_is_there(collected, monkeypatch):
    root, _ = collected
    monkeypatch.setattr(Voxel, "__init__", lambda *a, **k: pytest.fail("a world was built"))
    settings = {**SMALL, "places": ["outdoors", "indoors"], "seed": 42}
    assert count("targetbench", root, **settings) == (2, 2)
    assert count("targetbench", root, **{**settings, "scenes": 3, "per_scene": 2}) == (6, 2)


def _black(world, poses, camera, progress, device):
    """Frames of nothing: what is tested is the driver."""
    for _ in poses:
        yield np.zeros((camera.height, camera.width, 3), np.uint8)


def test_only_categories_with_a_wording_are_targets():
    names = ["wall", "floor", "ceiling", "structure", "sofa", "table", "furniture"]
    room = SimpleNamespace(landmarks=[Landmark(name, n + 1, (0, 0, 0), (1, 1, 1)) for n, name in enumerate(names)])
    orders = [target._categories(room, [1, 2], number) for number in range(6)]
    assert {tuple(sorted(order)) for order in orders} == {("sofa", "table")}
    assert {order[0] for order in orders} == {"sofa", "table"}


def test_categories_that_are_left_out_are_named_in_one_line(tmp_path):
    collection = open_collection("targetbench", tmp_path, SMALL)
    made = {"a": Made(facts={"left_out": ["wall", "floor"]}), "b": Made(facts={"left_out": ["wall"]})}
    assert collection.notes(made) == ("categories without a wording, which are no targets: floor, wall",)
    many = {"a": Made(facts={"left_out": [f"thing {n:03d}" for n in range(200)]})}
    (note,) = collection.notes(many)
    assert len(note) < 400
    assert note.endswith("and 180 more")
    assert not collection.notes({"a": Made(facts={"left_out": []}), "b": Made()})


def test_a_room_without_targets_says_so():
    room = SimpleNamespace(landmarks=[Landmark("wall", 1, (0, 0, 0), (1, 1, 1))])
    with pytest.raises(TargetWalkFailedError, match="nothing in it can be a target; its categories: wall"):
        record_target_walk(room, np.random.default_rng(0), place="indoors")
