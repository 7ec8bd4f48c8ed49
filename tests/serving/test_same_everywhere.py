"""One model file, however it is reached: the same identity, records and scores, byte for byte."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.served import MODELS, PYTHON, contents, http_server, wait_until
from worldgauge.engine.model_entries import ResolvedModel, resolve_model
from worldgauge.engine.model_run import LocalTaskContext, TaskOutcome, perform_and_score
from worldgauge.engine.run import run
from worldgauge.engine.suite.contract import Task
from worldgauge.serving import RemoteModel
from worldgauge.suites.loopnav.suite import LoopNav

WAYS = ("./file.py", "cmd", "pipe", "http")
SERVE = f"{PYTHON} -m worldgauge_serve"


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], ResolvedModel]]:
    """The model that a class of client_models.py is when it is reached in one of the ways."""
    monkeypatch.chdir(MODELS)
    with ExitStack() as stack:

        def model(way: str, name: str) -> ResolvedModel:
            if way == "http":
                text = stack.enter_context(http_server(name)).url
            else:
                text = {
                    "./file.py": f"./client_models.py:{name}",
                    "cmd": f"cmd:{SERVE} client_models.py:{name}",
                    "pipe": f"pipe:{SERVE} --pipes client_models.py:{name}",
                    "pkg.mod": f"client_models:{name}",
                    "cmd of a module": f"cmd:{SERVE} client_models:{name}",
                }[way]
            found = resolve_model(text)
            if isinstance(found.model, RemoteModel):
                stack.callback(found.model.close)
            return found

        yield model


def perform(model: ResolvedModel, task: Task, folder: Path) -> TaskOutcome:
    """What a worker does: ask, keep the record, score it."""
    folder.mkdir()
    task_context = LocalTaskContext(folder, 11, lambda done, total: None)
    return perform_and_score(LoopNav(), task, model.model, model.label, task_context, key="k", score="s")


def files(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_file_is_one_model_however_it_is_reached(
    reach: Callable[[str, str], ResolvedModel], tasks: list[Task], tmp_path: Path
) -> None:
    models = {way: reach(way, "Fade?gain=0.8") for way in WAYS}
    first = models["./file.py"]
    assert first.label == "fade-gain-0.8"
    assert first.source.startswith("sha256:")
    for way, model in models.items():
        assert (model.label, model.source, model.identity) == (first.label, first.source, first.identity), way
        assert model.model.needs.gpus == 0.5, way
        outcome = perform(model, tasks[0], tmp_path / way.strip("./"))
        assert outcome == TaskOutcome("done", "score"), way
    expected = files(tmp_path / "file.py")
    assert {"rollout.mp4", "record.json"} < set(expected)
    for way in WAYS[1:]:
        assert files(tmp_path / way) == expected, way


def test_a_module_is_one_model_here_and_in_a_child(
    reach: Callable[[str, str], ResolvedModel], tasks: list[Task], tmp_path: Path
) -> None:
    here, there = reach("pkg.mod", "Fade?gain=0.8"), reach("cmd of a module", "Fade?gain=0.8")
    assert (here.label, here.identity) == (there.label, there.identity)
    assert here.source.startswith("client_models@"), "two modules may hold the same lines and import different ones"
    for name, model in (("here", here), ("there", there), ("file", reach("./file.py", "Fade?gain=0.8"))):
        assert perform(model, tasks[0], tmp_path / name).status == "done"
    assert files(tmp_path / "here") == files(tmp_path / "there") == files(tmp_path / "file")


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [
        ("raises", "failed", "model 'faulty' raised ValueError at frame 2: no such latent"),
        ("floats", "failed", "model 'faulty', chunk at frame 2: expected uint8 frames in 0..255, got float32"),
        ("short", "failed", "model 'faulty' stopped after 2 of"),
        ("inapplicable", "skipped", "needs a longer context"),
    ],
)
def test_what_goes_wrong_reads_the_same(
    reach: Callable[[str, str], ResolvedModel], tasks: list[Task], tmp_path: Path, how: str, status: str, words: str
) -> None:
    outcomes = []
    for way in WAYS:
        outcome = perform(reach(way, f"Faulty?how={how}"), tasks[0], tmp_path / way.strip("./"))
        outcomes.append((outcome.status, outcome.stage, outcome.error, outcome.kind))
    assert outcomes[0][0] == status
    assert outcomes[0][2].startswith(words)
    assert outcomes == outcomes[:1] * len(WAYS)


def test_kill_9_in_the_middle_of_a_rollout_changes_nothing(
    walks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine asks the task again, with an empty record."""
    monkeypatch.chdir(MODELS)
    (tmp_path / "marks").mkdir()
    os.mkfifo(tmp_path / "marks" / "go")
    pid = tmp_path / "marks" / "pid"

    def kill() -> None:
        wait_until(pid.exists, 60)
        os.kill(int(pid.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    model = f"cmd:{SERVE} 'client_models.py:Faulty?how=waits+once&log={tmp_path / 'marks'}'"
    killed = run("loopnav", model=model, data=walks, out=tmp_path / "killed", limit=1, scoring=False)
    killer.join()
    assert (killed.counts.expected, killed.counts.failed) == (1, 0), killed.failures
    undisturbed = run("loopnav", model=model, data=walks, out=tmp_path / "undisturbed", limit=1, scoring=False)
    assert undisturbed.counts.failed == 0
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")
