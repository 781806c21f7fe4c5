"""The patterns of `like` as regular expressions, which Python and PostgreSQL read alike."""

import re

_SIGNS = {"%": ".*", "_": "."}


def regex_of(pattern: str) -> str:
    """The body of an expression that has to match a whole text."""
    return "".join(_SIGNS.get(sign) or _either_case(sign) for sign in pattern)


def _either_case(sign: str) -> str:
    if sign.isascii() and sign.isalpha():
        return f"[{sign.lower()}{sign.upper()}]"
    return re.escape(sign)
