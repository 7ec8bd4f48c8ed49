"""Stand-ins for the repositories that the adapters drive, and questions to ask them.

Each folder has the modules, names and array layouts of its repository, with a network that repeats what it saw last.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import worldgauge_serve as served
from support.vectors import cases
from worldgauge.core.actions import LOOP_WALK, Actions, camera_path
from worldgauge.core.episode import Context, Episode
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.tools.check_model import ModelReport

ROOT = Path(__file__).parent
CAMERA_ROWS = cases("loopnav_adapters", "camera")


def question(rows: Any, *, seen: int, spec: Any, seed: int = 0, start_yaw: float = 0.0) -> RolloutRequest:
    """A request with `seen` frames of noise and the loop-walk `rows` (seen - 1 + horizon, 4), sized as `spec` asks."""
    actions = Actions(LOOP_WALK, np.asarray(rows, np.float32))
    width, height = spec.frame_size
    frames = np.random.default_rng(1).integers(0, 256, (seen, height, width, 3), dtype=np.uint8)
    first = pose_from_yaw_pitch((3.0, -2.0, 5.0), start_yaw)
    poses = np.concatenate([first[None], camera_path(actions, first)])
    camera = Camera.from_vertical_fov(640, 360, 75).resized(width, height)
    context = Context(Clip.from_array(frames, 20.0), poses[:seen], actions[: seen - 1], camera)
    future = actions[seen - 1 :]
    return RolloutRequest(
        context,
        horizon=len(future),
        seed=seed,
        actions=future if spec.control == "actions" else None,
        poses=poses[seen:] if spec.control == "camera" else None,
        task="a-task",
    )


def walk_rows(n: int) -> np.ndarray:
    """Loop-walk rows (n, 4), all different: row t turns by t / 1000 rad and looks up by t / 2000 rad."""
    t = np.arange(n)
    return np.stack([t % 2, t % 3 == 0, t / 1000, t / 2000], axis=1).astype(np.float32)


def as_served(request: RolloutRequest) -> served.Request:
    """The same request as a model sees it that runs in another environment."""
    given = request.context
    axes = tuple(served.Axis(axis.name, axis.kind, tuple(axis.motion)) for axis in given.actions.space.axes)
    space = served.ActionSpace(given.actions.space.name, axes, given.actions.space.fps)
    context = served.Context(
        served.Clip(given.clip.to_array(), given.clip.fps),
        given.poses,
        served.Actions(space, given.actions.values),
        served.Camera(**vars(given.camera)),
        given.depth,
    )
    actions = None if request.actions is None else served.Actions(space, request.actions.values)
    told = {"poses": request.poses, "text": request.text, "caption": request.caption, "task": request.task}
    return served.Request(context, request.horizon, request.seed, actions, **told)


def answered(make: Callable[[], Any], walk: tuple[Episode, int]) -> RolloutRequest:
    """Ask a model a LoopNav task, here and as in an environment without worldgauge: the same frames."""
    episode, start = walk
    model = make()
    request = make_request(episode, start, model.spec, LoopNavSettings(), seed=3)
    frames = np.concatenate(list(checked_rollout(model, request)))
    assert len(frames) == len(episode) - start
    assert np.array_equal(np.concatenate(list(make().rollout(as_served(request)))), frames)
    return request


def complaints(report: ModelReport) -> list[str]:
    """What `check-model` has against a model, each in a sentence; nothing where it keeps every promise."""
    found = [verdict for verdict in report.verdicts if verdict.status in ("violated", "warning")]
    return [f"{verdict.name}: {verdict.explanation} {verdict.advice}" for verdict in found]


def records_of(episode_id: str, folder: Path) -> list[Any]:
    """The raw records of a LoopNav trajectory, in the game's own frame."""
    (path,) = folder.rglob(f"{episode_id.split('/')[-1]}.json")
    records: list[Any] = json.loads(path.read_text())
    return records


@contextmanager
def isolated() -> Iterator[None]:
    """Whatever the block puts on the search path and imports from these folders is gone after it.

    A real package of the name of a stand-in, where one is installed and imported, waits outside.
    """
    path = sys.path.copy()
    real = {name: module for name, module in sys.modules.items() if name.split(".")[0] in SHADOWED}
    for name in real:
        del sys.modules[name]
    try:
        yield
    finally:
        sys.path[:] = path
        for name in [name for name in sys.modules if name.split(".")[0] in SHADOWED]:
            del sys.modules[name]
        sys.modules.update(real)
        for name, module in list(sys.modules.items()):
            if any(str(ROOT / part) in str(getattr(module, "__file__", "")) for part in FOLDERS):
                del sys.modules[name]


@contextmanager
def standing_in(*folders: str) -> Iterator[None]:
    """Packages of these folders can be imported in the block; where torch is not installed, the little of it too."""
    with isolated():
        torch = [] if importlib.util.find_spec("torch") else ["without_torch"]
        sys.path[:0] = [str(ROOT / folder) for folder in [*folders, *torch]]
        yield


SHADOWED = ("algorithms", "diffusers", "inference_video_scripts", "omegaconf", "pyrallis", "tensorflow", "wan")
FOLDERS = (
    "open_oasis",
    "mineworld",
    "diamond",
    "nwm",
    "vggt",
    "viewpoint",
    "spatracker",
    "vipe",
    "fastvideo",
    "worldmem",
    "lingbot",
    "worldplay",
    "sana_wm",
    "matrix_game2",
    "yume",
    "without_torch",
)
