"""A suite that is not ours is known in every worker, from the first task on, whatever registers it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

SUITE = """
from dataclasses import dataclass
from worldgauge.engine.suite.base import Suite
from worldgauge.suites import suites
from worldgauge.engine.suite.contract import Record, Score, Task

@dataclass(frozen=True)
class Settings:
    gain: int = 1

{decorator}
class Own(Suite):
    '''Tasks that count.'''

    name = "own"
    version = 1
    baselines = ()
    metrics = ()

    Settings = Settings
    scoring_settings = frozenset({{"gain"}})

    def tasks(self, source):
        return (Task("own", str(n), {{}}, str(n)) for n in range(6))

    def perform(self, task, model, bench):
        return Record(task, model.spec.name, bench.directory)

    def score(self, record, bench):
        return [Score(record.task.id, "count", self.settings["gain"] * float(record.task.id), n=1)]

    def summarize(self, scores, kinds, failed):
        return []
"""
DECORATOR = '@suites.register("own")'
MODEL = """
from worldgauge.core.model import ModelSpec

class Mute:
    spec = ModelSpec("mute")

    def rollout(self, request):
        return iter(())
"""
RUN = """
import worldgauge
result = worldgauge.run("own", model={model!r}, data=".", out="runs", workers=1)
print(result.counts.scored, sorted(set(failure.error for failure in result.failures)))
result = worldgauge.score(list(result.directories.values()), settings={{"gain": 2}}, workers=1)
print(result.counts.scored, sum(result.frame.value))
"""
WORKED = ["6 []", "6 30.0"]


def _python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A process that sees `folder` and starts elsewhere."""
    (folder / "work").mkdir(exist_ok=True)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder / "work",
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


def _offer(folder: Path, value: str) -> None:
    """A distribution whose entry point names `value` as the suite."""
    info = folder / "ownsuite-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ownsuite\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[worldgauge.suites]\nown = {value}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the user's files are; the model stands apart from the suite."""
    (tmp_path / "ownmodel.py").write_text(MODEL)
    return tmp_path


@pytest.mark.parametrize("decorator", ["", DECORATOR])
def test_by_an_entry_point(folder: Path, decorator: str) -> None:
    """With the decorator as well it is one suite, not two of the same name."""
    (folder / "ownsuite.py").write_text(SUITE.format(decorator=decorator))
    _offer(folder, "ownsuite:Own")
    told = _python(folder, "-c", RUN.format(model="ownmodel:Mute").replace("workers=1", "workers=2"))
    assert told.stdout.splitlines() == WORKED, told.stderr


def test_by_the_command_line(folder: Path) -> None:
    (folder / "ownsuite.py").write_text(SUITE.format(decorator=""))
    _offer(folder, "ownsuite:Own")
    command = ["run", "own", "--model", "ownmodel:Mute", "--data", ".", "--out", "runs", "--workers", "2"]
    told = _python(folder, "-m", "worldgauge.cli.main", *command)
    assert told.returncode == 0, told.stderr
    assert len((folder / "work/runs/mute/scores.jsonl").read_text().splitlines()) == 6


def test_by_a_module_that_only_this_process_has_imported(folder: Path) -> None:
    (folder / "ownsuite.py").write_text(SUITE.format(decorator=DECORATOR))
    told = _python(folder, "-c", "import ownsuite\n" + RUN.format(model="ownmodel:Mute"))
    assert told.stdout.splitlines() == WORKED, told.stderr


def test_by_the_file_of_the_model(folder: Path) -> None:
    """Workers import it twice, by its name and by its path: still one suite."""
    (folder / "ownsuite.py").write_text(SUITE.format(decorator=DECORATOR) + MODEL)
    told = _python(folder, "-c", "import ownsuite\n" + RUN.format(model=f"{folder}/ownsuite.py:Mute"))
    assert told.stdout.splitlines() == WORKED, told.stderr


@pytest.mark.parametrize("model", ["ownmodel:Mute", "ownscript:Mute"])
@pytest.mark.parametrize("as_module", [False, True])
def test_by_the_script_itself(folder: Path, model: str, as_module: bool) -> None:
    run = "if __name__ == '__main__':" + RUN.format(model=model).replace("\n", "\n    ")
    (folder / "ownscript.py").write_text(SUITE.format(decorator=DECORATOR) + MODEL + run)
    told = _python(folder, *(["-m", "ownscript"] if as_module else [f"{folder}/ownscript.py"]))
    assert told.stdout.splitlines() == WORKED, told.stderr


@pytest.mark.slow
@pytest.mark.parametrize("offered", [False, True])
def test_on_a_cluster(folder: Path, offered: bool) -> None:
    pytest.importorskip("ray", reason='needs the extra "cluster"')
    (folder / "ownsuite.py").write_text(SUITE.format(decorator="" if offered else DECORATOR))
    if offered:
        _offer(folder, "ownsuite:Own")
    code = RUN.format(model="ownmodel:Mute").replace("workers=1", 'workers=2, on="ray"')
    told = _python(folder, "-c", ("" if offered else "import ownsuite\n") + code)
    assert told.stdout.splitlines() == WORKED, told.stderr


def test_a_script_that_runs_when_imported_says_so(folder: Path) -> None:
    """Else each worker would start workers, without end."""
    (folder / "ownscript.py").write_text(SUITE.format(decorator=DECORATOR) + RUN.format(model="ownmodel:Mute"))
    told = _python(folder, f"{folder}/ownscript.py")
    assert "0 [" in told.stdout
    assert "ownscript.py starts a run when it is imported" in told.stdout
    assert "if __name__ == '__main__':" in told.stdout


def test_code_that_was_typed_in_is_refused_at_once(folder: Path) -> None:
    code = SUITE.format(decorator=DECORATOR) + RUN.format(model="ownmodel:Mute")
    told = _python(folder, "-c", code)
    assert "UsageError: suite 'own' is in no file that workers could import" in told.stderr


def test_a_suite_of_a_file_whose_import_failed_is_refused(folder: Path) -> None:
    (folder / "broken.py").write_text(SUITE.format(decorator=DECORATOR) + "\n1 / 0\n")
    code = f"""
from contextlib import suppress
from pathlib import Path
from worldgauge.core.user_modules import import_file
from worldgauge.core.errors import ModelError
with suppress(ModelError):
    import_file(Path({str(folder / "broken.py")!r}), "model")
"""
    told = _python(folder, "-c", code + RUN.format(model="ownmodel:Mute"))
    assert "UsageError: suite 'own' is in no file that workers could import" in told.stderr


def test_a_suite_that_calls_itself_otherwise_is_refused(folder: Path) -> None:
    (folder / "ownsuite.py").write_text(SUITE.format(decorator='@suites.register("mine")'))
    code = "import ownsuite\n" + RUN.format(model="ownmodel:Mute").replace('"own"', '"mine"')
    told = _python(folder, "-c", code)
    assert "UsageError: the suite registered as 'mine' calls itself 'own'" in told.stderr
