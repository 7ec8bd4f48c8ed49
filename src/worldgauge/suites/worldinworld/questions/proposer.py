"""Where to look for the answer to a question: promising landmarks and frontiers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray, Panorama, wrap_angle
from worldgauge.suites.worldinworld.policies.contract import (
    SIDES,
    YAW_RIGHT_DEG,
    ActionPlan,
    Depth,
    History,
    HomeObservation,
    PlannedRoom,
    PolicyKit,
    Rng,
    Side,
    proposers,
)
from worldgauge.suites.worldinworld.questions.answering import ParsedQuestion, parse_question
from worldgauge.suites.worldinworld.questions.habits import rooms_of
from worldgauge.suites.worldinworld.questions.landmarks import Landmarks, Mask, SeenLandmark, finder
from worldgauge.suites.worldinworld.questions.travel import WORDS_STEPS, HeadingRule, open_heading
from worldgauge.worlds.walking.primitives import STEP_M, Primitive

ARRIVED_M = 0.25
"""A way ends so near to the middle of its room."""
INTO_A_ROOM = "into a room"


@proposers.register("rooms", tasks=("questions",), chat=False)
class RoomProposer:
    """Ways to the middles of the nearest of the rooms that were visited least, in an order drawn by chance.

    It gets a floor plan without names or contents. Chance is needed since the nearest room is nearly always the
    corridor. A room is visited when a decision is made in it. A way has at most L steps; a longer one is offered again.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        self._visits: Counter[int] = Counter()

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Up to n ways, none in a scene without a floor plan; see `Proposer.propose`."""
        rooms = observation.rooms
        if not rooms:
            return []
        if not history:
            self._visits = Counter()
        here = room_at(rooms, observation.pose[:2, 3])
        self._visits[here] += 1
        others = [number for number in range(len(rooms)) if number != here]
        found: list[ActionPlan] = []
        for visits in sorted({self._visits[number] for number in others}):
            alike = [number for number in others if self._visits[number] == visits]
            ways = {number: observation.way_to(rooms[number].middle, ARRIVED_M) for number in alike}
            reached = {number: way for number, way in ways.items() if way}
            if reached:
                nearest = sorted(reached, key=lambda number: (len(reached[number]), number))[:n]
                for number in (nearest[int(k)] for k in rng.permutation(len(nearest))):
                    aim = {"view": "front", "landmark": None, "room": number, "text": INTO_A_ROOM}
                    found.append(ActionPlan(reached[number][: self._length], "rooms", aim=aim))
                break
        return found


def room_at(rooms: Sequence[PlannedRoom], xy: FloatArray) -> int:
    """Return the index of the room at a place (2,), metres; of the nearest one in a doorway."""
    return int(np.argmin([room.away_m(xy) for room in rooms]))


CELL_M = 0.1
SIDE_CELLS = 400
"""Side of the map, 40 m, centred on the first pose; what lies beyond is not kept."""
SIGHT_M = 8.0
"""Range within which free space counts as seen."""
OBSTACLE_M = (0.1, 1.6)
"""Heights above the floor at which something is an obstacle."""
BODY_CELLS = 1
"""Clearance of a path from obstacles, in cells."""
SMALLEST_CELLS = 4
"""Smallest frontier; fewer cells are the shadow of a chair's leg."""
_COLUMNS, _ROWS = 512, 128


class Frontier(NamedTuple):
    """Edge of the seen floor: middle `xy` (2,), and `towards` (2,), the farthest point in line on the path there."""

    xy: FloatArray
    size_m: float
    walk_m: float
    towards: FloatArray


class ExploredFloor:
    """An occupancy grid of one episode, cells of CELL_M. `eye_m`: Height of the camera above the floor, metres."""

    def __init__(self, eye_m: float = 1.0) -> None:
        self._eye_m = eye_m
        self._origin: FloatArray | None = None
        self._seen = np.zeros((SIDE_CELLS, SIDE_CELLS), np.bool_)
        self._occupied = np.zeros((SIDE_CELLS, SIDE_CELLS), np.bool_)

    def take(self, pose: FloatArray, depth: Depth) -> None:
        """Add a panorama of depth (H, W), metres along the rays, from a level camera-to-world pose (4, 4)."""
        if self._origin is None:
            self._origin = pose[:2, 3] - SIDE_CELLS * CELL_M / 2
        rays, ranges = _thinned_rays(depth)
        points = (rays * ranges[..., None]) @ pose[:3, :3].T + pose[:3, 3]
        height = points[..., 2] - (pose[2, 3] - self._eye_m)
        standing = np.isfinite(ranges) & (height > OBSTACLE_M[0]) & (height < OBSTACLE_M[1])
        self._mark(self._occupied, points[standing][:, :2])
        level = rays.shape[0] // 2
        ahead = rays[level] @ pose[:3, :3].T
        metres = np.arange(0.0, SIGHT_M, CELL_M / 2)
        reached = metres[None] < np.minimum(ranges[level], SIGHT_M)[:, None]
        along = pose[:2, 3] + metres[None, :, None] * ahead[:, None, :2]
        self._mark(self._seen, along[reached])

    def block(self, xy: FloatArray) -> None:
        """Mark an obstacle at `xy` (2,), metres, that depth did not show: a step ended there."""
        if self._origin is not None:
            self._mark(self._occupied, xy[None])

    def frontiers(self, pose: FloatArray) -> list[Frontier]:
        """Return the frontiers that can be reached from `pose` (4, 4) over known floor, nearest first."""
        import cv2

        if self._origin is None:
            return []
        free = self._walkable(pose[:2, 3])
        ways = _spread(free, self._cell(pose[:2, 3]))
        open_end = self._seen & ~self._occupied
        beside = cv2.dilate((~self._seen & ~self._occupied).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        edge = open_end & beside & np.isfinite(ways)
        count, groups = cv2.connectedComponents(edge.astype(np.uint8), connectivity=8)
        found = []
        for group in range(1, count):
            cells = np.argwhere(groups == group)
            if len(cells) < SMALLEST_CELLS:
                continue
            # The cell nearest the mean: the mean itself may lie outside the group.
            middle = cells[int(np.argmin(((cells - cells.mean(0)) ** 2).sum(1)))]
            towards = self._straight(free, ways, (int(middle[0]), int(middle[1])), pose)
            walk_m = float(ways[tuple(middle)]) * CELL_M
            found.append(Frontier(self._point(middle), len(cells) * CELL_M, walk_m, towards))
        return sorted(found, key=lambda one: (one.walk_m, *one.xy))

    def way_to(self, pose: FloatArray, xy: FloatArray) -> FloatArray | None:
        """Farthest straight-line point (2,) on the path to the reachable cell nearest `xy`; None before any view."""
        if self._origin is None:
            return None
        free = self._walkable(pose[:2, 3])
        ways = _spread(free, self._cell(pose[:2, 3]))
        cells = np.argwhere(np.isfinite(ways))
        gaps = ((cells - np.array(self._cell(xy))) ** 2).sum(1)
        nearest = cells[int(np.argmin(gaps))]
        return self._straight(free, ways, (int(nearest[0]), int(nearest[1])), pose)

    def _walkable(self, here: FloatArray) -> NDArray[np.bool_]:
        import cv2

        size = 2 * BODY_CELLS + 1
        near = cv2.dilate(self._occupied.astype(np.uint8), np.ones((size, size), np.uint8)) > 0
        free = self._seen & ~near
        # The walker's own cell is free, and it may step away from obstacles that seem too close.
        x, y = self._cell(here)
        free[x - 1 : x + 2, y - 1 : y + 2] |= ~self._occupied[x - 1 : x + 2, y - 1 : y + 2]
        free[x, y] = True
        return free

    def _straight(
        self, free: NDArray[np.bool_], ways: NDArray[np.float32], last: tuple[int, int], pose: FloatArray
    ) -> FloatArray:
        """Walk back along the path from `last` to the first cell with a free line to the walker."""
        here = np.array(self._cell(pose[:2, 3]))
        cell = last
        while ways[cell] > 1.5:
            n = int(np.abs(np.array(cell) - here).max()) * 2 + 1
            line = np.rint(here + (np.array(cell) - here) * np.linspace(0, 1, n)[:, None]).astype(np.int64)
            if free[line[:, 0], line[:, 1]].all():
                break
            x, y = cell
            near = [(x - 1, y), (x, y - 1), (x + 1, y), (x, y + 1)]
            cell = min(near, key=lambda one: float(ways[one]))
        return self._point(np.array(cell))

    def _cell(self, xy: FloatArray) -> tuple[int, int]:
        assert self._origin is not None
        x, y = np.clip(np.floor((xy - self._origin) / CELL_M).astype(np.int64), 1, SIDE_CELLS - 2)
        return int(x), int(y)

    def _point(self, cell: NDArray[np.int64]) -> FloatArray:
        assert self._origin is not None
        point: FloatArray = (cell + 0.5) * CELL_M + self._origin
        return point

    def _mark(self, grid: NDArray[np.bool_], xy: FloatArray) -> None:
        assert self._origin is not None
        cells = np.floor((xy - self._origin) / CELL_M).astype(np.int64)
        cells = cells[((cells >= 0) & (cells < SIDE_CELLS)).all(1)]
        grid[cells[:, 0], cells[:, 1]] = True


def _thinned_rays(depth: Depth) -> tuple[FloatArray, FloatArray]:
    """Return some rays (r, c, 3) of a panorama, camera frame, and ranges (r, c) in metres; the middle row is level."""
    height, width = depth.shape
    rows, columns = _picked(height, width)
    rays = _rays(width, height)
    return rays[np.ix_(rows, columns)], depth[np.ix_(rows, columns)].astype(np.float64)


@lru_cache(maxsize=4)
def _picked(height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    across = np.arange(0, width, max(width // _COLUMNS, 1))
    half = np.arange(height // 2, height, max(height // _ROWS, 1))
    return np.concatenate([(height - 1 - half)[::-1], half]), across


@lru_cache(maxsize=4)
def _rays(width: int, height: int) -> FloatArray:
    return Panorama(width, height).rays()


def _spread(free: NDArray[np.bool_], start: tuple[int, int]) -> NDArray[np.float32]:
    """Count steps from `start` to each free cell in four directions; infinite where no path leads."""
    import cv2

    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8)
    steps = np.full(free.shape, np.inf, np.float32)
    front = np.zeros(free.shape, np.uint8)
    front[start] = 1
    left = free.astype(np.uint8)
    step = 0
    while front.any():
        reached = front > 0
        steps[reached] = step
        left[reached] = 0
        front = np.asarray(cv2.dilate(front, cross), np.uint8) & left
        step += 1
    return steps


SOURCE = "landmarks"
WANTED = "towards what is asked for"
ONWARD = "to where the floor has not been seen"
OPEN = "to where the view is open"
BESIDE = "to look from there"

APART = math.radians(25)
"""Least angle between the headings of two plans."""
SIZE_WORTH = 0.7
"""Metres of detour that a metre of frontier is worth, up to LARGE_M."""
LARGE_M = 2.0
LIKELY_WORTH_M = 3.0
"""Metres of detour that the right room is worth."""
NEAR_M = 2.0
"""A landmark this close indicates which room a frontier is in."""
_STUCK_M = 0.2


@proposers.register("landmarks", tasks=("questions",), chat=False)
class LandmarkProposer:
    """Headings for a question, the most promising first.

    Order: what is wanted if in sight; landmarks of its room; frontiers (near, large, of likely rooms); other landmarks.
    It reads the question, exact masks and facts, and depth; no history resets its map. Options: open_heading,
    landmarks.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._steps = (Primitive.FORWARD,) * min(kit.length, WORDS_STEPS)
        self._rule: HeadingRule = kit.options.get("open_heading", "pinhole")
        self._find = finder(kit)
        self._landmarks = Landmarks(self._find)
        self._explored = ExploredFloor()
        self._wanted: ParsedQuestion | None = None

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Propose turns, each with L steps forward; a plan's aim holds its landmark, or the metres of the way."""
        pose = observation.pose
        if not history or self._wanted is None:
            self._landmarks, self._explored = Landmarks(self._find), ExploredFloor(float(pose[2, 3]))
            self._wanted = parse_question(goal.text or "")
        elif any(history[-1].collided):
            self._explored.block(pose[:2, 3] + _STUCK_M * pose[:2, 2])
        seen = self._landmarks.look(observation)
        self._explored.take(pose, observation.panorama_depth)
        tried = {(past.decision.plan.aim or {}).get("landmark") for past in history if past.decision.plan is not None}
        at_hand = [(side, self._landmarks[number]) for side, number in _clearest(seen) if number not in tried]
        plans: list[ActionPlan] = []
        for side, landmark in self._promising(at_hand, observation):
            self._add(plans, self._to(landmark, side, pose, WANTED), n)
        for frontier in self._ordered(observation):
            self._add(plans, self._onward(frontier, pose), n)
        for side, landmark in sorted(at_hand, key=lambda item: item[1].distance_m(pose)):
            if not landmark.visited and not landmark.passage:
                self._add(plans, self._to(landmark, side, pose, BESIDE), n)
        for side in SIDES:
            right = open_heading(observation.depth(side), observation.camera.hfov_deg, rule=self._rule)
            if right is not None:
                left = float(wrap_angle(-right - math.radians(YAW_RIGHT_DEG[side])))
                self._add(
                    plans, ActionPlan(self._steps, SOURCE, left, {"view": side, "landmark": None, "text": OPEN}), n
                )
        return plans

    def _promising(
        self, at_hand: Iterable[tuple[Side, SeenLandmark]], observation: HomeObservation
    ) -> list[tuple[Side, SeenLandmark]]:
        """Return landmarks that are asked for, nearest first; if there are none, those of the room asked about."""
        asked = self._wanted
        assert asked is not None
        named, inside = [], []
        for side, landmark in at_hand:
            if landmark.visited:
                continue
            fits = asked.room is None or asked.room in _rooms(landmark, observation)
            if landmark.name in asked.names and fits:
                named.append((side, landmark))
            elif asked.room is not None and fits and not landmark.passage:
                inside.append((side, landmark))
        return sorted(named or inside, key=lambda item: item[1].distance_m(observation.pose))

    def _ordered(self, observation: HomeObservation) -> list[Frontier]:
        """Return frontiers by cost: metres of the way, less what size and a likely room are worth."""
        asked = self._wanted
        assert asked is not None
        known = list(self._landmarks)

        def cost(frontier: Frontier) -> float:
            near = [one for one in known if math.hypot(*(one.centre[:2] - frontier.xy)) < NEAR_M]
            nearest = min(near, key=lambda one: math.hypot(*(one.centre[:2] - frontier.xy)), default=None)
            rooms = {} if nearest is None else _rooms(nearest, observation)
            likely = sum(share * asked.rooms.get(room, 0.0) for room, share in rooms.items())
            return frontier.walk_m - SIZE_WORTH * min(frontier.size_m, LARGE_M) - LIKELY_WORTH_M * likely

        return sorted(self._explored.frontiers(observation.pose), key=cost)

    def _onward(self, frontier: Frontier, pose: FloatArray) -> ActionPlan:
        to = frontier.towards - pose[:2, 3]
        left = float(wrap_angle(math.atan2(to[1], to[0]) - math.atan2(pose[1, 2], pose[0, 2])))
        # One step beyond what is seen, at least one step.
        metres = min(math.hypot(*to) + STEP_M, len(self._steps) * STEP_M)
        aim = {"view": _side(left), "landmark": None, "text": ONWARD, "metres": round(metres, 3)}
        return ActionPlan(self._steps, SOURCE, left, aim)

    def _to(self, landmark: SeenLandmark, side: Side, pose: FloatArray, text: str) -> ActionPlan:
        return ActionPlan(self._steps, SOURCE, landmark.left_rad(pose), landmark.aim(side, text))

    def _add(self, plans: list[ActionPlan], plan: ActionPlan, n: int) -> None:
        apart = all(abs(float(wrap_angle(plan.turn_left_rad - one.turn_left_rad))) > APART for one in plans)
        if len(plans) < n and apart:
            plans.append(plan)


def _rooms(landmark: SeenLandmark, observation: HomeObservation) -> Mapping[str, float]:
    """How likely a landmark is in which room: known of an exact one, else as things of its name are in train homes."""
    thing = observation.things.get(landmark.instance)
    return {thing.room: 1.0} if thing is not None and thing.room else rooms_of(landmark.name)


def _clearest(seen: dict[Side, dict[int, Mask]]) -> list[tuple[Side, int]]:
    """Return each landmark in sight once, with the view that shows most of it."""
    best: dict[int, tuple[int, Side]] = {}
    for side, masks in seen.items():
        for number, mask in masks.items():
            size = int(mask.sum())
            if number not in best or size > best[number][0]:
                best[number] = size, side
    return [(side, number) for number, (_, side) in best.items()]


def _side(left_rad: float) -> Side:
    """Return the view whose axis is nearest to a heading."""
    return min(SIDES, key=lambda side: abs(float(wrap_angle(left_rad + math.radians(YAW_RIGHT_DEG[side])))))
