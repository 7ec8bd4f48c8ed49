"""Acceptance: at tables of the test split a perfect world model pays, and a frozen view gains nothing."""

from pathlib import Path

import pytest

from worldgauge.engine.collect import collect
from worldgauge.engine.run import run


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_oracle_gains_over_no_model_beyond_its_interval_and_a_frozen_view_gains_nothing(tmp_path: Path) -> None:
    counts = {"recognition": 0, "navigation": 0, "questions": 0, "manipulation": 40}
    collect("closedloop", tmp_path / "data", **counts)
    settings = {"view_px": 224, "task": "manipulation"}
    models = ["oracle", "freeze", "none"]
    result = run("closedloop", model=models, data=tmp_path / "data", out=tmp_path / "runs", settings=settings)
    assert result.ok
    gain = next(table for table in result.table() if table.title.startswith("Gain over no world model"))
    cells = {row.label: row.cells[0] for row in gain.rows}
    assert cells["oracle"].n == 40
    assert cells["oracle"].low is not None
    assert cells["oracle"].low > 0.0
    # All frozen ends look alike, and of equal ones the first plan is taken, as without a model.
    assert cells["freeze"].mean == 0.0
