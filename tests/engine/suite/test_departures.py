"""Defaults that are not the paper's protocol: said with the reason and the paper's setting, and only where in force."""

from dataclasses import fields

import pytest

from worldgauge.engine.suite.base import suites

OURS = ("loopnav", "mind", "targetbench", "worldinworld", "mineanybuild")


@pytest.mark.parametrize("name", OURS)
def test_a_default_that_is_not_the_papers_is_said_with_its_reason(name: str) -> None:
    kind = suites.get(name)
    lines = kind().departures
    assert len(lines) == len(kind.paper_settings) > 0
    for (setting, (value, reason)), line in zip(kind.paper_settings.items(), lines, strict=True):
        assert setting in {field.name for field in fields(kind.Settings)}
        assert reason.endswith(".")
        assert len(reason.split()) <= 25
        assert line == f"Not the paper's protocol: {reason} For the paper's: --set {setting}={value}."


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("loopnav", {"context": 32}),
        ("worldinworld", {"protocol": "published"}),
        ("targetbench", {"parity": "released"}),
    ],
)
def test_the_papers_setting_removes_the_line(name: str, settings: dict[str, object]) -> None:
    kind = suites.get(name)
    assert len(kind(**settings).departures) == len(kind.paper_settings) - 1
