"""A secret value in the environment, and a search for it in everything that a command has made."""

from __future__ import annotations

import base64
import gzip
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

CANARY = "sk-canary7b1e4f90aa"
LOGIN = f"http://me:{CANARY}@127.0.0.1:9"
_NAMES = ("CANARY_API_KEY", "HF_TOKEN", "OPENAI_API_KEY", "WORLDGAUGE_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY")
_FORMS = (
    CANARY.encode(),
    CANARY[::-1].encode(),
    CANARY.encode().hex().encode(),
    base64.b64encode(CANARY.encode())[:-4],
)


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the canary into the environment, as keys and as the password of a proxy."""
    for name in _NAMES:
        monkeypatch.setenv(name, CANARY)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, LOGIN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


def tells(content: bytes | str) -> bool:
    """Whether something holds the canary in any letters' case, backwards, in hexadecimal digits or in base 64."""
    data = content.encode() if isinstance(content, str) else content
    return any(form in data or form.lower() in data.lower() for form in _FORMS)


def holding(folder: Path) -> list[str]:
    """Files, also in archives, Parquet files and what is compressed, that hold the canary."""
    return [name for path in folder.rglob("*") if path.is_file() for name, data in _contents(path) if tells(data)]


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    data = path.read_bytes()
    yield f"{path}, its name", str(path).encode()
    yield str(path), data
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"{path}/{name}", archive.read(name)
    elif data[:2] == b"\x1f\x8b":
        yield f"{path}, unpacked", gzip.decompress(data)
    elif data[:1] == b"\x78":
        try:
            yield f"{path}, unpacked", zlib.decompress(data)
        except zlib.error:
            return
    elif data[:4] == b"PAR1":
        import pyarrow.parquet

        for row in pyarrow.parquet.read_table(path).to_pylist():
            yield f"{path}, a row", repr(row).encode()
