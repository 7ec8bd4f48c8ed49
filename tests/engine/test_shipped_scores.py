"""Scores that ship with worldgauge: a run copies them, marks them, and computes what they are not of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import glow
from worldgauge.core.errors import DataError, RunError
from worldgauge.engine import sets, shipped_scores
from worldgauge.engine.model_run import RunStep
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.run import RunRequest, dry_run, execute, score
from worldgauge.engine.sets import NamedSet, SetPart, digits_of, membership
from worldgauge.engine.shipped_scores import pack_scores
from worldgauge.engine.store import RunFolder
from worldgauge.report import write_report
from worldgauge.tools.bundle import write_bundles
from worldgauge.tools.verify import verify


class Known(glow.Glowing):
    """A model that states what its answers depend on, as built-in ones do."""

    def __init__(self, name: str, more: int = 4) -> None:
        super().__init__(name, more)
        self.spec = replace(self.spec, settings={"digest": f"{name}-{more}"})


LABELS = ("dim", "lit")
MODELS = tuple(map(Known, LABELS))


class Shipped:
    """A benchmark set whose baselines were run once, in `made`."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.data, self.folder, self.file = data, folder, folder / "glow.scores.xz"
        tasks = {one.id: digits_of(one.fingerprint) for one in list_tasks(open_suite("glow", {}), data)}
        self.part = SetPart("glow", {}, {"a": "0" * 64}, tasks)
        self.ship("")

    def ship(self, sha256: str) -> None:
        part = replace(self.part, baselines_sha256=sha256, baselines_file=self.file if sha256 else None)
        self.named = NamedSet("worldgauge-toy", 3, "A toy", (part,))

    def run(self, out: str, **more: Any) -> tuple[list[str], list[str]]:
        """Tasks that were computed, and notes."""
        steps: list[RunStep] = []
        result = execute(self.request(out, **more), steps.append)
        assert result.ok, result.failures[:2]
        return [f"{one.model}/{one.task}" for one in steps if one.status], [one.note for one in steps if one.note]

    def request(self, out: str, **more: Any) -> RunRequest:
        return RunRequest("glow", **{"models": MODELS, "data": self.data, "out": self.folder / out, **more})

    def of(self, out: str, label: str) -> RunFolder:
        return RunFolder(self.folder / out / label)


@pytest.fixture
def shipped(glow_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shipped]:
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    monkeypatch.setattr(glow.Glow, "scoring_settings", frozenset({"decoder"}))
    made = Shipped(glow_data, tmp_path)
    for module in (sets, shipped_scores):
        monkeypatch.setattr(module, "named_sets", lambda: {made.named.name: made.named})
    assert len(made.run("made")[0]) == 12
    made.ship(pack_scores([made.of("made", label) for label in LABELS], made.file))
    return made


def test_a_run_copies_them_and_says_so(shipped: Shipped) -> None:
    assert [plan.cached for plan in dry_run(shipped.request("b"))] == [6, 6]
    done, notes = shipped.run("b")
    assert not done
    assert "Copied, not computed, by tasks: dim (6), lit (6). --fresh computes them." in notes
    for label in LABELS:
        assert shipped.of("b", label).scores_path.read_bytes() == shipped.of("made", label).scores_path.read_bytes()
        assert shipped.of("b", label).facts()["shipped"] == 6
        assert "shipped" not in shipped.of("made", label).facts()
    result = execute(shipped.request("b", models=MODELS[:1]))
    assert "Scores that ship with worldgauge: dim." in result.table()[0].notes
    assert shipped.run("b")[0] == []  # again


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"settings": {"decoder": "median"}}, {"fresh": True}, {"scoring": False}]
)
def test_what_changes_a_result_is_computed(shipped: Shipped, change: dict[str, Any]) -> None:
    assert len(shipped.run("c", **change)[0]) == 12
    assert "shipped" not in shipped.of("c", "lit").facts()


def test_other_models_and_other_data_are_computed(shipped: Shipped) -> None:
    assert len(shipped.run("d", models=(Known("dim", 5),))[0]) == 6
    other = glow.make_data(shipped.folder / "more", n=8)
    assert membership("glow", list_tasks(open_suite("glow", {}), other)) is None
    assert len(shipped.run("e", data=other)[0]) == 16


def test_a_damaged_file_is_refused(shipped: Shipped) -> None:
    shipped.file.write_bytes(shipped.file.read_bytes() + b"\0")
    shipped_scores._lines.cache_clear()
    with pytest.raises(DataError, match=r"glow.scores.xz: its SHA-256 is not that of the benchmark set; install"):
        shipped.run("f")


def test_scores_of_other_settings_need_the_videos_that_do_not_ship(shipped: Shipped) -> None:
    shipped.run("g", models=MODELS[:1])
    line = json.loads(shipped.of("g", "dim").journal_path.read_text().splitlines()[0])
    assert (line["shipped"], line["seconds"]) == (True, 0.0)
    with pytest.raises(RunError, match="lost or damaged"):
        score(shipped.folder / "g", settings={"decoder": "median"})
    assert len(shipped.run("g", models=MODELS[:1], settings={"decoder": "median"})[0]) == 6
    assert "shipped" not in shipped.of("g", "dim").facts()


def test_the_file_does_not_depend_on_the_order_of_runs(shipped: Shipped) -> None:
    again = shipped.folder / "again.xz"
    pack_scores([shipped.of("made", label) for label in reversed(LABELS)], again)
    assert again.read_bytes() == shipped.file.read_bytes()


def test_what_is_made_of_such_a_run_says_that_it_holds_no_video(shipped: Shipped) -> None:
    shipped.run("h")
    (made,) = write_bundles([shipped.of("h", "dim").directory], shipped.folder / "bundles")
    found = verify(made.path)
    assert found.ok, found.to_dict()
    page = write_report([shipped.folder / "h"], shipped.folder / "page.html").read_text(encoding="utf-8")
    assert "Scores that ship with worldgauge: dim, lit." in page
    assert not verify(made.path, data=shipped.data, rescore=2).rescored
