"""What the server answers, one file for each kind of address."""

from diptych.serving.routes import explore, health, items, media, search

ROUTERS = (search.router, items.router, media.router, explore.router, health.router)

__all__ = ["ROUTERS"]
