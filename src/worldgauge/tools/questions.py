"""What a suite asks, as plain files for a model that runs elsewhere. `score --videos` takes what comes back.

asked = write_questions("mind", data=Path("data"), out=Path("questions"))
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from worldgauge.core.actions import Actions, Control
from worldgauge.core.errors import DataError, NotApplicableError, RunError, UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames, write_png
from worldgauge.core.io import atomic_folder, dumps, read_json_object
from worldgauge.core.model import Blinding, ModelSpec, RolloutRequest, WorldModel, fitted
from worldgauge.core.video import Writer
from worldgauge.engine.model_entries import find_served, resolve_model
from worldgauge.engine.model_run import LocalTaskContext
from worldgauge.engine.open_suite import list_tasks, open_suite, suite_name
from worldgauge.engine.resume import model_identity, task_key, task_seed
from worldgauge.engine.sealed import Seal
from worldgauge.engine.store import atomic_write
from worldgauge.engine.suite.base import ActedSuite, Suite, suites
from worldgauge.engine.suite.contract import Task
from worldgauge.tools.data_sets import suites_of
from worldgauge.version import __version__
from worldgauge_serve import KEYS, key_rows, mouse_deltas

FORMAT, VERSION = "worldgauge-questions", 1
ABOUT = "questions.json"
TABLE = "questions.parquet"
QUESTION = "question.json"
"""In the folder of a task, beside START and CONTEXT; written last."""
START, CONTEXT = "start.png", "context.mp4"
POSES = "camera-to-world, metres; camera: x right, y down, z forward; world: z up, from the last context camera on"
CONTROLS: tuple[Control, ...] = ("camera", "actions", "text")
TURNS = ("right", "down")

Watcher = Callable[[str, int, int], None]


@dataclass(frozen=True)
class QuestionSet:
    """Questions that were written; `scored_with` are options that `score --videos` needs for answers in their form."""

    folder: Path
    questions: tuple[str, ...]
    skipped: Mapping[str, str]
    table: Path | None
    scored_with: tuple[str, ...] = ()


def write_questions(
    suite: str,
    *,
    data: Path | str,
    out: Path | str,
    model: str | WorldModel | None = None,
    settings: Mapping[str, Any] | None = None,
    limit: int | str | None = None,
    seed: int = 0,
    sealed: Seal | None = None,
    progress: Watcher | None = None,
) -> QuestionSet:
    """Write a suite's requests, a folder per task, except those already there. Sealed ones hold only what a model
    receives: their names and seeds follow from the secret."""
    opened, folder = open_suite(suite_name(suite), settings or {}), Path(out)
    if opened.answerer_kind == "agent":
        raise UsageError(
            f"suite '{opened.name}' evaluates agents: there are no frames to generate; see docs/howto/policies.md"
        )
    if isinstance(opened, ActedSuite):
        raise UsageError(
            f"suite '{opened.name}' sends requests step by step: each depends on the rollouts before; "
            "serve the model instead (docs/howto/wrap_http.md)"
        )
    spec = ModelSpec("questions")
    if model is not None:
        resolved = resolve_model(model)
        spec = cast("WorldModel", resolved.model).spec
        if isinstance(model, str) and (served := find_served(resolved.model)) is not None:
            served.close()
    identity = model_identity(spec, "questions")
    about = {
        **{"format": FORMAT, "version": VERSION, "worldgauge": __version__, "suite": opened.name},
        **{"settings": dict(opened.settings), "model": identity, "seed": seed},
    }
    names = Blinding()
    if sealed is not None:
        if model is not None or limit is not None:
            raise UsageError("--for and --limit do not go with --sealed: every model gets the same questions")
        sealed.check_data(Path(data))
        names, about = sealed.names, {**about, "seed": 0, "sealed": sealed.commitment}
    _claim(folder, about)
    tasks = list_tasks(opened, Path(data), limit)
    skipped: dict[str, str] = {}
    digests: dict[str, str] = {}
    for done, task in enumerate(tasks):
        if progress is not None:
            progress(names.name(task.id), done, len(tasks))
        try:
            if sealed is not None:
                digests[names.name(task.id)] = _write_sealed(opened, task, spec, names, folder)
                continue
            _write(opened, task, spec, seed, folder, task_key(opened, task, identity, seed), any_form=model is None)
        except NotApplicableError as error:
            skipped[names.name(task.id)] = str(error)
    if progress is not None:
        progress("", len(tasks), len(tasks))
    asked = tuple(name for task in tasks if (name := names.name(task.id)) not in skipped)
    if sealed is not None:  # the order of tasks is no part of a question
        asked, skipped = tuple(sorted(asked)), dict.fromkeys(sorted(skipped), "not requested")
        about["digests"] = {name: digests[name] for name in asked}
    atomic_write(folder / ABOUT, dumps({**about, "questions": list(asked), "skipped": skipped}, indent=2) + "\n")
    own_rate = () if spec.fps is None else ("--video-fps", f"{spec.fps:g}")
    longer = () if spec.lengths is None else ("--video-longer", "cut")
    return QuestionSet(folder, asked, skipped, _write_table(folder, asked), (*own_rate, *longer))


def answered_by_videos(data: str | os.PathLike[str]) -> list[str]:
    """Suites whose data are in a folder or a benchmark set, and whose tasks finished videos can answer."""
    kinds = {name: suites.get(name) for name in suites_of(data)}
    return [name for name, kind in kinds.items() if kind.answerer_kind == "model" and not issubclass(kind, ActedSuite)]


def read_question(folder: Path, task: str) -> dict[str, Any]:
    """Read the question of a task."""
    return read_json_object(folder / task / QUESTION)


def _claim(folder: Path, about: Mapping[str, Any]) -> None:
    """Make the folder, or make sure that it holds these questions."""
    found = folder / ABOUT
    if found.exists():
        try:
            before = read_json_object(found)
        except DataError as error:
            raise RunError(f"{error}; remove {folder}, or choose another folder with --out") from error
        other = next((name for name, value in about.items() if before.get(name) != value), None)
        if other is not None:
            raise RunError(f"{folder} holds questions with another {other}: choose another folder with --out")
    elif folder.is_dir() and any(folder.iterdir()):
        raise RunError(f"{folder} is not empty and holds no questions: choose another folder with --out")
    else:
        atomic_write(found, dumps(about, indent=2) + "\n")


def _write(suite: Suite, task: Task, spec: ModelSpec, seed: int, folder: Path, key: str, *, any_form: bool) -> None:
    """Write the question of a task, unless it is there."""
    if task.skip is not None:
        raise NotApplicableError(task.skip)
    place = folder / task.id
    if (place / QUESTION).is_file() and read_json_object(place / QUESTION).get("key") == key:
        return
    judged = _any_form(suite, task, spec, seed) if any_form else _request(suite, task, spec, seed)
    request = judged if any_form else fitted(judged, spec)
    facts = {"suite": suite.name, "task": task.id, "key": key, **_facts(request, judged.horizon)}
    _write_request(request, place, facts)


def _write_sealed(suite: Suite, task: Task, spec: ModelSpec, names: Blinding, folder: Path) -> str:
    """Write the question of a sealed set; returns a digest of what it shows and asks."""
    if task.skip is not None:
        raise NotApplicableError(task.skip)
    request = _any_form(suite, task, spec, 0)
    request = replace(names.request(request), task=names.name(task.id))
    facts = {"suite": suite.name, "task": request.task, **_facts(request, request.horizon)}
    _write_request(request, folder / request.task, facts)
    digest = hashlib.sha256(dumps(facts).encode())
    for frame in request.context.clip:
        digest.update(frame.tobytes())
    return digest.hexdigest()


def _write_request(request: RolloutRequest, place: Path, facts: Mapping[str, Any]) -> None:
    with atomic_folder(place) as new:
        clip = request.context.clip
        write_png(new / START, clip[len(clip) - 1])
        with Writer(new / CONTEXT, fps=clip.fps, kind="lossless") as video:
            for frame in clip:
                video.write(frame)
        held = {"format": FORMAT, "version": VERSION, **facts}
        (new / QUESTION).write_text(dumps(held) + "\n", encoding="utf-8")


def _any_form(suite: Suite, task: Task, spec: ModelSpec, seed: int) -> RolloutRequest:
    """The request for the first control that the task has; it holds the other forms of the future, too."""
    for control in CONTROLS[:-1]:
        with suppress(NotApplicableError):
            return _request(suite, task, replace(spec, control=control), seed)
    return _request(suite, task, replace(spec, control=CONTROLS[-1]), seed)


def _request(suite: Suite, task: Task, spec: ModelSpec, seed: int) -> RolloutRequest:
    """What the suite asks a model of this form, of as many frames as it judges."""
    asked = _Asked(replace(spec, lengths=None, context_lengths=None))
    with TemporaryDirectory() as scratch:
        own = Blinding("questions", seed)  # seeds as in a run; the name of the video needs the id
        context = LocalTaskContext(Path(scratch), task_seed(seed, task.id), lambda done, total: None, blinding=own)
        with suppress(_NotedError):
            suite.perform(task, asked, context)
    if asked.request is None:
        raise NotApplicableError("it sends no request to a model")
    return replace(asked.request, task=task.id)


class _NotedError(NotApplicableError):
    """Ends a task once its question is known."""


class _Asked:
    """A model that answers nothing and keeps what it is asked."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.request: RolloutRequest | None = None

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        self.request = request
        raise _NotedError


def _facts(request: RolloutRequest, judged: int) -> dict[str, Any]:
    context, (width, height) = request.context, request.frame_size
    camera = context.camera
    known = isinstance(camera, Camera)
    return {
        "video": f"{request.task}.mp4",
        "frames": request.horizon,
        "judged": judged,
        "fps": context.clip.fps,
        "width": width,
        "height": height,
        **{name: getattr(request, name) for name in ("seed", "caption", "text")},
        "prompts": None if request.prompts is None else [prompt._asdict() for prompt in request.prompts],
        "start": START,
        "context": {"video": CONTEXT, "frames": len(context)},
        "view": "perspective" if known else "panorama",
        "intrinsics": {name: getattr(camera, name) for name in ("fx", "fy", "cx", "cy")} if known else None,
        "actions": None if request.actions is None else _action_facts(request.actions, context.actions),
        "keys": None if request.actions is None else _key_facts(request.actions),
        "poses": None
        if request.poses is None
        else {"convention": POSES, "context": _rows(context.path), "rows": _rows(request.poses)},
    }


def _action_facts(actions: Actions, before: Actions) -> dict[str, Any]:
    axes = [{"name": axis.name, "kind": axis.kind, "motion": axis.motion._asdict()} for axis in actions.space.axes]
    rows = {"context": _rows(before.values), "rows": _rows(actions.values)}
    return {"space": actions.space.name, "axes": axes, **rows}


def _key_facts(actions: Actions) -> dict[str, Any] | None:
    """The same as keys that are held and turns of a mouse, whatever the space; None where no camera is moved."""
    if not any(any(axis.motion) for axis in actions.space.axes):
        return None
    others = [axis.name for axis in actions.space.axes if axis.kind == "button" and not any(axis.motion)]
    names = [*KEYS, *others]
    rows = key_rows(actions, names)
    return {
        "names": names,
        "held": [[name for name, on in zip(names, row, strict=True) if on] for row in rows],
        "turned_deg": {"axes": TURNS, "rows": _rows(mouse_deltas(actions, axes=TURNS))},
    }


def _rows(values: FloatArray | np.ndarray[Any, Any]) -> list[Any]:
    rows: list[Any] = np.asarray(values, np.float64).round(9).tolist()
    return rows


def _write_table(folder: Path, tasks: tuple[str, ...]) -> Path | None:
    """One row a question; texts, numbers, and lists where the file has lists."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return None
    rows = [read_question(folder, task) for task in tasks]
    for row in rows:
        row["start"], row["context"]["video"] = f"{row['task']}/{START}", f"{row['task']}/{CONTEXT}"
    part = folder / f".{TABLE}.part"
    pq.write_table(pa.Table.from_pylist(rows), part)
    part.replace(folder / TABLE)
    return folder / TABLE
