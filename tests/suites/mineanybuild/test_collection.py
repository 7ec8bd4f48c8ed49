"""Collecting the build suite's data: the same bytes for any number of workers, kill -9, what stays when it grows."""

import errno
from pathlib import Path

import pytest

from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.engine.collect import Collected, collect, count
from worldgauge.suites.mineanybuild import collection
from worldgauge.suites.mineanybuild.format import KINDS
from worldgauge.suites.mineanybuild.format_reader import load
from worldgauge.suites.mineanybuild.format_statistics import check

SMALL = {"structures": 3, "stimuli": 1, "commonsense": 2, "views": "yaw", "size_px": 64, "seed": 3}
SCRIPT = f"""
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    collect("mineanybuild", Path(sys.argv[1]), workers=2, **{SMALL!r})
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    root = tmp_path_factory.mktemp("collected")
    return root, collect("mineanybuild", root, **SMALL)


def test_all_five_kinds_are_there_and_valid(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    assert (result.items, result.failures) == (6, ())
    report = check(root, decode=True)
    assert [(row.kind, row.usable) for row in report.rows] == list(zip(KINDS, (6, 3, 9, 36, 2), strict=True))
    assert not [finding for finding in report.findings if finding.severity != "info"], report.findings
    pictures = [path for path in contents(root) if path.endswith(".png")]
    assert len(pictures) == result.frames


def test_any_number_of_workers_gives_the_same_bytes(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    root, result = collected
    seen = []
    assert collect("mineanybuild", tmp_path, **SMALL, workers=2, progress=seen.append).frames == result.frames
    assert contents(tmp_path) == contents(root)
    assert (seen[-1].done, seen[-1].total) == (6, 6)


def test_a_second_call_draws_nothing_and_changes_nothing(
    collected: tuple[Path, Collected], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, result = collected
    before = contents(root)
    monkeypatch.setattr(collection, "write_image", lambda *arguments: pytest.fail("drawn again"))
    assert collect("mineanybuild", root, **SMALL) == result
    assert contents(root) == before
    assert count("mineanybuild", root, **SMALL) == (6, 6)


@pytest.mark.slow
@pytest.mark.parametrize("sight", ["data/images/*/*.png", "data/images/reasoning/*.png"])
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(
    collected: tuple[Path, Collected], tmp_path: Path, sight: str
) -> None:
    root, _ = collected
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, sight)
    assert len(contents(out)) < len(contents(root))
    assert not (out / "task").exists()
    collect("mineanybuild", out, **SMALL)
    assert contents(out) == contents(root)


def test_more_builds_and_rooms_can_be_added_but_none_taken_away(tmp_path: Path) -> None:
    few = {**SMALL, "structures": 1, "stimuli": 0, "commonsense": 0}
    collect("mineanybuild", tmp_path, **few)
    before = load(tmp_path)
    assert count("mineanybuild", tmp_path, **{**few, "structures": 3}) == (3, 1)
    collect("mineanybuild", tmp_path, **{**few, "structures": 3})
    after = load(tmp_path)
    assert len(after.architectures) == 3
    assert set(before.architectures) < set(after.architectures)
    assert set(before.tasks["planning"]) < set(after.tasks["planning"])
    with pytest.raises(RunError, match="has 3 structures, not 2"):
        collect("mineanybuild", tmp_path, **{**few, "structures": 2})


@pytest.mark.parametrize("change", [{"seed": 4}, {"stimuli": 2}, {"views": "full"}, {"size_px": 65}])
def test_what_does_not_fit_to_what_is_there_is_refused(
    collected: tuple[Path, Collected], change: dict[str, object]
) -> None:
    with pytest.raises(RunError, match=next(iter(change))):
        collect("mineanybuild", collected[0], **{**SMALL, **change})


NOTHING = {"structures": 0, "stimuli": 0, "commonsense": 0}


@pytest.mark.parametrize(
    "change", [{"structures": -1}, {"structures": 10_000}, NOTHING, {"views": "sideways"}, {"size_px": 8}, {"seed": -1}]
)
def test_options_out_of_range_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(change))):
        collect("mineanybuild", tmp_path, **{**SMALL, **change})
    assert not list(tmp_path.iterdir())


def test_a_full_disk_ends_it_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise DataError("no room") from OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(collection, "write_image", full)
    with pytest.raises(RunError, match="make room, then start the same command again"):
        collect("mineanybuild", tmp_path, **{**SMALL, "structures": 1, "stimuli": 0, "commonsense": 0})


def test_a_change_of_the_generators_is_noticed(collected: tuple[Path, Collected]) -> None:
    """Rows of the data set: builds, instructions, figures, questions and answers. Pictures are left out."""
    found = contents(collected[0])
    pinned = {
        "data/architectures.json": "79a24a555fbce6c0",
        "task/Task_Spatial_Planning.json": "6d1eb4cb9232ca15",
        "task/Task_Spatial_Reasoning.json": "88318bca3ecaa877",
        "task/Task_Spatial_Commonsense.json": "1f4cf5ac70f2798d",
    }
    assert {name: found[name][:16] for name in pinned} == pinned
