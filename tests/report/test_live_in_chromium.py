"""The live view in a real browser: a run goes on in a thread, and a person looks at it."""

import threading
import time

import numpy as np
import pytest
from browser import CHROMIUM, EVIL, Browser

import steinbox as sb

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (apt-get install chromium)")
IS_LIVE = "typeof live !== 'undefined' && live.page > 0"
PICTURES = "[corner.canvas.toDataURL(), way.canvas.toDataURL()].join()"


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture
def start(monkeypatch):
    """Begins a run in a thread; returns where its page is, and a function that waits for its result."""
    threads, stop = [], threading.Event()

    def log_prob(x):
        time.sleep(0.001)
        if x[0] > 3 and not stop.is_set():
            raise RuntimeError(EVIL)
        return -0.5 * float(x @ x)

    def begin(**settings):
        found, urls = [], []
        monkeypatch.setattr("steinbox.run.live.announce", urls.append)
        given = {"num_particles": 50, "max_evals": 50_000, "names": [EVIL, "b", 'c"c'], "seed": 0}
        given |= {
            "max_failure_rate": 1.0,
            "callback": lambda _: stop.is_set(),
            "method": sb.baselines.AdaptiveMetropolis(),
        }

        def run():
            found.append(sb.sample(log_prob, sb.Gaussian([0.0] * 3, std=2.0), live=True, **given | settings))

        def wait():
            threads[-1].join(30)
            return found[0]

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        while not urls:
            time.sleep(0.01)
        return urls[0], wait

    yield begin
    stop.set()
    for thread in threads:
        thread.join(30)


def origin(url):
    return "/".join(url.split("/")[:3])


def test_points_move_and_the_button_ends_the_run_with_its_result(browser, start):
    url, wait = start()
    browser.open(url)
    browser.wait_for(IS_LIVE)
    first = browser.evaluate(PICTURES)
    words = browser.evaluate("element('live-words').textContent")
    browser.wait_for("live.page > 2")
    assert browser.evaluate(PICTURES) != first
    slider = "[element('way-slider').value, element('way-slider').max]"
    assert browser.evaluate(slider) == [str(browser.evaluate("way.data.num_evals.length - 1"))] * 2
    assert browser.evaluate("element('live-words').textContent") != words
    assert (
        browser.evaluate("document.querySelector('.headline').textContent").strip().endswith("the run is still going.")
    )
    browser.evaluate("element('live-stop').click()")
    assert browser.evaluate("element('live-stop').textContent") == "Press again to stop"
    browser.evaluate("element('live-stop').click()")
    result = wait()
    assert result.status is sb.Status.INTERRUPTED
    assert np.isfinite(result.log_prob).all()
    browser.wait_for("live.isOver")
    assert browser.evaluate("element('live-words').textContent") == "The run has ended."
    assert browser.evaluate("element('live-state').textContent") == str(result.status)
    assert browser.evaluate("element('live-stop').hidden")
    shown = browser.evaluate("document.querySelector('.facts dd').textContent")
    assert shown == f"{result.num_evals:,}"
    assert browser.evaluate("corner.cloud.particles[1]") == pytest.approx(result.particles[:, 1].tolist(), rel=1e-4)
    assert browser.errors(origin(url)) == []


def test_names_and_messages_are_shown_and_do_nothing(browser, start):
    url, _ = start()
    browser.open(url)
    browser.wait_for(IS_LIVE)
    browser.wait_for("live.page > 1 && document.querySelector('.fault') !== null")
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.scripts.length") == 2
    assert browser.evaluate("document.querySelector('#choices span').textContent").startswith("</script><script>alert")
    assert browser.evaluate("document.querySelector('.fault pre').textContent").count("onerror=") == 1
    assert browser.errors(origin(url)) == []


def test_who_looks_at_one_particle_is_not_disturbed(browser, start):
    url, _ = start()
    browser.open(url)
    browser.wait_for(IS_LIVE)
    browser.evaluate("corner.canvas.focus()")
    browser.press("Home")
    page, words = browser.evaluate("live.page"), browser.evaluate("element('particle').textContent")
    browser.wait_for("element('live-state').textContent.startsWith('The plots pause')")
    time.sleep(1.2)
    assert browser.evaluate("live.page") == page
    assert browser.evaluate("element('particle').textContent") == words
    browser.press("Escape")
    browser.wait_for(f"live.page > {page}")


def test_a_run_that_ends_by_itself_shows_its_verdict(browser, start):
    url, wait = start(max_evals=2_500, method=None, names=["a", "b", "c"])
    browser.open(url)
    browser.wait_for("typeof live !== 'undefined' && live.isOver")
    assert wait().status.is_complete
    assert "the run is still going" not in browser.evaluate("document.querySelector('#verdict').textContent")
    assert browser.evaluate("document.querySelector('#diagnostics').textContent").count("when the run has ended") == 0
    assert browser.errors(origin(url)) == []


def test_another_page_can_neither_read_nor_stop(browser, start, tmp_path):
    url, _ = start()
    page = tmp_path / "elsewhere.html"
    page.write_text("<!doctype html><title>elsewhere</title>")
    browser.open(page)
    answer = "fetch('{}', {{method: '{}'}}).then((answer) => answer.status, () => 'refused')"
    assert browser.evaluate(answer.format(url, "GET")) == "refused"
    assert browser.evaluate(answer.format(url + "stop", "POST")) == "refused"
    framed = f"document.body.append(Object.assign(document.createElement('iframe'), {{src: '{url}', id: 'frame'}}))"
    browser.evaluate(framed)
    browser.open(url)
    browser.wait_for(IS_LIVE)
    assert not browser.evaluate("element('live-state').textContent")  # nothing was stopped


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_on_a_narrow_screen(browser, start, dark):
    url, _ = start()
    browser.open(url, width=375, height=700, dark=dark)
    browser.wait_for(IS_LIVE)
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert (browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)") is dark
    bar = "getComputedStyle(document.querySelector('.live')).backgroundColor"
    assert browser.evaluate(bar) == ("rgb(30, 44, 55)" if dark else "rgb(234, 240, 245)")
