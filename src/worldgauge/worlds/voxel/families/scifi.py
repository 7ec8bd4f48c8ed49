"""A base on another world: a plated plaza with strips of light, domes, towers, a ship, violet ground all round."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage, walkable
from worldgauge.worlds.voxel.terrain import BoolArray, fractal, grow, value_noise

_GLOWS = ("cyan_glow", "pink_glow", "amber_glow", "lime_glow")


def draw(stage: Stage) -> None:
    """Ground, plates, then the buildings of the base from large to small."""
    plates, lit = _plates(stage)
    _ground(stage, plates)
    high = stage.quarters > 4 * FLOOR_Z + 34
    stage.lay_ground({"granite": high, "plating": plates, "lit_plating": lit}, "granite", "regolith")
    stage.taken |= lit & (stage.away < 9)
    _gate(stage)
    glows = stage.shuffled(list(_GLOWS))
    for things, wanted, width, near, far in (
        (_pad, 1, (21, 21), 20, 36),
        (_dome, 3, (17, 17), 17, 44),
        (_dome, 3, (17, 17), 44, 64),
        (_tower, 3, (9, 9), 14, 40),
        (_tower, 4, (9, 9), 40, 62),
        (_hab, 5, (13, 6), 12, 60),
        (_dish, 2, (9, 9), 16, 60),
        (_screen, 4, (2, 7), 10, 30),
        (_reactor, 1, (9, 9), 12, 30),
        (_crates, 8, (4, 4), 8, 50),
        (_pylon, 10, (3, 3), 8, 46),
    ):
        for n, (x, y) in enumerate(stage.places(wanted, *width, near=near, far=far, gap=2)):
            things(stage, x, y, glows[n % len(glows)])
    _pipeline(stage)
    wild = ~grow(plates, 2)
    stage.taken |= ~wild
    for x, y in stage.places(26, 5, 5, near=20, far=90):
        _crystal(stage, x, y, glows[int(value_at(stage, x, y) * 2.999)])
    for x, y in stage.places(14, 7, 7, near=30, far=92):
        z = stage.foot(x + 3, y + 3)
        own = stage.begin("boulder", x + 3, y + 3)
        stage.ball((x + 3.5, y + 3.5, z), (3, 2.4, 2 + 2.5 * float(stage.rng.random())), "granite", own, floor=z - 2)


def value_at(stage: Stage, x: int, y: int) -> float:
    """Give each patch of 40 x 40 cells a share in [0, 1), so that crystals come in fields."""
    return ((x // 40) * 7 + (y // 40) * 5) % 9 / 9


def _plates(stage: Stage) -> tuple[BoolArray, BoolArray]:
    """The plated ground: a plaza of eight sides with causeways, and the plates in it that are lit."""
    i, j = np.indices(stage.size[:2])
    u, v = np.abs(i - stage.centre[0]), np.abs(j - stage.centre[1])
    half = stage.between(32, 38)
    plates = (np.maximum(u, v) < half) & (u + v < 1.5 * half)
    reach = stage.shuffled([(1, 0), (-1, 0), (0, 1), (0, -1)])[: stage.between(2, 3)]
    for dx, dy in reach:
        ahead = (i - stage.centre[0]) * dx + (j - stage.centre[1]) * dy
        plates |= (ahead > 0) & ((v if dx else u) < 5)
    step = stage.between(9, 13)
    grid = (((i - stage.centre[0]) % step == 0) | ((j - stage.centre[1]) % step == 0)) & plates
    ring = np.abs(stage.away - stage.between(6, 8)) < 0.6
    rim = plates & grow(~plates, 1)
    inner = np.maximum(u, v) < half
    return plates, (grid & inner & ((i + j) % 2 == 0)) | (ring & plates) | (rim & ((i + j) % 3 == 0))


def _ground(stage: Stage, plates: BoolArray) -> None:
    """Dunes with craters, and a jagged range all round."""
    shape = stage.size[:2]
    metres = FLOOR_Z + 0.1 + 3.4 * fractal(stage.rng, shape, 30) - 1.0
    for _ in range(12):
        x, y = (stage.between(10, n - 11) for n in shape)
        radius = stage.between(5, 10)
        i, j = (np.arange(n) - c for n, c in zip(shape, (x, y), strict=True))
        d = np.sqrt(((i * i)[:, None] + (j * j)[None, :]).astype(np.float64)) / radius
        metres += np.where(d < 0.8, -1.6, np.clip(1.5 - np.abs(d - 1) * 5, 0, 1.5))
    edge = np.clip((stage.away - 58) / 34, 0, 1.2)
    metres += edge * edge * (6 + 36 * np.clip(value_noise(stage.rng, shape, 13) - 0.15, 0, 1))
    flat = grow(plates, 1)
    quarters = np.floor(np.clip(metres, 8, 40) * 4).astype(np.int64)
    quarters[flat] = 4 * FLOOR_Z
    stage.quarters = walkable(quarters, stage.away < 66)
    stage.quarters = np.where(flat, 4 * FLOOR_Z, stage.quarters)
    # Where the ground lies lower than the plaza, banks lead up to it.
    for n in range(1, 14):
        stage.quarters = np.where(grow(plates, n), np.maximum(stage.quarters, 4 * FLOOR_Z - 2 * n), stage.quarters)


def _gate(stage: Stage) -> None:
    """A ring of light over the plaza's middle, high enough to walk under."""
    own = stage.begin("light_ring")
    x, y = stage.centre[0] + 0.5, stage.centre[1] + 0.5
    glow = stage.pick(_GLOWS)
    stage.pillar(x, y, 7.5, (FLOOR_Z + 8, FLOOR_Z + 9), glow, own, hollow=6.4)
    stage.pillar(x, y, 8.5, (FLOOR_Z + 8, FLOOR_Z + 9), "hull", own, hollow=7.5)
    for dx, dy in ((-6, -6), (5, -6), (-6, 5), (5, 5)):
        i, j = stage.centre[0] + dx, stage.centre[1] + dy
        stage.box((i, i + 1), (j, j + 1), (FLOOR_Z, FLOOR_Z + 8), "dark_hull", own)
        stage.box((i, i + 1), (j, j + 1), (FLOOR_Z + 1, FLOOR_Z + 2), glow, own)
        stage.taken[i, j] = True


def _dome(stage: Stage, x: int, y: int, glow: str) -> None:
    """A glass dome on a ring wall with a gate; one can go in to a round hall with a column of light."""
    own, z = stage.begin("dome", x + 8, y + 8), stage.foot(x + 8, y + 8)
    cx, cy, r = x + 8.5, y + 8.5, 8.4
    stage.pillar(cx, cy, r + 0.2, (z - 4, z), "plating", own)
    stage.pillar(cx, cy, r - 1.2, (z, z + 9), "air")
    stage.pillar(cx, cy, r, (z, z + 3), "hull", own, hollow=r - 1.1)
    stage.pillar(cx, cy, r, (z + 3, z + 4), glow, own, hollow=r - 1.1)
    shell = stage.pick(("dome_glass", "dome_glass", "hull"))
    stage.ball((cx, cy, z + 4), (r, r, r - 1), shell, own, hollow=0.84, floor=z + 4)

    def rib(i: FloatArray, j: FloatArray, k: FloatArray) -> BoolArray:
        u, v, w = (i - cx) / r, (j - cy) / r, (k - z - 4) / (r - 1)
        d2 = u * u + v * v + w * w
        return np.asarray((d2 <= 1) & (d2 > 0.7) & ((np.abs(i - cx) < 1) | (np.abs(j - cy) < 1)))

    stage.solid((x, y, z + 4), (x + 17, y + 17, z + 12), rib, "hull" if shell != "hull" else "steel", own)
    dx, dy = np.sign(stage.centre[0] - x - 8), np.sign(stage.centre[1] - y - 8)
    along_x = abs(stage.centre[0] - x - 8) > abs(stage.centre[1] - y - 8)
    for a in range(5, 12):
        for b in (-1, 0, 1):
            i, j = (x + 8 + a * dx, y + 8 + b) if along_x else (x + 8 + b, y + 8 + a * dy)
            stage.box((int(i), int(i) + 1), (int(j), int(j) + 1), (z, z + 3), "air")
    stage.pillar(cx, cy, 1.2, (z, z + 4), glow, own)
    stage.pillar(cx, cy, 1.8, (z, z + 1), "dark_hull", own)


def _tower(stage: Stage, x: int, y: int, glow: str) -> None:
    """A tapering tower with bands of light and a mast."""
    own, z = stage.begin("spire", x + 4, y + 4), stage.foot(x + 4, y + 4)
    cx, cy, height = x + 4.5, y + 4.5, stage.between(16, 26)
    skin = stage.pick(("hull", "dark_hull", "steel"))
    round_one = stage.rng.random() < 0.5
    for w in range(-2, height):
        r = 4.2 - 2.2 * max(w, 0) / height
        name = glow if w % 6 == 5 else skin
        if round_one:
            stage.pillar(cx, cy, r, (z + w, z + w + 1), name, own)
        else:
            half = int(r)
            stage.box((x + 4 - half, x + 5 + half), (y + 4 - half, y + 5 + half), (z + w, z + w + 1), name, own)
    stage.pillar(cx, cy, 3.6, (z + height, z + height + 1), "hull", own)
    stage.pillar(cx, cy, 3.2, (z + height + 1, z + height + 3), "dome_glass", own)
    stage.box((x + 4, x + 5), (y + 4, y + 5), (z + height + 3, z + height + 6), "steel_post", own)
    stage.put(x + 4, y + 4, z + height + 6, glow, own)
    for side in (0, 8):
        stage.box((x + 3, x + 6), (y + side, y + side + 1), (z - 1, z + 3), "dark_hull", own)


def _hab(stage: Stage, x: int, y: int, glow: str) -> None:
    """A lying cylinder with lit windows and end caps."""
    own, z = stage.begin("module", x + 6, y + 3), stage.foot(x + 6, y + 3)

    def inside(i: FloatArray, j: FloatArray, k: FloatArray) -> BoolArray:
        v, w = j - y - 3, k - z - 2
        return np.asarray((v * v + w * w <= 9.6) & (i > 0))

    stage.solid((x, y, z - 2), (x + 13, y + 6, z + 6), inside, "hull", own)
    for n in (x, x + 4, x + 8, x + 12):
        stage.solid((n, y, z - 2), (n + 1, y + 6, z + 6), inside, "dark_hull", own)
    for n in (x + 1, x + 5, x + 9):
        for side in (y, y + 5):
            stage.box((n + 1, n + 2), (side, side + 1), (z + 1, z + 3), glow, own)
    for end in (x, x + 12):
        stage.box((end, end + 1), (y + 2, y + 4), (z, z + 3), "orange_enamel", own)


def _pad(stage: Stage, x: int, y: int, glow: str) -> None:
    """A round landing pad with a ship on it."""
    own, z = stage.begin("landing_pad", x + 10, y + 10), FLOOR_Z
    cx, cy = x + 10.5, y + 10.5
    stage.pillar(cx, cy, 11.5, (z, z + 12), "air")
    stage.pillar(cx, cy, 10.6, (z - 3, z), "dark_hull", own)
    stage.pillar(cx, cy, 10.6, (z - 1, z), "hazard", own, hollow=9.6)
    stage.quarters[x : x + 21, y : y + 21] = 4 * z
    ship = stage.begin("spaceship", x + 10, y + 10)
    paint = stage.pick(("white_enamel", "orange_enamel", "teal_enamel"))
    stage.ball((cx, cy, z + 3.5), (7.5, 2.6, 1.9), paint, ship)
    stage.ball((cx + 4.5, cy, z + 4.6), (2.4, 1.6, 1.3), "dome_glass", ship)

    def wing(i: FloatArray, j: FloatArray, k: FloatArray) -> BoolArray:
        return np.asarray((np.abs(j - cy) * 0.8 + np.abs(i - cx + 2.5) <= 5.6) & (k > 0))

    stage.solid((x + 2, y + 2, z + 3), (x + 18, y + 19, z + 4), wing, "hull", ship)
    for side in (-5.5, 5.5):
        stage.ball((cx - 4, cy + side, z + 3.5), (3.2, 1.2, 1.2), "dark_hull", ship)
        stage.put(x + 3, int(cy + side), z + 3, glow, ship)
    stage.box((x + 4, x + 6), (y + 10, y + 11), (z + 5, z + 8), "red_enamel", ship)
    for dx, dy in ((5, 10), (15, 9), (15, 12), (5, 11)):
        stage.box((x + dx, x + dx + 1), (y + dy, y + dy + 1), (z, z + 3), "steel_post", ship)


def _dish(stage: Stage, x: int, y: int, glow: str) -> None:
    """An antenna that looks up and sideways."""
    own, z = stage.begin("dish", x + 4, y + 4), stage.foot(x + 4, y + 4)
    stage.pillar(x + 4.5, y + 4.5, 1.6, (z - 1, z + 5), "steel", own)
    lean = stage.pick((-1.2, 1.2))

    def bowl(i: FloatArray, j: FloatArray, k: FloatArray) -> BoolArray:
        u, v = i - x - 4.5, j - y - 4.5
        depth = k - (z + 5) - 0.16 * (u * u + v * v) - 0.35 * lean * u
        return np.asarray((np.abs(depth) < 0.75) & (u * u + v * v < 22))

    stage.solid((x - 1, y - 1, z + 3), (x + 10, y + 10, z + 12), bowl, "hull", own)
    stage.box((x + 4, x + 5), (y + 4, y + 5), (z + 5, z + 9), "steel_post", own)
    stage.put(x + 4, y + 4, z + 9, glow, own)


def _screen(stage: Stage, x: int, y: int, glow: str) -> None:
    """A wall of light between two posts."""
    own, z = stage.begin("screen", x, y + 3), stage.foot(x + 1, y + 3)
    stage.box((x, x + 1), (y, y + 7), (z, z + 6), "dark_hull", own)
    stage.box((x, x + 1), (y + 1, y + 6), (z + 2, z + 5), glow, own)
    for n in range(2, 6, 2):
        stage.box((x, x + 1), (y + n, y + n + 1), (z + 2, z + stage.between(3, 4)), "black_enamel", own)


def _reactor(stage: Stage, x: int, y: int, glow: str) -> None:
    """A core of light held by four ribs."""
    own, z = stage.begin("reactor", x + 4, y + 4), stage.foot(x + 4, y + 4)
    stage.draw("reactor", (x, y, z), own, glow=glow)


def _crates(stage: Stage, x: int, y: int, glow: str) -> None:
    """Freight boxes, one on another."""
    own, z = stage.begin("crates", x + 2, y + 2), stage.foot(x + 2, y + 2)
    for n in range(stage.between(2, 4)):
        dx, dy, dz = ((0, 0, 0), (2, 0, 0), (0, 2, 0), (1, 1, 2))[n]
        name = stage.pick(("orange_enamel", "steel", "white_enamel", "teal_enamel"))
        stage.box((x + dx, x + dx + 2), (y + dy, y + dy + 2), (z + dz - (dz == 0), z + dz + 2), name, own)
        stage.put(x + dx, y + dy, z + dz + 1, glow, own)


def _pylon(stage: Stage, x: int, y: int, glow: str) -> None:
    """A lamp of the base."""
    own, z = stage.begin("lamp_post", x + 1, y + 1), stage.foot(x + 1, y + 1)
    stage.draw("pylon", (x, y, z), own, glow=glow)
    stage.taken[x : x + 3, y : y + 3] = False
    stage.taken[x + 1, y + 1] = True


def _pipeline(stage: Stage) -> None:
    """Pipes on trestles across the base, five metres up."""
    own = stage.begin("pipeline")
    y = stage.centre[1] + stage.pick((-1, 1)) * stage.between(11, 16)
    tall = FLOOR_Z + 6
    for x in range(4, stage.size[0] - 4):
        for dy, name in ((0, "orange_enamel"), (2, "steel")):
            if stage.canvas.states[x, y + dy, tall] == 0:
                stage.put(x, y + dy, tall, name, own)
        if x % 12 == 0 and not stage.taken[x, y : y + 3].any():
            for dy in (0, 2):
                foot = stage.foot(x, y + dy)
                stage.box((x, x + 1), (y + dy, y + dy + 1), (foot - 1, tall), "dark_hull", own)
                stage.taken[x, y + dy] = True


def _crystal(stage: Stage, x: int, y: int, glow: str) -> None:
    """A cluster of leaning needles."""
    own, z = stage.begin("crystal", x + 2, y + 2), stage.foot(x + 2, y + 2)
    for dx, dy, tall, lean in ((2, 2, stage.between(4, 9), 0), (1, 3, 3, -1), (3, 1, 4, 1), (3, 3, 2, 0)):
        for w in range(-1, tall):
            shift = lean * (w // 3)
            stage.put(x + dx + shift, y + dy, z + w, glow if dx == 2 else "violet_enamel", own)
            if dx == 2 and w < tall - 3:
                stage.put(x + dx + 1, y + dy, z + w, glow, own)
