"""Which clips a MIND collection holds: names, worlds and dice that do not depend on how many are asked for."""

from collections import Counter

import pytest

from worldgauge.suites.mind.actions import steps_of
from worldgauge.suites.mind.collection import SPACES, PlannedClip, planned_clips
from worldgauge.suites.mind.format.files import space_hint
from worldgauge.worlds.voxel.world import FAMILIES

PUBLISHED = {
    "families": FAMILIES,
    "perspectives": ("1st", "3rd"),
    "train": 50,
    "mem": 50,
    "action_space": 25,
    "mirror": 50,
    "seed": 42,
    "split": "test",
}


@pytest.fixture(scope="module")
def plan() -> list[PlannedClip]:
    return list(planned_clips(PUBLISHED))


def numbers(plan: list[PlannedClip], part: str, perspective: str) -> list[int]:
    names = [clip.name for clip in plan if (clip.part, clip.perspective) == (part, perspective)]
    return [int(name.split("-")[1]) for name in names]


def test_the_published_counts_give_the_published_numbers(plan: list[PlannedClip]) -> None:
    assert len(plan) == 350
    for perspective, more in (("1st", 0), ("3rd", 125)):
        assert numbers(plan, "mem_test", perspective) == list(range(25 + more, 75 + more))
        assert numbers(plan, "train", perspective) == list(range(75 + more, 125 + more))
        assert sorted(set(numbers(plan, "action_space_test", perspective))) == list(range(more, more + 5))
    assert {clip.name for clip in plan} >= {"data-0-1.0x-200", "data-1-1.0x-200", "data-76", "data-249"}


def test_names_of_one_kind_and_captions_never_meet() -> None:
    many = list(planned_clips({**PUBLISHED, "train": 300, "mem": 300, "action_space": 300, "mirror": 300}))
    assert len({clip.id for clip in many}) == len(many)
    captions = Counter(clip.name for clip in many if clip.part != "mirror_test")
    assert set(captions.values()) == {1}, "one folder holds the captions of all parts and perspectives"


def test_a_bigger_collection_holds_the_smaller_one(plan: list[PlannedClip]) -> None:
    few = list(
        planned_clips({**PUBLISHED, "perspectives": ("3rd",), "train": 3, "mem": 7, "action_space": 6, "mirror": 2})
    )
    assert set(few) < set(plan)


def test_action_spaces_take_turns_in_the_same_place_with_the_same_dice(plan: list[PlannedClip]) -> None:
    clips = [clip for clip in plan if (clip.part, clip.perspective) == ("action_space_test", "1st")]
    for first in range(0, 25, 5):
        turn = clips[first : first + 5]
        assert [clip.space for clip in turn] == list(SPACES)
        assert len({(clip.world_seed, clip.family, clip.entropy) for clip in turn}) == 1
        assert [steps_of(space_hint(clip.name)) for clip in turn] == list(SPACES)
    assert {clip.space for clip in plan if clip.part != "action_space_test"} == {(1.0, 200.0)}


def test_training_worlds_are_no_test_worlds(plan: list[PlannedClip]) -> None:
    worlds = {True: set(), False: set()}
    for clip in plan:
        worlds[clip.part == "train"].add((clip.family, clip.world_seed))
        assert clip.scene.startswith("train-" if clip.part == "train" else "test-")
    assert not worlds[True] & worlds[False]
    assert {family for family, _ in worlds[True]} == set(FAMILIES)
    assert all(len([1 for family, _ in worlds[False] if family == one]) >= 3 for one in FAMILIES)


def test_families_take_turns_and_the_seed_changes_every_world(plan: list[PlannedClip]) -> None:
    memory = [clip for clip in plan if (clip.part, clip.perspective) == ("mem_test", "3rd")]
    assert [clip.family for clip in memory[:9]] == [*FAMILIES, FAMILIES[0]]
    assert memory[0].world_seed == memory[8].world_seed != memory[16].world_seed
    assert memory[0].entropy != memory[8].entropy
    others = list(planned_clips({**PUBLISHED, "seed": 43}))
    assert not {clip.world_seed for clip in others} & {clip.world_seed for clip in plan}
