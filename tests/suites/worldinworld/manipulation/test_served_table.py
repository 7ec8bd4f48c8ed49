"""Episodes on served tables: collected, acted out, and the same as on the embedded table at hand."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.commands import command
from support.served import MODELS, PYTHON
from support.task_context import QuietContext
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.models import models
from worldgauge.serving.messages import TABLE_VARIABLE
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.worlds.table_process import RemoteSimulation, ServedTable, opened

EMBEDDED = f"cmd:{PYTHON} -m worldgauge_serve worldgauge.worlds.tabletop.servers.embedded:EmbeddedTables"
STRAIGHT = f"cmd:{PYTHON} -m worldgauge_serve '{MODELS / 'tables.py'}:Tables?expert="
POLICY = f"cmd:{PYTHON} -m worldgauge_serve '{MODELS / 'policies.py'}:Reach?layout=things'"
EVERY = ("push_buttons", "slide_block", "insert_ring", "stack_cups")
SMALL: dict[str, Any] = {"task": "manipulation", "view_px": 64}


def collected(folder: Path, count: int, *more: str) -> Path:
    """Trials of manipulation alone."""
    none = [word for task in ("recognition", "navigation", "questions") for word in (f"--{task}", "0")]
    count_words = ["--manipulation", str(count), "--scenes", "1", "--workers", "1"]
    done = command(folder.parent, "collect", "worldinworld", "--out", folder, *none, *count_words, *more)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_table_without_an_expert_is_acted_on_by_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TABLE_VARIABLE, f"{STRAIGHT}false'")
    data = collected(tmp_path / "data", 1, "--table", "served")
    manifest = json.loads((data / "worldgauge.json").read_text())
    assert PYTHON not in json.dumps(manifest), "data name no command"
    by_policy = {**SMALL, "proposer": "process", "policy": POLICY, "reviser": "oracle", "decisions": 5}
    suite = ClosedLoop(**by_policy)
    (task,) = suite.tasks(data)
    assert task.skip is None
    record = suite.perform(task, models.get("oracle")(), QuietContext(tmp_path))
    assert record.facts["end"] == "budget"
    assert record.facts["progress"] == pytest.approx(0.2), "the best plan of five ends 4 cm higher"
    assert record.facts["frames_generated"] == 14
    assert {one.metric: one.value for one in suite.score(record, QuietContext(tmp_path))}["task/success"] == 0
    for settings, refusal, words in (
        (SMALL, NotApplicableError, "this table has no expert"),
        ({**by_policy, "reviser": "similarity"}, UsageError, "needs images of the table at the start"),
    ):
        with pytest.raises(refusal, match=words):
            ClosedLoop(**settings).perform(task, models.get("oracle")(), QuietContext(tmp_path))
    monkeypatch.delenv(TABLE_VARIABLE)
    (task,) = suite.tasks(data)
    assert TABLE_VARIABLE in str(task.skip)
    checked = command(tmp_path, "check", "worldinworld", "--data", data)
    assert checked.returncode == 0
    assert "cannot be verified here" in " ".join(checked.stdout.split())


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Twenty trials at hand, and the same on served tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TABLE_VARIABLE, EMBEDDED)
        root = tmp_path_factory.mktemp("twice")
        yield [collected(root / "here", 20), collected(root / "there", 20, "--table", "served")]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", EVERY)
def test_five_episodes_of_each_task_are_those_at_hand(kind: str, twice: list[Path], tmp_path: Path) -> None:
    suite = ClosedLoop(**SMALL)
    tasks = [{task.id: task for task in suite.tasks(folder) if kind in task.id} for folder in twice]
    assert tasks[0].keys() == tasks[1].keys()
    assert len(tasks[0]) == 5
    for name in tasks[0]:
        found = []
        for place, task in enumerate(one[name] for one in tasks):
            out = tmp_path / str(place) / name
            out.mkdir(parents=True)
            record = suite.perform(task, models.get("oracle")(), QuietContext(out))
            scores = [(one.metric, one.value, one.facts) for one in suite.score(record, QuietContext(out))]
            films = {path.name: path.read_bytes() for path in sorted(out.rglob("*.mp4"))}
            lines = [json.loads(line) for line in next(out.rglob("trace.jsonl")).read_text().splitlines()]
            found.append((dict(record.facts), scores, films, lines))
        for line in found[1][3]:
            if "state" in line:
                line["state"] = embedded_state(line["state"])
        assert len(found[0][2]) >= 2
        assert found[0] == found[1], name


@pytest.mark.slow
@pytest.mark.parametrize("task", EVERY)
def test_a_restore_after_every_act_repeats_to_the_bit(task: str) -> None:
    table = ServedTable(opened(EMBEDDED), task, 0, 3)
    steady, restored = RemoteSimulation(table), RemoteSimulation(table)
    while plan := steady.task.plan(steady):
        ends = [simulation.move(plan[0]).states[-1].plain() for simulation in (steady, restored)]
        assert ends[0] == ends[1]
        restored = RemoteSimulation(table, ends[1])
        assert restored.state().plain() == ends[1]
    assert steady.solved


def embedded_state(text: str) -> list[Any]:
    """The state in a trace of a served embedded table, as at hand."""
    numbers = np.frombuffer(base64.b64decode(text), "<f8").tolist()
    count = int(numbers[0])
    return [numbers[1 : 1 + count], [int(one) for one in numbers[1 + count : -1]], numbers[-1]]
