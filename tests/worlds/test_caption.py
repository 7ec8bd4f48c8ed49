"""Worlds describe themselves in a sentence: the same one for the same world, of nothing but what they hold."""

import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.worlds import caption_of, open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.voxel.world import FAMILIES, KINDS, PLACES


def test_a_village_is_described_without_being_built() -> None:
    facts = WorldFacts("voxel", {"kind": "snowy", "seed": 1, "size": [10**6, 10**6, 10**6]})
    expected = "A walk through a village in snow-covered country in a world built of blocks, in first person."
    assert caption_of(facts) == expected == caption_of(facts)
    third = caption_of(WorldFacts("third-person", facts.params))
    assert third == expected.replace("first person", "third person, over the shoulder of the walker")


def test_every_kind_of_place_has_words_of_its_own() -> None:
    assert set(PLACES) == {*KINDS, *FAMILIES}
    assert len(set(PLACES.values())) == len(PLACES)


@pytest.mark.parametrize("seed", [1, 3])
def test_a_home_names_each_of_its_rooms(seed: int) -> None:
    home = open_world(WorldFacts("indoor", {"seed": seed}))
    assert isinstance(home, Home)
    text = caption_of(home.facts) or ""
    for kind in {room.kind for room in home.plan.rooms}:
        count = sum(room.kind == kind for room in home.plan.rooms)
        assert (f"a {kind}" if count == 1 else f"{count} {kind}s") in text


@pytest.mark.parametrize("task", [entry.name for entry in table_tasks])
def test_a_table_names_its_things_and_their_colours(task: str) -> None:
    table = open_world(WorldFacts("tabletop", {"task": task, "variation": 1, "seed": 2}))
    assert isinstance(table, Tabletop)
    text = caption_of(table.facts) or ""
    places = [text.index(f"{thing.colour} {thing.category}") for thing in table.task.things]
    assert places == sorted(places)
    assert " a a" not in text


def test_a_world_that_says_nothing_has_no_caption() -> None:
    assert caption_of(None) is None
    assert caption_of(WorldFacts("of another package", {})) is None


def test_facts_of_another_version_are_one_clear_error() -> None:
    with pytest.raises(WorldError, match=r"world 'indoor' cannot be described: .*'rooms'.*collect the data again"):
        caption_of(WorldFacts("indoor", {"rooms": 3}))
