"""A table in another process, environment or machine: the world `table-process`, and its simulation.

States live in the server, under names. What it no longer knows, such as after it was killed, is put back from the bytes
of a state, or from those of the state before with the pose that was carried out.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.episode import WorldFacts, number_of
from worldgauge.core.errors import ModelError, NotApplicableError, UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.serving import open_world_server
from worldgauge.serving.messages import TABLE_VARIABLE, plain
from worldgauge.serving.remote_model import Expected, RemoteWorld, StateGoneError
from worldgauge.worlds import View, worlds
from worldgauge.worlds.tabletop.contract import TableObject
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import Move, UnstableError
from worldgauge_serve import MAX_STATES, MAX_TABLES, Arrays, Header, pose_refusal

NAME = "table-process"
_TRIES = 3
"""How often a question is asked whose table or state the server does not know."""
_WITH_STATE = {"state": Expected(((None,),), ("uint8",))}


def tables_here() -> RemoteWorld:
    """The server that the environment variable names."""
    address = os.environ.get(TABLE_VARIABLE, "")
    if not address:
        raise WorldError(
            f"a table in a process of its own cannot be verified here: name its server in {TABLE_VARIABLE}, "
            'such as "cmd:python -m worldgauge_serve robosuite_table.py:RobosuiteTables"'
        )
    return opened(address)


@lru_cache(maxsize=4)
def opened(address: str) -> RemoteWorld:
    """Connect to a server of tables, once: it takes longer than an episode."""
    return open_world_server(address)


class RemoteState:
    """A state of a served table. `name`: in the server; `saved`: its bytes, where known; `way`: how it was reached."""

    def __init__(self, table: ServedTable, name: str = "", saved: bytes | None = None, way: Way | None = None) -> None:
        self.table, self.name, self.saved, self.way = table, name, saved, way

    def plain(self) -> str:
        """Its bytes as text, from which `RemoteSimulation.state_of` makes the same state."""
        return base64.b64encode(self.table.saved(self)).decode()

    @cached_property
    def sensed(self) -> Sensed:
        """What is sensed in it without a picture."""
        return self.table.sense(self)[0]


class Way(NamedTuple):
    """What led from a state to others: a pose (8,), or None for all that is left to do."""

    start: RemoteState
    pose: FloatArray | None
    ends: list[RemoteState]


class Sensed(NamedTuple):
    """Hand, middles of things (n, 3), camera-to-world of each view, and progress."""

    hand: HandPose
    places: FloatArray
    poses: Mapping[str, FloatArray]
    progress: float


@lru_cache(maxsize=MAX_TABLES)
def served_table(server: RemoteWorld, task: str, variation: int, seed: int) -> ServedTable:
    """Open a table, once for all that look at it: a simulator may take seconds."""
    return ServedTable(server, task, variation, seed)


class ServedTable:
    """A table that is open in a server; it has no state of its own, since every question names one."""

    def __init__(self, server: RemoteWorld, task: str, variation: int, seed: int) -> None:
        self.server, self.spec = server, server.spec
        self.named = {"task": task, "variation": variation, "seed": seed}
        self.name = secrets.token_hex(8)
        self.views = {str(view["name"]): float(view["camera"]["vfov_deg"]) for view in self.spec.views}
        header = self._open()
        try:
            things = [
                TableObject(
                    name := plain(one["name"]), name, plain(one["category"]), plain(one["colour"]), tuple(one["half_m"])
                )
                for one in header["things"]
            ]
            if not all(len(thing.half_m) == 3 and np.isfinite(thing.half_m).all() for thing in things):
                raise ValueError("three sides of each thing")
            wordings = tuple(plain(one) for one in header["wordings"])
            self.digest, self.caption, instruction = (
                plain(header[key]) for key in ("digest", "caption", "instruction")
            )
            self.start = RemoteState(self, str(header["state"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"world '{self.spec.name}' opens a table without {error}") from None
        self.task = RemoteTask(tuple(things), instruction, wordings)
        self.categories = ("other", *dict.fromkeys(thing.category for thing in things))

    def ask(
        self,
        kind: str,
        about: RemoteState,
        fields: Mapping[str, Any] | None = None,
        arrays: Arrays | None = None,
        expected: Mapping[str, Expected] | None = None,
    ) -> tuple[Header, Arrays]:
        """The answer to a question about a state; what the server has forgotten is put back first."""
        for _ in range(_TRIES):
            try:
                if about.name:
                    named = {"table": self.name, "state": about.name, **(fields or {})}
                    return self.server.ask(kind, named, arrays or {}, expected or {})
            except StateGoneError:
                pass
            self._put_back(about)
        raise ModelError(f"world '{self.spec.name}' forgets its states faster than they are used")

    def saved(self, state: RemoteState) -> bytes:
        """The bytes of a state."""
        if state.saved is None:
            state.saved = self.ask("save", state, expected=_WITH_STATE)[1]["state"].tobytes()
        return state.saved

    def sense(
        self, state: RemoteState, view: str = "", size_px: int = 1, *, measured: bool = False
    ) -> tuple[Sensed, Arrays]:
        """What is sensed in a state, and the arrays of a view."""
        expected = self._expected(len(self.task.things))
        if view:
            sides = size_px, size_px
            expected[f"{view}/rgb"] = Expected(((*sides, 3),), ("uint8",))
            if measured:
                expected[f"{view}/depth"] = Expected((sides,), ("float32",), finite=False)
                expected[f"{view}/instances"] = Expected((sides,), ("uint16",))
        fields = {"views": [view] if view else [], "size_px": size_px}
        fields |= {"depth": measured, "instances": measured}
        header, arrays = self.ask("sense", state, fields, expected=expected)
        names = ("rgb", "depth", "instances")
        return self._sensed(header, arrays), {
            name: arrays[f"{view}/{name}"] for name in names if f"{view}/{name}" in arrays
        }

    def led(self, way: Way, names: Sequence[Any], **more: Any) -> list[RemoteState]:
        """The states of these names that a way has led to; again, where there are some already."""
        if not way.ends:
            way.ends.extend(RemoteState(self, way=way) for _ in names)
        if len(names) != len(way.ends):
            raise ModelError(f"world '{self.spec.name}' does not repeat what it did from one state")
        for state, name in zip(way.ends, names, strict=True):
            state.name = str(name)
        return way.ends

    def _put_back(self, state: RemoteState) -> None:
        """Give a state a name in the server again."""
        if state.saved is None and state.way is not None:
            start, pose, _ = state.way
            kind = "finish" if pose is None else "act"
            fields, arrays = ({}, {}) if pose is None else ({"keep": MAX_STATES}, {"pose": pose})
            header, _ = self.ask(kind, start, fields, arrays)
            self.led(state.way, [header["state"]] if pose is None else header["states"])
            return
        for again in (False, True):
            if again or state.saved is None:
                opened_at = self._open()
                if state is self.start:
                    state.name = str(opened_at["state"])
                    return
            try:
                arrays = {"state": np.frombuffer(state.saved or b"", np.uint8)}
                state.name = str(self.server.ask("restore", {"table": self.name}, arrays, {})[0]["state"])
                return
            except StateGoneError:
                continue

    def _open(self) -> Header:
        header, _ = self.server.ask("open", {"table": self.name, **self.named, "size_px": 1}, {}, self._expected(None))
        if header.get("digest") != getattr(self, "digest", header.get("digest")):
            raise ModelError(f"world '{self.spec.name}' came back with another table; run it again")
        return header

    def _expected(self, things: int | None) -> dict[str, Expected]:
        poses = {f"{view}/pose": Expected(((4, 4),), ("float64",)) for view in self.views}
        double = ("float64",)
        return {"hand": Expected(((8,),), double), "places": Expected(((things, 3),), double), **poses}

    def _sensed(self, header: Header, arrays: Arrays) -> Sensed:
        try:
            progress = number_of(header, "progress", 0, 1)
        except (KeyError, ValueError) as error:
            raise ModelError(f"world '{self.spec.name}' answers without its progress: {error}") from None
        poses = {view: arrays[f"{view}/pose"] for view in self.views}
        return Sensed(HandPose(*arrays["hand"].tolist()), arrays["places"], poses, progress)


@worlds.register(NAME, panorama=False, served=True)
class TableProcess:
    """A table of a server that the environment variable WORLDGAUGE_TABLE names.

    Args:
        task: A task of the server.
        variation: Number of its variation.
        seed: Seed of the places of its things.
        state: A state to begin with, as its simulation writes it. The digest leaves it out.
    """

    def __init__(self, task: str, variation: int = 0, seed: int = 0, state: str | None = None) -> None:
        self.named = {"task": task, "variation": variation, "seed": seed}
        self.table, self.state = served_table(tables_here(), task, variation, seed), state
        self.task, self.categories = self.table.task, self.table.categories

    @classmethod
    def describe(cls, **named: Any) -> str:
        """Describe the table of these arguments in a sentence."""
        return cls(**named).table.caption

    @property
    def facts(self) -> WorldFacts:
        """Name and arguments, with the digest that the server states. No address: that may be a command."""
        state = {} if self.state is None else {"state": self.state}
        return WorldFacts(NAME, self.named | state, self.table.digest)

    def difference_from(self, digest: str) -> str:
        """Why the digest may be another one."""
        return "its server has other packages, another version or another start of the task;"

    def simulation(self) -> RemoteSimulation:
        """The table at its start."""
        return RemoteSimulation(self.table, self.state)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """What one of its own cameras sees before anything has moved."""
        return self.simulation().view(pose, camera, position=position)


class RemoteTask(NamedTuple):
    """The task of a served table; its expert, where there is one, is in the server."""

    things: tuple[TableObject, ...]
    instruction: str
    wordings: tuple[str, ...]

    def plan(self, scene: RemoteSimulation) -> list[HandPose]:
        """Poses of the server's expert from here; NotApplicableError where it has none."""
        expected = {"poses": Expected(((None, 8),), ("float64",))}
        poses = scene.table.ask("plan", scene.state(), expected=expected)[1]["poses"]
        return [HandPose(*pose) for pose in poses.tolist()]

    def finish(self, scene: RemoteSimulation) -> None:
        """Put all things where a solved task leaves them."""
        way = Way(scene.state(), None, [])
        scene.restore(scene.table.led(way, [scene.table.ask("finish", way.start)[0].get("state")])[0])


class RemoteSimulation:
    """A served table on which poses are carried out: what `simulation.Simulation` is to a table of this process."""

    def __init__(self, table: ServedTable, state: str | None = None) -> None:
        self.table, self.task = table, table.task
        self._present = table.start if state is None else self.state_of(state)

    @property
    def hand(self) -> HandPose:
        """Pose of the hand."""
        return self._present.sensed.hand

    @property
    def progress(self) -> float:
        """Progress of the task, in [0, 1]."""
        return self._present.sensed.progress

    @property
    def solved(self) -> bool:
        """Whether the task is solved."""
        return self.progress >= 1.0

    def middle(self, thing: TableObject) -> FloatArray:
        """Centre of a thing of the task, (3,) metres."""
        place: FloatArray = self._present.sensed.places[self.task.things.index(thing)]
        return place

    def state(self) -> RemoteState:
        """The present state."""
        return self._present

    def restore(self, state: RemoteState) -> None:
        """Restore a state; the server follows with the next question."""
        self._present = state

    def state_of(self, text: Any) -> RemoteState:
        """The state of `RemoteState.plain`."""
        try:
            return RemoteState(self.table, saved=base64.b64decode(text, validate=True))
        except (TypeError, ValueError) as error:
            raise WorldError(f"this is no state of a served table: {error}") from error

    def move(self, pose: ArrayLike) -> Move:
        """Bring the hand to a pose (8,), then open or close the gripper; 0.5 or more is open."""
        refusal = pose_refusal(pose, *self.table.spec.workspace)
        if refusal is not None:
            return Move(refusal, True, (), 0.0)
        goal = np.asarray(pose, np.float64)
        way = Way(self._present, goal, [])
        # So that what happens on the way can be repeated should the server be lost.
        self.table.saved(self._present)
        header, _ = self.table.ask("act", way.start, {"keep": MAX_STATES}, {"pose": goal})
        try:
            reason = None if header["reason"] is None else plain(header["reason"])
            failed, unstable, names = bool(header["failed"]), bool(header["unstable"]), list(header["states"])
            seconds = number_of(header, "seconds", 0, 1e6)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the table's server answers to a pose without {error}") from None
        if unstable:
            raise UnstableError(reason or "the physics of the table became unstable; the episode cannot go on")
        states = self.table.led(way, names)
        self._present = states[-1] if states else self._present
        return Move(reason, failed, tuple(states), seconds)

    def camera(self, size_px: int, view: str = "front") -> Camera:
        """The square camera of a view."""
        return Camera.from_vertical_fov(size_px, size_px, self.table.views[self._known(view)])

    def pose(self, view: str = "front") -> FloatArray:
        """Camera-to-world (4, 4) of a view."""
        return self._present.sensed.poses[self._known(view)]

    def wrist(self, size_px: int = 448) -> NDArray[np.uint8]:
        """What the view "wrist" shows, (size_px, size_px, 3) uint8."""
        return self.rgb(self.pose("wrist"), self.camera(size_px, "wrist"))

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """What one of the table's cameras sees."""
        if position or isinstance(camera, Panorama):
            raise UsageError("a served table is seen by its own cameras, without hit points or all around")
        seen = self._seen(pose, camera, measured=True)
        numbers = [0, *(self.table.categories.index(thing.category) for thing in self.task.things)]
        instances = seen["instances"]
        if instances.max(initial=0) >= len(numbers):
            raise ModelError("the table's server numbers a thing that is not there")
        return View(seen["rgb"], seen["depth"], np.array(numbers, np.uint16)[instances], instances)

    def rgb(self, pose: FloatArray, camera: Camera) -> NDArray[np.uint8]:
        """Only the colours of `view`, (H, W, 3)."""
        return self._seen(pose, camera)["rgb"]

    def _known(self, view: str) -> str:
        if view not in self.table.views:
            raise UsageError(f"'{self.table.spec.name}' has no view '{view}'; it has {', '.join(self.table.views)}")
        return view

    def _seen(self, pose: FloatArray, camera: Camera, *, measured: bool = False) -> Arrays:
        """Arrays of the view at a pose, cut out of a square picture where the camera is not square."""
        name = next((name for name, own in self._present.sensed.poses.items() if np.array_equal(own, pose)), None)
        size_px = max(camera.width, camera.height)
        if name is None or self.camera(size_px, name).cropped(camera.width, camera.height) != camera:
            raise NotApplicableError("a served table is seen by its own cameras only")
        seen = self.table.sense(self._present, name, size_px, measured=measured)[1]
        top, left = (size_px - camera.height) // 2, (size_px - camera.width) // 2
        return {what: array[top : top + camera.height, left : left + camera.width] for what, array in seen.items()}
