"""Files of calibrations: only whole ones, of this version and of this model, are read."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.calibration import content
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.model import ModelSpec
from worldgauge.models.calibration import check_owner, digest_of_spec, motion_word, read_calibration

SPEC = ModelSpec("wrong-mover", control="camera")


def written(folder: Path, **changed: Any) -> Path:
    path = folder / "calibration.json"
    path.write_text(json.dumps({**content(digest_of_spec(SPEC), forward=0.5, left=-2.0, delay=3), **changed}))
    return path


def test_a_calibration_is_read_from_its_file_and_its_folder(tmp_path: Path) -> None:
    found = read_calibration(written(tmp_path))
    assert found == read_calibration(tmp_path)
    assert (found.delay, found.gains["forward"].gain, found.gains["left"].gain) == (3, 0.5, -2.0)
    check_owner(found, SPEC, "here")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "other"}, "not a calibration"),
        ({"version": 0}, "calibrate the model again"),
        ({"model": {"name": "x"}}, "has no 'spec'"),
        ({"delay": {"frames": -1}}, "a delay of -1"),
        ({"delay": {"frames": 1.5}}, "a delay of 1.5"),
        ({"delay": {"frames": True}}, "a delay of True"),
        ({"controls": {"hop": {"status": "unknown"}}}, "no control 'hop'"),
        ({"controls": {"left": {"status": "maybe"}}}, "'maybe' is none of"),
        ({"controls": {"left": {"status": "follows", "gain": {"mean": 0.0}, "a_frame": 0.1}}}, "a gain of 0"),
        ({"controls": {"left": {"status": "follows", "gain": {"mean": "1"}, "a_frame": 0.1}}}, "no number"),
        ({"controls": {"left": {"status": "follows", "gain": {"mean": 1}, "a_frame": None}}}, "no number"),
        ({"controls": {"left": {"status": "follows", "gain": {"mean": 1}, "a_frame": 0}}}, "moves 0 a frame"),
        ({"controls": []}, "damaged"),
        ({"control": "words"}, "control is 'words'"),
        ({"space": {"axes": [1]}}, "no names"),
        ({"speed": {"moving": {"whose": "mine"}, "turning": {"whose": "own"}}}, "'mine' is none of"),
    ],
)
def test_bad_files_are_refused_in_one_line(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said) as refused:
        read_calibration(written(tmp_path, **changed))
    assert "\n" not in str(refused.value)
    assert str(tmp_path) in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": NaN}', "\x00"])
def test_what_is_no_json_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text(text)
    with pytest.raises(DataError):
        read_calibration(tmp_path)


def test_a_missing_or_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_calibration(tmp_path / "none.json")
    (tmp_path / "huge.json").write_text(" " * (5 << 20))
    with pytest.raises(DataError, match="limit"):
        read_calibration(tmp_path / "huge.json")


def test_another_model_and_other_settings_are_refused(tmp_path: Path) -> None:
    found = read_calibration(written(tmp_path))
    with pytest.raises(UsageError, match="of model 'wrong-mover', not of 'another'"):
        check_owner(found, ModelSpec("another", control="camera"), "file")
    with pytest.raises(UsageError, match="of other settings"):
        check_owner(found, ModelSpec("wrong-mover", control="camera", settings={"weights": "v2"}), "file")


def test_a_calibration_that_knows_nothing_is_refused(tmp_path: Path) -> None:
    empty = read_calibration(written(tmp_path, controls={"forward": {"status": "does not follow"}}))
    with pytest.raises(UsageError, match="nothing to undo"):
        check_owner(empty, SPEC, "file")


def test_digests_and_words_of_a_model() -> None:
    # A digest changes with all that a model declares and with nothing else.
    specs = [
        SPEC,
        ModelSpec("wrong-mover"),
        ModelSpec("wrong-mover", control="camera", fps=16),
        ModelSpec("wrong-mover", control="camera", frame_size=(640, 360)),
        ModelSpec("wrong-mover", control="camera", inputs=frozenset({"world", "depth"})),
        ModelSpec("wrong-mover", control="camera", settings={"a": {"b": [1, 2]}}),
    ]
    assert len({digest_of_spec(spec) for spec in specs}) == len(specs)
    assert digest_of_spec(SPEC) == digest_of_spec(ModelSpec("wrong-mover", control="camera", settings={}))
    # One word says what is known of the unit.
    assert motion_word({}, frozenset()) == "unknown"
    assert motion_word({"motion": "metres"}, frozenset()) == "declared"
    assert motion_word({}, frozenset({"world"})) == "declared"
    assert motion_word({"calibration": "ab"}, frozenset({"world"})) == "calibrated"
