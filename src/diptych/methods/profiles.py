"""The names of the training profiles, for those who choose one without needing torch."""

PROFILES = ("fast", "standard", "paper")
"""How wide and how long deep methods train: for tests and demos, by default, as published."""
