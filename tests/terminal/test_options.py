"""What options that commands share are read as."""

import pytest

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import labels_of

MODELS = ["wm", "wm?lr=1", "drift?step_m=0.02"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([], {}),
        (["Ours", "b", "c"], {"wm": "Ours", "wm?lr=1": "b", "drift?step_m=0.02": "c"}),
        (["wm?lr=1=lr=1", "Ours", "b"], {"wm?lr=1": "lr=1", "wm": "Ours", "drift?step_m=0.02": "b"}),
        (["drift?step_m=0.02=drift", "truth=ceiling"], {"drift?step_m=0.02": "drift", "truth": "ceiling"}),
    ],
)
def test_labels_are_in_order_or_by_name(given: list[str], found: dict[str, str]) -> None:
    assert labels_of(given, MODELS, ["truth"]) == found


WRONG = {"not NAME=LABEL of one of wm": ["w=x"], "4 labels for 3 models": ["a"] * 4, "1 labels for 3 models": ["a"]}


@pytest.mark.parametrize("error", WRONG)
def test_wrong_labels(error: str) -> None:
    with pytest.raises(UsageError, match=error):
        labels_of(WRONG[error], MODELS)
