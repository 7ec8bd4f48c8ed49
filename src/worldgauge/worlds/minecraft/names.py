"""Our cells as Minecraft's and back: every state of the voxel world has a block of Minecraft 1.16.5 of its shape.

A settlement comes back as it went. Of the families' blocks some share one of the game's (earth that lies at a quarter
of a metre is snow there); those come back as the first that has it.

Blocks are chosen so that a body moves over both alike: where the game's namesake has another shape or grip (a path and
farmland are a sixteenth lower, packed ice is slippery), a block of the same look and the right shape stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, WorldError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, base_name
from worldgauge.worlds.minecraft.cells import AIR, Cells, split_state, state_text
from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, FACINGS, KINDS, SHAPE_OF, SHAPES, STATES, block
from worldgauge.worlds.voxel.world import VoxelWorld

SIDES = ("east", "north", "west", "south")
"""Where a thin wall can reach; bit n of a mask is the n-th."""


_PLAIN_STAIRS = {"half": "bottom", "shape": "straight", "waterlogged": "false"}


class Substitution(NamedTuple):
    """A foreign state, the state of ours that it became, and in how many cells."""

    foreign: str
    ours: str
    cells: int


def state_of(state: int, joined: Iterable[str] = ()) -> str:
    """Return the game's state for one of our block states."""
    kind = KINDS[STATES[state].kind]
    match kind.shape:
        case "stairs":
            facing = FACINGS[STATES[state].facing]
            return state_text(kind.name, {"facing": facing, **_PLAIN_STAIRS})
        case "slab" | "top_slab":
            half = "top" if kind.shape == "top_slab" else "bottom"
            return state_text(SLABS.get(kind.name, kind.name), {"type": half, "waterlogged": "false"})
        case "pane":
            return _pane(PANES.get(kind.name, kind.name), set(joined))
        case "cross":
            return state_text(PLANTS.get(kind.name, kind.name))
        case "post":
            return state_text(POSTS[kind.name])
        case "layer" | "quarter" | "three_quarter" | "liquid":
            return state_text(LEVELS[kind.shape])
    return state_text(CUBES.get(kind.name, kind.name))


def nearest(text: str) -> tuple[int, bool]:
    """Our state for a state of the game, and whether it is the one that stands for it (else the nearest one)."""
    exact = _back().get(text)
    if exact is not None:
        return exact, True
    name, states = split_state(text)
    named = _by_name().get(name)
    if named is not None and SHAPES[SHAPE_OF[named]] not in ("stairs", "slab", "top_slab", "layer"):
        return named, False
    return block(_nearest(name, states)), False


def cells_of(voxels: VoxelWorld, at: tuple[int, int, int] | None = None, version: str = "1.16.5") -> Cells:
    """Convert a voxel world to cells of the game.

    Args:
        voxels: The world.
        at: Game coordinates of the box's lowest corner; by default the game's (x, y, z) is our (x, -z, y).
        version: Version whose names are used, 1.16.5 or 1.20.4.
    """
    if version not in RENAMED:
        raise UnknownNameError("version of the game", version, RENAMED)
    renamed = RENAMED[version]
    count = 16 * len(STATES)
    keys = voxels.states.astype(np.int64)
    keys += len(STATES) * _reach(voxels.states)
    present = np.flatnonzero(np.bincount(keys.reshape(-1), minlength=count))
    texts = [state_of(int(key) % len(STATES), _sides(int(key) // len(STATES))) for key in present]
    texts = [renamed.get(text, text) for text in texts]
    palette = tuple(dict.fromkeys((AIR, *texts)))
    place = {text: number for number, text in enumerate(palette)}
    lookup = np.zeros(count, np.uint16)
    lookup[present] = [place[text] for text in texts]
    # Ours runs x, y (north), z (up); the game's x, y (up), z (south).
    index = np.ascontiguousarray(lookup[keys].transpose(0, 2, 1)[:, :, ::-1])
    return Cells((0, 0, -voxels.shape[1]) if at is None else at, palette, index)


def voxels_of(cells: Cells, original: VoxelWorld | None = None) -> VoxelWorld:
    """Convert cells of the game to a voxel world; blocks that we lack become the nearest ones, see `substitutions`."""
    ours = np.array([nearest(text)[0] for text in cells.palette], np.uint8)
    states = np.ascontiguousarray(ours[cells.index][:, :, ::-1].transpose(0, 2, 1))
    if original is None:
        parts = _parts(states, np.zeros(states.shape, np.uint16))
        return VoxelWorld("minecraft", 0, states, parts, (states.shape[0] // 2, states.shape[1] // 2))
    if original.shape != states.shape:
        raise WorldError(f"cells of {states.shape} are not those of a world of {original.shape}")
    same = original.states == states
    instances = original.instances if same.all() else _parts(states, np.where(same, original.instances, 0))
    return VoxelWorld(original.kind, original.seed, states, instances, original.centre, original.drawn)


def substitutions(cells: Cells) -> list[Substitution]:
    """The blocks that `voxels_of` replaces by another, most cells first: nothing is left out silently.

    All kinds of air are one block, and so are all states of one name: levels of water, leaves near and far from a log.
    """
    counts = np.bincount(cells.index.reshape(-1), minlength=len(cells.palette))
    found = [(text, *nearest(text), int(n)) for text, n in zip(cells.palette, counts, strict=True) if n]
    named = [(text, STATES[ours].name, n) for text, ours, exact, n in found if not exact]
    replaced = [Substitution(*one) for one in named if not _same_block(*one[:2])]
    return sorted(replaced, key=lambda one: (-one.cells, one.foreign))


def _same_block(foreign: str, ours: str) -> bool:
    one, other = base_name(foreign), base_name(ours)
    return one == other or {one, other} <= AIR_NAMES


def _sides(mask: int) -> list[str]:
    return [side for bit, side in enumerate(SIDES) if mask >> bit & 1]


def _pane(name: str, joined: set[str]) -> str:
    wall = name.endswith("_wall")
    states = {side: ("low" if wall else "true") if side in joined else ("none" if wall else "false") for side in SIDES}
    return state_text(name, {**states, "waterlogged": "false", **({"up": "true"} if wall else {})})


def _reach(states: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Of every pane a mask of the SIDES where a full block or another pane stands; 0 elsewhere."""
    shape = SHAPE_OF[states]
    pane = shape == SHAPES.index("pane")
    joins = np.pad(pane | (shape == SHAPES.index("cube")), ((1, 1), (1, 1), (0, 0)))
    mask = np.zeros(states.shape, np.int64)
    nx, ny, _ = states.shape
    for bit, (dx, dy) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        mask += joins[1 + dx : 1 + dx + nx, 1 + dy : 1 + dy + ny].astype(np.int64) << bit
    mask[~pane] = 0
    return mask


@cache
def _back() -> dict[str, int]:
    back: dict[str, int] = {}
    for state in range(len(STATES)):
        masks = range(16) if SHAPES[SHAPE_OF[state]] == "pane" else (0,)
        for mask in masks:
            back.setdefault(state_of(state, _sides(mask)), state)
    for renamed in RENAMED.values():
        back |= {new: back[old] for old, new in renamed.items()}
    return back


@cache
def _by_name() -> dict[str, int]:
    named: dict[str, int] = {}
    for text, state in _back().items():
        named.setdefault(split_state(text)[0], state)
    return named


def _parts(states: NDArray[np.uint8], known: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Objects (X, Y, Z): those `known`, and every other connected part of a thing's category as one of its own."""
    things = [CATEGORIES.index(name) for name in ("building", "tree", "flower", "water")]
    category = CATEGORY_OF[states].astype(np.uint8)
    category[~np.isin(category, things) | (known > 0)] = 0
    labels = known.astype(np.uint16, copy=True)
    _flood(category, labels, int(known.max()))
    return labels


@njit(cache=True, nogil=True)
def _flood(category, labels, last):  # type: ignore[no-untyped-def]
    """Number the 26-connected parts of equal category after `last`; those beyond 65,535 stay 0."""
    sx, sy, sz = category.shape
    stack = [(0, 0, 0)]
    for i in range(sx):
        for j in range(sy):
            for k in range(sz):
                if category[i, j, k] == 0 or labels[i, j, k] > 0 or last == 65535:
                    continue
                last += 1
                labels[i, j, k] = last
                stack.append((i, j, k))
                while len(stack) > 1:
                    a, b, c = stack.pop()
                    for x in range(max(a - 1, 0), min(a + 2, sx)):
                        for y in range(max(b - 1, 0), min(b + 2, sy)):
                            for z in range(max(c - 1, 0), min(c + 2, sz)):
                                if labels[x, y, z] == 0 and category[x, y, z] == category[a, b, c]:
                                    labels[x, y, z] = last
                                    stack.append((x, y, z))


_AXES = "axis=y"
_KEPT = "distance=7,persistent=true"
_CAP = "down=true,east=true,north=true,south=true,up=true,west=true"
_COLOURS = {"teal": "cyan", "sky": "light_blue", "violet": "purple", "grey": "gray"}
_PAINTED = ("red", "orange", "yellow", "lime", "green", "teal", "sky", "blue", "violet", "pink", "white", "grey")
_COMPASS = ("north", "east", "south", "west")
_CORNERS = ("ul", "ur", "ll", "lr")


def _glazed(colour: str, facing: str = "north") -> str:
    return f"{colour}_glazed_terracotta[facing={facing}]"


CUBES: dict[str, str] = {
    # settlements
    "grass_block": "grass_block[snowy=false]",
    "dry_grass_block": "lime_terracotta",
    "snowy_grass_block": "grass_block[snowy=true]",
    "podzol": "podzol[snowy=false]",
    "farmland": "soul_soil",
    "path": f"brown_mushroom_block[{_CAP}]",
    "mossy_rock": "mossy_stone_bricks",
    "white_plaster": "quartz_block",
    "orange_plaster": "orange_terracotta",
    "ice_bricks": "light_blue_wool",
    "rotten_planks": "dark_oak_planks",
    "hay_bale": f"hay_block[{_AXES}]",
    "barrel": "barrel[facing=up,open=false]",
    **{f"{wood}_beam": f"stripped_{wood}_log[{_AXES}]" for wood in ("oak", "spruce", "acacia")},
    **{f"{wood}_log": f"{wood}_log[{_AXES}]" for wood in ("oak", "spruce", "acacia", "birch")},
    **{f"{wood}_leaves": f"{wood}_leaves[{_KEPT}]" for wood in ("oak", "spruce", "acacia", "birch")},
    "snowy_leaves": f"jungle_leaves[{_KEPT}]",
    "cactus": "cactus[age=0]",
    # ground and floors of the families
    "turf": "green_wool",
    "trail": "jungle_planks",
    "dune": "end_stone",
    "regolith": "purple_terracotta",
    "mint": "lime_wool",
    "clover": _glazed("lime"),
    "asphalt": "cyan_terracotta",
    "lane_x": "polished_basalt[axis=x]",
    "lane_y": "polished_basalt[axis=z]",
    "crossing_x": "basalt[axis=x]",
    "crossing_y": "basalt[axis=z]",
    "pavement": "andesite",
    "apron": "polished_andesite",
    "plating": "netherite_block",
    "lit_plating": "sea_lantern",
    "boards": "birch_planks",
    "flagstone": "end_stone_bricks",
    "mosaic": _glazed("light_blue"),
    "parquet": f"stripped_dark_oak_wood[{_AXES}]",
    "white_tile": "polished_diorite",
    "black_tile": "polished_blackstone",
    "red_rug": _glazed("red"),
    "blue_rug": _glazed("blue"),
    "green_rug": _glazed("green"),
    "pink_check": "pink_wool",
    "white_check": "white_wool",
    "rails_x": "quartz_pillar[axis=x]",
    "rails_y": "quartz_pillar[axis=z]",
    # paint, metal, light
    **{f"{name}_enamel": f"{_COLOURS.get(name, name)}_concrete" for name in (*_PAINTED, "black", "brown")},
    "cream_enamel": f"bone_block[{_AXES}]",
    "hull": "iron_block",
    "dark_hull": "polished_blackstone_bricks",
    "steel": "light_gray_concrete",
    "rust": "brown_terracotta",
    "tank": "diorite",
    "red_sheet": "red_terracotta",
    "blue_sheet": "blue_terracotta",
    "green_sheet": "green_terracotta",
    "amber_sheet": "yellow_terracotta",
    "pale_sheet": "light_gray_terracotta",
    "hazard": _glazed("yellow"),
    "cyan_glow": "cyan_stained_glass",
    "pink_glow": "magenta_stained_glass",
    "amber_glow": "shroomlight",
    "lime_glow": "lime_stained_glass",
    "white_glow": "glowstone",
    # fronts, windows, antiquity
    "brownstone": "red_sandstone",
    "soot_bricks": "nether_bricks",
    "concrete": "smooth_stone",
    "rose_front": "pink_terracotta",
    "sage_front": "gray_terracotta",
    "blue_front": "light_blue_terracotta",
    "window": "white_stained_glass",
    "warm_window": "yellow_stained_glass",
    "curtain_glass": "blue_stained_glass",
    "works_window": "gray_stained_glass",
    "dome_glass": "light_blue_stained_glass",
    "marble": "smooth_quartz",
    "marble_shaft": f"quartz_pillar[{_AXES}]",
    "frieze": "chiseled_sandstone",
    "bronze": "dark_prismarine",
    "gold": "gold_block",
    # toys, rooms, shores
    "candy": _glazed("pink"),
    "blue_candy": _glazed("cyan"),
    "toadstool": f"red_mushroom_block[{_CAP}]",
    "pink_leaves": "magenta_wool",
    "blue_leaves": "cyan_wool",
    "golden_leaves": "orange_wool",
    "violet_leaves": "purple_wool",
    "scarlet_leaves": "nether_wart_block",
    "red_wall": "crimson_planks",
    "green_wall": "warped_planks",
    "ochre_wall": "honeycomb_block",
    "blue_wall": "lapis_block",
    "wainscot": f"dark_oak_wood[{_AXES}]",
    "coffer": "chiseled_quartz_block",
    "red_books": "chiseled_nether_bricks",
    "blue_books": "chiseled_polished_blackstone",
    **{f"picture_{n}": _glazed("magenta", facing) for n, facing in enumerate(_COMPASS, 1)},
    **{f"harbour_{c}": _glazed("light_gray", facing) for c, facing in zip(_CORNERS, _COMPASS, strict=True)},
    **{f"mountain_{c}": _glazed("gray", facing) for c, facing in zip(_CORNERS, _COMPASS, strict=True)},
    "pink_coral": "brain_coral_block",
    "orange_coral": "horn_coral_block",
}
"""Kinds that fill a cell; those left out have the game's own name."""

SLABS: dict[str, str] = {
    "turf_slab": "dark_prismarine_slab",
    "trail_slab": "jungle_slab",
    "dune_slab": "cut_sandstone_slab",
    "regolith_slab": "purpur_slab",
    "mint_slab": "warped_slab",
    "clover_slab": "prismarine_brick_slab",
    "boards_slab": "birch_slab",
    "flagstone_slab": "end_stone_brick_slab",
    "red_enamel_slab": "red_nether_brick_slab",
    "yellow_enamel_slab": "smooth_sandstone_slab",
    "blue_enamel_slab": "prismarine_slab",
    "white_enamel_slab": "quartz_slab",
    "grey_enamel_slab": "smooth_stone_slab",
    "black_enamel_slab": "blackstone_slab",
    "marble_slab": "smooth_quartz_slab",
    "oak_top_slab": "oak_slab",
    "spruce_top_slab": "spruce_slab",
    "white_glow_top_slab": "diorite_slab",
}

PLANTS: dict[str, str] = {
    "tall_grass": "grass",
    "dry_tall_grass": "crimson_roots",
    "wheat": "wheat[age=7]",
    "carrots": "carrots[age=7]",
    "white_daisy": "oxeye_daisy",
    "sunflower_bush": "sunflower[half=lower]",
}
"""Kinds of crossed planes; those left out have the game's own name."""

PANES: dict[str, str] = {"steel_rail": "iron_bars"}

POSTS: dict[str, str] = {
    "lantern_post": "end_rod[facing=up]",
    "steel_post": "end_rod[facing=down]",
    "pile": "end_rod[facing=up]",
    "torch": "torch",
}
"""An end rod is the game's one block with the posts' shape."""

LEVELS: dict[str, str] = {
    "layer": "snow[layers=2]",
    "quarter": "snow[layers=3]",
    "three_quarter": "snow[layers=7]",
    "liquid": "water[level=0]",
}
"""By shape. Snow stops a body an eighth below its drawn height: two layers carry it as high as our one."""

_WET = {
    f"minecraft:{wood}_leaves[{_KEPT}]": f"minecraft:{wood}_leaves[{_KEPT},waterlogged=false]"
    for wood in ("oak", "spruce", "acacia", "birch", "jungle")
}
RENAMED: dict[str, dict[str, str]] = {"1.16.5": {}, "1.20.4": {"minecraft:grass": "minecraft:short_grass", **_WET}}
"""By version, what it writes differently."""


_NEAREST_TO: dict[str, str] = {
    **dict.fromkeys(("cave_air", "void_air", "light", "structure_void", "moving_piston"), "air"),
    **dict.fromkeys(("grass_path", "dirt_path"), "path"),
    **dict.fromkeys(("lava", "bubble_column", "kelp", "kelp_plant", "seagrass", "tall_seagrass"), "water"),
    **dict.fromkeys(("ochre_froglight", "verdant_froglight", "pearlescent_froglight"), "white_glow"),
    **dict.fromkeys(("mud", "packed_mud", "muddy_mangrove_roots"), "dirt"),
    **dict.fromkeys(("azalea", "flowering_azalea", "big_dripleaf"), "oak_leaves"),
    **dict.fromkeys(("chorus_plant", "chorus_flower"), "violet_leaves"),
    **dict.fromkeys(("carved_pumpkin", "jack_o_lantern"), "pumpkin"),
    **dict.fromkeys(("jukebox", "note_block", "loom", "lectern", "beehive", "bee_nest"), "oak_planks"),
    **dict.fromkeys(("redstone_block", "tnt", "target"), "red_enamel"),
    **dict.fromkeys(("coal_block", "obsidian", "crying_obsidian"), "black_enamel"),
    **dict.fromkeys(("emerald_block", "slime_block"), "lime_enamel"),
    **dict.fromkeys(("amethyst_block", "budding_amethyst", "shulker_box"), "violet_enamel"),
    **dict.fromkeys(("purpur_block", "purpur_pillar"), "pink_enamel"),
    **dict.fromkeys(("sponge", "wet_sponge"), "yellow_wool"),
    **dict.fromkeys(("short_grass", "sugar_cane", "bamboo_sapling", "vine", "beetroots"), "tall_grass"),
    **dict.fromkeys(("large_fern", "nether_sprouts", "warped_roots", "lily_pad", "frogspawn"), "fern"),
    **dict.fromkeys(("wall_torch", "soul_torch", "soul_wall_torch", "redstone_torch"), "torch"),
    **dict.fromkeys(("packed_ice", "blue_ice", "frosted_ice"), "ice"),
    **dict.fromkeys(("allium", "lilac", "blue_orchid"), "cornflower"),
    **dict.fromkeys(("red_tulip", "rose_bush", "peony", "pink_tulip"), "poppy"),
    **dict.fromkeys(("white_tulip", "azure_bluet", "lily_of_the_valley"), "white_daisy"),
    "farmland": "farmland",
    "potatoes": "carrots",
    "snow": "snow_layer",
    "powder_snow": "cobweb",
    "magma_block": "amber_glow",
    "soul_sand": "regolith",
    "suspicious_sand": "sand",
    "suspicious_gravel": "gravel",
    "moss_block": "turf",
    "cherry_leaves": "pink_leaves",
    "mangrove_propagule": "tall_grass",
    "barrier": "glass",
    "cake": "white_enamel_slab",
    "chiseled_bookshelf": "bookshelf",
    "composter": "barrel",
    "diamond_block": "sky_enamel",
    "honey_block": "ochre_wall",
    "dried_kelp_block": "green_enamel",
    "prismarine": "teal_enamel",
    "scaffolding": "oak_fence",
    "fire_coral_block": "red_wool",
    "tube_coral_block": "blue_wool",
    "bubble_coral_block": "violet_enamel",
}

_PAINTS = {
    **{
        "light_blue": "sky",
        "light_gray": "grey",
        "gray": "grey",
        "cyan": "teal",
        "purple": "violet",
        "magenta": "pink",
    },
    **{colour: colour for colour in ("orange", "lime", "pink", "brown", "green")},
}

_NEAREST_LOGS = {
    "birch": "birch_log",
    "spruce": "spruce_log",
    "acacia": "acacia_log",
    **dict.fromkeys(("dark_oak", "mangrove"), "spruce_log"),
}

# Parts of a name between two underscores, the first that fits: full cell, stairs, slab, thin wall.
_MATERIALS: tuple[tuple[str, str, str, str, str], ...] = (
    ("glass", "glass", "sandstone", "white_enamel", "glass_pane"),
    *((rock, "stone", "cobblestone", "cobblestone", "cobblestone_wall") for rock in ("_ore_", "_raw_")),
    ("iron_", "hull", "cobblestone", "grey_enamel", "steel_rail"),
    ("_chain_", "stone", "cobblestone", "grey_enamel", "steel_rail"),
    *(
        (f"{wood}{end}", log, "oak", "oak", "oak_fence")
        for wood, log in _NEAREST_LOGS.items()
        for end in ("_log_", "_wood_")
    ),
    *((end, "spruce_log", "spruce", "spruce", "spruce_fence") for end in ("_stem_", "_hyphae_")),
    ("mangrove_roots", "spruce_log", "spruce", "spruce", "spruce_fence"),
    ("candle_cake", "white_enamel", "sandstone", "white_enamel", "oak_fence"),
    ("spruce_leaves", "spruce_leaves", "spruce", "spruce", "spruce_fence"),
    ("leaves", "oak_leaves", "oak", "oak", "oak_fence"),
    ("acacia", "acacia_planks", "acacia", "acacia", "oak_fence"),
    ("dark_oak", "rotten_planks", "spruce", "spruce", "spruce_fence"),
    ("mangrove", "spruce_planks", "spruce", "spruce", "spruce_fence"),
    ("crimson", "red_wall", "spruce", "spruce", "spruce_fence"),
    ("warped", "green_wall", "spruce", "spruce", "spruce_fence"),
    ("_log_", "oak_log", "oak", "oak", "oak_fence"),
    ("_wood_", "oak_log", "oak", "oak", "oak_fence"),
    ("spruce", "spruce_planks", "spruce", "spruce", "spruce_fence"),
    ("sandstone", "sandstone", "sandstone", "sandstone", "cobblestone_wall"),
    ("end_stone", "sandstone", "sandstone", "sandstone", "cobblestone_wall"),
    ("quartz", "marble", "sandstone", "marble", "cobblestone_wall"),
    ("brick", "stone_bricks", "cobblestone", "cobblestone", "cobblestone_wall"),
    ("mossy", "mossy_cobblestone", "cobblestone", "cobblestone", "cobblestone_wall"),
    ("oak", "oak_planks", "oak", "oak", "oak_fence"),
    ("birch", "boards", "oak", "boards", "oak_fence"),
    *((wood, "oak_planks", "oak", "oak", "oak_fence") for wood in ("jungle", "cherry", "bamboo")),
    ("planks", "oak_planks", "oak", "oak", "oak_fence"),
    ("ladder", "oak_planks", "oak", "oak", "oak_fence"),
    ("chest", "barrel", "oak", "oak", "oak_fence"),
    ("_table", "barrel", "oak", "oak", "oak_fence"),
    ("_bed_", "red_wool", "oak", "red_enamel", "oak_fence"),
    *((f"_{game}_", f"{ours}_enamel", "cobblestone", "cobblestone", "oak_fence") for game, ours in _PAINTS.items()),
    ("_red_", "red_wool", "cobblestone", "red_enamel", "oak_fence"),
    ("yellow_", "yellow_wool", "sandstone", "yellow_enamel", "oak_fence"),
    ("blue_", "blue_wool", "cobblestone", "blue_enamel", "oak_fence"),
    ("white_", "white_plaster", "sandstone", "white_enamel", "oak_fence"),
    ("black_", "black_enamel", "cobblestone", "black_enamel", "oak_fence"),
    ("terracotta", "terracotta", "sandstone", "cobblestone", "cobblestone_wall"),
    ("dirt", "dirt", "cobblestone", "turf", "oak_fence"),
    ("mycelium", "podzol", "cobblestone", "turf", "oak_fence"),
    ("", "stone", "cobblestone", "cobblestone", "cobblestone_wall"),
)
_THIN = ("_fence", "_wall", "_pane", "_door", "_gate", "_bars", "chain")
"""How names end."""
_FLOWERS = ("flower", "tulip", "rose", "mushroom", "fungus", "petals", "blossom", "pitcher")
_GREEN = ("sapling", "grass", "stem", "vine", "roots", "berry", "wart", "coral", "lichen", "leaf", "vein")


def _nearest(name: str, states: dict[str, str]) -> str:
    """Name of our block nearest to one of the game: by its shape, then by words of its name. Others are stone."""
    if name in _NEAREST_TO:
        return _NEAREST_TO[name]
    cube, stairs, slab, thin = next(row[1:] for row in _MATERIALS if row[0] in f"_{name}_")
    if name.endswith("_stairs"):
        facing = states.get("facing", "north")
        return f"{stairs}_stairs[facing={facing if facing in ('east', 'south', 'west') else 'north'}]"
    if name.endswith("_slab"):
        top = "oak_top_slab" if "oak" in slab or "acacia" in slab else "spruce_top_slab"
        return {"double": cube, "top": top}.get(states.get("type", ""), f"{slab}_slab")
    boxes = table.boxes(name, states)
    if not boxes:
        if states.get("open") == "true":
            return "air"
        return "poppy" if _has(name, _FLOWERS) else "tall_grass" if _has(name, _GREEN) else "torch"
    if boxes == (_FULL,):
        return cube
    if name.endswith(_THIN):
        return "air" if states.get("open") == "true" else thin
    x0, _, z0, x1, _, z1 = (fold(side) for fold, side in zip(_FOLDS, zip(*boxes, strict=True), strict=True))
    if max(x1 - x0, z1 - z0) < 10:
        return "lantern_post"
    if min(x1 - x0, z1 - z0) < 5:
        return thin
    height = max(box[4] for box in boxes)
    levels = ((1, "white_carpet"), (5, "flagstone_quarter"), (9, f"{slab}_slab"))
    return next((low for most, low in levels if height <= most), "flagstone_three_quarter" if height <= 12 else cube)


_FULL = (0, 0, 0, 16, 16, 16)
_FOLDS = (min, min, min, max, max, max)


def _has(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name for word in words)
