"""`worldgauge evaluate`: from models to one page with all suites that fit them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import (
    FAILED,
    Agents,
    Deadline,
    DryRun,
    Gpus,
    Json,
    Labels,
    Models,
    On,
    Sandbox,
    ScoreDevice,
    Seed,
    Verbose,
    VideoFps,
    VideoLonger,
    Workers,
    labels_of,
    print_result,
    resumable,
)

if TYPE_CHECKING:
    from worldgauge.tools.evaluate import EvaluationPlan

_BUDGET = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?")


def evaluate(
    model: Models = None,
    label: Labels = None,
    agent: Agents = None,
    data: Annotated[
        str, typer.Option(help="Folder of data sets, or benchmark set, made if missing.")
    ] = "worldgauge-small",
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time for all suites, such as 1h or 90m. Default: all tasks.")
    ] = None,
    suites: Annotated[str, typer.Option(help="Suites, separated by commas. Default: all that fit.")] = "",
    out: Annotated[Path, typer.Option(help="Folder of the page, new or to continue.")] = Path("runs/evaluation"),
    published: Annotated[
        bool, typer.Option("--published", help="Use each paper's protocol, to compare with printed numbers.")
    ] = False,
    videos: Annotated[
        Path | None, typer.Option(help="Score finished videos SUITE/MODEL/TASK.mp4 instead of models.")
    ] = None,
    video_fps: VideoFps = None,
    video_longer: VideoLonger = None,
    workers: Workers = 1,
    on: On = None,
    gpus_per_worker: Gpus = None,
    score_device: ScoreDevice = None,
    seed: Seed = 0,
    deadline: Deadline = 1800.0,
    sandbox: Sandbox = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Evaluate models on every suite that fits them, and write one page.

    The command checks each model, plans, makes missing data, and runs. The same command continues a stopped one.
    """
    from worldgauge.terminal.output import print_json, print_text
    from worldgauge.terminal.progress import RunProgress
    from worldgauge.tools.evaluate import (
        EvaluationRequest,
        check_models,
        evaluating,
        lacks_data,
        perform,
        plan_evaluation,
    )

    named = [*(model or ()), *(agent or ())]
    request = EvaluationRequest(
        tuple(model or ()),
        agents=tuple(agent or ()),
        labels=labels_of(label or [], named),
        data=data,
        out=out,
        budget_s=None if budget is None else seconds_of(budget),
        suites=tuple(word.strip() for word in suites.split(",") if word.strip()),
        published=published,
        videos=videos,
        video_fps=video_fps,
        video_longer=video_longer or "error",
        workers=workers,
        on=on,
        gpus_per_worker=gpus_per_worker,
        score_device=score_device,
        seed=seed,
        deadline_s=deadline,
    )
    if dry_run:
        plan = plan_evaluation(request, _tell, make=False)
        if json:
            print_json(**plan.to_dict())
        else:
            show_plan(plan)
        return
    with resumable(), evaluating(out):
        reports = check_models(request, _tell)
        if lacks_data(request, reports):
            if not json:
                show_plan(plan_evaluation(request, _tell, reports=reports, make=False))
            _tell("making the data; the plan is then measured")
        plan = plan_evaluation(request, _tell, reports=reports)
        if not json:
            show_plan(plan)
        with RunProgress(verbose=verbose) as progress:
            found = perform(request, plan, progress)
    if json:
        print_json(page=str(found.page), ok=found.ok, plan=plan.to_dict(), seconds=dict(found.seconds))
    else:
        print_result((out / "table.md").read_text(encoding="utf-8"))
        print_text(f"{found.page}: open it in a browser")
    if not found.ok:
        raise typer.Exit(FAILED)


def seconds_of(text: str) -> float:
    """Seconds of a time such as "1h", "90m", "1h30m" or "45s"."""
    found = _BUDGET.fullmatch(text.strip())
    seconds = (
        sum(float(part or 0) * unit for part, unit in zip(found.groups(), (3600, 60, 1), strict=True)) if found else 0
    )
    if not seconds:
        raise UsageError(f"--budget '{text}' is not a time; give 1h, 90m or 1h30m")
    return seconds


def show_plan(plan: EvaluationPlan) -> None:
    """Print the plan as a table, with its sums."""
    from worldgauge.terminal.output import duration, print_listing, print_text
    from worldgauge.tools.evaluate import PLAN_COLUMNS, plan_rows

    print_listing(PLAN_COLUMNS, plan_rows(plan))
    gpu = f", {plan.gpu_s / 3600:.2f} GPU hours" if plan.gpu_s else ""
    print_text(f"all: {duration(plan.seconds)}{gpu}, {plan.megabytes:.0f} MB")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
