"""The example of docs/policies.md is a policy, as it stands there."""

import re
import sys
from pathlib import Path

import numpy as np

from support.places import DOCS
from worldgauge.serving import open_estimator
from worldgauge.serving.estimator import Expected
from worldgauge.suites.closedloop.manipulation.process_proposer import KIND, checked_poses

PAGE = DOCS / "policies.md"


def test_the_example_is_short_and_answers(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
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
