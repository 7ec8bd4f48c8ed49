"""Brushes for 16x16 tiles: each returns (16, 16, 4) uint8 RGBA that repeats without a seam.

`colour` is the base colour, RGB 0 to 255, `seed` that of the noise, and `contrast` the share by which brightness
varies. All noise is an integer hash of texel and seed, so a tile has the same bytes on every machine and with every
version of numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

SIZE = 16

Tile = NDArray[np.uint8]
Field = NDArray[np.float64]
Colour = tuple[int, int, int]

ROW, COLUMN = np.mgrid[0:SIZE, 0:SIZE]


def speckle(colour: Colour, seed: int, contrast: float = 0.12, blotch: float = 0.5) -> Tile:
    """Draw grainy matter such as earth or sand."""
    return tint(colour, blotch * clouds(seed, 4) + (1 - blotch) * grain(seed + 1), contrast)


def blades(colour: Colour, seed: int) -> Tile:
    """Draw turf from above: mottled, with short bright and dark blades."""
    tile = speckle(colour, seed, 0.13, 0.45)
    for n, (row, column) in enumerate(_scatter(seed + 2, 22)):
        factor = 1.2 if n % 2 else 0.8
        for step in range(2):
            tile[(row + step) % SIZE, column, :3] = shade(colour, factor)
    return tile


def fringe(over: Tile, under: Tile, depth: int, seed: int) -> Tile:
    """Let the upper rows of one tile hang over another."""
    hang = depth + np.floor(5 * grain(seed)[0]).astype(int) - 2
    return np.where((hang[None, :] > ROW)[..., None], over, under)


def stones(colour: Colour, seed: int, count: int = 11, contrast: float = 0.16, joint: float = 0.55) -> Tile:
    """Draw round stones with dark joints: cobbles and gravel."""
    centres = np.array(_scatter(seed, count), float) + 0.5
    away = np.abs(np.stack([ROW, COLUMN], -1)[:, :, None] + 0.5 - centres)
    away = np.minimum(away, SIZE - away)
    distance = np.sort(np.hypot(away[..., 0], away[..., 1]), axis=-1)
    owner = np.argmin(np.hypot(away[..., 0], away[..., 1]), axis=-1)
    tone = grain(seed + 3).ravel()[owner] * 0.7 + grain(seed + 4) * 0.3
    tile = tint(colour, tone, contrast)
    tile[distance[..., 1] - distance[..., 0] < 0.9, :3] = shade(colour, joint)
    return tile


def courses(colour: Colour, mortar: Colour, seed: int, height: int = 4, width: int = 8) -> Tile:
    """Draw masonry in running bond; a brick's height and width in texels include the mortar."""
    course = ROW // height
    offset = (COLUMN + (course % 2) * (width // 2)) % SIZE
    brick = course * SIZE + offset // width
    tone = 0.65 * grain(seed).ravel()[(brick * 7) % (SIZE * SIZE)] + 0.35 * grain(seed + 1)
    tile = tint(colour, tone, 0.13)
    lit = ROW % height == 0
    tile[lit, :3] = np.clip(tile[lit, :3] * 1.08, 0, 255)
    tile[(ROW % height == height - 1) | (offset % width == width - 1), :3] = mortar
    return tile


def planks(colour: Colour, seed: int) -> Tile:
    """Draw four boards with long grain, dark gaps and one butt joint per board."""
    tile = tint(colour, 0.35 * grain(seed).ravel()[ROW // 4 * 5] + 0.65 * streaks(seed + 1), 0.13)
    joint = np.array([3, 11, 7, 14])[ROW // 4]
    tile[(ROW % 4 == 3) | (joint == COLUMN), :3] = shade(colour, 0.68)
    lit = (ROW % 4 == 0) & (joint != COLUMN)
    tile[lit, :3] = np.clip(tile[lit, :3] * 1.06, 0, 255)
    return tile


def bark(colour: Colour, seed: int, contrast: float = 0.2) -> Tile:
    """Draw tree bark: long upright ridges."""
    tile = tint(colour, 0.8 * streaks(seed).T + 0.2 * grain(seed + 1), contrast)
    furrow = (grain(seed + 2)[:1] < 0.28) & (grain(seed + 3) < 0.8)
    tile[furrow, :3] = shade(colour, 0.68)
    return tile


def rings(wood: Colour, rim: Colour, seed: int) -> Tile:
    """Draw the end of a sawn trunk: annual rings inside a rim of bark."""
    radius = np.maximum(np.abs(ROW - 7.5), np.abs(COLUMN - 7.5))
    tile = tint(wood, np.where(np.floor(radius) % 2 == 0, 0.85, 0.25) * 0.8 + 0.2 * grain(seed), 0.12)
    tile[radius > 7, :3] = tint(rim, grain(seed + 1), 0.15)[radius > 7, :3]
    return tile


def timber(colour: Colour, seed: int) -> Tile:
    """Draw a squared beam: upright grain between darker edges."""
    tile = tint(colour, 0.75 * streaks(seed).T + 0.25 * grain(seed + 1), 0.11)
    tile[:, [0, 15], :3] = shade(colour, 0.8)
    return tile


def foliage(colour: Colour, seed: int, gap: float = 0.2) -> Tile:
    """Draw dense leaves."""
    field = 0.5 * clouds(seed, 8) + 0.5 * grain(seed + 1)
    tile = tint(colour, field, 0.3)
    tile[field < np.quantile(field, gap), :3] = shade(colour, 0.52)
    return tile


def weave(colour: Colour, seed: int) -> Tile:
    """Draw cloth: a checked weave."""
    return tint(colour, 0.6 * ((ROW // 2 + COLUMN // 2) % 2) + 0.4 * grain(seed), 0.09)


def panel(colour: Colour, seed: int, border: float = 0.84) -> Tile:
    """Draw a dressed block: nearly plain, with a chiselled border."""
    tile = tint(colour, 0.5 * clouds(seed, 4) + 0.5 * grain(seed + 1), 0.045)
    edge = (ROW % 15 == 0) | (COLUMN % 15 == 0)
    tile[edge, :3] = shade(colour, border)
    return tile


def strata(colour: Colour, seed: int) -> Tile:
    """Draw layered rock: level bands, a bright one on top."""
    tile = tint(colour, 0.7 * grain(seed)[:, :1] + 0.3 * streaks(seed + 1), 0.08)
    tile[0, :, :3] = shade(colour, 1.06)
    tile[15, :, :3] = shade(colour, 0.86)
    return tile


def ripples(colour: Colour, seed: int) -> Tile:
    """Draw water: soft slanting bands with few bright crests."""
    wave = np.sin((ROW + 1.6 * np.sin(COLUMN * np.pi / 8)) * np.pi / 4)
    field = 0.45 + 0.28 * wave + 0.35 * (clouds(seed, 4) - 0.5)
    tile = tint(colour, field, 0.16)
    crest = field > np.quantile(field, 0.95)
    tile[crest, :3] = shade(colour, 1.35)
    return tile


def clear() -> Tile:
    """Nothing yet: fully transparent."""
    return np.zeros((SIZE, SIZE, 4), np.uint8)


def sketch(rows: str, colours: dict[str, Colour], seed: int = 0, contrast: float = 0.08) -> Tile:
    """Draw a tile from 16 lines of 16 letters in the colours of the letters; `.` is transparent."""
    lines = rows.split()
    if [len(line) for line in lines] != [SIZE] * SIZE:
        raise ValueError("a sketch has 16 lines of 16 letters")
    tile = clear()
    letters = np.array([list(line) for line in lines])
    for letter, colour in colours.items():
        mask = letters == letter
        tile[mask] = tint(colour, grain(seed), contrast)[mask]
    return tile


def stalks(colour: Colour, seed: int, count: int, lowest: int, highest: int) -> Tile:
    """Draw leaning blades of grass, `lowest` to `highest` texels tall, on a clear ground."""
    tile = clear()
    noise = grain(seed)
    for n in range(count):
        base = (n + 0.5 + 0.6 * (noise[0, n % 16] - 0.5)) * SIZE / count
        lean = 5 * (noise[1, n % 16] - 0.5)
        height = lowest + noise[2, n % 16] * (highest - lowest)
        for up in range(int(height)):
            column = int(base + lean * (up / height) ** 2) % SIZE
            tone = 0.72 + 0.45 * up / highest + 0.12 * (noise[3, n % 16] - 0.5)
            tile[SIZE - 1 - up, column, :3] = shade(colour, tone)
            tile[SIZE - 1 - up, column, 3] = 255
    return tile


def tint(colour: Colour, field: Field, contrast: float) -> Tile:
    """Draw an opaque tile of one colour in six tones, by a brightness from 0 to 1."""
    tone = np.floor(np.clip(field, 0, 0.999) * 6) / 5
    rgb = np.asarray(colour, float) * (1 + contrast * (2 * np.broadcast_to(tone, (SIZE, SIZE)) - 1))[..., None]
    tile = np.full((SIZE, SIZE, 4), 255, np.uint8)
    tile[..., :3] = np.clip(np.rint(rgb), 0, 255)
    return tile


def shade(colour: ArrayLike, factor: float) -> NDArray[np.uint8]:
    """Make a colour brighter or darker by a factor."""
    return np.clip(np.rint(np.asarray(colour, float) * factor), 0, 255).astype(np.uint8)


def grain(seed: int) -> Field:
    """White noise in [0, 1), (16, 16)."""
    h = (ROW * SIZE + COLUMN + 1 + seed * 7919).astype(np.uint64)
    for multiplier in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        h = (h ^ (h >> np.uint64(29))) * np.uint64(multiplier)
    noise: Field = (h >> np.uint64(40)).astype(float) / 2**24
    return noise


def clouds(seed: int, cells: int) -> Field:
    """Return smooth noise (16, 16) in [0, 1] that repeats without a seam, with `cells` waves per side."""
    knots = grain(seed)[:cells, :cells]
    at = np.arange(SIZE) * cells / SIZE
    low = at.astype(int)
    f = at - low
    f = f * f * (3 - 2 * f)
    rows = knots[low] * (1 - f)[:, None] + knots[(low + 1) % cells] * f[:, None]
    smooth: Field = rows[:, low] * (1 - f) + rows[:, (low + 1) % cells] * f
    return _stretched(smooth)


def streaks(seed: int) -> Field:
    """Noise drawn out along the rows, (16, 16), in [0, 1]."""
    noise = grain(seed)
    drawn: Field = sum((np.roll(noise, shift, axis=1) for shift in range(5)), np.zeros_like(noise)) / 5
    return _stretched(drawn)


def _stretched(field: Field) -> Field:
    """The field brought to [0, 1]."""
    low, high = float(field.min()), float(field.max())
    return (field - low) / max(high - low, 1e-9)


def _scatter(seed: int, count: int) -> list[tuple[int, int]]:
    """Texels spread evenly but irregularly: best of several candidates, distances wrap round."""
    noise = grain(seed).ravel()
    chosen: list[tuple[int, int]] = []
    for n in range(count):
        best, score = (0, 0), -1.0
        for k in range(6):
            cell = int(noise[(n * 6 + k) % 256] * 256)
            row, column = divmod(cell, SIZE)
            gaps = [
                min(abs(row - r), SIZE - abs(row - r)) ** 2 + min(abs(column - c), SIZE - abs(column - c)) ** 2
                for r, c in chosen
            ]
            nearest = min(gaps, default=1000)
            if nearest > score:
                best, score = (row, column), float(nearest)
        chosen.append(best)
    return chosen


def _hand_drawn() -> dict[str, str]:
    """Tiles in letters, by name: blocks of lines, the name in the first one."""
    text = (files(__package__) / "tiles.txt").read_text("utf-8")
    return dict(block.split("\n", 1) for block in text.split("\n\n"))


HAND_DRAWN = _hand_drawn()
"""Rows of tiles for `sketch`, one letter per texel, `.` clear; textures.py has the colours of the letters."""


def faces(top: Tile, side: Tile, bottom: Tile) -> tuple[Tile, Tile, Tile]:
    """Faces that differ."""
    return top, side, bottom


BRUSHES: dict[str, Callable[..., Any]] = {
    draw.__name__: draw
    for draw in (
        *(speckle, blades, fringe, stones, courses, planks, bark, rings, timber, foliage, weave, panel, strata),
        *(ripples, stalks, tint, clouds, streaks, faces),
    )
}
"""What a table of tiles may name."""


def draw_tile(
    tile: Any, brushes: Mapping[str, Callable[..., Any]], known: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """Draw a tile of a table: [brush, arguments, ..., options], where an argument may be such a list.
    A text that begins with "@" is the tile of that name in `known`."""
    if isinstance(tile, str):
        return known[tile.removeprefix("@")]
    name, *arguments = tile
    options = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
    values = []
    for value in arguments:
        nested = isinstance(value, list) and isinstance(value[0], str)
        named = isinstance(value, str) and value.startswith("@")
        values.append(draw_tile(value, brushes, known) if nested or named else value)
    return brushes[name](*values, **options)
