"""Collecting MIND data: published layout, the same bytes for any number of workers, resumable from any lost file."""

import json
import math
import shutil
from collections import Counter

import numpy as np
import pytest

from support.collecting import CollectionTests
from support.folders import contents
from support.places import TESTS
from worldgauge.core.model import ModelSpec
from worldgauge.engine.collect import collect, count
from worldgauge.perception.colmap import read_images_txt
from worldgauge.suites.mind import collection
from worldgauge.suites.mind.actions import MIRROR_PATHS, steps_of
from worldgauge.suites.mind.collection import SPACES, planned_clips
from worldgauge.suites.mind.format.check import check
from worldgauge.suites.mind.format.files import PERSPECTIVES, space_hint
from worldgauge.suites.mind.format.read import discover, load
from worldgauge.suites.mind.protocol import question_of, request_of
from worldgauge.suites.mind.settings import MindSettings
from worldgauge.worlds import open_world
from worldgauge.worlds.captions import caption_at
from worldgauge.worlds.third_person import figure_mask
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.world import FAMILIES

FRAMES = 36
SMALL = {
    **{"families": ("urban",), "train": 1, "mem": 1, "action_space": 2, "mirror": 1},
    **{"frames": FRAMES, "size": (96, 54)},
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


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    root = tmp_path_factory.mktemp("collected")
    return root, collect("mind", root, **SMALL)


def test_the_layout_is_the_published_one(collected):
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


def test_every_clip_loads_and_says_where_it_is(collected):
    root, _ = collected
    clips = discover(root)
    assert [(c.id, c.fault, c.warnings) for c in clips if c.fault or c.warnings] == []
    recorded = [clip for clip in clips if clip.part != "mirror_test"]
    assert sorted((c.perspective, c.part, c.name) for c in recorded) == sorted(RECORDED)
    assert len(clips) == len(recorded) + 20
    for clip in clips:
        assert (clip.family, clip.space_known) == ("urban", True)
        assert math.degrees(2 * math.atan(clip.camera.width / 2 / clip.camera.fx)) == pytest.approx(90)
    for clip in recorded:
        assert (clip.frames, clip.mark_time) == (FRAMES, FRAMES // 3)
        assert steps_of(clip.space) == ((1.0, 200.0) if "x-" not in clip.name else steps_in(clip.name))
    assert check(root, decode=True).findings == ()


def steps_in(name):
    turn, _, step = name.split("-", 2)[2].partition("x-")
    return float(turn), float(step)


@pytest.mark.parametrize("perspective", ["1st", "3rd"])
def test_frames_are_what_the_world_shows_from_the_stored_poses(collected, perspective):
    root, _ = collected
    for clip in discover(root, parts=("mem_test", "train"), perspectives=(perspective,)):
        episode = load(clip)
        world = open_world(episode.world)
        losses = []
        for t in (0, FRAMES // 3, FRAMES - 1):
            view = world.view(episode.poses[t], episode.camera)
            losses.append(np.square(view.rgb.astype(float) - episode.clip[t]).mean())
            assert figure_mask(view).any() == (perspective == "3rd")
        assert 10 * np.log10(255**2 / np.mean(losses)) >= 36
        assert world.facts.params["kind"] == "urban"


def test_the_list_of_images_holds_the_true_poses(collected):
    root, _ = collected
    (clip,) = discover(root, parts=("mem_test",), perspectives=("3rd",))
    listed = read_images_txt(clip.folder / "images.txt")
    assert len(listed.names) == FRAMES - clip.mark_time  # 97 where a clip is as long as that
    np.testing.assert_allclose(listed.poses, load(clip).poses[clip.mark_time :], atol=1e-9)


def test_start_images_are_exact_and_their_paths_lead_through_no_wall(collected):
    root, _ = collected
    for perspective in PERSPECTIVES:
        clips = discover(root, parts=("mirror_test",), perspectives=(perspective,))
        assert [clip.path for clip in clips] == list(MIRROR_PATHS)
        episode = load(clips[0])
        assert episode.world is not None
        np.testing.assert_array_equal(
            episode.clip[0], open_world(episode.world).view(episode.poses[0], episode.camera).rgb
        )


def test_training_and_tests_share_no_world_but_perspectives_do(collected):
    root, result = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert (manifest["format"], manifest["settings"]["discarded"]) == ("mind", dict(result.discarded))
    worlds = manifest["worlds"]
    assert set(worlds) == {f"{p}-{split}-urban-0" for p in ("1st", "3rd") for split in ("train", "test")}
    digests = {name: worlds[name]["digest"] for name in worlds}
    assert digests["1st-train-urban-0"] != digests["1st-test-urban-0"]
    assert digests["1st-test-urban-0"] == digests["3rd-test-urban-0"]
    assert [worlds[f"{p}-test-urban-0"]["world"] for p in ("1st", "3rd")] == ["voxel", "third-person"]


def test_captions_describe_their_frames(collected):
    root, _ = collected
    first, third = ((root / "description" / f"data-{n}.txt").read_text() for n in (25, 150))
    assert first.startswith("A blocky city ")
    assert first.endswith(", seen at eye height.\n")
    assert third.endswith(", seen from behind a person with an orange backpack.\n")
    for clip in discover(root):
        episode = load(clip)
        world = open_world(episode.world)
        for frame in range(0, len(episode), 7):
            assert episode.caption_at(frame) == caption_at(world, episode.poses[frame], episode.camera)
    starts = [clip for clip in discover(root) if clip.part == "mirror_test"]
    assert all(load(clip).caption_at(0) for clip in starts)


def test_a_model_gets_the_caption_of_the_first_frame_that_it_sees(collected):
    root, _ = collected
    clip = next(one for one in discover(root) if one.part == "mem_test")
    question, episode = question_of(clip, MindSettings()), load(clip)
    captions = [caption_at(open_world(episode.world), pose, episode.camera) for pose in episode.poses]
    for shown in (1, 5, clip.mark_time):
        request = request_of(question, ModelSpec("m", max_context=shown), MindSettings())
        assert len(request.context) == shown
        assert request.caption == captions[clip.mark_time - shown]
    at_half = request_of(question, ModelSpec("m", fps=12.0, max_context=3), MindSettings())
    assert at_half.caption == captions[clip.mark_time - 5]


def test_captions_of_older_data_stay_as_they_are():
    root = TESTS / "fuzz" / "sound" / "mind"
    (clip,) = (one for one in discover(root) if one.part == "mem_test")
    request = request_of(question_of(clip, MindSettings()), ModelSpec("m", max_context=1), MindSettings())
    assert request.caption == (root / "description" / "data-25.txt").read_text().strip()
    start = next(one for one in discover(root) if one.path == "a")
    request = request_of(question_of(start, MindSettings()), ModelSpec("m"), MindSettings())
    assert request.caption == "A blocky city, seen at eye height."


def test_captions_that_are_no_sentences_are_a_fault(collected, tmp_path):
    root, _ = collected
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    for wrong in (7, ["A street."], [[0, None]], [[-1, "A street."]]):
        path = copy / "1st_data/test/mem_test/data-25/world.json"
        content = json.loads(path.read_text())
        content["facts"]["captions"] = wrong
        path.write_text(json.dumps(content))
        (fault,) = {clip.fault for clip in discover(copy) if clip.fault}
        assert "captions" in fault
        assert "\n" not in fault


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
def test_whatever_is_lost_is_made_again_with_the_same_bytes(collected, tmp_path, lost):
    root, result = collected
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    gone = copy / lost
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    again = collect("mind", copy, **SMALL)
    assert (again.frames, again.discarded) == (result.frames, result.discarded)
    assert contents(copy) == contents(root)


class TestCollection(CollectionTests):
    name, small = "mind", SMALL
    renders, writes = (Voxel, "__init__"), (collection, "write_clip")
    other = ({"seed": 1}, {"size": (32, 18)}, {"frames": 40}, {"families": ("interior",)})
    bad = (
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
    )

    @pytest.mark.slow
    def test_killed_as_soon_as_one_clip_is_done(self, collected, tmp_path):
        self.killed_and_called_again(collected, tmp_path / "out", "*_data/train/data-*")


def test_more_can_be_collected_into_the_same_folder(collected, tmp_path):
    root, _ = collected
    few = {**SMALL, "train": 0, "action_space": 0, "perspectives": ("3rd",)}
    assert collect("mind", tmp_path, **few).items == 2
    assert set(contents(tmp_path)) < set(contents(root))
    collect("mind", tmp_path, **SMALL)
    assert contents(tmp_path) == contents(root)


def test_a_walk_that_fails_is_reported_and_the_others_go_on(tmp_path, monkeypatch):
    def nowhere(world, rng, *, perspective, **options):
        raise collection.KeyWalkFailedError("no walk here", ["hardly walks"] * 3)

    monkeypatch.setattr(collection, "record_key_walk", nowhere)
    result = collect("mind", tmp_path, **{**SMALL, "train": 0, "action_space": 0, "perspectives": ("1st",)})
    assert (result.items, result.frames) == (1, 1)
    assert result.failures == ("1st_data/mem_test/data-25: no walk here",)
    assert result.discarded == {"hardly walks": 3}
    assert {clip.part for clip in discover(tmp_path)} == {"mirror_test"}


def test_counting_says_what_is_there(collected, monkeypatch):
    root, _ = collected
    monkeypatch.setattr(Voxel, "__init__", lambda *a, **k: pytest.fail("a world was built"))
    assert count("mind", root, **SMALL) == (10, 10)
    assert count("mind", root, **{**SMALL, "mem": 4, "mirror": 0}) == (14, 8)


PUBLISHED = {
    **{"families": FAMILIES, "perspectives": ("1st", "3rd"), "seed": 42, "split": "test"},
    **{"train": 50, "mem": 50, "action_space": 25, "mirror": 50},
}


@pytest.fixture(scope="module")
def plan():
    return list(planned_clips(PUBLISHED))


def numbers(plan, part, perspective):
    names = [clip.name for clip in plan if (clip.part, clip.perspective) == (part, perspective)]
    return [int(name.split("-")[1]) for name in names]


def test_the_published_counts_give_the_published_numbers(plan):
    assert len(plan) == 350
    for perspective, more in (("1st", 0), ("3rd", 125)):
        assert numbers(plan, "mem_test", perspective) == list(range(25 + more, 75 + more))
        assert numbers(plan, "train", perspective) == list(range(75 + more, 125 + more))
        assert sorted(set(numbers(plan, "action_space_test", perspective))) == list(range(more, more + 5))
    assert {clip.name for clip in plan} >= {"data-0-1.0x-200", "data-1-1.0x-200", "data-76", "data-249"}


def test_names_of_one_kind_and_captions_never_meet():
    many = list(planned_clips({**PUBLISHED, "train": 300, "mem": 300, "action_space": 300, "mirror": 300}))
    assert len({clip.id for clip in many}) == len(many)
    captions = Counter(clip.name for clip in many if clip.part != "mirror_test")
    assert set(captions.values()) == {1}, "one folder holds the captions of all parts and perspectives"


def test_a_bigger_collection_holds_the_smaller_one(plan):
    few = list(
        planned_clips({**PUBLISHED, "perspectives": ("3rd",), "train": 3, "mem": 7, "action_space": 6, "mirror": 2})
    )
    assert set(few) < set(plan)


def test_action_spaces_take_turns_in_the_same_place_with_the_same_dice(plan):
    clips = [clip for clip in plan if (clip.part, clip.perspective) == ("action_space_test", "1st")]
    for first in range(0, 25, 5):
        turn = clips[first : first + 5]
        assert [clip.space for clip in turn] == list(SPACES)
        assert len({(clip.world_seed, clip.family, clip.entropy) for clip in turn}) == 1
        assert [steps_of(space_hint(clip.name)) for clip in turn] == list(SPACES)
    assert {clip.space for clip in plan if clip.part != "action_space_test"} == {(1.0, 200.0)}


def test_training_worlds_are_no_test_worlds(plan):
    worlds = {True: set(), False: set()}
    for clip in plan:
        worlds[clip.part == "train"].add((clip.family, clip.world_seed))
        assert clip.scene.startswith("train-" if clip.part == "train" else "test-")
    assert not worlds[True] & worlds[False]
    assert {family for family, _ in worlds[True]} == set(FAMILIES)
    assert all(len([1 for family, _ in worlds[False] if family == one]) >= 3 for one in FAMILIES)


def test_families_take_turns_and_the_seed_changes_every_world(plan):
    memory = [clip for clip in plan if (clip.part, clip.perspective) == ("mem_test", "3rd")]
    assert [clip.family for clip in memory[:9]] == [*FAMILIES, FAMILIES[0]]
    assert memory[0].world_seed == memory[8].world_seed != memory[16].world_seed
    assert memory[0].entropy != memory[8].entropy
    others = list(planned_clips({**PUBLISHED, "seed": 43}))
    assert not {clip.world_seed for clip in others} & {clip.world_seed for clip in plan}


def test_one_clip_in_each_world(tmp_path):
    single = list(planned_clips({**PUBLISHED, "mem": 16, "per_scene": 1}))
    memory = [clip for clip in single if clip.part == "mem_test"]
    assert len({(clip.family, clip.world_seed) for clip in memory}) == 16  # both perspectives share a world
    for clips, named in ((2, False), (1, True)):
        made = collection.MindCollection(tmp_path, collection.MindOptions(mem=1, per_scene=clips))
        assert ("per_scene" in made.settings()) == named
