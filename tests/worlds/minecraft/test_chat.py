"""What answers a command and what is only said: messages of the game's own server, as Mineflayer hands them on."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from worldgauge.worlds.minecraft.install import BRIDGE_FOLDER, find_node

PROGRAM = """
const { replyOf } = require(process.argv[1])
const kinds = {}
for (const version of ['1.16.5', '1.20.4']) {
  const registry = require('prismarine-registry')(version)
  if (registry.loginPacket.dimensionCodec) registry.loadDimensionCodec(registry.loginPacket.dimensionCodec)
  kinds[version] = require('prismarine-chat')(registry)
}
const rows = JSON.parse(require('fs').readFileSync(0))
console.log(JSON.stringify(rows.map(({ version, position, sender, said }) => {
  const Message = kinds[version]
  const message = 'type' in said ? Message.fromNetwork(said.type, said) : Message.fromNotch(JSON.stringify(said))
  return replyOf(message, position, sender ?? undefined)
})))
"""
NOBODY = "00000000-0000-0000-0000-000000000000"
BOB = "11111111-2222-3333-4444-555555555555"


def key(name: str, *words: Any, **style: Any) -> dict[str, Any]:
    return {"translate": name, "with": list(words), **style}


def red(*parts: Any) -> dict[str, Any]:
    """How the game's server sends a failure."""
    return {"color": "red", "text": "", "extra": list(parts)}


SEED = key("commands.seed.success", key("chat.square_brackets", {"text": "-42"}, color="green"))
HERE = ({"color": "gray", "text": "fil"}, key("command.context.here", color="red", italic=True))

REPLIES = [
    (SEED, "Seed: [-42]", False),
    (key("commands.seed.success", {"text": "[", "extra": [{"text": "7"}, {"text": "]"}]}), "Seed: [7]", False),
    (key("commands.setblock.success", "1", "2", "3"), "Changed the block at 1, 2, 3", False),
    (key("commands.gamemode.success.self", key("gameMode.creative")), "Set own game mode to Creative Mode", False),
    (
        key("commands.teleport.success.location.single", {"text": "bob"}, "1.5", "2.0", "3.5"),
        "Teleported bob to 1.5, 2.0, 3.5",
        False,
    ),
    (red(key("argument.entity.notfound.entity")), "No entity was found", True),
    (red(key("commands.fill.failed")), "No blocks were filled", True),
    (red(key("commands.setblock.failed")), "Could not set the block", True),
    (red(key("argument.pos.unloaded")), "That position is not loaded", True),
    (red(key("command.unknown.command")), "Unknown or incomplete command, see below for error", True),
    (red(*HERE), "fil<--[HERE]", True),
    (key("command.unknown.command"), "Unknown or incomplete command, see below for error", True),
]
UNASKED = [
    key("chat.type.admin", {"text": "bob"}, SEED, color="gray", italic=True),
    key("chat.type.advancement.task", {"text": "bob"}, {"text": "[Stone Age]"}),
    key("commands.message.display.incoming", {"text": "bob"}, {"text": "Seed: [7]"}, color="gray", italic=True),
    key("multiplayer.player.joined", {"text": "bob"}, color="yellow"),
    key("multiplayer.player.left", {"text": "bob"}, color="yellow"),
    key("death.attack.fall", {"text": "bob"}),
    key("sleep.players_sleeping", "1", "2"),
    key("gameMode.changed", key("gameMode.survival")),
    {"text": "<bob> Seed: [7]"},  # of servers that write it out themselves
]
CHAT_1_16 = [
    key("chat.type.text", {"text": "bob"}, "i have 7 diamonds"),
    key("chat.type.announcement", {"text": "bob"}, {"text": "Seed: [7]"}),
    key("chat.type.emote", {"text": "bob"}, "digs"),
]
CHAT_1_20 = [
    {"type": kind, "sender": {"text": "bob"}, "target": {"text": "walker"}, "content": {"text": "Seed: [7]"}}
    for kind in range(7)
]


def heard(packages: Path, rows: list[dict[str, Any]]) -> list[Any]:
    done = subprocess.run(
        [str(find_node()), "-e", PROGRAM, str(BRIDGE_FOLDER / "chat.js")],
        input=json.dumps(rows),
        env={**os.environ, "NODE_PATH": str(packages / "node_modules")},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def row(said: Any, version: str, position: str = "system", sender: str | None = None) -> dict[str, Any]:
    return {"version": version, "position": position, "sender": sender, "said": said}


@pytest.mark.minecraft
@pytest.mark.parametrize("version", ["1.16.5", "1.20.4"])
def test_replies_of_the_games_own_server(version: str, packages: Path) -> None:
    filled = {"1.16.5": "Successfully filled 8 blocks", "1.20.4": "Successfully filled 8 block(s)"}[version]
    replies = [*REPLIES, (key("commands.fill.success", "8"), filled, False)]
    expected = [{"text": text, "failed": failed} for _, text, failed in replies]
    assert heard(packages, [row(said, version) for said, _, _ in replies]) == expected


@pytest.mark.minecraft
def test_what_is_only_said_is_no_reply(packages: Path) -> None:
    rows = [row(said, version) for said in UNASKED for version in ("1.16.5", "1.20.4")]
    rows += [row(said, "1.16.5", "chat", BOB) for said in CHAT_1_16]
    rows += [row(said, "1.20.4", "chat", sender) for said in CHAT_1_20 for sender in (BOB, None)]
    rows += [row({"text": "Seed: [7]"}, version, "game_info") for version in ("1.16.5", "1.20.4")]
    assert [one["said"] for one, reply in zip(rows, heard(packages, rows), strict=True) if reply is not None] == []


@pytest.mark.minecraft
def test_replies_of_the_server_of_ours_come_as_chat_of_nobody(packages: Path) -> None:
    rows = [row({"text": "", "extra": [{"text": "Changed", "color": "white"}]}, "1.16.5", "chat", NOBODY)]
    rows += [row({"text": "", "extra": [{"text": "Error: no", "color": "red"}]}, "1.16.5", "chat", NOBODY)]
    rows += [row({"text": "&cError: no"}, "1.20.4")]
    assert heard(packages, rows) == [{"text": "Changed", "failed": False}, *[{"text": "Error: no", "failed": True}] * 2]


@pytest.mark.minecraft
@pytest.mark.parametrize("version", ["1.16.5", "1.20.4"])
def test_chat_takes_no_reply_s_place(version: str, packages: Path) -> None:
    from worldgauge.worlds.minecraft.server import JsServer

    with JsServer(version=version, seed=3, packages=packages) as server:
        said = server.ask("say", {"texts": ["i have 7 diamonds", "/seed", "/fill 1"], "wait_ms": 300}).ok
    assert [(one["text"].partition(":")[0], one["failed"]) for one in said["messages"]] == [
        ("Seed", False),
        ("Error", True),
    ]
