"""Collecting MIND data: published layout, the same bytes for any number of workers, resumable from any lost file."""

import errno
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.core.errors import DataError, RunError, UnknownNameError, UsageError
from worldgauge.engine.collect import Collected, collect, count
from worldgauge.suites.mind import collection
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.actions import MIRROR_PATHS
from worldgauge.worlds import open_world
from worldgauge.worlds.third_person import figure_mask
from worldgauge.worlds.voxel import Voxel

FRAMES = 36
SMALL = {
    "families": ("urban",),
    "train": 1,
    "mem": 1,
    "action_space": 2,
    "mirror": 1,
    "frames": FRAMES,
    "size": (96, 54),
}
RECORDED = [
    ("1st", "train", "data-75"),
    ("1st", "mem_test", "data-25"),
    ("1st", "action_space_test", "data-0-0.4x-100"),
    ("1st", "action_space_test", "data-0-0.7x-150"),
    ("3rd", "train", "data-200"),
    ("3rd", "mem_test", "data-150"),
    ("3rd", "action_space_test", "data-125-0.4x-100"),
    ("3rd", "action_space_test", "data-125-0.7x-150"),
]
SCRIPT = f"""
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    collect("mind", Path(sys.argv[1]), **{SMALL!r}, workers=2)
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    root = tmp_path_factory.mktemp("collected")
    return root, collect("mind", root, **SMALL)


def test_the_layout_is_the_published_one(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    assert (result.items, result.frames, result.failures) == (10, 8 * FRAMES + 2, ())
    expected = {"worldgauge.json"}
    for perspective, part, name in RECORDED:
        folder = f"{perspective}_data/{'' if part == 'train' else 'test/'}{part}/{name}"
        files = ["action.json", "video.mp4", "world.json", *([] if part == "train" else ["images.txt"])]
        expected |= {f"{folder}/{file}" for file in files} | {f"description/{name}.txt"}
    for perspective, name in (("1st", "data-0"), ("3rd", "data-125")):
        files = [f"{name}.png", f"{name}.world.json", *(f"-{path}.json" for path in MIRROR_PATHS)]
        expected |= {f"{perspective}_data/test/mirror_test/{file}" for file in files}
    assert set(contents(root)) == expected


def test_every_clip_loads_and_says_where_it_is(collected: tuple[Path, Collected]) -> None:
    root, _ = collected
    clips = mind.discover(root)
    assert [(c.id, c.fault, c.warnings) for c in clips if c.fault or c.warnings] == []
    recorded = [clip for clip in clips if clip.part != "mirror_test"]
    assert sorted((c.perspective, c.part, c.name) for c in recorded) == sorted(RECORDED)
    assert len(clips) == len(recorded) + 20
    for clip in clips:
        assert (clip.family, clip.space_known) == ("urban", True)
        assert clip.camera is not None
        assert math.degrees(2 * math.atan(clip.camera.width / 2 / clip.camera.fx)) == pytest.approx(90)
    for clip in recorded:
        assert (clip.frames, clip.mark_time) == (FRAMES, FRAMES // 3)
        assert mind.steps_of(clip.space) == ((1.0, 200.0) if "x-" not in clip.name else steps_in(clip.name))
    assert mind.check(root, decode=True).findings == ()


def steps_in(name: str) -> tuple[float, float]:
    turn, _, step = name.split("-", 2)[2].partition("x-")
    return float(turn), float(step)


@pytest.mark.parametrize("perspective", ["1st", "3rd"])
def test_frames_are_what_the_world_shows_from_the_stored_poses(
    collected: tuple[Path, Collected], perspective: mind.Perspective
) -> None:
    root, _ = collected
    for clip in mind.discover(root, parts=("mem_test", "train"), perspectives=(perspective,)):
        episode = mind.load(clip)
        assert episode.world is not None
        world = open_world(episode.world)
        losses = []
        for t in (0, FRAMES // 3, FRAMES - 1):
            view = world.view(episode.poses[t], episode.camera)
            losses.append(np.square(view.rgb.astype(float) - episode.clip[t]).mean())
            assert figure_mask(view).any() == (perspective == "3rd")
        assert 10 * np.log10(255**2 / np.mean(losses)) >= 36
        assert world.facts.params["kind"] == "urban"


def test_the_list_of_images_holds_the_true_poses(collected: tuple[Path, Collected]) -> None:
    root, _ = collected
    (clip,) = mind.discover(root, parts=("mem_test",), perspectives=("3rd",))
    listed = mind.read_images_txt(clip.folder / "images.txt")
    assert len(listed.names) == FRAMES - clip.mark_time  # 97 where a clip is as long as that
    np.testing.assert_allclose(listed.poses, mind.load(clip).poses[clip.mark_time :], atol=1e-9)


def test_start_images_are_exact_and_their_paths_lead_through_no_wall(collected: tuple[Path, Collected]) -> None:
    root, _ = collected
    for perspective in mind.PERSPECTIVES:
        clips = mind.discover(root, parts=("mirror_test",), perspectives=(perspective,))
        assert [clip.path for clip in clips] == list(MIRROR_PATHS)
        episode = mind.load(clips[0])
        assert episode.world is not None
        np.testing.assert_array_equal(
            episode.clip[0], open_world(episode.world).view(episode.poses[0], episode.camera).rgb
        )


def test_training_and_tests_share_no_world_but_perspectives_do(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert manifest["format"] == "mind"
    assert manifest["settings"]["discarded"] == dict(result.discarded)
    worlds = manifest["worlds"]
    assert set(worlds) == {f"{p}-{split}-urban-0" for p in ("1st", "3rd") for split in ("train", "test")}
    digests = {name: worlds[name]["digest"] for name in worlds}
    assert digests["1st-train-urban-0"] != digests["1st-test-urban-0"]
    assert digests["1st-test-urban-0"] == digests["3rd-test-urban-0"]
    assert [worlds[f"{p}-test-urban-0"]["world"] for p in ("1st", "3rd")] == ["voxel", "third-person"]


def test_captions_name_the_place_and_the_keys(collected: tuple[Path, Collected]) -> None:
    root, _ = collected
    first, third = ((root / "description" / f"data-{n}.txt").read_text() for n in (25, 150))
    assert first.startswith("A walk of 1.5 s and ")
    assert "the streets of a city, seen from the walker's own eyes. The walker " in first
    assert "over the shoulder" in third


def test_any_number_of_workers_gives_the_same_files(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    root, result = collected
    seen = []
    parallel = collect("mind", tmp_path, **SMALL, workers=2, progress=seen.append)
    assert contents(tmp_path) == contents(root)
    assert (parallel.frames, parallel.discarded) == (result.frames, result.discarded)
    assert [(step.done, step.total) for step in seen] == [(n, 10) for n in range(1, 11)]


def test_a_second_call_renders_nothing_and_changes_nothing(
    collected: tuple[Path, Collected], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, result = collected
    before = contents(root)
    monkeypatch.setattr(Voxel, "__init__", lambda *a, **k: pytest.fail("a world was built"))
    assert collect("mind", root, **SMALL) == result
    assert contents(root) == before


@pytest.mark.parametrize(
    "lost",
    [
        "1st_data/test/mem_test/data-25/video.mp4",
        "1st_data/test/mem_test/data-25/images.txt",
        "3rd_data/train/data-200",
        "3rd_data/test/mirror_test/data-125.png",
        "1st_data/test/mirror_test/data-0.world.json",
        "1st_data/test/mirror_test/-wl.json",
        "description/data-150.txt",
        "worldgauge.json",
    ],
)
def test_whatever_is_lost_is_made_again_with_the_same_bytes(
    collected: tuple[Path, Collected], tmp_path: Path, lost: str
) -> None:
    root, result = collected
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    gone = copy / lost
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    again = collect("mind", copy, **SMALL)
    assert (again.frames, again.discarded) == (result.frames, result.discarded)
    assert contents(copy) == contents(root)


@pytest.mark.slow
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(
    collected: tuple[Path, Collected], tmp_path: Path
) -> None:
    """Kill -9 as soon as one clip is done."""
    root, _ = collected
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, "*_data/train/data-*")
    assert len(contents(out)) < len(contents(root))
    collect("mind", out, **SMALL)
    assert contents(out) == contents(root)


def test_more_can_be_collected_into_the_same_folder(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    root, _ = collected
    few = {**SMALL, "train": 0, "action_space": 0, "perspectives": ("3rd",)}
    assert collect("mind", tmp_path, **few).items == 2
    assert set(contents(tmp_path)) < set(contents(root))
    collect("mind", tmp_path, **SMALL)
    assert contents(tmp_path) == contents(root)


def test_another_seed_size_length_or_family_is_refused_in_the_same_folder(collected: tuple[Path, Collected]) -> None:
    root, _ = collected
    for change in ({"seed": 1}, {"size": (32, 18)}, {"frames": 40}, {"families": ("interior",)}):
        with pytest.raises(RunError, match=next(iter(change))):
            collect("mind", root, **{**SMALL, **change})


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"families": ()}, "'families' must be different ones of"),
        ({"families": ("urban", "urban")}, "'families' must be different ones of"),
        ({"families": ("urbn",)}, r"'families' must be different ones of .*urban.*, got \['urbn'\]"),
        ({"perspectives": ("2nd",)}, "'perspectives' must be different ones of 1st, 3rd, got"),
        ({"perspectives": ()}, "'perspectives' must be"),
        ({"train": -1}, "'train' must be a whole number from 0 to 10000, got -1"),
        ({"mirror": 10**6}, "'mirror' must be .*, got 1000000"),
        ({"train": 0, "mem": 0, "action_space": 0, "mirror": 0}, "at least one of them"),
        ({"frames": 3}, "'frames' must be a whole number from 6 to 20000, got 3"),
        ({"seed": -1}, "'seed' must be"),
        ({"size": (0, 9)}, "'size' must be width and height in pixels"),
        ({"size": (10**6, 9)}, "'size' must be width and height in pixels"),
        ({"clips": 3}, "no mind option 'clips'"),
    ],
)
def test_options_that_are_not_allowed_are_refused(tmp_path: Path, change: dict[str, object], error: str) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=error):
        collect("mind", tmp_path, **{**SMALL, **change})  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_walk_that_fails_is_reported_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(world, rng, *, perspective, **options):
        raise collection.KeyWalkFailedError("no walk here", ["hardly walks"] * 3)

    monkeypatch.setattr(collection, "record_key_walk", nowhere)
    result = collect("mind", tmp_path, **{**SMALL, "train": 0, "action_space": 0, "perspectives": ("1st",)})
    assert (result.items, result.frames) == (1, 1)
    assert result.failures == ("1st_data/mem_test/data-25: no walk here",)
    assert result.discarded == {"hardly walks": 3}
    assert {clip.part for clip in mind.discover(tmp_path)} == {"mirror_test"}


def test_a_full_disk_ends_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args, **facts):
        raise DataError("cannot be written") from OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(collection, "write_clip", full)
    with pytest.raises(RunError, match="make room, then start the same command again"):
        collect("mind", tmp_path, **SMALL)


def test_a_folder_with_other_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "worldgauge.json").write_text(json.dumps({"format": "target", "settings": {}, "worlds": {}}))
    with pytest.raises(RunError, match="holds other data"):
        collect("mind", tmp_path, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["worldgauge.json"]


def test_counting_says_what_is_there(collected: tuple[Path, Collected], monkeypatch: pytest.MonkeyPatch) -> None:
    root, _ = collected
    monkeypatch.setattr(Voxel, "__init__", lambda *a, **k: pytest.fail("a world was built"))
    assert count("mind", root, **SMALL) == (10, 10)
    assert count("mind", root, **{**SMALL, "mem": 4, "mirror": 0}) == (14, 8)
