"""What each kind of settlement is made of: its land, its plants, and the materials of its houses."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Palette:
    """Materials of one house."""

    wall: str
    beam: str
    plinth: str
    roof_stairs: str
    roof_slab: str
    roof_cube: str
    floor: str
    fence: str
    window: str
    cloth: str
    upper: str
    """Wall of gables and upper storeys."""


@dataclass(frozen=True)
class Biome:
    """Land, plants and houses of one kind of settlement. Densities are shares of free ground cells.

    Attributes:
        patches: (block, threshold in [0, 1], period in metres) of other ground.
        trees: (species, weight).
        forest: Share of the countryside's 7 m squares with a tree.
    """

    ground: str
    soil: str
    shore: str
    bed: str
    relief: float
    patches: tuple[tuple[str, float, int], ...]
    stream: bool
    ponds: int
    trees: tuple[tuple[str, int], ...]
    forest: float
    herbs: tuple[tuple[str, float], ...]
    flowers: tuple[str, ...]
    boulders: tuple[str, ...]
    path: str
    path_worn: str
    palettes: tuple[Palette, ...]
    crops: tuple[str, ...]
    roofs: tuple[str, ...]
    designs: tuple[str, ...]
    special: tuple[str, ...]
    post: str
    bridge: str
    shore_tree: str = ""
    frozen: bool = False
    ruined: bool = False
    snowy: bool = False


def _roof(name: str, cube: str) -> dict[str, str]:
    """Blocks of a roof: stairs and slabs of one material, and a full block."""
    return {"roof_stairs": f"{name}_stairs", "roof_slab": f"{name}_slab", "roof_cube": cube}


_OAK = Palette(
    wall="oak_planks",
    beam="oak_beam",
    plinth="cobblestone",
    **_roof("oak", "oak_planks"),
    floor="oak_planks",
    fence="oak_fence",
    window="glass_pane",
    cloth="red_wool",
    upper="oak_planks",
)
_STONE = replace(
    _OAK, wall="stone_bricks", **_roof("cobblestone", "cobblestone"), upper="white_plaster", cloth="blue_wool"
)
_SPRUCE = replace(
    _OAK,
    wall="spruce_planks",
    beam="spruce_beam",
    **_roof("spruce", "spruce_planks"),
    floor="spruce_planks",
    fence="spruce_fence",
    upper="spruce_planks",
    cloth="blue_wool",
)
_ACACIA = replace(
    _OAK,
    wall="acacia_planks",
    beam="acacia_beam",
    **_roof("acacia", "acacia_planks"),
    floor="acacia_planks",
    upper="acacia_planks",
    cloth="yellow_wool",
)
_SAND = Palette(
    wall="smooth_sandstone",
    beam="cut_sandstone",
    plinth="cut_sandstone",
    **_roof("sandstone", "cut_sandstone"),
    floor="smooth_sandstone",
    fence="oak_fence",
    window="glass_pane",
    cloth="orange_plaster",
    upper="smooth_sandstone",
)

_PLAINS = Biome(
    ground="grass_block",
    soil="dirt",
    shore="sand",
    bed="clay",
    relief=8.0,
    patches=(("coarse_dirt", 0.86, 9),),
    stream=True,
    ponds=6,
    trees=(("oak", 5), ("great_oak", 2), ("birch", 3), ("shrub", 2)),
    forest=0.16,
    herbs=(("tall_grass", 0.085),),
    flowers=("poppy", "dandelion", "cornflower", "white_daisy", "orange_tulip", "sunflower_bush"),
    boulders=("stone", "mossy_rock", "granite"),
    path="path",
    path_worn="gravel",
    palettes=(
        replace(_OAK, wall="white_plaster", upper="white_plaster", **_roof("spruce", "spruce_planks")),
        _OAK,
        replace(_OAK, wall="cobblestone", upper="oak_planks", cloth="yellow_wool"),
        replace(
            _OAK,
            wall="bricks",
            upper="white_plaster",
            **_roof("spruce", "spruce_planks"),
            cloth="blue_wool",
            beam="spruce_beam",
        ),
        _STONE,
    ),
    crops=("wheat", "carrots"),
    roofs=("gable", "gable", "hip"),
    designs=("cottage", "cottage", "townhouse", "longhouse", "corner_house", "barn", "smithy", "library"),
    special=("church", "windmill", "watchtower"),
    post="oak_fence",
    bridge="oak_planks",
)

BIOMES: dict[str, Biome] = {
    "plains": _PLAINS,
    "desert": Biome(
        ground="sand",
        soil="sandstone",
        shore="grass_block",
        bed="sandstone",
        relief=7.0,
        patches=(("red_sand", 0.80, 15), ("sandstone", 0.86, 11), ("terracotta", 0.9, 9)),
        stream=False,
        ponds=5,
        trees=(("cactus", 8), ("dead_bush", 3), ("palm", 1)),
        shore_tree="palm",
        forest=0.26,
        herbs=(("dead_bush", 0.008),),
        flowers=("orange_tulip", "dandelion", "sunflower_bush"),
        boulders=("sandstone", "granite", "terracotta"),
        path="path",
        path_worn="sandstone",
        palettes=(
            _SAND,
            replace(_SAND, wall="cut_sandstone", beam="smooth_sandstone", upper="cut_sandstone", cloth="red_wool"),
            replace(_SAND, wall="orange_plaster", upper="smooth_sandstone", cloth="blue_wool", floor="acacia_planks"),
            replace(_SAND, wall="white_plaster", upper="white_plaster", cloth="yellow_wool", beam="acacia_beam"),
            replace(_SAND, wall="bricks", upper="orange_plaster", plinth="smooth_sandstone", cloth="white_plaster"),
        ),
        crops=("carrots", "wheat"),
        roofs=("flat", "flat", "dome"),
        designs=("cottage", "cottage", "townhouse", "longhouse", "corner_house", "smithy", "library", "tent"),
        special=("minaret", "watchtower", "temple"),
        post="oak_fence",
        bridge="cut_sandstone",
    ),
    "snowy": Biome(
        ground="snow_block",
        soil="dirt",
        shore="gravel",
        bed="gravel",
        relief=9.0,
        patches=(("snowy_grass_block", 0.66, 13), ("stone", 0.9, 9)),
        stream=True,
        ponds=6,
        trees=(("snowy_spruce", 6), ("snowy_pine", 2)),
        forest=0.24,
        herbs=(("fern", 0.006), ("dead_bush", 0.003)),
        flowers=("white_daisy", "cornflower"),
        boulders=("stone", "ice", "granite"),
        path="path",
        path_worn="gravel",
        palettes=(
            replace(_SPRUCE, upper="white_plaster"),
            replace(_SPRUCE, wall="stone_bricks", upper="spruce_planks", cloth="red_wool"),
            replace(
                _SPRUCE,
                wall="spruce_beam",
                upper="spruce_planks",
                cloth="yellow_wool",
                **_roof("cobblestone", "cobblestone"),
            ),
            replace(_SPRUCE, wall="white_plaster", upper="white_plaster", cloth="red_wool"),
            replace(_SPRUCE, wall="cobblestone", upper="spruce_planks"),
        ),
        crops=("carrots", "wheat"),
        roofs=("gable", "gable", "hip"),
        designs=("cottage", "cottage", "townhouse", "longhouse", "corner_house", "barn", "smithy", "igloo", "igloo"),
        special=("church", "watchtower", "library"),
        post="spruce_fence",
        bridge="spruce_planks",
        frozen=True,
        snowy=True,
    ),
    "taiga": Biome(
        ground="grass_block",
        soil="dirt",
        shore="gravel",
        bed="gravel",
        relief=9.5,
        patches=(("podzol", 0.52, 12), ("coarse_dirt", 0.8, 8), ("mossy_rock", 0.93, 7)),
        stream=True,
        ponds=5,
        trees=(("spruce", 6), ("pine", 3), ("shrub", 1)),
        forest=0.42,
        herbs=(("fern", 0.11), ("tall_grass", 0.03)),
        flowers=("cornflower", "white_daisy", "poppy"),
        boulders=("mossy_rock", "mossy_rock", "stone"),
        path="path",
        path_worn="coarse_dirt",
        palettes=(
            _SPRUCE,
            replace(_SPRUCE, wall="cobblestone", plinth="mossy_cobblestone", upper="spruce_planks", cloth="red_wool"),
            replace(
                _SPRUCE,
                wall="spruce_beam",
                upper="oak_planks",
                **_roof("cobblestone", "cobblestone"),
                cloth="yellow_wool",
            ),
            replace(_SPRUCE, wall="oak_planks", upper="oak_planks", cloth="red_wool"),
            replace(_SPRUCE, wall="mossy_cobblestone", plinth="cobblestone", **_roof("oak", "oak_planks")),
        ),
        crops=("carrots", "wheat"),
        roofs=("gable",),
        designs=("cottage", "cottage", "townhouse", "longhouse", "corner_house", "barn", "smithy", "library"),
        special=("watchtower", "church", "watermill"),
        post="spruce_fence",
        bridge="spruce_planks",
    ),
    "savanna": Biome(
        ground="dry_grass_block",
        soil="dirt",
        shore="red_sand",
        bed="clay",
        relief=6.5,
        patches=(("coarse_dirt", 0.78, 12), ("red_sand", 0.84, 9), ("terracotta", 0.92, 8)),
        stream=False,
        ponds=6,
        trees=(("acacia", 6), ("tall_acacia", 2), ("dead_bush", 1), ("shrub", 1)),
        forest=0.15,
        herbs=(("dry_tall_grass", 0.16),),
        flowers=("orange_tulip", "dandelion", "sunflower_bush"),
        boulders=("granite", "terracotta", "stone"),
        path="path",
        path_worn="red_sand",
        palettes=(
            _ACACIA,
            replace(_ACACIA, wall="orange_plaster", upper="acacia_planks", cloth="red_wool"),
            replace(_ACACIA, wall="white_plaster", upper="orange_plaster", cloth="blue_wool"),
            replace(_ACACIA, wall="bricks", upper="acacia_planks", **_roof("oak", "oak_planks"), cloth="red_wool"),
            replace(_ACACIA, wall="acacia_beam", upper="orange_plaster", roof_cube="hay_bale", cloth="blue_wool"),
        ),
        crops=("wheat", "carrots"),
        roofs=("gable", "hip", "hip"),
        designs=(
            "cottage",
            "cottage",
            "townhouse",
            "longhouse",
            "corner_house",
            "barn",
            "smithy",
            "round_hut",
            "round_hut",
        ),
        special=("windmill", "watchtower", "library"),
        post="oak_fence",
        bridge="acacia_planks",
    ),
    "zombie": replace(
        _PLAINS,
        patches=(("podzol", 0.46, 13), ("coarse_dirt", 0.70, 9), ("mossy_rock", 0.88, 7)),
        trees=(("oak", 2), ("dead_tree", 6), ("shrub", 2)),
        forest=0.20,
        herbs=(("tall_grass", 0.20), ("fern", 0.06), ("dead_bush", 0.01)),
        flowers=("white_daisy", "poppy"),
        boulders=("mossy_rock", "stone"),
        path_worn="coarse_dirt",
        ruined=True,
    ),
}
