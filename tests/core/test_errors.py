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
        == "'lpips' needs the extra 'torch': pip install \"worldgauge[torch]\" (in a clone: pip install -e '.[torch]')"
    )
