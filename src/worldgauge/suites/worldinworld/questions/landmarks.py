"""Landmarks of an episode: things seen and recognised again, with fixed numbers (World-in-World, section 7).

    known = Landmarks()
    for each decision:
        seen = known.look(observation)        # {"front": {3: mask, 7: mask}, "left": {}, ...}
        known[3].name, known[3].centre, known.visited(3)

Masks are the exact ones of `HomeObservation.instances` unless another `find` is given (`detecting`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, wrap_angle
from worldgauge.core.image import Image
from worldgauge.perception.networks import Ready
from worldgauge.suites.worldinworld.policies.cached_inference import Arrays, ask_masks, ask_network, network
from worldgauge.suites.worldinworld.policies.contract import SIDES, YAW_RIGHT_DEG, HomeObservation, PolicyKit, Side
from worldgauge.suites.worldinworld.questions.forms import NAMES

Mask = NDArray[np.bool_]

IGNORED = frozenset({"wall", "floor", "ceiling", "carpet", "rug", "bath mat"})
"""Names that are never landmarks."""
PASSAGES = frozenset({"door", "doorway", "stairs"})
"""Names of passages: never visited, of any size. The published list ignores doors and detects doorways; our homes mark
doorways by their doors, which stand open next to them."""
MIN_SCORE = 0.3
AREA = (0.003, 0.5)
"""Least and most share of the view that a landmark's mask covers."""
SAME_IOU = 0.9
MERGE_PX = 20.0
CONTAINED = (0.8, 0.7)
"""A mask lies in another if they share more than the first of its own area, and less than the second of the other's
box."""
VOXEL_M = 0.05
NEAR_M = 0.15
SHARED = 0.2
"""Least share of a detection's points within NEAR_M of a known landmark at which the two are the same."""
VISITED_M = 1.2
"""Nearer than this to a landmark's outline (its radius), the landmark is visited."""
_MOST_POINTS = 600
"""Most pixels of a mask that become points, evenly spaced."""


@dataclass(frozen=True)
class LandmarkDetection:
    """A detected object in a view. `mask`: (H, W) bool."""

    name: str
    mask: Mask
    score: float = 1.0
    instance: int = 0


@dataclass
class SeenLandmark:
    """A thing seen in an episode. `points`: (N, 3) of its surface, world frame, metres, one per voxel of 5 cm."""

    number: int
    name: str
    points: FloatArray
    instance: int = 0
    visited: bool = False

    @property
    def passage(self) -> bool:
        """Whether it leads to another place."""
        return self.name in PASSAGES

    @property
    def centre(self) -> FloatArray:
        """(3,) centre of the box around its points, world frame, metres."""
        middle: FloatArray = (self.points.min(0) + self.points.max(0)) / 2
        return middle

    @property
    def radius_m(self) -> float:
        """Half the longer horizontal side of that box."""
        return float(np.ptp(self.points[:, :2], axis=0).max() / 2)

    def distance_m(self, pose: FloatArray) -> float:
        """Return the horizontal distance in metres from a camera at `pose` (4, 4) to the centre."""
        return math.hypot(*(self.centre[:2] - pose[:2, 3]))

    def left_rad(self, pose: FloatArray) -> float:
        """Return the bearing of the centre from a camera at `pose` (4, 4), left of its axis, in [-pi, pi)."""
        ahead, to = pose[:2, 2], self.centre[:2] - pose[:2, 3]
        return float(wrap_angle(math.atan2(to[1], to[0]) - math.atan2(ahead[1], ahead[0])))

    def aim(self, view: Side, text: str = "") -> dict[str, Any]:
        """The aim of a plan to this landmark; it holds the place, so that a traveller needs no list of landmarks."""
        centre = [round(float(c), 4) for c in self.centre]
        return {
            "view": view,
            "landmark": self.number,
            "text": text,
            "centre": centre,
            "radius_m": round(self.radius_m, 4),
        }


Find = Callable[[HomeObservation, Side], Sequence[LandmarkDetection]]


def exact(observation: HomeObservation, side: Side) -> list[LandmarkDetection]:
    """Return exact detections of one view: named objects, largest first."""
    instances, things = observation.instances(side), observation.things
    counts = np.bincount(instances.ravel())
    listed = [int(n) for n in np.argsort(-counts, kind="stable") if n != 0 and counts[n] and int(n) in things]
    return [LandmarkDetection(things[n].name, instances == n, instance=n) for n in listed]


@dataclass
class Landmarks:
    """The landmarks of one episode, not to be shared; `merge_px` is for a view 560 pixels wide, else scaled."""

    find: Find = exact
    merge_px: float = MERGE_PX
    _known: dict[int, SeenLandmark] = field(default_factory=dict)

    def __getitem__(self, number: int) -> SeenLandmark:
        try:
            return self._known[number]
        except KeyError:
            raise UsageError(f"no landmark {number} has been seen; there are {len(self._known)}") from None

    def __iter__(self) -> Iterator[SeenLandmark]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def look(self, observation: HomeObservation) -> dict[Side, dict[int, Mask]]:
        """Add what all four views show; returns masks (H, W) by view and number, without landmarks visited so far."""
        self.reach(observation.pose)
        seen: dict[Side, dict[int, Mask]] = {}
        for side in SIDES:
            found = self.find(observation, side)
            here = self.add(found, observation.depth(side), observation.camera, turn_pose(observation.pose, side))
            seen[side] = {number: mask for number, mask in here.items() if not self._known[number].visited}
        return seen

    def add(
        self, found: Sequence[LandmarkDetection], depth: NDArray[np.float32], camera: Camera, pose: FloatArray
    ) -> dict[int, Mask]:
        """Add one view's detections by depth (H, W) along the axis and camera-to-world pose; returns those accepted."""
        if depth.shape != (camera.height, camera.width):
            raise ShapeError(f"depth of shape {depth.shape} does not fit a {camera.width}x{camera.height} camera")
        marked: dict[int, Mask] = {}
        for detection in kept(found, merge_px=self.merge_px * camera.width / 560):
            # World points (N, 3) of a mask's pixels with finite depth, one per voxel.
            places = np.flatnonzero(detection.mask)
            places = places[:: max(len(places) // _MOST_POINTS, 1)]
            z = depth.ravel()[places].astype(np.float64)
            places, z = places[np.isfinite(z) & (z > 0)], z[np.isfinite(z) & (z > 0)]
            rows, columns = np.divmod(places, depth.shape[1])
            x, y = (columns + 0.5 - camera.cx) / camera.fx * z, (rows + 0.5 - camera.cy) / camera.fy * z
            points = _thinned(np.stack([x, y, z], 1) @ pose[:3, :3].T + pose[:3, 3])
            if not len(points):
                continue
            landmark = self._joined(detection, points)
            marked[landmark.number] = marked.get(landmark.number, False) | detection.mask
        return marked

    def reach(self, pose: FloatArray) -> None:
        """Mark landmarks within VISITED_M plus their radius of a camera at `pose` (4, 4) as visited."""
        for landmark in self._known.values():
            if not landmark.passage and landmark.distance_m(pose) < VISITED_M + landmark.radius_m:
                landmark.visited = True

    def visited(self, number: int) -> bool:
        """Whether the walker has stood next to it; never true of passages."""
        return self[number].visited

    def _joined(self, detection: LandmarkDetection, points: FloatArray) -> SeenLandmark:
        for landmark in self._known.values():
            if landmark.name == detection.name and _share_near(points, landmark.points) > SHARED:
                landmark.points = _thinned(np.concatenate([landmark.points, points]))
                return landmark
        landmark = SeenLandmark(len(self._known) + 1, detection.name, points, detection.instance)
        self._known[landmark.number] = landmark
        return landmark


def kept(found: Sequence[LandmarkDetection], *, merge_px: float = MERGE_PX) -> list[LandmarkDetection]:
    """Filter the detections of one view by the rules of section 7; `merge_px` is in pixels of that view.

    Passages skip the tests of score, size and overlap. A mask inside another is cut out of it.
    """
    chosen: list[LandmarkDetection] = []
    for detection in sorted(found, key=lambda one: -one.score):
        if detection.name in IGNORED or not detection.mask.any():
            continue
        if detection.name not in PASSAGES:
            if detection.score < MIN_SCORE or not AREA[0] <= detection.mask.mean() <= AREA[1]:
                continue
            if any(_alike(detection.mask, one.mask) for one in chosen if one.name not in PASSAGES):
                continue
        chosen.append(detection)
    return _merged(_cut_out(chosen), merge_px)


def turn_pose(pose: FloatArray, side: Side) -> FloatArray:
    """Return the pose (4, 4) of the camera that looks to one side of a level camera at `pose` (4, 4)."""
    angle = math.radians(YAW_RIGHT_DEG[side])
    c, s = math.cos(angle), math.sin(angle)
    around = np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1]])
    seen: FloatArray = pose @ around
    return seen


def _cut_out(chosen: Sequence[LandmarkDetection]) -> list[LandmarkDetection]:
    boxes = [_box(one.mask) for one in chosen]
    cut = [one.mask.copy() for one in chosen]
    for n, small in enumerate(chosen):
        for m in range(len(chosen)):
            shared = _shared(boxes[n], boxes[m])
            inside = shared > CONTAINED[0] * _area(boxes[n]) and shared < CONTAINED[1] * _area(boxes[m])
            if n != m and inside:
                cut[m] &= ~small.mask
    return [
        LandmarkDetection(one.name, mask, one.score, one.instance)
        for one, mask in zip(chosen, cut, strict=True)
        if mask.any()
    ]


def _merged(chosen: Sequence[LandmarkDetection], merge_px: float) -> list[LandmarkDetection]:
    left: list[tuple[LandmarkDetection, FloatArray]] = []
    for detection in sorted(chosen, key=lambda one: -int(one.mask.sum())):
        middle = np.array([axis.mean() for axis in np.nonzero(detection.mask)])
        if all(np.hypot(*(middle - other)) >= merge_px for _, other in left):
            left.append((detection, middle))
    return [detection for detection, _ in left]


def _alike(a: Mask, b: Mask) -> bool:
    """Whether the IoU of two masks exceeds SAME_IOU."""
    small, large = sorted((np.count_nonzero(a), np.count_nonzero(b)))
    return bool(small > SAME_IOU * large and np.count_nonzero(a & b) > SAME_IOU * np.count_nonzero(a | b))


def _box(mask: Mask) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _area(box: tuple[int, int, int, int]) -> int:
    return max(box[2] - box[0], 0) * max(box[3] - box[1], 0)


def _shared(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> int:
    return _area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))


def _thinned(points: FloatArray) -> FloatArray:
    """Return one point per voxel: its centre."""
    cells = np.unique(np.floor(points / VOXEL_M).astype(np.int64), axis=0)
    return np.asarray((cells.reshape(-1, 3) + 0.5) * VOXEL_M, np.float64)


def _share_near(points: FloatArray, known: FloatArray) -> float:
    """Return the share of points (N, 3) within NEAR_M of one of `known` (M, 3)."""
    close = _inside(points, known)
    if len(close) <= SHARED * len(points):
        return 0.0
    beside = _inside(known, close)
    if not len(beside):
        return 0.0
    middle = close.mean(0)
    a, b = close - middle, beside - middle
    squared = (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)
    # Points are centres of voxels, so squared distances are integer multiples of 0.0025, up to rounding.
    return int((squared.min(1) < NEAR_M**2 + VOXEL_M**2 / 2).sum()) / len(points)


def _inside(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return those of `points` within NEAR_M of the bounding box of `others`."""
    low, high = others.min(0) - NEAR_M, others.max(0) + NEAR_M
    within: FloatArray = points[((points >= low) & (points <= high)).all(1)]
    return within


NETWORKS = ("grounding-dino", "sam2")
VOCABULARY = tuple(name for name in NAMES if name not in IGNORED)
"""Names to detect: all names of things in homes, as questions and exact landmarks use the same ones."""
SCORE = 0.1
"""Least score of a detection (released code). Passages are kept from here, all else from MIN_SCORE."""


def finder(kit: PolicyKit) -> Find:
    """Return the landmark detector that the kit's option "landmarks" names: "exact" (default) or "detected"."""
    return Detector() if kit.options.get("landmarks") == "detected" else exact


class Detector:
    """Two networks that find landmarks, opened on first use; None for those of NETWORKS. Raises like `network`."""

    def __init__(self, detects: Ready | None = None, segments: Ready | None = None) -> None:
        self._detects, self._segments = detects, segments

    def __call__(self, observation: HomeObservation, side: Side) -> list[LandmarkDetection]:
        """Detections of one view, the surest first; masks of one pixel at least."""
        image = observation.view(side)
        names, scores, boxes = self._boxes(image)
        # `kept` drops these by their score alone, so no mask is computed.
        worth = [k for k, name in enumerate(names) if name in PASSAGES or scores[k] >= MIN_SCORE]
        masks = self._masks(image, boxes[worth])
        found = [LandmarkDetection(names[k], mask, float(scores[k])) for k, mask in zip(worth, masks, strict=True)]
        return [one for one in found if one.mask.any()]

    def _boxes(self, image: Image) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
        """Return names, scores (n,) and boxes (n, 4)."""
        one = self._detects = self._detects or network(NETWORKS[0])

        def ask() -> Arrays:
            found = one.network.detect(image, VOCABULARY, score=SCORE)
            return {
                "names": np.array([VOCABULARY.index(each.name) for each in found], np.int64),
                "scores": np.array([each.score for each in found], np.float64),
                "boxes": np.array([each.box for each in found], np.float64).reshape(-1, 4),
            }

        answer = ask_network(one, ["detect", VOCABULARY, SCORE], image, ask)
        return [VOCABULARY[int(k)] for k in answer["names"]], answer["scores"], answer["boxes"]

    def _masks(self, image: Image, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        if not len(boxes):
            return np.zeros((0, *image.shape[:2]), np.bool_)
        one = self._segments = self._segments or network(NETWORKS[1])
        question = ["segment_boxes", boxes.tolist()]
        return ask_masks(one, question, image, lambda: one.network.segment_boxes(image, boxes))
