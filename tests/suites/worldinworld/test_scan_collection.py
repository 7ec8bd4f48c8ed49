"""Collecting in scans, and running there."""

import json
import math
import shutil
import statistics
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.closedloop_data import write_json
from support.commands import command
from support.scan_tree import BED, CHAIR, HM3D_KEY, MP3D_KEY, make_hm3d, make_hm3d_home, make_mp3d, vectors
from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.geometry import Panorama
from worldgauge.core.image import png
from worldgauge.engine.run import run
from worldgauge.suites.worldinworld.format import check
from worldgauge.suites.worldinworld.format.files import published_world
from worldgauge.suites.worldinworld.format.load import load
from worldgauge.suites.worldinworld.format.rows import habitat_rotation, our_point
from worldgauge.suites.worldinworld.home_env import things_of
from worldgauge.suites.worldinworld.questions.episodes import HIDDEN_SHARE, seen_share
from worldgauge.suites.worldinworld.questions.templates import OF_BOXES, read_question
from worldgauge.suites.worldinworld.recognition.episodes import VisibilityMeter, difficulty_of
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.suites.worldinworld.task_index import open_task, tasks
from worldgauge.tools.goal_pictures import LEAST_DB, compare_goals
from worldgauge.worlds.export import export_starter
from worldgauge.worlds.scan import Scan, sources
from worldgauge.worlds.scan.prepared import ScanOptions
from worldgauge.worlds.walking.floor import Landmark
from worldgauge.worlds.walking.primitives import Stance

COLLECT = ("collect", "worldinworld", "--world", "scan", "--size", "64x36")


NAVIGATION = (*COLLECT, "--recognition", "0", "--questions", "0", "--navigation")


@pytest.fixture
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WORLDGAUGE_SCENES", raising=False)
    make_hm3d(tmp_path / "hm3d")
    sources.add("hm3d", tmp_path / "hm3d")


@pytest.mark.usefixtures("_places")
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
    for task in tasks(tmp_path / "d", LoopSettings.of({})):
        opened = open_task(task, LoopSettings.of({"view_px": 32, "panorama_px": 64}))
        env, episode = opened.make_env(), opened.episode
        assert not env.ground.sliding, "only published episodes slide"
        steps = env.ground.steps_to(episode.start, episode.goal.at, episode.radius_m)
        assert len(steps) == episode.step_to_goal


@pytest.mark.usefixtures("_places")
def test_folders_give_the_scenes_of_the_split(tmp_path: Path) -> None:
    done = command(tmp_path, *NAVIGATION, "1", "--scenes", "hm3d", "--out", "d", columns=200)
    assert done.returncode == 2
    assert f"no scene of 'hm3d' is in split test (hm3d/{HM3D_KEY} val)" in done.stderr
    for wrong in (("--scenes", "3"), ()):
        done = command(tmp_path, *NAVIGATION, "1", *wrong, "--out", "d", columns=200)
        assert done.returncode == 2
        assert "go together" in done.stderr


@pytest.mark.usefixtures("_places")
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


@pytest.mark.usefixtures("_places")
def test_what_a_scan_does_not_tell_is_not_guessed() -> None:
    scan = Scan("example/room")
    for one, known in zip(scan.landmarks, things_of(scan), strict=True):
        assert (known.instance, known.name, known.low) == (one.instance, one.category, one.low)
        assert known.room == known.colour == known.state == ""
    for form in OF_BOXES:
        assert all("" not in slots.values() for slots in form.drafts(things_of(scan)))


@pytest.mark.slow
@pytest.mark.usefixtures("_places")
def test_recognition_and_questions_in_a_home_as_a_scan(tmp_path: Path) -> None:
    export_starter(tmp_path / "scans")
    sources.add("homes", tmp_path / "scans")
    counts = ("--navigation", "1", "--recognition", "2", "--questions", "2", "--manipulation", "0")
    done = command(tmp_path, *COLLECT, *counts, "--scenes", "homes/home-1,homes/home-2", "--out", "d", columns=200)
    assert done.returncode == 0, done.stderr
    told = check.check(tmp_path / "d", decode=True)
    assert not [one for one in told.findings if one.severity == "error"]
    kinds = []
    settings = LoopSettings.of({"view_px": 96, "panorama_px": 64})
    for task in tasks(tmp_path / "d", settings):
        opened = open_task(task, settings)
        env, episode = opened.make_env(), opened.episode
        kinds.append(opened.name)
        if opened.name == "recognition":
            assert env.things[episode.target].category == episode.category
            sight = VisibilityMeter(env.world, episode.target, episode.start.z).see(episode.start)
            assert episode.design == 1
            assert difficulty_of(sight, 1) == episode.difficulty
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
@pytest.mark.usefixtures("_places")
def test_names_in_a_mesh_of_their_own_become_recognition_that_references_play(tmp_path: Path) -> None:
    make_hm3d_home(tmp_path / "named")
    sources.add("named", tmp_path / "named")
    counts = ("--navigation", "0", "--recognition", "2", "--questions", "0", "--manipulation", "0")
    done = command(tmp_path, *COLLECT, *counts, "--scenes", f"named/{HM3D_KEY}", "--out", "d", columns=200)
    assert done.returncode == 0, done.stderr
    models = ("--model", "oracle", "--model", "freeze", "--no-baselines")
    smaller = ("--set", "view_px=64", "--set", "panorama_px=64", "--set", "decisions=2")
    done = command(tmp_path, "run", "worldinworld", "--data", "d", *models, *smaller, "--out", "r")
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


SMALL = {"view_px": 48, "panorama_px": 128}


SPELLINGS = (f"{HM3D_KEY}/TEEsavR23oF.basis.glb", f"hm3d/val/{HM3D_KEY}", HM3D_KEY, f"hm3d/{HM3D_KEY}/TEEsavR23oF")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Both data sets, and the published files; made once."""
    root = tmp_path_factory.mktemp("scans")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLDGAUGE_CACHE", str(root / "cache"))
        patch.setenv("WORLDGAUGE_CONFIG", str(root / "config"))
        patch.delenv("WORLDGAUGE_SCENES", raising=False)
        make_hm3d(root / "hm3d")
        make_mp3d(root / "mp3d")
        sources.add("hm3d", root / "hm3d")
        sources.add("mp3d", root / "mp3d")
        make_published(root / "published")
        yield root


@pytest.fixture
def data(made: Path) -> Path:
    """The published files, with all their scans registered."""
    return made / "published"


def ways(most: int) -> list[tuple[list[float], list[float]]]:
    """Ends of ways that Detour found, in the frame of the simulator; those between storeys first."""
    found = [(one["start"], one["end"]) for one in vectors()["paths"] if one["geodesic"]]
    found = [one for one in found if 2 < math.dist(*one) < 7]
    return sorted(found, key=lambda one: -abs(one[0][1] - one[1][1]))[:most]


def place(which: str, position: list[float], yaw: float = 0.0) -> dict[str, Any]:
    return {f"{which}_position": position, f"{which}_rotation": habitat_rotation(yaw).tolist()}


def facing(at: tuple[float, float, float], from_: tuple[float, float, float]) -> dict[str, Any]:
    """Start of an episode that looks at a place; both in our frame."""
    yaw = math.atan2(at[1] - from_[1], at[0] - from_[0])
    x, y, z = from_
    return place("start", [-y, z, -x], yaw)


def make_published(folder: Path) -> Path:
    """Files as they are published, of four navigations, two recognitions and a question."""
    house = Scan(f"hm3d/{HM3D_KEY}", sliding=True)
    ground, rows, images = house.ground(), [], {}
    for k, (start, goal) in enumerate(ways(4)):
        here = Stance(*our_point(start)[:2].tolist(), 0.0, float(our_point(start)[2]))
        there = Stance(*our_point(goal)[:2].tolist(), 0.5, float(our_point(goal)[2]))
        steps = ground.steps_to(here, there.at, 0.5)
        assert steps is not None
        row = {"datum_id": k, "episode_id": k, "scene_relpath": SPELLINGS[k], "goal_radius": 0.5}
        row |= {"goal_image_relpath": f"images/{k}.png", "step_to_goal": len(steps)}
        rows.append(row | place("start", start) | place("goal", goal, 0.5))
        images[k] = png(house.view(there.eye(), Panorama(64, 36)).rgb)
    write_json(folder / "IGNav" / "episodes_IGNav.json", {"version": "1", "meta": {}, "data": rows}, True)
    with zipfile.ZipFile(folder / "IGNav" / "igdataset_goal_imgs.zip", "w") as packed:
        for k, image in images.items():
            packed.writestr(f"images/{k}.png", image)
    seen = [
        {"episode_id": 0, "scene_id": MP3D_KEY, "difficulty": 1, "target_id": CHAIR, "target_categrory": "chair"}
        | facing((2.25, 5.45, 0.0), (2.2, 3.6, 0.2)),
        {"episode_id": 1, "scene_id": MP3D_KEY, "difficulty": 0, "target_id": BED}
        | {"target_categrory": "chest_of_drawers"}
        | facing((2.4, 0.9, 2.8), (2.4, 2.8, 3.0)),
        {"episode_id": 2, "scene_id": "2azQ1b91cZZ", "difficulty": 0, "target_id": 4, "target_categrory": "sofa"}
        | facing((2.4, 0.9, 2.8), (2.4, 2.8, 3.0)),
    ]
    write_json(folder / "AR" / "episodes_AR.json", {"episodes": seen}, True)
    asked = {"question": "What is by the wall?", "answer": "a chair", "category": "object recognition"}
    asked |= {"question_id": "q-0", "episode_history": HM3D_KEY, "scene_id": HM3D_KEY, "hfov": 105}
    write_json(folder / "AEQA" / "episodes_AEQA.json", [asked | facing((2.2, 5.4, 0.0), (2.2, 3.0, 0.2))], True)
    return folder


def _copied(data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of the data sets, registered instead of them."""
    for name in ("hm3d", "mp3d"):
        shutil.copytree(data.parent / name, folder / name)
    monkeypatch.setenv("WORLDGAUGE_SCENES", f"hm3d={folder / 'hm3d'}:mp3d={folder / 'mp3d'}")


def test_an_id_finds_the_scan_by_every_published_spelling(data: Path) -> None:
    for spelling in SPELLINGS:
        facts = published_world(spelling)
        assert facts.params == {"scene": f"hm3d/{HM3D_KEY}", "sliding": True}
    for spelling in (MP3D_KEY, f"mp3d/{MP3D_KEY}/{MP3D_KEY}.glb", f"scene_datasets/mp3d/{MP3D_KEY}/{MP3D_KEY}.glb"):
        facts = published_world(spelling)
        assert facts == Scan(f"mp3d/{MP3D_KEY}", sliding=True).facts, "known without opening the scan"
    for spelling in ("00801-TEEsavR23oG", "home-test-0001", "17DRP5sb8fz", ""):
        assert published_world(spelling) is None


def test_published_episodes_run_and_others_say_why_not(data: Path, tmp_path: Path) -> None:
    found = load(data)
    assert (found.faults, found.notes) == ((), ())
    listed = {task.id: task for task in tasks(data, LoopSettings.of(SMALL))}
    skipped = {name: task.skip for name, task in listed.items() if task.skip}
    assert set(skipped) == {"recognition/2"}
    assert str(skipped["recognition/2"]).endswith("register their folder: worldgauge world add mp3d DIR")

    told = check.check(data, decode=True)
    texts = [finding.text for finding in told.findings]
    assert any("recognition: 2 of 3 episodes can run with the scans at hand" in text for text in texts)
    assert any("navigation: 4 of 4 episodes can run with the scans at hand" in text for text in texts)
    assert not any(finding.severity == "error" for finding in told.findings), texts

    few = {**SMALL, "decisions": 1, "candidates": 2}
    results = run("worldinworld", model="oracle", data=data, out=tmp_path / "runs", settings=few)
    counts = results.model_counts["oracle"]
    assert (counts.expected, counts.scored, counts.skipped, counts.failed) == (8, 7, 1, 0)
    assert len({task.cluster for task in listed.values()}) == 3, "one place in four spellings"
    for path in [data, tmp_path / "runs"]:
        for file in path.rglob("*"):
            if file.is_file() and file.suffix in (".json", ".jsonl", ".txt", ".csv"):
                text = file.read_bytes()
                assert str(data.parent / "hm3d").encode() not in text, file
                assert str(data.parent / "mp3d").encode() not in text, file


def test_the_oracle_reaches_goals_and_steps_are_those_that_were_published(data: Path) -> None:
    for task in tasks(data, LoopSettings.of({**SMALL, "task": "navigation"})):
        opened = open_task(task, LoopSettings.of(SMALL))
        env, episode = opened.make_env(), opened.episode
        steps = env.ground.steps_to(episode.start, episode.goal.at, episode.radius_m)
        assert len(steps) == episode.step_to_goal
        end = env.replayed(episode.start, steps)[-1]
        assert env.ground.distance(end.at, episode.goal.at) <= episode.radius_m
        # The eye is a metre above the navmesh, not above the floor of the start.
        assert env.pose(end)[2, 3] == pytest.approx(end.z + 1.0)
        image = opened.goal_picture()
        assert np.array_equal(env.view(episode.goal, Panorama(64, 36)).rgb, image)


def test_the_target_is_the_object_of_the_house(data: Path) -> None:
    boxes = {}
    for task in tasks(data, LoopSettings.of({**SMALL, "task": "recognition"})):
        if task.skip is None:
            opened = open_task(task, LoopSettings.of(SMALL))
            sight = opened.make_env().observe()
            mask = sight.instances("front") == opened.episode.target
            rows, columns = np.nonzero(mask)
            assert sight.box is not None
            assert mask.sum() > 20
            left, top, right, bottom = sight.box
            assert left <= columns.min() < columns.max() < right + 1
            assert top <= rows.min() < rows.max() < bottom + 1
            # What is red in the scan is the chair, and what is blue the bed.
            channel = 0 if opened.episode.target == CHAIR else 2
            assert (sight.front[mask].argmax(-1) == channel).mean() > 0.95
            boxes[opened.episode.target] = sight.box
    assert set(boxes) == {CHAIR, BED}


def test_a_target_of_another_category_is_refused(data: Path, tmp_path: Path) -> None:
    row = {"episode_id": 0, "scene_id": MP3D_KEY, "difficulty": 1, "target_id": CHAIR, "target_categrory": "bed"}
    write_json(tmp_path / "AR" / "episodes_AR.json", {"episodes": [row | facing((2, 5, 0), (2.2, 3.6, 0.2))]}, True)
    (task,) = tasks(tmp_path / "AR", LoopSettings.of(SMALL))
    with pytest.raises(WorldgaugeError, match=f"target_id {CHAIR} is chair in '{MP3D_KEY}', not bed"):
        open_task(task, LoopSettings.of(SMALL)).make_env()


def test_without_semantic_files_recognition_is_skipped_and_navigation_is_not(data, tmp_path, monkeypatch):
    _copied(data, tmp_path, monkeypatch)
    (tmp_path / "mp3d" / MP3D_KEY / f"{MP3D_KEY}.house").unlink()
    (tmp_path / "hm3d" / "val" / HM3D_KEY / "TEEsavR23oF.semantic.txt").unlink()
    reasons = {task.id: task.skip for task in tasks(data, LoopSettings.of(SMALL))}
    assert "has no names of things" in str(reasons["recognition/0"])
    assert "has no names of things" in str(reasons["questions/q-0"])
    assert reasons["navigation/0"] is None
    detected = {"landmarks": "detected", "protocol": "published", "task": "questions", "proposer": "landmarks"}
    (question,) = tasks(data, LoopSettings.of(detected))
    assert question.skip is None, "networks need no names"


def test_another_scan_under_the_same_id_is_another_task(data, tmp_path, monkeypatch):
    before = [task.fingerprint for task in tasks(data, LoopSettings.of({"task": "navigation"}))]
    _copied(data, tmp_path, monkeypatch)
    with open(tmp_path / "hm3d" / "val" / HM3D_KEY / "TEEsavR23oF.semantic.txt", "ab") as file:
        file.write(b'99,ABCDEF,"lamp",1\r\n')
    after = [task.fingerprint for task in tasks(data, LoopSettings.of({"task": "navigation"}))]
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_sliding_is_the_rule_of_published_episodes_and_can_be_turned_off(data: Path) -> None:
    task = next(iter(tasks(data, LoopSettings.of({"task": "navigation"}))))
    for given, slides in ((None, True), ("on", True), ("off", False)):
        settings = LoopSettings.of({**SMALL, **({"sliding": given} if given else {})})
        assert open_task(task, settings).make_env().ground.sliding == slides


def test_goal_pictures_tell_the_right_scan_from_one_that_lies_on_its_side(data: Path) -> None:
    key = f"hm3d/{HM3D_KEY}"
    right = compare_goals(Scan(key), key, data)
    assert [one.id for one in right] == ["0", "1", "2", "3"]
    assert min(one.psnr_db for one in right) > 60
    turned = Scan.of_file(sources.scene(key).geometry, ScanOptions("y"))
    assert statistics.median(one.psnr_db for one in compare_goals(turned, key, data)) < LEAST_DB
    with pytest.raises(DataError, match="holds no goal image of the scene 'mp3d/none'"):
        compare_goals(turned, "mp3d/none", data)
