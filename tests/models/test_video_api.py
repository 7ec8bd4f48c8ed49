"""A service for videos: what is sent, what comes back as frames, and everything a service can do wrong."""

import base64
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from support.films import scene
from support.places import DOCS
from support.video_endpoint import Reply, VideoEndpoint, json_reply
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import ModelError, NotApplicableError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.model import RolloutRequest, checked_rollout
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.run import run
from worldgauge.models import models, video_api
from worldgauge.models.video_api import VideoApi

HORIZON = 12
KEY = "sk-very-secret"
NO_FILM = "the video of the service: not a readable video"


class Clock:
    """Time that passes only in pauses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if seconds:
            self.pauses.append(seconds)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("films")


def film(folder: Path, frames: np.ndarray, *, fps: float = 20.0) -> bytes:
    with Writer(folder / "film.mp4", fps=fps, kind="lossless") as out:
        out.write(frames)
    return (folder / "film.mp4").read_bytes()


@pytest.fixture
def service(films: Path) -> Iterator[VideoEndpoint]:
    """Delivers the picture that it was sent and 12 frames more."""
    with VideoEndpoint(film(films, scene(HORIZON + 1))) as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir()), "a download was left behind"


def request(*, horizon: int = HORIZON, fps: float = 20.0, size: tuple[int, int] = (64, 48)) -> RolloutRequest:
    width, height = size
    clip = Clip.from_array(np.stack([scene(2, height, width)[0], scene(2, height, width)[1]]), fps)
    context = Context(
        clip,
        np.stack([np.eye(4)] * 2),
        Actions(LOOP_WALK, np.zeros((1, 4), np.float32)),
        Camera.from_vertical_fov(width, height, 75),
    )
    return RolloutRequest(context, horizon, seed=7, text="Walk forward 4.3 metres.", task="a/b")


def api(service: VideoEndpoint, **settings: Any) -> VideoApi:
    """A model of the service, with a clock of its own."""
    model: VideoApi = models.get("video-api")(**{"url": service.url, "model": "wan", **settings})
    model.clock = Clock()
    return model


def frames_of(model: VideoApi, asked: RolloutRequest | None = None) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, asked or request())))


def refused(model: VideoApi, because: str, asked: RolloutRequest | None = None) -> None:
    """The rollout raises one printable line, before its first frame."""
    rollout = model.rollout(asked or request())
    with pytest.raises(ModelError, match=because) as caught:
        next(rollout)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
    assert KEY not in str(caught.value)


# What is said and what comes back


def test_frames_follow_the_picture(service: VideoEndpoint) -> None:
    np.testing.assert_array_equal(frames_of(api(service)), scene(HORIZON + 1)[1:])


def test_what_is_submitted(service: VideoEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    model = api(service, key_env="THE_KEY", prompt="A game.", name="Wan")
    frames_of(model)
    (posted,) = service.of("POST")
    order = json.loads(posted.body)
    image = cv2.imdecode(np.frombuffer(base64.b64decode(order.pop("image")), np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(image[..., ::-1], request().context.clip[-1])
    assert order == {
        "model": "wan",
        "prompt": "A game. Walk forward 4.3 metres.",
        "seed": 7,
        "width": 64,
        "height": 48,
        "frames": HORIZON + 1,
        "fps": 20.0,
    }
    assert posted.path == "/v1/generations"
    assert posted.headers["Content-Type"] == "application/json"
    assert {asked.headers.get("Authorization") for asked in service.asked} == {f"Bearer {KEY}"}
    assert [asked.path for asked in service.of("GET")] == ["/v1/generations/gen-0"] * 3
    assert model.spec.name == "Wan"
    assert (model.spec.control, model.spec.max_context) == ("text", 1)
    assert model.spec.settings == {"url": service.url, "model": "wan", "prompt": "A game.", "image_field": "image"}


def test_the_caption_is_put_before_the_walk_where_it_is_wanted(service: VideoEndpoint) -> None:
    frames_of(api(service, prompt="A game."), replace(request(), caption="A room."))
    model = api(service, prompt="A game.", caption=True)
    frames_of(model, replace(request(), caption="A room."))
    prompts = [json.loads(posted.body)["prompt"] for posted in service.of("POST")]
    assert prompts == ["A game. Walk forward 4.3 metres.", "A game. A room. Walk forward 4.3 metres."]
    assert (api(service).spec.inputs, model.spec.inputs) == (frozenset(), {"caption"})
    with pytest.raises(NotApplicableError, match="'wan' needs a caption of the scene"):
        frames_of(model)


def test_the_picture_may_have_another_field_or_be_left_out(service: VideoEndpoint) -> None:
    np.testing.assert_array_equal(frames_of(api(service, image_field="")), scene(HORIZON + 1)[:HORIZON])
    frames_of(api(service, image_field="first_frame"))
    plain, named = (json.loads(posted.body) for posted in service.of("POST"))
    assert plain["frames"] == HORIZON
    assert "image" not in plain
    assert "first_frame" in named


def test_another_dialect_is_a_few_lines(films: Path) -> None:
    class Acme(VideoApi):
        path = "videos"
        key_header = ("x-api-key", "{key}")

        def ticket(self, answer: Any) -> str:
            return str(answer["id"]).upper()

        def link(self, answer: Any) -> str | None:
            return super().link({**answer, "status": {"IN_LINE": "queued"}.get(answer["status"], answer["status"])})

    with VideoEndpoint(film(films, scene(HORIZON + 1))) as service, pytest.MonkeyPatch.context() as patch:
        patch.setenv("THE_KEY", KEY)
        service.before["POST"] = [json_reply({"id": "gen-0"})]
        service.before["GET"] = [
            json_reply({"status": "IN_LINE"}),
            json_reply({"status": "succeeded", "video": service.link}),
        ]
        model = Acme(service.url, "m", key_env="THE_KEY")
        model.clock = Clock()
        assert len(frames_of(model)) == HORIZON
        assert [asked.path for asked in service.asked] == ["/v1/videos", *["/v1/videos/GEN-0"] * 2, "/files/one.mp4"]
        assert {asked.headers.get("x-api-key") for asked in service.asked} == {KEY}


def test_the_dialect_of_the_docs_is_spoken(films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class of docs/howto/wrap_http.md, on a service that speaks as it says."""
    page = (DOCS / "howto" / "wrap_http.md").read_text("utf-8")
    code = page.split("<!-- example: service, a file acme.py -->\n```python\n")[1].split("```")[0]
    (tmp_path / "acme.py").write_text(code, "utf-8")
    monkeypatch.setenv("THE_KEY", KEY)
    with VideoEndpoint(film(films, scene(HORIZON + 1))) as service:
        service.before["GET"] = [
            json_reply({"done": False}),
            json_reply({"done": True, "output": {"url": service.link}}),
        ]
        text = f"{tmp_path / 'acme.py'}:Acme?url={service.url}&model=acme-3&key_env=THE_KEY"
        model: Any = resolve_model(text).model
        model.clock = Clock()
        assert len(frames_of(model)) == HORIZON
        (posted,) = service.of("POST")
        order = json.loads(posted.body)
        assert (posted.path, set(order)) == ("/v1/videos", {"text", "start", "seconds"})
        assert order["text"] == "Walk forward 4.3 metres."
        assert order["seconds"] == (HORIZON + 1) / 20
        assert {asked.headers.get("x-api-key") for asked in service.asked} == {KEY}


@pytest.mark.parametrize(
    ("fps", "count", "expected"),
    [
        (10.0, 7, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]),
        (40.0, 30, list(range(2, 25, 2))),
        (16.0, 11, [1, 2, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10]),
    ],
)
def test_another_rate_gives_the_frames_nearest_in_time(
    service: VideoEndpoint, films: Path, fps: float, count: int, expected: list[int]
) -> None:
    """Frame t is asked for at (t + 1) / 20 s: at 16 frames/s that is 0.8 (t + 1), to the nearest."""
    service.video = film(films, scene(count), fps=fps)
    np.testing.assert_array_equal(frames_of(api(service)), scene(count)[expected])


def test_a_longer_video_is_cut_and_another_size_resized(service: VideoEndpoint, films: Path) -> None:
    service.before["VIDEO"] = [Reply(body=service.video, chunked=True)]
    assert len(frames_of(api(service))) == HORIZON, "of no stated length"
    assert len(frames_of(api(service), request(horizon=1))) == 1
    service.video = film(films, scene(40))
    shown = frames_of(api(service), request(size=(32, 24)))
    expected = Clip.from_array(scene(40), 20.0).resized(32, 24).to_array()[1 : HORIZON + 1]
    np.testing.assert_array_equal(shown, expected)


# Patience


def test_questions_come_slower_and_slower(service: VideoEndpoint) -> None:
    service.states = [{"status": "queued"}] * 3 + [{"status": "running"}] * 5
    model = api(service)
    frames_of(model)
    assert model.clock.pauses == [2.0, 3.0, 4.5, 6.75, 10.125, 15.0, 15.0, 15.0]


def test_retry_after_goes_first(service: VideoEndpoint) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    service.before["POST"] = [Reply(429, headers={"Retry-After": "7"}), Reply(503, headers={"Retry-After": later})]
    service.before["GET"] = [
        json_reply({"status": "queued"}, **{"Retry-After": "33"}),
        json_reply({"status": "queued"}, **{"Retry-After": "0"}),
        json_reply({"status": "queued"}, **{"Retry-After": "soon"}),
    ]
    service.states = []
    model = api(service)
    frames_of(model)
    first, second, *rest = model.clock.pauses
    assert first == 7.0
    assert 60 < second <= 100
    assert rest == [33.0, 0.1, 4.5]


def test_a_retried_submission_is_paid_once(service: VideoEndpoint) -> None:
    service.before["POST"] = [Reply(502), Reply(drops=True), Reply(body=b'{"id": "cu', stated=90), Reply(429)]
    frames_of(api(service))
    keys = [asked.headers["Idempotency-Key"] for asked in service.of("POST")]
    assert len(keys) == 5
    assert len(set(keys)) == 1
    assert len(service.made) == 1
    frames_of(api(service))
    assert len(service.made) == 2, "another rollout is another video"


def test_limits_of_rate_are_waited_for_until_the_deadline(service: VideoEndpoint) -> None:
    service.before["POST"] = [Reply(429)] * 12
    assert len(frames_of(api(service))) == HORIZON
    service.before["POST"] = [Reply(429)] * 100
    refused(api(service), r"nothing within 900 s; POST http://.*/v1/generations: 429 Too Many Requests")


def test_a_generation_that_never_ends(service: VideoEndpoint) -> None:
    service.states = [{"status": "running"}] * 1000
    model = api(service, deadline_s=60.0)
    refused(model, "nothing within 60 s; generation gen-0 is not ready")
    assert 40 < model.clock.now < 60
    service.before["POST"] = [Reply(429, headers={"Retry-After": "86400"})]
    model = api(service)
    refused(model, "nothing within 900 s; .*429")
    assert model.clock.pauses == [], "a pause beyond the deadline is not waited for"


@pytest.mark.parametrize(
    ("kinds", "reply", "because"),
    [
        (("POST", "GET", "VIDEO"), Reply(stated=100, stalls=True), "nothing within 0.4 s; .*timed out"),
        # Every byte comes in time, and the whole would take minutes.
        (("POST", "VIDEO"), Reply(body=b"x" * 30_000, trickles=True), r"nothing within 0.4 s; \d+ bytes had come"),
    ],
)
def test_a_service_that_stalls_or_trickles(
    service: VideoEndpoint, kinds: tuple[str, ...], reply: Reply, because: str
) -> None:
    for kind in kinds:
        service.states = []
        service.before.clear()
        service.before[kind] = [reply] * 9
        model = api(service, deadline_s=0.4, poll_s=0.01)
        model.clock = time
        refused(model, because)


# Outages and refusals


@pytest.mark.parametrize("kind", ["POST", "GET", "VIDEO"])
@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (Reply(500), "500 Internal Server Error"),
        (Reply(drops=True), "Remote end closed connection"),
        (Reply(body=b"half", stated=1000), "cut off after 4 of 1000 bytes"),
    ],
)
def test_an_outage_is_tried_five_times(service: VideoEndpoint, kind: str, reply: Reply, shown: str) -> None:
    service.before[kind] = [reply] * 5
    refused(api(service), f"failed 5 times, the last time with .*{shown}")
    assert not service.before[kind]
    service.before[kind] = [reply] * 4
    assert len(frames_of(api(service))) == HORIZON


def test_nobody_listens() -> None:
    with VideoEndpoint() as service:
        pass
    model = api(service)
    refused(model, "failed 5 times, the last time with .*refused")
    assert model.clock.pauses == [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(("status", "phrase"), [(400, "Bad Request"), (401, "Unauthorized"), (422, "Unprocessable")])
def test_a_refusal_is_one_clear_line(
    service: VideoEndpoint, status: int, phrase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    text = f"no credit\r\nfor \x1b[31m{KEY}\x00".encode() + b"\xff" + b"x" * 5000
    service.before["POST"] = [Reply(status, text)]
    model = api(service, key_env="THE_KEY")
    refused(model, rf"POST http://.*/v1/generations answered {status} {phrase}.*: no credit for \[31m\(secret\)")
    assert len(service.asked) == 1, "a refusal is not tried again"


@pytest.mark.parametrize(
    ("kind", "reply", "because"),
    [
        ("POST", Reply(body=b"<html>"), r"answered '<html>', which is no JSON object"),
        ("POST", json_reply(["id"]), "no JSON object"),
        ("POST", Reply(body=b"[" * 100_000), "no JSON object"),
        ("POST", json_reply({}), "'' is no id"),
        ("POST", json_reply({"id": "../../admin"}), "is no id"),
        ("POST", json_reply({"id": ".."}), "is no id"),
        ("POST", json_reply({"id": "a?b"}), "is no id"),
        ("POST", json_reply({"id": "x" * 500}), "is no id"),
        ("POST", Reply(204), "answered 204 No Content"),
        ("GET", Reply(404, b'{"error": "gone"}'), "answered 404 Not Found: .*gone"),
        ("GET", json_reply({}), "another dialect: .*'status': None"),
        ("GET", json_reply({"status": "done"}), "another dialect: .*'status': 'done'"),
        ("GET", json_reply({"status": ["queued"]}), "another dialect"),
        ("GET", json_reply({"status": "failed", "error": "unsafe\nprompt"}), "the generation failed: unsafe prompt"),
        ("VIDEO", Reply(body=b"", stated=1 << 50), f"sends {1 << 50} bytes, the limit is 256000000"),
        ("VIDEO", Reply(body=b""), NO_FILM),
        ("VIDEO", Reply(body=b"<html>try again later</html>", headers={"Content-Type": "video/mp4"}), NO_FILM),
        ("VIDEO", Reply(body=b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n", headers={"Content-Type": "video/mp4"}), NO_FILM),
        ("GET", json_reply({"status": "succeeded"}), "another dialect: .*'video': None"),
        ("GET", json_reply({"status": "succeeded", "video": 7}), "another dialect: .*'video': 7"),
    ],
)
def test_answers_of_another_dialect(service: VideoEndpoint, kind: str, reply: Reply, because: str) -> None:
    service.before[kind] = [reply]
    refused(api(service), because)


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_or_video_too_long_is_not_read(service: VideoEndpoint, chunked: bool) -> None:
    service.before["VIDEO"] = [Reply(body=service.video, chunked=chunked)]
    refused(api(service, max_video_mb=0.002), r"limit (is|of) 2000")
    big = b'{"id": "' + b"x" * (1 << 20) + b'"}'
    service.before["POST"] = [Reply(body=big, chunked=chunked)]
    refused(api(service), "(sends 1048586 bytes, the limit is|more than the limit of) 1048576")


# The video


def test_a_video_that_does_not_fit_is_no_answer(
    service: VideoEndpoint, films: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(service.video)
    data[len(data) // 2 : len(data) // 2 + 1500] = bytes(1500)
    service.video = bytes(data)
    refused(api(service), "the video of the service: ")
    service.video = film(films, scene(HORIZON))
    refused(api(service), "ends too early: it holds 12 frames at 20 a second, 13 at 20 were asked for")
    service.video = film(films, scene(HORIZON + 1), fps=24.0)
    refused(api(service), "ends too early: it holds 13 frames at 24 a second, 13 at 20 were asked for")
    monkeypatch.setattr(video_api, "MAX_FRAMES", 39)
    service.video = film(films, scene(40))
    refused(api(service), "holds 40 frames, the limit is 39")


def test_an_abandoned_rollout_leaves_no_file(service: VideoEndpoint) -> None:
    rollout = api(service).rollout(request())
    next(rollout)
    rollout.close()  # the fixture looks for what is left


# Where the video lies


def test_another_host_needs_consent_and_gets_no_key(
    service: VideoEndpoint, films: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    with VideoEndpoint(service.video) as store:
        service.link = f"http://{store.host}/files/one.mp4?token=signed"
        refused(api(service, key_env="THE_KEY"), f"lies at http://{store.host}/files/one.mp4, which is another host")
        assert not store.asked
        model = api(service, key_env="THE_KEY", download_from=store.host)
        assert len(frames_of(model)) == HORIZON
        assert [asked.path for asked in store.asked] == ["/files/one.mp4?token=signed"]
        assert "Authorization" not in store.asked[0].headers


@pytest.mark.parametrize(
    ("link", "because"),
    [
        ("file:///etc/passwd", "no http or https address"),
        ("ftp://127.0.0.1/x", "no http or https address"),
        ("http://[", "is no address"),
        ("http://127.0.0.1:port/", "is no address"),
        ("http://192.0.2.7/x", "is not encrypted"),
        ("https://192.0.2.7/x", "is another host"),
        ("https://key:word@192.0.2.7/x", "user name or a password"),
        ("//192.0.2.7/x", "is not encrypted"),
        ("/a b", "characters that no address has"),
        ("/\u00e9", "characters that no address has"),
    ],
)
def test_links_that_lead_elsewhere(service: VideoEndpoint, link: str, because: str) -> None:
    service.link = link
    refused(api(service), because)
    assert not service.of("GET", "/files/")


def test_redirects_stay_where_links_may_lead(service: VideoEndpoint) -> None:
    service.before["VIDEO"] = [
        Reply(302, headers={"Location": "two.mp4"}),
        Reply(307, headers={"Location": "/files/3"}),
    ]
    assert len(frames_of(api(service))) == HORIZON
    assert [asked.path for asked in service.of("GET", "/files/")] == ["/files/one.mp4", "/files/two.mp4", "/files/3"]
    for location, because in (
        ("http://192.0.2.7/x", "not encrypted"),
        ("https://192.0.2.7/x", "another host"),
        ("file:///etc/passwd", "no http or https address"),
    ):
        service.before["VIDEO"] = [Reply(302, headers={"Location": location})]
        refused(api(service), because)
    service.before["VIDEO"] = [Reply(302, headers={"Location": "/files/again"})] * 9
    refused(api(service), "more than 3 redirects")


@pytest.mark.parametrize("kind", ["POST", "GET"])
def test_the_service_itself_must_not_redirect(
    service: VideoEndpoint, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take the key along."""
    monkeypatch.setenv("THE_KEY", KEY)
    with VideoEndpoint() as other:
        service.before[kind] = [Reply(308, headers={"Location": f"{other.url}/generations?k=v"})]
        refused(api(service, key_env="THE_KEY"), f"leads on to {other.url}/generations; give that address as url")
        assert not other.asked


# Settings


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"url": "http://example.org/v1"}, "is not encrypted; use https, or give insecure=true"),
        ({"url": "example.org"}, "no http or https address"),
        ({"url": "file:///v1"}, "no http or https address"),
        ({"url": "https://me:word@example.org"}, "user name or a password"),
        ({"url": "https://example.org/v1?a=b"}, "must end before"),
        ({"key_env": "NO_SUCH_VARIABLE_IS_SET"}, "key_env names NO_SUCH_VARIABLE_IS_SET, which is not set"),
        ({"poll_s": 0}, "poll_s is 0; give a positive number"),
        ({"deadline_s": -1}, "deadline_s is -1"),
        ({"max_video_mb": 0}, "max_video_mb is 0"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], because: str) -> None:
    with pytest.raises(UsageError, match=because):
        VideoApi(**{"url": "https://example.org/v1", "model": "m", **settings})


@pytest.mark.parametrize("login", ["me:s3cret", "me:s3/cret", "me:s3?cret", "s3cret "])
def test_a_password_in_an_address_is_not_shown(login: str) -> None:
    with pytest.raises(UsageError, match=r"example\.org holds a user name or a password") as caught:
        VideoApi(f"https://{login}@example.org", "m")
    assert "s3" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_a_key_that_is_none_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", f"{KEY}\r\nX-Other: 1")
    with pytest.raises(UsageError, match="the key in THE_KEY holds characters") as caught:
        VideoApi("https://example.org", "m", key_env="THE_KEY")
    assert KEY not in str(caught.value)


def test_http_beyond_this_machine_with_consent() -> None:
    for url, insecure in (("example.org/v1", True), ("[::1]:8000/v1", False), ("localhost:8000/v1", False)):
        assert VideoApi(f"http://{url}", "m", insecure=insecure).spec.name == "m"


def test_a_proxy_is_used_but_not_for_this_machine(service: VideoEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with VideoEndpoint() as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy.host}")
        assert len(frames_of(api(service))) == HORIZON
        assert not proxy.asked
        proxy.before["POST"] = [Reply(403)]
        refused(api(service, url="http://service.example/v1", insecure=True), "answered 403 Forbidden")
        assert [asked.path for asked in proxy.asked] == ["http://service.example/v1/generations"]


def test_a_run_leaves_no_key_on_disk(walks: Path, tmp_path: Path, films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the engine and its worker: one task is answered, one is refused, and the key is in no file."""
    monkeypatch.setenv("THE_KEY", KEY)
    with VideoEndpoint(film(films, scene(2), fps=0.01)) as service:
        service.states = []
        service.before["GET"] = [Reply(403, f"key {KEY} has no credit".encode())]
        text = f"video-api?url={service.url}&model=wan&key_env=THE_KEY"
        result = run("loopnav", model=text, data=walks, out=tmp_path / "runs")
    assert str(result.counts) == "2 expected = 1 scored + 0 skipped + 1 failed"
    assert "403 Forbidden: key (secret) has no credit" in str(result.failures)
    for path in (tmp_path / "runs").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
