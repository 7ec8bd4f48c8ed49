"""The study of the critic by rules: its bars hold on real structures, break for broken critics, and say what is so."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from worldgauge.core.errors import DataError, UsageError
from worldgauge.suites.mineanybuild.critics import DIMENSIONS, Critic, CriticKit, Grades, Submission, critics
from worldgauge.suites.mineanybuild.critics.rules import RulesCritic
from worldgauge.suites.mineanybuild.format import Architecture, Kind, write
from worldgauge.suites.mineanybuild.generate.structures import structures
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge_lab.critic_agreement import BESIDE, StudyCase, agreement_of, criteria_of, spearman
from worldgauge_lab.critic_study import CriticStudy, study


@pytest.fixture(scope="module")
def found() -> CriticStudy:
    return study(structures=5)


def mean(found: CriticStudy, damage: str, of: str) -> float:
    own = [case for case in found.cases if case.damage == damage]
    return float(np.mean([getattr(case, of) if hasattr(case, of) else case.grades[of] for case in own]))  # type: ignore[index]


def test_all_bars_hold_on_our_structures(found: CriticStudy) -> None:
    assert found.reasons == ("5 structures, 20 are needed",)
    assert not found.accepted
    assert all(bar.holds for bar in found.bars)
    assert sum(bar.least is None for bar in found.bars) == 4


def test_where_it_disagrees_with_matching(found: CriticStudy) -> None:
    assert mean(found, "shifted", "matching") < 5 < 8 < mean(found, "shifted", "planning"), "moved builds are forgiven"
    assert mean(found, "added", "matching") == 10 > 8 > mean(found, "added", "planning"), "recall sees no surplus"
    assert mean(found, "boxed", "matching") > 4 > mean(found, "boxed", "planning"), "nor a solid box"
    assert mean(found, "recoloured", "creativity") == mean(found, "truth", "creativity"), "another colour is as good"
    assert mean(found, "another", "creativity") > 5, "creativity does not see the brief"
    assert found.spearman("planning", "f1", "shifted") is None, "whose grade never changes"
    all_, unmoved = (found.spearman("planning", "f1", f"each structure, {over}") for over in ("all", "unmoved"))
    assert all_ is not None
    assert unmoved is not None
    assert all_ < 0.7 < 0.85 < unmoved


def test_it_prints_and_is_plain_json(found: CriticStudy) -> None:
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["accepted"] is False
    assert len(told["cases"]) == len(found.cases) > 150
    text = found.table()
    assert "5 structures of seed 42" in text
    for words in ("exchanged 10%", "lifted by 4", "each structure, unmoved", "never rises", "NOT accepted: 5 struct"):
        assert words in text


def test_the_same_again() -> None:
    one, other = (study(structures=1, seed=7) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert one.to_json() != study(structures=1, seed=8).to_json()


class Constant(RulesCritic):
    def grade(self, submission: Submission, seed: int) -> Grades:
        return replace(super().grade(submission, seed), grades=dict.fromkeys(DIMENSIONS[submission.kind], 8.0))


class Reversed(RulesCritic):
    def grade(self, submission: Submission, seed: int) -> Grades:
        grades = super().grade(submission, seed)
        return replace(grades, grades={name: 11 - value for name, value in grades.grades.items()})


class Recall(RulesCritic):
    """Sees only blocks that are missing, as the matching score does."""

    def grade(self, submission: Submission, seed: int) -> Grades:
        if submission.reference is None:
            return super().grade(submission, seed)
        box = submission.reference.cells.shape
        cells = np.full(box, -1, np.int32)
        part = tuple(slice(0, min(a, b)) for a, b in zip(box, submission.built.cells.shape, strict=True))
        cells[part] = submission.built.cells[part]
        seen = np.where(submission.reference.solid, cells, -1)
        return super().grade(replace(submission, built=Blueprint(seen, submission.built.materials)), seed)


@pytest.mark.parametrize(
    ("critic", "words"),
    [
        (Constant(), ["full marks", "an empty build", "planning orders", "creativity falls where half is added"]),
        (Reversed(), ["full marks", "an empty build", "planning never rises the more is removed", "planning orders"]),
        (Recall(), ["full marks"]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_broken_critics_break_bars(critic: Critic, words: list[str]) -> None:
    broken = [bar.name for bar in study(structures=1, critic=critic).bars if not bar.holds]
    for word in words:
        assert any(word in name for name in broken), (word, broken)


@pytest.mark.parametrize(
    ("damage", "kind", "grade", "word"),
    [
        ("truth", "planning", 9.9, "full marks"),
        ("mirrored", "understanding", 10.0, "full marks"),
        ("empty", "creativity", 1.5, "an empty build"),
        ("rewritten", "creativity", 1.5, "change nothing"),
        ("restated", "planning", 9.5, "states change nothing"),
        ("turned", "creativity", 1.5, "change no creativity"),
        ("exchanged", "creativity", 9.9, "creativity falls where half is exchanged, of 100"),
    ],
)
def test_one_wrong_grade_breaks_its_bar(found: CriticStudy, damage: str, kind: Kind, grade: float, word: str) -> None:
    cases = [
        replace(case, grades={**case.grades, kind: grade}) if case.damage == damage else case for case in found.cases
    ]
    broken = [bar.name for bar in criteria_of(cases, found.agreement) if not bar.holds]
    assert any(word in name for name in broken), broken


def test_a_grade_that_rises_with_the_dose_breaks_its_bar(found: CriticStudy) -> None:
    names = ("exchanged", "removed", "added", "truncated")
    for kind, damage in itertools.product(BESIDE, names):
        cases = [
            replace(case, grades={**case.grades, kind: 5 + case.dose}) if case.damage == damage else case
            for case in found.cases
        ]
        broken = [bar.name for bar in criteria_of(cases, found.agreement) if not bar.holds]
        assert broken == [f"{kind} never rises the more is {damage}"]


def test_nothing_measured_is_a_broken_bar() -> None:
    assert not any(bar.holds for bar in criteria_of([], []) if bar.least is not None)


def test_spearman_as_scipy_has_it() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, 40).astype(float), rng.integers(0, 6, 40).astype(float)
    weights = rng.integers(0, 4, (5, 40)).astype(float)
    for drawn, counts in zip(spearman(x, y, weights), weights.astype(int), strict=True):
        assert drawn == pytest.approx(spearmanr(np.repeat(x, counts), np.repeat(y, counts)).statistic)
    assert spearman(x, x**3, np.ones((1, 40))) == pytest.approx([1])
    assert spearman(x, -x, np.ones((1, 40))) == pytest.approx([-1])
    assert np.isnan(spearman(x, np.ones(40), np.ones((1, 40)))).all()


def test_agreement_by_hand() -> None:
    """Two structures that agree within and disagree between: 1 within each, less over all."""
    values = [(0, 1.0, 2.0), (0, 2.0, 3.0), (0, 3.0, 4.0), (1, 11.0, 1.0), (1, 12.0, 1.5), (1, 13.0, 1.7)]
    cases = [StudyCase(k, 9, "removed", 1, m, m, m, {"planning": grade}) for k, m, grade in values]
    told = {one.over: one for one in agreement_of(cases, np.random.default_rng(0)) if one.measure == "f1"}
    assert told["each structure, all"].spearman == pytest.approx(1)
    assert told["each structure, all"].n == 2
    # Ranks 1 2 3 4 5 6 against 4 5 6 1 2 3: squared differences of 9 each, 1 - 6 * 54 / (6 * 35).
    assert told["all"].spearman == told["removed"].spearman == pytest.approx(1 - 54 / 35)
    interval = told["all"].interval
    assert interval is not None
    assert interval.low == pytest.approx(1 - 54 / 35)
    assert interval.high == pytest.approx(1)


def test_builds_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1 structure"):
        study(structures=0)
    own = [
        Architecture(f"AR_{k}", made.name, made.description, "ours", made.blueprint)
        for k, made in enumerate(structures(1, 2))
    ]
    write(tmp_path / "data", own, [])
    told = study(tmp_path / "data", structures=5)
    assert told.source == "data: 2 builds"
    assert {case.blocks for case in told.cases} == {one.blueprint.blocks for one in own}
    assert study(tmp_path / "data", structures=1).structures == 1
    write(tmp_path / "none", [], [])
    with pytest.raises(DataError, match="no build with blocks"):
        study(tmp_path / "none")


def test_it_is_the_registered_critic_that_is_tested(found: CriticStudy) -> None:
    chosen = critics.get("rules")(CriticKit())
    again = study(structures=1, critic=chosen)
    assert again.cases == tuple(case for case in found.cases if case.structure == 0 and case.damage != "another")
