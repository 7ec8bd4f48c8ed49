"""`nearest-demonstration`: what came of the most similar thing that was ever done. Retrieves, moves and pastes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path

import numpy as np

from worldgauge.core.actions import HAND_POSES
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.io import digest_of_folder
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import resize
from worldgauge.models import models
from worldgauge.suites.closedloop.models._backdrop import Backdrop
from worldgauge.suites.closedloop.models._recorded_paths import Piece, RecordedPaths
from worldgauge.suites.closedloop.models._transplant import in_picture, transplanted
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import Demonstration, load_demonstrations
from worldgauge.worlds.tabletop.franka_arm import HOME_RAD, tip_pose
from worldgauge.worlds.tabletop.pose_plans import from_actions, inside_workspace

CHOICE = 8
"""Demonstrations nearest by their paths, of which the one is taken that looks most like what is seen."""
BACKDROP = 20
"""Demonstrations from which it is learned what is behind the arm."""
SMALL_PX, PATCH_PX = 112, 13
"""Sides of the pictures that are compared, and of what is compared around the hand."""


@models.register("nearest-demonstration", space=HAND_POSES.name)
class NearestDemonstration:
    """The recorded outcome of the nearest path, moved to where the hand is asked to be.

    It has seen every task done and knows no physics: what was moved in the recording moves here, in the recording's
    colours, whether it is there or not. folder: of demonstrations, all seen by the front camera of the task, at any
    size. The first frame of a context shows the arm at home, as that of every demonstration does.
    """

    def __init__(self, folder: str) -> None:
        place = Path(folder).expanduser()
        self._library = _opened(place, digest_of_folder(place))
        self.spec = ModelSpec("nearest-demonstration", settings={"demonstrations": self._library.digest})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk.

        Raises:
            NotApplicableError: For actions of other spaces, and when another camera saw the demonstrations.
        """
        context, library = request.context, self._library
        camera, camera_pose = context.camera, context.poses[-1]
        if request.actions is None or request.actions.space != HAND_POSES:
            raise NotApplicableError(f"'{self.spec.name}' follows poses of a hand, actions of '{HAND_POSES.name}'")
        if not isinstance(camera, Camera) or not library.was_seen_by(camera, camera_pose):
            raise NotApplicableError(f"'{self.spec.name}': its demonstrations were seen by another camera")
        here = from_actions(context.actions)[-1] if len(context.actions) else _home()
        path = np.vstack([here, from_actions(request.actions)])
        asked = _seen_at(path, camera, camera_pose)
        start, now = context.clip[0], context.clip[len(context) - 1]
        piece = library.nearest(path, asked * (SMALL_PX / camera.width, SMALL_PX / camera.height, 1), start)
        shown = library.demonstrations[piece.demonstration]
        was = _seen_at(shown.hand[list(piece.frames)], camera, camera_pose)
        recorded = list(shown.clip.resized(camera.width, camera.height).take((0, *piece.frames)))
        backdrop = library.backdrop(camera.width, camera.height)
        return (frame[None] for frame in transplanted(backdrop, start, now, recorded, asked, was))


class _Library:
    """Demonstrations of a folder, and what is compared of them."""

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        self.demonstrations = demonstrations
        self.digest = _digest(demonstrations)
        self._paths = RecordedPaths(demonstrations)
        self._starts: dict[int, Frames] = {}
        self._backdrops: dict[tuple[int, int], Backdrop] = {}

    def was_seen_by(self, camera: Camera, camera_pose: FloatArray) -> bool:
        """Whether all demonstrations were, at whatever size."""
        return all(
            np.allclose(astuple(one.camera.resized(camera.width, camera.height)), astuple(camera), atol=1e-3)
            and np.allclose(one.camera_pose, camera_pose, atol=1e-4)
            for one in self.demonstrations
        )

    def nearest(self, path: FloatArray, asked: FloatArray, start: Frames) -> Piece:
        """Of those with the nearest paths the one whose table looks most like this one where the hand goes.

        asked: (n, 3) columns and rows of a path (n, 8) in a picture of `SMALL_PX`. start: the first frame.
        """
        small = resize(start, SMALL_PX, SMALL_PX)
        looks = _patches(small, asked)
        return min(self._paths.nearest(path, CHOICE), key=lambda piece: np.abs(self._patches(piece) - looks).mean())

    def backdrop(self, width: int, height: int) -> Backdrop:
        """What is behind the arm, at a size; made once."""
        if (width, height) not in self._backdrops:
            spread = np.linspace(0, len(self.demonstrations) - 1, min(BACKDROP, len(self.demonstrations)))
            starts, later = [], []
            for one in (self.demonstrations[int(n)] for n in spread):
                times = np.unique(np.linspace(one.reached[0], len(one) - 1, 4).astype(int)).tolist()
                start, *rest = one.clip.resized(width, height).take((0, *times))
                starts.append(start)
                later += rest
            self._backdrops[width, height] = Backdrop.of(starts, later)
        return self._backdrops[width, height]

    def _patches(self, piece: Piece) -> FloatArray:
        one = self.demonstrations[piece.demonstration]
        if piece.demonstration not in self._starts:
            self._starts[piece.demonstration] = one.clip.resized(SMALL_PX, SMALL_PX)[0]
        places = _seen_at(one.hand[list(piece.frames)], one.camera.resized(SMALL_PX, SMALL_PX), one.camera_pose)
        return _patches(self._starts[piece.demonstration], places)


@lru_cache(maxsize=2)
def _opened(folder: Path, digest: str) -> _Library:
    """Of a folder, read once per process and content."""
    return _Library(load_demonstrations(folder))


def _seen_at(hand: FloatArray, camera: Camera, camera_pose: FloatArray) -> FloatArray:
    """Column, row and depth (n, 3) of hand poses (n, 8); of those outside the workspace, of its edge.

    A policy may ask for what lies behind the camera, which is nowhere in its picture, and cv2 crashes on that.
    """
    return in_picture(inside_workspace(hand[:, :3]), camera, camera_pose)


def _patches(picture: Frames, places: FloatArray) -> FloatArray:
    """(n, PATCH_PX, PATCH_PX, 3) grey levels around columns and rows (n, 3) of a picture."""
    import cv2

    centres = [(float(column) - 0.5, float(row) - 0.5) for column, row, _ in places]
    patches = [cv2.getRectSubPix(picture, (PATCH_PX, PATCH_PX), centre) for centre in centres]
    return np.stack(patches).astype(np.float64)


def _digest(demonstrations: Sequence[Demonstration]) -> str:
    """Of what was done in them, so that rollouts of other ones are not taken for these."""
    digest = hashlib.sha256()
    for one in demonstrations:
        digest.update(f"{one.id} {one.variation} {one.seed} {len(one)}".encode())
        digest.update(np.ascontiguousarray(one.hand).tobytes())
    return digest.hexdigest()[:16]


def _home() -> FloatArray:
    """(8,) where the hand is when the arm is at home: reaching straight down, open."""
    return np.array([*tip_pose(np.array(HOME_RAD))[:3, 3], 1.0, 0.0, 0.0, 0.0, 1.0])
