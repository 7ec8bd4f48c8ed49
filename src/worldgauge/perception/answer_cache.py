"""Answers of networks, kept by what was asked: none is run twice on the same frames, nor when a run is scored anew.

    identity = {"network": "lpips-alex", "version": 1, "weights": digest, "precision": "float32", "device": "cpu"}
    distances = cached_rows(identity, {"x": x, "y": y}, network.answer)["distances"]

Kept in the user's cache folder; the environment variable WORLDGAUGE_CACHE names another folder, or "off", and
WORLDGAUGE_CACHE_GB how much may lie there (20), the oldest going first. Processes share it, also over NFS. What cannot
be written or read, such as on a full disk, is asked anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.perception._answer_packs import FORMAT_VERSION, Packs, is_kept
from worldgauge.perception.decoders.cache import cache_folder

LIMIT_VARIABLE = "WORLDGAUGE_CACHE_GB"
DEFAULT_LIMIT_GB = 20.0

Arrays = Mapping[str, NDArray[Any]]

_open: dict[tuple[int, Path, int], Packs] = {}  # by process, too: a fork writes to packs of its own


def cached_rows(
    identity: Mapping[str, Any], arrays: Arrays, ask: Callable[[Arrays], Arrays]
) -> dict[str, NDArray[Any]]:
    """What `ask(arrays)` gives, for a network that answers row by row: row i of each answer is of row i of each array.

    Only rows that are not known are asked, once each and all in one call. identity: JSON values of all that decides an
    answer besides the arrays: network, version, digest of the weights, precision, and the kind of device, since the
    last bits differ between them.
    Raises ShapeError for arrays or answers that differ in rows, or are not of numbers; UsageError for a wrong limit.
    """
    n = _rows(arrays, "arrays")
    packs = _packs(identity)
    if packs is None or n == 0:
        return dict(ask(arrays))
    keys = [_key({name: array[i] for name, array in arrays.items()}) for i in range(n)]
    known = packs.read(keys)
    asked = sorted({key: i for i, key in enumerate(keys) if key not in known}.values())
    if asked:
        answers = dict(ask(arrays if len(asked) == n else {name: array[asked] for name, array in arrays.items()}))
        if _rows(answers, "answers") != len(asked):
            raise ShapeError(f"a network answered {_rows(answers, 'answers')} rows to {len(asked)}")
        fresh = {keys[i]: {name: answer[j] for name, answer in answers.items()} for j, i in enumerate(asked)}
        packs.write(fresh)
        if len(asked) == n:
            return answers
        known |= fresh
    if len({_layout(known[key]) for key in keys}) > 1:
        return dict(ask(arrays))  # rows as wide as what they were asked with: only together are they what they were
    return {name: np.stack([known[key][name] for key in keys]) for name in known[keys[0]]}


def cached(identity: Mapping[str, Any], content: bytes | str, make: Callable[[], Arrays]) -> dict[str, NDArray[Any]]:
    """What `make()` gives, such as the masks of a frame.

    content: what it is made of, or a digest of that. Else as `cached_rows`; answers may be of any shape.
    """
    packs = _packs(identity)
    if packs is None:
        return dict(make())
    key = hashlib.sha256(content.encode() if isinstance(content, str) else content).digest()
    known = packs.read([key])
    if key in known:
        return known[key]
    made = dict(make())
    _check(made, "answers", 0)
    packs.write({key: made})
    return made


def _packs(identity: Mapping[str, Any]) -> Packs | None:
    """Where the answers of `identity` lie; None where none are to be kept."""
    folder, limit = cache_folder(), _limit_bytes()
    if folder is None or limit <= 0:
        return None
    who = json.dumps({**identity, "format": FORMAT_VERSION}, sort_keys=True, allow_nan=False)
    place = folder.parent / "answers" / hashlib.sha256(who.encode()).hexdigest()
    return _open.setdefault((os.getpid(), place, limit), Packs(place, limit))


def _limit_bytes() -> int:
    given = os.environ.get(LIMIT_VARIABLE, "")
    try:
        limit = float(given) if given else DEFAULT_LIMIT_GB
    except ValueError:
        limit = math.nan
    if not 0 <= limit < math.inf:
        raise UsageError(f"{LIMIT_VARIABLE} is '{given}'; give gigabytes, such as 20, or 0 to keep nothing")
    return int(limit * 1e9)


def _key(row: Arrays) -> bytes:
    """SHA-256 of names, types, shapes and bytes: on processors that have it built in, the fastest there is."""
    key = hashlib.sha256(repr(_layout(row)).encode())
    for name in sorted(row):
        key.update(np.ascontiguousarray(row[name]).reshape(-1).view(np.uint8).data)
    return key.digest()


def _layout(row: Arrays) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    return tuple((name, row[name].dtype.str, row[name].shape) for name in sorted(row))


def _rows(arrays: Arrays, what: str) -> int:
    """How many rows all of them have."""
    _check(arrays, what, 1)
    numbers = {len(array) for array in arrays.values()}
    if len(numbers) != 1:
        raise ShapeError(f"{what} differ in rows: " + ", ".join(f"{name} {len(a)}" for name, a in arrays.items()))
    return numbers.pop()


def _check(arrays: Arrays, what: str, ndim: int) -> None:
    for name, array in arrays.items():
        if array.ndim < ndim or not is_kept(array.dtype):
            raise ShapeError(f"{what}: '{name}' is {array.shape} {array.dtype}; {'rows of ' * ndim}numbers are needed")
