"""Check whether a server of tables keeps its word: states repeat, names are known, and a lost server costs a retry."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.errors import ModelError, WorldgaugeError
from worldgauge.serving import open_world_server
from worldgauge.serving.remote_model import RemoteWorld, StateGoneError
from worldgauge.worlds.table_process import RemoteSimulation, ServedTable
from worldgauge_serve import Arrays

OFFSETS = ((0, 0, -0.06, 1), (0, 0.05, 0, 1), (0, 0, 0, 0), (0.05, 0, 0.06, 0), (0, -0.05, 0, 1))
"""From one pose to the next: x, y, z in metres; and the gripper."""
SIZE_PX = 64
NEAR_M = 1e-3
"""How near the hand must come again where a server says that it does not repeat to the bit."""


class WorldCheck(NamedTuple):
    """What one check found: `fault` is None where all is well."""

    name: str
    measured: str
    fault: str | None


class TableTrial:
    """Five poses from a state: the state and the hand after each, and the picture at the end."""

    def __init__(self, table: ServedTable, state: str | None = None) -> None:
        self._simulation, self._exact = RemoteSimulation(table, state), table.spec.exact
        self._low, self._high = map(np.array, table.spec.workspace)
        self.start, self.picture, self.named = self._seen(), b"", 0
        self.states: list[bytes] = []
        self.hands = [np.array(self._simulation.hand)]

    def act(self, number: int) -> None:
        """Carry out one pose."""
        *off, gripper = OFFSETS[number]
        pose = self.hands[-1].copy()
        pose[:3], pose[7] = np.clip(pose[:3] + off, self._low, self._high), gripper
        self.named += len(self._simulation.move(pose).states)
        self.states.append(self._simulation.table.saved(self._simulation.state()))
        self.hands.append(np.array(self._simulation.hand))
        self.picture = self._seen()

    def act_all(self) -> TableTrial:
        """Carry out all poses."""
        for number in range(len(OFFSETS)):
            self.act(number)
        return self

    def check_same(self, other: TableTrial) -> str:
        """What is the same in another trial, in words; ModelError where it is not."""
        if not self._exact:
            off_m = max(float(np.abs(a - b)[:3].max()) for a, b in zip(self.hands, other.hands, strict=True))
            if off_m > NEAR_M:
                raise ModelError(f"the hand ends up to {off_m * 1000:.1f} mm elsewhere")
            return f"hands within {off_m * 1000:.2f} mm"
        for number, (one, again) in enumerate(zip(self.states, other.states, strict=True), start=1):
            if one != again:
                raise ModelError(f"the state after pose {number} differs; say exact=False, or save what is missing")
        if (self.start, self.picture) != (other.start, other.picture):
            raise ModelError("states are the same, but pictures differ")
        return f"{self.named} states on the way, same bytes and pictures"

    def _seen(self) -> bytes:
        simulation = self._simulation
        return simulation.rgb(simulation.pose(), simulation.camera(SIZE_PX)).tobytes()


def check_world(address: str) -> Iterator[WorldCheck]:
    """Check the server that a text names, "cmd:...", "pipe:..." or "http://..."; all checks run."""
    with closing(open_world_server(address)) as server:
        spec = server.spec
        views = ", ".join(str(view["name"]) for view in spec.views)
        told = f"{spec.name}: {len(spec.tasks)} tasks, views {views}, {'exact' if spec.exact else 'not exact'}"
        yield WorldCheck("describes itself", told, None)
        names = [str(task["name"]) for task in spec.tasks]
        alone: dict[str, TableTrial] = {}
        for name in names:
            yield _checked(name, lambda name=name: _repeats(server, name, alone))  # type: ignore[misc]
        first = next(iter(alone), None)
        if first is None:
            return
        yield _checked("wrong names", lambda: _refuses(server, first))
        few = list(alone)[:3]
        yield _checked("three tables at once", lambda: _apart([(server, name) for name in few], alone))
        with closing(open_world_server(address)) as other:
            pair = [(server, first), (other, first)]
            yield _checked("two processes at once", lambda: _apart(pair, alone))
        if server.pid() is not None:
            yield _checked("killed while it acts", lambda: _survives(server, first, alone[first]))


def _checked(name: str, check: Callable[[], str]) -> WorldCheck:
    began = time.monotonic()
    try:
        return WorldCheck(name, f"{check()}, {time.monotonic() - began:.1f} s", None)
    except WorldgaugeError as error:
        return WorldCheck(name, "", str(error))


def _repeats(server: RemoteWorld, name: str, alone: dict[str, TableTrial]) -> str:
    """Five poses twice: from the start, and from the bytes of its state."""
    table = ServedTable(server, name, 0, 0)
    saved = table.start.plain()
    first = TableTrial(table).act_all()
    words = first.check_same(TableTrial(table, saved).act_all())
    alone[name] = first
    return words


def _apart(places: Sequence[tuple[RemoteWorld, str]], alone: Mapping[str, TableTrial]) -> str:
    """Tables in turns, each as it is alone."""
    trials = [(name, TableTrial(ServedTable(server, name, 0, 0))) for server, name in places]
    for number in range(len(OFFSETS)):
        for _, trial in trials:
            trial.act(number)
    for name, trial in trials:
        trial.check_same(alone[name])
    return f"{len(trials)} tables in turns, each as alone"


def _refuses(server: RemoteWorld, name: str) -> str:
    """Names and bytes that nobody has given."""
    table = ServedTable(server, name, 0, 0)
    known = {"table": table.name, "size_px": 1}
    wrong: list[tuple[str, dict[str, Any], Arrays, type[Exception]]] = [
        ("sense", {**known, "state": "nobody"}, {}, StateGoneError),
        ("sense", {**known, "table": "nobody"}, {}, StateGoneError),
        ("sense", {**known, "views": ["nobody"]}, {}, ModelError),
        ("restore", known, {"state": np.arange(9, dtype=np.uint8)}, ModelError),
        ("open", {**known, "task": "nobody", "variation": 0, "seed": 0}, {}, ModelError),
    ]
    for kind, fields, arrays, refusal in wrong:
        try:
            server.ask(kind, fields, arrays, {})
        except refusal:
            continue
        except (StateGoneError, WorldgaugeError) as error:
            raise ModelError(f"'{kind}' with {fields}: {error}") from None
        raise ModelError(f"'{kind}' with {fields} was answered")
    TableTrial(table)
    return f"{len(wrong)} refused"


def _survives(server: RemoteWorld, name: str, alone: TableTrial) -> str:
    """SIGKILL in the middle of a pose."""
    trial, pid = TableTrial(ServedTable(server, name, 0, 0)), server.pid()
    began = time.monotonic()
    trial.act(0)
    assert pid is not None
    killer = threading.Timer((time.monotonic() - began) / 4, os.killpg, (pid, signal.SIGKILL))
    killer.start()
    try:
        for number in range(1, len(OFFSETS)):
            trial.act(number)
    finally:
        killer.cancel()
    if server.pid() == pid:
        raise ModelError("it was killed and is still there: the command does not start the server itself")
    return trial.check_same(alone)
