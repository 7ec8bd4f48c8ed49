"""The table during an episode: poses are carried out, and the state can be stored, restored and viewed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import UsageError, WorldError, WorldgaugeError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View
from worldgauge.worlds.tabletop.contract import Memory, TableObject, TableTask
from worldgauge.worlds.tabletop.engine import drawn, measured, mujoco
from worldgauge.worlds.tabletop.franka_arm import (
    FINGER_M,
    FINGERS,
    GRIPPER,
    HAND,
    HOME_RAD,
    JOINTS,
    TIP,
    ArmPlanner,
    UnreachableError,
    joint_names,
)
from worldgauge.worlds.tabletop.pose_plans import WORKSPACE_HIGH_M, WORKSPACE_LOW_M, HandPose
from worldgauge_serve import pose_refusal

TICK_S = 0.002
CONTROL_S = 0.01
RECORD_S = 0.02
"""Between two states that are kept of a move: 50 a second."""
SPEED_M_S, TURN_RAD_S, EFFORT = 0.35, 1.5, 0.5
"""Of the hand, and the share of its limit at which a joint turns at most."""
SETTLE_S, GRIP_S = 0.25, 0.4
SHORT_M = 0.02
"""From the pose, at which a move counts as stopped short."""
_WILD = 1e3
"""Metres or radians a second that nothing on the table reaches while the physics holds."""

NEAR_M, FAR_M = 0.05, 10.0
FRONT_EYE_M, FRONT_AT_M, FRONT_FOV_DEG = (1.35, 0.0, 1.58), (0.17, 0.0, 0.966), 38.0
"""The front camera looks back at the arm from across the table."""
_DOWN_RAD = math.radians(25)
PUBLISHED_AT_M = (FRONT_EYE_M[0] - math.cos(_DOWN_RAD), 0.0, FRONT_EYE_M[2] - math.sin(_DOWN_RAD))
PUBLISHED_FOV_DEG = 40.0
"""World-in-World's front camera, from the same place."""
WRIST_FOV_DEG, WRIST_NEAR_M = 60.0, 0.01
WRIST_M, WRIST_TILT_RAD = (0.05, -0.002, -0.0921), math.radians(5)
"""World-in-World's wrist camera in the frame of the hand: its place, and its tilt towards the tips."""


class UnstableError(WorldgaugeError):
    """The physics became unstable, so the episode cannot continue."""


class TableWorld(Protocol):
    """What a simulation needs of a `Tabletop`; state: to begin with, as plain values."""

    task: TableTask
    model: Any
    state: Sequence[Any] | None
    categories: tuple[str, ...]


@dataclass(frozen=True)
class TableState:
    """The complete state of a table, exact to the last bit."""

    physics: tuple[float, ...]
    memory: Memory
    gripper: float

    def plain(self) -> list[Any]:
        """JSON values from which `of` makes the same state, exact to the last bit."""
        return [list(self.physics), list(self.memory), self.gripper]

    @classmethod
    def of(cls, plain: Sequence[Any]) -> TableState:
        """Make a state from the values of `plain`."""
        physics, memory, gripper = plain
        return cls(tuple(float(one) for one in physics), tuple(int(one) for one in memory), float(gripper))


@dataclass(frozen=True)
class Move:
    """Result of a pose."""

    reason: str | None  # why nothing moved, or what differs from the request; None when all went well
    failed: bool  # nothing was done
    states: tuple[Any, ...]  # of the table's own kind
    seconds: float


class Simulation:
    """A table on which poses are carried out, starting from the state of `world`.
    Equal states and poses give equal states, to the last bit on one machine."""

    def __init__(self, world: TableWorld) -> None:
        self.world, self.task, self.model = world, world.task, world.model
        self.data: Any = _start_data(self.model)
        self.memory: Memory = ()
        self._gripper = 1.0
        self._tip = self.model.site(TIP).id
        self._joints = [int(self.model.joint(name).qposadr[0]) for name in joint_names()]
        self._motors = [self.model.actuator(name).id for name in joint_names()]
        self._grip = self.model.actuator(GRIPPER).id
        for _ in range(round(0.3 / CONTROL_S)):
            self._tick()
        self.memory = self.task.noted(self, ())
        try:
            state = self.state() if world.state is None else TableState.of(world.state)
        except (TypeError, ValueError, OverflowError) as error:
            raise WorldError(f"this is no state of a table: {' '.join(str(error).split())}") from error
        self.restore(state)

    @cached_property
    def _motion(self) -> ArmPlanner:
        return ArmPlanner(self.model)

    @property
    def hand(self) -> HandPose:
        """Pose of the tip. The gripper is 1 when it is commanded to be open."""
        q = np.zeros(4)
        mujoco().mju_mat2Quat(q, self.data.site_xmat[self._tip])
        q = q if q[0] >= 0 else -q
        x, y, z = (float(value) for value in self.data.site_xpos[self._tip])
        return HandPose(x, y, z, float(q[1]), float(q[2]), float(q[3]), float(q[0]), self._gripper)

    def place(self, body: str) -> FloatArray:
        """Origin of a body in the world frame, (3,) metres."""
        return np.array(self.data.body(body).xpos)

    def rotation(self, body: str) -> FloatArray:
        """Rotation of a body in the world frame, (3, 3)."""
        return np.array(self.data.body(body).xmat).reshape(3, 3)

    def middle(self, thing: TableObject) -> FloatArray:
        """Centre of a thing of the task, (3,) metres."""
        return self.place(thing.body) + self.rotation(thing.body) @ (0.0, 0.0, thing.middle_m)

    def joint(self, name: str) -> float:
        """Value of a joint with one axis, in metres or radians."""
        return float(self.data.joint(name).qpos[0])

    def touching(self, one: str, other: str) -> bool:
        """Tell whether two bodies touch."""
        pairs = self.model.geom_bodyid[np.asarray(self.data.contact.geom, int)].reshape(-1, 2)
        a, b = self.model.body(one).id, self.model.body(other).id
        return bool((((pairs == (a, b)) | (pairs == (b, a))).all(1)).any())

    def held(self, body: str) -> bool:
        """Whether both fingers touch a body."""
        return all(self.touching(finger, body) for finger in FINGERS)

    def put(self, body: str, place: ArrayLike, yaw_rad: float = 0.0) -> None:
        """Put a free body upright at a place (3,), metres, at rest."""
        joint = self.data.joint(int(self.model.body(body).jntadr[0]))
        joint.qpos[:3] = np.asarray(place, np.float64)
        joint.qpos[3:] = (math.cos(yaw_rad / 2), 0, 0, math.sin(yaw_rad / 2))
        joint.qvel[:] = 0
        mujoco().mj_forward(self.model, self.data)

    def slide(self, joint: str, value: float) -> None:
        """Set a joint with one axis, at rest: metres for a slide, radians for a hinge."""
        self.data.joint(joint).qpos[0] = value
        self.data.joint(joint).qvel[0] = 0
        mujoco().mj_forward(self.model, self.data)

    @property
    def progress(self) -> float:
        """Progress of the task, in [0, 1]."""
        return self.task.progress(self)

    @property
    def solved(self) -> bool:
        """Whether the task is solved."""
        return self.progress >= 1.0

    def state(self) -> TableState:
        """The complete present state."""
        mj = mujoco()
        kind = mj.mjtState.mjSTATE_INTEGRATION
        physics = np.empty(mj.mj_stateSize(self.model, kind))
        mj.mj_getState(self.model, self.data, physics, kind)
        return TableState(tuple(physics.tolist()), self.memory, self._gripper)

    def restore(self, state: TableState) -> None:
        """Restore a state."""
        mj = mujoco()
        size, finite = mj.mj_stateSize(self.model, mj.mjtState.mjSTATE_INTEGRATION), np.isfinite(state.physics)
        if finite.shape != (size,) or not finite.all():
            raise WorldError(f"this state is none of this table: {finite.sum()} finite values of {size} that it has")
        self._put_back(state)

    def _put_back(self, state: TableState) -> None:
        mj = mujoco()
        kind, physics = mj.mjtState.mjSTATE_INTEGRATION, np.array(state.physics)
        mj.mj_setState(self.model, self.data, physics, kind)
        mj.mj_forward(self.model, self.data)
        # Once more: what was just derived replaced the solver's warm start.
        mj.mj_setState(self.model, self.data, physics, kind)
        self.memory, self._gripper = state.memory, state.gripper

    def state_of(self, plain: Sequence[Any]) -> TableState:
        """The state of `TableState.plain`."""
        return TableState.of(plain)

    def camera(self, size_px: int = 448, view: str = "front") -> Camera:
        """The camera of a view: front, published or wrist."""
        return wrist_camera(size_px) if view == "wrist" else front_camera(size_px, published=view == "published")

    def pose(self, view: str = "front") -> FloatArray:
        """Camera-to-world (4, 4) of a view."""
        return wrist_pose(self.hand) if view == "wrist" else front_pose(published=view == "published")

    def move(self, pose: ArrayLike) -> Move:
        """Bring the hand to a pose (8,), then open or close the gripper; 0.5 or more is open.
        A pose that is invalid, outside the workspace or unreachable moves nothing, and the result says why."""
        fault = pose_refusal(pose, WORKSPACE_LOW_M, WORKSPACE_HIGH_M)
        if fault is not None:
            return Move(fault, True, (), 0.0)
        goal = np.asarray(pose, np.float64)
        try:
            way = self._motion.way(np.array(self.data.qpos), matrix_of(goal))
        except UnreachableError as error:
            return Move(str(error), True, (), 0.0)
        before = self.state()
        states: list[TableState] = []
        ticks = 0
        try:
            for _ in self._carried_out(way, 1.0 if goal[7] >= 0.5 else 0.0):
                ticks += 1
                if ticks % round(RECORD_S / CONTROL_S) == 0:
                    states.append(self.state())
        except UnstableError:
            self._put_back(before)
            raise
        states.append(self.state())
        # A step leaves places as they were before it: seen from here, things are as from the state put back.
        self.restore(states[-1])
        short = float(np.linalg.norm(np.array(self.hand[:3]) - goal[:3]))
        reason = f"stopped {short * 100:.1f} cm short" if short > SHORT_M else None
        return Move(reason, False, tuple(states), ticks * CONTROL_S)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """What a camera sees."""
        if isinstance(camera, Panorama):
            raise UsageError("the table is looked at with a camera, not all around")
        rgb, size = self.rgb(pose, camera), (camera.width, camera.height)
        inverse, geoms = measured(self.model, self.data, size, partial(_arranged, self, pose, camera))
        depth = NEAR_M * FAR_M / (NEAR_M + inverse.astype(np.float64) * (FAR_M - NEAR_M))
        seen = np.where(geoms >= 0, depth, np.inf).astype(np.float32)
        instance, category = _labels(self)
        points = None
        if position:
            hits = camera.unproject(np.where(np.isfinite(seen), seen, np.nan))
            points = (hits @ pose[:3, :3].T + pose[:3, 3]).astype(np.float32)
        return View(rgb, seen, category[geoms], instance[geoms], points)

    def rgb(self, pose: FloatArray, camera: Camera) -> NDArray[np.uint8]:
        """Render only the colours of `view`, (H, W, 3), which takes less time."""
        size = (camera.width, camera.height)
        return drawn(self.model, self.data, size, partial(_arranged, self, pose, camera))

    def front(self, size_px: int = 448) -> NDArray[np.uint8]:
        """What the front camera sees, (size_px, size_px, 3) uint8."""
        return self.rgb(front_pose(), front_camera(size_px))

    def wrist(self, size_px: int = 448) -> NDArray[np.uint8]:
        """What the wrist camera sees, (size_px, size_px, 3) uint8; without the palm, a box that would hide the tips."""
        arrange = partial(_arranged, self, wrist_pose(self.hand), wrist_camera(size_px), on_hand=True)
        return drawn(self.model, self.data, (size_px, size_px), arrange)

    def _carried_out(self, way: list[FloatArray], gripper: float) -> Iterator[None]:
        """Go along joints, settle, and move the fingers; a tick of control at a time."""
        start = np.array(self.data.qpos[self._joints])
        points = np.stack([start, *way])
        times = np.concatenate([[0.0], np.cumsum([self._seconds(a, b) for a, b in pairwise(points)])])
        count = math.ceil(times[-1] / CONTROL_S)
        shares = np.arange(1, count + 1) / count
        eased = times[-1] * shares * shares * (3 - 2 * shares)
        for joints in np.column_stack([np.interp(eased, times, column) for column in points.T]):
            self.data.ctrl[self._motors] = joints
            self._tick()
            yield
        for _ in range(round(SETTLE_S / CONTROL_S)):
            self._tick()
            yield
        if gripper != self._gripper:
            self._gripper = gripper
            self.data.ctrl[self._grip] = gripper * FINGER_M
            for _ in range(round(GRIP_S / CONTROL_S)):
                self._tick()
                yield

    def _seconds(self, one: FloatArray, other: FloatArray) -> float:
        """How long a stretch takes: as slow as its slowest part demands."""
        before, after = self._motion.tip_of(one), self._motion.tip_of(other)
        far = float(np.linalg.norm(after[:3, 3] - before[:3, 3]))
        cosine = (np.trace(before[:3, :3].T @ after[:3, :3]) - 1) / 2
        bent = math.acos(min(1.0, max(-1.0, float(cosine))))
        limits = EFFORT * np.array([joint.speed_rad_s for joint in JOINTS])
        return max(far / SPEED_M_S, bent / TURN_RAD_S, float((np.abs(other - one) / limits).max()), 1e-3)

    def _tick(self) -> None:
        mujoco().mj_step(self.model, self.data, nstep=round(CONTROL_S / TICK_S))
        # Comparisons with what is no number are false.
        if not (np.abs(self.data.qvel).max() < _WILD and np.isfinite(self.data.qpos).all()):
            raise UnstableError("the physics of the table became unstable; the episode cannot go on")
        self.memory = self.task.noted(self, self.memory)


def matrix_of(pose: ArrayLike) -> FloatArray:
    """Tip pose (4, 4) of a hand pose (8,)."""
    x, y, z, qx, qy, qz, qw, _ = np.asarray(pose, np.float64)
    rotation = np.zeros(9)
    mujoco().mju_quat2Mat(rotation, np.array([qw, qx, qy, qz]) / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw))
    matrix = np.eye(4)
    matrix[:3, :3] = rotation.reshape(3, 3)
    matrix[:3, 3] = (x, y, z)
    return matrix


def _start_data(model: Any) -> Any:
    """Physics data (mujoco.MjData) with the arm at home, the gripper open, and nothing moved."""
    mj = mujoco()
    data = mj.MjData(model)
    for name, angle in zip(joint_names(), HOME_RAD, strict=True):
        data.joint(name).qpos[0] = angle
        data.actuator(name).ctrl[0] = angle
    for name in FINGERS:
        data.joint(name).qpos[0] = FINGER_M
    data.actuator(GRIPPER).ctrl[0] = FINGER_M
    mj.mj_forward(model, data)
    return data


def front_camera(size_px: int = 448, *, published: bool = False) -> Camera:
    """Square, as the paper's: 448 px for its diffusion model, 480 px for others."""
    return Camera.from_vertical_fov(size_px, size_px, PUBLISHED_FOV_DEG if published else FRONT_FOV_DEG)


def front_pose(*, published: bool = False) -> FloatArray:
    """Camera-to-world (4, 4) of the front camera."""
    eye, at = np.array(FRONT_EYE_M), np.array(PUBLISHED_AT_M if published else FRONT_AT_M)
    forward = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = right, np.cross(forward, right), forward, eye
    return pose


def wrist_camera(size_px: int = 448) -> Camera:
    """Square, as the front camera."""
    return Camera.from_vertical_fov(size_px, size_px, WRIST_FOV_DEG)


def wrist_pose(hand: ArrayLike) -> FloatArray:
    """Camera-to-world (4, 4) of the wrist camera at a hand pose (8,). Up in its picture is the hand's x axis."""
    c, s = math.cos(WRIST_TILT_RAD), math.sin(WRIST_TILT_RAD)
    mount = np.eye(4)
    mount[:3, :3] = np.array([[0, -c, -s], [1, 0, 0], [0, -s, c]])
    mount[:3, 3] = WRIST_M
    return matrix_of(hand) @ mount


def _arranged(simulation: Simulation, pose: FloatArray, camera: Camera, scene: Any, *, on_hand: bool = False) -> None:
    """Put both eyes of the scene where the camera is, with its pinhole; colour geoms as the task says.
    A camera on the hand sees things that are nearer, and no palm."""
    near_m = WRIST_NEAR_M if on_hand else NEAR_M
    top, bottom = camera.cy / camera.fy * near_m, (camera.cy - camera.height) / camera.fy * near_m
    left, right = -camera.cx / camera.fx * near_m, (camera.width - camera.cx) / camera.fx * near_m
    for eye in scene.camera:
        eye.pos, eye.forward, eye.up = pose[:3, 3], pose[:3, 2], -pose[:3, 1]
        eye.frustum_near, eye.frustum_far = near_m, FAR_M
        eye.frustum_top, eye.frustum_bottom = top, bottom
        eye.frustum_center, eye.frustum_width = (left + right) / 2, (right - left) / 2
    model, kind = simulation.model, mujoco().mjtObj.mjOBJ_GEOM
    colours = {model.geom(name).id: colour for name, colour in simulation.task.colours(simulation.memory).items()}
    palm = int(model.body(HAND).geomadr[0]) if on_hand else -1
    for geom in scene.geoms[: scene.ngeom] if colours or on_hand else ():
        if geom.objtype == kind and geom.objid in colours:
            geom.rgba[:3] = colours[geom.objid]
        elif geom.objtype == kind and geom.objid == palm:
            geom.rgba[3] = 0


def _labels(simulation: Simulation) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Of every geom, and last of nothing: its instance (1, 2, ... as the task's things, else 0) and its category."""
    model, things, names = simulation.model, simulation.task.things, simulation.world.categories
    instances = np.zeros(model.ngeom + 1, np.uint16)
    categories = np.zeros(model.ngeom + 1, np.uint16)
    numbers = {model.body(thing.body).id: n for n, thing in enumerate(things, start=1)}
    arm = model.body("base").id
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        while body not in numbers and body not in (arm, 0):
            body = int(model.body_parentid[body])
        if body in numbers:
            instances[geom] = numbers[body]
            categories[geom] = names.index(things[numbers[body] - 1].category)
        elif body == arm:
            categories[geom] = names.index("arm")
        elif model.geom(geom).name == "table":
            categories[geom] = names.index("table")
    return instances, categories
