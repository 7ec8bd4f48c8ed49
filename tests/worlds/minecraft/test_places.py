"""The published places: how many there are, of which kinds, and some compared with the list by hand."""

from collections import Counter

import pytest

from worldgauge.core.errors import UsageError
from worldgauge.worlds.minecraft.places import Place, place, places

VILLAGES = ("desert", "plains", "savanna", "snowy", "taiga", "zombie")


def test_there_are_as_many_as_published() -> None:
    known = places().values()
    kinds = Counter(one.kind for one in known)
    assert len(known) == 147
    assert kinds == {**dict.fromkeys(VILLAGES, 20), "biome": 18, "structure": 9}
    villages = [one for one in known if one.kind in VILLAGES]
    assert [one.name for one in villages] == [f"{kind}_village_{i}" for kind in VILLAGES for i in range(1, 21)]
    assert len({(one.x, one.y, one.z) for one in villages}) == 119
    assert place("plains_village_2")[2:5] == place("taiga_village_2")[2:5] == (1192, 70, 40)
    for kind in VILLAGES:
        assert Counter(one.split for one in villages if one.kind == kind) == {"train": 16, "val": 2, "test": 2}
    assert {one.split for one in known if one.kind not in VILLAGES} == {None}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("plains_village_1", ("plains", 700, 64, -330, "minecraft:overworld", False, "train")),
        ("snowy_village_1", ("snowy", 37, 75, 34, "minecraft:overworld", False, "train")),
        ("savanna_village_20", ("savanna", 29944, 72, 15960, "minecraft:overworld", False, "test")),
        ("ice_spikes", ("biome", -2772, 88, -3339, "minecraft:overworld", False, None)),
        ("stronghold", ("structure", -240, 25, -2252, "minecraft:overworld", True, None)),
        ("nether_fortress", ("structure", 2523, 64, 2491, "minecraft:the_nether", True, None)),
        ("end_city", ("structure", 9405, 59, 14166, "minecraft:the_end", False, None)),
    ],
)
def test_a_place_is_as_published(name: str, wanted: tuple[object, ...]) -> None:
    assert place(name) == Place(name, *wanted)  # type: ignore[arg-type]


def test_few_lie_elsewhere_or_are_loose() -> None:
    assert [one.name for one in places().values() if one.loose] == ["stronghold", "nether_bastion", "nether_fortress"]
    assert Counter(one.dimension for one in places().values()) == {
        "minecraft:overworld": 143,
        "minecraft:the_nether": 2,
        "minecraft:the_end": 2,
    }


def test_an_unknown_place_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no place 'plain_village1' among its 147: did you mean 'plains_village_1'\?"):
        place("plain_village1")
    with pytest.raises(TypeError):
        places()["new"] = place("stronghold")  # type: ignore[index]
