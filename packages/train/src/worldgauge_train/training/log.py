"""The log of a training: its file, what it shows, and how a network learns by it."""

from __future__ import annotations

import csv
import importlib
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.io import dumps, loads, read_json_object, write_file
from worldgauge.report import curves
from worldgauge.report.curves import ChartLine, SeriesStyle
from worldgauge.report.study_page import Figure, StudyPage, write_page
from worldgauge.report.wording import number
from worldgauge_train.nets.shards import files_of
from worldgauge_train.training.clip import LICENCE, terms_told
from worldgauge_train.training.validation import COLUMNS as VALIDATED
from worldgauge_train.training.validation import PSNR_FRAMES, table_of

LINES, TABLE = "log.jsonl", "log.csv"
BINS = 4
"""Ranges of levels of noise that losses are told for."""
COLUMNS = (
    *("step", "seconds", "samples", "frames", "loss"),
    *(f"loss_{number}" for number in range(BINS)),
    *("gradient_norm", "learning_rate", "data_wait_s", "skipped"),
    *VALIDATED,
)

Sink = Callable[[int, Mapping[str, float]], None]


class Log:
    """The log of a training; `sinks` are "tensorboard", "trackio" or both."""

    def __init__(self, folder: Path, sinks: Sequence[str] = ()) -> None:
        self._folder = folder
        self._sinks = [_sink(name, folder) for name in sinks]

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a row; names that are no columns stand in the JSON lines alone."""
        told = {name: value for name, value in row.items() if value is not None}
        try:
            table = self._folder / TABLE
            with open(table, "a", encoding="utf-8", newline="") as file:
                if not table.stat().st_size:
                    file.write(",".join(COLUMNS) + "\n")
                if set(told) & set(COLUMNS[1:]):
                    csv.writer(file, lineterminator="\n").writerow([told.get(name, "") for name in COLUMNS])
            with open(self._folder / LINES, "a", encoding="utf-8") as file:
                file.write(dumps(told) + "\n")
        except OSError as error:
            raise DataError(f"{self._folder}: the log cannot be written ({error.strerror})") from None
        numbers = {name: float(value) for name, value in told.items() if isinstance(value, (int, float))}
        for sink in self._sinks:
            sink(int(row["step"]), numbers)

    def cut(self, step: int) -> None:
        """Leave out what it says of steps after one, which are taken again."""
        lines = self._folder / LINES
        if lines.exists():
            kept = [line for line in lines.read_text(encoding="utf-8").splitlines() if _step_of_line(line) <= step]
            write_file(lines, "".join(f"{line}\n" for line in kept))
        table = self._folder / TABLE
        if table.exists():
            head, *rows = table.read_text(encoding="utf-8").splitlines() or [",".join(COLUMNS)]
            kept = [row for row in rows if row.count(",") == len(COLUMNS) - 1 and _step_of_row(row) <= step]
            write_file(table, "".join(f"{row}\n" for row in [head, *kept]))


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Rows of a log, from its JSON lines; a half one at the end is left out."""
    path = folder / LINES
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [dict(loads(line)) for line in lines if math.isfinite(_step_of_line(line))]


def check_sinks(names: Sequence[str]) -> None:
    """Check that sinks are known and installed."""
    for name in names:
        if name not in _PACKAGES:
            raise UnknownNameError("log", name, _PACKAGES)
        try:
            importlib.import_module(_PACKAGES[name])
        except ImportError:
            raise UsageError(f"--log {name} needs a package: pip install {name}") from None


_PACKAGES = {"tensorboard": "torch.utils.tensorboard", "trackio": "trackio"}


def _sink(name: str, folder: Path) -> Sink:
    check_sinks([name])
    if name == "tensorboard":
        writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder / "tensorboard"))

        def scalars(step: int, numbers: Mapping[str, float]) -> None:
            for key, value in numbers.items():
                if key != "step":
                    writer.add_scalar(key, value, step)
            writer.flush()

        return scalars
    run = importlib.import_module("trackio").init(project="worldgauge", name=folder.resolve().name, resume="allow")
    return lambda step, numbers: run.log(dict(numbers), step=step)


def _step_of_line(line: str) -> float:
    try:
        return float(loads(line)["step"])
    except (DataError, ValueError, KeyError, TypeError):
        return math.inf  # half a row


def _step_of_row(row: str) -> float:
    try:
        return float(next(csv.reader(io.StringIO(row)))[0])
    except (ValueError, IndexError, StopIteration):
        return math.inf


CONFIG, WEIGHTS, FORMAT = "config.json", "model.safetensors", "worldgauge-trained/1"
MAX_HEADER = 64 * 2**20


def inspected(folder: Path) -> dict[str, Any]:
    """Read what a checkpoint says of itself."""
    config = read_json_object(folder / CONFIG)
    if config.get("format") != FORMAT:
        raise DataError(f"{folder / CONFIG}: no checkpoint of 'worldgauge train' ({FORMAT})")
    files = [one for one in files_of(folder / WEIGHTS) if one.exists()]
    tensors = {name: shape for one in files for name, shape in tensor_shapes(one).items()}
    rows = [row for row in read_log(folder) if "mse_1s" in row]
    found = {
        "config": config,
        "tensors": tensors,
        "parameters": sum(prod(shape) for shape in tensors.values()),
        "validation": rows,
    }
    try:
        list(sentences_of(found))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / CONFIG}: {error!r}; it is damaged") from None
    return found


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """Shapes in a safetensors file, from its header alone."""
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if not 2 <= size <= min(MAX_HEADER, path.stat().st_size - 8):
                raise DataError(f"{path}: a header of {size} bytes does not fit; it is damaged")
            header = loads(file.read(size).decode("utf-8"))
        if not isinstance(header, dict):
            raise ValueError("no object")
        return {
            name: [int(side) for side in one["shape"]] for name, one in sorted(header.items()) if name != "__metadata__"
        }
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: {error}; it is no safetensors file") from None


def sentences_of(found: Mapping[str, Any]) -> Iterator[str]:
    """What a checkpoint says of itself, for a reader."""
    config, recipe = found["config"], found["config"].get("recipe", {})
    size = "x".join(map(str, recipe.get("size", [])))
    done = f"{config.get('steps_done', 0)} of {recipe.get('steps')} steps, {config.get('seconds', 0):.0f} s"
    yield f"{config.get('architecture', '?')}, stage {recipe.get('stage')}, frames of {size}: {done}"
    yield f"{found['parameters']} weights in {len(found['tensors'])} tensors"
    for row in config.get("data", []):
        what = f"{row['clips']} clips, {row['frames']} frames, {len(row['scenes'])} scenes"
        more = f", {row['unknown']} clips of unknown scenes" if row.get("unknown") else ""
        yield f"trained on {row['source']} ({row.get('split', 'train')}): {what}{more}; digest {row['digest'][:12]}"
    if config.get(LICENCE):
        yield f"terms of its training images: {', '.join(terms_told(config))}"
    for one in config.get("lineage", []):
        yield f"began from a checkpoint of the stage {one['stage']}, weights {one['weights'][:12]}"
    if isinstance(config.get("versions"), dict):
        by = ", ".join(f"{name} {number}" for name, number in config["versions"].items())
        yield f"trained on {config.get('device')} in {config.get('precision')}, by {by}"
    for row in found["validation"]:
        numbers = table_of({name: row.get(name) for name in VALIDATED})
        yield f"after {row['step']} steps: " + ", ".join(f"{name} {text}" for name, text in numbers)


SECONDS = "seconds of training"
_NOTES = {"Loss": "Of batches.", "Millions of frames seen": "Frames of all windows so far, past and future."}
_SCALES = {"frames": 1e-6}
NOTE = "Means over the clips of the validation, of one training, so without intervals."


class LogChart(NamedTuple):
    """One drawing of the page: names of columns of the log by the label of their curve, the model's own first."""

    title: str
    columns: Mapping[str, str]


DRAWINGS = (
    LogChart("Loss", {"loss": "loss"}),
    *(
        LogChart(f"Mean squared error of {s} s", {"model": f"mse_{s}s", "freeze": f"freeze_mse_{s}s",
                                                 "mean": f"mean_mse_{s}s"})
        for s in (1, 2, 6)
    ),
    *(LogChart(f"PSNR of frame {n}, dB", {"model": f"psnr_{n}"}) for n in PSNR_FRAMES),
    LogChart("Detail in second 1", {"model": "detail_1s", "freeze": "freeze_detail_1s"}),
    LogChart("Detail in seconds 3 to 6", {"model": "detail_3_6s", "freeze": "freeze_detail_3_6s"}),
    LogChart("Gain from true keys, dB", {"model": "gain_db"}),
    LogChart("Turns that go the right way, share", {"model": "turn_sign"}),
    LogChart("Error of turns, pixels", {"model": "turn_error_px"}),
    LogChart("Energy in second 1, share of the truth's", {"model": "energy_1s", "freeze": "freeze_energy_1s"}),
    LogChart(
        "Energy in seconds 3 to 6, share of the truth's", {"model": "energy_3_6s", "freeze": "freeze_energy_3_6s"}
    ),
    LogChart("Frames generated per second", {"model": "frames_per_s"}),
    LogChart("Millions of frames seen", {"training": "frames"}),
)  # fmt: skip


def write_learning_curve(folder: Path, out: Path, command: str = "") -> Path:
    """Write the page of a checkpoint's log, and each drawing beside it as .svg."""
    found, rows = inspected(folder), read_log(folder)
    figures = [figure for place, one in enumerate(DRAWINGS) if (figure := _figure(place, one, rows)) is not None]
    if not figures:
        raise DataError(f"{folder}: its log holds no values yet")
    name = folder.resolve().name
    return write_page(
        StudyPage("learning curve", name, f"How {name} learned", [*sentences_of(found)], figures, (), {}, command), out
    )


def _figure(place: int, drawing: LogChart, rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    lines = []
    for number_of, (label, column) in enumerate(drawing.columns.items()):
        points = tuple(
            (float(row["seconds"]), float(row[column]) * _SCALES.get(column, 1.0), None, None)
            for row in rows
            if row.get(column) is not None and row.get("seconds") is not None
        )
        if points:
            lines.append(ChartLine(SeriesStyle(f"c{number_of}", f"k{1 + number_of}", label, number_of > 0), points))
    if not lines or lines[0].style.baseline:
        return None
    told = "; ".join(f"{line.style.label}: {number(line.points[-1][1])}" for line in lines)
    drawn = curves.line_chart(
        f"plot-{place}", drawing.title, told, lines, x_label=SECONDS, y_label=drawing.title, unit=False
    )
    return Figure(drawing.title, drawn, _NOTES.get(drawing.title, NOTE))
