"""What the server answers, one file for each kind of address."""

from diptych.serving.routes import explore, items, operations, search

ROUTERS = (search.router, items.router, items.media_router, explore.router, operations.router)

__all__ = ["ROUTERS"]
