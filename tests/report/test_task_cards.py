"""Suites with films of their own: the closed loop's page, its films, and a single one as a file."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.video import Clip
from worldgauge.report import write_report
from worldgauge.report.task_cards import PAGE_FILM_BYTES, REPLAY_BYTES, REPLAY_PX, room_for
from worldgauge.report.task_films import write_replay
from worldgauge.suites.loopnav.suite import LoopNav
from worldgauge.suites.worldinworld.suite import ClosedLoop


@pytest.fixture(scope="module")
def loop_text(loop_page: Path) -> str:
    return loop_page.read_text()


def test_the_film_of_a_card_has_a_tile_a_subject_and_no_truth(loop_text: str, loops: Path) -> None:
    tiles = re.findall(r'<span class="label">([^<]+)</span><output>', loop_text)
    assert (tiles, loop_text.count('class="tiles replays"')) == (["oracle", "none"] * 2, 2)
    data = json.loads(re.search(r'id="walk-1-data">(.*?)</script>', loop_text, re.S).group(1))
    longest = max(
        sum(
            1 + len(json.loads(line)["executed"])
            for line in (loops / who / "records" / f"navigation__{n:04d}" / "trace.jsonl").open()
        )
        for who in ("none", "oracle")
        for n in (0,)
    )
    assert (data["length"], data["step"], data["tile"][0]) == (longest + 1, 1, REPLAY_PX)
    assert data["trail"] == [], "the walker of the shortest way is not in step with anybody's film"


def test_what_the_page_calls_things(loop_text: str) -> None:
    assert "What each agent saw" in loop_text
    assert "How each episode ended" in loop_text
    assert "How each answer was read" not in loop_text
    assert "generated frame" not in loop_text
    assert "success (%)" in loop_text
    assert 'class="scope slim"' in loop_text
    assert "and none " not in re.search("<h1>(.*?)</h1>", loop_text, re.S).group(1)


def test_the_tile_in_the_film_is_the_replay(loop_text: str, loops: Path, tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(
        base64.b64decode(re.search(r'id="walk-1-film">(.*?)</script>', loop_text, re.S).group(1))
    )
    alone = Clip.open(write_replay(loops / "oracle", "navigation/0000", tmp_path / "alone.mp4"))
    tile = Clip.open(tmp_path / "film.mp4")[1][18:, :REPLAY_PX]
    meant = alone.resized(REPLAY_PX, tile.shape[0])[1]
    assert np.abs(tile.astype(int) - meant).mean() < 12
    assert np.abs(tile.astype(int) - meant[:, ::-1]).mean() > 20, "another picture is no match"


def test_a_record_without_its_trace_costs_only_its_tile(loops: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "runs"
    shutil.copytree(loops, copy)
    (copy / "oracle" / "records" / "navigation__0000" / "trace.jsonl").unlink()
    page = write_report([copy], tmp_path / "page").read_text()
    tiles = re.findall(r'<span class="label">([^<]+)</span><output>', page)
    assert sorted(tiles) == ["none", "none", "oracle"]
    assert "oracle is not shown" in page


def test_few_cards_where_many_subjects_need_room() -> None:
    assert room_for(ClosedLoop(), 3, 24) == PAGE_FILM_BYTES // (3 * REPLAY_BYTES) == 16
    assert (room_for(ClosedLoop(), 9, 24), room_for(ClosedLoop(), 9, 2)) == (5, 2)
    assert (room_for(ClosedLoop(), 1000, 24), room_for(LoopNav(), 9, 24)) == (1, 24)


def test_a_replay_of_what_is_not_there_is_one_line(loops: Path, runs: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UnknownNameError, match=r"no episode in .*oracle 'navigation/0009'\. Did you mean 'navigation/00"
    ):
        write_replay(loops / "oracle", "navigation/0009", tmp_path / "a.mp4")
    with pytest.raises(UsageError, match="has no replays"):
        write_replay(runs / "keeper", "any", tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())
