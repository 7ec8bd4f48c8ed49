"""Which home holds which episodes, and collecting them."""

import errno
import json
import os
import shutil
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.geometry import Panorama
from worldgauge.engine import collection as base
from worldgauge.engine.collect import Collected, collect, count
from worldgauge.suites.worldinworld import collection as closedloop
from worldgauge.suites.worldinworld import sampling as home
from worldgauge.suites.worldinworld.format.check import check
from worldgauge.suites.worldinworld.format.load import load
from worldgauge.suites.worldinworld.navigation.episodes import BANDS, NavigationSampler, bands
from worldgauge.suites.worldinworld.navigation.format import goal_image
from worldgauge.suites.worldinworld.recognition import episodes as sampler
from worldgauge.suites.worldinworld.recognition.episodes import RecognitionSampler, wishes
from worldgauge.suites.worldinworld.sampling import home_shares
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.homes import LABELS, world_of
from worldgauge.worlds.walking.geodesic import Geodesic

PUBLISHED = {"scenes": 60, "recognition": 551, "navigation": 144, "questions": 184, "split": "test", "seed": 42}


def test_published_counts_spread_evenly_over_sixty_homes() -> None:
    found = list(home_shares(PUBLISHED))
    assert [one.scene for one in found[:2]] == ["home-test-0000", "home-test-0001"]
    assert len({one.scene for one in found}) == 60
    for kind, least in (("recognition", 9), ("navigation", 2)):
        numbers = sorted(number for one in found for number in one.numbers(kind))
        assert numbers == list(range(PUBLISHED[kind]))
        assert {len(one.numbers(kind)) for one in found} == {least, least + 1}


def test_labels_and_difficulties_are_balanced() -> None:
    asked = [wish for one in home_shares(PUBLISHED) for wish in wishes(one)]
    assert len(asked) == 551
    labels = Counter(wish.category for wish in asked)
    assert set(labels) == set(LABELS)
    assert max(labels.values()) - min(labels.values()) <= 1
    levels = Counter(wish.difficulty for wish in asked)
    assert max(levels.values()) - min(levels.values()) <= 2
    for one in home_shares(PUBLISHED):
        assert {wish.difficulty for wish in wishes(one)} == {0, 1, 2}


def test_all_lengths_are_equally_often() -> None:
    quarters = Counter(band for one in home_shares(PUBLISHED) for band in bands(one))
    assert set(quarters) == set(range(BANDS))
    assert max(quarters.values()) - min(quarters.values()) <= 12


def test_more_episodes_do_not_change_those_that_are_there() -> None:
    few = list(home_shares({**PUBLISHED, "recognition": 90, "navigation": 70}))
    for less, more in zip(few, home_shares(PUBLISHED), strict=True):
        assert list(wishes(more))[: less.counts["recognition"]] == list(wishes(less))
        assert bands(more)[: less.counts["navigation"]] == bands(less)
        assert list(less.numbers("navigation")) == list(more.numbers("navigation"))[: less.counts["navigation"]]


def test_few_episodes_need_few_homes() -> None:
    few = list(home_shares({**PUBLISHED, "recognition": 4, "navigation": 1, "questions": 0}))
    assert [dict(one.counts) for one in few] == [{"recognition": 1, "navigation": int(home == 0)} for home in range(4)]


def test_seed_split_home_and_kind_all_change_the_dice() -> None:
    first = next(home_shares(PUBLISHED))
    second = list(home_shares(PUBLISHED))[1]
    others = [next(home_shares({**PUBLISHED, **change})) for change in ({"seed": 1}, {"split": "val"})]
    drawn = [share.rng("recognition").random() for share in (first, second, *others)]
    assert (len({*drawn, first.rng("navigation").random()}), first.rng("recognition").random()) == (5, drawn[0])


def test_names() -> None:
    assert [sampler.id_of({"number": 7}) for sampler in (RecognitionSampler(), NavigationSampler())] == [
        "7",
        "goal-0007",
    ]


SMALL = {
    **{"scenes": 2, "recognition": 3, "navigation": 2, "questions": 2, "manipulation": 0},
    **{"size": (128, 64), "split": "val"},
}


SCENES = ["home-val-0000", "home-val-0001"]


SCRIPT = """
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    collect(
        "worldinworld", Path(sys.argv[1]), scenes=2, recognition=3, navigation=2, questions=2, manipulation=0,
        size=(128, 64), split="val", workers=2,
    )
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    root = tmp_path_factory.mktemp("collected")
    return root, collect("worldinworld", root, **SMALL)


@cache
def rooms_of(number: int) -> int:
    return len(open_world(world_of(f"home-val-{number:04d}")).plan.rooms)


def test_the_published_files_hold_what_was_asked_for(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    assert (result.items, result.frames, result.failures) == (7, 2, ())
    data = load(root)
    assert data.faults == ()
    assert [one.id for one in data.episodes["recognition"]] == ["0", "1", "2"]
    assert [one.id for one in data.episodes["navigation"]] == ["goal-0000", "goal-0001"]
    assert [one.id for one in data.episodes["questions"]] == ["question-0000", "question-0001"]
    for kind in (data.episodes["recognition"], data.episodes["navigation"]):
        assert [one.scene for one in kind] == (SCENES * 2)[: len(kind)]
    for part, one in enumerate(data.episodes["questions"]):
        # Of every second home from the part's number on, the first with seven rooms.
        homes = [number for number in range(part, 40, 2) if rooms_of(number) >= 7]
        assert one.scene == f"home-val-{homes[0]:04d}"
    report = check(root, decode=True)
    assert (report.n_episodes, report.n_valid, report.n_frames) == (7, 7, 2)
    assert not [finding for finding in report.findings if finding.severity == "error"]


def test_the_episodes_are_those_of_the_homes(collected: tuple[Path, Collected]) -> None:
    data = load(collected[0])
    for one in data.episodes["recognition"]:
        home = open_world(data.scenes[one.scene])
        assert home.objects[one.target - 1].category == one.category
    for one in data.episodes["navigation"]:
        home = open_world(data.scenes[one.scene])
        seen = home.view(one.goal.eye(one.height_m), Panorama(128, 64)).rgb
        np.testing.assert_array_equal(goal_image(one), seen)
        steps = Geodesic(home.floor).steps_to(one.start, one.goal[:2], one.radius_m)
        assert steps is not None
        assert len(steps) == one.step_to_goal


def test_the_manifest_says_how_and_where(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert (manifest["format"], manifest["settings"]["discarded"]) == ("closedloop", dict(result.discarded))
    assert set(SCENES) <= set(manifest["worlds"])
    assert manifest["worlds"][SCENES[1]]["params"]["seed"] - manifest["worlds"][SCENES[0]]["params"]["seed"] == 1
    assert manifest["camera"]["goal_image"]["size"] == [128, 64]


def test_any_number_of_workers_gives_the_same_files(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    root, result = collected
    seen = []
    parallel = collect("worldinworld", tmp_path, **SMALL, workers=2, progress=seen.append)
    assert contents(tmp_path) == contents(root)
    assert (parallel.frames, parallel.discarded) == (result.frames, result.discarded)
    assert ({step.total for step in seen}, seen[-1].done) == ({7}, 7)


def test_a_second_call_searches_nothing_and_changes_nothing(collected, monkeypatch):
    root, result = collected
    before = contents(root)
    monkeypatch.setattr(home.HomeShare, "find", lambda *a, **k: pytest.fail("found again"))
    assert (collect("worldinworld", root, **SMALL), contents(root)) == (result, before)


@pytest.mark.slow
@pytest.mark.parametrize("sight", ["parts/*/*.png", "parts/*.json"])
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(collected, tmp_path, sight):
    """Kill -9 as soon as a picture is begun, or as soon as one home is done and the other is not."""
    root, _ = collected
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, sight)
    assert len(contents(out)) < len(contents(root))
    collect("worldinworld", out, **SMALL)
    assert contents(out) == contents(root)


def test_more_can_be_collected_into_the_same_folder_but_not_less(tmp_path: Path) -> None:
    few = {**SMALL, "questions": 0, "recognition": 1, "navigation": 1}
    collect("worldinworld", tmp_path, **few)
    before = load(tmp_path)
    collect("worldinworld", tmp_path, **{**few, "recognition": 3, "navigation": 2})
    after = load(tmp_path)
    assert (len(after), after.episodes["recognition"][:1]) == (5, before.episodes["recognition"])
    assert after.episodes["navigation"][:1] == before.episodes["navigation"]
    with pytest.raises(RunError, match="has 3 recognition, not 2"):
        collect("worldinworld", tmp_path, **{**few, "recognition": 2, "navigation": 2})


def test_only_kinds_with_a_number_are_written(tmp_path: Path) -> None:
    result = collect("worldinworld", tmp_path, **{**SMALL, "recognition": 0, "navigation": 1, "questions": 0})
    assert result.items == 1
    assert {path.name for path in tmp_path.iterdir()} == {"navigation", "parts", "worldgauge.json"}


@pytest.mark.parametrize("change", [{"seed": 1}, {"split": "test"}, {"scenes": 3}, {"size": (64, 32)}])
def test_what_does_not_fit_to_what_is_there_is_refused(collected, change):
    with pytest.raises(RunError, match=next(iter(change))):
        collect("worldinworld", collected[0], **{**SMALL, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"scenes": 0},
        {"recognition": -1},
        {"recognition": 0, "navigation": 0, "questions": 0},
        {"split": "tset"},
        {"seed": -1},
        {"size": (8, 4)},
    ],
)
def test_options_out_of_range_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(change))):
        collect("worldinworld", tmp_path, **{**SMALL, **change})
    assert not list(tmp_path.iterdir())


def test_a_home_that_gives_too_little_is_reported_and_the_rest_is_written(tmp_path, monkeypatch):
    find = sampler.recognitions
    monkeypatch.setattr(sampler, "recognitions", lambda *given: list(find(*given))[:1])
    result = collect("worldinworld", tmp_path, **{**SMALL, "questions": 0})
    assert result.failures == ("home-val-0000: only 1 of 2 recognition found",)
    assert (result.items, [one.id for one in load(tmp_path).episodes["recognition"]]) == (4, ["0", "1"])
    again = collect("worldinworld", tmp_path, **{**SMALL, "questions": 0})
    assert again == result


@pytest.mark.parametrize("where", ["write_manifest", "write_part", "publish"])
def test_a_full_disk_ends_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def full(*args):
        raise DataError("cannot be written") from OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(base if where == "write_manifest" else closedloop, where, full)
    with pytest.raises(RunError, match="make room, then start the same command again"):
        collect("worldinworld", tmp_path, **{**SMALL, "recognition": 0, "questions": 0})


def test_a_folder_with_other_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "worldgauge.json").write_text(json.dumps({"format": "loopnav", "settings": {}}))
    with pytest.raises(RunError, match="holds other data"):
        collect("worldinworld", tmp_path, **SMALL)


def test_lost_pictures_are_taken_again(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    shutil.copytree(collected[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "navigation/goal_images.zip").write_bytes(b"damaged")
    assert count("worldinworld", tmp_path, **SMALL) == (7, 2), "those without pictures"
    collect("worldinworld", tmp_path, **SMALL)
    assert contents(tmp_path) == contents(collected[0])


def test_pictures_are_kept_once(collected: tuple[Path, Collected]) -> None:
    assert not list(collected[0].rglob("*.png"))


def test_counting_says_what_is_there(collected: tuple[Path, Collected], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "open_world", lambda facts: pytest.fail("a world was built"))
    before = contents(collected[0])
    assert count("worldinworld", collected[0], **SMALL) == (7, 7)
    # Home 0 has one more to find; it counts as still to be done, home 1 and the questions as done.
    assert count("worldinworld", collected[0], **{**SMALL, "navigation": 3}) == (8, 4)
    assert contents(collected[0]) == before
