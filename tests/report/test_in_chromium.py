"""The page in a real browser."""

import pytest
from browser import CHROMIUM, EVIL, Browser

import steinbox as sb

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (apt-get install chromium)")
PICTURE = "document.getElementById('way-plot').toDataURL()"


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Of a run with names and messages that somebody made to do harm."""

    def log_prob(x):
        if x[0] > 4:
            raise RuntimeError(EVIL)
        return -0.5 * float(x @ x)

    names = [EVIL, "b", 'c"c', "d" * 300, "e"]
    method = sb.baselines.AdaptiveMetropolis()
    start = sb.Gaussian([0.0] * 5, std=1.5)
    result = sb.sample(log_prob, start, method=method, num_particles=50, max_evals=2_000, names=names, seed=0)
    assert result.num_failures > 0
    return result.report(tmp_path_factory.mktemp("report") / "run.html")


@pytest.fixture(scope="module", autouse=True)
def no_error_at_all(browser, page):
    yield
    assert browser.errors() == []


def test_names_and_messages_are_shown_and_do_nothing(browser, page):
    browser.open(page)
    assert browser.errors() == []
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.scripts.length") == 2
    shown = browser.evaluate("document.querySelector('#choices span').textContent")
    assert shown.startswith("</script><script>alert('x')</script>")
    assert r"\x1b[31m" in shown
    assert browser.evaluate("document.querySelector('.fault pre').textContent").count("onerror=") == 1
    assert browser.evaluate("document.getElementById('corner-plot').dataset.panels") == "15"


def test_the_policy_stops_what_is_not_the_pages_own(browser, page):
    browser.open(page)
    browser.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.bad = 1'}))"
    )
    assert browser.evaluate("window.bad") is None
    assert browser.evaluate("fetch('http://localhost:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert any("Content Security Policy" in each["text"] for each in browser.errors())
    browser.events.clear()


def test_the_slider_moves_points(browser, page):
    browser.open(page)
    pictures = set()
    for place in ("0", "30", "99"):
        browser.evaluate(
            f"{{ const slider = document.getElementById('way-slider'); slider.value = '{place}';"
            "slider.dispatchEvent(new Event('input')); }"
        )
        pictures.add(browser.evaluate(PICTURE))
    assert len(pictures) == 3
    assert browser.evaluate("Number(document.getElementById('way-plot').dataset.shown)") > 1000
    assert browser.evaluate("document.getElementById('way-count').textContent").endswith("evaluations")


def test_the_slider_and_its_button_work_by_keys(browser, page):
    browser.open(page)
    browser.evaluate("document.getElementById('way-slider').focus()")
    browser.press("Home")
    first = browser.evaluate(PICTURE)
    browser.press("ArrowRight")
    assert browser.evaluate("way.place") == 1
    assert browser.evaluate(PICTURE) != first
    browser.evaluate("document.getElementById('way-play').focus()")
    browser.press(" ")
    browser.wait_for("way.place > 2")
    browser.press(" ")
    assert browser.evaluate("way.timer") == 0


def test_a_particle_is_picked_by_keys_and_shown_in_all_panels(browser, page):
    browser.open(page)
    browser.evaluate("document.getElementById('corner-plot').focus()")
    plain = browser.evaluate("corner.canvas.toDataURL()")
    browser.press("Home")
    words = browser.evaluate("document.getElementById('particle').textContent")
    assert "number 1 from the highest" in words
    browser.press("ArrowRight")
    assert "number 2 from the highest" in browser.evaluate("document.getElementById('particle').textContent")
    assert browser.evaluate("corner.canvas.toDataURL()") != plain
    browser.press("Escape")
    assert browser.evaluate("corner.canvas.toDataURL()") == plain


def test_a_particle_is_picked_by_the_mouse(browser, page):
    browser.open(page)
    browser.evaluate("corner.canvas.scrollIntoView({ behavior: 'instant' })")
    where = browser.evaluate(
        "(() => { const { xk, yk, left, top, width, height } = corner.panels[1], i = corner.byLogDensity[0];"
        "const [x, y] = [corner.cloud.particles[xk][i], corner.cloud.particles[yk][i]];"
        "const box = corner.canvas.getBoundingClientRect();"
        "return [box.left + scale(...limits(xk), left, left + width)(x),"
        "box.top + scale(...limits(yk), top + height, top)(y), i]; })()"
    )
    browser.move_mouse(where[0], where[1])
    browser.wait_for(f"corner.picked === {where[2]}")
    browser.move_mouse(2, 2)
    browser.wait_for("corner.picked === -1")


def test_parameters_are_chosen(browser, page):
    browser.open(page)
    browser.evaluate("document.querySelectorAll('#choices input')[1].click()")
    assert browser.evaluate("corner.chosen") == [0, 2, 3, 4]
    assert browser.evaluate("corner.canvas.dataset.panels") == "10"


def test_it_is_printed_on_white(browser, page):
    browser.open(page, dark=True)
    assert len(browser.call("Page.printToPDF", printBackground=True)["data"]) > 50_000
    assert browser.errors() == []
    assert browser.evaluate("corner.canvas.height") > 500
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_screen_never_scrolls_sideways(browser, page, dark):
    browser.open(page, width=375, height=700, dark=dark)
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.evaluate("corner.chosen.length") == 3
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(20, 24, 28)") is dark
