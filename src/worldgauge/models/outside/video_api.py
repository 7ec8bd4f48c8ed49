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
import os
import re
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, SubjectError, UsageError
from worldgauge.core.image import Frames, Image
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip, problems
from worldgauge.models import models
from worldgauge.models.outside._service import LONGEST_PAUSE_S, Deadline, Service

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

        Args:
            answer: The answer.

        Returns:
            The address; None while the video is not ready.

        Raises:
            SubjectError: The generation failed, or the answer is not understood.
        """
        status, video = answer.get("status"), answer.get("video")
        if status in ("queued", "running"):
            return None
        if status == "failed":
            raise SubjectError(f"the generation failed: {self._service.plain(answer.get('error'))}")
        if status != "succeeded" or not isinstance(video, str):
            said = self._service.plain({"status": status, "video": video})
            raise SubjectError(f"the service speaks another dialect: {said}")
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

        Args:
            request: The request.

        Yields:
            `horizon` frames, each (1, H, W, 3).

        Raises:
            SubjectError: An outage, a refusal, a failed generation, a passed deadline, or a video that is damaged, too
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
            raise SubjectError(f"the service speaks another dialect: {self._service.plain(ticket)!r} is no id")
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
            raise SubjectError(f"the video of the service: {str(error).removeprefix(f'{file}: ')}") from None
        asked = request.context.clip.fps
        steps = range(self._lead, self._lead + request.horizon)
        indices = [int(step * clip.fps / asked + 0.5) for step in steps]
        if indices[-1] >= len(clip):
            raise SubjectError(
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
