"""Options dataclasses made of several."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from worldgauge.core.errors import UsageError
from worldgauge.engine.options import merged, option, option_rows, options_of, part_of


@dataclass(frozen=True)
class Shared:
    size: int = option(3, "Size.", low=1)


@dataclass(frozen=True)
class Whole:
    name: str | None = option(None, "Name.")


@dataclass(frozen=True)
class One(Shared):
    many: int = option(2, "How many.", low=0, high=5)


@dataclass(frozen=True)
class Other(Shared):
    few: float = option(0.5, "How few.")


def test_all_fields_are_there_once_and_in_order() -> None:
    kind = merged(Whole, One, Other)
    assert [row[0] for row in option_rows(kind)] == ["name", "size", "many", "few"]
    made = options_of(kind, "toy", {"many": 4, "size": 7})
    assert isinstance(made, Whole)
    assert (part_of(made, One), part_of(made, Other)) == (One(size=7, many=4), Other(size=7))
    with pytest.raises(UsageError, match="'many' must be a whole number from 0 to 5"):
        options_of(kind, "toy", {"many": 6})


def test_two_that_differ_cannot_share_a_name() -> None:
    @dataclass(frozen=True)
    class Third:
        many: int = option(3, "How many.", low=0, high=5)

    with pytest.raises(UsageError, match=r"two options are called 'many': one in .*One, one in .*Third; rename one"):
        merged(Whole, One, Third)
