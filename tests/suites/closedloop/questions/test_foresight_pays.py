"""Acceptance: in homes of the test split a perfect world model pays, and one that shows nothing new does not."""

from pathlib import Path

import pytest

from worldgauge.engine.collect import collect
from worldgauge.engine.run import run


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_oracle_gains_over_no_model_beyond_its_interval_and_a_frozen_view_gains_nothing(tmp_path: Path) -> None:
    counts = {"recognition": 0, "navigation": 0, "questions": 104, "manipulation": 0}
    collect("closedloop", tmp_path / "data", scenes=13, **counts)
    settings = {"view_px": 96, "panorama_px": 128, "task": "questions"}
    models = ["oracle?view=panorama", "freeze?view=panorama", "none"]
    result = run("closedloop", model=models, data=tmp_path / "data", out=tmp_path / "runs", settings=settings)
    assert result.ok
    gain = next(table for table in result.table() if table.title.startswith("Gain over no world model"))
    cells = {row.label.partition("?")[0]: row.cells[0] for row in gain.rows}
    assert cells["oracle"].n == 104
    assert cells["oracle"].low is not None
    assert cells["oracle"].low > 0.0
    assert cells["oracle"].mean is not None
    assert cells["oracle"].mean >= 15.0
    assert cells["freeze"].mean == 0.0
