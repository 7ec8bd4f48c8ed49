"""LoopNav on disk: written as published, read back as it was."""

import errno
import json
import math
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suites.loopnav.loopnav_data import edit, frames_of, put, random_walk, straight_loop
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.core.video import Clip
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav.format import worlds_of, write_manifest, write_trajectory
from worldgauge.suites.loopnav.format_records import read_records, walk_of


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**20), n=st.integers(1, 12))
def test_what_is_written_is_read(tmp_path, seed, n):
    walk = random_walk(seed, n)
    records = read_records(put(tmp_path, walk))
    back = walk_of(records, walk.kind, walk.radius)
    for name in ("positions", "pitch", "camera", "forward", "jump"):
        np.testing.assert_array_equal(getattr(back, name), getattr(walk, name), err_msg=name)
    np.testing.assert_allclose(back.yaw, walk.yaw, atol=1e-12)
    assert back.goals == walk.goals
    assert (back.kind, back.radius, back.seed) == (walk.kind, walk.radius, walk.seed)
    np.testing.assert_allclose(back.poses, walk.poses, atol=1e-12)


def test_the_files_are_the_published_ones(tmp_path):
    path = put(tmp_path)
    assert path == tmp_path / "ABA" / "plains_village_20" / "5" / "01-01_00-00-00.json"
    assert sorted(p.name for p in path.parent.iterdir()) == ["01-01_00-00-00.avi", "01-01_00-00-00.json"]
    rows = json.loads(path.read_text())
    assert set(rows[0]) == {"x", "y", "z", "yaw", "pitch", "action", "goal", "frame_count", "extra_info"}
    assert set(rows[0]["action"]) == {"forward", "back", "left", "right", "jump", "sprint", "sneak", "camera"}
    assert rows[0]["extra_info"] == {"seed": 42, "location": "plains_village_20", "nvtype": "ABA", "nvrange": 5}
    assert [row["frame_count"] for row in rows] == list(range(20, 20 + len(rows)))
    assert (rows[0]["goal"], rows[-5]["goal"]) == ({"x": 5, "y": 64, "z": 7}, {"x": 5, "z": 7, "rangeSq": 1})
    assert rows[-1]["goal"] is None
    clip = Clip.open(path.with_suffix(".avi"))
    assert (len(clip), clip.fps) == (len(rows), 20)


def test_frames_of_reference_by_hand(tmp_path):
    """At rest at our (5.5, -7.5, 64) looking to +y: the game's (5.5, 64, 7.5) looking to -z, its yaw 0."""
    rows = json.loads(put(tmp_path).read_text())
    assert [rows[0][key] for key in ("x", "y", "z", "yaw")] == [5.5, 64.0, 7.5, 0.0]
    episode = loopnav.load(loopnav.discover(tmp_path)[0])
    np.testing.assert_allclose(episode.poses[0][:3, 3], (5.5, -7.5, 65.6))
    np.testing.assert_allclose(episode.poses[0][:3, 2], (0, 1, 0), atol=1e-12)
    assert episode.camera.fy == pytest.approx(12 / 2 / math.tan(math.radians(37.5)))


def test_actions_line_up_with_what_they_cause(tmp_path):
    put(tmp_path)
    episode = loopnav.load(loopnav.discover(tmp_path)[0])
    yaw, _ = yaw_pitch_from_pose(episode.poses)
    step = np.linalg.norm(np.diff(episode.poses[:, :2, 3], axis=0), axis=1)
    np.testing.assert_allclose(np.diff(np.unwrap(yaw)), episode.actions.column("camera_yaw"), atol=2e-3)
    np.testing.assert_array_equal(step > 0.1, episode.actions.column("forward") == 1)
    assert len(episode) == len(episode.actions) + 1
    assert episode.facts["return_index"] == episode.facts["exact_return_index"] == episode.facts["goal_changes"][2] - 1


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "..\\x", "/etc", "a b", ".hidden", "ä", "x\n", "a" * 200])
def test_names_never_become_paths(tmp_path, name):
    walk = straight_loop()
    good = {"location": "place", "type": "ABA", "radius": 5, "stamp": "01"}
    for field in ("location", "stamp", "type"):
        with pytest.raises(DataError, match="name"):
            write_trajectory(tmp_path / "in", **{**good, field: name}, walk=walk, frames=frames_of(len(walk)), seed=0)
    with pytest.raises(DataError, match="name"):
        write_manifest(tmp_path / "in", {name: WorldFacts("voxel", {})}, {})
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_location_in_extra_info_is_compared_not_followed(tmp_path):
    path = put(tmp_path)
    for location in ("../../../etc", "..", "desert_village_1"):
        edit(path, lambda rows, name=location: [row["extra_info"].update(location=name) for row in rows] and None)
        (found,) = loopnav.discover(tmp_path)
        assert (found.location, found.id) == ("plains_village_20", "ABA/plains_village_20/5/01-01_00-00-00")
        assert (found.flags, found.invalid) == (("extra_info_differs",), None)


def test_writing_leaves_all_or_nothing(tmp_path):
    walk = straight_loop()
    arguments = {"location": "place", "type": "ABA", "radius": 5, "stamp": "01", "walk": walk, "seed": 0}
    with pytest.raises(DataError, match="frames for a walk of"):
        write_trajectory(tmp_path, **arguments, frames=frames_of(len(walk) - 1))

    def broken():
        yield frames_of(3)
        raise RuntimeError("the renderer died")

    with pytest.raises(RuntimeError, match="died"):
        write_trajectory(tmp_path, **arguments, frames=broken())
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    whole = write_trajectory(tmp_path, **arguments, frames=iter(frames_of(len(walk))))
    first = whole.read_bytes(), whole.with_suffix(".avi").read_bytes()
    write_trajectory(tmp_path, **arguments, frames=frames_of(len(walk)))
    assert (whole.read_bytes(), whole.with_suffix(".avi").read_bytes()) == first, "same walk, same bytes"
    with pytest.raises(RuntimeError):
        write_trajectory(tmp_path, **arguments, frames=broken())
    assert not whole.exists(), "an interrupted rewrite must not leave old records beside a new video"


def test_the_manifest_names_the_worlds(tmp_path):
    assert (worlds_of(tmp_path), loopnav.default_selection(tmp_path)) == ({}, "paper")
    first = {"plains_village_1": WorldFacts("voxel", {"kind": "plains", "seed": 3}, "abc")}
    second = {"desert_village_1": WorldFacts("voxel", {"kind": "desert", "seed": 4})}
    write_manifest(tmp_path, first, {"seed": 42})
    path = write_manifest(tmp_path, second, {"seed": 42})
    assert (worlds_of(tmp_path), loopnav.default_selection(tmp_path)) == (first | second, "all")
    manifest = json.loads(path.read_text())
    assert set(manifest) == {"format", "version", "settings", "locations", "camera"}
    assert manifest["locations"]["plains_village_1"]["digest"] == "abc"
    with pytest.raises(DataError, match="another world"):
        write_manifest(tmp_path, {"plains_village_1": WorldFacts("voxel", {"kind": "snowy"})}, {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "expected an object"),
        ({"version": ...}, "field 'version' is missing"),
        ({"version": "1"}, "field 'version' must be a whole number"),
        ({"version": 99}, "version 99 is newer"),
        ({"settings": ...}, "field 'settings' is missing"),
        ({"settings": []}, "field 'settings' must be an object"),
        ({"locations": ...}, "field 'locations' is missing"),
        ({"locations": ["x"]}, "field 'locations' must be an object"),
        ({"locations": {"x": 5}}, "locations: field 'x' must be an object"),
        ({"locations": {"x": {"world": "v"}}}, "location 'x': field 'params' is missing"),
        ({"locations": {"x": {"params": {}}}}, "location 'x': field 'world' is missing"),
        ({"locations": {"x": {"world": 5, "params": {}}}}, "location 'x': field 'world' must be text"),
        ({"locations": {"x": {"world": "v", "params": []}}}, "location 'x': field 'params' must be an object"),
        ({"locations": {"x": {"world": "v", "params": {}, "digest": 5}}}, "field 'digest' must be text"),
        ({"locations": {"../x": {"world": "v", "params": {}}}}, "needs letters"),
    ],
)
def test_a_spoilt_manifest_names_the_field(tmp_path, change, said):
    path = write_manifest(tmp_path, {"x": WorldFacts("voxel", {})}, {})
    if isinstance(change, bytes):
        path.write_bytes(change)
    else:
        merged = {**json.loads(path.read_text()), **change}
        path.write_text(json.dumps({name: value for name, value in merged.items() if value is not ...}))
    with pytest.raises(DataError, match=r"worldgauge\.json: ") as caught:
        worlds_of(tmp_path)
    assert said in str(caught.value)


def test_a_recording_in_another_world_is_another_task(tmp_path):
    put(tmp_path)
    (trajectory,) = loopnav.discover(tmp_path)
    facts = WorldFacts("voxel", {"kind": "plains", "size": (1, 2, 3)}, "abc")
    others = [
        None,
        facts,
        replace(facts, digest="abd"),
        replace(facts, digest=None),
        replace(facts, params={**facts.params, "kind": "snowy"}),
        replace(facts, name="other"),
    ]
    seen = {loopnav.fingerprint_of(trajectory, world) for world in others}
    assert len(seen) == len(others)
    stored = replace(facts, params=json.loads(json.dumps({"size": [1, 2, 3], "kind": "plains"})))
    assert loopnav.fingerprint_of(trajectory, stored) == loopnav.fingerprint_of(trajectory, facts)
    other = replace(trajectory, fingerprint="0" * 64)
    assert loopnav.fingerprint_of(other, facts) not in seen


@pytest.mark.parametrize("refused", ["mkdir", "replace", "fsync"])
def test_a_full_disk_is_one_clear_line_and_keeps_its_number(tmp_path, monkeypatch, refused):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, refused, full)
    for write in (lambda: put(tmp_path / "data"), lambda: write_manifest(tmp_path / "data", {}, {})):
        with pytest.raises(DataError, match=r"data.*: cannot be written \(No space left on device\)") as caught:
            write()
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.__cause__.errno == errno.ENOSPC
    monkeypatch.undo()
    assert [path for path in tmp_path.rglob("*") if path.suffix in (".json", ".part")] == []
