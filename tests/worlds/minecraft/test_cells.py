"""Cells of the game: what they take, the grid file there and back, and the two frames."""

import json

import numpy as np
import pytest

from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft import cells as grid
from worldgauge.worlds.minecraft.cells import AIR, Cells

PALETTE = (AIR, "minecraft:stone", "minecraft:oak_log[axis=x]")


def some(size=(3, 4, 5), origin=(-2, 60, 7)):
    index = np.random.default_rng(1).integers(0, len(PALETTE), size).astype(np.uint16)
    return Cells(origin, PALETTE, index)


def test_the_grid_file_comes_back_as_it_went(tmp_path):
    cells = some()
    grid.write(tmp_path / "a.grid", cells)
    back = grid.read(tmp_path / "a.grid")
    assert (back.origin, back.palette) == (cells.origin, cells.palette)
    np.testing.assert_array_equal(back.index, cells.index)


def test_x_runs_fastest_in_the_file_then_z_then_y():
    cells = some()
    data = grid.to_bytes(cells)
    values = np.frombuffer(data[data.index(b"\n") + 1 :], "<u2")
    x, y, z = 1, 2, 3
    assert values[x + 3 * (z + 5 * y)] == cells.index[x, y, z]
    assert json.loads(data[: data.index(b"\n")])["size"] == [3, 4, 5]


def test_our_frame_is_x_minus_z_y_of_the_game():
    cells = Cells((0, 0, -5), PALETTE, np.zeros((3, 4, 5), np.uint16))
    assert cells.ours((1.25, 2.5, -3.75)) == (1.25, 3.75, 2.5)
    assert cells.game((1.25, 3.75, 2.5)) == (1.25, 2.5, -3.75)
    moved = some()
    assert moved.game(moved.ours((0.5, 61.0, 9.5))) == (0.5, 61.0, 9.5)
    assert moved.ours((-2.0, 60.0, 12.0)) == (0.0, 0.0, 0.0)


def test_a_bot_that_looks_west_looks_along_our_minus_x():
    assert grid.yaw_ours(np.pi / 2) == pytest.approx(np.pi)
    assert grid.yaw_bot(grid.yaw_ours(0.3)) == pytest.approx(0.3)


def test_states_are_spelled_one_way():
    text = grid.state_text("oak_stairs", {"half": "top", "facing": "east"})
    assert text == "minecraft:oak_stairs[facing=east,half=top]"
    assert grid.split_state(text) == ("oak_stairs", {"facing": "east", "half": "top"})
    assert grid.split_state("mod:thing") == ("mod:thing", {})
    for wrong in ("stone", "minecraft:oak log", "minecraft:a[b]", "minecraft:a[]", "minecraft:../a b"):
        with pytest.raises(WorldError, match="no block state"):
            grid.split_state(wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"palette": ("minecraft:stone",)}, "air first"),
        ({"palette": (AIR, "minecraft:a[c=1,b=2]", "minecraft:b")}, "form"),
        ({"palette": (AIR, "minecraft:b", "minecraft:b")}, "once"),
        ({"palette": (AIR,)}, "beyond the palette"),
        ({"origin": (0, 10**9, 0)}, "origin"),
        ({"index": np.zeros((2, 2), np.uint16)}, "size"),
        ({"index": np.zeros((2, 2, 2), np.int32)}, "uint16"),
    ],
)
def test_cells_that_contradict_themselves_are_refused(change, said):
    cells = some()
    given = {"origin": cells.origin, "palette": cells.palette, "index": cells.index} | change
    with pytest.raises(WorldError, match=said):
        Cells(**given)


def test_files_that_are_no_grid_files_are_refused_before_anything_is_allocated(tmp_path):
    data = grid.to_bytes(some())
    header = json.loads(data[: data.index(b"\n")])

    def file(**change):
        return json.dumps(header | change).encode() + data[data.index(b"\n") :]

    huge = file(size=[2**20, 2**20, 2**20])
    wrong = [b"", b"no\n", b"[]\n", data[:-1], data + b"x", file(version=2), file(size=[3, 4]), file(size="345"), huge]
    wrong += [file(palette=[1, 2, 3]), file(origin=[0, 0, 0.5]), b"[" * 10**5 + b"\n"]
    for one in wrong:
        with pytest.raises(WorldError):
            grid.from_bytes(one)
    with pytest.raises(WorldError, match="cannot read"):
        grid.read(tmp_path / "none")
