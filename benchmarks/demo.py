"""`worldgauge demo` as a new user meets it: installed from a wheel into an empty environment, nothing compiled yet.

Run twice: what the first run takes more than the second is the compilation of kernels. Then the models are asked and
their answers scored apart, to tell these two stages. Needs a package index.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from worldgauge.engine.suite.base import suites
from worldgauge.engine.workers.worker import THREAD_LIMITS

ROOT = Path(__file__).parents[1]
GOALS = {"seconds": 180, "first_table_s": 60, "core_seconds": 300, "install_core_seconds": 60, "install_megabytes": 700}


def run() -> dict[str, Any]:
    """Installation and two demos: seconds by the clock, of the first table, and of processor time, stage by stage."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        python = folder / "environment" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
        before, empty = _spent(), _megabytes(python.parents[1])
        words = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint"]
        words += [ROOT / "requirements.lock", ROOT]
        if subprocess.run(words).returncode:
            return {"name": "demo", "not_run": "no package index here: it is measured in an environment of its own"}
        install, added = _spent() - before, _megabytes(python.parents[1]) - empty
        first, again = (_demo(python, folder, name) for name in ("first", "again"))
        halves = _asking_and_scoring(python, folder)
        ours = {
            **first,
            "stages": {
                "kernels": round(first["core_seconds"] - again["core_seconds"], 1),
                "collection": again["suites_core_seconds"]["collect"],
                **halves,
                "report": again["suites_core_seconds"]["report"],
            },
            "install_core_seconds": round(install, 1),
            "install_megabytes": round(added),
        }
    return {
        "name": "demo",
        "unit": "seconds",
        "ours": ours["seconds"],
        "reference": again["seconds"],
        "reference_name": "the same with compiled kernels",
        "ratio": round(ours["seconds"] / again["seconds"], 2),
        "goal": GOALS,
        "met": all(ours[name] <= most for name, most in GOALS.items()) and ours["ranked"] == ours["suites"],
        "all": ours,
        "again": again,
    }


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def _demo(python: Path, folder: Path, name: str) -> dict[str, Any]:
    """One demo. Its caches are empty the first time, so that no path is decoded already."""
    environment = _environment(folder, name)
    before, start, first = _spent(), time.monotonic(), 0.0
    words = [python, "-P", "-m", "worldgauge.cli.main", "demo", "--out", folder / name]
    process = subprocess.Popen(words, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)
    for line in process.stderr or ():
        if not first and "n=" in line:
            first = time.monotonic() - start
    if process.wait():
        raise RuntimeError(f"the demo ended with {process.returncode}")
    cards = [json.loads(path.read_text()) for path in sorted((folder / name).glob("*/card.json"))]
    return {
        "seconds": round(time.monotonic() - start, 1),
        "first_table_s": round(first, 1),
        "core_seconds": round(_spent() - before, 1),
        "suites": len(cards),
        "ranked": sum(card["ranked"] for card in cards),
        "suites_core_seconds": {
            stage: {card["suite"]: card["core_seconds"][stage] for card in cards} for stage in cards[0]["core_seconds"]
        },
    }


def _asking_and_scoring(python: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Processor time of the two halves of each run, on the data of the second demo and with compiled kernels."""
    spent: dict[str, dict[str, float]] = {"asking": {}, "scoring": {}}
    for suite in suites.names():
        shown = suites.get(suite).demo_set()
        if shown is None:
            continue
        runs = folder / "halves" / suite
        models = [f"--{suites.get(suite).answerer_kind}={model}" for model in shown.models]
        settings = [f"--set={name}={value}" for name, value in shown.settings.items()]
        data = ["--data", folder / "again" / suite / "data"]
        for half, words in {
            "asking": ["generate", suite, *data, *models, *settings, "--no-baselines", "--out", runs],
            "scoring": ["score", runs],
        }.items():
            before = _spent()
            command = [python, "-P", "-m", "worldgauge.cli.main", *words]
            subprocess.run(command, env=_environment(folder, "halves"), cwd=folder, check=True, capture_output=True)
            spent[half][suite] = round(_spent() - before, 1)
    return spent


def _environment(folder: Path, name: str) -> dict[str, str]:
    """Without this checkout, and with a cache of its own."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return {**environment, "XDG_CACHE_HOME": str(folder / f"cache-{name}"), **dict.fromkeys(THREAD_LIMITS, "1")}


def _spent() -> float:
    """Processor time of the processes that this one has waited for, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
