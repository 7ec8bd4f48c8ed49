"""Every reader of text that people write takes a byte order mark and carriage returns, and refuses UTF-16 by name."""

from pathlib import Path

import pytest

from support.text_readers import Reader, check_another_encoding, check_marks_and_returns
from worldgauge.chat.prompts import Prompts
from worldgauge.core.io import read_json_object
from worldgauge.perception.colmap import read_images_txt
from worldgauge.suites.targetbench.format.read import load_labels, read_path
from worldgauge.suites.targetbench.settings import template_of
from worldgauge.suites.worldinworld.format.files import read_json
from worldgauge.worlds.scan.ply import read_ply

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
READERS: dict[str, Reader] = {
    "images of COLMAP": ("images.txt", "# list\n1 1 0 0 0 1 2 3 1 a.png\n\n", lambda path: repr(read_images_txt(path))),
    "path of target": ("path.csv", "x, y\n1,2\n3,4\n", lambda path: read_path(path).xy.tolist()),
    "labels of target": ("labels.csv", "name,is_explicit\na,1\nb,0\n", load_labels),
    "prompt of target": ("own.txt", "Walk to\n{target}.\n", lambda path: template_of(str(path)).text),
    "prompt of a chat": (
        "judge.txt",
        "$question\n$reference $extra $prediction\n",
        lambda path: Prompts("worldgauge.suites.worldinworld", path.parent)["judge"].digest,
    ),
    "object": ("a.json", '{"a": [1,\n2]}\n', read_json_object),
    "episodes": ("b.json", '{"a": [1,\n2]}\n', read_json),
    "mesh": ("a.ply", PLY, lambda path: read_ply(path).vertices.tolist()),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_mark_and_carriage_returns_change_nothing(tmp_path: Path, kind: str) -> None:
    check_marks_and_returns(tmp_path, READERS[kind])


@pytest.mark.parametrize("kind", [kind for kind in READERS if kind not in ("mesh", "episodes")])
def test_another_encoding_is_named(tmp_path: Path, kind: str) -> None:
    check_another_encoding(tmp_path, READERS[kind])


def test_a_reader_of_bytes_takes_the_encoding_of_json(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_bytes('{"a": [1, 2]}'.encode("utf-16"))
    assert read_json(path) == {"a": [1, 2]}
