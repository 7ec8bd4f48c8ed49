"""The gallery: answers side by side, builds that can be turned, and nothing of an answer that runs."""

import base64
import json
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

from worldgauge.engine.run import run
from worldgauge.report import answer_cards as gallery
from worldgauge.report import write_report
from worldgauge.report.answer_cards import AnswerCardView, packed, without_solids
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import Mesh, mesh_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NASTY = '<script>document.body.dataset.owned = 1</script><img src=x onerror="document.body.dataset.owned=1">'


@pytest.fixture(scope="module")
def page(builds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of three agents on six tasks of planning, one of which answers with markup."""
    folder = tmp_path_factory.mktemp("gallery")
    (folder / "nasty.py").write_text(
        "from worldgauge.core.agent import AgentSpec\n"
        f"SAYS = {NASTY!r}\n"
        "class Nasty:\n"
        "    spec = AgentSpec('nasty')\n"
        "    def answer(self, problem):\n"
        "        return SAYS\n"
    )
    asked = ["truth", "solid-box", f"{folder / 'nasty.py'}:Nasty"]
    result = run("mineanybuild", model=asked, data=builds, out=folder / "runs", settings={"task": "planning"})
    assert result.ok, result.failures
    return write_report([folder / "runs"], folder / "report.html")


def test_solids_are_packed_within_their_limits() -> None:
    mesh = mesh_of(Blueprint.of([[[1, 2], [1, -1]]], ["stone", "glass"]))
    told = json.loads(packed(mesh))
    raw = zlib.decompress(base64.b64decode(told["data"]))
    count = told["n"]
    assert np.array_equal(np.frombuffer(raw[: count * 24], "<i2").reshape(-1, 4, 3), mesh.quads)
    assert np.array_equal(np.frombuffer(raw[count * 24 :], np.uint8).reshape(-1, 4), mesh.colours)

    def empty(faces: int) -> Mesh:
        zeros = np.zeros(faces, np.int32)
        return Mesh(
            np.zeros((faces, 4, 3), np.int16), np.zeros((faces, 4), np.uint8), zeros.astype(bool), zeros, ("stone",)
        )

    assert (packed(empty(0)), packed(empty(gallery.MOST_QUADS + 1))) == ("", "")
    mesh = packed(mesh_of(Blueprint.of([[[1]]], ["stone"])))
    answered = gallery.AnswerPlate(gallery.EXPECTED, None, "", "", (), mesh)
    shown = AnswerCardView("x", (), (answered,))
    assert without_solids(shown, len(mesh)) is shown
    (kept,) = without_solids(shown, len(mesh) - 1).answers
    assert kept.solid == ""
    assert "Too large" in kept.note


def test_markup_in_an_answer_is_shown_and_not_run(page: Path) -> None:
    text = page.read_text()
    assert NASTY not in text
    assert "&lt;script&gt;document.body" in text
    assert "Cannot be built: no fenced part." in text


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (make chromium)")
def test_a_build_can_be_turned(page: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        # Without a graphics card WebGL is drawn by the processor.
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader"]
        )
        tab = browser.new_page(viewport={"width": 1100, "height": 900})
        trouble: list[str] = []
        tab.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.goto(page.as_uri())
        card = tab.locator("details.walk").first
        card.locator("summary").first.click()
        assert card.locator(".plate").count() == 4, "the expected build and three agents"
        card.locator("[data-turn]").first.click()
        canvas = card.locator("canvas.turning")
        canvas.wait_for()
        before = canvas.screenshot()
        canvas.press("ArrowRight")
        canvas.press("ArrowRight")
        assert canvas.screenshot() != before
        assert tab.evaluate("document.body.dataset.owned") is None
        assert not trouble
        browser.close()
