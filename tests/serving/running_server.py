"""A server on a free port, in a thread of this process."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from diptych.serving import ServingSettings
from diptych.serving.process import server_options


@contextmanager
def running(app, settings: ServingSettings | None = None, **more) -> Iterator[str]:
    """The address of the application, for as long as the block lasts; `more` are options of uvicorn."""
    listening = socket.create_server(("127.0.0.1", 0))
    options = server_options(settings or ServingSettings()) | more
    plain = {name: value for name, value in options.items() if name not in ("factory", "workers")}
    server = uvicorn.Server(uvicorn.Config(app, **plain))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        for _ in range(600):
            if server.started:
                break
            time.sleep(0.05)
        assert server.started, "the server did not start"
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
