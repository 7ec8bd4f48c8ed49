"""Mental rotation questions: which figure is the left one merely turned, and which its mirror image.

36 per figure, of three kinds: the same one among mirror images (18), the different one among turned ones (12), and true
or false (6). Source: MineAnyBuild, sections 3.3 and D.2.4; the order of the published questions: its generator.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Literal

import numpy as np

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Image
from worldgauge.suites.build.generate.figures import DIAGONALS, FIGURES, Cells, FigureView, Views, clear_views, placed

Variant = Literal["same", "different", "judge"]
VARIANTS: tuple[Variant, ...] = ("same", "different", "judge")
LETTERS = ("A", "B", "C", "D")
WORDS = ("True", "False")
EACH = {"same": 18, "different": 12, "judge": 6}
"""Questions per figure."""
STIMULI = 48
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
    """A question about mental rotation.

    Attributes:
        id: As published, `TSK_SR_1_0001`.
        variant: Kind of question.
        stimulus: Number of the figure, from 1.
        reference: What the left picture shows, always N_0 in the published set.
        options: What is shown on the right, four, or one to judge.
        answer: A letter or a word.
    """

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
        return tuple(_tile_path(self.stimulus, shown) for shown in self.options)


def released_questions(count: int = STIMULI) -> list[RotationQuestion]:
    """Return the published questions about `count` figures, with its option order: seeds 1000 + n, 2000 + n.

    Their flaws are kept: view 0 is never right, letters are unevenly right, and in 6 of 18 questions "same" two wrong
    options are the same image, as RX seen from one side is RZ seen from the opposite one.
    """
    drafts = []
    reference = FigureView("N", 0)
    turned = [FigureView("N", view) for view in (1, 2, 3)]
    for n in range(count):
        rng = random.Random(1000 + n)  # Python's generator, not numpy's: the published order depends on it
        for right in turned:
            for rest in permutations(view for view in range(DIAGONALS) if view != right.view):
                group = tuple(rng.sample([right, *map(FigureView, MIRRORS, rest)], 4))
                drafts.append(RotationQuestion("", "same", n + 1, reference, group, LETTERS[group.index(right)]))
        rng = random.Random(2000 + n)
        for odd in (FigureView(figure, view) for figure in MIRRORS for view in range(DIAGONALS)):
            group = tuple(rng.sample([*turned, odd], 4))
            drafts.append(RotationQuestion("", "different", n + 1, reference, group, LETTERS[group.index(odd)]))
        for shown in (*turned, *map(FigureView, MIRRORS, (1, 2, 3))):
            word = "True" if shown.figure == "N" else "False"
            drafts.append(RotationQuestion("", "judge", n + 1, reference, (shown,), word))
    return _numbered(drafts)


def balanced_questions(figures: Sequence[Cells], seed: int, *, views: Views = "yaw") -> list[RotationQuestion]:
    """Make 36 questions about each figure, with the right answers balanced.

    Within a kind every letter is right equally often (within one), and half of the statements are true. The reference
    varies. Every view is used equally often, as far as possible, for right options, wrong options and references. No
    option looks like the reference or another one. The same figures and seed give the same questions.

    Args:
        figures: (n, 3) cells each.
        seed: Source of all randomness.
        views: "yaw" for turns about the vertical only, "full" for any.
    """
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
        """Draw a question that has not been asked of the figure before.

        Args:
            variant: Kind of question.
            right: Of FIGURES, what the right option shows.
            wrong: Of FIGURES, what the wrong options show.
            answer: The right answer.
        """
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


def _tile_path(stimulus: int, shown: FigureView) -> str:
    return f"data/images/stimuli/MR{stimulus}/{shown.code}.png"


GAP_PX, OPTIONS_GAP_PX = 10, 5
"""Between the reference and what is right of it, and between the options (published)."""
CAPTION_PX = 26
_INK, _PAPER = (20, 20, 20), 255


def sheet(reference: Image, options: Sequence[Image]) -> Image:
    """Compose the image of a question.

    Four options: two rows of two, A and B over C and D, the reference next to their middle. One: next to the reference.

    Args:
        reference: (s, s, 3) uint8.
        options: 1 or 4 of the same size.

    Raises:
        ShapeError: For other numbers or sizes of images.
    """
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
