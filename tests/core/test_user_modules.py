"""What a user names by its file is found by its name later, and nothing that data or runs say is run."""

import json
from pathlib import Path

import pytest

from worldgauge.core import user_modules
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.user_modules import import_file, module_digest, recall, remember
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.suite.base import suites
from worldgauge.worlds import open_world


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config" / "named.json"


def test_the_last_file_of_a_name_counts_and_kinds_are_apart(config: Path) -> None:
    remember("world", "spin", "one.py:World")
    remember("suite", "spin", "two.py:Spin")
    remember("suite", "spin", "three.py:Spin")
    assert recall("suite", "spin") == recall("collection", "spin") == f"{Path.cwd() / 'three.py'}:Spin"
    assert recall("world", "spin") == f"{Path.cwd() / 'one.py'}:World"
    assert recall("metric", "spin") is None


def test_a_file_that_is_gone_is_one_line(config: Path) -> None:
    remember("suite", "gone", "gone.py:Gone")
    with pytest.raises(UsageError, match=r"gone\.py: cannot be read"):
        suites.entry("gone")


def test_a_damaged_note_is_one_line(config: Path) -> None:
    config.parent.mkdir()
    config.write_text("[")
    with pytest.raises(DataError, match=r"named\.json"):
        recall("suite", "gone")
    config.write_text(json.dumps({"suite": {"gone": 3}, "world": 3}))
    with pytest.raises(UnknownNameError):
        suites.entry("gone")


def test_a_note_that_cannot_be_written_is_one_line(config: Path) -> None:
    config.parent.write_text("no folder")
    with pytest.raises(UsageError, match="set WORLDGAUGE_CONFIG to a folder"):
        remember("suite", "spin", "spin.py:Spin")


def test_a_path_in_data_or_a_run_is_never_run(config: Path) -> None:
    """Only words of the user name a file; a world or suite that data state is looked up by name alone."""
    Path("evil.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(UnknownNameError):
        open_world(WorldFacts("./evil.py:Evil", {}, None))
    with pytest.raises(UnknownNameError):
        open_suite("./evil.py:Evil", {})
    assert not config.exists()


def test_the_code_of_the_project_is_no_code_of_the_user(tmp_path: Path) -> None:
    for folder in ("worldgauge_train", "mine"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text("LEVEL = 1\n")
    assert not user_modules._digests(str(tmp_path / "worldgauge_train" / "net.py"))
    assert user_modules._digests(str(tmp_path / "mine" / "net.py"))


def test_a_copy_of_a_file_that_is_gone_is_imported_again(tmp_path: Path) -> None:
    copies = [tmp_path / name / "twice.py" for name in ("first", "second")]
    for copy in copies:
        copy.parent.mkdir()
        copy.write_text("VALUE = 1\n")
    import_file(copies[0], "model")
    copies[0].unlink()
    module, found = import_file(copies[1], "model")
    assert module.__file__ == str(copies[1])
    assert found == f"sha256:{module_digest(module)}"
