"""A person as the agent: at the desk, and in whole runs."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import cv2
import numpy as np
import pytest

from support.at_the_page import Hand, free_port
from support.commands import command
from worldgauge.core.errors import AbandonedError, UsageError
from worldgauge.engine.result import RunResult
from worldgauge.engine.run import RunRequest, dry_run, run, score
from worldgauge.report.evidence import load_evidence
from worldgauge.suites.worldinworld.policies import person as desks
from worldgauge.suites.worldinworld.policies.person import (
    Act,
    Desk,
    PersonPage,
    PersonTurn,
    Seat,
    desk_here,
    host_and_port,
    open_page,
    set_up,
)
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.tools.bundle import write_bundles
from worldgauge.tools.verify import verify
from worldgauge.worlds.walking.primitives import from_letters

VIEW = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


MOVES = PersonTurn({"instruction": "<b>go</b>"}, {"front": VIEW}, length=3, most=2)


ANY_WORDS = PersonTurn({}, {}, length=3, most=1, answers=True)


LABELS = PersonTurn({}, {}, length=3, most=1, answers=True, choices=("chair", "bed"), guesses=True)


LAST = PersonTurn({}, {}, length=3, most=0, answers=True, stops="I do not know")


@pytest.fixture
def page() -> Iterator[PersonPage]:
    made = PersonPage(Desk("anna", 4), "127.0.0.1", 0)
    made.start()
    yield made
    made.close()


@pytest.fixture
def hand(page: PersonPage) -> Hand:
    return Hand(page.port)


def asked(desk: Desk, turn: PersonTurn) -> Future[Act]:
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
def test_what_is_allowed_reaches_the_loop(page, hand, turn, said, act):
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
def test_what_is_not_is_refused_in_one_line_and_asked_on(page, hand, turn, said, words):
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
    assert (sorted(results), len(waiting.result(20).plans)) == ([200, 400, 400], 1)


def test_pictures_are_those_of_the_decision(page: PersonPage, hand: Hand) -> None:
    asked(page.desk, MOVES)
    shown = hand.turn()
    status, data = hand.picture(shown["turn"], "front")
    assert status == 200
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1], VIEW)
    assert (hand.picture(shown["turn"], "map")[0], hand.picture("other", "front")[0]) == (404, 400)
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
    assert (hand.ask("/api/act", body=b"[" * 1900)[0], hand.ask("/api/act", body=b"[]")[0]) == (400, 400)
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
        link = re.search(r"http://0\.0\.0\.0:(\d+)/\?token=([\w-]{32,}) in a browser", capsys.readouterr().err)
        hand = Hand(int(link[1]))
        assert (hand.ask("/api/now")[0], hand.ask("/api/now?token=" + "x" * 32)[0]) == (403, 403)
        assert (hand.ask("/api/act", body=b"{}")[0], hand.ask(f"/api/now?token={link[2]}")[0]) == (403, 200)
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


def test_a_closed_page_ends_the_run_and_not_the_episode(page, hand, monkeypatch):
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


SMALL = {"view_px": 48, "panorama_px": 128}


Acts = Callable[[dict[str, Any]], dict[str, Any]]


def acted(
    episodes: Path, out: Path, acts: Acts, *, model: str = "none", **settings: Any
) -> tuple[RunResult, list[dict[str, Any]]]:
    """The result of a run, and the decisions that were shown in it."""
    hand, shown = Hand(free_port()), []

    def person() -> None:
        shown.extend(hand.play(acts))

    player = threading.Thread(target=person, daemon=True)
    player.start()
    asked = {**SMALL, "proposer": "person", "who": "anna", "page": f"127.0.0.1:{hand.port}", **settings}
    result = run("worldinworld", model=[model], data=episodes, out=out, settings=asked)
    player.join(30)
    assert not player.is_alive()
    return result, shown


def records(folder: Path) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Record and trace by episode."""
    found = {}
    for path in sorted(folder.glob("records/*/record.json")):
        lines = (path.parent / "trace.jsonl").read_text().splitlines()
        record = json.loads(path.read_text())
        found[record["task"]] = record, [json.loads(line) for line in lines]
    return found


def ahead(now: dict[str, Any]) -> dict[str, Any]:
    return {"plans": ["FLF"]}


@pytest.mark.parametrize("task", ["navigation", "recognition", "questions"])
def test_somebody_walks_in_whole_episodes(episodes: Path, tmp_path: Path, task: str) -> None:
    result, shown = acted(episodes, tmp_path, ahead, task=task, decisions=2 if task != "questions" else 5)
    assert list(result.directories) == ["anna"]
    assert result.ok
    assert result.kinds == {"anna": "baseline"}
    found = records(tmp_path / "anna")
    assert len(found) == 2
    for record, trace in found.values():
        assert (record["error"], record["facts"]["who"], record["facts"]["proposer"]) == (None, "anna", "person")
        walked = [line for line in trace if line["executed"]]
        for line in walked:
            assert "FLF".startswith(line["executed"])
            assert [one["source"] for one in line["candidates"]] == ["person"]
        assert "fallback" not in json.dumps(trace)
    walked = [line for _, trace in found.values() for line in trace if line["executed"]]
    assert len(shown) >= len(walked) > 0  # the reviser may answer when it sees what the plan was made from
    assert {(one["who"], one["episodes"]) for one in shown} == {("anna", 2)}
    told = json.loads((tmp_path / "anna" / "run.json").read_text())
    assert (told["settings"]["proposer"], told["settings"]["who"]) == ("person", "anna")
    assert (told["model"]["address"], told["model"]["live"], told["model"]["kind"]) == ("none", False, "baseline")
    tables = result.table()
    assert "A person proposed the plans of anna." in tables[0].notes
    assert tables[0].rows[0].label == "anna"
    assert not any("Unit of motion" in note for note in tables[0].notes)


def test_the_page_shows_what_a_policy_sees_and_nothing_else(episodes: Path, tmp_path: Path) -> None:
    _, shown = acted(episodes, tmp_path / "walk", ahead, task="navigation", decisions=2)
    first, second = shown[0], shown[1]
    assert first["pictures"] == ["front", "left", "right", "back", "goal"]
    assert (first["left"], first["total"], first["unit"]) == (2, 2, "decisions")
    assert (second["left"], second["history"][0]["steps"]) == (1, "FLF")
    assert (first["plans"], first["length"], first["answers"], first["stops"]) == (1, 12, False, "")
    for one in shown:
        known = {"who", "episode", "episodes", "state", "turn", "length", "plans", "answers", "choices", "guesses"}
        known |= {"stops", "pictures", "instruction", "left", "total", "unit", "notes", "history", "step", "angle"}
        assert set(one) == known
    told = json.dumps(shown)
    assert "home-0003" not in told
    assert not any(name.split("/")[1] in told for name in records(tmp_path / "walk" / "anna"))
    _, boxed = acted(episodes, tmp_path / "look", ahead, task="recognition")
    assert boxed[0]["pictures"] == ["front", "left", "right", "back"]
    assert any("the reviser 'clearest' gives it" in note for note in boxed[0]["notes"])
    assert "chair" not in json.dumps(boxed)


def test_the_same_steps_by_hand_and_by_a_script_lead_to_the_same_place(episodes: Path, tmp_path: Path) -> None:
    """A person's run is a run: as one with the plans of any other proposer."""
    settings = {**SMALL, "task": "navigation", "decisions": 2}
    run("worldinworld", model=["none"], data=episodes, out=tmp_path, settings=settings)
    scripted = records(tmp_path / "none")
    plans = iter([line["plan"] for _, trace in scripted.values() for line in trace])
    acted(episodes, tmp_path, lambda now: {"plans": [next(plans)]}, task="navigation", decisions=2)
    by_hand = records(tmp_path / "anna")
    assert by_hand.keys() == scripted.keys()
    for task, (record, _) in by_hand.items():
        theirs = scripted[task][0]["facts"]
        assert {**record["facts"], "proposer": "", "who": ""} == {**theirs, "proposer": "", "who": ""}
    evidence, _ = load_evidence([tmp_path])
    assert sorted(one.label for one in evidence.runs) == ["anna", "none"]
    sources = {one.label: one.source for one in evidence.runs}
    assert sources == {"anna": "acted:none", "none": "none"}  # no floor that others have to beat
    assert "Settings that differ between these runs: proposer, who." in evidence.notes


def test_an_answer_is_the_persons_with_the_reviser(episodes: Path, tmp_path: Path) -> None:
    def say(now: dict[str, Any]) -> dict[str, Any]:
        return {"plans": ["L"]} if not now["history"] else {"answer": "Brown"}

    result, shown = acted(episodes, tmp_path, say, task="questions", reviser="person")
    assert [one["plans"] for one in shown] == [1, 1, 1, 1]
    assert not any("The answer is not yours" in note for one in shown for note in one["notes"])
    for record, trace in records(tmp_path / "anna").values():
        assert (record["facts"]["answer"], record["facts"]["end"]) == ("Brown", "answered")
        assert [line["executed"] for line in trace] == ["L", ""]
        assert trace[-1]["candidates"][0]["aim"]["answer"] == "Brown"
    marks = [one.value for one in result.scores["anna"] if one.metric == "questions/seen_only/answer_score"]
    assert marks == [100.0, 100.0]


def test_at_the_last_look_one_answers_or_does_not_know(episodes: Path, tmp_path: Path) -> None:
    ends = iter([{"answer": "brown"}, {"stop": True}])

    def act(now: dict[str, Any]) -> dict[str, Any]:
        return {"plans": ["RRR"]} if now["left"] else next(ends)

    _, shown = acted(episodes, tmp_path, act, task="questions", reviser="person", decisions=3)
    assert [(one["left"], one["plans"], one["stops"]) for one in shown] == 2 * [(3, 1, ""), (0, 0, "I do not know")]
    assert "This is the last look: nothing is carried out any more." in shown[1]["notes"]
    answers = [record["facts"]["answer"] for record, _ in records(tmp_path / "anna").values()]
    assert answers == ["brown", None]


def test_a_guess_counts_until_a_better_answer(episodes: Path, tmp_path: Path) -> None:
    def act(now: dict[str, Any]) -> dict[str, Any]:
        return {"plans": ["L"], "answer": "bed"} if now["left"] else {"answer": "chair"}

    result, shown = acted(episodes, tmp_path, act, task="recognition", reviser="person")
    assert "chair" in shown[0]["choices"]
    for record, trace in records(tmp_path / "anna").values():
        if record["facts"]["end"] == "unseen":  # nothing is asked
            assert not trace
            continue
        facts, last = record["facts"], trace[-1]
        assert (trace[0]["answer"], trace[0]["confidence"]) == ("bed", 0.5)
        if facts["end"] == "confident":
            assert (last["answer"], facts["label"], facts["confidence"]) == ("chair", "chair", 1.0)
        else:  # turned away, the thing may be out of sight: the guess stays
            assert facts["label"] in ("bed", None)
    assert result.ok


def test_who_has_arrived_says_so_where_the_task_asks(episodes: Path, tmp_path: Path) -> None:
    def act(now: dict[str, Any]) -> dict[str, Any]:
        assert now["stops"] == "I have arrived"
        return {"stop": True} if now["history"] else {"plans": ["F"]}

    acted(episodes, tmp_path, act, task="navigation", track="declared_stop", reviser="person")
    for record, trace in records(tmp_path / "anna").values():
        assert (record["facts"]["end"], len(trace)) == ("declared", 2)


def test_a_world_model_imagines_several_plans_and_the_reviser_chooses(episodes: Path, tmp_path: Path) -> None:
    def act(now: dict[str, Any]) -> dict[str, Any]:
        assert now["plans"] == 3
        assert any("the reviser 'oracle' chooses one of them" in note for note in now["notes"])
        return {"plans": ["L", "FF", "R"]}

    more = {"task": "navigation", "decisions": 1, "candidates": 3, "reviser": "oracle"}
    result, _ = acted(episodes, tmp_path, act, model="oracle", **more)
    assert list(result.directories) == ["anna-oracle"]
    for _, (line,) in records(tmp_path / "anna-oracle").values():
        assert [one["steps"] for one in line["candidates"]] == ["L", "FF", "R"]
        assert line["chosen"] == max(range(3), key=lambda n: line["candidates"][n]["true_value"])


def test_a_bundle_of_a_person_is_verified_without_them(episodes: Path, tmp_path: Path) -> None:
    acted(episodes, tmp_path / "runs", ahead, task="navigation", decisions=1)
    (made,) = write_bundles([tmp_path / "runs"], tmp_path / "bundles")
    found = verify(made.path, data=episodes, rescore=2)
    assert found.ok, found.to_dict()
    assert len(found.to_dict()["rescored"]) == 2
    again = score([tmp_path / "runs"])  # nobody is asked
    assert again.ok


def test_another_person_is_another_row(episodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    acted(episodes, tmp_path, ahead, task="navigation", decisions=1)
    _, shown = acted(episodes, tmp_path, ahead, task="navigation", decisions=1, who="ben")
    assert len(shown) == 2
    assert sorted(path.parent.name for path in tmp_path.glob("*/run.json")) == ["anna", "ben"]
    settings = {**SMALL, "proposer": "person", "who": "anna", "task": "navigation", "decisions": 1}
    plans = dry_run(RunRequest("worldinworld", models=("none",), data=episodes, out=tmp_path, settings=settings))
    assert [(plan.label, {item.todo for item in plan.items}) for plan in plans] == [("anna", {"nothing"})]
    capsys.readouterr()
    run("worldinworld", model=["none"], data=episodes, out=tmp_path, settings=settings)
    assert "in a browser" not in capsys.readouterr().err, "all is done already"


def test_where_the_page_is_and_who_would_act_are_no_part_of_what_is_asked() -> None:
    plain = ClosedLoop(task="navigation")
    assert "who" in plain.choosing_settings  # what was recorded before there was a person stays done
    acts: dict[str, Any] = {"task": "navigation", "proposer": "person"}
    assert "who" not in ClosedLoop(**acts).choosing_settings
    assert "page" not in {**plain.settings, **ClosedLoop(**acts, page="127.0.0.1:0").settings}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"who": "anna"}, "worldinworld: who is for a person who acts: say so with --set proposer=person"),
        ({"page": "127.0.0.1:0"}, "page is for a person who acts"),
        ({"reviser": "person"}, "reviser=person is for a person who acts"),
        ({"proposer": "person", "who": "../x"}, "'who' must be 1 to 40 letters"),
        ({"proposer": "person", "who": ".x"}, "'who' must be 1 to 40 letters"),
        ({"proposer": "person", "who": "<b>"}, "'who' must be 1 to 40 letters"),
        ({"proposer": "person", "who": "a" * 41}, "'who' must be 1 to 40 letters"),
        ({"proposer": "person", "who": "none"}, "'none' is a baseline; give another name"),
        ({"proposer": "person", "page": "8601"}, "'page' must be HOST:PORT"),
        ({"proposer": "person", "page": 8601}, "'page' must be HOST:PORT, such as 127.0.0.1:8601, got 8601"),
        ({"proposer": "person", "who": 7}, "'who' must be 1 to 40 letters"),
        ({"proposer": "person", "track": "declared_stop"}, "never says that it has arrived; choose chat or person"),
        ({"proposer": "person", "task": "manipulation"}, "proposer 'person' does not serve manipulation"),
    ],
)
def test_what_nobody_can_do_is_one_line(settings: Mapping[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ClosedLoop(**{"task": "navigation", **settings})


def test_a_person_is_in_one_place(episodes: Path, tmp_path: Path) -> None:
    settings = {"task": "navigation", "proposer": "person"}
    words = "a person acts on this machine, in one task at a time: leave out --workers and --on"
    for more in ({"workers": 2}, {"on": "ray"}):
        with pytest.raises(UsageError, match=words):
            run("worldinworld", model=["none"], data=episodes, out=tmp_path, settings=settings, **more)  # type: ignore[arg-type]
    asked = ["--set", "task=navigation", "--set", "proposer=person", "--workers", "2"]
    done = command(tmp_path, "run", "worldinworld", "--data", episodes, "--model", "none", *asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == f"error: {words}"
    assert not list(tmp_path.iterdir())


def test_nobody_at_the_page_ends_the_run_in_one_line(episodes, tmp_path, monkeypatch):
    monkeypatch.setattr(desks, "PATIENCE_S", 0.5)
    settings = {**SMALL, "task": "navigation", "proposer": "person", "decisions": 1}
    with pytest.raises(AbandonedError, match="the same command goes on with the others"):
        run("worldinworld", model=["none"], data=episodes, out=tmp_path, settings=settings)
    assert not records(tmp_path / "person")  # nothing counts as failed
    monkeypatch.setattr(desks, "PATIENCE_S", 60.0)
    result, shown = acted(episodes, tmp_path, ahead, task="navigation", decisions=1, who="person")
    assert (len(shown), result.counts.scored) == (2, 2)


@contextmanager
def begun(episodes: Path, out: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    words = ["--set", "task=navigation", "--set", "proposer=person", "--set", "who=anna", "--set", "decisions=2"]
    words += ["--set", f"page=127.0.0.1:{port}", *(w for n, v in SMALL.items() for w in ("--set", f"{n}={v}"))]
    call = [sys.executable, "-m", "worldgauge", "run", "worldinworld", "--data", str(episodes), "--model", "none"]
    process = subprocess.Popen(
        [*call, *words, "--out", str(out), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on_with_what_is_left(episodes: Path, tmp_path: Path, how: signal.Signals) -> None:
    hand = Hand(free_port())
    with begun(episodes, tmp_path, hand.port) as process:
        turn = ""
        for _ in range(3):  # the first episode, and half of the second
            now = hand.turn(turn)
            turn = now["turn"]
            assert hand.act(turn, plans=["L"])[0] == 200
        now = hand.turn(turn)
        assert (now["episode"], now["episodes"], now["left"]) == (2, 2, 1)
        os.kill(process.pid, how)
        if how == signal.SIGINT:
            while (state := hand.now()["state"]) not in ("stopped", "away"):
                pass
            assert state == "stopped"  # an open page is told
        said = process.communicate(timeout=60)[1]
        if how == signal.SIGINT:
            assert "finished work is kept, and the same command continues from here" in said
    first = records(tmp_path / "anna")
    assert len(first) == 1
    with begun(episodes, tmp_path, hand.port) as process:
        shown = hand.play(lambda now: {"plans": ["R"]})
        out, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert [(one["episode"], one["episodes"], one["left"]) for one in shown] == [(1, 1, 2), (1, 1, 1)]  # from its start
    assert [table["rows"][0]["label"] for table in json.loads(out)["tables"][:1]] == ["anna"]
    both = records(tmp_path / "anna")
    assert len(both) == 2
    (kept,) = first
    assert both[kept] == first[kept]
    (other,) = both.keys() - first.keys()
    assert [line["executed"] for line in both[other][1]] == ["R", "R"]


def test_settings_tell_who_acts() -> None:
    settings = LoopSettings.of({"task": "navigation", "proposer": "person"})
    assert (settings.is_acted, settings.person) == (True, "person")
    assert not LoopSettings.of({"task": "navigation"}).is_acted


@pytest.mark.parametrize("task", ["navigation", "recognition", "questions"])
@pytest.mark.parametrize(
    "more", [{"protocol": "published"}, {"model": "oracle"}, {"model": "oracle", "reviser": "person"}]
)
def test_other_protocols_and_models_have_a_last_look_too(episodes, tmp_path, task, more):
    def act(now: dict[str, Any]) -> dict[str, Any]:
        return {"plans": ["RFL"]} if now["plans"] else {"stop": True}

    decisions = {"navigation": 1, "recognition": 2, "questions": 4}[task]
    result, shown = acted(episodes, tmp_path, act, task=task, decisions=decisions, **more)
    assert result.ok
    assert result.counts.scored == 2
    begun = any("Only the beginning of a plan is carried out" in note for one in shown for note in one["notes"])
    assert begun == ("protocol" in more)
    for record, trace in records(next(iter(result.directories.values()))).values():
        assert record["error"] is None
        assert "fallback" not in json.dumps(trace)
