import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.colours import look_of
from worldgauge.worlds.blocks.mesh import MOST_SIDE, UNITS, Mesh, mesh_of

NORMALS = {(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)}


def of(rows, *materials: str) -> Mesh:
    return mesh_of(Blueprint(np.array(rows), materials))


def normals(mesh: Mesh) -> np.ndarray:
    """(n, 3) outward normals of the faces, of length 1 along an axis."""
    corners = mesh.quads.astype(int)
    found = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.sign(found)


def area(mesh: Mesh) -> float:
    """Of all faces, in blocks."""
    corners = mesh.quads.astype(int)
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
    return float(np.linalg.norm(cross, axis=1).sum() / UNITS**2)


def test_faces_look_out_and_lie_where_their_cells_are():
    mesh = of([[[1]]], "stone")
    assert (mesh.quads.shape, mesh.quads.dtype) == ((6, 4, 3), np.int16)
    assert (mesh.colours.shape, mesh.colours.dtype) == ((6, 4), np.uint8)
    assert not mesh.two_sided.any()
    assert {tuple(n) for n in normals(mesh).tolist()} == NORMALS
    outward = mesh.quads.mean(1) - 8
    assert ((outward * normals(mesh)).sum(1) == 8).all()
    assert set(map(tuple, mesh.quads.reshape(-1, 3).tolist())) == {
        (x, y, z) for x in (0, 16) for y in (0, 16) for z in (0, 16)
    }
    assert (mesh.colours == (*look_of("stone").side, 255)).all()
    # Places are x east y up z south.
    cells = np.full((3, 4, 5), -1)
    cells[2, 3, 4] = 1
    low = mesh_of(Blueprint(cells, ("stone",))).quads.reshape(-1, 3).min(0)
    assert (low == (4 * 16, 2 * 16, 3 * 16)).all()


def test_hidden_faces_are_left_out():
    hollow = np.ones((20, 20, 20), int)
    hollow[1:-1, 1:-1, 1:-1] = -1
    assert len(mesh_of(Blueprint(hollow, ("stone",))).quads) == 6 * 20**2 + 6 * 18**2
    # Faces of random cubes are those that touch no cube.
    rng = np.random.default_rng(3)
    for _ in range(10):
        cells = rng.choice([-1, 1, 2], (5, 6, 7))
        filled = np.pad(cells > 0, 1)
        expected = sum((filled & ~np.roll(filled, step, axis)).sum() for axis in range(3) for step in (1, -1))
        mesh = mesh_of(Blueprint(cells, ("stone", "oak_planks")))
        assert len(mesh.quads) == expected
        assert len(np.unique(mesh.quads.reshape(-1, 12), axis=0)) == expected, "no face twice"
    # Partial blocks hide what they cover and no more.
    assert len(of([[[1, 1]]], "oak_slab").quads) == 10, "the sides of two slabs that touch are hidden"
    pair = of([[[1, 2]]], "stone", "oak_slab[type=bottom]")
    assert len(pair.quads) == 6 + 5, "half of the stone's side is seen, so all of it is drawn"
    stack = of([[[1]], [[2]]], "oak_slab[type=top]", "stone")
    assert len(stack.quads) == 5 + 5
    apart = of([[[1]], [[2]]], "oak_slab[type=bottom]", "stone")
    assert len(apart.quads) == 12
    stairs = of([[[1]]], "oak_stairs[facing=north]")
    assert (normals(stairs)[:, 1] == 1).sum() == 2
    assert area(stairs) == 1 + 1.5 + 1 + 1 + 2 * 0.75, "bottom, both treads, north, south, ends"
    assert len(of([[[1]], [[2]]], "stone", "white_carpet").quads) == 5 + 5
    # Translucent blocks show what is behind and join their own.
    assert len(of([[[1, 2]]], "stone", "glass").quads) == 6 + 5
    assert len(of([[[1, 1]]], "glass").quads) == 10
    assert len(of([[[1, 2]]], "red_stained_glass", "blue_stained_glass").quads) == 12
    glass = of([[[1]]], "glass")
    assert (glass.colours[:, 3] < 255).all()
    deep = of([[[1]], [[1]]], "water")
    assert len(deep.quads) == 10
    assert deep.quads[..., 1].max() == 16 + 14


def test_no_two_faces_of_a_block_lie_in_one_another():
    # Two colours at one depth would be told apart by rounding alone.
    for name in (
        "chest",
        "skeleton_skull",
        "creeper_wall_head",
        "lantern",
        "red_bed",
        "oak_door",
        "big_dripleaf",
        "lever",
    ):
        mesh = of([[[1]]], name)
        flat = mesh.quads[~mesh.two_sided]
        for one in range(len(flat)):
            for other in range(one):
                low = np.maximum(flat[one].min(0), flat[other].min(0))
                high = np.minimum(flat[one].max(0), flat[other].max(0))
                same_way = (normals(mesh)[~mesh.two_sided][one] == normals(mesh)[~mesh.two_sided][other]).all()
                assert not (same_way and (high - low >= 0).all() and (high > low).sum() == 2), (
                    name,
                    flat[one],
                    flat[other],
                )


def test_sheets_colours_and_nothing():
    mesh = of([[[1]]], "short_grass")
    assert len(mesh.quads) == 2
    assert mesh.two_sided.all()
    # Faces have colours of their own.
    mesh = of([[[1]]], "grass_block")
    top = mesh.colours[normals(mesh)[:, 1] == 1][0]
    side = mesh.colours[normals(mesh)[:, 0] == 1][0]
    assert tuple(top[:3]) == look_of("grass_block").top
    assert tuple(side[:3]) == look_of("grass_block").side
    assert top[1] > top[0], "grass is green"
    # Nothing gives no faces.
    for mesh in (of([[[-1]]]), of([[[1]]], "air"), of([[[1]]], "barrier"), mesh_of(Blueprint(np.zeros((0, 0, 0)), ()))):
        assert mesh.quads.shape == (0, 4, 3)
        assert mesh.colours.shape == (0, 4)
        assert mesh.two_sided.shape == (0,)
    # Builds that do not fit are refused.
    with pytest.raises(ShapeError, match="2000 blocks a side"):
        of([[[-1] * (MOST_SIDE + 1)]])
    far = of([[[-1] * (MOST_SIDE - 1) + [1]]], "stone")
    assert far.quads[..., 0].max() == MOST_SIDE * UNITS
    # The same build gives the same bytes.
    rng = np.random.default_rng(0)
    cells = rng.choice([-1, 1, 2, 3], (6, 6, 6))
    one, two = (mesh_of(Blueprint(cells.copy(), ("oak_stairs[facing=east]", "stone", "oak_fence"))) for _ in range(2))
    assert one.quads.tobytes() == two.quads.tobytes()
    assert one.colours.tobytes() == two.colours.tobytes()


def test_turning_a_build_turns_its_faces():
    rng = np.random.default_rng(0)
    names = ("oak_fence", "stone", "glass", "cobblestone_wall", "oak_slab", "glass_pane", "torch")
    cells = rng.choice([-1, *range(1, 8)], (4, 5, 6))
    before = mesh_of(Blueprint(cells, names))
    after = mesh_of(Blueprint(np.rot90(cells, 1, (2, 1)), names))
    # A quarter turn to the right as seen from above: (x, z) goes to (depth - z, x).
    turned = before.quads.copy()
    turned[..., 0], turned[..., 2] = 5 * UNITS - before.quads[..., 2], before.quads[..., 0]

    def sorted_faces(quads: np.ndarray, colours: np.ndarray) -> list[tuple[object, ...]]:
        return sorted(
            (*sorted(map(tuple, quad)), *colour) for quad, colour in zip(quads.tolist(), colours.tolist(), strict=True)
        )

    assert sorted_faces(turned, before.colours) == sorted_faces(after.quads, after.colours)
