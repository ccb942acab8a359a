"""A run that is looked at while it goes on."""

import http.client
import json
import sys
import threading
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

import steinbox as sb
from steinbox.run.live import announce

START = sb.Gaussian([0.0, 0.0], std=3)
SMALL = {"num_particles": 20, "max_evals": 1_000, "seed": 0}


def log_prob(x):
    return -0.5 * float(x @ x)


class Visitor:
    """What a browser would ask, from the thread of the run or another one."""

    def __init__(self, url):
        self.address = urlsplit(url)

    def ask(self, place="", method="GET"):
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=20)
        headers = {"Origin": f"http://{self.address.netloc}"} if method == "POST" else {}
        connection.request(method, self.address.path + place, headers=headers)
        return connection.getresponse()

    def page(self):
        return self.ask().read().decode()


@pytest.fixture
def visitor(monkeypatch):
    """Who comes when the address is announced."""
    came = []
    monkeypatch.setattr("steinbox.run.live.announce", lambda url: came.append(Visitor(url)))
    return came


@pytest.fixture
def one_second(monkeypatch):
    """In which all happens, however long it takes."""
    monkeypatch.setattr("steinbox.run.live._SECONDS_BETWEEN", 1e6)


def test_nothing_changes_because_somebody_looks(visitor, one_second, tmp_path):
    pages = []
    plain = sb.sample(log_prob, START, checkpoint=tmp_path / "a", **SMALL)
    watched = sb.sample(
        log_prob,
        START,
        live=True,
        checkpoint=tmp_path / "b",
        callback=lambda _: pages.append(visitor[0].page()) and None,
        **SMALL,
    )
    np.testing.assert_array_equal(watched.particles, plain.particles)
    np.testing.assert_array_equal(watched.archive.points, plain.archive.points)
    assert watched.status is plain.status
    assert len(pages) > 3
    assert len(set(pages)) == 1  # all within a second


def test_a_page_is_the_report_of_the_run_so_far(visitor):
    pages = []

    def look(iteration):
        if iteration.index == 0:
            pages.append(visitor[0].page())

    sb.sample(log_prob, START, live=True, callback=look, names=["left", "<b>right"], **SMALL)
    (page,) = pages
    assert "Not yet: the run is still going." in page
    assert "Stop the run" in page
    assert "connect-src &#39;self&#39;" in page
    assert "<b>right" not in page
    assert "&lt;b&gt;right" in page


def test_before_the_first_iteration_there_is_a_page_that_waits(visitor):
    seen = []

    def slow(x):
        if not seen:
            seen.append((visitor[0].page(), visitor[0].ask("stop", "POST").status))
        return log_prob(x)

    result = sb.sample(slow, START, live=True, **SMALL)
    page, status = seen[0]
    assert "The run is starting" in page
    assert "<script" not in page
    assert status == 409  # there is nothing to return yet
    assert result.status.is_complete


def test_the_button_ends_a_run_in_the_middle_of_a_batch(visitor, tmp_path):
    calls = []

    def press(x):
        calls.append(x)
        if len(calls) == 250:
            assert visitor[0].ask("stop", "POST").status == 204
            time.sleep(0.2)  # longer than a block: what is left of the batch is not evaluated
        return log_prob(x)

    settings = {"num_particles": 100, "max_evals": 10_000, "seed": 0, "checkpoint": tmp_path / "run.ckpt"}
    result = sb.sample(press, START, live=True, **settings)
    assert result.status is sb.Status.INTERRUPTED
    assert result.trace["num_evals"][-1] < result.num_evals < 1_000
    assert np.isfinite(result.log_prob).all()
    assert not [words for words in result.warnings if "stop" in words]
    again = sb.sample(log_prob, START, callback=lambda iteration: True, **settings)
    assert again.num_evals > result.trace["num_evals"][-1]


def test_the_button_ends_a_run_in_other_processes(visitor):
    def slow(x):
        time.sleep(0.003)
        return -0.5 * float(x @ x)

    def press(iteration):
        if iteration.index == 1:
            assert visitor[0].ask("stop", "POST").status == 204

    result = sb.sample(slow, START, live=True, executor=2, callback=press, max_evals=10_000, seed=0)
    assert result.status is sb.Status.INTERRUPTED
    assert result.num_evals < 5_000


def test_pages_are_made_only_if_somebody_looks_and_not_too_often(visitor, one_second, monkeypatch):
    made = []
    monkeypatch.setattr("steinbox.run.live.render", lambda content: made.append(content) or "page")
    sb.sample(log_prob, START, live=True, **SMALL)
    assert made == []

    def look(_):
        for _ in range(3):
            assert visitor[1].page() == "page"

    sb.sample(log_prob, START, live=True, callback=look, **SMALL)
    assert len(made) == 1


def test_who_looks_is_shown_the_result(visitor):
    ends, is_watching = [], threading.Event()

    def watch():
        stream = visitor[0].ask("events")
        stream.readline()
        is_watching.set()
        words = stream.read().decode().split("\n\n")
        ends.append(next(each for each in words if each.startswith("event: end")))

    def look(iteration):
        if iteration.index == 0:
            watcher.start()
            assert is_watching.wait(20)

    watcher = threading.Thread(target=watch)
    result = sb.sample(log_prob, START, live=True, callback=look, **SMALL)
    watcher.join(20)
    end = json.loads(ends[0].partition("data: ")[2])
    assert end["words"] == str(result.status)
    assert "No problems were found." in end["page"]
    assert "Stop the run" not in end["page"]
    with pytest.raises(ConnectionRefusedError):
        visitor[0].page()


def test_the_server_is_closed_when_the_run_raises(visitor):
    with pytest.raises(sb.TargetError):
        sb.sample(lambda x: 1 / 0, START, live=True, **SMALL)
    with pytest.raises(ConnectionRefusedError):
        visitor[0].page()


def test_it_works_for_every_kind_of_run(visitor):
    def look(iteration):
        if iteration.index == 2:
            pages.append(visitor[-1].page())

    for method in (sb.AnnealedGFSVGD(), sb.baselines.SMC(), sb.baselines.RandomWalkMetropolis()):
        pages = []
        sb.sample(log_prob, START, live=True, method=method, record=5, callback=look, **SMALL)
        assert type(method).__name__ in pages[0]


def test_a_run_without_batches_is_shown_and_stopped(visitor):
    pages = []

    def slow(x):
        time.sleep(0.003)
        return -0.5 * float(x @ x)

    def look(iteration):
        if iteration.index == 3:
            pages.append(visitor[0].page())
            assert visitor[0].ask("stop", "POST").status == 204

    settings = {"executor": 2, "asynchronous": True, "max_evals": 10_000, "seed": 0}
    result = sb.sample(slow, START, live=True, callback=look, **settings)
    assert "Not yet: the run is still going." in pages[0]
    assert result.status is sb.Status.INTERRUPTED
    assert result.num_evals < 5_000


def test_what_is_missing_is_said_before_anything_is_evaluated(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)  # Python then says that there is none
    with pytest.raises(ImportError, match=r'pip install "steinbox\[report\]"'):
        sb.sample(lambda x: pytest.fail("evaluated"), START, live=True, **SMALL)


def test_the_address_is_printed(capsys):
    sb.sample(log_prob, START, live=True, progress=False, **SMALL)
    captured = capsys.readouterr()
    assert captured.err.startswith("Live view: http://127.0.0.1:")
    assert captured.out == ""


def test_nothing_is_served_unless_asked(monkeypatch):
    monkeypatch.setattr("http.server.ThreadingHTTPServer.__init__", None)
    assert sb.sample(log_prob, START, **SMALL).status.is_complete


def test_ctrl_c_ends_a_run_that_is_looked_at_as_any_other(visitor):
    def interrupt(iteration):
        if iteration.index == 2:
            raise KeyboardInterrupt

    assert sb.sample(log_prob, START, live=True, callback=interrupt, **SMALL).status is sb.Status.INTERRUPTED
    with pytest.raises(ConnectionRefusedError):
        visitor[0].page()


def test_a_ctrl_c_while_the_end_is_shown_costs_nothing(visitor, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("threading.Condition.wait_for", interrupted)
    assert sb.sample(log_prob, START, live=True, **SMALL).status.is_complete
    monkeypatch.undo()
    with pytest.raises(ConnectionRefusedError):
        visitor[0].page()


def test_a_notebook_shows_a_link(monkeypatch):
    shown = []
    ipython = SimpleNamespace(display=lambda content, **_: shown.append(content))
    monkeypatch.setattr("steinbox.run.live.in_notebook", lambda: True)
    monkeypatch.setattr("steinbox.run.live.import_module", lambda _: ipython)
    announce("http://127.0.0.1:1/a&b/")
    assert (
        shown[0]["text/html"]
        == 'Live view: <a href="http://127.0.0.1:1/a&amp;b/" target="_blank">http://127.0.0.1:1/a&amp;b/</a>'
    )
