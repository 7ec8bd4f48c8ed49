"""Whatever stands in a file of MIND: it is read, or refused in one line; nothing else is ever raised."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.mind.mind_data import published_rows
from worldgauge.core.errors import DataError
from worldgauge.perception.colmap import read_images_txt
from worldgauge.suites.mind.format.files import parse_action, read_sidecar

ODD = st.sampled_from(
    [None, True, "", "7", [], {}, [1], {"x": 1}, -1, 2, 3.5, 1e300, 10**400, float("nan"), float("inf"), "\ud800"]
)
ACTION = {"mark_time": 2, "total_time": 6, "data": published_rows("3rd", 6, 1.0, 200.0)}
SIDECAR = {
    "format": "worldgauge-mind",
    "version": 1,
    "world": {"name": "voxel", "params": {"seed": 1}, "digest": None},
    "camera": {"width": 64, "height": 36, "fx": 40.0, "fy": 40.0, "cx": 32.0, "cy": 18.0},
    "family": "urban",
    "space": {"delta_r_deg": 1.0, "delta_p_cm_s": 200.0},
    "perspective": "1st",
    "facts": {"seed": 1},
    "pose": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a JSON value, as keys and indices."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, each in inner for place in places(each, (*at, key)))]


def changed(content: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy of `content` with another value at `place`."""
    if not place:
        return value
    copy = json.loads(json.dumps(content))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copy


def attempt(read: Callable[..., Any], *given: Any) -> tuple[Any, str | None]:
    """What `read` returns, or how it refuses: in one short line."""
    try:
        return read(*given), None
    except DataError as error:
        return None, str(error)


def is_line(refusal: str) -> bool:
    return "\n" not in refusal and len(refusal) < 400


@settings(deadline=None)
@given(st.sampled_from(places(ACTION)), ODD)
def test_action_files(place: tuple[Any, ...], value: Any) -> None:
    file, refusal = attempt(parse_action, json.dumps(changed(ACTION, place, value)).encode(), "action.json")
    if refusal is not None:
        assert is_line(refusal)
        assert refusal.startswith("action.json: ")
    else:
        assert file.keys.shape == (6, 4)
        assert file.keys.max() <= 2


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(DataError):
        parse_action(data, "action.json")


@settings(deadline=None)
@given(place=st.sampled_from(places(SIDECAR)), value=ODD)
def test_side_cars(tmp_path_factory: pytest.TempPathFactory, place: tuple[Any, ...], value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "world.json"
    path.write_text(json.dumps(changed(SIDECAR, place, value)))
    car, refusal = attempt(read_sidecar, path)
    if refusal is not None:
        assert is_line(refusal)
    else:
        assert json.dumps([dict(car.facts), dict(car.world.params), car.family], allow_nan=False)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.-+e #\nnaif jpg\t\x00", max_size=200))
def test_image_lists(text: str) -> None:
    found, refusal = attempt(read_images_txt, text + "\n")
    assert is_line(refusal) if refusal is not None else len(found.names) == len(found.poses) > 0
