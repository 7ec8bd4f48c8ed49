"""The desk where a person and the loop meet, and its page: what is taken, what is refused, and who is waited for."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any
from urllib.request import urlopen

import cv2
import numpy as np
import pytest

from support.at_the_page import Hand
from worldgauge.core.errors import AbandonedError, UsageError
from worldgauge.suites.closedloop.policies import person as desks
from worldgauge.suites.closedloop.policies.person import (
    Act,
    Desk,
    PersonPage,
    Seat,
    Turn,
    desk_here,
    host_and_port,
    open_page,
    set_up,
)
from worldgauge.worlds.walking.primitives import from_letters

VIEW = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
MOVES = Turn({"instruction": "<b>go</b>"}, {"front": VIEW}, length=3, most=2)
ANY_WORDS = Turn({}, {}, length=3, most=1, answers=True)
LABELS = Turn({}, {}, length=3, most=1, answers=True, choices=("chair", "bed"), guesses=True)
LAST = Turn({}, {}, length=3, most=0, answers=True, stops="I do not know")


@pytest.fixture
def page() -> Iterator[PersonPage]:
    made = PersonPage(Desk("anna", 4), "127.0.0.1", 0)
    made.start()
    yield made
    made.close()


@pytest.fixture
def hand(page: PersonPage) -> Hand:
    return Hand(page.port)


def asked(desk: Desk, turn: Turn) -> Future[Act]:
    """What comes of a decision that is laid out, in a thread as of the loop."""
    found: Future[Act] = Future()

    def loop() -> None:
        try:
            found.set_result(desk.ask(turn))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=loop, daemon=True).start()
    return found


@pytest.mark.parametrize(
    ("turn", "said", "act"),
    [
        (MOVES, {"plans": ["FLR"]}, Act((from_letters("FLR"),))),
        (MOVES, {"plans": ["F", "LL"]}, Act((from_letters("F"), from_letters("LL")))),
        (ANY_WORDS, {"answer": "  light \x1b[31m blue\n"}, Act(answer="light blue")),
        (LABELS, {"answer": "bed"}, Act(answer="bed")),
        (LABELS, {"answer": "bed", "plans": ["F"]}, Act((from_letters("F"),), "bed")),
        (LAST, {"stop": True}, Act(stop=True)),
    ],
)
def test_what_is_allowed_reaches_the_loop(
    page: PersonPage, hand: Hand, turn: Turn, said: dict[str, Any], act: Act
) -> None:
    waiting = asked(page.desk, turn)
    shown = hand.turn()
    assert (shown["plans"], shown["answers"], shown["stops"]) == (turn.most, turn.answers, turn.stops)
    assert hand.act(shown["turn"], **said) == (200, '{"ok":true}')
    assert waiting.result(20) == act
    assert hand.now() == {"who": "anna", "episode": 0, "episodes": 4, "state": "busy"}


@pytest.mark.parametrize(
    ("turn", "said", "words"),
    [
        (MOVES, {}, "an act is plans, an answer or the end"),
        (MOVES, {"plans": []}, "1 to 2 plans are taken"),
        (MOVES, {"plans": ["F", "F", "F"]}, "1 to 2 plans are taken"),
        (MOVES, {"plans": "FFF"}, "1 to 2 plans are taken"),
        (MOVES, {"plans": [""]}, "a plan has 1 to 3 steps"),
        (MOVES, {"plans": ["FFFF"]}, "a plan has 1 to 3 steps"),
        (MOVES, {"plans": [["F"]]}, "a plan has 1 to 3 steps"),
        (MOVES, {"plans": [7]}, "a plan has 1 to 3 steps"),
        (MOVES, {"plans": ["FS"]}, "steps are F"),
        (MOVES, {"plans": ["f"]}, "steps are F"),
        (MOVES, {"answer": "chair"}, "not yours to give"),
        (MOVES, {"stop": True}, "not for you to say"),
        (LAST, {"stop": 1}, "not for you to say"),
        (LAST, {"stop": True, "answer": "x"}, "came with something else"),
        (LAST, {"plans": ["F"]}, "nothing is carried out any more"),
        (LAST, {"answer": "\x00 \n"}, "1 to 400 characters"),
        (LAST, {"answer": "x" * 401}, "1 to 400 characters"),
        (LAST, {"answer": {"a": 1}}, "1 to 400 characters"),
        (ANY_WORDS, {"answer": "x", "plans": ["F"]}, "at once are not taken"),
        (LABELS, {"answer": "chairs"}, "no label 'chairs'. Did you mean 'chair'"),
    ],
)
def test_what_is_not_is_refused_in_one_line_and_asked_on(
    page: PersonPage, hand: Hand, turn: Turn, said: dict[str, Any], words: str
) -> None:
    waiting = asked(page.desk, turn)
    name = hand.turn()["turn"]
    status, text = hand.act(name, **said)
    assert status in (400, 404)
    assert words in text
    assert text.count("\n") == 1
    assert not waiting.done()
    assert hand.now()["turn"] == name


def test_an_act_for_a_past_decision_is_refused(page: PersonPage, hand: Hand) -> None:
    first = asked(page.desk, MOVES)
    past = hand.turn()["turn"]
    assert hand.act(past, plans=["F"])[0] == 200
    first.result(20)
    for _ in range(2):  # nothing is asked; then another decision is, and the other tab does not know
        status, text = hand.act(past, plans=["F"])
        assert (status, "that decision is past" in text) == (400, True)
        assert hand.picture(past, "front")[0] == 400
        second = asked(page.desk, MOVES)
        hand.turn(past)
    assert not second.done()
    for name in (None, 3, ["x"], "x" * 40):
        assert hand.ask("/api/act", body=json.dumps({"turn": name, "plans": ["F"]}).encode())[0] == 400


def test_the_first_of_two_tabs_counts(page: PersonPage, hand: Hand) -> None:
    waiting = asked(page.desk, MOVES)
    name = hand.turn()["turn"]
    results: list[int] = []
    tabs = [threading.Thread(target=lambda k=k: results.append(hand.act(name, plans=["F" * k])[0])) for k in (1, 2, 3)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert sorted(results) == [200, 400, 400]
    assert len(waiting.result(20).plans) == 1


def test_pictures_are_those_of_the_decision(page: PersonPage, hand: Hand) -> None:
    asked(page.desk, MOVES)
    shown = hand.turn()
    status, data = hand.picture(shown["turn"], "front")
    assert status == 200
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1], VIEW)
    assert hand.picture(shown["turn"], "map")[0] == 404
    assert hand.picture("other", "front")[0] == 400
    assert hand.ask("/picture?name=front")[0] == 400


@pytest.mark.parametrize("path", ["/policy.py", "/../desk.py", "/api/none", "/api/act", "/person.html"])
def test_no_other_path_is_answered(hand: Hand, path: str) -> None:
    assert hand.ask(path)[0] == 404


def test_who_may_not_act(page: PersonPage, hand: Hand) -> None:
    waiting = asked(page.desk, MOVES)
    name = hand.turn()["turn"]
    body = json.dumps({"turn": name, "plans": ["F"]}).encode()
    assert hand.ask("/api/act", body=body, headers={"Origin": "http://evil.example"})[0] == 403
    assert hand.ask("/api/act", body=body, headers={"Host": "evil.example"})[0] == 403
    assert hand.ask("/api/act", body=body, headers={"Content-Type": "text/plain"})[0] == 400
    assert hand.ask("/api/act", body=b" " * (65 << 10))[0] == 400
    assert hand.ask("/api/act", body=b"[" * 1900)[0] == 400
    assert hand.ask("/api/act", body=b"[]")[0] == 400
    assert not waiting.done()


def test_a_body_that_is_refused_is_not_the_next_request(page: PersonPage, hand: Hand) -> None:
    waiting = asked(page.desk, MOVES)
    body = json.dumps({"turn": hand.turn()["turn"], "plans": ["F"]})
    inner = (
        f"POST /api/act HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )
    for outer in (
        f"Host: evil.example\r\nOrigin: http://evil.example\r\nContent-Length: {len(inner)}",
        f"Host: 127.0.0.1\r\nContent-Length: +{len(inner)}",
    ):
        with socket.create_connection(("127.0.0.1", page.port), timeout=10) as link:
            link.sendall(f"POST /api/act HTTP/1.1\r\nContent-Type: text/plain\r\n{outer}\r\n\r\n{inner}".encode())
            said = b""
            while part := link.recv(4096):
                said += part
        assert said.count(b"HTTP/1.1 ") == 1, said
        assert said.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))
    assert not waiting.done()


def test_an_address_of_the_sixth_version_listens() -> None:
    try:
        page = PersonPage(Desk("anna", 1), "::1", 0)
    except UsageError as error:
        pytest.skip(f"no IPv6 here: {error}")
    page.start()
    try:
        assert page.link == f"http://[::1]:{page.port}/"
        assert urlopen(f"{page.link}api/now", timeout=10).status == 200
    finally:
        page.close()


def test_two_pages_of_one_host_keep_their_tokens_apart() -> None:
    pages = [PersonPage(Desk("anna", 1), "0.0.0.0", 0) for _ in range(2)]
    try:
        assert pages[0].cookie != pages[1].cookie
    finally:
        for page in pages:
            page.close()


def test_beyond_this_machine_a_token_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    page = open_page("anna", "0.0.0.0:0", 1)
    try:
        link = re.search(r"http://0\.0\.0\.0:(\d+)/\?token=([\w-]{32,}): open it", capsys.readouterr().err)
        assert link is not None
        hand = Hand(int(link[1]))
        assert hand.ask("/api/now")[0] == 403
        assert hand.ask("/api/now?token=" + "x" * 32)[0] == 403
        assert hand.ask("/api/act", body=b"{}")[0] == 403
        assert hand.ask(f"/api/now?token={link[2]}")[0] == 200
        assert hand.ask("/api/now", headers={"Cookie": f"worldgauge-{link[1]}={link[2]}"})[0] == 200
    finally:
        page.close_desk()


def test_who_has_the_page_open_is_waited_for(page: PersonPage, hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "PATIENCE_S", 0.6)
    monkeypatch.setattr(desks, "LOOK_S", 0.05)
    alive: list[int] = []
    page.desk.begin(Seat("go", "none", False, len, "decisions", 3, alive=lambda: alive.append(1)))
    waiting = asked(page.desk, MOVES)
    for _ in range(15):  # three times as long as an absence may be
        assert hand.turn()["state"] == "asking"
        threading.Event().wait(0.12)
    assert not waiting.done()
    assert len(alive) > 10  # so that no deadline of the run takes the person for hung


def test_a_closed_page_ends_the_run_and_not_the_episode(
    page: PersonPage, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "PATIENCE_S", 0.3)
    monkeypatch.setattr(desks, "LOOK_S", 0.05)
    with pytest.raises(AbandonedError, match=r"nobody has had the page open for .* minutes: the run ends here"):
        asked(page.desk, MOVES).result(20)
    page.desk.end()
    assert hand.now()["state"] == "stopped"


@pytest.mark.parametrize(("error", "told"), [(False, "done"), (True, "stopped")])
def test_an_open_page_learns_whether_all_is_done(page: PersonPage, hand: Hand, error: bool, told: str) -> None:
    """Of four episodes one could not begin: the run is done all the same, unless an error ended it."""

    def run() -> None:
        with suppress(RuntimeError):
            try:
                if error:
                    raise RuntimeError
            finally:
                page.desk.end()

    for _ in range(3):
        page.desk.begin(Seat("go", "none", False, len, "decisions", 3))
    hand.now()
    ended = threading.Thread(target=run)
    ended.start()
    while ended.is_alive():
        state = hand.now()["state"]
    assert state == told


def test_a_desk_stands_in_a_run_only() -> None:
    set_up(None)
    with pytest.raises(UsageError, match="the policy 'person' acts in a run"):
        desk_here()


@pytest.mark.parametrize("at", ["8601", ":8601", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "a:70000", "a:-1", "a:²"])
def test_an_address_is_host_and_port(at: str) -> None:
    with pytest.raises(UsageError, match="'page' must be HOST:PORT"):
        host_and_port(at)


def test_addresses_of_both_families() -> None:
    assert host_and_port("127.0.0.1:0") == ("127.0.0.1", 0)
    assert host_and_port("[::1]:8601") == ("::1", 8601)


def test_an_address_that_is_taken_is_one_line(page: PersonPage) -> None:
    with pytest.raises(UsageError, match=r"cannot be listened on .*; give another --set page=HOST:PORT"):
        PersonPage(page.desk, "127.0.0.1", page.port)
