"""Every public name has an example in its docstring, and every example gives what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import worldgauge

MODULES = ["worldgauge", *(f"worldgauge.{part}" for part in ("data", "metrics", "model", "suite", "world"))]
FIRST = ("collect", "run", "write_bundles")
"""Their examples make what others read."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which all examples run, one after the other, as in a notebook."""
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example_that_runs(
    module: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    public = importlib.import_module(module)
    names = sorted((name for name in public.__all__ if not name.startswith("_")), key=lambda name: name not in FIRST)
    imported = {"np": np, "wg": worldgauge, **{name: getattr(public, name) for name in public.__all__}}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    without = []
    for name in names:
        thing = getattr(public, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        (found,) = doctest.DocTestFinder(recurse=False, exclude_empty=False).find(thing, name, globs=dict(imported))
        if not found.examples:
            without.append(name)
        runner.run(found)
    assert not runner.summarize(verbose=False).failed, capsys.readouterr().out
    assert not without
