"""Serve an index over HTTP, with a page for people; needs the extra "serve"."""

from diptych.serving.app import create_app
from diptych.serving.settings import ServingSettings

__all__ = ["ServingSettings", "create_app"]
