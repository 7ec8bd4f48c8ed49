"""What `make same-numbers` calls equal, close or missing."""

import json
from pathlib import Path

from support.same_numbers import BOUND, VARIANTS, compare


def write(
    runs: Path, value: float | None, series: list[list[float | None]], metrics: tuple[str, ...] = ("psnr",)
) -> Path:
    folder = runs / "loopnav" / "freeze"
    folder.mkdir(parents=True)
    entries = [{"model": "freeze", "task": "t", "metric": m, "value": value, "series": series} for m in metrics]
    (folder / "scores.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return runs


def test_numbers_are_compared_with_their_series(tmp_path: Path) -> None:
    one = write(tmp_path / "one", 20.0, [[0, 1.0], [1, None]])
    same = compare(one, write(tmp_path / "same", 20.0, [[0, 1.0], [1, None]]))
    assert (same.equal, same.of, same.missing, same.within(0)) == (3, 3, 0, True)
    close = compare(one, write(tmp_path / "close", 20.0 + 1e-9, [[0, 1.0], [1, None]]))
    assert (close.equal, close.of, close.within(BOUND)) == (2, 3, True)
    assert 0 < close.worst[0] < BOUND
    assert not compare(one, write(tmp_path / "far", 21.0, [[0, 1.0], [1, None]])).within(BOUND)
    assert not compare(one, write(tmp_path / "gone", 20.0, [[0, None], [1, None]])).within(BOUND)
    assert not compare(one, write(tmp_path / "short", 20.0, [[0, 1.0]])).within(BOUND)
    assert compare(one, write(tmp_path / "more", 20.0, [[0, 1.0], [1, None]], ("psnr", "ssim"))).missing == 1
    assert not compare(tmp_path / "nothing", tmp_path / "nothing").within(BOUND)


def test_variants_differ() -> None:
    assert (
        len({(one.python, one.lowest, tuple(sorted(one.variables.items()))) for one in VARIANTS}) == len(VARIANTS) - 1
    )
