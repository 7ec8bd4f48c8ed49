"""Acceptance: in homes of the test split a perfect world model pays, and one that shows nothing new does not."""

from pathlib import Path

import pytest

from worldgauge.engine.collect import collect
from worldgauge.engine.run import run


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_oracle_gains_over_no_model_beyond_its_interval_and_a_frozen_view_gains_nothing(tmp_path: Path) -> None:
    counts = {"recognition": 0, "navigation": 16, "questions": 0, "manipulation": 0}
    collect("closedloop", tmp_path / "data", scenes=16, size=(256, 144), **counts)
    settings = {"view_px": 64, "panorama_px": 256, "task": "navigation"}
    models = ["oracle", "freeze", "none"]
    result = run("closedloop", model=models, data=tmp_path / "data", out=tmp_path / "runs", settings=settings)
    assert result.ok
    gain = next(table for table in result.table() if table.title.startswith("Gain over no world model"))
    cells = {row.label: row.cells[0] for row in gain.rows}
    assert cells["oracle"].n == 16
    assert cells["oracle"].low is not None
    assert cells["oracle"].low >= 25.0
    # Leading turns are real views for every model; the reviser counts only what is imagined beyond them.
    assert cells["freeze"].mean == 0.0
    regret = next(table for table in result.table() if table.metric == "decision_regret/navigation")
    steps = {row.label: row.cells[0].mean for row in regret.rows}
    assert steps["oracle"] is not None
    assert steps["none"] is not None
    assert steps["oracle"] < 0.5 * steps["none"]
