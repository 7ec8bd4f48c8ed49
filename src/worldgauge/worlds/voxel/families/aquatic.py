"""A harbour town on the water: broad boardwalks, piers, boats, huts on piles, islands, a lighthouse, reefs."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage, walkable
from worldgauge.worlds.voxel.terrain import BoolArray, boulder, grow, tree, value_noise

Z = FLOOR_Z
SEA = Z - 2
"""z of the water's surface cell: the decks lie a little more than a metre above the water."""

_PAINTS = ("pink_coral", "teal_enamel", "yellow_enamel", "white_enamel", "orange_enamel", "sky_enamel", "pink_enamel")


def draw(stage: Stage) -> None:
    """Sea bed and islands, decks on piles, then houses and boats."""
    deck = _decks(stage)
    lots = _lots(stage, deck)
    land = _islands(stage, deck)
    stage.lay_ground({"turf": land & (stage.quarters >= 4 * Z + 6)}, "sandstone", "dune")
    # The bed is laid; from here on `quarters` is the height on which things stand.
    stage.flood(~land, SEA)
    i, j = np.nonzero(deck & ~land)
    stage.canvas.states[i, j, Z - 1] = block("boards")
    stage.canvas.instances[i, j, Z - 1] = 0
    stage.quarters[deck & ~land] = 4 * Z
    stage.taken = ~(deck | land)
    _piles(stage, deck & ~land)
    for x, y in lots:
        if stage.claim((x, x + 9), (y, y + 8), 0):
            _hut(stage, x, y)
    stage.taken |= stage.away < 5
    for things, wanted, width, near, far in (
        (_crane, 1, (4, 4), 10, 30),
        (_hut, 8, (9, 8), 20, 90),
        (_boat_on_trestles, 2, (9, 5), 8, 40),
        (_fish_fountain, 1, (9, 9), 7, 26),
        (_stall, 5, (5, 4), 6, 40),
        (_shell_statue, 2, (5, 3), 8, 40),
        (_goods, 12, (3, 3), 5, 50),
        (_lamp, 16, (2, 2), 5, 60),
    ):
        for x, y in stage.places(wanted, *width, near=near, far=far, gap=1):
            things(stage, x, y)
    _rails(stage, deck, land)
    _plants(stage, land)
    sea = ~grow(deck | land, 1)
    stage.taken = ~sea
    for things, wanted, width, near, far in (
        (_ship, 2, (19, 8), 18, 46),
        (_boat, 9, (8, 4), 12, 60),
        (_boat, 5, (8, 4), 40, 90),
        (_reef, 22, (7, 7), 14, 90),
        (_buoy, 8, (3, 3), 14, 60),
    ):
        for x, y in stage.places(wanted, *width, near=near, far=far, gap=1):
            things(stage, x, y)


def _decks(stage: Stage) -> BoolArray:
    """A square of boards with broad arms, and a ring or a second square that joins them."""
    i, j = (a - c for a, c in zip(np.indices(stage.size[:2]), stage.centre, strict=True))
    half_x, half_y = stage.between(15, 20), stage.between(15, 20)
    deck = (np.abs(i) <= half_x) & (np.abs(j) <= half_y)
    for sign, axis in stage.shuffled([(1, 0), (-1, 0), (0 - 1, 1), (1, 1)]):
        along, across = (i, j) if axis == 0 else (j, i)
        shift, wide = stage.between(-6, 6), stage.between(4, 5)
        reach = stage.between(34, 70)
        arm = (along * sign > 0) & (along * sign < reach) & (np.abs(across - shift) <= wide)
        cross = stage.between(24, 31)
        deck |= arm
        deck |= (np.abs(along * sign - cross) <= 3) & (across * stage.pick((-1, 1)) > -6) & (np.abs(across) < 28)
    # Basins where boats lie, cut out of the corners of the square.
    for sx, sy in stage.shuffled([(1, 1), (1, -1), (-1, 1), (-1, -1)])[:2]:
        deck &= ~((i * sx > half_x - 6) & (i * sx <= half_x) & (j * sy > half_y - 6) & (j * sy <= half_y))
    return np.asarray(deck)


def _lots(stage: Stage, deck: BoolArray) -> list[tuple[int, int]]:
    """Lower corners of plots for huts at the rim of the decks, most of each over the water; they become deck."""
    found: list[tuple[int, int]] = []
    first = deck.copy()
    for _ in range(900):
        x, y = (c + stage.between(-46, 46) for c in stage.centre)
        lot = slice(x - 1, x + 10), slice(y - 1, y + 9)
        share = float(first[lot].mean())
        apart = all(abs(x - a) > 10 or abs(y - b) > 9 for a, b in found)
        if 0.08 < share < 0.4 and apart and len(found) < 13:
            found.append((x, y))
            deck[lot] = True
    return found


def _islands(stage: Stage, deck: BoolArray) -> BoolArray:
    """Round islands, one near the square; their beaches slope into the sea. Returns the dry land."""
    shape = stage.size[:2]
    height = np.full(shape, 4 * (Z - 5), np.int64)
    ragged = value_noise(stage.rng, shape, 9)
    spots = [(stage.between(24, 32), stage.between(11, 15))]
    spots += [(stage.between(46, 84), stage.between(9, 16)) for _ in range(8)]
    for number, (away, radius) in enumerate(spots):
        # A direction as a point of a square: the same on every machine, which a sine is not.
        u, v = 2 * stage.rng.random(2) - 1
        scale = away / max(float(np.sqrt(u * u + v * v)), 0.2)
        x, y = int(stage.centre[0] + u * scale), int(stage.centre[1] + v * scale)
        i, j = (np.arange(n) - c for n, c in zip(shape, (x, y), strict=True))
        d = np.sqrt(((i * i)[:, None] + (j * j)[None, :]).astype(np.float64)) + 5 * (ragged - 0.5)
        rise = np.floor((radius - d) * 1.7 + 4 * (Z - 1)).astype(np.int64)
        top = 4 * Z + (6 if number else 4) + 2 * (number % 3)
        height = np.maximum(height, np.minimum(rise, top + np.maximum(rise - top, 0) // 5))
        if number in (1, 2):
            _rock(stage, x, y, lighthouse=number == 1)
    near_deck = grow(deck, 2)
    height = np.where(near_deck & (height > 4 * Z - 4), np.minimum(height, 4 * Z), height)
    stage.quarters = walkable(height, height >= 4 * (Z - 1))
    return stage.quarters > 4 * (Z - 1)


def _rock(stage: Stage, x: int, y: int, *, lighthouse: bool) -> None:
    """A crag in an island's middle, with a lighthouse on one of them."""
    if not (12 < x < stage.size[0] - 12 and 12 < y < stage.size[1] - 12):
        x, y = (min(max(a, 14), n - 15) for a, n in zip((x, y), stage.size, strict=False))
    own = stage.begin("crag")
    stage.ball((x + 0.5, y + 0.5, Z - 1), (7.5, 6.5, 5), "stone", own)
    stage.ball((x - 3, y + 2, Z - 1), (5, 5, 3.5), "granite", own)
    if not lighthouse:
        return
    own, base = stage.begin("lighthouse"), Z + 3
    for w in range(22):
        name = ("red_enamel", "white_enamel")[w // 4 % 2]
        stage.pillar(x + 0.5, y + 0.5, 3.6 - 0.06 * w, (base + w, base + w + 1), name, own)
    stage.pillar(x + 0.5, y + 0.5, 3.8, (base + 22, base + 23), "black_enamel", own)
    stage.pillar(x + 0.5, y + 0.5, 1.9, (base + 23, base + 26), "amber_glow", own)
    stage.cone(x + 0.5, y + 0.5, 3, (base + 26, base + 29), "red_enamel", own)


def _piles(stage: Stage, deck: BoolArray) -> None:
    """Posts under the rim of the decks, down to the bed."""
    rim = deck & grow(~deck, 1)
    i, j = np.indices(deck.shape)
    for x, y in np.argwhere(rim & ((i + j) % 4 == 0)).tolist():
        stage.box((x, x + 1), (y, y + 1), (Z - 6, Z - 1), "pile")


def _rails(stage: Stage, deck: BoolArray, land: BoolArray) -> None:
    """Railings and bollards along some of the rim."""
    rim = deck & ~land & grow(~(deck | land), 1)
    stretch = value_noise(stage.rng, deck.shape, 8) > 0.5
    own = stage.begin("railing")
    for x, y in np.argwhere(rim & ~stage.taken).tolist():
        if stretch[x, y]:
            stage.put(x, y, Z, "oak_fence", own)
        elif (x + y) % 6 == 0:
            stage.put(x, y, Z, "pile", own)


def _plants(stage: Stage, land: BoolArray) -> None:
    """Palms, boulders and flowers on the islands."""
    palms = [tree("palm", stage.rng) for _ in range(5)]
    stage.taken |= ~land
    for x, y in stage.places(34, 3, 3, near=6, far=95):
        stage.stamp(x + 1, y + 1, palms[stage.between(0, 4)], "palm")
    for x, y in stage.places(8, 7, 7, near=16, far=95):
        stage.stamp(x + 3, y + 3, boulder(stage.pick(("stone", "granite", "sandstone")), stage.rng), "boulder", sunk=1)
    stage.sow(land & (stage.quarters >= 4 * Z + 6), ("tall_grass", "poppy", "dandelion", "tall_grass", "fern"), 0.2)


def _hut(stage: Stage, x: int, y: int) -> None:
    """A painted hut with a steep roof, a door and windows; some stand on the island."""
    own = stage.begin("hut", x + 4, y + 4)
    z = int(stage.quarters[x : x + 9, y : y + 8].max()) // 4
    paint, roof = stage.pick(_PAINTS), stage.pick(("spruce_planks", "brown_enamel", "red_enamel", "blue_enamel"))
    tall = stage.between(3, 6)
    i, j = (x + 1, x + 8), (y + 1, y + 7)
    stage.box(i, j, (Z - 1, z), "spruce_planks", own)
    stage.shell(i, j, (z, z + tall), paint, own)
    for corner in ((x + 1, y + 1), (x + 7, y + 1), (x + 1, y + 6), (x + 7, y + 6)):
        stage.box((corner[0], corner[0] + 1), (corner[1], corner[1] + 1), (z, z + tall), "white_enamel", own)
    for level in range(z + 1, z + tall - 1, 3):
        for dx in (3, 5):
            for wall in (y + 1, y + 6):
                stage.box((x + dx, x + dx + 1), (wall, wall + 1), (level, level + 2), "window", own)
        for dy in (3, 4):
            for wall in (x + 1, x + 7):
                stage.put(wall, y + dy, level + 1, "warm_window", own)
    for door in (y + 1, y + 6):
        stage.box((x + 4, x + 5), (door, door + 1), (z, z + 2), "brown_enamel", own)
    for n in range(5):
        low, high = y + n, y + 8 - n
        if low >= high:
            break
        stage.box((x, x + 9), (low, high), (z + tall + n, z + tall + n + 1), roof, own)
        for end in (x, x + 8):
            if high - low > 2:
                stage.box((end, end + 1), (low + 1, high - 1), (z + tall + n, z + tall + n + 1), paint, own)


def _stall(stage: Stage, x: int, y: int) -> None:
    """Fish and fruit under a striped cloth."""
    own = stage.begin("stall", x, y)
    paint = stage.pick(("red_enamel_slab", "blue_enamel_slab", "yellow_enamel_slab"))
    stage.draw("fish_stall", (x, y, stage.foot(x, y)), own, cloth=paint)


def _crane(stage: Stage, x: int, y: int) -> None:
    """A loading crane of timber and steel."""
    own = stage.begin("crane", x, y)
    stage.draw("crane", (x, y, Z), own)
    stage.draw("crane_arm_right" if x > stage.centre[0] else "crane_arm_left", (x, y, Z), own)


def _fish_fountain(stage: Stage, x: int, y: int) -> None:
    """A basin in which a great fish stands on its tail."""
    own = stage.begin("fountain", x, y)
    stage.draw("fish_fountain", (x, y, Z), own, skin=stage.pick(("orange_coral", "pink_coral", "gold")))


def _shell_statue(stage: Stage, x: int, y: int) -> None:
    """A scallop as tall as a man, or an anchor."""
    own = stage.begin("monument", x, y)
    z = stage.foot(x + 2, y + 1)
    stage.draw("scallop" if stage.rng.random() < 0.5 else "anchor", (x, y, z), own)


def _goods(stage: Stage, x: int, y: int) -> None:
    """Barrels, crates and nets."""
    own = stage.begin("barrels", x, y)
    z = stage.foot(x + 1, y + 1)
    for dx, dy in ((0, 0), (1, 0), (0, 1), (2, 2), (1, 2)):
        if stage.rng.random() < 0.7:
            name = stage.pick(("barrel", "oak_planks", "blue_wool", "barrel", "orange_enamel"))
            for w in range(stage.between(1, 2)):
                stage.put(x + dx, y + dy, z + w, name, own)


def _lamp(stage: Stage, x: int, y: int) -> None:
    """A lantern on a pile."""
    own = stage.begin("lamp_post", x, y)
    z = stage.foot(x, y)
    stage.box((x, x + 1), (y, y + 1), (z, z + 3), "pile", own)
    stage.put(x, y, z + 3, "lantern_post", own)


def _hull(stage: Stage, x: int, y: int, long: int, wide: int, paint: str, own: int, *, along_x: bool) -> None:
    """A boat's body: pointed ahead, square behind, a deck between raised sides."""
    for n in range(long):
        taper = min(n + 1, 3) if n < 3 else 3
        half = wide / 2 * (taper / 3)
        low, high = int(wide / 2 - half + 0.5), int(wide / 2 + half + 0.5)
        for across in range(low, high):
            side = across in (low, high - 1) or n in (0, long - 1)
            i, j = (x + n, y + across) if along_x else (x + across, y + n)
            stage.box((i, i + 1), (j, j + 1), (SEA, SEA + 2 if side else SEA + 1), paint if side else "boards", own)
            if side:
                stage.put(i, j, SEA + 2, "white_enamel_slab", own)


def _boat(stage: Stage, x: int, y: int) -> None:
    """A small boat, with a sail or a cabin."""
    own = stage.begin("boat")
    paint = stage.pick(("red_enamel", "blue_enamel", "teal_enamel", "brown_enamel", "white_enamel", "orange_enamel"))
    _hull(stage, x, y, 8, 4, paint, own, along_x=True)
    if stage.rng.random() < 0.6:
        cloth = stage.pick(("white_enamel", "cream_enamel", "red_enamel", "yellow_enamel"))
        stage.draw("sail", (x, y, SEA), own, cloth=cloth)
    else:
        stage.draw("cabin", (x, y, SEA), own)


def _boat_on_trestles(stage: Stage, x: int, y: int) -> None:
    """A boat pulled out of the water, keel up on two trestles."""
    own = stage.begin("boat", x, y)
    z = int(stage.quarters[x : x + 9, y : y + 5].max()) // 4
    paint = stage.pick(("red_enamel", "blue_enamel", "teal_enamel", "yellow_enamel"))
    stage.draw("boat_on_trestles", (x, y, z), own, paint=paint)


def _ship(stage: Stage, x: int, y: int) -> None:
    """A ship with two masts and square sails."""
    own = stage.begin("sailing_ship")
    paint = stage.pick(("brown_enamel", "spruce_planks", "red_enamel"))
    cloth = stage.pick(("cream_enamel", "white_enamel"))
    _hull(stage, x, y, 19, 8, paint, own, along_x=True)
    stage.draw("masts", (x, y, SEA), own, paint=paint, cloth=cloth)


def _reef(stage: Stage, x: int, y: int) -> None:
    """Corals that break the surface."""
    own = stage.begin("reef")
    for _ in range(stage.between(2, 4)):
        i, j = x + 1 + 5 * float(stage.rng.random()), y + 1 + 5 * float(stage.rng.random())
        r = 1 + 1.4 * float(stage.rng.random())
        name = stage.pick(("pink_coral", "orange_coral", "violet_enamel", "pink_coral"))

        def branch(a: FloatArray, b: FloatArray, c: FloatArray, i: float = i, j: float = j, r: float = r) -> BoolArray:
            grown = r * (1.2 - 0.25 * np.abs(c - SEA - 1))
            return np.asarray((a - i) * (a - i) + (b - j) * (b - j) <= np.maximum(grown, 0.3) ** 2)

        stage.solid((i - 3, j - 3, Z - 5), (i + 3, j + 3, SEA + 1 + stage.between(1, 4)), branch, name, own)


def _buoy(stage: Stage, x: int, y: int) -> None:
    """A striped buoy with a light."""
    own = stage.begin("buoy")
    stage.draw("buoy", (x, y, SEA), own, paint=stage.pick(("red_enamel", "lime_enamel", "orange_enamel")))
