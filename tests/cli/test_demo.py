"""`worldgauge demo`, whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEMO = [sys.executable, "-m", "worldgauge.cli.main", "demo", "--out", "demo"]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_demo_ranks_the_references_of_all_suites_after_an_interruption(tmp_path: Path) -> None:
    environment = {**os.environ, "COLUMNS": "80"}
    with subprocess.Popen(DEMO, cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as first:
        while not list(tmp_path.glob("demo/*/data")):
            time.sleep(0.2)
        first.send_signal(signal.SIGINT)
        assert b"continues from here" in first.communicate(timeout=60)[1]
    assert first.returncode == 130
    done = subprocess.run(DEMO, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len((done.stdout + done.stderr).splitlines()) <= 40
    cards = [json.loads(path.read_text()) for path in tmp_path.glob("demo/*/card.json")]
    assert len(cards) == 5
    assert [card["suite"] for card in cards if None in card["open"].values()] == []
    page = (tmp_path / "demo" / "index.html").read_text("utf-8")
    assert page.count("report.html") >= 5
    again = subprocess.run([*DEMO, "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert [part["error"] for part in json.loads(again.stdout)["parts"]] == [None] * 5
    rows = subprocess.run([*DEMO, "--csv"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert len(rows.stdout.splitlines()) == 1 + sum(len(card["rows"]) for card in cards)
