"""The page in a real browser: it plays, seeks and steps, and asks nobody for anything."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from report.toybench import write_run
from worldgauge.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (make chromium)"),
]


class Visit:
    """An open page, and what it complained about or asked for."""

    def __init__(self, browser: playwright.Browser, page: Path, **context: object) -> None:
        self.context = browser.new_context(**context)
        self.tab = self.context.new_page()
        self.trouble: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda m: self.trouble.append(m.text) if m.type in ("error", "warning") else None)
        self.tab.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(page.as_uri())

    def until(self, expression: str) -> None:
        """Wait until a JavaScript expression is true; the page's policy lets it not poll by itself."""
        for _ in range(400):
            if self.tab.evaluate(expression):
                return
            self.tab.wait_for_timeout(25)
        raise AssertionError(f"never true: {expression}")

    def open_film(self, number: int = 1) -> None:
        if number == 1:  # open already, at the top of the page
            self.tab.locator("#walk-1 .whole").check()
        else:
            self.tab.locator(f"#walk-{number} > summary").click()
        self.until(f"document.querySelector('#walk-{number} .player').player?.video.readyState >= 2")
        # Ready is not drawn yet: the event that draws comes after.
        for _ in range(200):
            if self.pixel(f"#walk-{number} canvas", 0)[3]:
                return
            self.tab.wait_for_timeout(25)

    def wait_for_frame(self, frame: int) -> None:
        """Until the frame is shown, not only asked for."""
        player = "document.querySelector('#walk-1 .player')"
        self.until(f"!{player}.player.video.seeking && {player}.player.frame === {frame}")
        self.until(f"{player}.dataset.frame === '{frame}'")

    def cursor(self) -> float:
        return float(self.tab.evaluate("parseFloat(document.querySelector('#walk-1 .cursor').style.left)"))

    def colour(self, tile: int) -> list[int]:
        """RGB at the middle of the tile's lower half."""
        return self.pixel("#walk-1 canvas", tile)[:3]

    def pixel(self, canvases: str, number: int) -> list[int]:
        """RGBA at the middle of the lower half of one of `canvases`; read from a copy: the page's own stays fast."""
        script = """([which, k]) => {
            const c = document.querySelectorAll(which)[k];
            const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
            copy.drawImage(c, -Math.floor(c.width / 2), -Math.floor(c.height * 0.75));
            return [...copy.getImageData(0, 0, 1, 1).data];
        }"""
        return list(self.tab.evaluate(script, [canvases, number]))


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: playwright.Browser, page: Path) -> Iterator[Visit]:
    visit = Visit(browser, page, viewport={"width": 1200, "height": 900})
    yield visit
    assert visit.trouble == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in visit.asked)
    assert sum(url.startswith("file:") for url in visit.asked) == 1
    visit.context.close()


def test_no_film_is_decoded_before_it_is_opened(visit: Visit) -> None:
    assert visit.tab.locator("video").count() == 1, "that of the first task, which is open"
    visit.open_film(2)
    assert visit.tab.locator("video").count() == 2


def test_the_first_task_shows_the_truth_a_model_and_a_baseline(visit: Visit) -> None:
    shown = visit.tab.locator("#walk-1 .tile:visible .label").all_inner_texts()
    assert "ground truth" in shown
    assert "keeper" in shown
    assert len(shown) < visit.tab.locator("#walk-1 .tile").count()


def test_the_film_plays_and_the_cursor_moves_with_it(visit: Visit) -> None:
    visit.open_film()
    start, walker = visit.cursor(), visit.tab.locator("#walk-1 .walker").get_attribute("transform")
    visit.tab.locator("#walk-1 [data-do=play]").click()
    visit.until("Number(document.querySelector('#walk-1 .player').dataset.frame) >= 5")
    assert visit.cursor() > start
    assert visit.tab.locator("#walk-1 .walker").get_attribute("transform") != walker
    visit.until("document.querySelector('#walk-1 .player').player.video.ended")
    visit.wait_for_frame(23)
    assert visit.tab.locator("#walk-1 [data-do=play]").inner_text() == "Play"


def test_a_click_on_the_curve_seeks(visit: Visit) -> None:
    visit.open_film()
    plot = visit.tab.locator("#walk-1 .plot")
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 12.5 / 24, "y": 20})
    visit.wait_for_frame(12)
    assert visit.cursor() == pytest.approx(100 * 12.5 / 24, abs=0.1)
    assert plot.get_attribute("aria-valuenow") == "12"


def test_keys_step_and_play(visit: Visit) -> None:
    visit.open_film()
    visit.tab.locator("#walk-1 .plot").focus()
    for key, frame in (("End", 23), ("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        visit.tab.keyboard.press(key)
        visit.wait_for_frame(frame)
    visit.tab.keyboard.press("Shift+ArrowRight")
    visit.wait_for_frame(11)
    visit.tab.keyboard.press("Space")
    visit.until("Number(document.querySelector('#walk-1 .player').dataset.frame) > 12")


def test_tiles_show_what_each_subject_drew(visit: Visit) -> None:
    visit.open_film()
    names = visit.tab.locator("#walk-1 .tile .label").all_inner_texts()
    assert names[0] == "ground truth"
    truth, keeper, freeze = (visit.colour(names.index(n)) for n in ("ground truth", "keeper", "freeze"))
    # keeper draws the truth; freeze draws the place shifted.
    assert max(abs(a - b) for a, b in zip(truth, keeper, strict=True)) < 12
    assert max(abs(a - b) for a, b in zip(truth, freeze, strict=True)) > 20


def test_every_metric_can_be_followed(visit: Visit) -> None:
    visit.open_film()
    lines = visit.tab.locator("#walk-1 .plot polyline")
    assert lines.count() == 6 - ("dreamer" not in visit.tab.locator("#walk-1 .tiles").inner_text())
    before = lines.first.get_attribute("points")
    visit.tab.locator("#walk-1 [data-do=metric]").select_option(label="sharpness")
    assert lines.first.get_attribute("points") != before


def test_following_a_subject_dims_the_others(visit: Visit) -> None:
    button = visit.tab.locator("[data-follow]").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    key = button.get_attribute("data-follow")
    assert visit.tab.locator(f".curve[data-model={key}].dim").count() == 0
    assert visit.tab.locator(".curve.dim").count() > 0
    button.click()
    visit.tab.mouse.move(0, 0)
    assert visit.tab.locator(".curve.dim").count() == 0


def test_a_link_opens_the_film_it_leads_to(visit: Visit) -> None:
    visit.tab.locator("#walks details.more summary").first.click()
    visit.tab.locator("#walks details.more a").first.click()
    visit.until("document.querySelector('details.walk[open] .player')?.player !== undefined")


def test_paths_stills_and_errors_are_on_the_card(browser: playwright.Browser, plan_page: Path) -> None:
    visit = Visit(browser, plan_page, viewport={"width": 1200, "height": 900})
    visit.open_film()
    tab = visit.tab
    images = "[...document.querySelectorAll('#walk-1 .stills img')]"
    tab.locator("#walk-1 .stills").last.scroll_into_view_if_needed()
    visit.until(f"{images}.length === 7 && {images}.every(i => i.complete && i.naturalWidth > 500)")
    assert tab.locator("#walk-1 [data-do=metric] option").all_inner_texts() == ["ADE (m)"]
    errors = tab.locator("#walk-1 .tile output").all_inner_texts()
    assert errors[0] == "", "the truth has no error"
    tab.locator("#walk-1 .plot").focus()
    tab.keyboard.press("End")
    visit.wait_for_frame(39)
    assert float(tab.locator("#walk-1 .tile output").nth(2).inner_text()) > 4
    tab.locator("[data-follow]").first.click()
    assert tab.locator("#walk-1 .plan.dim").count() == 5
    assert tab.locator("#walk-1 .plan:not(.dim)").count() >= 1
    path = tab.locator("#walk-1 .mapbox .plan.k1 .line").first
    assert path.evaluate("e => getComputedStyle(e).stroke") == "rgb(0, 114, 178)"
    assert visit.trouble == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in visit.asked)
    visit.context.close()


@pytest.mark.parametrize("which", ["page", "plan_page", "path_page", "loop_page"])
@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 390),
        ("dark", 1200),
        pytest.param("light", 1200, marks=pytest.mark.slow),
        pytest.param("dark", 390, marks=pytest.mark.slow),
    ],
)
def test_nothing_sticks_out(
    browser: playwright.Browser, request: pytest.FixtureRequest, which: str, scheme: str, width: int
) -> None:
    page = request.getfixturevalue(which)
    visit = Visit(browser, page, viewport={"width": width, "height": 800}, color_scheme=scheme)
    visit.open_film()
    assert visit.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    background = visit.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) > 382) == (scheme == "light")
    assert visit.trouble == []
    visit.context.close()


def test_names_of_lines_end_within_a_phone(browser: playwright.Browser, tmp_path: Path) -> None:
    for model in ("memory-plane", "keeper"):
        write_run(tmp_path / "runs" / model, model, each=1)
    visit = Visit(browser, write_report([tmp_path / "runs"], tmp_path), viewport={"width": 390, "height": 800})
    ends = visit.tab.evaluate(
        """[...document.querySelectorAll(".panels .end")].map((one) => [one.textContent,
            one.ownerSVGElement.getBoundingClientRect().right - one.getBoundingClientRect().right])"""
    )
    assert {name for name, _ in ends} == {"memory-plane", "keeper"}
    assert min(left for _, left in ends) >= 0
    visit.context.close()


def test_replays_are_as_wide_as_a_phone_and_two_beside_the_map(browser: playwright.Browser, loop_page: Path) -> None:
    for width, beside in ((390, False), (1280, True)):
        visit = Visit(browser, loop_page, viewport={"width": width, "height": 900})
        visit.open_film()
        boxes = [tile.bounding_box() for tile in visit.tab.locator("#walk-1 canvas").all()]
        assert len(boxes) == 2
        assert all(box["width"] > 320 for box in boxes), "its words can be read"
        assert (boxes[0]["y"] == boxes[1]["y"]) == beside
        visit.tab.locator("#walk-1 .plot").focus()
        visit.tab.keyboard.press("ArrowRight")
        visit.wait_for_frame(1)
        assert visit.trouble == []
        visit.context.close()


def test_a_long_id_is_no_column_of_letters_on_a_phone(browser: playwright.Browser, page: Path) -> None:
    visit = Visit(browser, page, viewport={"width": 390, "height": 800})
    width = visit.tab.evaluate(
        """() => {
            const card = document.querySelector("#walk-1 summary");
            card.querySelector(".cellname").textContent = "first person, memory";
            card.querySelector(".place").textContent = "data-1_1st_urban_0007_mem_00012_a_long_name_of_a_clip";
            return card.querySelector(".place").getBoundingClientRect().width;
        }"""
    )
    assert width > 180
    visit.context.close()
