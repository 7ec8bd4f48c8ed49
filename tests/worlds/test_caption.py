"""Captions: one plain sentence about what a camera sees, and nothing that is hidden."""

import csv
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import cast

import numpy as np
import pytest

from worldgauge.core.english import some
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.worlds import World, caption_of, open_world
from worldgauge.worlds.captions import MOST_WORDS, caption_at, captions_along, sentence
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.third_person import ARM_M, PIVOT_M
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.floor import CATEGORIES as NAMES
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M, FAMILIES, KINDS, PLACES
from worldgauge.worlds.walking.floor import Walkable

CAMERA = Camera.from_horizontal_fov(320, 180, 90.0)
SIZE = (160, 160, 56)
VIEWS = 25
MOTION = re.compile(
    r"\b(walk|mov|turn|go(es|ing)?\b|step|look|pan|run|forward|backward|second|metre|degree|seed|frame|camera)", re.I
)


def is_plain(text: str) -> bool:
    """Whether it is one short sentence without numbers, ids and motion."""
    return (
        text.endswith(".")
        and text.count(".") == 1
        and len(text.split()) <= MOST_WORDS
        and "  " not in text
        and " ." not in text
        and text[0].isupper()
        and not re.search(r"[\d_/]", text)
        and not MOTION.search(text.replace("stepped", ""))
        and not re.search(r"\ba [aeiou]|\ban [^aeiou]", text, re.I)
    )


def standing(world: World, eye_m: float, seed: int) -> Iterator[FloatArray]:
    """Poses of a camera over free places of a world's floor."""
    floor, rng = cast(Walkable, world).floor, np.random.default_rng(seed)
    cells = np.argwhere(floor.free)
    for cell in cells[rng.integers(len(cells), size=VIEWS)]:
        x, y = floor.points_of(cell[None])[0]
        yield pose_from_yaw_pitch([x, y, floor.height_m[tuple(cell)] + eye_m], rng.uniform(-np.pi, np.pi), 0.0)


def things_in(text: str) -> set[str]:
    """The things that a caption names, with their articles."""
    found = re.search(r" with (.*?)(?: under | in daylight|, seen|\.$)", text)
    return set(found[1].split(" and ")) if found else set()


def forms(noun: str, colour: str = "") -> set[str]:
    """How a caption names one or several things."""
    return {some(noun, 1, colour), some(noun, 2, colour)}


@pytest.mark.parametrize("kind", [*KINDS, *FAMILIES])
def test_a_voxel_world_names_only_what_is_in_view(kind: str) -> None:
    world = open_world(WorldFacts("voxel", {"kind": kind, "seed": 11, "size": SIZE}))
    assert isinstance(world, Voxel)
    said = set()
    for pose in standing(world, EYE_HEIGHT_M, 1):
        text = caption_at(world, pose, CAMERA)
        assert text is not None
        assert is_plain(text), text
        view = world.view(pose, CAMERA)
        numbers = [n for n in np.unique(view.instance).tolist() if 0 < n <= len(world.voxels.drawn)]
        visible = {NAMES.get(world.voxels.drawn[n - 1].kind, "") for n in numbers}
        assert things_in(text) <= set().union(*map(forms, visible)), text
        sky = world.categories.index("sky")
        if "sky" in text:
            assert (view.category == sky).any(), text
        said.add(text)
    assert len(said) > VIEWS / 8, "views differ, and so do their captions"


@pytest.mark.parametrize("seed", [1, 3, 8, 21])
def test_a_home_names_only_what_is_in_view(seed: int) -> None:
    home = open_world(WorldFacts("indoor", {"seed": seed}))
    assert isinstance(home, Home)
    for pose in standing(home, 1.0, seed):
        text = caption_at(home, pose, CAMERA)
        assert text is not None
        assert is_plain(text), text
        seen = [home.objects[n - 1] for n in np.unique(home.view(pose, CAMERA).instance).tolist() if n]
        named = [forms(one.name, colour) for one in seen for colour in ("", one.colour)]
        assert things_in(text) <= set().union(*named), text
        room = re.match(r"A bright ([a-z ]+?)(?: with .*)?\.", text)
        assert text == "A bright, empty room in a furnished home." or (
            room is not None and room[1] in {one.room for one in seen}
        ), text


def test_a_hidden_room_is_not_named() -> None:
    home = open_world(WorldFacts("indoor", {"seed": 3}))
    assert caption_of(home.facts) == "A bright room in a furnished home."


def test_over_the_shoulder_a_person_is_named() -> None:
    world = open_world(WorldFacts("third-person", {"kind": "urban", "seed": 2, "size": SIZE}))
    for pose in standing(world, PIVOT_M, 2):
        pose[:3, 3] -= ARM_M * pose[:3, 2]
        text = caption_at(world, pose, CAMERA)
        assert text is not None
        assert is_plain(text), text
        assert text.endswith(", seen from behind a person with an orange backpack.")


def test_a_scan_names_its_things() -> None:
    scan = open_world(WorldFacts("scan", {"scene": "example/room"}))
    texts = {caption_at(scan, pose, CAMERA) for pose in standing(scan, 1.5, 3)}
    assert all(text and is_plain(text) for text in texts)
    assert any("bookcase" in str(text) for text in texts)


def test_the_hall_ends_where_its_walls_end() -> None:
    hall = open_world(WorldFacts("voxel", {"kind": "interior", "seed": 4, "size": SIZE}))
    outside = pose_from_yaw_pitch([4.0, 64.0, 40.0], np.pi, 0.0)
    text = caption_at(hall, outside, CAMERA)
    assert text is not None
    assert "hall" not in text


def test_a_wall_before_the_lens_hides_the_place() -> None:
    village = open_world(WorldFacts("voxel", {"kind": "desert", "seed": 5, "size": SIZE}))
    assert isinstance(village, Voxel)
    house = next(one for one in village.landmarks if one.category in {"townhouse", "library", "corner house", "church"})
    x, y = (house.low[0] + house.high[0]) / 2, house.low[1] - 0.4
    text = caption_at(village, pose_from_yaw_pitch([x, y, house.low[2] + 2.5], np.pi / 2, 0.0), CAMERA)
    assert text == f"A close view of a {house.category} made of blocks, seen at eye height."


def test_every_kind_of_place_has_words_of_its_own() -> None:
    assert set(PLACES) == {*KINDS, *FAMILIES}
    assert len({words.where(built=True, sign=True) for words in PLACES.values()}) == len(PLACES)
    assert len({words.where(built=False, sign=True) for words in PLACES.values()}) > len(PLACES) - 3


def test_a_world_is_described_without_being_built() -> None:
    facts = WorldFacts("voxel", {"kind": "snowy", "seed": 1, "size": [10**6, 10**6, 10**6]})
    assert caption_of(facts) == "A blocky village in the snow, seen at eye height."
    third = caption_of(WorldFacts("third-person", facts.params))
    assert third == "A blocky village in the snow, seen from behind a person with an orange backpack."


@pytest.mark.parametrize("task", [entry.name for entry in table_tasks])
def test_a_table_names_its_things_and_their_colours(task: str) -> None:
    for seed in range(6):
        table = open_world(WorldFacts("tabletop", {"task": task, "variation": seed % 2, "seed": seed}))
        assert isinstance(table, Tabletop)
        text = caption_of(table.facts) or ""
        assert is_plain(text), text
        for thing in table.task.things:
            assert re.search(rf"\b{thing.colour}\b.*\b{thing.category}s?\b", text), text
    assert " a a" not in text


def test_things_that_make_a_sentence_too_long_are_left_out() -> None:
    place, thing = "a very " + "long " * 12 + "place", "a rather long name of a thing"
    assert sentence(place, [thing, thing]) == f"A very {'long ' * 12}place with {thing}."
    assert sentence(place, [thing, thing], ", seen at eye height") == f"A very {'long ' * 12}place, seen at eye height."


def test_a_walk_has_a_caption_wherever_the_view_changes() -> None:
    world = open_world(WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": SIZE}))
    poses = np.repeat(np.stack([*standing(world, EYE_HEIGHT_M, 5)][:4]), 3, axis=0)
    captions = captions_along(world, poses, CAMERA)
    assert captions[0][0] == 0
    assert all(frame % 3 == 0 for frame, _ in captions)
    assert captions[-1][1] == caption_at(world, poses[-1], CAMERA)


def test_names_of_things_are_lower_case_words() -> None:
    with (files("worldgauge.worlds.voxel") / "landmarks.csv").open(encoding="utf-8") as table:
        assert all(re.fullmatch(r"[a-z]+( [a-z]+)*", row["name"]) for row in csv.DictReader(table))


def test_a_world_that_says_nothing_has_no_caption() -> None:
    assert caption_of(None) is None
    assert caption_of(WorldFacts("of another package", {})) is None


def test_facts_of_another_version_are_one_clear_error() -> None:
    with pytest.raises(WorldError, match=r"world 'indoor' cannot be described: .*'rooms'.*collect the data again"):
        caption_of(WorldFacts("indoor", {"rooms": 3}))
