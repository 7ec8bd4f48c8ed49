"""Checking a folder."""

import json
import shutil
from pathlib import Path

import pytest

from suites.target.target_data import make_bad_inputs, make_target_data
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
