"""Models that make the hidden world again: nothing in a request names the task, so each looks for it in vain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.served import PYTHON
from worldgauge.engine.collect import collect
from worldgauge.engine.coverage import part_marks
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.resume import task_seed
from worldgauge.engine.run import run
from worldgauge.engine.store import RunFolder

SEED = 42
CHEATS = '''
import hashlib, json, os, re
from pathlib import Path

import numpy as np

from worldgauge.core.model import ModelSpec
from worldgauge.engine.collect import world_seed_of
from worldgauge.worlds.voxel.world import KINDS

LOG = Path(__file__).with_name("seen.jsonl")


def world_of(task):
    from worldgauge.core.episode import WorldFacts
    from worldgauge.worlds import open_world

    kind, number = re.search(r"/(\\w+?)_village_(\\d+)/", task).groups()
    place = (int(number) - 1) * len(KINDS) + KINDS.index(kind)
    params = {"kind": kind, "seed": world_seed_of(42, place), "size": (160, 160, 56)}
    return open_world(WorldFacts("voxel", params))


class Regenerate:
    """It reads the number of the settlement in the id."""

    def __init__(self, control="camera"):
        self.spec = ModelSpec("regenerate", control=control)

    def rollout(self, request):
        self.note(request)
        world = world_of(self.named(request))
        for pose in request.poses:
            yield world.view(pose, request.context.camera).rgb[None]

    def note(self, request):
        context = request.context
        seen = {
            **{"task": request.task, "seed": request.seed, "text": request.text, "caption": request.caption},
            "context": None if context.poses is None else context.poses[-1].tolist(),
            "poses": None if request.poses is None else request.poses[0].tolist(),
            "space": context.actions.space.name,
        }
        with open(LOG, "a") as file:
            file.write(json.dumps(seen) + "\\n")

    def named(self, request):
        return request.task


class Plain(Regenerate):
    """It only notes what it gets."""

    def rollout(self, request):
        self.note(request)
        return (request.context.clip[-1][None] for _ in range(request.horizon))


class BySeed(Regenerate):
    """It tries all public ids with the seed of the run against the seed of the request."""

    def named(self, request):
        for task in json.loads(LOG.with_name("ids.json").read_text()):
            whole = hashlib.sha256(f"0/{task}".encode()).digest()[:4]
            if int.from_bytes(whole) == request.seed:
                return task
        raise LookupError("no public id has this seed")


class ByHash(Regenerate):
    """It hashes all public ids without a salt."""

    def named(self, request):
        for task in json.loads(LOG.with_name("ids.json").read_text()):
            if hashlib.sha256(task.encode()).hexdigest().startswith(request.task):
                return task
        raise LookupError("no public id has this hash")


class AsVideos(Regenerate):
    """It calls itself a model of finished videos, whose tasks are named."""

    def video_of(self, task):
        raise AssertionError(f"it got {task}")

    def video_tasks(self):
        return json.loads(LOG.with_name("ids.json").read_text())


class InOurModule(AsVideos):
    """The same, as if it were defined in worldgauge."""

    __module__ = "worldgauge.models.videos"


class ByProcess(Regenerate):
    """It looks for an id in its arguments, its environment and its working folder."""

    def named(self, request):
        told = " ".join([Path("/proc/self/cmdline").read_text(), *os.environ.values(), os.getcwd()])
        return next(task for task in json.loads(LOG.with_name("ids.json").read_text()) if task in told)
'''
NAMES = ("Regenerate", "BySeed", "ByHash", "AsVideos", "InOurModule", "ByProcess")


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two loops of the settlement that seed 42 makes first."""
    root = tmp_path_factory.mktemp("loops")
    collect("loopnav", root, settlements=1, ranges=(5,), per_combination=1, seed=SEED, size=(64, 36))
    return root


@pytest.fixture
def cheats(tmp_path: Path, loops: Path) -> Path:
    path = tmp_path / "cheats.py"
    path.write_text(CHEATS)
    (tmp_path / "ids.json").write_text(json.dumps([task.id for task in list_tasks(open_suite("loopnav", {}), loops)]))
    return path


def sgcs(folder: RunFolder) -> list[float]:
    if not folder.scores_path.exists():
        return []
    lines = map(json.loads, folder.scores_path.read_text().splitlines())
    return [line["value"] for line in lines if line["metric"] == "sgcs"]


def seen_by(cheats: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (cheats.parent / "seen.jsonl").read_text().splitlines()]


def without_salt(folder: Path) -> None:
    """Make the folder one of a run of former code, before its first task."""
    facts = json.loads((folder / "run.json").read_text())
    del facts["salt"]
    (folder / "run.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("name", NAMES)
def test_no_world_is_made_again_from_a_request(name: str, cheats: Path, loops: Path, tmp_path: Path) -> None:
    result = run("loopnav", model=f"{cheats}:{name}", data=loops, out=tmp_path / "runs", limit=1)
    (folder,) = result.folders
    assert sgcs(folder) == []
    assert result.counts.failed == 1
    assert len(seen_by(cheats)) == 1, "it was asked as any other model, and failed by itself"


def test_the_cheat_works_where_ids_are_plain(cheats: Path, loops: Path, tmp_path: Path) -> None:
    asked = {"model": f"{cheats}:BySeed", "data": loops, "out": tmp_path / "runs", "limit": 1, "scoring": False}
    first = run("loopnav", **asked)
    assert first.counts.failed == 1
    without_salt(first.folders[0].directory)
    assert run("loopnav", **asked).counts.failed == 0
    *_, last = seen_by(cheats)
    (task,) = list_tasks(open_suite("loopnav", {}), loops, 1)
    assert (last["task"], last["seed"]) == (task.id, task_seed(0, task.id)), "a run of former code goes on as it was"
    assert "salt" not in first.folders[0].facts()


def test_a_served_cheat_gets_no_id(cheats: Path, loops: Path, tmp_path: Path) -> None:
    text = f"cmd:{PYTHON} -m worldgauge_serve '{cheats}:Regenerate'"
    run("loopnav", model=text, data=loops, out=tmp_path / "runs", limit=1, scoring=False)
    (seen,) = seen_by(cheats)
    assert len(seen["task"]) == 32
    assert "_village_" not in json.dumps(seen)


def test_poses_are_those_of_models_that_declare_them(cheats: Path, loops: Path, tmp_path: Path) -> None:
    text = [f"{cheats}:Plain?control={control}" for control in ("actions", "camera")]
    result = run("loopnav", model=text, data=loops, out=tmp_path / "runs", limit=1, scoring=False)
    actions, camera = seen_by(cheats)
    assert actions["context"] is actions["poses"] is None
    here = np.array(camera["context"])
    assert np.abs(here[:3, 3]).max() < 1e-9
    assert abs(here[1, 2]) < 1e-9, "its heading is the x axis"
    assert here[0, 2] > 0
    assert np.abs(camera["poses"])[:2, 3].max() < 1, "the next frame is near the origin"
    marks = {folder.facts()["model"]["control"]: part_marks(folder.facts()["model"]) for folder in result.folders}
    assert marks == {"actions": ("no sandbox",), "camera": ("given poses", "no sandbox")}


def test_rows_say_what_their_models_received(cheats: Path, loops: Path, tmp_path: Path) -> None:
    models = ["freeze", "hedge", "render", f"{cheats}:Plain?control=actions"]
    result = run("loopnav", model=models, data=loops, out=tmp_path / "runs", limit=1)
    marks = {row.label: row.marks for row in result.table()[0].rows}
    assert marks["freeze"] == marks["render"] == ()
    assert marks["hedge"] == ("given poses",)
    assert marks["regenerate-control-actions"] == ("no sandbox",)
    # A later run in a sandbox does not clean answers that were made without one.
    folder = next(one for one in result.folders if one.facts()["model"]["name"].startswith("regenerate"))
    facts = folder.facts()
    assert facts["model"]["unsandboxed"] is True
    assert len(facts["salt"]) == 32


BUILT_IN = ["noise", "hedge", "memory", "drift", "forgetful", "degraded?level=0.3", "tiny"]


@pytest.mark.slow
def test_answers_do_not_depend_on_the_salt(loops: Path, tmp_path: Path) -> None:
    runs = [run("loopnav", model=BUILT_IN, data=loops, out=tmp_path / out, limit=1) for out in ("one", "two")]
    one, two = (sorted(each.folders, key=lambda folder: folder.directory.name) for each in runs)
    for first, second in zip(one, two, strict=True):
        assert first.facts()["salt"] != second.facts()["salt"]
        assert sgcs(first)
        assert first.scores_path.read_bytes() == second.scores_path.read_bytes()
        videos = [next(folder.directory.glob("records/*/rollout.mp4")).read_bytes() for folder in (first, second)]
        assert videos[0] == videos[1]


AGENT = """
import json
from pathlib import Path

from worldgauge.core.agent import AgentSpec


class Noting:
    spec = AgentSpec("noting")

    def answer(self, problem):
        with open(Path(__file__).with_name("seen.jsonl"), "a") as file:
            file.write(json.dumps([problem.task, problem.seed]) + "\\n")
        return "A"
"""


def test_an_agent_gets_no_id(mineanybuild_data: Path, tmp_path: Path) -> None:
    (tmp_path / "cheats.py").write_text(AGENT)
    suite = open_suite("mineanybuild", {"task": "reasoning"})
    run(
        "mineanybuild",
        model=f"{tmp_path / 'cheats.py'}:Noting",
        data=mineanybuild_data,
        out=tmp_path / "runs",
        settings={"task": "reasoning"},
        limit=3,
    )
    seen = seen_by(tmp_path / "cheats.py")
    ids = [task.id for task in list_tasks(suite, mineanybuild_data)]
    assert len(seen) == 3
    assert {len(task) for task, _ in seen} == {32}
    assert not {seed for _, seed in seen} & {task_seed(0, task) for task in ids}


def test_a_model_in_a_closed_loop_gets_neither_id_nor_pose(
    cheats: Path, worldinworld_data: Path, tmp_path: Path
) -> None:
    settings = {"task": "navigation", "panorama_px": 128, "view_px": 64}
    asked = {"data": worldinworld_data, "settings": settings, "limit": 1}
    run("worldinworld", model=f"{cheats}:Plain?control=actions", out=tmp_path / "runs", **asked)
    seen = seen_by(cheats)
    assert {len(one["task"]) for one in seen} == {32}
    assert all(one["context"] is one["poses"] is None for one in seen)
