"""The examples of docs/policies.md are policies, as they stand there."""

import re
import shlex
import sys
import threading
from pathlib import Path

import numpy as np

from support.at_the_page import Hand, free_port
from support.commands import command
from support.places import DOCS
from worldgauge.report.evidence import load_evidence
from worldgauge.serving import open_estimator
from worldgauge.serving.remote import Expected
from worldgauge.suites.closedloop.manipulation.process_proposer import checked_poses
from worldgauge.suites.closedloop.policies.process_proposer import KIND, STEPS, checked_steps
from worldgauge.suites.closedloop.suite import ClosedLoop
from worldgauge.worlds.walking.primitives import letters

PAGE = DOCS / "policies.md"


def test_the_example_is_short_and_answers(tmp_path: Path) -> None:
    code, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.split("\n") if line.strip()]) <= 12
    (tmp_path / "wiggle.py").write_text(code, "utf-8")
    hand = np.array([0.1, 0.2, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    camera = {"width": 4, "height": 3, "fx": 5.0, "fy": 5.0, "cx": 2.0, "cy": 1.5}
    arrays = {
        **{"front": np.zeros((3, 4, 3), np.uint8), "depth": np.ones((3, 4), np.float32), "pose": np.eye(4)},
        **{"hand": hand, "history": np.zeros((0, 8))},
    }
    options = {"instruction": "push", "n": 3, "length": 2, "seed": 5, "camera": camera, "things": []}
    server = open_estimator(f"cmd:{sys.executable} -m worldgauge_serve '{tmp_path}/wiggle.py:Wiggle?far_m=0.02'", KIND)
    try:
        assert (server.spec.kind, server.spec.settings) == (KIND, {"far_m": 0.02})
        wanted = {"poses": Expected(((3, 2, 8),))}
        one, other = (server.estimate(arrays, options, wanted).arrays["poses"] for _ in range(2))
    finally:
        server.close()
    np.testing.assert_array_equal(one, other)
    assert checked_poses(one, 2, "it").shape == (3, 2, 8)
    assert 0 < np.abs(one - hand).max() < 0.1


def test_the_example_that_walks_answers(tmp_path: Path) -> None:
    _, code = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "ahead.py").write_text(code, "utf-8")
    options = {"n": 2, "length": 3, "steps": {step.name.lower(): number for number, step in STEPS.items()}}
    server = open_estimator(f"cmd:{sys.executable} -m worldgauge_serve '{tmp_path}/ahead.py:Ahead'", KIND)
    try:
        answer = server.estimate({}, options, {"steps": Expected(((2, 3),), dtypes=("float64",))}).arrays["steps"]
    finally:
        server.close()
    assert [letters(plan) for plan in checked_steps(answer, 3, "it")] == ["F", "FF"]


def test_a_person_is_a_row_beside_the_references(episodes: Path, tmp_path: Path) -> None:
    """The three commands of the page, in a small world."""
    section = PAGE.read_text("utf-8").split("\n## A person\n")[1].split("\n## ")[0]
    references, person, report = re.findall(r"^    worldgauge (.*)$", section, re.MULTILINE)
    small = " --set view_px=48 --set panorama_px=128 --set decisions=1"
    done = command(tmp_path, *shlex.split(references.replace("DIR", str(episodes)) + small))
    assert done.returncode == 0, done.stderr
    hand = Hand(free_port())
    shown: list[dict[str, object]] = []
    player = threading.Thread(target=lambda: shown.extend(hand.play(lambda now: {"plans": ["LF"]})), daemon=True)
    player.start()
    where = f" --set page=127.0.0.1:{hand.port}"
    done = command(tmp_path, *shlex.split(person.replace("DIR", str(episodes)) + small + where))
    player.join(30)
    assert done.returncode == 0, done.stderr
    assert len(shown) == 2
    assert f"http://127.0.0.1:{hand.port}/: open it in a browser and act as anna" in done.stderr
    assert "anna" in done.stdout
    done = command(tmp_path, *shlex.split(report))
    assert done.returncode == 0, done.stderr
    evidence, _ = load_evidence([tmp_path / "runs" / "navigation"])
    assert {run.label for run in evidence.runs} == {"anna", *ClosedLoop.references}
    assert "anna" in (tmp_path / "navigation.html").read_text("utf-8")
