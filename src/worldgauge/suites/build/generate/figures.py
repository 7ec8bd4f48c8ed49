"""Figures of blocks for mental rotation: random, chiral, and fully visible.

A figure is cells (n, 3) of a blueprint, x east, y up, z south. It is shown as it is, or mirrored along an axis, in one
of 24 views: 4 n + k is the figure laid on its n-th side, seen from the k-th diagonal. The first four are the published
ones, of the upright figure. Source: MineAnyBuild, sections 3.3 and D.2.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations, permutations, product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Image
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint

Cells = NDArray[np.int64]

_WIDEST = 1 << 20
"""Most cells of a figure along an axis: positions in its box are encoded as one 64-bit number."""


def canonical(cells: ArrayLike) -> Cells:
    """Return the canonical form (n, 3) of a figure: the least of its 24 sorted lists of cells.

    Each is moved so that its lowest corner is at the origin.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    ordered, side = _turned(as_cells(cells))
    least = ordered[np.lexsort(ordered.T[::-1])[0]]
    return np.stack([least // side**2, least // side % side, least % side], axis=1)


def same_by_rotation(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether one figure can be turned into the other.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    return np.array_equal(canonical(first), canonical(second))


def is_chiral(cells: ArrayLike) -> bool:
    """Whether no turn maps the figure onto its mirror image.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    return not same_by_rotation(cells, mirrored(cells, 0))


def symmetry_order(cells: ArrayLike) -> int:
    """Count the rotations of 24 that leave the figure unchanged, 1 to 24.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    ordered, _ = _turned(as_cells(cells))
    return int((ordered == ordered[0]).all(axis=1).sum())


def is_connected(cells: ArrayLike) -> bool:
    """Whether all cells are connected through shared faces.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    waiting = set(map(tuple, as_cells(cells).tolist()))
    reached = [waiting.pop()]
    while reached:
        x, y, z = reached.pop()
        near = {(x - 1, y, z), (x + 1, y, z), (x, y - 1, z), (x, y + 1, z), (x, y, z - 1), (x, y, z + 1)} & waiting
        waiting -= near
        reached += near
    return not waiting


def is_usable(cells: ArrayLike) -> bool:
    """Whether a figure suits questions about mental rotation: connected, chiral, and without symmetry.

    A figure that a turn maps onto itself would look the same from two sides.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    return is_connected(cells) and symmetry_order(cells) == 1 and is_chiral(cells)


def mirrored(cells: ArrayLike, axis: int) -> Cells:
    """Return the figure with one coordinate negated; another axis gives the same, turned.

    Args:
        cells: (n, 3).
        axis: 0, 1 or 2.

    Returns:
        (n, 3).

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    flipped = as_cells(cells).copy()
    flipped[:, axis] *= -1
    return flipped


def normalised(cells: ArrayLike) -> Cells:
    """Return cells (n, 3) sorted, the lowest corner at the origin.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    found = as_cells(cells)
    found -= found.min(axis=0)
    return found


def as_cells(cells: ArrayLike) -> Cells:
    """Return cells (n, 3) int64, each once, sorted by the first, second, third coordinate.

    Raises:
        ShapeError: If the list is empty, not (n, 3) whole numbers, or a figure is too large.
    """
    given: NDArray[Any] = np.asarray(cells)
    if given.ndim != 2 or given.shape[1] != 3 or not len(given) or given.dtype.kind not in "iu":
        raise ShapeError(f"a figure is cells (n, 3) of whole numbers, at least one; got {given.shape} {given.dtype}")
    far = (given >= _WIDEST) | (given <= -_WIDEST)
    if far.any():
        raise ShapeError(f"cell {given[far.any(axis=1).argmax()].tolist()} lies too far out")
    found: Cells = given.astype(np.int64)[np.lexsort(given.T[::-1])]
    found = found[np.concatenate([[True], (np.diff(found, axis=0) != 0).any(axis=1)])]
    return found


def _rotations() -> NDArray[np.int64]:
    found = []
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        turn = np.zeros((3, 3), np.int64)
        turn[range(3), order] = signs
        if round(np.linalg.det(turn)) == 1:
            found.append(turn)
    return np.array(found)


ROTATIONS = _rotations()
"""The turns of a cube, (24, 3, 3): signed permutation matrices of determinant 1, the identity first."""


def _turned(cells: Cells) -> tuple[NDArray[np.int64], int]:
    """Places (24, n) of the cells after each rotation as ascending numbers, and the base they are written in."""
    turned = np.einsum("rij,nj->rni", ROTATIONS, cells)
    turned -= turned.min(axis=1, keepdims=True)
    side = int(turned.max()) + 1
    return np.sort(turned @ np.array([side**2, side, 1]), axis=1), side


Views = Literal["yaw", "full"]
FIGURES = ("N", "RX", "RY", "RZ")
"""The figure itself, and negated along x, y and z."""
DIAGONALS = 4
MATERIAL = "white_concrete"
AZIMUTH_DEG, ELEVATION_DEG = 45.0, 30.0
"""Of the first diagonal, south-east; the others follow by quarter turns, counter-clockwise seen from above."""

SIZES = (7, 8, 9, 10, 11)
WIDEST = 5
"""Blocks of a figure, and how many it may reach along an axis."""
LEAST_SEEN = 0.15
"""Least visible share of the outline of each block."""
LEAST_APART = 0.05
"""Least share of the joint outline in which two images must differ to be told apart."""
LEAST_VIEWS = 10
"""Least number of clear views of 24, if any may be asked for."""

_LINES = 48
_DRAWS = 20_000


class FigureView(NamedTuple):
    """What an image shows.

    Attributes:
        figure: One of FIGURES.
        view: 0 to 23.
    """

    figure: str
    view: int

    @property
    def code(self) -> str:
        """Its name in the data: "RX_3"."""
        return f"{self.figure}_{self.view}"


def stimuli(seed: int, count: int = 48, *, views: Views = "yaw") -> tuple[Cells, ...]:
    """Draw figures that can be asked about, of 7 to 11 blocks in turn.

    None is another one turned or mirrored. All views that are used show every block, and no two the same image.

    Args:
        seed: The same seed gives the same figures.
        count: Number of figures.
        views: "yaw" for turns about the vertical only, "full" for any.

    Returns:
        Cells (n, 3) each.

    Raises:
        UsageError: If count is below 1, or too few are found.
    """
    if count < 1:
        raise UsageError(f"{count} figures cannot be asked about; give 1 or more")
    rng = np.random.default_rng(seed)
    found: list[Cells] = []
    known: set[bytes] = set()
    for _ in range(_DRAWS):
        cells = _grown(rng, SIZES[len(found) % len(SIZES)])
        names = {canonical(cells).tobytes(), canonical(mirrored(cells, 0)).tobytes()}
        if not names & known and is_usable(cells) and can_be_shown(cells, views):
            known |= names
            found.append(cells)
        if len(found) == count:
            return tuple(found)
    raise UsageError(f"only {len(found)} figures of {count} in {_DRAWS} draws; ask for fewer")


def can_be_shown(cells: Cells, views: Views) -> bool:
    """Whether a figure has enough clear views, all different from those of its mirror images.

    Args:
        cells: (n, 3).
        views: With "yaw" all four views of all four figures must be clear, with "full" LEAST_VIEWS of 24.
    """
    looks: dict[bytes, NDArray[np.int64]] = {}
    least = DIAGONALS if views == "yaw" else LEAST_VIEWS
    for figure in FIGURES:
        clear = 0
        for view in _asked(views):
            turned = placed(cells, FigureView(figure, view))
            look = looks[name] if (name := turned.tobytes()) in looks else outlook(turned)
            if _seen(turned, look) >= LEAST_SEEN:
                looks[name], clear = look, clear + 1
            elif views == "yaw":
                return False
        if clear < least:
            return False
    return all(apart(a, b) >= LEAST_APART for a, b in combinations(looks.values(), 2))


def clear_views(cells: Cells, figure: str, views: Views) -> tuple[int, ...]:
    """Return the views in which LEAST_SEEN of every block of a figure is visible.

    Args:
        cells: (n, 3).
        figure: One of FIGURES.
        views: The first four ("yaw") or all ("full").
    """
    turned = {view: placed(cells, FigureView(figure, view)) for view in _asked(views)}
    return tuple(view for view, each in turned.items() if _seen(each, outlook(each)) >= LEAST_SEEN)


def placed(cells: Cells, shown: FigureView) -> Cells:
    """Turn a figure so that it looks from the first diagonal as `shown` does from its own.

    Two images show the same from the same side if the results are equal.

    Args:
        cells: (n, 3).
        shown: Figure and view.

    Returns:
        (n, 3), sorted.
    """
    return normalised(_laid(cells, shown) @ np.linalg.matrix_power(_QUARTER, shown.view % DIAGONALS).T)


def picture(cells: Cells, shown: FigureView, size_px: int = 256) -> Image:
    """Render a figure in blocks of MATERIAL with the renderer of builds.

    Args:
        cells: (n, 3).
        shown: Figure and view.
        size_px: Side of the image.

    Returns:
        (size_px, size_px, 3) uint8.
    """
    from worldgauge.worlds.blocks import views

    azimuth_deg = AZIMUTH_DEG + 360 / DIAGONALS * (shown.view % DIAGONALS)
    return views.picture(
        blueprint_of(_laid(cells, shown)), azimuth_deg=azimuth_deg, elevation_deg=ELEVATION_DEG, size_px=size_px
    )


def blueprint_of(cells: Cells) -> Blueprint:
    """Return the build of a figure's cells in blocks of MATERIAL."""
    x, y, z = normalised(cells).T
    blocks = np.full((y.max() + 1, z.max() + 1, x.max() + 1), AIR, np.int32)
    blocks[y, z, x] = 1
    return Blueprint(blocks, (MATERIAL,))


def outlook(cells: Cells) -> NDArray[np.int64]:
    """Return what parallel rays from the first diagonal hit, (48, 48): 0 nothing, else 1 + 3 k + the face's axis.

    k is the block's row among the sorted cells. Framed by the sphere around the figure's box, as images are.
    """
    cells = normalised(cells)
    side, up, eye = _SIGHT
    outward = np.sign(eye).astype(np.int64)
    there = set(map(tuple, cells.tolist()))
    free = np.array([[tuple(cell + step) not in there for step in np.diag(outward)] for cell in cells])
    # Far ones first: among blocks of a grid, what hides another is nearer on all three axes.
    blocks, axes = np.nonzero(free)
    order = np.argsort((cells @ eye)[blocks], kind="stable")
    blocks, axes = blocks[order], axes[order]
    extent = cells.max(axis=0) + 1
    scale = _LINES / float(np.linalg.norm(extent))
    corners = cells[blocks] + (outward[axes] > 0)[:, None] * np.eye(3)[axes] - extent / 2
    onto = scale * np.stack([side, -up])
    across = np.arange(_LINES) + 0.5 - _LINES / 2
    x, y = across - (corners @ onto[0])[:, None], across - (corners @ onto[1])[:, None]
    # How far along the two edges of its face each line meets it; 0 to 1 is on the face.
    along = np.array([np.linalg.inv(np.delete(onto, axis, axis=1)) for axis in range(3)])[axes]
    met = along[:, :, 0, None, None] * x[:, None, None, :] + along[:, :, 1, None, None] * y[:, None, :, None]
    inside = np.logical_and(met >= 0, met < 1).all(axis=1)
    nearest = len(blocks) - 1 - inside[::-1].argmax(axis=0)
    return np.where(inside.any(axis=0), 1 + 3 * blocks[nearest] + axes[nearest], 0)


def apart(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return the share of rays that hit different faces in two outlooks, of those that hit something."""
    faces = [np.where(met > 0, 1 + (met - 1) % 3, 0) for met in (first, second)]
    return float((faces[0] != faces[1]).sum() / (np.maximum(*faces) > 0).sum())


def _laid(cells: Cells, shown: FigureView) -> Cells:
    """A figure as it stands before the camera goes round it: mirrored, then laid on a side."""
    figure = cells if shown.figure == "N" else mirrored(cells, FIGURES.index(shown.figure) - 1)
    laid: Cells = figure @ _sides()[shown.view // DIAGONALS].T
    return laid


def _seen(cells: Cells, look: NDArray[np.int64]) -> float:
    """The least share of a free block's outline that is in sight of any block in an outlook of cells."""
    lines = np.bincount((look[look > 0] - 1) // 3, minlength=len(cells))
    reach = float(np.linalg.norm(cells.max(axis=0) - cells.min(axis=0) + 1)) / 2
    free = float(np.abs(_SIGHT[2]).sum()) * (_LINES / (2 * reach)) ** 2
    return float(lines.min() / free)


def _asked(views: Views) -> range:
    return range(DIAGONALS if views == "yaw" else len(ROTATIONS))


def _grown(rng: np.random.Generator, blocks: int) -> Cells:
    """A tree of straight arms: each block touches the one it grew from, and no other before it."""
    cells = [(0, 0, 0)]
    while len(cells) < blocks:
        place, step = cells[rng.integers(len(cells))], _STEPS[rng.integers(len(_STEPS))]
        for _ in range(rng.integers(1, 4)):
            place = (place[0] + step[0], place[1] + step[1], place[2] + step[2])
            if len(cells) == blocks or place in cells or sum(near in cells for near in _around(place)) > 1:
                break
            if any(max(axis) - min(axis) >= WIDEST for axis in zip(*cells, place, strict=True)):
                break
            cells.append(place)
    return normalised(cells)


def _around(place: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    return ((place[0] + x, place[1] + y, place[2] + z) for x, y, z in _STEPS)


@cache
def _sides() -> NDArray[np.int64]:
    """One rotation for each of the figure's own directions that can be up, (6, 3, 3), the identity first."""
    first = {tuple(turn[1].tolist()): turn for turn in ROTATIONS[::-1]}
    return np.array(sorted(first.values(), key=lambda turn: bool((turn != np.eye(3)).any())))


_STEPS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
_QUARTER = np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]])
"""Clockwise seen from above: what a camera sees that has gone a quarter round the other way."""


def _sight() -> NDArray[np.float64]:
    """Right and up in the picture, and towards the camera, (3, 3) rows in cells' axes, from the first diagonal."""
    azimuth, elevation = math.radians(AZIMUTH_DEG), math.radians(ELEVATION_DEG)
    east, south = math.sin(azimuth), math.cos(azimuth)
    eye = [math.cos(elevation) * east, math.sin(elevation), math.cos(elevation) * south]
    up = [-math.sin(elevation) * east, math.cos(elevation), -math.sin(elevation) * south]
    return np.array([[south, 0.0, -east], up, eye])


_SIGHT = _sight()
