"""What the server answers, one file for each kind of address."""

from diptych.serving.routes import items, operations, page, search

ROUTERS = (search.router, items.router, items.media_router, page.router, operations.router)

__all__ = ["ROUTERS"]
