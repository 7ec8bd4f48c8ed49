"""The readers of text that people write take a byte order mark and carriage returns, and refuse UTF-16 by name."""

from pathlib import Path

import pytest

from support.text_readers import Reader, check_another_encoding, check_marks_and_returns
from worldgauge_lab.validate_metrics.people import read_pairs, read_ratings, read_worldreward

PAIR = '{"pair_id": "1", "left": {"video": "a.mp4"}, "right": {"video": "b.mp4"}, "label": {"overall": "left"}}\n'
READERS: dict[str, Reader] = {
    "pairs": ("bench.jsonl", PAIR, lambda path: read_worldreward(path.parent)),
    "verdicts": (
        "pairs.csv",
        "pair,video_a,video_b,annotator,verdict\n1,a.mp4,b.mp4,x,a\n",
        lambda path: read_pairs(path.parent),
    ),
    "ratings": (
        "verdicts.csv",
        "question,video,axis,annotator,score\n1,a.mp4,overall,x,3\n",
        lambda path: read_ratings(path.parent),
    ),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_mark_and_carriage_returns_change_nothing(tmp_path: Path, kind: str) -> None:
    check_marks_and_returns(tmp_path, READERS[kind])


@pytest.mark.parametrize("kind", READERS)
def test_another_encoding_is_named(tmp_path: Path, kind: str) -> None:
    check_another_encoding(tmp_path, READERS[kind])
