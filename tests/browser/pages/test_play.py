"""The page on which the simulation runs, from a plain file server and with no other host to ask."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error as PlaywrightError

from pravega_lab.tutorials.play.lessons import LESSONS, OUTCOMES, Lesson
from pravega_lab.tutorials.play.player import play
from pravega_lab.tutorials.play.spec import parse_link
from tests.browser.axe import violations
from tests.browser.files import Files
from tests.browser.page import Errors, wait_drawn

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "pravega_lab" / "tutorials" / "play" / "page" / "index.html"
WAIT_MS = 120_000
RUNS = 50
LINK = "scenario=reader-dies&seed=3&at=13.5"
RACE = "scenario=race&seed=14&bug=mailbox-1.11.0"


class Guarded(Files):
    """Sends the policy of the page with every file: the worker follows it, too."""

    policy = re.search(r'Policy" content="([^"]+)"', PAGE.read_text())[1]  # type: ignore[index]

    def end_headers(self) -> None:
        """Send it."""
        self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built page."""
    if not (ROOT / "node_modules" / "pyodide").is_dir():
        pytest.skip("the runtime of Pyodide is not here: make js installs it")
    folder = tmp_path_factory.mktemp("site") / "play"
    subprocess.run([sys.executable, ROOT / "build_backend" / "build_page.py", folder], check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Guarded, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def context(browser: Any, site: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    asked: list[str] = []
    own = ("http", urlsplit(site).netloc)
    context.on("request", lambda r: asked.append(r.url) if urlsplit(r.url)[0].startswith("http") else None)
    yield context
    assert {urlsplit(url)[:2] for url in asked} == {own}
    context.close()


@pytest.fixture(scope="module")
def page(context: Any, site: str) -> Iterator[Any]:
    page, errors = context.new_page(), Errors()
    errors.of(page)
    page.goto(f"{site}#{LINK}")
    shown(page, 1)
    yield page
    assert errors == []


def shown(page: Any, times: int) -> None:
    """Wait until the page has shown so many runs."""
    condition = "(n) => Number(document.getElementById('result').dataset.shown) >= n"
    page.wait_for_function(condition, arg=times, timeout=WAIT_MS)


def count(page: Any) -> int:
    return int(page.evaluate("() => document.getElementById('result').dataset.shown"))


def verdict(page: Any) -> str:
    return str(page.locator("#verdict-line").inner_text())


def hash_of(page: Any) -> str:
    return str(page.evaluate("() => location.hash.slice(1)"))


def pixels(page: Any) -> list[str]:
    return list(page.evaluate("() => [...document.querySelectorAll('canvas')].map((c) => c.toDataURL())"))


def test_a_link_shows_the_run_that_it_names_as_at_home(page: Any) -> None:
    with ThreadPoolExecutor(1) as apart:  # a loop of playwright's runs in this thread
        assert verdict(page) == apart.submit(play, parse_link(LINK)).result().verdict
    wait_drawn(page, 0)
    assert page.locator("#now").inner_text().startswith("13.50 s of ")
    assert "eva" in page.locator("#said").inner_text()
    assert "def go_offline" in page.locator("#rule").inner_text()
    assert page.locator("#so-far").inner_text().startswith("so far: ")


def test_the_browser_of_these_tests_has_no_network(browser: Any, site: str) -> None:
    page = browser.new_page()
    with pytest.raises(PlaywrightError, match="ERR_NAME_NOT_RESOLVED"):
        page.goto(site.replace("127.0.0.1", "localhost"))  # a name that every machine knows
    page.close()


def test_opening_the_address_again_shows_the_same_picture(page: Any, context: Any) -> None:
    page.locator("#step").click()
    page.wait_for_function(f"() => location.hash !== '#{LINK}'")
    again = context.new_page()
    again.goto(page.url)
    shown(again, 1)
    wait_drawn(again, 0)
    again.wait_for_function("() => document.getElementById('so-far').textContent")
    assert again.locator("#now").inner_text() == page.locator("#now").inner_text()
    assert pixels(again) == pixels(page)
    again.close()


def test_an_act_is_a_run_of_its_own_and_can_be_taken_out(page: Any) -> None:
    before, first = count(page), hash_of(page)
    page.locator("#verb").select_option("fork")
    page.locator("#target").select_option("2")
    page.locator("#do").click()
    shown(page, before + 1)
    assert "fork+2" in hash_of(page)
    assert page.locator("#story .chip").count() == 5
    assert page.locator("#runs button").count() == 2
    page.locator("#story .chip", has_text="fork").locator(".drop").click()
    shown(page, before + 2)
    assert page.locator("#story .chip").count() == 4
    page.locator("#runs button").first.click()
    shown(page, before + 3)
    assert hash_of(page).split("&at=")[0] == first.split("&at=")[0]


def test_the_page_finds_a_seed_that_shows_a_planted_bug(page: Any) -> None:
    before = count(page)
    page.locator(".scenario", has_text="FLINK-18641").click()
    shown(page, before + 1)
    assert verdict(page) == "Exact"
    page.locator("#break").click()
    page.wait_for_function("() => location.hash.includes('seed=14')", timeout=WAIT_MS)
    shown(page, before + 2)
    assert hash_of(page) == RACE
    assert verdict(page) == "A checkpoint failed."
    assert "waits for hook" in page.locator("#verdict-words").inner_text()


def go_to(page: Any, link: str) -> None:
    """Show the run of a link, unless the page shows it already."""
    if hash_of(page).split("&at=")[0] != link:
        before = count(page)
        page.evaluate("(link) => { location.hash = link; }", f"#{link}")
        shown(page, before + 1)


def test_a_run_that_went_wrong_explains_itself(page: Any) -> None:
    go_to(page, RACE)
    before = count(page)
    page.locator("#explain").click()
    page.wait_for_selector("#smallest", timeout=WAIT_MS)
    said = page.locator("#explained").inner_text()
    assert "The story has no acts" in said
    assert re.search(r"became inevitable at second 0\.1\d*: \d of 4 futures go wrong", said)
    assert page.locator("#explained img").count() == 2
    page.wait_for_function(
        "() => [...document.querySelectorAll('#explained img')].every((i) => i.naturalWidth)"
    )
    assert violations(page) == []
    page.locator("#decided").click()
    shown(page, before + 1)
    page.wait_for_function("() => location.hash.includes('at=0.1')")
    assert hash_of(page).startswith(RACE)
    assert page.locator("#explained").is_visible()  # it is of this run
    page.locator("#reset").click()
    shown(page, before + 2)
    assert verdict(page) == "Exact"
    assert not page.locator("#why").is_visible()
    assert not page.locator("#explained").is_visible()
    page.go_back()
    shown(page, before + 3)


def test_a_report_has_the_command_that_repeats_the_run(page: Any, tmp_path: Path) -> None:
    go_to(page, RACE)
    with page.expect_download() as first, page.expect_download(lambda d: d.suggested_filename.endswith("l")):
        page.locator("#report-run").click()
    assert first.value.suggested_filename.startswith("race-14")
    command = page.locator("#command code")
    command.wait_for()
    assert command.inner_text() == "pravega-lab simulate --seeds 14 --scenario race --bug mailbox-1.11.0"


def test_an_address_that_is_opened_while_the_page_writes_its_own_is_shown(page: Any) -> None:
    go_to(page, RACE)
    page.evaluate(
        "(name) => { const own = location.hash; location.hash = `#lesson=${name}`;"
        " history.replaceState(null, '', own); }",
        LESSONS[0].name,
    )
    page.locator("#ask", has_text=LESSONS[0].steps[0].ask).wait_for()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_by_keyboard_on_a_phone(page: Any, lesson: Lesson) -> None:
    page.set_viewport_size({"width": 844, "height": 390})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.evaluate("(name) => { location.hash = `#lesson=${name}`; }", lesson.name)
    for step in lesson.steps:
        page.locator("#ask", has_text=step.ask).wait_for()
        assert not page.locator("#result").is_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 844
        press(page, "[data-outcome=doubled]")
        page.wait_for_selector("#next", timeout=WAIT_MS)
        assert page.locator("#result").is_visible()
        said = page.locator("#lesson .then").inner_text()
        assert said.startswith("As you said." if step.right == "doubled" else "Not so.")
        assert OUTCOMES[step.right] in said
        assert page.locator("#rule pre").first.inner_text().strip()  # the rule that decided, next to it
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 844
        if step is lesson.steps[0]:
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                assert violations(page) == []
        press(page, "#next")
    assert page.locator("#lesson").is_hidden()
    assert verdict(page) == "Exact"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")


def press(page: Any, wanted: str) -> None:
    """Go to an element by the tabulator, from where the focus is, and press it."""
    for _ in range(10):
        if page.evaluate("(wanted) => document.activeElement?.matches(wanted)", wanted):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} is not reached by ten tabulators")


def test_a_bad_link_is_refused_with_a_sentence(page: Any) -> None:
    page.evaluate("() => { location.hash = '#scenario=split&seed=1&act=3+explode'; }")
    page.wait_for_selector("#error:not([hidden])", timeout=WAIT_MS)
    assert "is none of" in page.locator("#error").inner_text()


def test_a_phone_in_the_dark_and_a_screen_reader(page: Any) -> None:
    before = count(page)
    page.set_viewport_size({"width": 844, "height": 390})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.evaluate(f"() => {{ location.hash = '#{LINK}'; }}")
    shown(page, before + 1)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 844
    assert page.locator(".plab").first.get_attribute("data-theme") == "dark"
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(page) == []


def test_keys_play_and_step(page: Any) -> None:
    page.locator("body").click(position={"x": 3, "y": 3})
    at = page.locator("#now").inner_text()
    page.keyboard.press(".")
    page.wait_for_function("(at) => document.getElementById('now').textContent !== at", arg=at)
    page.keyboard.press(" ")
    assert page.locator("#play").get_attribute("aria-label") == "pause (space)"
    page.keyboard.press(" ")
    assert page.locator("#play").get_attribute("aria-label") == "play (space)"


def test_the_page_opens_without_a_network_after_the_first_visit(page: Any, context: Any) -> None:
    page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    before = verdict(page)
    context.set_offline(True)
    page.reload()
    shown(page, 1)
    assert verdict(page) == before
    context.set_offline(False)


def test_memory_does_not_grow_with_the_runs(context: Any, site: str) -> None:
    page = context.new_page()
    page.goto(f"{site}#scenario=race&seed=0")
    shown(page, 1)
    link = "scenario=race&seed="
    used = {}
    for seed in range(1, RUNS + 1):
        page.evaluate("(link) => { location.hash = link; }", f"#{link}{seed}")
        shown(page, seed + 1)
        if seed in (RUNS // 5, RUNS):
            used[seed] = memory(context, page)
    (python_before, page_before), (python_after, page_after) = used.values()
    print(f"memory after {list(used)} runs: Python and page, MB: {used}")
    assert python_after <= 1.1 * python_before, used
    assert page_after <= 1.1 * page_before + 2, used
    page.close()


def memory(context: Any, page: Any) -> tuple[float, float]:
    """Return what Python in its worker has taken, and what the page holds after a collection, in MB."""
    (worker,) = page.workers
    session = context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    held = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return worker.evaluate("() => self.memoryBytes()") / 1e6, held / 1e6
