"""Search quality: typed queries with judged answers, for every way of searching."""
