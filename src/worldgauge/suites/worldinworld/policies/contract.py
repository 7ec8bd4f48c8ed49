"""The interface of an embodied agent's policies: what it senses, proposes, is shown and decides.

propose -> simulate -> revise -> execute (World-in-World, section 3). Proposers and revisers are separate objects; the
base policy is the same two with nothing generated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.core.panorama import SIDES as SIDES
from worldgauge.core.panorama import YAW_RIGHT_DEG as YAW_RIGHT_DEG
from worldgauge.core.panorama import Rule, perspective
from worldgauge.core.panorama import Side as Side
from worldgauge.core.registry import Registry
from worldgauge.worlds.tabletop.pose_plans import HandPose, Poses
from worldgauge.worlds.walking.ground import ReachablePlaces
from worldgauge.worlds.walking.primitives import Steps
from worldgauge.worlds.walking.primitives import letters as letters

Depth = NDArray[np.float32]
CONFIDENT = 0.95
"""Probability of an answer from which recognition stops (released code: at least; the paper: "exceeds")."""
REFUSED = "refused"
"""Flag of a plan that cannot be begun, with the reason as the text of its aim; carried out, it is one failed step."""


class PlannedRoom(NamedTuple):
    """A room on a floor plan without names; `low` and `high` are its least and greatest x and y, metres."""

    low: tuple[float, float]
    high: tuple[float, float]

    @property
    def middle(self) -> FloatArray:
        """(2,) metres."""
        found: FloatArray = (np.array(self.low) + np.array(self.high)) / 2
        return found

    def away_m(self, xy: FloatArray) -> float:
        """Metres from a place (2,) to the room; 0 inside."""
        return float(np.hypot(*np.maximum(np.maximum(np.array(self.low) - xy, xy - np.array(self.high)), 0.0)))


class HomeObservation(Protocol):
    """What a walker senses at one decision, rendered on first use; `pose` is the front view's, camera-to-world."""

    pose: FloatArray
    camera: Camera

    @property
    def front(self) -> Image:
        """The front view, (H, W, 3) uint8, seen by `camera`."""

    @property
    def panorama(self) -> Image:
        """Equirectangular panorama (H, W, 3) uint8; its centre column is straight ahead."""

    @property
    def panorama_depth(self) -> Depth:
        """Depth of the panorama, (H, W) metres along the ray."""

    def view(self, side: Side) -> Image:
        """The view of `camera` to one side, (H, W, 3) uint8."""

    def depth(self, side: Side) -> Depth:
        """Depth of a view, (H, W) metres along the optical axis."""

    def instances(self, side: Side) -> NDArray[np.uint16]:
        """Exact object numbers of a view, (H, W), 0 for walls and floors; for policies on exact semantics."""

    @property
    def box(self) -> Box | None:
        """The red box of recognition's target in the front view, in pixels; None where it is not in view."""

    @property
    def things(self) -> Mapping[int, Any]:
        """Facts of all objects in the scene (category, name, colour, room, state, ...) by object number."""

    @property
    def rooms(self) -> Sequence[PlannedRoom]:
        """All rooms, as a floor plan without names shows them; for policies that are given one."""

    def places_near(self, radius_m: float, rng: np.random.Generator) -> ReachablePlaces:
        """Random places on that floor plan within so many metres, with the length of the way to each."""

    def way_to(self, xy: FloatArray, within_m: float) -> Steps | None:
        """Steps of the shortest way to within `within_m` of (2,) metres, or of the nearest place to stand on."""


@dataclass(frozen=True)
class SeenThing:
    """A thing on the table, numbered from 1; `place_m` (world) is exact, as in the paper, `half_m` is half its size."""

    name: str
    category: str
    colour: str
    place_m: tuple[float, float, float]
    half_m: tuple[float, float, float]


class TableObservation(Protocol):
    """What an agent with an arm senses at one decision, rendered on first use; `pose` is the front camera's."""

    pose: FloatArray
    camera: Camera
    hand: HandPose
    things: tuple[SeenThing, ...]

    @property
    def front(self) -> Image:
        """The front camera's view, (H, W, 3) uint8."""

    @property
    def depth(self) -> Depth:
        """Depth of the view, (H, W) metres along the optical axis."""

    @property
    def instances(self) -> NDArray[np.uint16]:
        """Numbers of things in the view, (H, W), 0 for all else."""

    @property
    def wrist(self) -> Image:
        """The view of a camera on the hand, (H, W, 3) uint8."""

    def expert(self) -> Sequence[HandPose]:
        """Poses of the scripted expert from here. It knows everything, so only the proposer `scripted` may use it."""


@dataclass(frozen=True)
class ActionPlan:
    """What an agent might do. Two plans are the same when their turn, steps, poses and aim are.

    Attributes:
        steps: Primitives of a walker, after the turn.
        source: Who made it.
        turn_left_rad: A turn at the start, exact and of any angle, in radians.
        aim: Further content, plain JSON values. Questions: {"view": side, "landmark": number or None, "text": words};
            and "room": number, for a way to a room, or "as_planned": True: then the steps are walked to their end.
            Manipulation: {"text": words}, if any.
        flags: Such as "fallback".
        poses: Of a robot's hand, in order.

    Examples:
        >>> plan = ActionPlan(from_letters("LF"), source="mine")
        >>> [step.name for step in plan.steps]
        ['TURN_LEFT', 'FORWARD']
    """

    steps: Steps
    source: str
    turn_left_rad: float = 0.0
    aim: Mapping[str, Any] | None = None
    flags: tuple[str, ...] = ()
    poses: Poses = ()


@dataclass(frozen=True)
class Rollout:
    """What a world model imagined for a plan.

    Attributes:
        frames: (T, H, W, 3) uint8; frame 0 is what is seen now.
        camera: Camera of perspective frames, or of views cut out of panoramas.
        frame_to_action: (T,), 0 for frame 0, k for the view after step k of the plan, -1 for padding after it.
        valid_len: Frames that belong to the plan, frame 0 included.
        exact: Frames, frame 0 included, cut from the real panorama (leading turns) and not imagined.
        aligned: False if a frame does not belong to one action (text-driven models).
        rule: How views are cut out of panoramas.
        anchors: For a plan of poses, the frame in which each of them is reached.
    """

    frames: Image
    view: Literal["perspective", "panorama"]
    camera: Camera
    frame_to_action: NDArray[np.int64]
    valid_len: int
    exact: int = 1
    aligned: bool = True
    model: str = ""
    text: str = ""
    rule: Rule = "clean"
    anchors: tuple[int, ...] = ()

    def seen(self, frame: int, side: Side = "front") -> Image:
        """The view (H, W, 3) uint8 of `camera` in one frame; a side other than the front needs a panorama."""
        if self.view == "panorama":
            return perspective(self.frames[frame], self.camera, yaw_right_deg=YAW_RIGHT_DEG[side], rule=self.rule)
        if side != "front":
            raise UsageError(f"a perspective rollout shows the front, not '{side}'; use a model of panoramas")
        return np.asarray(self.frames[frame], np.uint8)


@dataclass(frozen=True)
class Candidate:
    """A plan and its rollout, if any; only `oracle` and the decision regret may query the simulator (`true_value`)."""

    plan: ActionPlan
    rollout: Rollout | None
    true_value: Callable[[], float | None]


@dataclass(frozen=True)
class Decision:
    """What the agent does.

    Attributes:
        plan: To be carried out; None for none.
        chosen: Index of the candidate taken; None for the reviser's own plan or none.
        confidence: Of the answer, in [0, 1].
        stop: Whether the agent ends the episode here.
        scores: One per candidate; None if it has none.
        notes: Plain JSON values for the trace: prompts, replies, fallbacks.
    """

    plan: ActionPlan | None
    chosen: int | None = None
    answer: str | None = None
    confidence: float | None = None
    stop: bool = False
    scores: tuple[float | None, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PastDecision:
    """An earlier decision and its `pose`, camera-to-world; for an arm, `collided` means not ended as requested."""

    decision: Decision
    executed: tuple[Any, ...]
    collided: tuple[bool, ...]
    pose: FloatArray


Candidates = Sequence[Candidate]
History = Sequence[PastDecision]
Rng = np.random.Generator
O = TypeVar("O", contravariant=True)  # noqa: E741 - what is sensed: `HomeObservation`, or `TableObservation` with an arm


class Proposer(Protocol[O]):
    """Makes candidate plans."""

    def propose(self, observation: O, goal: Goal, history: History, n: int, rng: Rng) -> Sequence[ActionPlan]:
        """Make up to n plans; `history` is oldest first. The loop merges equal ones, and flags a fallback for none."""


class Reviser(Protocol[O]):
    """Turns candidates into a decision."""

    def revise(self, candidates: Candidates, observation: O, goal: Goal, history: History, rng: Rng) -> Decision:
        """Make the decision; take the first plan if nothing was imagined. A last look may have no candidates."""


class PlanSearch(ABC):
    """A reviser that also makes its own plans from imagined ones; `rounds` per decision include the proposer's."""

    rounds: int

    def begin(self, candidates: Candidates, history: History, n: int, proposer: Proposer[Any]) -> None:  # noqa: B027
        """Forget the last decision: `candidates` are the first imagined ones, of up to n that `proposer` made."""

    @abstractmethod
    def further(self, candidates: Candidates, observation: Any, goal: Goal, n: int, rng: Rng) -> Sequence[ActionPlan]:
        """Make up to n plans from all imagined `candidates` so far; the search ends when none of them is new."""


@dataclass(frozen=True)
class PolicyKit:
    """What a policy is made from.

    Attributes:
        task: Name of the task.
        length: L, most primitives or poses of a plan.
        chat: The language model, for policies that ask one.
        prompts: Folder whose files replace our templates.
        options: Further settings by name, `ClosedLoopTask.policy_options`.

    Examples:
        >>> PolicyKit("navigation", length=5).length
        5
    """

    task: str
    length: int
    chat: Any = None
    prompts: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


_SUITE = Path(__file__).parent.parent
TASK_ROOMS = tuple(f"worldgauge.suites.worldinworld.{path.parent.name}" for path in sorted(_SUITE.glob("*/task.py")))
"""Packages of the tasks: the folders of the suite that hold a `task.py`."""
_ROOMS = ("worldgauge.suites.worldinworld.policies", *TASK_ROOMS)

proposers: Registry[Callable[[PolicyKit], Proposer[Any]]] = Registry("proposer", *_ROOMS, group="worldgauge.proposers")
"""Facts of an entry: tasks, those that it serves; chat, whether it asks a language model."""
revisers: Registry[Callable[[PolicyKit], Reviser[Any]]] = Registry("reviser", *_ROOMS, group="worldgauge.revisers")
"""Facts as of proposers; imagines, whether it looks at rollouts at all; and identity, of one that was trained: returns
what its answers depend on; and prompts, templates that no other reviser uses."""


def queries_of(policy: object) -> list[Any]:
    """Notes of a policy's latest queries to a language model; empty for a policy that asks none."""
    return list(getattr(policy, "asked", ()))


def merge_plans(plans: Sequence[ActionPlan]) -> list[ActionPlan]:
    """The plans without repetitions, in order."""
    kept: dict[tuple[Any, ...], ActionPlan] = {}
    for plan in plans:
        aim = None if plan.aim is None else repr(sorted(plan.aim.items()))
        kept.setdefault((round(plan.turn_left_rad, 9), plan.steps, plan.poses, aim), plan)
    return list(kept.values())
