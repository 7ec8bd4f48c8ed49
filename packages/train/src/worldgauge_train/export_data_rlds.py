"""Walks as RLDS: episodes of steps, in the files of TensorFlow Datasets, written and read without TensorFlow.

    features.json                                      what an episode and a step hold
    dataset_info.json                                  split, files, episodes in each file
    metadata.json                                      rate, and what the actions and poses mean
    worldgauge_walks-SPLIT.tfrecord-00000-of-00001     a record each walk

`tfds.builder_from_directory(FOLDER)` reads it. A step is a frame: `observation` holds `image`, `state` (the first three
rows of the camera-to-world matrix, metres) and `intrinsics` (fx, fy, cx, cy in pixels); `action` leads to the next step
and is zero in the last one. No walk ends in a terminal state, and none has a reward, so there is no such field. Sources
of the layout: google-research/rlds and the public code of tensorflow/datasets, version 4.9.10.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from worldgauge.core.actions import Actions, ActionSpace
from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image, decode_png, png
from worldgauge.core.io import atomic_folder, digest_of, read_json_object
from worldgauge.core.video import Clip
from worldgauge_train.export_data_walks import (
    POSE_NAMES,
    STATE,
    check_like,
    first_of,
    pinhole,
    rate_of,
    space_from_json,
    space_to_json,
)
from worldgauge_train.training.clip import DamagedClip, Split, TrainingClip, clip_or_damage

MOST_BYTES = 2**31 - 1
"""Of a record: no message of protobuf is larger."""
_MASK = 0xA282EAD8

Values = Sequence[bytes] | Sequence[int] | FloatArray


class StoredRecord(NamedTuple):
    """A record as it lies in a file."""

    data: bytes
    checksum: int


def write_record(file: IO[bytes], data: bytes) -> int:
    """Append a record to a file, and return the number of bytes."""
    length = struct.pack("<Q", len(data))
    for part in (length, _packed(length), data, _packed(data)):
        file.write(part)
    return len(data) + 16


def read_records(path: Path) -> Iterator[StoredRecord]:
    """The records of a file, one in memory at a time. Their own checksums are not compared yet."""
    try:
        with open(path, "rb") as file:
            left = os.fstat(file.fileno()).st_size
            while left:
                head = file.read(12)
                if len(head) < 12 or _packed(head[:8]) != head[8:]:
                    raise DataError(f"{path}: the length of a record is damaged; copy or write the file again")
                (length,) = struct.unpack("<Q", head[:8])
                if length > MOST_BYTES or length + 16 > left:
                    raise DataError(f"{path}: a record of {length} bytes passes the end of the file; copy it again")
                data, tail = file.read(length), file.read(4)
                left -= length + 16
                yield StoredRecord(data, int.from_bytes(tail, "little"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def encode_example(features: Mapping[str, Values]) -> bytes:
    """A record's bytes; the same features give the same bytes."""
    example = _example_type()()
    for name, values in features.items():
        feature = example.features.feature[name]
        if isinstance(values, np.ndarray):
            feature.float_list.value.extend(values.ravel().tolist())
        elif values and isinstance(values[0], bytes):
            feature.bytes_list.value.extend(values)
        else:
            feature.int64_list.value.extend(values)
    size = example.ByteSize()
    if size > MOST_BYTES:
        raise DataError(
            f"an episode of {size} bytes is more than a record can hold; export shorter episodes or smaller frames"
        )
    data: bytes = example.SerializeToString(deterministic=True)
    return data


def decode_example(record: StoredRecord) -> dict[str, Any]:
    """The features of a record by name: lists of bytes, or arrays of floats or integers."""
    from google.protobuf.message import DecodeError

    if int.from_bytes(_packed(record.data), "little") != record.checksum:
        raise DataError("the checksum of the record differs; copy or write the file again")
    try:
        example = _example_type().FromString(record.data)
    except DecodeError as error:
        raise DataError(f"the record is no tf.train.Example ({error})") from error
    found: dict[str, Any] = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "bytes_list":
            found[name] = list(feature.bytes_list.value)
        elif kind is not None:
            found[name] = np.array(getattr(feature, kind).value, np.float32 if kind == "float_list" else np.int64)
    return found


def demand_packages() -> None:
    """Check that the packages of the extra are there."""
    try:
        import google.protobuf  # noqa: F401
        import google_crc32c  # noqa: F401
    except ImportError:
        raise MissingExtraError("RLDS data", "rlds") from None


def _packed(data: bytes) -> bytes:
    """The masked checksum, as it is written."""
    import google_crc32c

    crc = google_crc32c.value(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF)


@cache
def _example_type() -> Any:
    """The class of tf.train.Example, from its definition."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="worldgauge/example.proto", package="worldgauge", syntax="proto3")

    def message(name: str, *fields: tuple[str, int, int, str], inside: Any = None) -> Any:
        one = (file.message_type if inside is None else inside.nested_type).add(name=name)
        for number, (field, kind, label, type_name) in enumerate(fields, 1):
            one.field.add(name=field, number=number, type=kind, label=label, type_name=type_name or None)
        return one

    many, single, nested = kinds.LABEL_REPEATED, kinds.LABEL_OPTIONAL, kinds.TYPE_MESSAGE
    message("BytesList", ("value", kinds.TYPE_BYTES, many, ""))
    message("FloatList", ("value", kinds.TYPE_FLOAT, many, ""))
    message("Int64List", ("value", kinds.TYPE_INT64, many, ""))
    feature = message(
        "Feature",
        *((f"{kind.lower()}_list", nested, single, f".worldgauge.{kind}List") for kind in ("Bytes", "Float", "Int64")),
    )
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = message("Features", ("feature", nested, many, ".worldgauge.Features.FeatureEntry"))
    entry = message(
        "FeatureEntry",
        ("key", kinds.TYPE_STRING, single, ""),
        ("value", nested, single, ".worldgauge.Feature"),
        inside=features,
    )
    entry.options.map_entry = True
    message("Example", ("features", nested, single, ".worldgauge.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("worldgauge.Example"))


NAME = "worldgauge_walks"
VERSION = "1.0.0"
SHARD_BYTES = 256 << 20
TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
MOST_SHARDS = 100_000
INTRINSICS = ("fx", "fy", "cx", "cy")


def write_rlds(clips: Iterable[TrainingClip], out: Path, *, shard_bytes: int = SHARD_BYTES) -> int:
    """Write clips of one split, rate, frame size and action space as RLDS; return their number (0: no folder). Images
    are PNG, so frames come back exactly; equal clips give equal bytes."""
    demand_packages()
    first, clips = first_of(clips)
    if first is None:
        return 0
    lengths, sizes = [0], [0]
    with atomic_folder(out) as folder:
        for clip in clips:
            check_like(clip, first)
            if sizes[-1] >= shard_bytes:
                lengths.append(0)
                sizes.append(0)
            with open(folder / str(len(sizes) - 1), "ab") as file:  # its last name tells how many there are in all
                sizes[-1] += write_record(file, encode_example(_example_of(clip)))
            lengths[-1] += 1
        for number in range(len(sizes)):
            (folder / str(number)).rename(folder / _shard(first.split, number, len(sizes)))
        _write_facts(folder, first, lengths, sum(sizes))
    return sum(lengths)


def read_rlds(folder: Path, split: Split = "test") -> Iterator[TrainingClip | DamagedClip]:
    """The clips of a folder that `write_rlds` wrote; none if it has another split."""
    demand_packages()
    info, where = read_json_object(folder / "dataset_info.json"), folder / "dataset_info.json"
    try:
        known = {one["name"]: [int(length) for length in one["shardLengths"]] for one in info["splits"]}
        named = info["name"] == NAME and all(one["filepathTemplate"] == TEMPLATE for one in info["splits"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{where}: a field is missing or damaged ({error})") from error
    if not named:
        raise DataError(f"{where}: no data set '{NAME}'; only RLDS that worldgauge wrote can be read")
    lengths = known.get(split, [])
    if len(lengths) > MOST_SHARDS:
        raise DataError(f"{where}: {len(lengths)} files are more than can be read")
    size, space = _told(folder)
    number = 0
    for shard, length in enumerate(lengths):
        path = folder / _shard(split, shard, len(lengths))
        count = 0
        for record in read_records(path):
            yield clip_or_damage(f"rlds/{number:06d}", partial(_clip_of, record, f"{number:06d}", split, size, space))
            number, count = number + 1, count + 1
        if count != length:
            raise DataError(f"{path}: holds {count} episodes, {where.name} states {length}")


def _example_of(clip: TrainingClip) -> dict[str, Any]:
    camera, frames = pinhole(clip), len(clip)
    actions = np.zeros((frames, len(clip.actions.space)), np.float32)
    actions[:-1] = clip.actions.values
    return {
        "episode_metadata/name": [clip.id.encode()],
        "episode_metadata/fingerprint": [clip.fingerprint.encode()],
        "steps/observation/image": [png(frame) for frame in clip.frames],
        "steps/observation/state": clip.poses[:, :3].astype(np.float32),
        "steps/observation/intrinsics": np.tile([camera.fx, camera.fy, camera.cx, camera.cy], (frames, 1)),
        "steps/action": actions,
        "steps/is_first": [int(at == 0) for at in range(frames)],
        "steps/is_last": [int(at == frames - 1) for at in range(frames)],
        "steps/is_terminal": [0] * frames,
        "steps/language_instruction": [(clip.text or "").encode()] * frames,
    }


def _clip_of(record: StoredRecord, name: str, split: Split, size: tuple[int, int], space: ActionSpace) -> TrainingClip:
    held = decode_example(record)
    try:
        pictures: list[bytes] = held["steps/observation/image"]
        words: list[bytes] = held["steps/language_instruction"]
        frames = len(pictures)
        state = held["steps/observation/state"].astype(np.float64).reshape(frames, 3, 4)
        focal = held["steps/observation/intrinsics"].astype(np.float64).reshape(frames, 4)
        actions = held["steps/action"].astype(np.float32).reshape(frames, len(space))
        first, last = held["steps/is_first"], held["steps/is_last"]
        whole = (first == (np.arange(frames) == 0)).all() and (last == (np.arange(frames) == frames - 1)).all()
        text = words[0].decode()
    except (KeyError, ValueError, AttributeError, IndexError, UnicodeDecodeError) as error:
        raise DataError(f"episode {name}: a feature of its steps is missing or damaged ({error})") from error
    if not whole:
        raise DataError(f"episode {name}: its steps are not one episode from the first to the last")
    poses = np.tile(np.eye(4), (frames, 1, 1))
    poses[:, :3] = state

    def frame(at: int) -> Image:
        picture = decode_png(pictures[at], f"episode {name}, frame {at}")
        if picture.shape != (size[1], size[0], 3):
            raise DataError(f"episode {name}, frame {at}: {picture.shape[1]}x{picture.shape[0]} pixels, not {size}")
        return picture

    return TrainingClip(
        name,
        "rlds",
        split,
        digest_of(record.data),
        Clip.rendered(frame, frames, space.fps, size),
        Actions(space, actions[:-1]),
        poses,
        Camera(*size, *map(float, focal[0])),
        text or None,
    )


def _told(folder: Path) -> tuple[tuple[int, int], ActionSpace]:
    """Frame size and space of actions of a folder, whose features are those that we write."""
    where = folder / "metadata.json"
    told, features = read_json_object(where), read_json_object(folder / "features.json")
    try:
        width, height = (int(one) for one in told["frame_size"])
        space = space_from_json(told, told["fps"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{where}: a field is missing or damaged ({error})") from error
    if features != _features((width, height), len(space)):
        raise DataError(f"{folder / 'features.json'}: its features are not those that worldgauge writes")
    return (width, height), space


def _write_facts(folder: Path, first: TrainingClip, lengths: list[int], size: int) -> None:
    frame = (first.frames.width, first.frames.height)
    split = {
        "name": first.split,
        "filepathTemplate": TEMPLATE,
        "numBytes": str(size),
        "shardLengths": [str(length) for length in lengths],
    }
    info = {
        "name": NAME,
        "version": VERSION,
        "fileFormat": "tfrecord",
        "description": "Recorded episodes with exact camera poses, written by worldgauge.",
        "releaseNotes": {VERSION: "First layout."},
        "splits": [split],
    }
    told = {**space_to_json(first.actions.space), "fps": rate_of(first), "frame_size": frame, "state": STATE}
    for name, content in (
        ("dataset_info", info),
        ("features", _features(frame, len(first.actions.space))),
        ("metadata", told),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


def _features(size: tuple[int, int], actions: int) -> dict[str, Any]:
    """The content of features.json, in the form of TensorFlow Datasets."""
    width, height = size
    image = {"shape": {"dimensions": [str(height), str(width), "3"]}, "dtype": "uint8", "encodingFormat": "png"}
    steps = {
        "observation": _dict(
            {
                "image": {"pythonClassName": f"{_CORE}.image_feature.Image", "image": image},
                "state": _floats(len(POSE_NAMES), STATE),
                "intrinsics": _floats(len(INTRINSICS), ", ".join(INTRINSICS) + ", pixels"),
            }
        ),
        "action": _floats(actions, "leads to the next step; zero in the last one"),
        **dict.fromkeys(("is_first", "is_last", "is_terminal"), _FLAG),
        "language_instruction": _TEXT,
    }
    episode = {
        "pythonClassName": f"{_CORE}.dataset_feature.Dataset",
        "sequence": {"feature": _dict(steps), "length": "-1"},
    }
    return _dict({"episode_metadata": _dict({"name": _TEXT, "fingerprint": _TEXT}), "steps": episode})


_CORE = "tensorflow_datasets.core.features"
_TEXT = {"pythonClassName": f"{_CORE}.text_feature.Text", "text": {}}
_FLAG = {"pythonClassName": f"{_CORE}.scalar.Scalar", "tensor": {"shape": {}, "dtype": "bool", "encoding": "none"}}


def _dict(features: Mapping[str, Any]) -> dict[str, Any]:
    return {"pythonClassName": f"{_CORE}.features_dict.FeaturesDict", "featuresDict": {"features": dict(features)}}


def _floats(count: int, about: str) -> dict[str, Any]:
    tensor = {"shape": {"dimensions": [str(count)]}, "dtype": "float32", "encoding": "none"}
    return {"pythonClassName": f"{_CORE}.tensor_feature.Tensor", "tensor": tensor, "description": about}


def _shard(split: str, number: int, of: int) -> str:
    return f"{NAME}-{split}.tfrecord-{number:05d}-of-{of:05d}"
