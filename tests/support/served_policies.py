"""Policies that tests start in processes of their own: none of another test, none left behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from worldgauge.suites.worldinworld.policies import process_proposer as served_policy


@contextmanager
def policies_of_this_test() -> Iterator[None]:
    """Close all policies that are opened within."""
    opened: list[Any] = []
    plain = served_policy.open_estimator

    def recorded(*arguments: Any) -> Any:
        opened.append(plain(*arguments))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served_policy, "open_estimator", recorded)
        served_policy.opened.cache_clear()
        yield
    served_policy.opened.cache_clear()
    for remote in opened:
        remote.close()
