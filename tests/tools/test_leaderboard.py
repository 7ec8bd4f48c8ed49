"""The leaderboard: its numbers and ranks are those of a report, names are escaped, and it works in a real browser."""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import worldgauge
from support import glow
from support.commands import command
from worldgauge.core.errors import DataError, UsageError
from worldgauge.report.compare import compare
from worldgauge.report.evidence import load_evidence
from worldgauge.tools.bundle import About, Archive, write_archive, write_bundles
from worldgauge.tools.leaderboard import Board, in_script, write_board
from worldgauge.tools.verify import verify

EVIL = "<script>alert(1)</script>"


def named(bundle: Path, path: Path, **about: Any) -> Path:
    """The same run under another name and with other words about the model, as somebody might send it."""
    with Archive(bundle) as archive:
        files = {name: archive.read(name) for name in archive.files}
    told = json.loads(files["bundle.json"])
    told["about"].update(about)
    files["bundle.json"] = json.dumps(told).encode()
    write_archive(path, files)
    return path


@pytest.fixture(scope="module")
def bundles(glow_runs: Path, glow_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three results, one looked at by somebody, a fourth of a name that is there, and three files that are no use."""
    folder = tmp_path_factory.mktemp("board") / "bundles"
    abouts = {"glowing": About("Apache-2.0", 1_300_000_000), "better": About("MIT", 40_000_000, by=EVIL)}
    for name in ("glowing", "better", "faulty"):
        write_bundles([glow_runs / name], folder, whole=2, about=abouts.get(name, About()))
    named(folder / "glow-glowing.zip", folder / "glow-second.zip", licence=EVIL)
    found = verify(folder / "glow-better.zip", data=glow_data, by="somebody <else>")
    (folder / "glow-better.verified.json").write_text(json.dumps(found.to_dict()))
    (folder / "cut.zip").write_bytes((folder / "glow-better.zip").read_bytes()[:500])
    (folder / "same.zip").write_bytes((folder / "glow-glowing.zip").read_bytes())
    write_archive(folder / "other.zip", {re.sub(r"[<>/]|\(1\)", "", EVIL): b""})
    (folder / "notes.txt").write_text("not a bundle")
    return folder


@pytest.fixture(scope="module")
def site(bundles: Path) -> Path:
    return write_board(bundles, bundles.parent / "site").page.parent


def test_ranks_and_numbers_are_those_of_a_report_and_what_is_left_out_is_told(site: Path, glow_runs: Path) -> None:
    told = {(one["label"], one["root"]): one for one in json.loads((site / "board.json").read_text())["results"]}
    assert len(told) == 4
    evidence, _ = load_evidence([glow_runs])
    wanted = compare(evidence, "psnr")
    best = next(one for (label, _), one in told.items() if label == "better")
    assert best["mean"] == pytest.approx(wanted.by_label["better"].mean)
    page = (site / "index.html").read_text()
    places = [page.index(f">{label}</a>") for label in ("better", "glowing #1", "glowing #2", "faulty")]
    assert places == sorted(places)
    # Three rooms cannot order three models, and the page says so. The fourth lacks tasks.
    assert {label: one["rank"] for (label, _), one in told.items()} == {
        "better": "1–3", "glowing #1": "1–3", "glowing #2": "1–3", "faulty": "–",
    }  # fmt: skip
    assert "tasks missing" in next(one["flag"] for (label, _), one in told.items() if label == "faulty")
    assert "too few independent tasks to order these models" in page
    left = dict(json.loads((site / "board.json").read_text())["left_out"])
    assert left.keys() == {"cut.zip", "same.zip", "other.zip"}
    assert "byte by byte" in left["same.zip"]
    assert "2 results are named glowing; their content hashes differ." in page
    assert "scored again" in page
    assert "somebody &lt;else&gt;" in page


def test_everything_that_others_wrote_is_escaped_and_links_lead_to_files(site: Path) -> None:
    links = 0
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert EVIL not in text, page
        assert "alert(1)</script>" not in text, page
        for link in re.findall(r'(?:href|src)="([^"#]+)"', text):
            assert (page.parent / link).is_file(), f"{page}: {link}"
            links += 1
    assert links > 4 * 6
    assert str(site.parent) not in (site / "index.html").read_text()
    assert "\\u003c" in in_script({"a": EVIL})
    assert "<" not in in_script({"a": EVIL})


def test_the_same_bundles_give_the_same_site(site: Path, bundles: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    done = command(tmp_path, "board", bundles, "--out", "again")
    assert done.returncode == 0, done.stderr
    assert "4 results in 1 table" in done.stdout
    assert "left out same.zip" in done.stdout
    files = sorted(path.relative_to(site) for path in site.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert all((site / name).read_bytes() == (again / name).read_bytes() for name in files)
    write_board(bundles, tmp_path / "again")  # an older site is replaced


def test_what_is_deep_in_a_folder_is_found(glow_runs: Path, bundles: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    shutil.copytree(glow_runs / "better", folder / "paper" / "glow" / "better")
    shutil.copytree(glow_runs / "better", folder / "paper" / "glow" / "better.1")
    shutil.copytree(glow_runs / "better", folder / ".paper.tmp" / "better")
    (folder / "others" / "mail").mkdir(parents=True)
    shutil.copy(bundles / "glow-faulty.zip", folder / "others" / "mail")
    shutil.copy(bundles / "cut.zip", folder / "others" / "mail")
    made = write_board(folder, tmp_path / "site")
    assert made.shown == 2
    left = dict(made.left_out)
    assert left.keys() == {"paper/glow/better.1", "others/mail/cut.zip"}
    assert left["paper/glow/better.1"] == "an earlier run of the model"


def test_runs_and_other_sets(glow_runs: Path, glow_suite: None, bundles: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    shutil.copytree(glow_runs / "better", folder / "better")
    shutil.copy(bundles / "glow-faulty.zip", folder)
    glow.make_run(folder / "few", glow.Glowing("few"), glow.make_data(tmp_path / "few", n=4))
    made = write_board(folder, tmp_path / "site")
    assert (made.shown, made.tables, made.left_out) == (3, 2, ())
    page = made.page.read_text()
    assert page.count("<section id=") == 2
    assert "own run" in page


def test_scores_that_did_not_come_out_again_have_no_rank(bundles: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("glow-better", "glow-faulty"):
        shutil.copy(bundles / f"{name}.zip", folder)
    told = json.loads((bundles / "glow-better.verified.json").read_text())
    told["numbers"][0]["verdict"] = "differs"
    (folder / "glow-better.verified.json").write_text(json.dumps(told))
    made = write_board(folder, tmp_path / "site")
    ranks = {label: one["rank"] for label, one in results_of(made).items()}
    assert ranks == {"better": "–", "faulty": "–"}
    (folder / "glow-better.verified.json").write_text(json.dumps({**told, "root": "00"}))
    made = write_board(folder, tmp_path / "site")
    assert "is about no bundle that is shown here" in dict(made.left_out)["glow-better.verified.json"]
    assert results_of(made)["better"]["verified"] == "author's word"


def results_of(made: Board) -> dict[str, dict[str, Any]]:
    return {one["label"]: one for one in json.loads((made.page.parent / "board.json").read_text())["results"]}


def test_a_copy_of_a_bundle_does_not_lose_what_was_found_of_it(bundles: Path, tmp_path: Path) -> None:
    told = json.loads((bundles / "glow-better.verified.json").read_text())
    for verdict, word in (("stands", "2 of 6 reproduced"), ("differs", "differs")):
        folder = tmp_path / verdict
        folder.mkdir()
        for name in ("a-copy.zip", "glow-better.zip"):  # the copy comes first
            shutil.copy(bundles / "glow-better.zip", folder / name)
        told["numbers"][0]["verdict"] = verdict
        (folder / "glow-better.verified.json").write_text(json.dumps(told))
        made = write_board(folder, folder / "site")
        assert results_of(made)["better"]["verified"] == word
    # Of two verifications, the one that found a difference counts.
    shutil.copy(tmp_path / "stands" / "glow-better.verified.json", folder / "a.verified.json")
    assert results_of(write_board(folder, folder / "site"))["better"]["verified"] == "differs"


def test_programs_are_told_what_pages_tell(site: Path) -> None:
    told = json.loads((site / "board.json").read_text())
    (table,) = told["tables"]
    assert table["metric"]
    assert {one["table"] for one in told["results"]} == {table["ident"]}
    better = next(one for one in told["results"] if one["label"] == "better")
    assert (better["licence"], better["parameters"], better["verified"]) == ("MIT", 40_000_000, "2 of 6 reproduced")
    assert better["scored"] == better["expected"] == table["tasks"]
    assert (better["set"], better["set_version"], better["set_part"]) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("run.json", lambda facts: facts.pop("suite_version")),
        ("run.json", lambda facts: facts.update(data_fingerprint="f" * 64, created=[1], versions="x", platform=3)),
        ("run.json", lambda facts: facts["model"].update(name=EVIL * 3, control={"a": EVIL}, inputs=[EVIL])),
        ("run.json", lambda facts: facts["model"].update(inputs=[3])),
        ("journal.jsonl", lambda lines: lines[0].update(speed={"first_s": "<soon>"})),
    ],
)
def test_an_odd_bundle_harms_no_other(
    name: str, change: Callable[[Any], object], bundles: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(bundles / "glow-better.zip", folder)
    # Of a bundle without whole videos, so that the choice of them stays what it was.
    with Archive(bundles / "glow-faulty.zip") as archive:
        files = {one: archive.read(one) for one in archive.files}
    lines = [json.loads(line) for line in files[name].splitlines()] if name.endswith("l") else [json.loads(files[name])]
    change(lines if name.endswith("l") else lines[0])
    files[name] = "".join(json.dumps(line) + "\n" for line in lines).encode()
    told = json.loads(files["bundle.json"])
    for left in [one for one in files if one.startswith("records/") and one.endswith(".mp4")]:
        told["left_out"][left] = hashlib.sha256(files.pop(left)).hexdigest()
    files["bundle.json"] = json.dumps({**told, "whole": [], "whole_asked": 0}).encode()
    write_archive(folder / "odd.zip", files)
    made = write_board(folder, tmp_path / "site")
    assert "better" in made.page.read_text()
    assert made.shown + len(made.left_out) == 2
    for page in made.page.parent.rglob("*.html"):
        assert EVIL not in page.read_text()


def test_folders_that_cannot_be_boards(bundles: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="something else"):
        write_board(bundles, tmp_path / "own")
    assert (tmp_path / "own" / "thesis.tex").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="neither bundles"):
        write_board(tmp_path / "empty", tmp_path / "site")
    with pytest.raises(DataError, match="no such folder"):
        write_board(tmp_path / "missing", tmp_path / "site")
    assert not (tmp_path / "site").exists()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine (make chromium)")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def page_of(browser: Any, width: int) -> tuple[Any, list[str], list[str]]:
    """An empty page, what it complains about, and the addresses that it asks for."""
    tab = browser.new_page(viewport={"width": width, "height": 800})
    trouble: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda m: trouble.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    return tab, trouble, asked


def wait_for_video(tab: Any) -> None:
    for _ in range(400):
        if tab.evaluate("document.querySelector('video')?.readyState >= 1"):
            return
        tab.wait_for_timeout(25)


@pytest.mark.browser
def test_it_sorts_filters_and_compares_in_a_browser(browser: Any, site: Path) -> None:
    tab, trouble, _ = page_of(browser, 390)
    tab.goto((site / "index.html").as_uri())

    def shown() -> list[str]:
        return tab.locator(".ranks tbody tr:not(.gone) .label").all_inner_texts()

    order = shown()
    assert order == ["better", "glowing #1", "glowing #2", "faulty"]
    tab.get_by_role("button", name="all").click()
    assert shown() == order
    tab.get_by_role("button", name="all").click()
    # What is equal keeps its order, and a flagged row stays last.
    assert shown() == ["glowing #1", "glowing #2", "better", "faulty"]
    tab.get_by_label("Parameters up to").select_option("1e9")
    assert shown() == ["better"]
    assert tab.locator("[data-shown]").inner_text() == "1 of 4 results"
    tab.get_by_label("Parameters up to").select_option("")
    tab.get_by_label("Licence").select_option("Apache-2.0")
    assert len(shown()) == 1
    tab.get_by_label("Licence").select_option("")
    tab.locator('[data-side="a"]').select_option("faulty")
    tab.locator('[data-side="b"]').select_option("better")
    said = tab.locator("output").inner_text()
    assert said.startswith("faulty minus better: −8")
    assert "on 5 shared tasks in 3 clusters" in said
    # Nothing but tables is wider than the screen.
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.get_by_role("link", name="better").click()
    tab.wait_for_load_state()
    assert tab.locator("h1").inner_text() == "better"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    wait_for_video(tab)
    assert tab.evaluate("document.querySelector('video').videoWidth") == glow.SIZE[0]
    assert not trouble


@pytest.fixture
def hosted(walks: Path, clips: Path, tmp_path: Path) -> Iterator[str]:
    """Address of a plain static host with a board of real runs of two suites."""
    for suite, data in (("loopnav", walks), ("mind", clips)):
        made = worldgauge.run(suite, model=["freeze", "noise"], data=data, out=tmp_path / "runs" / suite, limit=1)
        write_bundles([one.directory for one in made.folders], tmp_path / "bundles")
    assert write_board(tmp_path / "bundles", tmp_path / "site").tables == 2
    serve = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        running = threading.Thread(target=server.serve_forever)
        running.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        running.join()


@pytest.mark.slow
@pytest.mark.browser
def test_a_static_host_shows_real_runs_of_two_suites_at_any_width(browser: Any, hosted: str) -> None:
    for width in (1280, 390):
        tab, trouble, asked = page_of(browser, width)
        tab.goto(hosted)
        assert tab.locator(".ranks").count() == 2
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert tab.evaluate(wide) <= 0, width
        pages = tab.locator(".ranks tbody a").evaluate_all("all => all.map((one) => one.href)")
        assert len(pages) >= 4
        for page in (pages[0], pages[-1]):  # one of each suite
            tab.goto(page)
            assert tab.evaluate(wide) <= 0, (page, width)
            wait_for_video(tab)
            assert tab.evaluate("document.querySelector('video').videoWidth") > 0
        assert not trouble
        assert all(url.startswith((hosted, "data:", "blob:")) for url in asked)  # and nothing from anywhere else
        tab.close()
