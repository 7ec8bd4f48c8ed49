"""The files in examples/: their commands run as their docstrings show them, each in a process of its own."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.places import ROOT
from worldgauge import UsageError
from worldgauge.data import collections
from worldgauge.model import decoders, proposers
from worldgauge.suite import suites
from worldgauge.world import Camera, open_world, pose_from_yaw_pitch, worlds

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that holds examples/, as the repository does; what is named by file is noted beside it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    return tmp_path


def commands_of(example: str) -> list[str]:
    text = ast.get_docstring(ast.parse((ROOT / "examples" / example).read_text("utf-8"))) or ""
    return re.findall(r"^    ((?:worldgauge|python) .*)$", text, re.MULTILINE)


def typed(folder: Path, line: str, *more: str) -> str:
    """What a command printed; it must end well."""
    words = [*shlex.split(line), *more]
    start = [sys.executable] if words[0] == "python" else [sys.executable, "-m", "worldgauge"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
    done = subprocess.run(
        [*start, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_there_are_eight_and_each_says_how_to_run_it() -> None:
    assert [path.stem for path in EXAMPLES] == [
        f"hello_{one}" for one in ("data_set", "decoder", "metric", "model", "policy", "probe", "suite", "world")
    ]
    for path in EXAMPLES:
        assert commands_of(path.name)
        assert path.read_text("utf-8").count("\n") <= 90


def test_model_and_metric(folder: Path) -> None:
    check, collect, run, served = commands_of("hello_model.py")
    assert "fade" in typed(folder, check)
    typed(folder, collect)
    assert "fade" in typed(folder, run)
    assert "fade" in typed(folder, served, "--limit", "1", "--no-baselines")
    run, score = commands_of("hello_metric.py")
    assert "brightness_gap (your own)" in typed(folder, run, "--no-baselines")
    assert typed(folder, score).count("brightness_gap (your own)") == 1
    assert "gap 2.0 grey levels, PSNR 42.1 dB" in typed(folder, "python examples/hello_metric.py")


def test_world_is_walked_in_and_found_by_its_name(folder: Path) -> None:
    collect, run = commands_of("hello_world.py")
    typed(folder, collect, "--per-combination", "1", "--size", "64x36", "--workers", "2")
    assert "2 expected = 2 scored" in typed(folder, run, "--no-baselines", "--workers", "2")
    assert "looking down from 2.0 m" in typed(folder, "python examples/hello_world.py")


def test_suite_is_named_by_its_file_once_and_then_by_its_name(folder: Path) -> None:
    collect, run, report = commands_of("hello_suite.py")
    typed(folder, collect, "--workers", "2")
    assert "truth: 2 expected = 2 scored" in typed(folder, run, "--workers", "2")
    typed(folder, report)
    assert "Change while the camera stands still" in (folder / "stare.html").read_text("utf-8")
    assert "0 generated" not in typed(folder, "worldgauge run stare --data data --model freeze --out more")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    assert "noise: 2 expected = 2 scored" in typed(elsewhere, "worldgauge score ../runs")


def test_data_set_is_collected_and_a_damaged_picture_is_found(folder: Path) -> None:
    collect, check = commands_of("hello_data_set.py")
    typed(folder, collect)
    assert "photos: 2 of 2 valid" in typed(folder, check)
    (folder / "photos" / "home-0001.png").write_bytes(b"no picture")
    with pytest.raises(AssertionError, match=r"photos: 1 of 2 valid"):
        typed(folder, check)


def test_policy_and_decoder(folder: Path) -> None:
    (line,) = commands_of("hello_policy.py")
    plans = typed(folder, line).splitlines()
    assert [len(plan.split()) for plan in plans] == [8] * 5
    (line,) = commands_of("hello_decoder.py")
    assert "ok: from [0. 0.] to [0. 2.] metres" in typed(folder, line)


@pytest.mark.parametrize("example", ["hello_policy.py", "hello_decoder.py"])
def test_entry_points_of_the_examples_are_those_of_worldgauge(example: str) -> None:
    text = ast.get_docstring(ast.parse((ROOT / "examples" / example).read_text("utf-8"))) or ""
    ((group, name, value),) = re.findall(r'entry-points\."([\w.]+)"\]\n    ([\w-]+) = "(\w+:\w+)"', text)
    registry = {"worldgauge.proposers": proposers, "worldgauge.decoders": decoders}[group]
    assert registry._group == group
    assert value.partition(":")[0] == example.removesuffix(".py")
    assert f'.register("{name}"' in (ROOT / "examples" / example).read_text("utf-8")


def test_probe(folder: Path) -> None:
    (line,) = commands_of("hello_probe.py")
    values = [float(one) for one in re.findall(r"PSNR ([\d.]+) dB", typed(folder, line))]
    assert values == sorted(values)
    assert len(set(values)) == 3


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process works in the folder; what it registers goes with the test."""
    monkeypatch.chdir(folder)
    for registry in (worlds, collections, suites):
        registry.names()
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@pytest.mark.usefixtures("here")
def test_names_are_found_by_file_in_this_process() -> None:
    world = open_world(worlds.named("./examples/hello_world.py:Stripes").load()(seed=1).facts)
    view = world.view(pose_from_yaw_pitch((0.5, 0.5, 2.0), 0.0, -np.pi / 2), Camera.from_vertical_fov(9, 9, 10))
    assert np.allclose(view.depth, 2.0)
    assert (view.rgb == 220).all()
    assert collections.named("./examples/hello_suite.py:Stare").name == "stare"
    assert collections.named("./examples/hello_suite.py:StareCollection").name == "stare"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("./examples/hello_suite.py:Nope", "registers no suite 'Nope'"),
        ("./examples/hello_world.py:Stripes", "registers no suite 'Stripes'"),
        ("./examples/hello_suite.py", "name the class in it"),
        ("./examples/none.py:Stare", "No such file"),
        ("no_such_module:Stare", "there is no module 'no_such_module'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_wrong_name_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        suites.named(text)
