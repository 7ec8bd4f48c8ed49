"""The learning curve of a checkpoint: what its log says of loss and validations, drawn over the seconds of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from worldgauge.core.errors import DataError
from worldgauge.report.charts import curves
from worldgauge.report.charts.curves import Curve, SeriesStyle
from worldgauge.report.study_page import Figure, StudyPage, write_page
from worldgauge.report.wording import number
from worldgauge_train.training.inspection import inspected, sentences_of
from worldgauge_train.training.log import read_log
from worldgauge_train.training.validation import PSNR_FRAMES

SECONDS = "seconds of training"
_NOTES = {"Loss": "Of batches.", "Millions of frames seen": "Frames of all windows so far, past and future."}
_SCALES = {"frames": 1e-6}
NOTE = "Means over the clips of the validation, of one training, so without intervals."


class Drawing(NamedTuple):
    """One drawing of the page: names of columns of the log by the label of their curve, the model's own first."""

    title: str
    columns: Mapping[str, str]


DRAWINGS = (
    Drawing("Loss", {"loss": "loss"}),
    *(
        Drawing(f"Mean squared error of {s} s", {"model": f"mse_{s}s", "freeze": f"freeze_mse_{s}s",
                                                 "mean": f"mean_mse_{s}s"})
        for s in (1, 2, 6)
    ),
    *(Drawing(f"PSNR of frame {n}, dB", {"model": f"psnr_{n}"}) for n in PSNR_FRAMES),
    Drawing("Detail in second 1", {"model": "detail_1s", "freeze": "freeze_detail_1s"}),
    Drawing("Detail in seconds 3 to 6", {"model": "detail_3_6s", "freeze": "freeze_detail_3_6s"}),
    Drawing("Gain from true keys, dB", {"model": "gain_db"}),
    Drawing("Turns that go the right way, share", {"model": "turn_sign"}),
    Drawing("Error of turns, pixels", {"model": "turn_error_px"}),
    Drawing("Energy in second 1, share of the truth's", {"model": "energy_1s", "freeze": "freeze_energy_1s"}),
    Drawing("Energy in seconds 3 to 6, share of the truth's", {"model": "energy_3_6s", "freeze": "freeze_energy_3_6s"}),
    Drawing("Frames drawn a second", {"model": "frames_per_s"}),
    Drawing("Millions of frames seen", {"training": "frames"}),
)  # fmt: skip


def write_learning_curve(folder: Path, out: Path, command: str = "") -> Path:
    """Write the page of a checkpoint's log, and each drawing beside it as .svg.

    Args:
        folder: Folder of the checkpoint.
        out: File of the page, .html.
        command: Command that makes it again.

    Returns:
        Its path.

    Raises:
        DataError: There is no checkpoint, or its log holds nothing to draw.
        RunError: The page cannot be written.
    """
    found, rows = inspected(folder), read_log(folder)
    figures = [figure for place, one in enumerate(DRAWINGS) if (figure := _figure(place, one, rows)) is not None]
    if not figures:
        raise DataError(f"{folder}: its log holds nothing to draw")
    name = folder.resolve().name
    return write_page(
        StudyPage("learning curve", name, f"How {name} learned", [*sentences_of(found)], figures, (), {}, command), out
    )


def _figure(place: int, drawing: Drawing, rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    lines = []
    for number_of, (label, column) in enumerate(drawing.columns.items()):
        points = tuple(
            (float(row["seconds"]), float(row[column]) * _SCALES.get(column, 1.0), None, None)
            for row in rows
            if row.get(column) is not None and row.get("seconds") is not None
        )
        if points:
            lines.append(Curve(SeriesStyle(f"c{number_of}", f"k{1 + number_of}", label, number_of > 0), points))
    if not lines or lines[0].style.reference:
        return None
    told = "; ".join(f"{line.style.label}: {number(line.points[-1][1])}" for line in lines)
    drawn = curves.line_chart(
        f"plot-{place}", drawing.title, told, lines, x_label=SECONDS, y_label=drawing.title, unit=False
    )
    return Figure(drawing.title, drawn, _NOTES.get(drawing.title, NOTE))
