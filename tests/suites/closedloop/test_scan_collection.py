"""Navigation collected in scans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import command
from support.scan_tree import HM3D_KEY, make_hm3d
from worldgauge.suites.closedloop.format import check
from worldgauge.suites.closedloop.settings import Settings
from worldgauge.suites.closedloop.task_index import open_task, tasks
from worldgauge.worlds.scan import sources

COLLECT = ("collect", "closedloop", "--world", "scan", "--size", "64x36", "--navigation")


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WORLDGAUGE_SCENES", raising=False)
    make_hm3d(tmp_path / "hm3d")
    sources.add("hm3d", tmp_path / "hm3d")


def test_navigation_is_collected_on_all_storeys(tmp_path: Path) -> None:
    key = f"hm3d/{HM3D_KEY}"
    done = command(tmp_path, *COLLECT, "4", "--scenes", key, "--out", "d", columns=200)
    assert done.returncode == 0, done.stderr
    assert "not collected in scans, but in homes: recognition, questions, manipulation" in done.stderr
    manifest = json.loads((tmp_path / "d" / "worldgauge.json").read_text())
    assert manifest["settings"]["floor"] == "navmesh"
    assert "Matterport" in manifest["settings"]["licence"]
    assert manifest["worlds"][key.replace("/", "_")]["params"] == {"scene": key}
    assert str(tmp_path) not in (tmp_path / "d" / "worldgauge.json").read_text()
    told = check.check(tmp_path / "d", decode=True)
    assert not [one for one in told.findings if one.severity in ("error", "warning")]
    for task in tasks(tmp_path / "d", Settings.of({})):
        opened = open_task(task, Settings.of({"view_px": 32, "panorama_px": 64}))
        env, episode = opened.make_env(), opened.episode
        assert not env.ground.sliding, "only published episodes slide"
        steps = env.ground.steps_to(episode.start, episode.goal.at, episode.radius_m)
        assert len(steps) == episode.step_to_goal


def test_folders_give_the_scenes_of_the_split(tmp_path: Path) -> None:
    done = command(tmp_path, *COLLECT, "1", "--scenes", "hm3d", "--out", "d", columns=200)
    assert done.returncode == 2
    assert f"no scene of 'hm3d' is in split test (hm3d/{HM3D_KEY} val)" in done.stderr
    for wrong in (("--scenes", "3"), ()):
        done = command(tmp_path, *COLLECT, "1", *wrong, "--out", "d", columns=200)
        assert done.returncode == 2
        assert "go together" in done.stderr
