"""The small data set of a probe: declared by its suite, made once, shared by processes."""

import threading
from pathlib import Path
from typing import Any

import pytest

from worldgauge.core.errors import RunError, UsageError
from worldgauge.engine import probe as data
from worldgauge.engine.collect import Collected, open_collection
from worldgauge.engine.open_suite import open_suite
from worldgauge.suites import suites

FOR_MODELS = sorted(entry.name for entry in suites if suites.get(entry.name).answerer_kind == "model")
TASKS = 8


def declares(name: str) -> bool:
    try:
        return bool(suites.get(name).probe_options(TASKS))
    except UsageError:
        return False


DECLARED = [name for name in FOR_MODELS if declares(name)]


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("tasks", [1, TASKS])
def test_declared_set_holds_the_tasks(name: str, tasks: int, tmp_path: Path) -> None:
    collection = open_collection(name, tmp_path, suites.get(name).probe_options(tasks))
    assert tasks <= collection.expected() <= tasks + 1


class Collecting:
    """Stands for the collection: counts, and writes what it was asked for."""

    def __init__(self, items: int = 1) -> None:
        self.calls, self.items = [], items

    def __call__(self, name: str, out: Path, *, workers: int, **options: Any) -> Collected:
        self.calls.append(out)
        out.mkdir(parents=True, exist_ok=True)
        threading.Event().wait(0.1)  # the others come meanwhile
        (out / "item").write_text(str(options))
        return Collected(out, self.items, 1, {}, () if self.items else ("item: no room to walk",))


@pytest.fixture
def collecting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collecting:
    fake = Collecting()
    monkeypatch.setattr(data, "collect", fake)
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))
    return fake


def test_four_at_once_make_one_set(collecting: Collecting) -> None:
    suite = open_suite(DECLARED[0], {})
    found: list[Path] = []

    def look() -> None:
        folder = data.small_data_set(suite, TASKS)
        found.extend([folder] if (folder / "item").exists() else [])

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == len(collecting.calls) == 1


def test_other_options_are_another_set(collecting: Collecting) -> None:
    suite = open_suite(DECLARED[0], {})
    assert data.small_data_set(suite, 2) != data.small_data_set(suite, 4)
    assert len(collecting.calls) == 2


def test_what_was_stopped_goes_on_where_it_was(collecting: Collecting, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = open_suite(DECLARED[0], {})

    def stopped(name: str, out: Path, **options: Any) -> Collected:
        out.mkdir(parents=True)
        (out / "half").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(data, "collect", stopped)
        with pytest.raises(KeyboardInterrupt):
            data.small_data_set(suite, TASKS)
    folder = data.small_data_set(suite, TASKS)
    assert sorted(path.name for path in folder.iterdir()) == ["half", "item"]


def test_set_of_nothing_is_refused(collecting: Collecting) -> None:
    collecting.items = 0
    with pytest.raises(RunError, match=f"no data for a probe of '{DECLARED[0]}': item: no room to walk"):
        data.small_data_set(open_suite(DECLARED[0], {}), TASKS)


def test_cache_that_is_off_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    with pytest.raises(UsageError, match=r"WORLDGAUGE_CACHE is off.* give the folder of a data set"):
        data.small_data_set(open_suite(DECLARED[0], {}), TASKS)


def test_cache_that_is_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").touch()
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UsageError, match=r"cannot be written .*WORLDGAUGE_CACHE, or give the folder of a data set"):
        data.small_data_set(open_suite(DECLARED[0], {}), TASKS)
