"""The result of a run as Python gets it: its tables, data frame, films and page."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from worldgauge.api.tables import Tables
from worldgauge.engine.result import RunResult
from worldgauge.report import write_report
from worldgauge.report.films.film import Film
from worldgauge.report.films.task_film import film_task


class Result(RunResult):
    """One or more runs of a suite, which show themselves in a script and in a notebook."""

    @classmethod
    def of(cls, result: RunResult) -> Result:
        """The same runs, showing themselves."""
        return cls(result.folders, result.suite)

    def table(self) -> Tables:
        """The tables of the suite over these subjects, headline first. A notebook shows them as HTML."""
        return Tables.of(super().table())

    def report(self, out: Path | str, *, films: int = 24) -> Path:
        """Write the page that compares these runs.

        Args:
            out: The page (.html), or a folder that gets `index.html`.
            films: Largest number of tasks shown as films.

        Returns:
            Path of the page.

        Raises:
            RunError: When the page cannot be written.
        """
        return write_report(list(self.directories.values()), Path(out), films=films)

    def film(self, task: str) -> Film:
        """Show one task as a film: the truth and all subjects side by side. A notebook plays it.

        Args:
            task: Id of the task, as in the column "task" of `frame`.

        Returns:
            The film; `data` are the bytes of an MP4 file.

        Raises:
            UnknownNameError: No subject has scores of this task.
            UsageError: For a suite whose tasks are answered in words, or where no record can be shown.
        """
        return film_task(list(self.directories.values()), task)

    def __str__(self) -> str:
        head = [str(table) for table in self.table()[:1]] if self.counts.scored else []
        return "\n".join([*head, *(f"{name}: {counts}" for name, counts in self.subject_counts.items())])

    def _repr_html_(self) -> str:
        head = [Markup(table._repr_html_()) for table in self.table()[:1]] if self.counts.scored else []
        ends = [Markup("<p>{}: {}</p>").format(name, counts) for name, counts in self.subject_counts.items()]
        failures = [Markup("<p>failed: {} {}: {}</p>").format(f.subject, f.task, f.error) for f in self.failures[:5]]
        return Markup("\n").join([*head, *ends, *failures])
