"""Colours of blocks from our own flat palette: by name, then by the material that the name suggests."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

RGB = tuple[int, int, int]

PALETTE: dict[str, dict[str, Any]] = json.loads((files(__package__) / "palette.json").read_text("utf-8"))
"""Colours by the names of dyes, woods, blocks, ...; chosen by eye, no picture of the game went into them.

woods: planks, bark, leaves. faces: top, side, bottom. clear: colour, opacity of 255.
"""

OPAQUE = 255
LEAVES_OPACITY = 232
"""Leaves hide most of what is behind them: a trunk is guessed, not seen."""

GLASS_OPACITY = 120
LONGEST_NAME = 64


class Look(NamedTuple):
    """Colours of a block's faces. `opacity`: 255 for a block that hides everything behind it."""

    top: RGB
    side: RGB
    bottom: RGB
    opacity: int = OPAQUE


def _rgb(digits: str) -> RGB:
    red, green, blue = bytes.fromhex(digits)
    return red, green, blue


PAINTS: dict[str, RGB] = {name: _rgb(digits) for name, digits in PALETTE["paints"].items()}
"""Colours of parts that are not of the block's own, by name."""


@lru_cache(maxsize=4096)
def look_of(name: str) -> Look:
    """Colours of a block."""
    return _made_of(name) or _plain(_hashed(name))


def mixed(one: RGB, other: RGB, share: float) -> RGB:
    """Mix two colours. `one`, `other`: RGB. `share`: share of `other`, 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _made_of(name: str) -> Look | None:
    # No block's name is longer, and parts are cut off a name one by one.
    if len(name) > LONGEST_NAME:
        return None
    return _by_name(name) or _dyed(name) or _wooden(name) or _derived(name)


def _by_name(name: str) -> Look | None:
    if name in PALETTE["faces"]:
        top, side, bottom = (_rgb(digits) for digits in PALETTE["faces"][name])
        return Look(top, side, bottom)
    if name in PALETTE["clear"]:
        digits, opacity = PALETTE["clear"][name]
        return _plain(_rgb(digits), opacity)
    digits = PALETTE["blocks"].get(name)
    return None if digits is None else _plain(_rgb(digits))


_DYED_WITH: dict[str, tuple[RGB, float]] = {
    "terracotta": ((152, 94, 68), 0.55),
    "concrete": ((0, 0, 0), 0.1),
    "concrete_powder": ((255, 255, 255), 0.15),
    "glazed_terracotta": ((235, 225, 200), 0.2),
}
"""What dyes are mixed with, and its share."""


def _dyed(name: str) -> Look | None:
    """Of what comes in sixteen colours."""
    dye = next((dye for dye in sorted(PALETTE["dyes"], key=len, reverse=True) if name.startswith(dye + "_")), None)
    if dye is None:
        return None
    colour = _rgb(PALETTE["dyes"][dye])
    goods = name.removeprefix(dye + "_")
    if goods in ("stained_glass", "stained_glass_pane"):
        return _plain(colour, GLASS_OPACITY)
    if goods in _DYED_WITH:
        return _plain(mixed(colour, *_DYED_WITH[goods]))
    if goods in ("wool", "carpet", "bed", "banner", "wall_banner", "candle", "candle_cake", "shulker_box"):
        return _plain(colour)
    return None


_BARK = ("log", "wood", "stem", "hyphae", "block")
_SAWN = ("planks", "mosaic", "door", "trapdoor", "sign", "fence", "fence_gate", "stairs", "slab", "button")


def _wooden(name: str) -> Look | None:
    stripped = name.startswith("stripped_")
    plain = name.removeprefix("stripped_").removeprefix("potted_")
    wood = next((w for w in sorted(PALETTE["woods"], key=len, reverse=True) if plain.startswith(w + "_")), None)
    if wood is None:
        return None
    planks, bark, leaves = (_rgb(digits) for digits in PALETTE["woods"][wood])
    goods = plain.removeprefix(wood + "_")
    if goods in _BARK:
        cut = mixed(planks, (255, 255, 255), 0.06)
        side = planks if stripped else bark
        return Look(cut, side, cut) if goods in ("log", "stem", "block") else _plain(side)
    if goods == "leaves":
        return _plain(leaves, LEAVES_OPACITY)
    if goods in ("sapling", "bush"):
        return _plain(leaves)
    made = goods.endswith(_SAWN) or goods == "pressure_plate"
    return _plain(planks) if made else None


_ENDINGS = (
    "_stairs", "_slab", "_wall", "_fence_gate", "_fence", "_button", "_pressure_plate", "_door", "_trapdoor", "_block",
    "_bricks", "_tiles", "_tile", "_brick", "_pillar", "_cluster", "_ore", "_pane", "_carpet", "_wall_fan", "_fan",
    "_cake", "_bud", "_bulb", "_grate", "_cauldron",
)  # fmt: skip
_BEGINNINGS = (
    "polished_", "mossy_", "infested_", "waxed_", "potted_", "chipped_",
    "damaged_", "budding_", "large_", "medium_", "small_", "petrified_", "soul_", "wall_", "packed_", "deepslate_",
    "water_", "lava_", "powder_snow_",
)  # fmt: skip
_FINISHES = {
    "smooth_": ((255, 255, 255), 0.08),
    "cut_": ((255, 255, 255), 0.05),
    "chiseled_": ((0, 0, 0), 0.06),
    "cracked_": ((0, 0, 0), 0.1),
}
"""Finishes a little lighter or darker than the material."""

_ORE = 0.35


def _derived(name: str) -> Look | None:
    """The colour of what a block is made of: oak_stairs of oak, chiseled_quartz_block of quartz."""
    if name.endswith("_ore"):
        rock = look_of("deepslate" if name.startswith("deepslate_") else "stone").side
        mineral = _by_name(name.removeprefix("deepslate_").removesuffix("_ore"))
        return None if mineral is None else _plain(mixed(rock, mineral.side, _ORE))
    if name == "petrified_oak_slab":
        return look_of("oak_planks")
    for start, (other, share) in _FINISHES.items():
        if start in name:
            rough = name.replace(start, "", 1)
            found = _by_name(rough) or _derived(rough)
            if found is None:
                return None
            top, side, bottom = (mixed(face, other, share) for face in (found.top, found.side, found.bottom))
            return Look(top, side, bottom, found.opacity)
    return next((found for less in shorter_names(name) if (found := _by_name(less) or _wooden(less))), None)


def shorter_names(name: str) -> tuple[str, ...]:
    """Names of what a block may be made of, nearest first: oak_stairs is of oak_planks, brick_slab of bricks."""
    found: list[str] = []
    rest = [name] if len(name) <= LONGEST_NAME else []
    while rest:
        following = []
        for one in rest:
            less = [one.removeprefix(start) for start in _BEGINNINGS if one.startswith(start)]
            less += [one.removesuffix(ending) for ending in _ENDINGS if one.endswith(ending)]
            less += [one.replace("_wall_", "_")] if "_wall_" in one else []
            following += less
            found += [base + more for base in less for more in ("", "s", "_block", "_planks")]
        rest = [one for one in dict.fromkeys(following) if one]
    return tuple(base for base in dict.fromkeys(found) if base != name)


def _plain(colour: RGB, opacity: int = OPAQUE) -> Look:
    return Look(colour, colour, colour, opacity)


def _hashed(name: str) -> RGB:
    """A colour of middle brightness that follows from the name alone."""
    digest = hashlib.sha256(name.encode()).digest()
    return 80 + digest[0] % 128, 80 + digest[1] % 128, 80 + digest[2] % 128
