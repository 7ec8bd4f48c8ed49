"""A wide box read part by part: through a bot that sees little, without a server, and through ours."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.minecraft.bridge import BridgeError
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.minecraft.places import place
from worldgauge.worlds.minecraft.regions import write_world
from worldgauge.worlds.minecraft.server import JavaServer, JsServer
from worldgauge.worlds.minecraft.survey import read_box, seed_of, survey
from worldgauge.worlds.voxel.generate import generate

PLACE = place("plains_village_1")
CENTRE = (PLACE.x, PLACE.y, PLACE.z)
STATES = (AIR, "minecraft:stone", "minecraft:sand", "minecraft:cave_air")


def textured(cells: Cells, palette: tuple[str, ...]) -> np.ndarray:
    """The cells as numbers of another palette that has all of their states."""
    return np.array([palette.index(text) if text in palette else 65535 for text in cells.palette], np.uint16)[
        cells.index
    ]


class Seer:
    """A bot over given cells (air beside them) that knows chunks from `view` before to `view` - 1 behind its own."""

    name = "seer"

    def __init__(self, cells: Cells, view: int) -> None:
        self.cells, self.view = cells, view
        self.row = np.array([3.25, 70.0, -4.5, 0, 0, 0, 1.5, -0.25, *[0.0] * 7])
        self.visits: list[tuple[float, ...]] = []

    def state(self) -> np.ndarray:
        return self.row.copy()

    def teleport(self, x, y, z, yaw=None, pitch=None, *, dimension=None):  # type: ignore[no-untyped-def]
        self.row[:3] = x, y, z
        self.row[6:8] = [self.row[6] if yaw is None else yaw, self.row[7] if pitch is None else pitch]
        self.visits.append((x, y, z, dimension))

    def read(self, box):  # type: ignore[no-untyped-def]
        low, high = box
        own = [int(self.row[axis] // 16) for axis in (0, 2)]
        spans = [range(low[axis] // 16, high[axis] // 16 + 1) for axis in (0, 2)]
        for chunk in itertools.product(*spans):
            if not all(-self.view <= c - o < self.view for c, o in zip(chunk, own, strict=True)):
                raise BridgeError("no-chunk", f"chunk {chunk} never came")
        index = np.zeros([b - a + 1 for a, b in zip(low, high, strict=True)], np.uint16)
        starts = [max(a, o) for a, o in zip(low, self.cells.origin, strict=True)]
        ends = [min(b + 1, o + n) for b, o, n in zip(high, self.cells.origin, self.cells.size, strict=True)]
        if all(a < b for a, b in zip(starts, ends, strict=True)):
            here = tuple(slice(a - o, b - o) for a, b, o in zip(starts, ends, low, strict=True))
            there = tuple(slice(a - o, b - o) for a, b, o in zip(starts, ends, self.cells.origin, strict=True))
            index[here] = self.cells.index[there]
        return Cells(low, self.cells.palette, index)


def noise(origin: tuple[int, int, int], size: tuple[int, int, int]) -> Cells:
    return Cells(origin, STATES[:3], np.random.default_rng(5).integers(0, 3, size, dtype=np.uint16))


@pytest.mark.parametrize(("view", "points"), [(12, 9), (4, 9), (3, 26), (2, 26)])
def test_however_little_it_sees_each_cell_is_read_once(view: int, points: int) -> None:
    world = noise((-200, 60, 100), (300, 3, 300))
    seer = Seer(world, view)
    told: list[tuple[int, int]] = []
    found = survey(seer, (-50, 61, 250), 150, (60, 62), progress=lambda *now: told.append(now))  # type: ignore[arg-type]
    assert found.origin == (-200, 60, 100)
    assert found.palette == (AIR, "minecraft:sand", "minecraft:stone"), "sorted"
    assert np.array_equal(textured(world, found.palette), found.index)
    assert told == sorted(told)
    assert told[-1] == (90_000, 90_000)
    assert len(seer.visits) == points + 1
    assert seer.row[[0, 1, 2, 6, 7]].tolist() == [3.25, 70.0, -4.5, 1.5, -0.25], "it ends where it began"


def test_a_chunk_that_never_comes_is_named_and_the_bot_is_back() -> None:
    seer = Seer(noise((0, 60, 0), (64, 2, 64)), 1)
    with pytest.raises(BridgeError, match=r"chunk \(0, 0\) never came") as refused:
        survey(seer, (32, 60, 32), 32, (60, 61))  # type: ignore[arg-type]
    assert refused.value.kind == "no-chunk"
    assert seer.row[:3].tolist() == [3.25, 70.0, -4.5]


@pytest.mark.parametrize("box", [((-37, 60, 11), (190, 62, 29)), ((5, 61, -90), (5, 61, 90)), ((3, 60, 3), (3, 60, 3))])
def test_a_box_of_any_form_is_read(box: tuple[tuple[int, int, int], tuple[int, int, int]]) -> None:
    world = noise((-64, 58, -96), (256, 6, 192))
    seer = Seer(world, 4)
    found = read_box(seer, box)  # type: ignore[arg-type]
    spans = [slice(a - o, b - o + 1) for a, b, o in zip(*box, world.origin, strict=True)]
    assert found.origin == box[0]
    assert np.array_equal(np.array(found.palette)[found.index], np.array(world.palette)[world.index[tuple(spans)]])
    assert seer.row[:3].tolist() == [3.25, 70.0, -4.5]


def test_another_dimension_is_named_on_every_way_there() -> None:
    seer = Seer(noise((0, 60, 0), (16, 2, 16)), 4)
    survey(seer, (8, 60, 8), 8, (60, 61), dimension="minecraft:the_end")  # type: ignore[arg-type]
    assert seer.visits == [(0.0, 250.0, 0.0, "minecraft:the_end")], "no way back: where it was is another world"


def test_without_heights_the_layers_worth_keeping_are_kept() -> None:
    """Stone from 1 to 61, on it sand up to 62; a hole in one column down to 49; one block at 80; a cave's air at 90."""
    index = np.zeros((16, 100, 16), np.uint16)
    index[:, 1:62], index[:, 62] = 1, 2
    index[3, 50:63, 7] = 0
    index[4, 80, 4], index[4, 90, 4] = 1, 3
    seer = Seer(Cells((0, 0, 0), STATES, index), 4)
    found = survey(seer, (8, 62, 8), 8)  # type: ignore[arg-type]
    assert (found.origin[1], found.size[1]) == (49 - 32, 80 + 3 - 17 + 1)
    deeper = survey(seer, (8, 40, 8), 8)  # type: ignore[arg-type]
    assert deeper.origin[1] == 40 - 32, "as deep below the place itself, where that lies under ground"
    assert survey(seer, (8, 5, 8), 8).origin[1] == 1, "but not below the lowest block"  # type: ignore[arg-type]
    assert survey(seer, (8, 62, 8), 8, (85, 95)).palette == (AIR, "minecraft:cave_air")  # type: ignore[arg-type]


def test_nothing_but_air_and_no_box_are_refused() -> None:
    seer = Seer(noise((0, 60, 0), (16, 2, 16)), 4)
    with pytest.raises(WorldError, match="no block within 8 of the centre"):
        survey(seer, (5000, 60, 0), 8)  # type: ignore[arg-type]
    for reach, heights in ((0, (0, 1)), (-5, (0, 1)), (8, (5, 4)), (10**6, (0, 255)), (2000, None)):
        with pytest.raises(UsageError, match="box"):
            survey(seer, (0, 60, 0), reach, heights)  # type: ignore[arg-type]
    assert len(seer.visits) == 2, "there and back for the first, nowhere for what is no box"


@pytest.mark.parametrize(
    ("said", "seed"),
    [
        ("Seed: [-42]", -42),
        ("<bob> i have 7 diamonds", None),
        ("<bob> Seed: [7]", None),
        ("The seed is 12", None),
        ("", None),
    ],
)
def test_only_the_server_s_own_reply_is_a_seed(said: str, seed: int | None) -> None:
    class Told:
        def command(self, text: str) -> str:
            assert text == "seed"
            return said

    assert seed_of(Told()) == seed  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def village() -> Cells:
    """A settlement around a published place: 160 x 56 x 160 cells."""
    return cells_of(generate("plains", 3, (160, 160, 56)), at=(PLACE.x - 80, 50, PLACE.z - 80))


@pytest.fixture(scope="module")
def server(village: Cells, packages: Path) -> Iterator[JsServer]:
    with JsServer(village, seed=42, packages=packages) as server:
        yield server


@pytest.mark.minecraft
def test_a_village_is_surveyed_through_a_bot_of_another_process(
    server: JsServer, village: Cells, packages: Path
) -> None:
    with JavaServer("127.0.0.1", server.port, name="guest", packages=packages) as guest:
        before = guest.state()
        found = survey(guest, CENTRE, 80, (50, 105))
        assert np.array_equal(guest.state(), before)
        assert seed_of(guest) == 42
    assert (found.origin, found.size) == (village.origin, village.size)
    assert set(found.palette) == {village.palette[i] for i in np.unique(village.index)} | {AIR}
    assert np.array_equal(textured(village, found.palette), found.index)


@pytest.mark.minecraft
def test_without_heights_a_village_is_whole(server: JsServer, village: Cells) -> None:
    found = survey(server, CENTRE, 80)
    top = 50 + int(np.flatnonzero(village.index.any(axis=(0, 2))).max())
    assert found.origin == (PLACE.x - 80, 49, PLACE.z - 80), "from the barrier under it"
    assert found.origin[1] + found.size[1] == top + 4
    assert np.array_equal(found.index[:, 1:], textured(village, found.palette)[:, : found.size[1] - 1])


@pytest.mark.minecraft
def test_a_saved_village_is_surveyed(village: Cells, packages: Path, tmp_path: Path) -> None:
    nbtlib = pytest.importorskip("nbtlib")
    write_world(tmp_path / "world", village)
    level = nbtlib.load(tmp_path / "world" / "level.dat")
    level["Data"]["RandomSeed"] = nbtlib.Long(-6_000_000_000_000_000_001)  # more than a float64 holds
    level.save()
    with JsServer(world=tmp_path / "world", seed=7, packages=packages) as server:
        found = survey(server, CENTRE, 80, (50, 105))
        assert seed_of(server) == -6_000_000_000_000_000_001
    assert np.array_equal(textured(village, found.palette), found.index)


@pytest.mark.minecraft
def test_a_seed_that_is_not_told(server: JsServer) -> None:
    second = server.join("second")
    with pytest.raises(BridgeError, match="Deopped second"):  # the server's way to say that it is done
        server.command("deop second")
    assert seed_of(second) is None
    second.leave()
