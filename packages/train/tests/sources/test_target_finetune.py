"""Checking a folder, raw scenes, and manifests for fine-tuning."""

import json
from pathlib import Path

import numpy as np
import pytest

from suites.targetbench.target_data import make_target_data, write_video
from worldgauge.core.errors import UsageError
from worldgauge.suites.targetbench.format.read import discover
from worldgauge_train.sources import write_manifest
from worldgauge_train.training.adapt import augmented_frames, plain_frames


class TestFinetuning:
    def test_frames_of_a_walk_of_250(self) -> None:
        plain = plain_frames(250)
        assert (len(plain), plain[0], plain[-1]) == (121, 0, 249)
        assert plain == [int(i * 249 / 120) for i in range(121)]
        augmented = augmented_frames(250)
        assert [clip[0] for clip in augmented] == [0, 1, 2, 3]
        assert [clip[-1] for clip in augmented] == [240, 241, 242, 243]
        assert all(set(np.diff(clip)) == {2} for clip in augmented)
        assert augmented_frames(244)[3][-1] == 243
        for function, n in ((plain_frames, 120), (augmented_frames, 243)):
            with pytest.raises(UsageError):
                function(n)

    def test_the_manifest_names_what_it_leaves_out(self, tmp_path: Path) -> None:
        root = make_target_data(tmp_path / "data", 3, rate_hz=25.0, size=(32, 18))
        scenarios = discover(root)
        assert scenarios[1].video is not None
        write_video(scenarios[1].video, [np.zeros((18, 32, 3), np.uint8)] * 130, 25.0)
        augmented = write_manifest(scenarios, tmp_path / "clips.jsonl", "augmented")
        assert augmented.clips == 8
        assert list(augmented.left_out) == [scenarios[1].id]
        rows = [json.loads(line) for line in augmented.path.read_text().splitlines()]
        assert len(rows) == 8
        assert (tmp_path / rows[0]["video"]).samefile(scenarios[0].video)
        assert rows[5]["frames"][:2] == [1, 3]
        assert rows[0]["caption"] == scenarios[0].target_text
        assert write_manifest(scenarios, tmp_path / "clips.jsonl").clips == 3
        with pytest.raises(UsageError):
            write_manifest(scenarios, tmp_path / "clips.jsonl", "more")  # type: ignore[arg-type]
