"""Tables of robosuite 1.4, and LIBERO's where hf-libero and its meshes are: a server that needs no worldgauge.

In an environment with `robosuite==1.4.0 mujoco termcolor`, next to worldgauge_serve.py:

    WORLDGAUGE_TABLE="cmd:/path/to/python -m worldgauge_serve robosuite_table.py:RobosuiteTables" worldgauge ...

A pose is carried out at 20 Hz by robosuite's controller of the hand (OSC_POSE): the hand gets there, then the gripper
moves; at LIBERO's tables both at once and in smaller steps, as World-in-World does it. A state is the whole state of
the physics and all numbers of the controller: with the physics alone, joints differ by 0.01 rad after a few steps.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from worldgauge_serve import Acted, NotApplicable, Table, WireError, WorldSpec, encode, read_message

TASKS = {
    "Lift": "lift the cube",
    "Stack": "stack the red cube on the green cube",
    "NutAssembly": "put each nut on the peg of its shape",
    "NutAssemblySquare": "put the square nut on the square peg",
    "NutAssemblyRound": "put the round nut on the round peg",
    "PickPlace": "put each object into its bin",
    "PickPlaceMilk": "put the milk into its bin",
    "PickPlaceBread": "put the bread into its bin",
    "PickPlaceCereal": "put the cereal into its bin",
    "PickPlaceCan": "put the can into its bin",
    "Door": "open the door",
}
SUITES = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")
STARTS = 50
"""Of each of LIBERO's tasks."""
FIXED = {"peg1": "square peg", "peg2": "round peg", "bin2": "bin"}
"""Bodies that no object is, and that an agent needs to know."""
COLOURS = {"cube": "red", "cubeA": "red", "cubeB": "green"}
VIEWS = {"front": ("agentview", 45.0), "wrist": ("robot0_eye_in_hand", 75.0)}
WORKSPACE = (-0.3, -0.5, 0.6), (0.7, 0.5, 1.6)
FLOOR_M = 0.8
"""What is added to heights where things lie lower than the workspace."""
STEP_M, STEP_RAD = 0.05, 0.5
"""What an action of 1 asks for."""
MOST, EVERY, SETTLED, GRIP = 100, 10, 30, 10
"""Steps of a pose, steps between two looks at it, steps before it may be given up, and those of the gripper."""
WILD = 1e3
FAR_M = 5.0
"""Where robosuite puts objects that are not of the task."""


def engine() -> Any:
    """The physics engine, which draws without a screen."""
    os.environ.setdefault("MUJOCO_GL", "egl")  # read when it is imported
    import mujoco

    return mujoco


class RobosuiteTables:
    """Tables with a Panda arm."""

    def __init__(self) -> None:
        engine()
        import robosuite

        self._robosuite = robosuite
        self._libero = libero_tasks()
        tasks = [{"name": name, "variations": 1, "words": words} for name, words in TASKS.items()]
        tasks += [{"name": name, "variations": STARTS, "words": one.language} for name, one in self._libero.items()]
        self.spec = WorldSpec(
            "robosuite",
            tasks=tasks,
            views=[{"name": name, "camera": {"vfov_deg": fov}} for name, (_, fov) in VIEWS.items()],
            workspace=WORKSPACE,
            settings=versions(),
        )

    def open(self, task: str, variation: int, seed: int, layout: Any) -> RobosuiteTable:
        """Build a table. Places come from the seed; of LIBERO's start states the variation is the number."""
        if layout is not None:
            raise NotApplicable("robosuite's tables take no layout")
        np.random.seed(seed % (1 << 32))  # noqa: NPY002 - robosuite draws from numpy's own generator
        if task in self._libero:
            return libero_table(self._libero[task], variation)
        config = self._robosuite.load_controller_config(default_controller="OSC_POSE")
        env = self._robosuite.make(
            task,
            robots="Panda",
            controller_configs=config,
            has_renderer=False,
            has_offscreen_renderer=False,
            use_camera_obs=False,
            reward_shaping=True,
            ignore_done=True,
            control_freq=20,
        )
        env.visualize(vis_settings=dict.fromkeys(env._visualizations, False))
        return RobosuiteTable(env, TASKS[task], [task, variation, seed])


class RobosuiteTable(Table):
    """A table at its start. `identity`: what its digest names beside versions and the start."""

    def __init__(self, env: Any, instruction: str, identity: list[Any], published: bool = False) -> None:
        self._env, self._robot = env, env.robots[0]
        self._model, self._data = env.sim.model._model, env.sim.data._data
        self._published = published
        self._gripper = 1.0
        self._renderers: dict[int, Any] = {}
        env._observables.clear()  # nobody reads them, and they are measured at every tick
        self.instruction = instruction
        self.caption = "A robot arm at a table, seen from the front."
        for _ in range(EVERY):
            self._step(np.zeros(6))
        self.restore(self.save())  # a step leaves places as they were before it
        self._bodies: dict[int, int] = {}
        self.things = []
        for body, thing in self._found():
            self._bodies[self._model.body(body).id] = len(self._bodies) + 1
            self.things.append(thing)
        lowest = min((self._data.xpos[body][2] for body in self._bodies), default=1.0)
        self._raised_m = 0.0 if lowest > WORKSPACE[0][2] else FLOOR_M
        digest = hashlib.sha256(json.dumps([versions(), identity]).encode())
        digest.update(np.concatenate([self._model.qpos0, self._data.qpos, self._model.body_pos.ravel()]).tobytes())
        self.digest = digest.hexdigest()

    @property
    def hand(self) -> Any:
        """Between the fingers, (8,)."""
        return np.array([*self._raised(self._tip()), *np.roll(self._turn(), -1), self._gripper])

    @property
    def places(self) -> Any:
        """Origins of the things, (n, 3)."""
        return np.array([self._raised(self._data.xpos[body]) for body in self._bodies]).reshape(-1, 3)

    @property
    def progress(self) -> float:
        """The task's own shaped reward, 1 where its own check says that it is solved."""
        return 1.0 if self._env._check_success() else float(np.clip(self._env.reward(None), 0.0, 0.99))

    def pose(self, view: str) -> Any:
        """Camera-to-world of a view."""
        camera = self._data.camera(VIEWS[view][0])
        pose = np.eye(4)
        pose[:3, :3] = camera.xmat.reshape(3, 3) * (1, -1, -1)
        pose[:3, 3] = self._raised(camera.xpos)
        return pose

    def picture(self, view: str, size_px: int, depth: bool, instances: bool) -> dict[str, Any]:
        """What a view shows."""
        if size_px not in self._renderers:
            self.close()
            side = self._model.vis.global_
            side.offwidth, side.offheight = max(side.offwidth, size_px), max(side.offheight, size_px)
            self._renderers[size_px] = engine().Renderer(self._model, size_px, size_px)
        renderer, option = self._renderers[size_px], engine().MjvOption()
        option.geomgroup[0] = 0  # shapes for collisions
        self._model.camera(VIEWS[view][0]).fovy = VIEWS[view][1]
        renderer.update_scene(self._data, camera=VIEWS[view][0], scene_option=option)
        found = {"rgb": renderer.render().copy()}
        if depth or instances:
            renderer.enable_segmentation_rendering()
            numbers, kinds = np.moveaxis(renderer.render(), -1, 0)
            renderer.disable_segmentation_rendering()
            seen = kinds == engine().mjtObj.mjOBJ_GEOM
        if depth:
            renderer.enable_depth_rendering()
            found["depth"] = np.where(seen, renderer.render(), np.inf).astype(np.float32)
            renderer.disable_depth_rendering()
        if instances:
            of_geom = np.array([self._thing_of(body) for body in self._model.geom_bodyid], np.uint16)
            found["instances"] = np.where(seen, of_geom[np.where(seen, numbers, 0)], 0).astype(np.uint16)
        return found

    def act(self, pose: Any) -> Acted:
        """Carry out a pose."""
        before, states = self.save(), []
        goal, turn, gripper = pose[:3] - self._raised(np.zeros(3)), np.roll(pose[3:7], 1), float(pose[7] >= 0.5)
        if self._published:
            self._gripper = gripper
        for _ in self._way(goal, turn, gripper):
            if not (np.isfinite(self._data.qpos).all() and np.abs(self._data.qvel).max() < WILD):
                self.restore(before)
                return Acted("the physics of the table became unstable", True, (), 0.0, unstable=True)
            states.append(self.save())
        self.restore(states[-1])
        short_m = float(np.linalg.norm(goal - self._tip()))
        reason = "stopped %.1f cm short" % (100 * short_m) if short_m > 0.02 else None
        return Acted(reason, False, states, len(states) / 20)

    def save(self) -> bytes:
        """The whole present state."""
        kind = engine().mjtState.mjSTATE_INTEGRATION
        physics = np.empty(engine().mj_stateSize(self._model, kind))
        engine().mj_getState(self._model, self._data, physics, kind)
        numbers, arrays = {}, {"physics": physics}
        for number, one in enumerate(self._parts()):
            for name, value in vars(one).items():
                key = f"{number} {name}"
                if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.int64):
                    arrays[key] = value
                elif isinstance(value, (bool, int, float, np.floating)):
                    numbers[key] = float(value) if isinstance(value, np.floating) else value
        header = {"type": "state", "gripper": self._gripper, "numbers": numbers}
        return b"".join(encode(header, arrays))

    def restore(self, state: bytes) -> None:
        """Put a state back."""
        kind = engine().mjtState.mjSTATE_INTEGRATION
        try:
            header, arrays = read_message(io.BytesIO(state).readinto)
            physics, parts = arrays.pop("physics"), self._parts()
            fields = {**header["numbers"], **arrays}
            targets = [(parts[int(key.partition(" ")[0])], key.partition(" ")[2], fields[key]) for key in fields]
            if len(physics) != engine().mj_stateSize(self._model, kind) or not np.isfinite(physics).all():
                raise ValueError("it is of another table")
            if not all(name in vars(part) for part, name, _ in targets):
                raise ValueError("it names what is not there")
        except (EOFError, WireError, KeyError, IndexError, TypeError) as error:
            raise ValueError(str(error)) from None
        engine().mj_setState(self._model, self._data, physics, kind)
        engine().mj_forward(self._model, self._data)
        engine().mj_setState(self._model, self._data, physics, kind)  # again: the solver's warm start was replaced
        for part, name, value in targets:
            setattr(part, name, value)
        self._gripper = float(header["gripper"])

    def close(self) -> None:
        """See `Table.close`."""
        for renderer in self._renderers.values():
            renderer.close()
        self._renderers.clear()

    def _way(self, goal: Any, turn: Any, gripper: float) -> Iterator[None]:
        """Go to a place and a turn (w, x, y, z), a step at a time, then move the gripper."""
        most_m, most_rad = (0.02, 0.2) if self._published else (STEP_M, STEP_RAD)
        before = self._tip(), self._turn()
        for step in range(1, MOST + 1):
            off_m, off_rad = goal - self._tip(), _between(self._turn(), turn)
            if step % EVERY == 1 and step > 1:
                if np.linalg.norm(off_m) < 0.005 and np.linalg.norm(off_rad) < 0.1:
                    break
                moved_m, moved_rad = self._tip() - before[0], _between(before[1], self._turn())
                if step > SETTLED and np.linalg.norm(moved_m) < 0.001 and np.linalg.norm(moved_rad) < 0.02:
                    break
                before = self._tip(), self._turn()
            steps = np.clip(off_m, -most_m, most_m) / STEP_M, np.clip(off_rad, -most_rad, most_rad) / STEP_RAD
            self._step(np.concatenate(steps))
            yield
        if gripper != self._gripper:
            self._gripper = gripper
            for _ in range(GRIP):
                self._step(np.zeros(6))
                yield

    def _step(self, action: Any) -> None:
        self._env.step(np.append(action, 1.0 - 2.0 * self._gripper))

    def _parts(self) -> list[Any]:
        """What holds numbers that the next steps depend on."""
        return [self._env, self._robot, self._robot.controller, self._robot.gripper]

    def _tip(self) -> Any:
        return np.array(self._data.site_xpos[self._robot.eef_site_id])

    def _turn(self) -> Any:
        """Of the hand: w, x, y, z."""
        turn = np.array(self._data.body(self._robot.robot_model.eef_name).xquat)
        return turn if turn[0] >= 0 else -turn

    def _raised(self, place: Any) -> Any:
        return np.array(place) + np.array([0.0, 0.0, self._raised_m])

    def _found(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Bodies that an agent gets to know, and what it gets to know of them."""
        for one in self._env.model.mujoco_objects:
            at = self._data.body(one.root_body).xpos
            if one.joints and np.abs(at).max() < FAR_M:
                radius, height = one.horizontal_radius, one.top_offset[2] - one.bottom_offset[2]
                size = getattr(one, "size", ())  # of a box it is exact
                yield one.root_body, _thing(one.name, size if len(size) == 3 else (radius, radius, height / 2))
        for body, words in FIXED.items():
            if body in self._env.sim.model.body_names:
                geom = int(self._model.body(body).geomadr[0])
                size, kind = self._model.geom_size[geom], self._model.geom_type[geom]
                is_round = kind == engine().mjtGeom.mjGEOM_CYLINDER
                yield body, _thing(words, (size[0], size[0], size[1]) if is_round else size)

    def _thing_of(self, body: int) -> int:
        """Number of the thing that a body is a part of, 0 for none."""
        while body and body not in self._bodies:
            body = int(self._model.body_parentid[body])
        return self._bodies.get(body, 0)


def _thing(name: str, half_m: Any) -> dict[str, Any]:
    words = name.replace("_", " ")
    return {"name": words, "category": words, "colour": COLOURS.get(name, ""), "half_m": [float(m) for m in half_m]}


def _between(one: Any, other: Any) -> Any:
    """The turn from one quaternion to another, as a vector in the world, radians."""
    back, both, turn = np.zeros(4), np.zeros(4), np.zeros(3)
    engine().mju_negQuat(back, one)
    engine().mju_mulQuat(both, other, back)
    engine().mju_quat2Vel(turn, both, 1.0)
    return turn


def versions() -> dict[str, str]:
    """Of the packages that decide what happens."""
    found = {}
    for name in ("robosuite", "mujoco", "hf-libero", "libero"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def libero_tasks() -> dict[str, Any]:
    """LIBERO's tasks in its order; none where the package, its configuration or its meshes are not there."""
    try:
        from libero.libero import benchmark, get_libero_path

        if not os.path.isdir(get_libero_path("assets")):  # else they would be fetched
            raise OSError("its meshes are not there")
        suites = [(name, benchmark.get_benchmark(name)()) for name in SUITES]
    except (ImportError, EOFError, OSError) as error:
        print(f"no tasks of LIBERO: {error}")
        return {}
    return {f"{name}-{n}": one for name, suite in suites for n, one in enumerate(suite.tasks)}


def libero_table(task: Any, variation: int) -> RobosuiteTable:
    """A table of LIBERO in one of its start states."""
    import torch
    from libero.libero import get_libero_path
    from libero.libero.envs import OffScreenRenderEnv

    path = os.path.join(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)
    starts = os.path.join(get_libero_path("init_states"), task.problem_folder, task.init_states_file)
    with open(path, "rb") as file:
        identity = [task.name, variation, hashlib.sha256(file.read()).hexdigest()]
    made = OffScreenRenderEnv(bddl_file_name=path)
    made.reset()
    rebuild = np.zeros(1).__reduce__()[0]
    arrays = [rebuild, (rebuild, "numpy.core.multiarray._reconstruct"), np.ndarray, np.dtype, type(np.dtype("f8"))]
    with torch.serialization.safe_globals([*arrays, codecs.encode]):  # nothing but arrays, in old and new numpy
        made.set_init_state(torch.load(starts, weights_only=True)[variation])
    return RobosuiteTable(made.env, task.language, identity, published=True)
