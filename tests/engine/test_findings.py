"""Findings that are alike are one line, with the right number of the noun."""

import pytest

from worldgauge.engine.collection import counted, grouped


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(0, "clip", "0 clips"), (1, "clip", "1 clip"), (1, "try", "1 try"), (3, "trajectory", "3 trajectories")],
)
def test_a_noun_agrees_with_its_number(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_texts_that_differ_in_names_and_numbers_are_one_finding() -> None:
    said = [("x1", "x1 has 3 rows"), ("x2", "x2 has 14.5 rows"), ("x3", "no video")]
    texts = [finding.text for finding in grouped("error", "left out", said)]
    assert texts == ["2 scenarios, left out (first: x1): x1 has 3 rows", "1 scenario, left out (first: x3): no video"]
