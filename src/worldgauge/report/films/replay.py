"""One record as a film of its own, in full size."""

from __future__ import annotations

from pathlib import Path

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.video import Writer
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.store import RunFolder, record_entry, write_error
from worldgauge.engine.suite.contract import Record, Task


def write_replay(run: Path, task: str, out: Path) -> Path:
    """Write the film that the suite shows of a task.

    Args:
        run: The run folder.
        task: Id of the task.
        out: File to write.

    Returns:
        Path of the film.

    Raises:
        UsageError: For a suite without films of its own.
        RunError: Where the record is gone, or the film cannot be written.
        DataError: Where the data of the record are gone.
    """
    folder = RunFolder(run)
    facts = folder.facts()
    suite = open_suite(facts["suite"], facts["settings"])
    if not suite.shows_films:
        raise UsageError(f"suite '{suite.name}' has no replays: its records are films, see {run}/records")
    if not folder.record(task).is_dir():
        known = sorted(path.name.replace("__", "/") for path in (run / "records").iterdir() if path.is_dir())
        raise UnknownNameError(f"episode in {run}", task, known)
    entry = record_entry(folder.record(task))
    sample = dict(entry["sample"])
    if "source" in sample:
        sample["source"] = facts["source"]
    asked = Task(entry["suite"], task, sample, entry["fingerprint"], entry["group"])
    film = suite.film(Record(asked, entry["subject"], folder.record(task), entry["facts"], entry["rollout"]))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, out.parent) from error
    with Writer(out, fps=film.fps, kind="viewable") as writer:
        for frame in film:
            writer.write(frame)
    return out
