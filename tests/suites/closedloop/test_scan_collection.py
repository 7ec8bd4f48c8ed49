"""Navigation, recognition and questions collected in scans."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from support.commands import command
from support.scan_tree import HM3D_KEY, make_hm3d, make_hm3d_home
from worldgauge.suites.closedloop.format import check
from worldgauge.suites.closedloop.home_env import things_of
from worldgauge.suites.closedloop.questions.episodes import HIDDEN_SHARE, seen_share
from worldgauge.suites.closedloop.questions.templates import OF_BOXES, read_question
from worldgauge.suites.closedloop.recognition.episodes import VisibilityMeter, difficulty_of
from worldgauge.suites.closedloop.task import Settings
from worldgauge.suites.closedloop.task_index import open_task, tasks
from worldgauge.worlds.export import export_starter
from worldgauge.worlds.scan import Scan, sources
from worldgauge.worlds.walking.floor import Landmark
from worldgauge.worlds.walking.primitives import Stance

COLLECT = ("collect", "closedloop", "--world", "scan", "--size", "64x36")
NAVIGATION = (*COLLECT, "--recognition", "0", "--questions", "0", "--navigation")


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WORLDGAUGE_SCENES", raising=False)
    make_hm3d(tmp_path / "hm3d")
    sources.add("hm3d", tmp_path / "hm3d")


def test_navigation_is_collected_on_all_storeys(tmp_path: Path) -> None:
    key = f"hm3d/{HM3D_KEY}"
    done = command(tmp_path, *NAVIGATION, "4", "--scenes", key, "--out", "d", columns=200)
    assert done.returncode == 0, done.stderr
    assert "not collected in scans, but in homes: manipulation" in done.stderr
    manifest = json.loads((tmp_path / "d" / "worldgauge.json").read_text())
    assert manifest["settings"]["floor"] == "navmesh"
    assert "Matterport" in manifest["settings"]["licence"]
    assert manifest["worlds"][key.replace("/", "_")]["params"] == {"scene": key}
    assert str(tmp_path) not in (tmp_path / "d" / "worldgauge.json").read_text()
    told = check.check(tmp_path / "d", decode=True)
    assert not [one for one in told.findings if one.severity in ("error", "warning")]
    for task in tasks(tmp_path / "d", Settings.of({})):
        opened = open_task(task, Settings.of({"view_px": 32, "panorama_px": 64}))
        env, episode = opened.make_env(), opened.episode
        assert not env.ground.sliding, "only published episodes slide"
        steps = env.ground.steps_to(episode.start, episode.goal.at, episode.radius_m)
        assert len(steps) == episode.step_to_goal


def test_folders_give_the_scenes_of_the_split(tmp_path: Path) -> None:
    done = command(tmp_path, *NAVIGATION, "1", "--scenes", "hm3d", "--out", "d", columns=200)
    assert done.returncode == 2
    assert f"no scene of 'hm3d' is in split test (hm3d/{HM3D_KEY} val)" in done.stderr
    for wrong in (("--scenes", "3"), ()):
        done = command(tmp_path, *NAVIGATION, "1", *wrong, "--out", "d", columns=200)
        assert done.returncode == 2
        assert "go together" in done.stderr


def test_how_well_a_thing_of_a_scan_is_seen() -> None:
    scan = Scan("example/room")
    picture = next(one for one in scan.landmarks if one.category == "picture")
    meter = VisibilityMeter(scan, picture.instance)
    near = [_facing(picture, metres) for metres in (1.5, 3.0)]
    seen = [meter.see(stance) for stance in near]
    assert all(one.visible > 0.95 for one in seen), "nothing stands before it"
    assert seen[0].size > 3 * seen[1].size
    assert meter.see(near[0].turned(np.pi)).visible == 0
    half = meter.see(near[0].turned(np.radians(45.0)))
    assert 0.3 < half.visible < 0.7, "the border cuts through it"


def test_what_a_scan_does_not_tell_is_not_guessed() -> None:
    scan = Scan("example/room")
    for one, known in zip(scan.landmarks, things_of(scan), strict=True):
        assert (known.instance, known.name, known.low) == (one.instance, one.category, one.low)
        assert known.room == known.colour == known.state == ""
    for form in OF_BOXES:
        assert all("" not in slots.values() for slots in form.drafts(things_of(scan)))


@pytest.mark.slow
def test_recognition_and_questions_in_a_home_as_a_scan(tmp_path: Path) -> None:
    export_starter(tmp_path / "scans")
    sources.add("homes", tmp_path / "scans")
    counts = ("--navigation", "1", "--recognition", "2", "--questions", "2", "--manipulation", "0")
    done = command(tmp_path, *COLLECT, *counts, "--scenes", "homes/home-1,homes/home-2", "--out", "d", columns=200)
    assert done.returncode == 0, done.stderr
    told = check.check(tmp_path / "d", decode=True)
    assert not [one for one in told.findings if one.severity == "error"]
    kinds = []
    settings = Settings.of({"view_px": 96, "panorama_px": 64})
    for task in tasks(tmp_path / "d", settings):
        opened = open_task(task, settings)
        env, episode = opened.make_env(), opened.episode
        kinds.append(opened.name)
        if opened.name == "recognition":
            assert env.things[episode.target].category == episode.category
            sight = VisibilityMeter(env.world, episode.target, episode.start.z).see(episode.start)
            assert difficulty_of(sight) == episode.difficulty
            assert env.sight(episode.start).box is not None
        elif opened.name == "questions":
            form, slots = read_question(episode.question)
            assert form.answer(slots, list(env.things.values())).text == episode.answer
            here = [seen_share(env.world, episode.start, env.things[n]) for n in episode.evidence]
            assert max(here) < HIDDEN_SHARE, "it is out of sight where it is asked"
    assert kinds.count("recognition") == 2
    assert "questions" in kinds


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_names_in_a_mesh_of_their_own_become_recognition_that_references_play(tmp_path: Path) -> None:
    make_hm3d_home(tmp_path / "named")
    sources.add("named", tmp_path / "named")
    counts = ("--navigation", "0", "--recognition", "2", "--questions", "0", "--manipulation", "0")
    done = command(tmp_path, *COLLECT, *counts, "--scenes", f"named/{HM3D_KEY}", "--out", "d", columns=200)
    assert done.returncode == 0, done.stderr
    models = ("--model", "oracle", "--model", "freeze", "--no-references")
    smaller = ("--set", "view_px=64", "--set", "panorama_px=64", "--set", "decisions=2")
    done = command(tmp_path, "run", "closedloop", "--data", "d", *models, *smaller, "--out", "r")
    assert done.returncode == 0, done.stderr
    for model in ("oracle", "freeze"):
        scores = [json.loads(row) for row in (tmp_path / "r" / model / "scores.jsonl").read_text().splitlines()]
        regrets = [one for one in scores if one["metric"].endswith("decision_regret")]
        assert len(regrets) == 2
        assert any(one["value"] is not None and 0 <= one["value"] <= 1 for one in regrets), regrets
    done = command(tmp_path, "report", "r", "--out", "page")
    assert done.returncode == 0, done.stderr
    assert "recognition" in (tmp_path / "page" / "index.html").read_text()


def _facing(thing: Landmark, metres: float) -> Stance:
    x, y, _ = thing.centre
    return Stance(float(x) - metres, float(y), 0.0)
