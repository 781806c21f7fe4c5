"""Measure retrieval: rankings, average precision, intervals, tests."""
