"""Collecting data sets: layout, determinism over workers, and kill -9 at any moment."""

import errno
import json
import shutil

import numpy as np
import pytest

from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.video import Clip
from worldgauge.engine.collect import collect, count, make_item, world_seed_of
from worldgauge.engine.workers.pool import Pool, Result
from worldgauge.suites.loopnav import collection as loopnav
from worldgauge.suites.loopnav.collection import stamp_of
from worldgauge.suites.loopnav.scenes import coverage_of
from worldgauge.suites.loopnav.suite import LoopNav
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.walking.walk import Walk

SMALL = {"settlements": 2, "ranges": (5,), "types": ("ABA", "ABCA"), "per_combination": 1, "size": (48, 27)}
SCRIPT = """
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    collect("loopnav", Path(sys.argv[1]), settlements=2, ranges=(5,), per_combination=1, size=(48, 27), workers=2)
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    root = tmp_path_factory.mktemp("collected")
    return root, collect("loopnav", root, **SMALL)


def test_one_video_and_one_record_file_a_loop_in_the_published_layout(collected):
    root, result = collected
    assert result.items == 4
    assert result.failures == ()
    names = set(contents(root))
    for settlement, location in enumerate(("plains_village_1", "desert_village_1")):
        for type in ("ABA", "ABCA"):
            stem = f"{type}/{location}/5/{stamp_of(settlement, type, 5, 0)}"
            assert {f"{stem}.avi", f"{stem}.json"} <= names
            records = json.loads((root / f"{stem}.json").read_text())
            clip = Clip.open(root / f"{stem}.avi")
            assert len(clip) == len(records)
            assert (clip.width, clip.height, clip.fps) == (48, 27, 20)
            assert records[0]["extra_info"]["nvtype"] == type
            assert {record["action"]["right"] for record in records} == {False}
    assert len(names) == 9


def test_loops_without_a_look_around_are_a_set_of_their_own(collected, tmp_path):
    root, _ = collected
    with pytest.raises(RunError, match="no_look_around False, not True"):
        collect("loopnav", root, **SMALL, no_look_around=True)
    few = {**SMALL, "settlements": 1, "types": ("ABA",)}
    collect("loopnav", tmp_path, **few, no_look_around=True)
    manifest = json.loads((tmp_path / "worldgauge.json").read_text())
    assert manifest["settings"]["no_look_around"] is True
    (task,) = LoopNav().tasks(tmp_path)
    episode, start = episode_of(task)
    shares = coverage_of(task, tuple(range(start, len(episode), 5)))
    assert min(shares) < 0.5, "there is something to invent"
    shutil.copytree(root, tmp_path / "copy")  # reading a set leaves an index in it
    (before, *_) = [one for one in LoopNav().tasks(tmp_path / "copy") if one.id == task.id]
    assert min(coverage_of(before, tuple(range(episode_of(before)[1], len(episode_of(before)[0]), 5)))) >= 0.5


def test_the_manifest_says_which_worlds_the_places_are(collected):
    root, result = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert manifest["settings"]["ranges"] == [5]
    assert manifest["settings"]["discarded"] == dict(result.discarded)
    place = manifest["locations"]["desert_village_1"]
    assert place["params"]["kind"] == "desert"
    assert place["params"]["seed"] == world_seed_of(42, 1)
    assert len(place["digest"]) == 64


def test_frames_are_what_the_camera_sees_at_the_recorded_poses(collected):
    """Rendering again from nothing but the JSON gives the pixels of the video, up to its compression."""
    from worldgauge.suites.loopnav.format import worlds_of

    root, _ = collected
    stem = root / "ABA/plains_village_1/5" / stamp_of(0, "ABA", 5, 0)
    world = open_world(worlds_of(root)["plains_village_1"])
    records = json.loads(stem.with_suffix(".json").read_text())
    clip = Clip.open(stem.with_suffix(".avi"))
    camera = Camera.from_vertical_fov(48, 27, 75)
    for t in (0, 40, len(records) - 1):
        row = records[t]
        pose = pose_from_yaw_pitch([row["x"], -row["z"], row["y"] + 1.6], row["yaw"] + np.pi / 2, row["pitch"])
        again = world.view(pose, camera).rgb
        assert np.abs(again.astype(int) - clip[t]).mean() < 12
        other = world.view(pose_from_yaw_pitch(pose[:3, 3], row["yaw"] - 1.0), camera).rgb
        assert np.abs(other.astype(int) - clip[t]).mean() > np.abs(again.astype(int) - clip[t]).mean() + 5


def test_any_number_of_workers_gives_the_same_files(collected, tmp_path):
    root, result = collected
    seen = []
    parallel = collect("loopnav", tmp_path, **SMALL, workers=2, progress=seen.append)
    assert contents(tmp_path) == contents(root)
    assert (parallel.frames, parallel.discarded) == (result.frames, result.discarded)
    assert [p.done for p in seen] == [1, 2, 3, 4]
    assert seen[-1].frames == result.frames


def test_a_second_call_renders_nothing_and_changes_nothing(collected, monkeypatch):
    root, result = collected
    before = contents(root)
    monkeypatch.setattr(Voxel, "view", lambda *a, **k: pytest.fail("rendered again"))
    assert collect("loopnav", root, **SMALL) == result
    assert contents(root) == before


def test_a_missing_file_is_made_again_and_leftovers_of_it_go(collected, monkeypatch):
    root, _ = collected
    before = contents(root)
    stem = root / "ABA/desert_village_1/5" / stamp_of(1, "ABA", 5, 0)
    stem.with_suffix(".json").unlink()
    stem.with_suffix(".avi").write_bytes(b"torn")
    stem.with_name(f".{stem.name}.json.123.part").write_bytes(b"torn")
    collect("loopnav", root, **SMALL)
    assert contents(root) == before


@pytest.mark.parametrize("sight", [".*.avi.part", pytest.param("*.json", marks=pytest.mark.slow)])
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(collected, tmp_path, sight):
    """Kill -9 as soon as a video is begun, or as soon as a trajectory is done and the next ones are not."""
    root, _ = collected
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, f"**/{sight}")
    assert len(contents(out)) < len(contents(root))
    collect("loopnav", out, **SMALL)
    assert contents(out) == contents(root)


def test_more_can_be_collected_into_the_same_folder(collected, tmp_path, monkeypatch):
    monkeypatch.setattr(loopnav, "record_loop", _one_frame)
    small = {**SMALL, "settlements": 1, "types": ("ABA",)}
    collect("loopnav", tmp_path, **small)
    before = contents(tmp_path)
    collect("loopnav", tmp_path, **{**small, "per_combination": 3, "ranges": (15, 5)})
    after = contents(tmp_path)
    assert len(after) == 2 * 6 + 1
    assert {name: after[name] for name in before if name != "worldgauge.json"}.items() <= before.items()


def test_another_seed_size_or_rule_is_refused_in_the_same_folder(collected):
    root, _ = collected
    for change in ({"seed": 1}, {"size": (64, 36)}, {"sampling": "continuous"}):
        with pytest.raises(RunError, match=next(iter(change))):
            collect("loopnav", root, **{**SMALL, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"settlements": 0},
        {"ranges": ()},
        {"ranges": (5, 5)},
        {"ranges": (0,)},
        {"types": ("ABBA",)},
        {"per_combination": 0},
        {"seed": -1},
        {"size": (0, 9)},
        {"sampling": "x"},
        {"workers": 0},
    ],
)
def test_options_out_of_range_are_refused(tmp_path, change):
    with pytest.raises(UsageError, match=next(iter(change))):
        collect("loopnav", tmp_path, **{**SMALL, **change})
    assert not list(tmp_path.iterdir())


def test_a_loop_that_fails_is_reported_and_the_others_go_on(tmp_path, monkeypatch):
    calls = []

    def sometimes(site, **options):
        calls.append(options["kind"])
        if options["kind"] == "ABA":
            raise loopnav.LoopFailedError("no ABA loop here", ["stuck"] * 7)
        return _one_frame(site, **options)

    monkeypatch.setattr(loopnav, "record_loop", sometimes)
    result = collect("loopnav", tmp_path, **SMALL)
    assert result.items == 2
    assert len(result.failures) == 2
    assert "no ABA loop here" in result.failures[0]
    assert result.discarded == {"stuck": 14}
    assert json.loads((tmp_path / "worldgauge.json").read_text())["settings"]["discarded"] == {"stuck": 14}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_collection(tmp_path, monkeypatch, workers):
    calls = []

    def full(*args, **facts):
        calls.append(facts)
        raise DataError("cannot be written") from OSError(errno.ENOSPC, "No space left on device")

    def here(self, jobs, watch=None):
        for job in jobs:
            yield Result(job.id, make_item(**job.args, progress=lambda done, total: None))

    monkeypatch.setattr(loopnav, "record_loop", _one_frame)
    monkeypatch.setattr(loopnav, "write_trajectory", full)
    monkeypatch.setattr(Pool, "run", here)
    with pytest.raises(RunError, match="cannot be written; make room, then start the same command again"):
        collect("loopnav", tmp_path, **SMALL, workers=workers)
    assert len(calls) == 1


def test_a_manifest_without_settings_is_one_clear_line(collected, tmp_path):
    root, _ = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    del manifest["settings"]
    (tmp_path / "worldgauge.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="field 'settings' is missing"):
        collect("loopnav", tmp_path, **SMALL)


def test_counting_looks_for_both_files_of_the_planned_loops_only(collected, tmp_path):
    root, _ = collected
    copy = shutil.copytree(root, tmp_path / "copy")
    settings = {**SMALL, "seed": 42, "sampling": "released"}
    assert count("loopnav", copy, **settings) == (4, 4)
    assert count("loopnav", copy, **{**settings, "settlements": 1}) == (2, 2)
    (copy / "ABA/plains_village_1/5" / f"{stamp_of(0, 'ABA', 5, 0)}.avi").unlink()
    assert count("loopnav", copy, **settings) == (4, 3)
    for change in ({"types": ["XYZ", "../../etc"]}, {"types": ["/abs"]}, {"size": (64, 36)}):
        with pytest.raises((UsageError, RunError)):
            count("loopnav", copy, **{**settings, **change})


def test_stamps_are_unique_sort_in_order_and_do_not_depend_on_the_extent():
    stamps = [stamp_of(s, t, r, i) for s in (0, 1, 149) for t in ("ABA", "ABCA") for r in (1, 5, 99) for i in (0, 999)]
    assert stamps == sorted(set(stamps))
    assert len({world_seed_of(42, s) for s in range(120)}) == 120


def _one_frame(site, *, kind, radius, rng, rule, look_around, laps):
    """A walk that stands still: what is tested is the driver."""
    still = np.zeros(1)
    keys = np.zeros(1, bool)
    feet = np.array([site.begin()], float)
    return Walk(feet, still + np.pi / 2, still, np.zeros((1, 2)), keys, keys, (None,), kind, radius, site.seed)
