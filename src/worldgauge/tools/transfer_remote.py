"""The place that data is pushed to: an address of fsspec, asked again where its network fails."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from worldgauge.core.errors import DataError, MissingExtraError, UsageError
from worldgauge.serving.isolation import check_no_secret, hidden
from worldgauge_serve import is_local_host

TOGETHER = 50
"""Files of one commit. The Hub advises fewer than 100, and takes 128 commits an hour (2026)."""

_NOT_ALLOWED = (401, 403)


def counts_commits(files: Any, base: str) -> bool:
    """Whether a place is a repository of the Hub; a bucket of the Hub has no commits."""
    kinds = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    return "hf" in kinds and not base.startswith("buckets/")


def commit(files: Any, contents: Mapping[str, Path | bytes]) -> None:
    """Add files to a repository in one commit. Content that the Hub has received before is not sent again."""
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    first = next(iter(contents))
    try:
        places = {path: files.resolve_path(path) for path in contents}
    except FileNotFoundError as error:
        raise DataError(f"hf://{first}: the Hub shows no such repository; make it there first, and log in") from error
    place = places[first]
    additions = [
        CommitOperationAdd(places[path].path_in_repo, content if isinstance(content, bytes) else str(content))
        for path, content in contents.items()
    ]
    more = f" and {len(additions) - 1} more" if len(additions) > 1 else ""
    try:
        HfApi(endpoint=files.endpoint, token=files.token).create_commit(
            place.repo_id,
            additions,
            commit_message=f"Add {additions[0].path_in_repo}{more}",
            repo_type=place.repo_type,
            revision=place.revision,
        )
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code in _NOT_ALLOWED:
            raise DataError(
                f"hf://{first}: not allowed to write; log in (hf auth login) with a token that may write"
            ) from error
        raise


WAITS_S = (1.0, 2.0, 4.0)
"""Pauses in seconds before another attempt, after a failure that another attempt may mend."""
BLOCK = 1 << 20
_GO_ON = "make room, then start the same command again, which goes on from here"

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the number of files done and the total."""
T = TypeVar("T")


@dataclass(frozen=True)
class Moved:
    """What `push` or `pull` has done; `sent` counts the place's files that travelled, as the rest was there."""

    place: str
    files: int
    bytes: int
    sent: int
    root: str


class ListedFile(NamedTuple):
    """A file as its place lists it. The Hub has the SHA-256 of large files and Git's SHA-1 of others."""

    path: str
    bytes: int
    sha256: str
    sha1: str


class Remote:
    """A folder at an address."""

    def __init__(self, address: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise MissingExtraError("data push and pull", "remote") from None
        check_no_secret(address, "address")
        self.address = address.rstrip("/")
        _leave_local_hosts_out_of_proxies()
        try:
            self._files, self._base = fsspec.core.url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise UsageError(f"{address}: {hidden(' '.join(str(error).split()))}") from error

    @property
    def together(self) -> int:
        """How many files are best sent by one call of `send`."""
        return TOGETHER if self._is_hub else 1

    def sizes(self, folder: str) -> dict[str, int]:
        """Size of each file in a folder of the place, by the name of the file; none where there is no such folder."""

        def ask() -> dict[str, int]:
            # A listing that was cached would hide what another attempt has left.
            self._files.invalidate_cache()
            try:
                found = self._files.ls(self._path(folder), detail=True)
            except FileNotFoundError:
                return {}
            return {
                f"{folder}/{str(one['name']).replace(chr(92), '/').rpartition('/')[2]}": int(one["size"] or 0)
                for one in found
                if one["type"] == "file"
            }

        return self._again(folder, ask)

    def listing(self) -> list[ListedFile]:
        """All files of the place that are not hidden, sorted; none if there is no such place."""

        def ask() -> dict[str, Any]:
            self._files.invalidate_cache()
            try:
                return dict(self._files.find(self._base, detail=True))
            except FileNotFoundError:
                return {}

        found, start = [], self._base.rstrip("/") + "/"
        for name, facts in sorted(self._again("", ask).items()):
            path = name.removeprefix(start)
            if "/." not in f"/{path}":
                sha256 = str((facts.get("lfs") or {}).get("sha256", ""))
                sha1 = "" if sha256 else str(facts.get("blob_id") or "")
                found.append(ListedFile(path, int(facts["size"] or 0), sha256, sha1))
        return found

    def send(self, sources: Mapping[str, Path | bytes]) -> None:
        """Copy files, or contents, to the place."""
        if self._is_hub:
            by_path = {self._path(name): content for name, content in sources.items()}
            self._again(next(iter(sources)), lambda: commit(self._files, by_path))
            return
        for name, source in sources.items():

            def put(path: str = self._path(name), source: Path | bytes = source) -> None:
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
                if isinstance(source, bytes):
                    self._files.pipe_file(path, source)
                else:
                    self._files.put_file(str(source), path)

            self._again(name, put)

    def read(self, name: str, limit: int) -> bytes:
        """Read a small file."""

        def get() -> bytes:
            with self._files.open(self._path(name), "rb") as file:
                return bytes(file.read(limit + 1))

        data = self._again(name, get)
        if len(data) > limit:
            raise DataError(f"{self.address}/{name}: longer than {limit} bytes")
        return data

    def digest(self, name: str) -> str:
        """SHA-256 of a file of the place, which is read for it."""

        def get() -> str:
            digest = hashlib.sha256()
            with self._files.open(self._path(name), "rb") as file:
                while block := file.read(BLOCK):
                    digest.update(block)
            return digest.hexdigest()

        return self._again(name, get)

    def bring(self, name: str, target: Path, size: int) -> None:
        """Copy at most `size` bytes of a file to this machine, from where an earlier attempt left `target`."""

        def get() -> None:
            start = target.stat().st_size if target.exists() else 0
            if start > size:
                target.unlink()
                start = 0
            with self._files.open(self._path(name), "rb") as file, _Part(target) as out:
                file.seek(start)
                _copy(file, out, size - start)

        self._again(name, get)

    @property
    def _is_hub(self) -> bool:
        return counts_commits(self._files, self._base)

    def _path(self, name: str) -> str:
        return f"{self._base.rstrip('/')}/{name}"

    def _again(self, name: str, act: Callable[[], T]) -> T:
        """What `act` returns; after a failure of the network it is tried again."""
        for wait in (*WAITS_S, None):
            try:
                return act()
            except DataError:
                raise
            except (FileNotFoundError, PermissionError, NotImplementedError) as error:
                raise DataError(f"{self.address}/{name}: {_words(error)}") from error
            except Exception as error:  # each kind of place has errors of its own
                if wait is None:
                    raise DataError(
                        f"{self.address}/{name}: {_words(error)}; start the same command again, it goes on from here"
                    ) from error
                time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


class _Part:
    """What has come of a file. What the disk refuses is no failure of the network: it is not tried again."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> _Part:
        with self._told():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._path, "ab", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, block: bytes) -> None:
        """Append a block."""
        with self._told():
            view = memoryview(block)
            while view:
                view = view[self._file.write(view) :]

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror
            raise DataError(f"{self._path}: cannot be written ({why}); {_GO_ON}") from error


def _copy(file: Any, out: _Part, left: int) -> None:
    while left > 0:
        block = file.read(min(BLOCK, left))
        if not block:
            raise OSError("it ended too early")
        out.write(block)
        left -= len(block)


def _words(error: Exception) -> str:
    # Errors of places and of their libraries repeat what they were asked with.
    text = hidden(" ".join(str(error).split()))[:200]
    if isinstance(error, (FileNotFoundError, PermissionError)):
        return "not there" if isinstance(error, FileNotFoundError) else "not allowed"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _leave_local_hosts_out_of_proxies() -> None:
    """Name this machine in NO_PROXY: packages such as s3fs send what is meant for it to a proxy otherwise."""
    known = os.environ.get("no_proxy", os.environ.get("NO_PROXY", ""))
    if "*" in known:
        return
    places = (urlsplit(value).hostname for name, value in os.environ.items() if "ENDPOINT" in name and "://" in value)
    hosts = {"localhost", "127.0.0.1", "::1", *(host for host in places if host and is_local_host(host))}
    missing = sorted(hosts - set(known.split(",")))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(filter(None, (known, *missing)))
