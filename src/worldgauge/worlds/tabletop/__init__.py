"""The embedded robot bench: an arm with a gripper at a table, in a physics engine (extra `manipulation`).

Here are the world and the scripted expert. simulation.Simulation is what happens on the table, franka_arm the arm and
its ways, engine the physics and its drawing, env a gymnasium.Env; tasks/ has the four tasks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.english import listed, some
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import MissingExtraError, UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, worlds
from worldgauge.worlds.tabletop.contract import TABLE_M, Setup, TableTask, table_tasks
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.franka_arm import add_arm, dress
from worldgauge.worlds.tabletop.pose_plans import HandPose, Poses
from worldgauge.worlds.tabletop.shapes import EVERY_COLOUR, box, mark
from worldgauge.worlds.tabletop.simulation import TICK_S, Move, Simulation, UnstableError

BEHAVIOUR = 1
"""Raised with whatever makes tables behave otherwise than the shapes in their digest tell: motors, friction, ticks."""
TABLE_HALF_M = (0.65, 0.6, 0.03)
TABLE_MIDDLE_M = (0.2, 0.0)


@worlds.register("tabletop", panorama=False, example={"task": "push_buttons"})
class Tabletop:
    """An arm at a table with the things of one task, before anything has moved.

    Args:
        seed: Seed of the places of its things.
        state: A `simulation.TableState` as plain values, to view the table at a later time. The digest leaves it out.
        meshes: Folder with another look for the arm (`franka_arm.dress`).
        layout: A `contract.Setup` as plain values, in place of what variation and seed give: "things" (each with
            "body", "place_m", "yaw_rad" and "colour"), "wanted" and "wordings".
    """

    categories: tuple[str, ...] = ("background", "table", "arm", "button", "block", "target", "ring", "peg", "cup")

    def __init__(
        self,
        task: str,
        variation: int = 0,
        seed: int = 0,
        state: Sequence[Any] | None = None,
        meshes: str | None = None,
        layout: Any = None,
    ) -> None:
        entry = table_tasks.entry(task)
        count = entry.facts["variations"]
        if not isinstance(variation, (int, np.integer)) or not 0 <= variation < count:
            raise UsageError(f"table task '{task}' has variations 0 to {count - 1}, got {variation!r}")
        if not isinstance(seed, (int, np.integer)) or seed < 0:
            raise UsageError(f"the seed of a table is a whole number, 0 or more, got {seed!r}")
        self._named: dict[str, Any] = {"task": task, "variation": int(variation), "seed": int(seed)}
        given = _layout_of(task, layout)
        self._named |= {} if given is None else {"layout": given.plain}
        self.state, self.meshes = state, meshes
        self.task = _task_of(task, variation, seed, given)
        self.model: Any = self._compiled()

    @classmethod
    def describe(cls, task: str, variation: int = 0, seed: int = 0, *, layout: Any = None, **later: Any) -> str:
        """Describe the table of these arguments in a sentence: its things, before anything has moved."""
        colours: dict[str, list[str]] = {}
        for thing in _task_of(task, variation, seed, _layout_of(task, layout)).things:
            colours.setdefault(thing.category, []).append(thing.colour)
        named = [some(category, len(own), listed(own)) for category, own in colours.items()]
        return f"A robot arm at a wooden table with {listed(named)}, seen from the front."

    @property
    def facts(self) -> WorldFacts:
        """Name and arguments, with a digest of the whole scene."""
        more = {"state": self.state, "meshes": self.meshes}
        given = {name: value for name, value in more.items() if value is not None}
        return WorldFacts("tabletop", self._named | given, self._digest)

    def simulation(self) -> Simulation:
        """The table at its start, or in `state`."""
        return Simulation(self)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """What a camera sees before anything has moved."""
        return Simulation(self).view(pose, camera, position=position)

    @cached_property
    def _digest(self) -> str:
        model = self.model
        parts = [model.body_pos, model.body_quat, model.geom_size, model.geom_pos, model.geom_quat, model.geom_rgba]
        digest = hashlib.sha256(json.dumps([BEHAVIOUR, self._named]).encode())
        for part in (*parts, model.qpos0, model.body_mass, model.geom_friction):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def _compiled(self) -> Any:
        mj = mujoco()
        spec = mj.MjSpec()
        spec.compiler.degree = False
        spec.option.timestep = TICK_S
        # With an implicit one, what is held creeps: it moves things otherwise than the contact solver reckons.
        spec.option.integrator = mj.mjtIntegrator.mjINT_EULER
        spec.option.cone = mj.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 10
        # A state that blows up is an outcome of the episode, not to be hidden by starting again.
        spec.option.disableflags |= int(mj.mjtDisableBit.mjDSBL_AUTORESET)
        _light(spec)
        top_m = (*TABLE_MIDDLE_M, TABLE_M - TABLE_HALF_M[2])
        box(spec.worldbody, TABLE_HALF_M, (0.72, 0.62, 0.5), at=top_m, name="table")
        add_arm(spec)
        if self.meshes is not None:
            dress(spec, Path(self.meshes))
        self.task.add(spec)
        try:
            return spec.compile()
        except ValueError as error:
            raise WorldError(f"the table cannot be built: {' '.join(str(error).split())}") from error


def _light(spec: Any) -> None:
    """Lights, a floor to fall on, and a wall to stand before."""
    mj = mujoco()
    # As coarse as the look allows: shadows take most of the time of a picture drawn in software.
    quality = spec.visual.quality
    quality.shadowsize, quality.offsamples = 512, 0
    quality.numslices, quality.numstacks, quality.numquads = 20, 10, 1
    # What the shadows cover, around the light.
    spec.stat.extent, spec.stat.center = 1.0, (0.1, 0.0, TABLE_M)
    head = spec.visual.headlight
    head.ambient, head.diffuse, head.specular = [0.45] * 3, [0.25] * 3, [0.1] * 3
    spec.worldbody.add_light(
        type=mj.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=(0.5, -0.7, 2.0),
        dir=(-0.25, 0.45, -1.0),
        diffuse=[0.45] * 3,
        specular=[0.1] * 3,
    )
    box(spec.worldbody, (3.0, 3.0, 0.05), (0.42, 0.45, 0.48), at=(0.0, 0.0, -0.05), name="floor")
    mark(spec.worldbody, (0.02, 3.0, 1.5), (0.62, 0.68, 0.74), at=(-1.2, 0.0, 1.5), name="wall")


def _layout_of(task: str, plain: Any) -> Setup | None:
    bodies = tuple(table_tasks.entry(task).facts.get("bodies", "").split())
    return None if plain is None else Setup.of(plain, bodies, EVERY_COLOUR)


def _task_of(task: str, variation: int, seed: int, layout: Setup | None) -> TableTask:
    salt = int.from_bytes(hashlib.sha256(task.encode()).digest()[:4], "big")
    rng = np.random.default_rng([seed, variation, salt])
    made = table_tasks.get(task)(variation, rng, *([] if layout is None else [layout]))
    if layout is not None:
        made.instruction, made.wordings = layout.wordings[0], layout.wordings[1:]
    return made


def check_engine(otherwise: str) -> None:
    """Check that the physics engine is installed."""
    try:
        mujoco()
    except MissingExtraError:
        raise MissingExtraError(f"manipulation ({otherwise})", "manipulation") from None


MOST_POSES = 15
"""As many as an agent has (World-in-World, table of section 2)."""


@dataclass(frozen=True)
class Done:
    """What the expert did."""

    poses: Poses
    moves: tuple[Move, ...]
    reason: str | None  # why the task is not solved; None if it is

    @property
    def solved(self) -> bool:
        """Whether the task is."""
        return self.reason is None


def carried_out(table: Any, most: int = MOST_POSES) -> Done:
    """Let the expert solve a table, also a served one, from its start in at most `most` poses."""
    simulation = table.simulation()
    poses: list[HandPose] = []
    moves: list[Move] = []
    reason = None
    try:
        while not simulation.solved and reason is None:
            plan = table.task.plan(simulation)
            if not plan or len(poses) == most:
                reason = "it has no plan" if not plan else f"not solved after {most} poses"
                break
            poses.append(plan[0])
            moves.append(simulation.move(plan[0]))
            if moves[-1].failed:
                reason = moves[-1].reason
    except UnstableError as error:
        reason = str(error)
    return Done(tuple(poses), tuple(moves), reason)
