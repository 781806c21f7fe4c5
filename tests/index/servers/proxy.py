"""A way to a server that can be blocked: what it does to a client is what a server does that is frozen or gone."""

import contextlib
import socket
import threading
import time


class Proxy:
    """Passes bytes between whoever connects to it and a server on this machine."""

    def __init__(self, port):
        self._target = ("127.0.0.1", port)
        self._open = threading.Event()
        self._open.set()
        self._sockets = []
        self._listener = None
        self.port = 0
        self.start()

    def start(self):
        """Listen, at the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self):
        """End all connections and take no new ones."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._sockets = []

    def freeze(self):
        """Pass nothing on, and end nothing."""
        self._open.clear()

    def thaw(self):
        """Pass on what has waited."""
        self._open.set()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                return
            self._sockets += [client, server]
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source, target):
        try:
            while data := source.recv(65_536):
                while not self._open.wait(0.1):
                    time.sleep(0.01)
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.close()
