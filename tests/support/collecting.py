"""What holds for the collection of every suite: a suite's tests subclass `CollectionTests`."""

import errno
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.core.errors import DataError, RunError, UnknownNameError, UsageError
from worldgauge.engine.collect import Collected, collect

SCRIPT = """
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    collect({name!r}, Path(sys.argv[1]), **{options!r}, workers=2)
"""


def full_disk(*_: Any, **__: Any) -> None:
    """What a writer does that finds no room."""
    raise DataError("cannot be written") from OSError(errno.ENOSPC, "No space left on device")


class CollectionTests:
    """Tests with the fixture `collected`: folder and result of the options `small`.

    Attributes:
        renders: What a second call must not use: an object and the name of its attribute.
        writes: What finds the disk full: a module and the name of its function.
        other: Options that another folder is needed for.
        bad: Options that are refused -> words of the error.
        foreign: What is said of a folder whose manifest is that of something else.
    """

    name: ClassVar[str]
    small: ClassVar[Mapping[str, Any]]
    renders: ClassVar[tuple[Any, str]]
    writes: ClassVar[tuple[Any, str]]
    other: ClassVar[Sequence[Mapping[str, Any]]]
    bad: ClassVar[Sequence[tuple[Mapping[str, Any], str]]]
    foreign: ClassVar[str] = "holds other data"

    def test_any_number_of_workers_gives_the_same_files(
        self, collected: tuple[Path, Collected], tmp_path: Path
    ) -> None:
        root, result = collected
        seen: list[Any] = []
        parallel = collect(self.name, tmp_path, **self.small, workers=2, progress=seen.append)
        assert contents(tmp_path) == contents(root)
        assert (parallel.frames, parallel.discarded) == (result.frames, result.discarded)
        assert [(step.done, step.total) for step in seen] == [(n + 1, result.items) for n in range(result.items)]

    def test_a_second_call_renders_nothing_and_changes_nothing(
        self, collected: tuple[Path, Collected], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root, result = collected
        before = contents(root)
        monkeypatch.setattr(*self.renders, lambda *a, **k: pytest.fail("made again"))
        assert collect(self.name, root, **self.small) == result
        assert contents(root) == before

    def test_other_options_are_refused_in_the_same_folder(self, collected: tuple[Path, Collected]) -> None:
        for change in self.other:
            with pytest.raises(RunError, match=next(iter(change))):
                collect(self.name, collected[0], **{**self.small, **change})

    def test_options_that_are_not_allowed_are_refused(self, tmp_path: Path) -> None:
        for change, words in self.bad:
            with pytest.raises((UsageError, UnknownNameError), match=words or next(iter(change))):
                collect(self.name, tmp_path, **{**self.small, **change})
        assert not list(tmp_path.iterdir())

    def test_a_full_disk_ends_the_collection(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(*self.writes, full_disk)
        with pytest.raises(RunError, match="cannot be written; make room, then start the same command again"):
            collect(self.name, tmp_path, **self.small)

    def test_a_folder_with_other_data_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "worldgauge.json").write_text(json.dumps({"format": "other", "settings": {}, "worlds": {}}))
        with pytest.raises((RunError, DataError), match=self.foreign):
            collect(self.name, tmp_path, **self.small)
        assert [path.name for path in tmp_path.iterdir()] == ["worldgauge.json"]

    def killed_and_called_again(self, collected: tuple[Path, Collected], out: Path, sight: str) -> None:
        """Kill -9 when a file of this form is seen; the next call gives the same bytes."""
        kill_when_seen(SCRIPT.format(name=self.name, options=dict(self.small)), out, sight)
        assert len(contents(out)) < len(contents(collected[0]))
        collect(self.name, out, **self.small)
        assert contents(out) == contents(collected[0])
