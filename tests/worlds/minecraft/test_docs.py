"""What the page on the real game shows runs."""

import re
import subprocess
import sys

import pytest

from support.places import DOCS

PAGE = DOCS / "worlds" / "minecraft.md"


@pytest.mark.minecraft
def test_environment_of_the_page_steps(packages, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(90, 160, 3)")
