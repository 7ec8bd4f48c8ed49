"""Collected homes: the same bytes for any number of workers, laws that keep their promises, damaged files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from suites.unseen.fixtures import FEW
from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError
from worldgauge.engine.collect import collect
from worldgauge.engine.collection import check_data
from worldgauge.suites.unseen import collection
from worldgauge.suites.unseen.format import FPS, SHOWN, frames_of, read_episode, stems_of
from worldgauge.suites.unseen.scoring import STEPS, pictures_of, states_between, world_of
from worldgauge.suites.unseen.worlds import STATES, GoingOn, ProcessKind
from worldgauge.worlds.indoor import Home

AWAY = (2, 5, 10, 20, 60)


def test_a_home_has_the_same_bytes_again_and_where_it_was_stopped(unseen_data: Path, tmp_path: Path) -> None:
    files = {path.relative_to(unseen_data): path.read_bytes() for path in unseen_data.rglob("*.*") if path.is_file()}
    kept = stems_of(unseen_data)[0].relative_to(unseen_data)
    shutil.copytree(unseen_data, tmp_path / "again")
    for path in (tmp_path / "again").rglob("*.*"):
        if path.is_file() and path.relative_to(tmp_path / "again").with_suffix("") != kept:
            path.unlink()
    collect("unseen", tmp_path / "again", **FEW)
    again = tmp_path / "again"
    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*.*") if path.is_file()} == files


@pytest.mark.parametrize("kind", ["cart", "level"])
def test_a_law_stays_on_its_rail_at_twice_the_speed(kind: ProcessKind) -> None:
    rng = np.random.default_rng(1)
    for group in collection._sharing(kind, AWAY):
        assert frames_of(max(group)) - SHOWN <= 3 * (frames_of(min(group)) - SHOWN)
        for _ in range(50):
            start, rate = collection._law(kind, group, rng)
            last = start + rate * ((SHOWN - 1) / FPS + 2 * (frames_of(max(group)) - SHOWN) / FPS)
            assert STATES[kind].low - 1e-9 <= min(start, last) < max(start, last) <= STATES[kind].high + 1e-9


def test_a_lamp_ends_in_another_colour_that_lasts() -> None:
    rng = np.random.default_rng(1)
    for away in AWAY:
        start, rate = collection._pace(away, rng)
        world = GoingOn(1, "lamp", (2.0, 2.0), 0, start, rate)
        colours = [world.state_at(n / FPS) for n in range(frames_of(away) + 5)]
        assert set(colours[:SHOWN]) == {0, 1, 2, 3}
        assert len(set(colours[-10:])) == 1
        assert colours[-6] != colours[SHOWN - 1]


def test_what_is_not_seen_is_not_there(things: dict[str, Episode]) -> None:
    for episode in things.values():
        world = world_of(episode)
        first, last = episode.facts["unseen"]
        number = len(world.plan.objects) + 1
        for frame in range(0, len(episode), 3):
            seen = bool((world.view(episode.poses[frame], episode.camera).instance == number).any())
            assert seen != (first <= frame <= last)


def test_a_place_whose_states_look_alike_or_are_hidden_is_not_taken(things: dict[str, Episode]) -> None:
    episode = things["cart"]
    world, camera = world_of(episode), episode.camera
    yaw = float(np.arctan2(episode.poses[0][1, 2], episode.poses[0][0, 2]))
    position = tuple(episode.poses[0][:3, 3].tolist())
    good = collection.Watched(world, position, -0.3, {2: np.full(frames_of(2), yaw)})
    assert collection._fault(good, camera) == ""
    slow = GoingOn(**{**world.facts.params, "rate": world.rate / 20})
    assert "alike" in collection._fault(good._replace(world=slow), camera)
    behind = good._replace(yaws={2: np.full(frames_of(2), yaw + np.pi)})
    assert "hidden" in collection._fault(behind, camera)


def test_free_spots_are_free(things: dict[str, Episode]) -> None:
    home = Home(world_of(things["cart"]).seed)
    spots = collection._free_spots(home.floor, (2.4, 0.5))
    assert len(spots)
    for side, x, y in spots[:: max(1, len(spots) // 20)]:
        near = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)][int(side)])
        for ahead in np.arange(0, 2.1, 0.1):
            for across in (-0.85, 0.0, 0.85):
                spot = np.array([x, y]) + ahead * near + across * near[::-1]
                assert home.floor.free[tuple(home.floor.cells_of(spot))]


def test_check_reads_the_end_and_names_damaged_files(unseen_data: Path, tmp_path: Path) -> None:
    report = check_data("unseen", unseen_data, decode=True)
    assert report.ok
    assert (report.n_valid, report.n_items, report.n_frames) == (3, 3, 3 * frames_of(2))
    data = tmp_path / "data"
    shutil.copytree(unseen_data, data)
    cart, lamp, level = stems_of(data)
    content = json.loads(cart.with_suffix(".json").read_text())
    content["world"]["params"]["rate"] *= 0.3
    content["world"]["digest"] = None
    cart.with_suffix(".json").write_text(json.dumps(content))
    lamp.with_suffix(".json").write_text(
        json.dumps({**json.loads(lamp.with_suffix(".json").read_text()), "yaw_rad": [0]})
    )
    level.with_suffix(".mp4").write_bytes(b"no video")
    assert check_data("unseen", data).n_valid == 1
    found = check_data("unseen", data, decode=True)
    assert found.n_valid == 0
    assert "its end is read as" in " ".join(one.text for one in found.findings)
    with pytest.raises(DataError, match="collect unseen"):
        check_data("unseen", tmp_path / "data" / "home-000")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("unseen", [0, 1]),
        ("unseen", [80]),
        ("away_s", 10**9),
        ("pitch_rad", 9.0),
        ("position_m", ["a", 1, 2]),
        ("world", 1),
    ],
)
def test_a_damaged_field_is_one_line(field: str, value: object, unseen_data: Path, tmp_path: Path) -> None:
    stem = stems_of(unseen_data)[0]
    content = {**json.loads(stem.with_suffix(".json").read_text()), field: value}
    shutil.copy(stem.with_suffix(".mp4"), tmp_path / "away-02.mp4")
    (tmp_path / "away-02.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="collect the data again"):
        read_episode(tmp_path / "away-02")


def test_alternatives_leave_out_nothing_between(things: dict[str, Episode]) -> None:
    world = GoingOn(1, "cart", (2.0, 2.0), 0, start=-0.05, rate=0.1)
    states = states_between(world, 0.0, 0.01 * STEPS)
    assert np.allclose(states, 0.01 * np.arange(-5, 2 * STEPS + 1))
    with pytest.raises(DataError, match="has not gone on"):
        states_between(world, 0.5, 0.5)
    assert len(pictures_of(world, states[:2], things["cart"].poses[-1], things["cart"].camera, (16, 9))) == 3
