"""A UM-Bridge server that is broken, or means ill, costs an error in words: not the run, its memory or its time."""

import socket
import threading
import time

import pytest

from steinbox.adapters import UMBridge, UMBridgeError, umbridge

HEADER = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"


@pytest.fixture
def serve():
    """Starts a server that gives every connection to a function, and returns its address."""
    listeners, threads = [], []

    def start(talk):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def answer():
            while True:
                try:
                    connection, _ = listener.accept()
                    with connection:
                        talk(connection, connection.recv(65_536))
                except OSError:  # one side has closed
                    if listener.fileno() < 0:
                        return

        threads.append(threading.Thread(target=answer, daemon=True))
        threads[-1].start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("first", [b"HTTP/1.0 200 ", HEADER, HEADER[:-2] + b"Content-Length: 1000\r\n\r\n"])
def test_the_timeout_is_of_the_whole_answer(serve, first):
    def drip(connection, request):
        connection.sendall(first)
        for _ in range(1_000):
            connection.sendall(b" ")
            time.sleep(0.02)

    start = time.monotonic()
    with pytest.raises(UMBridgeError, match=r"no answer from http.* within timeout=0\.5 seconds"):
        UMBridge(serve(drip), timeout=0.5)
    assert time.monotonic() - start < 15, "it drips for twenty seconds"


def test_a_slow_answer_in_time_is_an_answer(serve):
    def talk(connection, request):
        for byte in HEADER + b'{"protocolVersion": 0.5}':
            connection.sendall(bytes([byte]))

    with pytest.raises(UMBridgeError, match=r"expected a server of UM-Bridge protocol 1\.0 at http.*, got 0\.5"):
        UMBridge(serve(talk), timeout=60)


def test_an_endless_answer_is_not_read_to_its_end(serve, monkeypatch):
    monkeypatch.setattr(umbridge, "_MAX_BYTES", 2**20, raising=False)
    num_sent = 0

    def flood(connection, request):
        nonlocal num_sent
        connection.sendall(HEADER)
        for _ in range(50):
            connection.sendall(b" " * 2**20)
            num_sent += 1

    with pytest.raises(UMBridgeError, match=r"expected an answer of at most 1,048,576 bytes from http.*, got more"):
        UMBridge(serve(flood))
    assert num_sent < 50


def test_nobody_is_sent_elsewhere(serve):
    visits = []
    elsewhere = serve(lambda connection, request: visits.append(request))

    def redirect(connection, request):
        connection.sendall(f"HTTP/1.0 302 Found\r\nLocation: {elsewhere}/Info\r\n\r\n".encode())

    with pytest.raises(UMBridgeError, match=r"expected JSON from the server, got \(HTTP status 302\)"):
        UMBridge(serve(redirect))
    assert not visits


def test_json_that_is_too_deep_is_an_error_in_words(serve):
    with pytest.raises(UMBridgeError, match="expected JSON from the server"):
        UMBridge(serve(lambda connection, request: connection.sendall(HEADER + b"[" * 200_000)))
