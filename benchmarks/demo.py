"""`worldgauge demo` as a new user meets it: installed from a wheel into an empty environment, nothing compiled yet.

Run twice: what the first run takes more than the second is the compilation of kernels. Needs a package index.
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

ROOT = Path(__file__).parents[1]
GOALS = {"seconds": 180, "first_table_s": 60, "core_seconds": 300, "install_core_seconds": 60, "install_megabytes": 700}


def run() -> dict[str, Any]:
    """Installation and two demos: seconds by the clock, of the first table, and of processor time, stage by stage."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        python = folder / "environment" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
        before = _spent()
        words = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "requirements.lock", ROOT]
        if subprocess.run(words).returncode:
            return {
                "name": "demo",
                "not_run": "no package index here: it is measured in an environment of its own",
            }
        install = _spent() - before
        first, again = (_demo(python, folder, name) for name in ("first", "again"))
        files = [path for path in python.parents[1].rglob("*") if path.is_file() and not path.is_symlink()]
        ours = {
            **first,
            "install_core_seconds": round(install, 1),
            "install_megabytes": round(sum(path.stat().st_size for path in files) / 1e6),
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


def _demo(python: Path, folder: Path, name: str) -> dict[str, Any]:
    """One demo. Its caches are empty the first time, so that no path is decoded already."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["XDG_CACHE_HOME"] = str(folder / f"cache-{name}")
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
        "stages": {card["suite"]: card["core_seconds"] for card in cards},
    }


def _spent() -> float:
    """Processor time of the processes that this one has waited for, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
