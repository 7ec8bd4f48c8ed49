"""One family, and messages that say what to do."""

import inspect

import pytest

from worldgauge.core import errors
from worldgauge.core.errors import MissingExtraError, UnknownNameError, WorldgaugeError


def test_all_are_of_one_family_with_a_docstring() -> None:
    found = [error for _, error in inspect.getmembers(errors, inspect.isclass) if error.__module__ == errors.__name__]
    assert len(found) > 8
    for error in found:
        assert issubclass(error, WorldgaugeError)
        assert error.__doc__ or error.__base__ is not WorldgaugeError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("frize", "no model 'frize'. Did you mean 'freeze'? Known: drift, freeze"),
        ("zzz", "no model 'zzz'. Known: drift, freeze"),
    ],
)
def test_an_unknown_name_suggests_only_what_is_near(name: str, message: str) -> None:
    assert str(UnknownNameError("model", name, ["freeze", "drift"])) == message


def test_nothing_registered_is_said() -> None:
    assert str(UnknownNameError("model", "x", [])) == "no model 'x'. Known: none are registered"


def test_a_missing_extra_is_one_line_to_paste() -> None:
    assert (
        str(MissingExtraError("'lpips'", "torch"))
        == "'lpips' needs the extra 'torch'; in a checkout: pip install --editable \".[torch]\""
    )


def test_messages_hold_nothing_that_controls_a_terminal() -> None:
    """Parts of them come from models and files: their colours, titles and cursors are not the terminal's business."""
    hostile = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x9b5A a\x00b\x08c\u202e d\x7f \x1bPq\x1b\\end\ntwo\tthree"
    said = str(errors.ModelError(f"model 'm' raised: {hostile}"))
    assert said == "model 'm' raised: red   a b c  d  end two\tthree"
    assert all(one.isprintable() or one == "\t" for one in said)
    assert errors.without_controls("naïve “words” ± 5 °") == "naïve “words” ± 5 °"
    assert errors.without_controls("") == ""
