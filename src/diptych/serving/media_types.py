"""Which media a browser may show, and which it only gets as a file."""

SHOWN = frozenset({"image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"})
"""What a browser may show. All else, drawings that can carry programs included, is only handed over as a file."""

_STARTS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def type_of(data: bytes) -> str:
    """The type of a picture by its first bytes."""
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), "application/octet-stream")
