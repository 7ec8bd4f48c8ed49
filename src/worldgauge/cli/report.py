"""`worldgauge report`, `replay`, `export`: runs as a page, an episode as a film, scores as a benchmark's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import Json


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("report.html"),
    films: Annotated[int, typer.Option(help="Maximum number of tasks shown as films or cards.", min=0)] = 24,
    votes: Annotated[Path | None, typer.Option(help="What worldgauge vote wrote on these runs.")] = None,
    json: Json = False,
) -> None:
    """Compare runs on one page that opens from disk."""
    from worldgauge.report import write_report
    from worldgauge.terminal.output import written

    written(write_report(runs, out, films=films, votes=votes), json)


def replay(
    run: Annotated[Path, typer.Argument(help="Run folder of one subject.")],
    task: Annotated[str, typer.Argument(help="Episode, such as navigation/goal-0007.")],
    out: Annotated[Path, typer.Option(help="MP4 file to write.")] = Path("replay.mp4"),
    json: Json = False,
) -> None:
    """Write one episode of a run as a video: what the world model imagined next to what then happened."""
    from worldgauge.report.films.replay import write_replay
    from worldgauge.terminal.output import written

    if out.suffix.lower() != ".mp4":
        raise UsageError(f"--out {out}: a film ends in .mp4")

    written(write_replay(run, task, out), json)


def export(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="Folder for the files, one per subject.")] = Path("results"),
    json: Json = False,
) -> None:
    """Write scores as result files of the benchmark's own scorer (mind), for tools that read those."""
    from worldgauge.cli import show
    from worldgauge.engine.export import export as write

    show.exported(write(runs, out), json)
