"""Serve an index over HTTP, with a page for people; needs the extra "serve"."""

from typing import TYPE_CHECKING, Any

from diptych.serving.settings import ServingSettings

if TYPE_CHECKING:
    from diptych.serving.app import create_app

__all__ = ["ServingSettings", "create_app"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    """Import the application when it is asked for: keys are made without a web server."""
    if name == "create_app":
        from diptych.serving.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
