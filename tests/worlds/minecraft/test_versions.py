"""Names and states of blocks by version, against the lists of the package minecraft-data."""

import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbtlib
import numpy as np
import pytest

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.blocks.blueprint import Blueprint, base_name, material
from worldgauge.worlds.blocks.structure_files import NbtLimits, in_current_names, read_structure, write_nbt, write_schem
from worldgauge.worlds.blocks.views import flags_of
from worldgauge.worlds.minecraft import names
from worldgauge.worlds.minecraft.cells import split_state, state_text
from worldgauge.worlds.minecraft.versions import current, full_states, spelled, version_of_save
from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, SETTLED_STATES, SHAPE_OF, SHAPES, STATES, block
from worldgauge.worlds.voxel.world import VoxelWorld

VERSIONS = ("1.16.5", "1.20.4")
LISTS: dict[str, Any] = json.loads(lzma.decompress(Path(__file__).with_name("block_lists.json.xz").read_bytes()))[
    "versions"
]
"""Of each version {name: {state: [default, other values ...]}}."""


def blocks_of(packages: Path, version: str) -> dict[str, dict[str, Any]]:
    data = packages / "node_modules" / "minecraft-data" / "minecraft-data" / "data"
    folder = json.loads((data / "dataPaths.json").read_text())["pc"][version]["blocks"]
    return {one["name"]: one for one in json.loads((data / folder / "blocks.json").read_text())}


def values_of(entry: dict[str, Any]) -> dict[str, list[str]]:
    flags = ["true", "false"]
    return {
        one["name"]: flags if one["type"] == "bool" else one.get("values") or [str(n) for n in range(one["num_values"])]
        for one in entry["states"]
    }


def state_at(entry: dict[str, Any], number: int) -> str:
    """The state of a number: the last key runs fastest."""
    rest, said = number - entry["minStateId"], {}
    for key, values in reversed(values_of(entry).items()):
        rest, place = divmod(rest, len(values))
        said[key] = values[place]
    return state_text(entry["name"], said)


def every_cell() -> VoxelWorld:
    """A world with each of our states alone, and each thin wall with each of its 16 neighbourhoods."""
    stone, pane = block("stone"), SHAPES.index("pane")
    masks = {state: range(16) if SHAPE_OF[state] == pane else (0,) for state in range(len(STATES))}
    wanted = [(state, mask) for state in masks for mask in masks[state]]
    states = np.zeros((3 * len(wanted), 3, 1), np.uint8)
    for number, (state, mask) in enumerate(wanted):
        states[3 * number + 1, 1] = state
        for bit, (dx, dy) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
            if mask >> bit & 1:
                states[3 * number + 1 + dx, 1 + dy] = stone
    return VoxelWorld("plains", 0, states, np.zeros(states.shape, np.uint16), (0, 0))


def test_every_state_comes_back_in_both_versions_as_it_does_in_one() -> None:
    world = every_cell()
    first, second = (names.cells_of(world, version=version) for version in VERSIONS)
    back = names.voxels_of(second).states
    assert back.tobytes() == names.voxels_of(first).states.tobytes()
    assert (back == world.states)[world.states < SETTLED_STATES].all()
    assert (back == world.states).mean() > 0.98, "few states share a block"
    assert names.substitutions(first) == names.substitutions(second) == []
    assert {split_state(text)[0] for text in second.palette} ^ {split_state(text)[0] for text in first.palette} == {
        *("grass", "short_grass")
    }


@pytest.mark.minecraft
@pytest.mark.parametrize("version", VERSIONS)
def test_every_state_of_ours_is_one_of_the_version_said_in_full(version: str, packages: Path) -> None:
    blocks = blocks_of(packages, version)
    palette = names.cells_of(every_cell(), version=version).palette
    assert len(palette) > len(STATES) * 0.8
    for text in palette:
        name, said = split_state(text)
        assert name in blocks, text
        values = values_of(blocks[name])
        assert set(said) == set(values), text
        assert all(said[key] in values[key] for key in said), text
    assert full_states(palette, version) == list(palette)


@pytest.mark.minecraft
@pytest.mark.parametrize("version", VERSIONS)
def test_the_words_of_a_version_are_those_of_its_tables(version: str, packages: Path) -> None:
    """Each block with nothing said and with everything said, and no block of the other version."""
    blocks = blocks_of(packages, version)
    for name, entry in blocks.items():
        assert full_states([f"minecraft:{name}"], version) == [state_at(entry, entry["defaultState"])]
        for number in (entry["minStateId"], entry["maxStateId"]):
            assert full_states([state_at(entry, number)], version) == [state_at(entry, number)]
        for key, values in values_of(entry).items():
            for value in values:
                full_states([f"minecraft:{name}[{key}={value}]"], version)
            with pytest.raises(WorldError, match=f"{key} is one of"):
                full_states([f"minecraft:{name}[{key}=nothing]"], version)
    others = set(blocks_of(packages, "1.20.4" if version == "1.16.5" else "1.16.5")) - set(blocks)
    for name in others - {"grass", "grass_path", "short_grass", "dirt_path", "water_cauldron"}:
        with pytest.raises(WorldError, match="no block"):
            full_states([name_of(name)], version)
    assert not {name for name in blocks if name in others}


def test_a_cauldron_with_water_is_a_block_of_its_own_later() -> None:
    assert spelled("minecraft:cauldron[level=2]", "1.20.4") == "minecraft:water_cauldron[level=2]"
    assert spelled("minecraft:cauldron[level=0]", "1.20.4") == "minecraft:cauldron"
    assert spelled("minecraft:water_cauldron[level=2]", "1.16.5") == "minecraft:cauldron[level=2]"


def name_of(name: str) -> str:
    return f"minecraft:{name}"


@pytest.mark.minecraft
@pytest.mark.parametrize("version", VERSIONS)
def test_every_state_of_every_block_has_a_nearest_one(version: str, packages: Path) -> None:
    """Air becomes air, nothing else does but what lets all through, and what is replaced is told."""
    void = {"air", "cave_air", "void_air", "structure_void", "light", "moving_piston"}
    opened = 0
    for name, entry in blocks_of(packages, version).items():
        for number in range(entry["minStateId"], entry["maxStateId"] + 1):
            text = state_at(entry, number)
            state, _ = names.nearest(text)
            if name in void:
                assert STATES[state].name == "air", text
            elif STATES[state].name == "air":
                assert "open=true" in text, text
                opened += 1
    assert opened > 100


def test_words_of_both_versions_are_taken_and_the_rest_is_refused() -> None:
    asked = ["minecraft:grass", "minecraft:short_grass", "minecraft:dirt_path", "minecraft:oak_leaves[distance=3]"]
    assert full_states(asked, "1.16.5") == [
        *("minecraft:grass", "minecraft:grass", "minecraft:grass_path"),
        "minecraft:oak_leaves[distance=3,persistent=false]",
    ]
    assert full_states(asked, "1.20.4") == [
        *("minecraft:short_grass", "minecraft:short_grass", "minecraft:dirt_path"),
        "minecraft:oak_leaves[distance=3,persistent=false,waterlogged=false]",
    ]
    assert full_states(["minecraft:rail[waterlogged=false]"], "1.16.5") == full_states(["minecraft:rail"], "1.16.5")
    assert full_states(["minecraft:cauldron[level=2]"], "1.16.5") == ["minecraft:cauldron[level=2]"]
    for text, version, match in (
        ("minecraft:nosuchblock", "1.20.4", r"no block 'minecraft:nosuchblock' in 1\.20\.4"),
        ("mod:stone", "1.20.4", "no block 'mod:stone'"),
        ("minecraft:tuff", "1.16.5", r"no block 'minecraft:tuff' in 1\.16\.5"),
        ("minecraft:oak_leaves[waterlogged=true]", "1.16.5", "it has no waterlogged"),
        ("minecraft:rail[waterlogged=true]", "1.16.5", "it has no waterlogged"),
        ("minecraft:note_block[instrument=piglin]", "1.16.5", "instrument is one of"),
        ("minecraft:oak_log[axis=w]", "1.20.4", "axis is one of x, y, z"),
    ):
        with pytest.raises(WorldError, match=match):
            full_states([text], version)


@pytest.mark.parametrize(
    ("foreign", "ours"),
    {
        "bedrock": "stone",
        "weathered_copper": "stone",
        "gray_wool": "grey_enamel",
        "light_blue_shulker_box": "sky_enamel",
        "cherry_fence": "oak_fence",
        "zombie_wall_head": "lantern_post",
        "pink_petals": "poppy",
        "white_bed": "red_enamel_slab",
    }.items(),
)
def test_names_are_read_word_by_word(foreign: str, ours: str) -> None:
    assert STATES[names.nearest(name_of(foreign))[0]].name == ours


def every_value(states: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    """The default states of a block, then each other value in them."""
    default = {key: values[0] for key, values in states.items()}
    yield default
    for key, values in states.items():
        for value in values[1:]:
            yield default | {key: value}


def is_one_of(text: str, version: str) -> bool:
    """Whether a complete state is one of a version's list."""
    name, said = split_state(text)
    states = LISTS[version]["blocks"].get(name)
    return states is not None and set(said) == set(states) and all(said[key] in states[key] for key in said)


@pytest.mark.parametrize("version", LISTS)
def test_states_of_every_version_are_read_in_the_names_of_1_20_4(version: str) -> None:
    """All of them until 1.20.4; later ones except for blocks and states that came later, which are flagged."""
    number, here = LISTS[version]["data_version"], LISTS["1.20.4"]["blocks"]
    for name, states in LISTS[version]["blocks"].items():
        for said in every_value(states):
            new, found = split_state(current(state_text(name, said), number))
            fits = new in here and all(value in here[new].get(key, ()) for key, value in found.items())
            if number <= 3700:
                assert fits, (name, said)
            elif not fits:
                assert flags_of(Blueprint.of([[[1]]], [material(new, found)])), (name, said)
            # Where both have a value, it stays.
            if new == name and new in here and not name.endswith(("_wall", "redstone_wire")):
                assert all(found[key] == value for key, value in said.items() if value in here[new].get(key, ()))


@pytest.mark.parametrize("version", ["1.16.1", "1.16.5", "1.20.4", "1.20.6", "1.21.4", "1.21.9", "26.1"])
def test_what_is_put_into_a_save_is_a_state_of_its_version(version: str) -> None:
    target = version_of_save(LISTS[version]["data_version"])
    assert target is not None
    for name, states in LISTS["1.20.4"]["blocks"].items():
        for said in [{}, *every_value(states)]:
            try:
                (found,) = full_states([state_text(name, said)], target)
            except WorldError:
                assert version.startswith("1.16."), (name, said)
                assert not is_one_of(state_text(name, said), version)
            else:
                assert is_one_of(found, version) or "note_block" in found, found


def test_saves_of_unknown_names_are_not_written() -> None:
    found = {number: version_of_save(number) for number in (2528, 2529, 2586, 2587, 3697, 3698, 4540, 4541, 4903, 4904)}
    assert list(found.values()) == [None, "1.16.1", "1.16.5", None, None, "1.20.4", "1.20.5", "1.21.9", "1.21.9", None]


@pytest.mark.parametrize("version", LISTS)
def test_files_hold_only_blocks_and_states_of_the_version_they_state(version: str, tmp_path: Path) -> None:
    """Every block of each version, read and written, or refused by name."""
    number, here = LISTS[version]["data_version"], LISTS["1.20.4"]["blocks"]
    blocks = LISTS[version]["blocks"].items()
    every = [
        material(name, {key: values[at] for key, values in states.items()}) for name, states in blocks for at in (0, -1)
    ]
    build = in_current_names(Blueprint.of([[list(range(1, len(every) + 1))]], every), number)
    later = [one for one in build.materials if base_name(one) not in here]
    if later:
        assert number > 3700
        with pytest.raises(UsageError, match=rf"1\.20\.4, which has no block {base_name(later[0])}[, ;].*replace it"):
            write_schem(tmp_path / "a.schem", build)
        build = Blueprint(build.cells, tuple("stone" if one in later else one for one in build.materials))
    write_schem(tmp_path / "a.schem", build)
    write_nbt(tmp_path / "a.nbt", build)
    schem, file = (nbtlib.load(tmp_path / name).unpack() for name in ("a.schem", "a.nbt"))
    assert schem["DataVersion"] == file["DataVersion"] == 3700
    entries = [state_text(one["Name"], one.get("Properties")) for one in file["palette"]]
    assert set(entries) == set(schem["Palette"])
    assert not [one for one in entries if not is_one_of(one, "1.20.4")]
    limits = NbtLimits(most_side=1 << 16)
    found = [read_structure(tmp_path / name, limits=limits).blueprint for name in ("a.nbt", "a.schem")]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("text", "data_version", "expected"),
    [
        ("stone_slab[type=top]", 1631, "smooth_stone_slab[type=top]"),
        ("stone_slab[type=top]", 1952, "stone_slab[type=top]"),
        ("stone_slab", None, "stone_slab"),
        ("sign[rotation=4]", 1631, "oak_sign[rotation=4]"),
        ("wall_sign[facing=east]", None, "oak_wall_sign[facing=east]"),
        ("cobblestone_wall[east=true,north=false,up=true]", 2230, "cobblestone_wall[east=low,north=none,up=true]"),
        ("cobblestone_wall[east=tall]", 3700, "cobblestone_wall[east=tall]"),
        ("mod:odd_wall[east=true]", 2230, "mod:odd_wall[east=true]"),
        ("redstone_wire[east=side]", 2230, "redstone_wire[east=side,north=none,south=none,west=side]"),
        ("redstone_wire[east=side]", 3700, "redstone_wire[east=side]"),
        ("jigsaw[facing=up]", 1976, "jigsaw[orientation=up_north]"),
        ("jigsaw[facing=east]", 1976, "jigsaw[orientation=east_up]"),
        ("iron_chain[axis=x]", 4786, "chain[axis=x]"),
        ("oak_sign", 4786, "oak_sign[rotation=8]"),
        ("oak_wall_sign", 4786, "oak_wall_sign"),
        ("cauldron[level=3]", 2586, "water_cauldron[level=3]"),
        ("structure_block", 2586, "structure_block[mode=save]"),
        ("torchflower_crop[age=2]", 3337, "torchflower"),
        ("trial_spawner[ominous=false]", 3839, "trial_spawner"),
    ],
)
def test_changes_of_names_and_states(text: str, data_version: int | None, expected: str) -> None:
    full = text if ":" in text else f"minecraft:{text}"
    assert current(full, data_version) == (expected if ":" in expected else f"minecraft:{expected}")


ELSE = {"building", "none", "path", "grass", "dirt", "sand", "flower", "tree"}
CATEGORY_RULES: dict[str, set[str]] = {
    # The first pattern that a name matches: categories of ours that it may have.
    r"(.*_)?air|light|structure_void|moving_piston": {"sky"},
    r".*_ore|ancient_debris|raw_.*|(cobbled_)?deepslate|tuff|calcite|bedrock|netherrack": {"none"},
    # Lava too: a liquid that bodies sink into, and ours is water.
    r"water|lava|(tall_)?seagrass|kelp(_plant)?|bubble_column|.*ice": {"water"},
    r"snow.*": {"snow"},
    r"(?!potted|stripped_(oak|spruce|acacia|dark_oak)_).*_(log|wood|hyphae)|(crimson|warped)_stem|.*azalea": {"tree"},
    r".*_leaves|mangrove_roots": {"tree"},
    r"(coarse_|rooted_)?dirt|(packed_)?mud|muddy_mangrove_roots|podzol|mycelium|farmland|clay|soul_(sand|soil)": {
        "dirt"
    },
    r"(?!potted).*(sapling|propagule|fern|_grass|sprouts|vines(_plant)?|vine|lichen)|lily_pad": {"grass"},
    r"(crimson|warped|hanging)_roots|sculk_vein": {"grass"},
    r"(?!potted).*(tulip|daisy|dandelion|poppy|orchid|allium|bluet|cornflower|rose|peony|lilac|petals)": {"flower"},
    r"(suspicious_)?(red_)?sand|sandstone": {"sand"},
    r"gravel|suspicious_gravel|dirt_path": {"path"},
    r"grass_block|moss_block": {"grass"},
    r".*(glass|glass_pane|rail|pressure_plate|sign|banner|door|bed|button|shulker_box|candle_cake)": {"building"},
    r".*(copper|iron|gold|diamond|emerald|lapis|redstone).*": {"building", "none"},
}


def test_nearest_blocks_are_of_a_fitting_category() -> None:
    """Over all blocks of 1.20.4; those that stand for one of ours are left out, since they come back as that."""
    taken = {split_state(text)[0] for text in names._back()}
    metal = {"hull", "dark_hull", "plating", "steel", "steel_rail", "steel_post"}
    for name, states in LISTS["1.20.4"]["blocks"].items():
        if name in taken:
            continue
        ours = names.nearest(state_text(name, next(every_value(states))))[0]
        category = CATEGORIES[CATEGORY_OF[ours]]
        rule = next((allowed for pattern, allowed in CATEGORY_RULES.items() if re.fullmatch(pattern, name)), None)
        assert category in (rule or ELSE), (name, STATES[ours].name)
        if STATES[ours].name in metal:
            assert name in ("iron_door", "iron_trapdoor", "chain"), name
        if name.endswith(("_stairs", "_slab", "_fence", "_wall", "_door", "_trapdoor", "_planks", "_bricks")):
            assert category not in {"sky", "snow", "water", "tree", "flower"}, name
