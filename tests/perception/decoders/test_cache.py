"""Decoded paths as JSON, and kept from one run to the next."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.video import Clip
from worldgauge.perception.cache import cache_folder, keep
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, as_json, decode_cached, key_of, path_of_json


class Counting:
    """A decoder that counts how often it is asked, and answers with that number."""

    name, version = "counting", 1

    def __init__(self, diagnostics: Mapping[str, Any] | None = None, **settings: Any) -> None:
        self.settings: Mapping[str, Any] = settings
        self.asked = 0
        self.diagnostics = diagnostics or {}

    def decode(self, request: DecodeRequest) -> DecodedPath:
        self.asked += 1
        xy = np.random.default_rng(self.asked).normal(size=(3, 2))
        return DecodedPath("ok", self.name, xy=xy, frame_indices=np.arange(3), diagnostics=self.diagnostics)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def request_of(anchor: int | None = 3, **fields: Any) -> DecodeRequest:
    frame = None if anchor is None else np.full((4, 6, 3), anchor, np.uint8)
    return DecodeRequest(Clip.from_array(np.zeros((3, 4, 6, 3), np.uint8), 12.0), frame, 1.0, **fields)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def same(a: DecodedPath, b: DecodedPath) -> bool:
    return json.dumps(as_json(a)) == json.dumps(as_json(b))


def test_a_path_is_made_once(folder: Path) -> None:
    decoder = Counting()
    first = decode_cached(decoder, request_of(), "abc")
    again = decode_cached(decoder, request_of(), "abc")
    assert decoder.asked == 1
    assert same(first, again)
    np.testing.assert_array_equal(first.xy, again.xy)
    assert [path.suffix for path in entries(folder)] == [".pack"]


@pytest.mark.parametrize(
    "other",
    [
        request_of(anchor=4),
        request_of(anchor=None),
        request_of(hfov_deg=80.0),
        request_of(n_points=8),
        request_of(seed=1),
        replace(request_of(), anchor_distance_m=1.0000001),
        replace(request_of(), anchor_distance_m=None),
        replace(request_of(), video=Clip.from_array(np.zeros((3, 4, 6, 3), np.uint8), 24.0)),
        replace(request_of(), video=Clip.from_array(np.zeros((2, 4, 6, 3), np.uint8), 12.0)),
    ],
)
def test_whatever_decides_a_path_is_looked_up_by(folder: Path, other: DecodeRequest) -> None:
    decoder = Counting()
    assert key_of(decoder, other, "abc") != key_of(decoder, request_of(), "abc")
    decode_cached(decoder, request_of(), "abc")
    decode_cached(decoder, other, "abc")
    assert decoder.asked == 2


def test_content_decoder_version_and_settings_are_looked_up_by() -> None:
    request, plain = request_of(), Counting()
    newer = Counting()
    newer.version = 2
    renamed = Counting()
    renamed.name = "other"
    keys = [key_of(decoder, request, "abc") for decoder in (plain, newer, renamed, Counting(frames=33))]
    keys.append(key_of(plain, request, "abd"))
    assert len(set(keys)) == 5
    assert key_of(Counting(a=1, b=2), request, "abc") == key_of(Counting(b=2, a=1), request, "abc")


DAMAGES = ["", "{", "[]", "null", "{}", '{"format": NaN}', "[" * 100_000, "\x00\xff"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_anew(folder: Path, damage: str) -> None:
    decoder = Counting()
    decode_cached(decoder, request_of(), "abc")
    (entry,) = entries(folder)
    entry.write_text(damage, encoding="latin-1")
    second = decode_cached(decoder, request_of(), "abc")
    assert decoder.asked == 2
    assert same(decode_cached(decoder, request_of(), "abc"), second)
    assert decoder.asked == 2


@pytest.mark.parametrize("content", DAMAGES)
def test_an_entry_that_is_no_path_is_made_anew(folder: Path, content: str) -> None:
    decoder = Counting()
    identity = {"decoder": decoder.name, "version": decoder.version, "format": ["worldgauge-path", 1]}
    decode_cached(decoder, request_of(), "abc")
    wrong = np.frombuffer(content.encode("latin-1"), np.uint8)
    keep(identity, key_of(decoder, request_of(), "abc"), {"path": wrong})
    second = decode_cached(decoder, request_of(), "abc")
    assert decoder.asked == 2
    assert same(decode_cached(decoder, request_of(), "abc"), second)


def test_many_paths_are_one_file(folder: Path) -> None:
    decoder = Counting()
    for n in range(20):
        decode_cached(decoder, request_of(seed=n), "abc")
    assert (decoder.asked, len(entries(folder))) == (20, 1)


def test_the_cache_can_be_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    assert cache_folder() is None
    decoder = Counting()
    for _ in range(2):
        decode_cached(decoder, request_of(), "abc")
    assert (decoder.asked, entries(folder)) == (2, [])


def test_what_is_not_cached(folder: Path) -> None:
    unknown, private = Counting(), Counting()
    private.cacheable = False
    for _ in range(2):
        decode_cached(unknown, request_of(), "")
        decode_cached(private, request_of(), "abc")
    assert (unknown.asked, private.asked) == (2, 2)
    assert entries(folder) == []
    decoder = Counting({"error": "EstimateError"})
    for _ in range(2):
        decode_cached(decoder, request_of(), "abc")
    assert (decoder.asked, entries(folder)) == (2, [])


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc").is_dir(), reason="needs a place that cannot be written")
def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "file"))
    decoder = Counting()
    assert decode_cached(decoder, request_of(), "abc").status == "ok"


def test_paths_without_metadata_are_cached_too(folder: Path) -> None:
    for odd in (float("nan"), np.float32(1), {1, 2}):
        assert decode_cached(Counting({"odd": odd}), request_of(), "abc").status == "ok"
    assert entries(folder) == []
    back = path_of_json(json.loads(json.dumps(as_json(DecodedPath("failed", "some", "no frame")))))
    assert (back.status, back.reason, back.xy, back.scale) == ("failed", "no frame", None, None)
    assert back.frame_indices.shape == back.registered.shape == (0,)


def test_json_keeps_every_bit() -> None:
    rng = np.random.default_rng(2)
    path = DecodedPath(
        "partial",
        "some",
        "why",
        xy=rng.normal(size=(4, 2)) / 3,
        positions=rng.normal(size=(4, 3)),
        rotations=rng.normal(size=(4, 3, 3)),
        frame_indices=np.array([0, 3, 5, 9]),
        registered=np.array([True, False, True]),
        scale=np.float64(1 / 3),
        focal_px=381.37,
        diagnostics={"reprojection_px": 0.1, "attempts": [{"frames": 17}]},
    )
    back = path_of_json(json.loads(json.dumps(as_json(path), allow_nan=False)))
    assert same(path, back)
    for name in ("xy", "positions", "rotations", "frame_indices", "registered"):
        one, other = getattr(path, name), getattr(back, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "great"),
        ("decoder", None),
        ("diagnostics", []),
        ("xy", [[1.0, 2.0, 3.0]]),
        ("xy", [[1.0, "2"]]),
        ("xy", [[1.0, 2.0], [1.0]]),
        ("positions", [[0.0, 0.0, 0.0]] * 5),
        ("frame_indices", [0.5]),
        ("frame_indices", None),
        ("registered", [1]),
        ("scale", "1"),
        ("scale", True),
        ("version", 2),
        ("format", "worldgauge-poses"),
    ],
)
def test_what_is_no_path_is_refused(field: str, value: Any) -> None:
    content = as_json(DecodedPath("ok", "some", xy=np.zeros((1, 2)), frame_indices=np.zeros(1, np.int64)))
    path_of_json(content)
    with pytest.raises(DataError, match="here"):
        path_of_json({**content, field: value}, "here")
