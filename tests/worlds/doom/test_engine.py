"""The engine: its pictures beside what is computed of them, and the data that are collected with it."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import worldgauge as wg
from support.commands import command
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.engine.collect import open_collection
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.worlds.doom.engine import CATEGORIES, LEVELS, DoomWalker, Engine
from worldgauge.worlds.doom.level import UNIT_M, cast
from worldgauge.worlds.recorded import SUFFIX, read_truth
from worldgauge.worlds.walking.walkers import WalkFailedError

FLATS = [CATEGORIES.index(name) + 1 for name in ("floor", "ceiling", "water")]
THINGS = CATEGORIES.index("item") + 1
SMALL = {"settlements": 1, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (256, 144), "world": "doom"}


@pytest.mark.parametrize("suite", ["loopnav", "mind"])
def test_without_the_extra_collecting_is_refused(suite: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "vizdoom", None)
    done = command(tmp_path, "collect", suite, "--world", "doom", "--out", tmp_path / "data")
    assert done.returncode == 2
    assert "world 'doom' needs the extra 'doom'" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.fixture(scope="module", params=LEVELS["test"])
def walker(request: pytest.FixtureRequest) -> Iterator[DoomWalker]:
    pytest.importorskip("vizdoom")
    engine = Engine(request.param, (320, 180))
    yield DoomWalker(engine)
    engine.close()


def places(walker: DoomWalker, number: int) -> Iterator[float]:
    """Put the walker to random places, with a random heading."""
    rng, done = np.random.default_rng(1), 0
    while done < number:
        heading = float(rng.uniform(-math.pi, math.pi))
        try:
            walker.stand(walker.cells[int(rng.integers(len(walker.cells)))], heading)
        except WalkFailedError:
            continue
        done += 1
        yield heading


def seen(engine: Engine, camera: Camera, turn: float = 0.0):
    """What is cast of the present frame."""
    state = engine._game.get_state()
    x, y, _, degrees, eye = state.game_variables[:5]
    heights = np.array([(one.floor_height, one.ceiling_height) for one in state.sectors], float)
    return cast(engine.level, heights, np.array([x, y, eye]), math.radians(degrees) + turn, camera)


@pytest.mark.slow
def test_floors_and_ceilings_are_where_the_engine_has_them(walker: DoomWalker) -> None:
    """The engine's labels are 1 where it has drawn a floor or ceiling, 0 for walls and the sky, and more for things."""
    engine, camera = walker.engine, walker.engine.camera
    found: dict[str, list[float]] = {}
    for _ in places(walker, 8):
        labels = engine._game.get_state().labels_buffer
        views = {
            "true": seen(engine, camera),
            "turned": seen(engine, camera, math.radians(1.5)),
            "high": seen(engine, replace(camera, fy=camera.fy * 1.06)),
            "wide": seen(engine, replace(camera, fx=camera.fx * 1.06)),
        }
        for name, (_, surface) in views.items():
            same = np.isin(surface, FLATS) == (labels == 1)
            found.setdefault(name, []).append(float(same[labels < 2].mean()))
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    assert mean["true"] > 0.98
    assert mean["true"] > max(mean["turned"], mean["high"], mean["wide"])


@pytest.mark.slow
def test_frames_agree_with_poses_and_depth(walker: DoomWalker) -> None:
    """A frame that depth and poses carry into another view is like what the engine shows there; else it is not."""
    import cv2

    engine, camera = walker.engine, walker.engine.camera
    moved = {"true": (0.0, 0.0), "higher": (0.15, 0.0), "turned": (0.0, math.radians(1.0))}
    found: dict[str, list[float]] = {name: [] for name in moved}
    for heading in places(walker, 8):
        views = []
        for last in (True, False):
            body, layers = engine.ticks[-1], engine._layers(camera)
            views.append((body, layers, engine._game.get_state().screen_buffer.astype(np.float32)))
            for _ in range(8 * last):
                engine.move(0.2 * math.cos(heading), 0.2 * math.sin(heading), 0.04)
        (body, layers, frame), (there, layers_there, frame_there) = views
        start = pose_from_yaw_pitch(np.array([*body.feet[:2], body.eye_m]), body.yaw)
        depth = layers["depth"].astype(float)
        at = camera.unproject(np.where(np.isfinite(depth), depth, np.nan)) @ start[:3, :3].T + start[:3, 3]
        for name, (up, turn) in moved.items():
            end = pose_from_yaw_pitch(np.array([*there.feet[:2], there.eye_m + up]), there.yaw + turn)
            x, y, z = np.moveaxis((at - end[:3, 3]) @ end[:3, :3], -1, 0)
            u, v = camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy
            shown = (z > 0.3) & (u > 1) & (v > 1) & (u < camera.width - 1) & (v < camera.height - 1)
            shown &= layers["category"] < THINGS
            i, j = (np.where(shown, axis, 0).astype(int) for axis in (v, u))
            shown &= np.abs(layers_there["depth"][i, j] - z) < 0.05 * z
            if shown.sum() < 2000:
                continue
            carried = cv2.remap(frame_there, (u - 0.5).astype(np.float32), (v - 0.5).astype(np.float32), 1)
            found[name].append(float(np.abs(carried - frame)[shown].mean()))
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    assert len(found["true"]) >= 4
    assert mean["true"] < 0.8 * min(mean["higher"], mean["turned"])


@pytest.mark.slow
def test_equal_walks_have_equal_frames_whatever_was_before(walker: DoomWalker) -> None:
    engine, cells = walker.engine, walker.cells

    def walk() -> list[str]:
        walker.stand(cells[len(cells) // 2], 1.0)
        for number in range(30):
            engine.move(0.1, 0.05 * (number % 3), 0.03)
        return [hashlib.sha256(frame.tobytes()).hexdigest() for frame in engine.frames(range(31))]

    first = walk()
    walker.stand(cells[0], 0.0)
    for _ in range(20):
        engine.move(0.2, 0.0, 0.1)
    assert walk() == first
    assert len(set(first)) == 31


def digests(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.slow
def test_loops_are_collected_twice_to_the_same_bytes_and_have_every_score(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("vizdoom")
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        wg.collect("loopnav", tmp_path / name, **SMALL)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"], "the engine leaves nothing behind"
    (file,) = (tmp_path / "a").rglob(f"*{SUFFIX}")
    assert file.stat().st_size < 10e6
    truth = read_truth(file)
    (task,) = list_tasks(open_suite("loopnav", {"selection": "all"}), tmp_path / "a")
    episode, _ = episode_of(task)
    assert truth.place == LEVELS["test"][0]
    assert episode.camera.fy == pytest.approx(1.2 * episode.camera.fx)
    # Records are of the feet: the eye is 41 units above them, but on steps, where it follows smoothly.
    result = wg.run("loopnav", model="memory", data=tmp_path / "a", out=tmp_path / "r", settings={"selection": "all"})
    frame = result.frame
    assert not result.failures
    named = ("coverage", "sgcs_chance_corrected", "returned_mse")
    assert frame[frame.metric.isin(named)].value.notna().all()


def test_clips_are_collected_twice_to_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("vizdoom")
    options = {"world": "doom", "mem": 1, "action_space": 1, "train": 0, "mirror": 0, "frames": 48, "size": (256, 144)}
    for name in ("a", "b"):
        wg.collect("mind", tmp_path / name, **options)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    done = command(tmp_path, "check", "mind", "--data", tmp_path / "a")
    assert "usable" in done.stdout
    for file in (tmp_path / "a").rglob(f"*{SUFFIX}"):
        poses = read_truth(file).poses
        assert np.allclose(poses[:, 2, 1], -1), "the view is level"
        step = np.linalg.norm(np.diff(poses[:, :2, 3], axis=0), axis=1)
        assert 0.01 < step.max() < 0.15


def test_a_size_that_the_engine_has_not_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("vizdoom")
    done = command(tmp_path, "collect", "loopnav", "--world", "doom", "--size", "300x200", "--out", tmp_path)
    assert done.returncode == 2
    assert "no frames of 300x200; give 256x144" in done.stderr


def test_a_unit_makes_the_eye_as_high_as_that_of_other_loops() -> None:
    assert pytest.approx(1.6) == 41 * UNIT_M


def test_no_level_is_in_two_splits() -> None:
    levels = [level for split in LEVELS.values() for level in split]
    assert len(set(levels)) == len(levels) == 28


def test_training_clips_are_of_training_levels(tmp_path: Path) -> None:
    options = {"world": "doom", "mem": 12, "action_space": 0, "train": 12, "seed": 1}
    made = {"train": set(), "mem_test": set()}
    for item in open_collection("mind", tmp_path, options).items():
        made[item.args["part"]].add(item.args["key"])
    assert made == {"train": set(LEVELS["train"]), "mem_test": set(LEVELS["test"])}
