"""A page that changes while somebody looks at it: served to this machine, to who knows its address, to nobody else."""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.message import Message
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

HOST = "127.0.0.1"
SECONDS_BETWEEN_TICKS = 1.0
_SECONDS_FOR_A_CLIENT = 10.0  # to send its request, or to take what it is sent
_SECONDS_TO_SAY_GOODBYE = 3.0  # to all who look, at the end
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page has the rest of its policy in itself
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
}
_LOGGER = logging.getLogger("steinbox")


class Show(Protocol):
    """What is served; all of it is called by threads of the server."""

    def make_page(self) -> str:
        """The page as it is now."""
        ...

    def tick(self) -> Mapping[str, object]:
        """What all who look are told every second, as JSON holds it."""
        ...

    def stop(self) -> bool:
        """What the button does; False if there is nothing to stop yet."""
        ...


class PageServer:
    """Serves a show at an address with a random token, until :meth:`close`.

    ``GET`` of the address is the page, ``GET events`` below it a stream of server-sent events (``tick`` every second,
    and one ``end``), ``POST stop`` the button. Everything else is refused, and so are requests with another token,
    under another name (a page elsewhere may have made its own name stand for this machine), and from other pages.
    """

    def __init__(self, show: Show) -> None:
        self._show = show
        self._token = secrets.token_urlsafe(32)
        self._changed = threading.Condition()
        self._end: Mapping[str, object] | None = None
        self._num_streams = self._num_requests = 0
        self._http = _QuietServer((HOST, 0), partial(_Handler, self))
        self.origin = f"http://{HOST}:{self._http.server_port}"
        threading.Thread(target=partial(self._http.serve_forever, 0.1), name="steinbox-live", daemon=True).start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{self.origin}/{self._token}/"

    @property
    def is_watched(self) -> bool:
        """Whether somebody has the page open."""
        return self._num_streams > 0

    def close(self, end: Mapping[str, object]) -> None:
        """Tell all who look about the end, as JSON holds it, and serve nothing any more."""
        try:
            with self._changed:
                self._end = end
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._num_requests == 0, _SECONDS_TO_SAY_GOODBYE)
        finally:  # also after a Ctrl-C
            self._http.shutdown()
            self._http.server_close()

    # -- called by the handler of a request ----------------------------------------------------------------------------

    def reason_to_refuse(self, method: str, headers: Message, token: str) -> str:
        """Why a request is none of this page's, or nothing."""
        if headers.get_all("Host") != [self.origin.removeprefix("http://")]:
            return "it asks for another host"
        origins = headers.get_all("Origin", [])
        if origins != [self.origin] and not (method == "GET" and not origins):  # browsers send it with every POST
            return "it comes from another page"
        return "" if hmac.compare_digest(token.encode(), self._token.encode()) else "its token is wrong"

    def make_page(self) -> bytes:
        """The page as it is now."""
        return self._show.make_page().encode()

    def stop(self) -> bool:
        """The button was pressed."""
        return self._show.stop()

    def events(self) -> Iterator[bytes]:
        """A message every second, and the last one."""
        with self._counted("_num_streams"):
            while self._end is None:
                yield _message("tick", self._show.tick())
                with self._changed:
                    self._changed.wait_for(lambda: self._end is not None, SECONDS_BETWEEN_TICKS)
            yield _message("end", self._end)

    def request(self) -> Any:
        """A context in which a request is answered."""
        return self._counted("_num_requests")

    @contextmanager
    def _counted(self, counter: str) -> Iterator[None]:
        self._count(counter, 1)
        try:
            yield
        finally:
            self._count(counter, -1)

    def _count(self, counter: str, number: int) -> None:
        with self._changed:
            setattr(self, counter, getattr(self, counter) + number)
            self._changed.notify_all()


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away, or an error that is logged already."""


class _Handler(BaseHTTPRequestHandler):
    """One request; what it may ask for is in :meth:`do_GET` and :meth:`do_POST`."""

    timeout = _SECONDS_FOR_A_CLIENT
    server_version, sys_version = "steinbox", ""

    def __init__(self, pages: PageServer, *arguments: Any) -> None:
        self._pages = pages
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self._answer({"": self._send_page, "events": self._send_events, "stop": None})

    def do_POST(self) -> None:
        self._answer({"": None, "events": None, "stop": self._stop})

    def _answer(self, places: Mapping[str, Callable[[], None] | None]) -> None:
        token, _, place = self.path.removeprefix("/").partition("/")
        refused = self._pages.reason_to_refuse(self.command, self.headers, token)
        if refused:
            self.send_error(HTTPStatus.FORBIDDEN, explain=f"This request is refused: {refused}.")
        elif place not in places:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif (answer := places[place]) is None:
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)
        else:
            with self._pages.request(), suppress(OSError):  # the client went away
                answer()

    def _send_page(self) -> None:
        try:
            content = self._pages.make_page()
        except Exception:
            _LOGGER.exception("the page of the live view could not be rendered; the run continues")
            self.send_error(
                HTTPStatus.INTERNAL_SERVER_ERROR, explain="The page could not be rendered; the run continues."
            )
            return
        self._send_head(HTTPStatus.OK, "text/html; charset=utf-8")
        self.wfile.write(content)

    def _send_events(self) -> None:
        self._send_head(HTTPStatus.OK, "text/event-stream; charset=utf-8")
        for message in self._pages.events():
            self.wfile.write(message)
            self.wfile.flush()

    def _stop(self) -> None:
        self._send_head(HTTPStatus.NO_CONTENT if self._pages.stop() else HTTPStatus.CONFLICT, "text/plain")

    def _send_head(self, status: HTTPStatus, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.end_headers()

    def end_headers(self) -> None:
        """The same for every answer, also for errors."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Nothing: the terminal is the run's, and addresses hold the token."""


def _message(kind: str, content: Mapping[str, object]) -> bytes:
    """An event of the stream; JSON has no ends of lines."""
    return f"event: {kind}\ndata: {json.dumps(content, allow_nan=False)}\n\n".encode()
