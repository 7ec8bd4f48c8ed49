"""The page on which a person acts, in a real browser: whole episodes by keys and by touch, answers, two tabs."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.at_the_page import free_port
from worldgauge.engine.run import run
from worldgauge.suites.worldinworld.policies.person import Act, Desk, PersonPage, PersonTurn
from worldgauge.worlds.walking.primitives import from_letters

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (make chromium)"),
]
VIEW = np.full((30, 40, 3), 90, np.uint8)
VIEWS = dict.fromkeys(("front", "left", "right", "back"), VIEW)
TOLD: dict[str, Any] = {
    "instruction": "<b>Go</b> & see",
    "left": 2,
    "total": 3,
    "unit": "decisions",
    "notes": ["<i>note</i>"],
    "history": [{"steps": "FL", "bumped": True}],
    "step": "0.2 m",
    "angle": "22.5 degrees",
}
LABELS = tuple(f"thing {n}" for n in range(1, 13))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Tab:
    """An open page, and what it complained about or asked for."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.trouble: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.trouble.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        for _ in range(600):
            try:
                self.page.goto(address)
                return
            except playwright.Error:  # the run is not there yet
                self.page.wait_for_timeout(100)
        raise AssertionError(f"nobody answers at {address}")

    def turn(self, after: str | None = None) -> str:
        """Wait for the next decision, and return its name."""
        other = "" if after is None else f':not([data-turn="{after}"])'
        return str(self.page.locator(f"body[data-turn]{other}").get_attribute("data-turn", timeout=60_000))

    def press(self, keys: str) -> None:
        for key in keys.split():
            self.page.keyboard.press(key)

    def says(self, where: str, words: str) -> None:
        playwright.expect(self.page.locator(where)).to_contain_text(words, timeout=30_000)


@pytest.mark.parametrize("how", ["keys", "touch"])
def test_episodes_are_acted_to_their_end_and_scored(browser: Any, episodes: Path, tmp_path: Path, how: str) -> None:
    port = free_port()
    settings = {"view_px": 96, "panorama_px": 128, "task": "navigation", "decisions": 2}
    settings |= {"proposer": "person", "who": "anna", "page": f"127.0.0.1:{port}"}
    done: Future[Any] = Future()

    def loop() -> None:
        done.set_result(run("worldinworld", model=["none"], data=episodes, out=tmp_path, settings=settings))

    threading.Thread(target=loop, daemon=True).start()
    width = {"keys": 1280, "touch": 390}[how]
    tab = Tab(browser, f"http://127.0.0.1:{port}/", viewport={"width": width, "height": 800}, has_touch=how == "touch")
    turn = None
    for episode in (1, 2):
        for left in (2, 1):
            turn = tab.turn(turn)
            tab.says("#count", f"episode {episode} of 2")
            tab.says("#budget", f"{left} of 2 decision")
            tab.says("#instruction", "Go where the goal image was taken.")
            for name in ("front", "left", "back", "right", "goal"):
                size = tab.page.evaluate(f"document.getElementById('{name}').naturalWidth")
                assert size == (64 if name == "goal" else 96)
            overflow = tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0
            shown = tab.page.locator("#front").bounding_box()
            assert shown["width"] > (350 if how == "touch" else 400)  # large, however small the picture is
            if how == "keys":
                tab.press("w d ArrowLeft ArrowUp z Backspace ArrowRight")
                tab.says("#steps", "↑ ↱ ↱")
                tab.press("Enter")
            else:
                for label in ("Forward", "Turn left", "Turn right", "Undo", "Turn right"):
                    tab.page.get_by_role("button", name=label).tap()
                tab.says("#steps", "↑ ↰ ↱")
                tab.page.get_by_role("button", name="Carry out").tap()
    result = done.result(60)
    tab.says("#state", "That was the last episode")
    assert all(url.startswith(f"http://127.0.0.1:{port}/") for url in tab.asked)
    assert not tab.trouble
    tab.context.close()
    assert (result.counts.scored, result.ok) == (2, True)
    wanted = {"keys": "FRR", "touch": "FLR"}[how]
    traces = [path.read_text().splitlines() for path in tmp_path.glob("anna/records/*/trace.jsonl")]
    assert [json.loads(line)["executed"] for trace in traces for line in trace] == [wanted] * 4
    scores = [json.loads(line) for line in (tmp_path / "anna" / "scores.jsonl").read_text().splitlines()]
    assert {one["model"] for one in scores} == {"anna"}
    assert len([one for one in scores if one["metric"] == "navigation/success" and one["value"] is not None]) == 2


@pytest.fixture
def page() -> Iterator[PersonPage]:
    made = PersonPage(Desk("anna", 4), "127.0.0.1", 0)
    made.start()
    yield made
    made.close()


def asked(desk: Desk, **more: Any) -> Future[Act]:
    """What comes of a decision that is laid out, in a thread as of the loop."""
    found: Future[Act] = Future()
    turn = PersonTurn(TOLD, VIEWS, **{"length": 4, "most": 1, **more})
    threading.Thread(target=lambda: found.set_result(desk.ask(turn)), daemon=True).start()
    return found


def test_words_are_shown_as_they_are(browser: Any, page: PersonPage) -> None:
    asked(page.desk, choices=("<u>x</u>",), answers=True, stops="<s>stop</s>")
    tab = Tab(browser, page.link)
    tab.turn()
    for where, words in (
        ("#instruction", "<b>Go</b> & see"),
        ("#notes", "<i>note</i>"),
        ("#choices", "1 <u>x</u>"),
        ("#stop", "<s>stop</s>"),
        ("#history", "↑ ↰ – bumped into something"),
    ):
        assert words in str(tab.page.locator(where).text_content())
    assert not tab.page.locator("main :is(i, u, s)").count()
    assert not tab.trouble
    tab.context.close()


def test_plans_have_a_longest_and_a_greatest_number(browser: Any, page: PersonPage) -> None:
    waiting = asked(page.desk, most=2)
    tab = Tab(browser, page.link)
    tab.turn()
    tab.press("Enter")  # nothing to carry out
    tab.press("w w w w w w")
    tab.says("#room", "4 of up to 4 steps")
    tab.press("n a n")  # a third plan is not begun
    tab.says("#plans", "Plan 2 of up to 2")
    tab.press("Enter")
    assert waiting.result(20) == Act((from_letters("FFFF"), from_letters("L")))
    tab.says("#state", "Carried out")
    tab.context.close()


def test_an_answer_by_keys_alone(browser: Any, page: PersonPage) -> None:
    labels: dict[str, Any] = {"answers": True, "choices": LABELS, "guesses": True}
    waiting = asked(page.desk, **labels)
    tab = Tab(browser, page.link)
    first = tab.turn()
    tab.press("t 2 Escape w Enter")  # a guess, and a plan
    assert waiting.result(20) == Act((from_letters("F"),), "thing 2")
    waiting = asked(page.desk, **labels)
    tab.turn(first)
    tab.press("t")
    tab.page.keyboard.type("g 1")  # the digit takes the first of those that match "thing "
    assert tab.page.locator("#answer").input_value() == "thing 1"
    tab.press("Enter")
    assert waiting.result(20) == Act(answer="thing 1")
    words = asked(page.desk, answers=True, most=0, stops="I do not know")
    tab.page.wait_for_selector("#compose", state="hidden")
    tab.turn()
    tab.press("t")
    tab.page.keyboard.type("2 brown chairs, wax")  # letters are no keys in the field
    tab.press("Enter")
    assert words.result(20) == Act(answer="2 brown chairs, wax")
    end = asked(page.desk, most=0, stops="I do not know")
    tab.page.wait_for_selector("#say", state="hidden")
    tab.turn()
    tab.press("x")
    assert end.result(20) == Act(stop=True)
    assert not tab.trouble
    tab.context.close()


def test_a_wrong_label_is_told_and_can_be_mended(browser: Any, page: PersonPage) -> None:
    waiting = asked(page.desk, answers=True, choices=LABELS)
    tab = Tab(browser, page.link)
    tab.turn()
    tab.press("t")
    tab.page.keyboard.type("thinng")
    tab.press("Enter")
    tab.says("#trouble", "no label 'thinng'. Did you mean")
    assert not waiting.done()
    tab.page.get_by_label("Your answer").fill("12")
    tab.press("Enter")
    assert waiting.result(20) == Act(answer="thing 12")
    tab.context.close()


def test_another_tab_follows_and_cannot_act_twice(browser: Any, page: PersonPage) -> None:
    waiting = asked(page.desk)
    tab, other = Tab(browser, page.link), Tab(browser, page.link)
    first = tab.turn()
    assert other.turn() == first
    other.page.evaluate("document.body.dataset.turn")
    tab.press("w Enter")
    assert waiting.result(20) == Act((from_letters("F"),))
    other.says("#state", "Carried out")
    second = asked(page.desk)
    assert other.turn(first) == tab.turn(first)
    tab.context.close()  # who closes one and goes on in the other loses nothing
    other.page.reload()
    other.turn()
    other.press("a Enter")
    assert second.result(20) == Act((from_letters("L"),))
    other.context.close()


def test_a_page_tells_that_the_run_is_gone_and_comes_back(browser: Any, page: PersonPage) -> None:
    asked(page.desk)
    tab = Tab(browser, page.link)
    tab.turn()
    tab.context.set_offline(True)
    tab.says("#state", "one that was half done begins again")
    assert tab.page.locator("#act").is_hidden()
    tab.context.set_offline(False)  # the same command with the same --set page
    tab.turn()
    assert tab.page.locator("#act").is_visible()
    tab.context.close()
