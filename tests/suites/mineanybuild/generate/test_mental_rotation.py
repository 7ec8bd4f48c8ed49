"""Questions of mental rotation: the published ones, balanced ones that are right, and their sheets."""

import json
import os
import random
from collections import Counter
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.vectors import DEFAULT
from worldgauge.core.errors import ShapeError
from worldgauge.suites.mineanybuild.generate import mental_rotation as m
from worldgauge.suites.mineanybuild.generate.mental_rotation import (
    CAPTION_PX,
    GAP_PX,
    OPTIONS_GAP_PX,
    FigureView,
    clear_views,
    picture,
    placed,
    same_by_rotation,
    sheet,
    stimuli,
)

SEED, COUNT = 5, 6
VIEWS = ("yaw", "full")


def released_questions(count: int = 48) -> list[m.RotationQuestion]:
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
            for rest in permutations(view for view in range(m.DIAGONALS) if view != right.view):
                group = tuple(rng.sample([right, *map(FigureView, m.MIRRORS, rest)], 4))
                drafts.append(m.RotationQuestion("", "same", n + 1, reference, group, m.LETTERS[group.index(right)]))
        rng = random.Random(2000 + n)
        for odd in (FigureView(figure, view) for figure in m.MIRRORS for view in range(m.DIAGONALS)):
            group = tuple(rng.sample([*turned, odd], 4))
            drafts.append(m.RotationQuestion("", "different", n + 1, reference, group, m.LETTERS[group.index(odd)]))
        for shown in (*turned, *map(FigureView, m.MIRRORS, (1, 2, 3))):
            word = "True" if shown.figure == "N" else "False"
            drafts.append(m.RotationQuestion("", "judge", n + 1, reference, (shown,), word))
    return m._numbered(drafts)


@pytest.fixture(scope="module")
def asked():
    """Figures and balanced questions by how figures may be turned."""
    figures = {views: stimuli(SEED, COUNT, views=views) for views in VIEWS}
    return {views: (found, m.balanced_questions(found, SEED, views=views)) for views, found in figures.items()}


def test_the_published_questions() -> None:
    # Published questions of the reference.
    published = {one.id: [one.id, one.metadata, one.answer] for one in released_questions()}
    folder = Path(os.environ.get("WORLDGAUGE_VECTORS") or DEFAULT)
    known = [row for path in folder.glob("build_reasoning*.json") for row in json.loads(path.read_text())["questions"]]
    assert known
    assert [published[row[0]] for row in known] == known
    # The published set as a whole.
    questions = released_questions()
    assert Counter(one.variant for one in questions) == {"same": 864, "different": 576, "judge": 288}
    answers = Counter(one.answer for one in questions)
    assert answers == {"A": 383, "B": 356, "C": 327, "D": 374, "True": 144, "False": 144}
    assert len({one.metadata for one in questions}) == 1728
    assert {one.reference for one in questions} == {FigureView("N", 0)}
    twins = 0
    for one in questions:
        across = {shown.figure: shown.view for shown in one.options}
        twins += one.variant == "same" and abs(across["RX"] - across["RZ"]) == 2
    assert twins == 288, "a third of the questions shows one wrong picture twice"


@pytest.mark.parametrize("views", VIEWS)
def test_answers_follow_from_the_figures(asked: Any, views: str) -> None:
    figures, questions = asked[views]
    clear = cache(lambda stimulus, figure: clear_views(figures[stimulus - 1], figure, views))
    assert len(questions) == 36 * COUNT
    for one in questions:
        cells = figures[one.stimulus - 1]
        left = placed(cells, one.reference)
        right = [placed(cells, shown) for shown in one.options]
        same = [same_by_rotation(left, each) for each in right]
        if one.variant == "judge":
            assert one.answer == str(same[0])
        else:
            assert same.count(one.variant == "same") == 1
            assert one.answer == "ABCD"[same.index(one.variant == "same")]
        assert len({left.tobytes(), *(each.tobytes() for each in right)}) == 1 + len(right), "no picture twice"
        for shown in (one.reference, *one.options):
            assert shown.view in clear(one.stimulus, shown.figure)


@pytest.mark.parametrize("views", VIEWS)
def test_answers_and_views_are_balanced(asked: Any, views: str) -> None:
    _, questions = asked[views]
    for variant, each in m.EACH.items():
        mine = [one for one in questions if one.variant == variant]
        assert [one.id for one in mine] == [
            f"TSK_SR_{m.VARIANTS.index(variant) + 1}_{n:04d}" for n in range(1, each * COUNT + 1)
        ]
        counts = Counter(one.answer for one in mine)
        assert set(counts) == set(mine[0].choices)
        assert max(counts.values()) - min(counts.values()) <= 1
        assert set(Counter(one.stimulus for one in mine).values()) == {each}
        assert len({one.metadata for one in mine}) == len(mine)
        if views == "yaw":
            for shown in ([one.reference for one in mine], [s for one in mine for s in one.options]):
                used = Counter(one.view for one in shown)
                assert max(used.values()) - min(used.values()) <= max(2, 0.05 * len(shown)), "no view tells the answer"
            if variant == "same":
                best = Counter(one.options["ABCD".index(one.answer)].view for one in mine)
                assert max(best.values()) - min(best.values()) <= 1
        else:
            assert len({s.view for one in mine for s in one.options}) > 12


def test_questions_repeat_with_the_seed_and_have_published_names(asked: Any) -> None:
    # Questions repeat with the seed.
    figures, questions = asked["yaw"]
    assert m.balanced_questions(figures, SEED) == questions
    assert m.balanced_questions(figures, SEED + 1) != questions
    # Questions are called as the published ones.
    one = released_questions(1)[0]
    assert (one.id, one.metadata, one.answer) == ("TSK_SR_1_0001", "MR1_RZ3RY2N1RX0", "C")
    assert one.sheet_path == "data/images/reasoning/TSK_SR_1_0001.png"
    assert one.option_paths == tuple(f"data/images/stimuli/MR1/{code}.png" for code in ("RZ_3", "RY_2", "N_1", "RX_0"))
    assert released_questions(1)[-1].option_paths == ("data/images/stimuli/MR1/RZ_3.png",)
    for one in asked["yaw"][1]:
        moved = one.reference.view
        assert one.metadata.endswith(f"_N{moved}") == (moved != 0)


@pytest.mark.parametrize("views", ["yaw", "full"])
def test_no_option_is_the_picture_of_the_reference(views: Any, asked: Any) -> None:
    figures, questions = asked[views]
    own = [question for question in questions if question.stimulus == 1]
    shown = {one for question in own for one in (question.reference, *question.options)}
    drawn = {one: picture(figures[0], one, 64) for one in shown}
    for question in own:
        assert not any(np.array_equal(drawn[question.reference], drawn[one]) for one in question.options)


def test_a_sheet_is_laid_out_as_published() -> None:
    pictures = [np.full((50, 50, 3), 10 * n, np.uint8) for n in range(1, 6)]
    whole, tall = sheet(pictures[0], pictures[1:]), 50 + CAPTION_PX
    assert whole.shape == (2 * tall + OPTIONS_GAP_PX, 50 + GAP_PX + 2 * 50 + OPTIONS_GAP_PX, 3)
    left, middle, right = 25, 50 + GAP_PX + 25, 50 + GAP_PX + 50 + OPTIONS_GAP_PX + 25
    top, bottom = CAPTION_PX + 25, tall + OPTIONS_GAP_PX + CAPTION_PX + 25
    marks = [whole[y, x, 0] for y in (top, bottom) for x in (middle, right)]
    assert marks == [20, 30, 40, 50], "A and B over C and D"
    assert whole[(top + bottom) // 2, left, 0] == 10, "the reference in the middle"
    pair = sheet(pictures[0], pictures[1:2])
    assert pair.shape == (tall, 100 + GAP_PX, 3)
    assert (pair[top, left, 0], pair[top, middle, 0]) == (10, 20)
    assert (pair[:CAPTION_PX, :50] < 128).any(), "a caption over it"


@pytest.mark.parametrize("sizes", [[], [50, 50], [50, 50, 50, 60]])
def test_no_sheet_of_other_pictures(sizes: list[int]) -> None:
    reference = np.zeros((50, 50, 3), np.uint8)
    with pytest.raises(ShapeError):
        sheet(reference, [np.zeros((size, size, 3), np.uint8) for size in sizes])
