"""Our server in the real JavaScript one, with a bot: cells, commands, ticks and all that can go wrong."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import DataError, UsageError, WorldError
from worldgauge.worlds.minecraft.bridge import Bridge, BridgeError, BridgeLostError
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.offline import BotGoal, Offline
from worldgauge.worlds.minecraft.server import JavaServer, JsServer, Online
from worldgauge.worlds.voxel.player import Action

VERSIONS = ("1.16.5", "1.20.4")
STATES = (
    AIR,
    "minecraft:stone",
    "minecraft:grass_block[snowy=false]",
    "minecraft:oak_log[axis=z]",
    "minecraft:oak_stairs[facing=west,half=bottom,shape=straight,waterlogged=false]",
    "minecraft:water[level=0]",
)
TOP = 70
pytestmark = pytest.mark.minecraft


def scattered(side: int, height: int, *, origin: tuple[int, int, int], seed: int = 0) -> Cells:
    """Grass up to half the height, and all kinds of blocks on it here and there, but none in the middle."""
    rng = np.random.default_rng(seed)
    index = np.zeros((side, height, side), np.uint16)
    index[:, : height // 2] = 2
    above = index[:, height // 2 : height // 2 + 3]
    above[:] = rng.integers(1, len(STATES), above.shape) * (rng.random(above.shape) < 0.06)
    index[side // 2 - 3 : side // 2 + 3, height // 2 :, side // 2 - 3 : side // 2 + 3] = 0
    return Cells(origin, STATES, index)


CELLS = scattered(48, 2 * (TOP - 60), origin=(-20, 60, 1000))
MIDDLE = (4.5, float(TOP), 1024.5)
BOX = ((-20, 60, 1000), (27, 79, 1047))


def names(cells: Cells) -> np.ndarray:
    return np.array(cells.palette)[cells.index]


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def near(server: JsServer) -> Cells:
    """What is there around the middle of endless grass."""
    return server.read(((-8, 0, -8), (8, 20, 8)))


@pytest.fixture(scope="module")
def server(packages: Path) -> Iterator[JsServer]:
    """One for the tests that leave it as it was, apart from blocks above the lowest 16 layers."""
    with JsServer(CELLS, packages=packages) as server:
        yield server
    assert gone(server.pid)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_cell_is_read_back(version: str, packages: Path) -> None:
    cells = scattered(128, 48, origin=(-40, 50, -1000))
    with JsServer(cells, version, packages=packages) as server:
        found = server.read(((-40, 50, -1000), (87, 97, -873)))
    assert found.origin == cells.origin
    assert (names(found) == names(cells)).sum() == 786_432


def test_beyond_the_cells_is_a_wall_and_a_floor(server: JsServer) -> None:
    beside = server.read(((28, 59, 1010), (29, 80, 1010)))
    assert set(names(beside)[:, :21].ravel()) == {"minecraft:barrier"}
    assert set(names(beside)[:, 21].ravel()) == {AIR}
    assert set(names(server.read(((-20, 59, 1000), (27, 59, 1047)))).ravel()) == {"minecraft:barrier"}


def test_a_teleport_is_exact_and_at_rest(server: JsServer) -> None:
    row = server.teleport(4.3000000001, TOP, 1024.123456789, 1.25, -0.125)
    assert row[:3].tolist() == [4.3000000001, TOP, 1024.123456789]
    assert row[6:10].tolist() == [1.25, -0.125, 1.0, 0.0]
    assert np.array_equal(row, server.state())
    assert server.teleport(4, TOP, 1024)[6:8].tolist() == [1.25, -0.125], "angles stay when none are given"


def test_far_there_and_back_nothing_is_lost(packages: Path) -> None:
    with JsServer(packages=packages) as server:
        assert server.teleport(3000.5, 5, -4000.5)[:3].tolist() == [3000.5, 5, -4000.5], "right after it joined"
        server.command("setblock 3002 5 -4002 gold_block")
        assert server.teleport(0.5, 5, 0.5)[0] == 0.5
        with pytest.raises(BridgeError, match=r"chunk \(187, -251\) never came"):
            server.ask("read", {"origin": [3002, 5, -4002], "size": [1, 1, 1], "wait_ms": 100})
        server.teleport(3000.5, 5, -4000.5)
        assert server.read(((3002, 5, -4002), (3002, 5, -4002))).palette[-1] == "minecraft:gold_block"


def test_blocks_are_put_with_their_states(server: JsServer) -> None:
    server.teleport(*MIDDLE)
    server.command("setblock 5 76 1025 oak_stairs[facing=east,half=top]")
    found = server.read(((5, 76, 1025), (5, 76, 1025)))
    assert found.palette[1:] == ("minecraft:oak_stairs[facing=east,half=top,shape=straight,waterlogged=false]",)
    server.command("fill -20 77 1000 27 79 1047 minecraft:sand")
    second = server.join("second")
    assert set(names(second.read(((-20, 77, 1000), (27, 79, 1047)))).ravel()) == {"minecraft:sand"}
    second.leave()
    server.command("fill -20 76 1000 27 79 1047 air")
    assert server.full_states(["oak_log"]) == ["minecraft:oak_log[axis=y]"]


def test_commands_are_done_in_their_order(server: JsServer) -> None:
    server.teleport(*MIDDLE)
    texts = [f"setblock {4 + i % 2} 78 1024 {('stone', 'oak_log[axis=x]')[i // 2 % 2]}" for i in range(64)]
    assert server.commands(["fill 4 78 1024 5 78 1024 sand", *texts]) == [
        "Filled 2 blocks",
        *["Changed the block"] * 64,
    ]
    assert set(names(server.read(((4, 78, 1024), (5, 78, 1024)))).ravel()) == {"minecraft:oak_log[axis=x]"}
    server.command("fill 4 78 1024 5 78 1024 air")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("setblock 0 70 1000 nosuchblock", "no block 'nosuchblock' in 1.16.5"),
        ("setblock 0 70 1000 oak_log[axis=w]", "axis is one of x, y, z"),
        ("setblock 0 70 1000 stone[axis=x]", "stone has no axis"),
        ("setblock 0 300 1000 stone", "out of this world"),
        ("setblock 0 70", "Usage"),
        ("setblock a b c stone", "'a' is no number"),
        ("fill 0 0 0 99 99 99 stone", "Too many blocks: 1000000"),
        ("tp nobody 1 2 3", "No player 'nobody'"),
        ("tp 1e9 70 0", "too far"),
        ("execute in overworld", "Usage"),
        ("execute in the_nether run tp 0 70 1000", "This server has no minecraft:the_nether, only minecraft:overworld"),
        ("fill 0 70 1000 0 70 1000 stone keep", "Usage"),
        ("gamemode flying", "Usage: /gamemode <survival|creative|adventure|spectator>"),
        ("nosuchcommand", "not found"),
    ],
)
def test_what_cannot_be_done_is_told_and_the_server_lives(server: JsServer, text: str, words: str) -> None:
    with pytest.raises(BridgeError, match=words) as refused:
        server.command(text)
    assert refused.value.kind == "command"
    assert server.command("execute in minecraft:overworld run gamerule doDaylightCycle false") != ""


def test_an_unknown_block_has_no_full_state(server: JsServer) -> None:
    with pytest.raises(BridgeError, match=r"no block 'minecraft:nosuch' in 1\.16\.5") as refused:
        server.full_states(["stone", "minecraft:nosuch"])
    assert refused.value.kind == "unknown-block"


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_cells_are_refused_before_the_server_starts(version: str, packages: Path) -> None:
    cells = Cells((0, 0, 0), (AIR, "minecraft:nosuch"), np.ones((2, 2, 2), np.uint16))
    with pytest.raises(BridgeError, match=f"no block 'minecraft:nosuch' in {version}"):
        JsServer(cells, version, packages=packages)
    with pytest.raises(BridgeError, match="heights 4000 to 4001 are not within"):
        JsServer(Cells((0, 4000, 0), (AIR,), np.zeros((2, 2, 2), np.uint16)), version, packages=packages)


@pytest.mark.parametrize("version", VERSIONS)
def test_online_and_offline_are_equal_to_the_last_bit(version: str, packages: Path) -> None:
    rng = np.random.default_rng(7)
    actions = [
        Action(*(rng.random(7) < (0.7, 0.1, 0.2, 0.2, 0.3, 0.2, 0.1)).tolist(), *rng.normal(0, 0.1, 2).tolist())
        for _ in range(30)
    ]
    goals = [BotGoal(26, 24, 10), BotGoal(24, 23, range_sq=1)]
    with (
        JsServer(CELLS, version, packages=packages) as server,
        Offline(CELLS, version=version, packages=packages) as off,
    ):
        online = Online(server, CELLS)
        start = CELLS.ours(MIDDLE)
        assert online.teleport(start, 1.0) == off.teleport(start, 1.0)
        assert online.step(actions) == off.step(actions)
        assert online.teleport(start, 1.0) == off.teleport(start, 1.0)
        walked, other = online.walk(goals), off.walk(goals)
        assert walked.status == "arrived"
        assert np.array_equal(walked.rows, other.rows)
        assert online.state == off.state


def test_a_walk_on_a_server(server: JsServer) -> None:
    server.teleport(*MIDDLE, 0.0)
    online = Online(server, CELLS)
    walked = online.walk([BotGoal(23, 25, 10)])
    assert (walked.status, walked.leg) == ("arrived", 1)
    assert np.abs(walked.rows[-1, [0, 2]] - [3.5, 1022.5]).max() < 0.5, "in the frame of the game"
    forward, turn = walked.rows[:, 11], walked.rows[:, 13]
    assert forward.any()
    assert turn.any()
    assert not (forward * turn).any(), "one action at a time"
    assert online.walk([BotGoal(23, 25, 15)]).status == "no-path"
    assert online.walk([BotGoal(10, 25, 10)], most_ticks=3).status == "walking"
    with pytest.raises(BridgeError, match="a goal is"):
        server.ask("walk", {"goals": [{"x": 3}], "turn": 0.1, "ticks": 9})


def test_the_body_rests_between_questions(server: JsServer) -> None:
    server.teleport(*MIDDLE, 0.0)
    online = Online(server, CELLS)
    (state,) = online.step([Action(forward=True)])
    assert state.position[1] > CELLS.ours(MIDDLE)[1]
    assert state.velocity[1] > 0, "it still has speed"
    server.command("gamerule a b")
    assert Online(server, CELLS).state == state
    assert online.step([]) == ()


def test_a_kicked_bot_says_why_and_may_come_back(packages: Path) -> None:
    with JsServer(packages=packages) as server:
        with pytest.raises(BridgeError, match="'walker' was kicked: 404") as kicked:
            server.command("kick walker 404")
        assert kicked.value.kind == "kicked"
        with pytest.raises(BridgeError, match="was kicked: 404"):
            server.read(((0, 0, 0), (1, 1, 1)))
        server.join(server.name)
        assert server.teleport(1.5, 5, 1.5)[0] == 1.5


def test_a_bot_kicked_by_another_says_so(packages: Path) -> None:
    with JsServer(packages=packages) as server:
        second, online = server.join("second"), Online(server, near(server))
        second.ask("say", {"texts": ["/kick walker late"], "wait_ms": 100})  # which nothing answers
        with pytest.raises(BridgeError, match="late"):
            online.step([Action(forward=True)] * 5)


def test_a_child_killed_in_the_middle_of_a_call(packages: Path) -> None:
    with JsServer(packages=packages) as server:
        pid, online = server.pid, Online(server, near(server))
        killer = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(BridgeLostError, match=r"bot\.step: the bridge was killed by SIGKILL"):
            online.step([Action(forward=True)] * 200)
        killer.join()
        assert gone(pid)
        with pytest.raises(BridgeLostError, match="start another"):
            server.state()


def test_a_port_in_use(server: JsServer, packages: Path) -> None:
    with pytest.raises(BridgeError, match=f"port {server.port} is in use; choose another, or 0") as refused:
        JsServer(packages=packages, port=server.port)
    assert refused.value.kind == "port-in-use"


def opened_and_joined(bridge: Bridge, generator: Path) -> None:
    opened = bridge.ask("server.open", {"version": "1.16.5", "generator": str(generator)}).ok
    bridge.ask("bot.join", {"name": "walker", "port": opened["port"], "version": "1.16.5"})


@pytest.mark.parametrize(
    ("program", "op"),
    [
        ("throw new Error('no ground today')", "server.open"),
        ("module.exports = () => { throw new Error('no ground today') }", "server.open"),
        ("module.exports = () => () => { throw new Error('no ground today') }", "bot.join"),
    ],
)
def test_a_generator_that_throws(program: str, op: str, packages: Path, tmp_path: Path) -> None:
    generator = tmp_path / "generator.js"
    generator.write_text(program)
    with Bridge.start(packages) as bridge:
        with pytest.raises(BridgeLostError, match=rf"{op}: .*no ground today"):
            opened_and_joined(bridge, generator)
        assert gone(bridge.pid)


def test_cells_or_a_saved_world(packages: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not with both"):
        JsServer(CELLS, world=tmp_path, packages=packages)
    with pytest.raises(DataError, match="no such folder"):
        JsServer(world=tmp_path / "none", packages=packages)
    with pytest.raises(DataError, match="no saved world that can be copied"):
        JsServer(world=tmp_path, packages=packages)


def test_two_of_one_name_are_not_let_in_to_take_each_others_commands(packages: Path) -> None:
    with JsServer(packages=packages) as server:
        with pytest.raises(WorldError, match="already connected"):
            JavaServer("127.0.0.1", server.port, name=server.name, packages=packages)
        assert server.teleport(3.5, 5, 3.5)[0] == 3.5
        server.leave()
        with JavaServer("127.0.0.1", server.port, name=server.name, packages=packages) as other:
            assert other.teleport(2.5, 5, 2.5)[0] == 2.5


def test_a_bot_is_not_put_at_no_number(packages: Path) -> None:
    with JsServer(packages=packages) as server, pytest.raises(WorldError, match="not finite"):
        server.teleport(float("nan"), 5, 1)
