"""Checking a folder, raw scenes, and manifests for fine-tuning."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from suites.target.target_data import make_bad_inputs, make_target_data, make_walk, render, write_video
from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.geometry import quaternion_of_pose
from worldgauge.suites.target import format as target


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_target_data(tmp_path_factory.mktemp("target"), rate_hz=5.0, size=(80, 46))


class TestCheck:
    def test_a_good_folder(self, original: Path) -> None:
        report = target.check(original, decode=True)
        assert [finding.text for finding in report.findings] == []
        assert (report.n_scenarios, report.n_valid, report.n_frames) == (3, 3, 150)
        assert report.horizons == {"8": 3, "6": 3, "4": 3}
        assert report.categories == {"box": 3}
        rows = {row.label: row for row in report.rows}
        assert {label: row.scenarios for label, row in rows.items()} == {"all": 3, "explicit": 2, "implicit": 1}
        assert rows["all"].published == 125
        assert rows["all"].speed_m_s is not None
        assert rows["all"].speed_m_s.mean == pytest.approx(4.34 / 8, rel=0.01)
        assert rows["implicit"].end_m is not None
        assert rows["implicit"].end_m.mean == pytest.approx(39 * 4.34 / 40)
        json.dumps(report.to_dict(), allow_nan=False)

    def test_bad_inputs(self, tmp_path: Path) -> None:
        root, _ = make_bad_inputs(tmp_path)
        report = target.check(root)
        assert (report.n_scenarios, report.n_valid) == (9, 4), "one cannot be asked, which is a warning"
        texts = [f"{finding.severity}: {finding.text}" for finding in report.findings]
        assert sum(text.startswith("error") for text in texts) == 4
        for words in ("needs the columns", "gaps, left out", "video has 1 frames, the path 20 rows"):
            assert any(words in text for text in texts), words

    def test_what_is_odd_is_told(self, original: Path, tmp_path: Path) -> None:
        root = Path(shutil.copytree(original, tmp_path / "data"))
        scenarios = target.discover(root)
        stem = [scenario.folder / scenario.id for scenario in scenarios]
        metadata = json.loads(Path(f"{stem[0]}_metadata.json").read_text())
        metadata["distance_first_to_current"]["distance_meters"] = 2.0
        Path(f"{stem[0]}_metadata.json").write_text(json.dumps(metadata))
        xy = scenarios[1].path_xy.copy()
        xy[30:] += (0, 3)
        Path(f"{stem[1]}_trajectory.csv").write_text("x,y\n" + "\n".join(f"{x},{y}" for x, y in xy))
        Path(f"{stem[2]}_first_frame.png").write_bytes(b"no picture")
        (root / "dataset" / "im_ex_test_only.csv").write_text("name,is_explicit\nstranger,1\n")
        for path in root.rglob("*_world.json"):
            path.unlink()
        texts = [finding.text for finding in target.check(root).findings]
        for words in ("2.00 m in the metadata, 1.08 m in the path", "jumps: 15.5 m/s", "not a PNG", "stranger"):
            assert any(words in text for text in texts), (words, texts)
        assert any("3 scenarios have no label" in text for text in texts)

    def test_broken_labels_are_one_error(self, original: Path, tmp_path: Path) -> None:
        root = Path(shutil.copytree(original, tmp_path / "data"))
        (root / "dataset" / "im_ex_test_only.csv").write_text("name,is_explicit\nx,maybe\n")
        report = target.check(root)
        assert (report.n_scenarios, report.n_valid) == (3, 3)
        (finding,) = report.findings
        assert finding.severity == "error"
        assert "im_ex_test_only.csv: row 0: is_explicit is 'maybe'; give 1 or 0" in finding.text

    def test_nothing_there(self, tmp_path: Path) -> None:
        assert [finding.severity for finding in target.check(tmp_path).findings] == ["error"]


class TestRaw:
    @pytest.fixture
    def raw(self, tmp_path: Path) -> tuple[Path, np.ndarray]:
        """A recording of 50 rows whose frame numbers begin at 7, and a video of half as many frames."""
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        walk = make_walk("curve", 0, 5.0)
        quaternions = quaternion_of_pose(walk.poses)
        columns = {
            "frame": np.arange(7, 57),
            **{f"pos_{axis}": walk.poses[:, k, 3] for k, axis in enumerate("xyz")},
            **{f"quat_{axis}": quaternions[:, k] for k, axis in enumerate("xyzw")},
            "image_timestamp": 1.7e15 + np.arange(50) * 0.2e6,
        }
        (tmp_path / "data").mkdir()
        parquet.write_table(pyarrow.table(columns), tmp_path / "data" / "sample_009.parquet")
        frames = list(render("curve", 0, walk.poses[::2], (80, 46)))
        write_video(tmp_path / "video" / "sample_009_rgb_camera.mp4", frames, 2.5)
        return tmp_path, walk.poses

    def test_a_segment_is_cut_as_the_tool_does(self, raw: tuple[Path, np.ndarray], tmp_path: Path) -> None:
        root, poses = raw
        scene = target.read_raw(root, "sample_009")
        assert (len(scene), scene.dt) == (50, pytest.approx(0.2)), "microseconds"
        out = tmp_path / "Benchmark"
        scenario = target.scenario_from_raw(scene, out, first=9, current=17, last=48, caption="Go.")
        assert scenario.id == "sample_009_custom_segment_009_048"
        assert (scenario.fault, scenario.warnings, scenario.history_rows) == (None, (), 8)
        np.testing.assert_allclose(scenario.path_xy, target.path_of_poses(poses[2:42], 8), atol=1e-6)
        assert scenario.anchor_distance_m == pytest.approx(np.linalg.norm(poses[10, :2, 3] - poses[2, :2, 3]))
        assert scenario.metadata["trajectory_start_frame"] == 9
        assert len(target.open_video(scenario)) == 40
        assert target.discover(tmp_path)[0].id == scenario.id

    def test_without_pyarrow_the_extra_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"worldgauge\[analysis\]"):
            target.read_raw(tmp_path, "sample_009")

    def test_ranges_without_rows_and_bad_tables_are_refused(self, raw: tuple[Path, np.ndarray], tmp_path: Path) -> None:
        from pyarrow import parquet

        root, _ = raw
        scene = target.read_raw(root, "sample_009")
        for first, current, last in ((9, 99, 48), (200, 210, 220), (9, 48, 48)):
            with pytest.raises(DataError):
                target.scenario_from_raw(scene, tmp_path / "b", first=first, current=current, last=last, caption="Go.")
        path = root / "data" / "sample_009.parquet"
        parquet.write_table(parquet.read_table(path).drop_columns(["quat_w"]), path)
        with pytest.raises(DataError, match="lacks the columns quat_w"):
            target.read_raw(root, "sample_009")
        path.write_bytes(b"PAR1 no more")
        with pytest.raises(DataError, match="not a readable table"):
            target.read_raw(root, "sample_009")
        for name in ("../sample_009", "nowhere"):
            with pytest.raises(DataError):
                target.read_raw(root, name)
