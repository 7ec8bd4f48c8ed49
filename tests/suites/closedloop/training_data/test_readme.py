"""The examples of the page on training data run on data as they are collected."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from suites.closedloop.training_data.demonstrations_data import written
from worldgauge.engine.collect import collect

PAGE = Path(__file__).parents[4] / "src" / "worldgauge" / "suites" / "closedloop" / "training_data" / "README.md"


@pytest.mark.parametrize(
    ("name", "words"), [("coverage", "home-train-0000 0"), ("demonstrations", "push_buttons/000000")]
)
def test_examples_of_the_page(tmp_path: Path, name: str, words: str) -> None:
    data = tmp_path / "data" / name
    if name == "coverage":
        collect("coverage", data, scenes=1, size=(64, 32), points=150, steps=4)
    else:
        written(data)
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if name in one]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
