"""What a language model is shown of a table with an arm, and how its plans are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.chat.prompts import Field
from worldgauge.core.english import listed
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray, invert
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.manipulation.env import TableEnv
from worldgauge.suites.worldinworld.manipulation.scripted_proposer import describe_plan
from worldgauge.suites.worldinworld.policies.asking import moves_in_words, pose_in_words, read_poses, things_in_words
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, History, TableObservation
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import SEEDS
from worldgauge.worlds.tabletop.pose_plans import BIN_M, WORKSPACE_LOW_M, bins_from_poses

ORIGIN_BINS = (20, 10, 15)
"""Origin of the drawn axes, in bins: on the table top, at the side. The prompts say so too."""
AXIS_BINS = 20
AXES: Mapping[str, tuple[int, int, int]] = {"x": (220, 30, 30), "y": (20, 150, 40), "z": (40, 80, 240)}
"""Colours of the axes, RGB."""
_INK, _PAPER = (20, 20, 20), (255, 255, 255)
_HEAD, _LABEL = 14, 20
"""Length of an arrow's head and distance to its letter, in pixels of an image 800 high."""
_SUBPIXEL = 4
"""Fractional bits of cv2's coordinates."""


def marked_table(observation: TableObservation) -> Image:
    """Copy of the front view with axes x, y, z and each thing's number from 1, on discs that do not overlap."""
    drawn = np.ascontiguousarray(observation.front.copy())
    _draw_axes(drawn, observation)
    middles, discs = middles_px(observation), discs_px(observation)
    radius = radius_px(observation)
    for number, disc in discs.items():
        if disc != middles[number]:
            _lead(drawn, middles[number], disc)
    for number, disc in discs.items():
        _disc(drawn, disc, radius, str(number))
    return drawn


def middles_px(observation: TableObservation) -> dict[int, tuple[float, float]]:
    """Return column and row of each thing's centre in the front view, by number; those outside are left out."""
    seen = pixels(observation, [thing.place_m for thing in observation.things])
    size = (observation.camera.width, observation.camera.height)
    return {
        number: (float(u), float(v))
        for number, (u, v) in enumerate(seen, start=1)
        if 0 <= u < size[0] and 0 <= v < size[1]
    }


def discs_px(observation: TableObservation) -> dict[int, tuple[float, float]]:
    """Return column and row of each disc: at the thing's centre, or far enough away to cover no earlier disc."""
    apart = 2 * radius_px(observation) + 1
    taken: dict[int, tuple[float, float]] = {}
    for number, (u, v) in middles_px(observation).items():
        aside = apart if u < observation.camera.width / 2 else -apart
        while any(np.hypot(u - a, v - b) < apart for a, b in taken.values()):
            u += aside
        taken[number] = (u, v)
    return taken


def radius_px(observation: TableObservation) -> int:
    """Return the radius of a disc: large enough for a legible number."""
    return max(7, round(observation.camera.height / 48))


def pixels(observation: TableObservation, points_m: ArrayLike) -> FloatArray:
    """Column and row (n, 2) in the front view of points (n, 3) in the world frame, metres; NaN behind the camera."""
    to_camera = invert(observation.pose)
    points = np.asarray(points_m, np.float64).reshape(-1, 3)
    return observation.camera.project(points @ to_camera[:3, :3].T + to_camera[:3, 3])[0]


def axes_m() -> FloatArray:
    """Return (4, 3) metres: the origin of the axes, and the ends of x, y and z."""
    ends = np.array(ORIGIN_BINS) + np.vstack([np.zeros(3), AXIS_BINS * np.eye(3)])
    return np.array(WORKSPACE_LOW_M) + BIN_M * ends


def _draw_axes(drawn: Image, observation: TableObservation) -> None:
    import cv2

    origin, *ends = pixels(observation, axes_m())
    if not np.isfinite(np.vstack([origin, *ends])).all():
        return
    size, thick = observation.camera.height / 800, max(2, round(observation.camera.height / 224))
    for (name, colour), end in zip(AXES.items(), ends, strict=True):
        length = max(float(np.hypot(*(end - origin))), 1.0)
        for ink, width in ((_PAPER, thick + 2), (colour, thick)):
            cv2.arrowedLine(drawn, _at(origin), _at(end), ink, width, cv2.LINE_AA, _SUBPIXEL, _HEAD * size / length)
        _text(drawn, end + (end - origin) / length * _LABEL * size, name, size, colour)


def _disc(drawn: Image, middle: tuple[float, float], radius: int, number: str) -> None:
    """Draw a half transparent disc."""
    import cv2

    filled = drawn.copy()
    cv2.circle(filled, _at(middle), radius << _SUBPIXEL, _PAPER, -1, cv2.LINE_AA, _SUBPIXEL)
    cv2.addWeighted(filled, 0.5, drawn, 0.5, 0, dst=drawn)
    cv2.circle(drawn, _at(middle), radius << _SUBPIXEL, _INK, 1, cv2.LINE_AA, _SUBPIXEL)
    _text(drawn, np.array(middle), number, radius / 18 if len(number) == 1 else radius / 24, _INK)


def _text(drawn: Image, middle: FloatArray, text: str, size: float, colour: tuple[int, int, int]) -> None:
    """Draw centred text with a bright outline."""
    import cv2

    font = cv2.FONT_HERSHEY_SIMPLEX
    (width, height), _ = cv2.getTextSize(text, font, size, 1)
    corner = (round(middle[0] - width / 2), round(middle[1] + height / 2))
    cv2.putText(drawn, text, corner, font, size, _PAPER, 3, cv2.LINE_AA)
    cv2.putText(drawn, text, corner, font, size, colour, 1, cv2.LINE_AA)


def _lead(drawn: Image, middle: tuple[float, float], disc: tuple[float, float]) -> None:
    """Draw a line from a disc to its thing, with a dot there."""
    import cv2

    for ink, thick in ((_PAPER, 3), (_INK, 1)):
        cv2.line(drawn, _at(middle), _at(disc), ink, thick, cv2.LINE_AA, _SUBPIXEL)
    cv2.circle(drawn, _at(middle), 2 << _SUBPIXEL, _INK, -1, cv2.LINE_AA, _SUBPIXEL)


def _at(place: tuple[float, float] | NDArray[np.float64]) -> tuple[int, int]:
    """Return coordinates for cv2, where pixel 0 is centred at 0; ours is centred at 0.5."""
    return round((float(place[0]) - 0.5) * 2**_SUBPIXEL), round((float(place[1]) - 0.5) * 2**_SUBPIXEL)


ASKS = 12
"""Most requests for one plan or choice (released code)."""


def table_now(observation: TableObservation, goal: Goal, history: History, squeeze: int) -> dict[str, Field]:
    """Return instruction, marked view, things, hand and past as fields of the prompts."""
    if not goal.text:
        raise UsageError("manipulation needs an instruction, and this episode has none")
    return {
        "instruction": goal.text,
        "view": marked_table(observation),
        "things": things_in_words(observation.things),
        "hand": pose_in_words(observation.hand),
        "history": moves_in_words(history, squeeze),
    }


def read_hand_plan(value: Mapping[str, Any], length: int) -> ActionPlan:
    """Read the plan of a reply of form `forms.HAND_PLAN`."""
    poses = read_poses(value["poses"], length)
    words = " ".join(value["plan"].split())
    return ActionPlan((), "chat", aim={"text": words} if words else None, poses=poses)


EXAMPLE_SEED = max(seeds.stop for seeds in SEEDS.values())
"""Seed of the tables of examples; no split has it."""


@cache
def example_of(table_task: str, length: int) -> str:
    """Return an example for prompts: another table in the prompts' words, and the expert's first poses as a reply."""
    table = Tabletop(table_task, seed=EXAMPLE_SEED)
    sight = TableEnv(table, 32).observe()
    poses = tuple(sight.expert())[:length]
    reply = {
        "seen": f"On the table: {listed([thing.name for thing in sight.things])}.",
        "reason": "Nothing is done yet.",
        "plan": f"{describe_plan(poses, sight.hand, sight.things).capitalize()}.",
        "poses": bins_from_poses(poses).tolist(),
    }
    return (
        f"An example of a reply, at another table. What was to be done there: {table.task.instruction}\n"
        f"The things, and the bins x, y, z of the middle of each:\n{things_in_words(sight.things)}\n"
        f"The hand was at {pose_in_words(sight.hand)}.\n{json.dumps(reply)}"
    )
