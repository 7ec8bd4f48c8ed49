"""A home from a seed: its plan, furnished room by room, as boxes, objects and free floor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.worlds.indoor import fittings as fit
from worldgauge.worlds.indoor import furniture as made
from worldgauge.worlds.indoor.boxes import Box, Boxes
from worldgauge.worlds.indoor.furniture import Furnishing, HouseholdItem, Maker, function_of
from worldgauge.worlds.indoor.plan import (
    CELL_M,
    DOOR_M,
    EAST,
    HALF_WALL_M,
    HEIGHT_M,
    NORTH,
    SILL_M,
    SOUTH,
    WEST,
    WINDOW_TOP_M,
    Furnisher,
    Placed,
    PlanRoom,
    Spot,
    plan_of,
    shell_of,
)

_LABELS = """
    appliances, bathtub, bed, cabinet, chair, chest of drawers, clothes, counter, curtain, cushion, door, fireplace,
    furniture, gym equipment, mirror, picture, plant, seating, shower, sink, sofa, stool, table, toilet, towel,
    tv monitor, window
"""
LABELS = tuple(" ".join(_LABELS.split()).split(", "))
"""The recognition labels; every home has all of them."""

CATEGORIES = ("void", "floor", "ceiling", "wall", *LABELS, "basket", "bookcase", "books", "bowl", "lamp", "rug")

_TRIES = 10
"""How often a room is furnished again when something it needs does not fit."""
_HOMES = 20
"""Homes that are made for a seed when one lacks something; 1 is enough for 29 of 30."""
_WAY_CELLS = 3
"""Half the width in cells of what counts as a way between rooms."""
_FLOOR_M2 = 1.0
"""Floor of a room that must be within reach."""


@dataclass(frozen=True)
class HomeObject:
    """An object of a home, with `instance` as in `View.instance`, its room's kind, and its corners in metres."""

    instance: int
    category: str
    name: str
    colour: str
    room: str
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    state: str = ""  # one of `STATES` that a picture shows, or ""

    @property
    def function(self) -> str:
        """What people use it for, such as "to sit on"; "" for what is there to be looked at or through."""
        return function_of(self.category, self.name)


@dataclass(frozen=True)
class HomePlan:
    """A whole home. `occupied`: (X, Y) bool, cells of 5 cm from `origin` (metres) that a walker cannot stand in."""

    rooms: tuple[PlanRoom, ...]
    boxes: Boxes
    objects: tuple[HomeObject, ...]
    occupied: NDArray[np.bool_]
    origin: tuple[float, float]


@lru_cache(maxsize=16)
def build_home(seed: int) -> HomePlan:
    """Build the home of a seed: the first of up to _HOMES that has all of LABELS and all rooms within reach.
    The same on every machine. The last 16 are cached, so nobody may write into its arrays."""
    rng = np.random.default_rng([seed, 0x803E])
    for _ in range(_HOMES):
        plan = _built(seed, rng)
        if _is_whole(plan):
            break
    return plan


def _is_whole(plan: HomePlan) -> bool:
    """Whether it has every label, and one stretch of floor leads into all its rooms."""
    import cv2

    if not set(LABELS) <= {thing.category for thing in plan.objects}:
        return False
    wide = cv2.erode((~plan.occupied).astype(np.uint8), np.ones((2 * _WAY_CELLS + 1,) * 2, np.uint8))
    _, found = cv2.connectedComponents(wide, connectivity=4)
    label = np.asarray(found, np.int64)
    largest = int(np.bincount(label[wide > 0], minlength=1).argmax()) if wide.any() else 0
    within = [np.floor((np.array([room.low, room.high]) - plan.origin) / CELL_M).astype(int) for room in plan.rooms]
    return largest > 0 and all((label[a:c, b:d] == largest).sum() * CELL_M**2 > _FLOOR_M2 for (a, b), (c, d) in within)


def _built(seed: int, rng: np.random.Generator) -> HomePlan:
    rooms = plan_of(rng)
    shell = list(shell_of(rooms, rng))
    bounds = np.array([[*box.low, *box.high] for box in shell])
    furnisher = Furnisher(rooms, bounds, rng)
    _fix_openings(furnisher)
    for n, room in enumerate(rooms):
        _furnish(furnisher, n, room)
    _complete(furnisher)
    for n in range(len(rooms)):
        _hang_lamp(furnisher, n)
    boxes = [Box(box.low, box.high, CATEGORIES.index(box.category), 0, box.paint) for box in shell]
    objects: list[HomeObject] = []
    for placed in furnisher.placed:
        first = len(objects) + 1
        for of, thing in enumerate(placed.piece.things):
            objects.append(_object(placed, of, thing, first + of, rooms[placed.spot.room].kind))
        for place, part, thing in placed.parts():
            x0, y0, z0, x1, y1, z1 = (float(c) for c in place)
            boxes.append(Box((x0, y0, z0), (x1, y1, z1), CATEGORIES.index(thing.category), first + part.of, part.paint))
    floors = furnisher.floors
    origin = float(floors.origin[0]), float(floors.origin[1])
    return HomePlan(rooms, Boxes.of(boxes, seed), tuple(objects), floors.occupied, origin)


def _object(placed: Placed, of: int, thing: HouseholdItem, instance: int, room: str) -> HomeObject:
    own = placed.bounds[[part.of == of for part in placed.piece.parts]]
    low, high = own[:, :3].min(0).tolist(), own[:, 3:].max(0).tolist()
    return HomeObject(instance, thing.category, thing.name, thing.colour, room, tuple(low), tuple(high), thing.state)


def _fix_openings(furnisher: Furnisher) -> None:
    """Hang doors next to their doorways or, shut, in them; the front door, shut; and windows with curtains."""
    rng = furnisher.rng
    for n, room in enumerate(furnisher.rooms):
        for opening in room.openings:
            if opening.leaf and opening.shut:
                leaf = fit.door_leaf(rng, "closed", DOOR_M - 0.01)
                furnisher.fix(leaf, Spot(n, opening.side, opening.start + 0.005, -HALF_WALL_M - 0.05))
            elif opening.leaf:
                _open_door(furnisher, n, opening.side, opening.start)
        for window in room.windows:
            piece = fit.window(rng, window.stop - window.start, WINDOW_TOP_M - SILL_M, room.kind != "kitchen")
            furnisher.fix(piece, Spot(n, window.side, window.start, 0.0, SILL_M))
    hall = furnisher.rooms[0]
    side = hall.outer[int(rng.integers(len(hall.outer)))]
    start, stop = hall.span(side)
    furnisher.fix(fit.door_leaf(rng, "closed", 0.95), Spot(0, side, (start + stop) / 2 - 0.475, -0.025))


def _open_door(furnisher: Furnisher, n: int, side: int, start: float) -> None:
    """A leaf at right angles to its wall, between the doorway and the nearest corner."""
    room = furnisher.rooms[n]
    first, last = room.span(side)
    along_x = side in (SOUTH, NORTH)
    at_first = start - first < last - start - DOOR_M
    corner_side = (WEST if at_first else EAST) if along_x else (SOUTH if at_first else NORTH)
    # Its thickness runs from 3 to 7 cm off the side wall; its length starts at the wall with the doorway.
    low, high = room.span(corner_side)
    leaf = fit.door_leaf(furnisher.rng, "open")
    from_low = side in (SOUTH, WEST)
    furnisher.fix(leaf, Spot(n, corner_side, low + 0.005 if from_low else high - 0.865, 0.01))


def _furnish(furnisher: Furnisher, n: int, room: PlanRoom) -> None:
    """Furnish a room; begin again when something needed found no place, and keep the fullest of the attempts."""
    start = furnisher.mark()
    seeds = [int(seed) for seed in furnisher.rng.integers(2**62, size=_TRIES)]
    lacks: list[int] = []
    for seed in seeds:
        lacks.append(_attempt(furnisher, n, room.kind, seed))
        if lacks[-1] == 0:
            return
        furnisher.back(start)
    _attempt(furnisher, n, room.kind, seeds[lacks.index(min(lacks))])


def _attempt(furnisher: Furnisher, n: int, kind: str, seed: int) -> int:
    """Furnish a room once; returns how many of the things that it needs found no place."""
    furnisher.rng = np.random.default_rng(seed)
    return _PROGRAMS[kind](furnisher, n)


def _line(furnisher: Furnisher, n: int, makers: list[Maker]) -> int:
    """Pieces along the walls, in turn; returns how many found no place."""
    return sum(furnisher.wall(make(furnisher.rng), n) is None for make in makers)


def _living(f: Furnisher, n: int) -> int:
    lounge = f.wall(made.lounge(f.rng), n)
    if lounge is None:
        return 9
    tv = fit.tv_set(f.rng)
    missing = int(f.facing(tv, lounge) is None and f.wall(tv, n) is None)
    missing += _line(f, n, [made.fireplace])
    missing += f.free(made.dining_set(f.rng), n) is None
    missing += _line(f, n, [made.armchair, fit.bookcase, made.plant])
    _line(f, n, [made.floor_lamp, fit.sideboard, made.ottoman, made.plant])
    return missing + _pictures(f, n, 3)


def _kitchen(f: Furnisher, n: int) -> int:
    run = None
    for width in (3.4, 3.0, 2.7, 2.4):
        run = f.wall(fit.kitchen_run(f.rng, width), n)
        if run is not None:
            break
    missing = int(run is None) * 5 + _line(f, n, [fit.fridge])
    f.free(made.dining_set(f.rng), n)
    missing += _line(f, n, [made.stool])
    _line(f, n, [made.stool, fit.sideboard, made.plant])
    f.hang(fit.towel_rail(f.rng), n, 0.7)
    return missing + _pictures(f, n, 1)


def _bedroom(f: Furnisher, n: int) -> int:
    bed = f.wall(made.bed(f.rng), n)
    if bed is None:
        return 9
    f.beside(fit.nightstand(f.rng), bed)
    f.beside(fit.nightstand(f.rng), bed)
    needed: list[Maker] = [fit.wardrobe, fit.chest_of_drawers]
    if all(room.kind not in ("gym", "study") for room in f.rooms):
        needed.append(fit.exercise_bike)
    missing = _line(f, n, needed)
    _line(f, n, [made.desk, made.plant, made.armchair, fit.laundry, made.floor_lamp])
    f.hang(fit.wall_mirror(f.rng), n, 0.55)
    return missing + _pictures(f, n, 2)


def _bathroom(f: Furnisher, n: int) -> int:
    missing = _line(f, n, [fit.bathtub, fit.shower, fit.wash_basin, fit.toilet])
    missing += f.hang(fit.towel_rail(f.rng), n, 0.75) is None
    _line(f, n, [fit.washing_machine, made.stool, fit.laundry])
    f.hang(fit.towel_rail(f.rng), n, 0.75)
    return missing


def _corridor(f: Furnisher, n: int) -> int:
    missing = f.hang(fit.coat_rack(f.rng), n, 0.85) is None
    _line(f, n, [fit.narrow_chest, made.side_table, made.bench, made.plant])
    f.hang(fit.wall_mirror(f.rng), n, 0.5)
    return missing + _pictures(f, n, 4)


def _study(f: Furnisher, n: int) -> int:
    missing = _line(f, n, [made.desk, fit.bookcase, fit.exercise_bike])
    _line(f, n, [made.armchair, fit.bookcase, made.plant, made.floor_lamp])
    f.free(fit.rug(f.rng, 1.6, 1.2), n)
    return missing + _pictures(f, n, 2)


def _gym(f: Furnisher, n: int) -> int:
    missing = _line(f, n, [fit.treadmill, fit.weight_bench])
    _line(f, n, [fit.exercise_bike, made.bench, made.stool, made.plant])
    f.hang(fit.wall_mirror(f.rng), n, 0.4)
    f.hang(fit.towel_rail(f.rng), n, 0.7)
    return missing + _pictures(f, n, 1)


_PROGRAMS = {
    "living room": _living,
    "kitchen": _kitchen,
    "bedroom": _bedroom,
    "bathroom": _bathroom,
    "corridor": _corridor,
    "study": _study,
    "gym": _gym,
}

_SPARE: dict[str, tuple[Maker, ...]] = {
    "gym equipment": (fit.exercise_bike, fit.treadmill),
    "stool": (made.stool,),
    "plant": (made.plant,),
    "seating": (made.ottoman, made.bench, made.armchair),
    "chair": (made.chair,),
    "table": (made.side_table,),
    "fireplace": (made.fireplace,),
    "tv monitor": (fit.tv_set, made.desk),
    "chest of drawers": (fit.chest_of_drawers,),
    "clothes": (fit.laundry,),
    "appliances": (fit.fridge, fit.washing_machine),
    "sink": (fit.wash_basin,),
    "shower": (fit.shower,),
    "bathtub": (fit.bathtub,),
    "toilet": (fit.toilet,),
    "cabinet": (fit.narrow_chest, fit.sideboard),
    "sofa": (made.sofa,),
    "bed": (made.bed,),
    "counter": (partial(fit.kitchen_run, width=2.4),),
}
"""What is tried, anywhere, for a label that a home still lacks."""


def _complete(furnisher: Furnisher) -> None:
    """Find a place somewhere for every label that is still missing."""
    for label in LABELS:
        if any(thing.category == label for placed in furnisher.placed for thing in placed.piece.things):
            continue
        # The corridor last: a fireplace there is better than none.
        order = [*(int(n) + 1 for n in furnisher.rng.permutation(len(furnisher.rooms) - 1)), 0]
        pieces: list[Furnishing] = [make(furnisher.rng) for make in _SPARE.get(label, ())]
        any(furnisher.wall(piece, n) is not None for piece in pieces for n in order)


def _pictures(f: Furnisher, n: int, count: int) -> int:
    hung = [f.hang(fit.picture(f.rng), n, float(f.rng.uniform(1.2, 1.4))) for _ in range(count)]
    return int(all(picture is None for picture in hung))


def _hang_lamp(furnisher: Furnisher, n: int) -> None:
    room = furnisher.rooms[n]
    start, stop = room.span(SOUTH)
    depth = room.high[1] - room.low[1]
    furnisher.fix(
        fit.ceiling_lamp(furnisher.rng), Spot(n, SOUTH, (start + stop) / 2 - 0.2, depth / 2 - 0.2, HEIGHT_M - 0.12)
    )


# Homes for training, validation and test: three ranges of seeds that share no home.

SPLITS = ("train", "val", "test")
SPLIT_SIZE = 1_000_000
"""Homes of a split. Seeds below that are in no split: examples and other collections use them."""

_NAME = re.compile(r"home-([a-z]+)-([0-9]{4,6})")


def scene_seed(split: str, number: int) -> int:
    """Return the seed of a home."""
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    if not 0 <= number < SPLIT_SIZE:
        raise UsageError(f"split '{split}' has homes 0 to {SPLIT_SIZE - 1}, not {number}")
    return (SPLITS.index(split) + 1) * SPLIT_SIZE + number


def scene_name(split: str, number: int) -> str:
    """Name a home, such as "home-test-0007"."""
    scene_seed(split, number)
    return f"home-{split}-{number:04d}"


def world_of(scene: str) -> WorldFacts:
    """Return the world of a scene's name, without a digest."""
    found = _NAME.fullmatch(scene)
    if found is None or found[1] not in SPLITS or scene_name(found[1], int(found[2])) != scene:
        raise UsageError(f"no home is called '{scene[:60]}'; names are like 'home-test-0007'")
    return WorldFacts("indoor", {"seed": scene_seed(found[1], int(found[2]))})
