"""Take a model elsewhere: as ONNX graphs that run without torch, and as a card that says what it is."""

from diptych.export.card import model_card, render_card
from diptych.export.checking import Check
from diptych.export.exporting import Exported, export_model

__all__ = ["Check", "Exported", "export_model", "model_card", "render_card"]
