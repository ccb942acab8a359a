"""A UM-Bridge model as a log-density: any simulation behind HTTP, in any language."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from steinbox.common.arrays import Array

_PROTOCOL = 1.0
_HEADERS = {"Content-Type": "application/json"}
_MAX_BYTES = 2**26  # of an answer; a gradient of a million numbers has about 2**25
_MAX_CHARACTERS = 300  # of an answer that is not JSON, in the error


class UMBridgeError(RuntimeError):
    """The server was not reached, has no such model, or reported an error."""


class UMBridge:
    """The log-density that a `UM-Bridge <https://um-bridge-benchmarks.readthedocs.io>`_ model computes.

    The model has one output, a single number. If it has several inputs, the point is split among them in order. No
    client library is needed.

    Parameters
    ----------
    url : str
        Where the server listens, such as ``"http://localhost:4242"``.
    name : str
        The model's name on that server.
    config : mapping, optional
        What the model is configured with, at each call.
    timeout : float, optional
        Seconds within which a request must be answered in full; no limit if not given. The server's computation goes
        on.

    Attributes
    ----------
    dimension : int
        The number of parameters.
    input_sizes : tuple of int
        How they are split among the model's inputs.
    has_score : bool
        Whether the model offers gradients.

    Raises
    ------
    UMBridgeError
        When made, if there is no such model of this shape; when called, if a request fails.

    Examples
    --------
    >>> log_prob = UMBridge("http://localhost:4242", "posterior")  # doctest: +SKIP
    >>> log_prob(np.zeros(log_prob.dimension))  # doctest: +SKIP
    -1.5
    """

    def __init__(
        self,
        url: str,
        name: str = "posterior",
        config: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise ValueError(f"expected timeout to be a positive number of seconds, got {timeout!r}")
        if not str(url).startswith(("http://", "https://")):
            raise ValueError(f"expected url to start with http:// or https://, got {url!r}")
        self.url, self.name, self.timeout = str(url).rstrip("/"), name, timeout
        self.config = {} if config is None else dict(config)
        self._require_model()
        support = self._ask("ModelInfo")["support"]
        self.has_score = bool(support.get("Gradient", False))
        self.input_sizes = tuple(map(int, self._ask("InputSizes")["inputSizes"]))
        self.dimension = sum(self.input_sizes)
        output_sizes = self._ask("OutputSizes")["outputSizes"]
        if list(output_sizes) != [1]:
            raise UMBridgeError(f"expected the model {name!r} to have output sizes [1], got {output_sizes}")
        if not support.get("Evaluate", False):
            raise UMBridgeError(f"the model {name!r} does not support Evaluate, according to its server")

    def __call__(self, x: Array) -> float:
        """The model's output at a point, (d,); NaN for null, by which servers in C++ mean what is not finite."""
        output = self._ask("Evaluate", input=self._blocks(x)).get("output")
        try:
            ((value,),) = output  # type: ignore[misc]
            return np.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise UMBridgeError(f"expected an output of the form [[number]], got {output}") from None

    def score(self, x: Array) -> Array:
        """The gradient at a point, (d,); one request for each of the model's inputs."""
        if not self.has_score:
            raise UMBridgeError(f"the model {self.name!r} offers no gradient; choose a gradient-free method")
        blocks = self._blocks(x)
        parts = [
            self._ask("Gradient", outWrt=0, inWrt=i, input=blocks, sens=[1.0])["output"]
            for i, size in enumerate(self.input_sizes)
            if size > 0
        ]
        return np.concatenate([np.array(part, dtype=np.float64) for part in parts])

    def _blocks(self, x: Array) -> list[list[float]]:
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (self.dimension,):
            raise ValueError(f"expected a point of shape ({self.dimension},), got shape {point.shape}")
        return [block.tolist() for block in np.split(point, np.cumsum(self.input_sizes)[:-1])]

    def _require_model(self) -> None:
        info = self._request("Info")
        if info.get("protocolVersion") != _PROTOCOL:
            raise UMBridgeError(
                f"expected a server of UM-Bridge protocol {_PROTOCOL} at {self.url}, got {info.get('protocolVersion')}"
            )
        if self.name not in info["models"]:
            raise UMBridgeError(f"expected a model {self.name!r} at {self.url}, got {', '.join(info['models'])}")

    def _ask(self, endpoint: str, **content: Any) -> dict[str, Any]:
        return self._request(endpoint, {"name": self.name, "config": self.config} | content)

    def _request(self, endpoint: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        """The server's answer; raises what it reports as an error."""
        code, text = self._exchange(endpoint, None if content is None else json.dumps(content).encode())
        if code != http.client.OK:
            raise UMBridgeError(_describe_error(text, code))
        answer = _parse(text)
        if not isinstance(answer, dict) or "error" in answer:
            raise UMBridgeError(_describe_error(text, 200))
        return answer

    def _exchange(self, endpoint: str, body: bytes | None) -> tuple[int, str]:
        """Status and text of the server's answer. A redirection is not followed: points go where the user said."""
        url = urlsplit(f"{self.url}/{endpoint}")
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.netloc, timeout=self.timeout)
        late = UMBridgeError(f"no answer from {self.url} within timeout={self.timeout} seconds")
        with closing(connection), _limit(connection) as is_late:
            try:
                connection.request("GET" if body is None else "POST", url.path, body, _HEADERS)
                with connection.getresponse() as response:
                    code, content = response.status, response.read(_MAX_BYTES + 1)
            except (OSError, http.client.HTTPException) as error:
                if is_late() or isinstance(error, TimeoutError):
                    raise late from None
                raise UMBridgeError(f"no answer from {self.url}: {error}") from error
        if is_late():  # an answer without a length may just end
            raise late
        if len(content) > _MAX_BYTES:
            raise UMBridgeError(f"expected an answer of at most {_MAX_BYTES:,} bytes from {self.url}, got more")
        return code, content.decode(errors="replace")


@contextmanager
def _limit(connection: http.client.HTTPConnection) -> Iterator[Callable[[], bool]]:
    """Cut the connection after its time-out, which its socket keeps only for every read anew; yields whether it did."""
    if connection.timeout is None:
        yield lambda: False
        return
    late, sockets = threading.Event(), []
    connect = connection.connect

    def connect_and_remember() -> None:  # the connection forgets its socket while an answer is still read from it
        connect()
        sockets.append(connection.sock)

    def cut() -> None:
        late.set()
        for each in sockets:
            with suppress(OSError):  # it is closed already
                each.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(connection.timeout, cut)
    timer.daemon = True
    timer.start()
    connection.connect = connect_and_remember  # type: ignore[method-assign]
    try:
        yield late.is_set
    finally:
        timer.cancel()


def _describe_error(text: str, code: int) -> str:
    """The error in an answer: the protocol's own, or whatever the server wrote."""
    answer = _parse(text)
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        return f"the model reported {answer['error'].get('type')}: {answer['error'].get('message')}"
    return f"expected JSON from the server, got (HTTP status {code}): {text.strip()[:_MAX_CHARACTERS]}"


def _parse(text: str) -> Any:
    """The answer, or None; Python servers write -inf and nan, which JSON does not know, as Python does."""
    for version in (text, re.sub(r"\bnan\b", "NaN", re.sub(r"\binf\b", "Infinity", text))):
        try:
            return json.loads(version)
        except (ValueError, RecursionError):
            continue
    return None
