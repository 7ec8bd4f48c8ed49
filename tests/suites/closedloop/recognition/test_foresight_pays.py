"""Acceptance: in homes of the test split a perfect world model pays, and one that shows nothing new does not."""

from pathlib import Path
from typing import Any

import pytest

from worldgauge.engine.collect import collect
from worldgauge.engine.run import run


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_oracle_gains_over_no_model_beyond_its_interval_and_a_frozen_view_gains_nothing(tmp_path: Path) -> None:
    counts: dict[str, Any] = {"recognition": 90, "navigation": 0, "questions": 0, "manipulation": 0}
    collect("closedloop", tmp_path / "data", scenes=30, **counts)
    settings = {"view_px": 96, "panorama_px": 256, "task": "recognition"}
    models = ["oracle", "freeze", "none"]
    result = run("closedloop", model=models, data=tmp_path / "data", out=tmp_path / "runs", settings=settings)
    assert result.ok
    gain = next(table for table in result.table() if table.title.startswith("Gain over no world model"))
    cells = {row.label: row.cells[0] for row in gain.rows}
    assert cells["oracle"].n == 90
    assert cells["oracle"].low is not None
    assert cells["oracle"].low > 0.0
    assert cells["oracle"].mean is not None
    assert cells["oracle"].mean >= 12.0
    # Nothing moves in frozen frames, so no plan counts, and the first is taken, as without a model.
    assert cells["freeze"].mean == 0.0
