"""`video-api`: a video generation service over HTTP: submit, poll, download.

Every vendor uses another dialect. This one is small, and the methods that another dialect has to change come first in
the class:

    POST {url}/generations    {"model", "prompt", "seed", "width", "height", "frames", "fps", "image": PNG in base64}
                              -> {"id"}
    GET  {url}/generations/ID -> {"status": "queued" | "running" | "succeeded" | "failed", "video": URL, "error": TEXT}
    GET  the video            -> its bytes, in any container that `worldgauge.core.video` reads
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from worldgauge.core.errors import DataError, ModelError, UsageError
from worldgauge.core.image import Frames, Image
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip, problems
from worldgauge.models import models
from worldgauge.serving.messages import without_login
from worldgauge_serve import is_local_host, proxy_note

T = TypeVar("T")

MAX_JSON_BYTES = 1 << 20
MAX_REDIRECTS = 3
OUTAGES = 5
"""Failures of one request, by connection or server, after which the service counts as down."""
TIMEOUT_S = 60.0
LONGEST_PAUSE_S = 15.0
SHORTEST_PAUSE_S = 0.1


class Deadline:
    """Time left for one piece of work; `clock` has `monotonic` and `sleep`, as the module `time`."""

    def __init__(self, seconds: float, clock: Any) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; not positive after the deadline."""
        return float(self._end - self._clock.monotonic())

    def wait(self, seconds: float, why: str) -> None:
        """Pause."""
        if seconds >= self.left():
            raise ModelError(f"nothing within {self._seconds:g} s; {why}")
        self._clock.sleep(seconds)


class Service:
    """One service; `secret` is never shown, and files may also come from `download_from` (host or host:port)."""

    def __init__(self, url: str, headers: Mapping[str, str], secret: str, download_from: str, insecure: bool) -> None:
        self._url = url.rstrip("/")
        self._headers = headers
        self._secret = secret
        self._insecure = insecure
        if "@" in url:  # first, so that no message shows what may be a password
            raise UsageError(f"url {self.plain('...' + url.rpartition('@')[2])} holds a user name or a password")
        if fault := self._fault(url, None):
            raise UsageError(f"url {self.plain(_shown(url))} {fault}")
        parts = urlsplit(url)
        if parts.query or parts.fragment:
            raise UsageError(
                f"url {self.plain(_shown(url))} must end before '?' and '#': addresses are made by appending to it"
            )
        self._host = parts.netloc.lower()
        self._download_hosts = {self._host, download_from.lower() or self._host}

    def ask(
        self,
        method: str,
        path: str,
        until: Deadline,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[dict[str, Any], float | None]:
        """Send a request and read a JSON object."""
        url = f"{self._url}/{path}"
        what = f"{method} {_shown(url)}"
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        kinds = {"Accept": "application/json", **({"Content-Type": "application/json"} if data else {})}

        def read(answer: http.client.HTTPResponse) -> tuple[dict[str, Any], float | None]:
            text = b"".join(_blocks(answer, MAX_JSON_BYTES, until))
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                start = text[:80].decode("utf-8", "replace")
                raise ModelError(f"{what} answered {self.plain(start)!r}, which is no JSON object")
            return found, _retry_after(answer)

        given = self._exchange(Request(url, data, {**kinds, **(headers or {})}, method=method), until, read)
        if isinstance(given, str):
            raise ModelError(f"{what} leads on to {self.plain(_shown(given))}; give that address as url")
        return given

    def download(self, link: str, path: Path, limit: int, until: Deadline) -> None:
        """Download a file; redirects may lead only to the hosts that are allowed for links."""

        def save(answer: http.client.HTTPResponse) -> None:
            with open(path, "wb") as file:
                for block in _blocks(answer, limit, until):
                    file.write(block)

        url = _join(f"{self._url}/", link)
        for _ in range(MAX_REDIRECTS + 1):
            if fault := self._fault(url, self._download_hosts):
                raise ModelError(f"the file lies at {self.plain(_shown(url))}, which {fault}")
            given = self._exchange(Request(url), until, save)
            if given is None:
                return
            url = _join(url, given)
        raise ModelError(f"the file lies behind more than {MAX_REDIRECTS} redirects")

    def plain(self, text: object) -> str:
        """Text of the service as one short line of printable characters, without the secret."""
        line = str(text).replace(self._secret, "(secret)") if self._secret else str(text)
        return " ".join("".join(c if c.isprintable() else " " for c in line).split())[:300]

    def _exchange(self, request: Request, until: Deadline, read: Callable[[http.client.HTTPResponse], T]) -> T | str:
        """Result of `read` on the response, or the address that it redirects to; repeats it after an outage."""
        what = f"{request.get_method()} {self.plain(_shown(request.full_url))}"
        if urlsplit(request.full_url).netloc.lower() == self._host:
            for name, value in self._headers.items():
                request.add_header(name, value)
        outages, pause, opener = 0, 1.0, _opener(request.full_url)
        while True:
            after = None
            try:
                with opener.open(request, timeout=max(SHORTEST_PAUSE_S, min(TIMEOUT_S, until.left()))) as answer:
                    if answer.status in (200, 201, 202):
                        return read(answer)
                    if answer.status in (301, 302, 303, 307, 308) and answer.headers.get("Location"):
                        return str(answer.headers["Location"])
                    trouble, after = self._refusal(answer, until), _retry_after(answer)
                    if answer.status < 500 and answer.status not in (408, 425, 429):
                        raise ModelError(f"{what} answered {trouble}")
                    outages += answer.status != 429
            except (OSError, http.client.HTTPException) as error:
                outages += 1
                trouble = (self.plain(error) or type(error).__name__) + proxy_note(request.full_url)
            if outages == OUTAGES:
                raise ModelError(f"{what} failed {OUTAGES} times, the last time with {trouble}")
            until.wait(pause if after is None else after, f"{what}: {trouble}")
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _refusal(self, answer: http.client.HTTPResponse, until: Deadline) -> str:
        """Status and the first words of the body, if there are any."""
        text = b""
        with suppress(OSError, http.client.HTTPException, ModelError):
            text = next(_blocks(answer, MAX_JSON_BYTES, until), b"")
        status = f"{answer.status} {http.client.responses.get(answer.status, '')}".strip()
        return self.plain(f"{status}: {text[:400].decode('utf-8', 'replace')}" if text else status)

    def _fault(self, url: str, hosts: set[str] | None) -> str | None:
        """Why `url` is not allowed; None when it is. With `hosts` None, all hosts are allowed."""
        if not (url.isascii() and url.isprintable()) or " " in url:
            return "holds characters that no address has"
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError as error:
            return f"is no address ({error})"
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "is no http or https address"
        if "@" in parts.netloc:
            return "holds a user name or a password"
        if parts.scheme == "http" and not self._insecure and not is_local_host(parts.hostname):
            return "is not encrypted; use https, or give insecure=true"
        if hosts is not None and parts.netloc.lower() not in hosts:
            return f"is another host; where that is meant give download_from={parts.netloc.lower()}"
        return None


def _join(base: str, link: str) -> str:
    """The address that a link leads to; the link itself if it is none, which `_fault` reports."""
    with suppress(ValueError):
        return urljoin(base, link)
    return link


def _opener(url: str) -> OpenerDirector:
    # Handlers are named one by one: none opens files, none follows a redirect, none raises for a status.
    opener = OpenerDirector()
    opener.addheaders = [("User-Agent", "worldgauge")]
    is_here = is_local_host(urlsplit(url).hostname or "")
    for handler in (HTTPHandler(), HTTPSHandler(), *([] if is_here else [ProxyHandler()])):
        opener.add_handler(handler)
    return opener


def _blocks(answer: http.client.HTTPResponse, limit: int, until: Deadline) -> Iterator[bytes]:
    """The body in blocks, as it arrives."""
    stated, done = answer.length, 0
    if stated is not None and stated > limit:
        raise ModelError(f"the service sends {stated} bytes, the limit is {limit}")
    while block := answer.read1(1 << 16):
        done += len(block)
        if done > limit:
            raise ModelError(f"the service sends more than the limit of {limit} bytes")
        until.wait(0.0, f"{done} bytes had come")
        yield block
    if stated is not None and done < stated:
        raise ConnectionError(f"cut off after {done} of {stated} bytes")


def _retry_after(answer: http.client.HTTPResponse) -> float | None:
    """Seconds that the service asks to wait, given as a number or a date."""
    given = answer.headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d{1,9}", given):
        return max(SHORTEST_PAUSE_S, float(given))
    with suppress(ValueError, TypeError):
        return max(SHORTEST_PAUSE_S, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    return None


def _shown(url: str) -> str:
    """An address as it may be printed and stored, without its query and login, which may be keys."""
    return without_login(url.split("?")[0])[:200]


MAX_FRAMES = 20_000


@models.register("video-api")
class VideoApi:
    """A video generation service over HTTP, driven by the last context frame and the walk in words.

    When a picture is sent, frame 0 of the video is assumed to be that picture. A requested frame is the frame nearest
    in time, by the rate that the file declares. Another rate is no error; a video that ends too early is one, and a
    longer video is cut. Frames of another size are resized, whatever their aspect ratio.

    Args:
        url: Address under which /generations is found.
        model: Name of the model at the service.
        key_env: Environment variable that holds the key. It is sent to that host only and is never written.
        prompt: Words put before the walk.
        caption: Put the scene in a sentence between those words and the walk; a task that has none is skipped.
        image_field: Name of the JSON field of the picture; empty for a service that takes none.
        name: Name in tables; `model` by default.
        download_from: Host, or host:port, of the videos when it is another one.
        insecure: Allow http to a host that is not this machine.
        deadline_s: Seconds for one rollout, from submission to the last byte.
        poll_s: First pause in seconds between two polls. It grows to LONGEST_PAUSE_S; Retry-After takes precedence.
        max_video_mb: Largest video in MB.

    Raises:
        UsageError: An argument is out of range, or the address is not allowed.

    Examples:
        >>> model = VideoApi("https://videos.example.org/v1", "wan", prompt="Seen at eye height.")
        >>> model.spec.control, model.link({"status": "succeeded", "video": "/files/7.mp4"})
        ('text', '/files/7.mp4')
    """

    path = "generations"
    key_header = ("Authorization", "Bearer {key}")

    def order(self, request: RolloutRequest) -> dict[str, Any]:
        """The JSON object that is submitted for a request."""
        width, height = request.frame_size
        words = (self._prompt, request.caption if self._caption else None, request.text)
        order = {
            "model": self._model,
            "prompt": " ".join(each.strip() for each in words if each),
            "seed": request.seed,
            "width": width,
            "height": height,
            "frames": self._lead + request.horizon,
            "fps": request.context.clip.fps,
        }
        if self._image_field:
            order[self._image_field] = base64.b64encode(_png(request.context.clip[-1])).decode("ascii")
        return order

    def ticket(self, answer: Mapping[str, Any]) -> str:
        """The id in the answer to a submission."""
        return str(answer.get("id") or "")

    def link(self, answer: Mapping[str, Any]) -> str | None:
        """Address of the video in the answer to a poll.

        Returns:
            The address; None while the video is not ready.
        """
        status, video = answer.get("status"), answer.get("video")
        if status in ("queued", "running"):
            return None
        if status == "failed":
            raise ModelError(f"the generation failed: {self._service.plain(answer.get('error'))}")
        if status != "succeeded" or not isinstance(video, str):
            said = self._service.plain({"status": status, "video": video})
            raise ModelError(f"the service speaks another dialect: {said}")
        return video

    def __init__(
        self,
        url: str,
        model: str,
        key_env: str = "",
        prompt: str = "",
        image_field: str = "image",
        name: str = "",
        download_from: str = "",
        insecure: bool = False,
        deadline_s: float = 900.0,
        poll_s: float = 2.0,
        max_video_mb: float = 256.0,
        caption: bool = False,
    ) -> None:
        for option, given in (("deadline_s", deadline_s), ("poll_s", poll_s), ("max_video_mb", max_video_mb)):
            if not given > 0:
                raise UsageError(f"video-api: {option} is {given!r}; give a positive number")
        self._model = str(model)
        self._prompt, self._caption = prompt, caption
        self._image_field = image_field
        self._deadline_s = deadline_s
        self._poll_s = poll_s
        self._max_video_bytes = int(max_video_mb * 1e6)
        key = _key(key_env)
        header, value = self.key_header
        headers = {header: value.format(key=key)} if key else {}
        self._service = Service(url, headers, key, download_from, insecure)
        settings = {"url": url, "model": self._model, "prompt": prompt, "image_field": image_field}
        inputs = frozenset({"caption"} if caption else ())
        self.spec = ModelSpec(str(name) or self._model, control="text", max_context=1, inputs=inputs, settings=settings)
        self.clock: Any = time

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Frames of the video that the service makes for a request, in chunks of one.

        Raises:
            ModelError: An outage, a refusal, a failed generation, a passed deadline, or a video that is damaged, too
                large or too short. No frame is returned then.
        """
        until = Deadline(self._deadline_s, self.clock)
        link = self._generate(request, until)
        with tempfile.TemporaryDirectory(prefix="worldgauge-") as folder:
            file = Path(folder) / "video"
            self._service.download(link, file, self._max_video_bytes, until)
            clip, indices = self._checked(file, request)
            yield from (frame[None] for frame in clip.resized(*request.frame_size).take(indices))

    def _generate(self, request: RolloutRequest, until: Deadline) -> str:
        """Submit a request, poll until the video is ready, and return its address."""
        # One key for every attempt: a service that knows the header makes, and bills, one video.
        once = {"Idempotency-Key": str(uuid.uuid4())}
        answer, _ = self._service.ask("POST", self.path, until, self.order(request), once)
        ticket = self.ticket(answer)
        # It becomes part of an address, so it may hold nothing that leads elsewhere.
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}", ticket):
            raise ModelError(f"the service speaks another dialect: {self._service.plain(ticket)!r} is no id")
        pause = self._poll_s
        while True:
            answer, after = self._service.ask("GET", f"{self.path}/{ticket}", until)
            link = self.link(answer)
            if link is not None:
                return link
            until.wait(pause if after is None else after, f"generation {ticket} is not ready")
            pause = min(1.5 * pause, LONGEST_PAUSE_S)

    def _checked(self, file: Path, request: RolloutRequest) -> tuple[Clip, list[int]]:
        """The clip in a download, and the indices of its frames that were asked for."""
        try:
            clip = Clip.open(file, request.context.clip.fps)
            if len(clip) > MAX_FRAMES:
                raise DataError(f"holds {len(clip)} frames, the limit is {MAX_FRAMES}")
            # Damaged streams decode to wrong frames without an error, so the file is decoded once for its faults.
            if found := problems(file):
                raise DataError(found[0])
        except DataError as error:
            raise ModelError(f"the video of the service: {str(error).removeprefix(f'{file}: ')}") from None
        asked = request.context.clip.fps
        steps = range(self._lead, self._lead + request.horizon)
        indices = [int(step * clip.fps / asked + 0.5) for step in steps]
        if indices[-1] >= len(clip):
            raise ModelError(
                f"the video of the service ends too early: it holds {len(clip)} frames at {clip.fps:g} a second, "
                f"{steps.stop} at {asked:g} were asked for"
            )
        return clip, indices

    @property
    def _lead(self) -> int:
        """Frames of the video before the first one that is asked for: the picture that was sent."""
        return 1 if self._image_field else 0


def _key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"video-api: key_env names {variable}, which is not set; export the key of the service in it")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"video-api: the key in {variable} holds characters that no key has")
    return key


def _png(frame: Image) -> bytes:
    import cv2

    _, data = cv2.imencode(".png", frame[..., ::-1])
    return bytes(data)
