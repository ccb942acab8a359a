"""Imported by every Python process of an environment: no socket to another machine, and no name is looked up."""

import socket

LOCAL = ("127.", "::1", "localhost")


def _is_local(address):
    return not isinstance(address, tuple) or str(address[0]).startswith(LOCAL) or address[0] in ("", None, "0.0.0.0")


def _guard(function):
    def guarded(self, address):
        if not _is_local(address):
            raise OSError(f"no network here: {address}")
        return function(self, address)

    return guarded


class GuardedSocket(socket.socket):
    """A socket that knows this machine alone."""

    connect = _guard(socket.socket.connect)
    connect_ex = _guard(socket.socket.connect_ex)


def _look_up(host, *arguments, look_up=socket.getaddrinfo, **options):
    if not _is_local((host,)):
        raise socket.gaierror(f"no network here: {host}")
    return look_up(host, *arguments, **options)


socket.socket, socket.getaddrinfo = GuardedSocket, _look_up
