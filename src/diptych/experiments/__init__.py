"""Experiments: many methods on one dataset, and the report of it."""
