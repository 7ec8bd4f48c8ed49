"""The cache of floor results: the same bytes again, in any process, and no entry that is of something else."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldgauge.cli.run import _baselines
from worldgauge.core.io import digest_of_file, dumps, loads
from worldgauge.engine import floor_cache
from worldgauge.engine.floor_cache import FloorCache
from worldgauge.engine.model_entries import ModelEntry, resolve_model
from worldgauge.engine.model_run import RunStep
from worldgauge.engine.run import RunPlan, RunRequest, dry_run, execute
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.base import suites

FLOORS = ("freeze", "planar")


class Runner:
    """Runs floors on two loops, and notes what was generated."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.data, self.folder = data, folder
        self.entries = folder / "cache" / "floors"

    def request(self, out: str, **more: Any) -> RunRequest:
        models = more.pop("models", FLOORS)
        return RunRequest("loopnav", models=models, data=self.data, out=self.folder / out, limit=2, **more)

    def run(self, out: str, **more: Any) -> tuple[list[str], list[str]]:
        """Rollouts that were generated, and notes about the cache."""
        steps: list[RunStep] = []
        floor_cache._make_room.cache_clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WORLDGAUGE_CACHE", more.pop("cache", str(self.entries.parent)))
            assert execute(self.request(out, **more), steps.append).ok
        notes = [one.note for one in steps if "Copied, not computed" in one.note]
        return sorted({f"{one.model}/{one.task}" for one in steps if one.status}), notes

    def plans(self, out: str, **more: Any) -> list[RunPlan]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WORLDGAUGE_CACHE", str(self.entries.parent))
            return dry_run(self.request(out, **more))

    def files(self, out: str) -> dict[str, str]:
        """SHA-256 of each file of a run, except run.json, which holds the time and the salt."""
        root = self.folder / out
        return {
            path.relative_to(root).as_posix(): digest_of_file(path)
            for path in sorted(root.rglob("*"))
            if path.is_file() and path.name != "run.json"
        }


@pytest.fixture(scope="module")
def runner(walks: Path, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """With a first run, which has filled the cache."""
    runner = Runner(walks, tmp_path_factory.mktemp("floors"))
    assert not runner.plans("a")[0].cached
    made, notes = runner.run("a")
    assert (len(made), notes) == (4, [])
    assert len(list(runner.entries.iterdir())) == 4
    return runner


def test_a_second_run_copies_the_same_bytes(runner: Runner) -> None:
    assert [plan.cached for plan in runner.plans("b")] == [2, 2]
    told = "Copied, not computed, by tasks: freeze (2), planar (2). --fresh computes them."
    assert runner.run("b") == ([], [told])
    assert runner.files("a") == runner.files("b")
    # In its own folder a run is continued, and nothing is copied.
    assert runner.run("b") == ([], [])


@pytest.mark.parametrize("change", [{"seed": 1}, {"settings": {"stride": 9}}, {"fresh": True}, {"scoring": False}])
def test_what_changes_a_result_is_another_entry(runner: Runner, change: dict[str, Any]) -> None:
    assert [plan.cached for plan in runner.plans("c", **change)] == [0, 0]


def test_other_models_are_not_cached() -> None:
    loopnav = suites.get("loopnav")()
    identity = dict(resolve_model("freeze").identity)
    assert FloorCache.of(loopnav, ModelEntry("freeze", identity, text="freeze")) is not None
    foreign = {**identity, "content": "code of another package"}
    assert FloorCache.of(loopnav, ModelEntry("freeze", foreign, text="freeze")) is None
    tested = dict(resolve_model("drift").identity)
    assert FloorCache.of(loopnav, ModelEntry("drift", tested, text="drift")) is None


def test_without_a_cache_all_is_generated(runner: Runner) -> None:
    entries = len(list(runner.entries.iterdir()))
    assert len(runner.run("off", models=("freeze",), cache="off")[0]) == 2
    # A cache that cannot be written is no error.
    blocked = runner.folder / "blocked"
    blocked.mkdir()
    (blocked / "floors").write_text("a file is in the way")
    assert len(runner.run("blocked-run", models=("freeze",), cache=str(blocked))[0]) == 2
    assert len(list(runner.entries.iterdir())) == entries


def entry_of(entries: Path, model: str, number: int = 0) -> Path:
    found = sorted(one for one in entries.iterdir() if loads((one / "record.json").read_text())["model"] == model)
    return found[number]


def retell(place: Path, change: Callable[[Path], None]) -> None:
    """Change the files of an entry, and let it state their digests."""
    change(place)
    facts = loads((place / "entry.json").read_text())
    facts["files"] = {name: digest_of_file(place / name) for name in facts["files"]}
    (place / "entry.json").unlink()
    (place / "entry.json").write_text(dumps(facts))


def replaced(path: Path, content: bytes) -> None:
    """Write a new file: entries share theirs with runs."""
    path.unlink()
    path.write_bytes(content)


def damaged(entries: Path) -> None:
    """A byte of a video changes."""
    video = entry_of(entries, "freeze") / "rollout.mp4"
    content = bytearray(video.read_bytes())
    content[len(content) // 2] ^= 1
    replaced(video, bytes(content))


def shortened(entries: Path) -> None:
    """The disk was full."""
    place = entry_of(entries, "freeze")
    replaced(place / "scores.json", (place / "scores.json").read_bytes()[:-40])


def without_facts(entries: Path) -> None:
    """A file of no content."""
    replaced(entry_of(entries, "freeze") / "entry.json", b"{")


def of_another_name(entries: Path) -> None:
    """A weak floor takes the place of a strong one, with the keys of that one."""
    strong, weak = entry_of(entries, "planar"), entry_of(entries, "freeze")
    keys = loads((strong / "entry.json").read_text())["line"]
    head = (strong / "scores.json").read_bytes().splitlines()[0]
    record = loads((weak / "record.json").read_text())
    record |= {name: loads((strong / "record.json").read_text())[name] for name in ("key", "task", "fingerprint")}
    lines = (weak / "scores.json").read_bytes().splitlines()
    shutil.rmtree(strong)
    shutil.copytree(weak, strong)

    def change(place: Path) -> None:
        replaced(place / "record.json", dumps({**record, "model": "planar"}).encode())
        replaced(place / "scores.json", b"\n".join([head, *lines[1:], b""]))
        facts = loads((place / "entry.json").read_text())
        replaced(place / "entry.json", dumps({**facts, "line": keys}).encode())

    retell(strong, change)


def of_another_data_set(entries: Path) -> None:
    """The entry of one task stands for another task."""
    one, other = entry_of(entries, "planar", 0), entry_of(entries, "planar", 1)
    line = loads((other / "entry.json").read_text())["line"]
    shutil.rmtree(other)
    shutil.copytree(one, other)
    facts = loads((other / "entry.json").read_text())
    replaced(other / "entry.json", dumps({**facts, "line": line}).encode())


def of_other_settings(entries: Path) -> None:
    """Lower scores are written into the entry, and their file is of other settings."""

    def change(place: Path) -> None:
        head, _, rest = (place / "scores.json").read_bytes().partition(b"\n")
        key = json.loads(head + b"]}")["key"]
        replaced(place / "scores.json", head.replace(key.encode(), b"0" * len(key)) + b"\n" + rest)

    retell(entry_of(entries, "planar"), change)


def copies(runner: Runner, entries: Path, folder: Path) -> dict[str, bool]:
    """Which tasks a new run would take from these entries."""
    taken = {}
    for plan in runner.plans("none"):
        run = RunFolder(folder / plan.label)
        run.create()
        cache = FloorCache(entries, plan.label)
        for planned in plan.items:
            taken[f"{plan.label}/{planned.task.id}"] = cache.take(planned, run) is not None
    return taken


@pytest.mark.parametrize(
    "forge", [damaged, shortened, without_facts, of_another_name, of_another_data_set, of_other_settings]
)
def test_a_damaged_or_forged_entry_is_refused(runner: Runner, tmp_path: Path, forge: Callable[[Path], None]) -> None:
    entries = tmp_path / "entries"
    shutil.copytree(runner.entries, entries)
    assert all(copies(runner, entries, tmp_path / "before").values())
    forge(entries)
    assert sorted(copies(runner, entries, tmp_path / "after").values()) == [False, True, True, True]
    if forge is not without_facts:
        assert len(list(entries.iterdir())) == 3, "it is removed"


def test_a_refused_entry_is_made_again(runner: Runner) -> None:
    damaged(runner.entries)
    made, _ = runner.run("again")
    assert len(made) == 1
    # Times differ where a task ran again.
    again, before = runner.files("again"), runner.files("a")
    assert {one for one in before if again[one] != before[one]} <= {"freeze/journal.jsonl"} | {
        one for one in before if one.endswith("rollout.mp4") and "freeze" in one
    }
    assert runner.run("whole")[0] == []


def test_processes_fill_the_cache_together(runner: Runner, tmp_path: Path) -> None:
    plan = runner.plans("none")[0]
    run, cache = RunFolder(runner.folder / "b" / plan.label), FloorCache(tmp_path / "entries", plan.label)
    lines = [FloorCache(runner.entries, plan.label)._facts(planned)["line"] for planned in plan.items]

    def fill() -> None:
        for planned, line in zip(plan.items, lines, strict=True):
            cache.keep(planned, run, line)

    workers = [threading.Thread(target=fill) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(list((tmp_path / "entries").iterdir())) == 2, "and no unfinished entry is left"
    assert all(cache.holds(planned) for planned in plan.items)


def test_the_oldest_entries_make_room(runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = tmp_path / "entries"
    shutil.copytree(runner.entries, entries)
    most = sum(path.stat().st_size for path in entries.rglob("*.*"))
    monkeypatch.setenv("WORLDGAUGE_CACHE_GB", str(most / 1e9))
    floor_cache._make_room.cache_clear()
    floor_cache._make_room(entries)
    assert 0 < len(list(entries.iterdir())) < 4


def test_floors_run_by_default_where_a_suite_claims_something() -> None:
    for entry in suites:
        kind = entry.load()
        if kind.__module__.startswith("worldgauge."):
            by_default = _baselines(kind.name, None)
            assert kind.floor_baselines, kind.name
            assert set(kind.floor_baselines) <= set(by_default.values())
            assert _baselines(kind.name, False) == {}
    # A person would have to act with each of them.
    assert list(_baselines("worldinworld", None, {"proposer": "person", "task": "navigation"})) == ["none"]
