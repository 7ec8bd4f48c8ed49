"""Mental rotation: figures of cubes, and questions which is the left one merely turned, and which its mirror image.

A figure is cells (n, 3) of a blueprint, x east, y up, z south, compared up to translation. It is shown as it is, or
mirrored along an axis, in one of 24 views: 4 n + k is the figure laid on its n-th side, seen from the k-th diagonal.
The first four are the published ones, of the upright figure. 36 questions per figure, of three kinds: the same one
among mirror images (18), the different one among turned ones (12), and true or false (6). Source: MineAnyBuild,
sections 3.3 and D.2.4; the order of the published questions: its generator.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    """Canonical form (n, 3) of a figure: the least of its 24 sorted lists of cells, lowest corner at the origin."""
    ordered, side = _turned(as_cells(cells))
    least = ordered[np.lexsort(ordered.T[::-1])[0]]
    return np.stack([least // side**2, least // side % side, least % side], axis=1)


def same_by_rotation(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether one figure can be turned into the other."""
    return np.array_equal(canonical(first), canonical(second))


def is_chiral(cells: ArrayLike) -> bool:
    """Whether no turn maps the figure onto its mirror image."""
    return not same_by_rotation(cells, mirrored(cells, 0))


def symmetry_order(cells: ArrayLike) -> int:
    """Count the rotations of 24 that leave the figure unchanged, 1 to 24."""
    ordered, _ = _turned(as_cells(cells))
    return int((ordered == ordered[0]).all(axis=1).sum())


def is_connected(cells: ArrayLike) -> bool:
    """Whether all cells are connected through shared faces."""
    waiting = set(map(tuple, as_cells(cells).tolist()))
    reached = [waiting.pop()]
    while reached:
        x, y, z = reached.pop()
        near = {(x - 1, y, z), (x + 1, y, z), (x, y - 1, z), (x, y + 1, z), (x, y, z - 1), (x, y, z + 1)} & waiting
        waiting -= near
        reached += near
    return not waiting


def is_usable(cells: ArrayLike) -> bool:
    """Whether a figure is connected, chiral and without symmetry, which would look the same from two sides."""
    return is_connected(cells) and symmetry_order(cells) == 1 and is_chiral(cells)


def mirrored(cells: ArrayLike, axis: int) -> Cells:
    """Return the figure with one coordinate negated; another axis gives the same, turned."""
    flipped = as_cells(cells).copy()
    flipped[:, axis] *= -1
    return flipped


def normalised(cells: ArrayLike) -> Cells:
    """Return cells (n, 3) sorted, the lowest corner at the origin."""
    found = as_cells(cells)
    found -= found.min(axis=0)
    return found


def as_cells(cells: ArrayLike) -> Cells:
    """Return cells (n, 3) int64, each once, sorted by the first, second, third coordinate."""
    given: NDArray[Any] = np.asarray(cells)
    if given.ndim != 2 or given.shape[1] != 3 or not len(given) or given.dtype.kind not in "iu":
        raise ShapeError(f"a figure is cells (n, 3) of whole numbers, at least one; got {given.shape} {given.dtype}")
    far = (given >= _WIDEST) | (given <= -_WIDEST)
    if far.any():
        raise ShapeError(f"cell {given[far.any(axis=1).argmax()].tolist()} lies too far out")
    found: Cells = given.astype(np.int64)[np.lexsort(given.T[::-1])]
    found = found[np.concatenate([[True], (np.diff(found, axis=0) != 0).any(axis=1)])]
    return found


_TURNS = [
    np.diag(signs)[:, np.argsort(order)] for order, signs in product(permutations(range(3)), product((1, -1), repeat=3))
]
ROTATIONS: NDArray[np.int64] = np.array([turn for turn in _TURNS if round(np.linalg.det(turn)) == 1], np.int64)
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
    """What an image shows: one of FIGURES, in view 0 to 23."""

    figure: str
    view: int

    @property
    def code(self) -> str:
        """Its name in the data: "RX_3"."""
        return f"{self.figure}_{self.view}"


def stimuli(seed: int, count: int = 48, *, views: Views = "yaw") -> tuple[Cells, ...]:
    """Generate figures of 7 to 11 blocks in turn; none is another one turned or mirrored, and their views are clear."""
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
    """Whether a figure has enough clear views, unlike its mirror images: "yaw" all four, "full" LEAST_VIEWS of 24."""
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
    """Return the views, of all or the first four, in which LEAST_SEEN of every block of a figure is visible."""
    turned = {view: placed(cells, FigureView(figure, view)) for view in _asked(views)}
    return tuple(view for view, each in turned.items() if _seen(each, outlook(each)) >= LEAST_SEEN)


def placed(cells: Cells, shown: FigureView) -> Cells:
    """Turn a figure so that it looks from the first diagonal as `shown` from its own; equal results look the same."""
    return normalised(_laid(cells, shown) @ np.linalg.matrix_power(_QUARTER, shown.view % DIAGONALS).T)


def picture(cells: Cells, shown: FigureView, size_px: int = 256) -> Image:
    """Render a figure in blocks of MATERIAL with the renderer of builds, (size_px, size_px, 3) uint8."""
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
    """Hits of parallel rays from the first diagonal, (48, 48): 0 for none, else 1 + 3 x sorted cell + face axis."""
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
            near = [(place[0] + x, place[1] + y, place[2] + z) for x, y, z in _STEPS]
            if len(cells) == blocks or place in cells or sum(cell in cells for cell in near) > 1:
                break
            if any(max(axis) - min(axis) >= WIDEST for axis in zip(*cells, place, strict=True)):
                break
            cells.append(place)
    return normalised(cells)


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


Variant = Literal["same", "different", "judge"]
VARIANTS: tuple[Variant, ...] = ("same", "different", "judge")
LETTERS = ("A", "B", "C", "D")
WORDS = ("True", "False")
EACH = {"same": 18, "different": 12, "judge": 6}
"""Questions per figure."""
MIRRORS = FIGURES[1:]

_ATTEMPTS = 200

_INSTRUCTIONS: dict[Variant, str] = {
    "same": (
        "The picture on the left shows a figure of equal blocks. One of the options A, B, C and D on the right shows "
        "the same figure from another side; the other three show mirror images of it, which no turning makes the same. "
        "Which option shows the same figure? Answer with its letter only."
    ),
    "different": (
        "The picture on the left shows a figure of equal blocks. Three of the options A, B, C and D on the right show "
        "the same figure from other sides; one shows a mirror image of it, which no turning makes the same. Which "
        "option shows the different figure? Answer with its letter only."
    ),
    "judge": (
        "The two pictures show figures of equal blocks. Can the figure on the left be made the same as the one on the "
        "right by turning it alone, without mirroring it? Answer with one word, True or False."
    ),
}


@dataclass(frozen=True)
class RotationQuestion:
    """A mental rotation question; `reference` is the left picture, `options` the four on the right, or one to judge."""

    id: str
    variant: Variant
    stimulus: int
    reference: FigureView
    options: tuple[FigureView, ...]
    answer: str

    @property
    def instruction(self) -> str:
        """The question in words."""
        return _INSTRUCTIONS[self.variant]

    @property
    def choices(self) -> tuple[str, ...]:
        """Allowed answers: four letters, or True and False."""
        return WORDS if self.variant == "judge" else LETTERS

    @property
    def metadata(self) -> str:
        """Figure and options, `MR1_RZ3RY2N1RX0`; the reference follows where it is not N_0, `MR1_RZ3RY2N1RX0_N2`."""
        codes = "".join(f"{one.figure}{one.view}" for one in self.options)
        return f"MR{self.stimulus}_{codes}" + (f"_N{self.reference.view}" if self.reference.view else "")

    @property
    def sheet_path(self) -> str:
        """Path of the composed image, in the root of a data set."""
        return f"data/images/reasoning/{self.id}.png"

    @property
    def option_paths(self) -> tuple[str, ...]:
        """Paths of the images of its options, in the root of a data set."""
        return tuple(f"data/images/stimuli/MR{self.stimulus}/{view.code}.png" for view in self.options)


def balanced_questions(figures: Sequence[Cells], seed: int, *, views: Views = "yaw") -> list[RotationQuestion]:
    """Make 36 questions per figure; letters, true statements and views are balanced, and no pictures look alike."""
    rng = np.random.default_rng([seed, 1])
    drawer = _Drawer(rng, views)
    letters = {variant: iter(_deck(rng, LETTERS, EACH[variant] * len(figures))) for variant in VARIANTS[:2]}
    drafts = []
    for number, cells in enumerate(figures, 1):
        drawer.take(cells, number)
        for _ in range(EACH["same"]):
            drafts.append(drawer.draft("same", "N", MIRRORS, next(letters["same"])))
        for figure in _deck(rng, MIRRORS, EACH["different"]):
            drafts.append(drawer.draft("different", figure, ("N",) * 3, next(letters["different"])))
        mirrors = iter(_deck(rng, MIRRORS, EACH["judge"] // 2))
        for word in _deck(rng, WORDS, EACH["judge"]):
            drafts.append(drawer.draft("judge", "N" if word == "True" else next(mirrors), (), word))
    return _numbered(drafts)


class _Drawer:
    """Draws what a question shows: of what may be shown, the least used so far."""

    def __init__(self, rng: np.random.Generator, views: Views) -> None:
        self._rng, self._views = rng, views
        self._uses: Counter[tuple[str, str, int]] = Counter()

    def take(self, cells: Cells, number: int) -> None:
        """Continue with another figure."""
        self._number = number
        clear = {figure: clear_views(cells, figure, self._views) for figure in FIGURES}
        self._looks = {
            shown: placed(cells, shown).tobytes() for f in FIGURES for shown in map(FigureView, [f] * 24, clear[f])
        }
        self._asked: set[tuple[Variant, bytes, frozenset[bytes]]] = set()

    def draft(self, variant: Variant, right: str, wrong: Sequence[str], answer: str) -> RotationQuestion:
        """Draw a question that has not been asked of the figure before."""
        for attempt in range(_ATTEMPTS):
            uses, looks = self._uses.copy(), set[bytes]()
            best = self._draw(variant, "right", right, looks, uses, attempt)
            reference = self._draw(variant, "reference", "N", looks, uses, attempt)
            others = [self._draw(variant, "wrong", figure, looks, uses, attempt) for figure in wrong]
            key = variant, self._looks[reference], frozenset(looks)
            if key not in self._asked:
                self._asked.add(key)
                self._uses = uses
                options = [others[n] for n in self._rng.permutation(len(others))]
                options.insert(LETTERS.index(answer) if others else 0, best)
                return RotationQuestion("", variant, self._number, reference, tuple(options), answer)
        raise UsageError(f"figure {self._number} has too few clear views for {EACH[variant]} questions '{variant}'")

    def _draw(
        self,
        variant: Variant,
        role: str,
        figure: str,
        looks: set[bytes],
        uses: Counter[tuple[str, str, int]],
        slack: int,
    ) -> FigureView:
        """A view of a figure that looks like none of `looks`; slack lets others than the least used ones win."""
        free = [shown for shown, look in self._looks.items() if shown.figure == figure and look not in looks]
        if not free:
            raise UsageError(f"figure {self._number} has too few clear views for a question '{variant}'")
        marks = [uses[variant, role, one.view] + slack * self._rng.random() for one in free]
        least = [one for one, mark in zip(free, marks, strict=True) if mark == min(marks)]
        chosen = least[self._rng.integers(len(least))]
        uses[variant, role, chosen.view] += 1
        looks.add(self._looks[chosen])
        return chosen


def _deck(rng: np.random.Generator, cards: Sequence[str], count: int) -> list[str]:
    """`count` cards in any order, each equally often within one."""
    first = [cards[n] for n in rng.permutation(len(cards))]
    return [first[n % len(first)] for n in rng.permutation(count)]


def _numbered(drafts: Iterable[RotationQuestion]) -> list[RotationQuestion]:
    """The questions by kind, each with its running number within that."""
    found, numbers = [], Counter[Variant]()
    for draft in sorted(drafts, key=lambda draft: VARIANTS.index(draft.variant)):
        numbers[draft.variant] += 1
        kind, number = VARIANTS.index(draft.variant) + 1, numbers[draft.variant]
        found.append(replace(draft, id=f"TSK_SR_{kind}_{number:04d}"))
    return found


GAP_PX, OPTIONS_GAP_PX = 10, 5
"""Between the reference and what is right of it, and between the options (published)."""
CAPTION_PX = 26
_INK, _PAPER = (20, 20, 20), 255


def sheet(reference: Image, options: Sequence[Image]) -> Image:
    """Compose the image of a question: four options as A B over C D beside the reference, or one next to it."""
    if len(options) not in (1, 4) or any(option.shape != reference.shape for option in options):
        raise ShapeError(f"a sheet takes 1 or 4 options of the reference's size, got {[one.shape for one in options]}")
    left = _captioned(reference, "Reference")
    if len(options) == 1:
        return _beside(left, _captioned(options[0], "Candidate"), GAP_PX)
    a, b, c, d = (_captioned(option, letter) for option, letter in zip(options, "ABCD", strict=True))
    top, bottom = _beside(a, b, OPTIONS_GAP_PX), _beside(c, d, OPTIONS_GAP_PX)
    right = np.concatenate([top, np.full((OPTIONS_GAP_PX, *top.shape[1:]), _PAPER, np.uint8), bottom])
    return _beside(left, right, GAP_PX)


def _beside(left: Image, right: Image, gap_px: int) -> Image:
    """Two pictures on one, both vertically centred."""
    height = max(len(left), len(right))
    whole = np.full((height, left.shape[1] + gap_px + right.shape[1], 3), _PAPER, np.uint8)
    for picture, x in ((left, 0), (right, left.shape[1] + gap_px)):
        y = (height - len(picture)) // 2
        whole[y : y + len(picture), x : x + picture.shape[1]] = picture
    return whole


def _captioned(picture: Image, text: str) -> Image:
    """A picture under its caption."""
    import cv2

    strip = np.full((CAPTION_PX, picture.shape[1], 3), _PAPER, np.uint8)
    (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.6, 1)
    place = (max((picture.shape[1] - width) // 2, 0), CAPTION_PX - 8)
    cv2.putText(strip, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.6, _INK, 1, cv2.LINE_AA)
    return np.concatenate([strip, picture])
