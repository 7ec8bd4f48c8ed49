"""Every reader of text that people write takes a byte order mark and carriage returns, and refuses UTF-16 by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.io import read_json_object
from worldgauge.perception.colmap import read_images_txt
from worldgauge.suites.closedloop.format.files import read_json
from worldgauge.suites.mind.format.results import read_results
from worldgauge.suites.target.format.read import read_labels, read_path
from worldgauge.suites.target.prompts import template_of
from worldgauge.tools.validate_metrics.people.pairs import read_pairs, read_worldreward
from worldgauge.tools.validate_metrics.people.ratings import read_ratings
from worldgauge.training.recipe import named_recipe
from worldgauge.worlds.scan.readers.ply import read_ply

PLY = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 1 0
3 0 1 2
"""
PAIR = '{"pair_id": "1", "left": {"video": "a.mp4"}, "right": {"video": "b.mp4"}, "label": {"overall": "left"}}\n'
READERS: dict[str, tuple[str, str, Callable[[Path], Any]]] = {
    "images of COLMAP": ("images.txt", "# list\n1 1 0 0 0 1 2 3 1 a.png\n\n", lambda path: repr(read_images_txt(path))),
    "path of target": ("path.csv", "x, y\n1,2\n3,4\n", lambda path: read_path(path).xy.tolist()),
    "labels of target": ("labels.csv", "name,is_explicit\na,1\nb,0\n", read_labels),
    "prompt of target": ("own.txt", "Walk to\n{target}.\n", lambda path: template_of(str(path)).text),
    "prompt of a chat": (
        "judge.txt",
        "$question\n$reference $extra $prediction\n",
        lambda path: Prompts("worldgauge.suites.closedloop", path.parent)["judge"].digest,
    ),
    "object": ("a.json", '{"a": [1,\n2]}\n', read_json_object),
    "episodes": ("b.json", '{"a": [1,\n2]}\n', read_json),
    "results of mind": ("c.json", '{"data": [\n]}\n', read_results),
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
    "recipe": ("own.toml", "steps = 7\n", lambda path: named_recipe(str(path))),
    "mesh": ("a.ply", PLY, lambda path: read_ply(path).vertices.tolist()),
}


@pytest.mark.parametrize(("name", "text", "read"), READERS.values(), ids=READERS)
def test_a_mark_and_carriage_returns_change_nothing(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], Any]
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    plain = read(path)
    blank = "" if path.suffix == ".txt" else " "
    for form in ("\ufeff" + text, text.replace("\n", "\r\n"), "\ufeff" + text.replace("\n", blank + "\r\n") + "\r\n"):
        path.write_bytes(form.encode())
        assert read(path) == plain, form[:20]


@pytest.mark.parametrize("kind", [kind for kind in READERS if kind != "mesh"])
def test_another_encoding_is_named(tmp_path: Path, kind: str) -> None:
    name, text, read = READERS[kind]
    path = tmp_path / name
    path.write_bytes(text.encode("utf-16"))
    if kind == "episodes":  # a reader of bytes, which JSON gives its encoding
        assert read(path) == {"a": [1, 2]}
        return
    with pytest.raises(WorldgaugeError, match="UTF-16"):
        read(path)
