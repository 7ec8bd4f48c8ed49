"""A server that the user runs: its version, the bot's rights, and a bot that others move; ours plays it."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.minecraft.bridge import BridgeError
from worldgauge.worlds.minecraft.cells import AIR
from worldgauge.worlds.minecraft.offline import COLUMNS, BotGoal
from worldgauge.worlds.minecraft.server import (
    SERVER_VERSIONS,
    JavaServer,
    JsServer,
    Online,
    Player,
    address,
    known,
    try_commands,
)
from worldgauge.worlds.minecraft.survey import seed_of
from worldgauge.worlds.voxel.player import Action

SERVER_VARIABLE = "WORLDGAUGE_MINECRAFT_SERVER"
COMMANDS = ("gamemode", "tp", "execute", "fill", "setblock")
UNKNOWN = "Unknown or incomplete command, see below for error"


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


class Told(Player):
    """A bot whose server answers a command with what `answers` holds by its first word, as an error."""

    def __init__(self, answers: dict[str, str], kind: str = "command") -> None:
        self.name, self.answers, self.kind, self.given = "walker", answers, kind, []

    def command(self, text: str) -> str:
        self.given.append(text)
        if said := self.answers.get(text.split()[0]):
            raise BridgeError(self.kind, f"'/{text}': {said}")
        return ""


@pytest.mark.parametrize("missing", COMMANDS)
@pytest.mark.parametrize(
    "said", [UNKNOWN, 'Unknown command. Type "/help" for help.', "You do not have permission to use this command"]
)
def test_the_command_that_is_missing_is_named(missing: str, said: str) -> None:
    player = Told({missing: said})
    with pytest.raises(WorldError, match=f"'walker' may not give the command /{missing} .*'op walker'"):
        try_commands(player)
    assert [text.split()[0] for text in player.given] == list(COMMANDS[: COMMANDS.index(missing) + 1])


def test_other_answers_mean_that_a_command_may_be_given() -> None:
    player = Told({"fill": "No blocks were filled", "setblock": "Could not set the block", "tp": "Out of this world"})
    try_commands(player)
    assert len(player.given) == len(COMMANDS)
    with pytest.raises(BridgeError, match="kicked"):
        try_commands(Told({"gamemode": "kicked"}, kind="kicked"))


def test_versions() -> None:
    assert [known(version) for version in SERVER_VERSIONS] == list(SERVER_VERSIONS) == ["1.16.5", "1.20.4"]
    assert (known("1.16.4"), known("1.20.3")) == SERVER_VERSIONS, "of one protocol: a bot cannot tell them apart"
    for version in ("1.16.3", "1.20.2", "1.21.1", "1.8.8"):
        with pytest.raises(WorldError, match=re.escape(f"it runs {version}, whose blocks are not known")):
            known(version)


def test_addresses() -> None:
    assert address("localhost") == ("localhost", 25565)
    assert address("10.0.0.7:1234") == ("10.0.0.7", 1234)
    for text in ("", ":1", "a:", "a:0", "a:65536", "a:b", "a:1:2", "a:\u0661"):
        with pytest.raises(UsageError, match="is no server"):
            address(text)


@pytest.mark.minecraft
@pytest.mark.parametrize("version", SERVER_VERSIONS)
def test_a_server_of_the_users(version: str, packages: Path) -> None:
    with JsServer(version=version, seed=-42, packages=packages) as server:
        with JavaServer("127.0.0.1", server.port, name="guest", packages=packages) as guest:
            assert (guest.version, seed_of(guest)) == (version, -42)
            guest.teleport(900.5, 5, 300.5)
            assert guest.read(((900, 3, 300), (900, 4, 300))).palette[-1] == "minecraft:grass_block[snowy=false]"
            with pytest.raises(BridgeError, match=r"This server has no minecraft:the_nether, only minecraft:overworld"):
                guest.teleport(900.5, 5, 300.5, dimension="minecraft:the_nether")
            assert guest.teleport(0.5, 5, 0.5, dimension="minecraft:overworld")[0] == 0.5
        assert gone(guest._bridge.pid)


@pytest.mark.minecraft
def test_a_server_that_cannot_be_used(packages: Path) -> None:
    with pytest.raises(WorldError, match=r"no server of the game answers at 127.0.0.1:1 .*ECONNREFUSED.*is it running"):
        JavaServer("127.0.0.1", 1, packages=packages)
    with (
        JsServer(version="1.17.1", packages=packages) as server,
        pytest.raises(WorldError, match=r"it runs 1\.17\.1, whose blocks are not known here; run 1\.16\.5 or 1\.20\.4"),
    ):
        JavaServer("127.0.0.1", server.port, name="guest", packages=packages)


@pytest.mark.minecraft
def test_a_bot_without_rights(packages: Path) -> None:
    with JsServer(packages=packages) as server:
        guest = server.join("guest")
        with pytest.raises(BridgeError, match="Deopped guest"):  # the server's way to say that it is done
            server.command("deop guest")
        with pytest.raises(WorldError, match=r"'guest' may not give the command /gamemode .*permission"):
            try_commands(guest)
        with pytest.raises(BridgeError, match="permission"):
            guest.command("execute run gamemode creative")
        try_commands(server)


@pytest.fixture(scope="module")
def pair(packages: Path) -> Iterator[tuple[JsServer, JavaServer]]:
    """A server and, in a process of its own, who moves its bot."""
    with (
        JsServer(packages=packages) as server,
        JavaServer("127.0.0.1", server.port, name="guest", packages=packages) as guest,
    ):
        yield server, guest
    assert gone(server.pid)
    assert gone(guest._bridge.pid)


@pytest.mark.minecraft
@pytest.mark.parametrize(
    "do",
    [
        lambda online: online.walk([BotGoal(30, 60, 5)]),
        lambda online: online.step([Action(forward=True, jump=True)] * 100),
    ],
    ids=["walk", "step"],
)
def test_a_bot_moved_by_another_says_so_and_holds_no_key(
    do: Callable[[Online], object], pair: tuple[JsServer, JavaServer]
) -> None:
    server, guest = pair
    server.teleport(0.5, 5, 0.5, 0.0)
    online = Online(server, server.read(((-30, 0, -30), (30, 20, 30))))
    mover = threading.Timer(0.7, guest.command, ("tp walker 4.5 5.0 -20.5",))
    mover.start()
    with pytest.raises(BridgeError, match=r"the server put the bot at .*; teleport it first") as refused:
        do(online)
    mover.join()
    assert refused.value.kind == "moved"
    assert np.abs(server.state()[:3] - [4.5, 5, -20.5]).max() < 0.5
    at_rest = server.teleport(0.5, 5, 0.5, 0.0)
    assert at_rest[:6].tolist() == [0.5, 5.0, 0.5, 0.0, at_rest[4], 0.0], "no key is held"
    assert online.step([Action()] * 5)[-1].position[:2] == online.cells.ours((0.5, 5.0, 0.5))[:2]
    assert online.walk([BotGoal(30, 32, 5)]).status == "arrived"


@pytest.fixture(scope="module")
def users(packages: Path) -> Iterator[JavaServer]:
    """The server that the user names."""
    if SERVER_VARIABLE not in os.environ:
        pytest.skip(f"{SERVER_VARIABLE} names no server, as host:port")
    with JavaServer(*address(os.environ[SERVER_VARIABLE]), packages=packages) as users:
        yield users


@pytest.mark.minecraft
def test_the_user_s_server_lets_us_in_with_rights(users: JavaServer) -> None:
    assert users.version in SERVER_VERSIONS
    try_commands(users)
    start = users.state()[:3]
    assert np.abs(users.teleport(*start.tolist())[:3] - start).max() < 0.01


@pytest.mark.minecraft
def test_the_user_s_server_is_read_built_on_and_walked_on(users: JavaServer) -> None:
    """Five blocks along a bridge of stone in the air, which is taken away again."""
    start = users.state()
    x, z = (int(v) for v in np.floor(start[[0, 2]]))
    box = (x - 1, 240, z - 6), (x + 1, 243, z + 1)
    users.teleport(x + 0.5, 241, z + 0.5)
    before = users.read(box)
    assert before.palette == (AIR,), f"the tests of a real server need the air above its spawn: {before.palette}"
    try:
        users.command(f"fill {x - 1} 240 {z - 6} {x + 1} 240 {z + 1} minecraft:stone")
        users.command(f"setblock {x + 1} 241 {z - 6} minecraft:oak_stairs[facing=east,half=top]")
        users.teleport(x + 0.5, 241, z + 0.5, 0.0)
        walked = Online(users, before).walk([BotGoal(1, 6, 1)])
        assert walked.status == "arrived"
        assert abs(walked.rows[-1, 2] - (z - 4.5)) <= 0.5
        steps = np.diff(walked.rows[:, COLUMNS.index("z")])
        assert -0.216 < steps.min() < -0.2, "as fast as the game walks"
    finally:
        users.command(f"fill {x - 1} 240 {z - 6} {x + 1} 243 {z + 1} air")
        users.teleport(*start[:3].tolist())
    users.teleport(x + 0.5, 241, z + 0.5)
    assert users.read(box).palette == (AIR,)
    users.teleport(*start[:3].tolist())
