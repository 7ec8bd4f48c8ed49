"""Attempts: a request through the `openai` client, bounded in time, size and money, and recorded line by line."""

from __future__ import annotations

import fcntl
import json
import math
import os
import ssl
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

from worldgauge.chat.question import ChatQuestion, Encoding
from worldgauge.chat.reply import BudgetError, CallFailure, one_line, status_failure
from worldgauge.core.errors import MissingExtraError, RunError, UsageError
from worldgauge_serve import is_local_host, proxy_note


class Lines:
    """A file of JSON lines. It is opened again for each access, so a copy of this object made by a fork is safe too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_to = 0
        self._number = 0

    @contextmanager
    def locked(self) -> Iterator[BinaryIO]:
        """Open the file while no other process has it; an incomplete last line, left by a kill, is dropped."""
        try:
            with open(self.path, "ab+", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = _end_of_lines(file)
                if end < file.seek(0, os.SEEK_END):
                    os.ftruncate(file.fileno(), end)
                yield file
        except OSError as error:
            raise RunError(f"{self.path}: {error.strerror}; make room or permit it, then start again") from error

    def append(self, line: str, file: BinaryIO) -> None:
        """Write a line through to the disk; no part of it stays when that fails."""
        data = line.encode() + b"\n"
        end = file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)
            raise

    def read_new(self, take: Callable[[int, Mapping[str, Any]], None]) -> None:
        """Read each complete line that was not read before."""
        try:
            file = open(self.path, "rb")  # noqa: SIM115 - an absent file holds no lines
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunError(f"{self.path}: cannot be read ({error.strerror})") from error
        with file:
            file.seek(self._read_to)
            while (line := file.readline()).endswith(b"\n"):
                take(self._read_to, self._parse(line, self._number + 1))
                self._read_to += len(line)
                self._number += 1

    def at(self, place: int) -> Mapping[str, Any]:
        """The line at a position that `read_new` has passed to `take`."""
        try:
            with open(self.path, "rb") as file:
                file.seek(place)
                return self._parse(file.readline(), None)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be read ({error.strerror})") from error

    def _parse(self, line: bytes, number: int | None) -> Mapping[str, Any]:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            where = "a line" if number is None else f"line {number}"
            raise RunError(f"{self.path}: {where} is damaged; remove it, what it held will be done again")
        return content


def _end_of_lines(file: BinaryIO) -> int:
    """Where the last whole line ends."""
    place = file.seek(0, os.SEEK_END)
    while place > 0:
        start = max(0, place - 2**16)
        file.seek(start)
        found = file.read(place - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        place = start
    return 0


VERSION = 1
_SHORTEST_SECRET = 8
"""Shorter keys are placeholders such as "EMPTY"; hiding those would garble the answers."""


class ChatRecording:
    """The recording in a folder, to which many processes may add at a time; the key `secret` is hidden in it."""

    def __init__(self, folder: Path, secret: str | None = None) -> None:
        self.folder = folder
        self._secret = secret
        try:
            (folder / "images").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: cannot hold a recording ({error.strerror})") from error
        self._lines = Lines(folder / "asks.jsonl")
        self._places: dict[str, int] = {}
        self._failed: dict[str, int] = {}
        self._lock = threading.Lock()

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Look up the latest answer to a question, also of another process."""
        with self._lock:
            if key not in self._places:
                self._lines.read_new(self._take)
            place = self._places.get(key)
            return None if place is None else self._lines.at(place)

    def find_failed(self, key: str) -> Mapping[str, Any] | None:
        """Look up the latest failed attempt at a question."""
        with self._lock:
            self._lines.read_new(self._take)
            place = self._failed.get(key)
            return None if place is None else self._lines.at(place)

    def add(self, line: Mapping[str, Any]) -> None:
        """Record a finished question."""
        text = hidden(json.dumps({"version": VERSION, **line}, allow_nan=False), self._secret)
        with self._lock, self._lines.locked() as file:
            self._lines.append(text, file)

    def keep_image(self, name: str, data: bytes, suffix: str) -> None:
        """Store a picture, unless it is there."""
        path = self.folder / "images" / f"{name}.{suffix}"
        if path.exists():
            return
        try:
            handle, part = tempfile.mkstemp(prefix=".part-", dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror})") from error

    def _take(self, place: int, line: Mapping[str, Any]) -> None:
        if line.get("version") != VERSION or not isinstance(line.get("key"), str):
            raise RunError(
                f"{self._lines.path}: the line at byte {place} is of another version; record into a new folder"
            )
        places = self._places if line.get("status") == "answer" else self._failed
        places[line["key"]] = place


def hidden(text: str, secret: str | None) -> str:
    """Remove the secret from a text, both as it is and as JSON writes it."""
    if not secret or len(secret) < _SHORTEST_SECRET:
        return text
    return text.replace(secret, "[key]").replace(json.dumps(secret)[1:-1], "[key]")


T = TypeVar("T")

_OPENAI_HOST = "api.openai.com"
OPENAI_URL = f"https://{_OPENAI_HOST}/v1"
LARGEST_REPLY = 16 * 2**20
_LARGEST_ERROR = 2**16
_CONNECT_S = 20.0


class Transport:
    """Connection to an endpoint; safe for threads. OPENAI_API_KEY goes only to OpenAI, unless `key_env` names it."""

    def __init__(self, base_url: str | None, key_env: str | None) -> None:
        self.base_url = (base_url or OPENAI_URL).rstrip("/")
        host, self.host = _address(self.base_url)
        self._is_here, self._proxies = is_local_host(host), (urlsplit(self.base_url).scheme, "all")
        self.is_openai = host == _OPENAI_HOST or host.endswith("." + _OPENAI_HOST)
        self._key_env = key_env or ("OPENAI_API_KEY" if self.is_openai else None)
        self.key = os.environ.get(self._key_env, "").strip() if self._key_env else None
        self._client: Any = None
        self._lock = threading.Lock()

    def send(self, payload: Mapping[str, Any], seconds: float) -> str:
        """Send a request."""
        client = self.connect()
        return _within(seconds, lambda: self._send(client, payload, seconds))

    def connect(self) -> Any:
        """The client of the endpoint."""
        with self._lock:
            if self._client is None:
                if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key):
                    raise UsageError(f"{self.host}: no key; set the environment variable {self._key_env} to one")
                try:
                    import openai
                except ImportError:
                    raise MissingExtraError("a chat endpoint", "chat") from None
                hooks: dict[str, list[Callable[..., Any]]] = {
                    "request": [self._clean],
                    "response": [self._refuse_errors],
                }
                # The environment names proxies; certificates, too, which the other default reads as well.
                here: dict[str, Any] = {"trust_env": False, "verify": ssl.create_default_context()}
                try:
                    http_client = openai.DefaultHttpxClient(
                        follow_redirects=False, event_hooks=hooks, **(here if self._is_here else {})
                    )
                except (ImportError, ValueError) as error:
                    why = f"{self.host}: no connection{self.proxy}: {one_line(hidden(str(error), self.key))}"
                    raise UsageError(f"{why.rstrip('.')}; or change the variable") from error
                self._client = openai.OpenAI(
                    api_key=self.key or "none",
                    base_url=self.base_url,
                    max_retries=0,  # we retry ourselves, so that each attempt is counted, paid for and recorded
                    http_client=http_client,
                )
            return self._client

    @property
    def proxy(self) -> str:
        """The proxy on the way to the endpoint, as messages add it; empty when there is none."""
        return proxy_note(self.base_url, self._proxies)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _clean(self, request: Any) -> None:
        """The client adds these from the environment; they are no other endpoint's business."""
        for name in () if self.is_openai else ("OpenAI-Organization", "OpenAI-Project"):
            request.headers.pop(name, None)

    def _send(self, client: Any, payload: Mapping[str, Any], seconds: float) -> str:
        import openai

        # A compressed reply could be small here and huge in memory.
        headers = {"Accept-Encoding": "identity"}
        timeout = openai.Timeout(seconds, connect=min(seconds, _CONNECT_S))
        until = time.monotonic() + seconds
        ask = client.chat.completions.with_streaming_response.create
        try:
            with ask(**payload, extra_headers=headers, timeout=timeout) as response:
                return hidden(_read(response.iter_bytes(), LARGEST_REPLY, until), self.key)
        except openai.APITimeoutError as error:
            raise _late(seconds) from error
        except openai.OpenAIError as error:
            cause = error.__cause__
            if isinstance(cause, CallFailure):  # from our hook: some versions of the client wrap it
                raise cause from None
            said = one_line(hidden(str(cause or error), self.key))
            # Also after a request that was sent whole, so it may have been worked on.
            raise CallFailure(
                f"cannot be reached ({said or type(cause).__name__})", again=True, charged=True
            ) from error

    def _refuse_errors(self, response: Any) -> None:
        """Turn a status other than success into a Failure, before the client reads a body of any size."""
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise CallFailure(
                f"sent a reply compressed as {one_line(encoding, 20)} although asked not to", charged=True
            )
        if 200 <= response.status_code < 300:
            return
        body = hidden(_read_some(response.iter_bytes(), _LARGEST_ERROR), self.key)
        raise status_failure(response.status_code, response.headers, body)


def _address(url: str) -> tuple[str, str]:
    """(host, host and port) of `url`."""
    try:
        parts = urlsplit(url)
        host, port, extra = parts.hostname or "", parts.port, parts.username or parts.password or parts.query
    except ValueError:
        host, port, extra = "", None, None
    if not host or extra or not url.startswith(("http://", "https://")):
        raise UsageError(
            "base_url must be like http://localhost:8000/v1, without user, password or query; "
            "the key is read from the environment variable that api_key_env names"
        )
    return host, host if port is None else f"{host}:{port}"


def _read(chunks: Iterable[bytes], most: int, until: float) -> str:
    """Read a whole body."""
    data = bytearray()
    for chunk in _unbroken(chunks):
        data += chunk
        if time.monotonic() > until:
            raise CallFailure("was still sending its reply when time was up", again=True, charged=True)
        if len(data) > most:
            raise CallFailure(f"sent a reply of more than {most} bytes", charged=True)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CallFailure("sent a reply that is not UTF-8", again=True, charged=True) from None


def _unbroken(chunks: Iterable[bytes]) -> Iterable[bytes]:
    """The chunks. The client passes on whatever its HTTP library raises, of which there are two: no names to catch."""
    try:
        yield from chunks
    except Exception as error:
        raise CallFailure(
            f"broke off within its reply ({type(error).__name__}: {one_line(str(error))})", again=True, charged=True
        ) from error


def _read_some(chunks: Iterable[bytes], most: int) -> str:
    """The start of the body of an error; what cannot be read of it does not matter."""
    data = bytearray()
    try:
        for chunk in _unbroken(chunks):
            data += chunk
            if len(data) >= most:
                break
    except CallFailure:
        pass
    return data[:most].decode(errors="replace")


def _late(seconds: float) -> CallFailure:
    return CallFailure(f"did not answer within {seconds:g} s", again=True, charged=True)


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Result of `call` in a thread with a time limit. HTTP timeouts apply to each read, and none to a name look-up."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(call())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name="chat-attempt")
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise _late(seconds)
    return done[0]


_BYTES_A_TOKEN = 3  # English has about 4, tables of numbers about 2
_PIXELS_A_TOKEN = 750  # the common models take one token for 600 to 800 pixels
_TOKENS_A_PART = 100  # what each message or picture adds whatever its size


@dataclass(frozen=True)
class Prices:
    """Prices in the currency of the budget, from the price list of the endpoint.

    Attributes:
        input: Price of a million input tokens.
        output: Price of a million output tokens.

    Examples:
        >>> round(Prices(input=2.0, output=8.0).cost(input_tokens=1000, output_tokens=500), 6)
        0.006
    """

    input: float
    output: float

    def __post_init__(self) -> None:
        if not all(0 <= price < math.inf for price in (self.input, self.output)):
            raise UsageError(f"{self}: give prices of a million tokens, 0 or more")

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Price of one call."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


class Ledger:
    """Money spent, in a file that all processes share, so that together they stay within the budget.

    A call is written with its estimate before it is sent, and counts with it if a kill interrupts the call.
    """

    def __init__(self, path: Path, cap: float | None) -> None:
        if cap is not None and not 0 <= cap < math.inf:
            raise UsageError(f"budget is {cap}; give an amount of money, 0 or more")
        self.path = path
        self.cap = cap
        self._lines = Lines(path)
        self._costs: dict[str, float] = {}
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """Money spent so far, including the estimates of running calls."""
        with self._lock:
            self._lines.read_new(self._take)
            return math.fsum(self._costs.values())

    def reserve(self, estimate: float) -> str:
        """Reserve money for a call."""
        name = uuid.uuid4().hex
        with self._lock, self._lines.locked() as file:
            self._lines.read_new(self._take)
            spent = math.fsum(self._costs.values())
            if self.cap is not None and spent + estimate > self.cap:
                raise BudgetError(
                    f"{self.path.parent}: {spent:.4f} of the budget of {self.cap:g} is spent and the next call "
                    f"may cost {estimate:.4f}; raise the budget to go on"
                )
            self._lines.append(json.dumps({"call": name, "cost": estimate, "estimate": True}), file)
        return name

    def settle(self, name: str, cost: float) -> None:
        """Record the true cost of a call."""
        with self._lock, self._lines.locked() as file:
            self._lines.append(json.dumps({"call": name, "cost": cost, "estimate": False}), file)

    def _take(self, place: int, line: Mapping[str, Any]) -> None:
        name, cost = line.get("call"), line.get("cost")
        if not isinstance(name, str) or not isinstance(cost, (int, float)) or not 0 <= cost < math.inf:
            raise RunError(f"{self.path}: the line at byte {place} is damaged; correct its cost by hand")
        self._costs[name] = cost


def estimate_tokens(question: ChatQuestion, encoding: Encoding) -> int:
    """Estimate the number of input tokens of a question; the true number comes with the reply."""
    total = _TOKENS_A_PART * (len(question.messages) + len(question.images))
    texts = [part for message in question.messages for part in message.parts if isinstance(part, str)]
    texts.append("" if question.schema is None else json.dumps(question.schema))
    total += sum(len(text.encode()) for text in texts) // _BYTES_A_TOKEN
    for image in question.images:
        width, height = encoding.sent_size(image)
        total += width * height // _PIXELS_A_TOKEN
    return total
