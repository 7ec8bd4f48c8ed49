"""A recipe that people write takes a byte order mark and carriage returns, and refuses UTF-16 by name."""

from pathlib import Path

from support.text_readers import check_another_encoding, check_marks_and_returns
from worldgauge_train.training.recipe import named_recipe

RECIPE = ("own.toml", "steps = 7\n", lambda path: named_recipe(str(path)))


def test_a_mark_and_carriage_returns_change_nothing(tmp_path: Path) -> None:
    check_marks_and_returns(tmp_path, RECIPE)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    check_another_encoding(tmp_path, RECIPE)
