"""Blueprints into a world by commands: few of them, all cells compared, and what a world does to them told."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.minecraft.bridge import BridgeError
from worldgauge.worlds.minecraft.building import MOST_LOOKS, CellDifference, blueprint_of, build, compare
from worldgauge.worlds.minecraft.cells import AIR, Cells, split_state, state_text
from worldgauge.worlds.minecraft.regions import Box, Corner, read_cells, write_world

DEFAULTS = {
    "air": {},
    "stone": {},
    "glass": {},
    "sand": {},
    "dirt": {},
    "torch": {},
    "grass": {},
    "short_grass": {},
    "oak_log": {"axis": "y"},
    "oak_stairs": {"facing": "north", "half": "bottom", "shape": "straight", "waterlogged": "false"},
    "oak_slab": {"type": "bottom", "waterlogged": "false"},
    "oak_door": {"facing": "north", "half": "lower", "hinge": "left", "open": "false", "powered": "false"},
}


class MemoryPlace:
    """A world in memory with the game's commands: its limits, its messages, its defaults."""

    version = "1.20.4"

    def __init__(self, lost: Sequence[Corner] = (), bent: dict[str, str] | None = None) -> None:
        self.cells: dict[Corner, str] = {}
        self.sent: list[str] = []
        self.looks = self.items = 0
        self._lost, self._bent = set(lost), bent or {}

    def full_states(self, states: Sequence[str]) -> list[str]:
        return [self._full(text) for text in states]

    def commands(self, texts: Sequence[str]) -> list[str]:
        self.sent += texts
        return [self._run(*text.split()) for text in texts]

    def _run(self, verb: str, *words: str) -> str:
        if verb == "kill":
            if not self.items:
                raise BridgeError("command", "No entity was found")
            self.items = 0
            return "Killed Item"
        x, y, z, *rest = map(int, words[:-1])
        low, high = (x, y, z), tuple(rest) or (x, y, z)
        size = [b - a + 1 for a, b in zip(low, high, strict=True)]
        assert verb == ("fill" if rest else "setblock")
        if not 1 <= math.prod(size) <= 32768:
            raise BridgeError("command", f"Too many blocks in the specified area: {math.prod(size)}")
        cells = [(x + i, y + j, z + k) for i, j, k in np.ndindex(*size)]
        full = self._full(words[-1])
        if all(self.cells.get(cell, AIR) == full for cell in cells):
            raise BridgeError("command", "No blocks were filled")
        for cell in cells:
            self._put(cell, full)
        return ""

    def read(self, box: Box) -> Cells:
        self.looks += 1
        low, high = box
        size = [b - a + 1 for a, b in zip(low, high, strict=True)]
        palette = {AIR: 0}
        index = np.zeros(size, np.uint16)
        for cell in np.ndindex(*size):
            text = self.cells.get((low[0] + cell[0], low[1] + cell[1], low[2] + cell[2]), AIR)
            index[cell] = palette.setdefault(text, len(palette))
        return Cells(low, tuple(palette), index)

    def _put(self, pos: Corner, full: str) -> None:
        if not 0 <= pos[1] <= 255:
            raise BridgeError("command", "That position is out of this world")
        if pos not in self._lost or full == AIR:
            self.cells[pos] = self._bent.get(full, full)

    def _full(self, text: str) -> str:
        name, states = split_state(text)
        if name not in DEFAULTS or set(states) - set(DEFAULTS[name]):
            raise WorldError(f"Unknown block type '{text}'")
        return state_text(name, DEFAULTS[name] | states)


def house(rng: np.random.Generator, size: tuple[int, int, int] = (8, 8, 8)) -> Blueprint:
    materials = ("stone", "oak_stairs[facing=east,half=top]", "minecraft:oak_log[axis=x]", "oak_slab[type=top]", "dirt")
    return Blueprint(rng.integers(1, len(materials) + 1, size=size), materials)


def test_every_cell_of_a_build_is_as_planned() -> None:
    place = MemoryPlace()
    assert build(house(np.random.default_rng(0)), (100, 64, -20), place) == (512, 0, 0, ())
    assert place.cells[100, 64, -20].startswith("minecraft:")
    assert place.looks == 2, "before and after"
    assert set(place.cells) == {(100 + x, 64 + y, -20 + z) for x, y, z in np.ndindex(8, 8, 8)}


@pytest.mark.parametrize("seed", range(8))
def test_boxes_of_every_shape_and_cells_of_air(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = np.repeat(np.repeat(rng.integers(-1, 3, size=(3, 4, 5)), 2, axis=seed % 3), 3, axis=(seed + 1) % 3)
    blueprint = Blueprint(np.where(runs == 0, -1, runs), ("stone", "oak_log[axis=z]"))
    place = MemoryPlace()
    assert build(blueprint, (-7, 40, 3), place) == (blueprint.blocks, 0, 0, ())
    assert len(place.sent) < blueprint.blocks / 3


def test_axes_are_height_depth_width() -> None:
    place = MemoryPlace()
    build(
        Blueprint.of([[[1, 2, -1], [3, -1, -1]], [[4, -1, -1], [-1] * 3]], ["stone", "glass", "sand", "dirt"]),
        (0, 9, 0),
        place,
    )
    solid = {cell: text.removeprefix("minecraft:") for cell, text in place.cells.items() if text != AIR}
    assert solid == {(0, 9, 0): "stone", (1, 9, 0): "glass", (0, 9, 1): "sand", (0, 10, 0): "dirt"}


def test_what_stood_there_is_cleared_and_nothing_beside_it_is_touched() -> None:
    place = MemoryPlace()
    place.commands(["fill -1 63 -1 3 67 3 minecraft:dirt"])
    build(Blueprint.of([[[1, -1], [-1, -1]]] * 2, ["stone"]), (0, 64, 0), place)
    inside = {cell for cell in place.cells if all(0 <= a - b < 2 for a, b in zip(cell, (0, 64, 0), strict=True))}
    assert {place.cells[cell] for cell in place.cells.keys() - inside} == {"minecraft:dirt"}
    assert sorted(place.cells[cell] for cell in inside) == [AIR] * 6 + ["minecraft:stone"] * 2
    assert place.sent[-1] == "kill @e[type=item,x=0,y=64,z=0,dx=1,dy=1,dz=1]"


def test_items_on_the_ground_are_taken_away_and_a_lost_bot_is_heard() -> None:
    place = MemoryPlace()
    place.items = 3
    assert build(Blueprint.of([[[1]]], ["stone"]), (0, 64, 0), place).right == 1
    assert place.items == 0

    class Kicked(MemoryPlace):
        def _run(self, verb: str, *words: str) -> str:
            if verb == "kill":
                raise BridgeError("kicked", "'walker' was kicked")
            return super()._run(verb, *words)

    with pytest.raises(BridgeError, match="was kicked"):
        build(Blueprint.of([[[1]]], ["stone"]), (0, 64, 0), Kicked())


def test_few_commands_and_none_too_large() -> None:
    place = MemoryPlace()
    cells = np.ones((40, 40, 40), np.int32)
    cells[20, 5, 5] = 2
    built = build(Blueprint(cells, ("stone", "glass")), (0, 0, 0), place)
    assert built == (64000, 0, 0, ())
    assert len(place.sent) < 15, "64,000 cells"
    assert sum(text.startswith("setblock") for text in place.sent) == 1


def test_what_leans_comes_after_what_holds_it() -> None:
    place = MemoryPlace()
    build(Blueprint.of([[[2, 1]], [[3, 1]]], ["stone", "torch", "oak_door[half=upper]"]), (0, 64, 0), place)
    order = [text.rsplit(maxsplit=1)[1] for text in place.sent[:-1]]
    assert [text.partition("[")[0].removeprefix("minecraft:") for text in order] == ["stone", "torch", "oak_door"]


@pytest.mark.parametrize(("version", "name"), [("1.16.5", "grass"), ("1.20.4", "short_grass")])
def test_names_of_another_version_are_taken(version: str, name: str) -> None:
    place = MemoryPlace()
    place.version = version
    build(Blueprint.of([[[1, 2]]], ["grass", "short_grass"]), (0, 64, 0), place)
    assert set(place.cells.values()) == {f"minecraft:{name}"}
    assert blueprint_of(place.read(((0, 64, 0), (1, 64, 0)))) == Blueprint.of([[[1, 1]]], ["short_grass"])


def test_lost_and_bent_cells_are_told() -> None:
    stairs = "minecraft:oak_stairs[facing=east,half=top,shape=straight,waterlogged=false]"
    bent = stairs.replace("straight", "inner_left")
    place = MemoryPlace(lost=[(5, 64, 5)], bent={stairs: bent})
    built = build(Blueprint.of([[[1, 2, 1]]], ["stone", "oak_stairs[half=top,facing=east]"]), (5, 64, 5), place)
    assert (built.right, built.wrong, built.missing) == (1, 1, 1)
    assert built.differences == (
        CellDifference((5, 64, 5), "minecraft:stone", AIR),
        CellDifference((6, 64, 5), stairs, bent),
    )


class SlowPlace(MemoryPlace):
    """A world that shows what became of it only some looks later."""

    def __init__(self, late: int) -> None:
        super().__init__()
        self._late = late

    def read(self, box: Box) -> Cells:
        found = super().read(box)
        if 1 < self.looks <= self._late:
            shown = np.zeros_like(found.index)
            shown.ravel()[: self.looks] = 1
            return Cells(found.origin, (AIR, "minecraft:glass"), shown)
        return found


def test_a_build_is_judged_once_it_is_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldgauge.worlds.minecraft.building.LOOK_S", 0.0)
    place = SlowPlace(5)
    assert build(house(np.random.default_rng(0)), (0, 64, 0), place).right == 512
    assert place.looks == 6
    never = SlowPlace(10**6)
    assert build(house(np.random.default_rng(0)), (0, 64, 0), never).right == 0
    assert never.looks == MOST_LOOKS + 2
    lost = MemoryPlace(lost=[(0, 64, 0)])
    assert build(house(np.random.default_rng(0)), (0, 64, 0), lost).missing == 1
    assert lost.looks == 3, "twice the same"


def test_a_block_where_air_should_be_is_wrong() -> None:
    plan = Cells((0, 0, 0), (AIR, "minecraft:stone"), np.array([[[0, 0, 1]]], np.uint16))
    found = Cells((0, 0, 0), (AIR, "minecraft:cave_air", "minecraft:stone"), np.array([[[1, 2, 2]]], np.uint16))
    assert compare(plan, found) == (1, 1, 0, (CellDifference((0, 0, 1), AIR, "minecraft:stone"),))
    with pytest.raises(WorldError, match="read the same box"):
        compare(plan, Cells((1, 0, 0), plan.palette, plan.index))


@pytest.mark.parametrize("name", ["nosuchblock", "oak_log[facing=east]"])
def test_blocks_that_the_game_lacks_are_refused_before_anything_is_placed(name: str) -> None:
    place = MemoryPlace()
    place.commands(["fill 0 64 0 1 64 0 minecraft:dirt"])
    before = dict(place.cells), list(place.sent)
    with pytest.raises(WorldError, match="Unknown block type"):
        build(Blueprint.of([[[1, 2]]], ["stone", name]), (0, 64, 0), place)
    assert (place.cells, place.sent) == before


def test_materials_that_no_cell_has_are_not_asked_for() -> None:
    assert build(Blueprint.of([[[1, -1]]], ["stone", "nosuchblock"]), (0, 64, 0), MemoryPlace()).right == 1


def test_a_place_that_refuses_is_heard() -> None:
    place = MemoryPlace()
    with pytest.raises(UsageError, match=r"y 319 to 320 is not within -64 to 319, as a world of 1\.20\.4 is"):
        build(Blueprint.of([[[1]], [[1]]], ["stone"]), (0, 319, 0), place)
    assert not place.sent
    with pytest.raises(UsageError, match="three whole numbers"):
        build(Blueprint.of([[[1]]], ["stone"]), (0.5, 64, 0), MemoryPlace())  # type: ignore[arg-type]


def test_a_box_of_a_world_is_a_blueprint_and_builds_again() -> None:
    place = MemoryPlace()
    blueprint = house(np.random.default_rng(1), (3, 4, 5))
    build(blueprint, (7, 70, -3), place)
    found = blueprint_of(place.read(((6, 70, -3), (11, 73, 1))))
    assert tuple(found.size) == (6, 4, 5)
    assert (
        found.names_only()
        == Blueprint(
            np.pad(blueprint.cells, ((0, 1), (0, 1), (1, 0)), constant_values=-1), blueprint.materials
        ).names_only()
    )
    assert "oak_stairs[facing=east,half=top,shape=straight,waterlogged=false]" in found.materials
    assert build(found, (60, 70, 60), place)[:3] == (60, 0, 0)


@pytest.mark.parametrize("version", ["1.16.5", "1.20.4"])
def test_a_box_of_a_saved_world_is_the_same_blueprint(version: str, tmp_path: Path) -> None:
    pytest.importorskip("nbtlib")
    place, box = MemoryPlace(), ((14, 60, -3), (18, 70, 5))
    build(house(np.random.default_rng(2), (4, 4, 4)), (15, 64, -1), place)
    write_world(tmp_path / "w", place.read(box), version)
    assert blueprint_of(read_cells(tmp_path / "w", box)) == blueprint_of(place.read(box))


@pytest.mark.minecraft
@pytest.mark.parametrize("version", ["1.16.5", "1.20.4"])
def test_the_real_game_builds_and_refuses(version: str, packages: Path) -> None:
    from worldgauge.worlds.minecraft.server import JsServer

    blueprint = house(np.random.default_rng(4))
    with JsServer(version=version, packages=packages) as server:
        assert build(blueprint, (3, 6, 3), server) == (512, 0, 0, ())
        assert build(blueprint, (3, 6, 3), server.join("second")).right == 512
        with pytest.raises(WorldError, match="nosuchblock"):
            build(Blueprint.of([[[1, 2]]], ["stone", "nosuchblock"]), (3, 6, 3), server)
        read = blueprint_of(server.join("third").read(((3, 6, 3), (10, 13, 10))))
        assert read.names_only() == blueprint.names_only(), "the server lives and holds what was built"


@pytest.mark.minecraft
@pytest.mark.parametrize("version", ["1.16.5", "1.20.4"])
def test_a_saved_world_is_served_as_it_is(version: str, packages: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbtlib")
    from worldgauge.worlds.minecraft.server import JsServer

    rng = np.random.default_rng(5)
    palette = (AIR, "minecraft:stone", "minecraft:oak_log[axis=x]", "minecraft:oak_slab[type=top,waterlogged=false]")
    index = rng.integers(len(palette), size=(48, 44, 48)).astype(np.uint16)
    index[:, 4:36] = 1  # sections of one block, which the server's reader counts otherwise
    index[:16, 20:36] = 2
    cells = Cells((-24, 44, -24), palette, index)
    write_world(tmp_path / "w", cells, version)
    before = {path: path.read_bytes() for path in (tmp_path / "w").rglob("*") if path.is_file()}
    with JsServer(version=version, world=tmp_path / "w", packages=packages) as server:
        found = server.read(((-24, 44, -24), (23, 87, 23)))
    assert compare(cells, found) == (int((cells.index > 0).sum()), 0, 0, ())
    assert {path: path.read_bytes() for path in before} == before, "the server had a copy"
