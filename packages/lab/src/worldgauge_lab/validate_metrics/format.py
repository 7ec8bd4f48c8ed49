"""A metric study as text: tables, and conclusions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from worldgauge.terminal.layout import Cell, Column, lay_out_numbers, terminal_width, wrap
from worldgauge_lab.validate_metrics.results import Curve, MetricStudy, PerturbationColumn, Selectivity

MOST_TIMES = 100.0
"""Ratios beyond are not distinguished."""
FAINT = 0.02
"""A response of less than this share of what another scene does is hardly one, however certain it is."""


def tables(found: MetricStudy) -> str:
    """Tables as plain text: responses, the weakest visible strength, selectivity, and what could not be measured."""
    measured, applied = found.measured, found.applied
    counts = [_span({row.curves[c.name].usual.response.n for row in measured}) for c in applied]
    skipped = [_span({row.curves[c.name].usual.skipped for row in measured}) for c in applied]
    absent = [(row.metric, row.reason) for row in found.rows if row.reason]
    absent += [(column.name, column.reason) for column in found.columns if column.reason]
    width = terminal_width()
    metrics = [row.metric for row in measured]
    extra = [[(text,) for text in texts] for texts in (counts, skipped)]
    responses = [
        Column(c.name, [*(_response(row.curves[c.name]) for row in measured), *(texts[k] for texts in extra)])
        for k, c in enumerate(applied)
    ]
    growth = [Column(c.name, [_first_and_rho(row.curves[c.name]) for row in measured]) for c in applied]
    ratios = [
        Column("largest masks", [(ratio_words(row.selectivity),) for row in measured]),
        Column("buildings, trees, flowers", [(ratio_words(row.selectivity_of_things),) for row in measured]),
    ]

    def block(title: str, names: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
        yield ""
        yield from wrap(title, width)
        yield from (line.text for line in lay_out_numbers([(name,) for name in names], columns, width))

    lines = wrap(f"{found.source}, n = {found.units}, seed {found.seed}", width)
    lines += block(
        "Response at the usual strength: 0 the truth, 1 another scene; 95 % interval, * if without 0",
        [*metrics, "n", "skipped frames"],
        responses,
    )
    lines += block(
        "Weakest strength that differs from the truth, in usual ones, and Spearman's rho of strength and response",
        metrics,
        growth,
    )
    lines += block(
        "Response to deletion and swap over that to colour, translation, rotation and scaling, 95 % interval",
        metrics,
        ratios,
    )
    if absent:
        lines += ["", "Not measured", *(f"{name}: {reason}" for name, reason in absent)]
    return "\n".join(lines)


STUDY_COLUMNS = ("metric", "perturbation", "strength", "n", "mean", "low", "high")
"""Columns of the study as CSV: a response per row."""


def study_rows(found: MetricStudy) -> Iterator[tuple[str, str, float, int, float | None, float | None, float | None]]:
    """Rows of `STUDY_COLUMNS`, with all digits."""
    for row in found.measured:
        for column in found.applied:
            for dose in row.curves[column.name].doses:
                mean, low, high, n = dose.response
                yield row.metric, column.name, dose.strength, n, mean, low, high


def conclusions(found: MetricStudy) -> tuple[str, ...]:
    """Sentences that the numbers support, each for the metrics whose interval confirms it."""
    rows = [row for row in found.measured if row.selectivity is not None]
    said = []
    for of, what in (
        ("selectivity", "a deleted or swapped large mask"),
        ("selectivity_of_things", "a lost or swapped building, tree or flower"),
    ):
        sure = [(row.metric, s) for row in rows if (s := getattr(row, of)) is not None and s.low is not None]
        better = [name for name, s in sure if s.low > 0.5]
        worse = [name for name, s in sure if s.high < 0.5]
        if better:
            said.append(f"React more to {what} than to a harmless change: {', '.join(better)}.")
        if worse:
            said.append(f"React more to a harmless change than to {what}: {', '.join(worse)}.")
    for name in ("thing_loss", "thing_swap"):
        missed = [row.metric for row in found.measured if not _is_felt(row.curves[name])]
        if missed:
            said.append(f"Do not see {name.replace('_', ' ')} at its usual strength: {', '.join(missed)}.")
    numb = _named(found, lambda column, curve: column.kind == "degrades" and _is_numb(curve))
    if numb:
        said.append(f"Look at pictures and yet see nothing at any strength: {numb}.")
    blind = [row.metric for row in found.measured if any(curve.blind for curve in row.curves.values())]
    if blind:
        why = "Read exact masks, not pictures, so that colour, noise, blur and JPEG cannot touch them"
        said.append(f"{why}: {', '.join(blind)}.")
    praised = _named(found, lambda column, curve: _is_praised(curve))
    if praised:
        said.append(f"Rate a changed frame above the truth: {praised}.")
    return tuple(said)


def ratio_words(found: Selectivity | None) -> str:
    """The ratio in words, such as "0.5 [0.4, 0.6]"; a dash where there is none."""
    if found is None:
        return "-"
    middle, low, high = (_times(Selectivity.ratio(share)) for share in found[:3])
    return middle if found.low is None or low == middle == high else f"{middle} [{low}, {high}]"


def _named(found: MetricStudy, holds: Callable[[PerturbationColumn, Curve], bool]) -> str:
    """Metrics, and in brackets the perturbations of which something holds."""
    named = {row.metric: [c.name for c in found.applied if holds(c, row.curves[c.name])] for row in found.measured}
    return "; ".join(f"{metric} ({', '.join(names)})" for metric, names in named.items() if names)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"> {MOST_TIMES:g}" if ratio > MOST_TIMES else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _is_felt(curve: Curve) -> bool:
    response = curve.usual.response
    return response.is_not_zero and abs(response.mean or 0.0) >= FAINT


def _is_numb(curve: Curve) -> bool:
    return not curve.blind and curve.first_seen is None


def _is_praised(curve: Curve) -> bool:
    high = curve.usual.response.high
    return high is not None and high < 0


def _response(curve: Curve) -> Cell:
    response = curve.usual.response
    if curve.blind or response.mean is None:
        return ("blind" if curve.blind else "-",)
    if response.low is None or response.high is None:
        return (f"{response.mean:.2f}",)
    return f"{response.mean:.2f}{'*' if response.is_not_zero else ''}", f"[{response.low:.2f}, {response.high:.2f}]"


def _first_and_rho(curve: Curve) -> Cell:
    if curve.blind:
        return ("blind",)
    rho = curve.monotonicity.mean
    first = "never" if curve.first_seen is None else f"x{curve.first_seen:g}"
    return (first,) if rho is None else (f"{first} {rho:+.2f}",)


def _span(counts: set[int]) -> str:
    return "-" if not counts else f"{min(counts)}" if len(counts) == 1 else f"{min(counts)}-{max(counts)}"
