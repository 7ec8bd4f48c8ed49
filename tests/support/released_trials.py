"""Trials in the files in which World-in-World released them, with numbers that a test gives."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.suites.worldinworld.manipulation.object_stream import ObjectRecord
from worldgauge.suites.worldinworld.manipulation.released_trials import RELEASED_TASKS

MODULES = {"Demo": "amsolver.demo", "Observation": "amsolver.backend.observation"}
VIEWS = ("left_shoulder", "right_shoulder", "overhead", "wrist", "front")
TASKS = {own.folder: task for task, own in RELEASED_TASKS.items()}


class Stream:
    """Writes values with the instructions that the release uses, and remembers what it uses."""

    def __init__(self) -> None:
        self.body = bytearray()
        self._memories: dict[str, int] = {}
        self._count = 0

    def whole(self, value: Any) -> bytes:
        """A stream of one value."""
        self.put(value)
        self.body += b"."
        return b"\x80\x05\x95" + struct.pack("<Q", len(self.body)) + bytes(self.body)

    def put(self, value: Any) -> None:
        """Add what leaves a value on the stack."""
        match value:
            case None | True | False:
                self.body += {None: b"N", True: b"\x88", False: b"\x89"}[value]
            case int() if 0 <= value < 2**16:
                self.body += struct.pack("<cB", b"K", value) if value < 256 else struct.pack("<cH", b"M", value)
            case int() if abs(value) < 2**31:
                self.body += struct.pack("<ci", b"J", value)
            case float():
                self.body += b"G" + struct.pack(">d", value)
            case str() if len(value.encode("utf-8", "replace")) < 256:
                text = value.encode("utf-8", "replace")
                self._once("t" + value, lambda: self._add(b"\x8c" + bytes([len(text)]) + text))
            case tuple() if len(value) < 4:
                self._all(value)
                self._add((b")", b"\x85", b"\x86", b"\x87")[len(value)])
            case tuple():
                self._marked(value, b"t")
            case list():
                self._add(b"]")
                self._marked(value, b"e")
            case dict():
                self._add(b"}")
                self._marked([one for pair in value.items() for one in pair], b"u")
            case ObjectRecord():
                self._name(MODULES[value.kind], value.kind)
                self._add(b")\x81")
                self.put(value.fields)
                self._add(b"b")
            case np.ndarray():
                self._array(value)
            case _:
                self.put(str(value)[:50])

    def _array(self, value: Any) -> None:
        data = value.tobytes()
        self._name("numpy.core.numeric", "_frombuffer")
        self._add(b"(\x96" + struct.pack("<Q", len(data)) + data)
        self._once(f"k{value.dtype}", lambda: self._kind(value.dtype.str[1:]))
        self.put(value.shape)
        self.put("C")
        self._add(b"tR")

    def _kind(self, name: str) -> None:
        self._name("numpy", "dtype")
        self.put((name, False, True))
        self._add(b"R")
        self.put((3, "<", None, None, None, -1, -1, 0))
        self._add(b"b")

    def _name(self, module: str, name: str) -> None:
        self._once(f"n{module}.{name}", lambda: (self._all((module, name)), self._add(b"\x93")))

    def _all(self, values: Sequence[Any]) -> None:
        for one in values:
            self.put(one)

    def _marked(self, values: Sequence[Any], end: bytes) -> None:
        self._add(b"(")
        self._all(values)
        self._add(end)

    def _add(self, code: bytes) -> None:
        self.body += code

    def _once(self, key: str, write: Any) -> None:
        if (number := self._memories.get(key, 256)) < 256:
            self._add(b"h" + bytes([number]))
            return
        write()
        self._add(b"\x94")
        self._memories[key], self._count = self._count, self._count + 1


def observation(row: Mapping[str, Any]) -> ObjectRecord:
    """An observation with the numbers of a vector, and others of no meaning."""
    pictures = {f"{view}_{kind}": None for view in VIEWS for kind in ("rgb", "depth", "mask", "point_cloud")}
    cameras = {
        f"{view}_camera_{name}": value
        for view in ("front", "wrist")
        for name, value in (("extrinsics", np.eye(4)), ("intrinsics", np.eye(3)), ("near", 0.01), ("far", 4.5))
    }
    return ObjectRecord(
        "Observation",
        {
            **pictures,
            **{f"joint_{name}": np.linspace(0, 1, 7) for name in ("velocities", "positions", "forces")},
            "gripper_open": row["gripper_open"],
            "gripper_pose": np.array(row["hand_pose"]),
            "gripper_matrix": np.eye(4),
            "gripper_joint_positions": np.zeros(2),
            "gripper_touch_forces": np.zeros(6),
            "task_low_dim_state": np.array(row["task_low_dim_state"]),
            "ignore_collisions": np.array(1.0),
            "misc": cameras,
        },
    )


def demo_of(row: Mapping[str, Any], observations: int = 2) -> ObjectRecord:
    """A demonstration that starts with the numbers of a vector."""
    _, state, position, *rest = np.random.RandomState(row["variation"]).get_state()
    fields = {
        "_observations": [observation(row) for _ in range(observations)],
        "random_seed": ("MT19937", state.astype("<u4"), int(position), *rest),
        "variation_number": 0,
    }
    return ObjectRecord("Demo", fields)


def write_trial(root: Path, row: Mapping[str, Any], observations: int = 2) -> Path:
    """Write the three files of a trial; returns its folder."""
    folder = root / row["task"] / f"variation{row['variation']}" / "episodes" / f"episode{row['episode']}"
    folder.mkdir(parents=True)
    (folder / "low_dim_obs.pkl").write_bytes(Stream().whole(demo_of(row, observations)))
    (folder / "variation_descriptions.pkl").write_bytes(Stream().whole([row["instruction"], "do it"]))
    (folder / "variation_number.pkl").write_bytes(Stream().whole(row["variation"]))
    return folder


def plain_row(task: str, variation: int = 1, episode: int = 0) -> dict[str, Any]:
    """A trial made by hand, as a row of the vectors: object n lies at (n / 20, 0.1) and is not turned."""
    own = RELEASED_TASKS[task]
    state = np.zeros(own.numbers)
    for n in range(11):
        state[7 * n : 7 * n + 7] = (n / 20, 0.1, 0.76, 0, 0, 0, 1)
    return {
        "task": own.folder,
        "variation": variation,
        "episode": episode,
        "instruction": "do what is asked",
        "hand_pose": [0.28, 0.0, 1.47, 0.0, 1.0, 0.0, 0.0],
        "gripper_open": 1.0,
        "task_low_dim_state": state.tolist(),
    }
