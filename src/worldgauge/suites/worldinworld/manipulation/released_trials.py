"""World-in-World's released trials: their files, and their layouts on our table."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.io import check_inside, list_folder
from worldgauge.suites.worldinworld.format.rows import text_of, wrong
from worldgauge.suites.worldinworld.manipulation.object_stream import ObjectRecord, need, read_objects
from worldgauge.worlds.tabletop.contract import Setup, table_tasks

MOST_OBSERVATIONS, EMPTY, FARTHEST_M = 5000, 20, 10
"""Of one trial; pictures that each leaves out; and from the middle of the world."""
_BUTTON_COLOURS = ("green", "blue", "yellow", "gray", "orange", "purple")
_TARGET_COLOURS = ("green", "blue", "pink", "yellow")
_COLOURS = (
    *("red", "maroon", "lime", "green", "blue", "navy", "yellow", "cyan", "magenta", "silver"),
    *("gray", "orange", "olive", "purple", "teal", "azure", "violet", "rose", "black", "white"),
)
"""In the order of the release, where a colour is the number of a variation."""
_FORM = {
    **dict.fromkeys(("joint_velocities", "joint_positions", "joint_forces", "gripper_pose"), (7,)),
    **{"gripper_open": float, "gripper_matrix": (4, 4), "gripper_joint_positions": (2,), "gripper_touch_forces": (6,)},
    **{"ignore_collisions": (), "misc": dict},
}
"""Shape or type of what an observation holds; its pictures are left out."""


class _ReleasedTask(NamedTuple):
    """A task of the release: its folder, the length of its states, and the objects of a state that our table has."""

    folder: str
    numbers: int
    objects: tuple[int, ...]


RELEASED_TASKS: Mapping[str, _ReleasedTask] = {
    "push_buttons": _ReleasedTask("push_buttons", 108, (1, 2, 3)),
    "slide_block": _ReleasedTask("slide_block_to_color_target", 203, (1, 0, 2, 9, 10)),
    "insert_ring": _ReleasedTask("insert_onto_square_peg", 133, (8, 1, 2, 3)),
    "stack_cups": _ReleasedTask("stack_cups", 126, (0, 1, 2)),
}
"""By table task; objects in the order of its things."""


@dataclass(frozen=True, eq=False)
class ReleasedTrial:
    """One trial as its files have it.

    Attributes:
        task: Name of the table task here.
        wordings: The instruction, then others of the same meaning.
        observations: Number of observations of its demonstration.
        hand_pose: Where the hand starts, (7,): x, y, z in metres, quaternion x, y, z, w.
        gripper_open: 1 for an open gripper.
        state: Poses of all objects at the start, (n,).
        seed_state: State of the generator before the trial was made, (624,) uint32, and `seed_position` in it.
    """

    task: str
    variation: int
    episode: int
    wordings: tuple[str, ...]
    observations: int
    hand_pose: FloatArray
    gripper_open: float
    state: FloatArray
    seed_state: NDArray[np.uint32]
    seed_position: int

    @property
    def name(self) -> str:
        """Folder of the task, variation and episode."""
        return f"{RELEASED_TASKS[self.task].folder}-{self.variation}-{self.episode}"

    def layout(self) -> Setup:
        """Where its things lie on our table, to a micrometre and microradian."""
        bodies, (colours, wanted) = tuple(table_tasks.entry(self.task).facts["bodies"].split()), self._colours()
        places, yaws = [], []
        for body, number in zip(bodies, RELEASED_TASKS[self.task].objects, strict=True):
            x, y, _, qx, qy, qz, qw = self._pose(number).tolist()
            yaw = math.atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz))
            if body == "ring":  # a square one: the hand need not turn further
                yaw = (yaw + math.pi / 4) % (math.pi / 2) - math.pi / 4
            places.append((x, y))
            yaws.append(round(yaw, 6))
        return Setup(bodies, np.round(places, 6), tuple(yaws), tuple(colours), wanted, self.wordings)

    def _pose(self, number: int) -> FloatArray:
        return self.state[7 * number : 7 * number + 7]

    def _colours(self) -> tuple[list[str], int]:
        """Colour of each thing, and which choice is wanted; what the state does not show, the generator gives."""
        if self.task == "push_buttons":
            orders = list(itertools.permutations(_BUTTON_COLOURS, 3))
            return list(orders[7 * self.variation % len(orders)]), 0
        if self.task == "slide_block":
            return ["grey", *_TARGET_COLOURS], self.variation
        draw = np.random.RandomState()
        draw.set_state(("MT19937", self.seed_state, self.seed_position, 0, 0.0))
        if self.task == "insert_ring":
            draw.choice(3)  # the wanted peg, which the state shows
            rest = [colour for colour in _COLOURS if colour != _COLOURS[self.variation]]
            others = [rest[int(n)] for n in draw.choice(len(rest), 2, replace=False)]
            # Object 9 is the place of success, at the wanted peg.
            pegs = RELEASED_TASKS[self.task].objects[1:]
            wanted = int(np.argmin([math.dist(self._pose(9)[:2], self._pose(n)[:2]) for n in pegs]))
            others.insert(wanted, _COLOURS[self.variation])
            return ["grey", *others], wanted
        drawn = (int(draw.choice(len(_COLOURS))) for _ in itertools.count())
        first, last = itertools.islice((n for n in drawn if n != self.variation), 2)
        return [_COLOURS[first], _COLOURS[self.variation], _COLOURS[last]], 1


def find_trials(root: Path) -> dict[str, list[Path]]:
    """Folders of the trials of each of our tasks, by variation and episode; DataError where there are none."""
    found = {}
    for task, own in RELEASED_TASKS.items():
        found[task] = [
            check_inside(episode, root)
            for variation in _numbered(root / own.folder, "variation")
            for episode in _numbered(variation / "episodes", "episode")
        ]
    if not any(found.values()):
        raise DataError(f"{root}: no trial is there; name the folder that holds push_buttons and the other tasks")
    return found


def read_trial(task: str, folder: Path) -> ReleasedTrial:
    """Read the three files of a trial; DataError where one is not as released."""
    names = ("low_dim_obs", "variation_descriptions", "variation_number")
    demo, words, variation = (read_objects(check_inside(folder / f"{name}.pkl", folder)) for name in names)
    variations = table_tasks.entry(task).facts["variations"]
    try:
        told = _fields(demo, "Demo")
        rows, (kind, seed_state, position, *rest) = told["_observations"], told["random_seed"]
        many = isinstance(rows, list) and 1 <= len(rows) <= MOST_OBSERVATIONS
        need(many, f"field '_observations' is no list of 1 to {MOST_OBSERVATIONS}")
        observed = [_observation(row, RELEASED_TASKS[task].numbers) for row in rows]
        first, is_whole = observed[0], type(position) is int and 0 <= position <= 624
        is_state = isinstance(seed_state, np.ndarray) and seed_state.shape == (624,) and seed_state.dtype == np.uint32
        # A generator of zeros would give the same colour for ever.
        is_state = is_state and bool(seed_state[1:].any()) and is_whole and kind == "MT19937" and rest == [0, 0.0]
        need(is_state, "field 'random_seed' is no state of MT19937")
        far = np.abs([*first["gripper_pose"], *first["task_low_dim_state"]]).max()
        need(bool(far <= FARTHEST_M), f"a pose is not within {FARTHEST_M} m")
        texts = isinstance(words, list) and 1 <= len(words) <= 100 and all(isinstance(one, str) for one in words)
        need(texts, "its descriptions are no list of 1 to 100 texts")
        is_here = type(variation) is int and folder.parents[1].name == f"variation{variation}"
        need(is_here and variation < variations, f"its variation is not that of its folder, or none of {variations}")
        wordings = tuple(text_of({"instruction": one}, "instruction") for one in words)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: {wrong(error)}; download the trial again") from error
    start = first["gripper_pose"], first["gripper_open"], first["task_low_dim_state"]
    episode = int(folder.name.removeprefix("episode"))
    return ReleasedTrial(task, variation, episode, wordings, len(rows), *start, seed_state, position)


def _fields(record: Any, kind: str) -> dict[str, Any]:
    need(isinstance(record, ObjectRecord) and record.kind == kind, f"it holds no {kind}")
    return record.fields or {}


def _observation(record: Any, numbers: int) -> dict[str, Any]:
    """The fields of an observation that are not empty."""
    fields = _fields(record, "Observation")
    found = {name: value for name, value in fields.items() if value is not None}
    form = {name: getattr(value, "shape", type(value)) for name, value in found.items()}
    need(form == {**_FORM, "task_low_dim_state": (numbers,)}, "an observation is not as released")
    cameras = [isinstance(one, (float, np.ndarray)) for one in found["misc"].values()]
    need(len(fields) - len(found) == EMPTY and cameras == [True] * 8, "pictures or cameras are not as released")
    return found


def _numbered(folder: Path, stem: str) -> list[Path]:
    """Folders that are called by a stem and a number, by number; none where there is no such folder."""
    entries = list_folder(folder) if folder.is_dir() else []
    return [entry for entry in entries if re.fullmatch(rf"{stem}\d{{1,9}}", entry.name) and entry.is_dir()]
