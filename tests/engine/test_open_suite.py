"""Which tasks of a data set a limit keeps."""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from worldgauge.core.errors import UsageError
from worldgauge.engine.open_suite import list_tasks, spread_tasks, tasks_of_run
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task

HOMES, KINDS = "abcd", ("near", "far")


class Homes(Suite):
    """Six tasks in each of four homes: three near, three far; the first task of a home is skipped."""

    name = "homes"

    def tasks(self, source):
        for home, (number, kind) in product(HOMES, product(range(3), KINDS)):
            skip = "broken" if (number, kind) == (0, "near") else None
            yield Task(self.name, f"{home}/{number}/{kind}", {}, "0", {"kind": kind, "location": home}, skip, home)


def chosen(limit: int | str) -> list[str]:
    return [task.id for task in list_tasks(Homes(), Path("data"), limit)]


def test_a_limit_is_spread_over_clusters_then_over_kinds() -> None:
    assert Counter(one[0] for one in chosen(8)) == dict.fromkeys(HOMES, 2)
    assert Counter(one.split("/")[2] for one in chosen(8)) == {"near": 4, "far": 4}
    assert chosen(8) == [one for one in chosen(99) if one in chosen(8)], "in the order of the data set"
    assert len({one[0] for one in chosen(4)}) == 4


@pytest.mark.parametrize("number", [1, 3, 7, 20])
def test_more_tasks_include_the_fewer_and_skipped_ones_come_last(number: int) -> None:
    assert set(chosen(number)) < set(chosen(number + 1))
    assert "a/0/near" not in chosen(20)
    assert len(chosen(99)) == 24


@pytest.mark.parametrize(("share", "number"), [("10%", 3), ("50%", 12), ("100%", 24), ("0.5%", 1)])
def test_a_share(share: str, number: int) -> None:
    assert chosen(share) == chosen(number)
    assert len(chosen(share)) == number


@pytest.mark.parametrize("limit", [0, -1, "0%", "101%", "ten", "10 %", "1e1%", "%"])
def test_a_limit_that_means_nothing_is_refused(limit: int | str) -> None:
    with pytest.raises(UsageError, match="limit"):
        chosen(limit)


def test_the_tasks_of_a_run_are_found_whatever_chose_them() -> None:
    assert [task.id for task in tasks_of_run(Homes(), Path("data"), ["d/0/far", "a/1/near"])] == ["a/1/near", "d/0/far"]
    with pytest.raises(UsageError, match="none of the tasks"):
        tasks_of_run(Homes(), Path("data"), ["e/0/far"])


def test_a_thousand_clusters_of_one_task_take_no_time() -> None:
    tasks = [Task("homes", str(n), {}, "0", {"kind": KINDS[n % 2]}, None, str(n)) for n in range(20_000)]
    kept = spread_tasks(Homes(), tasks, 10_000)
    assert Counter(task.group["kind"] for task in kept) == {"near": 5000, "far": 5000}


def test_the_first_part_of_a_group_is_spread_before_finer_ones() -> None:
    """Every object is of another kind, and searching for one is a kind of task of its own."""
    rows = [("find", n) for n in range(12)] + [("walk", 0)] * 12
    tasks = [
        Task("homes", f"{kind}/{at}", {}, "0", {"task": kind, "object": thing}, None, str(at % 12))
        for at, (kind, thing) in enumerate(rows)
    ]
    kept = spread_tasks(Homes(), tasks, 8)
    assert Counter(task.group["task"] for task in kept) == {"find": 4, "walk": 4}
    assert len({task.cluster for task in kept}) == 8
