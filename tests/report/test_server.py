"""The server of a live page: who may ask, for what, and what becomes of those who look when it closes."""

import http.client
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from steinbox.report.server import PageServer


class Show:
    def __init__(self):
        self.num_pages, self.num_stops = 0, 0

    def make_page(self):
        self.num_pages += 1
        return f"<p>page {self.num_pages} – ok</p>"

    def tick(self):
        return {"words": "line\nbreak"}

    def stop(self):
        self.num_stops += 1
        return True


@pytest.fixture
def show():
    return Show()


@pytest.fixture
def server(show):
    opened = PageServer(show)
    yield opened
    opened.close({})


def ask(server, path=None, method="GET", headers=None):
    """The answer; the token is the right one unless a path is given."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    connection.request(method, address.path if path is None else path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, dict(answer.headers), answer


def open_stream(server):
    status, headers, answer = ask(server, urlsplit(server.url).path + "events")
    assert (status, headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    return answer


def read_event(stream):
    kind, data, blank = (stream.readline().decode() for _ in range(3))
    assert blank == "\n"
    return kind.removeprefix("event: ").strip(), json.loads(data.removeprefix("data: "))


def test_the_page_is_served_to_this_machine_only_and_kept_by_nobody(server, show):
    status, headers, answer = ask(server)
    assert (status, answer.read().decode()) == (200, "<p>page 1 – ok</p>")
    assert server._http.server_address[0] == "127.0.0.1"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert "Python" not in headers["Server"]
    assert len(urlsplit(server.url).path) > 40


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/events", "/wrong/stop", "/favicon.ico", "/%s"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_wrong_token_is_refused(server, show, path, method):
    path = path.replace("%s", server.url.split("/")[3][:-1])
    assert ask(server, path, method, {"Origin": server.origin})[0] == 403
    assert (show.num_pages, show.num_stops) == (0, 0)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1", "", "127.0.0.1:1"]
)
def test_another_host_is_refused(server, show, host):
    """A page elsewhere whose name was made to stand for 127.0.0.1 sends that name."""
    assert ask(server, headers={"Host": host.format(port=urlsplit(server.url).port)})[0] == 403
    assert show.num_pages == 0


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(server, show, origin):
    headers = {"Origin": origin.format(port=urlsplit(server.url).port)}
    stop = urlsplit(server.url).path + "stop"
    assert ask(server, headers=headers)[0] == 403
    assert ask(server, stop, "POST", headers)[0] == 403
    assert ask(server, stop, "POST")[0] == 403  # a browser says where a POST comes from
    assert (show.num_pages, show.num_stops) == (0, 0)


def test_two_hosts_in_one_request_are_refused(server):
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        hosts = f"Host: {address.netloc}\r\nHost: evil.example\r\n"
        connection.sendall(f"GET {address.path} HTTP/1.1\r\n{hosts}\r\n".encode())
        assert b" 403 " in connection.recv(100)


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_refused(server, show, method):
    assert ask(server, method=method, headers={"Origin": server.origin})[0] == 501
    assert show.num_pages == 0


def test_what_is_not_there_and_what_is_not_meant_so(server, show):
    path = urlsplit(server.url).path
    right = {"Origin": server.origin}
    assert ask(server, path + "other")[0] == 404
    assert ask(server, path + "stop")[0] == 405
    assert ask(server, path, "POST", right)[0] == ask(server, path + "events", "POST", right)[0] == 405
    assert show.num_stops == 0
    assert ask(server, path + "stop", "POST", right)[0] == 204
    assert show.num_stops == 1


def test_those_who_look_are_told_every_second_and_at_the_end(show):
    server = PageServer(show)
    assert not server.is_watched
    stream = open_stream(server)
    assert read_event(stream) == ("tick", {"words": "line\nbreak"})
    assert server.is_watched
    threading.Thread(target=server.close, args=({"words": "the end"},)).start()
    events = [read_event(stream)]
    while events[-1][0] == "tick":
        events.append(read_event(stream))
    assert events[-1] == ("end", {"words": "the end"})
    assert stream.read() == b""


def test_the_end_is_told_before_the_server_closes(show):
    server = PageServer(show)
    stream, received = open_stream(server), []

    def read_late():
        time.sleep(0.5)
        received.append(stream.read())

    reader = threading.Thread(target=read_late)
    reader.start()
    server.close({"page": "x" * 20_000_000})  # more than the buffers of a connection hold
    assert not server.is_watched
    reader.join()
    assert len(received[0]) > 20_000_000


def test_a_closed_server_is_gone(show):
    server = PageServer(show)
    server.close({})
    with pytest.raises(ConnectionRefusedError):
        ask(server)


def test_who_looks_and_does_not_read_holds_up_nothing_for_long(show, monkeypatch):
    monkeypatch.setattr("steinbox.report.server._SECONDS_TO_SAY_GOODBYE", 0.2)
    server = PageServer(show)
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(f"GET {address.path}events HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        while not server.is_watched:
            pass
        server.close({"page": "x" * 50_000_000})  # more than the buffers of a connection hold


def test_a_page_that_cannot_be_made_is_said_and_logged(server, show, caplog, monkeypatch):
    monkeypatch.setattr(show, "make_page", lambda: 1 / 0)
    assert ask(server)[0] == 500
    assert "could not be rendered" in caplog.text
    monkeypatch.undo()
    assert ask(server)[0] == 200
