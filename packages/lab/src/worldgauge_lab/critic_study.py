"""Study of the critic by rules: its grades next to matching, on true builds that are damaged by known amounts.

Every true build is damaged with each `damage`; matching score, F1 and typed IoU of each are compared with the critic's
evaluation as planning, understanding and creativity. Bars are what must hold.

Example:
    print(study().table())                     # our own structures
    print(study(Path("data/mineanybuild")).table())   # those of a folder
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.intervals import Interval
from worldgauge.suites.mineanybuild.critics import Critic, CriticKit, Submission, critics
from worldgauge.suites.mineanybuild.format_reader import load
from worldgauge.suites.mineanybuild.generate.instructions import describe, one_liners
from worldgauge.suites.mineanybuild.generate.structures import structures as starters
from worldgauge.suites.mineanybuild.metrics.blueprint_matching import matching_f1, matching_score, typed_iou
from worldgauge.suites.mineanybuild.metrics.scores import evaluation
from worldgauge.terminal.layout import Column, lay_out_numbers, terminal_width
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, difficulty_factor, tier_of
from worldgauge.worlds.blocks.views import contact_sheet
from worldgauge_lab.critic_agreement import (
    GRADED,
    MEASURES,
    Criterion,
    CriticAgreement,
    Falling,
    StudyCase,
    agreement_of,
    criteria_of,
    falling_of,
)
from worldgauge_lab.critic_damage import ANOTHER, DAMAGES, EMPTY, SAME, TRUTH

MIN_STRUCTURES = 20
"""Fewer do not suffice to accept a critic."""


@dataclass(frozen=True)
class CriticStudy:
    """What was measured.

    Attributes:
        falling: Share of structures whose evaluation never rises with the dose, by (kind, damage).
        reasons: Which bars do not hold.
    """

    source: str
    structures: int
    cases: tuple[StudyCase, ...]
    agreement: tuple[CriticAgreement, ...]
    falling: Falling
    bars: tuple[Criterion, ...]
    accepted: bool
    reasons: tuple[str, ...]

    def spearman(self, kind: str, measure: str, over: str) -> float | None:
        """Return one coefficient."""
        key = (kind, measure, over)
        return next(found.spearman for found in self.agreement if (found.kind, found.measure, found.over) == key)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "source": self.source,
            "structures": self.structures,
            "accepted": self.accepted,
            "reasons": list(self.reasons),
            "bars": [{**asdict(bar), "holds": bar.holds} for bar in self.bars],
            "agreement": [{**asdict(found), "interval": _list(found.interval)} for found in self.agreement],
            "falling": [{"kind": k, "damage": d, "share": share} for (k, d), share in self.falling.items()],
            "cases": [asdict(case) for case in self.cases],
        }

    def to_rows(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The agreement as a header and rows."""
        columns = ("kind", "measure", "over", "spearman")
        rows = []
        for one in self.agreement:
            ends = (None, None) if one.interval is None else (one.interval.low, one.interval.high)
            rows.append((*(getattr(one, name) for name in columns), *ends))
        return (*columns, "low", "high"), rows

    def table(self) -> str:
        """Plain text: means by damage and dose, agreement, monotony, bars."""
        return "\n".join([self.source, "", *_means(self), "", *_agreements(self), "", *_bars(self)])


class StudyBuild(NamedTuple):
    """A true build with the instructions for it: for planning, and for creativity."""

    truth: Blueprint
    instruction: str
    brief: str


def study(
    data: Path | None = None, *, structures: int = 66, seed: int = 42, critic: Critic | None = None
) -> CriticStudy:
    """Run the study on our structures, or on a folder's, evenly from its list. About 2 s per structure and core."""
    if structures < 1:
        raise UsageError(f"a study takes 1 structure or more, not {structures}")
    rng = np.random.default_rng([seed, 0])
    if data is None:
        models = [
            StudyBuild(made.blueprint, describe(made.blueprint, made.name, made.facts), one_liners(made.name, rng)[0])
            for made in starters(seed, structures)
        ]
        source = f"{len(models)} structures of seed {seed}"
    else:
        models = list(_subjects(data, structures, rng))
        source = f"{data.name}: {len(models)} builds"
    judge = critics.get("rules")(CriticKit()) if critic is None else critic
    cases = tuple(case for number in range(len(models)) for case in _cases(models, number, judge, seed))
    return concluded(source, cases, seed=seed)


def concluded(source: str, cases: Sequence[StudyCase], *, seed: int) -> CriticStudy:
    """Draw the conclusions of a study."""
    sound = {TRUTH, EMPTY, *(same.name for same in SAME)}
    rng = np.random.default_rng([seed, 1])
    agreement = tuple(agreement_of([case for case in cases if case.damage not in sound], rng))
    bars = tuple(criteria_of(cases, agreement))
    broken = [f"{bar.name}: {_number(bar.value, 3)}, not >= {bar.least:g}" for bar in bars if not bar.holds]
    structures = len({case.structure for case in cases})
    if structures < MIN_STRUCTURES:
        broken.insert(0, f"{structures} structures, {MIN_STRUCTURES} are needed")
    return CriticStudy(source, structures, tuple(cases), agreement, falling_of(cases), bars, not broken, tuple(broken))


def _subjects(root: Path, most: int, rng: np.random.Generator) -> Iterator[StudyBuild]:
    found = load(root)
    told = {task.architecture: task.instruction for task in found.tasks["planning"] if task.variant == "detailed"}
    known = [one for _, one in sorted(found.architectures.items()) if one.blueprint.blocks]
    if not known:
        raise DataError(f"{root}: no build with blocks; collect some or leave the folder out")
    for place in np.unique(np.linspace(0, len(known) - 1, min(most, len(known))).round().astype(int)):
        one = known[place]
        said = told.get(one.id) or describe(one.blueprint, one.name)
        yield StudyBuild(one.blueprint, said, one_liners(one.name, rng)[0])


def _cases(models: Sequence[StudyBuild], number: int, judge: Critic, seed: int) -> Iterator[StudyCase]:
    """The truth, nothing, and all damaged builds; not those that equal the truth, as a mirrored tower does."""
    model = models[number]
    truth = model.truth
    plain = truth.names_only()
    yield _case(model, number, TRUTH, 0, truth, judge, seed)
    yield _case(model, number, EMPTY, 1, Blueprint(np.full((1, 1, 1), AIR, np.int32), ()), judge, seed)
    for place, damage in enumerate((*SAME, *DAMAGES)):
        for dose in damage.doses:
            built = damage.made(truth, dose, np.random.default_rng([seed, number, place]))
            if built is None:
                continue
            if damage not in SAME and built.names_only() == plain:
                continue
            yield _case(model, number, damage.name, dose, built, judge, seed)
    other = _other(models, number)
    if other is not None:
        yield _case(model, number, ANOTHER, 1, other, judge, seed)


def _case(
    model: StudyBuild, number: int, damage: str, dose: float, built: Blueprint, judge: Critic, seed: int
) -> StudyCase:
    grades = {}
    for kind in GRADED:
        seen = None if kind == "creativity" else model.truth
        submission = Submission(
            task=f"{number}/{damage}/{dose:g}",
            kind=kind,
            instruction=model.brief if kind == "creativity" else model.instruction,
            built=built,
            picture=lambda: contact_sheet(built),
            variant="detailed" if kind == "planning" else "",
            reference=seen,
            reference_picture=None if seen is None else lambda: contact_sheet(model.truth),
        )
        marks = evaluation(kind, True, judge.grade(submission, seed).grades)
        assert marks is not None
        # Rounded, so that weighted sums of equal grades are equal.
        grades[kind] = round(marks, 6)
    matching, f1, iou = (measure(model.truth, built) or 0.0 for measure in (matching_score, matching_f1, typed_iou))
    return StudyCase(number, model.truth.blocks, damage, float(dose), matching, f1, iou, grades)


def _other(models: Sequence[StudyBuild], number: int) -> Blueprint | None:
    """The next true build of the same tier."""

    def tier(model: StudyBuild) -> str:
        factor = difficulty_factor(model.truth.blocks, model.truth.size)
        assert factor is not None
        return tier_of(factor)

    order = [(number + step) % len(models) for step in range(1, len(models))]
    own = tier(models[number])
    return next((models[place].truth for place in order if tier(models[place]) == own), None)


def _means(found: CriticStudy) -> Iterator[str]:
    """A line a damage and dose; last how far creativity is above that of the same structures undamaged."""
    columns = ("n", "matching", "F1", "typed IoU", *GRADED, "less truth's")
    full = {case.structure: case.grades["creativity"] for case in found.cases if case.damage == TRUTH}
    labels, cells = [], []
    units = {damage.name: damage.unit for damage in DAMAGES}
    for damage, dose in dict.fromkeys((case.damage, case.dose) for case in found.cases):
        own = [case for case in found.cases if (case.damage, case.dose) == (damage, dose)]
        unit = units.get(damage, "")
        said = f" {dose:.0%}" if unit.startswith("of") else f" by {dose:g}" if unit else ""
        values = [
            (
                case.matching,
                case.f1,
                case.typed_iou,
                *case.grades.values(),
                case.grades["creativity"] - full[case.structure],
            )
            for case in own
        ]
        labels.append(damage + said)
        cells.append([str(len(own)), *(f"{mean:.2f}" for mean in np.mean(values, axis=0))])
    yield "means"
    yield from _grid(labels, columns, cells)


def _agreements(found: CriticStudy) -> Iterator[str]:
    """A line a damage, a column a kind and measure."""
    pairs = [(kind, measure) for kind in GRADED for measure in MEASURES]
    told = {(one.kind, one.measure, one.over): _told(one) for one in found.agreement}
    overs = list(dict.fromkeys(one.over for one in found.agreement))
    yield "Spearman with"
    yield from _grid(
        overs,
        [f"{kind}, {measure}" for kind, measure in pairs],
        [[told[kind, measure, over] for kind, measure in pairs] for over in overs],
    )
    yield ""
    yield "never rises"
    damages = list(dict.fromkeys(damage for _, damage in found.falling))
    yield from _grid(damages, GRADED, [[_number(found.falling[kind, one], 2) for kind in GRADED] for one in damages])


def _bars(found: CriticStudy) -> Iterator[str]:
    """The bars, then the limits, which have no bound."""
    for bar in found.bars:
        state = "" if bar.least is None else "holds" if bar.holds else "BROKEN"
        bound = "" if bar.least is None else f">= {bar.least:g}"
        yield f"{state:8}{_number(bar.value, 3)} {bound:8}{bar.name}"
    yield "accepted" if found.accepted else "NOT accepted: " + "; ".join(found.reasons)


def _grid(labels: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    columns = [Column(name, [(row[k],) for row in rows]) for k, name in enumerate(names)]
    return (line.text for line in lay_out_numbers([(label,) for label in labels], columns, terminal_width()))


def _told(one: CriticAgreement) -> str:
    if one.spearman is None:
        return "-"
    return f"{one.spearman:.2f}" + (f" [{one.interval.low:.2f}, {one.interval.high:.2f}]" if one.interval else "")


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _list(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
