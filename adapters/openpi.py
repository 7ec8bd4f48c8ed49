"""openpi (github.com/Physical-Intelligence/openpi): pi0 and pi0.5 behind their policy server, as a policy of an arm.

    --set proposer=process --set "policy=cmd:python -m worldgauge_serve openpi.py:OpenPi?url=ws://127.0.0.1:8000"

The server runs in openpi's environment: uv run scripts/serve_policy.py --env LIBERO. Here: numpy, `worldgauge_serve`,
and the packages websockets and msgpack (`worldgauge[realtime]`). Policies of LIBERO's form (`form=deltas`) and of
World-in-World's (`form=absolute&take=1,4,6,9`): they move the hand, while those of DROID give speeds of joints.
"""

from __future__ import annotations

import importlib
import inspect
import os
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import EstimatorSpec, NotApplicable, Scene, is_local_host, proxy_note

SIDE = 224
"""Side of the pictures in pixels."""
FOOT_M = (-0.31, 0.0, 0.75)
"""Where the arm stands in the world of a scene."""
STEP_M, STEP_RAD = 0.0131, 0.14
"""How far an action of 1 moves and turns the hand, measured in robosuite's Lift at 20 Hz."""
NOMINAL_M, NOMINAL_RAD = 0.05, 0.5
"""The goal that the controller sets for an action of 1. The next action comes before the hand is there."""
FINGER_M = 0.04
"""How far each finger of an open hand is from the middle."""
LIBERO_FOOT_M = (-0.66, 0.0, 0.912)
MOST_ACTIONS, MOST_BYTES = 1000, 1 << 24


class PolicyError(Exception):
    """A server that says no, is silent, or answers with what is no chunk of actions."""


class OpenPi:
    """A policy server of openpi: chunks of moves of the hand.

    Args:
        form: "deltas", small moves as in LIBERO; or "absolute", poses as in World-in-World: x, y, z in metres, roll,
            pitch, yaw in radians about fixed axes, and the gripper, -1 closed to 1 open.
        foot: Position of the arm's base in its training, metres. By default LIBERO's, or for poses that of the table.
        mirrored: Mirror the images, as LIBERO's training images are; not verified. By default not for poses.
        turned: For poses: its hand frame is ours turned by 180 degrees about the approach axis, as in RLBench.
        actions: Most actions of a chunk that make a plan; 0 for all.
        take: Which actions of a chunk make a plan, such as "1,4,6,9", from 0; empty for all.
        step_m: How far an action of 1 moves the hand, metres; `step_rad`: turns it, radians.
        reach: "measured" uses these steps; "nominal" uses the controller's goals, 0.05 m and 0.5 rad.
        answer_s: Longest wait for an answer; the first one compiles.
        key_env: Environment variable that holds a key, sent as "Api-Key".
    """

    def __init__(
        self,
        url: str = "ws://127.0.0.1:8000",
        form: str = "deltas",
        foot: Any = None,
        mirrored: bool | None = None,
        turned: bool = True,
        actions: int = 0,
        take: Any = "",
        step_m: float = STEP_M,
        step_rad: float = STEP_RAD,
        reach: str = "measured",
        answer_s: float = 600.0,
        key_env: str = "",
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname or parts.username or parts.query:
            raise ValueError("openpi: url is ws://HOST:PORT or wss://HOST:PORT, without a password")
        if form not in ("deltas", "absolute"):
            raise ValueError(f"openpi: form is deltas or absolute, not {form!r}")
        absolute = form == "absolute"
        foot = (FOOT_M if absolute else LIBERO_FOOT_M) if foot is None else foot
        mirrored = not absolute if mirrored is None else mirrored
        if np.shape(foot) != (3,) or not np.isfinite(np.asarray(foot, float)).all():
            raise ValueError(f"openpi: foot is {foot!r}; give three numbers, in metres")
        if actions < 0 or answer_s <= 0:
            raise ValueError("openpi: actions is not below 0, answer_s above")
        try:
            self._take = [int(one) for one in str(take).strip("[]").split(",") if one]
        except ValueError:
            self._take = [-1]
        if min(self._take, default=0) < 0 or (self._take and actions):
            raise ValueError(f"openpi: take is numbers from 0, such as 1,4,6,9, without actions; not {take!r}")
        if absolute and (step_m, step_rad, reach) != (STEP_M, STEP_RAD, "measured"):
            raise ValueError("openpi: step_m, step_rad and reach are for form=deltas")
        if reach not in ("measured", "nominal"):
            raise ValueError(f"openpi: reach is measured or nominal, not {reach!r}")
        if reach == "nominal":
            if (step_m, step_rad) != (STEP_M, STEP_RAD):
                raise ValueError("openpi: give reach=nominal, or step_m and step_rad, not both")
            step_m, step_rad = NOMINAL_M, NOMINAL_RAD
        if not all(0 < step < float("inf") for step in (step_m, step_rad)):
            raise ValueError("openpi: step_m and step_rad are above 0")
        if key_env and not os.environ.get(key_env):
            raise ValueError(f"openpi: the environment variable {key_env} holds no key")
        self._connect, self._msgpack = _need("websockets.sync.client").connect, _need("msgpack")
        self._failures = (OSError, EOFError, _need("websockets.exceptions").WebSocketException)
        self._headers = {"Authorization": f"Api-Key {os.environ[key_env]}"} if key_env else {}
        self._url, self._here = url, is_local_host(parts.hostname)
        self._moved = np.asarray(foot, float) - FOOT_M
        self._absolute, self._turned = absolute, absolute and turned
        self._mirrored, self._actions, self._answer_s = mirrored, actions, answer_s
        self._step = (float(step_m), float(step_rad))
        settings = {"url": url, "form": form, "foot": list(map(float, foot)), "mirrored": mirrored}
        settings.update({"actions": actions, "take": self._take})
        settings.update({"turned": turned} if absolute else {"step_m": self._step[0], "step_rad": self._step[1]})
        self.spec = EstimatorSpec("openpi", kind="policy", layout="wrist", settings=settings)

    def propose(self, scene: Scene) -> NDArray[np.float64]:
        """Return plans (n, l, 8), one per request to the server, which samples again each time."""
        if not scene.instruction or scene.wrist is None:
            raise NotApplicable("openpi needs an instruction and the wrist view")
        asked = observation(scene, self._mirrored)
        asked["observation/state"] = self._state(np.asarray(scene.hand, np.float64))
        options: dict[str, Any] = {"compression": None, "ping_interval": None, "max_size": MOST_BYTES}
        if self._here and "proxy" in inspect.signature(self._connect).parameters:
            options["proxy"] = None
        try:
            with self._connect(self._url, additional_headers=self._headers, close_timeout=2, **options) as session:
                self._received(session)  # what the server says of itself
                plans = []
                for _ in range(scene.n):
                    session.send(self._msgpack.packb(asked, default=pack_array))
                    plans.append(self._plan(scene, chunk_of(self._received(session))))
        except self._failures as error:
            raise PolicyError(
                f"the policy server at {self._url} was lost: {_plain(error)}{proxy_note(self._url)}"
            ) from error
        lengths = {len(plan) for plan in plans}
        if len(lengths) > 1:
            raise PolicyError(f"chunks of {' and '.join(map(str, sorted(lengths)))} actions came; one length was due")
        return np.stack(plans)

    def _state(self, hand: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the policy is told of a hand pose (8,): turn as an axis and both fingers, or the pose itself."""
        place = hand[:3] + self._moved
        if self._absolute:
            return np.concatenate([place, half_turned(hand[3:7]) if self._turned else hand[3:7], hand[7:]])
        return np.concatenate([place, axis_angle(hand[3:7]), FINGER_M * hand[7] * np.array([1.0, -1.0])])

    def _plan(self, scene: Scene, chunk: NDArray[np.float64]) -> NDArray[np.float64]:
        """Poses (l, 8) of a chunk."""
        if max(self._take, default=0) >= len(chunk):
            raise PolicyError(f"take names action {max(self._take)}, and a chunk of {len(chunk)} came, numbered from 0")
        if self._absolute:
            poses = absolute_poses(chunk, self._moved, self._turned)
        else:
            poses = carried_out(scene.hand, chunk, *self._step)
        poses = poses[self._take] if self._take else poses[: self._actions or len(poses)]
        return poses[thinned(len(poses), scene.length)]

    def _received(self, session: Any) -> Mapping[Any, Any]:
        until = time.monotonic() + self._answer_s
        try:
            came = session.recv(timeout=until - time.monotonic())
        except TimeoutError:
            raise PolicyError(f"the policy server gave no answer within {self._answer_s:g} s") from None
        if isinstance(came, str):  # a traceback
            raise PolicyError(f"the policy server failed: {_plain(came.strip().splitlines()[-1] if came else came)}")
        try:
            found = self._msgpack.unpackb(came, object_hook=unpack_array, strict_map_key=False)
        except (ValueError, TypeError, self._msgpack.UnpackException) as error:
            raise PolicyError(f"an answer that cannot be read came: {_plain(error)}") from error
        if not isinstance(found, dict):
            raise PolicyError(f"an answer that is no map came: {_plain(found)}")
        return found


def observation(scene: Scene, mirrored: bool) -> dict[str, Any]:
    """Input of a policy but the hand's state: two images and the instruction."""
    assert scene.wrist is not None
    front, wrist = (picture[:, :: -1 if mirrored else 1] for picture in (scene.front, scene.wrist))
    return {
        "observation/image": with_border(front),
        "observation/wrist_image": with_border(wrist),
        "prompt": scene.instruction,
    }


def chunk_of(answer: Mapping[Any, Any]) -> NDArray[np.float64]:
    """Actions (t, 7) of an answer. Raises PolicyError for anything else."""
    actions = np.asarray(answer.get("actions", ()))
    if actions.ndim == 2 and actions.shape[1] == 8:
        raise PolicyError("actions of 8 columns are speeds of joints, as of DROID; serve a policy of LIBERO's form")
    if actions.ndim != 2 or actions.shape[1] != 7 or not 1 <= len(actions) <= MOST_ACTIONS or actions.dtype.kind != "f":
        raise PolicyError(f"actions of shape {actions.shape} ({actions.dtype}) came; (t, 7) numbers were due")
    if not np.isfinite(actions).all():
        raise PolicyError("actions came that are not all finite")
    return actions.astype(np.float64)


def carried_out(
    hand: NDArray[Any], actions: NDArray[np.float64], step_m: float = STEP_M, step_rad: float = STEP_RAD
) -> NDArray[np.float64]:
    """Hand poses (t, 8) after actions (t, 7): step shares along x, y, z, turns about the fixed world axes, above 0 to
    close."""
    place, turn = np.array(hand[:3], np.float64), np.array(hand[3:7], np.float64)
    made = []
    for action in actions:
        place = place + step_m * np.clip(action[:3], -1, 1)
        turn = times(from_axis_angle(step_rad * np.clip(action[3:6], -1, 1)), turn)
        turn = turn / np.linalg.norm(turn)
        made.append(np.concatenate([place, turn, [float(action[6] <= 0)]]))
    return np.stack(made)


def absolute_poses(actions: NDArray[np.float64], moved: NDArray[np.float64], turned: bool) -> NDArray[np.float64]:
    """Hand poses (t, 8) of actions (t, 7) that are poses in the world of training, `moved` metres from the scene's."""
    made = []
    for action in actions:
        roll, pitch, yaw = (from_axis_angle(turn) for turn in np.diag(action[3:6]))
        turn = times(yaw, times(pitch, roll))
        turn = half_turned(turn) if turned else turn
        made.append(np.concatenate([action[:3] - moved, turn, [np.clip((action[6] + 1) / 2, 0, 1)]]))
    return np.stack(made)


def half_turned(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """A turn (4,), after half a turn of the hand about its own z axis; its y is positive, as in most of RLBench."""
    made = times(quaternion, np.array([0.0, 0.0, 1.0, 0.0]))
    return made if made[1] >= 0 else -made


def thinned(count: int, length: int) -> NDArray[np.int64]:
    """Which of `count` poses make a plan of at most `length`: evenly, the last one kept."""
    kept = min(count, length)
    return np.arange(1, kept + 1) * count // kept - 1


def axis_angle(quaternion: NDArray[Any]) -> NDArray[np.float64]:
    """A turn (4,), qx, qy, qz, qw, as an axis times an angle from 0 to 2 pi (3,)."""
    w = float(np.clip(quaternion[3], -1, 1))
    size = np.sqrt(1 - w * w)
    return np.zeros(3) if size < 1e-9 else np.asarray(quaternion[:3], np.float64) * 2 * np.arccos(w) / size


def from_axis_angle(turn: NDArray[Any]) -> NDArray[np.float64]:
    """The reverse of `axis_angle`."""
    angle = float(np.linalg.norm(turn))
    axis = np.zeros(3) if angle < 1e-12 else np.asarray(turn, np.float64) / angle
    return np.concatenate([axis * np.sin(angle / 2), [np.cos(angle / 2)]])


def times(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The turn `other`, then `one`."""
    a, b, u, v = one[3], other[3], one[:3], other[:3]
    return np.concatenate([a * v + b * u + np.cross(u, v), [a * b - u @ v]])


def with_border(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture (H, W, 3) at 224x224 without distortion, black around it, by an antialiased triangle filter."""
    height, width = picture.shape[:2]
    ratio = max(height, width) / SIDE
    rows, columns = int(height / ratio), int(width / ratio)
    down, across = _weights(height, rows), _weights(width, columns)
    # One colour at a time: two products of matrices.
    small = np.stack([down @ picture[..., c].astype(np.float64) @ across.T for c in range(3)], axis=-1)
    out = np.zeros((SIDE, SIDE, 3), np.uint8)
    top, left = (SIDE - rows) // 2, (SIDE - columns) // 2
    out[top : top + rows, left : left + columns] = np.rint(small)
    return out


def _weights(old: int, new: int) -> NDArray[np.float64]:
    """Weights (new, old) of a triangle as wide as a new pixel, at least an old one; rows sum to 1."""
    scale = max(old / new, 1.0)
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    weights = np.clip(1 - np.abs(np.arange(old) - centres[:, None]) / scale, 0, None)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def pack_array(value: Any) -> Any:
    """An array as a map: what it holds, its type and its shape."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"cannot send a {type(value).__name__}")
    return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}


def unpack_array(value: dict[Any, Any]) -> Any:
    """The reverse of `pack_array`; maps that are no arrays stay as they are. Raises ValueError for other types."""
    if b"__ndarray__" not in value:
        return value
    dtype = value.get(b"dtype")
    dtype = dtype.decode() if isinstance(dtype, bytes) else dtype
    if dtype not in ("<f4", "<f8"):
        raise ValueError(f"an array of type {dtype!r}")
    return np.frombuffer(value[b"data"], np.dtype(dtype)).reshape([int(side) for side in value[b"shape"]])


def _plain(text: Any) -> str:
    """What a server said, as one short line."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)[:600]).split())[:200]


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"openpi needs websockets and msgpack ({error}): pip install 'worldgauge[realtime]'"
        ) from error
