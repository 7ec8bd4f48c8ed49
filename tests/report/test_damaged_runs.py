"""A damaged or hostile run folder is one line with file and line, and the other models are still reported."""

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldgauge.core.errors import RunError
from worldgauge.report.evidence import load_evidence, read_tasks
from worldgauge.report.page import write_report


def line_of(path: Path, number: int) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(path.read_text().splitlines()[number])
    return entry


def put(path: Path, number: int, text: bytes) -> None:
    lines = path.read_bytes().splitlines()
    lines[number] = text
    path.write_bytes(b"\n".join(lines) + b"\n")


def field(**changed: Any) -> Callable[[Path], None]:
    return lambda path: put(path, 2, json.dumps({**line_of(path, 2), **changed}).encode())


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no UTF-8": lambda path: put(path, 2, b'{"task": "\xff\xfe"}'),
    "broken JSON": lambda path: put(path, 2, b'{"task": "a"'),
    "no object": lambda path: put(path, 2, b"[1, 2]"),
    "endless nesting": lambda path: put(path, 2, b"[" * 100_000),
    "a constant": lambda path: put(
        path, 2, json.dumps(line_of(path, 2)).replace('"n"', '"x": -Infinity, "n"').encode()
    ),
    "unknown key": field(surprise=1),
    "no model": lambda path: put(path, 2, b'{"task": "a", "metric": "sgcs", "value": 1.0}'),
    "series of text": field(series="abc"),
    "series of three": field(series=[[1, 2, 3]]),
    "series of words": field(series=[[0, "much"]]),
    "value of words": field(value="much"),
    "value that is true": field(value=True),
    "value of 400 digits": field(value=10**400),
    "neither value nor reason": field(value=None, reason=None),
    "group of text": field(group="all"),
    "facts of a list": field(facts=[1]),
    "task that is a number": field(task=7),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_scores_are_one_line_and_the_others_are_reported(
    damage: str, runs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(runs / "keeper", tmp_path / "keeper")
    shutil.copytree(runs / "freeze", tmp_path / "freeze")
    DAMAGE[damage](tmp_path / "keeper" / "scores.jsonl")
    with caplog.at_level(logging.WARNING):
        made = write_report([tmp_path], tmp_path / "page", films=0).read_text(encoding="utf-8")
    said = f"{tmp_path / 'keeper' / 'scores.jsonl'}: line 3 is damaged"
    assert "A run is left out: " in made
    assert "line 3 is damaged" in made
    assert [text.startswith(said) and "\n" not in text for text in caplog.messages] == [True]
    assert "freeze" in made
    with pytest.raises(RunError, match=r"scores\.jsonl: line 3 is damaged .*worldgauge score") as caught:
        write_report([tmp_path / "keeper"], tmp_path / "page", films=0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda facts: facts.pop("model"), "no usable 'model'"),
        (lambda facts: facts["model"].pop("identity"), "no usable 'model.identity'"),
        (lambda facts: facts["model"].update(name=7), "no usable 'model.name'"),
        (lambda facts: facts["model"]["identity"].update(source=None), "no usable 'model.identity.source'"),
        (lambda facts: facts.update(task_keys=[1]), "no usable 'task_keys'"),
        (lambda facts: facts.update(settings="none"), "no usable 'settings'"),
        (lambda facts: facts.update(suite_version={}), "no usable 'suite_version'"),
    ],
)
def test_damaged_facts_are_one_line_and_the_others_are_reported(
    change: Callable[[dict[str, Any]], None], said: str, runs: Path, tmp_path: Path
) -> None:
    shutil.copytree(runs / "keeper", tmp_path / "keeper")
    shutil.copytree(runs / "freeze", tmp_path / "freeze")
    path = tmp_path / "keeper" / "run.json"
    facts = json.loads(path.read_text())
    change(facts)
    path.write_text(json.dumps(facts))
    made = write_report([tmp_path], tmp_path / "page", films=0).read_text(encoding="utf-8")
    assert "run.json: no usable" in made
    with pytest.raises(RunError, match=said):
        write_report([tmp_path / "keeper"], tmp_path / "page", films=0)


@pytest.mark.parametrize(("name", "value"), [("suite", None), ("sample", "text"), ("group", [1])])
def test_a_damaged_record_costs_its_film_only(
    name: str, value: Any, runs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(runs / "keeper", tmp_path / "keeper")
    path = next((tmp_path / "keeper").rglob("record.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with caplog.at_level(logging.WARNING):
        tasks = read_tasks(load_evidence([tmp_path])[0])
    assert len(tasks) == 3
    assert f"record.json has no usable '{name}'" in caplog.text


def test_scores_that_the_suite_cannot_read_leave_the_others(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sound JSON with groups or facts that the suite never writes."""
    from report.toybench import ToyLoop

    shutil.copytree(runs / "keeper", tmp_path / "keeper")
    shutil.copytree(runs / "freeze", tmp_path / "freeze")
    field(group={"type": "ABA", "range": "far", "location": "v0"})(tmp_path / "keeper" / "scores.jsonl")
    tables = ToyLoop.all_tables

    def strict(self: ToyLoop, scores: Any, kinds: Any, failed: Any) -> Any:
        for own in scores.values():
            for score in own:
                int(score.group["range"])
        return tables(self, scores, kinds, failed)

    monkeypatch.setattr(ToyLoop, "all_tables", strict)
    made = write_report([tmp_path], tmp_path / "page", films=0).read_text(encoding="utf-8")
    assert "A run is left out: " in made
    assert "invalid literal for int" in made
    with pytest.raises(RunError, match="not the scores of a run of toyloop"):
        write_report([tmp_path / "keeper"], tmp_path / "page", films=0)
