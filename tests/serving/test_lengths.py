"""Rules of lengths: worked by hand, against counting, and what cannot be meant."""

from typing import Any

import pytest

from worldgauge_serve import last_length, next_length

RULES: dict[Any, list[int]] = {
    "4n+1": [1, 5, 9, 13, 17, 21, 25, 29, 33, 37],
    "57+40n": [57, 97, 137],
    "8n+1 to 25": [1, 9, 17, 25],
    "16n": [16, 32, 48, 64],
    "13+16n to 45": [13, 29, 45],
    (49, 81): [49, 81],
    (121,): [121],
}


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_against_counting(rule: Any) -> None:
    allowed = RULES[rule]
    ends = isinstance(rule, tuple) or " to " in rule
    for frames in range(1, allowed[-1] + 1):
        assert next_length(rule, frames) == min(one for one in allowed if one >= frames)
        assert last_length(rule, frames) == max((one for one in allowed if one <= frames), default=None)
    beyond = next_length(rule, allowed[-1] + 1)
    assert (beyond is None) == ends
    if ends:
        assert last_length(rule, 10**6) == allowed[-1]


def test_worked_by_hand() -> None:
    assert next_length("4n+1", 61) == 61
    assert next_length("4n+1", 62) == 65
    assert next_length("57+40n", 98) == 137
    assert last_length("57+40n", 136) == 97
    assert last_length("57+40n", 56) is None
    assert next_length("8n+1 to 961", 962) is None
    assert (next_length(None, 7), last_length(None, 7)) == (7, 7)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_an_allowed_length_stays(rule: Any) -> None:
    for frames in RULES[rule]:
        assert next_length(rule, frames) == last_length(rule, frames) == frames


@pytest.mark.parametrize(
    "rule",
    ["", "n", "0n+1", "4n-1", "4n+1 to", "57+40", "57+0n", "9n+9 to 5", "4N+1", [], (0,), (4.0,), (True,), 81, {}],
)
def test_what_cannot_be_meant_is_said(rule: Any) -> None:
    for ask in (next_length, last_length):
        with pytest.raises(ValueError, match=r"give a rule such as '4n\+1', '57\+40n' or '8n\+1 to 961', or numbers"):
            ask(rule, 5)
