"""Export a model as ONNX graphs that run without torch, and describe it on a model card."""

from diptych.export.card import model_card
from diptych.export.card_page import render_card
from diptych.export.checks import Check
from diptych.export.model_export import Exported, export_model

__all__ = ["Check", "Exported", "export_model", "model_card", "render_card"]
