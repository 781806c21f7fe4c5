"""What the server answers, one file for each kind of address."""

from diptych.serving.routes import items, labels, operations, page, search, teach

ROUTERS = (
    search.plain_router,
    search.router,
    items.router,
    items.media_router,
    labels.router,
    teach.router,
    teach.models_router,
    page.router,
    operations.router,
)

__all__ = ["ROUTERS"]
