"""A small suite, models that break each promise, and jobs for the pool."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import worldgauge.engine
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import LostError, NotApplicableError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Cell, Record, Score, Table, TableRow, Task, TaskContext, TaskView
from worldgauge.serving.process import _environment as model_environment
from worldgauge.suites import suites

HORIZON, SIZE = 6, (16, 16)
BRIGHTNESS_VERSION = {"version": 1}


def register() -> None:
    """Add the suite to the registry, and this module to the package whose functions a pool may call."""
    suites.register("echo")(Echo)
    sys.modules["worldgauge.engine.doubles"] = sys.modules[__name__]
    worldgauge.engine.doubles = sys.modules[__name__]  # type: ignore[attr-defined]


def unregister() -> None:
    suites._entries.pop("echo", None)


def make_data(folder: Path, n: int = 4, **facts: Any) -> Path:
    """Data of n tasks. facts: "skip" (numbers), "salt" (changes fingerprints), "twice" (doubled ids)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.json").write_text(json.dumps({"n": n, **facts}))
    return folder


@dataclass(frozen=True)
class EchoSettings:
    """gain: negative ones cannot be scored in odd tasks. broken: number of a task whose scoring raises."""

    bias: int = 0
    gain: float = 1.0
    broken: int | None = None
    video: bool = False


class Echo(Suite):
    """Tasks "kind/number": imagine six frames; their mean grey level is the score."""

    name = "echo"
    version = 1
    baselines = ("freeze",)
    scoring_settings = frozenset({"gain"})

    Settings = EchoSettings

    def tasks(self, source: Path) -> Iterator[Task]:
        data = json.loads((source / "tasks.json").read_text())
        for number in range(data["n"]):
            kind = "even" if number % 2 == 0 else "odd"
            skip = "marked as unusable" if number in data.get("skip", ()) else None
            name = f"{kind}/{0 if data.get('twice') else number}"
            yield Task("echo", name, {"number": number}, f"{data.get('salt', '')}{number}", {"kind": kind}, skip)

    def perform(self, task: Task, model: Any, task_context: TaskContext) -> Record:
        note("perform", task.id)
        number = task.sample["number"] + self.settings["bias"]
        frame = np.full((1, SIZE[1], SIZE[0], 3), number % 256, np.uint8)
        camera = Camera.from_vertical_fov(*SIZE, 70)
        context = Context(Clip.from_array(frame, 20.0), np.eye(4)[None], Actions(LOOP_WALK, zeros(0)), camera)
        request = RolloutRequest(context, HORIZON, task_context.seed, actions=Actions(LOOP_WALK, zeros(HORIZON)))
        levels, done = [], 0
        writer = (
            Writer(task_context.directory / "rollout.mp4", fps=20, kind="lossless") if self.settings["video"] else None
        )
        for chunk in task_context.speed.rollout(model, request):
            levels += [float(picture.mean()) for picture in chunk]
            if writer is not None:
                writer.write(chunk)
            done += len(chunk)
            task_context.progress(done, HORIZON)
        if writer is not None:
            writer.close()
        facts = {"levels": levels, "seed": task_context.seed, "best": math.inf}
        return Record(task, model.spec.name, task_context.directory, facts, "rollout.mp4" if writer else None)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        note("score", record.task.id)
        if record.task.sample["number"] == self.settings["broken"]:
            raise ZeroDivisionError("no frames to divide by")
        if self.settings["gain"] < 0 and record.task.sample["number"] % 2:
            raise NotApplicableError("a negative gain; use --set gain=1")
        levels = record.facts["levels"]
        common: Any = {"task": record.task.id, "n": len(levels), "group": record.task.group}
        return [
            Score(
                metric="level",
                value=self.settings["gain"] * float(np.mean(levels)),
                series=tuple(enumerate(levels)),
                unit="grey level",
                **common,
            ),
            Score(metric="best", value=record.facts["best"], **common),
            Score(metric="absent", value=None, reason="nothing to measure", **common),
        ]

    def summarize(self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: object) -> list[Table]:
        rows = []
        for model, theirs in scores.items():
            values = [score.value for score in theirs if score.metric == "level" and score.value is not None]
            mean = float(np.mean(values)) if values else None
            rows.append(TableRow(model, (Cell(mean, 0.0, len(values), mean, mean, len(values)),), kinds[model]))  # type: ignore[arg-type]
        return [Table("level", "Level", "grey level", "neither", ("all",), tuple(rows), ("made up",))]

    def published(self) -> list[Table]:
        return []

    def task_view(self, task: Task) -> TaskView:
        raise NotImplementedError


class Steady:
    """Frames of one level from the seed of the task; `wait` seconds a frame. It states a digest, so it is reused."""

    def __init__(self, level: int = 0, wait: float = 0.0) -> None:
        self.spec = ModelSpec("steady", settings={"level": level, "digest": "steady"})
        self.level, self.wait = level, wait

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        rng = np.random.default_rng(request.seed)
        for _ in range(request.horizon):
            time.sleep(self.wait)
            yield frame_of(request, self.level or int(rng.integers(256)))


class Unhurried(Steady):
    """The same, with time enough to be killed."""

    def __init__(self) -> None:
        super().__init__(wait=0.008)


class Heavy(Steady):
    """Takes `load` seconds to be made."""

    def __init__(self, load: float) -> None:
        super().__init__()
        time.sleep(load)
        self.spec = ModelSpec("heavy")


class Faulty:
    """Breaks one promise, named by `how`, in task number `on`; keeps them elsewhere."""

    def __init__(self, how: str, on: int = 1) -> None:
        self.spec = ModelSpec(f"faulty-{how}", settings={"digest": how})
        self.how, self.on = how, on

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        bad = int(request.context.clip[-1][0, 0, 0]) == self.on
        for t in range(request.horizon):
            frame: Any = frame_of(request, 10 * t)
            if bad and t == 2:
                frame = self._break(frame)
                if frame is None:
                    return
            yield frame
        if bad and self.how == "late":
            raise ValueError("cannot let go")
        if bad and self.how == "more":
            yield frame

    def _break(self, frame: np.ndarray) -> Any:
        if self.how == "raise":
            raise ValueError("no\x07such \x1b[31mlatent\x1b[0m")
        if self.how == "hang":
            time.sleep(3600)
        if self.how == "exit":
            print("about to go\nout of tokens", file=sys.stderr, flush=True)
            os._exit(3)
        if self.how == "sysexit":
            sys.exit("usage: model")
        if self.how == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.how == "print":
            print('{"value": {"status": "done"}}', flush=True)
            os.write(1, b"raw noise without an end")
        if self.how == "inapplicable":
            raise NotApplicableError("needs a longer context")
        return {
            "short": None,
            "shape": np.concatenate([frame, frame], axis=2),
            "dtype": frame.astype(np.int64),
            "nan": np.full(frame.shape, np.nan, np.float32),
            "list": frame.tolist(),
        }.get(self.how, frame)


class Fragile(Steady):
    """Is lost in the first `times` rollouts of task number `on`, which it counts in folder `log`.

    how: its "worker" is killed; its own "child" is, so it says; or its "actor" on a cluster, and then its worker.
    """

    def __init__(self, log: str, times: int = 1, on: int = 1, how: str = "worker") -> None:
        super().__init__()
        self.spec = ModelSpec("fragile")
        self.log, self.times, self.on, self.how = log, times, on, how

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        for t, frame in enumerate(super().rollout(request)):
            bad = int(request.context.clip[-1][0, 0, 0]) == self.on and t == 3
            if bad and (count := count_up(self.log)) <= self.times:
                if self.how == "child":
                    raise LostError("the model's process was killed by SIGKILL")
                if self.how == "actor" and count == 1:  # whoever has started this worker
                    os.kill(os.getppid(), signal.SIGKILL)
                    time.sleep(60)
                print("alas", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            yield frame


class Parent(Steady):
    """Starts a process, in a group of its own, that never ends by itself. Waits where a test wants it to (`gate`)."""

    def __init__(self, wait: float = 0.0) -> None:
        super().__init__(wait=wait)
        self.spec = ModelSpec("parent")
        self.child = subprocess.Popen(["sleep", "6000"], process_group=0)

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        gate()
        yield from super().rollout(request)


class Seeing:
    """Draws the name of the one GPU it is shown, in each place of a frame; at most two fit on a GPU."""

    needs: Mapping[str, float] = {"gpus": 0.5}

    def __init__(self, name: str = "seeing") -> None:
        self.spec = ModelSpec(name)
        self.gpu = int(os.environ["CUDA_VISIBLE_DEVICES"])

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        for _ in range(request.horizon):
            yield frame_of(request, self.gpu)


class Namesake(Steady):
    """Has the label of another, and other needs."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec("seeing")


class Blind(Seeing):
    """Wants the GPUs of a whole building."""

    needs: Mapping[str, float] = {"gpus": 1000}


class Vague(Seeing):
    """Wants one and a half."""

    needs: Mapping[str, float] = {"gpus": 1.5}


class Wrong(Seeing):
    """Wants what there is not."""

    needs: Mapping[str, float] = {"gpu": 1}


class Unloadable:
    def __init__(self) -> None:
        raise RuntimeError("no CUDA device")


class Unplugged:
    """Can be made once, to be introduced, and not in the worker that asks it."""

    def __init__(self, lock: str) -> None:
        if (Path(lock) / "made").exists():
            raise UsageError("the licence is taken")
        (Path(lock) / "made").touch()
        self.spec = ModelSpec("unplugged")

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        raise NotImplementedError


class NoModel:
    pass


def frame_of(request: RolloutRequest, level: int) -> np.ndarray:
    width, height = request.frame_size
    return np.full((1, height, width, 3), level, np.uint8)


def zeros(n: int) -> Any:
    return np.zeros((n, len(LOOP_WALK)), np.float32)


def note(what: str, task: str) -> None:
    """Count the work done, over all processes."""
    if log := os.environ.get("ENGINE_DOUBLES_LOG"):
        with open(log, "a") as file:
            file.write(f"{what} {task}\n")


def gate() -> None:
    """Wait while a journal has as many lines as a file says, or more; ENGINE_DOUBLES_GATE names both."""
    journal, _, limit = os.environ.get("ENGINE_DOUBLES_GATE", "").partition(":")
    while limit and count_lines(Path(journal)) >= int(Path(limit).read_text()):
        time.sleep(0.01)


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def count_up(folder: str) -> int:
    """How often this was called for `folder`, in any process."""
    number = 1
    while True:
        try:
            (Path(folder) / str(number)).touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return number


def job(*, what: str, progress: Any, **facts: Any) -> Any:
    """For the pool."""
    if what == "echo":
        return facts
    if what == "raise":
        raise KeyError("missing")
    if what == "usage":
        raise UsageError("a known error")
    if what == "exit":
        print("last words", file=sys.stderr, flush=True)
        os._exit(facts.get("code", 7))
    if what == "frail" and facts["how"] == "killed after a start":
        time.sleep(facts["seconds"])
        progress(0, 0)
    if what == "frail" and count_up(facts["log"]) <= facts["times"]:
        if facts["how"] == "lost":
            raise LostError("the model's process is gone")
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "say":
        print(facts["text"], flush=True)
    if what == "meet":  # until so many are here
        count_up(facts["log"])
        while len(os.listdir(facts["log"])) < facts["number"]:
            time.sleep(0.01)
        return os.environ.get(facts["variable"])
    if what == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "sleep":
        time.sleep(facts["seconds"])
    if what == "start slowly":
        time.sleep(facts["seconds"])
        progress(0, 0)
        if facts["hangs"]:
            time.sleep(60)
    if what == "drip":
        for done in range(facts["times"]):
            time.sleep(facts["seconds"])
            progress(done + 1, facts["times"])
    if what == "print":
        print('{"value": "forged"}\n' * 3, flush=True)
    if what == "unserialisable":
        return object()
    if what == "where":
        import cv2
        import numba

        return {
            "pid": os.getpid(),
            "model": model_environment("", []).get("OMP_NUM_THREADS"),
            "cv2": cv2.getNumThreads(),
            "numba": numba.get_num_threads(),
            "stdin": sys.stdin.read(),
        }
    if what == "orphan":  # its child holds the pipe open
        if os.fork() == 0:
            time.sleep(facts["seconds"])
        os._exit(7)
    if what == "die later":
        threading.Timer(facts["seconds"], os._exit, [7]).start()
    if what == "child":  # in a process group of its own
        return subprocess.Popen(["sleep", "60"], process_group=0).pid
    if what == "child and hang":
        Path(facts["note"]).write_text(f"{os.getpid()} {subprocess.Popen(['sleep', '60'], process_group=0).pid}")
        time.sleep(60)
    return os.getpid()
