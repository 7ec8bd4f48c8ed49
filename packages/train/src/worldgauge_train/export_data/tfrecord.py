"""Files of TensorFlow's records, without TensorFlow: a length and a checksum before each record, a checksum behind it.

A record holds a `tf.train.Example`: a map from names to lists of bytes, floats or integers. Source of both layouts: the
documentation of TFRecord and tf.train.Example; checksums are CRC-32C, rotated and offset.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.geometry import FloatArray

MOST_BYTES = 2**31 - 1
"""Of a record: no message of protobuf is larger."""
_MASK = 0xA282EAD8

Values = Sequence[bytes] | Sequence[int] | FloatArray


class Record(NamedTuple):
    """A record as it lies in a file.

    Attributes:
        data: Its bytes.
        checksum: What the file says of them.
    """

    data: bytes
    checksum: int


def write_record(file: IO[bytes], data: bytes) -> int:
    """Append a record to a file.

    Returns:
        Number of bytes written.
    """
    length = struct.pack("<Q", len(data))
    for part in (length, _packed(length), data, _packed(data)):
        file.write(part)
    return len(data) + 16


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file, one in memory at a time. Their own checksums are not compared yet.

    Args:
        path: The file.

    Yields:
        The records.

    Raises:
        DataError: It cannot be read, is cut, or a length is damaged, so that nothing behind it can be found.
    """
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
                yield Record(data, int.from_bytes(tail, "little"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def encode_example(features: Mapping[str, Values]) -> bytes:
    """A record's bytes; the same features give the same bytes.

    Args:
        features: Bytes, integers, or floats as an array of any shape, which is written row by row.

    Returns:
        The message.

    Raises:
        DataError: It is larger than a message may be.
    """
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
            f"a walk of {size} bytes is more than a record can hold; export shorter walks or smaller frames"
        )
    data: bytes = example.SerializeToString(deterministic=True)
    return data


def decode_example(record: Record) -> dict[str, Any]:
    """The features of a record.

    Args:
        record: The record.

    Returns:
        A list of bytes, or an array of floats or integers, by name.

    Raises:
        DataError: Its checksum differs, or it is no such message.
    """
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
    """Check that the packages of the extra are there.

    Raises:
        MissingExtraError: One is missing.
    """
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
