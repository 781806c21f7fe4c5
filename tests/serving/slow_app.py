"""An application for a process of its own whose searches take a while; the folder comes by the environment."""

import os
from pathlib import Path

from fastapi import FastAPI

from diptych.serving import ServingSettings, create_app
from serving import fake_searcher


class Marking(fake_searcher.FakeSearcher):
    """Leaves a file when it begins to answer, and one when it has been closed properly."""

    def answer_many(self, queries):
        (Path(os.environ["SLOW_APP_FOLDER"]) / "asked").touch()
        return super().answer_many(queries)

    def close(self) -> None:
        super().close()
        (Path(os.environ["SLOW_APP_FOLDER"]) / f"closed-{os.getpid()}").touch()


def make() -> FastAPI:
    folder = Path(os.environ["SLOW_APP_FOLDER"]) / str(os.getpid())
    folder.mkdir()
    fake_searcher.FakeSearcher = Marking
    searcher = fake_searcher.filled(folder)
    searcher.pause = float(os.environ.get("SLOW_APP_PAUSE", "0"))
    return create_app(searcher, ServingSettings.from_environment(os.environ))
