"""Loops collected in the real game: one command, the same files with a server and without, and what is refused."""

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from worldgauge.core.errors import RunError, UsageError, WorldError
from worldgauge.engine.collect import collect, count, open_collection
from worldgauge.engine.run import run
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav import walks as locations
from worldgauge.suites.loopnav.format import worlds_of
from worldgauge.suites.loopnav.format_check import check
from worldgauge.worlds import open_world
from worldgauge.worlds.minecraft.places import place_of
from worldgauge.worlds.minecraft.server import JavaServer, JsServer

SMALL = {"settlements": 1, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (64, 36)}
GAME = {"world": "minecraft"}
OFFLINE = {**GAME, "mode": "offline"}

SERVER = """
import sys
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.minecraft.server import JsServer
from worldgauge.worlds.voxel.generate import generate

cells = cells_of(generate("plains", 5, (320, 320, 64)), at=(700 - 160, 40, -330 - 160))
with JsServer(cells, seed=int(sys.argv[1])) as server:
    server.leave()  # its own bot, whose name the one that comes has too
    print(server.port, flush=True)
    sys.stdin.read()
"""


def contents(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.suffix in (".avi", ".json", ".gz") and "worldgauge" not in path.name
    }


@pytest.fixture(scope="module")
def offline(packages, tmp_path_factory):
    root = tmp_path_factory.mktemp("offline")
    return root, collect("loopnav", root, **SMALL, **OFFLINE)


@pytest.fixture
def near(monkeypatch):
    """Places are known less far around their point, so that they are read sooner."""
    monkeypatch.setattr(locations, "REACH", 48)


@pytest.fixture(scope="module")
def others(packages):
    """Address of a server in another process, as somebody else would run it, with a village at a published place."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, "42"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
            process.wait(20)


@pytest.mark.minecraft
@pytest.mark.slow
def test_a_server_and_no_server_give_the_same_files(offline, tmp_path, monkeypatch):
    root, result = offline
    online = collect("loopnav", tmp_path, **SMALL, **GAME)
    assert online.failures == ()
    assert online.frames == result.frames > 100
    assert contents(tmp_path) == contents(root)
    settings = json.loads((tmp_path / "worldgauge.json").read_text())["settings"]
    assert settings["game"]["mode"] == "js-server"
    monkeypatch.setattr(locations, "JsServer", lambda cells: pytest.fail("walked again in real time"))
    assert collect("loopnav", tmp_path, **SMALL, **GAME) == online


@pytest.mark.minecraft
def test_what_the_game_walked_passes_the_check_and_is_scored(offline, tmp_path):
    root, _ = offline
    report = check(root, decode=True)
    assert (report.n_valid, report.n_items) == (1, 1)
    assert not [finding for finding in report.findings if finding.severity == "error"]
    assert report.facts["max_camera"] <= 0.1 + 1e-9
    (row,) = [row for row in report.facts["rows"] if row["trajectories"]]
    assert row["look_around_deg"]["mean"] == pytest.approx(360, abs=1.0)
    assert row["frames_to_line"]["mean"] == pytest.approx(1.0, abs=0.25)
    scores = {
        name: score.value
        for name in ("truth", "freeze", "noise")
        for score in run("loopnav", model=name, data=root, out=tmp_path / name).scores[name]
        if score.metric == "sgcs"
    }
    assert scores["truth"] == 1.0 > scores["freeze"] > scores["noise"]


@pytest.mark.minecraft
def test_the_embedded_world_and_the_game_do_not_share_a_folder(offline):
    root, _ = offline
    with pytest.raises(RunError, match="world minecraft, not voxel"):
        collect("loopnav", root, **SMALL)
    with pytest.raises(RunError, match="pictures ours, not released"):
        collect("loopnav", root, **SMALL, **OFFLINE, pictures="released")


@pytest.mark.minecraft
def test_a_server_killed_in_the_middle_costs_one_loop_until_the_next_call(offline, tmp_path, monkeypatch):
    root, _ = offline
    killed = []

    def shortly(site, **options):
        pid = site.walker._game._player._bridge.pid
        killed.append(pid)
        threading.Timer(1.0, os.kill, (pid, signal.SIGKILL)).start()
        return walk(site, **options)

    walk = locations.record_loop
    monkeypatch.setattr(locations, "record_loop", shortly)
    result = collect("loopnav", tmp_path, **SMALL, **GAME)
    assert result.items == 0
    assert "SIGKILL" in result.failures[0]
    monkeypatch.undo()
    again = collect("loopnav", tmp_path, **SMALL, **OFFLINE)
    assert again.failures == ()
    assert contents(tmp_path) == contents(root)
    with pytest.raises(ProcessLookupError):
        os.kill(killed[0], 0)


@pytest.mark.slow
@pytest.mark.minecraft
def test_a_published_place_of_somebodys_server(others, tmp_path, near):
    game = {**GAME, "mode": "java", "server": others, "places": "plains_village_1"}
    result = collect("loopnav", tmp_path, **SMALL, **game)
    assert result.failures == ()
    (trajectory,) = loopnav.discover(tmp_path)
    assert trajectory.location == "plains_village_1"
    records = json.loads(trajectory.records.read_text())
    place = place_of("plains_village_1")
    assert np.hypot(records[0]["x"] - place.x, records[0]["z"] - place.z) < 40
    assert records[0]["extra_info"]["seed"] == 42
    episode = loopnav.load(trajectory, worlds_of(tmp_path)["plains_village_1"])
    seen = open_world(episode.world).view(episode.poses[50], episode.camera).rgb
    assert np.abs(seen.astype(int) - episode.clip[50]).mean() < 6  # the video's JPEG
    before = contents(tmp_path)
    assert collect("loopnav", tmp_path, **SMALL, **game) == result
    assert contents(tmp_path) == before
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    facts = worlds_of(moved)["plains_village_1"]
    assert loopnav.fingerprint_of(trajectory, facts) == loopnav.fingerprint_of(trajectory, episode.world)
    assert len(open_world(facts).categories) > 5


@pytest.mark.slow
@pytest.mark.minecraft
def test_a_place_of_ones_own_stays_where_and_as_it_was(others, tmp_path, near):
    def at(*places, **more):
        return collect("loopnav", tmp_path, **{**SMALL, **more}, **GAME, server=others, places=" ".join(places))

    assert at("mine@690,70,-325").failures == ()
    before = contents(tmp_path)
    (trajectory,) = loopnav.discover(tmp_path)
    assert trajectory.location == "mine"
    told = at("other@700,70,-330", "mine@690,70,-325")
    assert told.failures == ()
    assert before.items() <= contents(tmp_path).items()
    assert len(contents(tmp_path)) == 2 * len(before)
    moved = at("mine@700,70,-330")
    assert "'mine' at x 700, z -330 has lain at x 690, z -325" in moved.failures[0]
    host, port = others.split(":")
    with JavaServer(host, int(port), name="builder") as builder:
        builder.teleport(690.5, 90, -324.5)
        builder.command("setblock 691 60 -325 minecraft:gold_block")
    changed = at("mine@690,70,-325", per_combination=2)
    assert "1 blocks around 'mine' are no longer as they were read" in changed.failures[0]
    assert contents(tmp_path).items() >= before.items()


@pytest.mark.minecraft
@pytest.mark.parametrize(("version", "seed"), [("1.16.5", 7), ("1.20.4", 42)])
def test_published_places_of_another_world_are_refused(packages, tmp_path, version, seed):
    with JsServer(version=version, seed=seed, packages=packages) as server:
        server.leave()
        game = {**GAME, "server": f"127.0.0.1:{server.port}", "places": "plains_village_1"}
        with pytest.raises(WorldError, match="level-seed=42"):
            collect("loopnav", tmp_path, **SMALL, **game)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "online"}, "mode"),
        ({"pictures": "photo"}, "pictures"),
        ({"mode": "java"}, "needs a server"),
        ({"mode": "java", "server": "localhost"}, "needs places"),
        ({"mode": "offline", "server": "localhost"}, "takes no server"),
        ({"world": "voxel", "server": "localhost"}, "--server goes with --world minecraft"),
        ({"server": "localhost", "places": "x@1,2,3", "sampling": "continuous"}, "released"),
        ({"pictures": "viewer", "size": (9000, 30)}, "pixels a side"),
        ({"places": "plains_village_1"}, "takes no server and no places"),
        ({"mode": "java", "server": "a:b", "places": "plains_village_1"}, "host:port"),
        ({"mode": "java", "server": "a", "places": "x@1,2,3 x@4,5,6"}, "once"),
        ({"mode": "java", "server": "a", "places": "../x@1,2,3"}, "NAME@X,Y,Z"),
        ({"mode": "java", "server": "a", "places": "x@1,2"}, "NAME@X,Y,Z"),
    ],
)
def test_options_of_the_game_that_do_not_fit_are_refused(tmp_path, options, said):
    with pytest.raises(UsageError, match=said):
        open_collection("loopnav", tmp_path, {**GAME, **options})


def test_unknown_places_name_the_nearest(tmp_path):
    with pytest.raises(UsageError, match="plains_village_1"):
        open_collection("loopnav", tmp_path, {**GAME, "server": "localhost", "places": "plain_village_1"})


def test_one_bot_walks_on_somebodys_server(tmp_path):
    with pytest.raises(UsageError, match="workers is 2"):
        collect("loopnav", tmp_path, **SMALL, workers=2, **GAME, server="localhost", places="x@1,2,3")


def test_places_of_a_server_are_counted_as_they_are_named(tmp_path):
    settings = {**SMALL, "seed": 1, "sampling": "released"}
    game = {**GAME, "server": "localhost", "places": "x@1,2,3 plains_village_1"}
    assert count("loopnav", tmp_path, **settings, **game) == (2, 0)
    assert not list(tmp_path.iterdir())


def test_without_packages_the_reason_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDGAUGE_NODE_PACKAGES", str(tmp_path / "none"))
    with pytest.raises(WorldError, match=r"minecraft install|install Node"):
        collect("loopnav", tmp_path / "out", **SMALL, **OFFLINE)
    assert not (tmp_path / "out").exists()
