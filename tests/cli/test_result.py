"""With --json and --csv stdout holds the result alone, whatever a model prints, wherever and whenever."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from support.commands import command
from worldgauge.cli.collect import collect_app
from worldgauge.cli.main import app

pytestmark = pytest.mark.process

NOISY = """
import atexit, ctypes, os, subprocess, sys, threading
import numpy as np
from worldgauge_serve import ModelSpec

def shout(when):
    print(when, "print", flush=True)
    os.write(1, f"{when} descriptor\\n".encode())
    sys.__stdout__.buffer.write(f"{when} buffer\\n".encode())
    ctypes.CDLL(None).puts(f"{when} C".encode())
    subprocess.run(["echo", when, "child"])
    thread = threading.Thread(target=print, args=(when, "thread"))
    thread.start()
    thread.join()

shout("import")
atexit.register(shout, "exit")

class Noisy:
    def __init__(self):
        shout("load")
        self.spec = ModelSpec("noisy", control="actions", frame_size=(64, 48))

    def rollout(self, request):
        shout("rollout")
        yield np.zeros((request.horizon, 48, 64, 3), np.uint8)
"""


def commands(click: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, click
    for name, inner in getattr(click, "commands", {}).items():
        yield from commands(inner, (*path, name))


def test_every_command_reserves_stdout_for_its_result() -> None:
    options = [
        (path, one)
        for root in (app, collect_app)
        for path, click in commands(typer.main.get_command(root))
        for one in click.params
        if {"--json", "--csv"} & set(one.opts)
    ]
    assert len({path for path, _ in options}) > 40
    callbacks = {path: one.callback for path, one in options}
    assert all(callbacks.values()), [path for path, found in callbacks.items() if not found]


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    (tmp_path / "noisy.py").write_text(NOISY)
    return tmp_path


def printed(folder: Path, *words: object) -> tuple[str, str]:
    line = [sys.executable, "-m", "worldgauge", *map(str, words)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout, done.stderr


of_lab = pytest.mark.skipif(not find_spec("worldgauge_lab"), reason="a command of worldgauge-lab")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("calibrate --model ./noisy.py:Noisy --out c --starts 1", marks=of_lab),
        pytest.param("calibrate --model ./noisy.py:Noisy --out c --dry-run", marks=of_lab),
        "questions loopnav --data DATA --out q --for ./noisy.py:Noisy",
        "check-model --model ./noisy.py:Noisy",
        "run loopnav --data DATA --model ./noisy.py:Noisy --no-baselines --limit 1 --out r",
        "generate loopnav --data DATA --model ./noisy.py:Noisy --no-baselines --dry-run",
    ],
)
def test_what_a_model_prints_is_no_result(noisy: Path, walks: Path, words: str) -> None:
    out, errors = printed(noisy, *words.replace("DATA", str(walks)).split(), "--json")
    assert isinstance(json.loads(out), dict)
    if words.startswith(("calibrate", "questions")):
        for how in ("print", "descriptor", "buffer", "C", "child", "thread"):
            assert f"load {how}\n" in errors
            assert f"exit {how}\n" in errors


def test_rows_alone_with_csv(noisy: Path) -> None:
    out, _ = printed(noisy, "check-model", "--model", "./noisy.py:Noisy", "--csv")
    rows = list(csv.reader(io.StringIO(out)))
    assert rows[0] == ["check", "verdict", "question", "measured"]
    assert {len(row) for row in rows} == {4}


@pytest.mark.parametrize(
    "words", ["list models", "list suites", "list adapters", "list commands", "list data", "list weights", "list scans"]
)
def test_a_result_is_one_object_in_this_process_too(tmp_path: Path, words: str) -> None:
    before = sys.stdout
    done = command(tmp_path, *words.split(), "--json")
    assert isinstance(json.loads(done.stdout), dict)
    assert sys.stdout is before


def test_a_reader_that_has_enough_ends_the_command_quietly(tmp_path: Path) -> None:
    line = f"{sys.executable} -m worldgauge list models --json | true"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("", "")
