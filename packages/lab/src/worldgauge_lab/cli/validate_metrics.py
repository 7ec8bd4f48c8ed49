"""`worldgauge validate-metric`: check whether a metric responds to what it claims to measure."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.options import FAILED, Csv, Json, Seed

if TYPE_CHECKING:
    from worldgauge.terminal.output import Form
    from worldgauge_lab.validate_metrics import MetricStudy


class Study(Protocol):
    """Result of a study of a metric."""

    @property
    def accepted(self) -> bool:
        """Whether the metric keeps all bounds."""
        ...

    def table(self) -> str:
        """The complete result as text for people."""
        ...

    def to_rows(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The numbers as a header and rows."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        ...


STUDIES = ("all", "sgcs", "rules", "people")


class Segmenter(StrEnum):
    """Where the objects of a study come from."""

    balanced = "balanced"
    colour = "colour"
    exact = "exact"


def validate_metric(
    metric: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="all: the metrics of frames. sgcs: SGCS against its paper. rules: the rule-based critic. people: "
            "metrics against verdicts of people.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Data set of walks or builds to test on, by default embedded villages and our own builds. people: "
            "WorldReward-Bench, a folder with pairs.csv or verdicts.csv, or runs with votes."
        ),
    ] = None,
    scenes: Annotated[int, typer.Option(help="all, sgcs: number of views.")] = 40,
    segmenter: Annotated[
        Segmenter,
        typer.Option(
            help="sgcs: how objects are found. exact: no model has such masks; without --data, of synthetic scenes."
        ),
    ] = Segmenter.balanced,
    structures: Annotated[int, typer.Option(help="rules: number of builds that are damaged.")] = 66,
    metrics: Annotated[str | None, typer.Option(help="all: only these metrics, separated by commas.")] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=TEXT", help="all, people: network of a learned metric. Can be repeated."),
    ] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="all: HTML page to write; with .svg only its curves.")] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check whether a metric measures what it claims to.

    It should ignore changes that keep the scene, and respond to changes of the scene.
    """
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    if metric not in STUDIES:
        raise UnknownNameError("study of a metric", metric, STUDIES)
    if metric == "all":
        _all(data, scenes, seed, metrics, _networks(network or []), out, form)
        return
    found: Study
    if metric == "people":
        found = _people(data, _networks(network or []))
    elif metric == "sgcs":
        from worldgauge_lab.validate_metrics import published_figure as consistency

        found = consistency.run_published_study(data, scenes=scenes, segmenter=segmenter.value, seed=seed)
    else:
        from worldgauge_lab import critic_study as critic

        found = critic.study(data, structures=structures)
    if not _print_study(found, form):
        raise typer.Exit(FAILED)


def _networks(given: list[str]) -> dict[str, str]:
    if unmeant := [pair for pair in given if "=" not in pair]:
        raise UsageError(f"--network takes METRIC=TEXT, such as dino_mse=cmd:..., got '{unmeant[0]}'")
    return dict(pair.split("=", 1) for pair in given)


def _people(data: Path | None, networks: dict[str, str]) -> Study:
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge_lab.validate_metrics.people.study import people_study

    if data is None:
        raise UsageError(
            "people: give --data, a folder with verdicts of people (bench.jsonl, pairs.csv, verdicts.csv, or votes of "
            "worldgauge view)"
        )
    with ProgressBar() as bar:
        return people_study(data, lambda done, of: bar.show("videos", done, of), networks=networks)


def _all(
    data: Path | None,
    scenes: int,
    seed: int,
    metrics: str | None,
    networks: dict[str, str],
    out: Path | None,
    form: Form,
) -> None:
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge_lab.validate_metrics import metric_study
    from worldgauge_lab.validate_metrics.page import write_metric_study

    if out is not None and out.suffix.lower() not in (".html", ".svg"):
        raise UsageError(f"--out {out}: a page ends in .html, curves alone in .svg")
    with ProgressBar() as bar:
        found = metric_study(
            data,
            scenes=scenes,
            seed=seed,
            names=[name.strip() for name in metrics.split(",")] if metrics else (),
            networks=networks,
            progress=lambda done, of: bar.show("frames judged", done, of),
        )
    words = ["worldgauge", "validate-metric", "all", "--seed", str(seed)]
    words += ["--scenes", str(scenes)] if data is None else ["--data", str(data)]
    words += ["--metrics", metrics] if metrics else []
    words += [word for name, text in networks.items() for word in ("--network", f"{name}={text}")]
    path = None if out is None else write_metric_study(found, out, shlex.join(words))
    _print_metric_study(found, path, form)


def _print_study(found: Study, form: Form) -> bool:
    """Print a study of a metric. Returns whether the metric keeps its bounds."""
    from worldgauge.terminal.output import print_csv, print_json

    if form == "json":
        print_json(**found.to_json())
        return found.accepted
    if form == "csv":
        print_csv(*found.to_rows())
    print(found.table())
    return found.accepted


def _print_metric_study(found: MetricStudy, page: Path | None, form: Form) -> None:
    """Print what each metric responds to, the conclusions, and the path of the page if one was written."""
    from worldgauge.terminal.output import print_csv, print_json, written
    from worldgauge.terminal.tables import print_text
    from worldgauge_lab.validate_metrics import STUDY_COLUMNS, conclusions, study_rows, tables

    if form == "json":
        print_json(**found.to_json(), page=None if page is None else str(page))
        return
    if form == "csv":
        print_csv(STUDY_COLUMNS, study_rows(found))
    print(tables(found))
    for sentence in conclusions(found):
        print_text(sentence)
    if page is not None:
        written(page, json=False)
