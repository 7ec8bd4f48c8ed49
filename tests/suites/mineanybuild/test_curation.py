"""Structure files and marked boxes to a data set: what is written, what is left out and why, and by whom it is told."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import nbt_bytes as nbt
from support.folders import contents
from support.vectors import cases
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import EndpointError
from worldgauge.core.errors import DataError, UsageError
from worldgauge.suites.mineanybuild import format as build
from worldgauge.suites.mineanybuild.agents import read_layers
from worldgauge.suites.mineanybuild.curation import curate
from worldgauge.suites.mineanybuild.format_reader import load
from worldgauge.suites.mineanybuild.format_statistics import check
from worldgauge.suites.mineanybuild.generate.instructions import MAX_CHAT_WORDS, structure_json
from worldgauge.worlds.blocks.blueprint import Blueprint, difficulty_factor, material
from worldgauge.worlds.blocks.structure_files import read_region_box, write_nbt, write_schem
from worldgauge.worlds.blocks.views import picture

SIZE_PX = 64


def hut(width: int = 5, depth: int = 4) -> Blueprint:
    """Walls of planks with a window and a flat roof of stairs."""
    cells = np.full((4, depth, width), 1, np.int32)
    cells[1:3, 1:-1, 1:-1] = -1
    cells[1, 0, 2] = 2
    cells[3] = 3
    stairs = material("oak_stairs", {"facing": "north", "half": "bottom", "shape": "straight", "waterlogged": False})
    return Blueprint(cells, ("oak_planks", "glass", stairs))


def padded(blueprint: Blueprint) -> Blueprint:
    return Blueprint(np.pad(blueprint.cells, ((2, 1), (0, 3), (1, 0)), constant_values=-1), blueprint.materials)


def turned(blueprint: Blueprint) -> Blueprint:
    return Blueprint(np.rot90(blueprint.cells, 1, (1, 2)), blueprint.materials)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two that pass, one copy, two that fail a filter, and one that is none."""
    root = tmp_path / "source"
    (root / "Houses").mkdir(parents=True)
    write_nbt(root / "Houses" / "Miller's Hut.nbt", padded(hut()))
    write_schem(root / "long hut.schem", hut(9))
    write_schem(root / "turned-hut.schem", turned(hut()), version=3)
    write_nbt(root / "dot.nbt", Blueprint.of([[[1]]], ["stone"]))
    odd = Blueprint(hut().cells, ("oak_planks", "glass", "no_such_block"))
    nbt.put(root / "odd.nbt", nbt.root(nbt.structure(odd)))
    (root / "broken.litematic").write_bytes(b"\x1f\x8b nothing")
    (root / "notes.txt").write_text("not a structure")
    return root


def select_structures(source: Path, out: Path, **more: Any) -> Any:
    return curate(source, out, size_px=SIZE_PX, **more)


def test_a_folder_becomes_a_data_set(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    seen: list[tuple[int, int, str]] = []
    made = select_structures(source, out, progress=lambda *told: seen.append(told))
    assert made.accepted == ("millers_hut", "long_hut")
    assert {name: [one.reason for one in why] for name, why in made.rejected.items()} == {
        "dot": ["few_blocks", "few_materials"],
        "odd": ["unknown_names"],
    }
    assert made.duplicates == {"turned_hut": "millers_hut"}
    assert list(made.unreadable) == ["broken"]
    assert made.tasks == 12
    assert seen == [(1, 2, "millers_hut"), (2, 2, "long_hut")]

    data = load(out)
    assert (data.faults, data.warnings, len(data)) == ((), (), 12)
    one, other = data.architectures.values()
    assert one.blueprint == hut(), "the air around it is cut off"
    assert (one.type, other.type) == ("houses", None)
    assert one.difficulty == difficulty_factor(one.blueprint.blocks, one.blueprint.size)
    np.testing.assert_array_equal(build.read_image(out, str(one.image)), picture(one.blueprint, size_px=SIZE_PX))
    assert [task.variant for task in data.tasks["planning"]] == ["detailed", "simple"] * 2
    assert all("millers hut" in task.instruction.lower() for task in data.tasks["creativity"][:3])
    assert len({task.instruction for task in data.tasks["creativity"]}) == 6
    assert data.tasks["planning"][1].instruction == data.tasks["creativity"][0].instruction
    assert all(task.images == () for task in data.tasks["creativity"])
    for task in data.tasks["understanding"]:
        listed = read_layers(task.instruction, task.materials, (50, 80, 80))
        assert listed.built == data.architectures[str(task.architecture)].blueprint
    report = check(out, decode=True)
    assert not [finding for finding in report.findings if finding.severity != "info"]
    assert report.n_frames == 2


def test_the_report_says_what_became_of_every_structure(source: Path, tmp_path: Path) -> None:
    select_structures(source, tmp_path / "out")
    told = json.loads((tmp_path / "out/curation.json").read_text())
    first = told["accepted"][0]
    assert (first["origin"], first["size"], first["cut_from"]) == ("Houses/Miller's Hut.nbt", [5, 4, 4], [6, 7, 7])
    assert (first["instruction"], first["flags"], first["blocks"]) == ("template", {}, hut().blocks)
    assert told["rejected"][1]["reasons"] == [
        {"reason": "unknown_names", "text": "has names that the game (1.20.4) does not know: no_such_block"}
    ]
    assert told["duplicates"] == [{"name": "turned_hut", "origin": "turned-hut.schem", "of": "millers_hut"}]
    assert told["unreadable"][0]["origin"] == "broken.litematic"
    assert str(tmp_path) not in json.dumps(told), "the same wherever the source lay"
    assert told["renderer"]["palette"]


def test_the_same_source_gives_the_same_bytes_and_seeds_other_words(source: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        select_structures(source, tmp_path / name, seed=seed)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    lines = [[task.instruction for task in load(tmp_path / name).tasks["creativity"]] for name in ("one", "three")]
    assert lines[0] != lines[1]


def test_curating_again_leaves_nothing_of_before(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    select_structures(source, out)
    (source / "long hut.schem").unlink()
    select_structures(source, out)
    assert [path.name for path in (out / "data/images/own").iterdir()] == ["millers_hut.png"]
    assert len(load(out).architectures) == 1


def test_a_reason_can_be_waived(source: Path, tmp_path: Path) -> None:
    write_nbt(source / "wool.nbt", Blueprint.of([[[1] * 9]], ["red_wool"]))
    assert "wool" in select_structures(source, tmp_path / "strict").rejected
    assert "wool" in select_structures(source, tmp_path / "waived", waive=["few_materials"]).accepted


def test_names_that_are_alike_are_told_apart(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "more").mkdir(parents=True)
    write_nbt(source / "A hut.nbt", hut())
    write_nbt(source / "a-hut.nbt", hut(6))
    write_nbt(source / "more" / "a_hut.nbt", hut(7))
    write_nbt(source / "\N{CJK UNIFIED IDEOGRAPH-5BB6}.nbt", hut(8))
    assert set(select_structures(source, tmp_path / "out").accepted) == {"a_hut", "a_hut_2", "a_hut_3", "structure"}


def test_names_that_are_no_text_are_written_as_text(tmp_path: Path) -> None:
    """A file name of bytes that are no UTF-8, as old archives have, and half a letter in the JSON of boxes."""
    source = tmp_path / "source"
    source.mkdir()
    odd = os.fsdecode(os.fsencode(source) + b"/caf\xe9")
    write_nbt(Path(f"{odd}.nbt"), hut())
    Path(f"{odd}.schem").write_bytes(b"nothing")
    made = select_structures(source, tmp_path / "out")
    assert (made.accepted, list(made.unreadable)) == (("caf",), ["caf_2"])
    (one,) = load(tmp_path / "out").architectures.values()
    assert one.metadata == "caf?.nbt"
    world = tmp_path / "world"
    _write_world(world, _placed(hut(), (0, 64, 0)))
    row = {"start_pos": [0, 64, 0], "end_pos": [4, 67, 3], "description": "a hut \ud800", "metadata": "\udfff"}
    (tmp_path / "boxes.json").write_text(json.dumps({"half \ud800": row, "none \ud800": 3}))
    select_structures(world, tmp_path / "of_world", boxes=tmp_path / "boxes.json")
    (one,) = load(tmp_path / "of_world").architectures.values()
    assert (one.name, one.description, one.metadata) == ("half", "a hut ?", "?")


@pytest.mark.parametrize("case", cases("build_curation", "cases"))
def test_boxes_of_a_world_are_those_of_the_vectors(case: dict[str, Any], tmp_path: Path) -> None:
    _write_world(tmp_path, {(x, y, z): _text(name, states) for x, y, z, name, states in case["blocks"]}, case["blocks"])
    found, expect = read_region_box(tmp_path, case["start_pos"], case["end_pos"]), case["expect"]
    assert found.rows() == expect["blueprint_with_states"]
    assert list(found.materials) == expect["materials_with_states"]
    assert found.size._asdict() == expect["3d_info"]
    assert found.blocks == expect["block_amount"]
    assert found.names_only().rows() == expect["blueprint_names_only"]
    assert list(found.names_only().materials) == expect["materials_names_only"]
    assert difficulty_factor(found.blocks, found.size) == expect["difficulty_factor"]


def test_marked_boxes_become_a_data_set(tmp_path: Path) -> None:
    world = tmp_path / "world"
    blocks = _placed(hut(), (-3, 64, 500)) | _placed(hut(8), (20, 70, 505))
    _write_world(world, blocks)
    boxes = {
        "Hut": {"metadata": "minecraft:village/hut", "start_pos": [-3, 64, 500], "end_pos": [1, 67, 503]},
        "long": {
            "start_pos": {"x": 20, "y": 70, "z": 505},
            "end_pos": [27, 73, 508],
            "type": "houses",
            "biome": "taiga",
        },
        "half": {"start_pos": [20, 70, 505], "end_pos": [20, 70, 505]},
        "far": {"start_pos": [9000, 0, 0], "end_pos": [9001, 1, 1]},
        "upside down": {"start_pos": [1, 1, 1], "end_pos": [0, 0, 0]},
        "torn": {"start_pos": [1, 1], "end_pos": [0, 0, 0]},
    }
    (tmp_path / "boxes.json").write_text(json.dumps(boxes))
    made = select_structures(world, tmp_path / "out", boxes=tmp_path / "boxes.json")
    assert made.accepted == ("hut", "long")
    assert list(made.rejected) == ["half"]
    assert set(made.unreadable) == {"far", "upside_down", "torn"}
    assert "start_pos" in made.unreadable["torn"]
    assert "is empty" in made.unreadable["upside_down"]
    data = load(tmp_path / "out")
    first, second = data.architectures.values()
    assert (first.blueprint, first.metadata, first.source) == (hut(), "minecraft:village/hut", "saved world")
    assert (second.blueprint, second.type, second.biome) == (hut(8), "houses", "taiga")


def scripted(reply: str) -> tuple[ScriptedChat, list[str]]:
    """A model that always replies the same, and what it is asked."""
    asked: list[str] = []

    def write(question: ChatQuestion) -> str:
        asked.append("".join(str(part) for message in question.messages for part in message.parts))
        return reply

    return ScriptedChat(write), asked


def writer(out: Path) -> str:
    return json.loads((out / "curation.json").read_text())["accepted"][0]["instruction"]


def test_a_model_may_write_and_is_shown_the_structure(source: Path, tmp_path: Path) -> None:
    words = "Lay a floor of oak planks, raise walls around it,\nleave one window, and cover all with oak stairs."
    chat, asked = scripted(words)
    select_structures(source, tmp_path / "out", instructions=chat)
    data = load(tmp_path / "out")
    detailed = [task.instruction for task in data.tasks["planning"] if task.variant == "detailed"]
    assert detailed == [words.replace("\n", " ")] * 2
    assert structure_json(next(iter(data.architectures.values())).blueprint) in asked[0]
    assert "millers hut" in asked[0]
    assert writer(tmp_path / "out").startswith("instruction-writer/")
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "instruction-writer.txt").write_text("Say in one sentence how to build $name: $structure")
    chat, asked = scripted("Put up four walls of planks with one window and a roof of stairs over all of it.")
    select_structures(source, tmp_path / "own", instructions=chat, prompts=prompts)
    assert asked[0].startswith("Say in one sentence how to build millers hut: {")
    assert writer(tmp_path / "own").startswith("instruction-writer/own@")


@pytest.mark.parametrize(
    "reply",
    [
        "Too short.",
        "word " * (MAX_CHAT_WORDS + 1),
        "Put planks at (0, 1, 2) and then go on with the walls and the roof.",
        "- floor of planks for the whole house\n- walls of planks\n- a roof of stairs",
        "Build it as ```json [[[1]]]``` shows, with walls and a roof of stairs on top.",
    ],
)
def test_words_that_are_no_instruction_are_asked_for_again_then_ours_are_taken(
    source: Path, tmp_path: Path, reply: str
) -> None:
    chat, asked = scripted(reply)
    select_structures(source, tmp_path / "out", instructions=chat)
    select_structures(source, tmp_path / "plain")
    assert len(asked) == 6, "three asks for each of two structures"
    mine, plain = (load(tmp_path / name).tasks["planning"] for name in ("out", "plain"))
    assert mine == plain
    assert writer(tmp_path / "out").startswith("template (")


def test_an_outage_of_the_model_stops_and_writes_no_data_set(source: Path, tmp_path: Path) -> None:
    with pytest.raises(EndpointError):
        select_structures(source, tmp_path / "out", instructions=ScriptedChat([EndpointError("down")]))
    with pytest.raises(DataError):
        load(tmp_path / "out")


def test_what_cannot_be_meant_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="64 to 2048 px"):
        curate(source, tmp_path / "out", size_px=1)
    with pytest.raises(UsageError, match="language model"):
        select_structures(source, tmp_path / "out", prompts=tmp_path)
    with pytest.raises(UsageError, match="no reason"):
        select_structures(source, tmp_path / "out", waive=["ugly"])
    build.write(tmp_path / "mine", [], [])
    with pytest.raises(UsageError, match="not curated here"):
        select_structures(source, tmp_path / "mine")
    with pytest.raises(DataError, match="for a world, give its boxes too"):
        select_structures(tmp_path / "mine", tmp_path / "out")
    with pytest.raises(DataError, match="no such folder"):
        select_structures(tmp_path / "nowhere", tmp_path / "out")
    only = tmp_path / "only"
    only.mkdir()
    write_nbt(only / "dot.nbt", Blueprint.of([[[1]]], ["stone"]))
    with pytest.raises(DataError, match=r"none of 1 structures can be used \(first: dot has 1 blocks"):
        select_structures(only, tmp_path / "out")
    (tmp_path / "boxes.json").write_text("[]")
    with pytest.raises(DataError, match="boxes by name"):
        select_structures(source, tmp_path / "out", boxes=tmp_path / "boxes.json")
    assert not (tmp_path / "out").exists()


def _placed(blueprint: Blueprint, at: tuple[int, int, int]) -> dict[tuple[int, int, int], str]:
    named = blueprint.named()
    return {
        (at[0] + x, at[1] + y, at[2] + z): str(named[y, z, x])
        for y, z, x in np.ndindex(*blueprint.cells.shape)
        if named[y, z, x] != "air"
    }


def _text(name: str, states: Mapping[str, Any]) -> str:
    return material(name, {key: value for key, value in states.items() if key != "final_state"})


def _write_world(folder: Path, blocks: Mapping[tuple[int, int, int], str], told: list[list[Any]] | None = None) -> None:
    """Region files of blocks; jigsaws among `told` have their final state in the chunk's own data."""
    finals: dict[tuple[int, int], list[nbt.Tag]] = {}
    for x, y, z, _, states in told or []:
        if "final_state" in states:
            own = {"x": nbt.integer(x), "y": nbt.integer(y), "z": nbt.integer(z)}
            finals.setdefault((x // 16, z // 16), []).append(
                nbt.compound({**own, "final_state": nbt.text(states["final_state"])})
            )
    files: dict[tuple[int, int], dict[tuple[int, int], Any]] = {}
    for (cx, cz), chunk in nbt.world_chunks(blocks).items():
        more = {"block_entities": nbt.listed(finals[cx, cz])} if (cx, cz) in finals else {}
        files.setdefault((cx // 32, cz // 32), {})[cx, cz] = {**chunk, **more}
    (folder / "region").mkdir(parents=True)
    for (rx, rz), chunks in files.items():
        (folder / "region" / f"r.{rx}.{rz}.mca").write_bytes(nbt.region_file(chunks))
